// SPDX-License-Identifier: GPL-2.0-only
/*
 * Detach, removal of the device and failing memory, with users at work.
 */
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include "partition.h"

#define NR_THREADS	4

FIXTURE(revoke)
{
	struct pool pool;
	int fd;
};

FIXTURE_SETUP(revoke)
{
	ASSERT_EQ(0, pool_up(&self->pool));
	self->fd = open_index(self->pool.fd, "index", WORT_INDEX_OPEN_F_CREATE);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(revoke)
{
	close(self->fd);
	pool_down(&self->pool);
}

/* -EWOULDBLOCK as long as something holds it. */
static int unload(void)
{
	return syscall(SYS_delete_module, "wort", O_NONBLOCK) ? -errno : 0;
}

TEST_F(revoke, module_stays)
{
	struct pool *pool = &self->pool;
	int index = self->fd;

	EXPECT_EQ(-EWOULDBLOCK, unload());
	close(pool->control);
	EXPECT_EQ(-EWOULDBLOCK, unload());
	close(pool->fd);
	close(index);
	/* a pool without any descriptor */
	EXPECT_EQ(-EWOULDBLOCK, unload());
	pool->control = open(CONTROL, O_RDWR);
	pool->fd = open_pool(pool->minor, O_RDWR);
	index = open_index(pool->fd, "index", 0);
	ASSERT_EQ(0, detach(pool->control, pool->minor));
	close(pool->control);
	close(pool->fd);
	/* an index without a pool */
	EXPECT_EQ(-EWOULDBLOCK, unload());
	EXPECT_EQ(-ENODEV, insert(index, "key", "value"));
	close(index);
	pool->control = open(CONTROL, O_RDWR);
	ASSERT_LE(0, pool->control);
}

struct user {
	pthread_t thread;
	int pool;
	int index;
	int number;
	int err;		/* the first that was not expected */
	long ops;
};

static atomic_int nr_started;

static int use_once(struct user *user, long i)
{
	struct wort_pool_info_arg pool_info;
	struct wort_check_arg found;
	char key[32], buf[4096];
	struct wort_scan_arg scan = {
		.size = sizeof(scan),
		.buf_ptr = PTR(buf),
		.buf_len = sizeof(buf),
	};
	int err;

	snprintf(key, sizeof(key), "user%d key%ld", user->number, i % 5000);
	switch (i % 8) {
	case 0:
		return call(user->index, WORT_IOC_SCAN, &scan);
	case 1:
		err = lookup(user->index, key, "value");
		return err == -ENOENT || err > 0 ? 0 : err;
	case 2:
		err = delete(user->index, key);
		return err == -ENOENT ? 0 : err;
	case 3:
		return i % 200 == 3 ? check(user->pool, 0, &found) :
		       info(user->pool, &pool_info);
	default:
		return insert(user->index, key, "a value of some length");
	}
}

static void *use(void *data)
{
	struct user *user = data;
	int err = 0;

	for (user->ops = 0; !err; user->ops++) {
		err = use_once(user, user->ops);
		if (user->ops == 20)
			nr_started++;
	}
	user->err = err;
	return NULL;
}

static void start_users(struct __test_metadata *_metadata, int pool, int index,
			struct user *users)
{
	int i;

	for (i = 0; i < NR_THREADS; i++) {
		users[i].pool = pool;
		users[i].index = index;
		users[i].number = i;
		ASSERT_EQ(0, pthread_create(&users[i].thread, NULL, use,
					    &users[i]));
	}
	while (nr_started < NR_THREADS)
		usleep(1000);
	usleep(100000);
}

/* Each of them was told that the pool is gone. */
static void end_users(struct __test_metadata *_metadata, struct user *users)
{
	int i;

	for (i = 0; i < NR_THREADS; i++) {
		ASSERT_EQ(0, pthread_join(users[i].thread, NULL));
		EXPECT_EQ(-ENODEV, users[i].err);
	}
}

TEST_F(revoke, detach_under_load)
{
	struct user users[NR_THREADS] = { };
	struct wort_check_arg found;
	int fd;

	start_users(_metadata, self->pool.fd, self->fd, users);
	ASSERT_EQ(0, detach(self->pool.control, self->pool.minor));
	end_users(_metadata, users);
	EXPECT_EQ(-ENODEV, insert(self->fd, "key", "value"));
	/* the same device serves again while old descriptors are open */
	ASSERT_LE(0, attach(self->pool.control, test_device()));
	EXPECT_EQ(-ENODEV, insert(self->fd, "key", "value"));
	fd = open_pool(self->pool.minor, O_RDWR);
	ASSERT_EQ(0, check(fd, 0, &found));
	EXPECT_EQ(0, found.out_nr_damaged);
	close(fd);
}

TEST_F_TIMEOUT(revoke, unbind_under_load, 300)
{
	struct user users[NR_THREADS] = { };
	char name[64];
	int fd;

	if (bound_name(name, sizeof(name)))
		SKIP(return, "the device has no driver to unbind");
	ASSERT_EQ(0, insert(self->fd, "key", "value"));
	start_users(_metadata, self->pool.fd, self->fd, users);
	ASSERT_EQ(0, write_file(DRIVER "/unbind", "%s", name));
	end_users(_metadata, users);
	EXPECT_EQ(-ENODEV, lookup(self->fd, "key", "value"));
	EXPECT_EQ(-ENODEV, open_pool(self->pool.minor, O_RDWR));
	EXPECT_EQ(WORT_STATE_DEAD, listed_state(self->pool.control,
						self->pool.minor));
	EXPECT_EQ(0, detach(self->pool.control, self->pool.minor));
	ASSERT_EQ(0, rebind(name));
	ASSERT_EQ(self->pool.minor, attach(self->pool.control, test_device()));
	fd = open_pool(self->pool.minor, O_RDWR);
	fd = open_index(fd, "index", 0);
	EXPECT_EQ(0, lookup(fd, "key", "value"));
	close(fd);
}

/* The device comes back while the dead pool is still listed. */
TEST_F_TIMEOUT(revoke, attach_beside_dead, 300)
{
	char name[64];

	if (bound_name(name, sizeof(name)))
		SKIP(return, "the device has no driver to unbind");
	ASSERT_EQ(0, write_file(DRIVER "/unbind", "%s", name));
	ASSERT_EQ(0, rebind(name));
	EXPECT_EQ(self->pool.minor + 1, attach(self->pool.control,
					       test_device()));
	EXPECT_EQ(WORT_STATE_DEAD, listed_state(self->pool.control,
						self->pool.minor));
	EXPECT_EQ(0, detach(self->pool.control, self->pool.minor));
	EXPECT_EQ(0, detach(self->pool.control, self->pool.minor + 1));
}

static atomic_bool stop;
static atomic_int nr_attached;

/* Format, attach, list and detach as fast as they go; only our own errors. */
static void *churn(void *data)
{
	struct user *user = data;
	int control = open(CONTROL, O_RDWR), err, minor;

	for (user->ops = 0; !stop; user->ops++) {
		err = format(control, test_device(), WORT_FORMAT_F_FORCE);
		minor = attach(control, test_device());
		detach_all(control);
		nr_attached += minor >= 0;
		if (!err || err == -EBUSY || err == -ENOENT ||
		    err == -ENODEV || err == -ENXIO)
			continue;
		user->err = err;
	}
	close(control);
	return NULL;
}

static void start_churn(struct __test_metadata *_metadata, struct user *users)
{
	int i;

	for (i = 0; i < NR_THREADS; i++)
		ASSERT_EQ(0, pthread_create(&users[i].thread, NULL, churn,
					    &users[i]));
}

static void end_churn(struct __test_metadata *_metadata, struct user *users)
{
	int i;

	stop = true;
	for (i = 0; i < NR_THREADS; i++) {
		ASSERT_EQ(0, pthread_join(users[i].thread, NULL));
		EXPECT_EQ(0, users[i].err);
	}
}

static void wait_attached(int nr)
{
	for (nr += nr_attached; nr_attached < nr;)
		usleep(1000);
}

TEST_F_TIMEOUT(revoke, many_attach_and_detach, 300)
{
	struct user users[NR_THREADS] = { };

	start_churn(_metadata, users);
	wait_attached(100);
	end_churn(_metadata, users);
	EXPECT_EQ(-ENODEV, insert(self->fd, "key", "value"));
}

TEST_F_TIMEOUT(revoke, unbind_beside_attach, 300)
{
	struct user users[NR_THREADS] = { };
	char name[64];
	int i;

	if (bound_name(name, sizeof(name)))
		SKIP(return, "the device has no driver to unbind");
	start_churn(_metadata, users);
	for (i = 0; i < 10; i++) {
		wait_attached(1);
		EXPECT_EQ(0, write_file(DRIVER "/unbind", "%s", name));
		EXPECT_EQ(0, rebind(name));
	}
	wait_attached(1);
	end_churn(_metadata, users);
	detach_all(self->pool.control);
	EXPECT_EQ(0, format(self->pool.control, test_device(),
			    WORT_FORMAT_F_FORCE));
	EXPECT_EQ(0, attach(self->pool.control, test_device()));
}

/* Where on the device a record lies. */
static long long find_bytes(const void *bytes, size_t len)
{
	static char buf[1 << 20];
	int fd = open(test_device(), O_RDONLY);
	long long at = 0, found = -1;
	ssize_t got;
	char *hit;

	while (found < 0 && (got = pread(fd, buf, sizeof(buf), at)) > 0) {
		hit = memmem(buf, got, bytes, len);
		if (hit)
			found = at + (hit - buf);
		at += got;
	}
	close(fd);
	return found;
}

static void fill_value(char *value, int seed)
{
	unsigned int x = seed * 2654435761U + 1;
	int i;

	for (i = 0; i < WORT_VALUE_MAX; i++) {
		x = x * 1103515245 + 12345;
		value[i] = x >> 24;
	}
}

static int lookup_big(int fd, const char *key, const char *value)
{
	static char back[WORT_VALUE_MAX];
	int err = lookup_raw(fd, key, strlen(key), back, sizeof(back), NULL);

	return err < 0 ? err : memcmp(back, value, sizeof(back));
}

/* Two big records; the place of the second's. */
static long long two_values(struct __test_metadata *_metadata, int fd,
			    char *value1, char *value2)
{
	long long at;

	fill_value(value1, getpid());
	fill_value(value2, getpid() + 1);
	ASSERT_EQ(0, insert_raw(fd, "good", 4, value1, WORT_VALUE_MAX, 0));
	ASSERT_EQ(0, insert_raw(fd, "bad", 3, value2, WORT_VALUE_MAX, 0));
	at = find_bytes(value2, 256);
	ASSERT_LT(0, at);
	return at;
}

/* The smallest device of these tests is larger. */
#define MAP_LEN	(WORT_MAP_POOL_OFF + (16 << 20))

static void *map_pool(int pool)
{
	return mmap(NULL, MAP_LEN, PROT_READ, MAP_SHARED, pool, 0);
}

static __u32 map_state(const struct wort_map_control *control)
{
	return *(volatile __u32 *)&control->state;
}

/* The last page of a value: the one after it is no part of it. */
#define LAST_PAGE	(WORT_VALUE_MAX - 4096)

static char value1[WORT_VALUE_MAX], value2[WORT_VALUE_MAX];

/* What the driver has learned since the attach is not mapped, and a check tells of it. */
static void learns_later(struct __test_metadata *_metadata, int pool, int fd, char *at_pool)
{
	struct wort_check_arg check = { .size = sizeof(check) };
	char *value = at_pool + WORT_MAP_POOL_OFF + find_bytes(value1, 256);

	EXPECT_EQ(-EFAULT, touch(value + LAST_PAGE));
	EXPECT_EQ(0, touch(value));
	EXPECT_EQ(0, lookup_big(fd, "good", value1));
	EXPECT_EQ(0, call(pool, WORT_IOC_CHECK, &check));
	EXPECT_EQ(-EIO, lookup_big(fd, "good", value1));
}

/* errno-table: operation EIO */
TEST_F_TIMEOUT(revoke, bad_blocks, 300)
{
	long long at = two_values(_metadata, self->fd, value1, value2);
	char path[64], name[64];
	void *at_pool;
	int pool, fd;

	snprintf(path, sizeof(path), "/sys/block/%s/badblocks",
		 strrchr(test_device(), '/') + 1);
	if (access(path, W_OK) || bound_name(name, sizeof(name)))
		SKIP(return, "the device has no list of bad blocks");
	ASSERT_EQ(0, detach(self->pool.control, self->pool.minor));
	ASSERT_EQ(0, write_file(path, "%lld 1\n", (at + LAST_PAGE) / 512));
	ASSERT_EQ(0, attach(self->pool.control, test_device()));
	pool = open_pool(0, O_RDWR);
	fd = open_index(pool, "index", 0);
	EXPECT_EQ(0, lookup_big(fd, "good", value1));
	EXPECT_EQ(-EIO, lookup_big(fd, "bad", value2));
	EXPECT_EQ(0, lookup_big(fd, "good", value1));
	EXPECT_EQ(0, insert(fd, "another", "value"));
	at_pool = map_pool(pool);
	ASSERT_NE(MAP_FAILED, at_pool);
	EXPECT_EQ(WORT_MAP_ASK, map_state(at_pool));
	ASSERT_EQ(0, write_file(path, "%lld 1\n", (find_bytes(value1, 256) + LAST_PAGE) / 512));
	learns_later(_metadata, pool, fd, at_pool);
	munmap(at_pool, MAP_LEN);
	close(fd);
	close(pool);
	ASSERT_EQ(0, detach(self->pool.control, 0));
	/* a superblock that cannot be read */
	ASSERT_EQ(0, write_file(path, "8 16\n"));
	EXPECT_EQ(-EIO, attach(self->pool.control, test_device()));
	EXPECT_EQ(-EIO, format(self->pool.control, test_device(),
			       WORT_FORMAT_F_FORCE));
	/* the list is made anew */
	ASSERT_EQ(0, write_file(DRIVER "/unbind", "%s", name));
	ASSERT_EQ(0, rebind(name));
	ASSERT_EQ(0, attach(self->pool.control, test_device()));
	pool = open_pool(0, O_RDWR);
	fd = open_index(pool, "index", 0);
	EXPECT_EQ(0, lookup_big(fd, "bad", value2));
	close(fd);
	close(pool);
}

/*
 * Memory fails while the pool is attached.  The page stays lost until the next
 * boot: nothing but the module may look at it, so this test comes last.
 */
TEST_F_TIMEOUT(revoke, memory_fails, 300)
{
	static const char offline[] =
		"/sys/devices/system/memory/hard_offline_page";
	long long at = two_values(_metadata, self->fd, value1, value2);
	long long start = physical_start();
	void *at_pool = map_pool(self->pool.fd);

	if (access(offline, W_OK) || !start)
		SKIP(return, "the kernel cannot make memory fail");
	ASSERT_NE(MAP_FAILED, at_pool);
	EXPECT_EQ(WORT_MAP_FOLLOW, map_state(at_pool));
	ASSERT_EQ(0, lookup_big(self->fd, "bad", value2));
	ASSERT_EQ(0, write_file(offline, "%#llx", (start + at + LAST_PAGE) &
				~4095ULL));
	EXPECT_EQ(-EIO, lookup_big(self->fd, "bad", value2));
	EXPECT_EQ(0, lookup_big(self->fd, "good", value1));
	EXPECT_EQ(0, insert(self->fd, "another", "value"));
	EXPECT_EQ(WORT_MAP_ASK, map_state(at_pool));
	EXPECT_EQ(0, touch(at_pool + WORT_MAP_POOL_OFF));
	EXPECT_EQ(-EFAULT, touch(at_pool + WORT_MAP_POOL_OFF + at + LAST_PAGE));
	munmap(at_pool, MAP_LEN);
}

#define NR_MAPPINGS	2000
#define NR_FAILING	300

/* Map a page again and again until it has failed.  How many mappings show it then. */
static int map_until(int pool, unsigned long long off, const volatile int *failed)
{
	static void *mapping[NR_MAPPINGS];
	int nr = 0, shown = 0;

	while (nr < NR_MAPPINGS && !*failed) {
		mapping[nr] = mmap(NULL, 4096, PROT_READ, MAP_SHARED, pool,
				   WORT_MAP_POOL_OFF + off);
		touch(mapping[nr++]);
	}
	while (!*failed)
		sched_yield();
	while (nr--) {
		shown += !touch(mapping[nr]);
		munmap(mapping[nr], 4096);
	}
	return shown;
}

/* A trace of each insertion makes the time before it long. */
static void slow_insertion(int on)
{
	static const char dir[] = "/sys/kernel/debug/tracing/";
	char path[96];

	snprintf(path, sizeof(path), "%skprobe_events", dir);
	if (on)
		write_file(path, "p:wort/insert vmf_insert_pfn");
	snprintf(path, sizeof(path), "%sevents/wort/insert/trigger", dir);
	write_file(path, on ? "stacktrace" : "!stacktrace");
	snprintf(path, sizeof(path), "%sevents/wort/insert/enable", dir);
	write_file(path, "%d", on);
}

/* A page that fails while it is being mapped is mapped no more when that is told. */
TEST_F_TIMEOUT(revoke, memory_fails_meanwhile, 300)
{
	static const char offline[] =
		"/sys/devices/system/memory/hard_offline_page";
	volatile int *failed = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned long long off = MAP_LEN / 2;
	long long start = physical_start();
	int i, status;
	pid_t pid;

	if (access(offline, W_OK) || !start)
		SKIP(return, "the kernel cannot make memory fail");
	ASSERT_NE(MAP_FAILED, (void *)failed);
	slow_insertion(1);
	for (i = 0; i < NR_FAILING; i++, off += 4096) {
		*failed = 0;
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid)
			_exit(map_until(self->pool.fd, off, failed));
		usleep(2000 + 37 * i);
		EXPECT_EQ(0, write_file(offline, "%#llx", start + off));
		*failed = 1;
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(0, status);
	}
	slow_insertion(0);
}

