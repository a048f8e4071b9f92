// SPDX-License-Identifier: GPL-2.0-only
/*
 * Damaged and hostile images of WORT: trees, and who owns what.
 */
#include "../unit/hostile.h"
#include "wort_tests.h"

static struct wort_index **const indexes = hostile_indexes;
static u8 buf[WORT_VALUE_MAX * 2] __attribute__((aligned(8)));

#define META(key, value, kind) \
	((key) | (u64)(value) << 12 | (u64)(kind) << 29)

static void slot_case(const char *what, u64 link, u32 finders)
{
	image_set(image_slot(0, "apple"), link);
	hostile_case(what, finders);
}

/* The same, with pairs before it. */
static void slot_of_pair(const char *what, u64 link, u32 finders)
{
	image_set(image_slot(0, "k25"), link);
	hostile_case(what, finders);
}

static u64 node_link(u64 off, u32 place)
{
	return (u64)place << WORT_MEDIA_LINK_PLACE_SHIFT | off |
	       WORT_MEDIA_WORT_KIND_NODE;
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
		hostile_case("tag of a node", ops);
	}
	/* All is right but the tag: a look must not find what is below. */
	for (tag = 3; tag <= WORT_MEDIA_LINK_KIND_MASK; tag++) {
		if ((tag | WORT_MEDIA_WORT_KIND_NODE) == WORT_MEDIA_WORT_KIND_NODE)
			continue;
		image_set(image_node_slot(0, "apple", 1),
			  image_get(image_node_slot(0, "apple", 1)) | tag);
		hostile_case("tag of a node with its place", ops);
		image_set(image_root(0), image_get(image_root(0)) | tag);
		hostile_case("tag of the root", ops);
	}
	for (tag = 44; tag < 52; tag++) {
		image_set(image_node_slot(0, "apple", 1),
			  image_get(image_node_slot(0, "apple", 1)) | 1ULL << tag);
		hostile_case("label of a node", ops);
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
	hostile_case("node outside", ops);
	image_set(image_slot(0, "k00"), node_link(IMAGE_SIZE - 120, 6));
	hostile_case("node at the end", ops);
	image_set(image_node_slot(0, "apple", 1),
		  image_get(image_node_slot(0, "apple", 1)) + 64);
	hostile_case("node between two", ops);
	image_set(image_slot(0, "apples"),
		  image_get(image_node_slot(0, "apple", 1)));
	hostile_case("cycle", ops);
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
	hostile_case("place before the path", ops);
	image_set(slot, node_link(node, WORT_KEY_DIGITS));
	hostile_case("place beyond all keys", ops);
	image_set(slot, node_link(node, 0xfff));
	hostile_case("place far beyond all keys", ops);
	image_set(image_slot(0, "apples"), 0);
	hostile_case("one entry", FIND(CHECKS) | FIND(DELETE));
	for (i = 0; i < WORT_MEDIA_WORT_SLOTS; i++)
		image_set(node + 8 * i, 0);
	hostile_case("no entries", SCANS | WALKS);
	image_set(mm_slot, node_link(mm, mm_place + 1));
	hostile_case("wrong place", SCANS | WALKS);
	image_set(mm_slot, node_link(mm, mm_place - 1));
	hostile_case("place too early", SCANS | WALKS);
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
	hostile_case("chain of nodes", SCANS | WALKS | FIND(LOOKUP));
}

static void meta_case(const char *what, u64 meta)
{
	image_set(image_leaf(0, "apple") + 8, meta);
	hostile_case(what, ALL_OPS | FIND(DELETE) | FIND(INSERT));
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
	hostile_case("long object", ops);
	image_set(banana, 1ULL << 40);
	hostile_case("object outside", ops);
	image_set(banana, IMAGE_SIZE - 4992);
	hostile_case("object beyond the end", ops);
	image_set(banana, image_get(banana) + 4);
	hostile_case("object not aligned", ops);
	for (at = 0; at < 3; at++) {
		image_set(image_slot(0, "apple"),
			  (IMAGE_SIZE - 48) | WORT_MEDIA_LINK_RECORD);
		image_set(IMAGE_SIZE - 40, at == 0 ? META(33, 8, 0) :
			  at == 1 ? META(5, 300, 1) : META(1024, 0, 0));
		hostile_case("record beyond the end", ops);
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
	hostile_case("leaves swapped", SCANS | WALKS | FIND(INSERT));
	swap_slots(image_node_slot(0, "k15", 1), image_node_slot(0, "k25", 1));
	hostile_case("nodes of pairs swapped", SCANS | WALKS);
	image.mem[image_leaf(0, "long-prefix-in-common-2") + 16 + 4]++;
	hostile_case("keys out of order", SCANS | WALKS | FIND(SEEK));
	image.mem[image_leaf(0, "mm-x1") + 16 + 4] = '3';
	hostile_case("digit of another slot", SCANS | WALKS);
	image.mem[image_leaf(0, "k25") + 16]++;
	hostile_case("digits before those of the slot", SCANS | WALKS);
	image_set(image_leaf(0, "mm-x1") + 8, META(3, 8, 0));
	hostile_case("key short of its place", SCANS | WALKS);
}

void check_wort_hostile_tree(void)
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
	hostile_case(what, WALKS);
}

