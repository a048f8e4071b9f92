// SPDX-License-Identifier: GPL-2.0-only
/*
 * Size classes, reservations, reuse.
 */
#include <sys/mman.h>

#include "../../kmod/core/extent.h"
#include "../../kmod/core/pmem.h"
#include "../engines/unit.h"

void check_alloc_classes(void)
{
	u32 size, class, waste;

	for (class = 1; class < WORT_NR_CLASSES; class++)
		CHECK(wort_class_size(class) > wort_class_size(class - 1));
	CHECK_EQ(wort_class_size(WORT_NR_CLASSES - 1), 256 * KIB);
	for (size = 1; size <= 256 * KIB; size++) {
		class = wort_class_of(size);
		CHECK(class < WORT_NR_CLASSES);
		waste = wort_class_size(class) - size;
		CHECK_GE((int)waste, 0);
		CHECK(!class || wort_class_size(class - 1) < size);
		CHECK(size <= 64 || waste <= max(15U, size / 8));
		CHECK_EQ(wort_class_size(class) % 16, 0);
	}
}

/* A leaf of at most a cache line lies in one. */
void check_alloc_leaf_lines(void)
{
	static const u32 extents[] = { 4096, 65536, 1048576 };
	u32 i, size, class, slot;

	for (i = 0; i < ARRAY_SIZE(extents); i++)
		for (size = 1; size <= 64; size++) {
			class = wort_class_size(wort_class_of(size));
			for (slot = 0; slot < extents[i] / class; slot++)
				CHECK_EQ(slot * class / WORT_LINE,
					 (slot * class + size - 1) / WORT_LINE);
		}
}

static struct wort_alloc *alloc_of(struct bed *bed)
{
	return &bed->pm.pool->alloc;
}

static void begin(struct bed *bed, struct wort_op *op)
{
	wort_op_begin(op, &bed->pm.region, alloc_of(bed));
}

static bool reclaim(struct bed *bed)
{
	struct wort_op op;
	bool any;

	begin(bed, &op);
	any = wort_alloc_reclaim(&op, NULL);
	wort_op_end(&op);
	return any;
}

static bool same_info(const struct wort_alloc_info *a,
		      const struct wort_alloc_info *b)
{
	return a->free_extents == b->free_extents &&
	       a->reserve_extents == b->reserve_extents &&
	       a->used_bytes == b->used_bytes &&
	       a->freeing_bytes == b->freeing_bytes && a->known == b->known;
}

static u64 used_bytes(struct bed *bed)
{
	struct wort_alloc_info info;

	wort_alloc_info(alloc_of(bed), &info);
	return info.used_bytes;
}

/* What is at hand goes back, so that the next one is the first that is free. */
static void drain(struct bed *bed)
{
	mutex_lock(&alloc_of(bed)->lock);
	wort_cache_drain(alloc_of(bed));
	mutex_unlock(&alloc_of(bed)->lock);
}

/* What is reserved and not taken goes back, and nothing is stored. */
void check_alloc_reserve(void)
{
	static const u64 sizes[] = { 1, 24, 144, 5000, 65536, 66000 };
	struct wort_alloc_info before, after;
	struct wort_op op;
	struct bed bed;
	u32 i, n;

	bed_open(&bed, 4 * MIB, 65536);
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		for (n = 1; n <= WORT_RESERVE_MAX; n++) {
			u32 k;

			wort_alloc_info(alloc_of(&bed), &before);
			begin(&bed, &op);
			for (k = 0; k < n; k++)
				CHECK_EQ(wort_alloc_reserve(&op, sizes[i]), 0);
			CHECK_EQ(used_bytes(&bed) - before.used_bytes,
				 n * wort_alloc_footprint(alloc_of(&bed),
							  sizes[i]));
			wort_op_end(&op);
			wort_alloc_info(alloc_of(&bed), &after);
			CHECK_EQ(before.used_bytes, after.used_bytes);
			drain(&bed);
			wort_alloc_info(alloc_of(&bed), &after);
			CHECK(same_info(&before, &after));
			CHECK_EQ(op.n.stores, 0);
		}
	bed_check(&bed);
	bed_close(&bed);
}

