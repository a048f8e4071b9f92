// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations of several steps, around those of the engine under test: each step stores or
 * replaces a record beside the one that the operation is about, which is as legal as any
 * other step, and the operation fails after it, or goes on.
 */
#include "counts.h"
#include "space.h"
#include "tests.h"

#define STEPS	(WORT_RESERVE_MAX + 2)
#define HUNGRY	1000U		/* bytes that a removal reserves where it needs space */

/* An engine whose puts and removals begin with steps. */
static struct wort_engine stepping;
static const struct wort_engine *plain;
static u32 steps_left;
static int step_err;		/* the answer after a step; 0: go on */

static int step(struct wort_op *op, struct wort_tree *tree)
{
	/* Two keys in turn: the second step replaces what the first one has stored. */
	u8 key[8] = { 's', steps_left / 2 }, value[40] = { steps_left };
	struct wort_put put;
	int err;

	wort_put_init(&put, &(struct wort_key){ key, sizeof(key) },
		      &(struct wort_value){ value, sizeof(value) }, 0);
	err = plain->put(op, tree, &put);
	if (err)
		return err;
	CHECK(op->nr_taken);
	steps_left--;
	wort_op_step(op);
	CHECK_EQ(op->nr_reserved, 0);
	CHECK_EQ(op->time, wort_locks_now(op->locks));
	return step_err;
}

static int steps(struct wort_op *op, struct wort_tree *tree)
{
	int err = 0;

	while (!err && steps_left)
		err = step(op, tree);
	return err;
}

static int stepping_put(struct wort_op *op, struct wort_tree *tree, struct wort_put *put)
{
	put->replaced = false;
	return steps(op, tree) ?: plain->put(op, tree, put);
}

static int stepping_remove(struct wort_op *op, struct wort_tree *tree,
			   const struct wort_del *del)
{
	return steps(op, tree) ?: plain->remove(op, tree, del);
}

static int no_fast_put(struct wort_tree *tree, struct wort_put *put,
		       struct wort_index_stats __percpu *stats)
{
	return -EAGAIN;
}

static int no_fast_remove(struct wort_tree *tree, const struct wort_del *del,
			  struct wort_index_stats __percpu *stats)
{
	return -EAGAIN;
}

static void steps_open(struct bed *bed)
{
	count_open(bed, MIB);
	plain = bed->index->tree.engine;
	stepping = *plain;
	stepping.put = stepping_put;
	stepping.remove = stepping_remove;
	bed->index->tree.engine = &stepping;
	bed->index->engine = &stepping;
	bed->index->fast_put = no_fast_put;
	bed->index->fast_remove = no_fast_remove;
}

/* All that the steps have stored is there, and nothing is owned twice or by nobody. */
static void steps_close(struct bed *bed)
{
	u8 key[8] = { 's' }, value[40];
	u32 len;

	bed->index->tree.engine = plain;
	bed->index->engine = plain;
	for (; key[1] <= STEPS / 2; key[1]++) {
		len = sizeof(value);
		CHECK_EQ(pm_get(bed->index, key, sizeof(key), value, &len), 0);
		CHECK_EQ(value[0], max(1, 2 * key[1]));
	}
	bed_check(bed);
	bed_close(bed);
}

static void begin(int err)
{
	steps_left = STEPS;
	step_err = err;
}

static int put(struct bed *bed, const char *value, u32 flags,
	       const struct wort_value *expect, struct wort_buf *old)
{
	return unit_put(bed->index, "record", 6, value, strlen(value), flags, expect, old);
}

static bool is(struct bed *bed, const char *value)
{
	char now[16] = "";
	u32 len = sizeof(now);

	return !pm_get(bed->index, "record", 6, now, &len) && len == strlen(value) &&
	       !memcmp(now, value, len);
}

/* One after the other, and each the last of a call. */
void check_steps_begin_again(void)
{
	static const int errs[] = { 0, -EAGAIN };
	struct wort_op_stats put_cost, del_cost;
	struct bed bed;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(errs); i++) {
		steps_open(&bed);
		begin(errs[i]);
		CHECK_EQ(put(&bed, "first", 0, NULL, NULL), 0);
		CHECK_EQ(steps_left, 0);
		CHECK(is(&bed, "first"));
		put_cost = count_cost(&bed, WORT_OP_INSERT);
		CHECK_EQ(put_cost.ops, 1);
		CHECK_GE(put_cost.ordering_points, 2 * STEPS + 2);
		begin(errs[i]);
		CHECK_EQ(pm_del(bed.index, "record", 6), 0);
		CHECK_EQ(steps_left, 0);
		CHECK(!is(&bed, "first"));
		del_cost = count_cost(&bed, WORT_OP_DELETE);
		CHECK_EQ(del_cost.ops, 1);
		steps_close(&bed);
	}
}

