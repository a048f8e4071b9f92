// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include <linux/kernel.h>

#include "radix_fast.h"

/* The key has a record. */
static noinline int prepare_replace(struct wort_op *op, struct rdx_change *c,
				    struct wort_put *put)
{
	int err = wort_rec_verify(op, &c->rec);

	if (err)
		return err;
	put->replaced = !put->create;
	err = wort_rec_expect(op, &c->rec, put->create ? NULL : put->expect,
			      put->old);
	if (!err && put->create)
		err = -EEXIST;
	if (err)
		return err;
	if (wort_rec_updatable(&c->rec, &put->value)) {
		c->kind = RDX_UPDATE;
		c->exact = put->expect || put->old;
		c->val = wort_value_word(&put->value);
		return 0;
	}
	err = wort_rec_reserve(op, &c->key, &put->value);
	if (!err)
		rdx_change_to_record(op, c, &put->value, RDX_REPLACE);
	return err;
}

/**
 * rdx_prepare_at_record() - Prepare a put whose descent has ended at a record
 * @op: The operation.
 * @c: The change, with its key and position.  Tells @rec.
 * @put: The put.  Tells @replaced.
 * @digit: Tells the first digit in which the keys differ.  WORT_KEY_DIGITS: it
 *	is the record of the key, and the change is an update of the value word,
 *	or a replacement by a record that is written and flushed.
 *
 * Context: May sleep.
 * Return: 0; the errors of wort_engine.put.
 */
int rdx_prepare_at_record(struct wort_op *op, struct rdx_change *c,
			  struct wort_put *put, u32 *digit)
{
	int err = wort_rec_peek(op, wort_link_record(c->pos.link), &c->rec);

	if (err)
		return err;
	*digit = wort_rec_common(op, &c->rec, &c->key);
	if (*digit == WORT_KEY_DIGITS)
		return prepare_replace(op, c, put);
	return rdx_put_must_find(put) ? -ENOENT : 0;
}

/**
 * rdx_pos_lock() - Lock the nodes of a position, and verify it
 * @op: The operation.
 * @pos: Where the descent has ended, at a slot.
 * @record: Offset of a record below the slot, which is locked, too; 0: none.
 * @goes: The node of the slot will go: lock the node above, too, and verify the
 *	slot there.
 *
 * Context: As wort_nodes_lock().  With 0 the nodes are locked.
 * Return: 0; -EAGAIN: the position has changed.
 */
noinline int rdx_pos_lock(struct wort_op *op, const struct rdx_pos *pos,
			  u64 record, bool goes)
{
	const __le64 __pmem *slot = wort_region_at(op->region, pos->slot);
	const __le64 __pmem *above = wort_region_at(op->region, pos->above);
	u64 nodes[] = {
		rdx_slot_node(pos->node, pos->slot), record,
		rdx_slot_node(pos->above_node, pos->above),
	};

	if (!wort_nodes_lock(op, nodes, goes ? 3 : 2))
		return -EAGAIN;
	if (likely(wort_pm_load(slot) == pos->link &&
		   (!goes || wort_pm_load(above) == pos->node)))
		return 0;
	wort_nodes_unlock(op);
	return -EAGAIN;
}

/**
 * rdx_rec_lock() - As rdx_pos_lock(), for a record that is removed
 * @op: The operation.
 * @pos: Where the descent has ended.
 * @rec: The record.  If its value is in the word that can be updated, it must
 *	be the one that was read before.
 * @goes: As for rdx_pos_lock().
 *
 * Context: As rdx_pos_lock().
 * Return: 0 or -EAGAIN.
 */
int rdx_rec_lock(struct wort_op *op, const struct rdx_pos *pos,
		 struct wort_rec *rec, bool goes)
{
	int err = rdx_pos_lock(op, pos, rec->off, goes);

	if (err || likely(wort_rec_renew(rec)))
		return err;
	wort_nodes_unlock(op);
	return -EAGAIN;
}

/**
 * rdx_launch_record() - Store the link to a new record in an empty slot
 * @op: The operation.
 * @c: The change, prepared.
 *
 * Context: As rdx_pos_lock().
 * Return: 0 or -EAGAIN.
 */
