// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Size classes, extents, reservations.
 *
 * Crash states of the extent table.  A word gets a class when a free extent is
 * opened, and is durable before the first link into the extent is stored, since
 * it rides on the fence that stands before every publish.
 *
 *	word	link
 *	old	old	Nothing happened.  The extent is what it was: free, or
 *			open under a former class with nothing owned in it,
 *			which the walk finds out.
 *	new	old	Open with nothing owned in it: the same.
 *	new	new	Done.
 *	old	new	Cannot be.
 *
 * It is cleared in the background, some time after the last object in the
 * extent was given back; old and new mean the same.
 *
 * A second operation that takes from an extent before the first one's fence
 * has passed stores and flushes the word again: no fence waits for the flush
 * of another processor.
 */
#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include <trace/events/wort.h>

#include "extent.h"
#include "pmem.h"
#include "purse.h"

/*
 * A slot is 1 to 16 units of a power of two.  With a class of 48 bytes behind
 * that of 32 each eight classes would have the same unit.
 */
static u32 class_step(u32 class)
{
	return class + (class > 1);
}

static u32 class_shift(u32 class)
{
	u32 step = class_step(class);

	return step < 8 ? 4 : step / 8 + 3;
}

static u32 class_units(u32 class)
{
	u32 step = class_step(class);

	return step < 8 ? step + 1 : step % 8 + 9;
}

/**
 * wort_class_size() - Bytes of a slot
 * @class: A size class.
 *
 * Return: Its slot size.
 */
u32 wort_class_size(u32 class)
{
	return class_units(class) << class_shift(class);
}

/* Reciprocals of 1 to 16, rounded up: exact for offsets in an extent. */
#define RECIPROCAL(n) DIV_ROUND_UP(1ULL << 32, n)

static const u64 reciprocals[] = {
	RECIPROCAL(1), RECIPROCAL(2), RECIPROCAL(3), RECIPROCAL(4),
	RECIPROCAL(5), RECIPROCAL(6), RECIPROCAL(7), RECIPROCAL(8),
	RECIPROCAL(9), RECIPROCAL(10), RECIPROCAL(11), RECIPROCAL(12),
	RECIPROCAL(13), RECIPROCAL(14), RECIPROCAL(15), RECIPROCAL(16),
};

/*
 * The slot that a byte of an extent is in, or how many slots are before its
 * end.
 */
u32 wort_slot_at(u32 class, u32 in_extent)
{
	u64 units = in_extent >> class_shift(class);

	return units * reciprocals[class_units(class) - 1] >> 32;
}

/* Slots that its class makes of an extent: a run is one. */
u32 wort_slots_of(const struct wort_alloc *alloc,
		  const struct wort_extent *extent)
{
	if (extent->class < WORT_NR_CLASSES)
		return wort_slot_at(extent->class, wort_extent_size(alloc));
	return extent->class != WORT_CLASS_NONE;
}

/**
 * wort_alloc_footprint() - Bytes that an object takes from the pool
 * @alloc: The allocator.
 * @size: Bytes of the object.
 *
 * Return: The slot size of its class, or the size of its run.
 */
u64 wort_alloc_footprint(const struct wort_alloc *alloc, u64 size)
{
	if (wort_is_run(alloc, size))
		return wort_run_of(alloc, size) * wort_extent_size(alloc);
	return wort_class_size(wort_class_of(size));
}

static struct wort_slots *slots_alloc(const struct wort_alloc *alloc, u32 nr,
				      gfp_t gfp)
{
	u32 n = wort_slots_of(alloc, wort_extent_at(alloc, nr));
	struct wort_slots *slots;

	slots = kvzalloc(struct_size(slots, word, BITS_TO_LONGS(n)), gfp);
	if (!slots)
		return NULL;
	INIT_LIST_HEAD(&slots->partial);
	INIT_LIST_HEAD(&slots->freeing);
	INIT_LIST_HEAD(&slots->waiting);
	slots->nr = nr;
	slots->slots = n;
	slots->part_shift = order_base_2(DIV_ROUND_UP(BITS_TO_LONGS(n), 64));
	if (wort_extent_at(alloc, nr)->zeroed && wort_slots_track(slots, gfp)) {
		kvfree(slots);
		return NULL;
	}
	return slots;
}

/**
 * wort_slots_free() - Free the slots of an extent
 * @slots: Slots in no list, or NULL.
 *
 * Context: May sleep.
 */
void wort_slots_free(struct wort_slots *slots)
{
	if (slots)
		kvfree(slots->dirty);
	kvfree(slots);
}

/* All slots are used. */
static void fill_slots(struct wort_slots *slots)
{
	u32 word, words = BITS_TO_LONGS(slots->slots);

	for (word = 0; word < words; word++)
		slots->word[word].bits[WORT_BITS_USED] = ~0UL;
	slots->word[words - 1].bits[WORT_BITS_USED] =
		BITMAP_LAST_WORD_MASK(slots->slots);
	slots->nr_used = slots->slots;
	slots->hint = slots->slots;
}

/**
 * wort_slots_need() - The slots of an extent
 * @alloc: The allocator.
 * @nr: An extent that is open or unknown, and has a class.
 * @gfp: How to allocate them if there are none.
 *
 * Without them an open extent is full, and an unknown one has no marks.
 *
 * Context: May sleep.  Holds wort_alloc.lock.
 * Return: Them; NULL if there is no memory.
 */
struct wort_slots *wort_slots_need(struct wort_alloc *alloc, u32 nr, gfp_t gfp)
{
	struct wort_extent *extent = wort_extent_at(alloc, nr);
	struct wort_slots *slots = extent->slots;

	if (slots)
		return slots;
	slots = slots_alloc(alloc, nr, gfp);
	if (slots && wort_extent_in_use(extent))
		fill_slots(slots);
	/* wort_alloc_prefetch() loads it at any time. */
	WRITE_ONCE(extent->slots, slots);
	return slots;
}

