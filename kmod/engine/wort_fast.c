// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The fast paths of WORT: lookups, puts and removals without an operation, and
 * prefetching.
 *
 * A processor runs ahead into later lookups as far as it has registers for what
 * they compute and load.  So a fast path has no operation that others can see,
 * makes no call on its way, and gives up with -EAGAIN where an operation would
 * read with care: a word in flight, an inconsistency, memory that is or may be
 * bad, another kind of record.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "wort.h"

#define WRT_WORD_RECORD	(sizeof(struct wort_media_leaf) + sizeof(u64))

/* Classes of costs. */
#define WRT_FOUND	0	/* a lookup has found a record */
#define WRT_IN_SLOT	1	/* a put has filled an empty slot */
#define WRT_BESIDE	2	/* a put has made a node for its record and another one */
#define WRT_VALUE	3	/* a put has replaced a value */
#define WRT_GONE	4	/* a record was removed, perhaps with its node */

/*
 * @len: the length of the key, which the compiler may know as a constant.
 *
 * A miss rests on every slot of the path, a hit on the record and what made it
 * reachable.  The step asks for all of them, except for slots above the node
 * that the table of the top led to, which are durable.
 */
static __always_inline int fast_lookup(const struct wort_tree *tree,
				       const struct wort_key *key, const u32 len,
				       struct wort_buf *buf,
				       struct wort_index_stats __percpu *stats)
{
	const bool one_word = len == sizeof(u64);
	const u32 digits = one_word ? WORT_KEY_WORD_DIGITS : WORT_KEY_DIGITS;
	struct rdx_descent d __uninitialized;
	u64 word, rec;
	int lines = 0;

	word = one_word ? wort_bytes_be64(key->data) : wort_key_word(key, 0);
	rdx_descent_init(&d, NULL, tree, wort_open_top(tree), key, word,
			 tree->in_flight);
	if (unlikely(rdx_descent_begin(&d) || wrt_descend(&d, digits, false)))
		return -EAGAIN;
	if (likely(wort_link_is_record(d.pos.link))) {
		rec = wort_link_record(d.pos.link);
		if (unlikely(rec >= d.plain))
			return -EAGAIN;
		lines = wort_rec_look(d.base + rec, key, len, word, buf);
		if (likely(lines >= 0)) {
			if (unlikely(wort_pm_in_flight(d.in_flight, rec)))
				return -EAGAIN;
			wort_fast_found(stats, WRT_FOUND, d.nr_nodes, digits, lines);
			return 0;
		}
		lines = lines == -ENOENT ? 0 :
			wort_rec_look_other(tree->region, rec, key);
		if (lines < 0)
			return -EAGAIN;
	} else if (d.pos.link) {
		return -EAGAIN;
	}
	wort_fast_looked(stats, d.nr_nodes, !!d.pos.link, lines);
	return -ENOENT;
}

static int wrt_fast_lookup(const struct wort_tree *tree, const struct wort_key *key,
			   struct wort_buf *buf, struct wort_index_stats __percpu *stats)
{
	if (likely(key->len == sizeof(u64)))
		return fast_lookup(tree, key, sizeof(u64), buf, stats);
	return wort_key_valid(key) ? fast_lookup(tree, key, key->len, buf, stats) :
				     -EAGAIN;
}

/*
 * A change of a key and a value of one word each: a record for an empty slot,
 * one beside another record, another value, or a removal.  The operation is a
 * local variable whose address is not passed on, so it is kept in registers.
 */
struct wrt_fast {
	struct wort_op op;
	struct rdx_descent d;
	struct wort_tree *tree;
	struct wort_put *put;
	struct wort_index_stats __percpu *stats;
};

