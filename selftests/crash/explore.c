// SPDX-License-Identifier: GPL-2.0-only
/*
 * The crash explorer.
 *
 * For every sequence of steps up to a length, from every starting pool: trace
 * the last step, and for each fence of it, and for its end, visit every state
 * that a power cut just before could leave and that recovery or the oracle can
 * tell from others.  Which lines matter is found by running: a line whose
 * content is open is settled when it is first read, one run for each way.
 *
 * A state is good if the pool attaches without a store, the walk ends, the
 * content is that before or that after the step that was cut (of acknowledged
 * steps all), check finds nothing wrong and accounts for every byte, and life
 * goes on.  The power goes a second time while the walk clears up what such a
 * state left, or while work begins beside it, and the states of that are
 * visited in the same way.
 *
 * Steps beside each other are in beside.c.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/xxhash.h>

#include "explore.h"
#include "lint.h"
#include "memo.h"

#define SECONDS_SILENT	60
#define SHORT_LEN	2
#define MAX_SITES	256
#define SET_BITS	25	/* of entries; more for long sequences */
#define LONG_SET_BITS	28
#define MAX_PROBES	100000
#define MAX_WORKERS	16
#define LOST		3	/* status: workers died, of something else than a finding */
#define PROOF		64	/* one run of so many that need not be made is */

static const char *const model_names[NR_MODELS] = { "x86", "arm64", "eadr" };

/* What workers share. */
struct shared {
	struct tally tally;
	u64 by_start[MAX_STARTS];
	struct lint lint;
	u32 nr_sites;
	void *site[MAX_SITES];
	u64 reached[MAX_SITES][2];
	u8 pair[MAX_SITES][MAX_SITES];	/* bit for old-old, old-new, ... */
	u8 same_line[MAX_SITES][MAX_SITES];
};

struct tally *tally;

static struct shared *shared;
/* Sets of hashes, which workers share. */
static u64 *points_seen;
static u64 *states_seen;
static u64 *states_left;	/* by model; recovered from */
static u32 set_bits = SET_BITS;
struct tracer tracers_of_explorer[NR_TRACERS];
static struct start *starts;
static u32 nr_starts;
static const char *sought;	/* replay: crash point and choices */
static bool deep;
static u8 wanted = NR_STEP_KINDS;	/* only with a step of this kind */

void tally_add(u64 *counter, u64 n)
{
	__atomic_add_fetch(counter, n, __ATOMIC_RELAXED);
}

/* Put a hash into a set; false if it was there. */
static bool set_add(u64 *set, u64 hash)
{
	u64 i, none, probes;

	hash |= 1;
	i = hash >> (64 - set_bits);
	for (probes = 0; probes < MAX_PROBES; probes++) {
		none = 0;
		if (__atomic_compare_exchange_n(&set[i], &none, hash, false,
						__ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return true;
		if (none == hash)
			return false;
		i = (i + 1) % (1ull << set_bits);
	}
	fprintf(stderr, "explore: more states than memory was set aside for\n");
	abort();
}

/* Did steps run beside each other, perhaps before an earlier crash? */
static bool beside(const struct spot *spot)
{
	while (!spot->beside && spot->outer)
		spot = spot->outer;
	return spot->beside;
}

/* Did a batch run, perhaps before an earlier crash, or does attach carry one out? */
static bool of_batch(const struct spot *spot)
{
	u8 kind;

	for (; spot; spot = spot->outer) {
		kind = spot->steps[spot->nr_steps - 1].kind;
		if (kind == STEP_BATCH || kind == STEP_ATOMIC || kind == STEP_ATTACH)
			return true;
	}
	return false;
}

/* Commit words: which of them were met old and new, and in which pairs. */

static u32 site_number(void *site)
{
	u32 i, nr = __atomic_load_n(&shared->nr_sites, __ATOMIC_ACQUIRE);

	for (i = 0; i < nr; i++)
		if (shared->site[i] == site)
			return i;
	i = __atomic_fetch_add(&shared->nr_sites, 1, __ATOMIC_ACQ_REL);
	if (i >= MAX_SITES)
		abort();
	shared->site[i] = site;
	return i;
}

/*
 * A word that was not read, since another one led past it, stands for its old
 * and its new value.
 */
static u8 pair_bits(int first, int second)
{
	u8 bits = 0, i, j;

	for (i = 0; i < 2; i++)
		for (j = 0; j < 2; j++)
			if ((first < 0 || first == i) &&
			    (second < 0 || second == j))
				bits |= 1 << (2 * i + j);
	return bits;
}

static void count_commits(const struct spot *spot)
{
	struct tracer *t = spot->t;
	u32 site[64], word[64], n = 0, i, j;
	int state[64];

	if (t->model == MODEL_EADR)
		return;	/* stores are durable in their order */
	if (beside(spot) || of_batch(spot))
		return;	/* pairs are those of one operation */
	for (i = 0; i < t->nr_order && n < 64; i++) {
		const struct event *e = &t->events[t->order[i]];

		if (!e->release)
			continue;
		state[n] = tracer_persisted(t, t->order[i]);
		word[n] = e->word;
		site[n] = site_number(e->site);
		if (state[n] >= 0)
			tally_add(&shared->reached[site[n]][state[n]], 1);
		n++;
	}
	for (i = 0; i < n; i++)
		for (j = i + 1; j < n; j++) {
			/* A word that is stored twice has no mixture. */
			if ((state[i] < 0 && state[j] < 0) || word[i] == word[j])
				continue;
			shared->pair[site[i]][site[j]] |=
				pair_bits(state[i], state[j]);
			if (word[i] / 8 == word[j] / 8)
				shared->same_line[site[i]][site[j]] = 1;
		}
}

/* Failures. */

static void symbolize(FILE *out, void *site)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd),
		 "addr2line -s -i -f -p -e /proc/%d/exe %p | sed 's/^/      /' >&%d",
		 getpid(), (void *)((char *)site - 1), fileno(out));
	fflush(out);
	if (system(cmd))
		fprintf(out, "      %p\n", site);
}

