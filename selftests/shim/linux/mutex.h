/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programs on these shims have one thread.  So a lock has nobody to keep out,
 * and one that is taken twice or dropped untaken is a bug found.
 */
#ifndef _SHIM_MUTEX_H
#define _SHIM_MUTEX_H

#include <linux/bug.h>

struct mutex {
	bool held;
};

extern int shim_locks_held;

static inline void mutex_init(struct mutex *lock)
{
	lock->held = false;
}

static inline void mutex_destroy(struct mutex *lock)
{
	WARN_ON_ONCE(lock->held);
}

static inline void mutex_lock(struct mutex *lock)
{
	WARN_ON_ONCE(lock->held);
	lock->held = true;
	shim_locks_held++;
}

static inline void mutex_unlock(struct mutex *lock)
{
	WARN_ON_ONCE(!lock->held);
	lock->held = false;
	shim_locks_held--;
}

#define lockdep_assert_held(lock) WARN_ON_ONCE(!(lock)->held)

#endif
