// SPDX-License-Identifier: GPL-2.0-only
/*
 * Indexes for other kernel code: the only symbols that the module exports.
 *
 * A handle holds what an open descriptor holds: the struct of the device, the
 * index, the module.  Detach and removal end what the device stands for, not
 * the handle: its calls return -ENODEV from then on, and closing it stays due.
 *
 * Callers may hold locks that whoever makes room in memory waits for, or be
 * that one themselves.  So no call on records waits until memory was written
 * out.  What it allocates itself is in a scope; what others allocate while they
 * hold a lock that it needs is their care, see pool.h, and lockdep is told.
 *
 * No code of the caller's runs inside a call: it would run under the lock of
 * an index, and removal would wait for it.
 */
#include <linux/err.h>
#include <linux/lockdep.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/wort_kernel.h>

#include "cmd.h"
#include "wort_dev.h"

struct wort_kernel_pool {
	struct wort_dev *wdev;
};

struct wort_kernel_index {
	struct wort_dev *wdev;
	struct wort_index *index;
	bool relaxed;
};

/* Begin to touch the memory, and to allocate without input and output. */
static bool enter(struct wort_dev *wdev, unsigned int *noio)
{
	if (!wort_dax_enter(wdev->dax))
		return false;
	*noio = memalloc_noio_save();
	return true;
}

static void leave(struct wort_dev *wdev, unsigned int noio)
{
	memalloc_noio_restore(noio);
	wort_dax_exit(wdev->dax);
}

/*
 * These locks are taken where room is made in memory, even if nobody has done
 * so yet.  From now on lockdep reports any allocation under them that may wait
 * for them.
 */
static void teach_lockdep(struct wort_pool *pool, struct wort_index *index)
{
	fs_reclaim_acquire(GFP_KERNEL);
	might_lock_read(&pool->gates_sem);
	might_lock_read(&pool->atomic_sem);
	might_lock(&pool->lock);
	might_lock(&index->lock);
	might_lock(&pool->alloc.lock);
	fs_reclaim_release(GFP_KERNEL);
}

static struct wort_buf old_buf(const struct wort_kernel_old *old)
{
	return (struct wort_buf){
		.data = old->data, .size = old->size, .len = WORT_NO_VALUE,
	};
}

/**
 * wort_kernel_pool_open() - Get a handle of an attached pool
 * @name: Its number, "0" for /dev/wort0; or the name of its block device,
 *	"pmem0"; or its UUID in the usual form.
 *
 * Attaching it is the administrator's business.  A pool whose device is gone
 * is not found, also while it is still listed.  Of several pools with one UUID
 * (copies of a device) the one with the smallest number is found.
 *
 * Context: May sleep.  Not where room is made in memory.
 * Return: The handle, to be closed by wort_kernel_pool_close(); or an ERR_PTR:
 * -ENOENT if no such pool is attached; -ENOMEM.
 */
struct wort_kernel_pool *wort_kernel_pool_open(const char *name)
{
	struct wort_kernel_pool *pool = kmalloc(sizeof(*pool), GFP_KERNEL);

	if (!pool)
		return ERR_PTR(-ENOMEM);
	pool->wdev = wort_dev_find(name);
	if (!pool->wdev) {
		kfree(pool);
		return ERR_PTR(-ENOENT);
	}
	__module_get(THIS_MODULE);
	return pool;
}
EXPORT_SYMBOL_NS_GPL(wort_kernel_pool_open, WORT_NS);

/**
 * wort_kernel_pool_close() - Let go of a pool
 * @pool: The handle.  Indexes opened through it stay open.
 *
 * Context: May sleep.
 */
void wort_kernel_pool_close(struct wort_kernel_pool *pool)
{
	put_device(&pool->wdev->dev);
	kfree(pool);
	module_put(THIS_MODULE);
}
EXPORT_SYMBOL_NS_GPL(wort_kernel_pool_close, WORT_NS);

static int name_verify(const char *name)
{
	size_t len = strnlen(name, WORT_NAME_MAX + 1);

	if (!len)
		return -EINVAL;
	return len > WORT_NAME_MAX ? -EMSGSIZE : 0;
}

