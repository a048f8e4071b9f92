// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * QUIRE: steps that replace pages.  Each is complete by itself: it reserves the
 * pages that it makes, locks the page that goes and its parent, writes, and
 * stores the words that commit it (quire.h).
 */
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "quire_shadow.h"

/*
 * An inner page grows rather than be split with so few separators, so that
 * trees of long keys are not too high: these many of the longest fit into the
 * largest page.
 */
#define INNER_FEWEST	6
#define INNER_RECS	256	/* separators of an inner page, at most */
#define FULL_AFTER_BATCH 1024	/* bytes: smaller inner pages may be */
#define LONG_KEY	64
#define LEAF_USUAL	60	/* records for which a leaf is made */

/* A page has so many bytes, unless it needs more for long keys. */
u32 qr_page_max(const struct wort_tree *tree, u32 level)
{
	return level ? QR_ATTR(tree, 40) : QR_ATTR(tree, 32);
}

u32 qr_recs_max(u32 level)
{
	return level ? INNER_RECS : QR_LEAF_RECS;
}

/* Is there room for one more record of so many words? */
bool qr_has_room(const struct qr_page *page, const struct qr_end *end,
		 u32 words)
{
	return end->top + words <= page->words &&
	       end->nr < qr_recs_max(page->level);
}

/**
 * struct qr_part - A page that will be made
 * @first: its records are those of the old page from here on in their order
 * @end: and up to here
 * @prefix_len: its prefix
 * @least: bytes that are enough
 * @size: its bytes; 0: it is not made
 * @page: the page
 */
struct qr_part {
	u32 first;
	u32 end;
	u32 prefix_len;
	u32 least;
	u32 size;
	struct qr_page page;
};

/**
 * struct qr_build - A page that is replaced
 * @pos: the page
 * @order: its records
 * @words: of the record for which there has to be room
 * @lower: what replaces it; not made: the page stays
 * @higher: the page of the upper part, if it is split
 * @upper: of the page
 * @anchor: of the page
 * @sep: the anchor of @higher
 * @key: for a copy of a key
 */
struct qr_build {
	struct qr_pos pos;
	struct qr_order order;
	u32 words;
	struct qr_part lower;
	struct qr_part higher;
	struct wort_bound upper;
	struct wort_bound anchor;
	struct wort_bound sep;
	u8 key[WORT_KEY_MAX] __aligned(8);
};

static struct qr_build *build_new(const struct wort_op *op)
{
	return kvmalloc(sizeof(struct qr_build),
			GFP_NOIO | (op->purse ? __GFP_NOFAIL : WORT_GFP_CALL));
}

/* A size that an object has, a multiple of a line. */
static u32 size_round(u32 bytes)
{
	return wort_class_size(wort_class_of(round_up(max_t(u32, bytes, QR_PAGE_MIN),
						      WORT_LINE)));
}

/*
 * The size for a page with @nr records, which take @bytes with what is before
 * them, and for @more bytes of another one.  An operation that must not fail
 * makes all pages of a level as large as they may be: that is what has been set
 * aside for it.
 */
u32 qr_page_size(const struct wort_op *op, const struct wort_tree *tree,
		 u32 level, bool alone, u32 bytes, u32 nr, u32 more)
{
	u32 most = qr_page_max(tree, level), size;

	if (op->purse)
		return bytes + more <= most	    ? most :
		       bytes + more <= QR_PAGE_LONG ? QR_PAGE_LONG :
						      QR_PAGE_MAX;
	if (!level && !alone && nr)
		size = bytes * LEAF_USUAL / nr;
	else
		size = BIT(fls(bytes + bytes / 4 + WORT_LINE - 1));
	return size_round(max(min(size, most), bytes + more));
}

/* Reserve a page of any size from @least to @most bytes; @size tells which. */
static int reserve_any(struct wort_op *op, u32 least, u32 most, u32 *size)
{
	u32 next = size_round(least);
	int err;

	do {
		*size = next;
		err = wort_alloc_reserve(op, *size);
		next = size_round(*size + WORT_LINE);
	} while (err == -ENOSPC && next <= most);
	return err;
}

/*
 * Reserve a page of @size bytes.  In a full pool the page may have any size from
 * @least bytes on, and @size tells which.  While space is about to come back
 * this fails, so that the operation waits: that space may have the right size.
 */
