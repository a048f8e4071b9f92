/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _WORT_TEST_ENGINES_RADIX_FUZZ_H
#define _WORT_TEST_ENGINES_RADIX_FUZZ_H

#include "fuzz.h"

#define RADIX_NR_CHANGES	8

extern void (*const radix_changes[RADIX_NR_CHANGES])(struct fuzz *f);

u64 radix_target(u64 link);
/* The words of an adaptive radix tree, from a slot on. */
void art_list(struct base *base, u64 slot);
/* The words of a leaf. */
void radix_list_leaf(struct base *base, u64 off);

#endif /* _WORT_TEST_ENGINES_RADIX_FUZZ_H */
