// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads on one pool in a plain file: each changes keys of its own, alone and in atomic
 * batches, and reads them back, while the pool is checked.
 *
 *	file-threads [-m] FILE		-m: lookups in the mapping
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <wort.h>

#define NR_THREADS	6
#define NR_KEYS		256
#define NR_CHECKS	5

static struct wort_pool *pool;
static bool stop;
static unsigned long nr_ops;

struct owner {
	pthread_t thread;
	unsigned int nr;
	unsigned int seed;
	unsigned int version;
	unsigned int of[NR_KEYS];	/* 0: absent */
	struct wort_index *index;
	struct wort_atomic *batch;
};

static void die(const char *what, long err)
{
	printf("file-threads: %s: %ld\n", what, err);
	exit(1);
}

static unsigned int key_of(const struct owner *own, unsigned int key)
{
	return key * NR_THREADS + own->nr;
}

static void put(struct owner *own, unsigned int key)
{
	unsigned int at = key_of(own, key), val = ++own->version;
	int err = wort_put(own->index, &at, sizeof(at), &val, sizeof(val), 0);

	if (err)
		die("put", err);
	own->of[key] = val;
}

static void del(struct owner *own, unsigned int key)
{
	unsigned int at = key_of(own, key);
	int err = wort_del(own->index, &at, sizeof(at));

	if (err != (own->of[key] ? 0 : -ENOENT))
		die("del", err);
	own->of[key] = 0;
}

static void get(struct owner *own, unsigned int key)
{
	unsigned int at = key_of(own, key), val = 0;
	size_t len = sizeof(val);
	int err = wort_get(own->index, &at, sizeof(at), &val, &len);

	if (err != (own->of[key] ? 0 : -ENOENT) || val != own->of[key])
		die("get", err);
}

static void put_two(struct owner *own, unsigned int key)
{
	unsigned int next = (key + 1) % NR_KEYS, val = ++own->version;
	unsigned int at[2] = { key_of(own, key), key_of(own, next) };
	int err = 0, i;

	wort_atomic_reset(own->batch);
	for (i = 0; i < 2 && !err; i++)
		err = wort_atomic_put(own->batch, own->index, &at[i], sizeof(at[i]), &val,
				      sizeof(val), 0);
	if (!err)
		err = wort_atomic_commit(own->batch, NULL);
	if (err)
		die("atomic batch", err);
	own->of[key] = val;
	own->of[next] = val;
}

static void *run(void *arg)
{
	static void (*const steps[])(struct owner *, unsigned int) = {
		put, put, del, get, get, put_two,
	};
	struct owner *own = arg;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		own->seed = own->seed * 1664525 + 1013904223;
		steps[(own->seed >> 8) % 6](own, own->seed >> 24);
		__atomic_fetch_add(&nr_ops, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void start(struct owner *own, unsigned int nr)
{
	struct wort_index_opts opts = {
		.sz = sizeof(opts), .flags = WORT_INDEX_OPEN_F_CREATE,
	};
	int err = wort_index_open(pool, "threads", &opts, &own->index);

	own->nr = nr;
	own->seed = nr + 1;
	if (!err)
		err = wort_atomic_new(&own->batch);
	if (err || pthread_create(&own->thread, NULL, run, own))
		die("start", err);
}

/* A check gives way where operations need space. */
static void check(void)
{
	struct wort_check_arg arg = { .size = sizeof(arg) };
	int err = wort_pool_check(pool, &arg);

	if (err && err != -EBUSY)
		die("check", err);
	if (arg.out_nr_damaged)
		die("damage", arg.out_nr_damaged);
}

int main(int argc, char **argv)
{
	struct wort_pool_opts opts = { .sz = sizeof(opts), .sync = WORT_SYNC_PROCESS };
	struct wort_format_opts format = {
		.sz = sizeof(format), .flags = WORT_FORMAT_F_FORCE,
	};
	bool mapped = argc == 3 && !strcmp(argv[1], "-m");
	static struct owner owners[NR_THREADS];
	unsigned int i;
	int err;

	if (argc != 2 + mapped) {
		fprintf(stderr, "usage: file-threads [-m] FILE\n");
		return 2;
	}
	err = wort_format_file(argv[1 + mapped], 16 << 20, &format);
	if (!err)
		err = wort_pool_open_with(argv[1 + mapped], O_RDWR, &opts, &pool);
	if (!err && mapped)
		err = wort_pool_map(pool);
	if (err)
		die(argv[1 + mapped], err);
	for (i = 0; i < NR_THREADS; i++)
		start(&owners[i], i);
	for (i = 0; i < NR_CHECKS; i++) {
		usleep(200000);
		check();
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < NR_THREADS; i++) {
		pthread_join(owners[i].thread, NULL);
		wort_atomic_free(owners[i].batch);
		wort_index_close(owners[i].index);
	}
	check();
	wort_pool_close(pool);
	printf("# %lu operations of %d threads\n", nr_ops, NR_THREADS);
	return 0;
}
