/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _LOCAL_KERNEL_H
#define _LOCAL_KERNEL_H

#include_next <linux/kernel.h>

#define U16_MAX		((u16)~0U)
#define PAGE_SIZE	4096U

#define offsetofend(type, member) \
	(offsetof(type, member) + sizeof(((type *)0)->member))

#endif
