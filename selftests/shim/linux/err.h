/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _SHIM_ERR_H
#define _SHIM_ERR_H

#include <linux/compiler.h>
#include <linux/errno.h>

static inline void *ERR_PTR(long err)
{
	return (void *)err;
}

static inline long PTR_ERR(const void *ptr)
{
	return (long)ptr;
}

static inline bool IS_ERR(const void *ptr)
{
	return (unsigned long)ptr >= (unsigned long)-4095;
}

#endif
