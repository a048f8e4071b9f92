// SPDX-License-Identifier: GPL-2.0-only
/*
 * A pool that is mapped: what is refused, what is read there and by libwort's
 * reader, and what becomes of it when the pool goes.
 */
#include <sys/wait.h>

#include "reader.h"
#include "wort_test.h"

#define NR_KEYS	2000

FIXTURE(map)
{
	struct pool pool;
	int fd;
	size_t len;
	__u8 *at;
	const struct wort_map_control *control;
	struct wort_reader reader;
	uint64_t retries;
};

FIXTURE_SETUP(map)
{
	struct wort_index_info_arg about = { .size = sizeof(about) };
	struct wort_pool_info_arg all;

	ASSERT_EQ(0, pool_up(&self->pool));
	self->fd = open_index(self->pool.fd, "index", WORT_INDEX_OPEN_F_CREATE);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, info(self->pool.fd, &all));
	ASSERT_EQ(0, call(self->fd, WORT_IOC_INDEX_INFO, &about));
	self->len = WORT_MAP_POOL_OFF + all.out_pool_size;
	self->at = mmap(NULL, self->len, PROT_READ, MAP_SHARED, self->pool.fd,
			0);
	ASSERT_NE(MAP_FAILED, (void *)self->at);
	self->control = (void *)(self->at + WORT_MAP_CONTROL_OFF);
	self->retries = 0;
	self->reader = (struct wort_reader){
		.control = self->control,
		.pool = self->at + WORT_MAP_POOL_OFF,
		.size = all.out_pool_size,
	};
	ASSERT_EQ(true, wort_reader_follow(&self->reader, about.out_engine));
	wort_reader_trust(&self->reader, wort_reader_destroyed(&self->reader),
			  about.out_root_off);
}

FIXTURE_TEARDOWN(map)
{
	munmap(self->at, self->len);
	close(self->fd);
	pool_down(&self->pool);
}

static int make_key(int i, char *key)
{
	return sprintf(key, i % 2 ? "%d" : "a common beginning %d", i);
}

static size_t value_len(int i)
{
	return i % 3 ? i % 3 * 4 : i % 2 ? 300 : 20000;
}

static int fill(int fd, int nr)
{
	static char value[20000];
	char key[64];
	int i, err = 0;

	for (i = 0; i < nr && !err; i++) {
		memset(value, i, sizeof(value));
		err = insert_raw(fd, key, make_key(i, key), value, value_len(i),
				 0);
	}
	return err;
}

static int look(struct wort_reader *reader, int i, uint64_t *retries)
{
	static char value[WORT_VALUE_MAX];
	size_t len = sizeof(value), n;
	char key[64];
	int err;

	err = wort_reader_get(reader, key, make_key(i, key), value, &len,
			      retries);
	for (n = 0; !err && n < len; n++)
		if (value[n] != (char)i)
			return -EBADMSG;
	return err ? err : len == value_len(i) ? 0 : -EBADMSG;
}

static int mmap_error(size_t len, int prot, int flags, int fd, off_t off)
{
	void *at = mmap(NULL, len, prot, flags, fd, off);

	if (at == MAP_FAILED)
		return -errno;
	munmap(at, len);
	return 0;
}

TEST_F(map, refused)
{
	int fd = self->pool.fd, rd = open_pool(self->pool.minor, O_RDONLY);
	size_t len = self->len;

	EXPECT_EQ(-EPERM, mmap_error(len, PROT_READ | PROT_WRITE, MAP_SHARED,
				     fd, 0));
	EXPECT_EQ(-EPERM, mmap_error(len, PROT_READ | PROT_WRITE, MAP_PRIVATE,
				     fd, 0));
	EXPECT_EQ(-EPERM, mmap_error(len, PROT_READ | PROT_EXEC, MAP_SHARED,
				     fd, 0));
	EXPECT_EQ(-EINVAL, mmap_error(len + 4096, PROT_READ, MAP_SHARED, fd,
				      0));
	EXPECT_EQ(-EINVAL, mmap_error(4096, PROT_READ, MAP_SHARED, fd, len));
	EXPECT_EQ(-ENODEV, mmap_error(4096, PROT_READ, MAP_SHARED, self->fd,
				      0));
	EXPECT_EQ(-ENODEV, mmap_error(4096, PROT_READ, MAP_SHARED,
				      self->pool.control, 0));
	EXPECT_EQ(0, mmap_error(len, PROT_READ, MAP_PRIVATE, fd, 0));
	EXPECT_EQ(0, mmap_error(len, PROT_READ, MAP_SHARED, rd, 0));
	EXPECT_EQ(0, mmap_error(4096, PROT_READ, MAP_SHARED, rd, len - 4096));
	close(rd);
}

