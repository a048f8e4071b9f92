// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Executor of the command for atomic batches.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/nospec.h>
#include <linux/pagemap.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "cmd.h"

/**
 * struct atomic_run - An atomic batch that a program asks for
 * @call: the call
 * @arg: its argument
 * @ops: copy of the operations
 * @results: room for answers, each at the most that it can take
 * @files: of the further indexes, held; as many as @nr_files
 * @nr_files: how many are held
 * @reqs: the operations
 * @indexes: the index of each
 * @batch: what the pool is asked for
 */
struct atomic_run {
	struct wort_call *call;
	struct wort_atomic_arg *arg;
	struct wort_ubuf ops;
	struct wort_ubuf results;
	struct file *files[WORT_ATOMIC_MAX];
	u32 nr_files;
	struct wort_request reqs[WORT_ATOMIC_MAX];
	struct wort_index *indexes[WORT_ATOMIC_MAX];
	struct wort_atomic batch;
};

static int hold_file(struct atomic_run *run, int fd)
{
	struct file *filp = fget(fd);
	struct wort_file *wfile;

	if (!filp)
		return -EBADF;
	run->files[run->nr_files++] = filp;
	wfile = wort_index_file(filp);
	if (!wfile)
		return -EBADF;
	return wfile->wdev == run->call->wfile->wdev ? 0 : -EXDEV;
}

static int hold_files(struct atomic_run *run)
{
	const struct wort_atomic_arg *arg = run->arg;
	int fds[WORT_ATOMIC_MAX], err = 0;
	u32 i;

	if (copy_from_user(fds, u64_to_user_ptr(arg->fds_ptr),
			   arg->nr_fds * sizeof(*fds)))
		return -EFAULT;
	for (i = 0; i < arg->nr_fds && !err; i++)
		err = hold_file(run, fds[i]);
	return err;
}

/* The index of an operation, and whether it may be changed. */
static struct wort_index *index_of(struct atomic_run *run, u32 nr, bool *write)
{
	struct wort_file *wfile = run->call->wfile;

	*write = run->call->write;
	if (nr > run->nr_files)
		return NULL;
	nr = array_index_nospec(nr, run->nr_files + 1);
	if (nr) {
		*write = run->files[nr - 1]->f_mode & FMODE_WRITE;
		wfile = run->files[nr - 1]->private_data;
	}
	return wfile->index;
}

/* Read the operation at @at into the next request.  Its length, or an error. */
static int parse(struct atomic_run *run, u32 at, u32 nr)
{
	struct wort_request *req = &run->reqs[nr];
	const u8 *data = run->ops.data + at + sizeof(struct wort_atomic_op);
	u32 left = run->arg->ops_len - at;
	struct wort_atomic_op op;
	bool write;
	u64 used;

	if (left < sizeof(op))
		return -EINVAL;
	memcpy(&op, run->ops.data + at, sizeof(op));
	used = (u64)sizeof(op) + op.op.key_len + op.op.expect_len +
	       op.op.value_len;
	if (op.op.rec_len % 8 || op.op.rec_len > left || used > op.op.rec_len ||
	    op.__reserved)
		return -EINVAL;
	run->indexes[nr] = index_of(run, op.index, &write);
	if (!run->indexes[nr])
		return -EINVAL;
	req->op = op.op;
	req->put.key = (struct wort_key){ data, op.op.key_len };
	data += op.op.key_len;
	req->expect = (struct wort_value){ data, op.op.expect_len };
	data += op.op.expect_len;
	req->put.value = (struct wort_value){ data, op.op.value_len };
	return wort_atomic_verify(&op.op, write) ?: (int)op.op.rec_len;
}

/* Bytes of an answer at most. */
static u32 answer_room(const struct wort_request *req)
{
	u32 len = sizeof(struct wort_batch_result);

	if (wort_request_answers(&req->op))
		len += min_t(u32, req->op.max_len, WORT_VALUE_MAX);
	return round_up(len, 8);
}

static int parse_all(struct atomic_run *run)
{
	struct wort_atomic_arg *arg = run->arg;
	u64 room = 0;
	u32 at = 0, i;
	int len;

	for (i = 0; i < arg->nr_ops; i++) {
		len = parse(run, at, i);
		if (len < 0) {
			arg->out_refused = i;
			return len;
		}
		at += len;
		room += answer_room(&run->reqs[i]);
	}
	return room > arg->results_len ? -ERANGE : 0;
}