static void print_steps(FILE *out, const struct spot *spot)
{
	char text[64];
	u32 i;

	for (i = 0; i < spot->nr_steps; i++) {
		step_print(&spot->steps[i], text, sizeof(text));
		fprintf(out, "%s%s", i ? "; " : "", text);
	}
}

static void print_choices(FILE *out, const struct tracer *t)
{
	u32 i;

	for (i = 0; i < t->nr_choices; i++)
		fprintf(out, "%s%u", i ? "," : "", t->choices[i].taken);
}

static void print_spot(const struct spot *spot)
{
	struct tracer *t = spot->t;
	u32 i;

	if (spot->outer) {
		print_spot(spot->outer);
		fprintf(stderr, "  then, from that state:\n");
	}
	fprintf(stderr, "  pool: %s\n  steps%s: ", spot->start->name,
		spot->beside ? " beside each other" : "");
	print_steps(stderr, spot);
	fprintf(stderr, "\n  power lost (%s) before event %u of %u; pending stores:\n",
		model_names[t->model], spot->event, t->nr_events);
	for (i = 0; i < t->nr_order && i < 40; i++) {
		const struct event *e = &t->events[t->order[i]];
		int state = tracer_persisted(t, t->order[i]);

		fprintf(stderr, "    %#08x := %#llx  %s\n", e->word * 8,
			(unsigned long long)e->val,
			state < 0 ? "not read" : state ? "durable" : "lost");
		if (state >= 0)
			symbolize(stderr, e->site);
	}
}

/* Of a random schedule no decision is recorded: the number of the run determines it. */
static void print_random(const struct spot *spot)
{
	if (spot->event != UINT32_MAX)
		fprintf(stderr, "  power lost (%s) before event %u of %u\n",
			model_names[spot->t->model], spot->event, spot->t->nr_events);
	fprintf(stderr, "  replay: explore %s--engine %s --start '%s' --random 1 --number %llu\n",
		wort_engine_mandatory ? "--mandatory " : "",
		spot->start->engine->name, spot->start->name,
		(unsigned long long)spot->random - 1);
}

void fail(const struct spot *spot, const char *why)
{
	const struct spot *outer = spot;

	tally_add(&tally->failures, 1);
	fprintf(stderr, "FAILURE: %s\n", why);
	if (spot->random) {
		print_random(spot);
		exit(1);
	}
	print_spot(spot);
	while (outer->outer)
		outer = outer->outer;
	fprintf(stderr, "  replay: explore ");
	if (outer->start->engine != &test_engines[0])
		fprintf(stderr, "--engine %s ", outer->start->engine->name);
	if (wort_engine_mandatory)
		fprintf(stderr, "--mandatory ");
	fprintf(stderr, "--model %s --start '%s' --steps '",
		model_names[outer->t->model], outer->start->name);
	print_steps(stderr, outer);
	if (outer->beside) {
		fprintf(stderr, "' --preemptions %u --schedule '",
			sched.preemptions);
		print_schedule(stderr);
	}
	fprintf(stderr, "' --at %u:", outer->event);
	print_choices(stderr, outer->t);
	fprintf(stderr, "\n");
	exit(1);
}

/* Of the processor's: a machine may stand still, or do something else. */
void limit_time(u32 seconds)
{
	const struct itimerval limit = { .it_value.tv_sec = seconds };

	setitimer(ITIMER_VIRTUAL, &limit, NULL);
}

static const struct spot *current;

const struct spot *set_current(const struct spot *spot)
{
	const struct spot *before = current;

	current = spot;
	return before;
}

static void on_signal(int sig)
{
	const char *what = sig == SIGVTALRM ? "does not end" :
			   sig == SIGABRT ? "a warning of the code itself" :
			   "touches memory outside the pool";

	if (current)
		fail(current, what);
	fprintf(stderr, "FAILURE: what makes the pools to start from %s\n", what);
	_exit(1);
}

/* The oracle. */

/* Which of the worlds that may be there is; NULL and a reason if none. */
static const struct world *identify(struct runner *r,
				    const struct world *const *worlds, u32 nr,
				    int attached, const char **why)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		if (!worlds[i]->pool) {
			*why = "a pool that should not be";
			if (attached == -ENODATA)
				return worlds[i];
			continue;
		}
		*why = "attach fails";
		if (attached)
			continue;
		*why = runner_compare(r, worlds[i]);
		if (!*why)
			return worlds[i];
	}
	return NULL;
}

static void explore(const struct spot *outer, u32 depth,
		    const struct start *start, enum memory_model model,
		    const struct step *steps, u32 nr);

