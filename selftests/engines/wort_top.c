// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of a tree's top: how large it is, where it leads, what it spares.
 */
#include <linux/wort_format_wort.h>

#include "../../kmod/engine/radix_top.h"
#include "../../kmod/engine/round.h"
#include "wort_tests.h"

static bool is_node(u64 link)
{
	return (link & WORT_MEDIA_LINK_KIND_MASK) == WORT_MEDIA_WORT_KIND_NODE;
}

static u32 place_of(u64 link)
{
	return link >> WORT_MEDIA_LINK_PLACE_SHIFT;
}

static u64 slot_of(struct wort_index *index, u64 link, u32 slot)
{
	const __le64 *node = wort_region_at(index->tree.region,
					    link & WORT_MEDIA_LINK_OFF_MASK);

	return le64_to_cpu(node[slot]);
}

/* What the first digits of a key lead to from the root on. */
static u64 from_root(struct wort_index *index, u64 word)
{
	u64 link = le64_to_cpu(index->tree.root[0]);

	while (is_node(link) && place_of(link) < wort_tree_top(&index->tree)->shape.place)
		link = slot_of(index, link,
			       wort_word_digit(word, place_of(link)));
	return link;
}

/* What the tops of all trees of WORT in the pool have. */
static size_t volatile_bytes(const struct bed *bed)
{
	return bed->pm.pool->volatile_bytes[wort_engine_nr(&wort_engine_wort)];
}

/* The first digits of some key below a link. */
static u64 some_word(struct wort_index *index, u64 link)
{
	const struct wort_media_leaf *leaf;
	struct wort_key key;
	u64 below;
	u32 slot;

	while (is_node(link)) {
		for (slot = 0; !(below = slot_of(index, link, slot)); slot++)
			;
		link = below;
	}
	leaf = wort_region_at(index->tree.region,
			      link & ~WORT_MEDIA_LINK_KIND_MASK);
	key.data = leaf->key;
	key.len = le64_to_cpu(leaf->meta) & WORT_MEDIA_LEAF_KEY_MASK;
	return wort_key_word(&key, 0);
}

u32 wort_top_verify(struct wort_index *index)
{
	const struct wort_top *top = wort_tree_top(&index->tree);
	u64 i, link, nr = 0, word;

	for (i = 0; i <= top->mask; i++) {
		link = top->link[i];
		if (!link)
			continue;
		word = top->shape.first + (i << top->shift);
		CHECK_GE(place_of(link), top->shape.place);
		CHECK_EQ(from_root(index, word), link);
		CHECK_EQ((some_word(index, link) ^ word) >> top->shift, 0);
		nr++;
	}
	return nr;
}

/* An index that is opened for the first time is looked at. */
static void look_again(struct bed *bed)
{
	bed_detach(bed);
	bed_attach(bed);
	pmpool_settle();
}

static void put_word(struct bed *bed, u64 n)
{
	u8 key[8];

	key_u64(key, n);
	CHECK_EQ(pm_put(bed->index, key, sizeof(key), &n, sizeof(n)), 0);
}

static void get_word(struct bed *bed, u64 n, int want)
{
	u32 len = sizeof(u64);
	u64 value = 0;
	u8 key[8];

	key_u64(key, n);
	CHECK_EQ(pm_get(bed->index, key, sizeof(key), &value, &len), want);
	CHECK(want || value == n);
}

static u64 nodes_of_lookups(struct bed *bed)
{
	struct wort_op_stats stats[WORT_OP_NR];

	wort_index_stats(bed->index, stats);
	return stats[WORT_OP_LOOKUP].nodes;
}

