/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The interface of an engine.
 *
 * An engine is the structure of an index: files in this folder, its media
 * structs in uapi/linux/wort_format_<engine>.h, a line in
 * uapi/linux/wort_engines.h and in Kbuild.  No other code names it.
 */
#ifndef _WORT_ENGINE_H
#define _WORT_ENGINE_H

#include <linux/percpu.h>
#include <linux/wort.h>
#include <linux/wort_engines.h>
#include <linux/wort_format.h>

#include <asm/barrier.h>

#include "../core/key.h"
#include "../core/op.h"
#include "costs.h"

struct wort_alloc;
struct wort_engine;
struct wort_locks;
struct wort_round;

/**
 * struct wort_tree - An index as its engine sees it
 * @engine: its engine
 * @region: memory of the pool
 * @alloc: allocator of the pool
 * @locks: locks of the pool
 * @root: its root record, WORT_MEDIA_ROOT_WORDS words in one line:
 *	wort_tree_root()
 * @attr: attribute word of the index, which wort_attr_verify() has accepted
 * @in_flight: of @locks
 * @priv: what the engine keeps in DRAM for the open tree, or NULL
 * @priv_bytes: bytes of it that the pool limits; set by the engine, read at any
 *	time
 * @shared: what all trees of the engine in the pool share in DRAM, or NULL
 * @want_tend: asks the background for a call of @tend.  Any context, also with
 *	locks held; calls before @tend has begun count as one.
 */
struct wort_tree {
	const struct wort_engine *engine;
	struct wort_region *region;
	struct wort_alloc *alloc;
	struct wort_locks *locks;
	__le64 __pmem *root;
	u64 attr;
	const u32 *in_flight;
	void *priv;
	size_t priv_bytes;
	void *shared;
	void (*want_tend)(struct wort_tree *tree);
};

/**
 * wort_tree_root() - The root record of a tree
 * @tree: The tree.
 *
 * A rename of the index moves it: no section of writers is under way then, and
 * none begins before all sections of readers have ended that have loaded the
 * old place.  A reader loads it once for each descent.  An acquire: the words
 * of the new record are seen.
 *
 * Context: A section of readers or writers.
 * Return: Its first word.
 */
static __always_inline __le64 __pmem *
wort_tree_root(const struct wort_tree *tree)
{
	/* pairs with the release of a rename */
	return smp_load_acquire(&tree->root);
}

/**
 * struct wort_buf - Where a value goes
 * @data: memory of the caller
 * @size: its size
 * @len: length of the value, also when it does not fit
 * @relaxed: of a lookup: the value may be one that a power cut can undo
 */
struct wort_buf {
	void *data;
	u32 size;
	u32 len;
	bool relaxed;
};

/* Answer with a value that lies in memory. */
static inline int wort_buf_fill(struct wort_buf *buf,
				const struct wort_value *value)
{
	buf->len = value->len;
	if (value->len > buf->size)
		return -ERANGE;
	memcpy(buf->data, value->data, value->len);
	return 0;
}

/**
 * struct wort_put - A record to store
 * @key: its key
 * @value: its value
 * @expect: change it only if this is its value now; NULL: any value
 * @old: where the former value goes, if there is one; NULL: not wanted
 * @create: the key must not exist
 * @replace: the key must exist
 * @replaced: set by the engine: the key existed
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

/*
 * Set the conditions of WORT_INSERT_F_*, without an expected value or a former
 * value.
 */
static __always_inline void wort_put_flags(struct wort_put *put, u32 flags)
{
	put->expect = NULL;
	put->old = NULL;
	put->create = flags & WORT_INSERT_F_CREATE;
	put->replace = flags & WORT_INSERT_F_REPLACE;
	put->replaced = false;
}

/**
 * wort_put_init() - Fill in an insert
 * @put: Uninitialised memory of the caller, __uninitialized as struct wort_op
 *	is.
 * @key: The key.
 * @value: The value.
 * @flags: WORT_INSERT_F_*.
 *
 * Copies the fields one by one.  A processor cannot forward several small
 * stores to one larger load, so a copy of a whole struct that was just stored
 * would stall.
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

/**
 * struct wort_del - A record to remove
 * @key: its key
 * @expect: remove it only if this is its value now; NULL: any value
 * @old: where the value goes; NULL: not wanted
 */
struct wort_del {
	struct wort_key key;
	const struct wort_value *expect;
	struct wort_buf *old;
};

