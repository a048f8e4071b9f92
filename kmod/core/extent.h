/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Extents in DRAM: for the files of the allocator only.
 *
 * The state of extents is kept in groups.  A group is read from the extent
 * table when something in it is first accessed, or by the background.  It has
 * an array of its extents only if one of them is not free.  An extent that is
 * partly used, or in which something is being freed, has its bitmaps in a
 * struct wort_slots:
 *
 *	wort_alloc.groups -> wort_group -> wort_extent[512] -> wort_slots
 *	                      |              16 bytes each      bitmaps
 *	                      +-> NULL: not read, or all free
 *
 * An open extent without slots is full, and nothing in it was freed; an unknown
 * extent without slots has no marks.
 */
#ifndef _WORT_EXTENT_H
#define _WORT_EXTENT_H

#include "alloc.h"

/*
 * Groups that an operation reads at most in search of space: it waits for the
 * background to read the rest, killably and without the lock.
 */
#define WORT_GROUPS_READ_MAX	256

/* which bitmap of an extent */
#define WORT_BITS_USED		0
#define WORT_BITS_FREED		1	/* freed, of those used */
#define WORT_BITS_WAITING	2	/* freed and in a grace period, of these */
#define WORT_BITS_NODES		2	/* of an unknown extent: see alloc_walk.c */
#define WORT_NR_BITS		3

/**
 * struct wort_slot_word - A word of each bitmap
 * @bits: of the same BITS_PER_LONG slots.  They lie side by side, since a free
 *	looks at all of them
 */
struct wort_slot_word {
	unsigned long bits[WORT_NR_BITS];
};

/**
 * struct wort_slots - What is known of the slots of an extent
 * @freeing: in wort_alloc.freeing, when it has slots to give back
 * @nr: number of the extent
 * @slots: number of slots in it; a run is one slot
 * @part_shift: log2 of the words of a bitmap that make a part, of which there
 *	are 64 at most
 * @freed_parts: a bit for each part of the second bitmap that is perhaps not
 *	all zeroes, if the extent is in wort_alloc.freeing
 * @waiting_parts: the same of the third bitmap, while it waits
 * @waiting: in a list of wort_alloc_reclaim()
 * @partial: in wort_alloc.partial, when open with a free slot
 * @nr_used: bits in the first bitmap
 * @hint: no slot below it is free
 * @zeroed: wort_alloc_reclaim() has zeroed the slots that it gives back
 * @dirty: a bit for each slot that is perhaps not durably zero; NULL: no
 *	operation has asked for zero slots of the extent
 * @word: the bitmaps by slot
 */
struct wort_slots {
	/* what a free looks at */
	struct list_head freeing;
	u32 nr;
	u32 slots;
	u32 part_shift;
	u64 freed_parts;
	u64 waiting_parts;
	struct list_head waiting;
	struct list_head partial;
	u32 nr_used;
	u32 hint;
	bool zeroed;
	unsigned long *dirty;
	struct wort_slot_word word[];
};

/* How an operation allocates DRAM for what it reserves. */
static inline gfp_t wort_op_gfp(const struct wort_op *op)
{
	return op->purse ? GFP_NOIO | __GFP_NOFAIL : GFP_NOIO;
}

static inline u64 wort_extent_size(const struct wort_alloc *alloc)
{
	return 1ULL << alloc->geo.extent_shift;
}

static inline u64 wort_extent_off(const struct wort_alloc *alloc, u32 nr)
{
	return alloc->geo.data_off + ((u64)nr << alloc->geo.extent_shift);
}

/* Objects above a quarter of an extent take whole extents. */
static inline bool wort_is_run(const struct wort_alloc *alloc, u64 size)
{
	return size > wort_extent_size(alloc) / 4;
}

static inline u32 wort_run_of(const struct wort_alloc *alloc, u64 size)
{
	return (size + wort_extent_size(alloc) - 1) >> alloc->geo.extent_shift;
}

/* Extents that it covers. */
static inline u32 wort_extent_span(const struct wort_extent *extent)
{
	return extent->run ?: 1;
}

/* Bytes of a slot; the slot of a run is the whole run. */
static inline u64 wort_slot_size(const struct wort_alloc *alloc,
				 const struct wort_extent *extent)
{
	if (extent->class < WORT_NR_CLASSES)
		return wort_class_size(extent->class);
	return extent->run * wort_extent_size(alloc);
}

static inline bool wort_slot_test(const struct wort_slots *slots, u32 which,
				  u32 slot)
{
	return slots->word[BIT_WORD(slot)].bits[which] & BIT_MASK(slot);
}

static inline void wort_slot_set(struct wort_slots *slots, u32 which, u32 slot)
{
	slots->word[BIT_WORD(slot)].bits[which] |= BIT_MASK(slot);
}

static inline void wort_slot_clear(struct wort_slots *slots, u32 which,
				   u32 slot)
{
	slots->word[BIT_WORD(slot)].bits[which] &= ~BIT_MASK(slot);
}