/**
 * wort_partial_add() - Let slots of an extent be taken
 * @alloc: The allocator.
 * @slots: Those of an open extent with a free one, which is in no list of such
 *	extents.
 * @last: Others are taken first.
 *
 * Context: Holds wort_alloc.lock.
 */
void wort_partial_add(struct wort_alloc *alloc, struct wort_slots *slots,
		      bool last)
{
	u32 class = wort_extent_at(alloc, slots->nr)->class;
	struct list_head *list = slots->dirty ? &alloc->zeroed[class] :
						&alloc->partial[class];

	if (last)
		list_add_tail(&slots->partial, list);
	else
		list_add(&slots->partial, list);
	alloc->nr_spare[class] += slots->slots - slots->nr_used;
}

/**
 * wort_partial_del() - Let no slot of an extent be taken any more
 * @alloc: The allocator.
 * @slots: Those of an extent; nothing is done if none could be taken.
 *
 * Context: Holds wort_alloc.lock.
 */
void wort_partial_del(struct wort_alloc *alloc, struct wort_slots *slots)
{
	u32 class = wort_extent_at(alloc, slots->nr)->class;

	if (list_empty(&slots->partial))
		return;
	list_del_init(&slots->partial);
	alloc->nr_spare[class] -= slots->slots - slots->nr_used;
}

/**
 * wort_slots_freed() - Slots of an open extent became free
 * @alloc: The allocator.
 * @slots: Its slots, whose bits are cleared.
 * @n: How many.
 *
 * Context: Holds wort_alloc.lock.
 * Return: False, and nothing is done, if no other is used: the extent is to be
 * closed.
 */
bool wort_slots_freed(struct wort_alloc *alloc, struct wort_slots *slots, u32 n)
{
	bool listed = !list_empty(&slots->partial);

	if (slots->nr_used == n)
		return false;
	slots->nr_used -= n;
	if (listed)
		alloc->nr_spare[wort_extent_at(alloc, slots->nr)->class] += n;
	else
		wort_partial_add(alloc, slots, true);
	return true;
}

/* Forget the slots of an extent. */
void wort_slots_drop(struct wort_alloc *alloc, u32 nr)
{
	struct wort_extent *extent = wort_extent_at(alloc, nr);
	struct wort_slots *slots = extent->slots;

	if (!slots)
		return;
	wort_partial_del(alloc, slots);
	list_del(&slots->freeing);
	wort_slots_free(slots);
	WRITE_ONCE(extent->slots, NULL);
}

/* Nothing needs to be remembered of an open extent that is full. */
void wort_slots_drop_full(struct wort_alloc *alloc, struct wort_slots *slots)
{
	if (slots->nr_used == slots->slots && list_empty(&slots->freeing) &&
	    list_empty(&slots->waiting))
		wort_slots_drop(alloc, slots->nr);
}

/**
 * wort_alloc_init() - Set up the allocator of a pool
 * @op: An operation on the region.
 * @alloc: The allocator, zeroed.
 * @region: Memory of the pool.
 * @geo: Where extents lie, verified by the caller to be inside the region.
 * @locks: Locks of the pool, for their grace periods.
 *
 * Reads nothing of the extent table: wort_alloc_read_table() does.  The walk
 * begins: until wort_alloc_walk_end() only extents that were free are opened.
 *
 * Context: May sleep.
 * Return: 0 or -ENOMEM; wort_alloc_destroy() is due in any case.
 */
int wort_alloc_init(struct wort_op *op, struct wort_alloc *alloc,
		    struct wort_region *region,
		    const struct wort_geometry *geo, struct wort_locks *locks)
{
	u32 class;

	alloc->region = region;
	alloc->geo = *geo;
	alloc->locks = locks;
	alloc->walking = true;
	alloc->reserve = max(2U, geo->nr_extents / 64);
	mutex_init(&alloc->lock);
	INIT_LIST_HEAD(&alloc->freeing);
	for (class = 0; class < WORT_NR_CLASSES; class++) {
		INIT_LIST_HEAD(&alloc->partial[class]);
		INIT_LIST_HEAD(&alloc->zeroed[class]);
	}
	alloc->used_bytes = wort_alloc_table_bytes(alloc);
	alloc->open_bytes = alloc->used_bytes;
	if (wort_groups_init(alloc) || wort_cache_init(alloc))
		return -ENOMEM;
	return 0;
}

/**
 * wort_alloc_destroy() - Forget all about a pool
 * @alloc: An allocator, or one whose wort_alloc_init() failed.
 *
 * Context: May sleep.  Nobody uses the allocator any more.
 */
void wort_alloc_destroy(struct wort_alloc *alloc)
{
	wort_groups_destroy(alloc);
	wort_cache_destroy(alloc);
	mutex_destroy(&alloc->lock);
}

/*
 * Does it, or its word of the table, touch a page known to be bad?  Then
 * nothing new is put there.
 */
static bool is_bad(const struct wort_alloc *alloc, u32 nr)
{
	return wort_region_any_bad(alloc->region) &&
	       (wort_table_known_bad(alloc, nr) ||
		wort_region_bad(alloc->region, wort_extent_off(alloc, nr),
				wort_extent_size(alloc)));
}

/* A free extent gets another state, or one becomes free. */
static void set_state(struct wort_alloc *alloc, u32 nr, u8 state)
{
	int more = state == WORT_EXTENT_FREE ? 1 : -1;

	WRITE_ONCE(wort_extent_at(alloc, nr)->state, state);
	alloc->groups[nr / WORT_GROUP_EXTENTS].nr_free += more;
	alloc->nr_free += more;
}

static int read_group(struct wort_op *op, u32 group, u32 *nr_read)
{
	if (!op->alloc->groups[group].read && ++*nr_read > WORT_GROUPS_READ_MAX)
		return -ENOSPC;
	return wort_group_read(op, group);
}

/* Read a group, and make its array if something in it is free. */
static int touch_group(struct wort_op *op, u32 group, u32 *nr_read)
{
	struct wort_group *g = &op->alloc->groups[group];
	int err = read_group(op, group, nr_read);

	if (!err && g->nr_free && !g->extents)
		err = wort_group_make(op, group);
	return err;
}

