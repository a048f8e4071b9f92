/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * What the engine WORT has on media.
 */
#ifndef _UAPI_LINUX_WORT_FORMAT_WORT_H
#define _UAPI_LINUX_WORT_FORMAT_WORT_H

#include <linux/wort_format.h>

/*
 * An inner node of WORT.  Four bits of the key, at the place that is in the link
 * to the node, select the child.
 */
#define WORT_MEDIA_WORT_SLOTS		16
#define WORT_MEDIA_WORT_KIND_NODE	0x2ULL	/* in links */

struct wort_media_wort_node {
	__le64 slot[WORT_MEDIA_WORT_SLOTS];	/* link or 0 */
};

#endif /* _UAPI_LINUX_WORT_FORMAT_WORT_H */
