/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * QUIRE: shadows.
 *
 * The shadow of a page is in DRAM and says where in the page a key is, so that
 * a lookup need not read all records:
 *
 *	of a leaf	the place of each record, by a tag: some bits of the hash of
 *			its key
 *	of an inner	the children that count, in the order of their separators,
 *	page		with the first bytes of these
 *
 * A tree has a table of shadows by the offsets of their pages.  Whoever splits
 * or rebuilds a page makes the shadows of what takes its place.  Whoever opens
 * a page that has none makes one, if the lock of the page is free.  A shadow
 * may be dropped at any time.  Where there is none, operations read the page.
 *
 * A writer locks the page that it changes, and changes its shadow as well,
 * unless the shadow has left the table.  So a shadow in the table is complete.
 * The shadow of a parent may still lead to one that has left; therefore a
 * reader checks that, after it has searched a shadow.
 *
 * Leaf.  A tag is stored before the head of its record.  A reader that finds no
 * tag answers as of before the record came; of one that it finds, the head on
 * media decides.  Records stay where they are, so no entry is used again, and
 * readers need no sequence count.
 *
 * Inner page.  It follows when the word that has changed is durable, so an
 * answer may rest on it.  From before the word is stored until it has followed
 * the sequence count is odd, and readers read the page.
 *
 * A page that has gone from the tree has no shadow in the table before its
 * memory can be used again: its removal ticks under its lock, so that nobody
 * makes one after it.  Shadows that have gone are freed after a grace period.
 */
#ifndef _WORT_QUIRE_SHADOW_H
#define _WORT_QUIRE_SHADOW_H

#include <linux/bitops.h>
#include <linux/spinlock.h>

#include "quire.h"

#define QR_TAGS			8	/* of a group */
#define QR_GROUPS		(QR_LEAF_RECS / QR_TAGS)
#define QR_SHADOW_WORDS		256	/* of a leaf, so that a place is a byte */
#define QR_LEAD_MAX		40	/* a multiple of eight */
#define QR_STEP_BITS		8
#define QR_STEP_FEW		4	/* children of a step, of most */
#define QR_STEPS		BIT(QR_STEP_BITS)
/* Shadows can be done without: the last memory is left to those that need it. */
#define QR_SHADOW_GFP		(GFP_NOWAIT | __GFP_NOWARN | __GFP_NOMEMALLOC)

/**
 * struct qr_shadow - What DRAM keeps of a page
 * @page: the page, which was verified
 * @next_gone: in the list of those that have gone
 * @gone: it is not in the table any more; changed under the lock of the table
 * @nr_dead: so many records of a leaf were dead when it was made, or died since
 * @ordered: the order is that of so many records, the first ones; 0: there is
 *	none
 * @nr_order: so many of them were in it
 * @nr: its records, also such as do not count
 * @top: its top
 *
 * @nr, @nr_dead and @top are exact under the lock of the page.
 */
struct qr_shadow {
	struct qr_page page;
	struct qr_shadow *next_gone;
	bool gone;
	u8 nr_dead;
	u8 ordered;
	u8 nr_order;
	u16 nr;
	u16 top;
};

/**
 * struct qr_leaf_shadow - The shadow of a leaf
 * @s: what all have
 * @group: a record is in the group of its hash, or, where that is full, in one
 *	of the next.  Each is filled from its beginning.
 * @group.tags: eight tags, none of which is 0
 * @group.place: their places
 * @order: places of the last records of each key, in the order of keys
 */
struct qr_leaf_shadow {
	struct qr_shadow s;
	struct {
		u64 tags;
		u8 place[QR_TAGS];
	} group[QR_GROUPS];
	u8 order[QR_LEAF_RECS];
};

/**
 * struct qr_child - A child of an inner page
 * @to: the link to it, and in the highest bits the place of its separator
 * @shadow: its shadow, or NULL.  A change of the link clears it, and so does
 *	the background before it frees the shadow
 */
struct qr_child {
	u64 to;
	struct qr_shadow *shadow;
};

#define QR_TO_PLACE_SHIFT	48

