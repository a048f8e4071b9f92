// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/wortN, and what descriptors of pools and indexes have in common.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "wort_dev.h"

/**
 * wort_file_alloc() - Make the private part of a descriptor
 * @wdev: The device; a reference is taken.
 *
 * That of a pool; it becomes that of an index when it gets one, whose
 * reference passes to it.
 *
 * Context: May sleep.
 * Return: The private part; NULL if there is no memory.
 */
struct wort_file *wort_file_alloc(struct wort_dev *wdev)
{
	struct wort_file *wfile = kmalloc(sizeof(*wfile), GFP_KERNEL_ACCOUNT);

	if (!wfile)
		return NULL;
	get_device(&wdev->dev);
	wfile->wdev = wdev;
	wfile->index = NULL;
	wfile->relaxed = false;
	wfile->frozen = false;
	INIT_LIST_HEAD(&wfile->mapped);
	return wfile;
}

/*
 * A process may end without a thaw.  A detach ends every freeze, so nothing is
 * left then.
 */
static void thaw(struct wort_file *wfile)
{
	struct wort_dax *dax = wfile->wdev->dax;

	if (!wfile->frozen || !wort_dax_enter(dax))
		return;
	wort_pool_release(dax->pool, &wfile->frozen);
	wort_dax_exit(dax);
}

/**
 * wort_file_free() - Free the private part of a descriptor
 * @wfile: The private part.
 *
 * Context: May sleep.
 */
void wort_file_free(struct wort_file *wfile)
{
	thaw(wfile);
	wort_mmap_forget(wfile);
	if (wfile->index)
		wort_index_put(wfile->index);
	put_device(&wfile->wdev->dev);
	kfree(wfile);
}

/**
 * wort_file_release() - The last reference to a descriptor is gone
 * @inode: Unused.
 * @filp: The file.
 *
 * Context: May sleep.
 * Return: 0.
 */
int wort_file_release(struct inode *inode, struct file *filp)
{
	wort_file_free(filp->private_data);
	return 0;
}

/**
 * wort_file_enter() - Begin to use the memory of a pool
 * @wfile: A descriptor of the pool, or of an index in it.
 *
 * Context: May sleep.
 * Return: The pool; NULL if it has been detached, or its memory is gone.
 */
struct wort_pool *wort_file_enter(struct wort_file *wfile)
{
	struct wort_dax *dax = wfile->wdev->dax;

	return wort_dax_enter(dax) ? dax->pool : NULL;
}

/**
 * wort_file_exit() - End to use the memory of a pool
 * @wfile: As for wort_file_enter(), which returned a pool.
 *
 * Context: Any context.
 */
void wort_file_exit(struct wort_file *wfile)
{
	wort_dax_exit(wfile->wdev->dax);
}

/**
 * wort_file_learn_bad() - Ask the driver which memory has gone bad
 * @wfile: A descriptor of the pool, or of an index in it; wort_file_enter() comes later.
 *
 * Context: May sleep, killably.
 * Return: 0; -EINTR.
 */
int wort_file_learn_bad(struct wort_file *wfile)
{
	return wort_dax_learn_bad(wfile->wdev->dax);
}

/**
 * wort_file_atomic() - Carry out an atomic batch
 * @wfile: As for wort_file_enter(), which returned a pool.
 * @batch: As for wort_pool_atomic().
 *
 * Context: As wort_pool_atomic().
 * Return: As wort_pool_atomic().
 */
int wort_file_atomic(struct wort_file *wfile, struct wort_atomic *batch)
{
	return wort_dev_atomic(wfile->wdev, batch);
}

static int pool_open(struct inode *inode, struct file *filp)
{
	struct wort_dev *wdev = container_of(inode->i_cdev, struct wort_dev,
					     cdev);

	/* Each command reads, also those that change something. */
	if (!(filp->f_mode & FMODE_READ))
		return -EACCES;
	if (wort_dax_dead(wdev->dax))
		return -ENODEV;
	filp->private_data = wort_file_alloc(wdev);
	return filp->private_data ? 0 : -ENOMEM;
}

const struct file_operations wort_pool_fops = {
	.owner		= THIS_MODULE,
	.open		= pool_open,
	.mmap		= wort_mmap,
	.get_unmapped_area = thp_get_unmapped_area,
	.release	= wort_file_release,
	.unlocked_ioctl	= wort_ioctl_pool,
	.compat_ioctl	= compat_ptr_ioctl,
	.uring_cmd	= wort_uring_issue,
	.llseek		= noop_llseek,
};