/* @put: NULL for a removal. */
static __always_inline void fast_begin(struct wrt_fast *fast, struct wort_tree *tree,
				       struct wort_put *put,
				       struct wort_index_stats __percpu *stats)
{
	wort_op_begin(&fast->op, tree->region, tree->alloc);
	fast->op.locks = tree->locks;
	fast->op.in_flight = tree->in_flight;
	fast->op.alone = false;
	fast->op.time = wort_locks_now(tree->locks);
	fast->op.reserved[0] = 0;
	fast->op.reserved[1] = 0;
	fast->tree = tree;
	fast->put = put;
	fast->stats = stats;
}

/* Places grow, so a descent within the first word visits few nodes. */
static __always_inline bool fast_find(struct rdx_descent *d, const struct wort_tree *tree,
				      const struct wort_key *key, bool skips)
{
	rdx_descent_init(d, NULL, tree, wort_open_top(tree), key,
			 wort_bytes_be64(key->data), tree->in_flight);
	BUILD_BUG_ON(WORT_KEY_WORD_DIGITS >= WORT_FAST_NODES);
	return !rdx_descent_begin(d) && !wrt_descend(d, WORT_KEY_WORD_DIGITS, skips);
}

/*
 * The record at which the descent has ended, and its key; NULL: another kind of
 * record.
 */
static __always_inline struct wort_media_leaf __pmem *
fast_found(const struct rdx_descent *d, u64 *key)
{
	u64 off = wort_link_record(d->pos.link);
	struct wort_media_leaf __pmem *leaf;

	if (unlikely(!wort_link_is_record(d->pos.link) || off >= d->plain))
		return NULL;
	leaf = d->base + off;
	if (unlikely(wort_pm_load(&leaf->meta) != wort_rec_word_meta(sizeof(u64))))
		return NULL;
	*key = wort_pm_load_be64(leaf->key);
	return leaf;
}

/* Give back the reserved objects: nothing was stored that can be reached. */
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

static __always_inline int fast_give_up(const struct wrt_fast *fast)
{
	return reserved_give_up(fast->tree, fast->op.nr_reserved,
				fast->op.reserved[0], fast->op.reserved[1]);
}

/* Write the record, and flush it.  Returns the link to it. */
static __always_inline u64 fast_record(struct wrt_fast *fast, u64 off)
{
	struct wort_media_leaf __pmem *leaf = wort_region_at(fast->op.region, off);
	const struct wort_put *put = fast->put;

	wort_pm_store(&fast->op, &leaf->val, wort_value_word(&put->value));
	wort_pm_store(&fast->op, &leaf->meta, wort_rec_word_meta(sizeof(u64)));
	wort_pm_write(&fast->op, leaf->key, put->key.data, sizeof(u64));
	wort_pm_flush_now(&fast->op, leaf, WRT_WORD_RECORD);
	return off | WORT_MEDIA_LINK_RECORD;
}

/*
 * Write a node with the new record and the one in the slot, whose key is
 * @other, and flush it.  Returns the link to it.
 */
static __always_inline u64 fast_node(struct wrt_fast *fast, u64 off, u32 place,
				     u64 record, u64 other)
{
	struct wort_media_wort_node __pmem *node = wort_region_at(fast->op.region, off);

	wort_pm_clear(&fast->op, node->slot, WRT_SLOTS);
	wort_pm_store(&fast->op, &node->slot[wort_word_digit(other, place)],
		      fast->d.pos.link);
	wort_pm_store(&fast->op, &node->slot[wort_word_digit(fast->d.word, place)],
		      record);
	wort_pm_flush_now(&fast->op, node, sizeof(*node));
	return wrt_link(off, place);
}

static __always_inline __le64 __pmem *fast_slot(const struct wrt_fast *fast)
{
	return fast->d.base + fast->d.pos.slot;
}

/* As slot_lock(). */
static __always_inline struct wort_lock *fast_lock(const struct wrt_fast *fast)
{
	u64 node = wrt_slot_node(fast->d.pos.slot);
	struct wort_lock *lock = wort_node_hold(&fast->op, node);

	if (likely(lock && wort_pm_load(fast_slot(fast)) == fast->d.pos.link))
		return lock;
	if (lock)
		wort_node_release(lock);
	return NULL;
}

