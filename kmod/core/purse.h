/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Purse: objects that are set aside for operations that must not fail.
 *
 * An operation with a purse was committed before it begins (an atomic batch,
 * for instance).  When the pool is full it reserves its objects out of the
 * purse, and what it does not take goes back there.  Its other memory is
 * allocated without failing.
 */
#ifndef _WORT_PURSE_H
#define _WORT_PURSE_H

#include "alloc.h"

/**
 * struct wort_purse_object - An object in a purse
 * @off: its offset
 * @kind: its size class or, above the classes, how many extents it takes
 */
struct wort_purse_object {
	u64 off;
	u32 kind;
};

/**
 * struct wort_purse - Objects that are set aside
 * @nr: how many are there; under wort_alloc.lock while operations use it
 * @max: for how many there is room
 * @attach: it is that of a list that was found by an attach: it has nothing, but
 *	what it had is free
 * @object: the objects
 */
struct wort_purse {
	u32 nr;
	u32 max;
	bool attach;
	struct wort_purse_object object[];
};

struct wort_purse *wort_purse_new(u32 max, gfp_t gfp);
int wort_purse_add(struct wort_op *op, struct wort_purse *purse, u64 size,
		   u32 nr);
int wort_purse_reserve_beside(struct wort_op *op, u64 size);
void wort_purse_free(struct wort_op *op, struct wort_purse *purse);

/* For the allocator, with wort_alloc.lock held. */
int wort_purse_lend(struct wort_op *op, u64 size, u64 *off);
void wort_purse_return(struct wort_op *op, u32 nr);

#endif /* _WORT_PURSE_H */