/* Keys from 0 on; the table leads past all of their nodes but the last ones. */
void check_wort_top_shapes(void)
{
	static const struct {
		u64 nr, pool;
		u32 digits, place;
		u32 entries, nodes;
	} list[] = {
		{ 1, 4 * MIB, 0, WORT_KEY_DIGITS, 0, 0 },
		{ 16, 4 * MIB, 0, WORT_KEY_DIGITS, 0, 1 },
		{ 256, 4 * MIB, 1, 15, 16, 1 },
		{ 4096, 4 * MIB, 2, 15, 256, 1 },
		{ 65536, 32 * MIB, 3, 15, 4096, 1 },
		{ 131072, 32 * MIB, 4, 15, 8192, 1 },
		/* where the pool has no room for the larger one */
		{ 16384, MIB, 2, 14, 64, 2 },
	};
	struct wort_top *top;
	struct bed bed;
	u64 n, before;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(list); i++) {
		bed_open(&bed, list[i].pool, 4096);
		for (n = 0; n < list[i].nr; n++)
			put_word(&bed, n);
		look_again(&bed);
		top = wort_tree_top(&bed.index->tree);
		CHECK_EQ(top->shape.digits, list[i].digits);
		CHECK_EQ(top->shape.place, list[i].place);
		CHECK_EQ(wort_top_verify(bed.index), list[i].entries);
		CHECK_EQ(volatile_bytes(&bed), wort_top_size(&top->shape));
		before = nodes_of_lookups(&bed);
		for (n = 0; n < list[i].nr; n++)
			get_word(&bed, n, 0);
		CHECK_EQ(nodes_of_lookups(&bed) - before,
			 list[i].nr * list[i].nodes);
		bed_close(&bed);
	}
}

#define BATCH		64
#define BATCH_REC	40	/* bytes of each of its lookups */

static void batch_lookups(struct bed *bed, u64 first, u32 len)
{
	static u8 ops[BATCH_REC * BATCH], results[BATCH_REC * BATCH];
	struct wort_batch_op head = {
		.rec_len = BATCH_REC, .op = WORT_BATCH_LOOKUP,
		.key_len = sizeof(u64), .max_len = len,
	};
	struct wort_batch batch = {
		.ops = ops, .nr_ops = BATCH, .ops_len = sizeof(ops),
		.results = results, .results_size = sizeof(results),
	};
	u64 i;

	for (i = 0; i < BATCH; i++) {
		memcpy(ops + BATCH_REC * i, &head, sizeof(head));
		key_u64(ops + BATCH_REC * i + sizeof(head), first + i);
	}
	CHECK_EQ(wort_index_batch(bed->index, &batch), 0);
	CHECK_EQ(batch.done, BATCH);
	CHECK_EQ(batch.failed, 0);
}

/* Also values that are not of eight bytes are looked up from there, and in batches. */
void check_wort_top_lookups(void)
{
	u8 key[8], value[12], got[12];
	u64 n, before, nr = 4096;
	struct bed bed;
	u32 len;

	bed_open(&bed, 4 * MIB, 4096);
	for (n = 0; n < nr; n++) {
		key_u64(key, n);
		value_fill(value, n, sizeof(value));
		CHECK_EQ(pm_put(bed.index, key, sizeof(key), value,
				sizeof(value)), 0);
	}
	look_again(&bed);
	CHECK_EQ(wort_top_verify(bed.index), 256);
	before = nodes_of_lookups(&bed);
	for (n = 0; n < nr; n++) {
		key_u64(key, n);
		value_fill(value, n, sizeof(value));
		len = sizeof(got);
		CHECK_EQ(pm_get(bed.index, key, sizeof(key), got, &len), 0);
		CHECK(!memcmp(got, value, sizeof(got)));
	}
	CHECK_EQ(nodes_of_lookups(&bed) - before, nr);
	for (n = 0; n < nr; n += BATCH)
		batch_lookups(&bed, n, sizeof(value));
	CHECK_EQ(nodes_of_lookups(&bed) - before, 2 * nr);
	bed_close(&bed);
}

/* What is in flight, in a batch that nobody has finished, is left out. */
void check_wort_top_in_flight(void)
{
	struct bed bed;
	u32 *marks;
	u64 n;

	bed_open(&bed, 4 * MIB, 4096);
	pmpool_settle();
	for (n = 0; n < 4096; n++)
		put_word(&bed, n);
	marks = bed.pm.pool->locks.in_flight;
	memset(marks, 1, WORT_NR_LOCKS * sizeof(*marks));
	wort_tend_due(bed.index);
	pmpool_settle();
	CHECK_EQ(wort_tree_top(&bed.index->tree)->shape.digits, 2);
	CHECK_EQ(wort_top_verify(bed.index), 0);
	memset(marks, 0, WORT_NR_LOCKS * sizeof(*marks));
	bed_check(&bed);
	look_again(&bed);
	CHECK_EQ(wort_top_verify(bed.index), 256);
	bed_close(&bed);
}

