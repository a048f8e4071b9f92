// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * QUIRE: pages and their records.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "quire_shadow.h"

/* Witnesses of all lines. */
#define QR_HEAD_WITNESSES	(0xffULL << WORT_MEDIA_QUIRE_WITNESS_SHIFT)

static int page_verify(struct wort_op *op, u64 off, u64 size)
{
	int err = wort_region_verify(op->region, off, size);

	if (err == -EUCLEAN)
		return wort_corrupt(op, off, "page outside the pool");
	return err ?: wort_pm_probe(op, wort_region_at(op->region, off), size);
}

static bool meta_parse(u64 meta, struct qr_page *page)
{
	page->words = meta & WORT_MEDIA_QUIRE_SIZE_MASK;
	page->level = meta >> WORT_MEDIA_QUIRE_LEVEL_SHIFT &
		      WORT_MEDIA_QUIRE_LEVEL_MASK;
	page->anchor_len = meta >> WORT_MEDIA_QUIRE_ANCHOR_SHIFT &
			   WORT_MEDIA_QUIRE_KEY_MASK;
	page->prefix_len = meta >> WORT_MEDIA_QUIRE_PREFIX_SHIFT &
			   WORT_MEDIA_QUIRE_KEY_MASK;
	page->first = 1 + DIV_ROUND_UP(page->anchor_len, QR_WORD);
	return !(meta & ~WORT_MEDIA_QUIRE_META_ALL) &&
	       page->words <= QR_PAGE_MAX / QR_WORD &&
	       page->words > page->first && page->anchor_len <= WORT_KEY_MAX &&
	       page->prefix_len <= page->anchor_len;
}

/* Read the meta word of a page. */
static int page_load(struct wort_op *op, u64 off, struct qr_page *page)
{
	int err = page_verify(op, off, sizeof(*page->media));
	u64 meta;

	if (err)
		return err;
	page->off = off;
	page->media = wort_region_at(op->region, off);
	page->shadow = NULL;
	meta = wort_pm_load(&page->media->meta);
	if (!meta_parse(meta, page))
		return wort_corrupt(op, off, "page with meta word %#llx",
				    (unsigned long long)meta);
	return page_verify(op, off, page->words * QR_WORD);
}

/* Open a page, perhaps with a shadow.  @off is not trusted. */
int qr_page_open(struct wort_op *op, const struct wort_tree *tree, u64 off,
		 struct qr_page *page)
{
	struct qr_shadow *shadow = qr_shadow_find(tree, off);
	int err;

	if (likely(shadow)) {
		*page = shadow->page;
		err = page_verify(op, off, page->words * QR_WORD);
	} else {
		err = page_load(op, off, page);
		if (!err && tree)
			qr_shadow_make(op, tree, page);
	}
	if (page->level)
		wort_count(op, nodes, 1);
	else
		wort_count(op, leaves, 1);
	return err;
}

/*
 * The witness of a further line, 1 or 2, as a place; 0: there is none, or it is
 * no word of the key.
 */
static u32 witness_place(const struct qr_page *page, const struct qr_rec *rec,
			 u32 line)
{
	u64 witness = rec->head >> (WORT_MEDIA_QUIRE_WITNESS_SHIFT +
				    4 * (line - 1)) &
		      WORT_MEDIA_QUIRE_WITNESS_MASK;
	u64 first = page->off / QR_WORD;

	if (!witness)
		return 0;
	return round_down(first + rec->place, WORT_LINE / QR_WORD) +
	       line * (WORT_LINE / QR_WORD) +
	       (witness & ~WORT_MEDIA_QUIRE_WITNESS_SET) - first;
}

/* Is a place one of the words of the key? */
static bool in_key(const struct qr_rec *rec, u32 place)
{
	return place >= (u32)rec->place + QR_REC_WORDS &&
	       place < rec->place + qr_rec_words(rec->len);
}

static noinline bool witnesses_valid(const struct qr_page *page,
				     const struct qr_rec *rec)
{
	u32 line, place;

	for (line = 1; line <= 2; line++) {
		place = witness_place(page, rec, line);
		if (place && !in_key(rec, place))
			return false;
	}
	return true;
}

