// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pools and indexes to read from: through the module, or from an image.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl.h"
#include "sysfs.h"

#define SCAN_BUF	(256 << 10)

/* What has a slash or a dot is rather a file than a pool of the module. */
static void mend_file(const char *name)
{
	if (strpbrk(name, "/.") && strncmp(name, "/dev/", 5))
		mend("wort format --size 64M %s    # makes one in a plain file",
		     shell_word(name));
}

int no_pool(const char *name, int err)
{
	if (err == -ENOTUNIQ) {
		complain("%s: several pools are called so", name);
		mend("wort list    # and name one by number");
		return ST_REFUSED;
	}
	if (err == -EUNATCH) {
		complain("%s: no such file, and no pool: the module is not loaded",
			 name);
		name_errno(-ENOENT);
		mend("modprobe wort");
		mend_file(name);
		return ST_NOTHING;
	}
	if (err == -ENOTTY) {
		complain("%s: not a wort device", name);
		name_errno(err);
		mend("wort list");
		return ST_REFUSED;
	}
	if (err != -ENOENT && err != -ENXIO)
		return fail(name, err);
	complain("%s: no such pool", name);
	name_errno(-ENOENT);
	mend("wort list    # or wort attach DEVICE");
	mend_file(name);
	return ST_NOTHING;
}

/* A file that cannot be opened as a pool. */
static int not_a_pool(const char *name, const struct stat *st)
{
	struct image_label label;
	int err;

	if (access(name, R_OK | W_OK))
		return complain("%s: %s", name, strerror(errno));
	if (!S_ISREG(st->st_mode))
		return complain("%s: neither a file nor a device", name);
	err = image_peek(name, &label);
	if (err)
		return err == -ENODATA ? no_pool_in_file(name) : fail(name, err);
	return complain("%s: an image of a namespace can only be read and checked", name);
}

int not_attached(const char *name)
{
	struct stat st;
	int err = other_version(name, name);

	if (err)
		return err;
	if (!stat(name, &st) && !S_ISBLK(st.st_mode))
		return not_a_pool(name, &st);
	complain("%s: the pool is not attached", name);
	mend("wort attach %s", shell_word(name));
	return ST_REFUSED;
}

static struct {
	bool known;
	unsigned int minor;
} opened;

int64_t opened_state(void)
{
	struct wort_pool_record *records;
	int64_t state = -ENODEV;
	int i, nr;

	if (!opened.known)
		return -ENOENT;
	nr = list_pools(&records);
	for (i = 0; i < nr; i++)
		if (records[i].minor == opened.minor)
			state = records[i].state;
	free(records);
	return nr < 0 ? -ENOENT : state;
}

/* Complains. */
static int open_attached(const char *name, const struct pool_place *place,
			 int flags, struct wort_pool **out)
{
	int err;

	if (place->dead) {
		complain("%s: the pool is dead: its device was unbound, removed or changed",
			 name);
		mend("wort detach %u    # and attach the device again",
		     place->minor);
		return ST_REFUSED;
	}
	err = wort_pool_open(place->path, flags, out);
	opened.known = !err;
	opened.minor = place->minor;
	return err ? no_pool(name, err) : 0;
}

int open_pool(const char *name, int flags, struct wort_pool **out)
{
	struct pool_place place;
	int err = find_pool(name, &place);

	if (err)
		return no_pool(name, err);
	if (place.offline && is_file_pool(place.path))
		return open_file_pool(place.path, flags, out);
	if (settings.process && !(place.offline && is_plain_file(place.path))) {
		complain("%s: --sync is for pools in plain files", name);
		return ST_USAGE;
	}
	return place.offline ? not_attached(name) :
			       open_attached(name, &place, flags, out);
}

static int no_index(const char *pool_name, const char *name, int err)
{
	if (err != -ENOENT)
		return fail(name, err);
	complain("%s: no such index", name);
	name_errno(err);
	mend("wort list %s    # or wort create %s %s", shell_word(pool_name),
	     shell_word(pool_name), shell_word(name));
	return ST_NOTHING;
}

