/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * What the files of the library share.
 */
#ifndef _WORT_INTERNAL_H
#define _WORT_INTERNAL_H

#include <sys/ioctl.h>

#include <wort.h>

#define WORT_API	__attribute__((visibility("default")))

#define WORT_CONTROL_PATH	"/dev/wort-control"

struct wort_index {
	int fd;
};

/* A pointer as the ioctl interface carries it. */
static inline uint64_t wort_ptr(const void *ptr)
{
	return (uintptr_t)ptr;
}

/* ioctl() and open() that return a negative errno */
int wort_ioctl(int fd, unsigned long cmd, void *arg);
int wort_open_path(const char *path, int flags);

/*
 * Read options, whose first member is their size, into a struct of @size bytes
 * that this library knows.  NULL: all zero.
 */
int wort_opts_read(void *dst, size_t size, const void *opts);

#endif
