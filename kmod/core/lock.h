/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Locks of nodes, and marks of words in flight.
 *
 * A lock stands for a node, which is named by its own offset: that of its first
 * byte.  Records are nodes, too; the root record of an index is locked by the
 * offset of its catalogue entry.  Locks are volatile.  They lie in one table,
 * and the name of a node is hashed to an entry, which several nodes share.  The
 * hash multiplies: engines have nodes of many sizes, and a node of 1 KiB would
 * use every eighth entry only if its offset was taken modulo the table.
 *
 * A writer searches the word that it will change without any lock.  Then it
 * locks the node of the word, and verifies that the word is unchanged and that
 * no node of this lock was removed since it began; otherwise it retries.  For
 * that there is a clock: each removal is a tick, and each lock has the tick of
 * the last removal of one of its nodes.  A writer that removes a node locks it,
 * too.  So a writer of a word in the middle of a large node sees that the node
 * was replaced.
 *
 * A writer that needs several locks knows them all before it takes the first
 * one, and takes them in the order of the table.  A writer that turns out to
 * need one more tries to take it with wort_node_trylock(), before its first
 * store, and retries or does without if it is taken.
 *
 * While a word is in flight, that is visible and perhaps not durable, its lock
 * is marked.  An operation that reads the word must make it durable before its
 * answer may rest on it (Documentation/persistence.rst).  A reader checks the
 * mark of the node after it has loaded the word.  The mark is set before the
 * word is stored, and cleared after the fence.  Therefore a reader that sees
 * the word also sees the mark, unless the word is already durable.  Not every
 * operation holds its lock until the fence: those of a batch share one, and
 * others free objects before it.  Therefore a holder of the lock checks the
 * mark, too.
 *
 * The mark is about durability.  Torn reads are the matter of the sequence
 * count, which each entry of the table has, too: it is odd while entries of one
 * of its nodes are being moved, so that a reader can meet an entry twice or not
 * at all.  A reader copies what it needs, and copies again if the count was odd
 * or has changed.  After some tries it takes the lock.  A node whose entries
 * stay where they are needs no such look, and its readers none.
 */
#ifndef _WORT_LOCK_H
#define _WORT_LOCK_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/lockdep.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>
#include <linux/types.h>
#include <linux/wort.h>
#include <asm/barrier.h>

#include "op.h"

#define WORT_NR_LOCKS		WORT_MAP_NR_NODES

/**
 * struct wort_lock - The lock of some nodes
 * @lock: taken after the mutexes of a pool; several in the order of addresses
 * @in_flight: the mark: how many words that were stored under the lock are in
 *	flight; changed under the lock
 * @removed: tick of the last removal of one of its nodes
 */
struct wort_lock {
	spinlock_t lock;		/* after mutexes; by address */
	u32 *in_flight;
	u64 removed;
} ____cacheline_aligned_in_smp;

/**
 * struct wort_locks - The locks of a pool
 * @writers: operations that may change something are sections of it, since they
 *	sleep; others are RCU sections
 * @roots: held for reading in sections of the background, which do not look at
 *	wort_pool.frozen; for writing, while a root record moves
 * @clock: ticks with each removal
 * @lock: the locks
 * @ready: @writers was set up
 * @in_flight: the marks of @lock
 * @sequence: the sequence counts of @lock, each changed under its lock
 * @control: @in_flight, @sequence and the other words that readers in a mapping
 *	load, which are in no section.  Whole pages, so that they can be mapped.
 */
struct wort_locks {
	struct srcu_struct writers;
	struct rw_semaphore roots;
	bool ready;
	atomic64_t clock;
	struct wort_lock *lock;
	u32 *in_flight;
	u32 *sequence;
	struct wort_map_control *control;
};

int wort_locks_init(struct wort_locks *locks);
void wort_locks_destroy(struct wort_locks *locks);
void wort_locks_synchronize(struct wort_locks *locks);
void wort_locks_map_state(struct wort_locks *locks, u32 from, u32 to);
void wort_locks_ask(struct wort_locks *locks, bool ask);

/* The number of the lock of a node, and of its mark. */
static inline u32 wort_lock_nr(u64 node)
{
	return WORT_MAP_NODE(node);
}

/**
 * wort_locks_now() - Read the clock
 * @locks: The locks.
 *
 * An acquire: loads after it see all stores before the last tick.  Pairs with
 * wort_nodes_removed().
 *
 * Context: Any context.
 * Return: The number of ticks.
 */
static inline u64 wort_locks_now(struct wort_locks *locks)
{
	return atomic64_read_acquire(&locks->clock);
}

/**
 * wort_locks_reusing() - Raise the generation before objects are reused
 * @locks: The locks.
 *
 * A reader in a mapping that may have reached one of these objects finds
 * another generation, and retries.  Stores before this are visible before the
 * new generation, stores after this are visible after it.
 *
 * Context: Any context.  The caller serialises calls.
 */
static inline void wort_locks_reusing(struct wort_locks *locks)
{
	u64 next = locks->control->generation + 1;

	/* A reader that loads this generation must not reach the objects. */
	smp_store_release(&locks->control->generation, next);
	/* Pairs with the fence before a reader loads the generation again. */
	smp_wmb();
}

static inline struct wort_lock *wort_lock_of(const struct wort_op *op, u64 node)
{
	return &op->locks->lock[wort_lock_nr(node)];
}

