// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * WOART and ART+CoW in a mapping.
 */
#include <stddef.h>

#include <linux/wort_format_art.h>

#include "reader_engine.h"

#define BYTES		(WORT_KEY_MAX + 2)	/* a key, and its length */
#define DIGITS		(2 * BYTES)

/* The byte of a key at a place. */
static unsigned int key_byte(const unsigned char *key, uint32_t len, uint32_t place)
{
	uint32_t at = place / 2;

	if (at < len)
		return key[at];
	if (at < WORT_KEY_MAX)
		return 0;
	return at == WORT_KEY_MAX ? len >> 8 : len & 0xff;
}

static uint64_t load(const unsigned char *at)
{
	return le64toh(__atomic_load_n((const uint64_t *)at, __ATOMIC_ACQUIRE));
}

/* Which slots of a line have a byte: a bit for each. */
static unsigned int match(uint64_t map, unsigned int byte)
{
	unsigned int slots = 0, i;

	for (i = 0; i < WORT_MEDIA_ART_LINE_SLOTS; i++)
		slots |= (unsigned int)((map >> 8 * i & 0xff) == byte) << i;
	return slots & (map >> WORT_MEDIA_ART_USED_SHIFT);
}

/* The lines of a node that is no N256. */
static uint64_t lines_of(uint64_t kind)
{
	return 1U << (kind - WORT_MEDIA_ART_KIND_N7);
}

/* The offset in a node of the slot of a byte; 0: the byte has none, unless the node is an N256. */
static uint64_t slot_of(const unsigned char *node, uint64_t kind, unsigned int byte)
{
	unsigned int slots;
	uint64_t line;

	if (kind == WORT_MEDIA_ART_KIND_N256)
		return byte * sizeof(uint64_t);
	line = ((byte + (byte >> 4) * 3) & (lines_of(kind) - 1)) *
	       sizeof(struct wort_media_art_line);
	slots = match(load(node + line), byte);
	return slots ? line + offsetof(struct wort_media_art_line, slot) +
		       __builtin_ctz(slots) * sizeof(uint64_t) : 0;
}

/* Bytes of a node; 0: no kind of node. */
static uint64_t node_size(uint64_t kind)
{
	if (kind == WORT_MEDIA_ART_KIND_N256)
		return sizeof(struct wort_media_art_n256);
	return kind >= WORT_MEDIA_ART_KIND_N7 && kind <= WORT_MEDIA_ART_KIND_N112 ?
	       lines_of(kind) * sizeof(struct wort_media_art_line) : 0;
}

/*
 * What Documentation/format.rst says of places and nodes.  Places grow on a path, so it
 * has an end.  Where a byte has no slot, only the map is loaded; the mark of the
 * node is checked all the same.
 */
int wort_reader_find_art(const struct wort_reader *r, const uint32_t *in_flight,
			 const unsigned char *key, uint32_t len, uint64_t *found)
{
	uint64_t root = __atomic_load_n(&r->root_off, __ATOMIC_RELAXED);
	uint64_t node = root - offsetof(struct wort_media_entry, root);
	uint64_t off = root, link, kind, size, slot;
	const unsigned char *pool = r->pool;
	uint32_t start = 0, place;

	while (!wort_reader_load(pool, in_flight, node, off, &link)) {
		kind = link & WORT_MEDIA_LINK_KIND_MASK;
		size = node_size(kind);
		if (!size) {
			*found = link & ~WORT_MEDIA_LINK_KIND_MASK;
			return kind == WORT_MEDIA_LINK_RECORD || !link ? 0 : -EAGAIN;
		}
		place = link >> WORT_MEDIA_LINK_PLACE_SHIFT;
		node = link & (WORT_MEDIA_LINK_OFF_MASK | WORT_MEDIA_LINK_LABEL_MASK);
		if (node > r->size - size || place < start || place >= DIGITS || place % 2)
			return -EAGAIN;
		start = place + 2;
		slot = slot_of(pool + node, kind, key_byte(key, len, place));
		if (!slot && kind != WORT_MEDIA_ART_KIND_N256) {
			*found = 0;
			return wort_reader_load(pool, in_flight, node, node, &link);
		}
		off = node + slot;
	}
	return -EAGAIN;
}
