/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Skipped digits, kept in DRAM.
 *
 * A node of a radix tree with path compression skips digits that all keys below
 * it have in common; the keys tell them, not the node.  Who puts a key into an
 * empty slot behind such a node would have to read one of them.  This table of
 * all trees of a pool, which may forget anything, spares that.
 *
 * The digits before the branching place of a node are the same for as long as
 * the node lives, whatever changes above it.  An entry outlives the node:  so
 * each node that is made sets the entry that it may find before it is published,
 * or clears it, if it skips nothing, before its slot is unlocked.  A writer that
 * still knows the node which lay there before cannot set it again: he has begun
 * before it was given back, and memory is used again only after a grace period.
 */
#ifndef _WORT_SKIPS_H
#define _WORT_SKIPS_H

#include <linux/hash.h>
#include <linux/log2.h>
#include <linux/types.h>
#include <linux/wort_format.h>
#include <asm/barrier.h>

#include "../core/key.h"

#define WORT_SKIPS_DIGITS	WORT_KEY_WORD_DIGITS	/* that an entry holds */

/**
 * struct wort_skip - What is known of a node
 * @link: the link to it with its place; 0: nothing; WORT_SKIP_BUSY: is written
 * @digits: the sixteen digits before its place, or all with zeroes before them
 */
struct wort_skip {
	u64 link;
	u64 digits;
};

#define WORT_SKIP_BUSY	1

/**
 * struct wort_skips - What is known of the nodes of a pool
 * @bits: log2 of the number of entries
 * @entry: the entries, WORT_SKIPS_RUN of neighbours beside each other
 */
struct wort_skips {
	u32 bits;
	struct wort_skip *entry;
};

#define WORT_SKIPS_NODE		128	/* bytes, of the smallest there are */
#define WORT_SKIPS_RUN		64U

/*
 * Nodes that are made one after the other lie side by side, so their entries do, and are
 * in the cache; runs of them are spread by a hash.
 */
static __always_inline struct wort_skip *
wort_skip_of(const struct wort_skips *skips, u64 link)
{
	u64 node = (link & WORT_MEDIA_LINK_OFF_MASK) / WORT_SKIPS_NODE;
	u64 run = hash_64(node / WORT_SKIPS_RUN,
			  skips->bits - ilog2(WORT_SKIPS_RUN));

	return &skips->entry[run * WORT_SKIPS_RUN + node % WORT_SKIPS_RUN];
}

int wort_skips_init(struct wort_skips *skips, u64 pool_size);
void wort_skips_destroy(struct wort_skips *skips);
void wort_skips_learn(struct wort_skips *skips, u64 link, u64 digits);
void wort_skips_forget(struct wort_skips *skips, u64 link);

/**
 * wort_skips_match() - Are these the digits that a node skips?
 * @skips: The table.
 * @link: The link to the node.
 * @digits: The digits of a key before the place of the node.
 * @nr: How many of them, the last ones, it skips; at least 1.
 *
 * Context: Any context, in an RCU section begun before the link was loaded.
 * Return: True if they are; false if not, or if it is not known.
 */
static inline bool wort_skips_match(const struct wort_skips *skips, u64 link,
				    u64 digits, u32 nr)
{
	const struct wort_skip *entry = wort_skip_of(skips, link);
	u64 known;

	/* pairs with the second release in wort_skips_learn() */
	if (smp_load_acquire(&entry->link) != link || nr > WORT_SKIPS_DIGITS)
		return false;
	/*
	 * They may be of another node.  Then the link that is loaded next is
	 * not the one looked for: this pairs with the first release there.
	 */
	known = smp_load_acquire(&entry->digits);
	return READ_ONCE(entry->link) == link &&
	       !((known ^ digits) << 4 * (WORT_SKIPS_DIGITS - nr));
}

#endif /* _WORT_SKIPS_H */
