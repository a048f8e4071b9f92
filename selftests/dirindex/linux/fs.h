/* SPDX-License-Identifier: GPL-2.0-only */
/* As linux/fs.h has it, as far as a character device needs it. */
#ifndef _DIRINDEX_FS_H
#define _DIRINDEX_FS_H

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <asm/byteorder.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <linux/string.h>

#define __user
#define PAGE_SIZE	4096UL
#define DECLARE_RWSEM(name)	struct rw_semaphore name

struct inode;

struct file {
	void *private_data;
};

struct file_operations {
	void *owner;
	int (*open)(struct inode *inode, struct file *file);
	ssize_t (*read)(struct file *file, char *buf, size_t len, loff_t *pos);
	ssize_t (*write)(struct file *file, const char *text, size_t len,
			 loff_t *pos);
	loff_t (*llseek)(struct file *file, loff_t off, int whence);
	int (*release)(struct inode *inode, struct file *file);
};

static inline long PTR_ERR_OR_ZERO(const void *ptr)
{
	return IS_ERR(ptr) ? PTR_ERR(ptr) : 0;
}

static inline void le64_add_cpu(__le64 *var, u64 val)
{
	*var = cpu_to_le64(le64_to_cpu(*var) + val);
}

char *memdup_user_nul(const char *text, size_t len);
char *skip_spaces(const char *text);
char *strim(char *text);
ssize_t strscpy(char *to, const char *from, size_t size);
int kstrtou64(const char *text, unsigned int base, u64 *value);
int kstrtou16(const char *text, unsigned int base, u16 *value);

#endif