static int open_verify(const char *name, u32 flags)
{
	bool create = flags & WORT_INDEX_OPEN_F_CREATE;
	const u32 known = (WORT_INDEX_OPEN_F_ALL & ~WORT_INDEX_OPEN_F_RDONLY) |
			  WORT_KERNEL_OPEN_F_OWN;

	BUILD_BUG_ON(WORT_KERNEL_OPEN_F_OWN != WORT_INDEX_OPEN_F_OWN);
	if (flags & ~known)
		return -EOPNOTSUPP;
	if (flags & WORT_INDEX_OPEN_F_EXCL && !create)
		return -EINVAL;
	return name_verify(name);
}

static int open_named(struct wort_dev *wdev, const char *name, u32 flags,
		      u32 engine, struct wort_index **out)
{
	struct wort_pool *pool;
	int err;

	if (!wort_dax_enter(wdev->dax))
		return -ENODEV;
	pool = wdev->dax->pool;
	err = wort_index_open(pool, name, strlen(name), flags, engine, 0, out);
	if (!err)
		teach_lockdep(pool, *out);
	wort_dax_exit(wdev->dax);
	return err;
}

/**
 * wort_kernel_index_open() - Get a handle of an index, or make a new one
 * @pool: The pool.
 * @name: Name of the index, 1 to WORT_NAME_MAX bytes and a zero.
 * @flags: WORT_INDEX_OPEN_F_CREATE: make it when absent; with
 *	WORT_INDEX_OPEN_F_EXCL: only if it is.  WORT_INDEX_OPEN_F_RELAXED: what
 *	is read may rest on a change that is not durable yet.
 *	WORT_KERNEL_OPEN_F_OWN: it is not open otherwise, here or in a program,
 *	and other calls that open, rename or destroy it fail until the handle is
 *	closed.
 * @engine: WORT_ENGINE_*; of an index that exists it must be its own or
 *	DEFAULT.
 *
 * A new index is durable when the call returns.  Without OWN any number of
 * handles may be open, here and in programs.
 *
 * Context: May sleep, killably.  Not where room is made in memory.
 * Return: The handle, to be closed by wort_kernel_index_close(); or an ERR_PTR:
 * -ENOENT, -EEXIST; -EBUSY if another opening has OWN, or with OWN if there is
 * another one; -EINVAL for an empty name, EXCL without CREATE or another
 * engine; -EMSGSIZE for a longer name; -EOPNOTSUPP for an unknown flag or
 * engine; -EROFS; -ENOSPC; -ENOMEM; -EINTR; -EUCLEAN; -EIO; -ENODEV.
 */
struct wort_kernel_index *
wort_kernel_index_open(struct wort_kernel_pool *pool, const char *name,
		       u32 flags, u32 engine)
{
	struct wort_kernel_index *index;
	int err = open_verify(name, flags);

	if (err)
		return ERR_PTR(err);
	index = kmalloc(sizeof(*index), GFP_KERNEL);
	if (!index)
		return ERR_PTR(-ENOMEM);
	err = open_named(pool->wdev, name, flags, engine, &index->index);
	if (err) {
		kfree(index);
		return ERR_PTR(err);
	}
	index->wdev = pool->wdev;
	index->relaxed = flags & WORT_INDEX_OPEN_F_RELAXED;
	get_device(&index->wdev->dev);
	__module_get(THIS_MODULE);
	return index;
}
EXPORT_SYMBOL_NS_GPL(wort_kernel_index_open, WORT_NS);

/**
 * wort_kernel_index_close() - Let go of an index
 * @index: The handle; no call on it is under way.
 *
 * Stores nothing: what was acknowledged is durable already.
 *
 * Context: May sleep.
 */
void wort_kernel_index_close(struct wort_kernel_index *index)
{
	wort_index_put(index->index);
	put_device(&index->wdev->dev);
	kfree(index);
	module_put(THIS_MODULE);
}
EXPORT_SYMBOL_NS_GPL(wort_kernel_index_close, WORT_NS);

/**
 * wort_kernel_index_destroy() - Destroy an index
 * @pool: The pool.
 * @name: Name of the index.
 *
 * Durable, and the name free, when the call returns.  Open handles of the index
 * answer -ESTALE.  The space is given back in the background.
 *
 * Context: May sleep, killably.
 * Return: 0; -ENOENT; -EBUSY if a handle owns it; -EINVAL, -EMSGSIZE for the
 * name; -EROFS; -EIO, -EUCLEAN as wort_index_destroy() has them; -EINTR;
 * -ENODEV.
 */
