// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Making pools in files.
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

/* The file and, of one that was not there, its name. */
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
	if (dir < 0)
		return -errno;
	err = fsync(dir) ? -errno : 0;
	close(dir);
	return err;
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
	if (size > before && ftruncate(wdev->fd, size))
		return -errno;
	err = local_pool_map(wdev, path);
	if (!err)
		err = format_mapped(wdev, arg);
	if (err && size > before && ftruncate(wdev->fd, before))
		return err;
	return err ? err : sync_names(wdev->fd, path);
}

/* -ESTALE: another process has taken the name away since the file was opened. */
static int lock_named(int fd, const char *path)
{
	struct stat opened, named;
	int err = local_file_lock(fd, true);

	if (err)
		return err;
	if (fstat(fd, &opened))
		return -errno;
	return !stat(path, &named) && named.st_dev == opened.st_dev &&
	       named.st_ino == opened.st_ino ? 0 : -ESTALE;
}

/* A file that was made here goes again, unless somebody else has locked it. */
static int format_file(int fd, const char *path, u64 size, bool made,
		       const struct wort_format_arg *arg)
{
	struct wort_dev *wdev = local_pool_new(fd, true, false);
	int err;

	if (!wdev) {
		close(fd);
		return -ENOMEM;
	}
	err = lock_named(fd, path);
	if (!err) {
		err = format_opened(wdev, path, size, arg);
		if (err && made)
			unlink(path);
	}
	local_pool_unmap(wdev);
	return err;
}

#define FORMAT_TRIES	16	/* while others take the name away */

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
	} while ((err == -ESTALE || err == -ENOENT) && ++tries < FORMAT_TRIES);
	return err;
}
