// SPDX-License-Identifier: GPL-2.0-only
/*
 * Command lines: options that several verbs share, and what is left.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"

#define WAIT_MAX	1000000	/* seconds */

struct settings settings = { .offset = IMAGE_FIND, .nr_attrs = -1 };
struct range range;

enum { KEY_OFFSET = 0x100, KEY_ATTR, KEY_SYNC, KEY_WAIT };

static const struct argp_option output_options[] = {
	{ "output", 'o', "FORMAT", 0, "text (default) or json", 10 },
	{ }
};

static const struct argp_option key_options[] = {
	{ "hex", 'x', NULL, 0, "keys and values are hexadecimal", 10 },
	{ "number", 'n', NULL, 0,
	  "keys are 64-bit numbers, stored as 8 big-endian bytes", 10 },
	{ }
};

static const struct argp_option offline_options[] = {
	{ "offset", KEY_OFFSET, "BYTES", 0,
	  "where in an image the pool begins (default: find it)", 10 },
	{ }
};

static const struct argp_option attr_options[] = {
	{ "attr", KEY_ATTR, "NAME=VALUE", 0,
	  "attribute of the index, see wort engines; also -o NAME=VALUE", 10 },
	{ }
};

static const struct argp_option sync_options[] = {
	{ "sync", KEY_SYNC, "media|process", 0,
	  "what a record in a plain file survives: a power cut (default), or the end of this process only, which is faster",
	  10 },
	{ }
};

static const struct argp_option wait_options[] = {
	{ "wait", KEY_WAIT, "SECONDS", 0,
	  "wait so long for other processes that have the plain file open", 10 },
	{ }
};

static const struct argp_option verbose_options[] = {
	{ "verbose", 'v', NULL, 0, "show progress, terminal or not", 10 },
	{ "quiet", 'q', NULL, 0, "show no progress", 10 },
	{ }
};

static const struct argp_option range_options[] = {
	{ "start", 's', "KEY", 0, "begin at this key", 1 },
	{ "after", 'a', "KEY", 0, "begin after this key", 1 },
	{ "before", 'b', "KEY", 0, "stop before this key", 1 },
	{ "prefix", 'p', "KEY", 0, "only keys that begin like this", 1 },
	{ "reverse", 'r', NULL, 0, "from high keys to low", 1 },
	{ "limit", 'l', "COUNT", 0, "at most so many records", 1 },
	{ }
};

uint64_t parse_size(const char *text, struct argp_state *state)
{
	size_t len = strlen(text);
	unsigned int shift = 0;
	uint64_t val = 0;
	int err;

	switch (len ? text[len - 1] : 0) {
	case 'k':
	case 'K':
		shift = 10;
		break;
	case 'M':
		shift = 20;
		break;
	case 'G':
		shift = 30;
		break;
	case 'T':
		shift = 40;
		break;
	}
	err = number_parse(text, len - !!shift, &val);
	if (err == -ERANGE || val > UINT64_MAX >> shift)
		usage_error(state, "larger than 64 bits: %s", text);
	else if (err)
		usage_error(state, "not a number: %s", text);
	return val << shift;
}

static void add_attr(const char *arg, struct argp_state *state)
{
	if (!strchr(arg, '='))
		usage_error(state, "not NAME=VALUE: %s", arg);
	if (settings.nr_attrs == ATTRS_MAX)
		argp_error(state, "more than %d attributes", ATTRS_MAX);
	settings.attrs[settings.nr_attrs++] = arg;
}

static void set_wait(const char *arg, struct argp_state *state)
{
	char *end;
	double seconds = strtod(arg, &end);

	if (end == arg || *end || !(seconds >= 0 && seconds <= WAIT_MAX))
		usage_error(state, "not a number of seconds: %s", arg);
	settings.wait_ms = seconds * 1000;
	settings.may_wait = false;
}