int wort_kernel_index_destroy(struct wort_kernel_pool *pool, const char *name)
{
	struct wort_dax *dax = pool->wdev->dax;
	int err = name_verify(name);

	if (err)
		return err;
	if (!wort_dax_enter(dax))
		return -ENODEV;
	err = wort_index_destroy(dax->pool, name, strlen(name));
	wort_dax_exit(dax);
	return err;
}
EXPORT_SYMBOL_NS_GPL(wort_kernel_index_destroy, WORT_NS);

/**
 * wort_kernel_index_rename() - Give an index another name
 * @pool: The pool.
 * @from: Its name.
 * @to: The new name, 1 to WORT_NAME_MAX bytes and a zero, which no index has.
 *
 * Durable when the call returns; after a power cut the index has one of the two
 * names.  Open handles go on.
 *
 * Context: May sleep, killably.  Not where room is made in memory.
 * Return: 0; -ENOENT; -EBUSY if a handle owns it; -EEXIST if an index has the
 * new name, also this one; -EINVAL, -EMSGSIZE for a name; -EOPNOTSUPP if the
 * engine of the index is unknown; -EROFS; -ENOSPC; -ENOMEM; -EINTR; -EUCLEAN;
 * -EIO; -ENODEV.
 */
int wort_kernel_index_rename(struct wort_kernel_pool *pool, const char *from,
			     const char *to)
{
	struct wort_dax *dax = pool->wdev->dax;
	int err = name_verify(from) ?: name_verify(to);

	if (err)
		return err;
	if (!wort_dax_enter(dax))
		return -ENODEV;
	err = wort_index_rename(dax->pool, from, strlen(from), to, strlen(to));
	wort_dax_exit(dax);
	return err;
}
EXPORT_SYMBOL_NS_GPL(wort_kernel_index_rename, WORT_NS);

static int insert(struct wort_kernel_index *index, struct wort_put *put)
{
	unsigned int noio;
	int err;

	if (!enter(index->wdev, &noio))
		return -ENODEV;
	err = wort_index_insert(index->index, put);
	leave(index->wdev, noio);
	return err;
}

/**
 * wort_kernel_insert_fetch() - Store a record, and tell what was there
 * @index: The index.
 * @key: 1 to WORT_KEY_MAX bytes.
 * @value: 0 to WORT_VALUE_MAX bytes.
 * @expect: Change the record only if this is its value now: compare and swap;
 *	NULL: whatever it is, or is not there.
 * @flags: WORT_INSERT_F_CREATE, WORT_INSERT_F_REPLACE or neither; with @expect
 *	not CREATE.
 * @old: Where the value goes that was there; NULL: nowhere.
 *
 * Durable when the call returns 0; otherwise nothing was changed.  The old
 * value is read in one step with the change.  It also comes back where it is
 * the reason that nothing was changed: with -EEXIST and -ECANCELED.
 *
 * Context: May sleep, killably while the pool seems full or is examined.
 * Allocates without input and output, and not always.
 * Return: 0; -EEXIST with CREATE; -ENOENT with REPLACE or @expect; -ECANCELED
 * if the value is not @expect; -ERANGE if the old value does not fit; -EINVAL,
 * -EMSGSIZE for a length; -EINVAL for flags that contradict each other;
 * -EOPNOTSUPP for others; -ENOSPC; -ENOMEM; -EINTR; -ESTALE; -EROFS; -EUCLEAN;
 * -EIO; -ENODEV.
 */
int wort_kernel_insert_fetch(struct wort_kernel_index *index,
			     const struct wort_kernel_bytes *key,
			     const struct wort_kernel_bytes *value,
			     const struct wort_kernel_bytes *expect, u32 flags,
			     struct wort_kernel_old *old)
{
	struct wort_key k = { key->data, key->len };
	struct wort_value v = { value->data, value->len };
	struct wort_put put __uninitialized;
	struct wort_value seen;
	struct wort_buf buf;
	int err;

