// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Executors of the commands on a pool.
 */
#include <linux/err.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "cmd.h"

/**
 * wort_name_read() - Copy a name or path that holds no zero byte
 * @buf: Uninitialised; wort_ubuf_free() may follow whatever is returned.
 * @uptr: The pointer.
 * @len: Its length.
 * @max: Largest length.
 *
 * A zero byte is put behind it.
 *
 * Context: May sleep.  Nothing is locked.
 * Return: 0; -EINVAL if it is empty or holds a zero byte; -EMSGSIZE if it is
 * too long; -ENOMEM, -EFAULT.
 */
int wort_name_read(struct wort_ubuf *buf, u64 uptr, u32 len, u32 max)
{
	int err;

	buf->data = NULL;
	if (!len)
		return -EINVAL;
	if (len > max)
		return -EMSGSIZE;
	err = wort_ubuf_alloc(buf, len + 1);
	if (err)
		return err;
	if (copy_from_user(buf->data, u64_to_user_ptr(uptr), len))
		return -EFAULT;
	buf->data[len] = 0;
	return strlen(buf->data) == len ? 0 : -EINVAL;
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
	struct wort_pool *pool = wort_file_enter(wfile);
	int err;

	if (!pool)
		return -ENODEV;
	err = wort_index_open(pool, name->data, arg->name_len, arg->flags,
			      arg->engine, arg->attr, &wfile->index);
	if (!err)
		arg->out_engine = wfile->index->engine_id;
	wfile->relaxed = arg->flags & WORT_INDEX_OPEN_F_RELAXED;
	wort_file_exit(wfile);
	return err;
}

