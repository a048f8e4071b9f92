/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The top of a tree, kept in DRAM.
 *
 * Most of the nodes on the way to a key are those near the root, and the first
 * digits of the key determine them.  This table has, for all values of some
 * digits from the branching place of the root on, the link to the first node
 * beyond these digits.  It is made in the background and may have gaps; for a
 * key in a gap the descent begins at the root.
 *
 * An entry may hold a link to a node C only while
 *
 *	the link to C is durable,
 *	C is in the tree, and its place is beyond the digits of the table,
 *	all keys with the digits of the entry are below C.
 *
 * Only a change of the one slot that refers to C, in a node before that place,
 * can end that.  The writer of such a change holds the lock of the slot.  It
 * clears the entry before it stores to the slot, because from then on other
 * writers may insert keys that are not below C.  It sets the entry when the
 * slot is durable and still locked.  Changes of other slots, further up or
 * down, leave the entry valid.  A writer without the lock never sets an entry.
 *
 * A reader that has loaded C from an entry continues as if it had passed the
 * slots above C at that moment.
 */
#ifndef _WORT_RADIX_TOP_H
#define _WORT_RADIX_TOP_H

#include <linux/compiler.h>
#include <linux/types.h>
#include <asm/barrier.h>

#include "engine.h"
#include "radix.h"
#include "skips.h"

#define WORT_TOP_PARTS		16
#define WORT_TOP_DIGITS		4U	/* at most: 512 KiB */

/**
 * struct wort_top_shape - Which digits a table covers
 * @first: the first sixteen digits of the first key of the first entry
 * @place: position of the digit behind the last one of the table
 * @digits: number of digits of the table, 1 to WORT_TOP_DIGITS; 0: it is empty
 */
struct wort_top_shape {
	u64 first;
	u32 place;
	u32 digits;
};

/**
 * struct wort_top - A table of links: wort_tree.priv of a radix engine
 * @shape: which digits it covers
 * @shift: shifts the distance of a key from @first to the number of its entry
 * @mask: the number of the last entry, all ones
 * @skips: skipped digits of the nodes of all trees of the engine in the pool
 * @made: nodes made since the last review, roughly
 * @missed: of these, nodes for keys outside the table
 * @made_due: value of @made at which the next review is due
 * @missed_due: value of @missed at which it is due
 * @reviews: number of reviews of the tree
 * @idle: number of last reviews in a row that changed nothing
 * @link: links to nodes, or 0
 *
 * It is freed after a grace period.
 */
struct wort_top {
	struct wort_top_shape shape;
	u32 shift;
	u32 mask;
	struct wort_skips *skips;
	u64 made;
	u64 missed;
	u64 made_due;
	u64 missed_due;
	u32 reviews;
	u32 idle;
	u64 link[];
};

/**
 * struct wort_top_ops - How an engine looks at the top of its trees
 * @shape: find the shape of a table that would lead past many nodes and have at
 *	most so many bytes.  It has no digits if the tree is small.
 * @fill: fill in one of WORT_TOP_PARTS parts of the table of a tree, which has
 *	digits, concurrently with writers
 *
 * Both may sleep, in a section of writers.  They return 0, -EUCLEAN or -EIO.
 */
struct wort_top_ops {
	int (*shape)(struct wort_op *op, struct wort_tree *tree,
		     size_t max_size, struct wort_top_shape *shape);
	int (*fill)(struct wort_op *op, struct wort_tree *tree, u32 part);
};

extern struct wort_top wort_top_none;

int wort_top_open(struct wort_tree *tree);
void wort_top_close(struct wort_tree *tree);
void wort_top_fill_entry(struct wort_op *op, struct wort_tree *tree, u64 node,
			 const __le64 __pmem *slot, u64 link, u64 word);
void wort_top_tend(struct wort_tree *tree, size_t room,
		   const struct wort_top_ops *ops);

/**
 * wort_tree_top() - The table of the top of a tree
 * @tree: The tree.
 *
 * Context: A section; the table is not freed before its end.
 * Return: The table; &wort_top_none if the tree is not open.
 */
static __always_inline struct wort_top *
wort_tree_top(const struct wort_tree *tree)
{
	/* pairs with the release that publishes a table */
	struct wort_top *top = smp_load_acquire(&tree->priv);

	return likely(top) ? top : &wort_top_none;
}

/**
 * wort_open_top() - The table of the top of an open tree
 * @tree: The tree, for which wort_top_open() has returned 0.
 *
 * For fast paths, which are of open trees only.
 *
 * Context: As wort_tree_top().
 * Return: The table.
 */
static __always_inline struct wort_top *
wort_open_top(const struct wort_tree *tree)
{
	/* pairs with the release that publishes a table */
	return smp_load_acquire(&tree->priv);
}

/**
 * wort_top_size() - Size of a table
 * @shape: Its shape.
 *
 * Context: Any context.
 * Return: Bytes of its entries, 0 if it is empty.
 */
static inline size_t wort_top_size(const struct wort_top_shape *shape)
{
	return shape->digits ? sizeof(u64) << 4 * shape->digits : 0;
}