	if (old)
		old->len = WORT_NO_VALUE;
	if (flags & ~(WORT_INSERT_F_CREATE | WORT_INSERT_F_REPLACE))
		return -EOPNOTSUPP;
	wort_put_init(&put, &k, &v, flags);
	if (put.create && (put.replace || expect))
		return -EINVAL;
	if (expect) {
		seen = (struct wort_value){ expect->data, expect->len };
		put.expect = &seen;
	}
	if (old) {
		buf = old_buf(old);
		put.old = &buf;
	}
	err = insert(index, &put);
	if (old)
		old->len = buf.len;
	return err;
}
EXPORT_SYMBOL_NS_GPL(wort_kernel_insert_fetch, WORT_NS);

/**
 * wort_kernel_insert() - Store a record
 * @index: The index.
 * @key: 1 to WORT_KEY_MAX bytes.
 * @value: 0 to WORT_VALUE_MAX bytes.
 * @expect: As of wort_kernel_insert_fetch().
 * @flags: As of wort_kernel_insert_fetch().
 *
 * Durable when the call returns 0; otherwise nothing was changed.
 *
 * Context: As wort_kernel_insert_fetch().
 * Return: As wort_kernel_insert_fetch(), but not -ERANGE.
 */
int wort_kernel_insert(struct wort_kernel_index *index,
		       const struct wort_kernel_bytes *key,
		       const struct wort_kernel_bytes *value,
		       const struct wort_kernel_bytes *expect, u32 flags)
{
	return wort_kernel_insert_fetch(index, key, value, expect, flags, NULL);
}
EXPORT_SYMBOL_NS_GPL(wort_kernel_insert, WORT_NS);

/**
 * wort_kernel_lookup() - Read the value of a key
 * @index: The index.
 * @key: 1 to WORT_KEY_MAX bytes.
 * @value: Where the value goes; may be NULL if @size is 0.
 * @size: Room for it.  0: the question is only for its length.
 *
 * Context: May sleep, killably while the pool is examined.  Allocates
 * only what it can do without.
 * Return: Length of the value; -ENOENT; -ERANGE if it does not fit; -EINVAL,
 * -EMSGSIZE for a length; -ENOMEM if there is no memory for what the engine
 * keeps in DRAM; -EINTR; -ESTALE; -EUCLEAN; -EIO; -ENODEV.
 */
int wort_kernel_lookup(struct wort_kernel_index *index,
		       const struct wort_kernel_bytes *key, void *value,
		       u32 size)
{
	struct wort_key k = { key->data, key->len };
	struct wort_buf buf = {
		.data = value, .size = size, .relaxed = index->relaxed,
	};
	unsigned int noio;
	int err;

	if (!enter(index->wdev, &noio))
		return -ENODEV;
	err = wort_index_lookup(index->index, &k, &buf);
	leave(index->wdev, noio);
	if (err == -ERANGE && !size)
		err = 0;
	return err ? err : buf.len;
}
EXPORT_SYMBOL_NS_GPL(wort_kernel_lookup, WORT_NS);

/**
 * wort_kernel_delete_fetch() - Remove a record, and tell what it was
 * @index: The index.
 * @key: 1 to WORT_KEY_MAX bytes.
 * @expect: Remove it only if this is its value; NULL: whatever it is.
 * @old: Where its value goes, with -ECANCELED too; NULL: nowhere.
 *
 * Durable when the call returns 0; otherwise nothing was changed.  Needs no
 * space.
 *
 * Context: May sleep, killably while the pool is examined.  Allocates with
 * GFP_NOIO, and waits for that memory.
 * Return: 0; -ENOENT; -ECANCELED if the value is not @expect; -ERANGE if it
 * does not fit; -EINVAL, -EMSGSIZE for a length; -ENOSPC if the engine needs
 * space for a delete; -ENOMEM if there is no memory for what the engine keeps
 * in DRAM; -EINTR; -ESTALE; -EROFS; -EUCLEAN; -EIO; -ENODEV.
 */
int wort_kernel_delete_fetch(struct wort_kernel_index *index,
			     const struct wort_kernel_bytes *key,
			     const struct wort_kernel_bytes *expect,
			     struct wort_kernel_old *old)
{
	struct wort_key k = { key->data, key->len };
	struct wort_value seen;
	struct wort_buf buf;
	unsigned int noio;
	int err;

