// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an operation costs natively: the portable layers on plain memory with
 * huge pages, one thread, against the floor of two ordering points that an
 * insert of WORT has, measured in turns in the same run.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <linux/libnvdimm.h>

#include "median.h"
#include "pmpool.h"

#define MAX_REPS	25

enum workload { DENSE, SPARSE, CLUSTERED, NR_WORKLOADS };

static const char *const names[] = { "dense", "sparse", "clustered" };

static u64 nr_keys = 1000000;
static u32 reps = 5;
static bool mcsafe;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/*
 * Dense: 1..N.  Sparse: uniform.  Clustered: clusters of 64 neighbours at
 * evenly spread places.  In random order, as 8 big endian bytes.
 */
static u64 *make_keys(enum workload workload, u64 seed)
{
	u64 *keys = malloc(nr_keys * sizeof(*keys)), i, j, tmp;

	for (i = 0; i < nr_keys; i++)
		keys[i] = workload == DENSE ? i + 1 :
			  workload == SPARSE ? test_random(&seed) :
			  i / 64 * (U64_MAX / (nr_keys / 64 + 1)) + i % 64;
	for (i = nr_keys - 1; i > 0; i--) {
		j = test_random(&seed) % (i + 1);
		tmp = keys[i];
		keys[i] = keys[j];
		keys[j] = tmp;
	}
	for (i = 0; i < nr_keys; i++)
		keys[i] = __builtin_bswap64(keys[i]);
	return keys;
}

/* Two lines, each flushed and fenced: what an insert has to wait for. */
static double measure_floor(struct pmpool *pm)
{
	u64 half = pm->region.size / 2, i, seed = 42;
	volatile u64 *a, *b;
	double begin = now();

	for (i = 0; i < nr_keys; i++) {
		a = pm->region.base + i * 32 % half;
		b = pm->region.base + half + test_random(&seed) % half / 64 * 64;
		*a = i;
		arch_wb_cache_pmem((void *)a, 8);
		pmem_wmb();
		*b = i;
		arch_wb_cache_pmem((void *)b, 8);
		pmem_wmb();
	}
	return (now() - begin) / nr_keys;
}

static double measure_insert(struct wort_index *index, const u64 *keys)
{
	double begin = now();
	u64 i;

	for (i = 0; i < nr_keys; i++) {
		int err = pm_put(index, &keys[i], 8, &keys[i], 8);

		if (err)
			die("insert: %d", err);
	}
	return (now() - begin) / nr_keys;
}

#define BATCH_OPS	64

static double measure_batch(struct wort_index *index, const u64 *keys)
{
	static u8 ops[64 * BATCH_OPS], results[32 * BATCH_OPS];
	double begin = now();
	u64 i = 0;

	while (i < nr_keys) {
		struct wort_batch batch = {
			.ops = ops, .results = results, .write = true,
			.results_size = sizeof(results),
			.nr_ops = min_t(u64, BATCH_OPS, nr_keys - i),
		};
		u32 j;

		for (j = 0; j < batch.nr_ops; j++)
			batch.ops_len += pm_pack(ops + batch.ops_len,
						 WORT_BATCH_INSERT,
						 &keys[i + j], 8, &keys[i + j],
						 8);
		if (wort_index_batch(index, &batch) || batch.failed)
			die("a batch fails");
		i += batch.nr_ops;
	}
	return (now() - begin) / nr_keys;
}

static double measure_lookup(struct wort_index *index, const u64 *keys)
{
	double begin = now();
	u64 i, value;

	for (i = 0; i < nr_keys; i++) {
		u32 len = sizeof(value);

		if (pm_get(index, &keys[i], 8, &value, &len) ||
		    value != keys[i])
			die("lookup gives another value");
	}
	return (now() - begin) / nr_keys;
}

static double measure_look(struct wort_index *index, const u64 *keys)
{
	struct wort_reader reader;
	u64 i, value, retries = 0;
	double begin;

	pm_reader(index, &reader);
	begin = now();
	for (i = 0; i < nr_keys; i++) {
		size_t len = sizeof(value);

		if (wort_reader_get(&reader, &keys[i], 8, &value, &len,
				    &retries) || value != keys[i])
			die("a lookup in a mapping gives another value");
	}
	return (now() - begin) / nr_keys;
}

static double measure_delete(struct wort_index *index, const u64 *keys)
{
	double begin = now();
	u64 i;

	for (i = 0; i < nr_keys; i++) {
		if (pm_del(index, &keys[i], 8))
			die("delete fails");
		while (shim_run_work())
			;
	}
	return (now() - begin) / nr_keys;
}

static double median(double *values)
{
	return median_of(values, reps);
}

