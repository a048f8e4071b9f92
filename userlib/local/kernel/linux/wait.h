/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _LOCAL_WAIT_H
#define _LOCAL_WAIT_H

#include <pthread.h>

typedef struct {
	unsigned int waiting;
	pthread_mutex_t lock;
	pthread_cond_t woken;
} wait_queue_head_t;

void init_waitqueue_head(wait_queue_head_t *wq);
void wake_up_all(wait_queue_head_t *wq);
void local_wait_begin(wait_queue_head_t *wq);
void local_wait_end(wait_queue_head_t *wq);

/* No signal ends a wait: one that would be fatal ends the process. */
#define wait_event_state(wq, cond, state) ({			\
	local_wait_begin(&(wq));				\
	while (!(cond))						\
		pthread_cond_wait(&(wq).woken, &(wq).lock);	\
	local_wait_end(&(wq));					\
	0;							\
})

#endif