/*
 * Make a word durable, the lock of whose node is held.  The costs are counted
 * while the processor has to wait.
 */
static __always_inline void fast_land(struct wrt_fast *fast, struct wort_lock *lock,
				      __le64 __pmem *word, u32 class)
{
	wort_pm_flush_now(&fast->op, word, sizeof(*word));
	wort_fast_done(fast->stats, class, fast->op.flush, fast->d.nr_nodes);
	wort_pm_fence_now(&fast->op);
	wort_pm_landed(lock);
}

static __always_inline void fast_word(struct wrt_fast *fast, struct wort_lock *lock,
				      __le64 __pmem *word, u64 val, u32 class)
{
	wort_pm_launch(&fast->op, lock, word, val);
	fast_land(fast, lock, word, class);
}

static __always_inline int fast_in_slot(struct wrt_fast *fast)
{
	struct wort_lock *lock;
	u64 record;

	if (unlikely(fast->d.pos.skip))
		return -EAGAIN;
	if (unlikely(!wort_alloc_reserve_ready(&fast->op, WRT_WORD_RECORD)))
		return fast_give_up(fast);
	record = fast_record(fast, fast->op.reserved[0]);
	wort_pm_fence_now(&fast->op);
	lock = fast_lock(fast);
	if (unlikely(!lock))
		return fast_give_up(fast);
	fast_word(fast, lock, fast_slot(fast), record, WRT_IN_SLOT);
	wort_node_release(lock);
	return 0;
}

/* As launch_node() and what comes after it. */
static __always_inline void fast_launch_node(struct wrt_fast *fast,
					     struct wort_lock *lock, u64 link)
{
	struct wort_tree *tree = fast->tree;
	u32 place = wort_link_place(link);
	struct wort_top *top;

	if (place > fast->d.pos.start)
		wort_skips_learn(fast->d.top->skips, link,
				 wort_word_before(fast->d.word, place));
	top = rdx_top_split(tree, fast->d.pos.start, place, fast->d.word);
	rdx_tree_grows(tree, wort_link_off(link), fast->d.word);
	trace_wort_split(fast->op.region->dev, wort_link_off(link), place, true);
	fast_word(fast, lock, fast_slot(fast), link, WRT_BESIDE);
	if (place == fast->d.pos.start)
		wort_skips_forget(fast->d.top->skips, link);
	rdx_top_enter(top, link, fast->d.word);
}

/* @other: the key of the record at which the descent has ended. */
static __always_inline int fast_beside(struct wrt_fast *fast, u64 other)
{
	u32 place = (64 - fls64(fast->d.word ^ other)) / 4;
	struct wort_lock *lock;
	u64 link;

	if (unlikely(place < fast->d.pos.start))
		return -EAGAIN;
	if (unlikely(!wort_alloc_reserve_ready(&fast->op, WRT_WORD_RECORD) ||
		     !wort_alloc_reserve_ready(&fast->op,
					       sizeof(struct wort_media_wort_node))))
		return fast_give_up(fast);
	link = fast_record(fast, fast->op.reserved[0]);
	link = fast_node(fast, fast->op.reserved[1], place, link, other);
	wort_pm_fence_now(&fast->op);
	lock = fast_lock(fast);
	if (unlikely(!lock))
		return fast_give_up(fast);
	fast_launch_node(fast, lock, link);
	wort_node_release(lock);
	return 0;
}

/* The old value may be in flight: nothing rests on it, and it is replaced. */
static __always_inline int fast_value(struct wrt_fast *fast,
				      struct wort_media_leaf __pmem *leaf)
{
	struct wort_lock *lock;

	if (unlikely(fast->put->create))
		return -EAGAIN;
	lock = wort_node_hold(&fast->op, wort_pm_off(&fast->op, leaf));
	if (unlikely(!lock))
		return -EAGAIN;
	fast_word(fast, lock, &leaf->val, wort_value_word(&fast->put->value), WRT_VALUE);
	wort_node_release(lock);
	fast->put->replaced = true;
	return 0;
}

