// SPDX-License-Identifier: GPL-2.0-only
/*
 * WORT, the Write Optimal Radix Tree.
 *
 * Lee, Lim, Song, Nam, Noh: "WORT: Write Optimal Radix Tree for Persistent
 * Memory Storage Systems", FAST 2017.
 *
 * Names:
 *	digit	four bits of a key, high ones first; 2048 at most
 *	place	the branching place of a node: the position of the digit by
 *		which it selects a child.  depth + prefix length; never changes
 *	depth	digits consumed on the path to a node, as its header has it
 *	start	the same as the path has it: place of the parent + 1
 *	slot	a word that holds a link; slot 0 is for the key that ends at
 *		the place, slot 1 + d for keys with digit d there
 *	level	a node on the path of a cursor, and the slot taken there
 *
 * A node, 144 bytes, three lines:
 *
 *	+-----+-----+-----+-----+-----+-- - - --+-----+
 *	| hdr | end |  0  |  1  |  2  |         |  f  |
 *	+-----+-----+-----+-----+-----+-- - - --+-----+
 *	   |
 *	   +-- depth:12, prefix length:12, first ten digits of the prefix
 *
 * The root record's first word is the slot of the whole tree: empty, a leaf or
 * a node.  A node has at least two entries.  On every path the place strictly
 * grows, so no descent takes more than 2049 steps whatever is on media.
 *
 * Prefixes are compared as far as the header goes; the whole key in a leaf
 * decides (the paper's hybrid path compression).  Readers need the place only:
 * they skip prefixes and compare at the leaf.
 *
 * Commit words and the crash states they leave:
 *
 * insert, replace	slot := link to a leaf that is durable
 *	old	Not done.  The leaf is owned by nobody.
 *	new	Done.
 *
 * update in place	value word of the leaf: old or new.
 *
 * leaf split		slot := link to a node that is durable and holds the
 *			old leaf and the new one; old or new.
 *
 * prefix split (section 3.4, Algorithm 1), at position p of child's prefix:
 *
 *	before: slot -> child		  after: slot -> node -> child, leaf
 *
 *	slot := link to the node, which is durable; child's header := depth
 *	p + 1, a prefix shorter by as much.  One fence for both words:
 *
 *	slot  header
 *	old   old	Not done.  Node and leaf are owned by nobody.
 *	new   new	Done.
 *	new   old	The depth in child's header is less than its start.
 *	old   new	It is greater.
 *
 * delete		with three or more entries: slot := 0; old or new.
 *			With two, the other entry moves up (merge):
 *
 *	before: slot -> node -> child, leaf	  after: slot -> child
 *
 *	slot := link to child and, if child is a node, its header := depth of
 *	the node, the prefixes joined.  The same four states.
 *
 * The mixed states differ from a sound tree in the depth of one header, and
 * its prefix, only.  Readers do not look at these.  The next writer that comes
 * by derives the header from any leaf below and stores it (section 3.4,
 * Algorithm 2, which needs one leaf instead of two since the place is known):
 * one word, old and new both legal, so it may become durable at any time.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include <trace/events/wort.h>

#include "../core/alloc.h"
#include "../core/pmem.h"
#include "engine.h"
#include "rec.h"

#define WRT_SLOTS	WORT_MEDIA_WORT_SLOTS
#define WRT_PLACE_MAX	(2 * WORT_KEY_MAX)
#define WRT_HDR_DIGITS	WORT_MEDIA_WORT_PREFIX_DIGITS
#define WRT_WORD_DIGITS	16

/* A node whose header has been read and verified. */
struct wrt_node {
	struct wort_media_wort_node __pmem *media;
	u64 off;
	u64 hdr;
	u32 place;
	u32 start;
};

/* How far a descent came. */
struct wrt_path {
	__le64 __pmem *slot;		/* where it ended */
	u64 link;			/* what is there */
	u32 start;			/* digits consumed on the path to it */
	__le64 __pmem *node_slot;	/* refers to the node that holds it */
	u32 node_start;			/* start of that node */
	struct wrt_node unsure;		/* last one with digits not compared */
};

static bool link_is_leaf(u64 link)
{
	return (link & WORT_MEDIA_LINK_TAG_MASK) == WORT_MEDIA_LINK_LEAF;
}

static u64 link_off(u64 link)
{
	return link & ~WORT_MEDIA_LINK_TAG_MASK;
}

static u32 hdr_depth(u64 hdr)
{
	return hdr >> WORT_MEDIA_WORT_DEPTH_SHIFT;
}

static u32 hdr_len(u64 hdr)
{
	return hdr >> WORT_MEDIA_WORT_LEN_SHIFT & WORT_MEDIA_WORT_LEN_MASK;
}

/*
 * The slot for a key at a place.  The caller knows that the key has at least
 * @place digits.
 */
static u32 slot_for(const u8 *key, u32 key_len, u32 place)
{
	if (place == wort_key_digits(key_len))
		return 0;
	return 1 + wort_key_digit(key, place);
}

