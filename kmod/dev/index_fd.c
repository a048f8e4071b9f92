// SPDX-License-Identifier: GPL-2.0-only
/*
 * A descriptor is an index.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>

#include "cmd.h"

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

/* Still without an index. */
static struct file *index_file(struct wort_dev *wdev, bool write)
{
	struct wort_file *wfile = wort_file_alloc(wdev);
	struct file *filp;

	if (!wfile)
		return ERR_PTR(-ENOMEM);
	filp = anon_inode_getfile("[wort-index]", &index_fops, wfile,
				  (write ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	if (IS_ERR(filp))
		wort_file_free(wfile);
	return filp;
}

static int open_verify(const struct wort_call *call,
		       const struct wort_index_open_arg *arg)
{
	bool create = arg->flags & WORT_INDEX_OPEN_F_CREATE;

	if (create && !call->write)
		return -EBADF;
	if (arg->flags & ~WORT_INDEX_OPEN_F_ALL)
		return -EOPNOTSUPP;
	return arg->flags & WORT_INDEX_OPEN_F_EXCL && !create ? -EINVAL : 0;
}

static int open_into(struct wort_file *wfile, struct wort_index_open_arg *arg,
		     const struct wort_ubuf *name)
{
	struct wort_dax *dax = wfile->wdev->dax;
	int err;

	if (!wort_dax_enter(dax))
		return -ENODEV;
	err = wort_index_open(dax->pool, name->data, arg->name_len, arg->flags,
			      arg->engine, arg->attr, &wfile->index);
	if (!err)
		arg->out_engine = wfile->index->engine_id;
	wfile->relaxed = arg->flags & WORT_INDEX_OPEN_F_RELAXED;
	wort_dax_exit(dax);
	return err;
}

/* The file comes first: behind an index that was made, nothing may fail. */
static int open_named(struct wort_call *call, struct wort_index_open_arg *arg,
		      const struct wort_ubuf *name)
{
	bool write = call->write && !(arg->flags & WORT_INDEX_OPEN_F_RDONLY);
	struct file *filp = index_file(call->wfile->wdev, write);
	int err;

	if (IS_ERR(filp))
		return PTR_ERR(filp);
	err = open_into(filp->private_data, arg, name);
	if (err)
		fput(filp);
	else
		call->new_file = filp;
	return err;
}

/**
 * wort_cmd_index_open() - Open an index, or make a new one
 * @call: The call.
 * @data: A struct wort_index_open_arg.
 *
 * Context: May sleep.  Nothing is locked.
 * Return: 0, or an error that uapi/linux/wort.h tells of.
 */
int wort_cmd_index_open(struct wort_call *call, void *data)
{
	struct wort_index_open_arg *arg = data;
	struct wort_ubuf name;
	int err, fd;

	arg->out_fd = -1;
	arg->out_engine = 0;
	err = open_verify(call, arg);
	if (err)
		return err;
	err = wort_name_read(&name, arg->name_ptr, arg->name_len,
			     WORT_NAME_MAX);
	if (err)
		goto out_free;
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0) {
		err = fd;
		goto out_free;
	}
	err = open_named(call, arg, &name);
	if (err)
		put_unused_fd(fd);
	else
		arg->out_fd = fd;
out_free:
	wort_ubuf_free(&name);
	return err;
}
