// SPDX-License-Identifier: GPL-2.0-only
/*
 * tlist: its chunks, its walk, damaged images, power cuts, and its array.
 */
#include <linux/sched.h>

#include "../../kmod/core/powercut.h"
#include "../../kmod/engine/tlist.h"
#include "../unit/hostile.h"
#include "tlist_tests.h"

#define SLOTS		4
#define POOL_SIZE	(256 * KIB)

static struct pmpool pm;
static struct wort_index *list;

static void list_attach(void)
{
	int err;

	pmpool_attach(&pm);
	err = wort_index_open(pm.pool, (const u8 *)"l", 1, WORT_INDEX_OPEN_F_CREATE,
			      WORT_ENGINE_TLIST, (u64)SLOTS << 32, &list);
	if (err)
		die("open list: %d", err);
}

static void list_detach(void)
{
	wort_index_put(list);
	pmpool_detach(&pm);
}

static void list_make(void)
{
	pmpool_map(&pm, POOL_SIZE, false);
	pmpool_format(&pm, 4096);
	list_attach();
	pmpool_settle();
}

static void list_free(void)
{
	list_detach();
	pmpool_unmap(&pm);
}

static int put(const char *key, u32 len)
{
	static const u8 value[5000] = "value";

	return pm_put(list, key, strlen(key), value, len);
}

static int del(const char *key)
{
	return pm_del(list, key, strlen(key));
}

static bool has(const char *key)
{
	static u8 value[5000];
	u32 len = sizeof(value);

	return !pm_get(list, key, strlen(key), value, &len);
}

static void put_all(const char *keys)
{
	char key[2] = { };

	for (; *keys; keys++) {
		key[0] = *keys;
		CHECK_EQ(put(key, 8), 0);
	}
}

static void del_all(const char *keys)
{
	char key[2] = { };

	for (; *keys; keys++) {
		key[0] = *keys;
		CHECK_EQ(del(key), 0);
	}
}

static __le64 *at(u64 off)
{
	return (__le64 *)((u8 *)pm.region.base + off);
}

/* Offset of a chunk, or 0. */
static u64 chunk_nr(u32 nr)
{
	u64 off = le64_to_cpu(*(__le64 *)list->tree.root);

	while (off && nr--)
		off = le64_to_cpu(*at(off));
	return off;
}

static u32 nr_chunks(void)
{
	u32 nr = 0;

	while (chunk_nr(nr))
		nr++;
	return nr;
}

static struct wort_media_tlist_chunk *chunk(u32 nr)
{
	return (void *)at(chunk_nr(nr));
}

static u64 bits(u32 nr)
{
	return le64_to_cpu(chunk(nr)->bits);
}

static u32 damages(void)
{
	struct wort_check_arg arg = { .size = sizeof(arg) };

	CHECK_EQ(wort_pool_check(pm.pool, &arg), 0);
	return arg.out_nr_damaged;
}

/* What makes chunks and takes them out. */
void check_tlist_chunks(void)
{
	u64 first;

	list_make();
	CHECK_EQ(nr_chunks(), 0);
	put_all("abcd");
	CHECK_EQ(nr_chunks(), 1);
	CHECK_EQ(bits(0), 0xf);
	del_all("b");
	CHECK_EQ(bits(0), 0xd);
	/* A slot is used once, and three records are more than half of a chunk. */
	first = chunk_nr(0);
	put_all("e");
	CHECK_EQ(nr_chunks(), 2);
	CHECK_NE(chunk_nr(0), first);
	del_all("cde");
	CHECK_EQ(nr_chunks(), 1);
	put_all("bcf");
	CHECK_EQ(nr_chunks(), 1);
	/* One record is not. */
	del_all("abc");
	first = chunk_nr(0);
	put_all("g");
	CHECK_EQ(nr_chunks(), 1);
	CHECK_NE(chunk_nr(0), first);
	/* The first chunk stays. */
	del_all("fg");
	CHECK_EQ(nr_chunks(), 1);
	CHECK_EQ(bits(0), 0);
	pmpool_settle();
	CHECK_EQ(damages(), 0);
	list_free();
}

