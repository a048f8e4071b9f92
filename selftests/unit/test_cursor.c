// SPDX-License-Identifier: GPL-2.0-only
/*
 * Scans and batches: order, ends, pages, what fits and what does not.
 */
#include "model.h"

static u8 out[64 * 1024] __attribute__((aligned(8)));

static void fill(struct bed *bed, struct model *model, enum keygen kind, u32 n)
{
	u8 key[WORT_KEY_MAX], value[16];
	u64 rnd = unit_seed + kind;

	for (; n; n--) {
		struct model_put put = {
			.key = key, .key_len = keygen(kind, &rnd, key),
			.value_len = n % 16, .value_seed = n,
		};

		value_fill(value, n, put.value_len);
		CHECK_EQ(pm_put(bed->index, key, put.key_len, value,
				put.value_len), 0);
		model_put(model, &put);
	}
}

static void scan_one(struct bed *bed, struct model *model, u32 flags,
		     const struct wort_key *start, const struct wort_key *bound)
{
	struct wort_scan scan = {
		.flags = flags, .start = start, .bound = bound, .max = 1,
		.buf = out, .buf_len = sizeof(out),
	};

	model_check_scan(model, &scan, wort_index_scan(bed->index, &scan));
}

/* From each key, from beside it, and from keys that are not there. */
void check_cursor_seek(void)
{
	u8 buf[WORT_KEY_MAX];
	struct wort_key key = { .data = buf };
	struct model model;
	enum keygen kind;
	struct bed bed;
	u32 i, flags;
	u64 rnd = unit_seed + 9;

	for (kind = 0; kind < KEYS_NR; kind++) {
		bed_open(&bed, 16 * MIB, 0);
		memset(&model, 0, sizeof(model));
		scan_one(&bed, &model, 0, NULL, NULL);
		fill(&bed, &model, kind, 400);
		for (i = 0; i < 800; i++) {
			flags = i % 4;
			if (i % 3) {
				key.len = keygen(kind, &rnd, buf);
			} else {
				key.len = model.recs[i % model.nr].key_len;
				memcpy(buf, model.recs[i % model.nr].key,
				       key.len);
			}
			scan_one(&bed, &model, flags, &key, NULL);
			buf[key.len - 1]++;
			scan_one(&bed, &model, flags, &key, NULL);
			buf[key.len / 2] ^= 0x11;
			scan_one(&bed, &model, flags, &key, NULL);
			key.len = key.len / 2 + 1;
			scan_one(&bed, &model, flags, &key, NULL);
		}
		bed_close(&bed);
		model_free(&model);
	}
}

/* An engine that meets a writer at one of its records, and has to begin again. */
static struct wort_engine meeting;
static const struct wort_engine *plain;
static u32 nr_before;

static int meeting_next(struct wort_cursor *cur)
{
	return nr_before && !--nr_before ? -EAGAIN : plain->next(cur);
}

static void scan_again(struct bed *bed, struct model *model, u32 flags)
{
	struct wort_scan scan = { .flags = flags, .buf = out, .buf_len = sizeof(out) };
	u32 i;

	plain = bed->index->tree.engine;
	meeting = *plain;
	meeting.next = meeting_next;
	bed->index->tree.engine = &meeting;
	for (i = 1; !nr_before; i++) {
		nr_before = i;
		model_check_scan(model, &scan, wort_index_scan(bed->index, &scan));
	}
	CHECK_GE(i, 2);
	nr_before = 0;
	bed->index->tree.engine = plain;
}

/* A scan that begins again, after any of its records, tells each record once. */
void check_cursor_again(void)
{
	struct model model = { };
	struct bed bed;
	u32 flags;

	bed_open(&bed, 16 * MIB, 0);
	fill(&bed, &model, KEYS_WORDS, 300);
	for (flags = 0; flags < 4; flags++)
		scan_again(&bed, &model, (flags & 1 ? WORT_SCAN_F_REVERSE : 0) |
			   (flags & 2 ? WORT_SCAN_F_KEYS : 0));
	bed_close(&bed);
	model_free(&model);
}

