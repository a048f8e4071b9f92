// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pools to start from, and the steps tried on each.  Those of an engine are in
 * selftests/engines.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "starts.h"

/* The catalogue, states, format. */
static const struct step pool_steps[] = {
	PUT(0, 1), PUT(1, 3), DEL(0), PUT_B(0, 1), PUT_B(1, 4),
	CREATE(0), CREATE(1), DESTROY(0), DESTROY(1), ONLY(STEP_REATTACH),
	ONLY(STEP_SETTLE), ONLY(STEP_CHECK), ONLY(STEP_DAMAGE),
	ONLY(STEP_FORMAT), RENAME(0), RENAME(1),
};

/* Space runs out, is given back, is used again. */
static const struct step full_steps[] = {
	PUT(0, 1), PUT(1, 1), PUT(0, 3), PUT(5, 4), DEL(0), DEL(1), DEL(5),
	BATCH(0), BATCH(1), CREATE(1), DESTROY(0), RENAME(0), ONLY(STEP_REATTACH),
	ONLY(STEP_SETTLE),
};

/* Two indexes with some records, for atomic batches. */
static const struct step atomic_todo[] = {
	CREATE(1), PUT(0, 1), PUT(5, 1), PUT_B(5, 3), PUT_B(7, 1),
};

/* Atomic batches, and what may come before and after them. */
static const struct step atomic_steps[] = {
	ATOMIC(0), ATOMIC(1), ATOMIC(2), ATOMIC(3), ATOMIC(4), ATOMIC(5), ATOMIC(7),
	PUT(0, 2), PUT(1, 3), PUT(5, 1), DEL(0), PUT_B(5, 3), PUT_B(0, 1), BATCH(6), BATCH(7),
	DESTROY(1), RENAME(0), ONLY(STEP_REATTACH), ONLY(STEP_SETTLE), ONLY(STEP_CHECK),
};

/* Atomic batches in pools where each may be the one that finds no space. */
static const struct step atomic_full_steps[] = {
	ATOMIC(0), ATOMIC(1), ATOMIC(2), ATOMIC(3), ATOMIC(4), ATOMIC(5), ATOMIC(6),
	PUT(0, 2), DEL(0), DEL(5), ONLY(STEP_REATTACH),
};

/* The engine whose pools are being made. */
static struct {
	const struct test_engine *engine;
	const struct engine_starts *starts;
	u64 attr;
	const struct test_engine *engine_b;
} making;

/* The next engine. */
static const struct test_engine *other_engine(void)
{
	u32 nr = making.engine - test_engines;

	return &test_engines[(nr + 1) % TEST_ENGINES_NR];
}

static void must(const char *bad, const char *where)
{
	if (!bad)
		return;
	fprintf(stderr, "FAILURE: the pool \"%s\" cannot be made: %s\n", where,
		bad);
	exit(1);
}

static struct start *start_new(struct start *list, u32 *nr, const char *name,
			       const struct step *steps, u32 nr_steps)
{
	struct start *s = &list[(*nr)++];

	if (*nr > MAX_STARTS)
		abort();
	memset(s, 0, sizeof(*s));
	s->name = name;
	if (making.attr && asprintf((char **)&s->name, "%s:%#llx", name,
				    (unsigned long long)making.attr) < 0)
		abort();
	s->engine = making.engine;
	s->attr = making.attr;
	s->engine_b = making.engine_b;
	s->sizes = making.starts->sizes;
	s->shares = making.starts->shares;
	s->steps = steps;
	s->nr_steps = nr_steps;
	s->image = malloc(IMAGE_SIZE);
	return s;
}

static void keep(struct tracer *t, struct start *s)
{
	memcpy(s->image, t->mem, IMAGE_SIZE);
}