/* Will attach carry out an atomic batch? */
static bool has_head(const u8 *image)
{
	const struct wort_media_head *head = (const void *)(image + WORT_MEDIA_HEADS_OFF);
	u32 i = 0;

	while (i < WORT_MEDIA_NR_HEADS && !head[i].redo)
		i++;
	return i < WORT_MEDIA_NR_HEADS;
}

/*
 * Crash again: within an attach that has an atomic batch to carry out, within the
 * walk, or within the first steps beside it; with --deep within each of those of its
 * starting pool.
 */
static void explore_again(const struct spot *spot, const struct world *w)
{
	static const struct step first[] = {
		{ STEP_SETTLE, 0, 0, 0 }, { STEP_CHECK, 0, 0, 0 },
		{ STEP_PUT, 0, 2, 2 }, { STEP_PUT, 0, 7, 2 },
		{ STEP_DEL, 0, 0, 0 }, { STEP_DEL, 0, 5, 0 },
	};
	struct step again[2] = { { STEP_ATTACH, 0, 0, 0 } };
	const struct step *steps = deep ? spot->start->steps : first;
	u32 i, nr = deep ? spot->start->nr_steps : ARRAY_SIZE(first);
	struct start start = *spot->start;
	static u8 image[IMAGE_SIZE];
	bool stores;

	start.hash = tracer_left(spot->t, image);
	start.name = "as it was left";
	start.image = image;
	start.world = *w;
	start.unsettled = true;
	stores = has_head(image);
	if (stores)
		explore(spot, 1, &start, spot->t->model, again, 1);
	for (i = 0; i < nr; i++) {
		again[1] = steps[i];
		if (steps[i].kind != STEP_BATCH)
			explore(spot, 1, &start, spot->t->model, &again[!stores],
				1 + stores);
	}
}

static bool attach_anew(struct runner *r)
{
	runner_detach(r);
	if (runner_attach(r))
		return false;
	while (shim_run_work())
		;
	return true;
}

/*
 * Has a run stored anything but words of the extent table and copies of the superblock?  What
 * lies between the first two copies counts as theirs.
 */
static bool stores_elsewhere(const struct tracer *t, const struct wort_pool *pool)
{
	const struct wort_geometry *geo = &pool->alloc.geo;
	u64 end = wort_sb_off(&pool->sb, WORT_SB_END), off;
	u32 i;

	for (i = 0; i < t->nr_stores && i < STORED_MAX; i++) {
		off = 8ull * t->stored[i];
		if (!(off >= WORT_MEDIA_SB_OFF && off < WORT_MEDIA_HEADS_OFF) &&
		    !(off >= geo->table_off && off < geo->table_off + 8ull * geo->nr_extents) &&
		    !(off >= end && off < end + sizeof(struct wort_media_sb)))
			return true;
	}
	return t->nr_stores > STORED_MAX;
}

/*
 * Without an atomic batch to carry out, the walk may clear words of the extent table,
 * and nothing else; a second attach has nothing left to do.  If there was one, the
 * second walk may clear words, too: a change that began again has opened an extent
 * for nothing.
 */
static bool attach_again(const struct spot *spot, struct runner *r)
{
	struct wort_pool_info_arg info = { .size = sizeof(info) };
	u64 before;

	wort_pool_info(r->pool, &info);
	if (!info.out_atomic_redone && stores_elsewhere(spot->t, r->pool))
		return true;
	if (info.out_atomic_redone && !attach_anew(r))
		return true;
	before = spot->t->nr_stores;
	if (!attach_anew(r))
		return true;
	/* the generation */
	return spot->t->nr_stores != before + 1;
}

/* Is the state one that nobody went on from again by a crash? */
static bool first_left(const struct spot *spot, u64 hash)
{
	return !spot->depth && set_add(states_left, hash ^ spot->t->model);
}

/* Recovery differs by the flushes that it makes. */
static u64 program(const struct spot *spot)
{
	return spot->t->model == MODEL_EADR;
}

static u64 world_hash(const struct world *w)
{
	return xxh64(w, sizeof(*w), 0) & ~MEMO_END;
}

/*
 * @known: the hash that the run has to come to, or 0.  @again: what it holds, if
 * nobody has recovered from such a state before.
 */
static const char *judge(const struct spot *spot, struct runner *r,
			 const struct world *const *worlds, u32 nr, u64 known,
			 const struct world **again)
{
	const char *bad = "no world";
	const struct world *found;
	struct world now;
	u64 hash;
	int err;

	err = runner_attach(r);
	while (shim_run_work())
		;
	found = identify(r, worlds, nr, err, &bad);
	if (!found)
		return bad;
	if (!found->pool)
		return NULL;
	bad = runner_check(r, false);
	if (bad)
		return bad;
	hash = spot->t->hash;
	if (known && hash != known)
		return "a run goes another way than one that read the same";
	memo_keep(spot->t, program(spot), world_hash(found));
	if (first_left(spot, hash))
		*again = found;
	/* What goes on from a state goes on from all that look the same. */
	if (!set_add(states_seen, hash) && !sought)
		return NULL;
	if (attach_again(spot, r))
		return "attach stores more than it may, or a second one more than a generation";
	if (spot->t->hash != hash)
		return "a second attach reads what nobody has read before";
	spot->t->hashing = false;
	tally_add(&tally->distinct, 1);
	tally_add(&tally->beside_distinct, beside(spot));
	now = *found;
	return runner_go_on(r, &now);
}

