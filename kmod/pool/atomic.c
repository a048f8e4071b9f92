// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Atomic batches: operations on several records, all or none.
 *
 *  1. Close the gates of all keys, so that no other operation changes them.
 *  2. Carry the operations out in DRAM, on the values that the keys have.  If one
 *     refuses, or nothing is to be changed, open the gates.  If it is one record,
 *     it is changed as by a single operation.
 *  3. Take a head.  Set aside what the changes may need at most: after the commit
 *     they must not fail.
 *  4. Register the redo list, so that lookups find it, and store it.  Fence.
 *  5. Head := list.  Fence: the batch is committed.
 *  6. The list answers: the batch takes effect, for everybody at one moment.
 *  7. Carry the changes out in the trees.  Two fences, or more.
 *  8. The list answers no more.  Head := 0.  Fence: a change of a key that is
 *     acknowledged later would be undone by the list otherwise.
 *  9. Open the gates.
 *
 * No engine knows of it.  What a power cut leaves, and who repairs it: redo.h.
 *
 * Nothing of a batch is visible before it is durable.  Between steps 6 and 8
 * lookups answer from the list, and scans that begin wait for its end.
 *
 * If step 7 meets damage the pool becomes read-only.  The gates of the list
 * stay closed, it stays on media and goes on answering, also to scans
 * (merge.h), until a check has found the pool sound and carries it out.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <trace/events/wort.h>

#include "../core/pmem.h"
#include "apply.h"
#include "gate.h"

#define SMALL	64

/* A key of a batch, and what it has become. */
struct record {
	struct wort_index *index;
	struct wort_key key;
	bool known;		/* its value was looked up */
	bool there;
	bool changed;
	struct wort_value value;
	u8 *mem;		/* NULL, or memory of a value that was looked up */
	u8 small[SMALL];	/* of a small one */
};

struct atomic {
	struct wort_pool *pool;
	struct wort_atomic *batch;
	u32 nr;			/* records */
	u32 nr_changes;
	u32 nr_gates;
	u16 gate[WORT_ATOMIC_MAX];		/* ascending */
	struct record *sorted[WORT_ATOMIC_MAX];	/* by index and key */
	struct record *of_op[WORT_ATOMIC_MAX];
	struct record record[WORT_ATOMIC_MAX];
	struct wort_apply change[WORT_ATOMIC_MAX];
	struct wort_op op;	/* stores list and head */
	struct wort_redo *redo;
	struct wort_purse *purse;
	u32 head;
	bool has_head;		/* that no list has yet */
};

static int compare(const struct record *rec, const struct wort_index *index,
		   const struct wort_key *key)
{
	if (rec->index->id != index->id)
		return rec->index->id < index->id ? -1 : 1;
	return wort_key_compare(&rec->key, key);
}

/* The record of a key, perhaps a new one. */
static struct record *record_of(struct atomic *a, struct wort_index *index,
				const struct wort_key *key)
{
	struct record *rec;
	u32 at = a->nr, i;
	int diff = -1;

	while (at && (diff = compare(a->sorted[at - 1], index, key)) > 0)
		at--;
	if (at && !diff)
		return a->sorted[at - 1];
	rec = &a->record[a->nr];
	for (i = a->nr++; i > at; i--)
		a->sorted[i] = a->sorted[i - 1];
	a->sorted[at] = rec;
	rec->index = index;
	rec->key = *key;
	rec->mem = NULL;
	return rec;
}

static void add_gate(struct atomic *a, u32 gate)
{
	u32 at = a->nr_gates, i;

	while (at && a->gate[at - 1] > gate)
		at--;
	if (at && a->gate[at - 1] == gate)
		return;
	for (i = a->nr_gates++; i > at; i--)
		a->gate[i] = a->gate[i - 1];
	a->gate[at] = gate;
}

