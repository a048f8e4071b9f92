// SPDX-License-Identifier: GPL-2.0-only
/*
 * The loop over the objects of an index, and what an engine guarantees to it.
 */
#include <linux/sched.h>
#include <linux/srcu.h>

#include "../engines/unit.h"

#define KEYS		600
#define OBJECTS_MAX	8192

struct objects {
	struct wort_visitor visitor;
	u32 nr;
	u64 off[OBJECTS_MAX];
	bool first[OBJECTS_MAX];
};

static struct bed bed;
static struct objects before, met, after;
static u64 rnd;

static u32 random_below(u32 max)
{
	return (test_random(&rnd) >> 20) % max;
}

static u32 times(const struct objects *list, u64 off, bool first)
{
	u32 i, nr = 0;

	for (i = 0; i < list->nr; i++)
		nr += list->off[i] == off && list->first[i] == first;
	return nr;
}

static int add_object(struct wort_visitor *visitor, struct wort_op *op, u64 off,
		      u64 size, bool first)
{
	struct objects *list = container_of(visitor, struct objects, visitor);

	if (!CHECK(list->nr < OBJECTS_MAX))
		return -ENOMEM;
	list->off[list->nr] = off;
	list->first[list->nr++] = first;
	return 0;
}

static void list_begin(struct wort_walk *walk, struct objects *list)
{
	list->nr = 0;
	list->visitor.visit = add_object;
	*walk = (struct wort_walk){
		.pool = bed.pm.pool, .visitor = &list->visitor,
	};
	wort_walk_begin(walk, bed.index);
}

static void put_key(u32 n)
{
	static const u32 lens[] = { 8, 8, 3, 40, 3000 };
	static u8 value[3000];
	u8 key[8];

	key_u64(key, n * (n % 3 ? 0x9e3779b97f4a7c15ULL : 0x101));
	CHECK_EQ(pm_put(bed.index, key, 8, value, lens[n % ARRAY_SIZE(lens)]), 0);
}

static int del_key(u32 n)
{
	u8 key[8];

	key_u64(key, n * (n % 3 ? 0x9e3779b97f4a7c15ULL : 0x101));
	return pm_del(bed.index, key, 8);
}

/* All objects, in one section; how many records. */
static u64 list_objects(struct objects *list)
{
	struct wort_walk walk;
	u64 records = 0;
	int err;

	mutex_lock(&bed.pm.pool->work_lock);
	list_begin(&walk, list);
	walk.records = &records;
	wort_walk_open(&walk);
	do {
		err = wort_walk_steps(&walk);
	} while (!err);
	CHECK_EQ(err, -ENOENT);
	wort_op_end(&walk.op);
	mutex_unlock(&bed.pm.pool->work_lock);
	return records;
}

/* A section for each step, and changes between them; the even keys stay. */
static void walk_apart(struct objects *list)
{
	const struct wort_engine *engine = bed.index->tree.engine;
	struct wort_cursor *cur = bed.pm.pool->cursor;
	struct wort_walk walk;
	u32 n, len, i;
	int nr;

	list_begin(&walk, list);
	do {
		mutex_lock(&bed.pm.pool->work_lock);
		wort_chunk_begin(&walk, false);
		len = list->nr;
		nr = engine->walk(cur, &walk.pos, &list->visitor);
		CHECK(nr < 0 || list->nr > len);
		if (nr >= 0) {
			memcpy(walk.buf, cur->key, cur->key_len);
			walk.pos.len = cur->key_len;
		}
		wort_chunk_end(&walk, 0);
		mutex_unlock(&bed.pm.pool->work_lock);
		for (i = 0; i < 4; i++) {
			n = 2 * random_below(KEYS) + 1;
			if (del_key(n))
				put_key(n);
		}
	} while (nr >= 0);
	CHECK_EQ(nr, -ENOENT);
}

/* Each object that is there all the time is met, and with @first no object twice. */
static void compare_lists(void)
{
	u32 i;

	for (i = 0; i < met.nr; i++) {
		if (met.first[i])
			CHECK_EQ(times(&met, met.off[i], true), 1);
		CHECK_EQ(times(&met, met.off[i], !met.first[i]), 0);
	}
	for (i = 0; i < before.nr; i++)
		if (times(&after, before.off[i], before.first[i]))
			CHECK_GE(times(&met, before.off[i], before.first[i]), 1);
}

void check_walk_steps(void)
{
	u32 n;

	rnd = unit_seed;
	bed_open(&bed, 64 * MIB, 65536);
	for (n = 0; n < 2 * KEYS; n++)
		put_key(n);
	CHECK_EQ(list_objects(&before), 2 * KEYS);
	for (n = 0; n < before.nr; n++)
		CHECK_EQ(times(&before, before.off[n], before.first[n]), 1);
	walk_apart(&met);
	CHECK_GE(list_objects(&after), KEYS);
	compare_lists();
	bed_check(&bed);
	bed_close(&bed);
}

