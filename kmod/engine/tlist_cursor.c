// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * tlist: cursors, the walk, and the drop of what cannot be read.
 */
#include <linux/string.h>

#include "bound.h"
#include "tlist.h"

/*
 * Cursors.  A cursor keeps its record and nothing else: each move is a descent
 * by the key before, and so whatever is changed between two moves, it meets
 * each key once and in order.
 */

/* Tell where a descent has failed, for tls_drop(). */
static int lose_chunk(struct tls_cursor *tc, int err)
{
	if (err == -EIO)
		tc->lost = (struct tls_lost){
			.chunk = tc->pos.chunk, .slot = TLS_SLOTS_MAX,
			.off = tc->pos.behind.off,
		};
	return err;
}

static int lose_record(struct tls_cursor *tc, u32 slot, int err)
{
	if (err == -EIO)
		tc->lost = (struct tls_lost){
			.chunk = tc->pos.chunk, .slot = slot,
			.off = tls_chunk_link(&tc->pos.chunk, slot),
		};
	return err;
}

static int cursor_descend(struct wort_cursor *cur, enum tls_goal goal,
			  const struct wort_key *key)
{
	struct tls_cursor *tc = tls_cursor(cur);

	tc->lost.off = 0;
	return lose_chunk(tc,
			  tls_descend(cur->op, cur->tree, goal, key, &tc->pos));
}

static int cursor_pick(struct wort_cursor *cur, struct tls_pick *want)
{
	struct tls_cursor *tc = tls_cursor(cur);
	int err;

	want->bits = tc->pos.chunk.bits;
	want->best = tc->best;
	err = tls_pick(cur->op, want, &tc->pos);
	return lose_record(tc, tc->pos.slot, err);
}

/*
 * Where the chunk ends in the direction of the cursor; -ENOENT: it is the last
 * one.
 */
static int cursor_fence(struct wort_cursor *cur, struct wort_key *key)
{
	struct tls_cursor *tc = tls_cursor(cur);
	struct tls_chunk *chunk = cur->reverse ? &tc->pos.chunk :
						 &tc->pos.behind;

	if (!chunk->off || !chunk->bound_len)
		return -ENOENT;
	*key = (struct wort_key){ tc->fence, chunk->bound_len };
	return tls_bound_read(cur->op, chunk, tc->fence);
}

/* Move to the record that is next to a key, chunk by chunk. */
static int cursor_move(struct wort_cursor *cur, const struct wort_key *key,
		       bool equal)
{
	struct tls_pick want = { .reverse = cur->reverse, .equal = equal };
	struct tls_cursor *tc = tls_cursor(cur);
	enum tls_goal goal = cur->reverse ? TLS_LAST : TLS_FIRST;
	int err;

	if (key) {
		want.key = *key;
		goal = cur->reverse && !equal ? TLS_BELOW : TLS_COVERS;
	}
	do {
		err = cursor_descend(cur, goal, &want.key);
		if (!err)
			err = tc->pos.chunk.off ? cursor_pick(cur, &want) : -ENOENT;
		if (err != -ENOENT)
			break;
		want.equal = !cur->reverse;
		goal = cur->reverse ? TLS_BELOW : TLS_COVERS;
		err = cursor_fence(cur, &want.key);
	} while (!err);
	if (err)
		return err;
	cur->key_len = tc->pos.rec.key_len;
	cur->value_len = tc->pos.rec.value_len;
	memcpy(cur->key, tc->best, cur->key_len);
	return 0;
}

int tls_seek(struct wort_cursor *cur, const struct wort_key *key)
{
	return cursor_move(cur, key, true);
}

int tls_next(struct wort_cursor *cur)
{
	const struct wort_key key = { cur->key, cur->key_len };

	cur->wanted--;
	return cursor_move(cur, &key, false);
}

int tls_value(struct wort_cursor *cur, struct wort_buf *buf)
{
	return wort_rec_value(cur->op, &tls_cursor(cur)->pos.rec, buf);
}

/*
 * The walk.  A step is a chunk and its records.  The position is the bound of
 * the next chunk: what lies before it was visited.  Behind the last chunk it is
 * the greatest key, which is the bound of no chunk: a chunk that is parted has
 * three records at least.
 */

/*
 * Verify the records of a step, which are from @pos on; the chunk may begin
 * before.
 */
static int step_records(struct wort_cursor *cur, const struct wort_key *pos,
			bool whole)
{
	struct tls_cursor *tc = tls_cursor(cur);
	const struct wort_key end = { tc->fence, tc->pos.behind.bound_len };
	u64 bits = tc->pos.chunk.bits;
	struct wort_rec *rec;
	int err;

	for (tc->nr = 0; bits; bits &= bits - 1) {
		rec = &tc->recs[tc->nr];
		err = tls_slot_open(cur->op, &tc->pos.chunk, __ffs(bits), rec);
		if (err)
			return lose_record(tc, __ffs(bits), err);
		if (tc->pos.behind.off && tls_rec_cmp(cur->op, rec, &end) >= 0)
			return wort_corrupt(cur->op, rec->off,
					    "record behind its chunk");
		if (!pos->len || tls_rec_cmp(cur->op, rec, pos) >= 0)
			tc->nr++;
		else if (whole)
			return wort_corrupt(cur->op, rec->off,
					    "record before its chunk");
	}
	return 0;
}

