// SPDX-License-Identifier: GPL-2.0-only
/*
 * QUIRE in the image fuzzer.
 */
#include "fuzz.h"

#include "../../kmod/engine/quire.h"

static void list_page(struct base *base, u64 page);

static void list_record(struct base *base, u64 at, bool inner)
{
	u64 head = base_get(base, at), val = base_get(base, at + sizeof(u64));
	bool object = qr_rec_kind(head) == WORT_MEDIA_QUIRE_VALUE_OBJECT;
	u32 len = head & WORT_MEDIA_QUIRE_LEN_MASK;

	base_add(base, WORD_META, at);
	base_add(base, inner || object ? WORD_LINK : WORD_VALUE, at + sizeof(u64));
	base_add_range(base, WORD_KEY, at + sizeof(struct wort_media_quire_record), len);
	if (inner && !(head & WORT_MEDIA_QUIRE_DEAD))
		list_page(base, val);
}

static void list_page(struct base *base, u64 page)
{
	u64 meta = base_get(base, page);
	u32 anchor = meta >> WORT_MEDIA_QUIRE_ANCHOR_SHIFT & WORT_MEDIA_QUIRE_KEY_MASK;
	u64 at = page + sizeof(u64) + round_up(anchor, sizeof(u64)), head;
	u64 end = page + (meta & WORT_MEDIA_QUIRE_SIZE_MASK) * sizeof(u64);
	bool inner = meta >> WORT_MEDIA_QUIRE_LEVEL_SHIFT & WORT_MEDIA_QUIRE_LEVEL_MASK;

	base_add(base, WORD_META, page);
	base_add_range(base, WORD_KEY, page + sizeof(u64), anchor);
	while (at + sizeof(struct wort_media_quire_record) <= end) {
		head = base_get(base, at);
		if (!head)
			break;
		list_record(base, at, inner);
		at += qr_rec_words(head & WORT_MEDIA_QUIRE_LEN_MASK) * sizeof(u64);
	}
	if (at < end)
		base_add(base, WORD_NONE, at);
}

static void list(struct base *base, u64 root)
{
	u64 page = base_get(base, root);

	base_add(base, page ? WORD_LINK : WORD_NONE, root);
	if (page)
		list_page(base, page);
}

static u64 target(u64 word)
{
	return qr_object_off(word);
}

const struct engine_fuzz engine_fuzz_quire = {
	.list = list,
	.target = target,
};