/* Take an object as an operation does that publishes it. */
static u64 take(struct bed *bed, u64 size)
{
	struct wort_op op;
	u64 off;

	begin(bed, &op);
	CHECK_EQ(wort_alloc_reserve(&op, size), 0);
	off = wort_alloc_take(&op);
	wort_pm_fence(&op);
	wort_op_end(&op);
	return off;
}

static int give(struct bed *bed, u64 off, u64 size)
{
	struct wort_op op;
	int err;

	begin(bed, &op);
	op.alone = false;
	err = wort_alloc_free(&op, off, size);
	CHECK(!op.alone);
	wort_op_end(&op);
	return err;
}

/* Freed objects are not reused before reclaim, and are after it. */
void check_alloc_reuse(void)
{
	struct bed bed;
	u64 a, b, used;

	bed_open(&bed, 4 * MIB, 65536);
	used = used_bytes(&bed);
	a = take(&bed, 24);
	CHECK_EQ(give(&bed, a, 24), 0);
	CHECK(wort_alloc_freeing(alloc_of(&bed)));
	b = take(&bed, 24);
	CHECK_NE(a, b);
	CHECK_EQ(give(&bed, a, 24), -EUCLEAN);
	CHECK(reclaim(&bed));
	CHECK(!reclaim(&bed));
	CHECK_EQ(give(&bed, a, 24), -EUCLEAN);
	drain(&bed);
	CHECK_EQ(take(&bed, 24), a);
	CHECK_EQ(give(&bed, a, 200), -EUCLEAN);
	CHECK_EQ(give(&bed, a + 8, 24), -EUCLEAN);
	CHECK_EQ(give(&bed, 0, 24), -EUCLEAN);
	CHECK_EQ(give(&bed, bed.pm.region.size, 24), -EUCLEAN);
	CHECK_EQ(give(&bed, U64_MAX - 7, 24), -EUCLEAN);
	CHECK_EQ(give(&bed, a, 24), 0);
	CHECK_EQ(give(&bed, b, 24), 0);
	CHECK(reclaim(&bed));
	CHECK(!wort_alloc_freeing(alloc_of(&bed)));
	CHECK_EQ(used_bytes(&bed), used);
	bed_close(&bed);
}

/* In a large extent a part of the bitmaps has several words. */
void check_alloc_parts(void)
{
	static u64 off[30000];
	u64 used, freed = 0;
	struct bed bed;
	u32 i;

	bed_open(&bed, 8 * MIB, MIB);
	for (i = 0; i < ARRAY_SIZE(off); i++)
		off[i] = take(&bed, 24);
	used = used_bytes(&bed);
	for (i = 0; i < ARRAY_SIZE(off); i += 37, freed += 32)
		CHECK_EQ(give(&bed, off[i], 24), 0);
	CHECK(reclaim(&bed));
	CHECK_EQ(used_bytes(&bed), used - freed);
	for (i = 0; i < ARRAY_SIZE(off); i++)
		CHECK_EQ(give(&bed, off[i], 24), i % 37 ? 0 : -EUCLEAN);
	CHECK(reclaim(&bed));
	CHECK(!wort_alloc_freeing(alloc_of(&bed)));
	bed_close(&bed);
}

#define REFILL_SIZE	192

/* Take all slots of open extents, a word of a bitmap at a time; how many. */
static u32 take_open(struct bed *bed, u64 *off)
{
	u32 n = 0;

	do
		off[n] = wort_cache_get(alloc_of(bed), wort_class_of(REFILL_SIZE)) ?:
			 wort_alloc_refill(alloc_of(bed), REFILL_SIZE);
	while (off[n++]);
	return n - 1;
}