/* The last key of a page; @at is the one to go on after. */
static u32 page(struct bed *bed, struct wort_scan *scan, struct wort_key *last,
		u8 *buf)
{
	struct wort_record rec;
	u32 at = 0, n = 0;

	CHECK_EQ(wort_index_scan(bed->index, scan), 0);
	while (at < scan->len) {
		memcpy(&rec, scan->buf + at, sizeof(rec));
		last->data = buf;
		last->len = rec.key_len;
		memcpy(buf, scan->buf + at + sizeof(rec), rec.key_len);
		at += rec.rec_len;
		n++;
	}
	CHECK_EQ(n, scan->count);
	return n;
}

/* A scan in pages sees each record once, both ways, beside deletes of them. */
void check_cursor_pages(void)
{
	u8 buf[WORT_KEY_MAX];
	struct wort_key last = { };
	struct model model;
	enum keygen kind;
	struct bed bed;
	u32 seen, flags;

	for (kind = 0; kind < KEYS_NR; kind++) {
		bed_open(&bed, unit_extent > 65536 ? 64 * MIB : 16 * MIB,
			 unit_extent);
		memset(&model, 0, sizeof(model));
		fill(&bed, &model, kind, 700);
		for (flags = 0; flags < 4; flags++) {
			struct wort_scan scan = {
				.flags = (flags & 1 ? WORT_SCAN_F_REVERSE : 0) |
					 (flags & 2 ? WORT_SCAN_F_KEYS : 0),
				.buf = out, .buf_len = 1100,
			};

			for (seen = 0; ; scan.flags |= WORT_SCAN_F_AFTER) {
				seen += page(&bed, &scan, &last, buf);
				scan.start = &last;
				if (flags == 3 && seen)
					pm_del(bed.index, buf, last.len);
				if (!scan.more)
					break;
			}
			CHECK_EQ(seen, model.nr);
		}
		bed_check(&bed);
		bed_close(&bed);
		model_free(&model);
	}
}

/* Each prefix of each key, also up to 0xff bytes, both ways. */
void check_cursor_prefix(void)
{
	static const enum keygen kinds[] = {
		KEYS_WORDS, KEYS_FILL, KEYS_CHAIN, KEYS_TINY, KEYS_SHARED,
	};
	struct model model;
	struct bed bed;
	u32 i, k, len;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		bed_open(&bed, 16 * MIB, 0);
		memset(&model, 0, sizeof(model));
		fill(&bed, &model, kinds[i], 300);
		for (k = 0; k < model.nr; k += 3)
			for (len = 1; len <= model.recs[k].key_len;
			     len += 1 + len / 3) {
				struct wort_key prefix = {
					model.recs[k].key, len,
				};
				struct wort_scan scan = {
					.bound = &prefix, .buf = out,
					.buf_len = sizeof(out),
					.flags = WORT_SCAN_F_PREFIX |
						 (k + len) % 4,
				};

				if (k % 2)
					scan.start = &prefix;
				model_check_scan(&model, &scan,
						 wort_index_scan(bed.index,
								 &scan));
			}
		bed_close(&bed);
		model_free(&model);
	}
}

/* Buffers of exactly a record, a byte less, and nothing. */
void check_cursor_limits(void)
{
	struct model model = { };
	struct bed bed;
	u32 size, flags;

	bed_open(&bed, 16 * MIB, 0);
	fill(&bed, &model, KEYS_WORDS, 60);
	for (flags = 0; flags < 8; flags += 1 + (flags == 1) * 2)
		for (size = 0; size < 400; size++) {
			u32 scan_flags = (flags & 1 ? WORT_SCAN_F_REVERSE : 0) |
					 (flags & 4 ? WORT_SCAN_F_KEYS : 0);
			u8 *buf = malloc(round_up(size, 8) + 8);
			struct wort_scan scan = {
				.flags = scan_flags, .buf = buf,
				.buf_len = size,
			};

			buf[size] = 0x5c;
			model_check_scan(&model, &scan,
					 wort_index_scan(bed.index, &scan));
			CHECK_EQ(buf[size], 0x5c);
			free(buf);
		}
	bed_close(&bed);
	model_free(&model);
}

