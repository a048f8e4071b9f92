/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _THREADS_SCHED_H
#define _THREADS_SCHED_H

#define cond_resched()	do { } while (0)

#endif
