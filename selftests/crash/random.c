// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many changes beside each other, by schedules that chance makes.
 *
 * Each thread has keys of its own, and changes them, one after the other or several at
 * once.  So it knows what they answer, and of the keys of others which versions they
 * may have.  Such a run meets faults that take several changes of the structure and
 * several preemptions: all schedules of so much would be too many.  A number stands
 * for a run, and repeats it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "explore.h"
#include "sched.h"

#define NR_THREADS	SCHED_THREADS
#define NR_OWN		16U		/* keys of a thread */
#define NR_IDS		(NR_OWN * NR_THREADS)
#define KEY_MAX		24
#define VALUE_MAX	48

/* Of each key: the version begun, and the one acknowledged; odd: it is there. */
static struct {
	u32 begun, acked;
} keys[NR_IDS];

static struct runner runner;
static const struct spot *spot_now;
static u64 random_state;
static u32 nr_changes;

static u32 pick(u32 n)
{
	return sched_draw(&random_state, n);
}

/*
 * Of one kind each bit of the id is a digit, so that nodes have two entries; others have
 * much in common.
 */
static u32 make_key(u32 id, u8 *key)
{
	u32 len = 0, bit;

	switch (id / NR_THREADS % 3) {
	case 0:
		key[len++] = 'a';
		for (bit = 0; bit < 8; bit++)
			key[len++] = (id >> bit & 1) << 4;
		break;
	case 1:
		memcpy(key, "a common prefix", 15);
		len = 15;
		break;
	default:
		key[len++] = 'b';
		key[len++] = id % 5;
		memset(key + len, 0x55, 10);
		len += 10;
	}
	key[len++] = id;
	return len;
}

/* One of some lengths, so that values are changed in place, and objects. */
static u32 make_value(u32 id, u32 version, u8 *value)
{
	memset(value, id ^ version, VALUE_MAX);
	memcpy(value, &version, sizeof(version));
	return version % 8 == 3 ? VALUE_MAX : sizeof(u64);
}

__attribute__((noreturn))
static void wrong(u32 id, u32 version, const char *what, int err)
{
	char why[128];

	snprintf(why, sizeof(why), "key %u, version %u: %s: %d", id, version, what, err);
	fail(spot_now, why);
}

static u32 version_of(u32 id, const u8 *value, u32 len)
{
	u8 want[VALUE_MAX];
	u32 version;

	memcpy(&version, value, sizeof(version));
	if (len != make_value(id, version, want) || memcmp(value, want, len))
		wrong(id, version, "another value", len);
	return version;
}

/* A key has the version that is acknowledged, one that is begun, or one between them. */
static void look(u32 id)
{
	u32 before = keys[id].acked, after, len, version;
	u8 bytes[KEY_MAX], value[WORLD_VALUE_MAX];
	struct world_bytes key = { bytes, make_key(id, bytes) };
	int err = (pick(2) ? face_look : face_lookup)(&runner, 0, &key, value,
						      sizeof(value), &len);

	after = keys[id].begun;
	if (err == -ENOENT && (before % 2 == 0 || before != after))
		return;
	if (err)
		wrong(id, before, "lookup", err);
	version = version_of(id, value, len);
	if (version < before || version > after || version % 2 == 0)
		wrong(id, version, "not the version acknowledged", before);
}

/* The next version of a key. */
struct change {
	u32 id;
	u32 version;
	u8 key[KEY_MAX];
	u8 value[VALUE_MAX];
	struct wort_request req;
};

static void change_begin(struct change *c, u32 id)
{
	u32 version = keys[id].acked + 1, len = make_key(id, c->key);

	if (version % 2 == 0 && !pick(3))
		version++;
	c->id = id;
	c->version = version;
	keys[id].begun = version;
	c->req = (struct wort_request){
		.op = { .rec_len = 1, .op = WORT_BATCH_DELETE, .key_len = len },
		.put.key = { c->key, len },
	};
	if (version % 2 == 0)
		return;
	c->req.put.value = (struct wort_value){ c->value, make_value(id, version, c->value) };
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
}

static void change(u32 id)
{
	struct change c;
	struct world_bytes key = { c.key, 0 }, value = { c.value, 0 };

	change_begin(&c, id);
	key.len = c.req.op.key_len;
	value.len = c.req.op.value_len;
	change_end(&c, c.version % 2 ? face_put(&runner, 0, &key, &value, NULL) :
				       face_del(&runner, 0, &key));
}

/* Neighbours, in a batch, or in an atomic one. */
static void change_some(u32 thread)
{
	u32 nr = 1 + pick(NR_OWN), first = pick(NR_OWN), i;
	struct wort_index *indexes[NR_OWN];
	struct wort_request reqs[NR_OWN];
	struct wort_atomic atomic = { .nr_ops = nr, .reqs = reqs, .indexes = indexes };
	struct wort_batch batch = { .nr_ops = nr, .reqs = reqs, .write = true };
	struct change changes[NR_OWN];
	bool all = pick(2);
	int err;

	for (i = 0; i < nr; i++) {
		change_begin(&changes[i], (first + i) % NR_OWN * NR_THREADS + thread);
		reqs[i] = changes[i].req;
		indexes[i] = runner.index[0];
	}
	err = all ? wort_pool_atomic(runner.pool, &atomic) :
		    wort_index_batch(runner.index[0], &batch);
	for (i = 0; i < nr; i++)
		change_end(&changes[i], all || i >= batch.done ? err : reqs[i].err);
}

/* What engines keep in DRAM goes, and what was freed is used again. */
static void give_back(void)
{
	wort_pool_shrink(runner.pool, wort_pool_spare_bytes(runner.pool) / (1 + pick(2)));
	face_settle(&runner);
}

static void thread(u32 nr)
{
	u32 i, id;

	for (i = 0; i < nr_changes; i++) {
		id = pick(NR_OWN) * NR_THREADS + nr;
		if (!pick(12))
			give_back();
		else if (!pick(5))
			change_some(nr);
		else
			change(id);
		look(id);
		look(pick(NR_IDS));
	}
}

/* Each load and store of DRAM that is told from others may be where another one goes on. */
static bool any(const void *at)
{
	return true;
}

static void begin(const struct start *start, struct tracer *t, u64 number)
{
	u32 id;

	/* Numbers one after another are no random ones. */
	random_state = (number + 1) * 0x9e3779b97f4a7c15ULL;
	pick(2);
	start_use(start);
	tracer_load(t, start->image, start->hash);
	tracer_reset(t, MODEL_X86);
	memset(keys, 0, sizeof(keys));
	runner = (struct runner){
		.region = {
			.base = t->mem, .size = IMAGE_SIZE,
			.flush = true, .line_order = true,
		},
	};
	if (runner_attach(&runner))
		fail(spot_now, "the starting pool does not attach");
	for (id = 0; id < NR_IDS; id++)
		if (pick(3))
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

void explore_random(const struct start *start, u64 number)
{
	struct spot spot = {
		.t = &tracers_of_explorer[0], .start = start, .random = number + 1,
	};
	const struct spot *before = set_current(&spot);
	struct list_head *works = shim_works;
	LIST_HEAD(mine);

	spot_now = &spot;
	shim_works = &mine;
	begin(start, spot.t, number);
	nr_changes = 4 + pick(28);
	sched.random = random_state;
	/* Who waits for another one counts its turns, which must not be too short. */
	sched.odds = 16 << pick(7);
	trace_shared = any;
	sched_run(NR_THREADS, thread);
	trace_shared = NULL;
	sched.random = 0;
	end();
	shim_works = works;
	set_current(before);
	tally_add(&tally->schedules, 1);
}
