// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Files as the memory of pools.
 *
 * A process that stores to a file has an exclusive lock on it (flock), one that only reads a
 * shared one.  In one process a file is mapped once, however often it is opened.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "content.h"
#include "local.h"
#include "pool.h"

static LIST_HEAD(pools);
static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned int forks;

static void lock_pools(void)
{
	pthread_mutex_lock(&pools_lock);
}

static void unlock_pools(void)
{
	pthread_mutex_unlock(&pools_lock);
}

/*
 * A child has none of the other threads: the sections that they had begun do not end, a mutex
 * that one held stays held, and nobody carries out the pool's work.  So pools stay with their
 * process, also the locks on their files; who reads in a mapping is told to ask.
 */
static void begin_child(void)
{
	struct wort_dev *wdev;

	forks++;
	local_begin_child();
	sync_begin_child();
	list_for_each_entry(wdev, &pools, list) {
		if (wdev->fd < 0)
			continue;
		wort_locks_map_state(&wdev->pool->locks, WORT_MAP_FOLLOW, WORT_MAP_ASK);
		close(wdev->fd);
		wdev->fd = -1;
	}
	unlock_pools();
}

__attribute__((constructor))
static void watch_forks(void)
{
	pthread_atfork(lock_pools, unlock_pools, begin_child);
}

/* A child does not use what its parent has opened: see begin_child(). */
bool local_pool_usable(const struct wort_dev *wdev)
{
	return wdev->forks == forks;
}

bool wort_local_path(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

int local_file_lock(int fd, const char *path, bool write)
{
	if (flock(fd, (write ? LOCK_EX : LOCK_SH) | LOCK_NB))
		return -errno;
	return file_is_named(fd, path) ? 0 : -ESTALE;
}

/*
 * Map all whole pages of a file of @size bytes.  Where the file is persistent memory, its
 * filesystem lets it be mapped so that flushes of cache lines are enough (MAP_SYNC).
 */
static int map_pages(struct wort_dev *wdev, u64 size)
{
	int prot = wdev->write ? PROT_READ | PROT_WRITE : PROT_READ;
	enum sync_way way = wdev->process ? SYNC_NONE : SYNC_LINES;
	void *base = MAP_FAILED;

	size = round_down(size, 4096ULL);
	if (size < WORT_MEDIA_POOL_MIN)
		return -ENODATA;
	if (size != (size_t)size)
		return -EFBIG;	/* of 32 bits */
#ifdef __x86_64__
	/* flush_lines() knows no other processor. */
	if (wdev->write && !wdev->process)
		base = mmap(NULL, size, prot, MAP_SHARED_VALIDATE | MAP_SYNC, wdev->fd, 0);
#endif
	if (base == MAP_FAILED) {
		way = wdev->process ? SYNC_NONE : SYNC_PAGES;
		base = mmap(NULL, size, prot, MAP_SHARED, wdev->fd, 0);
	}
	if (base == MAP_FAILED)
		return -errno;
	wdev->region.base = base;
	wdev->region.size = size;
	wdev->region.flush = way != SYNC_NONE;
	wdev->region.readonly = !wdev->write;
#ifdef __x86_64__
	wdev->region.line_order = true;
#endif
	if (!wdev->write)
		return 0;
	wdev->sync = sync_file_add(base, size, way);
	return wdev->sync ? 0 : -EMFILE;
}

/* Whether so many bytes are free; true if the filesystem does not tell. */
static bool has_room(int fd, u64 size)
{
	struct statvfs fs;

	return fstatvfs(fd, &fs) || !fs.f_blocks || size / fs.f_frsize <= fs.f_bfree;
}

/* The count of blocks does not tell: some lie behind the end, and some are compressed. */
static u64 bytes_of_holes(int fd, off_t size)
{
	off_t hole, data = 0;
	u64 sum = 0;

	while ((hole = lseek(fd, data, SEEK_HOLE)) >= 0 && hole < size) {
		data = lseek(fd, hole, SEEK_DATA);
		if (data < 0)
			data = size;
		sum += data - hole;
	}
	return sum;
}

/* Of @size bytes; blocks behind the end are there already. */
static u64 bytes_wanted(int fd, const struct stat *st, u64 size)
{
	u64 holes = bytes_of_holes(fd, st->st_size), blocks = st->st_blocks * 512ULL;
	u64 stored = st->st_size - holes, wanted = size - stored;
	u64 behind = blocks > stored ? blocks - stored : 0;

	return wanted > behind ? wanted - behind : 0;
}

/* The blocks come first: a process that is ended meanwhile leaves the size as it was. */
int local_file_extend(int fd, u64 size)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!has_room(fd, bytes_wanted(fd, &st, size)))
		return -ENOSPC;
	if (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, size)) {
		if (errno != EOPNOTSUPP)
			return -errno;
		return -posix_fallocate(fd, 0, size);
	}
	return size > (u64)st.st_size && ftruncate(fd, size) ? -errno : 0;
}