/* Move on to an extent that is free and not bad. */
static int next_free(struct wort_op *op, u32 *nr, u32 *nr_read)
{
	struct wort_alloc *alloc = op->alloc;
	int err;

	while (*nr < alloc->geo.nr_extents) {
		u32 group = *nr / WORT_GROUP_EXTENTS;

		err = touch_group(op, group, nr_read);
		if (err)
			return err;
		if (!alloc->groups[group].nr_free) {
			*nr = (group + 1) * WORT_GROUP_EXTENTS;
			continue;
		}
		if (wort_extent_at(alloc, *nr)->state == WORT_EXTENT_FREE) {
			if (!is_bad(alloc, *nr))
				return 0;
			set_state(alloc, *nr, WORT_EXTENT_BAD);
		}
		++*nr;
	}
	return -ENOSPC;
}

/*
 * Free extents that are kept for classes of which too few slots are free: one
 * for each, but for @class, which is about to get one.
 */
static u32 kept_extents(const struct wort_alloc *alloc, u32 class)
{
	u32 nr = alloc->kept_runs.slots, other;

	for (other = 0; other < WORT_NR_CLASSES; other++)
		if (other != class)
			nr += alloc->nr_spare[other] < alloc->kept[other].slots;
	return nr;
}

/* Free extents that an operation leaves alone when it opens one for a class. */
static u32 extents_to_leave(const struct wort_op *op, u32 class)
{
	const struct wort_alloc *alloc = op->alloc;

	if (op->must_free)
		return 0;
	return kept_extents(alloc, class) +
	       (alloc->walking ? 0 : alloc->reserve);
}

/*
 * While the walk runs the table is perhaps not read as a whole.  Then the free
 * extents that are known of may be too few, and groups are read until there are
 * enough.
 */
static int free_enough(struct wort_op *op, u32 nr, u32 *nr_read)
{
	struct wort_alloc *alloc = op->alloc;
	u32 group;
	int err = 0;

	for (group = 0; alloc->nr_free < nr && alloc->nr_unread && !err &&
	     group < alloc->nr_groups; group++)
		err = read_group(op, group, nr_read);
	return err ? err : alloc->nr_free < nr ? -ENOSPC : 0;
}

/*
 * Free extents in a row.  None is given up below the reserve, but while the
 * walk runs, nor those that are kept for operations that make room.
 */
static int find_free(struct wort_op *op, u32 class, u32 run, u32 *out)
{
	struct wort_alloc *alloc = op->alloc;
	u32 nr = alloc->first_free, nr_read = 0, first, next;
	u32 enough = extents_to_leave(op, class) + run;
	int err = free_enough(op, enough, &nr_read);

	if (err)
		return err;
	err = next_free(op, &nr, &nr_read);
	alloc->first_free = nr;
	first = nr;
	while (!err && nr - first + 1 < run) {
		next = ++nr;
		err = next_free(op, &nr, &nr_read);
		if (nr != next)
			first = nr;
	}
	/* Bad extents may have been found on the way. */
	*out = first;
	return err ? err : free_enough(op, enough, &nr_read);
}

/**
 * wort_alloc_has_extents() - Are so many extents free?
 * @op: An operation.
 * @nr: How many.
 *
 * Reads as much of the extent table as it takes to know.
 *
 * Context: May sleep.  Takes wort_alloc.lock.
 * Return: False if there are fewer, or if not all that are free are known of.
 */
bool wort_alloc_has_extents(struct wort_op *op, u32 nr)
{
	u32 nr_read = 0;
	int err;

	mutex_lock(&op->alloc->lock);
	err = free_enough(op, nr, &nr_read);
	mutex_unlock(&op->alloc->lock);
	return !err;
}

/**
 * wort_extent_open() - Open free extents for a class or as a run
 * @op: The operation.
 * @class: The class, or WORT_CLASS_RUN.
 * @run: Extents in the run, or 0.
 * @out: Told: the first of them.
 *
 * Nothing is stored yet.  A run is full from the beginning.
 *
 * Context: May sleep.  Holds wort_alloc.lock.
 * Return: 0; -ENOSPC if the operation may take none; -ENOMEM.
 */
noinline int wort_extent_open(struct wort_op *op, u32 class, u32 run, u32 *out)
{
	struct wort_alloc *alloc = op->alloc;
	u32 n = max(run, 1U), nr, i;
	struct wort_extent *extent;
	struct wort_slots *slots;
	int err;

	err = find_free(op, class, n, &nr);
	if (err)
		return err;
	extent = wort_extent_at(alloc, nr);
	wort_extent_set_class(extent, class, run);
	if (!run) {
		slots = wort_slots_need(alloc, nr, wort_op_gfp(op));
		if (!slots) {
			wort_extent_set_class(extent, WORT_CLASS_NONE, 0);
			return -ENOMEM;
		}
		wort_partial_add(alloc, slots, false);
	}
	set_state(alloc, nr, WORT_EXTENT_OPENING);
	for (i = 1; i < n; i++)
		set_state(alloc, nr + i, WORT_EXTENT_TAIL);
	alloc->open_bytes += n * wort_extent_size(alloc);
	trace_wort_extent_open(alloc->region->dev, wort_extent_off(alloc, nr),
			       wort_slot_size(alloc, extent), run);
	*out = nr;
	return 0;
}

/* Nothing in the extent is used: it, or its run, is free. */
void wort_extent_close(struct wort_alloc *alloc, u32 nr)
{
	struct wort_extent *extent = wort_extent_at(alloc, nr);
	u32 n = wort_extent_span(extent), i;

	trace_wort_extent_free(alloc->region->dev, wort_extent_off(alloc, nr),
			       wort_slot_size(alloc, extent), extent->run);
	if (wort_extent_in_use(extent))
		alloc->open_bytes -= n * wort_extent_size(alloc);
	if (alloc->marks)
		wort_marks_forget(alloc->marks, nr, n);
	wort_slots_drop(alloc, nr);
	wort_extent_set_class(extent, WORT_CLASS_NONE, 0);
	extent->zeroed = false;
	for (i = 0; i < n; i++)
		set_state(alloc, nr + i, WORT_EXTENT_FREE);
	alloc->first_free = min(alloc->first_free, nr);
	wort_alloc_released(alloc);
}

