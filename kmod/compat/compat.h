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

/* A block device opened for its holder alone. */
struct block_device;
struct compat_bdev;

struct compat_bdev *compat_bdev_open(const char *path, bool write,
				     void *holder);
struct block_device *compat_bdev(struct compat_bdev *opened);
void compat_bdev_close(struct compat_bdev *opened, bool write);

#endif /* _WORT_COMPAT_H */
