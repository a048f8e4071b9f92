// SPDX-License-Identifier: GPL-2.0-only
/*
 * Damaged and hostile images: trees, and who owns what.
 */
#include "hostile.h"

/* operations, and a set of those that have to find a damage */
enum {
	LOOKUP, SCAN, RSCAN, SEEK, INSERT, DELETE, CHECKS, WALK, DESTROY,
	NR_OPS,
};

#define FIND(op)		(1U << (op))
#define SCANS		(FIND(SCAN) | FIND(RSCAN))
#define WALKS		(FIND(CHECKS) | FIND(WALK))
#define ALL_OPS		(FIND(LOOKUP) | SCANS | WALKS)

static struct wort_index *indexes[3];
static u8 buf[WORT_VALUE_MAX * 2] __attribute__((aligned(8)));

static void attach(void)
{
	u32 i;

	pmpool_attach(&image.pm);
	for (i = 0; i < 3; i++)
		if (wort_index_open(image.pm.pool, (u8 *)&"abc"[i], 1, 0, 0, 0,
				    &indexes[i]))
			indexes[i] = NULL;
}

static void detach(void)
{
	u32 i;

	for (i = 0; i < 3; i++)
		if (indexes[i])
			wort_index_put(indexes[i]);
	pmpool_detach(&image.pm);
}

static bool do_lookup(struct wort_index *index)
{
	bool found = false;
	u32 i, len;

	for (i = 0; i < image_nr_keys; i++) {
		len = sizeof(buf);
		found |= pm_get(index, image_keys[i], strlen(image_keys[i]),
				buf, &len) == -EUCLEAN;
		reader_get(index, image_keys[i], strlen(image_keys[i]), buf,
			   &len);
	}
	return found;
}

static bool do_scan(struct wort_index *index, u32 flags)
{
	struct wort_scan scan = {
		.flags = flags, .buf = buf, .buf_len = sizeof(buf),
	};
	int err = wort_index_scan(index, &scan);

	CHECK_LE(scan.count, 10000);
	return err == -EUCLEAN;
}

/* One record from each key on, both ways. */
static bool do_seek(struct wort_index *index)
{
	struct wort_scan scan = {
		.max = 1, .buf = buf, .buf_len = sizeof(buf),
	};
	bool found = false;
	struct wort_key key;
	u32 i;

	scan.start = &key;
	for (i = 0; i < 2 * image_nr_keys; i++) {
		key.data = (const u8 *)image_keys[i / 2];
		key.len = strlen(image_keys[i / 2]);
		scan.flags = i % 2 ? WORT_SCAN_F_REVERSE : 0;
		found |= wort_index_scan(index, &scan) == -EUCLEAN;
	}
	return found;
}

/* Each key with values of other lengths, its neighbours and its beginning. */
static bool do_insert(struct wort_index *index)
{
	bool found = false;
	char key[64];
	u32 i, len;

	for (i = 0; i < image_nr_keys; i++) {
		len = strlen(image_keys[i]);
		strcpy(key, image_keys[i]);
		found |= pm_put(index, key, len, buf, 8) == -EUCLEAN;
		found |= pm_put(index, key, len, buf, i * 40) == -EUCLEAN;
		found |= pm_put(index, key, len + 1, buf, 7) == -EUCLEAN;
		found |= pm_put(index, key, len / 2, buf, 6) == -EUCLEAN;
		key[len - 1]++;
		found |= pm_put(index, key, len, buf, 8) == -EUCLEAN;
		key[len / 2] ^= 4;
		found |= pm_put(index, key, len, buf, 8) == -EUCLEAN;
	}
	return found;
}

static bool do_delete(struct wort_index *index)
{
	bool found = false;
	u32 i;

	for (i = image_nr_keys; i; i--)
		found |= pm_del(index, image_keys[i - 1],
				strlen(image_keys[i - 1])) == -EUCLEAN;
	return found;
}

static bool do_check(void)
{
	struct wort_check_arg arg = { .size = sizeof(arg) };

	CHECK_EQ(wort_pool_check(image.pm.pool, &arg), 0);
	return arg.out_nr_damaged;
}