/*
 * A store to a hole would end the process when the filesystem is full.  So all of the file
 * gets its blocks before something is stored.  Some filesystems know no holes: there the
 * count of blocks has to do.
 */
int local_file_fill(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!st.st_size || (lseek(fd, 0, SEEK_HOLE) >= st.st_size &&
			    (u64)st.st_blocks * 512 >= (u64)st.st_size))
		return 0;
	return local_file_extend(fd, st.st_size);
}

static void unmap_pages(struct wort_dev *wdev)
{
	if (wdev->sync)
		sync_file_del(wdev->sync);
	if (wdev->region.base)
		munmap(wdev->region.base, wdev->region.size);
	wdev->sync = NULL;
	wdev->region.base = NULL;
}

/* Its size has changed. */
int local_pool_map_again(struct wort_dev *wdev, u64 size)
{
	unmap_pages(wdev);
	return map_pages(wdev, size);
}

void local_pool_unmap(struct wort_dev *wdev)
{
	unmap_pages(wdev);
	/* A child that has been forked has the file open, too, and with it the lock. */
	if (wdev->fd >= 0 && wdev->write)
		flock(wdev->fd, LOCK_UN);
	if (wdev->fd >= 0)
		close(wdev->fd);
	free((char *)wdev->region.name);
	free(wdev);
}

int local_pool_map(struct wort_dev *wdev, const char *path)
{
	struct stat st;

	if (fstat(wdev->fd, &st))
		return -errno;
	wdev->dev = st.st_dev;
	wdev->ino = st.st_ino;
	wdev->region.name = strdup(path);
	if (!wdev->region.name)
		return -ENOMEM;
	return map_pages(wdev, st.st_size);
}

static struct wort_dev *find(const struct stat *st)
{
	struct wort_dev *wdev;

	list_for_each_entry(wdev, &pools, list)
		if (wdev->dev == st->st_dev && wdev->ino == st->st_ino &&
		    local_pool_usable(wdev))
			return wdev;
	return NULL;
}

/* A file that this process has open already: as it was opened. */
static int share(struct wort_dev *wdev, bool write, bool process, struct wort_dev **out)
{
	if ((write && !wdev->write) || process != wdev->process)
		return -EBUSY;
	wdev->users++;
	*out = wdev;
	return 0;
}

struct wort_dev *local_pool_new(int fd, bool write, bool process)
{
	struct wort_dev *wdev = calloc(1, sizeof(*wdev));

	if (!wdev)
		return NULL;
	wdev->users = 1;
	wdev->fd = fd;
	wdev->write = write;
	wdev->process = process;
	wdev->forks = forks;
	return wdev;
}

/*
 * A process that was killed before its msync(), or that needed none, has left
 * pages that are not on disk.  A power cut would take them, and with them what
 * is stored below.  A filesystem that writes nothing has no such pages.
 */
int local_write_earlier(int fd)
{
	return fsync(fd) && errno != EINVAL && errno != EROFS ? -errno : 0;
}

static int attach(const char *path, int fd, bool write, bool process, struct wort_dev **out)
{
	struct wort_dev *wdev = local_pool_new(fd, write, process);
	struct wort_media_sb sb;
	int err;

	if (!wdev) {
		close(fd);
		return -ENOMEM;
	}
	err = local_file_lock(fd, path, write);
	if (!err)
		err = local_pool_map(wdev, path);
	if (!err && write && !wort_pool_probe(&wdev->region, &sb))
		err = local_file_fill(fd);
	if (!err && !process)
		err = local_write_earlier(fd);
	if (!err)
		err = wort_pool_attach(&wdev->region, &wdev->pool);
	if (!err && wdev->sync && wdev->sync->error) {
		err = -wdev->sync->error;
		wort_pool_detach(wdev->pool);
	}
	if (err) {
		local_pool_unmap(wdev);
		return err;
	}
	wort_locks_map_state(&wdev->pool->locks, WORT_MAP_ASK, WORT_MAP_FOLLOW);
	list_add_tail(&wdev->list, &pools);
	*out = wdev;
	return 0;
}

