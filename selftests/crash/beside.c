// SPDX-License-Identifier: GPL-2.0-only
/*
 * Steps beside each other, each in a thread, by every schedule with a bounded
 * number of preemptions.
 *
 * What each answered, and what is there at the end, has to be explained by some
 * order of the steps in which one that had ended before another began comes
 * before it (linearizable).  After a power cut what is left has to be explained
 * by such an order of the steps that were acknowledged, and of any of those
 * under way (durably linearizable).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/xxhash.h>

#include "explore.h"

#define NR_OTHERS	7	/* that are no changes, beside each change */

#define MAX_HAPPENED	(SCHED_THREADS * BATCH_STEPS)
#define MAX_EXPLAINED	256

/* A change, or another step, in a thread, and how it went. */
struct happened {
	struct step step;
	u32 thread;
	u8 expect;		/* CAS, DEL_IF: number of the value */
	bool begun, ended;
	u32 begin, end;		/* by a clock of the steps */
	u32 begin_event, end_event;
	int err;
	int value;		/* GET, SCAN: its number, 0: none; HOLD: of all values */
};

static struct happened happened[MAX_HAPPENED];
static u32 nr_happened, nr_threads, clock_now;
static const struct step *steps_of_threads;
static const struct world *world_before;
static struct tracer *tracer;
static struct runner runner;

static void get(struct happened *h)
{
	int (*look)(struct runner *r, u32 index, const struct world_bytes *key,
		    void *buf, u32 size, u32 *len) =
		h->step.kind == STEP_LOOK ? face_look : face_lookup;
	u8 buf[WORLD_VALUE_MAX];
	u32 len;

	h->err = look(&runner, 0, &world_keys[h->step.key], buf, sizeof(buf),
		      &len);
	h->value = h->err ? 0 : world_value_number(h->step.key, buf, len);
	if (h->err == -ENOENT)
		h->err = 0;
}

static void put(struct happened *h)
{
	u8 buf[WORLD_VALUE_MAX], old[WORLD_VALUE_MAX];
	struct world_bytes expect = { old, 0 }, value = { buf, 0 };

	value.len = world_value(h->step.key, h->step.value, buf);
	expect.len = world_value(h->step.key, h->expect, old);
	h->err = face_put(&runner, 0, &world_keys[h->step.key], &value,
			  h->step.kind == STEP_CAS ? &expect : NULL);
}

static void exchange(struct happened *h)
{
	const struct world_bytes *key = &world_keys[h->step.key];
	u8 buf[WORLD_VALUE_MAX], old[WORLD_VALUE_MAX];
	struct wort_buf was = { .data = old, .size = sizeof(old), .len = WORT_NO_VALUE };
	struct wort_key k = { key->data, key->len };
	struct wort_value value = { buf, world_value(h->step.key, h->step.value, buf) };
	struct wort_put put;

	wort_put_init(&put, &k, &value, 0);
	put.old = &was;
	h->err = wort_index_insert(runner.index[0], &put);
	if (!h->err && was.len != WORT_NO_VALUE)
		h->value = world_value_number(h->step.key, old, was.len);
}

static void delete_if(struct happened *h)
{
	const struct world_bytes *key = &world_keys[h->step.key];
	struct wort_key k = { key->data, key->len };
	u8 old[WORLD_VALUE_MAX];
	struct wort_value expect = { old, world_value(h->step.key, h->expect, old) };

	h->err = wort_index_delete(runner.index[0], &k, &expect, NULL);
}

/* A number of all values of an index, which are those of one moment. */
static int number_of_all(const int *values)
{
	return (int)xxh64(values, NR_KEYS * sizeof(*values), 0);
}

/* What is there once the pool is held stays until it is released. */
static void hold(struct happened *h)
{
	int first[NR_SCANNED], last[NR_SCANNED];
	bool held = false;

	h->err = wort_pool_hold(runner.pool, &held);
	if (h->err)
		return;
	if (runner_scan(&runner, 0, false, first))
		h->err = -EIO;
	shim_others();		/* Who can go on does. */
	if (runner_scan(&runner, 0, true, last) || memcmp(first, last, sizeof(first)))
		h->err = -EIO;
	h->value = number_of_all(first);
	wort_pool_release(runner.pool, &held);
}

