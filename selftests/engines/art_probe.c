// SPDX-License-Identifier: GPL-2.0-only
/*
 * How unit tests find what is in an adaptive radix tree.
 */
#include "../../kmod/engine/art.h"
#include "art_tests.h"

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

const struct engine_probe art_probe = {
	.path = path,
	.target = target,
	.refer = refer,
	.value = probe_load,
};