/* Recover, judge, and go on. */
static void recover(const struct spot *spot, const struct world *const *worlds,
		    u32 nr, u64 known, const struct world **again)
{
	struct runner r = { .region = region_of(spot->t) };
	struct list_head *works = shim_works;
	LIST_HEAD(mine);
	const char *bad;

	shim_works = &mine;
	tracer_run_begin(spot->t);
	bad = judge(spot, &r, worlds, nr, known, again);
	if (bad)
		fail(spot, bad);
	runner_detach(&r);
	shim_works = works;
}

/*
 * Is it known from other runs that this one finds one of the worlds?  What made
 * them find it is all that this one would read.  Now and then the run is made all
 * the same, and has to come to @known.
 */
static bool recall(const struct spot *spot, const struct world *const *worlds,
		   u32 nr, u64 *known, const struct world **again)
{
	struct tracer *t = spot->t;
	struct tracer_mark begin;
	static u64 recalled;
	u64 answer;
	u32 i = 0;

	tracer_run_begin(t);
	tracer_mark(t, &begin);
	answer = sought ? 0 : memo_recall(t, program(spot));
	while (answer && i < nr && (world_hash(worlds[i]) | MEMO_END) != answer)
		i++;
	if (answer && i < nr && ++recalled % PROOF) {
		if (first_left(spot, t->hash))
			*again = worlds[i];
		return true;
	}
	*known = answer && i < nr ? t->hash : 0;
	tracer_back(t, &begin);
	tracer_run_end(t);
	return false;
}

static void run_state(const struct spot *spot,
		      const struct world *const *worlds, u32 nr)
{
	const struct spot *before = current;
	const struct world *again = NULL;
	u64 known = 0;

	current = spot;
	if (!recall(spot, worlds, nr, &known, &again))
		recover(spot, worlds, nr, known, &again);
	count_commits(spot);
	tracer_run_end(spot->t);
	current = before;
	tally_add(spot->depth ? &tally->nested : &tally->states, 1);
	if (!spot->depth)
		tally_add(&shared->by_start[spot->start - starts], 1);
	if (again)
		explore_again(spot, again);
}

/* Replay of a failure: the choices after the colon. */
static void take_choices(struct tracer *t, const char *text)
{
	u32 n = 0;

	for (text = strchr(text, ':'); text && text[1]; n++) {
		t->choices[n] = (struct choice){ .taken = atoi(text + 1) };
		text = strchr(text + 1, ',');
	}
	t->nr_choices = n;
}

/* Of what a power cut can leave, and of the worlds that may then be there. */
static u64 point_hash(const struct spot *spot,
		      const struct world *const *worlds, u32 nr)
{
	u64 sum = spot->depth;
	u32 i;

	for (i = 0; i < nr; i++)
		sum += xxh64(worlds[i], sizeof(*worlds[i]), 0);
	return tracer_point(spot->t) ^ sum * 0x9e3779b97f4a7c15ull;
}

bool crash_points_new(u64 hash)
{
	return set_add(points_seen, hash);
}

void crash_point(const struct spot *spot, const struct world *const *worlds,
		 u32 nr)
{
	if (sought && !spot->depth) {
		if (spot->event != (u32)atoi(sought))
			return;
		take_choices(spot->t, sought);
		run_state(spot, worlds, nr);
		return;
	}
	tally_add(&tally->crash_points, 1);
	if (!set_add(points_seen, point_hash(spot, worlds, nr)))
		return;
	tally_add(&tally->distinct_points, 1);
	spot->t->nr_choices = 0;
	do {
		run_state(spot, worlds, nr);
	} while (tracer_next(spot->t));
}

const char *given_back(struct runner *r)
{
	struct wort_pool_info_arg info = { .size = sizeof(info) };

	face_settle(r);
	wort_pool_info(r->pool, &info);
	if (info.out_freeing_bytes == WORT_UNKNOWN)
		return NULL;
	return wort_alloc_freeing(&r->pool->alloc) ?
	       "what was freed is not given back" : NULL;
}

/* Do the steps while tracing.  Returns the first event of the last step. */
static u32 trace_steps(struct spot *spot, struct world *before,
		       struct world *after)
{
	struct runner r = { .region = region_of(spot->t) };
	struct list_head *works = shim_works;
	const char *bad = NULL;
	LIST_HEAD(mine);
	u32 first = 0, i;

	shim_works = &mine;
	*after = spot->start->world;
	if (spot->steps[0].kind == STEP_ATTACH)
		tracer_record(spot->t);
	if (runner_attach(&r) && after->pool)
		fail(spot, "the starting pool does not attach");
	while (!spot->start->unsettled && shim_run_work())
		;
	if (spot->steps[0].kind != STEP_ATTACH)
		tracer_record(spot->t);
	for (i = 0; i < spot->nr_steps && !bad; i++) {
		/* What the attach has stored was recorded before this. */
		if (spot->steps[i].kind != STEP_ATTACH)
			first = spot->t->nr_events;
		*before = *after;
		bad = runner_step(&r, after, &spot->steps[i]);
	}
	tracer_stop(spot->t);
	if (!bad && r.pool)
		bad = runner_check(&r, false) ?: given_back(&r);
	if (bad)
		fail(spot, bad);
	runner_detach(&r);
	shim_works = works;
	return first;
}

