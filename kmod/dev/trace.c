// SPDX-License-Identifier: GPL-2.0-only
/*
 * The one place where tracepoints are defined.
 */
#define CREATE_TRACE_POINTS
#include <trace/events/wort.h>
