// SPDX-License-Identifier: GPL-2.0-only
/*
 * Adaptive radix trees: which nodes they have, how bytes get slots, maps that make no
 * sense, and the table of the top.
 */
#include "../../kmod/engine/art.h"
#include "../unit/counts.h"
#include "../unit/hostile.h"
#include "art_tests.h"

static struct bed bed;

/* The bytes, not in their order, so that all lines get the same number of them. */
static u8 byte_nr(u32 i)
{
	u8 order = i * 167 + 3;
	u32 high = order >> 4;

	/* So that art_spread() ends with the digit of @order. */
	return high << 4 | (order - high * 3) % 16;
}

static int put(u8 byte)
{
	return pm_put(bed.index, &byte, 1, &byte, 1);
}

static int del(u8 byte)
{
	return pm_del(bed.index, &byte, 1);
}

static u64 root_link(void)
{
	return le64_to_cpu(bed.index->tree.root[0]);
}

static u32 root_kind(void)
{
	return art_link_kind(root_link());
}

static u8 *memory(u64 off)
{
	return (u8 *)bed.pm.region.base + off;
}

static u8 *root_media(void)
{
	return memory(wort_link_off(root_link()));
}

/* A count begins in the line of its byte: from each byte it finds all entries of the root. */
static void verify_counts(u32 from, u32 to)
{
	struct art_node root = { root_media(), root_link(), root_kind() };
	u64 link;
	u32 i;

	for (i = 0; i < ART_BYTES; i++)
		CHECK_EQ(art_count_others(&root, byte_nr(i), ART_BYTES, &link),
			 to - from - (i >= from && i < to));
	CHECK_EQ(art_count_others(&root, ART_BYTES, ART_BYTES, &link), to - from);
}

static void verify_all(u32 from, u32 to)
{
	u32 i, len;
	u8 byte, value;

	for (i = 0; i < ART_BYTES; i++) {
		len = 1;
		byte = byte_nr(i);
		CHECK_EQ(pm_get(bed.index, &byte, 1, &value, &len),
			 i >= from && i < to ? 0 : -ENOENT);
	}
	if (art_link_is_node(root_link()))
		verify_counts(from, to);
	bed_check(&bed);
}

/* The smallest kind with room for so many entries, which byte_nr() spreads over all lines. */
static u32 kind_of(u32 entries)
{
	u32 kind = WORT_MEDIA_ART_KIND_N7;

	if (entries < 2)
		return WORT_MEDIA_LINK_RECORD;
	while (kind < WORT_MEDIA_ART_KIND_N256 &&
	       entries > art_lines(kind) * WORT_MEDIA_ART_LINE_SLOTS)
		kind++;
	return kind;
}

/* The kind once so many are left: deletes that empty a line let the node shrink. */
static u32 kind_left(u32 entries)
{
	if (entries > 35)
		return WORT_MEDIA_ART_KIND_N256;
	return entries > 7 ? WORT_MEDIA_ART_KIND_N56 : WORT_MEDIA_ART_KIND_N7;
}

/* All bytes come and go: the root has each kind of node, and each smaller one again. */
void check_art_kinds(void)
{
	u32 i, nr;

	bed_open(&bed, MIB, 4096);
	for (i = 0; i < ART_BYTES; i++) {
		CHECK_EQ(put(byte_nr(i)), 0);
		CHECK_EQ(root_kind(), kind_of(i + 1));
		if (i % 16 == 0 || i < 32 || i == 55 || i == 56 || i == 111 || i == 112)
			verify_all(0, i + 1);
	}
	for (i = 0; i < ART_BYTES; i++) {
		nr = ART_BYTES - 1 - i;
		CHECK_EQ(del(byte_nr(i)), 0);
		if (nr <= 1)
			CHECK_EQ(root_kind(), nr ? WORT_MEDIA_LINK_RECORD : 0);
		else
			CHECK_EQ(root_kind(), kind_left(nr));
		if (i % 16 == 0 || nr < 20)
			verify_all(i + 1, ART_BYTES);
	}
	CHECK_EQ(root_link(), 0);
	bed_close(&bed);
}

