/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an index should hold: an array in order.
 */
#ifndef _WORT_TEST_MODEL_H
#define _WORT_TEST_MODEL_H

#include "../engines/unit.h"

struct model_rec {
	u8 *key;
	u32 key_len;
	u32 value_len;
	u64 value_seed;
};

struct model {
	struct model_rec *recs;
	u32 nr;
	u32 size;
};

/* A put in terms of seeds. */
struct model_put {
	const u8 *key;
	u32 key_len;
	u32 value_len;
	u64 value_seed;
	bool has_expect;
	u32 expect_len;
	u64 expect_seed;
	u32 flags;
};

int model_cmp(const u8 *a, u32 a_len, const u8 *b, u32 b_len);
u32 model_find(const struct model *model, const u8 *key, u32 len, bool *found);
int model_put_err(const struct model *model, const struct model_put *put);
void model_put(struct model *model, const struct model_put *put);
int model_del_err(const struct model *model, const struct model_put *del);
void model_del(struct model *model, const u8 *key, u32 len);
void model_free(struct model *model);
void model_compare(const struct model *model, struct wort_index *index);
void model_check_scan(const struct model *model, const struct wort_scan *scan,
		      int err);

/* kinds of keys; each draws from some hundreds or thousands */
enum keygen {
	KEYS_DENSE, KEYS_SPARSE, KEYS_CLUSTERED, KEYS_WORDS, KEYS_LIMITS,
	KEYS_FILL, KEYS_CHAIN, KEYS_SHARED, KEYS_TINY, KEYS_NR,
};

u32 keygen(enum keygen kind, u64 *rnd, u8 *key);

#endif /* _WORT_TEST_MODEL_H */
