/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The file that wort backup writes and wort restore reads.
 *
 * All numbers are little-endian.  A header:
 *
 *	magic	8 bytes, "wortback"
 *	version	u32, 1
 *	zero	u32
 *	uuid	16 bytes, of the pool that was copied
 *	label	64 bytes, padded with zeroes
 *	time	u64, seconds since 1970
 *
 * then items, each of which begins with a u32:
 *
 *	1	an index: u32 engine, u64 attributes, u32 length of the name, the name;
 *		the records behind it are its records, in the order of keys
 *	2	a record: u32 length of the key, u32 length of the value, key, value
 *	3	the end: u64 number of indexes, u64 number of records, and XXH3 with 128
 *		bits of all that stands before it, in its canonical form
 *
 * Nothing stands behind the end.
 */
#ifndef _WORT_BACKUP_FILE_H
#define _WORT_BACKUP_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <xxhash.h>

#include <linux/wort.h>

enum backup_type { BACKUP_END = 0, BACKUP_INDEX = 1, BACKUP_RECORD = 2 };

/* A file that is written, or read; the counts are of what went through it. */
struct backup_file {
	FILE *file;
	XXH3_state_t *hash;
	unsigned char *buf;		/* of the item that was read last */
	uint8_t uuid[WORT_UUID_LEN];
	uint8_t label[WORT_LABEL_LEN];
	uint64_t time;
	uint64_t nr_indexes;
	uint64_t nr_records;
	uint64_t bytes;			/* of keys and values */
};

/* Of an index: its name is the key. */
struct backup_item {
	const unsigned char *key;
	size_t key_len;
	const unsigned char *value;
	size_t value_len;
	uint32_t engine;
	uint64_t attr;
};

/* All return 0 or a negative errno. */

/* Write the header; uuid, label and time are set. */
int backup_begin(struct backup_file *bf, FILE *file);
int backup_put_index(struct backup_file *bf, const struct backup_item *item);
int backup_put_record(struct backup_file *bf, const struct backup_item *item);
int backup_end(struct backup_file *bf);

/*
 * Read the header.  -EBADMSG: no such file, or damaged; -EPROTONOSUPPORT: another
 * version.  The file can be read again from its beginning.
 */
int backup_open(struct backup_file *bf, FILE *file);
/*
 * The type of the next item, BACKUP_END if the file ends there as it was written.
 * -EBADMSG if something is not as it was written.
 */
int backup_next(struct backup_file *bf, struct backup_item *item);
void backup_free(struct backup_file *bf);
/* Does a file begin like a backup? */
bool backup_is(const char *path);

#endif