/* Deletes of atomic batches let nodes shrink, too. */
void check_art_atomic(void)
{
	static struct wort_request reqs[WORT_ATOMIC_MAX];
	static struct wort_index *indexes[WORT_ATOMIC_MAX];
	struct wort_atomic batch = { .reqs = reqs, .indexes = indexes };
	u8 byte[WORT_ATOMIC_MAX];
	u32 i;

	bed_open(&bed, MIB, 4096);
	for (i = 0; i < WORT_ATOMIC_MAX; i++) {
		byte[i] = byte_nr(i);
		CHECK_EQ(put(byte[i]), 0);
		indexes[i] = bed.index;
		reqs[i].op = (struct wort_batch_op){
			.op = WORT_BATCH_DELETE, .key_len = 1,
		};
		reqs[i].put.key = (struct wort_key){ &byte[i], 1 };
	}
	CHECK_EQ(root_kind(), WORT_MEDIA_ART_KIND_N112);
	batch.nr_ops = WORT_ATOMIC_MAX - 4;
	CHECK_EQ(wort_pool_atomic(bed.pm.pool, &batch), 0);
	CHECK_LE(root_kind(), WORT_MEDIA_ART_KIND_N28);
	verify_all(WORT_ATOMIC_MAX - 4, WORT_ATOMIC_MAX);
	bed_close(&bed);
}

/* Bytes of the first line, in each kind of node. */
static u8 line_0(u32 i)
{
	return i << 4 | -i * 3 % 16;
}

/*
 * All bytes belong to one line, in each kind of node that has lines: with more than a line
 * has room for the root is an N256, and deletes make it no smaller before they fit again.
 */
void check_art_one_line(void)
{
	u64 link;
	u32 i, nr;

	bed_open(&bed, MIB, 4096);
	for (i = 0; i < 16; i++) {
		CHECK_EQ(put(line_0(i)), 0);
		if (i)
			CHECK_EQ(root_kind(), i < WORT_MEDIA_ART_LINE_SLOTS ?
				 WORT_MEDIA_ART_KIND_N7 : WORT_MEDIA_ART_KIND_N256);
		bed_check(&bed);
	}
	for (i = 0; i < 14; i++) {
		nr = 15 - i;
		link = root_link();
		CHECK_EQ(del(line_0(i)), 0);
		CHECK_EQ(root_link() != link, nr == WORT_MEDIA_ART_LINE_SLOTS);
		CHECK_EQ(root_kind(), nr <= WORT_MEDIA_ART_LINE_SLOTS ?
			 WORT_MEDIA_ART_KIND_N7 : WORT_MEDIA_ART_KIND_N256);
		bed_check(&bed);
	}
	bed_close(&bed);
}

/* Bytes that are multiples of 16 fill all lines, as those do that follow each other. */
void check_art_multiples(void)
{
	u32 i;

	bed_open(&bed, MIB, 4096);
	for (i = 0; i < 16; i++) {
		CHECK_EQ(put(16 * i), 0);
		CHECK_EQ(root_kind(), kind_of(i + 1));
	}
	bed_check(&bed);
	bed_close(&bed);
}

/* A byte keeps its slot; a slot whose entry was deleted is left behind by a copy. */
void check_art_slots(void)
{
	u64 link, slot;
	u32 i;

	bed_open(&bed, MIB, 4096);
	for (i = 0; i < WORT_MEDIA_ART_LINE_SLOTS; i++)
		CHECK_EQ(put(i), 0);
	link = root_link();
	slot = art_slot((void *)memory(0), link, 1);
	CHECK_EQ(del(1), 0);
	CHECK_EQ(root_link(), link);
	CHECK_EQ(probe_load(memory(0), slot), 0);
	CHECK_EQ(put(1), 0);
	CHECK_EQ(root_link(), link);
	CHECK_EQ(art_slot((void *)memory(0), link, 1), slot);
	CHECK_EQ(del(1), 0);
	CHECK_EQ(put(i), 0);
	CHECK_NE(root_link(), link);
	CHECK_EQ(root_kind(), WORT_MEDIA_ART_KIND_N7);
	for (i = 0; i <= WORT_MEDIA_ART_LINE_SLOTS; i++)
		CHECK_EQ(put(i), 0);
	bed_check(&bed);
	bed_close(&bed);
}

