/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * What is on the media of a wort pool.
 *
 * All words are little endian.  A reference is a byte offset from the start of
 * the pool, never an address.  Every word that changes by one failure-atomic
 * store is a naturally aligned __le64.
 *
 *	0	4 KiB left alone (boot block, partition table)
 *	4 KiB	superblock, copy 0
 *	8 KiB	superblock, copy 1
 *	12 KiB	heads of atomic batches
 *	16 KiB	extent table: one word for each extent; in a pool that has
 *		grown it may lie in extents
 *	...	extents, from a multiple of the extent size on
 *	end	the last 4 KiB of the pool: superblock, the third copy
 *
 * What only one engine has is in linux/wort_format_<engine>.h.
 * Documentation/format.rst describes the format in full.
 */
#ifndef _UAPI_LINUX_WORT_FORMAT_H
#define _UAPI_LINUX_WORT_FORMAT_H

#include <linux/types.h>

/* "WORTPOOL" read as a little endian word */
#define WORT_MEDIA_MAGIC		0x4c4f4f5054524f57ULL
#define WORT_MEDIA_VERSION		4

#define WORT_MEDIA_SB_OFF		4096
#define WORT_MEDIA_SB_SPACE		4096
#define WORT_MEDIA_SB_COPIES		2	/* that attach reads */
#define WORT_MEDIA_WORDS_OFF		6144	/* behind copy 0 */
#define WORT_MEDIA_HEADS_OFF		12288
#define WORT_MEDIA_TABLE_OFF		16384

#define WORT_MEDIA_POOL_MIN		(256ULL << 10)
#define WORT_MEDIA_POOL_MAX		(1ULL << 44)
#define WORT_MEDIA_EXTENT_SHIFT_MIN	12
#define WORT_MEDIA_EXTENT_SHIFT_MAX	20

#define WORT_MEDIA_UUID_LEN		16
#define WORT_MEDIA_LABEL_LEN		64

/*
 * Features.  A pool with an unknown incompat bit is refused, with an unknown
 * ro_compat bit it is attached read-only, an unknown compat bit is ignored.
 */
#define WORT_INCOMPAT_EXPERIMENTAL	(1ULL << 0)	/* format not declared stable */
#define WORT_INCOMPAT_ALL		WORT_INCOMPAT_EXPERIMENTAL
#define WORT_RO_COMPAT_ALL		0ULL
#define WORT_COMPAT_ALL			0ULL

/* state word of the superblock and of a catalogue entry */
#define WORT_MEDIA_STATE_DAMAGED	(1ULL << 0)	/* read-only until checked */

/*
 * The superblock.  Of the first two copies the valid one with the higher sequence
 * number is in force.  An update writes all three copies, one after the other.
 * The copy at the end is a backup for the case that the first two are lost; it
 * comes into force only if the user restores it.
 */
struct wort_media_sb {
	__le64 magic;			/* format stores it last */
	__le32 version;
	__le32 csum;			/* crc32c of the struct, csum = 0 */
	__le64 seq;
	__le64 compat;
	__le64 ro_compat;
	__le64 incompat;
	__le64 pool_size;		/* bytes in use, from offset 0 */
	__le64 table_off;		/* the extent table */
	__le64 data_off;		/* extent 0 */
	__le64 nr_extents;
	__le64 catalogue_off;		/* first catalogue block */
	__le64 state;			/* WORT_MEDIA_STATE_* */
	__le64 format_time;		/* seconds since 1970 */
	__le32 extent_shift;		/* log2 of the extent size */
	__le32 pad;
	__u8 uuid[WORT_MEDIA_UUID_LEN];
	__u8 label[WORT_MEDIA_LABEL_LEN];	/* zero padded */
	__le64 self_off;		/* offset of this copy */
};

/* Words of the whole pool that change by one store, each in a line of its own. */
struct wort_media_words {
	__le64 generation;		/* raised by format, attach to write, check, growth */
	__le64 pad[7];
	__le64 next_id;			/* greater than the id of any index so far */
	__le64 pad2[7];
};

/*
 * The page of heads.  A head is 0, or refers to the redo list of an atomic batch that is
 * committed and has to be carried out before the pool is used.  A module that cannot
 * do that refuses the pool.
 */
#define WORT_MEDIA_NR_HEADS		64

struct wort_media_head {
	__le64 redo;			/* 0, or the offset of the list */
	__le64 pad[7];
};

/*
 * The redo list of an atomic batch: its changes, in the order of indexes and keys, each
 * key once.  The head owns it, as an object of its length.
 */
#define WORT_MEDIA_REDO_MAX		(256U << 10)
#define WORT_MEDIA_REDO_ENTRIES		64
#define WORT_MEDIA_REDO_REMOVE		0xffffffffU

struct wort_media_redo {
	__le32 len;			/* of all, a multiple of 8 */
	__le32 nr;			/* entries that follow */
	__le32 csum;			/* crc32c of all, csum = 0 */
	__le32 pad;			/* 0 */
};