static bool any_damaged(void)
{
	u32 i;

	for (i = 0; i < 3; i++)
		if (indexes[i] && indexes[i]->damaged)
			return true;
	return image.pm.pool->damaged;
}

static bool on_index(struct wort_index *index, u32 op)
{
	switch (op) {
	case LOOKUP:
		return do_lookup(index);
	case SCAN:
		return do_scan(index, 0);
	case RSCAN:
		return do_scan(index, WORT_SCAN_F_REVERSE);
	case SEEK:
		return do_seek(index);
	case INSERT:
		return do_insert(index);
	default:
		return do_delete(index);
	}
}

/* Carry out one operation; true if it found the damage. */
static bool try_op(u32 op)
{
	bool found = false;
	u32 i;

	if (op == CHECKS)
		return do_check();
	if (op == WALK) {
		pmpool_settle();
		return any_damaged();
	}
	if (op == DESTROY) {
		wort_index_destroy(image.pm.pool, (u8 *)"a", 1);
		pmpool_settle();
		return false;
	}
	for (i = 0; i < 3; i++)
		if (indexes[i])
			found |= on_index(indexes[i], op);
	return found;
}

void hostile_try_all(void)
{
	u32 op;

	for (op = 0; op < NR_OPS; op++) {
		image_restore(image.patched);
		attach();
		try_op(op);
		pmpool_settle();
		detach();
	}
	image_restore(image.patched);
	attach();
	for (op = 0; op < NR_OPS; op++)
		try_op(op);
	detach();
}

/* Which index is read-only now?  Its changes are refused, also later. */
static void check_read_only(void)
{
	bool damaged[3];
	u32 i, again;

	for (i = 0; i < 3; i++)
		damaged[i] = indexes[i]->damaged;
	CHECK(damaged[0] || damaged[1] || damaged[2]);
	for (again = 0; again < 2; again++) {
		for (i = 0; i < 3; i++) {
			if (!damaged[i])
				continue;
			CHECK(indexes[i]->damaged);
			CHECK_EQ(pm_put(indexes[i], "new", 3, "v", 1), -EROFS);
			CHECK_EQ(pm_put(indexes[i], "new-word", 8, "a-value!", 8), -EROFS);
			CHECK_EQ(pm_del(indexes[i], "new", 3), -EROFS);
		}
		detach();
		attach();
	}
}

/* With the patch taken back a check with CLEAR makes all writable. */
static void check_cleared(void)
{
	struct wort_check_arg arg = { .size = sizeof(arg) };
	u32 i;

	image_undo();
	CHECK_EQ(wort_pool_check(image.pm.pool, &arg), 0);
	CHECK_EQ(arg.out_nr_damaged, 0);
	CHECK(any_damaged());
	arg.flags = WORT_CHECK_F_CLEAR;
	CHECK_EQ(wort_pool_check(image.pm.pool, &arg), 0);
	CHECK_EQ(arg.out_nr_damaged, 0);
	CHECK(!any_damaged());
	for (i = 0; i < 3; i++)
		CHECK_EQ(pm_put(indexes[i], "new", 3, "v", 1), 0);
	detach();
	attach();
	CHECK(!do_check());
	CHECK(!any_damaged());
}

#define META(key, value, kind) \
	((key) | (u64)(value) << 12 | (u64)(kind) << 29)

/* What was patched is found by the operations of @finders. */
static void tree_case(const char *what, u32 finders)
{
	bool found;
	u32 op;

	image_keep();
	for (op = 0; op < NR_OPS; op++) {
		image_restore(image.patched);
		attach();
		found = try_op(op);
		if (finders & FIND(op)) {
			if (!CHECK(found))
				printf("  %s: operation %u\n", what, op);
			if (found && !image.pm.pool->damaged)
				check_read_only();
			if (found && op == CHECKS && !image.pm.pool->damaged)
				check_cleared();
		}
		detach();
	}
	hostile_try_all();
	image_restore(image.clean);
}

