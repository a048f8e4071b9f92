/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* One work, that of the pool, and a thread that runs it. */
#ifndef _THREADS_WORKQUEUE_H
#define _THREADS_WORKQUEUE_H

#include <linux/compiler.h>

struct work_struct;
struct workqueue_struct;
typedef void (*work_func_t)(struct work_struct *work);

struct work_struct {
	work_func_t func;
};

#define WQ_MEM_RECLAIM	0
#define alloc_ordered_workqueue(fmt, flags, ...) \
	((struct workqueue_struct *)"shim")
#define destroy_workqueue(wq)	((void)(wq))
#define INIT_WORK(w, f)		((w)->func = (f))

bool queue_work(struct workqueue_struct *wq, struct work_struct *work);
bool cancel_work_sync(struct work_struct *work);
bool shim_run_work(void);	/* waits until none is queued or running */

#endif
