// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages known to be bad: whoever touches one is killed.
 */
#include <sys/mman.h>
#include <unistd.h>

#include <linux/bitmap.h>
#include <linux/uaccess.h>

#include "../../kmod/core/powercut.h"
#include "hostile.h"

bool bad_pages_poison;

static void make_bad(u64 off)
{
	if (bad_pages_poison) {
		shim_poison = (char *)image.mem + round_down(off, 4096ULL);
		image.pm.region.mcsafe = true;
	} else {
		wort_region_add_bad(&image.pm.region, off, 1);
	}
	wort_region_update(&image.pm.region);
	mprotect(image.mem + round_down(off, 4096ULL), 4096, PROT_NONE);
}

static void make_good(void)
{
	wort_region_forget_bad(&image.pm.region);
	image.pm.region.mcsafe = false;
	shim_poison = NULL;
	mprotect(image.mem, IMAGE_SIZE, PROT_READ | PROT_WRITE);
	image_restore(image.clean);
}

/* How many of the keys of "a" are served; the others are EIO. */
static u32 served(struct wort_index *index)
{
	static u8 buf[8192];
	u32 i, len, nr = 0;
	int err;

	for (i = 0; i < image_nr_keys; i++) {
		len = sizeof(buf);
		err = pm_get(index, image_keys[i], strlen(image_keys[i]), buf,
			     &len);
		CHECK(!err || err == -EIO);
		nr += !err;
	}
	return nr;
}

/* @lost: what leads to records is lost, not a value alone. */
static u32 served_with_bad(u64 off, bool lost)
{
	struct wort_check_arg arg = { .size = sizeof(arg) };
	struct wort_scan scan = { .flags = WORT_SCAN_F_COUNT };
	struct wort_index *index;
	u32 nr;
	int err;

	make_bad(off);
	pmpool_attach(&image.pm);
	index = pmpool_index(&image.pm, "a");
	nr = served(index);
	err = wort_index_scan(index, &scan);
	pmpool_settle();
	CHECK_EQ(wort_pool_check(image.pm.pool, &arg), 0);
	CHECK_EQ(err, lost ? -EIO : 0);
	CHECK_EQ(!!arg.out_nr_damaged, lost);
	CHECK_EQ(image.pm.pool->alloc.walking, lost);
	CHECK(!index->damaged);
	pm_del(index, "apple", 5);
	wort_index_put(index);
	pmpool_detach(&image.pm);
	make_good();
	return nr;
}

u32 bad_pages_served(u64 off)
{
	return served_with_bad(off, true);
}

#define RANGES_PAGES	4096
#define RANGES_SIZE	(100ULL << 40)

static bool any_set(const unsigned long *bits, u32 first, u32 end)
{
	return find_next_bit(bits, end, first) < end;
}

/* Add random ranges; afterwards, each range asked for answers as a bitmap does. */
static void add_ranges(struct wort_region *region, u64 base, u32 nr)
{
	unsigned long bits[BITS_TO_LONGS(RANGES_PAGES)] = { };
	u64 rnd = unit_seed + nr;
	u32 i, page, first, len;

	for (i = 0; i < nr; i++) {
		first = test_random(&rnd) % RANGES_PAGES;
		len = 1 + test_random(&rnd) % (i % 8 ? 3 : 200);
		len = min(len, RANGES_PAGES - first);
		for (page = first; page < first + len; page++)
			__set_bit(page, bits);
		/* the first byte that is bad, and the last one, are within a page */
		wort_region_add_bad(region, base + first * 4096 + 100,
				    len * 4096 - 200);
	}
	for (i = 0; i < 20000; i++) {
		first = test_random(&rnd) % RANGES_PAGES;
		len = min(1 + (u32)(test_random(&rnd) % 8), RANGES_PAGES - first);
		CHECK_EQ(wort_region_bad(region, base + first * 4096 + 8,
					 len * 4096 - 8),
			 any_set(bits, first, first + len));
	}
	CHECK(!wort_region_bad(region, base - 4096, 4096));
}