int open_index(const char *pool_name, const char *name, bool write,
	       struct wort_index **out)
{
	struct wort_index_opts opts = {
		.sz = sizeof(opts),
		.flags = write ? 0 : WORT_INDEX_OPEN_F_RDONLY,
	};
	struct wort_pool *pool;
	int err = open_pool(pool_name, write ? O_RDWR : O_RDONLY, &pool);

	if (err)
		return err;
	err = wort_index_open(pool, name, &opts, out);
	wort_pool_close(pool);
	return err ? no_index(pool_name, name, err) : 0;
}

const char *version_text(uint32_t version)
{
	static char text[120];
	uint32_t own = image_own_version();
	const char *way = "";

	if (version > own)
		way = ": it takes a newer wort";
	else if (version < OLD_VERSION_MIN)
		way = ": dump its records with the wort that made it";
	snprintf(text, sizeof(text), "media version %u, this wort has %u%s",
		 version, own, way);
	return text;
}

const char *version_mend(const char *path, uint32_t version)
{
	static char line[5 * PATH_MAX];

	if (version < OLD_VERSION_MIN || version > OLD_VERSION_MAX)
		return NULL;
	snprintf(line, sizeof(line),
		 "wort dump %s INDEX >FILE    # each index of wort list; then wort format -f,%s wort load -m",
		 shell_word(path), is_plain_file(path) ? "" : " wort attach,");
	return line;
}

int other_version(const char *name, const char *path)
{
	struct image_label label;
	const char *line;

	if (image_version(path, settings.offset, &label) ||
	    label.version == image_own_version())
		return 0;
	complain("%s: the pool has %s", name, version_text(label.version));
	line = version_mend(name, label.version);
	if (line)
		mend("%s", line);
	return ST_REFUSED;
}

/* A pool of an older version: 0 if there is none. */
static int open_old(const char *name, const char *path, struct source *src)
{
	struct image_label label;
	int err;

	if (image_version(path, settings.offset, &label) ||
	    label.version == image_own_version())
		return 0;
	err = old_image_open(path, label.offset, &src->old);
	if (!err || err == -EPROTONOSUPPORT)
		return 0;
	return fail(name, err);
}

int source_open_to_dump(const char *name, struct source *src)
{
	struct pool_place place;
	int err;

	*src = (struct source) { .name = name };
	if (!find_pool(name, &place) && place.offline) {
		err = open_old(name, place.path, src);
		if (err || src->old)
			return err;
	}
	return source_open(name, false, src);
}

static int open_with(const char *name, int pool_flags, bool repair,
		     struct source *src)
{
	struct pool_place place;
	int err = find_pool(name, &place);

	*src = (struct source) { .name = name };
	if (err)
		return no_pool(name, err);
	src->minor = place.minor;
	if (!place.offline)
		return open_attached(name, &place, pool_flags,
				     &src->pool);
	err = other_version(name, place.path);
	if (err)
		return err;
	err = image_open(place.path, repair, settings.offset, settings.wait_ms,
			 &src->image);
	if (err == -EINVAL && settings.offset != IMAGE_FIND) {
		complain("%s: no pool can be at this offset: a multiple of 4096, within it", name);
		return ST_USAGE;
	}
	if (err == -ENODATA)
		return no_pool_in_file(place.path);
	return err ? file_failed(place.path, err) : 0;
}

int source_open(const char *name, bool repair, struct source *src)
{
	return open_with(name, repair ? O_RDWR : O_RDONLY, repair, src);
}

/* An attached pool is only checked by who may write to it. */
int source_open_to_check(const char *name, bool repair, struct source *src)
{
	return open_with(name, O_RDWR, repair, src);
}

int source_close(struct source *src)
{
	wort_pool_close(src->pool);
	old_image_close(src->old);
	return image_close(src->image);
}

int source_info(struct source *src, struct wort_pool_info_arg *info)
{
	*info = (struct wort_pool_info_arg) { .size = sizeof(*info) };
	return src->image ? image_info(src->image, info) :
			    wort_pool_info(src->pool, info);
}

int source_check(struct source *src, struct wort_check_arg *check)
{
	return src->image ? image_check(src->image, check) :
			    wort_pool_check(src->pool, check);
}

