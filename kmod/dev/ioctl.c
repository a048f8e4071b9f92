// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * One table and one dispatcher for the ioctls of all descriptors.
 */
#include <linux/capability.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/nospec.h>
#include <linux/uaccess.h>

#include "cmd.h"

enum kind {
	KIND_CONTROL = 1,
	KIND_POOL,
	KIND_INDEX,
};

/* Fields in a row: from the first byte to the one after the last. */
struct span {
	u16 from;
	u16 to;
};

/**
 * struct wort_ioctl - An ioctl, by its number
 * @kind: the kind of descriptor that has it
 * @write: only on a descriptor open for writing
 * @probe: cannot be undone: see first whether the out fields can be written
 * @min_size: size of the first version of its argument
 * @size: size of the argument that we know
 * @reserved: must be zero
 * @out: written back
 * @run: the executor
 */
struct wort_ioctl {
	u8 kind;
	bool write;
	bool probe;
	u16 min_size;
	u16 size;
	struct span reserved;
	struct span out[2];
	wort_cmd_fn *run;
};

#define SPAN(type, first, last)					\
	{ offsetof(struct type, first), offsetofend(struct type, last) }
#define OUT(type, first, last)	.out = { SPAN(type, first, last) }
#define RESERVED(type)		.reserved = SPAN(type, __reserved, __reserved)

/* The last field is that of the first version: it stays when a struct grows. */
#define IOCTL(number, on, type, last, function, ...)		\
	[_IOC_NR(number)] = {						\
		.kind = on,						\
		.min_size = offsetofend(struct type, last),		\
		.size = sizeof(struct type),				\
		.run = function,					\
		__VA_ARGS__						\
	}

