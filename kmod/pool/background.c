// SPDX-License-Identifier: GPL-2.0-only
/*
 * What runs in the background of a pool, in this order: the tables of the tops of
 * trees (tops.c); the walk that finds again what is owned, once after attach; the
 * freeing of destroyed indexes; reclaim.
 *
 * An index that is destroyed before the walk has come by is walked all the
 * same and freed afterwards, like any other: so each object is either found
 * and given back, or in an extent that the walk leaves free.
 *
 * A walk that memory ran out for starts again from nothing, since it cannot
 * tell an object that it has marked already from one with two owners.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/string.h>

#include <trace/events/wort.h>

#include "../core/pmem.h"
#include "pool.h"

/* Records that are walked without a pause, in which memory is used again. */
#define WALK_CHUNK	1024

/* So often the walk meets what makes no sense before it looks at it alone. */
#define WALK_TRIES	8

/*
 * An object is marked in the section that loaded the link to it, and what was freed
 * is given back only after all sections, so an inconsistency about an object is
 * damage, not a race.
 */
static int mark(struct wort_visitor *visitor, struct wort_op *op, u64 off,
		u64 size, bool first)
{
	bool alone = op->alone;
	int err;

	op->alone = true;
	err = wort_alloc_mark(op, off, size, first);
	op->alone = alone;
	return err;
}

static int give_back(struct wort_visitor *visitor, struct wort_op *op, u64 off,
		     u64 size, bool first)
{
	return wort_alloc_free(op, off, size);
}

static void cursor_begin(struct wort_pool *pool, struct wort_op *op,
			 struct wort_index *index)
{
	wort_op_begin(op, pool->region, &pool->alloc);
	pool->cursor->op = op;
	pool->cursor->tree = &index->tree;
	pool->cursor->reverse = false;
}

/*
 * Mark some records from the first one after @key on.  Afterwards @key is the
 * last one marked, so the walk goes on there whatever was changed meanwhile:
 * what moves in a tree keeps its key, and what is new is allocated already.
 */
static int walk_records(struct wort_pool *pool, struct wort_index *index,
			struct wort_op *op, u8 *buf, struct wort_key *key)
{
	const struct wort_engine *engine = index->tree.engine;
	struct wort_visitor visitor = { .visit = mark };
	struct wort_cursor *cur = pool->cursor;
	int n, err = wort_index_verify(index);

	if (!err)
		err = engine->seek(cur, key->len ? key : NULL);
	if (!err && key->len == cur->key_len &&
	    !memcmp(buf, cur->key, key->len))
		err = engine->next(cur);
	for (n = 0; !err && n < WALK_CHUNK; n++) {
		err = engine->owned(cur, &visitor);
		if (err)
			break;
		WRITE_ONCE(pool->walk_records, pool->walk_records + 1);
		memcpy(buf, cur->key, cur->key_len);
		key->len = cur->key_len;
		err = engine->next(cur);
	}
	return err;
}

static int walk_chunk(struct wort_pool *pool, struct wort_index *index,
		      u8 *buf, struct wort_key *key, bool alone)
{
	struct wort_op op;
	int section, err;

	if (alone) {
		mutex_lock(&pool->lock);
		wort_pool_freeze(pool);
	}
	section = srcu_read_lock(&pool->locks.writers);
	cursor_begin(pool, &op, index);
	op.alone = alone;
	err = walk_records(pool, index, &op, buf, key);
	wort_op_end(&op);
	srcu_read_unlock(&pool->locks.writers, section);
	if (alone) {
		wort_pool_thaw(pool);
		mutex_unlock(&pool->lock);
	}
	if (err == -EUCLEAN) {
		mutex_lock(&index->lock);
		wort_index_set_damaged(index, true);
		mutex_unlock(&index->lock);
	}
	return err;
}

static void reclaim(struct wort_pool *pool)
{
	struct wort_op op;

	wort_op_begin(&op, pool->region, &pool->alloc);
	wort_alloc_reclaim(&op);
	wort_op_end(&op);
}

/*
 * Operations that wait for space get what was freed in extents opened since the
 * attach: they need not wait for the end of the walk.
 */
