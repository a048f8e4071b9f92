// SPDX-License-Identifier: GPL-2.0-only
/*
 * libwort against a module that answers as the test likes, also in ways in which
 * none should.  The linker puts these functions in the place of those that libwort
 * calls (--wrap).  Silent but for what fails; 0 if nothing does.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <wort.h>

#include "stub.h"

#define POOL_SIZE	4096

static int failures;

#define CHECK(cond) do {						\
	if (!(cond)) {							\
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond); \
		failures++;						\
	}								\
} while (0)

/* What is answered, and what was asked. */
static struct wort_scan_arg scan_answer;
static const void *scan_bytes;
static int scan_err;
static struct wort_batch_arg batch_answer;
static struct wort_atomic_arg atomic_answer;
static int atomic_err;
static uint32_t name_len;
static int nr_maps;
static pthread_barrier_t *in_mmap;

int __wrap_wort_open_path(const char *path, int flags)
{
	int fd = memfd_create(path, MFD_CLOEXEC);

	(void)flags;
	if (fd >= 0 && ftruncate(fd, WORT_MAP_POOL_OFF + POOL_SIZE))
		abort();
	return fd;
}

static int scan(struct wort_scan_arg *arg)
{
	if (scan_bytes)
		memcpy((void *)(uintptr_t)arg->buf_ptr, scan_bytes, scan_answer.out_len);
	arg->out_count = scan_answer.out_count;
	arg->out_len = scan_answer.out_len;
	arg->out_more = scan_answer.out_more;
	arg->out_last_len = scan_answer.out_last_len;
	return scan_err;
}

static int batch(struct wort_batch_arg *arg)
{
	arg->out_done = batch_answer.out_done;
	arg->out_failed = batch_answer.out_failed;
	arg->out_results_len = batch_answer.out_results_len;
	return 0;
}

static int atomic(struct wort_atomic_arg *arg)
{
	arg->out_refused = atomic_answer.out_refused;
	arg->out_results_len = atomic_answer.out_results_len;
	return atomic_err;
}

int __wrap_wort_ioctl(int fd, unsigned long cmd, void *arg)
{
	(void)fd;
	switch (cmd) {
	case WORT_IOC_POOL_INFO:
		((struct wort_pool_info_arg *)arg)->out_pool_size = POOL_SIZE;
		return 0;
	case WORT_IOC_INDEX_OPEN:
		name_len = ((struct wort_index_open_arg *)arg)->name_len;
		((struct wort_index_open_arg *)arg)->out_fd =
			open("/dev/null", O_RDONLY | O_CLOEXEC);
		return 0;
	case WORT_IOC_INDEX_DESTROY:
		name_len = ((struct wort_index_destroy_arg *)arg)->name_len;
		return 0;
	case WORT_IOC_INDEX_RENAME:
		name_len = ((struct wort_index_rename_arg *)arg)->new_len;
		return 0;
	case WORT_IOC_INDEX_INFO:
		return 0;
	case WORT_IOC_SCAN:
		return scan(arg);
	case WORT_IOC_BATCH:
		return batch(arg);
	case WORT_IOC_ATOMIC:
		return atomic(arg);
	default:
		return -ENOTTY;
	}
}

void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd,
		  off_t off)
{
	__atomic_add_fetch(&nr_maps, 1, __ATOMIC_RELAXED);
	if (in_mmap)
		pthread_barrier_wait(in_mmap);
	return __real_mmap(addr, len, prot, flags, fd, off);
}

int __wrap_munmap(void *addr, size_t len)
{
	__atomic_sub_fetch(&nr_maps, 1, __ATOMIC_RELAXED);
	return __real_munmap(addr, len);
}

static void *map_pool(void *pool)
{
	struct wort_map_stats stats;

	CHECK(wort_pool_map(pool) == 0);
	CHECK(wort_pool_map_stats(pool, &stats) == 0);
	return NULL;
}

