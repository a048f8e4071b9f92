// SPDX-License-Identifier: GPL-2.0-only
/*
 * Power cuts while the command changes an image file, as wort check -c does.
 *
 * A process is killed within an atomic batch that is committed, and is not carried out.  Then
 * the image is opened for writing, which carries it out.  At each msync() images are made of
 * what the disk may hold: any of the pages that were stored to since they were written.  The
 * batch is whole in each of them, and the pool is sound.
 *
 *	image-crash FILE
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <wort.h>

#include "../ctl/image.h"

#define POOL_SIZE	(512u << 10)
#define PAGE		4096u
#define NR_PAGES	(POOL_SIZE / PAGE)
#define NR_RECORDS	100
#define MAX_DIRTY	6		/* so that their subsets are few */
#define TRIES		40

static const char *path;
static char cut_path[512];
static unsigned char disk[POOL_SIZE], image[POOL_SIZE];
static const unsigned char *base;	/* of the mapping that is observed */
static unsigned int die_at, nr_images, nr_syncs;
static bool observed;			/* what is mapped now is the image under test */

void *__real_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off);
void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off);
int __wrap_msync(void *addr, size_t len, int flags);

static void die(const char *what, int err)
{
	fprintf(stderr, "image-crash: %s: %s (image %u, msync %u)\n", what, strerror(-err),
		nr_images, nr_syncs);
	_exit(1);
}

static void must(const char *what, int err)
{
	if (err)
		die(what, err);
}

/* ---- a batch that is committed, and is not carried out ---- */

static void fill(struct wort_index *index)
{
	unsigned int i;

	for (i = 0; i < NR_RECORDS; i++)
		must("put", wort_put(index, &i, sizeof(i), "old", 3, 0));
}

static void batch(struct wort_index *x, struct wort_index *y)
{
	unsigned int first = 7, second = 90;
	struct wort_atomic *atomic;

	must("batch", wort_atomic_new(&atomic));
	must("put", wort_atomic_put(atomic, x, &first, sizeof(first), "new", 3, 0));
	must("put", wort_atomic_put(atomic, y, &second, sizeof(second), "new", 3, 0));
	must("commit", wort_atomic_commit(atomic, NULL));
}

/* Ends at the msync() number @at of the batch, or after it. */
static void leave(unsigned int at)
{
	struct wort_index_opts opts = { .sz = sizeof(opts), .flags = WORT_INDEX_OPEN_F_CREATE };
	struct wort_index *x, *y;
	struct wort_pool *pool;

	must("open", wort_pool_open(path, O_RDWR, &pool));
	must("x", wort_index_open(pool, "x", &opts, &x));
	must("y", wort_index_open(pool, "y", &opts, &y));
	fill(x);
	fill(y);
	die_at = nr_syncs + at;
	batch(x, y);
	_exit(0);
}

/* Does opening the image, in memory only, carry out a batch? */
static bool is_left(void)
{
	struct wort_pool_info_arg info = { .size = sizeof(info) };
	struct image *img;

	must("image", image_open(path, false, IMAGE_FIND, 0, &img));
	must("info", image_info(img, &info));
	must("close", image_close(img));
	return info.out_atomic_redone;
}

static void make_left(void)
{
	struct wort_format_opts opts = { .sz = sizeof(opts), .flags = WORT_FORMAT_F_FORCE };
	unsigned int at;

	for (at = 1; at < TRIES; at++) {
		must("format", wort_format_file(path, POOL_SIZE, &opts));
		if (!fork())
			leave(at);
		wait(NULL);
		if (is_left())
			return;
	}
	die("no batch was left", -ENOENT);
}

/* ---- what a disk may hold ---- */

static void judge_value(struct wort_pool *pool, const char *name, unsigned int key)
{
	struct wort_index *index;
	char value[8];
	size_t len = sizeof(value);

	must(name, wort_index_open(pool, name, NULL, &index));
	must(name, wort_get(index, &key, sizeof(key), value, &len));
	if (len != 3 || memcmp(value, "new", 3))
		die("a batch that was committed is not there, or only in part", -EUCLEAN);
	wort_index_close(index);
}

static void judge(void)
{
	struct wort_check_arg check = { .size = sizeof(check) };
	struct wort_pool *pool;
	int fd = open(cut_path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, image, POOL_SIZE) != POOL_SIZE)
		die(cut_path, -errno);
	close(fd);
	must("open", wort_pool_open(cut_path, O_RDWR, &pool));
	judge_value(pool, "x", 7);
	judge_value(pool, "y", 90);
	must("check", wort_pool_check(pool, &check));
	if (check.out_nr_damaged)
		die("damage", -EUCLEAN);
	wort_pool_close(pool);
}

static unsigned int dirty_pages(unsigned int *dirty)
{
	unsigned int i, nr = 0;

	for (i = 0; i < NR_PAGES; i++)
		if (memcmp(disk + i * PAGE, base + i * PAGE, PAGE) && nr < MAX_DIRTY)
			dirty[nr++] = i;
	return nr;
}

static void try_images(void)
{
	unsigned int dirty[MAX_DIRTY], nr = dirty_pages(dirty), subset, i;
	int status;

	for (subset = 0; subset < 1u << nr; subset++) {
		memcpy(image, disk, POOL_SIZE);
		for (i = 0; i < nr; i++)
			if (subset & 1u << i)
				memcpy(image + dirty[i] * PAGE, base + dirty[i] * PAGE, PAGE);
		nr_images++;
		if (!fork()) {
			observed = false;
			judge();
			_exit(0);
		}
		if (wait(&status) < 0 || status)
			_exit(1);
	}
}

void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	void *map = __real_mmap(addr, len, prot, flags, fd, off);

	if (observed && map != MAP_FAILED && flags == MAP_SHARED && len == POOL_SIZE) {
		base = map;
		memcpy(disk, map, POOL_SIZE);
	}
	return map;
}

/* Page cache is all that the processes here read. */
int __wrap_msync(void *addr, size_t len, int flags)
{
	size_t at = (const unsigned char *)addr - base;

	(void)flags;
	if (++nr_syncs == die_at)
		_exit(0);
	if (observed && at < POOL_SIZE) {
		try_images();
		memcpy(disk + at, base + at, len);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct wort_check_arg check = { .size = sizeof(check), .flags = WORT_CHECK_F_CLEAR };
	struct image *img;

	if (argc != 2) {
		fprintf(stderr, "usage: image-crash FILE\n");
		return 2;
	}
	path = argv[1];
	snprintf(cut_path, sizeof(cut_path), "%s.cut", path);
	make_left();
	observed = true;
	must("image", image_open(path, true, IMAGE_FIND, 0, &img));
	must("check", image_check(img, &check));
	must("close", image_close(img));
	observed = false;
	unlink(cut_path);
	printf("image-crash: %u images at %u calls of msync(), the batch is whole in each\n",
	       nr_images, nr_syncs);
	return nr_images < 8 || check.out_nr_damaged;
}
