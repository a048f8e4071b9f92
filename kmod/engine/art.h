/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The adaptive radix tree of the engines WOART and ART+CoW.
 *
 * Names:
 *	byte	the byte of a key by which a node selects a child.  The bytes of
 *		a key are followed by zeroes and two bytes with its length, as
 *		its digits are (key.h)
 *	place	the position of the first digit of this byte: even.  The link to
 *		the node tells it; it never changes while the node lives
 *	slot	a word of a node that holds a link or 0
 *	map	the word of a line that tells the bytes of its slots.  A byte keeps
 *		its slot as long as the node lives; a slot of no byte is free
 *	entry	a byte whose slot holds a link
 *
 * There are six kinds of nodes (uapi/linux/wort_format_art.h).  The first five
 * consist of 1, 2, 4, 8 or 16 lines, each with a map of its own.  The byte
 * alone selects its line, so a lookup loads one line of a node, and an insert
 * stores to one.  The first three are the small ones.
 *
 *	N7, N14, N28, N56, N112
 *		+-----+-----+-----+-----+-----+-----+-----+-----+
 *		| map | s 0 | s 1 | s 2 | s 3 | s 4 | s 5 | s 6 |  each line
 *		+-----+-----+-----+-----+-----+-----+-----+-----+
 *	N256	+-----+-----+-- - - --+-----+
 *		| s 0 | s 1 |         |s 255|			32 lines
 *		+-----+-----+-- - - --+-----+
 *
 * The tree is that of WORT (wort.c) but for its nodes: the same links and
 * records, skipped digits, positions and locks.  Each change of the tree is one
 * word:
 *
 * insert, replace	slot := link to a record that is durable
 * update in place	the value word in the record := another value
 * record split		slot := link to an N7 that is durable and holds the old
 *			record and the new one
 * prefix split		slot := link to an N7 that is durable and holds the link
 *			that was in the slot, and a record
 * copy			the slot above := link to a node that is durable and
 *			holds the entries of the node and a record.  Needed
 *			where the node maps no byte, or the line has no slot for
 *			it; then the new node is of the smallest kind whose lines
 *			have room (grow).  A fast path leaves the kind as it is
 *			while the line has a free slot
 * delete		with three or more entries: slot := 0
 *			with few entries for its kind (shrink): the slot above
 *			:= link to a smaller node that holds the others
 *			with two (merge): the slot above := the link of the
 *			other entry
 *
 * Mapping a byte to a free slot is no change: the slot holds 0 before and
 * afterwards.  It is done under the lock of the node, together with the store
 * to the slot, and under the same fence.  Both words are in one line, and
 * the slot is stored by a release after the map, so the map is never later.
 *
 * After a power cut each change is done or not done, and nothing is repaired.
 * One state may be left of an insert that is not done; a delete leaves it, too:
 *
 *	a byte is mapped to a slot that holds 0	an insert of that byte uses it
 */
#ifndef _WORT_ART_H
#define _WORT_ART_H

#include <linux/wort_format_art.h>

#include "radix_change.h"
#include "radix_descent.h"
#include "radix_fast.h"

#define ART_BYTES	256
#define ART_BYTE_DIGITS	2
#define ART_NR_KINDS	6

/*
 * Kinds of nodes that map further bytes while they are in the tree, a bit for
 * each.  A node of another kind is replaced by a copy that has the byte.  This
 * is all that the two engines do differently.
 */
#define ART_MAPS_FROM_N28	(BIT(WORT_MEDIA_ART_KIND_N28) | BIT(WORT_MEDIA_ART_KIND_N56) | \
			 BIT(WORT_MEDIA_ART_KIND_N112))
#define ART_MAPS_ALL	(BIT(WORT_MEDIA_ART_KIND_N7) | BIT(WORT_MEDIA_ART_KIND_N14) | \
			 ART_MAPS_FROM_N28)

/**
 * struct art_node - A node whose link has been verified
 * @media: the node
 * @link: the link to it
 * @kind: WORT_MEDIA_ART_KIND_*
 * @place: its place
 */
struct art_node {
	void __pmem *media;
	u64 link;
	u32 kind;
	u32 place;
};

/**
 * struct art_entry - An entry of a node
 * @byte: its byte
 * @link: what its slot holds
 */
struct art_entry {
	u32 byte;
	u64 link;
};

#define ART_COPY_MAX	113	/* an N112 that is full, and one more */

/**
 * struct art_entries - Entries of a node that a new one gets, in any order
 * @nr: how many
 * @byte: their bytes
 * @word: the word of the node that is the slot of each
 * @added: not 0: the link of the last one, which is not in the node
 */
