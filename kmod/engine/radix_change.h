/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Changes of radix trees.
 *
 * A change is prepared first: all objects that it needs are written and
 * flushed.  After a fence it is launched: the nodes that it needs are locked,
 * the position is verified, and one word is stored.  When the word is durable,
 * the objects that it made unreachable are freed.
 *
 * This is the same for all engines but for their nodes, of which struct
 * rdx_nodes tells.
 */
#ifndef _WORT_RADIX_CHANGE_H
#define _WORT_RADIX_CHANGE_H

#include <trace/events/wort.h>

#include "../core/alloc.h"
#include "../core/lock.h"
#include "engine.h"
#include "radix_top.h"
#include "rec.h"

enum rdx_kind {
	RDX_RECORD,		/* slot := a new record; it was empty */
	RDX_NODE,		/* slot := a new node, with a new record below */
	RDX_COPY,		/* slot above := a copy of the node, with a new record */
	RDX_SHRINK,		/* slot above := a copy of the node without a record */
	RDX_REPLACE,		/* slot := a new record in place of a record */
	RDX_UPDATE,		/* value word of a record := another value */
	RDX_REMOVE,		/* of a record, and of a node that it leaves */
};

/**
 * struct rdx_change - A change under way
 * @kind: what becomes of which word
 * @exact: an update that rests on the value before it
 * @merges: a removal: the node of the slot goes, too
 * @copied: entries that a copy of the node has taken over
 * @top: leads to what the word refers to; or NULL
 * @val: what the word becomes
 * @word: the word, once it is stored
 * @lock: that of its node
 * @pos: of the slot
 * @rec: the record at the end of the descent, or any below it
 * @key: the key
 */
struct rdx_change {
	enum rdx_kind kind;
	bool exact;
	bool merges;
	u8 copied;
	struct wort_top *top;
	u64 val;
	__le64 __pmem *word;
	struct wort_lock *lock;
	struct rdx_pos pos;
	struct wort_rec rec;
	struct wort_key key;
};

void rdx_node_free(struct wort_op *op, u64 link, u32 size);
void rdx_change_free(struct wort_op *op, const struct rdx_change *c,
		     u32 node_size);
int rdx_pos_agree(struct wort_op *op, const struct rdx_pos *top,
		  const struct rdx_pos *root);
void rdx_change_finish(struct wort_op *op, struct wort_tree *tree,
		       struct rdx_change *c);
void rdx_finish(struct wort_op *op, struct wort_tree *tree,
		struct wort_change *change);
int rdx_prepare_at_record(struct wort_op *op, struct rdx_change *c,
			  struct wort_put *put, u32 *digit);
int rdx_pos_lock(struct wort_op *op, const struct rdx_pos *pos, u64 record,
		 bool goes);
int rdx_rec_lock(struct wort_op *op, const struct rdx_pos *pos,
		 struct wort_rec *rec, bool goes);
int rdx_launch_record(struct wort_op *op, struct rdx_change *c);
int rdx_launch_node(struct wort_op *op, struct wort_tree *tree,
		    struct rdx_change *c, bool above_node);
int rdx_launch_replace(struct wort_op *op, struct rdx_change *c);
int rdx_launch_update(struct wort_op *op, struct rdx_change *c);
void rdx_change_tell(struct wort_change *change, u64 slot);

/* Does the node of the slot go, and the slot above change? */
static __always_inline bool rdx_change_goes(const struct rdx_change *c)
{
	return c->kind == RDX_COPY || c->kind == RDX_SHRINK ||
	       (c->kind == RDX_REMOVE && c->merges);
}

/* Is a record removed, c->rec? */
static __always_inline bool rdx_change_removes(const struct rdx_change *c)
{
	return c->kind == RDX_REMOVE || c->kind == RDX_SHRINK ||
	       c->kind == RDX_REPLACE;
}

/* New objects are written, and must be durable before the word is stored. */
static __always_inline bool rdx_change_waits(const struct rdx_change *c)
{
	return c->kind < RDX_UPDATE;
}

/*
 * Copy the fields one by one.  A processor cannot forward several small stores
 * to one larger load, and the fence before is not over yet.
 */
static __always_inline void rdx_set_key(struct rdx_change *c,
					const struct wort_key *key)
{
	c->key.data = key->data;
	c->key.len = key->len;
}

