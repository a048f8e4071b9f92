// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bytes and records of the indexes of a pool, as they were last counted.
 */
#include "ctl.h"

void sizes_columns(const struct wort_index_info_arg *info)
{
	if (info->out_count_time)
		printf("%12llu %10llu  ", ull(info->out_bytes),
		       ull(info->out_records));
	else
		printf("%12s %10s  ", "-", "-");
}

/* The first line is preceded by the heads of the columns. */
static void size_line(struct source *src, const struct wort_index_record *rec,
		      void *headed)
{
	struct wort_index_info_arg info;

	if (!*(bool *)headed)
		printf("%12s %10s  index, as the last walk or check counted it\n",
		       "bytes", "records");
	*(bool *)headed = true;
	source_counted(src, rec, &info);
	sizes_columns(&info);
	put_escaped(stdout, rec->name, rec->name_len);
	putchar('\n');
}

static void size_object(struct source *src,
			const struct wort_index_record *rec, void *array)
{
	json_object *obj = json_object_new_object();
	struct wort_index_info_arg info;

	source_counted(src, rec, &info);
	json_add_bytes(obj, "name", rec->name, rec->name_len);
	json_add_u64(obj, "id", rec->id);
	json_add_count(obj, &info);
	json_object_array_add(array, obj);
}

int sizes_text(struct source *src)
{
	bool headed = false;

	return source_each(src, size_line, &headed);
}

int sizes_json(struct source *src, json_object *obj)
{
	json_object *array = json_object_new_array();

	json_object_object_add(obj, "sizes", array);
	return source_each(src, size_object, array);
}
