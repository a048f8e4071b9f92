/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which kernels there is a module for, and what they do differently.
 * Included before every file: so it includes next to nothing.
 */
#ifndef _WORT_COMPAT_H
#define _WORT_COMPAT_H

#include <linux/types.h>
#include <linux/version.h>

#if KERNEL_VERSION(6, 1, 0) > LINUX_VERSION_CODE
# error "wort needs Linux 6.1 or later"
#endif

#ifndef CONFIG_64BIT
# error "wort publishes 8-byte words: it needs a 64-bit kernel"
#endif

#ifndef CONFIG_ARCH_HAS_PMEM_API
# error "this architecture cannot flush persistent memory (ARCH_HAS_PMEM_API)"
#endif

#ifndef CONFIG_FS_DAX
# error "wort needs a kernel with FS_DAX"
#endif

/* An event's string is named once since 6.10. */
#if KERNEL_VERSION(6, 10, 0) <= LINUX_VERSION_CODE
# define compat_assign_str(dst, src)	__assign_str(dst)
#else
# define compat_assign_str(dst, src)	__assign_str(dst, src)
#endif

/* Since 6.6, and in some that came before. */
#ifndef __uninitialized
# define __uninitialized
#endif

/* What a class is asked about for an event is constant since 6.2. */
#if KERNEL_VERSION(6, 2, 0) <= LINUX_VERSION_CODE
# define compat_uevent_device	const struct device
#else
# define compat_uevent_device	struct device
#endif

/*
 * A page frame is a number since 6.17, and was a struct with flags before, none
 * of which a mapping of bare frames is asked for.
 */
#if KERNEL_VERSION(6, 17, 0) <= LINUX_VERSION_CODE
# define compat_pfn(pfn)	(pfn)
#else
# define compat_pfn(pfn)	((pfn_t){ .val = (pfn) })
#endif

/* EXPORT_SYMBOL_NS_GPL() takes a word before Linux 6.13, and a string since. */
#if KERNEL_VERSION(6, 13, 0) > LINUX_VERSION_CODE
# define WORT_NS WORT
#else
# define WORT_NS "WORT"
#endif

/* The flags of a mapping are changed by functions only since 6.3. */
struct vm_area_struct;

void compat_vm_flags(struct vm_area_struct *vma, unsigned long set,
		     unsigned long clear);

/* A block device opened for its holder alone. */
struct block_device;
struct compat_bdev;

struct compat_bdev *compat_bdev_open(const char *path, bool write,
				     void *holder);
struct block_device *compat_bdev(struct compat_bdev *opened);
void compat_bdev_close(struct compat_bdev *opened, bool write);

/* Bad sectors are counted in a sector_t since 6.15, before that in an int. */
struct badblocks;
struct dax_device;

long compat_dax_access(struct dax_device *dev, unsigned long at, long nr,
		       bool repair, void **kaddr, unsigned long *pfn);
bool compat_badblocks(struct badblocks *bb, sector_t at, sector_t nr,
		      sector_t *bad, sector_t *nr_bad);

/**
 * struct compat_shrinker_ops - What has memory that the machine may need
 * @count: how many pages of it there are
 * @free: free so many; returns how many will be, or 0: it cannot be done now
 *
 * Reclaim calls them, perhaps with locks of its caller held: they must not
 * sleep.
 */
struct compat_shrinker_ops {
	unsigned long (*count)(void *data);
	unsigned long (*free)(void *data, unsigned long nr);
};

struct compat_shrinker;

struct compat_shrinker *
compat_shrinker_add(const char *name, const struct compat_shrinker_ops *ops,
		    void *data);
void compat_shrinker_remove(struct compat_shrinker *s);

struct file;
struct io_uring_cmd;

/**
 * struct compat_uring - A command through io_uring
 * @file: where it was sent
 * @op: its number
 * @nonblock: it must not sleep: -EAGAIN sends it to a worker
 * @plain: in an SQE of 64 bytes, with IOSQE_ASYNC, with no flag of commands
 * @bytes: the bytes that the SQE has for it
 */
struct compat_uring {
	struct file *file;
	unsigned int op;
	int nonblock;
	int plain;
	unsigned long long bytes[2];
};

void compat_uring_read(struct io_uring_cmd *ioucmd, unsigned int issue_flags,
		       struct compat_uring *out);

#endif /* _WORT_COMPAT_H */
