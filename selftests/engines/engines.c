// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "engines.h"

#define TEST_ATTRS(symbol, ...)						\
	static const __u64 test_attrs_##symbol[] = { TEST_ATTRS_##symbol };
WORT_ENGINES(TEST_ATTRS)

#define TEST_ENGINE(symbol, name_, id_, traits_) {			\
	.name = name_,							\
	.id = id_,							\
	.traits = traits_,						\
	.nr_attrs = sizeof(test_attrs_##symbol) / sizeof(__u64),	\
	.attrs = test_attrs_##symbol,					\
	.nr_steps = TEST_STEPS_##symbol,				\
},
const struct test_engine test_engines[TEST_ENGINES_NR] = {
	WORT_ENGINES(TEST_ENGINE)
};

const struct test_engine *test_engine_named(const char *name)
{
	unsigned int i;

	for (i = 0; i < TEST_ENGINES_NR; i++)
		if (!strcmp(test_engines[i].name, name))
			return &test_engines[i];
	return NULL;
}
