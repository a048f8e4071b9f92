// SPDX-License-Identifier: GPL-2.0-only
/*
 * What operations cost, exactly: keys are 64-bit integers, values 8 bytes, the
 * pool is fresh.
 */
#include <math.h>

#include "unit.h"

static const char *const names[] = { "dense", "sparse", "clustered" };

/*
 * Flushed lines of an insert, rounded to hundredths.  How many nodes sparse
 * keys need swings with their number: from one power of 16 to the next.
 */
static const double lines_100k[] = { 2.14, 2.75, 2.21 };
static const double lines_million[] = { 2.13, 2.70, 2.21 };

static struct wort_op_stats stats[2][WORT_OP_NR];

/* What was counted since the last call. */
static struct wort_op_stats cost(struct bed *bed, u32 type)
{
	struct wort_op_stats diff;
	u64 *d = (u64 *)&diff, *now = (u64 *)&stats[1][type];
	u64 *last = (u64 *)&stats[0][type];
	u32 i;

	wort_index_stats(bed->index, stats[1]);
	for (i = 0; i < sizeof(diff) / sizeof(u64); i++)
		d[i] = now[i] - last[i];
	memcpy(stats[0], stats[1], sizeof(stats[0]));
	return diff;
}

static void open_counts(struct bed *bed, u64 size)
{
	bed_open(bed, size, 65536);
	memset(stats, 0, sizeof(stats));
}

static void put_key(struct bed *bed, u64 n, u64 value)
{
	u8 key[8];

	key_u64(key, n);
	CHECK_EQ(pm_put(bed->index, key, 8, &value, 8), 0);
}

/* Insert all keys, each under two ordering points. */
static u64 *insert_all(struct bed *bed, enum workload workload, u32 n)
{
	u64 *keys = workload_keys(workload, n, unit_seed);
	struct wort_op_stats one;
	u32 i;

	for (i = 0; i < n; i++) {
		put_key(bed, keys[i], i);
		one = cost(bed, WORT_OP_INSERT);
		CHECK_EQ(one.ops, 1);
		CHECK_EQ(one.ordering_points, 2);
		CHECK_EQ(one.fences, 2);
		CHECK_GE(one.lines, 2);
		CHECK_LE(one.alloc_lines, 2);
		CHECK_GE(one.stores, 4);
	}
	return keys;
}

static double hundredths(u64 sum, u32 n)
{
	return round(100.0 * sum / n) / 100;
}

static void counts_insert(u32 n, u64 size, const double *lines_most)
{
	struct wort_op_stats sum;
	enum workload workload;
	struct bed bed;

	for (workload = 0; workload < ARRAY_SIZE(names); workload++) {
		open_counts(&bed, size);
		free(insert_all(&bed, workload, n));
		sum = stats[1][WORT_OP_INSERT];
		CHECK_EQ(sum.ops, n);
		CHECK_EQ(sum.ordering_points, 2ULL * n);
		CHECK(hundredths(sum.lines, n) <= lines_most[workload]);
		printf("  %-9s %u: %.2f lines, of these %.4f of extents, ",
		       names[workload], n, (double)sum.lines / n,
		       (double)sum.alloc_lines / n);
		printf("%.2f ordering points, %.2f stores\n",
		       (double)sum.ordering_points / n, (double)sum.stores / n);
		bed_check(&bed);
		bed_close(&bed);
	}
}

void check_counts_insert(void)
{
	counts_insert(100000, 64 * MIB, lines_100k);
}

void check_counts_insert_million(void)
{
	counts_insert(1000000, 512 * MIB, lines_million);
}

/* An 8-byte value is replaced by one word. */
void check_counts_update(void)
{
	u64 *keys, old, new;
	struct wort_value want = { .data = &old, .len = 8 };
	struct wort_op_stats one;
	struct bed bed;
	u8 key[8];
	u32 i;

	open_counts(&bed, 16 * MIB);
	keys = insert_all(&bed, WORKLOAD_SPARSE, 20000);
	for (i = 0; i < 20000; i++) {
		key_u64(key, keys[i]);
		new = i * 3;
		old = i;
		CHECK_EQ(unit_put(bed.index, key, 8, &new, 8, 0,
				  i % 2 ? &want : NULL, NULL), 0);
		one = cost(&bed, WORT_OP_UPDATE);
		CHECK_EQ(one.ops, 1);
		CHECK_EQ(one.stores, 1);
		CHECK_EQ(one.lines, 1);
		CHECK_EQ(one.fences, 1);
		CHECK_EQ(one.ordering_points, 1);
		CHECK_EQ(one.alloc_lines, 0);
	}
	free(keys);
	bed_close(&bed);
}

