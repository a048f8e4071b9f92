/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _SHIM_CRC32C_H
#define _SHIM_CRC32C_H

#include <linux/types.h>

u32 crc32c(u32 crc, const void *data, size_t len);

#endif
