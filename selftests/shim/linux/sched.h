/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _SHIM_SCHED_H
#define _SHIM_SCHED_H

#include <linux/turns.h>
#include <linux/types.h>

#define TASK_UNINTERRUPTIBLE	0
#define TASK_KILLABLE	1
#define TASK_FREEZABLE_UNSAFE	2
#define TASK_IDLE	4

extern void (*shim_in_resched)(void);	/* what others do meanwhile */

#define cond_resched() do {			\
	might_sleep();				\
	if (shim_in_resched)			\
		shim_in_resched();		\
} while (0)

#endif
