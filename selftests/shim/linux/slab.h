/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _SHIM_SLAB_H
#define _SHIM_SLAB_H

#include <linux/types.h>

#define GFP_KERNEL	0U
#define GFP_ATOMIC	1U

/* The next allocation but @nth fails, then none again; -1: none. */
extern long shim_alloc_fail_nth;
extern long shim_alloc_live;

void *shim_alloc(size_t size, bool zero);
void shim_free(const void *ptr);

#define kzalloc(size, gfp)		shim_alloc(size, true)
#define kcalloc(n, size, gfp)		shim_alloc((size_t)(n) * (size), true)
#define kmalloc(size, gfp)		shim_alloc(size, false)
#define kvzalloc(size, gfp)		shim_alloc(size, true)
#define kvcalloc(n, size, gfp)		shim_alloc((size_t)(n) * (size), true)
#define kvmalloc(size, gfp)		shim_alloc(size, false)
#define kfree(ptr)			shim_free(ptr)
#define kvfree(ptr)			shim_free(ptr)

#endif
