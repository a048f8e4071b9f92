/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * QUIRE: a B+-tree of pages, for names and paths.
 *
 * Names:
 *	page	a node.  The range of a page is what its parent leads to it for.
 *		Pages of level 0 are leaves, others are inner pages
 *	anchor	a key.  No key in the range of the page is below it
 *	upper	where the range ends: the next separator, or no key at all
 *	prefix	what anchor and upper have in common, and so all keys of the
 *		range.  Records store what is behind it
 *	record	a key of a leaf with its value, or a separator
 *	separator	a record of an inner page: where the range of a child
 *		begins, and the link to it.  That of the first child has no bytes
 *	place	where a record begins, in words of its page
 *	top	the place behind the last record
 *	head	the first word of a record, which is stored last
 *	witness	a word of the key that lies in a further line of the record, is
 *		not 0, and is stored last in that line
 *
 *	+------+--------+--------+--------+-- - - --+--------+- - - --+
 *	| meta | anchor | record | record |         | record | 0 0 0  |
 *	+------+--------+--------+--------+-- - - --+--------+- - - --+
 *		       /          \                           ^ top
 *		+------+-------+------ - - --+
 *		| head | value | rest of key |
 *		+------+-------+------ - - --+
 *
 * Records are appended behind the top, in any order, and stay where they are.
 * Of several records of a key the last one counts.  A record of a leaf whose
 * key is not in the range counts for nothing.
 *
 * Each change of the tree is one word:
 *
 * insert		the head of a new record
 * update		the value word of the record
 * update of another	the head of a new record
 *	length
 * delete		the head of the record := dead
 * rebuild		the link to the page := a new page with the records that
 *			count
 * split		the head of a new separator, which leads to a page with
 *			the records of the upper part.  Then the page is rebuilt
 * split of the root	the root word := an inner page with two separators
 * merge		the link to the page := a page with the records of two.
 *			Then the separator of the second one := dead
 * merge with an empty	its separator := dead: the leaf before has its range
 *	leaf
 * root of one child	the root word := the child
 *
 * How one fence makes a record durable: the memory behind the top is 0, and
 * durable.  Stores to one line become durable in order, so where the head is
 * durable its line is, and where a witness is not 0 the words of its line are.
 * A line of zeroes only needs no witness.  Where a line has no word for a
 * witness, or is the fourth, or where stores to a line are not ordered, the
 * head has a fence of its own.
 *
 * After a power cut each of these words is old or new.  Other states that no
 * operation leaves:
 *
 *	a head without one of its witnesses	the records end before it.  The next
 *	a head of a batch, without one		append to the page zeroes what is
 *	before it				behind the top, and fences first
 *	words behind the top that are not 0
 *	a page has records beyond its range,	they count for nothing.  The next
 *	after half a split or half a merge	rebuild leaves them behind
 *
 * Concurrency: a lock stands for a page.  Who appends to a page, changes a word
 * in it, or replaces it holds its lock; the link to it is a word of its parent.
 * A page whose range shrinks counts as removed for writers: they descend again.
 * Readers take no lock.  A page that is replaced keeps its content, so what a
 * reader finds in it was true when it was replaced, and the reader was under
 * way by then.  A split stores the separator before it changes the link to the
 * lower page.  A reader loads the link first, and then checks whether the inner
 * page has got another separator.  If it loaded the new link, it finds the new
 * separator.  It also checks that the separator has not died.  Of two that die
 * one after the other it may have met the lower one before, and the upper one
 * after: then the lower one leads to a page that never had the keys of the
 * upper one.
 */
#ifndef _WORT_QUIRE_H
#define _WORT_QUIRE_H

#include <linux/wort_engines.h>
#include <linux/wort_format_quire.h>

#include "../core/alloc.h"
#include "../core/pmem.h"
#include "bound.h"
#include "engine.h"
#include "root.h"

