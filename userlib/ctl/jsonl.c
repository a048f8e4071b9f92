// SPDX-License-Identifier: GPL-2.0-only
/*
 * A record from a line of JSON: one flat object with a key and a value.
 *
 * json-c reads this, too, but would make one key of two: it clamps numbers,
 * puts U+FFFD in the place of half a surrogate pair, and takes the last of two
 * members of one name.
 */
#include <errno.h>
#include <string.h>

#include "ctl.h"

/* @why: what is wrong, once something is */
struct input {
	const char *at;
	const char *end;
	const char *why;
};

static int wrong(struct input *in, const char *why)
{
	in->why = why;
	return -EINVAL;
}

static void skip_blanks(struct input *in)
{
	while (in->at < in->end && memchr(" \t\r\n", *in->at, 4))
		in->at++;
}

/* Is this the next character that is no blank?  Then it is taken. */
static bool take(struct input *in, char c)
{
	skip_blanks(in);
	if (in->at == in->end || *in->at != c)
		return false;
	in->at++;
	return true;
}

static int read_hex4(struct input *in, uint32_t *val)
{
	struct bytes two = { };
	int err = in->end - in->at < 4 ? -EINVAL :
		  bytes_from_hex(&two, in->at, 4);

	if (!err)
		*val = two.data[0] << 8 | two.data[1];
	bytes_free(&two);
	in->at += 4;
	return err;
}

static void add_utf8(struct bytes *out, uint32_t c)
{
	unsigned char *at = out->data + out->len;

	if (c < 0x80) {
		*at++ = c;
	} else if (c < 0x800) {
		*at++ = 0xc0 | c >> 6;
		*at++ = 0x80 | (c & 0x3f);
	} else {
		if (c < 0x10000) {
			*at++ = 0xe0 | c >> 12;
		} else {
			*at++ = 0xf0 | c >> 18;
			*at++ = 0x80 | (c >> 12 & 0x3f);
		}
		*at++ = 0x80 | (c >> 6 & 0x3f);
		*at++ = 0x80 | (c & 0x3f);
	}
	out->len = at - out->data;
}

/* What follows \u; of two halves of a pair both. */
static int read_unicode(struct input *in, struct bytes *out)
{
	uint32_t c, low;
	int err = read_hex4(in, &c);

	if (err)
		return wrong(in, "bad \\u in a string");
	if (c >= 0xd800 && c < 0xdc00 && in->end - in->at >= 6 &&
	    in->at[0] == '\\' && in->at[1] == 'u') {
		in->at += 2;
		err = read_hex4(in, &low);
		if (err || low < 0xdc00 || low > 0xdfff)
			return wrong(in, "half a surrogate pair in a string");
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	} else if (c >= 0xd800 && c < 0xe000) {
		return wrong(in, "half a surrogate pair in a string");
	}
	add_utf8(out, c);
	return 0;
}

static int read_escape(struct input *in, struct bytes *out)
{
	static const char names[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
	const char *name;

	if (in->at == in->end)
		return wrong(in, "a string without an end");
	if (*in->at == 'u') {
		in->at++;
		return read_unicode(in, out);
	}
	name = memchr(names, *in->at, sizeof(names) - 1);
	if (!name)
		return wrong(in, "bad escape in a string");
	in->at++;
	out->data[out->len++] = bytes[name - names];
	return 0;
}

/* A string is not longer than the text that stands for it. */
static int read_string(struct input *in, struct bytes *out)
{
	unsigned char c;
	int err = 0;

	if (bytes_reserve(out, in->end - in->at))
		return -ENOMEM;
	out->len = 0;
	while (!err && in->at < in->end && *in->at != '"') {
		c = *in->at++;
		if (c < 0x20)
			err = wrong(in, "a control character in a string");
		else if (c == '\\')
			err = read_escape(in, out);
		else
			out->data[out->len++] = c;
	}
	if (err)
		return err;
	if (in->at == in->end)
		return wrong(in, "a string without an end");
	in->at++;
	return bytes_are_utf8(out->data, out->len) ? 0 :
	       wrong(in, "a string that is not UTF-8: use key_hex or value_hex");
}

/* As JSON writes whole numbers: decimal, without zeros in front. */
static int read_number(struct input *in, struct bytes *out)
{
	const char *from = in->at;
	int err = -EINVAL;

	while (in->at < in->end && !memchr(" \t\r\n,}", *in->at, 6))
		in->at++;
	if (in->at - from == 1 || *from != '0')
		err = bytes_from_number(out, from, in->at - from);
	if (err == -EINVAL)
		return wrong(in, "neither a string nor a whole number from 0 on");
	return err == -ERANGE ? wrong(in, "a number of more than 64 bits") : err;
}

static int read_bytes(struct input *in, struct bytes *out, bool hex)
{
	struct bytes text = { };
	int err;

	if (!hex)
		return take(in, '"') ? read_string(in, out) :
		       in->at == in->end ? wrong(in, "an object without an end") :
					   read_number(in, out);
	if (!take(in, '"'))
		return wrong(in, "hexadecimal digits are a string");
	err = read_string(in, &text);
	if (!err)
		err = bytes_from_hex(out, (char *)text.data, text.len);
	if (err == -EINVAL && !in->why)
		wrong(in, "not hexadecimal");
	bytes_free(&text);
	return err;
}

static bool is_called(const struct bytes *name, const char *text)
{
	return name->len == strlen(text) &&
	       !memcmp(name->data, text, name->len);
}

/* @read: bit 0 for the key, bit 1 for the value */
static int read_member(struct input *in, struct bytes *key,
		       struct bytes *value, unsigned int *read)
{
	bool hex, is_value = false;
	struct bytes name = { };
	int err = take(in, '"') ? read_string(in, &name) :
				  wrong(in, "no name of a member");

	if (err)
		goto out;
	hex = is_called(&name, "key_hex") || is_called(&name, "value_hex");
	is_value = is_called(&name, "value") || is_called(&name, "value_hex");
	if (!is_value && !hex && !is_called(&name, "key"))
		err = wrong(in, "a member that is neither key nor value");
	else if (*read & 1U << is_value)
		err = wrong(in, "a key or a value twice");
	else if (!take(in, ':'))
		err = wrong(in, "no colon after the name of a member");
	else
		err = read_bytes(in, is_value ? value : key, hex);
	*read |= 1U << is_value;
out:
	bytes_free(&name);
	return err;
}

static int read_record(struct input *in, struct bytes *key,
		       struct bytes *value)
{
	unsigned int read = 0;
	int err;

	if (!take(in, '{'))
		return wrong(in, "not a JSON object");
	do {
		err = read_member(in, key, value, &read);
		if (err)
			return err;
	} while (take(in, ','));
	if (!take(in, '}'))
		return wrong(in, "an object without an end");
	skip_blanks(in);
	if (in->at < in->end)
		return wrong(in, "something after the object: one on each line");
	if (!(read & 1))
		return wrong(in, "no key");
	return read & 2 ? 0 : wrong(in, "no value");
}

int jsonl_read(const char *line, size_t len, struct bytes *key,
	       struct bytes *value, const char **why)
{
	struct input in = { .at = line, .end = line + len };
	int err = read_record(&in, key, value);

	*why = in.why;
	return err;
}
