// SPDX-License-Identifier: GPL-2.0-only
/*
 * Damaged and hostile images: superblock, extent table, catalogue.
 *
 * Each image is refused by one line of the code only: everything else in it
 * is sound, and checksums are made right where they are not what is wrong.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "../../kmod/core/powercut.h"
#include "hostile.h"

static int try_attach(void)
{
	long live = shim_alloc_live;
	int err = wort_pool_attach(&image.pm.region, &image.pm.pool);

	if (err)
		CHECK_EQ(shim_alloc_live, live);
	else
		pmpool_detach(&image.pm);
	return err;
}

/* Does it end by itself?  Whatever it says is thrown away. */
bool hostile_survives(void (*run)(void))
{
	unsigned long failed = check_failures();
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		if (!freopen("/dev/null", "w", stderr))
			_exit(1);
		alarm(20);
		run();
		fflush(stdout);
		_exit(check_failures() != failed);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

void check_hostile_superblock(void)
{
	struct wort_media_sb *sb;

	image_make();
	sb = image_sb(0);
	sb->magic ^= cpu_to_le64(1);
	CHECK_EQ(try_attach(), 0);
	sb->magic ^= cpu_to_le64(1);
	image_sb(1)->magic ^= cpu_to_le64(1);
	CHECK_EQ(try_attach(), -ENODATA);
	image_restore(image.clean);
	sb->csum ^= cpu_to_le32(1);
	CHECK_EQ(try_attach(), 0);
	sb->csum ^= cpu_to_le32(1);
	image_sb(1)->label[3] ^= 1;
	CHECK_EQ(try_attach(), -EUCLEAN);
	sb->magic = 0;
	CHECK_EQ(try_attach(), -EUCLEAN);
	/* a torn update: the copy with the higher number is not whole */
	image_restore(image.clean);
	sb->seq = cpu_to_le64(7);
	CHECK_EQ(try_attach(), 0);
	sb->seq = cpu_to_le64(7);
	image_sb(1)->csum ^= cpu_to_le32(1);
	CHECK_EQ(try_attach(), -EUCLEAN);
	/* of two that are whole the higher number wins */
	image_restore(image.clean);
	image_sb(1)->seq = cpu_to_le64(2);
	image_sb(1)->state = cpu_to_le64(WORT_MEDIA_STATE_DAMAGED);
	image_seal_sb();
	pmpool_attach(&image.pm);
	CHECK(image.pm.pool->damaged);
	CHECK_EQ(image.pm.pool->sb_copy, 1);
	pmpool_detach(&image.pm);
	image_free();
}

static void sb_set(u32 off, u32 size, u64 val)
{
	__le64 word = cpu_to_le64(val);
	u32 i;

	for (i = 0; i < WORT_MEDIA_SB_COPIES; i++)
		memcpy((u8 *)image_sb(i) + off, &word, size);
}

/* A field changed in both copies alike, with right checksums. */
static void sb_case(u32 off, u32 size, u64 val, int want)
{
	sb_set(off, size, val);
	image_seal_sb();
	if (!CHECK_EQ(try_attach(), want))
		printf("  superblock + %u: %#llx\n", off,
		       (unsigned long long)val);
	image_restore(image.clean);
}

/* Fields of eight bytes, and of four; SB_SET() is for two at a time. */
#define SB_SET(field, val) \
	sb_set(offsetof(struct wort_media_sb, field), 8, val)
#define SB_CASE(field, val, want) \
	sb_case(offsetof(struct wort_media_sb, field), 8, val, want)
#define SB_CASE32(field, val, want) \
	sb_case(offsetof(struct wort_media_sb, field), 4, val, want)

void check_hostile_geometry(void)
{
	u64 size, data, nr;
	u32 shift;

	image_make();
	shift = le32_to_cpu(image_sb(0)->extent_shift);
	size = le64_to_cpu(image_sb(0)->pool_size);
	data = le64_to_cpu(image_sb(0)->data_off);
	nr = le64_to_cpu(image_sb(0)->nr_extents);
	SB_CASE32(extent_shift, 11, -EUCLEAN);
	SB_CASE32(extent_shift, 21, -EUCLEAN);
	SB_CASE32(extent_shift, 64, -EUCLEAN);
	SB_CASE32(extent_shift, ~0U, -EUCLEAN);
	SB_CASE(pool_size, WORT_MEDIA_POOL_MIN - 1, -EUCLEAN);
	SB_CASE(pool_size, size + 1, -EUCLEAN);
	SB_CASE(pool_size, ~0ULL, -EUCLEAN);
	SB_CASE(pool_size, size - 4096, -EUCLEAN);
	SB_CASE(pool_size, size + 4096, -EOVERFLOW);
	SB_CASE(self_off, 0, -EUCLEAN);
	SB_CASE(self_off, WORT_MEDIA_TABLE_OFF, -EUCLEAN);
	SB_CASE(table_off, WORT_MEDIA_TABLE_OFF - 8, -EUCLEAN);
	SB_CASE(table_off, WORT_MEDIA_TABLE_OFF + 4, -EUCLEAN);
	SB_CASE(table_off, data - 8 * nr + 8, -EUCLEAN);
	SB_CASE(table_off, data + 8, -EUCLEAN);
	SB_CASE(table_off, ~7ULL, -EUCLEAN);
	SB_CASE(data_off, data + 512, -EUCLEAN);
	SB_CASE(data_off, size + 4096, -EUCLEAN);
	SB_CASE(data_off, ~0ULL << 12, -EUCLEAN);
	SB_CASE(nr_extents, 0, -EUCLEAN);
	SB_CASE(nr_extents, nr + 1, -EUCLEAN);
	SB_CASE(nr_extents, ~0ULL, -EUCLEAN);
	SB_CASE(nr_extents, nr + (1ULL << 52), -EUCLEAN);
	SB_CASE(nr_extents, nr + (1ULL << 61), -EUCLEAN);
	SB_SET(nr_extents, 4);
	SB_CASE(pool_size, WORT_MEDIA_POOL_MIN / 2, -EUCLEAN);
	SB_SET(nr_extents, nr - 1);
	SB_CASE(data_off, data + 512, -EUCLEAN);
	SB_CASE(catalogue_off, 0, -EUCLEAN);
	SB_CASE(catalogue_off, 8, -EUCLEAN);
	SB_CASE(catalogue_off, WORT_MEDIA_SB_OFF, -EUCLEAN);
	SB_CASE(catalogue_off, WORT_MEDIA_TABLE_OFF, -EUCLEAN);
	SB_CASE(catalogue_off, data - 512, -EUCLEAN);
	SB_CASE(catalogue_off, data + 4, -EUCLEAN);
	SB_CASE(catalogue_off, data + 8, -EUCLEAN);
	SB_CASE(catalogue_off, data + 256, -EUCLEAN);
	SB_CASE(catalogue_off, data + (nr << shift) - 8, -EUCLEAN);
	SB_CASE(catalogue_off, data + (nr << shift), -EUCLEAN);
	SB_CASE(catalogue_off, ~7ULL, -EUCLEAN);
	/* a table beyond the extents, but within the pool */
	SB_SET(nr_extents, nr - 2);
	SB_CASE(table_off, data + ((nr - 1) << shift), -EUCLEAN);
	/* as large as a pool cannot be, on memory that seems to be */
	image.pm.region.size = 1ULL << 48;
	SB_CASE(pool_size, WORT_MEDIA_POOL_MAX + 4096, -EUCLEAN);
	SB_SET(pool_size, 1ULL << 46);
	SB_SET(data_off, 1ULL << 35);
	SB_CASE(nr_extents, 1ULL << 31, -EUCLEAN);
	image.pm.region.size = IMAGE_SIZE;
	/* smaller than its memory is no harm */
	SB_CASE(nr_extents, nr - 1, 0);
	image_free();
}

static void no_harm(void)
{
	pmpool_attach(&image.pm);
	pmpool_settle();
	pmpool_detach(&image.pm);
}

void check_hostile_features(void)
{
	struct wort_index *index;

	image_make();
	SB_CASE32(version, WORT_MEDIA_VERSION + 1, -EPROTONOSUPPORT);
	SB_CASE32(version, WORT_MEDIA_VERSION - 1, -EPROTONOSUPPORT);
	SB_CASE32(version, 0, -EPROTONOSUPPORT);
	SB_CASE(incompat, 2, -EPROTONOSUPPORT);
	SB_CASE(incompat, 1ULL << 63, -EPROTONOSUPPORT);
	SB_CASE(compat, ~0ULL, 0);
	SB_CASE(ro_compat, 1, 0);
	image_sb(0)->ro_compat = cpu_to_le64(1);
	image_sb(1)->ro_compat = cpu_to_le64(1);
	image_seal_sb();
	image_keep();
	pmpool_attach(&image.pm);
	index = pmpool_index(&image.pm, "a");
	CHECK(pm_put(index, "new", 3, "v", 1) == -EROFS);
	CHECK_EQ(pm_put(index, "apple", 5, "v", 1), -EROFS);
	CHECK_EQ(pm_put(index, "apple", 5, "w", 1), -EROFS);
	wort_index_put(index);
	pmpool_detach(&image.pm);
	image_restore(image.clean);
	CHECK(hostile_survives(no_harm));
	image_free();
}

/*
 * The pool is attached and read-only, also after the next attach, and what is
 * sound in it is served.
 */
static void check_pool_damaged(bool readable)
{
	struct wort_pool_info_arg info = { .size = sizeof(info) };
	struct wort_index *index;
	u32 again, len;

	for (again = 0; again < 3; again++) {
		pmpool_attach(&image.pm);
		if (again)
			pmpool_settle();
		wort_pool_info(image.pm.pool, &info);
		CHECK(info.out_state & WORT_STATE_DAMAGED);
		CHECK_EQ(wort_index_open(image.pm.pool, (u8 *)"new", 3,
					 WORT_INDEX_OPEN_F_CREATE, 0, 0,
					 &index), -EROFS);
		if (readable) {
			index = pmpool_index(&image.pm, "b");
			len = 0;
			CHECK_EQ(pm_get(index, "other", 5, NULL, &len),
				 -ERANGE);
			CHECK_EQ(pm_put(index, "new", 3, "v", 1), -EROFS);
			CHECK_EQ(pm_del(index, "other", 5), -EROFS);
			/* One that is damaged itself may go. */
			if (!index->damaged)
				CHECK_EQ(wort_index_destroy(image.pm.pool, (u8 *)"b", 1),
					 -EROFS);
			wort_index_put(index);
		}
		pmpool_detach(&image.pm);
	}
}

/* Bytes of the pool outside the superblock and entry states: as before? */
static u64 check_damage(u32 flags)
{
	struct wort_check_arg arg = { .size = sizeof(arg), .flags = flags };

	CHECK_EQ(wort_pool_check(image.pm.pool, &arg), 0);
	return arg.out_nr_damaged;
}

/* The patch is taken back, the state is not: a clean check mends that. */
static void check_pool_cleared(void)
{
	struct wort_index *index;

	image_undo();
	pmpool_attach(&image.pm);
	CHECK(image.pm.pool->damaged);
	CHECK_EQ(check_damage(0), 0);
	CHECK(image.pm.pool->damaged);
	CHECK_EQ(check_damage(WORT_CHECK_F_CLEAR), 0);
	CHECK(!image.pm.pool->damaged);
	index = pmpool_index(&image.pm, "b");
	CHECK_EQ(pm_put(index, "new", 3, "v", 1), 0);
	wort_index_put(index);
	pmpool_detach(&image.pm);
	pmpool_attach(&image.pm);
	CHECK(!image.pm.pool->damaged);
	CHECK_EQ(check_damage(0), 0);
	pmpool_detach(&image.pm);
}

/* Does a check with CLEAR see it, or does the next attach still complain? */
static bool clear_holds_back(void)
{
	bool seen;

	image_restore(image.patched);
	pmpool_attach(&image.pm);
	seen = check_damage(WORT_CHECK_F_CLEAR) && image.pm.pool->damaged;
	pmpool_settle();
	pmpool_detach(&image.pm);
	if (!seen) {
		pmpool_attach(&image.pm);
		seen = !image.pm.pool->damaged;
		pmpool_detach(&image.pm);
	}
	return seen;
}

/* An extent word of nonsense; @off is in an extent that owns something. */
static void table_case(u64 off, u64 word)
{
	image_restore(image.clean);
	image_set(off, word);
	image_keep();
	check_pool_damaged(true);
	hostile_try_all();
	image_restore(image.patched);
	check_pool_damaged(true);
	check_pool_cleared();
}

#define RUN(n)	(WORT_MEDIA_EXTENT_RUN | \
		 (u64)(n) << WORT_MEDIA_EXTENT_LEN_SHIFT)

