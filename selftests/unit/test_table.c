// SPDX-License-Identifier: GPL-2.0-only
/*
 * The extent table and the catalogue on damaged media: nothing that is in use is given
 * away, and what is sound stays in use.
 */
#include "../../kmod/core/extent.h"
#include "../../kmod/core/pmem.h"
#include "../engines/unit.h"
#include "tests.h"

#define EXTENT	4096
#define NR	70	/* values that take runs */

static u8 value[WORT_VALUE_MAX], found[WORT_VALUE_MAX];

static __le64 *table_word(struct bed *bed, u32 nr)
{
	return (__le64 *)((u8 *)bed->pm.region.base + bed->pm.pool->alloc.geo.table_off) + nr;
}

static u32 extent_of(const struct bed *bed, u64 off)
{
	return (off - bed->pm.pool->alloc.geo.data_off) / EXTENT;
}

static int put(struct wort_index *index, u64 key, u8 fill, u32 len)
{
	memset(value, fill, len);
	return pm_put(index, &key, sizeof(key), value, len);
}

static bool has(struct wort_index *index, u64 key, u8 fill, u32 len)
{
	u32 room = sizeof(found);

	memset(value, fill, len);
	return !pm_get(index, &key, sizeof(key), found, &room) && room == len &&
	       !memcmp(found, value, len);
}

/* The first run from an extent on. */
static u32 find_run(struct bed *bed, u32 nr)
{
	while ((le64_to_cpu(*table_word(bed, nr)) & WORT_MEDIA_EXTENT_CLASS_MASK) !=
	       WORT_MEDIA_EXTENT_RUN)
		nr++;
	return nr;
}

/* Puts until no space is left leave what a run holds as it is. */
static void lose_run_word(u32 from, bool bad)
{
	struct bed bed;
	u64 n, off;

	bed_open(&bed, 16 * MIB, EXTENT);
	for (n = 0; n < NR; n++)
		CHECK_EQ(put(bed.index, n, n, WORT_VALUE_MAX), 0);
	off = (u8 *)table_word(&bed, find_run(&bed, from)) - (u8 *)bed.pm.region.base;
	bed_detach(&bed);
	if (bad)
		wort_region_add_bad(&bed.pm.region, off, sizeof(__le64));
	else
		*(__le64 *)((u8 *)bed.pm.region.base + off) = cpu_to_le64(0xfd);
	bed_attach(&bed);
	while (!put(bed.index, n, 0xee, WORT_VALUE_MAX))
		n++;
	for (n = 0; n < NR; n++)
		CHECK(has(bed.index, n, n, WORT_VALUE_MAX));
	wort_index_put(bed.index);
	pmpool_detach(&bed.pm);
	wort_region_forget_bad(&bed.pm.region);
	pmpool_unmap(&bed.pm);
}

/* The word of a run is invalid, or cannot be read; a group of the table ends in the run. */
void check_table_run(void)
{
	lose_run_word(600, false);
	lose_run_word(600, true);
	lose_run_word(2 * WORT_GROUP_EXTENTS - 15, false);
	lose_run_word(2 * WORT_GROUP_EXTENTS - 15, true);
}

/* The word of an extent in use becomes another one, and a check mends it. */
static void change_open_word(u64 to)
{
	struct wort_check_arg arg;
	struct bed bed;
	u64 n, key = 3;

	bed_open(&bed, 4 * MIB, EXTENT);
	for (n = 0; n < 20; n++)
		CHECK_EQ(put(bed.index, n, n, 500), 0);
	pmpool_settle();
	*table_word(&bed, extent_of(&bed, bed_record(&bed, &key, sizeof(key)))) =
		cpu_to_le64(to);
	bed_check_arg(&bed, 0, &arg);
	CHECK_EQ(arg.out_nr_damaged, 1);
	bed_check_arg(&bed, WORT_CHECK_F_CLEAR, &arg);
	CHECK_EQ(arg.out_nr_damaged, 0);
	bed_detach(&bed);
	bed_attach(&bed);
	for (n = 100; n < 120; n++)
		CHECK_EQ(put(bed.index, n, 0xee, 500), 0);
	for (n = 0; n < 20; n++)
		CHECK(has(bed.index, n, n, 500));
	bed_check(&bed);
	bed_close(&bed);
}

void check_table_open(void)
{
	change_open_word(0);
	change_open_word(3);
	change_open_word(0xfd);
}

/* During a check a damaged link names a run that is only reserved, and is given back. */
void check_table_marks(void)
{
	struct wort_marks *marks = malloc(sizeof(*marks));
	struct wort_object object = { .size = WORT_VALUE_MAX, .first = true };
	static const u32 sizes[] = { 1024, 16, 900 };
	struct wort_op op, beside;
	struct bed bed;
	u32 i, turn;

	bed_open(&bed, 4 * MIB, EXTENT);
	CHECK_EQ(wort_marks_begin(marks, &bed.pm.pool->alloc), 0);
	wort_op_begin(&op, &bed.pm.region, &bed.pm.pool->alloc);
	CHECK_EQ(wort_alloc_reserve(&op, WORT_VALUE_MAX), 0);
	object.off = op.reserved[0];
	wort_op_begin(&beside, &bed.pm.region, &bed.pm.pool->alloc);
	wort_marks_add(&beside, marks, &object, 1);
	CHECK_EQ(object.err, 0);
	wort_op_end(&beside);
	wort_op_end(&op);
	for (turn = 0; turn < 2; turn++) {
		wort_op_begin(&op, &bed.pm.region, &bed.pm.pool->alloc);
		for (i = 0; i < ARRAY_SIZE(sizes); i++)
			CHECK_EQ(wort_alloc_reserve(&op, sizes[i]), 0);
		wort_op_end(&op);
	}
	CHECK(!marks->incomplete);
	wort_marks_end(marks);
	free(marks);
	bed_close(&bed);
}

