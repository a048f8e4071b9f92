/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The allocator of a pool.
 *
 * What is owned from the roots is allocated, nothing else: the only word on
 * media is the class of an extent, stored by the operation that opens it and
 * made durable by that operation's first fence.  So nothing can leak over a
 * power cut, and nothing is known of an extent that was open then until the
 * walk over all indexes has marked what is owned.
 */
#ifndef _WORT_ALLOC_H
#define _WORT_ALLOC_H

#include <linux/bitops.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>

#include "pmem.h"

/* 16, 32, 64, then eight to a doubling up to a quarter of 1 MiB */
#define WORT_NR_CLASSES		99

/* Slots up to this size are kept at hand; an extent has at least four. */
#define WORT_CACHED_MAX		1024
#define WORT_CACHED_CLASSES	35

/**
 * enum wort_extent_state - What is known of an extent
 * @WORT_EXTENT_FREE: nothing in it is owned
 * @WORT_EXTENT_UNKNOWN: it was open when the pool was attached, and the walk
 *	has not ended; nothing is allocated from it
 * @WORT_EXTENT_OPENING: opened by us, its word perhaps not durable
 * @WORT_EXTENT_OPEN: its bits say what is used
 * @WORT_EXTENT_TAIL: covered by a run that starts before it, or by the extent table
 * @WORT_EXTENT_BAD: free, but with a page known to be bad
 */
enum wort_extent_state {
	WORT_EXTENT_FREE,
	WORT_EXTENT_UNKNOWN,
	WORT_EXTENT_OPENING,
	WORT_EXTENT_OPEN,
	WORT_EXTENT_TAIL,
	WORT_EXTENT_BAD,
};

struct wort_marks;
struct wort_slots;

/**
 * struct wort_extent - An extent, in DRAM
 * @slots: which of its slots are used or marked; NULL: none is, or all are (extent.h)
 * @run: extents in the run that starts here, or 0
 * @class: size class, WORT_CLASS_RUN or WORT_CLASS_NONE
 * @state: enum wort_extent_state
 */
struct wort_extent {
	struct wort_slots *slots;
	u32 run;
	u8 class;
	u8 state;
};

/* The words of a group fill a page of the extent table. */
#define WORT_GROUP_EXTENTS	512U

/**
 * struct wort_group - Extents in a row
 * @extents: WORT_GROUP_EXTENTS of them; NULL: all are free, or nothing is known
 * @nr_free: free ones, once @read
 * @read: their words in the extent table were read
 */
struct wort_group {
	struct wort_extent *extents;
	u32 nr_free;
	bool read;
};

#define WORT_CLASS_RUN		0xfe
#define WORT_CLASS_NONE		0xff

/**
 * struct wort_geometry - Where extents lie
 * @table_off: extent table
 * @data_off: extent 0
 * @nr_extents: number of extents
 * @extent_shift: log2 of the extent size
 */
struct wort_geometry {
	u64 table_off;
	u64 data_off;
	u32 nr_extents;
	u32 extent_shift;
};

/**
 * wort_table_run() - Extents that an extent table takes which lies in extents
 * @nr_extents: Extents that it describes.
 * @extent_shift: log2 of their size.
 */
static inline u32 wort_table_run(u32 nr_extents, u32 extent_shift)
{
	return round_up((u64)nr_extents * sizeof(__le64),
			1ULL << extent_shift) >> extent_shift;
}

/**
 * struct wort_cached - Slots of a class that are at hand
 * @free: a bit for each
 * @off: offset of that of the first bit
 * @slot_size: bytes of each
 */
struct wort_cached {
	unsigned long free;
	u64 off;
	u32 slot_size;
};

/**
 * struct wort_cache - What a processor has at hand
 * @lock: protects the rest; whoever empties all caches takes it, too
 * @class: for each size class that has slots at hand
 */
struct wort_cache {
	spinlock_t lock;		/* taken after wort_alloc.lock */
	struct wort_cached class[WORT_CACHED_CLASSES];
};