/* What it counts at different times need not agree.  It ends early for who waits for space. */
static int check(void)
{
	struct wort_check_arg arg = {
		.size = sizeof(arg), .flags = WORT_CHECK_F_CLEAR,
	};
	int err = face_check(&runner, &arg);

	if (err == -EBUSY)
		return 0;
	return !err && arg.out_nr_damaged ? -EUCLEAN : err;
}

/* What happens in a thread: one change, those of a batch, answers of a scan. */
static struct happened *of_thread(u32 nr)
{
	u32 i = 0;

	while (happened[i].thread != nr)
		i++;
	return &happened[i];
}

static void batch(struct happened *h, const struct step *step)
{
	int err[BATCH_STEPS];
	u32 i;

	if (runner_batch(&runner, step, err))
		abort();
	for (i = 0; i < world_batches[step->key].nr; i++)
		h[i].err = err[i];
}

static void begun(struct happened *h)
{
	h->begin_event = tracer_events(tracer);
	h->begin = clock_now;
	h->begun = true;
}

static void ended(struct happened *h)
{
	h->end_event = tracer_events(tracer);
	h->end = clock_now;
	h->ended = true;
}

/* The errno of a step that answers nothing else. */
static int carry_out(const struct step *step)
{
	switch (step->kind) {
	case STEP_RENAME:
		return wort_index_rename(runner.pool, (const u8 *)"a", 1, (const u8 *)"b", 1);
	case STEP_DESTROY:
		return face_destroy(&runner, step->index);
	case STEP_CREATE:
		return face_open(&runner, step->index,
				 WORT_INDEX_OPEN_F_CREATE | WORT_INDEX_OPEN_F_EXCL);
	case STEP_CHECK:
		return check();
	case STEP_ATOMIC:
		return runner_atomic(&runner, step);
	case STEP_DEL:
		return face_del(&runner, 0, &world_keys[step->key]);
	case STEP_SETTLE:
		face_settle(&runner);
	}
	return 0;
}

static void alone(struct happened *h)
{
	begun(h);
	clock_now++;
	switch (h->step.kind) {
	case STEP_GET:
	case STEP_LOOK:
		get(h);
		break;
	case STEP_PUT:
	case STEP_CAS:
		put(h);
		break;
	case STEP_HOLD:
		hold(h);
		break;
	case STEP_EXCHANGE:
		exchange(h);
		break;
	case STEP_DEL_IF:
		delete_if(h);
		break;
	default:
		h->err = carry_out(&h->step);
	}
	ended(h);
	clock_now++;
}

static void in_batch(struct happened *h, u32 nr, const struct step *step)
{
	u32 i;

	for (i = 0; i < nr; i++)
		begun(&h[i]);
	clock_now++;
	batch(h, step);
	for (i = 0; i < nr; i++)
		ended(&h[i]);
	clock_now++;
}

/* Is a key of the index "a" one that a step is about? */
static bool is_about(const struct step *step, u32 key)
{
	const struct world_batch *batch = &world_atomics[step->key];
	u32 i;

	if (step->kind != STEP_ATOMIC)
		return step->key == key;
	for (i = 0; i < batch->nr; i++)
		if (!batch->step[i].index && batch->step[i].key == key &&
		    batch->step[i].kind != STEP_GET)
			return true;
	return false;
}

static bool happens_to(u32 key)
{
	u32 i;

	for (i = 0; i < nr_happened; i++)
		if (is_about(&happened[i].step, key))
			return true;
	return false;
}

/*
 * A scan answers for each key by itself, at some time while it lasts.  Those which
 * nobody changes have to be there as they were.
 */