struct art_entries {
	u32 nr;
	u8 byte[ART_COPY_MAX];
	u8 word[ART_COPY_MAX];
	u64 added;
};

#define ART_LEVELS	(WORT_KEY_DIGITS / ART_BYTE_DIGITS)

/**
 * struct art_level - A node on the path of a cursor
 * @link: the link to it
 * @byte: of the entry that the cursor took
 * @ahead: of a wide node: entries from this byte on are not being loaded yet
 * @loading: and so many before it are
 */
struct art_level {
	u64 link;
	u32 byte;
	u16 ahead;
	u16 loading;
};

/**
 * struct art_cursor - wort_cursor.engine
 * @rec: the current record
 * @nr: levels on the path
 * @fresh: the first that the last move entered
 * @level: the path, from the root down
 */
struct art_cursor {
	struct wort_rec rec;
	u32 nr;
	u32 fresh;
	struct art_level level[ART_LEVELS];
};

/* art_node.c */
int art_node_verify(struct wort_op *op, u64 link, u32 start);
void art_node_flush_read(struct wort_op *op, u64 link, u32 byte);
int art_map_report(struct wort_op *op, u64 link);
bool art_entry_next(const struct art_node *node, u32 from, bool reverse,
		    struct art_entry *entry);
u32 art_count_others(const struct art_node *node, u32 byte, u32 max, u64 *link);
bool art_is_sparse(const struct art_node *node, u32 byte);
u32 art_others(struct wort_op *op, const struct art_node *node, u32 byte,
	       u32 max, u64 *link);
bool art_others_list(const struct art_node *node, u32 byte,
		     struct art_entries *list);
bool art_copy_valid(const struct art_node *node, u32 byte, u64 copy, u32 nr);
u32 art_kind_for(const struct art_entries *list);
u64 art_node_write(struct wort_op *op, const struct art_node *from, u32 kind,
		   const struct art_entries *list);
int art_node_check(struct wort_op *op, const struct art_node *node);
int art_any_record(struct wort_op *op, u64 link, u32 start,
		   struct wort_rec *rec);

/* art.c */
void art_create(struct wort_op *op, struct wort_tree *tree);
int art_lookup(struct wort_op *op, struct wort_tree *tree,
	       const struct wort_key *key, struct wort_buf *buf);
int art_put(struct wort_op *op, struct wort_tree *tree, struct wort_put *put,
	    u32 maps);
int art_remove(struct wort_op *op, struct wort_tree *tree,
	       const struct wort_del *del);
int art_prepare(struct wort_op *op, struct wort_tree *tree,
		struct wort_change *change, u32 maps);
int art_commit(struct wort_op *op, struct wort_tree *tree,
	       struct wort_change *change);
void art_need(const struct wort_tree *tree, u32 key_len, u32 value_len,
	      struct wort_need *need);
int art_unlink_lost(struct wort_op *op, struct wort_tree *tree,
		    const struct rdx_pos *pos, u32 byte);

/* art_cursor.c */
int art_seek(struct wort_cursor *cur, const struct wort_key *key);
int art_next(struct wort_cursor *cur);
int art_value(struct wort_cursor *cur, struct wort_buf *buf);
int art_walk(struct wort_cursor *cur, const struct wort_key *pos,
	     struct wort_visitor *visitor);
int art_check(struct wort_cursor *cur);
int art_drop(struct wort_cursor *cur);

/* art_top.c, art_fast.c */
extern const struct wort_volatile_ops art_volatile_ops;
wort_fast_lookup_fn art_fast_lookup;
wort_fast_put_fn art_fast_put, art_fast_put_copies;
wort_fast_remove_fn art_fast_remove;
wort_prefetch_fn art_prefetch_keys;

/* A put that maps a byte or copies a node counts that itself. */
#define ART_COST_CLASSES {						\
	[RDX_FOUND] = { WORT_OP_LOOKUP, .leaves = 1 },			\
	[RDX_IN_SLOT] = { WORT_OP_INSERT, .stores = 4, .lines = 2, .fences = 2 }, \
	[RDX_BESIDE] = { WORT_OP_INSERT, .stores = 4 + 8, .lines = 3, .fences = 2, \
			 .leaves = 1 },					\
	[RDX_VALUE] = { WORT_OP_UPDATE, .stores = 1, .lines = 1, .fences = 1, \
			.leaves = 1 },					\
	[RDX_GONE] = { WORT_OP_DELETE, .stores = 1, .lines = 1, .fences = 1, \
		       .leaves = 1 },					\
}