static __always_inline int fast_at_record(struct wrt_fast *fast)
{
	struct wort_media_leaf __pmem *leaf;
	u64 key;

	leaf = fast_found(&fast->d, &key);
	if (unlikely(!leaf))
		return -EAGAIN;
	return key == fast->d.word ? fast_value(fast, leaf) : fast_beside(fast, key);
}

static int wrt_fast_put(struct wort_tree *tree, struct wort_put *put,
			struct wort_index_stats __percpu *stats)
{
	struct wrt_fast fast __uninitialized;

	if (put->key.len != sizeof(u64) || put->value.len != sizeof(u64) ||
	    put->replace || put->expect || put->old)
		return -EAGAIN;
	fast_begin(&fast, tree, put, stats);
	if (!fast_find(&fast.d, tree, &put->key, true))
		return -EAGAIN;
	put->replaced = false;
	return fast.d.pos.link ? fast_at_record(&fast) : fast_in_slot(&fast);
}

/*
 * A removal under way.
 * @c: the change
 * @node: lock of the node of the slot, or NULL
 * @record: of the record
 * @above: of the node above, if that of the slot goes, too
 * @record_spot: where the record is allocated
 * @node_spot: where that node is
 */
struct wrt_removal {
	struct rdx_change c;
	struct wort_lock *node;
	struct wort_lock *record;
	struct wort_lock *above;
	struct wort_spot record_spot;
	struct wort_spot node_spot;
};

/*
 * Lock the node of the slot and the record, and verify the slot.  No lock is
 * waited for, so their order does not matter, and they may be taken under a
 * mutex.
 */
static __always_inline bool removal_lock(struct wrt_fast *fast, struct wrt_removal *r)
{
	r->node = wort_node_try(&fast->op, wrt_slot_node(fast->d.pos.slot));
	r->record = wort_node_try(&fast->op, r->c.rec.off);
	r->above = NULL;
	return r->node && r->record && !*r->node->in_flight &&
	       wort_pm_load(fast_slot(fast)) == fast->d.pos.link;
}

static __always_inline void removal_unlock(const struct wrt_removal *r)
{
	if (r->above)
		wort_node_release(r->above);
	if (r->record)
		wort_node_release(r->record);
	if (r->node)
		wort_node_release(r->node);
}

/*
 * The slot above, which is not known if the table of the top led to the node.
 */
static __always_inline bool fast_find_above(struct wrt_fast *fast)
{
	u64 slot = fast->d.pos.slot;

	return fast->d.pos.above ||
	       (!rdx_descent_root(&fast->d) &&
		!wrt_descend(&fast->d, WORT_KEY_WORD_DIGITS, false) &&
		fast->d.pos.slot == slot);
}

/*
 * The node goes, too: lock the one above, and verify its slot and the entry
 * @link, which moves up.
 */
static __always_inline bool removal_merges(struct wrt_fast *fast, struct wrt_removal *r,
					   u64 link)
{
	const struct rdx_pos *pos = &fast->d.pos;
	u64 off = wort_link_off(link);

	if (!fast_find_above(fast) ||
	    !(wort_link_is_record(link) ||
	      (wrt_link_is_node(link) && off < fast->d.plain &&
	       wort_link_place_valid(link, pos->start))))
		return false;
	r->node_spot = wort_alloc_find(fast->tree->alloc, wort_link_off(pos->node),
				       sizeof(struct wort_media_wort_node));
	r->above = wort_node_try(&fast->op, wrt_slot_node(pos->above));
	return r->node_spot.slots && r->above &&
	       wort_pm_load(fast->d.base + pos->above) == pos->node;
}