static bool stores(const struct tracer *t, u32 first)
{
	for (; first < t->nr_events; first++)
		if (t->events[first].kind == EVENT_STORE)
			return true;
	return false;
}

static bool last_stored;

static void explore(const struct spot *outer, u32 depth,
		    const struct start *start, enum memory_model model,
		    const struct step *steps, u32 nr)
{
	static const struct world none;
	struct tracer *t = &tracers_of_explorer[depth];
	struct spot spot = {
		.t = t, .start = start, .steps = steps, .nr_steps = nr,
		.depth = depth, .outer = outer,
	};
	const struct spot *current_before = current;
	struct world before, after, within[MAX_WORLDS];
	const struct world *worlds[MAX_WORLDS + 1];
	u32 first, i, nr_worlds;

	start_use(start);
	tracer_load(t, start->image, start->hash);
	tracer_reset(t, model);
	current = &spot;
	first = trace_steps(&spot, &before, &after);
	last_stored = stores(t, first);
	if (!depth && model == MODEL_X86)
		lint_step(&shared->lint, t, first);
	tally_add(&tally->sequences, !depth);
	if (!last_stored)
		goto out;
	nr_worlds = world_within(&before, &after, &steps[nr - 1], within);
	for (i = 0; i < nr_worlds; i++)
		worlds[i] = &within[i];
	if (steps[nr - 1].kind == STEP_FORMAT)
		worlds[nr_worlds++] = &none;
	tracer_load(t, start->image, start->hash);
	for (i = 0; i < t->nr_events; i++) {
		spot.event = i;
		if (i >= first && t->events[i].kind == EVENT_FENCE)
			crash_point(&spot, worlds, nr_worlds);
		tracer_advance(t, i);
	}
	spot.event = t->nr_events;
	worlds[0] = &after;
	crash_point(&spot, worlds, 1);
out:
	current = current_before;
}

/* Sequences. */

bool is_wanted(const struct step *steps, u32 nr)
{
	u32 i = 0;

	while (i < nr && steps[i].kind != wanted)
		i++;
	return i < nr || wanted == NR_STEP_KINDS;
}

struct work {
	u32 worker, workers;
	u32 part, parts;	/* of the sequences of three, and of steps beside each other */
	int max_len;		/* -1: as the row of the engine says */
	u32 preemptions;
	u32 beside_models;
	u64 runs, first;	/* random ones: how many, and the number of the first one */
	u64 number, third;
};

/* Batches come last, and not after two other steps: they have steps themselves. */
static void extend(struct work *work, u32 start, enum memory_model model,
		   struct step *seq, u32 len)
{
	const struct start *s = &starts[start];
	u32 i;

	for (i = 0; i < s->nr_steps && len < work->max_len; i++) {
		seq[len] = s->steps[i];
		if (seq[len].kind == STEP_BATCH && len > 1)
			continue;
		/* The first two steps choose the worker; one alone is the first's. */
		if (len == 1 && work->number++ % work->workers != work->worker)
			continue;
		if (len == SHORT_LEN && work->third++ % work->parts != work->part)
			continue;
		limit_time(SEQUENCE_SECONDS);
		last_stored = true;
		if ((len || !work->worker) && is_wanted(seq, len + 1))
			explore(NULL, 0, s, model, seq, len + 1);
		if (len + 1 < work->max_len && seq[len].kind != STEP_BATCH &&
		    (!len || last_stored || seq[len].kind >= STEP_REATTACH))
			extend(work, start, model, seq, len + 1);
	}
}

/* With small nodes as many changes of the structure are met, in half of the time. */
static bool has_smallest_nodes(const struct start *s)
{
	return s->attr == s->engine->attrs[s->engine->nr_attrs - 1];
}

static void work_beside(const struct work *work, enum memory_model model)
{
	u32 i;

	for (i = 0; i < nr_starts; i++)
		if (starts[i].world.pool && !starts[i].max_len &&
		    (nr_starts == 1 || has_smallest_nodes(&starts[i])))
			explore_all_beside(&starts[i], model, work->preemptions,
					   work->part * work->workers + work->worker,
					   work->parts * work->workers);
}

/*
 * What x86 may leave, or a device with persistent caches, arm64 may leave, too.
 * So where all of them are wanted the longest sequences are its own.
 */
static void work_on(struct work work, u32 models)
{
	const int len = work.max_len;
	u32 start;
	struct step seq[MAX_STEPS];
	enum memory_model model;

	for (model = 0; model < NR_MODELS; model++) {
		for (start = 0; start < nr_starts && models >> model & 1;
		     start++) {
			work.max_len = len < 0 ? starts[start].engine->nr_steps : len;
			if (models >> MODEL_ARM64 & 1 && model != MODEL_ARM64)
				work.max_len = min_t(u32, work.max_len, SHORT_LEN);
			if (starts[start].max_len)
				work.max_len = min_t(u32, work.max_len,
						     starts[start].max_len);
			extend(&work, start, model, seq, 0);
		}
	}
	for (model = 0; model < NR_MODELS && work.preemptions; model++)
		if (work.beside_models >> model & 1)
			work_beside(&work, model);
}