static __always_inline bool head_valid(const struct qr_page *page,
				       const struct qr_rec *rec)
{
	if (rec->head & ~WORT_MEDIA_QUIRE_HEAD_ALL ||
	    !(rec->head & WORT_MEDIA_QUIRE_SET) ||
	    qr_rec_kind(rec->head) > WORT_MEDIA_QUIRE_VALUE_OBJECT ||
	    rec->len > WORT_KEY_MAX ||
	    rec->place + qr_rec_words(rec->len) > page->words)
		return false;
	return !(rec->head & QR_HEAD_WITNESSES) || witnesses_valid(page, rec);
}

/*
 * Did all of its words become durable before the power went?  If not, a writer
 * takes the head away before it stores another record there.  A reader that has
 * loaded the head before would take the words of that record for its own, so it
 * looks at the head again.
 */
static noinline bool rec_whole(const struct qr_page *page,
			       const struct qr_rec *rec)
{
	u32 line, place;
	u64 head;

	for (line = 1; line <= 2; line++) {
		place = witness_place(page, rec, line);
		if (place && !wort_pm_load(qr_word(page, place)))
			return false;
	}
	smp_rmb();	/* pairs with the fence of qr_tail_clean() */
	head = wort_pm_load(qr_word(page, rec->place));
	return !((head ^ rec->head) & ~WORT_MEDIA_QUIRE_DEAD);
}

/* As qr_rec_load(), for those who read many. */
static __always_inline int rec_load(struct wort_op *op,
				    const struct qr_page *page, u32 place,
				    struct qr_rec *rec)
{
	rec->place = place;
	rec->head = 0;
	if (place + QR_REC_WORDS > page->words)
		return 0;
	rec->head = wort_pm_load(qr_word(page, place));
	if (!rec->head)
		return 0;
	rec->len = rec->head & WORT_MEDIA_QUIRE_LEN_MASK;
	if (unlikely(!head_valid(page, rec)))
		return wort_corrupt(op, page->off,
				    "record at word %u with head %#llx", place,
				    (unsigned long long)rec->head);
	if (rec->head & QR_HEAD_WITNESSES && !rec_whole(page, rec)) {
		rec->head = 0;
		return 0;
	}
	rec->val = wort_pm_load(qr_word(page, place + 1));
	return 1;
}

/*
 * Read the record at a place.  Returns 1; 0: there is none, and the records end
 * here.
 */
int qr_rec_load(struct wort_op *op, const struct qr_page *page, u32 place,
		struct qr_rec *rec)
{
	return rec_load(op, page, place, rec);
}

/* Read a record that was at a place: no operation takes one away from there. */
int qr_rec_at(struct wort_op *op, const struct qr_page *page, u32 place,
	      struct qr_rec *rec)
{
	int got = rec_load(op, page, place, rec);

	if (likely(got > 0))
		return 0;
	return got ?: wort_corrupt(op, page->off, "record at word %u is gone",
				   place);
}

/* The key has the prefix of the page, since its descent has led there. */
int qr_key_verify(struct wort_op *op, const struct qr_page *page,
		  const struct wort_key *key)
{
	if (likely(key->len >= page->prefix_len))
		return 0;
	return wort_corrupt(op, page->off, "page in whose range a key is not");
}

/* A record relative to a key that has the prefix: as memcmp() does. */
int qr_rec_cmp(const struct qr_page *page, const struct qr_rec *rec,
	       const struct wort_key *key)
{
	const u8 *rest = key->data + page->prefix_len;
	u32 rest_len = key->len - page->prefix_len;
	u32 len = min_t(u32, rec->len, rest_len), i, bits;
	u64 x, y;

	for (i = 0; i + QR_WORD <= len; i += QR_WORD) {
		x = wort_pm_load_be64(qr_rest(page, rec) + i);
		y = wort_bytes_be64(rest + i);
		if (x != y)
			return x < y ? -1 : 1;
	}
	if (i < len) {
		bits = BITS_PER_BYTE * (i + QR_WORD - len);
		x = wort_pm_load_be64(qr_rest(page, rec) + i) >> bits;
		y = wort_bytes_high(rest + i, len - i) >> bits;
		if (x != y)
			return x < y ? -1 : 1;
	}
	return (int)rec->len - (int)rest_len;
}

/*
 * Two records of a page.  What a damaged page has behind their keys does not
 * count.
 */
