// SPDX-License-Identifier: GPL-2.0-only
/*
 * tlist in the unit tests.
 */
#include "../../kmod/engine/tlist.h"
#include "tlist_tests.h"

static u64 target(u64 word)
{
	return word;
}

static u64 refer(u64 word, u64 off)
{
	return off;
}

static bool is_record(const u8 *mem, u64 off, const struct wort_key *key)
{
	const struct wort_media_leaf *leaf = (const void *)(mem + off);

	return (le64_to_cpu(leaf->meta) & WORT_MEDIA_LEAF_KEY_MASK) == key->len &&
	       !memcmp(leaf->key, key->data, key->len);
}

/* The slot of a chunk that refers to the record, or 0. */
static u64 slot_of(const u8 *mem, u64 chunk, const struct wort_key *key)
{
	u64 bits = probe_load(mem, chunk + sizeof(__le64)), slot;

	for (; bits; bits &= bits - 1) {
		slot = chunk + sizeof(struct wort_media_tlist_chunk) +
		       __builtin_ctzll(bits) * sizeof(__le64);
		if (is_record(mem, probe_load(mem, slot), key))
			return slot;
	}
	return 0;
}

/* From the root along the chunks to the slot, the last one first. */
static u32 path(const u8 *mem, u64 root, const struct wort_key *key, u64 *words)
{
	u64 chunk = probe_load(mem, root), slot = 0;
	u32 n = 0, i;

	words[n++] = root;
	while (chunk && !slot && n < PROBE_WORDS) {
		slot = slot_of(mem, chunk, key);
		words[n++] = slot ?: chunk;
		chunk = probe_load(mem, chunk);
	}
	for (i = 0; i < n / 2; i++)
		swap(words[i], words[n - 1 - i]);
	return n;
}

static const struct engine_probe probe = {
	.path = path,
	.target = target,
	.refer = refer,
	.value = probe_load,
};

#define OWN(name)	{ #name, check_tlist_##name }
/* About an optional group of functions. */
#define OPTIONAL(name)	{ #name, check_tlist_##name, .optional = true }

static const struct test tests[] = {
	OWN(chunks),
	OWN(replace),
	OWN(walk),
	OWN(hostile),
	OWN(cuts),
	OPTIONAL(counts_batch),
	OPTIONAL(batch_value),
};

/* At most an insert writes a record and two chunks; most times a slot. */
const struct engine_unit engine_unit_tlist = {
	.probe = &probe,
	.records = 2000,
	.insert = { .fences = { 2, 2 }, .lines = { 2, 12 }, .stores = { 5, 70 } },
	.update = { .fences = { 1, 1 }, .lines = { 1, 1 }, .stores = { 1, 1 } },
	.delete = { .fences = { 1, 1 }, .lines = { 1, 1 }, .stores = { 1, 1 } },
	.drops = 4,
	.tests = tests,
	.nr_tests = ARRAY_SIZE(tests),
};