/* The pools whose index "a" is empty, in turn, since the runs fill it. */
static const struct start *start_of_run(u64 number)
{
	u32 i, nr = 0, turn;

	for (i = 0; i < nr_starts; i++)
		nr += start_is_empty(&starts[i]);
	turn = nr ? number % nr : 0;
	for (i = 0; i < nr_starts; i++)
		if (start_is_empty(&starts[i]) && !turn--)
			return &starts[i];
	return NULL;
}

static void work_random(const struct work *work)
{
	u64 number = work->first + work->worker;

	for (; number < work->first + work->runs; number += work->workers) {
		limit_time(SEQUENCE_SECONDS);
		explore_random(start_of_run(number), number);
	}
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

/* A sign of life of what may take an hour. */
static void say_how_far(double begin)
{
	static double last;
	double now = seconds() - begin;

	if (now - last < SECONDS_SILENT)
		return;
	last = now;
	if (tally->cuts) {
		fprintf(stderr, "%.0f s: %llu schedules, %llu power cuts\n", now,
			(unsigned long long)tally->schedules,
			(unsigned long long)tally->cuts);
		return;
	}
	fprintf(stderr, "%.0f s: %llu runs, %llu states, %llu schedules\n", now,
		(unsigned long long)(tally->states + tally->nested),
		(unsigned long long)tally->distinct,
		(unsigned long long)tally->schedules);
}

/* The status for a worker that failed: 1 if it found a failure, else LOST. */
static int worker_ended(int status)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 1)
		return 1;
	fprintf(stderr, "explore: a worker ended with status %#x: what it had to explore was not\n",
		status);
	return LOST;
}

/* 0, 1 or LOST, as the first of them that fails. */
static int run_workers(struct work work, u32 models)
{
	pid_t pid[MAX_WORKERS], done;
	double begin = seconds();
	int status, failed = 0;
	u32 i;

	for (i = 0; i < work.workers; i++) {
		pid[i] = fork();
		if (pid[i] < 0) {
			perror("explore: fork");
			while (i--)
				kill(pid[i], SIGKILL);
			return LOST;
		}
		if (!pid[i]) {
			work.worker = i;
			if (work.runs)
				work_random(&work);
			else
				work_on(work, models);
			_exit(0);
		}
	}
	while ((done = waitpid(-1, &status, WNOHANG)) >= 0) {
		if (!done)
			usleep(100000);
		else if (status && !failed)
			for (failed = worker_ended(status), i = 0; i < work.workers; i++)
				kill(pid[i], SIGKILL);
		say_how_far(begin);
	}
	return failed;
}

static u32 print_commits(void)
{
	u32 i, j, holes = 0, want;

	printf("commit words met (old, new):\n");
	fflush(stdout);
	for (i = 0; i < shared->nr_sites; i++) {
		printf("  %2u: %llu, %llu\n", i,
		       (unsigned long long)shared->reached[i][0],
		       (unsigned long long)shared->reached[i][1]);
		symbolize(stdout, shared->site[i]);
	}
	for (i = 0; i < shared->nr_sites; i++)
		for (j = 0; j < shared->nr_sites; j++) {
			if (!shared->pair[i][j])
				continue;
			want = shared->same_line[i][j] ? 0xd : 0xf;
			if ((shared->pair[i][j] & want) == want)
				continue;
			holes++;
			printf("pair %u, %u reached only as %#x\n", i, j,
			       shared->pair[i][j]);
		}
	return holes;
}

static void usage(void)
{
	printf("usage: explore [OPTIONS]\n"
	       "  --len N          longest sequence of steps (default: of each engine its own;\n"
	       "                   0: none, with --preemptions)\n"
	       "                   where arm64 is among the models, others stop at 2\n"
	       "  --workers N      processes (default: one a processor)\n"
	       "  --models LIST    of x86,arm64,eadr (default: all)\n"
	       "  --deep           crash again within each step that is no batch\n"
	       "  --preemptions N  steps beside each other, too, with so many\n"
	       "                   preemptions (default: none; x86, or --models)\n"
	       "  --part K/N       of sequences longer than two, and of steps beside each\n"
	       "                   other, only the Kth of N parts\n"
	       "  --with STEP      only sequences and steps beside each other of which\n"
	       "                   one is such a step, as atomic\n"
	       "  --random N       instead N runs of threads that make many changes each, by\n"
	       "                   random schedules, and are then cut (x86, arm64)\n"
	       "  --number N       with --random: the number of the first run (default: 0)\n"
	       "  --engine NAME    only pools of this engine (default: all, in turn)\n"
	       "  --mandatory      without the optional functions of engines\n"
	       "  --list           starting pools\n"
	       "  --write-starts FILE  them, for the sweep in the kernel\n"
	       "  --start NAME     only this pool\n"
	       "  --start NAME --steps 'STEP; STEP' [--model M] [--at E:CHOICES]\n"
	       "                   one sequence, or one state of it; with\n"
	       "                   --preemptions the steps beside each other, with\n"
	       "                   --schedule LIST by one schedule\n");
}

/* The first part is 1. */
static bool parse_part(const char *text, struct work *work)
{
	char end;

	if (sscanf(text, "%u/%u%c", &work->part, &work->parts, &end) != 2 ||
	    work->part - 1 >= work->parts)
		return false;
	work->part--;
	return true;
}

static bool parse_number(const char *text, u64 *number)
{
	unsigned long long n;
	char end;

	if (!isdigit(*text) || sscanf(text, "%llu%c", &n, &end) != 1)
		return false;
	*number = n;
	return true;
}

