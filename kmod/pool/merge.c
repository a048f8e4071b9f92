// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "gate.h"
#include "merge.h"

static struct wort_merge *merge_of(const struct wort_cursor *cur)
{
	return container_of(cur->tree, struct wort_merge, tree);
}

static struct wort_key key_at(const struct wort_cursor *cur)
{
	return (struct wort_key){ cur->key, cur->key_len };
}

/* Where a key lies from another one, in the direction of a cursor. */
static int compare(const struct wort_merge *m, const struct wort_key *a,
		   const struct wort_key *b)
{
	int diff = wort_key_compare(a, b);

	return m->cur->reverse ? -diff : diff;
}

static void take_lists(struct wort_merge *m)
{
	struct wort_gates *gates = m->index->pool->gates;
	const struct wort_redo *redo;
	u32 i;

	m->nr = 0;
	for (i = 0; i < WORT_MEDIA_NR_HEADS; i++) {
		redo = rcu_dereference(gates->redo[i]);
		/* pairs with the release in wort_redo_answer() */
		if (redo && smp_load_acquire(&redo->answers))
			m->redo[m->nr++] = redo;
	}
}

/*
 * Find the change that is next to a key, or has it with @equal; without a key
 * the first one.  They are few, so each list is read.
 */
static void find_change(struct wort_merge *m, const struct wort_key *key,
			bool equal)
{
	struct wort_redo_change change;
	u32 i, at;
	int diff;

	m->listed = false;
	for (i = 0; i < m->nr; i++)
		for (at = 0; (at = wort_redo_next(m->redo[i], at, &change)); ) {
			if (change.index != m->index->id)
				continue;
			diff = key ? compare(m, &change.key, key) : 1;
			if (diff < 0 || (!diff && !equal))
				continue;
			if (m->listed &&
			    compare(m, &change.key, &m->change.key) > 0)
				continue;
			m->change = change;
			m->listed = true;
		}
}

static void pass_change(struct wort_merge *m)
{
	const struct wort_key key = m->change.key;

	find_change(m, &key, false);
}

/*
 * How a move of the cursor in the tree has ended; an end of the tree is no
 * error.
 */
static int moved(struct wort_merge *m, int err)
{
	m->in_tree = !err;
	return err == -ENOENT ? 0 : err;
}

static int pass_record(struct wort_merge *m)
{
	return moved(m, m->index->tree.engine->next(m->cur));
}

/* Which of the two comes first?  A record that a list has changed is passed. */
static int choose(struct wort_merge *m)
{
	struct wort_key key;
	int err, diff;

	while (m->listed) {
		key = key_at(m->cur);
		diff = m->in_tree ? compare(m, &key, &m->change.key) : 1;
		if (diff < 0)
			break;
		err = diff ? 0 : pass_record(m);
		if (err)
			return err;
		m->from_list = true;
		if (!m->change.remove)
			return 0;
		pass_change(m);
	}
	m->from_list = false;
	return m->in_tree ? 0 : -ENOENT;
}

/* Put the merged cursor to what comes first. */
static int settle(struct wort_merge *m, struct wort_cursor *cur)
{
	struct wort_key key;
	int err = choose(m);

	if (err)
		return err;
	key = m->from_list ? m->change.key : key_at(m->cur);
	memcpy(cur->key, key.data, key.len);
	cur->key_len = key.len;
	cur->value_len = m->from_list ? m->change.value.len : m->cur->value_len;
	return 0;
}

static int merge_seek(struct wort_cursor *cur, const struct wort_key *key)
{
	struct wort_merge *m = merge_of(cur);
	int err;

	m->cur->op = cur->op;
	m->cur->tree = &m->index->tree;
	m->cur->reverse = cur->reverse;
	m->cur->wanted = U32_MAX;
	take_lists(m);
	find_change(m, key, true);
	err = moved(m, m->index->tree.engine->seek(m->cur, key));
	return err ?: settle(m, cur);
}

static int merge_next(struct wort_cursor *cur)
{
	struct wort_merge *m = merge_of(cur);
	int err = 0;

	if (m->from_list)
		pass_change(m);
	else
		err = pass_record(m);
	return err ?: settle(m, cur);
}

static int merge_value(struct wort_cursor *cur, struct wort_buf *buf)
{
	struct wort_merge *m = merge_of(cur);

	return m->from_list ? wort_buf_fill(buf, &m->change.value) :
			      m->index->tree.engine->value(m->cur, buf);
}

/**
 * wort_merge_alloc() - Get ready to scan an index together with redo lists
 * @index: The index, of a pool that has gates.
 *
 * A cursor whose tree is wort_merge.tree has seek, next and value.  It is used
 * in sections for reading; what it has seen it may not touch after their end.
 *
 * Context: May sleep.
 * Return: For wort_merge_free(), or NULL.
 */
struct wort_merge *wort_merge_alloc(struct wort_index *index)
{
	struct wort_merge *m = kzalloc(sizeof(*m), GFP_KERNEL | WORT_GFP_CALL);

	if (!m)
		return NULL;
	m->cur = wort_engine_cursor();
	if (!m->cur) {
		kfree(m);
		return NULL;
	}
	m->engine.seek = merge_seek;
	m->engine.next = merge_next;
	m->engine.value = merge_value;
	m->tree.engine = &m->engine;
	m->index = index;
	return m;
}

/**
 * wort_merge_free() - A scan has ended
 * @merge: What it has used, or NULL.
 *
 * Context: May sleep.
 */
void wort_merge_free(struct wort_merge *merge)
{
	if (!merge)
		return;
	kvfree(merge->cur);
	kfree(merge);
}
