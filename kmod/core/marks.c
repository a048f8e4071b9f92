// SPDX-License-Identifier: GPL-2.0-only
/*
 * Comparing what is owned with what is allocated.
 */
#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/slab.h>

#include "alloc.h"

/**
 * wort_marks_init() - Begin to mark what is owned
 * @marks: Uninitialised memory of the caller.
 * @alloc: The allocator; its walk has ended.
 *
 * What is at hand is owned by nobody: it goes back first.
 *
 * Context: May sleep.  Takes wort_alloc.lock.  Nothing is reserved, freed or
 * reclaimed until wort_marks_destroy().
 * Return: 0 or -ENOMEM.
 */
int wort_marks_init(struct wort_marks *marks, struct wort_alloc *alloc)
{
	mutex_lock(&alloc->lock);
	wort_cache_drain(alloc);
	mutex_unlock(&alloc->lock);
	marks->alloc = alloc;
	marks->bits = kvcalloc(alloc->geo.nr_extents, sizeof(*marks->bits),
			       GFP_NOIO);
	return marks->bits ? 0 : -ENOMEM;
}

/**
 * wort_marks_destroy() - Forget the marks
 * @marks: Marks, or ones whose wort_marks_init() failed.
 *
 * Context: May sleep.
 */
void wort_marks_destroy(struct wort_marks *marks)
{
	u32 nr;

	for (nr = 0; marks->bits && nr < marks->alloc->geo.nr_extents; nr++)
		if (marks->bits[nr] != &marks->tail)
			kvfree(marks->bits[nr]);
	kvfree(marks->bits);
}

/* Mark what an owned run covers; false if something else is owned there. */
static bool mark_tail(struct wort_marks *marks, unsigned long **bits, u32 run)
{
	u32 i;

	for (i = 1; i < run; i++) {
		if (bits[i])
			return false;
		bits[i] = &marks->tail;
	}
	return true;
}

/**
 * wort_marks_add() - Mark an object as owned
 * @op: The operation.
 * @marks: The marks.
 * @off: Its offset, not trusted.
 * @size: Its size, not trusted.
 *
 * Context: May sleep.  Takes wort_alloc.lock.
 * Return: 0; -ENOMEM; -EUCLEAN if it is no slot or is marked already.
 */
int wort_marks_add(struct wort_op *op, struct wort_marks *marks, u64 off,
		   u64 size)
{
	struct wort_alloc *alloc = marks->alloc;
	struct wort_extent *extent;
	unsigned long **bits;
	u32 slot;
	int err;

	mutex_lock(&alloc->lock);
	err = wort_extent_find(op, off, size, &extent, &slot);
	if (err)
		goto out;
	bits = &marks->bits[extent - alloc->extents];
	if (!*bits)
		*bits = kvcalloc(BITS_TO_LONGS(extent->slots),
				 sizeof(long), GFP_NOIO);
	if (!*bits)
		err = -ENOMEM;
	else if (*bits == &marks->tail || __test_and_set_bit(slot, *bits) ||
		 !mark_tail(marks, bits, extent->run))
		err = wort_corrupt(op, off, "object has two owners");
out:
	mutex_unlock(&alloc->lock);
	return err;
}

/* Each slot is marked, freed or unused; the first that is not, or slots. */
static u32 first_difference(struct wort_marks *marks,
			    struct wort_extent *extent, unsigned long *marked)
{
	struct wort_alloc *alloc = marks->alloc;
	u32 slots = extent->slots, slot;

	for (slot = 0; slot < slots; slot++) {
		bool used = test_bit(slot, wort_extent_bits(alloc, extent,
							    WORT_BITS_USED));
		bool freed = test_bit(slot, wort_extent_bits(alloc, extent,
							     WORT_BITS_FREED));

		if ((marked && test_bit(slot, marked)) != (used && !freed))
			break;
	}
	return slot;
}

/**
 * wort_marks_compare() - Is each slot owned, free, or being freed?
 * @op: The operation.
 * @marks: All marks.
 * @bad_off: Where the first difference is.
 *
 * Context: May sleep.  Takes wort_alloc.lock.  Nothing is reserved, freed or
 * reclaimed meanwhile.
 * Return: The number of extents in which something is owned that is not
 * allocated, or allocated and owned by nobody.
 */
int wort_marks_compare(struct wort_op *op, struct wort_marks *marks,
		       u64 *bad_off)
{
	struct wort_alloc *alloc = marks->alloc;
	struct wort_extent *extent;
	u32 nr, slot;
	int bad = 0;

	mutex_lock(&alloc->lock);
	for (nr = 0; nr < alloc->geo.nr_extents; nr++) {
		extent = &alloc->extents[nr];
		if (!extent->bits || marks->bits[nr] == &marks->tail)
			continue;
		slot = first_difference(marks, extent, marks->bits[nr]);
		if (slot == extent->slots)
			continue;
		wort_corrupt(op, wort_extent_off(alloc, extent) +
			     slot * extent->slot_size,
			     "allocated but owned by nobody, or the reverse");
		if (!bad++)
			*bad_off = op->bad_off;
	}
	mutex_unlock(&alloc->lock);
	return bad;
}