/* Slots of open extents are refilled without an operation, but for those that are kept. */
void check_alloc_refill(void)
{
	static u64 off[512], again[512];
	struct bed bed;
	u32 i, k, n;
	u64 used;

	bed_open(&bed, 4 * MIB, 65536);
	CHECK_EQ(take_open(&bed, again), 0);
	for (i = 0; i < ARRAY_SIZE(off); i++)
		off[i] = take(&bed, REFILL_SIZE);
	for (i = 0; i < ARRAY_SIZE(off); i += 50)
		CHECK_EQ(give(&bed, off[i], REFILL_SIZE), 0);
	CHECK(reclaim(&bed));
	used = used_bytes(&bed);
	n = take_open(&bed, again);
	CHECK_EQ(used_bytes(&bed), used + n * REFILL_SIZE);
	CHECK_EQ(n % 341, (11 + 2 * 341 - 512) % 341);
	for (i = 0; i < n; i++)
		for (k = 0; k < ARRAY_SIZE(off); k++)
			CHECK(k % 50 == 0 || again[i] != off[k]);
	for (i = 0; i < n; i++)
		CHECK_EQ(give(&bed, again[i], REFILL_SIZE), 0);
	CHECK(reclaim(&bed));
	wort_alloc_keep_reserve(alloc_of(&bed), REFILL_SIZE, 10);
	CHECK_EQ(take_open(&bed, again), n - 10);
	wort_alloc_drop_reserve(alloc_of(&bed), REFILL_SIZE);
	bed_close(&bed);
}

/* Objects of 2000 bytes until there is no space, and all of them given back. */
static u32 fill_and_empty(struct bed *bed)
{
	static u64 off[1024];
	u32 n, i;

	for (n = 0; n < ARRAY_SIZE(off); n++) {
		struct wort_op op;
		int err;

		begin(bed, &op);
		err = wort_alloc_reserve(&op, 2000);
		if (!err)
			off[n] = wort_alloc_take(&op);
		wort_pm_fence(&op);
		wort_op_end(&op);
		if (!CHECK(!err || err == -ENOSPC) || err)
			break;
	}
	for (i = 0; i < n; i++)
		CHECK_EQ(give(bed, off[i], 2000), 0);
	CHECK(reclaim(bed));
	return n;
}

/* What is at hand keeps no extent from others who need it. */
void check_alloc_cache(void)
{
	struct bed bed;
	u32 n, size;
	u64 off;

	bed_open(&bed, MIB, 8192);
	n = fill_and_empty(&bed);
	CHECK_LE(400, n);
	for (size = 16; size <= 2048; size += 16) {
		CHECK_EQ(give(&bed, take(&bed, size), size), 0);
		CHECK(reclaim(&bed));
	}
	off = wort_cache_get(alloc_of(&bed), wort_class_of(1024));
	CHECK(off);
	mutex_lock(&alloc_of(&bed)->lock);
	wort_extent_untake(alloc_of(&bed), off, false);
	mutex_unlock(&alloc_of(&bed)->lock);
	CHECK_EQ(fill_and_empty(&bed), n);
	bed_close(&bed);
}

/* What nobody owns is found by a check; so is what is owned and free. */
void check_alloc_leak(void)
{
	struct wort_check_arg arg;
	struct wort_key key = { (const u8 *)"k", 1 };
	struct bed bed;
	u64 off;

	bed_open(&bed, 4 * MIB, 65536);
	bed_check(&bed);
	off = take(&bed, 24);
	bed_check_arg(&bed, 0, &arg);
	CHECK_EQ(arg.out_nr_damaged, 1);
	CHECK_EQ(arg.out_damaged_off, off);
	CHECK_EQ(give(&bed, off, 24), 0);
	bed_check(&bed);
	CHECK_EQ(pm_put(bed.index, "k", 1, "12345678", 8), 0);
	off = bed_record(&bed, "k", 1);
	CHECK_EQ(give(&bed, off, 24), 0);
	bed_check_arg(&bed, 0, &arg);
	CHECK_EQ(arg.out_nr_damaged, 1);
	CHECK_EQ(wort_index_delete(bed.index, &key, NULL, NULL), -EROFS);
	bed_close(&bed);
}

/*
 * While an owner may still be found nothing is given back in an extent that was open
 * before the attach; in one that was opened since it is.
 */
void check_alloc_walking(void)
{
	struct bed bed;
	u64 old, off;

	bed_open(&bed, 4 * MIB, 65536);
	CHECK_EQ(pm_put(bed.index, "k", 1, "12345678", 8), 0);
	old = bed_record(&bed, "k", 1);
	bed_detach(&bed);
	bed_attach(&bed);
	CHECK_EQ(pm_del(bed.index, "k", 1), 0);
	CHECK(!reclaim(&bed));
	off = take(&bed, 1000);
	CHECK_EQ(give(&bed, off, 1000), 0);
	CHECK(reclaim(&bed));
	drain(&bed);
	CHECK_EQ(take(&bed, 1000), off);
	CHECK_EQ(give(&bed, off, 1000), 0);
	pmpool_settle();
	drain(&bed);
	CHECK_EQ(take(&bed, 24), old);
	bed_close(&bed);
}

