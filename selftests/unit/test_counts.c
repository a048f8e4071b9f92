// SPDX-License-Identifier: GPL-2.0-only
/*
 * What operations cost, exactly, by the engine's table: keys are 64-bit integers, values
 * 8 bytes, the pool is fresh.
 */
#include <math.h>

#include "counts.h"

static const char *const names[] = { "dense", "sparse", "clustered" };

static struct wort_op_stats stats[2][WORT_OP_NR];

struct wort_op_stats count_cost(struct bed *bed, u32 type)
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

struct wort_op_stats count_sum(u32 type)
{
	return stats[1][type];
}

u64 count_fast(const struct bed *bed, u32 type)
{
	const struct wort_fast_ops *fast = bed->index->tree.engine->fast_ops;
	u32 class, nodes;
	u64 nr = 0;

	for (class = 0; fast && class < WORT_COST_CLASSES; class++)
		for (nodes = 0; nodes < WORT_FAST_NODES; nodes++)
			if (fast->class[class].type == type)
				nr += bed->index->stats->fast[1][class][nodes];
	return nr;
}

void count_open(struct bed *bed, u64 size)
{
	bed_open(bed, size, 65536);
	memset(stats, 0, sizeof(stats));
}

void count_put(struct bed *bed, u64 n, u64 value)
{
	u8 key[8];

	key_u64(key, n);
	CHECK_EQ(pm_put(bed->index, key, 8, &value, 8), 0);
}

void count_verify(const struct wort_op_stats *one,
		  const struct engine_cost *cost)
{
	CHECK_EQ(one->ops, 1);
	CHECK_EQ(one->fences, one->ordering_points);
	CHECK_GE(one->fences, cost->fences[0]);
	CHECK_LE(one->fences, cost->fences[1]);
	CHECK_GE(one->lines - one->alloc_lines, cost->lines[0]);
	CHECK_LE(one->lines - one->alloc_lines, cost->lines[1]);
	/* An extent is opened with one word, and that word takes one line. */
	CHECK_GE(one->stores - one->alloc_lines, cost->stores[0]);
	CHECK_LE(one->stores - one->alloc_lines, cost->stores[1]);
	CHECK_LE(one->alloc_lines, subject.unit->steps ? 4 : 2);
}

u64 *count_insert_all(struct bed *bed, enum workload workload, u32 n)
{
	u64 *keys = workload_keys(workload, n, unit_seed);
	struct wort_op_stats one;
	u32 i;

	for (i = 0; i < n; i++) {
		count_put(bed, keys[i], i);
		one = count_cost(bed, WORT_OP_INSERT);
		count_verify(&one, &subject.unit->insert);
	}
	return keys;
}

/* @most: on average and in hundredths, or 0; with the usual attributes */
static void verify_average(u64 sum, u32 n, u32 most)
{
	CHECK(!most || subject.attr || round(100.0 * sum / n) <= most);
}

/* @most: lines on average and in hundredths, or 0 */
static void insert_workload(enum workload workload, u32 n, u64 size, u32 most)
{
	struct wort_op_stats sum;
	struct bed bed;

	count_open(&bed, size);
	free(count_insert_all(&bed, workload, n));
	sum = count_sum(WORT_OP_INSERT);
	CHECK_EQ(sum.ops, n);
	verify_average(sum.lines, n, most);
	verify_average(sum.ordering_points, n, subject.unit->points_insert);
	printf("  %-9s %u: %.2f lines, of these %.4f of extents, ",
	       names[workload], n, (double)sum.lines / n,
	       (double)sum.alloc_lines / n);
	printf("%.2f ordering points, %.2f stores\n",
	       (double)sum.ordering_points / n, (double)sum.stores / n);
	bed_check(&bed);
	bed_close(&bed);
}

