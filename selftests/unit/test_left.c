// SPDX-License-Identifier: GPL-2.0-only
/*
 * Atomic batches whose lists stay: those that damage has kept from being carried out,
 * and those that attach finds.
 */
#include <string.h>

#include "../../kmod/core/extent.h"
#include "../../kmod/core/pmem.h"
#include "../../kmod/pool/gate.h"
#include "../engines/unit.h"
#include "image.h"
#include "tests.h"

#define ROOM	64

static struct wort_index *other;	/* a second index */

static __le64 *head_at(struct bed *bed, u32 nr)
{
	return (__le64 *)wort_head_at(&bed->pm.region, nr);
}

static u32 nr_heads(struct bed *bed)
{
	u32 i, nr = 0;

	for (i = 0; i < WORT_MEDIA_NR_HEADS; i++)
		nr += !!*head_at(bed, i);
	return nr;
}

static void open(struct bed *bed, u64 size)
{
	bed_open(bed, size, 4096);
	other = pmpool_index(&bed->pm, "other");
}

static void detach(struct bed *bed)
{
	if (other)
		wort_index_put(other);
	other = NULL;
	bed_detach(bed);
}

/* Power management does not know a pool that is being attached, so the task must not freeze. */
static void attach(struct bed *bed)
{
	shim_waited = 0;
	bed_attach(bed);
	CHECK(!(shim_waited & TASK_FREEZABLE_UNSAFE));
	other = pmpool_index(&bed->pm, "other");
}

static void close(struct bed *bed)
{
	detach(bed);
	pmpool_unmap(&bed->pm);
}

static int set(struct wort_index *index, const char *key, const char *value)
{
	return pm_put(index, key, strlen(key), value, strlen(value));
}

/* Has a key this value, or none with NULL? */
static bool has(struct wort_index *index, const char *key, const char *value)
{
	char found[ROOM];
	u32 len = sizeof(found);
	int err = pm_get(index, key, strlen(key), found, &len);

	if (!value)
		return err == -ENOENT;
	return !err && len == strlen(value) && !memcmp(found, value, len);
}

static void check(struct bed *bed, u32 flags, u32 nr_atomic)
{
	struct wort_check_arg arg;

	bed_check_arg(bed, flags, &arg);
	CHECK_EQ(arg.out_nr_damaged, 0);
	CHECK_EQ(arg.out_nr_atomic, nr_atomic);
}

/* How many lists wait, and how many are damaged, is told. */
static void expect_told(struct bed *bed, u32 nr_left, u32 nr_damaged)
{
	struct wort_pool_info_arg info = { .size = sizeof(info) };

	wort_pool_info(bed->pm.pool, &info);
	CHECK_EQ(info.out_atomic_left, nr_left);
	CHECK_EQ(info.out_atomic_damaged, nr_damaged);
}

/*
 * Lists that a power cut has left: objects that were made while the pool was attached,
 * and heads, which are set afterwards.
 */
static struct wort_redo *list_new(void)
{
	struct wort_redo *redo = wort_redo_alloc(WORT_MEDIA_REDO_MAX, GFP_KERNEL);

	if (!redo)
		die("no memory");
	return redo;
}

static void list_entry_add(struct wort_redo *redo, struct wort_index *index,
			   const char *key, const char *value)
{
	struct wort_redo_change change = {
		.index = index->id,
		.key = { (const u8 *)key, strlen(key) },
		.value = { value, value ? strlen(value) : 0 },
		.remove = !value,
	};

	wort_redo_add(redo, &change);
}

/* Make an object of a list; where it is. */
static u64 list_store(struct bed *bed, struct wort_redo *redo)
{
	u32 len = le32_to_cpu(redo->media.len);
	struct wort_op op;
	u64 off;

	wort_redo_seal(redo);
	wort_op_begin(&op, &bed->pm.region, &bed->pm.pool->alloc);
	CHECK_EQ(wort_alloc_reserve(&op, len), 0);
	off = wort_alloc_take(&op);
	wort_op_end(&op);
	memcpy((u8 *)bed->pm.region.base + off, &redo->media, len);
	kvfree(redo);
	return off;
}

/* One of two changes, which has removed a record. */
static u64 small_list(struct bed *bed)
{
	struct wort_redo *redo = list_new();

	list_entry_add(redo, bed->index, "a", NULL);
	list_entry_add(redo, bed->index, "c", "new");
	list_entry_add(redo, other, "b", "a value of more than eight bytes");
	return list_store(bed, redo);
}

static bool small_done(struct bed *bed)
{
	return has(bed->index, "a", NULL) && has(bed->index, "c", "new") &&
	       has(other, "b", "a value of more than eight bytes");
}

/* A pool that the power has left with a list. */
static void open_left(struct bed *bed, u64 size)
{
	u64 off;

	open(bed, size);
	CHECK_EQ(set(bed->index, "a", "old"), 0);
	CHECK_EQ(set(other, "b", "old"), 0);
	off = small_list(bed);
	detach(bed);
	*head_at(bed, 5) = cpu_to_le64(off);
}

