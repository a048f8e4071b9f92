/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _SHIM_PREFETCH_H
#define _SHIM_PREFETCH_H

#define prefetch(addr)	__builtin_prefetch(addr)
#define prefetchw(addr)	__builtin_prefetch(addr, 1)

#endif
