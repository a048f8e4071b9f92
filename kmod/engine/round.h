/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A round of a batch, as engines see it.
 *
 * The changes of a round are prepared in order, wait for one fence, and are
 * committed in order.  The round ends at the first that cannot be committed:
 * those behind it are prepared again.  A change that is prepared may depend on
 * one that waits, whose word is not stored yet.  So the engine asks for it.
 *
 * An engine whose change rests on nothing but its own word and nodes asks
 * wort_round_depends(), and gives up with -EAGAIN: the round ends before the
 * change.
 *
 * An engine that commits several records by one word chains changes.  It asks
 * for the last change of the word with wort_round_find(), and prepares for what
 * the word will be after that one.  Then there are two ways:
 *
 * - No other change waits behind that one: the new change joins it, with
 *   wort_round_join().  The commit of the first change of a chain stores the
 *   word once for all.  If it fails none of them is committed.
 * - Otherwise the new change begins another chain, and the word is stored
 *   twice.  If both were committed by one store, and a change between them
 *   could not be committed, operations would take effect out of order.
 */
#ifndef _WORT_ROUND_H
#define _WORT_ROUND_H

#include <linux/bitmap.h>
#include <linux/hash.h>

#include "../core/lock.h"
#include "engine.h"

#define WORT_ROUND_MAX	WORT_PREFETCH_MAX
#define WORT_WORDS_BITS	10

/**
 * struct wort_words - A list of a few words in which words are looked for
 * @nr: how many
 * @hashes: a bit for the hash of each
 * @word: the words
 */
struct wort_words {
	u32 nr;
	DECLARE_BITMAP(hashes, 1 << WORT_WORDS_BITS);
	u64 word[WORT_ROUND_MAX];
};

/**
 * struct wort_round - The changes of a round that wait for their commit
 * @slots: wort_change.slot of each, in order
 * @change: the changes
 * @claimed: locks of the nodes that they claim
 * @nr_launched: words that commits have noted with wort_round_note_launch()
 * @launched: the marks of these
 */
struct wort_round {
	struct wort_words slots;
	struct wort_change *change[WORT_ROUND_MAX];
	DECLARE_BITMAP(claimed, WORT_NR_LOCKS);
	u32 nr_launched;
	u32 launched[WORT_ROUND_MAX];
};

/* The place of the last word that is equal, from 1 on; 0: there is none. */
static inline u32 wort_words_find(const struct wort_words *words, u64 word)
{
	u32 i;

	if (likely(!test_bit(hash_64(word, WORT_WORDS_BITS), words->hashes)))
		return 0;
	for (i = words->nr; i && words->word[i - 1] != word; i--)
		;
	return i;
}

static inline void wort_words_add(struct wort_words *words, u64 word)
{
	__set_bit(hash_64(word, WORT_WORDS_BITS), words->hashes);
	words->word[words->nr++] = word;
}

static inline void wort_words_empty(struct wort_words *words)
{
	words->nr = 0;
	bitmap_zero(words->hashes, 1 << WORT_WORDS_BITS);
}

/**
 * wort_round_find() - Find the last waiting change of a word
 * @round: The round.
 * @slot: Offset of the word.
 *
 * Context: As wort_batch_ops.prepare.
 * Return: The change, or NULL.
 */
static inline struct wort_change *
wort_round_find(const struct wort_round *round, u64 slot)
{
	u32 place = wort_words_find(&round->slots, slot);

	return place ? round->change[place - 1] : NULL;
}

/**
 * wort_round_claimed() - Does a waiting change claim a node of another one?
 * @round: The round.
 * @change: A change that is prepared.
 *
 * Several nodes share a lock, so this may be true without need.
 *
 * Context: As wort_batch_ops.prepare.
 * Return: True if it does: the new change could not be committed after it.
 */
static inline bool wort_round_claimed(const struct wort_round *round,
				      const struct wort_change *change)
{
	u32 i;

	for (i = 0; i < WORT_CHANGE_NODES; i++)
		if (change->node[i] &&
		    test_bit(wort_lock_nr(change->node[i]), round->claimed))
			return true;
	return false;
}

/**
 * wort_round_depends() - Does a change depend on a waiting one?
 * @round: The round.
 * @change: A change that is prepared, of an engine that chains none.
 *
 * Context: As wort_batch_ops.prepare.
 * Return: True if it does: it must be prepared again after that one is
 * committed.
 */
static inline bool wort_round_depends(const struct wort_round *round,
				      const struct wort_change *change)
{
	return wort_round_claimed(round, change) ||
	       wort_words_find(&round->slots, change->slot);
}

/**
 * wort_round_is_last() - Does no change wait behind this one?
 * @round: The round.
 * @change: A change that waits.
 *
 * Context: As wort_batch_ops.prepare.
 * Return: True if another one may join it.
 */
static inline bool wort_round_is_last(const struct wort_round *round,
				      const struct wort_change *change)
{
	return round->change[round->slots.nr - 1] == change;
}

/**
 * wort_round_join() - Commit a change by the word of the one before it
 * @last: A change for which wort_round_is_last() holds.
 * @change: The change that is prepared.  Its preparation must not fail any
 *	more.
 *
 * Context: As wort_batch_ops.prepare.
 */
static inline void wort_round_join(struct wort_change *last,
				   struct wort_change *change)
{
	change->first = last->first ?: last;
	last->next = change;
}

/**
 * wort_round_note_launch() - Note that a commit launches a word
 * @round: The round, whose lines flush it.
 * @node: The node in which it lies.
 *
 * Context: As wort_batch_ops.commit; at most once for each change.
 */
static inline void wort_round_note_launch(struct wort_round *round, u64 node)
{
	round->launched[round->nr_launched++] = wort_lock_nr(node);
}

/**
 * wort_round_launched() - Of the words in flight of a node, how many are the round's?
 * @round: The round.
 * @node: The node.
 *
 * The others were launched by others, or not noted.
 *
 * Context: As wort_batch_ops.commit.
 * Return: The number of those that were noted, with those of nodes that share
 * the mark.
 */
static inline u32 wort_round_launched(const struct wort_round *round, u64 node)
{
	u32 i, nr = 0;

	for (i = 0; i < round->nr_launched; i++)
		nr += round->launched[i] == wort_lock_nr(node);
	return nr;
}

#endif /* _WORT_ROUND_H */
