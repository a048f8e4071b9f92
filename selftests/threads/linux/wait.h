/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _THREADS_WAIT_H
#define _THREADS_WAIT_H

#include <unistd.h>

#include <asm/barrier.h>
#include <linux/compiler.h>
#include <linux/turns.h>

typedef struct {
	u32 wakes;
} wait_queue_head_t;

static inline void init_waitqueue_head(wait_queue_head_t *wq)
{
	WRITE_ONCE(wq->wakes, 0);
}

/* A wake orders nothing for the sanitiser, which knows no barriers: locks do, after it. */
static inline void wake_up_all(wait_queue_head_t *wq)
{
	smp_mb();	/* what the waiter looks at comes before */
	__atomic_add_fetch(&wq->wakes, 1, __ATOMIC_RELAXED);
}

static inline u32 shim_wakes(wait_queue_head_t *wq)
{
	u32 wakes = READ_ONCE(wq->wakes);

	smp_mb();	/* and is looked at after */
	return wakes;
}

/* A task that has napped so often, for minutes, waits for a wake that never comes. */
#define SHIM_NAPS	1000000

/* As in the kernel, a task that waits evaluates its condition again only after a wake. */
#define wait_event_state(wq, cond, state) ({		\
	u32 __wakes = shim_wakes(&(wq)), __naps;	\
	might_sleep();					\
	while (!(cond)) {				\
		for (__naps = 0; shim_wakes(&(wq)) == __wakes; __naps++) { \
			WARN_ON_ONCE(__naps == SHIM_NAPS); \
			usleep(50);			\
		}					\
		__wakes = shim_wakes(&(wq));		\
	}						\
	0;						\
})

#endif
