// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Scans: records in order, packed into a buffer.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "gate.h"
#include "merge.h"

/* A count comes back to its caller after so many records. */
#define COUNT_CHUNK	65536

/*
 * Pairs that are taken at a time.  An engine looks again at a node whose pairs
 * were not all taken, so they are many: as many as make struct scan_from 4 KiB.
 * What lies behind a bound is taken in vain, so where there is one they are
 * few.
 */
#define PAIRS		120U
#define BOUND_PAIRS	32U

/* The room that is needed to pack one. */
#define PAIR_BYTES	(sizeof(struct wort_record) + 2 * sizeof(u64))

/*
 * A scan holds memory back from being used again for so many records at most.
 */
#define SECTION		1024

/**
 * struct scan_from - Where a section of a scan begins
 * @key: the key there; without bytes: the first record
 * @after: only what comes behind it
 * @buf: its bytes
 * @edge: memory for the edge of a prefix
 * @pairs: memory for the pairs that come next
 */
struct scan_from {
	struct wort_key key;
	bool after;
	u8 buf[WORT_KEY_MAX];
	u8 edge[WORT_KEY_MAX];
	struct wort_pair pairs[PAIRS];
};

static void from_set(struct scan_from *from, const u8 *key, u32 len, bool after)
{
	memcpy(from->buf, key, len);
	from->key = (struct wort_key){ from->buf, len };
	from->after = after;
}

static bool has_prefix(const u8 *key, u32 len, const struct wort_key *prefix)
{
	return len >= prefix->len && !memcmp(key, prefix->data, prefix->len);
}

static bool past_bound(const struct wort_scan *scan, const u8 *key, u32 len)
{
	struct wort_key at = { key, len };
	int cmp;

	if (!scan->bound)
		return false;
	if (scan->flags & WORT_SCAN_F_PREFIX)
		return !has_prefix(key, len, scan->bound);
	cmp = wort_key_compare(&at, scan->bound);
	return scan->flags & WORT_SCAN_F_REVERSE ? cmp <= 0 : cmp >= 0;
}

/*
 * Move to the first record: at the start or, with a prefix, at that end of the
 * prefix which comes later.  The last key with a prefix is not after the
 * prefix filled up with 0xff.
 */
static int seek_first(struct wort_cursor *cur, const struct wort_scan *scan,
		      struct scan_from *from)
{
	const struct wort_key *start = from->key.len ? &from->key : NULL;
	struct wort_key edge;
	int cmp;

	if (scan->flags & WORT_SCAN_F_PREFIX && scan->bound) {
		edge = *scan->bound;
		if (cur->reverse) {
			memset(from->edge, 0xff, WORT_KEY_MAX);
			memcpy(from->edge, edge.data, edge.len);
			edge.data = from->edge;
			edge.len = WORT_KEY_MAX;
		}
		cmp = start ? wort_key_compare(start, &edge) : 0;
		if (!start || (cur->reverse ? cmp > 0 : cmp < 0))
			start = &edge;
	}
	return cur->tree->engine->seek(cur, start);
}

static int seek_start(struct wort_cursor *cur, const struct wort_scan *scan,
		      struct scan_from *from)
{
	int err = seek_first(cur, scan, from);
	struct wort_key at = { cur->key, cur->key_len };

	if (!err && from->after && !wort_key_compare(&at, &from->key))
		err = cur->tree->engine->next(cur);
	return err;
}

/* Whole words of a key, which has room for them; so has its record. */
static void copy_key(u8 *to, const struct wort_cursor *cur)
{
	u32 i;

	if (cur->key_len > WORT_LINE)
		memcpy(to, cur->key, cur->key_len);
	else
		for (i = 0; i < cur->key_len; i += sizeof(u64))
			memcpy(to + i, cur->key + i, sizeof(u64));
}

static bool with_values(const struct wort_scan *scan)
{
	return !(scan->flags & WORT_SCAN_F_KEYS);
}

/* What the record at the cursor begins with. */
static __always_inline struct wort_record
record_head(const struct wort_cursor *cur, const struct wort_scan *scan)
{
	u32 value_len = with_values(scan) ? cur->value_len : 0;

	return (struct wort_record){
		.rec_len = round_up(sizeof(struct wort_record) + cur->key_len +
				    value_len, 8),
		.key_len = cur->key_len,
		.value_len = cur->value_len,
	};
}

