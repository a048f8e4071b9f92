// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * QUIRE: batches.
 *
 * A change is prepared if it stores one word of a leaf: the head of a new
 * record, the value word of a record, or the head of a record that dies.  A put
 * that needs a new page, and a removal that leaves few records in a leaf, are
 * carried out by themselves.
 *
 * A new record is written when it is committed: only then is its place known.
 * Its head names witnesses, so it needs no fence before; the fence at the end
 * of the round makes the records of all leaves durable.  Only objects of long
 * values are written before.
 *
 * A change is prepared for the room that the waiting ones leave in its leaf; it
 * finds them by wort_change.slot, for which it gives the offset of the leaf.
 * Changes of one leaf that follow one another form a chain (round.h).  The
 * commit locks the leaf, and verifies that it still is what the descents of all
 * of them have seen.  The new records rest on those before them, so the commit
 * flushes what others have launched there.  It need not flush again what its
 * own round has launched: the round acknowledges nothing before it has flushed
 * that, and waited.
 */
#include <linux/kernel.h>

#include "quire_shadow.h"
#include "round.h"

enum change_kind { CHANGE_RECORD, CHANGE_VALUE, CHANGE_DELETE };

/**
 * struct qr_batched - A change that is prepared
 * @page: the leaf
 * @rec: the record of the key, or none
 * @value: the new value
 * @end: the end of the leaf, when this one and those that wait are committed
 * @nr_dead: so many of them are removals
 * @kind: what it does
 * @exact: it rests on the value of @rec
 */
struct qr_batched {
	struct qr_page page;
	struct qr_rec rec;
	struct qr_value value;
	struct qr_end end;
	u16 nr_dead;
	u8 kind;
	bool exact;
};

static struct qr_batched *batched(const struct wort_change *change)
{
	BUILD_BUG_ON(sizeof(struct qr_batched) > sizeof(change->engine));
	return (struct qr_batched *)change->engine;
}

static const struct wort_key *key_of(const struct wort_change *change)
{
	return change->put ? &change->put->key : &change->del->key;
}

static u32 rest_len(const struct wort_change *change)
{
	return key_of(change)->len - batched(change)->page.prefix_len;
}

/* Plan it for the leaf as it was found. */
static int plan(struct wort_op *op, struct wort_tree *tree,
		struct wort_change *change)
{
	struct qr_batched *b = batched(change);
	const struct wort_put *put = change->put;
	struct qr_pos pos;
	int err = put ? qr_put_plan(op, tree, change->put, &pos) :
			qr_remove_plan(op, tree, change->del, &pos);

	if (err < 0)
		return err;
	b->kind = !put ? CHANGE_DELETE : err ? CHANGE_VALUE : CHANGE_RECORD;
	b->exact = !put || put->expect || put->old ||
		   (b->kind == CHANGE_VALUE && put->value.len > QR_WORD);
	b->page = pos.page;
	b->rec = pos.rec;
	b->end = pos.end;
	b->nr_dead = 0;
	return pos.page.off ? 0 : -EAGAIN;
}

/*
 * What it does to the leaf, behind what those do that wait for it.  False: not
 * this way.
 */
static bool follow(struct wort_op *op, struct wort_change *change,
		   const struct wort_change *last)
{
	struct qr_batched *b = batched(change);
	u32 words = qr_rec_words(rest_len(change));

	if (last) {
		b->end = batched(last)->end;
		b->nr_dead = batched(last)->nr_dead;
	}
	if (b->kind == CHANGE_DELETE)
		return !qr_has_few(op, &b->page, b->nr_dead++);
	if (b->kind == CHANGE_RECORD) {
		if (!qr_has_room(&b->page, &b->end, words))
			return false;
		b->end.top += words;
		b->end.nr++;
	}
	return true;
}

static int batch_prepare(struct wort_op *op, struct wort_tree *tree,
			 struct wort_change *change)
{
	struct qr_batched *b = batched(change);
	struct wort_change *last;
	int err = plan(op, tree, change);

