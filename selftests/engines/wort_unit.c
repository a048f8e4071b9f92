// SPDX-License-Identifier: GPL-2.0-only
/*
 * WORT in the unit tests.
 */
#include "wort_tests.h"

static u64 target(u64 link)
{
	return link & WORT_MEDIA_LINK_OFF_MASK;
}

static u64 refer(u64 link, u64 off)
{
	return (link & ~WORT_MEDIA_LINK_OFF_MASK) | off;
}

/* From the root down: a slot of each node, the last one refers to a record. */
static u32 path(const u8 *mem, u64 root, const struct wort_key *key, u64 *words)
{
	u64 slot = root, link;
	u32 n = 0, place, i;

	for (;;) {
		words[n++] = slot;
		link = probe_load(mem, slot);
		if ((link & WORT_MEDIA_LINK_KIND_MASK) != WORT_MEDIA_WORT_KIND_NODE ||
		    n == PROBE_WORDS)
			break;
		place = link >> WORT_MEDIA_LINK_PLACE_SHIFT;
		slot = target(link) +
		       8 * wort_key_digit(key->data, key->len, place);
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

#define OWN(name)	{ #name, check_wort_##name }
/* About an optional group of functions. */
#define OPTIONAL(name)	{ #name, check_wort_##name, .optional = true }

static const struct test tests[] = {
	OPTIONAL(top_shapes),
	OPTIONAL(top_lookups),
	OPTIONAL(top_in_flight),
	OPTIONAL(top_growth),
	OPTIONAL(top_moves),
	OPTIONAL(top_none),
	OPTIONAL(top_nothing),
	OPTIONAL(top_window),
	OPTIONAL(top_skips),
	OPTIONAL(top_damaged),
	OPTIONAL(top_stale),
	OPTIONAL(top_beside),
	OWN(hostile_tree),
	OWN(hostile_owners),
	OWN(hostile_commit),
	OWN(bad_pages_exact),
	OWN(bad_pages_value),
	OWN(bad_pages_guess),
	OPTIONAL(bad_pages_drop_top),
	OWN(counts_seek),
	OWN(counts_in_flight),
	OPTIONAL(counts_removal),
	OPTIONAL(counts_batch),
};

/*
 * An insert writes a record, perhaps a node of two lines, and the word that leads to
 * them.  How many nodes sparse keys need swings with their number: from one power of 16
 * to the next.
 */
const struct engine_unit engine_unit_wort = {
	.probe = &probe,
	.records = U32_MAX,
	.node_size = sizeof(struct wort_media_wort_node),
	.nodes = 16,
	.leaves = 1,
	.insert = { .fences = { 2, 2 }, .lines = { 2, 4 }, .stores = { 4, 22 } },
	.update = { .fences = { 1, 1 }, .lines = { 1, 1 }, .stores = { 1, 1 } },
	.delete = { .fences = { 1, 1 }, .lines = { 1, 1 }, .stores = { 1, 1 } },
	.lines_many = { 214, 275, 221 },
	.lines_million = { 213, 270, 221 },
	.needs_all = true,
	.drops = 8,
	.spared = 1,
	.verify = wort_top_verify,
	.verified = 1000,
	.golden = "v4-wort.txt",
	.tests = tests,
	.nr_tests = ARRAY_SIZE(tests),
};