static u64 last_word(void)
{
	return WORT_MEDIA_TABLE_OFF +
	       8 * (le64_to_cpu(image_sb(0)->nr_extents) - 1);
}

void check_hostile_table(void)
{
	u64 owned, nr;

	image_make();
	nr = le64_to_cpu(image_sb(0)->nr_extents);
	owned = image_table(image_leaf(0, "apple"));
	table_case(owned, WORT_NR_CLASSES + 1);
	table_case(owned, 0xfe);
	table_case(owned, wort_class_of(2048) + 1);
	table_case(owned, image_get(owned) | 1 << 8);
	table_case(owned, image_get(owned) | 1ULL << 63);
	table_case(owned, 1 << 8);
	table_case(owned, RUN(0));
	table_case(owned, RUN(nr));
	table_case(owned, RUN(1ULL << 32));
	table_case(owned, RUN((1ULL << 56) - 1));
	table_case(last_word(), RUN(2));
	table_case(last_word(), 0xfe);
	image_free();
}

/* Nonsense where nothing is owned, and a check that is to clear it. */
void check_hostile_table_clear(void)
{
	image_make();
	image_set(last_word(), 0xfe);
	image_keep();
	CHECK(clear_holds_back());
	image_restore(image.clean);
	image_set(image_table(image_leaf(0, "apple")), 0xfe);
	image_keep();
	CHECK(clear_holds_back());
	image_free();
}

