// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the sample calls of the interface for kernel code, over a pool in memory.
 * As kmod/dev/api.c, which has the contracts, but no device can be removed here.
 */
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/wort_kernel.h>

#include "host.h"

struct wort_kernel_index {
	struct wort_index *index;
	struct wort_pool *pool;
};

static struct pmpool *host;

int dirindex_load(struct pmpool *pm)
{
	host = pm;
	return dirindex_module_init();
}

void dirindex_unload(void)
{
	dirindex_module_exit();
}

struct wort_kernel_pool *wort_kernel_pool_open(const char *name)
{
	return (struct wort_kernel_pool *)host;
}

void wort_kernel_pool_close(struct wort_kernel_pool *pool)
{
}

struct wort_kernel_index *
wort_kernel_index_open(struct wort_kernel_pool *pool, const char *name,
		       u32 flags, u32 engine)
{
	struct wort_kernel_index *index = kmalloc(sizeof(*index), GFP_KERNEL);

	if (!index)
		return ERR_PTR(-ENOMEM);
	index->pool = host->pool;
	index->index = pmpool_index(host, name);
	return index;
}

void wort_kernel_index_close(struct wort_kernel_index *index)
{
	wort_index_put(index->index);
	kfree(index);
}

int wort_kernel_lookup(struct wort_kernel_index *index,
		       const struct wort_kernel_bytes *key, void *value,
		       u32 size)
{
	struct wort_key k = { key->data, key->len };
	struct wort_buf buf = { .data = value, .size = size };
	int err = wort_index_lookup(index->index, &k, &buf);

	return err ? err : buf.len;
}

int wort_kernel_insert(struct wort_kernel_index *index,
		       const struct wort_kernel_bytes *key,
		       const struct wort_kernel_bytes *value,
		       const struct wort_kernel_bytes *expect, u32 flags)
{
	struct wort_key k = { key->data, key->len };
	struct wort_value v = { value->data, value->len }, seen;
	struct wort_put put;

	wort_put_init(&put, &k, &v, flags);
	if (expect) {
		seen = (struct wort_value){ expect->data, expect->len };
		put.expect = &seen;
	}
	return wort_index_insert(index->index, &put);
}

int wort_kernel_delete(struct wort_kernel_index *index,
		       const struct wort_kernel_bytes *key,
		       const struct wort_kernel_bytes *expect)
{
	struct wort_key k = { key->data, key->len };
	struct wort_value seen;

	if (expect)
		seen = (struct wort_value){ expect->data, expect->len };
	return wort_index_delete(index->index, &k, expect ? &seen : NULL, NULL);
}

static void op_request(const struct wort_kernel_op *op, struct wort_request *req)
{
	*req = (struct wort_request){
		.op = {
			.rec_len = 1,
			.op = op->op,
			.flags = op->flags,
			.key_len = op->key.len,
			.expect_len = op->expect.len,
			.value_len = op->value.len,
			.max_len = op->old.size,
		},
		.put.key = { op->key.data, op->key.len },
		.put.value = { op->value.data, op->value.len },
		.expect = { op->expect.data, op->expect.len },
		.answer = { .data = op->old.data, .size = op->old.size },
	};
}

int wort_kernel_batch(struct wort_kernel_index *index,
		      struct wort_kernel_op *ops, u32 nr, u32 flags)
{
	static struct wort_request reqs[WORT_PREFETCH_MAX];
	struct wort_batch batch = { .flags = flags, .write = true, .reqs = reqs };
	int err;
	u32 i;

	batch.nr_ops = min_t(u32, nr, WORT_PREFETCH_MAX);
	for (i = 0; i < batch.nr_ops; i++)
		op_request(&ops[i], &reqs[i]);
	err = wort_index_batch(index->index, &batch);
	for (i = 0; i < batch.done; i++)
		ops[i].err = reqs[i].err;
	return batch.done ? batch.done : err;
}

int wort_kernel_atomic(struct wort_kernel_atomic_op *ops, u32 nr, u32 *refused)
{
	static struct wort_request reqs[WORT_ATOMIC_MAX];
	static struct wort_index *indexes[WORT_ATOMIC_MAX];
	struct wort_atomic batch = {
		.nr_ops = nr, .reqs = reqs, .indexes = indexes,
	};
	u32 i;

	for (i = 0; i < nr; i++) {
		op_request(&ops[i].op, &reqs[i]);
		indexes[i] = ops[i].index->index;
	}
	return wort_pool_atomic(ops[0].index->pool, &batch);
}

int wort_kernel_scan(struct wort_kernel_index *index,
		     struct wort_kernel_scan *scan)
{
	struct wort_key start = { scan->start.data, scan->start.len };
	struct wort_key bound = { scan->bound.data, scan->bound.len };
	struct wort_scan s = {
		.flags = scan->flags,
		.start = start.len ? &start : NULL,
		.bound = bound.len ? &bound : NULL,
		.max = scan->max_count,
		.buf = scan->buf,
		.buf_len = scan->buf_len,
	};
	int err = wort_index_scan(index->index, &s);
	const struct wort_record *last = scan->buf + s.last;

	scan->count = s.count;
	scan->len = s.len;
	scan->more = s.more;
	if (s.more) {
		scan->flags |= WORT_SCAN_F_AFTER;
		scan->start.data = wort_kernel_record_key(last);
		scan->start.len = last->key_len;
	}
	return err;
}

int wort_kernel_state(struct wort_kernel_index *index)
{
	return 0;
}

int wort_kernel_wait_lost(struct wort_kernel_index *index, long timeout)
{
	return 0;
}
