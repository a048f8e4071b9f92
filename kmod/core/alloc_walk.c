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
 */
#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/slab.h>

#include "alloc.h"
#include "pmem.h"

/**
 * wort_alloc_walk_begin() - The walk is about to mark what is owned
 * @alloc: The allocator; the walk has not ended.
 *
 * From now on what is freed is noted also where nothing is known.  So it makes
 * no difference whether the walk comes by an object before or after that.
 *
 * Context: May sleep.  Takes wort_alloc.lock.
 * Return: 0 or -ENOMEM.
 */
int wort_alloc_walk_begin(struct wort_alloc *alloc)
{
	struct wort_extent *extent, *end;
	int err = 0;

	mutex_lock(&alloc->lock);
	end = alloc->extents + alloc->geo.nr_extents;
	for (extent = alloc->extents; extent < end && !err; extent++)
		if (extent->state == WORT_EXTENT_UNKNOWN && extent->slots)
			err = wort_extent_need_bits(alloc, extent);
	mutex_unlock(&alloc->lock);
	return err;
}

/**
 * wort_alloc_mark() - Mark an object as owned
 * @op: The operation.
 * @off: Its offset, not trusted.
 * @size: Its size, not trusted.
 * @first: The walk meets each such object once, so a mark there is damage.
 *
 * Context: May sleep.  Takes wort_alloc.lock.  The owner may let go of the
 * object meanwhile.
 * Return: 0; -ENOMEM; -EUCLEAN if it is no slot or has another owner.
 */
int wort_alloc_mark(struct wort_op *op, u64 off, u64 size, bool first)
{
	struct wort_alloc *alloc = op->alloc;
	struct wort_extent *extent;
	u32 slot;
	int err;

	mutex_lock(&alloc->lock);
	err = wort_extent_find(op, off, size, &extent, &slot);
	if (!err)
		err = wort_extent_need_bits(alloc, extent);
	if (err)
		goto out;
	if (extent->state != WORT_EXTENT_UNKNOWN) {
		if (!test_bit(slot, wort_extent_bits(alloc, extent,
						     WORT_BITS_USED)))
			err = wort_corrupt(op, off, "owned object is free");
		goto out;
	}
	if (__test_and_set_bit(slot, wort_extent_bits(alloc, extent,
						      WORT_BITS_USED))) {
		if (first)
			err = wort_corrupt(op, off, "object has two owners");
		goto out;
	}
	extent->nr_used++;
	alloc->used_bytes += extent->slot_size;
out:
	mutex_unlock(&alloc->lock);
	return err;
}

/**
 * wort_alloc_walk_restart() - Forget all marks
 * @alloc: The allocator; the walk has not ended.
 *
 * Context: May sleep.  Takes wort_alloc.lock.
 */
void wort_alloc_walk_restart(struct wort_alloc *alloc)
{
	struct wort_extent *extent, *end;

	mutex_lock(&alloc->lock);
	end = alloc->extents + alloc->geo.nr_extents;
	for (extent = alloc->extents; extent < end; extent++) {
		if (extent->state != WORT_EXTENT_UNKNOWN || !extent->nr_used)
			continue;
		alloc->used_bytes -= extent->nr_used * extent->slot_size;
		bitmap_zero(wort_extent_bits(alloc, extent, WORT_BITS_USED),
			    extent->slots);
		extent->nr_used = 0;
	}
	mutex_unlock(&alloc->lock);
}

/* An unknown extent in which the walk found something. */
static void settle_extent(struct wort_alloc *alloc, struct wort_extent *extent)
{
	u32 slots = extent->slots;
	unsigned long *used = wort_extent_bits(alloc, extent, WORT_BITS_USED);
	unsigned long *freed = wort_extent_bits(alloc, extent, WORT_BITS_FREED);

	extent->state = WORT_EXTENT_OPEN;
	extent->hint = 0;
	if (extent->nr_used < slots)
		list_add_tail(&extent->partial, &alloc->partial[extent->class]);
	if (bitmap_and(freed, freed, used, slots)) {
		wort_alloc_freed(alloc, bitmap_weight(freed, slots) *
				 extent->slot_size);
		list_add_tail(&extent->freeing, &alloc->freeing);
	}
}

/* An unknown extent in which nothing is owned. */
static void release_extent(struct wort_op *op, struct wort_extent *extent)
{
	wort_extent_clear(op, extent);
	extent->run = 0;
	wort_extent_close(op->alloc, extent);
}

/* The extents that an owned run covers can own nothing themselves. */
static int settle_run(struct wort_op *op, struct wort_extent *extent)
{
	struct wort_alloc *alloc = op->alloc;
	u32 i;

	for (i = 1; i < extent->run; i++) {
		if (extent[i].nr_used || extent[i].state != WORT_EXTENT_UNKNOWN)
			return wort_corrupt(op,
					    wort_extent_off(alloc, &extent[i]),
					    "run overlaps other objects");
		kvfree(extent[i].bits);
		extent[i].bits = NULL;
		extent[i].run = 0;
		extent[i].slots = 0;
		extent[i].slot_size = 0;
		extent[i].class = WORT_CLASS_NONE;
		extent[i].state = WORT_EXTENT_TAIL;
	}
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
	struct wort_extent *extent, *end;
	int err = 0;

	mutex_lock(&alloc->lock);
	end = alloc->extents + alloc->geo.nr_extents;
	for (extent = alloc->extents; extent < end && !err; extent++)
		if (extent->state == WORT_EXTENT_UNKNOWN && extent->nr_used &&
		    extent->run)
			err = settle_run(op, extent);
	if (err)
		goto out;
	wort_locks_reusing(alloc->locks);
	for (extent = alloc->extents; extent < end; extent++) {
		if (extent->state != WORT_EXTENT_UNKNOWN)
			continue;
		if (extent->nr_used)
			settle_extent(alloc, extent);
		else
			release_extent(op, extent);
	}
	if (op->pending)
		wort_pm_fence(op);
	WRITE_ONCE(alloc->walking, false);
	wort_alloc_released(alloc);
out:
	mutex_unlock(&alloc->lock);
	return err;
}
