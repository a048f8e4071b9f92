// SPDX-License-Identifier: GPL-2.0-only
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
#include <linux/slab.h>

#include <linux/wort_format.h>
#include <trace/events/wort.h>

#include "alloc.h"
#include "pmem.h"

/**
 * wort_class_size() - Bytes of a slot
 * @class: A size class.
 *
 * Return: Its slot size.
 */
u32 wort_class_size(u32 class)
{
	if (class < 3)
		return 16 << class;
	return ((class - 3) % 8 + 9) << ((class - 3) / 8 + 3);
}

/* Reciprocals of 9 to 16, rounded up: exact for what lies in an extent. */
#define RECIPROCAL(n) DIV_ROUND_UP(1ULL << 32, n)

static const u64 reciprocals[] = {
	RECIPROCAL(9), RECIPROCAL(10), RECIPROCAL(11), RECIPROCAL(12),
	RECIPROCAL(13), RECIPROCAL(14), RECIPROCAL(15), RECIPROCAL(16),
};

/* The slot that a byte of an extent is in, or how many slots are before its end. */
static u32 slot_at(u32 class, u32 in_extent)
{
	if (class < 3)
		return in_extent >> (4 + class);
	class -= 3;
	return ((in_extent >> (class / 8 + 3)) * reciprocals[class % 8]) >> 32;
}

static u64 extent_size(const struct wort_alloc *alloc)
{
	return 1ULL << alloc->geo.extent_shift;
}

static bool is_run(const struct wort_alloc *alloc, u64 size)
{
	return size > extent_size(alloc) / 4;
}

static u32 run_of(const struct wort_alloc *alloc, u64 size)
{
	return (size + extent_size(alloc) - 1) >> alloc->geo.extent_shift;
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
	if (is_run(alloc, size))
		return run_of(alloc, size) * extent_size(alloc);
	return wort_class_size(wort_class_of(size));
}

u64 wort_extent_off(const struct wort_alloc *alloc,
		    const struct wort_extent *extent)
{
	u64 nr = extent - alloc->extents;

	return alloc->geo.data_off + (nr << alloc->geo.extent_shift);
}

unsigned long *wort_extent_bits(const struct wort_alloc *alloc,
				const struct wort_extent *extent, u32 which)
{
	u32 longs = BITS_TO_LONGS(extent->slots);

	return extent->bits + which * longs;
}

/* Give a class to an extent, or take it away.  A run is one slot. */
static void set_class(const struct wort_alloc *alloc, struct wort_extent *extent,
		      u32 class, u32 run)
{
	extent->class = class;
	extent->run = run;
	extent->slots = class != WORT_CLASS_NONE;
	extent->slot_size = run * extent_size(alloc);
	if (class < WORT_NR_CLASSES) {
		extent->slot_size = wort_class_size(class);
		extent->slots = slot_at(class, extent_size(alloc));
	}
}

int wort_extent_need_bits(const struct wort_alloc *alloc,
			  struct wort_extent *extent)
{
	if (!extent->bits)
		extent->bits = kvcalloc(3 * BITS_TO_LONGS(extent->slots),
					sizeof(long), GFP_NOIO);
	return extent->bits ? 0 : -ENOMEM;
}

static u64 table_off(const struct wort_alloc *alloc, u32 nr)
{
	return alloc->geo.table_off + (u64)nr * sizeof(__le64);
}

static __le64 __pmem *table_word(const struct wort_alloc *alloc, u32 nr)
{
	return wort_region_at(alloc->region, table_off(alloc, nr));
}

/* Does a word of the table lie on a page known to be bad? */
static bool table_word_known_bad(const struct wort_alloc *alloc, u32 nr)
{
	return wort_region_verify(alloc->region, table_off(alloc, nr),
				  sizeof(__le64));
}

/* The same, or is it poisoned? */
static bool table_word_is_bad(struct wort_op *op,
			      const struct wort_alloc *alloc, u32 nr)
{
	return table_word_known_bad(alloc, nr) ||
	       wort_pm_probe(op, table_word(alloc, nr), sizeof(__le64));
}

