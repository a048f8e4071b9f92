// SPDX-License-Identifier: GPL-2.0-only
/*
 * wort load: records from a file, in batches.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"

#define BATCH_DEFAULT	512

enum { KEY_ACK = 0x200 };

static struct {
	enum format format;
	uint32_t batch;
	uint32_t flags;
	bool create_index;
	const char *ack;
} load = { .batch = BATCH_DEFAULT };

static const struct argp_option load_options[] = {
	{ "format", 'F', "FORMAT", 0,
	  "tsv (default: key, tab, value), jsonl, or lines (keys only)", 0 },
	{ "batch", 'b', "COUNT", 0, "records per call (default: 512)", 0 },
	{ "create", 'c', NULL, 0, "a key that is there already is an error",
	  0 },
	{ "replace", 'r', NULL, 0, "a key that is not there is an error", 0 },
	{ "make", 'm', NULL, 0, "make the index if there is none", 0 },
	{ "ack", KEY_ACK, "FILE", 0,
	  "append to FILE how many records are durable, after each batch", 0 },
	{ }
};

static error_t load_option(int key, char *arg, struct argp_state *state)
{
	uint64_t size;

	switch (key) {
	case 'F':
		if (format_by_name(arg, &load.format))
			usage_error(state, "unknown format: %s", arg);
		return 0;
	case 'b':
		size = parse_size(arg, state);
		if (!size || size > WORT_BATCH_MAX)
			argp_error(state, "a batch has 1 to %d records",
				   WORT_BATCH_MAX);
		load.batch = size;
		return 0;
	case 'c':
		load.flags = WORT_INSERT_F_CREATE;
		return 0;
	case 'r':
		load.flags = WORT_INSERT_F_REPLACE;
		return 0;
	case 'm':
		load.create_index = true;
		return 0;
	case KEY_ACK:
		load.ack = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct syntax load_syntax = {
	.args = "POOL INDEX [FILE]",
	.doc = "Store the records of a file, or of standard input, in batches.\n"
	       "The first record that is refused ends it.",
	.groups = GROUP_OUTPUT | GROUP_KEYS | GROUP_VERBOSE | GROUP_SYNC,
	.min_args = 2,
	.max_args = 3,
	.options = load_options,
	.option = load_option,
};

/* count: records that are durable, the first so many of the input */
struct loader {
	struct wort_index *index;
	struct wort_batch *batch;
	const char *name;
	const char *in_name;
	FILE *in;
	FILE *ack;
	uint64_t line;
	uint32_t sizes[WORT_BATCH_MAX];
	struct progress progress;
};

/* The first answer of a batch that is an error: stop at it. */
static int refused(struct loader *ld)
{
	struct wort_batch_item item = { };
	char place[64];
	uint64_t nr = 0;
	int more;

	while ((more = wort_batch_next(ld->batch, &item)) > 0) {
		nr++;
		if (item.error)
			break;
	}
	if (more <= 0)
		return fail(ld->name, more ? more : -EBADMSG);
	/* A line is a record, and those before this one are all stored. */
	snprintf(place, sizeof(place), "line %llu",
		 ull(ld->progress.count + nr));
	return fail(place, item.error);
}

static int acknowledge(struct loader *ld)
{
	if (!ld->ack)
		return 0;
	fprintf(ld->ack, "%llu\n", ull(ld->progress.count));
	if (!fflush(ld->ack))
		return 0;
	return complain("%s: cannot write: %s", load.ack, strerror(errno));
}

static int flush_batch(struct loader *ld)
{
	uint64_t done;
	int err, status = 0;

	if (!wort_batch_count(ld->batch))
		return 0;
	err = wort_batch_submit(ld->batch, ld->index, WORT_BATCH_F_STOP);
	done = wort_batch_done(ld->batch) - wort_batch_failed(ld->batch);
	if (wort_batch_failed(ld->batch))
		status = refused(ld);
	else if (err)
		status = fail(ld->name, err);
	ld->progress.count += done;
	while (done--)
		ld->progress.bytes += ld->sizes[done];
	if (!status)
		status = acknowledge(ld);
	wort_batch_reset(ld->batch);
	progress_tick(&ld->progress);
	return status;
}

static int add_record(struct loader *ld, const struct bytes *key,
		      const struct bytes *value)
{
	char place[64];
	int status, err;

	err = wort_batch_put(ld->batch, key->data, key->len, value->data,
			     value->len, load.flags);
	if (err == -ENOBUFS) {
		status = flush_batch(ld);
		if (status)
			return status;
		err = wort_batch_put(ld->batch, key->data, key->len,
				     value->data, value->len, load.flags);
	}
	if (!err) {
		ld->sizes[wort_batch_count(ld->batch) - 1] =
			key->len + value->len;
		return 0;
	}
	/* What came before is stored all the same. */
	status = flush_batch(ld);
	snprintf(place, sizeof(place), "line %llu", ull(ld->line));
	return status ? status : fail(place, err);
}

