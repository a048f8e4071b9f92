// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The fast paths of an adaptive radix tree: lookups, puts and removals without
 * an operation, see radix_fast.h, and prefetching.
 */
#include <linux/kernel.h>

#include "art_copy.h"
#include "radix_fast.h"

int art_fast_lookup(const struct wort_tree *tree, const struct wort_key *key,
		    struct wort_buf *buf,
		    struct wort_index_stats __percpu *stats)
{
	if (likely(key->len == sizeof(u64)))
		return rdx_fast_lookup(art_descend, tree, key, sizeof(u64), buf, stats);
	return wort_key_valid(key) ?
	       rdx_fast_lookup(art_descend, tree, key, key->len, buf, stats) : -EAGAIN;
}

/* The byte of the key in the node of its slot. */
static __always_inline u32 fast_byte(const struct rdx_fast *fast)
{
	return art_key_byte(fast->d.key, fast->d.word,
			    wort_link_place(fast->d.pos.node));
}

static __always_inline u64 fast_owner(const struct rdx_fast *fast)
{
	return rdx_slot_node(fast->d.pos.node, fast->d.pos.slot);
}

/* Lock the node, and map the byte to a slot. */
static __always_inline struct wort_lock *fast_map(struct rdx_fast *fast,
						  __le64 __pmem **slot)
{
	u64 node = fast->d.pos.node;
	struct wort_lock *lock = wort_node_hold(&fast->op, wort_link_off(node));
	struct art_node at;

	if (unlikely(!lock))
		return NULL;
	art_node_at(&fast->op, node, &at);
	*slot = NULL;
	if (likely(!art_slot(fast->d.base, node, fast_byte(fast))))
		*slot = art_node_map(&fast->op, &at, fast_byte(fast));
	if (unlikely(!*slot)) {
		wort_node_release(lock);
		return NULL;
	}
	wort_fast_stores(fast->stats, WORT_OP_INSERT, 1, 0);
	return lock;
}

static __always_inline int fast_in_slot(struct rdx_fast *fast)
{
	__le64 __pmem *slot = rdx_fast_slot(fast);
	bool mapped = fast->d.pos.slot;
	struct wort_lock *lock;
	u64 record;

	if (unlikely(!wort_alloc_reserve_ready(&fast->op, RDX_WORD_RECORD)))
		return rdx_fast_give_up(fast);
	record = rdx_fast_record(fast, fast->op.reserved[0]);
	wort_pm_fence_now(&fast->op);
	lock = mapped ? rdx_fast_lock(fast, fast_owner(fast)) :
			fast_map(fast, &slot);
	if (unlikely(!lock))
		return rdx_fast_give_up(fast);
	rdx_fast_word(fast, lock, slot, record, RDX_IN_SLOT);
	wort_node_release(lock);
	return 0;
}

/*
 * Write an N7 with the new record and the one in the slot, whose key is @other,
 * and flush it.  Returns the link to it.
 */
static __always_inline u64 fast_node(struct rdx_fast *fast, u64 off, u32 place,
				     u64 record, u64 other)
{
	struct wort_media_art_line __pmem *line =
		wort_region_at(fast->op.region, off);
	struct art_entry below = { other << 4 * place >> 56, fast->d.pos.link };
	struct art_entry new = { fast->d.word << 4 * place >> 56, record };

	art_pair_write(&fast->op, line, below, new);
	wort_pm_flush_now(&fast->op, line, sizeof(*line));
	return art_link(off, WORT_MEDIA_ART_KIND_N7, place);
}