/* Fill in a removal, field by field, as wort_put_init() does. */
static __always_inline void wort_del_init(struct wort_del *del,
					  const struct wort_key *key,
					  const struct wort_value *expect,
					  struct wort_buf *old)
{
	del->key.data = key->data;
	del->key.len = key->len;
	del->expect = expect;
	del->old = old;
}

#define WORT_CHANGE_NODES	3
#define WORT_CHANGE_WORDS	21

/**
 * struct wort_change - A change that is prepared, to be committed with others
 * @put: the record to store, or
 * @del: the record to remove; the other one is NULL
 * @round: the changes of its round that wait for their commit, see round.h
 * @waits: it is committed after the next fence: its contents need that, or
 *	other changes may join it.  Otherwise it may be committed at once.
 * @slot: offset of the word that it changes
 * @node: offsets of the nodes that it will lock, or 0
 * @claims: a bit for each of @node that no later change of the round can lock,
 *	since this one removes it, or since the plan of the later one would rest
 *	on it
 * @first: the first change of the chain that it has joined; NULL: it has joined
 *	none
 * @next: the change that has joined it, or NULL
 * @engine: for the engine
 *
 * The pool sets @put, @del and @round, and NULL for @first and @next; prepare
 * sets the rest.
 */
struct wort_change {
	struct wort_put *put;
	const struct wort_del *del;
	struct wort_round *round;
	bool waits;
	u8 claims;
	u64 slot;
	u64 node[WORT_CHANGE_NODES];
	struct wort_change *first;
	struct wort_change *next;
	u64 engine[WORT_CHANGE_WORDS];
};

#define WORT_NEED_MAX	8

/**
 * struct wort_need - Objects that a change reserves at most
 * @nr: number of sizes
 * @of: for each size:
 * @of.size: bytes of an object
 * @of.count: number of such objects
 */
struct wort_need {
	u32 nr;
	struct {
		u32 size;
		u32 count;
	} of[WORT_NEED_MAX];
};

#define WORT_PREFETCH_MAX	64	/* keys at a time */

/**
 * struct wort_visitor - Called for the objects that an index owns
 * @visit: called with the offset and size of each object, which are untrusted.
 *	@first is true if a walk of the whole index visits the object only once,
 *	also when the walk is interrupted and continues.  It is false for inner
 *	nodes only.  Therefore an object that is visited with both values has
 *	two owners.  Returns 0 or a negative errno, which ends the walk.
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
 * @wanted: how many records the caller wants at most, including the current
 *	one; the engine counts it down and prefetches no more than these
 * @key_len: length of the current key
 * @value_len: length of the current value
 * @key: the current key, perhaps with other bytes behind it
 * @engine: for the engine
 *
 * Valid in the section of its operation.  To continue in a later section, seek
 * the last key.
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

/**
 * struct wort_pair - A record whose key has at most eight bytes, and its value eight
 * @key: bytes of the key, with zeroes behind
 * @value: bytes of the value
 */
struct wort_pair {
	__be64 key;
	__le64 value;
};

/**
 * struct wort_volatile_ops - What an engine keeps in DRAM
 * @room_shift: all trees of the engine in a pool together may have its size,
 *	shifted right by this
 * @share: make what all trees of the engine in a pool of so many bytes share,
 *	when the first index of the engine is opened.  NULL if there is no
 *	memory: the trees do without.
 * @unshare: free that; NULL is valid
 * @open: set wort_tree.priv, when the index is first opened.  0 or -ENOMEM.
 * @rebuild: take the objects of the current step of a walk into wort_tree.priv,
 *	as @check of the engine is called; wort_op.locks of the cursor's
 *	operation are set.  Such a walk runs in the background before the first
 *	operation on an index that was not made since the attach, and again
 *	after @tend had no room; operations wait for its end.  It may begin anew
 *	after some steps: then these are told again.  It ends early at damage
 *	and at media errors.  -EAGAIN: the pool takes the step again, and calls
 *	@tend before that if the engine has called wort_tree.want_tend; -ENOMEM:
 *	the operations that wait fail; other errors as @check.  Optional: an
 *	engine that makes all of it at once does so in @open.
 * @close: free wort_tree.priv.  Nobody uses the tree any more, and its pool may
 *	be gone.
 * @collect: as wort_parts.collect, of the objects of the tree.  Called in the
 *	background, in no section, once wort_alloc_parts_freed() was called;
 *	also before @close of a tree that was destroyed, without @reclaim.
 *	Optional: for engines that free parts of objects.
 * @reclaim: as wort_parts.reclaim, after each other @collect
 * @tend: review wort_tree.priv, after @open and after wort_tree.want_tend.  It
 *	may have @room bytes; with 0 it must lead to nothing that is in the
 *	tree.  In the background, in no section.
 * @bytes: how many bytes wort_tree.priv has now.  Optional:
 *	wort_tree.priv_bytes.  Any context.
 * @shrink: free so many bytes of wort_tree.priv, which has more, since the
 *	machine is short of memory.  In the background, as @tend.  Optional:
 *	what it keeps is little, and stays.
 *
 * What is kept may be dropped at any time, and changes no answer.
 */
