/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A pool being worked on through the pool layer.
 */
#ifndef _WORT_CRASH_FACE_POOL_H
#define _WORT_CRASH_FACE_POOL_H

#include "../../kmod/pool/pool.h"
#include "../world/face.h"

struct runner {
	struct wort_region region;
	struct wort_pool *pool;
	struct wort_index *index[NR_INDEXES];
};

/*
 * As face_lookup(), as a program does with a mapping: in the memory of the pool;
 * where that does not tell, by face_lookup().
 */
int face_look(struct runner *r, __u32 index, const struct world_bytes *key,
	      void *buf, __u32 size, __u32 *len);

/* Between the pool and its allocator, by --wrap: what face_fail() makes fail. */
int __real_wort_alloc_reserve_slow(struct wort_op *op, u64 size);
int __wrap_wort_alloc_reserve_slow(struct wort_op *op, u64 size);

#endif
