/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Flush and fence.  The crash explorer supplies functions that record; where nothing
 * has to be durable (SHIM_VOLATILE) there is nothing to flush; every other program
 * gets the instructions, chosen once for this processor.
 */
#ifndef _SHIM_LIBNVDIMM_H
#define _SHIM_LIBNVDIMM_H

#include <linux/compiler.h>

/* A test calls a function before each fence: stores are visible then, and perhaps not durable. */
#ifdef SHIM_WATCH
extern void (*shim_watch)(void);

static inline void shim_watched(void)
{
	if (unlikely(shim_watch))
		shim_watch();
}
#else
static inline void shim_watched(void)
{
}
#endif

#ifdef SHIM_RECORD
void arch_wb_cache_pmem(void *addr, size_t len);
void pmem_wmb(void);
#elif defined(__x86_64__) && !defined(SHIM_VOLATILE)
enum shim_flush { SHIM_CLWB, SHIM_CLFLUSHOPT, SHIM_CLFLUSH };
extern enum shim_flush shim_flush;

static inline void arch_wb_cache_pmem(void *addr, size_t len)
{
	char *line = (char *)((unsigned long)addr & ~63UL);
	char *end = (char *)addr + len;

	for (; line < end; line += 64) {
		if (likely(shim_flush == SHIM_CLWB))
			__asm__ volatile("clwb %0" : "+m"(*line));
		else if (shim_flush == SHIM_CLFLUSHOPT)
			__asm__ volatile("clflushopt %0" : "+m"(*line));
		else
			__asm__ volatile("clflush %0" : "+m"(*line));
	}
}

static inline void pmem_wmb(void)
{
	shim_watched();
	__asm__ volatile("sfence" ::: "memory");
}
#else
/* Files in page cache: msync() by whoever mapped them makes them durable. */
static inline void arch_wb_cache_pmem(void *addr, size_t len)
{
}

static inline void pmem_wmb(void)
{
	shim_watched();
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}
#endif

#endif