/* Each answer has its room; they are packed when all are there. */
static void place_answers(struct atomic_run *run)
{
	struct wort_request *req;
	u32 at = 0, i;

	for (i = 0; i < run->arg->nr_ops; i++) {
		req = &run->reqs[i];
		req->answer = (struct wort_buf){
			.data = run->results.data + at +
				sizeof(struct wort_batch_result),
			.size = min_t(u32, req->op.max_len, WORT_VALUE_MAX),
			.len = WORT_NO_VALUE,
		};
		at += answer_room(req);
	}
}

static u32 pack_answer(u8 *to, const struct wort_request *req)
{
	struct wort_batch_result result = {
		.error = req->err,
		.value_len = req->answer.len,
	};
	u32 len = 0;

	if (result.value_len != WORT_NO_VALUE && result.error != -ERANGE)
		len = result.value_len;
	result.rec_len = round_up(sizeof(result) + len, 8);
	memmove(to + sizeof(result), req->answer.data, len);
	memset(to + sizeof(result) + len, 0,
	       result.rec_len - sizeof(result) - len);
	memcpy(to, &result, sizeof(result));
	return result.rec_len;
}

/*
 * No answer is longer than its room, so none is overwritten before it is moved.
 */
static int write_answers(struct atomic_run *run)
{
	struct wort_atomic_arg *arg = run->arg;
	u32 i;

	for (i = 0; i < arg->nr_ops; i++)
		arg->out_results_len += pack_answer(run->results.data +
						    arg->out_results_len,
						    &run->reqs[i]);
	return wort_ubuf_write(&run->results, arg->results_ptr,
			       arg->out_results_len);
}

static int carry_out(struct atomic_run *run)
{
	struct wort_file *wfile = run->call->wfile;
	struct wort_atomic_arg *arg = run->arg;
	int err;

	run->batch = (struct wort_atomic){
		.nr_ops = arg->nr_ops,
		.reqs = run->reqs,
		.indexes = run->indexes,
		.relaxed = wfile->relaxed,
	};
	if (!wort_file_enter(wfile))
		return -ENODEV;
	err = wort_file_atomic(wfile, &run->batch);
	wort_file_exit(wfile);
	arg->out_refused = run->batch.refused;
	return err;
}

static int atomic_run(struct atomic_run *run)
{
	int err = hold_files(run);

	if (!err)
		err = parse_all(run);
	if (err)
		return err;
	/*
	 * A batch whose answers cannot be written must not change anything.  This stores to
	 * their memory, which may be that of the operations.
	 */
	if (fault_in_writeable(u64_to_user_ptr(run->arg->results_ptr), run->arg->results_len))
		return -EFAULT;
	place_answers(run);
	err = carry_out(run);
	return err ?: write_answers(run);
}

static int atomic_verify(struct wort_atomic_arg *arg)
{
	arg->out_refused = WORT_NO_VALUE;
	arg->out_results_len = 0;
	if (arg->flags)
		return -EOPNOTSUPP;
	if (arg->nr_ops > WORT_ATOMIC_MAX || arg->nr_fds > WORT_ATOMIC_MAX ||
	    arg->ops_len > WORT_ATOMIC_BYTES ||
	    arg->results_len > WORT_ATOMIC_BYTES)
		return -EMSGSIZE;
	return 0;
}

/**
 * wort_cmd_atomic() - Carry out several operations, all or none
 * @call: The call.
 * @data: A struct wort_atomic_arg.
 *
 * Context: May sleep.  Nothing is locked.
 * Return: 0, or an error that uapi/linux/wort.h tells of.
 */
int wort_cmd_atomic(struct wort_call *call, void *data)
{
	struct wort_atomic_arg *arg = data;
	struct atomic_run *run;
	int err = atomic_verify(arg);

	if (err)
		return err;
	run = kvzalloc(sizeof(*run), GFP_KERNEL | WORT_GFP_CALL);
	if (!run)
		return -ENOMEM;
	run->call = call;
	run->arg = arg;
	err = wort_ubuf_read(&run->ops, arg->ops_ptr, arg->ops_len);
	if (!err)
		err = wort_ubuf_alloc(&run->results, arg->results_len);
	if (!err)
		err = atomic_run(run);
	while (run->nr_files)
		fput(run->files[--run->nr_files]);
	wort_ubuf_free(&run->results);
	wort_ubuf_free(&run->ops);
	kvfree(run);
	return err;
}
