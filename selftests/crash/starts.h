/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pools to start from.
 */
#ifndef _WORT_CRASH_STARTS_H
#define _WORT_CRASH_STARTS_H

#include "face_pool.h"
#include "trace.h"

/* A pool to start from. */
struct start {
	const char *name;
	u8 *image;
	u64 hash;		/* of it */
	struct world world;
	bool unsettled;		/* the walk has not run when steps begin */
	const struct step *steps;
	u32 nr_steps;
};

u32 starts_make(struct tracer *t, struct start **out);
/* For programs that read struct world_start. */
int starts_write(const struct start *starts, u32 nr, const char *path);

#endif
