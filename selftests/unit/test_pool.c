// SPDX-License-Identifier: GPL-2.0-only
/*
 * Format, attach, the catalogue.
 */
#include <linux/rcupdate.h>
#include <sys/mman.h>

#include "../../kmod/pool/gate.h"
#include "../engines/unit.h"
#include "image.h"

static int format(struct pmpool *pm, u64 size, u32 extent_size)
{
	struct wort_format_opts opts = { .extent_size = extent_size };
	u64 mapped = pm->region.size;
	int err;

	pm->region.size = size;
	err = wort_pool_format(&pm->region, &opts);
	pm->region.size = mapped;
	return err;
}

static u64 extent_chosen(struct pmpool *pm)
{
	struct wort_media_sb sb;

	CHECK_EQ(wort_pool_probe(&pm->region, &sb), 0);
	return 1ULL << le32_to_cpu(sb.extent_shift);
}

/* errno-table: device EFBIG ENOSPC */
void check_pool_format(void)
{
	struct wort_media_sb sb;
	struct pmpool pm;
	u32 shift;

	pmpool_map(&pm, 16 * MIB, false);
	CHECK_EQ(wort_pool_probe(&pm.region, &sb), -ENODATA);
	CHECK_EQ(wort_pool_attach(&pm.region, &pm.pool), -ENODATA);
	CHECK_EQ(format(&pm, 256 * KIB - 1, 0), -ENOSPC);
	CHECK_EQ(format(&pm, WORT_MEDIA_POOL_MAX + 1, 0), -EFBIG);
	for (shift = 0; shift < 32; shift++) {
		CHECK_EQ(format(&pm, 16 * MIB, 1U << shift),
			 shift < 12 || shift > 20 ? -EINVAL : 0);
		CHECK_EQ(format(&pm, 16 * MIB, (1U << shift) + 2), -EINVAL);
	}
	CHECK_EQ(format(&pm, 256 * KIB, 1 << 20), -ENOSPC);
	CHECK_EQ(format(&pm, 256 * KIB, 0), 0);
	CHECK_EQ(extent_chosen(&pm), 4096);
	CHECK_EQ(format(&pm, 8 * MIB - 1, 0), 0);
	CHECK_EQ(extent_chosen(&pm), 4096);
	CHECK_EQ(format(&pm, 8 * MIB, 0), 0);
	CHECK_EQ(extent_chosen(&pm), 65536);
	/* One that could not be attached is not begun: the other is still there. */
	shim_alloc_fail_nth = 0;
	CHECK_EQ(format(&pm, 16 * MIB, 4096), -ENOMEM);
	shim_alloc_fail_nth = -1;
	CHECK_EQ(extent_chosen(&pm), 65536);
	pmpool_unmap(&pm);
}

/* The first 4 KiB stay; of a pool that was there nothing does. */
void check_pool_format_over(void)
{
	struct bed bed;
	u8 *mem;
	u32 i;

	bed_open(&bed, MIB, 4096);
	for (i = 0; i < 100; i++)
		CHECK_EQ(pm_put(bed.index, &i, 4, &i, 4), 0);
	bed_detach(&bed);
	mem = (u8 *)bed.pm.region.base;
	memset(mem, 0xa5, 4096);
	memset(mem + MIB / 2, 0x5a, MIB / 2);
	pmpool_format(&bed.pm, 4096);
	for (i = 0; i < 4096; i++)
		CHECK_EQ(mem[i], 0xa5);
	bed_attach(&bed);
	pmpool_settle();
	CHECK_EQ(pm_get(bed.index, &i, 4, NULL, &(u32) { 0 }), -ENOENT);
	bed_check(&bed);
	bed_close(&bed);
}

/* Attach reads the same for any number of records, and stores a generation. */
void check_pool_attach_reads(void)
{
	u64 lines[3], n = 0, total;
	struct bed bed;
	u8 *before;
	u32 i;

	bed_open(&bed, 16 * MIB, 65536);
	before = malloc(16 * MIB);
	for (i = 0; i < 3; i++) {
		for (total = i * 20000; n < total; n++)
			CHECK_EQ(pm_put(bed.index, &n, 8, &n, 8), 0);
		memcpy(before, (u8 *)bed.pm.region.base, 16 * MIB);
		bed_detach(&bed);
		bed_attach(&bed);
		lines[i] = bed.pm.pool->attach_lines;
		pmpool_settle();
		CHECK(media_same(before, (u8 *)bed.pm.region.base, 16 * MIB));
	}
	CHECK_EQ(lines[0], lines[1]);
	CHECK_EQ(lines[1], lines[2]);
	free(before);
	bed_close(&bed);
}

void check_pool_info(void)
{
	struct wort_pool_info_arg info = { .size = sizeof(info) };
	struct bed bed;
	u64 i;

	bed_open(&bed, 16 * MIB, 65536);
	for (i = 0; i < 1000; i++)
		CHECK_EQ(pm_put(bed.index, &i, 8, &i, 8), 0);
	wort_pool_info(bed.pm.pool, &info);
	CHECK_EQ(info.out_extent_size, 65536);
	CHECK_EQ(info.out_pool_size, 16 * MIB);
	CHECK_EQ(info.out_nr_extents, 254);
	CHECK_EQ(info.out_nr_indexes, 1);
	CHECK_EQ(info.out_state, 0);
	CHECK_EQ(info.out_incompat, WORT_INCOMPAT_EXPERIMENTAL);
	CHECK_GE(info.out_used_bytes, 1000 * 32);
	CHECK_EQ(info.out_flush, 1);
	CHECK(!strcmp((char *)info.out_label, "test"));
	bed_detach(&bed);
	bed_attach(&bed);
	wort_pool_info(bed.pm.pool, &info);
	CHECK_EQ(info.out_used_bytes, WORT_UNKNOWN);
	CHECK_EQ(info.out_freeing_bytes, WORT_UNKNOWN);
	CHECK_EQ(info.out_state, WORT_STATE_WALKING);
	CHECK_EQ(info.out_walk_indexes, 0);
	pmpool_settle();
	wort_pool_info(bed.pm.pool, &info);
	CHECK_EQ(info.out_state, 0);
	CHECK_EQ(info.out_walk_indexes, 1);
	CHECK_EQ(info.out_walk_records, 1000);
	CHECK_EQ(info.out_freeing_bytes, 0);
	bed_close(&bed);
}