int qr_recs_cmp(const struct qr_page *page, const struct qr_rec *a,
		const struct qr_rec *b)
{
	u32 len = min(a->len, b->len), i, bits;
	u64 x, y;

	for (i = 0; i < len; i += QR_WORD) {
		bits = len - i < QR_WORD ? BITS_PER_BYTE * (i + QR_WORD - len) : 0;
		x = wort_pm_load_be64(qr_rest(page, a) + i) >> bits;
		y = wort_pm_load_be64(qr_rest(page, b) + i) >> bits;
		if (x != y)
			return x < y ? -1 : 1;
	}
	return (int)a->len - (int)b->len;
}

/* The bytes behind a key are 0. */
int qr_padding_verify(struct wort_op *op, const struct qr_page *page,
		      const struct qr_rec *rec)
{
	u32 more = rec->len % QR_WORD;

	if (!more ||
	    !(wort_pm_load_be64(qr_rest(page, rec) + rec->len - more) << 8 * more))
		return 0;
	return wort_corrupt(op, page->off,
			    "record at word %u with bytes behind its key",
			    rec->place);
}

/*
 * The whole key.  @buf has room for WORT_KEY_MAX bytes and a word.  Returns its
 * length.
 */
int qr_rec_key(struct wort_op *op, const struct qr_page *page,
	       const struct qr_rec *rec, u8 *buf)
{
	int err;

	if (page->prefix_len + rec->len > WORT_KEY_MAX)
		return wort_corrupt(op, page->off,
				    "record at word %u with a long key",
				    rec->place);
	err = wort_pm_read(op, buf, page->media->anchor, page->prefix_len) ?:
	      wort_pm_read(op, buf + page->prefix_len, qr_rest(page, rec),
			   rec->len);
	return err ?: page->prefix_len + rec->len;
}

/* The key of the separator at a place. */
int qr_sep_key(struct wort_op *op, const struct qr_page *page, u32 place,
	       struct wort_bound *bound)
{
	struct qr_rec sep;
	int len = qr_rec_at(op, page, place, &sep) ?:
		  qr_rec_key(op, page, &sep, bound->bytes);

	if (len < 0)
		return len;
	bound->len = len;
	return 0;
}

/*
 * The anchor that the page must have to which the separator at a place leads:
 * the key of the separator, which of the first one is not stored.  As
 * qr_rec_key().
 */
int qr_sep_read(struct wort_op *op, const struct qr_page *page, u32 place,
		u8 *buf)
{
	struct qr_rec sep;
	int err = qr_rec_at(op, page, place, &sep) ?:
		  qr_padding_verify(op, page, &sep);

	if (err)
		return err;
	if (sep.len)
		return qr_rec_key(op, page, &sep, buf);
	err = wort_pm_read(op, buf, page->media->anchor, page->anchor_len);
	return err ?: page->anchor_len;
}

/* A hash of a key, of 16 bits.  It is on media. */
u32 qr_hash(const struct wort_key *key)
{
	u64 hash = key->len * 0x9e3779b97f4a7c15ULL;
	u32 i = 0;

	for (; i + sizeof(u64) < key->len; i += sizeof(u64)) {
		hash = (hash ^ wort_bytes_be64(key->data + i)) *
		       0xa0761d6478bd642fULL;
		hash ^= hash >> 32;
	}
	hash ^= wort_key_bytes(key, i);
	hash *= 0xe7037ed1a0b428dbULL;
	hash ^= hash >> 29;
	return hash >> 24 & WORT_MEDIA_QUIRE_HASH_MASK;
}

/*
 * Make what others have launched before a place of a page durable.  After a
 * power cut the records of a page end at the first head that is missing, so an
 * answer that rests on one record rests on all before it.
 */
void qr_read_to(struct wort_op *op, const struct qr_page *page, u32 place)
{
	if (unlikely(wort_pm_mark(op->in_flight, page->off) > op->launched))
		wort_pm_flush_read(op, page->off, place * QR_WORD);
}

/*
 * An answer rests on all records of a page, and on that there is none at its
 * top.
 */
static void read_all(struct wort_op *op, const struct qr_page *page, u32 top)
{
	qr_read_to(op, page, min_t(u32, top + 1, page->words));
}

