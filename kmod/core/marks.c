// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Comparing what is owned with what is allocated, while operations go on.
 *
 * A check marks what it finds owned.  From wort_marks_begin() on each slot that
 * is taken is noted as new, and nothing that is freed is given back.  So a slot
 * keeps its owner until wort_marks_end(), or is freed, and at the end each slot
 *
 *	that is marked			is used
 *	that is used and neither	is marked
 *	freed nor new nor kept
 *
 * Operations run beside the check, so it may have missed new objects, and may
 * have met freed ones.  It may have missed an object whose reference moved,
 * or have met it twice (wort_alloc_keep()).  An operation that reserved a slot
 * before the beginning has published it or given it back when the writers'
 * grace period has passed, for which the caller waits before it marks anything.
 */
#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "extent.h"

/* which bitmap of a marked extent */
#define BITS_MARKED	0
#define BITS_NODES	1	/* of these, inner nodes */
#define BITS_NEW	2	/* taken since the beginning */
#define BITS_KEPT	3	/* their references have moved since then */
#define NR_BITS		4

/**
 * wort_marks_begin() - Begin to mark what is owned
 * @marks: Uninitialised memory of the caller.
 * @alloc: The allocator.
 *
 * What is at hand is owned by nobody: it goes back first.
 *
 * Context: May sleep.  Takes wort_alloc.lock.  Nothing is reclaimed until
 * wort_marks_end(), and no other check begins.
 * Return: 0 or -ENOMEM; wort_marks_end() is due in any case.
 */
int wort_marks_begin(struct wort_marks *marks, struct wort_alloc *alloc)
{
	marks->alloc = alloc;
	marks->incomplete = false;
	marks->groups = kvcalloc(alloc->nr_groups, sizeof(*marks->groups),
				 GFP_NOIO);
	if (!marks->groups)
		return -ENOMEM;
	mutex_lock(&alloc->lock);
	wort_cache_drain(alloc);
	alloc->marks = marks;
	mutex_unlock(&alloc->lock);
	return 0;
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
 * wort_marks_end() - Forget the marks
 * @marks: Marks, or ones whose wort_marks_begin() failed.
 *
 * Context: May sleep.  Takes wort_alloc.lock.
 */
void wort_marks_end(struct wort_marks *marks)
{
	struct wort_alloc *alloc = marks->alloc;
	u32 group;

	mutex_lock(&alloc->lock);
	alloc->marks = NULL;
	mutex_unlock(&alloc->lock);
	for (group = 0; marks->groups && group < alloc->nr_groups; group++) {
		free_group(marks, marks->groups[group]);
		cond_resched();
	}
	kvfree(marks->groups);
}

/* The place of the bitmaps of an extent; NULL if there is no memory for it. */
static unsigned long **bits_at(struct wort_marks *marks, u32 nr)
{
	unsigned long ***group = &marks->groups[nr / WORT_GROUP_EXTENTS];

	if (!*group)
		*group = kcalloc(WORT_GROUP_EXTENTS, sizeof(**group), GFP_NOIO);
	return *group ? *group + nr % WORT_GROUP_EXTENTS : NULL;
}

static u32 longs_of(const struct wort_marks *marks, u32 nr)
{
	return BITS_TO_LONGS(wort_slots_of(marks->alloc,
					   wort_extent_at(marks->alloc, nr)));
}

/* The bitmaps of an extent, &marks->tail, or NULL if there is no memory. */
static unsigned long *bits_need(struct wort_marks *marks, u32 nr)
{
	unsigned long **bits = bits_at(marks, nr);

	if (bits && !*bits)
		*bits = kvcalloc(NR_BITS * longs_of(marks, nr), sizeof(long),
				 GFP_NOIO);
	return bits ? *bits : NULL;
}

/* The place of what is there already, or NULL. */
static unsigned long **bits_find(const struct wort_marks *marks, u32 nr)
{
	unsigned long **group = marks->groups[nr / WORT_GROUP_EXTENTS];

	return group ? group + nr % WORT_GROUP_EXTENTS : NULL;
}

/**
 * wort_marks_note() - Note that slots are taken
 * @marks: The marks.
 * @nr: The extent.
 * @word: The word of its bitmap in which they are.
 * @taken: A bit for each.
 *
 * Context: May sleep.  Holds wort_alloc.lock.
 */
void wort_marks_note(struct wort_marks *marks, u32 nr, u32 word,
		     unsigned long taken)
{
	unsigned long *bits = bits_need(marks, nr);

	/* A damaged link can have named a run that covers the extent. */
	if (bits && bits != &marks->tail)
		bits[BITS_NEW * longs_of(marks, nr) + word] |= taken;
	else
		marks->incomplete = true;
}

/**
 * wort_marks_keep() - Note that a reference to an object has moved
 * @marks: The marks.
 * @nr: The extent.
 * @slot: The slot in it.
 *
 * The check may miss the object, or find it more than once.
 *
 * Context: May sleep.  Holds wort_alloc.lock.
 */
void wort_marks_keep(struct wort_marks *marks, u32 nr, u32 slot)
{
	unsigned long *bits = bits_need(marks, nr);

	if (!bits)
		marks->incomplete = true;
	else if (bits != &marks->tail)
		__set_bit(slot, bits + BITS_KEPT * longs_of(marks, nr));
}

/**
 * wort_marks_any() - Was something marked in an extent?
 * @marks: The marks.
 * @nr: The extent.
 *
 * Context: Holds wort_alloc.lock.
 * Return: True if an object begins there.
 */
bool wort_marks_any(const struct wort_marks *marks, u32 nr)
{
	unsigned long **bits = bits_find(marks, nr);

	return bits && *bits && *bits != &marks->tail;
}

/**
 * wort_marks_forget() - Note that extents become free
 * @marks: The marks.
 * @nr: The first of them, in which nothing is used.
 * @n: How many.
 *
 * They may serve another class afterwards.
 *
 * Context: Holds wort_alloc.lock.
 */
void wort_marks_forget(struct wort_marks *marks, u32 nr, u32 n)
{
	unsigned long **bits;
	u32 end;

	for (end = nr + n; nr < end; nr++) {
		bits = bits_find(marks, nr);
		if (!bits)
			continue;
		if (*bits != &marks->tail)
			kvfree(*bits);
		*bits = NULL;
	}
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
		if (*bits || wort_in_table(marks->alloc, nr, nr + 1))
			return wort_corrupt(op,
					    wort_extent_off(marks->alloc, nr),
					    "run overlaps other objects");
		*bits = &marks->tail;
	}
	return 0;
}

