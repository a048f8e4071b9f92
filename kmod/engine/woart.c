// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * WOART, the Write Optimal Adaptive Radix Tree.
 *
 * Lee, Lim, Song, Nam, Noh: "WORT: Write Optimal Radix Tree for Persistent
 * Memory Storage Systems", FAST 2017, section 3.5.
 *
 * The tree, its nodes, its commit words and its crash states are in art.h.  A
 * node of any kind maps further bytes while it is in the tree, until their line
 * is full.
 *
 * The paper has a header in each node, {depth, prefix length, prefix}, which
 * its Algorithm 2 mends after a power cut; the link has the place instead.  It
 * stores a new child of its smallest node under three fences: the child, the
 * slot word, the header.  Here the record is durable before the slot refers to
 * it, and no word else has an order: two fences.
 */
#include "art.h"

static int woart_put(struct wort_op *op, struct wort_tree *tree,
		     struct wort_put *put)
{
	return art_put(op, tree, put, ART_MAPS_ALL);
}

static int woart_prepare(struct wort_op *op, struct wort_tree *tree,
			 struct wort_change *change)
{
	return art_prepare(op, tree, change, ART_MAPS_ALL);
}

static const struct wort_batch_ops woart_batch_ops = {
	.prepare = woart_prepare,
	.commit = art_commit,
	.finish = rdx_finish,
};

static const struct wort_fast_ops woart_fast_ops = {
	.lookup = art_fast_lookup,
	.put = art_fast_put,
	.remove = art_fast_remove,
	.class = ART_COST_CLASSES,
};

const struct wort_engine wort_engine_woart = {
	.name = "woart",
	.id = WORT_MEDIA_ENGINE_WOART,
	.traits = WORT_TRAITS_woart,
	.cursor_size = sizeof(struct art_cursor),
	.create = art_create,
	.lookup = art_lookup,
	.put = woart_put,
	.remove = art_remove,
	.seek = art_seek,
	.next = art_next,
	.value = art_value,
	.walk = art_walk,
	.check = art_check,
	.need = art_need,
	.drop = art_drop,
	.volatile_ops = &art_volatile_ops,
	.batch_ops = &woart_batch_ops,
	.fast_ops = &woart_fast_ops,
	.prefetch_keys = art_prefetch_keys,
};
