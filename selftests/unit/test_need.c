// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an engine says that a change needs at most has all that it reserves, and no more than
 * it reserves in the worst case.
 */
#include <string.h>

#include "../../kmod/core/extent.h"
#include "../../kmod/engine/round.h"
#include "../engines/unit.h"
#include "tests.h"

static u8 value[WORT_VALUE_MAX];

static u32 nr_objects(const struct wort_need *need)
{
	u32 i, nr = 0;

	for (i = 0; i < need->nr; i++)
		nr += need->of[i].count;
	return nr;
}

/* Is a reserved object one of those that are needed?  Takes it from @need. */
static bool take_needed(struct wort_alloc *alloc, u64 off, struct wort_need *need)
{
	const struct wort_extent *extent = wort_extent_of(alloc, off);
	u32 i, size;

	for (i = 0; i < need->nr; i++) {
		size = need->of[i].size;
		if (need->of[i].count &&
		    wort_alloc_footprint(alloc, size) == wort_slot_size(alloc, extent)) {
			need->of[i].count--;
			return true;
		}
	}
	return false;
}

/* A put beside a record that shares all but the last digit. */
static void need_case(struct bed *bed, u32 key_len, u32 value_len)
{
	const struct wort_engine *engine =
		wort_engine_by_id(bed->index->engine_id);
	struct wort_alloc *alloc = &bed->pm.pool->alloc;
	static struct wort_round alone;
	struct wort_change change = { .round = &alone };
	struct wort_need need;
	struct wort_put put;
	u8 key[WORT_KEY_MAX];
	struct wort_op op;
	int err;
	u32 i;

	memset(key, 'k', key_len);
	CHECK_EQ(pm_put(bed->index, key, key_len, "v", 1), 0);
	key[key_len - 1] ^= 1;
	wort_put_init(&put, &(struct wort_key){ key, key_len },
		      &(struct wort_value){ value, value_len }, 0);
	change.put = &put;
	engine->need(&bed->index->tree, key_len, value_len, &need);
	CHECK_EQ(wort_index_enter(bed->index, &op, WORT_WRITE), 0);
	err = engine->batch_ops->prepare(&op, &bed->index->tree, &change);
	if (subject.unit->needs_all) {
		CHECK_EQ(err, 0);
		CHECK_EQ(op.nr_reserved, nr_objects(&need));
	}
	CHECK(!err || err == -EAGAIN);
	for (i = 0; i < op.nr_reserved; i++)
		CHECK(take_needed(alloc, op.reserved[i], &need));
	wort_alloc_untake(&op);
	wort_index_exit(bed->index, &op, WORT_WRITE, 0, -EAGAIN);
	key[key_len - 1] ^= 1;
	CHECK_EQ(pm_del(bed->index, key, key_len), 0);
}

void check_need(void)
{
	static const u32 lens[] = { 0, 1, 8, 9, 100, 1000, 1100, 5000, WORT_VALUE_MAX };
	struct wort_need need;
	struct bed bed;
	u32 i;

	bed_open(&bed, 4 << 20, 4096);
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		need_case(&bed, 1, lens[i]);
		need_case(&bed, 8, lens[i]);
		need_case(&bed, WORT_KEY_MAX, lens[i]);
	}
	bed.index->tree.engine->need(&bed.index->tree, 8, U32_MAX, &need);
	CHECK_EQ(need.nr, 0);
	bed_close(&bed);
}