static void find_records(struct atomic *a)
{
	const struct wort_atomic *batch = a->batch;
	u32 i;

	a->nr = 0;
	a->nr_gates = 0;
	for (i = 0; i < batch->nr_ops; i++)
		a->of_op[i] = record_of(a, batch->indexes[i],
					&batch->reqs[i].put.key);
	for (i = 0; i < a->nr; i++)
		add_gate(a, wort_gate_nr(a->record[i].index->id,
					 &a->record[i].key));
}

/* Nothing was looked up or changed. */
static void forget_values(struct atomic *a)
{
	struct record *rec;

	for (rec = a->record; rec < a->record + a->nr; rec++) {
		kvfree(rec->mem);
		rec->mem = NULL;
		rec->known = false;
		rec->changed = false;
	}
}

/*
 * Look up the value of a key; its gate is closed, so no other operation changes
 * it.  Of a value of more than @most bytes only the length becomes known: so the values
 * take no more memory than the buffers of the caller.
 */
static int know(struct record *rec, u32 most, bool relaxed)
{
	struct wort_buf buf = {
		.data = rec->small, .size = SMALL, .relaxed = relaxed,
	};
	int err;

	if (rec->known || rec->changed)
		return 0;
	err = wort_index_lookup(rec->index, &rec->key, &buf);
	if (err == -ERANGE && buf.len > most) {
		rec->there = true;
		rec->value = (struct wort_value){ NULL, buf.len };
		return 0;
	}
	if (err == -ERANGE) {
		rec->mem = kvmalloc(buf.len, GFP_NOIO | WORT_GFP_CALL);
		if (!rec->mem)
			return -ENOMEM;
		buf.data = rec->mem;
		buf.size = buf.len;
		err = wort_index_lookup(rec->index, &rec->key, &buf);
	}
	if (err && err != -ENOENT)
		return err;
	rec->known = true;
	rec->there = !err;
	rec->value = (struct wort_value){ buf.data, err ? 0 : buf.len };
	return 0;
}

static bool has_value(const struct record *rec, const struct wort_value *value)
{
	return rec->value.len == value->len &&
	       !memcmp(rec->value.data, value->data, value->len);
}

/* Copy the value of a key to where the answer goes. */
static int answer(const struct record *rec, struct wort_buf *buf)
{
	if (!rec->there)
		return 0;
	return wort_buf_fill(buf, &rec->value);
}

/* Does what a key has let an operation go on? */
static int condition(const struct record *rec, const struct wort_request *req)
{
	const struct wort_batch_op *op = &req->op;
	bool absent = (op->op == WORT_BATCH_INSERT &&
		       op->flags & WORT_INSERT_F_CREATE) ||
		      (op->op == WORT_BATCH_EXPECT &&
		       op->flags & WORT_EXPECT_F_ABSENT);
	bool any = absent || (op->op == WORT_BATCH_INSERT &&
			      !(op->flags & WORT_INSERT_F_REPLACE));

	if (absent && rec->there)
		return -EEXIST;
	if (!any && !rec->there)
		return -ENOENT;
	return wort_request_expects(op) && !has_value(rec, &req->expect) ? -ECANCELED : 0;
}

/* The longest value that an operation can compare, or answer with. */
static u32 most_needed(const struct wort_request *req)
{
	u32 most = wort_request_expects(&req->op) ? req->expect.len : 0;

	if (req->op.op == WORT_BATCH_EXPECT || !wort_request_answers(&req->op))
		return most;
	return max(most, req->answer.size);
}

static void change(struct record *rec, const struct wort_request *req)
{
	rec->changed = true;
	rec->there = req->op.op != WORT_BATCH_DELETE;
	rec->value = rec->there ? req->put.value : (struct wort_value){ };
}

/*
 * Carry an operation out in DRAM.  A lookup has an answer, and never refuses.
 * Every key is looked up, so that damage on the way to it is met before the
 * commit.
 */
