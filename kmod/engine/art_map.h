/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * How a byte gets a slot of a node of an adaptive radix tree; see art.h.
 */
#ifndef _WORT_ART_MAP_H
#define _WORT_ART_MAP_H

#include "art.h"

/* A line of a node that is no N256. */
static __always_inline struct wort_media_art_line __pmem *
art_line_at(const struct art_node *node, u32 nr)
{
	return (struct wort_media_art_line __pmem *)node->media + nr;
}

/* The line of a byte. */
static __always_inline struct wort_media_art_line __pmem *
art_line(const struct art_node *node, u32 byte)
{
	return art_line_at(node, art_line_of(node->kind, byte));
}

/* A map in which @byte has the free slot @slot. */
static __always_inline u64 art_map_with(u64 map, u32 slot, u32 byte)
{
	return (map & ~(0xffULL << 8 * slot)) | (u64)byte << 8 * slot |
	       BIT_ULL(WORT_MEDIA_ART_USED_SHIFT + slot);
}

/*
 * The first slot of a line that has no byte; WORT_MEDIA_ART_LINE_SLOTS: there
 * is none.  Such a slot holds 0, unless the line is damaged: then it is left
 * out.
 */
static __always_inline u32
art_line_free(const struct wort_media_art_line __pmem *line)
{
	u32 free = ~art_line_used(wort_pm_load(&line->map));

	while (__ffs(free) < WORT_MEDIA_ART_LINE_SLOTS &&
	       unlikely(wort_pm_load(&line->slot[__ffs(free)])))
		free &= free - 1;
	return __ffs(free);
}

/**
 * art_node_maps() - Can a node map a byte?
 * @node: The node, not an N256, which has a slot for each.
 * @byte: The byte, which has no slot.
 *
 * Context: A section.
 * Return: True if its line has a free slot.
 */
static __always_inline bool art_node_maps(const struct art_node *node, u32 byte)
{
	return art_line_free(art_line(node, byte)) < WORT_MEDIA_ART_LINE_SLOTS;
}

/**
 * art_node_map() - Map a byte to a free slot
 * @op: The operation, which holds the lock of the node.
 * @node: The node, in the tree, and no N256.
 * @byte: The byte, which has no slot.
 *
 * The word of the map is in the line of the slot, which the caller flushes.
 * Nothing rests on the word before the slot holds a link.
 *
 * Context: Any context.
 * Return: The slot, which holds 0; NULL: there is none.
 */
static __always_inline __le64 __pmem *art_node_map(struct wort_op *op,
						   const struct art_node *node,
						   u32 byte)
{
	struct wort_media_art_line __pmem *line = art_line(node, byte);
	u32 slot = art_line_free(line);

	if (slot == WORT_MEDIA_ART_LINE_SLOTS)
		return NULL;
	wort_pm_store_release(op, &line->map,
			      art_map_with(wort_pm_load(&line->map), slot,
					   byte));
	return &line->slot[slot];
}

#endif /* _WORT_ART_MAP_H */
