/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Gates: how single changes and atomic batches of the same keys exclude each
 * other, and where lookups find a batch that is being carried out.
 *
 * Each key has a gate, by a hash.  A single change goes in before it looks at
 * the tree, and out after its last fence.  An atomic batch closes the gates of
 * its keys, in ascending order, and waits until nobody is inside.  A change
 * that finds its gate closed ends its section, waits, and begins again: nobody
 * waits for a gate inside a section or a gate, or with a lock.
 *
 * Lookups never wait.  While the redo list of a batch is registered and
 * answers, a lookup finds the new value of the key there, whatever is in the
 * tree.  It looks there first: a list that ends between the two has left the
 * new value in the tree.  Scans wait for the end of the lists, or merge them
 * where they stay (merge.h).
 *
 * Operations look at gates only while atomic batches are in use.  The first
 * batch gives each index an engine with gates around the functions of its own
 * (wort_index.engine), and waits for a grace period before it begins.  When no
 * batch has come for a while, wort_gates_rest() gives the indexes their own
 * engines back.
 */
#ifndef _WORT_GATE_H
#define _WORT_GATE_H

#include "pool.h"
#include "redo.h"

#define WORT_GATES_BITS		10
#define WORT_NR_GATES		1024	/* two to the power of that */
#define WORT_GATE_CLOSED	1	/* of wort_gates.gate */

/**
 * struct wort_gated - An engine with gates
 * @engine: what operations call
 * @batch_ops: its functions for batches
 * @fast_ops: its fast paths
 */
struct wort_gated {
	struct wort_engine engine;
	struct wort_batch_ops batch_ops;
	struct wort_fast_ops fast_ops;
};

/**
 * struct wort_gates - The gates of a pool
 * @registered: redo lists that are registered
 * @wait: woken when gates open, become empty, or a head is free
 * @running: 1 while a task carries out lists that were left behind
 * @used: a batch has begun since wort_gates_rest() looked
 * @around: engines of indexes have gates; under wort_pool.lock
 * @lock: protects @heads
 * @heads: a bit for each head that is in use
 * @lost_heads: a bit for each head whose list is damaged
 * @redo: for each head the list that is registered, or NULL
 * @answering: for each head the number of the batch whose list answers, or 0
 * @nr: number of the last batch
 * @batches: atomic batches that have committed
 * @refused: atomic batches that an operation has refused
 * @waits: how often somebody waited for a gate, or for a list
 * @redone: batches that attach or a check has carried out
 * @gated: engines with gates
 * @gate: for each gate twice the number of changes inside, and 1 if it is
 *	closed
 */
struct wort_gates {
	atomic_t registered;
	wait_queue_head_t wait;
	atomic_t running;
	bool used;
	bool around;
	spinlock_t lock;		/* heads */
	u64 heads;
	u64 lost_heads;
	struct wort_redo __rcu *redo[WORT_MEDIA_NR_HEADS];
	u64 answering[WORT_MEDIA_NR_HEADS];
	atomic64_t nr;
	atomic64_t batches;
	atomic64_t refused;
	atomic64_t waits;
	atomic64_t redone;
	struct wort_gated gated[WORT_ENGINES_NR];
	atomic_t gate[WORT_NR_GATES];
};

int wort_gates_on(struct wort_pool *pool);
int wort_gates_use(struct wort_pool *pool);
void wort_gates_unuse(struct wort_pool *pool);
bool wort_gates_rest(struct wort_pool *pool);
void wort_gates_free(struct wort_pool *pool);
void wort_gates_wake(struct wort_pool *pool);
void wort_gates_info(const struct wort_pool *pool,
		     struct wort_pool_info_arg *arg);
const struct wort_engine *wort_gated_engine(const struct wort_pool *pool,
					    const struct wort_engine *engine);
u32 wort_gate_nr(u64 index, const struct wort_key *key);
int wort_gates_close(struct wort_pool *pool, const u16 *gates, u32 nr, bool held);
void wort_gates_open(struct wort_pool *pool, const u16 *gates, u32 nr);
int wort_gate_wait(struct wort_index *index, const struct wort_key *key);
int wort_head_take(struct wort_pool *pool, u32 *head);
void wort_head_give(struct wort_pool *pool, u32 head);
void wort_redo_register(struct wort_pool *pool, struct wort_redo *redo);
void wort_redo_answer(struct wort_pool *pool, struct wort_redo *redo);
void wort_redo_unregister(struct wort_pool *pool, struct wort_redo *redo);
int wort_redo_wait(struct wort_pool *pool);

#endif /* _WORT_GATE_H */
