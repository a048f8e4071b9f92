/* SPDX-License-Identifier: GPL-2.0-only */
/* Others get a turn where it matters: with words in flight, before locks. */
#ifndef _STRESS_LIBNVDIMM_H
#define _STRESS_LIBNVDIMM_H

#include <linux/turn.h>

static inline void arch_wb_cache_pmem(void *addr, size_t len)
{
	shim_turn(5);
}

static inline void pmem_wmb(void)
{
	__asm__ volatile("" ::: "memory");
}

#endif
