// SPDX-License-Identifier: GPL-2.0-only
/*
 * QUIRE in the unit tests.
 */
#include "quire_tests.h"

/* The separators of an inner page; the last one that is not above the key leads on. */
static u64 child_word(const u8 *mem, u64 page, const struct wort_key *key)
{
	u64 meta = probe_load(mem, page), at, best = 0;
	u32 prefix = meta >> WORT_MEDIA_QUIRE_PREFIX_SHIFT & WORT_MEDIA_QUIRE_KEY_MASK;
	struct wort_key rest = { key->data + prefix, key->len - prefix }, sep, low = { };

	for_each_record(mem, page, at) {
		sep.data = mem + at + sizeof(struct wort_media_quire_record);
		sep.len = probe_load(mem, at) & WORT_MEDIA_QUIRE_LEN_MASK;
		if (probe_load(mem, at) & WORT_MEDIA_QUIRE_DEAD ||
		    wort_key_compare(&sep, &rest) > 0 ||
		    (best && wort_key_compare(&sep, &low) < 0))
			continue;
		best = at + offsetof(struct wort_media_quire_record, val);
		low = sep;
	}
	return best;
}

/* From the root to the leaf, which stands for its records; the last word first. */
static u32 path(const u8 *mem, u64 root, const struct wort_key *key, u64 *words)
{
	u64 word = root, page;
	u32 n = 0, i;

	while (word && (page = probe_load(mem, word)) && n < PROBE_WORDS) {
		words[n++] = word;
		if (!(probe_load(mem, page) >> WORT_MEDIA_QUIRE_LEVEL_SHIFT &
		      WORT_MEDIA_QUIRE_LEVEL_MASK))
			break;
		word = child_word(mem, page, key);
	}
	for (i = 0; i < n / 2; i++)
		swap(words[i], words[n - 1 - i]);
	return n;
}

static u64 target(u64 word)
{
	return word;
}

static u64 refer(u64 word, u64 off)
{
	return off;
}

/* The longest one of a leaf. */
static u64 value(const u8 *mem, u64 page)
{
	u64 at, val, best = 0;

	for_each_record(mem, page, at) {
		val = probe_load(mem, at + sizeof(u64));
		if (qr_rec_kind(probe_load(mem, at)) == WORT_MEDIA_QUIRE_VALUE_OBJECT &&
		    qr_object_len(val) > qr_object_len(best))
			best = val;
	}
	return qr_object_off(best);
}

static const struct engine_probe probe = {
	.path = path,
	.target = target,
	.refer = refer,
	.value = value,
};

static struct qr_order order;

/* Is the place of a record in one of the groups? */
static bool is_tagged(const struct qr_leaf_shadow *leaf, u32 place)
{
	u32 nr, slot;

	for (nr = 0; nr < QR_GROUPS; nr++)
		for (slot = 0; slot < QR_TAGS; slot++)
			if (leaf->group[nr].place[slot] == place &&
			    leaf->group[nr].tags >> slot * BITS_PER_BYTE & 0xff)
				return true;
	return false;
}

/* The order that was kept also has records that have died since. */
static void tags_verify(const struct qr_page *page, const struct qr_leaf_shadow *leaf)
{
	u32 i, nr = 0;

	for (i = 0; i < order.nr; i++)
		CHECK(is_tagged(leaf, order.slot[i].place));
	if (leaf->s.ordered != leaf->s.nr)
		return;
	for (i = 0; i < leaf->s.nr_order; i++) {
		if (wort_pm_load(qr_word(page, leaf->order[i])) & WORT_MEDIA_QUIRE_DEAD)
			continue;
		CHECK(nr < order.nr);
		CHECK_EQ(leaf->order[i], order.slot[nr++].place);
	}
	CHECK_EQ(nr, order.nr);
}

/* Heads are in order, none is behind the last one, and hints lead to them. */
static void heads_verify(const struct qr_page *page, const struct qr_inner_shadow *in)
{
	u32 i, step, at = 0;

	for (i = 2; i < in->nr; i++)
		CHECK(in->head[i] >= in->head[i - 1]);
	for (i = in->nr; i < qr_children_max(page) + QR_STEP_FEW; i++)
		CHECK_EQ(in->head[i], U64_MAX);
	for (step = 0; step <= QR_STEPS; step++) {
		while (at + 1 < in->nr && (in->head[at + 1] - in->low) >> in->shift < step)
			at++;
		CHECK_EQ(in->hint[step], at);
	}
	CHECK_EQ(at, in->nr - 1);
}

