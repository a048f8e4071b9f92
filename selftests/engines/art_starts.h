/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An adaptive radix tree in the crash explorer: every structure change is one step away from
 * one of these pools.
 */
#ifndef _WORT_TEST_ENGINES_ART_STARTS_H
#define _WORT_TEST_ENGINES_ART_STARTS_H

#include <linux/wort_format_art.h>

#include "starts.h"

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

/* Each kind of split, copy and merge, values of every kind. */
static const struct step art_steps[] = {
	PUT(0, 1), PUT(1, 1), PUT(2, 1), PUT(3, 1), PUT(4, 1), PUT(5, 1),
	PUT(6, 1), PUT(7, 1), PUT(8, 1), PUT(9, 5), PUT(10, 1),
	PUT(0, 2), PUT(0, 3), PUT(5, 4), PUT(1, 3), PUT(4, 5),
	DEL(0), DEL(1), DEL(2), DEL(3), DEL(4), DEL(5), DEL(6), DEL(8), DEL(9),
	CAS(0, 2), CAS(5, 3), BATCH(0), BATCH(1), BATCH(2), BATCH(3), BATCH(4),
	BATCH(5), BATCH(6), BATCH(7), BATCH(8), BATCH(9), BATCH(10),
	ONLY(STEP_REATTACH), ONLY(STEP_SETTLE), ONLY(STEP_CHECK),
};

static const struct engine_start art_starts[] = {
	START("node of two", PUT(0, 1), PUT(1, 1)),
	/* One put fills the root, so that another put has to copy it. */
	START("root of six", CROWD(3), PUT(0, 1), PUT(4, 1), PUT(9, 1)),
	/* The root is full, and the next entry makes it an N14. */
	START("full root", CROWD(3), PUT(0, 1), PUT(4, 1), PUT(9, 1), PUT(10, 1)),
	/* The same, of which one slot has a byte and no entry. */
	START("full root, one deleted", CROWD(3), PUT(0, 1), PUT(4, 1), PUT(9, 1), PUT(10, 1),
	      DEL(4)),
	/* There is room in the second line. */
	START("root of eight", CROWD(6), PUT(0, 1), PUT(9, 1)),
	/* An N14, which the delete of byte 0 makes an N7. */
	START("six of fourteen", CROWD(8), PUT(0, 1), PUT(9, 1), PUT(5, 1), CROWD(3)),
	/* An N14 whose two entries are in two lines; ART+CoW has copied both into the first. */
	START("two of fourteen", PUT(0, 1), CROWD(7), PUT(9, 1), CROWD(0)),
	/* An N14 of three, which the delete of byte 0 makes an N7, or two deletes a record. */
	START("three of fourteen", PUT(0, 1), CROWD(7), PUT(9, 1), PUT(5, 1), CROWD(0)),
	/* The next new byte makes the root an N21. */
	START("root of fourteen", CROWD(11), PUT(0, 1), PUT(9, 1), PUT(5, 1)),
	/* There is room in the third line. */
	START("root of fifteen", CROWD(13), PUT(0, 1), PUT(9, 1)),
	/* An N21, which the delete of byte 0 makes an N14. */
	START("root of twelve", CROWD(15), PUT(0, 1), PUT(9, 1), PUT(5, 1), CROWD(9)),
	/* The next new byte makes the root an N48. */
	START("root of 21", CROWD(18), PUT(0, 1), PUT(9, 1), PUT(5, 1)),
	/* It is copied without the byte that has a slot and no entry. */
	START("root of 21, one deleted", CROWD(19), PUT(0, 1), PUT(9, 1), DEL(9)),
	/* An N48, which the delete of byte 0 makes an N21. */
	START("root of eighteen", CROWD(19), PUT(0, 1), PUT(9, 1), PUT(5, 1), CROWD(15)),
	START("one leaf", PUT(0, 1)),
	START("long prefix", PUT(5, 1), PUT(6, 1)),
	START("long prefix, split", PUT(5, 1), PUT(6, 1), PUT(7, 1), PUT(4, 1)),
	START("root of 22", CROWD(18), PUT(0, 1), PUT(9, 1), PUT(5, 1), PUT(4, 1)),
	START("root of 48", CROWD(45), PUT(0, 1), PUT(9, 1), PUT(5, 1)),
	START("root of 48, one deleted", CROWD(46), PUT(0, 1), PUT(9, 1), CROWD(45)),
	/* An N256, which the delete of byte 0 makes an N48. */
	START("root of 38", CROWD(49), PUT(0, 1), PUT(9, 1), PUT(5, 1), CROWD(35)),
	START("root of 49", CROWD(45), PUT(0, 1), PUT(9, 1), PUT(5, 1), PUT(4, 1)),
	START("every kind of value", PUT(0, 1), PUT(1, 3), PUT(2, 4), PUT(5, 7),
	      PUT(9, 5), PUT(3, 6)),
	START("all keys", PUT(0, 1), PUT(1, 1), PUT(2, 1), PUT(3, 1), PUT(4, 1),
	      PUT(5, 1), PUT(6, 1), PUT(7, 1), PUT(8, 1), PUT(9, 1)),
	START("after deletes", PUT(0, 1), PUT(1, 1), PUT(2, 1), PUT(5, 1),
	      PUT(6, 1), PUT(7, 1), DEL(1), DEL(5), DEL(2)),
	START("ends below ends", PUT(3, 1), PUT(8, 6), PUT(7, 1), PUT(5, 1), PUT(1, 1)),
	START("after replaces", PUT(0, 1), PUT(0, 3), PUT(5, 4), PUT(5, 3),
	      PUT(1, 1), PUT(1, 7), PUT(9, 2)),
	START("two trees", CREATE(1), PUT_B(0, 1), PUT_B(5, 3), PUT(5, 1),
	      PUT(6, 1), PUT(2, 4)),
	UNSETTLED("not walked", PUT(0, 1), PUT(1, 1), PUT(5, 3), PUT(6, 4), PUT(9, 1)),
};

/* The first pools are those from which ART+CoW copies where WOART does not. */
#define ART_COPY_STARTS	9

#define ART_STARTS(nr) {							\
	.steps = art_steps,						\
	.nr_steps = ARRAY_SIZE(art_steps),				\
	.starts = art_starts,						\
	.nr_starts = nr,						\
	.sizes = {							\
		sizeof(struct wort_media_leaf),				\
		sizeof(struct wort_media_leaf) + sizeof(__u64),		\
		sizeof(struct wort_media_art_line),			\
		2 * sizeof(struct wort_media_art_line),			\
	},								\
}

#endif /* _WORT_TEST_ENGINES_ART_STARTS_H */