/*
 * An engine whose put meets damage.
 */

static struct wort_engine broken;
static const struct wort_engine *sound;
static struct wort_pool *inside;	/* it looks around there */

static int count_list(struct wort_visitor *visitor, struct wort_op *op, u64 off,
		      u64 size, bool first)
{
	return -EEXIST;
}

/* Nobody else touches the list of a batch that is under way. */
static void look_around(struct wort_op *op)
{
	struct wort_pool_info_arg info = { .size = sizeof(info) };
	struct wort_visitor visitor = { .visit = count_list };

	wort_pool_info(inside, &info);
	CHECK_EQ(info.out_atomic_left, 0);

	CHECK_EQ(wort_redo_run(inside), 0);
	CHECK_EQ(wort_redo_visit(op, inside, &visitor), 0);
}

static int broken_put(struct wort_op *op, struct wort_tree *tree, struct wort_put *put)
{
	if (inside)
		look_around(op);
	return -EUCLEAN;
}

static void break_put(struct wort_index *index)
{
	sound = index->tree.engine;
	broken = *sound;
	broken.put = broken_put;
	broken.batch_ops = NULL;
	index->tree.engine = &broken;
}

static void mend_put(struct wort_index *index)
{
	index->tree.engine = sound;
}

static void add(struct wort_atomic *batch, struct wort_index *index, u16 op,
		const char *key, const char *value)
{
	static u8 answer[ROOM];
	struct wort_request *req = &batch->reqs[batch->nr_ops];

	*req = (struct wort_request){
		.op = { .op = op, .key_len = strlen(key) },
		.put.key = { (const u8 *)key, strlen(key) },
		.put.value = { value, value ? strlen(value) : 0 },
		.answer = { answer, sizeof(answer) },
	};
	batch->indexes[batch->nr_ops++] = index;
}

static int atomic(struct bed *bed, const char *a, const char *b, const char *c)
{
	struct wort_index *indexes[4];
	struct wort_request reqs[4];
	struct wort_atomic batch = { .reqs = reqs, .indexes = indexes };

	add(&batch, bed->index, WORT_BATCH_LOOKUP, "only looked up", NULL);
	add(&batch, bed->index, WORT_BATCH_DELETE, a, NULL);
	add(&batch, bed->index, WORT_BATCH_INSERT, c, "new");
	add(&batch, other, WORT_BATCH_INSERT, b, "a value of more than eight bytes");
	return wort_pool_atomic(bed->pm.pool, &batch);
}

/* A batch that only looks answers as single lookups do. */
static void expect_looked(struct bed *bed)
{
	struct wort_index *indexes[5];
	struct wort_request reqs[5];
	struct wort_atomic batch = { .reqs = reqs, .indexes = indexes };

	add(&batch, bed->index, WORT_BATCH_LOOKUP, "only looked up", NULL);
	add(&batch, bed->index, WORT_BATCH_LOOKUP, "a", NULL);
	add(&batch, bed->index, WORT_BATCH_LOOKUP, "c", NULL);
	add(&batch, other, WORT_BATCH_LOOKUP, "b", NULL);
	CHECK_EQ(wort_pool_atomic(bed->pm.pool, &batch), 0);
	CHECK_EQ(reqs[0].err, -ENOENT);
	CHECK_EQ(reqs[1].err, -ENOENT);
	CHECK(!reqs[2].err && reqs[2].answer.len == 3);
	CHECK(!reqs[3].err && reqs[3].answer.len == 32);
	add(&batch, bed->index, WORT_BATCH_EXPECT, "a", NULL);
	reqs[4].op.flags = WORT_EXPECT_F_PRESENT;
	CHECK_EQ(wort_pool_atomic(bed->pm.pool, &batch), -ENOENT);
	CHECK_EQ(batch.refused, 4);
}

/* A batch meets damage after it was committed. */
static void open_stuck(struct bed *bed)
{
	open(bed, MIB / 2);
	CHECK_EQ(set(bed->index, "x", "1"), 0);
	CHECK_EQ(atomic(bed, "x", "y", "z"), 0);
	CHECK_EQ(set(bed->index, "a", "old"), 0);
	CHECK_EQ(set(bed->index, "d", "1"), 0);
	CHECK_EQ(set(other, "b", "old"), 0);
	break_put(other);
	inside = bed->pm.pool;
	CHECK_EQ(atomic(bed, "a", "b", "c"), -EUCLEAN);
	inside = NULL;
}

