/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the unit tests know of an engine.
 */
#ifndef _WORT_TEST_ENGINES_UNIT_H
#define _WORT_TEST_ENGINES_UNIT_H

#include "../unit/unit.h"
#include "engines.h"

/**
 * struct engine_probe - How a test finds on media what an engine has stored
 * @path: the words that lead to a record: the first one refers to the record, each
 *	other one to the object that has the word before it, and the last one lies in the
 *	root record.  Writes their offsets; returns how many there are, at most
 *	PROBE_WORDS.
 * @target: the offset of the object that a word refers to
 * @refer: a word as this one that refers to another object
 * @value: the offset of the value of a record, which is an object of its own
 */
struct engine_probe {
	u32 (*path)(const u8 *mem, u64 root, const struct wort_key *key,
		    u64 *words);
	u64 (*target)(u64 word);
	u64 (*refer)(u64 word, u64 off);
	u64 (*value)(const u8 *mem, u64 record);
};

#define PROBE_WORDS	256

/* A word on media. */
static inline u64 probe_load(const u8 *mem, u64 off)
{
	__le64 word;

	memcpy(&word, mem + off, sizeof(word));
	return le64_to_cpu(word);
}

/**
 * struct engine_cost - What one operation costs, at least and at most
 * @fences: ordering points
 * @lines: lines flushed, without those of the allocator
 * @stores: words stored, without those of the allocator
 *
 * The key has eight bytes, and so has the value.
 */
struct engine_cost {
	u32 fences[2];
	u32 lines[2];
	u32 stores[2];
};

/**
 * struct engine_unit - An engine in the unit tests
 * @probe: where its objects are
 * @records: a test inserts no more; for engines whose operations take time in
 *	proportion to it
 * @node_size: size of its inner nodes, 0: they have several sizes
 * @nodes: a lookup of a key of eight bytes visits at most so many inner nodes; 0: any
 *	number
 * @leaves: and so many records
 * @insert: cost of an insert of a new key
 * @update: of a new value for a key
 * @delete: of a delete
 * @lines_many: lines of an insert, on average of 100000 keys of each workload with the
 *	usual attributes and in hundredths, with those of the allocator; 0: as @insert
 * @lines_million: of a million keys
 * @points_insert: ordering points of an insert, on average of many with the usual
 *	attributes, and in hundredths; 0: as @insert
 * @points_delete: of a delete, where all records are deleted in any order
 * @steps: a put may take several steps, and those stand that were done when a later
 *	one fails
 * @needs_all: a put beside a record reserves all that its @need tells
 * @drops: of the pages of the image at least so many can be dropped from it
 * @spared: at most so many allocations of its background work fail without any harm
 * @spared_any: so many more of any operation
 * @needs_much: with small nodes @need is much, and a pool of 256 KiB soon full
 * @tidies: a delete takes memory if there is any, and does without
 * @verify: verify what it keeps in DRAM for an open index; how many entries were
 *	verified.  NULL: it keeps nothing
 * @verified: the random operations verify at least so many
 * @golden: file in unit/golden that holds an image of it with the usual
 *	attributes, or NULL
 * @tests: tests of its own
 * @nr_tests: number of @tests
 */
struct engine_unit {
	const struct engine_probe *probe;
	u32 records;
	u32 node_size;
	u32 nodes;
	u32 leaves;
	struct engine_cost insert;
	struct engine_cost update;
	struct engine_cost delete;
	u32 lines_many[WORKLOAD_NR];
	u32 lines_million[WORKLOAD_NR];
	u32 points_insert;
	u32 points_delete;
	bool steps;
	bool needs_all;
	u32 drops;
	u32 spared;
	u32 spared_any;
	bool needs_much;
	bool tidies;
	u32 (*verify)(struct wort_index *index);
	u32 verified;
	const char *golden;
	const struct test *tests;
	u32 nr_tests;
};

#define ENGINE_UNIT(symbol, ...)					\
	extern const struct engine_unit engine_unit_##symbol;
WORT_ENGINES(ENGINE_UNIT)
#undef ENGINE_UNIT

/**
 * struct subject - The engine under test, which new indexes have
 * @engine: its row in all tests
 * @unit: its row in the unit tests
 * @attr: attribute word of new indexes
 *
 * While a test of core or pool runs it is the default engine.
 */
struct subject {
	const struct test_engine *engine;
	const struct engine_unit *unit;
	u64 attr;
};

extern struct subject subject;

/* Has the engine under test all of these WORT_TRAIT_*? */
static inline bool subject_has(u32 traits)
{
	return (subject.engine->traits & traits) == traits;
}

/* As many records as a test would like, or as many as the engine takes. */
static inline u32 subject_records(u32 nr)
{
	return min(nr, subject.unit->records);
}

/* Verify what the engine keeps in DRAM; how many entries. */
static inline u32 subject_verify(struct wort_index *index)
{
	return subject.unit->verify ? subject.unit->verify(index) : 0;
}

/* The words that lead to a record of an open index; how many. */
u32 bed_path(struct bed *bed, const void *key, u32 len, u64 *words);
/* Offset of a record of an open index. */
u64 bed_record(struct bed *bed, const void *key, u32 len);

#endif /* _WORT_TEST_ENGINES_UNIT_H */
