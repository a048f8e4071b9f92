/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records: the leaf that carries a key and its value.
 */
#ifndef _WORT_REC_H
#define _WORT_REC_H

#include "engine.h"

/**
 * struct wort_rec - A leaf whose words have been verified
 * @leaf: the leaf
 * @off: its offset
 * @val: its value word
 * @value_len: length of its value
 * @key_len: length of its key
 * @kind: where its value is, WORT_MEDIA_VALUE_*
 */
struct wort_rec {
	struct wort_media_leaf __pmem *leaf;
	u64 off;
	u64 val;
	u32 value_len;
	u16 key_len;
	u8 kind;
};

int wort_rec_peek(struct wort_op *op, u64 off, struct wort_rec *rec);
int wort_rec_verify(struct wort_op *op, const struct wort_rec *rec);
int wort_rec_open(struct wort_op *op, u64 off, struct wort_rec *rec);
int wort_rec_reserve(struct wort_op *op, const struct wort_key *key,
		     const struct wort_value *value);
u64 wort_rec_create(struct wort_op *op, const struct wort_key *key,
		    const struct wort_value *value);
int wort_rec_free(struct wort_op *op, const struct wort_rec *rec);
bool wort_rec_updatable(const struct wort_rec *rec,
			const struct wort_value *value);
bool wort_rec_renew(struct wort_rec *rec);
u64 wort_value_word(const struct wort_value *value);
u32 wort_rec_common(struct wort_op *op, const struct wort_rec *rec,
		    const struct wort_key *key);
bool wort_rec_is(struct wort_op *op, const struct wort_rec *rec,
		 const struct wort_key *key);
u32 wort_rec_digit(const struct wort_rec *rec, u32 pos);
int wort_rec_key(struct wort_op *op, const struct wort_rec *rec, u8 *buf,
		 u32 start, u32 len);
int wort_rec_value(struct wort_op *op, const struct wort_rec *rec,
		   struct wort_buf *buf);
int wort_rec_expect(struct wort_op *op, const struct wort_rec *rec,
		    const struct wort_value *expect, struct wort_buf *old);
int wort_rec_visit(struct wort_op *op, const struct wort_rec *rec,
		   struct wort_visitor *visitor);

#endif /* _WORT_REC_H */