int qr_page_reserve(struct wort_op *op, const struct wort_tree *tree, u32 level,
		    u32 least, u32 *size)
{
	int err = wort_alloc_reserve(op, *size);
	u64 released = op->released;

	if (err != -ENOSPC || op->purse || wort_alloc_freeing(op->alloc))
		return err;
	err = reserve_any(op, least, qr_page_max(tree, level), size);
	/* What came back since the first try is a reason to try again. */
	if (err == -ENOSPC)
		op->released = released;
	return err;
}

/* Bytes of the records of a part, and what is before them. */
static u32 part_bytes(const struct qr_build *b, const struct qr_part *part,
		      u32 anchor_len)
{
	u32 words = 1 + DIV_ROUND_UP(anchor_len, QR_WORD), i, len;

	for (i = part->first; i < part->end; i++) {
		len = b->pos.page.prefix_len + b->order.slot[i].len;
		len = len > part->prefix_len ? len - part->prefix_len : 0;
		words += qr_rec_words(len);
	}
	return words * QR_WORD;
}

/* Choose the prefix and the size of a part. */
static int part_plan(struct wort_op *op, const struct wort_tree *tree,
		     const struct qr_build *b, struct qr_part *part,
		     const struct wort_bound *anchor,
		     const struct wort_bound *upper)
{
	const struct wort_key from = wort_bound_key(anchor);
	const struct wort_key to = wort_bound_key(upper);
	u32 level = b->pos.page.level, more = b->words * QR_WORD, bytes;

	part->prefix_len = wort_bounds_common(&from, &to);
	bytes = part_bytes(b, part, anchor->len);
	if (bytes + more > QR_PAGE_MAX)
		return wort_corrupt(op, b->pos.page.off,
				    "page with too many bytes");
	part->least = bytes + more;
	part->size = qr_page_size(op, tree, level,
				  !b->pos.depth && !b->higher.end, bytes,
				  part->end - part->first, more);
	return 0;
}

/* The key of a record, by its number in the order.  Returns its length. */
static int key_at(struct wort_op *op, const struct qr_build *b, u32 nr, u8 *buf)
{
	struct qr_rec rec;

	return qr_rec_at(op, &b->pos.page, b->order.slot[nr].place, &rec) ?:
	       qr_rec_key(op, &b->pos.page, &rec, buf);
}

/*
 * The separator before record @mid.  Before the first and behind the last one
 * it lies between that and the new key.
 */
static int leaf_separate(struct wort_op *op, struct qr_build *b, u32 mid,
			 const struct wort_key *key)
{
	struct wort_key low = *key, high = *key;
	int len;

	if (mid) {
		len = key_at(op, b, mid - 1, b->key);
		if (len < 0)
			return len;
		low = (struct wort_key){ b->key, len };
	}
	if (mid < b->order.nr) {
		len = key_at(op, b, mid, b->anchor.bytes);
		if (len < 0)
			return len;
		high = (struct wort_key){ b->anchor.bytes, len };
	}
	wort_bound_between(&b->sep, &low, &high);
	return 0;
}

/* Is the key above all records?  Then a page for it alone is enough. */
static int is_above_all(struct wort_op *op, const struct qr_build *b,
			const struct wort_key *key)
{
	struct qr_rec rec;
	int err = qr_rec_at(op, &b->pos.page,
			    b->order.slot[b->order.nr - 1].place, &rec);

	return err ?: qr_rec_cmp(&b->pos.page, &rec, key) < 0;
}

/* The record in the middle of their bytes. */
static u32 middle(const struct qr_build *b)
{
	u32 i = 0, words = 0;

	do
		words += qr_rec_words(b->order.slot[i++].len);
	while (i + 1 < b->order.nr && 2 * words < b->order.words);
	return i;
}

/*
 * Where the page is split: the first record of the higher part.  An inner page
 * has one separator at least, in both parts.
 */
static int split_place(struct wort_op *op, const struct qr_build *b,
		       const struct wort_key *key)
{
	u32 nr = b->order.nr;
	int above = is_above_all(op, b, key);

	if (above < 0)
		return above;
	if (above)
		return b->pos.page.level ? nr - 1 : nr;
	return nr > 1 ? middle(b) : 0;
}

/* Is the key that of the only record of the page? */
static bool is_only(struct wort_op *op, const struct qr_build *b,
		    const struct wort_key *key)
{
	struct qr_rec rec;

	return b->order.nr == 1 &&
	       !qr_rec_at(op, &b->pos.page, b->order.slot[0].place, &rec) &&
	       !qr_rec_cmp(&b->pos.page, &rec, key);
}

