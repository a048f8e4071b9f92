// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <linux/wort_engines.h>

#include "face.h"

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#endif

#define K(s) { (s), sizeof(s) - 1 }
#define PLENTY (96 << 10)	/* bytes: a put takes less, also for what it may have to split */
#define TEN "ZYXWVUTSRQ"
#define LONG TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

/*
 * Keys of eight bytes, which operations have a way of their own for, and others.  They
 * part at the first digit, at an even and an odd one, at the last; one is the beginning
 * of others; some have beginnings in common that nodes skip; one takes three lines.
 */
const struct world_bytes world_keys[NR_KEYS] = {
	K("\x12\x34zyxwvu"), K("\x12\x35zyxwvu"), K("\x12\x94zyxwvu"), K("\x12"),
	K("\x92\x36zyxwvu"),
	K("abcdefghijk1"), K("abcdefghijk2"), K("abcdefghX" LONG), K("ab"),
	K("\x00"), K("n"),
};

/*
 * The crowd: one byte each, another one than those with which the keys begin, in order and
 * behind them.  Its bits 0 and 4 differ: by them some nodes choose the line of the byte, and
 * some deletes whether to look if a smaller node would do.  In a crowd of pairs two have each
 * byte, and another one behind it.
 */
#define CROWD_FIRST	0x95
#define CROWD_LEN	2

static __u8 crowd_byte(__u32 nr)
{
	__u32 byte = CROWD_FIRST + 2 * nr;

	return byte ^ (byte >> 4 & 1);
}

static struct world_bytes crowd_key(__u32 nr, bool pairs, __u8 *key)
{
	key[0] = crowd_byte(pairs ? nr / 2 : nr);
	key[1] = nr % 2;
	return (struct world_bytes){ key, pairs ? CROWD_LEN : 1 };
}

/* The number of a key, if it is one of the crowd. */
static __u32 crowd_number(const __u8 *key, bool pairs)
{
	__u32 nr = ((key[0] ^ (key[0] >> 4 & 1)) - CROWD_FIRST) / 2;

	return pairs ? 2 * nr + key[1] : nr;
}

static const __u32 value_len[NR_VALUES] = { 0, 8, 8, 300, 5000, 0, 3, 300 };

#define PUT(k, v)	{ STEP_PUT, 0, k, v }
#define DEL(k)		{ STEP_DEL, 0, k, 0 }

/*
 * Changes that have nothing to do with each other; of one slot; of one key; that
 * leave a node to another one, take away what it is about to be left with; that
 * put other keys where some were that had a long beginning in common; that empty or
 * change, in a second round, what the first one has filled, with few lines and with many;
 * that are new beside those of another batch.
 */
const struct world_batch world_batches[NR_BATCHES] = {
	{ 3, { PUT(0, 2), PUT(5, 3), PUT(7, 1) } },
	{ 3, { PUT(0, 1), PUT(1, 1), PUT(2, 1) } },
	{ 3, { PUT(0, 2), DEL(0), PUT(0, 3) } },
	{ 3, { DEL(0), DEL(1), DEL(5) } },
	{ 2, { PUT(2, 1), DEL(0) } },
	{ 3, { PUT(6, 7), DEL(5), PUT(7, 7) } },
	{ 2, { DEL(0), PUT(0, 1) } },
	{ 3, { PUT(0, 6), PUT(8, 1), PUT(3, 1) } },
	{ 4, { DEL(5), DEL(6), PUT(0, 1), PUT(1, 1) } },
	{ 2, { PUT(0, 1), DEL(0) } },
	{ 4, { PUT(5, 3), PUT(0, 1), DEL(5), PUT(0, 2) } },
	{ 2, { PUT(1, 1), PUT(10, 1) } },
};

#define PUT_B(k, v)	{ STEP_PUT, 1, k, v }
#define DEL_B(k)	{ STEP_DEL, 1, k, 0 }
#define GET(k)		{ STEP_GET, 0, k, 0 }

/*
 * A rename; a record in each index; a move, with a neighbour; what refuses in most
 * worlds; one key twice; records that need space; objects of many sizes; a record in
 * each index, if a key is there that few worlds have.
 */
