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
		argp_error(state, "unknown format: %s", arg);
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

struct dumper {
	FILE *out;
	struct progress progress;
};

static int dump_record(const struct wort_scan_item *item, void *data)
{
	struct dumper *dump = data;

	format_write(dump->out, dump_format, item);
	dump->progress.count++;
	/* A clock for each record would take longer than the record. */
	if (!(dump->progress.count % 1024))
		progress_tick(&dump->progress);
	return ferror(dump->out) ? -EIO : 0;
}

static int dump(struct reader *reader, const char *path)
{
	struct dumper dump = { .out = stdout };
	struct selection sel;
	int err;

	if (path && strcmp(path, "-"))
		dump.out = fopen(path, "w");
	if (!dump.out)
		return complain("%s: %s", path, strerror(errno));
	selection_read(&sel);
	progress_begin(&dump.progress);
	err = reader_scan(reader, &sel.opts, dump_record, &dump);
	progress_end(&dump.progress);
	selection_free(&sel);
	if (ferror(dump.out) ||
	    (dump.out == stdout ? fflush(stdout) : fclose(dump.out)))
		return complain("cannot write all of the records");
	return err ? fail("dump", err) : 0;
}

int cmd_dump(int argc, char **argv)
{
	struct reader reader;
	struct source src;
	char **args;
	int nr, err;

	nr = parse_args(&dump_syntax, argc, argv, &args);
	if (settings.json)
		dump_format = FORMAT_JSONL;
	range.keys = dump_format == FORMAT_LINES;
	err = source_open(args[0], false, &src);
	if (err)
		return err;
	err = reader_open(&src, args[1], &reader);
	if (!err) {
		err = dump(&reader, nr == 3 ? args[2] : NULL);
		reader_close(&reader);
	}
	source_close(&src);
	return err;
}
