// SPDX-License-Identifier: GPL-2.0-only
/*
 * Objects at hand: for each processor and size class a few slots that are
 * taken already, so that most reservations touch nothing that others do.
 *
 * A slot in a cache is used as far as its extent knows.  Nothing of this is on
 * media: after a power cut nobody owns these slots, so they are free.
 */
#include <linux/kernel.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>

#include "alloc.h"

#define CACHE_OBJECTS	15

/**
 * struct wort_cache - What one processor has at hand
 * @lock: protects the rest; whoever empties all caches takes it, too
 * @class: for each size class its slots, in the order in which they are to be
 *	used, as the processor likes to fetch them
 */
struct wort_cache {
	spinlock_t lock;		/* taken after wort_alloc.lock */
	struct cached {
		u32 first;
		u32 end;
		u64 off[CACHE_OBJECTS];
	} class[WORT_NR_CLASSES];
};

/* The next one, or 0. */
static u64 cached_get(struct cached *cached)
{
	u64 off;

	if (cached->first == cached->end)
		return 0;
	off = cached->off[cached->first++];
	if (cached->first == cached->end) {
		cached->first = 0;
		cached->end = 0;
	}
	return off;
}

/**
 * wort_cache_init() - Make empty caches
 * @alloc: The allocator.
 *
 * Context: May sleep.
 * Return: 0 or -ENOMEM; wort_cache_destroy() is due in any case.
 */
int wort_cache_init(struct wort_alloc *alloc)
{
	int cpu;

	alloc->caches = alloc_percpu(struct wort_cache);
	if (!alloc->caches)
		return -ENOMEM;
	for_each_possible_cpu(cpu)
		spin_lock_init(&per_cpu_ptr(alloc->caches, cpu)->lock);
	return 0;
}

/**
 * wort_cache_destroy() - Forget the caches
 * @alloc: An allocator, or one whose wort_cache_init() failed.
 *
 * Context: May sleep.
 */
void wort_cache_destroy(struct wort_alloc *alloc)
{
	free_percpu(alloc->caches);
}

/**
 * wort_cache_get() - Take a slot that is at hand
 * @alloc: The allocator.
 * @class: Its size class.
 *
 * Context: Any context but interrupts.
 * Return: Its offset, or 0 if there is none.
 */
u64 wort_cache_get(struct wort_alloc *alloc, u32 class)
{
	struct wort_cache *cache = raw_cpu_ptr(alloc->caches);
	u64 off;

	spin_lock(&cache->lock);
	off = cached_get(&cache->class[class]);
	spin_unlock(&cache->lock);
	return off;
}

/**
 * wort_cache_fill() - Keep slots of an extent at hand
 * @alloc: The allocator.
 * @extent: An extent of a size class.
 *
 * Context: Holds wort_alloc.lock.
 */
void wort_cache_fill(struct wort_alloc *alloc, struct wort_extent *extent)
{
	struct wort_cache *cache = raw_cpu_ptr(alloc->caches);
	struct cached *cached = &cache->class[extent->class];

	lockdep_assert_held(&alloc->lock);
	spin_lock(&cache->lock);
	while (cached->end < CACHE_OBJECTS && extent->nr_used < extent->slots)
		cached->off[cached->end++] = wort_extent_take(alloc, extent);
	spin_unlock(&cache->lock);
}

static u64 take_any(struct wort_cache *cache)
{
	u64 off = 0;
	u32 class;

	spin_lock(&cache->lock);
	for (class = 0; class < WORT_NR_CLASSES && !off; class++)
		off = cached_get(&cache->class[class]);
	spin_unlock(&cache->lock);
	return off;
}

/**
 * wort_cache_drain() - Give back what is at hand anywhere
 * @alloc: The allocator.
 *
 * Context: Holds wort_alloc.lock.
 * Return: True if anything was.
 */
bool wort_cache_drain(struct wort_alloc *alloc)
{
	bool any = false;
	u64 off;
	int cpu;

	lockdep_assert_held(&alloc->lock);
	for_each_possible_cpu(cpu)
		while ((off = take_any(per_cpu_ptr(alloc->caches, cpu)))) {
			wort_extent_untake(alloc, off);
			any = true;
		}
	return any;
}
