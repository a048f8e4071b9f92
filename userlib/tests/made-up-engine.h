/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Included before the library's table of engines: one more, which has attributes of
 * each kind and the traits that wort does not have.
 */
#ifndef _WORT_MADE_UP_ENGINE_H
#define _WORT_MADE_UP_ENGINE_H

#include <linux/wort_engines.h>

#undef WORT_ENGINES
#define WORT_ENGINES(X)							\
	X(wort, "wort", WORT_ENGINE_WORT, WORT_TRAITS_wort)		\
	X(made_up, "made-up", 99, WORT_TRAITS_made_up)

#define WORT_TRAITS_made_up						\
	(WORT_TRAIT_ORDERED | WORT_TRAIT_READERS_LOCK | WORT_TRAIT_DELETE_SPACE)
#define WORT_ATTRS_made_up(X)						\
	WORT_ATTR_KEY(X)						\
	WORT_ATTR_NODE(X, 256, 4096, 512)				\
	X("split", 60, 4, 1, 1, 3, 2, "left middle right")

#endif
