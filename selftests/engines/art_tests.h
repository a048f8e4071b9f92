/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the engines with an adaptive radix tree share in the tests.
 */
#ifndef _WORT_TEST_ENGINES_ART_H
#define _WORT_TEST_ENGINES_ART_H

#include "unit.h"

extern const struct engine_probe art_probe;

/* art_tests.c */
void check_art_kinds(void);
void check_art_atomic(void);
void check_art_one_line(void);
void check_art_multiples(void);
void check_art_slots(void);
void check_art_dirty_slots(void);
void check_art_rest(void);
void check_art_misaligned(void);
void check_art_growth(void);
void check_art_lost_elsewhere(void);
void check_art_cow_copies(void);
void check_art_cow_given_back(void);
void check_art_cow_damaged(void);
void check_art_maps(void);
void check_art_order(void);
void check_art_top(void);
void check_art_top_damaged(void);
/* Does each entry of the table of a tree's top hold what it may?  How many there are. */
u32 art_top_verify(struct wort_index *index);

#define ART_TESTS							\
	{ "kinds", check_art_kinds },					\
	{ "atomic", check_art_atomic },					\
	{ "one_line", check_art_one_line },				\
	{ "multiples", check_art_multiples },				\
	{ "slots", check_art_slots },					\
	{ "dirty_slots", check_art_dirty_slots },			\
	{ "rest", check_art_rest },					\
	{ "misaligned", check_art_misaligned },				\
	{ "growth", check_art_growth, .optional = true },		\
	{ "lost_elsewhere", check_art_lost_elsewhere },			\
	{ "maps", check_art_maps },					\
	{ "order", check_art_order },					\
	{ "top", check_art_top, .optional = true },			\
	{ "top_damaged", check_art_top_damaged, .optional = true }

#endif /* _WORT_TEST_ENGINES_ART_H */
