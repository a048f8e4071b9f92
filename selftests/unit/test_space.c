// SPDX-License-Identifier: GPL-2.0-only
/*
 * Full pools: what fits, and that all of it comes back.
 */
#include "model.h"

static u8 value[WORT_VALUE_MAX];

/* A key for each number, in no order. */
static void mixed_key(u8 *key, u64 n)
{
	key_u64(key, (n + 1) * 0x9e3779b97f4a7c15ULL);
}

static int put_nth(struct bed *bed, u64 n, u32 len)
{
	u8 key[8];

	mixed_key(key, n);
	return pm_put(bed->index, key, 8, value, len);
}

static int del_nth(struct bed *bed, u64 n)
{
	u8 key[8];

	mixed_key(key, n);
	return pm_del(bed->index, key, 8);
}

/* Records that fit behind the first @n, until -ENOSPC. */
static u64 fill(struct bed *bed, u64 n, u32 len)
{
	int err;

	do {
		err = put_nth(bed, n, len);
	} while (!err && ++n);
	CHECK_EQ(err, -ENOSPC);
	return n;
}

/* A put that is refused stores nothing. */
static void check_refused(struct bed *bed, u64 n, u32 len)
{
	u64 size = bed->pm.region.size;
	u8 *before = malloc(size);

	memcpy(before, (u8 *)bed->pm.region.base, size);
	CHECK_EQ(put_nth(bed, n, len), -ENOSPC);
	CHECK(!memcmp(before, (u8 *)bed->pm.region.base, size));
	free(before);
}

/* The smallest pool, with each length: delete always works, puts do again. */
void check_full_small(void)
{
	static const u32 lens[] = { 8, 300, 2000, 5000 };
	struct wort_alloc_info info;
	u64 n, i, again;
	struct bed bed;
	u32 k;

	for (k = 0; k < ARRAY_SIZE(lens); k++) {
		bed_open(&bed, 256 * KIB, 4096);
		n = fill(&bed, 0, lens[k]);
		check_refused(&bed, n, lens[k]);
		bed_check(&bed);
		wort_alloc_info(&bed.pm.pool->alloc, &info);
		CHECK_GE(info.free_extents, bed.pm.pool->alloc.reserve);
		for (i = 0; i < n; i += 2)
			CHECK_EQ(del_nth(&bed, i), 0);
		for (i = 0; i < n; i += 2)
			CHECK_EQ(put_nth(&bed, i, lens[k]), 0);
		bed_check(&bed);
		for (i = 0; i < n; i++)
			CHECK_EQ(del_nth(&bed, i), 0);
		again = fill(&bed, 0, lens[k]);
		CHECK_EQ(again, n);
		bed_check(&bed);
		bed_close(&bed);
	}
}

/* One length after another in the same pool; each replace of the last. */
void check_full_values(void)
{
	static const u32 lens[] = { 65536, 8, 5000, 300, 65536, 40, 65536 };
	u64 n, i, first = 0;
	struct bed bed;
	u32 k;

	bed_open(&bed, 4 * MIB, 65536);
	for (k = 0; k < ARRAY_SIZE(lens); k++) {
		n = fill(&bed, 0, lens[k]);
		if (!first)
			first = n;
		if (lens[k] == 65536)
			CHECK_EQ(n, first);
		check_refused(&bed, n, lens[k]);
		if (lens[k] == 8)
			CHECK_EQ(put_nth(&bed, 0, 8), 0);
		bed_check(&bed);
		for (i = 0; i < n; i++)
			CHECK_EQ(del_nth(&bed, n - 1 - i), 0);
	}
	bed_check(&bed);
	bed_close(&bed);
}

void check_full_destroy(void)
{
	u32 round;
	struct bed bed;
	u64 n = 0, again;

	bed_open(&bed, MIB, 4096);
	for (round = 0; round < 6; round++) {
		again = fill(&bed, 0, 300);
		if (n)
			CHECK_EQ(again, n);
		n = again;
		CHECK_EQ(wort_index_destroy(bed.pm.pool, (u8 *)"t", 1), 0);
		wort_index_put(bed.index);
		bed.index = pmpool_index(&bed.pm, "t");
		if (round % 3 == 1)
			bed_check(&bed);
		if (round % 3 == 2) {
			bed_detach(&bed);
			bed_attach(&bed);
		}
	}
	bed_close(&bed);
}

