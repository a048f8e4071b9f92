// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * WORT, the Write Optimal Radix Tree.
 *
 * Lee, Lim, Song, Nam, Noh: "WORT: Write Optimal Radix Tree for Persistent
 * Memory Storage Systems", FAST 2017.
 *
 * Names:
 *	digit	four bits of a key, high ones first; key.h has what follows its
 *		end
 *	place	the branching place of a node: the position of the digit by
 *		which it selects a child.  The link to the node tells it; it
 *		never changes while the node lives
 *	start	digits consumed on the path to a link: the place of the node
 *		that holds it + 1
 *	slot	a word that holds a link: 0, a record or a node
 *	above	the slot that refers to the node of a slot
 *
 * A node is 16 slots, 128 bytes, two lines; a descent touches one of them:
 *
 *	+-----+-----+-----+-----+-- - - --+-----+
 *	|  0  |  1  |  2  |  3  |         |  f  |
 *	+-----+-----+-----+-----+-- - - --+-----+
 *	   |
 *	   +-- link: place, offset, kind
 *
 * The root record's first word is the slot of the whole tree.  A node has at
 * least two entries.  On every path places strictly grow, so a descent has an
 * end whatever is on media.
 *
 * A node skips the digits from start to place.  The descent does not compare
 * them: the whole key in a record decides.  Before an insert fills an empty
 * slot below skipped digits, it reads any record below that node and compares
 * the skipped digits.
 *
 * The paper keeps a header in each node, {depth, prefix length, prefix}.  Its
 * splits and merges change the link to a node and the header of the node, and
 * its Algorithm 2 mends the header where a power cut came between.  With the
 * place in the link, each change of the tree is one word:
 *
 * insert, replace	slot := link to a record that is durable
 * update in place	the value word in the record := another value
 * record split		slot := link to a node that is durable and holds the
 *			old record and the new one
 * prefix split		slot := link to a node that is durable and holds the
 *			link that was in the slot, and a record.  Needed where a
 *			key parts from the keys below within the digits skipped
 *			(section 3.4, Algorithm 1)
 * delete		with three or more entries: slot := 0
 *			with two (merge): the slot above := the link of the
 *			other entry
 *
 * Each has two crash states: old, not done, in which the prepared objects are
 * owned by nobody; and new, done.  There is no third, and nothing to repair.
 *
 * Concurrency:
 *
 * A descent takes no lock.  Each object that it meets was in the tree at some
 * time since it began, and is not reused while it lasts.  A node keeps its
 * place and the digits that lead to it as long as it lives; a node that was
 * taken out of the tree keeps its slots, too.  So every key below a node has
 * the node's digits, however stale the path to it.
 *
 * A change locks the node of the slot; a merge the node above, too; a change
 * that removes or updates a record the record.  rdx_pos_lock() then verifies
 * what the descent has seen.
 *
 * A cursor finds every key that is there from its first move to its last,
 * once and in order.
 */
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "round.h"
#include "wort.h"
#include "wort_cursor.h"

/* Verify a link to a node, and that the node can be read. */
noinline int wrt_node_verify(struct wort_op *op, u64 link, u32 start)
{
	u64 off = wort_link_off(link);
	int err = wort_region_verify(op->region, off,
				     sizeof(struct wort_media_wort_node));

	if (unlikely(!err && off % sizeof(struct wort_media_wort_node)))
		err = -EUCLEAN;
	if (unlikely(err || !wort_link_place_valid(link, start)))
		return rdx_report_node(op, link, start, err);
	return wort_pm_probe(op, wort_region_at(op->region, off),
			     sizeof(struct wort_media_wort_node));
}

/*
 * The first entry from @slot on, or the last one down from it; WRT_SLOTS if
 * there is none.
 */
u32 wrt_slot_scan(struct wort_op *op, const struct wrt_node *node, u32 slot,
		  bool reverse, u64 *link)
{
	const __le64 __pmem *word = &node->media->slot[slot], *first = word;

	*link = 0;
	for (; slot < WRT_SLOTS; slot += reverse ? -1 : 1) {
		word = &node->media->slot[slot];
		*link = wort_pm_load(word);
		if (*link)
			break;
	}
	wort_count(op, more_loads, wort_pm_lines_differ(word, first));
	wrt_node_flush_in_flight(op, node);
	return *link ? slot : WRT_SLOTS;
}

