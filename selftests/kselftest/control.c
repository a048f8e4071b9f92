// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands on /dev/wort-control, and all that can be wrong with a device.
 */
#include <linux/blkpg.h>
#include <linux/dm-ioctl.h>
#include <linux/fs.h>

#include "wort_test.h"

#define PART_MIB	(1 << 20)

FIXTURE(control)
{
	int fd;
	const char *device;
};

FIXTURE_SETUP(control)
{
	self->device = test_device();
	self->fd = open(CONTROL, O_RDWR);
	ASSERT_LE(0, self->fd);
	detach_all(self->fd);
	ASSERT_EQ(0, format(self->fd, self->device, WORT_FORMAT_F_FORCE));
}

FIXTURE_TEARDOWN(control)
{
	detach_all(self->fd);
	close(self->fd);
}

/* errno-table: operation EEXIST */
TEST_F(control, format_force)
{
	EXPECT_EQ(-EEXIST, format(self->fd, self->device, 0));
	EXPECT_EQ(0, format(self->fd, self->device, WORT_FORMAT_F_FORCE));
}

TEST_F(control, format_identity)
{
	struct wort_format_arg arg = {
		.flags = WORT_FORMAT_F_FORCE,
		.uuid = "0123456789abcde",
		.label = "a label",
	};
	struct wort_pool_info_arg got;
	int minor, fd;

	ASSERT_EQ(0, format_with(self->fd, self->device, &arg));
	minor = attach(self->fd, self->device);
	fd = open_pool(minor, O_RDONLY);
	ASSERT_EQ(0, info(fd, &got));
	EXPECT_EQ(0, memcmp(arg.uuid, got.out_uuid, sizeof(arg.uuid)));
	EXPECT_EQ(0, memcmp(arg.label, got.out_label, sizeof(arg.label)));
	close(fd);
}

static int uuid_of(int control, const char *device, __u8 *uuid)
{
	struct wort_pool_info_arg got;
	int fd = open_pool(attach(control, device), O_RDONLY);
	int err = info(fd, &got);

	memcpy(uuid, got.out_uuid, WORT_UUID_LEN);
	close(fd);
	detach_all(control);
	return err;
}

TEST_F(control, format_chooses_uuid)
{
	__u8 first[WORT_UUID_LEN], second[WORT_UUID_LEN];
	__u8 zero[WORT_UUID_LEN] = { };

	ASSERT_EQ(0, uuid_of(self->fd, self->device, first));
	ASSERT_EQ(0, format(self->fd, self->device, WORT_FORMAT_F_FORCE));
	ASSERT_EQ(0, uuid_of(self->fd, self->device, second));
	EXPECT_NE(0, memcmp(first, zero, sizeof(zero)));
	EXPECT_NE(0, memcmp(first, second, sizeof(zero)));
}

TEST_F(control, format_extent_sizes)
{
	static const __u32 good[] = { 4096, 65536, 1 << 20, 0 };
	static const __u32 bad[] = { 1, 2048, 4097, 12288, 1 << 21, 1U << 31,
				     ~0U };
	struct wort_format_arg arg = { .flags = WORT_FORMAT_F_FORCE };
	struct wort_pool_info_arg got;
	size_t i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(good); i++) {
		arg.extent_size = good[i];
		ASSERT_EQ(0, format_with(self->fd, self->device, &arg));
		fd = open_pool(attach(self->fd, self->device), O_RDONLY);
		ASSERT_EQ(0, info(fd, &got));
		EXPECT_EQ(good[i] ? good[i] : 65536, got.out_extent_size);
		close(fd);
		detach_all(self->fd);
	}
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		arg.extent_size = bad[i];
		EXPECT_EQ(-EINVAL, format_with(self->fd, self->device, &arg));
	}
}

TEST_F(control, format_label_shape)
{
	struct wort_format_arg arg = { .flags = WORT_FORMAT_F_FORCE };

	memset(arg.label, 'l', sizeof(arg.label));
	EXPECT_EQ(0, format_with(self->fd, self->device, &arg));
	arg.label[3] = 0;
	EXPECT_EQ(-EINVAL, format_with(self->fd, self->device, &arg));
}

/* The same for format and attach. */
static void expect_refused_path(struct __test_metadata *_metadata, int control,
				int err, const char *device, __u32 len)
{
	struct wort_format_arg formatting = {
		.size = sizeof(formatting),
		.flags = WORT_FORMAT_F_FORCE,
		.dev_ptr = PTR(device),
		.dev_len = len,
	};
	struct wort_attach_arg attaching = {
		.size = sizeof(attaching),
		.dev_ptr = PTR(device),
		.dev_len = len,
	};

	EXPECT_EQ(err, call(control, WORT_IOC_FORMAT, &formatting));
	EXPECT_EQ(err, call(control, WORT_IOC_ATTACH, &attaching));
}

