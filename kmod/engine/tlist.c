// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * tlist, a list of chunks: a second engine, for tests only.
 *
 * It is as small as an engine can be that differs from WORT where engines
 * differ: a step of its walk is no record, it owns objects that are on the path
 * of no record, its nodes have no fixed size, a node is replaced as a whole,
 * and references move between nodes.  Documentation/adding-an-engine.rst takes
 * it as its example.
 *
 * Names:
 *	chunk	a node: links to the records whose keys are in its range
 *	bound	where the range of a chunk begins, a key.  That of the first chunk is
 *		empty.  The range ends at the bound of the next chunk.
 *	above	the word that leads to a chunk: the root word, or @next of the chunk
 *		before it
 *	slot	a word of a chunk with the offset of a record.  It counts if its bit
 *		is set in @bits.
 *	unused	of a slot: it has no link
 *	full	of a chunk: it has no unused slot
 *	array	of an open tree, in DRAM: descriptors of chunks by their bounds
 *		(tlist_array.c).  It is optional, and may have gaps.
 *
 *	root word
 *	  |
 *	  v
 *	+------+------+------+--------+-- - --+--------+-------+      +------+-
 *	| next | bits | meta | slot 0 |       | slot n | bound |  +-> | next |
 *	+------+------+------+--------+-- - --+--------+-------+  |   +------+-
 *	   |                                                      |
 *	   +------------------------------------------------------+
 *
 * The records of a chunk are in no order; those of a chunk are before those of
 * the next.  The link of a slot is stored while its bit is 0, the bit is set,
 * and perhaps cleared again.  Then the slot is freed, as an object is: its link
 * stays until all operations have ended that may have seen the bit, and becomes
 * 0 then.  So one load of @bits tells an operation the whole content of a chunk
 * at that moment.  Later changes of the chunk do not make it wrong, so readers
 * load @bits once.  And @bits with the same value as before means the same
 * content.  A full chunk is replaced by a copy of what it still has.
 *
 * Freed slots are noted in the descriptor of the chunk.  Without one, and after
 * a power cut, the link stays, and the slot with it is lost until the chunk is
 * replaced.
 *
 * Commit words, one for each change:
 *
 * insert		@bits := with the bit of an unused slot
 * replace		@bits := with the bit of an unused slot, without that of the old one
 * update in place	the value word in the record := another value
 * remove		@bits := without the bit of the slot
 * with a full chunk	above := a chunk with the old links and the new one, or two such
 *			chunks, each with one part of the range
 * remove of the last	above := @next of the chunk, which goes.  The first chunk stays,
 *	record of a	because its range begins at the start.  So does one whose node above
 *	chunk		is locked just then: an empty chunk serves later inserts.
 *
 * Each has two crash states, old and new.  In both a slot may have a link
 * without a bit.  Such a slot counts as used, and its link is not followed.
 * There is nothing to repair.  In a batch one store of @bits commits several
 * changes (tlist_batch.c).
 *
 * Concurrency:
 *
 * A descent takes no lock.  @next is loaded before @bits.  The words of a chunk
 * do not change any more once it was taken out, so they tell what was true at
 * that moment.  Each chunk that a descent meets was therefore in the list at
 * some time since the operation began, and the range of a chunk that is in the
 * list never shrinks.
 *
 * A change locks the chunk; one that replaces it or takes it out locks the node
 * above, too, which is the root record or the chunk before; one that removes or
 * updates a record locks the record.  Then it verifies that the words are still
 * what the descent has seen.
 *
 * With an array a descent begins at a chunk, and not at the root.  The array
 * loses the entry of a chunk before the word that takes the chunk out is
 * stored, so what was said above holds for that chunk, too.  The array belongs
 * to the root record: a change that replaces chunks or takes one out also locks
 * the root record, moves the entries under its sequence count, and adds new
 * chunks when the word that leads to them is durable.
 */
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../core/alloc.h"
#include "tlist.h"

u32 tls_slots(const struct wort_tree *tree)
{
	return (tree->attr >> TLS_ATTR_SHIFT &
		GENMASK_ULL(TLS_ATTR_BITS - 1, 0)) ?:
	       TLS_SLOTS_DEFAULT;
}

