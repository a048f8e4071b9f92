// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * QUIRE: descents, and what operations do in a leaf.  The structure and its
 * commit words are described in quire.h.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "quire_shadow.h"
#include "rec.h"

static int root_open(struct wort_op *op, const struct wort_tree *tree, u64 off,
		     struct qr_page *page)
{
	int err = qr_page_open(op, tree, off, page);

	if (!err && page->anchor_len)
		err = wort_corrupt(op, off, "root page with an anchor");
	return err;
}

/* Levels decrease, so each descent ends. */
static int child_open(struct wort_op *op, const struct wort_tree *tree, u64 off,
		      struct qr_page *page)
{
	u32 level = page->level;
	int err = qr_page_open(op, tree, off, page);

	if (!err && page->level != level - 1)
		err = wort_corrupt(op, off,
				   "page of level %u below one of level %u",
				   page->level, level);
	return err;
}

/*
 * Descend one level.  Whoever opens a page first makes its shadow; that of the
 * parent leads to it at once.
 */
static int child_descend(struct wort_op *op, const struct wort_tree *tree,
			 enum qr_goal goal, const struct wort_key *key,
			 struct qr_pos *pos, struct wort_bound *upper)
{
	const struct qr_page parent = pos->page;
	struct qr_way way;
	int err = qr_inner_find(op, &parent, goal, key, &way, upper);

	if (err)
		return err;
	pos->above[pos->depth++] = (struct qr_above){ parent.off, way.place };
	err = child_open(op, tree, way.link, &pos->page);
	if (!err && parent.shadow && pos->page.shadow && !way.shadow)
		qr_child_learn(op, tree, &parent, &way, pos->page.shadow);
	return err;
}

/* @shadows: the tree, or NULL: no shadow is used, or made. */
static int descend(struct wort_op *op, const struct wort_tree *tree,
		   const struct wort_tree *shadows, u32 level,
		   enum qr_goal goal, const struct wort_key *key,
		   struct qr_pos *pos, struct wort_bound *upper)
{
	u64 link;
	int err = wort_root_load(op, wort_root_off(tree), &link);

	pos->page = (struct qr_page){ };
	pos->rec = (struct qr_rec){ };
	pos->depth = 0;
	if (upper)
		upper->len = WORT_NO_KEY;
	if (err || !link)
		return err;
	err = root_open(op, shadows, link, &pos->page);
	while (!err && pos->page.level > level)
		err = child_descend(op, shadows, goal, key, pos, upper);
	if (!err && qr_goal_is_key(goal))
		err = qr_key_verify(op, &pos->page, key);
	return err;
}

/*
 * Descend to a page of a level, to the root page if there is none.  With @upper
 * the upper of its range is told.
 */
int qr_descend(struct wort_op *op, const struct wort_tree *tree, u32 level,
	       enum qr_goal goal, const struct wort_key *key,
	       struct qr_pos *pos, struct wort_bound *upper)
{
	return descend(op, tree, tree, level, goal, key, pos, upper);
}

/* Descend to a leaf without shadows: the walk verifies the pages on media. */
int qr_descend_media(struct wort_op *op, const struct wort_tree *tree,
		     enum qr_goal goal, const struct wort_key *key,
		     struct qr_pos *pos, struct wort_bound *upper)
{
	return descend(op, tree, NULL, 0, goal, key, pos, upper);
}

/* Find the last record of a key; with @pos->rec.head 0 there is none. */
static int find(struct wort_op *op, const struct wort_tree *tree,
		const struct wort_key *key, struct qr_pos *pos)
{
	int err = qr_shadows_descend(op, tree, key, &pos->page);

	if (err)
		err = qr_descend(op, tree, 0, QR_COVERS, key, pos, NULL);
	if (err || !pos->page.off)
		return err;
	return qr_leaf_find(op, &pos->page, key, &pos->rec, &pos->end);
}

static void qr_create(struct wort_op *op, struct wort_tree *tree)
{
	wort_pm_store(op, wort_tree_root(tree), 0);
}

/* Verify where the object of a value is, and its size. */
static int object_verify(struct wort_op *op, const struct qr_page *page,
			 const struct qr_rec *rec)
{
	u32 len = qr_object_len(rec->val);
	int err = wort_region_verify(op->region, qr_object_off(rec->val),
				     len ?: 1);

	if (err == -EUCLEAN || len <= QR_WORD || len > WORT_VALUE_MAX)
		return wort_corrupt(op, page->off,
				    "record at word %u with value %#llx",
				    rec->place, (unsigned long long)rec->val);
	return err;
}

