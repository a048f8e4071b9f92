/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Pools and indexes: what ioctls, io_uring, other kernel code and the command
 * share.
 *
 * Lock order: wort_pool.gates_sem, gates in ascending order, a head,
 * wort_pool.work_lock, wort_pool.atomic_sem, wort_pool.lock, wort_locks.roots,
 * wort_index.lock, a section of wort_locks.writers, wort_alloc.lock, struct
 * wort_lock in the order of addresses, locks of caches, wort_pool.due_lock.
 *
 * Operations on an index that only read are RCU sections, the others are
 * sections of wort_locks.writers.  To exclude writers, a task takes
 * wort_pool.lock, counts in wort_pool.frozen and waits for the end of all
 * sections of writers.  hold.c does so for a program, which keeps no lock.
 * Holders of wort_pool.work_lock wait for sections, too.  Therefore neither of
 * the two is taken in a section.
 *
 * A holder of wort_pool.atomic_sem for reading does not wait for background
 * work, whose tasks wait for it.
 *
 * While any of these mutexes is held, memory is allocated with
 * GFP_NOIO: reclaim may write memory out through an operation that waits for
 * that lock.
 */
#ifndef _WORT_POOL_H
#define _WORT_POOL_H

#include <linux/atomic.h>
#include <linux/freezer.h>
#include <linux/sched.h>
#include <linux/hashtable.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/rwsem.h>
#include <linux/sched/signal.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xxhash.h>

#include "../core/alloc.h"
#include "../engine/engine.h"

struct wort_gates;
struct wort_commit_group;
struct wort_member;
struct wort_pool;

/**
 * struct wort_names - Indexes by name
 * @heads: hash table with 2^@bits chains
 * @bits: log2 of the number of chains
 * @nr: number of indexes
 * @seed: seed of the hash
 */
struct wort_names {
	struct hlist_head *heads;
	u32 bits;
	u32 nr;
	u64 seed;
};

/**
 * struct wort_counted - What an index owns
 * @bytes: bytes of its objects, as the allocator gives them, and of its entry
 * @records: records
 * @time: when it was counted, in seconds since 1970; 0: not since the attach
 */
struct wort_counted {
	u64 bytes;
	u64 records;
	u64 time;
};

/**
 * struct wort_index - An index of an attached pool
 * @tree: for the engine; first, so that a lookup need not compute its address
 * @engine: that of @tree, for changes and lookups: from the first atomic batch
 *	on, one with gates (gate.h)
 * @fast_lookup: fast lookup of its engine; of a destroyed index, or without
 *	one, a function that returns -EAGAIN
 * @fast_put: fast put of its engine; likewise, also of a damaged index
 * @fast_remove: fast remove of its engine; as @fast_put
 * @prefetch_keys: that of its engine, or a function that does nothing
 * @stats: costs of operations since the first of the present openings by
 *	programs; NULL: there was none
 * @ref: the pool holds one reference until the index is destroyed, each opening
 *	another one
 * @pool: its pool
 * @lock: protects @damaged, @dead and @nr_open; held, with wort_pool.lock, by a
 *	rename, which changes @entry_off and @name
 * @id: unique in the pool
 * @attr: engine attributes
 * @create_time: seconds since 1970
 * @entry_off: its catalogue entry
 * @slot_off: the catalogue slot that refers to the entry
 * @damaged: read-only; set and cleared with @lock held
 * @dead: destroyed; set with @lock held
 * @unbuilt: what the engine keeps in DRAM has still to be made from what is on
 *	media; set and cleared with @lock held
 * @shut: @dead or @unbuilt: an operation must not begin
 * @rebuild_err: how the last attempt to make it ended
 * @rebuilds: number of attempts
 * @engine_id: number of its engine; tree.engine is NULL if the module does not
 *	know it
 * @walk_failed: the walk could not mark all objects that the index owns
 * @was_open: it was opened since attach
 * @nr_open: number of openings
 * @owned: the only one was made with WORT_INDEX_OPEN_F_OWN; set with
 *	wort_pool.lock and @lock held, cleared with @lock held
 * @list: in wort_pool.indexes, in the order of ids, or wort_pool.dying
 * @todo: in wort_pool.todo
 * @due: in wort_pool.due
 * @shrink: bytes of what its engine keeps in DRAM that the background is to
 *	free
 * @rebuild: in wort_pool.rebuild
 * @never_due: it comes to neither any more; changes under wort_pool.due_lock
 * @hash: in wort_pool.names
 * @counted: what the last walk or check counted; under @lock
 * @past: costs of operations until it was last closed
 * @name_len: length of the name
 * @name: its bytes and a zero
 */