/* A value that does not fit in place takes a new slot, and the last one a new chunk. */
void check_tlist_replace(void)
{
	u64 first;
	u32 i;

	list_make();
	for (i = 0; i < SLOTS; i++) {
		CHECK_EQ(put("key", 20 + i), 0);
		CHECK_EQ(bits(0), 1 << i);
	}
	first = chunk_nr(0);
	CHECK_EQ(put("key", 40), 0);
	CHECK_NE(chunk_nr(0), first);
	CHECK_EQ(bits(0), 1);
	CHECK_EQ(put("key", 8), 0);
	first = bits(0);
	CHECK_EQ(put("key", 8), 0);
	CHECK_EQ(bits(0), first);
	list_free();
}

#define OBJECTS_MAX	64

static struct {
	struct wort_visitor visitor;
	u64 off[OBJECTS_MAX];
	u32 nr;
} met;

static int meet(struct wort_visitor *visitor, struct wort_op *op, u64 off, u64 size,
		bool first)
{
	u32 i;

	CHECK(first);
	for (i = 0; i < met.nr; i++)
		CHECK_NE(met.off[i], off);
	if (CHECK(met.nr < OBJECTS_MAX))
		met.off[met.nr++] = off;
	return 0;
}

/* One step in a section of its own; its number of records. */
static int step(struct wort_walk *walk)
{
	struct wort_cursor *cur = pm.pool->cursor;
	int nr;

	mutex_lock(&pm.pool->work_lock);
	wort_chunk_begin(walk, false);
	nr = list->tree.engine->walk(cur, &walk->pos, &met.visitor);
	if (nr >= 0) {
		memcpy(walk->buf, cur->key, cur->key_len);
		walk->pos.len = cur->key_len;
	}
	wort_chunk_end(walk, 0);
	mutex_unlock(&pm.pool->work_lock);
	return nr;
}

static void walk_begin(struct wort_walk *walk)
{
	met.nr = 0;
	met.visitor.visit = meet;
	*walk = (struct wort_walk){ .pool = pm.pool };
	wort_walk_begin(walk, list);
}

/* Chunks with a to c, d and e, f to h. */
static void make_three(void)
{
	put_all("abdfcegh");
	CHECK_EQ(nr_chunks(), 3);
}

/* The chunk at the position goes, and its range is that of a chunk met before. */
static void walk_gone(void)
{
	struct wort_walk walk;
	u32 nr, i;
	int got;

	list_make();
	make_three();
	walk_begin(&walk);
	got = step(&walk);
	nr = hweight_long(bits(0));
	CHECK_EQ(got, nr);
	CHECK_EQ(met.nr, nr + 1);
	for (i = 'a'; nr_chunks() > 2 && i < 'h'; i++)
		if (walk.buf[0] <= i)
			del((char[]){ i, 0 });
	CHECK_EQ(nr_chunks(), 2);
	CHECK_EQ(put((char[]){ walk.buf[0], 0 }, 8), 0);
	CHECK_EQ(bits(0) >> nr, 1);
	/* The new record is met, its chunk is not. */
	CHECK_EQ(step(&walk), 1);
	CHECK_EQ(met.nr, nr + 2);
	CHECK_EQ(step(&walk), hweight_long(bits(1)));
	CHECK_EQ(step(&walk), -ENOENT);
	CHECK_EQ(damages(), 0);
	list_free();
}

/* A chunk that was met is replaced by two: neither is met, nor what is in them. */
static void walk_split(void)
{
	struct wort_walk walk;
	u32 nr;

	list_make();
	make_three();
	walk_begin(&walk);
	CHECK_GE(step(&walk), 1);
	nr = met.nr;
	CHECK_EQ(put("aa", 8), 0);
	CHECK_EQ(put("bb", 8), 0);
	CHECK_EQ(nr_chunks(), 4);
	while (step(&walk) >= 0)
		;
	CHECK_EQ(met.nr, nr + 7);
	list_free();
}

