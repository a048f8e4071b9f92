// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Batches: operations packed in one buffer, answers in another.
 *
 * The buffer for answers is made large enough for the largest ones, so the
 * module never stops for want of room in it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

struct wort_batch {
	uint32_t max_ops;
	uint32_t max_bytes;
	uint32_t nr_ops;
	uint32_t ops_len;
	uint32_t results_need;		/* bytes that answers may take */
	uint32_t done;
	uint32_t failed;
	uint32_t results_len;		/* bytes of answers */
	uint32_t at;			/* the next of them */
	unsigned char *ops;
	unsigned char *results;
};

static uint32_t limit(uint32_t wanted, uint32_t max)
{
	return wanted && wanted < max ? wanted : max;
}

WORT_API int wort_batch_new(const struct wort_batch_opts *opts,
			    struct wort_batch **out)
{
	struct wort_batch_opts o;
	struct wort_batch *batch;
	int err = wort_opts_read(&o, sizeof(o), opts);

	if (err)
		return err;
	batch = calloc(1, sizeof(*batch));
	if (!batch)
		return -ENOMEM;
	batch->max_ops = limit(o.max_ops, WORT_BATCH_MAX);
	batch->max_bytes = limit(o.max_bytes, WORT_BUF_MAX) & ~7U;
	batch->ops = malloc(batch->max_bytes);
	batch->results = malloc(batch->max_bytes);
	if (!batch->ops || !batch->results) {
		wort_batch_free(batch);
		return -ENOMEM;
	}
	*out = batch;
	return 0;
}

WORT_API void wort_batch_free(struct wort_batch *batch)
{
	if (!batch)
		return;
	free(batch->ops);
	free(batch->results);
	free(batch);
}

WORT_API void wort_batch_reset(struct wort_batch *batch)
{
	batch->nr_ops = 0;
	batch->ops_len = 0;
	batch->results_need = 0;
	batch->done = 0;
	batch->failed = 0;
	batch->results_len = 0;
	batch->at = 0;
}

WORT_API unsigned int wort_batch_count(const struct wort_batch *batch)
{
	return batch->nr_ops;
}

WORT_API unsigned int wort_batch_done(const struct wort_batch *batch)
{
	return batch->done;
}

WORT_API unsigned int wort_batch_failed(const struct wort_batch *batch)
{
	return batch->failed;
}

static uint32_t align8(uint32_t len)
{
	return (len + 7) & ~7U;
}

static int append(struct wort_batch *batch, struct wort_batch_op *op,
		  const void *key, const void *value, uint32_t answer_len)
{
	uint32_t value_len = value ? op->value_len : 0;
	unsigned char *at = batch->ops + batch->ops_len;
	uint32_t used = sizeof(*op) + op->key_len + value_len;

	op->rec_len = align8(used);
	answer_len = align8(sizeof(struct wort_batch_result) + answer_len);
	if (op->rec_len > batch->max_bytes || answer_len > batch->max_bytes)
		return -EMSGSIZE;
	if (batch->nr_ops == batch->max_ops ||
	    op->rec_len > batch->max_bytes - batch->ops_len ||
	    answer_len > batch->max_bytes - batch->results_need)
		return -ENOBUFS;
	memcpy(at, op, sizeof(*op));
	memcpy(at + sizeof(*op), key, op->key_len);
	if (value_len)
		memcpy(at + sizeof(*op) + op->key_len, value, value_len);
	memset(at + used, 0, op->rec_len - used);
	batch->nr_ops++;
	batch->ops_len += op->rec_len;
	batch->results_need += answer_len;
	return 0;
}

WORT_API int wort_batch_put(struct wort_batch *batch, const void *key,
			    size_t key_len, const void *value, size_t value_len,
			    uint32_t flags)
{
	struct wort_batch_op op = {
		.op = WORT_BATCH_INSERT,
		.flags = flags,
		.key_len = key_len,
		.value_len = value_len,
	};

	if (key_len > WORT_KEY_MAX || value_len > WORT_VALUE_MAX)
		return -EMSGSIZE;
	if (flags & ~WORT_INSERT_F_ALL)
		return -EOPNOTSUPP;
	return append(batch, &op, key, value_len ? value : "", 0);
}

WORT_API int wort_batch_del(struct wort_batch *batch, const void *key,
			    size_t key_len)
{
	struct wort_batch_op op = {
		.op = WORT_BATCH_DELETE,
		.key_len = key_len,
	};

	if (key_len > WORT_KEY_MAX)
		return -EMSGSIZE;
	return append(batch, &op, key, NULL, 0);
}

WORT_API int wort_batch_get(struct wort_batch *batch, const void *key,
			    size_t key_len, size_t max_value_len)
{
	struct wort_batch_op op = {
		.op = WORT_BATCH_LOOKUP,
		.key_len = key_len,
		.value_len = WORT_VALUE_MAX,
	};

	if (key_len > WORT_KEY_MAX)
		return -EMSGSIZE;
	if (max_value_len < op.value_len)
		op.value_len = max_value_len;
	return append(batch, &op, key, NULL, op.value_len);
}

WORT_API int wort_batch_submit(struct wort_batch *batch,
			       struct wort_index *index, uint32_t flags)
{
	struct wort_batch_arg arg = {
		.size = sizeof(arg),
		.flags = flags,
		.ops_ptr = wort_ptr(batch->ops),
		.results_ptr = wort_ptr(batch->results),
		.ops_len = batch->ops_len,
		.results_len = batch->results_need,
		.nr_ops = batch->nr_ops,
	};
	int err;

	if (!batch->nr_ops)
		return 0;
	err = wort_ioctl(index->fd, WORT_IOC_BATCH, &arg);
	batch->done = arg.out_done;
	batch->failed = arg.out_failed;
	batch->results_len = arg.out_results_len;
	batch->at = 0;
	if (batch->done > batch->nr_ops || batch->failed > batch->done ||
	    batch->results_len > batch->results_need)
		return -EBADMSG;
	return err;
}

WORT_API int wort_batch_next(struct wort_batch *batch,
			     struct wort_batch_item *item)
{
	const unsigned char *at = batch->results + batch->at;
	uint32_t left = batch->results_len - batch->at;
	struct wort_batch_result res;
	uint64_t used = sizeof(res);

	if (!left)
		return 0;
	if (left < sizeof(res))
		return -EBADMSG;
	memcpy(&res, at, sizeof(res));
	if (!res.error)
		used += res.value_len;
	if (res.rec_len > left || used > res.rec_len)
		return -EBADMSG;
	item->error = res.error;
	item->value = res.error ? NULL : at + sizeof(res);
	item->value_len = res.value_len;
	batch->at += res.rec_len;
	return 1;
}
