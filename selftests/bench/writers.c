// SPDX-License-Identifier: GPL-2.0-only
/*
 * writers WORT POOL RECORDS RUNS: what "wort backup" costs four writers.  Of an
 * attached pool; makes the index "writers" there, and destroys it.
 *
 * Each writer replaces values of keys at random.  A run is: some seconds, a backup,
 * some seconds.  Printed is the median of the runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <wort.h>

#include "median.h"

#define NAME		"writers"
#define NR_WRITERS	4
#define VALUE_LEN	100
#define SECONDS		2
#define BATCH		256
#define RUNS_MAX	100

enum figure {
	RATE_BEFORE, RATE_AFTER, WAIT_BEFORE, WAIT_BACKUP, FROZEN, BACKUP, NR_FIGURES
};

static const char *const names[] = {
	[RATE_BEFORE] = "puts a second before",
	[RATE_AFTER] = "puts a second after",
	[WAIT_BEFORE] = "longest put before, ms",
	[WAIT_BACKUP] = "longest put from the backup on, ms",
	[FROZEN] = "frozen, ms",
	[BACKUP] = "backup, ms",
};

static const char *command, *path;
static unsigned int nr_records;
static struct wort_pool *pool;
static struct wort_index *indexes[NR_WRITERS];
static atomic_ullong nr_puts, longest;
static atomic_bool stopped;

static void __attribute__((noreturn)) fail(const char *what, int err)
{
	fprintf(stderr, "writers: %s: %s\n", what, strerror(-err));
	exit(1);
}

static void check(const char *what, int err)
{
	if (err < 0)
		fail(what, err);
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* Spread over all bits: the keys are in no order. */
static uint64_t key_of(uint64_t nr)
{
	nr = (nr ^ nr >> 30) * 0xbf58476d1ce4e5b9ULL;
	nr = (nr ^ nr >> 27) * 0x94d049bb133111ebULL;
	return nr ^ nr >> 31;
}

static void fill(void)
{
	struct wort_batch_opts opts = { .sz = sizeof(opts), .max_ops = BATCH };
	char value[VALUE_LEN] = "";
	struct wort_batch *batch;
	unsigned int i;
	uint64_t key;

	check("batch", wort_batch_new(&opts, &batch));
	for (i = 0; i < nr_records; i++) {
		key = key_of(i);
		check("put", wort_batch_put(batch, &key, sizeof(key), value,
					    sizeof(value), 0));
		if (i % BATCH < BATCH - 1 && i + 1 < nr_records)
			continue;
		check("submit", wort_batch_submit(batch, indexes[0], 0));
		if (wort_batch_failed(batch))
			fail("fill", -ENOSPC);
		wort_batch_reset(batch);
	}
	wort_batch_free(batch);
}

static void note(unsigned long long took)
{
	unsigned long long most = longest;

	while (took > most && !atomic_compare_exchange_weak(&longest, &most, took))
		;
}

static void *write_records(void *arg)
{
	struct wort_index *index = *(struct wort_index **)arg;
	uint64_t seed = (uintptr_t)arg, begin, key;
	char value[VALUE_LEN] = "";

	while (!stopped) {
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		key = key_of((seed >> 33) % nr_records);
		memcpy(value, &seed, sizeof(seed));
		begin = now();
		check("put", wort_put(index, &key, sizeof(key), value,
				      sizeof(value), 0));
		note(now() - begin);
		nr_puts++;
	}
	return NULL;
}

static double rate(void)
{
	uint64_t begin = now(), puts = nr_puts;

	sleep(SECONDS);
	return (nr_puts - puts) * 1e9 / (now() - begin);
}

static void back_up(double *figures)
{
	char line[256];
	uint64_t begin;
	double secs;
	FILE *said;

	snprintf(line, sizeof(line), "%s backup -q -o json %s writers.backup",
		 command, path);
	begin = now();
	said = popen(line, "r");
	if (!said)
		fail(line, -errno);
	while (fgets(line, sizeof(line), said))
		if (sscanf(line, " \"frozen\": %lf", &secs) == 1)
			figures[FROZEN] = secs * 1e3;
	if (pclose(said))
		fail("the backup", -EIO);
	figures[BACKUP] = (now() - begin) / 1e6;
	unlink("writers.backup");
}

/* A put that the backup has held up may end later than the backup's process. */
static void run(double *figures)
{
	longest = 0;
	figures[RATE_BEFORE] = rate();
	figures[WAIT_BEFORE] = longest / 1e6;
	longest = 0;
	back_up(figures);
	figures[RATE_AFTER] = rate();
	figures[WAIT_BACKUP] = longest / 1e6;
}

static void report(double (*runs)[NR_FIGURES], unsigned int nr)
{
	double column[RUNS_MAX], median;
	unsigned int i, j;

	printf("%-36s %10s %10s %10s\n", "", "median", "least", "most");
	for (i = 0; i < NR_FIGURES; i++) {
		for (j = 0; j < nr; j++)
			column[j] = runs[j][i];
		median = median_of(column, nr);
		printf("%-36s %10.1f %10.1f %10.1f\n", names[i], median,
		       column[0], column[nr - 1]);
	}
}

static void make_index(void)
{
	struct wort_index_opts opts = {
		.sz = sizeof(opts),
		.flags = WORT_INDEX_OPEN_F_CREATE | WORT_INDEX_OPEN_F_EXCL,
	};
	unsigned int i;

	check(path, wort_pool_open(path, O_RDWR, &pool));
	for (i = 0; i < NR_WRITERS; i++) {
		check("the index \"" NAME "\", which must not be there before",
		      wort_index_open(pool, NAME, &opts, &indexes[i]));
		opts.flags = 0;
	}
}

int main(int argc, char **argv)
{
	static double runs[RUNS_MAX][NR_FIGURES];
	unsigned int i, nr = argc == 5 ? atoi(argv[4]) : 0;
	pthread_t threads[NR_WRITERS];

	if (nr)
		nr_records = atoi(argv[3]);
	if (!nr_records || nr > RUNS_MAX)
		fail("usage: writers WORT POOL RECORDS RUNS", -EINVAL);
	command = argv[1];
	path = argv[2];
	make_index();
	fill();
	for (i = 0; i < NR_WRITERS; i++)
		check("thread", -pthread_create(&threads[i], NULL, write_records,
						&indexes[i]));
	for (i = 0; i < nr; i++)
		run(runs[i]);
	stopped = true;
	for (i = 0; i < NR_WRITERS; i++)
		pthread_join(threads[i], NULL);
	report(runs, nr);
	for (i = 0; i < NR_WRITERS; i++)
		wort_index_close(indexes[i]);
	check("destroy", wort_pool_destroy(pool, NAME));
	wort_pool_close(pool);
	return 0;
}
