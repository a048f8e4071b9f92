/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Records: the leaf that holds a key and its value.
 */
#ifndef _WORT_REC_H
#define _WORT_REC_H

#include "../core/alloc.h"
#include "../core/pmem.h"
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

int wort_rec_peek_any(struct wort_op *op, u64 off, struct wort_rec *rec);
int wort_rec_verify_any(struct wort_op *op, const struct wort_rec *rec);
int wort_rec_reserve_any(struct wort_op *op, const struct wort_key *key,
			 const struct wort_value *value);
void wort_rec_need(const struct wort_alloc *alloc, u32 key_len, u32 value_len,
		   struct wort_need *need);
u64 wort_rec_create_any(struct wort_op *op, const struct wort_key *key,
			const struct wort_value *value);
int wort_rec_free(struct wort_op *op, const struct wort_rec *rec);
bool wort_rec_updatable(const struct wort_rec *rec,
			const struct wort_value *value);
bool wort_rec_renew(struct wort_rec *rec);
u32 wort_rec_common_any(struct wort_op *op, const struct wort_rec *rec,
			const struct wort_key *key);
bool wort_rec_is(struct wort_op *op, const struct wort_rec *rec,
		 const struct wort_key *key);
u32 wort_rec_digit(const struct wort_rec *rec, u32 pos);
int wort_rec_value(struct wort_op *op, const struct wort_rec *rec,
		   struct wort_buf *buf);
int wort_rec_lookup(struct wort_op *op, u64 off, const struct wort_key *key,
		    struct wort_buf *buf);
int wort_rec_look_other(const struct wort_region *region, u64 off,
			const struct wort_key *key);
int wort_rec_expect(struct wort_op *op, const struct wort_rec *rec,
		    const struct wort_value *expect, struct wort_buf *old);
int wort_rec_visit(struct wort_op *op, const struct wort_rec *rec,
		   struct wort_visitor *visitor);

/**
 * wort_value_word() - A short value as the word that holds it
 * @value: The value, of 8 bytes at most.
 *
 * Context: Any context.
 * Return: The word in the byte order of the processor.
 */
static __always_inline u64 wort_value_word(const struct wort_value *value)
{
	u64 word = wort_bytes_word(value->data, value->len);

	return le64_to_cpu((__force __le64)word);
}

/**
 * wort_rec_reserve() - Reserve the objects of a new record
 * @op: The operation.
 * @key: Its key.
 * @value: Its value.
 *
 * Context: May sleep.
 * Return: 0, -ENOSPC or -ENOMEM.
 */
static __always_inline int wort_rec_reserve(struct wort_op *op,
					    const struct wort_key *key,
					    const struct wort_value *value)
{
	if (unlikely(value->len > sizeof(u64)))
		return wort_rec_reserve_any(op, key, value);
	return wort_alloc_reserve(op,
				  sizeof(struct wort_media_leaf) + key->len);
}

/* Write a leaf with its key, without a flush.  Returns its offset. */
static __always_inline u64 wort_rec_write(struct wort_op *op,
					  const struct wort_key *key,
					  u64 value_len, u64 kind, u64 val)
{
	u64 off = wort_alloc_take(op);
	struct wort_media_leaf __pmem *leaf = wort_region_at(op->region, off);

	wort_pm_store(op, &leaf->val, val);
	wort_pm_store(op, &leaf->meta,
		      key->len | value_len << WORT_MEDIA_LEAF_VALUE_SHIFT |
		      kind << WORT_MEDIA_LEAF_KIND_SHIFT);
	wort_pm_write(op, leaf->key, key->data, key->len);
	return off;
}

/**
 * wort_rec_create() - Write a record that is not reachable yet
 * @op: The operation, which has called wort_rec_reserve().
 * @key: Its key.
 * @value: Its value.
 *
 * Flushes the record; does not fence.
 *
 * Context: Any context.
 * Return: Its offset.
 */
static __always_inline u64 wort_rec_create(struct wort_op *op,
					   const struct wort_key *key,
					   const struct wort_value *value)
{
	u64 off;

	if (unlikely(value->len > sizeof(u64)))
		return wort_rec_create_any(op, key, value);
	off = wort_rec_write(op, key, value->len, WORT_MEDIA_VALUE_WORD,
			     wort_value_word(value));
	wort_pm_flush(op, wort_region_at(op->region, off),
		      sizeof(struct wort_media_leaf) + key->len);
	return off;
}

/**
 * wort_rec_peek() - Read the head of a leaf, without verifying its value
 * @op: The operation.
 * @off: Its offset, a multiple of 8, untrusted otherwise.
 * @rec: Filled in; its value must not be accessed.
 *
 * Context: Any context.
 * Return: 0; -EUCLEAN if it is not inside the region or its meta word is
 * invalid; -EIO.
 */
static __always_inline int wort_rec_peek(struct wort_op *op, u64 off,
					 struct wort_rec *rec)
{
	struct wort_media_leaf __pmem *leaf;
	u64 meta, key_len, value_len;

	if (off >= wort_region_plain(op->region))
		return wort_rec_peek_any(op, off, rec);
	leaf = wort_region_at(op->region, off);
	meta = wort_pm_load(&leaf->meta);
	key_len = meta & WORT_MEDIA_LEAF_KEY_MASK;
	value_len = meta >> WORT_MEDIA_LEAF_VALUE_SHIFT;
	if (value_len > sizeof(leaf->val) || key_len - 1 >= WORT_KEY_MAX ||
	    meta != (key_len | value_len << WORT_MEDIA_LEAF_VALUE_SHIFT))
		return wort_rec_peek_any(op, off, rec);
	*rec = (struct wort_rec){
		.leaf = leaf, .off = off, .val = wort_pm_load(&leaf->val),
		.value_len = value_len, .key_len = key_len,
	};
	wort_pm_flush_in_flight(op, off, off, sizeof(leaf->val));
	wort_count(op, leaves, 1);
	return 0;
}