static int open_name(struct bed *bed, const char *name, u32 len, u32 flags,
		     struct wort_index **index)
{
	return wort_index_open(bed->pm.pool, (const u8 *)name, len, flags,
			       WORT_ENGINE_DEFAULT, 0, index);
}

void check_pool_names(void)
{
	const u32 create = WORT_INDEX_OPEN_F_CREATE;
	const u32 excl = create | WORT_INDEX_OPEN_F_EXCL;
	const u8 *none = (const u8 *)"none";
	struct wort_index *index, *again;
	char name[WORT_NAME_MAX + 1];
	struct bed bed;

	memset(name, 'n', sizeof(name));
	bed_open(&bed, MIB, 4096);
	CHECK_EQ(open_name(&bed, name, 1, 0, &index), -ENOENT);
	CHECK_EQ(open_name(&bed, name, 1, excl, &index), 0);
	CHECK_EQ(open_name(&bed, name, 1, excl, &again), -EEXIST);
	CHECK_EQ(open_name(&bed, name, 1, create, &again), 0);
	CHECK(index == again);
	wort_index_put(again);
	wort_index_put(index);
	CHECK_EQ(open_name(&bed, name, WORT_NAME_MAX, excl, &index), 0);
	wort_index_put(index);
	CHECK_EQ(open_name(&bed, name, 2, 0, &index), -ENOENT);
	CHECK_EQ(open_name(&bed, name, WORT_NAME_MAX + 1, 0, &index),
		 -EMSGSIZE);
	CHECK_EQ(open_name(&bed, name, WORT_NAME_MAX + 1, create, &index),
		 -EMSGSIZE);
	CHECK_EQ(open_name(&bed, name, 0, create, &index), -EINVAL);
	CHECK_EQ(open_name(&bed, "a\0b", 3, create, &index), -EINVAL);
	CHECK_EQ(wort_index_open(bed.pm.pool, none, 4, create, 77, 0, &index),
		 -EOPNOTSUPP);
	CHECK_EQ(wort_index_open(bed.pm.pool, none, 4, create, 0, 1, &index),
		 -EINVAL);
	CHECK_EQ(wort_index_open(bed.pm.pool, (u8 *)"t", 1, 0, 77, 0, &index),
		 -EINVAL);
	CHECK_EQ(wort_index_open(bed.pm.pool, (u8 *)"t", 1, 0, 1, 0, &index),
		 0);
	wort_index_put(index);
	CHECK_EQ(wort_index_destroy(bed.pm.pool, none, 4), -ENOENT);
	CHECK_EQ(wort_index_destroy(bed.pm.pool, none, 0), -EINVAL);
	CHECK_EQ(wort_index_destroy(bed.pm.pool, (u8 *)name, sizeof(name)),
		 -EMSGSIZE);
	CHECK_EQ(wort_index_destroy(bed.pm.pool, (u8 *)name, 1), 0);
	CHECK_EQ(wort_index_destroy(bed.pm.pool, (u8 *)name, 1), -ENOENT);
	bed_check(&bed);
	bed_close(&bed);
}

/* All indexes, by pages of @max, in the order of strictly growing ids. */
static u32 list_all(struct bed *bed, u32 max, u64 *id_sum)
{
	struct wort_index_record records[100];
	u64 after = 0;
	bool more;
	u32 n, i, total = 0;

	*id_sum = 0;
	do {
		n = wort_index_list(bed->pm.pool, after, records, max, &more);
		CHECK(n == max || !more);
		for (i = 0; i < n; i++) {
			CHECK(records[i].id > after);
			after = records[i].id;
			*id_sum += after;
			CHECK_EQ(records[i].engine, subject.engine->id);
			CHECK_EQ(records[i].name[records[i].name_len], 0);
		}
		total += n;
	} while (more);
	return total;
}

static void many_open(struct bed *bed, u32 nr, u32 round)
{
	struct wort_index *index;
	char name[20];

	snprintf(name, sizeof(name), "index-%u", nr);
	CHECK_EQ(open_name(bed, name, strlen(name), WORT_INDEX_OPEN_F_CREATE |
			   WORT_INDEX_OPEN_F_EXCL, &index), 0);
	CHECK_EQ(pm_put(index, &nr, 4, &round, 4), 0);
	wort_index_put(index);
}

static void many_verify(struct bed *bed, u32 nr, u32 round)
{
	struct wort_index *index;
	u32 value, len = 4;
	char name[20];

	snprintf(name, sizeof(name), "index-%u", nr);
	CHECK_EQ(open_name(bed, name, strlen(name), 0, &index), 0);
	CHECK_EQ(pm_get(index, &nr, 4, &value, &len), 0);
	CHECK_EQ(value, round);
	wort_index_put(index);
}

static void many_destroy(struct bed *bed, u32 nr)
{
	char name[20];

	snprintf(name, sizeof(name), "index-%u", nr);
	CHECK_EQ(wort_index_destroy(bed->pm.pool, (u8 *)name, strlen(name)),
		 0);
}

