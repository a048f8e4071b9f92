// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Slots that are durably zero.
 *
 * An operation may ask that an object be all zeroes, and that the zeroes be
 * durable, so that it can publish parts of it one by one.  Engines share size
 * classes, therefore this is a property of single slots: an extent from which
 * such an object was asked for has a bitmap of dirty slots, and every other
 * extent has none.
 *
 *	dirty	perhaps not zero, or not durably so
 *	clean	all zeroes, durably
 *
 * Nothing of this is on media, so after an attach it is not known which slots
 * were never used.  All slots of an extent are dirty when it gets its bitmap:
 * those of an extent that was just opened, and those that the walk has found
 * unmarked.  A slot is dirty from the moment when it is taken, and stays dirty
 * when it comes back.  It becomes clean only here, by a zeroing that a fence
 * has made durable:
 *
 *	at a reservation, if no free slot is clean: those of one word of the
 *	bitmap; at reclaim: all slots that are given back to such extents.
 *
 * Both zero slots that count as used, without wort_alloc.lock: no other
 * operation takes them meanwhile.  Slots that are free were given back after a
 * grace period, so no operation can see them any more.  Reclaim zeroes after
 * the grace period and after wort_locks_reusing(): a reader in a mapping, which
 * is in no section, may still be in a freed object, and must not take the
 * zeroes for its contents.
 */
#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "extent.h"
#include "pmem.h"

/* Bytes that a reservation zeroes at most, but at least one object. */
#define ZERO_MAX	65536

/**
 * wort_slots_track() - Keep dirty slots of an extent apart
 * @slots: Its slots, in no list of extents with a free slot.
 * @gfp: How to allocate the bitmap.
 *
 * All are dirty.
 *
 * Context: Holds wort_alloc.lock.
 * Return: 0 or -ENOMEM.
 */
int wort_slots_track(struct wort_slots *slots, gfp_t gfp)
{
	slots->dirty = kvcalloc(BITS_TO_LONGS(slots->slots), sizeof(long), gfp);
	if (!slots->dirty)
		return -ENOMEM;
	bitmap_set(slots->dirty, 0, slots->slots);
	return 0;
}

/* From now on the extent serves those who ask for zeroes. */
static int begin_tracking(struct wort_op *op, struct wort_slots *slots)
{
	struct wort_alloc *alloc = op->alloc;
	int err;

	wort_partial_del(alloc, slots);
	err = wort_slots_track(slots, wort_op_gfp(op));
	if (!err)
		wort_extent_at(alloc, slots->nr)->zeroed = true;
	wort_partial_add(alloc, slots, false);
	return err;
}

/* Not fenced. */
static void zero_range(struct wort_op *op, u64 off, u64 len)
{
	void __pmem *at = wort_region_at(op->region, off);
	u64 lines = op->n.lines;

	wort_pm_zero(op, at, len);
	wort_pm_flush_now(op, at, len);
	wort_count(op, zero_lines, op->n.lines - lines);
}

/*
 * Make zeroes durable.  What the operation itself collects to be flushed may
 * still change: @collected lines of it stay pending.
 */
static void fence_zeroes(struct wort_op *op, u32 collected)
{
	wort_pm_fence_now(op);
	op->pending = op->gather ? collected : 0;
}

/*
 * Zero those slots of a word of a bitmap that have a bit; they count as used.
 * Adjacent ones may have lines in common, but not with those of another word.
 * Not fenced.
 */
static void zero_slots(struct wort_op *op, u64 off, u64 size,
		       unsigned long bits)
{
	u32 slot = 0, end;

	while ((slot = find_next_bit(&bits, BITS_PER_LONG, slot)) <
	       BITS_PER_LONG) {
		end = find_next_zero_bit(&bits, BITS_PER_LONG, slot);
		zero_range(op, off + slot * size, (end - slot) * size);
		slot = end;
	}
}

static void zero_waiting(struct wort_op *op, const struct wort_slots *slots)
{
	u64 size = wort_slot_size(op->alloc,
				  wort_extent_at(op->alloc, slots->nr));
	u64 off = wort_extent_off(op->alloc, slots->nr);
	u32 word;

	for (word = 0; word < BITS_TO_LONGS(slots->slots); word++)
		zero_slots(op, off + word * BITS_PER_LONG * size, size,
			   slots->word[word].bits[WORT_BITS_WAITING]);
}

/**
 * wort_slots_zero_waiting() - Zero what reclaim is about to give back
 * @op: The operation of wort_alloc_reclaim().
 * @batch: The slots of extents, by wort_slots.waiting; their waiting slots are
 *	used.
 *
 * Of extents from which zeroes were asked for; one fence for all.
 *
 * Context: May sleep.  After the grace period and wort_locks_reusing(); does
 * not hold wort_alloc.lock, so that reservations go on.
 */
void wort_slots_zero_waiting(struct wort_op *op, struct list_head *batch)
{
	struct wort_slots *slots;
	bool any = false;

	list_for_each_entry(slots, batch, waiting) {
		if (!READ_ONCE(slots->dirty))
			continue;
		zero_waiting(op, slots);
		slots->zeroed = true;
		any = true;
		cond_resched();
	}
	if (any)
		fence_zeroes(op, 0);
}