static void print_counts(struct wort_index *index)
{
	static const char *const ops[] = { "lookup", "insert", NULL, "delete" };
	struct wort_op_stats stats[WORT_OP_NR], *s;
	u32 i;

	wort_index_stats(index, stats);
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		s = &stats[i];
		if (!ops[i] || !s->ops)
			continue;
		printf("    %-7s ordering points %.2f  lines %.2f (extent table %.4f)  stores %.2f  fences %.2f  nodes %.2f  leaves %.2f  lines loaded %.2f\n",
		       ops[i], (double)s->ordering_points / s->ops,
		       (double)s->lines / s->ops,
		       (double)s->alloc_lines / s->ops,
		       (double)s->stores / s->ops, (double)s->fences / s->ops,
		       (double)s->nodes / s->ops, (double)s->leaves / s->ops,
		       (double)s->loads / s->ops);
	}
}

static struct wort_index *open_empty(struct pmpool *pm)
{
	pmpool_format(pm, 0);
	pmpool_attach(pm);
	pmpool_settle();
	return pmpool_index(pm, "bench");
}

static void close_index(struct pmpool *pm, struct wort_index *index)
{
	wort_index_put(index);
	pmpool_detach(pm);
}

static void run(struct pmpool *pm, enum workload workload, u64 seed)
{
	double floor[MAX_REPS], insert[MAX_REPS], lookup[MAX_REPS];
	double ratio[MAX_REPS], remove[MAX_REPS], batch[MAX_REPS];
	double share[MAX_REPS], look[MAX_REPS], bytes = 0;
	struct wort_pool_info_arg info;
	u64 *keys = make_keys(workload, seed);
	struct wort_index *index;
	u32 i;

	for (i = 0; i < reps; i++) {
		floor[i] = measure_floor(pm);
		index = open_empty(pm);
		insert[i] = measure_insert(index, keys);
		lookup[i] = measure_lookup(index, keys);
		look[i] = measure_look(index, keys);
		wort_pool_info(pm->pool, &info);
		bytes = (double)(info.out_nr_extents - info.out_free_extents) *
			info.out_extent_size / nr_keys;
		ratio[i] = insert[i] / floor[i];
		remove[i] = measure_delete(index, keys);
		if (i + 1 == reps)
			print_counts(index);
		close_index(pm, index);
		index = open_empty(pm);
		batch[i] = measure_batch(index, keys);
		share[i] = batch[i] / insert[i];
		if (i + 1 == reps)
			print_counts(index);
		close_index(pm, index);
	}
	printf("%-10s floor %4.0f  insert %4.0f (%.2f x floor)  in batches of %u %4.0f (%.2f x insert)  lookup %4.0f  in a mapping %4.0f  delete %4.0f ns  %.1f bytes/key\n",
	       names[workload], median(floor), median(insert), median(ratio),
	       BATCH_OPS, median(batch), median(share),
	       median(lookup), median(look), median(remove), bytes);
	fflush(stdout);
	free(keys);
}

static void print_machine(u64 seed)
{
	static const char *const flush[] = { "clwb", "clflushopt", "clflush" };
	char line[256];
	FILE *f = fopen("/proc/cpuinfo", "r");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "model name", 10)) {
			printf("processor%s", strchr(line, ':'));
			break;
		}
	if (f)
		fclose(f);
	printf("memory: plain DRAM, huge pages; no latency added\n"
	       "flush: %s, sfence; one thread, no locks, thread CPU time\n"
	       "%llu keys of 8 bytes, 8-byte values, seed %llu, medians of %u turns\n",
	       flush[shim_flush], (unsigned long long)nr_keys,
	       (unsigned long long)seed, reps);
}

int main(int argc, char **argv)
{
	enum workload workload;
	u64 seed = 88172645463325252ULL;
	struct pmpool pm;
	int opt;

	while ((opt = getopt(argc, argv, "mn:r:s:")) >= 0) {
		if (opt == 'n')
			nr_keys = strtoull(optarg, NULL, 0);
		else if (opt == 'r')
			reps = strtoul(optarg, NULL, 0);
		else if (opt == 'm')
			mcsafe = true;
		else if (opt == 's')
			seed = strtoull(optarg, NULL, 0);
	}
	if (argc != optind || nr_keys < 64 || !reps || reps > MAX_REPS ||
	    !seed) {
		fprintf(stderr,
			"usage: bench [-m] [-n KEYS] [-r TURNS] [-s SEED]\n");
		return 2;
	}
	print_machine(seed);
	pmpool_map(&pm, round_up(nr_keys * 160, 2 << 20) + (64 << 20), true);
	memset(pm.region.base, 0, pm.region.size);
	pm.region.mcsafe = mcsafe;
	if (mcsafe)
		printf("mcsafe: what is loaded is copied first, by memcpy()\n");
	for (workload = 0; workload < NR_WORKLOADS; workload++)
		run(&pm, workload, seed);
	return 0;
}
