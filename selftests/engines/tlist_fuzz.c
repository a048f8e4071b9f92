// SPDX-License-Identifier: GPL-2.0-only
/*
 * tlist in the image fuzzer.
 */
#include "fuzz.h"

#include "../../kmod/engine/tlist.h"

static void list_record(struct base *base, u64 off)
{
	u64 meta = off + offsetof(struct wort_media_leaf, meta);

	base_add(base, WORD_VALUE, off);
	base_add(base, WORD_META, meta);
	base_add_range(base, WORD_KEY, off + sizeof(struct wort_media_leaf),
		       base_get(base, meta) & WORT_MEDIA_LEAF_KEY_MASK);
}

static void list_chunk(struct base *base, u64 chunk)
{
	u64 bits = base_get(base, chunk + offsetof(struct wort_media_tlist_chunk,
						   bits));
	u64 meta = base_get(base, chunk + offsetof(struct wort_media_tlist_chunk,
						   meta));
	u64 slot = chunk + sizeof(struct wort_media_tlist_chunk);
	u32 i;

	base_add_range(base, WORD_VALUE, chunk + sizeof(__le64),
		       2 * sizeof(__le64));
	for (i = 0; i < (meta & WORT_MEDIA_TLIST_SLOTS_MASK); i++, slot += 8) {
		base_add(base, bits >> i & 1 ? WORD_LINK : WORD_NONE, slot);
		if (bits >> i & 1)
			list_record(base, base_get(base, slot));
	}
}

/* The first word of a chunk refers to the next one. */
static void list(struct base *base, u64 root)
{
	u64 word, chunk;

	for (word = root; (chunk = base_get(base, word)); word = chunk) {
		base_add(base, WORD_LINK, word);
		list_chunk(base, chunk);
	}
	base_add(base, WORD_NONE, word);
}

static u64 target(u64 word)
{
	return word;
}

const struct engine_fuzz engine_fuzz_tlist = {
	.list = list,
	.target = target,
};
