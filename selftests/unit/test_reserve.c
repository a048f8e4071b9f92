// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is kept back for operations that make room.
 */
#include <linux/bitmap.h>

#include "space.h"

#define NODE	200		/* of a class that is cached */
#define BIG	1000
#define MOST	8192

static u64 taken[MOST];

/* Take an object; 0 if there is no space. */
static u64 take(struct bed *bed, u64 size, bool must_free)
{
	struct wort_op op;
	u64 off = 0;
	int err;

	space_begin(bed, &op);
	op.must_free = must_free;
	err = wort_alloc_reserve(&op, size);
	if (!err)
		off = wort_alloc_take(&op);
	else
		CHECK_EQ(err, -ENOSPC);
	wort_pm_fence(&op);
	wort_op_end(&op);
	return off;
}

/* Objects until there is no space; returns how many, whose offsets are in @off. */
static u32 fill(struct bed *bed, u64 *off, u64 size, bool must_free)
{
	u32 n = 0;

	while (n < MOST && (off[n] = take(bed, size, must_free)))
		n++;
	return n;
}

static void give_all(struct bed *bed, const u64 *off, u32 n, u64 size)
{
	while (n--)
		CHECK_EQ(space_give(bed, off[n], size), 0);
}

static bool reclaim(struct bed *bed)
{
	struct wort_op op;
	bool any;

	space_begin(bed, &op);
	any = wort_alloc_reclaim(&op, NULL);
	wort_op_end(&op);
	return any;
}

/* Do the sums agree with the bitmaps? */
static u32 free_slots(struct wort_alloc *alloc, struct list_head *list, u32 class)
{
	struct wort_slots *slots;
	u32 n = 0, used, word;

	list_for_each_entry(slots, list, partial) {
		used = 0;
		for (word = 0; word < BITS_TO_LONGS(slots->slots); word++)
			used += hweight_long(slots->word[word].bits[WORT_BITS_USED]);
		CHECK_EQ(slots->nr_used, used);
		CHECK_EQ(wort_extent_at(alloc, slots->nr)->class, class);
		n += slots->slots - used;
	}
	return n;
}

static void check_sums(struct bed *bed)
{
	struct wort_alloc *alloc = space_alloc(bed);
	u32 class;

	for (class = 0; class < WORT_NR_CLASSES; class++)
		CHECK_EQ(alloc->nr_spare[class],
			 free_slots(alloc, &alloc->partial[class], class) +
			 free_slots(alloc, &alloc->zeroed[class], class));
}

/* A full pool has what is kept, whether its slots are free or a whole extent. */
void check_reserve_full(void)
{
	static const u32 nrs[] = { 1, 5, 16 };
	struct bed bed;
	u32 i, n, k;

	for (i = 0; i < ARRAY_SIZE(nrs); i++) {
		bed_open(&bed, 256 * KIB, 4096);
		wort_alloc_keep_reserve(space_alloc(&bed), NODE, nrs[i]);
		/* A slot of the class from the beginning, or not before it is needed. */
		if (i % 2)
			taken[0] = take(&bed, NODE, false);
		n = fill(&bed, taken + 1, BIG, false);
		for (k = 0; k < nrs[i]; k++) {
			taken[1 + n + k] = take(&bed, NODE, true);
			CHECK(taken[1 + n + k]);
		}
		check_sums(&bed);
		CHECK(!take(&bed, BIG, false));
		give_all(&bed, taken + 1, n, BIG);
		give_all(&bed, taken + 1 + n, nrs[i], NODE);
		if (i % 2)
			give_all(&bed, taken, 1, NODE);
		reclaim(&bed);
		check_sums(&bed);
		bed_check(&bed);
		wort_alloc_drop_reserve(space_alloc(&bed), NODE);
		bed_close(&bed);
	}
}

/* Other operations leave the slots alone, also those in the caches. */
void check_reserve_slots(void)
{
	const u32 keep = 12;
	struct wort_op op;
	struct bed bed;
	u32 n;

	bed_open(&bed, 256 * KIB, 4096);
	wort_alloc_keep_reserve(space_alloc(&bed), NODE, keep);
	n = fill(&bed, taken, NODE, false);
	CHECK_GE(space_alloc(&bed)->nr_spare[wort_class_of(NODE)], keep);
	check_sums(&bed);
	/* Nothing of it is at hand when an operation that makes room has been there. */
	taken[n] = take(&bed, NODE, true);
	CHECK(taken[n]);
	CHECK(!take(&bed, NODE, false));
	/* What comes back goes to the reserve first. */
	give_all(&bed, taken, 1, NODE);
	reclaim(&bed);
	CHECK(!take(&bed, NODE, false));
	give_all(&bed, taken + 1, 1, NODE);
	reclaim(&bed);
	taken[0] = take(&bed, NODE, false);
	CHECK(taken[0]);
	CHECK(!take(&bed, NODE, false));
	/* What is reserved and not taken goes back there. */
	space_begin(&bed, &op);
	op.must_free = true;
	CHECK_EQ(wort_alloc_reserve(&op, NODE), 0);
	wort_op_end(&op);
	CHECK(!take(&bed, NODE, false));
	check_sums(&bed);
	/* Without it everybody takes the rest. */
	wort_alloc_keep_reserve(space_alloc(&bed), NODE, 1);
	wort_alloc_drop_reserve(space_alloc(&bed), NODE);
	CHECK(!take(&bed, NODE, false));
	wort_alloc_drop_reserve(space_alloc(&bed), NODE);
	CHECK_GE(fill(&bed, taken + n + 1, NODE, false), keep - 1);
	check_sums(&bed);
	bed_close(&bed);
}

