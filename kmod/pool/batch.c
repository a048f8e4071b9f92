// SPDX-License-Identifier: GPL-2.0-only
/*
 * Batches: operations packed in a buffer, carried out in order.
 *
 * They are carried out in rounds.  A round prepares changes, one after the
 * other, waits once until what they need is durable, commits them in order, and
 * waits once more.  A change that needs nothing is committed at once if no
 * other one waits.  So a round has two fences, however many changes it has.
 *
 * A round ends before an operation with the key of a change that waits, and
 * before one that the engine cannot prepare: it may depend on a change that
 * waits, there may be no space, or damage was found.  If that is the first
 * operation of a round it is carried out by itself.  If a change cannot be
 * committed as it was prepared, since another writer was faster, the round ends
 * there, and what comes after it is prepared again.
 *
 * Changes that an engine commits by one word form a chain (round.h).  Each
 * chain is a sequence of adjacent changes, and the commit of the first one is
 * that of all.
 *
 * Each change is atomic by itself, and a power cut may leave any of those of a
 * round.  None of them was acknowledged.
 */
#include <linux/bitmap.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/xxhash.h>

#include "../core/pmem.h"
#include "../engine/round.h"
#include "pool.h"

enum batched_state {
	BATCHED_ANSWERED,	/* nothing is to be changed */
	BATCHED_WAITING,	/* prepared */
	BATCHED_COMMITTED,	/* and committed, perhaps not durable */
};

/* An operation of a round. */
struct batched {
	enum batched_state state;
	bool refused;		/* it is none that could be begun */
	int err;
	u32 type;
	u32 at;			/* where it is in the buffer */
	u32 answer_len;
	struct wort_op op;
	struct wort_request req;
	struct wort_change change;
};