static void children_verify(const struct qr_page *page, const struct qr_inner_shadow *in)
{
	u32 i;

	CHECK_EQ(in->sequence % 2, 0);
	CHECK_EQ(in->nr, order.nr);
	for (i = 0; i < order.nr; i++) {
		CHECK_EQ(qr_child_place(&in->child[i]), order.slot[i].place);
		CHECK_EQ(qr_child_link(&in->child[i]),
			 wort_pm_load(qr_word(page, order.slot[i].place + 1)));
	}
	heads_verify(page, in);
}

/* Read the page, and compare. */
static void shadow_verify(struct wort_op *op, const struct qr_shadow *shadow)
{
	const struct wort_bound none = { .len = WORT_NO_KEY };
	struct qr_page page = shadow->page;

	page.shadow = NULL;
	order.nr = 0;
	CHECK_EQ(qr_order(op, &page, &none, &order), 0);
	CHECK_EQ(shadow->top, order.end.top);
	CHECK_EQ(shadow->nr, order.end.nr);
	CHECK(!shadow->gone);
	if (page.level)
		children_verify(&page, qr_inner_shadow(shadow));
	else
		tags_verify(&page, qr_leaf_shadow(shadow));
}

/* The shadows of an index say what is in its pages. */
static u32 shadows_verify(struct wort_index *index)
{
	const struct qr_shadows *shadows = qr_shadows_of(&index->tree);
	struct wort_op op;
	u32 nr, count = 0;

	if (!shadows)
		return 0;
	wort_op_begin(&op, index->tree.region, NULL);
	for (nr = 0; nr <= shadows->table->mask; nr++) {
		if (!shadows->table->slot[nr].shadow)
			continue;
		shadow_verify(&op, shadows->table->slot[nr].shadow);
		count++;
	}
	wort_op_end(&op);
	CHECK_EQ(count, shadows->nr);
	return count;
}

/* What an insert of a key costs into a leaf that has room for it. */
static void insert_costs(struct bed *bed, u8 first, u32 key_len, u64 val, u32 fences)
{
	u8 key[WORT_KEY_MAX] = { first };
	struct wort_op_stats one;

	memset(key + 1, 0x55, key_len - 1);
	count_cost(bed, WORT_OP_INSERT);
	CHECK_EQ(pm_put(bed->index, key, key_len, &val, sizeof(val)), 0);
	one = count_cost(bed, WORT_OP_INSERT);
	CHECK_EQ(one.ops, 1);
	CHECK_EQ(one.ordering_points, fences);
}

/*
 * The first record of a page begins at its second word.  One fence makes a record of three
 * lines durable; one of four lines takes two.  So does each record without the order of
 * stores, and one of which a line has the value only: its head is the last word of a line.
 */
static void check_fences(void)
{
	struct bed bed;

	if (subject.attr)
		return;

	count_open(&bed, MIB);
	insert_costs(&bed, 1, 8, 7, 3);		/* the first page, and its link */
	insert_costs(&bed, 2, 8, 7, 1);
	insert_costs(&bed, 0, 1, 7, 2);
	insert_costs(&bed, 3, 160, 7, 1);
	bed_close(&bed);

	count_open(&bed, MIB);
	insert_costs(&bed, 1, 16, 7, 3);
	insert_costs(&bed, 2, 176, 7, 2);
	bed.pm.region.line_order = false;
	insert_costs(&bed, 3, 8, 7, 2);
	bed.pm.region.line_order = true;
	bed_close(&bed);
}

/* Lines of so many words of a page, from a place on. */
static u32 words_lines(u32 place, u32 words)
{
	const u32 in_line = WORT_LINE / QR_WORD;

	return (place + words - 1) / in_line - place / in_line + 1;
}

/*
 * The changes of a batch have one fence at its end, and flush each line once.  Records of
 * keys of eight bytes have three words; those of the first page begin at its second word.
 * Long values are written before, beside each other, and have one more fence for all.
 */