/*
 * The digits of a key from @start on in the upper bits of a word, as many as
 * fit: those of eight bytes from the one of @start on, or to the end.  The key
 * has more digits than @start.
 */
static __always_inline u64 key_word(const struct wort_key *key, u32 start)
{
	u32 len = min(key->len, 8U), byte = start / 2;
	u32 base = min(byte, key->len - len);
	u64 word = wort_bytes_word(key->data + base, len);

	return be64_to_cpu((__force __be64)word) << 8 * (byte - base)
						 << start % 2 * 4;
}

/* Header of a node without prefix. */
static u64 hdr_plain(u32 start)
{
	return (u64)start << WORT_MEDIA_WORT_DEPTH_SHIFT;
}

/*
 * Header of a node at @place, reached at @start, above a key whose digits from
 * there on are given as by key_word().
 */
static __always_inline u64 hdr_from_digits(u64 digits, u32 start, u32 place)
{
	u32 n = min_t(u32, place - start, WRT_HDR_DIGITS);
	u64 hdr = hdr_plain(start) |
		  (u64)(place - start) << WORT_MEDIA_WORT_LEN_SHIFT;

	/* a shift by 64 is none */
	return n ? hdr | digits >> (64 - 4 * n) << 4 * (WRT_HDR_DIGITS - n) :
		   hdr;
}

/* The same of a key with @place digits at least. */
static u64 hdr_from_key(const struct wort_key *key, u32 start, u32 place)
{
	return hdr_from_digits(start < place ? key_word(key, start) : 0, start,
			       place);
}

/* Header of a node at @place, reached at @start, above the given record. */
static int hdr_from_rec(struct wort_op *op, const struct wort_rec *rec,
			u32 start, u32 place, u64 *hdr)
{
	u8 part[WRT_HDR_DIGITS / 2 + 1] = { };
	struct wort_key key = { part, sizeof(part) };
	u32 n = min_t(u32, place - start, WRT_HDR_DIGITS);
	int err;

	if (place > wort_key_digits(rec->key_len))
		return wort_corrupt(op, rec->off, "key too short for its place");
	err = wort_rec_key(op, rec, part, start / 2,
			   DIV_ROUND_UP(start + n, 2) - start / 2);
	*hdr = hdr_plain(start - start % 2) +
	       hdr_from_key(&key, start % 2, place - start + start % 2);
	return err;
}

/* Reports are kept out of the way of descents. */
static noinline void report_link(struct wort_op *op, u64 link, int err)
{
	if ((link & WORT_MEDIA_LINK_TAG_MASK) != WORT_MEDIA_LINK_NODE)
		wort_corrupt(op, link_off(link),
			     "link %#llx is to no node or leaf",
			     (unsigned long long)link);
	else if (err == -EUCLEAN)
		wort_corrupt(op, link_off(link), "node outside the pool");
}

static noinline void report_place(struct wort_op *op, u64 off, u32 place,
				  u32 start)
{
	wort_corrupt(op, off, "place %u not beyond %u", place, start);
}

/*
 * The offset of the node that a link is to.  Any other link gives one that is
 * not aligned and so is refused by wort_region_verify().
 */
static u64 node_off(u64 link)
{
	return link - WORT_MEDIA_LINK_NODE;
}

static bool link_is_node(u64 link)
{
	return node_off(link) % sizeof(__le64) == 0;
}

/* Refuse what is neither empty nor a link to a leaf or a node. */
static int link_verify(struct wort_op *op, u64 link)
{
	if (link_is_leaf(link) || !link || link_is_node(link))
		return 0;
	report_link(op, link, -EUCLEAN);
	return -EUCLEAN;
}

/*
 * Verify a link to a node and read its header.  Its place must be beyond the
 * digits already consumed; its depth may be stale and is not looked at.
 * Inline, or what an insert costs would not fit beside a fence.
 */
static __always_inline int node_open(struct wort_op *op, u64 link, u32 start,
				     struct wrt_node *node)
{
	int err;

	node->off = node_off(link);
	err = wort_region_verify(op->region, node->off, sizeof(*node->media));
	if (unlikely(err)) {
		report_link(op, link, err);
		return err;
	}
	node->media = wort_region_at(op->region, node->off);
	err = wort_pm_probe(op, node->media, sizeof(*node->media));
	if (unlikely(err))
		return err;
	node->hdr = wort_pm_load(&node->media->hdr);
	node->start = start;
	node->place = start;
	wort_count(op, nodes, 1);
	wort_count(op, loads, 1);
	if (likely(node->hdr == hdr_plain(start) && start <= WRT_PLACE_MAX))
		return 0;
	node->place = hdr_depth(node->hdr) + hdr_len(node->hdr);
	if (unlikely(node->place < start || node->place > WRT_PLACE_MAX)) {
		report_place(op, node->off, node->place, start);
		return -EUCLEAN;
	}
	return 0;
}