static void scan(struct happened *h, u32 nr, const struct step *step)
{
	int values[NR_SCANNED];
	const char *bad;
	u32 i;

	for (i = 0; i < nr; i++)
		begun(&h[i]);
	clock_now++;
	bad = runner_scan(&runner, 0, step->value, values);
	for (i = 0; i < NR_KEYS && !bad; i++)
		if (!happens_to(i) && values[i] != world_before->index[0].value[i])
			bad = "a key that nobody changes";
	if (!bad && values[NR_KEYS] != world_before->index[0].crowd)
		bad = "a record of the crowd";
	for (i = 0; i < nr; i++) {
		h[i].err = bad ? -EIO : 0;
		h[i].value = values[h[i].step.key];
		ended(&h[i]);
	}
	clock_now++;
}

static void thread(u32 nr)
{
	const struct step *step = &steps_of_threads[nr];
	struct happened *h = of_thread(nr);

	if (step->kind == STEP_BATCH) {
		in_batch(h, world_batches[step->key].nr, step);
		return;
	}
	if (step->kind == STEP_SCAN) {
		scan(h, &happened[nr_happened] - h, step);
		return;
	}
	alone(h);
	if (step->kind == STEP_MOVE) {
		wort_pool_kick(runner.pool);
		face_settle(&runner);
		alone(h + 1);
	}
}

/* What changes indexes, or nothing. */
static void apply_to_pool(struct world *w, const struct step *step)
{
	if (step->kind == STEP_RENAME)
		w->index[1] = w->index[0];
	if (step->kind == STEP_RENAME || step->kind == STEP_DESTROY)
		memset(&w->index[step->index], 0, sizeof(w->index[0]));
	if (step->kind == STEP_CREATE)
		w->index[step->index].present = true;
}

static bool is_of_pool(const struct step *step)
{
	return step->kind == STEP_RENAME || step->kind == STEP_DESTROY ||
	       step->kind == STEP_CREATE || step->kind == STEP_CHECK ||
	       step->kind == STEP_SETTLE;
}

static int number_of_world(const struct world *w)
{
	int values[NR_KEYS];
	u32 i;

	for (i = 0; i < NR_KEYS; i++)
		values[i] = w->index[0].value[i];
	return number_of_all(values);
}

/* Carry a step out in a world; what it has to answer there. */
static int apply(struct world *w, const struct happened *h, int *value)
{
	u8 *now = &w->index[!w->index[0].present].value[h->step.key];
	u8 was = *now;

	*value = 0;
	if (is_of_pool(&h->step)) {
		apply_to_pool(w, &h->step);
		return 0;
	}
	if (!w->index[0].present && !w->index[1].present)
		return -ESTALE;
	if (h->step.kind == STEP_ATOMIC)
		return world_apply_atomic(w, &h->step);
	switch (h->step.kind) {
	case STEP_PUT:
		*now = h->step.value;
		return 0;
	case STEP_DEL:
		*now = 0;
		return was ? 0 : -ENOENT;
	case STEP_CAS:
		if (was == h->expect)
			*now = h->step.value;
		return was == h->expect ? 0 : was ? -ECANCELED : -ENOENT;
	case STEP_EXCHANGE:
		*now = h->step.value;
		*value = was;
		return 0;
	case STEP_DEL_IF:
		if (was == h->expect)
			*now = 0;
		return was == h->expect ? 0 : was ? -ECANCELED : -ENOENT;
	case STEP_GET:
	case STEP_LOOK:
	case STEP_SCAN:
		*value = was;
		return 0;
	case STEP_HOLD:
		*value = number_of_world(w);
		return 0;
	}
	return 0;
}

/* Worlds that some order of the steps explains. */
struct worlds {
	struct world world[MAX_EXPLAINED];
	u32 nr;
	u32 event;		/* when the power went */
};

static bool answered(const struct worlds *set, const struct happened *h)
{
	return h->ended && h->end_event <= set->event;
}

static void keep(struct worlds *set, const struct world *w)
{
	u32 i;

	for (i = 0; i < set->nr; i++)
		if (!memcmp(&set->world[i], w, sizeof(*w)))
			return;
	if (set->nr == MAX_EXPLAINED)
		abort();
	set->world[set->nr++] = *w;
}

/*
 * Must another step that is left come before this one?  Of a batch that is under
 * way any of its changes may be there.
 */
