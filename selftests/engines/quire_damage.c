// SPDX-License-Identifier: GPL-2.0-only
/*
 * QUIRE and damage that only some operations meet, or whose page has got its shadow before.
 */
#include "quire_tests.h"

#define HEAD_OF_WORD	(WORT_MEDIA_QUIRE_SET | 8ULL << WORT_MEDIA_QUIRE_VALUE_SHIFT)

static u8 *memory(struct bed *bed)
{
	return (u8 *)bed->pm.region.base;
}

static u64 load(struct bed *bed, u64 off)
{
	return probe_load(memory(bed), off);
}

static void store(struct bed *bed, u64 off, u64 val)
{
	const __le64 word = cpu_to_le64(val);

	memcpy(memory(bed) + off, &word, sizeof(word));
}

static u32 level_of(struct bed *bed, u64 page)
{
	return load(bed, page) >> WORT_MEDIA_QUIRE_LEVEL_SHIFT & WORT_MEDIA_QUIRE_LEVEL_MASK;
}

static u32 prefix_of(struct bed *bed, u64 page)
{
	return load(bed, page) >> WORT_MEDIA_QUIRE_PREFIX_SHIFT & WORT_MEDIA_QUIRE_KEY_MASK;
}

/* The page of a level on the way to a key. */
static u64 page_of(struct bed *bed, u32 level, const void *key, u32 len)
{
	u64 words[PROBE_WORDS];

	CHECK(bed_path(bed, key, len, words) > level);
	return load(bed, words[level]);
}

/* The kind of a value says how many bytes of a word are copied: it has no 12. */
void quire_damaged_kind(void)
{
	const struct wort_value want = { "abcdefghijkl", 12 };
	const u8 key[8] = { 1 };
	struct bed bed;
	u8 value[64];
	u32 len = 8;
	u64 at;

	count_open(&bed, 16 * MIB);
	CHECK_EQ(pm_put(bed.index, key, sizeof(key), "12345678", 8), 0);
	CHECK_EQ(pm_get(bed.index, key, sizeof(key), value, &len), 0);
	at = first_record(memory(&bed), page_of(&bed, 0, key, sizeof(key)));
	store(&bed, at, load(&bed, at) ^ 4ULL << WORT_MEDIA_QUIRE_VALUE_SHIFT);
	CHECK_EQ(unit_put(bed.index, key, sizeof(key), "1", 1, 0, &want, NULL), -EUCLEAN);
	len = sizeof(value);
	CHECK_EQ(pm_get(bed.index, key, sizeof(key), value, &len), -EUCLEAN);
	bed_close(&bed);
}

/* A bit that flips behind the key of an old record must not make that record count again. */
void quire_damaged_padding(void)
{
	const u8 key[5] = { 1, 2, 3, 4, 5 };
	u8 other[5] = { 9 }, value[8];
	struct bed bed;
	u32 len = 8;
	u64 at;

	count_open(&bed, 16 * MIB);
	CHECK_EQ(pm_put(bed.index, key, sizeof(key), "old value", 8), 0);
	CHECK_EQ(pm_put(bed.index, key, sizeof(key), "new", 3), 0);
	at = first_record(memory(&bed), page_of(&bed, 0, key, sizeof(key)));
	bed_detach(&bed);
	memory(&bed)[at + QR_REC_WORDS * QR_WORD + sizeof(key)] ^= 1;
	bed_attach(&bed);
	for (other[4] = 0; other[4] < 60; other[4]++)
		CHECK_EQ(pm_put(bed.index, other, sizeof(other), "new", 3), 0);
	CHECK_EQ(pm_get(bed.index, key, sizeof(key), value, &len), 0);
	CHECK_EQ(len, 3);
	bed_close(&bed);
}

/* The records of a page, and of those below it, die. */
static void all_die(struct bed *bed, u64 page)
{
	u64 at;

	for_each_record(memory(bed), page, at) {
		if (!level_of(bed, page))
			store(bed, at, load(bed, at) | WORT_MEDIA_QUIRE_DEAD);
		else if (!(load(bed, at) & WORT_MEDIA_QUIRE_DEAD))
			all_die(bed, load(bed, at + QR_WORD));
	}
}

