// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Attach, detach, waiting for space, figures.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../core/pmem.h"
#include "gate.h"

static void geometry_of(const struct wort_media_sb *sb,
			struct wort_geometry *geo)
{
	geo->table_off = le64_to_cpu(sb->table_off);
	geo->data_off = le64_to_cpu(sb->data_off);
	geo->nr_extents = le64_to_cpu(sb->nr_extents);
	geo->extent_shift = le32_to_cpu(sb->extent_shift);
}

/*
 * Damage in the catalogue, in redo lists, or in what was read of the extent
 * table, does not keep what is sound from being read.  Nor does a page of heads
 * that cannot be read.
 */
static int load(struct wort_op *op, struct wort_pool *pool, bool *damaged)
{
	struct wort_geometry geo;
	int err, lists;

	geometry_of(&pool->sb, &geo);
	err = wort_names_init(&pool->names);
	if (!err)
		err = wort_locks_init(&pool->locks);
	if (err)
		return err;
	err = wort_alloc_init(op, &pool->alloc, pool->region, &geo,
			      &pool->locks);
	if (err)
		return err;
	err = wort_catalogue_load(op, pool);
	if (err && !wort_is_damage(err))
		return err;
	pool->left_out = err;
	lists = wort_redo_load(op, pool);
	if (lists && !wort_is_damage(lists))
		return lists;
	wort_todo_fill(pool);
	*damaged = lists || err || pool->alloc.table_err;
	return 0;
}

static void init_empty(struct wort_pool *pool, struct wort_region *region)
{
	pool->region = region;
	pool->next_id = 1;
	mutex_init(&pool->lock);
	mutex_init(&pool->work_lock);
	init_rwsem(&pool->gates_sem);
	init_rwsem(&pool->atomic_sem);
	INIT_LIST_HEAD(&pool->indexes);
	INIT_LIST_HEAD(&pool->dying);
	INIT_LIST_HEAD(&pool->todo);
	spin_lock_init(&pool->due_lock);
	INIT_LIST_HEAD(&pool->due);
	INIT_LIST_HEAD(&pool->rebuild);
	INIT_WORK(&pool->work, wort_pool_work);
	init_waitqueue_head(&pool->work_done);
}

static void drop_indexes(struct list_head *list)
{
	struct wort_index *index, *tmp;

	list_for_each_entry_safe(index, tmp, list, list) {
		list_del_init(&index->list);
		wort_index_drop(index);
		cond_resched();
	}
}

/* Free what the trees of each engine share. */
static void unshare(struct wort_pool *pool)
{
	const struct wort_engine *engine;
	u32 nr;

	for (nr = 0; (engine = wort_engine_nth(nr)); nr++)
		if (pool->shared[nr])
			engine->volatile_ops->unshare(pool->shared[nr]);
}

static void pool_free(struct wort_pool *pool)
{
	if (pool->wq)
		destroy_workqueue(pool->wq);
	drop_indexes(&pool->indexes);
	drop_indexes(&pool->dying);
	wort_names_destroy(&pool->names);
	wort_gates_free(pool);
	unshare(pool);
	wort_alloc_destroy(&pool->alloc);
	wort_locks_destroy(&pool->locks);
	kvfree(pool->cursor);
	kvfree(pool->spare_cursor);
	kvfree(pool->spare_group);
	mutex_destroy(&pool->work_lock);
	mutex_destroy(&pool->lock);
	kfree(pool);
}

static void begin(struct wort_op *op, struct wort_pool *pool, bool damaged)
{
	wort_sb_attach(op, pool);
	/* These are all lines, since no node or leaf was visited. */
	pool->attach_lines = op->n.more_loads;
	wort_op_end(op);
	if (damaged)
		wort_pool_damaged(pool);
	wort_pool_kick(pool);
}

/**
 * wort_pool_attach() - Serve a pool
 * @region: The memory; nobody else uses it.
 * @out: The pool.
 *
 * Reads the superblock and the catalogue: the same for any number of records,
 * and for a pool of any size.  Stores a new generation, and what it finds lost
 * of what is redundant.  Carries out the atomic batches that were committed
 * when the power went.  In the background the extent table is read, and the
 * walk marks all owned objects.  In a read-only pool nothing is stored at all:
 * lookups and scans answer from the redo lists of such batches.
 *
 * Context: May sleep.
 * Return: 0; what wort_sb_load() returns; -EPROTONOSUPPORT if an atomic batch
 * changes an index of an engine that the module does not know; -ENOMEM; -EINTR
 * if a fatal signal came.
 */
