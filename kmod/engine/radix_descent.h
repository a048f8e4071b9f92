/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Descents in radix trees.  The step from a node to the slot for the key is the
 * engine's.
 */
#ifndef _WORT_RADIX_DESCENT_H
#define _WORT_RADIX_DESCENT_H

#include "radix_top.h"

/**
 * struct rdx_descent - A descent to a key
 * @op: the operation; NULL in a fast path, which gives up with -EAGAIN where an
 *	operation would read with care
 * @tree: the tree
 * @top: the table of its top
 * @key: the key
 * @word: its first sixteen digits
 * @base: memory at offset 0
 * @plain: wort_region_plain()
 * @in_flight: marks of nodes
 * @pos: where it is
 * @nr_nodes: nodes entered
 * @nr_marks: of a fast path: not 0 if a word that it has loaded is in flight
 */
struct rdx_descent {
	struct wort_op *op;
	const struct wort_tree *tree;
	const struct wort_top *top;
	const struct wort_key *key;
	u64 word;
	void __pmem *base;
	u64 plain;
	const u32 *in_flight;
	struct rdx_pos pos;
	u32 nr_nodes;
	u32 nr_marks;
};

static __always_inline void rdx_descent_init(struct rdx_descent *d,
					     struct wort_op *op,
					     const struct wort_tree *tree,
					     const struct wort_top *top,
					     const struct wort_key *key,
					     u64 word, const u32 *in_flight)
{
	d->op = op;
	d->tree = tree;
	d->top = top;
	d->key = key;
	d->word = word;
	d->base = wort_region_at(tree->region, 0);
	d->plain = wort_region_plain(tree->region);
	d->in_flight = in_flight;
	d->pos.skip = 0;
	d->nr_nodes = 0;
	d->nr_marks = 0;
}

/* Begin a descent at the root record. */
static __always_inline int rdx_descent_root(struct rdx_descent *d)
{
	u64 root = wort_root_off(d->tree);

	d->pos.slot = root;
	d->pos.node = 0;
	d->pos.above = 0;
	d->pos.above_node = 0;
	d->pos.start = 0;
	if (d->op)
		return wort_root_load(d->op, root, &d->pos.link);
	if (unlikely(root >= d->plain))
		return -EAGAIN;
	d->pos.link = wort_pm_load(d->base + root);
	d->nr_marks = wort_pm_mark(d->in_flight, wort_root_node_at(root));
	return 0;
}

/*
 * Begin a descent where the table of the top leads to, or at the root record.
 */
static __always_inline int rdx_descent_begin(struct rdx_descent *d)
{
	u64 link = wort_top_find(d->top, d->word);

	if (unlikely(!link))
		return rdx_descent_root(d);
	d->pos.slot = 0;
	d->pos.link = link;
	d->pos.node = 0;
	d->pos.above = 0;
	d->pos.above_node = 0;
	d->pos.start = d->top->shape.place;
	return 0;
}

/* Does a node that skips digits skip those of the key, as far as is known? */
static __always_inline bool rdx_skips_match(const struct rdx_descent *d,
					    u64 link, u32 place)
{
	return wort_skips_match(d->top->skips, link,
				wort_digits_before(d->key, d->word, place),
				place - d->pos.start);
}

typedef int rdx_descend_fn(struct rdx_descent *d, u32 limit, bool skips);
typedef int rdx_verify_fn(struct wort_op *op, u64 link);

/*
 * Descend to a key, with the care of an operation, from the root record or from
 * where the table of the top leads to.  @descend and @verify are constants.
 */
static __always_inline int rdx_find(rdx_descend_fn *descend,
				    rdx_verify_fn *verify, struct wort_op *op,
				    const struct wort_tree *tree,
				    const struct wort_key *key, u32 limit,
				    bool root, bool skips, struct rdx_pos *pos)
{
	struct rdx_descent d __uninitialized;
	int err;

	rdx_descent_init(&d, op, tree, wort_tree_top(tree), key,
			 wort_key_word(key, 0), op->in_flight);
	err = root ? rdx_descent_root(&d) : rdx_descent_begin(&d);
	if (!err)
		err = descend(&d, limit, skips);
	wort_count(op, nodes, d.nr_nodes);
	*pos = d.pos;
	return err ?: verify(op, d.pos.link);
}

#endif /* _WORT_RADIX_DESCENT_H */
