/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What the library and the command ask of a file before they overwrite it. */
#ifndef _LOCAL_CONTENT_H
#define _LOCAL_CONTENT_H

#include <errno.h>
#include <string.h>
#include <unistd.h>

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
