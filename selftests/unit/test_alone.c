// SPDX-License-Identifier: GPL-2.0-only
/*
 * In a full pool an operation that is alone, with a purse of what its engine says that it
 * needs at most, never fails.
 */
#include "../../kmod/pool/apply.h"
#include "../../kmod/pool/group.h"
#include "../engines/unit.h"
#include "space.h"
#include "tests.h"

#define NR_POOLS	1000
#define NR_CHANGES	4	/* in a pool, each with its purse */
#define POOL_SIZE	(256 * KIB)

/* A put, or a removal of the key: whether there is one is left to chance. */
struct change {
	bool remove;
	u8 key_data[WORT_KEY_MAX];
	struct wort_key key;
	struct wort_value value;
	struct wort_purse *purse;
};

static struct change changes[NR_CHANGES];
static u8 bytes[WORT_VALUE_MAX];
static u64 rnd;

static u32 below(u32 n)
{
	return (test_random(&rnd) >> 16) % n;
}

/* Short ones, long ones, with beginnings in common; few enough that some meet again. */
static u32 random_key(u8 *key)
{
	u32 kind = below(8), n = below(64);
	u32 len = kind == 7 ? WORT_KEY_MAX - below(8) : kind > 4 ? 20 + below(40) : 8;

	memset(key, kind == 4 ? n : kind, len);
	key[kind == 6 ? len - 1 : below(len)] = n;
	return len;
}

static u32 random_len(void)
{
	switch (below(8)) {
	case 0:
		return below(12000);
	case 1:
		return below(2000);
	case 2:
		return below(300);
	}
	return below(2) ? 8 : below(32);
}

/* Puts, and some removals, until as many bytes are left, or nothing fits any more. */
static void fill(struct bed *bed, u64 left)
{
	struct wort_alloc_info info;
	u8 key[WORT_KEY_MAX];
	int err = 0;
	u32 len;

	do {
		len = random_key(key);
		if (below(8))
			err = pm_put(bed->index, key, len, bytes, random_len());
		else
			pm_del(bed->index, key, len);
		wort_alloc_info(space_alloc(bed), &info);
	} while (!err && info.free_bytes > left);
}

static void change_choose(struct change *c)
{
	c->remove = !below(4);
	c->key = (struct wort_key){ c->key_data, random_key(c->key_data) };
	c->value = (struct wort_value){ bytes, random_len() };
}

/* Its purse is filled; false: there is no space for that. */
static bool change_afford(struct bed *bed, struct change *c)
{
	const struct wort_tree *tree = &bed->index->tree;
	struct wort_need need;
	struct wort_op op;
	u32 i, nr = 0;
	int err = 0;

	tree->engine->need(tree, c->key.len, c->remove ? U32_MAX : c->value.len, &need);
	for (i = 0; i < need.nr; i++)
		nr += need.of[i].count;
	c->purse = wort_purse_new(nr, 0);
	space_begin(bed, &op);
	for (i = 0; i < need.nr && !err; i++)
		err = wort_purse_add(&op, c->purse, need.of[i].size, need.of[i].count);
	if (err)
		wort_purse_free(&op, c->purse);
	wort_op_end(&op);
	CHECK(!err || err == -ENOSPC);
	return !err;
}

/* Take all that is left, which nobody owns then. */
static void take_all(struct bed *bed)
{
	struct wort_op op;
	u32 class = WORT_NR_CLASSES;

	while (class--) {
		do {
			space_begin(bed, &op);
			op.must_free = true;
			while (op.nr_reserved < WORT_RESERVE_MAX &&
			       !wort_alloc_reserve(&op, wort_class_size(class)))
				wort_alloc_take(&op);
			wort_pm_fence(&op);
			wort_op_end(&op);
		} while (op.nr_taken == WORT_RESERVE_MAX);
	}
}

/* As one that is committed, and is in no group.  Returns what its purse has lent. */
static u32 change_alone(struct bed *bed, struct change *c)
{
	struct wort_apply change = {
		.index = bed->index, .change.index = bed->index->id,
		.change.key = c->key, .change.value = c->value,
		.change.remove = c->remove,
	};
	u32 nr = c->purse->nr;
	struct wort_op op;

	wort_group_put(bed->pm.pool, NULL);
	shim_alloc_fail_nth = 0;
	CHECK_EQ(wort_apply(bed->pm.pool, &change, 1, c->purse), 0);
	CHECK_EQ(shim_alloc_fail_nth, -1);
	nr -= c->purse->nr;
	space_begin(bed, &op);
	wort_purse_free(&op, c->purse);
	wort_op_end(&op);
	return nr;
}

/* Returns how many objects came from purses. */
static u32 one_pool(struct bed *bed)
{
	u32 nr = 0, used = 0, i;

	fill(bed, below(POOL_SIZE));
	while (nr < NR_CHANGES) {
		change_choose(&changes[nr]);
		if (!change_afford(bed, &changes[nr]))
			break;
		nr++;
	}
	fill(bed, 0);
	take_all(bed);
	for (i = 0; i < nr; i++)
		used += change_alone(bed, &changes[i]);
	return used;
}

void check_alone(void)
{
	u32 used = 0, i;
	struct bed bed;

	rnd = unit_seed;
	for (i = 0; i < NR_POOLS; i++) {
		bed_open(&bed, POOL_SIZE, 4096);
		used += one_pool(&bed);
		bed_close(&bed);
	}
	CHECK_GE(used, NR_POOLS / 4);
}
