// SPDX-License-Identifier: GPL-2.0-only
/*
 * The simulator of power cuts: what it may lose, and what it may not.
 */
#include "../../kmod/core/pmem.h"
#include "../../kmod/core/powercut.h"
#include "unit.h"

#define SIZE	4096

/* Three lines, each a word: line 0 flushed and fenced, 1 flushed, 2 neither. */
static void store_three(struct wort_region *region)
{
	__le64 __pmem *word = region->base;
	struct wort_op op;
	u32 line;

	wort_op_begin(&op, region, NULL);
	for (line = 0; line < 3; line++)
		wort_pm_store(&op, &word[8 * line], 1);
	wort_pm_flush(&op, &word[0], 8);
	wort_pm_fence(&op);
	wort_pm_flush(&op, &word[8], 8);
	wort_pm_store(&op, &word[8], 2);
	wort_pm_store(&op, &word[9], 2);
	wort_pm_fence(&op);
	wort_op_end(&op);
}

static void cut(struct wort_region *region, u64 event, u64 seed, u64 *image,
		struct wort_powercut_status *status)
{
	memset(region->base, 0, SIZE);
	CHECK_EQ(wort_powercut_arm(event), 0);
	wort_powercut_begin(region);
	CHECK_EQ(wort_powercut_arm(event), -EBUSY);
	store_three(region);
	wort_powercut_end(region);
	wort_powercut_status(status);
	memset(image, 0xff, SIZE);
	CHECK_EQ(wort_powercut_image(seed, image, SIZE, 0),
		 status->state == WORT_POWERCUT_CUT ? SIZE : 0);
}

void check_powercut_lines(void)
{
	struct wort_powercut_status status;
	struct wort_region region = { .size = SIZE, .flush = true };
	u64 image[SIZE / 8], seed, old = 0, flushed = 0, now = 0;

	region.base = aligned_alloc(64, SIZE);
	cut(&region, 0, 0, image, &status);
	CHECK_EQ(status.state, WORT_POWERCUT_RUNNING);
	CHECK_EQ(status.events, 4);
	cut(&region, 1, 0, image, &status);
	CHECK_EQ(status.state, WORT_POWERCUT_CUT);
	CHECK_EQ(status.dirty, 3);
	CHECK(!image[0] && !image[8] && !image[16]);
	cut(&region, 1, 1, image, &status);
	CHECK(image[0] == 1 && image[8] == 1 && image[16] == 1);
	for (seed = 0; seed < 100; seed++) {
		cut(&region, 4, seed, image, &status);
		CHECK_EQ(image[0], 1);
		CHECK(image[16] <= 1);
		old += !image[8] && !image[9];
		flushed += image[8] == 1 && !image[9];
		now += image[8] == 2 && image[9] == 2;
	}
	CHECK_EQ(old + flushed + now, 100);
	CHECK(old && flushed && now);
	region.flush = false;
	cut(&region, 2, 0, image, &status);
	CHECK(image[0] == 1 && image[8] == 2 && image[16] == 1);
	wort_powercut_disarm();
	free(region.base);
}

/* The fence of one operation waits for no flush of another. */
void check_powercut_fences(void)
{
	struct wort_region region = { .size = SIZE, .flush = true };
	__le64 __pmem *word = aligned_alloc(64, SIZE);
	u64 image[SIZE / 8];
	struct wort_op a, b;

	memset(word, 0, SIZE);
	region.base = word;
	CHECK_EQ(wort_powercut_arm(5), 0);
	wort_powercut_begin(&region);
	wort_op_begin(&a, &region, NULL);
	wort_op_begin(&b, &region, NULL);
	wort_pm_store(&a, &word[0], 1);
	wort_pm_flush(&a, &word[0], 8);
	wort_pm_store(&b, &word[1], 1);
	wort_pm_store(&b, &word[8], 1);
	wort_pm_flush(&b, &word[0], 72);
	wort_pm_fence(&a);
	wort_pm_fence(&a);
	wort_pm_fence(&b);
	wort_powercut_end(&region);
	CHECK_EQ(wort_powercut_image(0, image, SIZE, 0), SIZE);
	CHECK(image[0] == 1 && !image[1] && !image[8]);
	wort_powercut_disarm();
	free(word);
}

