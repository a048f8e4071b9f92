// SPDX-License-Identifier: GPL-2.0-only
/*
 * Output as JSON.
 */
#include <stdlib.h>
#include <string.h>

#include "ctl.h"

void json_add_u64(json_object *obj, const char *name, uint64_t val)
{
	json_object_object_add(obj, name, json_object_new_uint64(val));
}

void json_add_bool(json_object *obj, const char *name, bool val)
{
	json_object_object_add(obj, name, json_object_new_boolean(val));
}

void json_add_known(json_object *obj, const char *name, uint64_t val)
{
	if (val == WORT_UNKNOWN)
		json_object_object_add(obj, name, NULL);
	else
		json_add_u64(obj, name, val);
}

void json_add_count(json_object *obj, const struct wort_index_info_arg *info)
{
	bool known = info->out_count_time;

	json_add_known(obj, "bytes", known ? info->out_bytes : WORT_UNKNOWN);
	json_add_known(obj, "records", known ? info->out_records : WORT_UNKNOWN);
	json_add_known(obj, "count_time",
		       known ? info->out_count_time : WORT_UNKNOWN);
}

static void add_hex(json_object *obj, const char *name, const void *data,
		    size_t len)
{
	char full[64], *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return;
	put_hex(out, data, len);
	fclose(out);
	snprintf(full, sizeof(full), "%s_hex", name);
	json_object_object_add(obj, full,
			       json_object_new_string_len(text, size));
	free(text);
}

static void add_text(json_object *obj, const char *name, const void *data,
		     size_t len)
{
	if (bytes_are_utf8(data, len))
		json_object_object_add(obj, name,
				       json_object_new_string_len(data, len));
	else
		add_hex(obj, name, data, len);
}

/* Our own words, whatever -x says of keys and values. */
void json_add_str(json_object *obj, const char *name, const char *text)
{
	add_text(obj, name, text, strlen(text));
}

void json_add_bytes(json_object *obj, const char *name, const void *data,
		    size_t len)
{
	if (settings.hex)
		add_hex(obj, name, data, len);
	else
		add_text(obj, name, data, len);
}

static void print(json_object *obj, int flags, FILE *out)
{
	size_t len;
	const char *json = json_object_to_json_string_length(obj, flags |
		JSON_C_TO_STRING_NOSLASHESCAPE, &len);

	put_json(out, json, len);
	json_object_put(obj);
}

void json_print(json_object *obj)
{
	print(obj, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED, stdout);
	putchar('\n');
}

void json_print_line(json_object *obj, FILE *out)
{
	print(obj, JSON_C_TO_STRING_PLAIN, out);
}
