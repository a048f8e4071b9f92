// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Format: an empty pool.
 *
 * First what was there is made no pool: the copy of the superblock at its end,
 * and whatever lies where the new one will be; then, of the first two, the one
 * that is not in force; then the other one.  Then all is written but the
 * magics, and these: that at the end, and behind a fence the first two.
 *
 * A crash leaves the old pool as it was, perhaps without the copy at its end;
 * no pool, perhaps with the new copy at the end, which attach does not look at;
 * or the new one with one or two of its first copies: never parts of both.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "../core/pmem.h"
#include "pool.h"

/* Bytes that are cleared without a pause. */
#define ZEROES	BIT(20)

static int plan_geometry(const struct wort_region *region, u32 extent_size,
			 struct wort_media_sb *sb)
{
	u64 size = round_down(region->size, (u64)WORT_MEDIA_SB_SPACE);
	u64 nr, data, end = size - WORT_MEDIA_SB_SPACE;
	u32 shift;

	if (size < WORT_MEDIA_POOL_MIN)
		return -ENOSPC;
	if (region->size > WORT_MEDIA_POOL_MAX)
		return -EFBIG;
	if (!extent_size)
		extent_size = size < 8 << 20 ? 4096 : 65536;
	shift = fls(extent_size) - 1;
	if (extent_size != 1U << shift || shift < WORT_MEDIA_EXTENT_SHIFT_MIN ||
	    shift > WORT_MEDIA_EXTENT_SHIFT_MAX)
		return -EINVAL;
	data = round_up(WORT_MEDIA_TABLE_OFF + 8 * (size >> shift),
			(u64)extent_size);
	if (data + extent_size > end)
		return -ENOSPC;
	nr = (end - data) >> shift;
	if (nr > U32_MAX / 2)
		return -EFBIG;
	sb->extent_shift = cpu_to_le32(shift);
	sb->pool_size = cpu_to_le64(size);
	sb->table_off = cpu_to_le64(WORT_MEDIA_TABLE_OFF);
	sb->data_off = cpu_to_le64(data);
	sb->nr_extents = cpu_to_le64(nr);
	sb->catalogue_off = cpu_to_le64(data);
	return 0;
}

/* It may be gigabytes. */
static void write_zeroes(struct wort_op *op, u64 off, u64 len)
{
	u64 end = off + len, n;

	for (; off < end; off += n) {
		n = min_t(u64, end - off, ZEROES);
		wort_pm_zero(op, wort_region_at(op->region, off), n);
		wort_pm_flush(op, wort_region_at(op->region, off), n);
		cond_resched();
	}
}

/* An empty extent table but for the extent of the first catalogue block. */
static void write_empty(struct wort_op *op, const struct wort_media_sb *sb)
{
	__le64 __pmem *table = wort_region_at(op->region, WORT_MEDIA_TABLE_OFF);
	u64 table_len = 8 * le64_to_cpu(sb->nr_extents);
	void __pmem *block = wort_region_at(op->region,
					    le64_to_cpu(sb->catalogue_off));

	/* No line is flushed twice. */
	wort_pm_zero(op, table, min_t(u64, table_len, WORT_LINE));
	wort_pm_store(op, table,
		      wort_class_of(sizeof(struct wort_media_catalogue)) + 1);
	wort_pm_flush(op, table, min_t(u64, table_len, WORT_LINE));
	if (table_len > WORT_LINE)
		write_zeroes(op, WORT_MEDIA_TABLE_OFF + WORT_LINE,
			     table_len - WORT_LINE);
	wort_pm_zero(op, block, sizeof(struct wort_media_catalogue));
	wort_pm_flush(op, block, sizeof(struct wort_media_catalogue));
}

