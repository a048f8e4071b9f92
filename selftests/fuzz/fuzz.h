/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The image fuzzer: sound images, what is changed in them, and what is done with
 * the result.
 */
#ifndef _WORT_TEST_FUZZ_H
#define _WORT_TEST_FUZZ_H

#include <asm/byteorder.h>
#include <linux/slab.h>

#include "../engines/engines.h"
#include "../lib/pmpool.h"

#define ARRAY_NR(array)		(sizeof(array) / sizeof((array)[0]))

/* Where memory is bad is known by the page, and so is what nobody may touch. */
#define PAGE		4096

#define MEMORY_BEHIND	(64U << 10)	/* a pool that is smaller than its memory */

/**
 * enum word_kind - What a word of an image is
 * @WORD_LINK: refers to a node or a leaf
 * @WORD_NONE: a slot of a node, or a root, that is empty
 * @WORD_META: lengths and kind of a record
 * @WORD_VALUE: a value, or what refers to one
 * @WORD_KEY: bytes of a key
 * @WORD_TABLE: of the extent table
 * @WORD_BLOCK: of a catalogue block
 * @WORD_ENTRY: of a catalogue entry
 * @WORD_SB: of a copy of the superblock
 * @WORD_HEAD: a head of an atomic batch, set or 0
 * @WORD_LIST: of a redo list
 */
enum word_kind {
	WORD_LINK, WORD_NONE, WORD_META, WORD_VALUE, WORD_KEY, WORD_TABLE,
	WORD_BLOCK, WORD_ENTRY, WORD_SB, WORD_HEAD, WORD_LIST, WORD_NR,
};

#define MAX_WORDS	4096
#define MAX_ENTRIES	128
#define MAX_LISTS	8

/**
 * struct base - A sound image, and where its words are
 * @name: for people
 * @mem: the region, with memory before and after it that nobody may touch
 * @size: bytes of the region; the pool may have fewer
 * @clean: the image as it was made
 * @sb_off: offsets of the copies of the superblock
 * @entry: offsets of catalogue entries
 * @list: offsets of redo lists, with a head and without
 * @word: offsets of words, by kind
 * @nr: how many there are
 * @engine: the engine of its indexes
 * @rows: what is known of that
 */
struct base {
	const char *name;
	u8 *mem;
	u64 size;
	u8 *clean;
	u64 sb_off[WORT_MEDIA_SB_COPIES];
	u64 entry[MAX_ENTRIES];
	u32 nr_entries;
	u64 list[MAX_LISTS];
	u32 nr_lists;
	u64 word[WORD_NR][MAX_WORDS];
	u32 nr[WORD_NR];
	const struct test_engine *engine;
	const struct engine_fuzz *rows;
};

extern struct base *bases;
extern u32 nr_bases;

/* base.c */
void bases_make(const struct test_engine *engine);
/* One word, or so many bytes of them, is of that kind. */
void base_add(struct base *base, enum word_kind kind, u64 off);
void base_add_range(struct base *base, enum word_kind kind, u64 off, u32 len);
struct wort_media_sb *base_sb(struct base *base);
u64 base_get(const struct base *base, u64 off);
void base_set(struct base *base, u64 off, u64 val);
void base_restore(struct base *base);
void seal_entry(struct base *base, u64 off);
void seal_sb(struct base *base, u64 off);
void seal_list(struct base *base, u64 off);

/**
 * struct fuzz - A run: one image, changed, and what is done with it
 * @rnd: its random numbers
 * @base: the image
 * @say: tell what is done
 * @region: its memory
 * @pool: the pool, if it is attached
 * @live: allocations before
 * @armed: an allocation is going to fail
 * @dropped: a check has dropped references to what cannot be read
 * @changes: words changed
 * @changed: offsets of these
 * @end: of the pool
 * @tried: steps were done before check
 */
struct fuzz {
	u64 rnd;
	struct base *base;
	bool say;
	struct wort_region region;
	struct wort_pool *pool;
	long live;
	bool armed;
	bool dropped;
	u32 changes;
	u64 changed[16];
	u64 end;
	bool tried;
};

static inline u32 draw(struct fuzz *f, u32 nr)
{
	return (test_random(&f->rnd) >> 16) % nr;
}

static inline bool one_in(struct fuzz *f, u32 nr)
{
	return !draw(f, nr);
}

/* mutate.c */
void mutate(struct fuzz *f);
/* Some word of a kind; a word; another one instead. */
u64 fuzz_word(struct fuzz *f, enum word_kind kind);
u64 fuzz_get(struct fuzz *f, u64 off);
void fuzz_set(struct fuzz *f, u64 off, u64 val);
/* An offset: of an object, near the end of something, or of nothing. */
u64 fuzz_off(struct fuzz *f);
u64 fuzz_nearby(struct fuzz *f, u64 val);

/* run.c */
enum outcome { RUN_REFUSED, RUN_DAMAGED, RUN_CLEAN };

enum outcome run(struct fuzz *f);

/* main.c */
__printf(2, 3) __attribute__((noreturn)) void finding(struct fuzz *f,
						      const char *fmt, ...);
__printf(2, 3) void say(const struct fuzz *f, const char *fmt, ...);

/* model.c */
struct model;

struct bytes {
	const u8 *data;
	u32 len;
};

struct record {
	struct bytes key;
	struct bytes value;
};

#define MODEL_RECORDS	1024

/**
 * struct model - What an index has to hold
 * @index: the index, held; NULL if it is destroyed
 * @name: its name
 * @name_len: length of that
 * @nr: number of records
 * @rec: records in order
 */
struct model {
	struct wort_index *index;
	u8 name[WORT_NAME_MAX];
	u32 name_len;
	u32 nr;
	struct record rec[MODEL_RECORDS];
};

#define MAX_MODELS	(MAX_ENTRIES + 32)

extern struct model models[MAX_MODELS];
extern u32 nr_models;

void models_reset(void);
u8 *model_bytes(u32 len);	/* memory until the next reset; NULL: full */
bool model_room(const struct model *model);
u32 model_find(const struct model *model, struct bytes key, bool *found);
void model_put(struct model *model, struct bytes key, struct bytes value);
void model_del(struct model *model, struct bytes key);
int model_load(struct fuzz *f, struct model *model);
void model_compare(struct fuzz *f, struct model *model, bool reverse);

#endif /* _WORT_TEST_FUZZ_H */
