/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _SHIM_RANDOM_H
#define _SHIM_RANDOM_H

#include <sys/random.h>

#define get_random_bytes(buf, len)	((void)!getrandom(buf, len, 0))

#endif
