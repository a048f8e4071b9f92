// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <linux/kernel.h>

#include "lint.h"

static const char *const rules[] = {
	"a line is flushed that nobody has stored to since",
	"a fence has no flush to wait for",
	"a word commits while contents are not durable",
	"the step ends, and a store is not durable",
};

/*
 * What is as it should be, by a function that it happens in, and why.  With @contents only if
 * these were stored in that function.
 */
static const struct excuse {
	enum lint_rule rule;
	const char *function, *contents, *why;
} excuses[] = {
	{ LINT_EARLY, "wort_table_store", NULL,
	  "nothing is reached through the word of an extent" },
	{ LINT_EARLY, "head_store", "qr_rec_write",
	  "the head names a word of each line that is not durable" },
	{ LINT_EARLY, "word_store", "qr_rec_write",
	  "heads of the same round name the words that are not durable" },
	{ LINT_EARLY, "commit_chain", "qr_rec_write",
	  "heads of the same round, in another index, name them" },
	{ LINT_CLEAN, "wort_pm_flush_gathered", NULL,
	  "a line may be gathered twice, unless it is among the last four" },
};

/* How far the stores of a line have come. */
enum progress { DURABLE, STORED, FLUSHED };

struct line {
	uint8_t any, contents;		/* enum progress */
	bool met;			/* it is in the list */
	uint32_t last;			/* store */
	void *contents_site;		/* of the last store of contents */
};

static struct line lines[IMAGE_LINES];
static struct line *met[IMAGE_LINES];	/* those that were stored to */
static uint32_t nr_met;

static void found(struct lint *lint, enum lint_rule rule, void *site, void *contents)
{
	uint32_t i;

	for (i = 0; i < lint->nr; i++)
		if (lint->found[i].rule == rule && lint->found[i].site == site &&
		    lint->found[i].contents == contents)
			return;
	i = __atomic_fetch_add(&lint->nr, 1, __ATOMIC_RELAXED);
	if (i >= LINT_MAX) {
		__atomic_store_n(&lint->nr, LINT_MAX, __ATOMIC_RELAXED);
		return;
	}
	lint->found[i].site = site;
	lint->found[i].contents = contents;
	lint->found[i].rule = rule;
}

static void commits(struct lint *lint, void *site)
{
	uint32_t i;

	for (i = 0; i < nr_met; i++)
		if (met[i]->contents != DURABLE)
			found(lint, LINT_EARLY, site, met[i]->contents_site);
}

static void store(struct lint *lint, const struct event *e, uint32_t nr)
{
	struct line *line = &lines[e->word / 8];

	if (e->release)
		commits(lint, e->site);
	line->any = STORED;
	if (!e->release) {
		line->contents = STORED;
		line->contents_site = e->site;
	}
	line->last = nr;
	if (!line->met)
		met[nr_met++] = line;
	line->met = true;
}

static void flush(struct lint *lint, const struct event *e)
{
	struct line *line = &lines[e->word / 8], *end = line + e->nr_lines;

	for (; line < end; line++) {
		if (line->any != STORED)
			found(lint, LINT_CLEAN, e->site, NULL);
		if (line->any == STORED)
			line->any = FLUSHED;
		if (line->contents == STORED)
			line->contents = FLUSHED;
	}
}

static void fence(void)
{
	uint32_t i;

	for (i = 0; i < nr_met; i++) {
		if (met[i]->any == FLUSHED)
			met[i]->any = DURABLE;
		if (met[i]->contents == FLUSHED)
			met[i]->contents = DURABLE;
	}
}

void lint_step(struct lint *lint, const struct tracer *t, uint32_t first)
{
	bool flushed = false;
	uint32_t i;

	for (i = first; i < t->nr_events; i++) {
		const struct event *e = &t->events[i];

		if (e->kind == EVENT_STORE) {
			store(lint, e, i);
		} else if (e->kind == EVENT_FLUSH) {
			flush(lint, e);
			flushed = true;
		} else {
			if (!flushed)
				found(lint, LINT_IDLE, e->site, NULL);
			flushed = false;
			fence();
		}
	}
	for (i = 0; i < nr_met; i++) {
		if (met[i]->any != DURABLE)
			found(lint, LINT_LEFT, t->events[met[i]->last].site, NULL);
		*met[i] = (struct line){ };
	}
	nr_met = 0;
}

/* The functions of a place in the source, inner ones first. */
static void functions_at(void *site, char *text, size_t size)
{
	char cmd[128];
	size_t len = 0;
	FILE *f;

	snprintf(cmd, sizeof(cmd), "addr2line -s -i -f -p -e /proc/%d/exe %p",
		 getpid(), (void *)((char *)site - 1));
	f = popen(cmd, "r");
	if (f) {
		len = fread(text, 1, size - 1, f);
		pclose(f);
	}
	text[len] = 0;
}

static const struct excuse *excuse_of(enum lint_rule rule, const char *text,
				      const char *contents)
{
	const struct excuse *e;

	for (e = excuses; e < excuses + ARRAY_SIZE(excuses); e++)
		if (e->rule == rule && strstr(text, e->function) &&
		    (!e->contents || strstr(contents, e->contents)))
			return e;
	return NULL;
}

/* What is excused is told once for each excuse. */
uint32_t lint_report(const struct lint *lint)
{
	bool told[ARRAY_SIZE(excuses)] = { };
	char text[2048], contents[2048];
	const struct excuse *excuse;
	uint32_t i, bad = 0;

	for (i = 0; i < lint->nr; i++) {
		functions_at(lint->found[i].site, text, sizeof(text));
		contents[0] = 0;
		if (lint->found[i].contents)
			functions_at(lint->found[i].contents, contents, sizeof(contents));
		excuse = excuse_of(lint->found[i].rule, text, contents);
		if (excuse && told[excuse - excuses])
			continue;
		if (excuse)
			told[excuse - excuses] = true;
		bad += !excuse;
		printf("%s: %s%s%s\n%s%s%s", excuse ? "lint" : "LINT",
		       rules[lint->found[i].rule], excuse ? "; " : "",
		       excuse ? excuse->why : "", text, *contents ? " stored by " : "",
		       contents);
	}
	return bad;
}
