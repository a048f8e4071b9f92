/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Bounds of the ranges of nodes: for trees in which a node has a range of keys,
 * from its anchor up to the separator behind it.
 */
#ifndef _WORT_BOUND_H
#define _WORT_BOUND_H

#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "../core/key.h"

#define WORT_NO_KEY	U32_MAX		/* length of an upper that is no key */

/**
 * struct wort_bound - A copy of a bound
 * @len: its length; WORT_NO_KEY: all keys are below it
 * @bytes: its bytes
 */
struct wort_bound {
	u32 len;
	u8 bytes[WORT_KEY_MAX] __aligned(8);
};

static inline struct wort_key wort_bound_key(const struct wort_bound *bound)
{
	return (struct wort_key){ bound->bytes, bound->len };
}

/* Bytes in common at the beginning; none with no key at all. */
static inline u32 wort_bounds_common(const struct wort_key *low,
				     const struct wort_key *high)
{
	u32 len = high->len == WORT_NO_KEY ? 0 : min(low->len, high->len);
	u32 i = 0;

	while (i < len && low->data[i] == high->data[i])
		i++;
	return i;
}

/* The shortest key that is above @low and not above @high. */
static inline void wort_bound_between(struct wort_bound *sep,
				      const struct wort_key *low,
				      const struct wort_key *high)
{
	sep->len = wort_bounds_common(low, high) + 1;
	memcpy(sep->bytes, high->data, sep->len);
}

/* No key is above it. */
static inline bool wort_key_is_greatest(const struct wort_key *key)
{
	return key->len == WORT_KEY_MAX &&
	       !memchr_inv(key->data, 0xff, WORT_KEY_MAX);
}

#endif /* _WORT_BOUND_H */
