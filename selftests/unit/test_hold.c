// SPDX-License-Identifier: GPL-2.0-only
/*
 * Holds: nothing changes while a pool is held.  Nobody ends the hold while a
 * change waits here, so the shim ends the wait, as a fatal signal would.
 */
#include "../../kmod/pool/pool.h"
#include "../engines/unit.h"
#include "tests.h"

static struct bed bed;

static struct wort_batch_op *add_op(u8 *ops, u32 *len, const char *key)
{
	struct wort_batch_op *op = (void *)(ops + *len);

	*op = (struct wort_batch_op){
		.rec_len = round_up(sizeof(*op) + strlen(key) + 1, 8),
		.op = WORT_BATCH_INSERT, .key_len = strlen(key), .value_len = 1,
	};
	memcpy(op + 1, key, strlen(key));
	((u8 *)(op + 1))[op->key_len] = 'v';
	*len += op->rec_len;
	return op;
}

static int put_batch(void)
{
	static u8 ops[256] __aligned(8), results[256] __aligned(8);
	struct wort_batch batch = {
		.ops = ops, .nr_ops = 2, .results = results,
		.results_size = sizeof(results), .write = true,
	};

	memset(ops, 0, sizeof(ops));
	add_op(ops, &batch.ops_len, "batch 1");
	add_op(ops, &batch.ops_len, "batch 2");
	return wort_index_batch(bed.index, &batch) ?:
	       ((struct wort_batch_result *)results)->error;
}

static int run_atomic(u32 nr, u16 op)
{
	struct wort_index *indexes[2] = { bed.index, bed.index };
	struct wort_request reqs[2] = { };
	struct wort_atomic batch = {
		.nr_ops = nr, .reqs = reqs, .indexes = indexes,
	};
	u32 i;

	for (i = 0; i < nr; i++) {
		reqs[i].op = (struct wort_batch_op){
			.op = op, .key_len = 1, .value_len = op == WORT_BATCH_INSERT,
		};
		reqs[i].put.key = (struct wort_key){ (u8 *)"xyz" + i, 1 };
		reqs[i].put.value = (struct wort_value){ (u8 *)"v", 1 };
	}
	return wort_pool_atomic(bed.pm.pool, &batch);
}

static int put_atomic(u32 nr)
{
	return run_atomic(nr, WORT_BATCH_INSERT);
}

static int open_new(void)
{
	struct wort_index *index;
	int err = wort_index_open(bed.pm.pool, (u8 *)"new", 3,
				  WORT_INDEX_OPEN_F_CREATE, 0, 0, &index);

	if (!err)
		wort_index_put(index);
	return err;
}

static int rename_to(const char *from, const char *to)
{
	return wort_index_rename(bed.pm.pool, (u8 *)from, strlen(from),
				 (u8 *)to, strlen(to));
}

static int clear(void)
{
	struct wort_check_arg arg = {
		.size = sizeof(arg), .flags = WORT_CHECK_F_CLEAR,
	};

	return wort_pool_check(bed.pm.pool, &arg);
}

/* All that changes a pool: what each answers, in this order. */
static void change_all(int err, int check_err)
{
	CHECK_EQ(pm_put(bed.index, "a", 1, "w", 1), err);
	CHECK_EQ(pm_put(bed.index, "b", 1, "v", 1), err);
	CHECK_EQ(pm_del(bed.index, "b", 1), err);
	CHECK_EQ(put_batch(), err);
	CHECK_EQ(put_atomic(1), err);
	CHECK_EQ(put_atomic(2), err);
	CHECK_EQ(open_new(), err);
	CHECK_EQ(rename_to("new", "newer"), err);
	CHECK_EQ(rename_to("newer", "new"), err);
	CHECK_EQ(wort_index_destroy(bed.pm.pool, (u8 *)"new", 3), err);
	CHECK_EQ(clear(), check_err);
}

