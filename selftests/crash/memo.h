/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What runs came to.  A run is settled by what it reads, so one that would read
 * what another one has read comes to the same, and need not be made.
 *
 * The memo holds, by a hash of what a run has read so far, which words it
 * touches next, and at the end what it came to.  It is a cache, which the
 * workers share: what it has no room for is run again.
 */
#ifndef _WORT_CRASH_MEMO_H
#define _WORT_CRASH_MEMO_H

#include "trace.h"

#define MEMO_END	(1ull << 63)

void memo_init(void);
/* The run that has begun, up to here, with this program, came to @answer. */
void memo_keep(const struct tracer *t, uint64_t program, uint64_t answer);
/*
 * Touch what a run of the program would.  Returns what it would come to, with
 * MEMO_END, where all of that is known; 0 if it is not, and then the run has to
 * begin again.
 */
uint64_t memo_recall(struct tracer *t, uint64_t program);

#endif
