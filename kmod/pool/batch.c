// SPDX-License-Identifier: GPL-2.0-only
/*
 * Batches: operations packed in a buffer, carried out in order.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "../core/pmem.h"
#include "pool.h"

/* The operation at @at; -EINVAL if it is not wholly inside the buffer. */
static int parse(const struct wort_batch *batch, u32 at,
		 struct wort_request *req)
{
	struct wort_batch_op *op = &req->op;
	const u8 *data = batch->ops + at + sizeof(*op);
	u32 left = batch->ops_len - at;
	u64 used;

	if (left < sizeof(*op))
		return -EINVAL;
	memcpy(op, batch->ops + at, sizeof(*op));
	used = (u64)sizeof(*op) + op->key_len + op->expect_len + op->value_len;
	if (op->rec_len % 8 || op->rec_len > left || used > op->rec_len)
		return -EINVAL;
	req->key = (struct wort_key){ data, op->key_len };
	data += op->key_len;
	req->expect = (struct wort_value){ data, op->expect_len };
	data += op->expect_len;
	req->value = (struct wort_value){ data, op->value_len };
	return 0;
}

/* Carry out one operation and append its answer. */
static int step(struct wort_index *index, struct wort_batch *batch,
		struct wort_request *req)
{
	u32 room = batch->results_size - batch->results_len;
	u8 *at = batch->results + batch->results_len;
	struct wort_batch_result result = { .value_len = WORT_NO_VALUE };
	u32 used = sizeof(result);

	result.error = wort_request_verify(&req->op, batch->write);
	if (round_up((u64)used + (result.error ? 0 : req->op.max_len), 8) > room)
		return -ERANGE;
	if (!result.error) {
		req->answer = (struct wort_buf){
			.data = at + used, .size = req->op.max_len,
		};
		result.error = wort_request_run(index, req);
		result.value_len = req->answer.len;
	}
	if (result.value_len != WORT_NO_VALUE && result.error != -ERANGE)
		used += result.value_len;
	result.rec_len = round_up(used, 8);
	memset(at + used, 0, result.rec_len - used);
	memcpy(at, &result, sizeof(result));
	batch->results_len += result.rec_len;
	batch->done++;
	if (!result.error)
		return 0;
	batch->failed++;
	return result.error == -EINTR ? -EINTR : 0;
}

/**
 * wort_index_batch() - Carry out several operations
 * @index: The index, held.
 * @batch: Operations, in memory that does not change meanwhile, and answers.
 *
 * Each is atomic by itself; what was carried out is durable.
 *
 * Context: May sleep.
 * Return: 0, whatever the answers say; -EINVAL if an operation is not wholly
 * inside the buffer; -ERANGE if an answer does not fit; -EINTR.
 */
int wort_index_batch(struct wort_index *index, struct wort_batch *batch)
{
	struct wort_request req;
	u32 at = 0, i;
	int err = 0;

	batch->done = 0;
	batch->failed = 0;
	batch->results_len = 0;
	for (i = 0; i < batch->nr_ops && !err; i++) {
		err = parse(batch, at, &req);
		if (err)
			break;
		err = step(index, batch, &req);
		at += req.op.rec_len;
		if (batch->failed && batch->flags & WORT_BATCH_F_STOP)
			break;
	}
	return err;
}
