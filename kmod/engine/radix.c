// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "radix.h"

/**
 * wort_digits_before_far() - As wort_digits_before(), beyond the first word of a key
 * @key: The key.
 * @place: More than WORT_KEY_WORD_DIGITS, less than WORT_KEY_DIGITS.
 *
 * Context: Any context.
 * Return: The sixteen digits before @place.
 */
noinline u64 wort_digits_before_far(const struct wort_key *key, u32 place)
{
	u32 nr = place % WORT_KEY_WORD_DIGITS;
	u64 digits = wort_key_word(key, place - WORT_KEY_WORD_DIGITS);

	return nr ? digits << 4 * nr |
		    wort_key_word(key, place) >> (64 - 4 * nr) : digits;
}
