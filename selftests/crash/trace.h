/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every load and store of the portable layers, and the memory model.
 *
 * The layers are compiled with -fsanitize=thread and linked against the hooks
 * in trace.c instead of the sanitizer's: whatever touches the memory of a pool
 * is seen, also what bypasses the primitives.
 */
#ifndef _WORT_CRASH_TRACE_H
#define _WORT_CRASH_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

#include "sched.h"

#define IMAGE_SIZE	(256u << 10)
#define IMAGE_WORDS	(IMAGE_SIZE / 8)
#define IMAGE_LINES	(IMAGE_SIZE / 64)
#define IMAGE_PARTS	64

enum memory_model {
	MODEL_X86,	/* per line a prefix of its stores */
	MODEL_ARM64,	/* per word a prefix; a release orders within its line */
	MODEL_EADR,	/* a prefix of all stores */
	NR_MODELS,
};

enum event_kind {
	EVENT_STORE, EVENT_FLUSH, EVENT_FENCE,
	EVENT_SEEN,	/* eADR: a store that another thread has made was loaded */
};

/* What a traced program did to the memory. */
struct event {
	uint8_t kind;
	bool release;
	uint8_t thread;		/* that did it, of sched_thread() */
	uint32_t word;		/* store: which; flush: first word; seen: event of the store */
	uint32_t nr_lines;	/* flush */
	uint64_t val;		/* store: value of the word afterwards */
	void *site;		/* store, flush, fence: return address */
};

enum trace_mode {
	TRACE_OFF,
	TRACE_RECORD,	/* stores, flushes and fences become events */
	TRACE_RUN,	/* what is read is chosen; what is written is undone */
};

#define NR_TRACERS	2

#define MAX_EVENTS	65536
#define MAX_CHOICES	4096

#define STORED_MAX		1024	/* more than an attach and a walk store */
#define TOUCHES		63	/* between two that the hash is kept of */
#define TOUCH_STORE	0x8000	/* of a touch: no load; the rest is the word */

/* A unit of memory whose content after the crash is a choice. */
struct choice {
	uint32_t unit;
	uint16_t taken;
	uint16_t options;
};

/*
 * A traced memory.  While events are advanced @mem holds what surely survives;
 * @order is what may or may not: indexes of stores in @events.
 */
struct tracer {
	uint8_t *mem;
	enum trace_mode mode;
	enum memory_model model;

	struct event *events;
	uint32_t nr_events;
	uint32_t *last_store;	/* per word: its last event + 1, or 0 */
	uint32_t seen;		/* eADR: stores before this event are visible to all threads */

	/* the model's view, advanced by tracer_advance() */
	uint32_t *order;	/* pending stores in program order */
	uint32_t nr_order;
	uint32_t *flushed_at[SCHED_THREADS + 1];	/* by it, per line: up to which event */
	uint32_t *unit_pending;	/* per unit: stores in @order */
	uint64_t durable;	/* hash of @mem */
	const uint8_t *image;	/* that was loaded */
	uint64_t image_hash;
	uint64_t dirty;		/* a bit per part of @mem that may differ from it */

	/* one run after a crash */
	struct choice choices[MAX_CHOICES];
	uint32_t nr_choices;	/* prescribed */
	uint32_t at_choice;	/* met so far */
	uint32_t eadr_min, eadr_max;
	uint32_t stamp;
	uint32_t *read_stamp;	/* per word */
	uint32_t *unit_stamp;	/* per unit */
	uint32_t *unit_taken;	/* per unit: option in this run */
	uint32_t *write_stamp;	/* per word: saved for undo */
	struct { uint32_t word; uint64_t val; } *undo;
	uint32_t nr_undo;
	uint64_t hash;		/* of the words read first */
	uint64_t nr_stores;	/* in this run */
	uint32_t stored[STORED_MAX];	/* the words of the first ones */
	uint16_t *touches;	/* words as they were touched first, while @hashing */
	uint32_t nr_touches;
	uint64_t *hash_at;	/* before each of TOUCHES */
	uint32_t *settled;	/* units that had something open */
	uint32_t nr_settled;
	uint32_t *over_stamp;	/* per word: written before its unit was settled */
	uint32_t *over;		/* these words */
	uint32_t nr_over;
	bool hashing;		/* recovery and oracle read; later, life goes on */
};

/* How far a run has come. */
struct tracer_mark {
	uint32_t nr_choices, at_choice, eadr_min, eadr_max, nr_undo, nr_settled, nr_over;
	uint64_t hash;
};

/* The memory of a second tracer follows that of the first. */
void tracer_init(struct tracer *t, uint8_t *mem);
/* A sum over its words, so that one that changes can be exchanged in it. */
uint64_t tracer_hash(const uint8_t *image);
/* The memory is an image, with that hash; what was changed since is copied. */
void tracer_load(struct tracer *t, const uint8_t *image, uint64_t hash);
/* Hash of what a power cut now can leave: what is durable, and what may be. */
uint64_t tracer_point(const struct tracer *t);
/* Hash of all events, in their order. */
uint64_t tracer_events_hash(const struct tracer *t);
/* All of memory is durable; nothing is pending; no events. */
void tracer_reset(struct tracer *t, enum memory_model model);
void tracer_record(struct tracer *t);
void tracer_stop(struct tracer *t);
/* Events so far. */
uint32_t tracer_events(struct tracer *t);
/*
 * Let the model see the next event, from the first on.  The caller has put the
 * memory back to what it was before; a fence makes durable what was flushed.
 */
void tracer_advance(struct tracer *t, uint32_t event);

/*
 * A program runs on what a crash now could have left, by the choices taken.
 * When @hashing ends, what is still open is settled somehow: no further choice.
 */
void tracer_run_begin(struct tracer *t);
/* The same, with choices that a number determines. */
void tracer_run_random(struct tracer *t, uint64_t seed);
/* Undo all; memory is again as it was before tracer_run_begin(). */
void tracer_run_end(struct tracer *t);
/* What a run does to choices and hash when it touches a word first, without it. */
void tracer_touch(struct tracer *t, uint16_t touch);
void tracer_mark(const struct tracer *t, struct tracer_mark *mark);
/* Take back what was touched since. */
void tracer_back(struct tracer *t, const struct tracer_mark *mark);
/*
 * What the crash had left as the last run, which has ended, saw it.  What that did not look
 * at is all durable or all lost, by the run's hash.  Returns the hash of the image.
 */
uint64_t tracer_left(const struct tracer *t, uint8_t *image);
/* Prescribe the next combination of choices; false after the last. */
bool tracer_next(struct tracer *t);
/* Did this run find a pending store durable? -1: it was not read. */
int tracer_persisted(struct tracer *t, uint32_t event);

/*
 * Is an address in DRAM shared by threads, which may take turns before each volatile access
 * to it?  NULL: none is.
 */
extern bool (*trace_shared)(const void *at);

#endif
