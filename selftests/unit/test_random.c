// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random operations against the model.
 */
#include "model.h"

/**
 * struct run - Random operations under way
 * @bed: the pool
 * @model: what its index should hold
 * @rnd: state of the generator
 * @kind: of keys
 * @small: the pool may be full, and values are short
 * @entries: of what the engine keeps in DRAM, verified
 * @key: of the operation
 * @buf: for values, operations of a batch and records
 */
struct run {
	struct bed bed;
	struct model model;
	u64 rnd;
	enum keygen kind;
	bool small;
	u32 entries;
	u8 key[WORT_KEY_MAX];
	u8 buf[2 * WORT_VALUE_MAX];
	u8 out[4 * WORT_VALUE_MAX] __attribute__((aligned(8)));
};

static struct run run;

static u32 pick(u32 n)
{
	return (test_random(&run.rnd) >> 16) % n;
}

static u32 pick_len(void)
{
	static const u32 few[] = { 0, 1, 7, 8, 8, 8, 8, 9 };
	u32 p = pick(200);

	if (p < 150)
		return few[p % ARRAY_SIZE(few)];
	if (p < 175 || run.small)
		return p < 190 ? 300 : 40 + pick(500);
	if (p < 198)
		return p < 190 ? 5000 : pick(6000);
	return WORT_VALUE_MAX;
}

static u64 pick_seed(void)
{
	return pick(3);
}

static void pick_put(struct model_put *put)
{
	memset(put, 0, sizeof(*put));
	put->key = run.key;
	put->key_len = keygen(run.kind, &run.rnd, run.key);
	put->value_len = pick_len();
	put->value_seed = pick_seed();
}

/* What is expected is, half of the time, what is there. */
static void pick_expect(struct model_put *put)
{
	bool found;
	u32 at = model_find(&run.model, put->key, put->key_len, &found);

	put->has_expect = true;
	put->expect_len = pick_len();
	put->expect_seed = pick_seed();
	if (found && pick(2)) {
		put->expect_len = run.model.recs[at].value_len;
		put->expect_seed = run.model.recs[at].value_seed;
	}
}

/* The value that was there; half of the time nobody asks, or it may not fit. */
static struct wort_buf *pick_old(struct wort_buf *old)
{
	static u8 buf[WORT_VALUE_MAX];

	*old = (struct wort_buf){
		.data = buf, .size = pick(4) ? WORT_VALUE_MAX : pick_len(),
	};
	return pick(2) ? old : NULL;
}

/* What a change answers that fetches, and whether it fetched right. */
static int check_old(const struct model_put *put, const struct wort_buf *old,
		     int err)
{
	static u8 value[WORT_VALUE_MAX];
	const struct model_rec *rec;
	bool found;
	u32 at;

	if (!old)
		return err;
	at = model_find(&run.model, put->key, put->key_len, &found);
	if (!found) {
		CHECK_EQ(old->len, WORT_NO_VALUE);
		return err;
	}
	rec = &run.model.recs[at];
	if (old->len == WORT_NO_VALUE)
		return -ENOSPC;
	CHECK_EQ(old->len, rec->value_len);
	if (rec->value_len > old->size)
		return -ERANGE;
	value_fill(value, rec->value_seed, rec->value_len);
	CHECK(!memcmp(old->data, value, rec->value_len));
	return err;
}

static void do_put(bool expect)
{
	static u8 before[WORT_VALUE_MAX];
	struct wort_value want = { .data = before };
	struct wort_buf buf, *old = pick_old(&buf);
	struct model_put put;
	int err, model_err;

	pick_put(&put);
	put.flags = pick(2) ? pick(3) : 0;
	if (expect)
		pick_expect(&put);
	value_fill(run.buf, put.value_seed, put.value_len);
	value_fill(before, put.expect_seed, put.expect_len);
	want.len = put.expect_len;
	err = unit_put(run.bed.index, put.key, put.key_len, run.buf,
		       put.value_len, put.flags, expect ? &want : NULL, old);
	model_err = check_old(&put, old, model_put_err(&run.model, &put));
	if (run.small && err == -ENOSPC) {
		CHECK_EQ(old ? old->len : WORT_NO_VALUE, WORT_NO_VALUE);
		CHECK_EQ(model_put_err(&run.model, &put), 0);
		return;
	}
	CHECK_EQ(err, model_err);
	if (!err)
		model_put(&run.model, &put);
}