#define MANY	2000

void check_pool_many_indexes(void)
{
	u64 sum, sum_small, used, used_again;
	struct wort_alloc_info info;
	struct bed bed;
	u32 i;

	bed_open(&bed, 64 * MIB, unit_extent);
	for (i = 0; i < MANY; i++)
		many_open(&bed, i, 0);
	CHECK_EQ(list_all(&bed, 100, &sum), MANY + 1);
	CHECK_EQ(list_all(&bed, 7, &sum_small), MANY + 1);
	CHECK_EQ(sum, sum_small);
	wort_alloc_info(&bed.pm.pool->alloc, &info);
	used = info.used_bytes;
	for (i = 0; i < MANY; i += 2)
		many_destroy(&bed, i);
	CHECK_EQ(list_all(&bed, 100, &sum), MANY / 2 + 1);
	bed_check(&bed);
	bed_detach(&bed);
	bed_attach(&bed);
	for (i = 0; i < MANY; i += 2)
		many_open(&bed, i, 1);
	for (i = 0; i < MANY; i++)
		many_verify(&bed, i, i % 2 ? 0 : 1);
	CHECK_EQ(list_all(&bed, 64, &sum), MANY + 1);
	pmpool_settle();
	wort_alloc_info(&bed.pm.pool->alloc, &info);
	used_again = info.used_bytes;
	CHECK_EQ(used_again, used);
	bed_check(&bed);
	bed_close(&bed);
}

/* Give each entry of the catalogue another id. */
static void renumber(struct bed *bed, u64 (*id)(u64 nr))
{
	struct wort_media_entry *entry;
	struct wort_media_catalogue *block;
	u8 *mem = (u8 *)bed->pm.region.base;
	struct wort_media_sb sb;
	u64 off, nr = 0;
	u32 i;

	CHECK_EQ(wort_pool_probe(&bed->pm.region, &sb), 0);
	for (off = le64_to_cpu(sb.catalogue_off); off;
	     off = le64_to_cpu(block->next)) {
		block = (void *)(mem + off);
		for (i = 0; i < WORT_MEDIA_CATALOGUE_SLOTS; i++) {
			if (!block->slot[i])
				continue;
			entry = (void *)(mem + le64_to_cpu(block->slot[i]));
			entry->id = cpu_to_le64(id(nr++));
			entry_seal(entry);
		}
	}
}

static u64 descending(u64 nr)
{
	return 1000000 - nr;
}

static u64 scattered(u64 nr)
{
	return (nr * 7919) % 1000003 + 1;
}

static u64 pairs(u64 nr)
{
	return 1000000 - nr / 2;
}

#define VERY_MANY	20000

/*
 * Indexes whose ids are in any order on media: the list is in the order of ids.
 * Two with one id are damage, and one of them is served.
 */
void check_pool_id_order(void)
{
	static u64 (*const orders[])(u64) = { descending, scattered };
	struct bed bed;
	u64 sum;
	u32 i;

	bed_open(&bed, 32 * MIB, 4096);
	for (i = 0; i < VERY_MANY; i++)
		many_open(&bed, i, 0);
	bed_detach(&bed);
	for (i = 0; i < ARRAY_SIZE(orders); i++) {
		renumber(&bed, orders[i]);
		bed_attach(&bed);
		CHECK(!bed.pm.pool->damaged);
		CHECK_EQ(list_all(&bed, 100, &sum), VERY_MANY + 1);
		many_verify(&bed, 0, 0);
		many_verify(&bed, VERY_MANY - 1, 0);
		bed_detach(&bed);
	}
	renumber(&bed, pairs);
	bed.live = shim_alloc_live;
	pmpool_attach(&bed.pm);
	bed.index = NULL;
	CHECK(bed.pm.pool->damaged);
	CHECK_EQ(list_all(&bed, 100, &sum), VERY_MANY / 2 + 1);
	bed_close(&bed);
}

static void set_damaged(struct wort_index *index, bool damaged)
{
	mutex_lock(&index->lock);
	wort_index_set_damaged(index, damaged);
	mutex_unlock(&index->lock);
}

static int rename_to(struct bed *bed, const char *from, const char *to)
{
	return wort_index_rename(bed->pm.pool, (const u8 *)from, strlen(from),
				 (const u8 *)to, strlen(to));
}

/* The index with a name: the one that is open, or none. */
static void expect_name(struct bed *bed, const char *name, bool there)
{
	struct wort_index *index;
	int err = open_name(bed, name, strlen(name), 0, &index);

	CHECK_EQ(err, there ? 0 : -ENOENT);
	if (err)
		return;
	CHECK(index == bed->index);
	wort_index_put(index);
}

