/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Threads: what is marked is atomic, for the sanitiser too. */
#ifndef _THREADS_COMPILER_H
#define _THREADS_COMPILER_H

#include_next <linux/compiler.h>

#undef READ_ONCE
#undef WRITE_ONCE
#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v)	__atomic_store_n(&(x), v, __ATOMIC_RELAXED)

#endif