int wort_pool_attach(struct wort_region *region, struct wort_pool **out)
{
	struct wort_media_sb sb;
	struct wort_pool *pool;
	struct wort_op op;
	bool damaged;
	u32 copy;
	int err;

	wort_region_update(region);
	wort_op_begin(&op, region, NULL);
	err = wort_sb_load(&op, &sb, &copy);
	wort_sb_refused(region, &sb, err);
	if (err)
		return err;
	pool = kzalloc(sizeof(*pool), GFP_KERNEL);
	if (!pool)
		return -ENOMEM;
	init_empty(pool, region);
	pool->sb = sb;
	pool->sb_copy = copy;
	pool->damaged = le64_to_cpu(sb.state) & WORT_MEDIA_STATE_DAMAGED;
	pool->readonly = region->readonly ||
			 le64_to_cpu(sb.ro_compat) & ~WORT_RO_COMPAT_ALL;
	op.alloc = &pool->alloc;
	err = load(&op, pool, &damaged);
	if (err)
		goto out_free;
	err = -ENOMEM;
	pool->cursor = wort_engine_cursor();
	pool->wq = alloc_ordered_workqueue("wort", WQ_MEM_RECLAIM);
	if (!pool->cursor || !pool->wq)
		goto out_free;
	begin(&op, pool, damaged);
	err = wort_redo_run(pool);
	if (err)
		wort_pool_detach(pool);
	else
		*out = pool;
	return err;

out_free:
	pool_free(pool);
	return err;
}

/**
 * wort_pool_stop() - End the background work of a pool for good
 * @pool: The pool.
 *
 * Whoever waits for space, or for the end of an atomic batch, gets -ENODEV.
 *
 * Context: May sleep.
 */
void wort_pool_stop(struct wort_pool *pool)
{
	WRITE_ONCE(pool->stopping, true);
	wake_up_all(&pool->work_done);
	wort_gates_wake(pool);
	cancel_work_sync(&pool->work);
}

/**
 * wort_pool_suspend() - Pause the background work of a pool
 * @pool: The pool; no operation on it is under way or will be begun.
 *
 * Whenever the background work takes wort_pool.work_lock, it calls
 * wort_pool_rest() before it stores anything.  When the lock was held here
 * once, therefore, the work has ended or sees @suspended.
 *
 * Context: May sleep.
 */
void wort_pool_suspend(struct wort_pool *pool)
{
	WRITE_ONCE(pool->suspended, true);
	mutex_lock(&pool->work_lock);
	mutex_unlock(&pool->work_lock);
}

/**
 * wort_pool_resume() - Let the background work of a pool go on
 * @pool: The pool, after wort_pool_suspend().
 *
 * Context: Any context.
 */
void wort_pool_resume(struct wort_pool *pool)
{
	WRITE_ONCE(pool->suspended, false);
	wake_up_all(&pool->work_done);
	/* The work gives up where wort_pool_suspend() just holds its lock. */
	wort_pool_kick(pool);
}

/**
 * wort_pool_detach() - Serve a pool no more
 * @pool: The pool; no operation on it or its indexes is under way or will be
 *	begun.  Indexes that are still held may only be put.
 *
 * Stores nothing.
 *
 * Context: May sleep.
 */
void wort_pool_detach(struct wort_pool *pool)
{
	wort_pool_stop(pool);
	pool_free(pool);
}

/**
 * wort_pool_damaged() - Make a whole pool read-only
 * @pool: The pool.
 *
 * Recorded on media.  For damage of superblock, extent table or catalogue.
 *
 * Context: May sleep.  Takes wort_pool.lock.
 */
void wort_pool_damaged(struct wort_pool *pool)
{
	struct wort_op op;
	bool before;

	mutex_lock(&pool->lock);
	before = pool->damaged;
	if (wort_pool_writable(pool)) {
		pool->sb.state = cpu_to_le64(WORT_MEDIA_STATE_DAMAGED);
		wort_op_begin(&op, pool->region, NULL);
		wort_sb_store(&op, pool);
		wort_op_end(&op);
	}
	WRITE_ONCE(pool->damaged, true);
	mutex_unlock(&pool->lock);
	wort_gates_wake(pool);
	if (!before)
		wort_pool_changed(pool);
}

