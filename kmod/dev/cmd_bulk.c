// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Executors of the commands with large buffers: scan and batch.
 *
 * A buffer of the program may have WORT_BUF_MAX bytes; the kernel's copy has
 * WORT_PIECE_SIZE at most.  What is larger is carried out in pieces, each of
 * which is copied before it begins and after it ended.  Nothing that a scan or
 * a batch promises spans two records, so a program cannot tell the difference.
 */
#include <linux/build_bug.h>
#include <linux/pagemap.h>
#include <linux/uaccess.h>

#include "cmd.h"

static u32 piece(u32 from, u32 len)
{
	return min_t(u32, len - from, WORT_PIECE_SIZE);
}

/* The records of one piece go behind those of the pieces before. */
static int scan_piece(struct wort_call *call, struct wort_scan_arg *arg,
		      struct wort_scan *s, const struct wort_ubuf *buf)
{
	int err, err2;

	if (!wort_file_enter(call->wfile))
		return -ENODEV;
	err = wort_index_scan(call->wfile->index, s);
	wort_file_exit(call->wfile);
	err2 = wort_ubuf_write(buf, arg->buf_ptr + arg->out_len, s->len);
	arg->out_count += s->count;
	arg->out_len += s->len;
	arg->out_more = s->more;
	arg->out_last_len = s->last_len;
	return err ? err : err2;
}

/* Does the next piece have anything to look for? */
static bool scan_goes_on(const struct wort_scan_arg *arg,
			 const struct wort_scan *s)
{
	return s->more && s->buf_len == WORT_PIECE_SIZE &&
	       (!arg->max_count || arg->out_count < arg->max_count);
}

/* The next piece begins behind the last record of this one. */
static void scan_after(struct wort_scan *s, struct wort_key *start)
{
	const struct wort_record *rec = (void *)(s->buf + s->last);

	*start = (struct wort_key){ (void *)(rec + 1), rec->key_len };
	s->start = start;
	s->flags |= WORT_SCAN_F_AFTER;
}

static int scan(struct wort_call *call, struct wort_scan_arg *arg,
		struct wort_scan *s, const struct wort_ubuf *buf)
{
	struct wort_key last;
	int err;

	s->buf = buf->data;
	for (;;) {
		if (arg->max_count)
			s->max = arg->max_count - arg->out_count;
		s->buf_len = piece(arg->out_len, arg->buf_len);
		err = scan_piece(call, arg, s, buf);
		if (err || !scan_goes_on(arg, s))
			break;
		scan_after(s, &last);
	}
	if (err != -ERANGE)
		return err;
	/* There is no room for the next record. */
	arg->out_more = arg->out_count > 0;
	arg->out_need = arg->out_count ? 0 : s->need;
	return arg->out_count ? 0 : -ERANGE;
}

/* A count comes back after some records anyway, with one key. */
static int count(struct wort_call *call, struct wort_scan_arg *arg,
		 struct wort_scan *s, const struct wort_ubuf *buf)
{
	int err;

	s->buf = buf->data;
	s->buf_len = min_t(u32, arg->buf_len, WORT_KEY_MAX);
	s->max = arg->max_count;
	err = scan_piece(call, arg, s, buf);
	if (err == -ERANGE)
		arg->out_need = s->need;
	return err;
}

static int scan_verify(struct wort_scan_arg *arg)
{
	arg->out_count = 0;
	arg->out_len = 0;
	arg->out_need = 0;
	arg->out_more = 0;
	arg->out_last_len = 0;
	if (arg->flags & ~WORT_SCAN_F_ALL)
		return -EOPNOTSUPP;
	if (arg->start_len > WORT_KEY_MAX || arg->bound_len > WORT_KEY_MAX ||
	    arg->buf_len > WORT_BUF_MAX)
		return -EMSGSIZE;
	return 0;
}

/**
 * wort_cmd_scan() - Read records in order
 * @call: The call.
 * @data: A struct wort_scan_arg.
 *
 * Context: May sleep.  Nothing is locked.
 * Return: 0, or an error that uapi/linux/wort.h tells of.
 */
int wort_cmd_scan(struct wort_call *call, void *data)
{
	struct wort_scan_arg *arg = data;
	bool counts = arg->flags & WORT_SCAN_F_COUNT;
	struct wort_ubuf start, bound, buf;
	struct wort_key start_key, bound_key;
	struct wort_scan s = {
		.flags = arg->flags,
		.relaxed = call->wfile->relaxed,
	};
	int err = scan_verify(arg);

	BUILD_BUG_ON(sizeof(struct wort_record) + WORT_KEY_MAX +
		     WORT_VALUE_MAX + 8 > WORT_PIECE_SIZE);
	if (err)
		return err;
	err = wort_ubuf_read(&start, arg->start_ptr, arg->start_len);
	if (err)
		goto out_free_start;
	err = wort_ubuf_read(&bound, arg->bound_ptr, arg->bound_len);
	if (err)
		goto out_free_bound;
	start_key = (struct wort_key){ start.data, arg->start_len };
	bound_key = (struct wort_key){ bound.data, arg->bound_len };
	s.start = arg->start_len ? &start_key : NULL;
	s.bound = arg->bound_len ? &bound_key : NULL;
	err = wort_ubuf_alloc(&buf, min_t(u32, arg->buf_len, counts ?
					  WORT_KEY_MAX : WORT_PIECE_SIZE));
	if (!err)
		err = (counts ? count : scan)(call, arg, &s, &buf);
	wort_ubuf_free(&buf);
out_free_bound:
	wort_ubuf_free(&bound);
out_free_start:
	wort_ubuf_free(&start);
	return err;
}

