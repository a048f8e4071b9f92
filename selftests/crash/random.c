// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads that make many changes each, by random schedules.
 *
 * Each thread changes keys of its own, one after the other or several at once.  So it
 * knows what they answer, and of the keys of others which versions they may have.  Such
 * a run meets faults that take several changes of the structure and several
 * preemptions; of so many steps not all schedules can be run.
 *
 * Then the power goes at some events of the run, with one of the states that this can leave.
 * Each key has the version that was acknowledged by then, or seen, or the one that was
 * begun, and an atomic batch has changed all of its keys or none.  Life goes on from there.
 *
 * The number of a run determines all that happens in it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../kmod/pool/gate.h"
#include "../lib/owned.h"
#include "explore.h"
#include "sched.h"

#define NR_OWN		16U		/* keys of a thread */
#define NR_IDS		(NR_OWN * NR_OWNERS)
#define SCAN_BUF	(WORT_VALUE_MAX + 8192)	/* room for any record */
#define MAX_NOTES	16384U
#define CUTS		3U		/* of a run, on average */
#define EARLY_CUTS	8U		/* one in so many, after an early answer */
#define CHANGES_AFTER	12		/* a cut */

/*
 * Of each key: the version begun, and the one acknowledged; odd: it is there.  After a power
 * cut: the number of the atomic batch that has begun the version, or 0.
 */
static struct {
	u32 begun, acked, atomic;
} keys[NR_IDS];

/* What a power cut must or may leave, in the order of time. */
static struct note {
	enum note_kind { NOTE_BEGUN, NOTE_ACKED, NOTE_SEEN, NOTE_FAILED } kind;
	u32 event;		/* events recorded before it */
	u32 id, version;
	u32 atomic;		/* of an atomic batch: its number; else 0 */
	bool early;		/* seen, and not acknowledged yet */
} notes[MAX_NOTES];

static struct runner runner;
static struct spot *spot_now;
static u64 random_state;
static u32 nr_changes, nr_notes, nr_atomics;
static bool noting;

static u32 draw(u32 n)
{
	return pick(&random_state, n);
}

__attribute__((noreturn))
static void wrong(u32 id, u32 version, const char *what, int err)
{
	char why[128];

	snprintf(why, sizeof(why), "key %u, version %u: %s: %d", id, version, what, err);
	fail(spot_now, why);
}

static void note(enum note_kind kind, u32 id, u32 version, u32 atomic)
{
	if (!noting)
		return;
	if (nr_notes == MAX_NOTES)
		fail(spot_now, "more happens than can be noted");
	notes[nr_notes++] = (struct note){
		kind, tracer_events(spot_now->t), id, version, atomic,
		kind == NOTE_SEEN && version > keys[id].acked,
	};
}

static void verify_value(u32 id, const struct value *value, u32 len)
{
	struct value want;

	make_value(id, value->version, &want);
	if (len != value_len(value->version) || memcmp(value, &want, len))
		wrong(id, value->version, "another value", len);
}

/*
 * A key that had the version @before was not found.  If only one change has begun since, that
 * delete was seen, and must be durable.
 */
static void note_missing(u32 id, u32 before)
{
	if (before % 2 && keys[id].begun == before + 1)
		note(NOTE_SEEN, id, before + 1, 0);
}

/* A key has the version that is acknowledged, one that is begun, or one between them. */
static void look(u32 id)
{
	u32 before = keys[id].acked, after, len;
	struct value value = { };
	u8 bytes[MAX_KEY];
	struct world_bytes key = { bytes, make_key(id, bytes) };
	int err = (draw(2) ? face_look : face_lookup)(&runner, 0, &key, &value,
						      sizeof(value), &len);

	after = keys[id].begun;
	if (err == -ENOENT && (before % 2 == 0 || before != after)) {
		note_missing(id, before);
		return;
	}
	if (err)
		wrong(id, before, "lookup", err);
	verify_value(id, &value, len);
	if (value.version < before || value.version > after || value.version % 2 == 0)
		wrong(id, value.version, "not the version acknowledged", before);
	note(NOTE_SEEN, id, value.version, 0);
}

/* The owned key that these bytes are, or -1: it is one of the starting pool. */
static int id_of(const u8 *key, u32 len)
{
	u32 id = len < 2 ? NR_IDS : key[len - 2] << 8 | key[len - 1];
	u8 own[MAX_KEY];

	return id < NR_IDS && make_key(id, own) == len && !memcmp(own, key, len) ? (int)id : -1;
}

