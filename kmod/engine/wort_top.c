// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The table of the top of a tree of WORT: its shape, and its entries.
 */
#include <linux/kernel.h>
#include <linux/sched.h>

#include "wort.h"

/*
 * The table of the top.  It begins at the digit by which the root selects.  For
 * the survey each link from a node before a place to one from there on is an
 * entry of the table that ends there: of all digits at once, since a place is
 * between them.
 */
struct wrt_survey {
	struct wort_op *op;
	u32 place;				/* of the root */
	u32 nr[WORT_TOP_DIGITS + 1];		/* entries of a table of so many digits */
};

static void survey_link(struct wrt_survey *survey, u32 above, u64 link)
{
	u32 digits, end;

	for (digits = 1; digits <= WORT_TOP_DIGITS; digits++) {
		end = survey->place + digits;
		survey->nr[digits] += above < end &&
				      end <= wort_link_place(link);
	}
}

/* Places grow, so it calls itself WORT_TOP_DIGITS times at most. */
static int survey_below(struct wrt_survey *survey, u64 link, u32 start)
{
	struct wrt_node node;
	u32 slot;
	int err;

	cond_resched();
	err = wrt_node_open(survey->op, link, start, &node);
	for (slot = 0; slot < WRT_SLOTS && !err; slot++) {
		link = wort_pm_load(&node.media->slot[slot]);
		if (!wrt_link_is_node(link))
			continue;
		survey_link(survey, node.place, link);
		if (wort_link_place(link) < survey->place + WORT_TOP_DIGITS)
			err = survey_below(survey, link, node.place + 1);
	}
	return err;
}

/*
 * Is a sixteenth of a table used?  Then it takes no more than the nodes it
 * leads to.
 */
static bool survey_fits(const struct wrt_survey *survey, size_t max_size,
			const struct wort_top_shape *shape)
{
	return survey->nr[shape->digits] >= BIT(4 * (shape->digits - 1)) &&
	       shape->place <= WORT_KEY_WORD_DIGITS &&
	       wort_top_size(shape) <= max_size;
}

static int wrt_top_shape(struct wort_op *op, struct wort_tree *tree,
			 size_t max_size, struct wort_top_shape *shape)
{
	struct wrt_survey survey = { .op = op };
	struct wort_rec rec;
	u64 link;
	int err;

	*shape = wort_top_none.shape;
	err = wort_root_load(op, wort_root_off(tree), &link);
	survey.place = wort_link_place(link);
	if (err || !wrt_link_is_node(link) ||
	    survey.place >= WORT_KEY_WORD_DIGITS)
		return err;
	err = survey_below(&survey, link, 0) ?:
	      wrt_any_record(op, link, 0, &rec);
	if (err)
		return err;
	shape->first = rdx_digits_before(wort_rec_digits(&rec), survey.place);
	for (shape->digits = WORT_TOP_DIGITS; shape->digits; shape->digits--) {
		shape->place = survey.place + shape->digits;
		if (survey_fits(&survey, max_size, shape))
			return 0;
	}
	*shape = wort_top_none.shape;
	return 0;
}

static int fill_below(struct wort_op *op, struct wort_tree *tree, u64 link,
		      u32 start, u64 word);

/* @word: the digits before the place of the node. */
static int fill_slot(struct wort_op *op, struct wort_tree *tree,
		     const struct wrt_node *node, u32 slot, u64 word)
{
	const __le64 __pmem *at = &node->media->slot[slot];
	u32 end = wort_tree_top(tree)->shape.place, start = node->place + 1;
	u64 link = wort_pm_load(at);
	struct wort_rec rec;
	int err = 0;

	if (!wrt_link_is_node(link))
		return 0;
	word = rdx_digits_before(word, node->place) |
	       (u64)slot << 4 * (WORT_KEY_WORD_DIGITS - start);
	if (wort_link_place(link) < end)
		return fill_below(op, tree, link, start, word);
	/* The node may skip some of the digits that the table has. */
	if (start < end) {
		err = wrt_any_record(op, link, start, &rec);
		word = err ? 0 : wort_rec_digits(&rec);
	}
	if (!err)
		wort_top_fill_entry(op, tree, wrt_slot_node(wort_pm_off(op, at)), at, link,
				    word);
	return err;
}

/* @word: the digits before @start.  Calls itself as survey_below() does. */
static int fill_below(struct wort_op *op, struct wort_tree *tree, u64 link,
		      u32 start, u64 word)
{
	struct wrt_node node;
	struct wort_rec rec;
	u32 slot;
	int err;

	cond_resched();
	err = wrt_node_open(op, link, start, &node);
	if (!err && node.place > start) {
		err = wrt_any_record(op, link, start, &rec);
		word = err ? 0 : wort_rec_digits(&rec);
	}
	for (slot = 0; slot < WRT_SLOTS && !err; slot++)
		err = fill_slot(op, tree, &node, slot, word);
	return err;
}

/*
 * What is below one slot of the root, if that is before the end of the table.
 */
static int wrt_top_fill(struct wort_op *op, struct wort_tree *tree, u32 part)
{
	struct wrt_node node;
	struct wort_rec rec;
	u64 link;
	int err;

	BUILD_BUG_ON(WORT_TOP_PARTS != WRT_SLOTS);
	err = wort_root_load(op, wort_root_off(tree), &link);
	if (err || !wrt_link_is_node(link) ||
	    wort_link_place(link) >= wort_tree_top(tree)->shape.place)
		return err;
	err = wrt_node_open(op, link, 0, &node) ?:
	      wrt_any_record(op, link, 0, &rec);
	return err ?: fill_slot(op, tree, &node, part, wort_rec_digits(&rec));
}

static const struct wort_top_ops top_ops = {
	.shape = wrt_top_shape,
	.fill = wrt_top_fill,
};

static void wrt_tend(struct wort_tree *tree, size_t room)
{
	wort_top_tend(tree, room, &top_ops);
}

const struct wort_volatile_ops wrt_volatile_ops = {
	.share = wort_skips_make,
	.unshare = wort_skips_free,
	.room_shift = WORT_ROOM_SHIFT,
	.open = wort_top_open,
	.close = wort_top_close,
	.tend = wrt_tend,
};