static void expect_refused(struct __test_metadata *_metadata, int control,
			   int err, const char *device)
{
	expect_refused_path(_metadata, control, err, device, strlen(device));
}

#define EXPECT_REFUSED(err, device) \
	expect_refused(_metadata, self->fd, err, device)

TEST_F(control, paths)
{
	char path[WORT_DEVICE_MAX + 2];

	memset(path, '/', sizeof(path));
	expect_refused_path(_metadata, self->fd, -EINVAL, path, 0);
	expect_refused_path(_metadata, self->fd, -EMSGSIZE, path,
			    WORT_DEVICE_MAX + 1);
	expect_refused_path(_metadata, self->fd, -EMSGSIZE, path, ~0U);
	expect_refused_path(_metadata, self->fd, -EINVAL, "/dev\0pmem0", 10);
	expect_refused_path(_metadata, self->fd, -EFAULT, bad_page(), 10);
	EXPECT_REFUSED(-ENOENT, "/dev/no-such-device");
	/* as long as a path may be: many slashes are one */
	memcpy(path + WORT_DEVICE_MAX - 10, "/dev/pmem0", 10);
	expect_refused_path(_metadata, self->fd, 0, path, WORT_DEVICE_MAX);
}

/* errno-table: device ENOTBLK */
TEST_F(control, not_a_block_device)
{
	EXPECT_REFUSED(-ENOTBLK, "/dev/null");
	EXPECT_REFUSED(-ENOTBLK, "/proc");
	EXPECT_REFUSED(-ENOTBLK, CONTROL);
}

/*
 * A block device that is no memory, if there is one.
 *
 * errno-table: device ENXIO
 */
TEST_F(control, not_a_dax_device)
{
	static const char * const devices[] = {
		"/dev/ram0", "/dev/zram0", "/dev/nullb0", "/dev/vda",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(devices); i++) {
		if (access(devices[i], F_OK))
			continue;
		EXPECT_REFUSED(-ENXIO, devices[i]);
		return;
	}
	SKIP(return, "no other block device: load brd");
}

/* errno-table: device EOPNOTSUPP */
TEST_F(control, asynchronous_flush)
{
	const char *device = getenv("WORT_ASYNC_DEVICE");

	if (!device)
		SKIP(return, "no WORT_ASYNC_DEVICE (virtio-pmem)");
	EXPECT_REFUSED(-EOPNOTSUPP, device);
}

struct dm_call {
	struct dm_ioctl head;
	struct dm_target_spec spec;
	char params[64];
};

static int dm_call(int fd, unsigned long cmd, struct dm_call *dm)
{
	dm->head.version[0] = DM_VERSION_MAJOR;
	dm->head.data_size = sizeof(*dm);
	dm->head.data_start = sizeof(dm->head);
	strcpy(dm->head.name, "wort-test");
	return call(fd, cmd, dm);
}

/* A linear target over the first MiB of the device; its node in path. */
static int map_device(int fd, const char *device, char *path, size_t size)
{
	struct dm_call create = { }, load = { .head.target_count = 1 };
	struct dm_call resume = { };
	int err;

	load.spec.length = PART_MIB / 512;
	strcpy(load.spec.target_type, "linear");
	snprintf(load.params, sizeof(load.params), "%s 0", device);
	err = dm_call(fd, DM_DEV_CREATE, &create);
	if (!err)
		err = dm_call(fd, DM_TABLE_LOAD, &load);
	if (!err)
		err = dm_call(fd, DM_DEV_SUSPEND, &resume);
	snprintf(path, size, "/dev/dm-%u",
		 (unsigned int)(create.head.dev & 0xff));
	return err;
}

/* errno-table: device EOPNOTSUPP */
TEST_F(control, device_mapper)
{
	int fd = open("/dev/mapper/control", O_RDWR);
	struct dm_call remove = { };
	char path[32];

	if (fd < 0)
		SKIP(return, "no device-mapper: load dm-mod");
	ASSERT_EQ(0, map_device(fd, self->device, path, sizeof(path)));
	EXPECT_REFUSED(-EOPNOTSUPP, path);
	EXPECT_REFUSED(-EBUSY, self->device);
	EXPECT_EQ(0, dm_call(fd, DM_DEV_REMOVE, &remove));
}

/* errno-table: device EREMOTEIO */
TEST_F(control, memory_does_not_hold)
{
	const char *device = getenv("WORT_LOSSY_DEVICE");

	if (!device)
		SKIP(return, "no WORT_LOSSY_DEVICE (memmap= where is none)");
	EXPECT_EQ(-EREMOTEIO, format(self->fd, device, WORT_FORMAT_F_FORCE));
}