static void walk_empty(void)
{
	struct wort_walk walk;

	list_make();
	walk_begin(&walk);
	CHECK_EQ(step(&walk), -ENOENT);
	put_all("abcde");
	del_all("ab");
	CHECK_EQ(bits(0), 0);
	walk_begin(&walk);
	CHECK_EQ(step(&walk), 0);
	CHECK_EQ(met.nr, 1);
	CHECK_EQ(step(&walk), 3);
	CHECK_EQ(step(&walk), -ENOENT);
	list_free();
}

void check_tlist_walk(void)
{
	walk_gone();
	walk_split();
	walk_empty();
}

/* Damage, in an image of its own. */
static u8 clean[POOL_SIZE];

static void damaged(const char *what, bool walk)
{
	static u8 patched[POOL_SIZE], buf[8192] __attribute__((aligned(8)));
	struct wort_scan scan = { .buf = buf, .buf_len = sizeof(buf) };
	u32 reverse;

	memcpy(patched, pm.region.base, POOL_SIZE);
	list_attach();
	if (!CHECK(damages()))
		printf("  %s\n", what);
	list_detach();
	memcpy(pm.region.base, patched, POOL_SIZE);
	list_attach();
	for (reverse = 0; reverse < 2; reverse++) {
		scan.flags = reverse ? WORT_SCAN_F_REVERSE : 0;
		wort_index_scan(list, &scan);
		CHECK_LE(scan.count, 64);
	}
	pmpool_settle();
	if (!CHECK(list->damaged || pm.pool->damaged || !walk))
		printf("  %s: walk\n", what);
	put("c", 8);
	put("c", 300);
	del("f");
	wort_index_destroy(pm.pool, (const u8 *)"l", 1);
	pmpool_settle();
	list_detach();
	memcpy(pm.region.base, clean, POOL_SIZE);
}

/*
 * A word of a chunk, of which there are three; @word counts from @next.  What is named so
 * only a check examines.
 */
static void patch(const char *what, u32 nr, u32 word, u64 val)
{
	u64 off;

	list_attach();
	off = chunk_nr(nr);
	list_detach();
	memcpy(pm.region.base, clean, POOL_SIZE);
	at(off)[word] = cpu_to_le64(val);
	damaged(what, strncmp(what, "check:", 6));
}

static u64 of_chunk(u32 nr)
{
	u64 off;

	list_attach();
	off = chunk_nr(nr);
	list_detach();
	memcpy(pm.region.base, clean, POOL_SIZE);
	return off;
}

#define META(slots, len)	((slots) | (u64)(len) << WORT_MEDIA_TLIST_BOUND_SHIFT)

void check_tlist_hostile(void)
{
	u64 first, second, third, link;

	list_make();
	make_three();
	pmpool_settle();
	list_detach();
	memcpy(clean, pm.region.base, POOL_SIZE);
	first = of_chunk(0);
	second = of_chunk(1);
	third = of_chunk(2);
	link = le64_to_cpu(at(first)[3]);
	patch("next is itself", 1, 0, second);
	patch("next goes back", 2, 0, second);
	patch("next is the first", 2, 0, first);
	patch("next outside", 1, 0, 1ULL << 40);
	patch("next far", 1, 0, ~7ULL);
	patch("next odd", 1, 0, third + 4);
	patch("next at the end", 1, 0, POOL_SIZE - 8);
	patch("next is a record", 2, 0, link);
	patch("bits beyond the slots", 1, 1, 1 << SLOTS);
	patch("bit of an unused slot", 2, 1, 0xf);
	patch("more slots", 1, 2, META(SLOTS + 1, 1));
	patch("no slots", 1, 2, META(0, 1));
	patch("meta", 1, 2, META(SLOTS, 1) | 1ULL << 40);
	patch("bound that is too long", 1, 2, META(SLOTS, WORT_KEY_MAX + 1));
	patch("no bound", 1, 2, META(SLOTS, 0));
	patch("bound of the first", 0, 2, META(SLOTS, 1));
	patch("bound below the one before", 2, 3 + SLOTS, 'a');
	patch("bound above records", 1, 3 + SLOTS, 'z');
	patch("bound between records", 2, 3 + SLOTS, 'g');
	patch("slot odd", 1, 3, link + 4);
	patch("slot outside", 1, 3, 1ULL << 40);
	patch("record of another chunk", 1, 3, link);
	patch("check: twice", 2, 4, le64_to_cpu(at(third)[3]));
	pmpool_unmap(&pm);
}