/* A record whose damage keeps the walk from its end. */
static struct wort_media_leaf *add_record(struct bed *bed)
{
	CHECK_EQ(pm_put(bed->index, "key", 3, value, 2000), 0);
	return (void *)((u8 *)bed->pm.region.base + bed_record(bed, "key", 3));
}

/* Attach with that record damaged. */
static void attach_damaged(struct bed *bed)
{
	struct wort_media_leaf *leaf = add_record(bed);

	bed_detach(bed);
	leaf->meta = cpu_to_le64(~0ULL);
	bed_attach(bed);
}

/* What a check that ends early has not visited is no work for the walk. */
void check_table_early(void)
{
	struct wort_check_arg arg = { .size = sizeof(arg) };
	struct wort_index *other;
	struct bed bed;
	u64 n;

	bed_open(&bed, 4 * MIB, EXTENT);
	other = pmpool_index(&bed.pm, "other");
	for (n = 0; n < 20; n++)
		CHECK_EQ(put(other, n, n, 50), 0);
	wort_index_put(other);
	attach_damaged(&bed);
	other = pmpool_index(&bed.pm, "other");
	pmpool_settle();
	CHECK(bed.pm.pool->alloc.walking && bed.index->damaged && !other->damaged);
	atomic_inc(&bed.pm.pool->space_waiters);
	CHECK_EQ(wort_pool_check(bed.pm.pool, &arg), -EBUSY);
	atomic_dec(&bed.pm.pool->space_waiters);
	pmpool_settle();
	CHECK(!other->damaged);
	wort_index_put(other);
	bed_close(&bed);
}

/* The walk begins again, and the list of catalogue blocks runs into itself since. */
void check_table_loop(void)
{
	struct wort_media_catalogue *last;
	struct bed bed;
	char name[8];
	u32 i;

	bed_open(&bed, 4 * MIB, EXTENT);
	attach_damaged(&bed);
	pmpool_settle();
	for (i = 0; i < 70; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		wort_index_put(pmpool_index(&bed.pm, name));
	}
	last = (void *)((u8 *)bed.pm.region.base + bed.pm.pool->catalogue_last);
	last->next = cpu_to_le64(bed.pm.pool->catalogue_last);
	CHECK_EQ(wort_index_destroy(bed.pm.pool, (const u8 *)"t", 1), 0);
	pmpool_settle();
	CHECK(bed.pm.pool->damaged);
	bed_close(&bed);
}

/* A damaged record names the entry of an index as its value, and has freed it. */
void check_table_entry(void)
{
	struct wort_media_leaf *leaf;
	struct wort_index *a;
	struct bed bed;
	u64 entry;

	bed_open(&bed, 4 * MIB, EXTENT);
	a = pmpool_index(&bed.pm, "a");
	entry = a->entry_off;
	wort_index_put(a);
	leaf = add_record(&bed);
	bed_detach(&bed);
	leaf->val = cpu_to_le64(entry);
	leaf->meta = cpu_to_le64(3 | 256ULL << WORT_MEDIA_LEAF_VALUE_SHIFT |
				 (u64)WORT_MEDIA_VALUE_OBJECT << WORT_MEDIA_LEAF_KIND_SHIFT);
	bed_attach(&bed);
	CHECK_EQ(pm_del(bed.index, "key", 3), 0);
	CHECK_EQ(wort_index_rename(bed.pm.pool, (const u8 *)"a", 1, (const u8 *)"b", 1), 0);
	CHECK(bed.pm.pool->damaged);
	bed_close(&bed);
}

/*
 * An extent may begin a run that nobody owns.  Then the page of the table with its word goes
 * bad, and a damaged link says that the run is longer.
 */
static void guess_last(struct bed *bed, u32 last)
{
	__le64 *word = table_word(bed, last - 1);
	struct wort_alloc *alloc;
	bool stop = false;
	struct wort_op op;

	bed_detach(bed);
	*word = cpu_to_le64(WORT_MEDIA_EXTENT_RUN | 2 << WORT_MEDIA_EXTENT_LEN_SHIFT);
	pmpool_attach(&bed->pm);
	alloc = &bed->pm.pool->alloc;
	wort_op_begin(&op, &bed->pm.region, alloc);
	CHECK_EQ(wort_alloc_read_table(&op, &stop), 0);
	wort_region_add_bad(&bed->pm.region, alloc->geo.table_off + last * sizeof(*word), 1);
	CHECK_EQ(wort_alloc_mark(&op, wort_extent_off(alloc, last), 2 * EXTENT, true), -EUCLEAN);
	wort_op_end(&op);
	wort_region_forget_bad(&bed->pm.region);
	pmpool_detach(&bed->pm);
	pmpool_unmap(&bed->pm);
}

/* Behind the last extent of a group comes one of which nothing is known, or no group. */
void check_table_guess(void)
{
	u64 size = 4 * MIB;
	struct bed bed;

	bed_open(&bed, 8 * MIB, EXTENT);
	guess_last(&bed, WORT_GROUP_EXTENTS - 1);
	for (bed_open(&bed, size, EXTENT);
	     bed.pm.pool->alloc.geo.nr_extents < 2 * WORT_GROUP_EXTENTS;
	     bed_open(&bed, size += EXTENT, EXTENT))
		bed_close(&bed);
	CHECK_EQ(bed.pm.pool->alloc.geo.nr_extents, 2 * WORT_GROUP_EXTENTS);
	guess_last(&bed, 2 * WORT_GROUP_EXTENTS - 1);
}
