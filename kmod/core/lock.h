/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Locks of writers, and which words are in flight.
 *
 * Both are volatile, in tables by the place of what they stand for: an aligned
 * unit of 128 bytes of media, in which a node or a root record lies whole.
 * Several units may have the same lock.
 *
 * A writer looks for the word that it will change without any lock.  Then it
 * locks the unit of the word, and makes sure that the word is what it saw and
 * that nothing in the unit was removed since it began; or it begins again.  For
 * that there is a clock: each removal is a tick, and a lock remembers the last
 * one in its units.  What removes an object locks the object's unit, too.
 *
 * Until the word is durable the unit is marked: whoever reads it must not rest an
 * answer on the word before it has made the word durable itself (promise 3 in
 * Documentation/persistence.rst).  A reader looks at the mark after the word.  The
 * mark is set before the word is stored and taken back after the fence, so who
 * sees the word sees the mark, unless the word is durable.  An operation alone
 * keeps its lock meanwhile; those of a batch wait for one fence and do not, so
 * also who has the lock looks at the mark.
 */
#ifndef _WORT_LOCK_H
#define _WORT_LOCK_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>
#include <linux/types.h>
#include <linux/wort.h>
#include <asm/barrier.h>

#include "op.h"

#define WORT_UNIT_SHIFT		WORT_MAP_UNIT_SHIFT
#define WORT_NR_LOCKS		WORT_MAP_NR_UNITS

/**
 * struct wort_lock - A lock and what happened under it
 * @lock: taken after the mutexes of a pool; several in the order of addresses
 * @removed: the tick at which something in its units was last removed
 */
struct wort_lock {
	spinlock_t lock;		/* after mutexes; by address */
	u64 removed;
} ____cacheline_aligned_in_smp;

/**
 * struct wort_locks - The locks of a pool
 * @writers: operations that may change something are sections of it, since they
 *	sleep; others are RCU sections
 * @clock: ticks with each removal
 * @lock: the locks
 * @ready: @writers was set up
 * @in_flight: beside each of them: how many words of its units are visible and
 *	perhaps not durable.  Changed under the lock.
 * @control: holds @in_flight, and what else readers in user space look at, who are
 *	in no section.  Whole pages, to be mapped.
 */
struct wort_locks {
	struct srcu_struct writers;
	bool ready;
	atomic64_t clock;
	struct wort_lock *lock;
	u32 *in_flight;
	struct wort_map_control *control;
};

int wort_locks_init(struct wort_locks *locks);
void wort_locks_destroy(struct wort_locks *locks);
void wort_locks_synchronize(struct wort_locks *locks);

/* The place of a unit in both tables, by an offset in it. */
static inline u32 wort_lock_nr(u64 off)
{
	return off >> WORT_UNIT_SHIFT & (WORT_NR_LOCKS - 1);
}

/**
 * wort_locks_now() - What time is it?
 * @locks: The locks.
 *
 * An acquire: who sees a tick sees what was stored before it.  Pairs with
 * wort_units_removed().
 *
 * Context: Any context.
 * Return: The time.
 */
static inline u64 wort_locks_now(struct wort_locks *locks)
{
	return atomic64_read_acquire(&locks->clock);
}

/**
 * wort_locks_reusing() - What was taken out of trees will be used again
 * @locks: The locks.
 *
 * Whoever reads by a mapping and may have come by it begins again.  What was
 * stored before this is seen by who sees it; stores after it come after it.
 *
 * Context: Any context.  The caller serialises calls.
 */
static inline void wort_locks_reusing(struct wort_locks *locks)
{
	u64 next = locks->control->generation + 1;

	/* A reader that is new to this must not come by it: wort_map_control. */
	smp_store_release(&locks->control->generation, next);
	/* Pairs with the fence before a reader looks again. */
	smp_wmb();
}

static inline struct wort_lock *wort_lock_of(const struct wort_op *op, u64 off)
{
	return &op->locks->lock[wort_lock_nr(off)];
}

/**
 * wort_units_unlock() - Unlock what an operation has locked
 * @op: The operation.
 *
 * Context: Any context but interrupts.
 */
static inline void wort_units_unlock(struct wort_op *op)
{
	struct wort_lock *lock;

	while (op->nr_held) {
		lock = op->held[--op->nr_held];
		/* Sparse cannot follow how many are held. */
		__acquire(&lock->lock);
		spin_unlock(&lock->lock);
	}
}

/* Was nothing removed in its units since the operation began? */
static inline bool wort_lock_fresh(const struct wort_op *op,
				   const struct wort_lock *lock)
{
	return lock->removed <= op->time;
}

/* One more lock, of a higher address.  False if it has seen a removal. */
static inline bool wort_lock_hold(struct wort_op *op, struct wort_lock *lock)
{
	spin_lock_nested(&lock->lock, op->nr_held);
	__release(&lock->lock);
	op->held[op->nr_held++] = lock;
	return wort_lock_fresh(op, lock);
}

/**
 * wort_unit_lock() - Lock what an operation is about to change
 * @op: The operation, which has wort_op.locks.
 * @off: Offset in a unit.
 *
 * Context: Any context but interrupts.  No unit is locked; wort_units_unlock()
 * is due if it returns true.
 * Return: False if something in the unit, or perhaps in another one, was removed
 * since wort_op.time: then nothing is locked.
 */
static inline bool wort_unit_lock(struct wort_op *op, u64 off)
{
	if (likely(wort_lock_hold(op, wort_lock_of(op, off))))
		return true;
	wort_units_unlock(op);
	return false;
}

/**
 * wort_unit_hold() - As wort_unit_lock(), for a single unit
 * @op: The operation, which does not remember the lock.
 * @off: Offset in the unit.
 *
 * Context: As wort_unit_lock().
 * Return: The lock, for wort_unit_release(); NULL where wort_unit_lock() says false.
 */
static __always_inline struct wort_lock *wort_unit_hold(const struct wort_op *op,
							u64 off)
{
	struct wort_lock *lock = wort_lock_of(op, off);

	spin_lock(&lock->lock);
	__release(&lock->lock);
	if (likely(wort_lock_fresh(op, lock)))
		return lock;
	__acquire(&lock->lock);
	spin_unlock(&lock->lock);
	return NULL;
}

/**
 * wort_unit_release() - Unlock a single unit
 * @lock: What wort_unit_hold() has returned, not NULL.
 *
 * Context: Any context but interrupts.
 */
static __always_inline void wort_unit_release(struct wort_lock *lock)
{
	__acquire(&lock->lock);
	spin_unlock(&lock->lock);
}

bool wort_units_lock(struct wort_op *op, u64 a, u64 b, u64 c);
void wort_units_removed(struct wort_op *op, u64 a, u64 b);

#endif /* _WORT_LOCK_H */
