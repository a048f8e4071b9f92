/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _SHIM_CACHE_H
#define _SHIM_CACHE_H

#define ____cacheline_aligned_in_smp	__attribute__((aligned(64)))

#endif
