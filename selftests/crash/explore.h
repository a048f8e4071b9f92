/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the ways to explore share: one step after the other (explore.c), steps beside
 * each other (beside.c), and many changes by random schedules (random.c).
 */
#ifndef _WORT_CRASH_EXPLORE_H
#define _WORT_CRASH_EXPLORE_H

#include <stdio.h>

#include "starts.h"

/* What does not end takes longer: the pools take a fifth of a second. */
#define POOLS_SECONDS		5
#define SEQUENCE_SECONDS	60

/* A crash point being explored: for messages. */
struct spot {
	struct tracer *t;
	const struct start *start;
	const struct step *steps;
	u32 nr_steps;
	u32 event;		/* of a random run UINT32_MAX until it is cut */
	u32 depth;
	bool beside;		/* the steps ran beside each other */
	u64 random;		/* of a random run: its number and 1; else 0 */
	const struct spot *outer;
};

/* What workers count together. */
struct tally {
	u64 states;		/* runs */
	u64 distinct;
	u64 nested;		/* runs of crashes within recovery */
	u64 sequences;
	u64 crash_points;
	u64 distinct_points;
	u64 failures;
	u64 beside_distinct;	/* of @distinct, with steps beside each other */
	u64 schedules;
	u64 cuts;		/* of random runs */
};

extern struct tally *tally;
extern struct tracer tracers_of_explorer[NR_TRACERS];

/* Traced memory, as the model has it. */
static inline struct wort_region region_of(const struct tracer *t)
{
	return (struct wort_region){
		.base = t->mem, .size = IMAGE_SIZE,
		.flush = t->model != MODEL_EADR,
		.line_order = t->model != MODEL_ARM64,
	};
}

void tally_add(u64 *counter, u64 n);
/* End the process with a failure when it has used so many more seconds of processor time. */
void limit_time(u32 seconds);
/*
 * Visit each state that a power cut at the spot can leave; none, if one that can
 * leave the same in the same worlds was there before.
 */
void crash_point(const struct spot *spot, const struct world *const *worlds,
		 u32 nr);
/* Is one of the steps of the kind that the explorer was asked for, if it was? */
bool is_wanted(const struct step *steps, u32 nr);
/* Was what leads to these crash points, by a hash of it, never there before? */
bool crash_points_new(u64 hash);
void fail(const struct spot *spot, const char *why)
	__attribute__((noreturn));
/* NULL, or what is wrong: all that was freed, also during the walk, is given back. */
const char *given_back(struct runner *r);
/* What a signal is reported for; returns what it was before. */
const struct spot *set_current(const struct spot *spot);

/* Steps beside each other, by all schedules with so many preemptions. */
void explore_beside(const struct start *start, enum memory_model model,
		    const struct step *steps, u32 nr, u32 preemptions);
/* The same, of one schedule: its decisions, with commas. */
void explore_schedule(const struct start *start, enum memory_model model,
		      const struct step *steps, u32 nr, u32 preemptions,
		      const char *schedule);
/* Of each pool those that a worker has to do. */
void explore_all_beside(const struct start *start, enum memory_model model,
			u32 preemptions, u32 worker, u32 workers);
/* A run by a random schedule; its number determines it. */
void explore_random(const struct start *start, u64 number);
/* How a failure was scheduled. */
void print_schedule(FILE *out);

#endif