struct round {
	struct wort_index *index;
	struct wort_batch *batch;
	struct wort_op op;	/* has the section, and fences for all */
	u32 ops_at;		/* the first operation that is not in it */
	u32 results_end;	/* end of the answers of those that are */
	u32 *prefetched;		/* up to there lines were loaded before */
	u32 nr;
	u32 max;
	u32 nr_committed;
	struct wort_words keys;		/* of those that wait, hashed */
	struct wort_round waiting;
	struct wort_lines lines;	/* flushed before the next fence */
	struct batched of[WORT_ROUND_MAX];
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

/* What an operation has flushed the fence of the round waits for. */
static void round_flushed(struct round *round, struct batched *b)
{
	round->op.pending += b->op.pending;
	b->op.pending = 0;
}

/* Where nothing needs a flush, what was stored needs a fence nevertheless. */
static void round_fence(struct round *round, bool stored)
{
	if (round->op.pending || (stored && !round->op.flush))
		wort_pm_fence(&round->op);
}

/* It is not in the round. */
static void drop(struct round *round, struct batched *b)
{
	round_flushed(round, b);
	wort_alloc_untake(&b->op);
	wort_index_leave(round->index, &b->op, b->type, -EAGAIN);
}

static void wait_in_round(struct round *round, struct batched *b, u64 key)
{
	struct wort_round *waiting = &round->waiting;
	struct wort_change *change = &b->change;
	u32 i;

	b->state = BATCHED_WAITING;
	wort_words_add(&round->keys, key);
	waiting->change[waiting->slots.nr] = change;
	wort_words_add(&waiting->slots, change->slot);
	for (i = 0; change->claims >> i; i++)
		if (change->claims >> i & 1 && change->node[i])
			__set_bit(wort_lock_nr(change->node[i]), waiting->claimed);
}

/* What has joined a chain was committed with the first one, right before it. */
static int commit(struct round *round, struct batched *b)
{
	struct wort_tree *tree = &round->index->tree;
	int err = 0;

	if (!b->change.first)
		err = tree->engine->batch_ops->commit(&b->op, tree, &b->change);
	round_flushed(round, b);
	if (err)
		return err;
	b->state = BATCHED_COMMITTED;
	round->nr_committed++;
	return 0;
}

/* Equal keys have the same one; others seldom do. */
static u64 key_word(const struct wort_key *key)
{
	return key->len == sizeof(u64) ? wort_key_word(key, 0) :
	       xxh64(key->data, key->len, 0);
}

/* False: it is not for this round. */
static bool prepare(struct round *round, struct batched *b)
{
	u64 key = key_word(&b->req.put.key);

	if (wort_words_find(&round->keys, key))
		return false;
	b->state = BATCHED_ANSWERED;
	b->change.round = &round->waiting;
	b->change.first = NULL;
	b->change.next = NULL;
	wort_index_join(round->index, &b->op, &round->op);
	b->op.gather = &round->lines;
	b->err = wort_request_prepare(round->index, &b->op, &b->req,
				      &b->change, &b->type);
	round_flushed(round, b);
	if (b->err == -EEXIST || b->err == -ENOENT || b->err == -ECANCELED ||
	    b->err == -ERANGE || (!b->err && b->type == WORT_OP_LOOKUP))
		return true;
	if (!b->err && (b->change.waits || round->waiting.slots.nr)) {
		wait_in_round(round, b, key);
		return true;
	}
	if (!b->err)
		b->err = commit(round, b);
	if (!b->err)
		return true;
	drop(round, b);
	return false;
}

/* Take the next operation into the round, if it can be. */
static bool round_add(struct round *round)
{
	struct batched *b = &round->of[round->nr];
	struct wort_batch *batch = round->batch;

	if (parse(batch, round->ops_at, &b->req))
		return false;
	b->err = wort_request_verify(&b->req.op, batch->write);
	b->refused = b->err;
	b->state = BATCHED_ANSWERED;
	if (answer_begin(batch, round->results_end, &b->req, b->refused))
		return false;
	if (!b->refused && !prepare(round, b))
		return false;
	b->at = round->ops_at;
	b->answer_len = answer_len(&b->req, b->err);
	round->ops_at += b->req.op.rec_len;
	round->results_end += b->answer_len;
	round->nr++;
	return !b->err || !(batch->flags & WORT_BATCH_F_STOP);
}

/* Prefetch what the next operations, from @at on, will need. */
static void prefetch_ops(struct wort_index *index, const struct wort_batch *batch,
			 u32 at, u32 *prefetched)
{
	u32 max = min_t(u32, batch->nr_ops - batch->done, WORT_PREFETCH_MAX), nr;
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
			     const struct wort_batch *batch, u32 at, u32 *prefetched)
{
	struct wort_op op;

	if (at < *prefetched || batch->nr_ops - batch->done < 2 ||
	    wort_index_enter(index, &op, WORT_READ))
		return;
	prefetch_ops(index, batch, at, prefetched);
	wort_index_exit(index, &op, WORT_READ, 0, -EAGAIN);
}

/*
 * Commit what waits, in order, up to the first change that cannot be.  How many
 * operations of the round are carried out then is told.
 */
static u32 round_commit(struct round *round)
{
	u32 i;

	if (round->waiting.slots.nr)
		round_fence(round, true);
	for (i = 0; i < round->nr; i++)
		if (round->of[i].state == BATCHED_WAITING &&
		    commit(round, &round->of[i]))
			break;
	round_fence(round, round->nr_committed);
	return i;
}

/* It is durable, or nothing was to be changed. */
static void finish(struct round *round, struct batched *b)
{
	struct wort_tree *tree = &round->index->tree;

	if (b->state == BATCHED_COMMITTED)
		tree->engine->batch_ops->finish(&b->op, tree, &b->change);
	answer_end(round->batch, &b->req, b->err, b->answer_len);
	if (!b->refused)
		wort_index_leave(round->index, &b->op, b->type, b->err);
}

/* For statistics the fences are those of the first change. */
static void round_account(struct round *round)
{
	struct wort_counts *n;
	u32 i = 0;

	if (!round->nr_committed)
		return;
	while (round->of[i].state != BATCHED_COMMITTED)
		i++;
	n = &round->of[i].op.n;
	n->idle_fences += round->op.n.idle_fences;
	n->ordering_points += round->op.n.ordering_points;
}

static void round_begin(struct round *round, u32 at)
{
	round->ops_at = at;
	round->results_end = round->batch->results_len;
	round->nr = 0;
	round->max = min_t(u32, round->batch->nr_ops - round->batch->done,
			   WORT_ROUND_MAX);
	round->nr_committed = 0;
	wort_words_empty(&round->keys);
	wort_words_empty(&round->waiting.slots);
	bitmap_zero(round->waiting.claimed, WORT_NR_LOCKS);
	round->lines.nr = 0;
}

/* Carry out the next operations together.  How many were, is told. */
static u32 round_run(struct round *round, u32 *at)
{
	u32 i, done;

	round_begin(round, *at);
	if (round->max < 2 ||
	    wort_index_enter(round->index, &round->op, WORT_WRITE))
		return 0;
	round->op.gather = &round->lines;
	if (*at >= *round->prefetched)
		prefetch_ops(round->index, round->batch, *at, round->prefetched);
	while (round->nr < round->max && round_add(round))
		;
	done = round_commit(round);
	round_account(round);
	for (i = 0; i < done; i++)
		finish(round, &round->of[i]);
	for (; i < round->nr; i++)
		if (!round->of[i].refused)
			drop(round, &round->of[i]);
	wort_index_exit(round->index, &round->op, WORT_WRITE, 0, -EAGAIN);
	if (done)
		*at = round->of[done - 1].at + round->of[done - 1].req.op.rec_len;
	return done;
}

/*
 * Where there is no memory for rounds, operations are carried out one by one.
 */
static struct round *round_alloc(struct wort_index *index,
				 struct wort_batch *batch, u32 *prefetched)
{
	struct round *round = NULL;

	if (batch->nr_ops > 1 && index->tree.engine->batch_ops)
		round = xchg(&index->pool->spare_round, NULL) ?:
			kvzalloc(sizeof(*round), GFP_NOIO | WORT_GFP_CALL);
	if (round) {
		round->index = index;
		round->batch = batch;
		round->prefetched = prefetched;
	}
	return round;
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
	struct round *round = NULL;
	u32 at = 0, prefetched = 0;
	bool tried = false, change;
	int err = 0;

	batch->done = 0;
	batch->failed = 0;
	batch->results_len = 0;
	while (batch->done < batch->nr_ops && !err) {
		change = is_change(batch, at);
		if (change && !tried)
			round = round_alloc(index, batch, &prefetched);
		tried |= change;
		if (!change)
			prefetch_lookups(index, batch, at, &prefetched);
		if (!change || !round || !round_run(round, &at))
			err = run_alone(index, batch, &at);
		if (batch->failed && batch->flags & WORT_BATCH_F_STOP)
			break;
	}
	batch->ops_done = at;
	if (round) {
		wort_index_kick(index);
		kvfree(xchg(&index->pool->spare_round, round));
	}
	return err;
}
