// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../core/pmem.h"
#include "gate.h"

#define CLOSED	WORT_GATE_CLOSED
#define INSIDE	2	/* of a gate, for each change */

/**
 * wort_gate_nr() - The gate of a key
 * @index: Id of the index.
 * @key: The key.
 *
 * Context: Any context.
 * Return: Its number.
 */
u32 wort_gate_nr(u64 index, const struct wort_key *key)
{
	return hash_64(wort_index_key_word(index, key), WORT_GATES_BITS);
}

static struct wort_index *index_of(const struct wort_tree *tree)
{
	return container_of(tree, struct wort_index, tree);
}

static atomic_t *gate_of(const struct wort_tree *tree,
			 const struct wort_key *key)
{
	const struct wort_index *index = index_of(tree);

	return &index->pool->gates->gate[wort_gate_nr(index->id, key)];
}

static void gate_leave(const struct wort_tree *tree, atomic_t *gate)
{
	if (unlikely(atomic_sub_return(INSIDE, gate) == CLOSED))
		wake_up_all(&index_of(tree)->pool->gates->wait);
}

/*
 * The gate of a key, entered; NULL if it is closed.  Whoever closes it sees
 * that somebody is inside, or is seen here: both are one read-modify-write.
 */
static atomic_t *gate_enter(const struct wort_tree *tree,
			    const struct wort_key *key)
{
	atomic_t *gate = gate_of(tree, key);

	if (likely(!(atomic_add_return(INSIDE, gate) & CLOSED)))
		return gate;
	gate_leave(tree, gate);
	return NULL;
}

static int gated_put(struct wort_op *op, struct wort_tree *tree,
		     struct wort_put *put)
{
	atomic_t *gate = gate_enter(tree, &put->key);
	int err;

	if (!gate)
		return -EINPROGRESS;
	err = tree->engine->put(op, tree, put);
	gate_leave(tree, gate);
	return err;
}

static int gated_remove(struct wort_op *op, struct wort_tree *tree,
			const struct wort_del *del)
{
	atomic_t *gate = gate_enter(tree, &del->key);
	int err;

	if (!gate)
		return -EINPROGRESS;
	err = tree->engine->remove(op, tree, del);
	gate_leave(tree, gate);
	return err;
}

/* What it does is counted where -EAGAIN leads to. */
static int gated_fast_put(struct wort_tree *tree, struct wort_put *put,
			  struct wort_index_stats __percpu *stats)
{
	atomic_t *gate;
	int err;

	/* A key without bytes, or too long, is the careful way's to refuse. */
	if (unlikely(!wort_key_valid(&put->key)))
		return -EAGAIN;
	gate = gate_enter(tree, &put->key);
	if (unlikely(!gate))
		return -EAGAIN;
	err = tree->engine->fast_ops->put(tree, put, stats);
	gate_leave(tree, gate);
	return err;
}

static int gated_fast_remove(struct wort_tree *tree, const struct wort_del *del,
			     struct wort_index_stats __percpu *stats)
{
	atomic_t *gate;
	int err;

	if (unlikely(!wort_key_valid(&del->key)))
		return -EAGAIN;
	gate = gate_enter(tree, &del->key);
	if (unlikely(!gate))
		return -EAGAIN;
	err = tree->engine->fast_ops->remove(tree, del, stats);
	gate_leave(tree, gate);
	return err;
}

/*
 * Is a list registered?  An operation that has seen a change of the list in a tree
 * gets true until the list has ended.
 */
static bool any_registered(const struct wort_tree *tree)
{
	/* pairs with the fences between wort_redo_register() and the change */
	smp_rmb();
	return atomic_read(&index_of(tree)->pool->gates->registered);
}

