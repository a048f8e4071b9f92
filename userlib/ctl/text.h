/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bytes of unknown origin as text: for a terminal, for a shell.
 */
#ifndef _WORT_TEXT_H
#define _WORT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

bool bytes_are_utf8(const void *data, size_t len);

/*
 * The bytes as a field of a line of text: what a terminal would act on, what
 * is not UTF-8 and the backslash are escaped, so that the bytes can be read
 * back from it.
 */
void put_escaped(FILE *out, const void *data, size_t len);

/* The same for people: a backslash stays as it is.  To be freed. */
char *text_shown(const char *text);

/*
 * A text as one word of a command line.  The memory is used again by the
 * fourth call after this one.
 */
const char *shell_word(const char *text);

/* JSON, in which strings name by \u what a terminal would act on. */
void put_json(FILE *out, const char *json, size_t len);

#endif
