/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _SHIM_WAIT_H
#define _SHIM_WAIT_H

#include <linux/turns.h>
#include <linux/workqueue.h>

typedef struct {
	int unused;
} wait_queue_head_t;

#define init_waitqueue_head(wq)	((void)(wq))
#define wake_up_all(wq)		((void)(wq))

extern bool shim_fatal_signal;	/* whoever waits killably is killed */
extern void (*shim_woken)(void);	/* what others do before one that waited goes on */
extern unsigned int shim_waited;	/* states in which tasks have waited */

/*
 * Whoever waits drives the background work that he waits for, or lets another thread do so.
 * Threads that wait for each other are told after many turns.
 */
#define wait_event_state(wq, cond, state) ({	\
	int __err = shim_fatal_signal ? -EINTR : 0; \
	u32 __turns = 0;			\
	while (!(cond) && !__err) {		\
		shim_waited |= (state);		\
		if (WARN_ON_ONCE(__turns++ == SHIM_SPINS) || \
		    (!shim_run_work() && !shim_others())) \
			__err = -EDEADLK;	\
	}					\
	if (__turns && !__err && shim_woken)	\
		shim_woken();			\
	__err;					\
})

#endif
