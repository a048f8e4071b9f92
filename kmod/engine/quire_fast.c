// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * QUIRE: operations by the shadows alone.  They give up with -EAGAIN where a page has no
 * shadow or has to be rebuilt, where a word is in flight, and for values of more than a
 * word.
 */
#include <linux/kernel.h>

#include "quire_shadow.h"
#include "rec.h"

#define QR_FOUND	0	/* the one class of costs: a lookup has found a record */

/*
 * Descend to the leaf of a key; NULL: give up.  Levels decrease, as in all descents.
 */
static __always_inline struct qr_shadow *fast_leaf(const struct wort_tree *tree,
						   const struct wort_key *key, u32 *nodes)
{
	u64 plain = wort_region_plain(tree->region), root = qr_root_node(tree);
	struct qr_shadow *shadow;
	struct qr_way way;
	u32 level;

	if (unlikely(root >= plain))
		return NULL;
	way.link = wort_pm_load(wort_tree_root(tree));
	if (unlikely(wort_pm_in_flight(tree->in_flight, root)))
		return NULL;
	shadow = qr_shadow_find(tree, way.link);
	if (unlikely(!shadow))
		return NULL;
	for (*nodes = 0, level = shadow->page.level;; ++*nodes, --level, shadow = way.shadow) {
		if (unlikely(!shadow || key->len < shadow->page.prefix_len ||
			     shadow->page.level != level || way.link >= plain))
			return NULL;
		if (!level)
			return shadow;
		if (unlikely(qr_child_find(&shadow->page, QR_COVERS, key, &way)))
			return NULL;
	}
}

static int fast_lookup(const struct wort_tree *tree, const struct wort_key *key,
		       struct wort_buf *buf, struct wort_index_stats __percpu *stats)
{
	struct qr_shadow *shadow;
	struct qr_rec rec;
	u32 nodes;
	int err;

	if (unlikely(!wort_key_valid(key)))
		return -EAGAIN;
	shadow = fast_leaf(tree, key, &nodes);
	if (unlikely(!shadow))
		return -EAGAIN;
	qr_tagged_find(&shadow->page, key, qr_head_same(&shadow->page, key), &rec);
	if (rec.head && unlikely(wort_pm_in_flight(tree->in_flight, shadow->page.off) ||
				 qr_rec_kind(rec.head) > QR_WORD))
		return -EAGAIN;
	if (!qr_is_there(&rec)) {
		wort_fast_looked(stats, nodes, 1, 0);
		return -ENOENT;
	}
	err = wort_rec_copy_word(buf, rec.val, qr_rec_kind(rec.head));
	if (!err)
		wort_fast_found(stats, QR_FOUND, nodes, QR_LEVELS, 0);
	return err ? -EAGAIN : 0;
}

static __always_inline void fast_begin(struct wort_op *op, const struct wort_tree *tree)
{
	wort_op_begin(op, tree->region, tree->alloc);
	op->locks = tree->locks;
	op->in_flight = tree->in_flight;
	op->alone = false;
	op->time = wort_locks_now(tree->locks);
}

/*
 * Lock the leaf of a key, and find the last record of the key.  False: give up, with nothing
 * locked.
 */
static __always_inline bool leaf_lock(struct wort_op *op, const struct wort_tree *tree,
				      const struct wort_key *key, struct qr_page *page,
				      u64 *same, struct qr_rec *rec)
{
	struct qr_shadow *shadow;
	u32 nodes;

	if (unlikely(!wort_key_valid(key)))
		return false;
	shadow = fast_leaf(tree, key, &nodes);
	if (unlikely(!shadow))
		return false;
	*page = shadow->page;
	wort_pm_prefetch_store(qr_word(page, READ_ONCE(shadow->top)));
	if (unlikely(!wort_node_lock(op, page->off)))
		return false;
	if (unlikely(READ_ONCE(shadow->gone) || *wort_lock_of(op, page->off)->in_flight)) {
		wort_nodes_unlock(op);
		return false;
	}
	*same = qr_head_same(page, key);
	qr_tagged_find(page, key, *same, rec);
	wort_count(op, nodes, nodes);
	wort_count(op, leaves, 1);
	return true;
}

/* With the lock of the leaf; -EAGAIN: it has no room, or the old value is an object. */
static __always_inline int put_locked(struct wort_op *op, const struct wort_tree *tree,
				      struct qr_page *page, u64 same,
				      const struct qr_rec *rec, struct wort_put *put)
{
	u32 len = put->key.len - page->prefix_len, kind = qr_rec_kind(rec->head);
	struct qr_end end = { page->shadow->top, page->shadow->nr };
	u64 val = wort_value_word(&put->value);

	put->replaced = qr_is_there(rec);
	if (put->replaced && (put->create || kind > QR_WORD))
		return -EAGAIN;
	if (put->replaced && kind == put->value.len) {
		qr_commit(op, page, rec->place + 1, val);
		return 0;
	}
	if (!qr_has_room(page, &end, qr_rec_words(len)) ||
	    wort_pm_load(qr_word(page, end.top)))
		return -EAGAIN;
	qr_append(op, tree, page, end.top, put->key.data + page->prefix_len, len,
		  qr_rec_head(same, put->value.len), val);
	return 0;
}

static int fast_put(struct wort_tree *tree, struct wort_put *put,
		    struct wort_index_stats __percpu *stats)
{
	struct wort_op op __uninitialized;
	struct qr_page page;
	struct qr_rec rec;
	u64 same;
	int err;

	if (put->value.len > QR_WORD || put->replace || put->expect || put->old)
		return -EAGAIN;
	fast_begin(&op, tree);
	if (unlikely(!leaf_lock(&op, tree, &put->key, &page, &same, &rec)))
		return -EAGAIN;
	err = put_locked(&op, tree, &page, same, &rec, put);
	wort_nodes_unlock(&op);
	if (!err)
		wort_costs_add(stats, put->replaced ? WORT_OP_UPDATE : WORT_OP_INSERT,
			       &op.n);
	return err;
}

/* A leaf of which few records stay is for the careful way, which may merge it. */
static int fast_remove(struct wort_tree *tree, const struct wort_del *del,
		       struct wort_index_stats __percpu *stats)
{
	struct wort_op op __uninitialized;
	struct qr_page page;
	struct qr_rec rec;
	int err = -EAGAIN;
	u64 same;

	if (del->expect || del->old)
		return -EAGAIN;
	fast_begin(&op, tree);
	if (unlikely(!leaf_lock(&op, tree, &del->key, &page, &same, &rec)))
		return -EAGAIN;
	if (qr_is_there(&rec) && qr_rec_kind(rec.head) <= QR_WORD &&
	    !qr_shadow_few(page.shadow)) {
		qr_rec_kill(&op, &page, &rec);
		err = 0;
	}
	wort_nodes_unlock(&op);
	if (!err)
		wort_costs_add(stats, WORT_OP_DELETE, &op.n);
	return err;
}

const struct wort_fast_ops qr_fast_ops = {
	.lookup = fast_lookup,
	.put = fast_put,
	.remove = fast_remove,
	.class = { [QR_FOUND] = { WORT_OP_LOOKUP, .leaves = 1 } },
};