static u64 word_of(const struct wort_extent *extent)
{
	if (extent->class == WORT_CLASS_RUN)
		return WORT_MEDIA_EXTENT_RUN |
		       (u64)extent->run << WORT_MEDIA_EXTENT_LEN_SHIFT;
	return extent->class + 1;
}

/* Take over a word of the table found at attach; false if it makes no sense. */
static bool parse_word(const struct wort_alloc *alloc,
		       struct wort_extent *extent, u32 nr, u64 word)
{
	u64 class = word & WORT_MEDIA_EXTENT_CLASS_MASK;
	u64 run = word >> WORT_MEDIA_EXTENT_LEN_SHIFT;

	if (class == WORT_MEDIA_EXTENT_RUN) {
		set_class(alloc, extent, WORT_CLASS_RUN, run);
		return run && run <= alloc->geo.nr_extents - nr;
	}
	if (run || !class || class > WORT_NR_CLASSES ||
	    is_run(alloc, wort_class_size(class - 1)))
		return false;
	set_class(alloc, extent, class - 1, 0);
	return true;
}

/*
 * A run covers the extents behind its first one without a word in theirs; a
 * former run may still seem to cover extents that serve others since.  So
 * whatever is covered is unknown until the walk has found what is owned.
 */
static int read_table(struct wort_op *op, struct wort_alloc *alloc)
{
	u32 nr, covered = 0;
	u64 word;
	int err = 0;

	for (nr = 0; nr < alloc->geo.nr_extents; nr++) {
		struct wort_extent *extent = &alloc->extents[nr];

		INIT_LIST_HEAD(&extent->partial);
		INIT_LIST_HEAD(&extent->freeing);
		INIT_LIST_HEAD(&extent->waiting);
		extent->class = WORT_CLASS_NONE;
		word = WORT_MEDIA_EXTENT_RUN;
		if (table_word_is_bad(op, alloc, nr))
			err = -EIO;
		else
			word = wort_pm_load(table_word(alloc, nr));
		wort_count(op, more_loads, nr % (WORT_LINE / 8) == 0);
		if (word && !parse_word(alloc, extent, nr, word)) {
			if (!err)
				err = wort_corrupt(op, table_off(alloc, nr),
						   "extent word %#llx",
						   (unsigned long long)word);
			set_class(alloc, extent, WORT_CLASS_NONE, 0);
		}
		covered = max(covered, nr + extent->run);
		if (!word && nr >= covered) {
			alloc->nr_free++;
			continue;
		}
		extent->state = WORT_EXTENT_UNKNOWN;
		__set_bit(nr, alloc->busy);
	}
	return err;
}

/**
 * wort_alloc_init() - Set up the allocator of a pool
 * @op: An operation on the region.
 * @alloc: The allocator, zeroed.
 * @region: Memory of the pool.
 * @geo: Where extents lie, verified by the caller to be inside the region.
 * @locks: Locks of the pool, for their grace periods.
 *
 * Reads the extent table.  The walk begins: until wort_alloc_walk_end() only
 * extents that were free are opened.
 *
 * Context: May sleep.
 * Return: 0; -ENOMEM; -EUCLEAN if a word of the table makes no sense, or -EIO
 * if it lies on a page known to be bad, upon which the allocator serves for
 * reading.  wort_alloc_destroy() is due in any case.
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
	for (class = 0; class < WORT_NR_CLASSES; class++)
		INIT_LIST_HEAD(&alloc->partial[class]);
	alloc->extents = kvcalloc(geo->nr_extents, sizeof(*alloc->extents),
				  GFP_KERNEL);
	alloc->busy = kvcalloc(BITS_TO_LONGS(geo->nr_extents), sizeof(long),
			       GFP_KERNEL);
	if (!alloc->extents || !alloc->busy || wort_cache_init(alloc))
		return -ENOMEM;
	return read_table(op, alloc);
}

/**
 * wort_alloc_check_table() - Does every word of the extent table make sense?
 * @op: The operation.
 * @mend: Clear those that do not; the caller knows that nothing is owned there.
 *
 * Context: May sleep.
 * Return: Words that make no sense and were not mended, and words that lie on
 * pages known to be bad.
 */