/* Memory is taken by range: the kernel gives no bitmap of 100 TiB, nor of a range. */
void check_bad_pages_ranges(void)
{
	struct wort_region region = { .size = RANGES_SIZE };
	long live = shim_alloc_live;
	u32 nr;

	wort_region_update(&region);
	CHECK_EQ(shim_alloc_live, live);
	CHECK_EQ(wort_region_verify(&region, RANGES_SIZE - 8, 8), 0);
	for (nr = 1; nr <= 1024; nr *= 2) {
		add_ranges(&region, RANGES_SIZE - (64 << 20), nr);
		CHECK_EQ(shim_alloc_live, live + 1);
		CHECK_EQ(wort_region_plain(&region), 0);
		wort_region_forget_bad(&region);
	}
	wort_region_add_bad(&region, 1ULL << 40, 98ULL << 40);
	CHECK_EQ(wort_region_verify(&region, (1ULL << 40) - 8, 8), 0);
	CHECK_EQ(wort_region_verify(&region, (1ULL << 40) - 8, 16), -EIO);
	CHECK_EQ(wort_region_verify(&region, (99ULL << 40) - 8, 8), -EIO);
	CHECK_EQ(wort_region_verify(&region, 99ULL << 40, 8), 0);
	CHECK_EQ(shim_alloc_live, live + 1);
	wort_region_forget_bad(&region);
	CHECK_EQ(shim_alloc_live, live);
}

/* EIO beneath a bad page, service for the rest. */
void check_bad_pages_read(void)
{
	u64 value;
	u32 root;

	image_make();
	value = image_value(0, "banana");
	CHECK_EQ(served_with_bad(IMAGE_SIZE - 4096, false), image_nr_keys);
	CHECK_EQ(served_with_bad(value, false), image_nr_keys - 1);
	CHECK_EQ(served_with_bad(value + 4096, false), image_nr_keys - 1);
	CHECK_LE(served_with_bad(image_leaf(0, "zz"), true),
		 image_nr_keys - 1);
	CHECK_LE(served_with_bad(image_leaf(0, "apply"), true),
		 image_nr_keys - 1);
	CHECK_LE(served_with_bad(image_leaf(0, "apple"), true),
		 image_nr_keys - 1);
	/* The object at the root leads to all others. */
	root = image_depth(0, "apple") - 1;
	CHECK_LE(served_with_bad(image_node(0, "apple", root), true),
		 image_nr_keys - 1);
	image_free();
}

static void write_all(void)
{
	struct wort_index *index;
	u64 n = 0, i, value;
	u32 len;

	pmpool_attach(&image.pm);
	pmpool_settle();
	index = pmpool_index(&image.pm, "b");
	while (!pm_put(index, &n, 8, &n, 8))
		n++;
	for (i = 0; i < n; i++) {
		len = 8;
		if (pm_get(index, &i, 8, &value, &len))
			_exit(1);
	}
	wort_index_put(index);
	pmpool_detach(&image.pm);
}

/* What is stored does not go where nobody can read it back. */
void check_bad_pages_write(void)
{
	image_make();
	make_bad(IMAGE_SIZE / 2);
	CHECK(hostile_survives(write_all));
	make_good();
	image_free();
}

static void attach_only(void)
{
	struct wort_pool *pool;

	if (!wort_pool_attach(&image.pm.region, &pool))
		wort_pool_detach(pool);
}

/* What extents serve is not known, what lies in them is. */
static void read_without_table(void)
{
	struct wort_index *index;

	pmpool_attach(&image.pm);
	pmpool_settle();
	index = pmpool_index(&image.pm, "a");
	if (served(index) != image_nr_keys ||
	    pm_put(index, "new", 3, "value", 5) != -EROFS)
		_exit(1);
}

void check_bad_pages_table(void)
{
	image_make();
	make_bad(WORT_MEDIA_TABLE_OFF);
	CHECK(hostile_survives(attach_only));
	CHECK(hostile_survives(read_without_table));
	make_good();
	make_bad(image_entry(0));
	CHECK(hostile_survives(attach_only));
	make_good();
	make_bad(image_catalogue());
	CHECK(hostile_survives(attach_only));
	make_good();
	image_free();
}

/* The same with poison that is met when memory is read safely. */
void check_bad_pages_read_poison(void)
{
	bad_pages_poison = true;
	check_bad_pages_read();
	bad_pages_poison = false;
}

void check_bad_pages_poison(void)
{
	bad_pages_poison = true;
	check_bad_pages_table();
	bad_pages_poison = false;
}

