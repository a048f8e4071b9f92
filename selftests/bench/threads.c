// SPDX-License-Identifier: GPL-2.0-only
/*
 * How operations on one index run beside each other: the portable layers with
 * threads, by the clock on the wall, each figure against that of one thread in
 * the same turn.
 */
#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <linux/percpu.h>
#include <linux/srcu.h>

#include "median.h"
#include "pmpool.h"

#define MAX_REPS	25
#define MAX_THREADS	14

static u64 nr_keys = 1000000;
static u32 reps = 5, nr_threads = 2;
static u64 seed = 88172645463325252ULL;

static struct pmpool pm;
static struct wort_index *bench_index;
static u64 *keys;
static pthread_barrier_t barrier;
static bool stop;

/* What a thread does, with keys from @begin to @end. */
struct job {
	void (*work)(struct job *job);
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
		if (pm_put(bench_index, &keys[i], 8, &keys[i], 8))
			die("insert");
}

/* In another order than that of the inserts. */
static void look_up(struct job *job)
{
	u64 i, at, value, random = seed + job->nr;
	u32 len;

	for (i = job->begin; i < job->end; i++) {
		at = test_random(&random) % nr_keys;
		len = sizeof(value);
		if (pm_get(bench_index, &keys[at], 8, &value, &len) ||
		    value != keys[at])
			die("lookup");
	}
}

/* Further keys, until told to stop. */
static void insert_on(struct job *job)
{
	u64 random = ~seed, key;

	while (!READ_ONCE(stop)) {
		key = test_random(&random);
		if (pm_put(bench_index, &key, 8, &key, 8))
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

/* Seconds until the last of the threads is done with its share of the keys. */
static double share_out(void (*work)(struct job *job), u32 threads)
{
	struct job jobs[MAX_THREADS] = { };
	pthread_t ids[MAX_THREADS];
	double most = 0;
	u32 i;

	pthread_barrier_init(&barrier, NULL, threads);
	for (i = 0; i < threads; i++) {
		jobs[i].work = work;
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
	struct job reader = { .work = look_up, .end = nr_keys / 2 };
	struct job writer = { .work = insert_on, .nr = 1 };
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
	bench_index = pmpool_index(&pm, "bench");
}

static void pool_end(void)
{
	wort_index_put(bench_index);
	pmpool_detach(&pm);
}

static double median(double *values)
{
	return median_of(values, reps);
}

static void report(const char *what, double *ns, double *ratio)
{
	printf("%-28s %6.0f ns an operation of one  %.2f x\n", what,
	       median(ns), median(ratio));
}

static void run(void)
{
	double insert_ns[MAX_REPS], insert_x[MAX_REPS];
	double look_ns[MAX_REPS], look_x[MAX_REPS], beside_x[MAX_REPS];
	double one;
	u32 i;

	for (i = 0; i < reps; i++) {
		pool_begin();
		one = share_out(insert, 1);
		pool_end();
		pool_begin();
		insert_ns[i] = one / nr_keys * 1e9;
		insert_x[i] = one / share_out(insert, nr_threads);
		one = share_out(look_up, 1);
		look_ns[i] = one / nr_keys * 1e9;
		look_x[i] = one / share_out(look_up, nr_threads);
		beside_x[i] = one / beside_writer();
		pool_end();
	}
	report("inserts", insert_ns, insert_x);
	report("lookups", look_ns, look_x);
	report("lookups beside a writer", look_ns, beside_x);
}

int main(int argc, char **argv)
{
	u64 random, i;
	int opt;

	while ((opt = getopt(argc, argv, "n:r:s:t:")) >= 0) {
		if (opt == 'n')
			nr_keys = strtoull(optarg, NULL, 0);
		else if (opt == 'r')
			reps = strtoul(optarg, NULL, 0);
		else if (opt == 's')
			seed = strtoull(optarg, NULL, 0);
		else if (opt == 't')
			nr_threads = strtoul(optarg, NULL, 0);
	}
	if (argc != optind || nr_keys < 64 || !reps || reps > MAX_REPS ||
	    !seed || !nr_threads || nr_threads > MAX_THREADS) {
		fprintf(stderr, "usage: threads [-n KEYS] [-r TURNS] [-s SEED] [-t THREADS]\n");
		return 2;
	}
	printf("%llu random keys, %u threads against one, wall clock, plain DRAM, medians of %u turns\n",
	       (unsigned long long)nr_keys, nr_threads, reps);
	shim_thread_begin(SHIM_CPUS - 2);
	random = seed;
	keys = malloc(nr_keys * sizeof(*keys));
	for (i = 0; i < nr_keys; i++)
		keys[i] = test_random(&random);
	pmpool_map(&pm, round_up(nr_keys * 400, 2 << 20) + (64 << 20), true);
	memset(pm.region.base, 0, pm.region.size);
	run();
	return 0;
}
