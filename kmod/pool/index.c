// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Operations on an index.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/nospec.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "../core/pmem.h"
#include "gate.h"
#include "group.h"

/* What makes no sense is met so often before it is looked at alone. */
#define MAX_SUSPICIOUS	8

/*
 * Sections.  Sparse cannot follow those that begin and end in functions of
 * their own, and is told that there are none.
 */
static __always_inline void reading_begin(void)
{
	rcu_read_lock();
	__release(RCU);
}

static __always_inline void reading_end(void)
{
	__acquire(RCU);
	rcu_read_unlock();
}

static __always_inline int writing_begin(struct wort_pool *pool)
{
	int section = srcu_read_lock(&pool->locks.writers);

	__release(&pool->locks.writers);
	return section;
}

static __always_inline void writing_end(struct wort_pool *pool, int section)
{
	__acquire(&pool->locks.writers);
	srcu_read_unlock(&pool->locks.writers, section);
}

/* Wait without a section while somebody wants to be alone. */
static noinline int wait_thawed(struct wort_pool *pool, struct wort_op *op)
{
	int err;

	do {
		writing_end(pool, op->section);
		err = wort_pool_wait_thawed(pool);
		if (err)
			return err;
		op->section = writing_begin(pool);
	} while (READ_ONCE(pool->frozen));
	return 0;
}

static __always_inline bool may_write(enum wort_entry entry)
{
	return entry == WORT_WRITE || entry == WORT_WRITE_ALONE;
}

/* A hold excludes changes, and not what reads alone. */
static noinline int lock_alone(struct wort_pool *pool, enum wort_entry entry)
{
	if (may_write(entry))
		return wort_pool_lock_changes(pool);
	return mutex_lock_killable(&pool->lock) ? -EINTR : 0;
}

static __always_inline int entry_begin(struct wort_pool *pool,
				       struct wort_op *op,
				       enum wort_entry entry)
{
	int err;

	if (entry == WORT_WRITE) {
		op->section = writing_begin(pool);
		return unlikely(READ_ONCE(pool->frozen)) ?
		       wait_thawed(pool, op) : 0;
	}
	if (entry != WORT_READ) {
		err = lock_alone(pool, entry);
		if (err)
			return err;
		wort_pool_freeze(pool);
	}
	/*
	 * Freed objects go back after its section, so a change needs one, also
	 * alone.
	 */
	if (entry == WORT_WRITE_ALONE)
		op->section = writing_begin(pool);
	else
		reading_begin();
	return 0;
}

static __always_inline void entry_end(struct wort_pool *pool,
				      struct wort_op *op,
				      enum wort_entry entry)
{
	if (may_write(entry))
		writing_end(pool, op->section);
	else
		reading_end();
	if (entry > WORT_WRITE) {
		wort_pool_thaw(pool);
		mutex_unlock(&pool->lock);
	}
}

/*
 * Wait without a section, and with no writer excluded, until the index can be
 * used.
 */
static noinline int wait_usable(struct wort_index *index, struct wort_op *op,
				enum wort_entry entry)
{
	int err;

	do {
		entry_end(index->pool, op, entry);
		err = wort_rebuild_wait(index);
		if (!err)
			err = entry_begin(index->pool, op, entry);
		if (err)
			return err;
	} while (READ_ONCE(index->shut));
	return 0;
}

/*
 * As wort_index_enter(), for single operations, which are short.  @key: what is
 * going to be changed, or NULL.
 */
static __always_inline int enter(struct wort_index *index, struct wort_op *op,
				 enum wort_entry entry,
				 const struct wort_key *key)
{
	struct wort_pool *pool = index->pool;
	bool writable;
	u64 time;
	int err;

	err = entry_begin(pool, op, entry);
	if (unlikely(READ_ONCE(index->shut)) && !err)
		err = wait_usable(index, op, entry);
	if (err)
		return err;
	writable = !READ_ONCE(index->damaged) && wort_pool_writable(pool);
	if (wort_region_any_bad(pool->region))
		err = wort_index_verify(index);
	if (!err && may_write(entry) && !writable)
		err = -EROFS;
	if (unlikely(err)) {
		entry_end(pool, op, entry);
		return err;
	}
	if (key)
		index->prefetch_keys(&index->tree, key, 1);
	time = wort_locks_now(&pool->locks);
	wort_op_begin(op, pool->region, &pool->alloc);
	op->locks = &pool->locks;
	if (op->flush)
		op->in_flight = op->locks->in_flight;
	op->alone = entry > WORT_WRITE;
	op->time = time;
	return 0;
}

