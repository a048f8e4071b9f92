/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * What the engine QUIRE has on media: the pages of a B+-tree.
 */
#ifndef _UAPI_LINUX_WORT_FORMAT_QUIRE_H
#define _UAPI_LINUX_WORT_FORMAT_QUIRE_H

#include <linux/wort_format.h>

/*
 * A page.  Behind its anchor, at a multiple of 8, come records, then zeroes.
 *
 *	 63             40 39     29 28      18 17    14 13       0
 *	+-----------------+---------+----------+--------+----------+
 *	| 0               | prefix  | anchor   | level  | size,    |
 *	|                 | length  | length   |        | in words |
 *	+-----------------+---------+----------+--------+----------+
 *
 * anchor: a key; no key below it is in the range of the page.  prefix: as many of its
 * first bytes as all keys of the range have; records do not store them.  level: 0 of a
 * leaf.
 */
struct wort_media_quire_page {
	__le64 meta;			/* immutable */
	__u8 anchor[];			/* immutable */
};

#define WORT_MEDIA_QUIRE_SIZE_MASK	0x3fffULL
#define WORT_MEDIA_QUIRE_LEVEL_SHIFT	14
#define WORT_MEDIA_QUIRE_LEVEL_MASK	0xfULL
#define WORT_MEDIA_QUIRE_ANCHOR_SHIFT	18
#define WORT_MEDIA_QUIRE_PREFIX_SHIFT	29
#define WORT_MEDIA_QUIRE_KEY_MASK	0x7ffULL
#define WORT_MEDIA_QUIRE_META_ALL	0xffffffffffULL

/*
 * A record of a leaf, or a separator of an inner page, which leads to the page of the
 * keys that are not below it.  A head of 0 ends the records of a page.
 *
 *	 63    62    61   40 39 38 36 35 34 32 31   28 27  12 11      0
 *	+-----+------+------+---+----+---+----+-------+------+---------+
 *	| set | dead | 0    | witness| witness| value | hash | bytes   |
 *	|     |      |      | line 3 | line 2 |       |      | of key  |
 *	+-----+------+------+---+----+---+----+-------+------+---------+
 *
 * witness: of the second and the third line that the record reaches into: 8, and which
 * word of the line is not 0 in a record that is whole; or 0.  A record with a word of 0
 * there is none, and ends the records of the page as a head of 0 does.  value: a length
 * of up to 8, or WORT_MEDIA_QUIRE_VALUE_OBJECT.  hash: of the whole key; 0 in separators.
 * Of several records of a key the last one counts, also if it is dead.
 */
struct wort_media_quire_record {
	__le64 head;
	__le64 val;			/* a value, an object, or a page */
	__u8 key[];			/* behind the prefix, with zeroes up to a word */
};

#define WORT_MEDIA_QUIRE_LEN_MASK	0xfffULL
#define WORT_MEDIA_QUIRE_HASH_SHIFT	12
#define WORT_MEDIA_QUIRE_HASH_MASK	0xffffULL
#define WORT_MEDIA_QUIRE_VALUE_SHIFT	28
#define WORT_MEDIA_QUIRE_VALUE_MASK	0xfULL
#define WORT_MEDIA_QUIRE_WITNESS_SHIFT	32	/* and 4 bits for each line */
#define WORT_MEDIA_QUIRE_WITNESS_MASK	0xfULL
#define WORT_MEDIA_QUIRE_WITNESS_SET	0x8ULL
#define WORT_MEDIA_QUIRE_DEAD		(1ULL << 62)
#define WORT_MEDIA_QUIRE_SET		(1ULL << 63)
#define WORT_MEDIA_QUIRE_HEAD_ALL	0xc00000ffffffffffULL

/*
 * A value of more than 8 bytes: val is the offset of its object, a multiple of 16, and
 * its length.
 */
#define WORT_MEDIA_QUIRE_VALUE_OBJECT	9
#define WORT_MEDIA_QUIRE_OFF_MASK	0x00000ffffffffff0ULL
#define WORT_MEDIA_QUIRE_BYTES_SHIFT	44

#endif /* _UAPI_LINUX_WORT_FORMAT_QUIRE_H */
