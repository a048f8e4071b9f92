/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Flush and fence by the primitives that plug-ins have, so that all peers
 * wait and count alike.
 */
#ifndef _BENCH_LIBNVDIMM_H
#define _BENCH_LIBNVDIMM_H

#define arch_wb_cache_pmem shim_wb_cache_pmem
#define pmem_wmb shim_pmem_wmb
#include_next <linux/libnvdimm.h>
#undef arch_wb_cache_pmem
#undef pmem_wmb

#include "builtin.h"

static inline void arch_wb_cache_pmem(void *addr, size_t len)
{
	bench_flush(&bench_env, addr, len);
}

static inline void pmem_wmb(void)
{
	bench_fence(&bench_env);
}

#endif
