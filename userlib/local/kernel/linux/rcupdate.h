/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Sections of RCU are those of one srcu_struct; they nest. */
#ifndef _LOCAL_RCUPDATE_H
#define _LOCAL_RCUPDATE_H

#include <linux/rcu_pointer.h>
#include <linux/srcu.h>

#ifndef __rcu
#define __rcu
#endif

struct rcu_head {
	struct rcu_head *next;
};

extern struct srcu_struct local_rcu;
void local_begin_child(void);
extern __thread struct local_section {
	unsigned int depth;
	int set;
} local_section;

static inline void rcu_read_lock(void)
{
	if (!local_section.depth++)
		local_section.set = srcu_read_lock(&local_rcu);
}

static inline void rcu_read_unlock(void)
{
	if (!--local_section.depth)
		srcu_read_unlock(&local_rcu, local_section.set);
}

static inline void synchronize_rcu(void)
{
	synchronize_srcu(&local_rcu);
}

#endif
