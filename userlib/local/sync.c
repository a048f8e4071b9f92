// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Flushes and fences on files.
 *
 * A thread notes which pages it has flushed, from the first to the last, and its next fence
 * is one msync() of that range.  Between the two lie pages that other threads have stored
 * to: to write those early is what a cache may do at any time.  One call rather than one
 * for each page, since each makes a filesystem commit its journal.
 *
 * A word of 8 bytes never lies in two sectors, so no filesystem tears it.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/kernel.h>
#include <linux/libnvdimm.h>

#include "sync.h"

#define NR_FILES	256	/* open at once in a process */
#define LINE		64UL

static struct sync_file files[NR_FILES];
static pthread_mutex_t files_lock = PTHREAD_MUTEX_INITIALIZER;

/* What this thread has flushed since its last fence. */
static __thread struct {
	struct sync_file *file;
	char *from, *to;
} flushed;

/* Under files_lock.  Who reads both without it sees both of one mapping. */
static void set_mapping(struct sync_file *file, char *base, size_t size)
{
	__atomic_add_fetch(&file->sequence, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&file->base, base, __ATOMIC_SEQ_CST);
	__atomic_store_n(&file->size, size, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&file->sequence, 1, __ATOMIC_SEQ_CST);
}

struct sync_file *sync_file_add(void *base, size_t size, enum sync_way way)
{
	struct sync_file *file = NULL;
	int i;

	pthread_mutex_lock(&files_lock);
	for (i = 0; i < NR_FILES && !file; i++)
		if (!files[i].base)
			file = &files[i];
	if (file) {
		file->way = way;
		file->error = 0;
		/* The thread that looks it up by an address has got that later. */
		set_mapping(file, base, size);
	}
	pthread_mutex_unlock(&files_lock);
	return file;
}

void sync_file_del(struct sync_file *file)
{
	pthread_mutex_lock(&files_lock);
	set_mapping(file, NULL, 0);
	pthread_mutex_unlock(&files_lock);
}

void sync_begin_child(void)
{
	pthread_mutex_init(&files_lock, NULL);
}

/*
 * The slot of the caller's own mapping does not change, another one may, and
 * then holds nothing of the caller's.
 */
static bool holds(const struct sync_file *file, const char *addr)
{
	unsigned int sequence = __atomic_load_n(&file->sequence, __ATOMIC_SEQ_CST);
	char *base = __atomic_load_n(&file->base, __ATOMIC_SEQ_CST);
	size_t size = __atomic_load_n(&file->size, __ATOMIC_SEQ_CST);

	return base && addr >= base && (size_t)(addr - base) < size &&
	       !(sequence & 1) &&
	       __atomic_load_n(&file->sequence, __ATOMIC_SEQ_CST) == sequence;
}

static struct sync_file *file_of(const char *addr)
{
	int i;

	if (flushed.file && holds(flushed.file, addr))
		return flushed.file;
	for (i = 0; i < NR_FILES; i++)
		if (holds(&files[i], addr))
			return &files[i];
	return NULL;
}

static void flush_lines(char *addr, size_t len)
{
#ifdef __x86_64__
	char *line = (char *)round_down((uintptr_t)addr, LINE);

	for (; line < addr + len; line += LINE)
		switch (shim_flush) {
		case SHIM_CLWB:
			__asm__ volatile("clwb %0" : "+m"(*line) :: "memory");
			break;
		case SHIM_CLFLUSHOPT:
			__asm__ volatile("clflushopt %0" : "+m"(*line) :: "memory");
			break;
		default:
			__asm__ volatile("clflush %0" : "+m"(*line) :: "memory");
		}
#endif
}

static void write_pages(void)
{
	struct sync_file *file = flushed.file;
	char *from = flushed.from, *to = flushed.to;
	int none = 0;

	flushed.from = NULL;
	flushed.to = NULL;
	/* Of a file that is closed nothing waits for a fence. */
	if (!from || !holds(file, from) || !msync(from, to - from, MS_SYNC))
		return;
	/* The first error counts, and nothing is acknowledged any more. */
	__atomic_compare_exchange_n(&file->error, &none, errno, false,
				    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

/* msync() takes whole pages of the machine. */
static uintptr_t page_size(void)
{
	static uintptr_t size;

	if (!size)
		size = sysconf(_SC_PAGESIZE);
	return size;
}

void arch_wb_cache_pmem(void *addr, size_t len)
{
	struct sync_file *file = file_of(addr);
	char *from, *to;

	if (!file || file->way == SYNC_NONE)
		return;
	if (file->way == SYNC_LINES) {
		flush_lines(addr, len);
		return;
	}
	if (file != flushed.file)
		write_pages();
	flushed.file = file;
	from = (char *)round_down((uintptr_t)addr, page_size());
	to = (char *)round_up((uintptr_t)addr + len, page_size());
	if (!flushed.from || from < flushed.from)
		flushed.from = from;
	if (to > flushed.to)
		flushed.to = to;
}

void pmem_wmb(void)
{
	__asm__ volatile("" ::: "memory");
#ifdef __x86_64__
	__builtin_ia32_sfence();
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
	write_pages();
}
