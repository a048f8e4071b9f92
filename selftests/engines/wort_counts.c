// SPDX-License-Identifier: GPL-2.0-only
/*
 * What operations of WORT cost, exactly, where the table of costs is too coarse.
 */
#include "../unit/counts.h"
#include "wort_tests.h"

static const char *const names[] = { "dense", "sparse", "clustered" };

/* The most nodes that a lookup of a key that is there visits. */
static u64 depth_of(struct bed *bed, const u64 *keys, u32 n)
{
	u64 value, depth = 0;
	u32 i, len;
	u8 key[8];

	for (i = 0; i < n; i++) {
		key_u64(key, keys[i]);
		len = 8;
		CHECK_EQ(pm_get(bed->index, key, 8, &value, &len), 0);
		depth = max(depth, (u64)count_cost(bed, WORT_OP_LOOKUP).nodes);
	}
	return depth;
}

/* One record from a key on, which may be there or not; nodes visited. */
static u64 seek(struct bed *bed, u64 n, u32 flags)
{
	u8 key[8], buf[64];
	struct wort_key start = { key, 8 };
	struct wort_scan scan = {
		.flags = flags, .max = 1, .start = &start,
		.buf = buf, .buf_len = sizeof(buf),
	};

	key_u64(key, n);
	CHECK_EQ(wort_index_scan(bed->index, &scan), 0);
	return count_cost(bed, WORT_OP_SCAN).nodes;
}

/* Step through all records; nodes visited. */
static u64 step_all(struct bed *bed, u32 n, u32 flags)
{
	struct wort_scan scan = { .flags = WORT_SCAN_F_COUNT | flags };

	CHECK_EQ(wort_index_scan(bed->index, &scan), 0);
	CHECK_EQ(scan.count, n);
	return count_cost(bed, WORT_OP_SCAN).nodes;
}

static bool counts_seek(enum workload workload, u32 n)
{
	u64 *keys, rnd = unit_seed, r, depth, nodes, most = 0, sum = 0;
	double fore, back;
	struct bed bed;
	u32 i;

	count_open(&bed, 64 * MIB);
	keys = count_insert_all(&bed, workload, n);
	depth = depth_of(&bed, keys, n);
	for (i = 0; i < n; i++) {
		r = test_random(&rnd);
		nodes = seek(&bed, keys[i] + (i % 4 ? 1ULL << r % 64 : 0),
			     r >> 32 & WORT_SCAN_F_REVERSE);
		CHECK_LE(nodes, 3 * depth);
		most = max(most, nodes);
		sum += nodes;
	}
	fore = (double)step_all(&bed, n, 0) / n;
	back = (double)step_all(&bed, n, WORT_SCAN_F_REVERSE) / n;
	CHECK(fore <= 2 && back <= 2);
	printf("  %-9s %u: depth %llu, a seek visits %llu nodes at most, ",
	       names[workload], n, (unsigned long long)depth,
	       (unsigned long long)most);
	printf("%.2f on average, a step %.2f, %.2f backwards\n",
	       (double)sum / n, fore, back);
	free(keys);
	bed_close(&bed);
	return most <= 2 * depth;
}

/*
 * A seek of a key that is not there goes down to where it would be, up again
 * and down on the right side of it; a step visits two nodes on average.
 */
void check_wort_counts_seek(void)
{
	bool within = counts_seek(WORKLOAD_DENSE, 50000);

	within &= counts_seek(WORKLOAD_SPARSE, 50000);
	within &= counts_seek(WORKLOAD_CLUSTERED, 50000);
	CHECK(within);
}

/* As if each unit held a word that another one has stored and not fenced yet. */
static void mark_all(struct bed *bed)
{
	memset(bed->pm.pool->locks.in_flight, 1,
	       WORT_NR_LOCKS * sizeof(*bed->pm.pool->locks.in_flight));
}

static void look_up(struct bed *bed, u64 n, int want)
{
	u8 key[8];
	u64 value;
	u32 len = sizeof(value);

	key_u64(key, n);
	CHECK_EQ(pm_get(bed->index, key, sizeof(key), &value, &len), want);
}

static int create(struct bed *bed, u64 n)
{
	u8 key[8];
	struct wort_put put = {
		.key = { key, sizeof(key) },
		.value = { key, sizeof(key) },
		.create = true,
	};

	key_u64(key, n);
	return wort_index_insert(bed->index, &put);
}

