// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * tlist: batches.
 *
 * Prepared is what one word commits that is there already: the bits of a chunk
 * for an insert or a replace with a slot left and for a remove, the value word
 * of a record for an update in place.  What makes a chunk or takes one out is
 * carried out by itself.
 *
 * A new record takes its slot when it is prepared: its link is stored there
 * under the lock of the chunk, without a bit.  From then on the slot is held,
 * so two changes never have the same one, whichever tasks prepare them.  The
 * fence before the commit makes the link durable, together with the record.
 * (If the slot was taken at the commit, a fence would have to pass under the
 * lock of each chunk, between link and bit.)  A change that is dropped leaves a
 * link without a bit, as a power cut does.
 *
 * Changes of one chunk form chains, see round.h.  Each is prepared for the bits
 * that those before it leave.  The first one verifies the bits on media when
 * the chain is committed: no slot that a descent has seen is used again before
 * the section of the round ends, so if they are equal the chunk holds what the
 * descents have seen.  It locks the chunk and all records that go.  Where that
 * makes more than WORT_HELD_MAX locks another chain begins.
 *
 * A commit does not wait for words that were found in flight.  If they are
 * lost, the path to the chunk is, and the change with it, which is legal until
 * it is acknowledged.  The fences of the round come before that.
 */
#include <linux/kernel.h>

#include "../core/alloc.h"
#include "round.h"
#include "tlist.h"

/* A prepared change. */
struct tls_batched {
	u64 chunk;		/* whose bits change; 0: the value of @rec is updated */
	u64 prefix;		/* of its bound */
	u64 before;		/* the bits when those that wait are committed */
	u64 val;		/* what the word becomes */
	struct wort_rec rec;	/* that goes or is updated */
	bool old;		/* @rec goes */
	bool exact;		/* an update that rests on the value before it */
};

static struct tls_batched *batched(const struct wort_change *change)
{
	BUILD_BUG_ON(sizeof(struct tls_batched) > sizeof(change->engine));
	return (struct tls_batched *)change->engine;
}

static int prepare_update(struct wort_change *change,
			  const struct tls_change *c)
{
	struct tls_batched *b = batched(change);

	b->chunk = 0;
	b->val = wort_value_word(&change->put->value);
	b->old = false;
	b->exact = c->exact;
	/*
	 * The next descent would find it in flight, whatever record it looks
	 * for.
	 */
	change->waits = true;
	change->claims = 0;
	change->slot = b->rec.off + offsetof(struct wort_media_leaf, val);
	change->node[0] = b->rec.off;
	change->node[1] = 0;
	return wort_round_depends(change->round, change) ? -EAGAIN : 0;
}

/* Take a slot for a link; the number of slots if there is none. */
static u32 slot_take(struct wort_op *op, const struct tls_chunk *chunk,
		     u64 link)
{
	u32 slot;

	if (!wort_node_lock(op, chunk->off))
		return chunk->slots;
	slot = tls_chunk_unused(chunk);
	if (slot < chunk->slots)
		tls_slot_fill(op, chunk, slot, link);
	wort_nodes_unlock(op);
	return slot;
}

/* Write the new record, and take a slot for it. */
static int prepare_record(struct wort_op *op, struct tls_batched *b,
			  const struct tls_chunk *chunk,
			  const struct wort_put *put)
{
	u32 slot;
	int err = wort_rec_reserve(op, &put->key, &put->value);

	if (err)
		return err;
	slot = slot_take(op, chunk,
			 wort_rec_create(op, &put->key, &put->value));
	if (slot == chunk->slots)
		return -EAGAIN;
	b->val |= BIT(slot);
	return 0;
}

/*
 * Add a node, unless one of its lock is there.  False if that makes too many.
 */
static bool add_node(u64 *nodes, u32 *nr, u64 node)
{
	u32 i;

	for (i = 0; i < *nr; i++)
		if (wort_lock_nr(nodes[i]) == wort_lock_nr(node))
			return true;
	if (*nr == WORT_HELD_MAX)
		return false;
	nodes[(*nr)++] = node;
	return true;
}

/*
 * The nodes that a chain locks: the chunk, and the records that go.  Returns
 * how many.
 */
static u32 chain_nodes(const struct wort_change *first, u64 *nodes)
{
	u32 nr = 0;

	add_node(nodes, &nr, batched(first)->chunk);
	for (; first; first = first->next)
		if (batched(first)->old)
			add_node(nodes, &nr, batched(first)->rec.off);
	return nr;
}

/* May the change join the chain of another one? */
static bool may_join(const struct wort_change *change,
		     const struct wort_change *last)
{
	const struct tls_batched *b = batched(change);
	u64 nodes[WORT_HELD_MAX];
	u32 nr;

	if (!last || !wort_round_is_last(change->round, last))
		return false;
	nr = chain_nodes(last->first ?: last, nodes);
	return !b->old || add_node(nodes, &nr, b->rec.off);
}

