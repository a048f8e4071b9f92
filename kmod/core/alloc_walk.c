// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Marking the objects that are owned.
 *
 * After an attach nothing is known of extents that were open before.  The walk
 * over all indexes marks each object that it reaches; when it has ended, slots
 * without a mark are free.  Until then nothing is allocated from those extents
 * and nothing freed in them is given back, because an owner of a slot without a
 * mark may still be found.  A second power cut during the walk loses only the
 * marks.
 *
 * All marks are there before the first extent is settled, so settling drops the
 * lock between groups: an object that is freed meanwhile was marked, and the
 * free is noted.
 *
 * The first and the third bitmap of an unknown extent say how a slot was found:
 *
 *	used	nodes
 *	0	0	not yet
 *	1	0	by the walk, which meets the object once
 *	1	1	by the walk, as an inner node, which it may meet again
 *	0	1	kept: owned, however often the walk meets the object
 */
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/sched.h>

#include "extent.h"
#include "pmem.h"

/**
 * wort_alloc_walk_begin() - The walk is about to mark the objects that are owned
 * @alloc: The allocator; the walk has not ended, the extent table was read.
 *
 * From now on frees are noted in unknown extents, too.  So it makes no
 * difference whether the walk reaches an object before or after an operation
 * frees it.
 *
 * Then wort_alloc_keep() begins to note moved references.  A grace period
 * follows each of the two changes.  The second: an operation whose moves were
 * not noted has ended when the walk begins, so the walk finds the references in
 * their new places.  The first: an operation whose moves are noted began when
 * frees were noted already.  If another operation frees the object meanwhile,
 * the free is noted as well, and the slot does not stay used for nothing.
 *
 * Context: May sleep, waits for grace periods.  Takes wort_alloc.lock.  Holds
 * no section.
 */
void wort_alloc_walk_begin(struct wort_alloc *alloc)
{
	if (alloc->keeping)
		return;
	mutex_lock(&alloc->lock);
	alloc->noting = true;
	mutex_unlock(&alloc->lock);
	synchronize_srcu_expedited(&alloc->locks->writers);
	mutex_lock(&alloc->lock);
	WRITE_ONCE(alloc->keeping, true);
	mutex_unlock(&alloc->lock);
	synchronize_srcu_expedited(&alloc->locks->writers);
}

/* An extent opened since the attach knows its owners. */
static int verify_used(struct wort_op *op, u64 off, u32 nr, u32 slot)
{
	struct wort_slots *slots = wort_extent_at(op->alloc, nr)->slots;

	if (slots && !wort_slot_test(slots, WORT_BITS_USED, slot))
		return wort_corrupt(op, off, "owned object is free");
	return 0;
}

/* A slot of an unknown extent is found to be owned. */
static void count_found(struct wort_alloc *alloc, struct wort_slots *slots)
{
	slots->nr_used++;
	alloc->used_bytes += wort_slot_size(alloc,
					    wort_extent_at(alloc, slots->nr));
}

static int mark_slot(struct wort_op *op, u64 off, u32 nr, u32 slot, bool first)
{
	struct wort_slots *slots = wort_slots_need(op->alloc, nr, GFP_NOIO);
	bool node;

	if (!slots)
		return -ENOMEM;
	node = wort_slot_test(slots, WORT_BITS_NODES, slot);
	if (wort_slot_test(slots, WORT_BITS_USED, slot))
		return first || !node ?
		       wort_corrupt(op, off, "object has two owners") : 1;
	if (node)
		return 0;
	wort_slot_set(slots, WORT_BITS_USED, slot);
	if (!first)
		wort_slot_set(slots, WORT_BITS_NODES, slot);
	count_found(op->alloc, slots);
	return 0;
}

