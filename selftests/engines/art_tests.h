/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the engines with an adaptive radix tree share in the tests.
 */
#ifndef _WORT_TEST_ENGINES_ART_H
#define _WORT_TEST_ENGINES_ART_H

#include "unit.h"

extern const struct engine_probe art_probe;

#endif /* _WORT_TEST_ENGINES_ART_H */