/* Did an operation come to its end?  Otherwise it will be begun again. */
static __always_inline bool counts(int err)
{
	return likely(!err) || (err != -EAGAIN && err != -EINPROGRESS);
}

/**
 * wort_index_account() - Add to the costs of operations on an index
 * @index: The index, held and opened.
 * @type: WORT_OP_*.
 * @n: What an operation has cost.
 *
 * Context: Any context.
 */
void wort_index_account(struct wort_index *index, u32 type,
			const struct wort_counts *n)
{
	wort_costs_add(index->stats, type, n);
}

static noinline void damage_met(struct wort_index *index)
{
	mutex_lock(&index->lock);
	wort_index_set_damaged(index, true);
	mutex_unlock(&index->lock);
}

/* As wort_index_exit(). */
static __always_inline void leave(struct wort_index *index, struct wort_op *op,
				  enum wort_entry entry, u32 type, int err)
{
	if (may_write(entry))
		wort_op_end(op);
	entry_end(index->pool, op, entry);
	if (!may_write(entry))
		wort_op_end_read(op);
	if (unlikely(err == -EUCLEAN || op->damaged))
		damage_met(index);
	if (counts(err))
		wort_costs_add(index->stats, type, &op->n);
}

/**
 * wort_index_enter() - Begin an operation on an index
 * @index: The index, held and opened.
 * @op: Uninitialised memory of the caller.
 * @entry: How it is beside others.
 *
 * Waits if what the engine keeps in DRAM has to be made first.
 *
 * Context: May sleep.  What follows until wort_index_exit() does not sleep if
 * @entry is for reading, and takes no mutex but wort_alloc.lock.
 * Return: 0; -ESTALE if it was destroyed; -EIO if its root lies on a page known
 * to be bad; -EROFS; -EINTR; -ENOMEM; -ENODEV if the pool is being detached.
 */
int wort_index_enter(struct wort_index *index, struct wort_op *op,
		     enum wort_entry entry)
{
	return enter(index, op, entry, NULL);
}

/**
 * wort_index_exit() - End an operation on an index
 * @index: The index.
 * @op: The operation.
 * @entry: As it was begun.
 * @type: WORT_OP_*.
 * @err: How it ended.  -EUCLEAN turns the index read-only, and so does
 *	wort_op.damaged.
 *
 * Context: May sleep.
 * Return: @err.
 */
int wort_index_exit(struct wort_index *index, struct wort_op *op,
		    enum wort_entry entry, u32 type, int err)
{
	leave(index, op, entry, type, err);
	return err;
}

/**
 * wort_index_join() - Begin another operation where one is under way
 * @index: The index.
 * @op: Uninitialised memory of the caller.
 * @first: The operation under way, entered with WORT_WRITE.
 *
 * Context: The same task.  wort_index_leave() is due before that of @first
 * ends.
 */
void wort_index_join(struct wort_index *index, struct wort_op *op,
		     const struct wort_op *first)
{
	wort_op_begin(op, first->region, first->alloc);
	op->locks = first->locks;
	op->in_flight = first->in_flight;
	op->flush = first->flush;
	op->alone = first->alone;
	op->purse = first->purse;
	op->time = wort_locks_now(op->locks);
}

/**
 * wort_index_leave() - End an operation that joined another one
 * @index: The index, held and opened, perhaps by the pool itself.
 * @op: The operation.
 * @type: WORT_OP_*.
 * @err: How it ended; -EAGAIN: it will be begun again and does not count.
 *
 * Context: May sleep.
 */
