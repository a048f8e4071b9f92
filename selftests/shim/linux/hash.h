/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _SHIM_HASH_H
#define _SHIM_HASH_H

#include <linux/types.h>

/* 2^64 times the golden ratio's inverse squared, made odd. */
#define GOLDEN_RATIO_64	0x61c8864680b583ebULL

static inline u32 hash_64(u64 val, u32 bits)
{
	return val * GOLDEN_RATIO_64 >> (64 - bits);
}

#endif
