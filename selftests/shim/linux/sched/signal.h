/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _SHIM_SCHED_SIGNAL_H
#define _SHIM_SCHED_SIGNAL_H

#include <linux/wait.h>

#define current				NULL
#define fatal_signal_pending(task)	((void)(task), shim_fatal_signal)

#endif