/* Space that a power cut made unknown is waited for, never refused. */
void check_full_after_attach(void)
{
	struct bed bed;
	u64 n, i;
	bool both;

	bed_open(&bed, MIB, 4096);
	n = fill(&bed, 0, 300);
	for (i = 0; i < n; i += 3) {
		CHECK_EQ(del_nth(&bed, i), 0);
		bed_detach(&bed);
		bed_attach(&bed);
		both = i % 2 && i + 1 < n;
		if (both)
			CHECK_EQ(del_nth(&bed, i + 1), 0);
		CHECK_EQ(put_nth(&bed, i, 300), 0);
		if (both)
			CHECK_EQ(put_nth(&bed, i + 1, 300), 0);
	}
	CHECK_GE(fill(&bed, n, 300), n);
	bed_check(&bed);
	bed_close(&bed);
}

/* No room for a further index: those that are there stay. */
void check_full_catalogue(void)
{
	struct wort_index *index;
	struct bed bed;
	u32 n = 0, again;
	char name[20];
	int err;

	bed_open(&bed, 256 * KIB, 4096);
	do {
		snprintf(name, sizeof(name), "%u", n);
		err = wort_index_open(bed.pm.pool, (u8 *)name, strlen(name),
				      WORT_INDEX_OPEN_F_CREATE, 0, 0, &index);
		if (!err)
			wort_index_put(index);
	} while (!err && ++n);
	CHECK_EQ(err, -ENOSPC);
	CHECK(n > 300);
	bed_check(&bed);
	for (again = 0; again < n; again++) {
		snprintf(name, sizeof(name), "%u", again);
		CHECK_EQ(wort_index_destroy(bed.pm.pool, (u8 *)name,
					    strlen(name)), 0);
	}
	for (again = 0; again < n; again++) {
		snprintf(name, sizeof(name), "%u", n + again);
		CHECK_EQ(wort_index_open(bed.pm.pool, (u8 *)name, strlen(name),
					 WORT_INDEX_OPEN_F_CREATE, 0, 0,
					 &index), 0);
		wort_index_put(index);
	}
	bed_check(&bed);
	bed_close(&bed);
}

/* Bytes asked for, as percent of the device: keys, values and nodes. */
static double live_percent(struct bed *bed, u64 n, u32 len)
{
	struct wort_check_arg arg;
	u64 bytes;

	bed_check_arg(bed, 0, &arg);
	CHECK_EQ(arg.out_nr_damaged, 0);
	CHECK_EQ(arg.out_nr_leaves, n);
	bytes = n * (8 + len) +
		arg.out_nr_nodes * subject.unit->node_size;
	return 100.0 * bytes / bed->pm.region.size;
}

static void del_all(struct bed *bed, u64 n, u64 *rnd)
{
	u64 *order = malloc(n * sizeof(*order)), i;

	for (i = 0; i < n; i++)
		order[i] = i;
	shuffle(order, n, rnd);
	for (i = 0; i < n; i++)
		CHECK_EQ(del_nth(bed, order[i]), 0);
	free(order);
}

/* Twelve times full and empty, with values of four lengths in turn. */
void check_space_rounds(void)
{
	static const u32 lens[] = { 8, 300, 5120, 65536 };
	static const int least[] = { 0, 80, 75, 75 };
	u64 n, first[4] = { }, rnd = unit_seed;
	struct bed bed;
	double percent;
	u32 round, k;

	bed_open(&bed, 64 * MIB, unit_extent);
	for (round = 0; round < 12; round++) {
		k = round % ARRAY_SIZE(lens);
		n = fill(&bed, 0, lens[k]);
		percent = live_percent(&bed, n, lens[k]);
		printf("  %5u bytes x %7llu: %.1f %% of the device\n",
		       lens[k], (unsigned long long)n, percent);
		CHECK_GE(percent, least[k]);
		if (!first[k])
			first[k] = n;
		CHECK_LE(llabs((long long)(n - first[k])), first[k] / 20);
		del_all(&bed, n, &rnd);
	}
	bed_check(&bed);
	bed_close(&bed);
}