TEST_F(map, stays_for_reading)
{
	EXPECT_EQ(-1, mprotect(self->at, 4096, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect(self->at, 4096, PROT_READ | PROT_EXEC));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(MAP_FAILED, mremap(self->at, self->len, self->len + 4096,
				     MREMAP_MAYMOVE));
	EXPECT_EQ(EFAULT, errno);
}

TEST_F(map, shows_the_media)
{
	const __u64 *sb = (void *)(self->at + WORT_MAP_POOL_OFF +
				   WORT_MEDIA_SB_OFF);

	EXPECT_EQ(WORT_MEDIA_MAGIC, sb[0]);
	EXPECT_EQ(WORT_MAP_FOLLOW, self->control->state);
	EXPECT_EQ(0, insert(self->fd, "key", "value that is not in the leaf"));
	EXPECT_NE(NULL, memmem(self->at + WORT_MAP_POOL_OFF,
			       self->reader.size,
			       "value that is not in the leaf", 29));
}

TEST_F(map, nothing_between)
{
	EXPECT_EQ(0, touch(self->at + sizeof(*self->control) - 1));
	EXPECT_EQ(-EFAULT, touch(self->at + 65536));
	EXPECT_EQ(-EFAULT, touch(self->at + WORT_MAP_POOL_OFF - 1));
	EXPECT_EQ(0, touch(self->at + WORT_MAP_POOL_OFF));
	EXPECT_EQ(0, touch(self->at + self->len - 1));
}

TEST_F(map, answers)
{
	uint64_t before = self->control->generation;
	uint64_t *retries = &self->retries;
	int i;

	ASSERT_EQ(0, fill(self->fd, NR_KEYS));
	for (i = 0; i < NR_KEYS; i++)
		ASSERT_EQ(0, look(&self->reader, i, retries));
	EXPECT_EQ(-ENOENT, look(&self->reader, NR_KEYS, retries));
	/* The walk may end meanwhile. */
	EXPECT_GE(self->control->generation - before, *retries);
	ASSERT_EQ(0, delete(self->fd, "a common beginning 42"));
	EXPECT_EQ(-ENOENT, look(&self->reader, 42, retries));
	EXPECT_EQ(0, look(&self->reader, 44, retries));
}

TEST_F(map, destroyed)
{
	uint64_t *retries = &self->retries;
	int other;

	ASSERT_EQ(0, fill(self->fd, 10));
	other = open_index(self->pool.fd, "other", WORT_INDEX_OPEN_F_CREATE);
	ASSERT_LE(0, other);
	EXPECT_EQ(0, look(&self->reader, 7, retries));
	ASSERT_EQ(0, destroy(self->pool.fd, "other"));
	EXPECT_EQ(-EAGAIN, look(&self->reader, 7, retries));
	wort_reader_trust(&self->reader, wort_reader_destroyed(&self->reader),
			  self->reader.root_off);
	EXPECT_EQ(0, look(&self->reader, 7, retries));
	ASSERT_EQ(0, destroy(self->pool.fd, "index"));
	EXPECT_EQ(-EAGAIN, look(&self->reader, 7, retries));
	close(other);
}

/* A rename moves the root: nobody reads on in the old one. */
TEST_F(map, renamed)
{
	struct wort_index_info_arg about = { .size = sizeof(about) };
	uint64_t *retries = &self->retries;

	ASSERT_EQ(0, fill(self->fd, 10));
	EXPECT_EQ(0, look(&self->reader, 7, retries));
	ASSERT_EQ(0, rename_index(self->pool.fd, "index", "renamed"));
	EXPECT_EQ(-EAGAIN, look(&self->reader, 7, retries));
	ASSERT_EQ(0, call(self->fd, WORT_IOC_INDEX_INFO, &about));
	EXPECT_NE(self->reader.root_off, about.out_root_off);
	EXPECT_EQ(7, about.out_name_len);
	EXPECT_EQ(0, memcmp(about.out_name, "renamed", 8));
	wort_reader_trust(&self->reader, wort_reader_destroyed(&self->reader),
			  about.out_root_off);
	EXPECT_EQ(0, look(&self->reader, 7, retries));
}

/* What was never looked at before is there, too: zeroes. */
static void expect_dead(struct __test_metadata *_metadata,
			const struct wort_reader *reader)
{
	EXPECT_EQ(WORT_MAP_DEAD, reader->control->state);
	EXPECT_EQ(0, *(__u64 *)(reader->pool + WORT_MEDIA_SB_OFF));
	EXPECT_EQ(0, touch(reader->pool));
	EXPECT_EQ(0, touch(reader->pool + reader->size / 2));
	EXPECT_EQ(0, touch(reader->pool + reader->size - 1));
}

TEST_F(map, detached)
{
	uint64_t generation = self->control->generation;

	ASSERT_EQ(0, fill(self->fd, 10));
	EXPECT_EQ(0, look(&self->reader, 7, &self->retries));
	ASSERT_EQ(0, detach(self->pool.control, self->pool.minor));
	EXPECT_EQ(-EAGAIN, look(&self->reader, 7, &self->retries));
	expect_dead(_metadata, &self->reader);
	EXPECT_LE(generation, self->control->generation);
	EXPECT_EQ(-ENODEV, mmap_error(4096, PROT_READ, MAP_SHARED,
				      self->pool.fd, 0));
	/* The next pool is not seen. */
	ASSERT_EQ(0, reattach(&self->pool));
	expect_dead(_metadata, &self->reader);
}

/* The mapping alone keeps what it needs. */
TEST_F(map, without_descriptors)
{
	ASSERT_EQ(0, fill(self->fd, 10));
	close(self->pool.fd);
	EXPECT_EQ(0, look(&self->reader, 7, &self->retries));
	ASSERT_EQ(0, detach(self->pool.control, self->pool.minor));
	close(self->fd);
	expect_dead(_metadata, &self->reader);
	EXPECT_EQ(-1, syscall(SYS_delete_module, "wort", O_NONBLOCK));
	EXPECT_EQ(EAGAIN, errno);
	self->fd = -1;
	self->pool.fd = -1;
}

TEST_F_TIMEOUT(map, unbound, 300)
{
	char name[64];

	if (bound_name(name, sizeof(name)))
		SKIP(return, "the device has no driver to unbind");
	ASSERT_EQ(0, fill(self->fd, 10));
	EXPECT_EQ(0, look(&self->reader, 7, &self->retries));
	ASSERT_EQ(0, write_file(DRIVER "/unbind", "%s", name));
	EXPECT_EQ(-EAGAIN, look(&self->reader, 7, &self->retries));
	expect_dead(_metadata, &self->reader);
	EXPECT_EQ(0, rebind(name));
}

/* A node made elsewhere has an address space of its own. */
TEST_F(map, other_node)
{
	const char *path = "/tmp/wort-other-node";
	struct stat st;
	__u8 *at;
	int fd;

	ASSERT_EQ(0, fstat(self->pool.fd, &st));
	unlink(path);
	ASSERT_EQ(0, mknod(path, S_IFCHR | 0600, st.st_rdev));
	fd = open(path, O_RDONLY);
	unlink(path);
	if (fd < 0)
		SKIP(return, "no devices here");
	at = mmap(NULL, self->len, PROT_READ, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, (void *)at);
	EXPECT_EQ(WORT_MEDIA_MAGIC,
		  *(__u64 *)(at + WORT_MAP_POOL_OFF + WORT_MEDIA_SB_OFF));
	ASSERT_EQ(0, detach(self->pool.control, self->pool.minor));
	EXPECT_EQ(0, *(__u64 *)(at + WORT_MAP_POOL_OFF + WORT_MEDIA_SB_OFF));
	EXPECT_EQ(0, *(__u64 *)(self->at + WORT_MAP_POOL_OFF +
				WORT_MEDIA_SB_OFF));
	munmap(at, self->len);
	close(fd);
}

TEST_F(map, after_fork)
{
	int status;
	pid_t pid;

	ASSERT_EQ(0, fill(self->fd, 10));
	pid = fork();
	if (!pid)
		_exit(look(&self->reader, 7, &self->retries) ? 1 : 0);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_F(map, poison_may_be_there)
{
	ASSERT_EQ(0, detach(self->pool.control, self->pool.minor));
	ASSERT_EQ(0, reattach_with(&self->pool, WORT_ATTACH_F_MCSAFE));
	munmap(self->at, self->len);
	self->at = mmap(NULL, self->len, PROT_READ, MAP_SHARED, self->pool.fd,
			0);
	ASSERT_NE(MAP_FAILED, (void *)self->at);
	self->control = (void *)self->at;
	EXPECT_EQ(WORT_MAP_ASK, self->control->state);
}

TEST_HARNESS_MAIN
