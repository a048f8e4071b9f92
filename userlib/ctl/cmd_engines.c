// SPDX-License-Identifier: GPL-2.0-only
/*
 * wort engines: the structures that an index can have.
 */
#include "ctl.h"

static const struct syntax engines_syntax = {
	.args = "",
	.doc = "List the engines, which are the structures that an index can have.\n"
	       "The first is the default.",
	.groups = GROUP_OUTPUT,
};

static json_object *engine_json(const struct image_engine *engine)
{
	json_object *obj = json_object_new_object();

	json_add_str(obj, "name", engine->name);
	json_add_u64(obj, "id", engine->id);
	json_add_bool(obj, "instant_open", engine->instant_open);
	json_add_bool(obj, "mappable", engine->mappable);
	return obj;
}

static void engine_line(const struct image_engine *engine)
{
	printf("%-10s %4u  %s%s\n", engine->name, engine->id,
	       engine->instant_open ? "instant-open " : "",
	       engine->mappable ? "mappable" : "");
}

int cmd_engines(int argc, char **argv)
{
	json_object *array = NULL;
	struct image_engine engine;
	unsigned int nr;
	char **args;

	parse_args(&engines_syntax, argc, argv, &args);
	if (settings.json)
		array = json_object_new_array();
	for (nr = 0; image_engine(nr, &engine); nr++) {
		if (array)
			json_object_array_add(array, engine_json(&engine));
		else
			engine_line(&engine);
	}
	if (array)
		json_print(array);
	return ST_OK;
}