/* What ends at a place has no digits left to branch on. */
static noinline int end_verify(struct wort_op *op, u64 off, u64 link)
{
	if (!link || link_is_leaf(link))
		return 0;
	return wort_corrupt(op, off, "node in the slot for ends");
}

/* Load a slot. */
static __always_inline int slot_load(struct wort_op *op,
				     const struct wrt_node *node, u32 slot,
				     u64 *link)
{
	*link = wort_pm_load(&node->media->slot[slot]);
	wort_count(op, loads, wort_pm_lines_differ(&node->media->slot[slot],
						   &node->media->hdr));
	return likely(slot) ? 0 : end_verify(op, node->off, *link);
}

/*
 * The first entry from @slot on, or the last one down from it; WRT_SLOTS if
 * there is none.
 */
static int slot_scan(struct wort_op *op, const struct wrt_node *node, int slot,
		     bool reverse, u32 *found, u64 *link)
{
	int err;

	for (; slot >= 0 && slot < WRT_SLOTS; slot += reverse ? -1 : 1) {
		err = slot_load(op, node, slot, link);
		if (err || *link) {
			*found = slot;
			return err;
		}
	}
	*found = WRT_SLOTS;
	return 0;
}

/* Some record below a link: the first one. */
static int any_rec(struct wort_op *op, u64 link, u32 start,
		   struct wort_rec *rec)
{
	struct wrt_node node;
	u32 slot;
	int err;

	while (!link_is_leaf(link)) {
		err = node_open(op, link, start, &node);
		if (!err)
			err = slot_scan(op, &node, 0, false, &slot, &link);
		if (err)
			return err;
		if (slot == WRT_SLOTS)
			return wort_corrupt(op, node.off, "node without entries");
		start = node.place + 1;
	}
	return wort_rec_open(op, link_off(link), rec);
}

static void wrt_create(struct wort_op *op, struct wort_tree *tree)
{
	wort_pm_store(op, &tree->root[0], 0);
}

static int root_load(struct wort_op *op, struct wort_tree *tree, u64 *link)
{
	int err = wort_pm_probe(op, tree->root, WORT_LINE);

	*link = err ? 0 : wort_pm_load(&tree->root[0]);
	return err;
}

static int path_begin(struct wort_op *op, struct wrt_path *path,
		      struct wort_tree *tree)
{
	path->slot = &tree->root[0];
	path->start = 0;
	path->node_slot = NULL;
	path->unsure.media = NULL;
	return root_load(op, tree, &path->link);
}

/* Go on by the slot for a key in a node. */
static int path_enter(struct wort_op *op, struct wrt_path *path,
		      const struct wrt_node *node, const struct wort_key *key)
{
	u32 slot = slot_for(key->data, key->len, node->place);

	if (node->place - node->start > WRT_HDR_DIGITS)
		path->unsure = *node;
	path->node_slot = path->slot;
	path->node_start = path->start;
	path->slot = &node->media->slot[slot];
	path->start = node->place + 1;
	return slot_load(op, node, slot, &path->link);
}

/*
 * Follow a key through nodes whose header is the one that the key says, as it
 * mostly is; anything else is left to the caller, and so is the end of the key
 * and what lies beyond @limit.
 *
 * What an insert costs has to fit beside a fence: a node takes few
 * instructions, and its slot is loaded beside the header and not after it.
 */
static noinline void path_run(struct wort_op *op, struct wrt_path *path,
			      const struct wort_key *key, u32 limit)
{
	const struct wort_region *region = op->region;
	u64 last = region->size - sizeof(struct wort_media_wort_node);
	u32 end = min(limit + 1, wort_key_digits(key->len));
	struct wort_media_wort_node __pmem *node;
	u32 start = path->start, place;
	__le64 __pmem *slot = path->slot;
	u64 link = path->link;
	u64 digits, hdr;

	if (start >= end || READ_ONCE(region->bad_pages) || region->mcsafe)
		return;
	digits = key_word(key, start);
	end = min(end, round_down(start, 2) + WRT_WORD_DIGITS);
	while (start < end && link_is_node(link) && node_off(link) <= last) {
		node = wort_region_at(region, node_off(link));
		hdr = wort_pm_load(&node->hdr);
		place = start;
		if (hdr != hdr_plain(start)) {
			place += hdr_len(hdr);
			if (place >= end ||
			    hdr != hdr_from_digits(digits, start, place))
				break;
			digits <<= 4 * (place - start);
			if (place - start > WRT_HDR_DIGITS)
				path->unsure = (struct wrt_node){
					.media = node, .off = node_off(link),
					.place = place, .start = start,
				};
		}
		path->node_slot = slot;
		path->node_start = start;
		slot = &node->slot[1 + (digits >> 60)];
		link = wort_pm_load(slot);
		wort_count(op, nodes, 1);
		wort_count(op, loads, 1 + wort_pm_lines_differ(slot, &node->hdr));
		start = place + 1;
		digits <<= 4;
	}
	path->slot = slot;
	path->start = start;
	path->link = link;
}