/* Format, and make the index "a". */
static void begin(struct tracer *t, struct runner *r, struct start *s)
{
	static const struct step create_a = CREATE(0);
	struct wort_format_opts opts = { .label = "start" };

	start_use(s);
	memset(t->mem, 0xa5, IMAGE_SIZE);
	*r = (struct runner){
		.region = { .base = t->mem, .size = IMAGE_SIZE, .flush = true },
	};
	must(wort_pool_format(&r->region, &opts) ? "format" : NULL, s->name);
	must(runner_attach(r) ? "attach" : NULL, s->name);
	s->world.pool = true;
	while (shim_run_work())
		;
	must(runner_step(r, &s->world, &create_a), s->name);
}

static void steps(struct runner *r, struct start *s, const struct step *step,
		  u32 nr)
{
	for (; nr; nr--, step++)
		must(runner_step(r, &s->world, step), s->name);
	while (shim_run_work())
		;
}

static struct start *start_with(struct tracer *t, struct start *list, u32 *nr,
				const char *name, const struct step *todo,
				u32 nr_todo)
{
	struct start *s = start_new(list, nr, name, making.starts->steps,
				    making.starts->nr_steps);
	struct runner r;

	begin(t, &r, s);
	steps(&r, s, todo, nr_todo);
	runner_detach(&r);
	keep(t, s);
	return s;
}

static struct wort_index *open_of(struct runner *r, const char *name, u32 engine, u64 attr)
{
	struct wort_index *index = NULL;

	wort_index_open(r->pool, (const u8 *)name, strlen(name),
			WORT_INDEX_OPEN_F_CREATE, engine, attr, &index);
	return index;
}

static struct wort_index *open_new(struct runner *r, const char *name)
{
	return open_of(r, name, world_engine.id, world_engine.attr);
}

/* Of the default engine: each record takes an object, and so little or much space. */
static struct wort_index *open_fill(struct runner *r)
{
	return open_of(r, "fill", WORT_ENGINE_DEFAULT, 0);
}

/* At most @max records of @len bytes, until there is no space; how many. */
static u32 fill(struct wort_index *index, u32 base, u32 max, u32 len)
{
	u8 value[1024] = { 0 }, key[8] = { 0 };
	struct wort_put put = {
		.key = { key, sizeof(key) }, .value = { value, len },
	};
	u32 n;

	for (n = 0; n < max; n++) {
		key[6] = (base + n) >> 8;
		key[7] = base + n;
		if (wort_index_insert(index, &put))
			break;
	}
	return n;
}

/* Delete @nr records of "fill", beginning with @base; their space is given back. */
static void make_room(struct runner *r, struct start *s, struct wort_index *fill,
		      u32 base, u32 nr)
{
	u8 key[8] = { 0 };
	struct wort_key k = { key, sizeof(key) };

	for (; nr; nr--, base++, s->world.fill_records--) {
		key[6] = base >> 8;
		key[7] = base;
		must(wort_index_delete(fill, &k, NULL, NULL) ? "delete" : NULL, s->name);
	}
	while (shim_run_work())
		;
}

/*
 * Two indexes in a full pool, with room for some small objects, and some extents that
 * are free: each has had four large values.
 */
static void make_atomic_full(struct tracer *t, struct start *list, u32 *nr,
			     u32 nr_small, u32 nr_extents)
{
	struct wort_index *index;
	struct runner r;
	struct start *s;
	char *name;

	if (asprintf(&name, "atomic batches, room %u %u", nr_small, nr_extents) < 0)
		abort();
	s = start_new(list, nr, name, atomic_full_steps, ARRAY_SIZE(atomic_full_steps));
	s->max_len = 2;
	begin(t, &r, s);
	steps(&r, s, atomic_todo, ARRAY_SIZE(atomic_todo));
	index = open_fill(&r);
	s->world.fillers = 1;
	s->world.fill_records = fill(index, 0x8000, 1, 8);
	s->world.fill_records += fill(index, 0, 0x7000, 950);
	s->world.fill_records += fill(index, 0x8001, 0x7000, 8);
	make_room(&r, s, index, 0x8000, nr_small);
	make_room(&r, s, index, 16, 4 * nr_extents);
	wort_index_put(index);
	runner_detach(&r);
	keep(t, s);
}

