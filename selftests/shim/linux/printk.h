/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _SHIM_PRINTK_H
#define _SHIM_PRINTK_H

#include <linux/compiler.h>

extern bool shim_log_quiet;
__printf(1, 2) void shim_log(const char *fmt, ...);

#define pr_err(...)		shim_log(__VA_ARGS__)
#define pr_warn(...)		shim_log(__VA_ARGS__)
#define pr_info(...)		shim_log(__VA_ARGS__)
#define pr_err_ratelimited(...)	shim_log(__VA_ARGS__)
#define pr_warn_ratelimited(...)	shim_log(__VA_ARGS__)

#endif
