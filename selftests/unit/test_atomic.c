// SPDX-License-Identifier: GPL-2.0-only
/*
 * Atomic batches, with each engine.
 */
#include <string.h>

#include "../../kmod/core/powercut.h"
#include "../../kmod/pool/apply.h"
#include "../../kmod/pool/gate.h"
#include "../../kmod/pool/group.h"
#include "../engines/unit.h"
#include "space.h"
#include "tests.h"

#define ROOM	64

static struct wort_request reqs[WORT_ATOMIC_MAX + 1];
static struct wort_index *indexes[WORT_ATOMIC_MAX + 1];
static u8 answers[WORT_ATOMIC_MAX + 1][ROOM];
static struct wort_atomic batch;
static struct wort_index *other;	/* a second index */

static void begin(void)
{
	memset(reqs, 0, sizeof(reqs));
	batch = (struct wort_atomic){ .reqs = reqs, .indexes = indexes };
}

static struct wort_key key_of(const char *key)
{
	return (struct wort_key){ (const u8 *)key, strlen(key) };
}

static struct wort_value value_of(const char *value)
{
	return (struct wort_value){ value, value ? strlen(value) : 0 };
}

static struct wort_request *add(struct wort_index *index, u16 op, u16 flags,
				const char *key, const char *value,
				const char *expect)
{
	struct wort_request *req = &reqs[batch.nr_ops];

	req->op = (struct wort_batch_op){ .op = op, .flags = flags };
	req->put.key = key_of(key);
	req->put.value = value_of(value);
	req->expect = value_of(expect);
	req->answer = (struct wort_buf){ answers[batch.nr_ops], ROOM };
	req->op.key_len = strlen(key);
	req->op.value_len = req->put.value.len;
	req->op.expect_len = req->expect.len;
	indexes[batch.nr_ops++] = index;
	return req;
}

static void put(struct wort_index *index, const char *key, const char *value)
{
	add(index, WORT_BATCH_INSERT, 0, key, value, NULL);
}

static void del(struct wort_index *index, const char *key)
{
	add(index, WORT_BATCH_DELETE, 0, key, NULL, NULL);
}