/**
 * struct wort_alloc - Allocator of a pool
 * @region: the memory
 * @geo: where extents lie
 * @locks: who is at work on the pool
 * @lock: protects all below; of mutexes taken last
 * @groups: all extents, by WORT_GROUP_EXTENTS
 * @nr_groups: how many
 * @nr_unread: of these, groups whose words were not read yet
 * @table_lost: somebody has zeroed words of the table: a zero tells nothing
 * @table_witness: extent in which something is owned at all times
 * @table_err: -EUCLEAN if a word that was read is invalid, -EIO if one lies on bad
 *	memory, or 0
 * @partial: for each class the open extents with a free slot
 * @freeing: extents with slots to give back
 * @nr_free: free extents, of those in groups that were read
 * @first_free: no extent below it is known to be free
 * @reserve: free extents that are opened only while the walk runs
 * @open_bytes: in open extents, and in a table that lies in extents
 * @used_bytes: of these, in used slots, runs and that table; while the walk runs
 *	also in what it has marked elsewhere
 * @freeing_bytes: of these, freed and not given back
 * @released: raised whenever anything is given back
 * @walking: the walk has not ended
 * @noting: the walk has begun, therefore frees are noted in unknown extents, too
 * @marks: of the check that is under way, or NULL
 * @caches: slots at hand, see alloc_cache.c
 */
struct wort_alloc {
	struct wort_region *region;
	struct wort_geometry geo;
	struct wort_locks *locks;
	struct mutex lock;		/* of mutexes taken last */
	struct wort_group *groups;
	u32 nr_groups;
	u32 nr_unread;
	int table_err;
	bool table_lost;
	u32 table_witness;
	struct list_head partial[WORT_NR_CLASSES];
	struct list_head freeing;
	u32 nr_free;
	u32 first_free;
	u32 reserve;
	u64 open_bytes;
	u64 used_bytes;
	u64 freeing_bytes;
	u64 released;
	bool walking;
	bool noting;
	struct wort_marks *marks;
	struct wort_cache __percpu *caches;
};

/**
 * struct wort_alloc_info - Figures for people
 * @free_extents: wholly free extents
 * @reserve_extents: of these, kept back
 * @used_bytes: bytes in allocated slots and runs
 * @freeing_bytes: of these, freed and not given back
 * @free_bytes: bytes that can be allocated, or are too few for a slot
 * @known: the three figures before are true; they are not until the walk ended
 * @table_known: the first two are; they are not until the extent table was read
 */
struct wort_alloc_info {
	u32 free_extents;
	u32 reserve_extents;
	u64 used_bytes;
	u64 freeing_bytes;
	u64 free_bytes;
	bool known;
	bool table_known;
};

/**
 * struct wort_marks - What a check has found owned
 * @alloc: the allocator
 * @groups: for each group of extents NULL, or for each of them bitmaps by slot, or
 *	NULL, or @tail
 * @tail: stands for an extent that an owned run covers
 * @incomplete: a slot was taken for whose mark there was no memory
 */
struct wort_marks {
	struct wort_alloc *alloc;
	unsigned long ***groups;
	unsigned long tail;
	bool incomplete;
};

/**
 * struct wort_object - An object that a check has found owned
 * @off: its offset, not trusted
 * @size: its size, not trusted
 * @first: as wort_alloc_mark() has it
 * @err: what wort_marks_add() says of it
 */
struct wort_object {
	u64 off;
	u64 size;
	bool first;
	int err;
};

u32 wort_class_size(u32 class);

/**
 * wort_class_of() - The class for an object
 * @size: Bytes of the object, 1 to 256 KiB.
 *
 * Above 64 bytes at most an eighth of the object is wasted.
 *
 * Return: The smallest class that it fits.
 */
static inline u32 wort_class_of(u32 size)
{
	u32 log;

	if (size <= 64)
		return size <= 16 ? 0 : size <= 32 ? 1 : 2;
	log = fls(size - 1) - 1;
	return 3 + (log - 6) * 8 + ((size - 1 - (1U << log)) >> (log - 3));
}