/* Past nodes that want a closer look. */
static noinline int find_on(struct wort_op *op, const struct wort_key *key,
			    struct wrt_path *path)
{
	struct wrt_node node;
	int err = 0;

	while (!err && link_is_node(path->link)) {
		err = node_open(op, path->link, path->start, &node);
		if (!err && node.place > wort_key_digits(key->len))
			return -ENOENT;
		if (!err)
			err = path_enter(op, path, &node, key);
		if (!err)
			path_run(op, path, key, WRT_PLACE_MAX);
	}
	return err;
}

/*
 * Readers: follow the digits at the places, compare the whole key at the leaf.
 */
static int wrt_find(struct wort_op *op, struct wort_tree *tree,
		    const struct wort_key *key, struct wort_rec *rec)
{
	struct wrt_path path;
	int err = path_begin(op, &path, tree);

	path_run(op, &path, key, WRT_PLACE_MAX);
	if (unlikely(link_is_node(path.link)))
		err = find_on(op, key, &path);
	if (err)
		return err;
	if (!link_is_leaf(path.link))
		return link_verify(op, path.link) ?: -ENOENT;
	err = wort_rec_open(op, link_off(path.link), rec);
	if (err)
		return err;
	return wort_rec_is(op, rec, key) ? 0 : -ENOENT;
}

static int wrt_lookup(struct wort_op *op, struct wort_tree *tree,
		      const struct wort_key *key, struct wort_buf *buf)
{
	struct wort_rec rec;
	int err = wrt_find(op, tree, key, &rec);

	return err ? err : wort_rec_value(op, &rec, buf);
}

/* Algorithm 2: store the header that the path and a leaf below say. */
static int repair_hdr(struct wort_op *op, struct wrt_node *node)
{
	u64 link = node->off | WORT_MEDIA_LINK_NODE;
	u64 old = node->hdr;
	struct wort_rec rec;
	int err;

	err = any_rec(op, link, node->start, &rec);
	if (!err)
		err = hdr_from_rec(op, &rec, node->start, node->place,
				   &node->hdr);
	if (!err)
		wort_pm_publish_later(op, &node->media->hdr, node->hdr);
	if (!err)
		trace_wort_repair(op->region->dev, node->off, old, node->hdr);
	return err;
}

/* Past nodes that want a closer look: a stale header is mended. */
static noinline int descend_on(struct wort_op *op, const struct wort_key *key,
			       u32 limit, struct wrt_path *path)
{
	struct wrt_node node;
	int err = 0;

	while (link_is_node(path->link)) {
		err = node_open(op, path->link, path->start, &node);
		if (!err && node.place > limit)
			break;
		if (!err && hdr_depth(node.hdr) != path->start)
			err = repair_hdr(op, &node);
		if (err || node.hdr != hdr_from_key(key, path->start, node.place))
			break;
		err = path_enter(op, path, &node, key);
		if (err)
			break;
		path_run(op, path, key, limit);
	}
	return err;
}

/*
 * Writers: follow the key and mend stale headers on the way.  Ends at an empty
 * slot, at a leaf, at a node whose prefix differs from the key, or at the
 * first node with a place beyond @limit, which the key reaches.
 */
static __always_inline int wrt_descend(struct wort_op *op,
				       struct wort_tree *tree,
				       const struct wort_key *key, u32 limit,
				       struct wrt_path *path)
{
	int err = path_begin(op, path, tree);

	path_run(op, path, key, limit);
	if (unlikely(link_is_node(path->link)))
		err = descend_on(op, key, limit, path);
	return err ?: link_verify(op, path->link);
}

/* An empty slot, and the key belongs there. */
static int insert_leaf(struct wort_op *op, struct wrt_path *path,
		       struct wort_put *put)
{
	int err = wort_rec_reserve(op, &put->key, &put->value);
	u64 off;

	if (err)
		return err;
	off = wort_rec_create(op, &put->key, &put->value);
	wort_pm_publish(op, path->slot, off | WORT_MEDIA_LINK_LEAF);
	return 0;
}

static void node_write(struct wort_op *op,
		       struct wort_media_wort_node __pmem *node, u64 hdr,
		       u32 slot_a, u64 link_a, u32 slot_b, u64 link_b)
{
	wort_pm_store(op, &node->hdr, hdr);
	wort_pm_zero(op, node->slot, sizeof(node->slot));
	wort_pm_store(op, &node->slot[slot_a], link_a);
	wort_pm_store(op, &node->slot[slot_b], link_b);
	wort_pm_flush(op, node, sizeof(*node));
}

/* The slot of a record at a place within or at the end of its key. */
static u32 slot_of_rec(const struct wort_rec *rec, u32 place)
{
	if (place == wort_key_digits(rec->key_len))
		return 0;
	return 1 + wort_rec_digit(rec, place);
}

