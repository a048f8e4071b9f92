// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The fast paths of an adaptive radix tree: lookups, puts and removals without
 * an operation, see radix_fast.h, and prefetching.
 */
#include <linux/kernel.h>

#include "art_copy.h"
#include "radix_fast.h"

int art_fast_lookup(const struct wort_tree *tree, const struct wort_key *key,
		    struct wort_buf *buf, struct wort_index_stats __percpu *stats)
{
	if (likely(key->len == sizeof(u64)))
		return rdx_fast_lookup(art_descend, tree, key, sizeof(u64), buf, stats);
	return wort_key_valid(key) ?
	       rdx_fast_lookup(art_descend, tree, key, key->len, buf, stats) : -EAGAIN;
}

/* The byte of the key in the node of its slot. */
static __always_inline u32 fast_byte(const struct rdx_fast *fast)
{
	return art_key_byte(fast->d.key, fast->d.word, wort_link_place(fast->d.pos.node));
}

static __always_inline u64 fast_owner(const struct rdx_fast *fast)
{
	return rdx_slot_node(fast->d.pos.node, fast->d.pos.slot);
}

/*
 * Lock the node, and map the byte to a slot.  What that stores is counted here,
 * since it differs from kind to kind.
 */
static __always_inline struct wort_lock *fast_map(struct rdx_fast *fast,
						  __le64 __pmem **slot)
{
	u64 node = fast->d.pos.node, was = fast->op.n.stores, lines = fast->op.n.lines;
	struct wort_lock *lock = wort_node_hold(&fast->op, wort_link_off(node));
	struct art_mapped mapped = { };
	struct art_node at;

	if (unlikely(!lock))
		return NULL;
	art_node_at(&fast->op, node, &at);
	if (likely(!art_slot(fast->d.base, node, fast_byte(fast))))
		mapped = art_node_map(&fast->op, &at, fast_byte(fast));
	*slot = mapped.slot;
	if (unlikely(!mapped.slot)) {
		wort_node_release(lock);
		return NULL;
	}
	if (wort_pm_lines_differ(mapped.word, mapped.slot))
		wort_pm_flush_now(&fast->op, mapped.word, sizeof(*mapped.word));
	wort_fast_stores(fast->stats, WORT_OP_INSERT, fast->op.n.stores - was,
			 fast->op.n.lines - lines);
	return lock;
}

/* Has the node no slot for the byte, and maps none?  A full N48 is left to the mapping. */
static __always_inline bool fast_copies(struct rdx_fast *fast, u32 maps)
{
	struct art_node node;

	if (likely(fast->d.pos.slot))
		return false;
	art_node_at(&fast->op, fast->d.pos.node, &node);
	return !(maps & BIT(node.kind)) ||
	       (art_is_small(node.kind) && art_small_free(&node) == ART_NONE_FREE);
}

static __always_inline int fast_in_slot(struct rdx_fast *fast)
{
	__le64 __pmem *slot = rdx_fast_slot(fast);
	bool mapped = fast->d.pos.slot;
	struct wort_lock *lock;
	struct art_node node;
	u64 record;

	if (unlikely(!wort_alloc_reserve_ready(&fast->op, RDX_WORD_RECORD)))
		return rdx_fast_give_up(fast);
	record = rdx_fast_record(fast, fast->op.reserved[0]);
	if (!mapped) {
		art_node_at(&fast->op, fast->d.pos.node, &node);
		art_map_prefetch(&node);
	}
	wort_pm_fence_now(&fast->op);
	lock = mapped ? rdx_fast_lock(fast, fast_owner(fast)) : fast_map(fast, &slot);
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
	const struct art_entry of[] = {
		{ other << 4 * place >> 56, fast->d.pos.link },
		{ fast->d.word << 4 * place >> 56, record },
	};
	void __pmem *media = wort_region_at(fast->op.region, off);

	art_small_write(&fast->op, media, WORT_MEDIA_ART_KIND_N7, of, ARRAY_SIZE(of));
	wort_pm_flush_now(&fast->op, media, sizeof(struct wort_media_art_line));
	return art_link(off, WORT_MEDIA_ART_KIND_N7, place);
}