#define KEPT_SIZE	200

/* What happens to an object in an extent that was open before the attach. */
enum kept {
	KEPT_EARLY, KEPT_ONLY, KEPT_TWICE, KEPT_MARKED, MARKED_KEPT, NODE_KEPT,
	KEPT_NODE, KEPT_FREED, MARKED_TWICE, UNMARKED, KEPT_NR
};

static int keep(struct bed *bed, u64 off, u64 size)
{
	struct wort_op op;
	int err;

	begin(bed, &op);
	op.alone = false;
	err = wort_alloc_keep(&op, off, size);
	/* The next step may meet a race. */
	CHECK(!op.alone);
	wort_op_end(&op);
	return err;
}

static int mark(struct bed *bed, u64 off, bool first)
{
	struct wort_op op;
	int err;

	begin(bed, &op);
	err = wort_alloc_mark(&op, off, KEPT_SIZE, first);
	wort_op_end(&op);
	return err;
}

/* Objects that no index owns, in extents of which nothing is known. */
static void keep_open(struct bed *bed, u64 off[KEPT_NR])
{
	u32 i;

	bed_open(bed, 4 * MIB, 65536);
	for (i = 0; i < KEPT_NR; i++)
		off[i] = take(bed, KEPT_SIZE);
	bed_detach(bed);
	bed_attach(bed);
}

static void walk_begin(struct bed *bed)
{
	const bool stop = false;
	struct wort_op op;

	begin(bed, &op);
	CHECK_EQ(wort_alloc_read_table(&op, &stop), 0);
	wort_op_end(&op);
	wort_alloc_walk_begin(alloc_of(bed));
}

static void walk_end(struct bed *bed)
{
	struct wort_op op;

	begin(bed, &op);
	CHECK_EQ(wort_alloc_walk_end(&op), 0);
	wort_op_end(&op);
	CHECK(!alloc_of(bed)->walking);
}

/*
 * An operation frees objects before the walk has ended, of which the walk has marked one.
 * Reclaim gives back that one.
 */
void check_alloc_freed_unknown(void)
{
	static u64 off[300];
	u64 used, size;
	struct bed bed;
	u32 i;

	bed_open(&bed, 4 * MIB, 65536);
	size = wort_alloc_footprint(alloc_of(&bed), KEPT_SIZE);
	for (i = 0; i < ARRAY_SIZE(off); i++)
		off[i] = take(&bed, KEPT_SIZE);
	bed_detach(&bed);
	bed_attach(&bed);
	walk_begin(&bed);
	used = used_bytes(&bed);
	CHECK_EQ(mark(&bed, off[0], true), 0);
	CHECK_EQ(mark(&bed, off[200], true), 0);
	CHECK_EQ(give(&bed, off[200], KEPT_SIZE), 0);
	CHECK_EQ(give(&bed, off[250], KEPT_SIZE), 0);
	walk_end(&bed);
	CHECK_EQ(used_bytes(&bed), used + 2 * size);
	CHECK(reclaim(&bed));
	CHECK_EQ(used_bytes(&bed), used + size);
	CHECK(!wort_alloc_freeing(alloc_of(&bed)));
	CHECK_EQ(give(&bed, off[0], KEPT_SIZE), 0);
	CHECK(reclaim(&bed));
	bed_close(&bed);
}