/* Append the record at the cursor; -ERANGE if there is no room. */
static int pack(struct wort_cursor *cur, struct wort_scan *scan)
{
	struct wort_buf value = { .size = with_values(scan) ? cur->value_len : 0 };
	struct wort_record rec = record_head(cur, scan);
	u32 used = sizeof(rec) + cur->key_len + value.size;
	u8 *at = scan->buf + scan->len;
	int err = 0;

	scan->need = rec.rec_len;
	if (rec.rec_len > scan->buf_len - scan->len)
		return -ERANGE;
	memcpy(at, &rec, sizeof(rec));
	copy_key(at + sizeof(rec), cur);
	value.data = at + sizeof(rec) + cur->key_len;
	if (value.size)
		err = cur->tree->engine->value(cur, &value);
	if (err)
		return err;
	if (used % 8)
		memset(at + used, 0, rec.rec_len - used);
	scan->last = scan->len;
	scan->len += rec.rec_len;
	return 0;
}

/* A count tells where it stopped; without room for that it could not go on. */
static int keep_last(struct wort_cursor *cur, struct wort_scan *scan)
{
	if (scan->buf_len < cur->key_len) {
		scan->need = cur->key_len;
		scan->count = 0;
		scan->more = false;
		return -ERANGE;
	}
	memcpy(scan->buf, cur->key, cur->key_len);
	scan->last_len = cur->key_len;
	scan->len = cur->key_len;
	return 0;
}

static int emit(struct wort_cursor *cur, struct wort_scan *scan)
{
	int err = 0;

	if (!(scan->flags & WORT_SCAN_F_COUNT))
		err = pack(cur, scan);
	if (!err)
		scan->count++;
	return err;
}

/* How many of the pairs are wanted: those before the bound. */
static u32 wanted_pairs(const struct wort_scan *scan,
			const struct wort_pair *pairs, u32 nr, u32 key_len)
{
	u32 i = scan->bound ? 0 : nr;

	for (; i < nr; i++)
		if (past_bound(scan, (const u8 *)&pairs[i].key, key_len))
			break;
	return i;
}

/*
 * Append pairs, for which there is room.  A value may overwrite zeroes behind
 * its key.  Without values a pair overwrites bytes behind its record, which the
 * next one, or nobody, has.
 */
static void pack_pairs(struct wort_scan *scan, const struct wort_pair *pairs,
		       u32 nr, const struct wort_record *head)
{
	const u32 value_at = with_values(scan) ? sizeof(*head) + head->key_len :
						 head->rec_len;
	const struct wort_record copy = *head;
	u8 *at = scan->buf + scan->len;
	__be64 key[2] = { };
	u32 i;

	for (i = 0; i < nr; i++) {
		key[0] = pairs[i].key;
		memcpy(at, &copy, sizeof(copy));
		memcpy(at + sizeof(copy), key, sizeof(key));
		memcpy(at + value_at, &pairs[i].value, sizeof(u64));
		at += copy.rec_len;
	}
	scan->len += nr * copy.rec_len;
	if (nr)
		scan->last = scan->len - copy.rec_len;
}

/*
 * Up to @max pairs that come next, as far as there is room.  -ENOENT: they were
 * all that is wanted.
 */
static int emit_pairs(struct wort_cursor *cur, struct wort_scan *scan,
		      struct wort_pair *pairs, u32 max, u32 *nr)
{
	const u32 most = scan->bound ? BOUND_PAIRS : PAIRS;
	bool counting = scan->flags & WORT_SCAN_F_COUNT;
	struct wort_record head = record_head(cur, scan);
	u32 want, got, good;

	do {
		want = counting ? most :
				  (scan->buf_len - scan->len) / PAIR_BYTES;
		want = min(min(want, max), most);
		got = cur->tree->engine->next_many(cur, pairs, want);
		good = wanted_pairs(scan, pairs, got, cur->key_len);
		scan->count += good;
		if (!counting)
			pack_pairs(scan, pairs, good, &head);
		if (good < got)
			return -ENOENT;
		*nr += got;
		max -= got;
	} while (max && got && got == want);
	return 0;
}

/* Returns 1 if that was all, or 0 if @from says where to go on. */
static int scan_section(struct wort_cursor *cur, struct wort_scan *scan,
			struct scan_from *from)
{
	bool many = cur->tree->engine->next_many;
	bool counting = scan->flags & WORT_SCAN_F_COUNT;
	u64 max = scan->max ? scan->max : U64_MAX;
	u32 nr = 0;
	int err;

	if (counting)
		max = min_t(u64, max, COUNT_CHUNK);
	cur->wanted = min_t(u64, max - scan->count, U32_MAX);
	err = seek_start(cur, scan, from);
	while (!err && !past_bound(scan, cur->key, cur->key_len)) {
		err = emit(cur, scan);
		if (err == -ERANGE && scan->count) {
			scan->more = true;
			return 1;
		}
		if (!err && scan->count == max) {
			scan->more = true;
			return (counting ? keep_last(cur, scan) : 0) ?: 1;
		}
		if (!err && ++nr == SECTION) {
			from_set(from, cur->key, cur->key_len, true);
			return 0;
		}
		/*
		 * The record that ends a section or a count is left to be done
		 * above.
		 */
		if (!err && many)
			err = emit_pairs(cur, scan, from->pairs,
					 min_t(u64, max - scan->count,
					       SECTION - nr) - 1, &nr);
		if (!err)
			err = cur->tree->engine->next(cur);
	}
	return err && err != -ENOENT ? err : 1;
}

