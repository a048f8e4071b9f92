/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Counting what the fast paths of an engine cost.
 *
 * A fast path has no operation that counts.  It adds one to a figure that
 * stands for its class of costs and the number of inner nodes that it has
 * visited.
 */
#ifndef _WORT_COSTS_H
#define _WORT_COSTS_H

#include <linux/percpu.h>
#include <linux/wort.h>

#include "../core/op.h"

#define WORT_COST_CLASSES	5	/* of an engine, at most */
#define WORT_FAST_NODES		32	/* a figure is of fewer nodes */

/**
 * struct wort_cost_class - What a fast path costs, besides the inner nodes visited
 * @type: its WORT_OP_*
 * @stores: words stored
 * @lines: lines flushed, if stores need a flush
 * @fences: ordering points, if stores need a flush
 * @leaves: leaves visited
 */
struct wort_cost_class {
	u8 type;
	u8 stores;
	u8 lines;
	u8 fences;
	u8 leaves;
};

/**
 * struct wort_index_stats - Costs of operations on an index on one processor
 * @of: by WORT_OP_*, without those in @fast
 * @fast: number of operations by class and by the number of inner nodes
 *	visited; first those whose stores needed no flush
 */
struct wort_index_stats {
	struct wort_op_costs of[WORT_OP_NR];
	u64 fast[2][WORT_COST_CLASSES][WORT_FAST_NODES];
};

/* Almost always 0. */
static inline void wort_costs_add_seldom(struct wort_op_costs __percpu *costs,
					 const struct wort_counts *n)
{
	this_cpu_add(costs->n.more_loads, n->more_loads);
	this_cpu_add(costs->n.idle_fences, n->idle_fences);
	this_cpu_add(costs->n.alloc_lines, n->alloc_lines);
	this_cpu_add(costs->n.zero_lines, n->zero_lines);
}

/**
 * wort_costs_add() - Count an operation
 * @stats: Where to.
 * @type: Its WORT_OP_*.
 * @n: What it has cost.
 *
 * Context: Any context.
 */
static __always_inline void
wort_costs_add(struct wort_index_stats __percpu *stats, u32 type,
	       const struct wort_counts *n)
{
	struct wort_op_costs __percpu *costs = &stats->of[type];

	if (!static_branch_likely(&wort_counting))
		return;
	this_cpu_inc(costs->ops);
	this_cpu_add(costs->n.nodes, n->nodes);
	this_cpu_add(costs->n.leaves, n->leaves);
	if (n->more_loads | n->idle_fences | n->alloc_lines | n->zero_lines)
		wort_costs_add_seldom(costs, n);
	/* What only reads has nothing of the end, but for words in flight. */
	if (!(n->stores | n->lines))
		return;
	this_cpu_add(costs->n.stores, n->stores);
	this_cpu_add(costs->n.lines, n->lines);
	this_cpu_add(costs->n.ordering_points, n->ordering_points);
}

/**
 * wort_fast_done() - Count a fast path
 * @stats: Where to.
 * @class: Its class, a constant of the engine.
 * @flush: Stores need a flush.
 * @nodes: Inner nodes visited, less than WORT_FAST_NODES.
 *
 * Context: Any context.
 */
static __always_inline void
wort_fast_done(struct wort_index_stats __percpu *stats, u32 class, bool flush,
	       u64 nodes)
{
	if (static_branch_likely(&wort_counting))
		this_cpu_inc(stats->fast[flush][class][nodes]);
}

/**
 * wort_fast_loads() - Count lines that a fast path has read besides those of its class
 * @stats: Where to.
 * @type: Its WORT_OP_*.
 * @lines: Cache lines, mostly none.
 *
 * Context: Any context.
 */
static __always_inline void
wort_fast_loads(struct wort_index_stats __percpu *stats, u32 type, u64 lines)
{
	if (static_branch_likely(&wort_counting) && lines)
		this_cpu_add(stats->of[type].n.more_loads, lines);
}

/**
 * wort_fast_stores() - Count what a fast path has stored besides what its class does
 * @stats: Where to.
 * @type: Its WORT_OP_*.
 * @stores: Words.
 * @lines: Cache lines flushed, mostly none.
 *
 * Context: Any context.
 */
static __always_inline void
wort_fast_stores(struct wort_index_stats __percpu *stats, u32 type, u64 stores,
		 u64 lines)
{
	if (!static_branch_likely(&wort_counting))
		return;
	this_cpu_add(stats->of[type].n.stores, stores);
	if (lines)
		this_cpu_add(stats->of[type].n.lines, lines);
}

/**
 * wort_fast_looked() - Count a lookup that has no figure of its class
 * @stats: Where to.
 * @nodes: Inner nodes visited.
 * @leaves: Leaves visited, 1 or 0.
 * @lines: Cache lines of the leaf that were read beyond the first.
 *
 * Context: Any context.
 */
static __always_inline void
wort_fast_looked(struct wort_index_stats __percpu *stats, u64 nodes, u64 leaves,
		 u64 lines)
{
	struct wort_op_costs __percpu *costs = &stats->of[WORT_OP_LOOKUP];

	if (!static_branch_likely(&wort_counting))
		return;
	this_cpu_inc(costs->ops);
	this_cpu_add(costs->n.nodes, nodes);
	this_cpu_add(costs->n.leaves, leaves);
	if (lines)
		this_cpu_add(costs->n.more_loads, lines);
}

/**
 * wort_fast_found() - Count a lookup that found a record
 * @stats: Where to.
 * @class: Its class.
 * @nodes: Inner nodes visited.
 * @most: Never more than these; a constant.
 * @lines: Cache lines of the leaf that were read beyond the first.
 *
 * Context: Any context.
 */
static __always_inline void
wort_fast_found(struct wort_index_stats __percpu *stats, u32 class, u64 nodes,
		const u64 most, u64 lines)
{
	if (most >= WORT_FAST_NODES && unlikely(nodes >= WORT_FAST_NODES)) {
		wort_fast_looked(stats, nodes, 1, lines);
		return;
	}
	wort_fast_done(stats, class, false, nodes);
	wort_fast_loads(stats, WORT_OP_LOOKUP, lines);
}

#endif /* _WORT_COSTS_H */
