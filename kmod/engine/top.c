// SPDX-License-Identifier: GPL-2.0-only
#include <linux/overflow.h>
#include <linux/slab.h>

#include "top.h"

/* One entry, which stays empty: no place is before its end and another behind. */
struct wort_top wort_top_none = {
	.shape.place = WORT_KEY_DIGITS,
	.link = { 0 },
};

/**
 * wort_top_alloc() - Make an empty table
 * @shape: What it shall lead past; it has digits.
 *
 * Context: May sleep, perhaps with locks of the pool.
 * Return: The table, for wort_top_free(), or NULL.
 */
struct wort_top *wort_top_alloc(const struct wort_top_shape *shape)
{
	u32 nr = 1U << 4 * shape->digits;
	struct wort_top *top;

	top = kvzalloc(struct_size(top, link, nr), GFP_NOIO);
	if (!top)
		return NULL;
	top->shape = *shape;
	top->shift = 4 * (WORT_KEY_WORD_DIGITS - shape->place);
	top->mask = nr - 1;
	return top;
}

/**
 * wort_top_free() - Forget a table
 * @top: The table, which nobody looks at any more, or &wort_top_none.
 *
 * Context: May sleep.
 */
void wort_top_free(struct wort_top *top)
{
	if (top != &wort_top_none)
		kvfree(top);
}
