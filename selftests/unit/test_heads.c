// SPDX-License-Identifier: GPL-2.0-only
/*
 * The page of heads of atomic batches.
 */
#include "../../kmod/core/powercut.h"
#include "unit.h"

#define SIZE	(256 * KIB)
#define GROWN	(512 * KIB)

static struct wort_media_head *head_at(struct pmpool *pm, u32 nr)
{
	return (struct wort_media_head *)((u8 *)pm->region.base +
					  WORT_MEDIA_HEADS_OFF) + nr;
}

static bool heads_are_zero(struct pmpool *pm)
{
	static const u8 zeroes[WORT_MEDIA_NR_HEADS * 64];

	return !memcmp(head_at(pm, 0), zeroes, sizeof(zeroes));
}

static void map(struct pmpool *pm)
{
	pmpool_map(pm, GROWN, false);
	memset((u8 *)pm->region.base, 0xa5, GROWN);
	pm->region.size = SIZE;
	pmpool_format(pm, 4096);
}

static void unmap(struct pmpool *pm)
{
	pm->region.size = GROWN;
	pmpool_unmap(pm);
}

static void expect_damage(struct wort_pool *pool, u64 off)
{
	struct wort_check_arg arg = {
		.size = sizeof(arg), .flags = WORT_CHECK_F_CLEAR,
	};

	CHECK_EQ(wort_pool_check(pool, &arg), 0);
	CHECK_EQ(arg.out_nr_damaged, off ? 1 : 0);
	CHECK_EQ(arg.out_damaged_off, off);
}

/*
 * A head that refers to no list: records are served, nothing is stored, and a check
 * that is told to clear gives the batch up.
 */
void check_heads_damaged(void)
{
	static const u64 lists[] = { 1, 20480, 1ULL << 43, ~0ULL };
	u64 value = 42, found = 0;
	u32 nr, i, len = sizeof(found);
	struct wort_check_arg arg;
	struct bed bed;

	bed_open(&bed, SIZE, 4096);
	CHECK_EQ(pm_put(bed.index, "k", 1, &value, 8), 0);
	for (nr = 0; nr < WORT_MEDIA_NR_HEADS; nr += 21)
		for (i = 0; i < ARRAY_SIZE(lists); i++) {
			bed_detach(&bed);
			head_at(&bed.pm, nr)->redo = cpu_to_le64(lists[i]);
			bed_attach(&bed);
			CHECK_EQ(pm_get(bed.index, "k", 1, &found, &len), 0);
			CHECK_EQ(pm_put(bed.index, "k", 1, &value, 8), -EROFS);
			arg = (struct wort_check_arg){ .size = sizeof(arg) };
			CHECK_EQ(wort_pool_check(bed.pm.pool, &arg), 0);
			CHECK_EQ(arg.out_nr_damaged, 1);
			CHECK_EQ(arg.out_damaged_off, WORT_MEDIA_HEADS_OFF);
			arg.flags = WORT_CHECK_F_CLEAR;
			CHECK_EQ(wort_pool_check(bed.pm.pool, &arg), 0);
			CHECK_EQ(arg.out_nr_damaged, 0);
			CHECK_EQ(arg.out_nr_dropped, 1);
			CHECK_EQ(pm_put(bed.index, "k", 1, &value, 8), 0);
			CHECK(heads_are_zero(&bed.pm));
		}
	bed_close(&bed);
}

/* A batch of somebody else, under a pool that is attached. */
void check_heads_foreign(void)
{
	struct bed bed;

	bed_open(&bed, SIZE, 4096);
	head_at(&bed.pm, 7)->redo = cpu_to_le64(20480);
	expect_damage(bed.pm.pool, WORT_MEDIA_HEADS_OFF);
	CHECK_EQ(le64_to_cpu(head_at(&bed.pm, 7)->redo), 20480);
	head_at(&bed.pm, 7)->redo = 0;
	expect_damage(bed.pm.pool, 0);
	bed_close(&bed);
}

/* Heads that cannot be read: records are served, and nothing is stored. */
void check_heads_bad_page(void)
{
	u64 value = 42, found = 0;
	u32 len = sizeof(found);
	struct bed bed;

	bed_open(&bed, SIZE, 4096);
	CHECK_EQ(pm_put(bed.index, "k", 1, &value, 8), 0);
	bed_detach(&bed);
	wort_region_add_bad(&bed.pm.region, WORT_MEDIA_HEADS_OFF, 8);
	bed_attach(&bed);
	pmpool_settle();
	CHECK_EQ(pm_get(bed.index, "k", 1, &found, &len), 0);
	CHECK_EQ(found, 42);
	CHECK_EQ(pm_put(bed.index, "l", 1, &value, 8), -EROFS);
	expect_damage(bed.pm.pool, WORT_MEDIA_HEADS_OFF);
	wort_region_forget_bad(&bed.pm.region);
	bed.live--;	/* the list, which was made before the attach */
	wort_region_update(&bed.pm.region);
	expect_damage(bed.pm.pool, 0);
	CHECK_EQ(pm_put(bed.index, "l", 1, &value, 8), 0);
	bed_close(&bed);
}

/* The pool of a format is told from another by its time. */
static void format_at(struct pmpool *pm, u64 time)
{
	struct wort_format_opts opts = { .extent_size = 4096, .time = time };

	CHECK_EQ(wort_pool_format(&pm->region, &opts), 0);
}

/* The old pool has a head that makes no sense; a new one has no heads. */
static int judge(struct pmpool *pm)
{
	struct wort_media_sb sb;
	struct wort_pool *pool;
	int err = wort_pool_attach(&pm->region, &pool);

	if (err == -ENODATA)
		return err;
	CHECK_EQ(wort_pool_probe(&pm->region, &sb), 0);
	CHECK_EQ(err, 0);
	if (!err) {
		CHECK_EQ(pool->damaged, le64_to_cpu(sb.format_time) == 1);
		wort_pool_detach(pool);
	}
	return err;
}

/* A format over a pool with a batch, cut at each event: no pool, or one without. */
void check_heads_format_cut(void)
{
	struct wort_powercut_status status;
	u32 seed, pools = 0, none = 0;
	struct pmpool pm;
	u64 event = 0;
	int err;

	map(&pm);
	do {
		event++;
		for (seed = 0; seed < 6; seed++) {
			format_at(&pm, 1);
			memset(head_at(&pm, 0), 0xff, 4096);
			CHECK_EQ(wort_powercut_arm(event), 0);
			wort_powercut_begin(&pm.region);
			format_at(&pm, 2);
			wort_powercut_end(&pm.region);
			wort_powercut_status(&status);
			if (status.state != WORT_POWERCUT_CUT)
				break;
			CHECK_EQ(wort_powercut_image(seed, pm.region.base, SIZE,
						     0), SIZE);
			err = judge(&pm);
			pools += !err;
			none += err == -ENODATA;
		}
	} while (seed);
	CHECK(pools && none);
	wort_powercut_disarm();
	unmap(&pm);
}