/**
 * wort_alloc_mark() - Mark an object as owned
 * @op: The operation.
 * @off: Its offset, untrusted.
 * @size: Its size, untrusted.
 * @first: The walk meets such an object once, so a mark there is damage, unless
 *	wort_alloc_keep() has set it.  False for inner nodes, which the walk may
 *	meet again, but as nothing else.
 *
 * Context: May sleep.  Takes wort_alloc.lock.  The owner may unlink the object
 * meanwhile.
 * Return: 0; 1 if the walk has marked it before, as an inner node, in an extent
 * that was open before the attach; -ENOMEM; -EUCLEAN if it is no slot or has
 * another owner.
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

static void keep_slot(struct wort_alloc *alloc, u32 nr, u32 slot)
{
	struct wort_slots *slots = wort_slots_need(alloc, nr,
						   GFP_NOIO | __GFP_NOFAIL);

	if (!wort_slot_test(slots, WORT_BITS_USED, slot) &&
	    !wort_slot_test(slots, WORT_BITS_NODES, slot))
		count_found(alloc, slots);
	wort_slot_clear(slots, WORT_BITS_USED, slot);
	wort_slot_set(slots, WORT_BITS_NODES, slot);
}

/**
 * wort_alloc_keep() - Note that an operation has moved a reference to an object
 * @op: The operation.
 * @off: Offset of the object, untrusted.
 * @size: Its size, untrusted.
 *
 * A walk may miss a reference that moves from a place that it has not reached
 * to one that it has passed, and may meet one twice that moves the other way.
 * An engine in which that can happen calls this function for each existing
 * reference that it has stored in a new place, when it has dropped its locks
 * and before its section ends.  The object counts as owned as if the walk had
 * met it, and the walk may meet it any number of times.  The same holds for a
 * check.  Does nothing if neither is under way.
 *
 * Cannot fail for lack of memory: it waits for it.  The operation has been
 * carried out, so an inconsistency is damage here, not a race with another
 * writer.
 *
 * Context: May sleep.  Takes wort_alloc.lock.  In a section of writers, in
 * which the object was owned.
 * Return: 0; -EUCLEAN if it is no slot, or one that is free.
 */