/* Power cuts: before, the change, and whether it was made. */
static const struct cut {
	const char *before;
	const char *gone;	/* and without these */
	const char *key;
	u32 len;		/* of the value; 0: delete */
} cuts[] = {
	{ "", "", "a", 8 },
	{ "abc", "", "d", 8 },
	{ "abc", "", "b", 300 },
	{ "abc", "", "b", 8 },
	{ "abcd", "", "e", 8 },
	{ "abcd", "", "b", 300 },
	{ "abcd", "bcd", "e", 8 },
	{ "abcde", "", "b", 0 },
	{ "abcde", "de", "c", 0 },
	{ "abcde", "ab", "c", 0 },
};

/* The state of the key: its length, or 0. */
static u32 state_of(const struct cut *cut)
{
	static u8 value[5000];
	u32 len = sizeof(value);

	return pm_get(list, cut->key, strlen(cut->key), value, &len) ? 0 : len;
}

/* All but the key of the change is as before. */
static void cut_verify(const struct cut *cut, u32 before)
{
	const char *key;
	u32 state;

	list_attach();
	state = state_of(cut);
	CHECK(state == before || state == cut->len);
	for (key = cut->before; *key; key++)
		if (*key != *cut->key)
			CHECK_EQ(has((char[]){ *key, 0 }), !strchr(cut->gone, *key));
	pmpool_settle();
	CHECK(!list->damaged);
	CHECK_EQ(damages(), 0);
	put_all("mnopq");
	CHECK_EQ(damages(), 0);
	list_detach();
}

/* True if there was a cut. */
static bool cut_at(const struct cut *cut, u64 event, u32 seed)
{
	struct wort_powercut_status status;
	u32 before;

	pmpool_format(&pm, 4096);
	list_attach();
	pmpool_settle();
	put_all(cut->before);
	del_all(cut->gone);
	before = state_of(cut);
	CHECK_EQ(wort_powercut_arm(event), 0);
	wort_powercut_begin(&pm.region);
	CHECK_EQ(cut->len ? put(cut->key, cut->len) : del(cut->key), 0);
	wort_powercut_status(&status);
	wort_powercut_end(&pm.region);
	list_detach();
	if (status.state == WORT_POWERCUT_CUT)
		CHECK_EQ(wort_powercut_image(seed, pm.region.base, pm.region.size, 0),
			 pm.region.size);
	cut_verify(cut, before);
	wort_powercut_disarm();
	return status.state == WORT_POWERCUT_CUT;
}

void check_tlist_cuts(void)
{
	const struct cut *cut;
	u64 event;
	u32 seed;

	pmpool_map(&pm, POOL_SIZE, false);
	for (cut = cuts; cut < cuts + ARRAY_SIZE(cuts); cut++) {
		for (event = 1; cut_at(cut, event, 0); event++)
			for (seed = 1; seed < 8; seed++)
				cut_at(cut, event, seed);
		CHECK_GE(event, 3);
	}
	pmpool_unmap(&pm);
}

static u64 parts(void)
{
	return atomic64_read(&pm.pool->alloc.parts_bytes);
}

static bool unused(u32 nr, u32 slot)
{
	return !chunk(nr)->slot[slot];
}

