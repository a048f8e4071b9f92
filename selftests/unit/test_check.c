// SPDX-License-Identifier: GPL-2.0-only
/*
 * A check goes on beside operations: here they run where it lets others have a turn.
 */
#include <linux/freezer.h>
#include <linux/sched.h>

#include "../../kmod/core/extent.h"
#include "../engines/unit.h"

#define RECORDS	6000
#define TURNS	4	/* at least, in a check */
#define TURNS_MAX	50	/* nothing is given back meanwhile */

static struct bed bed;
static u32 turns, turns_left, give_ways;
static u64 rnd;

static void put_nth(u32 n, u32 len)
{
	static u8 value[WORT_VALUE_MAX];
	u8 key[8];

	key_u64(key, n * 0x9e3779b97f4a7c15ULL);
	CHECK_EQ(pm_put(bed.index, key, 8, value, len), 0);
}

static int del_nth(u32 n)
{
	u8 key[8];

	key_u64(key, n * 0x9e3779b97f4a7c15ULL);
	return pm_del(bed.index, key, 8);
}

static void fill(void)
{
	u32 n;

	bed_open(&bed, 512 * MIB, 65536);
	for (n = 0; n < RECORDS; n++)
		put_nth(n, n % 16 ? 8 : 3000);
	turns = 0;
	give_ways = 0;
	rnd = unit_seed;
}

static u32 random_below(u32 max)
{
	return (test_random(&rnd) >> 20) % max;
}

/* Operations of all kinds, some of which open and empty extents. */
static void operate(void)
{
	static const u32 lens[] = { 0, 8, 40, 300, 3000, 20000, 65536 };
	void (*again)(void) = shim_in_resched;
	int held = shim_locks_held;
	struct wort_index *other;
	u32 i;

	/*
	 * Another task holds nothing, and would wait where mutexes are held; the
	 * background, which has its turn before the check, pauses very often.
	 */
	if (held > 1 || !bed.pm.pool->alloc.marks || !turns_left)
		return;
	turns_left--;
	shim_locks_held = 0;
	shim_in_resched = NULL;
	for (i = 0; i < 50; i++) {
		put_nth(random_below(2 * RECORDS),
			lens[random_below(ARRAY_SIZE(lens))]);
		del_nth(random_below(2 * RECORDS));
	}
	other = pmpool_index(&bed.pm, "other");
	for (i = 0; i < 100; i++)
		CHECK_EQ(pm_put(other, &i, sizeof(i), "value", 5), 0);
	wort_index_put(other);
	if (turns++ % 2)
		CHECK_EQ(wort_index_destroy(bed.pm.pool, (u8 *)"other", 5), 0);
	shim_in_resched = again;
	shim_locks_held = held;
}

static struct wort_index *grown;
static bool has_table;

/* The first time an index grows, which the background looks at, or the check. */
static void grow_index(void)
{
	void (*again)(void) = shim_in_resched;
	int held = shim_locks_held;
	u32 i;

	if (held > 1 || !bed.pm.pool->alloc.marks)
		return;
	shim_locks_held = 0;
	shim_in_resched = NULL;
	shim_run_work();
	if (grown)
		has_table |= subject_verify(grown) != 0;
	else
		grown = pmpool_index(&bed.pm, "grown");
	for (i = 0; !has_table && i < 3000; i++)
		CHECK_EQ(pm_put(grown, &i, sizeof(i), "value", 5), 0);
	shim_in_resched = again;
	shim_locks_held = held;
}

static int check_with(void (*meanwhile)(void), struct wort_check_arg *arg)
{
	int err;

	*arg = (struct wort_check_arg){ .size = sizeof(*arg) };
	turns_left = TURNS_MAX;
	shim_in_resched = meanwhile;
	err = wort_pool_check(bed.pm.pool, arg);
	shim_in_resched = NULL;
	return err;
}

void check_check_beside(void)
{
	struct wort_check_arg arg;
	u32 round;

	fill();
	for (round = 0; round < 6; round++) {
		CHECK_EQ(check_with(operate, &arg), 0);
		CHECK_EQ(arg.out_nr_damaged, 0);
		bed_check(&bed);
	}
	CHECK_GE(turns, 6 * TURNS);
	bed_close(&bed);
}

/* A check of many chunks lasts for minutes: an index that grows meanwhile gets its table. */
void check_check_table(void)
{
	struct wort_check_arg arg;
	u32 n;

	fill();
	for (n = RECORDS; n < 16 * RECORDS; n++)
		put_nth(n, 8);
	CHECK_EQ(check_with(grow_index, &arg), 0);
	CHECK_EQ(arg.out_nr_damaged, 0);
	CHECK(has_table);
	wort_index_put(grown);
	bed_check(&bed);
	bed_close(&bed);
}

/* What nobody owns is found also if others are at work. */
void check_check_beside_leak(void)
{
	struct wort_check_arg arg;
	struct wort_op op;
	u64 off;

	fill();
	wort_op_begin(&op, &bed.pm.region, &bed.pm.pool->alloc);
	CHECK_EQ(wort_alloc_reserve(&op, 200), 0);
	off = wort_alloc_take(&op);
	wort_pm_fence(&op);
	wort_op_end(&op);
	CHECK_EQ(check_with(operate, &arg), 0);
	CHECK_EQ(arg.out_nr_damaged, 1);
	CHECK_EQ(arg.out_damaged_off, off);
	bed_close(&bed);
}

