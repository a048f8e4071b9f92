/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How the steps reach a pool: through the pool layer in the same program
 * (crash/face_pool.c), or through the module (kselftest/face_ioctl.c).
 *
 * Indexes go by number; see struct world.  Functions return 0 or a negative
 * errno.
 */
#ifndef _WORT_TEST_FACE_H
#define _WORT_TEST_FACE_H

#include <linux/wort.h>

#include "world.h"

bool face_attached(const struct runner *r);
int face_attach(struct runner *r);
void face_detach(struct runner *r);
int face_format(struct runner *r);
/* All background work, until there is none. */
void face_settle(struct runner *r);
int face_check(struct runner *r, struct wort_check_arg *arg);
/* Bytes of all extents; or 0 while it is not known which are free. */
__u64 face_space(struct runner *r);
/* Bytes that nobody uses; 0: not known, since the walk has not ended. */
__u64 face_free(struct runner *r);
/* Turn the pool read-only, as if damage had been found. */
void face_damage(struct runner *r);
__u32 face_nr_indexes(struct runner *r);
bool face_damaged(struct runner *r);

bool face_has(const struct runner *r, __u32 index);
int face_open(struct runner *r, __u32 index, __u32 flags);
void face_close(struct runner *r, __u32 index);
int face_destroy(struct runner *r, __u32 index);
/* Give it the name of the other one, whose place it takes. */
int face_rename(struct runner *r, __u32 index);
int face_put(struct runner *r, __u32 index, const struct world_bytes *key,
	     const struct world_bytes *value, const struct world_bytes *expect);
int face_del(struct runner *r, __u32 index, const struct world_bytes *key);
/* Operations as struct wort_batch_op, answers as struct wort_batch_result. */
int face_batch(struct runner *r, __u32 index, __u32 nr, const void *ops,
	       __u32 len, void *results, __u32 size);
/* Operations as struct wort_atomic_op: index 0 is that with this number, 1 the other. */
int face_atomic(struct runner *r, __u32 index, __u32 nr, const void *ops, __u32 len);
/*
 * What fails from now on, once: FAIL_MEMORY(), FAIL_SPACE(), or 0: nothing.  False if what
 * was to fail before has not come, or if the face cannot make anything fail.
 */
bool face_fail(struct runner *r, __u32 what);
int face_lookup(struct runner *r, __u32 index, const struct world_bytes *key,
		void *buf, __u32 size, __u32 *len);
int face_scan(struct runner *r, __u32 index, __u32 flags, void *buf,
	      __u32 size, __u32 *len);
/* Records in the index with that name. */
int face_count(struct runner *r, const char *name, __u64 *count);

/* The name of an index. */
static inline const char *face_name(__u32 index)
{
	return index ? "b" : "a";
}

#endif