static void slot_case(const char *what, u64 link, u32 finders)
{
	image_set(image_slot(0, "apple"), link);
	tree_case(what, finders);
}

/* The same, with pairs before it. */
static void slot_of_pair(const char *what, u64 link, u32 finders)
{
	image_set(image_slot(0, "k25"), link);
	tree_case(what, finders);
}

static u64 node_link(u64 off, u32 place)
{
	return (u64)place << WORT_MEDIA_LINK_PLACE_SHIFT | off |
	       WORT_MEDIA_WORT_KIND_NODE;
}

static u64 root_of(u32 nr)
{
	return image_entry(nr) + offsetof(struct wort_media_entry, root);
}

static void links(void)
{
	u64 leaf = image_leaf(0, "apple");
	u64 node = image_node(0, "apple", 1);
	u32 ops = ALL_OPS | FIND(DELETE) | FIND(INSERT);
	u32 tag;

	for (tag = 0; tag <= WORT_MEDIA_LINK_KIND_MASK; tag++)
		if (tag != WORT_MEDIA_LINK_RECORD && tag != WORT_MEDIA_WORT_KIND_NODE)
			slot_case("tag", leaf | tag, ops);
	for (tag = 0; tag <= WORT_MEDIA_LINK_KIND_MASK; tag++) {
		if (tag == WORT_MEDIA_LINK_RECORD || tag == WORT_MEDIA_WORT_KIND_NODE)
			continue;
		image_set(image_node_slot(0, "apple", 1), node | tag);
		tree_case("tag of a node", ops);
	}
	/* All is right but the tag: a look must not find what is below. */
	for (tag = 3; tag <= WORT_MEDIA_LINK_KIND_MASK; tag++) {
		if ((tag | WORT_MEDIA_WORT_KIND_NODE) == WORT_MEDIA_WORT_KIND_NODE)
			continue;
		image_set(image_node_slot(0, "apple", 1),
			  image_get(image_node_slot(0, "apple", 1)) | tag);
		tree_case("tag of a node with its place", ops);
		image_set(root_of(0), image_get(root_of(0)) | tag);
		tree_case("tag of the root", ops);
	}
	for (tag = 44; tag < 52; tag++) {
		image_set(image_node_slot(0, "apple", 1),
			  image_get(image_node_slot(0, "apple", 1)) | 1ULL << tag);
		tree_case("label of a node", ops);
		slot_case("label of a leaf", leaf | WORT_MEDIA_LINK_RECORD |
			  1ULL << tag, ops);
	}
	slot_case("leaf outside", 1ULL << 40 | WORT_MEDIA_LINK_RECORD, ops);
	slot_case("leaf at the end", (IMAGE_SIZE - 8) | WORT_MEDIA_LINK_RECORD,
		  ops);
	slot_case("leaf far", ~7ULL | WORT_MEDIA_LINK_RECORD, ops);
	slot_case("leaf with a place", leaf | WORT_MEDIA_LINK_RECORD |
		  1ULL << WORT_MEDIA_LINK_PLACE_SHIFT, ops);
	image_set(IMAGE_SIZE - 8, META(3, 8, 0));
	slot_of_pair("pair at the end", (IMAGE_SIZE - 16) | WORT_MEDIA_LINK_RECORD,
		     ops);
	image_set(image_slot(0, "k00"), node_link(1ULL << 40, 6));
	tree_case("node outside", ops);
	image_set(image_slot(0, "k00"), node_link(IMAGE_SIZE - 120, 6));
	tree_case("node at the end", ops);
	image_set(image_slot(0, "apples"),
		  image_get(image_node_slot(0, "apple", 1)));
	tree_case("cycle", ops);
}

static u32 node_place(u64 link)
{
	return link >> WORT_MEDIA_LINK_PLACE_SHIFT;
}