static bool too_early(const struct worlds *set, u32 nr, u32 left)
{
	u32 i;

	for (i = 0; i < nr_happened; i++) {
		const struct happened *h = &happened[i];

		if (!(left >> i & 1) || i == nr || !h->ended)
			continue;
		if (h->end < happened[nr].begin ||
		    (h->thread == happened[nr].thread && i < nr &&
		     h->step.kind != STEP_SCAN && answered(set, h)))
			return true;
	}
	return false;
}

static void order(struct worlds *set, const struct world *w, u32 left)
{
	bool all = true;
	u32 i;

	for (i = 0; i < nr_happened; i++) {
		const struct happened *h = &happened[i];
		struct world next = *w;
		int value, err;

		if (!(left >> i & 1))
			continue;
		all &= !answered(set, h);
		if (too_early(set, i, left))
			continue;
		err = apply(&next, h, &value);
		if (answered(set, h) && h->err == -ENOSPC)
			next = *w;
		else if (answered(set, h) && (err != h->err || value != h->value))
			continue;
		order(set, &next, left & ~(1u << i));
	}
	if (all)
		keep(set, w);
}

/* What may be there if the power goes before an event. */
static void explain(struct worlds *set, const struct world *before, u32 event)
{
	u32 i, left = 0;

	set->nr = 0;
	set->event = event;
	for (i = 0; i < nr_happened; i++)
		if (happened[i].begun && happened[i].begin_event <= event)
			left |= 1u << i;
	order(set, before, left);
}

/*
 * Are slots at hand, as in a pool that was used for a while?  Not where what is given back
 * has to be used again at once; and in pools that are not settled extents are opened
 * beside each other.
 */
static bool is_warm(const struct spot *spot)
{
	u32 i;

	for (i = 0; i < spot->nr_steps; i++)
		if (spot->steps[i].kind == STEP_MOVE)
			return false;
	return !spot->start->unsettled;
}

static void warm(const struct spot *spot)
{
	struct wort_pool *pool = runner.pool;
	struct wort_op op;
	u32 i;

	/* One operation could not reserve them all (WORT_RESERVE_MAX). */
	for (i = 0; i < ENGINE_SIZES && spot->start->sizes[i]; i++) {
		wort_op_begin(&op, &runner.region, &pool->alloc);
		wort_alloc_reserve(&op, spot->start->sizes[i]);
		wort_op_end(&op);
	}
}

/*
 * The first operation waits for a rebuild, which the others cannot see.  A thread that waited
 * would do all that the background has to do, in each schedule.
 */
static void rebuild(void)
{
	struct wort_pool *pool = runner.pool;
	u32 i;

	for (i = 0; i < NR_INDEXES; i++)
		if (runner.index[i] && runner.index[i]->unbuilt)
			list_add_tail(&runner.index[i]->rebuild, &pool->rebuild);
	mutex_lock(&pool->work_lock);
	wort_rebuild_all(pool);
	mutex_unlock(&pool->work_lock);
}

static bool (*shares)(const struct wort_tree *tree, const void *at);

static bool is_shared(const void *at)
{
	u32 i;

	for (i = 0; i < NR_INDEXES; i++)
		if (runner.index[i] && shares(&runner.index[i]->tree, at))
			return true;
	return false;
}

/* The opening of the index "a" is one of "b" after a rename, and of none after a destroy. */
static void leave_name(void)
{
	u32 i;

	for (i = 0; i < nr_happened; i++) {
		if (happened[i].err)
			continue;
		if (happened[i].step.kind == STEP_DESTROY)
			face_close(&runner, 0);
		if (happened[i].step.kind != STEP_RENAME)
			continue;
		runner.index[1] = runner.index[0];
		runner.index[0] = NULL;
	}
}