static int anchor_read(struct wort_op *op, struct qr_build *b)
{
	b->anchor.len = b->pos.page.anchor_len;
	return wort_pm_read(op, b->anchor.bytes, b->pos.page.media->anchor,
			    b->anchor.len);
}

/*
 * Find where the page is split, and the separator: a key that is not the
 * greatest, which is where a walk ends.  Returns -ENOENT if there is none.
 */
static int split_find(struct wort_op *op, struct qr_build *b,
		      const struct wort_key *key)
{
	int mid = split_place(op, b, key), len;
	struct wort_key sep;

	if (mid < 0)
		return mid;
	if (b->pos.page.level) {
		len = key_at(op, b, mid, b->sep.bytes);
		b->sep.len = len;
		return len < 0 ? len : mid;
	}
	do {
		len = leaf_separate(op, b, mid, key);
		if (len)
			return len;
		sep = wort_bound_key(&b->sep);
		if (!wort_key_is_greatest(&sep))
			return mid;
	} while (--mid > 0);
	return -ENOENT;
}

/*
 * Plan a split: both parts.  The page stays as the lower one if it has all of
 * it.  Tells with -ENOENT that the page cannot be split.
 */
static int split_plan(struct wort_op *op, const struct wort_tree *tree,
		      struct qr_build *b, const struct wort_key *key)
{
	bool inner = b->pos.page.level;
	int mid = is_only(op, b, key) ? -ENOENT : split_find(op, b, key), err;

	err = mid < 0 ? mid : anchor_read(op, b);
	if (err)
		return err;
	b->lower.end = mid;
	b->higher = (struct qr_part){ .first = mid, .end = b->order.nr };
	if (mid + inner < (int)b->order.nr) {
		err = part_plan(op, tree, b, &b->lower, &b->anchor, &b->sep);
		if (err)
			return err;
	}
	return part_plan(op, tree, b, &b->higher, &b->sep, &b->upper);
}

/* Has a page too much that does not count, or may it be larger? */
static bool is_worth_rebuild(const struct qr_build *b, u32 most)
{
	const struct qr_page *page = &b->pos.page;
	u32 words = page->first + b->order.words;

	if (b->order.nr < (page->level ? INNER_FEWEST : 1))
		return true;
	if ((words + b->words) * QR_WORD > most ||
	    b->order.nr >= qr_recs_max(page->level) * 3 / 4)
		return false;
	return page->words * QR_WORD < most || words < page->words * 3 / 4;
}

/* The place of the separator that leads to the page. */
static u32 sep_place(const struct qr_build *b)
{
	return b->pos.above[b->pos.depth - 1].place;
}

/* The word that leads to the page. */
static __le64 __pmem *link_word(const struct wort_tree *tree,
				const struct qr_build *b,
				const struct qr_page *parent)
{
	return b->pos.depth ? qr_word(parent, sep_place(b) + 1) :
			      wort_tree_root(tree);
}

static void link_change(struct wort_op *op, const struct wort_tree *tree,
			const struct qr_build *b, struct qr_page *parent,
			u64 off)
{
	if (b->pos.depth)
		qr_sep_change(op, tree, parent, sep_place(b), 1, off);
	else
		qr_root_change(op, tree, off);
}

/* Has a page got another record behind a top that it had? */
bool qr_has_grown(struct wort_op *op, const struct qr_page *page, u32 top)
{
	struct qr_rec rec;

	return qr_rec_load(op, page, top, &rec) > 0;
}

/*
 * A page, or its shadow, is not what it was, and not by those who take its
 * lock: it is a page of another tree, too, or twice in this one.
 */
int qr_page_shared(struct wort_op *op, const struct qr_page *page)
{
	return wort_corrupt(op, page->off, "page that somebody else changes");
}

/*
 * Under the lock of a page: records that its shadow does not know are not
 * overwritten.
 */
int qr_end_verify(struct wort_op *op, const struct qr_page *page,
		  const struct qr_end *end)
{
	return qr_has_grown(op, page, end->top) ? qr_page_shared(op, page) : 0;
}

/*
 * Lock the page and its parent.  -EAGAIN if the page is not what the plan was
 * made for.  Records may have died since, and values changed.  To a writer that
 * is alone this does not happen, unless the page is one of another tree, too.
 */
