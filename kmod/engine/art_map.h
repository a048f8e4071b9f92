/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Free slots of the nodes of an adaptive radix tree, and how a byte gets one; see
 * art.h.
 */
#ifndef _WORT_ART_MAP_H
#define _WORT_ART_MAP_H

#include "art.h"

/*
 * Slot i of line n of a small node has the number 8 * n + i.  It is the word number + 1
 * of the node.
 */
#define ART_LINE_WORDS	(WORT_LINE / sizeof(__le64))
#define ART_SMALL_WORDS	(WORT_MEDIA_ART_LINES_MAX * ART_LINE_WORDS)
#define ART_SMALL_SLOTS	(WORT_MEDIA_ART_LINES_MAX * WORT_MEDIA_ART_LINE_SLOTS)
#define ART_N48_SLOTS	ARRAY_SIZE(((struct wort_media_art_n48 *)0)->slot)
#define ART_N48_WORDS	ARRAY_SIZE(((struct wort_media_art_n48 *)0)->index)

/* The kind of a small node with room for so many entries. */
static __always_inline u32 art_small_kind(u32 entries)
{
	return WORT_MEDIA_ART_KIND_N7 + (entries - 1) / WORT_MEDIA_ART_LINE_SLOTS;
}

/* The slots of a small node, a bit for each number. */
static __always_inline u32 art_small_all(u32 kind)
{
	return 0x7f7f7fU & GENMASK_ULL((art_last_line(kind) + 1) * 8 - 1, 0);
}

/* The slots of a small node that have a byte: a bit for each. */
static __always_inline u32 art_small_used(const struct art_node *node)
{
	const struct wort_media_art_line __pmem *line = node->media;
	u32 last = art_last_line(node->kind), middle = min(last, 1U);

	return art_line_used(wort_pm_load(&line->map)) |
	       art_line_used(wort_pm_load(&line[middle].map)) << 8 * middle |
	       art_line_used(wort_pm_load(&line[last].map)) << 8 * last;
}

/* The slot with number 0. */
static inline __le64 __pmem *art_small_slots(void __pmem *media)
{
	return (__le64 __pmem *)media + 1;
}

/* The bits of a map that give @byte the slot @slot of its line. */
static __always_inline u64 art_line_entry(u32 slot, u32 byte)
{
	return BIT_ULL(WORT_MEDIA_ART_USED_SHIFT + slot) | (u64)byte << 8 * slot;
}

/* The slots of an N48 that have a byte: a bit for each. */
static inline u64 art_n48_used(const struct wort_media_art_n48 __pmem *n48)
{
	u64 used = 0, word;
	u32 i, nr;

	for (i = 0; i < ART_N48_WORDS; i++)
		for (word = wort_pm_load(&n48->index[i]); word; word >>= 8) {
			nr = word & 0xff;
			used |= nr ? BIT_ULL((nr - 1) % 64) : 0;
		}
	return used;
}

#define ART_NONE_FREE	64	/* the number of no slot */

/* The first of @slots that holds 0, or ART_NONE_FREE. */
static inline u32 art_free_slot(u64 slots, const __le64 __pmem *slot)
{
	while (slots && wort_pm_load(&slot[__ffs64(slots)]))
		slots &= slots - 1;
	return slots ? __ffs64(slots) : ART_NONE_FREE;
}

/* Has a slot of an N48 a byte? */
static inline bool art_n48_is_used(const struct wort_media_art_n48 __pmem *n48, u32 slot)
{
	const u64 ones = 0x0101010101010101ULL, pattern = (slot + 1) * ones;
	u64 found = 0, differ;
	u32 i;

	/* Subtracting 1 sets the high bit of a byte that is 0, and of none if none is. */
	for (i = 0; i < ART_N48_WORDS; i++) {
		differ = wort_pm_load(&n48->index[i]) ^ pattern;
		found |= (differ - ones) & ~differ;
	}
	return found & ones << 7;
}

/*
 * Slots get their bytes in order.  So a slot that holds 0 behind one that holds a
 * link is free, but for bytes whose entry was deleted, or not inserted before a
 * power cut: then all bytes are looked at.
 */
static inline u32 art_n48_free(const struct wort_media_art_n48 __pmem *n48)
{
	u32 slot = 0, step;

	for (step = 32; step; step /= 2)
		if (slot + step <= ART_N48_SLOTS && wort_pm_load(&n48->slot[slot + step - 1]))
			slot += step;
	if (slot < ART_N48_SLOTS && !art_n48_is_used(n48, slot))
		return slot;
	return art_free_slot(~art_n48_used(n48) & GENMASK_ULL(ART_N48_SLOTS - 1, 0),
			     n48->slot);
}

/* Begin to load what a mapping will look at. */
static inline void art_map_prefetch(const struct art_node *node)
{
	u32 end = art_node_size(node->kind), i;

	for (i = 0; i < end; i += WORT_LINE)
		wort_pm_prefetch_store(node->media + i);
}

static __always_inline u32 art_small_free(const struct art_node *node)
{
	return art_free_slot(~art_small_used(node) & art_small_all(node->kind),
			     art_small_slots(node->media));
}

/**
 * struct art_mapped - What a mapping gives a byte
 * @slot: a slot, which holds 0; NULL: there is none
 * @word: the word of the map that was stored
 */
struct art_mapped {
	__le64 __pmem *slot;
	__le64 __pmem *word;
};

static __always_inline struct art_mapped art_small_map(struct wort_op *op,
						       const struct art_node *node,
						       u32 byte)
{
	u32 slot = art_small_free(node), at = slot % ART_LINE_WORDS;
	struct wort_media_art_line __pmem *line = node->media;
	u64 map;

	if (slot == ART_NONE_FREE)
		return (struct art_mapped){ };
	line += slot / ART_LINE_WORDS;
	map = wort_pm_load(&line->map) & ~(0xffULL << 8 * at);
	wort_pm_store_release(op, &line->map, map | art_line_entry(at, byte));
	return (struct art_mapped){ &line->slot[at], &line->map };
}

static __always_inline struct art_mapped art_n48_map(struct wort_op *op,
						     const struct art_node *node, u32 byte)
{
	struct wort_media_art_n48 __pmem *n48 = node->media;
	__le64 __pmem *index = &n48->index[byte / 8];
	u32 slot = art_n48_free(n48);

	if (slot == ART_NONE_FREE)
		return (struct art_mapped){ };
	wort_pm_store_release(op, index,
			      wort_pm_load(index) | (u64)(slot + 1) << 8 * (byte % 8));
	return (struct art_mapped){ &n48->slot[slot], index };
}

/**
 * art_node_map() - Map a byte to a free slot
 * @op: The operation, which holds the lock of the node.
 * @node: The node, in the tree.
 * @byte: The byte, which has no slot.
 *
 * The caller flushes the word of the map before its fence, unless the word is in the
 * line of the slot, which it flushes anyway.  Nothing rests on the word before the slot
 * holds a link.
 *
 * Context: Any context.
 * Return: The slot and the word.
 */
static __always_inline struct art_mapped art_node_map(struct wort_op *op,
						      const struct art_node *node, u32 byte)
{
	return art_is_small(node->kind) ? art_small_map(op, node, byte) :
					  art_n48_map(op, node, byte);
}

#endif /* _WORT_ART_MAP_H */