/* The key and the value follow, then zeroes up to a multiple of 8. */
struct wort_media_redo_entry {
	__le64 index;			/* its id */
	__le32 key_len;
	__le32 value_len;		/* or WORT_MEDIA_REDO_REMOVE: no value */
};

/*
 * A word of the extent table.  Zero: nothing is owned in the extent.  Otherwise
 * it has the class that the extent serves, or served last, because the word is
 * cleared some time after the extent became free.
 *
 *	 63         40 39                     8 7        0
 *	+-------------+------------------------+----------+
 *	| 0           | extents in the run     | class+1  |
 *	+-------------+------------------------+----------+
 *
 * Class 0xff marks the first extent of a run; the run length is 0 otherwise.
 */
#define WORT_MEDIA_EXTENT_CLASS_MASK	0xffULL
#define WORT_MEDIA_EXTENT_RUN		0xffULL
#define WORT_MEDIA_EXTENT_LEN_SHIFT	8
#define WORT_MEDIA_EXTENT_LEN_MASK	0xffffffffULL

/*
 * The catalogue: a list of blocks whose slots refer to entries, one for each
 * index.  A slot is published by one word and cleared by one word.
 */
#define WORT_MEDIA_CATALOGUE_SLOTS	63

struct wort_media_catalogue {
	__le64 next;			/* next block or 0 */
	__le64 slot[WORT_MEDIA_CATALOGUE_SLOTS];	/* entry offset or 0 */
};

#define WORT_MEDIA_NAME_MAX		111
#define WORT_MEDIA_ROOT_WORDS		8

/* A catalogue entry.  Only the root record and the state word ever change. */
struct wort_media_entry {
	__le64 id;			/* unique in the pool */
	__le32 engine;
	__le32 csum;			/* crc32c; csum, state and root = 0 */
	__le64 attr;			/* engine attributes, immutable */
	__le64 create_time;		/* seconds since 1970 */
	__le64 state;			/* WORT_MEDIA_STATE_* */
	__le64 pad[3];
	__le64 root[WORT_MEDIA_ROOT_WORDS];	/* the engine's; one line */
	__u8 name_len;
	__u8 name[WORT_MEDIA_NAME_MAX];
	__u8 reserved[16];
};

/*
 * A link of a radix engine: a word that refers to a record or a node.  Zero is no link.
 *
 *	 63        52 51     44 43                         4 3    0
 *	+------------+---------+----------------------------+------+
 *	| place      | label   | offset, a multiple of 16,  | kind |
 *	|            |         | in place                   |      |
 *	+------------+---------+----------------------------+------+
 *
 * place: of a node, the position of the digit by which it selects a child; 0 for a
 * record.  label: the key byte under which the link stands in a node that is searched by
 * labels; 0 in all other nodes.  kind: WORT_MEDIA_LINK_RECORD, or a kind of node of the
 * engine.
 */
#define WORT_MEDIA_LINK_KIND_MASK	0xfULL
#define WORT_MEDIA_LINK_RECORD		0x1ULL
#define WORT_MEDIA_LINK_OFF_MASK	0x00000ffffffffff0ULL
#define WORT_MEDIA_LINK_LABEL_MASK	0x000ff00000000000ULL
#define WORT_MEDIA_LINK_PLACE_SHIFT	52

/*
 * A leaf: one record.  A value of up to 8 bytes is in val.  A longer value follows
 * the key at the next multiple of 8, or lies in an object of its own to which val
 * refers.
 *
 *	 63             31 30  29 28             12  11  10            0
 *	+-----------------+------+-----------------+----+---------------+
 *	| 0               | kind | value length    | 0  | key length    |
 *	+-----------------+------+-----------------+----+---------------+
 */
struct wort_media_leaf {
	__le64 val;
	__le64 meta;			/* immutable */
	__u8 key[];
};

#define WORT_MEDIA_LEAF_KEY_MASK	0x7ffULL
#define WORT_MEDIA_LEAF_VALUE_SHIFT	12
#define WORT_MEDIA_LEAF_VALUE_MASK	0x1ffffULL
#define WORT_MEDIA_LEAF_KIND_SHIFT	29
#define WORT_MEDIA_LEAF_KIND_MASK	0x3ULL
#define WORT_MEDIA_LEAF_META_ALL	0x7ffff7ffULL

#define WORT_MEDIA_VALUE_WORD		0	/* at most 8 bytes, in val */
#define WORT_MEDIA_VALUE_INLINE		1	/* behind the key; val is 0 */
#define WORT_MEDIA_VALUE_OBJECT		2	/* val is an offset of bytes */

/*
 * Engine numbers in catalogue entries.  2, 3, 5 and 6 were WOART and ART+CoW with other
 * nodes (Documentation/format.rst).
 */
#define WORT_MEDIA_ENGINE_WORT		1
#define WORT_MEDIA_ENGINE_QUIRE		4
#define WORT_MEDIA_ENGINE_WOART		7
#define WORT_MEDIA_ENGINE_ART_COW	8

#endif /* _UAPI_LINUX_WORT_FORMAT_H */