static void check_batch(void)
{
	const u32 nr = 44, more = 6, end = 1 + 3 * nr;
	const u32 value = DIV_ROUND_UP(COUNT_VALUE_MAX, QR_WORD), size = round_up(value, 2);
	struct bed bed;
	u32 i;

	if (subject.attr)
		return;
	count_open(&bed, MIB);
	for (i = 0; i < nr; i++)
		count_put(&bed, i, 0);
	count_cost(&bed, WORT_OP_INSERT);
	count_batch(&bed, WORT_BATCH_INSERT, nr, more, 8);
	count_expect(&bed, WORT_OP_INSERT, more, 1, words_lines(end, 3 * more), 3 * more);
	count_batch(&bed, WORT_BATCH_INSERT, 0, nr, 8);
	count_expect(&bed, WORT_OP_UPDATE, nr, 1, words_lines(2, 3 * nr - 2), nr);
	count_batch(&bed, WORT_BATCH_DELETE, 0, nr / 2, 0);
	count_expect(&bed, WORT_OP_DELETE, nr / 2, 1, words_lines(1, 3 * nr / 2), nr / 2);

	count_batch(&bed, WORT_BATCH_INSERT, nr + more, 1, COUNT_VALUE_MAX);
	count_cost(&bed, WORT_OP_INSERT);
	count_batch(&bed, WORT_BATCH_INSERT, nr + more + 1, more, COUNT_VALUE_MAX);
	count_expect(&bed, WORT_OP_INSERT, more, 2,
		     words_lines(size, more * size - 1) +
		     words_lines(end + 3 * more + 3, 3 * more),
		     more * (3 + value));
	bed_check(&bed);
	bed_close(&bed);
}

/* Changes of two leaves in turn do not flush again what the round has launched in them. */
static void check_batch_turns(void)
{
	static const u32 keys[] = { 0, 150, 1, 151, 2, 152 };
	struct wort_op_stats cost;
	struct bed bed;
	u32 i;

	if (subject.attr)
		return;
	count_open(&bed, MIB);
	for (i = 0; i < 200; i++)
		count_put(&bed, i, 0);
	count_cost(&bed, WORT_OP_UPDATE);
	count_batch_of(&bed, WORT_BATCH_INSERT, keys, ARRAY_SIZE(keys), 8);
	cost = count_cost(&bed, WORT_OP_UPDATE);
	CHECK_EQ(cost.ops, ARRAY_SIZE(keys));
	CHECK_EQ(cost.ordering_points, 1);
	CHECK_LE(cost.lines, ARRAY_SIZE(keys));
	CHECK_EQ(cost.stores, ARRAY_SIZE(keys));
	bed_close(&bed);
}

#define SHADOWED	20000	/* records whose shadows take more than FEWEST */

/* All records are found; the shadows of what they are in are made again. */
static void all_found(struct bed *bed)
{
	u64 value;
	u32 i, len;
	u8 key[8];

	for (i = 0; i < SHADOWED; i++) {
		key_u64(key, i);
		len = sizeof(value);
		CHECK_EQ(pm_get(bed->index, key, sizeof(key), &value, &len), 0);
		CHECK_EQ(value, i);
	}
}

static void shadows_open(struct bed *bed)
{
	u32 i;

	count_open(bed, 16 * MIB);
	for (i = 0; i < SHADOWED; i++)
		count_put(bed, i, i);
	/* There may be more of them each time the tree was tended. */
	for (i = 0; i < 3; i++) {
		pmpool_settle();
		all_found(bed);
	}
	pmpool_settle();
}

/* When the machine is short of memory so many bytes go, or all; answers stay. */
static void check_shrink(void)
{
	struct wort_index_info_arg info;
	struct wort_pool *pool;
	struct bed bed;
	size_t has;

	shadows_open(&bed);
	pool = bed.pm.pool;
	has = wort_index_dram(bed.index);
	wort_index_info(bed.index, &info);
	CHECK_EQ(info.out_dram_bytes, has);
	CHECK_EQ(wort_pool_spare_bytes(pool), has);
	CHECK_GE(has, 64 * 1024);
	CHECK_EQ(wort_pool_shrink(pool, has / 2), has / 2);
	/* Once it was asked for they are not there for others. */
	CHECK_EQ(wort_pool_shrink(pool, has / 2), 0);
	pmpool_settle();
	CHECK_LE(wort_index_dram(bed.index), has - has / 2);
	CHECK_GE(wort_index_dram(bed.index), has / 3);
	shadows_verify(bed.index);
	all_found(&bed);
	pmpool_settle();
	shadows_verify(bed.index);
	CHECK_GE(wort_index_dram(bed.index), has / 4 * 3);
	has = wort_index_dram(bed.index);
	CHECK_EQ(wort_pool_shrink(pool, 2 * has), has);
	pmpool_settle();
	CHECK_EQ(wort_index_dram(bed.index), 0);
	all_found(&bed);
	CHECK_GE(wort_index_dram(bed.index), 60 * 1024);
	bed_close(&bed);
}