/* What was there is there under another name, also for those who have it open. */
void check_pool_rename(void)
{
	struct wort_index_info_arg info;
	struct bed bed;
	u64 used = 0, id;
	u32 i, len, value;

	bed_open(&bed, MIB, 4096);
	id = bed.index->id;
	for (i = 0; i < 100; i++) {
		CHECK_EQ(pm_put(bed.index, &i, sizeof(i), &i, sizeof(i)), 0);
		CHECK_EQ(rename_to(&bed, i % 2 ? "new" : "t", i % 2 ? "t" : "new"), 0);
		expect_name(&bed, "new", !(i % 2));
		expect_name(&bed, "t", i % 2);
		pmpool_settle();
		if (i == 50)
			used = bed.pm.pool->alloc.freeing_bytes;
	}
	CHECK_EQ(bed.pm.pool->alloc.freeing_bytes, used);
	CHECK_EQ(rename_to(&bed, "t", "new"), 0);
	bed_check(&bed);
	set_damaged(bed.index, true);
	CHECK_EQ(rename_to(&bed, "new", "t"), 0);
	wort_index_info(bed.index, &info);
	CHECK_EQ(info.out_name_len, 1);
	CHECK(!memcmp(info.out_name, "t\0\0", 4));
	bed_detach(&bed);
	bed_attach(&bed);
	/* While the walk has not run, too. */
	CHECK_EQ(rename_to(&bed, "t", "x"), 0);
	CHECK_EQ(bed_index_state(&bed), WORT_STATE_DAMAGED);
	CHECK_EQ(bed.index->id, id);
	pmpool_settle();
	CHECK_EQ(rename_to(&bed, "x", "t"), 0);
	set_damaged(bed.index, false);
	bed_check(&bed);
	for (i = 0; i < 100; i++) {
		len = sizeof(value);
		CHECK_EQ(pm_get(bed.index, &i, sizeof(i), &value, &len), 0);
		CHECK_EQ(value, i);
	}
	CHECK_EQ(wort_index_destroy(bed.pm.pool, (u8 *)"t", 1), 0);
	CHECK_EQ(rename_to(&bed, "t", "x"), -ENOENT);
	pmpool_settle();
	bed_check(&bed);
	bed_close(&bed);
}

void check_pool_rename_refused(void)
{
	static const char name[WORT_NAME_MAX + 1] = { };
	struct wort_index *other;
	struct bed bed;

	bed_open(&bed, MIB, 4096);
	other = pmpool_index(&bed.pm, "other");
	CHECK_EQ(rename_to(&bed, "t", "other"), -EEXIST);
	CHECK_EQ(rename_to(&bed, "t", "t"), -EEXIST);
	CHECK_EQ(rename_to(&bed, "absent", "other"), -ENOENT);
	CHECK_EQ(rename_to(&bed, "t", ""), -EINVAL);
	CHECK_EQ(rename_to(&bed, "", "t"), -EINVAL);
	CHECK_EQ(wort_index_rename(bed.pm.pool, (u8 *)"t", 1, (u8 *)"a\0b", 3),
		 -EINVAL);
	CHECK_EQ(wort_index_rename(bed.pm.pool, (u8 *)"t", 1, (u8 *)name,
				   sizeof(name)), -EMSGSIZE);
	wort_pool_damaged(bed.pm.pool);
	CHECK_EQ(rename_to(&bed, "t", "new"), -EROFS);
	expect_name(&bed, "t", true);
	wort_index_put(other);
	bed_close(&bed);
}

/* Without space for another entry the name stays. */
void check_pool_rename_full(void)
{
	u8 value[sizeof(struct wort_media_entry) - sizeof(struct wort_media_leaf) -
		 sizeof(u64)] = { };
	struct bed bed;
	u32 i;

	bed_open(&bed, 256 * KIB, 4096);
	/* Records as large as an entry, which may take what it could. */
	for (i = 0; !pm_put(bed.index, &i, sizeof(i), value, sizeof(value)); i++)
		;
	CHECK(i > 100);
	CHECK_EQ(rename_to(&bed, "t", "new"), -ENOSPC);
	expect_name(&bed, "t", true);
	expect_name(&bed, "new", false);
	bed_check(&bed);
	bed_close(&bed);
}

static struct wort_index_info_arg info_of(struct wort_index *index)
{
	struct wort_index_info_arg info = { .size = sizeof(info) };

	wort_index_info(index, &info);
	return info;
}

static void expect_count(struct wort_index *index, u64 bytes, u64 records)
{
	struct wort_index_info_arg info = info_of(index);

	CHECK_EQ(info.out_bytes, bytes);
	CHECK_EQ(info.out_records, records);
	CHECK_EQ(!info.out_count_time, records == WORT_UNKNOWN);
}

/* A walk and a check count what each index owns; all together own all. */
void check_pool_counted(void)
{
	static u8 value[5000];
	struct wort_index *other;
	struct wort_check_arg arg;
	struct bed bed;
	u64 a, b;
	u32 i;

	bed_open(&bed, 4 * MIB, 4096);
	expect_count(bed.index, WORT_UNKNOWN, WORT_UNKNOWN);
	other = pmpool_index(&bed.pm, "other");
	for (i = 0; i < 3000; i++)
		CHECK_EQ(pm_put(bed.index, &i, sizeof(i), value, i % 100 ? 8 : 5000), 0);
	for (i = 0; i < 300; i++)
		CHECK_EQ(pm_put(other, &i, sizeof(i), value, 100), 0);
	expect_count(bed.index, WORT_UNKNOWN, WORT_UNKNOWN);
	bed_check_arg(&bed, 0, &arg);
	a = info_of(bed.index).out_bytes;
	b = info_of(other).out_bytes;
	expect_count(bed.index, a, 3000);
	expect_count(other, b, 300);
	CHECK_EQ(a + b + sizeof(struct wort_media_catalogue) +
		 wort_alloc_table_bytes(&bed.pm.pool->alloc), arg.out_owned_bytes);
	wort_index_put(other);
	bed_detach(&bed);
	bed_attach(&bed);
	expect_count(bed.index, WORT_UNKNOWN, WORT_UNKNOWN);
	pmpool_settle();
	expect_count(bed.index, a, 3000);
	other = pmpool_index(&bed.pm, "other");
	expect_count(other, b, 300);
	i = 7;
	CHECK_EQ(pm_del(other, &i, sizeof(i)), 0);
	expect_count(other, b, 300);
	bed_check_arg(&bed, 0, &arg);
	expect_count(bed.index, a, 3000);
	CHECK(info_of(other).out_bytes < b);
	CHECK_EQ(info_of(other).out_records, 299);
	wort_index_put(other);
	bed_close(&bed);
}