struct wort_volatile_ops {
	u32 room_shift;
	void *(*share)(u64 pool_size);
	void (*unshare)(void *shared);
	int (*open)(struct wort_tree *tree);
	int (*rebuild)(struct wort_cursor *cur);
	void (*close)(struct wort_tree *tree);
	u64 (*collect)(struct wort_tree *tree);
	void (*reclaim)(struct wort_tree *tree);
	void (*tend)(struct wort_tree *tree, size_t room);
	size_t (*bytes)(const struct wort_tree *tree);
	void (*shrink)(struct wort_tree *tree, size_t bytes);
};

/**
 * struct wort_batch_ops - Several changes under two fences
 * @prepare: as @put or @remove of the engine, but makes nothing reachable.
 *	With 0 the change is in the round: the caller commits it after those
 *	that are there, or drops it with wort_alloc_untake().  With an error
 *	that is no answer it is not: the round ends before it, and where that
 *	leaves an empty round the operation is carried out by itself.  -EAGAIN:
 *	it depends on a change that waits, or cannot be prepared at all.
 * @commit: store the word of a prepared change, and flush it; for the first
 *	change of a chain the word of all.  Not called for those that have
 *	joined it.  A fence for their contents has passed.  -EAGAIN: prepare it
 *	again, and all that come behind.
 * @finish: end a change after the fence that follows its commit.  Called for
 *	each.
 * @drop: a change that was prepared is not committed; wort_alloc_untake() was
 *	called.  Optional.
 *
 * The caller never prepares a change while another one of the same key waits.
 * What waits counts as done: what it has reserved is used, and what a later
 * change is prepared for is the state after it.
 *
 * Without them each operation of a batch is carried out by itself.
 */
struct wort_batch_ops {
	int (*prepare)(struct wort_op *op, struct wort_tree *tree,
		       struct wort_change *change);
	int (*commit)(struct wort_op *op, struct wort_tree *tree,
		      struct wort_change *change);
	void (*finish)(struct wort_op *op, struct wort_tree *tree,
		       struct wort_change *change);
	void (*drop)(struct wort_tree *tree, struct wort_change *change);
};

#define WORT_ROOM_SHIFT	6	/* tops of trees and the like need no more */

typedef int wort_fast_lookup_fn(const struct wort_tree *tree,
				const struct wort_key *key,
				struct wort_buf *buf,
				struct wort_index_stats __percpu *stats);
typedef int wort_fast_put_fn(struct wort_tree *tree, struct wort_put *put,
			     struct wort_index_stats __percpu *stats);
typedef int wort_fast_remove_fn(struct wort_tree *tree,
				const struct wort_del *del,
				struct wort_index_stats __percpu *stats);

/**
 * struct wort_fast_ops - Operations without a struct wort_op
 * @lookup: as @lookup of the engine.  With -ENOENT the buffer is unchanged.
 * @put: as @put of the engine
 * @remove: as @remove of the engine
 * @class: what they cost
 *
 * They count themselves in their last argument.  -EAGAIN, uncounted: the caller
 * must use the function of the engine.  A fast path returns it if it meets a
 * word in flight, an inconsistency, or memory that is or may be bad, if no open
 * extent has a slot for an object that it needs, and for any key, value or
 * condition that it does not know.  They are called for open trees only: @open
 * of volatile_ops has returned 0.
 */
struct wort_fast_ops {
	wort_fast_lookup_fn *lookup;
	wort_fast_put_fn *put;
	wort_fast_remove_fn *remove;
	struct wort_cost_class class[WORT_COST_CLASSES];
};

typedef void wort_prefetch_fn(const struct wort_tree *tree,
			      const struct wort_key *keys, u32 nr);

