// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pools that grow.
 */
#include <sys/mman.h>

#include "../../kmod/core/powercut.h"
#include "unit.h"

#define NR_KEYS	300

/* The first of these grows within the table, the others move it. */
static const u64 sizes[] = {
	256 * KIB, 512 * KIB, 3 * MIB, 40 * MIB, 64 * MIB,
};

static void put_keys(struct pmpool *pm, u64 base)
{
	struct wort_index *index = pmpool_index(pm, "t");
	u64 i, key;

	for (i = 0; i < NR_KEYS; i++) {
		key = base + i;
		CHECK_EQ(pm_put(index, &key, 8, &key, 8), 0);
	}
	wort_index_put(index);
}

static u32 count_keys(struct pmpool *pm)
{
	struct wort_index *index = pmpool_index(pm, "t");
	u8 last[WORT_KEY_MAX];
	struct wort_scan scan = {
		.buf = last, .buf_len = sizeof(last),
		.flags = WORT_SCAN_F_COUNT,
	};

	CHECK_EQ(wort_index_scan(index, &scan), 0);
	wort_index_put(index);
	return scan.count;
}

/* Sound, and every byte of @size is accounted for. */
static void check_all(struct pmpool *pm, u64 size)
{
	struct wort_check_arg arg = { .size = sizeof(arg) };
	u64 data = le64_to_cpu(pm->pool->sb.data_off);

	pmpool_settle();
	CHECK_EQ(wort_pool_check(pm->pool, &arg), 0);
	CHECK_EQ(arg.out_nr_damaged, 0);
	CHECK_EQ(arg.out_owned_bytes + arg.out_free_bytes +
		 arg.out_freeing_bytes,
		 round_down(size, 4096ULL) - WORT_MEDIA_SB_SPACE - data);
}

/* A pool does not grow beyond what could be attached. */
void check_grow_nomem(void)
{
	static u8 before[512 * KIB];
	struct pmpool pm;

	pmpool_map(&pm, 4 * MIB, false);
	pm.region.size = 512 * KIB;
	pmpool_format(&pm, 4096);
	memcpy(before, (u8 *)pm.region.base, sizeof(before));
	pm.region.size = 4 * MIB;
	shim_alloc_fail_nth = 0;
	CHECK_EQ(wort_pool_grow(&pm.region), -ENOMEM);
	shim_alloc_fail_nth = -1;
	CHECK(!memcmp(before, (u8 *)pm.region.base, sizeof(before)));
	CHECK_EQ(wort_pool_grow(&pm.region), 0);
	pmpool_attach(&pm);
	pmpool_settle();
	pmpool_detach(&pm);
	pmpool_unmap(&pm);
}

static u32 pool_extents(struct pmpool *pm)
{
	struct wort_media_sb sb;

	CHECK_EQ(wort_pool_probe(&pm->region, &sb), 0);
	return le64_to_cpu(sb.nr_extents);
}

void check_grow_sizes(void)
{
	u64 full = sizes[ARRAY_SIZE(sizes) - 1];
	struct pmpool pm;
	u32 i;

	pmpool_map(&pm, full, false);
	pm.region.size = sizes[0];
	pmpool_format(&pm, 4096);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		pm.region.size = sizes[i];
		CHECK_EQ(wort_pool_grow(&pm.region), 0);
		CHECK_EQ(wort_pool_grow(&pm.region), 0);
		pmpool_attach(&pm);
		CHECK_EQ(count_keys(&pm), i * NR_KEYS);
		put_keys(&pm, i * NR_KEYS);
		check_all(&pm, sizes[i]);
		pmpool_detach(&pm);
	}
	pm.region.size = full;
	pmpool_unmap(&pm);
}

/* Too little for a longer table: the pool stays as it is. */
void check_grow_little(void)
{
	struct pmpool pm;
	u32 before;

	pmpool_map(&pm, 4 * MIB, false);
	pm.region.size = 256 * KIB;
	pmpool_format(&pm, 4096);
	pm.region.size = 20 * KIB + 512 * 4 * KIB + WORT_MEDIA_SB_SPACE;
	CHECK_EQ(wort_pool_grow(&pm.region), 0);
	before = pool_extents(&pm);
	CHECK_EQ(before, 512);
	pm.region.size += 2 * 4096;
	CHECK_EQ(wort_pool_grow(&pm.region), 0);
	CHECK_EQ(pool_extents(&pm), before);
	pm.region.size += 4096;
	CHECK_EQ(wort_pool_grow(&pm.region), 0);
	CHECK_EQ(pool_extents(&pm), before + 3);
	pmpool_attach(&pm);
	check_all(&pm, pm.region.size);
	wort_pool_damaged(pm.pool);
	pmpool_detach(&pm);
	pm.region.size = 4 * MIB;
	CHECK_EQ(wort_pool_grow(&pm.region), -EROFS);
	pmpool_unmap(&pm);
}