int wort_alloc_keep(struct wort_op *op, u64 off, u64 size)
{
	struct wort_alloc *alloc = op->alloc;
	bool alone = op->alone;
	u32 nr, slot;
	int err;

	if (!READ_ONCE(alloc->keeping) && !READ_ONCE(alloc->marks))
		return 0;
	op->alone = true;
	mutex_lock(&alloc->lock);
	err = wort_extent_find(op, off, size, &nr, &slot);
	if (!err && wort_extent_at(alloc, nr)->state != WORT_EXTENT_UNKNOWN)
		err = verify_used(op, off, nr, slot);
	else if (!err && alloc->keeping)
		keep_slot(alloc, nr, slot);
	if (!err && alloc->marks)
		wort_marks_keep(alloc->marks, nr, slot);
	mutex_unlock(&alloc->lock);
	op->alone = alone;
	/*
	 * No memory to read the table with: neither walk nor check has begun.
	 */
	return err == -ENOMEM ? 0 : err;
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
 * wort_alloc_walk_restart() - Forget all marks, and begin again to note changes
 * @op: The operation; the walk has not ended.
 *
 * Also forgets frees, because an operation that begins now does not meet those
 * objects any more.  An object that had two owners, of which one freed it,
 * stays for the other.
 *
 * Context: May sleep, waits for grace periods.  Takes wort_alloc.lock.  Holds
 * no section.
 */
void wort_alloc_walk_restart(struct wort_op *op)
{
	struct wort_alloc *alloc = op->alloc;

	mutex_lock(&alloc->lock);
	WRITE_ONCE(alloc->keeping, false);
	mutex_unlock(&alloc->lock);
	walk_unknown(op, forget_marks);
	wort_alloc_walk_begin(alloc);
}

/*
 * The end of the owned run that begins at an extent; of another extent, itself.
 */
static u32 owned_run_end(const struct wort_alloc *alloc, u32 nr)
{
	const struct wort_extent *extent = wort_extent_at(alloc, nr);
	bool owned = extent->run && extent->slots && extent->slots->nr_used;

	return nr + (owned ? extent->run : 1);
}

/* The extents that an owned run covers can own nothing themselves. */
static int verify_run(struct wort_op *op, u32 nr)
{
	struct wort_alloc *alloc = op->alloc;
	u32 end = owned_run_end(alloc, nr);
	const struct wort_extent *extent;

	while (++nr < end) {
		extent = wort_extent_at(alloc, nr);
		if (extent->state != WORT_EXTENT_UNKNOWN ||
		    (extent->slots && extent->slots->nr_used))
			return wort_corrupt(op, wort_extent_off(alloc, nr),
					    "run overlaps other objects");
	}
	return 0;
}

static int settle_run(struct wort_op *op, u32 nr)
{
	struct wort_alloc *alloc = op->alloc;
	u32 end = owned_run_end(alloc, nr);

	while (++nr < end) {
		wort_slots_drop(alloc, nr);
		wort_extent_set_class(wort_extent_at(alloc, nr),
				      WORT_CLASS_NONE, 0);
		wort_extent_at(alloc, nr)->state = WORT_EXTENT_TAIL;
	}
	return 0;
}

/*
 * The walk has marked all slots that are used.  A slot that was freed and not
 * marked was never owned, so its bit goes.  Returns how many freed slots stay.
 */
static u32 open_slots(struct wort_slots *slots)
{
	struct wort_slot_word *word = slots->word;
	u32 freed = 0;

	for (; word < slots->word + BITS_TO_LONGS(slots->slots); word++) {
		word->bits[WORT_BITS_USED] |= word->bits[WORT_BITS_NODES];
		word->bits[WORT_BITS_NODES] = 0;
		word->bits[WORT_BITS_FREED] &= word->bits[WORT_BITS_USED];
		freed += hweight_long(word->bits[WORT_BITS_FREED]);
	}
	return freed;
}

/* An unknown extent in which the walk found something. */
static void open_marked(struct wort_alloc *alloc, struct wort_slots *slots)
{
	struct wort_extent *extent = wort_extent_at(alloc, slots->nr);
	u32 freed = open_slots(slots);

	extent->state = WORT_EXTENT_OPEN;
	alloc->open_bytes += wort_extent_span(extent) * wort_extent_size(alloc);
	slots->hint = 0;
	if (slots->nr_used < slots->slots)
		wort_partial_add(alloc, slots, true);
	if (freed) {
		wort_alloc_freed(alloc, freed * wort_slot_size(alloc, extent));
		slots->freed_parts = U64_MAX;
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
 * wort_alloc_walk_end() - All objects that are owned have been marked
 * @op: The operation.
 *
 * Slots without a mark become free.  A marked object that was freed meanwhile
 * is left to wort_alloc_reclaim().
 *
 * Context: May sleep.  Takes wort_alloc.lock.  A grace period has passed since
 * the last object was walked.
 * Return: 0; -EUCLEAN if a run overlaps other objects; the walk has not ended
 * then.
 */
int wort_alloc_walk_end(struct wort_op *op)
{
	struct wort_alloc *alloc = op->alloc;
	int err = walk_unknown(op, verify_run);

	if (err)
		return err;
	/*
	 * If a run is damaged, none is settled: the next walk verifies all of
	 * them again.
	 */
	walk_unknown(op, settle_run);
	mutex_lock(&alloc->lock);
	wort_locks_reusing(alloc->locks);
	mutex_unlock(&alloc->lock);
	walk_unknown(op, settle_extent);
	if (op->pending)
		wort_pm_fence(op);
	mutex_lock(&alloc->lock);
	wort_alloc_released(alloc);
	/* pairs with the acquire in wort_pool_space_pending() */
	smp_store_release(&alloc->walking, false);
	WRITE_ONCE(alloc->keeping, false);
	mutex_unlock(&alloc->lock);
	return 0;
}