/* An extent serves few large objects, then many small ones. */
static void reopen(void)
{
	static const u32 sizes[] = { 200000, 1100, 200000, 5000 };
	struct wort_op op;
	u32 i;

	if (!bed.pm.pool->alloc.marks || shim_locks_held > 1)
		return;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		wort_op_begin(&op, &bed.pm.region, &bed.pm.pool->alloc);
		while (op.nr_reserved < WORT_RESERVE_MAX)
			CHECK_EQ(wort_alloc_reserve(&op, sizes[i]), 0);
		wort_op_end(&op);
	}
}

void check_check_reopen(void)
{
	struct wort_check_arg arg;

	bed_open(&bed, 64 * MIB, MIB);
	put_nth(0, 8);
	CHECK_EQ(check_with(reopen, &arg), 0);
	CHECK_EQ(arg.out_nr_damaged, 0);
	bed_close(&bed);
}

static void kill_it(void)
{
	shim_fatal_signal = true;
}

static void sleep_soon(void)
{
	shim_freezing = true;
	shim_signal = true;
	turns++;
}

/* Not yet this task: it goes on. */
static void others_sleep(void)
{
	shim_freezing = true;
}

static void want_space(void)
{
	atomic_set(&bed.pm.pool->space_waiters, turns++ < 2000);
}

/* As often as it takes, then never again. */
static void want_space_once(void)
{
	atomic_set(&bed.pm.pool->space_waiters, give_ways++ == 3);
}

/* Memory may be bad, so all of it is searched first: that ends as well. */
static void search_ends(void)
{
	struct wort_check_arg arg = {
		.size = sizeof(arg), .flags = WORT_CHECK_F_CLEAR,
	};

	bed.pm.region.mcsafe = true;
	shim_in_resched = sleep_soon;
	turns = 0;
	CHECK_EQ(wort_pool_check(bed.pm.pool, &arg), -ERESTARTNOINTR);
	CHECK_LE(turns, 3);
	shim_in_resched = NULL;
	shim_freezing = false;
	shim_signal = false;
	bed.pm.region.mcsafe = false;
}

/* It ends early when it has to, and leaves nothing behind. */
void check_check_ends(void)
{
	struct wort_check_arg arg;

	fill();
	bed.pm.pool->nr_lost = 1;
	bed.pm.pool->nr_dropped = 2;
	CHECK_EQ(check_with(kill_it, &arg), -EINTR);
	shim_fatal_signal = false;
	CHECK_EQ(check_with(sleep_soon, &arg), -ERESTARTNOINTR);
	shim_signal = false;
	/* What earlier checks have found is told by the one that ends, and once. */
	CHECK_EQ(check_with(others_sleep, &arg), 0);
	shim_freezing = false;
	CHECK_EQ(arg.out_nr_lost, 1);
	CHECK_EQ(arg.out_nr_dropped, 2);
	CHECK_EQ(check_with(want_space, &arg), -EBUSY);
	atomic_set(&bed.pm.pool->space_waiters, 0);
	CHECK_EQ(check_with(want_space_once, &arg), 0);
	CHECK_GE(give_ways, 5);
	CHECK_EQ(arg.out_nr_leaves, RECORDS);
	CHECK_EQ(arg.out_nr_lost + arg.out_nr_dropped, 0);
	search_ends();
	CHECK(!bed.pm.pool->alloc.marks);
	bed_check(&bed);
	bed_close(&bed);
}

static struct wort_walk alone;
static int section;
static bool in_section;

/* The writer ends its operation, before which the chunk may not begin. */
static void end_section(void)
{
	shim_in_grace_period = NULL;
	in_section = false;
	srcu_read_unlock(&bed.pm.pool->locks.writers, section);
}

static int see_alone(struct wort_visitor *visitor, struct wort_op *op, u64 off,
		     u64 size, bool first)
{
	u8 key[8], value[8];
	u32 len = sizeof(value);

	CHECK(!in_section);
	CHECK(READ_ONCE(bed.pm.pool->frozen));
	/* A reader does not wait: here it would do so for itself. */
	key_u64(key, 1 * 0x9e3779b97f4a7c15ULL);
	CHECK_EQ(pm_get(bed.index, key, 8, value, &len), 0);
	return 0;
}

/* A chunk that keeps writers out begins when those inside an operation have ended it. */
void check_check_alone(void)
{
	struct wort_visitor visitor = { .visit = see_alone };
	u64 records = 0;

	fill();
	alone.pool = bed.pm.pool;
	alone.visitor = &visitor;
	alone.records = &records;
	wort_walk_begin(&alone, bed.index);
	section = srcu_read_lock(&bed.pm.pool->locks.writers);
	in_section = true;
	shim_in_grace_period = end_section;
	mutex_lock(&bed.pm.pool->work_lock);
	CHECK_EQ(wort_walk_chunk(&alone, true), 0);
	mutex_unlock(&bed.pm.pool->work_lock);
	CHECK(!in_section);
	CHECK_GE(records, 1);
	CHECK(!READ_ONCE(bed.pm.pool->frozen));
	put_nth(0, 8);
	bed_close(&bed);
}
