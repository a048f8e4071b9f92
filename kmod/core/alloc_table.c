// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The extent table: what it says when a pool is attached, and its words.
 *
 * The table is read by group, when something in a group is first touched; the
 * background reads the rest.  Attach therefore takes the same time for a pool
 * of any size.  A group whose extents are all free gets no array.
 *
 * A run covers the extents behind its first one, which have no word of their
 * own.  No object takes more than max_run() extents, so the words of so many
 * extents before a group tell what covers it.  A longer run is the extent table
 * that the pool had before it grew: no index owns it, and its extents are free.
 * The table in use, if it lies in extents, covers what the superblock says.  A
 * word that is invalid or cannot be read was perhaps that of the longest run.
 *
 * Somebody may overwrite the table with zeroes, which say that all extents are
 * free.  The extent that holds the first block of the catalogue is never free,
 * so its word is the witness: if it is zero, no zero in the table is believed.
 * Then nothing is allocated, and a check that finds all else sound stores the
 * words again, that of the witness last.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include <linux/wort.h>
#include <linux/wort_format.h>

#include "extent.h"
#include "pmem.h"

static u32 max_run(const struct wort_alloc *alloc)
{
	return wort_run_of(alloc, WORT_OBJECT_MAX);
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
bool wort_table_known_bad(const struct wort_alloc *alloc, u32 nr)
{
	return wort_region_verify(alloc->region, table_off(alloc, nr),
				  sizeof(__le64));
}

static bool words_are_bad(struct wort_op *op, u32 nr, u32 n)
{
	struct wort_alloc *alloc = op->alloc;

	return wort_region_verify(alloc->region, table_off(alloc, nr),
				  n * sizeof(__le64)) ||
	       wort_pm_probe(op, table_word(alloc, nr), n * sizeof(__le64));
}

/* The same, or is it poisoned? */
bool wort_table_is_bad(struct wort_op *op, u32 nr)
{
	return words_are_bad(op, nr, 1);
}

/* Extents that the table itself takes. */
static u32 table_run(const struct wort_alloc *alloc)
{
	if (alloc->geo.table_off < alloc->geo.data_off)
		return 0;
	return wort_table_run(alloc->geo.nr_extents, alloc->geo.extent_shift);
}

/**
 * wort_alloc_table_bytes() - Bytes of extents that the extent table takes
 * @alloc: The allocator.
 *
 * Context: Any context.
 * Return: Them; 0 if the table lies before all extents.
 */
u64 wort_alloc_table_bytes(const struct wort_alloc *alloc)
{
	return table_run(alloc) * wort_extent_size(alloc);
}

/* Of the extents @first to @end, is any one taken by the table? */
bool wort_in_table(const struct wort_alloc *alloc, u32 first, u32 end)
{
	u64 rel = alloc->geo.table_off - alloc->geo.data_off;
	u32 table = rel >> alloc->geo.extent_shift;

	return table_run(alloc) && first < table + table_run(alloc) &&
	       end > table;
}

void wort_extent_set_class(struct wort_extent *extent, u32 class, u32 run)
{
	extent->class = class;
	extent->run = run;
}

/* Take over a word of the table; false if it is invalid. */
static bool parse_word(const struct wort_alloc *alloc,
		       struct wort_extent *extent, u32 nr, u64 word)
{
	u64 class = word & WORT_MEDIA_EXTENT_CLASS_MASK;
	u64 run = word >> WORT_MEDIA_EXTENT_LEN_SHIFT;

	if (class == WORT_MEDIA_EXTENT_RUN) {
		if (!run || run > alloc->geo.nr_extents - nr)
			return false;
		wort_extent_set_class(extent, WORT_CLASS_RUN,
				      run <= max_run(alloc) ? run : 1);
		return true;
	}
	if (run || !class || class > WORT_NR_CLASSES ||
	    wort_is_run(alloc, wort_class_size(class - 1)))
		return false;
	wort_extent_set_class(extent, class - 1, 0);
	return true;
}

/*
 * Take over the word of an extent that the table does not take.  Tells how many
 * extents it says something of, if they have no word of their own; 0: it says
 * that its own is free.
 */
static u32 read_word(struct wort_op *op, struct wort_extent *extent, u32 nr,
		     int *err)
{
	struct wort_alloc *alloc = op->alloc;
	u64 word;

	*err = 0;
	if (wort_table_is_bad(op, nr)) {
		*err = -EIO;
		return max_run(alloc);
	}
	word = wort_pm_load(table_word(alloc, nr));
	if (word && !parse_word(alloc, extent, nr, word)) {
		*err = -EUCLEAN;
		return max_run(alloc);
	}
	return word ? max(extent->run, 1U) : 0;
}

/* The first extent from @first on that no run covers which begins before it. */
static u32 covered_to(struct wort_op *op, u32 first)
{
	u32 nr = first - min(first, max_run(op->alloc) - 1), covered = first;
	int err;

	for (; nr < first; nr++) {
		struct wort_extent probe = { };

		if (!wort_in_table(op->alloc, nr, nr + 1))
			covered = max(covered,
				      nr + read_word(op, &probe, nr, &err));
	}
	return covered;
}

static u32 group_len(const struct wort_alloc *alloc, u32 group)
{
	return min(WORT_GROUP_EXTENTS,
		   alloc->geo.nr_extents - group * WORT_GROUP_EXTENTS);
}

static bool words_are_zero(struct wort_op *op, u32 first, u32 n)
{
	u64 any = 0;
	u32 nr;

	if (op->alloc->table_lost || words_are_bad(op, first, n))
		return false;
	for (nr = first; nr < first + n; nr++)
		any |= wort_pm_load(table_word(op->alloc, nr));
	return !any;
}

/**
 * wort_alloc_witness() - Can zeroes in the extent table be believed?
 * @op: The operation.
 * @off: Offset of an object that is owned at all times, inside the extents.
 *
 * Context: Any context.  Nothing of the table was read.
 */
void wort_alloc_witness(struct wort_op *op, u64 off)
{
	struct wort_alloc *alloc = op->alloc;
	u32 nr = (off - alloc->geo.data_off) >> alloc->geo.extent_shift;

	alloc->table_witness = nr;
	if (wort_table_is_bad(op, nr) || wort_pm_load(table_word(alloc, nr)))
		return;
	alloc->table_lost = true;
	alloc->table_err = wort_corrupt(op, table_off(alloc, nr),
					"extent of the catalogue is free: was the extent table overwritten?");
}

/**
 * wort_group_make() - Make the array of a group
 * @op: The operation.
 * @group: A group without one.  Its extents are free afterwards.
 *
 * Context: Holds wort_alloc.lock.
 * Return: 0 or -ENOMEM.
 */
int wort_group_make(struct wort_op *op, u32 group)
{
	struct wort_extent *extents;
	u32 i;

	extents = kcalloc(WORT_GROUP_EXTENTS, sizeof(*extents),
			  wort_op_gfp(op));
	if (!extents)
		return -ENOMEM;
	for (i = 0; i < WORT_GROUP_EXTENTS; i++)
		extents[i].class = WORT_CLASS_NONE;
	/* Pairs with wort_alloc_prefetch(), which takes no lock. */
	smp_store_release(&op->alloc->groups[group].extents, extents);
	return 0;
}

static void table_damaged(struct wort_op *op, u32 nr, int err)
{
	struct wort_alloc *alloc = op->alloc;

	if (err == -EUCLEAN)
		err = wort_corrupt(op, table_off(alloc, nr),
				   "extent word %#llx",
				   (unsigned long long)
					   wort_pm_load(table_word(alloc, nr)));
	if (!alloc->table_err)
		alloc->table_err = err;
}

static u32 read_extents(struct wort_op *op, u32 group, u32 covered)
{
	struct wort_alloc *alloc = op->alloc;
	u32 nr = group * WORT_GROUP_EXTENTS, end, free = 0;
	struct wort_extent *extent;
	int err;

	for (end = nr + group_len(alloc, group); nr < end; nr++) {
		extent = wort_extent_at(alloc, nr);
		if (wort_in_table(alloc, nr, nr + 1)) {
			extent->state = WORT_EXTENT_TAIL;
			continue;
		}
		covered = max(covered, nr + read_word(op, extent, nr, &err));
		if (err)
			table_damaged(op, nr, err);
		if (nr < covered || alloc->table_lost)
			extent->state = WORT_EXTENT_UNKNOWN;
		else
			free++;
	}
	return free;
}

/**
 * wort_group_read() - Read what the extent table says of a group
 * @op: The operation.
 * @group: The group; nothing is done if it was read.
 *
 * Damage is noted in wort_alloc.table_err: it makes the pool read-only, but the
 * group can be used.
 *
 * Context: May sleep.  Holds wort_alloc.lock.
 * Return: 0 or -ENOMEM.
 */
int wort_group_read(struct wort_op *op, u32 group)
{
	struct wort_alloc *alloc = op->alloc;
	u32 first = group * WORT_GROUP_EXTENTS, free = group_len(alloc, group);
	bool alone = op->alone;
	u32 covered;

	lockdep_assert_held(&alloc->lock);
	if (alloc->groups[group].read)
		return 0;
	covered = covered_to(op, first);
	wort_count(op, more_loads, DIV_ROUND_UP(free * 8, WORT_LINE));
	if (covered > first || wort_in_table(alloc, first, first + free) ||
	    !words_are_zero(op, first, free)) {
		if (wort_group_make(op, group))
			return -ENOMEM;
		/*
		 * No operation changes a word of this group before it is read.
		 */
		op->alone = true;
		free = read_extents(op, group, covered);
		op->alone = alone;
	}
	alloc->groups[group].nr_free = free;
	alloc->nr_free += free;
	alloc->groups[group].read = true;
	WRITE_ONCE(alloc->nr_unread, alloc->nr_unread - 1);
	return 0;
}

/**
 * wort_alloc_read_table() - Read what of the extent table was not read yet
 * @op: The operation.
 * @stop: Set if it is to end early.
 *
 * Context: May sleep.  Takes wort_alloc.lock, and lets go of it for each group.
 * Return: 0; -EINTR if it was stopped; -ENOMEM; -EUCLEAN if a word of the table
 * is invalid, or -EIO if one lies on bad memory.
 */
int wort_alloc_read_table(struct wort_op *op, const bool *stop)
{
	struct wort_alloc *alloc = op->alloc;
	u32 group;
	int err;

	for (group = 0; READ_ONCE(alloc->nr_unread); group++) {
		if (READ_ONCE(*stop))
			return -EINTR;
		mutex_lock(&alloc->lock);
		err = wort_group_read(op, group);
		mutex_unlock(&alloc->lock);
		if (err)
			return err;
		cond_resched();
	}
	return READ_ONCE(alloc->table_err);
}

static u32 groups_of(u32 nr_extents)
{
	return DIV_ROUND_UP(nr_extents, WORT_GROUP_EXTENTS);
}

/**
 * wort_alloc_servable() - Is there memory to attach a pool?
 * @nr_extents: Its extents.
 *
 * A pool is neither made nor grown beyond what could be attached afterwards.
 *
 * Context: May sleep.
 * Return: 0 or -ENOMEM.
 */
int wort_alloc_servable(u32 nr_extents)
{
	struct wort_group *groups = kvcalloc(groups_of(nr_extents),
					     sizeof(*groups), GFP_KERNEL);

	kvfree(groups);
	return groups ? 0 : -ENOMEM;
}

int wort_groups_init(struct wort_alloc *alloc)
{
	alloc->nr_groups = groups_of(alloc->geo.nr_extents);
	alloc->nr_unread = alloc->nr_groups;
	alloc->groups = kvcalloc(alloc->nr_groups, sizeof(*alloc->groups),
				 GFP_KERNEL);
	return alloc->groups ? 0 : -ENOMEM;
}

void wort_groups_destroy(struct wort_alloc *alloc)
{
	struct wort_extent *extents;
	u32 group, i;

	for (group = 0; alloc->groups && group < alloc->nr_groups; group++) {
		extents = alloc->groups[group].extents;
		for (i = 0; extents && i < WORT_GROUP_EXTENTS; i++)
			wort_slots_free(extents[i].slots);
		kfree(extents);
		cond_resched();
	}
	kvfree(alloc->groups);
}

static u64 word_of(const struct wort_extent *extent)
{
	if (extent->class == WORT_CLASS_RUN)
		return WORT_MEDIA_EXTENT_RUN |
		       (u64)extent->run << WORT_MEDIA_EXTENT_LEN_SHIFT;
	return extent->class + 1;
}

/* Store the word of an extent that is being opened, and flush it. */
void wort_table_store(struct wort_op *op, u32 nr)
{
	__le64 __pmem *word = table_word(op->alloc, nr);

	wort_pm_store_release(op, word, word_of(wort_extent_at(op->alloc, nr)));
	wort_pm_flush(op, word, sizeof(*word));
}

/* Clear the word of an extent: the next fence makes it durable. */
void wort_table_clear(struct wort_op *op, u32 nr)
{
	if (!wort_table_known_bad(op->alloc, nr))
		wort_pm_publish_later(op, table_word(op->alloc, nr), 0);
}

/* An extent in which the check has found objects, which agree on its class. */
static bool found_owned(struct wort_alloc *alloc, u32 nr)
{
	bool owned;

	mutex_lock(&alloc->lock);
	owned = wort_marks_any(alloc->marks, nr);
	mutex_unlock(&alloc->lock);
	return owned;
}

/*
 * Store the word that belongs in the place of an invalid one.  If the check has
 * found objects in the extent, these have told its class, since the table is
 * lost.  The lock keeps an operation from opening the extent meanwhile.
 */
static void mend_word(struct wort_op *op, u32 nr)
{
	struct wort_alloc *alloc = op->alloc;

	mutex_lock(&alloc->lock);
	if (wort_marks_any(alloc->marks, nr) ||
	    (wort_extent_made(alloc, nr) &&
	     wort_extent_in_use(wort_extent_at(alloc, nr))))
		wort_table_store(op, nr);
	else
		wort_table_clear(op, nr);
	mutex_unlock(&alloc->lock);
}

/*
 * A zero that is not true; that of the witness is mended when all others are.
 */
static bool lost_word(struct wort_op *op, u32 nr, bool mend)
{
	struct wort_alloc *alloc = op->alloc;

	if (!alloc->table_lost || !found_owned(alloc, nr))
		return false;
	if (mend && nr != alloc->table_witness)
		wort_table_store(op, nr);
	return !mend;
}

/* A power cut before this leaves a table that is lost, with some words more. */
static void mend_witness(struct wort_op *op)
{
	struct wort_alloc *alloc = op->alloc;

	wort_pm_fence(op);
	if (found_owned(alloc, alloc->table_witness))
		wort_table_store(op, alloc->table_witness);
	wort_pm_fence(op);
	alloc->table_lost = false;
}

/*
 * The word of an open extent is durable, and DRAM says what it was.  If the
 * table was overwritten, words are mended in an order, and not here.  True:
 * nothing is left to do.
 */
static bool check_open(struct wort_op *op, u32 nr, bool mend, u32 *bad)
{
	struct wort_alloc *alloc = op->alloc;
	struct wort_extent *extent;
	bool open;

	mutex_lock(&alloc->lock);
	extent = wort_extent_made(alloc, nr) ? wort_extent_at(alloc, nr) : NULL;
	open = extent && extent->state == WORT_EXTENT_OPEN &&
	       !alloc->table_lost;
	if (open && wort_pm_load(table_word(alloc, nr)) != word_of(extent)) {
		if (mend)
			wort_table_store(op, nr);
		else
			++*bad;
	}
	mutex_unlock(&alloc->lock);
	return open;
}

/* Wrong words of a group that were not mended, and those on bad memory. */
static u32 check_group(struct wort_op *op, u32 group, bool mend)
{
	struct wort_alloc *alloc = op->alloc;
	u32 nr = group * WORT_GROUP_EXTENTS, bad = 0, end;
	struct wort_extent probe = { };
	u64 word;

	if (!wort_extent_made(alloc, nr) &&
	    words_are_zero(op, nr, group_len(alloc, group)))
		return 0;
	for (end = nr + group_len(alloc, group); nr < end; nr++) {
		if (wort_table_is_bad(op, nr)) {
			bad++;
			continue;
		}
		if (check_open(op, nr, mend, &bad))
			continue;
		word = wort_pm_load(table_word(alloc, nr));
		if (!word)
			bad += lost_word(op, nr, mend);
		if (!word || parse_word(alloc, &probe, nr, word))
			continue;
		if (mend)
			mend_word(op, nr);
		else
			bad++;
	}
	return bad;
}

/**
 * wort_alloc_check_table() - Is every word of the extent table right?
 * @op: The operation.
 * @mend: Store those of extents in which something is owned, clear others that
 *	are invalid; the caller has marked all that is owned, and found no
 *	damage.
 * @bad: Told: words that are wrong and were not mended, and words that lie on
 *	pages known to be bad.
 *
 * Context: May sleep.
 * Return: 0; -EINTR if a fatal signal came.
 */
int wort_alloc_check_table(struct wort_op *op, bool mend, u32 *bad)
{
	struct wort_alloc *alloc = op->alloc;
	u32 group;
	int err = 0;

	*bad = 0;
	for (group = 0; group < alloc->nr_groups && !err; group++) {
		*bad += check_group(op, group, mend);
		cond_resched();
		if (fatal_signal_pending(current))
			err = -EINTR;
	}
	if (alloc->table_lost && mend && !err && !*bad)
		mend_witness(op);
	wort_pm_fence_in_flight(op);
	if (!err && !*bad)
		alloc->table_err = 0;
	return err;
}
