// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records from CSV with a header, as RFC 4180 has it: fields in quotes may hold
 * commas, line ends and, doubled, quotes; lines end in CR LF or LF, and the last
 * one may have no end.
 *
 * Of a record only the fields of the key and the value are kept.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "csv.h"

/* Hexadecimal takes twice the bytes; a quote that is never closed ends here. */
#define FIELD_MAX	(2 * WORT_VALUE_MAX)

/* What a field ended with. */
enum end { END_COMMA, END_LINE, END_FILE };

static int wrong(struct csv *csv, const char *why)
{
	csv->why = why;
	return -EINVAL;
}

static int add_byte(struct bytes *field, int c)
{
	if (!field)
		return 0;
	if (field->len == FIELD_MAX)
		return -EMSGSIZE;
	if (bytes_reserve(field, field->len + 1))
		return -ENOMEM;
	field->data[field->len++] = c;
	return 0;
}

static int next_byte(struct csv *csv)
{
	int c = getc_unlocked(csv->in);

	csv->next_line += c == '\n';
	return c;
}

/* What comes behind a field; its first byte was read. */
static int read_end(struct csv *csv, int c, enum end *end)
{
	if (c == '\r') {
		c = next_byte(csv);
		if (c != '\n')
			return wrong(csv, "a CR that ends no line, outside of quotes");
	}
	if (c != ',' && c != '\n' && c != EOF)
		return wrong(csv, "something between a closing quote and the comma");
	*end = c == ',' ? END_COMMA : c == '\n' ? END_LINE : END_FILE;
	return 0;
}

/* Behind the opening quote. */
static int read_quoted(struct csv *csv, struct bytes *field, enum end *end)
{
	int c, err = 0;

	for (;;) {
		c = next_byte(csv);
		if (c == EOF)
			return wrong(csv, "a field in quotes without an end");
		if (c == '"') {
			c = next_byte(csv);
			if (c != '"')
				return read_end(csv, c, end);
		}
		err = add_byte(field, c);
		if (err)
			return err;
	}
}

static int read_plain(struct csv *csv, int c, struct bytes *field, enum end *end)
{
	int err;

	for (; c != ',' && c != '\n' && c != '\r' && c != EOF; c = next_byte(csv)) {
		if (c == '"')
			return wrong(csv, "a quote inside a field that does not begin with one");
		err = add_byte(field, c);
		if (err)
			return err;
	}
	return read_end(csv, c, end);
}

/* @field: NULL: not kept.  An error of the file is no end of the last line. */
static int read_field(struct csv *csv, struct bytes *field, enum end *end)
{
	int c, err;

	if (field && bytes_reserve(field, 0))
		return -ENOMEM;
	if (field)
		field->len = 0;
	errno = 0;
	c = next_byte(csv);
	err = c == '"' ? read_quoted(csv, field, end) :
			 read_plain(csv, c, field, end);
	if (ferror(csv->in)) {
		csv->read_err = errno ? errno : EIO;
		return -EIO;
	}
	return err;
}

static bool is_called(const struct bytes *field, const char *name)
{
	return name && field->len == strlen(name) &&
	       !memcmp(field->data, name, field->len);
}

/* 0 is no column. */
static int note_column(struct csv *csv, const struct bytes *field,
		       const char *name, unsigned int *column)
{
	if (!is_called(field, name))
		return 0;
	if (*column)
		return wrong(csv, "the header has the column of the key or the value twice");
	*column = csv->columns;
	return 0;
}

/* A file with a header begins with no byte of a key, so the mark means nothing. */
static void skip_byte_order_mark(FILE *in)
{
	static const unsigned char mark[] = { 0xef, 0xbb, 0xbf };
	unsigned int nr = 0;
	int c;

	while (nr < sizeof(mark)) {
		c = getc_unlocked(in);
		if (c != mark[nr])
			break;
		nr++;
	}
	if (nr == sizeof(mark))
		return;
	/* glibc takes several bytes back. */
	for (ungetc(c, in); nr; nr--)
		ungetc(mark[nr - 1], in);
}

static int no_column(struct csv *csv, const char *name)
{
	snprintf(csv->buf, sizeof(csv->buf), "the header has no column %s", name);
	return wrong(csv, csv->buf);
}

int csv_begin(struct csv *csv, FILE *in, const char *key, const char *value)
{
	struct bytes field = { };
	enum end end = END_COMMA;
	int err = 0;

	*csv = (struct csv) { .in = in, .line = 1, .next_line = 1 };
	skip_byte_order_mark(in);
	while (!err && end == END_COMMA) {
		err = read_field(csv, &field, &end);
		csv->columns++;
		if (!err)
			err = note_column(csv, &field, key, &csv->key);
		if (!err)
			err = note_column(csv, &field, value, &csv->value);
	}
	bytes_free(&field);
	if (!err && !csv->key)
		err = no_column(csv, key);
	if (!err && value && !csv->value)
		err = no_column(csv, value);
	return err;
}

static bool at_end(struct csv *csv)
{
	int c = getc_unlocked(csv->in);

	if (c == EOF)
		return !ferror(csv->in);
	ungetc(c, csv->in);
	return false;
}

int csv_next(struct csv *csv, struct bytes *key, struct bytes *value)
{
	enum end end = END_COMMA;
	unsigned int column = 0;
	int err = 0;

	csv->line = csv->next_line;
	if (at_end(csv))
		return 0;
	value->len = 0;
	while (!err && end == END_COMMA) {
		column++;
		err = read_field(csv, column == csv->key ? key :
				 column == csv->value ? value : NULL, &end);
	}
	if (!err && column != csv->columns) {
		snprintf(csv->buf, sizeof(csv->buf), "%u fields, but the header has %u",
			 column, csv->columns);
		err = wrong(csv, csv->buf);
	}
	if (!err && csv->value == csv->key)
		err = bytes_set(value, key->data, key->len);
	return err ? err : 1;
}