/* @other: the key of the record at which the descent has ended. */
static __always_inline int fast_beside(struct rdx_fast *fast, u64 other)
{
	u32 place = round_down((64 - fls64(fast->d.word ^ other)) / 4, ART_BYTE_DIGITS);
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
	return key == fast->d.word ? rdx_fast_value(fast, leaf) : fast_beside(fast, key);
}

/*
 * The node goes: lock the one above, and verify its slot.  No lock is waited for, see
 * rdx_removal_lock().
 */
static __always_inline bool above_lock(struct rdx_fast *fast, struct rdx_removal *r)
{
	const struct rdx_pos *pos = &fast->d.pos;

	r->node_spot = wort_alloc_find(fast->tree->alloc, wort_link_off(pos->node),
				       art_node_size(art_link_kind(pos->node)));
	r->above = wort_node_try(&fast->op, rdx_slot_node(pos->above_node, pos->above));
	return r->node_spot.slots && r->above &&
	       wort_pm_load(fast->d.base + pos->above) == pos->node;
}

/*
 * A copy of a small node, with the new record.
 * @was: the words of the node when it was copied
 * @nr_was: how many
 * @nr: entries of the copy
 * @of: the entries
 * @link: to the copy
 * @stores: words that were stored to it
 * @lines: lines of it that were flushed
 */
struct fast_copy {
	u64 was[ART_SMALL_WORDS];
	u32 nr_was;
	u32 nr;
	struct art_entry of[ART_SMALL_SLOTS];
	u64 link;
	u32 stores;
	u32 lines;
};

/*
 * Load the words of the node, and list its entries.  False: it has a slot for the byte
 * now, a small node has no room for all, or the map is damaged.
 */
static __always_inline bool copy_list(struct fast_copy *copy, const struct art_node *node,
				      u32 byte)
{
	u32 used = 0, slot, at, i;
	const __le64 __pmem *words = node->media;
	u64 seen[ART_BYTES / 64] = { };

	copy->nr_was = art_node_size(node->kind) / sizeof(__le64);
	for (i = 0; i < copy->nr_was; i++)
		copy->was[i] = wort_pm_load(&words[i]);
	for (i = 0; i < copy->nr_was; i += ART_LINE_WORDS)
		used |= art_line_used(copy->was[i]) << i;
	for (copy->nr = 0; used; used &= used - 1) {
		slot = __ffs(used);
		at = copy->was[round_down(slot, ART_LINE_WORDS)] >>
		     8 * (slot % ART_LINE_WORDS) & 0xff;
		if (at == byte || seen[at / 64] & BIT_ULL(at % 64))
			return false;
		seen[at / 64] |= BIT_ULL(at % 64);
		if (copy->was[1 + slot])
			copy->of[copy->nr++] = (struct art_entry){ at, copy->was[1 + slot] };
	}
	return copy->nr < ART_SMALL_SLOTS;
}

/* The node is locked: is it as it was when it was copied? */
static __always_inline bool copy_valid(const struct fast_copy *copy,
				       const struct art_node *node)
{
	const __le64 __pmem *words = node->media;
	u32 i;

	for (i = 0; i < copy->nr_was; i++)
		if (wort_pm_load(&words[i]) != copy->was[i])
			return false;
	return true;
}

/* Write the record and the copy, and flush both. */
static __always_inline void copy_write(struct rdx_fast *fast, u32 kind,
				       struct fast_copy *copy)
{
	u64 record = rdx_fast_record(fast, fast->op.reserved[0]), off = fast->op.reserved[1];
	u64 stores = fast->op.n.stores, lines = fast->op.n.lines;
	void __pmem *media = wort_region_at(fast->op.region, off);