static void key_of(u8 *key, u32 i)
{
	memset(key, 0, sizeof(u64));
	key[0] = 2 + i / 200;
	key[7] = i % 200;
}

/* An inner page begins with a lesser byte: the uppers of its leaves lie before these. */
void quire_damaged_anchor(void)
{
	struct wort_scan scan = { .flags = WORT_SCAN_F_COUNT };
	u64 words[PROBE_WORDS], page = 0;
	u8 key[8], buf[64];
	struct bed bed;
	u32 i, nr;

	if (!subject.attr)
		return;
	count_open(&bed, 16 * MIB);
	for (i = 0; i < 1600; i++) {
		key_of(key, i * 641 % 1600);
		CHECK_EQ(pm_put(bed.index, key, sizeof(key), key, sizeof(key)), 0);
	}
	for (i = 600; i < 1600 && (!page || !prefix_of(&bed, page)); i++) {
		key_of(key, i);
		page = page_of(&bed, 1, key, sizeof(key));
	}
	CHECK_GE(prefix_of(&bed, page), 1);
	nr = bed_path(&bed, key, sizeof(key), words);
	bed_detach(&bed);
	memory(&bed)[page + QR_WORD] = 3;
	all_die(&bed, load(&bed, words[nr - 1]));
	bed_attach(&bed);
	scan.buf = buf;
	scan.buf_len = sizeof(buf);
	CHECK_EQ(wort_index_scan(bed.index, &scan), -EUCLEAN);
	bed_close(&bed);
}

#define COMMON	600	/* bytes that all keys have in common */

static void long_key(u8 *key, u64 nr)
{
	memset(key, 'x', COMMON);
	key_u64(key + COMMON, nr);
}

static int put_atomically(struct bed *bed, const u8 *key)
{
	static struct wort_request req;
	struct wort_atomic batch = { .reqs = &req, .indexes = &bed->index, .nr_ops = 1 };

	memset(&req, 0, sizeof(req));
	req.op.op = WORT_BATCH_INSERT;
	req.put.key = (struct wort_key){ key, COMMON + 8 };
	req.put.value = (struct wort_value){ key, 8 };
	return wort_pool_atomic(bed->pm.pool, &batch);
}

/*
 * The last separator of the root begins with another byte.  A leaf before it has keys with
 * less in common with its upper then, so its records are longer than any page is.
 */
static void separator_damage(struct bed *bed, bool atomically)
{
	u64 words[PROBE_WORDS], sep, least = 0;
	u8 key[COMMON + 8];
	u32 nr, i;
	int err = 0;

	count_open(bed, 16 * MIB);
	for (i = 0; i < 400; i++) {
		long_key(key, i * 641 % 400 * 256);
		CHECK_EQ(pm_put(bed->index, key, sizeof(key), key, 8), 0);
	}
	long_key(key, 399 * 256);
	nr = bed_path(bed, key, sizeof(key), words);
	sep = words[nr - 2] - QR_WORD;
	memcpy(key, memory(bed) + sep + QR_REC_WORDS * QR_WORD,
	       load(bed, sep) & WORT_MEDIA_QUIRE_LEN_MASK);
	for (i = 0; i < 8; i++)
		least = least << 8 | (COMMON + i < (load(bed, sep) & WORT_MEDIA_QUIRE_LEN_MASK) ?
				      key[COMMON + i] : 0);
	bed_detach(bed);
	memory(bed)[sep + QR_REC_WORDS * QR_WORD] = 'y';
	bed_attach(bed);
	for (i = 2; i < 250 && !err; i++) {
		long_key(key, least - i);
		err = atomically ? put_atomically(bed, key) :
				   pm_put(bed->index, key, sizeof(key), key, 8);
	}
	CHECK_EQ(err, -EUCLEAN);
	bed_close(bed);
}

void quire_damaged_separator(void)
{
	struct bed bed;

	separator_damage(&bed, false);
	separator_damage(&bed, true);
}

/* Other records, with the same top: more of them than an order has room for. */
static void records_forge(struct bed *bed, u64 page, u32 place, u32 top)
{
	u32 words, i;

	for (i = 1; place < top; place += words, i++) {
		words = (top - place) % 3 ? 4 : 3;
		store(bed, page + QR_WORD * (place + 1), 7);
		store(bed, page + QR_WORD * (place + 2), i);
		store(bed, page + QR_WORD * (place + words - 1), i);
		store(bed, page + QR_WORD * place,
		      HEAD_OF_WORD | QR_WORD * (words - QR_REC_WORDS));
	}
}

