// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Examination of a whole pool: each index, then whether each byte is owned
 * once, free, or being freed.
 *
 * Operations run concurrently.  The loop of walk.c visits each index in chunks,
 * and excludes writers only to look again at an inconsistency, for one chunk.
 * No freed object is given back before the check ends, and new objects are
 * noted (marks.c), so the comparison holds whatever was changed.  The
 * background does not run meanwhile: no index is freed, and destroyed indexes
 * still own their trees.
 *
 * An operation that finds no space waits for the background.  A check that sees
 * such an operation ends, lets the background run and begins again, a few
 * times.  System suspend ends the call, which begins again after resume.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../core/pmem.h"
#include "gate.h"
#include "redo.h"

/* A check makes this many attempts, if operations that need space end it. */
#define CHECK_TRIES		3

/* Objects that are marked while the allocator's lock is held once. */
#define FOUND_MAX		64

struct checker {
	struct wort_walk walk;
	struct wort_visitor tree;	/* objects of an index */
	struct wort_visitor meta;	/* blocks of the catalogue */
	struct wort_visitor list;	/* redo lists of atomic batches */
	struct wort_pool *pool;
	struct wort_marks marks;
	struct wort_check_arg *arg;
	bool clear;
	bool dying;		/* the index that is visited was destroyed */
	bool counted;		/* all objects of the index were visited */
	u64 bytes;		/* of objects of the index that is visited */
	bool unknown;		/* some owned objects cannot be found */
	u32 nr_found;			/* objects that are still to be marked */
	struct wort_object found[FOUND_MAX];
};

static void count_object(struct checker *ck, const struct wort_object *object)
{
	struct wort_check_arg *arg = ck->arg;
	u64 bytes = wort_alloc_footprint(&ck->pool->alloc, object->size);

	if (ck->dying) {
		arg->out_freeing_bytes += bytes;
		return;
	}
	arg->out_owned_bytes += bytes;
	ck->bytes += bytes;
	arg->out_nr_nodes += !object->first;
}

/*
 * Mark the objects that were found since the last call.  Writers take the
 * allocator's lock, too, so it is taken once for many objects.  Nothing is
 * given back before the check ends, therefore an object may be marked later
 * than it was found, and an inconsistency is damage, not a race with a writer.
 */
static int mark_found(struct checker *ck, struct wort_op *op)
{
	bool alone = op->alone;
	int err = 0;
	u32 i;

	op->alone = true;
	wort_marks_add(op, &ck->marks, ck->found, ck->nr_found);
	op->alone = alone;
	for (i = 0; i < ck->nr_found && !err; i++) {
		err = min(ck->found[i].err, 0);
		if (!ck->found[i].err)
			count_object(ck, &ck->found[i]);
	}
	ck->nr_found = 0;
	return err;
}

static int add_found(struct checker *ck, struct wort_op *op, u64 off, u64 size,
		     bool first)
{
	ck->found[ck->nr_found++] = (struct wort_object){
		.off = off, .size = size, .first = first,
	};
	return ck->nr_found == FOUND_MAX ? mark_found(ck, op) : 0;
}

static int mark_object(struct wort_visitor *visitor, struct wort_op *op,
		       u64 off, u64 size, bool first)
{
	struct checker *ck = container_of(visitor, struct checker, tree);

	return add_found(ck, op, off, size, first);
}

/* An entry is marked with its index, which may be destroyed meanwhile. */
static int mark_meta(struct wort_visitor *visitor, struct wort_op *op, u64 off,
		     u64 size, bool first)
{
	struct checker *ck = container_of(visitor, struct checker, meta);

	if (size == sizeof(struct wort_media_entry))
		return 0;
	return add_found(ck, op, off, size, first);
}

static int mark_list(struct wort_visitor *visitor, struct wort_op *op, u64 off,
		     u64 size, bool first)
{
	struct checker *ck = container_of(visitor, struct checker, list);

	ck->arg->out_nr_atomic++;
	return add_found(ck, op, off, size, first);
}