#define NEIGHBOUR	"/tmp/neighbour"

/* A file in a filesystem with DAX, and its memory fails.  0: the process lived on. */
static int lose_page(volatile int *loses)
{
	int fd = open(NEIGHBOUR "/file", O_RDWR | O_CREAT, 0600);
	char page[4096] = "text", *at;

	if (fd < 0 || write(fd, page, sizeof(page)) != sizeof(page))
		return 1;
	at = mmap(NULL, sizeof(page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED || *(volatile char *)at != 't')
		return 1;
	*loses = 1;
	return madvise(at, sizeof(page), MADV_HWPOISON) ? 1 : 0;
}

/*
 * Memory of another partition fails: the kernel sends SIGBUS to the process that has it
 * mapped, although the pool holds the DAX device.  The page stays lost.
 */
TEST_F_TIMEOUT(revoke, neighbour_memory_fails, 300)
{
	volatile int *loses = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const __u32 mib = 1 << 20;
	char device[64], command[128];
	int minor, status = 0;
	pid_t pid;

	ASSERT_EQ(0, detach(self->pool.control, self->pool.minor));
	ASSERT_EQ(0, make_partitions(test_device(), 16 * mib, 16 * mib, device));
	ASSERT_EQ(0, format(self->pool.control, device, WORT_FORMAT_F_FORCE));
	minor = attach(self->pool.control, device);
	ASSERT_LE(0, minor);
	device[strlen(device) - 1] = '2';
	snprintf(command, sizeof(command), "busybox mke2fs -F -b 4096 %s >/dev/null 2>&1", device);
	mkdir(NEIGHBOUR, 0700);
	if (system(command) || mount(device, NEIGHBOUR, "ext4", 0, "dax"))
		SKIP(goto out, "no filesystem with DAX");
	pid = fork();
	if (!pid)
		_exit(lose_page(loses));
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(1, *loses);
	EXPECT_EQ(SIGBUS, WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status));
	EXPECT_EQ(0, umount(NEIGHBOUR));
out:
	ASSERT_EQ(0, detach(self->pool.control, minor));
	EXPECT_EQ(0, drop_partition(test_device()));
}

TEST_HARNESS_MAIN
