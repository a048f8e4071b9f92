// SPDX-License-Identifier: GPL-2.0-only
/*
 * The superblock and format.
 *
 * An update writes the copy that is not in force, with a higher sequence
 * number and a checksum, under one fence.  After a crash that copy is whole,
 * or its checksum fails and the other one stays in force.
 *
 * Format destroys both magics, that of the copy in force last, then writes
 * everything but the magics, then these, with a fence between each.  A crash
 * leaves the old pool as it was, no pool, or the new one with one or two
 * copies of its superblock: never parts of both.
 */
#include <linux/crc32c.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/string.h>

#include "../core/pmem.h"
#include "pool.h"

static u64 copy_off(u32 copy)
{
	return WORT_MEDIA_SB_OFF + copy * WORT_MEDIA_SB_SPACE;
}

static struct wort_media_sb __pmem *sb_at(const struct wort_region *region,
					  u32 copy)
{
	return wort_region_at(region, copy_off(copy));
}

static u32 sb_csum(const struct wort_media_sb *sb)
{
	struct wort_media_sb tmp = *sb;

	tmp.csum = 0;
	return crc32c(~0U, &tmp, sizeof(tmp));
}

/* The first block of the catalogue is where an object of its size can be. */
static bool catalogue_valid(const struct wort_media_sb *sb)
{
	const u64 size = sizeof(struct wort_media_catalogue);
	u64 data = le64_to_cpu(sb->data_off);
	u64 off = le64_to_cpu(sb->catalogue_off);
	u64 bytes = le64_to_cpu(sb->nr_extents) << le32_to_cpu(sb->extent_shift);

	/* Its class has slots of just this size, which divides extents. */
	return off >= data && (off - data) % size == 0 && off - data < bytes;
}

/* Every number bounded by the region: a checksum makes none trustworthy. */
static bool geometry_valid(const struct wort_region *region,
			   const struct wort_media_sb *sb)
{
	u64 table = le64_to_cpu(sb->table_off);
	u64 data = le64_to_cpu(sb->data_off);
	u64 nr = le64_to_cpu(sb->nr_extents);
	u64 size = le64_to_cpu(sb->pool_size);
	u32 shift = le32_to_cpu(sb->extent_shift);

	if (shift < WORT_MEDIA_EXTENT_SHIFT_MIN ||
	    shift > WORT_MEDIA_EXTENT_SHIFT_MAX)
		return false;
	if (size < WORT_MEDIA_POOL_MIN || size > WORT_MEDIA_POOL_MAX ||
	    size > region->size)
		return false;
	if (table < WORT_MEDIA_TABLE_OFF || table % 8 || data > size ||
	    data % (1ULL << shift) || data < WORT_MEDIA_TABLE_OFF)
		return false;
	if (!nr || nr > (size - data) >> shift || nr > U32_MAX / 2 ||
	    !catalogue_valid(sb))
		return false;
	if (table < data)
		return nr * 8 <= data - table;
	return table % (1ULL << shift) == 0 && table < data + (nr << shift) &&
	       nr * 8 <= data + (nr << shift) - table;
}

static int verify_sb(struct wort_op *op, const struct wort_media_sb *sb,
		     u64 off)
{
	if (le64_to_cpu(sb->magic) != WORT_MEDIA_MAGIC)
		return wort_corrupt(op, off, "superblock changes");
	if (le32_to_cpu(sb->version) != WORT_MEDIA_VERSION)
		return -EPROTONOSUPPORT;
	if (le32_to_cpu(sb->csum) != sb_csum(sb))
		return wort_corrupt(op, off, "superblock checksum");
	if (le64_to_cpu(sb->incompat) & ~WORT_INCOMPAT_ALL)
		return -EPROTONOSUPPORT;
	if (le64_to_cpu(sb->seq) >= S64_MAX ||
	    !geometry_valid(op->region, sb))
		return wort_corrupt(op, off, "superblock geometry");
	return 0;
}

