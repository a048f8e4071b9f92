/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the fast paths of radix engines share: lookups, puts and removals
 * without an operation.
 *
 * A processor runs ahead into later lookups as far as it has registers for what
 * they compute and load.  So a fast path has no operation that others can see,
 * makes no call on its usual way, and gives up with -EAGAIN where an operation
 * would read with care: a word in flight, an inconsistency, memory that is or
 * may be bad, another kind of record.
 */
#ifndef _WORT_RADIX_FAST_H
#define _WORT_RADIX_FAST_H

#include <trace/events/wort.h>

#include "radix_change.h"
#include "radix_descent.h"

#define RDX_WORD_RECORD	(sizeof(struct wort_media_leaf) + sizeof(u64))

/* Classes of costs. */
#define RDX_FOUND	0	/* a lookup has found a record */
#define RDX_IN_SLOT	1	/* a put has filled an empty slot, or that of a copy */
#define RDX_BESIDE	2	/* a put has made a node for its record and another one */
#define RDX_VALUE	3	/* a put has replaced a value */
#define RDX_GONE	4	/* a record was removed, perhaps with its node */

/*
 * The descent of an engine, from where it is to a link to no node, or to
 * @limit.
 */

/*
 * @descend: a constant.  @len: the length of the key, which the compiler may
 *	know as a constant.
 *
 * A miss rests on every slot of the path, a hit on the record and what made it
 * reachable.  The step asks for all of them, except for slots above the node
 * that the table of the top led to, which are durable.
 */
