// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a program waits for after a power cut: attach, the first lookup and the
 * first insert, with cold caches, of a small pool and of a large one in the same
 * run; and how fast the walk goes that finds again what is free.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pmpool.h"
#include "setting.h"

#define BATCH_OPS	64

static u64 nr_keys = 10000000;
static struct setting setting = { .seed = 88172645463325252ULL };
static FILE *csv;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Uniform keys, in any order. */
static u64 key_of(u64 nr)
{
	u64 state = nr * 0x9e3779b97f4a7c15ULL + setting.seed;

	return test_random(&state);
}

/* @order: which keys, instead of those from @from up to @to. */
static void change_all(struct wort_index *index, u16 kind, u64 from, u64 to,
		       const u64 *order)
{
	static u8 ops[64 * BATCH_OPS], results[32 * BATCH_OPS];
	struct wort_batch batch;

	while (from < to) {
		batch = (struct wort_batch){
			.ops = ops, .results = results, .write = true,
			.results_size = sizeof(results),
		};
		for (; from < to && batch.nr_ops < BATCH_OPS; from++) {
			u64 key = key_of(order ? order[from] : from);

			batch.ops_len += pm_pack(ops + batch.ops_len, kind,
						 &key, sizeof(key), &key,
						 kind == WORT_BATCH_INSERT ?
						 sizeof(key) : 0);
			batch.nr_ops++;
		}
		if (wort_index_batch(index, &batch) || batch.failed)
			die("a batch fails");
		if (kind == WORT_BATCH_DELETE)
			pmpool_settle();
	}
}

/* Read more than any cache holds. */
static void cool_down(void)
{
	static u8 *memory;
	static volatile u64 sum;
	size_t size = 1UL << 30, i;

	if (!memory)
		memory = malloc(size);
	if (!memory)
		die("no memory");
	memset(memory, 1, size);
	for (i = 0; i < size; i += WORT_LINE)
		sum += memory[i];
}

static double since(double *last)
{
	double before = *last;

	*last = now();
	return *last - before;
}

/*
 * Measure an attach as after a power cut, when DRAM has nothing.  The index has the key @present,
 * and never had @absent.
 */
static void attach_cold(struct pmpool *pm, const char *what, u64 keys,
			u64 present, u64 absent)
{
	double t, attach, lookup, insert, walk;
	struct wort_index *index;
	u64 key = key_of(present), value, new = key_of(absent);
	u32 len = sizeof(value);

	pmpool_detach(pm);
	cool_down();
	t = now();
	pmpool_attach(pm);
	attach = since(&t);
	index = pmpool_index(pm, "bench");
	if (pm_get(index, &key, sizeof(key), &value, &len) || value != key)
		die("a key is lost");
	lookup = since(&t);
	if (pm_put(index, &new, sizeof(new), &new, sizeof(new)))
		die("an insert fails");
	insert = since(&t);
	pmpool_settle();
	walk = since(&t);
	printf("%-34s attach %6.0f us, first lookup %6.0f us, first insert %6.0f us, walk %.2f s (%.1f million keys/s)\n",
	       what, attach * 1e6, lookup * 1e6, insert * 1e6, walk,
	       keys / walk / 1e6);
	if (csv) {
		fprintf(csv, "\"%s\",%llu,%.2f,%.2f,%.2f,%.6f", what,
			(unsigned long long)keys, attach * 1e6, lookup * 1e6,
			insert * 1e6, walk);
		csv_end_line(csv, &setting);
	}
	wort_index_put(index);
}

static struct wort_index *begin(struct pmpool *pm, u64 size)
{
	pmpool_map(pm, size, true);
	pmpool_format(pm, 0);
	pmpool_attach(pm);
	pmpool_settle();
	return pmpool_index(pm, "bench");
}

static void pool_of(const char *what, u64 size, u64 keys)
{
	struct pmpool pm;
	struct wort_index *index = begin(&pm, size);

	change_all(index, WORT_BATCH_INSERT, 0, keys, NULL);
	wort_index_put(index);
	attach_cold(&pm, what, keys, 0, keys);
	pmpool_detach(&pm);
	pmpool_unmap(&pm);
}

static double share_free(struct pmpool *pm)
{
	struct wort_pool_info_arg info;

	wort_pool_info(pm->pool, &info);
	return 1 - (double)info.out_used_bytes / pm->region.size;
}

static u64 *any_order(u64 nr)
{
	u64 *order = malloc(nr * sizeof(*order)), seed = setting.seed, i, j;

	if (!order)
		die("no memory");
	for (i = 0; i < nr; i++) {
		j = test_random(&seed) % (i + 1);
		order[i] = order[j];
		order[j] = i;
	}
	return order;
}

/* Filled to 95 percent, then keys deleted at random until half is free. */
static void aged_pool(u64 size, u64 keys)
{
	struct pmpool pm;
	struct wort_index *index = begin(&pm, size);
	u64 n = 0, deleted, *order;

	for (; share_free(&pm) > 0.05; n += keys / 100)
		change_all(index, WORT_BATCH_INSERT, n, n + keys / 100, NULL);
	order = any_order(n);
	for (deleted = 0; deleted < n && share_free(&pm) < 0.5;
	     deleted += n / 100)
		change_all(index, WORT_BATCH_DELETE, deleted,
			   min(n, deleted + n / 100), order);
	wort_index_put(index);
	attach_cold(&pm, "95 percent full, then 50", n - deleted, order[n - 1], n);
	free(order);
	pmpool_detach(&pm);
	pmpool_unmap(&pm);
}

static void usage(void)
{
	fprintf(stderr, "usage: attach [-e ENGINE] [-n KEYS] [-s SEED] [-c CSV FILE]\n");
	exit(2);
}

static const char *parse(int argc, char **argv)
{
	const char *csv_path = NULL;
	int opt;

	while ((opt = getopt(argc, argv, "e:n:s:c:")) >= 0) {
		if (opt == 'n')
			nr_keys = setting_number(optarg, 1000, 1ULL << 32);
		else if (opt == 's')
			setting.seed = setting_number(optarg, 1, U64_MAX);
		else if (opt == 'c')
			csv_path = optarg;
		else if (opt != 'e' || !setting_engine(optarg))
			usage();
	}
	if (argc != optind)
		usage();
	return csv_path;
}

int main(int argc, char **argv)
{
	const char *csv_path;
	char what[64];
	u64 size;

	setting_huge_pages(argv);
	csv_path = parse(argc, argv);
	setting_detect(&setting);
	if (csv_path)
		csv = csv_create(csv_path, "pool,keys,attach_us,first_lookup_us,first_insert_us,walk_s");
	size = round_up(nr_keys * 100, 2 << 20) + (64 << 20);
	setting_print(&setting);
	printf("pools of %llu MiB; caches cold; uniform keys of 8 bytes, 8-byte values\n",
	       (unsigned long long)size >> 20);
	pool_of("1,000 keys", size, 1000);
	snprintf(what, sizeof(what), "%llu keys", (unsigned long long)nr_keys);
	pool_of(what, size, nr_keys);
	aged_pool(size, nr_keys);
	if (csv)
		csv_close(csv, csv_path);
	return 0;
}
