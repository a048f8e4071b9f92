// SPDX-License-Identifier: GPL-2.0-only
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
 *	slot	a word that holds a link: 0, a leaf or a node
 *	level	a node on the path of a cursor, and the slot taken there
 *
 * A node is 16 slots, 128 bytes, two lines; a descent touches one of them:
 *
 *	+-----+-----+-----+-----+-- - - --+-----+
 *	|  0  |  1  |  2  |  3  |         |  f  |
 *	+-----+-----+-----+-----+-- - - --+-----+
 *	   |
 *	   +-- place:12, offset:49, tag:3
 *
 * The root record's first word is the slot of the whole tree.  A node has at
 * least two entries.  On every path the place strictly grows, so no descent
 * takes more than 2053 steps whatever is on media.
 *
 * What the nodes skip, from start to place, nobody compares on the way down:
 * the whole key in a leaf decides.  Whoever finds an empty slot on a path that
 * skipped digits looks into any leaf below before he puts something there.
 *
 * The paper keeps a header in each node, {depth, prefix length, prefix}.  Its
 * splits and merges change the link to a node and the header of the node, and
 * its Algorithm 2 mends the header where a power cut came between.  With the
 * place in the link, each change of the tree is one word:
 *
 * insert, replace	slot := link to a leaf that is durable
 * update in place	the value word in the leaf := another value
 * leaf split		slot := link to a node that is durable and holds the
 *			old leaf and the new one
 * prefix split		slot := link to a node that is durable and holds the
 *			link that was in the slot, and a leaf.  Needed where a
 *			key parts from what is below within the digits skipped
 *			(section 3.4, Algorithm 1)
 * delete		with three or more entries: slot := 0
 *			with two (merge): slot that refers to the node := the
 *			link of the other entry
 *
 * Of each the crash states are old, not done, when what was prepared is owned
 * by nobody; and new, done.  There is no third, and nothing to repair.
 *
 * Beside each other:
 *
 * A descent takes no lock.  What it meets was in the tree at some time since it
 * began, and is not used again while it lasts.  A node keeps its place and the
 * digits that lead to it as long as it lives; one that was taken out of the
 * tree keeps its slots, too.  So whatever is found below a node has the node's
 * digits, however stale the way there.
 *
 * A change locks the node of the slot; a merge the node above, too; what
 * takes a record away or updates it the record.  path_lock() then makes sure of
 * what the descent has seen.
 *
 * A cursor comes by every key that is there from its first move to its last,
 * once and in order.
 */
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/string.h>

#include <trace/events/wort.h>

#include "../core/alloc.h"
#include "../core/pmem.h"
#include "engine.h"
#include "rec.h"
#include "skips.h"
#include "top.h"

#define WRT_SLOTS	WORT_MEDIA_WORT_SLOTS
#define WRT_LOOK_ON	24	/* entries ahead of a cursor: more than are loaded at once */
#define WRT_LINES	(WRT_SLOTS * sizeof(__le64) / WORT_LINE)
#define WRT_MADE_STEP	4096
#define WRT_WORD_LEAF	(sizeof(struct wort_media_leaf) + sizeof(u64))

/* A node, and the link to it, which has been verified. */
struct wrt_node {
	struct wort_media_wort_node __pmem *media;
	u64 link;
	u32 place;
};

/* How far a descent came. */
struct wrt_path {
	__le64 __pmem *slot;		/* where it ended */
	u64 link;			/* what is there */
	u32 start;			/* digits consumed on the path to it */
	__le64 __pmem *node_slot;	/* refers to the node that holds it, if wanted */
	u64 node;			/* link to that node, 0: the root record */
	u64 skip;			/* to the last whose skipped digits may differ */
	u32 nr_skips;			/* how many there are */
};

static bool link_is_leaf(u64 link)
{
	return (link & WORT_MEDIA_LINK_TAG_MASK) == WORT_MEDIA_LINK_LEAF;
}

/* Of a difference a processor has all bits of the tag tested at once. */
static bool link_is_node(u64 link)
{
	return !((link - WORT_MEDIA_LINK_NODE) & WORT_MEDIA_LINK_TAG_MASK);
}

/* A leaf has no place, so the bits of one put it outside the pool. */
static u64 leaf_off(u64 link)
{
	return link & ~WORT_MEDIA_LINK_TAG_MASK;
}

static u64 node_off(u64 link)
{
	return link & WORT_MEDIA_LINK_OFF_MASK;
}

static u32 node_place(u64 link)
{
	return link >> WORT_MEDIA_LINK_PLACE_SHIFT;
}

/*
 * The offset of the node that holds a slot, which is its name for locks.  Nodes lie at
 * multiples of their size.  A root record is locked by its catalogue entry, which this
 * gives, too.
 */
static __always_inline u64 slot_node(u64 slot)
{
	return round_down(slot, sizeof(struct wort_media_wort_node));
}

static u64 link_to_node(u64 off, u32 place)
{
	return (u64)place << WORT_MEDIA_LINK_PLACE_SHIFT | off |
	       WORT_MEDIA_LINK_NODE;
}

/* A digit; @word has the first ones of the key. */
static __always_inline u32 key_digit(const struct wort_key *key, u64 word,
				     u32 place)
{
	if (likely(place < WORT_KEY_WORD_DIGITS))
		return wort_word_digit(word, place);
	return wort_key_digit(key->data, key->len, place);
}

/* Reports are kept out of the way of descents. */
static noinline int report_link(struct wort_op *op, u64 link)
{
	return wort_corrupt(op, leaf_off(link),
			    "link %#llx is to no node or leaf",
			    (unsigned long long)link);
}

static noinline int report_node(struct wort_op *op, u64 link, u32 start,
				int err)
{
	if (err == -EUCLEAN)
		return wort_corrupt(op, node_off(link),
				    "node outside the pool");
	return err ?: wort_corrupt(op, node_off(link),
				   "place %u is before %u or beyond all keys",
				   node_place(link), start);
}

/* Refuse what is neither empty nor a link to a leaf or a node. */
static int link_verify(struct wort_op *op, u64 link)
{
	return likely(link_is_leaf(link) || !link || link_is_node(link)) ?
	       0 : report_link(op, link);
}

/*
 * Begin to load the first line of what a link refers to, which is not trusted, and the
 * other line of a node; of nothing where pages are bad or may be.  An empty slot is not
 * worth a branch: that is the first line of the pool.
 */
static __always_inline void link_prefetch(void __pmem *base, u64 plain,
					  u64 link)
{
	u64 off = node_off(link);

	if (likely(off < plain)) {
		wort_pm_prefetch(base + off);
		wort_pm_prefetch(base + off +
				 (link & WORT_MEDIA_LINK_NODE) * WORT_LINE);
	}
}

/* The same, of a single one. */
static void object_prefetch(struct wort_op *op, u64 link)
{
	link_prefetch(wort_region_at(op->region, 0),
		      wort_region_plain(op->region), link);
}

/* A node whose link was verified before: not counted again. */
static void node_at(struct wort_op *op, u64 link, struct wrt_node *node)
{
	node->link = link;
	node->place = node_place(link);
	node->media = wort_region_at(op->region, node_off(link));
}

/* The place of a node must be beyond the digits consumed. */
static bool node_place_valid(u64 link, u32 start)
{
	return node_place(link) >= start && node_place(link) < WORT_KEY_DIGITS;
}

/* Verify a link to a node. */
static int node_verify(struct wort_op *op, u64 link, u32 start,
		       struct wrt_node *node)
{
	int err;

	node_at(op, link, node);
	err = wort_region_verify(op->region, node_off(link),
				 sizeof(*node->media));
	if (unlikely(err || !node_place_valid(link, start)))
		return report_node(op, link, start, err);
	return wort_pm_probe(op, node->media, sizeof(*node->media));
}

/* The same, for who has taken the link apart himself. */
static noinline int node_look(struct wort_op *op, u64 link, u32 start)
{
	struct wrt_node node;

	return node_verify(op, link, start, &node);
}

/* The same, for a node that is entered. */
static int node_open(struct wort_op *op, u64 link, u32 start,
		     struct wrt_node *node)
{
	wort_count(op, nodes, 1);
	return node_verify(op, link, start, node);
}

/* An answer rests on all slots of the node: also on empty ones. */
static __always_inline void node_flush_in_flight(struct wort_op *op,
						 const struct wrt_node *node)
{
	u64 off = node_off(node->link);

	wort_pm_flush_in_flight(op, off, off, sizeof(*node->media));
}

/* What is in a slot an answer may rest on. */
static __always_inline u64 slot_load(struct wort_op *op,
				     const struct wrt_node *node, u32 slot)
{
	u64 link = wort_pm_load(&node->media->slot[slot]);
	u64 off = node_off(node->link);

	wort_pm_flush_in_flight(op, off, off + slot * sizeof(link), sizeof(link));
	return link;
}

/*
 * The first entry from @slot on, or the last one down from it; WRT_SLOTS if
 * there is none.
 */
static u32 slot_scan(struct wort_op *op, const struct wrt_node *node, u32 slot,
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
	node_flush_in_flight(op, node);
	return *link ? slot : WRT_SLOTS;
}

/* Some record below a link, for its key: the first one. */
static int any_key(struct wort_op *op, u64 link, u32 start,
		   struct wort_rec *rec)
{
	struct wrt_node node;
	int err;

	while (link_is_node(link)) {
		err = node_open(op, link, start, &node);
		if (err)
			return err;
		if (slot_scan(op, &node, 0, false, &link) == WRT_SLOTS)
			return wort_corrupt(op, node_off(node.link),
					    "node without entries");
		start = node.place + 1;
	}
	return link_verify(op, link) ?: wort_rec_peek(op, leaf_off(link), rec);
}

static void wrt_create(struct wort_op *op, struct wort_tree *tree)
{
	wort_pm_store(op, &tree->root[0], 0);
}

static __always_inline int root_load(struct wort_op *op, struct wort_tree *tree,
				     u64 *link)
{
	int err = wort_pm_probe(op, tree->root, WORT_LINE);
	u64 off = wort_pm_off(op, &tree->root[0]);

	*link = err ? 0 : wort_pm_load(&tree->root[0]);
	wort_pm_flush_in_flight(op, slot_node(off), off, sizeof(*link));
	return err;
}

static __always_inline u64 root_off(const struct wort_tree *tree)
{
	return (void __pmem *)tree->root - wort_region_at(tree->region, 0);
}

static noinline u64 key_digits_far(const struct wort_key *key, u32 place)
{
	u32 nr = place % WORT_KEY_WORD_DIGITS;
	u64 digits = wort_key_word(key, place - WORT_KEY_WORD_DIGITS);

	return nr ? digits << 4 * nr |
		    wort_key_word(key, place) >> (64 - 4 * nr) : digits;
}

/* The digits before a place, at least one, of the first word of a key. */
static __always_inline u64 word_digits(u64 word, u32 place)
{
	return word >> 4 * (WORT_KEY_WORD_DIGITS - place);
}

/* The sixteen digits before a place, at least one, or all with zeroes before. */
static __always_inline u64 key_digits(const struct wort_key *key, u64 word,
				      u32 place)
{
	if (likely(place <= WORT_KEY_WORD_DIGITS))
		return word_digits(word, place);
	return key_digits_far(key, place);
}

/* What is wanted of a descent. */
enum wrt_descent {
	WRT_TO_LINK,		/* what it ends at */
	WRT_TO_SLOT,		/* the slot, too, but perhaps not what refers to its node */
	WRT_TO_PATH,		/* both: from the root */
};

/*
 * Follow the digits of a key at the places.  Ends at an empty slot, at a leaf,
 * or at the first node with a place from @limit on.  @how, a constant, says which
 * path is wanted.  What is not plainly good node_look() looks at, and what the
 * acquires would load anew is kept.
 */
