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

int field_read(struct bytes *bytes, const char *text, size_t len)
{
	return settings.hex ? bytes_from_hex(bytes, text, len) :
			      bytes_unescape(bytes, text, len);
}

int key_read(struct bytes *key, const char *text, size_t len)
{
	if (!settings.number)
		return field_read(key, text, len);
	if (len >= 2 && text[0] == '"' && text[len - 1] == '"')
		return field_read(key, text + 1, len - 2);
	return bytes_from_number(key, text, len);
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
	err = key_read(key, line, tab - line);
	if (err)
		return err;
	*why = "bad value";
	return field_read(value, tab + 1, len - (tab + 1 - line));
}

/*
 * What a writer of lines would not have written: a line that was cut off may
 * be a record, but another one than was meant.
 */
const char *line_verify(const char *line, size_t len)
{
	if (!len || line[len - 1] != '\n')
		return "no newline at its end: cut off?";
	if (len > 1 && line[len - 2] == '\r')
		return "ends in CR LF: tr -d '\\r' makes it plain, \\r names a byte that is meant";
	return NULL;
}

int format_read(enum format format, const char *line, size_t len,
		struct bytes *key, struct bytes *value, const char **why)
{
	int err;

	*why = format == FORMAT_JSONL ? NULL : line_verify(line, len);
	if (*why)
		return -EINVAL;
	if (len && line[len - 1] == '\n')
		len--;
	if (format == FORMAT_JSONL) {
		err = jsonl_read(line, len, key, value, why);
	} else if (format == FORMAT_TSV) {
		err = read_tsv(line, len, key, value, why);
	} else {
		*why = "bad key";
		value->len = 0;
		err = key_read(key, line, len);
	}
	if (err == -ERANGE)
		*why = "bad key: a number of more than 64 bits";
	else if (!err && !key->len)
		*why = "empty key";
	else
		return err;
	return -EINVAL;
}
