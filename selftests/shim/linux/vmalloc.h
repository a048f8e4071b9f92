/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _SHIM_VMALLOC_H
#define _SHIM_VMALLOC_H

#include <linux/slab.h>

#define vzalloc(size)			shim_alloc(size, SIZE_MAX, GFP_KERNEL, true)
#define vfree(ptr)			shim_free(ptr)

#endif