uint64_t source_checked(const struct source *src)
{
	char line[32];
	uint64_t val;

	if (src->image)
		return image_checked(src->image);
	sys_line(line, sizeof(line), "/sys/class/wort/wort%u/check_records",
		 src->minor);
	return number_parse(line, strlen(line), &val) ? 0 : val;
}

int source_list(struct source *src, uint64_t after,
		struct wort_index_record *records, unsigned int max, bool *more)
{
	if (src->old)
		return old_image_list(src->old, after, records, max, more);
	return src->image ?
	       (int)image_list(src->image, after, records, max, more) :
	       wort_pool_list(src->pool, after, records, max, more);
}

int source_each(struct source *src, index_fn fn, void *data)
{
	struct wort_index_record records[64];
	uint64_t after = 0;
	bool more = true;
	int i, nr = 0;

	while (more) {
		nr = source_list(src, after, records, ARRAY_SIZE(records),
				 &more);
		if (nr <= 0)
			break;
		for (i = 0; i < nr; i++)
			fn(src, &records[i], data);
		after = records[nr - 1].id;
	}
	return nr < 0 ? nr : 0;
}

/* Says nothing. */
static int open_reader(struct source *src, const char *name,
		       struct reader *reader)
{
	struct wort_index_opts opts = {
		.sz = sizeof(opts), .flags = WORT_INDEX_OPEN_F_RDONLY,
	};

	*reader = (struct reader) { };
	reader->old = src->old;
	if (src->old)
		return old_image_index(src->old, name, &reader->old_index);
	if (src->image)
		return image_index_open(src->image, name, &reader->image);
	return wort_index_open(src->pool, name, &opts, &reader->index);
}

int reader_open(struct source *src, const char *name, struct reader *reader)
{
	int err = open_reader(src, name, reader);

	return err ? no_index(src->name, name, err) : 0;
}

