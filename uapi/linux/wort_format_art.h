/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * What the engines WOART and ART+CoW have on media: the inner nodes of an adaptive radix
 * tree.
 */
#ifndef _UAPI_LINUX_WORT_FORMAT_ART_H
#define _UAPI_LINUX_WORT_FORMAT_ART_H

#include <linux/wort_format.h>

/*
 * One byte of the key, at the place that is in the link to the node, selects the child.
 * So places are even.  A node maps bytes to slots, and a slot holds a link or 0:
 *
 *	a byte without a slot	no key below the node has it
 *	a slot that holds 0	the same
 *	a slot of no byte	its content means nothing
 *
 * A byte keeps its slot as long as the node lives.
 */
#define WORT_MEDIA_ART_KIND_N7		0x2ULL	/* in links */
#define WORT_MEDIA_ART_KIND_N14		0x3ULL
#define WORT_MEDIA_ART_KIND_N21		0x4ULL
#define WORT_MEDIA_ART_KIND_N48		0x5ULL
#define WORT_MEDIA_ART_KIND_N256	0x6ULL

/* A line of a small node.  Byte i of its map belongs to slot i if bit 56 + i is set. */
#define WORT_MEDIA_ART_USED_SHIFT	56
#define WORT_MEDIA_ART_LINE_SLOTS	7

struct wort_media_art_line {
	__le64 map;				/* bit 63 is 0 */
	__le64 slot[WORT_MEDIA_ART_LINE_SLOTS];
};

/* The small nodes: an N7 is one line, an N14 two, an N21 three. */
#define WORT_MEDIA_ART_LINES_MAX	3

/* Byte b of the index is 0, or the number of the slot of byte b, plus 1. */
struct wort_media_art_n48 {
	__le64 index[32];
	__le64 slot[48];
};

struct wort_media_art_n256 {
	__le64 slot[256];
};

#endif /* _UAPI_LINUX_WORT_FORMAT_ART_H */
