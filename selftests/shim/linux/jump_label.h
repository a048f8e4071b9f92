/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
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

struct static_key_false {
	bool on;
};

#define DEFINE_STATIC_KEY_FALSE(name)	struct static_key_false name
#define DECLARE_STATIC_KEY_FALSE(name)	extern struct static_key_false name
#define static_branch_unlikely(key)	unlikely((key)->on)
#define static_branch_enable(key)	((void)((key)->on = true))
#define static_branch_disable(key)	((void)((key)->on = false))

#endif