/* Find the last record of a key among all. */
static int untagged_find(struct wort_op *op, const struct qr_page *page,
			 u64 same, const struct wort_key *key,
			 struct qr_rec *rec, struct qr_end *end)
{
	u32 place = page->first;
	struct qr_rec one;
	int got;

	rec->head = 0;
	end->nr = 0;
	for (; (got = rec_load(op, page, place, &one)) > 0;
	     place += qr_rec_words(one.len)) {
		end->nr++;
		if ((one.head & QR_HEAD_SAME) == same &&
		    !qr_rec_cmp(page, &one, key))
			*rec = one;
	}
	end->top = place;
	read_all(op, page, place);
	return got;
}

/*
 * Find the last record of a key; with a head of 0 there is none.  Tells the end
 * of the leaf, which is exact under its lock.
 */
int qr_leaf_find(struct wort_op *op, const struct qr_page *page,
		 const struct wort_key *key, struct qr_rec *rec,
		 struct qr_end *end)
{
	int err = qr_key_verify(op, page, key);
	u32 hash;
	u64 same;

	rec->head = 0;
	if (err)
		return err;
	hash = qr_hash(key);
	same = qr_head_same(page, key, hash);
	if (unlikely(!page->shadow))
		return untagged_find(op, page, same, key, rec, end);
	end->top = READ_ONCE(page->shadow->top);
	end->nr = READ_ONCE(page->shadow->nr);
	if (!qr_tagged_find(page->shadow, key, hash, rec))
		return untagged_find(op, page, same, key, rec, end);
	if (rec->head)
		qr_read_to(op, page, rec->place + qr_rec_words(rec->len));
	return 0;
}

/* Find the end of a page, which is exact under its lock. */
int qr_end_find(struct wort_op *op, const struct qr_page *page,
		struct qr_end *end)
{
	u32 place = page->first;
	struct qr_rec rec;
	int got;

	if (page->shadow) {
		end->top = READ_ONCE(page->shadow->top);
		end->nr = READ_ONCE(page->shadow->nr);
		return 0;
	}
	end->nr = 0;
	for (; (got = rec_load(op, page, place, &rec)) > 0;
	     place += qr_rec_words(rec.len))
		end->nr++;
	end->top = place;
	return got;
}

/*
 * The first eight bytes of a key behind the prefix, as a number; a shorter key
 * has zeroes behind it.  What a damaged page has behind the key does not count.
 * Else a descent could tell an upper that is not above its key, and a walk
 * would never end.
 */
static u64 rest_first(const struct qr_page *page, const struct qr_rec *rec)
{
	u32 bits = rec->len < QR_WORD ? BITS_PER_BYTE * (QR_WORD - rec->len) : 0;

	return rec->len ? wort_pm_load_be64(qr_rest(page, rec)) >> bits << bits : 0;
}

static struct qr_slot slot_of(const struct qr_page *page,
			      const struct qr_rec *rec)
{
	return (struct qr_slot){ rest_first(page, rec), rec->place, rec->len };
}

/*
 * The record of a slot, as far as comparisons read it: place and length of its
 * key.
 */
static struct qr_rec slot_rec(const struct qr_slot *slot)
{
	return (struct qr_rec){ .place = slot->place, .len = slot->len };
}

static noinline int slots_cmp_rest(const struct qr_page *page,
				   const struct qr_slot *a,
				   const struct qr_slot *b)
{
	const struct qr_rec x = slot_rec(a), y = slot_rec(b);

	return qr_recs_cmp(page, &x, &y);
}

/*
 * Compare two records of a page by their keys; most differ in the first bytes.
 */
static __always_inline int slots_cmp(const struct qr_page *page,
				     const struct qr_slot *a,
				     const struct qr_slot *b)
{
	if (likely(a->first != b->first))
		return a->first < b->first ? -1 : 1;
	return slots_cmp_rest(page, a, b);
}

/**
 * struct qr_side - Of the separators on one side of a key the nearest one
 * @head: its head; 0: there is none
 * @slot: where it is
 */
struct qr_side {
	u64 head;
	struct qr_slot slot;
};

