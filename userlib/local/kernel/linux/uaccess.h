/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* A program's memory is our own: a wrong pointer is the program's to die of. */
#ifndef _LOCAL_UACCESS_H
#define _LOCAL_UACCESS_H

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#define __user
#define u64_to_user_ptr(val)	((void *)(uintptr_t)(val))

static inline unsigned long copy_from_user(void *to, const void *from, size_t len)
{
	if (len)
		memcpy(to, from, len);
	return 0;
}

static inline unsigned long copy_to_user(void *to, const void *from, size_t len)
{
	return copy_from_user(to, from, len);
}

static inline unsigned long clear_user(void *to, size_t len)
{
	if (len)
		memset(to, 0, len);
	return 0;
}

static inline unsigned long copy_mc_to_kernel(void *to, const void *from, unsigned int len)
{
	return copy_from_user(to, from, len);
}

#define get_user(val, ptr)	((val) = *(ptr), 0)

static inline size_t fault_in_writeable(char *to, size_t len)
{
	return 0;
}

static inline size_t fault_in_readable(const char *from, size_t len)
{
	return 0;
}

/* What is larger than we know has to be zero behind that. */
static inline int copy_struct_from_user(void *to, size_t size, const void *from,
					size_t given)
{
	size_t len = min(size, given);

	if (given > size && memchr_inv((const char *)from + size, 0, given - size))
		return -E2BIG;
	memcpy(to, from, len);
	memset((char *)to + len, 0, size - len);
	return 0;
}

#endif