static __always_inline int wrt_descend(struct wort_op *op,
				       struct wort_tree *tree,
				       const struct wort_key *key, u32 limit,
				       enum wrt_descent how,
				       struct wrt_path *path)
{
	const struct wort_top *top;
	u64 word = wort_key_word(key, 0), link = 0, above = 0, skip = 0;
	__le64 __pmem *slot = &tree->root[0], *above_slot = NULL;
	u32 start = 0, nr_nodes = 0, nr_skips = 0, place;
	void __pmem *base = wort_region_at(op->region, 0);
	u64 plain = wort_region_plain(op->region), off;
	const u32 *in_flight = op->in_flight;
	int err = 0;

	if (how != WRT_TO_PATH) {
		top = wort_tree_top(tree);
		link = wort_top_find(top, word);
		start = link ? top->shape.place : 0;
	}
	if (!link)
		err = root_load(op, tree, &link);
	while (!err && link_is_node(link)) {
		place = node_place(link);
		off = node_off(link);
		if (unlikely(off >= plain || place < start ||
			     place >= WORT_KEY_DIGITS))
			err = node_look(op, link, start);
		if (err || place >= limit)
			break;
		if (how != WRT_TO_LINK && place > start &&
		    !wort_skips_match(tree->skips, link,
				      key_digits(key, word, place),
				      place - start)) {
			nr_skips++;
			skip = link;
		}
		above_slot = slot;
		above = link;
		slot = base + off + key_digit(key, word, place) * sizeof(link);
		link = wort_pm_load(slot);
		if (unlikely(wort_pm_in_flight(in_flight, off)))
			wort_pm_flush_read(op, wort_pm_off(op, slot), sizeof(link));
		start = place + 1;
		nr_nodes++;
	}
	wort_count(op, nodes, nr_nodes);
	if (how == WRT_TO_LINK)
		path->link = link;
	else
		*path = (struct wrt_path){
			.slot = slot, .link = link, .start = start,
			.node_slot = above_slot, .node = above,
			.skip = skip, .nr_skips = nr_skips,
		};
	return err ?: link_verify(op, link);
}

static int wrt_lookup(struct wort_op *op, struct wort_tree *tree,
		      const struct wort_key *key, struct wort_buf *buf)
{
	struct wrt_path path __uninitialized;
	int err = wrt_descend(op, tree, key, WORT_KEY_DIGITS, WRT_TO_LINK,
			      &path);

	if (err || !path.link)
		return err ?: -ENOENT;
	return wort_rec_lookup(op, leaf_off(path.link), key, buf);
}

/*
 * A processor runs ahead into the lookups after this one as far as it has registers for
 * what they compute and load: a few too many, and it holds one lookup less.  So a look
 * has no operation, calls nothing where it finds a record, and leaves to wrt_lookup()
 * what needs more.
 *
 * That a record is there rests on three words.  What made it reachable was stored to
 * the slot that refers to it, or to the one before if that refers to a node that was
 * new; and its value to its own word.  Whoever has changed something there since came
 * by them, and made them durable first.  Changes further up leave reachable what was.
 * Nor has a place to be beyond the one before, where the key in the leaf says that the
 * way was right.  That a key is not there rests on all of the trail.
 */
/* Where a look came to. */
struct wrt_trail {
	u64 link;			/* what it ended at */
	u64 off;			/* offset of the slot that holds it */
	u64 nr;				/* slots before, with links to nodes */
};

/* The greatest link to a node with the same place. */
static __always_inline u64 link_place_end(u64 link)
{
	return link | GENMASK_ULL(WORT_MEDIA_LINK_PLACE_SHIFT - 1, 0);
}

/* Links whose places are in one word of a key are between multiples of it. */
#define WRT_LINK_WORD	(WORT_KEY_WORD_DIGITS * BIT_ULL(WORT_MEDIA_LINK_PLACE_SHIFT))

/* The greatest link with a place in the same word of a key. */
static __always_inline u64 link_word_end(u64 link)
{
	return link | (WRT_LINK_WORD - 1);
}

/* As wort_word_digit() of the place: what is plain leaves the two bits below it 0. */
static __always_inline u64 link_digit(u64 link, u64 word)
{
	BUILD_BUG_ON((WORT_PLAIN_MAX - 1) >> (WORT_MEDIA_LINK_PLACE_SHIFT - 2));

	return word << (link >> (WORT_MEDIA_LINK_PLACE_SHIFT - 2) & 63) >> 60;
}

/* Of what ends in the word.  Not inline, for the registers that it takes. */
static noinline u64 key_word_last(const struct wort_key *key, u32 place)
{
	return wort_key_word(key, place);
}

/* As wort_key_word() of the place. */
static __always_inline u64 link_key_word(u64 link, const struct wort_key *key,
					 u32 len)
{
	u64 at = link / WRT_LINK_WORD * sizeof(u64);

	return likely(at + sizeof(u64) <= len) ?
	       wort_bytes_be64(key->data + at) :
	       key_word_last(key, node_place(link));
}

/*
 * Follow the digits of a key, of which @word is the first, in nodes below the offset
 * @plain.  @before: where the slots before the last are, 0 for those that the table of
 * the top spares.  False: it leads out of what is plain, or far.
 */
static __always_inline bool trail_follow(const struct wort_tree *tree,
					 const void __pmem *base, u64 plain,
					 const struct wort_key *key, u32 len, u64 word,
					 u64 *before, struct wrt_trail *trail)
{
	u64 link = wort_top_find(wort_tree_top(tree), word);
	u64 word_end = link_word_end(0), off = 0, nr = 0, node;

	if (!link) {
		off = root_off(tree);
		if (unlikely(off >= plain))
			return false;
		link = wort_pm_load(base + off);
		if (unlikely(!link_is_node(link)))
			goto out;
	}
	do {
		if (unlikely(link > word_end)) {
			word = link_key_word(link, key, len);
			word_end = link_word_end(link);
		}
		node = node_off(link);
		if (unlikely(node >= plain || nr == WORT_LOOK_NODES - 1))
			return false;
		before[nr++] = off;
		off = node + link_digit(link, word) * sizeof(link);
		link = wort_pm_load(base + off);
	} while (link_is_node(link));
out:
	*trail = (struct wrt_trail){ link, off, nr };
	return true;
}

/*
 * Begin to load what is on the way to a key, which is believed by nobody.  A processor
 * runs ahead of a fence, but not far: while it waits for the last one of the operation
 * before it gets to this, not to the descent.
 */
static void wrt_look_ahead(const struct wort_tree *tree,
			   const struct wort_key *key)
{
	u64 plain = wort_region_plain(tree->region);
	void __pmem *base = wort_region_at(tree->region, 0);
	u64 word = wort_key_word(key, 0), link, off;
	u32 steps = WORT_KEY_WORD_DIGITS;

	if (unlikely(!plain))
		return;
	link = wort_top_find(wort_tree_top(tree), word);
	if (!link)
		link = wort_pm_load(&tree->root[0]);
	while (link & WORT_MEDIA_LINK_NODE && steps--) {
		off = node_off(link);
		if (unlikely(off >= plain))
			return;
		link = wort_pm_load(base + off +
				    link_digit(link, word) * sizeof(link));
	}
	link_prefetch(base, plain, link);
}

/* Is nothing on a trail in flight, and does each place follow the one before? */
static noinline bool trail_verify(const struct wort_tree *tree,
				  const u64 *before, u64 nr, u64 off)
{
	void __pmem *base = wort_region_at(tree->region, 0);
	u64 link, slot, above = 0, i;

	for (i = 0; i < nr; i++) {
		slot = before[i] ?: root_off(tree);
		link = wort_pm_load(base + slot);
		if (link <= above ||
		    wort_pm_in_flight(tree->in_flight, slot_node(slot)))
			return false;
		above = link_place_end(link);
	}
	return node_place(above) < WORT_KEY_DIGITS &&
	       !wort_pm_in_flight(tree->in_flight, slot_node(off));
}

/*
 * Are the three words durable that the leaf at the end of a trail rests on?  For a slot
 * that the table of the top spares, at 0, the mark of the superblock is looked at, which
 * is cheaper than to ask, and at worst an operation looks again.
 */
static __always_inline bool trail_durable(const u32 *in_flight, const u64 *before,
					  const struct wrt_trail *trail, u64 leaf)
{
	u64 above = trail->nr ? before[trail->nr - 1] : trail->off;

	return !wort_pm_in_flight(in_flight, leaf) &&
	       !wort_pm_in_flight(in_flight, slot_node(trail->off)) &&
	       !wort_pm_in_flight(in_flight, slot_node(above));
}

/*
 * What is read once is kept in variables: a compiler loads it again behind each load from
 * media.  @len: of the key, for a compiler that may know it.
 */
static __always_inline int look(const struct wort_tree *tree,
				const struct wort_key *key, const u32 len,
				struct wort_buf *buf,
				struct wort_index_stats __percpu *stats)
{
	u64 plain = wort_region_plain(tree->region), leaf, word;
	const void __pmem *base = wort_region_at(tree->region, 0);
	struct wrt_trail trail __uninitialized;
	u64 before[WORT_LOOK_NODES] __uninitialized;
	const u32 *in_flight = tree->in_flight;
	int lines;

	word = link_key_word(0, key, len);
	if (unlikely(!trail_follow(tree, base, plain, key, len, word, before,
				   &trail)))
		return -EAGAIN;
	leaf = trail.link - WORT_MEDIA_LINK_LEAF;
	if (unlikely(leaf % sizeof(u64) || leaf >= plain)) {
		lines = trail.link ? -EAGAIN : 0;
	} else {
		lines = wort_rec_look(base + leaf, key, len, word, buf);
		if (likely(lines >= 0)) {
			if (!trail_durable(in_flight, before, &trail, leaf))
				return -EAGAIN;
			wort_look_found(stats, trail.nr, lines);
			return 0;
		}
		lines = lines == -ENOENT ? 0 :
			wort_rec_look_other(tree->region, leaf, key);
	}
	if (lines < 0 || !trail_verify(tree, before, trail.nr, trail.off))
		return -EAGAIN;
	wort_look_missed(stats, trail.nr, !!trail.link, lines);
	return -ENOENT;
}

static int wrt_look(const struct wort_tree *tree, const struct wort_key *key,
		    struct wort_buf *buf, struct wort_index_stats __percpu *stats)
{
	if (likely(key->len == sizeof(u64)))
		return look(tree, key, sizeof(u64), buf, stats);
	return wort_key_valid(key) ? look(tree, key, key->len, buf, stats) : -EAGAIN;
}

/*
 * Changes.  One is prepared: all that it needs is written and flushed.  After a
 * fence it is launched: what it needs is locked, the path is looked at again,
 * and one word is stored.  When that is durable what it took away is given back.
 *
 * While a processor waits for the fence of one it goes on with the next, as far as
 * it can hold the stores of both.  Registers that functions save are many of
 * them: so what inserts go through is inline, and what they seldom need is not.
 */
enum wrt_kind {
	WRT_LEAF,		/* slot := a new leaf; it was empty */
	WRT_NODE,		/* slot := a new node, with a new leaf below */
	WRT_REPLACE,		/* slot := a new leaf in place of a record */
	WRT_UPDATE,		/* value word of a record := another value */
	WRT_REMOVE,		/* of a record, and of a node that it leaves */
};

struct wrt_change {
	enum wrt_kind kind;
	bool exact;		/* an update that rests on the value before it */
	bool merged;		/* the node of the slot has gone, too */
	struct wort_top *top;	/* leads to what the word refers to; or NULL */
	u64 val;		/* what the word becomes */
	__le64 __pmem *word;	/* the word, once it is stored */
	struct wort_lock *lock;	/* that of its node */
	struct wrt_path path;	/* to the slot */
	struct wort_rec rec;	/* where the descent has ended, or beside that */
	struct wort_key key;
};

