// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The fast paths of WORT: lookups, puts and removals without an operation, see
 * radix_fast.h, and prefetching.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "radix_fast.h"
#include "wort.h"

static int wrt_fast_lookup(const struct wort_tree *tree,
			   const struct wort_key *key, struct wort_buf *buf,
			   struct wort_index_stats __percpu *stats)
{
	if (likely(key->len == sizeof(u64)))
		return rdx_fast_lookup(wrt_descend, tree, key, sizeof(u64), buf,
				       stats);
	return wort_key_valid(key) ?
	       rdx_fast_lookup(wrt_descend, tree, key, key->len, buf, stats) :
				     -EAGAIN;
}

/*
 * Write a node with the new record and the one in the slot, whose key is
 * @other, and flush it.  Returns the link to it.
 */
static __always_inline u64 fast_node(struct rdx_fast *fast, u64 off, u32 place,
				     u64 record, u64 other)
{
	struct wort_media_wort_node __pmem *node =
		wort_region_at(fast->op.region, off);

	wort_pm_clear(&fast->op, node->slot, WRT_SLOTS);
	wort_pm_store(&fast->op, &node->slot[wort_word_digit(other, place)],
		      fast->d.pos.link);
	wort_pm_store(&fast->op,
		      &node->slot[wort_word_digit(fast->d.word, place)],
		      record);
	wort_pm_flush_now(&fast->op, node, sizeof(*node));
	return wrt_link(off, place);
}

static __always_inline int fast_in_slot(struct rdx_fast *fast)
{
	struct wort_lock *lock;
	u64 record;

	if (unlikely(fast->d.pos.skip))
		return -EAGAIN;
	if (unlikely(!wort_alloc_reserve_ready(&fast->op, RDX_WORD_RECORD)))
		return rdx_fast_give_up(fast);
	record = rdx_fast_record(fast, fast->op.reserved[0]);
	wort_pm_fence_now(&fast->op);
	lock = rdx_fast_lock(fast, wrt_slot_node(fast->d.pos.slot));
	if (unlikely(!lock))
		return rdx_fast_give_up(fast);
	rdx_fast_word(fast, lock, rdx_fast_slot(fast), record, RDX_IN_SLOT);
	wort_node_release(lock);
	return 0;
}

/* @other: the key of the record at which the descent has ended. */
static __always_inline int fast_beside(struct rdx_fast *fast, u64 other)
{
	u32 place = (64 - fls64(fast->d.word ^ other)) / 4;
	struct wort_lock *lock;
	u64 link;

	if (unlikely(place < fast->d.pos.start))
		return -EAGAIN;
	if (unlikely(!wort_alloc_reserve_ready(&fast->op, RDX_WORD_RECORD) ||
		     !wort_alloc_reserve_ready(&fast->op,
					       sizeof(struct wort_media_wort_node))))
		return rdx_fast_give_up(fast);
	link = rdx_fast_record(fast, fast->op.reserved[0]);
	link = fast_node(fast, fast->op.reserved[1], place, link, other);
	wort_pm_fence_now(&fast->op);
	lock = rdx_fast_lock(fast, wrt_slot_node(fast->d.pos.slot));
	if (unlikely(!lock))
		return rdx_fast_give_up(fast);
	rdx_fast_launch_node(fast, lock, link);
	wort_node_release(lock);
	return 0;
}

static __always_inline int fast_at_record(struct rdx_fast *fast)
{
	struct wort_media_leaf __pmem *leaf;
	u64 key;

	leaf = rdx_fast_found(&fast->d, &key);
	if (unlikely(!leaf))
		return -EAGAIN;
	return key == fast->d.word ? rdx_fast_value(fast, leaf) :
				     fast_beside(fast, key);
}

static int wrt_fast_put(struct wort_tree *tree, struct wort_put *put,
			struct wort_index_stats __percpu *stats)
{
	struct rdx_fast fast __uninitialized;

	if (put->key.len != sizeof(u64) || put->value.len != sizeof(u64) ||
	    put->replace || put->expect || put->old)
		return -EAGAIN;
	rdx_fast_begin(&fast, tree, put, stats);
	if (!rdx_fast_find(wrt_descend, &fast.d, tree, &put->key, true))
		return -EAGAIN;
	put->replaced = false;
	return fast.d.pos.link ? fast_at_record(&fast) : fast_in_slot(&fast);
}

/*
 * The node goes, too: lock the one above, and verify its slot and the entry
 * @link, which moves up.
 */
static __always_inline bool removal_merges(struct rdx_fast *fast,
					   struct rdx_removal *r, u64 link)
{
	const struct rdx_pos *pos = &fast->d.pos;
	u64 off = wort_link_off(link);

	if (!rdx_fast_find_above(wrt_descend, fast) ||
	    !(wort_link_is_record(link) ||
	      (wrt_link_is_node(link) && off < fast->d.plain &&
	       wort_link_place_valid(link, pos->start))))
		return false;
	r->node_spot = wort_alloc_find(fast->tree->alloc,
				       wort_link_off(pos->node),
				       sizeof(struct wort_media_wort_node));
	r->above = wort_node_try(&fast->op, wrt_slot_node(pos->above));
	return r->node_spot.slots && r->above &&
	       wort_pm_load(fast->d.base + pos->above) == pos->node;
}

