/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _SHIM_BARRIER_H
#define _SHIM_BARRIER_H

#include <linux/libnvdimm.h>

#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)
#ifdef __SANITIZE_THREAD__
#define smp_wmb()		__atomic_signal_fence(__ATOMIC_RELEASE)
#define smp_rmb()		__atomic_signal_fence(__ATOMIC_ACQUIRE)
#define smp_mb()		__atomic_signal_fence(__ATOMIC_SEQ_CST)
#else
#define smp_wmb()		__atomic_thread_fence(__ATOMIC_RELEASE)
#define smp_rmb()		__atomic_thread_fence(__ATOMIC_ACQUIRE)
#define smp_mb()		__atomic_thread_fence(__ATOMIC_SEQ_CST)
#endif
#define smp_mb__before_atomic()	smp_mb()
#define smp_store_release(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)

#endif
