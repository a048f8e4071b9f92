/* SPDX-License-Identifier: GPL-2.0-only */
/* Others get a turn in the middle of a descent, but seldom: it loads a lot. */
#ifndef _STRESS_BARRIER_H
#define _STRESS_BARRIER_H

#include <linux/libnvdimm.h>
#include <linux/turn.h>

/* as the kernel has it */
#define smp_store_release(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)
/* the same */
#define smp_load_acquire(p) ({			\
	shim_turn(12);				\
	shim_nap(17);				\
	__atomic_load_n(p, __ATOMIC_ACQUIRE);	\
})

#endif