/* How many more records a copy of the pool takes. */
static u64 capacity(struct bed *bed)
{
	struct bed copy = { };
	u64 n;

	pmpool_settle();
	pmpool_map(&copy.pm, bed->pm.region.size, false);
	memcpy((u8 *)copy.pm.region.base, (u8 *)bed->pm.region.base,
	       bed->pm.region.size);
	bed_attach(&copy);
	pmpool_settle();
	n = fill(&copy, 1ULL << 40, 300) - (1ULL << 40);
	bed_close(&copy);
	return n;
}

static u32 aged_len(u64 r)
{
	static const u32 lens[] = { 8, 8, 40, 300, 300, 1000, 3000, 20000 };

	return lens[r % ARRAY_SIZE(lens)];
}

/* Fill to nine tenths, then replace and delete at random at that level. */
static u64 age(struct bed *bed, u64 *rnd)
{
	u64 used_max = bed->pm.region.size / 10 * 9, n = 0, i;
	struct wort_alloc_info info;

	for (;; n++) {
		wort_alloc_info(&bed->pm.pool->alloc, &info);
		if (info.used_bytes > used_max)
			break;
		CHECK_EQ(put_nth(bed, n, aged_len(test_random(rnd) >> 20)), 0);
	}
	for (i = 0; i < 200000; i++) {
		u64 at = (test_random(rnd) >> 20) % n;

		wort_alloc_info(&bed->pm.pool->alloc, &info);
		if (info.used_bytes - info.freeing_bytes > used_max)
			del_nth(bed, at);
		else
			CHECK_EQ(put_nth(bed, at,
					 aged_len(test_random(rnd) >> 20)), 0);
	}
	return n;
}

/* Power cuts again and again, half of them in the walk. */
static void crash_loops(struct bed *bed, u64 n, u64 *rnd)
{
	u32 loop, i;

	for (loop = 0; loop < 100; loop++) {
		bed_detach(bed);
		bed_attach(bed);
		for (i = 0; i < 20; i++)
			CHECK_EQ(put_nth(bed, n + i, 300), 0);
		if (loop % 2) {
			shim_alloc_fail_nth = (test_random(rnd) >> 20) % 200;
			shim_run_work();
			shim_alloc_fail_nth = -1;
		}
		for (i = 0; i < 20; i++)
			CHECK_EQ(del_nth(bed, n + i), 0);
	}
}

void check_space_aged(void)
{
	u64 rnd = unit_seed, n, before, after;
	struct bed bed;

	bed_open(&bed, 32 * MIB, unit_extent);
	n = age(&bed, &rnd);
	bed_check(&bed);
	before = capacity(&bed);
	crash_loops(&bed, n, &rnd);
	after = capacity(&bed);
	printf("  capacity left: %llu records, after crash loops %llu\n",
	       (unsigned long long)before, (unsigned long long)after);
	CHECK_GE(after, before);
	bed_check(&bed);
	bed_close(&bed);
}

#define QUEUE_LENGTH	300
#define QUEUE_ROUNDS	50000
#define FOLDER_NAMES	6400

/* Keys come at one end and go at the other: what was emptied is given back. */
static void queue_run(struct bed *bed, bool down)
{
	u64 i, value = 0;
	u8 key[8];

	for (i = 0; i < QUEUE_ROUNDS + QUEUE_LENGTH; i++) {
		key_u64(key, down ? U64_MAX - i : i);
		if (i < QUEUE_ROUNDS)
			CHECK_EQ(pm_put(bed->index, key, sizeof(key), &value, sizeof(value)), 0);
		key_u64(key, (down ? U64_MAX - i : i) + (down ? QUEUE_LENGTH : -QUEUE_LENGTH));
		if (i >= QUEUE_LENGTH)
			CHECK_EQ(pm_del(bed->index, key, sizeof(key)), 0);
	}
}

static u32 folder_name(char *key, u32 nr)
{
	return sprintf(key, "%04u/%02u", nr / 64, nr % 64);
}

static u64 bytes_owned(struct bed *bed)
{
	struct wort_check_arg arg;

	pmpool_settle();
	bed_check_arg(bed, 0, &arg);
	return arg.out_owned_bytes;
}

