// SPDX-License-Identifier: GPL-2.0-only
/* The module's interface; each thread has descriptors of its own to use. */
#include "../kselftest/wort_test.h"
#include "face.h"
#include "look.h"

static struct pool pool;
static int index_a, index_c;
static void *map;
static size_t map_len;
static struct wort_reader reader;

static int open_with(const char *name)
{
	return open_index_with(pool.fd, name, WORT_INDEX_OPEN_F_CREATE,
			       stress_engine->id, stress_attr);
}

bool face_format(void)
{
	int err = pool_up(&pool), index;

	if (err)
		fail("format: %d", err);
	index = open_with("a");
	if (index >= 0)
		close(index);
	else if (index != -EOPNOTSUPP || !engine_is_for_tests(stress_engine->id))
		fail("index a: %d", index);
	close(pool.fd);
	detach_all(pool.control);
	return index >= 0;
}

static void map_pool(void)
{
	struct wort_index_info_arg about = { .size = sizeof(about) };
	struct wort_pool_info_arg all;

	if (info(pool.fd, &all) || call(index_a, WORT_IOC_INDEX_INFO, &about))
		fail("info");
	map_len = WORT_MAP_POOL_OFF + all.out_pool_size;
	map = mmap(NULL, map_len, PROT_READ, MAP_SHARED, pool.fd, 0);
	if (map == MAP_FAILED)
		fail("mmap: %d", -errno);
	reader = (struct wort_reader){
		.control = map + WORT_MAP_CONTROL_OFF,
		.pool = map + WORT_MAP_POOL_OFF,
		.size = all.out_pool_size,
		.root_off = about.out_root_off,
	};
	wort_reader_follow(&reader, about.out_engine);
}

void face_attach(void)
{
	int err = pool_attach(&pool, test_device(), 0);

	if (err)
		fail("attach: %d", err);
	index_a = open_with("a");
	if (index_a < 0)
		fail("index a: %d", index_a);
	index_c = open_with("c");
	if (index_c < 0)
		fail("index c: %d", index_c);
	map_pool();
}

void face_detach(void)
{
	munmap(map, map_len);
	close(index_a);
	close(index_c);
	close(pool.fd);
	detach_all(pool.control);
}

void face_thread_begin(unsigned int nr)
{
}

void face_thread_end(void)
{
}

int face_put(const void *key, __u32 key_len, const void *value, __u32 len)
{
	return insert_raw(index_a, key, key_len, value, len, 0);
}

int face_del(const void *key, __u32 key_len)
{
	return delete_raw(index_a, key, key_len);
}

int face_get(const void *key, __u32 key_len, void *value, __u32 *len)
{
	int ret = lookup_raw(index_a, key, key_len, value, *len, len);

	return ret < 0 ? ret : 0;
}

int face_look(const void *key, __u32 key_len, void *value, __u32 *len)
{
	return look_or_ask(&reader, key, key_len, value, len);
}

__u64 face_root_off(void)
{
	struct wort_index_info_arg about = { .size = sizeof(about) };

	if (call(index_a, WORT_IOC_INDEX_INFO, &about))
		fail("info");
	return about.out_root_off;
}

int face_cas(const void *key, __u32 key_len, const void *expect,
	     __u32 expect_len, const void *value, __u32 len)
{
	struct wort_cas_arg arg = {
		.size = sizeof(arg),
		.key_ptr = PTR(key),
		.key_len = key_len,
		.expect_ptr = PTR(expect),
		.expect_len = expect_len,
		.value_ptr = PTR(value),
		.value_len = len,
	};

	return call(index_a, WORT_IOC_CAS, &arg);
}

int face_batch(__u32 nr, const void *ops, __u32 ops_len, void *results,
	       __u32 results_len)
{
	struct wort_batch_arg arg = {
		.size = sizeof(arg),
		.ops_ptr = PTR(ops),
		.results_ptr = PTR(results),
		.ops_len = ops_len,
		.results_len = results_len,
		.nr_ops = nr,
	};

	return call(index_a, WORT_IOC_BATCH, &arg);
}

int face_get_c(const void *key, __u32 key_len, void *value, __u32 *len)
{
	int ret = lookup_raw(index_c, key, key_len, value, *len, len);

	return ret < 0 ? ret : 0;
}