/*
 * One member after the other: what has just been stored in parts a processor does
 * not forward to a load of the whole, and the fence before is not over yet.
 */
static __always_inline void key_keep(struct wrt_change *c,
				     const struct wort_key *key)
{
	c->key.data = key->data;
	c->key.len = key->len;
}

static __always_inline void
node_write(struct wort_op *op, struct wort_media_wort_node __pmem *node,
	   u32 slot_a, u64 link_a, u32 slot_b, u64 link_b)
{
	wort_pm_zero(op, node->slot, sizeof(node->slot));
	wort_pm_store(op, &node->slot[slot_a], link_a);
	wort_pm_store(op, &node->slot[slot_b], link_b);
	wort_pm_flush(op, node, sizeof(*node));
}

static int node_reserve(struct wort_op *op)
{
	return wort_alloc_reserve(op, sizeof(struct wort_media_wort_node));
}

/* A new leaf on its way to the media. */
static __always_inline void change_to_leaf(struct wort_op *op,
					   struct wrt_change *c,
					   const struct wort_value *value,
					   enum wrt_kind kind)
{
	c->kind = kind;
	c->val = wort_rec_create(op, &c->key, value) | WORT_MEDIA_LINK_LEAF;
}

/*
 * A node between the slot and what it refers to, with the new leaf as the second
 * entry.  The key and the record, which is below, differ first at @place.
 */
static __always_inline void change_to_node(struct wort_op *op,
					   struct wrt_change *c, u32 place)
{
	u64 off = wort_alloc_take(op), leaf = c->val;

	c->kind = WRT_NODE;
	c->val = link_to_node(off, place);
	node_write(op, wort_region_at(op->region, off),
		   wort_rec_digit(&c->rec, place), c->path.link,
		   wort_key_digit(c->key.data, c->key.len, place), leaf);
}

/*
 * Go back to where a node at @place belongs: the key parts there from all that
 * is below a node further up, within what that node skipped.
 */
static noinline int path_cut(struct wort_op *op, struct wort_tree *tree,
			     struct wrt_change *c, u32 place)
{
	struct wrt_path *path = &c->path;
	int err = wrt_descend(op, tree, &c->key, place, WRT_TO_PATH, path);

	if (!err && (!link_is_node(path->link) ||
		     node_place(path->link) == place))
		err = wort_corrupt(op, c->rec.off, "leaf in a wrong place");
	return err;
}

/* The descent has ended at a leaf, which is of another key. */
static __always_inline int prepare_beside(struct wort_op *op,
					  struct wort_tree *tree,
					  struct wrt_change *c,
					  const struct wort_value *value,
					  u32 place)
{
	int err = 0;

	if (place < c->path.start)
		err = path_cut(op, tree, c, place);
	if (!err)
		err = wort_rec_reserve(op, &c->key, value);
	if (!err)
		err = node_reserve(op);
	if (err)
		return err;
	change_to_leaf(op, c, value, WRT_LEAF);
	change_to_node(op, c, place);
	return 0;
}

/* An entry of the node that holds an empty slot, if it can be from its line. */
static u64 neighbour(struct wort_op *op, const struct wrt_path *path)
{
	struct wrt_node node;
	u32 first;
	u64 link;

	node_at(op, path->node, &node);
	first = round_down(path->slot - node.media->slot,
			   WORT_LINE / sizeof(__le64));
	if (slot_scan(op, &node, first, false, &link) == WRT_SLOTS)
		slot_scan(op, &node, first, true, &link);
	return link;
}

/* The leaf is written; @link is to a neighbour of the slot that it is for. */
static noinline int prepare_unsure(struct wort_op *op, struct wort_tree *tree,
				   struct wrt_change *c, u64 link)
{
	u32 place;
	int err;

	if (!link)
		return wort_corrupt(op, node_off(c->path.node),
				    "node without entries");
	err = any_key(op, link, c->path.start, &c->rec);
	if (err)
		return err;
	place = wort_rec_common(op, &c->rec, &c->key);
	if (place == c->path.start - 1)
		return 0;
	if (place >= c->path.start)
		return wort_corrupt(op, c->rec.off, "leaf in a wrong place");
	err = path_cut(op, tree, c, place) ?: node_reserve(op);
	if (!err)
		change_to_node(op, c, place);
	return err;
}

/*
 * The descent has ended at an empty slot.  If it skipped digits, any record
 * beside it has them.  One is looked at when the new record is on its way to the
 * media already: the two delays are one then.
 */
static __always_inline int prepare_in_slot(struct wort_op *op,
					   struct wort_tree *tree,
					   struct wrt_change *c,
					   const struct wort_value *value)
{
	bool unsure = c->path.nr_skips;
	u64 link = unsure ? neighbour(op, &c->path) : 0;
	int err = wort_rec_reserve(op, &c->key, value);

	if (err)
		return err;
	if (unsure)
		object_prefetch(op, link);
	change_to_leaf(op, c, value, WRT_LEAF);
	if (unsure)
		err = prepare_unsure(op, tree, c, link);
	if (err)
		wort_alloc_untake(op);
	return err;
}

static bool put_must_find(const struct wort_put *put)
{
	return put->replace || put->expect;
}

static noinline int prepare_replace(struct wort_op *op, struct wrt_change *c,
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
		c->kind = WRT_UPDATE;
		c->exact = put->expect || put->old;
		c->val = wort_value_word(&put->value);
		return 0;
	}
	err = wort_rec_reserve(op, &c->key, &put->value);
	if (!err)
		change_to_leaf(op, c, &put->value, WRT_REPLACE);
	return err;
}

/* The path is known. */
static __always_inline int prepare_put(struct wort_op *op,
				       struct wort_tree *tree,
				       struct wort_put *put,
				       struct wrt_change *c)
{
	u32 place;
	int err;

	key_keep(c, &put->key);
	if (!c->path.link)
		return put_must_find(put) ? -ENOENT :
		       prepare_in_slot(op, tree, c, &put->value);
	err = wort_rec_peek(op, leaf_off(c->path.link), &c->rec);
	if (err)
		return err;
	place = wort_rec_common(op, &c->rec, &put->key);
	if (place == WORT_KEY_DIGITS)
		return prepare_replace(op, c, put);
	if (put_must_find(put))
		return -ENOENT;
	return prepare_beside(op, tree, c, &put->value, place);
}

static int prepare_remove(struct wort_op *op, struct wort_tree *tree,
			  const struct wort_key *key,
			  const struct wort_value *expect,
			  struct wort_buf *old, struct wrt_change *c)
{
	int err;

	c->kind = WRT_REMOVE;
	key_keep(c, key);
	err = wrt_descend(op, tree, key, WORT_KEY_DIGITS, WRT_TO_PATH,
			  &c->path);
	if (err || !c->path.link)
		return err ?: -ENOENT;
	err = wort_rec_open(op, leaf_off(c->path.link), &c->rec);
	if (err)
		return err;
	if (!wort_rec_is(op, &c->rec, key))
		return -ENOENT;
	return wort_rec_expect(op, &c->rec, expect, old);
}

/*
 * Lock the slot where a descent has ended.
 *
 * The path holds then: the slot is what the descent has seen, and its node is in
 * the tree, since none was removed since the operation began.  A link that was
 * replaced cannot be there again: what it refers to is not used again while the
 * operation lasts.
 */
static __always_inline int slot_lock(struct wort_op *op, __le64 __pmem *slot,
				     u64 link)
{
	if (unlikely(!wort_node_lock(op, slot_node(wort_pm_off(op, slot)))))
		return -EAGAIN;
	if (likely(wort_pm_load(slot) == link))
		return 0;
	wort_nodes_unlock(op);
	return -EAGAIN;
}

/*
 * The same, and a record below it; with @merge the word that refers to the node
 * of the slot, too.
 */
static noinline int path_lock(struct wort_op *op, const struct wrt_path *path,
			      const struct wort_rec *rec, bool merge)
{
	u64 nodes[] = {
		slot_node(wort_pm_off(op, path->slot)),
		rec->off,
		merge ? slot_node(wort_pm_off(op, path->node_slot)) : rec->off,
	};

	if (!wort_nodes_lock(op, nodes, ARRAY_SIZE(nodes)))
		return -EAGAIN;
	if (likely(wort_pm_load(path->slot) == path->link &&
		   (!merge || wort_pm_load(path->node_slot) == path->node)))
		return 0;
	wort_nodes_unlock(op);
	return -EAGAIN;
}

/*
 * The same, for a record that is to go.  If its value is in the word that can be
 * updated, it must be what was looked at.
 */
static int rec_lock(struct wort_op *op, const struct wrt_path *path,
		    struct wort_rec *rec, bool merge)
{
	int err = path_lock(op, path, rec, merge);

	if (err || likely(wort_rec_renew(rec)))
		return err;
	wort_nodes_unlock(op);
	return -EAGAIN;
}

/* The key has the digits that a node skips. */
static void skip_learn(struct wort_tree *tree, u64 link,
		       const struct wort_key *key)
{
	wort_skips_learn(tree->skips, link,
			 key_digits(key, wort_key_word(key, 0),
				    node_place(link)));
}

/* @node: offset of the node of the word, which is locked. */
static void change_store(struct wort_op *op, struct wrt_change *c, u64 node,
			 __le64 __pmem *word, u64 val)
{
	c->lock = wort_lock_of(op, node);
	c->word = word;
	wort_pm_launch(op, c->lock, word, val);
}

static void slot_store(struct wort_op *op, struct wrt_change *c,
		       __le64 __pmem *slot, u64 link)
{
	change_store(op, c, slot_node(wort_pm_off(op, slot)), slot, link);
}

static u64 change_digits(const struct wrt_change *c)
{
	return wort_key_word(&c->key, 0);
}

/*
 * What the table of the top leads to is about to be another node: nobody may find the
 * old one once others can find the new one.  The slot has been locked before the table
 * was looked for: another one is not filled in from it until it is unlocked.  Returns
 * the table, for top_enter(), or NULL.
 */
static struct wort_top *top_leave(struct wort_top *top, bool leads, u64 digits)
{
	if (!leads)
		return NULL;
	wort_top_set(top, digits, 0);
	return top;
}

/* A node at @place comes to a slot with @start digits consumed. */
static __always_inline struct wort_top *top_split(struct wort_tree *tree, u32 start,
						  u32 place, u64 digits)
{
	struct wort_top *top = wort_tree_top(tree);
	u32 end = top->shape.place;

	return top_leave(top, start <= end && end <= place, digits);
}

/* A node goes. */
static struct wort_top *top_merge(struct wort_tree *tree, u64 node, u64 digits)
{
	struct wort_top *top = wort_tree_top(tree);

	return top_leave(top, wort_top_find(top, digits) == node, digits);
}

/*
 * The word is durable, and its slot still locked.  If there is another table now, this
 * one is looked at by those who had begun before.
 */
static __always_inline void top_enter(struct wort_top *top, u64 link, u64 digits)
{
	if (top && link_is_node(link))
		wort_top_set(top, digits, link);
}

/* Of the nodes that are made those count which begin a page: one counter for all. */
static __always_inline void tree_grows(struct wort_tree *tree, u64 node, u64 digits)
{
	u64 made, missed;

	if (likely(node % WRT_MADE_STEP))
		return;
	made = READ_ONCE(tree->made) + 1;
	missed = READ_ONCE(tree->missed) +
		 !wort_top_entry(wort_tree_top(tree), digits);
	WRITE_ONCE(tree->made, made);
	WRITE_ONCE(tree->missed, missed);
	if (made >= READ_ONCE(tree->made_due) ||
	    missed >= READ_ONCE(tree->missed_due))
		tree->outgrown(tree);
}

