/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Free slots of the nodes of an adaptive radix tree, and how a byte gets one; see
 * art.h.
 */
#ifndef _WORT_ART_MAP_H
#define _WORT_ART_MAP_H

#include "art.h"

#define ART_N4_SLOTS	ARRAY_SIZE(((struct wort_media_art_n4 *)0)->slot)
#define ART_N16_SLOTS	ARRAY_SIZE(((struct wort_media_art_n16 *)0)->slot)
#define ART_N48_SLOTS	ARRAY_SIZE(((struct wort_media_art_n48 *)0)->slot)
#define ART_N48_WORDS	ARRAY_SIZE(((struct wort_media_art_n48 *)0)->index)

/* The slots of an N4 or an N16 that have a byte: a bit for each. */
static __always_inline u32 art_small_used(const struct art_node *node)
{
	u64 map = wort_pm_load((const __le64 __pmem *)node->media);

	return node->kind == WORT_MEDIA_ART_KIND_N4 ? art_n4_used(map) : (u16)map;
}

static inline const __le64 __pmem *art_small_slots(const struct art_node *node)
{
	const struct wort_media_art_n16 __pmem *n16 = node->media;
	const struct wort_media_art_n4 __pmem *n4 = node->media;

	return node->kind == WORT_MEDIA_ART_KIND_N4 ? n4->slot : n16->slot;
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

/* The first slot that has no byte and holds 0; @nr: there is none. */
static inline u32 art_free_slot(u64 used, const __le64 __pmem *slots, u32 nr)
{
	u64 free = ~used & GENMASK_ULL(nr - 1, 0);

	while (free && wort_pm_load(&slots[__ffs64(free)]))
		free &= free - 1;
	return free ? __ffs64(free) : nr;
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
	return art_free_slot(art_n48_used(n48), n48->slot, ART_N48_SLOTS);
}

/*
 * Begin to load what a mapping will look at, and the line of the slot that the
 * byte gets, if no entry was deleted.
 */
static inline void art_map_prefetch(const struct art_node *node)
{
	const struct wort_media_art_n48 __pmem *n48 = node->media;
	u32 i;

	if (node->kind <= WORT_MEDIA_ART_KIND_N16) {
		wort_pm_prefetch_store(&art_small_slots(node)[hweight64(art_small_used(node))]);
		return;
	}
	for (i = 0; i < sizeof(*n48); i += WORT_LINE)
		wort_pm_prefetch_store(node->media + i);
}

/* Slots of an N4 or an N16. */
static __always_inline u32 art_small_nr(u32 kind)
{
	return kind == WORT_MEDIA_ART_KIND_N4 ? ART_N4_SLOTS : ART_N16_SLOTS;
}

static __always_inline u32 art_small_free(const struct art_node *node)
{
	return art_free_slot(art_small_used(node), art_small_slots(node),
			 art_small_nr(node->kind));
}

/* Can an N4 or an N16 map one more byte? */
static __always_inline bool art_small_maps(const struct art_node *node)
{
	return art_small_free(node) < art_small_nr(node->kind);
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

static __always_inline struct art_mapped art_n4_map(struct wort_op *op,
						    const struct art_node *node, u32 byte)
{
	struct wort_media_art_n4 __pmem *n4 = node->media;
	u32 slot = art_small_free(node);
	u64 map = wort_pm_load(&n4->map);

	if (slot == ART_N4_SLOTS)
		return (struct art_mapped){ };
	map &= ~(0xffULL << 8 * slot);
	map |= BIT_ULL(WORT_MEDIA_ART_N4_USED_SHIFT + slot) | (u64)byte << 8 * slot;
	wort_pm_store_release(op, &n4->map, map);
	return (struct art_mapped){ &n4->slot[slot], &n4->map };
}

/*
 * The byte is stored before its bit.  Both are in one line, which keeps the
 * order of the two stores.
 */
static __always_inline struct art_mapped art_n16_map(struct wort_op *op,
						     const struct art_node *node, u32 byte)
{
	struct wort_media_art_n16 __pmem *n16 = node->media;
	u32 slot = art_small_free(node), shift = 8 * (slot % 8);
	__le64 __pmem *bytes = &n16->byte[slot / 8];
	u64 map = wort_pm_load(&n16->map);

	if (slot == ART_N16_SLOTS)
		return (struct art_mapped){ };
	wort_pm_store_release(op, bytes, (wort_pm_load(bytes) & ~(0xffULL << shift)) |
					 (u64)byte << shift);
	wort_pm_store_release(op, &n16->map, map | BIT_ULL(slot));
	return (struct art_mapped){ &n16->slot[slot], &n16->map };
}

static __always_inline struct art_mapped art_n48_map(struct wort_op *op,
						     const struct art_node *node, u32 byte)
{
	struct wort_media_art_n48 __pmem *n48 = node->media;
	__le64 __pmem *index = &n48->index[byte / 8];
	u32 slot = art_n48_free(n48);

	if (slot == ART_N48_SLOTS)
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
	switch (node->kind) {
	case WORT_MEDIA_ART_KIND_N4:
		return art_n4_map(op, node, byte);
	case WORT_MEDIA_ART_KIND_N16:
		return art_n16_map(op, node, byte);
	default:
		return art_n48_map(op, node, byte);
	}
}

#endif /* _WORT_ART_MAP_H */
