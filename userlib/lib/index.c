// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Single operations on an index.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "internal.h"

void wort_index_hold(struct wort_index *index)
{
	__atomic_add_fetch(&index->users, 1, __ATOMIC_RELAXED);
}

void wort_index_put(struct wort_index *index)
{
	if (__atomic_sub_fetch(&index->users, 1, __ATOMIC_ACQ_REL))
		return;
	wort_map_put(index->map);
	wort_close(index->fd);
	free(index);
}

WORT_API void wort_index_close(struct wort_index *index)
{
	if (index)
		wort_index_put(index);
}

WORT_API int wort_index_fd(const struct wort_index *index)
{
	return index->fd;
}

WORT_API int wort_index_info(struct wort_index *index,
			     struct wort_index_info_arg *info)
{
	return wort_ioctl(index->fd, WORT_IOC_INDEX_INFO, info);
}

WORT_API int wort_index_stats(struct wort_index *index,
			      struct wort_op_stats *stats, size_t stride,
			      unsigned int nr)
{
	struct wort_stats_arg arg = {
		.size = sizeof(arg),
		.buf_ptr = wort_ptr(stats),
		.stride = stride,
	};
	int err;

	if (!stride || stride > UINT32_MAX)
		return -EINVAL;
	if (nr > UINT32_MAX / stride)
		nr = UINT32_MAX / stride;
	arg.buf_len = nr * stride;
	err = wort_ioctl(index->fd, WORT_IOC_STATS, &arg);
	return err ? err : (int)arg.out_count;
}

/* Lengths must not become valid by losing their upper half. */
static bool too_long(size_t key_len, size_t expect_len, size_t value_len)
{
	return key_len > WORT_KEY_MAX || expect_len > WORT_VALUE_MAX ||
	       value_len > WORT_VALUE_MAX;
}

static uint32_t old_size(const struct wort_old *old)
{
	if (!old)
		return 0;
	return old->size < WORT_VALUE_MAX ? old->size : WORT_VALUE_MAX;
}

static void tell_old(struct wort_old *old, uint32_t len)
{
	if (!old)
		return;
	old->found = len != WORT_NO_VALUE;
	old->len = old->found ? len : 0;
}

WORT_API int wort_put_fetch(struct wort_index *index, const void *key,
			    size_t key_len, const void *value,
			    size_t value_len, uint32_t flags,
			    struct wort_old *old)
{
	struct wort_insert_arg arg = {
		.size = sizeof(arg),
		.flags = flags | (old ? WORT_F_FETCH : 0),
		.key_ptr = wort_ptr(key),
		.value_ptr = wort_ptr(value),
		.old_ptr = old ? wort_ptr(old->buf) : 0,
		.key_len = key_len,
		.value_len = value_len,
		.old_len = old_size(old),
		.out_old_len = WORT_NO_VALUE,
	};
	int err = -EMSGSIZE;

	if (!too_long(key_len, 0, value_len))
		err = wort_ioctl(index->fd, WORT_IOC_INSERT, &arg);
	tell_old(old, arg.out_old_len);
	return err;
}

WORT_API int wort_put(struct wort_index *index, const void *key, size_t key_len,
		      const void *value, size_t value_len, uint32_t flags)
{
	return wort_put_fetch(index, key, key_len, value, value_len, flags,
			      NULL);
}

WORT_API int wort_cas(struct wort_index *index, const void *key, size_t key_len,
		      const void *expect, size_t expect_len,
		      const void *value, size_t value_len,
		      struct wort_old *old)
{
	struct wort_cas_arg arg = {
		.size = sizeof(arg),
		.flags = old ? WORT_F_FETCH : 0,
		.key_ptr = wort_ptr(key),
		.expect_ptr = wort_ptr(expect),
		.value_ptr = wort_ptr(value),
		.old_ptr = old ? wort_ptr(old->buf) : 0,
		.key_len = key_len,
		.expect_len = expect_len,
		.value_len = value_len,
		.old_len = old_size(old),
		.out_old_len = WORT_NO_VALUE,
	};
	int err = -EMSGSIZE;

	if (!too_long(key_len, expect_len, value_len))
		err = wort_ioctl(index->fd, WORT_IOC_CAS, &arg);
	tell_old(old, arg.out_old_len);
	return err;
}

WORT_API int wort_del_if(struct wort_index *index, const void *key,
			 size_t key_len, const void *expect, size_t expect_len,
			 struct wort_old *old)
{
	struct wort_delete_arg arg = {
		.size = sizeof(arg),
		.flags = (expect ? WORT_DELETE_F_EXPECT : 0) |
			 (old ? WORT_F_FETCH : 0),
		.key_ptr = wort_ptr(key),
		.expect_ptr = wort_ptr(expect),
		.old_ptr = old ? wort_ptr(old->buf) : 0,
		.key_len = key_len,
		.expect_len = expect ? expect_len : 0,
		.old_len = old_size(old),
		.out_old_len = WORT_NO_VALUE,
	};
	int err = -EMSGSIZE;

	if (!too_long(key_len, expect ? expect_len : 0, 0))
		err = wort_ioctl(index->fd, WORT_IOC_DELETE, &arg);
	tell_old(old, arg.out_old_len);
	return err;
}

WORT_API int wort_del(struct wort_index *index, const void *key, size_t key_len)
{
	return wort_del_if(index, key, key_len, NULL, 0, NULL);
}

static int ask(struct wort_index *index, const void *key, size_t key_len,
	       void *value, size_t *value_len)
{
	struct wort_lookup_arg arg = {
		.size = sizeof(arg),
		.key_ptr = wort_ptr(key),
		.value_ptr = wort_ptr(value),
		.key_len = key_len,
		.value_len = WORT_VALUE_MAX,
	};
	int err;

	if (*value_len < arg.value_len)
		arg.value_len = *value_len;
	err = wort_ioctl(index->fd, WORT_IOC_LOOKUP, &arg);
	if (!err || err == -ERANGE)
		*value_len = arg.out_value_len;
	return err;
}

/* The kernel answers what the mapping does not tell. */
static int look_or_ask(struct wort_index *index, const void *key,
		       size_t key_len, void *value, size_t *value_len)
{
	struct wort_map_stats *stats = &index->map->stats;
	int err;

	err = wort_reader_get(&index->reader, key, key_len, value, value_len,
			      &stats->retries);
	if (err != -EAGAIN)
		return err;
	__atomic_add_fetch(&stats->fallbacks, 1, __ATOMIC_RELAXED);
	if (wort_reader_stale(&index->reader))
		wort_map_ask(index);
	return ask(index, key, key_len, value, value_len);
}

WORT_API int wort_get(struct wort_index *index, const void *key, size_t key_len,
		      void *value, size_t *value_len)
{
	if (key_len > WORT_KEY_MAX)
		return -EMSGSIZE;
	return (index->map && key_len ? look_or_ask : ask)(index, key, key_len,
							   value, value_len);
}
