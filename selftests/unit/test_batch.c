// SPDX-License-Identifier: GPL-2.0-only
/*
 * Batches whose changes depend on each other: of the same keys, and of keys that part
 * in the same places.
 */
#include "model.h"

static const char *const keys[] = { "12345678", "12345679", "1" };
static const u32 lens[] = { 0, 8, 300 };	/* 0: delete */

#define CHANGES		(ARRAY_SIZE(keys) * ARRAY_SIZE(lens))
#define CHANGES_NR	3

/* Append one change of all that there are; what it should answer. */
static int add_change(struct wort_batch *batch, struct model *model, u8 *ops,
		      u32 change)
{
	const char *key = keys[change / ARRAY_SIZE(lens)];
	struct model_put put = {
		.key = (const u8 *)key, .key_len = strlen(key),
		.value_len = lens[change % ARRAY_SIZE(lens)],
		.value_seed = batch->nr_ops + 1,
	};
	u8 value[300];
	int err;

	value_fill(value, put.value_seed, put.value_len);
	batch->nr_ops++;
	batch->ops_len += pm_pack(ops + batch->ops_len, put.value_len ?
				  WORT_BATCH_INSERT : WORT_BATCH_DELETE, key,
				  put.key_len, value, put.value_len);
	if (put.value_len) {
		model_put(model, &put);
		return 0;
	}
	err = model_del_err(model, &put);
	if (!err)
		model_del(model, put.key, put.key_len);
	return err;
}

/* The changes with a number, as digits; the index holds what others have left. */
static void change_all(struct bed *bed, struct model *model, u32 number)
{
	static u8 ops[CHANGES_NR * 400], results[CHANGES_NR * 32];
	struct wort_batch batch = {
		.ops = ops, .results = results,
		.results_size = sizeof(results), .write = true,
	};
	struct wort_batch_result result;
	int want[CHANGES_NR];
	u32 i, at;

	for (i = 0; i < CHANGES_NR; i++, number /= CHANGES)
		want[i] = add_change(&batch, model, ops, number % CHANGES);
	CHECK_EQ(wort_index_batch(bed->index, &batch), 0);
	CHECK_EQ(batch.done, CHANGES_NR);
	for (i = at = 0; i < batch.done; i++, at += result.rec_len) {
		memcpy(&result, results + at, sizeof(result));
		CHECK_EQ(result.error, want[i]);
	}
	model_compare(model, bed->index);
}

/* All sequences of three changes, one after the other. */
void check_batch_keys(void)
{
	struct model model = { };
	struct bed bed;
	u32 number;

	bed_open(&bed, MIB, 4096);
	for (number = 0; number < CHANGES * CHANGES * CHANGES; number++) {
		change_all(&bed, &model, number);
		if (number % 100 == 0)
			bed_check(&bed);
	}
	bed_check(&bed);
	bed_close(&bed);
	model_free(&model);
}
