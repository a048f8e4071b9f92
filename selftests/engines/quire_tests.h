/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the unit tests of QUIRE have in common.
 */
#ifndef _WORT_TEST_QUIRE_TESTS_H
#define _WORT_TEST_QUIRE_TESTS_H

#include "../../kmod/engine/quire_shadow.h"
#include "../unit/counts.h"
#include "unit.h"

static inline u32 words_of(u64 head)
{
	return qr_rec_words(head & WORT_MEDIA_QUIRE_LEN_MASK);
}

/* The records of a page: from one place to the next; 0 is the end. */
static inline u64 first_record(const u8 *mem, u64 page)
{
	u64 meta = probe_load(mem, page);
	u32 anchor = meta >> WORT_MEDIA_QUIRE_ANCHOR_SHIFT & WORT_MEDIA_QUIRE_KEY_MASK;

	return page + sizeof(u64) + round_up(anchor, sizeof(u64));
}

static inline u64 record_at(const u8 *mem, u64 page, u64 at)
{
	u64 end = page + (probe_load(mem, page) & WORT_MEDIA_QUIRE_SIZE_MASK) * sizeof(u64);

	return at + sizeof(struct wort_media_quire_record) <= end && probe_load(mem, at) ?
	       at : 0;
}

#define for_each_record(mem, page, at)					\
	for (at = record_at(mem, page, first_record(mem, page)); at;	\
	     at = record_at(mem, page, at + words_of(probe_load(mem, at)) * sizeof(u64)))

/* quire_damage.c */
void quire_damaged_kind(void);
void quire_damaged_padding(void);
void quire_damaged_anchor(void);
void quire_damaged_separator(void);
void quire_damaged_order(void);
void quire_lost_page(void);
void quire_child_comes(void);
void quire_damaged_twice(void);
void quire_damaged_loop(void);
void quire_damaged_split(void);
void quire_damaged_value(void);
void quire_damaged_end(void);

#endif /* _WORT_TEST_QUIRE_TESTS_H */
