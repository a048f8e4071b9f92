/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _SHIM_HASH_H
#define _SHIM_HASH_H

#include <linux/types.h>

/* A multiplication by 2^64 divided by the golden ratio. */
static inline u32 hash_64(u64 val, u32 bits)
{
	return val * 0x61c8864680b583ebULL >> (64 - bits);
}

#endif