void wort_index_leave(struct wort_index *index, struct wort_op *op, u32 type,
		      int err)
{
	struct wort_index_stats __percpu *stats;

	/* A program may open the index while the pool uses it: pairs with index_opened(). */
	stats = smp_load_acquire(&index->stats);
	wort_op_end(op);
	if (unlikely(err == -EUCLEAN || op->damaged))
		damage_met(index);
	if (counts(err) && stats)
		wort_costs_add(stats, type, &op->n);
}

/**
 * wort_committed_enter() - Begin an operation that carries out what is committed
 * @pool: The pool.
 * @op: Uninitialised memory of the caller.
 * @alone: Exclude other writers.
 *
 * Others join it.  It is not killable, and begins also if the pool is read-only
 * because damage was found meanwhile.
 *
 * Context: May sleep, in no section.  With @alone holds wort_pool.lock until
 * wort_committed_exit().
 */
void wort_committed_enter(struct wort_pool *pool, struct wort_op *op,
			  bool alone)
{
	if (alone) {
		mutex_lock(&pool->lock);
		wort_pool_freeze(pool);
	}
	op->section = writing_begin(pool);
	while (!alone && READ_ONCE(pool->frozen)) {
		writing_end(pool, op->section);
		wait_event_state(pool->work_done, !READ_ONCE(pool->frozen),
				 TASK_UNINTERRUPTIBLE);
		op->section = writing_begin(pool);
	}
	wort_op_begin(op, pool->region, &pool->alloc);
	op->locks = &pool->locks;
	if (op->flush)
		op->in_flight = op->locks->in_flight;
	op->alone = alone;
	op->time = wort_locks_now(&pool->locks);
}

/**
 * wort_committed_exit() - End an operation that carries out what is committed
 * @pool: The pool.
 * @op: The operation.
 * @alone: As it was begun.
 *
 * Context: May sleep.
 */
void wort_committed_exit(struct wort_pool *pool, struct wort_op *op, bool alone)
{
	wort_op_end(op);
	writing_end(pool, op->section);
	if (alone) {
		wort_pool_thaw(pool);
		mutex_unlock(&pool->lock);
	}
}

/**
 * wort_index_pause() - Let memory be used again during a long operation
 * @index: The index.
 *
 * For one that only reads.  What it has seen of the tree it may not touch any
 * more.
 *
 * Context: May sleep.
 * Return: 0; an errno of wort_index_enter(): wort_index_exit() is due all the
 * same.
 */
int wort_index_pause(struct wort_index *index)
{
	int err = 0;

	reading_end();
	cond_resched();
	reading_begin();
	/* Not while writers are excluded: see wort_rebuild_again(). */
	while (unlikely(READ_ONCE(index->shut)) && !err) {
		reading_end();
		err = wort_rebuild_wait(index);
		reading_begin();
	}
	return err ?: wort_index_verify(index);
}

/**
 * wort_index_again() - Shall an operation begin again where it is?
 * @index: The index.
 * @op: The operation, entered.
 * @err: How it ended.
 *
 * What it saw was changed before it could lock it, or makes no sense, for which
 * a writer beside it may be the reason.  Whoever gets -EAGAIN and false enters
 * again to be alone, and then knows.
 *
 * Context: As the operation.
 * Return: True if it shall.
 */
bool wort_index_again(struct wort_index *index, struct wort_op *op, int err)
{
	if (likely(err != -EAGAIN))
		return false;
	wort_op_again(op);
	op->time = wort_locks_now(op->locks);
	return op->suspicious < MAX_SUSPICIOUS;
}

/**
 * wort_index_kick() - Something was freed
 * @index: The index.
 *
 * Gives freed objects back before there are too many of them, and tries a walk
 * again that had no memory.
 *
 * Context: Any context but interrupts.
 */
void wort_index_kick(struct wort_index *index)
{
	struct wort_pool *pool = index->pool;
	struct wort_alloc *alloc = &pool->alloc;
	u64 size = (u64)alloc->geo.nr_extents << alloc->geo.extent_shift;

	if (READ_ONCE(alloc->freeing_bytes) +
			    atomic64_read(&alloc->parts_bytes) >
		    min_t(u64, size / 64, 1 << 20) ||
	    READ_ONCE(pool->work_err))
		wort_pool_kick(pool);
}