	if (expect)
		seen = (struct wort_value){ expect->data, expect->len };
	if (old) {
		old->len = WORT_NO_VALUE;
		buf = old_buf(old);
	}
	if (!enter(index->wdev, &noio))
		return -ENODEV;
	err = wort_index_delete(index->index, &k, expect ? &seen : NULL,
				old ? &buf : NULL);
	leave(index->wdev, noio);
	if (old)
		old->len = buf.len;
	return err;
}
EXPORT_SYMBOL_NS_GPL(wort_kernel_delete_fetch, WORT_NS);

/**
 * wort_kernel_delete() - Remove a record
 * @index: The index.
 * @key: 1 to WORT_KEY_MAX bytes.
 * @expect: Remove it only if this is its value; NULL: whatever it is.
 *
 * Durable when the call returns 0; otherwise nothing was changed.  Needs no
 * space.
 *
 * Context: As wort_kernel_delete_fetch().
 * Return: As wort_kernel_delete_fetch(), but not -ERANGE.
 */
int wort_kernel_delete(struct wort_kernel_index *index,
		       const struct wort_kernel_bytes *key,
		       const struct wort_kernel_bytes *expect)
{
	return wort_kernel_delete_fetch(index, key, expect, NULL);
}
EXPORT_SYMBOL_NS_GPL(wort_kernel_delete, WORT_NS);

/* So many operations of a batch can wait for the memory together. */
#define BATCH_CHUNK	WORT_PREFETCH_MAX

static void op_request(const struct wort_kernel_op *op, bool relaxed,
		       struct wort_request *req)
{
	*req = (struct wort_request){
		.op = {
			.rec_len = 1,
			.op = op->op,
			.flags = op->flags,
			.key_len = op->key.len,
			.expect_len = op->expect.len,
			.value_len = op->value.len,
			.max_len = op->old.size,
		},
		.put.key = { op->key.data, op->key.len },
		.put.value = { op->value.data, op->value.len },
		.expect = { op->expect.data, op->expect.len },
		.answer = {
			.data = op->old.data,
			.size = op->old.size,
			.relaxed = relaxed,
		},
	};
}

/* Carry out some operations; how many were is told. */
static int batch_chunk(struct wort_kernel_index *index,
		       struct wort_kernel_op *ops, struct wort_batch *b)
{
	unsigned int noio;
	int err;
	u32 i;

	for (i = 0; i < b->nr_ops; i++)
		op_request(&ops[i], index->relaxed, &b->reqs[i]);
	b->done = 0;
	if (!enter(index->wdev, &noio))
		return -ENODEV;
	err = wort_index_batch(index->index, b);
	leave(index->wdev, noio);
	for (i = 0; i < b->done; i++) {
		ops[i].err = b->reqs[i].err;
		ops[i].old.len = b->reqs[i].answer.len;
	}
	return err;
}

/**
 * wort_kernel_batch() - Carry out several operations
 * @index: The index.
 * @ops: The operations.  Their memory, and what they refer to, does not change
 *	during the call.
 * @nr: How many, at most WORT_BATCH_MAX.
 * @flags: WORT_BATCH_F_STOP: stop at the first that fails.
 *
 * They take effect in order, each atomic by itself, and each has an errno of
 * its own.  What was carried out is durable when the call returns.  Up to 64
 * changes share two fences, so they become durable in any order: a power cut
 * during the call may leave any of its changes.  A change that must be durable
 * before another one takes a call of its own.
 *
 * Context: May sleep, as wort_kernel_insert().  Allocates without input and
 * output; without memory for it the operations are carried out one by one.
 * Return: How many operations were carried out, whatever their errnos are.
 * Fewer than @nr: with STOP the last of them failed; otherwise the call could
 * not go on, and a call with the rest returns the reason.  If none was carried
 * out, -EMSGSIZE for @nr; -EOPNOTSUPP for an unknown flag; -ENODEV.
 */
int wort_kernel_batch(struct wort_kernel_index *index,
		      struct wort_kernel_op *ops, u32 nr, u32 flags)
{
	u32 done, chunk = min_t(u32, nr, BATCH_CHUNK);
	struct wort_request one, *reqs;
	struct wort_batch b = { .flags = flags, .write = true };
	int err = 0;

