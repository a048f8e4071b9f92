// SPDX-License-Identifier: GPL-2.0-only
/*
 * wort list: pools, or the indexes of a pool.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"

static bool sizes;

static const struct argp_option list_options[] = {
	{ "long", 'l', NULL, 0,
	  "of each index also bytes and records, as the last walk or check has counted them",
	  0 },
	{ }
};

static error_t list_option(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	(void)state;
	if (key != 'l')
		return ARGP_ERR_UNKNOWN;
	sizes = true;
	return 0;
}

static const struct syntax list_syntax = {
	.args = "[POOL|IMAGE]",
	.doc = "List attached pools, or the indexes of a pool.",
	.groups = GROUP_OUTPUT | GROUP_OFFLINE,
	.max_args = 1,
	.options = list_options,
	.option = list_option,
};

static const char *state_text(uint32_t state)
{
	if (state & WORT_STATE_DEAD)
		return "dead";
	if (state & WORT_STATE_DAMAGED)
		return "damaged";
	if (state & WORT_STATE_READONLY)
		return "read-only";
	if (state & WORT_STATE_INDEX_DAMAGED)
		return "index-damaged";
	if (state & WORT_STATE_UNKNOWN)
		return "unknown";
	return state & WORT_STATE_WALKING ? "walking" : "ok";
}

static json_object *pool_json(const struct wort_pool_record *rec,
			      const char *uuid)
{
	json_object *obj = json_object_new_object();
	char path[32];

	snprintf(path, sizeof(path), "/dev/wort%u", rec->minor);
	json_add_str(obj, "pool", path);
	json_add_u64(obj, "minor", rec->minor);
	json_add_bytes(obj, "device", rec->device,
		       strnlen((const char *)rec->device, sizeof(rec->device)));
	json_add_u64(obj, "size", rec->pool_size);
	json_add_str(obj, "state", state_text(rec->state));
	json_add_str(obj, "uuid", uuid);
	json_add_bytes(obj, "label", rec->label,
		       strnlen((const char *)rec->label, WORT_LABEL_LEN));
	return obj;
}

static void pool_line(const struct wort_pool_record *rec, const char *uuid)
{
	/* The name of a block device, which the kernel chose. */
	printf("wort%-4u %-10.32s %10llu MiB  %-8s %s  ", rec->minor,
	       (const char *)rec->device, ull(rec->pool_size >> 20),
	       state_text(rec->state), uuid);
	put_escaped(stdout, rec->label,
		    strnlen((const char *)rec->label, WORT_LABEL_LEN));
	putchar('\n');
}

static int show_pools(void)
{
	struct wort_pool_record *records;
	json_object *array = NULL;
	char uuid[UUID_TEXT];
	int i, nr;

	nr = list_pools(&records);
	if (no_module(nr))
		return complain_no_module();
	if (nr < 0)
		return fail("/dev/wort-control", nr);
	if (settings.json)
		array = json_object_new_array();
	for (i = 0; i < nr; i++) {
		uuid_to_text(records[i].uuid, uuid);
		if (array)
			json_object_array_add(array,
					      pool_json(&records[i], uuid));
		else
			pool_line(&records[i], uuid);
	}
	if (array)
		json_print(array);
	free(records);
	return ST_OK;
}

static json_object *index_json(const struct wort_index_record *rec,
			       const char *engine,
			       const struct wort_index_info_arg *info)
{
	json_object *obj = json_object_new_object();

	json_add_bytes(obj, "name", rec->name, rec->name_len);
	json_add_u64(obj, "id", rec->id);
	json_add_str(obj, "engine", engine);
	json_add_str(obj, "state", state_text(rec->state));
	if (sizes)
		json_add_count(obj, info);
	return obj;
}

static void show_index(struct source *src, const struct wort_index_record *rec,
		       void *array)
{
	struct wort_index_info_arg info;
	char buf[16];
	const char *engine = engine_name(rec->engine, buf, sizeof(buf));

	if (sizes)
		source_counted(src, rec, &info);
	if (array) {
		json_object_array_add(array, index_json(rec, engine, &info));
		return;
	}
	printf("%8llu  %-8s %-8s ", ull(rec->id), engine,
	       state_text(rec->state));
	if (sizes)
		sizes_columns(&info);
	put_escaped(stdout, rec->name, rec->name_len);
	putchar('\n');
}

int cmd_list(int argc, char **argv)
{
	json_object *array = NULL;
	struct source src;
	char **args;
	int err;

	if (!parse_args(&list_syntax, argc, argv, &args))
		return show_pools();
	err = source_open_to_dump(args[0], &src);
	if (err)
		return err;
	if (settings.json)
		array = json_object_new_array();
	err = source_each(&src, show_index, array) ?: source_verify_list(&src);
	if (array)
		json_print(array);
	source_close(&src);
	return err ? fail(args[0], err) : ST_OK;
}
