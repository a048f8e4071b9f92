/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _SHIM_SCHED_H
#define _SHIM_SCHED_H

#include <linux/types.h>

#define TASK_KILLABLE	1
#define TASK_FREEZABLE	2

#define cond_resched()	do { } while (0)

#endif