/* More records than one call counts. */
void check_cursor_count(void)
{
	struct wort_scan scan = {
		.flags = WORT_SCAN_F_COUNT, .buf = out, .buf_len = WORT_KEY_MAX,
	};
	struct wort_key last = { .data = (u8 [8]) { } };
	struct bed bed;
	u8 key[8];
	u32 i, nr = subject_records(150000);
	u64 total = 0;

	bed_open(&bed, 64 * MIB, 0);
	for (i = 0; i < nr; i++) {
		key_u64(key, i);
		CHECK_EQ(pm_put(bed.index, key, 8, key, 8), 0);
	}
	do {
		CHECK_EQ(wort_index_scan(bed.index, &scan), 0);
		total += scan.count;
		if (!scan.more)
			break;
		CHECK_EQ(scan.last_len, 8);
		key_u64(key, total - 1);
		CHECK(!memcmp(out, key, 8));
		memcpy((u8 *)last.data, out, 8);
		last.len = 8;
		scan.start = &last;
		scan.flags |= WORT_SCAN_F_AFTER;
	} while (total < 1000000);
	CHECK_EQ(total, nr);
	scan.buf_len = 7;
	scan.max = 3;
	scan.start = NULL;
	CHECK_EQ(wort_index_scan(bed.index, &scan), -ERANGE);
	CHECK_EQ(scan.need, 8);
	/* There is no key to go on after. */
	CHECK(!scan.count && !scan.len && !scan.more);
	scan.buf_len = scan.need;
	CHECK_EQ(wort_index_scan(bed.index, &scan), 0);
	CHECK_EQ(scan.count, 3);
	bed_close(&bed);
}

/* A scan with this start and bound; @want: what it returns. */
static void scan_lengths(struct bed *bed, u32 flags, u32 start_len,
			 u32 bound_len, int want)
{
	u8 *bytes = calloc(1, max(start_len, bound_len) + 1);
	struct wort_key start = { bytes, start_len };
	struct wort_key bound = { bytes, bound_len };
	struct wort_scan scan = {
		.flags = flags, .buf = out, .buf_len = sizeof(out),
		.start = start_len ? &start : NULL,
		.bound = bound_len ? &bound : NULL,
	};

	scan.count = scan.len = scan.more = 1;
	CHECK_EQ(wort_index_scan(bed->index, &scan), want);
	CHECK(!want || (!scan.count && !scan.len && !scan.more));
	free(bytes);
}

/* Keys longer than keys can be are refused here, whoever asks. */
void check_cursor_lengths(void)
{
	const u32 longer[] = { WORT_KEY_MAX + 1, 3000, 1 << 20 };
	struct bed bed;
	u32 i, flags;

	bed_open(&bed, MIB, 0);
	CHECK_EQ(pm_put(bed.index, "k", 1, "v", 1), 0);
	for (flags = 0; flags <= WORT_SCAN_F_ALL; flags++) {
		scan_lengths(&bed, flags, WORT_KEY_MAX, WORT_KEY_MAX, 0);
		for (i = 0; i < ARRAY_SIZE(longer); i++) {
			scan_lengths(&bed, flags, longer[i], 0, -EMSGSIZE);
			scan_lengths(&bed, flags, 0, longer[i], -EMSGSIZE);
			scan_lengths(&bed, flags, 1, longer[i], -EMSGSIZE);
		}
	}
	bed_close(&bed);
}

struct rule {
	struct wort_batch_op op;
	int err;		/* of the whole batch */
	int error;		/* in the answer, if the batch has none */
	bool read_only;
};