/*
 * Damage may leave a link in a slot of no byte.  No byte gets the slot, so no reader sees
 * the link.
 */
static void dirty(u32 entries, u32 nr, u32 slot)
{
	struct wort_media_art_line *line;
	const u8 byte = 0xc4;	/* it has line 0, and line 8 of 16 */
	u32 i;
	u64 off;

	bed_open(&bed, MIB, 4096);
	for (i = 0; i < entries; i++)
		CHECK_EQ(put(i), 0);
	line = (struct wort_media_art_line *)root_media() + nr;
	CHECK_EQ(line->slot[slot], 0);
	line->slot[slot] = line->slot[0];
	off = (u8 *)&line->slot[slot] - memory(0);
	bed_check(&bed);
	CHECK_EQ(put(byte), 0);
	CHECK_NE(art_slot((void *)memory(0), root_link(), byte), off);
	bed_check(&bed);
	bed_close(&bed);
}

void check_art_dirty_slots(void)
{
	dirty(3, 0, 3);
	dirty(8, 0, 4);
	dirty(16, 0, 4);
	dirty(30, 0, 4);
	dirty(60, 8, 3);
}

/*
 * A slot of no byte may hold anything.  Neither an answer nor the choice of a smaller node
 * rests on it.
 */
void check_art_rest(void)
{
	struct wort_media_art_line *line;
	u32 i;

	bed_open(&bed, MIB, 4096);
	for (i = 0; i < 8; i++)
		CHECK_EQ(put(byte_nr(i)), 0);
	CHECK_EQ(root_kind(), WORT_MEDIA_ART_KIND_N14);
	line = (void *)root_media();
	for (i = 4; i < ARRAY_SIZE(line->slot); i++) {
		root_media()[i] = 200 + 2 * i;
		line->slot[i] = cpu_to_le64(0xa5a5a5a5a5a5a5a5);
	}
	verify_all(0, 8);
	for (i = 0; i < 3; i++)
		CHECK_EQ(del(byte_nr(i)), 0);
	for (i = 0; i < 3; i++)
		CHECK_EQ(put(byte_nr(i)), 0);
	for (i = 0; i < 5; i++)
		CHECK_EQ(del(byte_nr(i)), 0);
	verify_all(5, 8);
	CHECK_EQ(root_kind(), WORT_MEDIA_ART_KIND_N14);
	/* byte_nr(6) is the last of its line */
	CHECK_EQ(del(byte_nr(6)), 0);
	CHECK_EQ(root_kind(), WORT_MEDIA_ART_KIND_N7);
	CHECK_EQ(del(byte_nr(5)), 0);
	verify_all(7, 8);
	bed_close(&bed);
}

/* A node whose lines are not those of the memory: a map and its slots could be torn apart. */
void check_art_misaligned(void)
{
	__le64 *root;
	u32 i;

	bed_open(&bed, MIB, 4096);
	for (i = 0; i < 8; i++)
		CHECK_EQ(put(byte_nr(i)), 0);
	root = (__le64 *)wort_tree_root(&bed.index->tree);
	*root = cpu_to_le64(le64_to_cpu(*root) + WORT_LINE / 2);
	CHECK_EQ(put(byte_nr(8)), -EUCLEAN);
	bed_close(&bed);
}

/* The key of a byte of one of many nodes. */
static u64 node_key(u32 node, u8 byte)
{
	return (u64)node << 8 | byte;
}

/*
 * Puts let nodes grow to an N56 without an operation, whether these map bytes or are copied.
 * Only a put that has to open an extent takes one.
 */