/*
 * As wrt_entries(), counting the lines that are read, and making the entries
 * durable.
 */
u32 wrt_other_entries(struct wort_op *op, const struct wrt_node *node, u32 mine,
		      u64 *link)
{
	u32 lines = 0, nr = wrt_entries(node->media, mine, link, &lines);

	wort_count(op, more_loads, lines);
	wrt_node_flush_in_flight(op, node);
	return nr;
}

/*
 * Find the first record below a link: any record there has the digits of the
 * path.
 */
int wrt_any_record(struct wort_op *op, u64 link, u32 start,
		   struct wort_rec *rec)
{
	struct wrt_node node;
	int err;

	while (wrt_link_is_node(link)) {
		err = wrt_node_open(op, link, start, &node);
		if (err)
			return err;
		if (wrt_slot_scan(op, &node, 0, false, &link) == WRT_SLOTS)
			return wort_corrupt(op, wort_link_off(node.link),
					    "node without entries");
		start = node.place + 1;
	}
	return wrt_link_verify(op, link) ?:
	       wort_rec_peek(op, wort_link_record(link), rec);
}

static void wrt_create(struct wort_op *op, struct wort_tree *tree)
{
	wort_pm_store(op, wort_tree_root(tree), 0);
}

/* As rdx_find(). */
static __always_inline int descend(struct wort_op *op,
				   const struct wort_tree *tree,
				   const struct wort_key *key, u32 limit,
				   bool root, bool skips, struct rdx_pos *pos)
{
	return rdx_find(wrt_descend, wrt_link_verify, op, tree, key, limit,
			root, skips, pos);
}

static int wrt_lookup(struct wort_op *op, struct wort_tree *tree,
		      const struct wort_key *key, struct wort_buf *buf)
{
	struct rdx_pos pos __uninitialized;
	int err = descend(op, tree, key, WORT_KEY_DIGITS, false, false, &pos);

	if (err || !pos.link)
		return err ?: -ENOENT;
	return wort_rec_lookup(op, wort_link_record(pos.link), key, buf);
}

/* Changes; radix_change.h says how they go. */

static void node_write(struct wort_op *op,
		       struct wort_media_wort_node __pmem *node, u32 slot_a,
		       u64 link_a, u32 slot_b, u64 link_b)
{
	wort_pm_zero(op, node->slot, sizeof(node->slot));
	wort_pm_store(op, &node->slot[slot_a], link_a);
	wort_pm_store(op, &node->slot[slot_b], link_b);
	wort_pm_flush(op, node, sizeof(*node));
}

/*
 * Write a node between the slot and what it refers to, with the new record as
 * the second entry.  The key and the record c->rec, which is below the slot,
 * differ first at @place.
 */
static void write_above(struct wort_op *op, struct rdx_change *c, u32 place)
{
	u64 off = wort_alloc_take(op), record = c->val;

	c->kind = RDX_NODE;
	c->val = wrt_link(off, place);
	node_write(op, wort_region_at(op->region, off),
		   wort_rec_digit(&c->rec, place), c->pos.link,
		   wort_key_digit(c->key.data, c->key.len, place), record);
}

static const struct rdx_nodes nodes;

static noinline int prepare_beside(struct wort_op *op, struct wort_tree *tree,
				   struct rdx_change *c,
				   const struct wort_value *value, u32 place)
{
	return rdx_prepare_beside(&nodes, op, tree, c, value, place);
}

/*
 * An entry of the node that holds an empty slot, if possible from the line of
 * the slot.
 */
static u64 neighbour(struct wort_op *op, const struct rdx_pos *pos)
{
	struct wrt_node node;
	u32 first;
	u64 link;

	wrt_node_at(op, pos->node, &node);
	first = round_down(pos->slot - wort_link_off(pos->node), WORT_LINE) /
		sizeof(__le64);
	if (wrt_slot_scan(op, &node, first, false, &link) == WRT_SLOTS)
		wrt_slot_scan(op, &node, first, true, &link);
	return link;
}

