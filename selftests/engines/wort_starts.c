// SPDX-License-Identifier: GPL-2.0-only
/*
 * WORT in the crash explorer: every structure change is one step away from one of
 * these pools.
 */
#include <linux/wort_format_wort.h>

#include "starts.h"

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

/* Each kind of split and merge, values of every kind. */
static const struct step steps[] = {
	PUT(0, 1), PUT(1, 1), PUT(2, 1), PUT(3, 1), PUT(4, 1), PUT(5, 1),
	PUT(6, 1), PUT(7, 1), PUT(8, 1), PUT(9, 5), PUT(10, 1),
	PUT(0, 2), PUT(0, 3), PUT(0, 7), PUT(5, 4), PUT(3, 6), PUT(1, 3),
	PUT(2, 2), PUT(6, 7), PUT(4, 5),
	DEL(0), DEL(1), DEL(2), DEL(3), DEL(4), DEL(5), DEL(6), DEL(7), DEL(8),
	CAS(0, 2), CAS(5, 3), BATCH(0), BATCH(1), BATCH(2), BATCH(3), BATCH(4),
	BATCH(5), BATCH(6), BATCH(7), BATCH(8), BATCH(9), BATCH(10),
	ONLY(STEP_REATTACH), ONLY(STEP_SETTLE), ONLY(STEP_CHECK),
};

static const struct engine_start starts[] = {
	START("one leaf", PUT(0, 1)),
	START("node of two", PUT(0, 1), PUT(1, 1)),
	/* Keys 0 and 1 are neighbours, their leaves are not. */
	START("ends", PUT(3, 1), PUT(0, 1), PUT(8, 1), PUT(4, 1), PUT(9, 1),
	      PUT(10, 1), PUT(2, 1), PUT(1, 1), DEL(4), DEL(9), DEL(10),
	      DEL(2)),
	START("long prefix", PUT(5, 1), PUT(6, 1)),
	START("long prefix, split", PUT(5, 1), PUT(6, 1), PUT(7, 1), PUT(4, 1)),
	START("nodes below a node", PUT(0, 1), PUT(1, 1), PUT(2, 1), PUT(4, 1),
	      PUT(5, 4), PUT(6, 3)),
	START("every kind of value", PUT(0, 1), PUT(1, 3), PUT(2, 4), PUT(5, 7),
	      PUT(9, 5), PUT(3, 6)),
	START("all keys", PUT(0, 1), PUT(1, 1), PUT(2, 1), PUT(3, 1), PUT(4, 1),
	      PUT(5, 1), PUT(6, 1), PUT(7, 1), PUT(8, 1), PUT(9, 1)),
	START("all keys, long values", PUT(9, 3), PUT(8, 7), PUT(7, 3),
	      PUT(6, 7), PUT(5, 3), PUT(4, 7), PUT(3, 3), PUT(2, 7), PUT(1, 3),
	      PUT(0, 7)),
	START("after deletes", PUT(0, 1), PUT(1, 1), PUT(2, 1), PUT(5, 1),
	      PUT(6, 1), PUT(7, 1), DEL(1), DEL(5), DEL(2)),
	START("ends below ends", PUT(3, 1), PUT(8, 6), PUT(7, 1), PUT(5, 1),
	      PUT(1, 1)),
	START("odd place", PUT(0, 1), PUT(2, 1), PUT(6, 1)),
	START("root of many", PUT(0, 1), PUT(4, 1), PUT(5, 1), PUT(6, 1),
	      PUT(9, 1)),
	START("node of three", PUT(0, 1), PUT(1, 6), PUT(4, 3), PUT(10, 1)),
	START("beginnings in common", PUT(5, 1), PUT(6, 3), PUT(7, 1),
	      PUT(8, 2), PUT(3, 1), PUT(2, 5)),
	START("after replaces", PUT(0, 1), PUT(0, 3), PUT(5, 4), PUT(5, 3),
	      PUT(1, 1), PUT(1, 7), PUT(9, 2)),
	START("after moves", PUT(0, 2), PUT(4, 1), PUT(5, 3), PUT(6, 1), DEL(4),
	      PUT(9, 4), PUT(0, 3), DEL(6), PUT(7, 6), PUT(1, 7)),
	START("all but one", PUT(10, 2), PUT(9, 1), PUT(8, 3), PUT(7, 1),
	      PUT(6, 6), PUT(5, 2), PUT(4, 7), PUT(3, 1), PUT(1, 3), PUT(0, 1)),
	START("two trees", CREATE(1), PUT_B(0, 1), PUT_B(5, 3), PUT(5, 1),
	      PUT(6, 1), PUT(2, 4)),
	START("large values", PUT(0, 4), PUT(1, 4), PUT(5, 4), PUT(6, 4)),
	UNSETTLED("all keys, not walked", PUT(0, 1), PUT(1, 4), PUT(2, 3),
		  PUT(3, 1), PUT(4, 1), PUT(5, 7), PUT(6, 1), PUT(8, 1)),
	UNSETTLED("not walked", PUT(0, 1), PUT(1, 1), PUT(5, 3), PUT(6, 4),
		  PUT(9, 1)),
};

const struct engine_starts engine_starts_wort = {
	.steps = steps,
	.nr_steps = ARRAY_SIZE(steps),
	.starts = starts,
	.nr_starts = ARRAY_SIZE(starts),
	.sizes = {
		sizeof(struct wort_media_leaf),
		sizeof(struct wort_media_leaf) + sizeof(__u64),
		sizeof(struct wort_media_wort_node),
	},
};
