/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records from CSV with a header.
 */
#ifndef _WORT_CSV_H
#define _WORT_CSV_H

#include <stdint.h>
#include <stdio.h>

struct bytes;

/**
 * struct csv - A file that is being read
 * @in: the file
 * @line: line at which the record begins that was read last, or the header
 * @why: what is wrong, after -EINVAL
 * @read_err: errno of a read that failed, after -EIO
 * @next_line: line of the next byte
 * @columns: number of columns
 * @key: number of the key's column, from 1 on
 * @value: number of the value's column, or 0
 * @buf: memory for @why
 */
struct csv {
	FILE *in;
	uint64_t line;
	const char *why;
	int read_err;
	uint64_t next_line;
	unsigned int columns;
	unsigned int key;
	unsigned int value;
	char buf[256];
};

/*
 * Read the header.  @key and @value are names of columns; with NULL for @value
 * values are empty.  -EINVAL, -EIO, -EMSGSIZE: a field is too long, -ENOMEM.
 */
int csv_begin(struct csv *csv, FILE *in, const char *key, const char *value);
/* The fields of the next record, as they are: 1, 0 at the end, or an errno as above. */
int csv_next(struct csv *csv, struct bytes *key, struct bytes *value);

#endif
