// SPDX-License-Identifier: GPL-2.0-only
/*
 * wort create, rename, destroy.
 */
#include <errno.h>
#include <fcntl.h>

#include "ctl.h"

static struct {
	uint32_t engine;
	bool keep;
} create;

static const struct argp_option create_options[] = {
	{ "engine", 'e', "NAME", 0, "structure of the index (default: wort)",
	  0 },
	{ "keep", 'k', NULL, 0, "content if the index exists", 0 },
	{ }
};

static error_t create_option(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case 'e':
		if (engine_by_name(arg, &create.engine))
			usage_error(state, "unknown engine: %s", arg);
		return 0;
	case 'k':
		create.keep = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct syntax create_syntax = {
	.args = "POOL INDEX",
	.doc = "Make an index.",
	.groups = GROUP_OUTPUT | GROUP_ATTRS | GROUP_SYNC,
	.min_args = 2,
	.max_args = 2,
	.options = create_options,
	.option = create_option,
};

/* What was made, or was there; nothing in text. */
static int show_index(struct wort_index *index)
{
	struct wort_index_info_arg info = { .size = sizeof(info) };
	json_object *obj;
	char buf[16];
	int err;

	if (!settings.json)
		return 0;
	err = wort_index_info(index, &info);
	if (err)
		return err;
	if (info.out_name_len > WORT_NAME_MAX)
		return -EBADMSG;
	obj = json_object_new_object();
	json_add_bytes(obj, "name", info.out_name, info.out_name_len);
	json_add_u64(obj, "id", info.out_id);
	json_add_str(obj, "engine",
		     engine_name(info.out_engine, buf, sizeof(buf)));
	json_print(obj);
	return 0;
}

int cmd_create(int argc, char **argv)
{
	struct wort_index_opts opts = { .sz = sizeof(opts) };
	struct wort_index *index;
	struct wort_pool *pool;
	char **args;
	int err;

	parse_args(&create_syntax, argc, argv, &args);
	opts.flags = WORT_INDEX_OPEN_F_CREATE |
		     (create.keep ? 0 : WORT_INDEX_OPEN_F_EXCL);
	opts.engine = create.engine;
	if (!*args[1]) {
		complain("the name of an index has at least one byte");
		return ST_USAGE;
	}
	err = attrs_read(create.engine, &opts.attr);
	if (!err)
		err = open_pool(args[0], O_RDWR, &pool);
	if (err)
		return err;
	err = wort_index_open(pool, args[1], &opts, &index);
	wort_pool_close(pool);
	if (err)
		return fail(args[1], err);
	err = show_index(index);
	wort_index_close(index);
	return err ? fail(args[1], err) : ST_OK;
}

static const struct syntax rename_syntax = {
	.args = "POOL INDEX NAME",
	.doc = "Give an index another name; its records stay as they are.",
	.groups = GROUP_OUTPUT | GROUP_SYNC,
	.min_args = 3,
	.max_args = 3,
};

static int show_renamed(const char *before, const char *name)
{
	json_object *obj;

	if (!settings.json)
		return ST_OK;
	obj = json_object_new_object();
	json_add_str(obj, "name", name);
	json_add_str(obj, "former_name", before);
	json_print(obj);
	return ST_OK;
}

int cmd_rename(int argc, char **argv)
{
	struct wort_pool *pool;
	char **args;
	int err;

	parse_args(&rename_syntax, argc, argv, &args);
	if (!*args[2]) {
		complain("the name of an index has at least one byte");
		return ST_USAGE;
	}
	err = open_pool(args[0], O_RDWR, &pool);
	if (err)
		return err;
	err = wort_pool_rename(pool, args[1], args[2]);
	wort_pool_close(pool);
	if (err == -ENOENT) {
		complain("%s: no such index", args[1]);
		return ST_NOTHING;
	}
	if (err == -EEXIST) {
		complain("%s: an index has this name already", args[2]);
		return ST_REFUSED;
	}
	if (err)
		return fail(args[err == -EMSGSIZE ? 2 : 1], err);
	return show_renamed(args[1], args[2]);
}

static const struct syntax destroy_syntax = {
	.args = "POOL INDEX",
	.doc = "Drop an index with all its records; its space is given back in the background.",
	.groups = GROUP_OUTPUT | GROUP_SYNC,
	.min_args = 2,
	.max_args = 2,
};

int cmd_destroy(int argc, char **argv)
{
	struct wort_pool *pool;
	json_object *obj;
	char **args;
	int err;

	parse_args(&destroy_syntax, argc, argv, &args);
	err = open_pool(args[0], O_RDWR, &pool);
	if (err)
		return err;
	err = wort_pool_destroy(pool, args[1]);
	wort_pool_close(pool);
	if (err == -ENOENT) {
		complain("%s: no such index", args[1]);
		return ST_NOTHING;
	}
	if (err)
		return fail(args[1], err);
	if (settings.json) {
		obj = json_object_new_object();
		json_add_str(obj, "name", args[1]);
		json_print(obj);
	}
	return ST_OK;
}
