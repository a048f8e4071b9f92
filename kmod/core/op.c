// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/string.h>

#include <trace/events/wort.h>

#include "alloc.h"
#include "pmem.h"

DEFINE_STATIC_KEY_TRUE(wort_counting);

/* What wort_op_end() seldom has to do. */
void wort_op_settle(struct wort_op *op)
{
	wort_pm_fence_in_flight(op);
	if (op->nr_reserved)
		wort_alloc_settle(op);
}

/**
 * wort_op_step() - End a step of an operation that has several
 * @op: The operation, which holds no lock.  All that it has taken the step has
 *	published.
 *
 * A step is complete: the tree is as legal as after a whole operation, and each
 * key has the value that it had before.  What the step has taken stays with the
 * tree, also if the operation fails later or is begun again; what it has not
 * taken is given back.  The next step descends again, and reserves again: up to
 * WORT_RESERVE_MAX objects.
 *
 * Does not publish, and fences only for words that were found in flight.
 *
 * Context: May sleep.  Takes wort_alloc.lock.
 */
void wort_op_step(struct wort_op *op)
{
	wort_op_settle(op);
	op->time = wort_locks_now(op->locks);
}

/**
 * wort_op_again() - Begin an operation again
 * @op: The operation.  It has published nothing since it began, or since its
 *	last wort_op_step().
 *
 * Its counts go on.
 *
 * Context: May sleep.
 */
void wort_op_again(struct wort_op *op)
{
	wort_alloc_untake(op);
	wort_op_settle(op);
}

/**
 * wort_corrupt() - Report a word on media that no history can have left
 * @op: The operation that met it.
 * @off: Where it is.
 * @fmt: What is wrong, without a full stop.
 *
 * Whoever began the operation turns the index or the pool read-only.
 *
 * Beside writers an operation may also see parts of different histories.  If it
 * is not alone, nothing is reported.
 *
 * Context: Any context.
 * Return: -EUCLEAN; -EAGAIN if the operation is not alone.
 */
int wort_corrupt(struct wort_op *op, u64 off, const char *fmt, ...)
{
	char what[80];
	va_list args;

	if (!op->alone) {
		op->suspicious++;
		return -EAGAIN;
	}
	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	pr_err_ratelimited("%s: damage at offset %#llx: %s\n",
			   op->region->name ?: "pool",
			   (unsigned long long)off, what);
	trace_wort_corrupt(op->region->dev, off, what);
	op->bad_off = off;
	return -EUCLEAN;
}
