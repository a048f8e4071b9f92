/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _THREADS_SCHED_H
#define _THREADS_SCHED_H

#include <linux/turns.h>

#define cond_resched()	might_sleep()

#endif