static void keep_all(struct bed *bed, const u64 *off)
{
	CHECK_EQ(keep(bed, off[KEPT_ONLY], KEPT_SIZE), 0);
	CHECK_EQ(keep(bed, off[KEPT_TWICE], KEPT_SIZE), 0);
	CHECK_EQ(keep(bed, off[KEPT_TWICE], KEPT_SIZE), 0);
	CHECK_EQ(keep(bed, off[KEPT_MARKED], KEPT_SIZE), 0);
	CHECK_EQ(mark(bed, off[KEPT_MARKED], true), 0);
	CHECK_EQ(mark(bed, off[KEPT_MARKED], true), 0);
	CHECK_EQ(mark(bed, off[MARKED_KEPT], true), 0);
	CHECK_EQ(keep(bed, off[MARKED_KEPT], KEPT_SIZE), 0);
	CHECK_EQ(mark(bed, off[MARKED_KEPT], true), 0);
	CHECK_EQ(mark(bed, off[NODE_KEPT], false), 0);
	CHECK_EQ(keep(bed, off[NODE_KEPT], KEPT_SIZE), 0);
	CHECK_EQ(mark(bed, off[NODE_KEPT], false), 0);
	CHECK_EQ(keep(bed, off[KEPT_NODE], KEPT_SIZE), 0);
	CHECK_EQ(mark(bed, off[KEPT_NODE], false), 0);
	CHECK_EQ(keep(bed, off[KEPT_FREED], KEPT_SIZE), 0);
	CHECK_EQ(give(bed, off[KEPT_FREED], KEPT_SIZE), 0);
	CHECK_EQ(mark(bed, off[MARKED_TWICE], true), 0);
	CHECK_EQ(mark(bed, off[MARKED_TWICE], true), -EUCLEAN);
	CHECK_EQ(mark(bed, off[MARKED_TWICE], false), -EUCLEAN);
}

/* An object whose reference moves while the walk runs has one owner, whatever is met. */
void check_alloc_keep(void)
{
	u64 off[KEPT_NR], used, size;
	struct bed bed;
	u32 i;

	keep_open(&bed, off);
	size = wort_alloc_footprint(alloc_of(&bed), KEPT_SIZE);
	CHECK_EQ(keep(&bed, off[KEPT_EARLY], KEPT_SIZE), 0);
	walk_begin(&bed);
	used = used_bytes(&bed);
	keep_all(&bed, off);
	CHECK_EQ(keep(&bed, off[KEPT_ONLY] + 8, KEPT_SIZE), -EUCLEAN);
	CHECK_EQ(keep(&bed, off[KEPT_ONLY], 24), -EUCLEAN);
	CHECK_EQ(keep(&bed, 0, KEPT_SIZE), -EUCLEAN);
	CHECK_EQ(used_bytes(&bed) - used, (KEPT_NR - 2) * size);
	walk_end(&bed);
	CHECK_EQ(used_bytes(&bed) - used, (KEPT_NR - 2) * size);
	CHECK_EQ(keep(&bed, off[UNMARKED], KEPT_SIZE), 0);
	for (i = 0; i < KEPT_NR; i++)
		CHECK_EQ(give(&bed, off[i], KEPT_SIZE),
			 i == KEPT_EARLY || i == UNMARKED || i == KEPT_FREED ?
			 -EUCLEAN : 0);
	CHECK(reclaim(&bed));
	CHECK_EQ(used_bytes(&bed), used);
	bed_check(&bed);
	bed_close(&bed);
}

static struct bed *moving_bed;
static u64 moving_off;
static int moving_section[2];
static u32 moves;

/*
 * A grace period waits for an operation that moves a reference, and now ends.  Another one
 * begins while the first grace period waits.
 */
static void end_moving(void)
{
	struct srcu_struct *writers = &moving_bed->pm.pool->locks.writers;

	CHECK(alloc_of(moving_bed)->noting);
	CHECK_EQ(alloc_of(moving_bed)->keeping, moves);
	if (!moves) {
		CHECK_EQ(keep(moving_bed, moving_off, KEPT_SIZE), 0);
		moving_section[1] = srcu_read_lock(writers);
	} else {
		shim_in_grace_period = NULL;
	}
	srcu_read_unlock(writers, moving_section[moves++]);
}

/*
 * Operations whose moves are not noted have ended before the walk begins.  A walk that
 * starts again finds the new places itself.
 */
