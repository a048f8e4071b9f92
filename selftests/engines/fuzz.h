/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the image fuzzer knows of an engine.
 */
#ifndef _WORT_TEST_ENGINES_FUZZ_H
#define _WORT_TEST_ENGINES_FUZZ_H

#include "../fuzz/fuzz.h"

/**
 * struct engine_fuzz - An engine in the image fuzzer
 * @list: add each word that a root record leads to, by base_add(); @root is the offset of
 *	its first word
 * @target: the offset of the object that a word of the kind WORD_LINK refers to
 * @changes: changes of words that know what they mean to the engine, besides those that
 *	are made whatever the engine is
 * @nr_changes: number of @changes
 */
struct engine_fuzz {
	void (*list)(struct base *base, u64 root);
	u64 (*target)(u64 word);
	void (*const *changes)(struct fuzz *f);
	u32 nr_changes;
};

#define ENGINE_FUZZ(symbol, ...)					\
	extern const struct engine_fuzz engine_fuzz_##symbol;
WORT_ENGINES(ENGINE_FUZZ)
#undef ENGINE_FUZZ

#endif /* _WORT_TEST_ENGINES_FUZZ_H */