void check_art_growth(void)
{
	const u32 nodes = 256, entries = 4 * WORT_MEDIA_ART_LINE_SLOTS + 1;
	u64 before, n;
	u32 i, k, len;
	u8 key[8];

	count_open(&bed, 4 * MIB);
	for (i = 0; i < entries; i++)
		for (k = 0; k < nodes; k++)
			count_put(&bed, node_key(k, byte_nr(i)), i);
	CHECK_GE(count_fast(&bed, WORT_OP_INSERT), nodes * entries * 97 / 100);
	/* What copies have left behind is used again, a few slots at a time. */
	pmpool_settle();
	before = count_fast(&bed, WORT_OP_INSERT);
	for (i = 0; i < entries; i++)
		for (k = nodes; k < nodes + 16; k++)
			count_put(&bed, node_key(k, byte_nr(i)), i);
	CHECK_GE(count_fast(&bed, WORT_OP_INSERT) - before, 16 * entries * 9 / 10);
	for (k = 0; k < nodes + 16; k++)
		for (i = 0; i < entries; i++) {
			key_u64(key, node_key(k, byte_nr(i)));
			len = sizeof(n);
			CHECK_EQ(pm_get(bed.index, key, sizeof(key), &n, &len), 0);
			CHECK_EQ(n, i);
		}
	bed_check(&bed);
	bed_close(&bed);
}

/* What copies leave behind is given back, though no operation has freed it. */
void check_art_cow_given_back(void)
{
	struct wort_alloc *alloc;
	struct wort_top *top;
	u64 fast = 0;
	u32 i, k;

	count_open(&bed, MIB);
	alloc = &bed.pm.pool->alloc;
	for (i = 0; i < 14; i++) {
		for (k = 0; k < 40; k++)
			count_put(&bed, node_key(k, byte_nr(i)), i);
		if (i == 7) {
			wort_pool_kick(bed.pm.pool);
			pmpool_settle();
			CHECK_EQ(alloc->freeing_bytes, 0);
			/* A review of the table of the top would give space back, too. */
			top = wort_tree_top(&bed.index->tree);
			top->made_due = U64_MAX;
			top->missed_due = U64_MAX;
			fast = count_fast(&bed, WORT_OP_INSERT);
		}
	}
	CHECK_EQ(count_fast(&bed, WORT_OP_INSERT), fast + 6 * 40);
	pmpool_settle();
	CHECK_LE(alloc->freeing_bytes, MIB / 64);
	bed_close(&bed);
}

/* A node whose map has a byte in two slots grows by no fast put, and by no operation. */
void check_art_cow_damaged(void)
{
	u64 before;
	u8 key[8];
	u32 i;

	count_open(&bed, MIB);
	for (i = 0; i < 14; i++)
		count_put(&bed, node_key(0, byte_nr(i)), i);
	memset(root_media(), 0, WORT_MEDIA_ART_LINE_SLOTS);
	before = count_fast(&bed, WORT_OP_INSERT);
	key_u64(key, node_key(0, byte_nr(14)));
	CHECK_EQ(pm_put(bed.index, key, sizeof(key), key, sizeof(key)), -EUCLEAN);
	CHECK_EQ(count_fast(&bed, WORT_OP_INSERT), before);
	bed_close(&bed);
}

/* A copy is one line, two or four; an N28 maps further bytes in place. */
void check_art_cow_copies(void)
{
	const u32 copied = 2 * WORT_MEDIA_ART_LINE_SLOTS, entries = copied + 7;
	u32 lines, i;

	count_open(&bed, MIB);
	for (i = 0; i < entries; i++) {
		count_put(&bed, node_key(0, byte_nr(i)), i);
		count_put(&bed, node_key(1, byte_nr(i)), i);
	}
	for (i = 0; i < entries; i++) {
		count_cost(&bed, WORT_OP_INSERT);
		count_put(&bed, node_key(2, byte_nr(i)), i);
		lines = art_lines(kind_of(max(i + 1, 2U)));
		if (i > copied)
			count_expect(&bed, WORT_OP_INSERT, 1, 2, 2, 4 + 1);
		else if (i >= 2)
			count_expect(&bed, WORT_OP_INSERT, 1, 2, 2 + lines, 4 + 8 * lines);
	}
	bed_check(&bed);
	bed_close(&bed);
}

/*
 * Damage sets the bit behind that of the last slot.  No lookup takes the word there for a
 * slot, and check reports the node.
 */
