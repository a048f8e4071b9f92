/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _SHIM_ATOMIC_H
#define _SHIM_ATOMIC_H

#include <linux/types.h>

typedef struct {
	s64 counter;
} atomic64_t;

#define atomic64_set(v, n)	\
	__atomic_store_n(&(v)->counter, n, __ATOMIC_RELAXED)
#define atomic64_read(v)	__atomic_load_n(&(v)->counter, __ATOMIC_RELAXED)
#define atomic64_add(n, v)	\
	((void)__atomic_add_fetch(&(v)->counter, n, __ATOMIC_RELAXED))
#define atomic64_sub(n, v)	atomic64_add(-(n), v)
#define atomic64_read_acquire(v) \
	__atomic_load_n(&(v)->counter, __ATOMIC_ACQUIRE)
#define atomic64_inc_return(v)	\
	__atomic_add_fetch(&(v)->counter, 1, __ATOMIC_SEQ_CST)

typedef struct {
	int counter;
} atomic_t;

#define atomic_read(v)		__atomic_load_n(&(v)->counter, __ATOMIC_RELAXED)
#define atomic_set(v, n)		__atomic_store_n(&(v)->counter, n, __ATOMIC_RELAXED)
#define atomic_add(n, v) \
	((void)__atomic_add_fetch(&(v)->counter, n, __ATOMIC_RELAXED))
#define atomic_add_return(n, v) \
	__atomic_add_fetch(&(v)->counter, n, __ATOMIC_SEQ_CST)
#define atomic_sub_return(n, v)		atomic_add_return(-(n), v)
#define atomic_fetch_or(n, v) \
	__atomic_fetch_or(&(v)->counter, n, __ATOMIC_SEQ_CST)
#define atomic_fetch_andnot(n, v) \
	__atomic_fetch_and(&(v)->counter, ~(n), __ATOMIC_SEQ_CST)
#define atomic_inc(v)		atomic_add(1, v)
#define atomic_dec(v)		atomic_add(-1, v)

#define xchg(ptr, new)	__atomic_exchange_n(ptr, new, __ATOMIC_SEQ_CST)

#define cmpxchg(ptr, old, new) ({					\
	__typeof__(*(ptr)) __old = (old);				\
									\
	__atomic_compare_exchange_n(ptr, &__old, new, false,		\
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);	\
	__old;								\
})

#endif