/* @other: the key of the record at which the descent has ended. */
static __always_inline int fast_beside(struct rdx_fast *fast, u64 other)
{
	u32 place = round_down((64 - fls64(fast->d.word ^ other)) / 4,
			       ART_BYTE_DIGITS);
	struct wort_lock *lock;
	u64 link;

	if (unlikely(place < fast->d.pos.start))
		return -EAGAIN;
	if (unlikely(!wort_alloc_reserve_ready(&fast->op, RDX_WORD_RECORD) ||
		     !wort_alloc_reserve_ready(&fast->op,
					       sizeof(struct wort_media_art_line))))
		return rdx_fast_give_up(fast);
	link = rdx_fast_record(fast, fast->op.reserved[0]);
	link = fast_node(fast, fast->op.reserved[1], place, link, other);
	wort_pm_fence_now(&fast->op);
	lock = rdx_fast_lock(fast, fast_owner(fast));
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

/*
 * The node goes: lock the one above, and verify its slot.  No lock is waited
 * for, see rdx_removal_lock().
 */
static __always_inline bool above_lock(struct rdx_fast *fast,
				       struct rdx_removal *r)
{
	const struct rdx_pos *pos = &fast->d.pos;

	r->node_spot = wort_alloc_find(fast->tree->alloc,
				       wort_link_off(pos->node),
				       art_node_size(art_link_kind(pos->node)));
	r->above = wort_node_try(&fast->op,
				 rdx_slot_node(pos->above_node, pos->above));
	return r->node_spot.slots && r->above &&
	       wort_pm_load(fast->d.base + pos->above) == pos->node;
}

#define SMALL_WORDS	(4 * WORT_LINE / sizeof(__le64))	/* of an N28 */

/*
 * A copy of a small node, with the new record.
 * @node: the node
 * @was: it, as it was when it was copied
 * @free: the slot of the new byte in its line; WORT_MEDIA_ART_LINE_SLOTS: the
 *	line is full
 * @list: if so the entries of the copy
 * @kind: of the copy
 * @link: to the copy
 * @stores: words that were stored to it
 * @lines: lines of it that were flushed
 */
struct fast_copy {
	struct art_node node;
	__le64 was[SMALL_WORDS];
	u32 free;
	struct art_entries list;
	u32 kind;
	u64 link;
	u64 stores;
	u64 lines;
};

static __always_inline u32 copy_words(const struct fast_copy *copy)
{
	return art_node_size(copy->node.kind) / sizeof(__le64);
}

/*
 * Load the node.  False: it has a slot for the byte now, or is copied to an
 * N256, or has to grow and its map is damaged.
 */
static __always_inline bool copy_plan(struct fast_copy *copy, u32 byte)
{
	const __le64 __pmem *words = copy->node.media;
	struct art_node was = copy->node;
	u32 i;

	for (i = 0; i < copy_words(copy); i++)
		copy->was[i] = cpu_to_le64(wort_pm_load(&words[i]));
	was.media = (__force void __pmem *)copy->was;
	copy->free = art_line_free(art_line(&was, byte));
	copy->kind = copy->node.kind;
	if (art_line_match(wort_pm_load(&art_line(&was, byte)->map), byte))
		return false;
	if (copy->free < WORT_MEDIA_ART_LINE_SLOTS)
		return true;
	if (!art_others_list(&was, byte, &copy->list))
		return false;
	art_entries_add(&copy->list, byte, 0);
	copy->kind = art_kind_for(&copy->list);
	return copy->kind < WORT_MEDIA_ART_KIND_N256;
}

/* As the node is, with one byte more. */
static __always_inline void copy_write_same(struct rdx_fast *fast,
					    const struct fast_copy *copy,
					    __le64 __pmem *media, u64 record)
{
	u32 byte = fast_byte(fast), i;
	u32 map = art_line_of(copy->kind, byte) * (WORT_LINE / sizeof(__le64));
	u64 word;

	for (i = 0; i < copy_words(copy); i++) {
		word = le64_to_cpu(copy->was[i]);
		if (i == map)
			word = art_map_with(word, copy->free, byte);
		if (i == map + 1 + copy->free)
			word = record;
		wort_pm_store(&fast->op, &media[i], word);
	}
}

/* Write the record and the copy, and flush both. */
static __always_inline void copy_write(struct rdx_fast *fast,
				       struct fast_copy *copy)
{
	u64 record = rdx_fast_record(fast, fast->op.reserved[0]);
	u64 off = fast->op.reserved[1];
	u64 stores = fast->op.n.stores, lines = fast->op.n.lines;
	void __pmem *media = wort_region_at(fast->op.region, off);

	copy->link = art_link(off, copy->kind, copy->node.place);
	if (copy->free < WORT_MEDIA_ART_LINE_SLOTS) {
		copy_write_same(fast, copy, media, record);
	} else {
		copy->list.added = record;
		art_lines_write(&fast->op, media, copy->kind, &copy->list,
				(__force const __le64 __pmem *)copy->was);
	}
	wort_pm_flush_now(&fast->op, media, art_node_size(copy->kind));
	copy->stores = fast->op.n.stores - stores;
	copy->lines = fast->op.n.lines - lines;
}

/* The node is locked: is it as it was when it was copied? */
static __always_inline bool copy_valid(const struct fast_copy *copy)
{
	const __le64 __pmem *words = copy->node.media;
	u32 i;

	for (i = 0; i < copy_words(copy); i++)
		if (wort_pm_load(&words[i]) != le64_to_cpu(copy->was[i]))
			return false;
	return true;
}

/* As launch_copy(), with the free after it. */
static __always_inline bool copy_launch(struct rdx_fast *fast,
					struct rdx_removal *r,
					const struct fast_copy *copy)
{
	const struct rdx_pos *pos = &fast->d.pos;
	u64 off = wort_link_off(pos->node);

	r->record = NULL;
	r->above = NULL;
	r->node = wort_node_try(&fast->op, off);
	if (!r->node || !above_lock(fast, r) || !copy_valid(copy))
		return false;
	if (copy->node.place > art_end(pos->above_node))
		wort_skips_learn(fast->d.top->skips, copy->link,
				 wort_word_before(fast->d.word,
						  copy->node.place));
	rdx_tree_grows(fast->tree, wort_link_off(copy->link), fast->d.word);
	r->c.top = rdx_top_merge(fast->tree, pos->node, fast->d.word);
	rdx_slot_store(&fast->op, &r->c, pos->above_node, pos->above,
		       copy->link);
	wort_nodes_removed(&fast->op, off, 0);
	wort_alloc_free_found(fast->tree->alloc, r->node_spot);
	return true;
}

static __always_inline int copy_commit(struct rdx_fast *fast,
				       const struct fast_copy *copy)
{
	struct wort_alloc *alloc = fast->tree->alloc;
	struct rdx_removal r __uninitialized;
	bool launched;

	wort_alloc_lock(alloc);
	launched = copy_launch(fast, &r, copy);
	wort_alloc_unlock(alloc);
	if (likely(launched)) {
		wort_fast_stores(fast->stats, WORT_OP_INSERT, copy->stores,
				 copy->lines);
		rdx_fast_land(fast, r.c.lock, r.c.word, RDX_IN_SLOT);
		if (wort_link_place(copy->link) ==
		    art_end(fast->d.pos.above_node))
			wort_skips_forget(fast->d.top->skips, copy->link);
		rdx_top_enter(r.c.top, copy->link, fast->d.word);
	}
	rdx_removal_unlock(&r);
	return launched ? 0 : rdx_fast_give_up(fast);
}

/*
 * A put for which a small node is copied.  It descends once more, from the
 * root, to know the slot above, which changes; a damaged table of the top may
 * have led to another node.  It is a function of its own, so that the other
 * puts keep their registers.
 * @node: the link to the node
 * @nr_nodes: nodes entered on the way to it
 */
static noinline int fast_put_copy(struct wort_tree *tree, struct wort_put *put,
				  struct wort_index_stats __percpu *stats,
				  u64 node, u32 nr_nodes)
{
	struct rdx_fast fast __uninitialized;
	struct fast_copy copy __uninitialized;

	rdx_fast_begin(&fast, tree, put, stats);
	if (!rdx_fast_find_root(art_descend, &fast.d, tree, &put->key) ||
	    fast.d.pos.node != node || fast.d.pos.slot)
		return -EAGAIN;
	fast.d.nr_nodes += nr_nodes;
	art_node_at(&fast.op, node, &copy.node);
	if (!copy_plan(&copy, fast_byte(&fast)))
		return -EAGAIN;
	if (!wort_alloc_reserve_ready(&fast.op, RDX_WORD_RECORD) ||
	    !wort_alloc_reserve_ready(&fast.op, art_node_size(copy.kind)))
		return rdx_fast_give_up(&fast);
	copy_write(&fast, &copy);
	wort_pm_fence_now(&fast.op);
	return copy_commit(&fast, &copy);
}

static __always_inline int fast_put(struct wort_tree *tree,
				    struct wort_put *put,
				    struct wort_index_stats __percpu *stats,
				    u32 maps)
{
	struct rdx_fast fast __uninitialized;
	struct art_node node;

	if (put->key.len != sizeof(u64) || put->value.len != sizeof(u64) ||
	    put->replace || put->expect || put->old)
		return -EAGAIN;
	rdx_fast_begin(&fast, tree, put, stats);
	if (!rdx_fast_find(art_descend, &fast.d, tree, &put->key, true))
		return -EAGAIN;
	put->replaced = false;
	if (fast.d.pos.link)
		return fast_at_record(&fast);
	if (unlikely(fast.d.pos.skip))
		return -EAGAIN;
	if (likely(fast.d.pos.slot))
		return fast_in_slot(&fast);
	art_node_at(&fast.op, fast.d.pos.node, &node);
	if (maps & BIT(node.kind) && art_node_maps(&node, fast_byte(&fast)))
		return fast_in_slot(&fast);
	if (!art_is_small(node.kind))
		return -EAGAIN;
	return fast_put_copy(tree, put, stats, fast.d.pos.node,
			     fast.d.nr_nodes);
}

int art_fast_put(struct wort_tree *tree, struct wort_put *put,
		 struct wort_index_stats __percpu *stats)
{
	return fast_put(tree, put, stats, ART_MAPS_ALL);
}

int art_fast_put_copies(struct wort_tree *tree, struct wort_put *put,
			struct wort_index_stats __percpu *stats)
{
	return fast_put(tree, put, stats, ART_MAPS_FROM_N28);
}

/*
 * The node goes, too.  Verify the entry @link, which moves up: the slot above
 * gets it.
 */
static __always_inline bool removal_merges(struct rdx_fast *fast,
					   struct rdx_removal *r, u64 link)
{
	u64 off = wort_link_off(link);

	return rdx_fast_find_above(art_descend, fast) &&
	       (wort_link_is_record(link) ||
		(art_link_is_node(link) && off < fast->d.plain &&
		 art_place_valid(link, fast->d.pos.start))) &&
	       above_lock(fast, r);
}

/*
 * Count the entries that stay in the node of the slot, up to 2.  0: an
 * operation has to do the removal, since the node may become a smaller one, or
 * is damaged.
 */
static __always_inline u32 removal_stay(struct rdx_fast *fast, u64 *link)
{
	struct art_node node;

	art_node_at(&fast->op, fast->d.pos.node, &node);
	return art_is_sparse(&node, fast_byte(fast)) ?
		       0 : art_count_others(&node, fast_byte(fast), 2, link);
}

/* As rdx_unlink_locked(), with the locks before it and the frees after it. */
static __always_inline bool removal_launch(struct rdx_fast *fast,
					   struct rdx_removal *r)
{
	struct wort_alloc *alloc = fast->tree->alloc;
	u64 link = 0;
	u32 nr = 2;

	r->record_spot = wort_alloc_find(alloc, r->c.rec.off, RDX_WORD_RECORD);
	if (!rdx_removal_lock(fast, r, fast_owner(fast)) ||
	    !r->record_spot.slots)
		return false;
	if (likely(fast->d.pos.node))
		nr = removal_stay(fast, &link);
	r->c.merges = nr == 1;
	if (!nr || (r->c.merges && !removal_merges(fast, r, link)))
		return false;
	r->c.pos = fast->d.pos;
	rdx_unlink(&fast->op, fast->tree, &r->c, link, fast->d.word);
	wort_alloc_free_found(alloc, r->record_spot);
	if (r->c.merges)
		wort_alloc_free_found(alloc, r->node_spot);
	return true;
}

int art_fast_remove(struct wort_tree *tree, const struct wort_del *del,
		    struct wort_index_stats __percpu *stats)
{
	return rdx_fast_remove(art_descend, removal_launch, tree, del, stats);
}

/*
 * Prefetch what the descent of a key loads of a node before it knows the slot.
 */
static void node_prefetch(const struct wort_tree *tree, u64 link, u32 byte)
{
	const void __pmem *media = wort_region_at(tree->region,
						  wort_link_off(link));
	u32 kind = art_link_kind(link);

	wort_pm_prefetch(media + (kind == WORT_MEDIA_ART_KIND_N256 ?
				  byte * sizeof(u64) :
				  art_line_of(kind, byte) *
					  sizeof(struct wort_media_art_line)));
}

/* The path to a key: a link to a node whose map is being loaded, or 0. */
struct art_path {
	u64 node;
	u64 word;
	u32 start;
};

static void path_enter(const struct wort_tree *tree, const struct wort_key *key,
		       struct art_path *path, u64 link)
{
	u64 plain = wort_region_plain(tree->region), off = wort_link_off(link);

	path->node = 0;
	if (off >= plain)
		return;
	if (!art_link_is_node(link)) {
		wort_pm_prefetch(wort_region_at(tree->region, off));
		return;
	}
	if (!art_place_valid(link, path->start))
		return;
	path->node = link;
	path->start = wort_link_place(link);
	node_prefetch(tree, link, art_key_byte(key, path->word, path->start));
}

static void path_begin(const struct wort_tree *tree, const struct wort_key *key,
		       struct art_path *path)
{
	u64 word = wort_key_word(key, 0);
	u64 link = wort_top_find(wort_tree_top(tree), word);

	*path = (struct art_path){ .word = word };
	path_enter(tree, key, path, link ?: wort_pm_load(wort_tree_root(tree)));
}

static void path_follow(const struct wort_tree *tree,
			const struct wort_key *key, struct art_path *path)
{
	void __pmem *base = wort_region_at(tree->region, 0);
	u64 slot = art_slot(base, path->node,
			    art_key_byte(key, path->word, path->start));

	path->start += ART_BYTE_DIGITS;
	path_enter(tree, key, path, slot ? wort_pm_load(base + slot) : 0);
}

/*
 * @prefetch_keys of struct wort_engine.  Follows all paths, a step of each at a
 * time, so that many lines are loaded at once.  Nothing that is read here is
 * trusted or answered.
 */
void art_prefetch_keys(const struct wort_tree *tree,
		       const struct wort_key *keys, u32 nr)
{
	struct art_path path[WORT_PREFETCH_MAX] __uninitialized;
	u32 i, going = nr;

	if (!wort_region_plain(tree->region))
		return;
	for (i = 0; i < nr; i++)
		path_begin(tree, &keys[i], &path[i]);
	while (going)
		for (i = going = 0; i < nr; i++)
			if (path[i].node) {
				path_follow(tree, &keys[i], &path[i]);
				going++;
			}
}
