// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "skips.h"

/* An entry for so many bytes of the pool, and not more than 16 MiB of DRAM. */
#define BYTES_PER_SKIP_SHIFT	11
#define SKIPS_MIN_BITS		8
#define SKIPS_MAX_BITS		20

static struct wort_skip no_entries[2 * WORT_SKIPS_RUN];

/* A table that learns nothing. */
struct wort_skips wort_skips_none = {
	.bits = ilog2(2 * WORT_SKIPS_RUN), .entry = no_entries,
};

/**
 * wort_skips_make() - Make an empty table
 * @pool_size: Bytes of the pool that it is for.
 *
 * Context: May sleep.
 * Return: The table, for wort_skips_free(), or NULL.
 */
void *wort_skips_make(u64 pool_size)
{
	struct wort_skips *skips = kmalloc(sizeof(*skips), GFP_NOIO);

	if (!skips)
		return NULL;
	skips->bits = clamp_t(u32, ilog2(pool_size >> BYTES_PER_SKIP_SHIFT),
			      SKIPS_MIN_BITS, SKIPS_MAX_BITS);
	skips->entry = kvcalloc(1UL << skips->bits, sizeof(*skips->entry),
				GFP_NOIO);
	if (skips->entry)
		return skips;
	kfree(skips);
	return NULL;
}

/**
 * wort_skips_free() - Free a table
 * @skips: The table, which nobody uses any more, or NULL.
 *
 * Context: May sleep.
 */
void wort_skips_free(void *skips)
{
	struct wort_skips *table = skips;

	if (table)
		kvfree(table->entry);
	kfree(table);
}

/**
 * wort_skips_learn() - Remember the digits that a node skips
 * @skips: The table.
 * @link: The link to the node.
 * @digits: The digits before its place.
 *
 * Takes the place of what was in the entry.  If another one writes it just
 * now, that one's stays.
 *
 * Context: Any context, in an RCU section begun before the link was loaded or
 * the node was made.
 */
void wort_skips_learn(struct wort_skips *skips, u64 link, u64 digits)
{
	struct wort_skip *entry = wort_skip_of(skips, link);
	u64 old = READ_ONCE(entry->link);

	if (skips == &wort_skips_none || old == WORT_SKIP_BUSY ||
	    cmpxchg(&entry->link, old, WORT_SKIP_BUSY) != old)
		return;
	/* pairs with the second acquire in wort_skips_match() */
	smp_store_release(&entry->digits, digits);
	old = (old + WORT_SKIP_WRITTEN) & WORT_MEDIA_LINK_LABEL_MASK;
	/* pairs with the first one */
	smp_store_release(&entry->link, link | old);
}

/**
 * wort_skips_forget_all() - Empty a table, whose digits may come from damaged keys
 * @skips: The table.
 *
 * An entry that a descent writes just now stays.
 *
 * Context: May sleep.
 */
void wort_skips_forget_all(struct wort_skips *skips)
{
	unsigned long i;
	u64 old;

	for (i = 0; i < 1UL << skips->bits; i++) {
		old = READ_ONCE(skips->entry[i].link);
		if (old != WORT_SKIP_BUSY && old & ~WORT_MEDIA_LINK_LABEL_MASK)
			cmpxchg(&skips->entry[i].link, old,
				old & WORT_MEDIA_LINK_LABEL_MASK);
		if (!(i % 4096))
			cond_resched();
	}
}

/**
 * wort_skips_forget() - A node has been made that skips nothing
 * @skips: The table.
 * @link: The link to it.
 *
 * Context: Any context.
 */
void wort_skips_forget(struct wort_skips *skips, u64 link)
{
	struct wort_skip *entry = wort_skip_of(skips, link);
	u64 old = READ_ONCE(entry->link);

	if ((old & ~WORT_MEDIA_LINK_LABEL_MASK) == link)
		cmpxchg(&entry->link, old, old & WORT_MEDIA_LINK_LABEL_MASK);
}