static void nodes(void)
{
	u64 slot = image_node_slot(0, "apple", 1);
	u64 node = image_node(0, "apple", 1);
	u64 mm_slot = image_node_slot(0, "mm-x1", 1);
	u64 mm = image_node(0, "mm-x1", 1);
	u32 mm_place = node_place(image_get(mm_slot));
	u32 ops = ALL_OPS | FIND(DELETE) | FIND(INSERT), i;

	image_set(slot, node_link(node, 0));
	tree_case("place before the path", ops);
	image_set(slot, node_link(node, WORT_KEY_DIGITS));
	tree_case("place beyond all keys", ops);
	image_set(slot, node_link(node, 0xfff));
	tree_case("place far beyond all keys", ops);
	image_set(image_slot(0, "apples"), 0);
	tree_case("one entry", FIND(CHECKS) | FIND(DELETE));
	for (i = 0; i < WORT_MEDIA_WORT_SLOTS; i++)
		image_set(node + 8 * i, 0);
	tree_case("no entries", SCANS | WALKS);
	image_set(mm_slot, node_link(mm, mm_place + 1));
	tree_case("wrong place", SCANS | WALKS);
	image_set(mm_slot, node_link(mm, mm_place - 1));
	tree_case("place too early", SCANS | WALKS);
}

/*
 * Nodes one word apart, each the first entry of the one before: more of them than a key
 * has places.
 */
static void chain(void)
{
	u64 off = IMAGE_SIZE - 64 * 1024;
	u32 place;

	image_set(image_slot(0, "k25"), node_link(off, 6));
	for (place = 7; place <= 0xfff; place++, off += 8)
		image_set(off, node_link(off + 8, place));
	tree_case("chain of nodes", SCANS | WALKS | FIND(LOOKUP));
}

static void meta_case(const char *what, u64 meta)
{
	image_set(image_leaf(0, "apple") + 8, meta);
	tree_case(what, ALL_OPS | FIND(DELETE) | FIND(INSERT));
}

static void leaves(void)
{
	u64 meta = image_get(image_leaf(0, "apple") + 8), at;
	u64 banana = image_leaf(0, "banana");
	u32 ops = ALL_OPS | FIND(DELETE) | FIND(INSERT);

	meta_case("unknown bit", meta | 1 << 11);
	meta_case("unknown bit", meta | 1ULL << 31);
	meta_case("unknown bit", meta | 1ULL << 63);
	meta_case("no key", META(0, 8, 0));
	meta_case("long key", META(WORT_KEY_MAX + 1, 8, 0));
	meta_case("unknown kind", META(5, 300, 3));
	meta_case("long word", META(5, 9, 0));
	meta_case("short inline", META(5, 8, 1));
	meta_case("short object", META(5, 8, 2));
	meta_case("long inline", META(5, WORT_VALUE_MAX + 1, 1));
	image_set(banana + 8, META(6, WORT_VALUE_MAX + 1, 2));
	tree_case("long object", ops);
	image_set(banana, 1ULL << 40);
	tree_case("object outside", ops);
	image_set(banana, IMAGE_SIZE - 4992);
	tree_case("object beyond the end", ops);
	image_set(banana, image_get(banana) + 4);
	tree_case("object not aligned", ops);
	for (at = 0; at < 3; at++) {
		image_set(image_slot(0, "apple"),
			  (IMAGE_SIZE - 48) | WORT_MEDIA_LINK_RECORD);
		image_set(IMAGE_SIZE - 40, at == 0 ? META(33, 8, 0) :
			  at == 1 ? META(5, 300, 1) : META(1024, 0, 0));
		tree_case("record beyond the end", ops);
	}
}

static void swap_slots(u64 a, u64 b)
{
	u64 link = image_get(a);

	image_set(a, image_get(b));
	image_set(b, link);
}

