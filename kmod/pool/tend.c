// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Tending what engines keep in DRAM for open trees, in the background.
 */
#include <linux/sched.h>

#include "pool.h"

/* What the trees of its engine keep in a pool. */
static size_t *bytes_of_engine(const struct wort_index *index)
{
	return &index->pool->volatile_bytes[wort_engine_nr(index->tree.engine)];
}

/* Bytes that an index may have, with those that it has. */
static size_t room(const struct wort_index *index)
{
	size_t all = index->pool->region->size >>
		     index->tree.engine->volatile_ops->room_shift;
	size_t others = *bytes_of_engine(index) - index->tree.priv_bytes;

	return all > others ? all - others : 0;
}

static void tend(struct wort_index *index, size_t bytes)
{
	struct wort_tree *tree = &index->tree;
	size_t *all = bytes_of_engine(index);

	*all -= tree->priv_bytes;
	tree->engine->volatile_ops->tend(tree, bytes);
	*all += tree->priv_bytes;
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

/**
 * wort_due_next() - Take the first entry of a list of work that is due
 * @pool: The pool.
 * @list: wort_pool.due or wort_pool.rebuild.
 *
 * Context: Any context.
 * Return: The entry, or NULL if there is none.
 */
struct list_head *wort_due_next(struct wort_pool *pool, struct list_head *list)
{
	struct list_head *entry = NULL;

	spin_lock(&pool->due_lock);
	if (!list_empty(list)) {
		entry = list->next;
		list_del_init(entry);
	}
	spin_unlock(&pool->due_lock);
	return entry;
}

/**
 * wort_due_last() - Find the last entry of a list of work that is due
 * @pool: The pool.
 * @list: wort_pool.due or wort_pool.rebuild.
 *
 * A round of that work ends with this entry.  While programs create indexes the
 * list never gets empty, and the walk and the background have other work to do.
 *
 * Context: Any context.
 * Return: The entry, or NULL if there is none.
 */
struct list_head *wort_due_last(struct wort_pool *pool, struct list_head *list)
{
	struct list_head *last;

	spin_lock(&pool->due_lock);
	last = list_empty(list) ? NULL : list->prev;
	spin_unlock(&pool->due_lock);
	return last;
}

/**
 * wort_due_add() - Have the background do something for an index
 * @index: The index.  Nothing happens after wort_tend_never(): who has entered
 *	it before may ask until it leaves.
 * @list: wort_pool.due or wort_pool.rebuild.
 * @entry: That of the index; may be on the list.
 *
 * Context: Any context.
 */
void wort_due_add(struct wort_index *index, struct list_head *list,
		  struct list_head *entry)
{
	struct wort_pool *pool = index->pool;

	spin_lock(&pool->due_lock);
	if (!index->never_due && list_empty(entry))
		list_add_tail(entry, list);
	spin_unlock(&pool->due_lock);
	wort_pool_kick(pool);
}

/**
 * wort_tend_due() - Have the background tend an index
 * @index: The index.
 *
 * Context: Any context.
 */
void wort_tend_due(struct wort_index *index)
{
	wort_due_add(index, &index->pool->due, &index->due);
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
	index->never_due = true;
	list_del_init(&index->due);
	list_del_init(&index->rebuild);
	spin_unlock(&pool->due_lock);
	if (index->tree.engine)
		*bytes_of_engine(index) -= index->tree.priv_bytes;
}

/**
 * wort_index_dram() - What an engine keeps in DRAM for an index
 * @index: The index.
 *
 * Context: Any context.
 * Return: Bytes; 0 if the index was not open since the attach.
 */
size_t wort_index_dram(const struct wort_index *index)
{
	const struct wort_tree *tree = &index->tree;
	const struct wort_volatile_ops *ops;

	/* Pairs with the release in @open; it stays as long as the index. */
	if (!smp_load_acquire(&tree->priv))
		return 0;
	ops = tree->engine->volatile_ops;
	return ops->bytes ? ops->bytes(tree) : READ_ONCE(tree->priv_bytes);
}

/* What of it can be freed when the machine is short of memory. */
static size_t spare_bytes(const struct wort_index *index)
{
	const struct wort_engine *engine = index->tree.engine;

	if (READ_ONCE(index->dead) || !engine || !engine->volatile_ops ||
	    !engine->volatile_ops->shrink)
		return 0;
	return wort_index_dram(index);
}

/**
 * wort_pool_spare_bytes() - Bytes of DRAM that a pool can do without
 * @pool: The pool.
 *
 * Context: Any context but interrupts.  Does not sleep: tries wort_pool.lock.
 * Return: How many; 0 if that cannot be found out now.
 */
size_t wort_pool_spare_bytes(struct wort_pool *pool)
{
	const struct wort_index *index;
	size_t bytes = 0;

	if (!mutex_trylock(&pool->lock))
		return 0;
	list_for_each_entry(index, &pool->indexes, list)
		bytes += spare_bytes(index);
	mutex_unlock(&pool->lock);
	return bytes;
}

/**
 * wort_pool_shrink() - Have the background free DRAM
 * @pool: The pool.
 * @bytes: How much.
 *
 * They are freed after a grace period.  Operations are slower until the engine
 * has made again what they need.
 *
 * Context: Any context but interrupts.  Does not sleep: tries wort_pool.lock.
 * Return: The bytes that will be freed, without those for which it was asked
 * before.
 */
size_t wort_pool_shrink(struct wort_pool *pool, size_t bytes)
{
	struct wort_index *index;
	size_t left = bytes, some;

	if (!mutex_trylock(&pool->lock))
		return 0;
	list_for_each_entry(index, &pool->indexes, list) {
		some = READ_ONCE(index->shrink) ? 0 :
						  min(left, spare_bytes(index));
		if (!some)
			continue;
		WRITE_ONCE(index->shrink, some);
		wort_tend_due(index);
		left -= some;
	}
	mutex_unlock(&pool->lock);
	return bytes - left;
}

static void shrink(struct wort_index *index)
{
	size_t bytes = READ_ONCE(index->shrink);

	if (!bytes)
		return;
	index->tree.engine->volatile_ops->shrink(&index->tree, bytes);
	WRITE_ONCE(index->shrink, 0);
}

/**
 * wort_tend_all() - Tend the indexes that are due
 * @pool: The pool.
 *
 * An index that becomes due meanwhile has its turn in the next call.
 *
 * Context: May sleep.  Holds wort_pool.work_lock and nothing else: only this
 * work frees indexes, so none goes away meanwhile.
 */
void wort_tend_all(struct wort_pool *pool)
{
	struct list_head *last = wort_due_last(pool, &pool->due), *entry = NULL;
	struct wort_index *index;

	lockdep_assert_held(&pool->work_lock);
	while (entry != last && !wort_pool_rest(pool) &&
	       (entry = wort_due_next(pool, &pool->due))) {
		index = list_entry(entry, struct wort_index, due);
		if (READ_ONCE(index->dead) || !READ_ONCE(index->tree.priv))
			continue;
		shrink(index);
		tend(index, room(index));
	}
}