static void damage_twice(void)
{
	if (wort_pool_attach(&image.pm.region, &image.pm.pool))
		_exit(1);
	wort_pool_damaged(image.pm.pool);
	pmpool_detach(&image.pm);
	if (wort_pool_attach(&image.pm.region, &image.pm.pool))
		_exit(1);
	if (!image.pm.pool->damaged)
		_exit(1);
	pmpool_detach(&image.pm);
}

/* The change cannot be recorded; it holds until detach. */
static void damage_on_bad(void)
{
	if (wort_pool_attach(&image.pm.region, &image.pm.pool))
		_exit(1);
	wort_pool_damaged(image.pm.pool);
	if (!image.pm.pool->damaged)
		_exit(1);
	pmpool_detach(&image.pm);
}

void check_bad_pages_superblock(void)
{
	image_make();
	CHECK(hostile_survives(damage_twice));
	make_bad(WORT_MEDIA_SB_OFF);
	CHECK(hostile_survives(attach_only));
	CHECK(hostile_survives(damage_on_bad));
	make_bad(WORT_MEDIA_SB_OFF + WORT_MEDIA_SB_SPACE);
	CHECK_EQ(wort_pool_attach(&image.pm.region, &image.pm.pool), -EIO);
	make_good();
	make_bad(WORT_MEDIA_SB_OFF + WORT_MEDIA_SB_SPACE);
	CHECK(hostile_survives(attach_only));
	make_good();
	image_free();
}

/* A page that fails while the pool is attached, and the index in use. */
static u64 failing;

/* What a bad page may lead to: damage is something else. */
static void may(const char *what, int err)
{
	if (!err || err == -EIO || err == -ENOSPC || err == -EROFS ||
	    err == -ENOENT)
		return;
	printf("page %#llx: %s: %d\n", (unsigned long long)failing, what, err);
	fflush(stdout);
	_exit(1);
}

/* Values of 1000 bytes on average, so that a thousand records fill the image. */
static void use_records(struct wort_index *index)
{
	static u8 buf[8192];
	const u32 nr = subject_records(1000);
	u64 n, value = 0;
	u32 i, len;

	for (i = 0; i < image_nr_keys; i++) {
		len = sizeof(buf);
		may("get", pm_get(index, image_keys[i], strlen(image_keys[i]),
				  buf, &len));
		may("update", pm_put(index, image_keys[i],
				     strlen(image_keys[i]), &value, 8));
	}
	for (n = 0; n < nr; n++)
		may("put", pm_put(index, &n, 8, buf, n % 64 ? 2 * n : 4000));
	for (n = 0; n < nr; n += 2)
		may("delete", pm_del(index, &n, 8));
	for (i = 0; i < image_nr_keys; i++)
		may("delete", pm_del(index, image_keys[i],
				     strlen(image_keys[i])));
}

/* More than one block of the catalogue has slots for. */
static void use_catalogue(void)
{
	static const char * const renames[][2] = {
		{ "a", "renamed" }, { "renamed", "a" }, { "new1", "new2" }, { "new149", "new0" },
	};
	struct wort_index *index;
	char name[16];
	u32 i;
	int err;

	for (i = 0; i < 150; i++) {
		snprintf(name, sizeof(name), "new%u", i);
		err = wort_index_open(image.pm.pool, (u8 *)name, strlen(name),
				      WORT_INDEX_OPEN_F_CREATE, 0, 0, &index);
		may("create", err);
		if (!err)
			may("first put", pm_put(index, "key", 3, "value", 5));
		if (!err)
			wort_index_put(index);
	}
	for (i = 0; i < 150; i += 2) {
		snprintf(name, sizeof(name), "new%u", i);
		may("destroy", wort_index_destroy(image.pm.pool, (u8 *)name,
						  strlen(name)));
	}
	for (i = 0; i < ARRAY_SIZE(renames); i++)
		may("rename", wort_index_rename(image.pm.pool, (u8 *)renames[i][0],
						strlen(renames[i][0]),
						(u8 *)renames[i][1],
						strlen(renames[i][1])));
	may("destroy", wort_index_destroy(image.pm.pool, (u8 *)"b", 1));
}