static void damaged(struct checker *ck, u64 off, u64 index_id)
{
	if (!ck->arg->out_nr_damaged++) {
		ck->arg->out_damaged_off = off;
		ck->arg->out_damaged_index = index_id;
	}
}

/* Must the check end now?  -EBUSY: an operation waits for space. */
static int must_end(const struct checker *ck)
{
	struct wort_pool *pool = ck->pool;

	if (READ_ONCE(pool->stopping))
		return -ENODEV;
	if (fatal_signal_pending(current))
		return -EINTR;
	if (wort_must_freeze())
		return -ERESTARTNOINTR;
	return atomic_read(&pool->space_waiters) ? -EBUSY : 0;
}

static int pause_check(struct wort_walk *walk)
{
	wort_rebuild_all(walk->pool);
	return must_end(container_of(walk, struct checker, walk));
}

/* Mark the objects of an index that were found and not marked yet. */
static int mark_rest(struct checker *ck)
{
	int err;

	wort_chunk_begin(&ck->walk, false);
	err = mark_found(ck, &ck->walk.op);
	wort_chunk_end(&ck->walk, err);
	return err;
}

/*
 * Mark the entry of an index and, with @tree, its tree.  Objects found before
 * damage are marked, too, because another index may own them as well.
 */
static int mark_index(struct checker *ck, struct wort_index *index, bool tree)
{
	int err = 0, err2;

	wort_walk_begin(&ck->walk, index);
	ck->found[ck->nr_found++] = (struct wort_object){
		.off = READ_ONCE(index->entry_off),
		.size = sizeof(struct wort_media_entry),
		.first = true,
	};
	if (tree)
		err = wort_walk_run(&ck->walk);
	if (err && err != -ENOENT && !wort_is_damage(err))
		return err;
	err2 = mark_rest(ck);
	if (err2)
		err = err2;
	if (wort_is_damage(err))
		damaged(ck, ck->walk.bad_off ?: READ_ONCE(index->entry_off), index->id);
	ck->counted = err == -ENOENT;
	return wort_is_damage(err) || err == -ENOENT ? 0 : err;
}

/* A destroyed index owns its tree and its entry until these are freed. */
static int check_dying(struct checker *ck, struct wort_index *index)
{
	bool known = !index->walk_failed && !index->damaged;
	int err;

	ck->unknown |= !known;
	ck->dying = true;
	err = mark_index(ck, index, known);
	ck->dying = false;
	return err;
}

/*
 * A check that clears promises that the index behaves from then on.  What its
 * engine keeps in DRAM was perhaps made from words that were damaged, and that
 * are in the tree no more: it is made again.
 */
static int check_index(struct checker *ck, struct wort_index *index)
{
	u64 before = ck->pool->check_records, records;
	int err;

	if (READ_ONCE(index->dead))
		return check_dying(ck, index);
	ck->arg->out_nr_indexes++;
	ck->bytes = 0;
	if (ck->clear)
		wort_tend_nothing(index);
	err = mark_index(ck, index, true);
	if (ck->clear)
		wort_tend_due(index);
	records = ck->pool->check_records - before;
	ck->arg->out_nr_leaves += records;
	if (ck->counted)
		wort_index_set_counted(index, ck->bytes, records);
	return err;
}

static int check_indexes(struct checker *ck)
{
	struct wort_index *index;
	int err = 0;

	while (!err && (index = wort_todo_next(ck->pool)))
		err = check_index(ck, index);
	return err;
}

/* Those that cannot be carried out: no atomic batch is under way meanwhile. */
static int check_lists(struct checker *ck, struct wort_op *op)
{
	int err, err2;

	down_write(&ck->pool->atomic_sem);
	err = wort_redo_visit(op, ck->pool, &ck->list);
	up_write(&ck->pool->atomic_sem);
	err2 = mark_found(ck, op);
	return err ?: err2;
}

