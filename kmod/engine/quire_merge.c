// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * QUIRE: steps that make the tree smaller, after a delete has committed.  Each
 * may be left out: what it would have given back stays for later ones.
 */
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "quire.h"

#define FEW_CHILDREN	2	/* of an inner page that may be */

/**
 * struct qr_merge - Two neighbours that become one page
 * @parent: their parent, at the end of the descent
 * @end: its end, as it was before anything else of it was read
 * @upper: its upper, then that of the second one
 * @child: the separators that lead to both; the second one with a head of 0:
 *	there is only one child
 * @old: both
 * @order: their records
 * @anchor: of the first one
 * @sep: the separator between them
 * @key: for a copy of a key
 * @page: what replaces them
 * @before: the neighbour is the one before, not the next one
 */
struct qr_merge {
	struct qr_pos parent;
	struct qr_end end;
	struct wort_bound upper;
	struct qr_rec child[2];
	struct qr_page old[2];
	struct qr_order order[2];
	struct wort_bound anchor;
	struct wort_bound sep;
	u8 key[WORT_KEY_MAX] __aligned(8);
	struct qr_page page;
	bool before;
};

static int child_load(struct wort_op *op, const struct qr_merge *m, u32 place,
		      struct qr_rec *child)
{
	return qr_rec_at(op, &m->parent.page, place, child);
}

/* The child becomes the second one of the pair. */
static int before_choose(struct wort_op *op, struct qr_merge *m,
			 struct qr_way *way)
{
	int err = child_load(op, m, way->place, &m->child[0]);
	struct wort_key sep;

	m->child[1].head = 0;
	if (err || !m->child[0].len)
		return err;
	m->child[1] = m->child[0];
	err = qr_sep_key(op, &m->parent.page, way->place, &m->sep);
	if (err)
		return err;
	sep = wort_bound_key(&m->sep);
	return qr_inner_find(op, &m->parent.page, QR_BELOW, &sep, way, NULL) ?:
	       child_load(op, m, way->place, &m->child[0]);
}

/*
 * Does a separator of the parent lie in its range?  After half a split those of the upper part
 * do not, and the pages that they lead to have another parent.
 */
static int is_in_range(struct wort_op *op, const struct qr_merge *m,
		       const struct qr_rec *sep)
{
	const struct wort_key upper = wort_bound_key(&m->upper);

	if (upper.len == WORT_NO_KEY)
		return 1;
	return qr_key_verify(op, &m->parent.page, &upper) ?:
	       qr_rec_cmp(&m->parent.page, sep, &upper) < 0;
}

/*
 * Choose the child of a key and a neighbour of it: the next one, unless it is
 * the last child or the one before is wanted.
 */
static int pair_choose(struct wort_op *op, struct qr_merge *m,
		       const struct wort_key *key)
{
	const struct qr_page *parent = &m->parent.page;
	struct qr_way way;
	int got = qr_end_find(op, parent, &m->end) ?:
		  qr_inner_find(op, parent, QR_COVERS, key, &way, NULL);

	if (!got && way.next && !m->before)
		got = child_load(op, m, way.next, &m->child[1]) ?:
		      is_in_range(op, m, &m->child[1]);
	if (got <= 0)
		return got ?: before_choose(op, m, &way);
	return child_load(op, m, way.place, &m->child[0]) ?:
	       qr_sep_key(op, parent, way.next, &m->sep);
}

/* The upper of the pair; -EAGAIN if the second one has gone meanwhile. */
static int upper_find(struct wort_op *op, struct qr_merge *m)
{
	const struct wort_key sep = wort_bound_key(&m->sep);
	struct qr_way way;
	int err = qr_inner_find(op, &m->parent.page, QR_COVERS, &sep, &way,
				&m->upper);

	if (err)
		return err;
	return way.place == m->child[1].place ? 0 : -EAGAIN;
}

