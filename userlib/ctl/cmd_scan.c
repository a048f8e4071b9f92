// SPDX-License-Identifier: GPL-2.0-only
/*
 * wort scan, count.
 */
#include "ctl.h"

static const struct argp_option scan_options[] = {
	{ "keys", 'k', NULL, 0, "no values", 0 },
	{ }
};

static error_t scan_option(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	(void)state;
	if (key != 'k')
		return ARGP_ERR_UNKNOWN;
	range.keys = true;
	return 0;
}

static const struct syntax scan_syntax = {
	.args = "POOL|IMAGE INDEX",
	.doc = "Print records in the order of their keys: key, tab, value.",
	.groups = GROUP_RANGE | GROUP_OUTPUT | GROUP_KEYS | GROUP_OFFLINE,
	.min_args = 2,
	.max_args = 2,
	.options = scan_options,
	.option = scan_option,
};

static const struct syntax count_syntax = {
	.args = "POOL|IMAGE INDEX",
	.doc = "Count records.",
	.groups = GROUP_RANGE | GROUP_OUTPUT | GROUP_KEYS | GROUP_OFFLINE,
	.min_args = 2,
	.max_args = 2,
};

/* An array with one record per line, written as they come. */
static int show_record(const struct wort_scan_item *item, void *data)
{
	uint64_t *nr = data;
	json_object *obj;

	if (!settings.json) {
		format_write(stdout, FORMAT_TSV, item);
	} else {
		obj = json_object_new_object();
		json_add_key(obj, item->key, item->key_len);
		if (item->value)
			json_add_value(obj, item->value, item->value_len);
		fputs(*nr ? ",\n" : "\n", stdout);
		json_print_line(obj, stdout);
	}
	++*nr;
	/* The rest would not arrive, either; the end of the command says so. */
	return output_error() ? 1 : 0;
}

static int scan(struct reader *reader, const struct wort_scan_opts *opts)
{
	uint64_t nr = 0;
	int err;

	if (settings.json)
		putchar('[');
	err = reader_scan(reader, opts, show_record, &nr);
	if (settings.json)
		puts(nr ? "\n]" : "]");
	return err > 0 ? 0 : err;
}

static int count(struct reader *reader, const struct wort_scan_opts *opts)
{
	json_object *obj;
	uint64_t nr = 0;
	int err = reader_count(reader, opts, &nr);

	if (err)
		return err;
	if (!settings.json) {
		printf("%llu\n", ull(nr));
		return 0;
	}
	obj = json_object_new_object();
	json_add_u64(obj, "count", nr);
	json_print(obj);
	return 0;
}

typedef int (*select_fn)(struct reader *reader,
			 const struct wort_scan_opts *opts);

static int with_selection(const struct syntax *syntax, int argc, char **argv,
			  select_fn fn)
{
	struct selection sel;
	struct reader reader;
	struct source src;
	char **args;
	int err;

	parse_args(syntax, argc, argv, &args);
	selection_read(&sel);
	err = source_open(args[0], false, &src);
	if (err)
		return err;
	err = reader_open(&src, args[1], &reader);
	if (!err) {
		err = fn(&reader, &sel.opts);
		err = err ? fail(args[1], err) : 0;
		reader_close(&reader);
	}
	source_close(&src);
	selection_free(&sel);
	return err;
}

int cmd_scan(int argc, char **argv)
{
	return with_selection(&scan_syntax, argc, argv, scan);
}

int cmd_count(int argc, char **argv)
{
	return with_selection(&count_syntax, argc, argv, count);
}