/**
 * wort_extent_clear() - Let the extent table say that an extent is free
 * @op: The operation; fences before it ends.
 * @nr: An extent in which nothing is used, about to be closed.
 *
 * Old and new word are both legal: nothing is owned there.  Without this an
 * extent that was ever open would be unknown after a power cut, and those kept
 * in reserve for that time of no use.
 *
 * Context: Holds wort_alloc.lock.
 */
void wort_extent_clear(struct wort_op *op, u32 nr)
{
	if (wort_extent_at(op->alloc, nr)->class != WORT_CLASS_NONE)
		wort_table_clear(op, nr);
}

/**
 * wort_slots_take() - Take free slots
 * @alloc: The allocator.
 * @slots: Those of an open extent; they may go away.
 * @word: The word of their bitmap.
 * @taken: A bit for each.
 * @hint: No slot below it is free any more.
 *
 * They may be written from now on.
 *
 * Context: May sleep.  Holds wort_alloc.lock.
 */
void wort_slots_take(struct wort_alloc *alloc, struct wort_slots *slots,
		     u32 word, unsigned long taken, u32 hint)
{
	u32 n = hweight_long(taken);

	slots->word[word].bits[WORT_BITS_USED] |= taken;
	if (slots->dirty)
		slots->dirty[word] |= taken;
	if (alloc->marks)
		wort_marks_note(alloc->marks, slots->nr, word, taken);
	alloc->used_bytes +=
		n * wort_slot_size(alloc, wort_extent_at(alloc, slots->nr));
	slots->hint = hint;
	slots->nr_used += n;
	alloc->nr_spare[wort_extent_at(alloc, slots->nr)->class] -= n;
	if (slots->nr_used == slots->slots) {
		wort_partial_del(alloc, slots);
		wort_slots_drop_full(alloc, slots);
	}
}

/* The first free slot of an open extent that has one. */
static u32 free_slot(const struct wort_slots *slots)
{
	u32 word = BIT_WORD(slots->hint);
	unsigned long free = ~slots->word[word].bits[WORT_BITS_USED] &
			     BITMAP_FIRST_WORD_MASK(slots->hint);

	while (!free)
		free = ~slots->word[++word].bits[WORT_BITS_USED];
	return word * BITS_PER_LONG + __ffs(free);
}

/* Take a slot of an open extent that has a free one. */
static u64 take_slot(struct wort_alloc *alloc, struct wort_slots *slots)
{
	u32 slot = free_slot(slots);
	u64 off = wort_slot_off(alloc, slots, slot);

	wort_slots_take(alloc, slots, BIT_WORD(slot), BIT_MASK(slot), slot + 1);
	return off;
}

/* So many bits of a word, the lowest ones. */
static unsigned long lowest(unsigned long bits, u32 max)
{
	u32 n;

	for (n = hweight_long(bits); n > max; n--)
		bits &= ~BIT(__fls(bits));
	return bits;
}

/**
 * wort_extent_take_word() - Take free slots of a word of the bitmap
 * @alloc: The allocator.
 * @slots: Those of an open extent with a free one.
 * @max: How many at most, at least 1.
 * @cached: Filled in.
 *
 * Context: May sleep.  Holds wort_alloc.lock.
 */
void wort_extent_take_word(struct wort_alloc *alloc, struct wort_slots *slots,
			   u32 max, struct wort_cached *cached)
{
	u32 first = round_down(free_slot(slots), BITS_PER_LONG);
	unsigned long used = slots->word[BIT_WORD(first)].bits[WORT_BITS_USED];
	u32 n = min_t(u32, slots->slots - first, BITS_PER_LONG);

	WRITE_ONCE(cached->free, lowest(~used & BITMAP_LAST_WORD_MASK(n), max));
	cached->off = wort_slot_off(alloc, slots, first);
	cached->slot_size =
		wort_slot_size(alloc, wort_extent_at(alloc, slots->nr));
	wort_slots_take(alloc, slots, BIT_WORD(first), cached->free,
			first + __fls(cached->free) + 1);
}

/*
 * A link of a hostile image can lead to a slot that no operation has published,
 * and the removal of that record frees it.  Return: true if this happened, in
 * which case reclaim gives the slot back, or has done so with its whole extent.
 * That may serve another size by now, and have no such slot.
 */
static bool is_freed(struct wort_alloc *alloc, u32 nr, u32 slot)
{
	struct wort_extent *extent = wort_extent_at(alloc, nr);
	struct wort_slots *slots = extent->slots;

	if (slot >= wort_slots_of(alloc, extent))
		return true;
	if (!slots)
		return !wort_extent_in_use(extent);
	return !wort_slot_test(slots, WORT_BITS_USED, slot) ||
	       wort_slot_test(slots, WORT_BITS_FREED, slot) ||
	       wort_slot_test(slots, WORT_BITS_WAITING, slot);
}

/**
 * wort_extent_untake() - A slot was taken for nothing
 * @alloc: The allocator.
 * @off: Its offset.
 * @zero: The slot is durably zero.
 *
 * Context: May sleep.  Holds wort_alloc.lock.
 */