/* What a scan knows. */
struct scanned {
	u32 before[NR_IDS];	/* versions acknowledged when it began */
	bool seen[NR_IDS];
	u8 key[WORT_KEY_MAX];	/* the last one */
	u32 len;
};

static void see(struct scanned *s, const struct wort_record *rec, bool reverse)
{
	const u8 *key = (const u8 *)(rec + 1);
	struct value value = { };
	int id = id_of(key, rec->key_len), cmp;

	cmp = memcmp(key, s->key, min_t(u32, rec->key_len, s->len)) ?:
	      (int)rec->key_len - (int)s->len;
	if (s->len && (reverse ? cmp >= 0 : cmp <= 0))
		fail(spot_now, "a scan is out of order");
	memcpy(s->key, key, rec->key_len);
	s->len = rec->key_len;
	if (id < 0)
		return;
	s->seen[id] = true;
	memcpy(&value, key + rec->key_len, min_t(u32, rec->value_len, sizeof(value)));
	verify_value(id, &value, rec->value_len);
	if (value.version < s->before[id] || value.version > keys[id].begun)
		wrong(id, value.version, "a scan finds another version than", s->before[id]);
	note(NOTE_SEEN, id, value.version, 0);
}

/* A key that a scan does not find was not there, or has changed meanwhile. */
static void verify_unseen(const struct scanned *s)
{
	u32 id;

	for (id = 0; id < NR_IDS; id++) {
		if (s->seen[id])
			continue;
		if (s->before[id] % 2 && keys[id].begun == s->before[id])
			wrong(id, s->before[id], "a scan does not find it", 0);
		note_missing(id, s->before[id]);
	}
}

/* In parts. */
static void scan_all(u32 thread)
{
	static u8 bufs[NR_OWNERS][SCAN_BUF];
	static struct scanned all[NR_OWNERS];
	u32 reverse = draw(2) ? WORT_SCAN_F_REVERSE : 0, id, at;
	struct scanned *s = &all[thread];
	struct wort_key start = { .data = s->key };
	struct wort_scan scan;
	int err;

	memset(s, 0, sizeof(*s));
	for (id = 0; id < NR_IDS; id++)
		s->before[id] = keys[id].acked;
	do {
		scan = (struct wort_scan){
			.flags = reverse | (s->len ? WORT_SCAN_F_AFTER : 0),
			.start = s->len ? &start : NULL, .max = 1 + draw(NR_IDS),
			.buf = bufs[thread], .buf_len = SCAN_BUF,
		};
		start.len = s->len;
		err = wort_index_scan(runner.index[0], &scan);
		if (err == -EINTR)
			return;		/* waiting would never end */
		if (err)
			wrong(0, 0, "scan", err);
		for (at = 0; at < scan.len;
		     at += ((const struct wort_record *)(scan.buf + at))->rec_len)
			see(s, (const void *)(scan.buf + at), reverse);
	} while (scan.more);
	verify_unseen(s);
}

/* The next version of a key. */
struct change {
	u32 id;
	u32 version;
	u32 atomic;
	u8 key[MAX_KEY];
	struct value value;
	struct wort_request req;
};

static void change_begin(struct change *c, u32 id, u32 atomic)
{
	u32 version = keys[id].acked + 1, len = make_key(id, c->key);

	if (version % 2 == 0 && !draw(3))
		version++;
	c->id = id;
	c->version = version;
	c->atomic = atomic;
	keys[id].begun = version;
	note(NOTE_BEGUN, id, version, atomic);
	c->req = (struct wort_request){
		.op = { .rec_len = 1, .op = WORT_BATCH_DELETE, .key_len = len },
		.put.key = { c->key, len },
	};
	if (version % 2 == 0)
		return;
	make_value(id, version, &c->value);
	c->req.put.value = (struct wort_value){ &c->value, value_len(version) };
	c->req.op.op = WORT_BATCH_INSERT;
	c->req.op.value_len = c->req.put.value.len;
}

/* Without space, or where waiting would never end, nothing has changed. */
static void change_end(const struct change *c, int err)
{
	if (!err)
		keys[c->id].acked = c->version;
	else if (err == -ENOSPC || err == -EINTR)
		keys[c->id].begun = keys[c->id].acked;
	else
		wrong(c->id, c->version, "change", err);
	note(err ? NOTE_FAILED : NOTE_ACKED, c->id, c->version, c->atomic);
}

