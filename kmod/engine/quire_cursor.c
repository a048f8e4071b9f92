// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * QUIRE: cursors and the walk.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "quire_shadow.h"

/*
 * Cursors.  When a cursor enters a leaf it takes the places of the records, in
 * the order of keys.  It skips records that are deleted later, and does not see
 * records that are appended later.
 */

static struct qr_cursor *cursor_of(struct wort_cursor *cur)
{
	return (struct qr_cursor *)cur->engine;
}

/*
 * Take the records of the leaf where a descent has ended; an empty index has
 * none.  The cursor looks anyway whether one is dead.
 */
static int leaf_order(struct wort_cursor *cur)
{
	struct qr_cursor *qc = cursor_of(cur);

	qc->order.nr = 0;
	return qc->pos.page.off ?
	       qr_order_all(cur->op, &qc->pos.page, &qc->upper, &qc->order) : 0;
}

static int leaf_enter(struct wort_cursor *cur, enum qr_goal goal,
		      const struct wort_key *key)
{
	struct qr_cursor *qc = cursor_of(cur);

	return qr_descend(cur->op, cur->tree, 0, goal, key, &qc->pos,
			  &qc->upper) ?:
	       leaf_order(cur);
}

/* The number of the first record that is not below a key, or is above it. */
static int order_at(struct wort_cursor *cur, const struct wort_key *key,
		    bool above)
{
	struct qr_cursor *qc = cursor_of(cur);
	u32 low = 0, high = qc->order.nr, mid;
	struct qr_rec rec;
	int err;

	while (low < high) {
		mid = (low + high) / 2;
		err = qr_rec_at(cur->op, &qc->pos.page,
				qc->order.slot[mid].place, &rec);
		if (err)
			return err;
		if (qr_rec_cmp(&qc->pos.page, &rec, key) < above)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Does a page begin below a key? */
static bool begins_below(struct wort_op *op, const struct qr_page *page,
			 const struct wort_key *key)
{
	u32 len = min_t(u32, page->anchor_len, key->len), same;

	same = len ? wort_pm_common(&op->n, page->media->anchor, key->data, len) : 0;
	if (same < len)
		return wort_pm_load_byte(page->media->anchor + same) <
		       key->data[same];
	return page->anchor_len < key->len;
}

static bool bound_is_above(const struct wort_bound *bound,
			   const struct wort_key *key)
{
	const struct wort_key upper = wort_bound_key(bound);

	return upper.len == WORT_NO_KEY || wort_key_compare(&upper, key) > 0;
}

/*
 * Where the leaf ends in the direction of the cursor; -ENOENT: it is the last
 * one.
 */
static int leaf_end(struct wort_cursor *cur, struct wort_key *key)
{
	struct qr_cursor *qc = cursor_of(cur);
	const struct qr_page *page = &qc->pos.page;

	key->data = qc->key;
	key->len = cur->reverse ? page->anchor_len : qc->upper.len;
	if (!page->off || (cur->reverse ? !key->len : key->len == WORT_NO_KEY))
		return -ENOENT;
	if (cur->reverse)
		return wort_pm_read(cur->op, qc->key, page->media->anchor,
				    key->len);
	memcpy(qc->key, qc->upper.bytes, key->len);
	return 0;
}

/*
 * Go to the next leaf in the direction of the cursor; -ENOENT: there is none.
 * It may have been merged with the one before, whose records the cursor has
 * returned.  Each leaf must end above the one before, in reverse begin below
 * it, so that a scan of a damaged tree ends.
 */
static int leaf_next(struct wort_cursor *cur)
{
	struct qr_cursor *qc = cursor_of(cur);
	const struct qr_page *page = &qc->pos.page;
	struct wort_key key;
	int at = leaf_end(cur, &key) ?:
		 leaf_enter(cur, cur->reverse ? QR_BELOW : QR_COVERS, &key);

	if (at)
		return at;
	if (cur->reverse ? page->off && !begins_below(cur->op, page, &key) :
			   !bound_is_above(&qc->upper, &key))
		return wort_corrupt(cur->op, page->off, "page out of order");
	at = order_at(cur, &key, false);
	if (at < 0)
		return at;
	qc->at = at;
	return 0;
}

/*
 * Make the record at the cursor the current one; -ENOENT if it is dead by now.
 */
static int record_enter(struct wort_cursor *cur)
{
	struct qr_cursor *qc = cursor_of(cur);
	const struct qr_page *page = &qc->pos.page;
	struct qr_rec *rec = &qc->pos.rec;
	int len = qr_rec_at(cur->op, page, qc->order.slot[qc->at].place, rec);

	if (len)
		return len;
	wort_pm_flush_in_flight(cur->op, page->off,
				page->off + rec->place * QR_WORD,
				QR_REC_WORDS * QR_WORD);
	if (qr_rec_dead(rec))
		return -ENOENT;
	len = qr_rec_key(cur->op, page, rec, cur->key);
	if (!len)
		len = wort_corrupt(cur->op, page->off, "record without a key");
	if (len < 0)
		return len;
	cur->key_len = len;
	cur->value_len = qr_rec_value_len(rec);
	return 0;
}

/*
 * Move to the first record from @at on, or, in reverse, to the last one before
 * @at.
 */
static int cursor_move(struct wort_cursor *cur)
{
	struct qr_cursor *qc = cursor_of(cur);
	int err;

	for (;;) {
		while (cur->reverse ? qc->at : qc->at < qc->order.nr) {
			qc->at -= cur->reverse;
			err = record_enter(cur);
			if (err != -ENOENT)
				return err;
			qc->at += !cur->reverse;
		}
		err = leaf_next(cur);
		if (err)
			return err;
	}
}

int qr_seek(struct wort_cursor *cur, const struct wort_key *key)
{
	struct qr_cursor *qc = cursor_of(cur);
	enum qr_goal goal = key ? QR_COVERS : cur->reverse ? QR_LAST : QR_FIRST;
	int at = leaf_enter(cur, goal, key);

	if (at)
		return at;
	if (key)
		at = order_at(cur, key, cur->reverse);
	else if (cur->reverse)
		at = qc->order.nr;
	if (at < 0)
		return at;
	qc->at = at;
	return cursor_move(cur);
}

int qr_next(struct wort_cursor *cur)
{
	cur->wanted--;
	cursor_of(cur)->at += !cur->reverse;
	return cursor_move(cur);
}

int qr_value(struct wort_cursor *cur, struct wort_buf *buf)
{
	struct qr_cursor *qc = cursor_of(cur);

	return qr_value_read(cur->op, &qc->pos.page, &qc->pos.rec, buf);
}

/*
 * The walk reads the pages on media, and no shadows.  A step is a leaf with its
 * records, and the inner pages that begin where it does.  The position is the
 * upper of the leaf, where the next one begins.  Behind the last leaf it is the
 * greatest key, which is no separator: that is the shortest key between two.
 */

/* Does a page begin at a key? */
static bool begins_at(struct wort_op *op, const struct qr_page *page,
		      const struct wort_key *key)
{
	return page->anchor_len == key->len &&
	       (!key->len || wort_pm_common(&op->n, page->media->anchor,
					    key->data, key->len) == key->len);
}

/* The values of the records lie inside the pool. */
static int values_verify(struct wort_cursor *cur, u32 from)
{
	struct qr_cursor *qc = cursor_of(cur);
	struct qr_rec rec;
	u32 i, len;
	int err;

	for (i = from; i < qc->order.nr; i++) {
		err = qr_rec_at(cur->op, &qc->pos.page, qc->order.slot[i].place,
				&rec);
		if (err)
			return err;
		if (qr_rec_kind(rec.head) != WORT_MEDIA_QUIRE_VALUE_OBJECT)
			continue;
		len = qr_object_len(rec.val);
		if (len <= QR_WORD || len > WORT_VALUE_MAX ||
		    !wort_region_inside(cur->op->region, qr_object_off(rec.val),
					len))
			return wort_corrupt(cur->op, qc->pos.page.off,
					    "record at word %u with value %#llx", rec.place,
					    (unsigned long long)rec.val);
	}
	return 0;
}

/* The separator that leads to a page is its anchor. */
static int anchor_verify(struct wort_cursor *cur, u32 level)
{
	struct qr_cursor *qc = cursor_of(cur);
	const struct qr_above *above = &qc->pos.above[level];
	u64 below = level + 1 < qc->pos.depth ? above[1].off : qc->pos.page.off;
	struct qr_page parent, page;
	struct wort_key key = { .data = qc->key };
	int len = qr_page_open(cur->op, NULL, above->off, &parent) ?:
		  qr_page_open(cur->op, NULL, below, &page) ?:
		  qr_sep_read(cur->op, &parent, above->place, qc->key);

	if (len < 0)
		return len;
	key.len = len;
	return begins_at(cur->op, &page, &key) ? 0 :
	       wort_corrupt(cur->op, page.off, "page with another anchor than its separator");
}

static int anchors_verify(struct wort_cursor *cur)
{
	u32 level;
	int err = 0;

	for (level = 0; level < cursor_of(cur)->pos.depth && !err; level++)
		err = anchor_verify(cur, level);
	return err;
}

/* The upper of the step becomes the position. */
static int step_end(struct wort_cursor *cur)
{
	struct qr_cursor *qc = cursor_of(cur);
	const struct wort_key upper = wort_bound_key(&qc->upper);

	if (upper.len == WORT_NO_KEY) {
		cur->key_len = WORT_KEY_MAX;
		memset(cur->key, 0xff, WORT_KEY_MAX);
		return 0;
	}
	if (wort_key_is_greatest(&upper))
		return wort_corrupt(cur->op, qc->pos.page.off,
				    "page before the greatest key");
	cur->key_len = upper.len;
	memcpy(cur->key, upper.data, upper.len);
	return 0;
}

/*
 * Find the next step that visits anything.  A leaf that begins before the
 * position was visited before, or is new.  @from is told: its first record to
 * visit.  Each page must end above the position, so that the walk of a damaged
 * tree ends.
 */
static int step_find(struct wort_cursor *cur, struct wort_key *pos, int *from,
		     bool *whole)
{
	struct qr_cursor *qc = cursor_of(cur);
	int err;

	do {
		memcpy(qc->begin, cur->key, cur->key_len);
		*pos = (struct wort_key){ qc->begin, cur->key_len };
		if (wort_key_is_greatest(pos))
			return -ENOENT;
		err = qr_descend_media(cur->op, cur->tree,
				       pos->len ? QR_COVERS : QR_FIRST, pos,
				       &qc->pos, &qc->upper);
		if (!err && !qc->pos.page.off)
			err = -ENOENT;
		if (!err && !bound_is_above(&qc->upper, pos))
			err = wort_corrupt(cur->op, qc->pos.page.off,
					   "page out of order");
		err = err ?: qr_order(cur->op, &qc->pos.page, &qc->upper,
				      &qc->order);
		if (err)
			return err;
		*from = pos->len ? order_at(cur, pos, false) : 0;
		if (*from < 0)
			return *from;
		*whole = begins_at(cur->op, &qc->pos.page, pos);
		if (*whole && *from)
			return wort_corrupt(cur->op, qc->pos.page.off,
					    "record before its page");
		err = anchors_verify(cur) ?: values_verify(cur, *from) ?:
		      step_end(cur);
	} while (!err && !*whole && *from == (int)qc->order.nr);
	return err;
}

static int page_visit(struct wort_op *op, const struct qr_page *page,
		      struct wort_visitor *visitor, bool first)
{
	return visitor->visit(visitor, op, page->off, page->words * QR_WORD,
			      first);
}

/*
 * Visit the pages of the step, the leaf first.  An inner page that begins
 * before it was visited with an earlier step, and is visited again where a walk
 * begins.
 */
static int pages_visit(struct wort_cursor *cur, const struct wort_key *pos,
		       bool whole, bool again, struct wort_visitor *visitor)
{
	struct qr_cursor *qc = cursor_of(cur);
	int err = whole ? page_visit(cur->op, &qc->pos.page, visitor, true) : 0;
	struct qr_page page;
	u32 i;

	for (i = 0; i < qc->pos.depth && !err; i++) {
		err = qr_page_open(cur->op, NULL, qc->pos.above[i].off, &page);
		if (err)
			break;
		if (again || begins_at(cur->op, &page, pos))
			err = page_visit(cur->op, &page, visitor, false);
	}
	return err;
}

static int values_visit(struct wort_cursor *cur, u32 from,
			struct wort_visitor *visitor)
{
	struct qr_cursor *qc = cursor_of(cur);
	struct qr_rec rec;
	int err = 0;

	for (; from < qc->order.nr && !err; from++) {
		err = qr_rec_at(cur->op, &qc->pos.page,
				qc->order.slot[from].place, &rec);
		if (!err &&
		    qr_rec_kind(rec.head) == WORT_MEDIA_QUIRE_VALUE_OBJECT)
			err = visitor->visit(visitor, cur->op,
					     qr_object_off(rec.val),
					     qr_object_len(rec.val), true);
	}
	return err;
}

/*
 * When a walk begins all shadows go: if it finds that the tree is sound, so are
 * those that are made from now on.  On a damaged image a page may also be one
 * of another tree, which does not know of a shadow here.
 */
int qr_walk(struct wort_cursor *cur, const struct wort_key *pos,
	    struct wort_visitor *visitor)
{
	struct qr_cursor *qc = cursor_of(cur);
	bool whole = false;
	struct wort_key at;
	int from = 0, err;

	if (pos) {
		memcpy(cur->key, pos->data, pos->len);
		cur->key_len = pos->len;
		if (!pos->len)
			qr_shadows_drop(cur->tree);
	}
	err = step_find(cur, &at, &from, &whole) ?:
	      pages_visit(cur, &at, whole, pos, visitor) ?:
	      values_visit(cur, from, visitor);
	return err ?: (int)(qc->order.nr - from);
}

/* Hashes are those of the keys. */
static int record_check(struct wort_cursor *cur, u32 nr)
{
	struct qr_cursor *qc = cursor_of(cur);
	struct wort_key key = { .data = qc->key };
	struct qr_rec rec;
	int len = qr_rec_at(cur->op, &qc->pos.page, qc->order.slot[nr].place, &rec) ?:
		  qr_padding_verify(cur->op, &qc->pos.page, &rec) ?:
		  qr_rec_key(cur->op, &qc->pos.page, &rec, qc->key);

	if (len < 0)
		return len;
	key.len = len;
	if (len && (rec.head >> WORT_MEDIA_QUIRE_HASH_SHIFT &
		    WORT_MEDIA_QUIRE_HASH_MASK) == qr_hash(&key))
		return 0;
	return wort_corrupt(cur->op, qc->pos.page.off,
			    "record at word %u with another hash", rec.place);
}

int qr_check(struct wort_cursor *cur)
{
	struct qr_cursor *qc = cursor_of(cur);
	int err = 0;
	u32 i;

	for (i = 0; i < qc->order.nr && !err; i++)
		err = record_check(cur, i);
	return err;
}