u32 wort_alloc_check_table(struct wort_op *op, bool mend)
{
	struct wort_alloc *alloc = op->alloc;
	u32 nr, bad = 0;

	for (nr = 0; nr < alloc->geo.nr_extents; nr++) {
		struct wort_extent probe = { };
		u64 word;

		if (table_word_is_bad(op, alloc, nr)) {
			bad++;
			continue;
		}
		word = wort_pm_load(table_word(alloc, nr));
		if (!word || parse_word(alloc, &probe, nr, word))
			continue;
		if (mend)
			wort_pm_publish_later(op, table_word(alloc, nr), 0);
		else
			bad++;
	}
	wort_pm_fence_settled(op);
	return bad;
}

/**
 * wort_alloc_destroy() - Forget all about a pool
 * @alloc: An allocator, or one whose wort_alloc_init() failed.
 *
 * Context: May sleep.  Nobody uses the allocator any more.
 */
void wort_alloc_destroy(struct wort_alloc *alloc)
{
	u32 nr;

	for (nr = 0; alloc->extents && nr < alloc->geo.nr_extents; nr++)
		kvfree(alloc->extents[nr].bits);
	kvfree(alloc->extents);
	kvfree(alloc->busy);
	wort_cache_destroy(alloc);
	mutex_destroy(&alloc->lock);
}

/*
 * Does it, or its word of the table, touch a page known to be bad?  Then
 * nothing new is put there.
 */
static bool is_bad(const struct wort_alloc *alloc,
		   const struct wort_extent *extent)
{
	return unlikely(READ_ONCE(alloc->region->bad_pages)) &&
	       (table_word_known_bad(alloc, extent - alloc->extents) ||
		wort_region_bad(alloc->region, wort_extent_off(alloc, extent),
				extent_size(alloc)));
}

/* Take free extents that are bad out of use.  Returns how many of @n are. */
static u32 retire_bad(struct wort_alloc *alloc, u32 nr, u32 n)
{
	u32 i, bad = 0;

	for (i = nr; i < nr + n; i++) {
		if (!is_bad(alloc, &alloc->extents[i]))
			continue;
		alloc->extents[i].state = WORT_EXTENT_BAD;
		__set_bit(i, alloc->busy);
		alloc->nr_free--;
		bad++;
	}
	return bad;
}

/* Free extents in a row, or nr_extents.  None is given up below the reserve. */
static u32 find_free(struct wort_alloc *alloc, u32 run)
{
	u32 keep = alloc->walking ? 0 : alloc->reserve;
	u32 nr_extents = alloc->geo.nr_extents;
	unsigned long nr;

	do {
		if (alloc->nr_free < keep + run)
			return nr_extents;
		nr = bitmap_find_next_zero_area(alloc->busy, nr_extents, 0,
						run, 0);
		if (nr >= nr_extents)
			return nr_extents;
	} while (retire_bad(alloc, nr, run));
	return nr;
}

/* Open free extents for a class or as a run.  Nothing is stored yet. */
static noinline int open_extent(struct wort_alloc *alloc, u32 class, u32 run,
				struct wort_extent **out)
{
	u32 n = max(run, 1U), nr = find_free(alloc, n), i;
	struct wort_extent *extent;
	int err;

	if (nr == alloc->geo.nr_extents)
		return -ENOSPC;
	extent = &alloc->extents[nr];
	set_class(alloc, extent, class, run);
	err = wort_extent_need_bits(alloc, extent);
	if (err) {
		set_class(alloc, extent, WORT_CLASS_NONE, 0);
		return err;
	}
	extent->state = WORT_EXTENT_OPENING;
	extent->nr_used = 0;
	extent->hint = 0;
	for (i = 1; i < n; i++)
		alloc->extents[nr + i].state = WORT_EXTENT_TAIL;
	bitmap_set(alloc->busy, nr, n);
	alloc->nr_free -= n;
	if (!run)
		list_add(&extent->partial, &alloc->partial[class]);
	trace_wort_extent_open(alloc->region->dev,
			       wort_extent_off(alloc, extent),
			       extent->slot_size, run);
	*out = extent;
	return 0;
}