/* rec_len, op, flags; lengths of key, value expected, value; max_len */
static const struct rule rules[] = {
	{ { 40, WORT_BATCH_INSERT, 0, 8, 0, 8, 0 }, 0, 0, false },
	{ { 40, WORT_BATCH_INSERT, 0, 8, 0, 8, 0 }, 0, -EBADF, true },
	{ { 32, WORT_BATCH_DELETE, 0, 8, 0, 0, 0 }, 0, -EBADF, true },
	{ { 48, WORT_BATCH_CAS, 0, 8, 8, 8, 0 }, 0, -EBADF, true },
	{ { 32, WORT_BATCH_LOOKUP, 0, 8, 0, 0, 8 }, 0, 0, true },
	{ { 32, WORT_BATCH_LOOKUP, 0, 8, 0, 0, 7 }, 0, -ERANGE, true },
	{ { 32, WORT_BATCH_LOOKUP, 1, 8, 0, 0, 8 }, 0, -EOPNOTSUPP, false },
	{ { 32, WORT_BATCH_LOOKUP, WORT_F_FETCH, 8, 0, 0, 8 }, 0, -EOPNOTSUPP,
	  false },
	{ { 32, WORT_BATCH_DELETE, 2, 8, 0, 0, 0 }, 0, -EOPNOTSUPP, false },
	{ { 48, WORT_BATCH_CAS, 1, 8, 8, 8, 0 }, 0, -EOPNOTSUPP, false },
	{ { 40, WORT_BATCH_INSERT, 4, 8, 0, 8, 0 }, 0, -EOPNOTSUPP, false },
	{ { 40, WORT_BATCH_INSERT, 3, 8, 0, 8, 0 }, 0, -EINVAL, false },
	{ { 40, WORT_BATCH_INSERT, 1, 8, 0, 8, 0 }, 0, -EEXIST, false },
	{ { 32, 0, 0, 8, 0, 0, 0 }, 0, -EOPNOTSUPP, false },
	{ { 32, 5, 0, 8, 0, 0, 0 }, 0, -EOPNOTSUPP, false },
	{ { 32, 0xffff, 0, 8, 0, 0, 0 }, 0, -EOPNOTSUPP, false },
	{ { 32, WORT_BATCH_LOOKUP, 0, 0, 0, 0, 8 }, 0, -EINVAL, false },
	/* lengths of what the operation does not have */
	{ { 40, WORT_BATCH_LOOKUP, 0, 8, 0, 8, 8 }, 0, -EINVAL, false },
	{ { 40, WORT_BATCH_LOOKUP, 0, 8, 8, 0, 8 }, 0, -EINVAL, false },
	{ { 40, WORT_BATCH_DELETE, 0, 8, 8, 0, 0 }, 0, -EINVAL, false },
	{ { 40, WORT_BATCH_DELETE, 0, 8, 0, 8, 0 }, 0, -EINVAL, false },
	{ { 32, WORT_BATCH_DELETE, 0, 8, 0, 0, 8 }, 0, -EINVAL, false },
	{ { 48, WORT_BATCH_INSERT, 0, 8, 8, 8, 0 }, 0, -EINVAL, false },
	{ { 40, WORT_BATCH_INSERT, 0, 8, 0, 8, 8 }, 0, -EINVAL, false },
	{ { 48, WORT_BATCH_CAS, 0, 8, 8, 8, 8 }, 0, -EINVAL, false },
	/* conditions, and the value that was there */
	{ { 48, WORT_BATCH_CAS, 0, 8, 8, 8, 0 }, 0, 0, false },
	{ { 48, WORT_BATCH_CAS, 0, 8, 7, 8, 0 }, 0, -ECANCELED, false },
	{ { 48, WORT_BATCH_CAS, 0, 7, 8, 8, 0 }, 0, -ENOENT, false },
	{ { 48, WORT_BATCH_CAS, WORT_F_FETCH, 8, 8, 8, 7 }, 0, -ERANGE,
	  false },
	{ { 40, WORT_BATCH_INSERT, WORT_F_FETCH, 8, 0, 8, 7 }, 0, -ERANGE,
	  false },
	{ { 32, WORT_BATCH_DELETE, WORT_F_FETCH, 8, 0, 0, 7 }, 0, -ERANGE,
	  false },
	{ { 32, WORT_BATCH_DELETE, WORT_DELETE_F_EXPECT, 8, 0, 0, 0 }, 0,
	  -ECANCELED, false },
	{ { 40, WORT_BATCH_DELETE, WORT_DELETE_F_EXPECT, 8, 8, 0, 0 }, 0, 0,
	  false },
	{ { 32, WORT_BATCH_DELETE, 0, 8, 0, 0, 0 }, 0, -ENOENT, false },
	{ { 32, WORT_BATCH_LOOKUP, 0, 8, 0, 0, 8 }, 0, -ENOENT, false },
	{ { 1056, WORT_BATCH_INSERT, 0, 1025, 0, 1, 0 }, 0, -EMSGSIZE, false },
	{ { 23, WORT_BATCH_DELETE, 0, 4, 0, 0, 0 }, -EINVAL, 0, false },
	{ { 0, WORT_BATCH_DELETE, 0, 8, 0, 0, 0 }, -EINVAL, 0, false },
	{ { 24, WORT_BATCH_DELETE, 0, 8, 0, 0, 0 }, -EINVAL, 0, false },
	{ { 32, WORT_BATCH_INSERT, 0, 8, 0, 8, 0 }, -EINVAL, 0, false },
	{ { 40, WORT_BATCH_CAS, 0, 8, 8, 8, 0 }, -EINVAL, 0, false },
	{ { 32, WORT_BATCH_DELETE, 0, ~0U, 0, 0, 0 }, -EINVAL, 0, false },
	{ { 32, WORT_BATCH_INSERT, 0, 8, 0, ~0U, 0 }, -EINVAL, 0, false },
	{ { 32, WORT_BATCH_CAS, 0, 8, ~0U, ~0U, 0 }, -EINVAL, 0, false },
	{ { ~7U, WORT_BATCH_INSERT, 0, 8, 0, 8, 0 }, -EINVAL, 0, false },
	{ { 32, WORT_BATCH_LOOKUP, 0, 8, 0, 0, ~0U }, -ERANGE, 0, false },
};

