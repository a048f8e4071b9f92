// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations on an index.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "../core/pmem.h"
#include "pool.h"

/* Wait without the lock until operations may go on. */
static noinline int wait_thawed(struct wort_index *index)
{
	struct wort_pool *pool = index->pool;
	int err;

	do {
		mutex_unlock(&index->lock);
		err = wait_event_killable(pool->work_done,
					  !READ_ONCE(pool->frozen));
		mutex_lock(&index->lock);
	} while (!err && pool->frozen);
	return err ? -EINTR : 0;
}

/* As wort_index_enter(), for single operations, which are short. */
static __always_inline int enter(struct wort_index *index, struct wort_op *op,
				 bool write)
{
	struct wort_pool *pool = index->pool;
	int err = 0;

	mutex_lock(&index->lock);
	if (unlikely(pool->frozen))
		err = wait_thawed(index);
	if (!err && index->dead)
		err = -ESTALE;
	if (!err && write && (index->damaged || !wort_pool_writable(pool)))
		err = -EROFS;
	if (unlikely(err)) {
		mutex_unlock(&index->lock);
		return err;
	}
	wort_op_begin(op, pool->region, &pool->alloc);
	return 0;
}

static void account(struct wort_op_stats *stats, const struct wort_counts *n)
{
	stats->ops++;
	stats->stores += n->stores;
	stats->lines += n->lines;
	stats->fences += n->fences;
	stats->ordering_points += n->ordering_points;
	stats->nodes += n->nodes;
	stats->leaves += n->leaves;
	stats->loads += n->loads;
	stats->alloc_lines += n->alloc_lines;
}

/* As wort_index_exit(). */
static __always_inline void leave(struct wort_index *index, struct wort_op *op,
				  u32 type, int err)
{
	wort_op_end(op);
	if (unlikely(err == -EUCLEAN))
		wort_index_set_damaged(index, true);
	if (static_branch_likely(&wort_counting))
		account(&index->stats[type], &op->n);
	mutex_unlock(&index->lock);
}

/**
 * wort_index_enter() - Begin an operation on an index
 * @index: The index, held.
 * @op: Uninitialised memory of the caller.
 * @write: The operation may change it.
 *
 * Context: May sleep.  Takes wort_index.lock, which wort_index_exit() drops.
 * Return: 0; -ESTALE if it was destroyed; -EROFS; -EINTR.
 */
int wort_index_enter(struct wort_index *index, struct wort_op *op, bool write)
{
	return enter(index, op, write);
}

/**
 * wort_index_exit() - End an operation on an index
 * @index: The index.
 * @op: The operation.
 * @type: WORT_OP_*.
 * @err: How it ended.  -EUCLEAN turns the index read-only.
 *
 * Context: May sleep.  Drops wort_index.lock.
 * Return: @err.
 */
int wort_index_exit(struct wort_index *index, struct wort_op *op, u32 type,
		    int err)
{
	leave(index, op, type, err);
	return err;
}

/*
 * Give freed objects back before there are too many of them, and try again a
 * walk that had no memory.
 */
static void kick_reclaim(struct wort_pool *pool)
{
	struct wort_alloc *alloc = &pool->alloc;
	u64 size = (u64)alloc->geo.nr_extents << alloc->geo.extent_shift;

	if (READ_ONCE(alloc->freeing_bytes) > min_t(u64, size / 64, 1 << 20) ||
	    READ_ONCE(pool->work_err))
		wort_pool_kick(pool);
}

static int key_verify(const struct wort_key *key)
{
	if (!key->len)
		return -EINVAL;
	return key->len > WORT_KEY_MAX ? -EMSGSIZE : 0;
}

/**
 * wort_index_insert() - Store a record
 * @index: The index, held.
 * @put: The record, in memory that does not change meanwhile.
 *
 * Durable when the call returns 0; otherwise nothing was changed.
 *
 * Context: May sleep; waits for the walk or for freed objects if the pool
 * seems full.  Takes wort_index.lock.
 * Return: 0; -EINVAL or -EMSGSIZE for a length; -EEXIST, -ENOENT, -ECANCELED
 * as struct wort_put asks; -ENOSPC; -ENOMEM; -ESTALE; -EROFS; -EUCLEAN; -EIO;
 * -EINTR; -ENODEV if the pool is being detached.
 */
int wort_index_insert(struct wort_index *index, struct wort_put *put)
{
	struct wort_op op;
	int err = key_verify(&put->key);

	if (!err && put->value.len > WORT_VALUE_MAX)
		err = -EMSGSIZE;
	if (err)
		return err;
	do {
		err = enter(index, &op, true);
		if (err)
			return err;
		err = index->tree.engine->put(&op, &index->tree, put);
		leave(index, &op, put->replaced ? WORT_OP_UPDATE :
		      WORT_OP_INSERT, err);
	} while (err == -ENOSPC && !(err = wort_pool_wait_space(index->pool, &op)));
	if (put->replaced)
		kick_reclaim(index->pool);
	return err;
}

/**
 * wort_index_lookup() - Read the value of a key
 * @index: The index, held.
 * @key: The key.
 * @buf: Where the value goes.
 *
 * Context: May sleep.  Takes wort_index.lock.
 * Return: 0; -ENOENT; -ERANGE if it does not fit, with its length in @buf;
 * -EINVAL, -EMSGSIZE, -ESTALE, -EUCLEAN, -EIO, -EINTR.
 */
int wort_index_lookup(struct wort_index *index, const struct wort_key *key,
		      struct wort_buf *buf)
{
	struct wort_op op;
	int err = key_verify(key);

	if (err)
		return err;
	err = enter(index, &op, false);
	if (err)
		return err;
	err = index->tree.engine->lookup(&op, &index->tree, key, buf);
	leave(index, &op, WORT_OP_LOOKUP, err);
	return err;
}

/**
 * wort_index_delete() - Remove a record
 * @index: The index, held.
 * @key: The key.
 * @expect: Remove it only if this is its value; NULL: whatever it is.
 *
 * Durable when the call returns 0.  Needs no space.
 *
 * Context: May sleep.  Takes wort_index.lock.
 * Return: 0; -ENOENT; -ECANCELED; -EINVAL, -EMSGSIZE, -ESTALE, -EROFS,
 * -EUCLEAN, -EIO, -EINTR.
 */
int wort_index_delete(struct wort_index *index, const struct wort_key *key,
		      const struct wort_value *expect)
{
	struct wort_op op;
	int err = key_verify(key);

	if (err)
		return err;
	err = enter(index, &op, true);
	if (err)
		return err;
	err = index->tree.engine->remove(&op, &index->tree, key, expect);
	leave(index, &op, WORT_OP_DELETE, err);
	if (!err)
		kick_reclaim(index->pool);
	return err;
}