static __always_inline void change_enter(const struct wrt_change *c)
{
	if (c->kind == WRT_NODE || (c->kind == WRT_REMOVE && c->merged))
		top_enter(c->top, c->val, change_digits(c));
}

static int launch_leaf(struct wort_op *op, struct wrt_change *c)
{
	int err = slot_lock(op, c->path.slot, c->path.link);

	if (!err)
		slot_store(op, c, c->path.slot, c->val);
	return err;
}

static __always_inline int launch_node(struct wort_op *op,
				       struct wort_tree *tree,
				       struct wrt_change *c)
{
	bool above_node = link_is_node(c->path.link);
	u32 place = node_place(c->val);
	int err;

	/*
	 * What a node that is there skips is known from the record, which was
	 * read before the node was looked for.  So the record has to be there
	 * still, and thus below the node.
	 */
	err = above_node ? path_lock(op, &c->path, &c->rec, false) :
			   slot_lock(op, c->path.slot, c->path.link);
	if (err)
		return err;
	if (place > c->path.start)
		skip_learn(tree, c->val, &c->key);
	c->top = top_split(tree, c->path.start, place, change_digits(c));
	tree_grows(tree, node_off(c->val), change_digits(c));
	slot_store(op, c, c->path.slot, c->val);
	trace_wort_split(op->region->dev, node_off(c->val), place, !above_node);
	return 0;
}

static noinline int launch_replace(struct wort_op *op, struct wrt_change *c)
{
	int err = rec_lock(op, &c->path, &c->rec, false);

	if (err)
		return err;
	slot_store(op, c, c->path.slot, c->val);
	wort_nodes_removed(op, c->rec.off, 0);
	return 0;
}

static noinline int launch_update(struct wort_op *op, struct wrt_change *c)
{
	if (!wort_node_lock(op, c->rec.off))
		return -EAGAIN;
	if (!wort_rec_renew(&c->rec) && c->exact) {
		wort_nodes_unlock(op);
		return -EAGAIN;
	}
	wort_pm_fence_in_flight(op);
	change_store(op, c, c->rec.off, &c->rec.leaf->val, c->val);
	return 0;
}

/*
 * Count the entries of a node but for @slot, up to two; the last one counted
 * is told.
 */
static u32 other_entries(struct wort_op *op, const struct wrt_node *node,
			 const __le64 __pmem *slot, u64 *link)
{
	u32 i, nr = 0;
	u64 entry;

	for (i = 0; nr < 2; i++) {
		i = slot_scan(op, node, i, false, &entry);
		if (i == WRT_SLOTS)
			break;
		if (&node->media->slot[i] == slot)
			continue;
		*link = entry;
		nr++;
	}
	return nr;
}

/*
 * Verify what is to take the place of a node that has only this one entry left.  The link
 * moves and what it refers to is not read: it may lie on a bad page.
 */
static int only_entry(struct wort_op *op, const struct wrt_path *path, u64 link)
{
	int err = link_verify(op, link);

	if (err || !link_is_node(link))
		return err;
	if (!wort_region_inside(op->region, node_off(link),
				sizeof(struct wort_media_wort_node)))
		return report_node(op, link, path->start, -EUCLEAN);
	return node_place_valid(link, path->start) ?
	       0 : report_node(op, link, path->start, 0);
}

/* With the nodes locked: two entries are in the node, the other one moves up. */
static int merge(struct wort_op *op, struct wort_tree *tree,
		 struct wrt_change *c, u64 link)
{
	const struct wrt_path *path = &c->path;
	int err = only_entry(op, path, link);

	if (err)
		return err;
	c->merged = true;
	c->val = link;
	c->top = top_merge(tree, path->node, change_digits(c));
	slot_store(op, c, path->node_slot, link);
	wort_nodes_removed(op, c->rec.off, node_off(path->node));
	trace_wort_merge(op->region->dev, node_off(path->node),
			 node_place(path->node), link_is_leaf(link));
	return 0;
}

/* With the nodes locked. */
static int unlink_locked(struct wort_op *op, struct wort_tree *tree,
			 struct wrt_change *c)
{
	struct wrt_node node;
	u64 link = 0;
	u32 nr = 2;

	if (c->path.node) {
		node_at(op, c->path.node, &node);
		nr = other_entries(op, &node, c->path.slot, &link);
	}
	if (!nr)
		return wort_corrupt(op, node_off(c->path.node),
				    "node with one entry");
	/* What was read on the way, or what the node is left with, could be lost. */
	wort_pm_fence_in_flight(op);
	if (nr == 1)
		return merge(op, tree, c, link);
	slot_store(op, c, c->path.slot, 0);
	wort_nodes_removed(op, c->rec.off, 0);
	return 0;
}

static noinline int launch_remove(struct wort_op *op, struct wort_tree *tree,
				  struct wrt_change *c)
{
	int err;

	c->merged = false;
	err = rec_lock(op, &c->path, &c->rec, c->path.node);
	if (err)
		return err;
	err = unlink_locked(op, tree, c);
	if (err)
		wort_nodes_unlock(op);
	return err;
}

/* Afterwards nodes are locked, unless it fails. */
static __always_inline int change_launch(struct wort_op *op,
					 struct wort_tree *tree,
					 struct wrt_change *c)
{
	switch (c->kind) {
	case WRT_LEAF:
		return launch_leaf(op, c);
	case WRT_NODE:
		return launch_node(op, tree, c);
	case WRT_REPLACE:
		return launch_replace(op, c);
	case WRT_UPDATE:
		return launch_update(op, c);
	default:
		return launch_remove(op, tree, c);
	}
}

/*
 * It is stored and its slot still locked.  What is remembered of a node that lay
 * where one that skips nothing has been put is asked for by nobody yet: not
 * before the node above has gone, and who takes that away locks the slot.  So
 * nobody waited for this.
 */
static void change_stored(struct wort_tree *tree, const struct wrt_change *c)
{
	if (c->kind == WRT_NODE && node_place(c->val) == c->path.start)
		wort_skips_forget(tree->skips, c->val);
}

static void node_free(struct wort_op *op, u64 link)
{
	if (wort_alloc_free(op, node_off(link),
			    sizeof(struct wort_media_wort_node)))
		op->damaged = true;
}

/* It is durable and nothing is locked. */
static void change_done(struct wort_op *op, struct wort_tree *tree,
			struct wrt_change *c)
{
	if (c->kind == WRT_LEAF && c->path.nr_skips)
		skip_learn(tree, c->path.skip, &c->key);
	if (c->kind == WRT_REMOVE && c->merged)
		node_free(op, c->path.node);
	if ((c->kind == WRT_REPLACE || c->kind == WRT_REMOVE) &&
	    wort_rec_free(op, &c->rec))
		op->damaged = true;
}

static __always_inline int change_run(struct wort_op *op,
				      struct wort_tree *tree,
				      struct wrt_change *c)
{
	int err;

	if (c->kind < WRT_UPDATE)
		wort_pm_fence_contents(op);
	err = change_launch(op, tree, c);
	if (err)
		return err;
	wort_pm_land(op, c->lock, c->word);
	change_stored(tree, c);
	change_enter(c);
	wort_nodes_unlock(op);
	change_done(op, tree, c);
	return 0;
}

static noinline int put_at(struct wort_op *op, struct wort_tree *tree,
			   struct wort_put *put, struct wrt_change *c)
{
	return prepare_put(op, tree, put, c) ?: change_run(op, tree, c);
}

/* A leaf for an empty slot, of which nothing needs to be found out. */
static __always_inline int put_in_slot(struct wort_op *op, struct wort_put *put,
				       __le64 __pmem *slot)
{
	int err = wort_rec_reserve(op, &put->key, &put->value);
	u64 leaf;

	if (unlikely(err))
		return err;
	leaf = wort_rec_create(op, &put->key, &put->value);
	wort_pm_fence_contents(op);
	err = slot_lock(op, slot, 0);
	if (unlikely(err))
		return err;
	wort_pm_launch(op, op->held[0], slot, leaf | WORT_MEDIA_LINK_LEAF);
	wort_pm_land(op, op->held[0], slot);
	wort_nodes_unlock(op);
	return 0;
}

static int wrt_put(struct wort_op *op, struct wort_tree *tree,
		   struct wort_put *put)
{
	struct wrt_change c __uninitialized;
	struct wrt_path path __uninitialized;
	int err = wrt_descend(op, tree, &put->key, WORT_KEY_DIGITS,
			      WRT_TO_SLOT, &path);

	put->replaced = false;
	if (unlikely(err))
		return err;
	if (likely(!path.link && !path.nr_skips && !put_must_find(put)))
		return put_in_slot(op, put, path.slot);
	c.path = path;
	return put_at(op, tree, put, &c);
}

/*
 * Most changes are of keys and values of one word: a record for an empty slot, one beside
 * another record, another value.  As a look, a set has no operation that anybody else
 * hears of: it is a variable whose address goes nowhere, so it is kept in registers.  A
 * processor that waits for the last fence of one then runs ahead as far as the record of
 * the next.  Where something is in flight, or makes no sense, or lies where memory may
 * be bad, and where more is needed than is at hand, nothing is done, and wrt_put() has to.
 */
struct wrt_set {
	struct wort_op op;
	struct wort_tree *tree;
	struct wort_put *put;
	struct wort_index_stats __percpu *stats;
	u64 word;			/* the key */
	__le64 __pmem *slot;		/* where the way to it ends */
	u64 link;			/* what is there */
	u32 start;			/* digits consumed on the way */
	u32 nr_nodes;			/* on the way, below the top */
	bool unsure;			/* digits were skipped that may differ */
};

static __always_inline void set_begin(struct wrt_set *set, struct wort_tree *tree,
				      struct wort_put *put,
				      struct wort_index_stats __percpu *stats)
{
	wort_op_begin(&set->op, tree->region, tree->alloc);
	set->op.locks = tree->locks;
	set->op.in_flight = tree->in_flight;
	set->op.alone = false;
	set->op.time = wort_locks_now(tree->locks);
	set->op.reserved[0] = 0;
	set->op.reserved[1] = 0;
	set->tree = tree;
	set->put = put;
	set->stats = stats;
	set->word = wort_bytes_be64(put->key.data);
}

/* Where the way ends, if it is plain and stays in the first word of keys. */
static __always_inline bool set_find(struct wrt_set *set)
{
	const struct wort_tree *tree = set->tree;
	const struct wort_top *top = wort_tree_top(tree);
	u64 plain = wort_region_plain(tree->region), word = set->word;
	void __pmem *base = wort_region_at(tree->region, 0);
	u64 link = wort_top_find(top, word), off = 0, node;
	u32 start = top->shape.place, nr_nodes = 0, place;
	bool unsure = false;

	if (!link) {
		start = 0;
		off = root_off(tree);
		if (off >= plain)
			return false;
		link = wort_pm_load(base + off);
		if (unlikely(wort_pm_in_flight(tree->in_flight, slot_node(off))))
			return false;
	}
	for (; link_is_node(link); start = place + 1, nr_nodes++) {
		place = node_place(link);
		node = node_off(link);
		if (unlikely(node >= plain ||
			     place - start >= WORT_KEY_WORD_DIGITS - start))
			return false;
		if (place > start)
			unsure |= !wort_skips_match(tree->skips, link,
						    word_digits(word, place),
						    place - start);
		off = node + wort_word_digit(word, place) * sizeof(link);
		link = wort_pm_load(base + off);
		if (unlikely(wort_pm_in_flight(tree->in_flight, node)))
			return false;
	}
	set->slot = base + off;
	set->link = link;
	set->start = start;
	set->nr_nodes = nr_nodes;
	set->unsure = unsure;
	return true;
}