static __always_inline bool art_link_is_node(u64 link)
{
	return ((link - WORT_MEDIA_ART_KIND_N7) & WORT_MEDIA_LINK_KIND_MASK) <
	       ART_NR_KINDS;
}

static __always_inline u32 art_link_kind(u64 link)
{
	return link & WORT_MEDIA_LINK_KIND_MASK;
}

static __always_inline u64 art_link(u64 off, u32 kind, u32 place)
{
	return (u64)place << WORT_MEDIA_LINK_PLACE_SHIFT | off | kind;
}

/* May a node with this link be found behind so many digits? */
static __always_inline bool art_place_valid(u64 link, u32 start)
{
	return wort_link_place_valid(link, start) &&
	       !(wort_link_place(link) % ART_BYTE_DIGITS);
}

/* Digits consumed on the path to the slots of a node, or to the root record. */
static __always_inline u32 art_end(u64 node)
{
	return node ? wort_link_place(node) + ART_BYTE_DIGITS : 0;
}

/*
 * Return: -EUCLEAN for a word that is neither 0 nor a link to a record or a
 * node.
 */
static __always_inline int art_link_verify(struct wort_op *op, u64 link)
{
	return likely(wort_link_is_record(link) || !link || art_link_is_node(link)) ?
	       0 : rdx_report_link(op, link);
}

static __always_inline bool art_is_small(u32 kind)
{
	return kind <= WORT_MEDIA_ART_KIND_N28;
}

/* The lines of a node that is no N256. */
static __always_inline u32 art_lines(u32 kind)
{
	return 1U << (kind - WORT_MEDIA_ART_KIND_N7);
}

/*
 * The low bits of this select the line of a byte.  Both digits of the byte
 * decide, so bytes next to each other mostly have different lines, and so have
 * bytes at equal distances, as in aligned offsets.  No other factor below 16
 * does better (Documentation/experiments.rst).
 */
static __always_inline u32 art_spread(u32 byte)
{
	return byte + (byte >> 4) * 3;
}

/* The number of the line of a byte in a node that is no N256. */
static __always_inline u32 art_line_of(u32 kind, u32 byte)
{
	return art_spread(byte) & (art_lines(kind) - 1);
}

/* Bytes of a node. */
static __always_inline u32 art_node_size(u32 kind)
{
	return kind == WORT_MEDIA_ART_KIND_N256 ?
	       sizeof(struct wort_media_art_n256) :
	       art_lines(kind) * sizeof(struct wort_media_art_line);
}

static __always_inline void art_entries_add(struct art_entries *list, u32 byte,
					    u32 word)
{
	list->byte[list->nr] = byte;
	list->word[list->nr++] = word;
}

/* Add an entry that is not in the node. */
static __always_inline void art_entries_add_link(struct art_entries *list,
						 u32 byte, u64 link)
{
	art_entries_add(list, byte, 0);
	list->added = link;
}

/* The link of an entry; @words: the node. */
static __always_inline u64 art_entries_link(const struct art_entries *list,
					    u32 i, const __le64 __pmem *words)
{
	return list->added && i == list->nr - 1 ?
		       list->added :
		       wort_pm_load(&words[list->word[i]]);
}

/* The byte of a key at a place; @word has its first eight bytes. */
static __always_inline u32 art_key_byte(const struct wort_key *key, u64 word,
					u32 place)
{
	if (likely(place < WORT_KEY_WORD_DIGITS))
		return word << 4 * place >> 56;
	return wort_key_digit(key->data, key->len, place) << 4 |
	       wort_key_digit(key->data, key->len, place + 1);
}

/* The byte of a record at a place. */
static inline u32 art_rec_byte(const struct wort_rec *rec, u32 place)
{
	return wort_rec_digit(rec, place) << 4 | wort_rec_digit(rec, place + 1);
}

/* A node whose link was verified. */
static inline void art_node_at(struct wort_op *op, u64 link,
			       struct art_node *node)
{
	node->link = link;
	node->kind = art_link_kind(link);
	node->place = wort_link_place(link);
	node->media = wort_region_at(op->region, wort_link_off(link));
}

/* Enter a node: verify the link, and count the node. */
static inline int art_node_open(struct wort_op *op, u64 link, u32 start,
				struct art_node *node)
{
	wort_count(op, nodes, 1);
	art_node_at(op, link, node);
	return art_node_verify(op, link, start);
}

