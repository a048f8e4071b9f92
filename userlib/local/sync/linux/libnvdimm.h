/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* A flush and a fence are those of the file beneath: see sync.c. */
#ifndef _LOCAL_LIBNVDIMM_H
#define _LOCAL_LIBNVDIMM_H

#include <linux/types.h>

#ifdef __x86_64__
enum shim_flush { SHIM_CLWB, SHIM_CLFLUSHOPT, SHIM_CLFLUSH };
extern enum shim_flush shim_flush;	/* what this processor has */
#endif

void arch_wb_cache_pmem(void *addr, size_t len);
void pmem_wmb(void);

#endif