/* Somebody writes zeroes over the table, from @first to @end. */
static void zero_table(u64 first, u64 end)
{
	image_restore(image.clean);
	memset(image.mem + first, 0, end - first);
}

/* Check it, and count what is served; how many records "a" has. */
static u64 use_zeroed(u32 flags, bool sound, bool writable)
{
	struct wort_check_arg arg = { .size = sizeof(arg), .flags = flags };
	struct wort_scan scan = { .flags = WORT_SCAN_F_COUNT };
	struct wort_index *index;

	pmpool_attach(&image.pm);
	pmpool_settle();
	index = pmpool_index(&image.pm, "a");
	CHECK_EQ(pm_put(index, "new", 3, "value", 5), writable ? 0 : -EROFS);
	CHECK_EQ(wort_pool_check(image.pm.pool, &arg), 0);
	CHECK_EQ(!arg.out_nr_damaged, sound);
	pmpool_settle();
	CHECK_EQ(image.pm.pool->alloc.walking, !sound);
	CHECK_EQ(wort_index_scan(index, &scan), 0);
	wort_index_put(index);
	pmpool_detach(&image.pm);
	return scan.count;
}

/* A check makes the image sound, in whose table some words are zero. */
static void mend_table(void)
{
	u64 nr = le64_to_cpu(image_sb(0)->nr_extents), off, old, word;

	CHECK_EQ(use_zeroed(0, false, false), image_nr_keys);
	CHECK_EQ(use_zeroed(WORT_CHECK_F_CLEAR, true, false), image_nr_keys);
	for (off = WORT_MEDIA_TABLE_OFF; nr--; off += 8) {
		memcpy(&old, image.clean + off, 8);
		word = image_get(off);
		/* that of a free extent may not have been cleared yet */
		CHECK(word == le64_to_cpu(old) || !word);
	}
	CHECK_EQ(use_zeroed(0, true, true), image_nr_keys + 1);
	CHECK_EQ(use_zeroed(WORT_CHECK_F_CLEAR, true, true), image_nr_keys + 1);
}

