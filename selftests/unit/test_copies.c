// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is redundant: copies of the superblock, and the words beside them.
 */
#include <linux/crc32c.h>

#include "../../kmod/core/powercut.h"
#include "unit.h"

static struct wort_media_sb *copy_at(struct bed *bed, u32 copy)
{
	return (void *)((u8 *)bed->pm.region.base +
			wort_sb_off(&bed->pm.pool->sb, copy));
}

static struct wort_media_words *words_at(struct bed *bed)
{
	return (void *)((u8 *)bed->pm.region.base + WORT_MEDIA_WORDS_OFF);
}

static u64 generation(struct bed *bed)
{
	return le64_to_cpu(words_at(bed)->generation);
}

static void reattach(struct bed *bed)
{
	bed_detach(bed);
	bed_attach(bed);
	pmpool_settle();
}

static void expect_whole(struct bed *bed)
{
	struct wort_media_sb sb;
	struct wort_op op;
	u32 i;

	wort_op_begin(&op, &bed->pm.region, NULL);
	for (i = 0; i < WORT_SB_NR; i++) {
		CHECK_EQ(wort_sb_read(&op, wort_sb_off(&bed->pm.pool->sb, i),
				      &sb), 0);
		CHECK_EQ(sb.seq, bed->pm.pool->sb.seq);
		CHECK_EQ(sb.nr_extents, bed->pm.pool->sb.nr_extents);
	}
}

static void damage(struct bed *bed, u32 copy, u32 how)
{
	struct wort_media_sb *sb = copy_at(bed, copy);

	if (how == 0)
		memset(sb, 0, sizeof(*sb));
	else if (how == 1)
		sb->label[0] ^= 1;
	else
		sb->self_off ^= cpu_to_le64(4096);
}

/* One copy is lost: attach says so once, and writes it anew. */
void check_copies_attach(void)
{
	struct wort_check_arg arg;
	struct bed bed;
	u32 copy, how;
	u8 *mem;

	bed_open(&bed, MIB, 4096);
	mem = malloc(MIB);
	for (copy = 0; copy < WORT_SB_NR; copy++)
		for (how = 0; how < 3; how++) {
			damage(&bed, copy, how);
			memcpy(mem, (u8 *)bed.pm.region.base, MIB);
			bed.pm.region.readonly = true;
			reattach(&bed);
			CHECK(!memcmp(mem, (u8 *)bed.pm.region.base, MIB));
			bed_check_arg(&bed, 0, &arg);
			CHECK_EQ(arg.out_nr_lost, 1);
			CHECK_EQ(arg.out_nr_damaged, 1);
			bed.pm.region.readonly = false;
			reattach(&bed);
			expect_whole(&bed);
			bed_check_arg(&bed, 0, &arg);
			CHECK_EQ(arg.out_nr_lost, 1);
			CHECK_EQ(arg.out_nr_damaged, 0);
			bed_check_arg(&bed, 0, &arg);
			CHECK_EQ(arg.out_nr_lost, 0);
		}
	free(mem);
	bed_close(&bed);
}

/* Whatever is lost while it is attached, check sees, and CLEAR mends. */
void check_copies_check(void)
{
	struct wort_check_arg arg;
	struct bed bed;
	u32 lost;

	bed_open(&bed, MIB, 4096);
	CHECK_EQ(pm_put(bed.index, "k", 1, "v", 1), 0);
	for (lost = 1; lost < 16; lost++) {
		u32 nr = __builtin_popcount(lost), copy;

		for (copy = 0; copy < WORT_SB_NR; copy++)
			if (lost >> copy & 1)
				damage(&bed, copy, lost % 3);
		if (lost & 8)
			memset(words_at(&bed), 0, sizeof(struct wort_media_words));
		bed_check_arg(&bed, 0, &arg);
		CHECK_EQ(arg.out_nr_lost, nr);
		CHECK_EQ(arg.out_nr_damaged, nr);
		CHECK_EQ(arg.out_damaged_index, 0);
		bed_check_arg(&bed, WORT_CHECK_F_CLEAR, &arg);
		CHECK_EQ(arg.out_nr_lost, nr);
		CHECK_EQ(arg.out_nr_damaged, 0);
		expect_whole(&bed);
		bed_check_arg(&bed, 0, &arg);
		CHECK_EQ(arg.out_nr_lost, 0);
		reattach(&bed);
		CHECK_EQ(pm_get(bed.index, "k", 1, NULL, &(u32) { 0 }), -ERANGE);
		bed_check(&bed);
	}
	bed_close(&bed);
}