static int pair_open(struct wort_op *op, const struct wort_tree *tree,
		     struct qr_merge *m)
{
	int err = upper_find(op, m);
	u32 i;

	for (i = 0; i < 2 && !err; i++) {
		err = qr_page_open(op, tree, m->child[i].val, &m->old[i]);
		if (!err && m->old[i].level + 1 != m->parent.page.level)
			err = wort_corrupt(op, m->old[i].off,
					   "page of another level");
		if (!err)
			err = qr_order(op, &m->old[i], i ? &m->upper : &m->sep,
				       &m->order[i]);
	}
	if (err)
		return err;
	m->anchor.len = m->old[0].anchor_len;
	return wort_pm_read(op, m->anchor.bytes, m->old[0].media->anchor,
			    m->anchor.len);
}

/* Bytes of the merged page, with the records of both. */
static u32 pair_bytes(const struct qr_merge *m, u32 prefix_len)
{
	u32 words = 1 + DIV_ROUND_UP(m->anchor.len, QR_WORD), i, more;

	for (i = 0; i < 2; i++) {
		more = DIV_ROUND_UP(m->old[i].prefix_len - prefix_len, QR_WORD);
		words += m->order[i].words + m->order[i].nr * more;
	}
	/* The first separator of an inner page gets bytes. */
	return (words + DIV_ROUND_UP(m->sep.len, QR_WORD)) * QR_WORD;
}

/*
 * Lock the parent and both pages.  Returns -EAGAIN if one of them has changed.
 * That the parent got no further separator shows that the pages are still
 * neighbours.
 */
static int pair_lock(struct wort_op *op, const struct qr_merge *m)
{
	u64 nodes[3] = { m->parent.page.off, m->old[0].off, m->old[1].off };
	const struct qr_page *parent = &m->parent.page;
	struct qr_rec now;
	bool same;
	u32 i;

	if (!wort_nodes_lock(op, nodes, 3))
		return -EAGAIN;
	same = !qr_has_grown(op, parent, m->end.top);
	for (i = 0; i < 2; i++) {
		same = same && !child_load(op, m, m->child[i].place, &now) &&
		       now.head == m->child[i].head &&
		       now.val == m->child[i].val &&
		       !qr_has_grown(op, &m->old[i], m->order[i].end.top);
	}
	if (same)
		return 0;
	wort_nodes_unlock(op);
	return -EAGAIN;
}

static int pair_write(struct wort_op *op, struct qr_merge *m, u32 size,
		      u32 prefix_len)
{
	const struct wort_key anchor = wort_bound_key(&m->anchor);
	const struct wort_key sep = wort_bound_key(&m->sep);
	struct qr_rec first;
	u32 from = 0;
	int place;

	qr_page_create(op, wort_alloc_take(op), size, m->old[0].level, &anchor,
		       prefix_len, &m->page);
	place = qr_records_copy(op, &m->old[0], &m->order[0], 0, m->order[0].nr,
				&m->page, m->page.first, m->key);
	if (place > 0 && m->page.level) {
		if (!m->order[1].nr || qr_key_verify(op, &m->page, &sep) ||
		    qr_rec_at(op, &m->old[1], m->order[1].slot[0].place,
			      &first))
			return -EAGAIN;
		place = qr_page_add(op, &m->page, place, &sep, first.head,
				    first.val);
		from = 1;
	}
	if (place > 0)
		place = qr_records_copy(op, &m->old[1], &m->order[1], from,
					m->order[1].nr, &m->page, place,
					m->key);
	if (place < 0)
		return place;
	qr_page_finish(op, &m->page, place);
	return 0;
}

/*
 * First the link, then the separator: see quire.h.  A writer that has planned a
 * split of the parent must plan it again, since one of its parts could begin
 * with the dead separator.
 */
static void pair_commit(struct wort_op *op, const struct wort_tree *tree,
			struct qr_merge *m)
{
	struct qr_page *parent = &m->parent.page;

