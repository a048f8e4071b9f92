/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _SHIM_LOCKDEP_H
#define _SHIM_LOCKDEP_H

#include <linux/bug.h>

#define lockdep_assert(cond)	WARN_ON_ONCE(!(cond))

#endif
