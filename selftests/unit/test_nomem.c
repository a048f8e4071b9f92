// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each allocation of each operation failed in turn: -ENOMEM, nothing stored,
 * nothing leaked, and the next try succeeds.  Of an operation of several steps
 * those that were done stand: then each record is what it was, and the next try
 * ends with as many objects as one that did not fail.
 */
#include <linux/crc32c.h>

#include "model.h"

#define POOL_SIZE	MIB

/* After this many failures an operation that never succeeds is given up. */
#define TRIES	200

/**
 * struct nomem - An operation that memory runs out for
 * @prepare: makes the pool that it works on; NULL: empty
 * @run: the operation
 * @work: background work runs in it, which does without some of its memory
 * @steps: it takes several steps, also if those of the engine do not, or waits for work
 *	that stores
 * @tidies: it is a delete, after which some engines do more if there is memory
 */
struct nomem {
	void (*prepare)(struct bed *bed);
	int (*run)(struct bed *bed);
	bool work;
	bool steps;
	bool tidies;
};

static u8 value[WORT_VALUE_MAX], before[POOL_SIZE];
static u8 scanned[POOL_SIZE] __attribute__((aligned(8)));
static u64 sum_before;
static u8 out[64 * 1024] __attribute__((aligned(8)));

/* Of all records, in whatever order they come. */
static u64 sum_records(struct bed *bed)
{
	struct wort_scan scan = { .buf = scanned, .buf_len = sizeof(scanned) };
	const struct wort_record *rec;
	u64 sum = 0;
	u32 at = 0;

	if (!bed->index)
		return 0;
	CHECK_EQ(wort_index_scan(bed->index, &scan), 0);
	CHECK(!scan.more);
	for (; at < scan.len; at += rec->rec_len) {
		rec = (const void *)(scanned + at);
		sum += crc32c(1, rec, sizeof(*rec) + rec->key_len + rec->value_len);
	}
	return sum;
}

static void remember(struct bed *bed)
{
	memcpy(before, (u8 *)bed->pm.region.base, POOL_SIZE);
}

static bool unchanged(struct bed *bed)
{
	return media_same(before, (u8 *)bed->pm.region.base, POOL_SIZE);
}

static void open_pool(const struct nomem *nm, struct bed *bed)
{
	bed_open(bed, POOL_SIZE, 4096);
	if (nm->prepare)
		nm->prepare(bed);
}

static struct wort_check_arg owned(struct bed *bed)
{
	struct wort_check_arg arg = { .size = sizeof(arg) };

	pmpool_settle();
	bed_check_arg(bed, 0, &arg);
	return arg;
}

/* What an operation that does not fail leaves. */
static struct wort_check_arg owned_after(const struct nomem *nm)
{
	struct wort_check_arg arg;
	struct bed bed;

	open_pool(nm, &bed);
	CHECK_EQ(nm->run(&bed), 0);
	arg = owned(&bed);
	bed_close(&bed);
	return arg;
}

/* errno-table: ioctl ENOMEM */
static void verify_failed(const struct nomem *nm, struct bed *bed, bool failed, int err)
{
	CHECK_EQ(err, failed ? -ENOMEM : 0);
	if (!nm->steps && !subject.unit->steps)
		CHECK(unchanged(bed));
	CHECK_EQ(sum_records(bed), sum_before);
	bed_check(bed);
}

static void verify_owned(struct bed *bed, const struct wort_check_arg *want)
{
	struct wort_check_arg arg = owned(bed);

	CHECK_EQ(arg.out_nr_leaves, want->out_nr_leaves);
	CHECK_EQ(arg.out_nr_nodes, want->out_nr_nodes);
	CHECK_EQ(arg.out_owned_bytes, want->out_owned_bytes);
}