static void key_order(void)
{
	swap_slots(image_slot(0, "apple"), image_slot(0, "band"));
	tree_case("leaves swapped", SCANS | WALKS | FIND(INSERT));
	swap_slots(image_node_slot(0, "k15", 1), image_node_slot(0, "k25", 1));
	tree_case("nodes of pairs swapped", SCANS | WALKS);
	image.mem[image_leaf(0, "long-prefix-in-common-2") + 16 + 4]++;
	tree_case("keys out of order", SCANS | WALKS | FIND(SEEK));
	image.mem[image_leaf(0, "mm-x1") + 16 + 4] = '3';
	tree_case("digit of another slot", SCANS | WALKS);
	image.mem[image_leaf(0, "k25") + 16]++;
	tree_case("digits before those of the slot", SCANS | WALKS);
	image_set(image_leaf(0, "mm-x1") + 8, META(3, 8, 0));
	tree_case("key short of its place", SCANS | WALKS);
}

void check_hostile_tree(void)
{
	image_make();
	links();
	nodes();
	chain();
	leaves();
	key_order();
	image_free();
}

/* A copy of a leaf's head and key somewhere else, with the slot led there. */
static void move_key(const char *what, const char *key, u64 to)
{
	memcpy(image.mem + to, image.mem + image_leaf(0, key),
	       sizeof(struct wort_media_leaf) + strlen(key));
	image_set(image_slot(0, key), to | WORT_MEDIA_LINK_RECORD);
	tree_case(what, WALKS);
}

static void move_leaf(const char *what, u64 to)
{
	move_key(what, "apple", to);
}

/* Attach, walk: the pool is read-only since a run overlaps what others own. */
static void run_overlaps(void)
{
	u64 banana = image_leaf(0, "banana"), run = image_get(banana);

	image_set(image_table(run), WORT_MEDIA_EXTENT_RUN | 3 << 8);
	image_set(banana + 8, META(6, 9000, 2));
	CHECK(image_get(image_table(run) + 16));
	image_keep();
	attach();
	pmpool_settle();
	CHECK(image.pm.pool->damaged);
	CHECK_EQ(pm_put(indexes[1], "new", 3, "v", 1), -EROFS);
	CHECK(do_check());
	detach();
	hostile_try_all();
	image_restore(image.clean);
}

/*
 * A leaf in an extent that the table calls free, and that is opened before the
 * walk comes by: nobody has allocated the leaf.
 */
static void owned_is_free(void)
{
	u64 off = IMAGE_SIZE;
	u32 i;

	while (!image_get(image_table(off - IMAGE_EXTENT)))
		off -= IMAGE_EXTENT;
	off += 100 * 32;
	memcpy(image.mem + off, image.mem + image_leaf(0, "apple"), 24);
	image_set(image_slot(0, "apple"), off | WORT_MEDIA_LINK_RECORD);
	image_keep();
	attach();
	for (i = 0; i < 3; i++)
		CHECK_EQ(pm_put(indexes[1], &i, 4, "v", 1), 0);
	CHECK(image_get(image_table(off)));
	pmpool_settle();
	CHECK(indexes[0]->damaged);
	detach();
	image_restore(image.clean);
}

/* The walk meets a node again, but not a value that lies there. */
static void alias_case(const char *what, u64 leaf, u64 node)
{
	image_set(leaf, node);
	image_set(leaf + 8, META(image_get(leaf + 8) & WORT_MEDIA_LEAF_KEY_MASK,
				 sizeof(struct wort_media_wort_node), 2));
	tree_case(what, WALKS);
}

static void value_is_node(void)
{
	u64 node = image_node(0, "apple", 1), other = image_node(1, "others", 1);

	alias_case("value is a node above", image_leaf(0, "apples"), node);
	alias_case("value is a node behind", image_leaf(0, "apple"),
		   image_node(0, "mm-x1", 1));
	alias_case("value is a node of a later index", image_leaf(0, "mn0"),
		   other);
	alias_case("value is a node of an index before",
		   image_leaf(2, "single"), node);
}