/**
 * struct qr_inner_shadow - The shadow of an inner page
 * @s: what all have
 * @sequence: odd while a word of the page, or the entries, change
 * @nr: children
 * @lead_len: bytes behind the prefix that all separators but the first have in
 *	common
 * @lead: these
 * @low: the least head but that of the first child
 * @shift: from there to the greatest head are less than QR_STEPS steps of that
 *	many bits
 * @hint: the last child whose head lies before a step
 * @head: of the separator of each child the first eight bytes behind the lead,
 *	as a number; 0 of the first child, and U64_MAX behind the last one.
 *	They lie behind the children, and are QR_STEP_FEW more
 * @child: the children, in the order of keys
 */
struct qr_inner_shadow {
	struct qr_shadow s;
	u32 sequence;
	u16 nr;
	u16 lead_len;
	u8 lead[QR_LEAD_MAX];
	u64 low;
	u8 shift;
	u8 hint[QR_STEPS + 1];
	u64 *head;
	struct qr_child child[];
};

/**
 * struct qr_table - A table of shadows
 * @mask: the number of slots less one
 * @nr_used: slots in use; at least one is not
 * @slot: of a page the first one from that of its hash on which is its own, or
 *	not in use
 * @slot.off: the offset of the page, which stays; 0: the slot is not in use
 * @slot.shadow: its shadow, or NULL
 */
struct qr_table {
	u32 mask;
	u32 nr_used;
	struct {
		u64 off;
		struct qr_shadow *shadow;
	} slot[];
};

/**
 * struct qr_shadows - The shadows of a tree: wort_tree.priv
 * @lock: held while the table changes; taken last
 * @table: the table
 * @nr: shadows in it
 * @bytes: bytes of them
 * @bytes_gone: bytes of those that have gone
 * @most: at most so many bytes of both
 * @hand: where in the table the next one goes, if memory is needed
 * @gone: shadows that have gone
 * @nr_gone: how many
 * @bytes_due: with so many bytes the background is asked to tend the tree,
 * @nr_gone_due: or with so many that have gone, or when half of the slots are
 *	in use
 * @asked: it was asked
 */
struct qr_shadows {
	spinlock_t lock;		/* after those of nodes */
	struct qr_table *table;
	u32 nr;
	size_t bytes;
	size_t bytes_gone;
	size_t most;
	u32 hand;
	struct qr_shadow *gone;
	u32 nr_gone;
	size_t bytes_due;
	u32 nr_gone_due;
	bool asked;
};

static inline struct qr_shadows *qr_shadows_of(const struct wort_tree *tree)
{
	/* pairs with the release in shadows_open() */
	return smp_load_acquire(&tree->priv);
}

static inline struct qr_leaf_shadow *
qr_leaf_shadow(const struct qr_shadow *shadow)
{
	return container_of(shadow, struct qr_leaf_shadow, s);
}

static inline struct qr_inner_shadow *
qr_inner_shadow(const struct qr_shadow *shadow)
{
	return container_of(shadow, struct qr_inner_shadow, s);
}

/*
 * Has a shadow left the table?  Then writers do not change it any more, and a reader that
 * came to it later than such a writer must not answer from it.
 */
static inline bool qr_shadow_gone(const struct qr_shadow *shadow)
{
	return unlikely(READ_ONCE(shadow->gone));
}

static inline u64 qr_child_link(const struct qr_child *child)
{
	return READ_ONCE(child->to) & GENMASK_ULL(QR_TO_PLACE_SHIFT - 1, 0);
}

static inline u32 qr_child_place(const struct qr_child *child)
{
	return READ_ONCE(child->to) >> QR_TO_PLACE_SHIFT;
}

/* A record of a leaf, which is locked, dies. */
static inline void qr_shadow_killed(const struct qr_page *page)
{
	if (page->shadow)
		WRITE_ONCE(page->shadow->nr_dead, page->shadow->nr_dead + 1);
}

/* Has a leaf few records, without those that are dead and so many others? */
static inline bool qr_shadow_few(const struct qr_shadow *shadow, u32 nr_dead)
{
	return READ_ONCE(shadow->nr) <=
	       READ_ONCE(shadow->nr_dead) + nr_dead + QR_FEW_RECS;
}

/* Children for which the shadow of an inner page has room. */
static inline u32 qr_children_max(const struct qr_page *page)
{
	return min_t(u32, qr_recs_max(page->level), page->words / QR_REC_WORDS);
}