/*
 * Put a node between the slot and what it refers to, with the new leaf as the
 * second entry.  The key and @rec, which is below, differ first at @place.
 */
static int insert_node(struct wort_op *op, struct wrt_path *path,
		       struct wort_put *put, const struct wort_rec *rec,
		       u32 place)
{
	struct wrt_node child = { };
	u64 hdr, child_hdr = 0, leaf, off;
	u32 slot;
	int err = 0;

	if (!link_is_leaf(path->link))
		err = node_open(op, path->link, place + 1, &child);
	if (!err && child.media)
		err = hdr_from_rec(op, rec, place + 1, child.place, &child_hdr);
	if (!err)
		err = wort_rec_reserve(op, &put->key, &put->value);
	if (!err)
		err = wort_alloc_reserve(op, sizeof(*child.media));
	if (err)
		return err;
	hdr = hdr_from_key(&put->key, path->start, place);
	slot = slot_of_rec(rec, place);
	leaf = wort_rec_create(op, &put->key, &put->value);
	off = wort_alloc_take(op);
	node_write(op, wort_region_at(op->region, off), hdr,
		   slot, path->link,
		   slot_for(put->key.data, put->key.len, place),
		   leaf | WORT_MEDIA_LINK_LEAF);
	if (child.media)
		wort_pm_publish_pair(op, path->slot, off | WORT_MEDIA_LINK_NODE,
				     &child.media->hdr, child_hdr);
	else
		wort_pm_publish(op, path->slot, off | WORT_MEDIA_LINK_NODE);
	trace_wort_split(op->region->dev, off, place, !child.media);
	return 0;
}

/*
 * The digits that the header of the last such node had no room for are kept in
 * DRAM: tree->hint is its offset and the first 8 bytes of the keys below.  The
 * root of a tree of integers is often one.  A node keeps its digits while it
 * lives; when it is given back, so is the hint.
 */
static bool hint_matches(struct wort_tree *tree, const struct wrt_node *node,
			 const struct wort_key *key)
{
	return tree->hint[0] == node->off && node->place <= 16 &&
	       key->len >= 8 && node->place &&
	       !((key_word(key, 0) ^ tree->hint[1]) >> (64 - 4 * node->place));
}

static int hint_keep(struct wort_op *op, struct wort_tree *tree,
		     const struct wrt_node *node, const struct wort_rec *rec)
{
	u8 first[8];
	int err;

	if (node->place > 16 || rec->key_len < sizeof(first))
		return 0;
	err = wort_rec_key(op, rec, first, 0, sizeof(first));
	tree->hint[0] = err ? 0 : node->off;
	tree->hint[1] = key_word(&(struct wort_key){ first, sizeof(first) }, 0);
	return err;
}

static void hint_drop(struct wort_tree *tree, const struct wrt_node *node)
{
	if (tree->hint[0] == node->off)
		tree->hint[0] = 0;
}

/*
 * The key parts after @place digits from all that is below a node further up,
 * in a prefix longer than a header holds.
 */
static int insert_above(struct wort_op *op, struct wort_tree *tree,
			struct wrt_path *path, struct wort_put *put,
			const struct wort_rec *rec, u32 place)
{
	int err = wrt_descend(op, tree, &put->key, place, path);

	if (err)
		return err;
	if (!path->link || link_is_leaf(path->link) || place < path->start)
		return wort_corrupt(op, rec->off, "leaf in a wrong place");
	return insert_node(op, path, put, rec, place);
}

/*
 * The descent has ended at an empty slot.  If it skipped digits, any record
 * below the last node where it did has them.
 */
static int insert_in_slot(struct wort_op *op, struct wort_tree *tree,
			  struct wrt_path *path, struct wort_put *put)
{
	struct wort_rec rec;
	u32 place;
	int err;

	if (!path->unsure.media ||
	    hint_matches(tree, &path->unsure, &put->key))
		return insert_leaf(op, path, put);
	err = any_rec(op, path->unsure.off | WORT_MEDIA_LINK_NODE,
		      path->unsure.start, &rec);
	if (err)
		return err;
	place = wort_rec_common(op, &rec, &put->key);
	if (place < path->unsure.place)
		return insert_above(op, tree, path, put, &rec, place);
	err = hint_keep(op, tree, &path->unsure, &rec);
	return err ? err : insert_leaf(op, path, put);
}

static int replace_rec(struct wort_op *op, struct wrt_path *path,
		       struct wort_put *put, const struct wort_rec *rec)
{
	u64 off;
	int err;

	err = wort_rec_expect(op, rec, put->create ? NULL : put->expect,
			      put->old);
	if (!err && put->create)
		err = -EEXIST;
	if (err)
		return err;
	put->replaced = true;
	if (wort_rec_updatable(rec, &put->value)) {
		wort_rec_update(op, rec, &put->value);
		return 0;
	}
	err = wort_rec_reserve(op, &put->key, &put->value);
	if (err)
		return err;
	off = wort_rec_create(op, &put->key, &put->value);
	wort_pm_publish(op, path->slot, off | WORT_MEDIA_LINK_LEAF);
	return wort_rec_free(op, rec);
}