/* A lookup in a batch of single operations. */
static int batch_get(struct wort_index *index, const char *key)
{
	u8 found[ROOM];
	struct wort_request req = {
		.op = { .rec_len = 1, .op = WORT_BATCH_LOOKUP, .key_len = strlen(key),
			.max_len = ROOM },
		.put.key = { (const u8 *)key, strlen(key) },
		.answer = { found, sizeof(found) },
	};
	struct wort_request reqs[2] = { req, req };
	struct wort_batch batch = { .reqs = reqs, .nr_ops = 2 };

	CHECK_EQ(wort_index_batch(index, &batch), 0);
	CHECK_EQ(reqs[0].err, reqs[1].err);
	return reqs[1].err ?: (int)reqs[1].answer.len;
}

static u64 count(struct wort_index *index)
{
	static u8 buf[WORT_KEY_MAX];
	struct wort_scan scan = {
		.flags = WORT_SCAN_F_COUNT, .buf = buf, .buf_len = sizeof(buf),
	};

	CHECK_EQ(wort_index_scan(index, &scan), 0);
	return scan.count;
}

/* Everybody finds the batch done, and nobody can change anything. */
static void expect_stuck(struct bed *bed)
{
	u32 i;

	CHECK(bed_pool_state(bed) & WORT_STATE_DAMAGED);
	CHECK_EQ(nr_heads(bed), 1);
	/* No batch gets its head while a check carries it out. */
	for (i = 0; i < WORT_MEDIA_NR_HEADS; i++)
		CHECK_EQ(bed->pm.pool->gates->heads >> i & 1, !!*head_at(bed, i));
	expect_told(bed, 1, 0);
	CHECK(small_done(bed));
	CHECK_EQ(batch_get(bed->index, "a"), -ENOENT);
	CHECK_EQ(batch_get(bed->index, "c"), 3);
	CHECK_EQ(batch_get(other, "b"), 32);
	CHECK_EQ(count(bed->index), 3);
	CHECK_EQ(count(other), 2);
	CHECK_EQ(set(bed->index, "a", "1"), -EROFS);
	CHECK_EQ(set(bed->index, "other key", "1"), -EROFS);
	CHECK_EQ(pm_del(other, "b", 1), -EROFS);
	CHECK_EQ(atomic(bed, "a", "b", "c"), -EROFS);
	CHECK_EQ(atomic(bed, "d", "y", "z"), -EROFS);
	expect_looked(bed);
	check(bed, 0, 1);
}

/* The damage is gone, and a check carries the batch out. */
static void expect_cleared(struct bed *bed)
{
	check(bed, WORT_CHECK_F_CLEAR, 1);
	CHECK_EQ(nr_heads(bed), 0);
	expect_told(bed, 0, 0);
	CHECK_EQ(bed_pool_state(bed) & WORT_STATE_DAMAGED, 0);
	CHECK(small_done(bed));
	CHECK_EQ(set(bed->index, "only looked up", "1"), 0);
	CHECK_EQ(set(bed->index, "a", "1"), 0);
	CHECK_EQ(set(other, "b", "2"), 0);
	CHECK_EQ(pm_del(bed->index, "c", 1), 0);
	check(bed, 0, 0);
	bed_check(bed);
	detach(bed);
	attach(bed);
	CHECK(has(bed->index, "a", "1") && has(other, "b", "2"));
	CHECK(has(bed->index, "c", NULL));
}

void check_left_damage(void)
{
	struct bed bed;

	open_stuck(&bed);
	expect_stuck(&bed);
	/* What can be examined is sound, but the damage is still there. */
	check(&bed, WORT_CHECK_F_CLEAR, 1);
	expect_stuck(&bed);
	mend_put(other);
	expect_cleared(&bed);
	close(&bed);
}

/*
 * The damage is that of an index, and stays: once the index is destroyed a check carries out
 * what the batch changes elsewhere.
 */
void check_left_damaged_index(void)
{
	struct bed bed;

	open_stuck(&bed);
	CHECK_EQ(wort_index_destroy(bed.pm.pool, (u8 *)"t", 1), -EROFS);
	CHECK_EQ(wort_index_destroy(bed.pm.pool, (u8 *)"other", 5), 0);
	mend_put(other);
	wort_index_put(other);
	other = NULL;
	check(&bed, WORT_CHECK_F_CLEAR, 1);
	CHECK_EQ(nr_heads(&bed), 0);
	CHECK_EQ(bed_pool_state(&bed) & WORT_STATE_DAMAGED, 0);
	CHECK(has(bed.index, "a", NULL) && has(bed.index, "c", "new"));
	CHECK_EQ(set(bed.index, "c", "1"), 0);
	/* What the index owned the next walk gives back. */
	detach(&bed);
	attach(&bed);
	CHECK(has(bed.index, "c", "1") && has(other, "b", NULL));
	bed_check(&bed);
	close(&bed);
}

/* It finds no space, and gives back what it has reserved. */
static int full_put(struct wort_op *op, struct wort_tree *tree, struct wort_put *put)
{
	int err = wort_alloc_reserve(op, 64);

	while (!err)
		err = wort_alloc_reserve(op, WORT_OBJECT_MAX);
	return err;
}