static __always_inline u64 rdx_change_digits(const struct rdx_change *c)
{
	return wort_key_word(&c->key, 0);
}

static inline bool rdx_put_must_find(const struct wort_put *put)
{
	return put->replace || put->expect;
}

/* Write a new record, which was reserved. */
static __always_inline void rdx_change_to_record(struct wort_op *op,
						 struct rdx_change *c,
						 const struct wort_value *value,
						 enum rdx_kind kind)
{
	c->kind = kind;
	c->val = wort_rec_create(op, &c->key, value) | WORT_MEDIA_LINK_RECORD;
}

/*
 * Lock the node of the slot where a descent has ended, and verify the slot.
 *
 * If the slot is unchanged, the node is in the tree, since no node of its lock
 * was removed since the operation began.  A link that was replaced cannot be
 * back: the object that it refers to is not reused while the operation lasts.
 */
static __always_inline int rdx_slot_lock(struct wort_op *op,
					 const struct rdx_pos *pos)
{
	const __le64 __pmem *slot = wort_region_at(op->region, pos->slot);

	if (unlikely(!wort_node_lock(op, rdx_slot_node(pos->node, pos->slot))))
		return -EAGAIN;
	if (likely(wort_pm_load(slot) == pos->link))
		return 0;
	wort_nodes_unlock(op);
	return -EAGAIN;
}

/* @node: offset of the node of the word, which is locked. */
static __always_inline void rdx_change_store(struct wort_op *op,
					     struct rdx_change *c, u64 node,
					     __le64 __pmem *word, u64 val)
{
	c->lock = wort_lock_of(op, node);
	c->word = word;
	wort_pm_launch(op, c->lock, word, val);
}

static __always_inline void rdx_slot_store(struct wort_op *op,
					   struct rdx_change *c, u64 node,
					   u64 slot, u64 link)
{
	rdx_change_store(op, c, rdx_slot_node(node, slot),
			 wort_region_at(op->region, slot), link);
}

typedef int rdx_change_fn(struct wort_op *op, struct wort_tree *tree,
			  struct rdx_change *c);

/**
 * struct rdx_nodes - What a change has to know of the nodes of an engine
 * @find: a descent
 * @plan: prepare what becomes of the node of the slot when its record goes
 * @launch: store the word of a prepared change; with 0 nodes are locked
 * @stored: the word is stored, and its node still locked
 * @write_above: write a node with two entries, what the slot refers to and the
 *	new record; the key and c->rec, which is below the slot, part at @place
 * @above_size: bytes of that node
 * @verify: report a word that is no link
 * @is_node: does a link lead to a node?
 * @place_valid: may a node with this link be found behind so many digits?
 * @size: bytes of the node of a link
 * @others: count the entries of a node but for that in one slot, up to 2, tell
 *	one of them, and flush words of the node that are in flight
 * @slot_nr: what @others calls the slot of a change
 *
 * Each engine has one, which is a constant, so the compiler inlines what it
 * refers to.
 */
struct rdx_nodes {
	int (*find)(struct wort_op *op, const struct wort_tree *tree,
		    const struct wort_key *key, u32 limit, bool root,
		    bool skips, struct rdx_pos *pos);
	rdx_change_fn *plan;
	rdx_change_fn *launch;
	void (*stored)(struct wort_tree *tree, const struct rdx_change *c);
	void (*write_above)(struct wort_op *op, struct rdx_change *c, u32 place);
	u32 above_size;
	int (*verify)(struct wort_op *op, u64 link);
	bool (*is_node)(u64 link);
	bool (*place_valid)(u64 link, u32 start);
	u32 (*size)(u64 link);
	u32 (*others)(struct wort_op *op, u64 node, u32 slot_nr, u64 *link);
	u32 (*slot_nr)(const struct rdx_change *c);
};

/*
 * Go back to where a node at @place belongs: the key parts there from all keys
 * below a node further up, within the digits that this node skips.
 */
static __always_inline int rdx_pos_cut(const struct rdx_nodes *nodes,
				       struct wort_op *op,
				       struct wort_tree *tree,
				       struct rdx_change *c, u32 place)
{
	struct rdx_pos *pos = &c->pos;
	int err = nodes->find(op, tree, &c->key, place, true, false, pos);

