/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the crash explorer knows of an engine.
 */
#ifndef _WORT_TEST_ENGINES_STARTS_H
#define _WORT_TEST_ENGINES_STARTS_H

#include <stdbool.h>

#include "../world/world.h"
#include "engines.h"

#define PUT(k, v)	{ STEP_PUT, 0, k, v }
#define DEL(k)		{ STEP_DEL, 0, k, 0 }
#define CAS(k, v)	{ STEP_CAS, 0, k, v }
#define BATCH(n)	{ STEP_BATCH, 0, n, 0 }
#define ATOMIC(n)	{ STEP_ATOMIC, 0, n, 0 }
#define CREATE(i)	{ STEP_CREATE, i, 0, 0 }
#define DESTROY(i)	{ STEP_DESTROY, i, 0, 0 }
#define RENAME(i)	{ STEP_RENAME, i, 0, 0 }
#define PUT_B(k, v)	{ STEP_PUT, 1, k, v }
#define CROWD(n)	{ STEP_CROWD, 0, n, 0 }
#define PAIRS(n)	{ STEP_CROWD, 0, 2 * (n), 1 }
#define ONLY(s)		{ s, 0, 0, 0 }

/**
 * struct engine_start - A pool to start from
 * @name: its name
 * @steps: what makes it, in a pool with an empty index "a"
 * @nr_steps: number of @steps
 * @unsettled: the walk has not run when the explorer begins
 * @fences: a power cut ends the last step at this fence, counted from 1: all stores before
 *	it are left.  If the step has fewer fences with an attribute word, the pool is not
 *	made for that.  0: no power cut
 * @torn: of these, only those to the line of the last one
 * @full: then, and after the power cut, the pool is filled
 * @room: with this many bytes left for each of two objects; 0: for none
 */
struct engine_start {
	const char *name;
	const struct step *steps;
	__u32 nr_steps;
	bool unsettled;
	__u32 fences;
	bool torn;
	bool full;
	__u16 room[2];
};

#define STEPS(...)	((const struct step[]){ __VA_ARGS__ })
#define START_ROW(name, unsettled, fences, torn, full, first, second, ...)	\
	{ name, STEPS(__VA_ARGS__), sizeof(STEPS(__VA_ARGS__)) / sizeof(struct step), \
	  unsettled, fences, torn, full, { first, second } }
#define START(name, ...)	START_ROW(name, false, 0, false, false, 0, 0, __VA_ARGS__)
#define UNSETTLED(name, ...)	START_ROW(name, true, 0, false, false, 0, 0, __VA_ARGS__)
#define CUT(name, fences, ...)	START_ROW(name, false, fences, false, false, 0, 0, __VA_ARGS__)
#define TORN(name, ...)		START_ROW(name, false, 1, true, false, 0, 0, __VA_ARGS__)
#define FULL(name, first, second, ...)					\
	START_ROW(name, false, 0, false, true, first, second, __VA_ARGS__)

#define CUT_FULL(name, fences, ...)					\
	START_ROW(name, false, fences, false, true, 0, 0, __VA_ARGS__)

#define ENGINE_SIZES	6

struct wort_tree;

/**
 * struct engine_starts - An engine in the crash explorer
 * @steps: tried on each of its pools, alone and in sequences: each kind of structure
 *	change and of value is one of them, from some pool
 * @nr_steps: number of @steps
 * @starts: its pools, besides an empty one
 * @nr_starts: number of @starts
 * @sizes: of objects that its fast paths take from slots at hand; 0: no more
 * @shares: is an address one of those of an open tree in DRAM that some operations load by
 *	READ_ONCE() while others store to it?  Then others may go on before each such
 *	access.  NULL: there are none
 */
struct engine_starts {
	const struct step *steps;
	__u32 nr_steps;
	const struct engine_start *starts;
	__u32 nr_starts;
	__u32 sizes[ENGINE_SIZES];
	bool (*shares)(const struct wort_tree *tree, const void *at);
};

#define ENGINE_STARTS(symbol, ...)					\
	extern const struct engine_starts engine_starts_##symbol;
WORT_ENGINES(ENGINE_STARTS)
#undef ENGINE_STARTS

#endif /* _WORT_TEST_ENGINES_STARTS_H */
