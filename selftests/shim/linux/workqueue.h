/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Background work, made deterministic: it runs when somebody waits for it or
 * when the program says shim_run_work().
 */
#ifndef _SHIM_WORKQUEUE_H
#define _SHIM_WORKQUEUE_H

#include <linux/list.h>

struct work_struct;
struct workqueue_struct;
typedef void (*work_func_t)(struct work_struct *work);

struct work_struct {
	struct list_head list;
	work_func_t func;
	bool queued;
	bool running;
};

#define WQ_UNBOUND	0
#define WQ_MEM_RECLAIM	0
#define alloc_ordered_workqueue(fmt, flags, ...) \
	((struct workqueue_struct *)"shim")
#define destroy_workqueue(wq)	((void)(wq))

#define INIT_WORK(w, f) do {		\
	INIT_LIST_HEAD(&(w)->list);	\
	(w)->func = (f);		\
	(w)->queued = false;		\
	(w)->running = false;		\
} while (0)

bool queue_work(struct workqueue_struct *wq, struct work_struct *work);
bool cancel_work_sync(struct work_struct *work);
bool flush_work(struct work_struct *work);

/* Where work is queued; a program may keep several queues apart. */
extern struct list_head *shim_works;

/* Run one queued work; false if none is queued, or is run by another thread. */
bool shim_run_work(void);

#endif
