// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * QUIRE: operations by the shadows alone.  They give up with -EAGAIN where a
 * page has no shadow or has to be rebuilt, where a word is in flight, and for
 * values of more than a word.
 */
#include <linux/kernel.h>

#include "quire_shadow.h"
#include "rec.h"

#define QR_FOUND	0	/* the one class of costs: a lookup has found a record */

/* The shadow of the root page. */
static __always_inline struct qr_shadow *fast_root(const struct wort_tree *tree)
{
	u64 node = wort_root_node(tree), off;

	if (unlikely(node >= wort_region_plain(tree->region)))
		return NULL;
	off = wort_pm_load(wort_tree_root(tree));
	if (unlikely(wort_pm_in_flight(tree->in_flight, node)))
		return NULL;
	return qr_shadow_find(tree, off);
}

/*
 * Is it that of a page of a level in whose range the key may be, and which may
 * be read?
 */
static __always_inline bool is_page_of(const struct wort_tree *tree,
				       const struct qr_shadow *shadow,
				       u32 level, const struct wort_key *key)
{
	return likely(shadow->page.level == level &&
		      key->len >= shadow->page.prefix_len &&
		      shadow->page.off < wort_region_plain(tree->region));
}

/*
 * The shadow of the child to which a key leads; NULL: give up.  The child
 * itself is not looked at, since it may have been prefetched only.  Levels
 * decrease, as in all descents.
 */
static __always_inline struct qr_shadow *
fast_child(const struct wort_tree *tree, const struct qr_shadow *shadow,
	   u32 level, const struct wort_key *key)
{
	return is_page_of(tree, shadow, level, key) ? qr_child_shadow(shadow, key) : NULL;
}

/* Descend to the leaf of a key; NULL: give up. */
static __always_inline struct qr_shadow *fast_leaf(const struct wort_tree *tree,
						   const struct wort_key *key,
						   u32 *nodes)
{
	struct qr_shadow *shadow = fast_root(tree);
	u32 level = shadow ? shadow->page.level : 0;

	for (*nodes = level; shadow && level; level--)
		shadow = fast_child(tree, shadow, level, key);
	return shadow && is_page_of(tree, shadow, 0, key) ? shadow : NULL;
}

/*
 * Descend to the leaf of a key by the shadows alone; -EAGAIN if some are
 * missing.
 */
int qr_shadows_descend(struct wort_op *op, const struct wort_tree *tree,
		       const struct wort_key *key, struct qr_page *page)
{
	u32 nodes;
	const struct qr_shadow *shadow = fast_leaf(tree, key, &nodes);

	if (!shadow)
		return -EAGAIN;
	*page = shadow->page;
	wort_count(op, nodes, nodes);
	wort_count(op, leaves, 1);
	return 0;
}

/*
 * Prefetch where the search of a shadow begins, of a leaf all of its tags and
 * places.
 */
static void shadow_prefetch(const struct qr_shadow *shadow)
{
	u32 at = 0;

	for (; at < offsetof(struct qr_leaf_shadow, order); at += WORT_LINE)
		prefetch((const u8 *)shadow + at);
}

/*
 * Loads of different keys do not wait for each other: all keys go down one
 * level, and then the next one.
 */
void qr_prefetch_keys(const struct wort_tree *tree, const struct wort_key *keys,
		      u32 nr)
{
	struct qr_shadow *at[WORT_PREFETCH_MAX] __uninitialized;
	struct qr_shadow *root = fast_root(tree);
	u32 level, i;

	if (!root)
		return;
	for (i = 0; i < nr; i++)
		at[i] = wort_key_valid(&keys[i]) ? root : NULL;
	for (level = root->page.level; level; level--)
		for (i = 0; i < nr; i++) {
			if (at[i])
				at[i] = fast_child(tree, at[i], level,
						   &keys[i]);
			if (at[i])
				shadow_prefetch(at[i]);
		}
	for (i = 0; i < nr; i++)
		if (at[i] && is_page_of(tree, at[i], 0, &keys[i]))
			qr_tagged_prefetch(at[i], &keys[i]);
}