#define QR_LEVELS	15		/* of inner pages */
#define QR_WORD		sizeof(__le64)
#define QR_REC_WORDS	2		/* without a key */
#define QR_LEAF_RECS	64		/* at most */
#define QR_PAGE_RECS	512		/* at most, in any page */
#define QR_FEW_RECS	5	/* a leaf with no more may be merged when one of them goes */
#define QR_PAGE_MIN	128		/* bytes */
#define QR_PAGE_MAX	8192
#define QR_PAGE_LONG	4608		/* half of a page of the longest keys, and one */

/* The attributes of a tree, by their lowest bits. */
#define QR_ATTR_LIMITS(name, shift, bits, unit, min, max, def, values)	\
	QR_ATTR_##shift##_BITS = (bits), QR_ATTR_##shift##_UNIT = (unit),	\
	QR_ATTR_##shift##_DEFAULT = (def),
enum { WORT_ATTRS_quire(QR_ATTR_LIMITS) };

#define QR_ATTR(tree, shift)						\
	(QR_ATTR_##shift##_UNIT *					\
	 ((u32)((tree)->attr >> (shift) &				\
		GENMASK_ULL(QR_ATTR_##shift##_BITS - 1, 0)) ?:		\
	  QR_ATTR_##shift##_DEFAULT / QR_ATTR_##shift##_UNIT))

/* What the heads of all records of a key in a page have in common. */
#define QR_HEAD_SAME	(WORT_MEDIA_QUIRE_LEN_MASK |				\
			 WORT_MEDIA_QUIRE_HASH_MASK << WORT_MEDIA_QUIRE_HASH_SHIFT)

/**
 * struct qr_page - A page whose meta word was verified
 * @media: the page
 * @off: its offset
 * @words: its size
 * @first: place of the first record
 * @anchor_len: length of its anchor
 * @prefix_len: length of its prefix
 * @level: its level
 * @shadow: its shadow (quire_shadow.h), or NULL
 */
struct qr_page {
	struct wort_media_quire_page __pmem *media;
	u64 off;
	struct qr_shadow *shadow;
	u16 words;
	u16 first;
	u16 anchor_len;
	u16 prefix_len;
	u8 level;
};

/**
 * struct qr_rec - A record as it was read
 * @head: its head; 0: there is none
 * @val: its value word
 * @place: its place
 * @len: bytes of its key behind the prefix
 */
struct qr_rec {
	u64 head;
	u64 val;
	u16 place;
	u16 len;
};

/**
 * struct qr_end - Where the records of a page end
 * @top: the top
 * @nr: records before it, also such as do not count
 */
struct qr_end {
	u16 top;
	u16 nr;
};

/* How far a descent goes: to the leaf ... */
enum qr_goal {
	QR_FIRST,		/* that is the first one */
	QR_COVERS,		/* in whose range a key is */
	QR_BELOW,		/* of the keys right below a key */
	QR_LAST,		/* that is the last one */
};

/* Does the key of a descent decide where it goes? */
static inline bool qr_goal_is_key(enum qr_goal goal)
{
	return goal == QR_COVERS || goal == QR_BELOW;
}

/**
 * struct qr_way - The way from an inner page to a child
 * @link: the link to it
 * @place: the place of its separator
 * @next: the place of the next separator, or 0
 * @shadow: its shadow, or NULL: not known
 */
struct qr_way {
	u64 link;
	u16 place;
	u16 next;
	struct qr_shadow *shadow;
};

/**
 * struct qr_above - An inner page that a descent has passed
 * @off: its offset
 * @place: place of the separator that leads on
 */
struct qr_above {
	u64 off;
	u16 place;
};

/**
 * struct qr_pos - Where a descent has ended
 * @page: the page; with an offset of 0 there is none, and the index is empty
 * @end: of a leaf: its end, as it was
 * @rec: the record that was looked for; with a head of 0 there is none
 * @depth: inner pages above it
 * @above: these, the root first
 */
struct qr_pos {
	struct qr_page page;
	struct qr_end end;
	struct qr_rec rec;
	u32 depth;
	struct qr_above above[QR_LEVELS];
};

/**
 * struct qr_value - A value as it will be in a record
 * @kind: its length, or that it is an object
 * @val: the value word
 */
struct qr_value {
	u32 kind;
	u64 val;
};

/**
 * struct qr_order - The records of a page that count, in the order of keys
 * @nr: how many
 * @end: the end of the page
 * @words: they take so many words
 * @slot: these records
 * @slot.first: for who makes the order: the first bytes behind the prefix, as a
 *	number
 * @slot.place: its place
 * @slot.len: bytes of its key behind the prefix
 */
struct qr_order {
	u32 nr;
	struct qr_end end;
	u32 words;
	struct qr_slot {
		u64 first;
		u16 place;
		u16 len;
	} slot[QR_PAGE_RECS];
};

/**
 * struct qr_cursor - What a cursor keeps
 * @pos: the leaf of its record
 * @upper: the upper of the leaf
 * @order: the records of the leaf that count
 * @at: of these the current one
 * @begin: where the step of a walk begins
 * @key: for a copy of a key
 */
struct qr_cursor {
	struct qr_pos pos;
	struct wort_bound upper;
	struct qr_order order;
	u32 at;
	u8 begin[WORT_KEY_MAX];
	u8 key[WORT_KEY_MAX] __aligned(8);
};

u32 qr_hash(const struct wort_key *key);

/* Words of a record with so many bytes of a key. */
static inline u32 qr_rec_words(u32 len)
{
	return QR_REC_WORDS + DIV_ROUND_UP(len, QR_WORD);
}

static inline bool qr_rec_dead(const struct qr_rec *rec)
{
	return rec->head & WORT_MEDIA_QUIRE_DEAD;
}

/*
 * The hash and the length of a key as the heads of its records have them:
 * QR_HEAD_SAME.
 */
static inline u64 qr_head_same(const struct qr_page *page,
			       const struct wort_key *key, u32 hash)
{
	return (u64)hash << WORT_MEDIA_QUIRE_HASH_SHIFT |
	       (key->len - page->prefix_len);
}

/* The head of a new record, without its witnesses. */
static inline u64 qr_rec_head(u64 same, u32 kind)
{
	return WORT_MEDIA_QUIRE_SET | same |
	       (u64)kind << WORT_MEDIA_QUIRE_VALUE_SHIFT;
}

/* Is a record a record of the index?  Of those of a key the last one was asked for. */
static inline bool qr_is_there(const struct qr_rec *rec)
{
	return rec->head && !qr_rec_dead(rec);
}

static inline u32 qr_rec_kind(u64 head)
{
	return head >> WORT_MEDIA_QUIRE_VALUE_SHIFT &
	       WORT_MEDIA_QUIRE_VALUE_MASK;
}

static inline u64 qr_object_off(u64 val)
{
	return val & WORT_MEDIA_QUIRE_OFF_MASK;
}

static inline u32 qr_object_len(u64 val)
{
	return val >> WORT_MEDIA_QUIRE_BYTES_SHIFT;
}

/* The length of its value. */
static inline u32 qr_rec_value_len(const struct qr_rec *rec)
{
	u32 kind = qr_rec_kind(rec->head);

	return kind == WORT_MEDIA_QUIRE_VALUE_OBJECT ? qr_object_len(rec->val) :
						       kind;
}

static inline __le64 __pmem *qr_word(const struct qr_page *page, u32 place)
{
	return (__le64 __pmem *)page->media + place;
}

/* The bytes of a key that a record stores. */
static inline const void __pmem *qr_rest(const struct qr_page *page,
					 const struct qr_rec *rec)
{
	return qr_word(page, rec->place + QR_REC_WORDS);
}

/*
 * Read the head of a record to which a shadow leads.  Whoever entered the
 * record in the shadow has verified it, so this checks only what memory outside
 * the page or a buffer depends on.  False if it is not there, or was damaged
 * since: then the head is not 0.
 */
static inline bool qr_rec_peek(const struct qr_page *page, u32 place,
			       struct qr_rec *rec)
{
	rec->place = place;
	rec->head = wort_pm_load(qr_word(page, place));
	rec->len = rec->head & WORT_MEDIA_QUIRE_LEN_MASK;
	return rec->head && place + qr_rec_words(rec->len) <= page->words &&
	       qr_rec_kind(rec->head) <= WORT_MEDIA_QUIRE_VALUE_OBJECT;
}

/* quire_page.c: pages and their records */
int qr_page_open(struct wort_op *op, const struct wort_tree *tree, u64 off,
		 struct qr_page *page);
int qr_rec_load(struct wort_op *op, const struct qr_page *page, u32 place,
		struct qr_rec *rec);
int qr_rec_at(struct wort_op *op, const struct qr_page *page, u32 place,
	      struct qr_rec *rec);
int qr_key_verify(struct wort_op *op, const struct qr_page *page,
		  const struct wort_key *key);
int qr_rec_cmp(const struct qr_page *page, const struct qr_rec *rec,
	       const struct wort_key *key);
int qr_padding_verify(struct wort_op *op, const struct qr_page *page,
		      const struct qr_rec *rec);
int qr_recs_cmp(const struct qr_page *page, const struct qr_rec *a,
		const struct qr_rec *b);
int qr_rec_key(struct wort_op *op, const struct qr_page *page,
	       const struct qr_rec *rec, u8 *buf);
int qr_sep_read(struct wort_op *op, const struct qr_page *page, u32 place,
		u8 *buf);
int qr_sep_key(struct wort_op *op, const struct qr_page *page, u32 place,
	       struct wort_bound *bound);
int qr_end_find(struct wort_op *op, const struct qr_page *page,
		struct qr_end *end);
int qr_leaf_find(struct wort_op *op, const struct qr_page *page,
		 const struct wort_key *key, struct qr_rec *rec,
		 struct qr_end *end);
int qr_inner_find(struct wort_op *op, const struct qr_page *page,
		  enum qr_goal goal, const struct wort_key *key,
		  struct qr_way *way, struct wort_bound *upper);
int qr_order_all(struct wort_op *op, const struct qr_page *page,
		 const struct wort_bound *upper, struct qr_order *order);
int qr_order(struct wort_op *op, const struct qr_page *page,
	     const struct wort_bound *upper, struct qr_order *order);
bool qr_rec_write(struct wort_op *op, const struct qr_page *page, u32 place,
		  const u8 *rest, u32 len, u64 head, u64 val, u64 *full_head);
void qr_read_to(struct wort_op *op, const struct qr_page *page, u32 place);
void qr_tail_clean(struct wort_op *op, const struct qr_page *page, u32 top,
		   u32 words);
void qr_page_create(struct wort_op *op, u64 off, u32 size, u32 level,
		    const struct wort_key *anchor, u32 prefix_len,
		    struct qr_page *page);
u32 qr_page_add(struct wort_op *op, const struct qr_page *page, u32 place,
		const struct wort_key *key, u64 head, u64 val);
void qr_page_finish(struct wort_op *op, const struct qr_page *page, u32 top);

/* quire.c: descents, and what operations do in a leaf */
int qr_descend(struct wort_op *op, const struct wort_tree *tree, u32 level,
	       enum qr_goal goal, const struct wort_key *key,
	       struct qr_pos *pos, struct wort_bound *upper);
int qr_descend_media(struct wort_op *op, const struct wort_tree *tree,
		     enum qr_goal goal, const struct wort_key *key,
		     struct qr_pos *pos, struct wort_bound *upper);
int qr_put_plan(struct wort_op *op, const struct wort_tree *tree,
		struct wort_put *put, struct qr_pos *pos);
int qr_remove_plan(struct wort_op *op, const struct wort_tree *tree,
		   const struct wort_del *del, struct qr_pos *pos);
int qr_value_reserve(struct wort_op *op, const struct wort_value *value);
struct qr_value qr_value_create(struct wort_op *op,
				const struct wort_value *value);
void qr_value_free(struct wort_op *op, const struct qr_rec *rec);
int qr_rec_renew(struct wort_op *op, const struct qr_page *page,
		 const struct wort_key *key, bool exact, struct qr_rec *rec,
		 struct qr_end *end);
bool qr_has_at_most(struct wort_op *op, const struct qr_page *page, u32 max);
bool qr_has_few(struct wort_op *op, const struct qr_page *page, u32 nr_dead);
void qr_append(struct wort_op *op, const struct wort_tree *tree,
	       struct qr_page *page, u32 place, const u8 *rest, u32 len,
	       u64 head, u64 val);
void qr_append_launch(struct wort_op *op, const struct qr_page *page, u32 place,
		      const u8 *rest, u32 len, u64 head, u64 val);
void qr_commit(struct wort_op *op, const struct qr_page *page, u32 place,
	       u64 val);
void qr_rec_kill(struct wort_op *op, const struct qr_page *page,
		 const struct qr_rec *rec);
int qr_value_read(struct wort_op *op, const struct qr_page *page,
		  const struct qr_rec *rec, struct wort_buf *buf);

/* quire_split.c: pages come and go */
bool qr_has_room(const struct qr_page *page, const struct qr_end *end,
		 u32 words);
int qr_make_room(struct wort_op *op, struct wort_tree *tree,
		 const struct wort_key *key);
void qr_need(const struct wort_tree *tree, u32 key_len, u32 value_len,
	     struct wort_need *need);
u32 qr_page_size(const struct wort_op *op, const struct wort_tree *tree,
		 u32 level, bool alone, u32 bytes, u32 nr, u32 more);
int qr_page_reserve(struct wort_op *op, const struct wort_tree *tree, u32 level,
		    u32 least, u32 *size);
u32 qr_page_max(const struct wort_tree *tree, u32 level);
u32 qr_recs_max(u32 level);
bool qr_has_grown(struct wort_op *op, const struct qr_page *page, u32 top);
int qr_page_shared(struct wort_op *op, const struct qr_page *page);
int qr_end_verify(struct wort_op *op, const struct qr_page *page,
		  const struct qr_end *end);
int qr_records_copy(struct wort_op *op, const struct qr_page *from,
		    const struct qr_order *order, u32 first, u32 end,
		    const struct qr_page *page, u32 place, u8 *buf);
void qr_root_change(struct wort_op *op, const struct wort_tree *tree, u64 off);
void qr_sep_change(struct wort_op *op, const struct wort_tree *tree,
		   struct qr_page *page, u32 place, u32 word, u64 val);
void qr_page_free(struct wort_op *op, const struct wort_tree *tree,
		  const struct qr_page *page);

/* quire_merge.c: pages are merged, or given up */
void qr_tidy(struct wort_op *op, struct wort_tree *tree,
	     const struct wort_key *key);
int qr_drop(struct wort_cursor *cur);

/* quire_batch.c */
extern const struct wort_batch_ops qr_batch_ops;

/* quire_fast.c: changes and lookups by the shadows alone */
extern const struct wort_fast_ops qr_fast_ops;
wort_prefetch_fn qr_prefetch_keys;

/* quire_cursor.c: cursors and the walk */
int qr_seek(struct wort_cursor *cur, const struct wort_key *key);
int qr_next(struct wort_cursor *cur);
int qr_value(struct wort_cursor *cur, struct wort_buf *buf);
int qr_walk(struct wort_cursor *cur, const struct wort_key *pos,
	    struct wort_visitor *visitor);
int qr_check(struct wort_cursor *cur);

#endif /* _WORT_QUIRE_H */
