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
 *	a slot of no byte	is 0; a reader does not look at it
 *
 * A byte keeps its slot as long as the node lives.
 */
#define WORT_MEDIA_ART_KIND_N7		0x2ULL	/* in links */
#define WORT_MEDIA_ART_KIND_N14		0x3ULL
#define WORT_MEDIA_ART_KIND_N28		0x4ULL
#define WORT_MEDIA_ART_KIND_N56		0x5ULL
#define WORT_MEDIA_ART_KIND_N112	0x6ULL
#define WORT_MEDIA_ART_KIND_N256	0x7ULL

/*
 * A node but an N256 has 1, 2, 4, 8 or 16 lines.  The low bits of byte + (byte >> 4) * 3
 * select the line of a byte, and the map of this line its slot: byte i of the map belongs
 * to slot i if bit 56 + i is set.
 */
#define WORT_MEDIA_ART_USED_SHIFT	56
#define WORT_MEDIA_ART_LINE_SLOTS	7

struct wort_media_art_line {
	__le64 map;				/* bit 63 is 0 */
	__le64 slot[WORT_MEDIA_ART_LINE_SLOTS];
};

#define WORT_MEDIA_ART_LINES_MAX	16

/* A slot for each byte, and no map. */
struct wort_media_art_n256 {
	__le64 slot[256];
};

#endif /* _UAPI_LINUX_WORT_FORMAT_ART_H */