int rdx_launch_record(struct wort_op *op, struct rdx_change *c)
{
	int err = rdx_slot_lock(op, &c->pos);

	if (!err)
		rdx_slot_store(op, c, c->pos.node, c->pos.slot, c->val);
	return err;
}

/**
 * rdx_launch_node() - Put a new node between a slot and what it refers to
 * @op: The operation.
 * @tree: The tree.
 * @c: The change, prepared.
 * @above_node: The slot refers to a node, and c->rec is below that.
 *
 * Context: As rdx_pos_lock().
 * Return: 0 or -EAGAIN.
 */
int rdx_launch_node(struct wort_op *op, struct wort_tree *tree,
		    struct rdx_change *c, bool above_node)
{
	u32 place = wort_link_place(c->val);
	int err;

	/*
	 * The digits that the node in the slot skips are known from the record,
	 * which was read before the descent to the slot.  Therefore the record
	 * must still be there, and thus below that node.
	 */
	err = above_node ? rdx_pos_lock(op, &c->pos, c->rec.off, false) :
			   rdx_slot_lock(op, &c->pos);
	if (err)
		return err;
	if (place > c->pos.start)
		rdx_skip_learn(tree, c->val, &c->key);
	c->top = rdx_top_split(tree, c->pos.start, place, rdx_change_digits(c));
	rdx_tree_grows(tree, wort_link_off(c->val), rdx_change_digits(c));
	rdx_slot_store(op, c, c->pos.node, c->pos.slot, c->val);
	trace_wort_split(op->region->dev, wort_link_off(c->val), place,
			 !above_node);
	return 0;
}

/**
 * rdx_launch_replace() - Store the link to a record that takes another one's place
 * @op: The operation.
 * @c: The change, prepared.
 *
 * Context: As rdx_pos_lock().
 * Return: 0 or -EAGAIN.
 */
noinline int rdx_launch_replace(struct wort_op *op, struct rdx_change *c)
{
	int err = rdx_rec_lock(op, &c->pos, &c->rec, false);

	if (err)
		return err;
	rdx_slot_store(op, c, c->pos.node, c->pos.slot, c->val);
	wort_nodes_removed(op, c->rec.off, 0);
	return 0;
}

/**
 * rdx_launch_update() - Store another value to the word of a record
 * @op: The operation.
 * @c: The change, prepared.
 *
 * Context: As rdx_pos_lock().
 * Return: 0; -EAGAIN: the record was removed, or the change rests on a value
 * that has changed.
 */
noinline int rdx_launch_update(struct wort_op *op, struct rdx_change *c)
{
	if (!wort_node_lock(op, c->rec.off))
		return -EAGAIN;
	if (!wort_rec_renew(&c->rec) && c->exact) {
		wort_nodes_unlock(op);
		return -EAGAIN;
	}
	wort_pm_fence_in_flight(op);
	rdx_change_store(op, c, c->rec.off, &c->rec.leaf->val, c->val);
	return 0;
}

/**
 * rdx_change_tell() - Tell what a prepared change of a batch has in common with others
 * @change: The change.
 * @slot: Offset of the word that it will store to, or what stands for it.
 *
 * The plans of a delete and of a copy rest on the entries of the nodes that
 * they lock.  So they must not be made before those of another one have
 * changed.
 *
 * Context: Any context.
 */
void rdx_change_tell(struct wort_change *change, u64 slot)
{
	const struct rdx_change *c = rdx_change_of(change);
	bool goes = rdx_change_goes(c);

	change->waits = rdx_change_waits(c);
	change->claims = goes || rdx_change_removes(c) ? BIT(WORT_CHANGE_NODES) - 1 : 0;
	change->slot = slot;
	change->node[0] = rdx_slot_node(c->pos.node, c->pos.slot);
	change->node[1] = c->kind == RDX_RECORD || c->kind == RDX_COPY ? 0 : c->rec.off;
	change->node[2] = goes ? rdx_slot_node(c->pos.above_node, c->pos.above) : 0;
}

