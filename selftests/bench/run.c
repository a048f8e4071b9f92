// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations of a turn.  What is random is drawn before the clock runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "misses.h"
#include "pmpool.h"
#include "relay.h"
#include "run.h"
#include "zipf.h"

#define MANY		64	/* operations of a batch */
#define VERIFIED	1000	/* keys that are looked up behind what changes them */

enum {
	OP_INSERT, OP_LOOKUP, OP_MISS, OP_LOOKUP_MANY, OP_SCAN_10, OP_SCAN_100,
	OP_SCAN_1000, OP_YCSB_A, OP_YCSB_B, OP_YCSB_C, OP_YCSB_D, OP_YCSB_E,
	OP_YCSB_F, OP_UPDATE, OP_MOVE, OP_MOVE_APART, OP_DELETE, OP_INSERT_MANY,
};

const struct bench_op bench_ops[BENCH_MAX_OPS] = {
	[OP_INSERT] = { "insert", "keys into an empty index", true },
	[OP_LOOKUP] = { "lookup", "all keys, in another order" },
	[OP_MISS] = { "miss", "lookups of a tenth as many keys that are not there" },
	[OP_LOOKUP_MANY] = { "lookup-64", "as lookup, 64 in a batch" },
	[OP_SCAN_10] = { "scan-10", "10 keys from a random one on; per key" },
	[OP_SCAN_100] = { "scan-100", "100 keys; per key" },
	[OP_SCAN_1000] = { "scan-1000", "1000 keys; per key" },
	[OP_YCSB_A] = { "ycsb-a", "half lookups, half updates" },
	[OP_YCSB_B] = { "ycsb-b", "95 % lookups, 5 % updates" },
	[OP_YCSB_C] = { "ycsb-c", "lookups" },
	[OP_YCSB_D] = { "ycsb-d", "95 % lookups of late keys, 5 % inserts" },
	[OP_YCSB_E] = { "ycsb-e", "95 % scans of 1 to 100 keys, 5 % inserts" },
	[OP_YCSB_F] = { "ycsb-f", "half lookups, half lookups with an update" },
	[OP_UPDATE] = { "update", "all values, in another order" },
	[OP_MOVE] = { "move", "all keys into a second index, and back: all or none" },
	[OP_MOVE_APART] = { "move-2", "the same by an insert and a delete" },
	[OP_DELETE] = { "delete", "all keys, in another order" },
	[OP_INSERT_MANY] = { "insert-64", "as insert, 64 in a batch", true },
	{ }
};

/* A turn at work. */
struct run {
	const struct plan *plan;
	const struct bench_peer *peer;
	unsigned int peer_nr;
	void *handle;
	struct bench_env *env;
	struct bench_env own;	/* what is in @env while others run */
	uint64_t nr_used;	/* of the keys behind those to load */
	uint32_t *ticks;	/* of each operation, at most UINT32_MAX; or NULL */
	double ns_per_tick;

	double begin;		/* of what is timed since others ran last */
	double ns, misses;	/* before that */
	struct bench_counts before;
};

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* Only times by the same clock can be compared. */
bool run_by_wall_clock(const struct plan *plan)
{
	unsigned int i;

	for (i = 0; i < plan->nr_peers; i++)
		if (plan->peers[i]->by_wall_clock)
			return true;
	return false;
}

static double clock_of(const struct run *run)
{
	return now(run_by_wall_clock(run->plan) ? CLOCK_MONOTONIC :
		   CLOCK_THREAD_CPUTIME_ID);
}

static void count(const struct run *run, struct bench_counts *counts)
{
	*counts = run->env->counts;
	if (run->peer->count)
		run->peer->count(run->handle, counts);
}

static void timed_resume(struct run *run)
{
	misses_begin();
	run->begin = clock_of(run);
}

static void timed_pause(struct run *run)
{
	run->ns += clock_of(run) - run->begin;
	run->misses += misses_end();
}