/* The page of a shadow is another one's by now, as it can be in a damaged pool. */
void quire_damaged_order(void)
{
	static u8 buf[64 << 10];
	struct wort_scan scan = { .buf = buf, .buf_len = sizeof(buf) };
	const struct qr_shadow *shadow;
	u8 key[16] = { 1 };
	struct bed bed;
	u64 page;

	if (subject.attr)
		return;
	count_open(&bed, 16 * MIB);
	for (key[15] = 0; key[15] < 55; key[15]++)
		CHECK_EQ(pm_put(bed.index, key, sizeof(key), key, 8), 0);
	page = page_of(&bed, 0, key, sizeof(key));
	shadow = qr_shadow_find(&bed.index->tree, page);
	CHECK(shadow);
	records_forge(&bed, page, shadow->page.first, shadow->top);
	CHECK_EQ(wort_index_scan(bed.index, &scan), 0);
	CHECK_GE(scan.count, QR_LEAF_RECS + 1);
	CHECK_EQ(shadow->ordered, 0);
	bed_close(&bed);
}

/* A page so high above the leaves that what takes its place is more than an operation takes. */
void quire_lost_page(void)
{
	struct wort_check_arg arg = { .size = sizeof(arg), .flags = WORT_CHECK_F_CLEAR };
	struct bed bed;
	u8 key[8];
	u32 i;

	if (!subject.attr)
		return;
	count_open(&bed, 16 * MIB);
	for (i = 0; i < 20000; i++) {
		key_u64(key, i * 2654435761u);
		CHECK_EQ(pm_put(bed.index, key, sizeof(key), key, sizeof(key)), 0);
	}
	wort_region_add_bad(&bed.pm.region, page_of(&bed, 4, key, sizeof(key)), 8);
	CHECK_EQ(wort_pool_check(bed.pm.pool, &arg), 0);
	CHECK_GE(arg.out_nr_dropped, 1);
	CHECK_EQ(wort_pool_check(bed.pm.pool, &arg), 0);
	CHECK_EQ(arg.out_nr_damaged, 0);
	wort_region_forget_bad(&bed.pm.region);
	bed_close(&bed);
}

/* The shadow of an inner page with all the children that it has room for, or NULL. */
static struct qr_inner_shadow *full_find(struct bed *bed)
{
	const struct qr_table *table = qr_shadows_of(&bed->index->tree)->table;
	struct qr_inner_shadow *in;
	u32 i;

	for (i = 0; i <= table->mask; i++) {
		if (!table->slot[i].shadow || !table->slot[i].shadow->page.level)
			continue;
		in = container_of(table->slot[i].shadow, struct qr_inner_shadow, s);
		if (in->nr == qr_children_max(&in->s.page))
			return in;
	}
	return NULL;
}

/* The last child for which there is room comes after a reader has loaded their number. */
void quire_child_comes(void)
{
	struct qr_inner_shadow *in = NULL;
	struct qr_way way;
	struct wort_key k;
	struct bed bed;
	u64 i, value;
	u32 len;
	u8 key[8];

	count_open(&bed, 64 * MIB);
	for (i = 0; i < 40000 && !in; i++) {
		len = sizeof(value);
		key_u64(key, i);
		count_put(&bed, i, i);
		CHECK_EQ(pm_get(bed.index, key, sizeof(key), &value, &len), 0);
		if (i % 64 == 0) {
			pmpool_settle();
			in = full_find(&bed);
		}
	}
	if (in) {
		key_u64(key, i);
		k = (struct wort_key){ key, sizeof(key) };
		in->nr--;
		CHECK_EQ(qr_child_find(&in->s, QR_COVERS, &k, &way), 0);
		in->nr++;
	}
	CHECK(in || subject.attr);
	bed_close(&bed);
}