static void bit_of_no_slot(void)
{
	struct wort_check_arg arg;
	u32 i;

	bed_open(&bed, MIB, 4096);
	for (i = 0; i < 4; i++)
		CHECK_EQ(put(i), 0);
	root_media()[WORT_MEDIA_ART_LINE_SLOTS] |= 0x80;
	CHECK_EQ(art_slot(memory(0), root_link(), 0x8f), 0);
	bed_check_arg(&bed, 0, &arg);
	CHECK_EQ(arg.out_nr_damaged, 1);
	bed_close(&bed);
}

/* A map with a byte of a word changed: whatever is asked has an end. */
static void wrong_map(u32 entries, u32 at, u8 byte, bool found)
{
	struct wort_check_arg arg;
	u32 i;

	bed_open(&bed, MIB, 4096);
	for (i = 0; i < entries; i++)
		CHECK_EQ(put(i), 0);
	root_media()[at] = byte;
	bed_check_arg(&bed, 0, &arg);
	CHECK_EQ(!!arg.out_nr_damaged, found);
	for (i = 0; i < ART_BYTES; i++) {
		put(i);
		del(i);
	}
	bed_close(&bed);
}

void check_art_maps(void)
{
	const u32 line = sizeof(struct wort_media_art_line);

	/* two slots of one byte */
	wrong_map(4, 1, 2, true);
	wrong_map(9, line, 5, true);
	wrong_map(16, 2 * line, 6, true);
	wrong_map(60, 15 * line, 28, true);
	/* a byte of another line */
	wrong_map(9, line, 100, true);
	wrong_map(16, 2 * line, 101, true);
	wrong_map(30, 3 * line, 4, true);
	wrong_map(60, 15 * line, 0xfa, true);
	bit_of_no_slot();
}

static u32 nr_drops;

static int drop_elsewhere(struct wort_cursor *cur)
{
	return nr_drops++ < 1000 ? -EAGAIN : -EINTR;
}

/*
 * On a damaged path an engine may look in another slot than the cursor did, as in the first
 * of two slots of one byte.  A check ends nevertheless.
 */
void check_art_lost_elsewhere(void)
{
	struct wort_engine elsewhere;
	struct wort_check_arg arg = { .size = sizeof(arg), .flags = WORT_CHECK_F_CLEAR };
	const struct wort_engine *engine;
	u32 i;

	bed_open(&bed, MIB, 4096);
	for (i = 0; i < 4; i++)
		CHECK_EQ(put(i), 0);
	engine = bed.index->tree.engine;
	elsewhere = *engine;
	elsewhere.drop = drop_elsewhere;
	bed.index->tree.engine = &elsewhere;
	wort_region_add_bad(&bed.pm.region, wort_link_off(root_link()), 1);
	wort_region_update(&bed.pm.region);
	nr_drops = 0;
	wort_pool_check(bed.pm.pool, &arg);
	CHECK_EQ(nr_drops, 8);
	wort_region_forget_bad(&bed.pm.region);
	wort_region_update(&bed.pm.region);
	bed.index->tree.engine = engine;
	bed_close(&bed);
}

/* What the first digits of a key lead to from the root on. */
static u64 from_root(struct wort_index *index, u64 word)
{
	u64 link = le64_to_cpu(index->tree.root[0]), slot;
	void *base = wort_region_at(index->tree.region, 0);
	struct wort_key key = { NULL, 0 };

	while (art_link_is_node(link) &&
	       wort_link_place(link) < wort_tree_top(&index->tree)->shape.place) {
		slot = art_slot(base, link, art_key_byte(&key, word, wort_link_place(link)));
		link = slot ? probe_load(base, slot) : 0;
	}
	return link;
}

u32 art_top_verify(struct wort_index *index)
{
	const struct wort_top *top = wort_tree_top(&index->tree);
	u32 found = 0;
	u64 i;

	for (i = 0; i <= top->mask; i++) {
		if (!top->link[i])
			continue;
		CHECK_EQ(from_root(index, top->shape.first + (i << top->shift)), top->link[i]);
		found++;
	}
	return found;
}

static void put_word(u64 n)
{
	u8 key[8];

	key_u64(key, n);
	CHECK_EQ(pm_put(bed.index, key, sizeof(key), &n, sizeof(n)), 0);
}

