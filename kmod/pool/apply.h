/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Carrying out changes that are committed: a part of an atomic batch, and of
 * what attach does with one that a power cut has interrupted.
 */
#ifndef _WORT_APPLY_H
#define _WORT_APPLY_H

#include "../core/purse.h"
#include "pool.h"
#include "redo.h"

/**
 * struct wort_apply - A change to be carried out
 * @index: the index, held; NULL: it was destroyed
 * @change: what becomes of a key
 * @need: what it needed at most when objects were set aside for it
 * @done: it was carried out, and is durable
 */
struct wort_apply {
	struct wort_index *index;
	struct wort_redo_change change;
	struct wort_need need;
	bool done;
};

int wort_apply_usable(const struct wort_apply *changes, u32 nr);
bool wort_apply_shut(const struct wort_apply *changes, u32 nr);
int wort_apply(struct wort_pool *pool, struct wort_apply *changes, u32 nr,
	       struct wort_purse *purse);

#endif /* _WORT_APPLY_H */