static void move_leaf(const char *what, u64 to)
{
	move_key(what, "apple", to);
}

/* Attach, walk: the pool is read-only since a run overlaps what others own. */
static void run_overlaps(void)
{
	u64 banana = image_leaf(0, "banana"), run = image_get(banana);
	struct wort_check_arg arg = { .size = sizeof(arg) };
	u32 i;

	image_set(image_table(run), WORT_MEDIA_EXTENT_RUN | 3 << 8);
	image_set(banana + 8, META(6, 9000, 2));
	CHECK(image_get(image_table(run) + 16));
	image_keep();
	hostile_attach();
	pmpool_settle();
	CHECK(image.pm.pool->damaged);
	CHECK_EQ(pm_put(indexes[1], "new", 3, "v", 1), -EROFS);
	CHECK(hostile_check());
	/* Without the index that has the run the pool is sound, and stays so. */
	CHECK_EQ(wort_index_destroy(image.pm.pool, (const u8 *)"a", 1), 0);
	pmpool_settle();
	for (i = 0; i < 2; i++) {
		arg.flags = WORT_CHECK_F_CLEAR;
		CHECK_EQ(wort_pool_check(image.pm.pool, &arg), 0);
		CHECK_EQ(arg.out_nr_damaged, 0);
		pmpool_settle();
		CHECK(!image.pm.pool->damaged);
	}
	CHECK_EQ(pm_put(indexes[1], "new", 3, "v", 1), 0);
	hostile_detach();
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
	hostile_attach();
	for (i = 0; i < 3; i++)
		CHECK_EQ(pm_put(indexes[1], &i, 4, "v", 1), 0);
	CHECK(image_get(image_table(off)));
	pmpool_settle();
	CHECK(indexes[0]->damaged);
	hostile_detach();
	image_restore(image.clean);
}

/* The walk meets a node again, but not a value that lies there. */
static void alias_case(const char *what, u64 leaf, u64 node)
{
	image_set(leaf, node);
	image_set(leaf + 8, META(image_get(leaf + 8) & WORT_MEDIA_LEAF_KEY_MASK,
				 sizeof(struct wort_media_wort_node), 2));
	hostile_case(what, WALKS);
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
	hostile_attach();
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
	hostile_detach();
	image_restore(image.clean);
}

void check_wort_hostile_owners(void)
{
	u64 leaf, node, banana;

	image_make();
	leaf = image_leaf(0, "apple");
	node = image_node(0, "apple", 1);
	banana = image_leaf(0, "banana");
	image_set(image_root(1), image_get(image_root(0)));
	hostile_case("node of two indexes", WALKS);
	image_set(image_root(2), leaf | WORT_MEDIA_LINK_RECORD);
	hostile_case("leaf of two indexes", WALKS);
	image_set(image_leaf(2, "single"), image_get(banana));
	image_set(image_leaf(2, "single") + 8, META(6, 5000, 2));
	hostile_case("value of two records", WALKS);
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
	hostile_case("value not at the start of its run", WALKS);
	image_set(banana, image_get(banana) + 4096);
	hostile_case("value in the middle of a run", WALKS);
	image_set(banana + 8, META(6, 9000, 2));
	hostile_case("value longer than its run", WALKS);
	image_set(banana + 8, META(6, 4000, 2));
	hostile_case("value shorter than its run", WALKS);
	image_set(banana, leaf);
	hostile_case("value in a class of leaves", WALKS);
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
	hostile_attach();
	pmpool_settle();
	free_early(off, size);
	run();
	CHECK(indexes[1]->damaged);
	CHECK_EQ(pm_get(indexes[1], "others", 6, buf, &len), found);
	CHECK_EQ(pm_del(indexes[1], "other", 5), -EROFS);
	hostile_detach();
}

/* What has been done is not answered with an error, whatever is found then. */
void check_wort_hostile_commit(void)
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