static int key_verify(const struct wort_key *key)
{
	if (likely(wort_key_valid(key)))
		return 0;
	return key->len ? -EMSGSIZE : -EINVAL;
}

static int value_verify(const struct wort_value *value)
{
	return value && value->len > WORT_VALUE_MAX ? -EMSGSIZE : 0;
}

/* An old value counts only where the operation came to its end. */
static void settle_old(struct wort_buf *old, int err)
{
	if (old && err && err != -EEXIST && err != -ECANCELED && err != -ERANGE)
		old->len = WORT_NO_VALUE;
}

static __always_inline int put_once(struct wort_index *index,
				    struct wort_op *op, struct wort_put *put,
				    enum wort_entry entry)
{
	int err;

	err = enter(index, op, entry, &put->key);
	if (err)
		return err;
	do {
		if (put->old)
			put->old->len = WORT_NO_VALUE;
		err = READ_ONCE(index->engine)->put(op, &index->tree, put);
	} while (unlikely(wort_index_again(index, op, err)));
	leave(index, op, entry, put->replaced ? WORT_OP_UPDATE : WORT_OP_INSERT,
	      err);
	return err;
}

/*
 * Wait, in no section, for what has kept an operation from being carried out:
 * an atomic batch with the key, or space that is about to be given back.  0:
 * try again.
 */
static noinline int wait_for(struct wort_index *index,
			     const struct wort_key *key,
			     const struct wort_op *op, int err)
{
	if (err == -EINPROGRESS)
		return wort_gate_wait(index, key);
	return err == -ENOSPC ? wort_pool_wait_space(index->pool, op) : err;
}

static int put_waiting(struct wort_index *index, struct wort_put *put)
{
	struct wort_op op __uninitialized;
	int err;

	do {
		err = put_once(index, &op, put, WORT_WRITE);
		if (unlikely(err == -EAGAIN))
			err = put_once(index, &op, put, WORT_WRITE_ALONE);
	} while (unlikely(err) &&
		 !(err = wait_for(index, &put->key, &op, err)));
	return err;
}

/*
 * In a section: may an operation change something, and need not wait for
 * others?
 */
static __always_inline bool may_change(struct wort_pool *pool)
{
	return likely(!READ_ONCE(pool->frozen) && wort_pool_writable(pool));
}

/* Without an operation, as lookup_plainly(). */
static __always_inline int put_plainly(struct wort_index *index,
				       struct wort_put *put)
{
	struct wort_pool *pool = index->pool;
	int section = writing_begin(pool), err = -EAGAIN;
	wort_fast_put_fn *fast_put = READ_ONCE(index->fast_put);

	if (may_change(pool))
		err = fast_put(&index->tree, put, index->stats);
	writing_end(pool, section);
	return err;
}

static noinline int put_carefully(struct wort_index *index,
				  struct wort_put *put)
{
	int err = key_verify(&put->key);

	if (!err)
		err = value_verify(&put->value) ?: value_verify(put->expect);
	if (!err)
		err = put_waiting(index, put);
	settle_old(put->old, err);
	return err;
}

/**
 * wort_index_insert() - Store a record
 * @index: The index, held.
 * @put: The record, in memory that does not change meanwhile.
 *
 * Durable when the call returns 0; otherwise the record was not changed.  The
 * length of an old value that was asked for is told with 0, -EEXIST, -ECANCELED
 * and -ERANGE; it is WORT_NO_VALUE if there was none, and with any other error.
 *
 * Context: May sleep; waits for the walk or for freed objects if the pool
 * seems full.
 * Return: 0; -EINVAL or -EMSGSIZE for a length; -EEXIST, -ENOENT, -ECANCELED
 * as struct wort_put asks; -ERANGE if the old value does not fit; -ENOSPC;
 * -ENOMEM; -ESTALE; -EROFS; -EUCLEAN; -EIO; -EINTR; -ENODEV if the pool is
 * being detached.
 */
