/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * As linux/module.h has it.  The module is loaded and unloaded by calls of
 * dirindex_load() and dirindex_unload().
 */
#ifndef _DIRINDEX_MODULE_H
#define _DIRINDEX_MODULE_H

#define KBUILD_MODNAME	"dirindex"
#define THIS_MODULE	NULL
#define __init
#define __exit

#define module_init(fn)	int (*const dirindex_module_init)(void) = fn
#define module_exit(fn)	void (*const dirindex_module_exit)(void) = fn

/* For the semicolon behind them. */
#define __nothing	struct dirindex_nothing
#define module_param(name, type, perm)	__nothing
#define MODULE_PARM_DESC(name, text)	__nothing
#define MODULE_DESCRIPTION(text)	__nothing
#define MODULE_AUTHOR(name)		__nothing
#define MODULE_LICENSE(name)		__nothing
#define MODULE_INFO(tag, text)		__nothing

extern int (*const dirindex_module_init)(void);
extern void (*const dirindex_module_exit)(void);

#endif