/* Run the steps by one schedule; NULL, or what nothing explains. */
static const char *run(const struct spot *spot)
{
	struct list_head *works = shim_works;
	static struct worlds set;
	const char *bad = "no order of the steps explains the answers";
	LIST_HEAD(mine);
	u32 i;

	shim_works = &mine;
	runner = (struct runner){ .region = region_of(tracer) };
	if (runner_attach(&runner))
		fail(spot, "the starting pool does not attach");
	while (!spot->start->unsettled && shim_run_work())
		;
	rebuild();
	if (is_warm(spot))
		warm(spot);
	clock_now = 0;
	tracer_record(tracer);
	shares = spot->start->shares;
	trace_shared = shares ? is_shared : NULL;
	sched_run(nr_threads, thread);
	trace_shared = NULL;
	tracer_stop(tracer);
	leave_name();
	explain(&set, &spot->start->world, tracer->nr_events);
	for (i = 0; i < set.nr && bad; i++)
		bad = runner_compare(&runner, &set.world[i]);
	if (!bad)
		bad = runner_check(&runner, false) ?: given_back(&runner);
	if (!bad)
		runner_detach(&runner);
	shim_works = works;
	return bad;
}

/* Of all that tells what a power cut leaves, and what may then be there. */
static u64 schedule_hash(const struct spot *spot)
{
	return tracer_events_hash(tracer) ^
	       xxh64(happened, nr_happened * sizeof(*happened),
		     spot->start->hash);
}

static u32 nr_points(void)
{
	u32 i, nr = 1;

	for (i = 0; i < tracer->nr_events; i++)
		nr += tracer->events[i].kind == EVENT_FENCE;
	return nr;
}

/* Two of three schedules differ in nothing that reaches the pool. */
static void crash_points(struct spot *spot)
{
	const struct world *list[MAX_EXPLAINED];
	static struct worlds set;
	u32 i, j;

	if (!crash_points_new(schedule_hash(spot))) {
		tally_add(&tally->crash_points, nr_points());
		return;
	}
	tracer_load(tracer, spot->start->image, spot->start->hash);
	for (i = 0; i <= tracer->nr_events; i++) {
		spot->event = i;
		if (i == tracer->nr_events ||
		    tracer->events[i].kind == EVENT_FENCE) {
			explain(&set, &spot->start->world, i);
			for (j = 0; j < set.nr; j++)
				list[j] = &set.world[j];
			crash_point(spot, list, set.nr);
		}
		if (i < tracer->nr_events)
			tracer_advance(tracer, i);
	}
}

static void begin_step(const struct spot *spot, const struct step *step,
		       u32 nr)
{
	struct happened *h = &happened[nr_happened++];
	u8 now = spot->start->world.index[0].value[step->key];

	h->step = *step;
	h->thread = nr;
	h->expect = now ? now : 1;
}

/* Something else with the value of a key, which is to go. */
static struct step moved(const struct spot *spot, u32 from)
{
	const u8 *value = spot->start->world.index[0].value;
	u32 to = 0;

	while (to < NR_KEYS - 1 && value[to])
		to++;
	return (struct step){ STEP_PUT, 0, to, value[from] };
}

static void begin_move(const struct spot *spot, u32 key, u32 nr)
{
	struct step del = { STEP_DEL, 0, key, 0 }, put = moved(spot, key);

	begin_step(spot, &del, nr);
	begin_step(spot, &put, nr);
}

/* The last one: it answers for what the others change. */
static void begin_scan(const struct spot *spot, u32 nr)
{
	struct step step = { STEP_SCAN, 0, 0, 0 };
	u32 others = nr_happened;

	for (; step.key < NR_KEYS; step.key++)
		if (happens_to(step.key))
			begin_step(spot, &step, nr);
	step.key = 0;
	if (nr_happened == others)
		begin_step(spot, &step, nr);
}

static void begin(const struct spot *spot)
{
	u32 i, j;

	tracer = spot->t;
	steps_of_threads = spot->steps;
	world_before = &spot->start->world;
	nr_threads = spot->nr_steps;
	nr_happened = 0;
	memset(happened, 0, sizeof(happened));
	for (i = 0; i < nr_threads; i++) {
		const struct step *step = &spot->steps[i];
		const struct world_batch *b = &world_batches[step->key];

		if (step->kind == STEP_MOVE)
			begin_move(spot, step->key, i);
		else if (step->kind == STEP_SCAN)
			begin_scan(spot, i);
		else if (step->kind != STEP_BATCH)
			begin_step(spot, step, i);
		for (j = 0; step->kind == STEP_BATCH && j < b->nr; j++)
			begin_step(spot, &b->step[j], i);
	}
}