int wort_index_insert(struct wort_index *index, struct wort_put *put)
{
	int err = put_plainly(index, put);

	if (unlikely(err == -EAGAIN))
		err = put_carefully(index, put);
	/* Nodes may have been freed, also where the key was not there. */
	if (!err)
		wort_index_kick(index);
	return err;
}

static int lookup_once(struct wort_index *index, const struct wort_key *key,
		       struct wort_buf *buf, enum wort_entry entry)
{
	struct wort_op op __uninitialized;
	int err = enter(index, &op, entry, NULL);

	if (err)
		return err;
	if (buf->relaxed)
		wort_op_relax(&op);
	do
		err = READ_ONCE(index->engine)->lookup(&op, &index->tree, key, buf);
	while (unlikely(wort_index_again(index, &op, err)));
	leave(index, &op, entry, WORT_OP_LOOKUP, err);
	return err;
}

static noinline int lookup_carefully(struct wort_index *index,
				     const struct wort_key *key,
				     struct wort_buf *buf)
{
	int err = key_verify(key);

	if (err)
		return err;
	err = lookup_once(index, key, buf, WORT_READ);
	return unlikely(err == -EAGAIN) ?
	       lookup_once(index, key, buf, WORT_READ_ALONE) : err;
}

/* Without an operation, which takes longer to begin than to look. */
static __always_inline int lookup_plainly(struct wort_index *index,
					  const struct wort_key *key,
					  struct wort_buf *buf)
{
	wort_fast_lookup_fn *fast_lookup;
	int err;

	reading_begin();
	fast_lookup = READ_ONCE(index->fast_lookup);
	err = fast_lookup(&index->tree, key, buf, index->stats);
	reading_end();
	return err;
}

/**
 * wort_index_lookup() - Read the value of a key
 * @index: The index, held.
 * @key: The key.
 * @buf: Where the value goes.
 *
 * Waits for no writer, unless it finds damage; may wait as wort_index_enter().
 *
 * Context: May sleep.
 * Return: 0; -ENOENT; -ERANGE if it does not fit, with its length in @buf;
 * -EINVAL, -EMSGSIZE, -ESTALE, -EUCLEAN, -EIO; -EINTR, if it met what may be
 * damage; -EINTR, -ENOMEM and -ENODEV as wort_index_enter().
 */
int wort_index_lookup(struct wort_index *index, const struct wort_key *key,
		      struct wort_buf *buf)
{
	int err = lookup_plainly(index, key, buf);

	return unlikely(err == -EAGAIN) ?
	       lookup_carefully(index, key, buf) : err;
}

static int delete_once(struct wort_index *index, struct wort_op *op,
		       const struct wort_del *del, enum wort_entry entry)
{
	int err = enter(index, op, entry, &del->key);

	if (err)
		return err;
	op->must_free = true;
	do
		err = READ_ONCE(index->engine)->remove(op, &index->tree, del);
	while (unlikely(wort_index_again(index, op, err)));
	leave(index, op, entry, WORT_OP_DELETE, err);
	return err;
}

static int delete_waiting(struct wort_index *index, const struct wort_del *del)
{
	struct wort_op op __uninitialized;
	int err;

	do {
		err = delete_once(index, &op, del, WORT_WRITE);
		if (unlikely(err == -EAGAIN))
			err = delete_once(index, &op, del, WORT_WRITE_ALONE);
	} while (unlikely(err) &&
		 !(err = wait_for(index, &del->key, &op, err)));
	return err;
}

static noinline int delete_carefully(struct wort_index *index,
				     const struct wort_del *del)
{
	int err = key_verify(&del->key) ?: value_verify(del->expect);

	if (!err)
		err = delete_waiting(index, del);
	settle_old(del->old, err);
	return err;
}

/* As put_plainly(). */
static __always_inline int delete_plainly(struct wort_index *index,
					  const struct wort_del *del)
{
	struct wort_pool *pool = index->pool;
	int section = writing_begin(pool), err = -EAGAIN;
	wort_fast_remove_fn *fast_remove = READ_ONCE(index->fast_remove);

	if (may_change(pool))
		err = fast_remove(&index->tree, del, index->stats);
	writing_end(pool, section);
	return err;
}

