/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Objects of a pool without an index: reserved, taken and freed one by one.
 */
#ifndef _WORT_TEST_SPACE_H
#define _WORT_TEST_SPACE_H

#include "../../kmod/core/extent.h"
#include "../../kmod/core/pmem.h"
#include "unit.h"

static inline struct wort_alloc *space_alloc(struct bed *bed)
{
	return &bed->pm.pool->alloc;
}

static inline void space_begin(struct bed *bed, struct wort_op *op)
{
	wort_op_begin(op, &bed->pm.region, space_alloc(bed));
}

/* What is at hand goes back, so that the next one is the first that is free. */
static inline void space_drain(struct bed *bed)
{
	mutex_lock(&space_alloc(bed)->lock);
	wort_cache_drain(space_alloc(bed));
	mutex_unlock(&space_alloc(bed)->lock);
}

static inline int space_give(struct bed *bed, u64 off, u64 size)
{
	struct wort_op op;
	int err;

	space_begin(bed, &op);
	err = wort_alloc_free(&op, off, size);
	wort_op_end(&op);
	return err;
}

#endif /* _WORT_TEST_SPACE_H */