static void one_schedule(struct spot *spot)
{
	const char *bad;

	limit_time(SEQUENCE_SECONDS);
	begin(spot);
	tracer_load(tracer, spot->start->image, spot->start->hash);
	tracer_reset(tracer, tracer->model);
	spot->event = 0;
	bad = run(spot);
	if (bad)
		fail(spot, bad);
	tally_add(&tally->schedules, 1);
	crash_points(spot);
}

void explore_beside(const struct start *start, enum memory_model model,
		    const struct step *steps, u32 nr, u32 preemptions)
{
	struct spot spot = {
		.t = &tracers_of_explorer[0], .start = start, .steps = steps,
		.nr_steps = nr, .beside = true,
	};
	const struct spot *before = set_current(&spot);

	start_use(start);
	spot.t->model = model;
	sched.preemptions = preemptions;
	sched.nr_decisions = 0;
	do
		one_schedule(&spot);
	while (sched_next());
	set_current(before);
}

void explore_schedule(const struct start *start, enum memory_model model,
		      const struct step *steps, u32 nr, u32 preemptions,
		      const char *schedule)
{
	struct spot spot = {
		.t = &tracers_of_explorer[0], .start = start, .steps = steps,
		.nr_steps = nr, .beside = true,
	};
	u32 n = 0;

	start_use(start);
	spot.t->model = model;
	sched.preemptions = preemptions;
	for (; schedule && *schedule && n < SCHED_DECISIONS; n++) {
		sched.decisions[n].taken = atoi(schedule);
		schedule = strchr(schedule, ',');
		schedule += !!schedule;
	}
	sched.nr_decisions = n;
	set_current(&spot);
	one_schedule(&spot);
}

void print_schedule(FILE *out)
{
	u32 i, nr = sched.nr_decisions;

	while (nr && !sched.decisions[nr - 1].taken)
		nr--;
	for (i = 0; i < nr; i++)
		fprintf(out, "%s%u", i ? "," : "", sched.decisions[i].taken);
}

static bool changes(const struct step *step)
{
	return (step->kind <= STEP_BATCH || step->kind == STEP_ATOMIC) && !step->index;
}

/* Batches are long: of two of them only those with neighbouring numbers. */
static bool worth(const struct step *steps)
{
	return changes(&steps[1]) &&
	       (steps[0].kind != STEP_BATCH ||
		steps[1].kind != STEP_BATCH || steps[1].key == steps[0].key + 1);
}

/* Unless the explorer was asked for others. */
static void explore_some(const struct start *start, enum memory_model model,
			 const struct step *steps, u32 nr, u32 preemptions)
{
	if (is_wanted(steps, nr))
		explore_beside(start, model, steps, nr, preemptions);
}

/* Whoever is at a record, or beside it, while what it was in is used again. */
static void explore_moves(const struct start *start, enum memory_model model,
			  u32 preemptions, u32 worker, u32 workers)
{
	u32 i, number = 0;
	u8 key;

	for (key = 0; key < NR_KEYS; key++) {
		u8 beside = (key ^ 1) % NR_KEYS;
		const struct step others[] = {
			{ STEP_LOOK, 0, key, 0 }, { STEP_LOOK, 0, beside, 0 },
			{ STEP_GET, 0, key, 0 }, { STEP_GET, 0, beside, 0 },
			{ STEP_DEL, 0, beside, 0 }, { STEP_CAS, 0, beside, 2 },
		};

		if (!start->world.index[0].value[key])
			continue;
		for (i = 0; i < ARRAY_SIZE(others); i++) {
			struct step steps[] = {
				{ STEP_MOVE, 0, key, 0 }, others[i],
			};

			if (number++ % workers == worker)
				explore_some(start, model, steps, 2, preemptions);
		}
	}
}

