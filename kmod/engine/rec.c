// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Records.
 *
 *	+--------+--------+-----------------+---------------------+
 *	| val    | meta   | key, padded     | value, if inline    |
 *	+--------+--------+-----------------+---------------------+
 *
 * meta never changes while the record lives.  val is the only commit word: a
 * value of at most 8 bytes is replaced there by one of the same length, with
 * one store.  Any other change makes a new record and stores the one word that
 * refers to it.
 *
 * A value that makes the leaf larger than the largest size class is an object
 * of its own, of nothing but its bytes; val is its offset.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "../core/alloc.h"
#include "../core/pmem.h"
#include "rec.h"

static u64 value_start(u32 key_len)
{
	return round_up(sizeof(struct wort_media_leaf) + key_len, 8);
}

static u64 leaf_size(u32 key_len, u32 value_len, u32 kind)
{
	if (kind == WORT_MEDIA_VALUE_INLINE)
		return value_start(key_len) + value_len;
	return sizeof(struct wort_media_leaf) + key_len;
}

static u32 kind_for(const struct wort_alloc *alloc, u32 key_len, u32 value_len)
{
	u64 largest = 1ULL << (alloc->geo.extent_shift - 2);

	if (value_len <= sizeof(__le64))
		return WORT_MEDIA_VALUE_WORD;
	if (value_start(key_len) + value_len <= largest)
		return WORT_MEDIA_VALUE_INLINE;
	return WORT_MEDIA_VALUE_OBJECT;
}

static u64 rec_size(const struct wort_rec *rec)
{
	return leaf_size(rec->key_len, rec->value_len, rec->kind);
}

static const void __pmem *key_at(const struct wort_rec *rec, u32 start)
{
	return (const void __pmem *)rec->leaf + sizeof(*rec->leaf) + start;
}

/* Where a value lies that is not in the word. */
static u64 value_off(const struct wort_rec *rec)
{
	return rec->kind == WORT_MEDIA_VALUE_OBJECT ?
	       rec->val : rec->off + value_start(rec->key_len);
}

/*
 * Find the bytes of such a value before they are read.  The record was
 * verified, which does not ask for bad pages: a value that nobody can read any
 * more can still be replaced and removed.
 */
static int value_find(struct wort_op *op, const struct wort_rec *rec,
		      const void __pmem **value)
{
	u64 off = value_off(rec);

	*value = wort_region_at(op->region, off);
	return wort_region_verify(op->region, off, rec->value_len);
}

/* Lengths and kind in range, and nothing else set. */
static bool parse_meta(struct wort_rec *rec, u64 meta)
{
	rec->key_len = meta & WORT_MEDIA_LEAF_KEY_MASK;
	rec->value_len = meta >> WORT_MEDIA_LEAF_VALUE_SHIFT &
			 WORT_MEDIA_LEAF_VALUE_MASK;
	rec->kind = meta >> WORT_MEDIA_LEAF_KIND_SHIFT &
		    WORT_MEDIA_LEAF_KIND_MASK;
	if (meta & ~WORT_MEDIA_LEAF_META_ALL)
		return false;
	if (!rec->key_len || rec->key_len > WORT_KEY_MAX)
		return false;
	if (rec->kind == WORT_MEDIA_VALUE_WORD)
		return rec->value_len <= sizeof(__le64);
	return rec->kind <= WORT_MEDIA_VALUE_OBJECT &&
	       rec->value_len > sizeof(__le64) &&
	       rec->value_len <= WORT_VALUE_MAX;
}

static int report_outside(struct wort_op *op, u64 off, const char *what,
			  int err)
{
	return err == -EUCLEAN ?
	       wort_corrupt(op, off, "%s outside the pool", what) : err;
}

/**
 * wort_rec_peek_any() - As wort_rec_peek(), whatever leaf it is
 * @op: The operation.
 * @off: Its offset, not trusted.
 * @rec: Filled in.
 *
 * Context: Any context.
 * Return: As wort_rec_peek().
 */