static void mend_zeroed(u64 first, u64 end)
{
	zero_table(first, end);
	mend_table();
}

/* Beside zeroes a word is invalid in whose extent there are objects. */
static void mend_invalid(u64 first, u64 word)
{
	zero_table(first, first + 8);
	image_set(word, 0xfe);
	mend_table();
	CHECK_EQ(image_get(word), le64_to_cpu(*(__le64 *)(image.clean + word)));
}

/* A table of zeroes frees nothing: all is read, and the check stores the words again. */
void check_hostile_table_zeroed(void)
{
	struct wort_check_arg arg = {
		.size = sizeof(arg), .flags = WORT_CHECK_F_CLEAR,
	};
	u64 first = WORT_MEDIA_TABLE_OFF, end, data;

	image_make();
	data = le64_to_cpu(image_sb(0)->data_off);
	end = first + 8 * le64_to_cpu(image_sb(0)->nr_extents);
	mend_zeroed(first, end);
	mend_zeroed(first, first + 8);
	mend_zeroed(first, first + 8 * 5);
	mend_invalid(first, image_table(image_leaf(0, "apple")));
	/* The block went, too: nothing says what is owned. */
	zero_table(first, data + sizeof(struct wort_media_catalogue));
	pmpool_attach(&image.pm);
	pmpool_settle();
	CHECK_EQ(wort_pool_check(image.pm.pool, &arg), 0);
	CHECK_NE(arg.out_nr_damaged, 0);
	CHECK(image.pm.pool->damaged);
	pmpool_detach(&image.pm);
	CHECK(!memcmp(image.mem + end, image.clean + end, data - end));
	CHECK(!memcmp(image.mem + data + 512, image.clean + data + 512,
		      IMAGE_SIZE - 4096 - data - 512));
	image_free();
}

