// SPDX-License-Identifier: GPL-2.0-only
/*
 * wort load: records from a file, in batches.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "csv.h"
#include "ctl.h"

#define BATCH_DEFAULT	512

enum { KEY_ACK = 0x200, KEY_CSV, KEY_KEY, KEY_VALUE };

static struct {
	enum format format;
	uint32_t batch;
	uint32_t flags;
	bool create_index;
	const char *ack;
	bool formatted;
	bool csv;
	const char *key;
	const char *value;
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
	{ "csv", KEY_CSV, NULL, 0, "the input is CSV with a header", 0 },
	{ "key", KEY_KEY, "COLUMN", 0, "of CSV: the column with the keys", 0 },
	{ "value", KEY_VALUE, "COLUMN", 0,
	  "of CSV: the column with the values (default: they are empty)", 0 },
	{ }
};

static void verify_options(struct argp_state *state)
{
	if (load.flags == (WORT_INSERT_F_CREATE | WORT_INSERT_F_REPLACE))
		argp_error(state, "-c and -r exclude each other");
	if (load.csv && load.formatted)
		argp_error(state, "--csv and --format exclude each other");
	if (load.csv && !load.key)
		argp_error(state, "--csv needs --key");
	if (!load.csv && (load.key || load.value))
		argp_error(state, "--key and --value need --csv");
}

static error_t load_option(int key, char *arg, struct argp_state *state)
{
	uint64_t size;

	switch (key) {
	case 'F':
		if (format_by_name(arg, &load.format))
			usage_error(state, "unknown format: %s", arg);
		load.formatted = true;
		return 0;
	case 'b':
		size = parse_size(arg, state);
		if (!size || size > WORT_BATCH_MAX)
			argp_error(state, "a batch has 1 to %d records",
				   WORT_BATCH_MAX);
		load.batch = size;
		return 0;
	case 'c':
		load.flags |= WORT_INSERT_F_CREATE;
		return 0;
	case 'r':
		load.flags |= WORT_INSERT_F_REPLACE;
		return 0;
	case 'm':
		load.create_index = true;
		return 0;
	case KEY_ACK:
		load.ack = arg;
		return 0;
	case KEY_CSV:
		load.csv = true;
		return 0;
	case KEY_KEY:
		load.key = arg;
		return 0;
	case KEY_VALUE:
		load.value = arg;
		return 0;
	case ARGP_KEY_SUCCESS:
		verify_options(state);
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

/*
 * progress.count: records that are durable, the first so many of the input;
 * sizes and lines: of the records in the batch
 */
struct loader {
	struct wort_index *index;
	struct wort_batch *batch;
	const char *name;
	const char *in_name;
	FILE *in;
	FILE *ack;
	uint64_t line;
	uint32_t sizes[WORT_BATCH_MAX];
	uint64_t lines[WORT_BATCH_MAX];
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
	snprintf(place, sizeof(place), "line %llu", ull(ld->lines[nr - 1]));
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
	uint32_t nr;
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
		nr = wort_batch_count(ld->batch) - 1;
		ld->sizes[nr] = key->len + value->len;
		ld->lines[nr] = ld->line;
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

static int cannot_read(const struct loader *ld, int err)
{
	return complain("%s: cannot read: %s", ld->in_name, strerror(err ? err : EIO));
}

/* An error in the middle of a line ends it as if it were whole. */
static int bad_input(struct loader *ld, int err)
{
	int status = flush_batch(ld);

	return status ? status : cannot_read(ld, err);
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

static int too_long(struct loader *ld)
{
	ld->line++;
	return bad_line(ld, -EMSGSIZE, NULL);
}

static int load_lines(struct loader *ld)
{
	struct bytes key = { }, value = { };
	char *line = NULL;
	int status = 0;
	size_t size = 0;
	ssize_t len;

	while (!status) {
		len = line_read(&line, &size, ld->in);
		if (len < 0 && !errno)
			break;
		if (len < 0 && errno == EMSGSIZE)
			status = too_long(ld);
		else if (len < 0 || ferror(ld->in))
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

/* A field is the bytes themselves, or as -x and -n say. */
static int read_fields(struct bytes *key, struct bytes *value,
		       struct bytes *out_key, struct bytes *out_value,
		       const char **why)
{
	int err;

	*why = "bad key";
	if (settings.number)
		err = bytes_from_number(out_key, (char *)key->data, key->len);
	else if (settings.hex)
		err = bytes_from_hex(out_key, (char *)key->data, key->len);
	else
		err = bytes_set(out_key, key->data, key->len);
	if (err == -ERANGE)
		*why = "bad key: a number of more than 64 bits";
	else if (!err && !out_key->len)
		*why = "empty key";
	if (err == -ERANGE || (!err && !out_key->len))
		return -EINVAL;
	if (err)
		return err;
	*why = "bad value";
	return settings.hex && value->len ?
	       bytes_from_hex(out_value, (char *)value->data, value->len) :
	       bytes_set(out_value, value->data, value->len);
}

static int csv_wrong(struct loader *ld, const struct csv *csv, int err)
{
	ld->line = csv->line;
	return err == -EIO ? bad_input(ld, csv->read_err) :
			     bad_line(ld, err, csv->why);
}

static int load_csv(struct loader *ld)
{
	struct bytes fields[2] = { }, key = { }, value = { };
	const char *why;
	struct csv csv;
	int i, err, status = 0;

	err = csv_begin(&csv, ld->in, load.key, load.value);
	while (!err && !status && (err = csv_next(&csv, &fields[0], &fields[1])) > 0) {
		ld->line = csv.line;
		err = read_fields(&fields[0], &fields[1], &key, &value, &why);
		status = err ? bad_line(ld, err, why) :
			       add_record(ld, &key, &value);
		err = 0;
	}
	if (err < 0)
		status = csv_wrong(ld, &csv, err);
	else if (!status)
		status = flush_batch(ld);
	for (i = 0; i < 2; i++)
		bytes_free(&fields[i]);
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

static int open_streams(struct loader *ld, const char *pool, const char *path)
{
	bool named = path && strcmp(path, "-");
	int err;

	ld->in = named ? fopen(path, "r") : stdin;
	ld->in_name = named ? path : "standard input";
	if (!ld->in)
		return complain("%s: %s", path, strerror(errno));
	if (!load.ack)
		return 0;
	err = refuse_output(load.ack, pool);
	if (err)
		return err;
	ld->ack = fopen(load.ack, "a");
	if (!ld->ack)
		return complain("%s: %s", load.ack, strerror(errno));
	return 0;
}

/*
 * Wait until the input begins.  The program that writes it may have the same pool open, and only
 * one process at a time can open a plain file.
 */
static int wait_for_input(struct loader *ld)
{
	int first = getc(ld->in);

	if (first == EOF)
		return ferror(ld->in) ? cannot_read(ld, errno) : 0;
	ungetc(first, ld->in);
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
	status = open_streams(&ld, args[0], nr == 3 ? args[2] : NULL) ?:
		 wait_for_input(&ld) ?:
		 open_target(&ld, args);
	if (!status) {
		progress_begin(&ld.progress);
		status = load.csv ? load_csv(&ld) : load_lines(&ld);
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
