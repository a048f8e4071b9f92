/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an engine is.
 *
 * An engine is the structure of an index: a file in this folder, its media
 * structs in uapi/linux/wort_format.h, a line in the table in engine.c and in
 * Kbuild.  Nothing else names it.
 */
#ifndef _WORT_ENGINE_H
#define _WORT_ENGINE_H

#include <linux/percpu.h>
#include <linux/wort.h>
#include <linux/wort_format.h>

#include <asm/barrier.h>

#include "../core/key.h"
#include "../core/op.h"

/* traits */
#define WORT_ENGINE_INSTANT_OPEN	BIT(0)	/* opens in O(1) */
#define WORT_ENGINE_MAPPABLE		BIT(1)	/* user readers can follow */

struct wort_alloc;
struct wort_engine;
struct wort_locks;
struct wort_skips;
struct wort_top;
struct wort_top_shape;

/**
 * struct wort_tree - An index as its engine sees it
 * @engine: its engine
 * @region: memory of the pool
 * @alloc: allocator of the pool
 * @locks: locks of the pool
 * @root: its root record, WORT_MEDIA_ROOT_WORDS words in one line
 * @in_flight: of @locks
 * @skips: what is known of its nodes, and of all others of the pool
 * @top: leads past its first nodes; is freed when nobody looks at it any more
 * @made: nodes made since that was looked at last, roughly
 * @missed: of these, nodes for keys beyond it
 * @made_due: when so many were made it shall be looked at again
 * @missed_due: or when so many were beyond it
 * @outgrown: called then, perhaps more than once, with locks held: it neither sleeps
 *	nor calls back
 */
struct wort_tree {
	const struct wort_engine *engine;
	struct wort_region *region;
	struct wort_alloc *alloc;
	struct wort_locks *locks;
	__le64 __pmem *root;
	const u32 *in_flight;
	struct wort_skips *skips;
	struct wort_top *top;
	u64 made;
	u64 missed;
	u64 made_due;
	u64 missed_due;
	void (*outgrown)(struct wort_tree *tree);
};

/**
 * wort_tree_top() - The table of the top of a tree
 * @tree: The tree.
 *
 * Context: A section, to the end of which it stays.
 * Return: The table, perhaps &wort_top_none.
 */
static __always_inline struct wort_top *
wort_tree_top(const struct wort_tree *tree)
{
	/* pairs with the release of who made it */
	return smp_load_acquire(&tree->top);
}

/**
 * struct wort_buf - Where a value goes
 * @data: memory of the caller
 * @size: its size
 * @len: length of the value, also when it does not fit
 * @relaxed: of a lookup: it may be a value that a power cut would take back
 */
struct wort_buf {
	void *data;
	u32 size;
	u32 len;
	bool relaxed;
};

/**
 * struct wort_put - A record to store
 * @key: its key
 * @value: its value
 * @expect: change it only if this is its value now; NULL: whatever it is
 * @old: where the value goes that is there now, if any; NULL: not wanted
 * @create: the key must not be there yet
 * @replace: the key must be there
 * @replaced: told by the engine: it was
 */
struct wort_put {
	struct wort_key key;
	struct wort_value value;
	const struct wort_value *expect;
	struct wort_buf *old;
	bool create;
	bool replace;
	bool replaced;
};

/* What flags say, WORT_INSERT_F_*; on no other condition, and no old value is wanted. */
static __always_inline void wort_put_flags(struct wort_put *put, u32 flags)
{
	put->expect = NULL;
	put->old = NULL;
	put->create = flags & WORT_INSERT_F_CREATE;
	put->replace = flags & WORT_INSERT_F_REPLACE;
	put->replaced = false;
}

/**
 * wort_put_init() - Ask for an insert
 * @put: Uninitialised memory of the caller, __uninitialized as struct wort_op is.
 * @key: The key.
 * @value: The value.
 * @flags: WORT_INSERT_F_*.
 *
 * One member after the other: what has just been stored in parts a processor does not
 * forward to a load of the whole, and waits until all before it is done.
 *
 * Context: Any context.
 */
static __always_inline void wort_put_init(struct wort_put *put,
					  const struct wort_key *key,
					  const struct wort_value *value,
					  u32 flags)
{
	put->key.data = key->data;
	put->key.len = key->len;
	put->value.data = value->data;
	put->value.len = value->len;
	wort_put_flags(put, flags);
}

