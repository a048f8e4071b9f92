/* SPDX-License-Identifier: GPL-2.0-only */
/* A mere sched_yield() mostly comes back at once. */
#ifndef _STRESS_TURN_H
#define _STRESS_TURN_H

#include <unistd.h>

#include <linux/types.h>

extern __thread u32 shim_random;

/* Once in 2^bits times others get a turn. */
static inline void shim_turn(u32 bits)
{
	shim_random = shim_random * 1664525 + 1013904223;
	if (!(shim_random >> (32 - bits)))
		usleep(1);
}

/* In so long a turn memory may be given back and used again. */
static inline void shim_nap(u32 bits)
{
	if (!(shim_random >> (32 - bits)))
		usleep(10000);
}

#endif