/* Give back what was reserved: nothing has been stored that anybody could reach. */
static noinline int reserved_give_up(struct wort_tree *tree, u32 nr, u64 a, u64 b)
{
	struct wort_op op;

	wort_op_begin(&op, tree->region, tree->alloc);
	op.nr_reserved = nr;
	op.reserved[0] = a;
	op.reserved[1] = b;
	wort_op_end(&op);
	return -EAGAIN;
}

static __always_inline int set_give_up(const struct wrt_set *set)
{
	return reserved_give_up(set->tree, set->op.nr_reserved,
				set->op.reserved[0], set->op.reserved[1]);
}

/* A record on its way to the media.  Returns the link to it. */
static __always_inline u64 set_leaf(struct wrt_set *set, u64 off)
{
	struct wort_media_leaf __pmem *leaf = wort_region_at(set->op.region, off);
	const struct wort_put *put = set->put;

	wort_pm_store(&set->op, &leaf->val, wort_value_word(&put->value));
	wort_pm_store(&set->op, &leaf->meta, wort_rec_word_meta(sizeof(u64)));
	wort_pm_write(&set->op, leaf->key, put->key.data, sizeof(u64));
	wort_pm_flush_now(&set->op, leaf, WRT_WORD_LEAF);
	return off | WORT_MEDIA_LINK_LEAF;
}

/* The same, of a node with the new leaf and what is in the slot, a leaf of another key. */
static __always_inline u64 set_node(struct wrt_set *set, u64 off, u32 place, u64 leaf,
				    u64 other)
{
	struct wort_media_wort_node __pmem *node = wort_region_at(set->op.region, off);

	wort_pm_clear(&set->op, node->slot, WRT_SLOTS);
	wort_pm_store(&set->op, &node->slot[wort_word_digit(other, place)], set->link);
	wort_pm_store(&set->op, &node->slot[wort_word_digit(set->word, place)], leaf);
	wort_pm_flush_now(&set->op, node, sizeof(*node));
	return link_to_node(off, place);
}

/* As slot_lock(). */
static __always_inline struct wort_lock *set_lock(const struct wrt_set *set)
{
	u64 node = slot_node(wort_pm_off(&set->op, set->slot));
	struct wort_lock *lock = wort_node_hold(&set->op, node);

	if (likely(lock && wort_pm_load(set->slot) == set->link))
		return lock;
	if (lock)
		wort_node_release(lock);
	return NULL;
}

/*
 * Store a word, the lock of whose node is held, and make it durable.  What all of it has
 * cost is counted while the processor has to wait.
 */
static __always_inline void set_word(struct wrt_set *set, struct wort_lock *lock,
				     __le64 __pmem *word, u64 val,
				     enum wort_set_kind kind)
{
	wort_pm_launch(&set->op, lock, word, val);
	wort_pm_flush_now(&set->op, word, sizeof(*word));
	wort_set_done(set->stats, kind, set->op.flush, set->nr_nodes);
	wort_pm_fence_now(&set->op);
	wort_pm_landed(lock);
}

static __always_inline int set_new(struct wrt_set *set)
{
	struct wort_lock *lock;
	u64 leaf;

	if (unlikely(set->unsure))
		return -EAGAIN;
	if (unlikely(!wort_alloc_reserve_ready(&set->op, WRT_WORD_LEAF)))
		return set_give_up(set);
	leaf = set_leaf(set, set->op.reserved[0]);
	wort_pm_fence_now(&set->op);
	lock = set_lock(set);
	if (unlikely(!lock))
		return set_give_up(set);
	set_word(set, lock, set->slot, leaf, WORT_SET_NEW);
	wort_node_release(lock);
	return 0;
}

/* As launch_node() and what comes after it. */
static __always_inline void set_launch_node(struct wrt_set *set,
					    struct wort_lock *lock, u64 link)
{
	struct wort_tree *tree = set->tree;
	u32 place = node_place(link);
	struct wort_top *top;

	if (place > set->start)
		wort_skips_learn(tree->skips, link, word_digits(set->word, place));
	top = top_split(tree, set->start, place, set->word);
	tree_grows(tree, node_off(link), set->word);
	trace_wort_split(set->op.region->dev, node_off(link), place, true);
	set_word(set, lock, set->slot, link, WORT_SET_BESIDE);
	if (place == set->start)
		wort_skips_forget(tree->skips, link);
	top_enter(top, link, set->word);
}

/* @other: the key of the leaf that the way has ended at. */
static __always_inline int set_beside(struct wrt_set *set, u64 other)
{
	u32 place = (64 - fls64(set->word ^ other)) / 4;
	struct wort_lock *lock;
	u64 link;

	if (unlikely(place < set->start))
		return -EAGAIN;
	if (unlikely(!wort_alloc_reserve_ready(&set->op, WRT_WORD_LEAF) ||
		     !wort_alloc_reserve_ready(&set->op,
					       sizeof(struct wort_media_wort_node))))
		return set_give_up(set);
	link = set_leaf(set, set->op.reserved[0]);
	link = set_node(set, set->op.reserved[1], place, link, other);
	wort_pm_fence_now(&set->op);
	lock = set_lock(set);
	if (unlikely(!lock))
		return set_give_up(set);
	set_launch_node(set, lock, link);
	wort_node_release(lock);
	return 0;
}

/* What is there may be in flight: nothing rests on it, and it will not last. */
static __always_inline int set_value(struct wrt_set *set,
				     struct wort_media_leaf __pmem *leaf)
{
	struct wort_lock *lock;

	if (unlikely(set->put->create))
		return -EAGAIN;
	lock = wort_node_hold(&set->op, wort_pm_off(&set->op, leaf));
	if (unlikely(!lock))
		return -EAGAIN;
	set_word(set, lock, &leaf->val, wort_value_word(&set->put->value), WORT_SET_VALUE);
	wort_node_release(lock);
	set->put->replaced = true;
	return 0;
}

static __always_inline int set_at_leaf(struct wrt_set *set)
{
	u64 off = leaf_off(set->link), other;
	struct wort_media_leaf __pmem *leaf;

	if (unlikely(!link_is_leaf(set->link) ||
		     off >= wort_region_plain(set->op.region)))
		return -EAGAIN;
	leaf = wort_region_at(set->op.region, off);
	if (unlikely(wort_pm_load(&leaf->meta) != wort_rec_word_meta(sizeof(u64))))
		return -EAGAIN;
	other = wort_pm_load_be64(leaf->key);
	return other == set->word ? set_value(set, leaf) : set_beside(set, other);
}

static int wrt_set(struct wort_tree *tree, struct wort_put *put,
		   struct wort_index_stats __percpu *stats)
{
	struct wrt_set set __uninitialized;

	if (put->key.len != sizeof(u64) || put->value.len != sizeof(u64) ||
	    put->replace || put->expect || put->old)
		return -EAGAIN;
	set_begin(&set, tree, put, stats);
	if (!set_find(&set))
		return -EAGAIN;
	put->replaced = false;
	return set.link ? set_at_leaf(&set) : set_new(&set);
}

static int wrt_remove(struct wort_op *op, struct wort_tree *tree,
		      const struct wort_key *key,
		      const struct wort_value *expect, struct wort_buf *old)
{
	struct wrt_change c __uninitialized;

	return prepare_remove(op, tree, key, expect, old, &c) ?:
	       change_run(op, tree, &c);
}

/*
 * The table of the top.  It begins at the digit by which the root selects.  For the
 * survey each link from a node before a place to one from there on is an entry of the
 * table that ends there: of all digits at once, since a place is between them.
 */
struct wrt_survey {
	struct wort_op *op;
	u32 place;				/* of the root */
	u32 nr[WORT_TOP_DIGITS + 1];		/* entries of a table of so many digits */
};

static void survey_link(struct wrt_survey *survey, u32 above, u64 link)
{
	u32 digits, end;

	for (digits = 1; digits <= WORT_TOP_DIGITS; digits++) {
		end = survey->place + digits;
		survey->nr[digits] += above < end && end <= node_place(link);
	}
}

/* Places grow, so it calls itself WORT_TOP_DIGITS times at most. */
static int survey_below(struct wrt_survey *survey, u64 link, u32 start)
{
	struct wrt_node node;
	u32 slot;
	int err;

	cond_resched();
	err = node_open(survey->op, link, start, &node);
	for (slot = 0; slot < WRT_SLOTS && !err; slot++) {
		link = wort_pm_load(&node.media->slot[slot]);
		if (!link_is_node(link))
			continue;
		survey_link(survey, node.place, link);
		if (node_place(link) < survey->place + WORT_TOP_DIGITS)
			err = survey_below(survey, link, node.place + 1);
	}
	return err;
}

/* The digits before a place, with zeroes from there on. */
static u64 digits_before(u64 word, u32 place)
{
	return place ? word & ~0ULL << 4 * (WORT_KEY_WORD_DIGITS - place) : 0;
}

/* Is a sixteenth of a table used?  Then it takes no more than the nodes it leads to. */
static bool survey_fits(const struct wrt_survey *survey, size_t max_size,
			const struct wort_top_shape *shape)
{
	return survey->nr[shape->digits] >= BIT(4 * (shape->digits - 1)) &&
	       shape->place <= WORT_KEY_WORD_DIGITS &&
	       wort_top_size(shape) <= max_size;
}

static int wrt_top_shape(struct wort_op *op, struct wort_tree *tree,
			 size_t max_size, struct wort_top_shape *shape)
{
	struct wrt_survey survey = { .op = op };
	struct wort_rec rec;
	u64 link;
	int err;

	*shape = wort_top_none.shape;
	err = root_load(op, tree, &link);
	survey.place = node_place(link);
	if (err || !link_is_node(link) || survey.place >= WORT_KEY_WORD_DIGITS)
		return err;
	err = survey_below(&survey, link, 0) ?: any_key(op, link, 0, &rec);
	if (err)
		return err;
	shape->first = digits_before(wort_rec_digits(&rec), survey.place);
	for (shape->digits = WORT_TOP_DIGITS; shape->digits; shape->digits--) {
		shape->place = survey.place + shape->digits;
		if (survey_fits(&survey, max_size, shape))
			return 0;
	}
	*shape = wort_top_none.shape;
	return 0;
}

/* A slot that is being changed, or was changed meanwhile, is left out. */
static void fill_entry(struct wort_op *op, struct wort_tree *tree,
		       const __le64 __pmem *slot, u64 link, u64 word)
{
	u64 node = slot_node(wort_pm_off(op, slot));

	if (!wort_node_lock(op, node))
		return;
	if (wort_pm_load(slot) == link &&
	    !wort_pm_in_flight(tree->in_flight, node))
		wort_top_set(tree->top, word, link);
	wort_nodes_unlock(op);
}

static int fill_below(struct wort_op *op, struct wort_tree *tree, u64 link,
		      u32 start, u64 word);

/* @word: the digits before the place of the node. */
static int fill_slot(struct wort_op *op, struct wort_tree *tree,
		     const struct wrt_node *node, u32 slot, u64 word)
{
	const __le64 __pmem *at = &node->media->slot[slot];
	u32 end = tree->top->shape.place, start = node->place + 1;
	u64 link = wort_pm_load(at);
	struct wort_rec rec;
	int err = 0;

	if (!link_is_node(link))
		return 0;
	word = digits_before(word, node->place) |
	       (u64)slot << 4 * (WORT_KEY_WORD_DIGITS - start);
	if (node_place(link) < end)
		return fill_below(op, tree, link, start, word);
	/* The node may skip some of the digits that the table has. */
	if (start < end) {
		err = any_key(op, link, start, &rec);
		word = err ? 0 : wort_rec_digits(&rec);
	}
	if (!err)
		fill_entry(op, tree, at, link, word);
	return err;
}

