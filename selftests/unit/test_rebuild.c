// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rebuilds of what an engine keeps in DRAM: the default engine, with one that counts.
 */
#include <linux/sched.h>

#include "../engines/unit.h"

#define RECORDS		2500	/* several chunks of a walk, and sections of a scan */

static struct bed bed;
static struct wort_engine engine;
static struct wort_volatile_ops ops;

static struct {
	u32 steps;
	u32 at;			/* the step at which something happens: */
	int err;
	void (*event)(void);
} made;

static int rebuild(struct wort_cursor *cur)
{
	CHECK(cur->op->locks == &bed.pm.pool->locks);
	CHECK(bed.index->shut);
	if (made.steps++ != made.at)
		return 0;
	if (made.event)
		made.event();
	return made.err;
}

/* From now on operations wait; @at: see @made. */
static void unbuild(u32 at, int err, void (*event)(void))
{
	made.steps = 0;
	made.at = at;
	made.err = err;
	made.event = event;
	wort_index_set_unbuilt(bed.index, true);
}

/* An index whose engine has a rebuild. */
static void attach(bool readonly)
{
	bed.pm.region.readonly = readonly;
	bed_attach(&bed);
	engine = *bed.index->tree.engine;
	ops = *engine.volatile_ops;
	ops.rebuild = rebuild;
	engine.volatile_ops = &ops;
	bed.index->tree.engine = &engine;
}

static void detach(void)
{
	bed_detach(&bed);
	bed.pm.region.readonly = false;
}

static int put(u32 n)
{
	u8 key[8];

	key_u64(key, n);
	return pm_put(bed.index, key, 8, key, 8);
}

static int get(u32 n)
{
	u8 key[8], value[8];
	u32 len = sizeof(value);

	key_u64(key, n);
	return pm_get(bed.index, key, 8, value, &len);
}

static int del(u32 n)
{
	u8 key[8];

	key_u64(key, n);
	return pm_del(bed.index, key, 8);
}

static int put_and_del(u32 n)
{
	return put(RECORDS + n) ?: del(RECORDS + n);
}

static int del_and_put(u32 n)
{
	return del(n) ?: put(n);
}

static int scan(u32 flags)
{
	static u8 last[WORT_KEY_MAX];
	struct wort_scan scan = {
		.flags = WORT_SCAN_F_COUNT | flags, .buf = last,
		.buf_len = sizeof(last),
	};
	int err = wort_index_scan(bed.index, &scan);

	CHECK(err || scan.count == RECORDS);
	return err;
}

static int batch(u32 n)
{
	u8 packed[256], key[8], results[256];
	struct wort_batch batch = {
		.ops = packed, .results = results, .results_size = sizeof(results),
		.nr_ops = 2, .write = true,
	};

	key_u64(key, n);
	batch.ops_len = pm_pack(packed, WORT_BATCH_INSERT, key, 8, key, 8);
	batch.ops_len += pm_pack(packed + batch.ops_len, WORT_BATCH_INSERT, key, 8,
				 key, 8);
	return wort_index_batch(bed.index, &batch);
}

static void begin(void)
{
	u32 i;

	bed_open(&bed, 4 * MIB, 0);
	for (i = 0; i < RECORDS; i++)
		CHECK_EQ(put(i), 0);
	bed_detach(&bed);
	attach(false);
	pmpool_settle();
}

static void end(void)
{
	detach();
	pmpool_unmap(&bed.pm);
}

/* Whatever comes first waits for all steps; what comes then does not. */
void check_rebuild_first(void)
{
	static int (*const use[])(u32 n) = {
		get, put_and_del, del_and_put, scan, batch,
	};
	u64 records;
	u32 i;

	begin();
	for (i = 0; i < ARRAY_SIZE(use); i++) {
		records = bed.pm.pool->rebuild_records;
		unbuild(U32_MAX, 0, NULL);
		CHECK_EQ(use[i](0), 0);
		CHECK_EQ(made.steps, RECORDS);
		CHECK_EQ(bed.pm.pool->rebuild_records - records, RECORDS);
		CHECK(!bed.index->shut);
		CHECK_EQ(use[i](0), 0);
		CHECK_EQ(made.steps, RECORDS);
	}
	/* Nobody has to wait for what nobody uses. */
	unbuild(U32_MAX, 0, NULL);
	wort_pool_kick(bed.pm.pool);
	pmpool_settle();
	CHECK_EQ(made.steps, 0);
	bed_check(&bed);
	end();
}