/* Copy the value of a record. */
int qr_value_read(struct wort_op *op, const struct qr_page *page,
		  const struct qr_rec *rec, struct wort_buf *buf)
{
	u64 off = qr_object_off(rec->val);
	int err;

	if (qr_rec_kind(rec->head) != WORT_MEDIA_QUIRE_VALUE_OBJECT)
		return wort_rec_copy_word(buf, rec->val,
					  qr_rec_kind(rec->head));
	buf->len = qr_object_len(rec->val);
	err = object_verify(op, page, rec);
	if (err == -EUCLEAN)
		return err;
	if (buf->len > buf->size)
		return -ERANGE;
	return err ?: wort_pm_read(op, buf->data,
				   wort_region_at(op->region, off), buf->len);
}

static int qr_lookup(struct wort_op *op, struct wort_tree *tree,
		     const struct wort_key *key, struct wort_buf *buf)
{
	struct qr_pos pos;
	int err = find(op, tree, key, &pos);

	if (err)
		return err;
	return qr_is_there(&pos.rec) ? qr_value_read(op, &pos.page, &pos.rec, buf) : -ENOENT;
}

/* Is the value of a record the one that is expected? */
static int expect(struct wort_op *op, const struct qr_pos *pos,
		  const struct wort_value *expected, struct wort_buf *old)
{
	const struct qr_rec *rec = &pos->rec;
	int err = old ? qr_value_read(op, &pos->page, rec, old) : 0;
	u64 off = qr_object_off(rec->val);

	if (err || !expected)
		return err;
	if (qr_rec_value_len(rec) != expected->len)
		return -ECANCELED;
	if (qr_rec_kind(rec->head) != WORT_MEDIA_QUIRE_VALUE_OBJECT)
		return rec->val == wort_value_word(expected) ? 0 : -ECANCELED;
	err = object_verify(op, &pos->page, rec) ?:
	      wort_pm_probe(op, wort_region_at(op->region, off), expected->len);
	if (err)
		return err;
	return wort_pm_common(&op->n, wort_region_at(op->region, off), expected->data,
			      expected->len) == expected->len ? 0 : -ECANCELED;
}

int qr_value_reserve(struct wort_op *op, const struct wort_value *value)
{
	return value->len > QR_WORD ? wort_alloc_reserve(op, value->len) : 0;
}

/*
 * Write the object of a long value; a fence comes before the word that refers
 * to it.
 */
struct qr_value qr_value_create(struct wort_op *op,
				const struct wort_value *value)
{
	void __pmem *object;
	u64 off;

	if (value->len <= QR_WORD)
		return (struct qr_value){ value->len, wort_value_word(value) };
	off = wort_alloc_take(op);
	object = wort_region_at(op->region, off);
	wort_pm_write(op, object, value->data, value->len);
	wort_pm_flush(op, object, value->len);
	return (struct qr_value){
		WORT_MEDIA_QUIRE_VALUE_OBJECT,
		off | (u64)value->len << WORT_MEDIA_QUIRE_BYTES_SHIFT,
	};
}

/* Give back the object of a value that nothing refers to any more. */
void qr_value_free(struct wort_op *op, const struct qr_rec *rec)
{
	if (rec->head &&
	    qr_rec_kind(rec->head) == WORT_MEDIA_QUIRE_VALUE_OBJECT &&
	    wort_alloc_free(op, qr_object_off(rec->val),
			    qr_object_len(rec->val)))
		op->damaged = true;
}

/*
 * With the lock of a leaf: -EAGAIN if the record of a key is not what the
 * descent has seen: the last one, with the same value where that counts.
 */
int qr_rec_renew(struct wort_op *op, const struct qr_page *page,
		 const struct wort_key *key, bool exact, struct qr_rec *rec,
		 struct qr_end *end)
{
	const struct qr_rec was = *rec;
	int err = qr_leaf_find(op, page, key, rec, end);

	if (err)
		return err;
	return rec->head != was.head ||
	       (rec->head && (rec->place != was.place ||
			      (exact && rec->val != was.val))) ? -EAGAIN : 0;
}

static int leaf_lock(struct wort_op *op, const struct wort_tree *tree,
		     struct qr_pos *pos, const struct wort_key *key, bool exact)
{
	int err;

	if (!wort_node_lock(op, pos->page.off))
		return -EAGAIN;
	qr_shadow_current(tree, &pos->page);
	err = qr_rec_renew(op, &pos->page, key, exact, &pos->rec, &pos->end);
	if (err)
		wort_nodes_unlock(op);
	return err;
}

