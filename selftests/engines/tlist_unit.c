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

/* Each entry is of a chunk of the list, in order.  Some chunks may have none. */
u32 tlist_verify_array(struct wort_index *index)
{
	const u8 *mem = (const u8 *)index->pool->region->base;
	const struct tls_array *array = index->tree.priv;
	u64 off = le64_to_cpu(index->tree.root[0]);
	const struct wort_media_tlist_chunk *chunk;
	u32 i, len, found = 0;
	u64 prefix;

	if (!array)
		return 0;
	for (i = 1; i < array->nr; i++)
		CHECK(array->entry[i - 1].prefix <= array->entry[i].prefix);
	for (; off; off = le64_to_cpu(chunk->next)) {
		chunk = (const void *)(mem + off);
		len = le64_to_cpu(chunk->meta) >> WORT_MEDIA_TLIST_BOUND_SHIFT;
		prefix = tls_prefix((const u8 *)&chunk->slot[tls_slots(&index->tree)], len);
		for (i = 0; i < array->nr; i++)
			if (array->entry[i].off == off) {
				CHECK_EQ(array->entry[i].prefix, prefix);
				found++;
			}
	}
	CHECK_EQ(found, array->nr);
	for (i = 0; i < WORT_NR_LOCKS; i++)
		CHECK_EQ(index->pool->locks.sequence[i] & 1, 0);
	return found;
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
	OPTIONAL(parts),
	OPTIONAL(array),
	OPTIONAL(array_full),
};

/* At most an insert writes a record and two chunks; most times a slot. */
const struct engine_unit engine_unit_tlist = {
	.probe = &probe,
	.records = 1000,
	.insert = { .fences = { 2, 2 }, .lines = { 2, 12 }, .stores = { 5, 70 } },
	.update = { .fences = { 1, 1 }, .lines = { 1, 1 }, .stores = { 1, 1 } },
	.delete = { .fences = { 1, 1 }, .lines = { 1, 1 }, .stores = { 1, 1 } },
	.drops = 4,
	.spared = 6,
	.verify = tlist_verify_array,
	.verified = 1,
	.tests = tests,
	.nr_tests = ARRAY_SIZE(tests),
};