/* Two threads are on their way to map a pool before either has. */
static void check_map_twice(void)
{
	struct wort_index *index;
	pthread_barrier_t barrier;
	struct wort_pool *pool;
	pthread_t thread;

	CHECK(wort_pool_open("pool", O_RDWR, &pool) == 0);
	pthread_barrier_init(&barrier, NULL, 2);
	in_mmap = &barrier;
	pthread_create(&thread, NULL, map_pool, pool);
	map_pool(pool);
	pthread_join(thread, NULL);
	in_mmap = NULL;
	pthread_barrier_destroy(&barrier);
	CHECK(nr_maps == 1);
	CHECK(wort_pool_map(pool) == 0 && nr_maps == 1);
	CHECK(wort_index_open(pool, "index", NULL, &index) == 0);
	wort_pool_close(pool);
	wort_index_close(index);
	CHECK(nr_maps == 0);
}

/* Begins and ends scans; the last user of the index is another thread, perhaps. */
static void *scan_often(void *index)
{
	struct wort_scan *scan;
	int i;

	for (i = 0; i < 1000; i++) {
		CHECK(wort_scan_begin(index, NULL, &scan) == 0);
		wort_scan_end(scan);
	}
	return NULL;
}

/* Threads that scan count its users; the descriptor goes with the last one. */
static void check_index_users(struct wort_pool *pool)
{
	struct wort_index *index;
	struct wort_scan *scan;
	pthread_t thread;
	int fd;

	CHECK(wort_index_open(pool, "index", NULL, &index) == 0);
	fd = wort_index_fd(index);
	pthread_create(&thread, NULL, scan_often, index);
	scan_often(index);
	pthread_join(thread, NULL);
	CHECK(wort_scan_begin(index, NULL, &scan) == 0);
	wort_index_close(index);
	CHECK(fcntl(fd, F_GETFD) >= 0);
	wort_scan_end(scan);
	CHECK(fcntl(fd, F_GETFD) < 0);
}

/* Records before damage are told, and then the damage. */
static void check_scan_error(struct wort_index *index)
{
	static const struct {
		struct wort_record record;
		char key[8];
	} one = { { .rec_len = sizeof(one), .key_len = 1 }, "k" };
	struct wort_scan_item item;
	struct wort_scan *scan;

	scan_bytes = &one;
	scan_err = -EUCLEAN;
	scan_answer = (struct wort_scan_arg){
		.out_count = 1, .out_len = sizeof(one),
	};
	CHECK(wort_scan_begin(index, NULL, &scan) == 0);
	CHECK(wort_scan_next(scan, &item) == 1 && item.key_len == 1);
	CHECK(wort_scan_next(scan, &item) == -EUCLEAN);
	wort_scan_end(scan);
	scan_bytes = NULL;
	scan_err = 0;
}

/* What is said to be longer than its buffer is not read, nor is it later. */
static void check_scan_answers(struct wort_index *index)
{
	struct wort_scan_item item;
	struct wort_scan *scan;
	uint64_t count;

	CHECK(wort_scan_begin(index, NULL, &scan) == 0);
	scan_answer = (struct wort_scan_arg){ .out_count = 1, .out_len = 1 << 30 };
	CHECK(wort_scan_next(scan, &item) == -EBADMSG);
	CHECK(wort_scan_next(scan, &item) == -EBADMSG);
	scan_answer.out_len = 0;
	CHECK(wort_scan_next(scan, &item) == 0);
	wort_scan_end(scan);
	scan_answer = (struct wort_scan_arg){ .out_count = 7, .out_more = 1 };
	CHECK(wort_count(index, NULL, &count) == -EBADMSG);
	scan_answer.out_last_len = WORT_KEY_MAX + 1;
	CHECK(wort_count(index, NULL, &count) == -EBADMSG);
}

