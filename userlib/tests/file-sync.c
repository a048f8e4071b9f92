// SPDX-License-Identifier: GPL-2.0-only
/*
 * What of a pool in a plain file is on disk.
 *
 * A disk holds what msync() and fsync() have written.  A process that did without power cuts,
 * or was killed, leaves pages that the next one sees and that are not there.  And a write
 * that fails takes back what the call has told.
 *
 *	file-sync FILE
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/wort_format.h>
#include <wort.h>

#define POOL_SIZE	(8u << 20)
#define DISK_SIZE	(2 * POOL_SIZE)
#define NR_BEFORE	5000
#define NR_ACKED	20

static unsigned char *disk, *base;
static uint64_t disk_size;	/* of the file */
static bool failing, growing;
static const char *path;

void *__real_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off);
void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off);
int __wrap_msync(void *addr, size_t len, int flags);
int __wrap_fsync(int fd);

static void die(const char *what, long err)
{
	printf("file-sync: %s (%ld)\n", what, err);
	exit(1);
}

static void expect(const char *what, long err, long wanted)
{
	if (err != wanted)
		die(what, err);
}

void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	void *map = __real_mmap(addr, len, prot, flags, fd, off);

	if (fd >= 0 && len >= POOL_SIZE && map != MAP_FAILED)
		base = map;
	return map;
}

/* The size of a file is on disk before a superblock counts on it. */
static void verify_size(void)
{
	const struct wort_media_sb *sb = (const void *)(disk + WORT_MEDIA_SB_OFF);

	if (growing && sb->pool_size > disk_size)
		die("the pool on disk is larger than its file, which has", disk_size);
}

int __wrap_msync(void *addr, size_t len, int flags)
{
	(void)flags;
	if (failing) {
		errno = EIO;
		return -1;
	}
	memcpy(disk + ((unsigned char *)addr - base), addr, len);
	verify_size();
	return 0;
}

int __wrap_fsync(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -1;
	/* That of a folder writes nothing of the pool. */
	if (!S_ISREG(st.st_mode))
		return 0;
	disk_size = st.st_size;
	return pread(fd, disk, DISK_SIZE, 0) < 0 ? -1 : 0;
}

static struct wort_pool *open_pool(uint32_t sync)
{
	struct wort_pool_opts opts = { .sz = sizeof(opts), .sync = sync };
	struct wort_pool *pool;

	expect("open the pool", wort_pool_open_with(path, O_RDWR, &opts, &pool), 0);
	return pool;
}

static struct wort_index *open_index(struct wort_pool *pool)
{
	struct wort_index_opts opts = { .sz = sizeof(opts), .flags = WORT_INDEX_OPEN_F_CREATE };
	struct wort_index *index;

	expect("open the index", wort_index_open(pool, "a", &opts, &index), 0);
	return index;
}

static void put(uint32_t sync, unsigned int first, unsigned int nr)
{
	struct wort_pool *pool = open_pool(sync);
	struct wort_index *index = open_index(pool);
	unsigned int i;

	/* The walk ends, and joins no pages with those of the puts. */
	usleep(30000);
	for (i = first; i < first + nr; i++)
		expect("put", wort_put(index, &i, sizeof(i), &i, sizeof(i), 0), 0);
	wort_index_close(index);
	wort_pool_close(pool);
}

/* The power goes: the disk is what is left of the file. */
static void check_disk(void)
{
	struct wort_check_arg check = { .size = sizeof(check) };
	int fd = open(path, O_WRONLY), i, value;
	struct wort_index *index;
	struct wort_pool *pool;
	size_t len;

	expect("write the file", pwrite(fd, disk, POOL_SIZE, 0), POOL_SIZE);
	close(fd);
	pool = open_pool(WORT_SYNC_MEDIA);
	index = open_index(pool);
	for (i = NR_BEFORE; i < NR_BEFORE + NR_ACKED; i++) {
		len = sizeof(value);
		expect("an acknowledged record", wort_get(index, &i, sizeof(i), &value, &len), 0);
		expect("its value", value, i);
	}
	expect("check", wort_pool_check(pool, &check), 0);
	expect("damage", check.out_nr_damaged, 0);
	wort_index_close(index);
	wort_pool_close(pool);
}

static unsigned int nr_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int nr = 0;

	while (readdir(dir))
		nr++;
	closedir(dir);
	return nr;
}

/* The handle that could not be made durable goes, and with the last one the lock. */
static void fail_open(void)
{
	struct wort_index_opts opts = { .sz = sizeof(opts), .flags = WORT_INDEX_OPEN_F_CREATE };
	unsigned int before = nr_fds();
	struct wort_pool *pool = open_pool(WORT_SYNC_MEDIA);
	struct wort_index *index;
	int fd;

	failing = true;
	expect("make an index", wort_index_open(pool, "b", &opts, &index), -EIO);
	failing = false;
	wort_pool_close(pool);
	expect("descriptors", nr_fds(), before);
	fd = open(path, O_RDWR);
	expect("lock", flock(fd, LOCK_EX | LOCK_NB), 0);
	close(fd);
}

static void fail_batch(void)
{
	struct wort_pool *pool = open_pool(WORT_SYNC_MEDIA);
	struct wort_index *index = open_index(pool);
	struct wort_batch *batch;
	int i;

	expect("batch", wort_batch_new(NULL, &batch), 0);
	for (i = 0; i < 10; i++)
		expect("add", wort_batch_put(batch, &i, sizeof(i), &i, sizeof(i), 0), 0);
	failing = true;
	expect("submit", wort_batch_submit(batch, index, 0), -EIO);
	failing = false;
	expect("operations done", wort_batch_done(batch), 0);
	wort_batch_free(batch);
	wort_index_close(index);
	wort_pool_close(pool);
}

static void grow(void)
{
	uint64_t former, now;

	growing = true;
	expect("grow", wort_grow_file(path, DISK_SIZE, NULL, &former, &now), 0);
	growing = false;
	expect("its size before", former, POOL_SIZE);
	expect("its size", now, DISK_SIZE);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		die("file-sync FILE", argc);
	path = argv[1];
	disk = __real_mmap(NULL, DISK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	expect("format", wort_format_file(path, POOL_SIZE, NULL), 0);
	put(WORT_SYNC_PROCESS, 0, NR_BEFORE);
	put(WORT_SYNC_MEDIA, NR_BEFORE, NR_ACKED);
	check_disk();
	fail_open();
	fail_batch();
	grow();
	return 0;
}