/* The first unused slot, or the number of slots. */
u32 tls_chunk_unused(const struct tls_chunk *chunk)
{
	u32 slot = 0;

	while (slot < chunk->slots && tls_chunk_link(chunk, slot))
		slot++;
	return slot;
}

static int parse_meta(struct wort_op *op, const struct wort_tree *tree,
		      struct tls_chunk *chunk)
{
	u64 meta = wort_pm_load(&chunk->media->meta);

	chunk->slots = meta & WORT_MEDIA_TLIST_SLOTS_MASK;
	chunk->bound_len = meta >> WORT_MEDIA_TLIST_BOUND_SHIFT &
			   WORT_MEDIA_TLIST_BOUND_MASK;
	if (meta & ~WORT_MEDIA_TLIST_META_ALL ||
	    chunk->slots != tls_slots(tree) || chunk->bound_len > WORT_KEY_MAX)
		return wort_corrupt(op, chunk->off,
				    "chunk with meta word %#llx",
				    (unsigned long long)meta);
	return 0;
}

static int chunk_verify(struct wort_op *op, u64 off, u64 size)
{
	int err = wort_region_verify(op->region, off, size);

	if (err == -EUCLEAN)
		return wort_corrupt(op, off, "chunk outside the pool");
	return err ?: wort_pm_probe(op, wort_region_at(op->region, off), size);
}

/*
 * Read a chunk.  An answer rests on its words, which includes that there is no
 * chunk behind it.  @next comes first: a key that @next says is in the range
 * was so when @bits is loaded, since the range does not shrink.
 */
int tls_chunk_open(struct wort_op *op, const struct wort_tree *tree, u64 off,
		   struct tls_chunk *chunk)
{
	int err;

	chunk->off = off;
	err = chunk_verify(op, off, sizeof(*chunk->media));
	if (err)
		return err;
	chunk->media = wort_region_at(op->region, off);
	err = parse_meta(op, tree, chunk) ?:
	      chunk_verify(op, off, tls_chunk_used(chunk->slots, chunk->bound_len));
	if (err)
		return err;
	wort_count(op, nodes, 1);
	chunk->next = wort_pm_load(&chunk->media->next);
	chunk->bits = wort_pm_load(&chunk->media->bits);
	wort_pm_flush_in_flight(op, off, off, sizeof(*chunk->media));
	if (chunk->bits >> chunk->slots)
		return wort_corrupt(op, off, "chunk with bits %#llx",
				    (unsigned long long)chunk->bits);
	return 0;
}

/* The bound of a chunk relative to a key: as memcmp() does. */
int tls_bound_cmp(struct wort_op *op, const struct tls_chunk *chunk,
		  const struct wort_key *key)
{
	u32 len = min(chunk->bound_len, key->len);
	u32 same = len ? wort_pm_common(&op->n, tls_chunk_bound(chunk), key->data, len) : 0;

	if (same < len)
		return wort_pm_load_byte(tls_chunk_bound(chunk) + same) -
		       key->data[same];
	return (int)chunk->bound_len - (int)key->len;
}

/* Is the bound of @a less than that of @b? */
static bool bounds_grow(const struct tls_chunk *a, const struct tls_chunk *b)
{
	u32 i;
	int cmp;

	for (i = 0; i < min(a->bound_len, b->bound_len); i++) {
		cmp = wort_pm_load_byte(tls_chunk_bound(a) + i) -
		      wort_pm_load_byte(tls_chunk_bound(b) + i);
		if (cmp)
			return cmp < 0;
	}
	return a->bound_len < b->bound_len;
}

int tls_bound_read(struct wort_op *op, const struct tls_chunk *chunk, u8 *buf)
{
	return chunk->bound_len ? wort_pm_read_words(op, buf, tls_chunk_bound(chunk),
						     chunk->bound_len) : 0;
}

/* The key of a record relative to another one: as memcmp() does. */
int tls_rec_cmp(struct wort_op *op, const struct wort_rec *rec,
		const struct wort_key *key)
{
	u32 digit = wort_rec_common(op, rec, key);

	if (digit == WORT_KEY_DIGITS)
		return 0;
	return (int)wort_rec_digit(rec, digit) -
	       (int)wort_key_digit(key->data, key->len, digit);
}