static const struct wort_ioctl ioctls[] = {
	IOCTL(WORT_IOC_FORMAT, KIND_CONTROL, wort_format_arg, label,
	      wort_cmd_format, .write = true),
	IOCTL(WORT_IOC_ATTACH, KIND_CONTROL, wort_attach_arg, out_minor,
	      wort_cmd_attach, .write = true, .probe = true,
	      OUT(wort_attach_arg, out_minor, out_minor)),
	IOCTL(WORT_IOC_DETACH, KIND_CONTROL, wort_detach_arg, __reserved,
	      wort_cmd_detach, .write = true, RESERVED(wort_detach_arg)),
	IOCTL(WORT_IOC_LIST, KIND_CONTROL, wort_list_arg, out_more,
	      wort_cmd_list, OUT(wort_list_arg, out_count, out_more)),

	IOCTL(WORT_IOC_INDEX_OPEN, KIND_POOL, wort_index_open_arg, out_engine,
	      wort_cmd_index_open, .probe = true,
	      OUT(wort_index_open_arg, out_fd, out_engine)),
	IOCTL(WORT_IOC_INDEX_LIST, KIND_POOL, wort_index_list_arg, __reserved,
	      wort_cmd_index_list, RESERVED(wort_index_list_arg),
	      .out = { SPAN(wort_index_list_arg, out_count, out_count),
		       SPAN(wort_index_list_arg, out_more, out_more) }),
	IOCTL(WORT_IOC_INDEX_DESTROY, KIND_POOL, wort_index_destroy_arg,
	      __reserved, wort_cmd_index_destroy, .write = true,
	      RESERVED(wort_index_destroy_arg)),
	IOCTL(WORT_IOC_POOL_INFO, KIND_POOL, wort_pool_info_arg, out_label,
	      wort_cmd_pool_info,
	      OUT(wort_pool_info_arg, out_pool_size, out_atomic_damaged)),
	IOCTL(WORT_IOC_CHECK, KIND_POOL, wort_check_arg, out_damaged_index,
	      wort_cmd_check, .write = true, .probe = true,
	      OUT(wort_check_arg, out_nr_indexes, out_nr_atomic)),
	IOCTL(WORT_IOC_INDEX_RENAME, KIND_POOL, wort_index_rename_arg, new_len,
	      wort_cmd_index_rename, .write = true),
	IOCTL(WORT_IOC_FREEZE, KIND_POOL, wort_freeze_arg, flags,
	      wort_cmd_freeze, .write = true),

	IOCTL(WORT_IOC_INSERT, KIND_INDEX, wort_insert_arg, out_old_len,
	      wort_cmd_insert, .write = true, .probe = true,
	      OUT(wort_insert_arg, out_old_len, out_old_len)),
	IOCTL(WORT_IOC_LOOKUP, KIND_INDEX, wort_lookup_arg, __reserved,
	      wort_cmd_lookup, RESERVED(wort_lookup_arg),
	      OUT(wort_lookup_arg, out_value_len, out_value_len)),
	IOCTL(WORT_IOC_DELETE, KIND_INDEX, wort_delete_arg, out_old_len,
	      wort_cmd_delete, .write = true, .probe = true,
	      OUT(wort_delete_arg, out_old_len, out_old_len)),
	IOCTL(WORT_IOC_SCAN, KIND_INDEX, wort_scan_arg, __reserved,
	      wort_cmd_scan, RESERVED(wort_scan_arg),
	      OUT(wort_scan_arg, out_count, out_last_len)),
	IOCTL(WORT_IOC_BATCH, KIND_INDEX, wort_batch_arg, out_results_len,
	      wort_cmd_batch, .probe = true,
	      OUT(wort_batch_arg, out_done, out_results_len)),
	IOCTL(WORT_IOC_INDEX_INFO, KIND_INDEX, wort_index_info_arg,
	      out_root_off, wort_cmd_index_info, RESERVED(wort_index_info_arg),
	      .out = { SPAN(wort_index_info_arg, out_id, out_name_len),
		       SPAN(wort_index_info_arg, out_name, out_dram_bytes) }),
	IOCTL(WORT_IOC_STATS, KIND_INDEX, wort_stats_arg, out_count,
	      wort_cmd_stats, RESERVED(wort_stats_arg),
	      OUT(wort_stats_arg, out_count, out_count)),
	IOCTL(WORT_IOC_CAS, KIND_INDEX, wort_cas_arg, out_old_len,
	      wort_cmd_cas, .write = true, .probe = true,
	      RESERVED(wort_cas_arg),
	      OUT(wort_cas_arg, out_old_len, out_old_len)),
	IOCTL(WORT_IOC_ATOMIC, KIND_INDEX, wort_atomic_arg, out_results_len,
	      wort_cmd_atomic, .probe = true,
	      OUT(wort_atomic_arg, out_refused, out_results_len)),
};

/* Large enough, and aligned, for every argument. */
union wort_ioctl_arg {
	u32 size;
	struct wort_format_arg format;
	struct wort_attach_arg attach;
	struct wort_detach_arg detach;
	struct wort_list_arg list;
	struct wort_index_open_arg index_open;
	struct wort_index_list_arg index_list;
	struct wort_index_destroy_arg index_destroy;
	struct wort_index_rename_arg index_rename;
	struct wort_pool_info_arg pool_info;
	struct wort_check_arg check;
	struct wort_freeze_arg freeze;
	struct wort_insert_arg insert;
	struct wort_lookup_arg lookup;
	struct wort_delete_arg delete;
	struct wort_scan_arg scan;
	struct wort_batch_arg batch;
	struct wort_index_info_arg index_info;
	struct wort_stats_arg stats;
	struct wort_cas_arg cas;
	struct wort_atomic_arg atomic;
};

static const struct wort_ioctl *find(enum kind kind, unsigned int cmd)
{
	const struct wort_ioctl *ioc;
	unsigned int nr = _IOC_NR(cmd);

	if (cmd != _IO(WORT_IOC_TYPE, nr) || nr >= ARRAY_SIZE(ioctls))
		return NULL;
	ioc = &ioctls[array_index_nospec(nr, ARRAY_SIZE(ioctls))];
	return ioc->kind == kind ? ioc : NULL;
}