/**
 * wort_pool_kick() - There may be work in the background
 * @pool: The pool.
 *
 * Context: Any context.
 */
void wort_pool_kick(struct wort_pool *pool)
{
	if (!READ_ONCE(pool->stopping))
		queue_work(pool->wq, &pool->work);
}

/**
 * wort_pool_freeze() - Keep operations out that may change something
 * @pool: The pool.
 *
 * Context: May sleep.  Holds wort_pool.lock until wort_pool_thaw().
 */
void wort_pool_freeze(struct wort_pool *pool)
{
	lockdep_assert_held(&pool->lock);
	WRITE_ONCE(pool->frozen, pool->frozen + 1);
	/* Who has begun before has not seen that, and is waited for. */
	synchronize_srcu_expedited(&pool->locks.writers);
}

/**
 * wort_pool_thaw() - Let operations in again, unless others exclude them
 * @pool: The pool.
 *
 * Context: Any context.  Holds wort_pool.lock.
 */
void wort_pool_thaw(struct wort_pool *pool)
{
	WRITE_ONCE(pool->frozen, pool->frozen - 1);
	wake_up_all(&pool->work_done);
}

/**
 * wort_pool_walk_blocked() - Can the walk not end?
 * @pool: The pool.
 *
 * What a damaged index owns is not known, so no hole is, until the index is
 * destroyed or a check finds it sound.  The same holds for an index of an
 * unknown engine, which no check can examine.
 *
 * Context: Holds wort_pool.lock.
 * Return: True if it cannot.
 */
bool wort_pool_walk_blocked(struct wort_pool *pool)
{
	struct wort_index *index;

	lockdep_assert_held(&pool->lock);
	if (!wort_pool_writable(pool))
		return true;
	list_for_each_entry(index, &pool->indexes, list)
		if (index->walk_failed)
			return true;
	return false;
}

/**
 * wort_pool_space_pending() - May background work give back space, or find some?
 * @pool: The pool.
 *
 * Space can also appear while a part of the extent table is unread: the
 * background reads it even where the walk cannot end.
 *
 * Context: May sleep, killably.  Takes wort_pool.lock.
 * Return: 1 or 0; -EINTR.
 */
int wort_pool_space_pending(struct wort_pool *pool)
{
	bool walking, pending;

	if (mutex_lock_killable(&pool->lock))
		return -EINTR;
	/* pairs with the release in wort_alloc_walk_end() */
	walking = smp_load_acquire(&pool->alloc.walking);
	pending = wort_alloc_freeing(&pool->alloc) || pool->nr_dying ||
		  READ_ONCE(pool->alloc.nr_unread) ||
		  (walking && !wort_pool_walk_blocked(pool));
	mutex_unlock(&pool->lock);
	return pending;
}

/**
 * wort_pool_wait_round() - Wait for a round of the background work
 * @pool: The pool.
 *
 * Context: May sleep, killably.  Holds no lock.
 * Return: 0, -EINTR, -ENODEV, or how the round ended.
 */
int wort_pool_wait_round(struct wort_pool *pool)
{
	u64 rounds = READ_ONCE(pool->rounds);
	int err;

	wort_pool_kick(pool);
	err = wait_event_state(pool->work_done,
			       READ_ONCE(pool->rounds) != rounds ||
				       READ_ONCE(pool->stopping),
			       wort_pool_waiting(pool));
	if (err)
		return -EINTR;
	if (READ_ONCE(pool->stopping))
		return -ENODEV;
	return READ_ONCE(pool->work_err);
}

/**
 * wort_pool_wait_space() - Wait for space that is about to be given back
 * @pool: The pool.
 * @op: An operation that ended with -ENOSPC.
 *
 * By the walk, by reading the rest of the extent table, by destroyed indexes or
 * by freed objects in their grace period; or it was given back since the
 * operation looked.
 *
 * Context: May sleep, killably.  Holds no lock.
 * Return: 0 if the operation should be tried again; -ENOSPC if nothing is
 * about to be given back; -EINTR, -ENOMEM, -ENODEV.
 */