int tls_slot_open(struct wort_op *op, const struct tls_chunk *chunk, u32 slot,
		  struct wort_rec *rec)
{
	u64 off = tls_chunk_link(chunk, slot);

	if (!off || off % 8)
		return wort_corrupt(op, chunk->off, "slot %u with link %#llx",
				    slot, (unsigned long long)off);
	return wort_rec_open(op, off, rec);
}

/* Does a descent go on to this chunk, which is not the first one? */
static bool leads_on(struct wort_op *op, const struct tls_chunk *next,
		     enum tls_goal goal, const struct wort_key *key)
{
	if (goal == TLS_FIRST || goal == TLS_LAST)
		return goal == TLS_LAST;
	return tls_bound_cmp(op, next, key) < (goal == TLS_COVERS);
}

/*
 * Bounds grow, so that the list has an end whatever is on media.  That of the
 * first is empty.
 */
static int bound_verify(struct wort_op *op, const struct tls_pos *pos)
{
	const struct tls_chunk *next = &pos->behind;

	if (pos->chunk.off ? bounds_grow(&pos->chunk, next) :
			     !pos->above || !next->bound_len)
		return 0;
	return wort_corrupt(op, next->off, "bound of a chunk out of order");
}

/*
 * Descend from the chunk to which the word above leads, or from any one without
 * that word.
 */
static int descend_from(struct wort_op *op, const struct wort_tree *tree,
			u64 next, enum tls_goal goal,
			const struct wort_key *key, struct tls_pos *pos)
{
	int err = 0;

	pos->chunk.off = 0;
	pos->behind.off = 0;
	while (!err && next) {
		err = tls_chunk_open(op, tree, next, &pos->behind) ?:
		      bound_verify(op, pos);
		if (err ||
		    (pos->chunk.off && !leads_on(op, &pos->behind, goal, key)))
			break;
		if (pos->chunk.off) {
			pos->node = pos->chunk.off;
			pos->above = &pos->chunk.media->next;
		}
		pos->chunk = pos->behind;
		pos->behind.off = 0;
		next = pos->chunk.next;
	}
	return err;
}

/*
 * With @above the word above is wanted, too.  A descent that begins at a chunk
 * and fails, or does not come by that word, begins again at the root; so errors
 * tell of the word that leads to what is wrong.
 */
static int descend(struct wort_op *op, const struct wort_tree *tree,
		   enum tls_goal goal, const struct wort_key *key, bool above,
		   struct tls_pos *pos)
{
	u64 start;
	int err = tls_array_start(op, tree, goal, key, above, &start);

	if (err)
		return err;
	pos->above = NULL;
	if (start && !descend_from(op, tree, start, goal, key, pos) &&
	    (pos->above || !above))
		return 0;
	err = wort_root_load(op, wort_root_off(tree), &start);
	pos->node = wort_root_node(tree);
	pos->above = wort_tree_root(tree);
	pos->chunk.off = 0;
	pos->behind.off = 0;
	return err ?: descend_from(op, tree, start, goal, key, pos);
}

/* Descend for an answer, not for a change. */
int tls_descend(struct wort_op *op, const struct wort_tree *tree,
		enum tls_goal goal, const struct wort_key *key,
		struct tls_pos *pos)
{
	return descend(op, tree, goal, key, false, pos);
}

/*
 * Find a key, or with -ENOENT the chunk that covers it; for a change with the
 * word above.
 */
static int find(struct wort_op *op, const struct wort_tree *tree,
		const struct wort_key *key, bool above, struct tls_pos *pos)
{
	int err = descend(op, tree, TLS_COVERS, key, above, pos);
	u64 bits = pos->chunk.off ? pos->chunk.bits : 0;

	for (; !err && bits; bits &= bits - 1) {
		pos->slot = __ffs(bits);
		err = tls_slot_open(op, &pos->chunk, pos->slot, &pos->rec);
		if (!err && wort_rec_is(op, &pos->rec, key))
			return 0;
	}
	return err ?: -ENOENT;
}

/* -ENOENT if there is none. */
int tls_pick(struct wort_op *op, const struct tls_pick *want,
	     struct tls_pos *pos)
{
	struct wort_key best = { .data = want->best };
	struct wort_rec rec;
	u64 bits = want->bits;
	int cmp, err;

