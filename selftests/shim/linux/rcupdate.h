/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * One thread: a grace period is over at once, unless a section waits for its own
 * end.  Whoever waits for one sleeps: a test may let something happen meanwhile.
 */
#ifndef _SHIM_RCUPDATE_H
#define _SHIM_RCUPDATE_H

#include <linux/rcu_pointer.h>
#include <linux/turns.h>

struct rcu_head {
	struct rcu_head *next;
};

extern void (*shim_in_grace_period)(void);
extern int shim_rcu_sections;

static inline void rcu_read_lock(void)
{
	shim_rcu_sections++;
	shim_atomic++;
	barrier();
}

static inline void rcu_read_unlock(void)
{
	barrier();
	shim_atomic--;
	WARN_ON_ONCE(--shim_rcu_sections < 0);
}

static inline void synchronize_rcu(void)
{
	might_sleep();
	while (shim_rcu_sections)
		if (WARN_ON_ONCE(!shim_others()))
			break;
	if (shim_in_grace_period)
		shim_in_grace_period();
}

#endif
