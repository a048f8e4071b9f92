// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The background work of a pool, in this order: the tables of the tops of trees
 * (tend.c); rebuilds that operations wait for (rebuild.c); the walk that marks
 * all owned objects, once after attach; the freeing of destroyed indexes;
 * reclaim.
 *
 * An index that is destroyed before the walk has visited it is walked
 * nevertheless, and freed afterwards like any other.  So each object is either
 * found and given back, or lies in an extent that the walk leaves free.
 *
 * A walk that runs out of memory starts again from nothing, because it cannot
 * tell an object that it has marked already from one with two owners.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/string.h>

#include <trace/events/wort.h>

#include "../core/pmem.h"
#include "redo.h"

/* Marks objects, and counts the bytes of those that it had not met before. */
struct marker {
	struct wort_visitor visitor;
	u64 bytes;
};

/*
 * An inconsistency about an object is damage here, not a race with a writer,
 * although writers run concurrently:
 *
 * - "No such slot", "owned object is free": the walk has loaded the link to the
 *   object in its current section, untorn, and marks the object before the
 *   section ends.  The link was found in the tree, or in a node that was in the
 *   tree when the section began.  So the object was freed after the section
 *   began, if at all, and is given back only when the section has ended: until
 *   then its slot is used and its extent keeps its class.  An object that is
 *   marked after its section may have been given back, and its extent too.
 * - "Two owners" is said only in extents that were open before the attach.
 *   Nothing is allocated from these before the walk ends, so there the walk can
 *   meet a slot twice only if it meets one object twice.  A step does not visit
 *   again what earlier steps have visited, and a reference that a writer has
 *   moved in the meantime was kept.
 *
 * If mark() answered -EAGAIN the chunk would be repeated from the position
 * before the current step, and the objects of this step that are marked already
 * would be taken for objects with two owners.
 */
static int mark(struct wort_visitor *visitor, struct wort_op *op, u64 off,
		u64 size, bool first)
{
	struct marker *marker = container_of(visitor, struct marker, visitor);
	bool alone = op->alone;
	int err;

	op->alone = true;
	err = wort_alloc_mark(op, off, size, first);
	op->alone = alone;
	if (!err)
		marker->bytes += wort_alloc_footprint(op->alloc, size);
	return min(err, 0);
}

static int give_back(struct wort_visitor *visitor, struct wort_op *op, u64 off,
		     u64 size, bool first)
{
	return wort_alloc_free(op, off, size);
}

/*
 * Give back objects that were freed in extents opened since the attach, so that
 * operations that wait for space need not wait for the end of the walk.
 */
static void reclaim_in_walk(struct wort_pool *pool)
{
	if (!wort_alloc_freeing(&pool->alloc) ||
	    !atomic_read(&pool->space_waiters))
		return;
	wort_pool_reclaim(pool);
	WRITE_ONCE(pool->rounds, pool->rounds + 1);
	wake_up_all(&pool->work_done);
}

/**
 * wort_pool_rest() - Pause while the pool is suspended
 * @pool: The pool.
 *
 * Background work calls this wherever it may pause: between two pieces of work,
 * each of which leaves the pool as a power cut may leave it.  No other task
 * takes the lock during the pause: no operation is under way, and a check that
 * begins later waits for the end of the round before it takes the lock.
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

static int pause_walk(struct wort_walk *walk)
{
	if (wort_pool_interrupted(walk->pool))
		return -EINTR;
	wort_rebuild_all(walk->pool);
	reclaim_in_walk(walk->pool);
	return 0;
}

/* Returns an error only if the walk cannot continue now. */
static int walk_index(struct wort_walk *walk, struct wort_index *index)
{
	struct marker marker = { .visitor.visit = mark };
	u64 before = walk->pool->walk_records;
	int err;

	if (READ_ONCE(index->dead) && READ_ONCE(index->damaged))
		return 0;
	walk->visitor = &marker.visitor;
	wort_walk_begin(walk, index);
	walk->rebuild = wort_rebuild_begin(index);
	err = wort_walk_run(walk);
	if (walk->rebuild)
		wort_rebuild_end(index, walk->rebuild_err ?: err);
	if (err == -ENOMEM || err == -EINTR)
		return err;
	if (err == -ENOENT)
		wort_index_set_counted(index, marker.bytes + sizeof(struct wort_media_entry),
				       walk->pool->walk_records - before);
	mutex_lock(&walk->pool->lock);
	index->walk_failed = err != -ENOENT;
	mutex_unlock(&walk->pool->lock);
	return 0;
}

/* A list that runs into itself was changed since the attach. */
static int mark_catalogue(struct wort_op *op, struct wort_pool *pool,
			  struct wort_visitor *visitor)
{
	u64 off = le64_to_cpu(pool->sb.catalogue_off);
	u32 n;
	int err = 0;

