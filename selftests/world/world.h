/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a pool should hold, and steps that change it: the words in which the
 * crash explorer and the sweep of power cuts in the kernel speak, and their
 * judge.  How the steps reach a pool is in face.h.
 */
#ifndef _WORT_TEST_WORLD_H
#define _WORT_TEST_WORLD_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>

#define WORLD_SIZE	(256 << 10)	/* bytes of a pool, the smallest */

#define NR_KEYS		11
#define NR_SCANNED	(NR_KEYS + 1)
#define NR_VALUES	8	/* 0: no record */
#define WORLD_VALUE_MAX	5120
#define NR_INDEXES	2	/* "a" and "b" */
#define MAX_STEPS	5
#define NR_BATCHES	12
#define BATCH_STEPS	4
#define NR_ATOMICS	8
#define MAX_WORLDS	(2 + (1 << BATCH_STEPS))

struct runner;

/* A key or a value. */
struct world_bytes {
	const void *data;
	__u32 len;
};

/**
 * struct world - What a pool holds
 * @pool: there is one
 * @damaged: it is read-only
 * @index: for "a" and "b": whether there is one, the value of each key, how many records of
 *	the crowd it holds, and whether these are pairs
 * @fillers: indexes with other names
 * @fill_records: records in the index "fill"
 */
struct world {
	bool pool;
	bool damaged;
	struct {
		bool present;
		__u8 value[NR_KEYS];
		__u8 crowd;
		bool pairs;
	} index[NR_INDEXES];
	__u32 fillers;
	__u32 fill_records;
};

enum step_kind {
	STEP_PUT, STEP_DEL, STEP_CAS, STEP_BATCH, STEP_CREATE, STEP_DESTROY, STEP_REATTACH,
	STEP_SETTLE, STEP_CHECK, STEP_DAMAGE, STEP_FORMAT, STEP_GET,
	STEP_LOOK,		/* as STEP_GET, in a mapping */
	STEP_MOVE,		/* delete; when that is given back, put another key */
	STEP_SCAN,		/* of all; with a value: from the last key on */
	STEP_ATOMIC,		/* an atomic batch */
	STEP_ATTACH,		/* only the first: the attach before it, which may store */
	STEP_RENAME,		/* the index gets the name of the other one */
	STEP_CROWD,		/* so many records, which no step changes: of starts only */
	STEP_EXCHANGE,		/* put, and fetch what was there: beside others only */
	STEP_DEL_IF,		/* delete, if the value is that of the start: the same */
	STEP_HOLD,		/* hold the pool and read all of the index: the same */
	NR_STEP_KINDS,
};

struct step {
	__u8 kind;
	__u8 index;
	__u8 key;		/* of a batch, atomic or not, its number; of a crowd its size */
	__u8 value;		/* of an atomic batch: what fails in it; of a crowd: in pairs */
};

/* The nth allocation of DRAM, or the nth reservation of space, both from 1 on. */
#define FAIL_MEMORY(nth)	(nth)
#define FAIL_SPACE(nth)		(FAIL_MAX + (nth))
#define FAIL_MAX		100

/* Changes in one call, of the index of the step. */
struct world_batch {
	__u32 nr;
	struct step step[BATCH_STEPS];
};

extern const struct world_batch world_batches[NR_BATCHES];
/* Changes of all or none, each of its own index; STEP_GET: the key has to be there. */
extern const struct world_batch world_atomics[NR_ATOMICS];

/**
 * struct world_engine - The engine of the indexes that steps create
 * @id: its number; 0: the default
 * @attr: attribute word
 * @traits: WORT_TRAIT_*: scans are in order, and a delete may need space
 */
struct world_engine {
	__u32 id;
	__u32 traits;
	__u64 attr;
};

extern struct world_engine world_engine;
/* That of the index "b", if it is another one: its id is not 0. */
extern struct world_engine world_engine_b;

/* The engine of an index. */
static inline const struct world_engine *world_engine_of(__u32 index)
{
	return index && world_engine_b.id ? &world_engine_b : &world_engine;
}

/**
 * struct world_start - A pool to start from, in a file of them
 * @name: for people
 * @world: what it holds
 * @engine: the engine of its indexes
 * @engine_b: that of "b", if it is another one
 * @unsettled: steps begin while the walk has not ended
 * @nr_steps: number of @steps
 * @steps: each of them alone is worth a try
 * @image: the pool
 */
struct world_start {
	char name[40];
	struct world world;
	struct world_engine engine;
	struct world_engine engine_b;
	__u32 unsettled;
	__u32 nr_steps;
	struct step steps[64];
	__u8 image[WORLD_SIZE];
};

extern const struct world_bytes world_keys[NR_KEYS];
__u32 world_value(__u32 key, __u32 value, __u8 *buf);

/* The number of a value; -1 if it is none. */
int world_value_number(__u32 key, const __u8 *value, __u32 len);

/* Attach and open what there is; 0 or a negative errno. */
int runner_attach(struct runner *r);
void runner_detach(struct runner *r);
/* Do a step and record its effect; NULL, or what went wrong. */
const char *runner_step(struct runner *r, struct world *w,
			const struct step *step);
/* Carry out a batch; what each of its changes answers. */
int runner_batch(struct runner *r, const struct step *step, int *errs);
/* Carry out an atomic batch; its result. */
int runner_atomic(struct runner *r, const struct step *step);
/* Its effect on a world, all or none; what it has to return. */
int world_apply_atomic(struct world *w, const struct step *step);
/* The number of each key's value, 0: none.  NULL, or what went wrong. */
const char *runner_scan(struct runner *r, __u32 index, bool reverse,
			int values[NR_SCANNED]);
/*
 * What may be there if the power goes within a step: all or nothing, or any of
 * the changes of a batch.  How many, at most MAX_WORLDS.
 */
__u32 world_within(const struct world *before, const struct world *after,
		   const struct step *step, struct world *out);
/* Compare all that is there; NULL, or what differs. */
const char *runner_compare(struct runner *r, const struct world *w);
/* Go on from a pool that was left in any state; NULL, or what went wrong. */
const char *runner_go_on(struct runner *r, struct world *w);
/* Is each byte owned once, free or being freed?  NULL, or what is wrong. */
const char *runner_check(struct runner *r, bool clear);

const char *step_name(const struct step *step);
void step_print(const struct step *step, char *buf, size_t size);
bool step_parse(const char *text, struct step *step);

#endif