static int fast_lookup(const struct wort_tree *tree, const struct wort_key *key,
		       struct wort_buf *buf,
		       struct wort_index_stats __percpu *stats)
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
	if (!qr_tagged_find(shadow, key, qr_hash(key), &rec))
		return -EAGAIN;
	if (rec.head &&
	    unlikely(wort_pm_in_flight(tree->in_flight, shadow->page.off) ||
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

static __always_inline void fast_begin(struct wort_op *op,
				       const struct wort_tree *tree)
{
	wort_op_begin(op, tree->region, tree->alloc);
	op->locks = tree->locks;
	op->in_flight = tree->in_flight;
	op->alone = false;
	op->time = wort_locks_now(tree->locks);
}

/*
 * Lock the leaf of a key, and find the last record of the key.  False: give up,
 * with nothing locked.
 */
static __always_inline bool leaf_lock(struct wort_op *op,
				      const struct wort_tree *tree,
				      const struct wort_key *key,
				      struct qr_page *page, u32 hash,
				      struct qr_rec *rec)
{
	struct qr_shadow *shadow;
	u32 nodes;

	shadow = fast_leaf(tree, key, &nodes);
	if (unlikely(!shadow))
		return false;
	*page = shadow->page;
	wort_pm_prefetch_store(qr_word(page, READ_ONCE(shadow->top)));
	if (unlikely(!wort_node_lock(op, page->off)))
		return false;
	if (unlikely(*wort_lock_of(op, page->off)->in_flight ||
		     !qr_tagged_find(shadow, key, hash, rec))) {
		wort_nodes_unlock(op);
		return false;
	}
	wort_count(op, nodes, nodes);
	wort_count(op, leaves, 1);
	return true;
}

/*
 * With the lock of the leaf; -EAGAIN: it has no room, or the old value is an
 * object.
 */
static __always_inline int put_locked(struct wort_op *op,
				      const struct wort_tree *tree,
				      struct qr_page *page, u32 hash,
				      const struct qr_rec *rec,
				      struct wort_put *put)
{
	u64 same = qr_head_same(page, &put->key, hash);
	u32 len = put->key.len - page->prefix_len;
	u32 kind = qr_rec_kind(rec->head);
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
	qr_append(op, tree, page, end.top, put->key.data + page->prefix_len,
		  len, qr_rec_head(same, put->value.len), val);
	return 0;
}

static int fast_put(struct wort_tree *tree, struct wort_put *put,
		    struct wort_index_stats __percpu *stats)
{
	struct wort_op op __uninitialized;
	struct qr_page page;
	struct qr_rec rec;
	u32 hash;
	int err;

	if (unlikely(!wort_key_valid(&put->key)) || put->value.len > QR_WORD ||
	    put->replace || put->expect || put->old)
		return -EAGAIN;
	hash = qr_hash(&put->key);
	fast_begin(&op, tree);
	if (unlikely(!leaf_lock(&op, tree, &put->key, &page, hash, &rec)))
		return -EAGAIN;
	err = put_locked(&op, tree, &page, hash, &rec, put);
	wort_nodes_unlock(&op);
	if (!err)
		wort_costs_add(stats,
			       put->replaced ? WORT_OP_UPDATE : WORT_OP_INSERT,
			       &op.n);
	return err;
}

/*
 * A leaf of which few records stay is for the careful way, which may merge it.
 */
static int fast_remove(struct wort_tree *tree, const struct wort_del *del,
		       struct wort_index_stats __percpu *stats)
{
	struct wort_op op __uninitialized;
	struct qr_page page;
	struct qr_rec rec;
	int err = -EAGAIN;

	if (unlikely(!wort_key_valid(&del->key)) || del->expect || del->old)
		return -EAGAIN;
	fast_begin(&op, tree);
	if (unlikely(!leaf_lock(&op, tree, &del->key, &page, qr_hash(&del->key),
				&rec)))
		return -EAGAIN;
	if (qr_is_there(&rec) && qr_rec_kind(rec.head) <= QR_WORD &&
	    !qr_shadow_few(page.shadow, 0)) {
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
