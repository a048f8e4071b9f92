// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Executors of the commands on an index, but for those with large buffers,
 * which are in cmd_bulk.c.
 */
#include <linux/pagemap.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "cmd.h"

/*
 * Neither flag lets the allocator kill a task.  kvmalloc() looks for one piece
 * of several pages without effort only if it is not told to retry.
 */
static gfp_t ubuf_gfp(u32 len)
{
	return GFP_KERNEL_ACCOUNT | __GFP_NOWARN |
	       (len > PAGE_SIZE ? __GFP_NORETRY : __GFP_RETRY_MAYFAIL);
}

/**
 * wort_ubuf_alloc() - Get memory for what a program hands in or asks for
 * @buf: Uninitialised; wort_ubuf_free() may follow whatever is returned.
 * @len: Bytes; may be 0.
 *
 * The memory is charged to the memory cgroup of the caller, since any number of
 * callers may ask at once.  The call fails if the group is at its limit; no
 * task is killed for it.
 *
 * Context: May sleep.
 * Return: 0 or -ENOMEM.
 */
int wort_ubuf_alloc(struct wort_ubuf *buf, u32 len)
{
	buf->data = buf->small;
	if (len > sizeof(buf->small))
		buf->data = kvmalloc(len, ubuf_gfp(len));
	return buf->data ? 0 : -ENOMEM;
}

/**
 * wort_ubuf_read() - Copy user memory
 * @buf: Uninitialised; wort_ubuf_free() may follow whatever is returned.
 * @uptr: The pointer.
 * @len: Bytes; if 0 the pointer is not looked at.
 *
 * Context: May sleep.  Nothing is locked.
 * Return: 0, -ENOMEM or -EFAULT.
 */
int wort_ubuf_read(struct wort_ubuf *buf, u64 uptr, u32 len)
{
	int err = wort_ubuf_alloc(buf, len);

	if (err)
		return err;
	return copy_from_user(buf->data, u64_to_user_ptr(uptr), len) ?
	       -EFAULT : 0;
}

/**
 * wort_ubuf_write() - Copy to user memory
 * @buf: The bytes.
 * @uptr: The pointer.
 * @len: How many; if 0 the pointer is not looked at.
 *
 * Context: May sleep.  Nothing is locked.
 * Return: 0 or -EFAULT.
 */
int wort_ubuf_write(const struct wort_ubuf *buf, u64 uptr, u32 len)
{
	return copy_to_user(u64_to_user_ptr(uptr), buf->data, len) ?
	       -EFAULT : 0;
}

/**
 * wort_ubuf_free() - Free the memory
 * @buf: The buffer.
 *
 * Context: May sleep.
 */
void wort_ubuf_free(struct wort_ubuf *buf)
{
	if (buf->data != buf->small)
		kvfree(buf->data);
}

/* An operation on one record, with the user memory that it names. */
struct single {
	struct wort_request req;
	u64 key_ptr;
	u64 expect_ptr;
	u64 value_ptr;
	u64 answer_ptr;
};

enum { KEY, EXPECT, VALUE, ANSWER, NR_BUFS };

static int single_read(struct single *one, struct wort_ubuf *buf)
{
	struct wort_request *req = &one->req;
	u32 size = min_t(u32, req->op.max_len, WORT_VALUE_MAX);
	int err, i;

	for (i = 0; i < NR_BUFS; i++)
		buf[i].data = NULL;
	err = wort_ubuf_read(&buf[KEY], one->key_ptr, req->op.key_len);
	if (!err)
		err = wort_ubuf_read(&buf[EXPECT], one->expect_ptr,
				     req->op.expect_len);
	if (!err)
		err = wort_ubuf_read(&buf[VALUE], one->value_ptr,
				     req->op.value_len);
	if (!err)
		err = wort_ubuf_alloc(&buf[ANSWER], size);
	req->put.key.data = buf[KEY].data;
	req->put.key.len = req->op.key_len;
	req->expect.data = buf[EXPECT].data;
	req->expect.len = req->op.expect_len;
	req->put.value.data = buf[VALUE].data;
	req->put.value.len = req->op.value_len;
	req->answer.data = buf[ANSWER].data;
	req->answer.size = size;
	return err;
}

