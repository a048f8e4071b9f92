// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Slots at hand: for each processor and small size class a word of an extent's
 * bitmap, whose free slots are taken already, so that most reservations touch
 * nothing that others do.
 *
 * A slot in a cache is used as far as its extent knows.  Nothing of this is on
 * media: after a power cut nobody owns these slots, so they are free.
 */
#include <linux/bitops.h>
#include <linux/kernel.h>

#include "extent.h"

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
 * wort_cache_fill() - Take a slot, and keep those beside it at hand
 * @alloc: The allocator.
 * @slots: Those of an open extent of a cached class, with a free one.
 * @max: How many slots may be taken, at least 1.
 *
 * Context: May sleep.  Holds wort_alloc.lock, under which alone caches are
 * filled.
 * Return: The offset of the slot.
 */
u64 wort_cache_fill(struct wort_alloc *alloc, struct wort_slots *slots, u32 max)
{
	struct wort_cache *cache = raw_cpu_ptr(alloc->caches);
	u32 class = wort_extent_at(alloc, slots->nr)->class;
	struct wort_cached *cached = &cache->class[class], taken;
	u64 off;

	lockdep_assert_held(&alloc->lock);
	spin_lock(&cache->lock);
	off = wort_cached_get(cached);
	spin_unlock(&cache->lock);
	/* The caller has come from another processor. */
	if (off)
		return off;
	wort_extent_take_word(alloc, slots, max, &taken);
	off = wort_cached_get(&taken);
	spin_lock(&cache->lock);
	cached->off = taken.off;
	cached->slot_size = taken.slot_size;
	WRITE_ONCE(cached->free, taken.free);
	spin_unlock(&cache->lock);
	return off;
}

static u64 take_any(struct wort_cache *cache)
{
	u64 off = 0;
	u32 class;

	spin_lock(&cache->lock);
	for (class = 0; class < WORT_CACHED_CLASSES && !off; class++)
		off = wort_cached_get(&cache->class[class]);
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
			wort_extent_untake(alloc, off, false);
			any = true;
		}
	return any;
}

/**
 * wort_cache_bytes() - Bytes of slots that are at hand
 * @alloc: The allocator.
 *
 * Nothing is locked: exact when nobody is at work.
 *
 * Context: Any context.
 * Return: Them.
 */
u64 wort_cache_bytes(struct wort_alloc *alloc)
{
	const struct wort_cached *cached;
	u64 bytes = 0;
	u32 class;
	int cpu;

	for_each_possible_cpu(cpu) {
		cached = per_cpu_ptr(alloc->caches, cpu)->class;
		for (class = 0; class < WORT_CACHED_CLASSES; class++, cached++)
			bytes += hweight_long(READ_ONCE(cached->free)) *
				 (u64)wort_class_size(class);
	}
	return bytes;
}
