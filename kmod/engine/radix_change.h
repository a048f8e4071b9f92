/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Changes of radix trees.
 *
 * A change is prepared first: all objects that it needs are written and
 * flushed.  After a fence it is launched: the nodes that it needs are locked,
 * the position is verified, and one word is stored.  When the word is durable,
 * the objects that it made unreachable are freed.
 *
 * What does not depend on the nodes of an engine is here.
 */
#ifndef _WORT_RADIX_CHANGE_H
#define _WORT_RADIX_CHANGE_H

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
int rdx_prepare_at_record(struct wort_op *op, struct rdx_change *c,
			  struct wort_put *put, u32 *digit);
int rdx_pos_lock(struct wort_op *op, const struct rdx_pos *pos, u64 record,
		 bool goes);
int rdx_rec_lock(struct wort_op *op, const struct rdx_pos *pos,
		 struct wort_rec *rec, bool goes);
int rdx_entry_verify(struct wort_op *op, u64 link, u32 start, u32 size,
		     bool place_valid);
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

typedef int rdx_find_fn(struct wort_op *op, const struct wort_tree *tree,
			const struct wort_key *key, u32 limit, bool root,
			bool skips, struct rdx_pos *pos);
typedef int rdx_change_fn(struct wort_op *op, struct wort_tree *tree,
			  struct rdx_change *c);

/*
 * Prepare a removal.  @find and @plan are constants; @plan tells what becomes
 * of the node of the slot.
 */
static __always_inline int rdx_prepare_remove(rdx_find_fn *find,
					      rdx_change_fn *plan,
					      struct wort_op *op,
					      struct wort_tree *tree,
					      const struct wort_del *del,
					      struct rdx_change *c)
{
	int err;

	c->kind = RDX_REMOVE;
	rdx_set_key(c, &del->key);
	err = find(op, tree, &del->key, WORT_KEY_DIGITS, false, false, &c->pos);
	if (err || !c->pos.link)
		return err ?: -ENOENT;
	err = wort_rec_open(op, wort_link_record(c->pos.link), &c->rec);
	if (err)
		return err;
	if (!wort_rec_is(op, &c->rec, &del->key))
		return -ENOENT;
	return wort_rec_expect(op, &c->rec, del->expect, del->old) ?:
	       plan(op, tree, c);
}

/*
 * Carry out a change that was prepared.  @commit is a constant: it launches the
 * change and flushes its word.
 */
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
