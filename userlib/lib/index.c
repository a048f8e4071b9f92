// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Single operations on an index.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "internal.h"

WORT_API void wort_index_close(struct wort_index *index)
{
	if (!index)
		return;
	close(index->fd);
	free(index);
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
			      struct wort_op_stats *stats, unsigned int nr)
{
	struct wort_stats_arg arg = {
		.size = sizeof(arg),
		.buf_ptr = wort_ptr(stats),
	};
	int err;

	if (nr > UINT32_MAX / sizeof(*stats))
		nr = UINT32_MAX / sizeof(*stats);
	arg.buf_len = nr * sizeof(*stats);
	err = wort_ioctl(index->fd, WORT_IOC_STATS, &arg);
	return err ? err : (int)arg.out_count;
}

WORT_API int wort_put(struct wort_index *index, const void *key, size_t key_len,
		      const void *value, size_t value_len, uint32_t flags)
{
	struct wort_insert_arg arg = {
		.size = sizeof(arg),
		.flags = flags,
		.key_ptr = wort_ptr(key),
		.value_ptr = wort_ptr(value),
		.key_len = key_len,
		.value_len = value_len,
	};

	/* Lengths must not become valid by losing their upper half. */
	if (key_len > WORT_KEY_MAX || value_len > WORT_VALUE_MAX)
		return -EMSGSIZE;
	return wort_ioctl(index->fd, WORT_IOC_INSERT, &arg);
}

WORT_API int wort_get(struct wort_index *index, const void *key, size_t key_len,
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

	if (key_len > WORT_KEY_MAX)
		return -EMSGSIZE;
	if (*value_len < arg.value_len)
		arg.value_len = *value_len;
	err = wort_ioctl(index->fd, WORT_IOC_LOOKUP, &arg);
	if (!err || err == -ERANGE)
		*value_len = arg.out_value_len;
	return err;
}

WORT_API int wort_del(struct wort_index *index, const void *key, size_t key_len)
{
	struct wort_delete_arg arg = {
		.size = sizeof(arg),
		.key_ptr = wort_ptr(key),
		.key_len = key_len,
	};

	if (key_len > WORT_KEY_MAX)
		return -EMSGSIZE;
	return wort_ioctl(index->fd, WORT_IOC_DELETE, &arg);
}
