// SPDX-License-Identifier: GPL-2.0-only
/*
 * wort put, cas, get, del.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"

static unsigned char old_value[WORT_VALUE_MAX];

static struct wort_old old = { .buf = old_value, .size = sizeof(old_value) };

/* The option that asks for it. */
#define OLD_OPTION \
	{ "old", 'O', NULL, 0, "print the value that was there, if any", 0 }

static bool old_wanted;

static struct wort_old *old_if_wanted(void)
{
	return old_wanted ? &old : NULL;
}

static void show_old(void)
{
	if (settings.json || !old_wanted || !old.found)
		return;
	put_value(stdout, old.buf, old.len);
	putchar('\n');
}

static struct {
	uint32_t flags;
	const char *file;
} put;

static const struct argp_option put_options[] = {
	{ "create", 'c', NULL, 0, "the key must not be there", 0 },
	{ "replace", 'r', NULL, 0, "the key must be there", 0 },
	{ "file", 'f', "FILE", 0,
	  "take the value from a file, as it is (-: from stdin)", 0 },
	OLD_OPTION,
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
	case 'O':
		old_wanted = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	if (put.flags == (WORT_INSERT_F_CREATE | WORT_INSERT_F_REPLACE))
		argp_error(state, "-c and -r exclude each other");
	return 0;
}

static const struct syntax put_syntax = {
	.args = "POOL INDEX KEY [VALUE]",
	.doc = "Store a record; without VALUE an empty one. Durable when the command ends.",
	.groups = GROUP_OUTPUT | GROUP_KEYS | GROUP_SYNC,
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
		if (err == -EMSGSIZE)
			return fail(put.file, err);
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
	if (old_wanted && old.found)
		json_add_bytes(obj, "old", old.buf, old.len);
	return obj;
}

/* In text only the value that was there, if it was asked for. */
static void show_put(const struct bytes *key, const struct bytes *value,
		     bool done)
{
	json_object *obj;

	show_old();
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
		err = wort_put_fetch(index, key.data, key.len, value.data,
				     value.len, put.flags, old_if_wanted());
		show_put(&key, &value, !err);
		err = err ? fail(args[2], err) : 0;
		wort_index_close(index);
	}
	bytes_free(&key);
	bytes_free(&value);
	return err;
}

static const struct argp_option cas_options[] = {
	OLD_OPTION,
	{ }
};

static error_t cas_option(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	(void)state;
	if (key != 'O')
		return ARGP_ERR_UNKNOWN;
	old_wanted = true;
	return 0;
}

static const struct syntax cas_syntax = {
	.args = "POOL INDEX KEY EXPECTED VALUE",
	.doc = "Replace a value if it is the one expected. Durable when the command ends.",
	.groups = GROUP_OUTPUT | GROUP_KEYS | GROUP_SYNC,
	.min_args = 5,
	.max_args = 5,
	.options = cas_options,
	.option = cas_option,
};

int cmd_cas(int argc, char **argv)
{
	struct bytes key = { }, expect = { }, value = { };
	struct wort_index *index;
	char **args;
	int err;

	parse_args(&cas_syntax, argc, argv, &args);
	key_from_arg(&key, args[2]);
	value_from_arg(&expect, args[3]);
	value_from_arg(&value, args[4]);
	err = open_index(args[0], args[1], true, &index);
	if (!err) {
		err = wort_cas(index, key.data, key.len, expect.data,
			       expect.len, value.data, value.len,
			       old_if_wanted());
		show_put(&key, &value, !err);
		err = err ? fail(args[2], err) : 0;
		wort_index_close(index);
	}
	bytes_free(&key);
	bytes_free(&expect);
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

static const char *del_expect;

static const struct argp_option del_options[] = {
	{ "expect", 'e', "VALUE", 0, "only records that have this value", 0 },
	OLD_OPTION,
	{ }
};

static error_t del_option(int key, char *arg, struct argp_state *state)
{
	(void)state;
	if (key == 'e')
		del_expect = arg;
	else if (key == 'O')
		old_wanted = true;
	else
		return ARGP_ERR_UNKNOWN;
	return 0;
}

static const struct syntax del_syntax = {
	.args = "POOL INDEX KEY...",
	.doc = "Remove records. Durable when the command ends.",
	.groups = GROUP_OUTPUT | GROUP_KEYS | GROUP_SYNC,
	.min_args = 3,
	.max_args = UINT_MAX,
	.options = del_options,
	.option = del_option,
};

/* An empty value that is expected is a pointer, too. */
static int del_one(struct wort_index *index, const struct bytes *key,
		   const struct bytes *expect)
{
	const void *data = expect->len ? (const void *)expect->data : "";
	int err;

	err = wort_del_if(index, key->data, key->len, del_expect ? data : NULL,
			  expect->len, old_if_wanted());
	show_old();
	return err;
}

int cmd_del(int argc, char **argv)
{
	struct wort_index *index;
	json_object *array = NULL;
	int i, nr, err, status;
	struct bytes key = { }, expect = { };
	char **args;

	nr = parse_args(&del_syntax, argc, argv, &args);
	/* A key that is wrong ends the command before anything is done. */
	for (i = 2; i < nr; i++)
		key_from_arg(&key, args[i]);
	if (del_expect)
		value_from_arg(&expect, del_expect);
	status = open_index(args[0], args[1], true, &index);
	if (status)
		return status;
	if (settings.json)
		array = json_object_new_array();
	for (i = 2; i < nr; i++) {
		key_from_arg(&key, args[i]);
		err = del_one(index, &key, &expect);
		if (array)
			json_object_array_add(array, change_json(&key, !err));
		if (err)
			status = fail(args[i], err);
		if (err && err != -ENOENT && err != -ECANCELED)
			break;
	}
	wort_index_close(index);
	bytes_free(&key);
	bytes_free(&expect);
	if (array)
		json_print(array);
	return status;
}