	for (; bits; bits &= bits - 1) {
		err = tls_slot_open(op, &pos->chunk, __ffs(bits), &rec);
		if (err) {
			pos->slot = __ffs(bits);
			return err;
		}
		cmp = want->key.len ? tls_rec_cmp(op, &rec, &want->key) : 0;
		if (want->key.len &&
		    (cmp ? (cmp < 0) != want->reverse : !want->equal))
			continue;
		if (best.len &&
		    (tls_rec_cmp(op, &rec, &best) < 0) == want->reverse)
			continue;
		pos->slot = __ffs(bits);
		pos->rec = rec;
		err = wort_rec_key(op, &rec, want->best);
		if (err)
			return err;
		best.len = rec.key_len;
	}
	return best.len ? 0 : -ENOENT;
}

static void tls_create(struct wort_op *op, struct wort_tree *tree)
{
	wort_pm_store(op, wort_tree_root(tree), 0);
}

static int tls_lookup(struct wort_op *op, struct wort_tree *tree,
		      const struct wort_key *key, struct wort_buf *buf)
{
	struct tls_pos pos;
	int err = find(op, tree, key, false, &pos);

	return err ?: wort_rec_value(op, &pos.rec, buf);
}

/*
 * Changes.  Objects are written first, without a lock.  Then the change is
 * launched: it locks the nodes, verifies what the descent has seen, and stores
 * one word.
 */

/* The word that has cleared the bit of the old record is durable. */
static void slot_freed(struct wort_op *op, const struct tls_change *c)
{
	const struct tls_entry chunk = {
		.prefix = tls_chunk_prefix(&c->pos.chunk),
		.off = c->pos.chunk.off,
	};

	tls_slot_freed(op, c->tree, &chunk, BIT(c->pos.slot));
}

/* Store the word of a change, wait, and drop all locks. */
void tls_commit(struct wort_op *op, struct tls_change *c, u64 node,
		__le64 __pmem *word, u64 val)
{
	struct wort_lock *lock = wort_lock_of(op, node);
	u64 gone = c->goes ? c->pos.chunk.off : 0;

	tls_array_goes(op, c);
	wort_pm_launch(op, lock, word, val);
	if (c->old)
		wort_nodes_removed(op, c->pos.rec.off, gone);
	else if (gone)
		wort_nodes_removed(op, gone, 0);
	wort_pm_land(op, lock, word);
	tls_array_made(op, c);
	wort_nodes_unlock(op);
	if (c->old && !gone)
		slot_freed(op, c);
	if (gone && wort_alloc_free(op, gone,
				    tls_chunk_size(c->pos.chunk.slots,
						   c->pos.chunk.bound_len)))
		op->damaged = true;
	if (c->old && wort_rec_free(op, &c->pos.rec))
		op->damaged = true;
}

/*
 * Does the change move entries of the array?  Then it needs the lock of the
 * root record.
 */
static bool changes_array(const struct tls_change *c)
{
	return (c->goes || c->nr_made) && c->tree && tls_array(c->tree);
}

/*
 * Lock what the change needs.  -EAGAIN if it is not what the descent has seen.
 */
static int change_lock(struct wort_op *op, struct tls_change *c)
{
	const struct tls_chunk *chunk = &c->pos.chunk;
	u64 nodes[WORT_HELD_MAX];
	u32 nr = 0;
	bool same;

	if (chunk->off)
		nodes[nr++] = chunk->off;
	if (c->goes || !chunk->off)
		nodes[nr++] = c->pos.node;
	if (c->old)
		nodes[nr++] = c->pos.rec.off;
	if (changes_array(c))
		nodes[nr++] = wort_root_node(c->tree);
	if (!wort_nodes_lock(op, nodes, nr))
		return -EAGAIN;
	same = !chunk->off || wort_pm_load(&chunk->media->bits) == chunk->bits;
	if (c->goes || !chunk->off)
		same &= wort_pm_load(c->pos.above) == chunk->off;
	if (c->goes)
		same &= wort_pm_load(&chunk->media->next) == chunk->next;
	if (c->old)
		same &= wort_rec_renew(&c->pos.rec);
	if (same)
		return 0;
	wort_nodes_unlock(op);
	return -EAGAIN;
}

