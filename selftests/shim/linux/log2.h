/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _SHIM_LOG2_H
#define _SHIM_LOG2_H

#define ilog2(n)	(63 - __builtin_clzll(n))
#define order_base_2(n)	((n) > 1 ? ilog2((n) - 1) + 1 : 0)

#endif
