/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The root record of a tree as engines read and lock it.
 */
#ifndef _WORT_ROOT_H
#define _WORT_ROOT_H

#include <linux/wort_format.h>

#include "../core/pmem.h"
#include "engine.h"

/*
 * The offset of the root record; it moves with a rename, as wort_tree_root()
 * tells.
 */
static __always_inline u64 wort_root_off(const struct wort_tree *tree)
{
	return (void __pmem *)wort_tree_root(tree) -
	       wort_region_at(tree->region, 0);
}

/* The name for locks of a root record: its catalogue entry. */
static __always_inline u64 wort_root_node_at(u64 off)
{
	return off - offsetof(struct wort_media_entry, root);
}

static __always_inline u64 wort_root_node(const struct wort_tree *tree)
{
	return wort_root_node_at(wort_root_off(tree));
}

/**
 * wort_root_load() - Load the first word of a root record, on which an answer may rest
 * @op: The operation.
 * @off: Offset of the root record.
 * @word: Told: the word.
 *
 * A call would have the position of a descent in memory, also in a fast path,
 * which does not come here.
 *
 * Context: A section.
 * Return: 0 or -EIO.
 */
static inline int wort_root_load(struct wort_op *op, u64 off, u64 *word)
{
	const __le64 __pmem *root = wort_region_at(op->region, off);
	int err = wort_pm_probe(op, root, WORT_LINE);

	*word = err ? 0 : wort_pm_load(root);
	wort_pm_flush_in_flight(op, wort_root_node_at(off), off, sizeof(*word));
	return err;
}

#endif /* _WORT_ROOT_H */
