// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sound images that a fuzzer begins with.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <linux/crc32c.h>

#include "../../kmod/pool/redo.h"
#include "../engines/fuzz.h"

struct base *bases;
u32 nr_bases;

struct wort_media_sb *base_sb(struct base *base)
{
	return (void *)(base->mem + base->sb_off[0]);
}

u64 base_get(const struct base *base, u64 off)
{
	__le64 word;

	memcpy(&word, base->mem + off, sizeof(word));
	return le64_to_cpu(word);
}

void base_set(struct base *base, u64 off, u64 val)
{
	__le64 word = cpu_to_le64(val);

	memcpy(base->mem + off, &word, sizeof(word));
}

void base_restore(struct base *base)
{
	memcpy(base->mem, base->clean, base->size);
}

void seal_entry(struct base *base, u64 off)
{
	struct wort_media_entry *entry = (void *)(base->mem + off), tmp = *entry;

	tmp.csum = 0;
	tmp.state = 0;
	memset(tmp.root, 0, sizeof(tmp.root));
	entry->csum = cpu_to_le32(crc32c(~0U, &tmp, sizeof(tmp)));
}

void seal_sb(struct base *base, u64 off)
{
	struct wort_media_sb *sb = (void *)(base->mem + off);

	sb->csum = 0;
	sb->csum = cpu_to_le32(crc32c(~0U, sb, sizeof(*sb)));
}

void seal_list(struct base *base, u64 off)
{
	struct wort_media_redo *redo = (void *)(base->mem + off);
	u32 len = le32_to_cpu(redo->len);

	if (len < sizeof(*redo) || len > base->size - off)
		return;
	redo->csum = 0;
	redo->csum = cpu_to_le32(crc32c(~0U, redo, len));
}

void base_add(struct base *base, enum word_kind kind, u64 off)
{
	if (base->nr[kind] < MAX_WORDS)
		base->word[kind][base->nr[kind]++] = off;
}

void base_add_range(struct base *base, enum word_kind kind, u64 off, u32 len)
{
	u32 i;

	for (i = 0; i < len; i += sizeof(__le64))
		base_add(base, kind, off + i);
}

static void list_block(struct base *base, u64 off)
{
	u64 entry;
	u32 i;

	base_add_range(base, WORD_BLOCK, off, sizeof(struct wort_media_catalogue));
	for (i = 1; i <= WORT_MEDIA_CATALOGUE_SLOTS; i++) {
		entry = base_get(base, off + i * sizeof(__le64));
		if (!entry)
			continue;
		base->entry[base->nr_entries++] = entry;
		base_add_range(base, WORD_ENTRY, entry,
			       sizeof(struct wort_media_entry));
		base->rows->list(base, entry +
				 offsetof(struct wort_media_entry, root));
	}
}

static void list_words(struct base *base)
{
	const struct wort_media_sb *sb = base_sb(base);
	u64 block = le64_to_cpu(sb->catalogue_off);
	u32 i;

	for (i = 0; i < WORT_MEDIA_SB_COPIES; i++)
		base_add_range(base, WORD_SB, base->sb_off[i], sizeof(*sb));
	base_add_range(base, WORD_TABLE, le64_to_cpu(sb->table_off),
		       8 * le64_to_cpu(sb->nr_extents));
	for (; block; block = base_get(base, block))
		list_block(base, block);
	for (i = 0; i < WORT_MEDIA_NR_HEADS; i += 9)
		base_add(base, WORD_HEAD, WORT_MEDIA_HEADS_OFF +
			 i * sizeof(struct wort_media_head));
	for (i = 0; i < base->nr_lists; i++)
		base_add_range(base, WORD_LIST, base->list[i],
			       base_get(base, base->list[i]) & 0xffff);
}

static u8 *map(u64 size)
{
	u8 *mem = mmap(NULL, size + 2 * PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mem == MAP_FAILED || mprotect(mem, PAGE, PROT_NONE) ||
	    mprotect(mem + PAGE + size, PAGE, PROT_NONE))
		die("cannot map %llu bytes", (unsigned long long)size);
	return mem + PAGE;
}

static void put(struct wort_index *index, const void *key, u32 key_len, u32 len)
{
	static const u8 value[20000] = "value";

	if (pm_put(index, key, key_len, value, len))
		die("cannot put a record");
}

