/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keys as sequences of 4-bit digits, the high one of a byte first.
 *
 * A key is filled up with zeroes to the longest one, and four digits with its
 * length come last.  So no key is the beginning of another, any two differ in
 * a digit, and the first such digit orders them as their bytes do and, where
 * one is the beginning of the other, the shorter first.
 */
#ifndef _WORT_KEY_H
#define _WORT_KEY_H

#include <linux/compiler.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/wort.h>

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

/* The digit at @pos, less than WORT_KEY_DIGITS, of a key of @len bytes. */
static inline u32 wort_key_digit(const u8 *key, u32 len, u32 pos)
{
	if (likely(pos / 2 < len))
		return pos % 2 ? key[pos / 2] & 0xf : key[pos / 2] >> 4;
	if (pos < WORT_KEY_BYTE_DIGITS)
		return 0;
	return len >> 4 * (WORT_KEY_DIGITS - 1 - pos) & 0xf;
}

/*
 * Up to 8 bytes as they would lie in a word, with zeroes behind.  They mostly
 * are 8, and then no copying function needs to be called.
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