struct wort_index {
	struct wort_tree tree;
	const struct wort_engine *engine;
	wort_fast_lookup_fn *fast_lookup;
	wort_fast_put_fn *fast_put;
	wort_fast_remove_fn *fast_remove;
	wort_prefetch_fn *prefetch_keys;
	struct wort_index_stats __percpu *stats;
	struct kref ref;
	struct wort_pool *pool;
	struct mutex lock;		/* states */
	u64 id;
	u64 attr;
	u64 create_time;
	u64 entry_off;
	u64 slot_off;
	bool damaged;
	bool dead;
	bool unbuilt;
	bool shut;
	u32 engine_id;
	bool walk_failed;
	bool was_open;
	u32 nr_open;
	bool owned;
	u32 rebuilds;
	int rebuild_err;
	struct list_head list;
	struct list_head todo;
	struct list_head due;
	size_t shrink;
	struct list_head rebuild;
	bool never_due;
	struct hlist_node hash;
	struct wort_counted counted;
	struct wort_op_stats past[WORT_OP_NR];
	u32 name_len;
	u8 name[WORT_NAME_MAX + 1];
};

/**
 * struct wort_pool - An attached pool
 * @region: its memory
 * @alloc: its allocator
 * @locks: its locks and sections
 * @shared: what the trees of each engine share in DRAM, by wort_engine_nr()
 * @lock: protects the catalogue, lists and states
 * @sb: the superblock in force
 * @sb_copy: which of its copies that is
 * @damaged: read-only until a check clears that
 * @left_out: errno with which attach could not read all of the catalogue, or 0
 * @readonly: nothing is stored, because the memory is read-only, or the pool
 *	has a feature that the module does not know
 * @suspendable: power management knows the device: see wort_pool_waiting()
 * @frozen: who excludes operations that may change something, which wait while
 *	it is not 0; under @lock
 * @clearing: checks that may drop references: no hold begins; under @lock
 * @indexes: indexes in the order of ids
 * @dying: destroyed indexes whose space is not given back yet
 * @todo: indexes that the walk, or a check, still has to visit
 * @names: indexes by name
 * @nr_indexes: entries of @indexes
 * @nr_dying: entries of @dying
 * @nr_damaged: entries of @indexes that are damaged
 * @nr_unknown: indexes that attach found and whose engine the module does not
 *	know
 * @next_id: id of the next index; the word on media is not less
 * @gates: its gates, from the first atomic batch on, or NULL (gate.h)
 * @gates_on: all operations look at them; changed under @lock, to false only
 *	with @gates_sem for writing
 * @gates_sem: held for reading by each atomic batch
 * @atomic_sem: held for reading by an atomic batch from the time at which it
 *	sets space aside until it has given it back; for writing, to wait for
 *	that
 * @generation: generation on media; 0 if it could not be read
 * @nr_lost: redundant data on media found lost, of which no check has told yet
 * @nr_dropped: references dropped, of which no check has told yet
 * @catalogue_last: offset of the last catalogue block
 * @catalogue_hint: offset of a block from which to look for an empty slot
 * @catalogue_nr_free: empty catalogue slots
 * @catalogue_blocks: catalogue blocks
 * @wq: runs @work
 * @work: tables of tops, rebuilds, walk, freeing of destroyed indexes, reclaim
 * @work_lock: held while @work runs
 * @cursor: for @work
 * @spare_cursor: NULL, or the cursor of the last scan for the next one: to
 *	allocate and clear one takes longer than a short scan
 * @spare_group: likewise for batches
 * @work_done: woken at the end of a round of @work, and when @frozen ends
 * @space_waiters: operations that wait for space to be given back
 * @rounds: rounds of @work completed
 * @work_err: result of the last round
 * @stopping: @work must end soon
 * @suspended: @work must pause, and store nothing
 * @rewalk: the walk has to start again; under @work_lock or @lock
 * @due_lock: protects @due and @rebuild, also where other spinlocks are held
 * @due: indexes to be tended
 * @rebuild: indexes that operations wait for, to be rebuilt
 * @volatile_bytes: bytes that the trees of each engine keep in DRAM, by
 *	wort_engine_nr(); under @work_lock
 * @leaky: space of a damaged index can only be given back after the next attach
 * @walk_indexes: indexes that the walk has finished
 * @walk_records: records that the walk has visited
 * @check_records: records that the running check has examined
 * @rebuild_records: records that rebuilds of indexes have visited, if the walk
 *	did not visit them at the same time
 * @attach_lines: cache lines of media loaded by attach
 * @zero_lines: cache lines zeroed in the background, of slots that were given
 *	back
 * @notify: NULL, or called when @damaged or @nr_damaged has changed or the walk
 *	has ended, in the task that caused that, perhaps with locks of the pool
 *	held: it neither sleeps nor calls back.  It is not called after
 *	wort_pool_stop() and the last operation.  The owner sets it before
 *	operations begin; it is not called for damage that attach finds, or for
 *	a walk that ended before.
 */