/* The word above leads to new chunks. */
static int launch_above(struct wort_op *op, struct tls_change *c)
{
	int err;

	wort_pm_fence_contents(op);
	err = change_lock(op, c);
	if (!err)
		tls_commit(op, c, c->pos.node, c->pos.above, c->val);
	return err;
}

/* Use a slot: its link is durable before its bit is set. */
void tls_slot_fill(struct wort_op *op, const struct tls_chunk *chunk, u32 slot,
		   u64 link)
{
	__le64 __pmem *word = &chunk->media->slot[slot];

	wort_pm_store(op, word, link);
	wort_pm_flush(op, word, sizeof(*word));
}

/* A new record comes to the chunk, perhaps in place of the old one. */
static int launch_record(struct wort_op *op, struct tls_change *c)
{
	const struct tls_chunk *chunk = &c->pos.chunk;
	u64 bits = chunk->bits & ~(c->old ? BIT(c->pos.slot) : 0);
	int err = change_lock(op, c);
	u32 slot;

	if (err)
		return err;
	slot = tls_chunk_unused(chunk);
	if (slot == chunk->slots) {
		wort_nodes_unlock(op);
		return -EAGAIN;
	}
	tls_slot_fill(op, chunk, slot, c->link);
	wort_pm_fence_contents(op);
	tls_commit(op, c, chunk->off, &chunk->media->bits, bits | BIT(slot));
	return 0;
}

static int launch_update(struct wort_op *op, struct tls_change *c, u64 val)
{
	struct wort_rec *rec = &c->pos.rec;
	struct wort_lock *lock;

	if (!wort_node_lock(op, rec->off))
		return -EAGAIN;
	if (!wort_rec_renew(rec) && c->exact) {
		wort_nodes_unlock(op);
		return -EAGAIN;
	}
	wort_pm_fence_in_flight(op);
	lock = wort_lock_of(op, rec->off);
	wort_pm_launch(op, lock, &rec->leaf->val, val);
	wort_pm_land(op, lock, &rec->leaf->val);
	wort_nodes_unlock(op);
	return 0;
}

/**
 * struct tls_build - A chunk that is replaced by one or two others
 * @bits: slots whose records stay
 * @low: of these, slots of the lower one of two chunks
 * @two: two chunks are needed
 * @mid_len: length of @mid
 * @bound: the bound of the chunk
 * @mid: the bound of the upper one of two chunks
 * @best: for tls_pick
 */
struct tls_build {
	u64 bits;
	u64 low;
	bool two;
	u32 mid_len;
	u8 bound[WORT_KEY_MAX] __aligned(8);
	u8 mid[WORT_KEY_MAX] __aligned(8);
	u8 best[WORT_KEY_MAX] __aligned(8);
};

/* Part the records in the middle of their order. */
static int build_part(struct wort_op *op, struct tls_change *c,
		      struct tls_build *b)
{
	struct tls_pos pos = c->pos;
	struct tls_pick want = { .best = b->best };
	u32 i, nr = hweight_long(b->bits) / 2;
	int err;

	b->low = 0;
	for (i = 0; i <= nr; i++) {
		want.bits = b->bits & ~b->low;
		err = tls_pick(op, &want, &pos);
		if (err)
			return err;
		if (i < nr)
			b->low |= BIT(pos.slot);
	}
	b->mid_len = pos.rec.key_len;
	memcpy(b->mid, b->best, b->mid_len);
	return 0;
}

/*
 * Write a chunk with the links of some slots of the one that goes, and perhaps
 * another.
 */
static u64 chunk_write(struct wort_op *op, const struct tls_chunk *from,
		       u64 bits, u64 link, u64 next,
		       const struct wort_key *bound, u32 slots)
{
	u64 off = wort_alloc_take(op);
	struct wort_media_tlist_chunk __pmem *media =
		wort_region_at(op->region, off);
	u32 nr = 0;

	for (; bits; bits &= bits - 1)
		wort_pm_store(op, &media->slot[nr++],
			      tls_chunk_link(from, __ffs(bits)));
	if (link)
		wort_pm_store(op, &media->slot[nr++], link);
	wort_pm_store(op, &media->next, next);
	wort_pm_store(op, &media->bits, BIT(nr) - 1);
	wort_pm_store(op, &media->meta,
		      slots | (u64)bound->len << WORT_MEDIA_TLIST_BOUND_SHIFT);
	while (nr < slots)
		wort_pm_store(op, &media->slot[nr++], 0);
	if (bound->len)
		wort_pm_write(op, &media->slot[slots], bound->data, bound->len);
	wort_pm_flush(op, media, tls_chunk_used(slots, bound->len));
	return off;
}

