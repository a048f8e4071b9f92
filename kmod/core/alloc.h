/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The allocator of a pool.
 *
 * An object is allocated if and only if an index reaches it.  The allocator
 * keeps one word per extent on media, its size class.  The operation that opens
 * an extent stores the word; its first fence makes the word durable.  Therefore
 * a power cut leaks nothing.  After a power cut the allocator does not know
 * which slots of the open extents are used, until the walk over all indexes has
 * marked all owned objects.
 */
#ifndef _WORT_ALLOC_H
#define _WORT_ALLOC_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>

#include <linux/wort_format.h>

#include "pmem.h"

/*
 * 16, 32, 64, 80, 96, 112, 128, then eight to a doubling up to a quarter of 1
 * MiB: all are multiples of 16, which is the unit of a link.
 */
#define WORT_NR_CLASSES		95

/* The largest object: the list of an atomic batch.  A value is smaller. */
#define WORT_OBJECT_MAX		WORT_MEDIA_REDO_MAX

/* Each processor caches slots up to this size; an extent has at least four. */
#define WORT_CACHED_MAX		1024
#define WORT_CACHED_CLASSES	31

/**
 * enum wort_extent_state - What is known of an extent
 * @WORT_EXTENT_FREE: nothing in it is owned
 * @WORT_EXTENT_UNKNOWN: it was open when the pool was attached, and the walk
 *	has not ended; nothing is allocated from it
 * @WORT_EXTENT_OPENING: opened since the attach, its word perhaps not durable
 * @WORT_EXTENT_OPEN: its bitmaps say which slots are used
 * @WORT_EXTENT_TAIL: covered by a run that starts before it, or by the extent
 *	table
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
 * @slots: which of its slots are used or marked; NULL: none or all (extent.h)
 * @run: extents in the run that starts here, or 0
 * @class: size class, WORT_CLASS_RUN or WORT_CLASS_NONE
 * @state: enum wort_extent_state
 * @zeroed: somebody asked for slots of it that are durably zero
 */
struct wort_extent {
	struct wort_slots *slots;
	u32 run;
	u8 class;
	u8 state;
	bool zeroed;
};

/* The words of a group fill a page of the extent table. */
#define WORT_GROUP_EXTENTS	512U

/**
 * struct wort_group - Adjacent extents
 * @extents: WORT_GROUP_EXTENTS of them; NULL: all are free, or nothing is known
 * @nr_free: free ones, once @read
 * @read: their words in the extent table were read
 */
struct wort_group {
	struct wort_extent *extents;
	u32 nr_free;
	bool read;
};

/**
 * struct wort_kept - Slots of a size class that are kept for operations that make room
 * @users: number of callers of wort_alloc_keep_reserve()
 * @slots: free slots of open extents that other operations leave alone
 */