static int wrt_put(struct wort_op *op, struct wort_tree *tree,
		   struct wort_put *put)
{
	bool must_exist = put->replace || put->expect;
	struct wrt_path path;
	struct wort_rec rec;
	u32 place;
	int err;

	put->replaced = false;
	err = wrt_descend(op, tree, &put->key, wort_key_digits(put->key.len),
			  &path);
	if (err)
		return err;
	if (!path.link)
		return must_exist ? -ENOENT :
				    insert_in_slot(op, tree, &path, put);
	err = any_rec(op, path.link, path.start, &rec);
	if (err)
		return err;
	if (link_is_leaf(path.link) && wort_rec_is(op, &rec, &put->key))
		return replace_rec(op, &path, put, &rec);
	if (must_exist)
		return -ENOENT;
	place = wort_rec_common(op, &rec, &put->key);
	if (place >= path.start)
		return insert_node(op, &path, put, &rec, place);
	return insert_above(op, tree, &path, put, &rec, place);
}

/*
 * Count the entries of a node but for @slot, up to two; the last one counted
 * is told.
 */
static int other_entries(struct wort_op *op, const struct wrt_node *node,
			 const __le64 __pmem *slot, u32 *nr, u64 *link)
{
	u32 i, found;
	u64 entry;
	int err;

	*nr = 0;
	for (i = 0; *nr < 2; i = found + 1) {
		err = slot_scan(op, node, i, false, &found, &entry);
		if (err || found == WRT_SLOTS)
			return err;
		if (&node->media->slot[found] == slot)
			continue;
		*link = entry;
		++*nr;
	}
	return 0;
}

/* Two entries were left in the node: @link, the other one, moves up. */
static int merge(struct wort_op *op, struct wrt_path *path, u64 link)
{
	struct wrt_node child;
	struct wort_rec rec;
	u64 hdr;
	int err;

	if (link_is_leaf(link)) {
		wort_pm_publish(op, path->node_slot, link);
		return 0;
	}
	err = node_open(op, link, path->start, &child);
	if (!err)
		err = any_rec(op, link, path->start, &rec);
	if (!err)
		err = hdr_from_rec(op, &rec, path->node_start, child.place,
				   &hdr);
	if (!err)
		wort_pm_publish_pair(op, path->node_slot, link,
				     &child.media->hdr, hdr);
	return err;
}

static int wrt_unlink(struct wort_op *op, struct wort_tree *tree,
		      struct wrt_path *path)
{
	struct wrt_node node;
	u64 link = 0;
	u32 nr;
	int err;

	if (!path->node_slot) {
		wort_pm_publish(op, path->slot, 0);
		return 0;
	}
	err = node_open(op, wort_pm_load(path->node_slot), path->node_start,
			&node);
	if (!err)
		err = other_entries(op, &node, path->slot, &nr, &link);
	if (err)
		return err;
	if (!nr)
		return wort_corrupt(op, node.off, "node with one entry");
	if (nr > 1) {
		wort_pm_publish(op, path->slot, 0);
		return 0;
	}
	err = merge(op, path, link);
	if (err)
		return err;
	trace_wort_merge(op->region->dev, node.off, node.place,
			 link_is_leaf(link));
	hint_drop(tree, &node);
	return wort_alloc_free(op, node.off, sizeof(*node.media));
}

static int wrt_remove(struct wort_op *op, struct wort_tree *tree,
		      const struct wort_key *key,
		      const struct wort_value *expect, struct wort_buf *old)
{
	struct wrt_path path;
	struct wort_rec rec;
	int err;

	err = wrt_descend(op, tree, key, wort_key_digits(key->len), &path);
	if (err)
		return err;
	if (!link_is_leaf(path.link))
		return -ENOENT;
	err = wort_rec_open(op, link_off(path.link), &rec);
	if (err)
		return err;
	if (!wort_rec_is(op, &rec, key))
		return -ENOENT;
	err = wort_rec_expect(op, &rec, expect, old);
	if (!err)
		err = wrt_unlink(op, tree, &path);
	return err ? err : wort_rec_free(op, &rec);
}

/*
 * Cursors.
 *
 * A cursor keeps the nodes on the path to its leaf.  Moving on looks at the
 * last of them for a further entry, goes up while there is none, then down
 * along the edge: each link of the tree is taken once in a full scan, and a
 * tree in which every node has two entries has fewer than two links a leaf.
 */
struct wrt_level {
	u64 off;
	u16 place;
	u16 start;
	u8 slot;
};

struct wrt_cursor {
	struct wort_rec rec;
	u32 nr;			/* levels on the path */
	u32 fresh;		/* the first that the last move entered */
	struct wrt_level level[WRT_PLACE_MAX + 1];
};

