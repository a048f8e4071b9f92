/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One thread: a section is nothing, as in a kernel that is not preempted, and a
 * grace period is over.
 */
#ifndef _BENCH_RCUPDATE_H
#define _BENCH_RCUPDATE_H

#define rcu_read_lock shim_rcu_read_lock
#define rcu_read_unlock shim_rcu_read_unlock
#define synchronize_rcu shim_synchronize_rcu
#include_next <linux/rcupdate.h>
#undef rcu_read_lock
#undef rcu_read_unlock
#undef synchronize_rcu

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
