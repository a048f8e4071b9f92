// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finding again what is owned.
 *
 * After an attach nothing is known of extents that were open before.  The walk
 * over all indexes marks each object that it reaches; when it has ended, what
 * is not marked is free.  Until then nothing is allocated from those extents
 * and nothing freed in them is given back, so a hole cannot be handed out
 * while an owner of it is still to be found.  A second power cut during the
 * walk loses only the marks.
 *
 * All marks are there before the first extent is settled, so settling lets go of the
 * lock between groups: what is freed meanwhile was marked, and is noted.
 */
#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/sched.h>

#include "extent.h"
#include "pmem.h"

/**
 * wort_alloc_walk_begin() - The walk is about to mark what is owned
 * @alloc: The allocator; the walk has not ended, the extent table was read.
 *
 * From now on what is freed is noted also where nothing is known.  So it makes
 * no difference whether the walk comes by an object before or after that.
 *
 * Context: May sleep.  Takes wort_alloc.lock.
 */
void wort_alloc_walk_begin(struct wort_alloc *alloc)
{
	mutex_lock(&alloc->lock);
	alloc->noting = true;
	mutex_unlock(&alloc->lock);
}

/* An extent opened since the attach knows its owners. */
static int verify_used(struct wort_op *op, u64 off, u32 nr, u32 slot)
{
	struct wort_slots *slots = wort_extent_at(op->alloc, nr)->slots;

	if (slots && !test_bit(slot, wort_slot_bits(slots, WORT_BITS_USED)))
		return wort_corrupt(op, off, "owned object is free");
	return 0;
}

static int mark_slot(struct wort_op *op, u64 off, u32 nr, u32 slot, bool first)
{
	struct wort_alloc *alloc = op->alloc;
	struct wort_slots *slots = wort_slots_need(alloc, nr, GFP_NOIO);
	unsigned long *nodes;

	if (!slots)
		return -ENOMEM;
	nodes = wort_slot_bits(slots, WORT_BITS_NODES);
	if (__test_and_set_bit(slot, wort_slot_bits(slots, WORT_BITS_USED)))
		return first || !test_bit(slot, nodes) ?
		       wort_corrupt(op, off, "object has two owners") : 0;
	if (!first)
		__set_bit(slot, nodes);
	slots->nr_used++;
	alloc->used_bytes += wort_slot_size(alloc, wort_extent_at(alloc, nr));
	return 0;
}

/**
 * wort_alloc_mark() - Mark an object as owned
 * @op: The operation.
 * @off: Its offset, not trusted.
 * @size: Its size, not trusted.
 * @first: The walk meets each such object once, so a mark there is damage.  False of
 *	inner nodes, which it may meet again, but as nothing else.
 *
 * Context: May sleep.  Takes wort_alloc.lock.  The owner may let go of the
 * object meanwhile.
 * Return: 0; -ENOMEM; -EUCLEAN if it is no slot or has another owner.
 */
int wort_alloc_mark(struct wort_op *op, u64 off, u64 size, bool first)
{
	struct wort_alloc *alloc = op->alloc;
	u32 nr, slot;
	int err;

	mutex_lock(&alloc->lock);
	err = wort_extent_find(op, off, size, &nr, &slot);
	if (!err)
		err = wort_extent_at(alloc, nr)->state == WORT_EXTENT_UNKNOWN ?
		      mark_slot(op, off, nr, slot, first) :
		      verify_used(op, off, nr, slot);
	mutex_unlock(&alloc->lock);
	return err;
}

/* Do something to each unknown extent, until an error. */
static int walk_unknown(struct wort_op *op,
			int (*act)(struct wort_op *op, u32 nr))
{
	struct wort_alloc *alloc = op->alloc;
	u32 nr = 0, end;
	int err = 0;

	while (nr < alloc->geo.nr_extents && !err) {
		end = min(nr + WORT_GROUP_EXTENTS, alloc->geo.nr_extents);
		mutex_lock(&alloc->lock);
		if (!wort_extent_made(alloc, nr))
			nr = end;
		for (; nr < end && !err; nr++)
			if (wort_extent_at(alloc, nr)->state ==
			    WORT_EXTENT_UNKNOWN)
				err = act(op, nr);
		mutex_unlock(&alloc->lock);
		cond_resched();
	}
	return err;
}

