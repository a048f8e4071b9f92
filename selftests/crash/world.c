// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

#define K(s) { (const u8 *)(s), sizeof(s) - 1 }

/*
 * Keys that part at the first digit, at an even and an odd one, at the last;
 * one that is a prefix of others; prefixes within and beyond the ten digits
 * that a header holds.
 */
const struct wort_key world_keys[NR_KEYS] = {
	K("\x12\x34"), K("\x12\x35"), K("\x12\x94"), K("\x12"), K("\x92\x34"),
	K("abcdefghijk1"), K("abcdefghijk2"), K("abcdefghX"), K("ab"),
	K("\x00"),
};

static const u32 value_len[NR_VALUES] = { 0, 8, 8, 300, 5000, 0, 3, 300 };

u32 world_value(u32 key, u32 value, u8 *buf)
{
	u32 i;

	for (i = 0; i < value_len[value]; i++)
		buf[i] = 16 * value + key + i;
	return value_len[value];
}

static const char *say(const char *fmt, ...)
{
	static char buf[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	return buf;
}

static const u8 index_name[NR_INDEXES][2] = { "a", "b" };

static int open_index(struct runner *r, u32 i, u32 flags)
{
	return wort_index_open(r->pool, index_name[i], 1, flags, 0, 0,
			       &r->index[i]);
}

int runner_attach(struct runner *r)
{
	int err = wort_pool_attach(&r->region, &r->pool);
	u32 i;

	if (err) {
		r->pool = NULL;
		return err;
	}
	for (i = 0; i < NR_INDEXES; i++)
		if (open_index(r, i, 0))
			r->index[i] = NULL;
	return 0;
}

static void drop(struct runner *r, u32 i)
{
	if (r->index[i])
		wort_index_put(r->index[i]);
	r->index[i] = NULL;
}

void runner_detach(struct runner *r)
{
	u32 i;

	for (i = 0; i < NR_INDEXES; i++)
		drop(r, i);
	if (r->pool)
		wort_pool_detach(r->pool);
	r->pool = NULL;
}

static void run_works(void)
{
	while (shim_run_work())
		;
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
	u8 buf[WORLD_VALUE_MAX], old[WORLD_VALUE_MAX];
	struct wort_value expect = { old, 0 };
	struct wort_put put = {
		.key = world_keys[s->key],
		.value = { buf, world_value(s->key, s->value, buf) },
	};
	u8 *now = &w->index[s->index].value[s->key];
	int err, want = w->damaged ? -EROFS : 0;

	if (s->kind == STEP_CAS) {
		expect.len = world_value(s->key, *now ? *now : 1, old);
		put.expect = &expect;
		if (!*now && !want)
			want = -ENOENT;
	}
	err = wort_index_insert(r->index[s->index], &put);
	if (!err)
		*now = s->value;
	return outcome("put", err, want);
}

static const char *do_del(struct runner *r, struct world *w,
			  const struct step *s)
{
	u8 *now = &w->index[s->index].value[s->key];
	int err = wort_index_delete(r->index[s->index], &world_keys[s->key],
				    NULL, NULL);

	if (err == -ENOSPC)
		return "delete wants space";
	if (err != (w->damaged ? -EROFS : *now ? 0 : -ENOENT))
		return say("delete: %d", err);
	if (!err)
		*now = 0;
	return NULL;
}

static const char *do_create(struct runner *r, struct world *w,
			     const struct step *s)
{
	bool present = w->index[s->index].present;
	int err;

	drop(r, s->index);
	err = open_index(r, s->index,
			 WORT_INDEX_OPEN_F_CREATE | WORT_INDEX_OPEN_F_EXCL);
	if (err)
		r->index[s->index] = NULL;
	if (!err) {
		memset(&w->index[s->index], 0, sizeof(w->index[s->index]));
		w->index[s->index].present = true;
	}
	if (present)
		open_index(r, s->index, 0);
	return outcome("create", err, present ? -EEXIST :
				      w->damaged ? -EROFS : 0);
}

static const char *do_destroy(struct runner *r, struct world *w,
			      const struct step *s)
{
	bool present = w->index[s->index].present;
	int err = wort_index_destroy(r->pool, index_name[s->index], 1);

	if (!err) {
		drop(r, s->index);
		memset(&w->index[s->index], 0, sizeof(w->index[s->index]));
	}
	return outcome("destroy", err, !present ? -ENOENT :
				       w->damaged ? -EROFS : 0);
}

static const char *do_check(struct runner *r, struct world *w)
{
	struct wort_check_arg arg = {
		.size = sizeof(arg), .flags = WORT_CHECK_F_CLEAR,
	};
	int err = wort_pool_check(r->pool, &arg);

	if (err || arg.out_nr_damaged)
		return say("check: %d, %llu damaged, at %#llx", err,
			   arg.out_nr_damaged, arg.out_damaged_off);
	w->damaged = false;
	return NULL;
}

static const char *do_format(struct runner *r, struct world *w)
{
	struct wort_format_opts opts = { .label = "again" };
	int err;

	runner_detach(r);
	err = wort_pool_format(&r->region, &opts);
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

const char *runner_step(struct runner *r, struct world *w,
			const struct step *s)
{
	if (s->kind != STEP_FORMAT && !r->pool)
		return NULL;
	if (s->kind <= STEP_CAS && !r->index[s->index])
		return NULL;
	switch (s->kind) {
	case STEP_PUT:
	case STEP_CAS:
		return do_put(r, w, s);
	case STEP_DEL:
		return do_del(r, w, s);
	case STEP_CREATE:
		return do_create(r, w, s);
	case STEP_DESTROY:
		return do_destroy(r, w, s);
	case STEP_REATTACH:
		return do_reattach(r);
	case STEP_SETTLE:
		run_works();
		return NULL;
	case STEP_CHECK:
		return do_check(r, w);
	case STEP_DAMAGE:
		wort_pool_damaged(r->pool);
		w->damaged = true;
		return NULL;
	case STEP_FORMAT:
		return do_format(r, w);
	}
	return "unknown step";
}

/* Comparing. */

static int key_number(const u8 *key, u32 len)
{
	u32 i;

	for (i = 0; i < NR_KEYS; i++)
		if (world_keys[i].len == len &&
		    !memcmp(world_keys[i].data, key, len))
			return i;
	return -1;
}

static const char *compare_scan(struct runner *r, const struct world *w,
				u32 index, bool reverse)
{
	static u8 buf[64 << 10];
	struct wort_scan scan = {
		.buf = buf, .buf_len = sizeof(buf),
		.flags = reverse ? WORT_SCAN_F_REVERSE : 0,
	};
	bool seen[NR_KEYS] = { false };
	u32 at, i;
	int err = wort_index_scan(r->index[index], &scan);

	if (err || scan.more)
		return say("scan of %s: %d", index_name[index], err);
	for (at = 0; at < scan.len;) {
		const struct wort_record *rec = (void *)(buf + at);
		const u8 *key = (const u8 *)(rec + 1);
		int k = key_number(key, rec->key_len);
		u8 want[WORLD_VALUE_MAX];

		if (k < 0 || !w->index[index].value[k] || seen[k])
			return say("scan of %s: key %d that should not be",
				   index_name[index], k);
		if (rec->value_len != world_value(k, w->index[index].value[k],
						  want) ||
		    memcmp(key + rec->key_len, want, rec->value_len))
			return say("scan of %s: wrong value of key %d",
				   index_name[index], k);
		seen[k] = true;
		at += rec->rec_len;
	}
	for (i = 0; i < NR_KEYS; i++)
		if (w->index[index].value[i] && !seen[i])
			return say("scan of %s: key %u is lost",
				   index_name[index], i);
	return NULL;
}

static const char *compare_lookups(struct runner *r, const struct world *w,
				   u32 index)
{
	u32 i;

	for (i = 0; i < NR_KEYS; i++) {
		u8 got[WORLD_VALUE_MAX], want[WORLD_VALUE_MAX], value = w->index[index].value[i];
		struct wort_buf buf = { .data = got, .size = sizeof(got) };
		int err = wort_index_lookup(r->index[index], &world_keys[i],
					    &buf);

		if (err != (value ? 0 : -ENOENT))
			return say("lookup of key %u in %s: %d", i,
				   index_name[index], err);
		if (value && (buf.len != world_value(i, value, want) ||
			      memcmp(got, want, buf.len)))
			return say("lookup of key %u in %s: wrong value", i,
				   index_name[index]);
	}
	return NULL;
}

static const char *compare_fill(struct runner *r, const struct world *w)
{
	u8 last[WORT_KEY_MAX];
	struct wort_scan scan = {
		.buf = last, .buf_len = sizeof(last),
		.flags = WORT_SCAN_F_COUNT,
	};
	struct wort_index *fill;
	int err;

	if (!w->fill_records)
		return NULL;
	err = wort_index_open(r->pool, (const u8 *)"fill", 4, 0, 0, 0, &fill);
	if (err)
		return say("index fill: %d", err);
	err = wort_index_scan(fill, &scan);
	wort_index_put(fill);
	if (err || scan.count != w->fill_records)
		return say("%llu records in fill: %d",
			   (unsigned long long)scan.count, err);
	return NULL;
}

const char *runner_compare(struct runner *r, const struct world *w)
{
	const char *bad = NULL;
	u32 i, nr = w->fillers;

	for (i = 0; i < NR_INDEXES && !bad; i++) {
		nr += w->index[i].present;
		if (w->index[i].present != !!r->index[i])
			bad = say("index %s: %s", index_name[i], r->index[i] ?
				  "should not be" : "is lost");
		else if (r->index[i])
			bad = compare_scan(r, w, i, false);
		if (r->index[i] && !bad)
			bad = compare_scan(r, w, i, true);
		if (r->index[i] && !bad)
			bad = compare_lookups(r, w, i);
	}
	if (!bad && r->pool->nr_indexes != nr)
		bad = say("%u indexes instead of %u", r->pool->nr_indexes, nr);
	if (!bad && r->pool->damaged != w->damaged)
		bad = "the state of the pool differs";
	return bad ? bad : compare_fill(r, w);
}

/* Steps as text: put a 3 1 */

static const char *const step_names[NR_STEP_KINDS] = {
	"put", "del", "cas", "create", "destroy", "reattach", "settle",
	"check", "damage", "format",
};

void step_print(const struct step *s, char *buf, size_t size)
{
	snprintf(buf, size, "%s %s %u %u", step_names[s->kind],
		 (const char *)index_name[s->index], s->key, s->value);
}

bool step_parse(const char *text, struct step *s)
{
	unsigned int key = 0, value = 0;
	char name[16], index = 'a';
	u32 i;

	if (sscanf(text, "%15s %c %u %u", name, &index, &key, &value) < 1 ||
	    key >= NR_KEYS || value >= NR_VALUES)
		return false;
	for (i = 0; i < NR_STEP_KINDS; i++)
		if (!strcmp(name, step_names[i])) {
			*s = (struct step){ i, index - 'a', key, value };
			return s->index < NR_INDEXES;
		}
	return false;
}
