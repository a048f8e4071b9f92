/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * The engines, which are the structures that an index can have: one table for the
 * module, the library and the tests.
 *
 * Each of them has the table that it was compiled with.  No system call returns it.
 */
#ifndef _UAPI_LINUX_WORT_ENGINES_H
#define _UAPI_LINUX_WORT_ENGINES_H

#include <linux/wort.h>

/* Traits: what the users of an index may expect of its engine. */
#define WORT_TRAIT_INSTANT_OPEN	(1U << 0)	/* opening takes the same time
						 * whatever the index holds
						 */
#define WORT_TRAIT_MAPPABLE	(1U << 1)	/* lookups in a mapping */
#define WORT_TRAIT_ORDERED	(1U << 2)	/* scans in the order of keys */
#define WORT_TRAIT_READERS_LOCK	(1U << 3)	/* readers may wait for a lock */
#define WORT_TRAIT_DELETE_SPACE	(1U << 4)	/* a delete may need space */
#define WORT_TRAIT_BATCH_SHARED	(1U << 5)	/* the changes of a batch share
						 * fences; else each has its own
						 */

/*
 * Engines: X(symbol, name, id, traits).  The first is the default.  The attributes of
 * an engine are in WORT_ATTRS_<symbol>.
 */
#define WORT_ENGINES(X)							\
	X(wort, "wort", WORT_ENGINE_WORT, WORT_TRAITS_wort)		\
	X(woart, "woart", WORT_ENGINE_WOART, WORT_TRAITS_woart)		\
	X(art_cow, "art_cow", WORT_ENGINE_ART_COW, WORT_TRAITS_art_cow)	\
	X(quire, "quire", WORT_ENGINE_QUIRE, WORT_TRAITS_quire)		\
	WORT_ENGINES_TEST(X)

#define WORT_TRAITS_wort						\
	(WORT_TRAIT_INSTANT_OPEN | WORT_TRAIT_MAPPABLE |		\
	 WORT_TRAIT_ORDERED | WORT_TRAIT_BATCH_SHARED)
#define WORT_ATTRS_wort(X)

#define WORT_TRAITS_woart	WORT_TRAITS_wort
#define WORT_ATTRS_woart(X)

#define WORT_TRAITS_art_cow	WORT_TRAITS_wort
#define WORT_ATTRS_art_cow(X)

#define WORT_TRAITS_quire						\
	(WORT_TRAIT_INSTANT_OPEN | WORT_TRAIT_ORDERED |			\
	 WORT_TRAIT_BATCH_SHARED)
#define WORT_ATTRS_quire(X)						\
	X("leaf", 32, 8, 64, 128, 2048, 2048, NULL)	/* bytes of a leaf */ \
	X("inner", 40, 8, 64, 128, 8192, 8192, NULL)	/* of an inner page */ \
	X("shadows", 48, 5, 1, 1, 25, 12, NULL)	/* DRAM, in percent of the pool */

/*
 * Numbers of engines whose nodes looked otherwise, X(then, now).  An index with such a
 * number is one of an unknown engine.  A backup has records only, so it can be restored.
 */
#define WORT_ENGINES_BEFORE(X)						\
	X(2, WORT_ENGINE_WOART)						\
	X(3, WORT_ENGINE_ART_COW)					\
	X(5, WORT_ENGINE_WOART)						\
	X(6, WORT_ENGINE_ART_COW)

/*
 * Engines for tests.  A module that is built without them takes their numbers for those
 * of unknown engines.
 */
#define WORT_ENGINE_TLIST		0x7f

#ifdef WORT_TEST_ENGINES
# define WORT_ENGINES_TEST(X)						\
	X(tlist, "tlist", WORT_ENGINE_TLIST, WORT_TRAITS_tlist)
#else
# define WORT_ENGINES_TEST(X)
#endif

#define WORT_TRAITS_tlist						\
	(WORT_TRAIT_INSTANT_OPEN | WORT_TRAIT_ORDERED |			\
	 WORT_TRAIT_BATCH_SHARED)
#define WORT_ATTRS_tlist(X)						\
	X("chunk", 32, 8, 1, 4, 48, 12, NULL)	/* slots in a chunk */

/*
 * Attributes: X(name, shift, bits, unit, min, max, default, values).
 *
 * An attribute is a field of the attribute word of an index, which never changes.
 * The field is @bits wide, begins at bit @shift and counts units: a value is a
 * multiple of @unit from @min to @max.  A field of 0 stands for the default, so a
 * word of 0 is valid for every engine.  The default is part of the format on media:
 * it never changes, and is 0 if @min is 0.  @values has names for the values from
 * @min on, separated by spaces, and is NULL for numbers.
 *
 * Attributes that several engines have are in the lower half of the word, with the
 * same name and place in each.  The upper half is for attributes of one engine.
 */
#define WORT_ATTRS_MAX	8	/* of one engine */

#define WORT_ATTR_KEY(X)						\
	X("key", 0, 4, 1, 0, 1, 0, "any fixed8")
#define WORT_ATTR_VALUE(X)						\
	X("value", 4, 4, 1, 0, 1, 0, "any fixed8")
#define WORT_ATTR_NODE(X, min, max, def)				\
	X("node", 8, 12, 16, min, max, def, NULL)

#endif /* _UAPI_LINUX_WORT_ENGINES_H */
