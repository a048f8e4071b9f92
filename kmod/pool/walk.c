// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The loop over all objects that an index owns.  The walk after an attach marks
 * them, a check compares them with what is allocated, a destroyed index gives
 * them back, and the search for lost objects only reads them.
 *
 * The engine visits the objects step by step (engine.h).  A chunk is a number
 * of steps in one section of writers: memory that a chunk can see is not reused
 * before the chunk ends.  Writers run concurrently.  The next chunk continues
 * behind the position of the last step.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "../core/pmem.h"
#include "pool.h"

/* A chunk ends after this many records, or objects. */
#define CHUNK_RECORDS	1024
#define CHUNK_OBJECTS	1536

/*
 * After so many chunks a walk tends the indexes that are due: the background
 * work, which tends them otherwise, waits for the end of the walk.  Not after
 * each chunk: an index may take a grace period, as long as hundreds of chunks.
 */
#define TEND_CHUNKS	32

/* Objects that a chunk may visit while writers are excluded. */
#define ALONE_MAX	4096

/* Attempts of a walk at an inconsistency before it excludes writers. */
#define WALK_TRIES	8

/*
 * Have the engine take the current step into what it keeps in DRAM.  A walk
 * that also marks goes on if that has no memory, or if the index was destroyed:
 * for that the engine gets no more memory.
 */
static int rebuild(struct wort_walk *walk)
{
	const struct wort_volatile_ops *ops =
		walk->index->tree.engine->volatile_ops;
	int err;

	if (walk->rebuild_err || READ_ONCE(walk->index->dead))
		return 0;
	err = ops->rebuild(walk->pool->cursor);
	if (err != -ENOMEM)
		return err;
	walk->rebuild_err = err;
	return walk->visitor ? 0 : err;
}

/*
 * The engine has verified the objects of the step, of which this is one.  The
 * check comes before the first of them is told, because it can answer -EAGAIN:
 * the next attempt at the step would tell all of them again.  The same holds
 * for the rebuild.
 */
static int visit(struct wort_visitor *step, struct wort_op *op, u64 off,
		 u64 size, bool first)
{
	struct wort_walk *walk = container_of(step, struct wort_walk, step);
	int err = 0;

	if (walk->check && !walk->checked)
		err = walk->index->tree.engine->check(walk->pool->cursor);
	if (walk->rebuild && !walk->checked && !err)
		err = rebuild(walk);
	if (err)
		return err;
	walk->checked = true;
	walk->objects++;
	return walk->visitor ?
	       walk->visitor->visit(walk->visitor, op, off, size, first) : 0;
}

/**
 * wort_walk_begin() - Prepare to visit an index from its start
 * @walk: Its pool and its other parameters are set.
 * @index: The index.
 *
 * Context: Any context.
 */
void wort_walk_begin(struct wort_walk *walk, struct wort_index *index)
{
	walk->index = index;
	walk->step.visit = visit;
	walk->bad_off = 0;
	walk->rebuild_err = 0;
	walk->pos = (struct wort_key){ .data = walk->buf };
}

/**
 * wort_walk_open() - Set up the operation and the cursor of a walk
 * @walk: The walk.
 *
 * wort_chunk_begin() does this.  Only a caller that knows that no other
 * operation uses the index, so that it needs no section, calls this function
 * itself; wort_op_end() is due afterwards.
 *
 * Context: Holds wort_pool.work_lock.
 */
void wort_walk_open(struct wort_walk *walk)
{
	struct wort_pool *pool = walk->pool;

	lockdep_assert_held(&pool->work_lock);
	wort_op_begin(&walk->op, pool->region, &pool->alloc);
	pool->cursor->op = &walk->op;
	pool->cursor->tree = &walk->index->tree;
	pool->cursor->reverse = false;
	walk->moved = false;
}

static int take_step(struct wort_walk *walk, struct wort_cursor *cur)
{
	int nr;

	walk->checked = false;
	nr = walk->index->tree.engine->walk(cur,
					    walk->moved ? NULL : &walk->pos,
					    &walk->step);
	if (nr < 0)
		return nr;
	walk->moved = true;
	memcpy(walk->buf, cur->key, cur->key_len);
	walk->pos.len = cur->key_len;
	if (walk->records)
		WRITE_ONCE(*walk->records, *walk->records + nr);
	return nr;
}

/**
 * wort_walk_steps() - Take the steps of a chunk
 * @walk: The walk, after wort_chunk_begin() or wort_walk_open();
 *	wort_index_verify() has passed since.
 *
 * The first call after these continues behind the position of the walk; a
 * further one continues after the last step and meets no inner node again.
 *
 * Context: May sleep.  Holds wort_pool.work_lock.
 * Return: 0: there may be more; -ENOENT at the end; -EAGAIN: an inconsistency
 * or a race with a writer; -EUCLEAN; -EIO: the drop of the engine can follow;
 * what the visitor returns.
 */
int wort_walk_steps(struct wort_walk *walk)
{
	u32 records = 0;
	int nr = 0;

	walk->objects = 0;
	while (records < CHUNK_RECORDS && walk->objects < CHUNK_OBJECTS) {
		nr = take_step(walk, walk->pool->cursor);
		if (nr < 0)
			return nr;
		records += nr;
	}
	return 0;
}

