/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _SHIM_ATOMIC_H
#define _SHIM_ATOMIC_H

#include <linux/types.h>

#define cmpxchg(ptr, old, new) ({					\
	__typeof__(*(ptr)) __old = (old);				\
									\
	__atomic_compare_exchange_n(ptr, &__old, new, false,		\
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);	\
	__old;								\
})

#endif