static void use_all(bool settled)
{
	struct wort_check_arg arg = { .size = sizeof(arg) };
	struct wort_index *index;

	pmpool_attach(&image.pm);
	if (settled)
		pmpool_settle();
	index = pmpool_index(&image.pm, "a");
	make_bad(failing);
	use_records(index);
	use_catalogue();
	pmpool_settle();
	may("check", wort_pool_check(image.pm.pool, &arg));
	arg.flags = WORT_CHECK_F_CLEAR;
	may("check", wort_pool_check(image.pm.pool, &arg));
	wort_index_put(index);
	pmpool_settle();
	pmpool_detach(&image.pm);
}

/* A process for some pages: to begin one takes as long as to use a page. */
#define PAGES_A_PROCESS	8

static void use_pages(void)
{
	const u64 end = min_t(u64, failing + PAGES_A_PROCESS * 4096, IMAGE_SIZE);

	for (; failing < end; failing += 4096) {
		use_all(true);
		make_good();
		use_all(false);
		make_good();
	}
}

/* Each page in turn, from the superblock to where nothing lies any more. */
void check_bad_pages_later(void)
{
	image_make();
	for (failing = WORT_MEDIA_SB_OFF; failing < IMAGE_SIZE;
	     failing += PAGES_A_PROCESS * 4096)
		if (!CHECK(hostile_survives(use_pages)))
			printf("  pages from %#llx on\n", (unsigned long long)failing);
	image_free();
}

static int create_named(const char *name)
{
	struct wort_index *index;
	int err = wort_index_open(image.pm.pool, (u8 *)name, strlen(name),
				  WORT_INDEX_OPEN_F_CREATE, 0, 0, &index);

	if (!err)
		wort_index_put(index);
	return err;
}

/* A new block takes a word of the last one. */
static void fill_catalogue(void)
{
	char name[16];
	u32 nr = 0;

	pmpool_attach(&image.pm);
	pmpool_settle();
	do {
		snprintf(name, sizeof(name), "new%u", nr++);
		may("create", create_named(name));
	} while (image.pm.pool->catalogue_nr_free);
	make_bad(image.pm.pool->catalogue_last);
	if (create_named("one more") != -EIO)
		_exit(1);
	pmpool_detach(&image.pm);
}

void check_bad_pages_last_block(void)
{
	image_make();
	CHECK(hostile_survives(fill_catalogue));
	image_free();
}

/* What has gone bad since the pool was attached, nobody knows. */
static void read_poisoned(void)
{
	struct wort_scan scan = { .flags = WORT_SCAN_F_COUNT };
	struct wort_index *index;

	pmpool_attach(&image.pm);
	pmpool_settle();
	index = pmpool_index(&image.pm, "a");
	make_bad(failing);
	served(index);
	may("scan", wort_index_scan(index, &scan));
}

void check_bad_pages_later_poison(void)
{
	bad_pages_poison = true;
	image_make();
	for (failing = WORT_MEDIA_SB_OFF; failing < IMAGE_SIZE;
	     failing += 4096)
		CHECK(hostile_survives(read_poisoned));
	image_free();
	bad_pages_poison = false;
}

/* Of the keys of "a": those that are there, the others are gone or have lost a value. */
static u32 count_kept(struct wort_index *index, u32 *lost_values)
{
	static u8 buf[8192];
	u32 i, len, nr = 0;
	int err;

	*lost_values = 0;
	for (i = 0; i < image_nr_keys; i++) {
		len = sizeof(buf);
		err = pm_get(index, image_keys[i], strlen(image_keys[i]), buf,
			     &len);
		CHECK(!err || err == -ENOENT || err == -EIO);
		nr += !err;
		*lost_values += err == -EIO;
	}
	return nr;
}

static void check_clear(struct wort_check_arg *arg)
{
	*arg = (struct wort_check_arg){
		.size = sizeof(*arg), .flags = WORT_CHECK_F_CLEAR,
	};
	CHECK_EQ(wort_pool_check(image.pm.pool, arg), 0);
}

/* The pool is as good as one without bad pages, and gives back what is freed. */
static void use_dropped(struct wort_index *index)
{
	u64 n, round;

	/* Where nobody knows of the page, it is used again. */
	for (round = 0; round < 2 && !bad_pages_poison; round++) {
		for (n = 0; !pm_put(index, &n, 8, image.clean, 900); n++)
			;
		CHECK_LE(500, n);
		while (n--)
			CHECK_EQ(pm_del(index, &n, 8), 0);
		pmpool_settle();
	}
	if (!bad_pages_poison)
		CHECK_EQ(pm_put(index, "apple", 5, "again", 5), 0);
}

