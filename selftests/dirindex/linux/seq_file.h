/* SPDX-License-Identifier: GPL-2.0-only */
/* As linux/seq_file.h has it, for files that are one answer. */
#ifndef _DIRINDEX_SEQ_FILE_H
#define _DIRINDEX_SEQ_FILE_H

#include <linux/fs.h>
#include <linux/mutex.h>

/* The lock of a descriptor.  wort never waits for it: under it memory may be reclaimed. */
struct seq_lock {
	bool held;
};

#define mutex_lock(lock)	((lock)->held = true)
#define mutex_unlock(lock)	((lock)->held = false)

struct seq_file {
	struct seq_lock lock;
	void *private;
	int (*show)(struct seq_file *m, void *unused);
	char text[4096];
	size_t len;
};

int single_open(struct file *file, int (*show)(struct seq_file *m, void *unused),
		void *private);
int single_release(struct inode *inode, struct file *file);
ssize_t seq_read(struct file *file, char *buf, size_t len, loff_t *pos);
loff_t seq_lseek(struct file *file, loff_t off, int whence);
void seq_printf(struct seq_file *m, const char *fmt, ...);
bool seq_has_overflowed(struct seq_file *m);

#endif