static int mark_slot(struct wort_op *op, struct wort_marks *marks, u64 off,
		     u32 nr, u32 slot, bool first)
{
	const struct wort_extent *extent = wort_extent_at(marks->alloc, nr);
	unsigned long *bits = bits_need(marks, nr);
	u32 longs = longs_of(marks, nr);

	if (!bits)
		return -ENOMEM;
	if (wort_extent_in_use(extent) && extent->slots &&
	    !wort_slot_test(extent->slots, WORT_BITS_USED, slot))
		return wort_corrupt(op, off, "owned object is free");
	if (bits == &marks->tail)
		return wort_corrupt(op, off, "object inside a run");
	if (!__test_and_set_bit(slot, bits)) {
		if (!first)
			__set_bit(slot, bits + BITS_NODES * longs);
		return mark_tail(op, marks, nr);
	}
	if (test_bit(slot, bits + BITS_KEPT * longs) ||
	    (!first && test_bit(slot, bits + BITS_NODES * longs)))
		return 1;
	return wort_corrupt(op, off, "object has two owners");
}

/**
 * wort_marks_add() - Mark objects as owned
 * @op: The operation.
 * @marks: The marks.
 * @objects: The objects.  The result of each goes into its @err: 0; 1 if it is
 *	marked already and is a node, or was kept; -ENOMEM; -EUCLEAN if it is no
 *	slot or has another owner.
 * @nr: How many.
 *
 * Stops after the first error; the results of the objects behind it are not
 * set.
 *
 * Context: May sleep.  Takes wort_alloc.lock once.
 */