int wort_alloc_init(struct wort_op *op, struct wort_alloc *alloc,
		    struct wort_region *region,
		    const struct wort_geometry *geo, struct wort_locks *locks);
void wort_alloc_destroy(struct wort_alloc *alloc);
u64 wort_alloc_table_bytes(const struct wort_alloc *alloc);

/* alloc_table.c: the extent table */
void wort_alloc_witness(struct wort_op *op, u64 off);
int wort_alloc_read_table(struct wort_op *op, const bool *stop);
int wort_alloc_check_table(struct wort_op *op, bool mend, u32 *bad);
int wort_alloc_servable(u32 nr_extents);

int wort_alloc_reserve_slow(struct wort_op *op, u64 size);
void wort_alloc_settle(struct wort_op *op);
void wort_extent_opening(struct wort_op *op, u64 off);
int wort_alloc_free(struct wort_op *op, u64 off, u64 size);

/* An extent of a group that has an array of them. */
static inline struct wort_extent *wort_extent_at(const struct wort_alloc *alloc,
						 u32 nr)
{
	return &alloc->groups[nr / WORT_GROUP_EXTENTS]
			.extents[nr % WORT_GROUP_EXTENTS];
}

/* The extent of an object that was handed out. */
static inline struct wort_extent *wort_extent_of(const struct wort_alloc *alloc,
						 u64 off)
{
	return wort_extent_at(alloc, (off - alloc->geo.data_off) >>
				     alloc->geo.extent_shift);
}

/**
 * wort_alloc_take() - Take the next reserved object, in order
 * @op: The operation.
 *
 * Its content is arbitrary.  Stores the word of an extent that is being
 * opened; the fence of the caller before it publishes makes that durable.
 *
 * Context: Any context.
 * Return: Offset of the object.
 */
static inline u64 wort_alloc_take(struct wort_op *op)
{
	u64 off = op->reserved[op->nr_taken++];
	const struct wort_extent *extent = wort_extent_of(op->alloc, off);

	if (unlikely(READ_ONCE(extent->state) == WORT_EXTENT_OPENING))
		wort_extent_opening(op, off);
	return off;
}

/**
 * wort_alloc_untake() - What was taken will not be published
 * @op: The operation, which has published nothing.
 *
 * Context: Any context.
 */
static inline void wort_alloc_untake(struct wort_op *op)
{
	op->nr_taken = 0;
}

u64 wort_alloc_footprint(const struct wort_alloc *alloc, u64 size);
void wort_alloc_info(struct wort_alloc *alloc, struct wort_alloc_info *info);

/* alloc_walk.c: finding again what is owned */
void wort_alloc_walk_begin(struct wort_alloc *alloc);
int wort_alloc_mark(struct wort_op *op, u64 off, u64 size, bool first);
int wort_alloc_walk_end(struct wort_op *op);
void wort_alloc_walk_restart(struct wort_op *op);

/* reclaim.c: giving back what was freed */
bool wort_alloc_reclaim(struct wort_op *op);
bool wort_alloc_freeing(const struct wort_alloc *alloc);

/* marks.c: comparing what is owned with what is allocated */
int wort_marks_begin(struct wort_marks *marks, struct wort_alloc *alloc);
void wort_marks_end(struct wort_marks *marks);
void wort_marks_add(struct wort_op *op, struct wort_marks *marks,
		    struct wort_object *objects, u32 nr);
int wort_marks_compare(struct wort_op *op, struct wort_marks *marks, u32 *bad,
		       u64 *bad_off);

/* alloc_cache.c: objects at hand */
int wort_cache_init(struct wort_alloc *alloc);
void wort_cache_destroy(struct wort_alloc *alloc);
u64 wort_cache_fill(struct wort_alloc *alloc, struct wort_slots *slots);
bool wort_cache_drain(struct wort_alloc *alloc);
u64 wort_cache_bytes(struct wort_alloc *alloc);

