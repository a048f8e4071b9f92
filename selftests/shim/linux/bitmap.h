/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _SHIM_BITMAP_H
#define _SHIM_BITMAP_H

#include <linux/bitops.h>
#include <linux/string.h>

#define DECLARE_BITMAP(name, bits)	unsigned long name[BITS_TO_LONGS(bits)]
#define BITMAP_FIRST_WORD_MASK(start)	(~0UL << ((start) % BITS_PER_LONG))
#define BITMAP_LAST_WORD_MASK(nbits)	(~0UL >> (-(nbits) & (BITS_PER_LONG - 1)))

unsigned long find_next_bit(const unsigned long *map, unsigned long size,
			    unsigned long start);
unsigned long find_next_zero_bit(const unsigned long *map, unsigned long size,
				 unsigned long start);
unsigned long bitmap_find_next_zero_area(unsigned long *map, unsigned long size,
					 unsigned long start, unsigned int nr,
					 unsigned long align_mask);
unsigned int bitmap_weight(const unsigned long *map, unsigned int nbits);
bool bitmap_and(unsigned long *dst, const unsigned long *a,
		const unsigned long *b, unsigned int nbits);
bool bitmap_andnot(unsigned long *dst, const unsigned long *a,
		   const unsigned long *b, unsigned int nbits);
void bitmap_set(unsigned long *map, unsigned int start, unsigned int nr);
void bitmap_clear(unsigned long *map, unsigned int start, unsigned int nr);

static inline void bitmap_zero(unsigned long *map, unsigned int nbits)
{
	memset(map, 0, BITS_TO_LONGS(nbits) * sizeof(long));
}

static inline void bitmap_or(unsigned long *dst, const unsigned long *a,
			     const unsigned long *b, unsigned int nbits)
{
	unsigned long i;

	for (i = 0; i < BITS_TO_LONGS(nbits); i++)
		dst[i] = a[i] | b[i];
}

static inline void bitmap_copy(unsigned long *dst, const unsigned long *src,
			       unsigned int nbits)
{
	memcpy(dst, src, BITS_TO_LONGS(nbits) * sizeof(long));
}

#endif