/* What a flush found earlier does not take back what was fenced since, in whatever order. */
void check_powercut_order(void)
{
	struct wort_region region = { .size = SIZE, .flush = true };
	__le64 __pmem *word = aligned_alloc(64, SIZE);
	u64 image[SIZE / 8], seed, event;
	struct wort_op a, b;

	region.base = word;
	for (event = 4; event <= 5; event++) {
		memset(word, 0, SIZE);
		CHECK_EQ(wort_powercut_arm(event), 0);
		wort_powercut_begin(&region);
		wort_op_begin(&a, &region, NULL);
		wort_op_begin(&b, &region, NULL);
		wort_pm_store(&a, &word[0], 1);
		wort_pm_flush(&a, &word[0], 8);
		wort_pm_store(&b, &word[1], 2);
		wort_pm_flush(&b, &word[1], 8);
		wort_pm_fence(&b);
		wort_pm_store(&b, &word[2], 3);
		wort_pm_fence(&a);
		wort_pm_fence(&a);
		wort_powercut_end(&region);
		for (seed = 0; seed < 20; seed++) {
			CHECK_EQ(wort_powercut_image(seed, image, SIZE, 0), SIZE);
			CHECK(image[0] == 1 && image[1] == 2);
		}
	}
	wort_powercut_disarm();
	free(word);
}

/* Of two lines that can be lost, seeds lose either, both and none, whichever lines they are. */
void check_powercut_seeds(void)
{
	struct wort_region region = { .size = SIZE, .flush = true };
	__le64 __pmem *word = aligned_alloc(64, SIZE);
	const u32 nr = SIZE / WORT_LINE;
	u64 image[SIZE / 8], seed;
	u8 seen[64][64] = { };
	struct wort_op op;
	u32 i, k;

	memset(word, 0, SIZE);
	region.base = word;
	CHECK_EQ(wort_powercut_arm(1), 0);
	wort_powercut_begin(&region);
	wort_op_begin(&op, &region, NULL);
	for (i = 0; i < nr; i++)
		wort_pm_store(&op, &word[8 * i], 1);
	wort_pm_flush(&op, word, SIZE);
	wort_powercut_end(&region);
	for (seed = 2; seed < 66; seed++) {
		CHECK_EQ(wort_powercut_image(seed, image, SIZE, 0), SIZE);
		for (i = 0; i < nr; i++)
			for (k = 0; k < i; k++)
				seen[i][k] |= BIT(2 * image[8 * i] + image[8 * k]);
	}
	for (i = 0; i < nr; i++)
		for (k = 0; k < i; k++)
			CHECK_EQ(seen[i][k], 15);
	wort_powercut_disarm();
	free(word);
}

/* Does the pool have the record?  0 or 1. */
static u32 has_record(struct pmpool *pm)
{
	struct wort_index *index;
	u64 value = 0;
	u32 len = sizeof(value);
	bool found;

	pmpool_attach(pm);
	index = pmpool_index(pm, "t");
	found = !pm_get(index, "key", 3, &value, &len);
	if (found)
		CHECK_EQ(value, 42);
	wort_index_put(index);
	pmpool_detach(pm);
	return found;
}

static void insert_record(struct pmpool *pm)
{
	struct wort_index *index;
	u64 value = 42;

	pmpool_format(pm, 4096);
	wort_powercut_begin(&pm->region);
	pmpool_attach(pm);
	index = pmpool_index(pm, "t");
	CHECK_EQ(pm_put(index, "key", 3, &value, 8), 0);
	wort_index_put(index);
	pmpool_detach(pm);
	wort_powercut_end(&pm->region);
}

/* Every cut of an insert, with several seeds: done or not done. */
void check_powercut_pool(void)
{
	struct wort_powercut_status status;
	u32 seed, done = 0, cuts = 0;
	struct pmpool pm;
	u64 event = 1;

	pmpool_map(&pm, 256 * KIB, false);
	do {
		for (seed = 0; seed < 8; seed++) {
			CHECK_EQ(wort_powercut_arm(event), 0);
			insert_record(&pm);
			wort_powercut_status(&status);
			if (status.state != WORT_POWERCUT_CUT)
				break;
			CHECK_EQ(wort_powercut_image(seed, pm.region.base,
						     pm.region.size, 0),
				 pm.region.size);
			done += has_record(&pm);
			cuts++;
		}
		event++;
	} while (seed);
	CHECK_EQ(status.state, WORT_POWERCUT_RUNNING);
	CHECK(done && done < cuts);
	wort_powercut_disarm();
	pmpool_unmap(&pm);
}