static void seal(struct wort_media_sb *sb)
{
	sb->csum = 0;
	sb->csum = cpu_to_le32(crc32c(~0U, sb, sizeof(*sb)));
}

/* What another system wrote under an attached pool is damage, and stays. */
void check_copies_foreign(void)
{
	struct wort_check_arg arg;
	struct bed bed;
	u32 copy;

	bed_open(&bed, MIB, 4096);
	for (copy = 0; copy < WORT_SB_NR; copy++) {
		struct wort_media_sb *sb = copy_at(&bed, copy), was = *sb;

		sb->seq = cpu_to_le64(le64_to_cpu(sb->seq) + 1);
		seal(sb);
		bed_check_arg(&bed, WORT_CHECK_F_CLEAR, &arg);
		CHECK_EQ(arg.out_nr_damaged, 1);
		CHECK_NE(sb->seq, was.seq);
		*sb = was;
		sb->uuid[3] ^= 1;
		seal(sb);
		bed_check_arg(&bed, WORT_CHECK_F_CLEAR, &arg);
		CHECK_EQ(arg.out_nr_damaged, 1);
		CHECK_EQ(arg.out_damaged_off,
			 wort_sb_off(&bed.pm.pool->sb, copy));
		*sb = was;
	}
	words_at(&bed)->generation = cpu_to_le64(generation(&bed) + 1);
	bed_check_arg(&bed, WORT_CHECK_F_CLEAR, &arg);
	CHECK_EQ(arg.out_nr_damaged, 1);
	CHECK_EQ(arg.out_damaged_off, WORT_MEDIA_WORDS_OFF);
	words_at(&bed)->generation = cpu_to_le64(generation(&bed) - 1);
	bed_check(&bed);
	bed_close(&bed);
}

/* An update that was cut short is no damage, whatever copies it reached. */
void check_copies_behind(void)
{
	struct wort_media_sb old[WORT_SB_NR];
	struct wort_check_arg arg;
	struct bed bed;
	u32 copy, i;

	bed_open(&bed, MIB, 4096);
	for (copy = 0; copy < WORT_SB_NR; copy++) {
		for (i = 0; i < WORT_SB_NR; i++)
			old[i] = *copy_at(&bed, i);
		wort_pool_damaged(bed.pm.pool);
		*copy_at(&bed, copy) = old[copy];
		if (copy < 2)
			*copy_at(&bed, WORT_SB_END) = old[WORT_SB_END];
		reattach(&bed);
		CHECK(bed_pool_state(&bed) & WORT_STATE_DAMAGED);
		expect_whole(&bed);
		bed_check_arg(&bed, WORT_CHECK_F_CLEAR, &arg);
		CHECK_EQ(arg.out_nr_lost, 0);
		CHECK_EQ(arg.out_nr_damaged, 0);
	}
	bed_close(&bed);
}

/*
 * The higher number is in force, also if it cannot be served and the other could.
 *
 * errno-table: device EOVERFLOW
 */
void check_copies_larger(void)
{
	struct wort_media_sb old;
	struct bed bed;

	bed_open(&bed, 2 * MIB, 4096);
	old = *copy_at(&bed, 0);
	bed_detach(&bed);
	bed.pm.region.size = MIB;
	CHECK_EQ(wort_pool_attach(&bed.pm.region, &bed.pm.pool), -EOVERFLOW);
	CHECK_EQ(wort_pool_grow(&bed.pm.region), -EOVERFLOW);
	pmpool_format(&bed.pm, 4096);
	old.seq = cpu_to_le64(7);
	seal(&old);
	memcpy((u8 *)bed.pm.region.base + WORT_MEDIA_SB_OFF, &old, sizeof(old));
	CHECK_EQ(wort_pool_attach(&bed.pm.region, &bed.pm.pool), -EOVERFLOW);
	bed.pm.region.size = 2 * MIB;
	pmpool_unmap(&bed.pm);
}