	qr_sep_change(op, tree, parent, m->child[0].place, 1, m->page.off);
	qr_sep_change(op, tree, parent, m->child[1].place, 0,
		      m->child[1].head | WORT_MEDIA_QUIRE_DEAD);
	wort_nodes_removed(op, m->old[0].off, m->old[1].off);
	wort_nodes_removed(op, parent->off, 0);
}

/*
 * Has the first one no records from the separator on?  The last one tells:
 * deletes beside this merge change how many there are.
 */
static int ends_before_sep(struct wort_op *op, const struct qr_merge *m,
			   const struct qr_order *all)
{
	const struct wort_key sep = wort_bound_key(&m->sep);
	struct qr_rec last;
	int err;

	if (!all->nr)
		return 1;
	err = qr_rec_at(op, &m->old[0], all->slot[all->nr - 1].place, &last) ?:
	      qr_key_verify(op, &m->old[0], &sep);
	return err ?: qr_rec_cmp(&m->old[0], &last, &sep) < 0;
}

/*
 * May the first one take the range of the second one, as it is?  The second one
 * is empty, keys of both have the prefix of the first one, and that has no
 * records beyond its range, which half a split or half a merge leaves there:
 * they would count again.
 */
static int is_absorbing(struct wort_op *op, struct qr_merge *m, u32 prefix_len)
{
	struct qr_order *all = &m->order[1];
	const struct qr_end end = all->end;
	int err;

	if (m->old[0].level || all->nr || m->old[0].prefix_len > prefix_len)
		return 0;
	err = qr_order(op, &m->old[0], &m->upper, all) ?:
	      ends_before_sep(op, m, all);
	all->nr = 0;
	all->words = 0;
	all->end = end;
	return err;
}

/* Takes no space: a full pool gets room from the first leaf that is emptied. */
static int pair_absorb(struct wort_op *op, const struct wort_tree *tree,
		       struct qr_merge *m)
{
	struct qr_page *parent = &m->parent.page;
	int err = pair_lock(op, m);

	if (err)
		return err;
	qr_sep_change(op, tree, parent, m->child[1].place, 0,
		      m->child[1].head | WORT_MEDIA_QUIRE_DEAD);
	wort_nodes_removed(op, m->old[1].off, parent->off);
	wort_nodes_unlock(op);
	qr_page_free(op, tree, &m->old[1]);
	return 0;
}

/* Returns -E2BIG if they are too much for one page. */
static int pair_replace(struct wort_op *op, struct wort_tree *tree,
			struct qr_merge *m, u32 prefix_len)
{
	u32 level = m->old[0].level;
	u32 nr = m->order[0].nr + m->order[1].nr, least, size, i;
	int err;

	prefix_len = min_t(u32, prefix_len,
			   min(m->old[0].prefix_len, m->old[1].prefix_len));
	least = pair_bytes(m, prefix_len);
	if (nr > qr_recs_max(level) / 2 || least > qr_page_max(tree, level))
		return -E2BIG;
	size = qr_page_size(op, tree, level, false, least, nr, 0);
	err = qr_page_reserve(op, tree, level, least, &size) ?:
	      pair_lock(op, m);
	if (err)
		return err;
	err = pair_write(op, m, size, prefix_len);
	if (err)
		wort_alloc_untake(op);
	else
		pair_commit(op, tree, m);
	wort_nodes_unlock(op);
	for (i = 0; i < 2 && !err; i++)
		qr_page_free(op, tree, &m->old[i]);
	return err;
}

static int pair_merge(struct wort_op *op, struct wort_tree *tree,
		      struct qr_merge *m)
{
	const struct wort_key anchor = wort_bound_key(&m->anchor);
	const struct wort_key upper = wort_bound_key(&m->upper);
	u32 prefix_len = wort_bounds_common(&anchor, &upper);
	int absorbs = is_absorbing(op, m, prefix_len);

	if (absorbs < 0)
		return absorbs;
	return absorbs ? pair_absorb(op, tree, m) :
			 pair_replace(op, tree, m, prefix_len);
}