/* Nine folders of ten go, then the tenth: what is between those that stay goes, too. */
static void folders_run(struct bed *bed)
{
	const u32 left[] = { FOLDER_NAMES / 10, 0 };
	char key[16];
	u32 i, last;

	for (i = 0; i < FOLDER_NAMES; i++)
		CHECK_EQ(pm_put(bed->index, key, folder_name(key, i), key, 8), 0);
	for (last = 0; last < 2; last++) {
		for (i = 0; i < FOLDER_NAMES; i++)
			if ((i / 64 % 10 == 5) == last)
				CHECK_EQ(pm_del(bed->index, key, folder_name(key, i)), 0);
		CHECK_LE(bytes_owned(bed), 16384 + 80 * left[last]);
	}
}

/* The numbers in their order, or far from one another. */
static u64 scattered(u64 n, bool random)
{
	return random ? n * 0x9e3779b97f4a7c15ULL : n;
}

/* Returns how many numbers have a record. */
static u64 fill_up(struct bed *bed, bool random)
{
	u64 n, value = 0;
	u8 key[8];

	for (n = 0; ; n++) {
		key_u64(key, scattered(n, random));
		if (pm_put(bed->index, key, sizeof(key), &value, sizeof(value)))
			return n;
	}
}

/* A full pool gets room by deletes: in this order, and in the other one. */
static void full_run(struct bed *bed, bool down)
{
	u64 n = fill_up(bed, false), i;
	u8 key[8];

	for (i = 0; i < n; i++) {
		key_u64(key, down ? n - 1 - i : i);
		CHECK_EQ(pm_del(bed->index, key, sizeof(key)), 0);
	}
	CHECK_LE(bytes_owned(bed), bed->pm.region.size / 2);
}

void check_space_queue(void)
{
	struct bed bed;

	bed_open(&bed, MIB, 4096);
	queue_run(&bed, false);
	queue_run(&bed, true);
	folders_run(&bed);
	full_run(&bed, false);
	full_run(&bed, true);
	bed_check(&bed);
	bed_close(&bed);
}

/*
 * Of a full pool so many of a hundred records go, here and there.  Then they come back, or as
 * many others come, up to the first for which there is no room.  Returns how many of a hundred
 * of those that went.
 */
static u32 refill_run(u64 bytes, u32 percent, bool others)
{
	u64 rnd = unit_seed, n, i, nr_went = 0, nr = 0;
	struct bed bed;
	u8 key[8], *went;

	bed_open(&bed, bytes, bytes == MIB ? 4096 : 65536);
	n = fill_up(&bed, true);
	went = calloc(n, 1);
	for (i = 0; i < n; i++) {
		went[i] = (test_random(&rnd) >> 20) % 100 < percent;
		nr_went += went[i];
		key_u64(key, scattered(i, true));
		if (went[i])
			CHECK_EQ(pm_del(bed.index, key, sizeof(key)), 0);
		if (i % 64 == 0 && bytes == MIB)
			pmpool_settle();
	}
	pmpool_settle();
	for (i = 0; i < n && nr < nr_went; i++) {
		key_u64(key, scattered(others ? n + i : i, true));
		if (!others && !went[i])
			continue;
		if (pm_put(bed.index, key, sizeof(key), &i, sizeof(i)))
			break;
		nr++;
	}
	free(went);
	bed_check(&bed);
	/* The pool has kept the free extents that the walk after an attach needs. */
	pmpool_settle();
	CHECK_GE(bed.pm.pool->alloc.nr_free, bed.pm.pool->alloc.reserve);
	bed_close(&bed);
	return 100 * nr / nr_went;
}

void check_space_refill(void)
{
	CHECK_EQ(refill_run(MIB, 1, false), 100);
	CHECK_GE(refill_run(MIB, 10, false), 25);
	CHECK_GE(refill_run(MIB, 90, false), 50);
	CHECK_GE(refill_run(MIB, 90, true), 50);
	/* What goes comes back at once, and an extent has many pages of one size. */
	CHECK_GE(refill_run(4 * MIB, 10, true), 2);
	CHECK_GE(refill_run(4 * MIB, 90, false), 3);
}
