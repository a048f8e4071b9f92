// SPDX-License-Identifier: GPL-2.0-only
#include "../engines/unit.h"

void bed_attach(struct bed *bed)
{
	bed->live = shim_alloc_live;
	pmpool_attach(&bed->pm);
	bed->index = pmpool_index(&bed->pm, "t");
}

/* As a power cut that finds every store durable: detach stores nothing. */
void bed_detach(struct bed *bed)
{
	if (bed->index)
		wort_index_put(bed->index);
	bed->index = NULL;
	pmpool_detach(&bed->pm);
	CHECK_EQ(shim_alloc_live, bed->live);
}

void bed_open(struct bed *bed, u64 size, u32 extent_size)
{
	pmpool_map(&bed->pm, size, false);
	pmpool_format(&bed->pm, extent_size);
	bed_attach(bed);
	pmpool_settle();
}

void bed_close(struct bed *bed)
{
	bed_detach(bed);
	pmpool_unmap(&bed->pm);
}

u64 unit_pool_bytes(struct bed *bed)
{
	struct wort_geometry *geo = &bed->pm.pool->alloc.geo;

	return (u64)geo->nr_extents << geo->extent_shift;
}

void bed_check_arg(struct bed *bed, u32 flags, struct wort_check_arg *arg)
{
	memset(arg, 0, sizeof(*arg));
	arg->size = sizeof(*arg);
	arg->flags = flags;
	CHECK_EQ(wort_pool_check(bed->pm.pool, arg), 0);
	CHECK_EQ(arg->size, sizeof(*arg));
	CHECK_EQ(arg->flags, flags);
}

/* Nothing is wrong, and each byte is owned once, free or being freed. */
void bed_check(struct bed *bed)
{
	struct wort_check_arg arg;

	bed_check_arg(bed, 0, &arg);
	CHECK_EQ(arg.out_nr_damaged, 0);
	CHECK_EQ(arg.out_nr_transient, 0);
	CHECK_EQ(arg.out_damaged_off, 0);
	CHECK_EQ(arg.out_owned_bytes + arg.out_free_bytes +
		 arg.out_freeing_bytes, unit_pool_bytes(bed));
}

u32 bed_path(struct bed *bed, const void *key, u32 len, u64 *words)
{
	const struct wort_key k = { key, len };
	const u8 *mem = (const u8 *)bed->pm.region.base;

	return subject.unit->probe->path(mem,
					 (const u8 *)bed->index->tree.root - mem,
					 &k, words);
}

u64 bed_record(struct bed *bed, const void *key, u32 len)
{
	const u8 *mem = (const u8 *)bed->pm.region.base;
	u64 words[PROBE_WORDS];
	__le64 word;

	if (!bed_path(bed, key, len, words))
		die("the probe finds no way to a record");
	memcpy(&word, mem + words[0], sizeof(word));
	return subject.unit->probe->target(le64_to_cpu(word));
}

bool media_same(const void *a, const void *b, u64 size)
{
	const u64 at = WORT_MEDIA_WORDS_OFF, next = at + sizeof(__le64);

	return !memcmp(a, b, at) && !memcmp(a + next, b + next, size - next);
}

u32 bed_pool_state(struct bed *bed)
{
	struct wort_pool_info_arg info = { .size = sizeof(info) };

	wort_pool_info(bed->pm.pool, &info);
	return info.out_state;
}

u32 bed_index_state(struct bed *bed)
{
	struct wort_index_info_arg info = { .size = sizeof(info) };

	wort_index_info(bed->index, &info);
	return info.out_state;
}

void value_fill(u8 *buf, u64 seed, u32 len)
{
	u64 word = seed;
	u32 i;

	for (i = 0; i < len; i += 8) {
		memcpy(buf + i, &word, min(len - i, 8U));
		word += 0x9e3779b97f4a7c15ULL;
	}
}

void shuffle(u64 *list, u64 n, u64 *rnd)
{
	u64 at;

	for (; n > 1; n--) {
		at = test_random(rnd) % n;
		swap(list[n - 1], list[at]);
	}
}

static u64 workload_key(enum workload workload, u32 n, u32 i, u64 *rnd)
{
	if (workload == WORKLOAD_SPARSE)
		return test_random(rnd);
	if (workload == WORKLOAD_DENSE)
		return i + 1;
	return U64_MAX / DIV_ROUND_UP(n, 64) * (i / 64) + i % 64;
}

u64 *workload_keys(enum workload workload, u32 n, u64 seed)
{
	u64 *keys = calloc(n, sizeof(*keys));
	u64 rnd = seed;
	u32 i;

	for (i = 0; i < n; i++)
		keys[i] = workload_key(workload, n, i, &rnd);
	shuffle(keys, n, &rnd);
	return keys;
}

int unit_put(struct wort_index *index, const void *key, u32 key_len,
	     const void *value, u32 value_len, u32 flags,
	     const struct wort_value *expect, struct wort_buf *old)
{
	struct wort_put put = {
		.key = { key, key_len },
		.value = { value, value_len },
		.expect = expect,
		.old = old,
		.create = flags & WORT_INSERT_F_CREATE,
		.replace = flags & WORT_INSERT_F_REPLACE,
	};

	return wort_index_insert(index, &put);
}