/**
 * wort_rec_verify() - Is the value inside the region, too?
 * @op: The operation.
 * @rec: A record that wort_rec_peek() filled in.
 *
 * The value may lie on a bad page: wort_rec_value() and wort_rec_expect(),
 * which read it, check that.
 *
 * Context: Any context.
 * Return: 0; -EUCLEAN if it is not.
 */
static inline int wort_rec_verify(struct wort_op *op,
				  const struct wort_rec *rec)
{
	return likely(rec->kind == WORT_MEDIA_VALUE_WORD) ?
	       0 : wort_rec_verify_any(op, rec);
}

/**
 * wort_rec_open() - Read the head of a leaf
 * @op: The operation.
 * @off: Its offset, as for wort_rec_peek().
 * @rec: Filled in.
 *
 * Context: Any context.
 * Return: 0, or what wort_rec_peek() and wort_rec_verify() return.
 */
static __always_inline int wort_rec_open(struct wort_op *op, u64 off,
					 struct wort_rec *rec)
{
	return wort_rec_peek(op, off, rec) ?: wort_rec_verify(op, rec);
}

/**
 * wort_rec_common() - Digits that a record shares with a key
 * @op: The operation.
 * @rec: The record.
 * @key: The key.
 *
 * Context: Any context.
 * Return: The number of leading digits in common; WORT_KEY_DIGITS if it is the
 * record of the key.
 */
static __always_inline u32 wort_rec_common(struct wort_op *op,
					   const struct wort_rec *rec,
					   const struct wort_key *key)
{
	u64 differ;

	if (rec->key_len != sizeof(u64) || key->len != sizeof(u64))
		return wort_rec_common_any(op, rec, key);
	differ = wort_pm_load_be64(rec->leaf->key) ^ wort_bytes_be64(key->data);
	return differ ? (64 - fls64(differ)) / 4 : WORT_KEY_DIGITS;
}

/**
 * wort_rec_key() - Copy the key
 * @op: The operation.
 * @rec: The record.
 * @buf: Where to: room for whole words.
 *
 * Context: Any context.
 * Return: 0 or -EIO.
 */
static __always_inline int wort_rec_key(struct wort_op *op,
					const struct wort_rec *rec, void *buf)
{
	return wort_pm_read_words(op, buf, rec->leaf->key, rec->key_len);
}

/**
 * wort_rec_digits() - The first sixteen digits of the key
 * @rec: The record.
 *
 * Context: Any context.
 * Return: As wort_key_word() of the first.
 */
static inline u64 wort_rec_digits(const struct wort_rec *rec)
{
	u64 word = wort_pm_load_be64(rec->leaf->key);

	return rec->key_len < sizeof(word) ?
	       word & ~0ULL << (64 - 8 * rec->key_len) : word;
}

/**
 * wort_rec_copy_word() - Copy a value that is in the word
 * @buf: Where to.
 * @val: The word.
 * @len: Length of the value, 8 at most.
 *
 * Context: Any context.
 * Return: 0; -ERANGE if it does not fit.
 */
static __always_inline int wort_rec_copy_word(struct wort_buf *buf, u64 val,
					      u32 len)
{
	__le64 word = cpu_to_le64(val);

	buf->len = len;
	if (len > buf->size)
		return -ERANGE;
	if (likely(len == sizeof(word)))
		memcpy(buf->data, &word, sizeof(word));
	else
		memcpy(buf->data, &word, len);
	return 0;
}

/* The only valid meta word of a record with a value of eight bytes. */
static inline u64 wort_rec_word_meta(u32 key_len)
{
	return key_len | sizeof(u64) << WORT_MEDIA_LEAF_VALUE_SHIFT;
}

/**
 * wort_rec_look() - Copy the value of a record if that is a word, and the key matches
 * @leaf: Its leaf, below wort_region.plain, but otherwise untrusted.
 * @key: The key.
 * @len: Its length, which the compiler may know as a constant.
 * @word: wort_key_word() of its first digit.
 * @buf: Where to.
 *
 * Context: Any context.
 * Return: The lines of the leaf that were read beyond the first; -ENOENT if the
 * key is another one; -EAGAIN: the caller must use wort_rec_look_other() or
 * wort_rec_lookup(); -ERANGE if the value does not fit.
 */
static __always_inline int
wort_rec_look(const struct wort_media_leaf __pmem *leaf,
	      const struct wort_key *key, u32 len, u64 word,
	      struct wort_buf *buf)
{
	if (wort_pm_load(&leaf->meta) != wort_rec_word_meta(len))
		return -EAGAIN;
	if (likely(len == sizeof(word)))
		return wort_pm_load_be64(leaf->key) == word ?
		       wort_rec_copy_word(buf, wort_pm_load(&leaf->val), sizeof(u64)) :
		       -ENOENT;
	if (!wort_pm_equal_bytes(leaf->key, key->data, len))
		return -EAGAIN;
	return wort_rec_copy_word(buf, wort_pm_load(&leaf->val), sizeof(u64)) ?:
	       (int)wort_pm_more_lines(leaf->key, len);
}

#endif /* _WORT_REC_H */