/* The walk has not ended: all that is known of are extents that were free. */
void check_reserve_walking(void)
{
	struct bed bed;
	u32 n, k;

	bed_open(&bed, 256 * KIB, 4096);
	bed_detach(&bed);
	bed_attach(&bed);
	CHECK(space_alloc(&bed)->walking);
	wort_alloc_keep_reserve(space_alloc(&bed), NODE, 16);
	wort_alloc_keep_reserve(space_alloc(&bed), 5000, 1);
	n = fill(&bed, taken, BIG, false);
	CHECK_EQ(space_alloc(&bed)->nr_free, 3);
	CHECK(!take(&bed, 3000, false));
	for (k = 0; k < 16; k++)
		CHECK(take(&bed, NODE, true));
	CHECK(take(&bed, 5000, true));
	CHECK(!take(&bed, NODE, false));
	CHECK_EQ(fill(&bed, taken + n, NODE, true), 4096 / 208 - 16);
	CHECK(!take(&bed, 3000, true));
	check_sums(&bed);
	CHECK_GE(n, 100);
	bed_close(&bed);
}

/* The reserve is in use: there is something to wait for, until there is not. */
void check_reserve_waits(void)
{
	struct wort_op op, other;
	struct bed bed;
	u32 n;

	bed_open(&bed, 256 * KIB, 4096);
	wort_alloc_keep_reserve(space_alloc(&bed), NODE, 2);
	n = fill(&bed, taken, NODE, false);
	n += fill(&bed, taken + n, NODE, true);
	CHECK(!take(&bed, NODE, true));
	space_begin(&bed, &op);
	op.must_free = true;
	CHECK_EQ(wort_alloc_reserve(&op, NODE), -ENOSPC);
	CHECK_EQ(wort_pool_wait_space(bed.pm.pool, &op), -ENOSPC);
	CHECK_EQ(space_give(&bed, taken[0], NODE), 0);
	CHECK_EQ(wort_pool_wait_space(bed.pm.pool, &op), 0);
	wort_op_end(&op);
	space_begin(&bed, &op);
	op.must_free = true;
	CHECK_EQ(wort_alloc_reserve(&op, NODE), 0);
	/* Another one comes while it is reserved, and goes on when it was not needed. */
	space_begin(&bed, &other);
	other.must_free = true;
	CHECK_EQ(wort_alloc_reserve(&other, NODE), -ENOSPC);
	wort_op_end(&op);
	CHECK_EQ(wort_pool_wait_space(bed.pm.pool, &other), 0);
	CHECK_EQ(wort_alloc_reserve(&other, NODE), 0);
	wort_op_end(&other);
	check_sums(&bed);
	bed_close(&bed);
}

/* Any mixture, with the sums recomputed: other operations never go below the reserve. */
void check_reserve_random(void)
{
	static const u64 sizes[] = { 24, NODE, BIG, 3000 };
	u64 seed = unit_seed, size[MOST];
	u32 step, n = 0, at, class = wort_class_of(NODE), before;
	struct wort_alloc *alloc;
	struct bed bed;
	bool must_free;

	bed_open(&bed, 512 * KIB, 4096);
	alloc = space_alloc(&bed);
	wort_alloc_keep_reserve(alloc, NODE, 10);
	for (step = 0; step < 20000; step++) {
		must_free = test_random(&seed) % 16 == 0;
		before = alloc->nr_spare[class];
		if (test_random(&seed) % 100 < 52 && n < MOST) {
			size[n] = sizes[(test_random(&seed) >> 20) % 4];
			taken[n] = take(&bed, size[n], must_free);
			n += taken[n] != 0;
			CHECK(must_free || alloc->nr_spare[class] >= min(before, 10U));
			CHECK(must_free || alloc->nr_spare[class] >= 10 ||
			      alloc->nr_free);
		} else if (n) {
			at = (test_random(&seed) >> 20) % n;
			CHECK_EQ(space_give(&bed, taken[at], size[at]), 0);
			taken[at] = taken[--n];
			size[at] = size[n];
		}
		if (test_random(&seed) % 8 == 0)
			reclaim(&bed);
		if (step % 100 == 0)
			check_sums(&bed);
	}
	while (n--)
		CHECK_EQ(space_give(&bed, taken[n], size[n]), 0);
	reclaim(&bed);
	space_drain(&bed);
	check_sums(&bed);
	bed_check(&bed);
	bed_close(&bed);
}
