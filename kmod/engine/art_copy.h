/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * How a new small node of an adaptive radix tree is written; see art.h.
 */
#ifndef _WORT_ART_COPY_H
#define _WORT_ART_COPY_H

#include "art_map.h"

/* The number of the slot of an entry, as small nodes are filled. */
static __always_inline u32 art_small_at(u32 entry)
{
	return entry + entry / WORT_MEDIA_ART_LINE_SLOTS;
}

/**
 * art_small_write() - Write a new small node
 * @op: The operation.
 * @media: The node, of whose content nothing is known.
 * @kind: Its kind, with room for the entries.
 * @of: The entries, in any order.
 * @nr: How many.
 *
 * Does not flush.  Makes no call, so that a fast path keeps its registers.
 *
 * Context: Any context.
 */
static __always_inline void art_small_write(struct wort_op *op, void __pmem *media, u32 kind,
					    const struct art_entry *of, u32 nr)
{
	struct wort_media_art_line __pmem *line = media;
	u32 lines = art_last_line(kind) + 1, i;
	u64 map[WORT_MEDIA_ART_LINES_MAX] = { };
	__le64 __pmem *slots = art_small_slots(media);

	for (i = 0; i < nr; i++) {
		map[i / WORT_MEDIA_ART_LINE_SLOTS] |=
			art_line_entry(i % WORT_MEDIA_ART_LINE_SLOTS, of[i].byte);
		wort_pm_store(op, &slots[art_small_at(i)], of[i].link);
	}
	for (; i < lines * WORT_MEDIA_ART_LINE_SLOTS; i++)
		wort_pm_store(op, &slots[art_small_at(i)], 0);
	for (i = 0; i < lines; i++)
		wort_pm_store(op, &line[i].map, map[i]);
}

#endif /* _WORT_ART_COPY_H */
