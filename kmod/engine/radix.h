/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What radix engines share: links, and the digits of keys.
 *
 * A link is a word that refers to a node or a record.  The link to a node has
 * the place of the node, the position of the digit by which it selects a child.
 * A node keeps its place as long as it lives.  On a path places strictly grow,
 * therefore no descent takes more than WORT_KEY_DIGITS steps, whatever is on
 * media.
 */
#ifndef _WORT_RADIX_H
#define _WORT_RADIX_H

#include <linux/types.h>
#include <linux/wort_format.h>

#include "../core/key.h"
#include "../core/pmem.h"
#include "engine.h"
#include "root.h"

/**
 * struct rdx_pos - Where a descent is
 * @slot: offset of the word that was loaded last; 0 before the first step from
 *	the table of the top, or where the node has no slot for the key
 * @link: what the slot holds
 * @node: the link to the node that has the slot; 0: the root record has it
 * @above: offset of the slot that refers to that node; 0: not known, since the
 *	table of the top led to it
 * @above_node: the link to the node that has this slot; 0: the root record has
 *	it, or it is not known
 * @start: digits consumed on the path to @link
 * @skip: the link to the last node on the way whose skipped digits may differ
 *	from those of the key, or 0; only if the descent asks for it
 */
struct rdx_pos {
	u64 slot;
	u64 link;
	u64 node;
	u64 above;
	u64 above_node;
	u64 skip;
	u32 start;
};

int rdx_report_link(struct wort_op *op, u64 link);
int rdx_report_node(struct wort_op *op, u64 link, u32 start, int err);

/* A difference is one instruction less than a comparison of the masked bits. */
static __always_inline bool wort_link_is(u64 link, u64 kind)
{
	return !((link - kind) & WORT_MEDIA_LINK_KIND_MASK);
}

static __always_inline bool wort_link_is_record(u64 link)
{
	return wort_link_is(link, WORT_MEDIA_LINK_RECORD);
}

/*
 * The offset of a record, from a link to one.  That has no place and no label;
 * the bits of one put the offset outside the pool.
 */
static __always_inline u64 wort_link_record(u64 link)
{
	return link - WORT_MEDIA_LINK_RECORD;
}

/*
 * The offset of a node whose link has no label; a label puts it outside the
 * pool.
 */
static __always_inline u64 wort_link_off(u64 link)
{
	return link & (WORT_MEDIA_LINK_OFF_MASK | WORT_MEDIA_LINK_LABEL_MASK);
}

/* The place of a node. */
static __always_inline u32 wort_link_place(u64 link)
{
	return link >> WORT_MEDIA_LINK_PLACE_SHIFT;
}

/* May a node with this link be found behind so many digits? */
static __always_inline bool wort_link_place_valid(u64 link, u32 start)
{
	return wort_link_place(link) >= start &&
	       wort_link_place(link) < WORT_KEY_DIGITS;
}

/*
 * The name for locks of the node that has a slot; @node is 0 or the link to it.
 */
static __always_inline u64 rdx_slot_node(u64 node, u64 slot)
{
	return node ? wort_link_off(node) : wort_root_node_at(slot);
}

/* The digit of a key at @place; @word has its first sixteen. */
static __always_inline u32 wort_radix_digit(const struct wort_key *key,
					    u64 word, u32 place)
{
	if (likely(place < WORT_KEY_WORD_DIGITS))
		return wort_word_digit(word, place);
	return wort_key_digit(key->data, key->len, place);
}

/* The digits before @place, at least one, of the first word of a key. */
static __always_inline u64 wort_word_before(u64 word, u32 place)
{
	return word >> 4 * (WORT_KEY_WORD_DIGITS - place);
}

u64 wort_digits_before_far(const struct wort_key *key, u32 place);

/*
 * The sixteen digits before @place, which is at least 1.  Fewer digits have
 * zeroes before them.
 */
static __always_inline u64 wort_digits_before(const struct wort_key *key,
					      u64 word, u32 place)
{
	if (likely(place <= WORT_KEY_WORD_DIGITS))
		return wort_word_before(word, place);
	return wort_digits_before_far(key, place);
}

#endif /* _WORT_RADIX_H */