const struct world_batch world_atomics[NR_ATOMICS] = {
	{ 2, { DEL(0), PUT(1, 1) } },
	{ 2, { PUT(0, 2), PUT_B(5, 1) } },
	{ 3, { DEL(5), PUT_B(6, 7), PUT(0, 6) } },
	{ 2, { PUT(0, 1), DEL_B(0) } },
	{ 3, { DEL_B(5), DEL(0), PUT(0, 3) } },
	{ 2, { PUT(6, 3), PUT(2, 7) } },
	{ 4, { PUT(0, 4), PUT(3, 6), PUT_B(5, 7), PUT_B(8, 1) } },
	{ 3, { GET(8), PUT(4, 2), PUT_B(8, 1) } },
};

__u32 world_value(__u32 key, __u32 value, __u8 *buf)
{
	__u32 i;

	for (i = 0; i < value_len[value]; i++)
		buf[i] = value == 6 ? 0 : 16 * value + key + i;
	return value_len[value];
}

int world_value_number(__u32 key, const __u8 *value, __u32 len)
{
	__u8 want[WORLD_VALUE_MAX];
	int i;

	for (i = 1; i < NR_VALUES; i++) {
		if (len != value_len[i])
			continue;
		world_value(key, i, want);
		if (!memcmp(value, want, len))
			return i;
	}
	return -1;
}

struct world_engine world_engine = { .traits = WORT_TRAIT_ORDERED };
struct world_engine world_engine_b;

