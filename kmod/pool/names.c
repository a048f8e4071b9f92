// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Indexes by name: a hash table that grows with their number, so that the first
 * and the last of very many are found alike.
 *
 * Names come from media and from users.  The seed is another one in each pool,
 * or somebody could choose names that share a chain.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/xxhash.h>

#include "pool.h"

#define FEWEST_BITS	6
#define MOST_BITS	24

static struct hlist_head *chain(const struct wort_names *names, const u8 *name,
				u32 len)
{
	u64 hash = xxh64(name, len, names->seed);

	return &names->heads[hash & ((1U << names->bits) - 1)];
}

static struct hlist_head *heads_alloc(u32 bits)
{
	return kvcalloc(1U << bits, sizeof(struct hlist_head), GFP_NOIO);
}

/**
 * wort_names_init() - Make an empty table
 * @names: The table.
 *
 * Context: May sleep.
 * Return: 0 or -ENOMEM.
 */
int wort_names_init(struct wort_names *names)
{
	get_random_bytes(&names->seed, sizeof(names->seed));
	names->bits = FEWEST_BITS;
	names->nr = 0;
	names->heads = heads_alloc(FEWEST_BITS);
	return names->heads ? 0 : -ENOMEM;
}

/**
 * wort_names_destroy() - Free a table
 * @names: The table, zeroed or initialised.
 *
 * Context: May sleep.
 */
void wort_names_destroy(struct wort_names *names)
{
	kvfree(names->heads);
}

/**
 * wort_names_find() - Find an index
 * @names: The table.
 * @name: Its name.
 * @len: Length of the name.
 *
 * Context: Holds wort_pool.lock, or nobody else knows the pool.
 * Return: The index, or NULL.
 */
struct wort_index *wort_names_find(const struct wort_names *names,
				   const u8 *name, u32 len)
{
	struct wort_index *index;

	hlist_for_each_entry(index, chain(names, name, len), hash)
		if (index->name_len == len && !memcmp(index->name, name, len))
			return index;
	return NULL;
}

static void move(struct wort_names *names, struct hlist_head *from)
{
	struct hlist_node *next;
	struct wort_index *index;

	hlist_for_each_entry_safe(index, next, from, hash) {
		hlist_del_init(&index->hash);
		hlist_add_head(&index->hash, chain(names, index->name,
						   index->name_len));
	}
}

/* Without memory for a longer table the chains get longer. */
static void grow(struct wort_names *names)
{
	struct hlist_head *heads = heads_alloc(names->bits + 1);
	struct hlist_head *old = names->heads;
	u32 i, nr = 1U << names->bits;

	if (!heads)
		return;
	names->heads = heads;
	names->bits++;
	for (i = 0; i < nr; i++) {
		move(names, &old[i]);
		cond_resched();
	}
	kvfree(old);
}

/**
 * wort_names_add() - Add an index
 * @names: The table.
 * @index: The index, whose name is not there.
 *
 * Context: May sleep.  As wort_names_find().
 */
void wort_names_add(struct wort_names *names, struct wort_index *index)
{
	if (names->nr++ >> names->bits && names->bits < MOST_BITS)
		grow(names);
	hlist_add_head(&index->hash, chain(names, index->name,
					   index->name_len));
}

/**
 * wort_names_remove() - Remove an index
 * @names: The table.
 * @index: The index, which is there.
 *
 * Context: As wort_names_find().
 */
void wort_names_remove(struct wort_names *names, struct wort_index *index)
{
	hlist_del_init(&index->hash);
	names->nr--;
}