/* Does a descent go to the child of a separator, or to one behind it? */
static bool leads_on(const struct qr_page *page, enum qr_goal goal,
		     const struct wort_key *key, u64 key_first,
		     const struct qr_slot *slot)
{
	const struct qr_rec sep = slot_rec(slot);

	if (!slot->len || goal == QR_LAST)
		return true;
	if (goal == QR_FIRST)
		return false;
	if (slot->first != key_first)
		return slot->first < key_first;
	return qr_rec_cmp(page, &sep, key) < (goal == QR_COVERS);
}

/*
 * The first bytes of a key behind the prefix, as rest_first() has those of a
 * record.
 */
static u64 key_first(const struct qr_page *page, const struct wort_key *key)
{
	return wort_key_bytes(key, page->prefix_len);
}

/* The separators on both sides of where a descent goes; returns the top. */
static int inner_search(struct wort_op *op, const struct qr_page *page,
			enum qr_goal goal, const struct wort_key *key,
			struct qr_side *below, struct qr_side *above)
{
	u64 first = qr_goal_is_key(goal) ? key_first(page, key) : 0;
	u32 place = page->first;
	struct qr_slot slot;
	struct qr_rec one;
	int got;

	below->head = 0;
	above->head = 0;
	for (; (got = rec_load(op, page, place, &one)) > 0;
	     place += qr_rec_words(one.len)) {
		if (qr_rec_dead(&one))
			continue;
		slot = slot_of(page, &one);
		if (leads_on(page, goal, key, first, &slot)) {
			if (!below->head ||
			    slots_cmp(page, &slot, &below->slot) >= 0)
				*below = (struct qr_side){ one.head, slot };
		} else if (!above->head ||
			   slots_cmp(page, &slot, &above->slot) < 0) {
			*above = (struct qr_side){ one.head, slot };
		}
	}
	if (!got && !below->head)
		got = wort_corrupt(op, page->off,
				   "page without a first separator");
	return got ?: (int)place;
}

/*
 * Is a separator not the one that leads on any more?  Another one has come behind the top, or
 * it has died.
 */
static int inner_changed(struct wort_op *op, const struct qr_page *page,
			 u32 top, const struct qr_side *sep)
{
	struct qr_rec one;
	int more = qr_rec_load(op, page, top, &one);

	return more ?:
	       wort_pm_load(qr_word(page, sep->slot.place)) != sep->head;
}

/*
 * Find a child in the page itself.
 *
 * It loads the link before it looks again, as quire.h explains.  An answer
 * rests on the separators that are there, and on those that are dead.
 */
static int inner_find(struct wort_op *op, const struct qr_page *page,
		      enum qr_goal goal, const struct wort_key *key,
		      struct qr_way *way)
{
	struct qr_side below = { }, above = { };
	int top, changed;

	do {
		top = inner_search(op, page, goal, key, &below, &above);
		if (top < 0)
			return top;
		way->link = wort_pm_load(qr_word(page, below.slot.place + 1));
		changed = inner_changed(op, page, top, &below);
	} while (changed > 0);
	way->place = below.slot.place;
	way->next = above.head ? above.slot.place : 0;
	way->shadow = NULL;
	read_all(op, page, top);
	return changed;
}

/*
 * Find the child to which a descent goes, and its upper, unless that is of the
 * page.
 */
int qr_inner_find(struct wort_op *op, const struct qr_page *page,
		  enum qr_goal goal, const struct wort_key *key,
		  struct qr_way *way, struct wort_bound *upper)
{
	int err = qr_goal_is_key(goal) ? qr_key_verify(op, page, key) : 0;

	if (err)
		return err;
	if (unlikely(!page->shadow ||
		     qr_child_find(page->shadow, goal, key, way)))
		err = inner_find(op, page, goal, key, way);
	if (err || !upper || !way->next)
		return err;
	return qr_sep_key(op, page, way->next, upper);
}

/* Where a record belongs in the order; true if one of its key is there. */
static bool order_find(const struct qr_page *page, const struct qr_order *order,
		       const struct qr_slot *slot, u32 *at)
{
	u32 low = 0, high = order->nr, mid;
	int cmp;

	/* Most come in order. */
	mid = high ? high - 1 : 0;
	while (low < high) {
		cmp = slots_cmp(page, &order->slot[mid], slot);
		if (!cmp) {
			*at = mid;
			return true;
		}
		if (cmp < 0)
			low = mid + 1;
		else
			high = mid;
		mid = (low + high) / 2;
	}
	*at = low;
	return false;
}