static void do_del(bool expect)
{
	struct wort_value want = { .data = run.buf };
	struct wort_buf buf, *old = pick_old(&buf);
	struct model_put del;
	struct wort_key key;
	int err;

	pick_put(&del);
	if (expect)
		pick_expect(&del);
	key.data = del.key;
	key.len = del.key_len;
	value_fill(run.buf, del.expect_seed, del.expect_len);
	want.len = del.expect_len;
	err = wort_index_delete(run.bed.index, &key, expect ? &want : NULL,
				old);
	CHECK_EQ(err, check_old(&del, old, model_del_err(&run.model, &del)));
	if (!err)
		model_del(&run.model, del.key, del.key_len);
}

static void do_lookup(void)
{
	static u8 value[WORT_VALUE_MAX];
	u32 key_len = keygen(run.kind, &run.rnd, run.key), len, at, size;
	const struct model_rec *rec;
	bool found;
	int err;

	len = pick(4) ? WORT_VALUE_MAX : pick_len();
	size = len;
	at = model_find(&run.model, run.key, key_len, &found);
	err = (pick(2) ? pm_get : reader_get)(run.bed.index, run.key, key_len,
					      run.buf, &len);
	if (!found) {
		CHECK_EQ(err, -ENOENT);
		return;
	}
	rec = &run.model.recs[at];
	CHECK_EQ(len, rec->value_len);
	CHECK_EQ(err, len > size ? -ERANGE : 0);
	if (err)
		return;
	value_fill(value, rec->value_seed, len);
	CHECK(!memcmp(run.buf, value, len));
}

static void pick_key(struct wort_key *key, u8 *buf)
{
	key->data = buf;
	key->len = keygen(run.kind, &run.rnd, buf);
	if (!pick(4))
		key->len = 1 + pick(key->len);
}

/* Without an order of keys all records are counted. */
static void do_count(void)
{
	struct wort_scan scan = {
		.flags = WORT_SCAN_F_COUNT, .buf = run.out,
		.buf_len = sizeof(run.out),
	};

	CHECK_EQ(wort_index_scan(run.bed.index, &scan), 0);
	CHECK_EQ(scan.count, run.model.nr);
}

static void do_scan(void)
{
	static u8 start_buf[WORT_KEY_MAX], bound_buf[WORT_KEY_MAX];
	struct wort_key start, bound;
	struct wort_scan scan = {
		.flags = test_random(&run.rnd) >> 20 & WORT_SCAN_F_ALL,
		.buf = run.out, .buf_len = sizeof(run.out),
	};

	if (pick(4)) {
		pick_key(&start, start_buf);
		scan.start = &start;
	}
	if (pick(2)) {
		pick_key(&bound, bound_buf);
		scan.bound = &bound;
	}
	if (scan.bound && scan.flags & WORT_SCAN_F_PREFIX && pick(2))
		bound.len = 1 + pick(3) % bound.len;
	if (pick(3))
		scan.max = pick(20);
	if (!pick(3) && !(scan.flags & WORT_SCAN_F_COUNT))
		scan.buf_len = pick(4000);
	model_check_scan(&run.model, &scan,
			 wort_index_scan(run.bed.index, &scan));
}

/* One operation of a batch, and what the answer should be. */
struct expect_op {
	int err;
	u32 value_len;
	u64 value_seed;
};

/* The value that is there, if it is asked for and fits. */
static void expect_value(const struct model_put *put,
			 const struct wort_batch_op *op,
			 struct expect_op *expect)
{
	bool found;
	u32 rec = model_find(&run.model, put->key, put->key_len, &found);

