// SPDX-License-Identifier: GPL-2.0-only
/*
 * What cannot be read any more.
 *
 * Of a node on a bad page, or of a record whose leaf is, nobody knows what it owns.  So
 * the walk does not end, and no space is given back in the whole pool.  A check that may
 * mend drops the reference then: it clears the one word that leads there.  What was below
 * is owned by nobody afterwards, and the walk, which starts again, finds it free.  Where
 * the walk had ended before the page went bad, the next one gives that space back.
 *
 * Of a catalogue entry or block that cannot be read not even the names are known: see
 * wort_catalogue_drop().
 *
 * An index is read from one key to the next, beside writers.  Where that fails it is
 * done again with no writer at work, since one of them might be below the word.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "../core/pmem.h"
#include "pool.h"

/* Records that are read without a pause. */
#define CHUNK	1024

struct search {
	struct wort_pool *pool;
	struct wort_index *index;
	u64 nr_dropped;
	struct wort_key key;	/* the last that was read; of no bytes: none was */
	u8 buf[WORT_KEY_MAX];
};

static int read_on(struct search *s)
{
	const struct wort_engine *engine = s->index->tree.engine;
	struct wort_cursor *cur = s->pool->cursor;
	int n, err;

	err = engine->seek(cur, s->key.len ? &s->key : NULL);
	for (n = 0; n < CHUNK && !err; n++) {
		memcpy(s->buf, cur->key, cur->key_len);
		s->key.len = cur->key_len;
		err = engine->next(cur);
	}
	return err;
}

/* What the cursor could not read; 0 also if it can be read now. */
static int drop(struct search *s, struct wort_op *op)
{
	int err = s->index->tree.engine->drop(s->pool->cursor);

	if (err)
		return err == -EAGAIN ? 0 : err;
	pr_warn("%s: index with id %llu: what lies at offset %#llx cannot be read and was dropped\n",
		op->region->name ?: "pool", (unsigned long long)s->index->id,
		(unsigned long long)op->bad_off);
	s->nr_dropped++;
	return 0;
}

static int search_chunk(struct search *s, bool alone)
{
	struct wort_pool *pool = s->pool;
	struct wort_op op;
	int err;

	wort_chunk_begin(pool, s->index, &op, alone);
	op.locks = &pool->locks;
	op.time = wort_locks_now(op.locks);
	err = wort_index_verify(s->index);
	if (!err) {
		err = read_on(s);
		if (err == -EIO && alone)
			err = drop(s, &op);
	}
	wort_chunk_end(pool, s->index, &op, alone, err);
	return err;
}

/* -ENOENT: all of it has been read. */
static int search_index(struct search *s)
{
	bool alone = false;
	u64 before;
	int err;

	do {
		if (wort_pool_interrupted(s->pool))
			return -EINTR;
		/* It might lead past the word that is cleared. */
		if (alone)
			wort_top_forget(s->index);
		before = s->nr_dropped;
		err = search_chunk(s, alone);
		if (err && alone)
			return err;
		alone = err || s->nr_dropped != before;
		cond_resched();
	} while (err != -ENOENT);
	return err;
}

/* What the index owns is known, unless it is damaged as well. */
static void settle(const struct search *s, bool whole)
{
	struct wort_pool *pool = s->pool;

	mutex_lock(&pool->lock);
	if (!pool->alloc.walking)
		pool->leaky = true;
	WRITE_ONCE(pool->rewalk, pool->alloc.walking);
	if (whole && !s->index->damaged)
		s->index->walk_failed = false;
	mutex_unlock(&pool->lock);
	wort_top_due(s->index);
}

/* Background work alone frees indexes, so one that is destroyed meanwhile stays. */
static struct wort_index *index_after(struct wort_pool *pool,
				      struct wort_index *last)
{
	struct wort_index *index, *found = NULL;

	mutex_lock(&pool->lock);
	index = last && !last->dead ?
		list_next_entry(last, list) :
		list_first_entry(&pool->indexes, struct wort_index, list);
	list_for_each_entry_from(index, &pool->indexes, list)
		if (!last || index->id > last->id) {
			found = index;
			break;
		}
	mutex_unlock(&pool->lock);
	return found;
}

static int drop_in_catalogue(struct wort_pool *pool, u64 *nr)
{
	struct wort_op op;
	int err;

	wort_op_begin(&op, pool->region, &pool->alloc);
	mutex_lock(&pool->lock);
	err = wort_catalogue_drop(&op, pool, nr);
	mutex_unlock(&pool->lock);
	wort_op_end(&op);
	return err == -EINTR || err == -ENOMEM ? err : 0;
}

/**
 * wort_pool_drop_lost() - Drop what refers to what cannot be read
 * @pool: The pool.
 * @nr: Raised by the number of references that were dropped.
 *
 * Each is named in the log.  Does nothing where no memory is, or may be, bad.  A pool
 * that is read-only since part of the catalogue could not be read is mended, too.
 *
 * Context: May sleep for long.  Holds wort_pool.work_lock and nothing else.
 * Return: 0; -EINTR; -ENOMEM.  What is damaged is left to the check.
 */
int wort_pool_drop_lost(struct wort_pool *pool, u64 *nr)
{
	struct search s = { .pool = pool };
	int err;

	lockdep_assert_held(&pool->work_lock);
	if (pool->readonly ||
	    !(wort_region_any_bad(pool->region) || pool->region->mcsafe))
		return 0;
	err = drop_in_catalogue(pool, nr);
	if (err)
		return err;
	while (err != -EINTR && (s.index = index_after(pool, s.index))) {
		s.key = (struct wort_key){ .data = s.buf };
		s.nr_dropped = 0;
		err = search_index(&s);
		if (s.nr_dropped)
			settle(&s, err == -ENOENT);
		*nr += s.nr_dropped;
	}
	return err == -EINTR ? err : 0;
}