static int run_op(struct record *rec, struct wort_request *req, bool relaxed)
{
	const u16 nr = req->op.op;
	int err = know(rec, most_needed(req), relaxed);

	req->err = 0;
	req->answer.len = WORT_NO_VALUE;
	if (err)
		return err;
	if (nr == WORT_BATCH_LOOKUP) {
		req->err = rec->there ? answer(rec, &req->answer) : -ENOENT;
		return 0;
	}
	err = condition(rec, req);
	if (!err && req->op.flags & WORT_F_FETCH && nr != WORT_BATCH_EXPECT)
		err = answer(rec, &req->answer);
	if (!err && nr != WORT_BATCH_EXPECT)
		change(rec, req);
	return err;
}

static bool refuses(int err)
{
	return err == -EEXIST || err == -ENOENT || err == -ECANCELED ||
	       err == -ERANGE;
}

static int run_ops(struct atomic *a)
{
	struct wort_atomic *batch = a->batch;
	int err = 0;
	u32 i;

	a->nr_changes = 0;
	for (i = 0; i < batch->nr_ops && !err; i++)
		err = run_op(a->of_op[i], &batch->reqs[i], batch->relaxed);
	if (!refuses(err))
		return err;
	batch->refused = i - 1;
	atomic64_add(1, &a->pool->gates->refused);
	return err;
}

/* What is to be changed, in the order of indexes and keys. */
static void find_changes(struct atomic *a)
{
	const struct record *rec;
	u32 i;

	for (i = 0; i < a->nr; i++) {
		rec = a->sorted[i];
		if (!rec->changed)
			continue;
		a->change[a->nr_changes++] = (struct wort_apply){
			.index = rec->index,
			.change.index = rec->index->id,
			.change.key = rec->key,
			.change.value = rec->value,
			.change.remove = !rec->there,
		};
	}
}

/* May the indexes be changed?  -EAGAIN: one has to be rebuilt before. */
static int indexes_verify(const struct atomic *a)
{
	const struct wort_index *index;
	int err = wort_pool_writable(a->pool) ? 0 : -EROFS;
	u32 i;

	if (!err)
		err = wort_region_verify(a->pool->region, WORT_MEDIA_HEADS_OFF,
					 WORT_MEDIA_NR_HEADS *
					 sizeof(struct wort_media_head));
	for (i = 0; i < a->nr_changes && !err; i++) {
		index = a->change[i].index;
		err = READ_ONCE(index->dead) ? -ESTALE :
					       wort_index_verify(index);
		if (!err && READ_ONCE(index->damaged))
			err = -EROFS;
		if (!err && READ_ONCE(index->shut))
			err = -EAGAIN;
	}
	return err;
}

/*
 * Asked once: an index may need more as soon as others have changed it.  An
 * engine may look at its tree, of which nothing is reused meanwhile.
 */
static void ask_need(struct wort_apply *c)
{
	const struct wort_tree *tree = &c->index->tree;

	rcu_read_lock();
	tree->engine->need(tree, c->change.key.len,
			   wort_redo_value_len(&c->change), &c->need);
	rcu_read_unlock();
}

static u32 nr_objects(const struct wort_need *need)
{
	u32 nr = 0, i;

	for (i = 0; i < need->nr; i++)
		nr += need->of[i].count;
	return nr;
}

/* Set the objects aside that the changes may need at most. */
static int fill_purse(struct atomic *a)
{
	struct wort_apply *c, *end = a->change + a->nr_changes;
	u32 nr = 0, i;
	int err = 0;

	for (c = a->change; c < end; c++) {
		ask_need(c);
		nr += nr_objects(&c->need);
	}
	a->purse = wort_purse_new(nr, WORT_GFP_CALL);
	if (!a->purse)
		return -ENOMEM;
	for (c = a->change; c < end; c++)
		for (i = 0; i < c->need.nr && !err; i++)
			err = wort_purse_add(&a->op, a->purse,
					     c->need.of[i].size,
					     c->need.of[i].count);
	return err;
}