/* A key that a step changes in the index "a"; of a batch the first one, or the last. */
static u8 key_of(const struct step *step, bool last)
{
	const struct world_batch *batch;
	u32 i, nr;

	if (step->kind != STEP_ATOMIC && step->kind != STEP_BATCH)
		return step->key;
	batch = step->kind == STEP_ATOMIC ? &world_atomics[step->key] :
					    &world_batches[step->key];
	nr = batch->nr;
	for (i = 0; i < nr; i++) {
		const struct step *one = &batch->step[last ? nr - 1 - i : i];

		if (!one->index && one->kind != STEP_GET)
			return one->key;
	}
	return 0;
}

/* Two writers and a reader of what one of them is at: neighbours in the list. */
static void explore_three(const struct start *start, enum memory_model model,
			  u32 preemptions, u32 worker, u32 workers)
{
	u32 i, number = 0;

	for (i = 0; i + 1 < start->nr_steps; i++) {
		struct step steps[] = {
			start->steps[i], start->steps[i + 1],
			{ i & 1 ? STEP_GET : STEP_LOOK, 0,
			  key_of(&start->steps[i + (i >> 1 & 1)], false), 0 },
		};

		if (!changes(&steps[0]) || !changes(&steps[1]) ||
		    steps[1].kind == STEP_BATCH || steps[0].kind == STEP_ATOMIC ||
		    steps[1].kind == STEP_ATOMIC)
			continue;
		if (number++ % workers == worker)
			explore_some(start, model, steps, 3, preemptions);
	}
}

/*
 * An atomic batch with a reader of one of its records and then one of another, or a
 * scan: who has seen one of them finds all.
 */
static void explore_atomics(const struct start *start, enum memory_model model,
			    u32 preemptions, u32 worker, u32 workers)
{
	u32 i, j, number = 0;

	for (i = 0; i < start->nr_steps; i++) {
		const struct step *step = &start->steps[i];
		bool atomic = step->kind == STEP_ATOMIC;
		u8 first = atomic ? key_of(step, false) : 0;
		u8 last = atomic ? key_of(step, true) : 0;
		const struct step others[] = {
			{ STEP_GET, 0, last, 0 }, { STEP_LOOK, 0, last, 0 },
			{ STEP_SCAN, 0, 0, 0 }, { STEP_CAS, 0, last, 7 },
		};

		for (j = 0; j < ARRAY_SIZE(others) && atomic; j++) {
			struct step steps[] = {
				*step,
				{ j & 1 ? STEP_LOOK : STEP_GET, 0, first, 0 },
				others[j],
			};

			if (number++ % workers == worker)
				explore_some(start, model, steps, 3, preemptions);
		}
	}
}

/*
 * A batch of single changes, which look at gates since an atomic batch was there before,
 * and an atomic batch with a condition that one of the changes may fulfil.
 */
static void explore_conditions(const struct start *start, enum memory_model model,
			       u32 preemptions, u32 worker, u32 workers)
{
	const struct step *first = NULL, *last = NULL;
	u32 i, number = 0;

	for (i = 0; i < start->nr_steps; i++) {
		if (start->steps[i].kind != STEP_ATOMIC)
			continue;
		first = first ?: &start->steps[i];
		last = &start->steps[i];
	}
	for (i = 0; i < start->nr_steps && first; i++) {
		struct step steps[] = { *first, start->steps[i], *last };

		if (steps[1].kind == STEP_BATCH && number++ % workers == worker)
			explore_some(start, model, steps, 3, preemptions);
	}
}

/*
 * Writers and readers of an index while it gets another name; a reader that may be in
 * the old root record while a writer is in the new one.
 */