/* One opening may exclude all others, for as long as it lasts. */
void check_pool_owned(void)
{
	const u32 own = WORT_INDEX_OPEN_F_OWN, create = WORT_INDEX_OPEN_F_CREATE;
	struct wort_index *owner, *other;
	struct bed bed;

	bed_open(&bed, MIB, 4096);
	CHECK_EQ(open_name(&bed, "t", 1, own, &owner), -EBUSY);
	CHECK_EQ(open_name(&bed, "new", 3, own | create, &owner), 0);
	CHECK_EQ(open_name(&bed, "new", 3, 0, &other), -EBUSY);
	CHECK_EQ(open_name(&bed, "new", 3, create, &other), -EBUSY);
	CHECK_EQ(open_name(&bed, "new", 3, own, &other), -EBUSY);
	CHECK_EQ(rename_to(&bed, "new", "x"), -EBUSY);
	CHECK_EQ(wort_index_destroy(bed.pm.pool, (u8 *)"new", 3), -EBUSY);
	CHECK_EQ(pm_put(owner, "k", 1, "v", 1), 0);
	wort_index_put(owner);
	CHECK_EQ(open_name(&bed, "new", 3, 0, &other), 0);
	CHECK_EQ(open_name(&bed, "new", 3, own, &owner), -EBUSY);
	wort_index_put(other);
	CHECK_EQ(open_name(&bed, "new", 3, own, &owner), 0);
	wort_index_put(owner);
	CHECK_EQ(wort_index_destroy(bed.pm.pool, (u8 *)"new", 3), 0);
	bed_close(&bed);
}

/* Handles of a destroyed index, and of the one with its name since. */
void check_pool_stale(void)
{
	struct wort_key key = { (const u8 *)"k", 1 };
	struct wort_scan scan = { .flags = WORT_SCAN_F_COUNT };
	struct wort_index *old;
	u32 len = 0;
	struct bed bed;

	bed_open(&bed, MIB, 4096);
	CHECK_EQ(pm_put(bed.index, "k", 1, "old", 3), 0);
	old = bed.index;
	CHECK_EQ(wort_index_destroy(bed.pm.pool, (u8 *)"t", 1), 0);
	CHECK_EQ(pm_put(old, "k", 1, "new", 3), -ESTALE);
	CHECK_EQ(pm_get(old, "k", 1, NULL, &len), -ESTALE);
	CHECK_EQ(wort_index_delete(old, &key, NULL, NULL), -ESTALE);
	CHECK_EQ(wort_index_scan(old, &scan), -ESTALE);
	bed.index = pmpool_index(&bed.pm, "t");
	CHECK(bed.index != old);
	CHECK_NE(bed.index->id, old->id);
	CHECK_EQ(pm_get(bed.index, "k", 1, NULL, &len), -ENOENT);
	pmpool_settle();
	CHECK_EQ(pm_put(old, "k", 1, "new", 3), -ESTALE);
	bed_check(&bed);
	wort_index_put(old);
	bed_close(&bed);
}

/*
 * A fatal signal while another task has the lock of the pool.  What would wait keeps
 * nothing: the hold not the semaphore of batches, a batch not the gates.
 */
void check_pool_locked_killed(void)
{
	struct wort_pool_info_arg info = { .size = sizeof(info) };
	struct wort_check_arg arg = {
		.size = sizeof(arg), .flags = WORT_CHECK_F_CLEAR,
	};
	struct wort_index_record record;
	bool held = false, more;
	struct wort_index *index;
	struct wort_pool *pool;
	struct bed bed;

	bed_open(&bed, MIB, 4096);
	pmpool_settle();
	pool = bed.pm.pool;
	pool->lock.held = true;
	shim_fatal_signal = true;
	CHECK_EQ(wort_index_open(pool, (u8 *)"t", 1, 0, 0, 0, &index), -EINTR);
	CHECK_EQ(wort_index_open(pool, (u8 *)"new", 3, WORT_INDEX_OPEN_F_CREATE, 0, 0,
				 &index), -EINTR);
	CHECK_EQ(wort_index_rename(pool, (u8 *)"t", 1, (u8 *)"u", 1), -EINTR);
	CHECK_EQ(wort_index_destroy(pool, (u8 *)"t", 1), -EINTR);
	CHECK_EQ(wort_index_list(pool, 0, &record, 1, &more), -EINTR);
	CHECK_EQ(wort_pool_info(pool, &info), -EINTR);
	CHECK_EQ(wort_pool_hold(pool, &held), -EINTR);
	CHECK_EQ(wort_pool_check(pool, &arg), -EINTR);
	CHECK_EQ(wort_pool_space_pending(pool), -EINTR);
	CHECK_EQ(wort_gates_use(pool), -EINTR);
	pool->lock.held = false;
	CHECK_EQ(wort_index_list(pool, 0, &record, 1, &more), -EINTR);
	CHECK(!more);
	shim_fatal_signal = false;
	CHECK(!held && !pool->clearing && !pool->frozen);
	CHECK(down_write_trylock(&pool->atomic_sem));
	up_write(&pool->atomic_sem);
	CHECK(down_write_trylock(&pool->gates_sem));
	up_write(&pool->gates_sem);
	CHECK_EQ(pm_put(bed.index, "k", 1, "v", 1), 0);
	bed_check(&bed);
	bed_close(&bed);
}

/*
 * A fatal signal while somebody waits: for a check, for the walk, for space, for
 * a catalogue to be read.
 *
 * errno-table: ioctl EINTR
 */
