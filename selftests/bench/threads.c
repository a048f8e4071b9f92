// SPDX-License-Identifier: GPL-2.0-only
/*
 * How operations on one index run beside each other: the portable layers with one
 * thread, two, and so on, by the clock on the wall, each figure against that of one
 * thread in the same turn.  What the machine makes of threads that share nothing is
 * seen by those that have a tree each.
 */
#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <linux/percpu.h>
#include <linux/srcu.h>

#include "median.h"
#include "pmpool.h"
#include "setting.h"

#define MAX_THREADS	14

static u64 nr_keys = 1000000;
static u32 nr_threads;
static struct setting setting = { .seed = 88172645463325252ULL, .turns = 5 };
static FILE *csv;

static struct pmpool pm;
static struct wort_index *trees[MAX_THREADS];	/* the first is the one all share */
static u64 *keys;
static pthread_barrier_t barrier;
static bool stop;

/* What a thread does, with keys from @begin to @end. */
struct job {
	void (*work)(struct job *job);
	struct wort_index *tree;
	u32 nr;
	u64 begin, end;
	double seconds;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void insert(struct job *job)
{
	u64 i;

	for (i = job->begin; i < job->end; i++)
		if (pm_put(job->tree, &keys[i], 8, &keys[i], 8))
			die("insert");
}

/* In another order than that of the inserts. */
static void look_up(struct job *job)
{
	u64 i, at, value, random = setting.seed + job->nr;
	u32 len;

	for (i = job->begin; i < job->end; i++) {
		at = test_random(&random) % nr_keys;
		len = sizeof(value);
		if (pm_get(job->tree, &keys[at], 8, &value, &len) ||
		    value != keys[at])
			die("lookup");
	}
}

/* Further keys, until told to stop. */
static void insert_on(struct job *job)
{
	u64 random = ~setting.seed, key;

	while (!READ_ONCE(stop)) {
		key = test_random(&random);
		if (pm_put(job->tree, &key, 8, &key, 8))
			die("insert");
	}
}

static void *thread_main(void *arg)
{
	struct job *job = arg;

	shim_thread_begin(job->nr);
	pthread_barrier_wait(&barrier);
	job->seconds = -now();
	job->work(job);
	job->seconds += now();
	shim_thread_end();
	return NULL;
}

/* Seconds until the last of the threads is done with its share of the operations. */
static double share_out(void (*work)(struct job *job), u32 threads, bool apart)
{
	struct job jobs[MAX_THREADS] = { };
	pthread_t ids[MAX_THREADS];
	double most = 0;
	u32 i;

	pthread_barrier_init(&barrier, NULL, threads);
	for (i = 0; i < threads; i++) {
		jobs[i].work = work;
		jobs[i].tree = trees[apart ? i : 0];
		jobs[i].nr = i;
		jobs[i].begin = nr_keys * i / threads;
		jobs[i].end = nr_keys * (i + 1) / threads;
		pthread_create(&ids[i], NULL, thread_main, &jobs[i]);
	}
	for (i = 0; i < threads; i++) {
		pthread_join(ids[i], NULL);
		most = max(most, jobs[i].seconds);
	}
	pthread_barrier_destroy(&barrier);
	return most;
}

static double beside_writer(void)
{
	struct job reader = {
		.work = look_up, .tree = trees[0], .end = nr_keys / 2,
	};
	struct job writer = { .work = insert_on, .tree = trees[0], .nr = 1 };
	pthread_t ids[2];

	WRITE_ONCE(stop, false);
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&ids[0], NULL, thread_main, &reader);
	pthread_create(&ids[1], NULL, thread_main, &writer);
	pthread_join(ids[0], NULL);
	WRITE_ONCE(stop, true);
	pthread_join(ids[1], NULL);
	pthread_barrier_destroy(&barrier);
	return 2 * reader.seconds;
}

static void pool_begin(void)
{
	pmpool_format(&pm, 0);
	pmpool_attach(&pm);
	pmpool_settle();
	trees[0] = pmpool_index(&pm, "bench");
}

/* A tree for each further thread, with the same keys. */
static void trees_grow(void)
{
	struct job job = { .end = nr_keys };
	char name[16];
	u32 i;

	for (i = 1; i < nr_threads; i++) {
		snprintf(name, sizeof(name), "bench%u", i);
		trees[i] = pmpool_index(&pm, name);
		job.tree = trees[i];
		insert(&job);
	}
	pmpool_settle();
}

static void pool_end(void)
{
	u32 i;

	for (i = 0; i < nr_threads; i++)
		if (trees[i])
			wort_index_put(trees[i]);
	memset(trees, 0, sizeof(trees));
	pmpool_detach(&pm);
}

/* Seconds of all keys, by turn and the number of threads. */
struct figures {
	const char *what;
	double seconds[MAX_TURNS][MAX_THREADS + 1];
};

