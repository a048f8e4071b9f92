// SPDX-License-Identifier: GPL-2.0-only
/*
 * WOART and ART+CoW in the unit tests.
 */
#include "../../kmod/engine/art.h"
#include "unit.h"

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
	u32 n = 0, i;

	while (slot && n < PROBE_WORDS) {
		words[n++] = slot;
		link = probe_load(mem, slot);
		if (!art_link_is_node(link))
			break;
		slot = art_slot((void *)mem, link,
				art_key_byte(key, wort_key_word(key, 0),
					     wort_link_place(link)));
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

/*
 * An insert writes a record and a word, and perhaps the map of another line; or a node, of
 * up to 32 lines.  A delete clears a word; one that shrinks a node writes a smaller one.
 */
const struct engine_unit engine_unit_woart = {
	.probe = &probe,
	.records = U32_MAX,
	.nodes = 8,
	.leaves = 1,
	.insert = { .fences = { 2, 2 }, .lines = { 2, 34 }, .stores = { 4, 400 } },
	.update = { .fences = { 1, 1 }, .lines = { 1, 1 }, .stores = { 1, 1 } },
	.delete = { .fences = { 1, 2 }, .lines = { 1, 11 }, .stores = { 1, 200 } },
	.lines_many = { 235, 257, 337 },
	.lines_million = { 235, 314, 340 },
	.drops = 8,
	.spared = 1,
};

const struct engine_unit engine_unit_art_cow = {
	.probe = &probe,
	.records = U32_MAX,
	.nodes = 8,
	.leaves = 1,
	.insert = { .fences = { 2, 2 }, .lines = { 2, 34 }, .stores = { 4, 400 } },
	.update = { .fences = { 1, 1 }, .lines = { 1, 1 }, .stores = { 1, 1 } },
	.delete = { .fences = { 1, 2 }, .lines = { 1, 11 }, .stores = { 1, 200 } },
	.lines_many = { 244, 281, 383 },
	.lines_million = { 244, 444, 384 },
	.drops = 8,
	.spared = 1,
};
