/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * An operation under way: its memory, its reservations, its costs.
 */
#ifndef _WORT_OP_H
#define _WORT_OP_H

#include <linux/jump_label.h>

#include "region.h"

DECLARE_STATIC_KEY_TRUE(wort_counting);

/**
 * struct wort_counts - What operations cost
 * @stores: words stored to media
 * @lines: cache lines flushed
 * @idle_fences: fences that had no flush to wait for
 * @ordering_points: fences that had one
 * @nodes: inner nodes entered
 * @leaves: leaves visited
 * @more_loads: cache lines of media that were read, but for the first of each
 *	node and leaf
 * @alloc_lines: of @lines, those of the extent table
 * @zero_lines: of @lines, those of slots that were zeroed before they were
 *	given out
 *
 * Counters that are almost always 0 are skipped rather than stored.
 */
struct wort_counts {
	u64 stores;
	u64 lines;
	u64 idle_fences;
	u64 ordering_points;
	u64 nodes;
	u64 leaves;
	u64 more_loads;
	u64 alloc_lines;
	u64 zero_lines;
};

/**
 * struct wort_op_costs - What operations of one type cost
 * @ops: how many they were
 * @n: of all of them
 */
struct wort_op_costs {
	u64 ops;
	struct wort_counts n;
};

#define wort_count(op, field, add) do {				\
	if (static_branch_likely(&wort_counting))		\
		(op)->n.field += (add);				\
} while (0)

#define WORT_LINES_MAX		256
#define WORT_LINES_NEAR		4	/* a line is compared with so many before it */

/**
 * struct wort_lines - Lines to be flushed before the next fence
 * @fences: to the simulator of power cuts, the operation that has flushed them
 * @nr: how many
 * @line: WORT_LINES_NEAR times NULL, so that each line has that many entries
 *	before it; then the lines
 *
 * A store to a cache line that is being written back stalls as long as a fence
 * does.  An operation that writes several small adjacent objects therefore
 * collects their lines here and flushes them together.
 */
struct wort_lines {
	struct wort_op *fences;
	u32 nr;
	const void __pmem *line[WORT_LINES_NEAR + WORT_LINES_MAX];
};

/*
 * Clear the fields one by one.  For a whole struct the compiler would emit `rep
 * stos` (kernel code has no vector registers), which stops speculative
 * execution.
 */
static __always_inline void wort_counts_clear(struct wort_counts *n)
{
	n->stores = 0;
	n->lines = 0;
	n->idle_fences = 0;
	n->ordering_points = 0;
	n->nodes = 0;
	n->leaves = 0;
	n->more_loads = 0;
	n->alloc_lines = 0;
	n->zero_lines = 0;
}

/* Worst case of any engine: a value, a leaf and a node. */
#define WORT_RESERVE_MAX	4

/*
 * Locks of one step: a node that is removed, its neighbour, its parent, and a
 * record.
 */
#define WORT_HELD_MAX		4

/*
 * A mark table that is always zero.  Relaxed reads use it to skip the check for
 * words in flight.
 */
extern const u32 wort_none_in_flight[];

struct wort_alloc;
struct wort_lock;
struct wort_locks;
struct wort_purse;

/**
 * struct wort_op - An operation under way
 * @region: memory that it works on
 * @alloc: allocator of the same pool
 * @locks: locks of the pool; NULL if no other operation accesses the same
 *	objects
 * @in_flight: marks of @locks, or wort_none_in_flight if its answer need not be
 *	durable
 * @n: its cost so far
 * @pending: lines flushed since the last fence
 * @launched: so many of the words in flight of the node that it looks at were
 *	launched by its round, which flushes them before it acknowledges
 *	anything
 * @gather: lines that it flushes are collected here; NULL: they are flushed at
 *	once
 * @flush: value of wort_region.flush when it began
 * @alone: no writer runs concurrently, so an inconsistency is damage, not a
 *	race
 * @suspicious: inconsistencies met while writers were running
 * @nr_reserved: objects reserved
 * @nr_taken: of these, taken
 * @zeroed: a bit for each that was reserved as zero and never taken
 * @opening: one of them lies in an extent whose word was perhaps not durable
 * @lent: a bit for each that was reserved out of @purse
 * @must_free: it has to succeed on a full pool, since it makes room: its
 *	reservations may use what wort_alloc_keep_reserve() keeps back
 * @damaged: it met damage after its commit, where it must not fail any more
 * @purse: NULL, or of an operation that must not fail, since it was committed
 *	before it began: what it reserves if nothing else is left (purse.h).  It
 *	waits for DRAM rather than fail.
 * @reserved: offsets of the objects, in the order of the reservations
 * @section: its section of wort_locks.writers
 * @time: result of wort_locks_now() before it read the tree
 * @held: locks held, in the order of addresses; those that were tried come
 *	behind
 * @nr_held: how many
 * @moving: a bit for each entry of @held whose sequence count it has made odd
 * @released: wort_alloc.released when it found no space
 * @bad_off: place of the damage that it met, for messages
 *
 * It is on the stack of its caller and belongs to one task.  Callers with short
 * operations declare it __uninitialized, because a kernel that clears variables
 * emits a string instruction for it, too.
 */