void check_alloc_keep_begin(void)
{
	u64 off[KEPT_NR], used;
	struct bed bed;

	keep_open(&bed, off);
	used = used_bytes(&bed);
	moving_bed = &bed;
	moving_off = off[KEPT_EARLY];
	moves = 0;
	moving_section[0] = srcu_read_lock(&bed.pm.pool->locks.writers);
	shim_in_grace_period = end_moving;
	walk_begin(&bed);
	CHECK_EQ(moves, 2);
	CHECK(alloc_of(&bed)->keeping);
	CHECK_EQ(used_bytes(&bed), used);
	CHECK_EQ(keep(&bed, off[KEPT_ONLY], KEPT_SIZE), 0);
	CHECK_NE(used_bytes(&bed), used);
	bed.pm.pool->rewalk = true;
	pmpool_settle();
	CHECK(!alloc_of(&bed)->walking);
	CHECK_EQ(used_bytes(&bed), used);
	CHECK_EQ(give(&bed, off[KEPT_ONLY], KEPT_SIZE), -EUCLEAN);
	bed_check(&bed);
	bed_close(&bed);
}

static u32 graces;

/* There is always somebody for whom a grace period waits. */
static void grace_met(void)
{
	struct srcu_struct *writers = &moving_bed->pm.pool->locks.writers;

	graces += alloc_of(moving_bed)->walking && moving_bed->pm.pool->walk_indexes;
	srcu_read_unlock(writers, moving_section[0]);
	moving_section[0] = srcu_read_lock(writers);
}

/*
 * A reader may still read an object that was freed before the walk reached it.  So the walk waits
 * for a grace period behind the last index, before it gives out what it has not marked.
 */
void check_alloc_walk_waits(void)
{
	u64 off[KEPT_NR];
	struct bed bed;

	keep_open(&bed, off);
	moving_bed = &bed;
	graces = 0;
	moving_section[0] = srcu_read_lock(&bed.pm.pool->locks.writers);
	shim_in_grace_period = grace_met;
	pmpool_settle();
	shim_in_grace_period = NULL;
	srcu_read_unlock(&bed.pm.pool->locks.writers, moving_section[0]);
	CHECK(!alloc_of(&bed)->walking);
	CHECK_EQ(graces, 2);		/* of writers, and of readers */
	bed_close(&bed);
}

/* The walk meets an object that is free, in an extent that was opened since the attach. */
void check_alloc_mark_free(void)
{
	u64 old[KEPT_NR], off;
	struct bed bed;

	keep_open(&bed, old);
	off = take(&bed, KEPT_SIZE);
	take(&bed, KEPT_SIZE);		/* so that the extent stays open */
	walk_begin(&bed);
	CHECK_EQ(mark(&bed, off, true), 0);
	CHECK_EQ(give(&bed, off, KEPT_SIZE), 0);
	CHECK(reclaim(&bed));
	drain(&bed);
	CHECK_EQ(mark(&bed, off, true), -EUCLEAN);
	walk_end(&bed);
	bed_close(&bed);
}

/* Extents in which the marks and what is allocated differ. */
static u32 differences(struct bed *bed, struct wort_marks *marks)
{
	struct wort_op op;
	u64 bad_off;
	u32 bad;

	begin(bed, &op);
	CHECK_EQ(wort_marks_compare(&op, marks, &bad, &bad_off), 0);
	wort_op_end(&op);
	return bad;
}

static int add_mark(struct bed *bed, struct wort_marks *marks, u64 off)
{
	struct wort_object object = { off, KEPT_SIZE, true };
	struct wort_op op;

	begin(bed, &op);
	wort_marks_add(&op, marks, &object, 1);
	wort_op_end(&op);
	return object.err;
}

/* A check that runs while references move: it may miss objects, or find them twice. */
void check_alloc_keep_check(void)
{
	struct wort_marks marks;
	struct bed bed;
	u64 a, b;
	u32 bad;

	bed_open(&bed, 4 * MIB, 65536);
	a = take(&bed, KEPT_SIZE);
	b = take(&bed, KEPT_SIZE);
	CHECK_EQ(wort_marks_begin(&marks, alloc_of(&bed)), 0);
	bad = differences(&bed, &marks);
	CHECK_EQ(keep(&bed, a, KEPT_SIZE), 0);
	CHECK_EQ(add_mark(&bed, &marks, b), 0);
	CHECK_EQ(differences(&bed, &marks), bad - 1);
	CHECK_EQ(add_mark(&bed, &marks, b), -EUCLEAN);
	CHECK_EQ(keep(&bed, b, KEPT_SIZE), 0);
	CHECK_EQ(add_mark(&bed, &marks, b), 1);
	CHECK_EQ(add_mark(&bed, &marks, a), 0);
	CHECK_EQ(add_mark(&bed, &marks, a), 1);
	CHECK_EQ(differences(&bed, &marks), bad - 1);
	wort_marks_end(&marks);
	CHECK_EQ(give(&bed, a, KEPT_SIZE), 0);
	CHECK_EQ(give(&bed, b, KEPT_SIZE), 0);
	bed_close(&bed);
}