	copy->link = art_link(off, kind, wort_link_place(fast->d.pos.node));
	copy->of[copy->nr++] = (struct art_entry){ fast_byte(fast), record };
	art_small_write(&fast->op, media, kind, copy->of, copy->nr);
	wort_pm_flush_now(&fast->op, media, art_node_size(kind));
	copy->stores = fast->op.n.stores - stores;
	copy->lines = fast->op.n.lines - lines;
}

/* As launch_copy(), with the free after it. */
static __always_inline bool copy_launch(struct rdx_fast *fast, struct rdx_removal *r,
					const struct fast_copy *copy)
{
	const struct rdx_pos *pos = &fast->d.pos;
	u64 off = wort_link_off(pos->node);
	struct art_node node;

	r->record = NULL;
	r->above = NULL;
	r->node = wort_node_try(&fast->op, off);
	art_node_at(&fast->op, pos->node, &node);
	if (!r->node || !above_lock(fast, r) || !copy_valid(copy, &node))
		return false;
	if (node.place > art_end(pos->above_node))
		wort_skips_learn(fast->d.top->skips, copy->link,
				 wort_word_before(fast->d.word, node.place));
	rdx_tree_grows(fast->tree, wort_link_off(copy->link), fast->d.word);
	r->c.top = rdx_top_merge(fast->tree, pos->node, fast->d.word);
	rdx_slot_store(&fast->op, &r->c, pos->above_node, pos->above, copy->link);
	wort_nodes_removed(&fast->op, off, 0);
	wort_alloc_free_found(fast->tree->alloc, r->node_spot);
	return true;
}

static __always_inline int copy_commit(struct rdx_fast *fast, const struct fast_copy *copy)
{
	struct wort_alloc *alloc = fast->tree->alloc;
	struct rdx_removal r __uninitialized;
	bool launched;

	wort_alloc_lock(alloc);
	launched = copy_launch(fast, &r, copy);
	wort_alloc_unlock(alloc);
	if (likely(launched)) {
		wort_fast_stores(fast->stats, WORT_OP_INSERT, copy->stores, copy->lines);
		rdx_fast_land(fast, r.c.lock, r.c.word, RDX_IN_SLOT);
		if (wort_link_place(copy->link) == art_end(fast->d.pos.above_node))
			wort_skips_forget(fast->d.top->skips, copy->link);
		rdx_top_enter(r.c.top, copy->link, fast->d.word);
	}
	rdx_removal_unlock(&r);
	return launched ? 0 : rdx_fast_give_up(fast);
}

/*
 * A put for which a small node is copied; the copy is a small one, too.  It descends once more,
 * from the root, to know the slot above, which changes; a damaged table of the top may have
 * led to another node.  It is a function of its own, so that the other puts keep their
 * registers.
 * @node: the link to the node
 * @nr_nodes: nodes entered on the way to it
 */
static noinline int fast_put_copy(struct wort_tree *tree, struct wort_put *put,
				  struct wort_index_stats __percpu *stats,
				  u64 node, u32 nr_nodes)
{
	struct rdx_fast fast __uninitialized;
	struct fast_copy copy __uninitialized;
	struct art_node at;
	u32 kind;

	rdx_fast_begin(&fast, tree, put, stats);
	if (!rdx_fast_find_root(art_descend, &fast.d, tree, &put->key) ||
	    fast.d.pos.node != node || fast.d.pos.slot)
		return -EAGAIN;
	fast.d.nr_nodes += nr_nodes;
	art_node_at(&fast.op, node, &at);
	if (!art_is_small(at.kind) || !copy_list(&copy, &at, fast_byte(&fast)))
		return -EAGAIN;
	kind = art_small_kind(copy.nr + 1);
	if (!wort_alloc_reserve_ready(&fast.op, RDX_WORD_RECORD) ||
	    !wort_alloc_reserve_ready(&fast.op, art_node_size(kind)))
		return rdx_fast_give_up(&fast);
	copy_write(&fast, kind, &copy);
	wort_pm_fence_now(&fast.op);
	return copy_commit(&fast, &copy);
}