static int build_lock(struct wort_op *op, const struct wort_tree *tree,
		      const struct qr_build *b, const struct qr_page *parent)
{
	const u64 nodes[] = {
		b->pos.page.off,
		b->pos.depth ? parent->off : wort_root_node(tree),
	};

	if (!wort_nodes_lock(op, nodes, 2))
		return -EAGAIN;
	if (wort_pm_load(link_word(tree, b, parent)) == b->pos.page.off &&
	    !qr_has_grown(op, &b->pos.page, b->order.end.top))
		return 0;
	wort_nodes_unlock(op);
	return qr_page_shared(op, &b->pos.page);
}

/*
 * Copy records of the old page which count into a new one.  The first separator
 * of an inner page has no bytes.  Returns the place behind them.
 */
int qr_records_copy(struct wort_op *op, const struct qr_page *from,
		    const struct qr_order *order, u32 first, u32 end,
			const struct qr_page *page, u32 place, u8 *buf)
{
	struct wort_key key = { .data = buf };
	struct qr_rec rec;
	int len;

	for (; first < end; first++) {
		len = qr_rec_at(op, from, order->slot[first].place, &rec);
		if (len)
			return len;
		if (qr_rec_dead(&rec))
			continue;
		len = qr_rec_key(op, from, &rec, buf);
		if (len < 0)
			return len;
		key.len = page->level && place == page->first ? page->prefix_len : len;
		len = qr_key_verify(op, page, &key);
		if (len)
			return len;
		place = qr_page_add(op, page, place, &key, rec.head, rec.val);
	}
	return place;
}

/*
 * No cache has the lines of a new page: they are loaded side by side, before
 * the stores.
 */
static void page_prefetch_store(const struct qr_page *page)
{
	u32 place = 0;

	for (; place < page->words; place += WORT_LINE / QR_WORD)
		wort_pm_prefetch_store(qr_word(page, place));
}

/* Write a part, if it is to be made. */
static int part_write(struct wort_op *op, struct qr_build *b,
		      struct qr_part *part, const struct wort_bound *anchor)
{
	const struct wort_key from = wort_bound_key(anchor);
	int place;

	if (!part->size)
		return 0;
	qr_page_create(op, wort_alloc_take(op), part->size, b->pos.page.level,
		       &from, part->prefix_len, &part->page);
	page_prefetch_store(&part->page);
	place = qr_records_copy(op, &b->pos.page, &b->order, part->first,
				part->end, &part->page, part->page.first,
				b->key);
	if (place < 0)
		return place;
	qr_page_finish(op, &part->page, place);
	return 0;
}

static int part_reserve(struct wort_op *op, const struct wort_tree *tree,
			const struct qr_build *b, struct qr_part *part)
{
	return part->size ? qr_page_reserve(op, tree, b->pos.page.level,
					    part->least, &part->size) : 0;
}

static int parts_reserve(struct wort_op *op, const struct wort_tree *tree,
			 struct qr_build *b)
{
	return part_reserve(op, tree, b, &b->lower) ?:
	       part_reserve(op, tree, b, &b->higher);
}

static int parts_write(struct wort_op *op, struct qr_build *b)
{
	return part_write(op, b, &b->lower, &b->anchor) ?:
	       part_write(op, b, &b->higher, &b->sep);
}

static void word_change(struct wort_op *op, u64 node, __le64 __pmem *word,
			u64 val)
{
	struct wort_lock *lock = wort_lock_of(op, node);

	wort_pm_launch(op, lock, word, val);
	wort_pm_land(op, lock, word);
}

/* Another page becomes the root page; the node of the root word is locked. */
void qr_root_change(struct wort_op *op, const struct wort_tree *tree, u64 off)
{
	wort_pm_fence_contents(op);
	word_change(op, wort_root_node(tree), wort_tree_root(tree), off);
}

/* Change a word of a separator, 0 or 1, in a page that is locked. */
void qr_sep_change(struct wort_op *op, const struct wort_tree *tree,
		   struct qr_page *page, u32 place, u32 word, u64 val)
{
	qr_shadow_current(tree, page);
	wort_pm_fence_contents(op);
	qr_children_changing(page);
	word_change(op, page->off, qr_word(page, place + word), val);
	qr_children_changed(op, tree, page, place);
}

