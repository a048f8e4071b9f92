/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Misses of the last level cache: the processor's own count, where it has one
 * and lets us.  Under callgrind only what is timed is simulated, each operation in a
 * profile of its own.
 */
#ifndef _WORT_BENCH_MISSES_H
#define _WORT_BENCH_MISSES_H

/* Can they be counted here? */
int misses_open(void);
void misses_begin(void);
/* Counts no more; how many since misses_begin(), negative: not known. */
double misses_end(void);
/* Gives the profile of callgrind its name, with peers beside each other of all of them. */
void misses_profile(const char *op);

#endif
