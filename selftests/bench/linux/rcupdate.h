/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One thread: a section is nothing, as in a kernel that is not preempted, and a
 * grace period is over.
 */
#ifndef _BENCH_RCUPDATE_H
#define _BENCH_RCUPDATE_H

#include <linux/compiler.h>

static inline void rcu_read_lock(void)
{
	barrier();
}

static inline void rcu_read_unlock(void)
{
	barrier();
}

static inline void synchronize_rcu(void)
{
}

#endif
