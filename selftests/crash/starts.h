/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pools to start from.
 */
#ifndef _WORT_CRASH_STARTS_H
#define _WORT_CRASH_STARTS_H

#include "../engines/starts.h"
#include "face_pool.h"
#include "trace.h"

/* A pool to start from. */
struct start {
	const char *name;
	u8 *image;
	u64 hash;		/* of it */
	struct world world;
	bool unsettled;		/* the walk has not run when steps begin */
	u32 max_len;		/* longest sequence of steps, none beside each other; or 0 */
	const struct test_engine *engine;	/* of its indexes */
	u64 attr;
	const struct test_engine *engine_b;	/* of "b", if it is another one */
	const __u32 *sizes;	/* as in struct engine_starts */
	bool (*shares)(const struct wort_tree *tree, const void *at);	/* likewise */
	const struct step *steps;
	u32 nr_steps;
};

#define MAX_STARTS	512

/* Those of all engines, or of one; the pools of no engine are made with the first. */
u32 starts_make(struct tracer *t, const struct test_engine *only,
		struct start **out);
/* Is there an index "a", and without records? */
bool start_is_empty(const struct start *s);
/* Steps from now on create indexes of its engine. */
void start_use(const struct start *s);
/* For programs that read struct world_start. */
int starts_write(const struct start *starts, u32 nr, const char *path);

#endif
