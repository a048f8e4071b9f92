/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One partition on the test device, of any size, or two.
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

/*
 * The first partition begins at 1 MiB; the disk must not be in use.  @second: size of the
 * partition behind it, 0: none.  @path: set to that of the first, /dev/pmem0p1.
 */
static inline int make_partitions(const char *disk, __u32 size, __u32 second, char path[64])
{
	__le32 entries[8] = {
		0, htole32(0x83), htole32(2048), htole32(size / 512),
		0, htole32(0x83), htole32(2048 + size / 512), htole32(second / 512),
	};
	__u8 mbr[512] = { };

	memcpy(mbr + 446, entries, second ? sizeof(entries) : sizeof(entries) / 2);
	mbr[510] = 0x55;
	mbr[511] = 0xaa;
	snprintf(path, 64, "%sp1", disk);
	return write_mbr(disk, mbr);
}

static inline int make_partition(const char *disk, __u32 size, char path[64])
{
	return make_partitions(disk, size, 0, path);
}

static inline int drop_partition(const char *disk)
{
	static const __u8 mbr[512];

	return write_mbr(disk, mbr);
}

#endif
