// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tending what engines keep in DRAM for open trees, in the background.
 */
#include <linux/sched.h>

#include "pool.h"

/* What the engines keep takes no more than a part of the size of the pool. */
#define VOLATILE_BYTES_SHIFT	6

/* Bytes that an index may have, with those that it has. */
static size_t room(const struct wort_index *index)
{
	const struct wort_pool *pool = index->pool;

	return (pool->region->size >> VOLATILE_BYTES_SHIFT) -
	       pool->volatile_bytes + index->tree.priv_bytes;
}

static void tend(struct wort_index *index, size_t bytes)
{
	struct wort_pool *pool = index->pool;
	struct wort_tree *tree = &index->tree;

	pool->volatile_bytes -= tree->priv_bytes;
	tree->engine->volatile_ops->tend(tree, bytes);
	pool->volatile_bytes += tree->priv_bytes;
}

/**
 * wort_tend_nothing() - Have an index keep nothing in DRAM that leads into its tree
 * @index: The index.
 *
 * The caller must call wort_tend_due() afterwards.  Operations wait for a
 * rebuild then, if the engine has one.
 *
 * Context: May sleep.  Holds wort_pool.work_lock until nothing may be kept.
 */
void wort_tend_nothing(struct wort_index *index)
{
	lockdep_assert_held(&index->pool->work_lock);
	if (!READ_ONCE(index->tree.priv))
		return;
	if (index->tree.engine->volatile_ops->rebuild)
		wort_rebuild_again(index);
	tend(index, 0);
}

static struct wort_index *next_due(struct wort_pool *pool)
{
	struct wort_index *index;

	spin_lock(&pool->due_lock);
	index = list_first_entry_or_null(&pool->due, struct wort_index, due);
	if (index)
		list_del_init(&index->due);
	spin_unlock(&pool->due_lock);
	return index;
}

/**
 * wort_tend_due() - Have the background tend an index
 * @index: The index.
 *
 * Context: Any context.
 */
void wort_tend_due(struct wort_index *index)
{
	struct wort_pool *pool = index->pool;

	spin_lock(&pool->due_lock);
	if (list_empty(&index->due))
		list_add_tail(&index->due, &pool->due);
	spin_unlock(&pool->due_lock);
	wort_pool_kick(pool);
}

/**
 * wort_tend_wanted() - wort_tree.want_tend of the trees of indexes
 * @tree: The tree.
 *
 * Context: Any context.
 */
void wort_tend_wanted(struct wort_tree *tree)
{
	wort_tend_due(container_of(tree, struct wort_index, tree));
}

/**
 * wort_tend_never() - Nobody will use an index any more
 * @index: The index.  What its engine keeps for it goes with it, and does not
 *	count.
 *
 * Context: Any context.  Holds wort_pool.work_lock.
 */
void wort_tend_never(struct wort_index *index)
{
	struct wort_pool *pool = index->pool;

	lockdep_assert_held(&pool->work_lock);
	spin_lock(&pool->due_lock);
	list_del_init(&index->due);
	list_del_init(&index->rebuild);
	spin_unlock(&pool->due_lock);
	pool->volatile_bytes -= index->tree.priv_bytes;
}

/**
 * wort_tend_all() - Tend the indexes that are due
 * @pool: The pool.
 *
 * Costs next to nothing if none is: a walk or a check, during which the
 * background work has no turn, calls it after each chunk.
 *
 * Context: May sleep.  Holds wort_pool.work_lock and nothing else: only this
 * work frees indexes, so none goes away meanwhile.
 */
void wort_tend_all(struct wort_pool *pool)
{
	struct wort_index *index;

	lockdep_assert_held(&pool->work_lock);
	while (!wort_pool_rest(pool) && (index = next_due(pool)))
		if (!READ_ONCE(index->dead) && READ_ONCE(index->tree.priv))
			tend(index, room(index));
}
