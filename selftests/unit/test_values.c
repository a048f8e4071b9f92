// SPDX-License-Identifier: GPL-2.0-only
/*
 * Values of every kind, changed into every other.
 */
#include "model.h"

static const u32 lens[] = {
	0, 1, 7, 8, 9, 16, 300, 1000, 1024, 4096, 5000, 16360, 16384, 65535,
	65536,
};

static u8 bytes[WORT_VALUE_MAX], back[WORT_VALUE_MAX + 8];

static void open_bed(struct bed *bed)
{
	bed_open(bed, 64 * MIB, unit_extent);
}

typedef int get_fn(struct wort_index *index, const void *key, u32 key_len,
		   void *value, u32 *len);

static void check_value_by(get_fn *get, struct bed *bed, const u8 *key,
			   u32 key_len, u64 seed, u32 value_len)
{
	u32 len = sizeof(back);

	memset(back, 0xee, sizeof(back));
	CHECK_EQ(get(bed->index, key, key_len, back, &len), 0);
	CHECK_EQ(len, value_len);
	value_fill(bytes, seed, value_len);
	CHECK(!memcmp(back, bytes, value_len));
	CHECK_EQ(back[value_len], 0xee);
}

static void check_value(struct bed *bed, const u8 *key, u32 key_len, u64 seed,
			u32 value_len)
{
	check_value_by(pm_get, bed, key, key_len, seed, value_len);
	check_value_by(reader_get, bed, key, key_len, seed, value_len);
}

void check_values_sizes(void)
{
	u8 key[WORT_KEY_MAX] = "key";
	struct bed bed;
	u32 i, key_len;

	open_bed(&bed);
	for (key_len = 1; key_len <= WORT_KEY_MAX; key_len += 1 + key_len / 4)
		for (i = 0; i < ARRAY_SIZE(lens); i++) {
			value_fill(bytes, i + 1, lens[i]);
			CHECK_EQ(pm_put(bed.index, key, key_len, bytes,
					lens[i]), 0);
			check_value(&bed, key, key_len, i + 1, lens[i]);
		}
	CHECK_EQ(pm_put(bed.index, key, 3, bytes, WORT_VALUE_MAX + 1),
		 -EMSGSIZE);
	bed_check(&bed);
	bed_close(&bed);
}

/* From each length to each other one, and back after an attach. */
void check_values_change(void)
{
	struct bed bed;
	u32 i, k;

	open_bed(&bed);
	for (i = 0; i < ARRAY_SIZE(lens); i++)
		for (k = 0; k < ARRAY_SIZE(lens); k++) {
			value_fill(bytes, i * 100 + 1, lens[i]);
			CHECK_EQ(pm_put(bed.index, "k", 1, bytes, lens[i]), 0);
			value_fill(bytes, k * 100 + 2, lens[k]);
			CHECK_EQ(pm_put(bed.index, "k", 1, bytes, lens[k]), 0);
			check_value(&bed, (const u8 *)"k", 1, k * 100 + 2,
				    lens[k]);
		}
	bed_check(&bed);
	CHECK_EQ(pm_del(bed.index, "k", 1), 0);
	bed_check(&bed);
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		value_fill(bytes, i + 1, lens[i]);
		CHECK_EQ(pm_put(bed.index, &i, 4, bytes, lens[i]), 0);
	}
	bed_detach(&bed);
	bed_attach(&bed);
	for (i = 0; i < ARRAY_SIZE(lens); i++)
		check_value(&bed, (u8 *)&i, 4, i + 1, lens[i]);
	bed_check(&bed);
	bed_close(&bed);
}

/* Compare and swap, delete if equal: every length against every other. */
void check_values_expect(void)
{
	struct wort_value want = { .data = bytes };
	const struct wort_key key = { (const u8 *)"k", 1 };
	struct bed bed;
	u32 i, k;

	open_bed(&bed);
	CHECK_EQ(unit_put(bed.index, "k", 1, "", 0, 0, &want, NULL), -ENOENT);
	CHECK_EQ(wort_index_delete(bed.index, &key, &want, NULL), -ENOENT);
	want.len = WORT_VALUE_MAX + 1;
	CHECK_EQ(unit_put(bed.index, "k", 1, "", 0, 0, &want, NULL), -EMSGSIZE);
	CHECK_EQ(wort_index_delete(bed.index, &key, &want, NULL), -EMSGSIZE);
	value_fill(bytes, 7, sizeof(bytes));
	for (i = 0; i < ARRAY_SIZE(lens); i++)
		for (k = 0; k < ARRAY_SIZE(lens); k++) {
			CHECK_EQ(pm_put(bed.index, "k", 1, bytes, lens[i]), 0);
			want.len = lens[k];
			CHECK_EQ(unit_put(bed.index, "k", 1, bytes, lens[k], 0,
					  &want, NULL), i == k ? 0 : -ECANCELED);
			check_value(&bed, key.data, 1, 7, lens[i]);
			CHECK_EQ(unit_put(bed.index, "k", 1, "", 0,
					  WORT_INSERT_F_CREATE, &want, NULL),
				 -EEXIST);
			CHECK_EQ(wort_index_delete(bed.index, &key, &want,
						   NULL),
				 i == k ? 0 : -ECANCELED);
		}
	for (i = 1; i < ARRAY_SIZE(lens); i++) {
		CHECK_EQ(pm_put(bed.index, "k", 1, bytes, lens[i]), 0);
		want.len = lens[i];
		bytes[lens[i] - 1] ^= 1;
		CHECK_EQ(unit_put(bed.index, "k", 1, "", 0, 0, &want, NULL),
			 -ECANCELED);
		CHECK_EQ(wort_index_delete(bed.index, &key, &want, NULL),
			 -ECANCELED);
		bytes[lens[i] - 1] ^= 1;
		CHECK_EQ(unit_put(bed.index, "k", 1, "abc", 3,
				  WORT_INSERT_F_REPLACE, &want, NULL), 0);
	}
	bed_check(&bed);
	bed_close(&bed);
}