/**
 * rdx_pos_agree() - Do two descents to a key end at the same place?
 * @op: The operation.
 * @top: Where the one that began at the table of the top has ended.
 * @root: Where that from the root has.
 *
 * The table goes by the keys of records.  If one of them is damaged, it leads
 * to a node by digits that are not on the path.  The slot is 0 where a node has
 * none for the key.
 *
 * Context: A section.
 * Return: 0; -EAGAIN if another writer may be the reason; -EUCLEAN.
 */
int rdx_pos_agree(struct wort_op *op, const struct rdx_pos *top,
		  const struct rdx_pos *root)
{
	if (root->node == top->node && root->slot == top->slot &&
	    root->link == top->link)
		return 0;
	if (top->slot &&
	    wort_pm_load(wort_region_at(op->region, top->slot)) != top->link)
		return -EAGAIN;
	return wort_corrupt(op, wort_link_off(top->node),
			    "a key that belongs elsewhere is below");
}

/**
 * rdx_reserved_give_up() - Give back what a fast path has reserved
 * @tree: The tree.
 * @nr: How many objects.
 * @a: Offset of the first.
 * @b: Offset of the second.
 *
 * Nothing was stored that can be reached.
 *
 * Context: A section.
 * Return: -EAGAIN.
 */
noinline int rdx_reserved_give_up(struct wort_tree *tree, u32 nr, u64 a, u64 b)
{
	struct wort_op op;

	wort_op_begin(&op, tree->region, tree->alloc);
	op.nr_reserved = nr;
	op.reserved[0] = a;
	op.reserved[1] = b;
	wort_op_end(&op);
	return -EAGAIN;
}

/**
 * rdx_node_free() - Free a node that was taken out of the tree
 * @op: The operation, which has committed: where the allocator does not know
 *	the node, @damaged is set.
 * @link: The link to it.
 * @size: Its size.
 *
 * Context: May sleep.
 */
void rdx_node_free(struct wort_op *op, u64 link, u32 size)
{
	if (wort_alloc_free(op, wort_link_off(link), size))
		op->damaged = true;
}

/**
 * rdx_change_free() - Free the objects that a change has made unreachable
 * @op: The operation.
 * @c: The change.  Its word is stored, and perhaps not durable yet: so this
 *	work is done while the line is written back.
 * @node_size: Size of the node of the slot.
 *
 * The objects are not reused before the section of the operation ends, which is
 * after the fence.
 *
 * Context: May sleep.
 */
void rdx_change_free(struct wort_op *op, const struct rdx_change *c,
		     u32 node_size)
{
	if (rdx_change_goes(c))
		rdx_node_free(op, c->pos.node, node_size);
	if (rdx_change_removes(c) && wort_rec_free(op, &c->rec))
		op->damaged = true;
}

/**
 * rdx_change_finish() - End a change whose word is durable
 * @op: The operation.
 * @tree: The tree.
 * @c: The change.
 *
 * Context: Any context.  The operation holds no node.
 */
void rdx_change_finish(struct wort_op *op, struct wort_tree *tree,
		       struct rdx_change *c)
{
	bool there = wort_lock_hold(op, c->lock);

	/*
	 * Otherwise a node of the lock was removed since, perhaps that of the
	 * word.
	 */
	wort_pm_landed(c->lock);
	/*
	 * Others may have changed the word back, and theirs is not durable yet.
	 */
	if (there && !READ_ONCE(*c->lock->in_flight) &&
	    wort_pm_load(c->word) == c->val &&
	    (c->kind == RDX_NODE || rdx_change_goes(c)))
		rdx_top_enter(c->top, c->val, rdx_change_digits(c));
	wort_nodes_unlock(op);
	if (c->kind == RDX_RECORD && c->pos.skip)
		rdx_skip_learn(tree, c->pos.skip, &c->key);
}

/**
 * rdx_finish() - @finish of struct wort_batch_ops
 * @op: The operation.
 * @tree: The tree.
 * @change: The change of a batch, whose word is durable.
 *
 * Context: As rdx_change_finish().
 */
void rdx_finish(struct wort_op *op, struct wort_tree *tree,
		struct wort_change *change)
{
	rdx_change_finish(op, tree, rdx_change_of(change));
}