struct wort_op {
	struct wort_region *region;
	struct wort_alloc *alloc;
	struct wort_locks *locks;
	const u32 *in_flight;
	struct wort_counts n;
	struct wort_lines *gather;
	u32 pending;
	u32 launched;
	bool flush;
	bool alone;
	u8 suspicious;
	u8 nr_reserved;
	u8 nr_taken;
	u8 zeroed;
	bool opening;
	u8 lent;
	bool must_free;
	bool damaged;
	struct wort_purse *purse;
	u64 reserved[WORT_RESERVE_MAX];
	int section;
	u64 time;
	struct wort_lock *held[WORT_HELD_MAX];
	u32 nr_held;
	u32 moving;
	u64 released;
	u64 bad_off;
};

/*
 * Memory that is allocated for the time of a call is charged to the memory
 * cgroup of the caller.  If that has none left the call fails, or uses a
 * fallback; no task is killed for it.
 */
#define WORT_GFP_CALL	(__GFP_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN)

/*
 * The same, for memory that has a fallback: a task in reclaim leaves what the
 * kernel keeps for reclaim to those who have none.
 */
#define WORT_GFP_SPARE	(WORT_GFP_CALL | __GFP_NOMEMALLOC)

void wort_op_settle(struct wort_op *op);

/**
 * wort_op_relax() - Let an operation answer from words in flight
 * @op: The operation, which only reads.
 *
 * Context: Any context.
 */
static inline void wort_op_relax(struct wort_op *op)
{
	op->in_flight = wort_none_in_flight;
}

/**
 * wort_op_begin() - Begin an operation
 * @op: Uninitialised memory of the caller.
 * @region: Memory that it will work on.
 * @alloc: Allocator of the same pool; NULL if it will allocate nothing.
 *
 * Context: Any context.
 */
static inline void wort_op_begin(struct wort_op *op,
				 struct wort_region *region,
				 struct wort_alloc *alloc)
{
	op->region = region;
	op->alloc = alloc;
	op->locks = NULL;
	op->in_flight = wort_none_in_flight;
	wort_counts_clear(&op->n);
	op->gather = NULL;
	op->pending = 0;
	op->launched = 0;
	op->flush = READ_ONCE(region->flush);
	op->alone = true;
	op->suspicious = 0;
	op->nr_reserved = 0;
	op->nr_taken = 0;
	op->zeroed = 0;
	op->opening = false;
	op->lent = 0;
	op->must_free = false;
	op->damaged = false;
	op->purse = NULL;
	op->time = 0;
	op->nr_held = 0;
	op->moving = 0;
	op->released = 0;
	op->bad_off = 0;
}

/**
 * wort_op_end() - End an operation
 * @op: The operation.
 *
 * Objects that it reserved and did not take go back to the allocator.  The
 * words that it found in flight are durable afterwards, so it may answer.  The
 * counts stay readable.
 *
 * Context: May sleep.
 */
static inline void wort_op_end(struct wort_op *op)
{
	if (op->nr_taken < op->nr_reserved || op->opening || op->pending)
		wort_op_settle(op);
}

/**
 * wort_op_end_read() - End an operation that has reserved nothing
 * @op: The operation.
 *
 * Otherwise as wort_op_end().
 *
 * Context: Any context.
 */
static inline void wort_op_end_read(struct wort_op *op)
{
	if (unlikely(op->pending))
		wort_op_settle(op);
}

void wort_op_step(struct wort_op *op);
void wort_op_again(struct wort_op *op);

__printf(3, 4) int wort_corrupt(struct wort_op *op, u64 off,
				const char *fmt, ...);

#endif /* _WORT_OP_H */