/* Answer from the list that has a key; -EAGAIN if none has it. */
static int answer_listed(const struct wort_tree *tree,
			 const struct wort_key *key, struct wort_buf *buf)
{
	struct wort_gates *gates = index_of(tree)->pool->gates;
	struct wort_redo_change change;
	const struct wort_redo *redo;
	int err = -EAGAIN;
	u32 i;

	if (!(atomic_read(gate_of(tree, key)) & CLOSED))
		return err;
	rcu_read_lock();
	for (i = 0; i < WORT_MEDIA_NR_HEADS && err == -EAGAIN; i++) {
		redo = rcu_dereference(gates->redo[i]);
		/* pairs with the release in wort_redo_answer() */
		if (redo && smp_load_acquire(&redo->answers) &&
		    wort_redo_find(redo, index_of(tree)->id, key, &change))
			err = change.remove ? -ENOENT :
					      wort_buf_fill(buf, &change.value);
	}
	rcu_read_unlock();
	return err;
}

static int gated_lookup(struct wort_op *op, struct wort_tree *tree,
			const struct wort_key *key, struct wort_buf *buf)
{
	int err = any_registered(tree) ? answer_listed(tree, key, buf) : -EAGAIN;

	if (err != -EAGAIN)
		return err;
	/*
	 * What an ended list has changed is found: pairs with
	 * wort_redo_unregister().
	 */
	smp_rmb();
	return tree->engine->lookup(op, tree, key, buf);
}

static int gated_fast_lookup(const struct wort_tree *tree,
			     const struct wort_key *key, struct wort_buf *buf,
			     struct wort_index_stats __percpu *stats)
{
	if (unlikely(any_registered(tree)))
		return -EAGAIN;
	/* as in gated_lookup() */
	smp_rmb();
	return tree->engine->fast_ops->lookup(tree, key, buf, stats);
}

static const struct wort_key *key_of(const struct wort_change *change)
{
	return change->put ? &change->put->key : &change->del->key;
}

static int gated_prepare(struct wort_op *op, struct wort_tree *tree,
			 struct wort_change *change)
{
	atomic_t *gate = gate_enter(tree, key_of(change));
	int err;

	if (!gate)
		return -EINPROGRESS;
	err = tree->engine->batch_ops->prepare(op, tree, change);
	if (err)
		gate_leave(tree, gate);
	return err;
}

static int gated_commit(struct wort_op *op, struct wort_tree *tree,
			struct wort_change *change)
{
	return tree->engine->batch_ops->commit(op, tree, change);
}

static void gated_finish(struct wort_op *op, struct wort_tree *tree,
			 struct wort_change *change)
{
	tree->engine->batch_ops->finish(op, tree, change);
	gate_leave(tree, gate_of(tree, key_of(change)));
}

static void gated_drop(struct wort_tree *tree, struct wort_change *change)
{
	if (tree->engine->batch_ops->drop)
		tree->engine->batch_ops->drop(tree, change);
	gate_leave(tree, gate_of(tree, key_of(change)));
}

/* Put gates around the functions of an engine. */
static void gated_init(struct wort_gated *gated,
		       const struct wort_engine *engine)
{
	gated->engine = *engine;
	gated->engine.put = gated_put;
	gated->engine.remove = gated_remove;
	gated->engine.lookup = gated_lookup;
	if (engine->batch_ops) {
		gated->batch_ops = (struct wort_batch_ops){
			.prepare = gated_prepare,
			.commit = gated_commit,
			.finish = gated_finish,
			.drop = gated_drop,
		};
		gated->engine.batch_ops = &gated->batch_ops;
	}
	if (engine->fast_ops) {
		gated->fast_ops = *engine->fast_ops;
		gated->fast_ops.put = gated_fast_put;
		gated->fast_ops.remove = gated_fast_remove;
		gated->fast_ops.lookup = gated_fast_lookup;
		gated->engine.fast_ops = &gated->fast_ops;
	}
}

/**
 * wort_gated_engine() - The engine that operations on an index call
 * @pool: The pool.
 * @engine: Engine of the index, or NULL.
 *
 * Context: Holds wort_pool.lock, or the pool is being attached.
 * Return: @engine, or the one with gates.
 */
const struct wort_engine *wort_gated_engine(const struct wort_pool *pool,
					    const struct wort_engine *engine)
{
	if (!pool->gates || !pool->gates->around || !engine)
		return engine;
	return &pool->gates->gated[wort_engine_nr(engine)].engine;
}

static struct wort_gates *gates_alloc(void)
{
	struct wort_gates *gates = kvzalloc(sizeof(*gates), GFP_NOIO);
	u32 nr;

