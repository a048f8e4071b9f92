// SPDX-License-Identifier: GPL-2.0-only
/*
 * wort dump: records to a file.
 */
#include <errno.h>
#include <string.h>

#include "ctl.h"

static enum format dump_format;

static const struct argp_option dump_options[] = {
	{ "format", 'F', "FORMAT", 0,
	  "tsv (default: key, tab, value), jsonl, or lines (keys only)", 0 },
	{ }
};

static error_t dump_option(int key, char *arg, struct argp_state *state)
{
	if (key != 'F')
		return ARGP_ERR_UNKNOWN;
	if (format_by_name(arg, &dump_format))
		usage_error(state, "unknown format: %s", arg);
	return 0;
}

static const struct syntax dump_syntax = {
	.args = "POOL|IMAGE INDEX [FILE]",
	.doc = "Write the records of an index to a file, or to standard output, so\n"
	       "that wort load can read them.",
	.groups = GROUP_RANGE | GROUP_OUTPUT | GROUP_KEYS | GROUP_OFFLINE |
		  GROUP_VERBOSE,
	.min_args = 2,
	.max_args = 3,
	.options = dump_options,
	.option = dump_option,
};

/* err: errno of the write that failed */
struct dumper {
	FILE *out;
	int err;
	struct progress progress;
};

static bool failed(struct dumper *dump)
{
	if (!dump->err && ferror(dump->out))
		dump->err = errno ? errno : EIO;
	return dump->err;
}

static int dump_record(const struct wort_scan_item *item, void *data)
{
	struct dumper *dump = data;

	format_write(dump->out, dump_format, item);
	dump->progress.count++;
	if (failed(dump))
		return -EIO;
	/* A clock for each record would take longer than the record. */
	if (!(dump->progress.count % 1024))
		progress_tick(&dump->progress);
	return 0;
}

/* A pool of an older version cannot be checked: what was left out stays so. */
static int incomplete(const struct reader *reader, const char *name, int err)
{
	if (!reader->old || (err != -EUCLEAN && err != -EIO))
		return fail(name, err);
	complain("records are missing: the places above cannot be read");
	return status_of(err);
}

/* What can be read of a damaged pool is a dump, too: all that there is. */
static bool is_kept(int err)
{
	return !err || err == -EUCLEAN || err == -EIO;
}

static int dump(struct reader *reader, const char *name, const struct wort_scan_opts *opts,
		const char *path)
{
	struct part part;
	struct dumper dump = { .out = part_open(&part, path) };
	int err, end;

	if (!dump.out)
		return complain("%s: %s", path, strerror(errno));
	progress_begin(&dump.progress);
	err = reader_scan(reader, opts, dump_record, &dump);
	progress_end(&dump.progress);
	end = part_close(&part, dump.out, !dump.err && is_kept(err));
	if (dump.err || end)
		return complain("%s: cannot write all of the records: %s",
				part_is_stdout(&part) ? "standard output" : path,
				strerror(dump.err ? dump.err : -end));
	return err ? incomplete(reader, name, err) : 0;
}

int cmd_dump(int argc, char **argv)
{
	struct selection sel;
	struct reader reader;
	struct source src;
	char **args;
	int nr, err;

	nr = parse_args(&dump_syntax, argc, argv, &args);
	err = nr == 3 ? refuse_output(args[2], args[0]) : 0;
	if (err)
		return err;
	if (settings.json)
		dump_format = FORMAT_JSONL;
	range.keys = dump_format == FORMAT_LINES;
	selection_read(&sel);
	err = source_open_to_dump(args[0], &src);
	if (err)
		return err;
	err = reader_open(&src, args[1], &reader);
	if (!err) {
		err = dump(&reader, args[1], &sel.opts, nr == 3 ? args[2] : "-");
		reader_close(&reader);
	}
	source_close(&src);
	selection_free(&sel);
	return err;
}
