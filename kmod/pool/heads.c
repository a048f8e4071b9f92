// SPDX-License-Identifier: GPL-2.0-only
/*
 * The page of heads.
 *
 * A head refers to an atomic batch that is committed, and durable as a whole,
 * while the records may have any mixture of old and new values.  So a pool with
 * a head that is not 0 must not be served before the batch was carried out.
 * This module carries out none: it refuses the pool, whatever the head refers
 * to.
 *
 * Format clears the page between the stores that end the old pool and those
 * that begin the new one, so in no crash state does a pool have heads of
 * another one.
 */
#include <linux/errno.h>
#include <linux/printk.h>

#include "../core/pmem.h"
#include "pool.h"

static const struct wort_media_head __pmem *heads_at(const struct wort_region *region)
{
	return wort_region_at(region, WORT_MEDIA_HEADS_OFF);
}

static int heads_unreadable(struct wort_op *op)
{
	const u64 len = WORT_MEDIA_NR_HEADS * sizeof(struct wort_media_head);
	int err = wort_region_verify(op->region, WORT_MEDIA_HEADS_OFF, len);

	return err ? err : wort_pm_probe(op, heads_at(op->region), len);
}

/**
 * wort_heads_verify() - Is no atomic batch waiting to be carried out?
 * @op: The operation.
 *
 * Stores nothing.  Says in the log why a pool must not be served.
 *
 * Context: Any context.
 * Return: 0 if all heads are 0; -EPROTONOSUPPORT if one is not; -EIO if they
 * lie on bad memory: nobody knows whether there is a batch then, so nothing may
 * be stored.
 */
int wort_heads_verify(struct wort_op *op)
{
	const struct wort_media_head __pmem *heads = heads_at(op->region);
	const char *name = op->region->name ?: "pool";
	int err = heads_unreadable(op);
	u64 batch;
	u32 nr;

	if (err) {
		pr_err_ratelimited("%s: the page of heads at %#x cannot be read: the pool is read-only\n",
				   name, WORT_MEDIA_HEADS_OFF);
		return err;
	}
	wort_count(op, more_loads, WORT_MEDIA_NR_HEADS);
	for (nr = 0; nr < WORT_MEDIA_NR_HEADS; nr++) {
		batch = wort_pm_load(&heads[nr].batch);
		if (!batch)
			continue;
		pr_err_ratelimited("%s: head %u refers to an atomic batch at %#llx, which this module cannot carry out: attach the pool with a newer one\n",
				   name, nr, (unsigned long long)batch);
		return -EPROTONOSUPPORT;
	}
	return 0;
}