static void reclaim_in_walk(struct wort_pool *pool)
{
	if (!wort_alloc_freeing(&pool->alloc) ||
	    !atomic_read(&pool->space_waiters))
		return;
	reclaim(pool);
	WRITE_ONCE(pool->rounds, pool->rounds + 1);
	wake_up_all(&pool->work_done);
}

/* Returns an error only if the walk cannot go on now. */
static int walk_index(struct wort_pool *pool, struct wort_index *index)
{
	u8 buf[WORT_KEY_MAX];
	struct wort_key key = { .data = buf };
	int err = 0, tries = 0;

	if (READ_ONCE(index->dead) && READ_ONCE(index->damaged))
		return 0;
	while (!err || err == -EAGAIN) {
		if (READ_ONCE(pool->stopping))
			return -EINTR;
		tries = err ? tries + 1 : 0;
		err = walk_chunk(pool, index, buf, &key, tries == WALK_TRIES);
		reclaim_in_walk(pool);
		cond_resched();
	}
	if (err == -ENOMEM)
		return err;
	mutex_lock(&pool->lock);
	index->walk_failed = err != -ENOENT;
	mutex_unlock(&pool->lock);
	return 0;
}

static struct wort_index *first_unwalked(struct list_head *list)
{
	struct wort_index *index;

	list_for_each_entry(index, list, list)
		if (!index->walked)
			return index;
	return NULL;
}

static struct wort_index *next_to_walk(struct wort_pool *pool)
{
	struct wort_index *index;

	mutex_lock(&pool->lock);
	index = first_unwalked(&pool->indexes);
	if (!index)
		index = first_unwalked(&pool->dying);
	mutex_unlock(&pool->lock);
	return index;
}

/*
 * Forget all marks but those of the catalogue and of the entries of destroyed
 * indexes, which are still to be freed.
 */
static int restart_walk(struct wort_pool *pool)
{
	struct wort_visitor visitor = { .visit = mark };
	struct wort_index *index;
	struct wort_op op;
	int err;

	wort_op_begin(&op, pool->region, &pool->alloc);
	wort_alloc_walk_restart(&op);
	mutex_lock(&pool->lock);
	list_for_each_entry(index, &pool->indexes, list)
		index->walked = false;
	pool->walk_indexes = 0;
	pool->walk_records = 0;
	err = wort_catalogue_visit(&op, pool, &visitor);
	list_for_each_entry(index, &pool->dying, list) {
		index->walked = false;
		if (!err)
			err = mark(&visitor, &op, index->entry_off,
				   sizeof(struct wort_media_entry), true);
	}
	pool->rewalk = err;
	mutex_unlock(&pool->lock);
	wort_op_end(&op);
	return err;
}

static int end_walk(struct wort_pool *pool)
{
	struct wort_op op;
	int err = 0;

	/* Some may still be at what was freed before the walk came by. */
	wort_locks_synchronize(&pool->locks);
	wort_op_begin(&op, pool->region, &pool->alloc);
	mutex_lock(&pool->lock);
	if (!pool->rewalk && !wort_pool_walk_blocked(pool))
		err = wort_alloc_walk_end(&op);
	mutex_unlock(&pool->lock);
	wort_op_end(&op);
	if (pool->alloc.walking)
		return err;
	trace_wort_walk_end(pool->region->dev, pool->walk_indexes,
			    pool->walk_records);
	wort_pool_changed(pool);
	return 0;
}

/* Only this work takes indexes off the lists, so none goes away meanwhile. */
static int walk_all(struct wort_pool *pool)
{
	struct wort_index *index;
	int err = 0;

	while (!err && (index = next_to_walk(pool))) {
		err = walk_index(pool, index);
		mutex_lock(&pool->lock);
		index->walked = !err;
		pool->walk_indexes += !err;
		pool->rewalk |= err;
		mutex_unlock(&pool->lock);
		trace_wort_walk(pool->region->dev, index->id,
				pool->walk_indexes, pool->walk_records);
	}
	return err;
}