/* The part of a bitmap that has the bit of a slot. */
static inline u32 wort_slot_part(const struct wort_slots *slots, u32 slot)
{
	return BIT_WORD(slot) >> slots->part_shift;
}

static inline u64 wort_slot_off(const struct wort_alloc *alloc,
				const struct wort_slots *slots, u32 slot)
{
	const struct wort_extent *extent = wort_extent_at(alloc, slots->nr);

	return wort_extent_off(alloc, slots->nr) +
	       slot * wort_slot_size(alloc, extent);
}

/* Is there an array of extents for the group of an extent? */
static inline bool wort_extent_made(const struct wort_alloc *alloc, u32 nr)
{
	return alloc->groups[nr / WORT_GROUP_EXTENTS].extents;
}

static inline bool wort_extent_in_use(const struct wort_extent *extent)
{
	return extent->state == WORT_EXTENT_OPEN ||
	       extent->state == WORT_EXTENT_OPENING;
}

/* alloc.c */
u32 wort_slot_at(u32 class, u32 in_extent);
u32 wort_slots_of(const struct wort_alloc *alloc,
		  const struct wort_extent *extent);
struct wort_slots *wort_slots_need(struct wort_alloc *alloc, u32 nr, gfp_t gfp);
void wort_slots_free(struct wort_slots *slots);
void wort_slots_take(struct wort_alloc *alloc, struct wort_slots *slots,
		     u32 word, unsigned long taken, u32 hint);
u32 wort_slots_beyond_kept(const struct wort_alloc *alloc, u32 class);
bool wort_may_take_slot(const struct wort_op *op, u32 class);
int wort_extent_open(struct wort_op *op, u32 class, u32 run, u32 *out);
void wort_slots_drop(struct wort_alloc *alloc, u32 nr);
void wort_slots_drop_full(struct wort_alloc *alloc, struct wort_slots *slots);
int wort_extent_find(struct wort_op *op, u64 off, u64 size, u32 *nr, u32 *slot);
void wort_extent_close(struct wort_alloc *alloc, u32 nr);
void wort_extent_clear(struct wort_op *op, u32 nr);
void wort_extent_untake(struct wort_alloc *alloc, u64 off, bool zero);
void wort_extent_take_word(struct wort_alloc *alloc, struct wort_slots *slots,
			   u32 max, struct wort_cached *cached);
struct wort_slots *wort_partial_find(struct wort_alloc *alloc,
				     struct list_head *list);
void wort_partial_add(struct wort_alloc *alloc, struct wort_slots *slots,
		      bool last);
void wort_partial_del(struct wort_alloc *alloc, struct wort_slots *slots);
bool wort_slots_freed(struct wort_alloc *alloc, struct wort_slots *slots,
		      u32 n);

/* alloc_table.c */
bool wort_in_table(const struct wort_alloc *alloc, u32 first, u32 end);
int wort_groups_init(struct wort_alloc *alloc);
void wort_groups_destroy(struct wort_alloc *alloc);
int wort_group_read(struct wort_op *op, u32 group);
int wort_group_make(struct wort_op *op, u32 group);
void wort_extent_set_class(struct wort_extent *extent, u32 class, u32 run);
void wort_table_store(struct wort_op *op, u32 nr);
void wort_table_clear(struct wort_op *op, u32 nr);
bool wort_table_known_bad(const struct wort_alloc *alloc, u32 nr);
bool wort_table_is_bad(struct wort_op *op, u32 nr);

/* alloc_zero.c */
int wort_slots_track(struct wort_slots *slots, gfp_t gfp);
void wort_slots_zero_waiting(struct wort_op *op, struct list_head *batch);

/* marks.c */
void wort_marks_note(struct wort_marks *marks, u32 nr, u32 word,
		     unsigned long taken);
void wort_marks_keep(struct wort_marks *marks, u32 nr, u32 slot);
bool wort_marks_any(const struct wort_marks *marks, u32 nr);
void wort_marks_forget(struct wort_marks *marks, u32 nr, u32 n);

/*
 * Both figures are looked at without the lock, by whoever asks whether the
 * background has work or whether trying again makes sense: one that is about
 * to change answers as if it had been asked a moment earlier.  What comes back
 * is counted before it is waited for no longer, and who asks looks at the count
 * last.  Otherwise an operation could be told that no space is left in the
 * moment in which it comes.
 */
static inline void wort_alloc_freed(struct wort_alloc *alloc, u64 bytes)
{
	/* pairs with the acquire in wort_alloc_freeing() */
	smp_store_release(&alloc->freeing_bytes, alloc->freeing_bytes + bytes);
}

static inline void wort_alloc_released(struct wort_alloc *alloc)
{
	WRITE_ONCE(alloc->released, alloc->released + 1);
}

#endif /* _WORT_EXTENT_H */
