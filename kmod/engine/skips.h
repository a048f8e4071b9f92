/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Skipped digits, kept in DRAM.
 *
 * A node of a radix tree with path compression skips digits that all keys below
 * it have in common.  They are in these keys and not in the node, so an insert
 * into an empty slot below skipped digits would have to read one of the keys.
 * This cache, which all trees of an engine in a pool share, avoids that.  An
 * entry can be lost at any time.
 *
 * The digits before the branching place of a node stay the same as long as the
 * node lives, whatever changes above it.  An entry can outlive its node.
 * Therefore each new node sets its entry before it is published or, if it skips
 * nothing, clears the entry before its slot is unlocked.  A writer that still
 * has the former node at that address cannot set the entry again: it began
 * before that node was given back, and memory is reused only after a grace
 * period.
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
 * struct wort_skip - The digits that a node skips
 * @link: the link to the node with its place, and in the bits of its label,
 *	which are 0 in it, how often the entry was written, modulo 256: a
 *	reader that rests while it is written 256 times, or so often again,
 *	and last for the same node, is not told; without these 0: no node;
 *	WORT_SKIP_BUSY: the entry is being written
 * @digits: the sixteen digits before its place, or all with zeroes before them
 */
struct wort_skip {
	u64 link;
	u64 digits;
};

#define WORT_SKIP_BUSY	1
#define WORT_SKIP_WRITTEN \
	(WORT_MEDIA_LINK_LABEL_MASK & -WORT_MEDIA_LINK_LABEL_MASK)

/**
 * struct wort_skips - The digits that nodes of a pool skip
 * @bits: log2 of the number of entries, more than that of WORT_SKIPS_RUN
 * @entry: the entries; those of a run of WORT_SKIPS_RUN nodes are adjacent
 */
struct wort_skips {
	u32 bits;
	struct wort_skip *entry;
};

extern struct wort_skips wort_skips_none;

#define WORT_SKIPS_NODE		128	/* bytes */
#define WORT_SKIPS_RUN		64U

/*
 * Nodes that are made in succession are adjacent.  Adjacent nodes have adjacent
 * entries, so that these are in the cache; a hash spreads runs of entries.
 * Two nodes of 64 bytes have one entry between them: with one for each, a run
 * covers half as many bytes, and fewer of the entries are found.
 */
static __always_inline struct wort_skip *
wort_skip_of(const struct wort_skips *skips, u64 link)
{
	u64 node = (link & WORT_MEDIA_LINK_OFF_MASK) / WORT_SKIPS_NODE;
	u64 run = hash_64(node / WORT_SKIPS_RUN,
			  skips->bits - ilog2(WORT_SKIPS_RUN));

	return &skips->entry[run * WORT_SKIPS_RUN + node % WORT_SKIPS_RUN];
}

void *wort_skips_make(u64 pool_size);
void wort_skips_free(void *skips);
void wort_skips_learn(struct wort_skips *skips, u64 link, u64 digits);
void wort_skips_forget(struct wort_skips *skips, u64 link);
void wort_skips_forget_all(struct wort_skips *skips);

/**
 * wort_skips_match() - Does a node skip these digits?
 * @skips: The table.
 * @link: The link to the node.
 * @digits: The digits of a key before the place of the node.
 * @nr: How many of them, the last ones, the node skips; at least 1.
 *
 * Context: Any context, in an RCU section begun before the link was loaded.
 * Return: True if it does; false if not, or if the node has no entry.
 */
static inline bool wort_skips_match(const struct wort_skips *skips, u64 link,
				    u64 digits, u32 nr)
{
	const struct wort_skip *entry = wort_skip_of(skips, link);
	/* pairs with the second release in wort_skips_learn() */
	u64 found = smp_load_acquire(&entry->link), known;

	if ((found & ~WORT_MEDIA_LINK_LABEL_MASK) != link ||
	    nr > WORT_SKIPS_DIGITS)
		return false;
	/*
	 * The digits may be those of another node.  Then the word that is
	 * loaded next is another one, too, also if the entry has this node
	 * again: this pairs with the first release there.
	 */
	known = smp_load_acquire(&entry->digits);
	return READ_ONCE(entry->link) == found &&
	       !((known ^ digits) << 4 * (WORT_SKIPS_DIGITS - nr));
}

#endif /* _WORT_SKIPS_H */
