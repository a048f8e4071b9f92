// SPDX-License-Identifier: GPL-2.0-only
#include <linux/bitmap.h>

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
