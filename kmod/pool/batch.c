// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Batches: operations packed in a buffer, carried out in order.
 *
 * Changes are carried out in rounds, each a group commit (group.c).  If the
 * first operation of a round cannot be prepared, it is carried out by itself.
 *
 * Each change is atomic by itself, and a power cut may leave any of those of a
 * round.  None of them was acknowledged.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "group.h"

struct round {
	struct wort_index *index;
	struct wort_batch *batch;
	u32 ops_at;		/* the first operation that is not in it */
	u32 results_end;	/* end of the answers of those that are */
	u32 *prefetched;		/* up to there lines were loaded before */
	u32 max;
	struct wort_commit_group *group;
};

/* The operation at @at; -EINVAL if it is not wholly inside the buffer. */
static int parse_packed(const struct wort_batch *batch, u32 at,
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
	req->put.key = (struct wort_key){ data, op->key_len };
	data += op->key_len;
	req->expect = (struct wort_value){ data, op->expect_len };
	data += op->expect_len;
	req->put.value = (struct wort_value){ data, op->value_len };
	return 0;
}

static int parse(const struct wort_batch *batch, u32 at,
		 struct wort_request *req)
{
	if (!batch->reqs)
		return parse_packed(batch, at, req);
	if (at >= batch->nr_ops)
		return -EINVAL;
	*req = batch->reqs[at];
	return 0;
}

/* Make room for an answer at @at; -ERANGE if there is none. */
static int answer_begin(const struct wort_batch *batch, u32 at,
			struct wort_request *req, bool refused)
{
	u32 max_len = refused ? 0 : min_t(u32, req->op.max_len, WORT_VALUE_MAX);
	u32 head = sizeof(struct wort_batch_result);

	req->answer.len = WORT_NO_VALUE;
	if (batch->reqs)
		return 0;
	req->answer = (struct wort_buf){
		.data = batch->results + at + head,
		.size = max_len,
		.len = WORT_NO_VALUE,
		.relaxed = batch->relaxed,
	};
	return round_up((u64)head + max_len, 8) > batch->results_size - at ?
	       -ERANGE : 0;
}

static u32 answer_len(const struct wort_request *req, int err)
{
	u32 len = sizeof(struct wort_batch_result);

	if (req->answer.len != WORT_NO_VALUE && err != -ERANGE)
		len += req->answer.len;
	return round_up(len, 8);
}

static void answer_pack(struct wort_batch *batch,
			const struct wort_request *req, int err, u32 len)
{
	struct wort_batch_result result = {
		.rec_len = len,
		.error = err,
		.value_len = req->answer.len,
	};
	u8 *at = batch->results + batch->results_len;
	u32 used = sizeof(result);

	if (result.value_len != WORT_NO_VALUE && err != -ERANGE)
		used += result.value_len;
	if (len > used)
		memset(at + used, 0, len - used);
	memcpy(at, &result, sizeof(result));
	batch->results_len += len;
}

/* Write the answer of the next operation that was carried out. */
static void answer_end(struct wort_batch *batch,
		       const struct wort_request *req, int err, u32 len)
{
	if (batch->reqs) {
		batch->reqs[batch->done].err = err;
		batch->reqs[batch->done].answer.len = req->answer.len;
	} else {
		answer_pack(batch, req, err, len);
	}
	batch->done++;
	batch->failed += !!err;
}

/* Carry out an operation by itself. */
static int run_alone(struct wort_index *index, struct wort_batch *batch,
		     u32 *at)
{
	struct wort_request req;
	int err = parse(batch, *at, &req), refused;

	if (err)
		return err;
	refused = wort_request_verify(&req.op, batch->write);
	err = answer_begin(batch, batch->results_len, &req, refused);
	if (err)
		return err;
	err = refused ?: wort_request_run(index, &req);
	answer_end(batch, &req, err, answer_len(&req, err));
	*at += req.op.rec_len;
	return err == -EINTR ? -EINTR : 0;
}

/* Take the next operation into the round, if it can be. */
static bool round_add(struct round *round)
{
	const struct wort_engine *engine = READ_ONCE(round->index->engine);
	struct wort_member *m = wort_group_next(round->group, round->index,
						engine);
	struct wort_batch *batch = round->batch;
	bool refused;

	if (parse(batch, round->ops_at, &m->req))
		return false;
	m->err = wort_request_verify(&m->req.op, batch->write);
	refused = m->err;
	if (answer_begin(batch, round->results_end, &m->req, refused))
		return false;
	if (!refused && !wort_group_prepare(round->group, m))
		return false;
	m->at = round->ops_at;
	m->answer_len = answer_len(&m->req, m->err);
	round->ops_at += m->req.op.rec_len;
	round->results_end += m->answer_len;
	wort_group_add(round->group);
	return !m->err || !(batch->flags & WORT_BATCH_F_STOP);
}