/* Of an option; ends the program if it is none, or too large. */
static u32 number_of(const char *text, u32 most)
{
	u64 number;

	if (parse_number(text, &number) && number <= most)
		return number;
	fprintf(stderr, "explore: no number from 0 to %u: %s\n", most, text);
	exit(2);
}

/* 0: one of them is none. */
static u32 parse_models(char *text)
{
	u32 i, models = 0;

	for (text = strtok(text, ","); text; text = strtok(NULL, ",")) {
		for (i = 0; i < NR_MODELS && strcmp(text, model_names[i]); i++)
			;
		if (i == NR_MODELS)
			return 0;
		models |= 1 << i;
	}
	return models;
}

/* The name of its engine, or "" of the default one. */
static const char *of_engine(const struct start *start)
{
	return start->engine == &test_engines[0] ? "" : start->engine->name;
}

static void print_start(const struct start *start)
{
	if (*of_engine(start))
		printf("--engine %s --start '%s'\n", of_engine(start),
		       start->name);
	else
		printf("%s\n", start->name);
}

static struct start *start_named(const char *name)
{
	u32 i;

	for (i = 0; i < nr_starts; i++)
		if (!strcmp(starts[i].name, name))
			return &starts[i];
	fprintf(stderr, "explore: no such pool: %s\n", name);
	return NULL;
}

static bool only_start(const char *name)
{
	struct start *start = start_named(name);

	if (!start)
		return false;
	starts = start;
	nr_starts = 1;
	return true;
}

/* A run that explores nothing must not look like one that finds no failure. */
static int anything_explored(void)
{
	if (tally->states || tally->schedules || tally->distinct)
		return 0;
	fprintf(stderr, "explore: no state is one that these options ask for\n");
	return 2;
}

static int replay(const char *name, char *text, u32 models,
		  const struct work *work, const char *schedule)
{
	struct step steps[MAX_STEPS];
	struct start *start;
	u32 nr = 0, model;
	char *one;

	for (one = strtok(text, ";"); one; one = strtok(NULL, ";")) {
		while (*one == ' ')
			one++;
		if (nr == MAX_STEPS || !step_parse(one, &steps[nr++])) {
			fprintf(stderr, "explore: no such step: %s\n", one);
			return 2;
		}
	}
	start = start_named(name);
	if (!start || !nr)
		return 2;
	if (nr > SCHED_THREADS && (schedule || work->preemptions)) {
		fprintf(stderr, "explore: at most %u steps beside each other\n",
			SCHED_THREADS);
		return 2;
	}
	for (model = 0; model < NR_MODELS; model++)
		if (models >> model & 1 && schedule)
			explore_schedule(start, model, steps, nr,
					 work->preemptions, schedule);
		else if (models >> model & 1 && work->preemptions)
			explore_beside(start, model, steps, nr,
				       work->preemptions);
		else if (models >> model & 1)
			explore(NULL, 0, start, model, steps, nr);
	printf("%llu states, 0 failures\n",
	       (unsigned long long)tally->states);
	return anything_explored();
}

static void *map(size_t size, int flags)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_ANONYMOUS | flags, -1, 0);

	if (p == MAP_FAILED) {
		perror("explore: mmap");
		exit(2);
	}
	return p;
}

static int report_random(const struct work *work, double begin, int failed)
{
	printf("%llu random runs from number %llu on, %llu power cuts, %.0f s, %llu failures\n",
	       (unsigned long long)tally->schedules, (unsigned long long)work->first,
	       (unsigned long long)tally->cuts, seconds() - begin,
	       (unsigned long long)(tally->failures + (failed && !tally->failures)));
	return failed ?: !!tally->failures;
}

