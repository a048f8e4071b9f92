/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Pointers that readers follow in sections of RCU, of whichever kind these are. */
#ifndef _SHIM_RCU_POINTER_H
#define _SHIM_RCU_POINTER_H

#include <linux/compiler.h>

#define rcu_access_pointer(p)		READ_ONCE(p)
#define rcu_dereference(p)		__atomic_load_n(&(p), __ATOMIC_ACQUIRE)
#define rcu_dereference_protected(p, c)	(p)
#define rcu_assign_pointer(p, v)	__atomic_store_n(&(p), v, __ATOMIC_RELEASE)
#define RCU_INIT_POINTER(p, v)		WRITE_ONCE(p, v)

#endif
