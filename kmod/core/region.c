// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Bad pages of a region.
 *
 * A device has few bad pages, and nearly always none, so they are kept as a
 * sorted list of ranges: memory is taken by range, whatever the device holds.
 * A reader searches the list under RCU.  A range is added to a copy that
 * replaces the list.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include <asm/barrier.h>

#include "region.h"

/**
 * struct bad_range - A range of bad pages
 * @first: offset of the first page
 * @end: offset behind the last page
 */
struct bad_range {
	u64 first;
	u64 end;
};

/**
 * struct wort_bad_pages - The pages known to be bad
 * @rcu: frees the list after the last reader
 * @nr: ranges
 * @range: in the order of their offsets; they neither overlap nor touch each
 *	other
 */
struct wort_bad_pages {
	struct rcu_head rcu;
	u32 nr;
	struct bad_range range[];
};

/* The number of ranges that end before, or at, an offset. */
static u32 ranges_before(const struct wort_bad_pages *bad, u64 off)
{
	u32 low = 0, high = bad->nr, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (bad->range[mid].end <= off)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/**
 * wort_region_bad() - Does a range touch a page known to be bad?
 * @region: A region.
 * @off: First byte, inside the region.
 * @len: Length in bytes, ending inside the region.
 *
 * Context: Any context.
 * Return: True if it does.
 */
bool wort_region_bad(const struct wort_region *region, u64 off, u64 len)
{
	const struct wort_bad_pages *bad;
	bool touches = false;
	u32 i;

	rcu_read_lock();
	bad = rcu_dereference(region->bad_pages);
	if (bad) {
		i = ranges_before(bad, off);
		touches = i < bad->nr && bad->range[i].first < off + len;
	}
	rcu_read_unlock();
	return touches;
}

static u64 find_plain(const struct wort_region *region)
{
	if (region->mcsafe || wort_region_any_bad(region) ||
	    region->size < WORT_PLAIN_SIZE)
		return 0;
	return min(region->size - WORT_PLAIN_SIZE, WORT_PLAIN_MAX);
}

/**
 * wort_region_update() - Find out how much of a region needs no closer look
 * @region: The region.
 *
 * Due before it is used, and when it gets bad pages, which may be at the same
 * time.
 *
 * Context: Any context.
 */
void wort_region_update(struct wort_region *region)
{
	WRITE_ONCE(region->plain, find_plain(region));
	/*
	 * Either the first bad pages are seen here, or their update comes last.
	 */
	smp_mb();
	if (wort_region_any_bad(region))
		WRITE_ONCE(region->plain, 0);
}

/*
 * Copy a list, with one more range: it swallows those that it overlaps or
 * touches.
 */
static void copy_with(struct wort_bad_pages *to,
		      const struct wort_bad_pages *from, struct bad_range more)
{
	const struct bad_range *old;
	u32 i = 0, nr = from ? from->nr : 0;

	to->nr = 0;
	for (; i < nr && from->range[i].end < more.first; i++)
		to->range[to->nr++] = from->range[i];
	for (; i < nr && from->range[i].first <= more.end; i++) {
		old = &from->range[i];
		more.first = min(more.first, old->first);
		more.end = max(more.end, old->end);
	}
	to->range[to->nr++] = more;
	for (; i < nr; i++)
		to->range[to->nr++] = from->range[i];
}

/**
 * wort_region_add_bad() - Pages are bad
 * @region: The region.
 * @off: First byte that is bad, inside the region.
 * @len: Length in bytes, at least 1, ending inside the region.
 *
 * Each page that the range touches is bad as a whole.  Bad memory cannot be
 * left unnoticed, so this waits for memory rather than fail.
 *
 * Context: May sleep.  The caller keeps other callers for this region out;
 * readers may run concurrently.
 */
void wort_region_add_bad(struct wort_region *region, u64 off, u64 len)
{
	struct bad_range more = {
		.first = round_down(off, WORT_PLAIN_SIZE),
		.end = round_up(off + len, WORT_PLAIN_SIZE),
	};
	struct wort_bad_pages *old, *bad;

	old = rcu_dereference_protected(region->bad_pages, true);
	bad = kvmalloc(struct_size(bad, range, (old ? old->nr : 0) + 1),
		       GFP_NOIO | __GFP_NOFAIL);
	copy_with(bad, old, more);
	rcu_assign_pointer(region->bad_pages, bad);
	wort_region_update(region);
	if (old)
		kvfree_rcu(old, rcu);
}

/**
 * wort_region_forget_bad() - Free what is known of bad pages
 * @region: The region, which nobody uses any more.
 *
 * Context: May sleep.
 */
void wort_region_forget_bad(struct wort_region *region)
{
	kvfree(rcu_dereference_protected(region->bad_pages, true));
	RCU_INIT_POINTER(region->bad_pages, NULL);
}
