/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Keys as sequences of 4-bit digits, the high digit of a byte first.
 *
 * A key is padded with zeroes to the maximum length, and four digits with its
 * length follow.  Therefore no key is a prefix of another, any two keys differ
 * in a digit, and the first such digit orders them as their bytes do; if one
 * key is a prefix of the other, the shorter comes first.
 */
#ifndef _WORT_KEY_H
#define _WORT_KEY_H

#include <linux/compiler.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/wort.h>
#include <asm/byteorder.h>

#define WORT_KEY_BYTE_DIGITS	(2 * WORT_KEY_MAX)
#define WORT_KEY_DIGITS		(WORT_KEY_BYTE_DIGITS + 4)

/**
 * struct wort_key - A key in memory
 * @data: its bytes
 * @len: how many, 1 to WORT_KEY_MAX
 */
struct wort_key {
	const u8 *data;
	u32 len;
};

/**
 * struct wort_value - A value in memory
 * @data: its bytes
 * @len: how many, 0 to WORT_VALUE_MAX
 */
struct wort_value {
	const void *data;
	u32 len;
};

/* Is its length 1 to WORT_KEY_MAX? */
static __always_inline bool wort_key_valid(const struct wort_key *key)
{
	return key->len - 1 < WORT_KEY_MAX;
}

/* In the order of bytes, then of lengths: less than 0, 0, or more. */
static inline int wort_key_compare(const struct wort_key *a,
				   const struct wort_key *b)
{
	int diff = memcmp(a->data, b->data, min(a->len, b->len));

	return diff ?: (int)a->len - (int)b->len;
}

/* The digit at @pos, less than WORT_KEY_DIGITS, of a key of @len bytes. */
static inline u32 wort_key_digit(const u8 *key, u32 len, u32 pos)
{
	if (likely(pos / 2 < len))
		return pos % 2 ? key[pos / 2] & 0xf : key[pos / 2] >> 4;
	if (pos < WORT_KEY_BYTE_DIGITS)
		return 0;
	return len >> 4 * (WORT_KEY_DIGITS - 1 - pos) & 0xf;
}

#define WORT_KEY_WORD_DIGITS	16

/* Eight bytes, the first one high. */
static inline u64 wort_bytes_be64(const u8 *bytes)
{
	__be64 word;

	memcpy(&word, bytes, sizeof(word));
	return be64_to_cpu(word);
}

/* Four bytes, the first one high. */
static inline u32 wort_bytes_be32(const u8 *bytes)
{
	__be32 half;

	memcpy(&half, bytes, sizeof(half));
	return be32_to_cpu(half);
}

/* Byte @pos of less than eight, at its place in the word. */
static inline u64 wort_byte_high(const u8 *bytes, u32 pos)
{
	return (u64)bytes[pos] << (56 - 8 * pos);
}

/*
 * One to seven bytes, the first one high, with zeroes behind.  Loads may
 * overlap; bytes that are loaded twice get the same place in the word.
 */
static inline u64 wort_bytes_high(const u8 *bytes, u32 len)
{
	u32 last = len - sizeof(u32);

	if (len < sizeof(u32))
		return wort_byte_high(bytes, 0) |
		       wort_byte_high(bytes, len / 2) |
		       wort_byte_high(bytes, len - 1);
	return (u64)wort_bytes_be32(bytes) << 32 |
	       (u64)wort_bytes_be32(bytes + last) << (32 - 8 * last);
}

/*
 * The aligned sixteen digits of a key among which is @pos, less than
 * WORT_KEY_DIGITS.  It calls no function, so that registers need not be saved.
 */
static inline u64 wort_key_word(const struct wort_key *key, u32 pos)
{
	u32 at = pos / WORT_KEY_WORD_DIGITS * sizeof(u64);

	if (likely(at + sizeof(u64) <= key->len))
		return wort_bytes_be64(key->data + at);
	if (at < key->len)
		return wort_bytes_high(key->data + at, key->len - at);
	return pos < WORT_KEY_BYTE_DIGITS ? 0 : (u64)key->len << 48;
}

/*
 * The eight bytes of a key from @off on, at most its length, with zeroes behind
 * its end.  For keys of eight bytes and more it has no branch that the
 * processor could mispredict.
 */
static __always_inline u64 wort_key_bytes(const struct wort_key *key, u32 off)
{
	u32 at, bits;

	if (likely(key->len >= sizeof(u64))) {
		at = min_t(u32, off, key->len - sizeof(u64));
		bits = 8 * (off - at);
		return wort_bytes_be64(key->data + at) << bits / 2 << bits / 2;
	}
	return off < key->len ? wort_bytes_high(key->data + off, key->len - off) : 0;
}

/* The digit at @pos, from its wort_key_word(). */
static inline u32 wort_word_digit(u64 word, u32 pos)
{
	return word << 4 * pos % 64 >> 60;
}

/*
 * Up to 8 bytes as a word, with zeroes behind.  Mostly there are 8, which takes
 * no call of memcpy().
 */
static inline u64 wort_bytes_word(const void *bytes, u32 len)
{
	u64 word = 0;

	if (likely(len == sizeof(word)))
		memcpy(&word, bytes, sizeof(word));
	else
		memcpy(&word, bytes, len);
	return word;
}

#endif /* _WORT_KEY_H */