/* What a try gives back itself is no reason for another one. */
void check_left_no_space(void)
{
	struct bed bed;

	open_stuck(&bed);
	broken.put = full_put;
	check(&bed, WORT_CHECK_F_CLEAR, 1);
	expect_stuck(&bed);
	mend_put(other);
	expect_cleared(&bed);
	close(&bed);
}

/* The extent of the list of the batch under way. */
static int looking_put(struct wort_op *op, struct wort_tree *tree, struct wort_put *put)
{
	u64 off = le64_to_cpu(*(__le64 *)wort_head_at(op->region, 0));

	CHECK(off);
	CHECK_EQ(wort_extent_at(op->alloc, (off - op->alloc->geo.data_off) >>
					   op->alloc->geo.extent_shift)->state,
		 WORT_EXTENT_OPEN);
	return sound->put(op, tree, put);
}

/*
 * A list can be freed, and its extent opened for something else, before the batch ends.  So
 * the batch has nothing more to say of the extent by then.
 */
void check_left_settled(void)
{
	struct bed bed;

	open(&bed, MIB);
	CHECK_EQ(set(bed.index, "a", "old"), 0);
	break_put(other);
	broken.put = looking_put;
	CHECK_EQ(atomic(&bed, "a", "b", "c"), 0);
	mend_put(other);
	CHECK(has(bed.index, "c", "new"));
	close(&bed);
}

static int broken_lookup(struct wort_op *op, struct wort_tree *tree,
			 const struct wort_key *key, struct wort_buf *buf)
{
	return -EUCLEAN;
}

static int no_fast_lookup(const struct wort_tree *tree, const struct wort_key *key,
			  struct wort_buf *buf, struct wort_index_stats __percpu *stats)
{
	return -EAGAIN;
}

static const struct wort_fast_ops slow = { .lookup = no_fast_lookup };

/* Damage on the way to a key is met before the commit, also if any value is replaced. */
void check_left_met_before(void)
{
	struct bed bed;

	open(&bed, MIB);
	CHECK_EQ(set(bed.index, "x", "1"), 0);
	CHECK_EQ(atomic(&bed, "x", "y", "z"), 0);
	CHECK_EQ(set(bed.index, "a", "old"), 0);
	break_put(other);
	broken.lookup = broken_lookup;
	broken.fast_ops = &slow;
	CHECK_EQ(atomic(&bed, "a", "b", "c"), -EUCLEAN);
	CHECK_EQ(nr_heads(&bed), 0);
	CHECK_EQ(bed_pool_state(&bed) & WORT_STATE_DAMAGED, 0);
	CHECK(has(bed.index, "a", "old") && has(bed.index, "c", NULL));
	mend_put(other);
	close(&bed);
}

/* The same, and the pool is detached before. */
void check_left_detach(void)
{
	struct bed bed;

	open_stuck(&bed);
	mend_put(other);
	detach(&bed);
	attach(&bed);
	expect_stuck(&bed);
	detach(&bed);
	attach(&bed);
	expect_stuck(&bed);
	expect_cleared(&bed);
	close(&bed);
}

/* As a put that waits for space and is killed. */
static int killed_put(struct wort_op *op, struct wort_tree *tree, struct wort_put *put)
{
	return -EINTR;
}

/* A check that is killed leaves the pool read-only, so that nobody waits. */
void check_left_killed(void)
{
	struct wort_check_arg arg = {
		.size = sizeof(arg), .flags = WORT_CHECK_F_CLEAR,
	};
	struct bed bed;
	int n, err;

	open_stuck(&bed);
	broken.put = killed_put;
	CHECK_EQ(wort_pool_check(bed.pm.pool, &arg), -EINTR);
	expect_stuck(&bed);
	mend_put(other);
	for (n = 0, err = -ENOMEM; err; n++) {
		shim_alloc_fail_nth = n;
		err = wort_pool_check(bed.pm.pool, &arg);
		shim_alloc_fail_nth = -1;
		if (nr_heads(&bed)) {
			CHECK_EQ(err, -ENOMEM);
			expect_stuck(&bed);
		}
	}
	CHECK_GE(n, 3);
	CHECK_EQ(nr_heads(&bed), 0);
	CHECK(small_done(&bed));
	bed_check(&bed);
	close(&bed);
}

/* Two keys that have a gate in common. */
static void find_twins(struct bed *bed, char *one, char *two)
{
	struct wort_key a = { (const u8 *)one, 1 }, b = { (const u8 *)two, 0 };
	u32 nr, i = 0;

	strcpy(one, "k");
	nr = wort_gate_nr(bed->index->id, &a);
	do {
		b.len = sprintf(two, "%u", i++);
	} while (wort_gate_nr(other->id, &b) != nr);
}

