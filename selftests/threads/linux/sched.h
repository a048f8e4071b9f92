/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _THREADS_SCHED_H
#define _THREADS_SCHED_H

#include <linux/turns.h>

#define TASK_KILLABLE		1
#define TASK_FREEZABLE_UNSAFE	2

#define cond_resched()	might_sleep()

#endif
