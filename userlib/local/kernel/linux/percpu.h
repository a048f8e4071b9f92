/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A thread is a processor.  Threads share processors if there are more of them: then a
 * counter may miss some, as counters alone are changed without a lock.
 */
#ifndef _LOCAL_PERCPU_H
#define _LOCAL_PERCPU_H

#include <linux/bug.h>
#include <linux/slab.h>

#define LOCAL_CPUS		32
#define LOCAL_CPU_BYTES		16384

unsigned int local_cpu(void);

static inline void *local_per_cpu(void *ptr, unsigned int cpu)
{
	char *first = ptr;

	return first + cpu * LOCAL_CPU_BYTES;
}

#define __percpu
#define alloc_percpu_gfp(type, gfp) ({					\
	type *__ptr = kzalloc(LOCAL_CPUS * LOCAL_CPU_BYTES, gfp);	\
									\
	BUILD_BUG_ON(sizeof(type) > LOCAL_CPU_BYTES);			\
	__ptr;								\
})
#define alloc_percpu(what)	alloc_percpu_gfp(what, GFP_KERNEL)
#define free_percpu(ptr)	kfree(ptr)
#define per_cpu_ptr(ptr, cpu) ({				\
	__typeof__(ptr) __of = local_per_cpu(ptr, cpu);		\
								\
	__of;							\
})
#define raw_cpu_ptr(ptr)	per_cpu_ptr(ptr, local_cpu())
#define this_cpu_add(var, n) do {				\
	__typeof__(var) *__p = raw_cpu_ptr(&(var));		\
								\
	WRITE_ONCE(*__p, *__p + (n));				\
} while (0)
#define this_cpu_inc(var)	this_cpu_add(var, 1)
#define for_each_possible_cpu(cpu) for ((cpu) = 0; (cpu) < LOCAL_CPUS; (cpu)++)

#endif