void check_counts_delete(void)
{
	struct wort_op_stats one;
	enum workload workload;
	u64 *keys, rnd = unit_seed;
	struct bed bed;
	u8 key[8];
	u32 i, n = 50000;

	for (workload = 0; workload < ARRAY_SIZE(names); workload++) {
		open_counts(&bed, 64 * MIB);
		keys = insert_all(&bed, workload, n);
		shuffle(keys, n, &rnd);
		for (i = 0; i < n; i++) {
			key_u64(key, keys[i]);
			CHECK_EQ(pm_del(bed.index, key, 8), 0);
			one = cost(&bed, WORT_OP_DELETE);
			CHECK_EQ(one.ops, 1);
			CHECK_EQ(one.ordering_points, 1);
			CHECK_EQ(one.fences, 1);
			CHECK_EQ(one.lines, 1);
			CHECK_EQ(one.stores, 1);
		}
		free(keys);
		bed_close(&bed);
	}
}

/* Nothing that reads stores, flushes or waits; nor does what is refused. */
void check_counts_read(void)
{
	struct wort_scan scan = { .flags = WORT_SCAN_F_COUNT };
	struct wort_op_stats one;
	u64 *keys, value;
	struct bed bed;
	u8 key[8];
	u32 i, len, type;

	open_counts(&bed, 16 * MIB);
	keys = insert_all(&bed, WORKLOAD_CLUSTERED, 20000);
	for (i = 0; i < 20000; i++) {
		key_u64(key, keys[i] ^ (u64)(i % 2) << 63);
		len = 8;
		pm_get(bed.index, key, 8, &value, &len);
		one = cost(&bed, WORT_OP_LOOKUP);
		CHECK_EQ(one.ops, 1);
		CHECK_LE(one.nodes, 16);
		CHECK_LE(one.leaves, 1);
		CHECK_EQ(one.loads, one.nodes + one.leaves);
		CHECK_EQ(one.stores + one.fences + one.lines, 0);
	}
	CHECK_EQ(wort_index_scan(bed.index, &scan), 0);
	key_u64(key, keys[0]);
	CHECK_EQ(unit_put(bed.index, key, 8, &value, 8, WORT_INSERT_F_CREATE,
			  NULL, NULL), -EEXIST);
	CHECK_EQ(unit_put(bed.index, "none", 4, &value, 8,
			  WORT_INSERT_F_REPLACE, NULL, NULL), -ENOENT);
	CHECK_EQ(pm_del(bed.index, "none", 4), -ENOENT);
	for (type = 0; type < WORT_OP_NR; type++) {
		one = cost(&bed, type);
		if (type != WORT_OP_LOOKUP)
			CHECK_EQ(one.stores + one.fences + one.lines, 0);
	}
	free(keys);
	bed_close(&bed);
}

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
		depth = max(depth, (u64)cost(bed, WORT_OP_LOOKUP).nodes);
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
	return cost(bed, WORT_OP_SCAN).nodes;
}

/* Step through all records; nodes visited. */
static u64 step_all(struct bed *bed, u32 n, u32 flags)
{
	struct wort_scan scan = { .flags = WORT_SCAN_F_COUNT | flags };

	CHECK_EQ(wort_index_scan(bed->index, &scan), 0);
	CHECK_EQ(scan.count, n);
	return cost(bed, WORT_OP_SCAN).nodes;
}

