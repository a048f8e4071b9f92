// SPDX-License-Identifier: GPL-2.0-only
/*
 * wort grow: let a pool in a plain file take in more of it.
 */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "ctl.h"

static uint64_t size;

static const struct argp_option grow_options[] = {
	{ "size", 's', "SIZE", 0,
	  "size of the file from now on (default: the size that it has)", 0 },
	{ }
};

static error_t grow_option(int key, char *arg, struct argp_state *state)
{
	if (key != 's')
		return ARGP_ERR_UNKNOWN;
	size = parse_size(arg, state);
	if (!size)
		argp_error(state, "a size of 0 bytes");
	return 0;
}

static const struct syntax grow_syntax = {
	.args = "FILE",
	.doc = "Let the pool in a plain file take in what the file has gained, or with -s\n"
	       "let the file grow first. A pool on a device does that as it is attached.",
	.groups = GROUP_OUTPUT | GROUP_SYNC,
	.min_args = 1,
	.max_args = 1,
	.options = grow_options,
	.option = grow_option,
};

/* A status, or 0. */
static int refuse_device(const char *name, const struct pool_place *place)
{
	struct stat st;

	if (!place->attached && (stat(place->path, &st) || !S_ISBLK(st.st_mode)))
		return 0;
	complain("%s: a pool on a device grows as it is attached", name);
	if (place->attached)
		mend("wort detach %u; wort attach --grow DEVICE", place->minor);
	else
		mend("wort attach --grow %s", shell_word(name));
	return ST_REFUSED;
}

/* A status, or 0. */
static int find_file(const char *name, struct pool_place *place)
{
	int err = find_pool(name, place);

	if (err)
		return no_pool(name, err);
	err = refuse_device(name, place);
	if (err)
		return err;
	return is_file_pool(place->path) ? 0 : not_attached(name);
}

static int grow_failed(const char *path, int err)
{
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "%s", path);
	if (err == -ERANGE) {
		complain("%s: the file is larger, and gets no smaller", path);
		name_errno(err);
		mend("wort grow %s    # the pool takes in all of it", shell_word(path));
		return ST_REFUSED;
	}
	if (err == -ENOSPC) {
		complain("%s: the filesystem has less space than that", path);
		name_errno(err);
		mend("df %s", shell_word(dirname(folder)));
		return ST_REFUSED;
	}
	return err == -ENODATA ? no_pool_in_file(path) : file_failed(path, err);
}

static void show_growth(const char *path, uint64_t before, uint64_t now)
{
	json_object *obj;

	if (!settings.json) {
		printf("%llu bytes, %llu before\n", ull(now), ull(before));
		return;
	}
	obj = json_object_new_object();
	json_add_str(obj, "pool", path);
	json_add_u64(obj, "size", now);
	json_add_u64(obj, "former_size", before);
	json_print(obj);
}

int cmd_grow(int argc, char **argv)
{
	struct wort_pool_opts opts;
	struct pool_place place;
	uint64_t former, now;
	char **args;
	int err;

	parse_args(&grow_syntax, argc, argv, &args);
	err = find_file(args[0], &place);
	if (err)
		return err;
	opts = file_pool_opts();
	err = wort_grow_file(place.path, size, &opts, &former, &now);
	if (err)
		return grow_failed(place.path, err);
	show_growth(place.path, former, now);
	return ST_OK;
}
