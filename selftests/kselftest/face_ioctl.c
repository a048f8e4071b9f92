// SPDX-License-Identifier: GPL-2.0-only
#include "face_ioctl.h"

bool face_attached(const struct runner *r)
{
	return r->minor >= 0;
}

int face_attach(struct runner *r)
{
	r->minor = attach(r->control, r->device);
	if (r->minor < 0)
		return r->minor;
	r->pool = open_pool(r->minor, O_RDWR);
	return r->pool < 0 ? r->pool : 0;
}

void face_detach(struct runner *r)
{
	if (r->minor < 0)
		return;
	close(r->pool);
	detach(r->control, r->minor);
	r->minor = -1;
}

int face_format(struct runner *r)
{
	return format(r->control, r->device, WORT_FORMAT_F_FORCE);
}

static bool busy(struct runner *r)
{
	struct wort_pool_info_arg arg;

	return !info(r->pool, &arg) && !(arg.out_state & WORT_STATE_DAMAGED) &&
	       (arg.out_nr_dying || arg.out_state & WORT_STATE_WALKING);
}

/*
 * The walk cannot end when it has met a damaged index; then it is for others to
 * say what is wrong.
 */
void face_settle(struct runner *r)
{
	int tries = 50000;

	while (busy(r) && tries--)
		usleep(200);
}

int face_check(struct runner *r, struct wort_check_arg *arg)
{
	return check(r->pool, arg->flags, arg);
}

__u64 face_space(struct runner *r)
{
	struct wort_pool_info_arg arg;

	if (info(r->pool, &arg) || arg.out_state & WORT_STATE_WALKING)
		return 0;
	return arg.out_nr_extents * arg.out_extent_size;
}

__u64 face_free(struct runner *r)
{
	struct wort_pool_info_arg arg;

	if (info(r->pool, &arg) || arg.out_state & WORT_STATE_WALKING)
		return 0;
	return arg.out_free_extents * arg.out_extent_size;
}

void face_damage(struct runner *r)
{
	(void)r;
	fprintf(stderr, "the module damages no pool when told to\n");
	abort();
}

__u32 face_nr_indexes(struct runner *r)
{
	struct wort_pool_info_arg arg;

	return info(r->pool, &arg) ? 0 : arg.out_nr_indexes;
}

bool face_damaged(struct runner *r)
{
	struct wort_pool_info_arg arg;

	return !info(r->pool, &arg) && arg.out_state & WORT_STATE_DAMAGED;
}

bool face_has(const struct runner *r, __u32 index)
{
	return r->index[index] >= 0;
}

int face_open(struct runner *r, __u32 index, __u32 flags)
{
	const struct world_engine *engine = world_engine_of(index);

	r->index[index] = open_index_with(r->pool, face_name(index), flags,
					  engine->id, engine->attr);
	return r->index[index] < 0 ? r->index[index] : 0;
}

void face_close(struct runner *r, __u32 index)
{
	if (r->index[index] >= 0)
		close(r->index[index]);
	r->index[index] = -1;
}

int face_destroy(struct runner *r, __u32 index)
{
	return destroy(r->pool, face_name(index));
}

int face_rename(struct runner *r, __u32 index)
{
	int err = rename_index(r->pool, face_name(index), face_name(!index));

	if (err)
		return err;
	r->index[!index] = r->index[index];
	r->index[index] = -1;
	return 0;
}

int face_put(struct runner *r, __u32 index, const struct world_bytes *key,
	     const struct world_bytes *value, const struct world_bytes *expect)
{
	struct wort_cas_arg arg = {
		.size = sizeof(arg),
		.key_ptr = PTR(key->data),
		.key_len = key->len,
		.value_ptr = PTR(value->data),
		.value_len = value->len,
	};

	if (!expect)
		return insert_raw(r->index[index], key->data, key->len,
				  value->data, value->len, 0);
	arg.expect_ptr = PTR(expect->data);
	arg.expect_len = expect->len;
	return call(r->index[index], WORT_IOC_CAS, &arg);
}

int face_del(struct runner *r, __u32 index, const struct world_bytes *key)
{
	return delete_raw(r->index[index], key->data, key->len);
}

int face_batch(struct runner *r, __u32 index, __u32 nr, const void *ops,
	       __u32 len, void *results, __u32 size)
{
	struct wort_batch_arg arg = {
		.size = sizeof(arg),
		.ops_ptr = PTR(ops),
		.results_ptr = PTR(results),
		.ops_len = len,
		.results_len = size,
		.nr_ops = nr,
	};

	return call(r->index[index], WORT_IOC_BATCH, &arg);
}

int face_atomic(struct runner *r, __u32 index, __u32 nr, const void *ops,
		__u32 len)
{
	struct wort_batch_result results[BATCH_STEPS];
	int other = r->index[!index];
	struct wort_atomic_arg arg = {
		.size = sizeof(arg),
		.ops_ptr = PTR(ops),
		.results_ptr = PTR(results),
		.fds_ptr = PTR(&other),
		.ops_len = len,
		.results_len = sizeof(results),
		.nr_ops = nr,
		.nr_fds = face_has(r, !index),
	};

	return call(r->index[index], WORT_IOC_ATOMIC, &arg);
}

bool face_fail(struct runner *r, __u32 what)
{
	(void)r;
	(void)what;
	return false;
}

int face_lookup(struct runner *r, __u32 index, const struct world_bytes *key,
		void *buf, __u32 size, __u32 *len)
{
	int err = lookup_raw(r->index[index], key->data, key->len, buf, size,
			     len);

	return err < 0 ? err : 0;
}

int face_scan(struct runner *r, __u32 index, __u32 flags, void *buf,
	      __u32 size, __u32 *len)
{
	struct wort_scan_arg arg = {
		.size = sizeof(arg),
		.flags = flags,
		.buf_ptr = PTR(buf),
		.buf_len = size,
	};
	int err = call(r->index[index], WORT_IOC_SCAN, &arg);

	*len = arg.out_len;
	return !err && arg.out_more ? -ERANGE : err;
}

int face_count(struct runner *r, const char *name, __u64 *count)
{
	__u8 last[WORT_KEY_MAX];
	struct wort_scan_arg arg = {
		.size = sizeof(arg),
		.flags = WORT_SCAN_F_COUNT,
		.buf_ptr = PTR(last),
		.buf_len = sizeof(last),
	};
	int index = open_index(r->pool, name, 0), err;

	if (index < 0)
		return index;
	err = call(index, WORT_IOC_SCAN, &arg);
	close(index);
	*count = arg.out_count;
	return err;
}
