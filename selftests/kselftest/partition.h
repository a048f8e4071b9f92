/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One partition on the test device, of any size.
 */
#ifndef _WORT_PARTITION_H
#define _WORT_PARTITION_H

#include <endian.h>
#include <linux/fs.h>

#include "wort_test.h"

static inline int write_mbr(const char *disk, const __u8 *mbr)
{
	int fd = open(disk, O_RDWR | O_CLOEXEC), err = 0;

	if (fd < 0)
		return -errno;
	if (pwrite(fd, mbr, 512, 0) != 512 || fsync(fd) || ioctl(fd, BLKRRPART))
		err = -errno;
	close(fd);
	return err;
}

/* Its bytes begin at 1 MiB; nobody uses the disk.  @path: /dev/pmem0p1. */
static inline int make_partition(const char *disk, __u32 size, char path[64])
{
	__le32 entry[4] = {
		0, htole32(0x83), htole32(2048), htole32(size / 512),
	};
	__u8 mbr[512] = { };

	memcpy(mbr + 446, entry, sizeof(entry));
	mbr[510] = 0x55;
	mbr[511] = 0xaa;
	snprintf(path, 64, "%sp1", disk);
	return write_mbr(disk, mbr);
}

static inline int drop_partition(const char *disk)
{
	static const __u8 mbr[512];

	return write_mbr(disk, mbr);
}

#endif