static struct wrt_cursor *wrt_cursor(struct wort_cursor *cur)
{
	return (struct wrt_cursor *)cur->engine;
}

static void level_push(struct wrt_cursor *wc, const struct wrt_node *node,
		       u32 slot)
{
	struct wrt_level *level = &wc->level[wc->nr++];

	level->off = node->off;
	level->place = node->place;
	level->start = node->start;
	level->slot = slot;
}

/* A node that the cursor entered before: not counted again. */
static void level_node(struct wort_op *op, const struct wrt_level *level,
		       struct wrt_node *node)
{
	node->off = level->off;
	node->media = wort_region_at(op->region, level->off);
	node->place = level->place;
	node->start = level->start;
}

/*
 * Go down from a link: by the key where it has an entry, otherwise along the
 * edge that comes first in the direction of the cursor.
 */
static int cursor_down(struct wort_cursor *cur, u64 link, u32 start,
		       const struct wort_key *key)
{
	struct wrt_cursor *wc = wrt_cursor(cur);
	int edge = cur->reverse ? WRT_SLOTS - 1 : 0;
	struct wrt_node node;
	u32 slot;
	int err;

	while (!link_is_leaf(link)) {
		err = node_open(cur->op, link, start, &node);
		if (err)
			return err;
		link = 0;
		if (key && node.place <= wort_key_digits(key->len)) {
			slot = slot_for(key->data, key->len, node.place);
			err = slot_load(cur->op, &node, slot, &link);
		}
		if (!err && !link)
			err = slot_scan(cur->op, &node, edge, cur->reverse,
					&slot, &link);
		if (err)
			return err;
		if (slot == WRT_SLOTS)
			return wort_corrupt(cur->op, node.off,
					    "node without entries");
		level_push(wc, &node, slot);
		start = node.place + 1;
	}
	return wort_rec_open(cur->op, link_off(link), &wc->rec);
}

/* From the last level on to the next entry in the direction of the cursor. */
static int cursor_step(struct wort_cursor *cur)
{
	struct wrt_cursor *wc = wrt_cursor(cur);
	struct wrt_level *level;
	struct wrt_node node;
	u32 slot;
	u64 link;
	int err;

	for (; wc->nr; wc->nr--) {
		level = &wc->level[wc->nr - 1];
		level_node(cur->op, level, &node);
		err = slot_scan(cur->op, &node,
				level->slot + (cur->reverse ? -1 : 1),
				cur->reverse, &slot, &link);
		if (err)
			return err;
		if (slot == WRT_SLOTS)
			continue;
		level->slot = slot;
		wc->fresh = wc->nr;
		return cursor_down(cur, link, level->place + 1, NULL);
	}
	return -ENOENT;
}

/*
 * Take over the key of the leaf that was reached, if its digits are those of
 * the levels from @first on.
 */
static int cursor_accept(struct wort_cursor *cur, u32 first)
{
	struct wrt_cursor *wc = wrt_cursor(cur);
	u32 digits = wort_key_digits(wc->rec.key_len), i;
	int err;

	err = wort_rec_key(cur->op, &wc->rec, cur->key, 0, wc->rec.key_len);
	if (err)
		return err;
	for (i = first; i < wc->nr; i++)
		if (wc->level[i].place > digits ||
		    slot_for(cur->key, wc->rec.key_len, wc->level[i].place) !=
		    wc->level[i].slot)
			return wort_corrupt(cur->op, wc->rec.off,
					    "leaf in a wrong place");
	cur->key_len = wc->rec.key_len;
	cur->value_len = wc->rec.value_len;
	return 0;
}

/*
 * The descent by @key has ended at a leaf that shares only @common digits with
 * it.  Everything below the first level beyond @common compares with the key
 * as the leaf does.  Move to the nearest leaf on the right side of the key.
 */
static int cursor_approach(struct wort_cursor *cur, const struct wort_key *key,
			   u32 common)
{
	struct wrt_cursor *wc = wrt_cursor(cur);
	struct wrt_level *level = NULL;
	struct wrt_node node;
	u32 leaf_slot = slot_of_rec(&wc->rec, common);
	u32 key_slot = slot_for(key->data, key->len, common);
	bool above;
	u64 link;
	int err = 0;

	while (wc->nr && wc->level[wc->nr - 1].place > common)
		wc->nr--;
	if (wc->nr)
		level = &wc->level[wc->nr - 1];
	if (level && level->place == common) {
		level->slot = key_slot;
		return cursor_step(cur);
	}
	above = leaf_slot > key_slot;
	if (above == cur->reverse)
		return cursor_step(cur);
	link = wort_pm_load(&cur->tree->root[0]);
	if (level) {
		level_node(cur->op, level, &node);
		err = slot_load(cur->op, &node, level->slot, &link);
	}
	if (err)
		return err;
	return cursor_down(cur, link, level ? level->place + 1 : 0, NULL);
}

