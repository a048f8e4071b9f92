// SPDX-License-Identifier: GPL-2.0-only
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/string.h>

#include <trace/events/wort.h>

#include "alloc.h"
#include "op.h"

DEFINE_STATIC_KEY_TRUE(wort_counting);

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
	pr_err_ratelimited("%s: damage at offset %#llx: %s\n",
			   op->region->name ?: "pool",
			   (unsigned long long)off, what);
	trace_wort_corrupt(op->region->dev, off, what);
	op->bad_off = off;
	return -EUCLEAN;
}
