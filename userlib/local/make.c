// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Pools in files are made, and grow.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "content.h"
#include "local.h"
#include "pool.h"

/*
 * Write the file, and the folder that has its name.  A folder that may be written and not read
 * cannot be opened for that, so its whole filesystem is written.
 */
static int sync_names(int fd, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder;
	int dir, err;

	if (fsync(fd))
		return -errno;
	folder = slash ? strndup(path, slash - path + 1) : strdup(".");
	if (!folder)
		return -ENOMEM;
	dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(folder);
	if (dir < 0 && errno != EACCES)
		return -errno;
	err = (dir < 0 ? syncfs(fd) : fsync(dir)) ? -errno : 0;
	if (dir >= 0)
		close(dir);
	return err;
}

/* Others may have found the file, and made a pool of it, before it was locked. */
static bool is_empty(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && !st.st_size;
}

static void fill_opts(struct wort_format_opts *opts, const struct wort_format_arg *arg)
{
	memset(opts, 0, sizeof(*opts));
	opts->extent_size = arg->extent_size;
	opts->time = time(NULL);
	memcpy(opts->uuid, arg->uuid, sizeof(opts->uuid));
	memcpy(opts->label, arg->label, sizeof(opts->label));
	if (memchr_inv(opts->uuid, 0, sizeof(opts->uuid)) ||
	    getrandom(opts->uuid, sizeof(opts->uuid), 0) != sizeof(opts->uuid))
		return;
	opts->uuid[6] = (opts->uuid[6] & 0x0f) | 0x40;
	opts->uuid[8] = (opts->uuid[8] & 0x3f) | 0x80;
}

static int format_mapped(struct wort_dev *wdev, const struct wort_format_arg *arg)
{
	struct wort_format_opts opts;
	int err;

	fill_opts(&opts, arg);
	err = wort_pool_format(&wdev->region, &opts);
	if (err == -ENOSPC)
		return -ENODATA;	/* for the file has its space */
	return !err && wdev->sync->error ? -wdev->sync->error : err;
}

/*
 * May the file be formatted?  With its lock: nothing of it is changed before.  It is read
 * and not mapped, so that no hole of it takes memory.
 */
static int format_allowed(int fd, const struct wort_format_arg *arg)
{
	int found = arg->flags & WORT_FORMAT_F_FORCE ? 0 : file_has_content(fd);

	return found > 0 ? -EEXIST : found;
}