/* The last record of its key so far. */
static void order_add(const struct qr_page *page, struct qr_order *order,
		      const struct qr_rec *rec)
{
	const struct qr_slot slot = slot_of(page, rec);
	u32 at;

	if (!order_find(page, order, &slot, &at))
		memmove(&order->slot[at + 1], &order->slot[at],
			(order->nr++ - at) * sizeof(slot));
	order->slot[at] = slot;
}

/* Leave those in the range: the others are the last ones. */
static int order_cut(struct wort_op *op, const struct qr_page *page,
		     const struct wort_bound *upper, struct qr_order *order)
{
	const struct wort_key end = wort_bound_key(upper);
	struct qr_rec rec;
	int err = qr_key_verify(op, page, &end);

	for (; order->nr && !err; order->nr--) {
		err = qr_rec_at(op, page, order->slot[order->nr - 1].place,
				&rec);
		if (err || qr_rec_cmp(page, &rec, &end) < 0)
			break;
	}
	return err;
}

/* Leave those that are not dead. */
static int order_live(struct wort_op *op, const struct qr_page *page,
		      struct qr_order *order)
{
	u32 i, nr = 0;
	struct qr_rec rec;
	int err = 0;

	order->words = 0;
	for (i = 0; i < order->nr && !err; i++) {
		err = qr_rec_at(op, page, order->slot[i].place, &rec);
		if (err || qr_rec_dead(&rec))
			continue;
		order->slot[nr].place = rec.place;
		order->slot[nr++].len = rec.len;
		order->words += qr_rec_words(rec.len);
	}
	order->nr = nr;
	return err;
}

/*
 * The last records of all keys, by their keys.  A separator that died may have
 * come again, never the other way round.
 */
static int order_make(struct wort_op *op, const struct qr_page *page,
		      struct qr_order *order)
{
	u32 place = page->first;
	struct qr_rec rec;
	int got;

	order->nr = 0;
	order->end.nr = 0;
	for (; (got = rec_load(op, page, place, &rec)) > 0;
	     place += qr_rec_words(rec.len)) {
		order->end.nr++;
		if (!page->level || !qr_rec_dead(&rec))
			order_add(page, order, &rec);
	}
	order->end.top = place;
	return got;
}

/*
 * Who reads the records by their keys reads the page in no order that the
 * processor could predict.
 */
static void page_prefetch(const struct qr_page *page, u32 top)
{
	u32 place = 0;

	for (; place < top; place += WORT_LINE / QR_WORD)
		wort_pm_prefetch(qr_word(page, place));
}

/*
 * The records of a page whose keys are in its range, by their keys; some are
 * perhaps dead.
 */
int qr_order_all(struct wort_op *op, const struct qr_page *page,
		 const struct wort_bound *upper, struct qr_order *order)
{
	bool keeps = page->shadow && !page->level, kept;
	int err = 0;

	if (page->shadow)
		page_prefetch(page, READ_ONCE(page->shadow->top));
	kept = keeps && qr_order_take(page, order);
	if (!kept)
		err = order_make(op, page, order);
	read_all(op, page, order->end.top);
	if (!err && keeps && !kept)
		qr_order_keep(op, page, order);
	if (err || upper->len == WORT_NO_KEY)
		return err;
	return order_cut(op, page, upper, order);
}

/* The records that count, by their keys. */
int qr_order(struct wort_op *op, const struct qr_page *page,
	     const struct wort_bound *upper, struct qr_order *order)
{
	return qr_order_all(op, page, upper, order) ?:
	       order_live(op, page, order);
}

static u64 rest_word(const u8 *rest, u32 len, u32 off)
{
	u64 word = wort_bytes_word(rest + off, min_t(u32, len - off, QR_WORD));

	return le64_to_cpu((__force __le64)word);
}

/*
 * Store all words of a record but its head, so that the witness of a line is
 * the last one of that line.  Tells the head with its witnesses.  Returns false
 * if the head needs a fence of its own.
 */
