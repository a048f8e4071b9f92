// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * WORT in a mapping.
 */
#include <string.h>

#include <linux/wort_format_wort.h>

#include "reader_engine.h"

#define KEY_DIGITS	(2 * WORT_KEY_MAX + 4)
#define WORD_DIGITS	16	/* in eight bytes */

/* The sixteen digits of a key of which one is at a place. */
static inline uint64_t key_word(const unsigned char *key, uint32_t len,
				uint32_t place)
{
	uint32_t at = place / WORD_DIGITS * sizeof(uint64_t);
	uint64_t word = 0;

	if (place >= 2 * WORT_KEY_MAX)
		return (uint64_t)len << 48;
	if (at + sizeof(word) <= len)
		memcpy(&word, key + at, sizeof(word));
	else if (at < len)
		memcpy(&word, key + at, len - at);
	return be64toh(word);
}

/*
 * What Documentation/format.rst says of digits and places.  @left, the digits beyond the
 * place of the last node, strictly falls as the place grows; @digits has those before
 * @end.
 */
int wort_reader_find_wort(const struct wort_reader *r, const uint32_t *in_flight,
			  const unsigned char *key, uint32_t len, uint64_t *found)
{
	uint64_t root = __atomic_load_n(&r->root_off, __ATOMIC_RELAXED);
	uint64_t last = r->size - sizeof(struct wort_media_wort_node);
	uint64_t node = root / sizeof(struct wort_media_wort_node) *
			sizeof(struct wort_media_wort_node);
	uint64_t digits = key_word(key, len, 0), off = root, link, kind;
	uint32_t left = KEY_DIGITS, end = WORD_DIGITS, place;
	const unsigned char *pool = r->pool;

	while (!wort_reader_load(pool, in_flight, node, off, &link)) {
		kind = link & WORT_MEDIA_LINK_KIND_MASK;
		if (kind != WORT_MEDIA_WORT_KIND_NODE) {
			*found = link & ~WORT_MEDIA_LINK_KIND_MASK;
			return kind == WORT_MEDIA_LINK_RECORD || !link ? 0 : -EAGAIN;
		}
		place = link >> WORT_MEDIA_LINK_PLACE_SHIFT;
		node = link & (WORT_MEDIA_LINK_OFF_MASK |
			       WORT_MEDIA_LINK_LABEL_MASK);
		if (node > last || KEY_DIGITS - 1 - place >= left)
			return -EAGAIN;
		if (place >= end) {
			digits = key_word(key, len, place);
			end = place / WORD_DIGITS * WORD_DIGITS + WORD_DIGITS;
		}
		off = node + (digits << 4 * place % 64 >> 60 << 3);
		left = KEY_DIGITS - 1 - place;
	}
	return -EAGAIN;
}