void check_pool_fatal_signal(void)
{
	struct wort_check_arg arg = { .size = sizeof(arg) };
	u32 i, len = 4;
	struct bed bed;

	bed_open(&bed, MIB, 4096);
	CHECK_EQ(pm_put(bed.index, "k", 1, "old", 3), 0);
	CHECK_EQ(pm_put(bed.index, "key-word", 8, "old-word", 8), 0);
	shim_fatal_signal = true;
	bed.pm.pool->frozen = true;
	CHECK_EQ(pm_put(bed.index, "k", 1, "new", 3), -EINTR);
	CHECK_EQ(pm_put(bed.index, "key-word", 8, "new-word", 8), -EINTR);
	CHECK_EQ(pm_get(bed.index, "k", 1, &i, &len), 0);
	CHECK_EQ(pm_del(bed.index, "k", 1), -EINTR);
	CHECK_EQ(pm_del(bed.index, "key-word", 8), -EINTR);
	bed.pm.pool->frozen = false;
	for (i = 0; !pm_put(bed.index, &i, 4, &i, 4); i++)
		;
	CHECK_EQ(pm_put(bed.index, &i, 4, &i, 4), -ENOSPC);
	CHECK_EQ(pm_del(bed.index, "k", 1), 0);
	CHECK_EQ(pm_put(bed.index, &i, 4, &i, 4), -EINTR);
	bed_detach(&bed);
	CHECK_EQ(wort_pool_attach(&bed.pm.region, &bed.pm.pool), -EINTR);
	CHECK_EQ(shim_alloc_live, bed.live);
	shim_fatal_signal = false;
	bed_attach(&bed);
	shim_fatal_signal = true;
	CHECK_EQ(wort_pool_check(bed.pm.pool, &arg), -EINTR);
	mutex_lock(&bed.pm.pool->work_lock);
	CHECK_EQ(wort_pool_round(bed.pm.pool), -EINTR);
	mutex_unlock(&bed.pm.pool->work_lock);
	shim_fatal_signal = false;
	CHECK_EQ(pm_put(bed.index, &i, 4, &i, 4), 0);
	bed_check(&bed);
	bed_close(&bed);
}

static const u8 zeroes[100];

/* A slot of the catalogue serves again and again. */
void check_pool_slots(void)
{
	struct wort_alloc_info before, after;
	struct bed bed;
	u32 i;

	bed_open(&bed, MIB, 4096);
	many_open(&bed, 0, 0);
	wort_alloc_info(&bed.pm.pool->alloc, &before);
	for (i = 0; i < 500; i++) {
		many_destroy(&bed, 0);
		many_open(&bed, 0, i);
		if (i % 10 == 0)
			pmpool_settle();
	}
	pmpool_settle();
	wort_alloc_info(&bed.pm.pool->alloc, &after);
	CHECK_EQ(after.used_bytes, before.used_bytes);
	many_verify(&bed, 0, 499);
	bed_check(&bed);
	bed_close(&bed);
}

/* Destroyed before, in and after the walk: all its space comes back. */
void check_pool_destroy_walk(void)
{
	struct wort_alloc_info before, after;
	struct wort_index *index;
	struct bed bed;
	u32 when, i;

	bed_open(&bed, 4 * MIB, 4096);
	wort_alloc_info(&bed.pm.pool->alloc, &before);
	for (when = 0; when < 8; when++) {
		index = pmpool_index(&bed.pm, "u");
		for (i = 0; i < 3000; i++)
			CHECK_EQ(pm_put(index, &i, 4, zeroes, i % 100), 0);
		wort_index_put(index);
		bed_detach(&bed);
		bed_attach(&bed);
		if (when == 7)
			pmpool_settle();
		shim_alloc_fail_nth = when ? when * 12 : -1;
		if (when)
			shim_run_work();
		shim_alloc_fail_nth = -1;
		index = pmpool_index(&bed.pm, "u");
		for (i = 0; i < 3000; i += 3)
			CHECK_EQ(pm_del(index, &i, 4), 0);
		wort_index_put(index);
		CHECK_EQ(wort_index_destroy(bed.pm.pool, (u8 *)"u", 1), 0);
		pmpool_settle();
		wort_alloc_info(&bed.pm.pool->alloc, &after);
		CHECK(after.known);
		CHECK_EQ(after.used_bytes, before.used_bytes);
		CHECK_EQ(after.free_extents, before.free_extents);
		bed_check(&bed);
	}
	bed_close(&bed);
}

/* Detach stores nothing, whatever was under way in the background. */
void check_pool_detach_quiet(void)
{
	u64 size = MIB;
	struct bed bed;
	u8 *before;
	u32 i;

	bed_open(&bed, size, 4096);
	before = malloc(size);
	for (i = 0; i < 500; i++)
		CHECK_EQ(pm_put(bed.index, &i, 4, &i, 4), 0);
	for (i = 0; i < 500; i += 2)
		CHECK_EQ(pm_del(bed.index, &i, 4), 0);
	CHECK_EQ(wort_index_destroy(bed.pm.pool, (u8 *)"t", 1), 0);
	memcpy(before, (u8 *)bed.pm.region.base, size);
	bed_detach(&bed);
	CHECK(!memcmp(before, (u8 *)bed.pm.region.base, size));
	free(before);
	bed_attach(&bed);
	bed_check(&bed);
	bed_close(&bed);
}

/* Each copy says the same, in its place. */
static void check_copies(struct bed *bed, u64 seq)
{
	struct wort_media_sb sb[WORT_SB_NR];
	struct wort_op op;
	u32 i;

	wort_op_begin(&op, &bed->pm.region, NULL);
	for (i = 0; i < WORT_SB_NR; i++) {
		CHECK_EQ(wort_sb_read(&op, wort_sb_off(&bed->pm.pool->sb, i),
				      &sb[i]), 0);
		CHECK_EQ(le64_to_cpu(sb[i].seq), seq);
		CHECK_EQ(sb[i].state, sb[0].state);
	}
}