/* errno-table: operation EBUSY */
TEST_F(control, busy)
{
	int fd = open(self->device, O_RDONLY | O_EXCL);

	ASSERT_LE(0, fd);
	EXPECT_REFUSED(-EBUSY, self->device);
	close(fd);
	ASSERT_LE(0, attach(self->fd, self->device));
	EXPECT_REFUSED(-EBUSY, self->device);
	EXPECT_EQ(-1, open(self->device, O_RDONLY | O_EXCL));
	EXPECT_EQ(EBUSY, errno);
}

static int partition(const char *device, int op, int number, long long start,
		     long long len)
{
	struct blkpg_partition part = {
		.start = start,
		.length = len,
		.pno = number,
	};
	struct blkpg_ioctl_arg arg = {
		.op = op,
		.datalen = sizeof(part),
		.data = &part,
	};
	int fd = open(device, O_RDONLY);
	int err = ioctl(fd, BLKPG, &arg) < 0 ? -errno : 0;

	close(fd);
	return err;
}

static int add_partition(const char *device, int number, long long start,
			 long long len)
{
	return partition(device, BLKPG_ADD_PARTITION, number, start, len);
}

static void drop_partitions(const char *device)
{
	partition(device, BLKPG_DEL_PARTITION, 1, 0, 0);
	partition(device, BLKPG_DEL_PARTITION, 2, 0, 0);
}

/* errno-table: device EDOM */
TEST_F(control, misaligned)
{
	char part[32];

	snprintf(part, sizeof(part), "%sp1", self->device);
	ASSERT_EQ(0, add_partition(self->device, 1, PART_MIB + 512, PART_MIB));
	EXPECT_REFUSED(-EDOM, part);
	drop_partitions(self->device);
	ASSERT_EQ(0, add_partition(self->device, 1, PART_MIB, PART_MIB + 512));
	EXPECT_REFUSED(-EDOM, part);
	drop_partitions(self->device);
}

/* errno-table: device ENOSPC */
TEST_F(control, too_small)
{
	char part[32];

	snprintf(part, sizeof(part), "%sp1", self->device);
	ASSERT_EQ(0, add_partition(self->device, 1, PART_MIB,
				   WORT_MEDIA_POOL_MIN - 4096));
	EXPECT_REFUSED(-ENOSPC, part);
	drop_partitions(self->device);
	ASSERT_EQ(0, add_partition(self->device, 1, PART_MIB,
				   WORT_MEDIA_POOL_MIN));
	EXPECT_EQ(0, format(self->fd, part, WORT_FORMAT_F_FORCE));
	EXPECT_LE(0, attach(self->fd, part));
	detach_all(self->fd);
	drop_partitions(self->device);
}

/* A disk's memory has one holder. */
TEST_F(control, two_partitions)
{
	char part1[32], part2[32];

	snprintf(part1, sizeof(part1), "%sp1", self->device);
	snprintf(part2, sizeof(part2), "%sp2", self->device);
	ASSERT_EQ(0, add_partition(self->device, 1, PART_MIB, PART_MIB));
	ASSERT_EQ(0, add_partition(self->device, 2, 2 * PART_MIB, PART_MIB));
	ASSERT_EQ(0, format(self->fd, part1, WORT_FORMAT_F_FORCE));
	ASSERT_EQ(0, format(self->fd, part2, WORT_FORMAT_F_FORCE));
	EXPECT_LE(0, attach(self->fd, part1));
	EXPECT_REFUSED(-EBUSY, part2);
	detach_all(self->fd);
	EXPECT_LE(0, attach(self->fd, part2));
	detach_all(self->fd);
	drop_partitions(self->device);
}

static int change_superblocks(const char *device, size_t at, const void *bytes,
			      size_t len)
{
	int fd = open(device, O_RDWR), i, err = 0;

	for (i = 0; i < WORT_MEDIA_SB_COPIES; i++)
		if (pwrite(fd, bytes, len, WORT_MEDIA_SB_OFF +
			   i * WORT_MEDIA_SB_SPACE + at) != (ssize_t)len)
			err = -EIO;
	if (fsync(fd))
		err = -errno;
	close(fd);
	return err;
}

#define CHANGE(field, bytes, len)					\
	ASSERT_EQ(0, change_superblocks(self->device,			\
		offsetof(struct wort_media_sb, field), bytes, len))

/* errno-table: device ENODATA */
TEST_F(control, no_pool)
{
	CHANGE(magic, "no magic", 8);
	EXPECT_EQ(-ENODATA, attach(self->fd, self->device));
	EXPECT_EQ(0, format(self->fd, self->device, 0));
	EXPECT_LE(0, attach(self->fd, self->device));
}