	if (!gates)
		return NULL;
	init_waitqueue_head(&gates->wait);
	spin_lock_init(&gates->lock);
	for (nr = 0; nr < WORT_ENGINES_NR; nr++)
		gated_init(&gates->gated[nr], wort_engine_served(nr));
	return gates;
}

static int gates_make(struct wort_pool *pool)
{
	struct wort_gates *gates = gates_alloc();

	if (!gates)
		return -ENOMEM;
	/* pairs with the acquire in gates_of() */
	smp_store_release(&pool->gates, gates);
	/* A section that finds an engine with gates finds the gates, too. */
	wort_locks_synchronize(&pool->locks);
	return 0;
}

static void set_around(struct wort_pool *pool, bool around)
{
	struct wort_index *index;

	lockdep_assert_held(&pool->lock);
	pool->gates->around = around;
	list_for_each_entry(index, &pool->indexes, list)
		wort_index_set_gated(index);
}

/**
 * wort_gates_on() - Have all operations of a pool look at gates
 * @pool: The pool.
 *
 * Does nothing if they do.
 *
 * Context: May sleep, killably.  Takes wort_pool.lock.  No batch is under way
 * yet, or wort_pool.gates_sem is held for reading.
 * Return: 0; -ENOMEM; -EINTR.
 */
int wort_gates_on(struct wort_pool *pool)
{
	int err;

	/* pairs with the release below */
	if (likely(smp_load_acquire(&pool->gates_on)))
		return 0;
	if (mutex_lock_killable(&pool->lock))
		return -EINTR;
	err = pool->gates ? 0 : gates_make(pool);
	if (!err && !pool->gates_on) {
		set_around(pool, true);
		/* What has begun before does not look at gates. */
		wort_locks_synchronize(&pool->locks);
		/* pairs with the acquire above */
		smp_store_release(&pool->gates_on, true);
	}
	mutex_unlock(&pool->lock);
	return err;
}

/**
 * wort_gates_use() - Begin an atomic batch
 * @pool: The pool.
 *
 * All operations look at gates until wort_gates_unuse().
 *
 * Context: May sleep, killably, in no section and with no lock.
 * Return: 0; -ENOMEM; -EINTR.
 */
int wort_gates_use(struct wort_pool *pool)
{
	int err;

	down_read(&pool->gates_sem);
	err = wort_gates_on(pool);
	if (err)
		up_read(&pool->gates_sem);
	else if (!READ_ONCE(pool->gates->used))
		WRITE_ONCE(pool->gates->used, true);
	return err;
}

/**
 * wort_gates_unuse() - End an atomic batch
 * @pool: The pool, after wort_gates_use().
 *
 * Context: Any context.
 */
void wort_gates_unuse(struct wort_pool *pool)
{
	up_read(&pool->gates_sem);
}

/*
 * No batch is under way, none has begun since the last look, and no list is
 * left.
 */
static bool gates_idle(struct wort_gates *gates)
{
	bool idle = !gates->used;

	gates->used = false;
	spin_lock(&gates->lock);
	idle &= !gates->heads;
	spin_unlock(&gates->lock);
	return idle;
}

/**
 * wort_gates_rest() - Take the gates away if no atomic batch has come lately
 * @pool: The pool.
 *
 * They go if no batch has begun since the last call, none is under way, and no
 * list is left.  Then changes cost what they cost before the first batch, and
 * the next batch waits for a grace period.  If somebody holds wort_pool.lock,
 * they stay.
 *
 * Context: May sleep.  Takes wort_pool.lock.
 * Return: True if they still look at them, perhaps.
 */
bool wort_gates_rest(struct wort_pool *pool)
{
	bool on;

	if (!mutex_trylock(&pool->lock))
		return true;
	/* Who holds it for reading may wait for wort_pool.lock. */
	if (pool->gates_on && down_write_trylock(&pool->gates_sem)) {
		if (gates_idle(pool->gates)) {
			pool->gates_on = false;
			set_around(pool, false);
		}
		up_write(&pool->gates_sem);
	}
	on = pool->gates_on;
	mutex_unlock(&pool->lock);
	return on;
}

