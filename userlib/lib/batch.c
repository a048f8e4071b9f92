// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Batches: operations packed in one buffer, answers in another.
 *
 * The buffer for answers is made large enough for the largest ones, so the
 * module never stops for want of room in it.
 */
#include <errno.h>
#include <stdbool.h>
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

static unsigned char *put_bytes(unsigned char *at, const void *bytes,
				uint32_t len)
{
	if (len)
		memcpy(at, bytes, len);
	return at + len;
}

uint32_t wort_op_len(const struct wort_batch_op *op, uint32_t head)
{
	return align8(head + op->key_len + op->expect_len + op->value_len);
}

void wort_op_pack(unsigned char *to, const void *head, uint32_t head_len,
		  const struct wort_batch_op *op,
		  const struct wort_batch_request *req)
{
	unsigned char *at = put_bytes(to, head, head_len);

	at = put_bytes(at, req->key, op->key_len);
	at = put_bytes(at, req->expect, op->expect_len);
	at = put_bytes(at, req->value, op->value_len);
	memset(at, 0, to + op->rec_len - at);
}

uint32_t wort_answer_room(const struct wort_batch_op *op)
{
	return align8(sizeof(struct wort_batch_result) + op->max_len);
}

static int append(struct wort_batch *batch, struct wort_batch_op *op,
		  const struct wort_batch_request *req)
{
	uint32_t answer_len = wort_answer_room(op);

	op->rec_len = wort_op_len(op, sizeof(*op));
	if (op->rec_len > batch->max_bytes || answer_len > batch->max_bytes)
		return -EMSGSIZE;
	if (batch->nr_ops == batch->max_ops ||
	    op->rec_len > batch->max_bytes - batch->ops_len ||
	    answer_len > batch->max_bytes - batch->results_need)
		return -ENOBUFS;
	wort_op_pack(batch->ops + batch->ops_len, op, sizeof(*op), op, req);
	batch->nr_ops++;
	batch->ops_len += op->rec_len;
	batch->results_need += answer_len;
	return 0;
}

int wort_request_read(const struct wort_batch_request *request,
		      struct wort_batch_request *req, struct wort_batch_op *op)
{
	int err = wort_opts_read(req, sizeof(*req), request);

	if (err)
		return err;
	if (req->key_len > WORT_KEY_MAX || req->expect_len > WORT_VALUE_MAX ||
	    req->value_len > WORT_VALUE_MAX)
		return -EMSGSIZE;
	if (req->op > UINT16_MAX || req->flags > UINT16_MAX)
		return -EOPNOTSUPP;
	*op = (struct wort_batch_op){
		.op = req->op,
		.flags = req->flags,
		.key_len = req->key_len,
		.expect_len = req->expect_len,
		.value_len = req->value_len,
		.max_len = req->max_len < WORT_VALUE_MAX ? req->max_len :
							   WORT_VALUE_MAX,
	};
	return 0;
}

WORT_API int wort_batch_add(struct wort_batch *batch,
			    const struct wort_batch_request *request)
{
	struct wort_batch_request req;
	struct wort_batch_op op;
	int err = wort_request_read(request, &req, &op);

	return err ? err : append(batch, &op, &req);
}

WORT_API int wort_batch_put(struct wort_batch *batch, const void *key,
			    size_t key_len, const void *value, size_t value_len,
			    uint32_t flags)
{
	struct wort_batch_request req = {
		.sz = sizeof(req),
		.op = WORT_BATCH_INSERT,
		.flags = flags,
		.key = key,
		.key_len = key_len,
		.value = value,
		.value_len = value_len,
	};

	if (flags & ~(WORT_INSERT_F_CREATE | WORT_INSERT_F_REPLACE))
		return -EOPNOTSUPP;
	return wort_batch_add(batch, &req);
}

WORT_API int wort_batch_del(struct wort_batch *batch, const void *key,
			    size_t key_len)
{
	struct wort_batch_request req = {
		.sz = sizeof(req),
		.op = WORT_BATCH_DELETE,
		.key = key,
		.key_len = key_len,
	};

	return wort_batch_add(batch, &req);
}

WORT_API int wort_batch_get(struct wort_batch *batch, const void *key,
			    size_t key_len, size_t max_value_len)
{
	struct wort_batch_request req = {
		.sz = sizeof(req),
		.op = WORT_BATCH_LOOKUP,
		.key = key,
		.key_len = key_len,
		.max_len = max_value_len,
	};

	return wort_batch_add(batch, &req);
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
	    batch->results_len > batch->results_need) {
		batch->done = 0;
		batch->failed = 0;
		batch->results_len = 0;
		return -EBADMSG;
	}
	return err;
}

int wort_answer_next(const unsigned char *answers, uint32_t len, uint32_t *at,
		     struct wort_batch_item *item)
{
	uint32_t left = len - *at;
	struct wort_batch_result res;
	uint64_t used = sizeof(res);
	bool given;

	if (!left)
		return 0;
	if (left < sizeof(res))
		return -EBADMSG;
	answers += *at;
	memcpy(&res, answers, sizeof(res));
	given = res.value_len != WORT_NO_VALUE && res.error != -ERANGE;
	if (given)
		used += res.value_len;
	if (res.rec_len > left || used > res.rec_len)
		return -EBADMSG;
	item->error = res.error;
	item->value = given ? answers + sizeof(res) : NULL;
	item->value_len = res.value_len == WORT_NO_VALUE ? 0 : res.value_len;
	*at += res.rec_len;
	return 1;
}

WORT_API int wort_batch_next(struct wort_batch *batch,
			     struct wort_batch_item *item)
{
	return wort_answer_next(batch->results, batch->results_len, &batch->at,
				item);
}