struct wort_pool {
	struct wort_region *region;
	struct wort_alloc alloc;
	struct wort_locks locks;
	void *shared[WORT_ENGINES_NR];
	struct mutex lock;		/* catalogue, lists, states */
	struct wort_media_sb sb;
	u32 sb_copy;
	bool damaged;
	int left_out;
	bool readonly;
	bool suspendable;
	u32 frozen;
	u32 clearing;
	struct list_head indexes;
	struct list_head dying;
	struct list_head todo;
	struct wort_names names;
	u32 nr_indexes;
	u32 nr_dying;
	atomic_t nr_damaged;
	u32 nr_unknown;
	u64 next_id;
	struct wort_gates *gates;
	bool gates_on;
	struct rw_semaphore gates_sem;
	struct rw_semaphore atomic_sem;
	u64 generation;
	u32 nr_lost;
	u64 nr_dropped;
	u64 catalogue_last;
	u64 catalogue_hint;
	u32 catalogue_nr_free;
	u32 catalogue_blocks;
	struct workqueue_struct *wq;
	struct work_struct work;
	struct mutex work_lock;		/* taken first */
	struct wort_cursor *cursor;
	struct wort_cursor *spare_cursor;
	struct wort_commit_group *spare_group;
	wait_queue_head_t work_done;
	atomic_t space_waiters;
	u64 rounds;
	int work_err;
	bool stopping;
	bool suspended;
	bool rewalk;
	bool leaky;
	spinlock_t due_lock;		/* due, rebuild; taken last */
	struct list_head due;
	struct list_head rebuild;
	size_t volatile_bytes[WORT_ENGINES_NR];
	u64 walk_indexes;
	u64 walk_records;
	u64 check_records;
	u64 rebuild_records;
	u64 attach_lines;
	u64 zero_lines;
	void (*notify)(struct wort_pool *pool);
};

/**
 * struct wort_format_opts - How to format
 * @extent_size: a power of two from 4 KiB to 1 MiB; 0: chosen by pool size
 * @time: seconds since 1970
 * @uuid: identity of the pool
 * @label: name for people, padded with zeroes
 */
struct wort_format_opts {
	u32 extent_size;
	u64 time;
	u8 uuid[WORT_UUID_LEN];
	u8 label[WORT_LABEL_LEN];
};

/* sb.c */
#define WORT_SB_END	WORT_MEDIA_SB_COPIES	/* the copy at the end of the pool */
#define WORT_SB_NR	(WORT_SB_END + 1)

u64 wort_sb_off(const struct wort_media_sb *sb, u32 copy);
int wort_sb_read(struct wort_op *op, u64 off, struct wort_media_sb *sb);
void wort_sb_write(struct wort_op *op, const struct wort_media_sb *sb,
		   u32 copy);