static void counts_insert(u32 nr, u64 size, const u32 *most)
{
	u32 n = subject_records(nr);
	enum workload workload;

	for (workload = 0; workload < WORKLOAD_NR; workload++)
		insert_workload(workload, n, size, n == nr ? most[workload] : 0);
}

void check_counts_insert(void)
{
	counts_insert(100000, 64 * MIB, subject.unit->lines_many);
}

void check_counts_insert_million(void)
{
	counts_insert(1000000, 512 * MIB, subject.unit->lines_million);
}

void check_counts_update(void)
{
	u32 i, n = subject_records(20000);
	u64 *keys, old, new;
	struct wort_value want = { .data = &old, .len = 8 };
	struct wort_op_stats one;
	struct bed bed;
	u8 key[8];

	count_open(&bed, 16 * MIB);
	keys = count_insert_all(&bed, WORKLOAD_SPARSE, n);
	for (i = 0; i < n; i++) {
		key_u64(key, keys[i]);
		new = i * 3;
		old = i;
		CHECK_EQ(unit_put(bed.index, key, 8, &new, 8, 0,
				  i % 2 ? &want : NULL, NULL), 0);
		one = count_cost(&bed, WORT_OP_UPDATE);
		count_verify(&one, &subject.unit->update);
	}
	free(keys);
	bed_close(&bed);
}

void check_counts_delete(void)
{
	u32 i, n = subject_records(50000);
	struct wort_op_stats one, sum;
	enum workload workload;
	u64 *keys, rnd = unit_seed;
	struct bed bed;
	u8 key[8];

	for (workload = 0; workload < WORKLOAD_NR; workload++) {
		count_open(&bed, 64 * MIB);
		keys = count_insert_all(&bed, workload, n);
		shuffle(keys, n, &rnd);
		for (i = 0; i < n; i++) {
			key_u64(key, keys[i]);
			CHECK_EQ(pm_del(bed.index, key, 8), 0);
			one = count_cost(&bed, WORT_OP_DELETE);
			count_verify(&one, &subject.unit->delete);
		}
		sum = count_sum(WORT_OP_DELETE);
		verify_average(sum.ordering_points, n, subject.unit->points_delete);
		printf("  %-9s %u deletes: %.2f ordering points, %.2f lines\n",
		       names[workload], n, (double)sum.ordering_points / n,
		       (double)sum.lines / n);
		free(keys);
		bed_close(&bed);
	}
}

/* Look up a key, present or absent. */
static void count_lookup(struct bed *bed, u64 n)
{
	const struct engine_unit *unit = subject.unit;
	struct wort_op_stats one;
	u32 len = 8;
	u64 value;
	u8 key[8];

	key_u64(key, n);
	pm_get(bed->index, key, 8, &value, &len);
	one = count_cost(bed, WORT_OP_LOOKUP);
	CHECK_EQ(one.ops, 1);
	CHECK(!unit->nodes || one.nodes <= unit->nodes);
	CHECK(!unit->leaves || one.leaves <= unit->leaves);
	CHECK_EQ(one.loads, one.nodes + one.leaves);
	CHECK_EQ(one.stores + one.fences + one.lines, 0);
}

/* Reads store, flush and fence nothing; nor do changes that are refused. */
void check_counts_read(void)
{
	struct wort_scan scan = { .flags = WORT_SCAN_F_COUNT };
	u32 i, type, n = subject_records(20000);
	struct wort_op_stats one;
	u64 *keys, value = 0;
	struct bed bed;
	u8 key[8];

	count_open(&bed, 16 * MIB);
	keys = count_insert_all(&bed, WORKLOAD_CLUSTERED, n);
	for (i = 0; i < n; i++)
		count_lookup(&bed, keys[i] ^ (u64)(i % 2) << 63);
	CHECK_EQ(wort_index_scan(bed.index, &scan), 0);
	key_u64(key, keys[0]);
	CHECK_EQ(unit_put(bed.index, key, 8, &value, 8, WORT_INSERT_F_CREATE,
			  NULL, NULL), -EEXIST);
	CHECK_EQ(unit_put(bed.index, "none", 4, &value, 8,
			  WORT_INSERT_F_REPLACE, NULL, NULL), -ENOENT);
	CHECK_EQ(pm_del(bed.index, "none", 4), -ENOENT);
	for (type = 0; type < WORT_OP_NR; type++) {
		one = count_cost(&bed, type);
		if (type != WORT_OP_LOOKUP)
			CHECK_EQ(one.stores + one.fences + one.lines, 0);
	}
	free(keys);
	bed_close(&bed);
}

