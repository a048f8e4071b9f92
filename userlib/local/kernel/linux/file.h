/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Descriptors of the library: see handle.c. */
#ifndef _LOCAL_FILE_H
#define _LOCAL_FILE_H

#include <linux/types.h>

#define FMODE_WRITE	2U

struct file {
	unsigned int f_mode;
	unsigned int users;
	void *private_data;
};

struct file *fget(unsigned int fd);
void fput(struct file *filp);
int get_unused_fd_flags(unsigned int flags);
void put_unused_fd(unsigned int fd);
void fd_install(unsigned int fd, struct file *filp);

#endif