static int run(struct bed *bed)
{
	return wort_pool_atomic(bed->pm.pool, &batch);
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

static void set(struct wort_index *index, const char *key, const char *value)
{
	CHECK_EQ(pm_put(index, key, strlen(key), value, strlen(value)), 0);
}

static void open(struct bed *bed)
{
	bed_open(bed, 8 * MIB, 4096);
	other = pmpool_index(&bed->pm, "other");
	begin();
}

static void close(struct bed *bed)
{
	wort_index_put(other);
	bed_close(bed);
}

static void reopen(struct bed *bed)
{
	wort_index_put(other);
	bed_detach(bed);
	bed_attach(bed);
	other = pmpool_index(&bed->pm, "other");
}

static u64 head(struct bed *bed, u32 nr)
{
	return le64_to_cpu(*(__le64 *)wort_head_at(&bed->pm.region, nr));
}

static void expect_no_heads(struct bed *bed)
{
	u32 i;

	for (i = 0; i < WORT_MEDIA_NR_HEADS; i++)
		CHECK_EQ(head(bed, i), 0);
}

/* A rename, and a move to another index. */
void check_atomic_rename(void)
{
	struct bed bed;

	open(&bed);
	set(bed.index, "old", "inode 7");
	del(bed.index, "old");
	put(bed.index, "new", "inode 7");
	CHECK_EQ(run(&bed), 0);
	CHECK_EQ(batch.refused, WORT_NO_VALUE);
	CHECK(has(bed.index, "old", NULL) && has(bed.index, "new", "inode 7"));
	begin();
	add(bed.index, WORT_BATCH_DELETE, WORT_F_FETCH, "new", NULL, NULL);
	add(other, WORT_BATCH_INSERT, WORT_INSERT_F_CREATE, "new", "inode 7", NULL);
	CHECK_EQ(run(&bed), 0);
	CHECK_EQ(reqs[0].answer.len, 7);
	CHECK(!memcmp(answers[0], "inode 7", 7));
	CHECK(has(bed.index, "new", NULL) && has(other, "new", "inode 7"));
	expect_no_heads(&bed);
	set(bed.index, "new", "8");
	CHECK(has(bed.index, "new", "8"));
	reopen(&bed);
	CHECK(has(bed.index, "new", "8") && has(other, "new", "inode 7"));
	close(&bed);
}

/* The operation that refuses is told; nothing is changed. */
static void expect_refused(struct bed *bed, u32 nr, int err)
{
	CHECK_EQ(run(bed), err);
	CHECK_EQ(batch.refused, nr);
	CHECK(has(bed->index, "a", "1") && has(other, "a", NULL));
	CHECK(has(bed->index, "b", NULL));
	expect_no_heads(bed);
	begin();
	put(bed->index, "b", "2");
	put(other, "a", "2");
}

void check_atomic_refused(void)
{
	struct wort_request *req;
	struct bed bed;

	open(&bed);
	set(bed.index, "a", "1");
	put(bed.index, "b", "2");
	put(other, "a", "2");
	add(bed.index, WORT_BATCH_INSERT, WORT_INSERT_F_CREATE, "a", "2", NULL);
	expect_refused(&bed, 2, -EEXIST);
	add(bed.index, WORT_BATCH_INSERT, WORT_INSERT_F_REPLACE, "c", "2", NULL);
	expect_refused(&bed, 2, -ENOENT);
	add(bed.index, WORT_BATCH_DELETE, 0, "c", NULL, NULL);
	expect_refused(&bed, 2, -ENOENT);
	add(bed.index, WORT_BATCH_DELETE, WORT_DELETE_F_EXPECT, "a", NULL, "2");
	expect_refused(&bed, 2, -ECANCELED);
	add(bed.index, WORT_BATCH_CAS, 0, "a", "3", "2");
	expect_refused(&bed, 2, -ECANCELED);
	add(bed.index, WORT_BATCH_CAS, 0, "c", "3", "2");
	expect_refused(&bed, 2, -ENOENT);
	add(bed.index, WORT_BATCH_EXPECT, 0, "a", NULL, "2");
	expect_refused(&bed, 2, -ECANCELED);
	add(bed.index, WORT_BATCH_EXPECT, WORT_EXPECT_F_ABSENT, "a", NULL, NULL);
	expect_refused(&bed, 2, -EEXIST);
	add(bed.index, WORT_BATCH_EXPECT, WORT_EXPECT_F_PRESENT, "c", NULL, NULL);
	expect_refused(&bed, 2, -ENOENT);
	req = add(bed.index, WORT_BATCH_INSERT, WORT_F_FETCH, "a", "3", NULL);
	req->answer.size = 0;
	expect_refused(&bed, 2, -ERANGE);
	CHECK_EQ(req->answer.len, 0);
	close(&bed);
}

/* Each operation sees those before it; of a key the last value counts. */
void check_atomic_order(void)
{
	struct bed bed;

	open(&bed);
	set(bed.index, "a", "1");
	add(bed.index, WORT_BATCH_EXPECT, 0, "a", NULL, "1");
	put(bed.index, "a", "2");
	add(bed.index, WORT_BATCH_CAS, WORT_F_FETCH, "a", "3", "2");
	del(bed.index, "a");
	add(bed.index, WORT_BATCH_EXPECT, WORT_EXPECT_F_ABSENT, "a", NULL, NULL);
	add(bed.index, WORT_BATCH_INSERT, WORT_INSERT_F_CREATE, "a", "4", NULL);
	add(bed.index, WORT_BATCH_LOOKUP, 0, "a", NULL, NULL);
	put(other, "b", "5");
	del(other, "b");
	add(other, WORT_BATCH_LOOKUP, 0, "b", NULL, NULL);
	CHECK_EQ(run(&bed), 0);
	CHECK(reqs[2].answer.len == 1 && answers[2][0] == '2');
	CHECK(reqs[6].answer.len == 1 && answers[6][0] == '4');
	CHECK_EQ(reqs[9].err, -ENOENT);
	CHECK(has(bed.index, "a", "4") && has(other, "b", NULL));
	close(&bed);
}

/* A batch that only looks takes no head and stores nothing. */
void check_atomic_reads(void)
{
	static u8 before[MIB];
	struct wort_request *req;
	struct bed bed;

	open(&bed);
	set(bed.index, "a", "1");
	set(other, "b", "22");
	pmpool_settle();
	memcpy(before, (u8 *)bed.pm.region.base, sizeof(before));
	add(bed.index, WORT_BATCH_LOOKUP, 0, "a", NULL, NULL);
	req = add(other, WORT_BATCH_LOOKUP, 0, "b", NULL, NULL);
	req->answer.size = 1;
	add(other, WORT_BATCH_LOOKUP, 0, "a", NULL, NULL);
	add(other, WORT_BATCH_EXPECT, WORT_EXPECT_F_PRESENT, "b", NULL, NULL);
	CHECK_EQ(run(&bed), 0);
	CHECK(reqs[0].err == 0 && reqs[0].answer.len == 1 && answers[0][0] == '1');
	CHECK(reqs[1].err == -ERANGE && reqs[1].answer.len == 2);
	CHECK(reqs[2].err == -ENOENT && reqs[2].answer.len == WORT_NO_VALUE);
	CHECK(!memcmp(before, (u8 *)bed.pm.region.base, sizeof(before)));
	close(&bed);
}

/* As many operations as there can be, and values of every length. */
void check_atomic_many(void)
{
	static u8 value[3000], found[3000];
	char key[WORT_ATOMIC_MAX][8];
	struct wort_request *req;
	struct bed bed;
	u32 i, len;

	open(&bed);
	memset(value, 'v', sizeof(value));
	for (i = 0; i < WORT_ATOMIC_MAX; i++) {
		snprintf(key[i], sizeof(key[i]), "%u", i * 7919 % 1000);
		req = add(i % 3 ? bed.index : other, WORT_BATCH_INSERT, 0, key[i],
			  NULL, NULL);
		req->op.value_len = i * i % sizeof(value);
		req->put.value = (struct wort_value){ value, req->op.value_len };
	}
	CHECK_EQ(run(&bed), 0);
	reopen(&bed);
	for (i = 0; i < WORT_ATOMIC_MAX; i++) {
		len = sizeof(found);
		CHECK_EQ(pm_get(i % 3 ? bed.index : other, key[i], strlen(key[i]),
				found, &len), 0);
		CHECK_EQ(len, i * i % sizeof(value));
		CHECK(!memcmp(found, value, len));
	}
	close(&bed);
}

/* Too many bytes are refused before anything is changed. */
void check_atomic_bytes(void)
{
	static u8 value[WORT_VALUE_MAX];
	struct bed bed;
	char key[2] = "a";
	u32 i;

	bed_open(&bed, 4 * MIB, 4096);
	begin();
	for (i = 0; i < 4; i++, key[0]++) {
		add(bed.index, WORT_BATCH_INSERT, 0, i ? i > 1 ? i > 2 ? "d" : "c" :
		    "b" : "a", NULL, NULL);
		reqs[i].op.value_len = sizeof(value);
		reqs[i].put.value = (struct wort_value){ value, sizeof(value) };
	}
	CHECK_EQ(run(&bed), -EMSGSIZE);
	CHECK(has(bed.index, "a", NULL));
	batch.nr_ops = 3;
	CHECK_EQ(run(&bed), 0);
	CHECK(!has(bed.index, "c", NULL));
	bed_close(&bed);
}

#define LONG_VALUE	3000

/* "a" had the long value, which is fetched, and gets another one; so does "b". */
static void replace_long(struct bed *bed, const u8 *value, u8 *fetched, const u8 *other_value)
{
	struct wort_request *req;

	begin();
	req = add(bed->index, WORT_BATCH_EXPECT, 0, "a", NULL, NULL);
	req->expect = (struct wort_value){ value, LONG_VALUE };
	req->op.expect_len = LONG_VALUE;
	req = add(bed->index, WORT_BATCH_INSERT, WORT_F_FETCH, "a", NULL, NULL);
	req->put.value = (struct wort_value){ other_value, 500 };
	req->op.value_len = 500;
	req->op.max_len = LONG_VALUE;
	req->answer = (struct wort_buf){ fetched, LONG_VALUE };
	put(bed->index, "b", "new");
}

/* A long value takes no memory where no operation can use it. */
static void run_without_memory(struct bed *bed, int err)
{
	shim_alloc_fail_nth = 1;
	CHECK_EQ(run(bed), err);
	CHECK_EQ(shim_alloc_fail_nth, 0);
	shim_alloc_fail_nth = -1;
}

/* Values that are longer than what a batch has room for are looked up in memory of their own. */
void check_atomic_long(void)
{
	static u8 value[LONG_VALUE], fetched[LONG_VALUE], other_value[500];
	struct bed bed;
	u32 i;
	int err;

	bed_open(&bed, MIB, 4096);
	for (i = 0; i < LONG_VALUE; i++)
		value[i] = i * 7;
	for (i = 0; i < 40; i++) {
		CHECK_EQ(pm_put(bed.index, "a", 1, value, sizeof(value)), 0);
		memset(fetched, 0, sizeof(fetched));
		replace_long(&bed, value, fetched, other_value);
		shim_alloc_fail_nth = i;
		err = run(&bed);
		shim_alloc_fail_nth = -1;
		CHECK(!err || err == -ENOMEM);
		CHECK(err || (reqs[1].answer.len == LONG_VALUE &&
			      !memcmp(fetched, value, sizeof(value))));
	}
	CHECK_EQ(err, 0);
	/* It has another value by now. */
	replace_long(&bed, value, fetched, other_value);
	CHECK_EQ(run(&bed), -ECANCELED);
	CHECK_EQ(pm_put(bed.index, "a", 1, value, sizeof(value)), 0);
	begin();
	add(bed.index, WORT_BATCH_EXPECT, WORT_EXPECT_F_PRESENT, "a", NULL, NULL);
	add(bed.index, WORT_BATCH_LOOKUP, 0, "a", NULL, NULL);
	run_without_memory(&bed, 0);
	CHECK(reqs[1].err == -ERANGE && reqs[1].answer.len == LONG_VALUE);
	begin();
	add(bed.index, WORT_BATCH_EXPECT, 0, "a", NULL, "short");
	run_without_memory(&bed, -ECANCELED);
	begin();
	add(bed.index, WORT_BATCH_INSERT, WORT_F_FETCH, "a", "new", NULL);
	run_without_memory(&bed, -ERANGE);
	/* A later operation can use it. */
	begin();
	add(bed.index, WORT_BATCH_EXPECT, WORT_EXPECT_F_PRESENT, "a", NULL, NULL);
	add(bed.index, WORT_BATCH_LOOKUP, 0, "a", NULL, NULL);
	add(bed.index, WORT_BATCH_LOOKUP, 0, "a", NULL, NULL)->answer =
		(struct wort_buf){ fetched, sizeof(fetched) };
	memset(fetched, 0, sizeof(fetched));
	CHECK_EQ(run(&bed), 0);
	CHECK(reqs[1].err == -ERANGE && reqs[2].err == 0);
	CHECK(!memcmp(fetched, value, sizeof(value)));
	bed_check(&bed);
	bed_close(&bed);
}

/* A pool that is full at any point of a batch: all or nothing, and nothing is lost. */
void check_atomic_full(void)
{
	static u8 value[600];
	struct bed bed;
	u32 n = 0, done = 0;
	u8 key[8];
	int err;

	bed_open(&bed, subject.attr && subject.unit->needs_much ? 512 * KIB : 256 * KIB,
		 4096);
	other = pmpool_index(&bed.pm, "other");
	do {
		begin();
		key_u64(key, n);
		put(bed.index, "a", "");
		put(other, "a", "");
		del(bed.index, "c");
		reqs[0].put.key = reqs[1].put.key = (struct wort_key){ key, 8 };
		reqs[0].put.value = (struct wort_value){ value, n % sizeof(value) };
		reqs[1].put.value = (struct wort_value){ value, 8 };
		set(bed.index, "c", "1");
		err = run(&bed);
		done += !err;
		CHECK(has(bed.index, "c", err ? "1" : NULL));
		key_u64(key, n++);
	} while (!err);
	CHECK_EQ(err, -ENOSPC);
	CHECK_GE(done, 20);
	expect_no_heads(&bed);
	bed_check(&bed);
	close(&bed);
}

/* Each allocation fails once: all or nothing. */
void check_atomic_nomem(void)
{
	struct bed bed;
	int err, n;

	open(&bed);
	set(bed.index, "a", "1");
	for (n = 0, err = -ENOMEM; err; n++) {
		begin();
		del(bed.index, "a");
		put(bed.index, "b", "a value of more than eight bytes");
		put(other, "a", "1");
		shim_alloc_fail_nth = n;
		err = run(&bed);
		shim_alloc_fail_nth = -1;
		if (err)
			CHECK_EQ(err, -ENOMEM);
		CHECK(has(bed.index, "a", err ? "1" : NULL));
		CHECK(has(other, "a", err ? NULL : "1"));
		bed_check(&bed);
	}
	CHECK_GE(n, 3);
	expect_no_heads(&bed);
	CHECK_EQ(bed.pm.pool->gates->heads, 0);
	bed_check(&bed);
	close(&bed);
}

/* An index that damage has made read-only is not changed by a batch, nor are the others. */
void check_atomic_damaged(void)
{
	struct bed bed;

	open(&bed);
	mutex_lock(&other->lock);
	wort_index_set_damaged(other, true);
	mutex_unlock(&other->lock);
	begin();
	put(bed.index, "a", "1");
	put(other, "b", "1");
	CHECK_EQ(run(&bed), -EROFS);
	CHECK(has(bed.index, "a", NULL) && has(other, "b", NULL));
	CHECK_EQ(bed.pm.pool->gates->heads, 0);
	mutex_lock(&other->lock);
	wort_index_set_damaged(other, false);
	mutex_unlock(&other->lock);
	CHECK_EQ(run(&bed), 0);
	bed_check(&bed);
	close(&bed);
}

/* What a batch and what stands for it cost. */
static struct wort_op_stats cost(struct wort_index *index)
{
	struct wort_op_stats stats[WORT_OP_NR], sum = { };
	u32 i;

	wort_index_stats(index, stats);
	for (i = 0; i < WORT_OP_NR; i++) {
		sum.ordering_points += stats[i].ordering_points;
		sum.fences += stats[i].fences;
		sum.lines += stats[i].lines;
		sum.alloc_lines += stats[i].alloc_lines;
	}
	return sum;
}

/*
 * Changes of different slots: two fences for the list, two for all changes, or one if these
 * are stored in place, one for the end; and at most the lines of the list, of its head
 * twice, and of the changes.  A single record costs what it costs alone.
 */
static void count_changes(struct bed *bed, u32 nr, u8 second, u32 points, u32 lines)
{
	struct wort_op_stats before = cost(bed->index), after;
	static char key[WORT_ATOMIC_MAX][8];
	struct wort_request *req;
	static u64 value;
	u32 i, list;

	begin();
	value++;
	for (i = 0; i < nr; i++) {
		key[i][0] = 4 * i + 1;
		key[i][1] = second;
		req = add(bed->index, WORT_BATCH_INSERT, 0, "", NULL, NULL);
		req->put.key = (struct wort_key){ (const u8 *)key[i], 2 };
		req->put.value = (struct wort_value){ &value, sizeof(value) };
	}
	CHECK_EQ(run(bed), 0);
	after = cost(bed->index);
	list = sizeof(struct wort_media_redo) + nr * wort_redo_entry_len(2, sizeof(value));
	CHECK_EQ(after.ordering_points - before.ordering_points,
		 nr > 1 ? points + 3 : points);
	CHECK_LE(after.lines - before.lines,
		 (nr > 1 ? DIV_ROUND_UP(list, 64) + 2 : 0) + nr * lines +
		 after.alloc_lines - before.alloc_lines);
}

void check_atomic_counts(void)
{
	struct bed bed;
	u32 nr;

	open(&bed);
	if (bed.index->tree.engine->batch_ops && subject.unit->needs_all) {
		/* With a node for each, made by changes that depend on each other. */
		for (nr = 0; nr < WORT_ATOMIC_MAX; nr++)
			CHECK_EQ(pm_put(bed.index, (u8[]){ 4 * nr + 1, 0xff }, 2, "", 0), 0);
		for (nr = WORT_ATOMIC_MAX; nr; nr--)
			count_changes(&bed, nr, nr, 2, 4);
		for (nr = WORT_ATOMIC_MAX; nr; nr--)
			count_changes(&bed, nr, WORT_ATOMIC_MAX, 1, 1);
	}
	close(&bed);
}

/* Power goes at each event of a batch: all or none of it is there. */
void check_atomic_cut(void)
{
	static u8 fresh[MIB];
	struct wort_powercut_status status;
	u32 seed, old = 0, new = 0;
	struct bed bed;
	u64 event = 0;
	bool done;

	open(&bed);
	set(bed.index, "a", "1");
	set(other, "b", "2");
	pmpool_settle();
	memcpy(fresh, (u8 *)bed.pm.region.base, sizeof(fresh));
	do {
		event++;
		for (seed = 0; seed < 8; seed++) {
			CHECK_EQ(wort_powercut_arm(event), 0);
			wort_powercut_begin(&bed.pm.region);
			begin();
			del(bed.index, "a");
			put(bed.index, "c", "1");
			put(other, "b", "3");
			CHECK_EQ(run(&bed), 0);
			wort_powercut_end(&bed.pm.region);
			wort_powercut_status(&status);
			if (status.state == WORT_POWERCUT_CUT)
				CHECK_EQ(wort_powercut_image(seed, (u8 *)bed.pm.region.base,
							     MIB, 0), MIB);
			wort_powercut_disarm();
			reopen(&bed);
			done = has(bed.index, "c", "1");
			CHECK(has(bed.index, "a", done ? NULL : "1"));
			CHECK(has(bed.index, "c", done ? "1" : NULL));
			CHECK(has(other, "b", done ? "3" : "2"));
			expect_no_heads(&bed);
			bed_check(&bed);
			old += !done;
			new += done;
			wort_index_put(other);
			bed_detach(&bed);
			memcpy((u8 *)bed.pm.region.base, fresh, sizeof(fresh));
			bed_attach(&bed);
			other = pmpool_index(&bed.pm, "other");
			if (status.state != WORT_POWERCUT_CUT)
				break;
		}
	} while (seed);
	CHECK(old && new);
	close(&bed);
}

#define NR_LONG	3
#define LONG	8	/* MiB of the pool */
#define NR_CUTS	80

static const char *const long_keys[NR_LONG] = { "a", "b", "c" };

/* Values that fill the list as far as it goes; @image: what a cut at an event leaves. */
static u64 cut_long(struct bed *bed, u64 event, u8 *image)
{
	static u8 value[WORT_VALUE_MAX];
	struct wort_powercut_status status;
	u32 i;

	CHECK_EQ(wort_powercut_arm(event), 0);
	wort_powercut_begin(&bed->pm.region);
	begin();
	for (i = 0; i < NR_LONG; i++) {
		put(bed->index, long_keys[i], "");
		reqs[i].put.value = (struct wort_value){ value, sizeof(value) };
		reqs[i].op.value_len = sizeof(value);
	}
	CHECK_EQ(run(bed), 0);
	wort_powercut_end(&bed->pm.region);
	wort_powercut_status(&status);
	if (event)
		CHECK_EQ(wort_powercut_image(event, image, LONG * MIB, 0), LONG * MIB);
	wort_powercut_disarm();
	return status.events;
}

/* How many of the keys are there?  The pool is sound, and has no batch left. */
static u32 count_long(struct bed *bed)
{
	u32 nr = 0, len, i;
	char found[ROOM];

	CHECK(!bed->pm.pool->damaged);
	expect_no_heads(bed);
	for (i = 0; i < NR_LONG; i++) {
		len = sizeof(found);
		nr += pm_get(bed->index, long_keys[i], 1, found, &len) != -ENOENT;
	}
	return nr;
}

static void become(struct bed *bed, const u8 *image)
{
	bed_detach(bed);
	memcpy((u8 *)bed->pm.region.base, image, LONG * MIB);
	bed_attach(bed);
}

static void cut_long_lists(u32 extent_size)
{
	u8 *fresh = malloc(LONG * MIB), *image = malloc(LONG * MIB);
	u32 old = 0, new = 0, nr;
	struct bed bed;
	u64 event, nr_events;

	bed_open(&bed, LONG * MIB, extent_size);
	pmpool_settle();
	memcpy(fresh, (u8 *)bed.pm.region.base, LONG * MIB);
	nr_events = cut_long(&bed, 0, NULL);
	become(&bed, fresh);
	for (event = 1; event <= nr_events; event += 1 + nr_events / NR_CUTS) {
		cut_long(&bed, event, image);
		become(&bed, image);
		nr = count_long(&bed);
		CHECK(!nr || nr == NR_LONG);
		old += !nr;
		new += !!nr;
		become(&bed, fresh);
	}
	CHECK(old && new);
	free(fresh);
	free(image);
	bed_close(&bed);
}

/* An attach does not take the run of a long list for a former extent table. */
void check_atomic_cut_long(void)
{
	cut_long_lists(4096);
	cut_long_lists(65536);
}

static struct wort_pool_info_arg info_of(struct bed *bed)
{
	struct wort_pool_info_arg info = { .size = sizeof(info) };

	wort_pool_info(bed->pm.pool, &info);
	return info;
}

static bool gated(const struct wort_index *index)
{
	const struct wort_fast_ops *fast = index->tree.engine->fast_ops;

	if (fast)
		CHECK_EQ(READ_ONCE(index->fast_put) == fast->put,
			 index->engine == index->tree.engine);
	return index->engine != index->tree.engine;
}

/* Gates go when no batch has come for a while, and come back with the next one. */
void check_atomic_rest(void)
{
	struct wort_index *third;
	struct bed bed;
	u32 head;

	open(&bed);
	CHECK(!wort_gates_rest(bed.pm.pool) && !gated(bed.index));
	put(bed.index, "key", "old");
	put(other, "key", "old");
	CHECK_EQ(run(&bed), 0);
	CHECK(gated(bed.index) && gated(other));
	/* one has come since the call before */
	CHECK(wort_gates_rest(bed.pm.pool) && gated(bed.index));
	/* one is under way */
	CHECK_EQ(wort_gates_use(bed.pm.pool), 0);
	CHECK(wort_gates_rest(bed.pm.pool) && wort_gates_rest(bed.pm.pool));
	wort_gates_unuse(bed.pm.pool);
	CHECK(wort_gates_rest(bed.pm.pool));
	/* a list is left */
	CHECK_EQ(wort_head_take(bed.pm.pool, &head), 0);
	CHECK(wort_gates_rest(bed.pm.pool) && gated(bed.index));
	wort_head_give(bed.pm.pool, head);
	CHECK(!wort_gates_rest(bed.pm.pool) && !gated(bed.index) && !gated(other));
	third = pmpool_index(&bed.pm, "third");
	CHECK(!gated(third));
	set(bed.index, "key", "new");
	begin();
	add(bed.index, WORT_BATCH_EXPECT, 0, "key", NULL, "new");
	del(other, "key");
	put(third, "key", "new");
	CHECK_EQ(run(&bed), 0);
	CHECK(gated(bed.index) && gated(other) && gated(third));
	CHECK(has(other, "key", NULL) && has(third, "key", "new"));
	wort_index_put(third);
	close(&bed);
}

/* Those that have committed count, of one record, too, and those that were refused. */
void check_atomic_info(void)
{
	struct wort_op_stats before[WORT_OP_NR], after[WORT_OP_NR];
	struct wort_pool_info_arg info;
	struct bed bed;

	open(&bed);
	wort_index_stats(bed.index, before);
	put(bed.index, "a", "1");
	CHECK_EQ(run(&bed), 0);
	put(other, "b", "2");
	CHECK_EQ(run(&bed), 0);
	add(bed.index, WORT_BATCH_EXPECT, WORT_EXPECT_F_ABSENT, "a", NULL, NULL);
	CHECK_EQ(run(&bed), -EEXIST);
	begin();
	add(bed.index, WORT_BATCH_LOOKUP, 0, "a", NULL, NULL);
	CHECK_EQ(run(&bed), 0);
	info = info_of(&bed);
	CHECK_EQ(info.out_atomic_batches, 2);
	CHECK_EQ(info.out_atomic_refused, 1);
	CHECK_EQ(info.out_atomic_waits, 0);
	CHECK_EQ(info.out_atomic_redone, 0);
	wort_index_stats(bed.index, after);
	CHECK_EQ(after[WORT_OP_ATOMIC].ops - before[WORT_OP_ATOMIC].ops, 2);
	close(&bed);
}

/*
 * A list with one change, as a power cut leaves it between commit and end; or @shift bytes
 * behind the beginning of its object, as nothing leaves it.
 */
static void leave_list_at(struct bed *bed, u32 nr, u32 shift, const char *key,
			  const char *value)
{
	struct wort_redo_change change = {
		.index = bed->index->id, .key = key_of(key), .value = value_of(value),
	};
	u32 len = sizeof(struct wort_media_redo) +
		  wort_redo_entry_len(change.key.len, change.value.len);
	struct wort_redo *redo = wort_redo_alloc(len, GFP_KERNEL);
	struct wort_op op;
	u64 off;

	wort_redo_add(redo, &change);
	wort_redo_seal(redo);
	space_begin(bed, &op);
	CHECK_EQ(wort_alloc_reserve(&op, shift + len), 0);
	off = wort_alloc_take(&op) + shift;
	memcpy((u8 *)bed->pm.region.base + off, &redo->media, len);
	wort_pm_fence(&op);
	wort_op_end(&op);
	kvfree(redo);
	*(__le64 *)wort_head_at(&bed->pm.region, nr) = cpu_to_le64(off);
}

static void leave_list(struct bed *bed, u32 nr, const char *key, const char *value)
{
	leave_list_at(bed, nr, 0, key, value);
}

/* Lists that attach finds are carried out, from the first head to the last. */
void check_atomic_left(void)
{
	struct bed bed;

	open(&bed);
	/* Not what a list says, but how it begins. */
	set(bed.index, "b", "");
	leave_list(&bed, 0, "a", "1");
	leave_list(&bed, 7, "b", "2");
	leave_list(&bed, WORT_MEDIA_NR_HEADS - 1, "c", "3");
	reopen(&bed);
	CHECK(has(bed.index, "a", "1") && has(bed.index, "b", "2"));
	CHECK(has(bed.index, "c", "3"));
	expect_no_heads(&bed);
	CHECK_EQ(info_of(&bed).out_atomic_redone, 3);
	set(bed.index, "a", "4");
	bed_check(&bed);
	reopen(&bed);
	CHECK(has(bed.index, "a", "4"));
	CHECK_EQ(info_of(&bed).out_atomic_redone, 0);
	close(&bed);
}

/* No two batches can have a key in common: nobody knows which one was the last. */
void check_atomic_shared_key(void)
{
	struct wort_check_arg arg;
	struct bed bed;

	open(&bed);
	leave_list(&bed, 3, "a", "1");
	leave_list(&bed, 5, "a", "2");
	reopen(&bed);
	CHECK_EQ(pm_put(bed.index, "b", 1, "1", 1), -EROFS);
	CHECK(has(bed.index, "a", "1"));
	CHECK(head(&bed, 3) && head(&bed, 5));
	bed_check_arg(&bed, WORT_CHECK_F_CLEAR, &arg);
	CHECK_EQ(arg.out_nr_dropped, 1);
	expect_no_heads(&bed);
	CHECK(has(bed.index, "a", "1"));
	set(bed.index, "b", "1");
	close(&bed);
}

/* A removal that was carried out before, one by one, since there is no group. */
void check_atomic_removed(void)
{
	struct wort_apply change;
	struct bed bed;

	open(&bed);
	change = (struct wort_apply){
		.index = bed.index, .change.index = bed.index->id,
		.change.key = key_of("a"), .change.remove = true,
	};
	set(bed.index, "a", "1");
	CHECK_EQ(wort_apply(bed.pm.pool, &change, 1, NULL), 0);
	CHECK(has(bed.index, "a", NULL));
	wort_group_put(bed.pm.pool, NULL);
	shim_alloc_fail_nth = 0;
	change.done = false;
	CHECK_EQ(wort_apply(bed.pm.pool, &change, 1, NULL), 0);
	CHECK_EQ(shim_alloc_fail_nth, -1);
	close(&bed);
}

/* A list that is sound, where no object can be: it is not carried out. */
void check_atomic_misplaced(void)
{
	struct wort_check_arg arg;
	struct bed bed;

	open(&bed);
	leave_list_at(&bed, 0, 8, "a", "1");
	reopen(&bed);
	CHECK(has(bed.index, "a", NULL));
	CHECK_EQ(pm_put(bed.index, "b", 1, "1", 1), -EROFS);
	bed_check_arg(&bed, WORT_CHECK_F_CLEAR, &arg);
	CHECK_EQ(arg.out_nr_dropped, 1);
	expect_no_heads(&bed);
	CHECK(has(bed.index, "a", NULL));
	set(bed.index, "b", "1");
	close(&bed);
}
