/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Programs on these shims have one thread.  So a lock has nobody to keep out,
 * and one that is taken twice or dropped untaken is a bug found.
 *
 * The explorer has threads that take turns, also under a mutex, since readers hold none.
 * Under that of the allocator nothing happens that they could see, so no turn is taken
 * there, unless a thread waits.
 */
#ifndef _SHIM_MUTEX_H
#define _SHIM_MUTEX_H

#include <linux/errno.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/turns.h>

struct mutex {
	bool held;
	bool quiet;
};

extern int shim_locks_held;
extern int shim_locks_quiet;		/* of these, those under which no turn is taken */

#define mutex_init(lock) \
	(*(lock) = (struct mutex){ .quiet = strstr(#lock, "alloc->lock") })

static inline void mutex_destroy(struct mutex *lock)
{
	WARN_ON_ONCE(lock->held);
}

static inline void mutex_lock(struct mutex *lock)
{
	might_sleep();
	while (lock->held)
		if (WARN_ON_ONCE(!shim_others()))
			break;
	lock->held = true;
	shim_locks_held++;
	shim_locks_quiet += lock->quiet;
	barrier();
}

static inline int mutex_lock_killable(struct mutex *lock)
{
	if (lock->held && shim_fatal_signal)
		return -EINTR;
	mutex_lock(lock);
	return 0;
}

static inline int mutex_trylock(struct mutex *lock)
{
	if (lock->held)
		return 0;
	mutex_lock(lock);
	return 1;
}

static inline void mutex_unlock(struct mutex *lock)
{
	barrier();
	WARN_ON_ONCE(!lock->held);
	lock->held = false;
	shim_locks_held--;
	shim_locks_quiet -= lock->quiet;
}

#define lockdep_assert_held(lock) WARN_ON_ONCE(!(lock)->held)

#endif
