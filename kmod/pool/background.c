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

/* The same, of an object that a chunk of a walk comes to. */
static int mark_object(struct wort_visitor *visitor, struct wort_op *op, u64 off,
		       u64 size, bool first)
{
	container_of(visitor, struct wort_walk, visitor)->objects++;
	return mark(visitor, op, off, size, first);
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

/**
 * wort_pool_rest() - Pause while the pool is suspended
 * @pool: The pool.
 *
 * Background work calls this wherever it may pause: between two steps, each of which
 * leaves the pool as a power cut may leave it.  Nobody else takes the lock during the
 * pause: no operation is under way, and a check that begins later waits for the end of
 * the round before it takes the lock.
 *
 * Context: May sleep.  Holds wort_pool.work_lock, which is dropped meanwhile.
 * Return: True if the work must end, and must not store anything any more.
 */
bool wort_pool_rest(struct wort_pool *pool)
{
	lockdep_assert_held(&pool->work_lock);
	while (unlikely(READ_ONCE(pool->suspended)) &&
	       !READ_ONCE(pool->stopping)) {
		mutex_unlock(&pool->work_lock);
		wait_event_state(pool->work_done,
				 !READ_ONCE(pool->suspended) ||
				 READ_ONCE(pool->stopping), TASK_IDLE);
		mutex_lock(&pool->work_lock);
	}
	return READ_ONCE(pool->stopping);
}

/* Returns an error only if the walk cannot go on now. */
static int walk_index(struct wort_pool *pool, struct wort_walk *walk)
{
	struct wort_index *index = walk->index;
	int err = 0, tries = 0;

	if (READ_ONCE(index->dead) && READ_ONCE(index->damaged))
		return 0;
	while (!err || err == -EAGAIN) {
		if (wort_pool_interrupted(pool))
			return -EINTR;
		tries = err ? tries + 1 : 0;
		err = wort_walk_chunk(pool, walk, tries == WORT_WALK_TRIES);
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

/*
 * Forget all marks but those of the catalogue and of the entries of destroyed
 * indexes, which are still to be freed.
 */
static int restart_walk(struct wort_pool *pool)
{
	u64 off = le64_to_cpu(pool->sb.catalogue_off);
	struct wort_visitor visitor = { .visit = mark };
	struct wort_index *index;
	struct wort_op op;
	int err = 0;

	wort_op_begin(&op, pool->region, &pool->alloc);
	wort_alloc_walk_restart(&op);
	mutex_lock(&pool->lock);
	wort_todo_fill(pool);
	pool->walk_indexes = 0;
	pool->walk_records = 0;
	while (off && !err)
		err = wort_catalogue_visit(&op, pool, &off, &visitor);
	list_for_each_entry(index, &pool->dying, list)
		if (!err)
			err = mark(&visitor, &op, index->entry_off,
				   sizeof(struct wort_media_entry), true);
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

/* Only this work frees indexes, so none goes away meanwhile. */
static int walk_all(struct wort_pool *pool)
{
	struct wort_walk walk = {
		.visitor = { .visit = mark_object },
		.records = &pool->walk_records,
	};
	struct wort_index *index;
	int err = 0;

	while (!err && (index = wort_todo_next(pool))) {
		wort_walk_begin(&walk, index);
		err = walk_index(pool, &walk);
		mutex_lock(&pool->lock);
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

/*
 * Nothing that is freed here is reused before reclaim, which comes later.  It ends early
 * only for good, since it cannot tell what it has freed already.
 */
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
		if (!err && wort_pool_rest(pool))
			err = -EINTR;
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
	int err;

	while (nr--) {
		mutex_lock(&pool->lock);
		index = list_first_entry(&pool->dying, struct wort_index, list);
		mutex_unlock(&pool->lock);
		if (wort_pool_rest(pool))
			return;
		err = index->walk_failed || index->damaged ?
		      -EUCLEAN : free_tree(pool, index);
		if (err == -EINTR)
			return;
		if (err)
			pool->leaky = true;
		wort_top_disown(index);
		mutex_lock(&pool->lock);
		list_del_init(&index->list);
		list_del_init(&index->todo);
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
	if (wort_pool_rest(pool))
		return -EINTR;
	if (pool->readonly)
		return read_table(pool);
	if (pool->alloc.walking)
		err = walk(pool);
	if (!err)
		free_dying(pool);
	if (wort_pool_rest(pool))
		return -EINTR;
	reclaim(pool);
	return err;
}

/**
 * wort_pool_work() - The background work of a pool
 * @work: wort_pool.work
 *
 * A check holds the lock for minutes: a worker that waits so long without being killable
 * is taken for one that hangs.  The check queues the work again when it has let go of the
 * lock.
 *
 * Context: Workqueue.
 */
void wort_pool_work(struct work_struct *work)
{
	struct wort_pool *pool = container_of(work, struct wort_pool, work);

	if (!mutex_trylock(&pool->work_lock))
		return;
	WRITE_ONCE(pool->work_err, wort_pool_round(pool));
	WRITE_ONCE(pool->rounds, pool->rounds + 1);
	mutex_unlock(&pool->work_lock);
	wake_up_all(&pool->work_done);
}