	if (flags & ~WORT_BATCH_F_ALL)
		return -EOPNOTSUPP;
	if (nr > WORT_BATCH_MAX)
		return -EMSGSIZE;
	reqs = kmalloc_array(chunk, sizeof(*reqs), GFP_NOIO | __GFP_NOWARN);
	if (!reqs)
		chunk = 1;
	b.reqs = reqs ?: &one;
	for (done = 0; done < nr && !err; done += b.done) {
		b.nr_ops = min(nr - done, chunk);
		err = batch_chunk(index, ops + done, &b);
		if (flags & WORT_BATCH_F_STOP && b.failed)
			err = -ECANCELED;
	}
	kfree(reqs);
	return done ? done : err;
}
EXPORT_SYMBOL_NS_GPL(wort_kernel_batch, WORT_NS);

/**
 * struct atomic_call - The operations of an atomic batch as the pool takes them
 * @reqs: the operations
 * @indexes: the index of each
 * @batch: what the pool is asked for
 */
struct atomic_call {
	struct wort_request reqs[WORT_ATOMIC_MAX];
	struct wort_index *indexes[WORT_ATOMIC_MAX];
	struct wort_atomic batch;
};

static int atomic_requests(struct atomic_call *call,
			   const struct wort_kernel_atomic_op *ops, u32 nr)
{
	int err;
	u32 i;

	call->batch = (struct wort_atomic){
		.nr_ops = nr,
		.reqs = call->reqs,
		.indexes = call->indexes,
		.relaxed = true,
		.refused = WORT_NO_VALUE,
	};
	for (i = 0; i < nr; i++) {
		if (ops[i].index->wdev != ops[0].index->wdev)
			return -EXDEV;
		op_request(&ops[i].op, false, &call->reqs[i]);
		call->indexes[i] = ops[i].index->index;
		call->batch.relaxed &= ops[i].index->relaxed;
		err = wort_atomic_verify(&call->reqs[i].op, true);
		if (err) {
			call->batch.refused = i;
			return err;
		}
	}
	return 0;
}

static int atomic_run(struct atomic_call *call,
		      struct wort_kernel_atomic_op *ops)
{
	struct wort_dev *wdev = ops[0].index->wdev;
	unsigned int noio;
	int err;
	u32 i;

	if (!enter(wdev, &noio))
		return -ENODEV;
	err = wort_dev_atomic(wdev, &call->batch);
	leave(wdev, noio);
	for (i = 0; !err && i < call->batch.nr_ops; i++) {
		ops[i].op.err = call->reqs[i].err;
		ops[i].op.old.len = call->reqs[i].answer.len;
	}
	return err;
}

/**
 * wort_kernel_atomic() - Carry out several operations, all or none
 * @ops: The operations, on indexes of one pool.  Their memory, and what they
 *	refer to, does not change during the call.
 * @nr: Their number, at most WORT_ATOMIC_MAX.
 * @refused: Set to the number of the operation that refused, from 0 on, or to
 *	WORT_NO_VALUE; NULL: it is not told.
 *
 * All operations take effect at one moment, or none does, also if the power
 * fails.  Each sees those before it.  When the call returns 0 they are durable,
 * and each operation has its answer; with an error no answer is set.  A lookup
 * does not refuse: -ENOENT and -ERANGE are its answer.
 *
 * An error without a number in @refused means that nothing was changed, with
 * one exception: -EUCLEAN and -EIO may tell of damage that was met when the
 * operations had taken effect.  The pool is read-only then.
 *
 * Context: May sleep, killably while other changes of the same keys are under
 * way, while the pool seems full or while it is examined.  Allocates without
 * input and output.
 * Return: 0; of the operation that refused: -EEXIST, -ENOENT, -ECANCELED,
 * -ERANGE, -EINVAL, -EMSGSIZE or -EOPNOTSUPP; -EMSGSIZE for @nr, or if the
 * changes take more than WORT_ATOMIC_BYTES; -EXDEV if the indexes are not of
 * one pool; -ENOSPC, perhaps also where each operation would find space alone;
 * -ENOMEM; -EINTR; -ESTALE; -EROFS; -EUCLEAN; -EIO; -ENODEV.
 */