/* Nothing in the extent is used: it, or its run, is free. */
void wort_extent_close(struct wort_alloc *alloc, struct wort_extent *extent)
{
	u32 nr = extent - alloc->extents, n = max(extent->run, 1U), i;

	trace_wort_extent_free(alloc->region->dev,
			       wort_extent_off(alloc, extent),
			       extent->slot_size, extent->run);
	list_del_init(&extent->partial);
	list_del_init(&extent->freeing);
	kvfree(extent->bits);
	extent->bits = NULL;
	set_class(alloc, extent, WORT_CLASS_NONE, 0);
	for (i = 0; i < n; i++)
		alloc->extents[nr + i].state = WORT_EXTENT_FREE;
	bitmap_clear(alloc->busy, nr, n);
	alloc->nr_free += n;
	wort_alloc_released(alloc);
}

/**
 * wort_extent_clear() - Let the extent table say that an extent is free
 * @op: The operation; fences before it ends.
 * @extent: An extent in which nothing is used, about to be closed.
 *
 * Old and new word are both legal: nothing is owned there.  Without this an
 * extent that was ever open would be unknown after a power cut, and those kept
 * in reserve for that time of no use.
 *
 * Context: Holds wort_alloc.lock.
 */
void wort_extent_clear(struct wort_op *op, struct wort_extent *extent)
{
	u32 nr = extent - op->alloc->extents;

	if (extent->class == WORT_CLASS_NONE ||
	    table_word_known_bad(op->alloc, nr))
		return;
	wort_pm_publish_later(op, table_word(op->alloc, nr), 0);
}

/* Slots were taken, and none below @hint is free. */
static void taken(struct wort_alloc *alloc, struct wort_extent *extent,
		  u32 slots, u32 hint)
{
	extent->hint = hint;
	extent->nr_used += slots;
	if (extent->nr_used == extent->slots)
		list_del_init(&extent->partial);
	alloc->used_bytes += slots * extent->slot_size;
}

/* Take a slot of an open extent that has a free one. */
static u64 take_slot(struct wort_alloc *alloc, struct wort_extent *extent)
{
	unsigned long *used = wort_extent_bits(alloc, extent, WORT_BITS_USED);
	u32 slot = find_next_zero_bit(used, extent->slots, extent->hint);

	__set_bit(slot, used);
	taken(alloc, extent, 1, slot + 1);
	return wort_extent_off(alloc, extent) + slot * extent->slot_size;
}

/**
 * wort_extent_take_word() - Take the free slots of a word of the bitmap
 * @alloc: The allocator.
 * @extent: An open extent with a free slot.
 * @cached: Filled in.
 *
 * Context: Holds wort_alloc.lock.
 */
void wort_extent_take_word(struct wort_alloc *alloc, struct wort_extent *extent,
			   struct wort_cached *cached)
{
	unsigned long *used = wort_extent_bits(alloc, extent, WORT_BITS_USED);
	u32 first = round_down(find_next_zero_bit(used, extent->slots,
						  extent->hint), BITS_PER_LONG);
	u32 slots = min_t(u32, extent->slots - first, BITS_PER_LONG);

	cached->free = ~used[BIT_WORD(first)] & BITMAP_LAST_WORD_MASK(slots);
	cached->off = wort_extent_off(alloc, extent) +
		      first * extent->slot_size;
	cached->slot_size = extent->slot_size;
	used[BIT_WORD(first)] |= cached->free;
	taken(alloc, extent, hweight_long(cached->free), first + slots);
}

/**
 * wort_extent_untake() - A slot was taken for nothing
 * @alloc: The allocator.
 * @off: Its offset.
 *
 * Context: Holds wort_alloc.lock.
 */
void wort_extent_untake(struct wort_alloc *alloc, u64 off)
{
	struct wort_extent *extent = wort_extent_of(alloc, off);
	u32 slot = extent->run ? 0 :
		   slot_at(extent->class, off - wort_extent_off(alloc, extent));

	__clear_bit(slot, wort_extent_bits(alloc, extent, WORT_BITS_USED));
	alloc->used_bytes -= extent->slot_size;
	extent->hint = min(extent->hint, slot);
	wort_alloc_released(alloc);
	if (!--extent->nr_used)
		wort_extent_close(alloc, extent);
	else if (list_empty(&extent->partial))
		list_add(&extent->partial, &alloc->partial[extent->class]);
}

