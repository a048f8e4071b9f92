// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Pools.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../local/local.h"
#include "internal.h"

struct wort_pool {
	int fd;
	struct wort_map *map;	/* NULL: it was not asked for; set once */
};

static bool sync_is_known(uint32_t sync)
{
	return sync == WORT_SYNC_MEDIA || sync == WORT_SYNC_PROCESS;
}

/* O_CREAT and O_TRUNC would make or empty a file before it is known to be a pool. */
static bool flags_are_known(int flags)
{
	return (flags & ~O_CLOEXEC) == O_RDONLY || (flags & ~O_CLOEXEC) == O_RDWR;
}

/*
 * open() succeeds on any device, and another one would refuse only the first operation.
 * Devices have several words for a call that they do not know.
 */
static int open_device(const char *path, int flags)
{
	struct wort_pool_info_arg info = { .size = sizeof(info) };
	int fd = wort_open_path(path, flags), err;

	if (fd < 0)
		return fd;
	err = wort_ioctl(fd, WORT_IOC_POOL_INFO, &info);
	if (!err || err == -ENODEV)
		return fd;
	wort_close(fd);
	return -ENOTTY;
}

/* A plain file is served in this process. */
static int open_any(const char *path, int flags, const struct wort_pool_opts *opts)
{
	struct stat st;

	if (!sync_is_known(opts->sync) || !flags_are_known(flags))
		return -EINVAL;
	if (wort_local_path(path))
		return wort_local_open(path, flags, opts->sync == WORT_SYNC_PROCESS,
				       opts->wait_ms);
	if (opts->sync != WORT_SYNC_MEDIA)
		return -ENOTBLK;
	/* Reading only, open() takes a folder. */
	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		return -EISDIR;
	return open_device(path, flags);
}

WORT_API int wort_pool_open(const char *path, int flags, struct wort_pool **out)
{
	return wort_pool_open_with(path, flags, NULL, out);
}

WORT_API int wort_pool_open_with(const char *path, int flags,
				 const struct wort_pool_opts *opts,
				 struct wort_pool **out)
{
	struct wort_pool_opts o;
	struct wort_pool *pool;
	int err = wort_opts_read(&o, sizeof(o), opts);

	if (err)
		return err;
	pool = calloc(1, sizeof(*pool));
	if (!pool)
		return -ENOMEM;
	pool->fd = open_any(path, flags, &o);
	if (pool->fd < 0) {
		err = pool->fd;
		free(pool);
		return err;
	}
	*out = pool;
	return 0;
}

WORT_API int wort_format_file(const char *path, uint64_t size,
			      const struct wort_format_opts *opts)
{
	struct wort_format_arg arg;
	int err = wort_format_read(&arg, opts);

	return err ? err : wort_local_format(path, size, &arg);
}

WORT_API int wort_grow_file(const char *path, uint64_t size,
			    const struct wort_pool_opts *opts, uint64_t *former,
			    uint64_t *now)
{
	struct wort_pool_opts o;
	uint64_t sizes[2];
	int err = wort_opts_read(&o, sizeof(o), opts);

	if (err)
		return err;
	if (!sync_is_known(o.sync))
		return -EINVAL;
	if (!wort_local_path(path))
		return access(path, F_OK) ? -errno : -ENOTBLK;
	err = wort_local_grow(path, size, o.sync == WORT_SYNC_PROCESS, o.wait_ms, &sizes[0],
			      &sizes[1]);
	if (!err && former)
		*former = sizes[0];
	if (!err && now)
		*now = sizes[1];
	return err;
}

WORT_API pid_t wort_file_holder(const char *path)
{
	return wort_local_holder(path);
}

WORT_API void wort_pool_close(struct wort_pool *pool)
{
	if (!pool)
		return;
	wort_map_put(pool->map);
	wort_close(pool->fd);
	free(pool);
}

WORT_API int wort_pool_fd(const struct wort_pool *pool)
{
	return pool->fd;
}

static struct wort_map *map_of(const struct wort_pool *pool)
{
	return __atomic_load_n(&pool->map, __ATOMIC_ACQUIRE);
}

