/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The engines, as all tests see them.  Name, number and traits are those of
 * uapi/linux/wort_engines.h; an engine has one row here and, in this folder, files of
 * its own.  How to add one: Documentation/testing.rst.
 */
#ifndef _WORT_TEST_ENGINES_H
#define _WORT_TEST_ENGINES_H

#include <linux/wort_engines.h>

/*
 * Attribute words to test an engine with, 0 first: all attributes have their defaults.
 * The last is that of the smallest nodes.
 */
#define TEST_ATTRS_wort		0
#define TEST_ATTRS_woart	0
#define TEST_ATTRS_art_cow	0
#define TEST_ATTRS_quire	0, 2ULL << 32 | 2ULL << 40
#define TEST_ATTRS_tlist	0, 4ULL << 32

/* Steps of the longest sequences that the explorer tries if it is not told. */
#define TEST_STEPS_wort		3
#define TEST_STEPS_woart	1
#define TEST_STEPS_art_cow	1
#define TEST_STEPS_quire	2
#define TEST_STEPS_tlist	1

/**
 * struct test_engine - An engine to test
 * @name: its name
 * @id: its number
 * @traits: WORT_TRAIT_*
 * @nr_attrs: number of @attrs
 * @attrs: attribute words to test it with
 * @nr_steps: steps of the longest sequences of the explorer
 */
struct test_engine {
	const char *name;
	__u32 id;
	__u32 traits;
	__u32 nr_attrs;
	const __u64 *attrs;
	__u32 nr_steps;
};

#define TEST_ENGINE_NR(symbol, ...)	TEST_ENGINE_##symbol,
enum { WORT_ENGINES(TEST_ENGINE_NR) TEST_ENGINES_NR };
#undef TEST_ENGINE_NR

/* The first is the default. */
extern const struct test_engine test_engines[TEST_ENGINES_NR];

/* The engine with a name, or NULL. */
const struct test_engine *test_engine_named(const char *name);

#endif /* _WORT_TEST_ENGINES_H */