/**
 * struct wort_engine - The operations of an engine
 * @name: for people and programs
 * @id: for catalogue entries
 * @traits: WORT_TRAIT_*
 * @cursor_size: bytes of its part of a cursor
 * @create: make the root record of an empty index in zeroed memory, which the
 *	caller flushes and publishes
 * @lookup: read the value of a key.  -ENOENT; -ERANGE if it does not fit.
 * @put: store a record.  -ENOENT, -EEXIST, -ECANCELED if the value is not the
 *	one expected, -ERANGE if that does not fit @old, -ENOSPC, -ENOMEM: the
 *	record did not change.
 * @remove: remove a record.  -ENOENT; -ECANCELED; -ERANGE.
 * @seek: move to the record at a key or, if there is none, to the next one in
 *	the direction of the cursor; without a key to the first.  -ENOENT at
 *	the end.
 * @next: move one record further in the direction of the cursor.  -ENOENT at
 *	the end.
 * @value: copy the value at the cursor; -ERANGE if it does not fit
 * @walk: take one step of a walk: move to the objects that come next, verify
 *	them, and call the visitor for each.  With a position the walk begins,
 *	or begins again, behind it; a position without bytes is the start.
 *	Without one the walk continues after the last step, which was taken in
 *	the same section.  Returns how many records the step has met, perhaps
 *	none, and leaves the new position in
 *	@key and @key_len of the cursor; -ENOENT at the end.  See below.
 * @check: examine the objects of the current step beyond what @walk verifies.
 *	Called by the visitor before it takes note of the first object of the
 *	step.
 * @need: tell which objects one put or removal of a record with such lengths
 *	reserves at most, alone, over all its steps, but for those that it can do
 *	without (wort_purse_reserve_beside()); @value_len is U32_MAX for a removal
 * @drop: the last step, or the last move of a cursor that is not reversed,
 *	failed with -EIO: clear the one word that leads to the object that could
 *	not be read, and set wort_op.bad_off to its offset.  To continue, walk
 *	from the last position.  No writer runs, and the tree has no table of
 *	its top, which might lead past the word.  -EIO if the root cannot be
 *	read, either; -EAGAIN if the object can be read now.  Optional: without
 *	it the index stays as it is.
 * @volatile_ops: what it keeps in DRAM; optional
 * @batch_ops: batches; optional
 * @fast_ops: fast paths; optional
 * @prefetch_keys: prefetch what operations on these keys will need, at most
 *	WORT_PREFETCH_MAX.  Reads nothing if memory is or may be bad.  Optional.
 * @next_many: move as @next, at most @max times, as long as the records have
 *	keys of the length of the current one and values of eight bytes, and no
 *	word in flight or inconsistency is met; tell each record.  Returns how
 *	often it moved.  If it returns 0, call @next.  Optional.
 *
 * The optional functions may change costs, and no answer.  While
 * wort_engine_mandatory is set, wort_engine_for() returns engines without them:
 * for tests.
 *
 * All of them return -EUCLEAN if media is damaged and -EIO if it is known to be
 * bad.  A change that has committed must not fail any more: if it meets damage
 * afterwards, when it frees objects, it sets wort_op.damaged.  Operations may
 * run concurrently, each inside a section that keeps the memory it can see from
 * being reused.  -EAGAIN: the record was not changed; the caller retries.
 *
 * An operation may take several steps, each of which publishes by one word and
 * leaves a legal tree: for instance, one parts a full node, and the next one
 * stores the record.
 *
 * - A step reserves all objects that it needs before it takes a lock, and holds
 *   only its own locks.
 * - After a step that is not the last one the engine calls wort_op_step().  It
 *   may then fail, also with -EAGAIN, until the step that commits the record.
 *   The steps before stand: with -ENOSPC the caller waits for space and calls
 *   the function again, which finds what they have left.
 * - After the step that commits the record the answer is 0.  A step that cannot
 *   be taken then is left to later writers.  Memory that these steps need is
 *   allocated before the first store.
 * - @replaced, @old and the expected value are about the record, so they are
 *   the same before and after a step that does not commit it.
 *
 * A walk visits every object that the index owns, also objects on the path of
 * no record (empty leaves, headers of chunks).  It takes many sections, and
 * writers run concurrently.  The engine chooses what a step is: a record with
 * the inner nodes entered on the way to it, a leaf page with its records, a
 * chunk of a hash table.  A step visits at least one object and at most some
 * hundreds, or all nodes on one path.  The engine guarantees:
 *
 * - Each object that the index owned when the walk began, and still owns when
 *   the walk ends, is visited, whatever legal state a power cut or a concurrent
 *   writer has left.  With @first it is visited once; an inner node is visited
 *   again only when the walk begins again at a position that lies below it.
 *   New objects may be left out.
 * - The position is a key, a low fence, or other bytes that keep their meaning
 *   when all sections have ended.  An offset does not: the memory may be
 *   reused.
 * - A step that begins at a position does not visit again what earlier steps
 *   have visited with @first.  For instance, a leaf page that holds keys on
 *   both sides of the position was visited before, and so were its records up
 *   to the position.
 * - The link to an object is loaded in the section that visits the object, and
 *   the offset and the size are of one state: a step that may have read a torn
 *   link reads it again.
 * - A step verifies all its objects before it visits the first.  So a step that
 *   fails has visited nothing, unless the visitor failed.  For the first object
 *   of a step the visitor may answer -EAGAIN, and the step is repeated; any
 *   other error of it ends the walk.
 * - If a writer can move a reference from a place that the walk has not reached
 *   to one that it has passed, or back, the engine calls wort_alloc_keep() for
 *   each reference moved.  An engine whose walk goes in the order of keys, and
 *   whose records keep their keys, need not.
 */
