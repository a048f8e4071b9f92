/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Pools in plain files, served in the process that opens them.
 *
 * The module's own portable code serves them.  This header is the boundary: on the other
 * side of it functions have names that libwort has, too.
 */
#ifndef _WORT_LOCAL_H
#define _WORT_LOCAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/wort.h>

/* Is the file at the end of the path a plain one? */
bool wort_local_path(const char *path);

/*
 * Make a pool in a file of @size bytes, which is made if it is not there; 0: the file is
 * there, with its size.  What it returns is that of WORT_IOC_FORMAT, and what open() and
 * posix_fallocate() may return.
 */
int wort_local_format(const char *path, uint64_t size,
		      const struct wort_format_arg *arg);

/*
 * Let the pool in a file take in what the file has gained, or the file grow to @size bytes
 * first.  -ERANGE: it has more than that; the others as of wort_local_open().  @former and
 * @now get the sizes of the pool.
 */
int wort_local_grow(const char *path, uint64_t size, bool process, unsigned int wait_ms,
		    uint64_t *former, uint64_t *now);

/*
 * Open a pool: a descriptor, or a negative errno.  -EWOULDBLOCK: another process has it
 * open, and has not ended within @wait_ms; -EINTR: a signal came meanwhile.  @process: what
 * is stored is to survive the process, and not a power cut.
 */
int wort_local_open(const char *path, int flags, bool process, unsigned int wait_ms);

/* The process that has the file open as a pool; 0: none, or it is not known. */
pid_t wort_local_holder(const char *path);

/* Is this a descriptor of wort_local_open(), or of an index opened on it? */
bool wort_local_owns(int fd);
int wort_local_ioctl(int fd, unsigned long cmd, void *arg);
void wort_local_close(int fd);

/* Where lookups find the control page and the pool, as in a mapping of a device. */
void wort_local_map(int fd, const void **control, const void **pool, uint64_t *size);

#endif
