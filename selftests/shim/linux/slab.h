/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _SHIM_SLAB_H
#define _SHIM_SLAB_H

#include <limits.h>

#include <linux/types.h>

/*
 * An allocation may have to wait until memory was written out, and whoever
 * writes it out may wait for a lock of ours.  Under one only GFP_NOIO is right.
 */
#define GFP_KERNEL	0U
#define GFP_NOIO	1U
#define GFP_ATOMIC	2U
#define GFP_NOWAIT	8U
#define __GFP_NOFAIL	4U	/* waits for memory instead */
#define __GFP_ACCOUNT	0U
#define __GFP_NORETRY	0U
#define __GFP_NOMEMALLOC	0U
#define __GFP_NOWARN	0U

typedef unsigned int gfp_t;

/* The next allocation but @nth fails, then none again; -1: none. */
extern long shim_alloc_fail_nth;
extern long shim_alloc_live;

/* As large as they may be: more is a bug of the caller, which the kernel warns of. */
#define KMALLOC_MAX_SIZE	(4UL << 20)
#define KVMALLOC_MAX_SIZE	((size_t)INT_MAX)

void *shim_alloc(size_t size, size_t max, unsigned int gfp, bool zero);
void shim_free(const void *ptr);

#define shim_kmalloc(n, size, gfp, zero) \
	shim_alloc((size_t)(n) * (size), KMALLOC_MAX_SIZE, gfp, zero)
#define shim_kvmalloc(n, size, gfp, zero) \
	shim_alloc((size_t)(n) * (size), KVMALLOC_MAX_SIZE, gfp, zero)

#define kzalloc(size, gfp)		shim_kmalloc(1, size, gfp, true)
#define kcalloc(n, size, gfp)		shim_kmalloc(n, size, gfp, true)
#define kmalloc(size, gfp)		shim_kmalloc(1, size, gfp, false)
#define kmalloc_array(n, size, gfp)	shim_kmalloc(n, size, gfp, false)
#define kvzalloc(size, gfp)		shim_kvmalloc(1, size, gfp, true)
#define kvcalloc(n, size, gfp)		shim_kvmalloc(n, size, gfp, true)
#define kvmalloc(size, gfp)		shim_kvmalloc(1, size, gfp, false)
#define kfree(ptr)			shim_free(ptr)
#define kvfree(ptr)			shim_free(ptr)

/* Waits instead; the kernel puts the object on a list by its @head. */
#define kvfree_rcu(ptr, head) do { \
	synchronize_rcu(); \
	kvfree(ptr); \
} while (0)

#endif