struct wort_engine {
	const char *name;
	u32 id;
	u32 traits;
	size_t cursor_size;

	void (*create)(struct wort_op *op, struct wort_tree *tree);
	int (*lookup)(struct wort_op *op, struct wort_tree *tree,
		      const struct wort_key *key, struct wort_buf *buf);
	int (*put)(struct wort_op *op, struct wort_tree *tree,
		   struct wort_put *put);
	int (*remove)(struct wort_op *op, struct wort_tree *tree,
		      const struct wort_del *del);
	int (*seek)(struct wort_cursor *cur, const struct wort_key *key);
	int (*next)(struct wort_cursor *cur);
	int (*value)(struct wort_cursor *cur, struct wort_buf *buf);
	int (*walk)(struct wort_cursor *cur, const struct wort_key *pos,
		    struct wort_visitor *visitor);
	int (*check)(struct wort_cursor *cur);
	void (*need)(const struct wort_tree *tree, u32 key_len, u32 value_len,
		     struct wort_need *need);

	int (*drop)(struct wort_cursor *cur);
	const struct wort_volatile_ops *volatile_ops;
	const struct wort_batch_ops *batch_ops;
	const struct wort_fast_ops *fast_ops;
	wort_prefetch_fn *prefetch_keys;
	u32 (*next_many)(struct wort_cursor *cur, struct wort_pair *pairs,
			 u32 max);
};

extern bool wort_engine_mandatory;

/**
 * struct wort_attr - An attribute of an engine: a field of the attribute word
 * @name: for people; NULL ends a table
 * @shift: lowest bit of the field
 * @bits: its width
 * @unit: the field counts units
 * @min: least value
 * @max: greatest value
 * @def: the value that a field of 0 stands for
 */
struct wort_attr {
	const char *name;
	u8 shift;
	u8 bits;
	u32 unit;
	u64 min;
	u64 max;
	u64 def;
};

int wort_attr_verify(const struct wort_attr *table, u64 word,
		     const char **name);
const struct wort_attr *wort_engine_attrs(u32 id);
const struct wort_engine *wort_engine_for(u32 id, u64 attr);

#define WORT_ENGINE_NR(symbol, name, id, traits)	WORT_ENGINE_NR_##symbol,
enum { WORT_ENGINES(WORT_ENGINE_NR) WORT_ENGINES_NR };

const struct wort_engine *wort_engine_by_id(u32 id);
const struct wort_engine *wort_engine_nth(u32 nr);
const struct wort_engine *wort_engine_served(u32 nr);
u32 wort_engine_nr(const struct wort_engine *engine);
struct wort_cursor *wort_engine_cursor(void);
int wort_tree_enter(struct wort_tree *tree, struct wort_op *op);
void wort_tree_exit(struct wort_tree *tree, struct wort_op *op, int section);

#define WORT_ENGINE_DECLARE(symbol, name, id, traits)			\
	extern const struct wort_engine wort_engine_##symbol;
WORT_ENGINES(WORT_ENGINE_DECLARE)

#endif /* _WORT_ENGINE_H */
