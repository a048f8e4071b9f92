// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages known to be bad that hold objects of WORT: values, nodes, and what its table of
 * the top leads to.
 */
#include <sys/mman.h>
#include <unistd.h>

#include <linux/uaccess.h>

#include "../../kmod/engine/radix_top.h"
#include "../unit/hostile.h"
#include "wort_tests.h"

#define VALUE_EXTENT	16384
#define INLINE_LEN	2500	/* the second slot of its extent is on two pages */
#define OBJECT_LEN	9000

static u64 leaf_of(struct bed *bed, u64 *val)
{
	u64 root = wort_pm_load(&bed->index->tree.root[0]);
	__le64 __pmem *leaf = wort_region_at(&bed->pm.region,
					     root & ~WORT_MEDIA_LINK_KIND_MASK);

	*val = wort_pm_load(leaf);
	return root & ~WORT_MEDIA_LINK_KIND_MASK;
}

/* The last page of the only record's value. */
static u64 value_page(struct bed *bed, u32 len)
{
	u64 val, leaf = leaf_of(bed, &val), end;

	end = len == OBJECT_LEN ? val + len :
				  leaf + sizeof(struct wort_media_leaf) + 8 + len;
	CHECK_NE((end - 1) >> WORT_PAGE_SHIFT, leaf >> WORT_PAGE_SHIFT);
	return (end - 1) >> WORT_PAGE_SHIFT;
}

/* Another record has the first slot. */
static void put_value(struct bed *bed, u32 len)
{
	static u8 value[OBJECT_LEN];

	CHECK_EQ(pm_put(bed->index, "before", 6, value, len), 0);
	CHECK_EQ(pm_put(bed->index, "key", 3, value, len), 0);
	CHECK_EQ(pm_del(bed->index, "before", 6), 0);
	pmpool_settle();
}

static int get_value(struct bed *bed, bool expect)
{
	static u8 value[OBJECT_LEN];
	const struct wort_value wanted = { value, OBJECT_LEN };
	struct wort_buf old = { .data = value, .size = sizeof(value) };
	u32 len = sizeof(value);

	if (!expect)
		return pm_get(bed->index, "key", 3, value, &len);
	CHECK_EQ(unit_put(bed->index, "key", 3, value, 8, 0, NULL, &old), -EIO);
	return unit_put(bed->index, "key", 3, value, 8, 0, &wanted, NULL);
}

/* @later: the page fails when the pool is attached and the walk has ended. */
static void lose_value(u32 len, bool later, bool replace)
{
	struct wort_scan scan = { .flags = WORT_SCAN_F_COUNT };
	struct wort_check_arg arg;
	struct bed bed;
	u64 page, n = 0;

	bed_open(&bed, IMAGE_SIZE, VALUE_EXTENT);
	put_value(&bed, len);
	page = value_page(&bed, len);
	if (!later)
		bed_detach(&bed);
	image.mem = (u8 *)bed.pm.region.base;
	if (bad_pages_poison) {
		shim_poison = (char *)image.mem + (page << WORT_PAGE_SHIFT);
		bed.pm.region.mcsafe = true;
		wort_region_update(&bed.pm.region);
	} else {
		wort_region_add_bad(&bed.pm.region, page << WORT_PAGE_SHIFT, 1);
	}
	mprotect(image.mem + (page << WORT_PAGE_SHIFT), 4096, PROT_NONE);
	if (!later)
		bed_attach(&bed);
	pmpool_settle();
	CHECK(!bed.pm.pool->alloc.walking);
	bed_check(&bed);
	CHECK_EQ(get_value(&bed, false), -EIO);
	CHECK_EQ(get_value(&bed, true), len == OBJECT_LEN ? -EIO : -ECANCELED);
	CHECK_EQ(wort_index_scan(bed.index, &scan), 0);
	CHECK_EQ(scan.count, 1);
	if (replace)
		CHECK_EQ(pm_put(bed.index, "key", 3, "value", 5), 0);
	else
		CHECK_EQ(pm_del(bed.index, "key", 3), 0);
	CHECK_EQ(get_value(&bed, false), replace ? 0 : -ENOENT);
	pmpool_settle();
	/* Nothing is put there again, if the page is known: it would be killed. */
	while (!bad_pages_poison && !pm_put(bed.index, &n, sizeof(n), image.mem, len))
		n++;
	bed_check_arg(&bed, 0, &arg);
	CHECK_EQ(arg.out_nr_damaged, 0);
	mprotect(image.mem, IMAGE_SIZE, PROT_READ | PROT_WRITE);
	wort_index_put(bed.index);
	pmpool_detach(&bed.pm);
	wort_region_forget_bad(&bed.pm.region);
	shim_poison = NULL;
	pmpool_unmap(&bed.pm);
}

