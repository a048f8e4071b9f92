// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "extent.h"
#include "purse.h"

/* Objects of one kind can stand for each other. */
static u32 kind_of(const struct wort_alloc *alloc, u64 size)
{
	return wort_is_run(alloc, size) ?
	       WORT_NR_CLASSES + wort_run_of(alloc, size) : wort_class_of(size);
}

/**
 * wort_purse_new() - Make an empty purse
 * @max: Objects that it will have at most.
 * @gfp: WORT_GFP_CALL for the time of a call; 0 to carry out what is committed.
 *
 * Context: May sleep.
 * Return: The purse, or NULL.
 */
struct wort_purse *wort_purse_new(u32 max, gfp_t gfp)
{
	struct wort_purse *purse = kvmalloc(struct_size(purse, object, max),
					    GFP_NOIO | __GFP_NOWARN | gfp);

	if (purse) {
		purse->nr = 0;
		purse->max = max;
		purse->attach = false;
	}
	return purse;
}

/**
 * wort_purse_add() - Set objects aside
 * @op: An operation that has reserved nothing.
 * @purse: The purse, which no operation uses yet.
 * @size: Bytes of each, as for wort_alloc_reserve().
 * @nr: How many.
 *
 * Stores nothing to media.  wort_purse_free() is due also after an error.
 *
 * Context: May sleep.  Takes wort_alloc.lock.
 * Return: 0; -ENOSPC or -ENOMEM as wort_alloc_reserve().
 */
int wort_purse_add(struct wort_op *op, struct wort_purse *purse, u64 size,
		   u32 nr)
{
	int err;

	while (nr--) {
		if (WARN_ON_ONCE(purse->nr == purse->max))
			return -ENOMEM;
		err = wort_alloc_reserve(op, size);
		if (err)
			return err;
		op->nr_reserved = 0;
		purse->object[purse->nr++] = (struct wort_purse_object){
			.off = op->reserved[0],
			.kind = kind_of(op->alloc, size),
		};
	}
	return 0;
}

/**
 * wort_purse_free() - Free a purse, and give its objects back to the allocator
 * @op: An operation.
 * @purse: The purse, which no operation uses any more; or NULL.
 *
 * Context: May sleep.  Takes wort_alloc.lock.
 */
void wort_purse_free(struct wort_op *op, struct wort_purse *purse)
{
	struct wort_alloc *alloc = op->alloc;
	u64 released;
	u32 i;

	if (!purse)
		return;
	mutex_lock(&alloc->lock);
	released = alloc->released;
	for (i = 0; i < purse->nr; i++)
		wort_extent_untake(alloc, purse->object[i].off, false);
	/* What it gives back itself is no reason to try again. */
	op->released += alloc->released - released;
	mutex_unlock(&alloc->lock);
	kvfree(purse);
}

/**
 * wort_purse_reserve_beside() - Reserve an object that can be done without
 * @op: The operation, with a purse or without.
 * @size: Bytes, as for wort_alloc_reserve().
 *
 * As wort_alloc_reserve(), but takes neither an object of the purse nor space
 * that is kept back for wort_op.must_free: others need those.  During an attach
 * it takes nothing, since the changes that follow may need all space.
 *
 * Context: May sleep.  Takes wort_alloc.lock.
 * Return: 0; -ENOMEM; -ENOSPC.
 */
int wort_purse_reserve_beside(struct wort_op *op, u64 size)
{
	struct wort_purse *purse = op->purse;
	bool must_free = op->must_free;
	int err;

	if (purse && purse->attach)
		return -ENOSPC;
	op->purse = NULL;
	op->must_free = false;
	err = wort_alloc_reserve(op, size);
	op->purse = purse;
	op->must_free = must_free;
	return err;
}

/**
 * wort_purse_lend() - Reserve an object out of the purse of an operation
 * @op: The operation, which has one.
 * @size: Bytes.
 * @off: Told: the offset of the object.
 *
 * Context: Holds wort_alloc.lock.
 * Return: 0; -ENOSPC if there is none of the kind.
 */
int wort_purse_lend(struct wort_op *op, u64 size, u64 *off)
{
	u32 kind = kind_of(op->alloc, size);
	struct wort_purse *purse = op->purse;
	u32 i;

	for (i = purse->nr; i--;) {
		if (purse->object[i].kind != kind)
			continue;
		*off = purse->object[i].off;
		purse->object[i] = purse->object[--purse->nr];
		op->lent |= BIT(op->nr_reserved);
		return 0;
	}
	return -ENOSPC;
}

/**
 * wort_purse_return() - Put an object back that an operation has not taken
 * @op: The operation.
 * @nr: Its place in wort_op.reserved, of which wort_op.lent has the bit.
 *
 * Context: Holds wort_alloc.lock.
 */
void wort_purse_return(struct wort_op *op, u32 nr)
{
	const struct wort_alloc *alloc = op->alloc;
	const struct wort_extent *extent = wort_extent_of(alloc,
							  op->reserved[nr]);
	struct wort_purse *purse = op->purse;

	purse->object[purse->nr++] = (struct wort_purse_object){
		.off = op->reserved[nr],
		.kind = extent->class == WORT_CLASS_RUN ?
			WORT_NR_CLASSES + extent->run : extent->class,
	};
}
