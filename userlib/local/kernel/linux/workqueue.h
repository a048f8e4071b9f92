/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* A queue is a thread, and has one work: that of its pool. */
#ifndef _LOCAL_WORKQUEUE_H
#define _LOCAL_WORKQUEUE_H

#include <linux/types.h>

struct work_struct;
struct workqueue_struct;
typedef void (*work_func_t)(struct work_struct *work);

struct work_struct {
	work_func_t func;
	struct workqueue_struct *wq;	/* since it was first queued */
};

#define WQ_MEM_RECLAIM	0
#define INIT_WORK(w, f)	(*(w) = (struct work_struct){ .func = (f) })

struct workqueue_struct *alloc_ordered_workqueue(const char *name, unsigned int flags);
void destroy_workqueue(struct workqueue_struct *wq);
bool queue_work(struct workqueue_struct *wq, struct work_struct *work);
bool cancel_work_sync(struct work_struct *work);

#endif