/* A device whose caches are persistent: fences, no flush to wait for. */
void check_counts_off(void)
{
	struct wort_op_stats one;
	struct bed bed;
	u64 i;

	count_open(&bed, MIB);
	bed.pm.region.flush = false;
	for (i = 0; i < 1000; i++) {
		count_put(&bed, i, i);
		one = count_cost(&bed, WORT_OP_INSERT);
		CHECK_EQ(one.lines, 0);
		CHECK_EQ(one.ordering_points, 0);
		CHECK_GE(one.fences, subject.unit->insert.fences[0]);
		CHECK_LE(one.fences, subject.unit->insert.fences[1]);
	}
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

void count_expect(struct bed *bed, u32 type, u64 ops, u64 ordering_points, u64 lines,
		  u64 stores)
{
	struct wort_op_stats sum = count_cost(bed, type);

	CHECK_EQ(sum.ops, ops);
	CHECK_EQ(sum.fences, ordering_points);
	CHECK_EQ(sum.ordering_points, ordering_points);
	CHECK_EQ(sum.lines, lines);
	CHECK_EQ(sum.stores, stores);
}

/* Few slots are free here and there: they are found without an operation, too. */
void check_counts_refill(void)
{
	const u32 n = subject_records(4096), every = 32;
	u32 i, nr = 0;
	struct bed bed;
	u64 before;
	u8 key[8];

	count_open(&bed, 4 * MIB);
	for (i = 0; i < n; i++)
		count_put(&bed, i, i);
	for (i = 0; i < n; i += every) {
		key_u64(key, i);
		CHECK_EQ(pm_del(bed.index, key, sizeof(key)), 0);
	}
	pmpool_settle();
	before = count_fast(&bed, WORT_OP_INSERT);
	for (i = 0; i < n; i += every, nr++)
		count_put(&bed, i, i);
	/* An engine without classes of puts tells nothing. */
	if (before)
		CHECK_GE(count_fast(&bed, WORT_OP_INSERT) - before, nr * 9 / 10);
	bed_check(&bed);
	bed_close(&bed);
}

void count_batch_of(struct bed *bed, u16 op, const u32 *keys, u32 nr, u32 value_len)
{
	static u8 ops[(COUNT_VALUE_MAX + 64) * COUNT_BATCH_MAX];
	static u8 results[32 * COUNT_BATCH_MAX];
	static const u8 value[COUNT_VALUE_MAX] = "value";
	struct wort_batch b = {
		.ops = ops, .results = results, .write = true,
		.results_size = sizeof(results), .nr_ops = nr,
	};
	u8 key[8];
	u32 i;

	for (i = 0; i < nr; i++) {
		key_u64(key, keys[i]);
		b.ops_len += pm_pack(ops + b.ops_len, op, key, sizeof(key), value,
				     value_len);
	}
	CHECK_EQ(wort_index_batch(bed->index, &b), 0);
	CHECK_EQ(b.done, nr);
	CHECK_EQ(b.failed, 0);
}

void count_batch(struct bed *bed, u16 op, u32 first, u32 nr, u32 value_len)
{
	u32 keys[COUNT_BATCH_MAX], i;

	for (i = 0; i < nr; i++)
		keys[i] = first + i;
	count_batch_of(bed, op, keys, nr, value_len);
}
