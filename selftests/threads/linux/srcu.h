/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Another flavour of liburcu, so that one does not do the other's work. */
#ifndef _THREADS_SRCU_H
#define _THREADS_SRCU_H

#include <urcu/urcu-mb.h>

#include <linux/rcupdate.h>

struct srcu_struct {
	int sections;
};

static inline int init_srcu_struct(struct srcu_struct *ssp)
{
	return 0;
}

static inline void cleanup_srcu_struct(struct srcu_struct *ssp)
{
}

static inline int srcu_read_lock(struct srcu_struct *ssp)
{
	urcu_mb_read_lock();
	__tsan_acquire(&ssp->sections);
	return 0;
}

static inline void srcu_read_unlock(struct srcu_struct *ssp, int idx)
{
	__tsan_release(&ssp->sections);
	urcu_mb_read_unlock();
}

static inline void synchronize_srcu(struct srcu_struct *ssp)
{
	__tsan_release(&ssp->sections);
	urcu_mb_synchronize_rcu();
	__tsan_acquire(&ssp->sections);
}

#define synchronize_srcu_expedited(ssp)	synchronize_srcu(ssp)

#endif
