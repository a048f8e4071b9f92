/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runners side by side in one thread: one runs until it hands over to the next.
 */
#ifndef _WORT_BENCH_RELAY_H
#define _WORT_BENCH_RELAY_H

#define RELAY_MAX	32

/**
 * relay_run() - Let runners run, to the end of all
 * @nr: How many, at most RELAY_MAX.
 * @run: What each does.
 * @arg: Its argument.
 */
void relay_run(unsigned int nr, void (*run)(void *arg), void *const *arg);

/* Hand over to the next; comes back when it is this one's turn again. */
void relay_pass(void);

/* Wait until all have come here as often, or ended. */
void relay_meet(void);

#endif