/* It grows with the tree, and goes with it. */
void check_wort_top_growth(void)
{
	u32 i, digits = 0;
	struct bed bed;

	bed_open(&bed, 32 * MIB, 4096);
	for (i = 0; i < 140000; i++) {
		put_word(&bed, i);
		pmpool_settle();
		CHECK_GE(wort_tree_top(&bed.index->tree)->shape.digits, digits);
		digits = wort_tree_top(&bed.index->tree)->shape.digits;
		if (i % 10000 == 0)
			wort_top_verify(bed.index);
	}
	CHECK_EQ(digits, WORT_TOP_DIGITS);
	wort_top_verify(bed.index);
	CHECK_EQ(wort_index_destroy(bed.pm.pool, (const u8 *)"t", 1), 0);
	pmpool_settle();
	CHECK_EQ(volatile_bytes(&bed), 0);
	bed_check(&bed);
	bed_close(&bed);
}

static void del_word(struct bed *bed, u64 n)
{
	u8 key[8];

	key_u64(key, n);
	CHECK_EQ(pm_del(bed->index, key, sizeof(key)), 0);
}

/* A tree that moves on is followed: keys come in their order, and go. */
void check_wort_top_moves(void)
{
	u64 i, there = 8192, good = 0;
	struct bed bed;

	bed_open(&bed, 4 * MIB, 4096);
	for (i = 0; i < 600000; i++) {
		put_word(&bed, i << 8);
		if (i >= there)
			del_word(&bed, (i - there) << 8);
		pmpool_settle();
		if (i % 4096 == 0)
			good += wort_top_verify(bed.index) >= there / 32;
	}
	CHECK_GE(good, 600000 / 4096 * 3 / 4);
	bed_check(&bed);
	bed_close(&bed);
}

/* An empty table takes the place of another one even without memory. */
void check_wort_top_nothing(void)
{
	struct bed bed;
	u64 n;

	bed_open(&bed, 4 * MIB, 4096);
	for (n = 0; n < 256; n++)
		put_word(&bed, n);
	look_again(&bed);
	CHECK(wort_tree_top(&bed.index->tree)->shape.digits);
	mutex_lock(&bed.pm.pool->work_lock);
	shim_alloc_fail_nth = 0;
	wort_tend_nothing(bed.index);
	shim_alloc_fail_nth = -1;
	mutex_unlock(&bed.pm.pool->work_lock);
	CHECK_EQ(wort_tree_top(&bed.index->tree)->shape.digits, 0);
	CHECK_EQ(volatile_bytes(&bed), 0);
	bed_check(&bed);
	bed_close(&bed);
}

/* Where keys part beyond their first sixteen digits there is none, and none stays. */
void check_wort_top_none(void)
{
	struct bed bed;
	u8 key[200];
	u64 n;

	memset(key, 1, sizeof(key));
	bed_open(&bed, 4 * MIB, 4096);
	for (n = 0; n < 256; n++)
		put_word(&bed, n);
	look_again(&bed);
	CHECK_EQ(wort_top_verify(bed.index), 16);
	for (n = 0; n < 256; n++)
		del_word(&bed, n);
	for (n = 9; n < sizeof(key); n++)
		CHECK_EQ(pm_put(bed.index, key, n, &n, sizeof(n)), 0);
	CHECK_EQ(wort_tree_top(&bed.index->tree)->shape.digits, 1);
	wort_tend_due(bed.index);
	pmpool_settle();
	CHECK_EQ(wort_tree_top(&bed.index->tree)->shape.digits, 0);
	CHECK_EQ(volatile_bytes(&bed), 0);
	bed_check(&bed);
	bed_close(&bed);
}

