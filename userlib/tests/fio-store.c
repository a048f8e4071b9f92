// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is below the engine for fio, against the module: fio-store POOL.  Silent
 * but for what fails; 0 if nothing does.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void check_refusals(const char *pool)
{
	struct store_op op = { .what = STORE_READ, .data = blocks, .len = SIZE };
	struct store *store = NULL;

	CHECK(store_open("/dev/null", "fio-store", STORE_IOCTL, 1, 0, &store) < 0);
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

	if (argc != 2) {
		fprintf(stderr, "usage: fio-store POOL\n");
		return 2;
	}
	for (way = STORE_IOCTL; way <= STORE_ATOMIC; way++)
		check_way(argv[1], way);
	check_refusals(argv[1]);
	return failures != 0;
}