/**
 * struct batch_run - A batch that is carried out in pieces
 * @arg: its argument, whose ``out_`` fields tell how far it has come
 * @ops: operations of the piece
 * @results: their answers
 * @ops_at: where the piece begins in the program's operations
 * @b: the piece
 * @cut: it ends before the program's operations or its room for answers do
 */
struct batch_run {
	struct wort_batch_arg *arg;
	struct wort_ubuf ops;
	struct wort_ubuf results;
	u32 ops_at;
	struct wort_batch b;
	bool cut;
};

/* Copy the operations of the next piece, and measure its room for answers. */
static int batch_read(struct batch_run *run)
{
	const struct wort_batch_op *op = (void *)run->ops.data;
	struct wort_batch_arg *arg = run->arg;
	u32 ops_left = arg->ops_len - run->ops_at;
	struct wort_batch *b = &run->b;

	b->ops_len = piece(run->ops_at, arg->ops_len);
	b->nr_ops = arg->nr_ops - arg->out_done;
	b->results_size = piece(arg->out_results_len, arg->results_len);
	if (copy_from_user(run->ops.data,
			   u64_to_user_ptr(arg->ops_ptr + run->ops_at),
			   b->ops_len))
		return -EFAULT;
	run->cut = b->ops_len < ops_left ||
		   arg->out_results_len + b->results_size < arg->results_len;
	/*
	 * The tail of an operation longer than a piece is padding, which
	 * nobody reads; only the operation behind it would be looked for there.
	 */
	if (b->ops_len < ops_left && op->rec_len > b->ops_len) {
		b->ops_len = ops_left;
		b->nr_ops = 1;
	}
	return 0;
}

static int batch_piece(struct wort_call *call, struct batch_run *run)
{
	struct wort_batch_arg *arg = run->arg;
	struct wort_batch *b = &run->b;
	int err = batch_read(run), err2;

	if (err)
		return err;
	if (!wort_file_enter(call->wfile))
		return -ENODEV;
	err = wort_index_batch(call->wfile->index, b);
	wort_file_exit(call->wfile);
	err2 = wort_ubuf_write(&run->results,
			       arg->results_ptr + arg->out_results_len,
			       b->results_len);
	run->ops_at += b->ops_done;
	arg->out_done += b->done;
	arg->out_failed += b->failed;
	arg->out_results_len += b->results_len;
	if (err2)
		return err2;
	/* What did not fit this piece is the first of the next one. */
	if ((err == -EINVAL || err == -ERANGE) && run->cut && b->done)
		return 0;
	return err;
}

static int batch(struct wort_call *call, struct batch_run *run)
{
	struct wort_batch_arg *arg = run->arg;
	bool stop = arg->flags & WORT_BATCH_F_STOP;
	int err;

	do
		err = batch_piece(call, run);
	while (!err && arg->out_done < arg->nr_ops &&
	       !(stop && arg->out_failed));
	return err;
}

/* What cannot be read, or not be answered, is not begun. */
static int batch_probe(const struct wort_batch_arg *arg)
{
	if (fault_in_readable(u64_to_user_ptr(arg->ops_ptr), arg->ops_len) ||
	    fault_in_writeable(u64_to_user_ptr(arg->results_ptr),
			       arg->results_len))
		return -EFAULT;
	return 0;
}

static int batch_verify(struct wort_batch_arg *arg)
{
	arg->out_done = 0;
	arg->out_failed = 0;
	arg->out_results_len = 0;
	if (arg->flags & ~WORT_BATCH_F_ALL)
		return -EOPNOTSUPP;
	if (arg->nr_ops > WORT_BATCH_MAX || arg->ops_len > WORT_BUF_MAX ||
	    arg->results_len > WORT_BUF_MAX)
		return -EMSGSIZE;
	return batch_probe(arg);
}

/**
 * wort_cmd_batch() - Carry out several operations
 * @call: The call.
 * @data: A struct wort_batch_arg.
 *
 * Context: May sleep.  Nothing is locked.
 * Return: 0, or an error that uapi/linux/wort.h tells of.
 */
int wort_cmd_batch(struct wort_call *call, void *data)
{
	struct wort_batch_arg *arg = data;
	struct batch_run run = { .arg = arg };
	int err = batch_verify(arg);

	BUILD_BUG_ON(sizeof(struct wort_batch_op) + WORT_KEY_MAX +
		     2 * WORT_VALUE_MAX + 8 > WORT_PIECE_SIZE);
	if (err)
		return err;
	err = wort_ubuf_alloc(&run.ops, piece(0, arg->ops_len));
	if (err)
		goto out_free_ops;
	err = wort_ubuf_alloc(&run.results, piece(0, arg->results_len));
	run.b = (struct wort_batch){
		.flags = arg->flags,
		.ops = run.ops.data,
		.results = run.results.data,
		.write = call->write,
		.relaxed = call->wfile->relaxed,
	};
	if (!err)
		err = batch(call, &run);
	wort_ubuf_free(&run.results);
out_free_ops:
	wort_ubuf_free(&run.ops);
	return err;
}