/* What was there is gone after a change: see first whether it can be told. */
static int single_probe(const struct single *one)
{
	if (!(one->req.op.flags & WORT_F_FETCH))
		return 0;
	return fault_in_writeable(u64_to_user_ptr(one->answer_ptr),
				  one->req.answer.size) ? -EFAULT : 0;
}

static int single_run(struct wort_call *call, struct single *one,
		      const struct wort_ubuf *answer)
{
	struct wort_request *req = &one->req;
	int err, err2;

	if (!wort_file_enter(call->wfile))
		return -ENODEV;
	err = wort_request_run(call->wfile->index, req);
	wort_file_exit(call->wfile);
	if (err == -ERANGE || req->answer.len == WORT_NO_VALUE)
		return err;
	err2 = wort_ubuf_write(answer, one->answer_ptr, req->answer.len);
	return err ? err : err2;
}

/* The length of the answer is told, or WORT_NO_VALUE. */
static int single(struct wort_call *call, struct single *one, u32 flags,
		  u32 *out_len)
{
	struct wort_ubuf buf[NR_BUFS];
	int err, i;

	*out_len = WORT_NO_VALUE;
	/* A batch has 16 bits for them, so there are no others. */
	if (flags > U16_MAX)
		return -EOPNOTSUPP;
	one->req.op.flags = flags;
	err = wort_request_verify(&one->req.op, call->write);
	if (err)
		return err;
	one->req.answer.len = WORT_NO_VALUE;
	one->req.answer.relaxed = call->wfile->relaxed;
	err = single_read(one, buf);
	if (!err)
		err = single_probe(one);
	if (!err)
		err = single_run(call, one, &buf[ANSWER]);
	*out_len = one->req.answer.len;
	for (i = 0; i < NR_BUFS; i++)
		wort_ubuf_free(&buf[i]);
	return err;
}

/**
 * wort_cmd_insert() - Store a record
 * @call: The call.
 * @data: A struct wort_insert_arg.
 *
 * Context: May sleep.  Nothing is locked.
 * Return: 0, or an error that uapi/linux/wort.h tells of.
 */
int wort_cmd_insert(struct wort_call *call, void *data)
{
	struct wort_insert_arg *arg = data;
	struct single one = {
		.req.op = {
			.op = WORT_BATCH_INSERT,
			.key_len = arg->key_len,
			.value_len = arg->value_len,
			.max_len = arg->old_len,
		},
		.key_ptr = arg->key_ptr,
		.value_ptr = arg->value_ptr,
		.answer_ptr = arg->old_ptr,
	};

	return single(call, &one, arg->flags, &arg->out_old_len);
}

/**
 * wort_cmd_cas() - Replace a value by another one
 * @call: The call.
 * @data: A struct wort_cas_arg.
 *
 * Context: May sleep.  Nothing is locked.
 * Return: 0, or an error that uapi/linux/wort.h tells of.
 */
int wort_cmd_cas(struct wort_call *call, void *data)
{
	struct wort_cas_arg *arg = data;
	struct single one = {
		.req.op = {
			.op = WORT_BATCH_CAS,
			.key_len = arg->key_len,
			.expect_len = arg->expect_len,
			.value_len = arg->value_len,
			.max_len = arg->old_len,
		},
		.key_ptr = arg->key_ptr,
		.expect_ptr = arg->expect_ptr,
		.value_ptr = arg->value_ptr,
		.answer_ptr = arg->old_ptr,
	};

	return single(call, &one, arg->flags, &arg->out_old_len);
}

/**
 * wort_cmd_delete() - Remove a record
 * @call: The call.
 * @data: A struct wort_delete_arg.
 *
 * Context: May sleep.  Nothing is locked.
 * Return: 0, or an error that uapi/linux/wort.h tells of.
 */
