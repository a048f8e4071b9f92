// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Giving back what was freed, after a grace period.
 *
 * A freed slot has a bit in the second bitmap of its extent.  Reclaim moves
 * these bits to the third bitmap, waits, and then clears them in the first.
 * Bits set while it waits are for the next time.  So freeing needs no memory
 * and a batch is as large as what was freed meanwhile.
 *
 * Where objects are freed in no order, a few bits of each extent are set.  So
 * an extent knows the parts of its bitmaps that have any, and reclaim looks at
 * no others.
 *
 * An engine that keeps descriptors of its objects in DRAM frees parts of an
 * object, and has the same two bitmaps for them.  Parts and objects share the
 * grace period; parts alone cause one, too.
 */
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "extent.h"
#include "pmem.h"

/* The words of the first part in @parts: from @word to before @end. */
static void part_words(struct wort_slots *slots, u64 parts,
		       struct wort_slot_word **word,
		       struct wort_slot_word **end)
{
	u32 first = __ffs64(parts) << slots->part_shift;
	u32 words = BITS_TO_LONGS(slots->slots);

	*word = slots->word + min(first, words);
	*end = slots->word + min(first + (1U << slots->part_shift), words);
}

static void collect_slots(struct wort_slots *slots)
{
	struct wort_slot_word *word, *end;
	u64 parts;

	for (parts = slots->freed_parts; parts; parts &= parts - 1)
		for (part_words(slots, parts, &word, &end); word < end;
		     word++) {
			word->bits[WORT_BITS_WAITING] =
				word->bits[WORT_BITS_FREED];
			word->bits[WORT_BITS_FREED] = 0;
		}
	slots->waiting_parts = slots->freed_parts;
	slots->freed_parts = 0;
}

/* Returns true if there is anything to wait for. */
static bool collect(struct wort_alloc *alloc, struct list_head *batch)
{
	struct wort_slots *slots, *tmp;

	list_for_each_entry_safe(slots, tmp, &alloc->freeing, freeing) {
		collect_slots(slots);
		list_del_init(&slots->freeing);
		list_add_tail(&slots->waiting, batch);
	}
	return !list_empty(batch);
}

/* The slots of a word that have waited are free.  Return: how many they are. */
static u32 release_word(struct wort_slots *slots, struct wort_slot_word *word)
{
	unsigned long waited = word->bits[WORT_BITS_WAITING];

	word->bits[WORT_BITS_USED] &= ~waited;
	word->bits[WORT_BITS_WAITING] = 0;
	if (slots->zeroed)
		slots->dirty[word - slots->word] &= ~waited;
	return hweight_long(waited);
}

static u32 release_slots(struct wort_slots *slots)
{
	struct wort_slot_word *word, *end;
	u32 n = 0;
	u64 parts;

	for (parts = slots->waiting_parts; parts; parts &= parts - 1)
		for (part_words(slots, parts, &word, &end); word < end; word++)
			n += release_word(slots, word);
	slots->waiting_parts = 0;
	slots->zeroed = false;
	slots->hint = 0;
	return n;
}

static void release(struct wort_op *op, struct wort_slots *slots)
{
	struct wort_alloc *alloc = op->alloc;
	struct wort_extent *extent = wort_extent_at(alloc, slots->nr);
	u32 n = release_slots(slots);
	u64 bytes = n * wort_slot_size(alloc, extent);

	alloc->used_bytes -= bytes;
	wort_alloc_released(alloc);
	wort_alloc_freed(alloc, -bytes);
	if (!wort_slots_freed(alloc, slots, n)) {
		wort_extent_clear(op, slots->nr);
		wort_extent_close(alloc, slots->nr);
	}
}

static void release_all(struct wort_op *op, struct list_head *batch)
{
	struct wort_alloc *alloc = op->alloc;
	struct wort_slots *slots, *tmp;

	mutex_lock(&alloc->lock);
	list_for_each_entry_safe(slots, tmp, batch, waiting) {
		list_del_init(&slots->waiting);
		release(op, slots);
	}
	if (op->pending)
		wort_pm_fence(op);
	mutex_unlock(&alloc->lock);
}

/*
 * The parts are free for the engine, and their bytes are waited for no longer.
 */
static void reclaim_parts(struct wort_op *op, struct wort_parts *parts,
			  u64 bytes)
{
	struct wort_alloc *alloc = op->alloc;

	parts->reclaim(parts, op);
	if (!bytes)
		return;
	mutex_lock(&alloc->lock);
	wort_alloc_released(alloc);
	mutex_unlock(&alloc->lock);
	smp_mb__before_atomic();	/* as in wort_alloc_freed() */
	atomic64_sub(bytes, &alloc->parts_bytes);
}

/**
 * wort_alloc_reclaim() - Give back what was freed before the call
 * @op: An operation of its own.
 * @parts: Parts of objects that are to be given back, too; or NULL.
 *
 * While the walk runs, objects in extents opened since the attach are given
 * back: the walk marks an object in the section in which it loads the link, and
 * reclaim waits for that section.  Objects that were freed in unknown extents
 * are given back when the walk has ended.  Parts lie in objects that
 * stay: the walk does not matter to them.
 *
 * Parts go back before objects: an engine that gives back the last part of an
 * object may free that object, for the next time.
 *
 * Context: May sleep, waits for a grace period.  One caller at a time, and no
 * check is under way.
 * Return: True if anything was given back.
 */
bool wort_alloc_reclaim(struct wort_op *op, struct wort_parts *parts)
{
	struct wort_alloc *alloc = op->alloc;
	LIST_HEAD(batch);
	u64 bytes = parts ? parts->collect(parts) : 0;
	bool any;

	mutex_lock(&alloc->lock);
	any = collect(alloc, &batch);
	mutex_unlock(&alloc->lock);
	if (!any && !bytes)
		return false;
	wort_locks_synchronize(alloc->locks);
	mutex_lock(&alloc->lock);
	wort_locks_reusing(alloc->locks);
	mutex_unlock(&alloc->lock);
	wort_slots_zero_waiting(op, &batch);
	if (parts)
		reclaim_parts(op, parts, bytes);
	release_all(op, &batch);
	return true;
}

/**
 * wort_alloc_freeing() - Is anything freed and not given back?
 * @alloc: The allocator.
 *
 * Context: Any context.
 * Return: True if wort_alloc_reclaim() may yield space.
 */
bool wort_alloc_freeing(const struct wort_alloc *alloc)
{
	/* pairs with the release in wort_alloc_freed() */
	return smp_load_acquire(&alloc->freeing_bytes) ||
	       atomic64_read_acquire(&alloc->parts_bytes);
}