/* The gate of two lists stays closed until both are carried out. */
void check_left_gate(void)
{
	struct wort_redo *redo[2];
	char one[16], two[16];
	u64 off[2];
	struct bed bed;

	open(&bed, MIB);
	redo[0] = list_new();
	redo[1] = list_new();
	find_twins(&bed, one, two);
	CHECK_EQ(set(other, two, "old"), 0);
	list_entry_add(redo[0], bed.index, one, "1");
	list_entry_add(redo[1], other, two, "2");
	off[0] = list_store(&bed, redo[0]);
	off[1] = list_store(&bed, redo[1]);
	wort_pool_damaged(bed.pm.pool);
	detach(&bed);
	*head_at(&bed, 0) = cpu_to_le64(off[0]);
	*head_at(&bed, 63) = cpu_to_le64(off[1]);
	attach(&bed);
	CHECK(has(bed.index, one, "1") && has(other, two, "2"));
	break_put(other);
	check(&bed, WORT_CHECK_F_CLEAR, 2);
	CHECK_EQ(*head_at(&bed, 0), 0);
	CHECK_NE(*head_at(&bed, 63), 0);
	expect_told(&bed, 1, 0);
	CHECK(has(bed.index, one, "1") && has(other, two, "2"));
	mend_put(other);
	check(&bed, WORT_CHECK_F_CLEAR, 1);
	CHECK_EQ(nr_heads(&bed), 0);
	CHECK_EQ(set(bed.index, one, "3"), 0);
	CHECK_EQ(set(other, two, "3"), 0);
	bed_check(&bed);
	close(&bed);
}

/* A read-only pool answers as if they were carried out, and stores nothing. */
void check_left_readonly(void)
{
	static u8 before[MIB];
	struct bed bed;

	open_left(&bed, MIB);
	memcpy(before, (u8 *)bed.pm.region.base, MIB);
	bed.pm.region.readonly = true;
	attach(&bed);
	pmpool_settle();
	CHECK(small_done(&bed));
	CHECK_EQ(count(bed.index), 1);
	CHECK_EQ(count(other), 1);
	CHECK_EQ(set(bed.index, "a", "1"), -EROFS);
	CHECK_EQ(atomic(&bed, "a", "b", "c"), -EROFS);
	expect_looked(&bed);
	check(&bed, 0, 1);
	detach(&bed);
	CHECK(!memcmp(before, (u8 *)bed.pm.region.base, MIB));
	bed.pm.region.readonly = false;
	attach(&bed);
	CHECK(small_done(&bed));
	CHECK_EQ(nr_heads(&bed), 0);
	bed_check(&bed);
	close(&bed);
}

/* A list that makes no sense owns nothing when it was given up. */
void check_left_lost(void)
{
	u64 off[2];
	struct bed bed;
	u32 nr;

	for (nr = 0; nr < 2; nr++) {
		open(&bed, MIB);
		off[0] = small_list(&bed);
		off[1] = small_list(&bed);
		detach(&bed);
		*head_at(&bed, 0) = cpu_to_le64(off[0]);
		/* One of the same keys, or one with a wrong checksum. */
		if (nr)
			*head_at(&bed, 1) = cpu_to_le64(off[1]);
		else
			*((u8 *)bed.pm.region.base + off[0] + 40) ^= 1;
		attach(&bed);
		CHECK(bed_pool_state(&bed) & WORT_STATE_DAMAGED);
		expect_told(&bed, nr, 1);
		check(&bed, WORT_CHECK_F_CLEAR, nr);
		CHECK_EQ(nr_heads(&bed), 0);
		expect_told(&bed, 0, 0);
		CHECK_EQ(bed_pool_state(&bed) & WORT_STATE_DAMAGED, 0);
		CHECK(!nr || small_done(&bed));
		pmpool_settle();
		bed_check(&bed);
		close(&bed);
	}
}

/* A head on a bad page is not cleared, nor is its list given up: the page may be read again. */
void check_left_lost_bad(void)
{
	struct wort_check_arg arg = { .size = sizeof(arg), .flags = WORT_CHECK_F_CLEAR };
	struct bed bed;
	u64 off;

	open(&bed, MIB);
	off = small_list(&bed);
	detach(&bed);
	*head_at(&bed, 0) = cpu_to_le64(off);
	*((u8 *)bed.pm.region.base + off + 40) ^= 1;
	attach(&bed);
	expect_told(&bed, 0, 1);
	wort_region_add_bad(&bed.pm.region, WORT_MEDIA_HEADS_OFF, 8);
	wort_pool_check(bed.pm.pool, &arg);
	CHECK_EQ(nr_heads(&bed), 1);
	expect_told(&bed, 0, 1);
	wort_region_forget_bad(&bed.pm.region);
	wort_region_update(&bed.pm.region);
	check(&bed, WORT_CHECK_F_CLEAR, 0);
	CHECK_EQ(nr_heads(&bed), 0);
	expect_told(&bed, 0, 0);
	bed_check(&bed);
	close(&bed);
}

