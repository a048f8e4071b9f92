/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Not by __builtin_prefetch() where there is something else: to a compiler what does
 * nothing but that does nothing, and calls of it vanish.
 */
#ifndef _SHIM_PREFETCH_H
#define _SHIM_PREFETCH_H

#ifdef __x86_64__
static inline void prefetch(const void *addr)
{
	__asm__ volatile("prefetcht0 %0" : : "m"(*(const char *)addr));
}

static inline void prefetchw(const void *addr)
{
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)addr));
}
#else
#define prefetch(addr)	__builtin_prefetch(addr)
#define prefetchw(addr)	__builtin_prefetch(addr, 1)
#endif

#endif
