// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * tlist: an array of the chunks of an open tree in DRAM, by their bounds.
 *
 * A descent begins at the last entry that is below its key, and not at the
 * root.  That of a change begins at the entry before, so that it also comes by
 * the word above the chunk.  Of a bound an entry has the first eight bytes
 * only.  Bounds that differ behind them have equal prefixes, so entries that
 * are below a key for certain are those whose prefix is, and from there on the
 * descent follows the list; entries with equal prefixes are in no order.
 *
 * An entry may be in the array only while
 *
 *	the chunk is in the list,
 *	the word that leads to it is durable.
 *
 * A chunk that is not in the array is found by way of the chunks before it.
 *
 * The array is a part of the root record, as it were: a writer that changes it
 * holds the lock of that node, and makes its sequence count odd while it moves
 * entries.  A change of the list holds it, too, from before its word is stored
 * until the word is durable:
 *
 *	lock the chunk, the node above, the root record
 *	take the entry of the chunk out, if it goes
 *	store the word above, flush, fence
 *	add entries of new chunks
 *	unlock
 *
 * The entry goes before the word is stored, because from then on others insert
 * into the chunk that takes the place of the one that goes, and an operation
 * that began later must not end in the old one.  So an operation that finds a
 * chunk here finds one that was in the list when it looked, and goes on as if
 * it had come there by the list.  Such a chunk is not used again before the
 * section of the operation ends.
 *
 * The array is filled by the rebuild and grows in the background.  Where it has
 * no room, and may get none, it has gaps.
 *
 * An entry is also the descriptor of its chunk.  A slot is part of an object
 * (Documentation/allocator.rst), and goes this way:
 *
 *	unused -> held -> in use -> @freed -> @waiting -> unused
 *
 * Held is one that has a link and no bit yet: that of a change under way.  The
 * two bitmaps are changed under the lock of the root record.  As an entry is
 * there only while its chunk is in the list, no slot is freed, or made unused,
 * in a chunk that was taken out: its memory may already have another use when
 * reclaim runs.  The bitmaps of such a chunk are dropped with its entry.  Its
 * slots are given back with the whole chunk, whose grace period ends later.
 */
#include <linux/kernel.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "../core/alloc.h"
#include "tlist.h"

#define FEWEST_ENTRIES	16

/* The first eight bytes of a bound or a key, in their order. */
u64 tls_prefix(const u8 *data, u32 len)
{
	u64 word = 0;
	u32 i;

	for (i = 0; i < sizeof(word); i++)
		word = word << 8 | (i < len ? data[i] : 0);
	return word;
}

u64 tls_chunk_prefix(const struct tls_chunk *chunk)
{
	u32 i, len = min_t(u32, chunk->bound_len, sizeof(u64));
	u8 data[sizeof(u64)];

	for (i = 0; i < len; i++)
		data[i] = wort_pm_load_byte(tls_chunk_bound(chunk) + i);
	return tls_prefix(data, len);
}

/*
 * How many entries have a lesser prefix?  While they are moved the answer means
 * nothing.
 */
