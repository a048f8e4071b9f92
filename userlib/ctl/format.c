// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records as lines of text.
 */
#include <errno.h>
#include <string.h>

#include "ctl.h"

int format_by_name(const char *name, enum format *format)
{
	static const char *const names[] = {
		[FORMAT_TSV] = "tsv",
		[FORMAT_JSONL] = "jsonl",
		[FORMAT_LINES] = "lines",
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i])) {
			*format = i;
			return 0;
		}
	return -ENOENT;
}

void format_write(FILE *out, enum format format,
		  const struct wort_scan_item *item)
{
	json_object *obj;

	if (format == FORMAT_JSONL) {
		obj = json_object_new_object();
		json_add_key(obj, item->key, item->key_len);
		if (item->value)
			json_add_value(obj, item->value, item->value_len);
		json_print_line(obj, out);
	} else {
		put_key(out, item->key, item->key_len);
		if (format == FORMAT_TSV && item->value) {
			putc_unlocked('\t', out);
			put_value(out, item->value, item->value_len);
		}
	}
	putc_unlocked('\n', out);
}

static int read_field(struct bytes *bytes, const char *text, size_t len)
{
	return settings.hex ? bytes_from_hex(bytes, text, len) :
			      bytes_unescape(bytes, text, len);
}

static int read_key(struct bytes *key, const char *text, size_t len)
{
	char number[32];

	if (!settings.number)
		return read_field(key, text, len);
	if (len >= sizeof(number))
		return -EINVAL;
	memcpy(number, text, len);
	number[len] = 0;
	return bytes_from_number(key, number);
}

static int read_tsv(const char *line, size_t len, struct bytes *key,
		    struct bytes *value, const char **why)
{
	const char *tab = memchr(line, '\t', len);
	int err;

	*why = "no tab between key and value";
	if (!tab)
		return -EINVAL;
	*why = "bad key";
	err = read_key(key, line, tab - line);
	if (err)
		return err;
	*why = "bad value";
	return read_field(value, tab + 1, len - (tab + 1 - line));
}

/* Member @name as a string of bytes, or <name>_hex, or a number. */
static int read_member(json_object *obj, const char *name, struct bytes *bytes)
{
	json_object *member;
	char full[16];

	snprintf(full, sizeof(full), "%s_hex", name);
	if (json_object_object_get_ex(obj, full, &member) &&
	    json_object_is_type(member, json_type_string))
		return bytes_from_hex(bytes, json_object_get_string(member),
				      json_object_get_string_len(member));
	if (!json_object_object_get_ex(obj, name, &member))
		return -ENOENT;
	if (json_object_is_type(member, json_type_int))
		return bytes_from_number(bytes, json_object_get_string(member));
	if (!json_object_is_type(member, json_type_string))
		return -EINVAL;
	return bytes_set(bytes, json_object_get_string(member),
			 json_object_get_string_len(member));
}

static int read_object(json_object *obj, struct bytes *key,
		       struct bytes *value, const char **why)
{
	int err;

	*why = "bad or no \"key\" or \"key_hex\"";
	err = read_member(obj, "key", key);
	if (err)
		return -EINVAL;
	*why = "bad \"value\" or \"value_hex\"";
	err = read_member(obj, "value", value);
	if (err != -ENOENT)
		return err;
	value->len = 0;
	return 0;
}

static int read_jsonl(const char *line, size_t len, struct bytes *key,
		      struct bytes *value, const char **why)
{
	json_tokener *tok = json_tokener_new();
	json_object *obj;
	int err = -EINVAL;

	if (!tok)
		return -ENOMEM;
	obj = json_tokener_parse_ex(tok, line, len);
	*why = "not a JSON object on one line";
	if (obj && json_object_is_type(obj, json_type_object))
		err = read_object(obj, key, value, why);
	json_object_put(obj);
	json_tokener_free(tok);
	return err;
}

int format_read(enum format format, const char *line, size_t len,
		struct bytes *key, struct bytes *value, const char **why)
{
	int err;

	if (format == FORMAT_JSONL) {
		err = read_jsonl(line, len, key, value, why);
	} else if (format == FORMAT_TSV) {
		err = read_tsv(line, len, key, value, why);
	} else {
		*why = "bad key";
		value->len = 0;
		err = read_key(key, line, len);
	}
	if (err || key->len)
		return err;
	*why = "empty key";
	return -EINVAL;
}
