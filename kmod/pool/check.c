// SPDX-License-Identifier: GPL-2.0-only
/*
 * Examination of a whole pool: each index, then whether each byte is owned
 * once, free, or being freed.
 *
 * Operations that may change something wait meanwhile, others do not.
 *
 * An index may be destroyed while the background work that check begins with
 * waits for readers: its tree is not freed yet then, and not damage either.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../core/pmem.h"
#include "pool.h"

struct checker {
	struct wort_visitor visitor;
	struct wort_pool *pool;
	struct wort_marks marks;
	struct wort_check_arg *arg;
	__u64 *bytes;		/* what is visited counts here */
	bool clear;
	bool unknown;		/* not all that is owned was found */
};

static int mark(struct wort_visitor *visitor, struct wort_op *op, u64 off,
		u64 size, bool first)
{
	struct checker *ck = container_of(visitor, struct checker, visitor);
	int err = wort_marks_add(op, &ck->marks, off, size);

	if (!err)
		*ck->bytes += wort_alloc_footprint(&ck->pool->alloc, size);
	return err;
}

static void damaged(struct checker *ck, u64 off, u64 index_id)
{
	if (!ck->arg->out_nr_damaged++) {
		ck->arg->out_damaged_off = off;
		ck->arg->out_damaged_index = index_id;
	}
}

static int check_index(struct checker *ck, struct wort_index *index)
{
	struct wort_cursor *cur = ck->pool->cursor;
	struct wort_tree_check check = {
		.visitor = &ck->visitor,
		.repair = ck->clear && wort_pool_writable(ck->pool),
	};
	struct wort_op op;
	int err;

	wort_op_begin(&op, ck->pool->region, &ck->pool->alloc);
	cur->op = &op;
	cur->tree = &index->tree;
	cur->reverse = false;
	err = wort_index_verify(index);
	if (err)
		op.bad_off = index->entry_off;
	else
		err = index->tree.engine->check(cur, &check);
	wort_op_end(&op);
	ck->arg->out_nr_indexes++;
	ck->arg->out_nr_nodes += check.nr_nodes;
	ck->arg->out_nr_leaves += check.nr_leaves;
	ck->arg->out_nr_transient += check.nr_transient;
	if (err == -EUCLEAN || err == -EIO)
		damaged(ck, op.bad_off, index->id);
	if (err == -EUCLEAN) {
		mutex_lock(&index->lock);
		wort_index_set_damaged(index, true);
		mutex_unlock(&index->lock);
	}
	return err == -ENOMEM ? err : 0;
}

static int visit_tree(struct checker *ck, struct wort_op *op,
		      struct wort_index *index)
{
	const struct wort_engine *engine = index->tree.engine;
	struct wort_cursor *cur = ck->pool->cursor;
	int err = wort_index_verify(index);

	cur->op = op;
	cur->tree = &index->tree;
	cur->reverse = false;
	if (!err)
		err = engine->seek(cur, NULL);
	while (!err) {
		err = engine->owned(cur, &ck->visitor);
		if (!err)
			err = engine->next(cur);
	}
	return err;
}

/* A destroyed index owns its tree and its entry until these are freed. */
static int check_dying(struct checker *ck, struct wort_index *index)
{
	struct wort_op op;
	int err;

	if (index->walk_failed || index->damaged) {
		ck->unknown = true;
		return 0;
	}
	wort_op_begin(&op, ck->pool->region, &ck->pool->alloc);
	ck->bytes = &ck->arg->out_freeing_bytes;
	err = visit_tree(ck, &op, index);
	if (err == -ENOENT)
		err = mark(&ck->visitor, &op, index->entry_off,
			   sizeof(struct wort_media_entry), true);
	ck->bytes = &ck->arg->out_owned_bytes;
	wort_op_end(&op);
	ck->unknown |= err;
	return err == -ENOMEM ? err : 0;
}

static int check_catalogue(struct checker *ck)
{
	struct wort_op op;
	int err;

	wort_op_begin(&op, ck->pool->region, &ck->pool->alloc);
	err = wort_catalogue_visit(&op, ck->pool, &ck->visitor);
	wort_op_end(&op);
	if (err == -EUCLEAN || err == -EIO)
		damaged(ck, op.bad_off, 0);
	return err == -ENOMEM ? err : 0;
}

/*
 * A nonsense word in the extent table: if all else is sound, nothing is owned
 * in its extent.
 */
static void check_table(struct checker *ck)
{
	struct wort_pool *pool = ck->pool;
	struct wort_op op;
	bool mend;

	mend = ck->clear && !ck->arg->out_nr_damaged;
	wort_op_begin(&op, pool->region, &pool->alloc);
	if (wort_alloc_check_table(&op, mend))
		damaged(ck, pool->alloc.geo.table_off, 0);
	wort_op_end(&op);
}

