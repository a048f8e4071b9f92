// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lookups as programs make them in a mapping of the pool.  That they answer as
 * the kernel does is seen by the random tests, too: see reader_get().
 */
#include "tests.h"
#include "../engines/unit.h"

static struct wort_map_control *control_of(struct wort_index *index)
{
	return index->pool->locks.control;
}

int reader_get(struct wort_index *index, const void *key, u32 key_len,
	       void *value, u32 *value_len)
{
	struct wort_reader reader;
	size_t len = *value_len;
	u64 retries = 0;
	int err;

	if (!subject_has(WORT_TRAIT_MAPPABLE))
		return pm_get(index, key, key_len, value, value_len);
	pm_reader(index, &reader);
	err = wort_reader_get(&reader, key, key_len, value, &len, &retries);
	*value_len = len;
	return err;
}

static int look(struct wort_reader *reader, u64 n, u64 *retries)
{
	u64 value;
	size_t len = sizeof(value);
	u8 key[8];
	int err;

	*retries = 0;
	key_u64(key, n);
	err = wort_reader_get(reader, key, sizeof(key), &value, &len, retries);
	if (!err)
		CHECK_EQ(value, n);
	return err;
}

static void fill(struct bed *bed)
{
	u8 key[8];
	u64 n;

	for (n = 0; n < 100; n++) {
		key_u64(key, n);
		CHECK_EQ(pm_put(bed->index, key, sizeof(key), &n, sizeof(n)),
			 0);
	}
}

/* Whoever may not follow asks; where it may help he tries again before. */
void check_reader_asks(void)
{
	struct wort_map_control *control;
	struct wort_reader reader;
	struct bed bed;
	u64 retries;
	u32 i;

	bed_open(&bed, MIB, unit_extent);
	fill(&bed);
	pm_reader(bed.index, &reader);
	control = control_of(bed.index);
	CHECK_EQ(look(&reader, 7, &retries), 0);
	CHECK_EQ(retries, 0);
	CHECK_EQ(look(&reader, 700, &retries), -ENOENT);
	control->state = WORT_MAP_ASK;
	CHECK_EQ(look(&reader, 7, &retries), -EAGAIN);
	CHECK_EQ(retries, 0);
	control->state = WORT_MAP_DEAD;
	CHECK_EQ(look(&reader, 7, &retries), -EAGAIN);
	control->state = WORT_MAP_FOLLOW;
	for (i = 0; i < WORT_MAP_NR_NODES; i++)
		control->in_flight[i]++;
	CHECK_EQ(look(&reader, 7, &retries), -EAGAIN);
	CHECK_EQ(retries, 3);
	CHECK_EQ(look(&reader, 700, &retries), -EAGAIN);
	reader.relaxed = true;
	CHECK_EQ(look(&reader, 7, &retries), 0);
	CHECK_EQ(look(&reader, 700, &retries), -ENOENT);
	reader.relaxed = false;
	for (i = 0; i < WORT_MAP_NR_NODES; i++)
		control->in_flight[i]--;
	CHECK_EQ(look(&reader, 7, &retries), 0);
	bed_close(&bed);
}

static void settle(struct bed *bed)
{
	wort_pool_kick(bed->pm.pool);
	pmpool_settle();
}

/* What tells of reuse changes with that, and with nothing else. */
void check_reader_generation(void)
{
	struct wort_map_control *control;
	struct wort_reader reader;
	struct bed bed;
	u64 generation, n = 7;
	u8 key[8];

	bed_open(&bed, MIB, unit_extent);
	fill(&bed);
	settle(&bed);
	pm_reader(bed.index, &reader);
	control = control_of(bed.index);
	generation = control->generation;
	key_u64(key, n);
	CHECK_EQ(pm_put(bed.index, key, sizeof(key), &n, sizeof(n)), 0);
	key_u64(key, 700);
	CHECK_EQ(pm_put(bed.index, key, sizeof(key), &n, sizeof(n)), 0);
	CHECK_EQ(pm_del(bed.index, key, sizeof(key)), 0);
	CHECK_EQ(control->generation, generation);
	settle(&bed);
	CHECK_EQ(control->generation, generation + 1);
	settle(&bed);
	CHECK_EQ(control->generation, generation + 1);
	bed_close(&bed);
}

/* Of a destroyed index nothing is read, of others again when the kernel agrees. */
void check_reader_destroyed(void)
{
	struct wort_index *other;
	struct wort_reader reader;
	struct bed bed;
	u64 retries;

	bed_open(&bed, MIB, unit_extent);
	fill(&bed);
	other = pmpool_index(&bed.pm, "other");
	pm_reader(bed.index, &reader);
	CHECK_EQ(wort_index_destroy(bed.pm.pool, (u8 *)"other", 5), 0);
	CHECK_EQ(look(&reader, 7, &retries), -EAGAIN);
	CHECK_EQ(retries, 0);
	wort_reader_trust(&reader, wort_reader_destroyed(&reader), reader.root_off);
	CHECK_EQ(look(&reader, 7, &retries), 0);
	wort_index_put(other);
	bed_close(&bed);
}

/* A rename moves the root record: nothing is read on in the old place. */
void check_reader_renamed(void)
{
	struct wort_index_info_arg info;
	struct wort_reader reader;
	struct bed bed;
	u64 retries;

	bed_open(&bed, MIB, unit_extent);
	fill(&bed);
	pm_reader(bed.index, &reader);
	CHECK_EQ(look(&reader, 7, &retries), 0);
	CHECK_EQ(wort_index_rename(bed.pm.pool, (u8 *)"t", 1, (u8 *)"new", 3), 0);
	CHECK_EQ(look(&reader, 7, &retries), -EAGAIN);
	CHECK_EQ(retries, 0);
	wort_index_info(bed.index, &info);
	CHECK(info.out_root_off != reader.root_off);
	wort_reader_trust(&reader, wort_reader_destroyed(&reader),
			  info.out_root_off);
	CHECK_EQ(look(&reader, 7, &retries), 0);
	bed_close(&bed);
}
