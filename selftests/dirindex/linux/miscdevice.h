/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DIRINDEX_MISCDEVICE_H
#define _DIRINDEX_MISCDEVICE_H

#include <linux/fs.h>

#define MISC_DYNAMIC_MINOR	255

struct miscdevice {
	int minor;
	const char *name;
	const struct file_operations *fops;
	unsigned short mode;
};

int misc_register(struct miscdevice *device);
void misc_deregister(struct miscdevice *device);

#endif
