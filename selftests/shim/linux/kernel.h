/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _SHIM_KERNEL_H
#define _SHIM_KERNEL_H

#include <stdarg.h>
#include <stdio.h>

#include <linux/bug.h>
#include <linux/minmax.h>
#include <linux/printk.h>

#define U32_MAX		((u32)~0U)
#define U64_MAX		((u64)~0ULL)
#define S64_MAX		((s64)(U64_MAX >> 1))

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define round_up(x, y)		((((x) - 1) | ((__typeof__(x))(y) - 1)) + 1)
#define round_down(x, y)	((x) & ~((__typeof__(x))(y) - 1))
#define ALIGN(x, a)		round_up(x, a)
#define IS_ALIGNED(x, a)	(((x) & ((__typeof__(x))(a) - 1)) == 0)

#endif