/**
 * wort_chunk_begin() - Begin a chunk of a walk
 * @walk: The walk.
 * @alone: Exclude writers until wort_chunk_end().
 *
 * Context: May sleep.  Holds wort_pool.work_lock and nothing else.
 */
void wort_chunk_begin(struct wort_walk *walk, bool alone)
{
	struct wort_pool *pool = walk->pool;
	int section;

	if (alone) {
		mutex_lock(&pool->lock);
		wort_pool_freeze(pool);
	} else {
		down_read(&pool->locks.roots);
	}
	section = srcu_read_lock(&pool->locks.writers);
	/* Sparse cannot follow a section into another function. */
	__release(&pool->locks.writers);
	wort_walk_open(walk);
	walk->op.locks = &pool->locks;
	walk->op.time = wort_locks_now(&pool->locks);
	walk->op.section = section;
	walk->op.alone = alone;
	walk->alone = alone;
}

/**
 * wort_chunk_end() - End a chunk of a walk
 * @walk: The walk.
 * @err: The result of the chunk; damage turns the index read-only.
 *
 * Context: May sleep.
 */
void wort_chunk_end(struct wort_walk *walk, int err)
{
	struct wort_index *index = walk->index;
	struct wort_pool *pool = walk->pool;

	wort_op_end(&walk->op);
	__acquire(&pool->locks.writers);
	srcu_read_unlock(&pool->locks.writers, walk->op.section);
	if (walk->alone) {
		wort_pool_thaw(pool);
		mutex_unlock(&pool->lock);
	} else {
		up_read(&pool->locks.roots);
	}
	if (walk->op.bad_off)
		walk->bad_off = walk->op.bad_off;
	if (err == -EUCLEAN || walk->op.damaged) {
		mutex_lock(&index->lock);
		wort_index_set_damaged(index, true);
		mutex_unlock(&index->lock);
	}
}

/**
 * wort_walk_chunk() - Visit one chunk of an index
 * @walk: The walk.
 * @alone: Exclude writers, because an inconsistency was met before.
 *
 * Damage turns the index read-only.
 *
 * Context: May sleep.  Holds wort_pool.work_lock and nothing else.
 * Return: As wort_walk_steps().
 */
int wort_walk_chunk(struct wort_walk *walk, bool alone)
{
	int err;

	wort_chunk_begin(walk, alone);
	err = wort_index_verify(walk->index);
	if (!err)
		err = wort_walk_steps(walk);
	WARN_ON_ONCE(alone && walk->objects > ALONE_MAX);
	wort_chunk_end(walk, err);
	/*
	 * Inserts into an index without a table take twice as long, and a
	 * rebuild may wait for more room.
	 */
	if (++walk->chunks % TEND_CHUNKS == 0 ||
	    (walk->rebuild && err == -EAGAIN))
		wort_tend_all(walk->pool);
	return err;
}

/**
 * wort_walk_run() - Visit the rest of an index, chunk by chunk
 * @walk: The walk, after wort_walk_begin().
 *
 * Calls the pause of the walk before each chunk, outside all sections.  Writers
 * are excluded for one chunk at a time, and only where the same chunk has met
 * an inconsistency several times.
 *
 * Context: May sleep for long.  Holds wort_pool.work_lock and nothing else.
 * Return: -ENOENT: all objects were visited; -EUCLEAN; -EIO: some object cannot
 * be read, and the position is the one before it; what the visitor or the pause
 * returns.
 */
int wort_walk_run(struct wort_walk *walk)
{
	int err, tries = 0;

	do {
		cond_resched();
		err = walk->pause(walk);
		if (err)
			return err;
		err = wort_walk_chunk(walk, tries >= WALK_TRIES);
		tries = err ? tries + 1 : 0;
	} while (!err || err == -EAGAIN);
	return err;
}

/* The objects of an index with an unknown engine cannot be visited. */
static void add_todo(struct wort_pool *pool, struct wort_index *index)
{
	if (index->tree.engine)
		list_move_tail(&index->todo, &pool->todo);
}

/**
 * wort_todo_fill() - Put all indexes on the list of those to be visited
 * @pool: The pool.
 *
 * This includes destroyed indexes that are not freed yet, and excludes indexes
 * with an unknown engine.
 *
 * Context: Holds wort_pool.lock, and wort_pool.work_lock unless the pool is
 * being attached.
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
 * wort_todo_clear() - Visit no further index
 * @pool: The pool.
 *
 * Context: Takes wort_pool.lock.  Holds wort_pool.work_lock.
 */
void wort_todo_clear(struct wort_pool *pool)
{
	struct wort_index *index, *next;

	mutex_lock(&pool->lock);
	list_for_each_entry_safe(index, next, &pool->todo, todo)
		list_del_init(&index->todo);
	mutex_unlock(&pool->lock);
}

/**
 * wort_todo_next() - Take an index from the list of those to be visited
 * @pool: The pool.
 *
 * Context: Takes wort_pool.lock.  Holds wort_pool.work_lock, under which no
 * index goes away.
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