static void set_engine(struct wort_media_entry *entry, u32 engine)
{
	entry->engine = cpu_to_le32(engine);
	entry_seal(entry);
}

/* An index of an engine that is not known: it may be changed by nobody. */
void check_left_unknown(void)
{
	static u8 before[MIB];
	struct wort_media_entry *entry;
	struct wort_pool *pool;
	struct bed bed;
	u64 at, off;
	long live;

	open(&bed, MIB);
	at = other->entry_off;
	off = small_list(&bed);
	detach(&bed);
	*head_at(&bed, 0) = cpu_to_le64(off);
	entry = (void *)((u8 *)bed.pm.region.base + at);
	set_engine(entry, 77);
	memcpy(before, (u8 *)bed.pm.region.base, MIB);
	live = shim_alloc_live;
	CHECK_EQ(wort_pool_attach(&bed.pm.region, &pool), -EPROTONOSUPPORT);
	CHECK_EQ(shim_alloc_live, live);
	CHECK(!memcmp(before, (u8 *)bed.pm.region.base, MIB));
	set_engine(entry, subject.engine->id);
	attach(&bed);
	CHECK(small_done(&bed));
	bed_check(&bed);
	close(&bed);
}

/* An index that was destroyed: its part is done. */
void check_left_destroyed(void)
{
	struct bed bed;
	u64 off;

	open(&bed, MIB);
	CHECK_EQ(set(bed.index, "a", "old"), 0);
	off = small_list(&bed);
	wort_index_put(other);
	other = NULL;
	CHECK_EQ(wort_index_destroy(bed.pm.pool, (const u8 *)"other", 5), 0);
	detach(&bed);
	*head_at(&bed, 0) = cpu_to_le64(off);
	bed_attach(&bed);
	CHECK_EQ(nr_heads(&bed), 0);
	CHECK(has(bed.index, "a", NULL) && has(bed.index, "c", "new"));
	bed_check(&bed);
	close(&bed);
}

/* A pool that seems full before the walk has found what is free. */
void check_left_full(void)
{
	static u8 value[3000];
	struct wort_redo *redo;
	struct bed bed;
	char key[16];
	u64 off;
	u32 n;

	open(&bed, 256 * KIB);
	CHECK_EQ(set(bed.index, "a", "old"), 0);
	redo = list_new();
	list_entry_add(redo, bed.index, "a", NULL);
	list_entry_add(redo, bed.index, "c", "new");
	memset(value, 'v', sizeof(value) - 1);
	list_entry_add(redo, other, "b", (const char *)value);
	off = list_store(&bed, redo);
	for (n = 0; snprintf(key, sizeof(key), "%u", n); n++)
		if (pm_put(bed.index, key, strlen(key), value, sizeof(value)))
			break;
	CHECK_GE(n, 5);
	while (n && n % 4)
		n--;
	while (n) {
		n -= 4;
		snprintf(key, sizeof(key), "%u", n);
		CHECK_EQ(pm_del(bed.index, key, strlen(key)), 0);
	}
	detach(&bed);
	*head_at(&bed, 0) = cpu_to_le64(off);
	attach(&bed);
	CHECK_EQ(bed_pool_state(&bed) & WORT_STATE_DAMAGED, 0);
	CHECK_EQ(nr_heads(&bed), 0);
	CHECK(has(bed.index, "a", NULL) && has(bed.index, "c", "new"));
	CHECK_EQ(count(other), 1);
	bed_check(&bed);
	close(&bed);
}

/* Each allocation of attach fails once: the list is carried out, or stays. */
void check_left_nomem(void)
{
	static u8 fresh[MIB];
	struct bed bed;
	long live;
	int err, n;

	open_left(&bed, MIB);
	memcpy(fresh, (u8 *)bed.pm.region.base, MIB);
	for (n = 0, err = -ENOMEM; err; n++) {
		memcpy((u8 *)bed.pm.region.base, fresh, MIB);
		live = shim_alloc_live;
		shim_alloc_fail_nth = n;
		err = wort_pool_attach(&bed.pm.region, &bed.pm.pool);
		shim_alloc_fail_nth = -1;
		if (!err)
			break;
		CHECK_EQ(err, -ENOMEM);
		CHECK_EQ(shim_alloc_live, live);
		attach(&bed);
		CHECK(small_done(&bed));
		CHECK_EQ(nr_heads(&bed), 0);
		CHECK_EQ(bed_pool_state(&bed) & WORT_STATE_DAMAGED, 0);
		bed_check(&bed);
		detach(&bed);
	}
	CHECK_GE(n, 8);
	bed.live = live;
	bed.index = pmpool_index(&bed.pm, "t");
	other = pmpool_index(&bed.pm, "other");
	CHECK(small_done(&bed));
	bed_check(&bed);
	close(&bed);
}

