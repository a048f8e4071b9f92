// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Reclaim, with parts of objects: the engines know where these are, and core
 * knows no trees.
 */
#include "../core/pmem.h"
#include "pool.h"

/**
 * struct pool_parts - Parts of objects of all trees of a pool
 * @parts: for the allocator
 * @pool: the pool
 * @bytes: of those that wait
 */
struct pool_parts {
	struct wort_parts parts;
	struct wort_pool *pool;
	u64 bytes;
};

static u64 collect_index(struct wort_index *index)
{
	struct wort_tree *tree = &index->tree;

	if (!READ_ONCE(tree->priv) || !tree->engine->volatile_ops->collect)
		return 0;
	return tree->engine->volatile_ops->collect(tree);
}

static u64 reclaim_index(struct wort_index *index)
{
	struct wort_tree *tree = &index->tree;

	if (READ_ONCE(tree->priv) && tree->engine->volatile_ops->reclaim)
		tree->engine->volatile_ops->reclaim(tree);
	return 0;
}

/*
 * Of each index, also of those that were destroyed: their parts count, and
 * operations that find no space would wait for these in vain.
 */
static u64 call_each(struct wort_pool *pool,
		     u64 (*call)(struct wort_index *index))
{
	struct wort_index *index;
	u64 bytes = 0;

	mutex_lock(&pool->lock);
	list_for_each_entry(index, &pool->indexes, list)
		bytes += call(index);
	list_for_each_entry(index, &pool->dying, list)
		bytes += call(index);
	mutex_unlock(&pool->lock);
	return bytes;
}

static u64 collect(struct wort_parts *parts)
{
	struct pool_parts *all = container_of(parts, struct pool_parts, parts);

	if (atomic64_read(&all->pool->alloc.parts_bytes))
		all->bytes = call_each(all->pool, collect_index);
	return all->bytes;
}

static void reclaim(struct wort_parts *parts, struct wort_op *op)
{
	struct pool_parts *all = container_of(parts, struct pool_parts, parts);

	if (all->bytes)
		call_each(all->pool, reclaim_index);
}

/**
 * wort_pool_reclaim() - Give back objects and parts of objects that were freed
 * @pool: The pool.
 *
 * Context: May sleep, waits for a grace period.  Holds wort_pool.work_lock and
 * nothing else: only this work frees indexes, so none goes away meanwhile.
 */
void wort_pool_reclaim(struct wort_pool *pool)
{
	struct pool_parts all = {
		.parts = { .collect = collect, .reclaim = reclaim },
		.pool = pool,
	};
	struct wort_op op;

	lockdep_assert_held(&pool->work_lock);
	wort_op_begin(&op, pool->region, &pool->alloc);
	wort_alloc_reclaim(&op, &all.parts);
	wort_op_end(&op);
	WRITE_ONCE(pool->zero_lines, pool->zero_lines + op.n.zero_lines);
}

/**
 * wort_parts_drop() - Parts of objects of an index will not be given back
 * @index: A destroyed index.  Its objects were freed, or are lost.
 *
 * Context: May sleep.  Holds wort_pool.work_lock.
 */
void wort_parts_drop(struct wort_index *index)
{
	lockdep_assert_held(&index->pool->work_lock);
	wort_alloc_parts_dropped(&index->pool->alloc, collect_index(index));
}