/* Read the bound of the next chunk, where the step ends. */
static int step_fence(struct wort_cursor *cur)
{
	struct tls_cursor *tc = tls_cursor(cur);
	const struct wort_key end = { tc->fence, tc->pos.behind.bound_len };
	int err = tls_bound_read(cur->op, &tc->pos.behind, tc->fence);

	if (!err && wort_key_is_greatest(&end))
		err = wort_corrupt(cur->op, tc->pos.behind.off,
				   "chunk behind all keys");
	return err;
}

/*
 * Find the next step that visits anything.  The chunk itself was visited
 * before, or is a new one, if its range begins before the position.
 */
static int step_find(struct wort_cursor *cur, bool *whole)
{
	struct tls_cursor *tc = tls_cursor(cur);
	struct tls_chunk *chunk = &tc->pos.chunk, *behind = &tc->pos.behind;
	struct wort_key pos = { tc->best, cur->key_len };
	int err;

	do {
		memcpy(tc->best, cur->key, cur->key_len);
		pos.len = cur->key_len;
		if (wort_key_is_greatest(&pos))
			return -ENOENT;
		err = cursor_descend(cur, pos.len ? TLS_COVERS : TLS_FIRST,
				     &pos);
		if (!err && !chunk->off)
			err = -ENOENT;
		if (!err && behind->off)
			err = step_fence(cur);
		if (err)
			return err;
		*whole = !tls_bound_cmp(cur->op, chunk, &pos);
		err = step_records(cur, &pos, *whole);
		if (err)
			return err;
		cur->key_len = behind->off ? behind->bound_len : WORT_KEY_MAX;
		if (behind->off)
			memcpy(cur->key, tc->fence, cur->key_len);
		else
			memset(cur->key, 0xff, cur->key_len);
	} while (!*whole && !tc->nr);
	return 0;
}

int tls_walk(struct wort_cursor *cur, const struct wort_key *pos,
	     struct wort_visitor *visitor)
{
	struct tls_cursor *tc = tls_cursor(cur);
	const struct tls_chunk *chunk = &tc->pos.chunk;
	bool whole = false;
	u32 i;
	int err;

	if (pos) {
		memcpy(cur->key, pos->data, pos->len);
		cur->key_len = pos->len;
	}
	err = step_find(cur, &whole);
	if (!err && whole)
		err = visitor->visit(visitor, cur->op, chunk->off,
				     tls_chunk_size(chunk->slots, chunk->bound_len), true);
	for (i = 0; i < tc->nr && !err; i++)
		err = wort_rec_visit(cur->op, &tc->recs[i], visitor);
	return err ?: (int)tc->nr;
}

/* No key is there twice. */
int tls_check(struct wort_cursor *cur)
{
	struct tls_cursor *tc = tls_cursor(cur);
	struct wort_key key = { .data = tc->best };
	u32 i, k;
	int err;

	for (i = 0; i < tc->nr; i++) {
		err = wort_rec_key(cur->op, &tc->recs[i], tc->best);
		if (err)
			return err;
		key.len = tc->recs[i].key_len;
		for (k = 0; k < i; k++)
			if (wort_rec_is(cur->op, &tc->recs[k], &key))
				return wort_corrupt(cur->op, tc->recs[i].off,
						    "key that is there twice");
	}
	return 0;
}

/* Can what was lost be read now? */
static int lost_verify(struct wort_cursor *cur, const struct tls_lost *lost)
{
	struct tls_chunk chunk;
	struct wort_rec rec;
	int err = lost->slot == TLS_SLOTS_MAX ?
		  tls_chunk_open(cur->op, cur->tree, lost->off, &chunk) :
		  wort_rec_open(cur->op, lost->off, &rec);

	return err == -EIO ? 0 : -EAGAIN;
}

/* The chunks behind one that cannot be read go with it. */
int tls_drop(struct wort_cursor *cur)
{
	struct tls_cursor *tc = tls_cursor(cur);
	const struct tls_lost *lost = &tc->lost;
	struct tls_change c = { .pos = { .chunk = lost->chunk,
					 .slot = lost->slot } };
	bool chunk = lost->slot == TLS_SLOTS_MAX;
	u64 node = lost->chunk.off ?: wort_root_node(cur->tree);
	__le64 __pmem *word = wort_tree_root(cur->tree);
	u64 nodes[] = { node, lost->off };
	int err = lost->off ? lost_verify(cur, lost) : -EIO;

	if (err)
		return err;
	if (lost->chunk.off)
		word = chunk ? &lost->chunk.media->next :
			       &lost->chunk.media->bits;
	if (!wort_nodes_lock(cur->op, nodes, ARRAY_SIZE(nodes)))
		return -EAGAIN;
	wort_pm_fence_in_flight(cur->op);
	tls_commit(cur->op, &c, node, word,
		   chunk ? 0 : lost->chunk.bits & ~BIT(lost->slot));
	cur->op->bad_off = lost->off;
	return 0;
}
