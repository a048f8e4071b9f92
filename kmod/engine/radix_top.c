// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The tables of the tops of trees: when they are made, and how they are
 * replaced.
 *
 * A table is reviewed when its index is first opened, and whenever the tree has
 * made twice as many nodes as before the last review: so seldom that a review
 * costs an insert next to nothing, and often enough that the table fits a tree
 * of any size.  Where keys come and go so that the tree moves away from its
 * table, nodes that are made outside it count, too.
 */
#include <linux/kernel.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../core/lock.h"
#include "radix_top.h"

/* Beyond that one review more or less makes no difference. */
#define MAX_REVIEWS	40U

/*
 * To fill a table takes some 30 ns an entry.  For so many entries the tree
 * counts a node outside it: some 32 nodes, and inserts of several microseconds.
 */
#define ENTRIES_PER_MISS	128

/*
 * One entry, which stays empty: no place is before its end and another behind.
 */
struct wort_top wort_top_none = {
	.shape.place = WORT_KEY_DIGITS,
	.skips = &wort_skips_none,
	.link = { 0 },
};

/* Make a table without links. */
static struct wort_top *top_alloc(const struct wort_top_shape *shape,
				  struct wort_skips *skips, gfp_t gfp)
{
	u32 nr = 1U << 4 * shape->digits;
	struct wort_top *top;

	top = kvzalloc(struct_size(top, link, nr), gfp);
	if (!top)
		return NULL;
	top->shape = *shape;
	if (shape->digits)
		top->shift = 4 * (WORT_KEY_WORD_DIGITS - shape->place);
	top->mask = nr - 1;
	top->skips = skips;
	return top;
}

/**
 * wort_top_open() - Make the empty table of a tree
 * @tree: The tree, which has none; wort_tree.shared are the skipped digits, or
 *	NULL.
 *
 * A review is due afterwards.
 *
 * Context: May sleep, perhaps with locks of the pool.
 * Return: 0 or -ENOMEM.
 */
int wort_top_open(struct wort_tree *tree)
{
	struct wort_top *top = top_alloc(&wort_top_none.shape,
					 tree->shared ?: &wort_skips_none,
					 GFP_NOIO);

	if (!top)
		return -ENOMEM;
	/* pairs with wort_tree_top() */
	smp_store_release(&tree->priv, top);
	return 0;
}

/**
 * wort_top_close() - Free the table of a tree
 * @tree: The tree, which nobody uses any more.
 *
 * Context: May sleep.
 */
void wort_top_close(struct wort_tree *tree)
{
	kvfree(tree->priv);
	tree->priv = NULL;
	tree->priv_bytes = 0;
}

/* May the root record be read? */
static int root_verify(const struct wort_tree *tree)
{
	return wort_region_verify(tree->region, wort_root_off(tree), WORT_LINE);
}

/*
 * A writer may change a node while the review reads it.  So a node without
 * sense is no damage.
 */
static int enter_beside(struct wort_tree *tree, struct wort_op *op)
{
	int section = wort_tree_enter(tree, op);

	op->alone = false;
	return section;
}

static int find_shape(struct wort_tree *tree, size_t room,
		      const struct wort_top_ops *ops,
		      struct wort_top_shape *shape)
{
	struct wort_op op;
	int section, err;

	*shape = wort_top_none.shape;
	if (!room)
		return 0;
	section = enter_beside(tree, &op);
	err = root_verify(tree) ?: ops->shape(&op, tree, room, shape);
	wort_tree_exit(tree, &op, section);
	return err;
}

/*
 * Subtrees that cannot be read now are skipped; lookups reach them from the
 * root.
 */
static void fill(struct wort_tree *tree, const struct wort_top_ops *ops)
{
	struct wort_op op;
	int section;
	u32 part;

	for (part = 0; part < WORT_TOP_PARTS; part++) {
		section = enter_beside(tree, &op);
		if (!root_verify(tree))
			ops->fill(&op, tree, part);
		wort_tree_exit(tree, &op, section);
		cond_resched();
	}
}

/*
 * A writer that changes a slot from now on does so in the new table, too, so
 * that the entries that are filled in stay valid.  Operations that began before
 * use the old one.
 */
static void replace(struct wort_tree *tree, struct wort_top *top,
		    const struct wort_top_ops *ops)
{
	struct wort_top *old = tree->priv;

	top->reviews = old->reviews;
	WRITE_ONCE(tree->priv_bytes, wort_top_size(&top->shape));
	/* pairs with wort_tree_top() */
	smp_store_release(&tree->priv, top);
	if (top->shape.digits)
		fill(tree, ops);
	wort_locks_synchronize(tree->locks);
	kvfree(old);
}

/**
 * wort_top_fill_entry() - Fill in an entry, for wort_top_ops.fill
 * @op: The operation.
 * @tree: The tree.
 * @node: The node that has the slot.
 * @slot: The slot.
 * @link: What it held, a link to a node.
 * @word: The first sixteen digits of the keys below it.
 *
 * A slot that is being changed, or was changed meanwhile, is left out, and so is one that is
 * perhaps not durable.
 *
 * Context: In a section of writers; locks and unlocks the node.
 */
void wort_top_fill_entry(struct wort_op *op, struct wort_tree *tree, u64 node,
			 const __le64 __pmem *slot, u64 link, u64 word)
{
	if (!wort_node_lock(op, node))
		return;
	if (wort_pm_load(slot) == link &&
	    !wort_pm_in_flight(tree->in_flight, node))
		wort_top_set(wort_tree_top(tree), word, link);
	wort_nodes_unlock(op);
}

/*
 * Set when the next review is due: later each time, if this one changed
 * nothing.
 */
static void set_due(struct wort_top *top, bool changed)
{
	top->reviews = min(top->reviews + 1, MAX_REVIEWS);
	top->idle = changed ? 0 : min(top->idle + 1, MAX_REVIEWS);
	WRITE_ONCE(top->made, 0);
	WRITE_ONCE(top->missed, 0);
	WRITE_ONCE(top->missed_due,
		   (1 + top->mask / ENTRIES_PER_MISS) * BIT_ULL(top->idle));
	WRITE_ONCE(top->made_due, BIT_ULL(top->reviews - 1));
}

/**
 * wort_top_tend() - Review the table of a tree, and replace it if another one fits better
 * @tree: The tree, open.
 * @room: Bytes that the new table may have; 0: the tree gets an empty one, and
 *	the digits that nodes skip are forgotten.
 * @ops: How its engine looks at it.
 *
 * Without memory the table stays as it is; an empty one always gets its memory.
 *
 * Context: May sleep, waits for grace periods.  In no section.  The caller
 * serialises calls for a tree.
 */
void wort_top_tend(struct wort_tree *tree, size_t room,
		   const struct wort_top_ops *ops)
{
	/*
	 * An empty table is small, and must take the place of one that leads
	 * astray.
	 */
	gfp_t gfp = room ? GFP_NOIO : GFP_NOIO | __GFP_NOFAIL;
	struct wort_top *old = tree->priv, *top = NULL;
	struct wort_top_shape shape;

	if (!room)
		wort_skips_forget_all(old->skips);
	if (!find_shape(tree, room, ops, &shape) &&
	    memcmp(&shape, &old->shape, sizeof(shape)))
		top = top_alloc(&shape, old->skips, gfp);
	if (top)
		replace(tree, top, ops);
	set_due(tree->priv, top);
}
