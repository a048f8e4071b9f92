// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Operations on an adaptive radix tree; see art.h.
 *
 * Concurrency is that of WORT: a descent takes no lock; a change locks the node
 * of its word, the node above if the node goes, and a record that it removes or
 * updates, and verifies then what the descent has seen.  A copy is verified
 * against the node that it takes the place of, with both nodes locked: what was
 * put there or removed since then is in the one and not in the other.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "../core/purse.h"
#include "art_copy.h"
#include "round.h"

void art_create(struct wort_op *op, struct wort_tree *tree)
{
	wort_pm_store(op, wort_tree_root(tree), 0);
}

/* As rdx_find(). */
static __always_inline int descend(struct wort_op *op,
				   const struct wort_tree *tree,
				   const struct wort_key *key, u32 limit,
				   bool root, bool skips, struct rdx_pos *pos)
{
	return rdx_find(art_descend, art_link_verify, op, tree, key, limit,
			root, skips, pos);
}

int art_lookup(struct wort_op *op, struct wort_tree *tree,
	       const struct wort_key *key, struct wort_buf *buf)
{
	struct rdx_pos pos __uninitialized;
	int err = descend(op, tree, key, WORT_KEY_DIGITS, false, false, &pos);

	if (err || !pos.link)
		return err ?: -ENOENT;
	return wort_rec_lookup(op, wort_link_record(pos.link), key, buf);
}

/* Changes. */

/* The byte by which the node of the slot selects. */
static u32 change_byte(const struct rdx_change *c)
{
	return art_key_byte(&c->key, rdx_change_digits(c),
			    wort_link_place(c->pos.node));
}

/* Digits consumed on the path to the node that comes into the tree. */
static u32 change_start(const struct rdx_change *c)
{
	return c->kind == RDX_NODE ? c->pos.start : art_end(c->pos.above_node);
}

/*
 * Write a node between the slot and what it refers to, with the new record as
 * the second entry.  The key and the record c->rec, which is below the slot,
 * differ first in the byte at @place.
 */
static void write_above(struct wort_op *op, struct rdx_change *c, u32 place)
{
	struct art_entry below = { art_rec_byte(&c->rec, place), c->pos.link };
	struct art_entry new = { art_key_byte(&c->key, rdx_change_digits(c), place), c->val };
	u64 off = wort_alloc_take(op);
	struct wort_media_art_line __pmem *line =
		wort_region_at(op->region, off);

	art_pair_write(op, line, below, new);
	wort_pm_flush(op, line, sizeof(*line));
	c->kind = RDX_NODE;
	c->val = art_link(off, WORT_MEDIA_ART_KIND_N7, place);
}

static const struct rdx_nodes nodes;

static noinline int prepare_beside(struct wort_op *op, struct wort_tree *tree,
				   struct rdx_change *c,
				   const struct wort_value *value, u32 place)
{
	return rdx_prepare_beside(&nodes, op, tree, c, value, place);
}

/*
 * The descent has ended at no record, and has skipped digits.  Any record below
 * the node of the slot has the digits of the path: compare the key with one.
 */
static noinline int prepare_unsure(struct wort_op *op, struct wort_tree *tree,
				   struct rdx_change *c)
{
	int err = art_any_record(op, c->pos.node, wort_link_place(c->pos.node),
				 &c->rec);
	u32 digit;

	if (err)
		return err;
	digit = wort_rec_common(op, &c->rec, &c->key);
	if (digit >= c->pos.start)
		return wort_corrupt(op, c->rec.off, "leaf in a wrong place");
	if (digit >= c->pos.start - ART_BYTE_DIGITS)
		return 0;
	return rdx_prepare_cut(&nodes, op, tree, c,
			       round_down(digit, ART_BYTE_DIGITS));
}

static int find_above(struct wort_op *op, struct wort_tree *tree,
		      struct rdx_change *c)
{
	return rdx_find_above(&nodes, op, tree, c);
}

/*
 * The node has no slot for the key, and maps none: write a copy that has.  It
 * leaves behind slots that have a byte and no entry.
 */
static noinline int prepare_copy(struct wort_op *op, struct wort_tree *tree,
				 struct rdx_change *c)
{
	int err = find_above(op, tree, c);
	struct art_entries list;
	struct art_node node;
	u32 kind;