void wort_sb_destroy(struct wort_op *op, u64 off);
void wort_sb_refused(const struct wort_region *region,
		     const struct wort_media_sb *sb, int err);
void wort_sb_attach(struct wort_op *op, struct wort_pool *pool);
void wort_sb_check(struct wort_pool *pool, struct wort_check_arg *arg,
		   bool renew);
int wort_sb_generation(struct wort_op *op, u64 *generation);
bool wort_sb_unchanged(struct wort_pool *pool);
void wort_sb_set_generation(struct wort_op *op, u64 generation);
void wort_sb_set_next_id(struct wort_op *op, const struct wort_pool *pool,
			 u64 next_id);
int wort_pool_probe(struct wort_region *region, struct wort_media_sb *sb);
int wort_sb_load(struct wort_op *op, struct wort_media_sb *sb, u32 *copy);
void wort_sb_store(struct wort_op *op, struct wort_pool *pool);
int wort_sb_replace(struct wort_op *op, struct wort_media_sb *sb, u32 copy);

/* mkpool.c */
int wort_pool_format(struct wort_region *region,
		     const struct wort_format_opts *opts);

/* grow.c */
int wort_pool_grow(struct wort_region *region);

/* pool.c */
int wort_pool_attach(struct wort_region *region, struct wort_pool **out);
void wort_pool_stop(struct wort_pool *pool);
void wort_pool_suspend(struct wort_pool *pool);
void wort_pool_resume(struct wort_pool *pool);
void wort_pool_detach(struct wort_pool *pool);
u32 wort_pool_state(const struct wort_pool *pool);
int wort_pool_info(struct wort_pool *pool, struct wort_pool_info_arg *arg);
void wort_pool_damaged(struct wort_pool *pool);
int wort_pool_space_pending(struct wort_pool *pool);
int wort_pool_wait_space(struct wort_pool *pool, const struct wort_op *op);
void wort_pool_kick(struct wort_pool *pool);
void wort_pool_freeze(struct wort_pool *pool);
void wort_pool_thaw(struct wort_pool *pool);
bool wort_pool_walk_blocked(struct wort_pool *pool);
int wort_pool_wait_walk(struct wort_pool *pool);
int wort_pool_wait_round(struct wort_pool *pool);

/* Does an error tell of damage in the pool, not of work that had to end? */
static inline bool wort_is_damage(int err)
{
	return err == -EUCLEAN || err == -EIO;
}

/* May anything be stored? */
static inline bool wort_pool_writable(const struct wort_pool *pool)
{
	return !READ_ONCE(pool->damaged) && !pool->readonly;
}

/* hold.c */
int wort_pool_wait_thawed(struct wort_pool *pool);
int wort_pool_lock_changes(struct wort_pool *pool);
int wort_pool_hold(struct wort_pool *pool, bool *held);
int wort_pool_release(struct wort_pool *pool, bool *held);

/* Notify the owner that the state of the pool has changed. */
static inline void wort_pool_changed(struct wort_pool *pool)
{
	void (*notify)(struct wort_pool *pool) = READ_ONCE(pool->notify);

	if (notify)
		notify(pool);
}

/*
 * The state in which a task waits.  A fatal signal ends a wait, and the machine
 * can suspend during it.  Power management does not know a pool that is being
 * attached.  If the machine hibernated then, the background work of that pool
 * would store after the snapshot.  UNSAFE tells lockdep that a task may be
 * frozen with a lock: atomic batches wait with a semaphore held.
 */
static inline unsigned int wort_pool_waiting(const struct wort_pool *pool)
{
	return READ_ONCE(pool->suspendable) ?
		       TASK_KILLABLE | TASK_FREEZABLE_UNSAFE :
		       TASK_KILLABLE;
}