struct wort_kept {
	u32 users;
	u32 slots;
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
 * wort_table_run() - Number of extents that an extent table takes up
 * @nr_extents: Extents that it describes.
 * @extent_shift: log2 of their size.
 *
 * For a table that lies in extents, in a pool that has grown.
 */
static inline u32 wort_table_run(u32 nr_extents, u32 extent_shift)
{
	return round_up((u64)nr_extents * sizeof(__le64),
			1ULL << extent_shift) >> extent_shift;
}

/**
 * struct wort_cached - Cached slots of a class
 * @free: a bit for each
 * @off: offset of the slot of the first bit
 * @slot_size: bytes of each
 */
struct wort_cached {
	unsigned long free;
	u64 off;
	u32 slot_size;
};

/**
 * struct wort_cache - The slots that a processor has cached
 * @lock: protects the rest; a task that empties all caches takes it, too
 * @class: for each size class up to WORT_CACHED_MAX
 */
struct wort_cache {
	spinlock_t lock;		/* taken after wort_alloc.lock */
	struct wort_cached class[WORT_CACHED_CLASSES];
};

/**
 * struct wort_alloc - Allocator of a pool
 * @region: the memory
 * @geo: where extents lie
 * @locks: locks of the pool, for grace periods
 * @lock: protects all below; the last of the mutexes
 * @groups: all extents, by WORT_GROUP_EXTENTS
 * @nr_groups: how many
 * @nr_unread: of these, groups whose words were not read yet
 * @table_lost: somebody has zeroed words of the table: a zero tells nothing
 * @table_witness: extent in which something is owned at all times
 * @table_err: -EUCLEAN if a word that was read is invalid, -EIO if one lies on
 *	bad memory, or 0
 * @partial: for each class the open extents with a free slot
 * @zeroed: the same of those that keep dirty slots apart from durably zero ones
 * @nr_spare: for each class the free slots of both
 * @kept: for each class the slots kept for operations that make room
 * @kept_runs: the same of extents for runs
 * @freeing: extents with slots to give back
 * @nr_free: free extents, of those in groups that were read
 * @first_free: no extent below it is known to be free
 * @reserve: free extents that are opened only while the walk runs
 * @open_bytes: bytes of open extents, and of a table that lies in extents
 * @used_bytes: of these, bytes of used slots, runs and that table; while the
 *	walk runs, also of the objects that it has marked in other extents
 * @freeing_bytes: of these, freed and not given back
 * @parts_bytes: bytes of freed parts of objects that are not given back
 * @released: raised whenever anything is given back
 * @walking: the walk has not ended
 * @noting: the walk has begun, therefore frees are recorded in unknown extents,
 *	too
 * @keeping: moved references are recorded in unknown extents, see
 *	wort_alloc_keep()
 * @marks: of the check that is under way, or NULL
 * @caches: slots cached by each processor, see alloc_cache.c
 */
struct wort_alloc {
	struct wort_region *region;
	struct wort_geometry geo;
	struct wort_locks *locks;
	struct mutex lock;		/* the last of the mutexes */
	struct wort_group *groups;
	u32 nr_groups;
	u32 nr_unread;
	int table_err;
	bool table_lost;
	u32 table_witness;
	struct list_head partial[WORT_NR_CLASSES];
	struct list_head zeroed[WORT_NR_CLASSES];
	u32 nr_spare[WORT_NR_CLASSES];
	struct wort_kept kept[WORT_NR_CLASSES];
	struct wort_kept kept_runs;
	struct list_head freeing;
	u32 nr_free;
	u32 first_free;
	u32 reserve;
	u64 open_bytes;
	u64 used_bytes;
	u64 freeing_bytes;
	atomic64_t parts_bytes;
	u64 released;
	bool walking;
	bool noting;
	bool keeping;
	struct wort_marks *marks;
	struct wort_cache __percpu *caches;
};

/**
 * struct wort_alloc_info - Figures for people
 * @free_extents: wholly free extents
 * @reserve_extents: of these, kept back for the walk
 * @used_bytes: bytes in allocated slots and runs
 * @freeing_bytes: of these, freed and not given back
 * @free_bytes: bytes that can be allocated, and remainders too small for a slot
 * @known: the three figures before are known, which is so once the walk has
 *	ended
 * @table_known: the first two figures are known, which is so once the extent
 *	table was read
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
 * struct wort_marks - The objects that a check has found owned
 * @alloc: the allocator
 * @groups: for each group of extents NULL or an array, which has for each
 *	extent bitmaps by slot, NULL, or @tail
 * @tail: stands for an extent that an owned run covers
 * @incomplete: there was no memory to mark a slot that was taken
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

/**
 * struct wort_spot - Where an object is allocated
 * @slots: the slots of its extent, or NULL
 * @slot: the number of its slot
 */
struct wort_spot {
	struct wort_slots *slots;
	u32 slot;
};

u32 wort_class_size(u32 class);

/**
 * wort_class_of() - The class for an object
 * @size: Bytes of the object, 1 to 256 KiB.
 *
 * Above 128 bytes the slot is at most an eighth larger than the object, from 65
 * to 128 bytes at most 15 bytes.  There are no slots of 48 bytes: half of them
 * would straddle two cache lines, and a record of at most 64 bytes takes one
 * flush.
 *
 * Return: The smallest class whose slots hold the object.
 */
static inline u32 wort_class_of(u32 size)
{
	u32 last = size - 1, log;

	if (size <= 128)
		return last / 16 - (last >= 48);
	log = fls(last) - 1;
	return (log - 7) * 8 + (last >> (log - 3)) - 1;
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

void wort_alloc_keep_reserve(struct wort_alloc *alloc, u64 size, u32 nr);
void wort_alloc_drop_reserve(struct wort_alloc *alloc, u64 size);
int wort_alloc_reserve_slow(struct wort_op *op, u64 size);
bool wort_alloc_has_extents(struct wort_op *op, u32 nr);
void wort_alloc_settle(struct wort_op *op);
void wort_extent_opening(struct wort_op *op, u64 off);
int wort_alloc_free(struct wort_op *op, u64 off, u64 size);
void wort_alloc_prefetch(const struct wort_alloc *alloc, u64 off, u64 size);
struct wort_spot wort_alloc_find(struct wort_alloc *alloc, u64 off, u64 size);
void wort_alloc_free_found(struct wort_alloc *alloc, struct wort_spot spot);
u64 wort_alloc_refill(struct wort_alloc *alloc, u64 size);

/*
 * For wort_alloc_find() and wort_alloc_free_found().  May sleep; the last of
 * the mutexes.
 */
static inline void wort_alloc_lock(struct wort_alloc *alloc)
{
	mutex_lock(&alloc->lock);
}

/* Context: Any context but interrupts. */
static inline void wort_alloc_unlock(struct wort_alloc *alloc)
{
	mutex_unlock(&alloc->lock);
}

/* An extent of a group that has an array of them. */
static inline struct wort_extent *wort_extent_at(const struct wort_alloc *alloc,
						 u32 nr)
{
	return &alloc->groups[nr / WORT_GROUP_EXTENTS]
			.extents[nr % WORT_GROUP_EXTENTS];
}

/* The extent of an object that was reserved. */
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
 * The content of the object is arbitrary.  If its extent is being opened, this
 * stores the word of the extent, and the fence of the caller before it
 * publishes makes that durable.
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
 * wort_alloc_untake() - Return all taken objects to the reserved ones
 * @op: The operation, which has published none of them.
 *
 * An object that was reserved as zero may be written by now.  So an operation
 * that takes such objects again calls wort_op_again() instead, and reserves
 * them again.
 *
 * Context: Any context.
 */
static inline void wort_alloc_untake(struct wort_op *op)
{
	op->zeroed &= ~(BIT(op->nr_taken) - 1);
	op->nr_taken = 0;
}

/* alloc_zero.c: slots that are durably zero */
int wort_alloc_reserve_zero(struct wort_op *op, u64 size);

u64 wort_alloc_footprint(const struct wort_alloc *alloc, u64 size);
void wort_alloc_info(struct wort_alloc *alloc, struct wort_alloc_info *info);

/* alloc_walk.c: marking what is owned */
void wort_alloc_walk_begin(struct wort_alloc *alloc);
int wort_alloc_mark(struct wort_op *op, u64 off, u64 size, bool first);
int wort_alloc_keep(struct wort_op *op, u64 off, u64 size);
int wort_alloc_walk_end(struct wort_op *op);
void wort_alloc_walk_restart(struct wort_op *op);

/**
 * struct wort_parts - Parts of objects that are given back by reclaim
 * @collect: before the grace period: move freed parts to the waiting ones;
 *	returns their bytes.  Parts that are freed after it returns are for the
 *	next time.
 * @reclaim: after it: all waiting parts are free.  Called once, also if there
 *	are none.
 *
 * Neither holds a lock of the allocator.  Both may sleep, and run in the task
 * that calls wort_alloc_reclaim().
 */
struct wort_parts {
	u64 (*collect)(struct wort_parts *parts);
	void (*reclaim)(struct wort_parts *parts, struct wort_op *op);
};

/* reclaim.c: giving back what was freed */
bool wort_alloc_reclaim(struct wort_op *op, struct wort_parts *parts);
bool wort_alloc_freeing(const struct wort_alloc *alloc);

/**
 * wort_alloc_parts_freed() - Parts of an object are about to be freed
 * @alloc: The allocator.
 * @bytes: Their bytes.
 *
 * The word that took them out is durable.  Called before wort_parts.collect can
 * find them, in the section of the operation: the object stays, its parts are
 * used again after a grace period.  From now on wort_alloc_freeing() is true.
 *
 * Context: Any context.
 */
static inline void wort_alloc_parts_freed(struct wort_alloc *alloc, u64 bytes)
{
	atomic64_add(bytes, &alloc->parts_bytes);
}

/**
 * wort_alloc_parts_dropped() - Freed parts will not be given back
 * @alloc: The allocator.
 * @bytes: Their bytes: freed, and not told by wort_parts.collect.
 *
 * Since their descriptor in DRAM goes, perhaps with the object.  Those that
 * wait count until wort_alloc_reclaim() ends, whether they are still there or
 * not.
 *
 * Context: Any context.  Excludes wort_parts.collect.
 */
static inline void wort_alloc_parts_dropped(struct wort_alloc *alloc, u64 bytes)
{
	atomic64_sub(bytes, &alloc->parts_bytes);
}

/* marks.c: comparing what is owned with what is allocated */
int wort_marks_begin(struct wort_marks *marks, struct wort_alloc *alloc);
void wort_marks_end(struct wort_marks *marks);
void wort_marks_add(struct wort_op *op, struct wort_marks *marks,
		    struct wort_object *objects, u32 nr);
int wort_marks_compare(struct wort_op *op, struct wort_marks *marks, u32 *bad,
		       u64 *bad_off);

/* alloc_cache.c: caches of slots */
int wort_cache_init(struct wort_alloc *alloc);
void wort_cache_destroy(struct wort_alloc *alloc);
u64 wort_cache_fill(struct wort_alloc *alloc, struct wort_slots *slots,
		    u32 max);
bool wort_cache_drain(struct wort_alloc *alloc);
u64 wort_cache_bytes(struct wort_alloc *alloc);

/* Take the first slot; 0 if there is none. */
static inline u64 wort_cached_get(struct wort_cached *cached)
{
	unsigned long free = cached->free;

	if (unlikely(!free))
		return 0;
	WRITE_ONCE(cached->free, free & (free - 1));
	return cached->off + __ffs(free) * (u64)cached->slot_size;
}

/*
 * Prefetch the slot that will be taken after the next one.  Its lines then are
 * in the cache when it is written, so that no fence waits for them.  It does
 * not lie on bad memory, since the caches are not used if a page is known to be
 * bad.
 */
static __always_inline void
wort_cached_prefetch(const struct wort_alloc *alloc,
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
 * wort_cache_get() - Take a cached slot
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

/* Slots are not cached if a page is known to be bad: they could lie on it. */
static inline bool wort_cache_allowed(const struct wort_alloc *alloc, u64 size)
{
	return size <= WORT_CACHED_MAX && !wort_region_any_bad(alloc->region);
}

/**
 * wort_alloc_reserve() - Reserve an object for an operation
 * @op: The operation; at most WORT_RESERVE_MAX objects each.
 * @size: Bytes, 1 to WORT_OBJECT_MAX.
 *
 * Stores nothing to media.  Therefore an operation that reserves all objects
 * that it can need before it publishes can fail without changes.  wort_op_end()
 * gives back the objects that were not taken.  With wort_op.must_free it may
 * also take what wort_alloc_keep_reserve() keeps back.
 *
 * Context: May sleep.  Takes wort_alloc.lock.
 * Return: 0; -ENOMEM; -ENOSPC: the caller may wait for the walk or for freed
 * objects, and retry the whole operation.
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
 * wort_alloc_reserve_ready() - Reserve an object without wort_alloc_take()
 * @op: The operation, as for wort_pm_flush_now(); its caller uses @reserved
 *	directly.
 * @size: Bytes, 1 to WORT_CACHED_MAX.
 *
 * Context: May sleep.  Takes wort_alloc.lock.
 * Return: True if an open extent had a slot, and its word is durable.  If
 * false, a slot may be reserved nevertheless, so the caller must call
 * wort_op_end().
 */
static __always_inline bool wort_alloc_reserve_ready(struct wort_op *op,
						     u64 size)
{
	u64 off;

	if (unlikely(!wort_cache_allowed(op->alloc, size)))
		return false;
	off = wort_cache_get(op->alloc, wort_class_of(size));
	if (unlikely(!off))
		off = wort_alloc_refill(op->alloc, size);
	if (unlikely(!off))
		return false;
	op->reserved[op->nr_reserved++] = off;
	return READ_ONCE(wort_extent_of(op->alloc, off)->state) !=
	       WORT_EXTENT_OPENING;
}

#endif /* _WORT_ALLOC_H */
