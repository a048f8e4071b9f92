/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints.  They take numbers, and know no struct of the layers that call
 * them; in userspace selftests/shim has empty ones of the same names.
 *
 * A pool is told by the number of its block device.  Offsets are bytes from
 * the start of the pool.  Documentation/monitoring.rst has a table.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM wort

#if !defined(_TRACE_WORT_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_WORT_H

#include <linux/types.h>
#include <linux/kdev_t.h>
#include <linux/tracepoint.h>

#include <linux/wort.h>

/* What was or comes in the node's place: a leaf, or a node with its prefix. */
#define wort_show_kind(leaf)	((leaf) ? "leaf" : "prefix")

TRACE_EVENT(wort_publish,
	TP_PROTO(u32 dev, u64 off, u64 val),
	TP_ARGS(dev, off, val),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u64, off)
		__field(u64, val)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->off = off;
		__entry->val = val;
	),
	TP_printk("dev %d:%d off %#llx val %#llx",
		  MAJOR(__entry->dev), MINOR(__entry->dev),
		  __entry->off, __entry->val)
);

DECLARE_EVENT_CLASS(wort_node,
	TP_PROTO(u32 dev, u64 off, u32 place, bool leaf),
	TP_ARGS(dev, off, place, leaf),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u64, off)
		__field(u32, place)
		__field(bool, leaf)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->off = off;
		__entry->place = place;
		__entry->leaf = leaf;
	),
	TP_printk("dev %d:%d off %#llx place %u kind %s",
		  MAJOR(__entry->dev), MINOR(__entry->dev), __entry->off,
		  __entry->place, wort_show_kind(__entry->leaf))
);

DEFINE_EVENT(wort_node, wort_split,
	TP_PROTO(u32 dev, u64 off, u32 place, bool leaf),
	TP_ARGS(dev, off, place, leaf)
);

DEFINE_EVENT(wort_node, wort_merge,
	TP_PROTO(u32 dev, u64 off, u32 place, bool leaf),
	TP_ARGS(dev, off, place, leaf)
);

DECLARE_EVENT_CLASS(wort_extent,
	TP_PROTO(u32 dev, u64 off, u64 slot_size, u32 run),
	TP_ARGS(dev, off, slot_size, run),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u64, off)
		__field(u64, slot_size)
		__field(u32, run)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->off = off;
		__entry->slot_size = slot_size;
		__entry->run = run;
	),
	TP_printk("dev %d:%d off %#llx slot_size %llu run %u",
		  MAJOR(__entry->dev), MINOR(__entry->dev), __entry->off,
		  __entry->slot_size, __entry->run)
);

DEFINE_EVENT(wort_extent, wort_extent_open,
	TP_PROTO(u32 dev, u64 off, u64 slot_size, u32 run),
	TP_ARGS(dev, off, slot_size, run)
);

DEFINE_EVENT(wort_extent, wort_extent_free,
	TP_PROTO(u32 dev, u64 off, u64 slot_size, u32 run),
	TP_ARGS(dev, off, slot_size, run)
);

TRACE_EVENT(wort_walk,
	TP_PROTO(u32 dev, u64 index, u64 indexes, u64 records),
	TP_ARGS(dev, index, indexes, records),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u64, index)
		__field(u64, indexes)
		__field(u64, records)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->index = index;
		__entry->indexes = indexes;
		__entry->records = records;
	),
	TP_printk("dev %d:%d index %llu indexes %llu records %llu",
		  MAJOR(__entry->dev), MINOR(__entry->dev), __entry->index,
		  __entry->indexes, __entry->records)
);

TRACE_EVENT(wort_walk_end,
	TP_PROTO(u32 dev, u64 indexes, u64 records),
	TP_ARGS(dev, indexes, records),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u64, indexes)
		__field(u64, records)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->indexes = indexes;
		__entry->records = records;
	),
	TP_printk("dev %d:%d indexes %llu records %llu",
		  MAJOR(__entry->dev), MINOR(__entry->dev),
		  __entry->indexes, __entry->records)
);

TRACE_EVENT(wort_atomic,
	TP_PROTO(u32 dev, u32 ops, u32 changes, u32 refused, int err),
	TP_ARGS(dev, ops, changes, refused, err),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u32, ops)
		__field(u32, changes)
		__field(u32, refused)
		__field(int, err)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->ops = ops;
		__entry->changes = changes;
		__entry->refused = refused;
		__entry->err = err;
	),
	TP_printk("dev %d:%d operations %u changes %u refused %d error %d",
		  MAJOR(__entry->dev), MINOR(__entry->dev), __entry->ops,
		  __entry->changes, (int)__entry->refused, __entry->err)
);

TRACE_EVENT(wort_corrupt,
	TP_PROTO(u32 dev, u64 off, const char *what),
	TP_ARGS(dev, off, what),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u64, off)
		__string(what, what)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->off = off;
		compat_assign_str(what, what);
	),
	TP_printk("dev %d:%d off %#llx what %s",
		  MAJOR(__entry->dev), MINOR(__entry->dev), __entry->off,
		  __get_str(what))
);

TRACE_EVENT(wort_attach,
	TP_PROTO(u32 dev, u32 minor, const u8 *uuid, u64 lines),
	TP_ARGS(dev, minor, uuid, lines),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u32, minor)
		__array(u8, uuid, WORT_UUID_LEN)
		__field(u64, lines)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->minor = minor;
		memcpy(__entry->uuid, uuid, WORT_UUID_LEN);
		__entry->lines = lines;
	),
	TP_printk("dev %d:%d minor %u uuid %pU lines %llu",
		  MAJOR(__entry->dev), MINOR(__entry->dev), __entry->minor,
		  __entry->uuid, __entry->lines)
);

TRACE_EVENT(wort_detach,
	TP_PROTO(u32 dev, u32 minor),
	TP_ARGS(dev, minor),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u32, minor)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->minor = minor;
	),
	TP_printk("dev %d:%d minor %u",
		  MAJOR(__entry->dev), MINOR(__entry->dev), __entry->minor)
);

TRACE_EVENT(wort_dead,
	TP_PROTO(u32 dev),
	TP_ARGS(dev),
	TP_STRUCT__entry(
		__field(dev_t, dev)
	),
	TP_fast_assign(
		__entry->dev = dev;
	),
	TP_printk("dev %d:%d", MAJOR(__entry->dev), MINOR(__entry->dev))
);

#endif /* _TRACE_WORT_H */

#include <trace/define_trace.h>
