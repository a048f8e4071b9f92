// SPDX-License-Identifier: GPL-2.0-only
#include <linux/bitmap.h>
#include <linux/minmax.h>

#include <asm/barrier.h>

#include "region.h"

/**
 * wort_region_bad() - Does a range touch a page known to be bad?
 * @region: A region with bad pages.
 * @off: First byte, inside the region.
 * @len: Length in bytes, ending inside the region.
 *
 * Context: Any context.
 * Return: True if it does.
 */
bool wort_region_bad(const struct wort_region *region, u64 off, u64 len)
{
	unsigned long last = (off + len - 1) >> WORT_PAGE_SHIFT;

	/* Set once, with the first bits: what they hold comes with it. */
	return find_next_bit(READ_ONCE(region->bad_pages), last + 1,
			     off >> WORT_PAGE_SHIFT) <= last;
}

static u64 find_plain(const struct wort_region *region)
{
	if (region->mcsafe || READ_ONCE(region->bad_pages) ||
	    region->size < WORT_PLAIN_SIZE)
		return 0;
	return min(region->size - WORT_PLAIN_SIZE, WORT_PLAIN_MAX);
}

/**
 * wort_region_update() - Find out how much of a region needs no closer look
 * @region: The region.
 *
 * Due before it is used, and when it gets bad pages, which may be at the same time.
 *
 * Context: Any context.
 */
void wort_region_update(struct wort_region *region)
{
	WRITE_ONCE(region->plain, find_plain(region));
	/* Either the first bad pages are seen here, or their update comes last. */
	smp_mb();
	if (READ_ONCE(region->bad_pages))
		WRITE_ONCE(region->plain, 0);
}
