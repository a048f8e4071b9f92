/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _SHIM_BITOPS_H
#define _SHIM_BITOPS_H

#include <linux/kernel.h>

#define BIT(nr)			(1UL << (nr))
#define BIT_ULL(nr)		(1ULL << (nr))
#define GENMASK_ULL(high, low)	(~0ULL >> (63 - (high)) & ~0ULL << (low))
#define BITS_PER_BYTE		8
#define BITS_PER_LONG		(8 * sizeof(long))
#define BITS_TO_LONGS(n)	DIV_ROUND_UP(n, BITS_PER_LONG)
#define BIT_WORD(nr)		((nr) / BITS_PER_LONG)
#define BIT_MASK(nr)		(1UL << ((nr) % BITS_PER_LONG))

static inline int fls(unsigned int x)
{
	return x ? 32 - __builtin_clz(x) : 0;
}

static inline int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

static inline unsigned long __ffs(unsigned long x)
{
	return __builtin_ctzl(x);
}

static inline unsigned int __ffs64(u64 x)
{
	return __builtin_ctzll(x);
}

static inline unsigned long __fls(unsigned long x)
{
	return 63 - __builtin_clzl(x);
}

static inline unsigned int hweight64(u64 x)
{
	return __builtin_popcountll(x);
}

static inline unsigned int hweight_long(unsigned long x)
{
#ifdef __x86_64__
	unsigned long nr;

	/* What the kernel patches in. */
	__asm__("popcnt %1, %0" : "=r"(nr) : "rm"(x) : "cc");
	return nr;
#else
	return __builtin_popcountl(x);
#endif
}

static inline bool test_bit(unsigned long nr, const unsigned long *map)
{
	return map[nr / BITS_PER_LONG] >> (nr % BITS_PER_LONG) & 1;
}

static inline void __set_bit(unsigned long nr, unsigned long *map)
{
	map[nr / BITS_PER_LONG] |= 1UL << (nr % BITS_PER_LONG);
}

static inline void __clear_bit(unsigned long nr, unsigned long *map)
{
	map[nr / BITS_PER_LONG] &= ~(1UL << (nr % BITS_PER_LONG));
}

static inline bool __test_and_set_bit(unsigned long nr, unsigned long *map)
{
	bool old = test_bit(nr, map);

	__set_bit(nr, map);
	return old;
}

#endif