/* The file comes first: behind an index that was made, nothing may fail. */
static int open_named(struct wort_call *call, struct wort_index_open_arg *arg,
		      const struct wort_ubuf *name)
{
	bool write = call->write && !(arg->flags & WORT_INDEX_OPEN_F_RDONLY);
	struct file *filp = wort_index_file_make(call->wfile, write);
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

/**
 * wort_cmd_index_destroy() - Drop an index
 * @call: The call.
 * @data: A struct wort_index_destroy_arg.
 *
 * Context: May sleep.  Nothing is locked.
 * Return: 0, or an error that uapi/linux/wort.h tells of.
 */
int wort_cmd_index_destroy(struct wort_call *call, void *data)
{
	struct wort_index_destroy_arg *arg = data;
	struct wort_pool *pool;
	struct wort_ubuf name;
	int err;

	if (arg->flags)
		return -EOPNOTSUPP;
	err = wort_name_read(&name, arg->name_ptr, arg->name_len,
			     WORT_NAME_MAX);
	if (err)
		goto out_free;
	err = -ENODEV;
	pool = wort_file_enter(call->wfile);
	if (pool) {
		err = wort_index_destroy(pool, name.data, arg->name_len);
		wort_file_exit(call->wfile);
	}
out_free:
	wort_ubuf_free(&name);
	return err;
}

static int index_rename(struct wort_call *call,
			const struct wort_index_rename_arg *arg,
			const struct wort_ubuf *from,
			const struct wort_ubuf *to)
{
	struct wort_pool *pool = wort_file_enter(call->wfile);
	int err;

	if (!pool)
		return -ENODEV;
	err = wort_index_rename(pool, from->data, arg->name_len, to->data,
				arg->new_len);
	wort_file_exit(call->wfile);
	return err;
}

/**
 * wort_cmd_index_rename() - Give an index another name
 * @call: The call.
 * @data: A struct wort_index_rename_arg.
 *
 * Context: May sleep.  Nothing is locked.
 * Return: 0, or an error that uapi/linux/wort.h tells of.
 */
int wort_cmd_index_rename(struct wort_call *call, void *data)
{
	const struct wort_index_rename_arg *arg = data;
	struct wort_ubuf from, to = { .data = NULL };
	int err;

	if (arg->flags)
		return -EOPNOTSUPP;
	err = wort_name_read(&from, arg->name_ptr, arg->name_len,
			     WORT_NAME_MAX);
	if (!err)
		err = wort_name_read(&to, arg->new_ptr, arg->new_len,
				     WORT_NAME_MAX);
	if (!err)
		err = index_rename(call, arg, &from, &to);
	wort_ubuf_free(&to);
	wort_ubuf_free(&from);
	return err;
}

#define RECORD_SIZE	sizeof(struct wort_index_record)
#define PIECE_RECORDS	((u32)(WORT_PIECE_SIZE / RECORD_SIZE))

/* One piece of the list, behind the one before; how many records it has. */
static int index_list_piece(struct wort_call *call,
			    struct wort_index_list_arg *arg, u64 after,
			    struct wort_ubuf *buf, u32 max)
{
	struct wort_pool *pool;
	int nr, err;
	bool more;

	pool = wort_file_enter(call->wfile);
	if (!pool)
		return -ENODEV;
	nr = wort_index_list(pool, after, (void *)buf->data, max, &more);
	wort_file_exit(call->wfile);
	if (nr < 0)
		return nr;
	err = wort_ubuf_write(buf, arg->buf_ptr + arg->out_count * RECORD_SIZE,
			      nr * RECORD_SIZE);
	if (err)
		return err;
	arg->out_count += nr;
	arg->out_more = more;
	return nr;
}

static int index_list(struct wort_call *call, struct wort_index_list_arg *arg,
		      struct wort_ubuf *buf, u32 max)
{
	const struct wort_index_record *records = (void *)buf->data;
	u64 after = arg->after;
	int nr;

	do {
		nr = index_list_piece(call, arg, after, buf,
				      min(max - arg->out_count, PIECE_RECORDS));
		if (nr > 0)
			after = records[nr - 1].id;
	} while (nr > 0 && arg->out_more && arg->out_count < max);
	return min(nr, 0);
}

/**
 * wort_cmd_index_list() - Describe the indexes of a pool
 * @call: The call.
 * @data: A struct wort_index_list_arg.
 *
 * Context: May sleep.  Nothing is locked.
 * Return: 0, or an error that uapi/linux/wort.h tells of.
 */
int wort_cmd_index_list(struct wort_call *call, void *data)
{
	struct wort_index_list_arg *arg = data;
	u32 max = arg->buf_len / sizeof(struct wort_index_record);
	struct wort_ubuf buf;
	int err;

	arg->out_count = 0;
	arg->out_more = 0;
	if (arg->flags)
		return -EOPNOTSUPP;
	if (arg->buf_len > WORT_BUF_MAX)
		return -EMSGSIZE;
	err = wort_ubuf_alloc(&buf, min(max, PIECE_RECORDS) * RECORD_SIZE);
	if (!err)
		err = index_list(call, arg, &buf, max);
	wort_ubuf_free(&buf);
	return err;
}

/**
 * wort_cmd_pool_info() - Describe a pool
 * @call: The call.
 * @data: A struct wort_pool_info_arg.
 *
 * Context: May sleep.  Nothing is locked.
 * Return: 0, or an error that uapi/linux/wort.h tells of.
 */
int wort_cmd_pool_info(struct wort_call *call, void *data)
{
	struct wort_pool_info_arg *arg = data;
	struct wort_pool *pool;
	int err;

	if (arg->flags)
		return -EOPNOTSUPP;
	pool = wort_file_enter(call->wfile);
	if (!pool)
		return -ENODEV;
	err = wort_pool_info(pool, arg);
	wort_file_exit(call->wfile);
	return err;
}

/**
 * wort_cmd_check() - Examine a pool
 * @call: The call.
 * @data: A struct wort_check_arg.
 *
 * Context: May sleep.  Nothing is locked.
 * Return: 0, or an error that uapi/linux/wort.h tells of.
 */
int wort_cmd_check(struct wort_call *call, void *data)
{
	struct wort_check_arg *arg = data;
	struct wort_pool *pool;
	int err;

	if (arg->flags & ~WORT_CHECK_F_ALL)
		return -EOPNOTSUPP;
	err = wort_file_learn_bad(call->wfile);
	if (err)
		return err;
	pool = wort_file_enter(call->wfile);
	if (!pool)
		return -ENODEV;
	err = wort_pool_check(pool, arg);
	wort_file_exit(call->wfile);
	return err;
}

/**
 * wort_cmd_freeze() - Keep a pool as it is, or end that
 * @call: The call.
 * @data: A struct wort_freeze_arg.
 *
 * Context: May sleep.  Nothing is locked.
 * Return: 0, or an error that uapi/linux/wort.h tells of.
 */
int wort_cmd_freeze(struct wort_call *call, void *data)
{
	struct wort_freeze_arg *arg = data;
	struct wort_file *wfile = call->wfile;
	struct wort_pool *pool;
	int err;

	if (arg->flags & ~WORT_FREEZE_F_ALL)
		return -EOPNOTSUPP;
	pool = wort_file_enter(wfile);
	if (!pool)
		return -ENODEV;
	err = arg->flags & WORT_FREEZE_F_THAW ?
	      wort_pool_release(pool, &wfile->frozen) :
	      wort_pool_hold(pool, &wfile->frozen);
	wort_file_exit(wfile);
	return err;
}