	if (!err && (!nodes->is_node(pos->link) ||
		     wort_link_place(pos->link) == place))
		err = wort_corrupt(op, c->rec.off, "leaf in a wrong place");
	return err;
}

/* The descent has ended at a record, which is of another key. */
static __always_inline int rdx_prepare_beside(const struct rdx_nodes *nodes,
					      struct wort_op *op,
					      struct wort_tree *tree,
					      struct rdx_change *c,
					      const struct wort_value *value,
					      u32 place)
{
	int err = 0;

	if (place < c->pos.start)
		err = rdx_pos_cut(nodes, op, tree, c, place);
	if (!err)
		err = wort_rec_reserve(op, &c->key, value);
	if (!err)
		err = wort_alloc_reserve(op, nodes->above_size);
	if (err)
		return err;
	rdx_change_to_record(op, c, value, RDX_RECORD);
	nodes->write_above(op, c, place);
	return 0;
}

/*
 * The new record is written; the key parts at @place from all keys below a node
 * further up.
 */
static __always_inline int rdx_prepare_cut(const struct rdx_nodes *nodes,
					   struct wort_op *op,
					   struct wort_tree *tree,
					   struct rdx_change *c, u32 place)
{
	int err = rdx_pos_cut(nodes, op, tree, c, place) ?:
		  wort_alloc_reserve(op, nodes->above_size);

	if (!err)
		nodes->write_above(op, c, place);
	return err;
}

/*
 * The slot above will change, which a descent that began at the table of the
 * top does not know.
 */
static __always_inline int rdx_find_above(const struct rdx_nodes *nodes,
					  struct wort_op *op,
					  struct wort_tree *tree,
					  struct rdx_change *c)
{
	struct rdx_pos was = c->pos;
	int err;

	if (was.above)
		return 0;
	err = nodes->find(op, tree, &c->key, WORT_KEY_DIGITS, true, false,
			  &c->pos) ?:
	      rdx_pos_agree(op, &was, &c->pos);
	c->pos.skip = was.skip;
	return err;
}

static __always_inline int rdx_prepare_remove(const struct rdx_nodes *nodes,
					      struct wort_op *op,
					      struct wort_tree *tree,
					      const struct wort_del *del,
					      struct rdx_change *c)
{
	int err;

	c->kind = RDX_REMOVE;
	rdx_set_key(c, &del->key);
	err = nodes->find(op, tree, &del->key, WORT_KEY_DIGITS, false, false,
			  &c->pos);
	if (err || !c->pos.link)
		return err ?: -ENOENT;
	err = wort_rec_open(op, wort_link_record(c->pos.link), &c->rec);
	if (err)
		return err;
	if (!wort_rec_is(op, &c->rec, &del->key))
		return -ENOENT;
	return wort_rec_expect(op, &c->rec, del->expect, del->old) ?:
	       nodes->plan(op, tree, c);
}

/*
 * Store the word that takes a record out of the tree; if it merges also its
 * node, whose other entry @link moves up.  The nodes are locked, and no other
 * entry is in flight.
 */
static __always_inline void rdx_unlink(struct wort_op *op,
				       struct wort_tree *tree,
				       struct rdx_change *c, u64 link,
				       u64 digits)
{
	const struct rdx_pos *pos = &c->pos;
	u64 node = c->merges ? wort_link_off(pos->node) : 0;

	c->val = c->merges ? link : 0;
	c->top = c->merges ? rdx_top_merge(tree, pos->node, digits) : NULL;
	if (c->merges)
		rdx_slot_store(op, c, pos->above_node, pos->above, link);
	else
		rdx_slot_store(op, c, pos->node, pos->slot, 0);
	wort_nodes_removed(op, c->rec.off, node);
	if (c->merges)
		trace_wort_merge(op->region->dev, node,
				 wort_link_place(pos->node),
				 wort_link_is_record(link));
}

/*
 * Verify the last entry of a node, which moves up.  The object that it refers
 * to is not read: it may lie on a bad page.
 */
static __always_inline int rdx_only_entry(const struct rdx_nodes *nodes,
					  struct wort_op *op,
					  const struct rdx_pos *pos, u64 link)
{
	int err = nodes->verify(op, link);

	if (err || !nodes->is_node(link))
		return err;
	if (!wort_region_inside(op->region, wort_link_off(link),
				nodes->size(link)))
		return rdx_report_node(op, link, pos->start, -EUCLEAN);
	return nodes->place_valid(link, pos->start) ?
		       0 : rdx_report_node(op, link, pos->start, 0);
}