static u32 redo_len(const struct atomic *a)
{
	const struct wort_redo_change *change;
	u32 len = sizeof(struct wort_media_redo), i;

	for (i = 0; i < a->nr_changes; i++) {
		change = &a->change[i].change;
		len += wort_redo_entry_len(change->key.len,
					   wort_redo_value_len(change));
	}
	return len;
}

static int make_redo(struct atomic *a)
{
	u32 len = redo_len(a), i;

	if (len > WORT_MEDIA_REDO_MAX)
		return -EMSGSIZE;
	a->redo = wort_redo_alloc(len, GFP_NOIO | WORT_GFP_CALL);
	if (!a->redo)
		return -ENOMEM;
	for (i = 0; i < a->nr_changes; i++)
		wort_redo_add(a->redo, &a->change[i].change);
	wort_redo_seal(a->redo);
	return 0;
}

/* All that can fail.  One record needs no list. */
static int set_aside(struct atomic *a)
{
	int err = fill_purse(a);

	if (!err && a->nr_changes > 1)
		err = make_redo(a);
	if (!err && a->redo)
		err = wort_alloc_reserve(&a->op,
					 le32_to_cpu(a->redo->media.len));
	return err;
}

/* Steps 4 to 6. */
static void store_list(struct atomic *a)
{
	struct wort_redo *redo = a->redo;
	u32 len = le32_to_cpu(redo->media.len);
	void __pmem *to;

	redo->off = wort_alloc_take(&a->op);
	to = wort_region_at(a->op.region, redo->off);
	wort_redo_register(a->pool, redo);
	wort_pm_write(&a->op, to, &redo->media, len);
	wort_pm_flush(&a->op, to, len);
	wort_pm_publish(&a->op, wort_head_at(a->op.region, redo->head),
			redo->off);
	/*
	 * After the list is freed, its extent can be opened for something else.
	 */
	wort_alloc_settle(&a->op);
	wort_redo_answer(a->pool, redo);
}

/* Step 8. */
static void end_list(struct atomic *a)
{
	struct wort_redo *redo = a->redo;
	struct wort_op section;
	int err;

	wort_redo_unregister(a->pool, redo);
	wort_committed_enter(a->pool, &section, false);
	err = wort_redo_end(&a->op, redo);
	wort_committed_exit(a->pool, &section, false);
	if (err)
		wort_pool_damaged(a->pool);
	wort_head_give(a->pool, redo->head);
	kvfree_rcu(redo, rcu);
	a->redo = NULL;
}

static bool gate_of_change(const struct atomic *a, u32 gate)
{
	const struct wort_redo_change *change;
	u32 i;

	for (i = 0; i < a->nr_changes; i++) {
		change = &a->change[i].change;
		if (wort_gate_nr(change->index, &change->key) == gate)
			return true;
	}
	return false;
}

/*
 * Damage was met after the commit.  The list goes on answering, behind the
 * gates of its keys; others, of keys that were only looked up, are opened as
 * always.
 */
static int leave_behind(struct atomic *a, int err)
{
	u32 i, nr = 0;

	WARN_ON_ONCE(err == -ENOSPC);
	for (i = 0; i < a->nr_gates; i++)
		if (!gate_of_change(a, a->gate[i]))
			a->gate[nr++] = a->gate[i];
	a->nr_gates = nr;
	/* A check may carry it out, and free it, from now on. */
	WRITE_ONCE(a->redo->left, true);
	a->redo = NULL;
	wort_pool_damaged(a->pool);
	return err == -EIO ? err : -EUCLEAN;
}

static int apply(struct atomic *a)
{
	return wort_apply(a->pool, a->change, a->nr_changes, a->purse);
}

static int commit_list(struct atomic *a)
{
	int err;

	a->redo->head = a->head;
	a->has_head = false;
	store_list(a);
	err = apply(a);
	if (err)
		return leave_behind(a, err);
	end_list(a);
	return 0;
}