/* An id that was given once is never given again. */
void check_copies_ids(void)
{
	struct wort_index *index;
	u64 last = 0;
	struct bed bed;
	u32 i;

	bed_open(&bed, MIB, 4096);
	for (i = 0; i < 10; i++) {
		index = pmpool_index(&bed.pm, "u");
		CHECK(index->id > last);
		last = index->id;
		wort_index_put(index);
		CHECK_EQ(wort_index_destroy(bed.pm.pool, (u8 *)"u", 1), 0);
		reattach(&bed);
	}
	bed_check(&bed);
	/* nor is one beyond the last; a mark that makes no sense is none */
	bed.pm.pool->next_id = S64_MAX;
	CHECK_EQ(wort_index_open(bed.pm.pool, (u8 *)"u", 1,
				 WORT_INDEX_OPEN_F_CREATE, 0, 0, &index),
		 -EOVERFLOW);
	words_at(&bed)->next_id = cpu_to_le64(~0ULL);
	reattach(&bed);
	wort_index_put(pmpool_index(&bed.pm, "u"));
	bed_check(&bed);
	bed_close(&bed);
}

/* The events of making an index and destroying it; what the power cut behind them leaves. */
static u64 cut_behind_index(struct bed *bed, u64 event, u64 *id)
{
	struct wort_powercut_status status;
	struct wort_index *index;

	bed_open(bed, MIB, 4096);
	CHECK_EQ(wort_powercut_arm(event), 0);
	wort_powercut_begin(&bed->pm.region);
	index = pmpool_index(&bed->pm, "u");
	*id = index->id;
	wort_index_put(index);
	CHECK_EQ(wort_index_destroy(bed->pm.pool, (u8 *)"u", 1), 0);
	wort_powercut_status(&status);
	CHECK_EQ(status.state, WORT_POWERCUT_RUNNING);
	CHECK_EQ(pm_put(bed->index, "k", 1, "v", 1), 0);
	wort_index_put(bed->index);
	pmpool_detach(&bed->pm);
	wort_powercut_end(&bed->pm.region);
	return status.events;
}

/* Nor after a power cut that comes when the index is gone. */
void check_copies_ids_cut(void)
{
	struct wort_index *index;
	u64 id, events;
	struct bed bed;

	events = cut_behind_index(&bed, 1000, &id);
	wort_powercut_disarm();
	pmpool_unmap(&bed.pm);
	cut_behind_index(&bed, events + 1, &id);
	CHECK_EQ(wort_powercut_image(0, bed.pm.region.base, MIB, 0), MIB);
	wort_powercut_disarm();
	bed_attach(&bed);
	index = pmpool_index(&bed.pm, "u");
	CHECK(index->id > id);
	wort_index_put(index);
	bed_check(&bed);
	bed_close(&bed);
}

/* Whoever is about to store raises it. */
void check_copies_generation(void)
{
	struct wort_check_arg arg;
	struct bed bed;
	u64 last;

	bed_open(&bed, MIB, 4096);
	last = generation(&bed);
	CHECK_EQ(last, bed.pm.pool->generation);
	CHECK_EQ(pm_put(bed.index, "k", 1, "v", 1), 0);
	CHECK_EQ(generation(&bed), last);
	reattach(&bed);
	CHECK_EQ(generation(&bed), last + 1);
	bed_check(&bed);
	CHECK_EQ(generation(&bed), last + 1);
	bed_check_arg(&bed, WORT_CHECK_F_CLEAR, &arg);
	CHECK_EQ(generation(&bed), last + 2);
	bed.pm.region.readonly = true;
	reattach(&bed);
	CHECK_EQ(generation(&bed), last + 2);
	bed.pm.region.readonly = false;
	bed_detach(&bed);
	bed.pm.region.size = MIB / 2;
	pmpool_format(&bed.pm, 4096);
	CHECK_EQ(generation(&bed), last + 3);
	bed.pm.region.size = MIB;
	CHECK_EQ(wort_pool_grow(&bed.pm.region), 0);
	CHECK_EQ(generation(&bed), last + 4);
	CHECK_EQ(wort_pool_grow(&bed.pm.region), 0);
	CHECK_EQ(generation(&bed), last + 4);
	bed_attach(&bed);
	CHECK_EQ(generation(&bed), last + 5);
	bed_close(&bed);
}

