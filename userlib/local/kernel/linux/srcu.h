/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Sections that a grace period waits for.  Threads count the sections that they begin and
 * end in one of two sets of counters; a grace period has new sections counted in the
 * other, and waits until as many have ended in the first as have begun.
 */
#ifndef _LOCAL_SRCU_H
#define _LOCAL_SRCU_H

#include <pthread.h>

#include <linux/percpu.h>
#include <linux/types.h>

struct srcu_counters {
	unsigned long begun[2];
	unsigned long ended[2];
} __attribute__((aligned(128)));

struct srcu_struct {
	unsigned int set;		/* the one that counts sections that begin */
	pthread_mutex_t grace;		/* one grace period at a time */
	struct srcu_counters of[SHIM_CPUS];
};

int init_srcu_struct(struct srcu_struct *ssp);
void cleanup_srcu_struct(struct srcu_struct *ssp);
void synchronize_srcu(struct srcu_struct *ssp);

#define synchronize_srcu_expedited(ssp)	synchronize_srcu(ssp)

static inline int srcu_read_lock(struct srcu_struct *ssp)
{
	unsigned int set = __atomic_load_n(&ssp->set, __ATOMIC_RELAXED);

	/* Nothing of the section is done before it is counted. */
	__atomic_fetch_add(&ssp->of[local_cpu()].begun[set], 1, __ATOMIC_SEQ_CST);
	return set;
}

static inline void srcu_read_unlock(struct srcu_struct *ssp, int set)
{
	__atomic_fetch_add(&ssp->of[local_cpu()].ended[set], 1, __ATOMIC_SEQ_CST);
}

#endif