static void give_back(struct atomic *a)
{
	wort_purse_free(&a->op, a->purse);
	a->purse = NULL;
	kvfree(a->redo);
	a->redo = NULL;
	wort_op_end(&a->op);
}

/*
 * With 0 the semaphore is held for reading.  -EAGAIN: the end of a hold or of a
 * rebuild has to be waited for, with the gates open: who holds the pool may
 * look at the same keys.
 */
static int lock_usable(struct atomic *a)
{
	int err;

	down_read(&a->pool->atomic_sem);
	err = READ_ONCE(a->pool->frozen) ? -EAGAIN : indexes_verify(a);
	if (err)
		up_read(&a->pool->atomic_sem);
	return err;
}

/*
 * Before the semaphore: what frees a head may need the walk, which may wait for
 * that semaphore.
 */
static int take_head(struct atomic *a)
{
	int err = a->nr_changes > 1 ? wort_head_take(a->pool, &a->head) : 0;

	a->has_head = a->nr_changes > 1 && !err;
	return err;
}

static int commit_locked(struct atomic *a)
{
	int err = lock_usable(a);

	if (err)
		return err;
	err = set_aside(a);
	if (!err)
		err = a->redo ? commit_list(a) : apply(a);
	give_back(a);
	up_read(&a->pool->atomic_sem);
	return err;
}

/* Steps 3 to 8, while the gates are closed. */
static int commit(struct atomic *a)
{
	struct wort_pool *pool = a->pool;
	int err = take_head(a) ?: commit_locked(a);

	if (a->has_head)
		wort_head_give(pool, a->head);
	if (err)
		return err;
	atomic64_add(1, &pool->gates->batches);
	wort_index_account(a->change[0].index, WORT_OP_ATOMIC, &a->op.n);
	wort_index_kick(a->change[0].index);
	return 0;
}

/* Steps 1 to 9. */
static int atomic_once(struct atomic *a)
{
	int err = wort_gates_close(a->pool, a->gate, a->nr_gates, false);

	if (err)
		return err;
	forget_values(a);
	wort_op_begin(&a->op, a->pool->region, &a->pool->alloc);
	err = run_ops(a);
	if (!err)
		find_changes(a);
	if (!err && a->nr_changes)
		err = commit(a);
	wort_gates_open(a->pool, a->gate, a->nr_gates);
	forget_values(a);
	return err;
}

/* Wait for what kept a try from its commit.  The gates are open. */
static int wait_again(const struct atomic *a, int err)
{
	if (err == -ENOSPC)
		return wort_pool_wait_space(a->pool, &a->op);
	return wort_pool_wait_thawed(a->pool) ?:
	       wort_apply_usable(a->change, a->nr_changes);
}

static bool only_looks(const struct wort_atomic *batch)
{
	u32 i;

	for (i = 0; i < batch->nr_ops; i++)
		if (batch->reqs[i].op.op != WORT_BATCH_LOOKUP &&
		    batch->reqs[i].op.op != WORT_BATCH_EXPECT)
			return false;
	return true;
}

/*
 * In a read-only pool the gates of lists that were left behind stay closed.
 * While the lists are held, no operation changes their keys, and lookups answer
 * from the lists.  -EAGAIN: the list of a batch that was under way has been left
 * behind meanwhile, or a check is about to carry the lists out.
 */
static int look_at_left(struct atomic *a)
{
	struct wort_pool *pool = a->pool;
	int err = wort_redo_hold(pool);

	if (err)
		return err;
	a->nr_gates = wort_redo_other_gates(pool, a->gate, a->nr_gates);
	err = wort_gates_close(pool, a->gate, a->nr_gates, true);
	if (err == -EROFS)
		err = -EAGAIN;
	if (!err) {
		forget_values(a);
		err = run_ops(a);
		wort_gates_open(pool, a->gate, a->nr_gates);
		forget_values(a);
	}
	wort_redo_release(pool);
	return err;
}