int wort_pool_wait_space(struct wort_pool *pool, const struct wort_op *op)
{
	int err = wort_pool_space_pending(pool);

	if (err > 0) {
		atomic_inc(&pool->space_waiters);
		err = wort_pool_wait_round(pool);
		atomic_dec(&pool->space_waiters);
		return err;
	}
	if (err)
		return err;
	/* What was pending and is no longer has raised the count before. */
	return READ_ONCE(pool->alloc.released) != op->released ? 0 : -ENOSPC;
}

/**
 * wort_pool_wait_walk() - Wait until the walk has ended, or cannot end
 * @pool: The pool.
 *
 * Context: May sleep, killably.  Holds no lock.
 * Return: 0, -EINTR, -ENOMEM or -ENODEV.
 */
int wort_pool_wait_walk(struct wort_pool *pool)
{
	bool blocked;
	int err = 0;

	while (!err && READ_ONCE(pool->alloc.walking)) {
		if (mutex_lock_killable(&pool->lock))
			return -EINTR;
		blocked = wort_pool_walk_blocked(pool);
		mutex_unlock(&pool->lock);
		if (blocked)
			break;
		err = wort_pool_wait_round(pool);
	}
	return err;
}

/**
 * wort_pool_state() - In which state is a pool?
 * @pool: The pool.
 *
 * Nobody waits for the end of a walk that a read-only pool does not have.
 *
 * Context: Any context.
 * Return: WORT_STATE_*.
 */
u32 wort_pool_state(const struct wort_pool *pool)
{
	u32 state = READ_ONCE(pool->damaged) ? WORT_STATE_DAMAGED : 0;

	if (atomic_read(&pool->nr_damaged))
		state |= WORT_STATE_INDEX_DAMAGED;
	if (pool->nr_unknown)
		state |= WORT_STATE_UNKNOWN;
	if (pool->readonly)
		return state | WORT_STATE_READONLY;
	return state |
	       (READ_ONCE(pool->alloc.walking) ? WORT_STATE_WALKING : 0);
}

/**
 * wort_pool_info() - Describe a pool
 * @pool: The pool.
 * @arg: Its ``out_`` fields are filled in.
 *
 * Context: May sleep, killably.  Takes wort_pool.lock and wort_alloc.lock.
 * Return: 0 or -EINTR.
 */
int wort_pool_info(struct wort_pool *pool, struct wort_pool_info_arg *arg)
{
	struct wort_alloc_info info;

	if (mutex_lock_killable(&pool->lock))
		return -EINTR;
	wort_alloc_info(&pool->alloc, &info);
	arg->out_pool_size = le64_to_cpu(pool->sb.pool_size);
	arg->out_extent_size = 1ULL << pool->alloc.geo.extent_shift;
	arg->out_nr_extents = pool->alloc.geo.nr_extents;
	arg->out_free_extents = info.table_known ? info.free_extents :
						   WORT_UNKNOWN;
	arg->out_reserve_extents = info.table_known ? info.reserve_extents :
						      WORT_UNKNOWN;
	arg->out_used_bytes = info.known ? info.used_bytes : WORT_UNKNOWN;
	arg->out_freeing_bytes = info.known ? info.freeing_bytes : WORT_UNKNOWN;
	arg->out_nr_indexes = pool->nr_indexes;
	arg->out_nr_dying = pool->nr_dying;
	arg->out_nr_damaged = atomic_read(&pool->nr_damaged);
	arg->out_walk_indexes = pool->walk_indexes;
	arg->out_walk_records = READ_ONCE(pool->walk_records);
	arg->out_attach_lines = pool->attach_lines;
	arg->out_incompat = le64_to_cpu(pool->sb.incompat);
	arg->out_format_time = le64_to_cpu(pool->sb.format_time);
	arg->out_state = wort_pool_state(pool);
	arg->out_flush = READ_ONCE(pool->region->flush);
	memcpy(arg->out_uuid, pool->sb.uuid, sizeof(arg->out_uuid));
	memcpy(arg->out_label, pool->sb.label, sizeof(arg->out_label));
	wort_gates_info(pool, arg);
	mutex_unlock(&pool->lock);
	return 0;
}
