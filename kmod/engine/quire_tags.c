// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * QUIRE: the shadows of leaves.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "../core/lock.h"
#include "quire_shadow.h"

/* Who takes the order looks at the number behind the top: that comes first. */
void qr_shadow_end(struct qr_shadow *shadow, u32 nr, u32 top)
{
	WRITE_ONCE(shadow->nr, nr);
	/* pairs with the barrier in qr_order_take() */
	smp_wmb();
	WRITE_ONCE(shadow->top, top);
}

/* A record comes to a leaf, which is locked: before its head is stored. */
void qr_shadow_append(const struct qr_page *page, u32 place, u32 words,
		      u64 head)
{
	u32 hash = head >> WORT_MEDIA_QUIRE_HASH_SHIFT &
		   WORT_MEDIA_QUIRE_HASH_MASK;
	u32 nr = hash % QR_GROUPS, slot;
	struct qr_leaf_shadow *leaf;
	u64 tags;

	if (!page->shadow || page->level)
		return;
	leaf = qr_leaf_shadow(page->shadow);
	while (qr_tags_full(leaf->group[nr].tags))
		nr = (nr + 1) % QR_GROUPS;
	tags = leaf->group[nr].tags;
	slot = DIV_ROUND_UP(fls64(tags), BITS_PER_BYTE);
	WRITE_ONCE(leaf->group[nr].place[slot], place);
	/* A reader that finds the tag finds the place. */
	smp_store_release(&leaf->group[nr].tags,
			  tags | (u64)qr_tag(hash) << slot * BITS_PER_BYTE);
	qr_shadow_end(&leaf->s, leaf->s.nr + 1, place + words);
}

/* With the lock of the leaf.  Returns 0 if it can have a shadow. */
int qr_tags_fill(struct wort_op *op, const struct qr_page *page)
{
	struct qr_shadow *shadow = page->shadow;
	u32 place = page->first, words;
	struct qr_rec rec;
	int got;

	shadow->top = place;
	for (; (got = qr_rec_load(op, page, place, &rec)) > 0; place += words) {
		if (shadow->nr == QR_LEAF_RECS)
			return -E2BIG;
		words = qr_rec_words(rec.len);
		qr_shadow_append(page, place, words, rec.head);
		shadow->nr_dead += qr_rec_dead(&rec);
	}
	return got;
}

/*
 * Is a record that of a key, which is as long?  The first eight bytes and the last ones, which may
 * overlap, are compared in any case: no branch depends on a length of up to sixteen.
 */
static __always_inline bool rec_is(const struct qr_page *page,
				   const struct qr_rec *rec,
				   const struct wort_key *key)
{
	const void __pmem *rest = qr_rest(page, rec);
	u32 prefix = page->prefix_len, len = rec->len, i;
	u32 last = max_t(u32, len, QR_WORD) - QR_WORD;
	u32 half = BITS_PER_BYTE * (last + QR_WORD - len) / 2;
	u64 differ;

	if (unlikely(key->len < QR_WORD || !len))
		return !qr_rec_cmp(page, rec, key);
	differ = (wort_pm_load_bytes(rest + last) ^
		  wort_bytes_be64(key->data + key->len - QR_WORD)) &
		 -(u64)(len >= QR_WORD);
	differ |= (wort_pm_load_be64(rest) ^ wort_key_bytes(key, prefix)) >>
		  half >> half;
	for (i = QR_WORD; unlikely(i < last); i += QR_WORD)
		differ |= wort_pm_load_be64(rest + i) ^
			  wort_bytes_be64(key->data + prefix + i);
	return !differ;
}

/*
 * Find the last record of a key by its tag; with a head of 0 there is none.
 * Its head may be in flight.  False: the page has to be read.  Where the tags
 * are follows from the shadow and the hash alone, so that their load does not
 * wait for what the shadow says of the page.
 */
