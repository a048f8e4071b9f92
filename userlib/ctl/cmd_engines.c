// SPDX-License-Identifier: GPL-2.0-only
/*
 * wort engines: the structures that an index can have.
 */
#include <string.h>

#include <linux/wort_engines.h>

#include "ctl.h"

static const struct syntax engines_syntax = {
	.args = "",
	.doc = "List the engines, which are the structures that an index can have, and\n"
	       "below each its attributes. The first is the default.",
	.groups = GROUP_OUTPUT,
};

static const struct {
	uint32_t bit;
	const char *text;
	const char *member;
} traits[] = {
	{ WORT_TRAIT_INSTANT_OPEN, "instant-open", "instant_open" },
	{ WORT_TRAIT_MAPPABLE, "mappable", "mappable" },
	{ WORT_TRAIT_ORDERED, "ordered", "ordered" },
	{ WORT_TRAIT_READERS_LOCK, "readers-lock", "readers_lock" },
	{ WORT_TRAIT_DELETE_SPACE, "delete-needs-space", "delete_needs_space" },
	{ WORT_TRAIT_BATCH_SHARED, "batch-shares-fences", "batch_shares_fences" },
};

static json_object *values_json(const char *values)
{
	json_object *array = json_object_new_array();
	size_t len;

	for (; *values; values += len + (values[len] == ' ')) {
		len = strcspn(values, " ");
		json_object_array_add(array,
				      json_object_new_string_len(values, len));
	}
	return array;
}

static json_object *attr_json(const struct wort_attr *attr)
{
	json_object *obj = json_object_new_object();

	json_add_str(obj, "name", attr->name);
	if (attr->values)
		json_object_object_add(obj, "values", values_json(attr->values));
	json_add_u64(obj, "min", attr->min);
	json_add_u64(obj, "max", attr->max);
	json_add_u64(obj, "step", attr->unit);
	json_add_u64(obj, "default", attr->def);
	return obj;
}

static json_object *engine_json(const struct wort_engine *engine)
{
	json_object *obj = json_object_new_object();
	json_object *attrs = json_object_new_array();
	const struct wort_attr *attr;
	unsigned int i;

	json_add_str(obj, "name", engine->name);
	json_add_u64(obj, "id", engine->id);
	for (i = 0; i < ARRAY_SIZE(traits); i++)
		json_add_bool(obj, traits[i].member,
			      engine->traits & traits[i].bit);
	for (i = 0; (attr = wort_engine_attr(engine->id, i)); i++)
		json_object_array_add(attrs, attr_json(attr));
	json_object_object_add(obj, "attributes", attrs);
	return obj;
}

static void attr_line(const struct wort_attr *attr)
{
	const char *at = attr->values;
	uint64_t nr;

	printf("           %s=", attr->name);
	if (!at) {
		printf("%llu..%llu in steps of %llu, default %llu\n",
		       ull(attr->min), ull(attr->max), ull(attr->unit),
		       ull(attr->def));
		return;
	}
	for (nr = attr->min; nr < attr->def && (at = strchr(at, ' ')); nr++)
		at++;
	printf("%s, default %.*s\n", attr->values,
	       at ? (int)strcspn(at, " ") : 0, at ? at : "");
}

static void engine_line(const struct wort_engine *engine)
{
	const struct wort_attr *attr;
	const char *space = "  ";
	unsigned int i;

	printf("%-10s %4u", engine->name, engine->id);
	for (i = 0; i < ARRAY_SIZE(traits); i++)
		if (engine->traits & traits[i].bit) {
			printf("%s%s", space, traits[i].text);
			space = " ";
		}
	putchar('\n');
	for (i = 0; (attr = wort_engine_attr(engine->id, i)); i++)
		attr_line(attr);
}

int cmd_engines(int argc, char **argv)
{
	const struct wort_engine *engine;
	json_object *array = NULL;
	unsigned int nr;
	char **args;

	parse_args(&engines_syntax, argc, argv, &args);
	if (settings.json)
		array = json_object_new_array();
	for (nr = 0; (engine = wort_engine(nr)); nr++) {
		if (array)
			json_object_array_add(array, engine_json(engine));
		else
			engine_line(engine);
	}
	if (array)
		json_print(array);
	return ST_OK;
}