/* How often the shadows of parents lead to shadows that are not in the table. */
static u32 astray_count(const struct wort_tree *tree)
{
	const struct qr_table *table = qr_shadows_of(tree)->table;
	const struct qr_inner_shadow *in;
	u32 i, k, nr = 0;

	for (i = 0; i <= table->mask; i++) {
		if (!table->slot[i].shadow || !table->slot[i].shadow->page.level)
			continue;
		in = qr_inner_shadow(table->slot[i].shadow);
		for (k = 0; k < in->nr; k++)
			nr += in->child[k].shadow &&
			      qr_shadow_find(tree, qr_child_link(&in->child[k])) !=
			      in->child[k].shadow;
	}
	return nr;
}

/*
 * Two separators lead to one leaf.  It is replaced by way of the first, and its shadow is freed:
 * the second must not lead there any more.
 */
void quire_damaged_twice(void)
{
	u64 words[PROBE_WORDS], value, leaf;
	u8 key[8], second[8];
	struct bed bed;
	u32 i, len;

	count_open(&bed, 16 * MIB);
	for (i = 0; i < 2000; i++)
		count_put(&bed, 1000 * i, i);
	key_u64(key, 500 * 1000);
	key_u64(second, 1500 * 1000);
	leaf = page_of(&bed, 0, key, sizeof(key));
	bed_path(&bed, second, sizeof(second), words);
	bed_detach(&bed);
	store(&bed, words[0], leaf);
	bed_attach(&bed);
	for (i = 0; i < 100; i++) {
		key_u64(key, 500 * 1000 + i);
		pm_put(bed.index, key, sizeof(key), key, sizeof(key));
		len = sizeof(value);
		pm_get(bed.index, second, sizeof(second), &value, &len);
	}
	CHECK_NE(page_of(&bed, 0, key, sizeof(key)), leaf);
	qr_volatile_ops.shrink(&bed.index->tree, 0);
	CHECK_EQ(astray_count(&bed.index->tree), 0);
	pm_get(bed.index, second, sizeof(second), &value, &len);
	bed_close(&bed);
}

/* Write a page anew, without records, as large as it was. */
static u64 page_forge(struct bed *bed, u64 page, u32 level, const char *anchor, u32 prefix)
{
	u64 words = load(bed, page) & WORT_MEDIA_QUIRE_SIZE_MASK, len = strlen(anchor);

	memset(memory(bed) + page, 0, words * QR_WORD);
	store(bed, page, words | (u64)level << WORT_MEDIA_QUIRE_LEVEL_SHIFT |
	      len << WORT_MEDIA_QUIRE_ANCHOR_SHIFT |
	      (u64)prefix << WORT_MEDIA_QUIRE_PREFIX_SHIFT);
	memcpy(memory(bed) + page + QR_WORD, anchor, len);
	return page + QR_WORD + round_up(len, QR_WORD);
}

static u64 separator_forge(struct bed *bed, u64 at, const char *rest, u64 link)
{
	u32 len = strlen(rest);

	memcpy(memory(bed) + at + QR_REC_WORDS * QR_WORD, rest, len);
	store(bed, at + QR_WORD, link);
	store(bed, at, HEAD_OF_WORD | len);
	return at + QR_REC_WORDS * QR_WORD + round_up(len, QR_WORD);
}

static u64 leaf_of(struct bed *bed, u64 n, u32 level)
{
	u8 key[8];

	key_u64(key, n);
	return page_of(bed, level, key, sizeof(key));
}

/* Two pages lead to the same two leaves, each behind the other: the walk has to end. */
void quire_damaged_loop(void)
{
	u64 root, inner[2], leaf[2], at, i;
	struct wort_check_arg arg;
	struct bed bed;

	count_open(&bed, 16 * MIB);
	for (i = 0; i < 2000; i++)
		count_put(&bed, 1000 * i, i);
	root = leaf_of(&bed, 0, 1);
	inner[0] = leaf_of(&bed, 0, 0);
	inner[1] = leaf_of(&bed, 400000, 0);
	leaf[0] = leaf_of(&bed, 800000, 0);
	leaf[1] = leaf_of(&bed, 1200000, 0);
	bed_detach(&bed);
	at = page_forge(&bed, root, 2, "", 0);
	at = separator_forge(&bed, at, "", inner[0]);
	separator_forge(&bed, at, "mz", inner[1]);
	at = page_forge(&bed, inner[0], 1, "", 0);
	at = separator_forge(&bed, at, "", leaf[0]);
	separator_forge(&bed, at, "zb", leaf[1]);
	at = page_forge(&bed, inner[1], 1, "mz", 1);
	at = separator_forge(&bed, at, "", leaf[1]);
	separator_forge(&bed, at, "c", leaf[0]);
	page_forge(&bed, leaf[0], 0, "", 0);
	page_forge(&bed, leaf[1], 0, "mz", 0);
	bed_attach(&bed);
	bed_check_arg(&bed, 0, &arg);
	CHECK_EQ(arg.out_nr_damaged, 1);
	bed_close(&bed);
}

