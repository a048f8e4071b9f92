/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _SHIM_ERRNO_H
#define _SHIM_ERRNO_H

#include_next <linux/errno.h>

#define ERESTARTNOINTR	513

#endif