static void kill_task(void)
{
	shim_fatal_signal = true;
}

static void stop(void)
{
	bed.pm.pool->stopping = true;
}

static void destroy(void)
{
	CHECK_EQ(wort_index_destroy(bed.pm.pool, (const u8 *)"t", 1), 0);
}

/* Each attempt that fails leaves the index as it is for the next one. */
void check_rebuild_fails(void)
{
	begin();
	unbuild(7, -ENOMEM, NULL);
	CHECK_EQ(get(0), -ENOMEM);
	CHECK_EQ(made.steps, 8);
	CHECK(bed.index->shut);
	CHECK_EQ(put(0), 0);
	CHECK_EQ(made.steps, 8 + RECORDS);

	/* A step that met a writer is taken again. */
	unbuild(7, -EAGAIN, NULL);
	CHECK_EQ(get(0), 0);
	CHECK_EQ(made.steps, 8 + RECORDS - 7);

	unbuild(U32_MAX, 0, NULL);
	kill_task();
	CHECK_EQ(get(0), -EINTR);
	CHECK_EQ(scan(0), -EINTR);
	shim_fatal_signal = false;
	CHECK_EQ(get(0), 0);

	unbuild(RECORDS / 2, 0, stop);
	CHECK_EQ(del(0), -ENODEV);
	CHECK_LE(made.steps, RECORDS - 1);
	CHECK(bed.index->shut);
	bed.pm.pool->stopping = false;
	CHECK_EQ(get(0), 0);

	unbuild(0, 0, destroy);
	CHECK_EQ(put(0), -ESTALE);
	CHECK_LE(made.steps, RECORDS - 1);
	pmpool_settle();
	end();
}

/* Damage, and what cannot be read, end a rebuild, and the index is used all the same. */
void check_rebuild_damage(void)
{
	begin();
	unbuild(3, -EIO, NULL);
	CHECK_EQ(get(0), 0);
	CHECK_EQ(made.steps, 4);
	CHECK(!bed.index->damaged);
	unbuild(3, -EUCLEAN, NULL);
	CHECK_EQ(get(0), 0);
	CHECK_EQ(made.steps, 4);
	CHECK(bed.index->damaged);
	CHECK_EQ(put(0), -EROFS);
	end();
}

/* The walk after the attach rebuilds an open index as it marks it. */
void check_rebuild_walk(void)
{
	begin();
	detach();
	attach(false);
	unbuild(U32_MAX, 0, NULL);
	pmpool_settle();
	CHECK_EQ(made.steps, RECORDS);
	CHECK(!bed.index->shut);
	CHECK_EQ(bed.pm.pool->walk_records, RECORDS);
	CHECK_EQ(bed.pm.pool->rebuild_records, 0);
	detach();

	/* Without memory it marks all the same. */
	attach(false);
	unbuild(9, -ENOMEM, NULL);
	pmpool_settle();
	CHECK_EQ(made.steps, 10);
	CHECK(!bed.pm.pool->alloc.walking);
	CHECK_EQ(get(0), 0);
	CHECK_EQ(made.steps, 10 + RECORDS);
	bed_check(&bed);
	detach();

	/* A pool that is not walked is rebuilt only. */
	attach(true);
	unbuild(U32_MAX, 0, NULL);
	CHECK_EQ(get(0), 0);
	CHECK_EQ(made.steps, RECORDS);
	CHECK_EQ(bed.pm.pool->walk_records, 0);
	detach();

	/* An index that was destroyed while it was open is marked, and freed. */
	attach(false);
	unbuild(U32_MAX, -EAGAIN, NULL);
	destroy();
	pmpool_settle();
	CHECK_EQ(made.steps, 0);
	CHECK(!bed.pm.pool->alloc.walking);
	end();
}

static void unbuild_once(void)
{
	shim_in_resched = NULL;
	unbuild(U32_MAX, 0, NULL);
}

static void use_in_walk(void)
{
	shim_in_resched = NULL;
	wort_index_set_unbuilt(bed.index, true);
	/* as an operation that waits */
	list_add_tail(&bed.index->rebuild, &bed.pm.pool->rebuild);
}