	for (n = 0; off && !err; n++)
		err = n < pool->catalogue_blocks ?
		      wort_catalogue_visit(op, pool, &off, visitor) :
		      wort_corrupt(op, off, "catalogue block behind the last one");
	return err;
}

/*
 * Forget all marks but those of the catalogue, of redo lists, and of the
 * entries of destroyed indexes, which are still to be freed.  No atomic batch
 * is under way meanwhile: nothing refers to its list and what it has set aside.
 */
static int restart_walk(struct wort_pool *pool)
{
	struct marker marker = { .visitor.visit = mark };
	struct wort_visitor *visitor = &marker.visitor;
	struct wort_index *index;
	struct wort_op op;
	int err = 0;

	down_write(&pool->atomic_sem);
	wort_op_begin(&op, pool->region, &pool->alloc);
	wort_alloc_walk_restart(&op);
	mutex_lock(&pool->lock);
	wort_todo_fill(pool);
	pool->walk_indexes = 0;
	pool->walk_records = 0;
	err = mark_catalogue(&op, pool, visitor);
	if (!err)
		err = wort_redo_visit(&op, pool, visitor);
	list_for_each_entry(index, &pool->dying, list)
		if (!err)
			err = mark(visitor, &op, index->entry_off,
				   sizeof(struct wort_media_entry), true);
	pool->rewalk = err;
	mutex_unlock(&pool->lock);
	wort_op_end(&op);
	up_write(&pool->atomic_sem);
	return err;
}

static int end_walk(struct wort_pool *pool)
{
	struct wort_op op;
	int err = 0;

	/*
	 * Operations may still read objects that were freed before the walk
	 * reached them.
	 */
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

/* No index is freed meanwhile: only this work frees indexes. */
static int walk_all(struct wort_pool *pool)
{
	struct wort_walk walk = {
		.pool = pool,
		.pause = pause_walk,
		.records = &pool->walk_records,
	};
	struct wort_index *index;
	int err = 0;

	while (!err && (index = wort_todo_next(pool))) {
		err = walk_index(&walk, index);
		mutex_lock(&pool->lock);
		pool->walk_indexes += !err;
		pool->rewalk |= err;
		mutex_unlock(&pool->lock);
		trace_wort_walk(pool->region->dev, index->id,
				pool->walk_indexes, pool->walk_records);
	}
	return err;
}

/* Damage in the table makes the pool read-only; the walk runs nevertheless. */
static int read_table(struct wort_pool *pool)
{
	struct wort_op op;
	int err;

	wort_op_begin(&op, pool->region, &pool->alloc);
	err = wort_alloc_read_table(&op, &pool->stopping);
	wort_op_end(&op);
	if (wort_is_damage(err)) {
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
	if (wort_is_damage(err)) {
		wort_pool_damaged(pool);
		err = 0;
	}
	return err;
}

/*
 * Free all that a destroyed index owns.  No operation uses the index, and what
 * is freed here is not reused before the next reclaim: so one pass without a
 * section visits each object once.  The pass pauses between chunks, and ends
 * early only for good, because a second one would free objects twice.
 */
static int free_tree(struct wort_pool *pool, struct wort_index *index)
{
	struct wort_visitor visitor = { .visit = give_back };
	struct wort_walk walk = { .pool = pool, .visitor = &visitor };
	int err;

	wort_walk_begin(&walk, index);
	wort_walk_open(&walk);
	err = wort_index_verify(index);
	while (!err) {
		err = wort_walk_steps(&walk);
		if (!err && wort_pool_rest(pool))
			err = -EINTR;
		cond_resched();
	}
	if (err == -ENOENT)
		err = wort_alloc_free(&walk.op, index->entry_off,
				      sizeof(struct wort_media_entry));
	wort_op_end(&walk.op);
	return err;
}

/* How many indexes are dead.  No operation writes to these any more. */
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
		wort_tend_never(index);
		wort_parts_drop(index);
		mutex_lock(&pool->lock);
		list_del_init(&index->list);
		list_del_init(&index->todo);
		pool->nr_dying--;
		mutex_unlock(&pool->lock);
		wort_index_drop(index);
	}
}

/**
 * wort_pool_round() - Do one round of background work
 * @pool: The pool.
 *
 * A read-only pool is not walked, because it needs no free space.
 *
 * Context: May sleep.  Holds wort_pool.work_lock and nothing else.
 * Return: 0; -ENOMEM or -EINTR if the walk has not ended for that reason.
 */
int wort_pool_round(struct wort_pool *pool)
{
	int err = 0;

	lockdep_assert_held(&pool->work_lock);
	wort_tend_all(pool);
	wort_rebuild_all(pool);
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
	wort_pool_reclaim(pool);
	return err;
}

/**
 * wort_pool_work() - The background work of a pool
 * @work: wort_pool.work
 *
 * A check holds the lock for minutes, and the kernel reports an unkillable
 * worker that waits so long as hung.  Therefore the worker does not wait; the
 * check queues the work again when it has dropped the lock.
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
