/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A thread is a processor.  Threads share processors if there are more of them: then a
 * counter may miss some, as counters alone are changed without a lock.
 */
#ifndef _LOCAL_PERCPU_H
#define _LOCAL_PERCPU_H

unsigned int local_cpu(void);

#define SHIM_CPUS	32
#define shim_cpu	local_cpu()

#include_next <linux/percpu.h>

#endif