/**
 * struct wort_walk - A visit of all objects that an index owns (walk.c)
 * @pool: the pool
 * @visitor: called for each object; NULL: objects are only read
 * @pause: called between sections; an error ends the walk
 * @check: examine nodes, too
 * @rebuild: have the engine make what it keeps in DRAM for the index, too
 * @records: NULL, or where visited records are counted
 * @index: the index
 * @bad_off: offset of the damage that the walk has met, or 0
 * @rebuild_err: -ENOMEM if @rebuild had no memory, or 0
 * @op: operation of the current chunk
 * @alone: the current chunk excludes writers
 * @moved: the cursor is at the last step, taken in the current section
 * @checked: the current step was examined
 * @objects: objects visited by the current chunk
 * @chunks: number of chunks
 * @step: called by the engine
 * @pos: position from which a later section continues, in @buf; length 0: the
 *	start
 * @buf: bytes of @pos
 */
struct wort_walk {
	struct wort_pool *pool;
	struct wort_visitor *visitor;
	int (*pause)(struct wort_walk *walk);
	bool check;
	bool rebuild;
	u64 *records;
	struct wort_index *index;
	u64 bad_off;
	int rebuild_err;
	/* private: */
	struct wort_op op;
	bool alone;
	bool moved;
	bool checked;
	u32 objects;
	u32 chunks;
	struct wort_visitor step;
	struct wort_key pos;
	u8 buf[WORT_KEY_MAX];
};

/* walk.c */
void wort_walk_begin(struct wort_walk *walk, struct wort_index *index);
void wort_walk_open(struct wort_walk *walk);
int wort_walk_steps(struct wort_walk *walk);
void wort_chunk_begin(struct wort_walk *walk, bool alone);
void wort_chunk_end(struct wort_walk *walk, int err);
int wort_walk_chunk(struct wort_walk *walk, bool alone);
int wort_walk_run(struct wort_walk *walk);
void wort_todo_fill(struct wort_pool *pool);
void wort_todo_clear(struct wort_pool *pool);
struct wort_index *wort_todo_next(struct wort_pool *pool);

/* background.c */
void wort_pool_work(struct work_struct *work);
int wort_pool_round(struct wort_pool *pool);
bool wort_pool_rest(struct wort_pool *pool);

/*
 * Must this task stop for the machine to sleep?  A call begins again only after
 * the signal, which comes some time after freezing() has become true.
 */
static inline bool wort_must_freeze(void)
{
	return freezing(current) && signal_pending(current);
}

/*
 * Must a long piece of work end?  A check does background work in the task of
 * its caller, which may be killed or frozen.
 */
static inline bool wort_pool_interrupted(struct wort_pool *pool)
{
	return wort_pool_rest(pool) || fatal_signal_pending(current) ||
	       wort_must_freeze();
}

/* tend.c */
struct list_head *wort_due_next(struct wort_pool *pool, struct list_head *list);
struct list_head *wort_due_last(struct wort_pool *pool, struct list_head *list);
void wort_due_add(struct wort_index *index, struct list_head *list,
		  struct list_head *entry);
void wort_tend_all(struct wort_pool *pool);
void wort_tend_due(struct wort_index *index);
void wort_tend_nothing(struct wort_index *index);
void wort_tend_wanted(struct wort_tree *tree);
void wort_tend_never(struct wort_index *index);
size_t wort_index_dram(const struct wort_index *index);
size_t wort_pool_spare_bytes(struct wort_pool *pool);
size_t wort_pool_shrink(struct wort_pool *pool, size_t bytes);

/* parts.c */
void wort_pool_reclaim(struct wort_pool *pool);
void wort_parts_drop(struct wort_index *index);

/* rebuild.c */
bool wort_rebuild_begin(struct wort_index *index);
void wort_rebuild_end(struct wort_index *index, int err);
void wort_rebuild_all(struct wort_pool *pool);
void wort_rebuild_again(struct wort_index *index);
int wort_rebuild_wait(struct wort_index *index);

/* names.c */
int wort_names_init(struct wort_names *names);
void wort_names_destroy(struct wort_names *names);
struct wort_index *wort_names_find(const struct wort_names *names,
				   const u8 *name, u32 len);
void wort_names_add(struct wort_names *names, struct wort_index *index);
void wort_names_remove(struct wort_names *names, struct wort_index *index);