	if (err)
		return err;
	art_node_at(op, c->pos.node, &node);
	if (!art_others_list(&node, change_byte(c), &list))
		return art_map_report(op, node.link);
	c->copied = list.nr;
	art_entries_add_link(&list, change_byte(c), c->val);
	kind = art_kind_for(&list);
	err = wort_alloc_reserve(op, art_node_size(kind));
	if (err)
		return err;
	c->kind = RDX_COPY;
	c->val = art_node_write(op, &node, kind, &list);
	return 0;
}

/* Can the node of the slot map the byte of the key while it is in the tree? */
static bool maps_key(struct wort_op *op, const struct rdx_change *c, u32 maps)
{
	struct art_node node;

	art_node_at(op, c->pos.node, &node);
	return maps & BIT(node.kind) && art_node_maps(&node, change_byte(c));
}

/*
 * The descent has ended at an empty slot, or where a node has none for the key.
 * If it skipped digits, any record below the node has them.  One is read after
 * the new record is written, so that the delay of the read and that of the
 * flush are one.
 */
static int prepare_in_slot(struct wort_op *op, struct wort_tree *tree,
			   struct rdx_change *c, const struct wort_value *value,
			   u32 maps)
{
	int err = wort_rec_reserve(op, &c->key, value);

	if (err)
		return err;
	rdx_change_to_record(op, c, value, RDX_RECORD);
	if (c->pos.skip)
		err = prepare_unsure(op, tree, c);
	if (!err && c->kind == RDX_RECORD && !c->pos.slot &&
	    !maps_key(op, c, maps))
		err = prepare_copy(op, tree, c);
	if (err)
		wort_alloc_untake(op);
	return err;
}

static int prepare_put(struct wort_op *op, struct wort_tree *tree,
		       struct wort_put *put, struct rdx_change *c, u32 maps)
{
	u32 digit;
	int err = descend(op, tree, &put->key, WORT_KEY_DIGITS, false, true,
			  &c->pos);

	put->replaced = false;
	if (err)
		return err;
	rdx_set_key(c, &put->key);
	if (!c->pos.link)
		return rdx_put_must_find(put) ? -ENOENT :
		       prepare_in_slot(op, tree, c, &put->value, maps);
	err = rdx_prepare_at_record(op, c, put, &digit);
	if (err || digit == WORT_KEY_DIGITS)
		return err;
	return prepare_beside(op, tree, c, &put->value,
			      round_down(digit, ART_BYTE_DIGITS));
}

/*
 * A node that is left with few entries becomes a smaller one, if that has room
 * in its lines.  It is not worth waiting for: without space the node stays as
 * it is.
 */
static int plan_shrink(struct wort_op *op, struct wort_tree *tree,
		       struct rdx_change *c, const struct art_node *node)
{
	u32 byte = change_byte(c), kind;
	struct art_entries list;
	int err;

	if (!art_is_sparse(node, byte))
		return 0;
	err = find_above(op, tree, c);
	if (err || !art_others_list(node, byte, &list))
		return err;
	kind = art_kind_for(&list);
	if (kind >= node->kind)
		return 0;
	/* Others have deleted meanwhile: the node goes. */
	if (list.nr < 2)
		return -EAGAIN;
	err = wort_purse_reserve_beside(op, art_node_size(kind));
	if (err)
		return err == -ENOSPC || err == -ENOMEM ? 0 : err;
	c->copied = list.nr;
	c->kind = RDX_SHRINK;
	c->val = art_node_write(op, node, kind, &list);
	return 0;
}

/*
 * What becomes of the node of the slot: with one entry left it goes, and the
 * slot above changes.
 */
static int plan_remove(struct wort_op *op, struct wort_tree *tree,
		       struct rdx_change *c)
{
	struct art_node node;
	u64 link;

	c->merges = false;
	if (!c->pos.node)
		return 0;
	art_node_at(op, c->pos.node, &node);
	c->merges = art_others(op, &node, change_byte(c), 2, &link) < 2;
	return c->merges ? find_above(op, tree, c) :
			   plan_shrink(op, tree, c, &node);
}

