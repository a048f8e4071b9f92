/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* One processor. */
#ifndef _SHIM_PERCPU_H
#define _SHIM_PERCPU_H

#include <linux/slab.h>

#define __percpu
#define alloc_percpu_gfp(type, gfp)	kzalloc(sizeof(type), gfp)
#define alloc_percpu(type)		alloc_percpu_gfp(type, GFP_KERNEL)
#define free_percpu(ptr)		kfree(ptr)
#define per_cpu_ptr(ptr, cpu)		((void)(cpu), (ptr))
#define raw_cpu_ptr(ptr)		(ptr)
#define this_cpu_add(var, n)		((var) += (n))
#define this_cpu_inc(var)		this_cpu_add(var, 1)
#define for_each_possible_cpu(cpu)	for ((cpu) = 0; (cpu) < 1; (cpu)++)

#endif