/* Values of each kind, keys that are the beginning of others. */
static void fill_kinds(struct pmpool *pm)
{
	static const struct { const char *key; u32 len; } list[] = {
		{ "apple", 8 }, { "apples", 3 }, { "banana", 5000 },
		{ "apply", 300 }, { "band", 0 }, { "bandana", 2000 },
		{ "mm-x1", 9 }, { "mm-x2", 8 }, { "mn0", 8 }, { "zz", 900 },
		{ "a-long-prefix-in-common-1", 8 }, { "z", 9000 },
		{ "a-long-prefix-in-common-2", 8 }, { "zy", 1100 },
		{ "a-long-prefix-in-commom", 8 }, { "b", 4096 },
	};
	struct wort_index *index = pmpool_index(pm, "kinds");
	u32 i;

	for (i = 0; i < ARRAY_NR(list); i++)
		put(index, list[i].key, strlen(list[i].key), list[i].len);
	wort_index_put(index);
	index = pmpool_index(pm, "pair");
	put(index, "other", 5, 8);
	put(index, "others", 6, 8);
	wort_index_put(index);
	index = pmpool_index(pm, "one");
	put(index, "single", 6, 8);
	wort_index_put(index);
}

/* Integers, dense and scattered: tables of tops, and pairs that scans take. */
static void fill_integers(struct pmpool *pm)
{
	struct wort_index *dense = pmpool_index(pm, "dense");
	struct wort_index *sparse = pmpool_index(pm, "sparse");
	u64 i, key;

	for (i = 1; i <= 150; i++) {
		key = cpu_to_be64(i);
		put(dense, &key, sizeof(key), 8);
		key = i * 0x9e3779b97f4a7c15ULL;
		if (i <= 60)
			put(sparse, &key, sizeof(key), i % 7 ? 8 : 40);
	}
	wort_index_put(dense);
	wort_index_put(sparse);
}

/* Nodes of 10, 18 and 30 children, where nodes select by a byte. */
static void fill_steps(struct pmpool *pm)
{
	static const u32 children[] = { 10, 18, 30 };
	struct wort_index *index = pmpool_index(pm, "steps");
	u64 key;
	u32 node, i;

	for (node = 0; node < ARRAY_NR(children); node++)
		for (i = 0; i < children[node]; i++) {
			key = cpu_to_be64(node << 8 | i);
			put(index, &key, sizeof(key), 8);
		}
	wort_index_put(index);
}

/* More indexes than a block of the catalogue has slots. */
static void fill_indexes(struct pmpool *pm)
{
	struct wort_index *index;
	char name[16];
	u32 i;

	for (i = 0; i < WORT_MEDIA_CATALOGUE_SLOTS + 5; i++) {
		snprintf(name, sizeof(name), "index %u", i);
		index = pmpool_index(pm, name);
		if (i % 8 == 0)
			put(index, name, strlen(name), 8 * i);
		wort_index_put(index);
	}
}

static struct base *making_base;

struct change {
	struct wort_index *index;
	const char *key;
	u32 len;		/* U32_MAX: it is removed */
};

/*
 * A committed batch, as a power cut leaves it; without a head one that was not
 * committed.
 */
static void leave(struct pmpool *pm, u32 head, const struct change *changes, u32 nr)
{
	static const u8 value[5000] = "of a batch";
	struct wort_redo *redo = wort_redo_alloc(WORT_MEDIA_REDO_MAX, GFP_KERNEL);
	struct wort_redo_change change;
	struct wort_op op;
	u64 off;

	for (; nr--; changes++) {
		change = (struct wort_redo_change){
			.index = changes->index->id,
			.key = { (const u8 *)changes->key, strlen(changes->key) },
			.value = { value, changes->len },
			.remove = changes->len == U32_MAX,
		};
		wort_redo_add(redo, &change);
	}
	wort_redo_seal(redo);
	wort_op_begin(&op, &pm->region, &pm->pool->alloc);
	if (wort_alloc_reserve(&op, le32_to_cpu(redo->media.len)))
		die("no space for a list");
	off = wort_alloc_take(&op);
	wort_op_end(&op);
	memcpy(making_base->mem + off, &redo->media, le32_to_cpu(redo->media.len));
	kvfree(redo);
	making_base->list[making_base->nr_lists++] = off;
	if (head < WORT_MEDIA_NR_HEADS)
		base_set(making_base, WORT_MEDIA_HEADS_OFF +
			 head * sizeof(struct wort_media_head), off);
}

