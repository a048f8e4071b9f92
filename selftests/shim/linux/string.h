/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _SHIM_STRING_H
#define _SHIM_STRING_H

#include <linux/types.h>
#include <string.h>

void *memchr_inv(const void *p, int c, size_t len);

#endif