/* An update of the superblock is one of all copies. */
void check_pool_superblock_turns(void)
{
	struct wort_check_arg arg;
	struct wort_media_sb sb;
	struct bed bed;
	u32 i;

	bed_open(&bed, MIB, 4096);
	for (i = 0; i < 5; i++) {
		check_copies(&bed, 1 + 2 * i);
		wort_pool_damaged(bed.pm.pool);
		check_copies(&bed, 2 + 2 * i);
		CHECK_EQ(pm_put(bed.index, "k", 1, "v", 1), -EROFS);
		bed_detach(&bed);
		bed_attach(&bed);
		check_copies(&bed, 2 + 2 * i);
		CHECK(bed_pool_state(&bed) & WORT_STATE_DAMAGED);
		bed_check_arg(&bed, 0, &arg);
		CHECK_EQ(arg.out_nr_damaged, 0);
		CHECK(bed_pool_state(&bed) & WORT_STATE_DAMAGED);
		bed_check_arg(&bed, WORT_CHECK_F_CLEAR, &arg);
		CHECK_EQ(arg.out_nr_damaged, 0);
		CHECK(!(bed_pool_state(&bed) & WORT_STATE_DAMAGED));
		CHECK_EQ(pm_put(bed.index, "k", 1, "v", 1), 0);
		CHECK_EQ(wort_pool_probe(&bed.pm.region, &sb), 0);
		CHECK_EQ(le64_to_cpu(sb.seq), 3 + 2 * i);
		CHECK_EQ(le64_to_cpu(sb.state), 0);
		bed_check(&bed);
	}
	bed_close(&bed);
}

static u32 nr_notified;

static void count_notified(struct wort_pool *pool)
{
	nr_notified++;
}

/* The owner is told once of each change of state, and of nothing else. */
void check_pool_notify(void)
{
	struct wort_check_arg arg;
	struct bed bed;

	bed_open(&bed, MIB, 4096);
	CHECK_EQ(pm_put(bed.index, "k", 1, "v", 1), 0);
	bed_detach(&bed);
	bed_attach(&bed);
	nr_notified = 0;
	bed.pm.pool->notify = count_notified;
	CHECK(bed_pool_state(&bed) & WORT_STATE_WALKING);
	pmpool_settle();
	CHECK(!(bed_pool_state(&bed) & WORT_STATE_WALKING));
	CHECK_EQ(nr_notified, 1);
	CHECK_EQ(pm_put(bed.index, "l", 1, "v", 1), 0);
	CHECK_EQ(pm_del(bed.index, "k", 1), 0);
	pmpool_settle();
	CHECK_EQ(nr_notified, 1);
	wort_pool_damaged(bed.pm.pool);
	CHECK_EQ(nr_notified, 2);
	wort_pool_damaged(bed.pm.pool);
	CHECK_EQ(nr_notified, 2);
	bed_check_arg(&bed, 0, &arg);
	CHECK_EQ(nr_notified, 2);
	bed_check_arg(&bed, WORT_CHECK_F_CLEAR, &arg);
	CHECK_EQ(nr_notified, 3);
	bed_check_arg(&bed, WORT_CHECK_F_CLEAR, &arg);
	CHECK_EQ(nr_notified, 3);
	bed_close(&bed);
	CHECK_EQ(nr_notified, 3);
}

static void expect_damaged(struct bed *bed, u32 nr)
{
	struct wort_pool_info_arg info = { .size = sizeof(info) };

	wort_pool_info(bed->pm.pool, &info);
	CHECK_EQ(info.out_nr_damaged, nr);
	CHECK_EQ(info.out_state, nr ? WORT_STATE_INDEX_DAMAGED : 0);
}

/* The owner is told of each damaged index, and that there is none any more. */
void check_pool_notify_index(void)
{
	struct wort_check_arg arg;
	struct wort_index *other;
	struct bed bed;

	bed_open(&bed, MIB, 4096);
	other = pmpool_index(&bed.pm, "other");
	nr_notified = 0;
	bed.pm.pool->notify = count_notified;
	expect_damaged(&bed, 0);
	set_damaged(bed.index, true);
	set_damaged(bed.index, true);
	CHECK_EQ(nr_notified, 1);
	expect_damaged(&bed, 1);
	set_damaged(other, true);
	CHECK_EQ(nr_notified, 2);
	expect_damaged(&bed, 2);
	wort_index_put(other);
	CHECK_EQ(wort_index_destroy(bed.pm.pool, (u8 *)"other", 5), 0);
	CHECK_EQ(nr_notified, 3);
	expect_damaged(&bed, 1);
	bed_detach(&bed);
	bed_attach(&bed);
	pmpool_settle();
	expect_damaged(&bed, 1);
	bed.pm.pool->notify = count_notified;
	bed_check_arg(&bed, WORT_CHECK_F_CLEAR, &arg);
	CHECK_EQ(nr_notified, 4);
	expect_damaged(&bed, 0);
	bed_close(&bed);
}

/* The memory of a read-only pool cannot be stored to: a store is a crash. */
static void attach_protected(struct bed *bed, bool protected)
{
	bed->pm.region.readonly = protected;
	CHECK_EQ(mprotect((void *)bed->pm.region.base, bed->pm.region.size,
			  protected ? PROT_READ : PROT_READ | PROT_WRITE), 0);
	bed_attach(bed);
	pmpool_settle();
}