/*
 * Scans of a read-only pool, beside a model.
 */

#define RECORDS		1500	/* more than a section */
#define LISTS		3
#define KEY_SPACE	3000

struct model_record {
	bool there;
	u32 value;
};

static struct model_record model[KEY_SPACE];

/* In the order of numbers; some are the beginning of others. */
static u32 key_of(u32 nr, char *key)
{
	u32 len = sprintf(key, "%04u", nr / 3), i;

	for (i = 0; i < nr % 3; i++)
		key[len++] = 'x';
	key[len] = 0;
	return len;
}

/* Values of eight bytes and others. */
static u32 model_value(u32 nr, u8 *value)
{
	u32 len = model[nr].value % 5 ? 8 : model[nr].value % 41;

	memset(value, 0, len);
	snprintf((char *)value, len, "%u", model[nr].value);
	return len;
}

static void fill_lists(struct bed *bed, u64 *rnd, u64 *off)
{
	struct wort_redo_change change = { .index = bed->index->id };
	struct wort_redo *redo[LISTS];
	u32 nr[LISTS] = { }, i, list;
	char key[16];
	u8 value[ROOM];

	for (i = 0; i < LISTS; i++)
		redo[i] = list_new();
	for (i = 0; i < KEY_SPACE; i++) {
		list = test_random(rnd) % LISTS;
		if (nr[list] == WORT_MEDIA_REDO_ENTRIES - 1 || test_random(rnd) % 20)
			continue;
		nr[list]++;
		change.remove = test_random(rnd) % 2;
		model[i].there = !change.remove;
		model[i].value = test_random(rnd) % 100000;
		change.key = (struct wort_key){ (u8 *)key, key_of(i, key) };
		change.value = (struct wort_value){ value, model_value(i, value) };
		wort_redo_add(redo[list], &change);
	}
	for (i = 0; i < LISTS; i++) {
		list_entry_add(redo[i], other, i ? i > 1 ? "c" : "b" : "a", i ? "1" : NULL);
		off[i] = list_store(bed, redo[i]);
	}
}

static void fill_model(struct bed *bed, u64 *rnd)
{
	u32 records = min_t(u32, RECORDS, subject.unit->records ?: RECORDS), i, nr;
	u8 value[ROOM];
	char key[16];

	memset(model, 0, sizeof(model));
	for (i = 0; i < records; i++) {
		nr = test_random(rnd) % KEY_SPACE;
		model[nr] = (struct model_record){ true, test_random(rnd) % 100000 };
		CHECK_EQ(pm_put(bed->index, key, key_of(nr, key), value,
				model_value(nr, value)), 0);
	}
}

/* Is a key of the model wanted by a scan? */
static bool wanted(const struct wort_scan *scan, const char *key)
{
	const char *start = scan->start ? (const char *)scan->start->data : NULL;
	const char *bound = scan->bound ? (const char *)scan->bound->data : NULL;
	int sign = scan->flags & WORT_SCAN_F_REVERSE ? -1 : 1;

	if (start && sign * strcmp(key, start) < 0)
		return false;
	if (start && scan->flags & WORT_SCAN_F_AFTER && !strcmp(key, start))
		return false;
	if (bound && scan->flags & WORT_SCAN_F_PREFIX)
		return !strncmp(key, bound, strlen(bound));
	return !bound || sign * strcmp(key, bound) < 0;
}

static bool record_good(const u8 *at, const struct wort_scan *scan, u32 nr,
			const char *key)
{
	struct wort_record rec;
	u8 value[ROOM];
	u32 len = model_value(nr, value);

	memcpy(&rec, at, sizeof(rec));
	at += sizeof(rec);
	if (rec.key_len != strlen(key) || memcmp(at, key, rec.key_len) ||
	    rec.value_len != len)
		return false;
	return scan->flags & WORT_SCAN_F_KEYS || !memcmp(at + rec.key_len, value, len);
}

/* What the scan has found are the first records that it wants. */
static void compare_scan(const struct wort_scan *scan)
{
	bool counting = scan->flags & WORT_SCAN_F_COUNT, good = true;
	const u8 *at = scan->buf;
	u32 i, nr, found = 0;
	char key[16];

	for (i = 0; i < KEY_SPACE; i++) {
		nr = scan->flags & WORT_SCAN_F_REVERSE ? KEY_SPACE - 1 - i : i;
		key_of(nr, key);
		if (!model[nr].there || !wanted(scan, key))
			continue;
		if (found == scan->count)
			break;
		found++;
		if (counting)
			continue;
		good &= record_good(at, scan, nr, key);
		at += ((const struct wort_record *)at)->rec_len;
	}
	CHECK(good);
	CHECK_EQ(found, scan->count);
	CHECK(scan->more || i == KEY_SPACE);
}