/* Its shadow goes before the memory can be used again. */
void qr_page_free(struct wort_op *op, const struct wort_tree *tree,
		  const struct qr_page *page)
{
	qr_shadow_drop(tree, page->off);
	if (wort_alloc_free(op, page->off, page->words * QR_WORD))
		op->damaged = true;
}

static int parent_open(struct wort_op *op, const struct wort_tree *tree,
		       const struct qr_build *b, struct qr_page *parent)
{
	if (!b->pos.depth)
		return 0;
	return qr_page_open(op, tree, b->pos.above[b->pos.depth - 1].off,
			    parent);
}

/* Unlock.  The page goes if another one has taken its place. */
static int build_end(struct wort_op *op, const struct wort_tree *tree,
		     const struct qr_build *b, int err)
{
	if (err)
		wort_alloc_untake(op);
	wort_nodes_unlock(op);
	if (!err && b->lower.size)
		qr_page_free(op, tree, &b->pos.page);
	return err;
}

/*
 * Make the shadow of a new page while its lines are in the cache, and enter it
 * in the shadow of the parent.  The caller holds no lock any more.
 */
static void part_learn(struct wort_op *op, const struct wort_tree *tree,
		       const struct qr_page *parent, struct qr_part *part,
		       u32 place)
{
	const struct qr_way way = { .link = part->page.off, .place = place };

	if (!part->size || !parent->shadow)
		return;
	qr_shadow_make(op, tree, &part->page);
	if (part->page.shadow)
		qr_child_learn(op, tree, parent, &way, part->page.shadow);
}

/* The page is replaced by one with the same range. */
static int rebuild(struct wort_op *op, struct wort_tree *tree,
		   struct qr_build *b)
{
	struct qr_page parent = { };
	int err;

	b->lower.end = b->order.nr;
	err = anchor_read(op, b) ?:
	      part_plan(op, tree, b, &b->lower, &b->anchor, &b->upper) ?:
	      parent_open(op, tree, b, &parent) ?:
	      parts_reserve(op, tree, b) ?:
	      build_lock(op, tree, b, &parent);
	if (err)
		return err;
	err = parts_write(op, b);
	if (!err) {
		link_change(op, tree, b, &parent, b->lower.page.off);
		wort_nodes_removed(op, b->pos.page.off, 0);
	}
	err = build_end(op, tree, b, err);
	if (!err && b->pos.depth)
		part_learn(op, tree, &parent, &b->lower, sep_place(b));
	return err;
}

static u64 sep_head(u32 len)
{
	return WORT_MEDIA_QUIRE_SET | len |
	       8ULL << WORT_MEDIA_QUIRE_VALUE_SHIFT;
}

/* The root page is split: a new one leads to both parts. */
static int root_split(struct wort_op *op, struct wort_tree *tree,
		      struct qr_build *b)
{
	u32 level = b->pos.page.level + 1;
	const struct wort_key none = { b->key, 0 };
	const struct wort_key sep = wort_bound_key(&b->sep);
	u32 bytes = (1 + qr_rec_words(0) + qr_rec_words(sep.len)) * QR_WORD;
	u32 size = qr_page_size(op, tree, op->purse ? 0 : level, true, bytes, 2, 0);
	struct qr_page root, *lower = b->lower.size ? &b->lower.page : &b->pos.page;
	u32 place;
	int err;

	if (level > QR_LEVELS)
		return -ENOSPC;
	err = parts_reserve(op, tree, b) ?: wort_alloc_reserve(op, size) ?:
	      build_lock(op, tree, b, NULL);
	if (err)
		return err;
	err = parts_write(op, b);
	if (!err) {
		qr_page_create(op, wort_alloc_take(op), size, level, &none, 0,
			       &root);
		place = qr_page_add(op, &root, root.first, &none, sep_head(0),
				    lower->off);
		place = qr_page_add(op, &root, place, &sep, sep_head(0),
				    b->higher.page.off);
		qr_page_finish(op, &root, place);
		qr_root_change(op, tree, root.off);
		wort_nodes_removed(op, b->pos.page.off, 0);
	}
	return build_end(op, tree, b, err);
}

/* With all locked: first the separator, then the lower part. */
static void split_commit(struct wort_op *op, struct wort_tree *tree,
			 struct qr_build *b, struct qr_page *parent, u32 top)
{
	u32 len = b->sep.len - parent->prefix_len;

