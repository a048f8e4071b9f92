// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keys at their limits.
 */
#include "model.h"

static void insert(struct bed *bed, struct model *model, const u8 *key, u32 len)
{
	struct model_put put = {
		.key = key, .key_len = len, .value_len = 8,
		.value_seed = len * 1000003ULL + key[0] + key[len - 1],
	};
	u8 value[8];
	bool found;

	value_fill(value, put.value_seed, 8);
	model_find(model, key, len, &found);
	CHECK_EQ(unit_put(bed->index, key, len, value, 8, WORT_INSERT_F_CREATE,
			  NULL, NULL), found ? -EEXIST : 0);
	if (!found)
		model_put(model, &put);
}

static void delete(struct bed *bed, struct model *model, const u8 *key, u32 len)
{
	bool found;

	model_find(model, key, len, &found);
	CHECK_EQ(pm_del(bed->index, key, len), found ? 0 : -ENOENT);
	if (found)
		model_del(model, key, len);
}

static void compare(struct bed *bed, struct model *model)
{
	model_compare(model, bed->index);
	bed_check(bed);
}

static void open_bed(struct bed *bed)
{
	bed_open(bed, unit_extent > 65536 ? 64 * MIB : 8 * MIB, unit_extent);
}

/* Take every record out again, in a random order, and look now and then. */
static void empty(struct bed *bed, struct model *model, u64 *rnd)
{
	u8 key[WORT_KEY_MAX];
	u32 len, n = 0;

	while (model->nr) {
		struct model_rec *rec;

		rec = &model->recs[test_random(rnd) % model->nr];
		len = rec->key_len;
		memcpy(key, rec->key, len);
		delete(bed, model, key, len);
		if (++n % 64 == 0)
			compare(bed, model);
	}
	compare(bed, model);
}

void check_keys_limits(void)
{
	u8 key[WORT_KEY_MAX + 1], value[8] = { };
	struct model model = { };
	u64 rnd = unit_seed;
	struct bed bed;
	u32 len = 8, i;

	open_bed(&bed);
	memset(key, 0x77, sizeof(key));
	CHECK_EQ(pm_put(bed.index, key, 0, value, 8), -EINVAL);
	CHECK_EQ(pm_put(bed.index, key, WORT_KEY_MAX + 1, value, 8), -EMSGSIZE);
	CHECK_EQ(pm_get(bed.index, key, 0, value, &len), -EINVAL);
	CHECK_EQ(pm_get(bed.index, key, WORT_KEY_MAX + 1, value, &len),
		 -EMSGSIZE);
	CHECK_EQ(pm_del(bed.index, key, 0), -EINVAL);
	CHECK_EQ(pm_del(bed.index, key, WORT_KEY_MAX + 1), -EMSGSIZE);
	CHECK_EQ(pm_get(bed.index, key, 1, value, &len), -ENOENT);
	CHECK_EQ(pm_del(bed.index, key, 1), -ENOENT);
	for (i = 0; i < 256; i++) {
		key[0] = i * 7;
		insert(&bed, &model, key, 1);
		insert(&bed, &model, key, 1 + i * 4);
		insert(&bed, &model, key, WORT_KEY_MAX);
		delete(&bed, &model, key, 2);
	}
	compare(&bed, &model);
	empty(&bed, &model, &rnd);
	bed_close(&bed);
	model_free(&model);
}

/* Two keys that part at each digit in turn, at either end of a digit. */
void check_keys_digits(void)
{
	static const u32 lens[] = { 1, 2, 5, 6, 7, 33, 512, 1024 };
	u8 a[WORT_KEY_MAX], b[WORT_KEY_MAX];
	struct model model = { };
	struct bed bed;
	u32 i, at;

	open_bed(&bed);
	for (i = 0; i < ARRAY_SIZE(lens); i++)
		for (at = 0; at < 2 * lens[i]; at += 1 + at / 40) {
			memset(a, 0x33, lens[i]);
			memcpy(b, a, lens[i]);
			b[at / 2] ^= at % 2 ? 0xf : 0x80;
			insert(&bed, &model, a, lens[i]);
			insert(&bed, &model, b, lens[i]);
			compare(&bed, &model);
			b[at / 2] ^= 1;
			delete(&bed, &model, b, lens[i]);
			b[at / 2] ^= 1;
			delete(&bed, &model, at % 3 ? a : b, lens[i]);
			compare(&bed, &model);
			delete(&bed, &model, at % 3 ? b : a, lens[i]);
		}
	compare(&bed, &model);
	bed_close(&bed);
	model_free(&model);
}

/* Nothing but 0x00 or 0xff: each key is a prefix of the next. */
void check_keys_fill(void)
{
	u8 zero[WORT_KEY_MAX] = { }, ones[WORT_KEY_MAX];
	struct model model = { };
	u64 rnd = unit_seed;
	struct bed bed;
	u32 len;

	open_bed(&bed);
	memset(ones, 0xff, sizeof(ones));
	for (len = 1; len <= WORT_KEY_MAX; len += 1 + len / 16) {
		insert(&bed, &model, zero, len);
		insert(&bed, &model, ones, WORT_KEY_MAX + 1 - len);
	}
	insert(&bed, &model, zero, WORT_KEY_MAX);
	compare(&bed, &model);
	empty(&bed, &model, &rnd);
	bed_close(&bed);
	model_free(&model);
}