static struct figures inserts = { .what = "insert" };
static struct figures lookups = { .what = "lookup" };
static struct figures apart = { .what = "lookup in a tree each" };
static struct figures beside = { .what = "lookup beside a writer" };

static void measure(struct figures *figures, u32 turn, u32 threads,
		    double seconds)
{
	figures->seconds[turn][threads] = seconds;
	if (!csv)
		return;
	fprintf(csv, "%s,%u,%llu,%u,%.2f", figures->what, threads,
		(unsigned long long)nr_keys, turn, seconds / nr_keys * 1e9);
	csv_end_line(csv, &setting);
}

static void run_turn(u32 turn)
{
	u32 threads;

	for (threads = 1; threads <= nr_threads; threads++) {
		pool_begin();
		measure(&inserts, turn, threads,
			share_out(insert, threads, false));
		if (threads < nr_threads)
			pool_end();
	}
	trees_grow();
	/* The first to look up brings what all others find in the cache. */
	share_out(look_up, 1, false);
	for (threads = 1; threads <= nr_threads; threads++) {
		measure(&lookups, turn, threads,
			share_out(look_up, threads, false));
		if (threads > 1)
			measure(&apart, turn, threads,
				share_out(look_up, threads, true));
	}
	measure(&beside, turn, 1, beside_writer());
	pool_end();
}

/* How much faster than one thread with @figures by which all is measured. */
static void report(const struct figures *figures, const struct figures *by,
		   u32 threads)
{
	double ns[MAX_TURNS], ratio[MAX_TURNS];
	u32 i;

	for (i = 0; i < setting.turns; i++) {
		ns[i] = figures->seconds[i][threads] / nr_keys * 1e9;
		ratio[i] = by->seconds[i][1] / figures->seconds[i][threads];
	}
	printf("%-24s %2u thread%s %6.0f ns  %.2f x\n", figures->what, threads,
	       threads == 1 ? " " : "s", median_of(ns, setting.turns),
	       median_of(ratio, setting.turns));
}

static void report_all(void)
{
	u32 threads;

	for (threads = 1; threads <= nr_threads; threads++)
		report(&inserts, &inserts, threads);
	for (threads = 1; threads <= nr_threads; threads++)
		report(&lookups, &lookups, threads);
	for (threads = 2; threads <= nr_threads; threads++)
		report(&apart, &lookups, threads);
	report(&beside, &lookups, 1);
}

static void usage(void)
{
	fprintf(stderr, "usage: threads [-e ENGINE] [-n KEYS] [-r TURNS] [-s SEED] [-t THREADS] [-c CSV FILE]\n");
	exit(2);
}

static const char *parse(int argc, char **argv)
{
	const char *csv_path = NULL;
	int opt;

	nr_threads = clamp_t(long, sysconf(_SC_NPROCESSORS_ONLN), 1, MAX_THREADS);
	while ((opt = getopt(argc, argv, "e:n:r:s:t:c:")) >= 0) {
		if (opt == 'n')
			nr_keys = setting_number(optarg, 64, 1ULL << 32);
		else if (opt == 'r')
			setting.turns = setting_number(optarg, 1, MAX_TURNS);
		else if (opt == 's')
			setting.seed = setting_number(optarg, 1, U64_MAX);
		else if (opt == 't')
			nr_threads = setting_number(optarg, 1, MAX_THREADS);
		else if (opt == 'c')
			csv_path = optarg;
		else if (opt != 'e' || !setting_engine(optarg))
			usage();
	}
	if (argc != optind)
		usage();
	return csv_path;
}

static void make_keys(void)
{
	u64 random = setting.seed, i;

	keys = malloc(nr_keys * sizeof(*keys));
	if (!keys)
		die("no memory");
	for (i = 0; i < nr_keys; i++)
		keys[i] = test_random(&random);
}

int main(int argc, char **argv)
{
	const char *csv_path;
	u32 i;

	setting_huge_pages(argv);
	csv_path = parse(argc, argv);
	setting_detect(&setting);
	if (csv_path)
		csv = csv_create(csv_path, "op,threads,keys,turn,ns");
	setting_print(&setting);
	printf("%llu uniform keys, up to %u threads, ns by the clock on the wall for an operation of any; medians of %u turns\n",
	       (unsigned long long)nr_keys, nr_threads, setting.turns);
	shim_thread_begin(SHIM_CPUS - 2);
	make_keys();
	pmpool_map(&pm, round_up(nr_keys * (200 + 200 * nr_threads), 2 << 20) +
		   (64 << 20), true);
	memset(pm.region.base, 0, pm.region.size);
	for (i = 0; i < setting.turns; i++)
		run_turn(i);
	report_all();
	if (csv)
		csv_close(csv, csv_path);
	return 0;
}
