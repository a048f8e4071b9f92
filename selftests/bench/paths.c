// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an operation costs on each way into the kernel, and without one; beside
 * an empty ioctl.  Of an attached pool; makes the index "bench" there, which
 * must not exist, and destroys it.
 *
 * The clock goes on while others run: meaningful on a machine that does nothing
 * else, or where the clock counts instructions.
 */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <linux/wort.h>
#include <wort.h>
#include <wort_uring.h>

#define NAME		"bench"
#define DEPTH		64

static unsigned int nr_keys;
static uint64_t *keys;
static struct wort_pool *pool;
static struct wort_index *writer, *mapped;
static struct wort_batch *batch;
static struct io_uring ring;

static void __attribute__((noreturn)) fail(const char *what, int err)
{
	fprintf(stderr, "paths: %s: %s\n", what, strerror(-err));
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* Distinct, for a xorshift comes by each number once. */
static void make_keys(void)
{
	uint64_t state = 88172645463325252ULL;
	unsigned int i;

	keys = malloc(nr_keys * sizeof(*keys));
	if (!keys)
		fail("keys", -ENOMEM);
	for (i = 0; i < nr_keys; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		keys[i] = state;
	}
}

static void open_index(struct wort_index **index, uint32_t flags)
{
	struct wort_index_opts opts = { .sz = sizeof(opts), .flags = flags };
	int err = wort_index_open(pool, NAME, &opts, index);

	if (err)
		fail("the index \"" NAME "\", which must not be there before", err);
}

static void make_index(void)
{
	open_index(&writer, WORT_INDEX_OPEN_F_CREATE | WORT_INDEX_OPEN_F_EXCL);
}

static void destroy_index(void)
{
	int err;

	wort_index_close(writer);
	err = wort_pool_destroy(pool, NAME);
	if (err)
		fail("destroy the index", err);
}

/*
 * Wait until the background is idle, so that no way pays for the work of the one
 * before.  In a damaged pool the walk would perhaps never end.
 */
static void settle(void)
{
	struct wort_pool_info_arg info = { .size = sizeof(info) };
	uint64_t freeing;
	int err;

	do {
		freeing = info.out_freeing_bytes;
		usleep(20000);
		err = wort_pool_info(pool, &info);
		if (err)
			fail("pool", err);
		if (info.out_nr_damaged || info.out_state & WORT_STATE_DAMAGED)
			fail("damage was met in the pool", -EUCLEAN);
	} while (info.out_nr_dying || info.out_state & WORT_STATE_WALKING ||
		 info.out_freeing_bytes != freeing);
}

/* ---- the ways ---- */

static void empty_ioctl(void)
{
	unsigned int i;

	for (i = 0; i < nr_keys; i++)
		if (ioctl(wort_index_fd(writer), _IO('w', 0xff)) != -1 ||
		    errno != ENOTTY)
			fail("an ioctl that is none", -EIO);
}

static void insert(void)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < nr_keys && !err; i++)
		err = wort_put(writer, &keys[i], 8, &keys[i], 8, 0);
	if (err)
		fail("insert", err);
}

static void look_up_in(struct wort_index *index)
{
	unsigned int i;
	uint64_t value;

	for (i = 0; i < nr_keys; i++) {
		size_t len = sizeof(value);
		int err = wort_get(index, &keys[i], 8, &value, &len);

		if (err || value != keys[i])
			fail("lookup", err ? err : -EIO);
	}
}

static void look_up(void)
{
	look_up_in(writer);
}

static void look_up_mapped(void)
{
	look_up_in(mapped);
}

static void batches(bool put, unsigned int nr)
{
	unsigned int i, j;
	int err = 0;

	for (i = 0; i < nr_keys && !err; i += nr) {
		wort_batch_reset(batch);
		for (j = i; j < nr_keys && j < i + nr && !err; j++)
			err = put ? wort_batch_put(batch, &keys[j], 8,
						   &keys[j], 8, 0) :
				    wort_batch_get(batch, &keys[j], 8, 8);
		if (!err)
			err = wort_batch_submit(batch, writer, 0);
		if (!err && wort_batch_failed(batch))
			err = -EIO;
	}
	if (err)
		fail("batch", err);
}

static void insert_16(void)
{
	batches(true, 16);
}

static void insert_64(void)
{
	batches(true, 64);
}

static void look_up_16(void)
{
	batches(false, 16);
}

static void look_up_64(void)
{
	batches(false, 64);
}

/* ---- io_uring: DEPTH at a time ---- */