/**
 * wort_gates_free() - Free the gates of a pool that is served no more
 * @pool: The pool.
 *
 * Context: May sleep.
 */
void wort_gates_free(struct wort_pool *pool)
{
	u32 i;

	if (!pool->gates)
		return;
	for (i = 0; i < WORT_MEDIA_NR_HEADS; i++)
		kvfree(rcu_dereference_protected(pool->gates->redo[i], true));
	kvfree(pool->gates);
}

/* For use outside of sections. */
static struct wort_gates *gates_of(const struct wort_pool *pool)
{
	/* pairs with the release in wort_gates_on() */
	return smp_load_acquire(&pool->gates);
}

/* Lists that were left behind.  That of a batch under way may end any time. */
static u32 count_left(const struct wort_gates *gates)
{
	const struct wort_redo *redo;
	u32 i, nr = 0;

	rcu_read_lock();
	for (i = 0; i < WORT_MEDIA_NR_HEADS; i++) {
		redo = rcu_dereference(gates->redo[i]);
		nr += redo && READ_ONCE(redo->left);
	}
	rcu_read_unlock();
	return nr;
}

/* There was no batch since the attach. */
static void no_batches(struct wort_pool_info_arg *arg)
{
	arg->out_atomic_batches = 0;
	arg->out_atomic_refused = 0;
	arg->out_atomic_waits = 0;
	arg->out_atomic_redone = 0;
	arg->out_atomic_left = 0;
	arg->out_atomic_damaged = 0;
}

/**
 * wort_gates_info() - Count the atomic batches of a pool
 * @pool: The pool.
 * @arg: Its out_atomic_ fields are filled in.
 *
 * Context: Any context.
 */
void wort_gates_info(const struct wort_pool *pool,
		     struct wort_pool_info_arg *arg)
{
	struct wort_gates *gates = gates_of(pool);

	if (!gates) {
		no_batches(arg);
		return;
	}
	arg->out_atomic_batches = atomic64_read(&gates->batches);
	arg->out_atomic_refused = atomic64_read(&gates->refused);
	arg->out_atomic_waits = atomic64_read(&gates->waits);
	arg->out_atomic_redone = atomic64_read(&gates->redone);
	arg->out_atomic_left = count_left(gates);
	arg->out_atomic_damaged = hweight64(READ_ONCE(gates->lost_heads));
}

/**
 * wort_gates_wake() - Wake those that wait at gates for something that may never come
 * @pool: The pool, which has just become read-only, or is being detached.
 *
 * Context: Any context.
 */
void wort_gates_wake(struct wort_pool *pool)
{
	struct wort_gates *gates = READ_ONCE(pool->gates);

	if (gates)
		wake_up_all(&gates->wait);
}

/* Nothing can be changed any more; or 0. */
static int is_hopeless(struct wort_pool *pool)
{
	if (READ_ONCE(pool->stopping))
		return -ENODEV;
	return wort_pool_writable(pool) ? 0 : -EROFS;
}

/* Why a wait has ended before what it was for. */
static int gave_up(struct wort_pool *pool, int err)
{
	return err ? -EINTR : is_hopeless(pool) ?: -EROFS;
}

static bool list_has_gate(const struct wort_gates *gates,
			  const struct wort_redo *redo, const atomic_t *gate)
{
	struct wort_redo_change change;
	u32 at = 0;

	while ((at = wort_redo_next(redo, at, &change)))
		if (gate == &gates->gate[wort_gate_nr(change.index, &change.key)])
			return true;
	return false;
}

/* Does a list that was left behind keep a gate closed? */
static bool is_left(const struct wort_gates *gates, const atomic_t *gate)
{
	const struct wort_redo *redo;
	bool found = false;
	u32 i;

	rcu_read_lock();
	for (i = 0; i < WORT_MEDIA_NR_HEADS && !found; i++) {
		redo = rcu_dereference(gates->redo[i]);
		found = redo && READ_ONCE(redo->left) &&
			list_has_gate(gates, redo, gate);
	}
	rcu_read_unlock();
	return found;
}