/*
 * An open extent with a free slot that the operation may take and that is
 * tracked.
 */
static int need_tracked(struct wort_op *op, u32 class,
			struct wort_slots **slots)
{
	struct wort_alloc *alloc = op->alloc;
	int err = 0;
	u32 nr;

	do {
		*slots = wort_partial_find(alloc, &alloc->zeroed[class]);
		if (!*slots)
			*slots = wort_partial_find(alloc,
						   &alloc->partial[class]);
		if (*slots && wort_may_take_slot(op, class))
			return (*slots)->dirty ? 0 : begin_tracking(op, *slots);
		err = wort_extent_open(op, class, 0, &nr);
	} while (!err);
	return err;
}

/* Take a slot that is clean; 0 if no free one is. */
static u64 take_clean(struct wort_alloc *alloc, struct wort_slots *slots)
{
	u32 word = BIT_WORD(slots->hint), slot;
	unsigned long clean;
	u64 off;

	for (; word < BITS_TO_LONGS(slots->slots); word++) {
		clean = ~(slots->word[word].bits[WORT_BITS_USED] |
			  slots->dirty[word]);
		if (!clean)
			continue;
		slot = word * BITS_PER_LONG + __ffs(clean);
		if (slot >= slots->slots)
			break;
		off = wort_slot_off(alloc, slots, slot);
		wort_slots_take(alloc, slots, word, BIT_MASK(slot),
				slots->hint);
		return off;
	}
	return 0;
}

/*
 * Take a slot that is clean, or else dirty ones to be zeroed.  These count as
 * freed, for operations that find none meanwhile.
 */
static int take(struct wort_op *op, u32 class, u64 *off,
		struct wort_cached *dirty)
{
	struct wort_alloc *alloc = op->alloc;
	u32 most = max(wort_slot_at(class, ZERO_MAX), 1U);
	u32 size = wort_class_size(class);
	struct wort_slots *slots;
	int err = need_tracked(op, class, &slots);

	if (err)
		return err;
	*off = take_clean(alloc, slots);
	if (*off)
		return 0;
	most = min(most, max(wort_slots_beyond_kept(alloc, class), 1U));
	wort_extent_take_word(alloc, slots, most, dirty);
	wort_alloc_freed(alloc, (u64)size * hweight_long(dirty->free));
	return 0;
}

/* Zero slots that were taken, keep the first, and give the others back. */
static u64 zero_taken(struct wort_op *op, struct wort_cached *dirty)
{
	struct wort_alloc *alloc = op->alloc;
	u64 bytes = (u64)dirty->slot_size * hweight_long(dirty->free);
	u64 off, rest;
	u32 pending = op->pending;

	zero_slots(op, dirty->off, dirty->slot_size, dirty->free);
	fence_zeroes(op, pending);
	off = wort_cached_get(dirty);
	mutex_lock(&alloc->lock);
	while ((rest = wort_cached_get(dirty)))
		wort_extent_untake(alloc, rest, true);
	wort_alloc_freed(alloc, -bytes);
	mutex_unlock(&alloc->lock);
	return off;
}

static int reserve_zero_slot(struct wort_op *op, u64 size, u64 *off)
{
	u32 class = wort_class_of(size);
	struct wort_alloc *alloc = op->alloc;
	struct wort_cached dirty = { };
	int err;

	mutex_lock(&alloc->lock);
	err = take(op, class, off, &dirty);
	if (err == -ENOSPC && wort_cache_drain(alloc))
		err = take(op, class, off, &dirty);
	if (err)
		op->released = alloc->released;
	mutex_unlock(&alloc->lock);
	if (!err && !*off)
		*off = zero_taken(op, &dirty);
	return err;
}

/* A run is zeroed each time, because it has no bitmap of dirty slots. */
static int reserve_zero_run(struct wort_op *op, u64 size)
{
	int err = wort_alloc_reserve_slow(op, size);
	u32 pending = op->pending;

	if (err)
		return err;
	zero_range(op, op->reserved[op->nr_reserved - 1],
		   wort_alloc_footprint(op->alloc, size));
	fence_zeroes(op, pending);
	return 0;
}

/**
 * wort_alloc_reserve_zero() - Reserve an object that is durably zero
 * @op: The operation, as for wort_alloc_reserve().
 * @size: Bytes, as for wort_alloc_reserve().
 *
 * As wort_alloc_reserve(), but all bytes of the slot are 0, and a power cut
 * leaves them so.  May store zeroes to slots that are free, and fence them;
 * what the operation has flushed itself is durable then, too.
 *
 * Context: As wort_alloc_reserve().
 * Return: As wort_alloc_reserve().
 */
int wort_alloc_reserve_zero(struct wort_op *op, u64 size)
{
	u64 off = 0;
	int err;

	if (WARN_ON_ONCE(op->nr_reserved == WORT_RESERVE_MAX))
		return -ENOMEM;
	if (wort_is_run(op->alloc, size))
		return reserve_zero_run(op, size);
	err = reserve_zero_slot(op, size, &off);
	if (err)
		return err;
	op->zeroed |= BIT(op->nr_reserved);
	op->reserved[op->nr_reserved++] = off;
	return 0;
}
