// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The table of the top of an adaptive radix tree: its shape, and its entries.
 */
#include <linux/kernel.h>
#include <linux/sched.h>

#include "art.h"

/*
 * The table begins at the byte by which the root selects, and ends between two
 * bytes.  For the survey each link from a node before its end to one from there
 * on is an entry of it.
 */
struct art_survey {
	struct wort_op *op;
	u32 place;				/* of the root */
	u32 nr[WORT_TOP_DIGITS + 1];		/* entries of a table of so many digits */
};

static void survey_link(struct art_survey *survey, u32 above, u64 link)
{
	u32 digits, end;

	for (digits = ART_BYTE_DIGITS; digits <= WORT_TOP_DIGITS;
	     digits += ART_BYTE_DIGITS) {
		end = survey->place + digits;
		survey->nr[digits] += above < end &&
				      end <= wort_link_place(link);
	}
}

/*
 * Places grow, so it calls itself WORT_TOP_DIGITS / ART_BYTE_DIGITS times at
 * most.
 */
static int survey_below(struct art_survey *survey, u64 link, u32 start)
{
	struct art_entry entry = { .byte = -1 };
	struct art_node node;
	int err;

	cond_resched();
	err = art_node_open(survey->op, link, start, &node);
	while (!err && art_entry_next(&node, entry.byte + 1, false, &entry)) {
		if (!art_link_is_node(entry.link))
			continue;
		survey_link(survey, node.place, entry.link);
		if (wort_link_place(entry.link) <
		    survey->place + WORT_TOP_DIGITS)
			err = survey_below(survey, entry.link, art_end(link));
	}
	return err;
}

/*
 * Is a 32nd of a table used?  Then it takes 256 bytes for each node that it leads
 * to, whose records take more.
 */
static bool survey_fits(const struct art_survey *survey, size_t max_size,
			const struct wort_top_shape *shape)
{
	return survey->nr[shape->digits] >= BIT(4 * shape->digits) / 32 &&
	       shape->place <= WORT_KEY_WORD_DIGITS &&
	       wort_top_size(shape) <= max_size;
}

static int art_top_shape(struct wort_op *op, struct wort_tree *tree,
			 size_t max_size, struct wort_top_shape *shape)
{
	struct art_survey survey = { .op = op };
	struct wort_rec rec;
	u64 link;
	int err;

	*shape = wort_top_none.shape;
	err = wort_root_load(op, wort_root_off(tree), &link);
	survey.place = wort_link_place(link);
	if (err || !art_link_is_node(link) ||
	    survey.place >= WORT_KEY_WORD_DIGITS)
		return err;
	err = survey_below(&survey, link, 0) ?:
	      art_any_record(op, link, 0, &rec);
	if (err)
		return err;
	shape->first = rdx_digits_before(wort_rec_digits(&rec), survey.place);
	for (shape->digits = WORT_TOP_DIGITS; shape->digits;
	     shape->digits -= ART_BYTE_DIGITS) {
		shape->place = survey.place + shape->digits;
		if (survey_fits(&survey, max_size, shape))
			return 0;
	}
	*shape = wort_top_none.shape;
	return 0;
}

/* art_slot() finds the slot: a map only gains bytes, and @entry was read from it. */
static void fill_entry(struct wort_op *op, struct wort_tree *tree,
		       const struct art_node *node,
		       const struct art_entry *entry, u64 word)
{
	void __pmem *base = wort_region_at(op->region, 0);

	wort_top_fill_entry(op, tree, wort_link_off(node->link),
			    base + art_slot(base, node->link, entry->byte),
			    entry->link, word);
}

static int fill_below(struct wort_op *op, struct wort_tree *tree, u64 link,
		      u32 start, u64 word);

/* @word: the digits before the place of the node. */
static int fill_slot(struct wort_op *op, struct wort_tree *tree,
		     const struct art_node *node, const struct art_entry *entry,
		     u64 word)
{
	u32 end = wort_tree_top(tree)->shape.place, start = art_end(node->link);
	struct wort_rec rec;
	int err = 0;

	if (!art_link_is_node(entry->link))
		return 0;
	word = rdx_digits_before(word, node->place) |
	       (u64)entry->byte << 4 * (WORT_KEY_WORD_DIGITS - start);
	if (wort_link_place(entry->link) < end)
		return fill_below(op, tree, entry->link, start, word);
	/* The node may skip some of the digits that the table has. */
	if (start < end) {
		err = art_any_record(op, entry->link, start, &rec);
		word = err ? 0 : wort_rec_digits(&rec);
	}
	if (!err)
		fill_entry(op, tree, node, entry, word);
	return err;
}

/* @word: the digits before @start.  Calls itself as survey_below() does. */
static int fill_below(struct wort_op *op, struct wort_tree *tree, u64 link,
		      u32 start, u64 word)
{
	struct art_entry entry = { .byte = -1 };
	struct art_node node;
	struct wort_rec rec;
	int err;

	cond_resched();
	err = art_node_open(op, link, start, &node);
	if (!err && node.place > start) {
		err = art_any_record(op, link, start, &rec);
		word = err ? 0 : wort_rec_digits(&rec);
	}
	while (!err && art_entry_next(&node, entry.byte + 1, false, &entry))
		err = fill_slot(op, tree, &node, &entry, word);
	return err;
}

/*
 * What is below some bytes of the root, if that is before the end of the table.
 */
static int art_top_fill(struct wort_op *op, struct wort_tree *tree, u32 part)
{
	const u32 bytes = ART_BYTES / WORT_TOP_PARTS;
	struct art_entry entry = { .byte = part * bytes - 1 };
	struct art_node node;
	struct wort_rec rec;
	u64 link;
	int err;

	err = wort_root_load(op, wort_root_off(tree), &link);
	if (err || !art_link_is_node(link) ||
	    wort_link_place(link) >= wort_tree_top(tree)->shape.place)
		return err;
	err = art_node_open(op, link, 0, &node) ?:
	      art_any_record(op, link, 0, &rec);
	while (!err && art_entry_next(&node, entry.byte + 1, false, &entry) &&
	       entry.byte < (part + 1) * bytes)
		err = fill_slot(op, tree, &node, &entry, wort_rec_digits(&rec));
	return err;
}

static const struct wort_top_ops top_ops = {
	.shape = art_top_shape,
	.fill = art_top_fill,
};

static void art_tend(struct wort_tree *tree, size_t room)
{
	wort_top_tend(tree, room, &top_ops);
}

const struct wort_volatile_ops art_volatile_ops = {
	.share = wort_skips_make,
	.unshare = wort_skips_free,
	.room_shift = WORT_ROOM_SHIFT,
	.open = wort_top_open,
	.close = wort_top_close,
	.tend = art_tend,
};