static int forget_marks(struct wort_op *op, u32 nr)
{
	struct wort_alloc *alloc = op->alloc;
	struct wort_extent *extent = wort_extent_at(alloc, nr);

	if (!extent->slots)
		return 0;
	alloc->used_bytes -= extent->slots->nr_used *
			     wort_slot_size(alloc, extent);
	wort_slots_drop(alloc, nr);
	return 0;
}

/**
 * wort_alloc_walk_restart() - Forget all marks
 * @op: The operation; the walk has not ended.
 *
 * And what was freed, since an operation that begins now does not meet it any more.
 * An object that had two owners, of which one freed it, is kept for the other.
 *
 * Context: May sleep.  Takes wort_alloc.lock.
 */
void wort_alloc_walk_restart(struct wort_op *op)
{
	walk_unknown(op, forget_marks);
}

/* The extents that an owned run covers can own nothing themselves. */
static int settle_run(struct wort_op *op, u32 nr)
{
	struct wort_alloc *alloc = op->alloc;
	struct wort_extent *extent = wort_extent_at(alloc, nr);
	u32 end = nr + extent->run;

	if (!extent->run || !extent->slots || !extent->slots->nr_used)
		return 0;
	while (++nr < end) {
		extent = wort_extent_at(alloc, nr);
		if (extent->state != WORT_EXTENT_UNKNOWN ||
		    (extent->slots && extent->slots->nr_used))
			return wort_corrupt(op, wort_extent_off(alloc, nr),
					    "run overlaps other objects");
		wort_slots_drop(alloc, nr);
		wort_extent_set_class(extent, WORT_CLASS_NONE, 0);
		extent->state = WORT_EXTENT_TAIL;
	}
	return 0;
}

/* An unknown extent in which the walk found something. */
static void open_marked(struct wort_alloc *alloc, struct wort_slots *slots)
{
	struct wort_extent *extent = wort_extent_at(alloc, slots->nr);
	unsigned long *used = wort_slot_bits(slots, WORT_BITS_USED);
	unsigned long *freed = wort_slot_bits(slots, WORT_BITS_FREED);

	extent->state = WORT_EXTENT_OPEN;
	alloc->open_bytes += wort_extent_span(extent) * wort_extent_size(alloc);
	slots->hint = 0;
	bitmap_zero(wort_slot_bits(slots, WORT_BITS_NODES), slots->slots);
	if (slots->nr_used < slots->slots)
		list_add_tail(&slots->partial, &alloc->partial[extent->class]);
	if (bitmap_and(freed, freed, used, slots->slots)) {
		wort_alloc_freed(alloc, bitmap_weight(freed, slots->slots) *
					wort_slot_size(alloc, extent));
		list_add_tail(&slots->freeing, &alloc->freeing);
	}
	wort_slots_drop_full(alloc, slots);
}

/* In an extent without marks nothing is owned. */
static int settle_extent(struct wort_op *op, u32 nr)
{
	struct wort_extent *extent = wort_extent_at(op->alloc, nr);

	if (extent->slots && extent->slots->nr_used) {
		open_marked(op->alloc, extent->slots);
		return 0;
	}
	wort_extent_clear(op, nr);
	extent->run = 0;
	wort_extent_close(op->alloc, nr);
	return 0;
}

/**
 * wort_alloc_walk_end() - All that is owned has been marked
 * @op: The operation.
 *
 * Holes become known.  What was freed meanwhile and had been marked is due to
 * wort_alloc_reclaim(); what had not been marked is free at once.
 *
 * Context: May sleep.  Takes wort_alloc.lock.  A grace period has passed since
 * the last object was walked.
 * Return: 0; -EUCLEAN if a run overlaps what others own, upon which the walk
 * has not ended.
 */
int wort_alloc_walk_end(struct wort_op *op)
{
	struct wort_alloc *alloc = op->alloc;
	int err = walk_unknown(op, settle_run);

	if (err)
		return err;
	mutex_lock(&alloc->lock);
	wort_locks_reusing(alloc->locks);
	mutex_unlock(&alloc->lock);
	walk_unknown(op, settle_extent);
	if (op->pending)
		wort_pm_fence(op);
	mutex_lock(&alloc->lock);
	WRITE_ONCE(alloc->walking, false);
	wort_alloc_released(alloc);
	mutex_unlock(&alloc->lock);
	return 0;
}
