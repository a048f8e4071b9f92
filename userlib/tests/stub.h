/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the linker puts in the place of functions, and these themselves.
 */
#ifndef _WORT_STUB_H
#define _WORT_STUB_H

#include <sys/stat.h>

int __real_stat(const char *path, struct stat *st);
int __real_close(int fd);
void *__real_mmap(void *addr, size_t len, int prot, int flags, int fd,
		  off_t off);
int __real_munmap(void *addr, size_t len);
int __real_wort_ioctl(int fd, unsigned long cmd, void *arg);
int __wrap_stat(const char *path, struct stat *st);
int __wrap_close(int fd);
int __wrap_wort_open_path(const char *path, int flags);
int __wrap_wort_ioctl(int fd, unsigned long cmd, void *arg);
void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd,
		  off_t off);
int __wrap_munmap(void *addr, size_t len);

#endif