/* The record is written; @link is to a neighbour of the slot that it is for. */
static noinline int prepare_unsure(struct wort_op *op, struct wort_tree *tree,
				   struct rdx_change *c, u64 link)
{
	u32 place;
	int err;

	if (!link)
		return wort_corrupt(op, wort_link_off(c->pos.node),
				    "node without entries");
	err = wrt_any_record(op, link, c->pos.start, &c->rec);
	if (err)
		return err;
	place = wort_rec_common(op, &c->rec, &c->key);
	if (place == c->pos.start - 1)
		return 0;
	if (place >= c->pos.start)
		return wort_corrupt(op, c->rec.off, "leaf in a wrong place");
	return rdx_prepare_cut(&nodes, op, tree, c, place);
}

/*
 * The descent has ended at an empty slot.  If it skipped digits, any record
 * beside the slot has them.  One is read after the new record is written, so
 * that the delay of the read and that of the flush are one.
 */
static __always_inline int prepare_in_slot(struct wort_op *op,
					   struct wort_tree *tree,
					   struct rdx_change *c,
					   const struct wort_value *value)
{
	bool unsure = c->pos.skip;
	u64 link = unsure ? neighbour(op, &c->pos) : 0;
	int err = wort_rec_reserve(op, &c->key, value);

	if (err)
		return err;
	if (unsure)
		wrt_prefetch(wort_region_at(op->region, 0),
			     wort_region_plain(op->region), link);
	rdx_change_to_record(op, c, value, RDX_RECORD);
	if (unsure)
		err = prepare_unsure(op, tree, c, link);
	if (err)
		wort_alloc_untake(op);
	return err;
}

static int prepare_put(struct wort_op *op, struct wort_tree *tree,
		       struct wort_put *put, struct rdx_change *c)
{
	u32 place;
	int err = descend(op, tree, &put->key, WORT_KEY_DIGITS, false, true,
			  &c->pos);

	put->replaced = false;
	if (err)
		return err;
	rdx_set_key(c, &put->key);
	if (!c->pos.link)
		return rdx_put_must_find(put) ? -ENOENT :
		       prepare_in_slot(op, tree, c, &put->value);
	err = rdx_prepare_at_record(op, c, put, &place);
	if (err || place == WORT_KEY_DIGITS)
		return err;
	return prepare_beside(op, tree, c, &put->value, place);
}

static u32 slot_nr(const struct rdx_change *c)
{
	return wrt_slot_nr(&c->pos);
}

static u32 others(struct wort_op *op, u64 link, u32 nr, u64 *other)
{
	struct wrt_node node;

	wrt_node_at(op, link, &node);
	return wrt_other_entries(op, &node, nr, other);
}

/* Will the node of the slot be left with one entry?  Then it goes. */
static int plan_merge(struct wort_op *op, struct wort_tree *tree,
		      struct rdx_change *c)
{
	u64 link;

	c->merges = c->pos.node &&
		    others(op, c->pos.node, slot_nr(c), &link) < 2;
	return c->merges ? rdx_find_above(&nodes, op, tree, c) : 0;
}

static int prepare_remove(struct wort_op *op, struct wort_tree *tree,
			  const struct wort_del *del, struct rdx_change *c)
{
	return rdx_prepare_remove(&nodes, op, tree, del, c);
}

static noinline int launch_remove(struct wort_op *op, struct wort_tree *tree,
				  struct rdx_change *c)
{
	return rdx_launch_remove(&nodes, op, tree, c);
}

/* Afterwards nodes are locked, unless it fails. */
static __always_inline int change_launch(struct wort_op *op,
					 struct wort_tree *tree,
					 struct rdx_change *c)
{
	switch (c->kind) {
	case RDX_RECORD:
		return rdx_launch_record(op, c);
	case RDX_NODE:
		return rdx_launch_node(op, tree, c,
				       wrt_link_is_node(c->pos.link));
	case RDX_REPLACE:
		return rdx_launch_replace(op, c);
	case RDX_UPDATE:
		return rdx_launch_update(op, c);
	default:
		return launch_remove(op, tree, c);
	}
}