/* Keys before, in and behind what the table has, with the digits that it has. */
void check_wort_top_window(void)
{
	static const u64 high[] = { 0, 1, 0x10, 0x1f, 0x80, 0xffff };
	struct bed bed;
	u64 n;
	u32 i;

	bed_open(&bed, 4 * MIB, 4096);
	for (n = 0; n < 300; n++)
		put_word(&bed, 0x10ULL << 48 | n);
	look_again(&bed);
	CHECK(wort_top_verify(bed.index));
	for (i = 0; i < ARRAY_SIZE(high); i++)
		for (n = 0; n < 300; n++)
			get_word(&bed, high[i] << 48 | n,
				 high[i] == 0x10 ? 0 : -ENOENT);
	for (i = 0; i < ARRAY_SIZE(high); i++)
		for (n = 0; n < 300; n++)
			put_word(&bed, high[i] << 48 | n);
	CHECK(wort_top_verify(bed.index));
	for (i = 0; i < ARRAY_SIZE(high); i++)
		for (n = 0; n < 300; n++)
			get_word(&bed, high[i] << 48 | n, 0);
	bed_check(&bed);
	bed_close(&bed);
}

/*
 * The first bytes of keys are 00, 11, to ff, so the second digit is skipped: by the nodes
 * that the table leads to or, with sixteen third digits, by those above them.  Then
 * others come that have the second digit otherwise.
 */
static void skip_second(u32 thirds)
{
	struct bed bed;
	u64 i, n;

	bed_open(&bed, 4 * MIB, 4096);
	for (i = 0; i < 16 * thirds; i++)
		for (n = 0; n < 2; n++)
			put_word(&bed, i / thirds * 0x11 << 56 |
				       i % thirds << 52 | n);
	look_again(&bed);
	CHECK_EQ(wort_tree_top(&bed.index->tree)->shape.place, thirds > 1 ? 3 : 2);
	CHECK_EQ(wort_top_verify(bed.index), 16 * thirds);
	for (n = 1; n < 3; n++)
		for (i = 0; i < 256; i++) {
			put_word(&bed, i << 56 | n << 40);
			get_word(&bed, i << 56 | 3ULL << 40, -ENOENT);
		}
	/* Who made a node there has set the entry. */
	CHECK_EQ(wort_top_verify(bed.index), 240 + 16 * thirds);
	for (i = 0; i < 256; i++)
		get_word(&bed, i << 56 | 1ULL << 40, 0);
	bed_check(&bed);
	look_again(&bed);
	for (i = 0; i < 256; i++) {
		n = i << 56 | 1ULL << 40;
		del_word(&bed, n);
		get_word(&bed, n, -ENOENT);
		wort_top_verify(bed.index);
	}
	bed_check(&bed);
	bed_close(&bed);
}

void check_wort_top_skips(void)
{
	skip_second(1);
	skip_second(16);
}

/* Two records below each of sixteen nodes. */
static void put_pairs(struct bed *bed)
{
	u64 i;

	for (i = 0; i < 16; i++) {
		put_word(bed, i << 60 | 1);
		put_word(bed, i << 60 | 2);
	}
}

/*
 * Damage has changed the key of a record, by which the table leads to its node by digits
 * that are not on the path: a delete that needs the path has an end.
 */
void check_wort_top_damaged(void)
{
	struct wort_media_leaf *leaf;
	struct bed bed;
	u8 key[8];
	u64 link;

	bed_open(&bed, 4 * MIB, 4096);
	put_pairs(&bed);
	link = slot_of(bed.index, le64_to_cpu(bed.index->tree.root[0]), 3);
	link = slot_of(bed.index, link, 1);
	leaf = wort_region_at(bed.index->tree.region, link & WORT_MEDIA_LINK_OFF_MASK);
	leaf->key[0] = 0x57;
	wort_tend_due(bed.index);
	mutex_lock(&bed.pm.pool->work_lock);
	wort_tend_all(bed.pm.pool);
	mutex_unlock(&bed.pm.pool->work_lock);
	CHECK(wort_tree_top(&bed.index->tree)->link[0x57]);
	key_u64(key, 0x57ULL << 56 | 1);
	CHECK_EQ(pm_del(bed.index, key, sizeof(key)), -EUCLEAN);
	bed_close(&bed);
}

/* Nodes whose skipped digits are known. */
static u32 nr_skips(struct bed *bed)
{
	const struct wort_skips *skips = wort_tree_top(&bed->index->tree)->skips;
	u32 i, nr = 0;

	for (i = 0; i < 1U << skips->bits; i++)
		nr += !!(skips->entry[i].link & ~WORT_MEDIA_LINK_LABEL_MASK);
	return nr;
}