/*
 * The root page goes: it leads to one child only, or is a leaf without records.
 */
static int root_replace(struct wort_op *op, struct wort_tree *tree,
			const struct qr_merge *m)
{
	const struct qr_page *root = &m->parent.page;
	u64 nodes[2] = { root->off, wort_root_node(tree) };
	u64 only = root->level ? m->child[0].val : 0;

	if (!wort_nodes_lock(op, nodes, 2))
		return -EAGAIN;
	if (wort_pm_load(wort_tree_root(tree)) != root->off ||
	    qr_has_grown(op, root, m->end.top) ||
	    (root->level &&
	     wort_pm_load(qr_word(root, m->child[0].place + 1)) != only)) {
		wort_nodes_unlock(op);
		return -EAGAIN;
	}
	qr_root_change(op, tree, only);
	wort_nodes_removed(op, root->off, 0);
	wort_nodes_unlock(op);
	qr_page_free(op, tree, root);
	return 0;
}

/* The root page is a leaf: it goes if it has no records. */
static int root_leaf_replace(struct wort_op *op, struct wort_tree *tree,
			     struct qr_merge *m)
{
	struct qr_order *order = &m->order[0];
	int err = qr_order(op, &m->parent.page, &m->upper, order);

	if (err || order->nr)
		return err ?: -ENOENT;
	m->end = order->end;
	return root_replace(op, tree, m);
}

/*
 * Merge the page of a level in whose range a key is with a neighbour, or take
 * the root page away.  Returns 0 if the page above may be next.
 */
static int level_merge(struct wort_op *op, struct wort_tree *tree, u32 level,
		       const struct wort_key *key, struct qr_merge *m)
{
	const struct qr_page *page = &m->parent.page;
	int err;

	wort_op_step(op);
	err = qr_descend(op, tree, level + 1, QR_COVERS, key, &m->parent,
			 &m->upper);
	if (err || !page->off)
		return err ?: -ENOENT;
	if (!page->level)
		return root_leaf_replace(op, tree, m) ?: -ENOENT;
	err = pair_choose(op, m, key);
	if (err)
		return err;
	if (!m->child[1].head && m->before)
		return -ENOENT;
	if (!m->child[1].head && m->parent.depth)
		return 0;
	if (!m->child[1].head)
		return root_replace(op, tree, m) ?: -ENOENT;
	if (page->level != level + 1)
		return -ENOENT;
	err = pair_open(op, tree, m) ?: pair_merge(op, tree, m);
	if (err)
		return err;
	return qr_has_at_most(op, page, FEW_CHILDREN) ? 0 : -ENOENT;
}

/* With the next page, or else with the one before. */
static int level_tidy(struct wort_op *op, struct wort_tree *tree, u32 level,
		      const struct wort_key *key, struct qr_merge *m)
{
	int err;

	m->before = false;
	err = level_merge(op, tree, level, key, m);
	if (err != -E2BIG && err != -ENOSPC && err != -ENOMEM)
		return err;
	m->before = true;
	return level_merge(op, tree, level, key, m);
}

/*
 * After a delete: merge its leaf with a neighbour, and then pages above.  The
 * delete has succeeded, so this does without memory if there is none, and takes
 * no space that is kept for deletes.
 */
void qr_tidy(struct wort_op *op, struct wort_tree *tree,
	     const struct wort_key *key)
{
	bool must_free = op->must_free;
	struct qr_merge *m;
	u32 level = 0;
	int err;

	m = kvmalloc(sizeof(*m), GFP_NOIO | WORT_GFP_CALL);
	if (!m)
		return;
	op->must_free = false;
	do {
		err = level_tidy(op, tree, level++, key, m);
	} while (!err && level < QR_LEVELS);
	op->must_free = must_free;
	kvfree(m);
	/* The delete has succeeded: the damage is told by the index. */
	if (err == -EUCLEAN)
		op->damaged = true;
}