/* A page fails, before attach or later, and what leads there is dropped. */
static void drop_page(u64 off, bool later, u32 *nr_dropped)
{
	struct wort_check_arg arg;
	struct wort_index *index;
	u32 kept, values;

	image_restore(image.clean);
	if (!later)
		make_bad(off);
	pmpool_attach(&image.pm);
	if (later) {
		pmpool_settle();
		make_bad(off);
	}
	index = pmpool_index(&image.pm, "a");
	pmpool_settle();
	check_clear(&arg);
	*nr_dropped = arg.out_nr_dropped;
	CHECK_EQ(arg.out_nr_damaged, 0);
	pmpool_settle();
	CHECK(!image.pm.pool->alloc.walking);
	CHECK_EQ(image.pm.pool->leaky, later && arg.out_nr_dropped);
	check_clear(&arg);
	CHECK_EQ(arg.out_nr_dropped, 0);
	CHECK_EQ(arg.out_nr_damaged, 0);
	kept = count_kept(index, &values);
	CHECK_EQ(kept + values == image_nr_keys, !*nr_dropped);
	use_dropped(index);
	wort_index_put(index);
	pmpool_detach(&image.pm);
	/* The next attach gives back what the drop could not. */
	pmpool_attach(&image.pm);
	index = pmpool_index(&image.pm, "a");
	pmpool_settle();
	check_clear(&arg);
	CHECK_EQ(arg.out_nr_damaged + arg.out_nr_dropped, 0);
	use_dropped(index);
	wort_index_put(index);
	pmpool_detach(&image.pm);
	make_good();
}

static bool is_catalogue(u64 page)
{
	u32 i;

	if (page == round_down(image_catalogue(), 4096ULL))
		return true;
	for (i = 0; i < 3; i++)
		if (page == round_down(image_entry(i), 4096ULL))
			return true;
	return false;
}

/* Each page of the records and nodes of the pool; the superblock is not one. */
static u32 drop_pages(void)
{
	u64 off = le64_to_cpu(image_sb(0)->data_off);
	u32 later, nr, pages = 0;

	for (; off < IMAGE_SIZE; off += 4096) {
		if (is_catalogue(off) || !image_get(image_table(off)))
			continue;
		for (later = 0; later < 2; later++) {
			drop_page(off, later, &nr);
			pages += !!nr;
		}
	}
	return pages;
}

void check_bad_pages_drop(void)
{
	const u32 least = subject.unit->drops;

	image_make();
	CHECK_LE(least, drop_pages());
	bad_pages_poison = true;
	CHECK_LE(least, drop_pages());
	bad_pages_poison = false;
	image_free();
}

/* The pool without what lies on a page; how many keys it has, or all but one. */
static u32 without_page(u32 flags, bool cleared)
{
	struct wort_check_arg arg = { .size = sizeof(arg), .flags = flags };
	struct wort_index *index;
	u32 kept, values;

	pmpool_attach(&image.pm);
	pmpool_settle();
	index = pmpool_index(&image.pm, "a");
	CHECK_EQ(wort_pool_check(image.pm.pool, &arg), 0);
	CHECK(!cleared || (!arg.out_nr_damaged && !arg.out_nr_dropped));
	kept = count_kept(index, &values);
	if (flags)
		CHECK_EQ(values, 0);
	wort_index_put(index);
	pmpool_detach(&image.pm);
	return kept;
}

/**
 * struct drop - A pool with a bad page, and what is served of it
 * @use: attaches, and drops with WORT_CHECK_F_CLEAR; returns what is served
 * @off: bad
 * @before: served before anything is dropped
 * @after: served afterwards
 */
struct drop {
	u32 (*use)(u32 flags, bool cleared);
	u64 off;
	u32 before;
	u32 after;
};

