// SPDX-License-Identifier: GPL-2.0-only
#include "model.h"

int model_cmp(const u8 *a, u32 a_len, const u8 *b, u32 b_len)
{
	u32 i;

	for (i = 0; i < a_len && i < b_len; i++)
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	return a_len < b_len ? -1 : a_len > b_len;
}

/* Where the key is, or belongs. */
u32 model_find(const struct model *model, const u8 *key, u32 len, bool *found)
{
	u32 low = 0, high = model->nr, mid;
	int cmp;

	*found = false;
	while (low < high) {
		mid = (low + high) / 2;
		cmp = model_cmp(model->recs[mid].key, model->recs[mid].key_len,
				key, len);
		if (!cmp) {
			*found = true;
			return mid;
		}
		if (cmp < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool same_value(u64 seed_a, u32 len_a, u64 seed_b, u32 len_b)
{
	return len_a == len_b && !memcmp(&seed_a, &seed_b, min(len_a, 8U));
}

static bool expected(const struct model_rec *rec, const struct model_put *put)
{
	return !put->has_expect ||
	       same_value(rec->value_seed, rec->value_len, put->expect_seed,
			  put->expect_len);
}

/* What a put should answer. */
int model_put_err(const struct model *model, const struct model_put *put)
{
	bool found;
	u32 at = model_find(model, put->key, put->key_len, &found);

	if (!found)
		return put->flags & WORT_INSERT_F_REPLACE || put->has_expect ?
		       -ENOENT : 0;
	if (put->flags & WORT_INSERT_F_CREATE)
		return -EEXIST;
	return expected(&model->recs[at], put) ? 0 : -ECANCELED;
}

void model_put(struct model *model, const struct model_put *put)
{
	bool found;
	u32 at = model_find(model, put->key, put->key_len, &found);
	struct model_rec *rec;

	if (!found) {
		if (model->nr == model->size) {
			model->size = 2 * model->size + 64;
			model->recs = realloc(model->recs, model->size *
					      sizeof(*rec));
		}
		rec = &model->recs[at];
		memmove(rec + 1, rec, (model->nr++ - at) * sizeof(*rec));
		rec->key = malloc(put->key_len);
		rec->key_len = put->key_len;
		memcpy(rec->key, put->key, put->key_len);
	}
	model->recs[at].value_seed = put->value_seed;
	model->recs[at].value_len = put->value_len;
}

int model_del_err(const struct model *model, const struct model_put *del)
{
	bool found;
	u32 at = model_find(model, del->key, del->key_len, &found);

	if (!found)
		return -ENOENT;
	return expected(&model->recs[at], del) ? 0 : -ECANCELED;
}

void model_del(struct model *model, const u8 *key, u32 len)
{
	bool found;
	u32 at = model_find(model, key, len, &found);
	struct model_rec *rec = &model->recs[at];

	free(rec->key);
	memmove(rec, rec + 1, (--model->nr - at) * sizeof(*rec));
}

void model_free(struct model *model)
{
	while (model->nr)
		free(model->recs[--model->nr].key);
	free(model->recs);
	memset(model, 0, sizeof(*model));
}

static bool in_range(const struct model_rec *rec, const struct wort_scan *scan)
{
	bool reverse = scan->flags & WORT_SCAN_F_REVERSE;
	const struct wort_key *start = scan->start, *bound = scan->bound;
	int cmp;

	if (start) {
		cmp = model_cmp(rec->key, rec->key_len, start->data,
				start->len);
		if (!cmp && scan->flags & WORT_SCAN_F_AFTER)
			return false;
		if (reverse ? cmp > 0 : cmp < 0)
			return false;
	}
	if (!bound)
		return true;
	if (scan->flags & WORT_SCAN_F_PREFIX)
		return rec->key_len >= bound->len &&
		       !memcmp(rec->key, bound->data, bound->len);
	cmp = model_cmp(rec->key, rec->key_len, bound->data, bound->len);
	return reverse ? cmp > 0 : cmp < 0;
}

static u32 rec_len(const struct model_rec *rec, const struct wort_scan *scan)
{
	u32 len = sizeof(struct wort_record) + rec->key_len;

	if (!(scan->flags & WORT_SCAN_F_KEYS))
		len += rec->value_len;
	return round_up(len, 8);
}

/* Is the next record in the buffer this one?  The rest of it is zero. */
static void check_record(const struct model_rec *rec,
			 const struct wort_scan *scan, const u8 *at)
{
	static u8 value[WORT_VALUE_MAX];
	struct wort_record head;
	u32 value_len = 0;

	memcpy(&head, at, sizeof(head));
	CHECK_EQ(head.rec_len, rec_len(rec, scan));
	CHECK_EQ(head.key_len, rec->key_len);
	CHECK_EQ(head.value_len, rec->value_len);
	CHECK_EQ(head.__reserved, 0);
	at += sizeof(head);
	CHECK(!memcmp(at, rec->key, rec->key_len));
	at += rec->key_len;
	if (!(scan->flags & WORT_SCAN_F_KEYS))
		value_len = rec->value_len;
	value_fill(value, rec->value_seed, value_len);
	CHECK(!memcmp(at, value, value_len));
	for (at += value_len; (unsigned long)at % 8; at++)
		CHECK_EQ(*at, 0);
}

static void check_count(const struct model_rec *last,
			const struct wort_scan *scan, u64 n)
{
	if (!n || n != scan->max) {
		CHECK_EQ(scan->last_len, 0);
		return;
	}
	CHECK_EQ(scan->last_len, last->key_len);
	CHECK_EQ(scan->len, last->key_len);
	CHECK(!memcmp(scan->buf, last->key, last->key_len));
}

/* Did a scan answer what it should?  Its buffer is 8-byte aligned. */
void model_check_scan(const struct model *model, const struct wort_scan *scan,
		      int err)
{
	bool reverse = scan->flags & WORT_SCAN_F_REVERSE;
	bool counting = scan->flags & WORT_SCAN_F_COUNT, more = false;
	const struct model_rec *rec, *last = NULL;
	u32 i, n = 0, len = 0, need;
	int expect = 0;

	for (i = 0; i < model->nr && !more; i++) {
		rec = &model->recs[reverse ? model->nr - 1 - i : i];
		if (!in_range(rec, scan))
			continue;
		need = rec_len(rec, scan);
		if (!counting && need > scan->buf_len - len) {
			if (!n)
				expect = -ERANGE;
			more = n;
			CHECK_EQ(scan->need, need);
			break;
		}
		if (!counting && n < scan->count && !err) {
			check_record(rec, scan, scan->buf + len);
			len += need;
		}
		last = rec;
		more = ++n == scan->max;
	}
	CHECK_EQ(err, expect);
	CHECK_EQ(scan->count, n);
	CHECK_EQ(scan->more, more);
	if (counting)
		check_count(last, scan, n);
	else
		CHECK_EQ(scan->len, len);
}

/* The record of the model that is at a place of a buffer, and is there with its value. */
static u32 check_any_record(const struct model *model,
			    const struct wort_scan *scan, const u8 *at)
{
	struct wort_record head;
	bool found;
	u32 rec;

	memcpy(&head, at, sizeof(head));
	rec = model_find(model, at + sizeof(head), head.key_len, &found);
	if (!CHECK(found))
		die("a record that should not be there");
	check_record(&model->recs[rec], scan, at);
	return rec;
}

/*
 * Every record is there, with its value, and nothing else is: once, and in the order of
 * keys if the engine has one.
 */
void model_compare(const struct model *model, struct wort_index *index)
{
	static u8 buf[WORT_BUF_MAX] __attribute__((aligned(8)));
	struct wort_scan scan = { .buf = buf, .buf_len = sizeof(buf) };
	bool *seen = calloc(model->nr + 1, sizeof(*seen));
	struct wort_key start;
	u32 nr = 0, rec = 0, at;

	do {
		CHECK_EQ(wort_index_scan(index, &scan), 0);
		for (at = 0; at < scan.len; at += rec_len(&model->recs[rec], &scan)) {
			rec = check_any_record(model, &scan, buf + at);
			CHECK(!seen[rec]);
			seen[rec] = true;
			if (subject_has(WORT_TRAIT_ORDERED))
				CHECK_EQ(rec, nr);
			nr++;
		}
		CHECK_EQ(at, scan.len);
		if (!nr)
			break;
		start.data = model->recs[rec].key;
		start.len = model->recs[rec].key_len;
		scan.start = &start;
		scan.flags = WORT_SCAN_F_AFTER;
	} while (scan.more);
	CHECK_EQ(nr, model->nr);
	free(seen);
}

static u32 gen_word(u64 r, u8 *key)
{
	static const char *const parts[] = {
		"a", "be", "con", "de", "er", "form", "inter", "nation", "pre",
		"re", "sub", "trans",
	};
	static const char *const ends[] = { "", "s", "al", "ation", "ed" };
	char word[64] = "";
	u32 n;

	for (n = r % 3 + 1, r >>= 8; n; n--, r >>= 8)
		strcat(word, parts[r % ARRAY_SIZE(parts)]);
	strcat(word, ends[r % ARRAY_SIZE(ends)]);
	memcpy(key, word, strlen(word));
	return strlen(word);
}

/* One byte, or 1024 that differ in a digit near either end or the middle. */
static u32 gen_limits(u64 r, u8 *key)
{
	static const u32 at[] = { 0, 1, 4, 5, 6, 510, 511, 512, 1022, 1023 };

	if (r % 4 == 0) {
		key[0] = r >> 8;
		return 1;
	}
	memset(key, r % 4 == 1 ? 0 : 0x5a, WORT_KEY_MAX);
	key[at[(r >> 8) % ARRAY_SIZE(at)]] ^= 1 << (r >> 16) % 8;
	key[at[(r >> 20) % ARRAY_SIZE(at)]] ^= 1 << (r >> 28) % 8;
	return WORT_KEY_MAX;
}

static u32 gen_fill(u64 r, u8 *key)
{
	static const u32 lens[] = { 100, 101, 511, 512, 1000, 1023, 1024 };
	u32 len = r >> 8 & 1 ? (r >> 16) % 24 + 1 :
			       lens[(r >> 16) % ARRAY_SIZE(lens)];

	memset(key, r & 1 ? 0xff : 0, len);
	if (r & 2)
		key[len - 1] ^= 1 << (r >> 24) % 8;
	return len;
}

static u32 gen_chain(u64 r, u8 *key)
{
	u32 len = (r >> 8) % 100 + 1;

	memset(key, 'a', len);
	if (r & 1)
		key[(r >> 24) % 4 % len] = 'b';
	return len;
}

/*
 * Families with a prefix of 5 to 41 bytes in common, and members that leave it
 * at any digit: splits and merges within long runs of digits that nodes skip.
 */
static u32 gen_shared(u64 r, u8 *key)
{
	static const u32 lens[] = { 5, 6, 11, 41 };
	u32 family = r % 4, len = lens[family];
	u32 at = (r >> 8) % (2 * len), i;

	for (i = 0; i < len; i++)
		key[i] = family * 0x40 + i / 4;
	if (r >> 16 & 1)
		key[at / 2] ^= (at % 2 ? 1 : 0x10) << (r >> 20) % 4;
	key[len++] = (r >> 24) % 8 * 0x11;
	if (r >> 32 & 1)
		key[len++] = (r >> 40) % 4;
	return len;
}

static u32 gen_tiny(u64 r, u8 *key)
{
	static const u8 bytes[] = { 0, 1, 0x10, 0x0f, 0xf0, 0xff };
	u32 len = r % 4 + 1, i;

	for (i = 0, r >>= 8; i < len; i++, r >>= 8)
		key[i] = bytes[r % sizeof(bytes)];
	return len;
}

u32 keygen(enum keygen kind, u64 *rnd, u8 *key)
{
	u64 r = test_random(rnd) >> 8, n = r % 1500;

	switch (kind) {
	case KEYS_WORDS:
		return gen_word(r, key);
	case KEYS_LIMITS:
		return gen_limits(r, key);
	case KEYS_FILL:
		return gen_fill(r, key);
	case KEYS_CHAIN:
		return gen_chain(r, key);
	case KEYS_SHARED:
		return gen_shared(r, key);
	case KEYS_TINY:
		return gen_tiny(r, key);
	case KEYS_SPARSE:
		n = (n + 1) * 0x9e3779b97f4a7c15ULL;
		break;
	case KEYS_CLUSTERED:
		n = U64_MAX / 24 * (n / 64) + n % 64;
		break;
	default:
		break;
	}
	key_u64(key, n);
	return 8;
}