int wort_cmd_delete(struct wort_call *call, void *data)
{
	struct wort_delete_arg *arg = data;
	struct single one = {
		.req.op = {
			.op = WORT_BATCH_DELETE,
			.key_len = arg->key_len,
			.expect_len = arg->expect_len,
			.max_len = arg->old_len,
		},
		.key_ptr = arg->key_ptr,
		.expect_ptr = arg->expect_ptr,
		.answer_ptr = arg->old_ptr,
	};

	return single(call, &one, arg->flags, &arg->out_old_len);
}

/**
 * wort_cmd_lookup() - Read a record
 * @call: The call.
 * @data: A struct wort_lookup_arg.
 *
 * Context: May sleep.  Nothing is locked.
 * Return: 0, or an error that uapi/linux/wort.h tells of.
 */
int wort_cmd_lookup(struct wort_call *call, void *data)
{
	struct wort_lookup_arg *arg = data;
	struct single one = {
		.req.op = {
			.op = WORT_BATCH_LOOKUP,
			.key_len = arg->key_len,
			.max_len = arg->value_len,
		},
		.key_ptr = arg->key_ptr,
		.answer_ptr = arg->value_ptr,
	};

	return single(call, &one, arg->flags, &arg->out_value_len);
}

/**
 * wort_cmd_index_info() - Describe an index
 * @call: The call.
 * @data: A struct wort_index_info_arg.
 *
 * Context: May sleep.  Nothing is locked.
 * Return: 0, or an error that uapi/linux/wort.h tells of.
 */
int wort_cmd_index_info(struct wort_call *call, void *data)
{
	struct wort_index_info_arg *arg = data;
	struct wort_index *index = call->wfile->index;
	int err = 0;

	if (arg->flags)
		return -EOPNOTSUPP;
	if (!wort_file_enter(call->wfile))
		return -ENODEV;
	if (READ_ONCE(index->dead))
		err = -ESTALE;
	else
		wort_index_info(index, arg);
	wort_file_exit(call->wfile);
	return err;
}

/* Bytes of an element in the first version, which did not tell its stride. */
#define STATS_STRIDE	offsetof(struct wort_op_stats, zero_lines)
#define STATS_STRIDE_MAX	4096

/*
 * As many as @len bytes hold.  Elements are as large as the caller's: cut off,
 * or zeroes behind ours.
 */
static int copy_stats(void __user *to, u64 len, u32 stride,
		      const struct wort_op_stats *stats)
{
	u32 known = min_t(u32, stride, sizeof(*stats)), i;

	for (i = 0; i < WORT_OP_NR && len >= stride;
	     i++, len -= stride, to += stride)
		if (copy_to_user(to, &stats[i], known) ||
		    clear_user(to + known, stride - known))
			return -EFAULT;
	return 0;
}

/**
 * wort_cmd_stats() - Tell what operations on an index cost
 * @call: The call.
 * @data: A struct wort_stats_arg.
 *
 * Context: May sleep.  Nothing is locked.
 * Return: 0, or an error that uapi/linux/wort.h tells of.
 */
int wort_cmd_stats(struct wort_call *call, void *data)
{
	struct wort_stats_arg *arg = data;
	struct wort_index *index = call->wfile->index;
	struct wort_op_stats stats[WORT_OP_NR];
	u32 stride = arg->stride ?: STATS_STRIDE;

	arg->out_count = 0;
	if (arg->flags)
		return -EOPNOTSUPP;
	if (stride < STATS_STRIDE || stride > STATS_STRIDE_MAX || stride % 8)
		return -EINVAL;
	if (!wort_file_enter(call->wfile))
		return -ENODEV;
	wort_index_stats(index, stats);
	wort_file_exit(call->wfile);
	if (READ_ONCE(index->dead))
		return -ESTALE;
	arg->out_count = WORT_OP_NR;
	return copy_stats(u64_to_user_ptr(arg->buf_ptr), arg->buf_len, stride,
			  stats);
}
