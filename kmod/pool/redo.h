/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Redo lists: what atomic batches change.
 *
 *	page of heads         redo list, an object
 *	+-----------+         +-----+----+------+----------+----------+
 *	| head      |-------->| len | nr | csum | entry    | entry ...|
 *	| 0         |         +-----+----+------+----------+----------+
 *	| ...       |                           | index id, key, value
 *	+-----------+
 *
 * Commit word: the head.  The list is durable before the head refers to it.
 *
 * Crash states:
 *
 * head		records			meaning		who repairs it
 * 0		old			not committed	nobody owns the list
 * list		any mixture of changes	committed	attach carries it out
 * list, 0	new, durable		done		attach, which finds it done
 *
 * An entry has the new value of a key, or says that it is removed.  It refers
 * to nothing, so an entry can be carried out any number of times, and nothing
 * that it needs can be freed or moved.  The lists of several batches have no
 * key in common, since their gates were closed, so the order of lists does not
 * matter.
 */
#ifndef _WORT_REDO_H
#define _WORT_REDO_H

#include <linux/rcupdate.h>

#include "pool.h"

struct wort_gates;

/**
 * struct wort_redo - A redo list in DRAM
 * @rcu: for kvfree_rcu()
 * @answers: the batch is committed, lookups answer from the list
 * @left: attach has found it, or damage has kept its batch from carrying it out
 * @head: number of its head
 * @off: its offset on media, or 0
 * @media: as it is on media
 * @entries: its entries, which follow there, too
 */
struct wort_redo {
	struct rcu_head rcu;
	bool answers;
	bool left;
	u32 head;
	u64 off;
	struct wort_media_redo media;
	u8 entries[];
};

/**
 * struct wort_redo_change - An entry of a redo list
 * @index: id of the index
 * @key: the key
 * @value: its new value
 * @remove: the record is removed
 */
struct wort_redo_change {
	u64 index;
	struct wort_key key;
	struct wort_value value;
	bool remove;
};

/* As it is on media: the length of the new value, or that there is none. */
static inline u32 wort_redo_value_len(const struct wort_redo_change *change)
{
	return change->remove ? WORT_MEDIA_REDO_REMOVE : change->value.len;
}

/* Bytes of an entry. */
static inline u32 wort_redo_entry_len(u32 key_len, u32 value_len)
{
	return round_up(sizeof(struct wort_media_redo_entry) + key_len +
			(value_len == WORT_MEDIA_REDO_REMOVE ? 0 : value_len), 8);
}

struct wort_redo *wort_redo_alloc(u32 len, gfp_t gfp);
void wort_redo_add(struct wort_redo *redo,
		   const struct wort_redo_change *change);
void wort_redo_seal(struct wort_redo *redo);
u32 wort_redo_next(const struct wort_redo *redo, u32 at,
		   struct wort_redo_change *change);
bool wort_redo_find(const struct wort_redo *redo, u64 index,
		    const struct wort_key *key,
		    struct wort_redo_change *change);

__le64 __pmem *wort_head_at(const struct wort_region *region, u32 nr);
int wort_heads_verify(struct wort_op *op);
bool wort_heads_agree(struct wort_op *op, struct wort_pool *pool);
int wort_redo_load(struct wort_op *op, struct wort_pool *pool);
int wort_redo_visit(struct wort_op *op, struct wort_pool *pool,
		    struct wort_visitor *visitor);
int wort_redo_hold(struct wort_pool *pool);
void wort_redo_release(struct wort_pool *pool);
u32 wort_redo_other_gates(struct wort_pool *pool, u16 *gates, u32 nr);
int wort_redo_run(struct wort_pool *pool);
void wort_redo_drop(struct wort_op *op, struct wort_pool *pool, u64 *nr);
int wort_redo_end(struct wort_op *op, struct wort_redo *redo);

#endif /* _WORT_REDO_H */
