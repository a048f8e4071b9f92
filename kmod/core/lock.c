// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include <linux/errno.h>
#include <linux/processor.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "lock.h"

/* Reads that meet a writer, before the reader takes the lock. */
#define READ_TRIES	4

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
	init_rwsem(&locks->roots);
	atomic64_set(&locks->clock, 0);
	locks->lock = kvcalloc(WORT_NR_LOCKS, sizeof(*locks->lock), GFP_KERNEL);
	locks->control = vzalloc(sizeof(*locks->control));
	if (!locks->lock || !locks->control)
		return -ENOMEM;
	locks->in_flight = locks->control->in_flight;
	locks->sequence = locks->control->sequence;
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

/**
 * wort_locks_map_state() - Change what readers in a mapping do
 * @locks: The locks.
 * @from: WORT_MAP_* that it has to be.
 * @to: WORT_MAP_* that it becomes.
 *
 * Context: Any context.
 */
void wort_locks_map_state(struct wort_locks *locks, u32 from, u32 to)
{
	u32 *state = &locks->control->state, old = READ_ONCE(*state), seen;

	while ((old & WORT_MAP_STATE) == from) {
		seen = cmpxchg(state, old, (old & ~WORT_MAP_STATE) | to);
		if (seen == old)
			break;
		old = seen;
	}
}

/**
 * wort_locks_ask() - Have readers in a mapping ask the kernel, or no longer
 * @locks: The locks.
 * @ask: Which; each true is followed by a false.
 *
 * Context: Any context.
 */
void wort_locks_ask(struct wort_locks *locks, bool ask)
{
	atomic_add(ask ? WORT_MAP_BATCH : -WORT_MAP_BATCH,
		   (atomic_t *)&locks->control->state);
}

/*
 * Insert a lock into a sorted array, unless it is there.  Returns how many
 * there are.
 */
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

/*
 * Where a lock is among those that the operation holds; wort_op.nr_held if it
 * is not.
 */
static u32 held_at(const struct wort_op *op, const struct wort_lock *lock)
{
	u32 at = 0;

	while (at < op->nr_held && op->held[at] != lock)
		at++;
	return at;
}

static bool holds_lock(const struct wort_op *op, const struct wort_lock *lock)
{
	return held_at(op, lock) < op->nr_held;
}

/**
 * wort_node_trylock() - Lock one more node if that needs no waiting
 * @op: The operation, which holds at least one node and has stored nothing
 *	under these locks.
 * @node: Offset of the node.
 *
 * A node whose lock the operation holds already counts as locked.  Locks are
 * taken in the order of the table, so an operation that holds one must not wait
 * for another one.
 *
 * Context: As wort_node_lock(), with at most WORT_HELD_MAX - 1 locks held.
 * Return: True if it is locked; false if another operation holds the lock, or
 * if a node of the lock was removed since wort_op.time.  Then the operation
 * holds what it held before.
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

static u32 *sequence_of(const struct wort_op *op, const struct wort_lock *lock)
{
	return &op->locks->sequence[lock - op->locks->lock];
}

/**
 * wort_nodes_moving() - Entries of nodes are going to be moved
 * @op: The operation, which holds the nodes.
 * @nodes: Their offsets.  Several of them may share a lock.
 * @nr: How many.
 *
 * Makes the sequence count of each of their locks odd, once.  From now on
 * readers of these nodes read in vain.  The caller must call wort_nodes_moved()
 * before it waits for a word that it has launched, and before it unlocks.  It
 * stores entries by WRITE_ONCE().
 *
 * Context: Any context but interrupts.
 */
void wort_nodes_moving(struct wort_op *op, const u64 *nodes, u32 nr)
{
	u32 *sequence;
	u32 i, at;

	for (i = 0; i < nr; i++) {
		at = held_at(op, wort_lock_of(op, nodes[i]));
		if (WARN_ON_ONCE(at == op->nr_held) || op->moving & BIT(at))
			continue;
		op->moving |= BIT(at);
		sequence = sequence_of(op, op->held[at]);
		WRITE_ONCE(*sequence, *sequence + 1);
	}
	/*
	 * A reader that loads a moved entry also finds an odd count, or a later
	 * one, when it looks again.  Pairs with the barrier in
	 * wort_node_read_retry().
	 */
	smp_wmb();
}

/**
 * wort_nodes_moved() - The entries have been moved
 * @op: The operation, after wort_nodes_moving().
 *
 * Makes the sequence counts even again.
 *
 * Context: Any context but interrupts.
 */
void wort_nodes_moved(struct wort_op *op)
{
	u32 *sequence;
	u32 at;

	for (at = 0; at < op->nr_held; at++) {
		if (!(op->moving & BIT(at)))
			continue;
		sequence = sequence_of(op, op->held[at]);
		/*
		 * A reader that loads this count also loads the entries as they
		 * are now.  Pairs with the acquire in wort_node_read_begin().
		 */
		smp_store_release(sequence, *sequence + 1);
	}
	op->moving = 0;
}

/**
 * wort_node_read_begin() - Begin to read entries that writers may move
 * @op: The operation.
 * @read: The read; the same one for each try.
 *
 * The caller copies what it needs, by READ_ONCE(), and trusts the copy only
 * when wort_node_read_retry() has returned false.  While it copies it takes no
 * lock.
 *
 * A node whose lock the operation holds is stable for it.  An operation that
 * holds a lock does not wait for another one, since locks are taken in the
 * order of the table.
 *
 * Context: Any context but interrupts, in a section.
 * Return: 0; -EAGAIN: the operation holds other locks, and entries are being
 * moved.  It must unlock what it holds and begin its step again.
 */
int wort_node_read_begin(struct wort_op *op, struct wort_node_read *read)
{
	if (!op->locks) {
		read->alone = true;
		return 0;
	}
	read->lock = wort_lock_of(op, read->node);
	read->alone = holds_lock(op, read->lock);
	if (read->alone)
		return 0;
	for (; read->tries < READ_TRIES; read->tries++) {
		/* pairs with the release in wort_nodes_moved() */
		read->sequence = smp_load_acquire(sequence_of(op, read->lock));
		if (!(read->sequence & 1))
			return 0;
		cpu_relax();
	}
	if (op->nr_held)
		return -EAGAIN;
	spin_lock(&read->lock->lock);
	__release(&read->lock->lock);
	read->locked = true;
	return 0;
}

/**
 * wort_node_read_retry() - Were entries moved while they were read?
 * @op: The operation.
 * @read: The read, after wort_node_read_begin() returned 0.
 *
 * Context: As wort_node_read_begin().
 * Return: True if they were: the caller must drop its copy and call
 * wort_node_read_begin() again.
 */
bool wort_node_read_retry(struct wort_op *op, struct wort_node_read *read)
{
	if (read->alone)
		return false;
	if (read->locked) {
		wort_node_release(read->lock);
		return false;
	}
	/*
	 * The count is loaded after the entries.  Pairs with the barrier in
	 * wort_nodes_moving().
	 */
	smp_rmb();
	if (likely(READ_ONCE(*sequence_of(op, read->lock)) == read->sequence))
		return false;
	read->tries++;
	return true;
}