#define WORT_CHANGE_UNITS	3
#define WORT_CHANGE_WORDS	20

/**
 * struct wort_change - A change that is prepared, to be committed with others
 * @contents: a fence has to come first
 * @removes: what lies in its units will be out of date
 * @slot: offset of the word that it is about; of two changes that are about one
 *	the second has to be prepared when the first is committed
 * @unit: offsets in the units that it will lock, or 0
 * @engine: for the engine
 */
struct wort_change {
	bool contents;
	bool removes;
	u64 slot;
	u64 unit[WORT_CHANGE_UNITS];
	u64 engine[WORT_CHANGE_WORDS];
};

#define WORT_WARM_MAX		64	/* keys at a time */
#define WORT_LOOK_NODES		64	/* on the way of a look: fewer */
#define WORT_SET_NODES		17	/* on that of a set */
#define WORT_TOP_PARTS		16

/**
 * struct wort_visitor - Told about objects that an index owns
 * @visit: called with the place of each object, which is not trusted.
 *	@first: a walk of the whole index comes by this object only once, also
 *	when it is interrupted and goes on.  False of inner nodes, and of nothing
 *	else: what was told of as both has two owners.  Returns 0 or a negative errno,
 *	which ends the walk.
 */
struct wort_visitor {
	int (*visit)(struct wort_visitor *visitor, struct wort_op *op, u64 off,
		     u64 size, bool first);
};

/**
 * struct wort_cursor - A place between the records of an index
 * @op: operation that moves it
 * @tree: the index
 * @reverse: it moves from high keys to low
 * @wanted: how many records its mover goes for at most, this one among them; counted
 *	down by the engine, which loads no more than those ahead
 * @key_len: length of the key that it stands at
 * @value_len: length of the value there
 * @key: the key that it stands at, perhaps with other bytes behind it
 * @engine: for the engine
 *
 * Valid as long as the section of its operation.  To go on later, seek the last
 * key.
 */
struct wort_cursor {
	struct wort_op *op;
	struct wort_tree *tree;
	bool reverse;
	u32 wanted;
	u32 key_len;
	u32 value_len;
	u8 key[WORT_KEY_MAX] __aligned(8);
	u64 engine[];
};

#define WORT_PAIR_BYTES		(sizeof(struct wort_record) + 2 * sizeof(u64))

/**
 * struct wort_pairs - Where pairs go: records with keys of eight bytes at most, and values
 *	of eight
 * @head: what each begins with, among it how far it is to the next
 * @value_at: how far its value is from its beginning, which lies over zeroes behind the
 *	key, or behind the record, where it is lost
 * @at: where the next one goes, with WORT_PAIR_BYTES of room
 */
struct wort_pairs {
	struct wort_record head;
	u32 value_at;
	u8 *at;
};

/**
 * enum wort_set_kind - What a set of an engine has done
 * @WORT_SET_NEW: a record for a new key where nothing was in the way
 * @WORT_SET_BESIDE: one where another record was
 * @WORT_SET_VALUE: another value of a record
 */
enum wort_set_kind {
	WORT_SET_NEW,
	WORT_SET_BESIDE,
	WORT_SET_VALUE,
};

#define WORT_SET_NR	(WORT_SET_VALUE + 1)

/**
 * struct wort_set_costs - What a set of one kind costs, besides inner nodes on the way
 * @type: WORT_OP_* that it is
 * @stores: words stored
 * @lines: flushed, where stores need that
 * @fences: ordering points, where they do
 * @leaves: visited
 */
struct wort_set_costs {
	u8 type;
	u8 stores;
	u8 lines;
	u8 fences;
	u8 leaves;
};

/**
 * struct wort_index_stats - What operations on an index did on one processor
 * @of: by WORT_OP_*, but for those in @found and @set
 * @found: looks that found a record, by the inner nodes on the way.  One addition
 *	tells of operations, nodes and leaves.
 * @set: sets of each kind, the same; first those that needed no flush
 */
struct wort_index_stats {
	struct wort_op_costs of[WORT_OP_NR];
	u64 found[WORT_LOOK_NODES];
	u64 set[2][WORT_SET_NR][WORT_SET_NODES];
};