static bool counts_seek(enum workload workload, u32 n)
{
	u64 *keys, rnd = unit_seed, r, depth, nodes, most = 0, sum = 0;
	double fore, back;
	struct bed bed;
	u32 i;

	open_counts(&bed, 64 * MIB);
	keys = insert_all(&bed, workload, n);
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
void check_counts_seek(void)
{
	bool within = counts_seek(WORKLOAD_DENSE, 50000);

	within &= counts_seek(WORKLOAD_SPARSE, 50000);
	within &= counts_seek(WORKLOAD_CLUSTERED, 50000);
	CHECK(within);
}

/* A device whose caches are persistent: fences, no flush to wait for. */
void check_counts_off(void)
{
	struct wort_op_stats one;
	struct bed bed;
	u64 i;

	open_counts(&bed, MIB);
	bed.pm.region.flush = false;
	for (i = 0; i < 1000; i++) {
		put_key(&bed, i, i);
		one = cost(&bed, WORT_OP_INSERT);
		CHECK_EQ(one.lines, 0);
		CHECK_EQ(one.ordering_points, 0);
		CHECK_EQ(one.fences, 2);
	}
	bed_check(&bed);
	bed_close(&bed);
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
	struct wort_op_stats one = cost(bed, type);

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
	CHECK_EQ(cost(bed, WORT_OP_LOOKUP).fences, 0);
	CHECK_EQ(wort_index_scan(bed->index, &scan), 0);
	CHECK_EQ(cost(bed, WORT_OP_SCAN).fences, 0);
	memcpy(buf, &op, sizeof(op));
	memcpy(buf + sizeof(op), key, sizeof(key));
	batch.ops_len = op.rec_len;
	CHECK_EQ(wort_index_batch(bed->index, &batch), 0);
	CHECK_EQ(batch.failed, 0);
	CHECK_EQ(cost(bed, WORT_OP_LOOKUP).lines, 0);
}

/* What an answer rests on is durable before it is given, whoever stored it. */
void check_counts_in_flight(void)
{
	struct wort_scan scan = { .flags = WORT_SCAN_F_COUNT };
	u8 key[8], buf[64];
	struct bed bed;
	u64 i;

	open_counts(&bed, MIB);
	for (i = 0; i < 100; i++)
		put_key(&bed, 7 * i, i);
	cost(&bed, WORT_OP_INSERT);
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
	put_key(&bed, 15, 15);
	settled(&bed, WORT_OP_INSERT, 2);
	mark_all(&bed);
	put_key(&bed, 15, 16);
	settled(&bed, WORT_OP_UPDATE, 2);
	mark_all(&bed);
	key_u64(key, 15);
	CHECK_EQ(pm_del(bed.index, key, sizeof(key)), 0);
	settled(&bed, WORT_OP_DELETE, 2);
	mark_all(&bed);
	relaxed(&bed, 14);
	bed.pm.region.flush = false;
	look_up(&bed, 14, 0);
	CHECK_EQ(cost(&bed, WORT_OP_LOOKUP).fences, 0);
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
	struct wort_op_stats sum = cost(bed, type);

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
void check_counts_batch(void)
{
	struct bed bed;
	u64 i, n;

	open_counts(&bed, 4 * MIB);
	for (i = 0; i < 256; i++)
		put_key(&bed, i << 56, i);
	n = cost(&bed, WORT_OP_INSERT).ops;
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
	CHECK_EQ(cost(&bed, WORT_OP_INSERT).fences, 2);
	bed_check(&bed);
	bed_close(&bed);
}

static u64 ops_of(struct wort_index *index, struct wort_op_stats *stats)
{
	u64 sum = 0;
	u32 i;

	wort_index_stats(index, stats);
	for (i = 0; i < WORT_OP_NR; i++)
		sum += stats[i].ops;
	return sum;
}

static void use_once(struct wort_index *index, u64 nr)
{
	u32 len = 8;
	u64 val;

	CHECK_EQ(pm_put(index, &nr, 8, &nr, 8), 0);
	CHECK_EQ(pm_put(index, &nr, 8, "longer than a word", 18), 0);
	CHECK_EQ(pm_get(index, &nr, 8, &val, &len), -ERANGE);
	CHECK_EQ(pm_put(index, &nr, 8, &nr, 8), 0);
	CHECK_EQ(pm_get(index, "none", 4, &val, &len), -ENOENT);
	len = 8;
	CHECK_EQ(pm_get(index, &nr, 8, &val, &len), 0);
	CHECK_EQ(pm_del(index, &nr, 8), 0);
}

/* Of an index that nobody has open only sums are kept, and all of them. */
void check_counts_closed(void)
{
	struct wort_op_stats before[WORT_OP_NR], after[WORT_OP_NR];
	struct wort_index *index, *again;
	struct bed bed;
	u64 nr;

	bed_open(&bed, MIB, 4096);
	index = pmpool_index(&bed.pm, "u");
	for (nr = 0; nr < 10; nr++) {
		use_once(index, nr);
		again = pmpool_index(&bed.pm, "u");
		CHECK(again == index);
		CHECK_EQ(ops_of(index, before), 7 * (nr + 1));
		wort_index_put(again);
		CHECK(index->stats);
		wort_index_put(index);
		CHECK(!index->stats);
		again = pmpool_index(&bed.pm, "u");
		CHECK(again == index);
		CHECK_EQ(ops_of(index, after), 7 * (nr + 1));
		CHECK(!memcmp(before, after, sizeof(before)));
	}
	wort_index_put(index);
	bed_check(&bed);
	bed_close(&bed);
}