union arg {
	struct wort_insert_arg insert;
	struct wort_lookup_arg lookup;
};

static void prepare(union arg *arg, bool put, unsigned int nr, uint64_t *value)
{
	memset(arg, 0, sizeof(*arg));
	*value = put ? keys[nr] : 0;
	if (put) {
		arg->insert.size = sizeof(arg->insert);
		arg->insert.key_ptr = (uintptr_t)&keys[nr];
		arg->insert.key_len = 8;
		arg->insert.value_ptr = (uintptr_t)value;
		arg->insert.value_len = 8;
		return;
	}
	arg->lookup.size = sizeof(arg->lookup);
	arg->lookup.key_ptr = (uintptr_t)&keys[nr];
	arg->lookup.key_len = 8;
	arg->lookup.value_ptr = (uintptr_t)value;
	arg->lookup.value_len = 8;
}

/* The ring has room for DEPTH. */
static struct io_uring_sqe *get_sqe(void)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

	if (!sqe)
		fail("no room in the ring", -EBUSY);
	return sqe;
}

static void ring_round(bool put, unsigned int from, unsigned int nr)
{
	static uint64_t values[DEPTH];
	static union arg args[DEPTH];
	struct io_uring_cqe *cqe;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		prepare(&args[i], put, from + i, &values[i]);
		wort_uring_prep(get_sqe(), wort_index_fd(writer),
				put ? WORT_IOC_INSERT : WORT_IOC_LOOKUP,
				&args[i]);
	}
	if (io_uring_submit_and_wait(&ring, nr) < 0)
		fail("submit", -errno);
	for (i = 0; i < nr; i++) {
		if (io_uring_wait_cqe(&ring, &cqe) || cqe->res)
			fail("a command through io_uring", -EIO);
		io_uring_cqe_seen(&ring, cqe);
	}
	for (i = 0; i < nr; i++)
		if (values[i] != keys[from + i])
			fail("a lookup through io_uring", -EIO);
}

static void ring_all(bool put)
{
	unsigned int i;

	for (i = 0; i < nr_keys; i += DEPTH)
		ring_round(put, i, nr_keys - i < DEPTH ? nr_keys - i : DEPTH);
}

static void insert_ring(void)
{
	ring_all(true);
}

static void look_up_ring(void)
{
	ring_all(false);
}

static const struct way {
	const char *name;
	bool fresh;		/* into an empty index */
	void (*run)(void);
} ways[] = {
	{ "empty ioctl", false, empty_ioctl },
	{ "insert, ioctl", true, insert },
	{ "insert, io_uring", true, insert_ring },
	{ "insert, batch of 16", true, insert_16 },
	{ "insert, batch of 64", true, insert_64 },
	{ "lookup, ioctl", false, look_up },
	{ "lookup, io_uring", false, look_up_ring },
	{ "lookup, batch of 16", false, look_up_16 },
	{ "lookup, batch of 64", false, look_up_64 },
	{ "lookup, in a mapping", false, look_up_mapped },
	{ }
};

static double measure(const struct way *way)
{
	double begin;

	if (way->fresh) {
		destroy_index();
		make_index();
	}
	settle();
	begin = now();
	way->run();
	return (now() - begin) / nr_keys;
}

int main(int argc, char **argv)
{
	double ns, empty = 0;
	const struct way *way;
	int err;

	nr_keys = argc == 3 ? strtoul(argv[2], NULL, 0) : 0;
	if (!nr_keys) {
		fprintf(stderr, "usage: paths POOL KEYS\n");
		return 2;
	}
	make_keys();
	err = wort_pool_open(argv[1], O_RDWR, &pool);
	if (err)
		fail(argv[1], err);
	make_index();
	err = wort_batch_new(NULL, &batch) ?:
	      io_uring_queue_init(DEPTH, &ring, 0);
	if (err)
		fail("a batch and a ring", err);
	for (way = ways; way->name; way++) {
		if (way->run == look_up_mapped) {
			err = wort_pool_map(pool);
			if (err)
				fail("map the pool", err);
			open_index(&mapped, 0);
		}
		ns = measure(way);
		if (way == ways)
			empty = ns;
		printf("%-22s %8.0f  %6.2f x an empty ioctl\n", way->name, ns,
		       ns / empty);
	}
	io_uring_queue_exit(&ring);
	wort_batch_free(batch);
	wort_index_close(mapped);
	destroy_index();
	settle();
	wort_pool_close(pool);
	return 0;
}
