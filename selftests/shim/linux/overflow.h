/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _SHIM_OVERFLOW_H
#define _SHIM_OVERFLOW_H

#include <stddef.h>

/* Of few elements. */
#define struct_size(p, member, n)	\
	(offsetof(__typeof__(*(p)), member) + (n) * sizeof((p)->member[0]))

#endif