/* A fresh pool for each allocation that fails, until none did. */
static void sweep(const struct nomem *nm)
{
	const struct wort_check_arg want = owned_after(nm);
	u32 nth, without = 0, spared;
	struct bed bed;
	bool failed;
	int err;

	for (nth = 0; nth < TRIES; nth++) {
		open_pool(nm, &bed);
		sum_before = sum_records(&bed);
		remember(&bed);
		shim_alloc_fail_nth = nth;
		err = nm->run(&bed);
		failed = shim_alloc_fail_nth < 0;
		shim_alloc_fail_nth = -1;
		without += failed && !err;
		if (err) {
			verify_failed(nm, &bed, failed, err);
			CHECK_EQ(nm->run(&bed), 0);
		}
		if (!nm->tidies || !failed)
			verify_owned(&bed, &want);
		bed_check(&bed);
		bed_close(&bed);
		if (!failed)
			break;
	}
	CHECK(nth < TRIES);
	if (nm->tidies && subject.unit->tidies)
		return;
	spared = subject.unit->spared_any + (nm->work ? subject.unit->spared : 0);
	CHECK_LE(without, wort_engine_mandatory ? 0 : spared);
}

static void some_records(struct bed *bed)
{
	u32 i, len;

	for (i = 0; i < 200; i++) {
		len = i % 50 ? i % 20 * 50 : 5000;
		CHECK_EQ(pm_put(bed->index, &i, 4, value, len), 0);
	}
}

/*
 * Format needs no memory; attach needs some for each extent and index, and does
 * without a longer table of names.
 */
void check_nomem_attach(void)
{
	struct wort_index *index;
	struct bed bed;
	long live, nth, without = 0;
	char name[20];
	int err, i;

	bed_open(&bed, POOL_SIZE, 4096);
	some_records(&bed);
	for (i = 0; i < 70; i++) {
		snprintf(name, sizeof(name), "%d", i);
		index = pmpool_index(&bed.pm, name);
		wort_index_put(index);
	}
	bed_detach(&bed);
	remember(&bed);
	live = shim_alloc_live;
	for (nth = 0; nth < TRIES; nth++) {
		shim_alloc_fail_nth = nth;
		err = wort_pool_attach(&bed.pm.region, &bed.pm.pool);
		if (shim_alloc_fail_nth >= 0)
			break;
		without += !err;
		if (err)
			CHECK_EQ(err, -ENOMEM);
		else
			pmpool_detach(&bed.pm);
		CHECK_EQ(shim_alloc_live, live);
		CHECK(unchanged(&bed));
	}
	shim_alloc_fail_nth = -1;
	CHECK_EQ(err, 0);
	CHECK(nth > 70);
	CHECK_EQ(without, 1);
	pmpool_detach(&bed.pm);
	CHECK_EQ(shim_alloc_live, live);
	bed_attach(&bed);
	bed_close(&bed);
}

static int create_one(struct bed *bed)
{
	struct wort_index *index;
	int err = wort_index_open(bed->pm.pool, (u8 *)"new", 3,
				  WORT_INDEX_OPEN_F_CREATE |
				  WORT_INDEX_OPEN_F_EXCL, 0, 0, &index);

	if (!err)
		wort_index_put(index);
	return err;
}

/* So many that the next index needs a further block of the catalogue. */
static void full_block(struct bed *bed)
{
	struct wort_index *index;
	char name[20];
	int i;

	for (i = 1; i < WORT_MEDIA_CATALOGUE_SLOTS; i++) {
		snprintf(name, sizeof(name), "%d", i);
		index = pmpool_index(&bed->pm, name);
		wort_index_put(index);
	}
	CHECK_EQ(bed->pm.pool->catalogue_nr_free, 0);
}

void check_nomem_create(void)
{
	sweep(&(struct nomem) { NULL, create_one });
	sweep(&(struct nomem) { some_records, create_one });
	sweep(&(struct nomem) { full_block, create_one });
}

static int put_word(struct bed *bed)
{
	return pm_put(bed->index, "key", 3, value, 8);
}

static int put_inline(struct bed *bed)
{
	return pm_put(bed->index, "key", 3, value, 700);
}

static int put_object(struct bed *bed)
{
	return pm_put(bed->index, "key", 3, value, 70 * 700);
}

static int put_sibling(struct bed *bed)
{
	return pm_put(bed->index, "kex", 3, value, 2000);
}