/* Comparing makes sense only if all that is owned was found. */
static void check_space(struct checker *ck)
{
	struct wort_alloc *alloc = &ck->pool->alloc;
	struct wort_alloc_info info;
	struct wort_op op;
	u64 bad_off = 0;
	int bad;

	wort_alloc_info(alloc, &info);
	ck->arg->out_freeing_bytes += info.freeing_bytes;
	ck->arg->out_free_bytes = info.free_bytes;
	if (ck->arg->out_nr_damaged || ck->unknown || ck->pool->leaky ||
	    alloc->walking)
		return;
	wort_op_begin(&op, ck->pool->region, alloc);
	bad = wort_marks_compare(&op, &ck->marks, &bad_off);
	wort_op_end(&op);
	if (bad)
		damaged(ck, bad_off, 0);
}

/* Nothing is wrong any more: what was read-only is writable again. */
static void clear_damage(struct wort_pool *pool)
{
	struct wort_index *index;
	struct wort_op op;

	if (pool->damaged) {
		WRITE_ONCE(pool->damaged, false);
		pool->sb.state = 0;
		wort_op_begin(&op, pool->region, NULL);
		wort_sb_store(&op, pool);
		wort_op_end(&op);
		wort_pool_changed(pool);
	}
	list_for_each_entry(index, &pool->indexes, list) {
		mutex_lock(&index->lock);
		wort_index_set_damaged(index, false);
		mutex_unlock(&index->lock);
		if (index->walk_failed)
			pool->rewalk = true;
		index->walk_failed = false;
	}
}

static int check_all(struct checker *ck)
{
	struct wort_pool *pool = ck->pool;
	struct wort_index *index;
	int err;

	err = wort_marks_init(&ck->marks, &pool->alloc);
	if (!err)
		err = check_catalogue(ck);
	list_for_each_entry(index, &pool->indexes, list)
		if (!err)
			err = check_index(ck, index);
	list_for_each_entry(index, &pool->dying, list)
		if (!err)
			err = check_dying(ck, index);
	if (!err)
		check_table(ck);
	if (!err)
		check_space(ck);
	wort_marks_destroy(&ck->marks);
	if (!err && ck->clear && !ck->arg->out_nr_damaged)
		clear_damage(pool);
	return err;
}

/* The walk did not end while these were there, and now it can. */
static int drop_lost(struct checker *ck)
{
	u64 nr = 0;
	int err = wort_pool_drop_lost(ck->pool, &nr);

	ck->arg->out_nr_dropped = nr;
	return err || !nr ? err : wort_pool_round(ck->pool);
}

/**
 * wort_pool_check() - Examine a whole pool
 * @pool: The pool.
 * @arg: Flags; its out_ fields are filled in.
 *
 * Waits for the walk first.  Damage found turns its index read-only.  With
 * WORT_CHECK_F_CLEAR legal states that a power cut left are mended, references to
 * what cannot be read are dropped and, if nothing is wrong, what was read-only
 * becomes writable.  In a read-only pool,
 * which has no walk, space is not compared with what is owned.
 *
 * Context: May sleep for long.  Takes all mutexes.  Operations that may change
 * something wait meanwhile.
 * Return: 0 whatever was found; -EROFS for WORT_CHECK_F_CLEAR of a read-only
 * pool; -ENOMEM, -EINTR, -ENODEV.
 */
int wort_pool_check(struct wort_pool *pool, struct wort_check_arg *arg)
{
	struct checker ck = {
		.visitor = { .visit = mark },
		.pool = pool,
		.arg = arg,
		.bytes = &arg->out_owned_bytes,
		.clear = arg->flags & WORT_CHECK_F_CLEAR,
	};
	u32 size = arg->size, flags = arg->flags;
	int err = ck.clear && pool->readonly ? -EROFS :
					       wort_pool_wait_walk(pool);

	if (err)
		return err;
	memset(arg, 0, sizeof(*arg));
	arg->size = size;
	arg->flags = flags;
	arg->out_owned_bytes = wort_alloc_table_bytes(&pool->alloc);
	mutex_lock(&pool->work_lock);
	err = wort_pool_round(pool);
	if (!err && ck.clear)
		err = drop_lost(&ck);
	mutex_lock(&pool->lock);
	wort_pool_freeze(pool);
	if (!err)
		err = check_all(&ck);
	wort_pool_thaw(pool);
	mutex_unlock(&pool->lock);
	mutex_unlock(&pool->work_lock);
	if (!err && ck.clear)
		wort_pool_kick(pool);
	return err;
}
