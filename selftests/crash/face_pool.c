// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include <asm/byteorder.h>

#include "../../userlib/lib/reader.h"
#include "face_pool.h"

static struct wort_key key_of(const struct world_bytes *bytes)
{
	return (struct wort_key){ bytes->data, bytes->len };
}

static struct wort_value value_of(const struct world_bytes *bytes)
{
	return (struct wort_value){ bytes->data, bytes->len };
}

bool face_attached(const struct runner *r)
{
	return r->pool;
}

int face_attach(struct runner *r)
{
	int err = wort_pool_attach(&r->region, &r->pool);

	if (err)
		r->pool = NULL;
	return err;
}

void face_detach(struct runner *r)
{
	if (r->pool)
		wort_pool_detach(r->pool);
	r->pool = NULL;
}

int face_format(struct runner *r)
{
	struct wort_format_opts opts = { .label = "again" };

	return wort_pool_format(&r->region, &opts);
}

void face_settle(struct runner *r)
{
	while (shim_run_work())
		;
}

int face_check(struct runner *r, struct wort_check_arg *arg)
{
	return wort_pool_check(r->pool, arg);
}

__u64 face_space(struct runner *r)
{
	struct wort_alloc *alloc = &r->pool->alloc;

	if (alloc->walking)
		return 0;
	return (u64)alloc->geo.nr_extents << alloc->geo.extent_shift;
}

__u64 face_free(struct runner *r)
{
	struct wort_alloc *alloc = &r->pool->alloc;

	return alloc->walking ? 0 : (u64)alloc->nr_free << alloc->geo.extent_shift;
}

void face_damage(struct runner *r)
{
	wort_pool_damaged(r->pool);
}

__u32 face_nr_indexes(struct runner *r)
{
	return r->pool->nr_indexes;
}

bool face_damaged(struct runner *r)
{
	return r->pool->damaged;
}

bool face_has(const struct runner *r, __u32 index)
{
	return r->index[index];
}

int face_open(struct runner *r, __u32 index, __u32 flags)
{
	const struct world_engine *engine = world_engine_of(index);
	int err = wort_index_open(r->pool, (const u8 *)face_name(index), 1,
				  flags, engine->id, engine->attr,
				  &r->index[index]);

	if (err)
		r->index[index] = NULL;
	return err;
}

void face_close(struct runner *r, __u32 index)
{
	if (r->index[index])
		wort_index_put(r->index[index]);
	r->index[index] = NULL;
}

int face_destroy(struct runner *r, __u32 index)
{
	return wort_index_destroy(r->pool, (const u8 *)face_name(index), 1);
}

int face_rename(struct runner *r, __u32 index)
{
	int err = wort_index_rename(r->pool, (const u8 *)face_name(index), 1,
				    (const u8 *)face_name(!index), 1);

	if (err)
		return err;
	r->index[!index] = r->index[index];
	r->index[index] = NULL;
	return 0;
}

int face_put(struct runner *r, __u32 index, const struct world_bytes *key,
	     const struct world_bytes *value, const struct world_bytes *expect)
{
	struct wort_value expected;
	struct wort_put put = {
		.key = key_of(key), .value = value_of(value),
	};

	if (expect) {
		expected = value_of(expect);
		put.expect = &expected;
	}
	return wort_index_insert(r->index[index], &put);
}

int face_del(struct runner *r, __u32 index, const struct world_bytes *key)
{
	struct wort_key k = key_of(key);

	return wort_index_delete(r->index[index], &k, NULL, NULL);
}

int face_batch(struct runner *r, __u32 index, __u32 nr, const void *ops,
	       __u32 len, void *results, __u32 size)
{
	struct wort_batch batch = {
		.ops = ops, .ops_len = len, .nr_ops = nr,
		.results = results, .results_size = size, .write = true,
	};

	return wort_index_batch(r->index[index], &batch);
}

/*
 * By way of indexes that are opened with WORT_INDEX_OPEN_F_RELAXED.  A power cut must not
 * undo what a condition has found all the same, if the batch changes something.
 */
