// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The fast paths of an adaptive radix tree: lookups without an operation, and
 * prefetching.  See wort_fast.c for what a fast path may do.
 */
#include <linux/kernel.h>

#include "art.h"

/* Classes of costs. */
#define ART_FOUND	0	/* a lookup has found a record */

/*
 * @len: the length of the key, which the compiler may know as a constant.
 *
 * A miss rests on every slot of the path, a hit on the record and what made it
 * reachable.  The step asks for all of them, except for slots above the node
 * that the table of the top led to, which are durable.
 */
static __always_inline int fast_lookup(const struct wort_tree *tree,
				       const struct wort_key *key, const u32 len,
				       struct wort_buf *buf,
				       struct wort_index_stats __percpu *stats)
{
	const bool one_word = len == sizeof(u64);
	const u32 digits = one_word ? WORT_KEY_WORD_DIGITS : WORT_KEY_DIGITS;
	struct rdx_descent d __uninitialized;
	u64 word, rec;
	int lines = 0;

	word = one_word ? wort_bytes_be64(key->data) : wort_key_word(key, 0);
	rdx_descent_init(&d, NULL, tree, wort_open_top(tree), key, word,
			 tree->in_flight);
	if (unlikely(rdx_descent_begin(&d) || art_descend(&d, digits, false)))
		return -EAGAIN;
	if (likely(wort_link_is_record(d.pos.link))) {
		rec = wort_link_record(d.pos.link);
		if (unlikely(rec >= d.plain))
			return -EAGAIN;
		lines = wort_rec_look(d.base + rec, key, len, word, buf);
		if (likely(lines >= 0)) {
			if (unlikely(wort_pm_in_flight(d.in_flight, rec)))
				return -EAGAIN;
			wort_fast_found(stats, ART_FOUND, d.nr_nodes, digits, lines);
			return 0;
		}
		lines = lines == -ENOENT ? 0 :
			wort_rec_look_other(tree->region, rec, key);
		if (lines < 0)
			return -EAGAIN;
	} else if (d.pos.link) {
		return -EAGAIN;
	}
	wort_fast_looked(stats, d.nr_nodes, !!d.pos.link, lines);
	return -ENOENT;
}

static int art_fast_lookup(const struct wort_tree *tree, const struct wort_key *key,
			   struct wort_buf *buf, struct wort_index_stats __percpu *stats)
{
	if (likely(key->len == sizeof(u64)))
		return fast_lookup(tree, key, sizeof(u64), buf, stats);
	return wort_key_valid(key) ? fast_lookup(tree, key, key->len, buf, stats) :
				     -EAGAIN;
}

static int art_fast_put(struct wort_tree *tree, struct wort_put *put,
			struct wort_index_stats __percpu *stats)
{
	return -EAGAIN;
}

static int art_fast_remove(struct wort_tree *tree, const struct wort_del *del,
			   struct wort_index_stats __percpu *stats)
{
	return -EAGAIN;
}

const struct wort_fast_ops art_fast_ops = {
	.lookup = art_fast_lookup,
	.put = art_fast_put,
	.remove = art_fast_remove,
	.class = {
		[ART_FOUND] = { WORT_OP_LOOKUP, .leaves = 1 },
	},
};
