// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pools to start from, and the steps tried on each: so that every structure
 * change is one step away from one of them.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "starts.h"

#define PUT(k, v)	{ STEP_PUT, 0, k, v }
#define DEL(k)		{ STEP_DEL, 0, k, 0 }
#define CAS(k, v)	{ STEP_CAS, 0, k, v }
#define BATCH(n)	{ STEP_BATCH, 0, n, 0 }
#define CREATE(i)	{ STEP_CREATE, i, 0, 0 }
#define DESTROY(i)	{ STEP_DESTROY, i, 0, 0 }
#define PUT_B(k, v)	{ STEP_PUT, 1, k, v }
#define ONLY(s)		{ s, 0, 0, 0 }

/* Trees: each kind of split and merge, values of every kind. */
static const struct step tree_steps[] = {
	PUT(0, 1), PUT(1, 1), PUT(2, 1), PUT(3, 1), PUT(4, 1), PUT(5, 1),
	PUT(6, 1), PUT(7, 1), PUT(8, 1), PUT(9, 5), PUT(10, 1),
	PUT(0, 2), PUT(0, 3), PUT(0, 7), PUT(5, 4), PUT(3, 6), PUT(1, 3),
	PUT(2, 2), PUT(6, 7), PUT(4, 5),
	DEL(0), DEL(1), DEL(2), DEL(3), DEL(4), DEL(5), DEL(6), DEL(7), DEL(8),
	CAS(0, 2), CAS(5, 3), BATCH(0), BATCH(1), BATCH(2), BATCH(3), BATCH(4),
	BATCH(5), BATCH(6), BATCH(7), BATCH(8), BATCH(9), BATCH(10),
	ONLY(STEP_REATTACH), ONLY(STEP_SETTLE), ONLY(STEP_CHECK),
};

/* The catalogue, states, format. */
static const struct step pool_steps[] = {
	PUT(0, 1), PUT(1, 3), DEL(0), PUT_B(0, 1), PUT_B(1, 4),
	CREATE(0), CREATE(1), DESTROY(0), DESTROY(1), ONLY(STEP_REATTACH),
	ONLY(STEP_SETTLE), ONLY(STEP_CHECK), ONLY(STEP_DAMAGE),
	ONLY(STEP_FORMAT),
};

/* Space runs out, is given back, is used again. */
static const struct step full_steps[] = {
	PUT(0, 1), PUT(1, 1), PUT(0, 3), PUT(5, 4), DEL(0), DEL(1), DEL(5),
	BATCH(0), BATCH(1), CREATE(1), DESTROY(0), ONLY(STEP_REATTACH), ONLY(STEP_SETTLE),
};

static void must(const char *bad, const char *where)
{
	if (!bad)
		return;
	fprintf(stderr, "explorer: cannot make the pool \"%s\": %s\n", where,
		bad);
	exit(2);
}

static struct start *start_new(struct start *list, u32 *nr, const char *name,
			       const struct step *steps, u32 nr_steps)
{
	struct start *s = &list[(*nr)++];

	memset(s, 0, sizeof(*s));
	s->name = name;
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
	struct start *s = start_new(list, nr, name, tree_steps,
				    ARRAY_SIZE(tree_steps));
	struct runner r;

	begin(t, &r, s);
	steps(&r, s, todo, nr_todo);
	runner_detach(&r);
	keep(t, s);
	return s;
}

static struct wort_index *open_new(struct runner *r, const char *name)
{
	struct wort_index *index = NULL;

	wort_index_open(r->pool, (const u8 *)name, strlen(name),
			WORT_INDEX_OPEN_F_CREATE, 0, 0, &index);
	return index;
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

/* Full, but for one small object. */
static void make_full(struct tracer *t, struct start *list, u32 *nr)
{
	static const u8 last[8] = { 0, 0, 0, 0, 0, 0, 0x80, 0 };
	struct wort_key key = { last, sizeof(last) };
	struct start *s = start_new(list, nr, "full but one object", full_steps,
				    ARRAY_SIZE(full_steps));
	struct wort_index *index;
	struct runner r;

	begin(t, &r, s);
	index = open_new(&r, "fill");
	s->world.fillers = 1;
	s->world.fill_records = fill(index, 0x8000, 1, 8);
	s->world.fill_records += fill(index, 0, 0x7000, 950);
	s->world.fill_records += fill(index, 0x8001, 0x7000, 8);
	must(wort_index_delete(index, &key, NULL, NULL) ? "delete" : NULL, s->name);
	s->world.fill_records--;
	wort_index_put(index);
	while (shim_run_work())
		;
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

#define START(name, ...) ({						\
	static const struct step __todo[] = { __VA_ARGS__ };		\
	start_with(t, list, &nr, name, __todo, ARRAY_SIZE(__todo));	\
})

