/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _SHIM_TRACEPOINT_DEFS_H
#define _SHIM_TRACEPOINT_DEFS_H

#include <linux/compiler.h>

#define DECLARE_TRACEPOINT(tp)	struct shim_tracepoint_##tp
#define tracepoint_enabled(tp)	false

#endif