/* As unlink_locked(), with the locks before it and the frees after it. */
static __always_inline bool removal_launch(struct wrt_fast *fast, struct wrt_removal *r)
{
	struct wort_alloc *alloc = fast->tree->alloc;
	u32 nr = 2, lines = 0;
	u64 link = 0;

	r->record_spot = wort_alloc_find(alloc, r->c.rec.off, WRT_WORD_RECORD);
	if (!removal_lock(fast, r) || !r->record_spot.slots)
		return false;
	if (likely(fast->d.pos.node))
		nr = wrt_entries(fast->d.base + wort_link_off(fast->d.pos.node),
				 wrt_slot_nr(&fast->d.pos), &link, &lines);
	r->c.merges = nr == 1;
	if (!nr || (r->c.merges && !removal_merges(fast, r, link)))
		return false;
	r->c.pos = fast->d.pos;
	wrt_unlink(&fast->op, fast->tree, &r->c, link, fast->d.word);
	wort_alloc_free_found(alloc, r->record_spot);
	if (r->c.merges)
		wort_alloc_free_found(alloc, r->node_spot);
	wort_fast_loads(fast->stats, WORT_OP_DELETE, lines);
	return true;
}

static int wrt_fast_remove(struct wort_tree *tree, const struct wort_del *del,
			   struct wort_index_stats __percpu *stats)
{
	struct wrt_fast fast __uninitialized;
	struct wrt_removal r __uninitialized;
	bool launched;
	u64 key;

	if (del->key.len != sizeof(u64) || del->expect || del->old)
		return -EAGAIN;
	fast_begin(&fast, tree, NULL, stats);
	if (!fast_find(&fast.d, tree, &del->key, false) || !fast.d.pos.link ||
	    !fast_found(&fast.d, &key) || key != fast.d.word)
		return -EAGAIN;
	r.c.rec.off = wort_link_record(fast.d.pos.link);
	wort_alloc_lock(tree->alloc);
	launched = removal_launch(&fast, &r);
	wort_alloc_unlock(tree->alloc);
	if (likely(launched)) {
		fast_land(&fast, r.c.lock, r.c.word, WRT_GONE);
		if (r.c.merges)
			rdx_top_enter(r.c.top, r.c.val, fast.d.word);
	}
	removal_unlock(&r);
	return launched ? 0 : -EAGAIN;
}

/*
 * Prefetch the path of one key.  A processor runs ahead of a fence, but not
 * far: while it waits for the last fence of the operation before, it gets to
 * this, not to the descent.
 */
static void prefetch_key(const struct wort_tree *tree, const struct wort_key *key)
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

static void path_follow(const struct wort_tree *tree, const struct wort_key *key,
			u64 link, struct wrt_path *path)
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
static void prefetch_many(const struct wort_tree *tree, const struct wort_key *keys,
			  u32 nr)
{
	struct wrt_path path[WORT_PREFETCH_MAX] __uninitialized;
	u32 i, going = nr;

	for (i = 0; i < nr; i++)
		path_begin(tree, &keys[i], &path[i]);
	while (going)
		for (i = going = 0; i < nr; i++)
			if (path[i].slot) {
				path_follow(tree, &keys[i],
					    wort_pm_load(path[i].slot), &path[i]);
				going++;
			}
}

/*
 * @prefetch_keys of struct wort_engine.  Nothing that is read here is trusted
 * or answered.
 */
void wrt_prefetch_keys(const struct wort_tree *tree, const struct wort_key *keys,
		       u32 nr)
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
		[WRT_FOUND] = { WORT_OP_LOOKUP, .leaves = 1 },
		[WRT_IN_SLOT] = { WORT_OP_INSERT, .stores = 4, .lines = 2, .fences = 2 },
		[WRT_BESIDE] = { WORT_OP_INSERT, .stores = 4 + WRT_SLOTS + 2,
				 .lines = 2 + WRT_LINES, .fences = 2, .leaves = 1 },
		[WRT_VALUE] = { WORT_OP_UPDATE, .stores = 1, .lines = 1, .fences = 1,
				.leaves = 1 },
		[WRT_GONE] = { WORT_OP_DELETE, .stores = 1, .lines = 1, .fences = 1,
			       .leaves = 1 },
	},
};