/*
 * A pool that has grown, of which one or two copies are lost: its records lie
 * beyond the former end, and none of them is missed.
 */
void check_copies_grown(void)
{
	struct bed bed;
	u32 lost, copy;
	u64 i, nr;

	for (lost = 1; lost < 7; lost++) {
		if ((lost & 3) == 3)
			continue;
		bed_open(&bed, 2 * MIB, 4096);
		bed_detach(&bed);
		bed.pm.region.size = 256 * KIB;
		pmpool_format(&bed.pm, 4096);
		bed.pm.region.size = 2 * MIB;
		CHECK_EQ(wort_pool_grow(&bed.pm.region), 0);
		bed_attach(&bed);
		expect_whole(&bed);
		bed_detach(&bed);
		bed.pm.region.size = 256 * KIB;
		pmpool_format(&bed.pm, 4096);
		bed.pm.region.size = 2 * MIB;
		CHECK_EQ(wort_pool_grow(&bed.pm.region), 0);
		for (copy = 0; copy < WORT_SB_NR; copy++)
			if (lost >> copy & 1)
				memset((u8 *)bed.pm.region.base +
				       (copy == 2 ? 2 * MIB - 4096 :
				       4096 * (copy + 1)), 0, 200);
		bed_attach(&bed);
		pmpool_settle();
		CHECK_EQ(le64_to_cpu(bed.pm.pool->sb.pool_size), 2 * MIB);
		for (nr = 0; !pm_put(bed.index, &nr, 8, "some value", 10); nr++)
			;
		reattach(&bed);
		for (i = 0; i < nr; i++)
			CHECK_EQ(pm_get(bed.index, &i, 8, NULL, &(u32) { 0 }),
				 -ERANGE);
		bed_check(&bed);
		bed_close(&bed);
	}
}

static u32 nr_sbs(struct bed *bed)
{
	u32 nr = 0, off;

	for (off = 4096; off < bed->pm.region.size; off += 4096)
		nr += !memcmp((u8 *)bed->pm.region.base + off, "WORTPOOL", 8);
	return nr;
}

/* Format and growth leave no copy where none belongs; nor does attach. */
void check_copies_stray(void)
{
	struct wort_media_sb stray;
	struct bed bed;

	bed_open(&bed, 2 * MIB, 4096);
	bed_detach(&bed);
	bed.pm.region.size = MIB;
	pmpool_format(&bed.pm, 4096);
	bed.pm.region.size = 2 * MIB;
	CHECK_EQ(nr_sbs(&bed), 4);
	CHECK_EQ(wort_pool_grow(&bed.pm.region), 0);
	CHECK_EQ(nr_sbs(&bed), 3);
	memcpy(&stray, (u8 *)bed.pm.region.base + 2 * MIB - 4096, sizeof(stray));
	pmpool_format(&bed.pm, 4096);
	CHECK_EQ(nr_sbs(&bed), 3);
	bed.pm.region.size = MIB;
	pmpool_format(&bed.pm, 4096);
	bed.pm.region.size = 2 * MIB;
	/* as a growth that was cut short leaves it */
	memcpy((u8 *)bed.pm.region.base + 2 * MIB - 4096, &stray, sizeof(stray));
	CHECK_EQ(nr_sbs(&bed), 4);
	bed_attach(&bed);
	CHECK_EQ(nr_sbs(&bed), 3);
	bed_close(&bed);
}

/* Another system attaches the pool, while this one believes that it has it. */
static void attach_elsewhere(struct bed *bed, bool readonly)
{
	struct wort_pool *other;

	bed->pm.region.readonly = readonly;
	CHECK_EQ(wort_pool_attach(&bed->pm.region, &other), 0);
	bed->pm.region.readonly = false;
	wort_pool_detach(other);
}