/* What came before is stored all the same. */
static int bad_line(struct loader *ld, int err, const char *why)
{
	int status = flush_batch(ld);
	char place[64];

	if (status)
		return status;
	if (err == -EINVAL)
		return complain("line %llu: %s", ull(ld->line), why);
	snprintf(place, sizeof(place), "line %llu", ull(ld->line));
	return fail(place, err);
}

/* An error in the middle of a line ends it as if it were whole. */
static int bad_input(struct loader *ld, int err)
{
	int status = flush_batch(ld);

	return status ? status : complain("%s: cannot read: %s", ld->in_name,
					  strerror(err ? err : EIO));
}

static int load_line(struct loader *ld, const char *line, size_t len,
		     struct bytes *key, struct bytes *value)
{
	const char *why;
	int err;

	ld->line++;
	if (ld->line == 1 && len >= 3 && !memcmp(line, "\xef\xbb\xbf", 3))
		return bad_line(ld, -EINVAL,
				"begins with a byte-order mark: sed '1s/^\\xef\\xbb\\xbf//' removes it");
	err = format_read(load.format, line, len, key, value, &why);
	return err ? bad_line(ld, err, why) : add_record(ld, key, value);
}

static int load_lines(struct loader *ld)
{
	struct bytes key = { }, value = { };
	char *line = NULL;
	int status = 0;
	size_t size = 0;
	ssize_t len;

	while (!status) {
		errno = 0;
		len = getline(&line, &size, ld->in);
		if (len < 0 && !errno)
			break;
		if (len < 0 || ferror(ld->in))
			status = bad_input(ld, errno);
		else
			status = load_line(ld, line, len, &key, &value);
	}
	if (!status)
		status = flush_batch(ld);
	free(line);
	bytes_free(&key);
	bytes_free(&value);
	return status;
}

static void summary(const struct loader *ld, double secs)
{
	double rate = secs > 0 ? ld->progress.count / secs : 0;
	json_object *obj;

	if (!settings.json) {
		printf("%llu records, %llu bytes, %.2f s, %.0f/s\n",
		       ull(ld->progress.count), ull(ld->progress.bytes), secs,
		       rate);
		return;
	}
	obj = json_object_new_object();
	json_add_u64(obj, "records", ld->progress.count);
	json_add_u64(obj, "bytes", ld->progress.bytes);
	json_object_object_add(obj, "seconds", json_object_new_double(secs));
	json_print(obj);
}

static int open_streams(struct loader *ld, const char *path)
{
	bool named = path && strcmp(path, "-");

	ld->in = named ? fopen(path, "r") : stdin;
	ld->in_name = named ? path : "standard input";
	if (!ld->in)
		return complain("%s: %s", path, strerror(errno));
	if (!load.ack)
		return 0;
	ld->ack = fopen(load.ack, "a");
	if (!ld->ack)
		return complain("%s: %s", load.ack, strerror(errno));
	return 0;
}

static int make_index(const char *pool_name, const char *name)
{
	struct wort_index_opts opts = {
		.sz = sizeof(opts), .flags = WORT_INDEX_OPEN_F_CREATE,
	};
	struct wort_index *index;
	struct wort_pool *pool;
	int err = open_pool(pool_name, O_RDWR, &pool);

	if (err)
		return err;
	err = wort_index_open(pool, name, &opts, &index);
	wort_pool_close(pool);
	if (err)
		return fail(name, err);
	wort_index_close(index);
	return 0;
}

static int open_target(struct loader *ld, char **args)
{
	struct wort_batch_opts opts = {
		.sz = sizeof(opts), .max_ops = load.batch,
	};
	int err = load.create_index ? make_index(args[0], args[1]) : 0;

	ld->name = args[1];
	if (!err)
		err = open_index(args[0], args[1], true, &ld->index);
	if (err)
		return err;
	err = wort_batch_new(&opts, &ld->batch);
	return err ? fail(args[1], err) : 0;
}

int cmd_load(int argc, char **argv)
{
	struct loader ld = { };
	char **args;
	int nr, status;

	nr = parse_args(&load_syntax, argc, argv, &args);
	status = open_streams(&ld, nr == 3 ? args[2] : NULL);
	if (!status)
		status = open_target(&ld, args);
	if (!status) {
		progress_begin(&ld.progress);
		status = load_lines(&ld);
		summary(&ld, progress_end(&ld.progress));
	}
	wort_batch_free(ld.batch);
	wort_index_close(ld.index);
	if (ld.ack)
		fclose(ld.ack);
	if (ld.in && ld.in != stdin)
		fclose(ld.in);
	return status;
}
