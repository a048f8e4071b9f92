/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One turn of all peers with one workload.
 */
#ifndef _WORT_BENCH_RUN_H
#define _WORT_BENCH_RUN_H

#include <stdbool.h>

#include "keys.h"
#include "peer.h"

/**
 * struct sample - What one operation took in one turn
 * @peer: index of the peer
 * @op: index of the operation
 * @turn: from 0
 * @nr: operations
 * @ns: for one of them
 * @counts: for all of them
 * @misses: of the last level cache, for all of them; negative: not known
 * @bytes: in use after it
 * @latency: with latencies: half, 99 and 99.9 percent were not slower, in ns
 */
struct sample {
	unsigned int peer, op, turn;
	uint64_t nr;
	double ns;
	struct bench_counts counts;
	double misses;
	size_t bytes;
	double latency[3];
};

#define BENCH_MAX_OPS	19

/**
 * struct bench_op - What is measured
 * @name: a word
 * @what: what it does, for the reader
 * @fills: it begins with an empty index
 */
struct bench_op {
	const char *name;
	const char *what;
	bool fills;
};

/* In the order in which they are measured; ends with one without a name. */
extern const struct bench_op bench_ops[BENCH_MAX_OPS];

/* What the scans of the first peer came by. */
struct seen {
	bool any;
	uint64_t sum, visited;
};

enum choice { CHOICE_USUAL, CHOICE_ZIPFIAN, CHOICE_UNIFORM, CHOICE_LATEST };

/**
 * struct plan - What a turn consists of
 * @keys: to load, and more
 * @again: those to load in another order
 * @ops: a bit for each of bench_ops
 * @choice: how YCSB picks keys
 * @latencies: take the time of each operation, too
 * @seed: of what is random
 * @turn: from 0
 * @peers: all of them
 * @nr_peers: how many
 * @beside: they are all open at once, and others run after so many operations of one,
 *	or keys of scans; 0: one after the other
 * @seen: for each of bench_ops
 * @done: takes a sample
 */
struct plan {
	const struct keys *keys;
	const struct keys *again;
	uint32_t ops;
	enum choice choice;
	bool latencies;
	uint64_t seed;
	unsigned int turn;
	const struct bench_peer *const *peers;
	unsigned int nr_peers;
	uint64_t beside;
	struct seen *seen;
	void (*done)(const struct sample *sample);
};

/*
 * Ends the program with a message if a peer fails or gives a wrong answer.  @envs: what
 * is in @env for all, or for each while it runs if they are beside each other.
 */
void run_turn(const struct plan *plan, struct bench_env *env, struct bench_env *envs);

/* By which clock are all peers measured?  Else by that of the thread. */
bool run_by_wall_clock(const struct plan *plan);

/* How long a tick of the time stamp counter is. */
double run_ns_per_tick(void);

#endif