/* The attribute bounds them, in percent of the pool. */
static void check_shadows_attr(void)
{
	struct bed bed;

	pmpool_attr |= 1ULL << 48;
	shadows_open(&bed);
	all_found(&bed);
	CHECK_LE(wort_index_dram(bed.index), 16 * MIB / 100);
	CHECK_GE(wort_index_dram(bed.index), 16 * MIB / 200);
	CHECK_EQ(qr_shadows_of(&bed.index->tree)->most, 16 * MIB / 100);
	bed_close(&bed);
	pmpool_attr = subject.attr;
}

/* Of how many children does an inner page know the shadows? */
static u32 known_count(const struct qr_inner_shadow *in)
{
	u32 i, nr = 0;

	for (i = 0; i < in->nr; i++)
		nr += !!in->child[i].shadow;
	return nr;
}

/* The shadow of the root page goes.  That which takes its place knows those of its children. */
static void root_made_again(struct bed *bed)
{
	const struct wort_tree *tree = &bed->index->tree;
	u64 root = wort_pm_load(wort_tree_root(tree));
	const struct qr_inner_shadow *in;

	qr_shadow_drop(tree, root);
	CHECK(!qr_shadow_find(tree, root));
	count_put(bed, 0, 1);
	in = qr_inner_shadow(qr_shadow_find(tree, root));
	CHECK_GE(in->nr, 3);
	CHECK_EQ(known_count(in), in->nr);
}

/*
 * A split makes the shadows of its new pages, before any operation opens these, and the shadow of
 * the parent leads to them.  One new page in a thousand shares its lock with the page that it
 * replaces, and gets its shadow later.
 */
static void check_shadows_known(void)
{
	const struct qr_table *table;
	struct qr_inner_shadow *in;
	u32 i, nr = 0, known = 0;
	struct bed bed;

	count_open(&bed, 64 * MIB);
	for (i = 0; i < 30000; i++) {
		count_put(&bed, i * 2654435761u, i);
		if (i % 64 == 0)
			pmpool_settle();
	}
	table = qr_shadows_of(&bed.index->tree)->table;
	for (i = 0; i <= table->mask; i++) {
		if (!table->slot[i].shadow || !table->slot[i].shadow->page.level)
			continue;
		in = qr_inner_shadow(table->slot[i].shadow);
		nr += in->nr;
		known += known_count(in);
	}
	CHECK_GE(nr, 500);
	CHECK_GE(known, nr - nr / 100);
	root_made_again(&bed);
	bed_close(&bed);
}

#define WATCHED	1500	/* records; those of small pages make a tree of many levels */

static struct wort_index *watched;
static u32 nr_agreed;

/*
 * A reader that goes by the shadows comes where one that reads the pages comes, or gives
 * up.  Otherwise it may miss what the other one has written there.
 */
static void views_compare(void)
{
	const struct wort_tree *tree = &watched->tree;
	struct wort_key key = { .len = 8 };
	struct qr_page page;
	struct qr_pos pos;
	struct wort_op op;
	u8 bytes[8];
	u32 i;

	wort_op_begin(&op, tree->region, NULL);
	op.locks = tree->locks;
	op.in_flight = tree->in_flight;
	op.time = wort_locks_now(tree->locks);
	key.data = bytes;
	for (i = 0; i < WATCHED; i += 7) {
		key_u64(bytes, i);
		if (qr_shadows_descend(&op, tree, &key, &page))
			continue;
		CHECK_EQ(qr_descend_media(&op, tree, QR_COVERS, &key, &pos, NULL), 0);
		CHECK_EQ(page.off, pos.page.off);
		nr_agreed++;
	}
}

static void watch(void)
{
	shim_watch = NULL;
	views_compare();
	shim_watch = watch;
}

/* A lookup makes the shadows that it needs; there may be more each time the tree was tended. */
static void view_make(struct bed *bed, u32 nr)
{
	u32 len = sizeof(u64);
	u64 value;
	u8 key[8];

	key_u64(key, nr % WATCHED);
	pm_get(bed->index, key, sizeof(key), &value, &len);
	if (nr % 64 == 0)
		pmpool_settle();
}

/* While pages are split and merged. */
static void check_views(void)
{
	struct bed bed;
	u8 key[8];
	u32 i;

	count_open(&bed, 16 * MIB);
	watched = bed.index;
	nr_agreed = 0;
	shim_watch = watch;
	for (i = 0; i < 2 * WATCHED; i++) {
		view_make(&bed, i * 997);
		key_u64(key, i * 641 % WATCHED);
		if (i < WATCHED)
			count_put(&bed, i * 641 % WATCHED, i);
		else
			CHECK_EQ(pm_del(bed.index, key, sizeof(key)), 0);
	}
	shim_watch = NULL;
	CHECK_GE(nr_agreed, 1000);
	bed_close(&bed);
}