static u64 count(void)
{
	struct wort_check_arg arg = { .size = sizeof(arg) };

	CHECK_EQ(wort_pool_check(bed.pm.pool, &arg), 0);
	CHECK_EQ(arg.out_nr_damaged, 0);
	return arg.out_nr_leaves;
}

static void verify_unchanged(void)
{
	struct wort_index_record record;
	char value[2];
	u32 len = sizeof(value);
	bool more;

	CHECK_EQ(pm_get(bed.index, "a", 1, value, &len), 0);
	CHECK(len == 1 && *value == 'v');
	CHECK_EQ(count(), 1);
	CHECK_EQ(wort_index_list(bed.pm.pool, 0, &record, 1, &more), 1);
	CHECK(!more);
}

static void changes_wait(void)
{
	struct wort_pool *pool = bed.pm.pool;
	bool one = false, two = false;

	CHECK_EQ(wort_pool_release(pool, &one), -EINVAL);
	CHECK_EQ(wort_pool_hold(pool, &one), 0);
	CHECK_EQ(wort_pool_hold(pool, &one), -EBUSY);
	change_all(-EINTR, -EBUSY);
	verify_unchanged();
	CHECK_EQ(wort_pool_hold(pool, &two), 0);
	CHECK_EQ(wort_pool_release(pool, &one), 0);
	change_all(-EINTR, -EBUSY);
	verify_unchanged();
	CHECK_EQ(wort_pool_release(pool, &one), -EINVAL);
	CHECK_EQ(wort_pool_release(pool, &two), 0);
	change_all(0, 0);
	CHECK_EQ(count(), 5);
}

/*
 * Two programs hold the pool in turn: whoever waits is woken between the two, and
 * finds it held again.  Meanwhile they look at all keys, also those of a batch that waits.
 */
static struct work_struct end_hold;
static unsigned int holds_left;
static bool held_in_turn;

static void end_hold_work(struct work_struct *work)
{
	CHECK_EQ(run_atomic(2, WORT_BATCH_LOOKUP), 0);
	CHECK_EQ(wort_pool_release(bed.pm.pool, &held_in_turn), 0);
}

static void hold_again(void)
{
	if (!holds_left)
		return;
	holds_left--;
	CHECK_EQ(wort_pool_hold(bed.pm.pool, &held_in_turn), 0);
	queue_work(NULL, &end_hold);
}

static void hold_in_turn(void)
{
	holds_left = 3;
	hold_again();
}

static void changes_wait_again(void)
{
	INIT_WORK(&end_hold, end_hold_work);
	shim_woken = hold_again;
	hold_in_turn();
	CHECK_EQ(pm_put(bed.index, "a", 1, "w", 1), 0);
	hold_in_turn();
	CHECK_EQ(put_batch(), 0);
	hold_in_turn();
	CHECK_EQ(put_atomic(2), 0);
	hold_in_turn();
	CHECK_EQ(open_new(), 0);
	shim_woken = NULL;
	CHECK(!holds_left && !held_in_turn);
}

/* One that waits does not keep a pool from being detached. */
static void stop_ends(void)
{
	struct wort_pool *pool = bed.pm.pool;
	bool held = false;

	CHECK_EQ(wort_pool_hold(pool, &held), 0);
	wort_pool_stop(pool);
	CHECK_EQ(pm_put(bed.index, "a", 1, "w", 1), -ENODEV);
	CHECK_EQ(put_atomic(2), -ENODEV);
	CHECK_EQ(open_new(), -ENODEV);
	CHECK_EQ(wort_pool_release(pool, &held), 0);
	CHECK_EQ(wort_pool_hold(pool, &held), -ENODEV);
}

void check_hold(void)
{
	bed_open(&bed, 1 << 20, 4096);
	CHECK_EQ(pm_put(bed.index, "a", 1, "v", 1), 0);
	changes_wait();
	changes_wait_again();
	stop_ends();
	bed_close(&bed);
}
