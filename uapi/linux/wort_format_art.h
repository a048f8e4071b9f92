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
#define WORT_MEDIA_ART_KIND_N4		0x2ULL	/* in links */
#define WORT_MEDIA_ART_KIND_N16		0x3ULL
#define WORT_MEDIA_ART_KIND_N48		0x4ULL
#define WORT_MEDIA_ART_KIND_N256	0x5ULL

/* Byte i of the map belongs to slot i if bit 32 + i of the map is set. */
#define WORT_MEDIA_ART_N4_USED_SHIFT	32

struct wort_media_art_n4 {
	__le64 map;
	__le64 slot[4];
	__le64 pad[3];				/* a node of this kind has its own line */
};

/* Byte i of the array belongs to slot i if bit i of the map is set. */
struct wort_media_art_n16 {
	__le64 map;
	__le64 byte[2];
	__le64 slot[16];
	__le64 pad[5];
};

/* Byte b of the index is 0, or the number of the slot of byte b, plus 1. */
struct wort_media_art_n48 {
	__le64 index[32];
	__le64 slot[48];
};

struct wort_media_art_n256 {
	__le64 slot[256];
};

#endif /* _UAPI_LINUX_WORT_FORMAT_ART_H */