/**
 * wort_index_delete() - Remove a record
 * @index: The index, held.
 * @key: The key.
 * @expect: Remove it only if this is its value; NULL: whatever it is.
 * @old: Where its value goes, told as by wort_index_insert(); NULL: nowhere.
 *
 * Durable when the call returns 0; otherwise the record was not removed.  Needs
 * no space, but for an engine with WORT_TRAIT_DELETE_SPACE: there it may use
 * what is kept for that, and waits for the walk or for freed objects as
 * wort_index_insert() does.
 *
 * Context: May sleep.
 * Return: 0; -ENOENT; -ECANCELED; -ERANGE; -EINVAL, -EMSGSIZE, -ESTALE, -EROFS,
 * -EUCLEAN, -EIO, -EINTR; -ENOMEM and -ENODEV as wort_index_enter(); with that
 * trait -ENOSPC, and -ENOMEM for what it reserves.
 */
int wort_index_delete(struct wort_index *index, const struct wort_key *key,
		      const struct wort_value *expect, struct wort_buf *old)
{
	struct wort_del del __uninitialized;
	int err;

	wort_del_init(&del, key, expect, old);
	err = delete_plainly(index, &del);
	if (unlikely(err == -EAGAIN))
		err = delete_carefully(index, &del);
	if (!err)
		wort_index_kick(index);
	return err;
}

/* What an operation may have, besides a key. */
static const struct rule {
	u16 flags;
	bool change;
	bool value;
} rules[] = {
	[WORT_BATCH_INSERT] = { WORT_INSERT_F_ALL, true, true },
	[WORT_BATCH_DELETE] = { WORT_DELETE_F_ALL, true, false },
	[WORT_BATCH_LOOKUP] = { },
	[WORT_BATCH_CAS] = { WORT_CAS_F_ALL, true, true },
};

/* A length that would not be looked at is a flag that was forgotten. */
static int lengths_verify(const struct wort_batch_op *op,
			  const struct rule *rule)
{
	if (!op->key_len || (op->expect_len && !wort_request_expects(op)) ||
	    (op->value_len && !rule->value) ||
	    (op->max_len && !wort_request_answers(op)))
		return -EINVAL;
	return op->key_len > WORT_KEY_MAX || op->expect_len > WORT_VALUE_MAX ||
	       op->value_len > WORT_VALUE_MAX ? -EMSGSIZE : 0;
}

/* By all rules. */
static noinline int request_look(const struct wort_batch_op *op, bool write)
{
	const u16 either = WORT_INSERT_F_CREATE | WORT_INSERT_F_REPLACE;
	/*
	 * Of both at once a compiler makes one load, and they may just have
	 * been stored.
	 */
	const u16 nr = op->op, flags = op->flags;
	const struct rule *rule;

	if (nr >= ARRAY_SIZE(rules) || !nr)
		return -EOPNOTSUPP;
	rule = &rules[array_index_nospec(nr, ARRAY_SIZE(rules))];
	if (rule->change && !write)
		return -EBADF;
	if (flags & ~rule->flags)
		return -EOPNOTSUPP;
	if (nr == WORT_BATCH_INSERT && (flags & either) == either)
		return -EINVAL;
	return lengths_verify(op, rule);
}

/**
 * wort_request_verify() - May an operation be asked for like this?
 * @op: The operation; its rec_len does not count.
 * @write: The descriptor is open for writing.
 *
 * Context: Any context.
 * Return: 0; -EOPNOTSUPP for an unknown operation or flag; -EBADF for a change
 * without @write; -EINVAL for flags that exclude each other, a key without
 * bytes or a length that the operation does not have; -EMSGSIZE.
 */
int wort_request_verify(const struct wort_batch_op *op, bool write)
{
	const u16 nr = op->op;

	/*
	 * A processor runs ahead as far as it has registers, so lookups and
	 * inserts without flags, which most are, are verified by what they may
	 * have, and not by the rules.
	 */
	if (likely(!op->flags && !op->expect_len &&
		   op->key_len - 1 < WORT_KEY_MAX)) {
		if (nr == WORT_BATCH_LOOKUP && !op->value_len)
			return 0;
		if (nr == WORT_BATCH_INSERT && !op->max_len &&
		    op->value_len <= WORT_VALUE_MAX && write)
			return 0;
	}
	return request_look(op, write);
}

