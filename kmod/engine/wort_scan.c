// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Scans of WORT.
 *
 * Pairs are records with keys of one length, which fit into a word, and values
 * of one word.  The cursor goes over them without verifying each as a record.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "wort_cursor.h"

struct wrt_pairs {
	struct wort_cursor *cur;
	struct wort_pair *to;		/* where the next pair goes */
	const u32 *in_flight;
	void __pmem *base;
	u64 plain;			/* wort_region_plain() */
	u64 meta;			/* of leaves */
	__be64 mask;			/* of their keys */
	struct wort_pair last;		/* the cursor is at it */
	u64 off;			/* of its leaf */
};

static __always_inline bool pairs_begin(struct wrt_pairs *p,
					struct wort_cursor *cur,
					struct wort_pair *to)
{
	const struct wrt_cursor *wc = wrt_cursor(cur);
	struct wort_key key = wrt_cursor_key(cur);

	/* If the current record is a pair, the next one may be, too. */
	if (!wc->nr || key.len > sizeof(p->last.key) ||
	    wc->rec.kind != WORT_MEDIA_VALUE_WORD ||
	    wc->rec.value_len != sizeof(u64))
		return false;
	p->cur = cur;
	p->to = to;
	p->in_flight = cur->op->in_flight;
	p->base = wort_region_at(cur->op->region, 0);
	p->plain = wort_region_plain(cur->op->region);
	p->meta = wort_rec_word_meta(key.len);
	p->mask = cpu_to_be64(~0ULL << (64 - 8 * key.len));
	p->last.key = cpu_to_be64(wort_key_word(&key, 0));
	return p->plain;
}

/* The key of a record, if that is a pair. */
static __always_inline __be64 pair_key(const struct wrt_pairs *p, u64 off)
{
	struct wort_media_leaf __pmem *leaf = p->base + off;

	return cpu_to_be64(wort_pm_load_be64(leaf->key)) & p->mask;
}

/* Read a record, if that is a pair, and its value is not in flight. */
static __always_inline bool pair_read(const struct wrt_pairs *p, u64 off,
				      struct wort_pair *pair)
{
	struct wort_media_leaf __pmem *leaf = p->base + off;

	if (wort_pm_load(&leaf->meta) != p->meta)
		return false;
	pair->value = cpu_to_le64(wort_pm_load(&leaf->val));
	pair->key = pair_key(p, off);
	return !wort_pm_in_flight(p->in_flight, off);
}

/* Enter a node, if it is plain and its place in the word of a key. */
static struct wrt_level *pairs_enter(const struct wrt_pairs *p,
				     const struct wrt_level *above, u64 link)
{
	struct wrt_level *level;
	struct wrt_node node;

	/* Places grow and have an end, so there are levels enough. */
	if (wort_link_place(link) <= wort_link_place(above->link) ||
	    wort_link_place(link) >= WORT_KEY_WORD_DIGITS ||
	    wort_link_off(link) >= p->plain)
		return NULL;
	wrt_node_at(p->cur->op, link, &node);
	level = wrt_level_push(wrt_cursor(p->cur), &node);
	wrt_level_enter(p->cur, &node, level);
	return level;
}

/*
 * Enter nodes as long as one comes next.  The level where that is no longer so;
 * NULL if what comes is not for pairs.
 */
static __always_inline struct wrt_level *pairs_down(const struct wrt_pairs *p,
						    struct wrt_level *level)
{
	u64 at, link;

	while (level && level->ahead) {
		level->slot = wrt_slot_next(level->ahead, p->cur->reverse);
		at = wort_link_off(level->link) + level->slot * sizeof(link);
		link = wort_pm_load(p->base + at);
		if (!wrt_link_is_node(link))
			return level;
		if (wort_pm_in_flight(p->in_flight, wort_link_off(level->link)))
			return NULL;
		level->ahead &= ~BIT(level->slot);
		level = pairs_enter(p, level, link);
	}
	return NULL;
}

/* A leaf that a node refers to. */
struct wrt_leaf {
	u64 off;
	u64 slot;
};

/* Those ahead of a level, up to the first entry that is none. */
static __always_inline u32 leaves_ahead(const struct wrt_pairs *p,
					const struct wrt_level *level,
					bool reverse, struct wrt_leaf *leaf)
{
	const __le64 __pmem *slots = p->base + wort_link_off(level->link);
	u32 ahead = level->ahead, slot;
	struct wrt_leaf *end = leaf;
	u64 link;

	for (; ahead; ahead = wrt_slots_after(ahead, slot, reverse)) {
		slot = wrt_slot_next(ahead, reverse);
		link = wort_pm_load(&slots[slot]);
		if (!wort_link_is_record(link) ||
		    wort_link_record(link) >= p->plain)
			break;
		end->off = wort_link_record(link);
		end->slot = slot;
		end++;
	}
	return end - leaf;
}

static noinline u32 leaves_list(const struct wrt_pairs *p,
				const struct wrt_level *level,
				struct wrt_leaf *leaf)
{
	return p->cur->reverse ? leaves_ahead(p, level, true, leaf) :
				 leaves_ahead(p, level, false, leaf);
}