static int prepare_remove(struct wort_op *op, struct wort_tree *tree,
			  const struct wort_del *del, struct rdx_change *c)
{
	return rdx_prepare_remove(&nodes, op, tree, del, c);
}

/*
 * Find or map the slot of the key in its node, which is locked and had none
 * when the change was prepared.  NULL: another writer has put an entry there,
 * or the node has no free slot.
 */
static __le64 __pmem *slot_map(struct wort_op *op, const struct rdx_change *c)
{
	void __pmem *base = wort_region_at(op->region, 0);
	u64 slot = art_slot(base, c->pos.node, change_byte(c));
	struct art_node node;

	if (slot)
		return wort_pm_load(base + slot) ? NULL : base + slot;
	art_node_at(op, c->pos.node, &node);
	return art_node_map(op, &node, change_byte(c));
}

static int launch_mapped(struct wort_op *op, struct rdx_change *c)
{
	u64 off = wort_link_off(c->pos.node);
	__le64 __pmem *slot;

	if (!wort_node_lock(op, off))
		return -EAGAIN;
	slot = slot_map(op, c);
	if (slot) {
		rdx_change_store(op, c, off, slot, c->val);
		return 0;
	}
	wort_nodes_unlock(op);
	return -EAGAIN;
}

static int launch_record(struct wort_op *op, struct rdx_change *c)
{
	return c->pos.slot ? rdx_launch_record(op, c) : launch_mapped(op, c);
}

/*
 * Record the digits that a new node skips, and count it for the table of the
 * top.
 */
static void node_learn(struct wort_tree *tree, const struct rdx_change *c)
{
	if (wort_link_place(c->val) > change_start(c))
		rdx_skip_learn(tree, c->val, &c->key);
	rdx_tree_grows(tree, wort_link_off(c->val), rdx_change_digits(c));
}

/* Lock what a copy changes. */
static int copy_lock(struct wort_op *op, struct rdx_change *c)
{
	const __le64 __pmem *above = wort_region_at(op->region, c->pos.above);
	u64 nodes[] = {
		wort_link_off(c->pos.node),
		rdx_slot_node(c->pos.above_node, c->pos.above),
	};

	if (c->kind == RDX_SHRINK)
		return rdx_rec_lock(op, &c->pos, &c->rec, true);
	if (!wort_nodes_lock(op, nodes, ARRAY_SIZE(nodes)))
		return -EAGAIN;
	if (wort_pm_load(above) == c->pos.node)
		return 0;
	wort_nodes_unlock(op);
	return -EAGAIN;
}

/* A copy for a new record is valid only while the node has no entry for it. */
static bool copy_valid(struct wort_op *op, const struct rdx_change *c)
{
	struct art_node node;

	art_node_at(op, c->pos.node, &node);
	return (c->kind != RDX_COPY || !art_byte_link(&node, change_byte(c))) &&
	       art_copy_valid(&node, change_byte(c), c->val, c->copied);
}

static noinline int launch_copy(struct wort_op *op, struct wort_tree *tree,
				struct rdx_change *c)
{
	u64 node = wort_link_off(c->pos.node);
	int err = copy_lock(op, c);

	if (err)
		return err;
	if (!copy_valid(op, c)) {
		wort_nodes_unlock(op);
		return -EAGAIN;
	}
	node_learn(tree, c);
	c->top = rdx_top_merge(tree, c->pos.node, rdx_change_digits(c));
	rdx_slot_store(op, c, c->pos.above_node, c->pos.above, c->val);
	wort_nodes_removed(op, node, c->kind == RDX_SHRINK ? c->rec.off : 0);
	return 0;
}

static noinline int launch_remove(struct wort_op *op, struct wort_tree *tree,
				  struct rdx_change *c)
{
	return rdx_launch_remove(&nodes, op, tree, c);
}

/* Afterwards nodes are locked, unless it fails. */
static int change_launch(struct wort_op *op, struct wort_tree *tree,
			 struct rdx_change *c)
{
	switch (c->kind) {
	case RDX_RECORD:
		return launch_record(op, c);
	case RDX_NODE:
		return rdx_launch_node(op, tree, c,
				       art_link_is_node(c->pos.link));
	case RDX_COPY:
	case RDX_SHRINK:
		return launch_copy(op, tree, c);
	case RDX_REPLACE:
		return rdx_launch_replace(op, c);
	case RDX_UPDATE:
		return rdx_launch_update(op, c);
	default:
		return launch_remove(op, tree, c);
	}
}