static const struct wort_value *expect_of(const struct wort_request *req)
{
	return wort_request_expects(&req->op) ? &req->expect : NULL;
}

static struct wort_buf *old_of(struct wort_request *req)
{
	return wort_request_answers(&req->op) ? &req->answer : NULL;
}

/* The put that it is. */
static __always_inline struct wort_put *put_of(struct wort_request *req)
{
	struct wort_put *put = &req->put;

	wort_put_flags(put, req->op.flags);
	put->expect = expect_of(req);
	put->old = old_of(req);
	return put;
}

/* It could not look plainly. */
static noinline int request_lookup_carefully(struct wort_index *index,
					     struct wort_request *req)
{
	int err = lookup_carefully(index, &req->put.key, &req->answer);

	settle_old(&req->answer, err);
	return err;
}

static __always_inline int request_lookup(struct wort_index *index,
					  struct wort_request *req)
{
	int err = lookup_plainly(index, &req->put.key, &req->answer);

	return unlikely(err == -EAGAIN) ? request_lookup_carefully(index, req) :
					  err;
}

/* An insert without flags has no more than a key and a value. */
static __always_inline int request_insert(struct wort_index *index,
					  struct wort_request *req)
{
	wort_put_flags(&req->put, 0);
	return wort_index_insert(index, &req->put);
}

static noinline int request_change(struct wort_index *index,
				   struct wort_request *req)
{
	if (req->op.op != WORT_BATCH_DELETE)
		return wort_index_insert(index, put_of(req));
	return wort_index_delete(index, &req->put.key, expect_of(req),
				 old_of(req));
}

/**
 * wort_request_run() - Carry out an operation as a program asks for it
 * @index: The index, held.
 * @req: The operation, for which wort_request_verify() holds.
 *
 * Context: As wort_index_insert().
 * Return: What wort_index_insert(), wort_index_delete() or
 * wort_index_lookup() returns.
 */
int wort_request_run(struct wort_index *index, struct wort_request *req)
{
	const u16 nr = req->op.op;

	req->answer.len = WORT_NO_VALUE;
	if (nr == WORT_BATCH_LOOKUP)
		return request_lookup(index, req);
	if (nr == WORT_BATCH_INSERT && !req->op.flags)
		return request_insert(index, req);
	return request_change(index, req);
}

/**
 * wort_request_prepare() - Prepare an operation as a program asks for it
 * @m: The operation, begun in a group; wort_request_verify() holds for its
 *	request.  Its change is due if this returns 0, unless it is a lookup.
 *
 * The engine has batch_ops.
 *
 * Context: May sleep.  Does not wait for space.
 * Return: As wort_request_run(); -EAGAIN; -EINPROGRESS.
 */
int wort_request_prepare(struct wort_member *m)
{
	struct wort_tree *tree = &m->index->tree;
	struct wort_change *change = &m->change;
	struct wort_request *req = &m->req;
	int err;

	req->answer.len = WORT_NO_VALUE;
	change->put = NULL;
	change->del = NULL;
	if (req->op.op == WORT_BATCH_LOOKUP) {
		m->type = WORT_OP_LOOKUP;
		if (req->answer.relaxed)
			wort_op_relax(&m->op);
		err = m->engine->lookup(&m->op, tree, &req->put.key,
					&req->answer);
	} else if (req->op.op == WORT_BATCH_DELETE) {
		m->type = WORT_OP_DELETE;
		wort_del_init(&req->del, &req->put.key, expect_of(req),
			      old_of(req));
		change->del = &req->del;
		err = m->engine->batch_ops->prepare(&m->op, tree, change);
	} else {
		change->put = put_of(req);
		err = m->engine->batch_ops->prepare(&m->op, tree, change);
		m->type = req->put.replaced ? WORT_OP_UPDATE : WORT_OP_INSERT;
	}
	settle_old(&req->answer, err);
	return err;
}
