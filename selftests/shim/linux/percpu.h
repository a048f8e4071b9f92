/* SPDX-License-Identifier: GPL-2.0-only */
/* One processor. */
#ifndef _SHIM_PERCPU_H
#define _SHIM_PERCPU_H

#include <linux/slab.h>

#define __percpu
#define alloc_percpu(type)		kzalloc(sizeof(type), GFP_KERNEL)
#define free_percpu(ptr)		kfree(ptr)
#define per_cpu_ptr(ptr, cpu)		((void)(cpu), (ptr))
#define raw_cpu_ptr(ptr)		(ptr)
#define for_each_possible_cpu(cpu)	for ((cpu) = 0; (cpu) < 1; (cpu)++)

#endif