/*
 * The number of the slot of a page, or of one that it may use.  Pages are
 * lines.
 */
static inline u32 qr_slot_nr(const struct qr_table *table, u64 off)
{
	u32 nr = (off / WORT_LINE * 0x9e3779b97f4a7c15ULL >> 32) & table->mask;
	u64 has;

	while ((has = READ_ONCE(table->slot[nr].off)) && has != off)
		nr = (nr + 1) & table->mask;
	return nr;
}

/*
 * The shadow of the page at an offset, or NULL: perhaps it has just come.  A
 * slot that was not in use may have got the shadow of another page when it is
 * loaded.
 */
static inline struct qr_shadow *qr_shadow_find(const struct wort_tree *tree,
					       u64 off)
{
	const struct qr_shadows *shadows = tree ? qr_shadows_of(tree) : NULL;
	const struct qr_table *table;
	struct qr_shadow *shadow;

	if (!shadows)
		return NULL;
	/* pairs with the release in table_replace() */
	table = smp_load_acquire(&shadows->table);
	/* pairs with the release in slot_set() */
	shadow = smp_load_acquire(&table->slot[qr_slot_nr(table, off)].shadow);
	return shadow && shadow->page.off == off ? shadow : NULL;
}

static inline u32 qr_tag(u32 hash)
{
	return (hash / QR_GROUPS & 0xff) ?: 1;
}

/* The highest bit of each tag of a group that is this one. */
static inline u64 qr_tags_match(u64 tags, u32 tag)
{
	const u64 low = 0x7f7f7f7f7f7f7f7fULL;
	u64 differ = tags ^ tag * 0x0101010101010101ULL;

	return ~(((differ & low) + low) | differ | low);
}

/* Has a group no room, so that records of it may be in the next one? */
static inline bool qr_tags_full(u64 tags)
{
	return tags >> 56;
}

/* quire_shadow.c: the table */
void qr_shadow_make(struct wort_op *op, const struct wort_tree *tree,
		    struct qr_page *page);
void qr_shadow_current(const struct wort_tree *tree, struct qr_page *page);
void qr_shadows_drop(const struct wort_tree *tree);
void qr_shadow_drop(const struct wort_tree *tree, u64 off);
extern const struct wort_volatile_ops qr_volatile_ops;

/* quire_tags.c: shadows of leaves */
void qr_shadow_end(struct qr_shadow *shadow, u32 nr, u32 top);
int qr_tags_fill(struct wort_op *op, const struct qr_page *page);
bool qr_tagged_find(const struct qr_shadow *shadow, const struct wort_key *key,
		    u32 hash, struct qr_rec *rec);
void qr_tagged_prefetch(const struct qr_shadow *shadow,
			const struct wort_key *key);
void qr_shadow_append(const struct qr_page *page, u32 place, u32 words,
		      u64 head);
void qr_order_keep(struct wort_op *op, const struct qr_page *page,
		   const struct qr_order *order);
bool qr_order_take(const struct qr_page *page, struct qr_order *order);

/* quire_fast.c: descents by shadows */
int qr_shadows_descend(struct wort_op *op, const struct wort_tree *tree,
		       const struct wort_key *key, struct qr_page *page);

/* quire_children.c: shadows of inner pages */
int qr_children_fill(struct wort_op *op, const struct qr_page *page);
void qr_children_changing(const struct qr_page *page);
void qr_children_changed(struct wort_op *op, const struct wort_tree *tree,
			 const struct qr_page *page, u32 place);
int qr_child_find(const struct qr_shadow *shadow, enum qr_goal goal,
		  const struct wort_key *key, struct qr_way *way);
struct qr_shadow *qr_child_shadow(const struct qr_shadow *shadow,
				  const struct wort_key *key);
void qr_children_forget(const struct wort_tree *tree,
			const struct qr_page *page);
void qr_children_learn(const struct wort_tree *tree, struct qr_shadow *shadow);
void qr_child_learn(struct wort_op *op, const struct wort_tree *tree,
		    const struct qr_page *page, const struct qr_way *way,
		    struct qr_shadow *shadow);

#endif /* _WORT_QUIRE_SHADOW_H */