void wort_extent_untake(struct wort_alloc *alloc, u64 off, bool zero)
{
	u32 nr = (off - alloc->geo.data_off) >> alloc->geo.extent_shift;
	struct wort_extent *extent = wort_extent_at(alloc, nr);
	struct wort_slots *slots;
	u32 slot;

	slot = extent->class >= WORT_NR_CLASSES ? 0 :
	       wort_slot_at(extent->class, off - wort_extent_off(alloc, nr));
	if (is_freed(alloc, nr, slot))
		return;
	slots = wort_slots_need(alloc, nr, GFP_NOIO | __GFP_NOFAIL);
	wort_slot_clear(slots, WORT_BITS_USED, slot);
	/* Not before is_freed(): the extent may serve another size. */
	if (zero && slots->dirty)
		__clear_bit(slot, slots->dirty);
	alloc->used_bytes -= wort_slot_size(alloc, extent);
	slots->hint = min(slots->hint, slot);
	wort_alloc_released(alloc);
	if (!wort_slots_freed(alloc, slots, 1))
		wort_extent_close(alloc, nr);
}

/**
 * wort_partial_find() - Find an open extent with a free slot
 * @alloc: The allocator.
 * @list: In this list: one of wort_alloc.partial or of wort_alloc.zeroed.
 *
 * Nothing new is put on bad pages.
 *
 * Context: Holds wort_alloc.lock.
 * Return: Its slots, or NULL.
 */
struct wort_slots *wort_partial_find(struct wort_alloc *alloc,
				     struct list_head *list)
{
	struct wort_slots *slots;

	while (likely(!list_empty(list))) {
		slots = list_first_entry(list, struct wort_slots, partial);
		if (!is_bad(alloc, slots->nr))
			return slots;
		wort_partial_del(alloc, slots);
	}
	return NULL;
}

/* Whole extents for an object, which is full at once. */
static int reserve_run(struct wort_op *op, u64 size, u64 *off)
{
	struct wort_alloc *alloc = op->alloc;
	u32 nr, run = wort_run_of(alloc, size);
	int err;

	/*
	 * After an attach a longer run would be taken for a former extent
	 * table.
	 */
	if (WARN_ON_ONCE(size > WORT_OBJECT_MAX))
		return -EMSGSIZE;
	err = wort_extent_open(op, WORT_CLASS_RUN, run, &nr);
	if (err)
		return err;
	if (alloc->marks)
		wort_marks_note(alloc->marks, nr, 0, 1);
	alloc->used_bytes += run * wort_extent_size(alloc);
	*off = wort_extent_off(alloc, nr);
	return 0;
}

/**
 * wort_slots_beyond_kept() - Free slots that any operation may take
 * @alloc: The allocator.
 * @class: The size class.
 *
 * Context: Holds wort_alloc.lock.
 * Return: How many are not kept for operations that make room.
 */
u32 wort_slots_beyond_kept(const struct wort_alloc *alloc, u32 class)
{
	return alloc->nr_spare[class] -
	       min(alloc->nr_spare[class], alloc->kept[class].slots);
}

/**
 * wort_may_take_slot() - Is there a free slot that an operation may take?
 * @op: The operation.
 * @class: The size class.
 *
 * Context: Holds wort_alloc.lock.
 * Return: True if there is.
 */
bool wort_may_take_slot(const struct wort_op *op, u32 class)
{
	const struct wort_alloc *alloc = op->alloc;

	return op->must_free ? alloc->nr_spare[class] :
			       wort_slots_beyond_kept(alloc, class);
}

/* An open extent of a class with a free slot; NULL: there is none. */
static struct wort_slots *find_partial(struct wort_alloc *alloc, u32 class)
{
	return wort_partial_find(alloc, &alloc->partial[class]) ?:
	       wort_partial_find(alloc, &alloc->zeroed[class]);
}

/*
 * An open extent of a class with a free slot that the operation may take; one
 * is opened if need be.  Two are, if the first has no more slots than are kept.
 */
static int need_partial(struct wort_op *op, u32 class,
			struct wort_slots **slots)
{
	struct wort_alloc *alloc = op->alloc;
	int err = 0;
	u32 nr;

	*slots = find_partial(alloc, class);
	while (!err && !wort_may_take_slot(op, class)) {
		err = wort_extent_open(op, class, 0, &nr);
		if (!err)
			*slots = wort_extent_at(alloc, nr)->slots;
	}
	return err;
}

/*
 * A kept slot goes to no cache, because any operation takes slots from there.
 */
static int reserve_slot(struct wort_op *op, u64 size, u64 *off)
{
	struct wort_alloc *alloc = op->alloc;
	u32 class = wort_class_of(size), beyond;
	struct wort_slots *slots;
	int err = need_partial(op, class, &slots);

	if (err)
		return err;
	beyond = wort_slots_beyond_kept(alloc, class);
	*off = beyond && wort_cache_allowed(alloc, size) ?
	       wort_cache_fill(alloc, slots, beyond) : take_slot(alloc, slots);
	return 0;
}

static int reserve(struct wort_op *op, u64 size, u64 *off)
{
	return wort_is_run(op->alloc, size) ? reserve_run(op, size, off) :
					      reserve_slot(op, size, off);
}

static struct wort_kept *kept_of(struct wort_alloc *alloc, u64 size)
{
	return wort_is_run(alloc, size) ? &alloc->kept_runs :
					  &alloc->kept[wort_class_of(size)];
}

/**
 * wort_alloc_keep_reserve() - Keep space back for operations that make room
 * @alloc: The allocator.
 * @size: Bytes of an object that such an operation reserves, as
 *	wort_alloc_reserve() has it.
 * @nr: So many objects are enough for all operations that run at the same time.
 *
 * From now on operations without wort_op.must_free leave @nr slots of the class
 * alone, at most as many as an extent has.  If fewer are free, they leave a
 * free extent for the class, also while the walk runs.  In a full pool the
 * reserve is empty at first, and the next slots that are given back fill it.
 * For objects that take whole extents, extents are kept, perhaps not adjacent
 * ones.
 *
 * Calls are counted.  The highest @nr of a class is in force until
 * wort_alloc_drop_reserve() has undone the last call for it.  An engine whose
 * deletes need space calls this when an index is opened.
 *
 * Context: May sleep.  Takes wort_alloc.lock.
 */