static __always_inline int
rdx_fast_lookup(rdx_descend_fn *descend, const struct wort_tree *tree,
		const struct wort_key *key, const u32 len, struct wort_buf *buf,
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
	if (unlikely(rdx_descent_begin(&d) || descend(&d, digits, false)))
		return -EAGAIN;
	if (likely(wort_link_is_record(d.pos.link))) {
		rec = wort_link_record(d.pos.link);
		if (unlikely(rec >= d.plain))
			return -EAGAIN;
		lines = wort_rec_look(d.base + rec, key, len, word, buf);
		if (likely(lines >= 0)) {
			if (unlikely(wort_pm_in_flight(d.in_flight, rec)))
				return -EAGAIN;
			wort_fast_found(stats, RDX_FOUND, d.nr_nodes, digits,
					lines);
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

/*
 * A change of a key and a value of one word each: a record for an empty slot,
 * one beside another record, another value, or a removal.  The operation is a
 * local variable whose address is not passed on, so it is kept in registers.
 */
struct rdx_fast {
	struct wort_op op;
	struct rdx_descent d;
	struct wort_tree *tree;
	struct wort_put *put;
	struct wort_index_stats __percpu *stats;
};

/* @put: NULL for a removal. */
static __always_inline void
rdx_fast_begin(struct rdx_fast *fast, struct wort_tree *tree,
	       struct wort_put *put, struct wort_index_stats __percpu *stats)
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

static __always_inline void rdx_fast_descent(struct rdx_descent *d,
					     const struct wort_tree *tree,
					     const struct wort_key *key)
{
	rdx_descent_init(d, NULL, tree, wort_open_top(tree), key,
			 wort_bytes_be64(key->data), tree->in_flight);
	BUILD_BUG_ON(WORT_KEY_WORD_DIGITS >= WORT_FAST_NODES);
}

/* Places grow, so a descent within the first word visits few nodes. */
static __always_inline bool rdx_fast_find(rdx_descend_fn *descend,
					  struct rdx_descent *d,
					  const struct wort_tree *tree,
					  const struct wort_key *key,
					  bool skips)
{
	rdx_fast_descent(d, tree, key);
	return !rdx_descent_begin(d) &&
	       !descend(d, WORT_KEY_WORD_DIGITS, skips);
}

/*
 * Once more, from the root, to know the slot above, too.  Which digits of the
 * key nodes skip was looked at the first time.
 */
static __always_inline bool rdx_fast_find_root(rdx_descend_fn *descend,
					       struct rdx_descent *d,
					       const struct wort_tree *tree,
					       const struct wort_key *key)
{
	rdx_fast_descent(d, tree, key);
	return !rdx_descent_root(d) && !descend(d, WORT_KEY_WORD_DIGITS, false);
}

/*
 * The record at which the descent has ended, and its key; NULL: another kind of
 * record.
 */
static __always_inline struct wort_media_leaf __pmem *
rdx_fast_found(const struct rdx_descent *d, u64 *key)
{
	u64 off = wort_link_record(d->pos.link);
	struct wort_media_leaf __pmem *leaf;

	if (unlikely(!wort_link_is_record(d->pos.link) || off >= d->plain))
		return NULL;
	leaf = d->base + off;
	if (unlikely(wort_pm_load(&leaf->meta) !=
		     wort_rec_word_meta(sizeof(u64))))
		return NULL;
	*key = wort_pm_load_be64(leaf->key);
	return leaf;
}

int rdx_reserved_give_up(struct wort_tree *tree, u32 nr, u64 a, u64 b);

static __always_inline int rdx_fast_give_up(const struct rdx_fast *fast)
{
	return rdx_reserved_give_up(fast->tree, fast->op.nr_reserved,
				fast->op.reserved[0], fast->op.reserved[1]);
}

/* Write the record, and flush it.  Returns the link to it. */
static __always_inline u64 rdx_fast_record(struct rdx_fast *fast, u64 off)
{
	struct wort_media_leaf __pmem *leaf =
		wort_region_at(fast->op.region, off);
	const struct wort_put *put = fast->put;

	wort_pm_store(&fast->op, &leaf->val, wort_value_word(&put->value));
	wort_pm_store(&fast->op, &leaf->meta, wort_rec_word_meta(sizeof(u64)));
	wort_pm_write(&fast->op, leaf->key, put->key.data, sizeof(u64));
	wort_pm_flush_now(&fast->op, leaf, RDX_WORD_RECORD);
	return off | WORT_MEDIA_LINK_RECORD;
}

static __always_inline __le64 __pmem *rdx_fast_slot(const struct rdx_fast *fast)
{
	return fast->d.base + fast->d.pos.slot;
}

/* As rdx_slot_lock().  @node: the name for locks of the node of the slot. */
static __always_inline struct wort_lock *
rdx_fast_lock(const struct rdx_fast *fast, u64 node)
{
	struct wort_lock *lock = wort_node_hold(&fast->op, node);

	if (likely(lock &&
		   wort_pm_load(rdx_fast_slot(fast)) == fast->d.pos.link))
		return lock;
	if (lock)
		wort_node_release(lock);
	return NULL;
}

/*
 * Make a word durable, the lock of whose node is held.  The costs are counted
 * while the processor has to wait.
 */
static __always_inline void rdx_fast_land(struct rdx_fast *fast,
					  struct wort_lock *lock,
					  __le64 __pmem *word, u32 class)
{
	wort_pm_flush_now(&fast->op, word, sizeof(*word));
	wort_fast_done(fast->stats, class, fast->op.flush, fast->d.nr_nodes);
	wort_pm_fence_now(&fast->op);
	wort_pm_landed(lock);
}

static __always_inline void rdx_fast_word(struct rdx_fast *fast,
					  struct wort_lock *lock,
					  __le64 __pmem *word, u64 val,
					  u32 class)
{
	wort_pm_launch(&fast->op, lock, word, val);
	rdx_fast_land(fast, lock, word, class);
}

/* The old value may be in flight: nothing rests on it, and it is replaced. */
static __always_inline int rdx_fast_value(struct rdx_fast *fast,
					  struct wort_media_leaf __pmem *leaf)
{
	struct wort_lock *lock;

	if (unlikely(fast->put->create))
		return -EAGAIN;
	lock = wort_node_hold(&fast->op, wort_pm_off(&fast->op, leaf));
	if (unlikely(!lock))
		return -EAGAIN;
	rdx_fast_word(fast, lock, &leaf->val,
		      wort_value_word(&fast->put->value), RDX_VALUE);
	wort_node_release(lock);
	fast->put->replaced = true;
	return 0;
}

/*
 * A removal under way: of a record, or of a node that a copy takes the place
 * of.
 * @c: the change; of a copy only @top, @word and @lock
 * @node: lock of the node of the slot, or NULL
 * @record: of the record, or NULL
 * @above: of the node above, if that of the slot goes, too
 * @record_spot: where the record is allocated
 * @node_spot: where that node is
 */
struct rdx_removal {
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
static __always_inline bool rdx_removal_lock(struct rdx_fast *fast,
					     struct rdx_removal *r, u64 node)
{
	r->node = wort_node_try(&fast->op, node);
	r->record = wort_node_try(&fast->op, r->c.rec.off);
	r->above = NULL;
	return r->node && r->record && !*r->node->in_flight &&
	       wort_pm_load(rdx_fast_slot(fast)) == fast->d.pos.link;
}

static __always_inline void rdx_removal_unlock(const struct rdx_removal *r)
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
static __always_inline bool rdx_fast_find_above(rdx_descend_fn *descend,
						struct rdx_fast *fast)
{
	u64 slot = fast->d.pos.slot;

	return fast->d.pos.above ||
	       (!rdx_descent_root(&fast->d) &&
		!descend(&fast->d, WORT_KEY_WORD_DIGITS, false) &&
		fast->d.pos.slot == slot);
}

/* As rdx_launch_node() and what comes after it. */
static __always_inline void rdx_fast_launch_node(struct rdx_fast *fast,
						 struct wort_lock *lock,
						 u64 link)
{
	struct wort_tree *tree = fast->tree;
	u32 place = wort_link_place(link);
	struct wort_top *top;

	if (place > fast->d.pos.start)
		wort_skips_learn(fast->d.top->skips, link,
				 wort_word_before(fast->d.word, place));
	top = rdx_top_split(tree, fast->d.pos.start, place, fast->d.word);
	rdx_tree_grows(tree, wort_link_off(link), fast->d.word);
	trace_wort_split(fast->op.region->dev, wort_link_off(link), place,
			 true);
	rdx_fast_word(fast, lock, rdx_fast_slot(fast), link, RDX_BESIDE);
	if (place == fast->d.pos.start)
		wort_skips_forget(fast->d.top->skips, link);
	rdx_top_enter(top, link, fast->d.word);
}

typedef bool rdx_removal_fn(struct rdx_fast *fast, struct rdx_removal *r);

/*
 * @descend and @launch are constants.  @launch locks, stores the word, and
 * frees, with the mutex of the allocator held.
 */
static __always_inline int
rdx_fast_remove(rdx_descend_fn *descend, rdx_removal_fn *launch,
		struct wort_tree *tree, const struct wort_del *del,
		struct wort_index_stats __percpu *stats)
{
	struct rdx_fast fast __uninitialized;
	struct rdx_removal r __uninitialized;
	bool launched;
	u64 key;

	if (del->key.len != sizeof(u64) || del->expect || del->old)
		return -EAGAIN;
	rdx_fast_begin(&fast, tree, NULL, stats);
	if (!rdx_fast_find(descend, &fast.d, tree, &del->key, false) ||
	    !fast.d.pos.link)
		return -EAGAIN;
	r.c.rec.off = wort_link_record(fast.d.pos.link);
	wort_alloc_prefetch(tree->alloc, r.c.rec.off, RDX_WORD_RECORD);
	if (!rdx_fast_found(&fast.d, &key) || key != fast.d.word)
		return -EAGAIN;
	wort_alloc_lock(tree->alloc);
	launched = launch(&fast, &r);
	wort_alloc_unlock(tree->alloc);
	if (likely(launched)) {
		rdx_fast_land(&fast, r.c.lock, r.c.word, RDX_GONE);
		if (r.c.merges)
			rdx_top_enter(r.c.top, r.c.val, fast.d.word);
	}
	rdx_removal_unlock(&r);
	return launched ? 0 : -EAGAIN;
}

#endif /* _WORT_RADIX_FAST_H */
