/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _SHIM_LOG2_H
#define _SHIM_LOG2_H

#define ilog2(n)	(63 - __builtin_clzll(n))

#endif