/* The size counts as it is read here, whatever happens to that word later. */
static int fetch(const struct wort_ioctl *ioc, union wort_ioctl_arg *arg,
		 void __user *uarg, u32 *usize)
{
	int err;

	if (get_user(*usize, (u32 __user *)uarg))
		return -EFAULT;
	if (*usize < ioc->min_size)
		return -EINVAL;
	if (*usize > PAGE_SIZE)
		return -E2BIG;
	err = copy_struct_from_user(arg, ioc->size, uarg, *usize);
	if (err)
		return err;
	arg->size = *usize;
	if (memchr_inv((u8 *)arg + ioc->reserved.from, 0,
		       ioc->reserved.to - ioc->reserved.from))
		return -EINVAL;
	return 0;
}

static int write_back(const struct wort_ioctl *ioc, union wort_ioctl_arg *arg,
		      void __user *uarg, u32 usize)
{
	u32 i, from, to;

	for (i = 0; i < ARRAY_SIZE(ioc->out); i++) {
		from = ioc->out[i].from;
		to = min_t(u32, ioc->out[i].to, usize);
		if (from < to &&
		    copy_to_user(uarg + from, (u8 *)arg + from, to - from))
			return -EFAULT;
	}
	return 0;
}

/* The file that a command made becomes visible when nothing can fail more. */
static void finish_file(struct file *filp, int fd, int err)
{
	if (!filp)
		return;
	if (!err) {
		fd_install(fd, filp);
		return;
	}
	put_unused_fd(fd);
	fput(filp);
}

static int run(const struct wort_ioctl *ioc, struct wort_call *call,
	       void __user *uarg)
{
	union wort_ioctl_arg arg;
	u32 usize;
	int err;

	err = fetch(ioc, &arg, uarg, &usize);
	if (!err && ioc->probe)
		err = write_back(ioc, &arg, uarg, usize);
	if (err)
		return err;
	err = ioc->run(call, &arg);
	if (write_back(ioc, &arg, uarg, usize) && !err)
		err = -EFAULT;
	finish_file(call->new_file, arg.index_open.out_fd, err);
	return err;
}

static long dispatch(struct file *filp, enum kind kind, unsigned int cmd,
		     unsigned long uarg)
{
	const struct wort_ioctl *ioc = find(kind, cmd);
	struct wort_call call = {
		.wfile = kind == KIND_CONTROL ? NULL : filp->private_data,
		.write = filp->f_mode & FMODE_WRITE,
	};

	if (!ioc)
		return -ENOTTY;
	if (kind == KIND_CONTROL && !capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (ioc->write && !call.write)
		return -EBADF;
	return run(ioc, &call, (void __user *)uarg);
}

/**
 * wort_ioctl_control() - An ioctl on /dev/wort-control
 * @filp: The file.
 * @cmd: Its number.
 * @arg: Pointer to its argument.
 *
 * Context: May sleep.
 * Return: 0, or an error that uapi/linux/wort.h tells of.
 */
long wort_ioctl_control(struct file *filp, unsigned int cmd, unsigned long arg)
{
	return dispatch(filp, KIND_CONTROL, cmd, arg);
}

/**
 * wort_ioctl_pool() - An ioctl on /dev/wortN
 * @filp: The file.
 * @cmd: Its number.
 * @arg: Pointer to its argument.
 *
 * Context: May sleep.
 * Return: 0, or an error that uapi/linux/wort.h tells of.
 */
long wort_ioctl_pool(struct file *filp, unsigned int cmd, unsigned long arg)
{
	return dispatch(filp, KIND_POOL, cmd, arg);
}

/**
 * wort_ioctl_index() - An ioctl on a descriptor of an index
 * @filp: The file.
 * @cmd: Its number.
 * @arg: Pointer to its argument.
 *
 * Context: May sleep.
 * Return: 0, or an error that uapi/linux/wort.h tells of.
 */
long wort_ioctl_index(struct file *filp, unsigned int cmd, unsigned long arg)
{
	return dispatch(filp, KIND_INDEX, cmd, arg);
}