/* The record is unchanged, the steps stand, and the next call goes on behind them. */
void check_steps_fail(void)
{
	static const int errs[] = { -ENOSPC, -ENOMEM, -EIO };
	struct bed bed;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(errs); i++) {
		steps_open(&bed);
		begin(0);
		CHECK_EQ(put(&bed, "first", 0, NULL, NULL), 0);
		begin(errs[i]);
		do {
			CHECK(is(&bed, "first"));
			/* What the step has replaced is about to come back. */
			if (errs[i] == -ENOSPC)
				wort_pool_kick(bed.pm.pool);
			while (shim_run_work())
				;
		} while (put(&bed, "second", 0, NULL, NULL) == errs[i]);
		CHECK_EQ(steps_left, 0);
		CHECK(is(&bed, "second"));
		begin(errs[i]);
		while (pm_del(bed.index, "record", 6) == errs[i])
			CHECK(is(&bed, "second"));
		CHECK_EQ(steps_left, 0);
		CHECK(!is(&bed, "second"));
		steps_close(&bed);
	}
}

static int hungry_remove(struct wort_op *op, struct wort_tree *tree,
			 const struct wort_del *del)
{
	return wort_alloc_reserve(op, HUNGRY) ?: plain->remove(op, tree, del);
}

/* Take the last objects that a removal could; returns one of them. */
static u64 take_last(struct bed *bed)
{
	struct wort_op op;
	u64 off = 0;
	int err;

	do {
		space_begin(bed, &op);
		op.must_free = true;
		err = wort_alloc_reserve(&op, HUNGRY);
		if (!err)
			off = wort_alloc_take(&op);
		wort_pm_fence(&op);
		wort_op_end(&op);
	} while (!err);
	CHECK_EQ(err, -ENOSPC);
	return off;
}

/* Full, but for what is kept for removals; then full; then about to get space. */
void check_steps_need_space(void)
{
	static const u8 value[2000];
	struct bed bed;
	u64 off;
	u32 n = 0;

	steps_open(&bed);
	steps_left = 0;
	stepping.remove = hungry_remove;
	bed.index->fast_remove = no_fast_remove;
	wort_alloc_keep_reserve(&bed.pm.pool->alloc, HUNGRY, 1);
	while (!pm_put(bed.index, &n, 4, value, sizeof(value)))
		n++;
	n = 0;
	CHECK_EQ(pm_del(bed.index, &n, 4), 0);
	pmpool_settle();
	off = take_last(&bed);
	pmpool_settle();
	n = 1;
	CHECK_EQ(pm_del(bed.index, &n, 4), -ENOSPC);
	CHECK_EQ(space_give(&bed, off, HUNGRY), 0);
	CHECK_EQ(pm_del(bed.index, &n, 4), 0);
	wort_alloc_drop_reserve(&bed.pm.pool->alloc, HUNGRY);
	bed.index->tree.engine = plain;
	bed_close(&bed);
}

/* What the answer tells of the record is what it was before the first step. */
void check_steps_answers(void)
{
	const struct wort_value first = { "first", 5 }, other = { "other", 5 };
	char value[16];
	struct wort_buf old = { value, sizeof(value), 0 };
	struct bed bed;

	steps_open(&bed);
	begin(-EAGAIN);
	CHECK_EQ(put(&bed, "first", 0, NULL, &old), 0);
	CHECK_EQ(old.len, WORT_NO_VALUE);
	begin(-EAGAIN);
	CHECK_EQ(put(&bed, "second", WORT_INSERT_F_CREATE, NULL, &old), -EEXIST);
	CHECK(old.len == 5 && !memcmp(value, "first", 5));
	begin(-EAGAIN);
	CHECK_EQ(put(&bed, "second", 0, &other, &old), -ECANCELED);
	CHECK(old.len == 5 && is(&bed, "first"));
	begin(-ENOMEM);
	CHECK_EQ(put(&bed, "second", 0, &first, &old), -ENOMEM);
	CHECK_EQ(old.len, WORT_NO_VALUE);
	count_cost(&bed, WORT_OP_INSERT);
	begin(-EAGAIN);
	CHECK_EQ(put(&bed, "second", 0, &first, &old), 0);
	CHECK(old.len == 5 && is(&bed, "second"));
	CHECK_EQ(count_cost(&bed, WORT_OP_UPDATE).ops, 1);
	steps_close(&bed);
}