int wort_rec_peek_any(struct wort_op *op, u64 off, struct wort_rec *rec)
{
	u64 meta;
	int err;

	err = wort_region_verify(op->region, off, sizeof(*rec->leaf));
	if (err)
		return report_outside(op, off, "leaf", err);
	rec->leaf = wort_region_at(op->region, off);
	err = wort_pm_probe(op, rec->leaf, sizeof(*rec->leaf));
	if (err)
		return err;
	rec->off = off;
	meta = wort_pm_load(&rec->leaf->meta);
	rec->val = wort_pm_load(&rec->leaf->val);
	wort_pm_flush_in_flight(op, off, off, sizeof(rec->leaf->val));
	wort_count(op, leaves, 1);
	if (!parse_meta(rec, meta))
		return wort_corrupt(op, off, "leaf with meta word %#llx",
				    (unsigned long long)meta);
	err = wort_region_verify(op->region, off,
				 sizeof(*rec->leaf) + rec->key_len);
	if (err)
		return report_outside(op, off, "key", err);
	return wort_pm_probe(op, rec->leaf->key, rec->key_len);
}

/**
 * wort_rec_verify_any() - As wort_rec_verify(), wherever the value is
 * @op: The operation.
 * @rec: The record.
 *
 * Context: Any context.
 * Return: As wort_rec_verify().
 */
int wort_rec_verify_any(struct wort_op *op, const struct wort_rec *rec)
{
	if (wort_region_inside(op->region, value_off(rec), rec->value_len))
		return 0;
	return wort_corrupt(op, rec->off, "value outside the pool");
}

/**
 * wort_rec_reserve_any() - As wort_rec_reserve(), wherever the value will be
 * @op: The operation.
 * @key: The key.
 * @value: The value.
 *
 * Context: As wort_rec_reserve().
 * Return: As wort_rec_reserve().
 */
int wort_rec_reserve_any(struct wort_op *op, const struct wort_key *key,
			 const struct wort_value *value)
{
	u32 kind = kind_for(op->alloc, key->len, value->len);
	int err = 0;

	if (kind == WORT_MEDIA_VALUE_OBJECT)
		err = wort_alloc_reserve(op, value->len);
	if (err)
		return err;
	return wort_alloc_reserve(op, leaf_size(key->len, value->len, kind));
}

/**
 * wort_rec_need() - Tell which objects a new record reserves
 * @alloc: The allocator.
 * @key_len: Length of its key.
 * @value_len: Length of its value.
 * @need: Filled in from its first entry on.
 *
 * Context: Any context.
 */
void wort_rec_need(const struct wort_alloc *alloc, u32 key_len, u32 value_len,
		   struct wort_need *need)
{
	u32 kind = kind_for(alloc, key_len, value_len);

	need->nr = 0;
	if (kind == WORT_MEDIA_VALUE_OBJECT) {
		need->of[need->nr].size = value_len;
		need->of[need->nr++].count = 1;
	}
	need->of[need->nr].size = leaf_size(key_len, value_len, kind);
	need->of[need->nr++].count = 1;
}

static u64 object_create(struct wort_op *op, const struct wort_value *value)
{
	u64 off = wort_alloc_take(op);

	wort_pm_write(op, wort_region_at(op->region, off), value->data,
		      value->len);
	wort_pm_flush(op, wort_region_at(op->region, off), value->len);
	return off;
}

/**
 * wort_rec_create_any() - As wort_rec_create(), wherever the value will be
 * @op: The operation.
 * @key: The key.
 * @value: The value.
 *
 * Context: As wort_rec_create().
 * Return: As wort_rec_create().
 */
u64 wort_rec_create_any(struct wort_op *op, const struct wort_key *key,
			const struct wort_value *value)
{
	u32 kind = kind_for(op->alloc, key->len, value->len);
	struct wort_media_leaf __pmem *leaf;
	u64 off, val = 0;

	if (kind == WORT_MEDIA_VALUE_OBJECT)
		val = object_create(op, value);
	off = wort_rec_write(op, key, value->len, kind, val);
	leaf = wort_region_at(op->region, off);
	if (kind == WORT_MEDIA_VALUE_INLINE)
		wort_pm_write(op, (void __pmem *)leaf + value_start(key->len),
			      value->data, value->len);
	wort_pm_flush(op, leaf, leaf_size(key->len, value->len, kind));
	return off;
}