static int check_catalogue(struct checker *ck)
{
	u64 off = le64_to_cpu(ck->pool->sb.catalogue_off);
	struct wort_pool *pool = ck->pool;
	struct wort_op op;
	int err = 0;

	wort_op_begin(&op, pool->region, &pool->alloc);
	while (off && !err) {
		cond_resched();
		err = must_end(ck);
		if (err)
			break;
		mutex_lock(&pool->lock);
		err = wort_catalogue_visit(&op, pool, &off, &ck->meta);
		mutex_unlock(&pool->lock);
		err = mark_found(ck, &op) ?: err;
	}
	if (!err)
		err = check_lists(ck, &op);
	wort_op_end(&op);
	if (wort_is_damage(err))
		damaged(ck, op.bad_off, 0);
	return wort_is_damage(err) ? 0 : err;
}

/*
 * Examine the extent table, and mend invalid words if all else is sound: then
 * nothing is owned in their extents.  If the table was overwritten and no index
 * is left, the catalogue was probably overwritten, too.  Mending would free all
 * objects, so it is not done.
 */
static int check_table(struct checker *ck)
{
	struct wort_pool *pool = ck->pool;
	struct wort_op op;
	bool mend;
	u32 bad;
	int err;

	mend = ck->clear && !ck->arg->out_nr_damaged && !ck->unknown &&
	       (!pool->alloc.table_lost || ck->arg->out_nr_indexes);
	wort_op_begin(&op, pool->region, &pool->alloc);
	err = wort_alloc_check_table(&op, mend, &bad);
	wort_op_end(&op);
	if (bad)
		damaged(ck, pool->alloc.geo.table_off, 0);
	return err;
}

/*
 * The comparison needs all owned objects, so it is left out if some were not
 * found.  An operation may have unlinked an object before the check reached it:
 * the grace period waits until the operation has freed the object.
 */
static int check_space(struct checker *ck)
{
	struct wort_alloc *alloc = &ck->pool->alloc;
	struct wort_alloc_info info;
	struct wort_op op;
	u64 bad_off = 0;
	u32 bad;
	int err;

	wort_alloc_info(alloc, &info);
	ck->arg->out_freeing_bytes += info.freeing_bytes;
	ck->arg->out_free_bytes = info.free_bytes;
	if (ck->arg->out_nr_damaged || ck->unknown || ck->pool->leaky ||
	    alloc->walking)
		return 0;
	synchronize_srcu_expedited(&ck->pool->locks.writers);
	wort_op_begin(&op, ck->pool->region, alloc);
	err = wort_marks_compare(&op, &ck->marks, &bad, &bad_off);
	wort_op_end(&op);
	if (!err && bad)
		damaged(ck, bad_off, 0);
	return err;
}

/*
 * The check has found no damage: indexes and a pool that were read-only become
 * writable.
 */