int wort_kernel_atomic(struct wort_kernel_atomic_op *ops, u32 nr, u32 *refused)
{
	struct atomic_call *call;
	int err;

	if (refused)
		*refused = WORT_NO_VALUE;
	if (nr > WORT_ATOMIC_MAX)
		return -EMSGSIZE;
	if (!nr)
		return 0;
	call = kvmalloc(sizeof(*call), GFP_NOIO | __GFP_NOWARN);
	if (!call)
		return -ENOMEM;
	err = atomic_requests(call, ops, nr);
	if (!err)
		err = atomic_run(call, ops);
	if (refused)
		*refused = call->batch.refused;
	kvfree(call);
	return err;
}
EXPORT_SYMBOL_NS_GPL(wort_kernel_atomic, WORT_NS);

static int scan_verify(const struct wort_kernel_scan *scan)
{
	if (scan->flags & ~WORT_SCAN_F_ALL)
		return -EOPNOTSUPP;
	if (scan->start.len > WORT_KEY_MAX || scan->bound.len > WORT_KEY_MAX ||
	    scan->buf_len > WORT_BUF_MAX)
		return -EMSGSIZE;
	return 0;
}

/* The next call is to begin after the last record that this one found. */
static void go_on(struct wort_kernel_scan *scan, const struct wort_scan *s)
{
	const struct wort_record *last = scan->buf + s->last;

	scan->flags |= WORT_SCAN_F_AFTER;
	if (scan->flags & WORT_SCAN_F_COUNT) {
		scan->start.data = scan->buf;
		scan->start.len = s->last_len;
	} else {
		scan->start.data = wort_kernel_record_key(last);
		scan->start.len = last->key_len;
	}
}

/**
 * wort_kernel_scan() - Read records in order
 * @index: The index.
 * @scan: What to read, and where it goes.
 *
 * Keys strictly increase (decrease).  A key that is there throughout a sequence
 * of calls is seen exactly once, whatever is changed in between.  Records that
 * were found before an error are good.  With WORT_SCAN_F_COUNT there are no
 * records, only their number; the buffer takes WORT_KEY_MAX bytes then.
 *
 * Context: May sleep, killably while the pool is examined.  Allocates without
 * input and output.
 * Return: 0, also if nothing was found; -ERANGE if not even one record fits;
 * -EMSGSIZE for a length; -EOPNOTSUPP for an unknown flag; -ENOMEM; -EINTR;
 * -ESTALE; -EUCLEAN; -EIO; -ENODEV.
 */
int wort_kernel_scan(struct wort_kernel_index *index,
		     struct wort_kernel_scan *scan)
{
	struct wort_key start = { scan->start.data, scan->start.len };
	struct wort_key bound = { scan->bound.data, scan->bound.len };
	struct wort_scan s = {
		.flags = scan->flags,
		.relaxed = index->relaxed,
		.start = start.len ? &start : NULL,
		.bound = bound.len ? &bound : NULL,
		.max = scan->max_count,
		.buf = scan->buf,
		.buf_len = scan->buf_len,
	};
	int err = scan_verify(scan);
	unsigned int noio;

	if (!err && !enter(index->wdev, &noio))
		err = -ENODEV;
	if (!err) {
		err = wort_index_scan(index->index, &s);
		leave(index->wdev, noio);
	}
	scan->count = s.count;
	scan->len = scan->flags & WORT_SCAN_F_COUNT ? 0 : s.len;
	scan->need = err == -ERANGE ? s.need : 0;
	scan->more = s.more;
	if (s.more)
		go_on(scan, &s);
	return err;
}
EXPORT_SYMBOL_NS_GPL(wort_kernel_scan, WORT_NS);

/**
 * wort_kernel_index_list() - Describe the indexes of a pool
 * @pool: The pool.
 * @after: Only indexes with a greater id; 0: from the first.
 * @records: Filled in, in the order of ids, which is that of creation.
 * @max: How many fit.
 * @more: Set: there are further indexes.
 *
 * Context: May sleep, killably.
 * Return: Number of records; -EINTR; -ENODEV.
 */
