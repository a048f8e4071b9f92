/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What the library and the command ask of a file before they read or overwrite it. */
#ifndef _LOCAL_CONTENT_H
#define _LOCAL_CONTENT_H

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Has the file the name still? */
static inline bool file_is_named(int fd, const char *path)
{
	struct stat opened, named;

	return !fstat(fd, &opened) && !stat(path, &named) &&
	       named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

/* Is there anything but zeroes?  1, 0, or a negative errno.  Holes are not read. */
static inline int file_has_content(int fd)
{
	static const char zeroes[16 << 10];
	char buf[sizeof(zeroes)];
	ssize_t len;
	off_t at;

	for (at = 0; (at = lseek(fd, at, SEEK_DATA)) >= 0; at += len) {
		len = pread(fd, buf, sizeof(buf), at);
		if (len <= 0)
			return len ? -errno : 0;
		if (memcmp(buf, zeroes, len))
			return 1;
	}
	return errno == ENXIO ? 0 : -errno;
}

#endif
