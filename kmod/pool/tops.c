// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tables of the tops of trees, which the background work makes.
 *
 * One is looked at when its index is first opened, and whenever the tree has made twice
 * as many nodes as before the last look: so seldom that it costs an insert next to
 * nothing, and often enough that it fits a tree of any size.  Where keys come and go so
 * that the tree moves away from its table, nodes that are made beyond it count, too.
 */
#include <linux/sched.h>
#include <linux/string.h>

#include "pool.h"

/* All tables of a pool take no more than a part of its size. */
#define TOP_BYTES_SHIFT		6

/* Beyond that a look more or less makes no difference. */
#define MAX_LOOKS		40U

/*
 * To fill a table takes some 30 ns an entry.  For so many entries the tree counts a node
 * beyond it: some 32 nodes, and inserts of several microseconds.
 */
#define ENTRIES_PER_MISS	128

/* In a section of writers, in which no memory is used again. */
static void op_begin(struct wort_pool *pool, struct wort_op *op)
{
	wort_op_begin(op, pool->region, &pool->alloc);
	op->locks = &pool->locks;
	op->time = wort_locks_now(&pool->locks);
}

/* What a table may take that replaces the one that is there. */
static size_t room(const struct wort_index *index)
{
	const struct wort_pool *pool = index->pool;

	return (pool->region->size >> TOP_BYTES_SHIFT) - pool->top_bytes +
	       wort_top_size(&index->tree.top->shape);
}

static int find_shape(struct wort_index *index, struct wort_top_shape *shape)
{
	struct wort_pool *pool = index->pool;
	struct wort_tree *tree = &index->tree;
	struct wort_op op;
	int section, err;

	section = srcu_read_lock(&pool->locks.writers);
	op_begin(pool, &op);
	err = wort_index_verify(index) ?:
	      tree->engine->top_shape(&op, tree, room(index), shape);
	wort_op_end(&op);
	srcu_read_unlock(&pool->locks.writers, section);
	return err;
}

/* What cannot be read now is left out. */
static void fill(struct wort_index *index)
{
	struct wort_tree *tree = &index->tree;
	struct wort_pool *pool = index->pool;
	struct wort_op op;
	int section;
	u32 part;

	for (part = 0; part < WORT_TOP_PARTS; part++) {
		section = srcu_read_lock(&pool->locks.writers);
		op_begin(pool, &op);
		if (!wort_index_verify(index))
			tree->engine->top_fill(&op, tree, part);
		wort_op_end(&op);
		srcu_read_unlock(&pool->locks.writers, section);
		cond_resched();
	}
}

/*
 * Whoever changes a slot from now on does so in the new table, too, so that what is
 * filled in stays true.  The old one is looked at by those who have begun before.
 */
static void replace(struct wort_index *index, struct wort_top *top)
{
	struct wort_top *old = index->tree.top;
	struct wort_pool *pool = index->pool;

	pool->top_bytes += wort_top_size(&top->shape);
	/* pairs with wort_tree_top() */
	smp_store_release(&index->tree.top, top);
	if (top->shape.digits)
		fill(index);
	wort_locks_synchronize(&pool->locks);
	pool->top_bytes -= wort_top_size(&old->shape);
	wort_top_free(old);
}

/**
 * wort_top_forget() - Take the table of an index away
 * @index: The index.
 *
 * wort_top_due() is due afterwards.
 *
 * Context: May sleep.  Holds wort_pool.work_lock, to the end of which there is none.
 */
void wort_top_forget(struct wort_index *index)
{
	lockdep_assert_held(&index->pool->work_lock);
	if (index->tree.top->shape.digits)
		replace(index, &wort_top_none);
}

/* When to look again; later each time, if this one was for nothing. */
static void set_due(struct wort_index *index, bool for_nothing)
{
	struct wort_tree *tree = &index->tree;

	index->top_looks = min(index->top_looks + 1, MAX_LOOKS);
	index->top_idle = for_nothing ?
			  min(index->top_idle + 1, MAX_LOOKS) : 0;
	WRITE_ONCE(tree->made, 0);
	WRITE_ONCE(tree->missed, 0);
	WRITE_ONCE(tree->missed_due,
		   (1 + tree->top->mask / ENTRIES_PER_MISS) * BIT_ULL(index->top_idle));
	WRITE_ONCE(tree->made_due, BIT_ULL(index->top_looks - 1));
}

static void look(struct wort_index *index)
{
	struct wort_tree *tree = &index->tree;
	struct wort_top *top = NULL;
	struct wort_top_shape shape;

	if (!find_shape(index, &shape) &&
	    memcmp(&shape, &tree->top->shape, sizeof(shape)))
		top = shape.digits ? wort_top_alloc(&shape) : &wort_top_none;
	if (top)
		replace(index, top);
	set_due(index, !top);
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
 * wort_top_due() - The table of an index shall be looked at
 * @index: The index.
 *
 * Context: Any context.
 */
void wort_top_due(struct wort_index *index)
{
	struct wort_pool *pool = index->pool;

	spin_lock(&pool->due_lock);
	if (list_empty(&index->due))
		list_add_tail(&index->due, &pool->due);
	spin_unlock(&pool->due_lock);
	wort_pool_kick(pool);
}

/**
 * wort_top_outgrown() - wort_tree.outgrown of the trees of indexes
 * @tree: The tree.
 *
 * Context: Any context.
 */
void wort_top_outgrown(struct wort_tree *tree)
{
	/* Until it was looked at, nobody calls this again. */
	WRITE_ONCE(tree->made_due, U64_MAX);
	WRITE_ONCE(tree->missed_due, U64_MAX);
	wort_top_due(container_of(tree, struct wort_index, tree));
}

/**
 * wort_top_disown() - The table of an index takes nothing of its pool's any more
 * @index: The index, which nobody looks into from now on.  The table goes with it.
 *
 * Context: Any context.  Holds wort_pool.work_lock.
 */
void wort_top_disown(struct wort_index *index)
{
	struct wort_pool *pool = index->pool;

	lockdep_assert_held(&pool->work_lock);
	spin_lock(&pool->due_lock);
	list_del_init(&index->due);
	spin_unlock(&pool->due_lock);
	pool->top_bytes -= wort_top_size(&index->tree.top->shape);
}

/**
 * wort_tops_renew() - Look at the tables that are due
 * @pool: The pool.
 *
 * Costs next to nothing if none is: a walk or a check, during which the background work
 * has no turn, calls it after each chunk.
 *
 * Context: May sleep.  Holds wort_pool.work_lock and nothing else: only this work frees
 * indexes, so none goes away meanwhile.
 */
void wort_tops_renew(struct wort_pool *pool)
{
	struct wort_index *index;

	lockdep_assert_held(&pool->work_lock);
	while (!wort_pool_rest(pool) && (index = next_due(pool)))
		if (!READ_ONCE(index->dead))
			look(index);
}
