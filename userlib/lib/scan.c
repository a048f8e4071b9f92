// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Reading in order: a buffer full of records at a time, each call going on
 * after the last key of the one before.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define BUF_SIZE_DEFAULT	(256 << 10)
/* The largest record there can be fits. */
#define BUF_SIZE_MIN		(80 << 10)

struct wort_scan {
	struct wort_index *index;	/* held */
	uint32_t flags;
	bool more;
	int err;			/* to return after the buffer */
	uint64_t left;			/* UINT64_MAX: no limit */
	uint32_t buf_size;
	uint32_t len;			/* bytes of records in the buffer */
	uint32_t at;			/* the next of them */
	uint32_t start_len;
	uint32_t bound_len;
	unsigned char start[WORT_KEY_MAX];
	unsigned char bound[WORT_KEY_MAX];
	unsigned char buf[] __attribute__((aligned(8)));
};

static uint32_t buf_size_of(const struct wort_scan_opts *opts)
{
	if (!opts->buf_size)
		return BUF_SIZE_DEFAULT;
	if (opts->buf_size < BUF_SIZE_MIN)
		return BUF_SIZE_MIN;
	return opts->buf_size < WORT_BUF_MAX ? opts->buf_size : WORT_BUF_MAX;
}

/* No key is before the empty one, and none is the empty one. */
static bool is_empty(const struct wort_scan_opts *opts)
{
	if (opts->flags & WORT_SCAN_F_REVERSE)
		return opts->start && !opts->start_len;
	return !(opts->flags & WORT_SCAN_F_PREFIX) && opts->bound &&
	       !opts->bound_len;
}

static int set_keys(struct wort_scan *scan, const struct wort_scan_opts *opts)
{
	if (opts->start_len > WORT_KEY_MAX || opts->bound_len > WORT_KEY_MAX)
		return -EMSGSIZE;
	if (opts->start)
		memcpy(scan->start, opts->start, opts->start_len);
	if (opts->bound)
		memcpy(scan->bound, opts->bound, opts->bound_len);
	scan->start_len = opts->start ? opts->start_len : 0;
	scan->bound_len = opts->bound ? opts->bound_len : 0;
	return 0;
}

static int scan_new(struct wort_index *index, const struct wort_scan_opts *opts,
		    uint32_t flags, struct wort_scan **out)
{
	struct wort_scan_opts o;
	struct wort_scan *scan;
	uint32_t buf_size;
	int err = wort_opts_read(&o, sizeof(o), opts);

	if (err)
		return err;
	/* What answers a count would be taken for records. */
	if (o.flags & WORT_SCAN_F_COUNT)
		return -EOPNOTSUPP;
	buf_size = buf_size_of(&o);
	scan = malloc(sizeof(*scan) + buf_size);
	if (!scan)
		return -ENOMEM;
	memset(scan, 0, sizeof(*scan));
	scan->flags = o.flags | flags;
	scan->more = !is_empty(&o);
	scan->left = o.max_count ? o.max_count : UINT64_MAX;
	scan->buf_size = buf_size;
	err = set_keys(scan, &o);
	if (err) {
		free(scan);
		return err;
	}
	wort_index_hold(index);
	scan->index = index;
	*out = scan;
	return 0;
}

WORT_API void wort_scan_end(struct wort_scan *scan)
{
	if (!scan)
		return;
	wort_index_put(scan->index);
	free(scan);
}

WORT_API int wort_scan_begin(struct wort_index *index,
			     const struct wort_scan_opts *opts,
			     struct wort_scan **out)
{
	return scan_new(index, opts, 0, out);
}

static int issue(struct wort_scan *scan, struct wort_scan_arg *arg)
{
	*arg = (struct wort_scan_arg) {
		.size = sizeof(*arg),
		.flags = scan->flags,
		.start_ptr = wort_ptr(scan->start),
		.bound_ptr = wort_ptr(scan->bound),
		.buf_ptr = wort_ptr(scan->buf),
		.start_len = scan->start_len,
		.bound_len = scan->bound_len,
		.buf_len = scan->buf_size,
		.max_count = scan->left < UINT32_MAX ? scan->left : 0,
	};
	return wort_ioctl(scan->index->fd, WORT_IOC_SCAN, arg);
}

static int resume_after(struct wort_scan *scan, const void *key, uint32_t len)
{
	if (!len || len > WORT_KEY_MAX)
		return -EBADMSG;
	memcpy(scan->start, key, len);
	scan->start_len = len;
	scan->flags |= WORT_SCAN_F_AFTER;
	return 0;
}

/* Records that came before an error are good. */
static int fill(struct wort_scan *scan)
{
	struct wort_scan_arg arg;
	int err = issue(scan, &arg);

	if (err && (err == -ERANGE || !arg.out_len))
		return err;
	if (arg.out_len > scan->buf_size)
		return -EBADMSG;
	scan->err = err;
	scan->more = arg.out_more;
	scan->len = arg.out_len;
	scan->at = 0;
	return 0;
}

/* The record at the place reached; the buffer is the module's work, but still. */
static int parse(struct wort_scan *scan, struct wort_scan_item *item)
{
	const unsigned char *at = scan->buf + scan->at;
	uint32_t left = scan->len - scan->at;
	struct wort_record rec;
	uint64_t used;

	if (left < sizeof(rec))
		return -EBADMSG;
	memcpy(&rec, at, sizeof(rec));
	used = sizeof(rec) + (uint64_t)rec.key_len;
	if (!(scan->flags & WORT_SCAN_F_KEYS))
		used += rec.value_len;
	if (rec.rec_len > left || used > rec.rec_len)
		return -EBADMSG;
	item->key = at + sizeof(rec);
	item->key_len = rec.key_len;
	item->value = scan->flags & WORT_SCAN_F_KEYS ?
		      NULL : at + sizeof(rec) + rec.key_len;
	item->value_len = rec.value_len;
	scan->at += rec.rec_len;
	return resume_after(scan, item->key, rec.key_len);
}

WORT_API int wort_scan_next(struct wort_scan *scan, struct wort_scan_item *item)
{
	int err;

	if (!scan->left)
		return 0;
	while (scan->at == scan->len) {
		err = scan->err;
		if (!err && !scan->more)
			return 0;
		if (!err)
			err = fill(scan);
		if (err)
			return err;
	}
	err = parse(scan, item);
	if (err)
		return err;
	if (scan->left != UINT64_MAX)
		scan->left--;
	return 1;
}

WORT_API int wort_count(struct wort_index *index,
			const struct wort_scan_opts *opts, uint64_t *count)
{
	struct wort_scan_arg arg;
	struct wort_scan *scan;
	int err = scan_new(index, opts, WORT_SCAN_F_COUNT, &scan);

	if (err)
		return err;
	*count = 0;
	while (!err && scan->more && scan->left) {
		err = issue(scan, &arg);
		if (err)
			break;
		*count += arg.out_count;
		if (scan->left != UINT64_MAX)
			scan->left -= arg.out_count;
		scan->more = arg.out_more;
		if (scan->more)
			err = resume_after(scan, scan->buf, arg.out_last_len);
	}
	wort_scan_end(scan);
	return err;
}