/* What this system stores leaves the pool unchanged for it; what others store does not. */
void check_copies_unchanged(void)
{
	struct wort_check_arg arg;
	struct bed bed;
	u32 copy;

	bed_open(&bed, MIB, 4096);
	CHECK(wort_sb_unchanged(bed.pm.pool));
	CHECK_EQ(pm_put(bed.index, "k", 1, "v", 1), 0);
	wort_pool_damaged(bed.pm.pool);
	bed_check_arg(&bed, WORT_CHECK_F_CLEAR, &arg);
	CHECK(wort_sb_unchanged(bed.pm.pool));
	attach_elsewhere(&bed, true);
	CHECK(wort_sb_unchanged(bed.pm.pool));
	attach_elsewhere(&bed, false);
	CHECK(!wort_sb_unchanged(bed.pm.pool));
	reattach(&bed);
	memset(words_at(&bed), 0, sizeof(struct wort_media_words));
	CHECK(!wort_sb_unchanged(bed.pm.pool));
	reattach(&bed);
	for (copy = 0; copy < WORT_MEDIA_SB_COPIES; copy++)
		damage(&bed, copy, 0);
	CHECK(!wort_sb_unchanged(bed.pm.pool));
	bed_close(&bed);
}

/*
 * Put the copy at the end in force; the power goes at that flush or fence.  False: there are
 * fewer.
 */
static bool cut_restore(struct bed *bed, const u8 *lost, u64 event, u64 seed, u8 *image)
{
	struct wort_powercut_status status;
	struct wort_media_sb sb;
	struct wort_op op;

	memcpy(bed->pm.region.base, lost, MIB);
	CHECK_EQ(wort_powercut_arm(event), 0);
	wort_powercut_begin(&bed->pm.region);
	wort_op_begin(&op, &bed->pm.region, NULL);
	CHECK_EQ(wort_sb_read(&op, MIB - WORT_MEDIA_SB_SPACE, &sb), 0);
	CHECK_EQ(wort_sb_replace(&op, &sb, WORT_SB_END), 0);
	wort_op_end(&op);
	wort_powercut_end(&bed->pm.region);
	wort_powercut_status(&status);
	if (status.state != WORT_POWERCUT_CUT)
		return false;
	CHECK_EQ(wort_powercut_image(seed, image, MIB, 0), MIB);
	return true;
}

static bool has_copy(struct bed *bed)
{
	struct wort_media_sb sb;
	struct wort_op op;
	bool has;

	wort_op_begin(&op, &bed->pm.region, NULL);
	has = !wort_sb_load(&op, &sb, &(u32){ 0 }) ||
	      !wort_sb_read(&op, MIB - WORT_MEDIA_SB_SPACE, &sb);
	wort_op_end(&op);
	return has;
}

/* A restore that is cut, also within a copy, leaves one that is valid: it can be done again. */
void check_copies_restored(void)
{
	u64 *lost = malloc(MIB), *none = malloc(MIB), *all = malloc(MIB), event, word;
	struct bed bed;
	u64 *mem;

	bed_open(&bed, MIB, 4096);
	bed_detach(&bed);
	mem = (void *)bed.pm.region.base;
	memset((u8 *)mem + WORT_MEDIA_SB_OFF, 0, 2 * WORT_MEDIA_SB_SPACE);
	memcpy(lost, mem, MIB);
	for (event = 1; cut_restore(&bed, (u8 *)lost, event, 0, (u8 *)none); event++) {
		CHECK(cut_restore(&bed, (u8 *)lost, event, 1, (u8 *)all));
		memcpy(mem, none, MIB);
		for (word = 0; word < MIB / sizeof(*mem); word++) {
			if (mem[word] == all[word])
				continue;
			mem[word] = all[word];
			CHECK(has_copy(&bed));
		}
	}
	CHECK_EQ(event, 1 + 2 * WORT_SB_NR);
	wort_powercut_disarm();
	bed_attach(&bed);
	expect_whole(&bed);
	bed_check(&bed);
	bed_close(&bed);
	free(lost);
	free(none);
	free(all);
}
