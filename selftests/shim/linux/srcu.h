/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * One thread: no section is open while a grace period waits, unless a test has begun one,
 * and ends it when it is called.  A grace period waits for the sections that began before
 * it: these have the other index.
 */
#ifndef _SHIM_SRCU_H
#define _SHIM_SRCU_H

#include <linux/errno.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/turns.h>

struct srcu_struct {
	void *mem;
	int idx;
	int nr[2];	/* open sections by index */
	bool waited;	/* a grace period goes on; the next one begins after it */
};

static inline int init_srcu_struct(struct srcu_struct *ssp)
{
	ssp->idx = ssp->nr[0] = ssp->nr[1] = 0;
	ssp->waited = false;
	ssp->mem = kzalloc(1, GFP_KERNEL);
	return ssp->mem ? 0 : -ENOMEM;
}

static inline void cleanup_srcu_struct(struct srcu_struct *ssp)
{
	WARN_ON_ONCE(ssp->nr[0] || ssp->nr[1]);
	kfree(ssp->mem);
}

static inline int srcu_read_lock(struct srcu_struct *ssp)
{
	int idx = ssp->idx;

	ssp->nr[idx]++;
	barrier();
	return idx;
}

static inline void srcu_read_unlock(struct srcu_struct *ssp, int idx)
{
	barrier();
	WARN_ON_ONCE(--ssp->nr[idx] < 0);
}

static inline void synchronize_srcu(struct srcu_struct *ssp)
{
	int idx;

	might_sleep();
	while (ssp->waited && shim_others())
		;
	ssp->waited = true;
	idx = ssp->idx;
	ssp->idx = !idx;
	while (ssp->nr[idx])
		if (shim_in_grace_period)
			shim_in_grace_period();
		else if (WARN_ON_ONCE(!shim_others()))
			break;
	ssp->waited = false;
}

#define synchronize_srcu_expedited(ssp)	synchronize_srcu(ssp)

#endif