/* No further opening until this one ends: WORT_KERNEL_OPEN_F_OWN. */
#define WORT_INDEX_OPEN_F_OWN	BIT(31)

/* catalogue.c */
int wort_catalogue_load(struct wort_op *op, struct wort_pool *pool);
int wort_catalogue_drop(struct wort_op *op, struct wort_pool *pool, u64 *nr);
int wort_catalogue_visit(struct wort_op *op, struct wort_pool *pool, u64 *off,
			 struct wort_visitor *visitor);
int wort_index_open(struct wort_pool *pool, const u8 *name, u32 name_len,
		    u32 flags, u32 engine, u64 attr, struct wort_index **out);
int wort_index_open_id(struct wort_pool *pool, u64 id, struct wort_index **out);
int wort_index_destroy(struct wort_pool *pool, const u8 *name, u32 name_len);
int wort_index_rename(struct wort_pool *pool, const u8 *from, u32 from_len,
		      const u8 *to, u32 to_len);
void wort_index_put(struct wort_index *index);
void wort_index_drop(struct wort_index *index);
void wort_index_set_damaged(struct wort_index *index, bool damaged);
void wort_index_set_unbuilt(struct wort_index *index, bool unbuilt);
void wort_index_set_gated(struct wort_index *index);
void wort_index_set_counted(struct wort_index *index, u64 bytes, u64 records);
int wort_index_verify(const struct wort_index *index);
int wort_index_list(struct wort_pool *pool, u64 after,
		    struct wort_index_record *records, u32 max, bool *more);
void wort_index_info(struct wort_index *index, struct wort_index_info_arg *arg);
void wort_index_stats(struct wort_index *index,
		      struct wort_op_stats stats[WORT_OP_NR]);

/**
 * struct wort_scan - A scan of an index
 * @flags: WORT_SCAN_F_*
 * @relaxed: a power cut can undo what it finds
 * @start: first key, or NULL; may lie in @buf, which is written later
 * @bound: bound or prefix, or NULL
 * @max: records at most; 0: as many as fit
 * @buf: records go here
 * @buf_len: its size
 * @count: records found
 * @len: bytes written
 * @need: with -ERANGE: bytes that the next record, or with COUNT the last key,
 *	needs
 * @last: without COUNT: offset of the last record in @buf
 * @last_len: with COUNT: length of the last key
 * @more: the bound was not reached
 */
struct wort_scan {
	u32 flags;
	bool relaxed;
	const struct wort_key *start;
	const struct wort_key *bound;
	u64 max;
	u8 *buf;
	u32 buf_len;
	u64 count;
	u32 len;
	u32 need;
	u32 last;
	u32 last_len;
	bool more;
};

/**
 * struct wort_request - An operation as a program requests it
 * @op: which one, flags and lengths
 * @put: its key, and its value, if there is one; other fields are set when it
 *	runs
 * @del: the removal that it is, in a batch; set when it is prepared
 * @expect: the expected value, if there is one
 * @answer: where the requested value goes; its length is set, or WORT_NO_VALUE
 * @err: in wort_batch.reqs: its result, set with the length of the answer
 */
struct wort_request {
	struct wort_batch_op op;
	struct wort_put put;
	struct wort_del del;
	struct wort_value expect;
	struct wort_buf answer;
	int err;
};

/**
 * struct wort_batch - A batch of operations
 * @flags: WORT_BATCH_F_*
 * @reqs: the operations as an array, each with a rec_len of 1; NULL: they are
 *	packed in @ops, and their answers in @results
 * @ops: operations, each a struct wort_batch_op
 * @ops_len: bytes of operations
 * @nr_ops: operations
 * @results: answers go here
 * @results_size: size of that buffer
 * @write: changes are allowed
 * @relaxed: a power cut can undo what lookups find
 * @done: operations carried out
 * @failed: of these, failed
 * @ops_done: bytes of the operations carried out
 * @results_len: bytes of answers
 */
struct wort_batch {
	u32 flags;
	struct wort_request *reqs;
	const u8 *ops;
	u32 ops_len;
	u32 nr_ops;
	u8 *results;
	u32 results_size;
	bool write;
	bool relaxed;
	u32 done;
	u32 failed;
	u32 ops_done;
	u32 results_len;
};