static int read_copy(struct wort_op *op, u32 copy, struct wort_media_sb *sb)
{
	int err = wort_region_verify(op->region, copy_off(copy), sizeof(*sb));
	__le64 magic = 0;

	/* Without the magic the rest is not looked at: it may be anything. */
	if (!err)
		err = wort_pm_read(op, &magic, &sb_at(op->region, copy)->magic,
				   sizeof(magic));
	if (!err && le64_to_cpu(magic) != WORT_MEDIA_MAGIC)
		return -ENODATA;
	if (!err)
		err = wort_pm_read(op, sb, sb_at(op->region, copy), sizeof(*sb));
	return err ? err : verify_sb(op, sb, copy_off(copy));
}

/* Of two failures the one that says more. */
static int worse(int a, int b)
{
	return a == -ENODATA ? b : a;
}

/**
 * wort_sb_load() - Read the superblock in force
 * @op: The operation.
 * @sb: Filled in: a copy, all of its numbers verified.
 * @copy: Which of the copies on media it is.
 *
 * Context: Any context.
 * Return: 0; -ENODATA if there is no pool; -EPROTONOSUPPORT if its version or
 * a feature is unknown; -EUCLEAN if no copy is valid; -EIO.
 */
int wort_sb_load(struct wort_op *op, struct wort_media_sb *sb, u32 *copy)
{
	struct wort_media_sb other;
	int err = read_copy(op, 0, sb), err2 = read_copy(op, 1, &other);

	*copy = 0;
	if (!err2 && (err || le64_to_cpu(other.seq) > le64_to_cpu(sb->seq))) {
		*sb = other;
		*copy = 1;
		return 0;
	}
	return err && err2 ? worse(err, err2) : err;
}

static void write_copy(struct wort_op *op, u32 copy,
		       const struct wort_media_sb *sb)
{
	wort_pm_write(op, sb_at(op->region, copy), sb, sizeof(*sb));
	wort_pm_flush(op, sb_at(op->region, copy), sizeof(*sb));
}

/**
 * wort_sb_store() - Put a changed superblock in force
 * @op: The operation.
 * @pool: The pool, whose @sb was changed.
 *
 * If the copy to write lies on a page known to be bad, the change holds until
 * detach only.
 *
 * Context: Holds wort_pool.lock.
 */
void wort_sb_store(struct wort_op *op, struct wort_pool *pool)
{
	lockdep_assert_held(&pool->lock);
	pool->sb.seq = cpu_to_le64(le64_to_cpu(pool->sb.seq) + 1);
	pool->sb.csum = cpu_to_le32(sb_csum(&pool->sb));
	if (wort_region_verify(op->region, copy_off(pool->sb_copy ^ 1),
			       sizeof(pool->sb))) {
		pr_err("superblock cannot be updated: its page is bad\n");
		return;
	}
	pool->sb_copy ^= 1;
	write_copy(op, pool->sb_copy, &pool->sb);
	wort_pm_fence(op);
}

/**
 * wort_pool_probe() - Is there a pool?
 * @region: The memory.
 * @sb: Filled in if there is one.
 *
 * Context: Any context.
 * Return: As wort_sb_load().
 */
int wort_pool_probe(struct wort_region *region, struct wort_media_sb *sb)
{
	struct wort_op op;
	u32 copy;

	wort_op_begin(&op, region, NULL);
	return wort_sb_load(&op, sb, &copy);
}

/**
 * wort_sb_replace() - Put a changed superblock in force in both copies
 * @op: The operation.
 * @sb: The superblock.
 * @copy: The copy that is in force.
 *
 * Context: May sleep.  Nobody uses the pool.
 * Return: 0; -EIO, upon which nothing was changed, if a copy lies on a page
 * known to be bad.
 */
int wort_sb_replace(struct wort_op *op, struct wort_media_sb *sb, u32 copy)
{
	u32 i;
	int err;

	err = wort_region_verify(op->region, WORT_MEDIA_SB_OFF,
				 WORT_MEDIA_SB_COPIES * WORT_MEDIA_SB_SPACE);
	for (i = 0; i < WORT_MEDIA_SB_COPIES && !err; i++) {
		copy ^= 1;
		sb->seq = cpu_to_le64(le64_to_cpu(sb->seq) + 1);
		sb->csum = cpu_to_le32(sb_csum(sb));
		write_copy(op, copy, sb);
		wort_pm_fence(op);
	}
	return err;
}

static int plan_geometry(const struct wort_region *region, u32 extent_size,
			 struct wort_media_sb *sb)
{
	u64 size = region->size, nr, data;
	u32 shift;