/* A power cut at @event of a drop; false: none was so late. */
static bool cut_drop(const struct drop *drop, u64 event, u64 seed)
{
	struct wort_powercut_status status;
	u32 nr;

	image_restore(image.clean);
	wort_region_add_bad(&image.pm.region, drop->off, 1);
	CHECK_EQ(wort_powercut_arm(event), 0);
	wort_powercut_begin(&image.pm.region);
	drop->use(WORT_CHECK_F_CLEAR, false);
	wort_powercut_end(&image.pm.region);
	wort_powercut_status(&status);
	if (status.state != WORT_POWERCUT_CUT)
		return false;
	CHECK_EQ(wort_powercut_image(seed, image.mem, IMAGE_SIZE, 0),
		 IMAGE_SIZE);
	nr = drop->use(0, false);
	/* One drop may show another one. */
	CHECK_GE(nr, drop->before);
	CHECK_LE(nr, drop->after);
	CHECK_EQ(drop->use(WORT_CHECK_F_CLEAR, false), drop->after);
	CHECK_EQ(drop->use(0, true), drop->after);
	return true;
}

/* A power cut at each event of a drop, with some seeds. */
static void cut_drop_everywhere(struct drop *drop, u64 seeds)
{
	u64 event, seed;

	image_restore(image.clean);
	wort_region_add_bad(&image.pm.region, drop->off, 1);
	CHECK_EQ(drop->use(0, false), drop->before);
	CHECK_EQ(drop->use(WORT_CHECK_F_CLEAR, false), drop->after);
	for (event = 1, seed = seeds; seed; event++)
		for (seed = 0; seed < seeds; seed++)
			if (!cut_drop(drop, event, seed))
				break;
	CHECK_LE(4, event);
	wort_powercut_disarm();
	wort_region_forget_bad(&image.pm.region);
	image_restore(image.clean);
}

/* Whenever power goes, references are dropped or not, and all else is there. */
void check_bad_pages_drop_cut(void)
{
	struct drop drop = { .use = without_page };
	u64 off[3];
	u32 i;

	image_make();
	off[0] = image_node(0, "apple", 1 % image_depth(0, "apple"));
	off[1] = image_leaf(0, "apple");
	off[2] = image_leaf(0, "zz");
	for (i = 0; i < ARRAY_SIZE(off); i++) {
		image_restore(image.clean);
		drop.off = off[i];
		wort_region_add_bad(&image.pm.region, off[i], 1);
		drop.before = without_page(0, false);
		drop.after = without_page(WORT_CHECK_F_CLEAR, false);
		CHECK_GE(drop.after, drop.before);
		CHECK(drop.after < image_nr_keys);
		wort_region_forget_bad(&image.pm.region);
		cut_drop_everywhere(&drop, 4);
	}
	image_free();
}

#define LIST_INDEXES	140	/* three blocks of the catalogue */

/* Free space has been used before, so that zeroes there are somebody's. */
static void make_stale(struct wort_index *index)
{
	static u8 value[480];
	u64 n, nr;

	memset(value, 0xff, sizeof(value));
	for (n = 0; !pm_put(index, &n, 8, value, sizeof(value)); n++)
		;
	for (nr = n, n = 0; n < nr; n++)
		CHECK_EQ(pm_del(index, &n, 8), 0);
	pmpool_settle();
}

/* Blocks, and the first entries, lie on pages of their own. */
static void list_make(void)
{
	static u8 value[480];
	struct wort_index *index, *big;
	char name[16];
	u32 i;

	image_make();
	pmpool_attach(&image.pm);
	big = pmpool_index(&image.pm, "a");
	make_stale(big);
	for (i = 0; i < LIST_INDEXES; i++) {
		if (i % 50 == 40)
			for (u64 n = i << 8; n < (i << 8) + 8; n++)
				CHECK_EQ(pm_put(big, &n, 8, value, 480), 0);
		snprintf(name, sizeof(name), "list%u", i);
		index = pmpool_index(&image.pm, name);
		CHECK_EQ(pm_put(index, "key", 3, value, 40), 0);
		wort_index_put(index);
	}
	pmpool_settle();
	wort_index_put(big);
	pmpool_detach(&image.pm);
	memcpy(image.clean, image.mem, IMAGE_SIZE);
}

static int open_new(const char *name, struct wort_index **index)
{
	return wort_index_open(image.pm.pool, (const u8 *)name, strlen(name),
			       WORT_INDEX_OPEN_F_CREATE, 0, 0, index);
}

