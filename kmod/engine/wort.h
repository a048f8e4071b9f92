/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the files of WORT share: its nodes, and the step of a descent.
 */
#ifndef _WORT_WORT_H
#define _WORT_WORT_H

#include <linux/wort_format_wort.h>

#include "../core/alloc.h"
#include "../core/pmem.h"
#include "engine.h"
#include "radix_change.h"
#include "radix_descent.h"

#define WRT_SLOTS	WORT_MEDIA_WORT_SLOTS
#define WRT_LINE_SLOTS	(WORT_LINE / sizeof(__le64))
#define WRT_LINES	(WRT_SLOTS / WRT_LINE_SLOTS)

/**
 * struct wrt_node - A node whose link has been verified
 * @media: the node
 * @link: the link to it
 * @place: its place
 */
struct wrt_node {
	struct wort_media_wort_node __pmem *media;
	u64 link;
	u32 place;
};

int wrt_node_verify(struct wort_op *op, u64 link, u32 start);
u32 wrt_slot_scan(struct wort_op *op, const struct wrt_node *node, u32 slot,
		  bool reverse, u64 *link);
u32 wrt_other_entries(struct wort_op *op, const struct wrt_node *node, u32 mine,
		      u64 *link);
int wrt_any_record(struct wort_op *op, u64 link, u32 start,
		   struct wort_rec *rec);
int wrt_unlink_lost(struct wort_op *op, struct wort_tree *tree,
		    const struct rdx_pos *pos);

extern const struct wort_fast_ops wrt_fast_ops;
wort_prefetch_fn wrt_prefetch_keys;

extern const struct wort_volatile_ops wrt_volatile_ops;

int wrt_seek(struct wort_cursor *cur, const struct wort_key *key);
int wrt_next(struct wort_cursor *cur);
int wrt_value(struct wort_cursor *cur, struct wort_buf *buf);
int wrt_walk(struct wort_cursor *cur, const struct wort_key *pos,
	     struct wort_visitor *visitor);
int wrt_drop(struct wort_cursor *cur);
int wrt_check(struct wort_cursor *cur);
u32 wrt_next_many(struct wort_cursor *cur, struct wort_pair *pairs, u32 max);

static __always_inline bool wrt_link_is_node(u64 link)
{
	return wort_link_is(link, WORT_MEDIA_WORT_KIND_NODE);
}

static __always_inline u64 wrt_link(u64 off, u32 place)
{
	return (u64)place << WORT_MEDIA_LINK_PLACE_SHIFT | off |
	       WORT_MEDIA_WORT_KIND_NODE;
}

/*
 * The offset of the node that has a slot, which is its name for locks.  Nodes
 * lie at multiples of their size.  A root record is locked by its catalogue
 * entry, which this gives, too.
 */
static __always_inline u64 wrt_slot_node(u64 slot)
{
	return round_down(slot, sizeof(struct wort_media_wort_node));
}

/*
 * Return: -EUCLEAN for a word that is neither 0 nor a link to a record or a
 * node.
 */
static __always_inline int wrt_link_verify(struct wort_op *op, u64 link)
{
	return likely(wort_link_is_record(link) || !link || wrt_link_is_node(link)) ?
	       0 : rdx_report_link(op, link);
}

/*
 * Prefetch the first line of what a link refers to, which is untrusted, and the
 * second line of a node; nothing where memory is or may be bad.  For an empty
 * slot that is the first line of the pool, which costs less than a branch.
 */
static __always_inline void wrt_prefetch(void __pmem *base, u64 plain, u64 link)
{
	u64 off = wort_link_off(link);

	if (likely(off < plain)) {
		wort_pm_prefetch(base + off);
		if (wrt_link_is_node(link))
			wort_pm_prefetch(base + off + WORT_LINE);
	}
}

/* A node whose link was verified. */
static inline void wrt_node_at(struct wort_op *op, u64 link,
			       struct wrt_node *node)
{
	node->link = link;
	node->place = wort_link_place(link);
	node->media = wort_region_at(op->region, wort_link_off(link));
}

