// SPDX-License-Identifier: GPL-2.0-only
/*
 * QUIRE in the crash explorer, with pages of two lines: from one of these pools a step
 * fills a leaf, rebuilds or splits a page, makes or removes a root, or merges two leaves.
 */
#include "../../kmod/engine/quire.h"
#include "starts.h"

static const struct step steps[] = {
	PUT(0, 1), PUT(1, 1), PUT(3, 1), PUT(5, 1), PUT(6, 1), PUT(9, 1), PUT(10, 1),
	PUT(0, 2), PUT(0, 3), PUT(0, 7), PUT(5, 4), PUT(1, 3), PUT(2, 2), PUT(4, 5), PUT(7, 1),
	PUT(9, 6),
	DEL(0), DEL(1), DEL(2), DEL(5), DEL(6), DEL(8),
	CAS(0, 2), CAS(5, 3), BATCH(0), BATCH(1), BATCH(3), BATCH(5), BATCH(7), BATCH(8),
	BATCH(11), ONLY(STEP_REATTACH), ONLY(STEP_SETTLE), ONLY(STEP_CHECK),
};

static const struct engine_start starts[] = {
	START("one record", PUT(0, 1)),
	START("one place left", PUT(0, 1), PUT(5, 4), PUT(1, 3), PUT(6, 1)),
	START("head at the end of a line", PUT(3, 1), PUT(8, 1)),
	START("room for a short key", PUT(0, 1), PUT(1, 1), PUT(2, 1)),
	START("full leaf", PUT(0, 1), PUT(1, 1), PUT(5, 3), PUT(6, 4), PUT(2, 1)),
	START("full leaf of one", PUT(5, 1), PUT(5, 3), PUT(5, 4), PUT(5, 1), DEL(5)),
	START("two leaves", PUT(0, 1), PUT(1, 1), PUT(5, 1), PUT(6, 1), PUT(2, 1), PUT(3, 1)),
	START("leaf of one", PUT(0, 1), PUT(1, 1), PUT(2, 1), PUT(3, 1), PUT(5, 1),
	      PUT(6, 1), DEL(1), DEL(2), DEL(3)),
	START("three leaves", PUT(0, 1), PUT(1, 1), PUT(2, 3), PUT(3, 1), PUT(4, 1),
	      PUT(5, 4), PUT(6, 1), PUT(7, 6), PUT(8, 1)),
	/* The last ones are merged when a record comes to them and another one goes. */
	START("neighbours", PUT(9, 1), PUT(3, 1), PUT(1, 1), PUT(2, 1), PUT(0, 1), PUT(8, 1),
	      PUT(10, 1), PUT(5, 1), PUT(6, 1), DEL(5), DEL(1)),
	/* Two removals merge first the first two, and then both with the third. */
	START("two merges", PUT(9, 1), PUT(3, 1), PUT(0, 1), PUT(1, 1), PUT(2, 1), PUT(8, 1),
	      PUT(6, 1), PUT(5, 1), PUT(10, 1), PUT(4, 1), DEL(0), DEL(1), DEL(2), DEL(10)),
	START("all keys", PUT(0, 1), PUT(1, 1), PUT(2, 1), PUT(3, 1), PUT(4, 1),
	      PUT(5, 1), PUT(6, 1), PUT(7, 1), PUT(8, 1), PUT(9, 1)),
	START("three levels", CROWD(40)),
	START("two trees", CREATE(1), PUT_B(0, 1), PUT_B(5, 3), PUT(5, 1), PUT(6, 1)),
	/* Its head is there, and the line behind it is not. */
	TORN("half a record", PUT(3, 1), PUT(8, 1), PUT(5, 1)),
	/* Its value is there, and its head is not. */
	CUT("a value without its head", 1, PUT(3, 1), PUT(8, 1), PUT(9, 1)),
	CUT("half a split", 3, PUT(0, 1), PUT(1, 1), PUT(5, 3), PUT(6, 4), PUT(2, 1), PUT(3, 1)),
	CUT("half a split of an inner page", 3, CROWD(24), PUT(4, 1), PUT(6, 1), PUT(1, 1),
	    PUT(2, 1), PUT(5, 3), PUT(8, 1), PUT(9, 1)),
	CUT("half a merge", 3, PUT(9, 1), PUT(3, 1), PUT(0, 1), PUT(1, 1), PUT(2, 1), PUT(8, 1),
	    PUT(6, 1), PUT(5, 1), PUT(10, 1), PUT(4, 1), DEL(0), DEL(1), DEL(2), DEL(10), DEL(8)),
	FULL("full leaf, no space", 0, 0, PUT(0, 1), PUT(1, 1), PUT(5, 3), PUT(6, 4), PUT(2, 1)),
	/* The leaf is rebuilt without the dead record, since there is no space for a split. */
	FULL("full leaf, space for one page", 128, 0, PUT(5, 1), PUT(6, 1), PUT(1, 1), PUT(0, 1),
	     DEL(0)),
	FULL("full leaf, space for two pages", 128, 128, PUT(0, 1), PUT(1, 1), PUT(5, 3),
	     PUT(6, 4), PUT(2, 1)),
	/* It gets a larger page than it would have elsewhere. */
	FULL("full leaf, space for a large page", 512, 0, PUT(0, 1), PUT(1, 1), PUT(5, 3),
	     PUT(6, 4), PUT(2, 1)),
	FULL("neighbours, no space", 0, 0, PUT(9, 1), PUT(3, 1), PUT(1, 1), PUT(2, 1), PUT(0, 1),
	     PUT(8, 1), PUT(10, 1), PUT(5, 1), PUT(6, 1), DEL(5), DEL(1)),
	CUT_FULL("half a split, no space", 3,
		 PUT(0, 1), PUT(1, 1), PUT(5, 3), PUT(6, 4), PUT(2, 1), PUT(3, 1)),
	UNSETTLED("not walked", PUT(0, 1), PUT(1, 4), PUT(2, 3), PUT(5, 1), PUT(6, 1),
		  PUT(8, 7)),
};

const struct engine_starts engine_starts_quire = {
	.steps = steps,
	.nr_steps = ARRAY_SIZE(steps),
	.starts = starts,
	.nr_starts = ARRAY_SIZE(starts),
};
