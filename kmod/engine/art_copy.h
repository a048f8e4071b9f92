/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * How a new node of an adaptive radix tree is written; see art.h.
 */
#ifndef _WORT_ART_COPY_H
#define _WORT_ART_COPY_H

#include "art_map.h"

/**
 * art_pair_write() - Write a new N7 with two entries
 * @op: The operation.
 * @line: The node, of whose content nothing is known.
 * @a: One entry.
 * @b: The other.
 *
 * Does not flush.  Makes no call, so that a fast path keeps its registers.
 *
 * Context: Any context.
 */
static __always_inline void
art_pair_write(struct wort_op *op, struct wort_media_art_line __pmem *line,
	       struct art_entry a, struct art_entry b)
{
	u32 slot;

	wort_pm_store(op, &line->map,
		      art_map_with(art_map_with(0, 0, a.byte), 1, b.byte));
	wort_pm_store(op, &line->slot[0], a.link);
	wort_pm_store(op, &line->slot[1], b.link);
	for (slot = 2; slot < WORT_MEDIA_ART_LINE_SLOTS; slot++)
		wort_pm_store(op, &line->slot[slot], 0);
}

/**
 * art_lines_write() - Write a new node that is no N256
 * @op: The operation.
 * @media: The node, of whose content nothing is known.
 * @kind: Its kind, whose lines have room for the entries.
 * @list: The entries.
 * @words: The node that they are from.
 *
 * As art_pair_write().
 *
 * Context: Any context.
 */
static __always_inline void art_lines_write(struct wort_op *op,
					    void __pmem *media, u32 kind,
					    const struct art_entries *list,
					    const __le64 __pmem *words)
{
	struct wort_media_art_line __pmem *line = media;
	u64 map[WORT_MEDIA_ART_LINES_MAX] = { };
	u32 i, at, slot;

	for (i = 0; i < list->nr; i++) {
		at = art_line_of(kind, list->byte[i]);
		slot = __ffs(~art_line_used(map[at]));
		map[at] = art_map_with(map[at], slot, list->byte[i]);
		wort_pm_store(op, &line[at].slot[slot],
			      art_entries_link(list, i, words));
	}
	for (at = 0; at < art_lines(kind); at++) {
		slot = __ffs(~art_line_used(map[at]));
		for (; slot < WORT_MEDIA_ART_LINE_SLOTS; slot++)
			wort_pm_store(op, &line[at].slot[slot], 0);
		wort_pm_store(op, &line[at].map, map[at]);
	}
}

#endif /* _WORT_ART_COPY_H */
