/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _SHIM_SCHED_SIGNAL_H
#define _SHIM_SCHED_SIGNAL_H

#include <linux/types.h>

extern bool shim_fatal_signal;	/* the task was killed */
extern bool shim_signal;	/* it has to look what it is told */

/* There is one task: "current" is no variable here. */
#define fatal_signal_pending(task)	shim_fatal_signal
#define signal_pending(task)		(shim_signal || shim_fatal_signal)

#endif