static void one_word(struct bed *bed)
{
	CHECK_EQ(put_word(bed), 0);
}

/* A prefix split: the next key leaves it inside a long prefix. */
static void two_long(struct bed *bed)
{
	CHECK_EQ(pm_put(bed->index, "key-and-a-long-tail-1", 21, value, 8), 0);
	CHECK_EQ(pm_put(bed->index, "key-and-a-long-tail-2", 21, value, 8), 0);
}

void check_nomem_put(void)
{
	static const struct nomem list[] = {
		{ NULL, put_word }, { NULL, put_inline }, { NULL, put_object },
		{ one_word, put_word }, { one_word, put_inline },
		{ one_word, put_object }, { one_word, put_sibling },
		{ two_long, put_word }, { two_long, put_sibling },
		{ some_records, put_word }, { some_records, put_object },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(list); i++)
		sweep(&list[i]);
}

/* An engine whose puts begin with a step: the record "key-and-a-long-tail-1" moves. */
static struct wort_engine stepping;
static const struct wort_engine *plain;

static int move_record(struct wort_op *op, struct wort_tree *tree)
{
	const struct wort_key key = { (const u8 *)"key-and-a-long-tail-1", 21 };
	struct wort_put put;
	int err;

	wort_put_init(&put, &key, &(struct wort_value){ value, 100 }, 0);
	err = plain->put(op, tree, &put);
	if (!err)
		wort_op_step(op);
	return err;
}

static int put_in_steps(struct wort_op *op, struct wort_tree *tree,
			struct wort_put *put)
{
	return move_record(op, tree) ?: plain->put(op, tree, put);
}

static int no_fast_put(struct wort_tree *tree, struct wort_put *put,
		       struct wort_index_stats __percpu *stats)
{
	return -EAGAIN;
}

static int put_stepping(struct bed *bed)
{
	int err;

	plain = bed->index->tree.engine;
	stepping = *plain;
	stepping.put = put_in_steps;
	bed->index->tree.engine = &stepping;
	bed->index->fast_put = no_fast_put;
	err = pm_put(bed->index, "key", 3, value, 2000);
	bed->index->tree.engine = plain;
	return err;
}

static void to_move(struct bed *bed)
{
	two_long(bed);
	CHECK_EQ(pm_put(bed->index, "key-and-a-long-tail-1", 21, value, 100), 0);
}

void check_nomem_steps(void)
{
	sweep(&(struct nomem) { to_move, put_stepping, .steps = true });
}

static void one_word_two_long(struct bed *bed)
{
	two_long(bed);
	one_word(bed);
}

static int remove_key(struct bed *bed)
{
	return pm_del(bed->index, "key", 3);
}

/* Delete needs no memory: the first try succeeds.  Some engines do more if there is any. */
void check_nomem_remove(void)
{
	struct bed bed;

	sweep(&(struct nomem) { one_word, remove_key, .tidies = true });
	sweep(&(struct nomem) { one_word_two_long, remove_key, .tidies = true });
	bed_open(&bed, POOL_SIZE, 4096);
	one_word_two_long(&bed);
	shim_alloc_fail_nth = 0;
	CHECK_EQ(remove_key(&bed), 0);
	CHECK(!shim_alloc_fail_nth || subject.unit->tidies);
	shim_alloc_fail_nth = -1;
	bed_close(&bed);
}

static int scan_all(struct bed *bed)
{
	struct wort_scan scan = { .buf = out, .buf_len = sizeof(out) };

	return wort_index_scan(bed->index, &scan);
}

void check_nomem_scan(void)
{
	sweep(&(struct nomem) { some_records, scan_all });
}

/*
 * What memory ran out for is tried again by itself, or told in the answer; the
 * rest is carried out.
 */