/* A file that was there is never cut short, and has its size again after a failure. */
static int format_opened(struct wort_dev *wdev, const char *path, u64 size,
			 const struct wort_format_arg *arg)
{
	struct stat st;
	u64 before;
	int err;

	if (fstat(wdev->fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOTBLK;
	before = st.st_size;
	err = format_allowed(wdev->fd, arg);
	if (err)
		return err;
	err = size > before ? local_file_extend(wdev->fd, size) : local_file_fill(wdev->fd);
	if (!err)
		err = local_pool_map(wdev, path);
	if (!err)
		err = format_mapped(wdev, arg);
	if (err && ftruncate(wdev->fd, before))
		return err;
	return err ? err : sync_names(wdev->fd, path);
}

/*
 * After a failure a file that was made here is removed, unless another process has put
 * something into it.
 */
static int format_file(int fd, const char *path, u64 size, bool made,
		       const struct wort_format_arg *arg)
{
	struct wort_dev *wdev = local_pool_new(fd, true, false);
	int err;

	if (!wdev) {
		close(fd);
		return -ENOMEM;
	}
	err = local_file_lock(fd, path, true);
	if (!err) {
		made = made && is_empty(fd);
		err = format_opened(wdev, path, size, arg);
		if (err && made && file_is_named(fd, path))
			unlink(path);
	}
	local_pool_unmap(wdev);
	return err;
}

int wort_local_format(const char *path, uint64_t size, const struct wort_format_arg *arg)
{
	int flags = O_RDWR | O_CLOEXEC, tries = 0, fd, err;
	bool made;

	if (arg->flags & ~WORT_FORMAT_F_FORCE)
		return -EOPNOTSUPP;
	do {
		made = false;
		fd = open(path, flags);
		if (fd < 0 && errno == ENOENT && size) {
			fd = open(path, flags | O_CREAT | O_EXCL, 0666);
			made = fd >= 0;
		}
		if (fd < 0 && errno != EEXIST)
			return -errno;
		/* Made meanwhile; each time: a link that leads nowhere. */
		err = fd < 0 ? -ENOENT : format_file(fd, path, size, made, arg);
	} while ((err == -ESTALE || err == -ENOENT) && ++tries < LOCAL_TRIES);
	return err;
}

/* All of it is on disk before the pool says that it has it. */
static int extend(struct wort_dev *wdev, u64 size)
{
	int err = local_file_extend(wdev->fd, size);

	if (!err && !wdev->process)
		err = local_write_earlier(wdev->fd);
	return err ? err : local_pool_map_again(wdev, size);
}

/*
 * After an error.  Where nothing could be stored it has not changed; true also if it cannot be
 * told: then the file keeps what it has gained.
 */
static bool uses_more_than(struct wort_dev *wdev, u64 size)
{
	struct wort_media_sb sb;

	return wdev->sync && (wdev->sync->error || wort_pool_probe(&wdev->region, &sb) ||
			      le64_to_cpu(sb.pool_size) > size);
}

static int grow_to(struct wort_dev *wdev, u64 before, u64 size, struct wort_media_sb *sb)
{
	int err = extend(wdev, size);

	if (!err)
		err = wort_pool_grow(&wdev->region);
	if (!err)
		err = wort_pool_probe(&wdev->region, sb);
	if (!err && wdev->sync->error)
		err = -wdev->sync->error;
	if (err && !uses_more_than(wdev, before) && ftruncate(wdev->fd, before))
		return -errno;
	return err;
}

/* A file without a pool keeps its size, and so does a pool that has lost its end. */
static int grow_opened(struct wort_dev *wdev, const char *path, u64 size,
		       u64 *former, u64 *now)
{
	int err = local_file_lock(wdev->fd, path, true);
	struct wort_media_sb sb;
	struct stat st;

	if (!err)
		err = local_pool_map(wdev, path);
	if (!err && fstat(wdev->fd, &st))
		err = -errno;
	if (!err)
		err = wort_pool_probe(&wdev->region, &sb);
	if (err)
		return err;
	/* A growth that was killed has left blocks behind the end. */
	if (!size && ftruncate(wdev->fd, st.st_size))
		return -errno;
	if (size && size < (u64)st.st_size)
		return -ERANGE;
	if (size > WORT_MEDIA_POOL_MAX)
		return -EFBIG;
	*former = le64_to_cpu(sb.pool_size);
	err = grow_to(wdev, st.st_size, size ? size : (u64)st.st_size, &sb);
	*now = le64_to_cpu(sb.pool_size);
	return err;
}

static int grow_file(const char *path, u64 size, bool process, u64 *former, u64 *now)
{
	int fd = open(path, O_RDWR | O_CLOEXEC), err;
	struct wort_dev *wdev;

	if (fd < 0)
		return -errno;
	wdev = local_pool_new(fd, true, process);
	if (!wdev) {
		close(fd);
		return -ENOMEM;
	}
	err = grow_opened(wdev, path, size, former, now);
	local_pool_unmap(wdev);
	return err;
}

int wort_local_grow(const char *path, uint64_t size, bool process, unsigned int wait_ms,
		    uint64_t *former, uint64_t *now)
{
	struct local_turn turn = local_turn_begin(wait_ms);
	int err;

	do {
		err = grow_file(path, size, process, former, now);
	} while (local_turn_again(&turn, &err));
	return err;
}