/*
 * With the nodes locked.  Return: -EAGAIN if a merge is needed that was not
 * planned.
 */
static __always_inline int rdx_unlink_locked(const struct rdx_nodes *nodes,
					     struct wort_op *op,
					     struct wort_tree *tree,
					     struct rdx_change *c, u32 slot_nr)
{
	u64 link = 0;
	u32 nr = 2;
	int err = 0;

	if (c->pos.node)
		nr = nodes->others(op, c->pos.node, slot_nr, &link);
	if (!nr)
		return wort_corrupt(op, wort_link_off(c->pos.node),
				    "node with one entry");
	if (nr == 1 && !c->merges)
		return -EAGAIN;
	/* A word that was read, or the entry that stays, could be lost. */
	wort_pm_fence_in_flight(op);
	c->merges = nr == 1;
	if (c->merges)
		err = rdx_only_entry(nodes, op, &c->pos, link);
	if (!err)
		rdx_unlink(op, tree, c, link, rdx_change_digits(c));
	return err;
}

static __always_inline int rdx_launch_remove(const struct rdx_nodes *nodes,
					     struct wort_op *op,
					     struct wort_tree *tree,
					     struct rdx_change *c)
{
	int err = rdx_rec_lock(op, &c->pos, &c->rec, c->merges);

	if (err)
		return err;
	err = rdx_unlink_locked(nodes, op, tree, c,
				c->pos.node ? nodes->slot_nr(c) : 0);
	if (err)
		wort_nodes_unlock(op);
	return err;
}

/*
 * Take the object out of the tree that a slot refers to and that cannot be
 * read: a record, or a node with all that is below it.  Its node may go, too,
 * and the other entry, which moves up, be lost as well: that is for the next
 * time.
 */
static __always_inline int rdx_unlink_lost(const struct rdx_nodes *nodes,
					   struct wort_op *op,
					   struct wort_tree *tree,
					   const struct rdx_pos *pos,
					   u32 slot_nr)
{
	struct rdx_change c = { .kind = RDX_REMOVE, .pos = *pos };
	int err;

	c.merges = pos->node;
	c.rec.off = wort_link_off(pos->link);
	err = rdx_pos_lock(op, pos, c.rec.off, c.merges);
	if (err)
		return err;
	err = rdx_unlink_locked(nodes, op, tree, &c, slot_nr);
	if (!err)
		wort_pm_land(op, c.lock, c.word);
	wort_nodes_unlock(op);
	if (err)
		return err;
	if (c.merges)
		rdx_node_free(op, pos->node, nodes->size(pos->node));
	op->bad_off = c.rec.off;
	return 0;
}

/*
 * Store the word of a prepared change, and flush it.  It stays marked as in
 * flight.
 */
static __always_inline int rdx_change_commit(const struct rdx_nodes *nodes,
					     struct wort_op *op,
					     struct wort_tree *tree,
					     struct rdx_change *c)
{
	int err = nodes->launch(op, tree, c);

	if (err)
		return err;
	wort_pm_flush(op, c->word, sizeof(*c->word));
	nodes->stored(tree, c);
	wort_nodes_unlock(op);
	rdx_change_free(op, c, c->pos.node ? nodes->size(c->pos.node) : 0);
	return 0;
}

/* Carry out a change that was prepared; @commit is rdx_change_commit(). */
static __always_inline int rdx_change_run(rdx_change_fn *commit,
					  struct wort_op *op,
					  struct wort_tree *tree,
					  struct rdx_change *c)
{
	int err;

	if (rdx_change_waits(c))
		wort_pm_fence_contents(op);
	err = commit(op, tree, c);
	if (err)
		return err;
	wort_pm_fence(op);
	rdx_change_finish(op, tree, c);
	return 0;
}

/* A change of a batch. */
static inline struct rdx_change *rdx_change_of(struct wort_change *change)
{
	BUILD_BUG_ON(sizeof(struct rdx_change) > sizeof(change->engine));
	return (struct rdx_change *)change->engine;
}

#endif /* _WORT_RADIX_CHANGE_H */