/* @word: the digits before @start.  Calls itself as survey_below() does. */
static int fill_below(struct wort_op *op, struct wort_tree *tree, u64 link,
		      u32 start, u64 word)
{
	struct wrt_node node;
	struct wort_rec rec;
	u32 slot;
	int err;

	cond_resched();
	err = node_open(op, link, start, &node);
	if (!err && node.place > start) {
		err = any_key(op, link, start, &rec);
		word = err ? 0 : wort_rec_digits(&rec);
	}
	for (slot = 0; slot < WRT_SLOTS && !err; slot++)
		err = fill_slot(op, tree, &node, slot, word);
	return err;
}

/* What is below one slot of the root, if that is before the end of the table. */
static int wrt_top_fill(struct wort_op *op, struct wort_tree *tree, u32 part)
{
	struct wrt_node node;
	struct wort_rec rec;
	u64 link;
	int err;

	BUILD_BUG_ON(WORT_TOP_PARTS != WRT_SLOTS);
	err = root_load(op, tree, &link);
	if (err || !link_is_node(link) ||
	    node_place(link) >= tree->top->shape.place)
		return err;
	err = node_open(op, link, 0, &node) ?: any_key(op, link, 0, &rec);
	return err ?: fill_slot(op, tree, &node, part, wort_rec_digits(&rec));
}

/* Batches. */

static struct wrt_change *wrt_change(struct wort_change *change)
{
	BUILD_BUG_ON(sizeof(struct wrt_change) > sizeof(change->engine));
	return (struct wrt_change *)change->engine;
}

/* What a change that was prepared has to do with others. */
static void change_tell(struct wort_op *op, struct wort_change *change)
{
	struct wrt_change *c = wrt_change(change);
	bool slot_above = c->kind == WRT_REMOVE && c->path.node;

	change->contents = c->kind < WRT_UPDATE;
	change->removes = c->kind == WRT_REPLACE || c->kind == WRT_REMOVE;
	change->slot = wort_pm_off(op, c->path.slot);
	change->node[0] = slot_node(change->slot);
	change->node[1] = c->kind == WRT_LEAF ? 0 : c->rec.off;
	change->node[2] = slot_above ?
			  slot_node(wort_pm_off(op, c->path.node_slot)) : 0;
}

static int wrt_prepare_put(struct wort_op *op, struct wort_tree *tree,
			   struct wort_put *put, struct wort_change *change)
{
	struct wrt_change *c = wrt_change(change);
	int err = wrt_descend(op, tree, &put->key, WORT_KEY_DIGITS,
			      WRT_TO_SLOT, &c->path);

	put->replaced = false;
	if (!err)
		err = prepare_put(op, tree, put, c);
	if (!err)
		change_tell(op, change);
	return err;
}

static int wrt_prepare_remove(struct wort_op *op, struct wort_tree *tree,
			      const struct wort_key *key,
			      const struct wort_value *expect,
			      struct wort_buf *old, struct wort_change *change)
{
	int err = prepare_remove(op, tree, key, expect, old,
				 wrt_change(change));

	if (!err)
		change_tell(op, change);
	return err;
}

static int wrt_commit(struct wort_op *op, struct wort_tree *tree,
		      struct wort_change *change)
{
	struct wrt_change *c = wrt_change(change);
	int err = change_launch(op, tree, c);

	if (err)
		return err;
	wort_pm_flush(op, c->word, sizeof(*c->word));
	change_stored(tree, c);
	wort_nodes_unlock(op);
	return 0;
}

static void wrt_finish(struct wort_op *op, struct wort_tree *tree,
		       struct wort_change *change)
{
	struct wrt_change *c = wrt_change(change);
	bool there = wort_lock_hold(op, c->lock);

	/* Otherwise a node of the lock was removed since, perhaps that of the word. */
	wort_pm_landed(c->lock);
	if (there && wort_pm_load(c->word) == c->val)
		change_enter(c);
	wort_nodes_unlock(op);
	change_done(op, tree, c);
}

/* The way to a key: a slot on it, whose line is being loaded, or NULL. */
struct wrt_way {
	const __le64 __pmem *slot;
	u64 word;
	u32 start;
};

static void way_follow(struct wort_op *op, const struct wort_key *key,
		       u64 link, struct wrt_way *way)
{
	struct wrt_node node;

	way->slot = NULL;
	if (!link_is_node(link)) {
		object_prefetch(op, link);
		return;
	}
	node_at(op, link, &node);
	if (node.place < way->start || node.place >= WORT_KEY_DIGITS ||
	    wort_region_verify(op->region, node_off(link),
			       sizeof(*node.media)))
		return;
	way->slot = &node.media->slot[key_digit(key, way->word, node.place)];
	way->start = node.place + 1;
	wort_pm_prefetch(way->slot);
}

static void way_begin(struct wort_op *op, struct wort_tree *tree,
		      const struct wort_top *top, const struct wort_key *key,
		      struct wrt_way *way)
{
	u64 word = wort_key_word(key, 0);
	u64 link = wort_top_find(top, word);

	*way = (struct wrt_way){ &tree->root[0], word, 0 };
	if (link)
		way_follow(op, key, link, way);
}

/*
 * A step of each way at a time, so that many lines are being loaded at once.
 * What it comes by is believed by nobody.
 */
static void wrt_warm(struct wort_op *op, struct wort_tree *tree,
		     const struct wort_key *keys, u32 nr)
{
	struct wort_top *top = wort_tree_top(tree);
	struct wrt_way way[WORT_WARM_MAX] __uninitialized;
	u32 i, going = nr;

	if (!wort_region_plain(op->region))
		return;
	for (i = 0; i < nr; i++)
		way_begin(op, tree, top, &keys[i], &way[i]);
	while (going)
		for (i = going = 0; i < nr; i++)
			if (way[i].slot) {
				way_follow(op, &keys[i],
					   wort_pm_load(way[i].slot), &way[i]);
				going++;
			}
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
	u64 link;		/* to the node */
	u8 slot;
	bool surveyed;
	u16 ahead;		/* if so: the slots behind it that had entries */
	u16 unseen;		/* nodes, below which nothing is being loaded yet */
	u16 loading;		/* entries of those that were seen, but not entered */
};

/* Which slots of a node have entries, and which of them refer to nodes. */
struct wrt_view {
	u16 used;
	u16 nodes;
};

#define WRT_SEEN	32

struct wrt_cursor {
	struct wort_rec rec;
	u32 nr;			/* levels on the path */
	u32 fresh;		/* the first that the last move entered */
	u64 seen[WRT_SEEN];	/* links to nodes looked at since the cursor was sought */
	struct wrt_view view[WRT_SEEN];
	struct wrt_level level[WORT_KEY_DIGITS];
};

static struct wrt_cursor *wrt_cursor(struct wort_cursor *cur)
{
	return (struct wrt_cursor *)cur->engine;
}

static struct wort_key cursor_key(const struct wort_cursor *cur)
{
	return (struct wort_key){ cur->key, cur->key_len };
}

static struct wrt_level *level_push(struct wrt_cursor *wc,
				    const struct wrt_node *node)
{
	struct wrt_level *level = &wc->level[wc->nr++];

	level->link = node->link;
	level->surveyed = false;
	return level;
}

/*
 * What there is in a node, and, if wanted, begin to load it.  What is put there later a
 * cursor may find or not.  A processor cannot guess how many slots are empty in between.
 */
static __always_inline struct wrt_view node_view(struct wort_op *op,
						 const struct wrt_node *node,
						 bool prefetch)
{
	u64 plain = wort_region_plain(op->region), link;
	void __pmem *base = wort_region_at(op->region, 0);
	const __le64 __pmem *slots = node->media->slot;
	u32 slot = WRT_SLOTS, used = 0, nodes = 0, more;

#pragma GCC unroll 16	/* a third of it was the loop */
	while (slot--) {
		link = wort_pm_load(&slots[slot]);
		used += used + !!link;
		nodes += nodes + (link & WORT_MEDIA_LINK_NODE);
		if (prefetch && likely(node_off(link) < plain))
			wort_pm_prefetch(base + node_off(link));
	}
	/* The other line of nodes: for each slot that would be a third more. */
	for (more = prefetch ? nodes : 0; more; more &= more - 1)
		link_prefetch(base, plain, wort_pm_load(&slots[__ffs(more)]));
	node_flush_in_flight(op, node);
	return (struct wrt_view){ used, nodes };
}

static __always_inline u32 seen_nr(u64 link)
{
	return node_off(link) / sizeof(struct wort_media_wort_node) % WRT_SEEN;
}

/* Look at a node ahead of the cursor. */
static struct wrt_view node_see(struct wort_cursor *cur,
				const struct wrt_node *node)
{
	struct wrt_cursor *wc = wrt_cursor(cur);
	u32 nr = seen_nr(node->link);

	wc->view[nr] = node_view(cur->op, node, true);
	wc->seen[nr] = node->link;
	return wc->view[nr];
}

/* What was seen in a node before, or is now. */
static __always_inline struct wrt_view node_seen(struct wort_cursor *cur,
						 const struct wrt_node *node)
{
	struct wrt_cursor *wc = wrt_cursor(cur);
	u32 nr = seen_nr(node->link);

	return wc->seen[nr] == node->link ? wc->view[nr] :
					    node_see(cur, node);
}

/* The slot that comes next of those ahead; there is one. */
static __always_inline u32 slot_next(u32 ahead, bool reverse)
{
	return reverse ? fls(ahead) - 1 : ffs(ahead) - 1;
}

/* The rest of those ahead when that one was taken. */
static __always_inline u32 slots_after(u32 ahead, u32 slot, bool reverse)
{
	return reverse ? ahead & ~BIT(slot) : ahead & (ahead - 1);
}

/* Those behind one. */
static __always_inline u32 slots_behind(u32 slot, bool reverse)
{
	return reverse ? BIT(slot) - 1 : -BIT(slot + 1);
}

/* Move on to the next entry of a node; 0 if there is none. */
static __always_inline u64 level_next(struct wort_cursor *cur,
				      const struct wrt_node *node,
				      struct wrt_level *level)
{
	u64 link = 0;

	while (!link && level->ahead) {
		level->slot = slot_next(level->ahead, cur->reverse);
		level->ahead &= ~BIT(level->slot);
		link = slot_load(cur->op, node, level->slot);
	}
	return link;
}

static void level_begin(struct wrt_level *level, struct wrt_view view)
{
	level->ahead = view.used;
	level->unseen = view.nodes;
	level->loading = 0;
	level->surveyed = true;
}

/* How many entries are to be loaded behind the one where a cursor is. */
static u32 look_on_max(const struct wort_cursor *cur)
{
	return min_t(u32, cur->wanted - 1, WRT_LOOK_ON);
}

/* Begin to load what is ahead in a node to which a key has led: nobody has seen it. */
static void level_prefetch(struct wort_cursor *cur, const struct wrt_node *node,
			   const struct wrt_level *level)
{
	u64 plain = wort_region_plain(cur->op->region);
	void __pmem *base = wort_region_at(cur->op->region, 0);
	u32 ahead = level->ahead, max = look_on_max(cur), slot;

	for (; ahead && max; ahead &= ~BIT(slot), max--) {
		slot = slot_next(ahead, cur->reverse);
		link_prefetch(base, plain, wort_pm_load(&node->media->slot[slot]));
	}
}

/* Begin to load what is below the next nodes of a level. */
static noinline void nodes_look_on(struct wort_cursor *cur,
				   struct wrt_level *level)
{
	u64 plain = wort_region_plain(cur->op->region), link;
	void __pmem *base = wort_region_at(cur->op->region, 0);
	const __le64 __pmem *slots = base + node_off(level->link);
	u32 unseen = level->unseen & level->ahead, slot;
	u32 nr = level->loading, max = look_on_max(cur);
	struct wrt_node node;