u32 starts_make(struct tracer *t, struct start **out)
{
	struct start *list = calloc(32, sizeof(*list)), *s;
	u32 nr = 0;

	make_none(list, &nr);
	s = START("empty", ONLY(STEP_SETTLE));
	s = START("catalogue", CREATE(1), PUT(0, 1), PUT(1, 1), PUT_B(0, 1));
	s->steps = pool_steps;
	s->nr_steps = ARRAY_SIZE(pool_steps);
	make_many(t, list, &nr);
	make_full(t, list, &nr);
	START("one leaf", PUT(0, 1));
	START("node of two", PUT(0, 1), PUT(1, 1));
	/* Keys 0 and 1 are neighbours, their leaves are not. */
	START("ends", PUT(3, 1), PUT(0, 1), PUT(8, 1), PUT(4, 1), PUT(9, 1),
	      PUT(10, 1), PUT(2, 1), PUT(1, 1), DEL(4), DEL(9), DEL(10),
	      DEL(2));
	START("long prefix", PUT(5, 1), PUT(6, 1));
	START("long prefix, split", PUT(5, 1), PUT(6, 1), PUT(7, 1), PUT(4, 1));
	START("nodes below a node", PUT(0, 1), PUT(1, 1), PUT(2, 1), PUT(4, 1),
	      PUT(5, 4), PUT(6, 3));
	START("every kind of value", PUT(0, 1), PUT(1, 3), PUT(2, 4), PUT(5, 7),
	      PUT(9, 5), PUT(3, 6));
	START("all keys", PUT(0, 1), PUT(1, 1), PUT(2, 1), PUT(3, 1),
	      PUT(4, 1), PUT(5, 1), PUT(6, 1), PUT(7, 1), PUT(8, 1), PUT(9, 1));
	START("all keys, long values", PUT(9, 3), PUT(8, 7), PUT(7, 3),
	      PUT(6, 7), PUT(5, 3), PUT(4, 7), PUT(3, 3), PUT(2, 7), PUT(1, 3),
	      PUT(0, 7));
	START("after deletes", PUT(0, 1), PUT(1, 1), PUT(2, 1), PUT(5, 1),
	      PUT(6, 1), PUT(7, 1), DEL(1), DEL(5), DEL(2));
	START("ends below ends", PUT(3, 1), PUT(8, 6), PUT(7, 1), PUT(5, 1),
	      PUT(1, 1));
	START("odd place", PUT(0, 1), PUT(2, 1), PUT(6, 1));
	START("root of many", PUT(0, 1), PUT(4, 1), PUT(5, 1), PUT(6, 1), PUT(9, 1));
	START("node of three", PUT(0, 1), PUT(1, 6), PUT(4, 3), PUT(10, 1));
	START("beginnings in common", PUT(5, 1), PUT(6, 3), PUT(7, 1), PUT(8, 2),
	      PUT(3, 1), PUT(2, 5));
	START("after replaces", PUT(0, 1), PUT(0, 3), PUT(5, 4), PUT(5, 3),
	      PUT(1, 1), PUT(1, 7), PUT(9, 2));
	START("after moves", PUT(0, 2), PUT(4, 1), PUT(5, 3), PUT(6, 1), DEL(4),
	      PUT(9, 4), PUT(0, 3), DEL(6), PUT(7, 6), PUT(1, 7));
	START("all but one", PUT(10, 2), PUT(9, 1), PUT(8, 3), PUT(7, 1),
	      PUT(6, 6), PUT(5, 2), PUT(4, 7), PUT(3, 1), PUT(1, 3), PUT(0, 1));
	START("two trees", CREATE(1), PUT_B(0, 1), PUT_B(5, 3), PUT(5, 1),
	      PUT(6, 1), PUT(2, 4));
	START("large values", PUT(0, 4), PUT(1, 4), PUT(5, 4), PUT(6, 4));
	s = START("all keys, not walked", PUT(0, 1), PUT(1, 4), PUT(2, 3),
		  PUT(3, 1), PUT(4, 1), PUT(5, 7), PUT(6, 1), PUT(8, 1));
	s->unsettled = true;
	s = START("not walked", PUT(0, 1), PUT(1, 1), PUT(5, 3), PUT(6, 4),
		  PUT(9, 1));
	s->unsettled = true;
	*out = list;
	return nr;
}

int starts_write(const struct start *starts, u32 nr, const char *path)
{
	static struct world_start out;
	FILE *f = fopen(path, "w");
	bool good = f;
	u32 i;

	static_assert(WORLD_SIZE == IMAGE_SIZE);
	for (i = 0; i < nr && good; i++) {
		memset(&out, 0, sizeof(out));
		snprintf(out.name, sizeof(out.name), "%s", starts[i].name);
		out.world = starts[i].world;
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