/* Of threads that map the pool concurrently, one is first. */
WORT_API int wort_pool_map(struct wort_pool *pool)
{
	struct wort_map *map, *none = NULL;
	int err;

	if (map_of(pool))
		return 0;
	err = wort_map_open(pool->fd, &map);
	if (err)
		return err;
	if (!__atomic_compare_exchange_n(&pool->map, &none, map, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		wort_map_put(map);
	return 0;
}

WORT_API int wort_pool_map_stats(const struct wort_pool *pool,
				 struct wort_map_stats *stats)
{
	const struct wort_map *map = map_of(pool);
	const struct wort_map_stats *now;

	if (!map)
		return -EINVAL;
	now = &map->stats;
	stats->retries = __atomic_load_n(&now->retries, __ATOMIC_RELAXED);
	stats->fallbacks = __atomic_load_n(&now->fallbacks, __ATOMIC_RELAXED);
	return 0;
}

WORT_API int wort_pool_info(struct wort_pool *pool,
			    struct wort_pool_info_arg *info)
{
	return wort_ioctl(pool->fd, WORT_IOC_POOL_INFO, info);
}

WORT_API int wort_pool_check(struct wort_pool *pool,
			     struct wort_check_arg *check)
{
	return wort_ioctl(pool->fd, WORT_IOC_CHECK, check);
}

WORT_API int wort_pool_list(struct wort_pool *pool, uint64_t after,
			    struct wort_index_record *records, unsigned int max,
			    bool *more)
{
	struct wort_index_list_arg arg = {
		.size = sizeof(arg),
		.buf_ptr = wort_ptr(records),
		.after = after,
	};
	int err;

	if (max > WORT_BUF_MAX / sizeof(*records))
		max = WORT_BUF_MAX / sizeof(*records);
	arg.buf_len = max * sizeof(*records);
	err = wort_ioctl(pool->fd, WORT_IOC_INDEX_LIST, &arg);
	if (err)
		return err;
	*more = arg.out_more;
	return arg.out_count;
}

WORT_API int wort_pool_destroy(struct wort_pool *pool, const char *name)
{
	struct wort_index_destroy_arg arg = {
		.size = sizeof(arg),
		.name_ptr = wort_ptr(name),
		.name_len = wort_name_len(name, WORT_NAME_MAX),
	};

	return wort_ioctl(pool->fd, WORT_IOC_INDEX_DESTROY, &arg);
}

WORT_API int wort_pool_rename(struct wort_pool *pool, const char *name,
			      const char *new_name)
{
	struct wort_index_rename_arg arg = {
		.size = sizeof(arg),
		.name_ptr = wort_ptr(name),
		.new_ptr = wort_ptr(new_name),
		.name_len = wort_name_len(name, WORT_NAME_MAX),
		.new_len = wort_name_len(new_name, WORT_NAME_MAX),
	};

	return wort_ioctl(pool->fd, WORT_IOC_INDEX_RENAME, &arg);
}

WORT_API int wort_index_open(struct wort_pool *pool, const char *name,
			     const struct wort_index_opts *opts,
			     struct wort_index **out)
{
	struct wort_index_open_arg arg = {
		.size = sizeof(arg),
		.name_ptr = wort_ptr(name),
		.name_len = wort_name_len(name, WORT_NAME_MAX),
	};
	struct wort_map *map = map_of(pool);
	struct wort_index_opts o;
	struct wort_index *index;
	int err = wort_opts_read(&o, sizeof(o), opts);

	if (err)
		return err;
	index = calloc(1, sizeof(*index));
	if (!index)
		return -ENOMEM;
	arg.flags = o.flags;
	arg.engine = o.engine;
	arg.attr = o.attr;
	err = wort_ioctl(pool->fd, WORT_IOC_INDEX_OPEN, &arg);
	if (err) {
		free(index);
		return err;
	}
	index->users = 1;
	index->fd = arg.out_fd;
	if (map)
		err = wort_map_index(map, index,
				     o.flags & WORT_INDEX_OPEN_F_RELAXED);
	if (err) {
		wort_index_put(index);
		return err;
	}
	*out = index;
	return 0;
}