static void reclaim(void (*in_grace_period)(void))
{
	shim_in_grace_period = in_grace_period;
	mutex_lock(&pm.pool->work_lock);
	wort_pool_reclaim(pm.pool);
	mutex_unlock(&pm.pool->work_lock);
	shim_in_grace_period = NULL;
}

/* The slot of "b" waits; that of "c" is for the next time. */
static void del_c(void)
{
	CHECK(!unused(0, 1));
	if (has("c"))
		del_all("c");
}

static void make_full(void)
{
	list_make();
	put_all("abcd");
	pmpool_settle();
	CHECK_EQ(parts(), 0);
}

/* Slots are used again after a grace period. */
static void parts_again(void)
{
	u64 first;

	make_full();
	first = chunk_nr(0);
	del_all("b");
	CHECK(!unused(0, 1));
	CHECK_EQ(parts(), 8);
	reclaim(del_c);
	CHECK(unused(0, 1));
	CHECK(!unused(0, 2));
	CHECK_EQ(parts(), 8);
	reclaim(NULL);
	CHECK(unused(0, 2));
	CHECK_EQ(parts(), 0);
	CHECK(!wort_alloc_freeing(&pm.pool->alloc));
	put_all("ef");
	CHECK_EQ(chunk_nr(0), first);
	CHECK_EQ(nr_chunks(), 1);
	CHECK_EQ(bits(0), 0xf);
	/* A record that is replaced frees a slot, too. */
	del_all("f");
	reclaim(NULL);
	CHECK_EQ(put("e", 300), 0);
	CHECK_EQ(parts(), 8);
	reclaim(NULL);
	put_all("f");
	CHECK_EQ(chunk_nr(0), first);
	CHECK_EQ(damages(), 0);
	list_free();
}

static u64 gone;

/* The chunk whose slot waits is replaced. */
static void put_g(void)
{
	if (!has("g"))
		put_all("g");
	CHECK_NE(chunk_nr(0), gone);
}

/* What a chunk has freed goes with it. */
static void parts_go(void)
{
	struct wort_media_tlist_chunk *old;
	__le64 link;

	make_full();
	del_all("a");
	gone = chunk_nr(0);
	old = chunk(0);
	link = old->slot[0];
	reclaim(put_g);
	CHECK_EQ(old->slot[0], link);
	CHECK_EQ(parts(), 0);
	list_free();
	make_full();
	del_all("a");
	CHECK_EQ(parts(), 8);
	put_all("a");
	CHECK_EQ(parts(), 0);
	CHECK_EQ(damages(), 0);
	list_free();
}

static u32 links(u32 nr)
{
	u32 slot, n = 0;

	for (slot = 0; slot < SLOTS; slot++)
		n += !unused(nr, slot);
	return n;
}

/* The descriptor of a chunk moves, since a chunk before it is parted. */
static void parts_moved(void)
{
	make_full();
	put_all("e");
	CHECK_EQ(nr_chunks(), 2);
	pmpool_settle();
	del_all("e");
	CHECK_EQ(links(1), hweight_long(bits(1)) + 1);
	while (nr_chunks() == 2)
		CHECK_EQ(put((char[]){ 'a', 'a' + links(0), 0 }, 8), 0);
	CHECK_EQ(links(2), hweight_long(bits(2)) + 1);
	reclaim(NULL);
	CHECK_EQ(links(2), hweight_long(bits(2)));
	list_free();
}

/* A destroyed index frees its parts before its objects, or with them. */
static void parts_destroyed(void)
{
	u32 turn;

	for (turn = 0; turn < 2; turn++) {
		list_make();
		put_all("abc");
		del_all("ab");
		CHECK_EQ(parts(), 16);
		CHECK_EQ(wort_index_destroy(pm.pool, (const u8 *)"l", 1), 0);
		if (turn)
			reclaim(NULL);
		else
			pmpool_settle();
		CHECK_EQ(parts(), 0);
		pmpool_settle();
		CHECK(!wort_alloc_freeing(&pm.pool->alloc));
		list_free();
	}
}