/* Enter a node: verify the link, and count the node. */
static inline int wrt_node_open(struct wort_op *op, u64 link, u32 start,
				struct wrt_node *node)
{
	wort_count(op, nodes, 1);
	wrt_node_at(op, link, node);
	return wrt_node_verify(op, link, start);
}

/* An answer rests on all slots of the node, also on empty ones. */
static __always_inline void
wrt_node_flush_in_flight(struct wort_op *op, const struct wrt_node *node)
{
	u64 off = wort_link_off(node->link);

	wort_pm_flush_in_flight(op, off, off, sizeof(*node->media));
}

/**
 * wrt_step() - Go from a link to a node to the link in its slot for the key
 * @d: The descent; it is at a link to a node, which is untrusted.
 * @skips: Tell rdx_pos.skip; a constant.
 *
 * The slot may be in flight.  Then an operation flushes it, and waits for that
 * before it answers; a fast path gives up at the end of its descent.
 *
 * Context: A section of readers or writers.
 * Return: 0; -EUCLEAN or -EIO; -EAGAIN.
 */
static __always_inline int wrt_step(struct rdx_descent *d, bool skips)
{
	struct rdx_pos *pos = &d->pos;
	u32 place = wort_link_place(pos->link);
	u64 node = wort_link_off(pos->link);
	int err;

	if (unlikely(node >= d->plain ||
		     node % sizeof(struct wort_media_wort_node) ||
		     place < pos->start || place >= WORT_KEY_DIGITS)) {
		err = d->op ? wrt_node_verify(d->op, pos->link, pos->start) : -EAGAIN;
		if (err)
			return err;
	}
	if (skips && place > pos->start &&
	    !rdx_skips_match(d, pos->link, place))
		pos->skip = pos->link;
	pos->above = pos->slot;
	pos->above_node = pos->node;
	pos->node = pos->link;
	pos->slot = node +
		    wort_radix_digit(d->key, d->word, place) * sizeof(u64);
	pos->link = wort_pm_load(d->base + pos->slot);
	pos->start = place + 1;
	d->nr_nodes++;
	if (!d->op)
		d->nr_marks |= wort_pm_mark(d->in_flight, node);
	else if (unlikely(wort_pm_mark(d->in_flight, node)))
		wort_pm_flush_read(d->op, pos->slot, sizeof(u64));
	return 0;
}

/*
 * A whole descent: to an empty slot, a record, or the first node from @limit
 * on.
 */
static __always_inline int wrt_descend(struct rdx_descent *d, u32 limit,
				       bool skips)
{
	int err;

	while (wrt_link_is_node(d->pos.link) &&
	       wort_link_place(d->pos.link) < limit) {
		err = wrt_step(d, skips);
		if (unlikely(err))
			return err;
	}
	return likely(!d->nr_marks) ? 0 : -EAGAIN;
}

/* The entries of a line of a node: a bit for each of its slots. */
static __always_inline u32 wrt_line_entries(const __le64 __pmem *line)
{
	u32 entries = 0, i;

	for (i = 0; i < WRT_LINE_SLOTS; i++)
		entries |= (u32)!!wort_pm_load(&line[i]) << i;
	return entries;
}

/* The number of the slot at a position, in its node. */
static __always_inline u32 wrt_slot_nr(const struct rdx_pos *pos)
{
	return (pos->slot - wort_link_off(pos->node)) / sizeof(u64);
}

/*
 * Count the entries of a node but for that in slot @mine, up to two; of all
 * slots if @mine is WRT_SLOTS.  Tells one of them.  The line of the slot, which
 * was read before, is often enough; @lines counts the other one.
 */
static __always_inline u32
wrt_entries(const struct wort_media_wort_node __pmem *node, u32 mine, u64 *link,
	    u32 *lines)
{
	u32 first = mine & WRT_LINE_SLOTS;
	u32 entries = wrt_line_entries(&node->slot[first]) << first &
		      ~BIT(mine);

	if (!(entries & (entries - 1))) {
		first ^= WRT_LINE_SLOTS;
		entries |= wrt_line_entries(&node->slot[first]) << first;
		++*lines;
	}
	if (!entries)
		return 0;
	*link = wort_pm_load(&node->slot[__ffs(entries)]);
	return entries & (entries - 1) ? 2 : 1;
}

#endif /* _WORT_WORT_H */
