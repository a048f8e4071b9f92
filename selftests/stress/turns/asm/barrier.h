/* SPDX-License-Identifier: GPL-2.0-only */
/* Others get a turn in the middle of a descent, but seldom: it loads a lot. */
#ifndef _STRESS_BARRIER_H
#define _STRESS_BARRIER_H

#include_next <asm/barrier.h>

#include <linux/turn.h>

#undef smp_load_acquire
/* as the kernel has it */
#define smp_load_acquire(p) ({			\
	shim_turn(12);				\
	shim_nap(17);				\
	__atomic_load_n(p, __ATOMIC_ACQUIRE);	\
})

#endif
