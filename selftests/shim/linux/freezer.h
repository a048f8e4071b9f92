/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _SHIM_FREEZER_H
#define _SHIM_FREEZER_H

#include <linux/types.h>

extern bool shim_freezing;	/* the machine is about to sleep */

#define freezing(task)		shim_freezing

#endif
