/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _SHIM_JUMP_LABEL_H
#define _SHIM_JUMP_LABEL_H

#include <linux/compiler.h>

struct static_key_true {
	bool on;
};

/* The kernel patches the branch away; here it is always taken. */
#define DEFINE_STATIC_KEY_TRUE(name)	struct static_key_true name = { true }
#define DECLARE_STATIC_KEY_TRUE(name)	extern struct static_key_true name
#define static_branch_likely(key)	((void)(key), true)

#endif