/* Space is given back, and an id is not given again. */
static void use_listed(u64 least_id)
{
	struct wort_index *index;
	u64 n, round;

	/* A page that is not known to be bad is used again. */
	if (bad_pages_poison)
		return;
	CHECK_EQ(open_new("new", &index), 0);
	CHECK_LE(least_id, index->id);
	for (round = 0; round < 2; round++) {
		for (n = 0; !pm_put(index, &n, 8, image.clean, 900); n++)
			;
		CHECK_LE(500, n);
		while (n--)
			CHECK_EQ(pm_del(index, &n, 8), 0);
		pmpool_settle();
	}
	wort_index_put(index);
	CHECK_EQ(wort_index_destroy(image.pm.pool, (const u8 *)"new", 3), 0);
	pmpool_settle();
}

/* Attach leaves something out; the check drops it, and @kept indexes live on. */
static void drop_listed(u64 off, u32 kept)
{
	struct wort_check_arg arg = { .size = sizeof(arg) };
	struct wort_index *index;
	u32 nr;

	image_restore(image.clean);
	make_bad(off);
	pmpool_attach(&image.pm);
	pmpool_settle();
	nr = image.pm.pool->nr_indexes;
	CHECK_EQ(nr, kept);
	CHECK_EQ(image.pm.pool->left_out, -EIO);
	CHECK_EQ(wort_pool_check(image.pm.pool, &arg), 0);
	CHECK_NE(arg.out_nr_damaged, 0);
	CHECK_EQ(open_new("new", &index), -EROFS);
	check_clear(&arg);
	CHECK_NE(arg.out_nr_dropped, 0);
	CHECK_EQ(arg.out_nr_damaged, 0);
	CHECK_EQ(arg.out_nr_indexes, nr);
	pmpool_settle();
	CHECK(!image.pm.pool->alloc.walking);
	use_listed(LIST_INDEXES + 4);
	check_clear(&arg);
	CHECK_EQ(arg.out_nr_dropped + arg.out_nr_damaged, 0);
	pmpool_detach(&image.pm);
	pmpool_attach(&image.pm);
	pmpool_settle();
	CHECK_EQ(image.pm.pool->left_out, 0);
	CHECK(!image.pm.pool->damaged);
	CHECK_EQ(image.pm.pool->nr_indexes, nr);
	use_listed(LIST_INDEXES + 5);
	pmpool_detach(&image.pm);
	make_good();
}

/* An entry goes bad while its index is served: that has a name. */
static void drop_served(u64 off)
{
	struct wort_check_arg arg;
	struct wort_index *index;
	u32 nr, len = 0;

	image_restore(image.clean);
	pmpool_attach(&image.pm);
	pmpool_settle();
	index = pmpool_index(&image.pm, "list10");
	make_bad(off);
	nr = image.pm.pool->nr_indexes;
	check_clear(&arg);
	CHECK_NE(arg.out_nr_dropped, 0);
	CHECK_EQ(arg.out_nr_damaged, 0);
	pmpool_settle();
	CHECK_EQ(image.pm.pool->nr_indexes, nr - arg.out_nr_dropped);
	CHECK_EQ(pm_get(index, "key", 3, NULL, &len), -ESTALE);
	wort_index_put(index);
	check_clear(&arg);
	CHECK_EQ(arg.out_nr_dropped + arg.out_nr_damaged, 0);
	pmpool_detach(&image.pm);
	pmpool_attach(&image.pm);
	pmpool_settle();
	use_listed(LIST_INDEXES + 4);
	pmpool_detach(&image.pm);
	make_good();
}

/* A block goes bad while its indexes are served: they stay. */
static void keep_block(u64 off)
{
	struct wort_check_arg arg;
	u32 nr;

	image_restore(image.clean);
	pmpool_attach(&image.pm);
	pmpool_settle();
	make_bad(off);
	nr = image.pm.pool->nr_indexes;
	check_clear(&arg);
	CHECK_NE(arg.out_nr_damaged, 0);
	CHECK_EQ(image.pm.pool->nr_indexes, nr);
	CHECK(!image.pm.pool->damaged);
	pmpool_detach(&image.pm);
	make_good();
}

static void list_blocks(u64 block[3])
{
	block[0] = image_catalogue();
	block[1] = image_get(block[0]);
	block[2] = image_get(block[1]);
	CHECK_EQ(image_get(block[2]), 0);
	CHECK_NE(block[0] >> WORT_PAGE_SHIFT, block[1] >> WORT_PAGE_SHIFT);
	CHECK_NE(block[1] >> WORT_PAGE_SHIFT, block[2] >> WORT_PAGE_SHIFT);
}

