// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include <linux/bitmap.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/slab.h>

#include "../core/pmem.h"
#include "group.h"

/**
 * wort_group_get() - Memory for a group
 * @pool: The pool.
 *
 * Context: May sleep.
 * Return: For wort_group_put(), or NULL: changes are carried out one by one.
 */
struct wort_commit_group *wort_group_get(struct wort_pool *pool)
{
	return xchg(&pool->spare_group, NULL) ?:
	       kvzalloc(sizeof(struct wort_commit_group),
			GFP_NOIO | WORT_GFP_SPARE);
}

/**
 * wort_group_put() - Keep the memory of a group for the next one
 * @pool: The pool.
 * @group: The group, or NULL.
 *
 * Context: May sleep.
 */
void wort_group_put(struct wort_pool *pool, struct wort_commit_group *group)
{
	kvfree(xchg(&pool->spare_group, group));
}

/* What an operation has flushed the fence of the group waits for. */
static void flushed(struct wort_commit_group *group, struct wort_member *m)
{
	group->op.pending += m->op.pending;
	m->op.pending = 0;
}

/* Where nothing needs a flush, what was stored needs a fence nevertheless. */
static void fence(struct wort_commit_group *group, bool stored)
{
	if (group->op.pending || (stored && !group->op.flush))
		wort_pm_fence(&group->op);
}

/* It is not in the group. */
static void drop(struct wort_commit_group *group, struct wort_member *m)
{
	if (!m->begun)
		return;
	flushed(group, m);
	wort_alloc_untake(&m->op);
	if (m->prepared && m->engine->batch_ops->drop)
		m->engine->batch_ops->drop(&m->index->tree, &m->change);
	wort_index_leave(m->index, &m->op, m->type, -EAGAIN);
}

static void wait_in_group(struct wort_commit_group *group,
			  struct wort_member *m, u64 key)
{
	struct wort_round *waiting = &group->waiting;
	struct wort_change *change = &m->change;
	u32 i;

	m->state = WORT_MEMBER_WAITING;
	wort_words_add(&group->keys, key);
	waiting->change[waiting->slots.nr] = change;
	wort_words_add(&waiting->slots, change->slot);
	for (i = 0; change->claims >> i; i++)
		if (change->claims >> i & 1 && change->node[i])
			__set_bit(wort_lock_nr(change->node[i]),
				  waiting->claimed);
}

/* What has joined a chain was committed with the first one, right before it. */
static int commit(struct wort_commit_group *group, struct wort_member *m)
{
	struct wort_tree *tree = &m->index->tree;
	int err = 0;

	if (!m->change.first)
		err = m->engine->batch_ops->commit(&m->op, tree, &m->change);
	flushed(group, m);
	if (err)
		return err;
	m->state = WORT_MEMBER_COMMITTED;
	group->nr_committed++;
	return 0;
}

/**
 * wort_group_begin() - Begin a group
 * @group: The group.  Its operation was entered, with WORT_WRITE or as
 *	committed.
 *
 * Context: Any context.
 */
void wort_group_begin(struct wort_commit_group *group)
{
	group->nr = 0;
	group->nr_committed = 0;
	wort_words_empty(&group->keys);
	wort_words_empty(&group->waiting.slots);
	bitmap_zero(group->waiting.claimed, WORT_NR_LOCKS);
	group->waiting.nr_launched = 0;
	group->lines.fences = &group->op;
	group->lines.nr = 0;
	group->op.gather = &group->lines;
}

/**
 * wort_group_next() - Where the next operation of a group goes
 * @group: The group, which has fewer than WORT_ROUND_MAX.
 * @index: The index of the operation.
 * @engine: The functions that carry it out: wort_index.engine, loaded in the
 *	section; or that of the tree, if the gate of the key is closed for it.
 *
 * In it when it was prepared, or needs nothing, and wort_group_add() was
 * called.
 *
 * Context: Any context.
 * Return: The operation, whose request the caller fills in.
 */
struct wort_member *wort_group_next(struct wort_commit_group *group,
				    struct wort_index *index,
				    const struct wort_engine *engine)
{
	struct wort_member *m = &group->member[group->nr];

	m->index = index;
	m->engine = engine;
	m->state = WORT_MEMBER_ANSWERED;
	m->begun = false;
	m->prepared = false;
	m->err = 0;
	return m;
}

/**
 * wort_group_prepare() - Prepare an operation
 * @group: The group.
 * @m: Result of wort_group_next(); wort_request_verify() holds for its request.
 *
 * Context: May sleep.  Does not wait for space.
 * Return: True if it is answered or prepared; false: it is not for this group.
 */
bool wort_group_prepare(struct wort_commit_group *group, struct wort_member *m)
{
	u64 key = wort_index_key_word(m->index->id, &m->req.put.key);

	if (wort_words_find(&group->keys, key))
		return false;
	m->change.round = &group->waiting;
	m->change.first = NULL;
	m->change.next = NULL;
	m->begun = true;
	wort_index_join(m->index, &m->op, &group->op);
	m->op.gather = &group->lines;
	m->err = wort_request_prepare(m);
	flushed(group, m);
	if (m->err == -EEXIST || m->err == -ENOENT || m->err == -ECANCELED ||
	    m->err == -ERANGE || (!m->err && m->type == WORT_OP_LOOKUP))
		return true;
	m->prepared = !m->err;
	if (!m->err && (m->change.waits || group->waiting.slots.nr)) {
		wait_in_group(group, m, key);
		return true;
	}
	if (!m->err)
		m->err = commit(group, m);
	if (!m->err)
		return true;
	drop(group, m);
	return false;
}

/*
 * Commit what waits, in order, up to the first change that cannot be.  How many
 * operations of the group are carried out then is told.
 */
static u32 commit_all(struct wort_commit_group *group)
{
	u32 i;

	if (group->waiting.slots.nr)
		fence(group, true);
	for (i = 0; i < group->nr; i++)
		if (group->member[i].state == WORT_MEMBER_WAITING &&
		    commit(group, &group->member[i]))
			break;
	fence(group, group->nr_committed);
	return i;
}

/* It is durable, or nothing was to be changed. */
static void finish(struct wort_member *m)
{
	if (m->state == WORT_MEMBER_COMMITTED)
		m->engine->batch_ops->finish(&m->op, &m->index->tree,
					     &m->change);
	if (m->begun)
		wort_index_leave(m->index, &m->op, m->type, m->err);
}

/* For statistics the fences are those of the first change. */
static void account(struct wort_commit_group *group)
{
	struct wort_counts *n;
	u32 i = 0;

	if (!group->nr_committed)
		return;
	while (group->member[i].state != WORT_MEMBER_COMMITTED)
		i++;
	n = &group->member[i].op.n;
	n->idle_fences += group->op.n.idle_fences;
	n->ordering_points += group->op.n.ordering_points;
}

/**
 * wort_group_commit() - Commit the operations of a group
 * @group: The group.  Its operation is to be left afterwards.
 *
 * Context: May sleep.
 * Return: How many operations were carried out, from the first on, and are
 * durable.  The others were not begun.
 */
u32 wort_group_commit(struct wort_commit_group *group)
{
	u32 done = commit_all(group), i;

	account(group);
	for (i = 0; i < done; i++)
		finish(&group->member[i]);
	for (; i < group->nr; i++)
		drop(group, &group->member[i]);
	return done;
}