/*
 * Tell them, as long as they are pairs with these digits and that of the slot.
 * Returns how many.  The copy of @p tells the compiler that no pair overlaps
 * it.
 */
static noinline u32 pairs_tell(struct wrt_pairs *p, const struct wrt_leaf *leaf,
			       u32 nr, u32 shift, u64 before)
{
	const struct wrt_pairs from = *p;
	struct wort_pair pair, *to = from.to;
	u32 i;

	for (i = 0; i < nr; i++) {
		if (!pair_read(&from, leaf[i].off, &pair) ||
		    (be64_to_cpu(pair.key) >> shift ^ before) != leaf[i].slot)
			break;
		*to++ = pair;
	}
	return i;
}

/*
 * Has a key the digits of the levels from the first to the one before the last,
 * and parts from the last key at the first?
 */
static bool pair_fits(const struct wrt_pairs *p, const struct wrt_level *first,
		      const struct wrt_level *last, u64 key)
{
	if ((key ^ be64_to_cpu(p->last.key)) >>
	    (60 - 4 * wort_link_place(first->link)) >> 4)
		return false;
	for (; first < last; first++)
		if (wort_word_digit(key, wort_link_place(first->link)) !=
		    first->slot)
			return false;
	return true;
}

/*
 * Go on to leaves that a node refers to, as long as they are pairs.  Their keys
 * have the same digits before the place of the node, and that of the slot
 * there, since with wrt_next() in mind, this is where two neighbours part, and
 * how.  The first of them parts from the last key where the cursor went from
 * there into nodes.
 */
static __always_inline u32 pairs_across(struct wrt_pairs *p,
					const struct wrt_level *first,
					struct wrt_level *level, u32 max)
{
	u64 off = wort_link_off(level->link), before = be64_to_cpu(p->last.key);
	u32 shift = 60 - 4 * wort_link_place(level->link), nr;
	struct wrt_leaf leaf[WRT_SLOTS];

	nr = min(leaves_list(p, level, leaf), max);
	if (nr && level != first) {
		before = be64_to_cpu(pair_key(p, leaf[0].off));
		if (!pair_fits(p, first, level, before))
			return 0;
	}
	nr = pairs_tell(p, leaf, nr, shift, before >> shift & ~0xfULL);
	/* The slots of a node have one mark. */
	if (!nr || wort_pm_in_flight(p->in_flight, off))
		return 0;
	p->to += nr;
	p->last = p->to[-1];
	p->off = leaf[nr - 1].off;
	level->slot = leaf[nr - 1].slot;
	level->ahead &= wrt_slots_behind(level->slot, p->cur->reverse);
	return nr;
}

/*
 * Go on to pairs from a level on.  If they are none the cursor stays where it
 * was.
 */
static __always_inline u32 pairs_from(struct wrt_pairs *p,
				      struct wrt_level *first, u32 max)
{
	struct wrt_cursor *wc = wrt_cursor(p->cur);
	struct wrt_level before = *first, *level = pairs_down(p, first);
	u32 entered, more = 0;

	if (level)
		more = pairs_across(p, first, level, max);
	entered = wc->nr - (first + 1 - wc->level);
	if (more) {
		wort_count(p->cur->op, nodes, entered);
		wort_count(p->cur->op, more_loads, entered * (WRT_LINES - 1));
	} else {
		*first = before;
		wc->nr -= entered;
	}
	return more;
}

/*
 * The level on which the cursor goes on; NULL: pairs are not known to be there.
 */
static struct wrt_level *pairs_level(struct wrt_cursor *wc)
{
	struct wrt_level *level;

	for (; wc->nr; wc->nr--) {
		level = &wc->level[wc->nr - 1];
		if (!level->surveyed ||
		    wort_link_place(level->link) >= WORT_KEY_WORD_DIGITS)
			return NULL;
		if (level->ahead)
			return level;
	}
	return NULL;
}

/* The cursor is at the last pair. */
static void pairs_end(const struct wrt_pairs *p, u32 nr)
{
	struct wort_cursor *cur = p->cur;
	struct wrt_cursor *wc = wrt_cursor(cur);

	wort_count(cur->op, leaves, nr);
	memcpy(cur->key, &p->last.key, sizeof(p->last.key));
	cur->value_len = sizeof(u64);
	wc->rec = (struct wort_rec){
		.leaf = p->base + p->off,
		.off = p->off,
		.val = le64_to_cpu(p->last.value),
		.kind = WORT_MEDIA_VALUE_WORD,
		.key_len = cur->key_len,
		.value_len = sizeof(u64),
	};
	wc->fresh = wc->nr;
}

u32 wrt_next_many(struct wort_cursor *cur, struct wort_pair *pairs, u32 max)
{
	struct wrt_level *level;
	struct wrt_pairs p;
	u32 nr = 0, more;

	if (!pairs_begin(&p, cur, pairs))
		return 0;
	while (nr < max) {
		level = pairs_level(wrt_cursor(cur));
		if (!level)
			break;
		more = pairs_from(&p, level, max - nr);
		if (!more)
			break;
		cur->wanted -= more;
		nr += more;
	}
	if (nr)
		pairs_end(&p, nr);
	return nr;
}
