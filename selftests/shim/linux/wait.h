/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _SHIM_WAIT_H
#define _SHIM_WAIT_H

#include <linux/errno.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/turns.h>
#include <linux/workqueue.h>

typedef struct {
	u32 wakes;
} wait_queue_head_t;

#define init_waitqueue_head(wq)	((void)((wq)->wakes = 0))
#define wake_up_all(wq)		((void)(wq)->wakes++)

extern void (*shim_woken)(void);	/* what others do before one that waited goes on */
extern unsigned int shim_waited;	/* states in which tasks have waited */
extern unsigned int shim_deadlocks;	/* waits that nobody would have ended */

static inline int shim_deadlock(void)
{
	shim_deadlocks++;
	return -EDEADLK;
}

static inline u32 shim_wakes(const wait_queue_head_t *wq)
{
	u32 wakes = wq->wakes;

	barrier();
	return wakes;
}

/*
 * Let queued work or another thread run, since it may end the wait.  False: there is none, or
 * they wait for each other.
 */
static inline bool shim_sleep(u32 *turns)
{
	return !WARN_ON_ONCE((*turns)++ == SHIM_SPINS) && (shim_run_work() || shim_others());
}

/*
 * A task that waits runs the background work that it waits for, or lets another thread do so.
 * As in the kernel, it evaluates its condition again only after a wake, and ends when killed.
 */
#define wait_event_state(wq, cond, state) ({			\
	u32 __turns = 0, __wakes = shim_wakes(&(wq));		\
	int __err = 0;						\
	might_sleep();						\
	while (!(cond) && !__err) {				\
		shim_waited |= (state);				\
		while (shim_wakes(&(wq)) == __wakes && !__err) { \
			if ((state) & TASK_KILLABLE && shim_fatal_signal) \
				__err = -EINTR;			\
			else if (!shim_sleep(&__turns) &&	\
				 shim_wakes(&(wq)) == __wakes)	\
				__err = shim_deadlock();	\
		}						\
		__wakes = shim_wakes(&(wq));			\
	}							\
	WARN_ON_ONCE(__err == -EDEADLK && (cond));		\
	if (__turns && !__err && shim_woken)			\
		shim_woken();					\
	__err;							\
})

#endif
