/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * How a new N4 or N16 of an adaptive radix tree is written; see art.h.
 */
#ifndef _WORT_ART_COPY_H
#define _WORT_ART_COPY_H

#include "art_map.h"

/* The number of the word of an N4 or an N16 that is its first slot. */
static __always_inline u32 art_small_first(u32 kind)
{
	return (kind == WORT_MEDIA_ART_KIND_N4 ? offsetof(struct wort_media_art_n4, slot) :
						 offsetof(struct wort_media_art_n16, slot)) /
	       sizeof(__le64);
}

/**
 * art_small_write() - Write a new N4 or N16
 * @op: The operation.
 * @media: The node, of whose content nothing is known.
 * @kind: Its kind, with room for the entries.
 * @maps: Kinds of nodes that map further bytes.  The free slots of such a node hold 0;
 *	those of another one are left as they are.
 * @of: The entries, in any order.
 * @nr: How many.
 *
 * Does not flush.  Makes no call, so that a fast path keeps its registers.
 *
 * Context: Any context.
 * Return: Bytes that were written, from the beginning on.
 */
static __always_inline u32 art_small_write(struct wort_op *op, void __pmem *media, u32 kind,
					   u32 maps, const struct art_entry *of, u32 nr)
{
	u32 first = art_small_first(kind), end = first + nr, i;
	struct wort_media_art_n16 __pmem *n16 = media;
	struct wort_media_art_n4 __pmem *n4 = media;
	__le64 __pmem *words = media;
	u64 used = BIT_ULL(nr) - 1, bytes[2] = { };

	for (i = 0; i < nr; i++) {
		bytes[i / 8] |= (u64)of[i].byte << 8 * (i % 8);
		wort_pm_store(op, &words[first + i], of[i].link);
	}
	if (maps & BIT(kind)) {
		wort_pm_clear(op, &words[end], art_node_size(kind) / sizeof(__le64) - end);
		end = art_node_size(kind) / sizeof(__le64);
	}
	if (kind == WORT_MEDIA_ART_KIND_N4) {
		wort_pm_store(op, &n4->map, used << WORT_MEDIA_ART_N4_USED_SHIFT | bytes[0]);
	} else {
		wort_pm_store(op, &n16->map, used);
		wort_pm_store(op, &n16->byte[0], bytes[0]);
		wort_pm_store(op, &n16->byte[1], bytes[1]);
	}
	return end * sizeof(__le64);
}

#endif /* _WORT_ART_COPY_H */