/* The prefix of the leaf of a key, if a separator leads there that says more. */
static u32 prefix_of_leaf(struct bed *bed, u64 n, u64 *leaf)
{
	u64 words[PROBE_WORDS], sep_len;
	u8 key[8];

	key_u64(key, n);
	if (bed_path(bed, key, sizeof(key), words) < 2)
		return 0;
	*leaf = load(bed, words[0]);
	sep_len = load(bed, words[0] - QR_WORD) & WORT_MEDIA_QUIRE_LEN_MASK;
	return sep_len > prefix_of(bed, *leaf) ? prefix_of(bed, *leaf) : 0;
}

/*
 * A leaf begins below the separator that leads to it, so one between its keys leads no key
 * elsewhere: it is not split again and again.
 */
void quire_damaged_split(void)
{
	struct wort_check_arg arg;
	u64 leaf = 0, n = 1000, i;
	u32 prefix = 0;
	struct bed bed;
	int err = 0;
	u8 key[8];

	count_open(&bed, 16 * MIB);
	for (i = 0; i < 2000; i++)
		count_put(&bed, 1000 * (i * 641 % 2000), i);
	while (n < 2000000 && prefix < 6) {
		n += 1000;
		prefix = prefix_of_leaf(&bed, n, &leaf);
	}
	CHECK_GE(prefix, 6);
	bed_detach(&bed);
	memory(&bed)[leaf + QR_WORD + prefix - 1]--;
	bed_attach(&bed);
	for (i = 1; i < 1000 && !err; i++) {
		key_u64(key, n + i);
		err = pm_put(bed.index, key, sizeof(key), &i, sizeof(i));
	}
	CHECK_EQ(err, -EUCLEAN);
	bed_check_arg(&bed, 0, &arg);
	CHECK_EQ(arg.out_nr_damaged, 1);
	CHECK_LE(arg.out_owned_bytes, MIB);
	bed_close(&bed);
}

/* A value outside the pool is damage to whom a change asks for it, too. */
void quire_damaged_value(void)
{
	const struct wort_value want = { "abcdefghijkl", 12 };
	const u8 key[8] = { 1 };
	struct bed bed;
	u64 at;

	count_open(&bed, 16 * MIB);
	CHECK_EQ(pm_put(bed.index, key, sizeof(key), want.data, want.len), 0);
	at = first_record(memory(&bed), page_of(&bed, 0, key, sizeof(key)));
	store(&bed, at + QR_WORD, load(&bed, at + QR_WORD) | 1ULL << 40);
	CHECK_EQ(unit_put(bed.index, key, sizeof(key), "1", 1, 0, &want, NULL), -EUCLEAN);
	bed_close(&bed);
}

/*
 * A put that finds a record behind the end of its leaf has written its value.  It gives the
 * space of that back.
 */
void quire_damaged_end(void)
{
	const u32 nr = 2, len = 4 * QR_WORD;	/* records: a whole number of lines */
	struct wort_check_arg arg;
	struct bed bed;
	u8 key[16] = { };
	u32 word;
	u64 at;

	count_open(&bed, 16 * MIB);
	for (key[0] = 0; key[0] < nr; key[0]++)
		CHECK_EQ(pm_put(bed.index, key, sizeof(key), "a value", 7), 0);
	at = first_record(memory(&bed), page_of(&bed, 0, key, sizeof(key)));
	for (word = 0; word < len; word += QR_WORD)
		store(&bed, at + nr * len + word, load(&bed, at + word));
	CHECK_EQ(pm_put(bed.index, key, sizeof(key), "a value of its own", 18), -EUCLEAN);
	bed_check_arg(&bed, 0, &arg);
	CHECK_EQ(arg.out_nr_damaged, 0);
	bed_close(&bed);
}
