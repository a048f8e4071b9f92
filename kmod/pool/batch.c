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
		 struct wort_batch_op *op, struct wort_key *key)
{
	u32 left = batch->ops_len - at;
	u64 used;

	if (left < sizeof(*op))
		return -EINVAL;
	memcpy(op, batch->ops + at, sizeof(*op));
	used = (u64)sizeof(*op) + op->key_len;
	if (op->op == WORT_BATCH_INSERT)
		used += op->value_len;
	if (op->rec_len % 8 || op->rec_len > left || used > op->rec_len)
		return -EINVAL;
	key->data = batch->ops + at + sizeof(*op);
	key->len = op->key_len;
	return 0;
}

static int do_insert(struct wort_index *index, const struct wort_batch_op *op,
		     const struct wort_key *key)
{
	struct wort_put put = {
		.key = *key,
		.value = { key->data + key->len, op->value_len },
		.create = op->flags & WORT_INSERT_F_CREATE,
		.replace = op->flags & WORT_INSERT_F_REPLACE,
	};

	if (op->flags & ~WORT_INSERT_F_ALL)
		return -EOPNOTSUPP;
	if (put.create && put.replace)
		return -EINVAL;
	return wort_index_insert(index, &put);
}

static int do_lookup(struct wort_index *index, const struct wort_batch_op *op,
		     const struct wort_key *key, u8 *value,
		     struct wort_batch_result *result)
{
	struct wort_buf buf = { .data = value, .size = op->value_len };
	int err;

	if (op->flags)
		return -EOPNOTSUPP;
	err = wort_index_lookup(index, key, &buf);
	result->value_len = buf.len;
	return err;
}

static int do_op(struct wort_index *index, const struct wort_batch *batch,
		 const struct wort_batch_op *op, const struct wort_key *key,
		 u8 *value, struct wort_batch_result *result)
{
	if (op->op == WORT_BATCH_LOOKUP)
		return do_lookup(index, op, key, value, result);
	if (op->op != WORT_BATCH_INSERT && op->op != WORT_BATCH_DELETE)
		return -EOPNOTSUPP;
	if (!batch->write)
		return -EBADF;
	if (op->op == WORT_BATCH_INSERT)
		return do_insert(index, op, key);
	return op->flags ? -EOPNOTSUPP : wort_index_delete(index, key, NULL);
}

/* Carry out one operation and append its answer. */
static int step(struct wort_index *index, struct wort_batch *batch,
		const struct wort_batch_op *op, const struct wort_key *key)
{
	u32 room = batch->results_size - batch->results_len;
	u8 *at = batch->results + batch->results_len;
	struct wort_batch_result result = { };
	u64 need = sizeof(result), used;

	if (op->op == WORT_BATCH_LOOKUP)
		need += op->value_len;
	if (round_up(need, 8) > room)
		return -ERANGE;
	result.error = do_op(index, batch, op, key, at + sizeof(result),
			     &result);
	used = sizeof(result);
	if (!result.error)
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
 * Context: May sleep.  Takes wort_index.lock.
 * Return: 0, whatever the answers say; -EINVAL if an operation is not wholly
 * inside the buffer; -ERANGE if an answer does not fit; -EINTR.
 */
int wort_index_batch(struct wort_index *index, struct wort_batch *batch)
{
	struct wort_batch_op op;
	struct wort_key key;
	u32 at = 0, i;
	int err = 0;

	batch->done = 0;
	batch->failed = 0;
	batch->results_len = 0;
	for (i = 0; i < batch->nr_ops && !err; i++) {
		err = parse(batch, at, &op, &key);
		if (err)
			break;
		err = step(index, batch, &op, &key);
		at += op.rec_len;
		if (batch->failed && batch->flags & WORT_BATCH_F_STOP)
			break;
	}
	return err;
}