void wort_alloc_keep_reserve(struct wort_alloc *alloc, u64 size, u32 nr)
{
	struct wort_kept *kept = kept_of(alloc, size);
	u32 most = nr * wort_run_of(alloc, size);

	if (!wort_is_run(alloc, size))
		most = min(nr, wort_slot_at(wort_class_of(size),
					    wort_extent_size(alloc)));
	mutex_lock(&alloc->lock);
	kept->users++;
	kept->slots = max(kept->slots, most);
	mutex_unlock(&alloc->lock);
}

/**
 * wort_alloc_drop_reserve() - Undo wort_alloc_keep_reserve()
 * @alloc: The allocator.
 * @size: The same size.
 *
 * Context: May sleep.  Takes wort_alloc.lock.
 */
void wort_alloc_drop_reserve(struct wort_alloc *alloc, u64 size)
{
	struct wort_kept *kept = kept_of(alloc, size);

	mutex_lock(&alloc->lock);
	if (!WARN_ON_ONCE(!kept->users) && !--kept->users)
		kept->slots = 0;
	wort_alloc_released(alloc);
	mutex_unlock(&alloc->lock);
}

/*
 * What carries out a commit finds space in its purse.  During an attach its
 * objects are free again, but before the walk has ended it is not known which
 * slots are free.  So attach opens more extents than the batch did, and takes
 * those that are kept back.
 */
static int reserve_committed(struct wort_op *op, u64 size, u64 *off)
{
	bool must_free = op->must_free;
	int err = wort_purse_lend(op, size, off);

	if (err != -ENOSPC || !op->purse->attach)
		return err;
	op->must_free = true;
	err = reserve(op, size, off);
	op->must_free = must_free;
	return err;
}

/**
 * wort_alloc_reserve_slow() - As wort_alloc_reserve(), with nothing at hand
 * @op: The operation.
 * @size: Bytes.
 *
 * No space is left only when nothing is at hand anywhere.
 *
 * Context: As wort_alloc_reserve().
 * Return: As wort_alloc_reserve().
 */
int wort_alloc_reserve_slow(struct wort_op *op, u64 size)
{
	struct wort_alloc *alloc = op->alloc;
	u64 off;
	int err;

	if (WARN_ON_ONCE(op->nr_reserved == WORT_RESERVE_MAX))
		return -ENOMEM;
	mutex_lock(&alloc->lock);
	err = reserve(op, size, &off);
	if (err == -ENOSPC && wort_cache_drain(alloc))
		err = reserve(op, size, &off);
	if (err == -ENOSPC && op->purse)
		err = reserve_committed(op, size, &off);
	if (err)
		op->released = alloc->released;
	else
		op->reserved[op->nr_reserved++] = off;
	mutex_unlock(&alloc->lock);
	return err;
}

/**
 * wort_alloc_refill() - Take a slot of an open extent, and cache those beside it
 * @alloc: The allocator.
 * @size: Bytes of the object, 1 to WORT_CACHED_MAX.
 *
 * Opens no extent.
 *
 * Context: May sleep.  Takes wort_alloc.lock.
 * Return: The offset of the slot; 0: there is none that any operation may take,
 * or slots are not cached.
 */
noinline u64 wort_alloc_refill(struct wort_alloc *alloc, u64 size)
{
	u32 class = wort_class_of(size), beyond;
	struct wort_slots *slots;
	u64 off = 0;

	mutex_lock(&alloc->lock);
	slots = find_partial(alloc, class);
	beyond = wort_slots_beyond_kept(alloc, class);
	if (slots && beyond && wort_cache_allowed(alloc, size))
		off = wort_cache_fill(alloc, slots, beyond);
	mutex_unlock(&alloc->lock);
	return off;
}

/*
 * Store the word of an extent that is being opened.  The fence of the caller
 * before it publishes makes it durable.
 */
noinline void wort_extent_opening(struct wort_op *op, u64 off)
{
	struct wort_alloc *alloc = op->alloc;
	u64 lines = op->n.lines;

	wort_table_store(op, (off - alloc->geo.data_off) >>
			     alloc->geo.extent_shift);
	wort_count(op, alloc_lines, op->n.lines - lines);
	op->opening = true;
}

/**
 * wort_alloc_settle() - End the reservations of an operation
 * @op: The operation.  What it took it has published, with the fence.
 *
 * Context: May sleep.  Takes wort_alloc.lock.
 */
void wort_alloc_settle(struct wort_op *op)
{
	struct wort_alloc *alloc = op->alloc;
	struct wort_extent *extent;
	u64 released;
	u32 i;

	mutex_lock(&alloc->lock);
	released = alloc->released;
	for (i = 0; i < op->nr_reserved; i++) {
		if (i < op->nr_taken) {
			extent = wort_extent_of(alloc, op->reserved[i]);
			if (extent->state == WORT_EXTENT_OPENING)
				WRITE_ONCE(extent->state, WORT_EXTENT_OPEN);
			continue;
		}
		if (op->lent & BIT(i))
			wort_purse_return(op, i);
		else
			wort_extent_untake(alloc, op->reserved[i], op->zeroed & BIT(i));
	}
	/* What it gives back itself is no reason to try again. */
	op->released += alloc->released - released;
	mutex_unlock(&alloc->lock);
	op->nr_reserved = 0;
	op->nr_taken = 0;
	op->zeroed = 0;
	op->lent = 0;
	op->opening = false;
}

/*
 * An extent may begin a run of so many if it ends inside the pool, and what it
 * covers is not known to be something else.
 */
static int guess_run(struct wort_op *op, u32 nr, u32 run)
{
	struct wort_alloc *alloc = op->alloc;
	u32 i;

	if (run > alloc->geo.nr_extents - nr)
		return 0;
	for (i = nr + 1; i < nr + run; i++) {
		if (wort_group_read(op, i / WORT_GROUP_EXTENTS))
			return -ENOMEM;
		if (!wort_extent_made(alloc, i) ||
		    wort_extent_at(alloc, i)->state != WORT_EXTENT_UNKNOWN)
			return 0;
	}
	wort_extent_set_class(wort_extent_at(alloc, nr), WORT_CLASS_RUN, run);
	return 0;
}