int source_verify_list(struct source *src)
{
	struct reader reader;
	int err = src->old ? -ENOENT : open_reader(src, "?", &reader);

	if (!err)
		reader_close(&reader);
	return err == -ENOENT ? 0 : err;
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	if (stat(a, &x) || stat(b, &y))
		return false;
	if (S_ISBLK(x.st_mode) && S_ISBLK(y.st_mode))
		return x.st_rdev == y.st_rdev;
	return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int refuse_output(const char *path, const char *pool)
{
	struct stat st;

	if (is_same_file(path, pool))
		return complain("%s: is the pool itself", path);
	if (!stat(path, &st) && S_ISBLK(st.st_mode))
		return complain("%s: this would overwrite the device; name a file", path);
	return 0;
}

void source_counted(struct source *src, const struct wort_index_record *rec,
		    struct wort_index_info_arg *info)
{
	struct reader reader;

	info->out_count_time = 0;
	if (src->old || open_reader(src, (const char *)rec->name, &reader))
		return;
	if (src->image)
		image_settle();
	if (reader_info(&reader, info))
		info->out_count_time = 0;
	reader_close(&reader);
}

void reader_close(struct reader *reader)
{
	wort_index_close(reader->index);
	image_index_close(reader->image);
}

int reader_info(struct reader *reader, struct wort_index_info_arg *info)
{
	*info = (struct wort_index_info_arg) { .size = sizeof(*info) };
	return reader->image ? image_index_info(reader->image, info) :
			       wort_index_info(reader->index, info);
}

int reader_get(struct reader *reader, const struct bytes *key,
	       struct bytes *value)
{
	value->len = WORT_VALUE_MAX;
	value->data = malloc(value->len);
	if (!value->data)
		return -ENOMEM;
	value->size = value->len;
	if (reader->image)
		return image_get(reader->image, key->data, key->len,
				 value->data, &value->len);
	return wort_get(reader->index, key->data, key->len, value->data,
			&value->len);
}

static int scan_index(struct wort_index *index,
		      const struct wort_scan_opts *opts, record_fn fn,
		      void *data)
{
	struct wort_scan_item item;
	struct wort_scan *scan;
	int more, err = wort_scan_begin(index, opts, &scan);

	if (err)
		return err;
	for (;;) {
		more = wort_scan_next(scan, &item);
		err = more > 0 ? fn(&item, data) : more;
		if (err || more <= 0)
			break;
	}
	wort_scan_end(scan);
	return err;
}

/* A buffer full of records, in trusted shape: our own code packed it. */
static int each_record(const struct wort_scan_arg *arg, const void *buf,
		       struct wort_scan_item *item, record_fn fn, void *data)
{
	const struct wort_record *rec = buf;
	const void *end = (const char *)buf + arg->out_len;
	int err = 0;

	while ((const void *)rec < end && !err) {
		item->key = rec + 1;
		item->key_len = rec->key_len;
		item->value = arg->flags & WORT_SCAN_F_KEYS ? NULL :
			      (const char *)item->key + rec->key_len;
		item->value_len = rec->value_len;
		err = fn(item, data);
		rec = (const void *)((const char *)rec + rec->rec_len);
	}
	return err;
}

static void scan_arg_of(const struct wort_scan_opts *opts, void *buf,
			struct wort_scan_arg *arg)
{
	*arg = (struct wort_scan_arg) {
		.size = sizeof(*arg),
		.flags = opts->flags,
		.start_ptr = (uintptr_t)opts->start,
		.bound_ptr = (uintptr_t)opts->bound,
		.buf_ptr = (uintptr_t)buf,
		.start_len = opts->start_len,
		.bound_len = opts->bound_len,
		.buf_len = SCAN_BUF,
	};
}

static int scan_image(struct image_index *index,
		      const struct wort_scan_opts *opts, record_fn fn,
		      void *data)
{
	struct wort_scan_item item = { };
	uint64_t left = opts->max_count;
	unsigned char last[WORT_KEY_MAX];
	struct wort_scan_arg arg;
	void *buf = malloc(SCAN_BUF);
	int err, err2;

	if (!buf)
		return -ENOMEM;
	scan_arg_of(opts, buf, &arg);
	do {
		arg.max_count = left < UINT32_MAX ? left : 0;
		err = image_scan(index, &arg);
		/* Records that came before an error are good. */
		err2 = each_record(&arg, buf, &item, fn, data);
		err = err ? err : err2;
		left -= opts->max_count ? arg.out_count : 0;
		if (err || !arg.out_count)
			break;
		memcpy(last, item.key, item.key_len);
		arg.start_ptr = (uintptr_t)last;
		arg.start_len = item.key_len;
		arg.flags |= WORT_SCAN_F_AFTER;
	} while (arg.out_more && (left || !opts->max_count));
	free(buf);
	return err;
}

int reader_scan(struct reader *reader, const struct wort_scan_opts *opts,
		record_fn fn, void *data)
{
	if (reader->old)
		return old_image_scan(reader->old, reader->old_index, opts, fn,
				      data);
	return reader->image ? scan_image(reader->image, opts, fn, data) :
			       scan_index(reader->index, opts, fn, data);
}

static int count_one(const struct wort_scan_item *item, void *data)
{
	(void)item;
	++*(uint64_t *)data;
	return 0;
}

int reader_count(struct reader *reader, const struct wort_scan_opts *opts,
		 uint64_t *count)
{
	struct wort_scan_opts keys = *opts;

	if (!reader->image)
		return wort_count(reader->index, opts, count);
	keys.flags |= WORT_SCAN_F_KEYS;
	*count = 0;
	return scan_image(reader->image, &keys, count_one, count);
}

void selection_read(struct selection *sel)
{
	*sel = (struct selection) { .opts = { .sz = sizeof(sel->opts) } };
	if (range.start)
		key_from_arg(&sel->start, range.start);
	if (range.bound)
		key_from_arg(&sel->bound, range.bound);
	sel->opts.start = sel->start.data;
	sel->opts.start_len = sel->start.len;
	sel->opts.bound = sel->bound.data;
	sel->opts.bound_len = sel->bound.len;
	sel->opts.max_count = range.limit;
	sel->opts.flags = (range.after ? WORT_SCAN_F_AFTER : 0) |
			  (range.prefix ? WORT_SCAN_F_PREFIX : 0) |
			  (range.reverse ? WORT_SCAN_F_REVERSE : 0) |
			  (range.keys ? WORT_SCAN_F_KEYS : 0);
}

void selection_free(struct selection *sel)
{
	bytes_free(&sel->start);
	bytes_free(&sel->bound);
}
