/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _LOCAL_SYNC_H
#define _LOCAL_SYNC_H

#include <linux/types.h>

/**
 * enum sync_way - What makes stores to a mapped file durable
 * @SYNC_NONE: nothing: they outlive the process, as it is the kernel that has them
 * @SYNC_PAGES: msync() of the pages
 * @SYNC_LINES: flushes of cache lines: the mapping is the memory itself (MAP_SYNC)
 */
enum sync_way { SYNC_NONE, SYNC_PAGES, SYNC_LINES };

/**
 * struct sync_file - A mapped file
 * @sequence: odd while the slot gets another mapping, or none
 * @base: first byte of the mapping; NULL: the slot is free
 * @size: bytes
 * @way: what a fence does
 * @error: of the first msync() that failed, positive; stores since are not durable
 */
struct sync_file {
	unsigned int sequence;
	char *base;
	size_t size;
	enum sync_way way;
	int error;
};

/* Fences know the mapping from now on; NULL: there are too many. */
struct sync_file *sync_file_add(void *base, size_t size, enum sync_way way);
/* No thread is about to flush anything of it. */
void sync_file_del(struct sync_file *file);

/* Of the threads of a process that forks, its child has one. */
void sync_begin_child(void);

#endif
