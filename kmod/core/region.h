/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The mapped memory of a pool.
 */
#ifndef _WORT_REGION_H
#define _WORT_REGION_H

#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/rcupdate.h>
#include <linux/types.h>

#ifdef __CHECKER__
# define __pmem __attribute__((noderef, address_space(__pmem)))
#else
# define __pmem
#endif

#define WORT_LINE	64
#define WORT_PAGE_SHIFT	12	/* granularity of known bad memory */
#define WORT_PLAIN_SIZE	BIT(WORT_PAGE_SHIFT)
#define WORT_PLAIN_MAX	BIT_ULL(50)

struct wort_bad_pages;

/**
 * struct wort_region - Mapped memory of a pool
 * @base: offset 0 of the pool
 * @size: bytes mapped
 * @plain: objects of at most WORT_PLAIN_SIZE bytes that start below this
 *	offset, a multiple of 8, need no further check: wort_region_verify() and
 *	wort_pm_probe() would accept them.  0 if each object has to be checked;
 *	at most WORT_PLAIN_MAX.  wort_region_update() sets it.
 * @bad_pages: the pages known to be bad, or NULL if none is;
 *	wort_region_add_bad() and wort_region_forget_bad() change it
 * @name: of the device, for messages; or NULL
 * @dev: number of the block device, for tracepoints; 0 if there is none
 * @flush: stores need a flush to become durable; false on a device whose
 *         caches are persistent.  Can change while operations run: each of
 *         them reads it once.
 * @mcsafe: memory may have poison that the driver does not know of: copy what
 *	    will be loaded first, in a way that survives a machine check
 * @readonly: nothing may be stored to it
 * @line_order: stores to one line become durable in the order in which they are
 *	made
 *
 * The caller that maps the memory sets all fields but @plain and @bad_pages.
 */
struct wort_region {
	void __pmem *base;
	u64 size;
	u64 plain;
	struct wort_bad_pages __rcu *bad_pages;
	const char *name;
	u32 dev;
	bool flush;
	bool mcsafe;
	bool readonly;
	bool line_order;
};

bool wort_region_bad(const struct wort_region *region, u64 off, u64 len);
void wort_region_update(struct wort_region *region);
void wort_region_add_bad(struct wort_region *region, u64 off, u64 len);
void wort_region_forget_bad(struct wort_region *region);

/**
 * wort_region_any_bad() - Is any page known to be bad?
 * @region: The region.
 *
 * Context: Any context.
 * Return: True if there is one.
 */
static inline bool wort_region_any_bad(const struct wort_region *region)
{
	return unlikely(rcu_access_pointer(region->bad_pages));
}

/**
 * wort_region_inside() - Does a range found on media lie in the region?
 * @region: The region.
 * @off: First byte of the range, as found on media.
 * @len: Length in bytes, at least 1, at most %S64_MAX.
 *
 * For objects that are only given back or referred to and not read: they may
 * lie on a bad page.
 *
 * Context: Any context.
 * Return: True if it does and @off is a multiple of 8.
 */
static inline bool wort_region_inside(const struct wort_region *region, u64 off,
				      u64 len)
{
	return off % 8 == 0 && off < region->size && len <= region->size - off;
}

/**
 * wort_region_verify() - May a range found on media be accessed?
 * @region: The region.
 * @off: First byte of the range, as found on media.
 * @len: Length in bytes, at least 1, at most %S64_MAX.
 *
 * Verifies neither the contents nor whether the range is allocated.
 *
 * Context: Any context.
 * Return: 0; -EUCLEAN if the range is not inside the region or @off is not a
 * multiple of 8; -EIO if it touches a page known to be bad.
 */
static inline int wort_region_verify(const struct wort_region *region, u64 off,
				     u64 len)
{
	if (!wort_region_inside(region, off, len))
		return -EUCLEAN;
	if (wort_region_any_bad(region) && wort_region_bad(region, off, len))
		return -EIO;
	return 0;
}

/**
 * wort_region_plain() - The first offset from which on objects have to be checked
 * @region: The region.
 *
 * Context: Any context.
 * Return: @plain of the region.
 */
static inline u64 wort_region_plain(const struct wort_region *region)
{
	return READ_ONCE(region->plain);
}

/**
 * wort_region_at() - The memory at an offset
 * @region: The region.
 * @off: An offset that wort_region_verify() accepted, or of an object that was
 *	allocated by the caller.
 *
 * Context: Any context.
 * Return: Its address, which only the primitives may dereference.
 */
static inline void __pmem *wort_region_at(const struct wort_region *region,
					  u64 off)
{
	return region->base + off;
}

#endif /* _WORT_REGION_H */
