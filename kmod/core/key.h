/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keys as sequences of 4-bit digits.
 */
#ifndef _WORT_KEY_H
#define _WORT_KEY_H

#include <linux/compiler.h>
#include <linux/string.h>
#include <linux/types.h>

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

/* Digits of a key: two a byte, the high one first. */
static inline u32 wort_key_digits(u32 len)
{
	return 2 * len;
}

static inline u32 wort_key_digit(const u8 *key, u32 pos)
{
	u8 byte = key[pos / 2];

	return pos % 2 ? byte & 0xf : byte >> 4;
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