	while (unseen && nr < max) {
		slot = slot_next(unseen, cur->reverse);
		unseen &= ~BIT(slot);
		link = wort_pm_load(&slots[slot]);
		/* meanwhile a leaf may be there, with who knows what behind it */
		if (!link_is_node(link) || node_off(link) >= plain)
			continue;
		node_at(cur->op, link, &node);
		nr += hweight_long(node_see(cur, &node).used);
	}
	level->unseen = unseen;
	level->loading = nr;
}

static __always_inline void level_look_on(struct wort_cursor *cur,
					  struct wrt_level *level)
{
	if (level->unseen & level->ahead)
		nodes_look_on(cur, level);
}

/* The entries of the node are being loaded since it was seen from the level above. */
static void level_enter(struct wort_cursor *cur, const struct wrt_node *node,
			struct wrt_level *level)
{
	struct wrt_level *above = level - 1;

	level_begin(level, node_seen(cur, node));
	if (level != wrt_cursor(cur)->level && above->surveyed) {
		above->loading -= min_t(u32, above->loading,
					hweight_long(level->ahead));
		level_look_on(cur, above);
	}
	level_look_on(cur, level);
}

/* Where a key led to, the cursor goes on if it does. */
static void level_resume(struct wort_cursor *cur, const struct wrt_node *node,
			 struct wrt_level *level)
{
	if (level->surveyed)
		return;
	level_begin(level, node_view(cur->op, node, false));
	level->ahead &= slots_behind(level->slot, cur->reverse);
	level_prefetch(cur, node, level);
	wort_count(cur->op, more_loads, WRT_LINES - 1);
}

/*
 * A key has led to a leaf.  While that is being loaded, begin to load what comes behind
 * it, on the last level and on as many above as that takes: most cursors go on.
 */
static void cursor_look_on(struct wort_cursor *cur)
{
	struct wrt_cursor *wc = wrt_cursor(cur);
	u32 i, nr = min(wc->nr, 3U), loading = 0;
	struct wrt_level *level;
	struct wrt_node node;

	for (i = 1; i <= nr && loading < look_on_max(cur); i++) {
		level = &wc->level[wc->nr - i];
		node_at(cur->op, level->link, &node);
		level_resume(cur, &node, level);
		level_look_on(cur, level);
		loading += hweight_long(level->ahead) + level->loading;
	}
}

/*
 * Go down from a link: by the key where it has an entry, otherwise along the
 * edge that comes first in the direction of the cursor.
 */
static int cursor_down(struct wort_cursor *cur, u64 link, u32 start,
		       const struct wort_key *key)
{
	struct wrt_cursor *wc = wrt_cursor(cur);
	struct wrt_level *level;
	struct wrt_node node;
	int err;

	while (link_is_node(link)) {
		err = node_open(cur->op, link, start, &node);
		if (err)
			return err;
		level = level_push(wc, &node);
		link = 0;
		if (key) {
			level->slot = wort_key_digit(key->data, key->len,
						     node.place);
			link = slot_load(cur->op, &node, level->slot);
		}
		if (!link) {
			if (key)
				level_begin(level, node_view(cur->op, &node, false));
			else
				level_enter(cur, &node, level);
			wort_count(cur->op, more_loads, WRT_LINES - 1);
			link = level_next(cur, &node, level);
		}
		if (!link)
			return wort_corrupt(cur->op, node_off(node.link),
					    "node without entries");
		/* both lines: cursor_look_on() needs the other one */
		if (key)
			object_prefetch(cur->op, link);
		start = node.place + 1;
	}
	if (key)
		cursor_look_on(cur);
	return link_verify(cur->op, link) ?:
	       wort_rec_open(cur->op, leaf_off(link), &wc->rec);
}

