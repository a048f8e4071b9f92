// SPDX-License-Identifier: GPL-2.0-only
/* The pool layer in this process, with threads. */
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/turn.h>

#include "../../kmod/pool/gate.h"
#include "face.h"
#include "look.h"
#include "pmpool.h"

#define POOL_SIZE	(64 << 20)

__thread u32 shim_random;

static struct pmpool pm;
static struct wort_index *index_a, *index_c;
static struct wort_reader reader;

bool face_format(void)
{
	if (pm.region.base)
		pmpool_unmap(&pm);
	else
		face_thread_begin(SHIM_CPUS - 2);
	pmpool_engine = stress_engine->id;
	pmpool_attr = stress_attr;
	pmpool_map(&pm, POOL_SIZE, false);
	pmpool_format(&pm, 0);
	return true;
}

void face_attach(void)
{
	pmpool_attach(&pm);
	index_a = pmpool_index(&pm, "a");
	index_c = pmpool_index(&pm, "c");
	pm_reader(index_a, &reader);
}

void face_detach(void)
{
	wort_index_put(index_a);
	wort_index_put(index_c);
	pmpool_detach(&pm);
}

void face_thread_begin(unsigned int nr)
{
	shim_thread_begin(nr);
	shim_random = nr;
}

void face_thread_end(void)
{
	shim_thread_end();
}

int face_put(const void *key, __u32 key_len, const void *value, __u32 len)
{
	return pm_put(index_a, key, key_len, value, len);
}

int face_del(const void *key, __u32 key_len)
{
	return pm_del(index_a, key, key_len);
}

int face_get(const void *key, __u32 key_len, void *value, __u32 *len)
{
	return pm_get(index_a, key, key_len, value, len);
}

int face_look(const void *key, __u32 key_len, void *value, __u32 *len)
{
	return look_or_ask(&reader, key, key_len, value, len);
}

__u64 face_root_off(void)
{
	struct wort_index_info_arg about;

	wort_index_info(index_a, &about);
	return about.out_root_off;
}

int face_cas(const void *key, __u32 key_len, const void *expect,
	     __u32 expect_len, const void *value, __u32 len)
{
	struct wort_value expected = { expect, expect_len };
	struct wort_put put = {
		.key = { key, key_len },
		.value = { value, len },
		.expect = &expected,
	};

	return wort_index_insert(index_a, &put);
}

int face_batch(__u32 nr, const void *ops, __u32 ops_len, void *results,
	       __u32 results_len)
{
	struct wort_batch batch = {
		.nr_ops = nr,
		.ops = ops,
		.ops_len = ops_len,
		.results = results,
		.results_size = results_len,
		.write = true,
	};

	return wort_index_batch(index_a, &batch);
}

int face_get_c(const void *key, __u32 key_len, void *value, __u32 *len)
{
	return pm_get(index_c, key, key_len, value, len);
}

static struct wort_request request_of(const struct face_atomic_op *op)
{
	return (struct wort_request){
		.op = {
			.op = op->op, .flags = op->flags, .key_len = op->key_len,
			.expect_len = op->expect_len, .value_len = op->value_len,
			.max_len = op->max_len,
		},
		.put.key = { op->key, op->key_len },
		.put.value = { op->value, op->value_len },
		.expect = { op->expect, op->expect_len },
		.answer = { .data = op->answer, .size = op->max_len },
	};
}

int face_atomic(struct face_atomic_op *ops, __u32 nr, __u32 *refused)
{
	struct wort_index *indexes[WORT_ATOMIC_MAX];
	struct wort_request reqs[WORT_ATOMIC_MAX];
	struct wort_atomic batch = {
		.nr_ops = nr, .reqs = reqs, .indexes = indexes,
	};
	u32 i;
	int err;

	for (i = 0; i < nr; i++) {
		reqs[i] = request_of(&ops[i]);
		indexes[i] = ops[i].in_c ? index_c : index_a;
		err = wort_atomic_verify(&reqs[i].op, true);
		if (err)
			fail("operation %u of an atomic batch: %d", i, err);
	}
	err = wort_pool_atomic(pm.pool, &batch);
	for (i = 0; i < nr && !err; i++) {
		ops[i].out_err = reqs[i].err;
		ops[i].out_len = reqs[i].answer.len;
	}
	if (refused)
		*refused = batch.refused;
	return err;
}

int face_scan(struct face_scan *scan)
{
	struct wort_key after = { scan->after, scan->after_len };
	struct wort_scan arg = {
		.flags = (scan->reverse ? WORT_SCAN_F_REVERSE : 0) |
			 (after.len ? WORT_SCAN_F_AFTER : 0),
		.start = after.len ? &after : NULL,
		.buf = scan->buf,
		.buf_len = scan->buf_len,
	};
	int err = wort_index_scan(index_a, &arg);

	scan->out_len = arg.len;
	scan->out_more = arg.more;
	return err;
}

void face_other_index(void)
{
	struct wort_index *index = pmpool_index(&pm, "b");
	u32 i;

	for (i = 0; i < 200; i++)
		if (pm_put(index, &i, sizeof(i), &i, sizeof(i)))
			fail("index b: insert");
	if (wort_index_destroy(pm.pool, (const u8 *)"b", 1))
		fail("index b: destroy");
	wort_index_put(index);
}

void face_rename(void)
{
	static const u8 name[] = "a", other[] = "renamed";

	if (wort_index_rename(pm.pool, name, 1, other, 7) ||
	    wort_index_rename(pm.pool, other, 7, name, 1))
		fail("index a: rename");
}

void face_shrink(void)
{
	/* The first call sees the batches that have been. */
	if (wort_gates_rest(pm.pool))
		wort_gates_rest(pm.pool);
	wort_pool_shrink(pm.pool, wort_pool_spare_bytes(pm.pool) / 2);
}

int face_other_put(__u32 key)
{
	struct wort_index *index;
	int err = wort_index_open(pm.pool, (const u8 *)"b", 1, 0, 0, 0, &index);

	if (err)
		return err;
	err = pm_put(index, &key, sizeof(key), &key, sizeof(key));
	wort_index_put(index);
	return err;
}

static bool held;

void face_freeze(void)
{
	int err = wort_pool_hold(pm.pool, &held);

	if (err)
		fail("freeze: %d", err);
}

void face_thaw(void)
{
	if (wort_pool_release(pm.pool, &held))
		fail("thaw");
}

__u64 face_check(void)
{
	struct wort_check_arg arg = { .size = sizeof(arg) };
	int err = wort_pool_check(pm.pool, &arg);

	if (err)
		fail("check: %d", err);
	return arg.out_nr_damaged;
}