static void random_scan(struct wort_index *index, u64 *rnd)
{
	static u8 buf[128 * 1024] __attribute__((aligned(8)));
	char start[16], bound[16];
	struct wort_key keys[2] = {
		{ (u8 *)start, key_of(test_random(rnd) % KEY_SPACE, start) },
		{ (u8 *)bound, key_of(test_random(rnd) % KEY_SPACE, bound) },
	};
	struct wort_scan scan = {
		.flags = test_random(rnd) & WORT_SCAN_F_ALL,
		.start = test_random(rnd) % 3 ? &keys[0] : NULL,
		.bound = test_random(rnd) % 2 ? &keys[1] : NULL,
		.max = test_random(rnd) % 3 ? 0 : 1 + test_random(rnd) % 1200,
		.buf = buf, .buf_len = test_random(rnd) % 3 ? sizeof(buf) :
			     200 + test_random(rnd) % 5000,
	};

	if (scan.flags & WORT_SCAN_F_PREFIX)
		bound[keys[1].len = 1 + test_random(rnd) % 4] = 0;
	CHECK_EQ(wort_index_scan(index, &scan), 0);
	compare_scan(&scan);
}

static void compare_lookups(struct wort_index *index)
{
	u8 value[ROOM], found[ROOM];
	bool good = true;
	u32 nr, len;
	char key[16];
	int err;

	for (nr = 0; nr < KEY_SPACE; nr++) {
		len = sizeof(found);
		err = pm_get(index, key, key_of(nr, key), found, &len);
		if (!model[nr].there)
			good &= err == -ENOENT;
		else
			good &= !err && len == model_value(nr, value) &&
				!memcmp(found, value, len);
	}
	CHECK(good);
}

void check_left_scan(void)
{
	u64 rnd = unit_seed ?: 1, off[LISTS];
	u32 round, i;
	struct bed bed;

	for (round = 0; round < 4; round++) {
		open(&bed, 2 * MIB);
		fill_model(&bed, &rnd);
		CHECK_EQ(set(other, "a", "1"), 0);
		fill_lists(&bed, &rnd, off);
		detach(&bed);
		for (i = 0; i < LISTS; i++)
			*head_at(&bed, i * 31) = cpu_to_le64(off[i]);
		bed.pm.region.readonly = true;
		attach(&bed);
		compare_lookups(bed.index);
		for (i = 0; i < 300; i++)
			random_scan(bed.index, &rnd);
		CHECK_EQ(count(other), 2);
		detach(&bed);
		bed.pm.region.readonly = false;
		attach(&bed);
		for (i = 0; i < 20; i++)
			random_scan(bed.index, &rnd);
		bed_check(&bed);
		close(&bed);
	}
}

/* A scan that merges and has no memory. */
void check_left_scan_nomem(void)
{
	static u8 buf[1024];
	struct wort_scan scan = { .buf = buf, .buf_len = sizeof(buf) };
	struct bed bed;
	int err, n;

	open_left(&bed, MIB);
	bed.pm.region.readonly = true;
	attach(&bed);
	for (n = 0, err = -ENOMEM; err; n++) {
		shim_alloc_fail_nth = n;
		err = wort_index_scan(bed.index, &scan);
		shim_alloc_fail_nth = -1;
		if (err)
			CHECK_EQ(err, -ENOMEM);
	}
	CHECK_GE(n, 3);
	CHECK_EQ(scan.count, 1);
	detach(&bed);
	bed.pm.region.readonly = false;
	attach(&bed);
	close(&bed);
}

/* Two inserts, so that they take a list. */
static int put_two(struct bed *bed)
{
	struct wort_index *indexes[] = { bed->index, bed->index };
	struct wort_request reqs[2] = { };
	struct wort_atomic batch = { .reqs = reqs, .indexes = indexes, .nr_ops = 2 };
	u32 i;

	for (i = 0; i < batch.nr_ops; i++) {
		reqs[i].op.op = WORT_BATCH_INSERT;
		reqs[i].put.key = (struct wort_key){ (const u8 *)"ab" + i, 1 };
		reqs[i].put.value = (struct wort_value){ "v", 1 };
	}
	return wort_pool_atomic(bed->pm.pool, &batch);
}

/*
 * A batch waits for a head while the background waits for batches: it does not hold them up.
 * Nobody gives a head here, which ends the wait.
 */
void check_left_heads(void)
{
	struct bed bed;

	bed_open(&bed, MIB, 4096);
	bed_detach(&bed);
	bed_attach(&bed);
	CHECK_EQ(wort_gates_on(bed.pm.pool), 0);
	bed.pm.pool->gates->heads = ~0ULL;
	bed.pm.pool->rewalk = true;
	wort_pool_kick(bed.pm.pool);
	CHECK_EQ(put_two(&bed), -EINTR);
	bed.pm.pool->gates->heads = 0;
	CHECK_EQ(put_two(&bed), 0);
	bed_check(&bed);
	bed_close(&bed);
}