/*
 * The class of an extent whose word is lost is not known: the first object
 * found in it tells.  Only a check that finds all else sound stores to such a
 * pool.  The size is not trusted.
 */
static int guess_class(struct wort_op *op, u32 nr, u64 size)
{
	struct wort_alloc *alloc = op->alloc;
	struct wort_extent *extent = wort_extent_at(alloc, nr);

	if (extent->state != WORT_EXTENT_UNKNOWN ||
	    extent->class != WORT_CLASS_NONE ||
	    !(alloc->table_lost || wort_table_is_bad(op, nr)))
		return 0;
	if (wort_is_run(alloc, size))
		return guess_run(op, nr, wort_run_of(alloc, size));
	wort_extent_set_class(extent, wort_class_of(size), 0);
	return 0;
}

static int find_run(struct wort_op *op, u64 off, u64 size, u32 nr)
{
	const struct wort_extent *extent = wort_extent_at(op->alloc, nr);

	if (off != wort_extent_off(op->alloc, nr) ||
	    extent->run != wort_run_of(op->alloc, size))
		return wort_corrupt(op, off,
				    "object is not the run it lies in");
	return 0;
}

static int find_slot(struct wort_op *op, u64 off, u32 nr, u32 *slot)
{
	const struct wort_extent *extent = wort_extent_at(op->alloc, nr);
	u32 in_extent = off - wort_extent_off(op->alloc, nr);

	*slot = wort_slot_at(extent->class, in_extent);
	if (*slot * wort_class_size(extent->class) != in_extent ||
	    *slot >= wort_slots_of(op->alloc, extent))
		return wort_corrupt(op, off, "object between slots");
	return 0;
}

/**
 * wort_extent_find() - The slot of an object named by media
 * @op: The operation.
 * @off: Its offset, not trusted.
 * @size: Its size, not trusted.
 * @nr: The extent.
 * @slot: The slot in it.
 *
 * Two objects can overlap only if they are in the same slot: an offset that is
 * not at the start of a slot of the extent's class is refused.
 *
 * Context: May sleep.  Holds wort_alloc.lock.
 * Return: 0, -EUCLEAN or -ENOMEM.
 */
int wort_extent_find(struct wort_op *op, u64 off, u64 size, u32 *nr, u32 *slot)
{
	struct wort_alloc *alloc = op->alloc;
	u64 rel = off - alloc->geo.data_off;
	u64 at = rel >> alloc->geo.extent_shift;
	u32 class = WORT_CLASS_RUN;
	struct wort_extent *extent;

	lockdep_assert_held(&alloc->lock);
	if (off < alloc->geo.data_off || at >= alloc->geo.nr_extents)
		return wort_corrupt(op, off, "object outside the extents");
	*nr = at;
	*slot = 0;
	if (wort_group_read(op, *nr / WORT_GROUP_EXTENTS))
		return -ENOMEM;
	if (!wort_extent_made(alloc, *nr))
		return wort_corrupt(op, off, "object in a free extent");
	if (guess_class(op, *nr, size))
		return -ENOMEM;
	extent = wort_extent_at(alloc, *nr);
	if (!wort_is_run(alloc, size))
		class = wort_class_of(size);
	if (extent->class != class || extent->state == WORT_EXTENT_TAIL ||
	    extent->state == WORT_EXTENT_FREE)
		return wort_corrupt(op, off,
				    "object in an extent of another class");
	return class == WORT_CLASS_RUN ? find_run(op, off, size, *nr) :
					 find_slot(op, off, *nr, slot);
}

/*
 * The extent and the slot of an object; false: a slot of its class has another
 * offset.
 */
static bool spot_of(const struct wort_alloc *alloc, u64 off, u64 size, u64 *nr,
		    u32 *slot)
{
	u32 class = wort_class_of(size), in_extent;

	*nr = (off - alloc->geo.data_off) >> alloc->geo.extent_shift;
	if (off < alloc->geo.data_off || *nr >= alloc->geo.nr_extents ||
	    wort_is_run(alloc, size) || class >= WORT_NR_CLASSES)
		return false;
	in_extent = off - wort_extent_off(alloc, *nr);
	*slot = wort_slot_at(class, in_extent);
	return *slot * wort_class_size(class) == in_extent;
}

/**
 * wort_alloc_prefetch() - Prefetch what wort_alloc_find() will look at
 * @alloc: The allocator.
 * @off: Offset of an object, not trusted.
 * @size: Its size, not trusted.
 *
 * An operation that will free an object knows its offset before it has loaded
 * the object.  Others may change what this function reads, since it takes no
 * lock.  So it loads nothing by what it has read: it only prefetches.
 *
 * Context: Any context.
 */
void wort_alloc_prefetch(const struct wort_alloc *alloc, u64 off, u64 size)
{
	const struct wort_extent *extents;
	const struct wort_slots *slots;
	u32 slot;
	u64 nr;

	if (!spot_of(alloc, off, size, &nr, &slot))
		return;
	/* Pairs with wort_group_make(). */
	extents = smp_load_acquire(&alloc->groups[nr / WORT_GROUP_EXTENTS].extents);
	slots = extents ? READ_ONCE(extents[nr % WORT_GROUP_EXTENTS].slots) : NULL;
	if (!slots)
		return;
	prefetchw(&slots->freeing);
	prefetchw(&slots->word[BIT_WORD(slot)]);
}

/**
 * wort_alloc_find() - Find out whether an object may be freed
 * @alloc: The allocator.
 * @off: Its offset, not trusted.
 * @size: Its size, not trusted.
 *
 * Stores nothing and reports nothing.
 *
 * Context: Holds wort_alloc.lock.  Does not sleep.
 * Return: Where it is; no slots if wort_alloc_free() has to look: because the
 * object is not allocated, because its extent is full or unknown, or because it
 * takes whole extents.
 */
struct wort_spot wort_alloc_find(struct wort_alloc *alloc, u64 off, u64 size)
{
	struct wort_spot spot = { };
	struct wort_extent *extent;
	u32 slot;
	u64 nr;

