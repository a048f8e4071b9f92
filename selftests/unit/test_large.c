// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pools with many extents: what attach allocates stays within the kernel's limits,
 * and what it reads does not depend on the size of the pool.
 */
#include <time.h>

#include "../../kmod/core/extent.h"
#include "unit.h"

#define GIB	(1ULL << 30)
#define TIB	(1ULL << 40)

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

static u64 groups_made(const struct wort_alloc *alloc)
{
	u32 group;
	u64 made = 0;

	for (group = 0; group < alloc->nr_groups; group++)
		made += !!alloc->groups[group].extents;
	return made;
}

static double attach_ms(struct bed *bed)
{
	double begin = now_ms();

	pmpool_attach(&bed->pm);
	return now_ms() - begin;
}

static void put_all(struct bed *bed, u32 nr)
{
	static u8 value[WORT_VALUE_MAX];
	u8 key[8];
	u32 i;

	for (i = 0; i < nr; i++) {
		key_u64(key, i * 0x9e3779b97f4a7c15ULL);
		CHECK_EQ(pm_put(bed->index, key, 8, value, i % 3 ? 8 : 40000), 0);
	}
}

/* Records in a pool of that size: before the table was read, and after. */
static void large_pool(u64 size, u32 extent_size)
{
	struct wort_pool_info_arg info = { };
	struct wort_check_arg arg;
	struct bed bed = { };
	double ms;

	pmpool_map(&bed.pm, size, false);
	pmpool_format(&bed.pm, extent_size);
	ms = attach_ms(&bed);
	CHECK_EQ(bed.pm.pool->alloc.nr_unread + 1,
		 bed.pm.pool->alloc.nr_groups);
	wort_pool_info(bed.pm.pool, &info);
	CHECK_EQ(info.out_free_extents, WORT_UNKNOWN);
	CHECK_EQ(info.out_used_bytes, WORT_UNKNOWN);
	bed.index = pmpool_index(&bed.pm, "t");
	put_all(&bed, 3000);
	pmpool_settle();
	wort_pool_info(bed.pm.pool, &info);
	CHECK_LE(info.out_free_extents, info.out_nr_extents);
	CHECK_LE(groups_made(&bed.pm.pool->alloc), 32);
	printf("  %5llu GiB, extents of %4u KiB: attach %.2f ms, %llu of %u groups\n",
	       (unsigned long long)(size / GIB), extent_size / 1024, ms,
	       (unsigned long long)groups_made(&bed.pm.pool->alloc),
	       bed.pm.pool->alloc.nr_groups);
	bed_check_arg(&bed, 0, &arg);
	CHECK_EQ(arg.out_nr_damaged, 0);
	CHECK_EQ(arg.out_nr_leaves, 3000);
	CHECK_EQ(arg.out_owned_bytes + arg.out_free_bytes +
		 arg.out_freeing_bytes,
		 info.out_nr_extents * info.out_extent_size);
	bed_close(&bed);
}

void check_large_pools(void)
{
	CHECK_LE(sizeof(struct wort_extent), 24);
	large_pool(GIB, 65536);
	large_pool(TIB, 65536);
	large_pool(16 * TIB, 1048576);
	large_pool(112 * GIB, 4096);
}

/* Two gigabytes of extent table. */
void check_large_table(void)
{
	large_pool(16 * TIB, 65536);
}