/* Prefetch what the next operations, from @at on, will need. */
static void prefetch_ops(struct wort_index *index,
			 const struct wort_batch *batch, u32 at,
			 u32 *prefetched)
{
	u32 max = min_t(u32, batch->nr_ops - batch->done, WORT_PREFETCH_MAX);
	u32 nr;
	struct wort_key keys[WORT_PREFETCH_MAX] __uninitialized;
	struct wort_request req __uninitialized;

	for (nr = 0; nr < max; nr++) {
		if (parse(batch, at, &req) || !req.put.key.len)
			break;
		keys[nr] = req.put.key;
		at += req.op.rec_len;
	}
	*prefetched = at;
	index->prefetch_keys(&index->tree, keys, nr);
}

/* The same for lookups, which are carried out one by one. */
static void prefetch_lookups(struct wort_index *index,
			     const struct wort_batch *batch, u32 at,
			     u32 *prefetched)
{
	struct wort_op op;

	if (at < *prefetched || batch->nr_ops - batch->done < 2 ||
	    wort_index_enter(index, &op, WORT_READ))
		return;
	prefetch_ops(index, batch, at, prefetched);
	wort_index_exit(index, &op, WORT_READ, 0, -EAGAIN);
}

/* Carry out the next operations together.  How many were, is told. */
static u32 round_run(struct round *round, u32 *at)
{
	struct wort_commit_group *group = round->group;
	struct wort_batch *batch = round->batch;
	const struct wort_member *m;
	u32 i, done;

	round->ops_at = *at;
	round->results_end = batch->results_len;
	round->max = min_t(u32, batch->nr_ops - batch->done, WORT_ROUND_MAX);
	if (round->max < 2 ||
	    wort_index_enter(round->index, &group->op, WORT_WRITE))
		return 0;
	wort_group_begin(group);
	if (*at >= *round->prefetched)
		prefetch_ops(round->index, batch, *at, round->prefetched);
	while (group->nr < round->max && round_add(round))
		;
	done = wort_group_commit(group);
	wort_index_exit(round->index, &group->op, WORT_WRITE, 0, -EAGAIN);
	for (i = 0; i < done; i++) {
		m = &group->member[i];
		answer_end(batch, &m->req, m->err, m->answer_len);
		*at = m->at + m->req.op.rec_len;
	}
	return done;
}

/*
 * Where there is no memory for rounds, operations are carried out one by one.
 */
static void round_open(struct round *round, struct wort_index *index,
		       struct wort_batch *batch, u32 *prefetched)
{
	round->index = index;
	round->batch = batch;
	round->prefetched = prefetched;
	if (batch->nr_ops > 1 && index->tree.engine->batch_ops)
		round->group = wort_group_get(index->pool);
}

/* A lookup does not wait for whoever keeps writers out. */
static bool is_change(const struct wort_batch *batch, u32 at)
{
	struct wort_request req;

	return !parse(batch, at, &req) && req.op.op != WORT_BATCH_LOOKUP;
}

/**
 * wort_index_batch() - Carry out several operations
 * @index: The index, held.
 * @batch: Operations, in memory that does not change meanwhile, and answers.
 *
 * In order, and each is atomic by itself; what was carried out is durable.  A
 * power cut meanwhile may leave any of those not yet answered.
 *
 * Context: May sleep.
 * Return: 0, whatever the answers say; -EINVAL if an operation is not wholly
 * inside the buffer; -ERANGE if an answer does not fit; -EINTR.
 */
int wort_index_batch(struct wort_index *index, struct wort_batch *batch)
{
	struct round round = { };
	u32 at = 0, prefetched = 0;
	bool tried = false, change;
	int err = 0;

	batch->done = 0;
	batch->failed = 0;
	batch->results_len = 0;
	while (batch->done < batch->nr_ops && !err) {
		change = is_change(batch, at);
		if (change && !tried)
			round_open(&round, index, batch, &prefetched);
		tried |= change;
		if (!change)
			prefetch_lookups(index, batch, at, &prefetched);
		if (!change || !round.group || !round_run(&round, &at))
			err = run_alone(index, batch, &at);
		if (batch->failed && batch->flags & WORT_BATCH_F_STOP)
			break;
	}
	batch->ops_done = at;
	if (round.group) {
		wort_index_kick(index);
		wort_group_put(index->pool, round.group);
	}
	return err;
}
