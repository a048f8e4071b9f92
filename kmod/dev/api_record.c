// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations on the records of an index, for other kernel code.
 *
 * Nothing here touches a struct wort_dev, so that a test can take this file as it
 * is: api.h says how a call begins and ends.
 */
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/wort_kernel.h>

#include "../pool/pool.h"
#include "api.h"

static struct wort_buf old_buf(const struct wort_kernel_old *old)
{
	return (struct wort_buf){
		.data = old->data, .size = old->size, .len = WORT_NO_VALUE,
	};
}

static int insert(struct wort_kernel_index *index, struct wort_put *put)
{
	unsigned int noio;
	int err;

	if (!wort_api_enter(index->wdev, &noio))
		return -ENODEV;
	err = wort_index_insert(index->index, put);
	wort_api_leave(index->wdev, noio);
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
 * Context: May sleep, killably while the pool seems full or is examined, or
 * while an atomic batch changes the key.  Allocates without input and output,
 * and not always.
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

	if (!wort_api_enter(index->wdev, &noio))
		return -ENODEV;
	err = wort_index_lookup(index->index, &k, &buf);
	wort_api_leave(index->wdev, noio);
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
 * Context: May sleep, killably while the pool is examined or an atomic batch
 * changes the key.  Allocates with GFP_NOIO, and waits for that memory.
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
	if (!wort_api_enter(index->wdev, &noio))
		return -ENODEV;
	err = wort_index_delete(index->index, &k, expect ? &seen : NULL,
				old ? &buf : NULL);
	wort_api_leave(index->wdev, noio);
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
	if (!wort_api_enter(index->wdev, &noio))
		return -ENODEV;
	err = wort_index_batch(index->index, b);
	wort_api_leave(index->wdev, noio);
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
	reqs = kmalloc_array(chunk, sizeof(*reqs), GFP_NOIO | WORT_GFP_SPARE);
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
	int err = wort_api_atomic(ops[0].index->wdev, &call->batch);
	u32 i;

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
 * and each operation has its answer; with an error no answer is set, but the
 * memory that @old of an operation refers to may be written.  A lookup does not
 * refuse: -ENOENT and -ERANGE are its answer.
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
	call = kvmalloc(sizeof(*call), GFP_NOIO | WORT_GFP_CALL);
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

/*
 * The next call is to begin after the last record that this one found: also after an error,
 * since this call has overwritten the key at which it began itself.
 */
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
 * were found before an error are good, and the next call begins behind them; a
 * count that fails has counted nothing, and begins where it began.  After -ERANGE
 * @buf is needed until the next call has returned, if the key to begin at lies in
 * it.  With WORT_SCAN_F_COUNT there are no records, only their number; the buffer
 * takes WORT_KEY_MAX bytes then.
 *
 * Context: May sleep, killably while the pool is examined or committed atomic
 * batches are carried out.  Allocates without input and output.
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

	if (!err && !wort_api_enter(index->wdev, &noio))
		err = -ENODEV;
	if (!err) {
		err = wort_index_scan(index->index, &s);
		wort_api_leave(index->wdev, noio);
	}
	/* A count that fails does not know where it stopped. */
	scan->count = err && scan->flags & WORT_SCAN_F_COUNT ? 0 : s.count;
	scan->len = scan->flags & WORT_SCAN_F_COUNT ? 0 : s.len;
	scan->need = err == -ERANGE ? s.need : 0;
	scan->more = s.more;
	if (s.more || (err && scan->len))
		go_on(scan, &s);
	return err;
}
EXPORT_SYMBOL_NS_GPL(wort_kernel_scan, WORT_NS);
