// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * ART+CoW, the adaptive radix tree with copy on write.
 *
 * Lee, Lim, Song, Nam, Noh: "WORT: Write Optimal Radix Tree for Persistent
 * Memory Storage Systems", FAST 2017, section 3.4.
 *
 * The tree, its nodes, its commit words and its crash states are in art.h.  The
 * map of an N7 or an N14 never changes once the node is in the tree: a copy
 * with the new entry takes its place.  Larger nodes map further bytes as those
 * of WOART do; the paper copies nodes of up to 16.  A delete stores 0 to the
 * slot, in nodes of all kinds, so it needs no space.
 */
#include "art.h"

static int cow_put(struct wort_op *op, struct wort_tree *tree,
		   struct wort_put *put)
{
	return art_put(op, tree, put, ART_MAPS_FROM_N28);
}

static int cow_prepare(struct wort_op *op, struct wort_tree *tree,
		       struct wort_change *change)
{
	return art_prepare(op, tree, change, ART_MAPS_FROM_N28);
}

static const struct wort_batch_ops cow_batch_ops = {
	.prepare = cow_prepare,
	.commit = art_commit,
	.finish = rdx_finish,
};

static const struct wort_fast_ops cow_fast_ops = {
	.lookup = art_fast_lookup,
	.put = art_fast_put_copies,
	.remove = art_fast_remove,
	.class = ART_COST_CLASSES,
};

const struct wort_engine wort_engine_art_cow = {
	.name = "art_cow",
	.id = WORT_MEDIA_ENGINE_ART_COW,
	.traits = WORT_TRAITS_art_cow,
	.cursor_size = sizeof(struct art_cursor),
	.create = art_create,
	.lookup = art_lookup,
	.put = cow_put,
	.remove = art_remove,
	.seek = art_seek,
	.next = art_next,
	.value = art_value,
	.walk = art_walk,
	.check = art_check,
	.need = art_need,
	.drop = art_drop,
	.volatile_ops = &art_volatile_ops,
	.batch_ops = &cow_batch_ops,
	.fast_ops = &cow_fast_ops,
	.prefetch_keys = art_prefetch_keys,
};