/* The deepest tree: a node at every other digit of a key of 1024 bytes. */
void check_keys_chain(void)
{
	struct model model = { };
	u8 key[WORT_KEY_MAX];
	const u32 longest = min(subject_records(3 * WORT_KEY_MAX) / 3,
				(u32)WORT_KEY_MAX);
	u64 rnd = unit_seed;
	struct bed bed;
	u32 len;

	bed_open(&bed, 64 * MIB, unit_extent);
	memset(key, 0xab, sizeof(key));
	for (len = longest; len; len--) {
		insert(&bed, &model, key, len);
		key[len - 1] = 0xac;
		insert(&bed, &model, key, len);
		key[len - 1] = 0x1b;
		insert(&bed, &model, key, len);
		key[len - 1] = 0xab;
	}
	compare(&bed, &model);
	while (model.nr) {
		len = test_random(&rnd) % longest + 1;
		delete(&bed, &model, key, len);
		key[len - 1] = 0xac;
		delete(&bed, &model, key, len);
		key[len - 1] = 0x1b;
		delete(&bed, &model, key, len);
		key[len - 1] = 0xab;
		if (model.nr % 64 == 0)
			compare(&bed, &model);
	}
	bed_close(&bed);
	model_free(&model);
}

/*
 * Nodes that skip 9 to 13 digits, around those of eight bytes, and 80: split at
 * each of these digits and merged again.
 */
static void long_prefix(struct bed *bed, u32 digits, u32 start, u64 *rnd)
{
	u8 key[64] = { }, other[64];
	struct model model = { };
	u32 at, i;

	for (i = 0; i < 64; i++)
		key[i] = 0x11 * (i % 13 + 1);
	for (i = 0; i < 6; i++) {
		other[0] = i << 4 | i;
		insert(bed, &model, other, 1);
		memcpy(other, key, 64);
		other[(start + digits) / 2] ^=
			(start + digits) % 2 ? i : i << 4;
		insert(bed, &model, other, 64);
	}
	compare(bed, &model);
	for (at = start; at < start + digits; at++) {
		memcpy(other, key, 64);
		other[at / 2] ^= at % 2 ? 0x8 : 0x80;
		insert(bed, &model, other, 64);
		insert(bed, &model, other, at / 2 + 1);
		if (at % 3)
			compare(bed, &model);
		if (test_random(rnd) % 2)
			delete(bed, &model, other, 64);
		if (test_random(rnd) % 2)
			delete(bed, &model, other, at / 2 + 1);
		compare(bed, &model);
	}
	empty(bed, &model, rnd);
	model_free(&model);
}

void check_keys_long_prefix(void)
{
	static const u32 digits[] = { 9, 10, 11, 12, 13, 80 };
	u64 rnd = unit_seed;
	struct bed bed;
	u32 i, start, again;

	open_bed(&bed);
	for (again = 0; again < 4; again++)
		for (i = 0; i < ARRAY_SIZE(digits); i++)
			for (start = 1; start < 6; start++)
				long_prefix(&bed, digits[i], start, &rnd);
	bed_close(&bed);
}

static void put_int(struct bed *bed, u64 n, u32 value_len)
{
	u8 key[8];

	key_u64(key, n);
	CHECK_EQ(pm_put(bed->index, key, sizeof(key), key, value_len), 0);
}

static void del_int(struct bed *bed, u64 n)
{
	u8 key[8];

	key_u64(key, n);
	CHECK_EQ(pm_del(bed->index, key, sizeof(key)), 0);
}

/* Keys below one node, enough for an N14 of an adaptive radix tree. */
#define BELOW	8

static void put_below(struct bed *bed, u64 n, u32 value_len)
{
	u32 i;

	for (i = 1; i <= BELOW; i++)
		put_int(bed, n + i, value_len);
}

static void del_below(struct bed *bed, u64 n)
{
	u32 i;

	for (i = BELOW; i; i--)
		del_int(bed, n + i);
}

static void go(struct bed *bed)
{
	wort_pool_kick(bed->pm.pool);
	pmpool_settle();
}

/* A node that skips all digits but the last, and is learned; then it goes. */
static void learn_zeroes(struct bed *bed, u32 value_len)
{
	put_below(bed, 0, value_len);
	del_below(bed, 0);
	go(bed);
}

/* One that skips others, and a key that has zeroes there. */
static void skip_others(struct bed *bed, u32 value_len)
{
	const u64 other = 1 << 20;

	put_below(bed, other, value_len);
	put_int(bed, BELOW + 1, value_len);
	bed_check(bed);
	del_int(bed, BELOW + 1);
	del_below(bed, other);
	go(bed);
}

/*
 * One that skips nothing, until the one above it goes.  @step: of the last digit but one of
 * the engine.
 */
static void skip_none(struct bed *bed, u32 value_len, u64 step)
{
	const u64 other = 1 << 20;

	put_int(bed, other + 2 * step, value_len);
	put_below(bed, other + step, value_len);
	del_int(bed, other + 2 * step);
	put_int(bed, BELOW + 1, value_len);
	bed_check(bed);
	del_int(bed, BELOW + 1);
	del_below(bed, other + step);
	go(bed);
}

/*
 * Nodes come to lie where others were that skipped other digits: often enough
 * for all slots of a cache.  The order is random, so that each node comes to lie in each
 * of these slots.
 */
static void skipped_digits(u32 value_len)
{
	u64 rnd = unit_seed;
	struct bed bed;
	u32 again;

	open_bed(&bed);
	for (again = 0; again < 200; again++)
		learn_zeroes(&bed, value_len);
	for (again = 0; again < 1000; again++)
		switch (test_random(&rnd) % 4) {
		case 0:
			skip_others(&bed, value_len);
			break;
		case 1:
			skip_none(&bed, value_len, 0x10);
			break;
		case 2:
			skip_none(&bed, value_len, 0x100);
			break;
		default:
			learn_zeroes(&bed, value_len);
		}
	bed_close(&bed);
}

/* Values of one word are for sets of the engine, others for its puts. */
void check_keys_skipped_digits(void)
{
	skipped_digits(8);
	skipped_digits(7);
}
