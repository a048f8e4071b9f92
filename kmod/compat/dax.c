// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of a DAX device: a page frame is a number since 6.17 and was a struct
 * with flags before; bad blocks are counted in sectors since 6.15 and were in
 * an int before.
 */
#include <linux/badblocks.h>
#include <linux/dax.h>

#if KERNEL_VERSION(6, 17, 0) <= LINUX_VERSION_CODE

static long direct_access(struct dax_device *dev, pgoff_t at, long nr,
			  enum dax_access_mode mode, void **kaddr,
			  unsigned long *pfn)
{
	return dax_direct_access(dev, at, nr, mode, kaddr, pfn);
}

#else

#include <linux/pfn_t.h>

static long direct_access(struct dax_device *dev, pgoff_t at, long nr,
			  enum dax_access_mode mode, void **kaddr,
			  unsigned long *pfn)
{
	pfn_t first;
	long got = dax_direct_access(dev, at, nr, mode, kaddr,
				     pfn ? &first : NULL);

	if (pfn && got > 0)
		*pfn = pfn_t_to_pfn(first);
	return got;
}

#endif

/**
 * compat_dax_access() - Find memory of a DAX device
 * @dev: The device.
 * @at: The first page.
 * @nr: Pages.
 * @repair: Also where some of them are known to be bad.
 * @kaddr: Told: where it is mapped; or NULL.
 * @pfn: Told: the first page frame; or NULL.
 *
 * Context: Between dax_read_lock() and dax_read_unlock().
 * Return: How many pages from the first on are in one piece, or what
 * dax_direct_access() returns for none.
 */
long compat_dax_access(struct dax_device *dev, unsigned long at, long nr,
		       bool repair, void **kaddr, unsigned long *pfn)
{
	return direct_access(dev, at, nr,
			     repair ? DAX_RECOVERY_WRITE : DAX_ACCESS, kaddr,
			     pfn);
}

/**
 * compat_badblocks() - Is one of some sectors known to be bad?
 * @bb: The list of a disk.
 * @at: The first sector.
 * @nr: Sectors, at most INT_MAX.
 * @bad: Told: the first bad range's first sector.
 * @nr_bad: Told: its sectors.
 *
 * Context: Any context.
 * Return: True if so.
 */
bool compat_badblocks(struct badblocks *bb, sector_t at, sector_t nr,
		      sector_t *bad, sector_t *nr_bad)
{
#if KERNEL_VERSION(6, 15, 0) <= LINUX_VERSION_CODE
	return badblocks_check(bb, at, nr, bad, nr_bad);
#else
	int count = 0;
	bool found = badblocks_check(bb, at, nr, bad, &count);

	*nr_bad = count;
	return found;
#endif
}
