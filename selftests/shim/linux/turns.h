/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The explorer has threads that take turns (crash/sched.h), others have not.  The compiler
 * does not know of turns: where a section begins or ends, and where a lock is taken or
 * dropped, barrier() keeps it from using what it loaded before.
 */
#ifndef _SHIM_TURNS_H
#define _SHIM_TURNS_H

#include <linux/bug.h>

/* Turns of the others after which they wait for each other. */
#define SHIM_SPINS	10000

/* Spinlocks that a thread holds, and RCU sections that it is in. */
extern __thread int shim_atomic;

#ifdef SHIM_RECORD
#define shim_point()	sched_point()
void sched_point(void);
bool shim_others(void);
#else
#define shim_point()	do { } while (0)
#define shim_others()	false
#endif

/* There a task of the kernel must not sleep. */
#define might_sleep()	WARN_ON_ONCE(shim_atomic)

#endif