/* From the last level on to the next entry in the direction of the cursor. */
static int cursor_step(struct wort_cursor *cur)
{
	struct wrt_cursor *wc = wrt_cursor(cur);
	struct wrt_level *level;
	struct wrt_node node;
	u64 link;

	for (; wc->nr; wc->nr--) {
		level = &wc->level[wc->nr - 1];
		node_at(cur->op, level->link, &node);
		level_resume(cur, &node, level);
		link = level_next(cur, &node, level);
		if (!link)
			continue;
		wc->fresh = wc->nr;
		if (link_is_leaf(link))
			return wort_rec_open(cur->op, leaf_off(link), &wc->rec);
		return cursor_down(cur, link, node.place + 1, NULL);
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
	u32 i;
	int err;

	err = wort_rec_key(cur->op, &wc->rec, cur->key);
	if (err)
		return err;
	for (i = first; i < wc->nr; i++)
		if (wort_key_digit(cur->key, wc->rec.key_len,
				   node_place(wc->level[i].link)) !=
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
 * as the leaf does, whatever is changed there meanwhile.  Move to the nearest
 * leaf on the right side of the key.
 */
static int cursor_approach(struct wort_cursor *cur, const struct wort_key *key,
			   u32 common)
{
	struct wrt_cursor *wc = wrt_cursor(cur);
	struct wrt_level *level = NULL;
	u32 rec_digit = wort_rec_digit(&wc->rec, common);
	u32 digit = wort_key_digit(key->data, key->len, common);
	bool above = rec_digit > digit;
	u32 nr = wc->nr, start = 0;

	while (wc->nr && node_place(wc->level[wc->nr - 1].link) > common)
		wc->nr--;
	if (wc->nr)
		level = &wc->level[wc->nr - 1];
	if (level && node_place(level->link) == common) {
		level->slot = digit;
		level->surveyed = false;
		return cursor_step(cur);
	}
	if (above == cur->reverse)
		return cursor_step(cur);
	if (wc->nr == nr)
		return 0;
	if (level)
		start = node_place(level->link) + 1;
	return cursor_down(cur, wc->level[wc->nr].link, start, NULL);
}

static bool beyond(struct wort_cursor *cur, const struct wort_key *key)
{
	int cmp = memcmp(cur->key, key->data, min(cur->key_len, key->len));

	if (!cmp)
		cmp = (int)cur->key_len - (int)key->len;
	return cur->reverse ? cmp <= 0 : cmp >= 0;
}

/*
 * A cursor needs all nodes on the way to a key, and the last of them are those that miss:
 * begin to load the first of these while it comes by the others.
 */
static __always_inline void seek_prefetch(struct wort_cursor *cur,
					  const struct wort_key *key)
{
	const struct wort_top *top = wort_tree_top(cur->tree);

	object_prefetch(cur->op, wort_top_find(top, wort_key_word(key, 0)));
}

static int wrt_seek(struct wort_cursor *cur, const struct wort_key *key)
{
	struct wrt_cursor *wc = wrt_cursor(cur);
	u32 common = WORT_KEY_DIGITS;
	u64 link;
	int err;

	if (key)
		seek_prefetch(cur, key);
	wc->nr = 0;
	memset(wc->seen, 0, sizeof(wc->seen));
	err = root_load(cur->op, cur->tree, &link);
	if (!link)
		return err ?: -ENOENT;
	err = cursor_down(cur, link, 0, key);
	if (!err && key)
		common = wort_rec_common(cur->op, &wc->rec, key);
	if (!err && common < WORT_KEY_DIGITS)
		err = cursor_approach(cur, key, common);
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
	struct wort_key last = cursor_key(cur);
	u32 common;
	int err = cursor_step(cur);

	if (err)
		return err;
	/*
	 * Neighbours part at the place where the cursor went from one to the
	 * other, and nowhere before: with the digit there this is their order.
	 */
	common = wort_rec_common(cur->op, &wc->rec, &last);
	if (common != node_place(wc->level[wc->fresh - 1].link))
		return wort_corrupt(cur->op, wc->rec.off, "keys out of order");
	cur->wanted--;
	return cursor_accept(cur, wc->fresh - 1);
}

/*
 * Pairs: records with keys of one length, which fit into a word, and values of one word.
 * The cursor comes by them without looking at each as a record.
 */
struct wrt_pair {
	__be64 key;			/* with zeroes behind */
	u64 value;
};

struct wrt_pairs {
	struct wort_cursor *cur;
	struct wort_pairs *to;
	const u32 *in_flight;
	void __pmem *base;
	u64 plain;			/* wort_region_plain() */
	u64 meta;			/* of leaves */
	__be64 mask;			/* of their keys */
	struct wrt_pair last;		/* the cursor is at it */
	u64 off;			/* of its leaf */
};

static __always_inline bool pairs_begin(struct wrt_pairs *p,
					struct wort_cursor *cur,
					struct wort_pairs *to)
{
	const struct wrt_cursor *wc = wrt_cursor(cur);
	struct wort_key key = cursor_key(cur);

	/* Where the last one was a pair the next may be one. */
	if (!wc->nr || key.len > sizeof(p->last.key) ||
	    wc->rec.kind != WORT_MEDIA_VALUE_WORD ||
	    wc->rec.value_len != sizeof(u64))
		return false;
	p->cur = cur;
	p->to = to;
	p->in_flight = cur->op->in_flight;
	p->base = wort_region_at(cur->op->region, 0);
	p->plain = wort_region_plain(cur->op->region);
	p->meta = wort_rec_word_meta(key.len);
	p->mask = cpu_to_be64(~0ULL << (64 - 8 * key.len));
	p->last.key = cpu_to_be64(wort_key_word(&key, 0));
	return p->plain;
}

/* What is the key of a leaf, if that is a pair. */
static __always_inline __be64 pair_key(const struct wrt_pairs *p, u64 off)
{
	struct wort_media_leaf __pmem *leaf = p->base + off;

	return cpu_to_be64(wort_pm_load_be64(leaf->key)) & p->mask;
}

/* Read a leaf, if that is a pair, and nothing of it is in flight. */
static __always_inline bool pair_read(const struct wrt_pairs *p, u64 off,
				      struct wrt_pair *pair)
{
	struct wort_media_leaf __pmem *leaf = p->base + off;

	if (wort_pm_load(&leaf->meta) != p->meta)
		return false;
	pair->value = wort_pm_load(&leaf->val);
	pair->key = pair_key(p, off);
	return !wort_pm_in_flight(p->in_flight, off);
}

static __always_inline void pair_pack(const struct wort_pairs *to, u8 *at,
				      const struct wrt_pair *pair)
{
	__be64 key[2] = { pair->key };
	__le64 value = cpu_to_le64(pair->value);

	memcpy(at, &to->head, sizeof(to->head));
	memcpy(at + sizeof(to->head), key, sizeof(key));
	memcpy(at + to->value_at, &value, sizeof(value));
}

/* Of the last pair that was packed, before anything is packed behind it. */
static void pair_unpack(const struct wrt_pairs *p, struct wrt_pair *pair)
{
	const struct wort_pairs *to = p->to;
	const u8 *at = to->at - to->head.rec_len;
	__le64 value;

	memcpy(&pair->key, at + sizeof(to->head), sizeof(pair->key));
	memcpy(&value, at + to->value_at, sizeof(value));
	pair->key &= p->mask;
	pair->value = le64_to_cpu(value);
}

/* Enter a node, if it is plain and its place in the word of a key. */
static struct wrt_level *pairs_enter(const struct wrt_pairs *p,
				     const struct wrt_level *above, u64 link)
{
	struct wrt_level *level;
	struct wrt_node node;

	/* Places grow and have an end, so there are levels enough. */
	if (node_place(link) <= node_place(above->link) ||
	    node_place(link) >= WORT_KEY_WORD_DIGITS ||
	    node_off(link) >= p->plain)
		return NULL;
	node_at(p->cur->op, link, &node);
	level = level_push(wrt_cursor(p->cur), &node);
	level_enter(p->cur, &node, level);
	return level;
}

/*
 * Enter nodes as long as one comes next.  The level where that is no longer so; NULL if
 * what comes is not for pairs.
 */
static __always_inline struct wrt_level *pairs_down(const struct wrt_pairs *p,
						    struct wrt_level *level)
{
	u64 at, link;

	while (level && level->ahead) {
		level->slot = slot_next(level->ahead, p->cur->reverse);
		at = node_off(level->link) + level->slot * sizeof(link);
		link = wort_pm_load(p->base + at);
		if (!link_is_node(link))
			return level;
		if (wort_pm_in_flight(p->in_flight, node_off(level->link)))
			return NULL;
		level->ahead &= ~BIT(level->slot);
		level = pairs_enter(p, level, link);
	}
	return NULL;
}

/* A leaf that a node refers to. */
struct wrt_leaf {
	u64 off;
	u64 slot;
};

/* Those ahead of a level, up to the first entry that is none. */
static __always_inline u32 leaves_ahead(const struct wrt_pairs *p,
					const struct wrt_level *level,
					bool reverse, struct wrt_leaf *leaf)
{
	const __le64 __pmem *slots = p->base + node_off(level->link);
	u32 ahead = level->ahead, slot;
	struct wrt_leaf *end = leaf;
	u64 link;

	for (; ahead; ahead = slots_after(ahead, slot, reverse)) {
		slot = slot_next(ahead, reverse);
		link = wort_pm_load(&slots[slot]);
		if (!link_is_leaf(link) || leaf_off(link) >= p->plain)
			break;
		end->off = leaf_off(link);
		end->slot = slot;
		end++;
	}
	return end - leaf;
}

static noinline u32 leaves_list(const struct wrt_pairs *p,
				const struct wrt_level *level,
				struct wrt_leaf *leaf)
{
	return p->cur->reverse ? leaves_ahead(p, level, true, leaf) :
				 leaves_ahead(p, level, false, leaf);
}

/*
 * Pack them, as long as they are pairs with these digits and that of the slot.  How many.
 * What is packed might overlap @p, for all a compiler knows: it would load that each time.
 */
static noinline u32 pairs_pack(struct wrt_pairs *p, const struct wrt_leaf *leaf,
			       u32 nr, u32 shift, u64 before)
{
	const struct wort_pairs to = *p->to;
	const struct wrt_pairs from = *p;
	struct wrt_pair pair;
	u8 *at = to.at;
	u32 i;

	for (i = 0; i < nr; i++) {
		if (!pair_read(&from, leaf[i].off, &pair) ||
		    (be64_to_cpu(pair.key) >> shift ^ before) != leaf[i].slot)
			break;
		pair_pack(&to, at, &pair);
		at += to.head.rec_len;
	}
	p->to->at = at;
	return i;
}

/*
 * Has a key the digits of the levels from the first to the one before the last, and parts
 * from the last key at the first?
 */
static bool pair_fits(const struct wrt_pairs *p, const struct wrt_level *first,
		      const struct wrt_level *last, u64 key)
{
	if ((key ^ be64_to_cpu(p->last.key)) >> (60 - 4 * node_place(first->link)) >> 4)
		return false;
	for (; first < last; first++)
		if (wort_word_digit(key, node_place(first->link)) !=
		    first->slot)
			return false;
	return true;
}

/*
 * Go on to leaves that a node refers to, as long as they are pairs.  Their keys have the
 * same digits before the place of the node, and that of the slot there, since with
 * wrt_next() in mind, this is where two neighbours part, and how.  The first of them parts
 * from the last key where the cursor went from there into nodes.
 */
static __always_inline u32 pairs_across(struct wrt_pairs *p,
					const struct wrt_level *first,
					struct wrt_level *level, u32 max)
{
	u64 off = node_off(level->link), before = be64_to_cpu(p->last.key);
	u32 shift = 60 - 4 * node_place(level->link), nr;
	struct wrt_leaf leaf[WRT_SLOTS];
	u8 *at = p->to->at;

	nr = min(leaves_list(p, level, leaf), max);
	if (nr && level != first) {
		before = be64_to_cpu(pair_key(p, leaf[0].off));
		if (!pair_fits(p, first, level, before))
			return 0;
	}
	nr = pairs_pack(p, leaf, nr, shift, before >> shift & ~0xfULL);
	/* The slots of a node have one mark. */
	if (!nr || wort_pm_in_flight(p->in_flight, off)) {
		p->to->at = at;
		return 0;
	}
	pair_unpack(p, &p->last);
	p->off = leaf[nr - 1].off;
	level->slot = leaf[nr - 1].slot;
	level->ahead &= slots_behind(level->slot, p->cur->reverse);
	return nr;
}

/* Go on to pairs from a level on.  If they are none the cursor stays where it was. */
static __always_inline u32 pairs_from(struct wrt_pairs *p,
				      struct wrt_level *first, u32 max)
{
	struct wrt_cursor *wc = wrt_cursor(p->cur);
	struct wrt_level before = *first, *level = pairs_down(p, first);
	u32 entered, more = 0;

	if (level)
		more = pairs_across(p, first, level, max);
	entered = wc->nr - (first + 1 - wc->level);
	if (more) {
		wort_count(p->cur->op, nodes, entered);
		wort_count(p->cur->op, more_loads, entered * (WRT_LINES - 1));
	} else {
		*first = before;
		wc->nr -= entered;
	}
	return more;
}

/* The level on which the cursor goes on; NULL: pairs are not known to be there. */
static struct wrt_level *pairs_level(struct wrt_cursor *wc)
{
	struct wrt_level *level;

	for (; wc->nr; wc->nr--) {
		level = &wc->level[wc->nr - 1];
		if (!level->surveyed ||
		    node_place(level->link) >= WORT_KEY_WORD_DIGITS)
			return NULL;
		if (level->ahead)
			return level;
	}
	return NULL;
}

/* The cursor is at the last pair. */
static void pairs_end(const struct wrt_pairs *p, u32 nr)
{
	struct wort_cursor *cur = p->cur;
	struct wrt_cursor *wc = wrt_cursor(cur);

	wort_count(cur->op, leaves, nr);
	memcpy(cur->key, &p->last.key, sizeof(p->last.key));
	cur->value_len = sizeof(u64);
	wc->rec = (struct wort_rec){
		.leaf = p->base + p->off,
		.off = p->off,
		.val = p->last.value,
		.kind = WORT_MEDIA_VALUE_WORD,
		.key_len = cur->key_len,
		.value_len = sizeof(u64),
	};
	wc->fresh = wc->nr;
}

static u32 wrt_next_pairs(struct wort_cursor *cur, struct wort_pairs *pairs,
			  u32 max)
{
	struct wrt_level *level;
	struct wrt_pairs p;
	u32 nr = 0, more;

	if (!pairs_begin(&p, cur, pairs))
		return 0;
	while (nr < max) {
		level = pairs_level(wrt_cursor(cur));
		if (!level)
			break;
		more = pairs_from(&p, level, max - nr);
		if (!more)
			break;
		cur->wanted -= more;
		nr += more;
	}
	if (nr)
		pairs_end(&p, nr);
	return nr;
}

/*
 * The way to the slot that a cursor took last: what its last move could not read, if
 * it failed with -EIO, is what that slot refers to.
 */
static int cursor_path(struct wort_cursor *cur, struct wrt_path *path)
{
	struct wrt_cursor *wc = wrt_cursor(cur);
	struct wrt_node node;
	u32 i;
	int err;

	*path = (struct wrt_path){ .slot = &cur->tree->root[0] };
	err = root_load(cur->op, cur->tree, &path->link);
	for (i = 0; i < wc->nr; i++) {
		node_at(cur->op, wc->level[i].link, &node);
		path->node_slot = path->slot;
		path->node = node.link;
		path->start = node.place + 1;
		path->slot = &node.media->slot[wc->level[i].slot];
		path->link = wort_pm_load(path->slot);
	}
	return err;
}

/* Can what a link refers to not be read? */
static bool link_is_lost(struct wort_op *op, u64 link, u32 start)
{
	struct wrt_node node;
	struct wort_rec rec;

	return link && (link_is_node(link) ?
			node_verify(op, link, start, &node) :
			wort_rec_peek(op, leaf_off(link), &rec)) == -EIO;
}

/*
 * As a removal, of a record or of all that is below a node: nothing of it is read.  Its
 * node may go, too, and the other entry, which moves up, be lost as well: that is for
 * the next time.
 */
static int wrt_drop(struct wort_cursor *cur)
{
	struct wrt_change c = { .kind = WRT_REMOVE };
	struct wort_op *op = cur->op;
	int err = cursor_path(cur, &c.path);

	if (err)
		return err;
	if (!link_is_lost(op, c.path.link, c.path.start))
		return -EAGAIN;
	c.rec.off = node_off(c.path.link);
	err = path_lock(op, &c.path, &c.rec, c.path.node);
	if (err)
		return err;
	err = unlink_locked(op, cur->tree, &c);
	if (!err)
		wort_pm_land(op, c.lock, c.word);
	wort_nodes_unlock(op);
	if (err)
		return err;
	if (c.merged)
		node_free(op, c.path.node);
	op->bad_off = c.rec.off;
	return 0;
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
		err = visitor->visit(visitor, cur->op,
				     node_off(wc->level[i].link),
				     sizeof(struct wort_media_wort_node), false);
		if (err)
			return err;
	}
	return wort_rec_visit(cur->op, &wc->rec, visitor);
}

/* Examine a node that the cursor has just entered. */
static int check_node(struct wort_cursor *cur, const struct wrt_level *level)
{
	struct wrt_node node;
	u64 link;
	u32 nr;

	node_at(cur->op, level->link, &node);
	nr = other_entries(cur->op, &node, NULL, &link);
	return nr < 2 ? wort_corrupt(cur->op, node_off(node.link),
				     "node with %u entries", nr) : 0;
}

static int wrt_check(struct wort_cursor *cur)
{
	struct wrt_cursor *wc = wrt_cursor(cur);
	int err = 0;
	u32 i;

	for (i = wc->fresh; i < wc->nr && !err; i++)
		err = check_node(cur, &wc->level[i]);
	return err;
}

const struct wort_engine wort_engine_wort = {
	.name = "wort",
	.id = WORT_MEDIA_ENGINE_WORT,
	.traits = WORT_ENGINE_INSTANT_OPEN | WORT_ENGINE_MAPPABLE,
	.cursor_size = sizeof(struct wrt_cursor),
	.create = wrt_create,
	.look = wrt_look,
	.lookup = wrt_lookup,
	.put = wrt_put,
	.set = wrt_set,
	.set_costs = {
		[WORT_SET_NEW] = { WORT_OP_INSERT, .stores = 4, .lines = 2, .fences = 2 },
		[WORT_SET_BESIDE] = { WORT_OP_INSERT, .stores = 4 + WRT_SLOTS + 2,
				      .lines = 2 + WRT_LINES, .fences = 2, .leaves = 1 },
		[WORT_SET_VALUE] = { WORT_OP_UPDATE, .stores = 1, .lines = 1, .fences = 1,
				     .leaves = 1 },
	},
	.remove = wrt_remove,
	.prepare_put = wrt_prepare_put,
	.prepare_remove = wrt_prepare_remove,
	.commit = wrt_commit,
	.finish = wrt_finish,
	.warm = wrt_warm,
	.look_ahead = wrt_look_ahead,
	.top_shape = wrt_top_shape,
	.top_fill = wrt_top_fill,
	.seek = wrt_seek,
	.next = wrt_next,
	.next_pairs = wrt_next_pairs,
	.value = wrt_value,
	.owned = wrt_owned,
	.drop = wrt_drop,
	.check = wrt_check,
};
