// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What the portable layers use of the kernel, for userspace.  Meaning is kept;
 * speed is not the point, except in the headers.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <linux/bitmap.h>
#include <linux/bug.h>
#include <linux/crc32c.h>
#include <linux/libnvdimm.h>
#include <linux/list_sort.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/turns.h>
#include <linux/workqueue.h>
#include <linux/xxhash.h>

bool shim_log_quiet;
bool shim_fatal_signal, shim_signal, shim_freezing;
void (*shim_woken)(void);
unsigned int shim_waited, shim_deadlocks;
void (*shim_in_resched)(void);
long shim_alloc_fail_nth = -1;
const char *shim_poison;
long shim_alloc_live;
int shim_locks_held, shim_locks_quiet;
__thread int shim_atomic;
void (*shim_in_grace_period)(void);
int shim_rcu_sections;

void shim_log(const char *fmt, ...)
{
	va_list ap;

	if (shim_log_quiet)
		return;
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
}

__attribute__((weak)) void shim_warn(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: WARNING: %s\n", file, line, what);
	abort();
}

void *memchr_inv(const void *p, int c, size_t len)
{
	const unsigned char *s = p;

	for (; len; len--, s++)
		if (*s != (unsigned char)c)
			return (void *)s;
	return NULL;
}

void *shim_alloc(size_t size, size_t max, unsigned int gfp, bool zero)
{
	void *ptr;

	WARN_ON_ONCE(gfp == GFP_KERNEL && shim_locks_held);
	if (!(gfp & (GFP_ATOMIC | GFP_NOWAIT)))
		might_sleep();
	WARN_ON_ONCE(size > max);
	/* The kernel does not promise so many pages in one piece. */
	WARN_ON_ONCE(gfp & __GFP_NOFAIL && max == KMALLOC_MAX_SIZE && size > 8192);
	size += !size;
	if (!(gfp & __GFP_NOFAIL) && shim_alloc_fail_nth >= 0 &&
	    shim_alloc_fail_nth-- == 0)
		return NULL;
	while (!(ptr = zero ? calloc(1, size) : malloc(size)) && gfp & __GFP_NOFAIL)
		usleep(1000);
	if (ptr)
		__atomic_add_fetch(&shim_alloc_live, 1, __ATOMIC_RELAXED);
	return ptr;
}

void shim_free(const void *ptr)
{
	if (ptr)
		__atomic_sub_fetch(&shim_alloc_live, 1, __ATOMIC_RELAXED);
	free((void *)ptr);
}

/* Take the first @nr elements off a list of one direction, sorted. */
static struct list_head *sort_some(void *priv, struct list_head **list,
				   size_t nr, list_cmp_func_t *cmp)
{
	struct list_head *a, *b, *first, **end = &first;

	if (nr == 1) {
		first = *list;
		*list = first->next;
		first->next = NULL;
		return first;
	}
	a = sort_some(priv, list, nr / 2, cmp);
	b = sort_some(priv, list, nr - nr / 2, cmp);
	while (a && b) {
		struct list_head **least = cmp(priv, a, b) > 0 ? &b : &a;

		*end = *least;
		end = &(*end)->next;
		*least = *end;
	}
	*end = a ? a : b;
	return first;
}

void list_sort(void *priv, struct list_head *head, list_cmp_func_t *cmp)
{
	struct list_head *list = head->next, *next;
	size_t nr = 0;

	for (next = list; next != head; next = next->next)
		nr++;
	if (nr < 2)
		return;
	list = sort_some(priv, &list, nr, cmp);
	INIT_LIST_HEAD(head);
	for (; list; list = next) {
		next = list->next;
		list_add_tail(list, head);
	}
}

unsigned long find_next_bit(const unsigned long *map, unsigned long size,
			    unsigned long start)
{
	unsigned long word, i;

	for (i = start; i < size; i = (i / BITS_PER_LONG + 1) * BITS_PER_LONG) {
		word = map[i / BITS_PER_LONG] >> (i % BITS_PER_LONG);
		if (word)
			return min(i + __builtin_ctzl(word), size);
	}
	return size;
}

unsigned long find_next_zero_bit(const unsigned long *map, unsigned long size,
				 unsigned long start)
{
	unsigned long word, i;

	for (i = start; i < size; i = (i / BITS_PER_LONG + 1) * BITS_PER_LONG) {
		word = ~map[i / BITS_PER_LONG] >> (i % BITS_PER_LONG);
		if (word)
			return min(i + __builtin_ctzl(word), size);
	}
	return size;
}