/**
 * wort_top_entry() - The entry of a key
 * @top: The table.
 * @word: The first sixteen digits of the key.
 *
 * For any key, and also under speculation, no load is outside the table.
 *
 * Context: Any context, in a section in which the table was loaded.
 * Return: The entry, or NULL if there is none.
 */
static __always_inline u64 *wort_top_entry(struct wort_top *top, u64 word)
{
	u64 nr = (word - top->shape.first) >> top->shift;
	u64 *entry = &top->link[nr & top->mask];

	return nr <= top->mask ? entry : NULL;
}

/**
 * wort_top_find() - Find the node at which the descent to a key begins
 * @top: The table.
 * @word: The first sixteen digits of the key.
 *
 * Context: As wort_top_entry(), and in a section that keeps nodes from being
 * reused.
 * Return: The link to a node; 0: begin at the root.
 */
static __always_inline u64 wort_top_find(const struct wort_top *top, u64 word)
{
	u64 nr = (word - top->shape.first) >> top->shift, mask = top->mask;
	const u64 *links = top->link;	/* else a compiler adds the header to the index */
	const u64 *entry = links + (nr & mask);
	/* pairs with the release in wort_top_set() */
	u64 link = smp_load_acquire(entry);

	return likely(nr <= mask) ? link : 0;
}

/**
 * wort_top_set() - Set or clear the entry of a key
 * @top: The table.
 * @word: The first sixteen digits of the key.
 * @link: The link to the node, or 0.
 *
 * A release: a reader that finds the link sees all stores before it.
 *
 * Context: Any context.  The slot that holds the link, or held it, is locked.
 */
static inline void wort_top_set(struct wort_top *top, u64 word, u64 link)
{
	u64 *entry = wort_top_entry(top, word);

	if (!entry)
		return;
	/* pairs with the acquire in wort_top_find() */
	smp_store_release(entry, link);
}

/* The digits before a place, with zeroes from there on. */
static inline u64 rdx_digits_before(u64 word, u32 place)
{
	return place ? word & ~0ULL << 4 * (WORT_KEY_WORD_DIGITS - place) : 0;
}

/* The key has the digits that the node of a link skips. */
static inline void rdx_skip_learn(const struct wort_tree *tree, u64 link,
				  const struct wort_key *key)
{
	wort_skips_learn(wort_tree_top(tree)->skips, link,
			 wort_digits_before(key, wort_key_word(key, 0),
					    wort_link_place(link)));
}

/*
 * What the table of the top leads to is about to be another node: nobody may
 * find the old one once others can find the new one.  The slot has been locked
 * before the table was looked for: another one is not filled in from it until
 * it is unlocked.  Returns the table, for rdx_top_enter(), or NULL.
 */
static inline struct wort_top *rdx_top_leave(struct wort_top *top, bool leads,
					     u64 digits)
{
	if (!leads)
		return NULL;
	wort_top_set(top, digits, 0);
	return top;
}

/* A node at @place comes to a slot with @start digits consumed. */
static __always_inline struct wort_top *rdx_top_split(struct wort_tree *tree,
						      u32 start, u32 place,
						      u64 digits)
{
	struct wort_top *top = wort_tree_top(tree);
	u32 end = top->shape.place;

	return rdx_top_leave(top, start <= end && end <= place, digits);
}

/* A node goes, or another one takes its place. */
static inline struct wort_top *rdx_top_merge(struct wort_tree *tree, u64 node,
					     u64 digits)
{
	struct wort_top *top = wort_tree_top(tree);

	return rdx_top_leave(top, wort_top_find(top, digits) == node, digits);
}

/*
 * The word is durable, and its slot still locked.  If there is another table
 * now, this one is looked at by those who had begun before.
 */
static __always_inline void rdx_top_enter(struct wort_top *top, u64 link,
					  u64 digits)
{
	if (top && link && !wort_link_is_record(link))
		wort_top_set(top, digits, link);
}

#define RDX_MADE_STEP	4096

/*
 * Of the nodes that are made those count which begin a page: one counter for
 * all.
 */
static __always_inline void rdx_tree_grows(struct wort_tree *tree, u64 node,
					   u64 digits)
{
	struct wort_top *top;
	u64 made, missed;

	if (likely(node % RDX_MADE_STEP))
		return;
	top = wort_tree_top(tree);
	if (top == &wort_top_none)
		return;
	made = READ_ONCE(top->made) + 1;
	missed = READ_ONCE(top->missed) + !wort_top_entry(top, digits);
	WRITE_ONCE(top->made, made);
	WRITE_ONCE(top->missed, missed);
	if (made >= READ_ONCE(top->made_due) ||
	    missed >= READ_ONCE(top->missed_due)) {
		/* The review sets when the next one is due. */
		WRITE_ONCE(top->made_due, U64_MAX);
		WRITE_ONCE(top->missed_due, U64_MAX);
		tree->want_tend(tree);
	}
}

#endif /* _WORT_RADIX_TOP_H */
