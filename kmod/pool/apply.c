// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "../core/pmem.h"
#include "apply.h"
#include "group.h"

/* The request of a change, as a program would make it. */
static void request_of(struct wort_request *req,
		       const struct wort_redo_change *change)
{
	memset(&req->op, 0, sizeof(req->op));
	req->op.op = change->remove ? WORT_BATCH_DELETE : WORT_BATCH_INSERT;
	req->put.key = change->key;
	req->put.value = change->value;
	req->answer.len = WORT_NO_VALUE;
}

/* Put the next change into a group; false: it is not for this group. */
static bool add(struct wort_commit_group *group,
		const struct wort_apply *change)
{
	struct wort_index *index = change->index;
	struct wort_member *m;

	m = wort_group_next(group, index, index ? index->tree.engine : NULL);
	if (index && !READ_ONCE(index->dead)) {
		if (!index->tree.engine->batch_ops || wort_index_verify(index))
			return false;
		request_of(&m->req, &change->change);
		if (!wort_group_prepare(group, m))
			return false;
	}
	wort_group_add(group);
	return true;
}

/*
 * As many of the first changes as a group takes.  How many they were is told.
 */
static u32 apply_group(struct wort_pool *pool, const struct wort_apply *changes,
		       u32 nr, struct wort_purse *purse)
{
	struct wort_commit_group *group = wort_group_get(pool);
	u32 done;

	if (!group)
		return 0;
	wort_committed_enter(pool, &group->op, false);
	group->op.purse = purse;
	wort_group_begin(group);
	while (group->nr < nr && add(group, &changes[group->nr]))
		;
	done = wort_group_commit(group);
	wort_committed_exit(pool, &group->op, false);
	wort_group_put(pool, group);
	return done;
}

/* @type: told which WORT_OP_* it was. */
static int change_tree(struct wort_op *op, struct wort_index *index,
		       const struct wort_redo_change *change, u32 *type)
{
	struct wort_tree *tree = &index->tree;
	struct wort_put put;
	struct wort_del del;
	int err;

	wort_put_init(&put, &change->key, &change->value, 0);
	wort_del_init(&del, &change->key, NULL, NULL);
	do
		err = change->remove ? tree->engine->remove(op, tree, &del) :
				       tree->engine->put(op, tree, &put);
	while (wort_index_again(index, op, err));
	*type = change->remove ? WORT_OP_DELETE :
		put.replaced ? WORT_OP_UPDATE : WORT_OP_INSERT;
	/* It was carried out before. */
	return change->remove && err == -ENOENT ? 0 : err;
}

static int apply_once(struct wort_pool *pool, const struct wort_apply *change,
		      struct wort_purse *purse, bool alone)
{
	struct wort_index *index = change->index;
	struct wort_op section, op;
	u32 type = WORT_OP_UPDATE;
	int err;

	wort_committed_enter(pool, &section, alone);
	if (READ_ONCE(index->dead)) {
		wort_committed_exit(pool, &section, alone);
		return 0;
	}
	section.purse = purse;
	wort_index_join(index, &op, &section);
	err = wort_index_verify(index) ?:
	      change_tree(&op, index, &change->change, &type);
	wort_index_leave(index, &op, type, err);
	wort_committed_exit(pool, &section, alone);
	/*
	 * Damage that was met after the commit of a change is that of its
	 * index.
	 */
	return err;
}

/*
 * A change by itself.  Beside others it takes what space there is.  If that
 * does not suffice, or others are always faster, it is alone with the purse:
 * what an engine needs at most then is in there.
 */
static int apply_one(struct wort_pool *pool, const struct wort_apply *change,
		     struct wort_purse *purse)
{
	int err = change->index ? apply_once(pool, change, NULL, false) : 0;

	if (err == -EAGAIN || err == -ENOSPC || err == -ENOMEM)
		err = apply_once(pool, change, purse, true);
	return err;
}

/**
 * wort_apply_usable() - Wait until indexes can be used
 * @changes: Changes of them.
 * @nr: How many.
 *
 * Context: May sleep, killably, in no section and with no lock.
 * Return: 0; -EINTR, -ENOMEM, -ENODEV as wort_rebuild_wait().
 */
int wort_apply_usable(const struct wort_apply *changes, u32 nr)
{
	int err = 0;
	u32 i;

	for (i = 0; i < nr && !err; i++) {
		if (changes[i].index && READ_ONCE(changes[i].index->shut))
			err = wort_rebuild_wait(changes[i].index);
		/* It is destroyed, and the others are still waited for. */
		if (err == -ESTALE)
			err = 0;
	}
	return err;
}

/**
 * wort_apply_shut() - Can an index not be used before it was made again?
 * @changes: Changes of indexes.
 * @nr: How many.
 *
 * Context: Holds wort_pool.atomic_sem, so that the answer stays true.
 */
bool wort_apply_shut(const struct wort_apply *changes, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		if (changes[i].index && !READ_ONCE(changes[i].index->dead) &&
		    READ_ONCE(changes[i].index->shut))
			return true;
	return false;
}

/* As many of the first changes as are not done yet. */
static u32 count_missing(const struct wort_apply *changes, u32 nr)
{
	u32 i = 0;

	while (i < nr && !changes[i].done)
		i++;
	return i;
}

/* Carry out one change or more, all of which are missing.  How many is told. */
static int apply_some(struct wort_pool *pool, struct wort_apply *changes,
		      u32 nr, struct wort_purse *purse, u32 *nr_tried)
{
	u32 done = apply_group(pool, changes, nr, purse), i;
	int err = 0;

	for (i = 0; i < done; i++)
		changes[i].done = true;
	if (!done) {
		err = apply_one(pool, changes, purse);
		changes->done = !err;
	}
	*nr_tried = done ?: 1;
	return err;
}

/**
 * wort_apply() - Carry out changes that are committed
 * @pool: The pool.
 * @changes: The changes, each key once; their gates are closed.  The indexes
 *	can be used, or were destroyed: then nothing is to be done.
 * @nr: How many, at most WORT_MEDIA_REDO_ENTRIES.
 * @purse: Objects for the case that the pool is full.
 *
 * They are durable when this returns 0.  After an error it may be called again
 * with the same array, and goes on with those that are missing: if it began
 * anew each time, a change could take the space over and over that a later one
 * waits for.  Waits for no memory to be reclaimed by an operation on a pool,
 * and is not killable.
 *
 * Context: May sleep.  Takes wort_pool.lock.
 * Return: 0; -EUCLEAN or -EIO if damage was met: the other changes were carried
 * out nevertheless; -ENOSPC if @purse had too little, and some perhaps not.
 */
int wort_apply(struct wort_pool *pool, struct wort_apply *changes, u32 nr,
	       struct wort_purse *purse)
{
	u32 at = 0, missing, tried;
	int err, bad = 0;

	while (at < nr) {
		missing = count_missing(changes + at, nr - at);
		if (!missing) {
			at++;
			continue;
		}
		err = apply_some(pool, changes + at, missing, purse, &tried);
		if (err)
			bad = err;
		at += tried;
	}
	return bad;
}
