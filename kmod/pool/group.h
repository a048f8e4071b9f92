/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Group commit: changes that share two fences.
 *
 * A group prepares changes, one after the other, waits once until what they
 * need is durable, commits them in order, and waits once more.  A change that
 * needs nothing is committed at once if no other one waits.  So a group has two
 * fences, however many changes it has.
 *
 * A group ends before an operation with the key of a change that waits, and
 * before one that the engine cannot prepare: it may depend on a change that
 * waits, there may be no space, or damage was found.  If a change cannot be
 * committed as it was prepared, since another writer was faster, the group ends
 * there, and what comes after it is prepared again.
 *
 * Changes that an engine commits by one word form a chain (engine/round.h).
 * Each chain is a sequence of adjacent changes, and the commit of the first one
 * is that of all.
 */
#ifndef _WORT_GROUP_H
#define _WORT_GROUP_H

#include "../engine/round.h"
#include "pool.h"

/**
 * enum wort_member_state - How far an operation of a group is
 * @WORT_MEMBER_ANSWERED: nothing is to be changed
 * @WORT_MEMBER_WAITING: prepared
 * @WORT_MEMBER_COMMITTED: and committed, perhaps not durable
 */
enum wort_member_state {
	WORT_MEMBER_ANSWERED,
	WORT_MEMBER_WAITING,
	WORT_MEMBER_COMMITTED,
};

/**
 * struct wort_member - An operation of a group
 * @index: its index
 * @engine: the functions of that for the whole section
 * @state: how far it is
 * @begun: its operation was begun
 * @prepared: its change was prepared
 * @err: its answer
 * @type: WORT_OP_*
 * @op: its operation
 * @req: what is asked for
 * @change: the change that it is
 * @at: for the caller
 * @answer_len: for the caller
 */
struct wort_member {
	struct wort_index *index;
	const struct wort_engine *engine;
	enum wort_member_state state;
	bool begun;
	bool prepared;
	int err;
	u32 type;
	struct wort_op op;
	struct wort_request req;
	struct wort_change change;
	u32 at;
	u32 answer_len;
};

/**
 * struct wort_commit_group - Operations that share two fences
 * @op: has the section, and fences for all
 * @nr: operations
 * @nr_committed: of these, committed
 * @keys: of those that wait, hashed
 * @waiting: those that wait, for engines
 * @lines: to be flushed before the next fence
 * @member: the operations
 */
struct wort_commit_group {
	struct wort_op op;
	u32 nr;
	u32 nr_committed;
	struct wort_words keys;
	struct wort_round waiting;
	struct wort_lines lines;
	struct wort_member member[WORT_ROUND_MAX];
};

struct wort_commit_group *wort_group_get(struct wort_pool *pool);
void wort_group_put(struct wort_pool *pool, struct wort_commit_group *group);
void wort_group_begin(struct wort_commit_group *group);
struct wort_member *wort_group_next(struct wort_commit_group *group,
				    struct wort_index *index,
				    const struct wort_engine *engine);
bool wort_group_prepare(struct wort_commit_group *group, struct wort_member *m);
u32 wort_group_commit(struct wort_commit_group *group);

/* The next operation, prepared or refused, is in the group. */
static inline void wort_group_add(struct wort_commit_group *group)
{
	group->nr++;
}

#endif /* _WORT_GROUP_H */
