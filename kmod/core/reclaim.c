// SPDX-License-Identifier: GPL-2.0-only
/*
 * Giving back what was freed, after a grace period.
 *
 * A freed slot has a bit in the second bitmap of its extent.  Reclaim moves
 * these bits to the third bitmap, waits, and then clears them in the first.
 * Bits set while it waits are for the next time.  So freeing needs no memory
 * and a batch is as large as what was freed meanwhile.
 */
#include <linux/bitmap.h>
#include <linux/kernel.h>

#include "alloc.h"
#include "pmem.h"

/* Returns true if there is anything to wait for. */
static bool collect(struct wort_alloc *alloc, struct list_head *batch)
{
	struct wort_extent *extent, *tmp;
	u32 slots;

	list_for_each_entry_safe(extent, tmp, &alloc->freeing, freeing) {
		slots = extent->slots;
		bitmap_copy(wort_extent_bits(alloc, extent, WORT_BITS_WAITING),
			    wort_extent_bits(alloc, extent, WORT_BITS_FREED),
			    slots);
		bitmap_zero(wort_extent_bits(alloc, extent, WORT_BITS_FREED),
			    slots);
		list_del_init(&extent->freeing);
		list_add_tail(&extent->waiting, batch);
	}
	return !list_empty(batch);
}

static void release(struct wort_op *op, struct wort_extent *extent)
{
	struct wort_alloc *alloc = op->alloc;
	u32 slots = extent->slots, n;
	unsigned long *used = wort_extent_bits(alloc, extent, WORT_BITS_USED);
	unsigned long *waiting = wort_extent_bits(alloc, extent,
						  WORT_BITS_WAITING);

	n = bitmap_weight(waiting, slots);
	bitmap_andnot(used, used, waiting, slots);
	bitmap_zero(waiting, slots);
	extent->hint = 0;
	extent->nr_used -= n;
	alloc->used_bytes -= n * extent->slot_size;
	wort_alloc_freed(alloc, -(n * extent->slot_size));
	wort_alloc_released(alloc);
	if (!extent->nr_used) {
		wort_extent_clear(op, extent);
		wort_extent_close(alloc, extent);
	} else if (list_empty(&extent->partial)) {
		list_add_tail(&extent->partial, &alloc->partial[extent->class]);
	}
}

/**
 * wort_alloc_reclaim() - Give back what was freed before the call
 * @op: An operation of its own.
 *
 * Does nothing before the walk has ended.
 *
 * Context: May sleep, waits for a grace period.  One caller at a time.
 * Return: True if anything was given back.
 */
bool wort_alloc_reclaim(struct wort_op *op)
{
	struct wort_alloc *alloc = op->alloc;
	struct wort_extent *extent, *tmp;
	LIST_HEAD(batch);
	bool any;

	mutex_lock(&alloc->lock);
	any = !alloc->walking && collect(alloc, &batch);
	mutex_unlock(&alloc->lock);
	if (!any)
		return false;
	wort_locks_synchronize(alloc->locks);
	mutex_lock(&alloc->lock);
	wort_locks_reusing(alloc->locks);
	list_for_each_entry_safe(extent, tmp, &batch, waiting) {
		list_del_init(&extent->waiting);
		release(op, extent);
	}
	if (op->pending)
		wort_pm_fence(op);
	mutex_unlock(&alloc->lock);
	return true;
}

/**
 * wort_alloc_freeing() - Is anything freed and not given back?
 * @alloc: The allocator.
 *
 * Context: May sleep.  Takes wort_alloc.lock.
 * Return: True if wort_alloc_reclaim() or wort_alloc_walk_end() may yield
 * space.
 */
bool wort_alloc_freeing(struct wort_alloc *alloc)
{
	bool any;

	mutex_lock(&alloc->lock);
	any = alloc->walking || alloc->freeing_bytes;
	mutex_unlock(&alloc->lock);
	return any;
}