/* The record of such a value is removed, the other owner keeps the object. */
static void owner_is_removed(void)
{
	struct wort_check_arg arg = {
		.size = sizeof(arg), .flags = WORT_CHECK_F_CLEAR,
	};
	u64 leaf = image_leaf(0, "mn0");
	u32 i, len;

	image_set(leaf, image_node(1, "others", 1));
	image_set(leaf + 8, META(3, sizeof(struct wort_media_wort_node), 2));
	attach();
	pmpool_settle();
	CHECK(indexes[1]->damaged);
	CHECK_EQ(pm_del(indexes[0], "mn0", 3), 0);
	CHECK_EQ(wort_pool_check(image.pm.pool, &arg), 0);
	CHECK_EQ(arg.out_nr_damaged, 0);
	pmpool_settle();
	CHECK(!image.pm.pool->alloc.walking);
	for (i = 0; i < 100; i++)
		CHECK_EQ(pm_put(indexes[0], &i, 4, buf, 106), 0);
	len = sizeof(buf);
	CHECK_EQ(pm_get(indexes[1], "other", 5, buf, &len), 0);
	CHECK_EQ(pm_get(indexes[1], "others", 6, buf, &len), 0);
	detach();
	image_restore(image.clean);
}

void check_hostile_owners(void)
{
	u64 leaf, node, banana;

	image_make();
	leaf = image_leaf(0, "apple");
	node = image_node(0, "apple", 1);
	banana = image_leaf(0, "banana");
	image_set(root_of(1), image_get(root_of(0)));
	tree_case("node of two indexes", WALKS);
	image_set(root_of(2), leaf | WORT_MEDIA_LINK_RECORD);
	tree_case("leaf of two indexes", WALKS);
	image_set(image_leaf(2, "single"), image_get(banana));
	image_set(image_leaf(2, "single") + 8, META(6, 5000, 2));
	tree_case("value of two records", WALKS);
	move_leaf("leaf between slots", (leaf & ~4095ULL) + 126 * 32 + 8);
	move_leaf("leaf in a class of nodes", (node & ~4095ULL) + 26 * 128);
	move_key("leaf behind the slots", "zz",
		 (image_leaf(0, "zz") & ~4095ULL) + 4 * 960);
	move_leaf("leaf in a free extent", IMAGE_SIZE - 4096);
	move_leaf("leaf in the superblock", WORT_MEDIA_SB_OFF + 2048);
	move_leaf("leaf in the first page", 512);
	move_leaf("leaf in a run", image_get(banana));
	move_leaf("leaf in the second extent of a run",
		  image_get(banana) + 4096);
	image_set(banana, image_get(banana) + 8);
	tree_case("value not at the start of its run", WALKS);
	image_set(banana, image_get(banana) + 4096);
	tree_case("value in the middle of a run", WALKS);
	image_set(banana + 8, META(6, 9000, 2));
	tree_case("value longer than its run", WALKS);
	image_set(banana + 8, META(6, 4000, 2));
	tree_case("value shorter than its run", WALKS);
	image_set(banana, leaf);
	tree_case("value in a class of leaves", WALKS);
	value_is_node();
	owner_is_removed();
	run_overlaps();
	owned_is_free();
	image_free();
}

/* Give back what is still in use: the operation that does so in turn meets damage. */
static void free_early(u64 off, u64 size)
{
	struct wort_op op;

	wort_op_begin(&op, &image.pm.region, &image.pm.pool->alloc);
	CHECK_EQ(wort_alloc_free(&op, off, size), 0);
	wort_op_end(&op);
}

/* Three operations that stop at the first that fails; the first meets the damage. */
static void batch_meets_damage(void)
{
	struct wort_batch batch = {
		.flags = WORT_BATCH_F_STOP, .ops = buf, .nr_ops = 3,
		.results = buf + 4096, .results_size = 4096, .write = true,
	};
	struct wort_batch_result *result;
	u32 i, at, len = 0;
	bool failed = false;

	len += pm_pack(buf, WORT_BATCH_DELETE, "others", 6, NULL, 0);
	len += pm_pack(buf + len, WORT_BATCH_INSERT, "y0", 2, "value", 5);
	len += pm_pack(buf + len, WORT_BATCH_INSERT, "y1", 2, "value", 5);
	batch.ops_len = len;
	CHECK_EQ(wort_index_batch(indexes[1], &batch), 0);
	for (i = at = 0; i < batch.done; i++, at += result->rec_len) {
		result = (void *)(buf + 4096 + at);
		CHECK(!failed);
		failed = result->error;
		CHECK(i ? !failed || result->error == -EROFS : !failed);
	}
	CHECK_EQ(batch.failed, failed);
	for (i = 1; i < 3; i++) {
		len = sizeof(buf);
		CHECK_EQ(pm_get(indexes[1], i == 1 ? "y0" : "y1", 2, buf, &len),
			 i < batch.done - batch.failed ? 0 : -ENOENT);
	}
}