static int get_locked(const char *path, bool write, bool process, struct wort_dev **out)
{
	int fd = open(path, (write ? O_RDWR : O_RDONLY) | O_CLOEXEC), err;
	struct wort_dev *wdev;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st)) {
		err = -errno;
		close(fd);
		return err;
	}
	wdev = find(&st);
	if (!wdev)
		return attach(path, fd, write, process, out);
	close(fd);
	return share(wdev, write, process, out);
}

#define WALK_WAIT	20000000	/* ns: no program notices them */

static u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static bool walk_blocked(struct wort_pool *pool)
{
	bool blocked;

	mutex_lock(&pool->lock);
	blocked = wort_pool_walk_blocked(pool);
	mutex_unlock(&pool->lock);
	return blocked;
}

/*
 * Before the end of the walk the pool does not know which slots are free, so a change opens
 * another extent.  A script that runs a program for each record would open all extents.
 * Therefore opening waits for the walk: for a moment, or to its end if few extents are free.
 */
static void wait_walk(struct wort_pool *pool)
{
	u64 end = now_ns() + WALK_WAIT;
	struct wort_op op;

	while (READ_ONCE(pool->alloc.walking) && now_ns() < end) {
		if (walk_blocked(pool))
			return;
		usleep(100);
	}
	wort_op_begin(&op, pool->region, &pool->alloc);
	if (!wort_alloc_has_extents(&op, pool->alloc.geo.nr_extents / 8))
		wort_pool_wait_walk(pool);
}

/*
 * Open a file as a pool, or hold that which it is already.  No child is forked meanwhile: it
 * would have a descriptor that it does not know of, and with it the lock.
 */
static int try_get(const char *path, int flags, bool process, struct wort_dev **out)
{
	int err;

	pthread_mutex_lock(&pools_lock);
	err = get_locked(path, (flags & O_ACCMODE) != O_RDONLY, process, out);
	pthread_mutex_unlock(&pools_lock);
	return err;
}

struct local_turn local_turn_begin(unsigned int wait_ms)
{
	return (struct local_turn) { .end = now_ns() + wait_ms * 1000000ULL };
}

/* A look now and then: flock() that waits knows no limit but a signal. */
bool local_turn_again(struct local_turn *turn, int *err)
{
	static const struct timespec moment = { .tv_nsec = 2000000 };

	if (*err == -ESTALE && ++turn->renames < LOCAL_TRIES)
		return true;
	if (*err == -ESTALE)
		*err = -EWOULDBLOCK;
	if (*err != -EWOULDBLOCK || now_ns() >= turn->end)
		return false;
	if (nanosleep(&moment, NULL)) {
		*err = -errno;
		return false;
	}
	return true;
}

int local_pool_get(const char *path, int flags, bool process, unsigned int wait_ms,
		   struct wort_dev **out)
{
	struct local_turn turn = local_turn_begin(wait_ms);
	int err;

	do {
		err = try_get(path, flags, process, out);
	} while (local_turn_again(&turn, &err));
	if (!err)
		wait_walk((*out)->pool);
	return err;
}

void local_pool_hold(struct wort_dev *wdev)
{
	pthread_mutex_lock(&pools_lock);
	wdev->users++;
	pthread_mutex_unlock(&pools_lock);
}

/*
 * The last user ends the pool: a power cut then would lose no more than one before.  In a
 * child that is not its pool, it is only no longer mapped.
 */
void local_pool_put(struct wort_dev *wdev)
{
	pthread_mutex_lock(&pools_lock);
	if (!--wdev->users) {
		list_del_init(&wdev->list);
		if (local_pool_usable(wdev))
			wort_pool_detach(wdev->pool);
		local_pool_unmap(wdev);
	}
	pthread_mutex_unlock(&pools_lock);
}

/* A line of /proc/locks has the number, kind, mode, process, and the file as maj:min:inode. */
pid_t wort_local_holder(const char *path)
{
	unsigned int major, minor;
	unsigned long long inode;
	pid_t pid, found = 0;
	char line[256];
	struct stat st;
	FILE *locks;

	if (stat(path, &st))
		return 0;
	locks = fopen("/proc/locks", "re");
	if (!locks)
		return 0;
	while (!found && fgets(line, sizeof(line), locks))
		if (sscanf(line, "%*s FLOCK %*s %*s %d %x:%x:%llu", &pid, &major, &minor,
			   &inode) == 4 &&
		    inode == st.st_ino && makedev(major, minor) == st.st_dev && pid > 0)
			found = pid;
	fclose(locks);
	return found;
}