/* A scan waits between two sections; a check gives a rebuild its turn. */
void check_rebuild_between(void)
{
	struct wort_check_arg arg;

	begin();
	unbuild(U32_MAX, 0, NULL);
	wort_index_set_unbuilt(bed.index, false);
	shim_in_resched = unbuild_once;
	CHECK_EQ(scan(0), 0);
	CHECK_EQ(made.steps, RECORDS);
	CHECK(!bed.index->shut);

	made.steps = 0;
	shim_in_resched = use_in_walk;
	bed_check_arg(&bed, 0, &arg);
	CHECK_EQ(arg.out_nr_leaves, RECORDS);
	CHECK_EQ(arg.out_nr_damaged, 0);
	CHECK_EQ(made.steps, RECORDS);
	CHECK(!bed.index->shut);
	end();
}

/* There is always work for another round, as long as others create indexes. */
static u32 tends, due;

static void tend_again(struct wort_tree *tree, size_t room)
{
	tends++;
	if (!due)
		return;
	due--;
	tree->want_tend(tree);
}

static int rebuild_again(struct wort_cursor *cur)
{
	if (due && list_empty(&bed.index->rebuild)) {
		due--;
		list_add_tail(&bed.index->rebuild, &bed.pm.pool->rebuild);
	}
	return 0;
}

static void one_round(void)
{
	mutex_lock(&bed.pm.pool->work_lock);
	CHECK_EQ(wort_pool_round(bed.pm.pool), 0);
	mutex_unlock(&bed.pm.pool->work_lock);
}

/*
 * What becomes due during a round waits for the next one, so that its other work has
 * a turn; a check, which takes long, tends now and then.
 */
void check_rebuild_rounds(void)
{
	struct wort_check_arg arg;
	u32 i;

	begin();
	pmpool_settle();
	ops.tend = tend_again;
	due = 100;
	bed.index->tree.want_tend(&bed.index->tree);
	one_round();
	CHECK_EQ(tends, 1);
	one_round();
	CHECK_EQ(tends, 2);
	for (i = RECORDS; i < 20 * RECORDS; i++)
		CHECK_EQ(put(i), 0);
	bed_check_arg(&bed, 0, &arg);
	CHECK_EQ(arg.out_nr_leaves, 20 * RECORDS);
	CHECK(tends > 2);
	CHECK_LE(tends, 2 + 20 * RECORDS / 1024 / 32 + 2);
	due = 0;
	pmpool_settle();

	ops.rebuild = rebuild_again;
	unbuild(U32_MAX, 0, NULL);
	due = 100;
	list_add_tail(&bed.index->rebuild, &bed.pm.pool->rebuild);
	one_round();
	CHECK_EQ(due, 99);
	due = 0;
	tends = 0;
	pmpool_settle();
	bed_check(&bed);
	end();
}

static bool roomy;

static int rebuild_with_room(struct wort_cursor *cur)
{
	if (roomy)
		return 0;
	made.steps++;
	cur->tree->want_tend(cur->tree);
	return -EAGAIN;
}

static void make_room(struct wort_tree *tree, size_t room)
{
	roomy = true;
}

/* A rebuild that needs more room gets it before it takes the step again. */
void check_rebuild_room(void)
{
	begin();
	roomy = false;
	ops.rebuild = rebuild_with_room;
	ops.tend = make_room;
	unbuild(U32_MAX, 0, NULL);
	CHECK_EQ(get(0), 0);
	CHECK_EQ(made.steps, 1);
	bed_check(&bed);
	end();
}

static size_t offered, wanted;

static void take_room(struct wort_tree *tree, size_t room)
{
	offered = room;
	tree->priv_bytes = min(room, wanted);
}

/* What an index is offered when it is tended, and wants so much. */
static size_t offer(struct wort_index *index, size_t bytes)
{
	wanted = bytes;
	index->tree.want_tend(&index->tree);
	pmpool_settle();
	return offered;
}

/* The trees of an engine have their room together. */
void check_rebuild_shared_room(void)
{
	struct wort_index *other;
	size_t all;

	begin();
	ops.tend = take_room;
	other = pmpool_index(&bed.pm, "other");
	other->tree.engine = &engine;
	all = bed.pm.region.size >> ops.room_shift;
	offer(other, 0);
	CHECK_EQ(offer(bed.index, all / 4 * 3), all);
	CHECK_EQ(offer(other, all), all / 4);
	CHECK_EQ(offer(bed.index, all), all / 4 * 3);
	CHECK_EQ(offer(bed.index, all / 4), all / 4 * 3);
	CHECK_EQ(offer(other, all), all / 4 * 3);
	wort_index_put(other);
	CHECK_EQ(wort_index_destroy(bed.pm.pool, (const u8 *)"other", 5), 0);
	pmpool_settle();
	CHECK_EQ(offer(bed.index, all), all);
	end();
}