static void delete_meets_damage(void)
{
	CHECK_EQ(pm_del(indexes[1], "others", 6), 0);
}

static void replace_meets_damage(void)
{
	CHECK_EQ(pm_put(indexes[1], "others", 6, "value", 5), 0);
}

static void commit_case(u64 off, u64 size, void (*run)(void), int found)
{
	u32 len = sizeof(buf);

	image_restore(image.clean);
	attach();
	pmpool_settle();
	free_early(off, size);
	run();
	CHECK(indexes[1]->damaged);
	CHECK_EQ(pm_get(indexes[1], "others", 6, buf, &len), found);
	CHECK_EQ(pm_del(indexes[1], "other", 5), -EROFS);
	detach();
}

/* What has been done is not answered with an error, whatever is found then. */
void check_hostile_commit(void)
{
	u64 node, leaf;

	image_make();
	node = image_node(1, "others", 1);
	leaf = image_leaf(1, "others");
	commit_case(node, sizeof(struct wort_media_wort_node),
		    delete_meets_damage, -ENOENT);
	commit_case(node, sizeof(struct wort_media_wort_node),
		    batch_meets_damage, -ENOENT);
	commit_case(leaf, sizeof(struct wort_media_leaf) + 6,
		    replace_meets_damage, 0);
	image_free();
}

#define FLIPS	3000

/* A word of what is in use, most of the time. */
static u64 pick_word(u64 *rnd)
{
	u64 off;
	u32 i;

	for (i = 0; i < 200; i++) {
		off = test_random(rnd) % (IMAGE_SIZE / 8) * 8;
		if (image_get(off))
			break;
	}
	return off;
}

/* Change a bit, a byte or a word; or put another word there. */
static void flip(u64 *rnd)
{
	static const u64 words[] = { 0, 1, 2, ~0ULL, 1ULL << 52, 0x8008 };
	u64 off = pick_word(rnd), r = test_random(rnd) >> 16;

	switch (r % 5) {
	case 0:
		image.mem[off + (r >> 8) % 8] ^= 1 << (r >> 16) % 8;
		break;
	case 1:
		image.mem[off + (r >> 8) % 8] = r >> 16;
		break;
	case 2:
		image_set(off, words[(r >> 8) % ARRAY_SIZE(words)]);
		break;
	case 3:
		image_set(off, image_get(pick_word(rnd)));
		break;
	default:
		image_set(off, image_get(off) + (r >> 8) % 64 * 8);
	}
}

/* Images with some words changed at random; checksums right half the time. */
void check_hostile_flips(void)
{
	u64 rnd = unit_seed + 77, entries[3];
	u32 i, n;

	image_make();
	for (n = 0; n < 3; n++)
		entries[n] = image_entry(n);
	for (i = 0; i < FLIPS; i++) {
		image_restore(image.clean);
		for (n = (test_random(&rnd) >> 20) % 4 + 1; n; n--)
			flip(&rnd);
		if (i % 2)
			image_seal_sb();
		for (n = 0; i % 2 && n < 3; n++)
			image_seal_entry(entries[n]);
		if (wort_pool_attach(&image.pm.region, &image.pm.pool))
			continue;
		pmpool_detach(&image.pm);
		if (i % 8 == 0) {
			image_keep();
			hostile_try_all();
			continue;
		}
		attach();
		for (n = 0; n < 6; n++)
			try_op((test_random(&rnd) >> 20) % NR_OPS);
		detach();
	}
	CHECK_EQ(i, FLIPS);
	image_free();
}