static __always_inline int fast_put(struct wort_tree *tree, struct wort_put *put,
				    struct wort_index_stats __percpu *stats,
				    u32 maps)
{
	struct rdx_fast fast __uninitialized;

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
	if (fast_copies(&fast, maps))
		return fast_put_copy(tree, put, stats, fast.d.pos.node, fast.d.nr_nodes);
	return fast_in_slot(&fast);
}

int art_fast_put(struct wort_tree *tree, struct wort_put *put,
		 struct wort_index_stats __percpu *stats)
{
	return fast_put(tree, put, stats, ART_MAPS_ALL);
}

int art_fast_put_copies(struct wort_tree *tree, struct wort_put *put,
			struct wort_index_stats __percpu *stats)
{
	return fast_put(tree, put, stats, ART_MAPS_LARGE);
}

/*
 * The node goes, too.  Verify the entry @link, which moves up: the slot above gets it.
 */
static __always_inline bool removal_merges(struct rdx_fast *fast, struct rdx_removal *r,
					   u64 link)
{
	u64 off = wort_link_off(link);

	return rdx_fast_find_above(art_descend, fast) &&
	       (wort_link_is_record(link) ||
		(art_link_is_node(link) && off < fast->d.plain &&
		 art_place_valid(link, fast->d.pos.start))) &&
	       above_lock(fast, r);
}

/*
 * Count the entries that stay in the node of the slot, up to 2.  0: an operation has
 * to do the removal, since the node may become a smaller one, or is damaged.
 */
static __always_inline u32 removal_stay(struct rdx_fast *fast, u64 *link)
{
	u32 byte = fast_byte(fast), few;
	struct art_node node;

	art_node_at(&fast->op, fast->d.pos.node, &node);
	few = art_shrinks_at(node.kind, byte);
	if (few && art_holds_few(&node, few + 1))
		return 0;
	return art_count_others(&node, byte, 2, link);
}

/* As unlink_locked(), with the locks before it and the frees after it. */
static __always_inline bool removal_launch(struct rdx_fast *fast, struct rdx_removal *r)
{
	struct wort_alloc *alloc = fast->tree->alloc;
	u64 link = 0;
	u32 nr = 2;

	r->record_spot = wort_alloc_find(alloc, r->c.rec.off, RDX_WORD_RECORD);
	if (!rdx_removal_lock(fast, r, fast_owner(fast)) || !r->record_spot.slots)
		return false;
	if (likely(fast->d.pos.node))
		nr = removal_stay(fast, &link);
	r->c.merges = nr == 1;
	if (!nr || (r->c.merges && !removal_merges(fast, r, link)))
		return false;
	r->c.pos = fast->d.pos;
	art_unlink(&fast->op, fast->tree, &r->c, link, fast->d.word);
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

/* Prefetch what the descent of a key loads of a node before it knows the slot. */
static void node_prefetch(const struct wort_tree *tree, u64 link, u32 byte)
{
	const void __pmem *media = wort_region_at(tree->region, wort_link_off(link));
	u32 kind = art_link_kind(link), i;

	if (kind == WORT_MEDIA_ART_KIND_N256)
		media += byte * sizeof(u64);
	else if (kind == WORT_MEDIA_ART_KIND_N48)
		media += byte;
	for (i = 0; i <= (art_is_small(kind) ? art_last_line(kind) : 0); i++)
		wort_pm_prefetch(media + i * WORT_LINE);
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

static void path_follow(const struct wort_tree *tree, const struct wort_key *key,
			struct art_path *path)
{
	void __pmem *base = wort_region_at(tree->region, 0);
	u64 slot = art_slot(base, path->node, art_key_byte(key, path->word, path->start));

	path->start += ART_BYTE_DIGITS;
	path_enter(tree, key, path, slot && slot != ART_NO_SLOT ?
		   wort_pm_load(base + slot) : 0);
}

/*
 * @prefetch_keys of struct wort_engine.  Follows all paths, a step of each at a
 * time, so that many lines are loaded at once.  Nothing that is read here is
 * trusted or answered.
 */
void art_prefetch_keys(const struct wort_tree *tree, const struct wort_key *keys, u32 nr)
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