static bool beyond(struct wort_cursor *cur, const struct wort_key *key)
{
	int cmp = memcmp(cur->key, key->data, min(cur->key_len, key->len));

	if (!cmp)
		cmp = (int)cur->key_len - (int)key->len;
	return cur->reverse ? cmp <= 0 : cmp >= 0;
}

static int wrt_seek(struct wort_cursor *cur, const struct wort_key *key)
{
	struct wrt_cursor *wc = wrt_cursor(cur);
	u64 link;
	int err = root_load(cur->op, cur->tree, &link);

	wc->nr = 0;
	if (!link)
		return err ?: -ENOENT;
	err = cursor_down(cur, link, 0, key);
	if (!err && key && !wort_rec_is(cur->op, &wc->rec, key))
		err = cursor_approach(cur, key, wort_rec_common(cur->op,
								&wc->rec, key));
	if (!err)
		err = cursor_accept(cur, 0);
	if (err)
		return err;
	wc->fresh = 0;
	if (key && !beyond(cur, key))
		return wort_corrupt(cur->op, wc->rec.off, "keys out of order");
	return 0;
}

static int wrt_next(struct wort_cursor *cur)
{
	struct wrt_cursor *wc = wrt_cursor(cur);
	struct wort_key last = { cur->key, cur->key_len };
	u32 common;
	int err = cursor_step(cur);

	if (err)
		return err;
	/*
	 * Neighbours part at the place where the cursor went from one to the
	 * other, and nowhere before: with the digit there this is their order.
	 */
	common = wort_rec_common(cur->op, &wc->rec, &last);
	if (common != wc->level[wc->fresh - 1].place)
		return wort_corrupt(cur->op, wc->rec.off, "keys out of order");
	return cursor_accept(cur, wc->fresh - 1);
}

static int wrt_value(struct wort_cursor *cur, struct wort_buf *buf)
{
	return wort_rec_value(cur->op, &wrt_cursor(cur)->rec, buf);
}

static int wrt_owned(struct wort_cursor *cur, struct wort_visitor *visitor)
{
	struct wrt_cursor *wc = wrt_cursor(cur);
	u32 i;
	int err;

	for (i = wc->fresh; i < wc->nr; i++) {
		err = visitor->visit(visitor, cur->op, wc->level[i].off,
				     sizeof(struct wort_media_wort_node), false);
		if (err)
			return err;
	}
	return wort_rec_visit(cur->op, &wc->rec, visitor);
}

/* Examine a node that the cursor has just entered. */
static int check_node(struct wort_cursor *cur, const struct wrt_level *level,
		      struct wort_tree_check *check)
{
	struct wrt_cursor *wc = wrt_cursor(cur);
	struct wrt_node node;
	u64 hdr, link;
	u32 nr;
	int err;

	level_node(cur->op, level, &node);
	check->nr_nodes++;
	err = other_entries(cur->op, &node, NULL, &nr, &link);
	if (!err && nr < 2)
		err = wort_corrupt(cur->op, node.off, "node with %u entries",
				   nr);
	if (!err)
		err = hdr_from_rec(cur->op, &wc->rec, node.start, node.place,
				   &hdr);
	if (err)
		return err;
	node.hdr = wort_pm_load(&node.media->hdr);
	if (node.hdr == hdr)
		return 0;
	if (hdr_depth(node.hdr) == node.start)
		return wort_corrupt(cur->op, node.off, "wrong prefix");
	if (!check->repair) {
		check->nr_transient++;
		return 0;
	}
	wort_pm_publish_later(cur->op, &node.media->hdr, hdr);
	trace_wort_repair(cur->op->region->dev, node.off, node.hdr, hdr);
	return 0;
}

static int wrt_check(struct wort_cursor *cur, struct wort_tree_check *check)
{
	struct wrt_cursor *wc = wrt_cursor(cur);
	u32 i;
	int err;

	for (err = wrt_seek(cur, NULL); !err; err = wrt_next(cur)) {
		check->nr_leaves++;
		for (i = wc->fresh; i < wc->nr && !err; i++)
			err = check_node(cur, &wc->level[i], check);
		if (!err && check->visitor)
			err = wrt_owned(cur, check->visitor);
		if (err)
			break;
	}
	if (check->repair)
		wort_pm_fence(cur->op);
	return err == -ENOENT ? 0 : err;
}

const struct wort_engine wort_engine_wort = {
	.name = "wort",
	.id = WORT_MEDIA_ENGINE_WORT,
	.traits = WORT_ENGINE_INSTANT_OPEN | WORT_ENGINE_MAPPABLE,
	.cursor_size = sizeof(struct wrt_cursor),
	.create = wrt_create,
	.lookup = wrt_lookup,
	.put = wrt_put,
	.remove = wrt_remove,
	.seek = wrt_seek,
	.next = wrt_next,
	.value = wrt_value,
	.owned = wrt_owned,
	.check = wrt_check,
};