/* errno-table: device EPROTONOSUPPORT */
TEST_F(control, unknown_version)
{
	CHANGE(version, "\xff\0\0\0", 4);
	EXPECT_EQ(-EPROTONOSUPPORT, attach(self->fd, self->device));
	EXPECT_EQ(-EEXIST, format(self->fd, self->device, 0));
}

TEST_F(control, damaged_superblock)
{
	CHANGE(pool_size, "\0\0\0\0", 4);
	EXPECT_EQ(-EUCLEAN, attach(self->fd, self->device));
	EXPECT_EQ(-EEXIST, format(self->fd, self->device, 0));
	EXPECT_EQ(0, format(self->fd, self->device, WORT_FORMAT_F_FORCE));
	EXPECT_LE(0, attach(self->fd, self->device));
}

/* The first 4 KiB belong to others. */
TEST_F(control, boot_block_untouched)
{
	char before[4096], after[4096];
	int fd = open(self->device, O_RDWR);

	memset(before, 'b', sizeof(before));
	ASSERT_EQ(4096, pwrite(fd, before, 4096, 0));
	ASSERT_EQ(0, fsync(fd));
	close(fd);
	ASSERT_EQ(0, format(self->fd, self->device, WORT_FORMAT_F_FORCE));
	fd = open(self->device, O_RDONLY);
	ASSERT_EQ(4096, pread(fd, after, 4096, 0));
	close(fd);
	EXPECT_EQ(0, memcmp(before, after, 4096));
}

/* errno-table: operation ENOENT */
TEST_F(control, attach_and_detach)
{
	int minor = attach(self->fd, self->device), fd;

	ASSERT_EQ(0, minor);
	EXPECT_EQ(-ENOENT, detach(self->fd, minor + 1));
	fd = open_pool(minor, O_RDONLY);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, detach(self->fd, minor));
	EXPECT_EQ(-ENOENT, detach(self->fd, minor));
	EXPECT_EQ(-ENOENT, open_pool(minor, O_RDONLY));
	EXPECT_EQ(0, attach(self->fd, self->device));
}

TEST_F(control, node_is_private)
{
	struct stat status;

	ASSERT_EQ(0, attach(self->fd, self->device));
	ASSERT_EQ(0, stat("/dev/wort0", &status));
	EXPECT_EQ(0600, status.st_mode & 07777);
	ASSERT_EQ(0, stat(CONTROL, &status));
	EXPECT_EQ(0600, status.st_mode & 07777);
}

TEST_F(control, list)
{
	struct wort_pool_record record;
	struct wort_list_arg arg = {
		.size = sizeof(arg),
		.buf_ptr = PTR(&record),
		.buf_len = sizeof(record),
	};

	ASSERT_EQ(0, call(self->fd, WORT_IOC_LIST, &arg));
	EXPECT_EQ(0, arg.out_count);
	EXPECT_EQ(0, arg.out_more);
	ASSERT_EQ(0, attach(self->fd, self->device));
	ASSERT_EQ(0, call(self->fd, WORT_IOC_LIST, &arg));
	ASSERT_EQ(1, arg.out_count);
	EXPECT_EQ(0, arg.out_more);
	EXPECT_EQ(0, record.minor);
	EXPECT_NE(0, record.pool_size);
	EXPECT_EQ(0, strcmp((char *)record.device,
			    strrchr(self->device, '/') + 1));
	arg.start = 1;
	ASSERT_EQ(0, call(self->fd, WORT_IOC_LIST, &arg));
	EXPECT_EQ(0, arg.out_count);
	arg.start = 0;
	arg.buf_len = sizeof(record) - 1;
	ASSERT_EQ(0, call(self->fd, WORT_IOC_LIST, &arg));
	EXPECT_EQ(0, arg.out_count);
	EXPECT_EQ(1, arg.out_more);
	arg.buf_len = WORT_BUF_MAX + 1;
	EXPECT_EQ(-EMSGSIZE, call(self->fd, WORT_IOC_LIST, &arg));
}

TEST_F(control, records_survive)
{
	int i, minor, pool, index;

	for (i = 0; i < 3; i++) {
		minor = attach(self->fd, self->device);
		ASSERT_LE(0, minor);
		pool = open_pool(minor, O_RDWR);
		index = open_index(pool, "index", WORT_INDEX_OPEN_F_CREATE);
		ASSERT_LE(0, index);
		if (i)
			EXPECT_EQ(0, lookup(index, "key", "value"));
		EXPECT_EQ(0, insert(index, "key", "value"));
		close(index);
		close(pool);
		ASSERT_EQ(0, detach(self->fd, minor));
	}
}

TEST_HARNESS_MAIN