/* After a power cut or an error the pool has all keys, and can grow. */
static void survive(struct pmpool *pm, u64 size)
{
	pmpool_attach(pm);
	CHECK_EQ(count_keys(pm), NR_KEYS);
	pmpool_detach(pm);
	CHECK_EQ(wort_pool_grow(&pm->region), 0);
	pmpool_attach(pm);
	put_keys(pm, 0);
	CHECK_EQ(count_keys(pm), NR_KEYS);
	check_all(pm, size);
	pmpool_detach(pm);
}

/* Is a page one that growth has to read or to write? */
static bool needs_page(u64 off, u64 from, u64 to, u64 table, u64 new_table)
{
	u64 old_len = 8 * (from / 4096), new_len = 8 * (to / 4096);

	return off == WORT_MEDIA_SB_OFF || off == WORT_MEDIA_SB_OFF + WORT_MEDIA_SB_SPACE ||
	       off == WORT_MEDIA_HEADS_OFF || off == to - WORT_MEDIA_SB_SPACE ||
	       (off >= round_down(table, 4096ULL) && off < table + old_len) ||
	       (off >= round_down(new_table, 4096ULL) && off < new_table + new_len);
}

/* Let it grow while one page is bad, which the code must not touch.  Has it grown? */
static bool grow_with_bad(struct pmpool *pm, u64 off)
{
	int err;

	wort_region_add_bad(&pm->region, off, 1);
	mprotect((u8 *)pm->region.base + off, 4096, PROT_NONE);
	err = wort_pool_grow(&pm->region);
	mprotect((u8 *)pm->region.base + off, 4096, PROT_READ | PROT_WRITE);
	wort_region_forget_bad(&pm->region);
	CHECK(!err || err == -EIO);
	return !err;
}

/* Bad memory that it needs is an error, upon which the pool is as it was. */
static void grow_around_bad(u64 from, u64 to)
{
	u64 off, table, new_table;
	u8 *before = malloc(to);
	struct pmpool pm;
	u32 extents;
	bool grown;

	pmpool_map(&pm, to, false);
	pm.region.size = from;
	pmpool_format(&pm, 4096);
	pmpool_attach(&pm);
	put_keys(&pm, 0);
	table = le64_to_cpu(pm.pool->sb.table_off);
	pmpool_detach(&pm);
	memcpy(before, pm.region.base, to);
	extents = pool_extents(&pm);
	pm.region.size = to;
	CHECK_EQ(wort_pool_grow(&pm.region), 0);
	pmpool_attach(&pm);
	new_table = le64_to_cpu(pm.pool->sb.table_off);
	pmpool_detach(&pm);
	for (off = 0; off < to; off += 4096) {
		memcpy(pm.region.base, before, to);
		grown = grow_with_bad(&pm, off);
		CHECK_EQ(grown, !needs_page(off, from, to, table, new_table));
		CHECK_EQ(grown, pool_extents(&pm) != extents);
		survive(&pm, to);
	}
	pmpool_unmap(&pm);
	free(before);
}

/* Within the table, and with a table that moves. */
void check_grow_bad_pages(void)
{
	grow_around_bad(256 * KIB, 512 * KIB);
	grow_around_bad(256 * KIB, 3 * MIB);
}

static void cut_growth(struct pmpool *pm, const u8 *before, u64 from, u64 to)
{
	struct wort_powercut_status status;
	u64 event = 0, seed;

	do {
		event++;
		for (seed = 0; seed < 6; seed++) {
			memcpy(pm->region.base, before, from);
			pm->region.size = to;
			CHECK_EQ(wort_powercut_arm(event), 0);
			wort_powercut_begin(&pm->region);
			CHECK_EQ(wort_pool_grow(&pm->region), 0);
			wort_powercut_end(&pm->region);
			wort_powercut_status(&status);
			if (status.state != WORT_POWERCUT_CUT)
				break;
			CHECK_EQ(wort_powercut_image(seed, pm->region.base, to,
						     0), to);
			survive(pm, to);
		}
	} while (seed);
	CHECK_GE(event, 5);
}

/* Within the table, and with a table that moves for the first and second time. */
void check_grow_powercut(void)
{
	static const u64 from[] = { 256 * KIB, 256 * KIB, 3 * MIB };
	static const u64 to[] = { 512 * KIB, 3 * MIB, 6 * MIB };
	u8 *before = malloc(6 * MIB);
	struct pmpool pm;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(from); i++) {
		pmpool_map(&pm, 6 * MIB, false);
		memset(pm.region.base, 0xa5, 6 * MIB);
		pm.region.size = 256 * KIB;
		pmpool_format(&pm, 4096);
		pm.region.size = from[i];
		CHECK_EQ(wort_pool_grow(&pm.region), 0);
		pmpool_attach(&pm);
		put_keys(&pm, 0);
		pmpool_detach(&pm);
		memcpy(before, pm.region.base, from[i]);
		cut_growth(&pm, before, from[i], to[i]);
		pm.region.size = 6 * MIB;
		pmpool_unmap(&pm);
	}
	wort_powercut_disarm();
	free(before);
}