/**
 * wort_look_found() - Count a look that found a record
 * @stats: Where to.
 * @nodes: Inner nodes on the way, less than WORT_LOOK_NODES.
 * @lines: Cache lines of the leaf that were read beyond the first.
 *
 * Context: Any context.
 */
static __always_inline void wort_look_found(struct wort_index_stats __percpu *stats,
					    u64 nodes, u64 lines)
{
	if (!static_branch_likely(&wort_counting))
		return;
	this_cpu_inc(stats->found[nodes]);
	if (lines)
		this_cpu_add(stats->of[WORT_OP_LOOKUP].n.more_loads, lines);
}

/**
 * wort_look_missed() - Count a look for what is not there
 * @stats: Where to.
 * @nodes: Inner nodes on the way.
 * @leaves: Leaves at its end, 1 or 0.
 * @lines: Cache lines of the leaf that were read beyond the first.
 *
 * Context: Any context.
 */
static __always_inline void wort_look_missed(struct wort_index_stats __percpu *stats,
					     u64 nodes, u64 leaves, u64 lines)
{
	struct wort_op_costs __percpu *costs = &stats->of[WORT_OP_LOOKUP];

	if (!static_branch_likely(&wort_counting))
		return;
	this_cpu_inc(costs->ops);
	this_cpu_add(costs->n.nodes, nodes);
	this_cpu_add(costs->n.leaves, leaves);
	if (lines)
		this_cpu_add(costs->n.more_loads, lines);
}

/**
 * wort_set_done() - Count a set
 * @stats: Where to.
 * @kind: What it does.
 * @flush: Stores need a flush.
 * @nodes: Inner nodes on the way, less than WORT_SET_NODES.
 *
 * Context: Any context.
 */
static __always_inline void wort_set_done(struct wort_index_stats __percpu *stats,
					  enum wort_set_kind kind, bool flush,
					  u64 nodes)
{
	if (static_branch_likely(&wort_counting))
		this_cpu_inc(stats->set[flush][kind][nodes]);
}

/* As @look of an engine. */
typedef int wort_look_fn(const struct wort_tree *tree, const struct wort_key *key,
			 struct wort_buf *buf,
			 struct wort_index_stats __percpu *stats);

/* As @set of an engine. */
typedef int wort_set_fn(struct wort_tree *tree, struct wort_put *put,
			struct wort_index_stats __percpu *stats);

/**
 * struct wort_engine - The operations of an engine
 * @name: for people and programs
 * @id: for catalogue entries
 * @traits: WORT_ENGINE_*
 * @cursor_size: bytes of its part of a cursor
 * @create: make the root record of an empty index in zeroed memory, which the
 *	caller flushes and publishes
 * @look: as @lookup, without an operation, of values of one word, where nothing is in
 *	flight or makes no sense and no memory is or may be bad.  Counts itself in its
 *	last argument.  With -ENOENT the buffer is as it was.  -EAGAIN otherwise, and not
 *	counted; also where the key is none.
 * @lookup: read the value of a key.  -ENOENT; -ERANGE if it does not fit.
 * @put: store a record.  -ENOENT, -EEXIST, -ECANCELED if the value is not the
 *	one expected, -ERANGE if that does not fit @old, -ENOSPC, -ENOMEM:
 *	nothing changed.
 * @set: as @put of a key and a value of one word each, without an operation, under the
 *	same conditions as @look, where all it needs is at hand.  Counts itself.
 *	-EAGAIN otherwise, and not counted; also of any other record, and where
 *	more is asked for than to create it.
 * @set_costs: what sets cost
 * @remove: remove a record.  -ENOENT; -ECANCELED if its value is not @expect;
 *	-ERANGE if it does not fit @old.  Both may be NULL.
 * @prepare_put: as @put, as far as nobody sees it.  0: a change is due; it may
 *	also be dropped, with wort_alloc_untake().
 * @prepare_remove: the same of @remove
 * @commit: store the word of a change that was prepared, and flush it.  A fence
 *	for its contents has passed.  -EAGAIN: prepare it again.
 * @finish: a fence has passed since it was committed
 * @warm: begin to load what operations on these keys will need.  WORT_WARM_MAX
 *	at most.
 * @look_ahead: begin to load what a change of this key will need, before its
 *	operation is set up.  Reads nothing where memory is or may be bad.
 * @top_shape: which table would lead past many nodes, and be no larger than so many
 *	bytes.  Of no digits where the tree is small.
 * @top_fill: fill in one of WORT_TOP_PARTS parts of the table of a tree, which has
 *	digits, beside others who change it.  This and @top_shape sleep.
 * @seek: move to the record at a key or, if there is none, to the next one in
 *	the direction of the cursor; without a key to the first.  -ENOENT at
 *	the end.
 * @next: move one record further in the direction of the cursor.  -ENOENT at
 *	the end.
 * @next_pairs: as @next, up to @max times, as long as it comes by pairs whose keys are
 *	as long as the one before, and nothing is in flight or makes no sense: how
 *	often.  They are packed; behind them other bytes may be.  Where it says 0,
 *	@next goes on.
 * @value: copy the value at the cursor; -ERANGE if it does not fit
 * @owned: tell about the objects that the cursor entered with its last move.
 *	Seeking from the start and moving to the end tells of every object.
 * @drop: the last move, of a cursor that is not reversed, failed with -EIO: clear the
 *	one word that leads to what could not be read, whatever that is, which
 *	wort_op.bad_off tells.  To go on, seek.  No writer is at work, and the tree has
 *	no table of its top, which might lead past the word.  -EIO if the root cannot
 *	be read, either; -EAGAIN if it can be read now.
 * @check: examine what the cursor entered with its last move, beyond what moving
 *	verifies
 *
 * All of them return -EUCLEAN where media is damaged and -EIO where it is
 * known to be bad.  What has committed does not fail any more: damage that it meets
 * afterwards, where it gives back what it took away, is told by wort_op.damaged.
 * They run concurrently, in sections that keep what they see from being used again;
 * -EAGAIN: nothing was changed, the caller retries.  What an operation needs it
 * reserves before its first store to media.
 */