static void explore_renames(const struct start *start, enum memory_model model,
			    u32 preemptions, u32 worker, u32 workers)
{
	const struct step others[] = {
		{ STEP_PUT, 0, 0, 2 }, { STEP_PUT, 0, 2, 3 }, { STEP_DEL, 0, 0, 0 },
		{ STEP_GET, 0, 0, 0 }, { STEP_LOOK, 0, 0, 0 }, { STEP_BATCH, 0, 1, 0 },
	};
	u32 i, number = 0;

	if (!start->world.index[0].present || start->world.index[1].present ||
	    start->engine_b)
		return;
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		struct step steps[] = { { STEP_RENAME, 0, 0, 0 }, others[i] };

		if (number++ % workers == worker)
			explore_some(start, model, steps, 2, preemptions);
	}
	for (i = 0; i < NR_KEYS; i++) {
		struct step steps[] = {
			{ STEP_RENAME, 0, 0, 0 }, { STEP_DEL, 0, i, 0 },
			{ STEP_SCAN, 0, 0, 0 },
		};

		if (start->world.index[0].value[i] && number++ % workers == worker)
			explore_some(start, model, steps, 3, preemptions);
	}
}

/*
 * Changes and lookups while their index is destroyed, and what it had is given back; while
 * another one is made; and while a check counts all that is there.
 */
static void explore_catalogue(const struct start *start, enum memory_model model,
			      u32 preemptions, u32 worker, u32 workers)
{
	const struct step beside[] = {
		{ STEP_DESTROY, 0, 0, 0 }, { STEP_CREATE, 1, 0, 0 },
		{ STEP_CHECK, 0, 0, 0 },
	};
	const struct step others[] = {
		{ STEP_PUT, 0, 0, 2 }, { STEP_PUT, 0, 2, 3 }, { STEP_DEL, 0, 0, 0 },
		{ STEP_GET, 0, 0, 0 }, { STEP_LOOK, 0, 0, 0 }, { STEP_BATCH, 0, 1, 0 },
		{ STEP_DESTROY, 0, 0, 0 },
	};
	u32 i, number = 0;

	if (!start->world.index[0].present || start->world.index[1].present)
		return;
	for (i = 0; i < ARRAY_SIZE(beside) * ARRAY_SIZE(others); i++) {
		struct step steps[] = {
			beside[i / ARRAY_SIZE(others)], others[i % ARRAY_SIZE(others)],
			{ STEP_SETTLE, 0, 0, 0 },
		};
		u32 nr = steps[0].kind == STEP_DESTROY ? 3 : 2;

		if (steps[1].kind == steps[0].kind)
			continue;
		if (number++ % workers == worker)
			explore_some(start, model, steps, nr, preemptions);
	}
}

/*
 * Each two changes; each change with lookups of its key and of one beside it, and
 * with a scan; each change beside the background, and while the pool is held.
 */
void explore_all_beside(const struct start *start, enum memory_model model,
			u32 preemptions, u32 worker, u32 workers)
{
	u32 i, j, number = 0;

	explore_moves(start, model, preemptions, worker, workers);
	explore_three(start, model, preemptions, worker, workers);
	explore_atomics(start, model, preemptions, worker, workers);
	explore_conditions(start, model, preemptions, worker, workers);
	explore_renames(start, model, preemptions, worker, workers);
	explore_catalogue(start, model, preemptions, worker, workers);
	for (i = 0; i < start->nr_steps; i++) {
		struct step steps[2] = { start->steps[i] };

		if (!changes(&steps[0]))
			continue;
		for (j = 0; j < start->nr_steps + NR_OTHERS; j++) {
			bool many = steps[0].kind == STEP_ATOMIC ||
				    steps[0].kind == STEP_BATCH;
			u8 key = key_of(&steps[0], false);
			u8 beside = many ? key_of(&steps[0], true) : (key ^ 1) % NR_KEYS;
			const struct step others[NR_OTHERS] = {
				{ STEP_GET, 0, key, 0 },
				{ STEP_GET, 0, beside, 0 },
				{ STEP_LOOK, 0, key, 0 },
				{ STEP_LOOK, 0, beside, 0 },
				{ STEP_SETTLE, 0, 0, 0 },
				{ STEP_SCAN, 0, 0, i & 1 },
				{ STEP_HOLD, 0, 0, 0 },
			};
			u32 k = j - NR_OTHERS;

			steps[1] = j < NR_OTHERS ? others[j] : start->steps[k];
			if (j >= NR_OTHERS && (k < i || !worth(steps)))
				continue;
			if (number++ % workers != worker)
				continue;
			explore_some(start, model, steps, 2, preemptions);
		}
	}
}
