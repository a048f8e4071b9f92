/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _SHIM_UACCESS_H
#define _SHIM_UACCESS_H

#include <linux/string.h>

/* A page that a test poisons. */
extern const char *shim_poison;

/* Returns the bytes not copied.  Userspace gets a SIGBUS instead. */
static inline unsigned long copy_mc_to_kernel(void *dst, const void *src,
					      unsigned int len)
{
	const char *from = src;

	if (shim_poison && from < shim_poison + 4096 &&
	    from + len > shim_poison)
		return len;
	memcpy(dst, src, len);
	return 0;
}

#endif