/* Take the first one, or 0. */
static inline u64 wort_cached_get(struct wort_cached *cached)
{
	unsigned long free = cached->free;

	if (unlikely(!free))
		return 0;
	WRITE_ONCE(cached->free, free & (free - 1));
	return cached->off + __ffs(free) * (u64)cached->slot_size;
}

/*
 * Begin to load what will be taken after the next: when it is written its lines have come,
 * and no fence waits for them.  Where memory is bad nothing is at hand.
 */
static __always_inline void wort_cached_prefetch(const struct wort_alloc *alloc,
						 const struct wort_cached *cached)
{
	unsigned long free = cached->free & (cached->free - 1);
	const void __pmem *slot;

	if (unlikely(!free))
		return;
	slot = wort_region_at(alloc->region, cached->off) +
	       __ffs(free) * (u64)cached->slot_size;
	wort_pm_prefetch_store(slot);
	wort_pm_prefetch_store(slot + cached->slot_size - 1);
}

/**
 * wort_cache_get() - Take a slot that is at hand
 * @alloc: The allocator.
 * @class: Its size class, less than WORT_CACHED_CLASSES.
 *
 * Context: Any context but interrupts.
 * Return: Its offset, or 0 if there is none.
 */
static inline u64 wort_cache_get(struct wort_alloc *alloc, u32 class)
{
	struct wort_cache *cache = raw_cpu_ptr(alloc->caches);
	struct wort_cached *cached = &cache->class[class];
	u64 off;

	spin_lock(&cache->lock);
	off = wort_cached_get(cached);
	wort_cached_prefetch(alloc, cached);
	spin_unlock(&cache->lock);
	return off;
}

/* What lies on bad pages is not to be kept at hand. */
static inline bool wort_cache_allowed(const struct wort_alloc *alloc, u64 size)
{
	return size <= WORT_CACHED_MAX && !wort_region_any_bad(alloc->region);
}

/**
 * wort_alloc_reserve() - Reserve an object for an operation
 * @op: The operation; at most WORT_RESERVE_MAX objects each.
 * @size: Bytes, 1 to WORT_VALUE_MAX plus a leaf.
 *
 * Nothing is stored to media, so an operation that reserves all it can need
 * before it publishes fails without a trace.  wort_op_end() gives back what
 * was not taken.
 *
 * Context: May sleep.  Takes wort_alloc.lock.
 * Return: 0; -ENOMEM; -ENOSPC, upon which the caller may wait for the walk or
 * for freed objects and try the whole operation again.
 */
static inline int wort_alloc_reserve(struct wort_op *op, u64 size)
{
	u64 off = 0;

	if (likely(wort_cache_allowed(op->alloc, size) &&
		   op->nr_reserved < WORT_RESERVE_MAX))
		off = wort_cache_get(op->alloc, wort_class_of(size));
	if (unlikely(!off))
		return wort_alloc_reserve_slow(op, size);
	op->reserved[op->nr_reserved++] = off;
	return 0;
}

/**
 * wort_alloc_reserve_ready() - Reserve an object that may be taken as it is
 * @op: The operation, as for wort_pm_flush_now(), which takes it from @reserved.
 * @size: Bytes, 1 to WORT_CACHED_MAX.
 *
 * Context: Any context but interrupts.
 * Return: True if one was at hand and the word of its extent is durable.  If not, and it
 * was reserved nevertheless, wort_op_end() is due.
 */
static __always_inline bool wort_alloc_reserve_ready(struct wort_op *op, u64 size)
{
	u64 off = 0;

	if (likely(wort_cache_allowed(op->alloc, size)))
		off = wort_cache_get(op->alloc, wort_class_of(size));
	if (unlikely(!off))
		return false;
	op->reserved[op->nr_reserved++] = off;
	return READ_ONCE(wort_extent_of(op->alloc, off)->state) !=
	       WORT_EXTENT_OPENING;
}

#endif /* _WORT_ALLOC_H */
