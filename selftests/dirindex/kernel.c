// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the sample takes of the kernel: a device, an answer to be read, numbers.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>

#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "host.h"

static const struct file_operations *device;

int misc_register(struct miscdevice *misc)
{
	device = misc->fops;
	return 0;
}

void misc_deregister(struct miscdevice *misc)
{
	device = NULL;
}

int single_open(struct file *file, int (*show)(struct seq_file *m, void *unused),
		void *private)
{
	struct seq_file *m = kzalloc(sizeof(*m), GFP_KERNEL);

	if (!m)
		return -ENOMEM;
	m->show = show;
	m->private = private;
	file->private_data = m;
	return 0;
}

int single_release(struct inode *inode, struct file *file)
{
	kfree(file->private_data);
	return 0;
}

/* @buf takes all that there is. */
ssize_t seq_read(struct file *file, char *buf, size_t len, loff_t *pos)
{
	struct seq_file *m = file->private_data;
	int err = m->show(m, NULL);

	if (err)
		return err;
	strscpy(buf, m->text, len);
	return m->len;
}

loff_t seq_lseek(struct file *file, loff_t off, int whence)
{
	return -ESPIPE;
}

void seq_printf(struct seq_file *m, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	m->len += vsnprintf(m->text + m->len, sizeof(m->text) - m->len, fmt, args);
	va_end(args);
	if (m->len >= sizeof(m->text))
		die("an answer of the sample is too long");
}

bool seq_has_overflowed(struct seq_file *m)
{
	return false;
}

char *memdup_user_nul(const char *text, size_t len)
{
	char *copy = kzalloc(len + 1, GFP_KERNEL);

	if (!copy)
		return ERR_PTR(-ENOMEM);
	memcpy(copy, text, len);
	return copy;
}

char *skip_spaces(const char *text)
{
	while (isspace((unsigned char)*text))
		text++;
	return (char *)text;
}

char *strim(char *text)
{
	size_t len = strlen(text);

	while (len && isspace((unsigned char)text[len - 1]))
		text[--len] = 0;
	return skip_spaces(text);
}

ssize_t strscpy(char *to, const char *from, size_t size)
{
	size_t len = strlen(from);

	if (len >= size)
		return -E2BIG;
	memcpy(to, from, len + 1);
	return len;
}

int kstrtou64(const char *text, unsigned int base, u64 *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, base);
	return end == text || *end || errno ? -EINVAL : 0;
}

int kstrtou16(const char *text, unsigned int base, u16 *value)
{
	u64 large;
	int err = kstrtou64(text, base, &large);

	*value = large;
	return err ? err : large > UINT16_MAX ? -ERANGE : 0;
}

int dirindex_command(const char *command, const char **answer)
{
	static char text[4096];
	struct file file = { };
	ssize_t done = device->open(NULL, &file);
	loff_t pos = 1;	/* where an answer before has ended */

	if (done)
		return done;
	text[0] = 0;
	done = device->write(&file, command, strlen(command), &pos);
	if (done > 0 && pos)
		done = -ESPIPE;
	if (done > 0 && answer)
		done = device->read(&file, text, sizeof(text), &pos);
	if (answer)
		*answer = text;
	device->release(NULL, &file);
	return done < 0 ? done : 0;
}