/*
 * Store a word of a record of a leaf, which is locked, and make it durable: the
 * value word, or a head that becomes dead.
 */
void qr_commit(struct wort_op *op, const struct qr_page *page, u32 place,
	       u64 val)
{
	struct wort_lock *lock = wort_lock_of(op, page->off);
	__le64 __pmem *word = qr_word(page, place);

	wort_pm_fence_in_flight(op);
	wort_pm_launch(op, lock, word, val);
	wort_pm_land(op, lock, word);
}

void qr_rec_kill(struct wort_op *op, const struct qr_page *page,
		 const struct qr_rec *rec)
{
	qr_shadow_killed(page);
	qr_commit(op, page, rec->place, rec->head | WORT_MEDIA_QUIRE_DEAD);
}

/*
 * The head of a record commits: it is stored while the other words are perhaps
 * not durable, since it names witnesses for them.
 */
static void head_store(struct wort_op *op, const struct qr_page *page,
		       u32 place, u64 head, u32 words)
{
	__le64 __pmem *word = qr_word(page, place);

	wort_pm_launch(op, wort_lock_of(op, page->off), word, head);
	wort_pm_flush(op, word, words * QR_WORD);
}

/*
 * Append a record to a page, which is locked and has room, without waiting for
 * its head.  @rest is what of its key is behind the prefix.
 */
void qr_append_launch(struct wort_op *op, const struct qr_page *page, u32 place,
		      const u8 *rest, u32 len, u64 head, u64 val)
{
	u32 words = qr_rec_words(len), open = words;
	u64 full_head;

	qr_tail_clean(op, page, place, words);
	if (!qr_rec_write(op, page, place, rest, len, head, val, &full_head)) {
		wort_pm_flush(op, qr_word(page, place + 1),
			      (words - 1) * QR_WORD);
		wort_pm_fence(op);
		open = 1;
	}
	if (!page->level)
		qr_shadow_append(page, place, words, head);
	head_store(op, page, place, full_head, open);
}

/* The same, and it is durable. */
void qr_append(struct wort_op *op, const struct wort_tree *tree,
	       struct qr_page *page, u32 place, const u8 *rest, u32 len,
	       u64 head, u64 val)
{
	qr_shadow_current(tree, page);
	qr_read_to(op, page, place);
	wort_pm_fence_in_flight(op);
	qr_children_changing(page);
	qr_append_launch(op, page, place, rest, len, head, val);
	wort_pm_fence(op);
	wort_pm_landed(wort_lock_of(op, page->off));
	if (page->level)
		qr_children_changed(op, tree, page, place);
}

/*
 * Lock the leaf for a put that has written its value: with an error the object
 * of the value is given back.  A new record has so many words, and must have
 * room behind the last one; 0: none is appended.
 */
static int put_lock(struct wort_op *op, const struct wort_tree *tree,
		    struct qr_pos *pos, const struct wort_put *put, bool exact,
		    u32 words)
{
	int err = leaf_lock(op, tree, pos, &put->key, exact);

	if (!err && words) {
		err = qr_end_verify(op, &pos->page, &pos->end);
		if (!err && !qr_has_room(&pos->page, &pos->end, words))
			err = -EAGAIN;
		if (err)
			wort_nodes_unlock(op);
	}
	if (err)
		wort_alloc_untake(op);
	return err;
}

/* A new record in a leaf that had room when the descent saw it. */
static int put_record(struct wort_op *op, const struct wort_tree *tree,
		      struct qr_pos *pos, const struct wort_put *put)
{
	u64 same = qr_head_same(&pos->page, &put->key, qr_hash(&put->key));
	u32 len = put->key.len - pos->page.prefix_len;
	struct qr_value value;
	int err = qr_value_reserve(op, &put->value);

	if (err)
		return err;
	value = qr_value_create(op, &put->value);
	err = put_lock(op, tree, pos, put, put->expect || put->old,
		       qr_rec_words(len));
	if (err)
		return err;
	qr_append(op, tree, &pos->page, pos->end.top,
		  put->key.data + pos->page.prefix_len, len,
		  qr_rec_head(same, value.kind), value.val);
	wort_nodes_unlock(op);
	if (qr_is_there(&pos->rec))
		qr_value_free(op, &pos->rec);
	return 0;
}

