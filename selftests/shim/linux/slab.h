/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _SHIM_SLAB_H
#define _SHIM_SLAB_H

#include <linux/types.h>

/*
 * An allocation may have to wait until memory was written out, and whoever
 * writes it out may wait for a lock of ours.  Under one only GFP_NOIO is right.
 */
#define GFP_KERNEL	0U
#define GFP_NOIO	1U
#define GFP_ATOMIC	2U

/* The next allocation but @nth fails, then none again; -1: none. */
extern long shim_alloc_fail_nth;
extern long shim_alloc_live;

void *shim_alloc(size_t size, unsigned int gfp, bool zero);
void shim_free(const void *ptr);

#define kzalloc(size, gfp)		shim_alloc(size, gfp, true)
#define kcalloc(n, size, gfp)		shim_alloc((size_t)(n) * (size), gfp, true)
#define kmalloc(size, gfp)		shim_alloc(size, gfp, false)
#define kvzalloc(size, gfp)		shim_alloc(size, gfp, true)
#define kvcalloc(n, size, gfp)		shim_alloc((size_t)(n) * (size), gfp, true)
#define kvmalloc(size, gfp)		shim_alloc(size, gfp, false)
#define kfree(ptr)			shim_free(ptr)
#define kvfree(ptr)			shim_free(ptr)

#endif