/* Every slot of the catalogue is taken. */
static void make_many(struct tracer *t, struct start *list, u32 *nr)
{
	struct start *s = start_new(list, nr, "before the catalogue grows",
				    pool_steps, ARRAY_SIZE(pool_steps));
	struct runner r;
	char name[8];
	u32 i;

	begin(t, &r, s);
	for (i = 1; i < WORT_MEDIA_CATALOGUE_SLOTS; i++) {
		snprintf(name, sizeof(name), "x%u", i);
		wort_index_put(open_new(&r, name));
		s->world.fillers++;
	}
	runner_detach(&r);
	keep(t, s);
}

static void make_none(struct start *list, u32 *nr)
{
	static const struct step only_format[] = {
		ONLY(STEP_FORMAT), CREATE(0), PUT(0, 1),
	};
	struct start *s = start_new(list, nr, "no pool", only_format,
				    ARRAY_SIZE(only_format));

	memset(s->image, 0xa5, IMAGE_SIZE);
}

static void make_catalogue(struct tracer *t, struct start *list, u32 *nr)
{
	static const struct step todo[] = {
		CREATE(1), PUT(0, 1), PUT(1, 1), PUT_B(0, 1),
	};
	struct start *s = start_with(t, list, nr, "catalogue", todo,
				     ARRAY_SIZE(todo));

	s->steps = pool_steps;
	s->nr_steps = ARRAY_SIZE(pool_steps);
}

/* Attach the image of a pool, and end the walk. */
static void attach_image(struct tracer *t, struct runner *r, const struct start *s)
{
	*r = (struct runner){
		.region = { .base = t->mem, .size = IMAGE_SIZE, .flush = true },
	};
	memcpy(t->mem, s->image, IMAGE_SIZE);
	must(runner_attach(r) ? "attach" : NULL, s->name);
	while (shim_run_work())
		;
}

/* Bytes of a record of "fill" before its value, and of a node. */
#define FILL_HEAD	24
#define FILL_NODE	128
#define FILL_LARGE	952

/* Would an object of some size find space? */
static bool has_space(struct runner *r)
{
	struct wort_op op;
	int err = -ENOSPC;
	u32 size;

	for (size = 16; size <= 4096 && err == -ENOSPC; size += 16) {
		wort_op_begin(&op, &r->region, &r->pool->alloc);
		err = wort_alloc_reserve(&op, size);
		wort_op_end(&op);
	}
	return err != -ENOSPC;
}

/*
 * Leave no space but that of objects of these sizes, one each.  Large values take all
 * extents, then values of each size the free slots of open extents.  An insert may need a
 * node, so values that take the slots of nodes come last.
 */
static void fill_up(struct tracer *t, struct start *s, const u16 room[2])
{
	u32 *nr = &s->world.fill_records, nr_room, len;
	struct wort_index *index;
	struct runner r;

	start_use(s);
	attach_image(t, &r, s);
	index = open_fill(&r);
	s->world.fillers = 1;
	for (nr_room = 0; nr_room < 2 && room[nr_room]; nr_room++)
		*nr += fill(index, nr_room, 1, room[nr_room] - FILL_HEAD);
	*nr += fill(index, *nr, 0x7000, FILL_LARGE);
	for (len = 8; len + FILL_HEAD < FILL_NODE; len += 16)
		*nr += fill(index, *nr, 0x7000, len);
	for (len = FILL_LARGE; len + FILL_HEAD >= FILL_NODE; len -= 16)
		*nr += fill(index, *nr, 0x7000, len);
	must(has_space(&r) ? "it is not full" : NULL, s->name);
	make_room(&r, s, index, 0, nr_room);
	wort_index_put(index);
	runner_detach(&r);
	keep(t, s);
}

/* Full, but for one small object. */
static void make_full(struct tracer *t, struct start *list, u32 *nr)
{
	static const u16 room[2] = { 32 };
	struct start *s = start_with(t, list, nr, "full but one object", NULL, 0);

	fill_up(t, s, room);
	s->steps = full_steps;
	s->nr_steps = ARRAY_SIZE(full_steps);
}