/* A value of the same kind: one word. */
static int put_value(struct wort_op *op, const struct wort_tree *tree,
		     struct qr_pos *pos, const struct wort_put *put)
{
	bool object = put->value.len > QR_WORD;
	struct qr_value value;
	int err = qr_value_reserve(op, &put->value);

	if (err)
		return err;
	value = qr_value_create(op, &put->value);
	err = put_lock(op, tree, pos, put, put->expect || put->old || object,
		       0);
	if (err)
		return err;
	qr_commit(op, &pos->page, pos->rec.place + 1, value.val);
	wort_nodes_unlock(op);
	qr_value_free(op, &pos->rec);
	return 0;
}

/*
 * Find what a put is about.  Returns 1 if the value word says all that changes.
 */
int qr_put_plan(struct wort_op *op, const struct wort_tree *tree,
		struct wort_put *put, struct qr_pos *pos)
{
	int err = find(op, tree, &put->key, pos);
	u32 kind = min_t(u32, put->value.len, WORT_MEDIA_QUIRE_VALUE_OBJECT);

	put->replaced = false;
	if (err)
		return err;
	if (!qr_is_there(&pos->rec))
		return put->replace || put->expect ? -ENOENT : 0;
	put->replaced = !put->create;
	err = expect(op, pos, put->create ? NULL : put->expect, put->old);
	if (!err && put->create)
		err = -EEXIST;
	return err ?: qr_rec_kind(pos->rec.head) == kind;
}

static int qr_put(struct wort_op *op, struct wort_tree *tree,
		  struct wort_put *put)
{
	struct qr_pos pos;
	u32 words;
	int err;

	for (;;) {
		err = qr_put_plan(op, tree, put, &pos);
		if (err < 0)
			return err;
		if (err)
			return put_value(op, tree, &pos, put);
		words = qr_rec_words(put->key.len - pos.page.prefix_len);
		if (pos.page.off && qr_has_room(&pos.page, &pos.end, words))
			return put_record(op, tree, &pos, put);
		err = qr_make_room(op, tree, &put->key);
		if (err)
			return err;
		wort_op_step(op);
	}
}

/* Has a page at most so many records that are not dead? */
bool qr_has_at_most(struct wort_op *op, const struct qr_page *page, u32 max)
{
	u32 place = page->first, nr = 0;
	struct qr_rec rec;

	for (; nr <= max && qr_rec_load(op, page, place, &rec) > 0;
	     place += qr_rec_words(rec.len))
		nr += !qr_rec_dead(&rec);
	return nr <= max;
}

/* Has a leaf few records, without those that are dead and so many others? */
bool qr_has_few(struct wort_op *op, const struct qr_page *page, u32 nr_dead)
{
	return page->shadow ? qr_shadow_few(page->shadow, nr_dead) :
			      qr_has_at_most(op, page, nr_dead + QR_FEW_RECS);
}

/* Find the record that a removal is about. */
int qr_remove_plan(struct wort_op *op, const struct wort_tree *tree,
		   const struct wort_del *del, struct qr_pos *pos)
{
	int err = find(op, tree, &del->key, pos);

	if (err)
		return err;
	if (!qr_is_there(&pos->rec))
		return -ENOENT;
	return expect(op, pos, del->expect, del->old);
}

static int qr_remove(struct wort_op *op, struct wort_tree *tree,
		     const struct wort_del *del)
{
	struct qr_pos pos;
	bool few;
	int err = qr_remove_plan(op, tree, del, &pos);

	if (err)
		return err;
	few = qr_has_few(op, &pos.page, 0);
	err = leaf_lock(op, tree, &pos, &del->key, true);
	if (err)
		return err;
	qr_rec_kill(op, &pos.page, &pos.rec);
	wort_nodes_unlock(op);
	qr_value_free(op, &pos.rec);
	if (few && !op->purse)
		qr_tidy(op, tree, &del->key);
	return 0;
}

const struct wort_engine wort_engine_quire = {
	.name = "quire",
	.id = WORT_ENGINE_QUIRE,
	.traits = WORT_TRAITS_quire,
	.cursor_size = sizeof(struct qr_cursor),
	.create = qr_create,
	.lookup = qr_lookup,
	.put = qr_put,
	.remove = qr_remove,
	.seek = qr_seek,
	.next = qr_next,
	.value = qr_value,
	.walk = qr_walk,
	.check = qr_check,
	.need = qr_need,
	.drop = qr_drop,
	.volatile_ops = &qr_volatile_ops,
	.batch_ops = &qr_batch_ops,
	.fast_ops = &qr_fast_ops,
	.prefetch_keys = qr_prefetch_keys,
};
