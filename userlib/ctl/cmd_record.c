// SPDX-License-Identifier: GPL-2.0-only
/*
 * wort put, get, del.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"

static struct {
	uint32_t flags;
	const char *file;
} put;

static const struct argp_option put_options[] = {
	{ "create", 'c', NULL, 0, "the key must not be there", 0 },
	{ "replace", 'r', NULL, 0, "the key must be there", 0 },
	{ "file", 'f', "FILE", 0,
	  "take the value from a file, as it is (-: from stdin)", 0 },
	{ }
};

static error_t put_option(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case 'c':
		put.flags |= WORT_INSERT_F_CREATE;
		break;
	case 'r':
		put.flags |= WORT_INSERT_F_REPLACE;
		break;
	case 'f':
		put.file = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	if (put.flags == WORT_INSERT_F_ALL)
		argp_error(state, "-c and -r exclude each other");
	return 0;
}

static const struct syntax put_syntax = {
	.args = "POOL INDEX KEY [VALUE]",
	.doc = "Store a record; without VALUE an empty one. Durable when the command ends.",
	.groups = GROUP_OUTPUT | GROUP_KEYS,
	.min_args = 3,
	.max_args = 4,
	.options = put_options,
	.option = put_option,
};

static int value_from_file(struct bytes *value, const char *path)
{
	FILE *file = strcmp(path, "-") ? fopen(path, "r") : stdin;
	int err;

	if (!file)
		return -errno;
	value->size = WORT_VALUE_MAX + 1;
	value->data = malloc(value->size);
	if (!value->data)
		return -ENOMEM;
	errno = 0;
	value->len = fread(value->data, 1, value->size, file);
	err = ferror(file) ? -errno : 0;
	if (!err && value->len > WORT_VALUE_MAX)
		err = -EMSGSIZE;
	if (file != stdin)
		fclose(file);
	return err;
}

static int put_value_of(int nr, char **args, struct bytes *value)
{
	int err;

	if (put.file && nr == 4) {
		complain("a VALUE and -f exclude each other");
		return ST_USAGE;
	}
	if (put.file) {
		err = value_from_file(value, put.file);
		return err ? complain("%s: %s", put.file, strerror(-err)) : 0;
	}
	value_from_arg(value, nr == 4 ? args[3] : "");
	return 0;
}

/* What became of a change, for json. */
static json_object *change_json(const struct bytes *key, bool done)
{
	json_object *obj = json_object_new_object();

	json_add_key(obj, key->data, key->len);
	json_add_bool(obj, "done", done);
	return obj;
}

/* Nothing in text. */
static void show_put(const struct bytes *key, const struct bytes *value,
		     bool done)
{
	json_object *obj;

	if (!settings.json)
		return;
	obj = change_json(key, done);
	json_add_u64(obj, "value_len", value->len);
	json_print(obj);
}

int cmd_put(int argc, char **argv)
{
	struct bytes key = { }, value = { };
	struct wort_index *index;
	char **args;
	int nr, err;

	nr = parse_args(&put_syntax, argc, argv, &args);
	key_from_arg(&key, args[2]);
	err = put_value_of(nr, args, &value);
	if (!err)
		err = open_index(args[0], args[1], true, &index);
	if (!err) {
		err = wort_put(index, key.data, key.len, value.data, value.len,
			       put.flags);
		show_put(&key, &value, !err);
		err = err ? fail(args[2], err) : 0;
		wort_index_close(index);
	}
	bytes_free(&key);
	bytes_free(&value);
	return err;
}

static bool get_raw;

static const struct argp_option get_options[] = {
	{ "raw", 'r', NULL, 0, "the bytes of the value and nothing else", 0 },
	{ }
};

static error_t get_option(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	(void)state;
	if (key != 'r')
		return ARGP_ERR_UNKNOWN;
	get_raw = true;
	return 0;
}

static const struct syntax get_syntax = {
	.args = "POOL|IMAGE INDEX KEY",
	.doc = "Print the value of a key.",
	.groups = GROUP_OUTPUT | GROUP_KEYS | GROUP_OFFLINE,
	.min_args = 3,
	.max_args = 3,
	.options = get_options,
	.option = get_option,
};

static void show_value(const struct bytes *key, const struct bytes *value)
{
	json_object *obj;

	if (get_raw) {
		fwrite(value->data, 1, value->len, stdout);
		return;
	}
	if (!settings.json) {
		put_value(stdout, value->data, value->len);
		putchar('\n');
		return;
	}
	obj = json_object_new_object();
	json_add_key(obj, key->data, key->len);
	json_add_value(obj, value->data, value->len);
	json_print(obj);
}

int cmd_get(int argc, char **argv)
{
	struct bytes key = { }, value = { };
	struct reader reader;
	struct source src;
	char **args;
	int err;

	parse_args(&get_syntax, argc, argv, &args);
	key_from_arg(&key, args[2]);
	err = source_open(args[0], false, &src);
	if (err)
		return err;
	err = reader_open(&src, args[1], &reader);
	if (!err) {
		err = reader_get(&reader, &key, &value);
		if (err)
			err = fail(args[2], err);
		else
			show_value(&key, &value);
		reader_close(&reader);
	}
	source_close(&src);
	bytes_free(&key);
	bytes_free(&value);
	return err;
}

static const struct syntax del_syntax = {
	.args = "POOL INDEX KEY...",
	.doc = "Remove records. Durable when the command ends.",
	.groups = GROUP_OUTPUT | GROUP_KEYS,
	.min_args = 3,
	.max_args = UINT_MAX,
};

int cmd_del(int argc, char **argv)
{
	struct wort_index *index;
	json_object *array = NULL;
	int i, nr, err, status;
	struct bytes key = { };
	char **args;

	nr = parse_args(&del_syntax, argc, argv, &args);
	status = open_index(args[0], args[1], true, &index);
	if (status)
		return status;
	if (settings.json)
		array = json_object_new_array();
	for (i = 2; i < nr; i++) {
		key_from_arg(&key, args[i]);
		err = wort_del(index, key.data, key.len);
		if (array)
			json_object_array_add(array, change_json(&key, !err));
		if (err)
			status = fail(args[i], err);
		if (err && err != -ENOENT)
			break;
	}
	wort_index_close(index);
	bytes_free(&key);
	if (array)
		json_print(array);
	return status;
}