#define LINE_OF(word)	((word) / (64 / sizeof(u64)))

/*
 * Apply the stores before that fence to the image, of a torn one those to the line of the
 * last store.  Return: false if the trace has fewer fences.
 */
static bool keep_stored(const struct tracer *t, struct start *s, u32 fences, bool torn)
{
	u64 *words = (u64 *)s->image;
	const struct event *e, *end;
	u32 last = 0;

	for (end = t->events; fences && end < t->events + t->nr_events; end++) {
		if (end->kind == EVENT_STORE)
			last = end->word;
		fences -= end->kind == EVENT_FENCE;
	}
	for (e = t->events; e < end; e++)
		if (e->kind == EVENT_STORE && (!torn || LINE_OF(e->word) == LINE_OF(last)))
			words[e->word] = e->val;
	return !fences;
}

/* The power goes in the last step.  False: it has not so many fences with this attribute word. */
static bool cut(struct tracer *t, struct start *s, const struct engine_start *of)
{
	const struct step *step = &of->steps[of->nr_steps - 1];
	struct world after = s->world;
	struct runner r;

	attach_image(t, &r, s);
	tracer_reset(t, MODEL_X86);
	tracer_record(t);
	must(runner_step(&r, &after, step), s->name);
	tracer_stop(t);
	runner_detach(&r);
	if (!keep_stored(t, s, of->fences, of->torn))
		return false;
	attach_image(t, &r, s);
	if (runner_compare(&r, &s->world))
		s->world = after;
	must(runner_compare(&r, &s->world), s->name);
	runner_detach(&r);
	return true;
}

/* Pools of an engine, with an attribute word. */
static void make_engine(struct tracer *t, struct start *list, u32 *nr)
{
	const struct engine_starts *of = making.starts;
	const struct engine_start *one;
	struct start *s;

	for (one = of->starts; one < of->starts + of->nr_starts; one++) {
		s = start_with(t, list, nr, one->name, one->steps,
			       one->nr_steps - !!one->fences);
		s->unsettled = one->unsettled;
		if (one->fences && !cut(t, s, one)) {
			--*nr;
			continue;
		}
		if (one->full)
			fill_up(t, s, one->room);
	}
}

/* Two indexes, of one engine and of two. */
static void make_atomic(struct tracer *t, struct start *list, u32 *nr)
{
	static const char *const name[] = {
		"atomic batches", "atomic batches, two engines",
		"atomic batches, not walked",
	};
	struct start *s;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(name); i++) {
		making.engine_b = i == 1 ? other_engine() : NULL;
		s = start_with(t, list, nr, name[i], atomic_todo, ARRAY_SIZE(atomic_todo));
		making.engine_b = NULL;
		s->steps = atomic_steps;
		s->nr_steps = ARRAY_SIZE(atomic_steps);
		s->unsettled = i == 2;
	}
}

/* Does something that is to fail in an atomic batch come? */
static bool fails(struct tracer *t, const struct start *s, const struct step *step)
{
	struct runner r;
	bool failed;

	attach_image(t, &r, s);
	face_fail(&r, step->value);
	runner_atomic(&r, step);
	failed = face_fail(&r, 0);
	runner_detach(&r);
	return failed;
}

/* Atomic batches in each of which one thing fails: all that can, one after the other. */
static void make_atomic_fails(struct tracer *t, struct start *list, u32 *nr, u8 what)
{
	struct start *s = start_with(t, list, nr, what == FAIL_MEMORY(0) ?
				     "atomic batches, no memory" :
				     "atomic batches, no space",
				     atomic_todo, ARRAY_SIZE(atomic_todo));
	struct step *steps = calloc(NR_ATOMICS * FAIL_MAX, sizeof(*steps)), *step = steps;
	u8 key, nth;

	for (key = 0; key < NR_ATOMICS; key++)
		for (nth = 1; nth < FAIL_MAX; nth++) {
			*step = (struct step){ STEP_ATOMIC, 0, key, what + nth };
			if (!fails(t, s, step))
				break;
			step++;
		}
	s->steps = steps;
	s->nr_steps = step - steps;
	s->max_len = 1;
}