/*
 * Tries until the batch is carried out, or cannot be.  -EAGAIN: as
 * look_at_left().
 */
static int atomic_run(struct atomic *a)
{
	int err;

	find_records(a);
	do {
		err = atomic_once(a);
		if (err != -ENOSPC && err != -EAGAIN)
			break;
		err = wait_again(a, err);
	} while (!err);
	return err == -EROFS && only_looks(a->batch) ? look_at_left(a) : err;
}

static int expect_verify(const struct wort_batch_op *op)
{
	const u16 either = WORT_EXPECT_F_PRESENT | WORT_EXPECT_F_ABSENT;
	const u16 flags = op->flags;

	if (flags & ~WORT_EXPECT_F_ALL)
		return -EOPNOTSUPP;
	if (!op->key_len || flags == either || op->value_len || op->max_len ||
	    (op->expect_len && flags))
		return -EINVAL;
	return op->key_len > WORT_KEY_MAX || op->expect_len > WORT_VALUE_MAX ?
	       -EMSGSIZE : 0;
}

/**
 * wort_atomic_verify() - May an operation of an atomic batch be asked for like this?
 * @op: The operation; its rec_len does not count.
 * @write: The descriptor of its index is open for writing.
 *
 * Context: Any context.
 * Return: As wort_request_verify().
 */
int wort_atomic_verify(const struct wort_batch_op *op, bool write)
{
	return op->op == WORT_BATCH_EXPECT ? expect_verify(op) :
					     wort_request_verify(op, write);
}

/**
 * wort_pool_atomic() - Carry out several operations, all or none
 * @pool: The pool.
 * @batch: Operations, for which wort_atomic_verify() holds, on indexes of the
 *	pool, in memory that does not change meanwhile; room for answers.
 *
 * All take effect at one moment, each sees those before it, and all are durable
 * when the call returns 0.  If one refuses nothing is changed, and its number
 * is told; a lookup does not refuse, but has its own result.  Changes of the
 * same keys by others wait meanwhile, and so do scans that begin.  A batch that
 * only looks is answered in a read-only pool, too.
 *
 * The batch closes the gates of its keys, works out what becomes of them,
 * stores that as a list which one word commits, and carries it out.  During a
 * hold of the pool it waits before the commit, with the gates open.  An index
 * that is destroyed at the same time may be left out of it.
 *
 * Context: May sleep; memory is allocated with GFP_NOIO.  Holds no lock, and is
 * in no section.
 * Return: 0; -EEXIST, -ENOENT, -ECANCELED or -ERANGE of the operation that
 * refused; -EMSGSIZE if the changes take more than WORT_MEDIA_REDO_MAX bytes;
 * -ENOSPC, perhaps also where each operation would find space alone; -ENOMEM;
 * -ESTALE; -EROFS; -EINTR; -ENODEV if the pool is being detached: nothing was
 * changed.  -EUCLEAN or -EIO: damage was met; if that was after the commit, the
 * pool is read-only, and lookups answer as if the batch was carried out.
 */
int wort_pool_atomic(struct wort_pool *pool, struct wort_atomic *batch)
{
	struct atomic *a;
	int err;

	batch->refused = WORT_NO_VALUE;
	if (!batch->nr_ops)
		return 0;
	a = kvmalloc(sizeof(*a), GFP_NOIO | WORT_GFP_CALL);
	if (!a)
		return -ENOMEM;
	err = wort_gates_use(pool);
	if (err)
		goto out;
	a->pool = pool;
	a->batch = batch;
	a->redo = NULL;
	a->purse = NULL;
	a->nr_changes = 0;
	do {
		err = atomic_run(a);
	} while (err == -EAGAIN);
	trace_wort_atomic(pool->region->dev, batch->nr_ops, a->nr_changes,
			  batch->refused, err);
	wort_gates_unuse(pool);
out:
	kvfree(a);
	return err;
}
