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

/*
 * The first bytes of keys 9 and 10 belong to even lines, those of the others and of the crowd
 * to odd ones.  Keys 0 and 4 have one line in an N28 and N56, key 5 has another.  The crowd
 * fills that of key 4 in an N56 first, and that of key 5 in an N112.
 */
static const struct engine_start art_starts[] = {
	START("node of two", PUT(0, 1), PUT(1, 1)),
	/* The pool has no space, or that of a record, or that of one and of an N14. */
	FULL("full root, no space", 0, 0, CROWD(4), PUT(0, 1), PUT(4, 1), PUT(9, 1)),
	FULL("full root, space for a record", sizeof(struct wort_media_leaf) + sizeof(__u64), 0,
	     CROWD(4), PUT(0, 1), PUT(4, 1), PUT(9, 1)),
	FULL("three of fourteen, no space", 0, 0, PUT(5, 1), CROWD(5), PUT(0, 1), PUT(9, 1),
	     CROWD(0)),
	FULL("full root, space for a node", sizeof(struct wort_media_leaf) + sizeof(__u64),
	     2 * sizeof(struct wort_media_art_line), CROWD(4), PUT(0, 1), PUT(4, 1), PUT(9, 1)),
	/* The table of the top leads to ten nodes; it is there, or is made beside steps. */
	START("ten nodes", PAIRS(8), PUT(0, 1), PUT(1, 1), PUT(5, 1), PUT(6, 1)),
	UNSETTLED("ten nodes, not walked", PAIRS(8), PUT(0, 1), PUT(1, 1), PUT(5, 1), PUT(6, 1)),
	/* One put fills the root, so that another put has to copy it. */
	START("root of six", CROWD(3), PUT(0, 1), PUT(4, 1), PUT(9, 1)),
	/* The root is full, and the next entry makes it an N14. */
	START("full root", CROWD(4), PUT(0, 1), PUT(4, 1), PUT(9, 1)),
	/* The same, of which one slot has a byte and no entry. */
	START("full root, one deleted", CROWD(4), PUT(0, 1), PUT(4, 1), PUT(9, 1), DEL(4)),
	/* There is room in both lines of an N14, in the second for one more. */
	START("root of eight", CROWD(5), PUT(0, 1), PUT(9, 1), PUT(10, 1)),
	/* An N14 whose two entries are in one line; the slot of key 9 is in the other one. */
	START("two of 14", PUT(5, 1), CROWD(5), PUT(0, 1), PUT(9, 1), DEL(9), CROWD(0)),
	/*
	 * An N14 of three, which the delete of key 9 makes an N7, or two deletes a record.  Key
	 * 5 comes first: otherwise its record has the lock of another one, by chance.
	 */
	START("three of fourteen", PUT(5, 1), CROWD(5), PUT(0, 1), PUT(9, 1), CROWD(0)),
	/* A line of the N14 is full, and key 4 or 5 makes it an N28. */
	START("full line of 14", CROWD(6), PUT(0, 1), PUT(9, 1)),
	/* It is copied without the byte that has a slot and no entry. */
	START("full line of 14, one deleted", CROWD(6), PUT(0, 1), PUT(9, 1), CROWD(5)),
	/* There is room in all lines of an N28. */
	START("root of ten", CROWD(8), PUT(0, 1), PUT(9, 1)),
	/* An N28, which the delete of key 9 makes an N7. */
	START("six of 28", CROWD(8), PUT(0, 1), PUT(9, 1), PUT(5, 1), CROWD(3)),
	/* Key 4 or 5 makes it an N56. */
	START("full line of 28", CROWD(13), PUT(0, 1), PUT(9, 1)),
	START("full line of 28, one deleted", CROWD(13), PUT(0, 1), PUT(9, 1), CROWD(12)),
	/* An N56, which the delete of key 9 makes an N28. */
	START("eleven of 56", CROWD(13), PUT(0, 1), PUT(9, 1), PUT(5, 1), CROWD(8)),
	START("one leaf", PUT(0, 1)),
	START("long prefix", PUT(5, 1), PUT(6, 1)),
	START("long prefix, split", PUT(5, 1), PUT(6, 1), PUT(7, 1), PUT(4, 1)),
	/* Key 4 makes it an N112. */
	START("full line of 56", CROWD(23), PUT(0, 1), PUT(9, 1)),
	START("full line of 56, one deleted", CROWD(23), PUT(0, 1), PUT(9, 1), CROWD(22)),
	/* An N112, which the delete of key 9 makes an N56. */
	START("21 of 112", CROWD(23), PUT(0, 1), PUT(9, 1), PUT(4, 1), CROWD(18)),
	/* Key 5 makes it an N256. */
	START("full line of 112", CROWD(50), PUT(0, 1), PUT(9, 1)),
	/* An N256, which the delete of key 9 makes an N112. */
	START("41 of 256", CROWD(50), PUT(0, 1), PUT(9, 1), PUT(5, 1), CROWD(38)),
	START("root of 53", CROWD(50), PUT(0, 1), PUT(9, 1), PUT(5, 1)),
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
#define ART_COPY_STARTS	15

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
		4 * sizeof(struct wort_media_art_line),			\
		8 * sizeof(struct wort_media_art_line),			\
	},								\
}

#endif /* _WORT_TEST_ENGINES_ART_STARTS_H */