/*
 * The table of the top is made while a record has a damaged key, and a program
 * deletes the record by that key.  The check finds nothing, since the tree is
 * sound, and has the table made again.
 */
void check_wort_top_stale(void)
{
	static const u8 keys[][8] = {
		{ 0x50, 0x10 }, { 0x50, 0x10, 0x10 }, { 0x50, 0x20 }, { 0x50, 0x21 },
	};
	static const u8 damaged[8] = { 0x60, 0x10 }, fresh[8] = { 0x60, 0x25 };
	struct wort_check_arg arg;
	struct bed bed;
	u64 record;
	u32 i;

	bed_open(&bed, 16 * MIB, 0);
	for (i = 0; i < ARRAY_SIZE(keys); i++)
		CHECK_EQ(pm_put(bed.index, keys[i], 8, "a value", 7), 0);
	CHECK_GE(nr_skips(&bed), 1);
	bed_check_arg(&bed, WORT_CHECK_F_CLEAR, &arg);
	CHECK_EQ(nr_skips(&bed), 0);
	record = bed_record(&bed, keys[0], 8);
	bed_detach(&bed);
	((u8 *)bed.pm.region.base)[record + sizeof(struct wort_media_leaf)] = damaged[0];
	bed_attach(&bed);
	mutex_lock(&bed.pm.pool->work_lock);
	wort_tend_all(bed.pm.pool);
	mutex_unlock(&bed.pm.pool->work_lock);
	CHECK_EQ(pm_del(bed.index, damaged, 8), 0);
	pmpool_settle();
	bed_check_arg(&bed, WORT_CHECK_F_CLEAR, &arg);
	CHECK_EQ(arg.out_nr_damaged, 0);
	CHECK_EQ(pm_put(bed.index, fresh, 8, "a value", 7), 0);
	bed_check_arg(&bed, 0, &arg);
	CHECK_EQ(arg.out_nr_damaged, 0);
	bed_close(&bed);
}

/* A delete whose word is stored, and whose section has not ended. */
struct half {
	struct wort_change change;
	struct wort_round round;
	struct wort_del del;
	struct wort_op op;
	u8 key[8];
};

static void half_del(struct bed *bed, struct half *half, u64 n)
{
	const struct wort_batch_ops *ops = wort_engine_wort.batch_ops;
	struct wort_tree *tree = &bed->index->tree;

	memset(half, 0, sizeof(*half));
	key_u64(half->key, n);
	wort_del_init(&half->del, &(struct wort_key){ half->key, sizeof(half->key) }, NULL, NULL);
	half->change.del = &half->del;
	half->change.round = &half->round;
	CHECK_EQ(wort_index_enter(bed->index, &half->op, WORT_WRITE), 0);
	CHECK_EQ(ops->prepare(&half->op, tree, &half->change), 0);
	CHECK_EQ(ops->commit(&half->op, tree, &half->change), 0);
}

static void end_del(struct bed *bed, struct half *half)
{
	wort_pm_fence(&half->op);
	wort_engine_wort.batch_ops->finish(&half->op, &bed->index->tree, &half->change);
	wort_index_exit(bed->index, &half->op, WORT_WRITE, WORT_OP_DELETE, 0);
}

/*
 * The first delete removes a node.  An insert puts another node in its place, and the second
 * delete removes that one.  While the word of the second delete is in flight, the first one
 * must not enter the link that it loads.
 */
void check_wort_top_beside(void)
{
	static struct half first, second;
	const struct wort_top *top;
	struct bed bed;
	u64 link;

	bed_open(&bed, 4 * MIB, 4096);
	put_pairs(&bed);
	look_again(&bed);
	top = wort_tree_top(&bed.index->tree);
	link = top->link[0x30];
	CHECK(link);
	put_word(&bed, 0x3001ULL << 48);
	half_del(&bed, &first, 0x3001ULL << 48);
	put_word(&bed, 0x3002ULL << 48);
	half_del(&bed, &second, 0x3002ULL << 48);
	end_del(&bed, &first);
	CHECK(top->link[0x30] != link);
	end_del(&bed, &second);
	bed_check(&bed);
	bed_close(&bed);
}
