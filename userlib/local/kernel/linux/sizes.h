/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _LOCAL_SIZES_H
#define _LOCAL_SIZES_H

#include <linux/kernel.h>

#define SZ_256K	(256U << 10)

#endif
