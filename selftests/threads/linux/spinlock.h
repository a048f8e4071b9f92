/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* As in the kernel, an unlock is a plain store: nothing waits for a fence. */
#ifndef _THREADS_SPINLOCK_H
#define _THREADS_SPINLOCK_H

#include <sched.h>

#include <linux/compiler.h>
#include <linux/turn.h>
#include <linux/turns.h>

typedef struct {
	u32 held;
} spinlock_t;

#define __SPIN_LOCK_UNLOCKED(name)	{ 0 }

static inline void spin_lock_init(spinlock_t *lock)
{
	lock->held = 0;
}

static inline void spin_lock(spinlock_t *lock)
{
	shim_turn(5);
	while (__atomic_exchange_n(&lock->held, 1, __ATOMIC_ACQUIRE))
		while (READ_ONCE(lock->held))
			sched_yield();
	shim_atomic++;
}

static inline bool spin_trylock(spinlock_t *lock)
{
	bool got;

	shim_turn(5);
	got = !__atomic_exchange_n(&lock->held, 1, __ATOMIC_ACQUIRE);
	shim_atomic += got;
	return got;
}

static inline void spin_unlock(spinlock_t *lock)
{
	shim_atomic--;
	__atomic_store_n(&lock->held, 0, __ATOMIC_RELEASE);
}

#define spin_lock_nested(lock, class)	((void)(class), spin_lock(lock))
#define spin_lock_irq(lock)		spin_lock(lock)
#define spin_unlock_irq(lock)		spin_unlock(lock)
#define spin_lock_irqsave(lock, flags)	((flags) = 0, spin_lock(lock))
#define spin_unlock_irqrestore(lock, flags) ((void)(flags), spin_unlock(lock))

#endif