unsigned long bitmap_find_next_zero_area(unsigned long *map, unsigned long size,
					 unsigned long start, unsigned int nr,
					 unsigned long align_mask)
{
	unsigned long first, next;

	for (;;) {
		first = find_next_zero_bit(map, size, start);
		first = (first + align_mask) & ~align_mask;
		if (first + nr > size)
			return first + nr;
		next = find_next_bit(map, first + nr, first);
		if (next >= first + nr)
			return first;
		start = next + 1;
	}
}

unsigned int bitmap_weight(const unsigned long *map, unsigned int nbits)
{
	unsigned int i, n = 0;

	for (i = 0; i < nbits / BITS_PER_LONG; i++)
		n += __builtin_popcountl(map[i]);
	if (nbits % BITS_PER_LONG)
		n += __builtin_popcountl(map[i] & BITMAP_LAST_WORD_MASK(nbits));
	return n;
}

bool bitmap_and(unsigned long *dst, const unsigned long *a,
		const unsigned long *b, unsigned int nbits)
{
	unsigned long i, any = 0;

	for (i = 0; i < BITS_TO_LONGS(nbits); i++)
		any |= dst[i] = a[i] & b[i];
	return any;
}

bool bitmap_andnot(unsigned long *dst, const unsigned long *a,
		   const unsigned long *b, unsigned int nbits)
{
	unsigned long i, any = 0;

	for (i = 0; i < BITS_TO_LONGS(nbits); i++)
		any |= dst[i] = a[i] & ~b[i];
	return any;
}

void bitmap_set(unsigned long *map, unsigned int start, unsigned int nr)
{
	for (; nr; nr--)
		__set_bit(start++, map);
}

void bitmap_clear(unsigned long *map, unsigned int start, unsigned int nr)
{
	for (; nr; nr--)
		__clear_bit(start++, map);
}

/* table[n]: what a byte does that n bytes follow. */
static u32 crc_table[8][256];

static void __attribute__((constructor)) crc_init(void)
{
	u32 i, j, n, crc;

	for (i = 0; i < 256; i++) {
		for (crc = i, j = 0; j < 8; j++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
		crc_table[0][i] = crc;
	}
	for (n = 1; n < 8; n++)
		for (i = 0; i < 256; i++)
			crc_table[n][i] = crc_table[n - 1][i] >> 8 ^
				crc_table[0][crc_table[n - 1][i] & 0xff];
}

u32 crc32c(u32 crc, const void *data, size_t len)
{
	const u8 *p = data;
	u32 i, sum;

	for (; len >= 8; p += 8, len -= 8) {
		for (sum = 0, i = 0; i < 8; i++)
			sum ^= crc_table[7 - i][p[i] ^
						(i < 4 ? crc >> 8 * i & 0xff : 0)];
		crc = sum;
	}
	while (len--)
		crc = crc >> 8 ^ crc_table[0][(crc ^ *p++) & 0xff];
	return crc;
}

/* FNV-1a: the name is the kernel's, the values are not. */
u64 xxh64(const void *data, size_t len, u64 seed)
{
	const u8 *p = data;
	u64 h = 0xcbf29ce484222325ULL ^ seed;

	while (len--)
		h = (h ^ *p++) * 0x100000001b3ULL;
	return h;
}

#ifndef SHIM_THREADS
static LIST_HEAD(default_works);
struct list_head *shim_works = &default_works;

bool queue_work(struct workqueue_struct *wq, struct work_struct *work)
{
	if (work->queued)
		return false;
	work->queued = true;
	list_add_tail(&work->list, shim_works);
	return true;
}

bool cancel_work_sync(struct work_struct *work)
{
	if (!work->queued)
		return false;
	work->queued = false;
	list_del_init(&work->list);
	return true;
}

static void shim_run(struct work_struct *work)
{
	cancel_work_sync(work);
	work->running = true;
	work->func(work);
	work->running = false;
}

bool flush_work(struct work_struct *work)
{
	if (!work->queued)
		return false;
	shim_run(work);
	return true;
}

bool shim_run_work(void)
{
	struct work_struct *work;

	/* A work that is queued while it runs runs once more, but not beside itself. */
	list_for_each_entry(work, shim_works, list) {
		if (work->running)
			continue;
		shim_run(work);
		return true;
	}
	return false;
}

#endif

#ifdef SHIM_WATCH
void (*shim_watch)(void);
#endif

#if !defined(SHIM_RECORD) && !defined(SHIM_TURNS) && !defined(SHIM_VOLATILE) && \
	defined(__x86_64__)
#include <cpuid.h>

enum shim_flush shim_flush;

__attribute__((constructor)) static void shim_pick_flush(void)
{
	unsigned int a, b = 0, c, d;

	__get_cpuid_count(7, 0, &a, &b, &c, &d);
	shim_flush = b & bit_CLWB ? SHIM_CLWB :
		     b & bit_CLFLUSHOPT ? SHIM_CLFLUSHOPT : SHIM_CLFLUSH;
}
#endif
