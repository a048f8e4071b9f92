// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keys and values as text.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"

int bytes_reserve(struct bytes *bytes, size_t size)
{
	unsigned char *data;

	/* Room for one more, so that nothing is never a null pointer. */
	if (size < bytes->size)
		return 0;
	size += size / 2 + 64;
	data = realloc(bytes->data, size);
	if (!data)
		return -ENOMEM;
	bytes->data = data;
	bytes->size = size;
	return 0;
}

int bytes_set(struct bytes *bytes, const void *data, size_t len)
{
	if (bytes_reserve(bytes, len))
		return -ENOMEM;
	if (len)
		memcpy(bytes->data, data, len);
	bytes->len = len;
	return 0;
}

/* Two values of which each byte is written as six, and a key. */
#define LINE_LONGEST	(1 << 20)

static int line_grow(char **line, size_t *size)
{
	size_t more = *size ? 2 * *size : 256;
	char *grown = realloc(*line, more);

	if (!grown)
		return -1;
	*line = grown;
	*size = more;
	return 0;
}

ssize_t line_read(char **line, size_t *size, FILE *in)
{
	size_t len = 0;
	int c;

	errno = 0;
	do {
		if (len + 1 >= *size && line_grow(line, size))
			return -1;
		c = getc_unlocked(in);
		if (c != EOF)
			(*line)[len++] = c;
		if (len > LINE_LONGEST) {
			errno = EMSGSIZE;
			return -1;
		}
	} while (c != EOF && c != '\n');
	(*line)[len] = '\0';
	return len && !ferror(in) ? (ssize_t)len : -1;
}

void bytes_free(struct bytes *bytes)
{
	free(bytes->data);
	*bytes = (struct bytes) { };
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Two digits, or -1. */
static int hex_byte(const char *text)
{
	int high = hex_digit(text[0]);
	int low = high < 0 ? -1 : hex_digit(text[1]);

	return low < 0 ? -1 : high << 4 | low;
}

int bytes_from_hex(struct bytes *bytes, const char *text, size_t len)
{
	size_t i;
	int byte;

	if (len % 2)
		return -EINVAL;
	if (bytes_reserve(bytes, len / 2))
		return -ENOMEM;
	for (i = 0; i < len / 2; i++) {
		byte = hex_byte(text + 2 * i);
		if (byte < 0)
			return -EINVAL;
		bytes->data[i] = byte;
	}
	bytes->len = len / 2;
	return 0;
}

/*
 * Decimal, also with leading zeros, or hexadecimal after 0x.  strtoull() takes
 * a leading zero for octal, and signs and blanks.
 */
int number_parse(const char *text, size_t len, uint64_t *val)
{
	int digit, base = 10;

	if (len > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
		base = 16;
		text += 2;
		len -= 2;
	}
	if (!len)
		return -EINVAL;
	for (*val = 0; len; text++, len--) {
		digit = hex_digit(*text);
		if (digit < 0 || digit >= base)
			return -EINVAL;
		if (__builtin_mul_overflow(*val, base, val) ||
		    __builtin_add_overflow(*val, digit, val))
			return -ERANGE;
	}
	return 0;
}

int bytes_from_number(struct bytes *bytes, const char *text, size_t len)
{
	unsigned char raw[8];
	uint64_t val;
	int i, err = number_parse(text, len, &val);

	if (err)
		return err;
	for (i = 7; i >= 0; i--, val >>= 8)
		raw[i] = val;
	return bytes_set(bytes, raw, sizeof(raw));
}

/* The byte that an escape after a backslash stands for; its length. */
static int unescape_one(const char *text, size_t len, unsigned char *byte)
{
	int val;

	if (!len)
		return 0;
	switch (*text) {
	case 't':
		*byte = '\t';
		return 1;
	case 'n':
		*byte = '\n';
		return 1;
	case 'r':
		*byte = '\r';
		return 1;
	case '\\':
		*byte = '\\';
		return 1;
	case 'x':
		val = len < 3 ? -1 : hex_byte(text + 1);
		*byte = val;
		return val < 0 ? 0 : 3;
	default:
		return 0;
	}
}

int bytes_unescape(struct bytes *bytes, const char *text, size_t len)
{
	size_t at = 0;
	int used;

	if (bytes_reserve(bytes, len))
		return -ENOMEM;
	bytes->len = 0;
	while (at < len) {
		if (text[at] != '\\') {
			bytes->data[bytes->len++] = text[at++];
			continue;
		}
		at++;
		used = unescape_one(text + at, len - at,
				    &bytes->data[bytes->len]);
		if (!used)
			return -EINVAL;
		bytes->len++;
		at += used;
	}
	return 0;
}

static void from_arg(struct bytes *bytes, const char *arg, const char *what)
{
	int err;

	if (settings.hex)
		err = bytes_from_hex(bytes, arg, strlen(arg));
	else
		err = bytes_set(bytes, arg, strlen(arg));
	if (!err)
		return;
	complain("%s is not hexadecimal: %s", what, arg);
	exit(ST_USAGE);
}

void key_from_arg(struct bytes *key, const char *arg)
{
	if (!settings.number) {
		from_arg(key, arg, "key");
	} else if (bytes_from_number(key, arg, strlen(arg))) {
		complain("key is not a 64-bit number: %s", arg);
		exit(ST_USAGE);
	}
	if (!key->len) {
		complain("a key has at least one byte");
		exit(ST_USAGE);
	}
	if (key->len > WORT_KEY_MAX) {
		complain("key is too long: %zu bytes, at most %d", key->len,
			 WORT_KEY_MAX);
		exit(ST_USAGE);
	}
}

void value_from_arg(struct bytes *value, const char *arg)
{
	from_arg(value, arg, "value");
}

void put_hex(FILE *out, const void *data, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *p = data;

	for (; len; p++, len--) {
		putc_unlocked(digits[*p >> 4], out);
		putc_unlocked(digits[*p & 15], out);
	}
}

static uint64_t be64_of(const unsigned char *p)
{
	uint64_t val = 0;
	int i;

	for (i = 0; i < 8; i++)
		val = val << 8 | p[i];
	return val;
}

/*
 * With -n a key that is no number stands in quotes: the text 123 and the number
 * 123 are two keys.
 */
void put_key(FILE *out, const void *key, size_t len)
{
	if (!settings.number) {
		put_value(out, key, len);
	} else if (len == 8) {
		fprintf(out, "%llu", ull(be64_of(key)));
	} else {
		putc_unlocked('"', out);
		put_value(out, key, len);
		putc_unlocked('"', out);
	}
}

void put_value(FILE *out, const void *value, size_t len)
{
	if (settings.hex)
		put_hex(out, value, len);
	else
		put_escaped(out, value, len);
}

void json_add_key(json_object *obj, const void *key, size_t len)
{
	if (settings.number && len == 8)
		json_add_u64(obj, "key", be64_of(key));
	else
		json_add_bytes(obj, "key", key, len);
}

void json_add_value(json_object *obj, const void *value, size_t len)
{
	json_add_bytes(obj, "value", value, len);
}