/* index.c */
int wort_index_insert(struct wort_index *index, struct wort_put *put);
int wort_index_lookup(struct wort_index *index, const struct wort_key *key,
		      struct wort_buf *buf);
int wort_index_delete(struct wort_index *index, const struct wort_key *key,
		      const struct wort_value *expect, struct wort_buf *old);
int wort_request_verify(const struct wort_batch_op *op, bool write);
int wort_request_run(struct wort_index *index, struct wort_request *req);

/**
 * enum wort_entry - Which operations may run concurrently
 * @WORT_READ: it changes nothing, and does not sleep
 * @WORT_WRITE: it may change something
 * @WORT_READ_ALONE: as the first, while writers are excluded
 * @WORT_WRITE_ALONE: as the second, while other writers are excluded
 */
enum wort_entry {
	WORT_READ,
	WORT_WRITE,
	WORT_READ_ALONE,
	WORT_WRITE_ALONE,
};

int wort_index_enter(struct wort_index *index, struct wort_op *op,
		     enum wort_entry entry);
int wort_index_exit(struct wort_index *index, struct wort_op *op,
		    enum wort_entry entry, u32 type, int err);
void wort_index_join(struct wort_index *index, struct wort_op *op,
		     const struct wort_op *first);
void wort_index_leave(struct wort_index *index, struct wort_op *op, u32 type,
		      int err);
void wort_index_account(struct wort_index *index, u32 type,
			const struct wort_counts *n);
void wort_committed_enter(struct wort_pool *pool, struct wort_op *op,
			  bool alone);
void wort_committed_exit(struct wort_pool *pool, struct wort_op *op,
			 bool alone);
int wort_index_pause(struct wort_index *index);
bool wort_index_again(struct wort_index *index, struct wort_op *op, int err);
int wort_request_prepare(struct wort_member *m);
void wort_index_kick(struct wort_index *index);

/* Does the operation return a value? */
static inline bool wort_request_answers(const struct wort_batch_op *op)
{
	return op->op == WORT_BATCH_LOOKUP || op->flags & WORT_F_FETCH;
}

/* Is it carried out only if a value is the one expected? */
static inline bool wort_request_expects(const struct wort_batch_op *op)
{
	return op->op == WORT_BATCH_CAS ||
	       (op->op == WORT_BATCH_DELETE &&
		op->flags & WORT_DELETE_F_EXPECT) ||
	       (op->op == WORT_BATCH_EXPECT && !op->flags);
}

/* Equal keys of an index have the same one; others seldom do. */
static inline u64 wort_index_key_word(u64 index, const struct wort_key *key)
{
	u64 word = key->len == sizeof(u64) ? wort_key_word(key, 0) :
		   xxh64(key->data, key->len, 0);

	return word + index;
}

/* scan.c, batch.c */
int wort_index_scan(struct wort_index *index, struct wort_scan *scan);
int wort_index_batch(struct wort_index *index, struct wort_batch *batch);

/* lost.c */
int wort_pool_drop_lost(struct wort_pool *pool, u64 *nr);

/**
 * struct wort_atomic - An atomic batch
 * @nr_ops: operations, at most WORT_ATOMIC_MAX
 * @reqs: the operations; of each the answer is filled in, and of a lookup its
 *	result @err
 * @indexes: for each operation its index, held
 * @relaxed: a power cut can undo what lookups find, if nothing is changed
 * @refused: number of the operation that refused, or WORT_NO_VALUE
 */
struct wort_atomic {
	u32 nr_ops;
	struct wort_request *reqs;
	struct wort_index **indexes;
	bool relaxed;
	u32 refused;
};

/* atomic.c */
int wort_atomic_verify(const struct wort_batch_op *op, bool write);
int wort_pool_atomic(struct wort_pool *pool, struct wort_atomic *batch);

/* check.c */
int wort_pool_check(struct wort_pool *pool, struct wort_check_arg *arg);

#endif /* _WORT_POOL_H */