/* Nodes enough that the next one is on another page. */
static void fill_page_of_nodes(struct bed *bed)
{
	struct wort_index *other = pmpool_index(&bed->pm, "other");
	u32 i;

	for (i = 0; i < 600; i++)
		CHECK_EQ(pm_put(other, &i, sizeof(i), "value", 5), 0);
	wort_index_put(other);
}

/* A record goes and its node with it; the other entry is a node that is lost. */
static void lose_sibling(void)
{
	u32 len = 0;
	struct bed bed;
	u64 node;

	bed_open(&bed, IMAGE_SIZE, VALUE_EXTENT);
	CHECK_EQ(pm_put(bed.index, "b1", 2, "value", 5), 0);
	CHECK_EQ(pm_put(bed.index, "b2", 2, "value", 5), 0);
	node = wort_pm_load(&bed.index->tree.root[0]);
	fill_page_of_nodes(&bed);
	CHECK_EQ(pm_put(bed.index, "a", 1, "value", 5), 0);
	wort_region_add_bad(&bed.pm.region, node & WORT_MEDIA_LINK_OFF_MASK, 1);
	CHECK_EQ(pm_get(bed.index, "b1", 2, NULL, &len), -EIO);
	CHECK_EQ(pm_del(bed.index, "a", 1), 0);
	CHECK_EQ(wort_pm_load(&bed.index->tree.root[0]), node);
	wort_region_forget_bad(&bed.pm.region);
	bed_check(&bed);
	bed_close(&bed);
}

/*
 * A value that cannot be read, in its leaf or in an object of its own, hides no references:
 * the walk ends, a check finds no damage, and the value can be replaced and removed.
 */
void check_wort_bad_pages_value(void)
{
	u32 i;

	for (i = 0; i < 16; i++) {
		bad_pages_poison = i & 8;
		lose_value(i & 1 ? OBJECT_LEN : INLINE_LEN, i & 2, i & 4);
	}
	bad_pages_poison = false;
	lose_sibling();
}

static struct pmpool guess;

static u64 media_get(u64 off)
{
	return wort_pm_load((__le64 *)((u8 *)guess.region.base + off));
}

static void media_set(u64 off, u64 word)
{
	__le64 le = cpu_to_le64(word);

	memcpy((u8 *)guess.region.base + off, &le, sizeof(le));
}

/* A value that would reach beyond the last extent, whose word is on a bad page. */
static void guess_run(void)
{
	struct wort_check_arg arg = { .size = sizeof(arg) };

	if (wort_pool_attach(&guess.region, &guess.pool))
		_exit(1);
	pmpool_settle();
	if (wort_pool_check(guess.pool, &arg) || !arg.out_nr_damaged)
		_exit(1);
	pmpool_detach(&guess);
}

void check_wort_bad_pages_guess(void)
{
	static u8 value[5000];
	struct wort_media_sb sb;
	struct wort_index *index;
	u64 last, leaf;

	/* The last extent is the last of a group, too, and the device is larger. */
	pmpool_map(&guess, 4 * MIB, false);
	guess.region.size = 2 * MIB + 7 * 4096;
	pmpool_format(&guess, 4096);
	guess.region.size = 4 * MIB;
	pmpool_attach(&guess);
	index = pmpool_index(&guess, "t");
	CHECK_EQ(pm_put(index, "k", 1, value, sizeof(value)), 0);
	leaf = wort_pm_load(&index->tree.root[0]) & WORT_MEDIA_LINK_OFF_MASK;
	wort_index_put(index);
	pmpool_settle();
	pmpool_detach(&guess);
	memcpy(&sb, (u8 *)guess.region.base + WORT_MEDIA_SB_OFF, sizeof(sb));
	last = le64_to_cpu(sb.nr_extents) - 1;
	CHECK_EQ(last, WORT_GROUP_EXTENTS - 1);
	media_set(leaf, le64_to_cpu(sb.data_off) + (last << 12));
	media_set(leaf + 8, (media_get(leaf + 8) &
			     ~(WORT_MEDIA_LEAF_VALUE_MASK <<
			       WORT_MEDIA_LEAF_VALUE_SHIFT)) |
			    (u64)WORT_VALUE_MAX << WORT_MEDIA_LEAF_VALUE_SHIFT);
	wort_region_add_bad(&guess.region, le64_to_cpu(sb.table_off) + 8 * last,
			    8);
	CHECK(hostile_survives(guess_run));
	wort_region_forget_bad(&guess.region);
	pmpool_unmap(&guess);
}

