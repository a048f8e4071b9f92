/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _SHIM_BYTEORDER_H
#define _SHIM_BYTEORDER_H

#include <endian.h>
#include <linux/types.h>

#define cpu_to_le64(x)	((__le64)htole64(x))
#define le64_to_cpu(x)	le64toh((u64)(x))
#define cpu_to_le32(x)	((__le32)htole32(x))
#define le32_to_cpu(x)	le32toh((u32)(x))
#define cpu_to_be64(x)	((__be64)htobe64(x))
#define be64_to_cpu(x)	be64toh((u64)(x))
#define be32_to_cpu(x)	be32toh((u32)(x))

static inline void le32_add_cpu(__le32 *var, u32 val)
{
	*var = cpu_to_le32(le32_to_cpu(*var) + val);
}

#endif
