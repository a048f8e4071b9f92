// SPDX-License-Identifier: GPL-2.0-only
/*
 * An index whose engine this module does not know: a newer module has made it.
 */
#include "../../kmod/core/extent.h"
#include "image.h"

#define UNKNOWN		77

static void set_engine(u32 nr, u32 engine)
{
	struct wort_media_entry *entry = (void *)(image.mem + image_entry(nr));

	entry->engine = cpu_to_le32(engine);
	image_seal_entry(image_entry(nr));
}

/* A pool in which index "b" has an engine that is not known. */
static void unknown_make(void)
{
	image_make();
	set_engine(1, UNKNOWN);
	image_keep();
	pmpool_attach(&image.pm);
	pmpool_settle();
}

static void unknown_free(void)
{
	pmpool_detach(&image.pm);
	image_free();
}

static int open_b(u32 flags)
{
	struct wort_index *index;
	int err = wort_index_open(image.pm.pool, (const u8 *)"b", 1, flags,
				  WORT_ENGINE_DEFAULT, 0, &index);

	if (!err)
		wort_index_put(index);
	return err;
}

static void check_pool(u32 flags, struct wort_check_arg *arg)
{
	*arg = (struct wort_check_arg){ .size = sizeof(*arg), .flags = flags };
	CHECK_EQ(wort_pool_check(image.pm.pool, arg), 0);
}

/* It is listed, its name stays taken, and the others are served. */
void check_unknown_open(void)
{
	struct wort_index_record records[8];
	struct wort_index *index;
	bool more;

	unknown_make();
	CHECK(!image.pm.pool->damaged);
	CHECK_EQ(atomic_read(&image.pm.pool->nr_damaged), 0);
	CHECK(wort_pool_state(image.pm.pool) & WORT_STATE_UNKNOWN);
	CHECK_EQ(wort_index_list(image.pm.pool, 0, records, 8, &more), 3);
	CHECK_EQ(records[0].state, 0);
	CHECK_EQ(records[1].state, WORT_STATE_UNKNOWN);
	CHECK_EQ(records[1].engine, UNKNOWN);
	CHECK_EQ(open_b(0), -EOPNOTSUPP);
	CHECK_EQ(open_b(WORT_INDEX_OPEN_F_CREATE), -EOPNOTSUPP);
	CHECK_EQ(open_b(WORT_INDEX_OPEN_F_CREATE | WORT_INDEX_OPEN_F_EXCL), -EEXIST);
	CHECK_EQ(wort_index_destroy(image.pm.pool, (const u8 *)"b", 1),
		 -EOPNOTSUPP);
	index = pmpool_index(&image.pm, "a");
	CHECK_EQ(pm_put(index, "new", 3, "v", 1), 0);
	CHECK_EQ(pm_get(index, "new", 3, NULL, &(u32) { 0 }), -ERANGE);
	CHECK_EQ(pm_del(index, "new", 3), 0);
	wort_index_put(index);
	unknown_free();
}

/* A check tells of it, waits for nothing, compares no space and clears nothing. */
void check_unknown_check(void)
{
	struct wort_check_arg arg;
	u64 word;

	unknown_make();
	check_pool(0, &arg);
	CHECK_EQ(arg.out_nr_damaged, 0);
	CHECK_EQ(arg.out_nr_indexes, 2);
	CHECK_EQ(arg.out_nr_unknown, 1);
	pmpool_detach(&image.pm);

	/* A word that this module takes for nonsense may be one of a newer module. */
	image_restore(image.patched);
	word = image_table(IMAGE_SIZE / 2);
	image_set(word, 0xff);
	image_keep();
	pmpool_attach(&image.pm);
	check_pool(WORT_CHECK_F_CLEAR, &arg);
	CHECK_NE(arg.out_nr_damaged, 0);
	CHECK_EQ(image_get(word), 0xff);
	pmpool_detach(&image.pm);

	image_restore(image.patched);
	image_set(word, 0);
	pmpool_attach(&image.pm);
	wort_pool_damaged(image.pm.pool);
	check_pool(WORT_CHECK_F_CLEAR, &arg);
	CHECK_EQ(arg.out_nr_damaged, 0);
	CHECK(image.pm.pool->damaged);
	unknown_free();
}

