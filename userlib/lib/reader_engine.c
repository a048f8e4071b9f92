// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The engines that can be followed in a mapping.
 */
#include "reader_engine.h"

static const struct {
	uint32_t engine;
	wort_reader_find_fn *find;
} readers[] = {
	{ WORT_ENGINE_WORT, wort_reader_find_wort },
	{ WORT_ENGINE_WOART, wort_reader_find_art },
	{ WORT_ENGINE_ART_COW, wort_reader_find_art },
	{ 0, NULL }
};

bool wort_reader_follow(struct wort_reader *r, uint32_t engine)
{
	unsigned int i;

	for (i = 0; readers[i].find; i++)
		if (readers[i].engine == engine)
			r->find = readers[i].find;
	return r->find;
}
