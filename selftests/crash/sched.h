/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads that take turns where we say: at each load, store, flush and fence of
 * the pool, and before locks.  One schedule after the other, with a bounded
 * number of preemptions; who waits for a lock gives way for nothing.  Or a
 * random one, with any number of them.
 */
#ifndef _WORT_CRASH_SCHED_H
#define _WORT_CRASH_SCHED_H

#include <stdbool.h>
#include <stdint.h>

#define SCHED_THREADS	3
#define SCHED_DECISIONS	16384

/* Who runs next: a thread of those that can. */
struct decision {
	uint8_t taken;
	uint8_t options;
};

struct sched {
	uint32_t preemptions;		/* at most */
	struct decision decisions[SCHED_DECISIONS];
	uint32_t nr_decisions;		/* prescribed */
	uint32_t at;			/* met so far */
	uint64_t random;		/* not 0: decisions are drawn from it */
	uint32_t odds;			/* then one point of so many is a preemption */
};

extern struct sched sched;

/* Run @nr threads to their ends. */
void sched_run(uint32_t nr, void (*thread)(uint32_t nr));
/* Prescribe the next schedule; false after the last. */
bool sched_next(void);
/* Somebody else may go on here. */
void sched_point(void);
/* 0: no thread is running; or its number + 1. */
uint32_t sched_thread(void);

#endif
