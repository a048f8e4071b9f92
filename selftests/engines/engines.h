/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The engines, as all tests see them.  Name, number and traits are those of
 * uapi/linux/wort_engines.h; an engine has one row here and, in this folder, files of
 * its own.  How to add one: Documentation/testing.rst.
 */
#ifndef _WORT_TEST_ENGINES_H
#define _WORT_TEST_ENGINES_H

#include <string.h>

#include <linux/wort_engines.h>

/* Attribute words to test an engine with; 0: all attributes have their defaults. */
#define TEST_ATTRS_wort		0

/**
 * struct test_engine - An engine to test
 * @name: its name
 * @id: its number
 * @traits: WORT_TRAIT_*
 * @nr_attrs: number of @attrs
 * @attrs: attribute words to test it with
 */
struct test_engine {
	const char *name;
	__u32 id;
	__u32 traits;
	__u32 nr_attrs;
	const __u64 *attrs;
};

#define TEST_ATTRS(symbol, ...)						\
	static const __u64 test_attrs_##symbol[] = { TEST_ATTRS_##symbol };
WORT_ENGINES(TEST_ATTRS)
#undef TEST_ATTRS

#define TEST_ENGINE(symbol, name_, id_, traits_) {			\
	.name = name_,							\
	.id = id_,							\
	.traits = traits_,						\
	.nr_attrs = sizeof(test_attrs_##symbol) / sizeof(__u64),	\
	.attrs = test_attrs_##symbol,					\
},
/* The first is the default. */
static const struct test_engine test_engines[] = {
	WORT_ENGINES(TEST_ENGINE)
};
#undef TEST_ENGINE

#define TEST_ENGINES_NR	(sizeof(test_engines) / sizeof(test_engines[0]))

/* The engine with a name, or NULL. */
static inline const struct test_engine *test_engine_named(const char *name)
{
	unsigned int i;

	for (i = 0; i < TEST_ENGINES_NR; i++)
		if (!strcmp(test_engines[i].name, name))
			return &test_engines[i];
	return NULL;
}

#endif /* _WORT_TEST_ENGINES_H */
