/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Unit tests of WORT alone.
 */
#ifndef _WORT_TEST_ENGINES_WORT_H
#define _WORT_TEST_ENGINES_WORT_H

#include <linux/wort_format_wort.h>

#include "unit.h"

/* wort_top.c */
void check_wort_top_shapes(void);
void check_wort_top_lookups(void);
void check_wort_top_in_flight(void);
void check_wort_top_growth(void);
void check_wort_top_damaged(void);
void check_wort_top_stale(void);
void check_wort_top_beside(void);
void check_wort_top_moves(void);
void check_wort_top_none(void);
void check_wort_top_nothing(void);
void check_wort_top_window(void);
void check_wort_top_skips(void);
/* Does each entry of the table of a tree's top hold what it may?  How many there are. */
u32 wort_top_verify(struct wort_index *index);

/* wort_hostile.c */
void check_wort_hostile_tree(void);
void check_wort_hostile_owners(void);
void check_wort_hostile_commit(void);

/* wort_bad_pages.c */
void check_wort_bad_pages_exact(void);
void check_wort_bad_pages_value(void);
void check_wort_bad_pages_guess(void);
void check_wort_bad_pages_drop_top(void);

/* wort_counts.c */
void check_wort_counts_seek(void);
void check_wort_counts_in_flight(void);
void check_wort_counts_removal(void);
void check_wort_counts_batch(void);

#endif /* _WORT_TEST_ENGINES_WORT_H */