/*
 * A damaged page has bits behind its short separators.  Each is still found by its own key,
 * and its upper is above it; else a walk would go on where it already is.
 */
static void page_compare(struct wort_op *op, const struct qr_page *page)
{
	struct wort_bound sep, upper;
	struct wort_key key, end;
	struct qr_way way;
	u32 i;

	for (i = 0; i < order.nr; i++) {
		CHECK_EQ(qr_sep_key(op, page, order.slot[i].place, &sep), 0);
		key = wort_bound_key(&sep);
		upper.len = WORT_NO_KEY;
		CHECK_EQ(qr_inner_find(op, page, QR_COVERS, &key, &way, &upper), 0);
		CHECK_EQ(way.place, order.slot[i].place);
		end = wort_bound_key(&upper);
		CHECK(upper.len == WORT_NO_KEY || wort_key_compare(&end, &key) > 0);
	}
}

static void bits_set(const struct qr_page *page)
{
	u32 i, rest;
	u8 *end;

	for (i = 0; i < order.nr; i++) {
		rest = -order.slot[i].len % QR_WORD;
		end = (u8 *)qr_word(page, order.slot[i].place + QR_REC_WORDS) +
		      order.slot[i].len;
		memset(end, 0xff, rest);
	}
}

static void check_bits_behind(void)
{
	const struct wort_bound none = { .len = WORT_NO_KEY };
	struct qr_pos pos;
	struct wort_op op;
	struct bed bed;
	u8 key[2];
	u32 i;

	count_open(&bed, 16 * MIB);
	for (i = 0; i < WATCHED; i++) {
		key[0] = i >> 8;
		key[1] = i;
		CHECK_EQ(pm_put(bed.index, key, sizeof(key), &i, sizeof(i)), 0);
	}
	wort_op_begin(&op, bed.index->tree.region, NULL);
	CHECK_EQ(qr_descend(&op, &bed.index->tree, 1, QR_FIRST, NULL, &pos, NULL), 0);
	pos.page.shadow = NULL;
	order.nr = 0;
	CHECK_EQ(qr_order(&op, &pos.page, &none, &order), 0);
	CHECK_GE(order.nr, 3);
	page_compare(&op, &pos.page);
	bits_set(&pos.page);
	page_compare(&op, &pos.page);
	wort_op_end(&op);
	bed_close(&bed);
}

static const struct test tests[] = {
	{ "bits_behind", check_bits_behind },
	{ "damaged_kind", quire_damaged_kind },
	{ "damaged_padding", quire_damaged_padding },
	{ "damaged_anchor", quire_damaged_anchor },
	{ "damaged_separator", quire_damaged_separator },
	{ "damaged_order", quire_damaged_order, .optional = true },
	{ "damaged_twice", quire_damaged_twice, .optional = true },
	{ "damaged_loop", quire_damaged_loop },
	{ "damaged_split", quire_damaged_split },
	{ "damaged_value", quire_damaged_value },
	{ "damaged_end", quire_damaged_end, .optional = true },
	{ "lost_page", quire_lost_page },
	{ "child_comes", quire_child_comes, .optional = true },
	{ "views", check_views, .optional = true },
	{ "shrink", check_shrink, .optional = true },
	{ "shadows_attr", check_shadows_attr, .optional = true },
	{ "shadows_known", check_shadows_known, .optional = true },
	{ "fences", check_fences },
	{ "batch", check_batch, .optional = true },
	{ "batch_turns", check_batch_turns, .optional = true },
};

/*
 * An insert appends a record, one in a hundred splits a page; with small pages one in a
 * thousand splits pages of many levels.
 */
const struct engine_unit engine_unit_quire = {
	.probe = &probe,
	.records = 100000,
	.insert = { .fences = { 1, 40 }, .lines = { 1, 300 }, .stores = { 3, 2000 } },
	.update = { .fences = { 1, 1 }, .lines = { 1, 1 }, .stores = { 1, 1 } },
	.delete = { .fences = { 1, 40 }, .lines = { 1, 100 }, .stores = { 1, 1000 } },
	.lines_many = { 245, 246, 246 },
	.points_insert = 108,
	.points_delete = 108,
	.steps = true,
	.needs_much = true,
	.tidies = true,
	.spared_any = 200,
	.verify = shadows_verify,
	.verified = 1000,
	.golden = "v4-quire.txt",
	.tests = tests,
	.nr_tests = ARRAY_SIZE(tests),
};
