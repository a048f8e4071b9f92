// SPDX-License-Identifier: GPL-2.0-only
/*
 * fio-store POOL: tests store.c, which the engine for fio calls, on the device of a pool or on
 * a file with a pool.  Prints only what fails; the status is 0 if nothing does.
 */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include <wort.h>
#include <wort_uring.h>

#include "../fio/store.h"

#define DEPTH	16
#define NR	100
#define SIZE	512
#define RECORDS	7	/* of a block in an atomic batch */

static int failures;

#define CHECK(cond) do {						\
	if (!(cond)) {							\
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond); \
		failures++;						\
	}								\
} while (0)

static char blocks[NR][SIZE];

/* All blocks, as many at a time as may be queued. */
static void run_all(struct store *store, enum store_what what)
{
	struct store_op op = { .what = what, .len = SIZE };
	unsigned int nr_begun = 0, nr_done = 0, i;
	int nr;

	while (nr_done < NR) {
		while (nr_begun < NR) {
			op.block = nr_begun;
			op.data = blocks[nr_begun];
			op.owner = blocks[nr_begun];
			if (store_queue(store, &op))
				break;
			nr_begun++;
			nr_done += !store_queues(store);
			CHECK(store_queues(store) || !op.error);
		}
		if (!store_queues(store))
			continue;
		CHECK(!store_commit(store));
		nr = store_reap(store, 1, DEPTH);
		CHECK(nr > 0);
		for (i = 0; (int)i < nr; i++) {
			const struct store_op *done = store_done(store, i);

			CHECK(!done->error && done->owner == done->data);
		}
		nr_done += nr > 0 ? nr : NR;
	}
}

static void check_bytes(int add)
{
	unsigned int i, wrong = 0, at;

	for (i = 0; i < NR; i++)
		for (at = 0; at < SIZE; at++)
			wrong += blocks[i][at] != (char)(add ? i + add : 0);
	CHECK(!wrong);
}

static void check_way(const char *pool, enum store_way way)
{
	struct store *store = NULL;
	unsigned int i;

	CHECK(!store_open(pool, way == STORE_ATOMIC ? "fio-atomic" : "fio-store",
			  way, DEPTH, RECORDS, &store));
	if (!store)
		return;
	for (i = 0; i < NR; i++)
		memset(blocks[i], i + 1 + way, SIZE);
	run_all(store, STORE_WRITE);
	memset(blocks, 0xee, sizeof(blocks));
	run_all(store, STORE_READ);
	check_bytes(1 + way);
	run_all(store, STORE_TRIM);
	run_all(store, STORE_TRIM);
	memset(blocks, 0xee, sizeof(blocks));
	run_all(store, STORE_READ);
	check_bytes(0);
	store_close(store);
}

/* A block that was written with one length cannot be read with another. */
static void check_lengths(const char *pool, enum store_way way)
{
	struct store_op op = { .what = STORE_WRITE, .data = blocks, .len = SIZE };
	struct store *store = NULL;
	size_t len;

	CHECK(!store_open(pool, "fio-lengths", STORE_IOCTL, 1, 0, &store));
	CHECK(!store_queue(store, &op) && !op.error);
	store_close(store);
	CHECK(!store_open(pool, "fio-lengths", way, 1, 1, &store));
	op.what = STORE_READ;
	for (len = SIZE / 2; len <= 2 * SIZE; len *= 2) {
		op.len = len;
		CHECK(!store_queue(store, &op));
		if (store_queues(store)) {
			CHECK(!store_commit(store));
			CHECK(store_reap(store, 1, 1) == 1);
			op = *store_done(store, 0);
		}
		CHECK(op.error == (len == SIZE ? 0 : -ERANGE));
	}
	store_close(store);
}

/* 1: a command was carried out; 0: it was refused; -1: this kernel has no io_uring. */
static int command(int fd)
{
	struct wort_index_info_arg arg = { .size = sizeof(arg) };
	struct io_uring_sqe *sqe;
	struct io_uring_cqe *cqe;
	struct io_uring ring;
	int done = 0;

	if (io_uring_queue_init(1, &ring, 0))
		return -1;
	sqe = io_uring_get_sqe(&ring);
	if (sqe)
		wort_uring_prep(sqe, fd, WORT_IOC_INDEX_INFO, &arg);
	if (sqe && io_uring_submit(&ring) == 1 && !io_uring_wait_cqe(&ring, &cqe))
		done = cqe->res >= 0;
	io_uring_queue_exit(&ring);
	return done;
}

/* A pool in a file takes no commands, and says so. */
static int check_commands(const char *path)
{
	struct wort_index_opts opts = {
		.sz = sizeof(opts), .flags = WORT_INDEX_OPEN_F_CREATE,
	};
	struct wort_index_info_arg info = { .size = sizeof(info) };
	bool is_device = !strncmp(path, "/dev/", 5);
	struct store *store = NULL;
	struct wort_index *index;
	struct wort_pool *pool;
	int done, err;

	CHECK(!wort_pool_open(path, O_RDWR, &pool));
	CHECK(!wort_index_open(pool, "fio-store", &opts, &index));
	done = command(wort_index_fd(index));
	CHECK(done < 0 || done == is_device);
	err = ioctl(wort_index_fd(index), WORT_IOC_INDEX_INFO, &info) ? errno : 0;
	CHECK(err == (is_device ? 0 : ENOTTY));
	wort_index_close(index);
	wort_pool_close(pool);
	err = store_open(path, "fio-store", STORE_URING, 1, 0, &store);
	CHECK(done < 0 || err == (is_device ? 0 : -EOPNOTSUPP));
	if (!err)
		store_close(store);
	return done > 0;
}

static void check_refusals(const char *pool)
{
	struct store_op op = { .what = STORE_READ, .data = blocks, .len = SIZE };
	struct store *store = NULL;
	struct wort_pool *other;

	CHECK(wort_pool_open("/dev/null", O_RDWR, &other) == -ENOTTY);
	CHECK(wort_pool_open("/dev/urandom", O_RDONLY, &other) == -ENOTTY);
	CHECK(store_open("/dev/null", "fio-store", STORE_IOCTL, 1, 0, &store) == -ENOTTY);
	CHECK(store_open(pool, "fio-store", STORE_ATOMIC, 1, 0, &store) == -EINVAL);
	CHECK(store_open(pool, "fio-store", STORE_ATOMIC, 1, STORE_RECORDS_MAX + 1,
			 &store) == -EINVAL);
	CHECK(store_open(pool, "", STORE_IOCTL, 1, 0, &store) < 0);
	CHECK(!store_open(pool, "fio-store", STORE_BATCH, 1, 0, &store));
	CHECK(!store_queue(store, &op));
	CHECK(store_queue(store, &op) == -EBUSY);
	store_close(store);
}

int main(int argc, char **argv)
{
	enum store_way way;
	bool has_commands;

	if (argc != 2) {
		fprintf(stderr, "usage: fio-store POOL\n");
		return 2;
	}
	has_commands = check_commands(argv[1]);
	for (way = STORE_IOCTL; way <= STORE_ATOMIC; way++) {
		if (way == STORE_URING && !has_commands)
			continue;
		check_way(argv[1], way);
		check_lengths(argv[1], way);
	}
	check_refusals(argv[1]);
	return failures != 0;
}
