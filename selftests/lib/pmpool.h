/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A pool in plain memory, for tests and benchmarks of the portable layers.
 */
#ifndef _WORT_TEST_PMPOOL_H
#define _WORT_TEST_PMPOOL_H

#include "../../kmod/pool/pool.h"
#include "../../userlib/lib/reader.h"

struct pmpool {
	struct wort_region region;
	struct wort_pool *pool;
	u64 mapped;
};

/* Any failure of these ends the program. */
void pmpool_map(struct pmpool *pm, u64 size, bool huge);
void pmpool_unmap(struct pmpool *pm);
void pmpool_format(struct pmpool *pm, u32 extent_size);
void pmpool_attach(struct pmpool *pm);
void pmpool_detach(struct pmpool *pm);
void pmpool_settle(void);	/* all background work */
/* What pmpool_index() gives new indexes; 0: the default of the module. */
extern u32 pmpool_engine;
extern u64 pmpool_attr;

struct wort_index *pmpool_index(struct pmpool *pm, const char *name);

int pm_put(struct wort_index *index, const void *key, u32 key_len,
	   const void *value, u32 value_len);
int pm_get(struct wort_index *index, const void *key, u32 key_len,
	   void *value, u32 *value_len);
int pm_del(struct wort_index *index, const void *key, u32 key_len);
/* For wort_reader_get(), as if the pool were mapped. */
void pm_reader(struct wort_index *index, struct wort_reader *reader);
/* Append an operation to a batch; returns its length there. */
u32 pm_pack(u8 *at, u16 op, const void *key, u32 key_len, const void *value,
	    u32 value_len);

void die(const char *fmt, ...) __printf(1, 2) __attribute__((noreturn));

/* xorshift64*: the same sequence everywhere for a seed that is not 0 */
static inline u64 test_random(u64 *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dULL;
}

#endif