#define DROP_KEYS	3000

/* A node that the root refers to, by its slot; 0: there is none. */
static u64 node_below_root(const u8 *mem, u64 root, u32 slot)
{
	__le64 link;

	memcpy(&link, mem + (root & WORT_MEDIA_LINK_OFF_MASK) + 8 * slot,
	       sizeof(link));
	return (le64_to_cpu(link) & WORT_MEDIA_LINK_KIND_MASK) ==
	       WORT_MEDIA_WORT_KIND_NODE ?
	       le64_to_cpu(link) & WORT_MEDIA_LINK_OFF_MASK : 0;
}

/* Lookups, which the table of the top leads, and scans find the same. */
static u32 count_alike(struct bed *bed, const u64 *keys)
{
	struct wort_scan scan = { .flags = WORT_SCAN_F_COUNT };
	u64 i, value;
	u32 len, nr = 0;
	int err;

	for (i = 0; i < DROP_KEYS; i++) {
		len = sizeof(value);
		err = pm_get(bed->index, &keys[i], 8, &value, &len);
		CHECK(!err || err == -ENOENT);
		nr += !err;
	}
	CHECK_EQ(wort_index_scan(bed->index, &scan), 0);
	CHECK_EQ(scan.count, nr);
	return nr;
}

static void drop_below_top(struct bed *bed, const u64 *keys, u64 off)
{
	struct wort_check_arg arg;
	u64 i;

	wort_region_add_bad(&bed->pm.region, off, 1);
	CHECK(wort_tree_top(&bed->index->tree)->shape.digits);
	bed_check_arg(bed, WORT_CHECK_F_CLEAR, &arg);
	CHECK_NE(arg.out_nr_dropped, 0);
	CHECK_LE(count_alike(bed, keys), DROP_KEYS - 1);
	pmpool_settle();
	count_alike(bed, keys);
	for (i = 0; i < DROP_KEYS; i++)
		CHECK_EQ(pm_put(bed->index, &keys[i], 8, &i, 8), 0);
	CHECK_EQ(count_alike(bed, keys), DROP_KEYS);
	bed_check_arg(bed, 0, &arg);
	CHECK_EQ(arg.out_nr_damaged, 0);
	wort_region_forget_bad(&bed->pm.region);
}

static int compare_keys(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(u64));
}

/*
 * The table of the top does not lead to what was dropped.  In the order of keys nodes
 * below the root are made one after the other, on other pages than the root.
 */
void check_wort_bad_pages_drop_top(void)
{
	u64 *keys = workload_keys(WORKLOAD_SPARSE, DROP_KEYS, unit_seed), i;
	u8 *clean = malloc(IMAGE_SIZE), *mem;
	struct bed bed;
	u64 root, off;

	bed_open(&bed, IMAGE_SIZE, VALUE_EXTENT);
	mem = (u8 *)bed.pm.region.base;
	qsort(keys, DROP_KEYS, sizeof(*keys), compare_keys);
	for (i = 0; i < DROP_KEYS; i++)
		CHECK_EQ(pm_put(bed.index, &keys[i], 8, &i, 8), 0);
	root = wort_pm_load(&bed.index->tree.root[0]);
	bed_detach(&bed);
	memcpy(clean, mem, IMAGE_SIZE);
	for (i = 0; i < WORT_MEDIA_WORT_SLOTS; i++) {
		memcpy(mem, clean, IMAGE_SIZE);
		off = node_below_root(mem, root, i);
		if (!off)
			continue;
		bed_attach(&bed);
		pmpool_settle();
		drop_below_top(&bed, keys, off);
		bed_detach(&bed);
	}
	pmpool_unmap(&bed.pm);
	free(clean);
	free(keys);
}

/* EIO beneath a bad page, service for the rest: exactly. */
static void read_exactly(void)
{
	image_make();
	CHECK_EQ(bad_pages_served(image_leaf(0, "zz")), image_nr_keys - 1);
	CHECK_EQ(bad_pages_served(image_leaf(0, "apply")), image_nr_keys - 1);
	CHECK(bad_pages_served(image_leaf(0, "apple")) < image_nr_keys / 2);
	CHECK_EQ(bad_pages_served(image_node(0, "apple", 1)), 0);
	image_free();
}

void check_wort_bad_pages_exact(void)
{
	bad_pages_poison = false;
	read_exactly();
	bad_pages_poison = true;
	read_exactly();
	bad_pages_poison = false;
}