/* Damage in the table keeps nothing from being walked that is sound. */
static int read_table(struct wort_pool *pool)
{
	struct wort_op op;
	int err;

	wort_op_begin(&op, pool->region, &pool->alloc);
	err = wort_alloc_read_table(&op, &pool->stopping);
	wort_op_end(&op);
	if (err == -EUCLEAN || err == -EIO) {
		wort_pool_damaged(pool);
		err = 0;
	}
	return err;
}

static int walk(struct wort_pool *pool)
{
	int err = read_table(pool);

	if (!err)
		wort_alloc_walk_begin(&pool->alloc);
	do {
		if (!err && READ_ONCE(pool->rewalk))
			err = restart_walk(pool);
		if (!err)
			err = walk_all(pool);
		if (!err)
			err = end_walk(pool);
	} while (!err && READ_ONCE(pool->rewalk));
	if (err == -EUCLEAN || err == -EIO) {
		wort_pool_damaged(pool);
		err = 0;
	}
	return err;
}

/* Nothing that is freed here is reused before reclaim, which comes later. */
static int free_tree(struct wort_pool *pool, struct wort_index *index)
{
	const struct wort_engine *engine = index->tree.engine;
	struct wort_visitor visitor = { .visit = give_back };
	struct wort_op op;
	int err;

	cursor_begin(pool, &op, index);
	err = wort_index_verify(index);
	if (!err)
		err = engine->seek(pool->cursor, NULL);
	while (!err) {
		err = engine->owned(pool->cursor, &visitor);
		if (!err)
			err = engine->next(pool->cursor);
		cond_resched();
	}
	if (err == -ENOENT)
		err = wort_alloc_free(&op, index->entry_off,
				      sizeof(struct wort_media_entry));
	wort_op_end(&op);
	return err;
}

/* The indexes that are dead now, and in which nobody writes any more. */
static u32 settle_dying(struct wort_pool *pool)
{
	u32 nr;

	mutex_lock(&pool->lock);
	nr = pool->nr_dying;
	mutex_unlock(&pool->lock);
	if (nr)
		synchronize_srcu(&pool->locks.writers);
	return nr;
}

static void free_dying(struct wort_pool *pool)
{
	struct wort_index *index;
	u32 nr = settle_dying(pool);

	while (nr--) {
		mutex_lock(&pool->lock);
		index = list_first_entry(&pool->dying, struct wort_index, list);
		mutex_unlock(&pool->lock);
		if (READ_ONCE(pool->stopping))
			return;
		if (index->walk_failed || index->damaged ||
		    free_tree(pool, index))
			pool->leaky = true;
		wort_top_disown(index);
		mutex_lock(&pool->lock);
		list_del_init(&index->list);
		pool->nr_dying--;
		mutex_unlock(&pool->lock);
		wort_index_drop(index);
	}
}

/**
 * wort_pool_round() - Do what there is to do in the background
 * @pool: The pool.
 *
 * In a read-only pool nothing is walked: free space is of no use there.
 *
 * Context: May sleep.  Holds wort_pool.work_lock and nothing else.
 * Return: 0; -ENOMEM or -EINTR if the walk has not ended for that reason.
 */
int wort_pool_round(struct wort_pool *pool)
{
	int err = 0;

	lockdep_assert_held(&pool->work_lock);
	wort_tops_renew(pool);
	if (pool->readonly)
		return read_table(pool);
	if (pool->alloc.walking)
		err = walk(pool);
	if (!err && !pool->alloc.walking)
		free_dying(pool);
	reclaim(pool);
	return err;
}

/**
 * wort_pool_work() - The background work of a pool
 * @work: wort_pool.work
 *
 * Context: Workqueue.
 */
void wort_pool_work(struct work_struct *work)
{
	struct wort_pool *pool = container_of(work, struct wort_pool, work);

	mutex_lock(&pool->work_lock);
	WRITE_ONCE(pool->work_err, wort_pool_round(pool));
	WRITE_ONCE(pool->rounds, pool->rounds + 1);
	mutex_unlock(&pool->work_lock);
	wake_up_all(&pool->work_done);
}
