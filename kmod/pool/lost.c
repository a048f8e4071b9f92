// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Drop references to objects that cannot be read any more.
 *
 * A node or a leaf on a bad page hides references.  The objects behind these
 * cannot be found, so the walk cannot end, and no space is given back in the
 * whole pool.  A check with WORT_CHECK_F_CLEAR therefore drops the reference to
 * such a node or leaf: it clears the one word that leads there.  The objects
 * below have no owner afterwards; the walk starts again and finds that they are
 * free.  If the walk had ended before the page went bad, the walk after the
 * next attach gives that space back.
 *
 * A catalogue entry or block that cannot be read hides even the names of
 * indexes: see wort_catalogue_drop().
 *
 * The search walks an index while writers run.  Where it meets -EIO it repeats
 * the chunk while writers are excluded, because a writer might be below the
 * word.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "../core/pmem.h"
#include "pool.h"

struct search {
	struct wort_walk walk;
	u64 nr_dropped;		/* in the current index */
	u32 nr_again;		/* times since then that the engine found nothing to drop */
};

#define AGAIN_MAX	8

static int pause_search(struct wort_walk *walk)
{
	return wort_pool_interrupted(walk->pool) ? -EINTR : 0;
}

/*
 * Drop the object that the last step could not read, unless it can be read now.
 * On a damaged path an engine may look in another slot than the cursor did.  It
 * would do so each time, so after some times the search ends, and the check
 * reports the damage.
 */
static int drop(struct search *s)
{
	const struct wort_index *index = s->walk.index;
	struct wort_op *op = &s->walk.op;
	const struct wort_engine *engine = index->tree.engine;
	int err = engine->drop ? engine->drop(s->walk.pool->cursor) : -EIO;

	if (err == -EAGAIN)
		return ++s->nr_again < AGAIN_MAX ? 0 : -EUCLEAN;
	s->nr_again = 0;
	if (err)
		return err;
	pr_warn("%s: index with id %llu: what lies at offset %#llx cannot be read and was dropped\n",
		op->region->name ?: "pool", (unsigned long long)index->id,
		(unsigned long long)op->bad_off);
	s->nr_dropped++;
	return 0;
}

/*
 * Continue where an object could not be read, this time while writers are
 * excluded, and drop the object.  The table of the top might lead past the word
 * that is cleared.
 */
static int drop_next(struct search *s)
{
	struct wort_walk *walk = &s->walk;
	int err;

	wort_tend_nothing(walk->index);
	wort_chunk_begin(walk, true);
	err = wort_index_verify(walk->index);
	if (!err) {
		err = wort_walk_steps(walk);
		if (err == -EIO)
			err = drop(s);
	}
	wort_chunk_end(walk, err);
	return err;
}

/* Returns -ENOENT if all of the index can be read now. */
static int search_index(struct search *s, struct wort_index *index)
{
	bool forgot = false;
	int err;

	s->nr_dropped = 0;
	s->nr_again = 0;
	wort_walk_begin(&s->walk, index);
	do {
		err = wort_walk_run(&s->walk);
		if (err == -EIO) {
			forgot = true;
			err = drop_next(s);
		}
	} while (!err);
	if (forgot)
		wort_tend_due(index);
	return err;
}

/*
 * References were dropped.  If the walk has not ended it starts again and frees
 * what lay behind them; otherwise that space is lost until the next attach.
 * With @whole the rest of the index can be read, so the walk can find what the
 * index owns.
 */
static void settle(struct wort_pool *pool, struct wort_index *index, bool whole)
{
	mutex_lock(&pool->lock);
	if (!pool->alloc.walking)
		pool->leaky = true;
	WRITE_ONCE(pool->rewalk, pool->alloc.walking);
	if (whole && !index->damaged)
		index->walk_failed = false;
	mutex_unlock(&pool->lock);
}

/*
 * Only background work frees indexes, so an index that is destroyed meanwhile
 * stays.
 */
static struct wort_index *index_after(struct wort_pool *pool,
				      struct wort_index *last)
{
	struct wort_index *index, *found = NULL;

	mutex_lock(&pool->lock);
	index = last && !last->dead ?
		list_next_entry(last, list) :
		list_first_entry(&pool->indexes, struct wort_index, list);
	list_for_each_entry_from(index, &pool->indexes, list)
		if (!last || index->id > last->id) {
			found = index;
			break;
		}
	mutex_unlock(&pool->lock);
	return found;
}

static int drop_in_catalogue(struct wort_pool *pool, u64 *nr)
{
	struct wort_op op;
	int err;

	wort_op_begin(&op, pool->region, &pool->alloc);
	mutex_lock(&pool->lock);
	err = wort_catalogue_drop(&op, pool, nr);
	mutex_unlock(&pool->lock);
	wort_op_end(&op);
	return err == -EINTR || err == -ENOMEM ? err : 0;
}

/**
 * wort_pool_drop_lost() - Drop references to objects that cannot be read
 * @pool: The pool.
 * @nr: Raised by the number of references that were dropped.
 *
 * Logs each reference.  Does nothing if no memory is, or may be, bad.  Also
 * mends a pool that is read-only because part of the catalogue could not be
 * read.  Leaves damage to the check.
 *
 * Context: May sleep for long.  Holds wort_pool.work_lock and nothing else.
 * Return: 0; -EINTR if a fatal signal came or the pool is being detached;
 * -ENOMEM.
 */
int wort_pool_drop_lost(struct wort_pool *pool, u64 *nr)
{
	struct search s = { .walk = { .pool = pool, .pause = pause_search } };
	struct wort_index *index = NULL;
	int err;

	lockdep_assert_held(&pool->work_lock);
	if (pool->readonly ||
	    !(wort_region_any_bad(pool->region) || pool->region->mcsafe))
		return 0;
	err = drop_in_catalogue(pool, nr);
	if (err)
		return err;
	while (err != -EINTR && (index = index_after(pool, index))) {
		err = search_index(&s, index);
		if (s.nr_dropped)
			settle(pool, index, err == -ENOENT);
		*nr += s.nr_dropped;
	}
	return err == -EINTR ? err : 0;
}
