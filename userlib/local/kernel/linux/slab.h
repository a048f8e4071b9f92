/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _LOCAL_SLAB_H
#define _LOCAL_SLAB_H

#include_next <linux/slab.h>

#define GFP_KERNEL_ACCOUNT	GFP_KERNEL
#define __GFP_RETRY_MAYFAIL	0U

#endif
