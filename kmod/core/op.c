// SPDX-License-Identifier: GPL-2.0-only
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/string.h>

#include "alloc.h"
#include "op.h"

DEFINE_STATIC_KEY_TRUE(wort_counting);

/**
 * wort_op_begin() - Begin an operation
 * @op: Uninitialised memory of the caller.
 * @region: Memory that it will work on.
 * @alloc: Allocator of the same pool; NULL if it will allocate nothing.
 *
 * Context: Any context.
 */
void wort_op_begin(struct wort_op *op, struct wort_region *region,
		   struct wort_alloc *alloc)
{
	op->region = region;
	op->alloc = alloc;
	memset(&op->n, 0, sizeof(op->n));
	op->pending = 0;
	op->flush = READ_ONCE(region->flush);
	op->nr_reserved = 0;
	op->nr_taken = 0;
	op->opening = false;
	op->released = 0;
	op->bad_off = 0;
}

/**
 * wort_op_end() - End an operation
 * @op: The operation.
 *
 * What it reserved and did not take goes back to the allocator.  The counts
 * stay readable.
 *
 * Context: May sleep.
 */
void wort_op_end(struct wort_op *op)
{
	if (op->nr_taken < op->nr_reserved || op->opening)
		wort_alloc_settle(op);
}

/**
 * wort_corrupt() - Report a word on media that no history can have left
 * @op: The operation that met it.
 * @off: Where it is.
 * @fmt: What is wrong, without a full stop.
 *
 * Whoever began the operation turns the index or the pool read-only.
 *
 * Context: Any context.
 * Return: -EUCLEAN, always.
 */
int wort_corrupt(struct wort_op *op, u64 off, const char *fmt, ...)
{
	char what[80];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	pr_err_ratelimited("damage at offset %#llx: %s\n",
			   (unsigned long long)off, what);
	op->bad_off = off;
	return -EUCLEAN;
}
