/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _SHIM_BUG_H
#define _SHIM_BUG_H

#include <linux/compiler.h>

/* A warning of the kernel is a failure of the test. */
void shim_warn(const char *file, int line, const char *what);

#define WARN_ON_ONCE(cond) ({					\
	bool __hit = !!(cond);					\
	if (unlikely(__hit))					\
		shim_warn(__FILE__, __LINE__, #cond);		\
	__hit;							\
})
#define WARN_ON(cond)	WARN_ON_ONCE(cond)
#define BUILD_BUG_ON(cond) _Static_assert(!(cond), #cond)

#endif
