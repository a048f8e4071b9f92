/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Unit tests of the portable layers: checks that count, and a bed to test in.
 */
#ifndef _WORT_TEST_UNIT_H
#define _WORT_TEST_UNIT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <asm/byteorder.h>
#include <linux/slab.h>

#include "../lib/pmpool.h"

#define KIB	1024ULL
#define MIB	(1024ULL * 1024)

/**
 * struct test - A test
 * @name: its name; that of a test of an engine begins with the name of the engine
 * @run: runs it
 * @slow: fills large pools
 * @optional: it is about an optional group of functions of an engine
 * @needs: WORT_TRAIT_* that an engine must have, or the test is left out
 */
struct test {
	const char *name;
	void (*run)(void);
	bool slow;
	bool optional;
	u32 needs;
};

/* options of the command line */
extern u64 unit_seed;
extern u32 unit_extent;		/* 0: as each test likes it */

/* Checks that have failed in the test that runs. */
unsigned long check_failures(void);

/* Counts a check; a failed one prints the place and both values. */
bool unit_check(bool good, const char *file, int line, const char *what,
		long long a, long long b);

#define __CHECK_OP(a, op, b) ({						\
	long long __a = (a), __b = (b);					\
	unit_check(__a op __b, __FILE__, __LINE__, #a " " #op " " #b,	\
		   __a, __b);						\
})

#define CHECK(cond) ({							\
	bool __good = (cond);						\
	unit_check(__good, __FILE__, __LINE__, #cond, __good, 1);	\
})
#define CHECK_EQ(a, b)	__CHECK_OP(a, ==, b)
#define CHECK_NE(a, b)	__CHECK_OP(a, !=, b)
#define CHECK_LE(a, b)	__CHECK_OP(a, <=, b)
#define CHECK_GE(a, b)	__CHECK_OP(a, >=, b)

/**
 * struct bed - A pool with one open index
 * @pm: the pool
 * @index: its index "t"
 * @live: allocations before attach
 */
struct bed {
	struct pmpool pm;
	struct wort_index *index;
	long live;
};

void bed_open(struct bed *bed, u64 size, u32 extent_size);
void bed_close(struct bed *bed);
void bed_detach(struct bed *bed);
void bed_attach(struct bed *bed);
void bed_check(struct bed *bed);
void bed_check_arg(struct bed *bed, u32 flags, struct wort_check_arg *arg);
u32 bed_pool_state(struct bed *bed);
u32 bed_index_state(struct bed *bed);

/* Is the media the same, but for the generation, which attach raises? */
bool media_same(const void *a, const void *b, u64 size);

/* The value that a seed stands for, and comparing two without bytes. */
void value_fill(u8 *buf, u64 seed, u32 len);

/* Integers as keys: eight bytes, big endian. */
static inline void key_u64(u8 *key, u64 n)
{
	u32 i;

	for (i = 0; i < 8; i++)
		key[i] = n >> (56 - 8 * i);
}

void shuffle(u64 *list, u64 n, u64 *rnd);

/* One of the three workloads that counts are told of. */
enum workload {
	WORKLOAD_DENSE, WORKLOAD_SPARSE, WORKLOAD_CLUSTERED, WORKLOAD_NR,
};

/* All of its @n keys, in random order; to be given to free(). */
u64 *workload_keys(enum workload workload, u32 n, u64 seed);

/* Put, remove and look up with every argument that there is. */
int unit_put(struct wort_index *index, const void *key, u32 key_len,
	     const void *value, u32 value_len, u32 flags,
	     const struct wort_value *expect, struct wort_buf *old);

/*
 * As pm_get(), without the pool layer, in its memory alone, if the engine can be mapped;
 * test_reader.c.
 */
int reader_get(struct wort_index *index, const void *key, u32 key_len,
	       void *value, u32 *value_len);
u64 unit_pool_bytes(struct bed *bed);

#endif /* _WORT_TEST_UNIT_H */
