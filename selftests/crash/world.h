/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a pool should hold, steps that change it, and pools to start from.
 */
#ifndef _WORT_CRASH_WORLD_H
#define _WORT_CRASH_WORLD_H

#include "../../kmod/pool/pool.h"
#include "trace.h"

#define NR_KEYS		10
#define NR_VALUES	8	/* 0: no record */
#define WORLD_VALUE_MAX	5120
#define NR_INDEXES	2	/* "a" and "b" */
#define MAX_STEPS	4

/**
 * struct world - What a pool holds
 * @pool: there is one
 * @damaged: it is read-only
 * @index: for "a" and "b": whether there is one, and the value of each key
 * @fillers: indexes with other names
 * @fill_records: records in the index "fill"
 */
struct world {
	bool pool;
	bool damaged;
	struct {
		bool present;
		u8 value[NR_KEYS];
	} index[NR_INDEXES];
	u32 fillers;
	u32 fill_records;
};

enum step_kind {
	STEP_PUT, STEP_DEL, STEP_CAS, STEP_CREATE, STEP_DESTROY, STEP_REATTACH,
	STEP_SETTLE, STEP_CHECK, STEP_DAMAGE, STEP_FORMAT, NR_STEP_KINDS,
};

struct step {
	u8 kind;
	u8 index;
	u8 key;
	u8 value;
};

/* A pool being worked on. */
struct runner {
	struct wort_region region;
	struct wort_pool *pool;
	struct wort_index *index[NR_INDEXES];
};

/* A pool to start from. */
struct start {
	const char *name;
	u8 *image;
	struct world world;
	bool unsettled;		/* the walk has not run when steps begin */
	const struct step *steps;
	u32 nr_steps;
};

extern const struct wort_key world_keys[NR_KEYS];
u32 world_value(u32 key, u32 value, u8 *buf);

/* Attach and open what there is; 0 or a negative errno. */
int runner_attach(struct runner *r);
void runner_detach(struct runner *r);
/* Do a step and record its effect; NULL, or what went wrong. */
const char *runner_step(struct runner *r, struct world *w,
			const struct step *step);
/* Compare all that is there; NULL, or what differs. */
const char *runner_compare(struct runner *r, const struct world *w);

void step_print(const struct step *step, char *buf, size_t size);
bool step_parse(const char *text, struct step *step);

u32 starts_make(struct tracer *t, struct start **out);

#endif
