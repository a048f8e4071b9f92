/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* One thread; or in the explorer some that take turns. */
#ifndef _SHIM_SPINLOCK_H
#define _SHIM_SPINLOCK_H

#include <linux/compiler.h>
#include <linux/turns.h>

typedef struct {
	bool held;
} spinlock_t;

#define __SPIN_LOCK_UNLOCKED(name)	{ false }

/* A pool has a thousand of them: too many to tell the explorer about each. */
__attribute__((no_sanitize("thread")))
static inline void spin_lock_init(spinlock_t *lock)
{
	lock->held = false;
}

static inline void spin_lock_irq(spinlock_t *lock)
{
	unsigned int turns = 0;

	shim_point();
	while (lock->held)
		if (WARN_ON_ONCE(turns++ == SHIM_SPINS || !shim_others()))
			break;
	lock->held = true;
	shim_atomic++;
	barrier();
}

static inline void spin_unlock_irq(spinlock_t *lock)
{
	barrier();
	WARN_ON_ONCE(!lock->held);
	shim_atomic--;
	lock->held = false;
}

static inline bool spin_trylock(spinlock_t *lock)
{
	shim_point();
	if (lock->held)
		return false;
	lock->held = true;
	shim_atomic++;
	barrier();
	return true;
}

#define spin_lock(lock)		spin_lock_irq(lock)
#define spin_lock_nested(lock, class)	((void)(class), spin_lock_irq(lock))
#define spin_unlock(lock)	spin_unlock_irq(lock)

#define spin_lock_irqsave(lock, flags) do {	\
	(flags) = 0;				\
	spin_lock_irq(lock);			\
} while (0)
#define spin_unlock_irqrestore(lock, flags) do {	\
	(void)(flags);					\
	spin_unlock_irq(lock);				\
} while (0)

#endif