static bool cut_zeroed(u64 end, u64 event, u64 seed)
{
	struct wort_powercut_status status;
	bool writable;

	zero_table(WORT_MEDIA_TABLE_OFF, end);
	CHECK_EQ(wort_powercut_arm(event), 0);
	wort_powercut_begin(&image.pm.region);
	use_zeroed(WORT_CHECK_F_CLEAR, true, false);
	wort_powercut_end(&image.pm.region);
	wort_powercut_status(&status);
	if (status.state != WORT_POWERCUT_CUT)
		return false;
	CHECK_EQ(wort_powercut_image(seed, image.mem, IMAGE_SIZE, 0),
		 IMAGE_SIZE);
	pmpool_attach(&image.pm);
	/* Either zeroes are not believed, or all words are there. */
	CHECK(image.pm.pool->alloc.table_lost ||
	      image_get(WORT_MEDIA_TABLE_OFF));
	writable = !image.pm.pool->damaged;
	pmpool_detach(&image.pm);
	CHECK_EQ(use_zeroed(WORT_CHECK_F_CLEAR, true, writable),
		 image_nr_keys + writable);
	CHECK_EQ(use_zeroed(0, true, true), image_nr_keys + 1);
	return true;
}

#define SEEDS	32	/* the first two lose all lines, or none */

/* Whenever power goes, the next check mends the rest. */
void check_hostile_table_zeroed_cut(void)
{
	u64 event, seed, end;

	image_make();
	end = WORT_MEDIA_TABLE_OFF + 8 * le64_to_cpu(image_sb(0)->nr_extents);
	for (event = 1, seed = SEEDS; seed; event++)
		for (seed = 0; seed < SEEDS; seed++)
			if (!cut_zeroed(end, event, seed))
				break;
	CHECK_LE(4, event);
	wort_powercut_disarm();
	image_free();
}