bool qr_rec_write(struct wort_op *op, const struct qr_page *page, u32 place,
		  const u8 *rest, u32 len, u64 head, u64 val, u64 *full_head)
{
	u64 first = page->off / QR_WORD + place, word;
	u32 i = qr_rec_words(len), line, shift;
	bool value_line = (first + 1) % (WORT_LINE / QR_WORD) == 0;
	bool one_fence = op->region->line_order || !op->flush;

	*full_head = head;
	wort_pm_store(op, qr_word(page, place + 1), val);
	while (--i >= QR_REC_WORDS) {
		word = rest_word(rest, len, (i - QR_REC_WORDS) * QR_WORD);
		wort_pm_store(op, qr_word(page, place + i), word);
		line = (first + i) / (WORT_LINE / QR_WORD) -
		       first / (WORT_LINE / QR_WORD);
		if (!word || !line)
			continue;
		if (line > 2) {
			one_fence = false;
			continue;
		}
		shift = WORT_MEDIA_QUIRE_WITNESS_SHIFT + 4 * (line - 1);
		*full_head &= ~(WORT_MEDIA_QUIRE_WITNESS_MASK << shift);
		*full_head |= (WORT_MEDIA_QUIRE_WITNESS_SET |
			       (first + i) % (WORT_LINE / QR_WORD)) << shift;
	}
	if (value_line && val &&
	    !(*full_head >> WORT_MEDIA_QUIRE_WITNESS_SHIFT &
	      WORT_MEDIA_QUIRE_WITNESS_MASK))
		one_fence = false;
	if (!one_fence)
		*full_head = head;
	return one_fence;
}

/*
 * Before a record of so many words is appended: are they 0, and is the head
 * behind them?  If not the power went while others were appended, and all
 * behind the top becomes 0.
 */
void qr_tail_clean(struct wort_op *op, const struct qr_page *page, u32 top,
		   u32 words)
{
	u32 end = min_t(u32, top + words + 1, page->words), i;

	for (i = top; i < end && !wort_pm_load(qr_word(page, i)); i++)
		;
	if (i == end)
		return;
	for (i = page->words; i-- > top;)
		wort_pm_store(op, qr_word(page, i), 0);
	wort_pm_flush(op, qr_word(page, top), (page->words - top) * QR_WORD);
	wort_pm_fence(op);
}

/* Begin a page: its meta word and its anchor. */
void qr_page_create(struct wort_op *op, u64 off, u32 size, u32 level,
		    const struct wort_key *anchor, u32 prefix_len,
		    struct qr_page *page)
{
	u64 meta = size / QR_WORD | (u64)level << WORT_MEDIA_QUIRE_LEVEL_SHIFT |
		   (u64)anchor->len << WORT_MEDIA_QUIRE_ANCHOR_SHIFT |
		   (u64)prefix_len << WORT_MEDIA_QUIRE_PREFIX_SHIFT;
	u32 i;

	page->off = off;
	page->media = wort_region_at(op->region, off);
	meta_parse(meta, page);
	wort_pm_store(op, &page->media->meta, meta);
	for (i = 0; i < anchor->len; i += QR_WORD)
		wort_pm_store(op, qr_word(page, 1 + i / QR_WORD),
			      rest_word(anchor->data, anchor->len, i));
}

/*
 * Add a record to a page that no link leads to yet.  Returns the place behind
 * it.
 */
u32 qr_page_add(struct wort_op *op, const struct qr_page *page, u32 place,
		const struct wort_key *key, u64 head, u64 val)
{
	const u8 *rest = key->data + page->prefix_len;
	u32 len = key->len - page->prefix_len, i;

	head = (head & ~(WORT_MEDIA_QUIRE_LEN_MASK | QR_HEAD_WITNESSES)) | len;
	wort_pm_store(op, qr_word(page, place + 1), val);
	for (i = 0; i < len; i += QR_WORD)
		wort_pm_store(op,
			      qr_word(page, place + QR_REC_WORDS + i / QR_WORD),
			      rest_word(rest, len, i));
	wort_pm_store(op, qr_word(page, place), head);
	return place + qr_rec_words(len);
}

/* Zero the page behind its last record, and flush all of it. */
void qr_page_finish(struct wort_op *op, const struct qr_page *page, u32 top)
{
	wort_pm_zero(op, qr_word(page, top), (page->words - top) * QR_WORD);
	wort_pm_flush(op, page->media, page->words * QR_WORD);
}