/*
 * As is_hopeless(), for who waits until a gate is open.  A batch that is under
 * way opens its gates, also in a read-only pool: it may only look.  In a pool
 * that is writable again it may wait for a list that a check carries out next,
 * and the check for who holds the lists.
 */
static int is_shut(struct wort_pool *pool, const atomic_t *gate, bool held)
{
	int err = is_hopeless(pool);

	if (!err && held)
		return -EROFS;
	return err == -EROFS && !is_left(pool->gates, gate) ? 0 : err;
}

static void count_wait(struct wort_pool *pool)
{
	atomic64_add(1, &pool->gates->waits);
}

static bool try_close(atomic_t *gate)
{
	return !(atomic_fetch_or(CLOSED, gate) & CLOSED);
}

/*
 * Whether a condition held is noted when it is evaluated: a change that turns
 * away at a closed gate is inside for a moment.
 */
static int gate_close(struct wort_pool *pool, atomic_t *gate, bool held)
{
	bool closed = try_close(gate), empty = false;
	int err = 0;

	if (!closed) {
		count_wait(pool);
		err = wait_event_state(pool->gates->wait,
				       (closed = try_close(gate)) ||
					       is_shut(pool, gate, held),
				       wort_pool_waiting(pool));
	}
	if (closed)
		err = wait_event_state(pool->gates->wait,
				       (empty = atomic_read(gate) == CLOSED) ||
					       READ_ONCE(pool->stopping),
				       wort_pool_waiting(pool));
	if (empty)
		return 0;
	if (closed)
		atomic_fetch_andnot(CLOSED, gate);
	return gave_up(pool, err);
}

/**
 * wort_gates_close() - Close gates, and wait until nobody is inside
 * @pool: The pool, whose gates are on.
 * @gates: Their numbers, ascending: whoever waits for one has closed only such
 *	with lower numbers.
 * @nr: How many.
 * @held: The caller holds the lists that were left behind: wait only while the
 *	pool is read-only.
 *
 * Context: May sleep, killably, in no section.
 * Return: 0; -EINTR; -EROFS if a list that was left behind keeps one closed, or
 * @held lists are to be released; -ENODEV if the pool is being detached: none
 * is closed then.
 */
int wort_gates_close(struct wort_pool *pool, const u16 *gates, u32 nr, bool held)
{
	u32 nr_closed = 0;
	int err = 0;

	while (nr_closed < nr && !err) {
		err = gate_close(pool, &pool->gates->gate[gates[nr_closed]], held);
		nr_closed += !err;
	}
	if (err)
		wort_gates_open(pool, gates, nr_closed);
	return err;
}

/**
 * wort_gates_open() - Open gates
 * @pool: The pool.
 * @gates: Their numbers.
 * @nr: How many.
 *
 * Context: Any context.
 */
void wort_gates_open(struct wort_pool *pool, const u16 *gates, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		atomic_fetch_andnot(CLOSED, &pool->gates->gate[gates[i]]);
	wake_up_all(&pool->gates->wait);
}

/**
 * wort_gate_wait() - Wait until the gate of a key is open
 * @index: The index.
 * @key: The key.
 *
 * Context: May sleep, killably, in no section.
 * Return: 0; -EINTR; -EROFS if the pool became read-only; -ENODEV if it is
 * being detached.
 */
int wort_gate_wait(struct wort_index *index, const struct wort_key *key)
{
	atomic_t *gate = gate_of(&index->tree, key);
	struct wort_pool *pool = index->pool;

	bool open = false;
	int err;

	count_wait(pool);
	err = wait_event_state(pool->gates->wait,
			       (open = !(atomic_read(gate) & CLOSED)) ||
			       is_hopeless(pool), wort_pool_waiting(pool));
	return open ? 0 : gave_up(pool, err);
}

static bool head_take(struct wort_gates *gates, u32 *head)
{
	bool taken;

	spin_lock(&gates->lock);
	taken = ~gates->heads;
	if (taken) {
		*head = __ffs64(~gates->heads);
		gates->heads |= BIT_ULL(*head);
	}
	spin_unlock(&gates->lock);
	return taken;
}

