/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Scans of an index whose atomic batches stay committed and not carried out,
 * because the pool is read-only.
 *
 *	tree	a  b     d     f
 *	lists	   b     -  e		-: removed
 *	scan	a  b        e  f	b: the value of the list
 *
 * A cursor of the index and the changes in the lists move side by side, as a
 * cursor of an engine.  The lists are taken at each seek, and stay to the end
 * of the section: before the cursor looks into the tree, since a list that ends
 * later has left its changes there.
 */
#ifndef _WORT_MERGE_H
#define _WORT_MERGE_H

#include "redo.h"

/**
 * struct wort_merge - What merges an index with redo lists
 * @engine: the functions that do
 * @tree: for cursors: the index with @engine
 * @index: the index
 * @cur: a cursor of its engine
 * @in_tree: @cur is at a record that is not passed
 * @listed: there is a change that is not passed
 * @from_list: the merged cursor is at this change, not at the record
 * @change: the change
 * @nr: lists that answer
 * @redo: the lists, to the end of the section
 */
struct wort_merge {
	struct wort_engine engine;
	struct wort_tree tree;
	struct wort_index *index;
	struct wort_cursor *cur;
	bool in_tree;
	bool listed;
	bool from_list;
	struct wort_redo_change change;
	u32 nr;
	const struct wort_redo *redo[WORT_MEDIA_NR_HEADS];
};

struct wort_merge *wort_merge_alloc(struct wort_index *index);
void wort_merge_free(struct wort_merge *merge);

#endif /* _WORT_MERGE_H */
