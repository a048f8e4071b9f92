// SPDX-License-Identifier: GPL-2.0-only
#include <linux/kernel.h>
#include <linux/slab.h>

#include "engine.h"

static const struct wort_engine *const engines[] = {
	&wort_engine_wort,
};

/**
 * wort_engine_by_id() - The engine with a number
 * @id: Number as in a catalogue entry.
 *
 * Context: Any context.
 * Return: The engine, or NULL if there is none.
 */
const struct wort_engine *wort_engine_by_id(u32 id)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(engines); i++)
		if (engines[i]->id == id)
			return engines[i];
	return NULL;
}

/**
 * wort_engine_nth() - The engines, one after the other
 * @nr: Counts from 0.
 *
 * Context: Any context.
 * Return: The engine, or NULL if there are not so many.
 */
const struct wort_engine *wort_engine_nth(u32 nr)
{
	return nr < ARRAY_SIZE(engines) ? engines[nr] : NULL;
}

/**
 * wort_engine_cursor() - Memory for a cursor of any engine
 *
 * Context: May sleep.
 * Return: A cursor to be given to kvfree(), or NULL.
 */
struct wort_cursor *wort_engine_cursor(void)
{
	struct wort_cursor *cur;
	size_t size = 0;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(engines); i++)
		size = max(size, engines[i]->cursor_size);
	cur = kvmalloc(sizeof(*cur) + size, GFP_KERNEL | WORT_GFP_CALL);
	if (cur)
		cur->wanted = U32_MAX;
	return cur;
}
