/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Processes that change a pool as fast as they can, and a ledger of what they
 * asked for and what was acknowledged.  Whatever happens to pool, module or
 * machine meanwhile: the ledger says what has to be there afterwards.
 *
 * A key has versions: odd ones are there, with a value that key and version
 * determine, even ones are not there.  A worker writes the version that it
 * wants to @sent, asks, and writes it to @acked when the call has returned 0.
 * So each key is of version @acked, or of version @sent if the call was under
 * way; after a call that failed @sent is taken back, since nothing was
 * changed.  Each worker has keys and names of its own, between those of the
 * others.
 */
#ifndef _LOAD_H
#define _LOAD_H

#include "../kselftest/wort_test.h"

#define LOAD_WORKERS	4
#define LOAD_INDEXES	3
#define LOAD_KEYS	4096	/* of a worker in an index */
#define LOAD_TEMPS	4	/* short-lived indexes of a worker */
#define LOAD_KEY_MAX	64

/* Keys in use: LOAD_KEYS, or another power of two below. */
extern uint32_t load_nr_keys;

struct load_word {
	uint64_t sent;
	uint64_t acked;
};

/* Of @exists odd versions are there; keys 0, 1, ... are filled in. */
struct load_temp {
	struct load_word exists;
	struct load_word filled;
};

enum load_phase {
	LOAD_BOOTING,
	LOAD_ATTACHED,
	LOAD_LOADING,
	LOAD_DONE,
};

enum load_format {
	LOAD_FORMATTING,	/* not acknowledged yet */
	LOAD_EMPTY,		/* acknowledged: what the ledger says is old */
	LOAD_FORMATTED,
};

/* What load_verify() found. */
struct load_found {
	uint64_t records;
	uint64_t done;		/* not acknowledged and done */
	uint64_t undone;	/* not acknowledged and not done */
	uint64_t lost;		/* answered EIO, where that is legal */
	uint64_t wrong;
};

/* The host reads the first eight words, @found and @redone: see kills.py. */
struct load {
	uint64_t phase;
	uint64_t format;
	uint64_t walking;	/* verified while the walk was under way */
	uint64_t formats;
	uint64_t ops[LOAD_WORKERS];
	struct load_found found;
	uint64_t redone;	/* atomic batches that attach has carried out */
	struct load_word transfers;	/* made: see transfers.h */
	struct load_word exists[LOAD_INDEXES];
	struct load_temp temps[LOAD_WORKERS][LOAD_TEMPS];
	struct load_word keys[LOAD_INDEXES][LOAD_WORKERS][LOAD_KEYS];
};

enum load_style {
	LOAD_RECORDS,		/* now and then create and destroy */
	LOAD_CATALOGUE,		/* mostly that */
};

/* A worker; @lossy: EIO is legal and leaves a key as it was. */
struct load_worker {
	struct load *load;
	int number;
	enum load_style style;
	bool lossy;
	uint64_t seed;
	int pool;
	int index[LOAD_INDEXES];
};

uint64_t load_random(uint64_t *seed);
void load_store(uint64_t *word, uint64_t val);
uint64_t load_fetch(const uint64_t *word);

/* Make the indexes that are not there yet.  0 or a negative errno. */
int load_create(struct load *load, int pool);

/* Open them; then work until something fails, and say with what. */
int load_work(struct load_worker *worker);

/* Some steps only.  0, or how one failed. */
int load_steps(struct load_worker *worker, uint64_t nr);

/*
 * Hold the pool against the ledger; @found says what there was, and what is
 * wrong is printed.  Afterwards the ledger says what was found.
 */
int load_verify(struct load *load, int pool, struct load_found *found);
int load_verify_lossy(struct load *load, int pool, struct load_found *found);

/* Forget all: the pool is empty. */
void load_reset(struct load *load);

#endif /* _LOAD_H */