static void change(u32 id)
{
	struct change c;
	struct world_bytes key = { c.key, 0 }, value = { (u8 *)&c.value, 0 };

	change_begin(&c, id, 0);
	key.len = c.req.op.key_len;
	value.len = c.req.op.value_len;
	change_end(&c, c.version % 2 ? face_put(&runner, 0, &key, &value, NULL) :
				       face_del(&runner, 0, &key));
}

/* Neighbours, in a batch, or in an atomic one. */
static void change_some(u32 thread)
{
	u32 nr = 1 + draw(NR_OWN), first = draw(NR_OWN), i;
	struct wort_index *indexes[NR_OWN];
	struct wort_request reqs[NR_OWN];
	struct wort_atomic atomic = { .nr_ops = nr, .reqs = reqs, .indexes = indexes };
	struct wort_batch batch = { .nr_ops = nr, .reqs = reqs, .write = true };
	struct change changes[NR_OWN];
	bool all = draw(2);
	u32 number = all ? ++nr_atomics : 0;
	int err;

	for (i = 0; i < nr; i++) {
		change_begin(&changes[i], (first + i) % NR_OWN * NR_OWNERS + thread, number);
		reqs[i] = changes[i].req;
		indexes[i] = runner.index[0];
	}
	err = all ? wort_pool_atomic(runner.pool, &atomic) :
		    wort_index_batch(runner.index[0], &batch);
	for (i = 0; i < nr; i++)
		change_end(&changes[i], all || i >= batch.done ? err : reqs[i].err);
}

/*
 * Engines free what they keep in DRAM, operations forget the gates, and the pool gives
 * freed objects out again.
 */
static void give_back(void)
{
	/* The first call sees the batches that have been. */
	if (wort_gates_rest(runner.pool))
		wort_gates_rest(runner.pool);
	wort_pool_shrink(runner.pool, wort_pool_spare_bytes(runner.pool) / (1 + draw(2)));
	face_settle(&runner);
}

static void thread(u32 nr)
{
	u32 i, id;

	for (i = 0; i < nr_changes; i++) {
		id = draw(NR_OWN) * NR_OWNERS + nr;
		if (!draw(12))
			give_back();
		else if (!draw(5))
			change_some(nr);
		else if (!draw(5))
			scan_all(nr);
		else
			change(id);
		look(id);
		look(draw(NR_IDS));
	}
}

/* Threads are switched at volatile and atomic accesses to all of DRAM. */
static bool is_shared(const void *at)
{
	return true;
}

static void attach(struct tracer *t)
{
	runner = (struct runner){ .region = region_of(t) };
	if (runner_attach(&runner))
		fail(spot_now, "the pool does not attach");
}

static void begin(const struct start *start, struct tracer *t, u64 number)
{
	enum memory_model model;
	u32 id;

	/* The states of numbers that follow each other have nothing in common. */
	random_state = (number + 1) * 0x9e3779b97f4a7c15ULL;
	model = random_state >> 32 & 1 ? MODEL_ARM64 : MODEL_X86;
	start_use(start);
	tracer_load(t, start->image, start->hash);
	tracer_reset(t, model);
	memset(keys, 0, sizeof(keys));
	attach(t);
	for (id = 0; id < NR_IDS; id++)
		if (draw(3))
			change(id);
	face_settle(&runner);
}

static void end(void)
{
	const char *bad;
	u32 id;

	for (id = 0; id < NR_IDS; id++)
		look(id);
	bad = runner_check(&runner, false) ?: given_back(&runner);
	if (bad)
		fail(spot_now, bad);
	runner_detach(&runner);
}

/* Set keys[] to what was known when @event events had been recorded. */
static void known_at(u32 event)
{
	const struct note *n;

	for (n = notes; n < notes + nr_notes && n->event <= event; n++) {
		if (n->kind == NOTE_BEGUN)
			keys[n->id].begun = n->version;
		else if (n->kind == NOTE_FAILED)
			keys[n->id].begun = keys[n->id].acked;
		else	/* A reader that began earlier may report an older version later. */
			keys[n->id].acked = max(keys[n->id].acked, n->version);
		if (n->kind != NOTE_SEEN)
			keys[n->id].atomic = n->kind == NOTE_BEGUN ? n->atomic : 0;
	}
}