	expect->value_len = WORT_NO_VALUE;
	if (!found || !wort_request_answers(op))
		return;
	expect->value_len = run.model.recs[rec].value_len;
	expect->value_seed = run.model.recs[rec].value_seed;
	if (expect->value_len > op->max_len)
		expect->err = -ERANGE;
}

static void expect_change(const struct model_put *put,
			  const struct wort_batch_op *op,
			  struct expect_op *expect)
{
	bool del = op->op == WORT_BATCH_DELETE;

	expect->err = del ? model_del_err(&run.model, put) :
			    model_put_err(&run.model, put);
	expect_value(put, op, expect);
	if (expect->err)
		return;
	if (del)
		model_del(&run.model, put->key, put->key_len);
	else
		model_put(&run.model, put);
}

static void expect_lookup(const struct model_put *put,
			  const struct wort_batch_op *op,
			  struct expect_op *expect)
{
	bool found;

	model_find(&run.model, put->key, put->key_len, &found);
	expect->err = found ? 0 : -ENOENT;
	expect_value(put, op, expect);
}

static void pick_op(struct wort_batch_op *op, struct model_put *put)
{
	pick_put(put);
	op->op = 1 + pick(4);
	if (op->op == WORT_BATCH_INSERT)
		op->flags = pick(3);
	put->flags = op->flags;
	if (op->op == WORT_BATCH_CAS || (op->op == WORT_BATCH_DELETE && pick(2)))
		pick_expect(put);
	if (op->op == WORT_BATCH_DELETE && put->has_expect)
		op->flags = WORT_DELETE_F_EXPECT;
	if (op->op != WORT_BATCH_LOOKUP && pick(2))
		op->flags |= WORT_F_FETCH;
	put->value_len = min(put->value_len, 4000U);
	put->expect_len = min(put->expect_len, 4000U);
	op->key_len = put->key_len;
	op->expect_len = put->expect_len;
	if (op->op == WORT_BATCH_INSERT || op->op == WORT_BATCH_CAS)
		op->value_len = put->value_len;
	if (wort_request_answers(op))
		op->max_len = min(pick_len(), 4000U);
}

static u32 batch_op(u8 *at, struct expect_op *expect)
{
	struct wort_batch_op op = { };
	u8 *data = at + sizeof(op);
	struct model_put put;

	pick_op(&op, &put);
	memcpy(data, put.key, put.key_len);
	value_fill(data + op.key_len, put.expect_seed, op.expect_len);
	value_fill(data + op.key_len + op.expect_len, put.value_seed,
		   op.value_len);
	op.rec_len = round_up(sizeof(op) + op.key_len + op.expect_len +
			      op.value_len, 8);
	memcpy(at, &op, sizeof(op));
	if (op.op == WORT_BATCH_LOOKUP)
		expect_lookup(&put, &op, expect);
	else
		expect_change(&put, &op, expect);
	return op.rec_len;
}

static u32 check_answer(const u8 *at, const struct expect_op *expect)
{
	static u8 value[WORT_VALUE_MAX];
	struct wort_batch_result result;
	u32 len = expect->value_len;

	if (len == WORT_NO_VALUE || expect->err == -ERANGE)
		len = 0;
	memcpy(&result, at, sizeof(result));
	CHECK_EQ(result.error, expect->err);
	CHECK_EQ(result.value_len, expect->value_len);
	CHECK_EQ(result.rec_len, round_up(sizeof(result) + len, 8));
	value_fill(value, expect->value_seed, len);
	CHECK(!memcmp(at + sizeof(result), value, len));
	for (len += sizeof(result); len < result.rec_len; len++)
		CHECK_EQ(at[len], 0);
	return result.rec_len;
}

#define BATCH_OPS	12