/* Objects are taken in the order in which they are reserved. */
static int build_reserve(struct wort_op *op, const struct wort_put *put,
			 const struct tls_build *b, u32 slots, u32 bound_len)
{
	int err = wort_rec_reserve(op, &put->key, &put->value);

	if (!err && b && b->two)
		err = wort_alloc_reserve(op, tls_chunk_size(slots, b->mid_len));
	return err ?: wort_alloc_reserve(op, tls_chunk_size(slots, bound_len));
}

/* A chunk is written.  Returns its offset. */
static u64 chunk_made(struct tls_change *c, u64 off,
		      const struct wort_key *bound)
{
	c->made[c->nr_made++] = (struct tls_entry){
		.prefix = tls_prefix(bound->data, bound->len), .off = off,
	};
	return off;
}

/* Returns the chunk that the word above will lead to. */
static u64 build_write(struct wort_op *op, struct tls_change *c,
		       const struct wort_put *put, const struct tls_build *b)
{
	const struct tls_chunk *from = &c->pos.chunk;
	const struct wort_key bound = { b->bound, from->bound_len };
	const struct wort_key mid = { b->mid, b->mid_len };
	bool low = b->two && wort_key_compare(&put->key, &mid) < 0;
	u64 upper, off;

	c->link = wort_rec_create(op, &put->key, &put->value);
	if (!b->two) {
		off = chunk_write(op, from, b->bits, c->link, from->next,
				  &bound, from->slots);
		return chunk_made(c, off, &bound);
	}
	upper = chunk_write(op, from, b->bits & ~b->low, low ? 0 : c->link,
			    from->next, &mid, from->slots);
	chunk_made(c, upper, &mid);
	off = chunk_write(op, from, b->low, low ? c->link : 0, upper, &bound,
			  from->slots);
	return chunk_made(c, off, &bound);
}

static int build(struct wort_op *op, struct tls_change *c,
		 const struct wort_put *put, struct tls_build *b)
{
	const struct tls_chunk *from = &c->pos.chunk;
	int err = tls_bound_read(op, from, b->bound);

	b->bits = from->bits & ~(c->old ? BIT(c->pos.slot) : 0);
	b->two = hweight_long(b->bits) > from->slots / 2;
	if (!err && b->two)
		err = build_part(op, c, b);
	if (!err)
		err = build_reserve(op, put, b, from->slots, from->bound_len);
	if (err)
		return err;
	c->goes = true;
	c->val = build_write(op, c, put, b);
	return launch_above(op, c);
}

/* A full chunk is replaced. */
static int put_in_full(struct wort_op *op, struct tls_change *c,
		       const struct wort_put *put)
{
	gfp_t gfp = GFP_NOIO | (op->purse ? __GFP_NOFAIL : WORT_GFP_CALL);
	struct tls_build *b = kmalloc(sizeof(*b), gfp);
	int err;

	if (!b)
		return -ENOMEM;
	err = build(op, c, put, b);
	kfree(b);
	return err;
}

/* The first record of an index. */
static int put_first(struct wort_op *op, struct wort_tree *tree,
		     struct tls_change *c, const struct wort_put *put)
{
	const struct wort_key bound = { };
	u32 slots = tls_slots(tree);
	int err = build_reserve(op, put, NULL, slots, 0);

	if (err)
		return err;
	c->link = wort_rec_create(op, &put->key, &put->value);
	c->val = chunk_made(c,
			    chunk_write(op, NULL, 0, c->link, 0, &bound, slots),
			    &bound);
	return launch_above(op, c);
}

static int put_record(struct wort_op *op, struct wort_tree *tree,
		      struct tls_change *c, const struct wort_put *put)
{
	int err;

	if (!c->pos.chunk.off)
		return put_first(op, tree, c, put);
	if (tls_chunk_unused(&c->pos.chunk) == c->pos.chunk.slots)
		return put_in_full(op, c, put);
	err = wort_rec_reserve(op, &put->key, &put->value);
	if (err)
		return err;
	c->link = wort_rec_create(op, &put->key, &put->value);
	return launch_record(op, c);
}