static u32 checks, steps;

static const struct wort_engine *tested;

/* An engine that sees an inconsistency at each second attempt. */
static int check_twice(struct wort_cursor *cur)
{
	return ++checks % 2 ? -EAGAIN : tested->check(cur);
}

static int count_steps(struct wort_cursor *cur, const struct wort_key *pos,
		       struct wort_visitor *visitor)
{
	int nr = tested->walk(cur, pos, visitor);

	steps += nr >= 0;
	return nr;
}

static int no_pause(struct wort_walk *walk)
{
	return 0;
}

/* A step that is repeated since its check failed has not told its objects before. */
void check_walk_check(void)
{
	struct wort_engine engine;
	struct wort_walk walk;
	u32 n;

	bed_open(&bed, 64 * MIB, 65536);
	tested = bed.index->tree.engine;
	memcpy((void *)&engine, tested, sizeof(engine));
	engine.check = check_twice;
	engine.walk = count_steps;
	checks = 0;
	steps = 0;
	for (n = 0; n < KEYS; n++)
		put_key(n);
	list_objects(&before);
	mutex_lock(&bed.pm.pool->work_lock);
	list_begin(&walk, &met);
	walk.check = true;
	walk.pause = no_pause;
	bed.index->tree.engine = &engine;
	CHECK_EQ(wort_walk_run(&walk), -ENOENT);
	bed.index->tree.engine = tested;
	mutex_unlock(&bed.pm.pool->work_lock);
	CHECK_EQ(checks, 2 * steps);
	CHECK_GE(steps, 1);
	list_objects(&after);
	compare_lists();
	bed_close(&bed);
}

#define LATE_KEYS	3000	/* more than a chunk */

static bool deleted;

static void put_late(u8 high)
{
	u8 key[8];
	u32 n;

	for (n = 0; n < LATE_KEYS; n++) {
		key_u64(key, n);
		key[0] = high;
		CHECK_EQ(pm_put(bed.index, key, 8, "12345678", 8), 0);
	}
}

/* Between two chunks all new records go; an operation waits for their space. */
static void delete_late(void)
{
	void (*again)(void) = shim_in_resched;
	int held = shim_locks_held;
	u8 key[8];
	u32 n;

	if (deleted || held > 1 || !bed.pm.pool->walk_records)
		return;
	deleted = true;
	shim_locks_held = 0;
	shim_in_resched = NULL;
	for (n = 0; n < LATE_KEYS; n++) {
		key_u64(key, n);
		key[0] = 1;
		CHECK_EQ(pm_del(bed.index, key, 8), 0);
	}
	atomic_set(&bed.pm.pool->space_waiters, 1);
	shim_in_resched = again;
	shim_locks_held = held;
}

/* As the first operation has it, but without what the background does after that. */
static void rebuild_now(void)
{
	struct wort_pool *pool = bed.pm.pool;

	if (!bed.index->unbuilt)
		return;
	mutex_lock(&pool->work_lock);
	list_add_tail(&bed.index->rebuild, &pool->rebuild);
	wort_rebuild_all(pool);
	mutex_unlock(&pool->work_lock);
	CHECK(!bed.index->unbuilt);
}

/*
 * Objects that the walk has met are freed and given back before its next section.  Each was
 * marked before that, so none is taken for damage.  The walk wakes those who wait for space.
 */
void check_walk_section(void)
{
	u64 released, rounds;
	u32 wakes;

	bed_open(&bed, 64 * MIB, 65536);
	put_late(2);
	bed_detach(&bed);
	bed_attach(&bed);
	rebuild_now();
	put_late(1);
	deleted = false;
	released = bed.pm.pool->alloc.released;
	rounds = bed.pm.pool->rounds;
	wakes = bed.pm.pool->work_done.wakes;
	shim_in_resched = delete_late;
	pmpool_settle();
	shim_in_resched = NULL;
	atomic_set(&bed.pm.pool->space_waiters, 0);
	CHECK(deleted);
	CHECK(bed.pm.pool->alloc.released > released);
	CHECK_GE(bed.pm.pool->rounds - rounds, 2);
	CHECK_GE(bed.pm.pool->work_done.wakes - wakes, bed.pm.pool->rounds - rounds);
	CHECK(!bed.index->damaged);
	CHECK(!bed.pm.pool->alloc.walking);
	bed_check(&bed);
	bed_close(&bed);
}

/* What the walk finds free is used again: readers in mappings begin again. */
void check_walk_generation(void)
{
	u64 before;

	bed_open(&bed, MIB, 4096);
	CHECK_EQ(pm_put(bed.index, "k", 1, "v", 1), 0);
	bed_detach(&bed);
	bed_attach(&bed);
	before = bed.pm.pool->locks.control->generation;
	pmpool_settle();
	CHECK(!bed.pm.pool->alloc.walking);
	CHECK(bed.pm.pool->locks.control->generation > before);
	bed_close(&bed);
}