/* An open extent with a free slot, or NULL.  Nothing new is put on bad pages. */
static struct wort_extent *find_partial(struct wort_alloc *alloc, u32 class)
{
	struct list_head *list = &alloc->partial[class];
	struct wort_extent *extent;

	while (likely(!list_empty(list))) {
		extent = list_first_entry(list, struct wort_extent, partial);
		if (!is_bad(alloc, extent))
			return extent;
		list_del_init(&extent->partial);
	}
	return NULL;
}

static int find_space(struct wort_alloc *alloc, u64 size,
		      struct wort_extent **extent)
{
	u32 class;

	if (unlikely(is_run(alloc, size)))
		return open_extent(alloc, WORT_CLASS_RUN, run_of(alloc, size),
				   extent);
	class = wort_class_of(size);
	*extent = find_partial(alloc, class);
	return likely(*extent) ? 0 : open_extent(alloc, class, 0, extent);
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
	struct wort_extent *extent;
	int err;

	if (WARN_ON_ONCE(op->nr_reserved == WORT_RESERVE_MAX))
		return -ENOMEM;
	mutex_lock(&alloc->lock);
	err = find_space(alloc, size, &extent);
	if (err == -ENOSPC && wort_cache_drain(alloc))
		err = find_space(alloc, size, &extent);
	if (err)
		op->released = alloc->released;
	else
		op->reserved[op->nr_reserved++] =
			wort_cache_allowed(alloc, size) ?
			wort_cache_fill(alloc, extent) :
			take_slot(alloc, extent);
	mutex_unlock(&alloc->lock);
	return err;
}

/*
 * Store the word of an extent that is being opened.  The fence of the caller
 * before it publishes makes it durable.
 */
noinline void wort_extent_opening(struct wort_op *op,
				  struct wort_extent *extent)
{
	u64 lines = op->n.lines;
	__le64 __pmem *word;

	word = table_word(op->alloc, extent - op->alloc->extents);
	wort_pm_store_release(op, word, word_of(extent));
	wort_pm_flush(op, word, sizeof(*word));
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
			WRITE_ONCE(extent->state, WORT_EXTENT_OPEN);
			continue;
		}
		wort_extent_untake(alloc, op->reserved[i]);
	}
	/* What it gives back itself is no reason to try again. */
	op->released += alloc->released - released;
	mutex_unlock(&alloc->lock);
	op->nr_reserved = 0;
	op->nr_taken = 0;
	op->opening = false;
}

/*
 * Nobody can read what an extent serves whose word lies on bad memory: the first
 * object found in it tells.  Nothing is stored to such a pool.
 */
static void guess_class(struct wort_op *op, struct wort_extent *extent,
			u64 size)
{
	struct wort_alloc *alloc = op->alloc;

	if (extent->state != WORT_EXTENT_UNKNOWN ||
	    extent->class != WORT_CLASS_NONE ||
	    !table_word_is_bad(op, alloc, extent - alloc->extents))
		return;
	if (is_run(alloc, size))
		set_class(alloc, extent, WORT_CLASS_RUN, run_of(alloc, size));
	else
		set_class(alloc, extent, wort_class_of(size), 0);
}

/**
 * wort_extent_find() - The slot of an object named by media
 * @op: The operation.
 * @off: Its offset, not trusted.
 * @size: Its size, not trusted.
 * @extent: The extent.
 * @slot: The slot in it.
 *
 * Two objects can overlap only if they are in the same slot: an offset that is
 * not at the start of a slot of the extent's class is refused.
 *
 * Context: Holds wort_alloc.lock.
 * Return: 0 or -EUCLEAN.
 */
int wort_extent_find(struct wort_op *op, u64 off, u64 size,
		     struct wort_extent **extent, u32 *slot)
{
	struct wort_alloc *alloc = op->alloc;
	u64 rel = off - alloc->geo.data_off;
	u64 nr = rel >> alloc->geo.extent_shift, in_extent;
	u32 class = WORT_CLASS_RUN;