/*
 * The word is stored and its node still locked.  The entry of a new node that
 * skips nothing may hold the digits of a node that lay there before.  No
 * descent asks for the entry before the node above is replaced, and its writer
 * locks the slot.  Therefore this may come after the store.
 */
static void change_stored(struct wort_tree *tree, const struct rdx_change *c)
{
	if (c->kind == RDX_NODE && wort_link_place(c->val) == c->pos.start)
		wort_skips_forget(wort_tree_top(tree)->skips, c->val);
}

static u32 node_size(u64 link)
{
	return sizeof(struct wort_media_wort_node);
}

static const struct rdx_nodes nodes = {
	.find = descend,
	.plan = plan_merge,
	.launch = change_launch,
	.stored = change_stored,
	.write_above = write_above,
	.above_size = sizeof(struct wort_media_wort_node),
	.verify = wrt_link_verify,
	.is_node = wrt_link_is_node,
	.place_valid = wort_link_place_valid,
	.size = node_size,
	.others = others,
	.slot_nr = slot_nr,
};

static __always_inline int change_commit(struct wort_op *op,
					 struct wort_tree *tree,
					 struct rdx_change *c)
{
	return rdx_change_commit(&nodes, op, tree, c);
}

static int wrt_put(struct wort_op *op, struct wort_tree *tree,
		   struct wort_put *put)
{
	struct rdx_change c __uninitialized;

	return prepare_put(op, tree, put, &c) ?:
	       rdx_change_run(change_commit, op, tree, &c);
}

static int wrt_remove(struct wort_op *op, struct wort_tree *tree,
		      const struct wort_del *del)
{
	struct rdx_change c __uninitialized;

	return prepare_remove(op, tree, del, &c) ?:
	       rdx_change_run(change_commit, op, tree, &c);
}

/* As rdx_unlink_lost(). */
int wrt_unlink_lost(struct wort_op *op, struct wort_tree *tree,
		    const struct rdx_pos *pos)
{
	return rdx_unlink_lost(&nodes, op, tree, pos,
			       pos->node ? wrt_slot_nr(pos) : 0);
}

/* Batches. */

/* A slot has one link, so changes of WORT form no chains. */
static int wrt_prepare(struct wort_op *op, struct wort_tree *tree,
		       struct wort_change *change)
{
	struct rdx_change *c = rdx_change_of(change);
	int err = change->put ? prepare_put(op, tree, change->put, c) :
				prepare_remove(op, tree, change->del, c);

	if (err)
		return err;
	rdx_change_tell(change, c->pos.slot);
	return wort_round_depends(change->round, change) ? -EAGAIN : 0;
}

static int wrt_commit(struct wort_op *op, struct wort_tree *tree,
		      struct wort_change *change)
{
	return change_commit(op, tree, rdx_change_of(change));
}

/* A new record, with the object of its value, and a new node. */
static void wrt_need(const struct wort_tree *tree, u32 key_len, u32 value_len,
		     struct wort_need *need)
{
	need->nr = 0;
	if (value_len == U32_MAX)
		return;
	wort_rec_need(tree->alloc, key_len, value_len, need);
	need->of[need->nr].size = sizeof(struct wort_media_wort_node);
	need->of[need->nr++].count = 1;
}

static const struct wort_batch_ops wrt_batch_ops = {
	.prepare = wrt_prepare,
	.commit = wrt_commit,
	.finish = rdx_finish,
};

const struct wort_engine wort_engine_wort = {
	.name = "wort",
	.id = WORT_MEDIA_ENGINE_WORT,
	.traits = WORT_TRAITS_wort,
	.cursor_size = sizeof(struct wrt_cursor),
	.create = wrt_create,
	.lookup = wrt_lookup,
	.put = wrt_put,
	.remove = wrt_remove,
	.seek = wrt_seek,
	.next = wrt_next,
	.value = wrt_value,
	.walk = wrt_walk,
	.check = wrt_check,
	.need = wrt_need,
	.drop = wrt_drop,
	.volatile_ops = &wrt_volatile_ops,
	.batch_ops = &wrt_batch_ops,
	.fast_ops = &wrt_fast_ops,
	.prefetch_keys = wrt_prefetch_keys,
	.next_many = wrt_next_many,
};