static __u32 pack(const struct face_atomic_op *op, __u8 *at)
{
	struct wort_atomic_op head = {
		.op = {
			.op = op->op, .flags = op->flags, .key_len = op->key_len,
			.expect_len = op->expect_len, .value_len = op->value_len,
			.max_len = op->max_len,
		},
		.index = op->in_c,
	};
	__u8 *to = at + sizeof(head);

	memcpy(to, op->key, op->key_len);
	to += op->key_len;
	if (op->expect_len)
		memcpy(to, op->expect, op->expect_len);
	to += op->expect_len;
	if (op->value_len)
		memcpy(to, op->value, op->value_len);
	to += op->value_len;
	head.op.rec_len = (to - at + 7) / 8 * 8;
	memcpy(at, &head, sizeof(head));
	return head.op.rec_len;
}

static void unpack(struct face_atomic_op *ops, __u32 nr, const __u8 *from)
{
	struct wort_batch_result result;
	__u32 i;

	for (i = 0; i < nr; i++, from += result.rec_len) {
		memcpy(&result, from, sizeof(result));
		ops[i].out_err = result.error;
		ops[i].out_len = result.value_len;
		if (!result.error && ops[i].answer)
			memcpy(ops[i].answer, from + sizeof(result),
			       result.value_len);
	}
}

int face_atomic(struct face_atomic_op *ops, __u32 nr, __u32 *refused)
{
	__u8 in[40 * 192] = { 0 }, out[40 * 96];
	struct wort_atomic_arg arg = {
		.size = sizeof(arg),
		.ops_ptr = PTR(in),
		.results_ptr = PTR(out),
		.fds_ptr = PTR(&index_c),
		.results_len = sizeof(out),
		.nr_ops = nr,
		.nr_fds = 1,
	};
	__u32 i;
	int err;

	for (i = 0; i < nr; i++)
		arg.ops_len += pack(&ops[i], in + arg.ops_len);
	err = call(index_a, WORT_IOC_ATOMIC, &arg);
	if (!err)
		unpack(ops, nr, out);
	if (refused)
		*refused = arg.out_refused;
	return err;
}

int face_scan(struct face_scan *scan)
{
	struct wort_scan_arg arg = {
		.size = sizeof(arg),
		.flags = (scan->reverse ? WORT_SCAN_F_REVERSE : 0) |
			 (scan->after_len ? WORT_SCAN_F_AFTER : 0),
		.start_ptr = PTR(scan->after),
		.start_len = scan->after_len,
		.buf_ptr = PTR(scan->buf),
		.buf_len = scan->buf_len,
	};
	int err = call(index_a, WORT_IOC_SCAN, &arg);

	scan->out_len = arg.out_len;
	scan->out_more = arg.out_more;
	return err;
}

void face_other_index(void)
{
	int i, index = open_with("b");

	for (i = 0; i < 200; i++)
		if (insert_raw(index, &i, sizeof(i), &i, sizeof(i), 0))
			fail("index b: insert");
	if (destroy(pool.fd, "b"))
		fail("index b: destroy");
	close(index);
}

void face_rename(void)
{
	if (rename_index(pool.fd, "a", "renamed") ||
	    rename_index(pool.fd, "renamed", "a"))
		fail("index a: rename");
}

void face_shrink(void)
{
	if (write_file("/proc/sys/vm/drop_caches", "2"))
		fail("caches cannot be dropped");
}

int face_other_put(__u32 key)
{
	int err, index = open_index(pool.fd, "b", 0);

	if (index < 0)
		return index;
	err = insert_raw(index, &key, sizeof(key), &key, sizeof(key), 0);
	close(index);
	return err;
}

void face_freeze(void)
{
	struct wort_freeze_arg arg = { .size = sizeof(arg) };
	int err = call(pool.fd, WORT_IOC_FREEZE, &arg);

	if (err)
		fail("freeze: %d", err);
}

void face_thaw(void)
{
	struct wort_freeze_arg arg = {
		.size = sizeof(arg), .flags = WORT_FREEZE_F_THAW,
	};

	if (call(pool.fd, WORT_IOC_FREEZE, &arg))
		fail("thaw");
}

__u64 face_check(void)
{
	struct wort_check_arg arg;
	int err = check(pool.fd, 0, &arg);

	if (err)
		fail("check: %d", err);
	return arg.out_nr_damaged;
}