/* False: the chunk would go, or has no slot for the record. */
static bool plan_bits(struct wort_change *change, const struct tls_change *c,
		      const struct wort_change *last)
{
	const struct tls_chunk *chunk = &c->pos.chunk;
	struct tls_batched *b = batched(change);

	b->chunk = chunk->off;
	b->prefix = tls_chunk_prefix(chunk);
	b->before = last ? batched(last)->val : chunk->bits;
	b->val = b->before & ~(c->old ? BIT(c->pos.slot) : 0);
	b->old = c->old;
	change->waits = true;
	change->claims = c->old ? BIT(1) : 0;
	change->node[0] = chunk->off;
	change->node[1] = c->old ? b->rec.off : 0;
	return change->put ? tls_chunk_unused(chunk) < chunk->slots :
			     b->val || !chunk->bound_len;
}

static int prepare_bits(struct wort_op *op, struct wort_change *change,
			const struct tls_change *c)
{
	const struct tls_chunk *chunk = &c->pos.chunk;
	struct wort_change *last;
	bool joins;
	int err = 0;

	if (!chunk->off)
		return -EAGAIN;
	change->slot = chunk->off +
		       offsetof(struct wort_media_tlist_chunk, bits);
	last = wort_round_find(change->round, change->slot);
	if (!plan_bits(change, c, last))
		return -EAGAIN;
	joins = may_join(change, last);
	if (!joins && wort_round_claimed(change->round, change))
		return -EAGAIN;
	if (change->put)
		err = prepare_record(op, batched(change), chunk, change->put);
	if (!err && joins)
		wort_round_join(last, change);
	return err;
}

static int tls_batch_prepare(struct wort_op *op, struct wort_tree *tree,
			     struct wort_change *change)
{
	struct tls_change c = { };
	int err = change->put ? tls_put_plan(op, tree, change->put, &c) :
				tls_remove_plan(op, tree, change->del, &c);

	if (err < 0)
		return err;
	change->node[2] = 0;
	batched(change)->rec = c.pos.rec;
	return err ? prepare_update(change, &c) : prepare_bits(op, change, &c);
}

/* Lock what the changes of a chain need, and verify what they have seen. */
static int chain_lock(struct wort_op *op, struct wort_change *first,
		      const __le64 __pmem *bits)
{
	u64 nodes[WORT_HELD_MAX];
	u32 nr = chain_nodes(first, nodes);
	struct wort_change *change;
	bool same;

	if (!wort_nodes_lock(op, nodes, nr))
		return -EAGAIN;
	same = wort_pm_load(bits) == batched(first)->before;
	for (change = first; change; change = change->next)
		if (batched(change)->old)
			same &= wort_rec_renew(&batched(change)->rec);
	if (same)
		return 0;
	wort_nodes_unlock(op);
	return -EAGAIN;
}

/* Store the bits that the last change of the chain leaves. */
static int commit_chain(struct wort_op *op, struct wort_change *first)
{
	u64 off = batched(first)->chunk;
	struct wort_media_tlist_chunk __pmem *media =
		wort_region_at(op->region, off);
	struct wort_change *last = first;
	int err = chain_lock(op, first, &media->bits);

	if (err)
		return err;
	while (last->next)
		last = last->next;
	wort_pm_launch(op, wort_lock_of(op, off), &media->bits,
		       batched(last)->val);
	for (; first; first = first->next)
		if (batched(first)->old)
			wort_nodes_removed(op, batched(first)->rec.off, 0);
	wort_pm_flush(op, &media->bits, sizeof(media->bits));
	wort_nodes_unlock(op);
	return 0;
}

static int commit_update(struct wort_op *op, struct tls_batched *b)
{
	__le64 __pmem *word = &b->rec.leaf->val;

	if (!wort_node_lock(op, b->rec.off))
		return -EAGAIN;
	if (!wort_rec_renew(&b->rec) && b->exact) {
		wort_nodes_unlock(op);
		return -EAGAIN;
	}
	wort_pm_launch(op, wort_lock_of(op, b->rec.off), word, b->val);
	wort_pm_flush(op, word, sizeof(*word));
	wort_nodes_unlock(op);
	return 0;
}

static int tls_batch_commit(struct wort_op *op, struct wort_tree *tree,
			    struct wort_change *change)
{
	struct tls_batched *b = batched(change);

	return b->chunk ? commit_chain(op, change) : commit_update(op, b);
}

/* One word was launched for all of a chain. */
static void tls_batch_finish(struct wort_op *op, struct wort_tree *tree,
			     struct wort_change *change)
{
	const struct tls_batched *b = batched(change);
	const struct tls_entry chunk = { .prefix = b->prefix, .off = b->chunk };
	struct wort_lock *lock = wort_lock_of(op, b->chunk ?: b->rec.off);

	if (!change->first) {
		wort_lock_hold(op, lock);
		wort_pm_landed(lock);
		wort_nodes_unlock(op);
	}
	if (!b->old)
		return;
	tls_slot_freed(op, tree, &chunk, b->before & ~b->val);
	if (wort_rec_free(op, &b->rec))
		op->damaged = true;
}

const struct wort_batch_ops tls_batch_ops = {
	.prepare = tls_batch_prepare,
	.commit = tls_batch_commit,
	.finish = tls_batch_finish,
};
