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

/* The slots of a small node that have a byte, the first ones: others may hold anything. */
static u32 used_slots(struct base *base, u64 off, u32 shift)
{
	u64 map = base_get(base, off) >> shift;
	u32 nr = 0;

	for (; nr < 16 && map >> nr & 1; nr++)
		;
	return nr;
}

/* The words of its map, and its slots. */
static void list_node(struct base *base, u64 off, u64 kind)
{
	switch (kind) {
	case WORT_MEDIA_ART_KIND_N4:
		base_add_range(base, WORD_VALUE, off, 8);
		list_slots(base, off + offsetof(struct wort_media_art_n4, slot),
			   used_slots(base, off, WORT_MEDIA_ART_N4_USED_SHIFT));
		break;
	case WORT_MEDIA_ART_KIND_N16:
		base_add_range(base, WORD_VALUE, off, 24);
		list_slots(base, off + offsetof(struct wort_media_art_n16, slot),
			   used_slots(base, off, 0));
		break;
	case WORT_MEDIA_ART_KIND_N48:
		base_add_range(base, WORD_VALUE, off, 256);
		list_slots(base, off + offsetof(struct wort_media_art_n48, slot), 48);
		break;
	case WORT_MEDIA_ART_KIND_N256:
		list_slots(base, off, 256);
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
