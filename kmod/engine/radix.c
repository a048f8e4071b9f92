// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "radix.h"

/**
 * rdx_report_link() - Report a word that is no link
 * @op: The operation that has met it.
 * @link: The word.
 *
 * Reports are kept out of the way of descents.
 *
 * Context: Any context.
 * Return: -EUCLEAN.
 */
noinline int rdx_report_link(struct wort_op *op, u64 link)
{
	return wort_corrupt(op, wort_link_off(link),
			    "link %#llx is to no node or leaf",
			    (unsigned long long)link);
}

/**
 * rdx_report_node() - Report a link to a node that cannot be there
 * @op: The operation that has met it.
 * @link: The link.
 * @start: Digits consumed on the path to it.
 * @err: What wort_region_verify() has said of the node; 0: the place is wrong.
 *
 * Context: Any context.
 * Return: -EUCLEAN; -EIO if @err is.
 */
noinline int rdx_report_node(struct wort_op *op, u64 link, u32 start, int err)
{
	if (err == -EUCLEAN)
		return wort_corrupt(op, wort_link_off(link),
				    "node outside the pool, or not at its lines");
	return err ?: wort_corrupt(op, wort_link_off(link),
				   "place %u is before %u or beyond all keys",
				   wort_link_place(link), start);
}

/**
 * wort_digits_before_far() - As wort_digits_before(), beyond the first word of a key
 * @key: The key.
 * @place: More than WORT_KEY_WORD_DIGITS, less than WORT_KEY_DIGITS.
 *
 * Context: Any context.
 * Return: The sixteen digits before @place.
 */
noinline u64 wort_digits_before_far(const struct wort_key *key, u32 place)
{
	u32 nr = place % WORT_KEY_WORD_DIGITS;
	u64 digits = wort_key_word(key, place - WORT_KEY_WORD_DIGITS);

	return nr ? digits << 4 * nr |
		    wort_key_word(key, place) >> (64 - 4 * nr) : digits;
}
