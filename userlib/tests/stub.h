/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the linker puts in the place of functions, and these themselves.
 */
#ifndef _WORT_STUB_H
#define _WORT_STUB_H

#include <sys/stat.h>

int __real_stat(const char *path, struct stat *st);
int __real_close(int fd);
int __wrap_stat(const char *path, struct stat *st);
int __wrap_close(int fd);
int __wrap_wort_open_path(const char *path, int flags);
int __wrap_wort_ioctl(int fd, unsigned long cmd, void *arg);

#endif