/* A section that has to begin again finds what it found anew. */
static int scan_sections(struct wort_index *index, struct wort_cursor *cur,
			 struct wort_scan *scan, struct scan_from *from)
{
	struct wort_scan before;
	int err;

	do {
		before = *scan;
		err = scan_section(cur, scan, from);
		if (err == -EAGAIN)
			*scan = before;
		if (!err) {
			cur->op->suspicious = 0;
			err = wort_index_pause(index);
		}
	} while (!err || wort_index_again(index, cur->op, err));
	return err < 0 ? err : 0;
}

/* @merge: NULL, or what merges the lists of batches that stay. */
static int scan_once(struct wort_index *index, struct wort_cursor *cur,
		     struct wort_scan *scan, struct scan_from *from,
		     struct wort_merge *merge, enum wort_entry entry)
{
	struct wort_op op;
	int err = wort_index_enter(index, &op, entry);

	if (err)
		return err;
	if (scan->relaxed)
		wort_op_relax(&op);
	cur->op = &op;
	cur->tree = merge ? &merge->tree : &index->tree;
	cur->reverse = scan->flags & WORT_SCAN_F_REVERSE;
	err = scan_sections(index, cur, scan, from);
	return wort_index_exit(index, &op, entry, WORT_OP_SCAN, err);
}

/* In one section, or more; alone if need be. */
static int scan_all(struct wort_index *index, struct wort_cursor *cur,
		    struct wort_scan *scan, struct scan_from *from)
{
	struct wort_merge *merge = NULL;
	int err = wort_redo_wait(index->pool);

	if (err < 0)
		return err;
	if (err) {
		merge = wort_merge_alloc(index);
		if (!merge)
			return -ENOMEM;
	}
	err = scan_once(index, cur, scan, from, merge, WORT_READ);
	if (err == -EAGAIN)
		err = scan_once(index, cur, scan, from, merge, WORT_READ_ALONE);
	wort_merge_free(merge);
	return err;
}

static bool starts_in_buf(const struct wort_scan *scan)
{
	return scan->start && scan->start->data >= scan->buf &&
	       scan->start->data < scan->buf + scan->buf_len;
}

static bool too_long(const struct wort_key *key)
{
	return key && key->len > WORT_KEY_MAX;
}

/**
 * wort_index_scan() - Read records in order
 * @index: The index, held.
 * @scan: What to read, and where it goes.
 *
 * Records that were packed before an error are good.  A record that is there
 * all the time is found, once; keys strictly increase, or decrease.  All of an
 * atomic batch that took effect before is found, also in a pool that is
 * read-only.
 *
 * Context: May sleep.
 * Return: 0; -EMSGSIZE if start or bound is longer than WORT_KEY_MAX; -ERANGE
 * if not even one record, or the last key of a count, fits, with its size in
 * @scan; -ENOMEM, -ESTALE, -EUCLEAN, -EIO; -EINTR, if it met what may be
 * damage; -EINTR and -ENODEV as wort_index_enter().
 */
int wort_index_scan(struct wort_index *index, struct wort_scan *scan)
{
	struct wort_cursor **spare = &index->pool->spare_cursor;
	struct wort_cursor *cur;
	struct scan_from *from;
	int err = -ENOMEM;

	scan->count = 0;
	scan->len = 0;
	scan->need = 0;
	scan->last = 0;
	scan->last_len = 0;
	scan->more = false;
	if (too_long(scan->start) || too_long(scan->bound))
		return -EMSGSIZE;
	cur = xchg(spare, NULL) ?: wort_engine_cursor();
	from = kmalloc(sizeof(*from), GFP_KERNEL | WORT_GFP_CALL);
	if (!cur || !from)
		goto out;
	from->key.len = 0;
	from->after = scan->flags & WORT_SCAN_F_AFTER;
	if (scan->start)
		from_set(from, scan->start->data, scan->start->len,
			 from->after);
	err = scan_all(index, cur, scan, from);
	/*
	 * A record whose value could not be read lies over the key at which
	 * this call began, if the caller keeps that in the buffer.  No section
	 * has ended before, so @from has the key still.  A count packs nothing,
	 * and its sections move on.
	 */
	if (err && !scan->len && !(scan->flags & WORT_SCAN_F_COUNT) &&
	    starts_in_buf(scan))
		memcpy((u8 *)scan->start->data, from->key.data, from->key.len);
out:
	kfree(from);
	kvfree(xchg(spare, cur));
	return err;
}