void check_tlist_parts(void)
{
	parts_again();
	parts_go();
	parts_moved();
	parts_destroyed();
}

/* A key with some bytes that many others share. */
static const char *key_nr(u32 nr)
{
	static char key[32];

	snprintf(key, sizeof(key), "%s%03u", nr % 3 ? "" : "0123456789", nr * 7 % 1000);
	return key;
}

static void whole_array(void)
{
	CHECK_EQ(tlist_verify_array(list), nr_chunks());
}

static u64 nodes_of_lookups(void)
{
	struct wort_op_stats stats[WORT_OP_NR];

	wort_index_stats(list, stats);
	return stats[WORT_OP_LOOKUP].nodes;
}

/* Chunks that come and go do so in the array, and attach makes it again. */
void check_tlist_array(void)
{
	const u32 keys = 40;
	u64 nodes;
	u32 i, turn;

	list_make();
	for (turn = 0; turn < 2; turn++) {
		for (i = 0; i < keys; i++) {
			CHECK_EQ(put(key_nr(i), 8), 0);
			pmpool_settle();
			whole_array();
		}
		list_detach();
		list_attach();
		nodes = nodes_of_lookups();
		for (i = 0; i < keys; i++)
			CHECK(has(key_nr(i)));
		whole_array();
		/* At most those with one prefix, and some chunks around the key. */
		nodes = nodes_of_lookups() - nodes;
		CHECK_GE(nr_chunks(), 12);
		CHECK_LE(nodes, keys * (nr_chunks() / 3 + 4));
		for (i = 0; i < keys; i++) {
			CHECK_EQ(del(key_nr(i)), 0);
			whole_array();
		}
		CHECK_EQ(nr_chunks(), 1);
	}
	CHECK_EQ(damages(), 0);
	list_free();
}

/* The first lookup in a pool that is not walked; its allocation @nth fails, -1: none. */
static int first_lookup(long nth)
{
	u8 value[8];
	u32 len = sizeof(value);
	int err;

	list_detach();
	pm.region.readonly = true;
	list_attach();
	shim_alloc_fail_nth = nth;
	err = pm_get(list, "007", 3, value, &len);
	shim_alloc_fail_nth = -1;
	return err;
}

/* An array that is full has gaps until it grows, and for good when it may not. */
void check_tlist_array_full(void)
{
	const struct tls_array *array;
	u32 i, failed = 0;

	list_make();
	for (i = 0; i < 60; i++)
		CHECK_EQ(put(key_nr(i), 8), 0);
	array = list->tree.priv;
	CHECK_EQ(array->nr, array->max);
	CHECK_LE(array->nr, nr_chunks() - 1);
	tlist_verify_array(list);
	for (i = 0; i < 60; i++)
		CHECK(has(key_nr(i)));
	CHECK_EQ(first_lookup(-1), 0);
	whole_array();
	for (i = 0; i < 20; i++)
		if (first_lookup(i)) {
			CHECK_EQ(first_lookup(i), -ENOMEM);
			CHECK(has("007"));
			whole_array();
			failed++;
		}
	CHECK_GE(failed, 1);
	list_detach();
	pm.region.readonly = false;
	list_attach();
	for (i = 0; i < 600; i++)
		CHECK_EQ(put(key_nr(i), 8), 0);
	CHECK_EQ(first_lookup(-1), 0);
	array = list->tree.priv;
	CHECK(array->capped);
	CHECK_EQ(tlist_verify_array(list), array->max);
	CHECK_LE(array->max, nr_chunks() - 1);
	for (i = 0; i < 600; i++)
		CHECK_EQ(has(key_nr(i)), true);
	list_detach();
	pm.region.readonly = false;
	list_attach();
	for (i = 0; i < 600; i++)
		CHECK_EQ(del(key_nr(i)), 0);
	tlist_verify_array(list);
	CHECK_EQ(damages(), 0);
	list_free();
}
