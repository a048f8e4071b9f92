// SPDX-License-Identifier: GPL-2.0-only
/*
 * Format: proof that the memory holds, then an empty pool.
 */
#include <linux/ktime.h>
#include <linux/uuid.h>

#include "../core/pmem.h"
#include "wort_dev.h"

/* The last line of the space of a superblock copy, where nothing ever lies. */
static u64 proof_off(u32 copy)
{
	return WORT_MEDIA_SB_OFF + (copy + 1) * WORT_MEDIA_SB_SPACE - WORT_LINE;
}

/* Different at each place, each time, and never what erased memory holds. */
static void proof_fill(u64 *line)
{
	get_random_bytes(line, WORT_LINE);
	line[0] |= 1;
	line[1] &= ~1ULL;
}

static int prove_line(struct wort_op *op, u64 off, const u64 *line)
{
	void __pmem *at = wort_region_at(op->region, off);
	u64 back[WORT_LINE / sizeof(u64)] = { };
	int err;

	err = wort_pm_read(op, back, at, WORT_LINE);
	if (err)
		return err;
	return memcmp(back, line, WORT_LINE) ? -EREMOTEIO : 0;
}

/*
 * Store, flush, read back: emulated memory exists that drops stores.  Only
 * bytes that no pool uses are touched, so a crash here leaves an old pool
 * whole.
 */
static int prove(struct wort_dax *dax)
{
	u64 lines[WORT_MEDIA_SB_COPIES][WORT_LINE / sizeof(u64)];
	struct wort_op op;
	u32 copy;
	int err = 0;

	wort_op_begin(&op, &dax->region, NULL);
	for (copy = 0; copy < WORT_MEDIA_SB_COPIES && !err; copy++) {
		err = wort_region_verify(&dax->region, proof_off(copy),
					 WORT_LINE);
		if (err)
			break;
		proof_fill(lines[copy]);
		wort_pm_write(&op, wort_region_at(&dax->region,
						  proof_off(copy)),
			      lines[copy], WORT_LINE);
		wort_pm_flush(&op, wort_region_at(&dax->region,
						  proof_off(copy)), WORT_LINE);
	}
	wort_pm_fence(&op);
	for (copy = 0; copy < WORT_MEDIA_SB_COPIES && !err; copy++)
		err = prove_line(&op, proof_off(copy), lines[copy]);
	wort_op_end(&op);
	return err;
}

/*
 * A pool of another version, or one with a broken superblock, is a pool, too.
 * A superblock that cannot be read is format's to complain about.
 */
static int refuse_pool(struct wort_dax *dax, u32 flags)
{
	struct wort_media_sb sb;
	int err;

	if (flags & WORT_FORMAT_F_FORCE)
		return 0;
	err = wort_pool_probe(&dax->region, &sb);
	if (err == -ENODATA || err == -EIO)
		return 0;
	pr_err_ratelimited("%s: there is a pool already: format with force to lose it\n",
			   dax->name);
	return -EEXIST;
}

static void fill_opts(struct wort_format_opts *opts,
		      const struct wort_format_arg *arg)
{
	memset(opts, 0, sizeof(*opts));
	opts->extent_size = arg->extent_size;
	opts->time = ktime_get_real_seconds();
	memcpy(opts->uuid, arg->uuid, sizeof(opts->uuid));
	memcpy(opts->label, arg->label, sizeof(opts->label));
	if (!memchr_inv(opts->uuid, 0, sizeof(opts->uuid)))
		generate_random_uuid(opts->uuid);
}

static int format_claimed(struct wort_dax *dax,
			  const struct wort_format_arg *arg)
{
	struct wort_format_opts opts;
	struct wort_media_sb sb;
	int err;

	err = refuse_pool(dax, arg->flags);
	if (err)
		return err;
	err = prove(dax);
	if (!err) {
		fill_opts(&opts, arg);
		err = wort_pool_format(&dax->region, &opts);
	}
	/* What was just written must read as a pool. */
	if (!err && wort_pool_probe(&dax->region, &sb))
		err = -EREMOTEIO;
	if (err == -EREMOTEIO)
		pr_err_ratelimited("%s: the device did not keep what was stored to it\n",
				   dax->name);
	return err;
}

/**
 * wort_dev_format() - Make an empty pool on a block device
 * @path: Path of the device.
 * @arg: How; verified but for the extent size.
 *
 * Context: May sleep.
 * Return: 0; what wort_dax_claim() and wort_pool_format() return; -EEXIST if
 * there is a pool; -EREMOTEIO if the memory does not hold; -ENODEV if it went
 * away.
 */
int wort_dev_format(const char *path, const struct wort_format_arg *arg)
{
	struct wort_dax *dax;
	int err;

	err = wort_dax_claim(path, false, &dax);
	if (err)
		return err;
	err = -ENODEV;
	if (wort_dax_enter(dax)) {
		err = format_claimed(dax, arg);
		wort_dax_exit(dax);
	}
	if (!err) {
		pr_info("%s: formatted\n", dax->name);
		wort_dev_warn_of_label(dax->name, arg->label);
	}
	wort_dax_release(dax);
	wort_dax_free(dax);
	return err;
}