/*
 * Of two operations that reserve in an extent which is being opened one goes without what it
 * reserved: the other one still stores the word of the extent.
 */
void check_alloc_opening(void)
{
	struct wort_op taker, other;
	struct wort_geometry *geo;
	__le64 *table;
	struct bed bed;
	u64 off;

	bed_open(&bed, MIB, 4096);
	geo = &alloc_of(&bed)->geo;
	table = (void *)((u8 *)bed.pm.region.base + geo->table_off);
	begin(&bed, &taker);
	begin(&bed, &other);
	CHECK_EQ(wort_alloc_reserve(&taker, 900), 0);
	CHECK_EQ(wort_alloc_reserve(&other, 900), 0);
	CHECK_EQ(taker.reserved[0] / 4096, other.reserved[0] / 4096);
	CHECK_EQ(table[(taker.reserved[0] - geo->data_off) / 4096], 0);
	wort_op_end(&other);
	off = wort_alloc_take(&taker);
	wort_pm_fence(&taker);
	wort_op_end(&taker);
	CHECK_NE(table[(off - geo->data_off) / 4096], 0);
	CHECK_EQ(give(&bed, off, 900), 0);
	bed_close(&bed);
}

/* Runs take whole extents side by side and give them all back. */
void check_alloc_runs(void)
{
	static const u64 sizes[] = { 1025, 4096, 4097, 12288, 65536, 66576 };
	struct wort_alloc_info before, after;
	u64 off[ARRAY_SIZE(sizes)], end;
	struct bed bed;
	u32 i, k;

	bed_open(&bed, 1 * MIB, 4096);
	wort_alloc_info(alloc_of(&bed), &before);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		off[i] = take(&bed, sizes[i]);
		CHECK_EQ(off[i] % 4096, 0);
		end = off[i] + sizes[i];
		for (k = 0; k < i; k++)
			CHECK(off[k] >= end || off[k] + sizes[k] <= off[i]);
		CHECK(wort_alloc_footprint(alloc_of(&bed), sizes[i]) - sizes[i]
		      < 4096);
	}
	CHECK_EQ(give(&bed, off[1] + 4096, 4096), -EUCLEAN);
	CHECK_EQ(give(&bed, off[4] + 4096, 65536), -EUCLEAN);
	CHECK_EQ(give(&bed, off[4], 4096), -EUCLEAN);
	CHECK_EQ(give(&bed, off[0], 24), -EUCLEAN);
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		CHECK_EQ(give(&bed, off[i], sizes[i]), 0);
	reclaim(&bed);
	wort_alloc_info(alloc_of(&bed), &after);
	CHECK(same_info(&before, &after));
	bed_close(&bed);
}

#define LIVE_MAX	400

struct live {
	u64 off[LIVE_MAX];
	u64 size[LIVE_MAX];
	u32 nr;
};

static void check_apart(const struct live *live, u64 off, u64 size)
{
	u32 i;

	for (i = 0; i < live->nr; i++)
		CHECK(live->off[i] >= off + size ||
		      live->off[i] + live->size[i] <= off);
}