	if (size < WORT_MEDIA_POOL_MIN)
		return -ENOSPC;
	if (size > WORT_MEDIA_POOL_MAX)
		return -EFBIG;
	if (!extent_size)
		extent_size = size < 8 << 20 ? 4096 : 65536;
	shift = fls(extent_size) - 1;
	if (extent_size != 1U << shift || shift < WORT_MEDIA_EXTENT_SHIFT_MIN ||
	    shift > WORT_MEDIA_EXTENT_SHIFT_MAX)
		return -EINVAL;
	data = round_up(WORT_MEDIA_TABLE_OFF + 8 * (size >> shift),
			(u64)extent_size);
	if (data + extent_size > size)
		return -ENOSPC;
	nr = (size - data) >> shift;
	if (nr > U32_MAX / 2)
		return -EFBIG;
	sb->extent_shift = cpu_to_le32(shift);
	sb->pool_size = cpu_to_le64(data + (nr << shift));
	sb->table_off = cpu_to_le64(WORT_MEDIA_TABLE_OFF);
	sb->data_off = cpu_to_le64(data);
	sb->nr_extents = cpu_to_le64(nr);
	sb->catalogue_off = cpu_to_le64(data);
	return 0;
}

/* An empty extent table but for the extent of the first catalogue block. */
static void write_empty(struct wort_op *op, const struct wort_media_sb *sb)
{
	__le64 __pmem *table = wort_region_at(op->region, WORT_MEDIA_TABLE_OFF);
	u64 table_len = 8 * le64_to_cpu(sb->nr_extents);
	void __pmem *block = wort_region_at(op->region,
					    le64_to_cpu(sb->catalogue_off));

	wort_pm_zero(op, table, table_len);
	wort_pm_store(op, table,
		      wort_class_of(sizeof(struct wort_media_catalogue)) + 1);
	wort_pm_flush(op, table, table_len);
	wort_pm_zero(op, block, sizeof(struct wort_media_catalogue));
	wort_pm_flush(op, block, sizeof(struct wort_media_catalogue));
}

/* The copy that is not in force goes first, or it would come into force. */
static void destroy_old(struct wort_op *op)
{
	struct wort_media_sb sb;
	u32 copy = 0;

	if (wort_sb_load(op, &sb, &copy))
		copy = 0;
	wort_pm_publish(op, &sb_at(op->region, copy ^ 1)->magic, 0);
	wort_pm_publish(op, &sb_at(op->region, copy)->magic, 0);
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
 * superblock, the table or the catalogue is known to be bad.
 */
int wort_pool_format(struct wort_region *region,
		     const struct wort_format_opts *opts)
{
	struct wort_media_sb sb = { };
	struct wort_op op;
	u32 copy;
	int err;

	err = plan_geometry(region, opts->extent_size, &sb);
	if (err)
		return err;
	err = wort_region_verify(region, WORT_MEDIA_SB_OFF,
				 le64_to_cpu(sb.data_off) +
				 sizeof(struct wort_media_catalogue) -
				 WORT_MEDIA_SB_OFF);
	if (err)
		return err;
	sb.version = cpu_to_le32(WORT_MEDIA_VERSION);
	sb.seq = cpu_to_le64(1);
	sb.incompat = cpu_to_le64(WORT_INCOMPAT_EXPERIMENTAL);
	sb.format_time = cpu_to_le64(opts->time);
	memcpy(sb.uuid, opts->uuid, sizeof(sb.uuid));
	memcpy(sb.label, opts->label, sizeof(sb.label));
	sb.magic = cpu_to_le64(WORT_MEDIA_MAGIC);
	sb.csum = cpu_to_le32(sb_csum(&sb));
	sb.magic = 0;

	wort_op_begin(&op, region, NULL);
	destroy_old(&op);
	write_empty(&op, &sb);
	for (copy = 0; copy < WORT_MEDIA_SB_COPIES; copy++)
		write_copy(&op, copy, &sb);
	wort_pm_publish_pair(&op, &sb_at(region, 0)->magic, WORT_MEDIA_MAGIC,
			     &sb_at(region, 1)->magic, WORT_MEDIA_MAGIC);
	wort_op_end(&op);
	return 0;
}