/**
 * wort_rec_free() - Give back a record that is durably unlinked
 * @op: The operation.
 * @rec: The record.
 *
 * Context: May sleep.
 * Return: 0 or -EUCLEAN.
 */
int wort_rec_free(struct wort_op *op, const struct wort_rec *rec)
{
	int err = wort_alloc_free(op, rec->off, rec_size(rec));

	if (!err && rec->kind == WORT_MEDIA_VALUE_OBJECT)
		err = wort_alloc_free(op, rec->val, rec->value_len);
	return err;
}

/**
 * wort_rec_updatable() - Can a value be replaced by one store?
 * @rec: The record.
 * @value: Its new value.
 *
 * Return: True if wort_value_word() of it may be stored to the value word.
 */
bool wort_rec_updatable(const struct wort_rec *rec,
			const struct wort_value *value)
{
	return rec->kind == WORT_MEDIA_VALUE_WORD &&
	       rec->value_len == value->len;
}

/**
 * wort_rec_renew() - Read the value of a record again
 * @rec: The record.
 *
 * Context: Any context.  If the unit of the record is locked, the value stays.
 * Return: True if it is still what it was.
 */
bool wort_rec_renew(struct wort_rec *rec)
{
	u64 was = rec->val;

	rec->val = wort_pm_load(&rec->leaf->val);
	return rec->val == was;
}

/* A byte of the key, or of the zeroes behind it. */
static u8 rec_byte(const struct wort_rec *rec, u32 pos)
{
	return pos < rec->key_len ? wort_pm_load_byte(key_at(rec, pos)) : 0;
}

/**
 * wort_rec_common_any() - As wort_rec_common(), whatever lengths
 * @op: The operation.
 * @rec: The record.
 * @key: The key.
 *
 * Context: Any context.
 * Return: As wort_rec_common().
 */
u32 wort_rec_common_any(struct wort_op *op, const struct wort_rec *rec,
			const struct wort_key *key)
{
	u32 pos = wort_pm_common(&op->n, key_at(rec, 0), key->data,
				 min_t(u32, rec->key_len, key->len));
	u8 differs;

	/* A key that has ended goes on with zeroes, and then its length. */
	for (; pos < max_t(u32, rec->key_len, key->len); pos++) {
		differs = rec_byte(rec, pos) ^
			  (pos < key->len ? key->data[pos] : 0);
		if (differs)
			return 2 * pos + (differs < 16);
	}
	if (rec->key_len == key->len)
		return WORT_KEY_DIGITS;
	return WORT_KEY_DIGITS - 1 - (fls(rec->key_len ^ key->len) - 1) / 4;
}

/**
 * wort_rec_digit() - A digit of the key
 * @rec: The record.
 * @pos: Which; less than WORT_KEY_DIGITS.
 *
 * Context: Any context.
 * Return: The digit.
 */
u32 wort_rec_digit(const struct wort_rec *rec, u32 pos)
{
	u8 byte;

	if (pos / 2 >= rec->key_len)
		return wort_key_digit(NULL, rec->key_len, pos);
	byte = wort_pm_load_byte(key_at(rec, pos / 2));
	return wort_key_digit(&byte, 1, pos % 2);
}

/**
 * wort_rec_is() - Is this the record of a key?
 * @op: The operation.
 * @rec: The record.
 * @key: The key.
 *
 * Context: Any context.
 * Return: True if it is.
 */
bool wort_rec_is(struct wort_op *op, const struct wort_rec *rec,
		 const struct wort_key *key)
{
	return rec->key_len == key->len &&
	       wort_pm_equal(op, key_at(rec, 0), key->data, key->len);
}

/**
 * wort_rec_value() - Copy the value
 * @op: The operation.
 * @rec: The record.
 * @buf: Where to.
 *
 * Context: Any context.
 * Return: 0; -ERANGE if it does not fit; -EIO.
 */
