/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _THREADS_WAIT_H
#define _THREADS_WAIT_H

#include <unistd.h>

typedef struct {
	int unused;
} wait_queue_head_t;

#define init_waitqueue_head(wq)	((void)(wq))
#define wake_up_all(wq)		((void)(wq))

/* Marked loads in the condition order nothing: locks do, after it. */
#define wait_event_state(wq, cond, state) ({	\
	while (!(cond))				\
		usleep(50);			\
	0;					\
})

#endif