static u32 nr_below(const struct tls_array *array, u64 prefix)
{
	u32 low = 0, high = READ_ONCE(array->nr), mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (READ_ONCE(array->entry[mid].prefix) < prefix)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static u64 start_in(const struct tls_array *array, enum tls_goal goal,
		    const struct wort_key *key, u32 back)
{
	u32 nr = goal == TLS_LAST ?
			 READ_ONCE(array->nr) :
			 nr_below(array, tls_prefix(key->data, key->len));

	return nr < back ? 0 : READ_ONCE(array->entry[nr - back].off);
}

/*
 * Tell at which chunk a descent begins; 0: at the root.  Its bound is below the
 * key; of such entries it is the last one, or with @above the one before.
 * -EAGAIN as wort_node_read_begin().
 */
int tls_array_start(struct wort_op *op, const struct wort_tree *tree,
		    enum tls_goal goal, const struct wort_key *key, bool above,
		    u64 *start)
{
	struct wort_node_read read = { .node = wort_root_node(tree) };
	int err;

	*start = 0;
	if (goal == TLS_FIRST || !tls_array(tree))
		return 0;
	do {
		err = wort_node_read_begin(op, &read);
		if (err)
			return err;
		*start = start_in(tls_array(tree), goal, key, above ? 2 : 1);
	} while (wort_node_read_retry(op, &read));
	return 0;
}

static void entry_set(struct tls_array *array, u32 at,
		      const struct tls_entry *entry)
{
	WRITE_ONCE(array->entry[at].prefix, entry->prefix);
	WRITE_ONCE(array->entry[at].off, entry->off);
	array->entry[at].freed = entry->freed;
	array->entry[at].waiting = entry->waiting;
}

static void entry_move(struct tls_array *array, u32 from, u32 to)
{
	entry_set(array, to, &array->entry[from]);
}

/* Where a chunk is in the array; its number of entries if it is not there. */
static u32 entry_of(const struct tls_array *array, u64 prefix, u64 off)
{
	u32 at = nr_below(array, prefix);

	while (at < array->nr && array->entry[at].prefix == prefix &&
	       array->entry[at].off != off)
		at++;
	return at < array->nr && array->entry[at].off == off ? at : array->nr;
}

/* The lock of the root record is held. */
static void entry_add(struct wort_op *op, const struct wort_tree *tree,
		      const struct tls_entry *new)
{
	struct tls_array *array = tls_array(tree);
	u64 root = wort_root_node(tree);
	u32 at = nr_below(array, new->prefix), i;

	wort_nodes_moving(op, &root, 1);
	for (i = array->nr; i > at; i--)
		entry_move(array, i - 1, i);
	entry_set(array, at, new);
	WRITE_ONCE(array->nr, array->nr + 1);
	wort_nodes_moved(op);
}

/* The bytes of some slots of a chunk. */
static u64 slot_bytes(u64 slots)
{
	return hweight_long(slots) * sizeof(__le64);
}

static void make_unused(struct wort_op *op, u64 off, u64 slots)
{
	const struct tls_chunk chunk = { .media = wort_region_at(op->region, off) };

	for (; slots; slots &= slots - 1)
		tls_slot_fill(op, &chunk, __ffs(slots), 0);
}

/* Slots that were freed and do not wait yet are dropped with the entry. */
static void entry_remove(struct wort_op *op, const struct wort_tree *tree,
			 u32 at)
{
	struct tls_array *array = tls_array(tree);
	u64 root = wort_root_node(tree);

	wort_alloc_parts_dropped(tree->alloc,
				 slot_bytes(array->entry[at].freed));
	wort_nodes_moving(op, &root, 1);
	for (; at + 1 < array->nr; at++)
		entry_move(array, at + 1, at);
	WRITE_ONCE(array->nr, array->nr - 1);
	wort_nodes_moved(op);
}

/*
 * Shall the array grow?  It is asked for before it is full, so that it gets no
 * gaps.
 */
static bool shall_grow(const struct tls_array *array)
{
	return READ_ONCE(array->nr) >= array->max - array->max / 4 &&
	       !READ_ONCE(array->capped);
}

/* Is there room for one more entry? */
static bool has_room(struct wort_tree *tree)
{
	const struct tls_array *array = tls_array(tree);

	if (shall_grow(array))
		tree->want_tend(tree);
	return READ_ONCE(array->nr) < array->max;
}

/* Before the word of a change is stored: the chunk goes. */
void tls_array_goes(struct wort_op *op, const struct tls_change *c)
{
	struct tls_array *array = c->tree ? tls_array(c->tree) : NULL;
	u32 at;

	if (!array || !c->goes)
		return;
	at = entry_of(array, tls_chunk_prefix(&c->pos.chunk), c->pos.chunk.off);
	if (at < array->nr)
		entry_remove(op, c->tree, at);
}

/* After the word of a change is durable: the new chunks come. */
void tls_array_made(struct wort_op *op, const struct tls_change *c)
{
	u32 i;

	if (!c->tree || !tls_array(c->tree))
		return;
	for (i = 0; i < c->nr_made && has_room(c->tree); i++)
		entry_add(op, c->tree, &c->made[i]);
}

/*
 * A slot is freed, in the section that has cleared its bit.  @chunk: what its
 * entry begins with; if it was taken out meanwhile it has none.
 */
void tls_slot_freed(struct wort_op *op, struct wort_tree *tree,
		    const struct tls_entry *chunk, u64 slot)
{
	struct tls_array *array;
	u32 at;

	if (!tls_array(tree))
		return;
	/*
	 * The root record is not removed, so it does not matter what else was.
	 */
	wort_lock_hold(op, wort_lock_of(op, wort_root_node(tree)));
	array = tls_array(tree);
	at = entry_of(array, chunk->prefix, chunk->off);
	if (at < array->nr) {
		wort_alloc_parts_freed(tree->alloc, slot_bytes(slot));
		array->entry[at].freed |= slot;
	}
	wort_nodes_unlock(op);
}

/* Add the chunk of the current step, unless it was added before. */
static int step_add(struct wort_op *op, const struct wort_tree *tree,
		    const struct tls_chunk *chunk)
{
	u64 nodes[] = { wort_root_node(tree), chunk->off };
	const struct tls_entry new = {
		.prefix = tls_chunk_prefix(chunk), .off = chunk->off,
	};
	struct tls_array *array;

	/*
	 * Unless it was taken out since the step began it is in the list now.
	 */
	if (!wort_nodes_lock(op, nodes, ARRAY_SIZE(nodes)))
		return -EAGAIN;
	array = tls_array(tree);
	if (array->nr < array->max &&
	    entry_of(array, new.prefix, new.off) == array->nr)
		entry_add(op, tree, &new);
	wort_nodes_unlock(op);
	return 0;
}

static int tls_rebuild(struct wort_cursor *cur)
{
	struct wort_tree *tree = cur->tree;
	struct tls_array *array = tls_array(tree);

	if (READ_ONCE(array->nr) == array->max && READ_ONCE(array->nomem)) {
		WRITE_ONCE(array->nomem, false);
		return -ENOMEM;
	}
	/* The array grows between this chunk of the walk and the next. */
	if (!has_room(tree) && !READ_ONCE(array->capped))
		return -EAGAIN;
	return step_add(cur->op, tree, &tls_cursor(cur)->pos.chunk);
}

static struct tls_array *array_alloc(u32 max, gfp_t gfp)
{
	struct tls_array *array;

	array = kvzalloc(struct_size(array, entry, max), gfp);
	if (array)
		array->max = max;
	return array;
}

static int tls_open(struct wort_tree *tree)
{
	struct tls_array *array = array_alloc(FEWEST_ENTRIES, GFP_NOIO);

	if (!array)
		return -ENOMEM;
	/* pairs with tls_array() */
	smp_store_release(&tree->priv, array);
	return 0;
}

static void tls_close(struct wort_tree *tree)
{
	kvfree(tree->priv);
	tree->priv = NULL;
	tree->priv_bytes = 0;
}

/* Hold the lock of the root record, in a section. */
static int root_lock(struct wort_tree *tree, struct wort_op *op)
{
	int section = wort_tree_enter(tree, op);

	while (!wort_node_lock(op, wort_root_node(tree)))
		op->time = wort_locks_now(tree->locks);
	return section;
}

static void root_unlock(struct wort_tree *tree, struct wort_op *op, int section)
{
	wort_nodes_unlock(op);
	wort_tree_exit(tree, op, section);
}

static void array_empty(struct wort_tree *tree)
{
	struct wort_op op;
	int section = root_lock(tree, &op);

	while (tls_array(tree)->nr)
		entry_remove(&op, tree, tls_array(tree)->nr - 1);
	root_unlock(tree, &op, section);
}

/*
 * Writers change the new array from now on; who reads the old one finds it as
 * it was.
 */
static void array_replace(struct wort_tree *tree, struct tls_array *new)
{
	struct tls_array *old = tls_array(tree);
	struct wort_op op;
	int section = root_lock(tree, &op);

	new->nr = old->nr;
	memcpy(new->entry, old->entry, old->nr * sizeof(*old->entry));
	/* pairs with tls_array() */
	smp_store_release(&tree->priv, new);
	root_unlock(tree, &op, section);
	wort_locks_synchronize(tree->locks);
	kvfree(old);
}

static void tls_tend(struct wort_tree *tree, size_t room)
{
	struct tls_array *array = tls_array(tree), *new;
	size_t size = struct_size(array, entry, 2 * array->max);

	if (!room) {
		array_empty(tree);
		return;
	}
	if (!shall_grow(array))
		return;
	if (size > room) {
		WRITE_ONCE(array->capped, true);
		return;
	}
	new = array_alloc(2 * array->max, GFP_NOIO | __GFP_NOWARN);
	if (!new) {
		WRITE_ONCE(array->nomem, true);
		return;
	}
	array_replace(tree, new);
	WRITE_ONCE(tree->priv_bytes, size);
}

/* Before the grace period: freed slots wait. */
static u64 tls_collect(struct wort_tree *tree)
{
	struct wort_op op;
	int section = root_lock(tree, &op);
	struct tls_array *array = tls_array(tree);
	struct tls_entry *entry;
	u64 bytes = 0;

	for (entry = array->entry; entry < array->entry + array->nr; entry++) {
		bytes += slot_bytes(entry->freed);
		entry->waiting = entry->freed;
		entry->freed = 0;
	}
	root_unlock(tree, &op, section);
	return bytes;
}

/*
 * After it: slots that wait become unused.  A fence follows at the end of the
 * operation, so that the links do not come back.
 */
static void tls_reclaim(struct wort_tree *tree)
{
	struct wort_op op;
	int section = root_lock(tree, &op);
	struct tls_array *array = tls_array(tree);
	struct tls_entry *entry;

	for (entry = array->entry; entry < array->entry + array->nr; entry++) {
		make_unused(&op, entry->off, entry->waiting);
		entry->waiting = 0;
	}
	root_unlock(tree, &op, section);
}

const struct wort_volatile_ops tls_volatile_ops = {
	.room_shift = WORT_ROOM_SHIFT,
	.open = tls_open,
	.rebuild = tls_rebuild,
	.close = tls_close,
	.collect = tls_collect,
	.reclaim = tls_reclaim,
	.tend = tls_tend,
};
