// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exclusive open of a block device.  What the kernel gives stands for itself
 * behind the opaque struct: a file since 6.9, the device before.
 */
#include <linux/blkdev.h>
#include <linux/err.h>

#if KERNEL_VERSION(6, 9, 0) <= LINUX_VERSION_CODE

static void *open_excl(const char *path, bool write, void *holder)
{
	return bdev_file_open_by_path(path, BLK_OPEN_READ |
				      (write ? BLK_OPEN_WRITE : 0),
				      holder, NULL);
}

static struct block_device *bdev_of(void *opened)
{
	return file_bdev(opened);
}

static void close(void *opened, bool write)
{
	bdev_fput(opened);
}

#elif KERNEL_VERSION(6, 5, 0) <= LINUX_VERSION_CODE
# error "Linux 6.5 to 6.8 open devices in other ways: take an older kernel, or a newer"
#else

static fmode_t mode(bool write)
{
	return FMODE_READ | FMODE_EXCL | (write ? FMODE_WRITE : 0);
}

static void *open_excl(const char *path, bool write, void *holder)
{
	return blkdev_get_by_path(path, mode(write), holder);
}

static struct block_device *bdev_of(void *opened)
{
	return opened;
}

static void close(void *opened, bool write)
{
	blkdev_put(opened, mode(write));
}

#endif

/**
 * compat_bdev_open() - Open a block device for us alone
 * @path: Its path.
 * @write: For reading and writing; otherwise for reading only.
 * @holder: Whoever holds it.
 *
 * Context: May sleep.
 * Return: What was opened, or an ERR_PTR: -EBUSY if somebody else holds it,
 * -ENOTBLK if it is no block device, -EACCES if it is write-protected and
 * @write is set, what else the path may lead to.
 */
struct compat_bdev *compat_bdev_open(const char *path, bool write,
				     void *holder)
{
	return open_excl(path, write, holder);
}

/**
 * compat_bdev() - The block device that was opened
 * @opened: As compat_bdev_open() gave it.
 *
 * Context: Any context.
 * Return: The device.
 */
struct block_device *compat_bdev(struct compat_bdev *opened)
{
	return bdev_of(opened);
}

/**
 * compat_bdev_close() - Close it again
 * @opened: As compat_bdev_open() gave it.
 * @write: As it was opened.
 *
 * Context: May sleep.
 */
void compat_bdev_close(struct compat_bdev *opened, bool write)
{
	close(opened, write);
}