/* Keys so that the root has 256 children, which grow, shrink and go beside the table. */
void check_art_top(void)
{
	u8 key[8];
	u64 n;

	bed_open(&bed, 16 * MIB, 4096);
	for (n = 0; n < 65536; n += 64)
		put_word(n);
	/* An index that is opened for the first time is looked at. */
	bed_detach(&bed);
	bed_attach(&bed);
	pmpool_settle();
	CHECK_EQ(art_top_verify(bed.index), 256);
	for (n = 1; n < 65536; n += 64)
		put_word(n);
	/* A copy leaves a gap if another node of its lock has gone meanwhile. */
	CHECK_GE(art_top_verify(bed.index), 250);
	for (n = 0; n < 65536; n += 64) {
		key_u64(key, n);
		CHECK_EQ(pm_del(bed.index, key, sizeof(key)), 0);
	}
	art_top_verify(bed.index);
	bed_check(&bed);
	bed_close(&bed);
}

/* Records below 2048 nodes, and two below digits that no other key has. */
static void put_pairs(void)
{
	u64 n;

	for (n = 0; n < 2048; n++) {
		put_word(n << 48 | 1);
		put_word(n << 48 | 2);
	}
	put_word(0x0905ULL << 48 | 1);
	put_word(0x0905ULL << 48 | 2);
}

/*
 * Damage has changed the key of a record, by which the table leads to its node by digits
 * that are not on the path: changes that need the path have an end.
 */
void check_art_top_damaged(void)
{
	u64 slot, word = 0x2005ULL << 48;
	struct wort_media_leaf *leaf;
	u8 key[8], value[8] = { };
	int err;

	bed_open(&bed, 16 * MIB, 4096);
	put_pairs();
	slot = art_slot(memory(0), root_link(), 9);
	slot = art_slot(memory(0), le64_to_cpu(*(__le64 *)memory(slot)), 1);
	leaf = (void *)memory(wort_link_record(le64_to_cpu(*(__le64 *)memory(slot))));
	leaf->key[0] = 0x20;
	bed.index->tree.engine->volatile_ops->tend(&bed.index->tree, 0);
	bed.index->tree.engine->volatile_ops->tend(&bed.index->tree, 1 << 20);
	CHECK(wort_top_find(wort_tree_top(&bed.index->tree), word));
	/* A pool leaves the first page of the device as it was. */
	memset(memory(0), 0xa5, sizeof(u64));
	/* A node that maps the byte in place is not copied. */
	key_u64(key, word | 3);
	err = pm_put(bed.index, key, sizeof(key), value, sizeof(value)) ?:
	      pm_del(bed.index, key, sizeof(key));
	key_u64(key, word | 1);
	CHECK_EQ(err ?: pm_del(bed.index, key, sizeof(key)), -EUCLEAN);
	bed_close(&bed);
}

/*
 * A record lies below another byte than that of its key, among smaller keys: a scan in pieces
 * ends there, and does not go back to what it has had.
 */
void check_art_order(void)
{
	const u64 moved = 2ULL << 56 | 1;
	struct wort_scan scan = { .max = 2 };
	u8 buf[64], last[sizeof(u64)], key[sizeof(u64)];
	struct wort_key start = { last, sizeof(last) };
	u32 i, pieces = 0;
	int err;

	bed_open(&bed, MIB, 4096);
	for (i = 0; i < 8; i++)
		put_word((1 + i / 4ULL) << 56 | i % 4);
	key_u64(key, moved);
	memory(bed_record(&bed, key, sizeof(key)))[sizeof(struct wort_media_leaf)] = 1;
	do {
		scan.buf = buf;
		scan.buf_len = sizeof(buf);
		err = wort_index_scan(bed.index, &scan);
		if (scan.len)
			memcpy(last, buf + scan.last + sizeof(struct wort_record), sizeof(last));
		scan.start = &start;
	} while (!err && scan.more && ++pieces < 8);
	CHECK_EQ(err, -EUCLEAN);
	CHECK_LE(pieces, 4);
	bed_close(&bed);
}
