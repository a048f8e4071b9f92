// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <wort.h>
#include <wort_uring.h>

#include "store.h"

union arg {
	struct wort_insert_arg insert;
	struct wort_lookup_arg lookup;
	struct wort_delete_arg delete;
};

/* An operation that is queued or under way, and what the kernel looks at. */
struct slot {
	struct store_op op;
	uint64_t key;
	union arg arg;
	struct slot *next;
};

struct store {
	enum store_way way;
	struct wort_pool *pool;
	struct wort_index *index;
	struct wort_batch *batch;
	struct wort_atomic *atomic;
	unsigned int records;	/* of a block in an atomic batch */
	struct io_uring ring;
	bool ring_open;
	unsigned int depth, nr_queued, nr_ready;
	struct slot *slots, *free;
	struct slot **queued;	/* in their order */
	struct slot **ready;	/* done, not reaped */
	struct store_op *done;	/* reaped last */
};

/* ---- one at a time ---- */

/*
 * A block that was never written reads as zeroes, as on a disk.  A record of another length
 * is of an index that was filled with blocks of another size.
 */
static int read_done(const struct store_op *op, int err, size_t len)
{
	if (!err)
		return len == op->len ? 0 : -ERANGE;
	if (err != -ENOENT)
		return err;
	memset(op->data, 0, op->len);
	return 0;
}

static int run(struct store *store, const struct store_op *op)
{
	uint64_t key = htobe64(op->block);
	size_t len = op->len;
	int err;

	switch (op->what) {
	case STORE_READ:
		err = wort_get(store->index, &key, sizeof(key), op->data, &len);
		return read_done(op, err, len);
	case STORE_WRITE:
		return wort_put(store->index, &key, sizeof(key), op->data,
				op->len, 0);
	default:
		err = wort_del(store->index, &key, sizeof(key));
		return err == -ENOENT ? 0 : err;
	}
}

/* ---- atomic batches ---- */

/* A part of a block, which is a record; its key is told. */
static size_t part_of(const struct store *store, const struct store_op *op,
		      unsigned int nr, uint64_t *key, char **data)
{
	size_t from = op->len * nr / store->records;

	*key = htobe64(op->block * store->records + nr);
	*data = (char *)op->data + from;
	return op->len * (nr + 1) / store->records - from;
}

static int atomic_add(struct store *store, const struct store_op *op, unsigned int nr)
{
	uint64_t key;
	char *data;
	size_t len = part_of(store, op, nr, &key, &data);

	switch (op->what) {
	case STORE_READ:
		return wort_atomic_get(store->atomic, store->index, &key, sizeof(key),
				       len);
	case STORE_WRITE:
		return wort_atomic_put(store->atomic, store->index, &key, sizeof(key),
				       data, len, 0);
	default:
		return wort_atomic_del(store->atomic, store->index, &key, sizeof(key));
	}
}

static int atomic_answer(struct store *store, const struct store_op *op,
			 unsigned int nr)
{
	struct store_op part = { 0 };
	struct wort_batch_item item;
	uint64_t key;
	char *data;

	part.len = part_of(store, op, nr, &key, &data);
	part.data = data;
	if (wort_atomic_next(store->atomic, &item) != 1)
		return -EIO;
	if (!item.error)
		memcpy(data, item.value, item.value_len);
	return read_done(&part, item.error, item.value_len);
}

static int run_atomic(struct store *store, const struct store_op *op)
{
	unsigned int i;
	int err = 0;

	wort_atomic_reset(store->atomic);
	for (i = 0; i < store->records && !err; i++)
		err = atomic_add(store, op, i);
	if (!err)
		err = wort_atomic_commit(store->atomic, NULL);
	/* Either all records of a block are there or none. */
	if (op->what == STORE_TRIM && err == -ENOENT)
		return 0;
	for (i = 0; i < store->records && !err && op->what == STORE_READ; i++)
		err = atomic_answer(store, op, i);
	return err;
}

/* ---- slots ---- */

static void slot_ready(struct store *store, struct slot *slot, int err)
{
	slot->op.error = err;
	store->ready[store->nr_ready++] = slot;
}

static void slots_init(struct store *store)
{
	unsigned int i;

	for (i = 0; i < store->depth; i++) {
		store->slots[i].next = store->free;
		store->free = &store->slots[i];
	}
}

/* ---- batches ---- */