static void clear_damage(struct wort_pool *pool)
{
	struct wort_index *index;
	struct wort_op op;

	mutex_lock(&pool->lock);
	if (pool->damaged) {
		WRITE_ONCE(pool->damaged, false);
		/* A walk that ended in damage would end there again by its marks. */
		if (pool->alloc.walking)
			WRITE_ONCE(pool->rewalk, true);
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
	mutex_unlock(&pool->lock);
	wort_gates_wake(pool);
}

/*
 * New objects are noted from now on.  Operations that reserved space earlier
 * have ended when the grace period has passed.
 */
static int begin_marks(struct checker *ck)
{
	struct wort_pool *pool = ck->pool;
	int err;

	/* No atomic batch that has reserved space before is under way then. */
	down_write(&pool->atomic_sem);
	err = wort_marks_begin(&ck->marks, &pool->alloc);
	up_write(&pool->atomic_sem);
	if (err)
		return err;
	/*
	 * An index that was being created is on the list when we have the lock.
	 */
	mutex_lock(&pool->lock);
	if (!list_empty(&pool->todo))
		pool->rewalk = true;
	wort_todo_fill(pool);
	mutex_unlock(&pool->lock);
	synchronize_srcu_expedited(&pool->locks.writers);
	return 0;
}

/* No atomic batch is under way meanwhile. */
static void check_heads(struct checker *ck)
{
	struct wort_pool *pool = ck->pool;
	struct wort_op op;

	wort_op_begin(&op, pool->region, NULL);
	down_write(&pool->atomic_sem);
	if (!wort_heads_agree(&op, pool))
		damaged(ck, WORT_MEDIA_HEADS_OFF, 0);
	up_write(&pool->atomic_sem);
	wort_op_end(&op);
}

/* Redundant data. */
static void check_copies(struct checker *ck)
{
	check_heads(ck);
	mutex_lock(&ck->pool->lock);
	wort_sb_check(ck->pool, ck->arg, ck->clear);
	mutex_unlock(&ck->pool->lock);
}

static int check_all(struct checker *ck)
{
	struct wort_pool *pool = ck->pool;
	int err;

	check_copies(ck);
	err = begin_marks(ck);
	if (!err) {
		err = check_catalogue(ck) ?: check_indexes(ck) ?: check_table(ck) ?:
		      check_space(ck);
		/*
		 * The walk would mark what an early end has left on the list a
		 * second time.
		 */
		wort_todo_clear(pool);
	}
	wort_marks_end(&ck->marks);
	if (!err && ck->clear && !ck->arg->out_nr_damaged)
		clear_damage(pool);
	return err;
}

/*
 * A check that clears drops lost references; the walk can end without them, so
 * it runs before the check.
 */
static int drop_lost(struct checker *ck)
{
	struct wort_pool *pool = ck->pool;
	struct wort_op op;
	u64 nr = 0;
	int err = 0;

	if (ck->clear) {
		err = wort_pool_drop_lost(pool, &nr);
		wort_op_begin(&op, pool->region, &pool->alloc);
		wort_redo_drop(&op, pool, &nr);
		wort_op_end(&op);
	}
	mutex_lock(&pool->lock);
	pool->nr_dropped += nr;
	ck->arg->out_nr_dropped = pool->nr_dropped;
	mutex_unlock(&pool->lock);
	if (!err && nr)
		err = wort_pool_round(pool);
	if (err == -EINTR)
		err = must_end(ck) ?: -EBUSY;
	return err;
}

/*
 * This check tells its program what was lost, so the next one need not.  A check
 * that ends early tells nothing, and does not come here.
 */
static void forget_told(struct wort_pool *pool, const struct wort_check_arg *arg)
{
	mutex_lock(&pool->lock);
	pool->nr_lost -= min_t(u64, pool->nr_lost, arg->out_nr_lost);
	pool->nr_dropped -= min_t(u64, pool->nr_dropped, arg->out_nr_dropped);
	mutex_unlock(&pool->lock);
}

static void clear_results(struct checker *ck)
{
	struct wort_check_arg *arg = ck->arg;
	u32 size = arg->size, flags = arg->flags;

	memset(arg, 0, sizeof(*arg));
	arg->size = size;
	arg->flags = flags;
	arg->out_owned_bytes = wort_alloc_table_bytes(&ck->pool->alloc);
	arg->out_nr_unknown = ck->pool->nr_unknown;
	ck->unknown = arg->out_nr_unknown;
	ck->nr_found = 0;
	WRITE_ONCE(ck->pool->check_records, 0);
}

/*
 * Reclaim runs first, so that little is left that is freed and not given back.
 */
static int check_once(struct checker *ck)
{
	struct wort_pool *pool = ck->pool;
	int err = wort_pool_wait_round(pool);

	if (!err)
		err = mutex_lock_killable(&pool->work_lock);
	if (err)
		return err;
	clear_results(ck);
	err = drop_lost(ck);
	if (!err)
		err = check_all(ck);
	WRITE_ONCE(pool->check_records, 0);
	mutex_unlock(&pool->work_lock);
	wort_pool_kick(pool);
	return err;
}

/* What may drop references must not run during a hold, nor begin in one. */
static int begin_clear(struct wort_pool *pool)
{
	int err = 0;

	if (mutex_lock_killable(&pool->lock))
		return -EINTR;
	if (pool->frozen)
		err = -EBUSY;
	else
		pool->clearing++;
	mutex_unlock(&pool->lock);
	return err;
}

static void end_clear(struct wort_pool *pool)
{
	mutex_lock(&pool->lock);
	pool->clearing--;
	mutex_unlock(&pool->lock);
}

static int check_pool(struct wort_pool *pool, struct wort_check_arg *arg)
{
	struct checker *ck;
	int err, tries = 0;

	ck = kzalloc(sizeof(*ck), GFP_KERNEL);
	if (!ck)
		return -ENOMEM;
	ck->tree.visit = mark_object;
	ck->walk.pool = pool;
	ck->walk.visitor = &ck->tree;
	ck->walk.pause = pause_check;
	ck->walk.check = true;
	ck->walk.records = &pool->check_records;
	ck->meta.visit = mark_meta;
	ck->list.visit = mark_list;
	ck->pool = pool;
	ck->arg = arg;
	/*
	 * An apparent inconsistency may belong to an index that cannot be
	 * examined.
	 */
	ck->clear = (arg->flags & WORT_CHECK_F_CLEAR) && !pool->nr_unknown;
	do {
		err = check_once(ck);
	} while (err == -EBUSY && ++tries < CHECK_TRIES);
	if (!err && ck->clear && !arg->out_nr_damaged) {
		err = wort_redo_run(pool);
		/*
		 * What waits for a list that was not carried out has to be
		 * told.
		 */
		if (err && err != -ENODEV)
			wort_pool_damaged(pool);
	}
	if (!err)
		forget_told(pool, arg);
	kfree(ck);
	return err;
}

/**
 * wort_pool_check() - Examine a whole pool
 * @pool: The pool.
 * @arg: Flags; its ``out_`` fields are filled in.
 *
 * Waits for the walk first.  Damage turns its index read-only.  With
 * WORT_CHECK_F_CLEAR the check drops references to objects that cannot be read
 * and, if it finds no damage, makes indexes and a pool that were read-only
 * writable, and carries out atomic batches that damage had kept from that.  It
 * also has engines make again what they keep in DRAM of open indexes, and until
 * then operations take longer.  In a read-only pool, which is not walked, space
 * is not compared.  If the module does not know the engine of an index, space is
 * not compared and nothing is cleared.
 *
 * Operations run concurrently; writers are excluded for short times.  Each
 * figure is of the time at which it was counted.
 *
 * Context: May sleep for long, killably.  Holds no lock.
 * Return: 0, also if damage was found; -EROFS for WORT_CHECK_F_CLEAR of a
 * read-only pool; -EBUSY if operations ran out of space again and again, which
 * the check kept from being given back, or for WORT_CHECK_F_CLEAR of a pool
 * that is held; -ENOMEM; -EINTR; -ERESTARTNOINTR if the machine is about to
 * sleep; -ENODEV.
 */
int wort_pool_check(struct wort_pool *pool, struct wort_check_arg *arg)
{
	bool clear = arg->flags & WORT_CHECK_F_CLEAR;
	int err;

	if (clear && pool->readonly)
		return -EROFS;
	err = wort_pool_wait_walk(pool);
	if (!err && clear)
		err = begin_clear(pool);
	if (err)
		return err;
	err = check_pool(pool, arg);
	if (clear)
		end_clear(pool);
	return err;
}