	lockdep_assert_held(&alloc->lock);
	if (!spot_of(alloc, off, size, &nr, &slot) ||
	    !wort_extent_made(alloc, nr))
		return spot;
	extent = wort_extent_at(alloc, nr);
	if (!wort_extent_in_use(extent) || !extent->slots ||
	    extent->class != wort_class_of(size) ||
	    slot >= extent->slots->slots || is_freed(alloc, nr, slot))
		return spot;
	spot.slots = extent->slots;
	spot.slot = slot;
	return spot;
}

/**
 * wort_alloc_free_found() - Give back an object that wort_alloc_find() has found
 * @alloc: The allocator.
 * @spot: Its result, with slots.
 *
 * Otherwise as wort_alloc_free().
 *
 * Context: Holds wort_alloc.lock since wort_alloc_find().  Does not sleep.
 */
void wort_alloc_free_found(struct wort_alloc *alloc, struct wort_spot spot)
{
	struct wort_slots *slots = spot.slots;

	wort_slot_set(slots, WORT_BITS_FREED, spot.slot);
	slots->freed_parts |= BIT_ULL(wort_slot_part(slots, spot.slot));
	wort_alloc_freed(alloc, wort_slot_size(alloc, wort_extent_at(alloc,
								     slots->nr)));
	if (list_empty(&slots->freeing))
		list_add_tail(&slots->freeing, &alloc->freeing);
}

/* A slot becomes one that is freed. */
static int set_freed(struct wort_op *op, u64 off, u32 nr, u32 slot)
{
	struct wort_alloc *alloc = op->alloc;
	struct wort_extent *extent = wort_extent_at(alloc, nr);
	struct wort_spot spot = { .slot = slot };

	spot.slots = wort_slots_need(alloc, nr, GFP_NOIO | __GFP_NOFAIL);
	if (extent->state != WORT_EXTENT_UNKNOWN) {
		if (!wort_slot_test(spot.slots, WORT_BITS_USED, slot))
			return wort_corrupt(op, off,
					    "freed object is not allocated");
		if (is_freed(alloc, nr, slot))
			return wort_corrupt(op, off, "object freed twice");
		wort_alloc_free_found(alloc, spot);
		return 0;
	}
	if (wort_slot_test(spot.slots, WORT_BITS_FREED, slot))
		return wort_corrupt(op, off, "object freed twice");
	wort_slot_set(spot.slots, WORT_BITS_FREED, slot);
	return 0;
}

/* Has the walk marked an object, or may it have loaded the link to it? */
static bool walk_knows(const struct wort_alloc *alloc, u32 nr, u32 slot)
{
	const struct wort_extent *extent = wort_extent_at(alloc, nr);

	return alloc->noting || extent->state != WORT_EXTENT_UNKNOWN ||
	       (extent->slots &&
		wort_slot_test(extent->slots, WORT_BITS_USED, slot));
}

/* There are no slots where it is, or it is not allocated. */
static noinline int free_unsure(struct wort_op *op, u64 off, u64 size)
{
	struct wort_alloc *alloc = op->alloc;
	bool alone = op->alone;
	u32 nr, slot;
	int err;

	/*
	 * The operation was carried out, so no race explains what is found
	 * here.
	 */
	op->alone = true;
	err = wort_extent_find(op, off, size, &nr, &slot);
	if (!err && walk_knows(alloc, nr, slot))
		err = set_freed(op, off, nr, slot);
	/* One of several steps may be next, and that may meet a race. */
	op->alone = alone;
	/* No memory to read the table with: the walk has not begun. */
	return err == -ENOMEM ? 0 : err;
}

/**
 * wort_alloc_free() - Give back an object
 * @op: The operation that unlinked it.
 * @off: Its offset.
 * @size: Its size.
 *
 * The word that unlinked it is durable.  It is reused after a grace period; in
 * an extent that is unknown not before the walk has ended.  Cannot fail for
 * want of memory: it waits for it.  The operation has been carried out, so an
 * inconsistency is damage here, not a race with another writer.
 *
 * While the extent is unknown and the walk has not begun, nothing is to be
 * done: the walk will not find the object, so it leaves the slot free.  Once
 * the walk has begun it may have loaded the link before the object was
 * unlinked, and mark the object.  Therefore the free is noted then, and also if
 * attach has marked the object.
 *
 * Context: May sleep.  Takes wort_alloc.lock.
 * Return: 0; -EUCLEAN if no such object is allocated.
 */
int wort_alloc_free(struct wort_op *op, u64 off, u64 size)
{
	struct wort_alloc *alloc = op->alloc;
	struct wort_spot spot;
	int err = 0;

	mutex_lock(&alloc->lock);
	spot = wort_alloc_find(alloc, off, size);
	if (likely(spot.slots))
		wort_alloc_free_found(alloc, spot);
	else
		err = free_unsure(op, off, size);
	mutex_unlock(&alloc->lock);
	return err;
}

/**
 * wort_alloc_info() - Figures for people
 * @alloc: The allocator.
 * @info: Filled in.
 *
 * The figures come from running sums, which are exact while no operation runs.
 * Slots in the cache of a processor count as free.
 *
 * Context: May sleep.  Takes wort_alloc.lock.
 */
void wort_alloc_info(struct wort_alloc *alloc, struct wort_alloc_info *info)
{
	u64 bytes;

	mutex_lock(&alloc->lock);
	info->free_extents = alloc->nr_free;
	info->reserve_extents = min(alloc->nr_free, alloc->reserve);
	info->used_bytes = alloc->used_bytes - wort_cache_bytes(alloc);
	info->freeing_bytes = alloc->freeing_bytes;
	/* A damaged pool may own more than its extents have. */
	bytes = alloc->nr_free * wort_extent_size(alloc) + alloc->open_bytes;
	info->free_bytes = bytes - min(bytes, info->used_bytes);
	info->known = !alloc->walking;
	info->table_known = !alloc->nr_unread;
	mutex_unlock(&alloc->lock);
}