static int batch_add(struct store *store, const struct slot *slot)
{
	const struct store_op *op = &slot->op;

	switch (op->what) {
	case STORE_READ:
		return wort_batch_get(store->batch, &slot->key,
				      sizeof(slot->key), op->len);
	case STORE_WRITE:
		return wort_batch_put(store->batch, &slot->key,
				      sizeof(slot->key), op->data, op->len, 0);
	default:
		return wort_batch_del(store->batch, &slot->key,
				      sizeof(slot->key));
	}
}

static int batch_answer(const struct store_op *op,
			const struct wort_batch_item *item)
{
	if (op->what == STORE_TRIM)
		return item->error == -ENOENT ? 0 : item->error;
	if (op->what == STORE_WRITE)
		return item->error;
	if (!item->error)
		memcpy(op->data, item->value, item->value_len);
	return read_done(op, item->error, item->value_len);
}

/* Submit the queued ones from @first on that have room; returns where to go on. */
static unsigned int batch_part(struct store *store, unsigned int first)
{
	struct wort_batch_item item;
	unsigned int end, i;
	int failed, err = 0;

	wort_batch_reset(store->batch);
	for (end = first; end < store->nr_queued && !err; end += !err)
		err = batch_add(store, store->queued[end]);
	if (end == first) {
		slot_ready(store, store->queued[first], err);
		return first + 1;
	}
	failed = wort_batch_submit(store->batch, store->index, 0) ?: -EIO;
	for (i = first; i < end; i++) {
		err = failed;
		if (wort_batch_next(store->batch, &item) == 1)
			err = batch_answer(&store->queued[i]->op, &item);
		slot_ready(store, store->queued[i], err);
	}
	return end;
}

static int batch_commit(struct store *store)
{
	unsigned int at = 0;

	while (at < store->nr_queued)
		at = batch_part(store, at);
	store->nr_queued = 0;
	return 0;
}

/* ---- io_uring ---- */

static unsigned long ring_command(struct slot *slot)
{
	const struct store_op *op = &slot->op;
	union arg *arg = &slot->arg;

	memset(arg, 0, sizeof(*arg));
	switch (op->what) {
	case STORE_READ:
		arg->lookup.size = sizeof(arg->lookup);
		arg->lookup.key_ptr = (uintptr_t)&slot->key;
		arg->lookup.key_len = sizeof(slot->key);
		arg->lookup.value_ptr = (uintptr_t)op->data;
		arg->lookup.value_len = op->len;
		return WORT_IOC_LOOKUP;
	case STORE_WRITE:
		arg->insert.size = sizeof(arg->insert);
		arg->insert.key_ptr = (uintptr_t)&slot->key;
		arg->insert.key_len = sizeof(slot->key);
		arg->insert.value_ptr = (uintptr_t)op->data;
		arg->insert.value_len = op->len;
		return WORT_IOC_INSERT;
	default:
		arg->delete.size = sizeof(arg->delete);
		arg->delete.key_ptr = (uintptr_t)&slot->key;
		arg->delete.key_len = sizeof(slot->key);
		return WORT_IOC_DELETE;
	}
}

static int ring_answer(const struct slot *slot, int res)
{
	if (slot->op.what == STORE_READ)
		return read_done(&slot->op, res, slot->arg.lookup.out_value_len);
	if (slot->op.what == STORE_TRIM && res == -ENOENT)
		return 0;
	return res;
}

static int ring_commit(struct store *store)
{
	struct io_uring_sqe *sqe;
	unsigned int i;
	int submitted = 0;

	for (i = 0; i < store->nr_queued; i++) {
		struct slot *slot = store->queued[i];

		sqe = io_uring_get_sqe(&store->ring);
		if (!sqe)
			return -EBUSY;
		wort_uring_prep(sqe, wort_index_fd(store->index),
				ring_command(slot), &slot->arg);
		io_uring_sqe_set_data(sqe, slot);
	}
	store->nr_queued = 0;
	while (submitted >= 0 && io_uring_sq_ready(&store->ring))
		submitted = io_uring_submit(&store->ring);
	return submitted < 0 ? submitted : 0;
}

static int ring_wait(struct store *store, unsigned int min)
{
	struct io_uring_cqe *cqe;
	struct slot *slot;
	int err;

	while (store->nr_ready < min) {
		err = io_uring_wait_cqe(&store->ring, &cqe);
		if (err == -EINTR)
			continue;
		if (err)
			return err;
		slot = io_uring_cqe_get_data(cqe);
		slot_ready(store, slot, ring_answer(slot, cqe->res));
		io_uring_cqe_seen(&store->ring, cqe);
	}
	while (!io_uring_peek_cqe(&store->ring, &cqe)) {
		slot = io_uring_cqe_get_data(cqe);
		slot_ready(store, slot, ring_answer(slot, cqe->res));
		io_uring_cqe_seen(&store->ring, cqe);
	}
	return 0;
}