/* After a power cut a key must have the version acknowledged, or the one begun. */
static void verify_left(u32 id)
{
	u32 acked = keys[id].acked, begun = keys[id].begun, len;
	struct value value = { };
	u8 bytes[MAX_KEY];
	struct world_bytes key = { bytes, make_key(id, bytes) };
	int err = face_lookup(&runner, 0, &key, &value, sizeof(value), &len);

	if (err == -ENOENT) {
		if (acked % 2 && begun % 2)
			wrong(id, acked, "lost in a power cut", begun);
		keys[id].acked = acked % 2 ? begun : acked;
		return;
	}
	if (err)
		wrong(id, acked, "lookup after a power cut", err);
	verify_value(id, &value, len);
	if (value.version % 2 == 0 || (value.version != acked && value.version != begun))
		wrong(id, value.version, "after a power cut, instead of", acked);
	keys[id].acked = value.version;
}

/* Each atomic batch that was under way has changed all of its keys, or none. */
static void all_or_none(void)
{
	static bool met[MAX_NOTES + 1], done[MAX_NOTES + 1];
	bool changed;
	u32 id, nr;

	memset(met, 0, (nr_atomics + 1) * sizeof(*met));
	for (id = 0; id < NR_IDS; id++) {
		nr = keys[id].atomic;
		changed = keys[id].acked == keys[id].begun;
		if (nr && met[nr] && done[nr] != changed)
			wrong(id, keys[id].begun, "of an atomic batch a part, after a power cut",
			      nr);
		met[nr] = true;
		done[nr] = changed;
	}
}

/* The power goes before an event: what is left, and what can be done with it? */
static void cut(struct tracer *t, const u32 *versions, u32 event)
{
	const char *bad;
	u32 id;

	spot_now->event = event;
	memset(keys, 0, sizeof(keys));
	for (id = 0; id < NR_IDS; id++)
		keys[id].acked = keys[id].begun = versions[id];
	known_at(event);
	tracer_run_random(t, random_state);
	attach(t);
	if (draw(2))
		face_settle(&runner);
	for (id = 0; id < NR_IDS; id++)
		verify_left(id);
	all_or_none();
	for (id = 0; id < NR_IDS; id++)
		keys[id].begun = keys[id].acked;
	for (id = 0; id < CHANGES_AFTER; id++)
		change(draw(NR_IDS));
	face_settle(&runner);
	for (id = 0; id < NR_IDS; id++)
		look(id);
	bad = runner_check(&runner, false);
	if (bad)
		fail(spot_now, bad);
	runner_detach(&runner);
	tracer_run_end(t);
	tally_add(&tally->cuts, 1);
}

static void cut_some(struct tracer *t, const u8 *image, const u32 *versions)
{
	const struct note *n = notes;
	bool early;
	u32 i;

	tracer_load(t, image, tracer_hash(image));
	for (i = 0; i < t->nr_events; i++) {
		for (early = false; n < notes + nr_notes && n->event <= i; n++)
			early |= n->early;
		/* An answer that rests on a word in flight does so for a few events only. */
		if (draw(t->nr_events) < CUTS || (early && !draw(EARLY_CUTS)))
			cut(t, versions, i);
		tracer_advance(t, i);
	}
}

static void run_threads(struct tracer *t)
{
	nr_changes = 4 + draw(28);
	sched.random = random_state;
	/* A thread that waits gives up after many turns, so turns must not be too short. */
	sched.odds = 16 << draw(7);
	nr_notes = 0;
	nr_atomics = 0;
	trace_shared = is_shared;
	noting = true;
	tracer_record(t);
	sched_run(NR_OWNERS, thread);
	tracer_stop(t);
	noting = false;
	trace_shared = NULL;
	sched.random = 0;
}

void explore_random(const struct start *start, u64 number)
{
	static u8 image[IMAGE_SIZE];
	u32 versions[NR_IDS], id;
	struct spot spot = {
		.t = &tracers_of_explorer[0], .start = start, .random = number + 1,
		.event = UINT32_MAX,
	};
	const struct spot *before = set_current(&spot);
	struct list_head *works = shim_works;
	LIST_HEAD(mine);

	BUILD_BUG_ON(NR_OWNERS != SCHED_THREADS);
	spot_now = &spot;
	shim_works = &mine;
	begin(start, spot.t, number);
	for (id = 0; id < NR_IDS; id++)
		versions[id] = keys[id].acked;
	memcpy(image, spot.t->mem, IMAGE_SIZE);
	run_threads(spot.t);
	end();
	cut_some(spot.t, image, versions);
	shim_works = works;
	set_current(before);
	tally_add(&tally->schedules, 1);
}
