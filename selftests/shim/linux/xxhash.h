/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _SHIM_XXHASH_H
#define _SHIM_XXHASH_H

#include <linux/types.h>

/* Any good hash will do: nothing on media depends on it. */
u64 xxh64(const void *data, size_t len, u64 seed);

#endif
