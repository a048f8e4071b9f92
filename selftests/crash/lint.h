/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Flushes and fences of a step that are too many, or too late: most of them no
 * fault that a power cut could show, but none that anybody should meet.
 */
#ifndef _WORT_CRASH_LINT_H
#define _WORT_CRASH_LINT_H

#include "trace.h"

enum lint_rule {
	LINT_CLEAN,	/* a line is flushed that nobody has stored to since */
	LINT_IDLE,	/* a fence has no flush to wait for */
	LINT_EARLY,	/* a word commits while contents are not durable */
	LINT_LEFT,	/* the step ends, and a store is not durable */
	NR_LINT_RULES,
};

#define LINT_MAX	256

/* What was found, in memory that workers share. */
struct lint {
	uint32_t nr;
	struct {
		enum lint_rule rule;
		void *site;
		void *contents;		/* LINT_EARLY: who stored them */
	} found[LINT_MAX];
};

/* Examine the events of a step that ran by itself, with all durable before. */
void lint_step(struct lint *lint, const struct tracer *t, uint32_t first);

/* Print what was found; how much of it nothing excuses. */
uint32_t lint_report(const struct lint *lint);

#endif
