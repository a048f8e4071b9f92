// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bytes of unknown origin as text.
 *
 * Labels, names of indexes, keys, values, paths and arguments can hold any
 * byte.  A terminal acts on control characters: those below 0x20, 0x7f, and
 * U+0080 to U+009F, of which U+009B begins a sequence as ESC [ does.  An 8-bit
 * terminal takes a lone byte 0x9b for the same.  Directional overrides show a
 * line in another order than it has.  Everything that is printed comes through
 * this file, or is our own text.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

/* Length of the sequence at @p, 0 if it is none: no surrogates, no overlong. */
static size_t utf8_len(const unsigned char *p, size_t left)
{
	size_t len = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 :
		     p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;
	size_t i;

	if (!len || len > left)
		return 0;
	for (i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return len;
}

/* The character of a sequence that utf8_len() has measured. */
static uint32_t utf8_char(const unsigned char *p, size_t len)
{
	uint32_t c = len == 1 ? p[0] : p[0] & (0x7f >> len);
	size_t i;

	for (i = 1; i < len; i++)
		c = c << 6 | (p[i] & 0x3f);
	return c;
}

bool bytes_are_utf8(const void *data, size_t len)
{
	const unsigned char *p = data;
	size_t used;

	for (; len; p += used, len -= used) {
		used = utf8_len(p, len);
		if (!used)
			return false;
	}
	return true;
}

/* Would it act on a terminal, or on the order of what is beside it? */
static bool acts(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) ||	/* controls */
	       c == 0x061c || c == 0x200e || c == 0x200f ||
	       (c >= 0x202a && c <= 0x202e) ||		/* bidi overrides */
	       (c >= 0x2066 && c <= 0x2069) ||		/* bidi isolates */
	       c == 0x2028 || c == 0x2029 ||		/* line ends */
	       c == 0xfeff;				/* byte-order mark */
}

static void put_byte(FILE *out, unsigned char byte)
{
	switch (byte) {
	case '\t':
		fputs("\\t", out);
		break;
	case '\n':
		fputs("\\n", out);
		break;
	case '\r':
		fputs("\\r", out);
		break;
	default:
		fprintf(out, "\\x%02x", byte);
	}
}

/* @special: plain characters that need a backslash */
static void escape(FILE *out, const void *data, size_t len, const char *special)
{
	const unsigned char *p = data;
	size_t used, i;

	for (; len; p += used, len -= used) {
		used = utf8_len(p, len);
		if (used && !acts(utf8_char(p, used))) {
			if (strchr(special, *p))
				putc_unlocked('\\', out);
			for (i = 0; i < used; i++)
				putc_unlocked(p[i], out);
			continue;
		}
		used += !used;
		for (i = 0; i < used; i++)
			put_byte(out, p[i]);
	}
}

void put_escaped(FILE *out, const void *data, size_t len)
{
	escape(out, data, len, "\\");
}

char *text_shown(const char *text)
{
	char *shown = NULL;
	size_t size;
	FILE *out = open_memstream(&shown, &size);

	if (!out)
		return NULL;
	escape(out, text, strlen(text), "");
	fclose(out);
	return shown;
}

static bool is_shown(const char *text)
{
	char *shown = text_shown(text);
	bool same = shown && !strcmp(shown, text);

	free(shown);
	return same;
}

static bool is_plain(const char *text)
{
	if (!*text)
		return false;
	for (; *text; text++)
		if (!isascii(*text) ||
		    (!isalnum((unsigned char)*text) &&
		     !strchr("_@%+=:,./-", *text)))
			return false;
	return true;
}

const char *shell_word(const char *text)
{
	static char *words[4];
	static unsigned int next;
	char **word = &words[next++ % 4];
	size_t size;
	FILE *out;

	if (is_plain(text))
		return text;
	free(*word);
	*word = NULL;
	out = open_memstream(word, &size);
	if (!out)
		return "...";
	if (is_shown(text) && !strchr(text, '\'')) {
		fprintf(out, "'%s'", text);
	} else {
		fputs("$'", out);
		escape(out, text, strlen(text), "\\'");
		fputs("'", out);
	}
	fclose(out);
	return *word ? *word : "...";
}

/* Below 0x7f there are only blanks between members: strings have none. */
void put_json(FILE *out, const char *json, size_t len)
{
	const unsigned char *p = (const unsigned char *)json;
	size_t used, i;
	uint32_t c;

	for (; len; p += used, len -= used) {
		used = utf8_len(p, len);
		c = used ? utf8_char(p, used) : 0xfffd;
		used += !used;
		if (c >= 0x7f && acts(c))
			fprintf(out, "\\u%04x", c);
		else
			for (i = 0; i < used; i++)
				putc_unlocked(p[i], out);
	}
}
