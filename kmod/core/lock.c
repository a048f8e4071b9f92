// SPDX-License-Identifier: GPL-2.0-only
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "lock.h"

const u32 wort_none_in_flight[WORT_NR_LOCKS];

/**
 * wort_locks_init() - Make the locks of a pool
 * @locks: The locks, zeroed.
 *
 * Context: May sleep.
 * Return: 0 or -ENOMEM; wort_locks_destroy() is due in any case.
 */
int wort_locks_init(struct wort_locks *locks)
{
	u32 i;
	int err = init_srcu_struct(&locks->writers);

	if (err)
		return err;
	locks->ready = true;
	atomic64_set(&locks->clock, 0);
	locks->lock = kvcalloc(WORT_NR_LOCKS, sizeof(*locks->lock), GFP_KERNEL);
	locks->control = vzalloc(sizeof(*locks->control));
	if (!locks->lock || !locks->control)
		return -ENOMEM;
	locks->in_flight = locks->control->in_flight;
	for (i = 0; i < WORT_NR_LOCKS; i++)
		spin_lock_init(&locks->lock[i].lock);
	return 0;
}

/**
 * wort_locks_destroy() - Forget the locks
 * @locks: Locks, or ones whose wort_locks_init() failed.
 *
 * Context: May sleep.
 */
void wort_locks_destroy(struct wort_locks *locks)
{
	kvfree(locks->lock);
	vfree(locks->control);
	if (locks->ready)
		cleanup_srcu_struct(&locks->writers);
}

/**
 * wort_locks_synchronize() - Wait for all operations that have begun
 * @locks: The locks.
 *
 * What was out of reach before the call is used by nobody after it.
 *
 * Context: May sleep.
 */
void wort_locks_synchronize(struct wort_locks *locks)
{
	synchronize_srcu(&locks->writers);
	synchronize_rcu();
}

/**
 * wort_units_lock() - Lock what an operation is about to change or remove
 * @op: The operation, which has wort_op.locks.
 * @a: Offset in a unit.
 * @b: Offset in another one, perhaps the same.
 * @c: The same.
 *
 * Context: As wort_unit_lock().
 * Return: The same, of any of them.
 */
bool wort_units_lock(struct wort_op *op, u64 a, u64 b, u64 c)
{
	struct wort_lock *x = wort_lock_of(op, a), *y = wort_lock_of(op, b);
	struct wort_lock *z = wort_lock_of(op, c);
	bool valid;

	if (x > y)
		swap(x, y);
	if (y > z)
		swap(y, z);
	if (x > y)
		swap(x, y);
	valid = wort_lock_hold(op, x);
	if (y != x)
		valid &= wort_lock_hold(op, y);
	if (z != y)
		valid &= wort_lock_hold(op, z);
	if (unlikely(!valid))
		wort_units_unlock(op);
	return valid;
}

/**
 * wort_units_removed() - Objects have been taken out of a tree
 * @op: The operation.  The word that did it is stored; it need not be durable
 *	yet, and better is not: this would have to wait for the fence.
 * @a: Offset of an object, whose unit is locked.
 * @b: Offset of another one, or 0.
 *
 * A full barrier, so that who sees the tick does not find the objects.
 *
 * Context: Any context but interrupts.
 */
void wort_units_removed(struct wort_op *op, u64 a, u64 b)
{
	u64 tick = atomic64_inc_return(&op->locks->clock);

	op->locks->lock[wort_lock_nr(a)].removed = tick;
	if (b)
		op->locks->lock[wort_lock_nr(b)].removed = tick;
}