static void alloc_random(u32 extent_size, u64 seed)
{
	struct live live = { };
	struct wort_op op;
	struct bed bed;
	u64 used, size;
	u32 step, at;

	bed_open(&bed, 16 * MIB, extent_size);
	used = used_bytes(&bed);
	for (step = 0; step < 4000; step++) {
		if (test_random(&seed) % 8 == 0)
			reclaim(&bed);
		if (live.nr < LIVE_MAX && test_random(&seed) % 100 < 55) {
			size = 1 + test_random(&seed) %
			       (16ULL << test_random(&seed) % 13);
			begin(&bed, &op);
			if (!wort_alloc_reserve(&op, size)) {
				at = wort_alloc_take(&op);
				check_apart(&live, at, size);
				live.off[live.nr] = at;
				live.size[live.nr++] = size;
			}
			wort_op_end(&op);
		} else if (live.nr) {
			at = test_random(&seed) % live.nr;
			CHECK_EQ(give(&bed, live.off[at], live.size[at]), 0);
			live.off[at] = live.off[--live.nr];
			live.size[at] = live.size[live.nr];
		}
	}
	for (; live.nr; live.nr--)
		CHECK_EQ(give(&bed, live.off[live.nr - 1],
			      live.size[live.nr - 1]), 0);
	reclaim(&bed);
	CHECK_EQ(used_bytes(&bed), used);
	bed_check(&bed);
	bed_close(&bed);
}

/* Objects never overlap, and all of them come back. */
void check_alloc_random(void)
{
	alloc_random(4096, unit_seed);
	alloc_random(65536, unit_seed + 1);
	alloc_random(1048576, unit_seed + 2);
}

#define NR_RUNS	700	/* in two groups */

/* Each word of the extent table was read with its group: to free reads none again. */
void check_alloc_table_once(void)
{
	static u64 off[NR_RUNS];
	struct wort_op op;
	struct bed bed;
	u8 *table;
	u32 i;

	bed_open(&bed, 4 * MIB, 4096);
	for (i = 0; i < NR_RUNS; i++) {
		begin(&bed, &op);
		CHECK_EQ(wort_alloc_reserve(&op, 4096), 0);
		off[i] = wort_alloc_take(&op);
		wort_pm_fence(&op);
		wort_op_end(&op);
	}
	table = (u8 *)bed.pm.region.base + bed.pm.pool->alloc.geo.table_off;
	mprotect(table, 8192, PROT_NONE);
	for (i = 0; i < NR_RUNS; i++)
		CHECK_EQ(give(&bed, off[i], 4096), 0);
	mprotect(table, 8192, PROT_READ | PROT_WRITE);
	reclaim(&bed);
	bed_check(&bed);
	bed_close(&bed);
}

#define OBJECT_SMALL	24
#define OBJECT_LARGE	14336	/* so that four leave a rest of an extent of 64 KiB */

/*
 * Take most slots of an extent, and free all of them.  The cache of a processor holds the
 * others; records of a hostile image can free those as well.
 */
static u64 free_all_slots(struct bed *bed)
{
	const u32 size = wort_class_size(wort_class_of(OBJECT_SMALL));
	u64 base = take(bed, OBJECT_SMALL);
	u32 slots = 65536 / size, i;

	/* The first slot of the last word of the bitmap brings the others into the cache. */
	for (i = 1; i <= (slots - 1) / 64 * 64; i++)
		CHECK_EQ(take(bed, OBJECT_SMALL), base + i * size);
	for (i = 0; i < slots; i++)
		CHECK_EQ(give(bed, base + i * size, OBJECT_SMALL), 0);
	CHECK(reclaim(bed));
	return base;
}

/*
 * A full pool takes slots back from the caches.  Their extent serves larger objects by then,
 * and the last cached slot lies where no object of it fits: no object may be given out there.
 */
void check_alloc_other_class(void)
{
	struct wort_alloc *alloc;
	u64 base, off, in;
	struct wort_op op;
	struct bed bed;
	int err = 0;

	bed_open(&bed, MIB, 65536);
	alloc = alloc_of(&bed);
	base = free_all_slots(&bed);
	CHECK_EQ(wort_extent_of(alloc, base)->state, WORT_EXTENT_FREE);
	while (!err) {
		begin(&bed, &op);
		err = wort_alloc_reserve(&op, OBJECT_LARGE);
		if (!err) {
			off = wort_alloc_take(&op);
			in = (off - alloc->geo.data_off) % 65536;
			CHECK_LE(in + OBJECT_LARGE, 65536);
		}
		wort_pm_fence(&op);
		wort_op_end(&op);
	}
	CHECK_EQ(err, -ENOSPC);
	bed_close(&bed);
}
