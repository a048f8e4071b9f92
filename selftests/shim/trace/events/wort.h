/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Tracepoints that nobody listens to.
 */
#ifndef _SHIM_TRACE_WORT_H
#define _SHIM_TRACE_WORT_H

#include <linux/types.h>

static inline void trace_wort_publish(u32 dev, u64 off, u64 val)
{
}

static inline void trace_wort_split(u32 dev, u64 off, u32 place, bool leaf)
{
}

static inline void trace_wort_merge(u32 dev, u64 off, u32 place, bool leaf)
{
}

static inline void trace_wort_extent_open(u32 dev, u64 off, u64 slot_size,
					  u32 run)
{
}

static inline void trace_wort_extent_free(u32 dev, u64 off, u64 slot_size,
					  u32 run)
{
}

static inline void trace_wort_walk(u32 dev, u64 index, u64 indexes,
				   u64 records)
{
}

static inline void trace_wort_walk_end(u32 dev, u64 indexes, u64 records)
{
}

static inline void trace_wort_atomic(u32 dev, u32 ops, u32 changes, u32 refused, int err)
{
}

static inline void trace_wort_corrupt(u32 dev, u64 off, const char *what)
{
}

#endif
