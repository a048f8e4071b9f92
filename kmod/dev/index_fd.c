// SPDX-License-Identifier: GPL-2.0-only
/*
 * A descriptor is an index.
 */
#include <linux/anon_inodes.h>

#include "wort_dev.h"

static const struct file_operations index_fops = {
	.owner		= THIS_MODULE,
	.release	= wort_file_release,
	.unlocked_ioctl	= wort_ioctl_index,
	.compat_ioctl	= compat_ptr_ioctl,
	.uring_cmd	= wort_uring_issue,
	.llseek		= noop_llseek,
};

/**
 * wort_index_file() - The index that a descriptor is
 * @filp: The file.
 *
 * Context: Any context.
 * Return: Its private part, or NULL if it is something else.
 */
struct wort_file *wort_index_file(struct file *filp)
{
	return filp->f_op == &index_fops ? filp->private_data : NULL;
}

/**
 * wort_index_file_make() - Make a file that will be an index
 * @pool: A descriptor of its pool.
 * @write: It can be written to.
 *
 * Context: May sleep.
 * Return: The file, still without an index; or an error as ERR_PTR(): -ENOMEM,
 * -ENFILE.
 */
struct file *wort_index_file_make(struct wort_file *pool, bool write)
{
	struct wort_file *wfile = wort_file_alloc(pool->wdev);
	struct file *filp;

	if (!wfile)
		return ERR_PTR(-ENOMEM);
	filp = anon_inode_getfile("[wort-index]", &index_fops, wfile,
				  (write ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	if (IS_ERR(filp))
		wort_file_free(wfile);
	return filp;
}
