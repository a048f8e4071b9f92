// SPDX-License-Identifier: GPL-2.0-only
/*
 * Executors of the commands on /dev/wort-control.
 */
#include <linux/log2.h>
#include <linux/sizes.h>

#include "cmd.h"
#include "wort_dev.h"

/* A label ends at its first zero. */
static bool label_valid(const u8 *label)
{
	size_t len = strnlen(label, WORT_LABEL_LEN);

	return !memchr_inv(label + len, 0, WORT_LABEL_LEN - len);
}

static int format_verify(const struct wort_format_arg *arg)
{
	u32 size = arg->extent_size;

	if (arg->flags & ~WORT_FORMAT_F_ALL)
		return -EOPNOTSUPP;
	if (size && (!is_power_of_2(size) || size < SZ_4K || size > SZ_1M))
		return -EINVAL;
	return label_valid(arg->label) ? 0 : -EINVAL;
}

/**
 * wort_cmd_format() - Make an empty pool
 * @call: The call.
 * @data: A struct wort_format_arg.
 *
 * Context: May sleep.  Nothing is locked.
 * Return: 0, or an error that uapi/linux/wort.h tells of.
 */
int wort_cmd_format(struct wort_call *call, void *data)
{
	struct wort_format_arg *arg = data;
	struct wort_ubuf path;
	int err;

	err = format_verify(arg);
	if (err)
		return err;
	err = wort_name_read(&path, arg->dev_ptr, arg->dev_len,
			     WORT_DEVICE_MAX);
	if (!err)
		err = wort_dev_format(path.data, arg);
	wort_ubuf_free(&path);
	return err;
}

/**
 * wort_cmd_attach() - Take a device and serve its pool
 * @call: The call.
 * @data: A struct wort_attach_arg.
 *
 * Context: May sleep.  Nothing is locked.
 * Return: 0, or an error that uapi/linux/wort.h tells of.
 */
int wort_cmd_attach(struct wort_call *call, void *data)
{
	struct wort_attach_arg *arg = data;
	struct wort_ubuf path;
	int err;

	if (arg->flags & ~WORT_ATTACH_F_ALL)
		return -EOPNOTSUPP;
	if (arg->flags & WORT_ATTACH_F_RDONLY &&
	    arg->flags & WORT_ATTACH_F_GROW)
		return -EINVAL;
	err = wort_name_read(&path, arg->dev_ptr, arg->dev_len,
			     WORT_DEVICE_MAX);
	if (!err)
		err = wort_dev_attach(path.data, arg->flags, &arg->out_minor);
	wort_ubuf_free(&path);
	return err;
}

/**
 * wort_cmd_detach() - Stop serving a pool
 * @call: The call.
 * @data: A struct wort_detach_arg.
 *
 * Context: May sleep.  Nothing is locked.
 * Return: 0, or an error that uapi/linux/wort.h tells of.
 */
int wort_cmd_detach(struct wort_call *call, void *data)
{
	struct wort_detach_arg *arg = data;

	return arg->flags ? -EOPNOTSUPP : wort_dev_detach(arg->minor);
}

/**
 * wort_cmd_list() - Describe attached pools
 * @call: The call.
 * @data: A struct wort_list_arg.
 *
 * Context: May sleep.  Nothing is locked.
 * Return: 0, or an error that uapi/linux/wort.h tells of.
 */
int wort_cmd_list(struct wort_call *call, void *data)
{
	struct wort_list_arg *arg = data;
	/* One piece holds more records than a machine has pools. */
	u32 len = min_t(u32, arg->buf_len, WORT_PIECE_SIZE);
	struct wort_ubuf buf;
	bool more;
	int err;

	arg->out_count = 0;
	arg->out_more = 0;
	if (arg->flags)
		return -EOPNOTSUPP;
	if (arg->buf_len > WORT_BUF_MAX)
		return -EMSGSIZE;
	err = wort_ubuf_alloc(&buf, len);
	if (!err) {
		arg->out_count = wort_dev_list(arg->start, (void *)buf.data,
					       len / sizeof(struct wort_pool_record),
					       &more);
		arg->out_more = more;
		err = wort_ubuf_write(&buf, arg->buf_ptr, arg->out_count *
				      sizeof(struct wort_pool_record));
	}
	wort_ubuf_free(&buf);
	return err;
}