static error_t parse_common(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case KEY_ATTR:
		add_attr(arg, state);
		return 0;
	case 'o':
		if (settings.nr_attrs >= 0 && strchr(arg, '=')) {
			add_attr(arg, state);
			return 0;
		}
		if (strcmp(arg, "json") && strcmp(arg, "text"))
			usage_error(state, "unknown output format: %s", arg);
		settings.json = !strcmp(arg, "json");
		return 0;
	case 'x':
		settings.hex = true;
		return 0;
	case 'n':
		settings.number = true;
		return 0;
	case 'v':
		settings.verbose = true;
		return 0;
	case 'q':
		settings.quiet = true;
		return 0;
	case KEY_SYNC:
		if (strcmp(arg, "media") && strcmp(arg, "process"))
			usage_error(state, "neither media nor process: %s", arg);
		settings.process = !strcmp(arg, "process");
		return 0;
	case KEY_WAIT:
		set_wait(arg, state);
		return 0;
	case KEY_OFFSET:
		settings.offset = parse_size(arg, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void set_start(char *arg, bool after, struct argp_state *state)
{
	if (range.start)
		argp_error(state, "-s and -a exclude each other");
	range.start = arg;
	range.after = after;
}

static void set_bound(char *arg, bool prefix, struct argp_state *state)
{
	if (range.bound)
		argp_error(state, "-b and -p exclude each other");
	range.bound = arg;
	range.prefix = prefix;
}

static error_t parse_range(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case 's':
	case 'a':
		set_start(arg, key == 'a', state);
		return 0;
	case 'b':
	case 'p':
		set_bound(arg, key == 'p', state);
		return 0;
	case 'r':
		range.reverse = true;
		return 0;
	case 'l':
		range.limit = parse_size(arg, state);
		if (!range.limit)
			argp_error(state, "a limit of 0 records");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct {
	unsigned int group;
	struct argp argp;
} groups[] = {
	{ GROUP_RANGE, { .options = range_options, .parser = parse_range } },
	{ GROUP_OUTPUT, { .options = output_options, .parser = parse_common } },
	{ GROUP_KEYS, { .options = key_options, .parser = parse_common } },
	{ GROUP_OFFLINE,
	  { .options = offline_options, .parser = parse_common } },
	{ GROUP_SYNC, { .options = sync_options, .parser = parse_common } },
	{ GROUP_FILE, { .options = wait_options, .parser = parse_common } },
	{ GROUP_ATTRS, { .options = attr_options, .parser = parse_common } },
	{ GROUP_VERBOSE,
	  { .options = verbose_options, .parser = parse_common } },
};

struct parse {
	const struct syntax *syntax;
	char **args;
	unsigned int nr;
};

static error_t parse_own(int key, char *arg, struct argp_state *state)
{
	struct parse *parse = state->input;

	switch (key) {
	case ARGP_KEY_ARGS:
		parse->args = state->argv + state->next;
		parse->nr = state->argc - state->next;
		return 0;
	case ARGP_KEY_END:
		if (parse->nr < parse->syntax->min_args)
			argp_error(state, "too few arguments");
		if (parse->nr > parse->syntax->max_args)
			argp_error(state, "too many arguments");
		return 0;
	}
	return parse->syntax->option ?
	       parse->syntax->option(key, arg, state) : ARGP_ERR_UNKNOWN;
}

/*
 * getopt prints an option that it does not know as it is.  What is written to
 * stderr while arguments are parsed is kept, and shown when that ends, which
 * may be with the program.
 */
static struct {
	FILE *real;
	char *text;
	size_t len;
} held;

static void show_stderr(void)
{
	char *line, *rest, *shown;

	if (!held.real)
		return;
	fclose(stderr);
	stderr = held.real;
	held.real = NULL;
	for (rest = held.text; (line = strsep(&rest, "\n")) && rest;) {
		shown = text_shown(line);
		fprintf(stderr, "%s\n", shown ? shown : "");
		free(shown);
	}
	free(held.text);
}

static void hold_stderr(void)
{
	FILE *out = open_memstream(&held.text, &held.len);

	if (!out || atexit(show_stderr))
		return;
	held.real = stderr;
	stderr = out;
}

int parse_args(const struct syntax *syntax, int argc, char **argv,
	       char ***args)
{
	struct argp_child children[ARRAY_SIZE(groups) + 1] = { };
	struct argp argp = {
		.options = syntax->options,
		.parser = parse_own,
		.args_doc = syntax->args,
		.doc = syntax->doc,
		.children = children,
	};
	struct parse parse = { .syntax = syntax };
	unsigned int i, n = 0;

	for (i = 0; i < ARRAY_SIZE(groups); i++)
		if (syntax->groups & groups[i].group)
			children[n++].argp = &groups[i].argp;
	if (syntax->groups & GROUP_ATTRS)
		settings.nr_attrs = 0;
	settings.may_wait = syntax->groups & GROUP_FILE;
	settings.argc = argc;
	settings.argv = argv;
	argp_err_exit_status = ST_USAGE;
	hold_stderr();
	if (argp_parse(&argp, argc, argv, 0, NULL, &parse))
		exit(ST_USAGE);
	show_stderr();
	*args = parse.args;
	settings.target = parse.nr ? parse.args[0] : "";
	return parse.nr;
}