static int report(double begin, int failed)
{
	double took = seconds() - begin;
	u32 i, holes = 0, lint = 0;

	if (!tally->failures && !failed) {
		holes = print_commits();
		lint = lint_report(&shared->lint);
	}
	for (i = 0; i < nr_starts; i++)
		printf("  %10llu states from \"%s\"%s%s\n",
		       (unsigned long long)shared->by_start[i],
		       starts[i].name, *of_engine(&starts[i]) ? " of " : "",
		       of_engine(&starts[i]));
	printf("%llu sequences, %llu crash points (%llu of them distinct), %llu runs (%llu of them within recovery), %.0f runs/s, %.0f s\n",
	       (unsigned long long)tally->sequences,
	       (unsigned long long)tally->crash_points,
	       (unsigned long long)tally->distinct_points,
	       (unsigned long long)(tally->states + tally->nested),
	       (unsigned long long)tally->nested,
	       (tally->states + tally->nested) / took, took);
	if (holes)
		printf("%u pairs of commit words not reached in all mixtures\n",
		       holes);
	if (lint)
		printf("%u flushes or fences too many, or stores too early\n",
		       lint);
	printf("%llu schedules of steps beside each other, %llu states\n",
	       (unsigned long long)tally->schedules,
	       (unsigned long long)tally->beside_distinct);
	printf("%llu states, %llu failures\n",
	       (unsigned long long)tally->distinct,
	       (unsigned long long)(tally->failures + holes + lint +
				    (failed && !tally->failures)));
	if (!failed && (holes || lint || tally->failures))
		failed = 1;
	return failed ?: anything_explored();
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "len", 1, NULL, 'l' }, { "workers", 1, NULL, 'w' },
		{ "models", 1, NULL, 'm' }, { "model", 1, NULL, 'm' },
		{ "start", 1, NULL, 's' }, { "steps", 1, NULL, 't' },
		{ "at", 1, NULL, 'a' }, { "list", 0, NULL, 'L' },
		{ "deep", 0, NULL, 'd' }, { "write-starts", 1, NULL, 'W' },
		{ "preemptions", 1, NULL, 'p' }, { "schedule", 1, NULL, 'S' },
		{ "engine", 1, NULL, 'e' }, { "with", 1, NULL, 'I' }, { "mandatory", 0, NULL, 'M' },
		{ "random", 1, NULL, 'R' }, { "number", 1, NULL, 'N' },
		{ "part", 1, NULL, 'P' }, { "help", 0, NULL, 'h' }, { }
	};
	struct work work = {
		.parts = 1,
		.max_len = -1,
		.workers = min(sysconf(_SC_NPROCESSORS_ONLN), (long)MAX_WORKERS),
		.beside_models = 1 << MODEL_X86,
	};
	char *name = NULL, *steps = NULL, *file = NULL, *schedule = NULL;
	const char *engine = NULL;
	u32 models = 7, i;
	double begin = seconds();
	struct step with;
	bool list = false;
	u8 *mem;
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		switch (opt) {
		case 'l':
			work.max_len = number_of(optarg, MAX_STEPS);
			break;
		case 'w':
			work.workers = number_of(optarg, MAX_WORKERS);
			break;
		case 'm':
			models = parse_models(optarg);
			if (!models) {
				fprintf(stderr, "explore: no such model, of x86, arm64 and eadr\n");
				return 2;
			}
			work.beside_models = models;
			break;
		case 's':
			name = optarg;
			break;
		case 't':
			steps = optarg;
			break;
		case 'a':
			sought = optarg;
			break;
		case 'L':
			list = true;
			break;
		case 'd':
			deep = true;
			break;
		case 'W':
			file = optarg;
			break;
		case 'p':
			work.preemptions = number_of(optarg, UINT_MAX);
			break;
		case 'S':
			schedule = optarg;
			break;
		case 'e':
			engine = optarg;
			break;
		case 'I':
			if (!step_parse(optarg, &with)) {
				fprintf(stderr, "explore: no such step: %s\n", optarg);
				return 2;
			}
			wanted = with.kind;
			break;
		case 'M':
			wort_engine_mandatory = true;
			break;
		case 'R':
		case 'N':
			if (!parse_number(optarg, opt == 'R' ? &work.runs : &work.first) ||
			    (opt == 'R' && !work.runs)) {
				fprintf(stderr, "explore: no such number: %s\n", optarg);
				return 2;
			}
			break;
		case 'P':
			if (!parse_part(optarg, &work)) {
				fprintf(stderr, "explore: no such part: %s\n", optarg);
				return 2;
			}
			break;
		default:
			usage();
			return opt == 'h' ? 0 : 2;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "explore: what is \"%s\"?\n", argv[optind]);
		return 2;
	}
	shim_log_quiet = !sought;
	if (work.max_len > 3)
		set_bits = LONG_SET_BITS;
	shared = map(sizeof(*shared), MAP_SHARED | MAP_NORESERVE);
	states_seen = map(8ull << set_bits, MAP_SHARED | MAP_NORESERVE);
	states_left = map(8ull << set_bits, MAP_SHARED | MAP_NORESERVE);
	points_seen = map(8ull << set_bits, MAP_SHARED | MAP_NORESERVE);
	memo_init();
	tally = &shared->tally;
	mem = map(NR_TRACERS * IMAGE_SIZE, MAP_PRIVATE);
	for (i = 0; i < NR_TRACERS; i++)
		tracer_init(&tracers_of_explorer[i], mem + i * IMAGE_SIZE);
	if (engine && !test_engine_named(engine)) {
		fprintf(stderr, "explore: no such engine: %s\n", engine);
		return 2;
	}
	signal(SIGSEGV, on_signal);
	signal(SIGBUS, on_signal);
	signal(SIGABRT, on_signal);
	signal(SIGFPE, on_signal);
	signal(SIGVTALRM, on_signal);
	limit_time(POOLS_SECONDS);
	nr_starts = starts_make(&tracers_of_explorer[0],
				engine ? test_engine_named(engine) : NULL,
				&starts);
	for (i = 0; i < nr_starts; i++)
		starts[i].hash = tracer_hash(starts[i].image);
	for (i = 0; i < nr_starts && list; i++)
		print_start(&starts[i]);
	if (file && starts_write(starts, nr_starts, file)) {
		perror(file);
		return 1;
	}
	if (list || file)
		return 0;
	if ((work.runs && steps) || (work.first && !work.runs)) {
		fprintf(stderr, "explore: --random makes its own steps, and --number is for it\n");
		return 2;
	}
	if (name && steps)
		return replay(name, steps, models, &work, schedule);
	if (name && !only_start(name))
		return 2;
	if (!work.workers) {
		usage();
		return 2;
	}
	if (work.runs && !start_of_run(0)) {
		fprintf(stderr, "explore: no pool with an empty index to begin with\n");
		return 2;
	}
	if (work.runs)
		return report_random(&work, begin, run_workers(work, models));
	return report(begin, run_workers(work, models));
}
