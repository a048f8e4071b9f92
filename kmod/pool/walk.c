// SPDX-License-Identifier: GPL-2.0-only
/*
 * Visiting all that an index owns, in chunks, beside writers.
 *
 * A chunk is a section of writers, so what it meets is not used again before it ends.
 * The next one goes on behind the last key that was visited, whatever was changed
 * meanwhile: what moves in a tree keeps its key, and what is new is known to the
 * allocator already.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "../core/pmem.h"
#include "pool.h"

/* A chunk ends after so many records, or objects. */
#define CHUNK_RECORDS	1024
#define CHUNK_OBJECTS	1536

/**
 * wort_walk_begin() - Begin to visit an index
 * @walk: Its visitor, and whether to check, are set.
 * @index: The index.
 *
 * Context: Any context.
 */
void wort_walk_begin(struct wort_walk *walk, struct wort_index *index)
{
	walk->index = index;
	walk->key = (struct wort_key){ .data = walk->buf };
}

static int visit_record(struct wort_walk *walk, struct wort_cursor *cur)
{
	const struct wort_engine *engine = walk->index->tree.engine;
	int err = walk->check ? engine->check(cur) : 0;

	if (!err)
		err = engine->owned(cur, &walk->visitor);
	if (err)
		return err;
	WRITE_ONCE(*walk->records, *walk->records + 1);
	memcpy(walk->buf, cur->key, cur->key_len);
	walk->key.len = cur->key_len;
	return 0;
}

static int visit_records(struct wort_walk *walk, struct wort_cursor *cur)
{
	const struct wort_engine *engine = walk->index->tree.engine;
	int n, err = wort_index_verify(walk->index);

	if (!err)
		err = engine->seek(cur, walk->key.len ? &walk->key : NULL);
	if (!err && walk->key.len == cur->key_len &&
	    !memcmp(walk->buf, cur->key, cur->key_len))
		err = engine->next(cur);
	for (n = 0; !err && n < CHUNK_RECORDS; n++) {
		err = visit_record(walk, cur);
		if (!err)
			err = engine->next(cur);
		if (walk->objects >= CHUNK_OBJECTS)
			break;
	}
	return err;
}

/**
 * wort_chunk_begin() - Begin to move the cursor of the pool over some records
 * @pool: The pool.
 * @index: The index.
 * @op: Uninitialised memory of the caller.
 * @alone: Keep writers out until wort_chunk_end().
 *
 * Context: May sleep.  Holds wort_pool.work_lock and nothing else.
 */
void wort_chunk_begin(struct wort_pool *pool, struct wort_index *index,
		      struct wort_op *op, bool alone)
{
	int section;

	if (alone) {
		mutex_lock(&pool->lock);
		wort_pool_freeze(pool);
	}
	section = srcu_read_lock(&pool->locks.writers);
	/* Sparse cannot follow a section into another function. */
	__release(&pool->locks.writers);
	wort_op_begin(op, pool->region, &pool->alloc);
	op->section = section;
	op->alone = alone;
	pool->cursor->op = op;
	pool->cursor->tree = &index->tree;
	pool->cursor->reverse = false;
}

/**
 * wort_chunk_end() - Let go of what wort_chunk_begin() has taken
 * @pool: The pool.
 * @index: The index; damage turns it read-only.
 * @op: The operation.
 * @alone: As it was begun.
 * @err: How it ended.
 *
 * Context: May sleep.
 */
void wort_chunk_end(struct wort_pool *pool, struct wort_index *index,
		    struct wort_op *op, bool alone, int err)
{
	wort_op_end(op);
	__acquire(&pool->locks.writers);
	srcu_read_unlock(&pool->locks.writers, op->section);
	if (alone) {
		wort_pool_thaw(pool);
		mutex_unlock(&pool->lock);
	}
	if (err == -EUCLEAN || op->damaged) {
		mutex_lock(&index->lock);
		wort_index_set_damaged(index, true);
		mutex_unlock(&index->lock);
	}
}

/**
 * wort_walk_chunk() - Visit some records
 * @pool: The pool.
 * @walk: The walk.
 * @alone: Keep writers out, since what was met made no sense before.
 *
 * Damage turns the index read-only.
 *
 * Context: May sleep.  Holds wort_pool.work_lock and nothing else.
 * Return: 0; -ENOENT at the end; -EAGAIN if what was met may be damage, or may be a
 * change under way; -EUCLEAN; -EIO; what the visitor returns.
 */
int wort_walk_chunk(struct wort_pool *pool, struct wort_walk *walk, bool alone)
{
	struct wort_op op;
	int err;

	wort_chunk_begin(pool, walk->index, &op, alone);
	walk->objects = 0;
	err = visit_records(walk, pool->cursor);
	wort_chunk_end(pool, walk->index, &op, alone, err);
	walk->bad_off = op.bad_off;
	/* Inserts into an index without a table take twice as long. */
	wort_tops_renew(pool);
	return err;
}

/* What an unknown engine keeps cannot be visited. */
static void add_todo(struct wort_pool *pool, struct wort_index *index)
{
	if (index->tree.engine)
		list_move_tail(&index->todo, &pool->todo);
}

/**
 * wort_todo_fill() - Put all indexes on the list of those to be visited
 * @pool: The pool.
 *
 * Also those that are destroyed and not freed, but none of an unknown engine.
 *
 * Context: Holds wort_pool.lock, and wort_pool.work_lock unless the pool is being
 * attached.
 */
void wort_todo_fill(struct wort_pool *pool)
{
	struct wort_index *index;

	list_for_each_entry(index, &pool->indexes, list)
		add_todo(pool, index);
	list_for_each_entry(index, &pool->dying, list)
		add_todo(pool, index);
}

/**
 * wort_todo_next() - Take an index from the list of those to be visited
 * @pool: The pool.
 *
 * Context: Takes wort_pool.lock.  Holds wort_pool.work_lock, under which no index
 * goes away.
 * Return: The index, or NULL.
 */
struct wort_index *wort_todo_next(struct wort_pool *pool)
{
	struct wort_index *index;

	mutex_lock(&pool->lock);
	index = list_first_entry_or_null(&pool->todo, struct wort_index, todo);
	if (index)
		list_del_init(&index->todo);
	mutex_unlock(&pool->lock);
	return index;
}
