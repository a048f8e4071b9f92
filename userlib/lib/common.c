// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * What the files of the library share.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "../local/local.h"
#include "internal.h"

/* As of the arguments of ioctls: beyond that a size is none. */
#define OPTS_MAX	4096

WORT_API const char *wort_version(void)
{
	return WORT_VERSION;
}

int wort_ioctl(int fd, unsigned long cmd, void *arg)
{
	int val;

	if (wort_local_owns(fd))
		return wort_local_ioctl(fd, cmd, arg);
	val = ioctl(fd, cmd, arg);
	return val < 0 ? -errno : val;
}

void wort_close(int fd)
{
	if (wort_local_owns(fd))
		wort_local_close(fd);
	else
		close(fd);
}

int wort_open_path(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int wort_opts_read(void *dst, size_t size, const void *opts)
{
	const unsigned char *tail;
	size_t given;

	memset(dst, 0, size);
	if (!opts)
		return 0;
	memcpy(&given, opts, sizeof(given));
	if (given < sizeof(given))
		return -EINVAL;
	if (given > OPTS_MAX)
		return -E2BIG;
	for (tail = opts; given > size; given--)
		if (tail[given - 1])
			return -E2BIG;
	memcpy(dst, opts, given);
	return 0;
}
