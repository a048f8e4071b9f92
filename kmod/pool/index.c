// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations on an index.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/nospec.h>
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
	} while (!err && READ_ONCE(pool->frozen));
	return err ? -EINTR : 0;
}

/* As wort_index_enter(), for single operations, which are short. */
static __always_inline int enter(struct wort_index *index, struct wort_op *op,
				 bool write)
{
	struct wort_pool *pool = index->pool;
	int err = 0;

	mutex_lock(&index->lock);
	if (unlikely(READ_ONCE(pool->frozen)))
		err = wait_thawed(index);
	if (!err && index->dead)
		err = -ESTALE;
	if (unlikely(READ_ONCE(pool->region->bad_pages)) && !err)
		err = wort_index_verify(index);
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
 * Return: 0; -ESTALE if it was destroyed; -EIO if its root lies on a page known
 * to be bad; -EROFS; -EINTR.
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

/* An old value counts only where the operation came to its end. */
static void settle_old(struct wort_buf *old, int err)
{
	if (old && err && err != -EEXIST && err != -ECANCELED && err != -ERANGE)
		old->len = WORT_NO_VALUE;
}

/* If the pool seems full, try again when space was given back. */
static int put_waiting(struct wort_index *index, struct wort_put *put)
{
	struct wort_op op;
	int err;

	do {
		if (put->old)
			put->old->len = WORT_NO_VALUE;
		err = enter(index, &op, true);
		if (err)
			return err;
		err = index->tree.engine->put(&op, &index->tree, put);
		leave(index, &op, put->replaced ? WORT_OP_UPDATE :
		      WORT_OP_INSERT, err);
	} while (err == -ENOSPC && !(err = wort_pool_wait_space(index->pool, &op)));
	return err;
}

/**
 * wort_index_insert() - Store a record
 * @index: The index, held.
 * @put: The record, in memory that does not change meanwhile.
 *
 * Durable when the call returns 0; otherwise nothing was changed.  The length
 * of an old value that was asked for is told with 0, -EEXIST, -ECANCELED and
 * -ERANGE; it is WORT_NO_VALUE if there was none, and with any other error.
 *
 * Context: May sleep; waits for the walk or for freed objects if the pool
 * seems full.  Takes wort_index.lock.
 * Return: 0; -EINVAL or -EMSGSIZE for a length; -EEXIST, -ENOENT, -ECANCELED
 * as struct wort_put asks; -ERANGE if the old value does not fit; -ENOSPC;
 * -ENOMEM; -ESTALE; -EROFS; -EUCLEAN; -EIO; -EINTR; -ENODEV if the pool is
 * being detached.
 */
int wort_index_insert(struct wort_index *index, struct wort_put *put)
{
	int err = key_verify(&put->key);

	if (!err && put->value.len > WORT_VALUE_MAX)
		err = -EMSGSIZE;
	if (!err)
		err = put_waiting(index, put);
	settle_old(put->old, err);
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
 * @old: Where its value goes, told as by wort_index_insert(); NULL: nowhere.
 *
 * Durable when the call returns 0.  Needs no space.
 *
 * Context: May sleep.  Takes wort_index.lock.
 * Return: 0; -ENOENT; -ECANCELED; -ERANGE; -EINVAL, -EMSGSIZE, -ESTALE, -EROFS,
 * -EUCLEAN, -EIO, -EINTR.
 */
int wort_index_delete(struct wort_index *index, const struct wort_key *key,
		      const struct wort_value *expect, struct wort_buf *old)
{
	struct wort_op op;
	int err = key_verify(key);

	if (!err)
		err = enter(index, &op, true);
	if (!err) {
		err = index->tree.engine->remove(&op, &index->tree, key,
						 expect, old);
		leave(index, &op, WORT_OP_DELETE, err);
	}
	settle_old(old, err);
	if (!err)
		kick_reclaim(index->pool);
	return err;
}

/* What an operation may have, besides a key. */
static const struct rule {
	u16 flags;
	bool change;
	bool value;
} rules[] = {
	[WORT_BATCH_INSERT] = { WORT_INSERT_F_ALL, true, true },
	[WORT_BATCH_DELETE] = { WORT_DELETE_F_ALL, true, false },
	[WORT_BATCH_LOOKUP] = { 0, false, false },
	[WORT_BATCH_CAS] = { WORT_CAS_F_ALL, true, true },
};

static bool expects(const struct wort_batch_op *op)
{
	return op->op == WORT_BATCH_CAS ||
	       (op->op == WORT_BATCH_DELETE &&
		op->flags & WORT_DELETE_F_EXPECT);
}

/* A length that would not be looked at is a flag that was forgotten. */
static int lengths_verify(const struct wort_batch_op *op,
			  const struct rule *rule)
{
	if (!op->key_len || (op->expect_len && !expects(op)) ||
	    (op->value_len && !rule->value) ||
	    (op->max_len && !wort_request_answers(op)))
		return -EINVAL;
	return op->key_len > WORT_KEY_MAX || op->expect_len > WORT_VALUE_MAX ||
	       op->value_len > WORT_VALUE_MAX ? -EMSGSIZE : 0;
}

/**
 * wort_request_verify() - May an operation be asked for like this?
 * @op: The operation; its rec_len does not count.
 * @write: The descriptor is open for writing.
 *
 * Context: Any context.
 * Return: 0; -EOPNOTSUPP for an unknown operation or flag; -EBADF for a change
 * without @write; -EINVAL for flags that exclude each other, a key without
 * bytes or a length that the operation does not have; -EMSGSIZE.
 */
int wort_request_verify(const struct wort_batch_op *op, bool write)
{
	const u16 either = WORT_INSERT_F_CREATE | WORT_INSERT_F_REPLACE;
	const struct rule *rule;

	if (op->op >= ARRAY_SIZE(rules) || !op->op)
		return -EOPNOTSUPP;
	rule = &rules[array_index_nospec(op->op, ARRAY_SIZE(rules))];
	if (rule->change && !write)
		return -EBADF;
	if (op->flags & ~rule->flags)
		return -EOPNOTSUPP;
	if (op->op == WORT_BATCH_INSERT && (op->flags & either) == either)
		return -EINVAL;
	return lengths_verify(op, rule);
}

/**
 * wort_request_run() - Carry out an operation as a program asks for it
 * @index: The index, held.
 * @req: The operation, for which wort_request_verify() holds.
 *
 * Context: As wort_index_insert().
 * Return: What wort_index_insert(), wort_index_delete() or
 * wort_index_lookup() returns.
 */
int wort_request_run(struct wort_index *index, struct wort_request *req)
{
	struct wort_put put = {
		.key = req->key,
		.value = req->value,
		.expect = expects(&req->op) ? &req->expect : NULL,
		.old = wort_request_answers(&req->op) ? &req->answer : NULL,
		.create = req->op.flags & WORT_INSERT_F_CREATE,
		.replace = req->op.flags & WORT_INSERT_F_REPLACE,
	};
	int err;

	req->answer.len = WORT_NO_VALUE;
	if (req->op.op == WORT_BATCH_DELETE)
		return wort_index_delete(index, &put.key, put.expect, put.old);
	if (req->op.op != WORT_BATCH_LOOKUP)
		return wort_index_insert(index, &put);
	err = wort_index_lookup(index, &put.key, &req->answer);
	settle_old(&req->answer, err);
	return err;
}
