/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * In tests it is always the same time: a sequence of steps leaves the same bytes
 * on media each time, also those that a freed object leaves to the next one in
 * its place.  Programs of users define SHIM_CLOCK.
 */
#ifndef _SHIM_TIMEKEEPING_H
#define _SHIM_TIMEKEEPING_H

#ifdef SHIM_CLOCK
#include <time.h>

#define ktime_get_real_seconds()	((s64)time(NULL))
#else
#define ktime_get_real_seconds()	((s64)1234567890)
#endif

#endif