/**
 * wort_head_take() - Wait for a head that no batch uses
 * @pool: The pool, whose gates are on.
 * @head: Told: its number.
 *
 * Context: May sleep, killably, in no section.  The caller may keep gates
 * closed: a batch with a head waits for no gate.
 * Return: 0; -EINTR; -EROFS if the pool became read-only; -ENODEV if it is
 * being detached.
 */
int wort_head_take(struct wort_pool *pool, u32 *head)
{
	struct wort_gates *gates = pool->gates;
	bool taken = false;
	int err;

	err = wait_event_state(gates->wait, (taken = head_take(gates, head)) ||
			       is_hopeless(pool), wort_pool_waiting(pool));
	return taken ? 0 : gave_up(pool, err);
}

/**
 * wort_head_give() - A batch does not use its head any more
 * @pool: The pool.
 * @head: Its number.
 *
 * Context: Any context.
 */
void wort_head_give(struct wort_pool *pool, u32 head)
{
	struct wort_gates *gates = pool->gates;

	spin_lock(&gates->lock);
	gates->heads &= ~BIT_ULL(head);
	spin_unlock(&gates->lock);
	wake_up_all(&gates->wait);
}

/**
 * wort_redo_register() - Let lookups find a redo list
 * @pool: The pool.
 * @redo: The list, whose gates are closed.
 *
 * It does not answer yet.  Readers in a mapping ask the kernel from now on.
 *
 * Context: Any context.
 */
void wort_redo_register(struct wort_pool *pool, struct wort_redo *redo)
{
	struct wort_gates *gates = pool->gates;

	rcu_assign_pointer(gates->redo[redo->head], redo);
	atomic_inc(&gates->registered);
	wort_locks_ask(&pool->locks, true);
}

/**
 * wort_redo_answer() - Let lookups answer from a redo list
 * @pool: The pool.
 * @redo: The list; the batch is committed, and durable.
 *
 * This is the moment at which the batch takes effect.
 *
 * Context: Any context.
 */
void wort_redo_answer(struct wort_pool *pool, struct wort_redo *redo)
{
	struct wort_gates *gates = pool->gates;

	WRITE_ONCE(gates->answering[redo->head],
		   atomic64_inc_return(&gates->nr));
	/* pairs with the acquire in answer_listed() */
	smp_store_release(&redo->answers, true);
}

/**
 * wort_redo_unregister() - Lookups need a redo list no more
 * @pool: The pool.
 * @redo: The list, whose changes are in the trees, and durable.  It is freed
 *	after a grace period.
 *
 * Context: Any context.
 */
void wort_redo_unregister(struct wort_pool *pool, struct wort_redo *redo)
{
	struct wort_gates *gates = pool->gates;

	/*
	 * Its changes are visible before it goes: pairs with the barriers
	 * before trees are read.
	 */
	smp_wmb();
	RCU_INIT_POINTER(gates->redo[redo->head], NULL);
	WRITE_ONCE(gates->answering[redo->head], 0);
	atomic_dec(&gates->registered);
	wort_locks_ask(&pool->locks, false);
	wake_up_all(&gates->wait);
}

/**
 * wort_redo_wait() - Wait for the batches that have taken effect
 * @pool: The pool.
 *
 * For those that are still being carried out.  Whoever reads the trees
 * afterwards finds all their changes.
 *
 * Context: May sleep, killably, in no section.
 * Return: 0; 1 if some go on answering, because nothing can be changed any
 * more: what reads the trees has to look into their lists first; -EINTR.
 */
int wort_redo_wait(struct wort_pool *pool)
{
	struct wort_gates *gates = gates_of(pool);
	u64 nr;
	u32 i;

	for (i = 0; gates && i < WORT_MEDIA_NR_HEADS; i++) {
		nr = READ_ONCE(gates->answering[i]);
		if (!nr)
			continue;
		count_wait(pool);
		if (wait_event_state(gates->wait,
				     READ_ONCE(gates->answering[i]) != nr ||
					     is_hopeless(pool),
				     wort_pool_waiting(pool)))
			return -EINTR;
		if (READ_ONCE(gates->answering[i]) == nr)
			return 1;
	}
	/* pairs with wort_redo_unregister() */
	smp_rmb();
	return 0;
}
