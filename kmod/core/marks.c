// SPDX-License-Identifier: GPL-2.0-only
/*
 * Comparing what is owned with what is allocated.
 */
#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "extent.h"

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
	marks->groups = kvcalloc(alloc->nr_groups, sizeof(*marks->groups),
				 GFP_NOIO);
	return marks->groups ? 0 : -ENOMEM;
}

static void free_group(struct wort_marks *marks, unsigned long **bits)
{
	u32 i;

	for (i = 0; bits && i < WORT_GROUP_EXTENTS; i++)
		if (bits[i] != &marks->tail)
			kvfree(bits[i]);
	kfree(bits);
}

/**
 * wort_marks_destroy() - Forget the marks
 * @marks: Marks, or ones whose wort_marks_init() failed.
 *
 * Context: May sleep.
 */
void wort_marks_destroy(struct wort_marks *marks)
{
	u32 group;

	for (group = 0; marks->groups && group < marks->alloc->nr_groups;
	     group++) {
		free_group(marks, marks->groups[group]);
		cond_resched();
	}
	kvfree(marks->groups);
}

/* The place of the bitmap of an extent; NULL if there is no memory for it. */
static unsigned long **bits_at(struct wort_marks *marks, u32 nr)
{
	unsigned long ***group = &marks->groups[nr / WORT_GROUP_EXTENTS];

	if (!*group)
		*group = kcalloc(WORT_GROUP_EXTENTS, sizeof(**group), GFP_NOIO);
	return *group ? *group + nr % WORT_GROUP_EXTENTS : NULL;
}

/* Mark what an owned run covers. */
static int mark_tail(struct wort_op *op, struct wort_marks *marks, u32 nr)
{
	u32 end = nr + wort_extent_span(wort_extent_at(marks->alloc, nr));
	unsigned long **bits;

	while (++nr < end) {
		bits = bits_at(marks, nr);
		if (!bits)
			return -ENOMEM;
		if (*bits)
			return wort_corrupt(op,
					    wort_extent_off(marks->alloc, nr),
					    "run overlaps other objects");
		*bits = &marks->tail;
	}
	return 0;
}

static int mark_slot(struct wort_op *op, struct wort_marks *marks, u64 off,
		     u32 nr, u32 slot)
{
	u32 n = wort_slots_of(marks->alloc,
			      wort_extent_at(marks->alloc, nr));
	unsigned long **bits = bits_at(marks, nr);

	if (bits && !*bits)
		*bits = kvcalloc(BITS_TO_LONGS(n), sizeof(long), GFP_NOIO);
	if (!bits || !*bits)
		return -ENOMEM;
	if (*bits == &marks->tail || __test_and_set_bit(slot, *bits))
		return wort_corrupt(op, off, "object has two owners");
	return mark_tail(op, marks, nr);
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
	u32 nr, slot;
	int err;

	mutex_lock(&alloc->lock);
	err = wort_extent_find(op, off, size, &nr, &slot);
	if (!err)
		err = mark_slot(op, marks, off, nr, slot);
	mutex_unlock(&alloc->lock);
	return err;
}

/* Is a slot owned by somebody, as far as its extent knows? */
static bool is_owned(const struct wort_extent *extent, u32 slot)
{
	struct wort_slots *slots = extent->slots;

	return !slots || (test_bit(slot, wort_slot_bits(slots, WORT_BITS_USED)) &&
			  !test_bit(slot, wort_slot_bits(slots, WORT_BITS_FREED)));
}

/* Each slot is marked, freed or unused; the first that is not, or how many. */
static u32 first_difference(const struct wort_alloc *alloc,
			    const struct wort_extent *extent,
			    const unsigned long *marked)
{
	u32 n = wort_slots_of(alloc, extent), slot;

	for (slot = 0; slot < n; slot++)
		if ((marked && test_bit(slot, marked)) != is_owned(extent, slot))
			break;
	return slot;
}

static bool compare_extent(struct wort_op *op, struct wort_marks *marks, u32 nr)
{
	struct wort_alloc *alloc = marks->alloc;
	const struct wort_extent *extent = wort_extent_at(alloc, nr);
	unsigned long **group = marks->groups[nr / WORT_GROUP_EXTENTS];
	unsigned long *bits = group ? group[nr % WORT_GROUP_EXTENTS] : NULL;
	u32 slot;

	if (!wort_extent_in_use(extent))
		return true;
	slot = first_difference(alloc, extent, bits);
	if (slot == wort_slots_of(alloc, extent))
		return true;
	wort_corrupt(op, wort_extent_off(alloc, nr) +
			 slot * wort_slot_size(alloc, extent),
		     "allocated but owned by nobody, or the reverse");
	return false;
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
	int bad = 0;
	u32 nr;

	mutex_lock(&alloc->lock);
	for (nr = 0; nr < alloc->geo.nr_extents; nr++) {
		if (!wort_extent_made(alloc, nr)) {
			nr |= WORT_GROUP_EXTENTS - 1;
			continue;
		}
		if (!compare_extent(op, marks, nr) && !bad++)
			*bad_off = op->bad_off;
	}
	mutex_unlock(&alloc->lock);
	return bad;
}