static void do_batch(void)
{
	struct expect_op expect[BATCH_OPS] = { };
	struct wort_batch batch = {
		.ops = run.buf, .results = run.out,
		.results_size = sizeof(run.out), .write = true,
		.nr_ops = 1 + pick(BATCH_OPS),
	};
	u32 i, failed = 0, at = 0;

	/* Programs get all bytes of an answer. */
	memset(run.out, 0xee, sizeof(run.out));
	for (i = 0; i < batch.nr_ops; i++) {
		batch.ops_len += batch_op(run.buf + batch.ops_len, &expect[i]);
		failed += expect[i].err != 0;
	}
	CHECK_EQ(wort_index_batch(run.bed.index, &batch), 0);
	CHECK_EQ(batch.done, batch.nr_ops);
	CHECK_EQ(batch.failed, failed);
	for (i = 0; i < batch.done; i++)
		at += check_answer(run.out + at, &expect[i]);
	CHECK_EQ(batch.results_len, at);
}

static void step(void)
{
	u32 p = pick(100);

	if (p < 35)
		do_put(false);
	else if (p < 45)
		do_put(true);
	else if (p < 68)
		do_del(false);
	else if (p < 73)
		do_del(true);
	else if (p < 83)
		do_lookup();
	else if (p >= 93 && !run.small)
		do_batch();
	else if (subject_has(WORT_TRAIT_ORDERED))
		do_scan();
	else
		do_count();
}

static void look(void)
{
	model_compare(&run.model, run.bed.index);
	run.entries += subject_verify(run.bed.index);
	bed_check(&run.bed);
}

static void random_begin(enum keygen kind, u64 seed, u64 size, u32 extent_size)
{
	run.rnd = seed * 0x9e3779b97f4a7c15ULL + kind;
	run.kind = kind;
	run.small = size < MIB;
	bed_open(&run.bed, size, extent_size);
}

static void random_end(void)
{
	look();
	bed_close(&run.bed);
	model_free(&run.model);
}

static void random_ops(u32 extent_size, u64 seed, u32 steps)
{
	enum keygen kind;
	u32 i;

	for (kind = 0; kind < KEYS_NR; kind++) {
		random_begin(kind, seed, extent_size > 65536 ? 128 * MIB :
			     32 * MIB, extent_size);
		for (i = 1; i <= steps; i++) {
			step();
			if (i % 1000 == 0)
				look();
			if (!pick(500))
				pmpool_settle();
		}
		random_end();
	}
}

void check_random_ops(void)
{
	if (unit_extent) {
		random_ops(unit_extent, unit_seed, 3000);
		return;
	}
	run.entries = 0;
	random_ops(65536, unit_seed, 5000);
	random_ops(4096, unit_seed + 1, 3000);
	random_ops(1048576, unit_seed + 2, 2000);
	CHECK(run.entries >= subject.unit->verified || wort_engine_mandatory);
}

/* The smallest pool there is: full again and again. */
void check_random_small_pool(void)
{
	enum keygen kind;
	u32 i;

	for (kind = 0; kind < KEYS_NR; kind++) {
		random_begin(kind, unit_seed, 256 * KIB, 4096);
		for (i = 1; i <= 6000; i++) {
			step();
			if (i % 500 == 0)
				look();
		}
		random_end();
	}
}

/*
 * A walk that memory runs out for, so that it ends anywhere.  The next one
 * starts again.
 */
static void cut_walk(void)
{
	shim_alloc_fail_nth = pick(12);
	shim_run_work();
	shim_alloc_fail_nth = -1;
}

/* Detach and attach at any moment: before, in and after the walk. */
void check_random_reattach(void)
{
	enum keygen kind;
	u32 i, k;

	for (kind = 0; kind < KEYS_NR; kind++) {
		random_begin(kind, unit_seed + 3, unit_extent > 65536 ?
			     256 * MIB : 32 * MIB, unit_extent);
		for (i = 0; i < 40; i++) {
			bed_detach(&run.bed);
			bed_attach(&run.bed);
			for (k = pick(50); k; k--)
				step();
			if (pick(3))
				cut_walk();
			for (k = pick(50); k; k--)
				step();
			if (pick(3))
				continue;
			look();
			for (k = pick(100); k; k--)
				step();
		}
		random_end();
	}
}