/* As rdx_unlink_locked(), with the locks before it and the frees after it. */
static __always_inline bool removal_launch(struct rdx_fast *fast,
					   struct rdx_removal *r)
{
	struct wort_alloc *alloc = fast->tree->alloc;
	u32 nr = 2, lines = 0;
	u64 link = 0;

	r->record_spot = wort_alloc_find(alloc, r->c.rec.off, RDX_WORD_RECORD);
	if (!rdx_removal_lock(fast, r, wrt_slot_node(fast->d.pos.slot)) ||
	    !r->record_spot.slots)
		return false;
	if (likely(fast->d.pos.node))
		nr = wrt_entries(fast->d.base + wort_link_off(fast->d.pos.node),
				 wrt_slot_nr(&fast->d.pos), &link, &lines);
	r->c.merges = nr == 1;
	if (!nr || (r->c.merges && !removal_merges(fast, r, link)))
		return false;
	r->c.pos = fast->d.pos;
	rdx_unlink(&fast->op, fast->tree, &r->c, link, fast->d.word);
	wort_alloc_free_found(alloc, r->record_spot);
	if (r->c.merges)
		wort_alloc_free_found(alloc, r->node_spot);
	wort_fast_loads(fast->stats, WORT_OP_DELETE, lines);
	return true;
}

static int wrt_fast_remove(struct wort_tree *tree, const struct wort_del *del,
			   struct wort_index_stats __percpu *stats)
{
	return rdx_fast_remove(wrt_descend, removal_launch, tree, del, stats);
}

/*
 * Prefetch the path of one key.  A processor runs ahead of a fence, but not
 * far: while it waits for the last fence of the operation before, it gets to
 * this, not to the descent.
 */
static void prefetch_key(const struct wort_tree *tree,
			 const struct wort_key *key)
{
	struct rdx_descent d __uninitialized;

	rdx_descent_init(&d, NULL, tree, wort_tree_top(tree), key,
			 wort_key_word(key, 0), tree->in_flight);
	if (!rdx_descent_begin(&d) &&
	    !wrt_descend(&d, WORT_KEY_WORD_DIGITS, false))
		wrt_prefetch(d.base, d.plain, d.pos.link);
}

/* The path to a key: a slot on it, whose line is being loaded, or NULL. */
struct wrt_path {
	const __le64 __pmem *slot;
	u64 word;
	u32 start;
};

static void path_follow(const struct wort_tree *tree,
			const struct wort_key *key, u64 link,
			struct wrt_path *path)
{
	u64 plain = wort_region_plain(tree->region), off = wort_link_off(link);
	u32 place = wort_link_place(link);

	path->slot = NULL;
	if (!wrt_link_is_node(link))
		wrt_prefetch(wort_region_at(tree->region, 0), plain, link);
	if (!wrt_link_is_node(link) || off >= plain ||
	    !wort_link_place_valid(link, path->start))
		return;
	path->slot = wort_region_at(tree->region, off) +
		     wort_radix_digit(key, path->word, place) * sizeof(link);
	path->start = place + 1;
	wort_pm_prefetch(path->slot);
}

static void path_begin(const struct wort_tree *tree, const struct wort_key *key,
		       struct wrt_path *path)
{
	u64 word = wort_key_word(key, 0);
	u64 link = wort_top_find(wort_tree_top(tree), word);

	*path = (struct wrt_path){ wort_tree_root(tree), word, 0 };
	if (link)
		path_follow(tree, key, link, path);
}

/*
 * Follow all paths, a step of each at a time, so that many lines are loaded at
 * once.
 */
static void prefetch_many(const struct wort_tree *tree,
			  const struct wort_key *keys, u32 nr)
{
	struct wrt_path path[WORT_PREFETCH_MAX] __uninitialized;
	u32 i, going = nr;

	for (i = 0; i < nr; i++)
		path_begin(tree, &keys[i], &path[i]);
	while (going)
		for (i = going = 0; i < nr; i++)
			if (path[i].slot) {
				path_follow(tree, &keys[i],
					    wort_pm_load(path[i].slot),
					    &path[i]);
				going++;
			}
}

/*
 * @prefetch_keys of struct wort_engine.  Nothing that is read here is trusted
 * or answered.
 */
void wrt_prefetch_keys(const struct wort_tree *tree,
		       const struct wort_key *keys, u32 nr)
{
	if (!wort_region_plain(tree->region))
		return;
	if (nr == 1)
		prefetch_key(tree, keys);
	else
		prefetch_many(tree, keys, nr);
}

const struct wort_fast_ops wrt_fast_ops = {
	.lookup = wrt_fast_lookup,
	.put = wrt_fast_put,
	.remove = wrt_fast_remove,
	.class = {
		[RDX_FOUND] = { WORT_OP_LOOKUP, .leaves = 1 },
		[RDX_IN_SLOT] = { WORT_OP_INSERT, .stores = 4, .lines = 2, .fences = 2 },
		[RDX_BESIDE] = { WORT_OP_INSERT, .stores = 4 + WRT_SLOTS + 2,
				 .lines = 2 + WRT_LINES, .fences = 2, .leaves = 1 },
		[RDX_VALUE] = { WORT_OP_UPDATE, .stores = 1, .lines = 1, .fences = 1,
				.leaves = 1 },
		[RDX_GONE] = { WORT_OP_DELETE, .stores = 1, .lines = 1, .fences = 1,
			       .leaves = 1 },
	},
};