/* ---- what the engine calls ---- */

bool store_queues(const struct store *store)
{
	return store->way == STORE_BATCH || store->way == STORE_URING;
}

int store_queue(struct store *store, struct store_op *op)
{
	struct slot *slot = store->free;

	if (!store_queues(store)) {
		op->error = store->way == STORE_ATOMIC ? run_atomic(store, op) :
							 run(store, op);
		return 0;
	}
	if (!slot)
		return -EBUSY;
	store->free = slot->next;
	slot->op = *op;
	slot->key = htobe64(op->block);
	store->queued[store->nr_queued++] = slot;
	return 0;
}

int store_commit(struct store *store)
{
	if (!store->nr_queued)
		return 0;
	return store->way == STORE_BATCH ? batch_commit(store) :
					   ring_commit(store);
}

int store_reap(struct store *store, unsigned int min, unsigned int max)
{
	unsigned int i, nr;
	int err = 0;

	if (store->way == STORE_URING)
		err = ring_wait(store, min);
	if (err)
		return err;
	nr = store->nr_ready < max ? store->nr_ready : max;
	for (i = 0; i < nr; i++) {
		struct slot *slot = store->ready[i];

		store->done[i] = slot->op;
		slot->next = store->free;
		store->free = slot;
	}
	store->nr_ready -= nr;
	memmove(store->ready, store->ready + nr,
		store->nr_ready * sizeof(*store->ready));
	return nr;
}

const struct store_op *store_done(const struct store *store, unsigned int nr)
{
	return &store->done[nr];
}

static int open_queues(struct store *store)
{
	int err = 0;

	store->slots = calloc(store->depth, sizeof(*store->slots));
	store->queued = calloc(store->depth, sizeof(*store->queued));
	store->ready = calloc(store->depth, sizeof(*store->ready));
	store->done = calloc(store->depth, sizeof(*store->done));
	if (!store->slots || !store->queued || !store->ready || !store->done)
		return -ENOMEM;
	slots_init(store);
	if (store->way == STORE_BATCH)
		err = wort_batch_new(NULL, &store->batch);
	if (store->way == STORE_ATOMIC)
		err = wort_atomic_new(&store->atomic);
	if (store->way == STORE_URING) {
		err = io_uring_queue_init(store->depth, &store->ring, 0);
		store->ring_open = !err;
	}
	return err;
}

/* The commands of io_uring go to a device; a pool in a file is served in this process. */
static bool takes_commands(const struct wort_pool *pool)
{
	struct stat st;

	return !fstat(wort_pool_fd(pool), &st) && S_ISCHR(st.st_mode);
}

static int open_index(struct store *store, const char *pool, const char *index)
{
	struct wort_index_opts opts = {
		.sz = sizeof(opts), .flags = WORT_INDEX_OPEN_F_CREATE,
	};
	int err = wort_pool_open(pool, O_RDWR, &store->pool);

	if (!err && store->way == STORE_URING && !takes_commands(store->pool))
		err = -EOPNOTSUPP;
	if (!err && store->way == STORE_MAPPED)
		err = wort_pool_map(store->pool);
	return err ? err : wort_index_open(store->pool, index, &opts,
					   &store->index);
}

int store_open(const char *pool, const char *index, enum store_way way,
	       unsigned int depth, unsigned int records, struct store **out)
{
	struct store *store;
	int err;

	if (way == STORE_ATOMIC && (!records || records > STORE_RECORDS_MAX))
		return -EINVAL;
	store = calloc(1, sizeof(*store));
	if (!store)
		return -ENOMEM;
	store->records = records;
	store->way = way;
	store->depth = depth ? depth : 1;
	err = open_index(store, pool, index);
	if (!err)
		err = open_queues(store);
	if (err) {
		store_close(store);
		return err;
	}
	*out = store;
	return 0;
}

void store_close(struct store *store)
{
	if (store->ring_open)
		io_uring_queue_exit(&store->ring);
	if (store->batch)
		wort_batch_free(store->batch);
	if (store->atomic)
		wort_atomic_free(store->atomic);
	if (store->index)
		wort_index_close(store->index);
	if (store->pool)
		wort_pool_close(store->pool);
	free(store->slots);
	free(store->queued);
	free(store->ready);
	free(store->done);
	free(store);
}