static void check_read_only(struct bed *bed, u32 nr, u32 state)
{
	struct wort_check_arg arg = { .flags = WORT_CHECK_F_CLEAR };
	struct wort_pool *pool = bed->pm.pool;
	struct wort_index *index;
	u64 value;
	u32 i, len;

	CHECK_EQ(bed_pool_state(bed), WORT_STATE_READONLY | state);
	for (i = 0; i < nr; i++) {
		len = sizeof(value);
		CHECK_EQ(pm_get(bed->index, &i, 4, &value, &len), 0);
		CHECK_EQ(pm_put(bed->index, &i, 4, &value, len), -EROFS);
		CHECK_EQ(pm_del(bed->index, &i, 4), -EROFS);
	}
	CHECK_EQ(open_name(bed, "new", 3, WORT_INDEX_OPEN_F_CREATE, &index),
		 -EROFS);
	CHECK_EQ(wort_index_destroy(pool, (u8 *)"t", 1), -EROFS);
	CHECK_EQ(wort_index_rename(pool, (u8 *)"t", 1, (u8 *)"new", 3), -EROFS);
	CHECK_EQ(wort_pool_check(pool, &arg), -EROFS);
	bed_check_arg(bed, 0, &arg);
	CHECK_EQ(arg.out_nr_leaves, nr);
	CHECK_EQ(arg.out_nr_damaged, 0);
	wort_pool_damaged(pool);
	mutex_lock(&bed->index->lock);
	wort_index_set_damaged(bed->index, true);
	mutex_unlock(&bed->index->lock);
	pmpool_settle();
}

/* With space to give back, and with an extent that no index owns any of. */
void check_pool_read_only(void)
{
	struct wort_index *index;
	struct bed bed;
	u32 i;

	bed_open(&bed, MIB, 4096);
	index = pmpool_index(&bed.pm, "gone");
	for (i = 0; i < 400; i++)
		CHECK_EQ(pm_put(index, &i, 4, zeroes, 100), 0);
	wort_index_put(index);
	for (i = 0; i < 200; i++)
		CHECK_EQ(pm_put(bed.index, &i, 4, &i, 4), 0);
	CHECK_EQ(wort_index_destroy(bed.pm.pool, (u8 *)"gone", 4), 0);
	bed_detach(&bed);
	attach_protected(&bed, true);
	check_read_only(&bed, 200, 0);
	bed_detach(&bed);
	/* what was noted there was noted in memory only */
	attach_protected(&bed, false);
	CHECK_EQ(bed_pool_state(&bed), 0);
	CHECK_EQ(bed_index_state(&bed), 0);
	bed_check(&bed);
	wort_pool_damaged(bed.pm.pool);
	bed_detach(&bed);
	attach_protected(&bed, true);
	check_read_only(&bed, 200, WORT_STATE_DAMAGED);
	bed_detach(&bed);
	attach_protected(&bed, false);
	bed_close(&bed);
}

static struct wort_pool *doomed;

static void destroy_doomed(void)
{
	shim_in_grace_period = NULL;
	CHECK_EQ(wort_index_destroy(doomed, (const u8 *)"doomed", 6), 0);
}

/* An index is destroyed while the work that check begins with waits. */
void check_pool_check_beside_destroy(void)
{
	struct wort_check_arg arg;
	struct wort_index *index;
	struct bed bed;
	u64 i;

	bed_open(&bed, MIB, 4096);
	bed_check_arg(&bed, 0, &arg);
	index = pmpool_index(&bed.pm, "doomed");
	for (i = 0; i < 100; i++)
		CHECK_EQ(pm_put(index, &i, 8, "a value of some length", 22), 0);
	wort_index_put(index);
	CHECK_EQ(pm_put(bed.index, "k", 1, "v", 1), 0);
	CHECK_EQ(pm_del(bed.index, "k", 1), 0);
	pmpool_settle();
	CHECK_EQ(pm_put(bed.index, "k", 1, "v", 1), 0);
	CHECK_EQ(pm_del(bed.index, "k", 1), 0);
	doomed = bed.pm.pool;
	shim_in_grace_period = destroy_doomed;
	bed_check_arg(&bed, 0, &arg);
	CHECK(!shim_in_grace_period);
	CHECK_EQ(arg.out_nr_damaged, 0);
	CHECK(arg.out_freeing_bytes);
	CHECK_EQ(arg.out_owned_bytes + arg.out_free_bytes +
		 arg.out_freeing_bytes, unit_pool_bytes(&bed));
	pmpool_settle();
	bed_check(&bed);
	bed_close(&bed);
}

/* Freed objects are given back after all sections: a change that is alone has one, too. */
void check_pool_alone(void)
{
	const struct srcu_struct *writers;
	struct wort_op op;
	struct bed bed;

	bed_open(&bed, 1 << 20, 4096);
	writers = &bed.pm.pool->locks.writers;
	CHECK_EQ(wort_index_enter(bed.index, &op, WORT_WRITE_ALONE), 0);
	CHECK_EQ(writers->nr[0] + writers->nr[1], 1);
	wort_index_exit(bed.index, &op, WORT_WRITE_ALONE, 0, -EAGAIN);
	CHECK_EQ(writers->nr[0] + writers->nr[1], 0);
	bed_close(&bed);
}

/* Who has entered an index before it was destroyed asks for work that nobody does any more. */
void check_pool_never_due(void)
{
	struct wort_index *index;
	struct bed bed;

	bed_open(&bed, MIB, 4096);
	index = pmpool_index(&bed.pm, "u");
	CHECK_EQ(pm_put(index, "k", 1, "v", 1), 0);
	pmpool_settle();
	CHECK_EQ(wort_index_destroy(bed.pm.pool, (const u8 *)"u", 1), 0);
	pmpool_settle();
	index->tree.want_tend(&index->tree);
	CHECK(list_empty(&bed.pm.pool->due));
	wort_index_put(index);
	pmpool_settle();
	bed_close(&bed);
}