static void catalogue_case(bool readable)
{
	image_keep();
	check_pool_damaged(readable);
	hostile_try_all();
	image_restore(image.patched);
	check_pool_damaged(readable);
	check_pool_cleared();
	image_restore(image.clean);
}

static struct wort_media_entry *entry_of(u32 nr)
{
	return (void *)(image.mem + image_entry(nr));
}

/* A field of entry 0 is changed; the other entries are served. */
static void entry_case(u32 off, u32 size, u64 val)
{
	__le64 word = cpu_to_le64(val);

	memcpy(image.mem + image_entry(0) + off, &word, size);
	image_seal_entry(image_entry(0));
	catalogue_case(true);
}

#define ENTRY_CASE(field, size, val) \
	entry_case(offsetof(struct wort_media_entry, field), size, val)

static void move_entry(u64 to)
{
	memcpy(image.mem + to, image.mem + image_entry(0),
	       sizeof(struct wort_media_entry));
	image_set(image_catalogue() + 8, to);
	catalogue_case(true);
}

/* Where an object may be, but no block is. */
static void catalogue_off_case(u64 off)
{
	SB_SET(catalogue_off, off);
	image_seal_sb();
	image_keep();
	check_pool_damaged(false);
	hostile_try_all();
	image_restore(image.clean);
}

/* Two entries have one id: attach leaves out the second, and does not count it. */
static void twin_case(u64 state, u32 engine)
{
	struct wort_media_entry *entry = entry_of(2), was = *entry;

	entry->id = entry_of(0)->id;
	entry->state = cpu_to_le64(state);
	entry->engine = engine ? cpu_to_le32(engine) : was.engine;
	image_seal_entry(image_entry(2));
	pmpool_attach(&image.pm);
	CHECK(image.pm.pool->damaged);
	CHECK_EQ(image.pm.pool->nr_indexes, 2);
	CHECK_EQ(atomic_read(&image.pm.pool->nr_damaged), 0);
	CHECK_EQ(image.pm.pool->nr_unknown, 0);
	pmpool_detach(&image.pm);
	image_restore(image.clean);
}

void check_hostile_catalogue(void)
{
	u64 block;

	image_make();
	block = image_catalogue();
	catalogue_off_case(image_entry(0));
	image_set(block, 1ULL << 40);
	catalogue_case(true);
	image_set(block, IMAGE_SIZE - 256);
	catalogue_case(true);
	image_set(block, block + 4);
	catalogue_case(true);
	image_set(block, block);
	catalogue_case(true);
	image_set(block, image_entry(0));
	catalogue_case(true);
	image_set(block + 8, 1ULL << 40);
	catalogue_case(true);
	image_set(block + 8, IMAGE_SIZE - 128);
	catalogue_case(true);
	image_set(block + 8, image_entry(0) + 1);
	catalogue_case(true);
	image_set(block + 8 * 20, image_entry(0));
	catalogue_case(true);
	move_entry(image_entry(0) + 8 * 256 + 8);
	move_entry(IMAGE_SIZE - 256);
	move_entry(WORT_MEDIA_SB_OFF + 2048);
	entry_of(0)->csum ^= cpu_to_le32(1);
	catalogue_case(true);
	entry_of(0)->create_time ^= cpu_to_le64(1);
	catalogue_case(true);
	ENTRY_CASE(name_len, 1, 0);
	ENTRY_CASE(name_len, 1, WORT_NAME_MAX + 1);
	ENTRY_CASE(engine, 4, 0);
	ENTRY_CASE(id, 8, 0);
	ENTRY_CASE(id, 8, S64_MAX);
	ENTRY_CASE(id, 8, ~0ULL);
	entry_of(2)->name[0] = 'b';
	image_seal_entry(image_entry(2));
	catalogue_case(true);
	twin_case(0, 0);
	twin_case(WORT_MEDIA_STATE_DAMAGED, 0);
	twin_case(0, 77);
	image_free();
}