/* The word refers to a node that was written for the change. */
static bool change_makes_node(const struct rdx_change *c)
{
	return c->kind == RDX_NODE || c->kind == RDX_COPY ||
	       c->kind == RDX_SHRINK;
}

/*
 * The word is stored and its node still locked.  The entry of a new node that
 * skips nothing may hold the digits of a node that lay there before.
 */
static void change_stored(struct wort_tree *tree, const struct rdx_change *c)
{
	if (change_makes_node(c) && wort_link_place(c->val) == change_start(c))
		wort_skips_forget(wort_tree_top(tree)->skips, c->val);
}

static u32 node_size(u64 link)
{
	return art_node_size(art_link_kind(link));
}

static u32 others(struct wort_op *op, u64 link, u32 byte, u64 *other)
{
	struct art_node node;

	art_node_at(op, link, &node);
	return art_others(op, &node, byte, 2, other);
}

static const struct rdx_nodes nodes = {
	.find = descend,
	.plan = plan_remove,
	.launch = change_launch,
	.stored = change_stored,
	.write_above = write_above,
	.above_size = sizeof(struct wort_media_art_line),
	.verify = art_link_verify,
	.is_node = art_link_is_node,
	.place_valid = art_place_valid,
	.size = node_size,
	.others = others,
	.slot_nr = change_byte,
};

static int change_commit(struct wort_op *op, struct wort_tree *tree,
			 struct rdx_change *c)
{
	return rdx_change_commit(&nodes, op, tree, c);
}

int art_put(struct wort_op *op, struct wort_tree *tree, struct wort_put *put,
	    u32 maps)
{
	struct rdx_change c __uninitialized;

	return prepare_put(op, tree, put, &c, maps) ?:
	       rdx_change_run(change_commit, op, tree, &c);
}

int art_remove(struct wort_op *op, struct wort_tree *tree,
	       const struct wort_del *del)
{
	struct rdx_change c __uninitialized;

	return prepare_remove(op, tree, del, &c) ?:
	       rdx_change_run(change_commit, op, tree, &c);
}

/* As rdx_unlink_lost(); @byte: of the slot in its node. */
int art_unlink_lost(struct wort_op *op, struct wort_tree *tree,
		    const struct rdx_pos *pos, u32 byte)
{
	return rdx_unlink_lost(&nodes, op, tree, pos, byte);
}

/* Batches. */

/*
 * The word that a change stores to; a byte without a slot stands for its slot.
 */
static u64 change_slot(const struct rdx_change *c)
{
	if (rdx_change_goes(c))
		return c->pos.above;
	return c->pos.slot ?: wort_link_off(c->pos.node) + change_byte(c);
}

/* A slot has one link, so changes form no chains. */
int art_prepare(struct wort_op *op, struct wort_tree *tree,
		struct wort_change *change, u32 maps)
{
	struct rdx_change *c = rdx_change_of(change);
	int err = change->put ? prepare_put(op, tree, change->put, c, maps) :
				prepare_remove(op, tree, change->del, c);

	if (err)
		return err;
	rdx_change_tell(change, change_slot(c));
	return wort_round_depends(change->round, change) ? -EAGAIN : 0;
}

int art_commit(struct wort_op *op, struct wort_tree *tree,
	       struct wort_change *change)
{
	return change_commit(op, tree, rdx_change_of(change));
}

/* A new record, with the object of its value, and a node of any kind. */
void art_need(const struct wort_tree *tree, u32 key_len, u32 value_len,
	      struct wort_need *need)
{
	u32 kind;

	BUILD_BUG_ON(2 + ART_NR_KINDS > WORT_NEED_MAX);
	need->nr = 0;
	if (value_len == U32_MAX)
		return;
	wort_rec_need(tree->alloc, key_len, value_len, need);
	for (kind = WORT_MEDIA_ART_KIND_N7; kind <= WORT_MEDIA_ART_KIND_N256;
	     kind++) {
		need->of[need->nr].size = art_node_size(kind);
		need->of[need->nr++].count = 1;
	}
}
