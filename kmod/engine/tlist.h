/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The media of tlist, an engine for tests: tlist.c says how it is used.
 */
#ifndef _WORT_TLIST_H
#define _WORT_TLIST_H

#include <linux/types.h>

/*
 * A chunk.  The bytes of its bound follow its slots.
 *
 *	 63                        27 26           16 15     6 5     0
 *	+----------------------------+---------------+--------+-------+
 *	| 0                          | bound length  | 0      | slots |  meta
 *	+----------------------------+---------------+--------+-------+
 */
struct wort_media_tlist_chunk {
	__le64 next;		/* offset of the next chunk, or 0 */
	__le64 bits;		/* a bit for each slot in use */
	__le64 meta;		/* immutable */
	__le64 slot[];		/* offset of a record; 0: never used */
};

#define WORT_MEDIA_TLIST_SLOTS_MASK	0x3fULL
#define WORT_MEDIA_TLIST_BOUND_SHIFT	16
#define WORT_MEDIA_TLIST_BOUND_MASK	0x7ffULL
#define WORT_MEDIA_TLIST_META_ALL	0x7ff003fULL

#endif /* _WORT_TLIST_H */
