/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _SHIM_TIMEKEEPING_H
#define _SHIM_TIMEKEEPING_H

#include <time.h>

#define ktime_get_real_seconds()	((s64)time(NULL))

#endif