static void check_rule(struct bed *bed, const struct rule *rule)
{
	u32 len = rule->op.rec_len < 2048 ? max(rule->op.rec_len, 24U) : 64;
	u8 *ops = calloc(1, len), answer[64];
	struct wort_batch_result result;
	struct wort_batch batch = {
		.ops = ops, .ops_len = len, .nr_ops = 1, .results = answer,
		.results_size = sizeof(answer), .write = !rule->read_only,
	};

	memcpy(ops, &rule->op, sizeof(rule->op));
	CHECK_EQ(wort_index_batch(bed->index, &batch), rule->err);
	CHECK_EQ(batch.done, !rule->err);
	if (!rule->err) {
		memcpy(&result, answer, sizeof(result));
		CHECK_EQ(result.error, rule->error);
		CHECK_EQ(batch.failed, rule->error != 0);
		CHECK_EQ(batch.results_len, result.rec_len);
	}
	free(ops);
}

/* Each way in which an operation of a batch can be wrong. */
void check_batch_rules(void)
{
	struct wort_batch_op ops[3] = {
		{ 32, WORT_BATCH_DELETE, WORT_F_FETCH, 1, 0, 0, 8 },
	};
	u8 answer[40];
	struct wort_batch batch = {
		.ops = (u8 *)ops, .ops_len = sizeof(ops), .nr_ops = 2,
		.results = answer, .write = true,
	};
	struct bed bed;
	u32 i, size;

	bed_open(&bed, MIB, 0);
	for (i = 0; i < ARRAY_SIZE(rules); i++)
		check_rule(&bed, &rules[i]);
	memcpy((u8 *)ops + 32, ops, 24);
	for (size = 0; size <= sizeof(answer); size++) {
		batch.results_size = size;
		CHECK_EQ(wort_index_batch(bed.index, &batch),
			 size < 40 ? -ERANGE : 0);
		CHECK_EQ(batch.done, size < 24 ? 0 : 1 + (size >= 40));
	}
	batch.flags = WORT_BATCH_F_STOP;
	CHECK_EQ(wort_index_batch(bed.index, &batch), 0);
	CHECK_EQ(batch.done, 1);
	CHECK_EQ(batch.failed, 1);
	batch.nr_ops = 3;
	batch.ops_len = 38;
	batch.flags = 0;
	CHECK_EQ(wort_index_batch(bed.index, &batch), -EINVAL);
	CHECK_EQ(batch.done, 1);
	bed_close(&bed);
}
