/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _LOCAL_POOL_H
#define _LOCAL_POOL_H

#include <sys/types.h>

#include "../../kmod/pool/pool.h"
#include "../../kmod/dev/cmd.h"
#include "sync.h"

/**
 * struct wort_dev - A file that is open as a pool
 * @list: in the list of those; under its lock, as is @users
 * @users: descriptors of the pool and of its indexes
 * @fd: of the file: holds the lock on it
 * @write: opened for writing
 * @process: opened with WORT_SYNC_PROCESS
 * @forks: how often this process had been forked off when it was opened:
 *	local_pool_usable() compares it
 * @dev: with @ino says which file it is
 * @ino: its inode
 * @region: the mapping
 * @sync: what fences do; NULL if nothing is stored
 * @pool: the pool
 */
struct wort_dev {
	struct list_head list;
	unsigned int users;
	int fd;
	bool write;
	bool process;
	unsigned int forks;
	dev_t dev;
	ino_t ino;
	struct wort_region region;
	struct sync_file *sync;
	struct wort_pool *pool;
};

int local_pool_get(const char *path, int flags, bool process, unsigned int wait_ms,
		   struct wort_dev **out);
void local_pool_hold(struct wort_dev *wdev);
void local_pool_put(struct wort_dev *wdev);
bool local_pool_usable(const struct wort_dev *wdev);

/* A pool to be made, or to grow, has the same fields, and is in no list. */
struct wort_dev *local_pool_new(int fd, bool write, bool process);
/*
 * The caller has the lock: the process that had it before may have changed the size of the
 * file.  Holes are not filled, so the caller must not store to them.
 */
int local_pool_map(struct wort_dev *wdev, const char *path);
/* Closes the file, and frees @wdev. */
void local_pool_unmap(struct wort_dev *wdev);
int local_pool_map_again(struct wort_dev *wdev, u64 size);
/* -ESTALE: another process has taken the name away since the file was opened. */
int local_file_lock(int fd, const char *path, bool write);
/* No hole is left in it; after an error some may have blocks. */
int local_file_fill(int fd);
/* The same, and it has @size bytes, which are not fewer than it had. */
int local_file_extend(int fd, u64 size);
int local_write_earlier(int fd);

#define LOCAL_TRIES	16	/* while others take the name away */

/**
 * struct local_turn - Waiting for other processes that have a file
 * @end: until then, CLOCK_MONOTONIC, ns
 * @renames: how often there was another file of the name
 */
struct local_turn {
	u64 end;
	unsigned int renames;
};

struct local_turn local_turn_begin(unsigned int wait_ms);
/* What was tried has returned *@err.  Try again?  If not, *@err is what it comes to. */
bool local_turn_again(struct local_turn *turn, int *err);

#endif