/* A word of each node, the value, and the slot of the tree. */
static void settled(struct bed *bed, u32 type, u64 ordering_points)
{
	struct wort_op_stats one = count_cost(bed, type);

	CHECK_EQ(one.ordering_points, ordering_points);
	CHECK_EQ(one.fences, ordering_points);
	if (type == WORT_OP_LOOKUP)
		CHECK_EQ(one.lines, 1 + one.nodes + one.leaves);
	CHECK_GE(one.lines, 1 + one.nodes);
}

/* Unless whoever asks does not mind: then nothing is flushed, nor waited for. */
static void relaxed(struct bed *bed, u64 n)
{
	u8 key[8], buf[64];
	u64 value;
	struct wort_key k = { key, sizeof(key) };
	struct wort_buf answer = {
		.data = &value, .size = sizeof(value), .relaxed = true,
	};
	struct wort_scan scan = {
		.flags = WORT_SCAN_F_COUNT, .relaxed = true,
		.buf = buf, .buf_len = sizeof(buf),
	};
	struct wort_batch batch = {
		.ops = buf, .nr_ops = 1, .results = buf + 32, .results_size = 32,
		.relaxed = true,
	};
	struct wort_batch_op op = {
		.rec_len = 32, .op = WORT_BATCH_LOOKUP, .key_len = 8,
		.max_len = 8,
	};

	key_u64(key, n);
	CHECK_EQ(wort_index_lookup(bed->index, &k, &answer), 0);
	CHECK_EQ(count_cost(bed, WORT_OP_LOOKUP).fences, 0);
	CHECK_EQ(wort_index_scan(bed->index, &scan), 0);
	CHECK_EQ(count_cost(bed, WORT_OP_SCAN).fences, 0);
	memcpy(buf, &op, sizeof(op));
	memcpy(buf + sizeof(op), key, sizeof(key));
	batch.ops_len = op.rec_len;
	CHECK_EQ(wort_index_batch(bed->index, &batch), 0);
	CHECK_EQ(batch.failed, 0);
	CHECK_EQ(count_cost(bed, WORT_OP_LOOKUP).lines, 0);
}

/* What an answer rests on is durable before it is given, whoever stored it. */
void check_wort_counts_in_flight(void)
{
	struct wort_scan scan = { .flags = WORT_SCAN_F_COUNT };
	u8 key[8], buf[64];
	struct bed bed;
	u64 i;

	count_open(&bed, MIB);
	for (i = 0; i < 100; i++)
		count_put(&bed, 7 * i, i);
	count_cost(&bed, WORT_OP_INSERT);
	mark_all(&bed);
	look_up(&bed, 14, 0);
	settled(&bed, WORT_OP_LOOKUP, 1);
	look_up(&bed, 15, -ENOENT);
	settled(&bed, WORT_OP_LOOKUP, 1);
	CHECK_EQ(create(&bed, 14), -EEXIST);
	settled(&bed, WORT_OP_INSERT, 1);
	scan.buf = buf;
	scan.buf_len = sizeof(buf);
	CHECK_EQ(wort_index_scan(bed.index, &scan), 0);
	settled(&bed, WORT_OP_SCAN, 1);
	mark_all(&bed);
	count_put(&bed, 15, 15);
	settled(&bed, WORT_OP_INSERT, 2);
	mark_all(&bed);
	count_put(&bed, 15, 16);
	settled(&bed, WORT_OP_UPDATE, 2);
	mark_all(&bed);
	key_u64(key, 15);
	CHECK_EQ(pm_del(bed.index, key, sizeof(key)), 0);
	settled(&bed, WORT_OP_DELETE, 2);
	mark_all(&bed);
	relaxed(&bed, 14);
	bed.pm.region.flush = false;
	look_up(&bed, 14, 0);
	CHECK_EQ(count_cost(&bed, WORT_OP_LOOKUP).fences, 0);
	bed_close(&bed);
}

