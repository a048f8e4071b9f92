// SPDX-License-Identifier: GPL-2.0-only
/*
 * tlist in the crash explorer, with chunks of four slots: from one of these pools a step
 * fills a slot, replaces a full chunk by one or by two, takes a chunk out, or finds one
 * without records.
 */
#include "../../kmod/engine/tlist.h"
#include "starts.h"

static const struct step steps[] = {
	PUT(0, 1), PUT(1, 1), PUT(3, 1), PUT(5, 1), PUT(6, 1), PUT(9, 5), PUT(10, 1),
	PUT(0, 2), PUT(0, 3), PUT(0, 7), PUT(5, 4), PUT(1, 3), PUT(2, 2), PUT(4, 5),
	DEL(0), DEL(1), DEL(2), DEL(5), DEL(6), DEL(8),
	CAS(0, 2), CAS(5, 3), BATCH(0), BATCH(1), BATCH(3), BATCH(5), BATCH(7), BATCH(8),
	ONLY(STEP_REATTACH), ONLY(STEP_SETTLE), ONLY(STEP_CHECK),
};

static const struct engine_start starts[] = {
	START("one record", PUT(0, 1)),
	START("one slot left", PUT(0, 1), PUT(5, 4), PUT(1, 3)),
	START("full chunk", PUT(0, 1), PUT(1, 1), PUT(5, 3), PUT(6, 4)),
	/* The attach forgets which slots were freed. */
	START("full chunk of one", PUT(5, 1), DEL(5), PUT(5, 3), PUT(5, 4), PUT(5, 1),
	      ONLY(STEP_REATTACH)),
	START("slots given back", PUT(0, 1), PUT(1, 1), PUT(5, 3), PUT(6, 4), DEL(1), DEL(5),
	      ONLY(STEP_SETTLE)),
	START("two chunks", PUT(0, 1), PUT(1, 1), PUT(5, 1), PUT(6, 1), PUT(2, 1)),
	START("first chunk empty", PUT(0, 1), PUT(1, 1), PUT(2, 1), PUT(5, 1), PUT(6, 1),
	      DEL(0), DEL(1), DEL(2)),
	START("last chunk of one", PUT(0, 1), PUT(1, 1), PUT(2, 1), PUT(5, 1), PUT(6, 1),
	      DEL(5)),
	START("three chunks", PUT(0, 1), PUT(1, 1), PUT(2, 3), PUT(3, 1), PUT(4, 1),
	      PUT(5, 4), PUT(6, 1), PUT(7, 6), PUT(8, 1)),
	/* When the second one goes, the array has another one where a scan finds the third. */
	START("second chunk of one", PUT(9, 1), PUT(3, 1), PUT(0, 1), PUT(8, 1), PUT(1, 1),
	      PUT(10, 1), PUT(2, 1), DEL(0), DEL(1), PUT(7, 1), PUT(4, 1), PUT(5, 1)),
	START("all keys", PUT(0, 1), PUT(1, 1), PUT(2, 1), PUT(3, 1), PUT(4, 1),
	      PUT(5, 1), PUT(6, 1), PUT(7, 1), PUT(8, 1), PUT(9, 1)),
	FULL("full chunk, no space", 0, 0, PUT(0, 1), PUT(1, 1), PUT(5, 3), PUT(6, 4)),
	FULL("full chunk, space for a record", 32, 0, PUT(0, 1), PUT(1, 1), PUT(5, 3), PUT(6, 4)),
	START("two lists", CREATE(1), PUT_B(0, 1), PUT_B(5, 3), PUT(5, 1), PUT(6, 1)),
	UNSETTLED("not walked", PUT(0, 1), PUT(1, 4), PUT(2, 3), PUT(5, 1), PUT(6, 1),
		  PUT(8, 7)),
};

static bool shares(const struct wort_tree *tree, const void *at)
{
	const struct tls_array *array = tree->priv;

	return array && at >= (const void *)array &&
	       at < (const void *)&array->entry[array->max];
}

const struct engine_starts engine_starts_tlist = {
	.steps = steps,
	.nr_steps = ARRAY_SIZE(steps),
	.starts = starts,
	.nr_starts = ARRAY_SIZE(starts),
	.shares = shares,
};