/* Entries that attach leaves out: a check must not call the pool clean. */
void check_hostile_catalogue_clear(void)
{
	image_make();
	entry_of(0)->csum ^= cpu_to_le32(1);
	image_keep();
	CHECK(clear_holds_back());
	image_restore(image.clean);
	image_set(image_catalogue() + 8, 1ULL << 40);
	image_keep();
	CHECK(clear_holds_back());
	image_restore(image.clean);
	image_set(image_catalogue(), image_catalogue());
	image_keep();
	CHECK(clear_holds_back());
	image_free();
}

static u8 overlay_key[256];

static void follow_next(void)
{
	u64 value = 0x7000000000ULL;
	struct wort_index *index;

	pmpool_attach(&image.pm);
	index = pmpool_index(&image.pm, "a");
	if (pm_put(index, overlay_key, sizeof(overlay_key), &value, 6))
		_exit(1);
	wort_index_put(index);
	if (wort_index_open(image.pm.pool, (const u8 *)"one more", 8,
			    WORT_INDEX_OPEN_F_CREATE, 0, 0, &index) != -EUCLEAN)
		_exit(1);
	pmpool_detach(&image.pm);
}

/*
 * A record that lies on a block of the catalogue: its value is the word that
 * refers to the next block, and whoever may write the index changes it after
 * attach has read it.  The entry in slot 0 makes the record's meta word: a key
 * of 256 bytes and a value of 6.
 */
void check_hostile_catalogue_next(void)
{
	struct wort_index *index;
	u64 block, first, record;
	char name[8];
	u32 i;

	image_make();
	pmpool_attach(&image.pm);
	for (i = 3; i < WORT_MEDIA_CATALOGUE_SLOTS + 1; i++) {
		snprintf(name, sizeof(name), "%u", i);
		index = pmpool_index(&image.pm, name);
		wort_index_put(index);
	}
	pmpool_detach(&image.pm);
	block = image_catalogue();
	first = image_entry(0);
	record = image_get(image_slot(0, "apple"));
	for (i = 1; i < WORT_MEDIA_CATALOGUE_SLOTS; i++)
		if (image_entry(i) == 0x6100)
			break;
	CHECK(i < WORT_MEDIA_CATALOGUE_SLOTS);
	image_set(block + 8, 0x6100);
	image_set(block + 8 + 8 * i, first);
	image_set(first + offsetof(struct wort_media_entry, root),
		  subject.unit->probe->refer(record, block));
	memcpy(overlay_key, image.mem + block + 16, sizeof(overlay_key));
	CHECK(hostile_survives(follow_next));
	image_free();
}

/* The superblock says that the extent table lies where an owned run does. */
void check_hostile_table_in_run(void)
{
	struct wort_check_arg arg = { .size = sizeof(arg) };
	static const u8 value[3 * 4096];
	struct wort_index *index;
	u64 off, bytes;

	image_make();
	pmpool_attach(&image.pm);
	index = pmpool_index(&image.pm, "a");
	CHECK_EQ(pm_put(index, "run", 3, value, sizeof(value)), 0);
	wort_index_put(index);
	pmpool_settle();
	pmpool_detach(&image.pm);
	off = image_get(image_leaf(0, "run"));
	CHECK_EQ(off % 4096, 0);
	bytes = 8 * le64_to_cpu(image_sb(0)->nr_extents);
	memcpy(image.mem + off + 4096, image.mem + WORT_MEDIA_TABLE_OFF, bytes);
	image_sb(0)->table_off = cpu_to_le64(off + 4096);
	image_sb(1)->table_off = cpu_to_le64(off + 4096);
	image_seal_sb();
	pmpool_attach(&image.pm);
	pmpool_settle();
	CHECK_EQ(wort_pool_check(image.pm.pool, &arg), 0);
	CHECK_NE(arg.out_nr_damaged, 0);
	pmpool_detach(&image.pm);
	image_free();
}