static void check_batch_answers(struct wort_index *index)
{
	struct wort_batch_item item;
	struct wort_batch *batch;

	CHECK(wort_batch_new(NULL, &batch) == 0);
	CHECK(wort_batch_put(batch, "k", 1, "v", 1, 0) == 0);
	batch_answer = (struct wort_batch_arg){
		.out_done = 1, .out_results_len = 1 << 30,
	};
	CHECK(wort_batch_submit(batch, index, 0) == -EBADMSG);
	CHECK(wort_batch_done(batch) == 0);
	CHECK(wort_batch_next(batch, &item) == 0);
	batch_answer.out_done = 2;
	batch_answer.out_results_len = 0;
	CHECK(wort_batch_submit(batch, index, 0) == -EBADMSG);
	batch_answer = (struct wort_batch_arg){ .out_failed = 1 };
	CHECK(wort_batch_submit(batch, index, 0) == -EBADMSG);
	wort_batch_free(batch);
}

static void check_atomic_answers(struct wort_index *index)
{
	struct wort_batch_item item;
	struct wort_atomic *a;
	unsigned int refused;

	CHECK(wort_atomic_new(&a) == 0);
	CHECK(wort_atomic_get(a, index, "k", 1, 8) == 0);
	atomic_answer = (struct wort_atomic_arg){
		.out_refused = WORT_NO_VALUE, .out_results_len = 1 << 30,
	};
	CHECK(wort_atomic_commit(a, &refused) == -EBADMSG);
	CHECK(refused == WORT_NO_VALUE && wort_atomic_next(a, &item) == 0);
	atomic_answer = (struct wort_atomic_arg){ .out_refused = 1 };
	atomic_err = -ENOENT;
	CHECK(wort_atomic_commit(a, &refused) == -EBADMSG);
	CHECK(refused == WORT_NO_VALUE);
	/* Without the ioctl nothing is written. */
	atomic_answer.out_refused = WORT_NO_VALUE;
	atomic_err = -ENOTTY;
	CHECK(wort_atomic_commit(a, &refused) == -ENOTTY);
	CHECK(refused == WORT_NO_VALUE && wort_atomic_next(a, &item) == 0);
	atomic_err = 0;
	wort_atomic_free(a);
}

/* A name of 2^32 + 1 bytes: one piece of memory, again and again. */
static char *long_name(size_t *size)
{
	const size_t piece = 2 << 20;
	int fd = memfd_create("name", MFD_CLOEXEC);
	char *name, *at;

	*size = (1ULL << 32) + piece;
	name = __real_mmap(NULL, *size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS |
			   MAP_NORESERVE, -1, 0);
	if (name == MAP_FAILED || fd < 0 || ftruncate(fd, piece))
		abort();
	for (at = name; at < name + (1ULL << 32); at += piece)
		if (__real_mmap(at, piece, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
			abort();
	memset(name, 'n', piece);
	close(fd);
	mprotect(at, piece, PROT_READ | PROT_WRITE);
	*at = 'n';
	return name;
}

/* It stays too long, and is none of one byte. */
static void check_long_name(struct wort_pool *pool)
{
	struct wort_index *index;
	size_t size;
	char *name = long_name(&size);

	CHECK(wort_index_open(pool, name, NULL, &index) == 0);
	CHECK(name_len > WORT_NAME_MAX);
	wort_index_close(index);
	name_len = 0;
	CHECK(wort_pool_destroy(pool, name) == 0);
	CHECK(name_len > WORT_NAME_MAX);
	name_len = 0;
	CHECK(wort_pool_rename(pool, "n", name) == 0);
	CHECK(name_len > WORT_NAME_MAX);
	__real_munmap(name, size);
}

int main(void)
{
	struct wort_index *index;
	struct wort_pool *pool;

	check_map_twice();
	if (wort_pool_open("pool", O_RDWR, &pool) ||
	    wort_index_open(pool, "index", NULL, &index))
		return 1;
	check_index_users(pool);
	check_scan_error(index);
	check_scan_answers(index);
	check_batch_answers(index);
	check_atomic_answers(index);
	check_long_name(pool);
	wort_index_close(index);
	wort_pool_close(pool);
	return failures != 0;
}