static const char *say(const char *fmt, ...)
{
	static char buf[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	return buf;
}

int runner_attach(struct runner *r)
{
	int err = face_attach(r);
	__u32 i;

	for (i = 0; i < NR_INDEXES && !err; i++)
		face_open(r, i, 0);
	return err;
}

void runner_detach(struct runner *r)
{
	__u32 i;

	for (i = 0; i < NR_INDEXES; i++)
		face_close(r, i);
	face_detach(r);
}

/* Is the outcome the one that the world asks for?  A full pool is no fault. */
static const char *outcome(const char *what, int err, int want)
{
	if (err == want || err == -ENOSPC)
		return NULL;
	return say("%s: %d instead of %d", what, err, want);
}

static const char *do_put(struct runner *r, struct world *w,
			  const struct step *s)
{
	__u8 buf[WORLD_VALUE_MAX], old[WORLD_VALUE_MAX];
	struct world_bytes value = { buf, world_value(s->key, s->value, buf) };
	struct world_bytes expect = { old, 0 };
	__u8 *now = &w->index[s->index].value[s->key];
	int err, want = w->damaged ? -EROFS : 0;

	if (s->kind == STEP_CAS) {
		expect.len = world_value(s->key, *now ? *now : 1, old);
		if (!*now && !want)
			want = -ENOENT;
	}
	err = face_put(r, s->index, &world_keys[s->key], &value,
		       s->kind == STEP_CAS ? &expect : NULL);
	if (!err)
		*now = s->value;
	if (err == -ENOSPC && face_free(r) >= PLENTY)
		return "put: no space where nearly half of the pool is free";
	return outcome("put", err, want);
}

static const char *do_crowd(struct runner *r, struct world *w, const struct step *s)
{
	__u8 *crowd = &w->index[s->index].crowd, buf[CROWD_LEN];
	struct world_bytes key;
	__u64 number;
	int err = 0;

	w->index[s->index].pairs = s->value;
	for (; *crowd < s->key && !err; ++*crowd) {
		key = crowd_key(*crowd, s->value, buf);
		number = *crowd;
		err = face_put(r, s->index, &key,
			       &(struct world_bytes){ &number, sizeof(number) }, NULL);
	}
	for (; *crowd > s->key && !err; --*crowd) {
		key = crowd_key(*crowd - 1, s->value, buf);
		err = face_del(r, s->index, &key);
	}
	return err ? say("crowd: %d", err) : NULL;
}

/* A delete finds the pool full: NULL, if the engine may need space for it. */
static const char *full_delete(void)
{
	return world_engine.traits & WORT_TRAIT_DELETE_SPACE ?
	       NULL : "delete wants space";
}

static const char *do_del(struct runner *r, struct world *w,
			  const struct step *s)
{
	__u8 *now = &w->index[s->index].value[s->key];
	int err = face_del(r, s->index, &world_keys[s->key]);

	if (err == -ENOSPC)
		return full_delete();
	if (err != (w->damaged ? -EROFS : *now ? 0 : -ENOENT))
		return say("delete: %d", err);
	if (!err)
		*now = 0;
	return NULL;
}

/* As a program packs it.  Returns its length. */
static __u32 pack(__u8 *at, const struct step *s)
{
	__u8 value[WORLD_VALUE_MAX];
	struct wort_batch_op op = {
		.op = s->kind == STEP_PUT ? WORT_BATCH_INSERT :
		      s->kind == STEP_GET ? WORT_BATCH_EXPECT :
					    WORT_BATCH_DELETE,
		.flags = s->kind == STEP_GET ? WORT_EXPECT_F_PRESENT : 0,
		.key_len = world_keys[s->key].len,
	};
	__u32 len = sizeof(op) + op.key_len;

	if (s->kind == STEP_PUT)
		op.value_len = world_value(s->key, s->value, value);
	memcpy(at + sizeof(op), world_keys[s->key].data, op.key_len);
	memcpy(at + len, value, op.value_len);
	op.rec_len = (len + op.value_len + 7) / 8 * 8;
	memcpy(at, &op, sizeof(op));
	return op.rec_len;
}

static void apply(struct world *w, const struct step *s, __u32 index)
{
	w->index[index].value[s->key] = s->kind == STEP_PUT ? s->value : 0;
}

static const char *batch_outcome(struct world *w, const struct step *s,
				 __u32 index, int err)
{
	bool absent = s->kind == STEP_DEL && !w->index[index].value[s->key];
	int want = w->damaged ? -EROFS : absent ? -ENOENT : 0;

	if (!err)
		apply(w, s, index);
	if (s->kind == STEP_DEL && err == -ENOSPC)
		return full_delete();
	return outcome("in a batch", err, want);
}

int runner_batch(struct runner *r, const struct step *s, int *errs)
{
	const struct world_batch *batch = &world_batches[s->key];
	__u8 ops[BATCH_STEPS * (WORLD_VALUE_MAX + 64)] = { 0 };
	struct wort_batch_result results[BATCH_STEPS];
	__u32 len = 0, i;
	int err;

	for (i = 0; i < batch->nr; i++)
		len += pack(ops + len, &batch->step[i]);
	err = face_batch(r, s->index, batch->nr, ops, len, results,
			 sizeof(results));
	for (i = 0; i < batch->nr && !err; i++)
		errs[i] = results[i].error;
	return err;
}

static const char *do_batch(struct runner *r, struct world *w,
			    const struct step *s)
{
	const struct world_batch *batch = &world_batches[s->key];
	const char *bad = NULL;
	int errs[BATCH_STEPS];
	__u32 i;
	int err = runner_batch(r, s, errs);

	if (err)
		return say("batch: %d", err);
	for (i = 0; i < batch->nr && !bad; i++)
		bad = batch_outcome(w, &batch->step[i], s->index, errs[i]);
	return bad;
}

/* As a program packs it.  Returns its length. */
static __u32 pack_atomic(__u8 *at, const struct step *s, __u32 self)
{
	__u8 plain[WORLD_VALUE_MAX + 64] = { 0 };
	__u32 len = pack(plain, s), head = sizeof(struct wort_batch_op);
	struct wort_atomic_op op = { .index = s->index != self };

	memcpy(&op.op, plain, head);
	op.op.rec_len = len + sizeof(op) - head;
	memcpy(at, &op, sizeof(op));
	memcpy(at + sizeof(op), plain + head, len - head);
	return op.op.rec_len;
}

int runner_atomic(struct runner *r, const struct step *s)
{
	const struct world_batch *batch = &world_atomics[s->key];
	__u8 ops[BATCH_STEPS * (WORLD_VALUE_MAX + 64)] = { 0 };
	__u32 len = 0, i;

	for (i = 0; i < batch->nr; i++)
		len += pack_atomic(ops + len, &batch->step[i], s->index);
	return face_atomic(r, s->index, batch->nr, ops, len);
}

int world_apply_atomic(struct world *w, const struct step *s)
{
	const struct world_batch *batch = &world_atomics[s->key];
	struct world after = *w;
	__u32 i;

	for (i = 0; i < batch->nr; i++) {
		const struct step *one = &batch->step[i];

		if (one->kind != STEP_PUT && !after.index[one->index].value[one->key])
			return -ENOENT;
		if (one->kind != STEP_GET)
			apply(&after, one, one->index);
	}
	if (w->damaged)
		return -EROFS;
	*w = after;
	return 0;
}

__u32 world_within(const struct world *before, const struct world *after,
		   const struct step *step, struct world *out)
{
	const struct world_batch *batch = &world_batches[step->key];
	__u32 subset, i, nr = 0;

	out[nr++] = *before;
	out[nr++] = *after;
	if (step->kind != STEP_BATCH || !before->index[step->index].present ||
	    before->damaged)
		return nr;
	for (subset = 1; subset < 1u << batch->nr; subset++) {
		out[nr] = *before;
		for (i = 0; i < batch->nr; i++)
			if (subset >> i & 1)
				apply(&out[nr], &batch->step[i], step->index);
		nr++;
	}
	return nr;
}

static const char *do_create(struct runner *r, struct world *w,
			     const struct step *s)
{
	bool present = w->index[s->index].present;
	int err;

	face_close(r, s->index);
	err = face_open(r, s->index,
			WORT_INDEX_OPEN_F_CREATE | WORT_INDEX_OPEN_F_EXCL);
	if (!err) {
		memset(&w->index[s->index], 0, sizeof(w->index[s->index]));
		w->index[s->index].present = true;
	}
	if (present)
		face_open(r, s->index, 0);
	return outcome("create", err, present ? -EEXIST :
				      w->damaged ? -EROFS : 0);
}

static const char *do_destroy(struct runner *r, struct world *w,
			      const struct step *s)
{
	bool present = w->index[s->index].present;
	int err = face_destroy(r, s->index);

	if (!err) {
		face_close(r, s->index);
		memset(&w->index[s->index], 0, sizeof(w->index[s->index]));
	}
	return outcome("destroy", err, !present ? -ENOENT :
				       w->damaged ? -EROFS : 0);
}

/* An index of another engine would not be what is expected under the name. */
static const char *do_rename(struct runner *r, struct world *w,
			     const struct step *s)
{
	__u32 to = !s->index;
	bool taken = w->index[to].present;
	int err, want = !w->index[s->index].present ? -ENOENT :
			taken ? -EEXIST : w->damaged ? -EROFS : 0;

	if (world_engine_b.id)
		return NULL;
	err = face_rename(r, s->index);
	if (!err) {
		w->index[to] = w->index[s->index];
		memset(&w->index[s->index], 0, sizeof(w->index[s->index]));
	}
	return outcome("rename", err, want);
}

static const char *do_check(struct runner *r, struct world *w)
{
	struct wort_check_arg arg = {
		.size = sizeof(arg), .flags = WORT_CHECK_F_CLEAR,
	};
	int err = face_check(r, &arg);

	if (err || arg.out_nr_damaged)
		return say("check: %d, %llu damaged, at %#llx", err,
			   arg.out_nr_damaged, arg.out_damaged_off);
	w->damaged = false;
	return NULL;
}

static const char *do_format(struct runner *r, struct world *w)
{
	int err;

	runner_detach(r);
	err = face_format(r);
	if (!err)
		err = runner_attach(r);
	if (err)
		return say("format: %d", err);
	memset(w, 0, sizeof(*w));
	w->pool = true;
	return NULL;
}

static const char *do_reattach(struct runner *r)
{
	int err;

	runner_detach(r);
	err = runner_attach(r);
	return err ? say("attach: %d", err) : NULL;
}

static const char *compare_crowd(struct runner *r, const struct world *w, __u32 index)
{
	struct world_bytes key;
	__u8 buf[CROWD_LEN];
	__u64 number;
	__u32 i, len;
	int err;

	for (i = 0; i < w->index[index].crowd; i++) {
		key = crowd_key(i, w->index[index].pairs, buf);
		err = face_lookup(r, index, &key, (__u8 *)&number, sizeof(number), &len);
		if (err || len != sizeof(number) || number != i)
			return say("lookup of %u of the crowd in %s: %d", i,
				   face_name(index), err);
	}
	return NULL;
}

static const char *compare_lookups(struct runner *r, const struct world *w,
				   __u32 index)
{
	__u32 i;

	for (i = 0; i < NR_KEYS; i++) {
		__u8 got[WORLD_VALUE_MAX], want[WORLD_VALUE_MAX];
		__u8 value = w->index[index].value[i];
		__u32 len;
		int err = face_lookup(r, index, &world_keys[i], got,
				      sizeof(got), &len);

		if (err != (value ? 0 : -ENOENT))
			return say("lookup of key %u in %s: %d", i,
				   face_name(index), err);
		if (value && (len != world_value(i, value, want) ||
			      memcmp(got, want, len)))
			return say("lookup of key %u in %s: wrong value", i,
				   face_name(index));
	}
	return compare_crowd(r, w, index);
}

/* A batch that says that it has changed nothing. */
static const char *unchanged(struct runner *r, const struct world *w)
{
	const char *bad = NULL;
	__u32 i;

	for (i = 0; i < NR_INDEXES && !bad; i++)
		if (face_has(r, i))
			bad = compare_lookups(r, w, i);
	return bad;
}

static const char *atomic_once(struct runner *r, struct world *w, const struct step *s)
{
	struct world before = *w;
	int err, want;

	face_fail(r, s->value);
	err = runner_atomic(r, s);
	face_fail(r, 0);
	want = world_apply_atomic(w, s);
	if (err != -ENOSPC && (err != -ENOMEM || !s->value))
		return outcome("atomic batch", err, want);
	*w = before;
	return unchanged(r, w);
}

/* If something fails in it, once more: a batch that has failed leaves nothing behind. */
static const char *do_atomic(struct runner *r, struct world *w, const struct step *s)
{
	const struct world_batch *batch = &world_atomics[s->key];
	const struct step again = { STEP_ATOMIC, s->index, s->key, 0 };
	const char *bad;
	__u32 i;

	for (i = 0; i < batch->nr; i++)
		if (!face_has(r, batch->step[i].index))
			return NULL;
	bad = atomic_once(r, w, s);
	return bad || !s->value ? bad : atomic_once(r, w, &again);
}

const char *runner_step(struct runner *r, struct world *w,
			const struct step *s)
{
	if (s->kind != STEP_FORMAT && !face_attached(r))
		return NULL;
	if ((s->kind <= STEP_BATCH || s->kind == STEP_GET) &&
	    !face_has(r, s->index))
		return NULL;
	switch (s->kind) {
	case STEP_PUT:
	case STEP_CAS:
		return do_put(r, w, s);
	case STEP_DEL:
		return do_del(r, w, s);
	case STEP_BATCH:
		return do_batch(r, w, s);
	case STEP_ATOMIC:
		return do_atomic(r, w, s);
	case STEP_ATTACH:
		return NULL;
	case STEP_CREATE:
		return do_create(r, w, s);
	case STEP_DESTROY:
		return do_destroy(r, w, s);
	case STEP_RENAME:
		return do_rename(r, w, s);
	case STEP_REATTACH:
		return do_reattach(r);
	case STEP_SETTLE:
		face_settle(r);
		return NULL;
	case STEP_CHECK:
		return do_check(r, w);
	case STEP_DAMAGE:
		face_damage(r);
		w->damaged = true;
		return NULL;
	case STEP_FORMAT:
		return do_format(r, w);
	case STEP_CROWD:
		return do_crowd(r, w, s);
	case STEP_GET:
		return compare_lookups(r, w, s->index);
	}
	return "unknown step";
}

/* Comparing. */

static int key_number(const __u8 *key, __u32 len)
{
	__u32 i;

	for (i = 0; i < NR_KEYS; i++)
		if (world_keys[i].len == len &&
		    !memcmp(world_keys[i].data, key, len))
			return i;
	return -1;
}

/* May a key of an index come behind another one, or as the first? */
static bool in_order(__u32 index, int before, int key, bool reverse)
{
	const struct world_bytes *a, *b;
	int cmp;

	if (before < 0 || !(world_engine_of(index)->traits & WORT_TRAIT_ORDERED))
		return true;
	a = &world_keys[before];
	b = &world_keys[key];
	cmp = memcmp(a->data, b->data, a->len < b->len ? a->len : b->len);
	if (!cmp)
		cmp = (int)a->len - (int)b->len;
	return reverse ? cmp > 0 : cmp < 0;
}

/* Those of the crowd come in order behind all others.  Told: the number of the record. */
static bool is_next_of_crowd(__u32 index, const struct wort_record *rec, int seen, int before,
			     bool reverse, __u32 *number)
{
	const __u8 *key = (const __u8 *)(rec + 1);
	bool pairs = rec->key_len == CROWD_LEN;
	__u8 want[CROWD_LEN];
	__u64 value;

	if ((rec->key_len != 1 && !pairs) || *key < crowd_byte(0) ||
	    rec->value_len != sizeof(value))
		return false;
	*number = crowd_number(key, pairs);
	memcpy(&value, key + rec->key_len, sizeof(value));
	crowd_key(*number, pairs, want);
	if (value != *number || memcmp(key, want, rec->key_len))
		return false;
	if (!(world_engine_of(index)->traits & WORT_TRAIT_ORDERED))
		return true;
	return reverse ? before < 0 : *number == (__u32)seen;
}

const char *runner_scan(struct runner *r, __u32 index, bool reverse,
			int values[NR_SCANNED])
{
	static __u8 buf[64 << 10];
	int err, k, before = -1;
	__u32 at, len, number, last = UINT8_MAX;

	memset(values, 0, NR_SCANNED * sizeof(*values));
	err = face_scan(r, index, reverse ? WORT_SCAN_F_REVERSE : 0, buf,
			sizeof(buf), &len);
	if (err)
		return say("scan of %s: %d", face_name(index), err);
	for (at = 0; at < len;) {
		const struct wort_record *rec = (void *)(buf + at);
		const __u8 *key = (const __u8 *)(rec + 1);

		k = key_number(key, rec->key_len);
		at += rec->rec_len;
		if (k < 0 && is_next_of_crowd(index, rec, values[NR_KEYS], before, reverse,
					      &number) &&
		    (!reverse || number < last)) {
			last = number;
			values[NR_KEYS]++;
			continue;
		}
		if (k < 0)
			return say("scan of %s: a key that nobody put there",
				   face_name(index));
		if (!in_order(index, before, k, reverse))
			return say("scan of %s: key %d out of order",
				   face_name(index), k);
		values[k] = world_value_number(k, key + rec->key_len,
					       rec->value_len);
		before = k;
	}
	return NULL;
}

static const char *compare_scan(struct runner *r, const struct world *w,
				__u32 index, bool reverse)
{
	int values[NR_SCANNED];
	const char *bad = runner_scan(r, index, reverse, values);
	__u32 i, want;

	for (i = 0; i < NR_KEYS && !bad; i++) {
		want = w->index[index].value[i];
		if (values[i] == (int)want)
			continue;
		bad = say(!want ? "scan of %s: key %u that should not be" :
			  !values[i] ? "scan of %s: key %u is lost" :
				       "scan of %s: wrong value of key %u",
			  face_name(index), i);
	}
	if (!bad && values[NR_KEYS] != w->index[index].crowd)
		bad = say("scan of %s: %d of the crowd", face_name(index), values[NR_KEYS]);
	return bad;
}

static const char *compare_fill(struct runner *r, const struct world *w)
{
	__u64 count = 0;
	int err;

	if (!w->fill_records)
		return NULL;
	err = face_count(r, "fill", &count);
	if (err || count != w->fill_records)
		return say("%llu records in fill: %d",
			   (unsigned long long)count, err);
	return NULL;
}

const char *runner_compare(struct runner *r, const struct world *w)
{
	const char *bad = NULL;
	__u32 i, nr = w->fillers;

	for (i = 0; i < NR_INDEXES && !bad; i++) {
		nr += w->index[i].present;
		if (w->index[i].present != face_has(r, i))
			bad = say("index %s: %s", face_name(i), face_has(r, i) ?
				  "should not be" : "is lost");
		else if (face_has(r, i))
			bad = compare_scan(r, w, i, false);
		if (face_has(r, i) && !bad)
			bad = compare_scan(r, w, i, true);
		if (face_has(r, i) && !bad)
			bad = compare_lookups(r, w, i);
	}
	if (!bad && face_nr_indexes(r) != nr)
		bad = say("%u indexes instead of %u", face_nr_indexes(r), nr);
	if (!bad && face_damaged(r) != w->damaged)
		bad = "the state of the pool differs";
	return bad ? bad : compare_fill(r, w);
}

/* Going on. */

const char *runner_check(struct runner *r, bool clear)
{
	struct wort_check_arg arg = {
		.size = sizeof(arg), .flags = clear ? WORT_CHECK_F_CLEAR : 0,
	};
	int err = face_check(r, &arg);
	__u64 all = face_space(r);

	if (!err && !arg.out_nr_damaged &&
	    (!all || arg.out_owned_bytes + arg.out_free_bytes +
		     arg.out_freeing_bytes == all))
		return NULL;
	return say("check: %d, %llu damaged at %#llx; %llu owned, %llu free, %llu being freed",
		   err, arg.out_nr_damaged, arg.out_damaged_off,
		   arg.out_owned_bytes, arg.out_free_bytes,
		   arg.out_freeing_bytes);
}

/* Changes of every kind, into every kind of hole. */
const char *runner_go_on(struct runner *r, struct world *w)
{
	static const struct step steps[] = {
		{ STEP_CREATE, 0, 0, 0 }, { STEP_PUT, 0, 7, 2 },
		{ STEP_PUT, 0, 1, 2 }, { STEP_DEL, 0, 0, 0 },
		{ STEP_PUT, 0, 2, 3 }, { STEP_DEL, 0, 6, 0 },
	};
	const char *bad = NULL;
	__u32 i;

	for (i = 0; i < ARRAY_SIZE(steps) && !bad; i++)
		bad = runner_step(r, w, &steps[i]);
	if (!bad)
		bad = runner_compare(r, w);
	if (!bad)
		bad = runner_check(r, true);
	w->damaged = false;
	if (!bad)
		bad = runner_check(r, false);
	return bad ? bad : runner_compare(r, w);
}

/* Steps as text: put a 3 1 */

static const char *const step_names[NR_STEP_KINDS] = {
	"put", "del", "cas", "batch", "create", "destroy", "reattach", "settle",
	"check", "damage", "format", "get", "look", "move", "scan", "atomic",
	"attach", "rename", "crowd", "exchange", "del_if", "hold",
};

const char *step_name(const struct step *s)
{
	return step_names[s->kind];
}

void step_print(const struct step *s, char *buf, size_t size)
{
	snprintf(buf, size, "%s %s %u %u", step_names[s->kind],
		 face_name(s->index), s->key, s->value);
}

bool step_parse(const char *text, struct step *s)
{
	unsigned int key = 0, value = 0;
	char name[16], index = 'a';
	__u32 i;

	if (sscanf(text, "%15s %c %u %u", name, &index, &key, &value) < 1 ||
	    key > UINT8_MAX || value > UINT8_MAX)
		return false;
	for (i = 0; i < NR_STEP_KINDS; i++)
		if (!strcmp(name, step_names[i]) && i != STEP_CROWD) {
			*s = (struct step){ i, index - 'a', key, value };
			return s->index < NR_INDEXES &&
			       key < (i == STEP_ATOMIC ? NR_ATOMICS :
				      i == STEP_BATCH ? NR_BATCHES : NR_KEYS) &&
			       (i == STEP_ATOMIC || value < NR_VALUES);
		}
	return false;
}