static void make_all(struct tracer *t, struct start *list, u32 *nr)
{
	static const struct step settle = ONLY(STEP_SETTLE);
	/* Small objects and extents: with these some batches find no space. */
	static const u8 room[][2] = {
		{ 0, 0 }, { 0, 1 }, { 1, 1 }, { 0, 2 }, { 0, 3 }, { 1, 4 }, { 0, 5 },
		{ 0, 6 },
	};
	bool first = !*nr;
	u32 i;

	if (first)
		make_none(list, nr);
	start_with(t, list, nr, "empty", &settle, 1);
	if (first) {
		make_catalogue(t, list, nr);
		make_many(t, list, nr);
		make_full(t, list, nr);
	}
	make_engine(t, list, nr);
	make_atomic(t, list, nr);
	for (i = 0; i < ARRAY_SIZE(room); i++)
		make_atomic_full(t, list, nr, room[i][0], room[i][1]);
	make_atomic_fails(t, list, nr, FAIL_MEMORY(0));
	make_atomic_fails(t, list, nr, FAIL_SPACE(0));
}

bool start_is_empty(const struct start *s)
{
	u32 key;

	for (key = 0; key < NR_KEYS; key++)
		if (s->world.index[0].value[key])
			return false;
	return s->world.index[0].present && !s->world.index[0].crowd && !s->unsettled;
}

void start_use(const struct start *s)
{
	world_engine = (struct world_engine){
		.id = s->engine->id,
		.traits = s->engine->traits,
		.attr = s->attr,
	};
	world_engine_b = (struct world_engine){ };
	if (s->engine_b)
		world_engine_b = (struct world_engine){
			.id = s->engine_b->id,
			.traits = s->engine_b->traits,
		};
}

#define ENGINE_STARTS(symbol, ...)	&engine_starts_##symbol,

/* As test_engines[]. */
static const struct engine_starts *const engine_starts[] = {
	WORT_ENGINES(ENGINE_STARTS)
};

u32 starts_make(struct tracer *t, const struct test_engine *only,
		struct start **out)
{
	struct start *list = calloc(MAX_STARTS, sizeof(*list));
	u32 nr = 0, i, k;

	for (i = 0; i < TEST_ENGINES_NR; i++) {
		if (only && only != &test_engines[i])
			continue;
		making.engine = &test_engines[i];
		making.starts = engine_starts[i];
		for (k = 0; k < test_engines[i].nr_attrs; k++) {
			making.attr = test_engines[i].attrs[k];
			make_all(t, list, &nr);
		}
	}
	*out = list;
	return nr;
}

/* All of the default engine, and one of each other; nothing can be made to fail there. */
static bool is_written(const struct start *s)
{
	if (s->max_len)
		return false;
	return s->engine == &test_engines[0] || !strcmp(s->name, "empty");
}

int starts_write(const struct start *starts, u32 nr, const char *path)
{
	static struct world_start out;
	FILE *f = fopen(path, "w");
	bool good = f;
	u32 i;

	static_assert(WORLD_SIZE == IMAGE_SIZE);
	for (i = 0; i < nr && good; i++) {
		if (!is_written(&starts[i]))
			continue;
		start_use(&starts[i]);
		memset(&out, 0, sizeof(out));
		snprintf(out.name, sizeof(out.name), "%s", starts[i].name);
		out.world = starts[i].world;
		out.engine = world_engine;
		out.engine_b = world_engine_b;
		out.unsettled = starts[i].unsettled;
		out.nr_steps = starts[i].nr_steps;
		memcpy(out.steps, starts[i].steps,
		       out.nr_steps * sizeof(out.steps[0]));
		memcpy(out.image, starts[i].image, WORLD_SIZE);
		good = fwrite(&out, sizeof(out), 1, f) == 1;
	}
	if (f && fclose(f))
		good = false;
	return good ? 0 : -1;
}