int wort_kernel_index_list(struct wort_kernel_pool *pool, u64 after,
			   struct wort_index_record *records, u32 max,
			   bool *more)
{
	struct wort_dax *dax = pool->wdev->dax;
	int nr;

	*more = false;
	if (!wort_dax_enter(dax))
		return -ENODEV;
	nr = wort_index_list(dax->pool, after, records, max, more);
	wort_dax_exit(dax);
	return nr;
}
EXPORT_SYMBOL_NS_GPL(wort_kernel_index_list, WORT_NS);

/**
 * wort_kernel_index_info() - Describe an index
 * @index: The index.
 * @info: Its ``out_`` fields are filled in, the other ones do not matter.
 *
 * Context: May sleep.
 * Return: 0; -ESTALE if it was destroyed; -ENODEV.
 */
int wort_kernel_index_info(struct wort_kernel_index *index,
			   struct wort_index_info_arg *info)
{
	struct wort_dax *dax = index->wdev->dax;
	int err = -ESTALE;

	if (!wort_dax_enter(dax))
		return -ENODEV;
	if (!READ_ONCE(index->index->dead)) {
		wort_index_info(index->index, info);
		err = 0;
	}
	wort_dax_exit(dax);
	return err;
}
EXPORT_SYMBOL_NS_GPL(wort_kernel_index_info, WORT_NS);

/**
 * wort_kernel_stats() - What operations on an index have cost
 * @index: The index.
 * @stats: Filled in, by WORT_OP_*: operations of all openings since the attach.
 *
 * Of operations under way some figures may be in and others not yet.
 *
 * Context: Any context.
 * Return: 0; -ENODEV; -EBUSY while the machine hibernates.
 */
int wort_kernel_stats(struct wort_kernel_index *index,
		      struct wort_op_stats stats[WORT_OP_NR])
{
	struct wort_dax *dax = index->wdev->dax;
	int err = wort_dax_try_enter(dax);

	if (err)
		return err;
	wort_index_stats(index->index, stats);
	wort_dax_exit(dax);
	return 0;
}
EXPORT_SYMBOL_NS_GPL(wort_kernel_stats, WORT_NS);

/**
 * wort_kernel_state() - How is an index?
 * @index: The index.
 *
 * Context: Any context.
 * Return: WORT_STATE_DAMAGED, if it or its pool is read-only because damage was
 * found, _READONLY, if the pool is for another reason, _WALKING, or 0; -ESTALE
 * if it was destroyed; -ENODEV; -EBUSY while the machine hibernates.
 */
int wort_kernel_state(struct wort_kernel_index *index)
{
	struct wort_dax *dax = index->wdev->dax;
	int state = wort_dax_try_enter(dax);

	if (state)
		return state;
	state = wort_pool_state(dax->pool) &
		(WORT_STATE_DAMAGED | WORT_STATE_READONLY | WORT_STATE_WALKING);
	if (READ_ONCE(index->index->damaged))
		state |= WORT_STATE_DAMAGED;
	if (READ_ONCE(index->index->dead))
		state = -ESTALE;
	wort_dax_exit(dax);
	return state;
}
EXPORT_SYMBOL_NS_GPL(wort_kernel_state, WORT_NS);

/**
 * wort_kernel_wait_lost() - Wait until the pool of an index is lost
 * @index: The index, open as long as the call takes.
 * @timeout: Jiffies to wait at most; 0: only ask; MAX_SCHEDULE_TIMEOUT: as long
 *	as it takes.
 *
 * It is lost, for good, when it was detached or its device was removed.  The
 * call ends as soon as that has begun; calls on records return -ENODEV from
 * then on.  Neither detach nor removal waits for this call.
 *
 * Context: May sleep, interruptibly.
 * Return: -ENODEV if it is lost; 0 if it was not in that time; -ERESTARTSYS if
 * a signal came.
 */
int wort_kernel_wait_lost(struct wort_kernel_index *index, long timeout)
{
	struct wort_dax *dax = index->wdev->dax;
	long left = wait_event_interruptible_timeout(dax->gate,
						     wort_dax_dead(dax),
						     timeout);

	if (left < 0)
		return left;
	return left ? -ENODEV : 0;
}
EXPORT_SYMBOL_NS_GPL(wort_kernel_wait_lost, WORT_NS);