/* Entries on the page of an entry. */
static u32 list_entries(u64 off)
{
	u64 block, page = off >> WORT_PAGE_SHIFT;
	u32 i, nr = 0;

	for (block = image_catalogue(); block; block = image_get(block))
		for (i = 1; i <= WORT_MEDIA_CATALOGUE_SLOTS; i++)
			nr += image_get(block + 8 * i) >> WORT_PAGE_SHIFT == page;
	return nr;
}

static void drop_catalogue(void)
{
	u64 block[3];
	u32 i;

	list_blocks(block);
	for (i = 0; i < 3; i++) {
		drop_listed(block[i], i * WORT_MEDIA_CATALOGUE_SLOTS);
		keep_block(block[i]);
	}
	for (i = 13; i < WORT_MEDIA_CATALOGUE_SLOTS; i += 20) {
		drop_listed(image_entry(i),
			    LIST_INDEXES + 3 - list_entries(image_entry(i)));
		drop_served(image_entry(13));
	}
}

/* No extent is free: the space of what was lost has the new first block. */
static void drop_first_full(void)
{
	u64 n = 0, first = image_catalogue();
	struct wort_index *index;

	pmpool_attach(&image.pm);
	index = pmpool_index(&image.pm, "a");
	while (!pm_put(index, &n, 8, &image_nr_keys, 4))
		n++;
	wort_index_put(index);
	pmpool_detach(&image.pm);
	memcpy(image.clean, image.mem, IMAGE_SIZE);
	drop_listed(first, 0);
}

static u32 nr_told;

static void count_told(struct wort_pool *pool)
{
	nr_told++;
}

/* The same, and damage that stays: the check ends the walk, and whoever waits for that is told. */
static void drop_first_damaged(void)
{
	struct wort_check_arg arg;
	struct wort_pool *pool;

	make_bad(image_catalogue());
	make_bad(WORT_MEDIA_HEADS_OFF);
	pmpool_attach(&image.pm);
	pmpool_settle();
	pool = image.pm.pool;
	CHECK(wort_pool_state(pool) & WORT_STATE_WALKING);
	pool->notify = count_told;
	check_clear(&arg);
	CHECK(arg.out_nr_dropped && arg.out_nr_damaged);
	CHECK(!(wort_pool_state(pool) & WORT_STATE_WALKING));
	CHECK_GE(nr_told, 1);
	pmpool_settle();
	pmpool_detach(&image.pm);
	make_good();
}

/* What cannot be read of the catalogue is dropped, and the rest lives on. */
void check_bad_pages_catalogue(void)
{
	list_make();
	drop_catalogue();
	bad_pages_poison = true;
	drop_catalogue();
	bad_pages_poison = false;
	drop_first_full();
	drop_first_damaged();
	image_free();
}

/* The pool without part of its catalogue: how many indexes it has. */
static u32 without_part(u32 flags, bool cleared)
{
	struct wort_check_arg arg = { .size = sizeof(arg), .flags = flags };
	u32 nr;

	pmpool_attach(&image.pm);
	pmpool_settle();
	CHECK_EQ(wort_pool_check(image.pm.pool, &arg), 0);
	CHECK(!flags || !arg.out_nr_damaged);
	CHECK(!cleared || (!arg.out_nr_damaged && !arg.out_nr_dropped));
	pmpool_settle();
	CHECK(!flags || !image.pm.pool->alloc.walking);
	nr = image.pm.pool->nr_indexes;
	pmpool_detach(&image.pm);
	return nr;
}

/* Whenever power goes, a part is dropped or not, and all else is there. */
void check_bad_pages_catalogue_cut(void)
{
	struct drop drop = { .use = without_part };
	u64 off[4];
	u32 i;

	list_make();
	list_blocks(off);
	off[3] = image_entry(13);
	for (i = 0; i < ARRAY_SIZE(off); i++) {
		drop.off = off[i];
		drop.before = i < 3 ? i * WORT_MEDIA_CATALOGUE_SLOTS :
				      LIST_INDEXES + 3 - list_entries(off[i]);
		drop.after = drop.before;
		cut_drop_everywhere(&drop, 12);
	}
	image_free();
}