	if (err)
		return err;
	change->waits = true;
	change->claims = 0;
	change->slot = b->page.off;
	change->node[0] = b->page.off;
	change->node[1] = 0;
	change->node[2] = 0;
	last = wort_round_find(change->round, change->slot);
	if (!follow(op, change, last))
		return -EAGAIN;
	if (change->put) {
		err = qr_value_reserve(op, &change->put->value);
		if (err)
			return err;
		b->value = qr_value_create(op, &change->put->value);
	}
	if (last && wort_round_is_last(change->round, last))
		wort_round_join(last, change);
	return 0;
}

/*
 * With the lock of the leaf: nothing of a chain has been stored, and all of it
 * can be.
 */
static int chain_verify(struct wort_op *op, const struct wort_tree *tree,
			struct wort_change *first, struct qr_end *end)
{
	struct wort_change *change;
	u32 words = 0, nr = 0;
	struct qr_batched *b;
	int err = 0;

	for (change = first; change && !err; change = change->next) {
		b = batched(change);
		qr_shadow_current(tree, &b->page);
		err = qr_rec_renew(op, &b->page, key_of(change), b->exact,
				   &b->rec, end);
		if (b->kind == CHANGE_RECORD) {
			words += qr_rec_words(rest_len(change));
			nr++;
		}
	}
	if (err || !nr)
		return err;
	b = batched(first);
	return qr_end_verify(op, &b->page, end) ?:
	       qr_has_room(&b->page, &(struct qr_end){ end->top, end->nr + nr - 1 }, words) ?
	       0 : -EAGAIN;
}

/* Store the word of a value or of a record that dies. */
static void word_store(struct wort_op *op, const struct qr_page *page,
		       u32 place, u64 val)
{
	__le64 __pmem *word = qr_word(page, place);

	wort_pm_launch(op, wort_lock_of(op, page->off), word, val);
	wort_pm_flush(op, word, QR_WORD);
}

static void change_store(struct wort_op *op, const struct wort_change *change,
			 struct qr_end *end)
{
	const struct qr_batched *b = batched(change);
	const struct wort_key *key = key_of(change);
	u32 len = rest_len(change);

	wort_round_note_launch(change->round, b->page.off);
	if (b->kind == CHANGE_RECORD) {
		qr_append_launch(op, &b->page, end->top,
				 key->data + b->page.prefix_len, len,
				 qr_rec_head(qr_head_same(&b->page, key,
							  qr_hash(key)),
					     b->value.kind),
				 b->value.val);
		end->top += qr_rec_words(len);
	} else if (b->kind == CHANGE_VALUE) {
		word_store(op, &b->page, b->rec.place + 1, b->value.val);
	} else {
		qr_shadow_killed(&b->page);
		word_store(op, &b->page, b->rec.place,
			   b->rec.head | WORT_MEDIA_QUIRE_DEAD);
	}
}

/* Commit a chain: those behind the first one have joined it. */
static int batch_commit(struct wort_op *op, struct wort_tree *tree,
			struct wort_change *first)
{
	const struct qr_page *page = &batched(first)->page;
	struct qr_end end;
	int err;

	if (!wort_node_lock(op, page->off))
		return -EAGAIN;
	if (wort_pm_in_flight(op->in_flight, page->off))
		op->launched = wort_round_launched(first->round, page->off);
	err = chain_verify(op, tree, first, &end);
	if (!err)
		qr_read_to(op, page, end.top);
	op->launched = 0;
	for (; first && !err; first = first->next)
		change_store(op, first, &end);
	wort_nodes_unlock(op);
	return err;
}

static void batch_finish(struct wort_op *op, struct wort_tree *tree,
			 struct wort_change *change)
{
	const struct qr_batched *b = batched(change);
	struct wort_lock *lock = wort_lock_of(op, b->page.off);

	wort_lock_hold(op, lock);
	wort_pm_landed(lock);
	wort_nodes_unlock(op);
	if (qr_is_there(&b->rec))
		qr_value_free(op, &b->rec);
}

const struct wort_batch_ops qr_batch_ops = {
	.prepare = batch_prepare,
	.commit = batch_commit,
	.finish = batch_finish,
};