/* Let others run.  Peers keep the address of the env, so it is what is in it that changes. */
static void let_others(struct run *run, void (*how)(void))
{
	if (!run->plan->beside)
		return;
	run->own = *run->env;
	how();
	*run->env = run->own;
}

static void timed_begin(struct run *run)
{
	count(run, &run->before);
	run->ns = run->misses = 0;
	timed_resume(run);
}

static int by_ticks(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void add_latencies(const struct run *run, struct sample *sample)
{
	static const double shares[] = { 0.5, 0.99, 0.999 };
	unsigned int i;

	if (!run->ticks || sample->nr > run->plan->keys->nr)
		return;
	qsort(run->ticks, sample->nr, sizeof(*run->ticks), by_ticks);
	for (i = 0; i < 3; i++)
		sample->latency[i] = run->ns_per_tick *
			run->ticks[(uint64_t)(sample->nr * shares[i])];
}

/*
 * The clock runs until the peer has done what it does in the background.
 * @each: the time of every operation was taken.
 */
static void timed_end(struct run *run, unsigned int op, uint64_t nr, bool each)
{
	struct sample sample = {
		.peer = run->peer_nr, .op = op, .turn = run->plan->turn, .nr = nr,
	};
	struct bench_counts *n = &sample.counts;

	if (run->peer->settle)
		run->peer->settle(run->handle);
	timed_pause(run);
	misses_profile(bench_ops[op].name);
	sample.ns = run->ns / nr;
	sample.misses = run->misses;
	count(run, n);
	n->lines -= run->before.lines;
	n->fences -= run->before.fences;
	n->ordering_points -= run->before.ordering_points;
	n->stores -= run->before.stores;
	n->loads -= run->before.loads;
	n->nodes -= run->before.nodes;
	sample.bytes = run->peer->bytes(run->handle);
	if (each)
		add_latencies(run, &sample);
	run->plan->done(&sample);
}

static void fail(const struct run *run, const char *what)
{
	die("%s: %s", run->peer->name, what);
}

static void store_one(const struct run *run, const struct keys *keys,
		      uint64_t i)
{
	struct key key = key_at(keys, i);
	int err = run->peer->insert(run->handle, key.bytes, key.len,
				    keys->values[i]);

	if (err)
		die("%s: an insert fails (%d), of a key of %zu bytes",
		    run->peer->name, err, key.len);
}

static void lookup_one(const struct run *run, const struct keys *keys,
		       uint64_t i)
{
	struct key key = key_at(keys, i);
	uint64_t value = 0;

	if (run->peer->lookup(run->handle, key.bytes, key.len, &value) ||
	    value != keys->values[i])
		fail(run, "a lookup gives another value");
}

static uint64_t same(uint64_t value)
{
	return value;
}

/* What an update stores: another value. */
static uint64_t updated(uint64_t value)
{
	return ~value;
}

static void update_one(const struct run *run, const struct keys *keys, uint64_t i)
{
	struct key key = key_at(keys, i);

	if (run->peer->insert(run->handle, key.bytes, key.len, updated(keys->values[i])))
		fail(run, "an update fails");
}

/* Some of the keys, beside the clock: have they this value, or with NULL none? */
static void verify(const struct run *run, uint64_t (*expected)(uint64_t value))
{
	const struct keys *keys = run->plan->keys;
	uint64_t step = max_t(uint64_t, keys->nr / VERIFIED, 1), i, value;
	struct key key;
	int err;

	for (i = 0; run->peer->lookup && i < keys->nr; i += step) {
		key = key_at(keys, i);
		value = 0;
		err = run->peer->lookup(run->handle, key.bytes, key.len, &value);
		if (!!err != !expected || (!err && value != expected(keys->values[i])))
			fail(run, "a key is not as it was left");
	}
}

static void miss_one(const struct run *run, const struct keys *keys,
		     uint64_t i)
{
	struct key key = key_at(keys, i);
	uint64_t value;

	if (!run->peer->lookup(run->handle, key.bytes, key.len, &value))
		fail(run, "a lookup finds what is not there");
}

static void remove_one(const struct run *run, const struct keys *keys,
		       uint64_t i)
{
	struct key key = key_at(keys, i);

	if (run->peer->remove(run->handle, key.bytes, key.len))
		fail(run, "a delete fails");
}

static void move_one(const struct run *run, const struct keys *keys, uint64_t i,
		     int apart)
{
	int back = i >= keys->nr;
	struct key key = key_at(keys, i % keys->nr);

	if (run->peer->move(run->handle, key.bytes, key.len,
			    keys->values[i % keys->nr], back, apart))
		fail(run, "a move fails");
}

/*
 * Up to which of @nr operations this peer goes on, having done @done; others have run
 * before.  @keys: that one takes.
 */
static uint64_t next_stop(struct run *run, uint64_t done, uint64_t nr, size_t keys)
{
	uint64_t step = run->plan->beside ? run->plan->beside / keys : nr;

	if (done) {
		timed_pause(run);
		let_others(run, relay_pass);
		timed_resume(run);
	}
	return min_t(uint64_t, nr, done + max_t(uint64_t, step, 1));
}

/* Call @_call for each i below @_nr, taking the time of each if asked for. */
#define for_each_timed(_run, _i, _nr, _call)				\
	for (_i = 0; _i < (_nr);) {					\
		uint64_t _stop = next_stop(_run, _i, _nr, 1), _begin;	\
									\
		if (!(_run)->ticks)					\
			for (; _i < _stop; _i++)			\
				_call;					\
		for (; _i < _stop; _i++) {				\
			_begin = bench_ticks();				\
			_call;						\
			(_run)->ticks[_i] = min_t(uint64_t, UINT32_MAX,	\
						  bench_ticks() - _begin); \
		}							\
	}

/* Inline, so that @one is called directly. */
static __always_inline void op_each(struct run *run, unsigned int op,
				    const struct keys *keys,
				    void (*one)(const struct run *run,
						const struct keys *keys,
						uint64_t i))
{
	uint64_t i;

	timed_begin(run);
	for_each_timed(run, i, keys->nr, one(run, keys, i));
	timed_end(run, op, keys->nr, true);
}

static void op_miss(struct run *run)
{
	const struct keys *keys = run->plan->keys;
	uint64_t i;

	timed_begin(run);
	for_each_timed(run, i, keys->more, miss_one(run, keys, keys->nr + i));
	timed_end(run, OP_MISS, keys->more, true);
}

/* There and back again, so that what comes later finds all keys. */
static void op_move(struct run *run, unsigned int op)
{
	const struct keys *keys = run->plan->again;
	uint64_t nr = 2 * keys->nr, i = 0, stop;

	timed_begin(run);
	while (i < nr)
		for (stop = next_stop(run, i, nr, 1); i < stop; i++)
			move_one(run, keys, i, op == OP_MOVE_APART);
	timed_end(run, op, nr, false);
}

/* Up to MANY keys from @from on; returns how many. */
static size_t gather(const struct keys *keys, uint64_t from, const void **at,
		     size_t *lens)
{
	size_t nr = min_t(uint64_t, MANY, keys->nr - from), i;

	for (i = 0; i < nr; i++) {
		struct key key = key_at(keys, from + i);

		at[i] = key.bytes;
		lens[i] = key.len;
	}
	return nr;
}

static void op_insert_many(struct run *run)
{
	const struct keys *keys = run->plan->keys;
	const void *at[MANY];
	size_t lens[MANY], nr;
	uint64_t i, stop;

	timed_begin(run);
	for (i = 0; i < keys->nr;) {
		stop = next_stop(run, i, keys->nr, 1);
		for (; i < stop; i += nr) {
			nr = gather(keys, i, at, lens);
			if (run->peer->insert_many(run->handle, at, lens,
						   keys->values + i, nr))
				fail(run, "a batch of inserts fails");
		}
	}
	timed_end(run, OP_INSERT_MANY, keys->nr, false);
}

static void op_lookup_many(struct run *run)
{
	const struct keys *keys = run->plan->again;
	uint64_t i, stop, values[MANY];
	const void *at[MANY];
	size_t lens[MANY], nr;

	timed_begin(run);
	for (i = 0; i < keys->nr;) {
		stop = next_stop(run, i, keys->nr, 1);
		for (; i < stop; i += nr) {
			nr = gather(keys, i, at, lens);
			if (run->peer->lookup_many(run->handle, at, lens, values,
						   nr) ||
			    memcmp(values, keys->values + i, nr * sizeof(*values)))
				fail(run, "a batch of lookups gives another value");
		}
	}
	timed_end(run, OP_LOOKUP_MANY, keys->nr, false);
}

/* All peers have to come by the same values. */
static void compare(const struct run *run, unsigned int op, uint64_t sum,
		    uint64_t visited)
{
	struct seen *seen = &run->plan->seen[op];

	if (!seen->any)
		*seen = (struct seen){ true, sum, visited };
	if (seen->sum != sum || seen->visited != visited)
		fail(run, "scans find other keys than those of the first peer");
}

static void op_scan(struct run *run, unsigned int op, size_t len)
{
	const struct keys *keys = run->plan->again;
	uint64_t scans = max_t(uint64_t, keys->nr / len, 1);
	uint64_t i, stop, sum = 0, visited = 0;

	timed_begin(run);
	for (i = 0; i < scans;) {
		stop = next_stop(run, i, scans, len);
		for (; i < stop; i++) {
			struct key key = key_at(keys, i);

			visited += run->peer->scan(run->handle, key.bytes, key.len,
						   len, &sum);
		}
	}
	timed_end(run, op, visited ?: 1, false);
	compare(run, op, sum, visited);
}

/* ---- YCSB (Cooper et al., SoCC'10) ---- */

enum deed { LOOKUP, UPDATE, INSERT, SCAN, MODIFY };

/**
 * struct mix - A workload of YCSB
 * @often: what is done mostly
 * @rarely: what else
 * @percent: of @rarely
 * @latest: late keys are the most wanted
 * @share: of the number of keys that is done, in percent
 */
struct mix {
	enum deed often, rarely;
	unsigned int percent;
	bool latest;
	unsigned int share;
};

static const struct mix mixes[] = {
	[OP_YCSB_A] = { LOOKUP, UPDATE, 50, false, 100 },
	[OP_YCSB_B] = { LOOKUP, UPDATE, 5, false, 100 },
	[OP_YCSB_C] = { LOOKUP, LOOKUP, 0, false, 100 },
	[OP_YCSB_D] = { LOOKUP, INSERT, 5, true, 100 },
	[OP_YCSB_E] = { SCAN, INSERT, 5, false, 10 },
	[OP_YCSB_F] = { LOOKUP, MODIFY, 50, false, 100 },
};

struct step {
	uint8_t deed;
	uint8_t len;		/* of a scan, less one */
	uint64_t key;
};

/*
 * By Zipf's law a key is as wanted as it was before others were inserted: those
 * that the workload itself inserts are wanted by none.
 */
static uint64_t pick(const struct plan *plan, const struct mix *mix,
		     const struct zipf *zipf, uint64_t present, uint64_t *seed)
{
	enum choice choice = plan->choice;

	if (choice == CHOICE_USUAL)
		choice = mix->latest ? CHOICE_LATEST : CHOICE_ZIPFIAN;
	switch (choice) {
	case CHOICE_LATEST:
		return present - 1 - zipf_next(zipf, seed);
	case CHOICE_ZIPFIAN:
		return zipf_scatter(zipf_next(zipf, seed)) % plan->keys->nr;
	default:
		return test_random(seed) % present;
	}
}

static struct step *draw_steps(const struct run *run, const struct mix *mix,
			       uint64_t nr, uint64_t *inserts)
{
	uint64_t present = run->plan->keys->nr + run->nr_used, i;
	uint64_t seed = run->plan->seed;
	uint64_t left = run->plan->keys->more - run->nr_used;
	struct step *steps = malloc(nr * sizeof(*steps));
	struct zipf zipf;

	if (!steps)
		die("no memory");
	zipf_init(&zipf, run->plan->keys->nr);
	for (i = 0; i < nr; i++) {
		bool rare = test_random(&seed) % 100 < mix->percent;

		steps[i].deed = rare ? mix->rarely : mix->often;
		steps[i].len = test_random(&seed) % 100;
		if (steps[i].deed == INSERT && !left)
			steps[i].deed = mix->often;
		if (steps[i].deed == INSERT) {
			steps[i].key = present++;
			left--;
		} else {
			steps[i].key = pick(run->plan, mix, &zipf, present,
					    &seed);
		}
	}
	*inserts = present - run->plan->keys->nr - run->nr_used;
	return steps;
}

static void do_step(const struct run *run, const struct step *step,
		    uint64_t *sum)
{
	const struct keys *keys = run->plan->keys;
	struct key key;

	switch (step->deed) {
	case LOOKUP:
		lookup_one(run, keys, step->key);
		break;
	case MODIFY:
		lookup_one(run, keys, step->key);
		store_one(run, keys, step->key);
		break;
	case SCAN:
		key = key_at(keys, step->key);
		run->peer->scan(run->handle, key.bytes, key.len, step->len + 1,
				sum);
		break;
	default:
		store_one(run, keys, step->key);
	}
}

static void op_ycsb(struct run *run, unsigned int op)
{
	const struct mix *mix = &mixes[op];
	uint64_t nr = max_t(uint64_t,
			    run->plan->keys->nr * mix->share / 100, 1);
	uint64_t i, inserts, sum = 0;
	struct step *steps;

	if (!run->peer->lookup || (mix->often == SCAN && !run->peer->scan))
		return;
	steps = draw_steps(run, mix, nr, &inserts);
	timed_begin(run);
	for_each_timed(run, i, nr, do_step(run, &steps[i], &sum));
	timed_end(run, op, nr, true);
	run->nr_used += inserts;
	free(steps);
	compare(run, op, sum, 0);
}

/* ---- a turn ---- */

/* Peers beside each other begin an operation together. */
static bool wanted(struct run *run, unsigned int op, const void *can)
{
	if (!(run->plan->ops & 1U << op))
		return false;
	let_others(run, relay_meet);
	return can;
}

static void peer_open(struct run *run)
{
	struct bench_env *env = run->env;

	memset(env->memory, 0, env->used);
	env->used = 0;
	env->fenced = 0;
	env->counts = (struct bench_counts){ };
	run->nr_used = 0;
	run->handle = run->peer->open(env);
	if (!run->handle)
		fail(run, "does not open");
}

/* Deletes come last: they leave nothing behind. */
static void run_loaded(struct run *run)
{
	const struct bench_peer *peer = run->peer;
	unsigned int op;

	peer_open(run);
	let_others(run, relay_meet);
	op_each(run, OP_INSERT, run->plan->keys, store_one);
	if (wanted(run, OP_LOOKUP, peer->lookup))
		op_each(run, OP_LOOKUP, run->plan->again, lookup_one);
	if (wanted(run, OP_MISS, peer->lookup) && run->plan->keys->more)
		op_miss(run);
	if (wanted(run, OP_LOOKUP_MANY, peer->lookup_many))
		op_lookup_many(run);
	if (wanted(run, OP_SCAN_10, peer->scan))
		op_scan(run, OP_SCAN_10, 10);
	if (wanted(run, OP_SCAN_100, peer->scan))
		op_scan(run, OP_SCAN_100, 100);
	if (wanted(run, OP_SCAN_1000, peer->scan))
		op_scan(run, OP_SCAN_1000, 1000);
	for (op = OP_YCSB_A; op <= OP_YCSB_F; op++)
		if (wanted(run, op, peer->lookup))
			op_ycsb(run, op);
	for (op = OP_MOVE; op <= OP_MOVE_APART; op++)
		if (wanted(run, op, peer->move)) {
			op_move(run, op);
			verify(run, same);
		}
	if (wanted(run, OP_UPDATE, peer->lookup)) {
		op_each(run, OP_UPDATE, run->plan->again, update_one);
		verify(run, updated);
	}
	if (wanted(run, OP_DELETE, peer->remove)) {
		op_each(run, OP_DELETE, run->plan->again, remove_one);
		verify(run, NULL);
	}
	peer->close(run->handle);
}

double run_ns_per_tick(void)
{
	double begin = now(CLOCK_MONOTONIC), end;
	uint64_t ticks = bench_ticks();

	do {
		end = now(CLOCK_MONOTONIC);
	} while (end - begin < 1e7);
	ticks = bench_ticks() - ticks;
	return ticks ? (end - begin) / ticks : 0;
}

static void run_peer(void *arg)
{
	struct run *run = arg;

	*run->env = run->own;
	run_loaded(run);
	if (wanted(run, OP_INSERT_MANY, run->peer->insert_many)) {
		peer_open(run);
		op_insert_many(run);
		verify(run, same);
		run->peer->close(run->handle);
	}
	run->own = *run->env;
}

static void run_init(struct run *run, const struct plan *plan, unsigned int peer,
		     struct bench_env *env, const struct bench_env *own)
{
	*run = (struct run){
		.plan = plan, .peer = plan->peers[peer], .peer_nr = peer,
		.env = env, .own = *own,
	};
	if (!plan->latencies)
		return;
	run->ticks = malloc(plan->keys->nr * sizeof(*run->ticks));
	run->ns_per_tick = run_ns_per_tick();
	if (!run->ticks)
		die("no memory");
}

static bool takes_keys(const struct bench_peer *peer, const struct keys *keys)
{
	return !peer->fixed_keys || keys->fixed;
}

static void run_end(struct run *run, struct bench_env *own)
{
	*own = run->own;
	free(run->ticks);
}

/* Each has memory of its own, in the next turn that of another. */
static struct bench_env *env_beside(const struct plan *plan, unsigned int peer,
				    struct bench_env *envs)
{
	return &envs[(peer + plan->turn) % plan->nr_peers];
}

static void run_beside(const struct plan *plan, struct bench_env *env,
		       struct bench_env *envs)
{
	void *args[RELAY_MAX] = { };
	struct run runs[RELAY_MAX];
	unsigned int i, nr = 0;

	for (i = 0; i < plan->nr_peers; i++)
		if (takes_keys(plan->peers[i], plan->keys)) {
			run_init(&runs[nr], plan, i, env,
				 env_beside(plan, i, envs));
			args[nr] = &runs[nr];
			nr++;
		}
	relay_run(nr, run_peer, args);
	while (nr--)
		run_end(&runs[nr], env_beside(plan, runs[nr].peer_nr, envs));
}

void run_turn(const struct plan *plan, struct bench_env *env, struct bench_env *envs)
{
	struct run run;
	unsigned int i;

	if (plan->beside) {
		run_beside(plan, env, envs);
		return;
	}
	for (i = 0; i < plan->nr_peers; i++)
		if (takes_keys(plan->peers[i], plan->keys)) {
			run_init(&run, plan, i, env, &envs[0]);
			run_peer(&run);
			run_end(&run, &envs[0]);
		}
}