/*
 * Make what takes the place of a page that cannot be read: a leaf without
 * records, and above it a page with one child for each level.  An operation
 * reserves few objects at a time, so a high page takes several steps.  If a
 * step fails, the next walk gives back what the steps before it have taken.
 */
static int empty_create(struct wort_op *op, const struct wort_tree *tree,
			u32 level, const struct wort_key *anchor, u64 *off)
{
	const struct wort_key none = { anchor->data, 0 };
	u32 size = qr_page_size(op, tree, 0, true, (3 + DIV_ROUND_UP(anchor->len, QR_WORD)) *
				QR_WORD, 0, 0), place, i;
	struct qr_page page;
	int err;

	for (i = 0; i <= level; i++) {
		if (op->nr_reserved == WORT_RESERVE_MAX) {
			wort_pm_fence_contents(op);
			wort_op_step(op);
		}
		err = wort_alloc_reserve(op, size);
		if (err) {
			wort_alloc_untake(op);
			return err;
		}
		qr_page_create(op, wort_alloc_take(op), size, i, anchor, 0,
			       &page);
		place = page.first;
		if (i)
			place = qr_page_add(op, &page, place, &none, WORT_MEDIA_QUIRE_SET |
					    8ULL << WORT_MEDIA_QUIRE_VALUE_SHIFT, *off);
		qr_page_finish(op, &page, place);
		*off = page.off;
	}
	return 0;
}

/* The separator that leads to the page that cannot be read, and its key. */
static int lost_find(struct wort_cursor *cur, struct qr_page *parent,
		     struct qr_rec *sep, struct wort_key *anchor)
{
	struct qr_cursor *qc = (struct qr_cursor *)cur->engine;
	const struct qr_above *above = &qc->pos.above[qc->pos.depth - 1];
	int err = qr_page_open(cur->op, cur->tree, above->off, parent) ?:
		  qr_rec_at(cur->op, parent, above->place, sep), len;
	struct qr_page page;

	if (err)
		return err;
	if (qr_page_open(cur->op, cur->tree, sep->val, &page) != -EIO)
		return -EAGAIN;
	len = qr_rec_key(cur->op, parent, sep, qc->key);
	if (!sep->len) {
		len = parent->anchor_len;
		err = wort_pm_read(cur->op, qc->key, parent->media->anchor,
				   len);
	}
	*anchor = (struct wort_key){ qc->key, len };
	return len < 0 ? len : err;
}

/*
 * All records of a page that cannot be read go; one without records takes its
 * place.
 */
int qr_drop(struct wort_cursor *cur)
{
	struct qr_cursor *qc = (struct qr_cursor *)cur->engine;
	const __le64 __pmem *root = wort_tree_root(cur->tree);
	u64 lost = wort_pm_load(root), off = 0;
	u64 node = wort_root_node(cur->tree);
	struct wort_op *op = cur->op;
	struct qr_page parent;
	struct wort_key anchor;
	struct qr_rec sep;
	int err;

	if (qc->pos.depth) {
		err = lost_find(cur, &parent, &sep, &anchor) ?:
		      empty_create(op, cur->tree, parent.level - 1, &anchor,
				   &off);
		if (err)
			return err;
		node = parent.off;
		lost = sep.val;
	} else if (wort_pm_probe(op, root, WORT_LINE) ||
		   qr_page_open(op, cur->tree, lost, &parent) != -EIO) {
		return lost ? -EAGAIN : -EIO;
	}
	wort_pm_fence_contents(op);
	if (!wort_nodes_lock(op, &node, 1)) {
		wort_alloc_untake(op);
		return -EAGAIN;
	}
	if (qc->pos.depth)
		qr_sep_change(op, cur->tree, &parent, sep.place, 1, off);
	else
		qr_root_change(op, cur->tree, off);
	wort_nodes_unlock(op);
	op->bad_off = lost;
	return 0;
}
