/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Unit tests of tlist alone.
 */
#ifndef _WORT_TEST_ENGINES_TLIST_H
#define _WORT_TEST_ENGINES_TLIST_H

#include "unit.h"

/* tlist_tests.c */
void check_tlist_chunks(void);
void check_tlist_replace(void);
void check_tlist_walk(void);
void check_tlist_hostile(void);
void check_tlist_cuts(void);
void check_tlist_parts(void);
void check_tlist_array(void);
void check_tlist_array_full(void);

/* tlist_unit.c */
u32 tlist_verify_array(struct wort_index *index);

/* tlist_batches.c */
void check_tlist_counts_batch(void);
void check_tlist_batch_value(void);

#endif /* _WORT_TEST_ENGINES_TLIST_H */
