/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Each thread is a processor. */
#ifndef _THREADS_PERCPU_H
#define _THREADS_PERCPU_H

#include <linux/bug.h>
#include <linux/slab.h>

#ifndef SHIM_CPUS
#define SHIM_CPUS		16
extern __thread int shim_cpu;
#endif
#define SHIM_CPU_BYTES		16384

static inline void *shim_per_cpu(void *ptr, u32 cpu)
{
	return (char *)ptr + cpu * SHIM_CPU_BYTES;
}

#define __percpu
#define alloc_percpu_gfp(type, gfp) ({				\
	type *__ptr = kzalloc(SHIM_CPUS * SHIM_CPU_BYTES, gfp);	\
								\
	BUILD_BUG_ON(sizeof(type) > SHIM_CPU_BYTES);		\
	__ptr;							\
})
#define alloc_percpu(what)	alloc_percpu_gfp(what, GFP_KERNEL)
#define free_percpu(ptr)	kfree(ptr)
#define per_cpu_ptr(ptr, cpu) ({				\
	__typeof__(ptr) __of = shim_per_cpu(ptr, cpu);	\
							\
	__of;						\
})
#define raw_cpu_ptr(ptr)	per_cpu_ptr(ptr, shim_cpu)
#define this_cpu_add(var, n) do {				\
	__typeof__(var) *__p = raw_cpu_ptr(&(var));		\
								\
	WRITE_ONCE(*__p, *__p + (n));				\
} while (0)
#define this_cpu_inc(var)	this_cpu_add(var, 1)
#define for_each_possible_cpu(cpu) for ((cpu) = 0; (cpu) < SHIM_CPUS; (cpu)++)

#endif