struct wort_engine {
	const char *name;
	u32 id;
	u32 traits;
	size_t cursor_size;

	void (*create)(struct wort_op *op, struct wort_tree *tree);
	wort_look_fn *look;
	int (*lookup)(struct wort_op *op, struct wort_tree *tree,
		      const struct wort_key *key, struct wort_buf *buf);
	int (*put)(struct wort_op *op, struct wort_tree *tree,
		   struct wort_put *put);
	wort_set_fn *set;
	struct wort_set_costs set_costs[WORT_SET_NR];
	int (*remove)(struct wort_op *op, struct wort_tree *tree,
		      const struct wort_key *key,
		      const struct wort_value *expect, struct wort_buf *old);

	int (*prepare_put)(struct wort_op *op, struct wort_tree *tree,
			   struct wort_put *put, struct wort_change *change);
	int (*prepare_remove)(struct wort_op *op, struct wort_tree *tree,
			      const struct wort_key *key,
			      const struct wort_value *expect,
			      struct wort_buf *old, struct wort_change *change);
	int (*commit)(struct wort_op *op, struct wort_tree *tree,
		      struct wort_change *change);
	void (*finish)(struct wort_op *op, struct wort_tree *tree,
		       struct wort_change *change);
	void (*warm)(struct wort_op *op, struct wort_tree *tree,
		     const struct wort_key *keys, u32 nr);
	void (*look_ahead)(const struct wort_tree *tree,
			   const struct wort_key *key);

	int (*top_shape)(struct wort_op *op, struct wort_tree *tree,
			 size_t max_size, struct wort_top_shape *shape);
	int (*top_fill)(struct wort_op *op, struct wort_tree *tree, u32 part);

	int (*seek)(struct wort_cursor *cur, const struct wort_key *key);
	int (*next)(struct wort_cursor *cur);
	u32 (*next_pairs)(struct wort_cursor *cur, struct wort_pairs *pairs,
			  u32 max);
	int (*value)(struct wort_cursor *cur, struct wort_buf *buf);
	int (*owned)(struct wort_cursor *cur, struct wort_visitor *visitor);
	int (*drop)(struct wort_cursor *cur);

	int (*check)(struct wort_cursor *cur);
};

const struct wort_engine *wort_engine_by_id(u32 id);
/*
 * Memory for the time of a call is charged to the memory cgroup of its caller.
 * If there is none the call fails, or does without; no task is killed for it.
 */
#define WORT_GFP_CALL	(__GFP_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN)

struct wort_cursor *wort_engine_cursor(void);

extern const struct wort_engine wort_engine_wort;

#endif /* _WORT_ENGINE_H */