/* The copy that is not in force goes first, or it would come into force. */
static void destroy_old(struct wort_op *op, const struct wort_media_sb *new)
{
	struct wort_media_sb sb;
	u32 copy = 0;

	if (wort_sb_load(op, &sb, &copy))
		copy = 0;
	else
		wort_sb_destroy(op, wort_sb_off(&sb, WORT_SB_END));
	wort_sb_destroy(op, wort_sb_off(new, WORT_SB_END));
	wort_sb_destroy(op, wort_sb_off(new, copy ^ 1));
	wort_sb_destroy(op, wort_sb_off(new, copy));
}

/* Another generation than that of a pool that was there. */
static void write_words(struct wort_op *op)
{
	struct wort_media_words words = { .next_id = cpu_to_le64(1) };
	void __pmem *at = wort_region_at(op->region, WORT_MEDIA_WORDS_OFF);
	u64 generation;

	wort_sb_generation(op, &generation);
	words.generation = cpu_to_le64(generation + 1);
	wort_pm_write(op, at, &words, sizeof(words));
	wort_pm_flush(op, at, sizeof(words));
}

/* All but what makes it one. */
static void write_pool(struct wort_op *op, const struct wort_media_sb *sb)
{
	u32 copy;

	write_zeroes(op, WORT_MEDIA_HEADS_OFF,
		     WORT_MEDIA_NR_HEADS * sizeof(struct wort_media_head));
	write_empty(op, sb);
	write_words(op);
	for (copy = 0; copy < WORT_SB_NR; copy++)
		wort_sb_write(op, sb, copy);
}

static void publish(struct wort_op *op, const struct wort_media_sb *sb)
{
	struct wort_media_sb __pmem *at[WORT_SB_NR];
	u32 copy;

	for (copy = 0; copy < WORT_SB_NR; copy++)
		at[copy] = wort_region_at(op->region, wort_sb_off(sb, copy));
	wort_pm_publish(op, &at[WORT_SB_END]->magic, WORT_MEDIA_MAGIC);
	wort_pm_publish_pair(op, &at[0]->magic, WORT_MEDIA_MAGIC,
			     &at[1]->magic, WORT_MEDIA_MAGIC);
}

static int bad_pages(struct wort_region *region, const struct wort_media_sb *sb)
{
	u64 len = le64_to_cpu(sb->data_off) +
		  sizeof(struct wort_media_catalogue) - WORT_MEDIA_SB_OFF;
	int err = wort_region_verify(region, WORT_MEDIA_SB_OFF, len);

	return err ? err : wort_region_verify(region,
					      wort_sb_off(sb, WORT_SB_END),
					      WORT_MEDIA_SB_SPACE);
}

/**
 * wort_pool_format() - Make an empty pool
 * @region: The memory; nobody else uses it.
 * @opts: How.
 *
 * Whatever was there is lost, but for the first 4 KiB.
 *
 * Context: May sleep.
 * Return: 0; -EINVAL for an extent size; -ENOSPC, -EFBIG if the region is
 * smaller or larger than a pool can be; -EIO if a page that would hold the
 * superblock, the table or the catalogue is known to be bad; -ENOMEM if such a
 * pool could not be attached.  Nothing was stored then.
 */
int wort_pool_format(struct wort_region *region,
		     const struct wort_format_opts *opts)
{
	struct wort_media_sb sb = { };
	struct wort_op op;
	int err;

	err = plan_geometry(region, opts->extent_size, &sb);
	if (!err)
		err = bad_pages(region, &sb);
	if (!err)
		err = wort_alloc_servable(le64_to_cpu(sb.nr_extents));
	if (err)
		return err;
	sb.version = cpu_to_le32(WORT_MEDIA_VERSION);
	sb.seq = cpu_to_le64(1);
	sb.incompat = cpu_to_le64(WORT_INCOMPAT_EXPERIMENTAL);
	sb.format_time = cpu_to_le64(opts->time);
	memcpy(sb.uuid, opts->uuid, sizeof(sb.uuid));
	memcpy(sb.label, opts->label, sizeof(sb.label));

	wort_op_begin(&op, region, NULL);
	destroy_old(&op, &sb);
	write_pool(&op, &sb);
	publish(&op, &sb);
	wort_op_end(&op);
	return 0;
}