static void delete_one(struct bed *bed, u64 n, u64 nodes, u64 loads)
{
	u64 before = count_fast(bed, WORT_OP_DELETE);
	struct wort_op_stats one;
	u8 key[8];

	key_u64(key, n);
	CHECK_EQ(pm_del(bed->index, key, sizeof(key)), 0);
	one = count_cost(bed, WORT_OP_DELETE);
	CHECK_EQ(count_fast(bed, WORT_OP_DELETE), before + 1);
	CHECK_EQ(one.ops, 1);
	CHECK_EQ(one.stores, 1);
	CHECK_EQ(one.lines, 1);
	CHECK_EQ(one.ordering_points, 1);
	CHECK_EQ(one.fences, 1);
	CHECK_EQ(one.nodes, nodes);
	CHECK_EQ(one.loads, loads);
}

static void set_damaged(struct bed *bed, bool damaged)
{
	mutex_lock(&bed->index->lock);
	wort_index_set_damaged(bed->index, damaged);
	mutex_unlock(&bed->index->lock);
}

/*
 * The fast path clears a slot, merges a node away, and clears the root record.  It reads
 * the second line of a node only if the first one has fewer than two other entries.
 */
void check_wort_counts_removal(void)
{
	struct bed bed;
	u8 key[8];
	u64 i;

	count_open(&bed, MIB);
	for (i = 0; i < 3; i++)
		count_put(&bed, i, i);
	count_put(&bed, 9, 9);
	delete_one(&bed, 0, 1, 2);
	delete_one(&bed, 9, 1, 3);
	delete_one(&bed, 1, 1, 3);
	look_up(&bed, 2, 0);
	key_u64(key, 2);
	set_damaged(&bed, true);
	CHECK_EQ(pm_del(bed.index, key, sizeof(key)), -EROFS);
	set_damaged(&bed, false);
	delete_one(&bed, 2, 0, 1);
	look_up(&bed, 2, -ENOENT);
	bed_check(&bed);
	bed_close(&bed);
}

#define BATCH	64

/* Keys that part from what is there, and from each other, in different nodes. */
static void batch(struct bed *bed, u16 op, u8 second, u64 value)
{
	static u8 ops[64 * BATCH], results[32 * BATCH];
	struct wort_batch b = {
		.ops = ops, .results = results, .write = true,
		.results_size = sizeof(results), .nr_ops = BATCH,
	};
	u32 i;

	for (i = 0; i < BATCH; i++) {
		u8 key[8] = { 3 * i, second };

		b.ops_len += pm_pack(ops + b.ops_len, op, key, sizeof(key),
				     &value,
				     op == WORT_BATCH_INSERT ? 8 : 0);
	}
	CHECK_EQ(wort_index_batch(bed->index, &b), 0);
	CHECK_EQ(b.done, BATCH);
	CHECK_EQ(b.failed, 0);
}

static void batch_cost(struct bed *bed, u32 type, u64 ordering_points,
		       u64 lines)
{
	struct wort_op_stats sum = count_cost(bed, type);

	CHECK_EQ(sum.ops, BATCH);
	CHECK_EQ(sum.fences, ordering_points);
	CHECK_EQ(sum.ordering_points, ordering_points);
	CHECK_EQ(sum.lines, lines);
}

/*
 * Changes of different slots: two ordering points, however many they are, and
 * one for those that link nothing in.  What shares a line shares its flush: two
 * leaves, and words of one node.
 */
void check_wort_counts_batch(void)
{
	struct bed bed;
	u64 i, n;

	count_open(&bed, 4 * MIB);
	for (i = 0; i < 256; i++)
		count_put(&bed, i << 56, i);
	n = count_cost(&bed, WORT_OP_INSERT).ops;
	CHECK_EQ(n, 256);
	batch(&bed, WORT_BATCH_INSERT, 1, 1);
	batch_cost(&bed, WORT_OP_INSERT, 2, 32 + 2 * BATCH + 24);
	batch(&bed, WORT_BATCH_INSERT, 1, 2);
	batch_cost(&bed, WORT_OP_UPDATE, 1, 32);
	batch(&bed, WORT_BATCH_INSERT, 2, 1);
	batch_cost(&bed, WORT_OP_INSERT, 2, 32 + BATCH);
	batch(&bed, WORT_BATCH_DELETE, 2, 0);
	batch_cost(&bed, WORT_OP_DELETE, 1, BATCH);
	bed.pm.region.flush = false;
	batch(&bed, WORT_BATCH_INSERT, 3, 1);
	CHECK_EQ(count_cost(&bed, WORT_OP_INSERT).fences, 2);
	bed_check(&bed);
	bed_close(&bed);
}