int face_atomic(struct runner *r, __u32 index, __u32 nr, const void *ops,
		__u32 len)
{
	struct wort_request reqs[BATCH_STEPS] = { };
	struct wort_index *indexes[BATCH_STEPS];
	struct wort_atomic batch = {
		.nr_ops = nr, .reqs = reqs, .indexes = indexes, .relaxed = true,
	};
	const struct wort_atomic_op *op = ops;
	const u8 *data;
	u32 i;

	for (i = 0; i < nr; i++) {
		data = (const u8 *)(op + 1);
		reqs[i].op = op->op;
		reqs[i].put.key = (struct wort_key){ data, op->op.key_len };
		data += op->op.key_len;
		reqs[i].put.value = (struct wort_value){ data, op->op.value_len };
		indexes[i] = r->index[op->index ? !index : index];
		op = (const void *)((const u8 *)op + op->op.rec_len);
	}
	return wort_pool_atomic(r->pool, &batch);
}

static u32 fail_reserve;	/* which call fails; 0: none */

/* With a purse there is always space. */
int __wrap_wort_alloc_reserve_slow(struct wort_op *op, u64 size)
{
	if (!fail_reserve || op->purse || --fail_reserve)
		return __real_wort_alloc_reserve_slow(op, size);
	op->released = op->alloc->released;
	return -ENOSPC;
}

bool face_fail(struct runner *r, __u32 what)
{
	bool failed = shim_alloc_fail_nth < 0 && !fail_reserve;

	(void)r;
	shim_alloc_fail_nth = what && what <= FAIL_MAX ? (long)what - 1 : -1;
	fail_reserve = what > FAIL_MAX ? what - FAIL_MAX : 0;
	return failed;
}

int face_lookup(struct runner *r, __u32 index, const struct world_bytes *key,
		void *buf, __u32 size, __u32 *len)
{
	struct wort_buf value = { .data = buf, .size = size };
	struct wort_key k = key_of(key);
	int err = wort_index_lookup(r->index[index], &k, &value);

	*len = value.len;
	return err;
}

int face_look(struct runner *r, __u32 index, const struct world_bytes *key,
	      void *buf, __u32 size, __u32 *len)
{
	struct wort_map_control *control = r->pool->locks.control;
	struct wort_reader reader = {
		.control = control,
		.pool = (const void *)r->region.base,
		.size = le64_to_cpu(r->pool->sb.pool_size),
	};
	struct wort_index_info_arg info;
	uint64_t destroyed, retries = 0;
	size_t room = size;
	int err;

	if (!(world_engine_of(index)->traits & WORT_TRAIT_MAPPABLE))
		return face_lookup(r, index, key, buf, size, len);
	wort_locks_map_state(&r->pool->locks, WORT_MAP_ASK, WORT_MAP_FOLLOW);
	destroyed = wort_reader_destroyed(&reader);
	wort_index_info(r->index[index], &info);
	/* As the ioctl would answer. */
	if (READ_ONCE(r->index[index]->dead))
		return -ESTALE;
	wort_reader_follow(&reader, info.out_engine);
	wort_reader_trust(&reader, destroyed, info.out_root_off);
	err = wort_reader_get(&reader, key->data, key->len, buf, &room,
			      &retries);
	*len = room;
	return err == -EAGAIN ? face_lookup(r, index, key, buf, size, len) :
				err;
}

int face_scan(struct runner *r, __u32 index, __u32 flags, void *buf,
	      __u32 size, __u32 *len)
{
	struct wort_scan scan = { .buf = buf, .buf_len = size, .flags = flags };
	int err = wort_index_scan(r->index[index], &scan);

	*len = scan.len;
	return !err && scan.more ? -ERANGE : err;
}

int face_count(struct runner *r, const char *name, __u64 *count)
{
	u8 last[WORT_KEY_MAX];
	struct wort_scan scan = {
		.buf = last, .buf_len = sizeof(last),
		.flags = WORT_SCAN_F_COUNT,
	};
	struct wort_index *index;
	int err;

	err = wort_index_open(r->pool, (const u8 *)name, strlen(name), 0, 0, 0,
			      &index);
	if (err)
		return err;
	err = wort_index_scan(index, &scan);
	wort_index_put(index);
	*count = scan.count;
	return err;
}