/* Find what a put is about.  Returns 1 if the value can be updated in place. */
int tls_put_plan(struct wort_op *op, struct wort_tree *tree,
		 struct wort_put *put, struct tls_change *c)
{
	struct wort_rec *rec = &c->pos.rec;
	int err = find(op, tree, &put->key, true, &c->pos);

	put->replaced = false;
	if (err == -ENOENT)
		return put->replace || put->expect ? -ENOENT : 0;
	if (err)
		return err;
	put->replaced = !put->create;
	err = wort_rec_expect(op, rec, put->create ? NULL : put->expect,
			      put->old);
	if (!err && put->create)
		err = -EEXIST;
	if (err)
		return err;
	c->exact = put->expect || put->old;
	c->old = !wort_rec_updatable(rec, &put->value);
	return !c->old;
}

static int tls_put(struct wort_op *op, struct wort_tree *tree,
		   struct wort_put *put)
{
	struct tls_change c = { .tree = tree };
	int err = tls_put_plan(op, tree, put, &c);

	if (err < 0)
		return err;
	return err ? launch_update(op, &c, wort_value_word(&put->value)) :
		     put_record(op, tree, &c, put);
}

/*
 * With the chunk locked: may it be taken out?  Then all is locked that this
 * needs.
 */
static bool above_lock(struct wort_op *op, const struct tls_change *c)
{
	const struct tls_pos *pos = &c->pos;

	return pos->chunk.bound_len && wort_node_trylock(op, pos->node) &&
	       (!tls_array(c->tree) ||
		wort_node_trylock(op, wort_root_node(c->tree))) &&
	       wort_pm_load(pos->above) == pos->chunk.off;
}

static int launch_remove(struct wort_op *op, struct tls_change *c)
{
	const struct tls_chunk *chunk = &c->pos.chunk;
	u64 bits = chunk->bits & ~BIT(c->pos.slot);
	int err = change_lock(op, c);

	if (err)
		return err;
	wort_pm_fence_in_flight(op);
	c->goes = !bits && above_lock(op, c);
	if (c->goes)
		tls_commit(op, c, c->pos.node, c->pos.above,
			   wort_pm_load(&chunk->media->next));
	else
		tls_commit(op, c, chunk->off, &chunk->media->bits, bits);
	return 0;
}

int tls_remove_plan(struct wort_op *op, struct wort_tree *tree,
		    const struct wort_del *del, struct tls_change *c)
{
	int err = find(op, tree, &del->key, true, &c->pos);

	c->old = true;
	return err ?: wort_rec_expect(op, &c->pos.rec, del->expect, del->old);
}

static int tls_remove(struct wort_op *op, struct wort_tree *tree,
		      const struct wort_del *del)
{
	struct tls_change c = { .tree = tree };

	return tls_remove_plan(op, tree, del, &c) ?: launch_remove(op, &c);
}

/*
 * A new record, with the object of its value, and two chunks with any bounds.
 */
static void tls_need(const struct wort_tree *tree, u32 key_len, u32 value_len,
		     struct wort_need *need)
{
	need->nr = 0;
	if (value_len == U32_MAX)
		return;
	wort_rec_need(tree->alloc, key_len, value_len, need);
	need->of[need->nr].size = tls_chunk_size(tls_slots(tree), 0);
	need->of[need->nr++].count = 2;
	need->of[need->nr].size = tls_chunk_size(tls_slots(tree), WORT_KEY_MAX);
	need->of[need->nr++].count = 2;
}

const struct wort_engine wort_engine_tlist = {
	.name = "tlist",
	.id = WORT_ENGINE_TLIST,
	.traits = WORT_TRAITS_tlist,
	.cursor_size = sizeof(struct tls_cursor),
	.create = tls_create,
	.lookup = tls_lookup,
	.put = tls_put,
	.remove = tls_remove,
	.seek = tls_seek,
	.next = tls_next,
	.value = tls_value,
	.walk = tls_walk,
	.check = tls_check,
	.need = tls_need,
	.drop = tls_drop,
	.volatile_ops = &tls_volatile_ops,
	.batch_ops = &tls_batch_ops,
};