/**
 * wort_nodes_unlock() - Unlock all nodes that an operation has locked
 * @op: The operation.  wort_nodes_moved() has followed wort_nodes_moving().
 *
 * A count that is left odd would cost readers their time, and no more, since
 * they take the lock in the end.  Therefore only kernels with lockdep look for
 * it.
 *
 * Context: Any context but interrupts.
 */
static inline void wort_nodes_unlock(struct wort_op *op)
{
	struct wort_lock *lock;

	lockdep_assert(!op->moving);
	while (op->nr_held) {
		lock = op->held[--op->nr_held];
		/* Sparse cannot count the locks that are held. */
		__acquire(&lock->lock);
		spin_unlock(&lock->lock);
	}
}

/* Has the lock seen no removal since the operation began? */
static inline bool wort_lock_fresh(const struct wort_op *op,
				   const struct wort_lock *lock)
{
	return lock->removed <= op->time;
}

/* Take one more lock, of a higher address.  False if it has seen a removal. */
static inline bool wort_lock_hold(struct wort_op *op, struct wort_lock *lock)
{
	spin_lock_nested(&lock->lock, op->nr_held);
	__release(&lock->lock);
	op->held[op->nr_held++] = lock;
	return wort_lock_fresh(op, lock);
}

/**
 * wort_node_lock() - Lock a node that an operation will change
 * @op: The operation, which has wort_op.locks.
 * @node: Offset of the node.
 *
 * Context: Any context but interrupts.  The operation holds no node.  If this
 * returns true the caller must call wort_nodes_unlock().
 * Return: False if the node, or another node of the same lock, was removed
 * since wort_op.time: then nothing is locked.
 */
static inline bool wort_node_lock(struct wort_op *op, u64 node)
{
	if (likely(wort_lock_hold(op, wort_lock_of(op, node))))
		return true;
	wort_nodes_unlock(op);
	return false;
}

/* Keep a lock that was taken, unless it has seen a removal. */
static __always_inline struct wort_lock *
wort_lock_keep(const struct wort_op *op, struct wort_lock *lock)
{
	__release(&lock->lock);
	if (likely(wort_lock_fresh(op, lock)))
		return lock;
	__acquire(&lock->lock);
	spin_unlock(&lock->lock);
	return NULL;
}

/**
 * wort_node_hold() - Lock a single node, without recording that in the operation
 * @op: The operation.
 * @node: Offset of the node.
 *
 * Context: As wort_node_lock().
 * Return: The lock, for wort_node_release(); NULL where wort_node_lock()
 * returns false.
 */
static __always_inline struct wort_lock *
wort_node_hold(const struct wort_op *op, u64 node)
{
	struct wort_lock *lock = wort_lock_of(op, node);

	spin_lock(&lock->lock);
	return wort_lock_keep(op, lock);
}

/**
 * wort_node_try() - As wort_node_hold(), without waiting
 * @op: The operation, which has stored nothing under the locks that it holds.
 * @node: Offset of the node.
 *
 * Context: As wort_node_lock(), but locks may be held.
 * Return: As wort_node_hold(); NULL also if the lock is held, perhaps by the
 * caller.
 */
static __always_inline struct wort_lock *wort_node_try(const struct wort_op *op,
						       u64 node)
{
	struct wort_lock *lock = wort_lock_of(op, node);

	return spin_trylock(&lock->lock) ? wort_lock_keep(op, lock) : NULL;
}

/**
 * wort_node_release() - Unlock a single node
 * @lock: The result of wort_node_hold() or wort_node_try(), not NULL.
 *
 * Context: Any context but interrupts.
 */
static __always_inline void wort_node_release(struct wort_lock *lock)
{
	__acquire(&lock->lock);
	spin_unlock(&lock->lock);
}

/**
 * wort_nodes_removed() - Nodes have been taken out of a tree
 * @op: The operation.  The word that did it is stored.  It need not be durable
 *	yet: others then find out sooner that they have to retry.
 * @a: Offset of a node, which is locked.
 * @b: Offset of another one, or 0.
 *
 * A full barrier: an operation that begins at this tick does not find the
 * nodes.
 *
 * Context: Any context but interrupts.
 */
static inline void wort_nodes_removed(const struct wort_op *op, u64 a, u64 b)
{
	u64 tick = atomic64_inc_return(&op->locks->clock);

	wort_lock_of(op, a)->removed = tick;
	if (b)
		wort_lock_of(op, b)->removed = tick;
}

/**
 * struct wort_node_read - A read of entries that writers may move
 * @node: offset of the node; set by the caller, who clears the other fields
 * @lock: its lock
 * @sequence: its sequence count when the read began
 * @tries: reads that met a writer
 * @alone: no writer can move entries meanwhile: the operation holds the lock,
 *	or has no locks at all
 * @locked: the lock was taken for the read
 */
struct wort_node_read {
	u64 node;
	struct wort_lock *lock;
	u32 sequence;
	u32 tries;
	bool alone;
	bool locked;
};

void wort_nodes_moving(struct wort_op *op, const u64 *nodes, u32 nr);
void wort_nodes_moved(struct wort_op *op);
int wort_node_read_begin(struct wort_op *op, struct wort_node_read *read);
bool wort_node_read_retry(struct wort_op *op, struct wort_node_read *read);

bool wort_nodes_lock(struct wort_op *op, const u64 *nodes, u32 nr);
bool wort_node_trylock(struct wort_op *op, u64 node);

#endif /* _WORT_LOCK_H */