/* A value is told whole, and no byte is written behind it. */
static void check_told(struct wort_buf *old, u32 len)
{
	CHECK_EQ(old->len, len);
	CHECK(!memcmp(back, bytes, len));
	CHECK_EQ(back[len], 0xee);
	memset(back, 0xee, sizeof(back));
}

/* Nothing is changed, and the value told that is the reason. */
static void check_fetch_refused(struct bed *bed, u32 len)
{
	const struct wort_key key = { (const u8 *)"k", 1 };
	struct wort_value other = { bytes, len < WORT_VALUE_MAX ? len + 1 : 1 };
	struct wort_buf old = { .data = back, .size = len };

	CHECK_EQ(unit_put(bed->index, "k", 1, "", 0, WORT_INSERT_F_CREATE, NULL,
			  &old), -EEXIST);
	check_told(&old, len);
	CHECK_EQ(unit_put(bed->index, "k", 1, "", 0, 0, &other, &old),
		 -ECANCELED);
	check_told(&old, len);
	CHECK_EQ(wort_index_delete(bed->index, &key, &other, &old), -ECANCELED);
	check_told(&old, len);
	if (!len)
		return;
	old.size = len - 1;
	CHECK_EQ(unit_put(bed->index, "k", 1, "", 0, 0, NULL, &old), -ERANGE);
	CHECK_EQ(old.len, len);
	CHECK_EQ(wort_index_delete(bed->index, &key, NULL, &old), -ERANGE);
	CHECK_EQ(old.len, len);
	CHECK_EQ(back[0], 0xee);
}

/* The value that was there, by each change; or there was none. */
static void check_fetch(struct bed *bed, u32 len)
{
	const struct wort_key key = { (const u8 *)"k", 1 };
	struct wort_value want = { bytes, len };
	struct wort_buf old = { .data = back, .size = len };

	memset(back, 0xee, sizeof(back));
	CHECK_EQ(unit_put(bed->index, "k", 1, bytes, len, 0, NULL, &old), 0);
	CHECK_EQ(old.len, WORT_NO_VALUE);
	CHECK_EQ(unit_put(bed->index, "k", 1, bytes, len, 0, NULL, &old), 0);
	check_told(&old, len);
	check_fetch_refused(bed, len);
	CHECK_EQ(unit_put(bed->index, "k", 1, bytes, len, 0, &want, &old), 0);
	check_told(&old, len);
	CHECK_EQ(wort_index_delete(bed->index, &key, &want, &old), 0);
	check_told(&old, len);
	CHECK_EQ(wort_index_delete(bed->index, &key, &want, &old), -ENOENT);
	CHECK_EQ(old.len, WORT_NO_VALUE);
}

void check_values_fetch(void)
{
	struct wort_buf old = { .data = back };
	struct bed bed;
	u32 i;

	open_bed(&bed);
	value_fill(bytes, 9, sizeof(bytes));
	for (i = 0; i < ARRAY_SIZE(lens); i++)
		check_fetch(&bed, lens[i]);
	CHECK_EQ(unit_put(bed.index, "k", 0, "", 0, 0, NULL, &old), -EINVAL);
	CHECK_EQ(old.len, WORT_NO_VALUE);
	bed_check(&bed);
	bed_close(&bed);
}

/* Too small a buffer tells the length and is not written. */
void check_values_buffer(void)
{
	struct bed bed;
	u32 i, len;

	open_bed(&bed);
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		value_fill(bytes, 3, lens[i]);
		CHECK_EQ(pm_put(bed.index, "k", 1, bytes, lens[i]), 0);
		len = lens[i];
		CHECK_EQ(pm_get(bed.index, "k", 1, back, &len), 0);
		CHECK_EQ(len, lens[i]);
		if (!lens[i])
			continue;
		len = lens[i] - 1;
		memset(back, 0xee, sizeof(back));
		CHECK_EQ(pm_get(bed.index, "k", 1, back, &len), -ERANGE);
		CHECK_EQ(len, lens[i]);
		CHECK_EQ(back[0], 0xee);
		len = 0;
		CHECK_EQ(pm_get(bed.index, "k", 1, NULL, &len), -ERANGE);
		CHECK_EQ(len, lens[i]);
	}
	bed_close(&bed);
}
