/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _SHIM_TYPES_H
#define _SHIM_TYPES_H

#include_next <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;
typedef unsigned int gfp_t;

#define __force
#define __rcu
#define noderef
#define address_space(x)

#endif