	lockdep_assert_held(&alloc->lock);
	if (off < alloc->geo.data_off || nr >= alloc->geo.nr_extents)
		return wort_corrupt(op, off, "object outside the extents");
	*extent = &alloc->extents[nr];
	guess_class(op, *extent, size);
	in_extent = rel & (extent_size(alloc) - 1);
	if (!is_run(alloc, size))
		class = wort_class_of(size);
	if ((*extent)->class != class || (*extent)->state == WORT_EXTENT_TAIL ||
	    (*extent)->state == WORT_EXTENT_FREE)
		return wort_corrupt(op, off, "object in an extent of another class");
	if (class == WORT_CLASS_RUN &&
	    (in_extent || (*extent)->run != run_of(alloc, size)))
		return wort_corrupt(op, off, "object is not the run it lies in");
	if (class == WORT_CLASS_RUN) {
		*slot = 0;
		return 0;
	}
	*slot = slot_at(class, in_extent);
	if (*slot * wort_class_size(class) != in_extent ||
	    *slot >= (*extent)->slots)
		return wort_corrupt(op, off, "object between slots");
	return 0;
}

/**
 * wort_alloc_free() - Give back an object
 * @op: The operation that unlinked it.
 * @off: Its offset.
 * @size: Its size.
 *
 * The word that unlinked it is durable.  It is reused after a grace period,
 * and not before the walk has ended.  Needs no memory.  The operation has been
 * carried out, so what makes no sense here is damage, whoever is beside it.
 *
 * In an unknown extent without bits the walk has not begun; it will not find
 * the object, which is what free means there.  Later it may still come by, in
 * what it has seen of the tree before, and mark the object: so that is noted.
 *
 * Context: May sleep.  Takes wort_alloc.lock.
 * Return: 0; -EUCLEAN if no such object is allocated.
 */
int wort_alloc_free(struct wort_op *op, u64 off, u64 size)
{
	struct wort_alloc *alloc = op->alloc;
	struct wort_extent *extent;
	u32 slot;
	int err;

	op->alone = true;
	mutex_lock(&alloc->lock);
	err = wort_extent_find(op, off, size, &extent, &slot);
	if (err || !extent->bits)
		goto out;
	if (extent->state != WORT_EXTENT_UNKNOWN &&
	    !test_bit(slot, wort_extent_bits(alloc, extent, WORT_BITS_USED))) {
		err = wort_corrupt(op, off, "freed object is not allocated");
		goto out;
	}
	if (test_bit(slot, wort_extent_bits(alloc, extent, WORT_BITS_WAITING)) ||
	    __test_and_set_bit(slot, wort_extent_bits(alloc, extent,
						      WORT_BITS_FREED))) {
		err = wort_corrupt(op, off, "object freed twice");
		goto out;
	}
	if (extent->state == WORT_EXTENT_UNKNOWN)
		goto out;
	wort_alloc_freed(alloc, extent->slot_size);
	if (list_empty(&extent->freeing))
		list_add_tail(&extent->freeing, &alloc->freeing);
out:
	mutex_unlock(&alloc->lock);
	return err;
}

/* Counted afresh, extent by extent, so that it can be held against the sums. */
static u64 free_bytes(const struct wort_alloc *alloc)
{
	const struct wort_extent *extent;
	u64 bytes = 0;
	u32 nr;

	for (nr = 0; nr < alloc->geo.nr_extents; nr++) {
		extent = &alloc->extents[nr];
		if (extent->state == WORT_EXTENT_FREE)
			bytes += extent_size(alloc);
		else if (!extent->run && (extent->state == WORT_EXTENT_OPEN ||
					  extent->state == WORT_EXTENT_OPENING))
			bytes += extent_size(alloc) -
				 extent->nr_used * extent->slot_size;
	}
	return bytes;
}

/**
 * wort_alloc_info() - Figures for people
 * @alloc: The allocator.
 * @info: Filled in.
 *
 * Context: May sleep.  Takes wort_alloc.lock.
 */
void wort_alloc_info(struct wort_alloc *alloc, struct wort_alloc_info *info)
{
	mutex_lock(&alloc->lock);
	wort_cache_drain(alloc);
	info->free_extents = alloc->nr_free;
	info->reserve_extents = min(alloc->nr_free, alloc->reserve);
	info->used_bytes = alloc->used_bytes;
	info->freeing_bytes = alloc->freeing_bytes;
	info->free_bytes = free_bytes(alloc);
	info->known = !alloc->walking;
	mutex_unlock(&alloc->lock);
}
