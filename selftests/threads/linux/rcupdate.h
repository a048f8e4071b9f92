/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* liburcu, and what the sanitiser cannot see of it. */
#ifndef _THREADS_RCUPDATE_H
#define _THREADS_RCUPDATE_H

#include <urcu/urcu-memb.h>

#include <linux/turns.h>
#include <linux/types.h>

extern int shim_rcu;

#ifdef __SANITIZE_THREAD__
void __tsan_acquire(void *addr);
void __tsan_release(void *addr);
#else
#define __tsan_acquire(addr)	((void)(addr))
#define __tsan_release(addr)	((void)(addr))
#endif

#undef rcu_assign_pointer
#undef rcu_dereference
#undef rcu_read_lock
#undef rcu_read_unlock
#undef synchronize_rcu

/* liburcu has some of these names, too. */
#include <linux/rcu_pointer.h>

/* Each thread, before anything else and last of all. */
void shim_thread_begin(u32 cpu);
void shim_thread_end(void);

static inline void rcu_read_lock(void)
{
	shim_atomic++;
	urcu_memb_read_lock();
	__tsan_acquire(&shim_rcu);
}

static inline void rcu_read_unlock(void)
{
	__tsan_release(&shim_rcu);
	urcu_memb_read_unlock();
	shim_atomic--;
}

static inline void synchronize_rcu(void)
{
	might_sleep();
	__tsan_release(&shim_rcu);
	urcu_memb_synchronize_rcu();
	__tsan_acquire(&shim_rcu);
}

#endif