/* Batches that have all to do, or nothing; a destroyed index; a value that is a list. */
static void fill_batches(struct pmpool *pm)
{
	struct wort_index *a = pmpool_index(pm, "a"), *b = pmpool_index(pm, "b");
	struct wort_index *gone = pmpool_index(pm, "gone");
	const struct change one[] = {
		{ a, "apple", U32_MAX }, { a, "pear", 8 }, { a, "plum", 300 },
	}, two[] = {
		{ a, "fig", 8 }, { b, "apple", 0 }, { b, "band", U32_MAX },
		{ b, "bandana", 3000 }, { gone, "apple", 8 }, { gone, "x", U32_MAX },
	}, three[] = {
		{ a, "not there", U32_MAX }, { b, "done", 8 },
	};
	u8 copy[200];
	u32 i;

	for (i = 0; i < 12; i++)
		put(i % 2 ? a : b, "abcdefghijkl" + i, 12 - i, i % 3 ? 8 : 100 * i);
	put(a, "apple", 5, 8);
	put(b, "band", 4, 900);
	put(b, "done", 4, 8);
	leave(pm, 0, one, ARRAY_NR(one));
	leave(pm, 9, two, ARRAY_NR(two));
	leave(pm, 63, three, ARRAY_NR(three));
	leave(pm, WORT_MEDIA_NR_HEADS, three, ARRAY_NR(three));
	memcpy(copy, making_base->mem + making_base->list[2], sizeof(copy));
	if (pm_put(b, "list", 4, copy, base_get(making_base, making_base->list[2]) & 0xff))
		die("cannot put a record");
	wort_index_put(a);
	wort_index_put(b);
	wort_index_put(gone);
	if (wort_index_destroy(pm->pool, (const u8 *)"gone", 4))
		die("cannot destroy an index");
}

/* As after growth: the extent table lies in an extent. */
static void move_table(struct base *base)
{
	struct wort_media_sb *sb = base_sb(base);
	u64 from = le64_to_cpu(sb->table_off), nr = le64_to_cpu(sb->nr_extents);
	u64 last = nr - 1, to;
	u32 i;

	while (base_get(base, from + 8 * last))
		last--;
	to = le64_to_cpu(sb->data_off) +
	     (last << le32_to_cpu(sb->extent_shift));
	base_set(base, from + 8 * last, WORT_MEDIA_EXTENT_RUN |
		 1ULL << WORT_MEDIA_EXTENT_LEN_SHIFT);
	memcpy(base->mem + to, base->mem + from, 8 * nr);
	for (i = 0; i < WORT_MEDIA_SB_COPIES; i++) {
		sb = (void *)(base->mem + base->sb_off[i]);
		sb->table_off = cpu_to_le64(to);
		seal_sb(base, base->sb_off[i]);
	}
}

#define ENGINE_FUZZ(symbol, ...)	&engine_fuzz_##symbol,

/* As test_engines[]. */
static const struct engine_fuzz *const engine_fuzzes[] = {
	WORT_ENGINES(ENGINE_FUZZ)
};

static const struct test_engine *making;

static void make(const char *name, void (*fill)(struct pmpool *pm),
		 u32 extent_size, u64 more, bool moved)
{
	struct base *base = &bases[nr_bases++];
	struct pmpool pm;
	u32 i;

	*base = (struct base){
		.name = name, .size = WORT_MEDIA_POOL_MIN + more,
		.engine = making, .rows = engine_fuzzes[making - test_engines],
	};
	base->mem = map(base->size);
	for (i = 0; i < WORT_MEDIA_SB_COPIES; i++)
		base->sb_off[i] = WORT_MEDIA_SB_OFF + i * WORT_MEDIA_SB_SPACE;
	pm.region = (struct wort_region){
		.base = base->mem, .size = WORT_MEDIA_POOL_MIN, .flush = true,
	};
	making_base = base;
	pmpool_format(&pm, extent_size);
	pmpool_attach(&pm);
	fill(&pm);
	pmpool_settle();
	pmpool_detach(&pm);
	if (moved)
		move_table(base);
	list_words(base);
	base->clean = malloc(base->size);
	memcpy(base->clean, base->mem, base->size);
}

void bases_make(const struct test_engine *engine)
{
	making = engine;
	pmpool_engine = engine->id;
	bases = calloc(10, sizeof(*bases));
	make("kinds", fill_kinds, 4096, 0, false);
	make("integers", fill_integers, 4096, 0, false);
	make("steps", fill_steps, 4096, 0, false);
	make("indexes", fill_indexes, 4096, 0, false);
	make("grown", fill_kinds, 4096, 0, true);
	make("smaller than its memory", fill_kinds, 4096, MEMORY_BEHIND, false);
	make("large extents", fill_kinds, 16384, 0, false);
	make("batches", fill_batches, 4096, 0, false);
	make("batches, smaller than their memory", fill_batches, 4096, MEMORY_BEHIND,
	     false);
}