int wort_rec_value(struct wort_op *op, const struct wort_rec *rec,
		   struct wort_buf *buf)
{
	const void __pmem *value;

	if (rec->kind == WORT_MEDIA_VALUE_WORD)
		return wort_rec_copy_word(buf, rec->val, rec->value_len);
	buf->len = rec->value_len;
	if (rec->value_len > buf->size)
		return -ERANGE;
	return value_find(op, rec, &value) ?:
	       wort_pm_read(op, buf->data, value, rec->value_len);
}

/**
 * wort_rec_lookup() - Copy the value of a record if it is that of a key
 * @op: The operation.
 * @off: The offset of its leaf, not trusted.
 * @key: The key.
 * @buf: Where to.
 *
 * Context: Any context.
 * Return: 0; -ENOENT if it is of another key; what wort_rec_open() and
 * wort_rec_value() return.
 */
int wort_rec_lookup(struct wort_op *op, u64 off, const struct wort_key *key,
		    struct wort_buf *buf)
{
	struct wort_rec rec;
	int err = wort_rec_open(op, off, &rec);

	if (err)
		return err;
	return wort_rec_is(op, &rec, key) ? wort_rec_value(op, &rec, buf) :
					    -ENOENT;
}

/**
 * wort_rec_look_other() - Is a record with a value in its word of another key?
 * @region: The region.
 * @off: The offset of its leaf, a multiple of 8, not trusted otherwise.
 * @key: The key.
 *
 * Context: Any context.
 * Return: The lines of the leaf that were read beyond the first; -EAGAIN:
 * wort_rec_lookup() has to look.
 */
int wort_rec_look_other(const struct wort_region *region, u64 off,
			const struct wort_key *key)
{
	const struct wort_media_leaf __pmem *leaf;
	struct wort_counts n = { };
	struct wort_rec rec;

	if (off >= wort_region_plain(region))
		return -EAGAIN;
	leaf = wort_region_at(region, off);
	if (!parse_meta(&rec, wort_pm_load(&leaf->meta)) ||
	    rec.kind != WORT_MEDIA_VALUE_WORD)
		return -EAGAIN;
	if (rec.key_len != key->len)
		return 0;
	return wort_pm_common(&n, leaf->key, key->data, key->len) < key->len ?
	       (int)n.more_loads : -EAGAIN;
}

/**
 * wort_rec_expect() - Look at the value before it is changed
 * @op: The operation.
 * @rec: The record.
 * @expect: The value expected; NULL: any.
 * @old: Where the value goes, also one that is not expected; NULL: nowhere.
 *
 * Context: Any context.
 * Return: 0; -ECANCELED; -ERANGE if it does not fit; -EIO.
 */
int wort_rec_expect(struct wort_op *op, const struct wort_rec *rec,
		    const struct wort_value *expect, struct wort_buf *old)
{
	int err = old ? wort_rec_value(op, rec, old) : 0;
	const void __pmem *value;

	if (err || !expect)
		return err;
	if (rec->value_len != expect->len)
		return -ECANCELED;
	if (rec->kind == WORT_MEDIA_VALUE_WORD)
		return rec->val == wort_value_word(expect) ? 0 : -ECANCELED;
	if (value_find(op, rec, &value) ||
	    wort_pm_probe(op, value, expect->len))
		return -EIO;
	return wort_pm_common(&op->n, value, expect->data, expect->len) ==
	       expect->len ? 0 : -ECANCELED;
}

/**
 * wort_rec_visit() - Tell about the objects of a record
 * @op: The operation.
 * @rec: The record.
 * @visitor: Whom to tell.
 *
 * Return: 0 or what the visitor returns.
 */
int wort_rec_visit(struct wort_op *op, const struct wort_rec *rec,
		   struct wort_visitor *visitor)
{
	int err = visitor->visit(visitor, op, rec->off, rec_size(rec), true);

	if (!err && rec->kind == WORT_MEDIA_VALUE_OBJECT)
		err = visitor->visit(visitor, op, rec->val, rec->value_len,
				     true);
	return err;
}