	wort_pm_fence_contents(op);
	qr_append(op, tree, parent, top, b->sep.bytes + parent->prefix_len, len,
		  sep_head(len), b->higher.page.off);
	if (b->lower.size)
		link_change(op, tree, b, parent, b->lower.page.off);
	wort_nodes_removed(op, b->pos.page.off, 0);
}

static int split(struct wort_op *op, struct wort_tree *tree, struct qr_build *b,
		 struct qr_page *parent)
{
	u32 words = qr_rec_words(b->sep.len - parent->prefix_len);
	int err = parts_reserve(op, tree, b) ?: build_lock(op, tree, b, parent);
	struct qr_end end;

	if (err)
		return err;
	qr_shadow_current(tree, parent);
	err = qr_end_find(op, parent, &end) ?: qr_end_verify(op, parent, &end);
	if (!err)
		err = qr_has_room(parent, &end, words) ? parts_write(op, b) : -EAGAIN;
	if (!err)
		split_commit(op, tree, b, parent, end.top);
	err = build_end(op, tree, b, err);
	if (!err) {
		part_learn(op, tree, parent, &b->lower, sep_place(b));
		part_learn(op, tree, parent, &b->higher, end.top);
	}
	return err;
}

/*
 * A split makes room only if the page begins where its parent says, the new
 * separator lies in its range, and the key has its prefix.  In a damaged tree
 * the key would come to the same page again, however often that is split.
 */
static int split_verify(struct wort_op *op, struct qr_build *b,
			const struct qr_page *parent,
			const struct wort_key *key)
{
	const struct wort_key sep = wort_bound_key(&b->sep);
	const struct wort_key upper = wort_bound_key(&b->upper);
	u32 prefix_len = b->pos.page.prefix_len;
	int len = qr_sep_read(op, parent, sep_place(b), b->key);
	struct wort_key from = { b->key, len };

	if (len < 0)
		return len;
	if (b->anchor.len == from.len &&
	    !memcmp(b->anchor.bytes, from.data, from.len) &&
	    wort_key_compare(&from, &sep) < 0 &&
	    (upper.len == WORT_NO_KEY || wort_key_compare(&sep, &upper) < 0) &&
	    key->len >= prefix_len &&
	    !memcmp(b->anchor.bytes, key->data, prefix_len))
		return 0;
	return wort_corrupt(op, b->pos.page.off, "page with keys out of its range");
}

/*
 * Split the page.  If its parent has no room for the separator, so many words
 * are needed there, and nothing is done.
 */
static int split_or_need(struct wort_op *op, struct wort_tree *tree,
			 struct qr_build *b, const struct wort_key *key,
			 u32 *need)
{
	struct qr_page parent;
	struct qr_end end;
	u32 words;
	int err = split_plan(op, tree, b, key);

	if (err == -ENOENT)
		return rebuild(op, tree, b);
	if (err)
		return err;
	if (!b->pos.depth)
		return root_split(op, tree, b);
	err = parent_open(op, tree, b, &parent) ?:
	      split_verify(op, b, &parent, key) ?:
	      qr_end_find(op, &parent, &end);
	if (err)
		return err;
	if (b->sep.len < parent.prefix_len)
		return wort_corrupt(op, parent.off,
				    "page in whose range a key is not");
	words = qr_rec_words(b->sep.len - parent.prefix_len);
	if (qr_has_room(&parent, &end, words))
		return split(op, tree, b, &parent);
	*need = words;
	return 0;
}

/* The first page of an index. */
static int first_page(struct wort_op *op, struct wort_tree *tree)
{
	const struct wort_key none = { (const u8 *)"", 0 };
	u32 size = qr_page_size(op, tree, 0, true, QR_PAGE_MIN, 0, 0);
	u64 node = wort_root_node(tree);
	struct qr_page page;
	int err = wort_alloc_reserve(op, size);

	if (err)
		return err;
	qr_page_create(op, wort_alloc_take(op), size, 0, &none, 0, &page);
	qr_page_finish(op, &page, page.first);
	wort_pm_fence_contents(op);
	if (!wort_nodes_lock(op, &node, 1))
		return -EAGAIN;
	if (wort_pm_load(wort_tree_root(tree)))
		err = -EAGAIN;
	else
		qr_root_change(op, tree, page.off);
	wort_nodes_unlock(op);
	return err;
}

/*
 * Find the page of a level in whose range a key is, and its records, to make
 * room for one of so many words; 0: for that of the key.
 */