static u32 fill(struct wort_index *index)
{
	u8 value[500] = { }, key[8];
	int err = 0;
	u32 nr;

	for (nr = 0; !err; nr++) {
		key_u64(key, nr);
		err = pm_put(index, key, 8, value, sizeof(value));
	}
	CHECK_EQ(err, -ENOSPC);
	return nr - 1;
}

/* Space that was given out since the attach comes back, and a full pool says so at once. */
void check_unknown_space(void)
{
	struct wort_index *index;
	u32 nr, round;

	unknown_make();
	index = pmpool_index(&image.pm, "new");
	nr = fill(index);
	CHECK_NE(nr, 0);
	for (round = 0; round < 3; round++) {
		wort_index_put(index);
		CHECK_EQ(wort_index_destroy(image.pm.pool, (const u8 *)"new", 3),
			 0);
		index = pmpool_index(&image.pm, "new");
		CHECK_GE(fill(index) + 1, nr);
	}
	wort_index_put(index);
	/* What others have freed may be beside what is not known: it stays. */
	CHECK_EQ(wort_index_destroy(image.pm.pool, (const u8 *)"a", 1), 0);
	pmpool_settle();
	CHECK(image.pm.pool->alloc.walking);
	unknown_free();
}

/* A module that knows the engine finds all that was there. */
void check_unknown_again(void)
{
	struct wort_check_arg arg;
	struct wort_index *index;

	unknown_make();
	index = pmpool_index(&image.pm, "a");
	fill(index);
	wort_index_put(index);
	CHECK_EQ(wort_index_destroy(image.pm.pool, (const u8 *)"a", 1), 0);
	pmpool_settle();
	check_pool(WORT_CHECK_F_CLEAR, &arg);
	pmpool_detach(&image.pm);
	set_engine(1, subject.engine->id);
	pmpool_attach(&image.pm);
	pmpool_settle();
	CHECK_EQ(wort_pool_state(image.pm.pool), 0);
	check_pool(0, &arg);
	CHECK_EQ(arg.out_nr_damaged, 0);
	CHECK_EQ(arg.out_nr_indexes, 2);
	CHECK_EQ(open_b(0), 0);
	unknown_free();
}

/* Groups that an operation reads at most, and one more, of extents that seem to be in use. */
#define UNREAD		(WORT_GROUPS_READ_MAX + 1)
#define UNREAD_SIZE	(1200ULL * MIB)

/*
 * The walk cannot end, and free extents lie behind all that an operation reads of the
 * extent table: it waits for the rest, and finds space.
 */
void check_unknown_unread(void)
{
	struct wort_media_entry *entry;
	struct wort_index *index;
	struct bed bed = { };
	__le64 *table;
	u32 i;

	pmpool_map(&bed.pm, UNREAD_SIZE, false);
	pmpool_format(&bed.pm, 4096);
	bed_attach(&bed);
	index = pmpool_index(&bed.pm, "u");
	entry = (void *)((u8 *)bed.pm.region.base + index->entry_off);
	wort_index_put(index);
	table = (void *)((u8 *)bed.pm.region.base + bed.pm.pool->alloc.geo.table_off);
	bed_detach(&bed);
	for (i = 0; i < UNREAD * WORT_GROUP_EXTENTS; i++)
		if (!table[i])
			table[i] = cpu_to_le64(1);
	entry->engine = cpu_to_le32(UNKNOWN);
	entry_seal(entry);
	bed_attach(&bed);
	CHECK_EQ(pm_put(bed.index, "k", 1, "v", 1), 0);
	CHECK_EQ(pm_del(bed.index, "k", 1), 0);
	bed_detach(&bed);
	pmpool_unmap(&bed.pm);
}