void check_nomem_batch(void)
{
	struct wort_batch_op op = { 1024, WORT_BATCH_INSERT, 0, 8, 0, 900 };
	static u8 ops[8 * 1024];
	struct wort_batch_result result;
	struct wort_batch batch = {
		.ops = ops, .ops_len = sizeof(ops), .nr_ops = 8, .write = true,
		.results = out, .results_size = sizeof(out),
	};
	struct bed bed;
	u32 i, nth, len, failed;

	for (i = 0; i < 8; i++) {
		op.key_len = i + 1;
		op.value_len = 900 - 100 * i;
		memcpy(ops + 1024 * i, &op, sizeof(op));
	}
	for (nth = 0; nth < TRIES; nth++) {
		bed_open(&bed, POOL_SIZE, 4096);
		shim_alloc_fail_nth = nth;
		CHECK_EQ(wort_index_batch(bed.index, &batch), 0);
		failed = shim_alloc_fail_nth < 0;
		shim_alloc_fail_nth = -1;
		CHECK_EQ(batch.done, 8);
		CHECK_LE(batch.failed, failed);
		for (i = 0; i < 8; i++) {
			memcpy(&result, out + i * sizeof(result),
			       sizeof(result));
			len = WORT_VALUE_MAX;
			CHECK_EQ(pm_get(bed.index, ops + 1024 * i + sizeof(op),
					i + 1, value, &len),
				 result.error ? -ENOENT : 0);
			CHECK(!result.error || result.error == -ENOMEM);
		}
		bed_check(&bed);
		bed_close(&bed);
		if (!failed)
			break;
	}
	CHECK(nth && nth < TRIES);
	memset(value, 0, sizeof(value));
}

/* Destroy needs no memory, nor does giving back the space. */
void check_nomem_destroy(void)
{
	struct wort_alloc_info info, after;
	struct bed bed;

	bed_open(&bed, POOL_SIZE, 4096);
	wort_alloc_info(&bed.pm.pool->alloc, &info);
	some_records(&bed);
	shim_alloc_fail_nth = 0;
	CHECK_EQ(wort_index_destroy(bed.pm.pool, (u8 *)"t", 1), 0);
	pmpool_settle();
	CHECK_EQ(shim_alloc_fail_nth, 0);
	shim_alloc_fail_nth = -1;
	wort_alloc_info(&bed.pm.pool->alloc, &after);
	CHECK_EQ(after.used_bytes, info.used_bytes - 256);
	bed_check(&bed);
	bed_close(&bed);
}

static int check_pool(struct bed *bed)
{
	struct wort_check_arg arg = { .size = sizeof(arg) };
	int err = wort_pool_check(bed->pm.pool, &arg);

	CHECK_EQ(arg.out_nr_damaged, 0);
	return err;
}

static int check_clear(struct bed *bed)
{
	struct wort_check_arg arg = {
		.size = sizeof(arg), .flags = WORT_CHECK_F_CLEAR,
	};

	return wort_pool_check(bed->pm.pool, &arg);
}

static void attach_again(struct bed *bed)
{
	some_records(bed);
	bed_detach(bed);
	bed_attach(bed);
}

void check_nomem_check(void)
{
	sweep(&(struct nomem) { NULL, check_pool });
	sweep(&(struct nomem) { some_records, check_pool, true });
	sweep(&(struct nomem) { some_records, check_clear, true });
	/* The walk gives extents back in which only nodes lay that puts have replaced. */
	sweep(&(struct nomem) { attach_again, check_pool, true, true });
}

static void attach_dying(struct bed *bed)
{
	struct wort_index *index = pmpool_index(&bed->pm, "dying");
	u32 i;

	for (i = 0; i < 100; i++)
		CHECK_EQ(pm_put(index, &i, 4, value, i * 10), 0);
	wort_index_put(index);
	attach_again(bed);
	CHECK_EQ(wort_index_destroy(bed->pm.pool, (u8 *)"dying", 5), 0);
}

static int walk(struct bed *bed)
{
	return wort_pool_wait_walk(bed->pm.pool);
}

/* The walk starts again, and what it had marked is no second owner. */
void check_nomem_walk(void)
{
	sweep(&(struct nomem) { attach_again, walk, true });
	sweep(&(struct nomem) { attach_dying, walk, true });
}