static int level_open(struct wort_op *op, struct wort_tree *tree, u32 level,
		      const struct wort_key *key, struct qr_build *b, u32 words)
{
	int err = qr_descend(op, tree, level, QR_COVERS, key, &b->pos,
			     &b->upper);

	if (err || !b->pos.page.off)
		return err;
	if (b->pos.page.level != level)
		return -EAGAIN;
	b->words = words ?: qr_rec_words(key->len - b->pos.page.prefix_len);
	b->lower = (struct qr_part){ };
	b->higher = (struct qr_part){ };
	return qr_order(op, &b->pos.page, &b->upper, &b->order);
}

/*
 * Make room in the page of a level for a record of so many words, or, where
 * that is needed first, tell how many words in its parent.
 */
static int level_room(struct wort_op *op, struct wort_tree *tree, u32 level,
		      const struct wort_key *key, struct qr_build *b, u32 *need)
{
	int err = level_open(op, tree, level, key, b, *need);

	if (err)
		return err;
	if (!b->pos.page.off)
		return first_page(op, tree);
	*need = 0;
	return is_worth_rebuild(b, qr_page_max(tree, level)) ?
	       rebuild(op, tree, b) : split_or_need(op, tree, b, key, need);
}

/*
 * There is no space to split the leaf.  Rebuild it for few records that died,
 * too: that needs one page, and gives one back.
 */
static int leaf_compact(struct wort_op *op, struct wort_tree *tree,
			const struct wort_key *key, struct qr_build *b)
{
	const struct qr_page *page = &b->pos.page;
	struct qr_end end;
	u64 released;
	int err;

	wort_op_step(op);
	released = op->released;
	err = level_open(op, tree, 0, key, b, 0);
	if (err)
		return err;
	end = (struct qr_end){ page->first + b->order.words, b->order.nr };
	err = page->off && qr_has_room(page, &end, b->words) ?
		      rebuild(op, tree, b) : -ENOSPC;
	if (err == -ENOSPC)
		op->released = released;
	return err;
}

/*
 * Take one step that makes room for a new record of a key: the leaf is rebuilt
 * or split, or a page above it is, for the separator.
 */
int qr_make_room(struct wort_op *op, struct wort_tree *tree,
		 const struct wort_key *key)
{
	struct qr_build *b = build_new(op);
	u32 level = 0, need = 0;
	int err;

	if (!b)
		return -ENOMEM;
	do
		err = level_room(op, tree, level++, key, b, &need);
	while (!err && need);
	if (err == -ENOSPC)
		err = leaf_compact(op, tree, key, b);
	kvfree(b);
	return err;
}

/* The level of the root page, if there is one. */
static u32 root_level(const struct wort_tree *tree)
{
	u64 off = wort_pm_load(wort_tree_root(tree));
	const __le64 __pmem *meta;

	if (!off || wort_region_verify(tree->region, off, sizeof(*meta)))
		return 0;
	meta = wort_region_at(tree->region, off);
	return wort_pm_load(meta) >> WORT_MEDIA_QUIRE_LEVEL_SHIFT &
	       WORT_MEDIA_QUIRE_LEVEL_MASK;
}

/*
 * A put at worst splits a page of each level, and makes a new root, which is as
 * large as a leaf.  The others of a batch may make the tree higher before, with
 * the smallest pages by several levels.  An inner page of long keys is larger
 * than its tree wants pages to be.
 */
void qr_need(const struct wort_tree *tree, u32 key_len, u32 value_len,
	     struct wort_need *need)
{
	u32 levels = root_level(tree), more;

	more = qr_page_max(tree, 1) < FULL_AFTER_BATCH ? 3 : 1;
	need->nr = 0;
	if (value_len == U32_MAX)
		return;
	if (value_len > QR_WORD) {
		need->of[need->nr].size = value_len;
		need->of[need->nr++].count = 1;
	}
	need->of[need->nr].size = qr_page_max(tree, 0);
	need->of[need->nr++].count = 3;
	need->of[need->nr].size = QR_PAGE_LONG;
	need->of[need->nr++].count = 3 + 2 * (key_len > LONG_KEY ? levels + more : levels);
	need->of[need->nr].size = qr_page_max(tree, 1);
	need->of[need->nr++].count = 2 * (levels + more);
	if (qr_page_max(tree, 1) < QR_PAGE_MAX) {
		need->of[need->nr].size = QR_PAGE_MAX;
		need->of[need->nr++].count = 2 * (levels + more);
	}
}
