/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The sample for kernel code, kmod/samples/dirindex.c, in a program: its index is
 * in a pool in memory.
 */
#ifndef _DIRINDEX_HOST_H
#define _DIRINDEX_HOST_H

#include "../lib/pmpool.h"

/* Handles that are opened from now on are of this pool. */
void dirindex_serve(struct pmpool *pm);

/* Load the sample on a pool.  Return: 0, or the errno of its init function. */
int dirindex_load(struct pmpool *pm);
void dirindex_unload(void);

/*
 * Write a command to its device and read the answer, which the next call
 * overwrites; NULL: there is none to be read.  Return: 0, or a negative errno.
 */
int dirindex_command(const char *command, const char **answer);

#endif