/* Which of the eight bytes of a word are equal to a byte: a bit for each. */
static __always_inline u32 art_match(u64 word, u32 byte)
{
	const u64 ones = 0x0101010101010101ULL, low = 0x7f * ones;
	u64 differ = word ^ byte * ones;
	u64 equal = ~(((differ & low) + low) | differ | low);

	/* Bit 7 of each byte that is equal: bring them together. */
	return (equal >> 7) * 0x0102040810204080ULL >> 56;
}

/* The slots of a line that have a byte: a bit for each. */
static __always_inline u32 art_line_used(u64 map)
{
	return map >> WORT_MEDIA_ART_USED_SHIFT &
	       (BIT(WORT_MEDIA_ART_LINE_SLOTS) - 1);
}

/* The slots of a line that have @byte: a bit for each. */
static __always_inline u32 art_line_match(u64 map, u32 byte)
{
	return art_match(map, byte) & art_line_used(map);
}

/**
 * art_slot() - The slot of a byte in a node
 * @base: Memory at offset 0.
 * @link: The link to the node, which has been verified.
 * @byte: The byte.
 *
 * The slot is loaded after the map, since its address depends on it.  That is
 * not needed: a slot holds 0, or what belongs to its byte.
 *
 * Context: A section.
 * Return: Its offset; 0: the byte has none.
 */
static __always_inline u64 art_slot(const void __pmem *base, u64 link, u32 byte)
{
	u32 kind = art_link_kind(link), slots;
	u64 off = wort_link_off(link);

	if (kind == WORT_MEDIA_ART_KIND_N256)
		return off + byte * sizeof(u64);
	off += art_line_of(kind, byte) * sizeof(struct wort_media_art_line);
	slots = art_line_match(wort_pm_load((const __le64 __pmem *)(base + off)), byte);
	return slots ? off + (__ffs(slots) + 1) * sizeof(u64) : 0;
}

/* What the slot of a byte holds; 0: also if it has none. */
static __always_inline u64 art_byte_link(const struct art_node *node, u32 byte)
{
	const void __pmem *base = node->media - wort_link_off(node->link);
	u64 slot = art_slot(base, node->link, byte);

	return slot ? wort_pm_load(base + slot) : 0;
}

/**
 * art_step() - Go from a link to a node to the link in its slot for the key
 * @d: The descent; it is at a link to a node, which is untrusted.
 * @skips: Tell rdx_pos.skip; a constant.
 *
 * The slot and the map may be in flight.  Then an operation flushes them, and
 * waits for that before it answers; a fast path gives up at the end of its
 * descent.
 *
 * Context: A section of readers or writers.
 * Return: 0; -EUCLEAN or -EIO; -EAGAIN.
 */
static __always_inline int art_step(struct rdx_descent *d, bool skips)
{
	struct rdx_pos *pos = &d->pos;
	u32 place = wort_link_place(pos->link), byte;
	u64 node = wort_link_off(pos->link), slot;
	int err;

	if (unlikely(node >= d->plain || node % WORT_LINE ||
		     place < pos->start || place >= WORT_KEY_DIGITS ||
		     place % ART_BYTE_DIGITS)) {
		err = d->op ? art_node_verify(d->op, pos->link, pos->start) : -EAGAIN;
		if (err)
			return err;
	}
	if (skips && place > pos->start &&
	    !rdx_skips_match(d, pos->link, place))
		pos->skip = pos->link;
	byte = art_key_byte(d->key, d->word, place);
	slot = art_slot(d->base, pos->link, byte);
	pos->above = pos->slot;
	pos->above_node = pos->node;
	pos->node = pos->link;
	pos->slot = slot;
	pos->link = slot ? wort_pm_load(d->base + slot) : 0;
	pos->start = place + ART_BYTE_DIGITS;
	d->nr_nodes++;
	if (!d->op)
		d->nr_marks |= wort_pm_mark(d->in_flight, node);
	else if (unlikely(wort_pm_mark(d->in_flight, node)))
		art_node_flush_read(d->op, pos->node, byte);
	return 0;
}

/*
 * A whole descent: to an empty slot or none, a record, or the first node from
 * @limit on.
 */
static __always_inline int art_descend(struct rdx_descent *d, u32 limit,
				       bool skips)
{
	int err;

	while (art_link_is_node(d->pos.link) &&
	       wort_link_place(d->pos.link) < limit) {
		err = art_step(d, skips);
		if (unlikely(err))
			return err;
	}
	return likely(!d->nr_marks) ? 0 : -EAGAIN;
}

#endif /* _WORT_ART_H */
