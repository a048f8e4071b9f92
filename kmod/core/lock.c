// SPDX-License-Identifier: GPL-2.0-only
#include <linux/errno.h>
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
	for (i = 0; i < WORT_NR_LOCKS; i++) {
		spin_lock_init(&locks->lock[i].lock);
		locks->lock[i].in_flight = &locks->in_flight[i];
	}
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

/* Insert a lock into a sorted array, unless it is there.  Returns how many there are. */
static u32 add_lock(struct wort_lock **sorted, u32 nr, struct wort_lock *lock)
{
	u32 at = nr, i;

	while (at && sorted[at - 1] > lock)
		at--;
	if (at && sorted[at - 1] == lock)
		return nr;
	for (i = nr; i > at; i--)
		sorted[i] = sorted[i - 1];
	sorted[at] = lock;
	return nr + 1;
}

/**
 * wort_nodes_lock() - Lock the nodes that an operation will change or remove
 * @op: The operation, which has wort_op.locks.
 * @nodes: Their offsets; some of them may be equal.
 * @nr: How many, 1 to WORT_HELD_MAX.
 *
 * Context: As wort_node_lock().
 * Return: As wort_node_lock(), of any of them.
 */
bool wort_nodes_lock(struct wort_op *op, const u64 *nodes, u32 nr)
{
	struct wort_lock *sorted[WORT_HELD_MAX];
	bool fresh = true;
	u32 i, n = 0;

	for (i = 0; i < nr; i++)
		n = add_lock(sorted, n, wort_lock_of(op, nodes[i]));
	for (i = 0; i < n; i++)
		fresh &= wort_lock_hold(op, sorted[i]);
	if (unlikely(!fresh))
		wort_nodes_unlock(op);
	return fresh;
}

static bool holds_lock(const struct wort_op *op, const struct wort_lock *lock)
{
	u32 i;

	for (i = 0; i < op->nr_held; i++)
		if (op->held[i] == lock)
			return true;
	return false;
}

/**
 * wort_node_trylock() - Lock one more node if that needs no waiting
 * @op: The operation, which holds at least one node and has stored nothing under these
 *	locks.
 * @node: Offset of the node.
 *
 * A node whose lock the operation holds already counts as locked.  Locks are taken in
 * the order of the table, so an operation that holds one must not wait for another one.
 *
 * Context: As wort_node_lock(), with at most WORT_HELD_MAX - 1 locks held.
 * Return: True if it is locked; false if another operation holds the lock, or if a node of
 * the lock was removed since wort_op.time.  Then the operation holds what it held before.
 */
bool wort_node_trylock(struct wort_op *op, u64 node)
{
	struct wort_lock *lock = wort_lock_of(op, node);

	if (holds_lock(op, lock))
		return true;
	if (!spin_trylock(&lock->lock))
		return false;
	if (!wort_lock_fresh(op, lock)) {
		spin_unlock(&lock->lock);
		return false;
	}
	__release(&lock->lock);
	op->held[op->nr_held++] = lock;
	return true;
}
