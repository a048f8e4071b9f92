// SPDX-License-Identifier: GPL-2.0-only
/*
 * Adaptive radix trees in the image fuzzer.
 */
#include <string.h>

#include <linux/wort_format_art.h>

#include "radix_fuzz.h"

static void list_slots(struct base *base, u64 off, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		art_list(base, off + i * sizeof(__le64));
}

/* The words of its maps, and its slots. */
static void list_node(struct base *base, u64 off, u64 kind)
{
	u64 i;

	if (kind == WORT_MEDIA_ART_KIND_N256)
		list_slots(base, off, 256);
	if (kind >= WORT_MEDIA_ART_KIND_N256)
		return;
	for (i = 0; i < 1U << (kind - WORT_MEDIA_ART_KIND_N7); i++) {
		base_add_range(base, WORD_VALUE, off, 8);
		list_slots(base, off + offsetof(struct wort_media_art_line, slot),
			   WORT_MEDIA_ART_LINE_SLOTS);
		off += sizeof(struct wort_media_art_line);
	}
}

/* A slot and all that it refers to. */
void art_list(struct base *base, u64 slot)
{
	u64 link = base_get(base, slot), off = link & WORT_MEDIA_LINK_OFF_MASK;
	u64 kind = link & WORT_MEDIA_LINK_KIND_MASK;

	base_add(base, link ? WORD_LINK : WORD_NONE, slot);
	if (kind == WORT_MEDIA_LINK_RECORD)
		radix_list_leaf(base, off);
	else if (link)
		list_node(base, off, kind);
}