bool qr_tagged_find(const struct qr_shadow *shadow, const struct wort_key *key,
		    u32 hash, struct qr_rec *rec)
{
	const struct qr_leaf_shadow *leaf = qr_leaf_shadow(shadow);
	const struct qr_page *page = &shadow->page;
	u64 same = qr_head_same(page, key, hash), tags, hits;
	u32 nr = hash % QR_GROUPS, i, place;
	struct qr_rec one;

	rec->head = 0;
	for (i = 0; i < QR_GROUPS; i++, nr = (nr + 1) % QR_GROUPS) {
		/* pairs with the release in qr_shadow_append() */
		tags = smp_load_acquire(&leaf->group[nr].tags);
		for (hits = qr_tags_match(tags, qr_tag(hash)); hits;
		     hits &= hits - 1) {
			place = READ_ONCE(leaf->group[nr].place[__ffs64(hits) /
								BITS_PER_BYTE]);
			if (!qr_rec_peek(page, place, &one)) {
				if (one.head)
					return false;
				continue;
			}
			if ((one.head & QR_HEAD_SAME) == same &&
			    rec_is(page, &one, key) &&
			    (!rec->head || place > rec->place))
				*rec = one;
		}
		if (!qr_tags_full(tags))
			break;
	}
	if (rec->head)
		rec->val = wort_pm_load(qr_word(page, rec->place + 1));
	return !qr_shadow_gone(shadow);
}

/*
 * Prefetch what an operation on a key will need of a leaf: its record, or where
 * that will be appended.
 */
void qr_tagged_prefetch(const struct qr_shadow *shadow,
			const struct wort_key *key)
{
	const struct qr_leaf_shadow *leaf = qr_leaf_shadow(shadow);
	const struct qr_page *page = &shadow->page;
	u32 hash = qr_hash(key), nr = hash % QR_GROUPS, place;
	u64 hits;

	hits = qr_tags_match(READ_ONCE(leaf->group[nr].tags), qr_tag(hash));
	if (!hits)
		wort_pm_prefetch_store(qr_word(page, READ_ONCE(shadow->top)));
	for (; hits; hits &= hits - 1) {
		place = READ_ONCE(leaf->group[nr].place[__ffs64(hits) /
							BITS_PER_BYTE]);
		wort_pm_prefetch(qr_word(page, place));
		place += qr_rec_words(key->len - page->prefix_len) - 1;
		wort_pm_prefetch(qr_word(page, place));
	}
}

/*
 * Keep the order of a leaf for others, if nothing was appended since it was
 * found; numbers that differ say that the page was damaged, or is another one's
 * by now.  The order has all records, also such as are beyond the range: that
 * of a page that took the place of two grows when the separator between them
 * dies.
 */
void qr_order_keep(struct wort_op *op, const struct qr_page *page,
		   const struct qr_order *order)
{
	struct qr_leaf_shadow *leaf = qr_leaf_shadow(page->shadow);
	struct wort_lock *lock = op->locks ? wort_node_try(op, page->off) : NULL;
	u32 i;

	if (!lock)
		return;
	if (leaf->s.top == order->end.top && leaf->s.nr == order->end.nr &&
	    leaf->s.ordered != leaf->s.nr) {
		WRITE_ONCE(leaf->s.ordered, 0);
		/*
		 * pairs with the barrier before a reader looks at the number
		 * again
		 */
		smp_wmb();
		for (i = 0; i < order->nr; i++)
			WRITE_ONCE(leaf->order[i], order->slot[i].place);
		WRITE_ONCE(leaf->s.nr_order, order->nr);
		/* A reader that loads the number finds the order. */
		smp_store_release(&leaf->s.ordered, leaf->s.nr);
	}
	wort_node_release(lock);
}

/*
 * Take the order that was kept, if it is that of all records.  Some of them may
 * be dead by now, or beyond the range.
 */
bool qr_order_take(const struct qr_page *page, struct qr_order *order)
{
	const struct qr_leaf_shadow *leaf = qr_leaf_shadow(page->shadow);
	/* pairs with the release in qr_order_keep() */
	u32 nr = smp_load_acquire(&leaf->s.ordered), i;

	if (!nr || nr != READ_ONCE(leaf->s.nr))
		return false;
	order->nr = READ_ONCE(leaf->s.nr_order);
	order->end.nr = nr;
	order->end.top = READ_ONCE(leaf->s.top);
	for (i = 0; i < order->nr; i++)
		order->slot[i].place = READ_ONCE(leaf->order[i]);
	/* Both numbers change before what they are about. */
	smp_rmb();
	return nr == READ_ONCE(leaf->s.ordered) &&
	       nr == READ_ONCE(leaf->s.nr) && !qr_shadow_gone(&leaf->s);
}