void wort_marks_add(struct wort_op *op, struct wort_marks *marks,
		    struct wort_object *objects, u32 nr)
{
	struct wort_alloc *alloc = marks->alloc;
	struct wort_object *object;
	u32 extent, slot;
	int err = 0;

	mutex_lock(&alloc->lock);
	for (object = objects; object < objects + nr && err >= 0; object++) {
		err = wort_extent_find(op, object->off, object->size, &extent,
				       &slot);
		if (!err)
			err = mark_slot(op, marks, object->off, extent, slot,
					object->first);
		object->err = err;
	}
	mutex_unlock(&alloc->lock);
}

/*
 * The slots of a word of the bitmaps that are not in a state that they may
 * have.
 */
static unsigned long unsound_slots(struct wort_slots *slots, u32 n, u32 word,
				   const unsigned long *bits)
{
	unsigned long used, marked = 0, known = 0;
	u32 longs = BITS_TO_LONGS(n);

	if (slots) {
		used = slots->word[word].bits[WORT_BITS_USED];
		known = slots->word[word].bits[WORT_BITS_FREED] |
			slots->word[word].bits[WORT_BITS_WAITING];
	} else {
		used = word < longs - 1 ? ~0UL : BITMAP_LAST_WORD_MASK(n);
	}
	if (bits) {
		marked = bits[BITS_MARKED * longs + word];
		known |= marked | bits[BITS_NEW * longs + word] |
			 bits[BITS_KEPT * longs + word];
	}
	return (marked & ~used) | (used & ~known);
}

static bool compare_extent(struct wort_op *op, struct wort_marks *marks, u32 nr)
{
	struct wort_alloc *alloc = marks->alloc;
	const struct wort_extent *extent = wort_extent_at(alloc, nr);
	u32 word, n = wort_slots_of(alloc, extent);
	unsigned long **bits = bits_find(marks, nr);
	unsigned long bad = 0;

	if (!wort_extent_in_use(extent))
		return true;
	for (word = 0; word < BITS_TO_LONGS(n) && !bad; word++)
		bad = unsound_slots(extent->slots, n, word,
				    bits ? *bits : NULL);
	if (!bad)
		return true;
	wort_corrupt(op, wort_extent_off(alloc, nr) +
			 ((word - 1) * BITS_PER_LONG + __ffs(bad)) *
			 wort_slot_size(alloc, extent),
		     "allocated but owned by nobody, or the reverse");
	return false;
}

static u32 compare_group(struct wort_op *op, struct wort_marks *marks,
			 u32 group, u64 *bad_off)
{
	struct wort_alloc *alloc = marks->alloc;
	u32 nr = group * WORT_GROUP_EXTENTS, bad = 0;
	u32 end = min(nr + WORT_GROUP_EXTENTS, alloc->geo.nr_extents);

	mutex_lock(&alloc->lock);
	if (!wort_extent_made(alloc, nr))
		nr = end;
	for (; nr < end; nr++)
		if (!compare_extent(op, marks, nr) && !bad++)
			*bad_off = op->bad_off;
	mutex_unlock(&alloc->lock);
	return bad;
}

/**
 * wort_marks_compare() - Is each slot owned, free, or being freed?
 * @op: The operation.
 * @marks: All marks.
 * @bad: Told: the extents in which something is owned that is not allocated, or
 *	allocated and owned by nobody.
 * @bad_off: Told, if there are any: where the first difference is.
 *
 * Context: May sleep.  Takes wort_alloc.lock, for a group of extents at a time.
 * Return: 0; -ENOMEM if slots were taken that could not be noted; -EINTR if a
 * fatal signal came.
 */
int wort_marks_compare(struct wort_op *op, struct wort_marks *marks, u32 *bad,
		       u64 *bad_off)
{
	u64 first_off = 0;
	u32 group, n;

	*bad = 0;
	for (group = 0; group < marks->alloc->nr_groups; group++) {
		if (fatal_signal_pending(current))
			return -EINTR;
		n = compare_group(op, marks, group, &first_off);
		if (n && !*bad)
			*bad_off = first_off;
		*bad += n;
		cond_resched();
	}
	return READ_ONCE(marks->incomplete) ? -ENOMEM : 0;
}
