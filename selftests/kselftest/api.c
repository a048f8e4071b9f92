// SPDX-License-Identifier: GPL-2.0-only
/*
 * The interface for other kernel code, through the module that shows its use:
 * what that one stores and answers, held against the ioctls.
 */
#include <endian.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "wort_test.h"

#define NR_ENTRIES	3000
#define NR_THREADS	4
#define NR_APPENDS	1000

/* On media, as kmod/samples/dirindex.c has it. */
struct dir_key {
	__be64 parent;
	char name[256];
};

struct dir_inode {
	__le64 ino;
	__le64 size;
	__le64 mtime;
	__le32 mode;
	__le32 reserved;
};

static char listed[1 << 20], scanned[1 << 20];

static int load(const char *path, const char *params)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = syscall(SYS_finit_module, fd, params, 0) ? -errno : 0;
	close(fd);
	return err;
}

static int unload(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? -errno : 0;
}

static int load_sample(const char *fmt, ...)
{
	char params[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(params, sizeof(params), fmt, args);
	va_end(args);
	return load("dirindex.ko", params);
}

/* A command on a descriptor of its own, and its answer. */
static int ask(char *answer, size_t size, const char *command)
{
	int fd = open("/dev/dirindex", O_RDWR | O_CLOEXEC), err = 0;
	size_t len = 0;
	ssize_t got;

	if (fd < 0)
		return -errno;
	if (write(fd, command, strlen(command)) < 0)
		err = -errno;
	while (!err && (got = read(fd, answer + len, size - 1 - len)))
		if (got < 0)
			err = -errno;
		else
			len += got;
	answer[len] = 0;
	close(fd);
	return err;
}

static int tell(const char *fmt, ...)
{
	char command[1024], none[8];
	va_list args;

	va_start(args, fmt);
	vsnprintf(command, sizeof(command), fmt, args);
	va_end(args);
	return ask(none, sizeof(none), command);
}

/* The inode under a name, or a negative errno. */
static long long ino_of(int parent, const char *name)
{
	char command[300], line[512];
	long long ino;
	int err;

	snprintf(command, sizeof(command), "lookup %d/%s", parent, name);
	err = ask(line, sizeof(line), command);
	if (err)
		return err;
	return sscanf(line, "%*s %lld", &ino) == 1 ? ino : -EPROTO;
}

static long long count_of(int parent)
{
	char command[32], line[32];
	int err;

	snprintf(command, sizeof(command), "count %d", parent);
	err = ask(line, sizeof(line), command);
	return err ? err : strtoll(line, NULL, 10);
}

static int append(char *text, const struct wort_record *rec)
{
	const struct dir_key *key = (const void *)(rec + 1);
	struct dir_inode inode;

	memcpy(&inode, (const char *)key + rec->key_len, sizeof(inode));
	return sprintf(text, "%llu/%.*s %llu %o %llu %llu\n",
		       (unsigned long long)be64toh(key->parent),
		       (int)(rec->key_len - sizeof(key->parent)), key->name,
		       (unsigned long long)le64toh(inode.ino),
		       le32toh(inode.mode),
		       (unsigned long long)le64toh(inode.size),
		       (unsigned long long)le64toh(inode.mtime));
}

/* A directory as the ioctls see it, in the words of the sample's list. */
static int scan_dir(int index, int parent, char *text)
{
	static char buf[WORT_BUF_MAX];
	__be64 prefix = htobe64(parent);
	struct wort_scan_arg scan = {
		.size = sizeof(scan),
		.flags = WORT_SCAN_F_PREFIX,
		.bound_ptr = PTR(&prefix),
		.bound_len = sizeof(prefix),
		.buf_ptr = PTR(buf),
		.buf_len = sizeof(buf),
	};
	const struct wort_record *rec = (const void *)buf;
	int err = call(index, WORT_IOC_SCAN, &scan);
	__u64 i;

	*text = 0;
	for (i = 0; !err && i < scan.out_count; i++) {
		text += append(text, rec);
		rec = (const void *)((const char *)rec + rec->rec_len);
	}
	return err ? err : (int)scan.out_count;
}

FIXTURE(api)
{
	struct pool pool;
	int index;
};

static int bring_up(struct pool *pool, int *index)
{
	int err;

	unload("dirindex");
	err = pool_up(pool);
	if (!err)
		err = load_sample("pool=%d", pool->minor);
	if (err)
		return err;
	*index = open_index(pool->fd, "dirindex", 0);
	return *index < 0 ? *index : 0;
}

FIXTURE_SETUP(api)
{
	if (access("dirindex.ko", F_OK))
		SKIP(return, "there is no dirindex.ko");
	ASSERT_EQ(0, bring_up(&self->pool, &self->index));
}

FIXTURE_TEARDOWN(api)
{
	unload("dirindex");
	close(self->index);
	pool_down(&self->pool);
}

/* The sample and the ioctls agree, line for line. */
static int same_dir(int index, int parent)
{
	char command[32];
	int err;

	snprintf(command, sizeof(command), "list %d", parent);
	err = ask(listed, sizeof(listed), command);
	if (!err)
		err = scan_dir(index, parent, scanned);
	if (err < 0)
		return err;
	return strcmp(listed, scanned) ? -EPROTO : err;
}

/* In an order that is not that of the names. */
static int scrambled(int i)
{
	return i * 1789 % NR_ENTRIES;
}

static void create_many(struct __test_metadata *_metadata)
{
	int i, n;

	for (i = 0; i < NR_ENTRIES; i++) {
		n = scrambled(i);
		ASSERT_EQ(0, tell("create %d/e%05d %d 100644 %d", 2 + n % 2, n,
				  100 + n, 7 * n));
	}
}

TEST_F_TIMEOUT(api, entries, 300)
{
	const char *line;
	int i, got, ino, at;

	create_many(_metadata);
	EXPECT_EQ(NR_ENTRIES / 2, count_of(2));
	EXPECT_EQ(NR_ENTRIES / 2, same_dir(self->index, 2));
	EXPECT_EQ(NR_ENTRIES / 2, same_dir(self->index, 3));
	/* all names of directory 3, in order */
	for (line = listed, i = 1; *line; line = strchr(line, '\n') + 1) {
		got = sscanf(line, "3/e%d %d", &at, &ino);
		ASSERT_EQ(2, got);
		ASSERT_EQ(i, at);
		ASSERT_EQ(100 + i, ino);
		i += 2;
	}
	EXPECT_EQ(-EEXIST, tell("create 2/e00000 1 100644 0"));
	EXPECT_EQ(-ENOENT, tell("unlink 2/e00001"));
	EXPECT_EQ(-ENOENT, tell("append 2/e00001 1"));
	for (i = 0; i < NR_ENTRIES; i += 3)
		ASSERT_EQ(0, tell("unlink %d/e%05d", 2 + i % 2, i));
	EXPECT_EQ(NR_ENTRIES / 2 - NR_ENTRIES / 6, same_dir(self->index, 2));
	EXPECT_EQ(-ENOENT, ino_of(2, "e00000"));
	EXPECT_EQ(102, ino_of(2, "e00002"));
	EXPECT_EQ(0, tell("append 2/e00002 4711"));
	EXPECT_LT(0, same_dir(self->index, 2));
	EXPECT_NE(0, !!strstr(listed, "2/e00002 102 100644 4725 "));
	EXPECT_EQ(0, tell("create 2/dir 9 40755 0"));
	EXPECT_EQ(-EISDIR, tell("unlink 2/dir"));
	EXPECT_EQ(0, count_of(4));
}

TEST_F(api, bad_commands)
{
	char name[300];

	memset(name, 'n', sizeof(name));
	name[256] = 0;
	EXPECT_EQ(-ENAMETOOLONG, tell("create 2/%s 1 100644 0", name));
	name[255] = 0;
	EXPECT_EQ(0, tell("create 2/%s 1 100644 0", name));
	EXPECT_EQ(1, ino_of(2, name));
	EXPECT_EQ(-EINVAL, tell("create 0/name 1 100644 0"));
	EXPECT_EQ(-EINVAL, tell("create 2/name"));
	EXPECT_EQ(-EINVAL, tell("create"));
	EXPECT_EQ(-EINVAL, tell("unlink 2"));
	EXPECT_EQ(-EINVAL, tell("list 0"));
	EXPECT_EQ(-EINVAL, tell("nonsense"));
	EXPECT_EQ(-EINVAL, tell(" "));
	/* a record that is none of the sample's */
	EXPECT_EQ(0, insert_raw(self->index, "\0\0\0\0\0\0\0\2x", 9, "y", 1,
				0));
	EXPECT_EQ(-EUCLEAN, ino_of(2, "x"));
	EXPECT_EQ(-EUCLEAN, tell("list 2"));
}

TEST_F(api, rename)
{
	ASSERT_EQ(0, tell("create 2/a 11 100644 5"));
	ASSERT_EQ(0, tell("create 2/b 12 100644 5"));
	EXPECT_EQ(-ENOENT, tell("rename 2/c 2/d"));
	EXPECT_EQ(0, tell("rename 2/a 3/a"));
	EXPECT_EQ(-ENOENT, ino_of(2, "a"));
	EXPECT_EQ(11, ino_of(3, "a"));
	EXPECT_EQ(0, tell("rename 3/a 2/b"));
	EXPECT_EQ(11, ino_of(2, "b"));
	EXPECT_EQ(0, tell("rename 2/b 2/b"));
	EXPECT_EQ(11, ino_of(2, "b"));
	EXPECT_EQ(1, count_of(2));
	EXPECT_EQ(0, count_of(3));
}

static int put_entry(int index, const struct dir_key *key, int ino)
{
	struct dir_inode inode = { .ino = htole64(ino) };

	return insert_raw(index, key, 8 + strlen(key->name), &inode,
			  sizeof(inode), 0);
}

#define NR_MOVED	150

/* Several batches; what has the name is replaced. */
TEST_F(api, move)
{
	struct dir_key there = { htobe64(3), "e7" };
	int i;

	for (i = 0; i < NR_MOVED; i++)
		ASSERT_EQ(0, tell("create 2/e%d %d 100644 0", i, 100 + i));
	ASSERT_EQ(0, tell("create 3/own 99 100644 0"));
	ASSERT_EQ(0, put_entry(self->index, &there, 7));
	EXPECT_EQ(0, tell("move 2 2"));
	EXPECT_EQ(NR_MOVED, count_of(2));
	EXPECT_EQ(0, tell("move 2 3"));
	EXPECT_EQ(0, count_of(2));
	EXPECT_EQ(NR_MOVED + 1, count_of(3));
	for (i = 0; i < NR_MOVED; i++) {
		char name[16];

		snprintf(name, sizeof(name), "e%d", i);
		EXPECT_EQ(100 + i, ino_of(3, name));
	}
	EXPECT_EQ(0, tell("move 2 3"));
	EXPECT_EQ(-EINVAL, tell("move 2"));
	EXPECT_EQ(-EINVAL, tell("move 0 3"));
}

static void *watch(void *answer)
{
	*(int *)answer = tell("watch 60");
	return NULL;
}

/* Whoever waits for the loss of a pool is told, and detach does not wait. */
TEST_F(api, watch)
{
	pthread_t watcher;
	int answer = 0;

	EXPECT_EQ(0, tell("watch 0"));
	EXPECT_EQ(-EINVAL, tell("watch"));
	ASSERT_EQ(0, pthread_create(&watcher, NULL, watch, &answer));
	usleep(200000);
	ASSERT_EQ(0, detach(self->pool.control, self->pool.minor));
	ASSERT_EQ(0, pthread_join(watcher, NULL));
	EXPECT_EQ(-ENODEV, answer);
	EXPECT_EQ(-ENODEV, tell("watch 0"));
}

TEST_F(api, open_by_name)
{
	struct wort_pool_info_arg found;
	const __u8 *u = found.out_uuid;
	char name[WORT_NAME_MAX + 2];

	ASSERT_EQ(0, tell("create 2/name 42 100644 0"));
	ASSERT_EQ(0, unload("dirindex"));
	EXPECT_EQ(-ENOENT, load_sample("pool=%d", self->pool.minor + 1));
	EXPECT_EQ(-ENOENT, load_sample("pool=nosuch"));
	ASSERT_EQ(0, load_sample("pool=%s", strrchr(test_device(), '/') + 1));
	EXPECT_EQ(42, ino_of(2, "name"));
	ASSERT_EQ(0, unload("dirindex"));
	ASSERT_EQ(0, info(self->pool.fd, &found));
	ASSERT_EQ(0, load_sample("pool=%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
				 u[0], u[1], u[2], u[3], u[4], u[5], u[6],
				 u[7], u[8], u[9], u[10], u[11], u[12], u[13],
				 u[14], u[15]));
	EXPECT_EQ(42, ino_of(2, "name"));
	ASSERT_EQ(0, unload("dirindex"));
	memset(name, 'n', sizeof(name));
	name[WORT_NAME_MAX + 1] = 0;
	EXPECT_EQ(-EMSGSIZE, load_sample("name=%s", name));
	EXPECT_EQ(-EINVAL, load_sample("name="));
}

TEST_F(api, destroyed)
{
	ASSERT_EQ(0, tell("create 2/name 42 100644 0"));
	ASSERT_EQ(0, destroy(self->pool.fd, "dirindex"));
	EXPECT_EQ(-ESTALE, tell("create 2/other 43 100644 0"));
	EXPECT_EQ(-ESTALE, ino_of(2, "name"));
	EXPECT_EQ(-ESTALE, tell("list 2"));
	ASSERT_EQ(0, unload("dirindex"));
	ASSERT_EQ(0, load_sample("pool=%d", self->pool.minor));
	EXPECT_EQ(0, count_of(2));
}

/* A sample that owns its index: nobody else opens, renames or destroys it meanwhile. */
TEST_F(api, owner)
{
	ASSERT_EQ(0, unload("dirindex"));
	EXPECT_EQ(-EBUSY, load_sample("pool=%d own=1", self->pool.minor));
	close(self->index);
	ASSERT_EQ(0, load_sample("pool=%d own=1", self->pool.minor));
	EXPECT_EQ(0, tell("create 2/name 42 100644 0"));
	EXPECT_EQ(-EBUSY, open_index(self->pool.fd, "dirindex", 0));
	EXPECT_EQ(-EBUSY, destroy(self->pool.fd, "dirindex"));
	ASSERT_EQ(0, unload("dirindex"));
	self->index = open_index(self->pool.fd, "dirindex", 0);
	EXPECT_LE(0, self->index);
}

/* Every function and errno, and the contexts, are tested from within. */
TEST_F_TIMEOUT(api, contract, 300)
{
	char params[32];

	if (access("wort_api_test.ko", F_OK))
		SKIP(return, "there is no wort_api_test.ko");
	snprintf(params, sizeof(params), "pool=%d", self->pool.minor);
	EXPECT_EQ(0, load("wort_api_test.ko", params));
	unload("wort_api_test");
}

/* A handle of a pool that was detached stays dead, whatever is attached. */
TEST_F(api, detached)
{
	ASSERT_EQ(0, tell("create 2/name 42 100644 0"));
	ASSERT_EQ(0, detach(self->pool.control, self->pool.minor));
	EXPECT_EQ(-ENODEV, tell("create 2/other 43 100644 0"));
	EXPECT_EQ(-ENODEV, tell("list 2"));
	ASSERT_EQ(self->pool.minor, attach(self->pool.control, test_device()));
	EXPECT_EQ(-ENODEV, ino_of(2, "name"));
	EXPECT_EQ(-ENODEV, tell("rename 2/name 2/other"));
	ASSERT_EQ(0, unload("dirindex"));
	ASSERT_EQ(0, load_sample("pool=%d", self->pool.minor));
	EXPECT_EQ(42, ino_of(2, "name"));
}

/* The sample needs wort's symbols; its handle holds the module besides. */
TEST_F(api, module_stays)
{
	struct pool *pool = &self->pool;

	if (access("wort.ko", F_OK))
		SKIP(return, "there is no wort.ko to load again");
	EXPECT_EQ(-EWOULDBLOCK, unload("wort"));
	ASSERT_EQ(0, detach(pool->control, pool->minor));
	close(self->index);
	close(pool->fd);
	close(pool->control);
	EXPECT_EQ(-EWOULDBLOCK, unload("wort"));
	EXPECT_EQ(-ENODEV, tell("create 2/name 42 100644 0"));
	ASSERT_EQ(0, unload("dirindex"));
	EXPECT_EQ(0, unload("wort"));
	ASSERT_EQ(0, load("wort.ko", getenv("WORT_PARAMETERS") ?: ""));
	pool->control = open(CONTROL, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, pool->control);
}

struct user {
	pthread_t thread;
	int parent;
	int err;		/* the first */
	int created;
};

static atomic_int nr_started;

static void *use(void *data)
{
	struct user *user = data;

	while (!user->err) {
		user->err = tell("create %d/e%d 1 100644 0", user->parent,
				 user->created);
		user->created += !user->err;
		if (user->created == 20)
			nr_started++;
	}
	return NULL;
}

static void start_users(struct __test_metadata *_metadata, struct user *users)
{
	int i;

	for (i = 0; i < NR_THREADS; i++) {
		users[i].parent = 2 + i;
		ASSERT_EQ(0, pthread_create(&users[i].thread, NULL, use,
					    &users[i]));
	}
	while (nr_started < NR_THREADS)
		usleep(1000);
}

static void end_users(struct __test_metadata *_metadata, struct user *users)
{
	int i;

	for (i = 0; i < NR_THREADS; i++) {
		ASSERT_EQ(0, pthread_join(users[i].thread, NULL));
		EXPECT_EQ(-ENODEV, users[i].err);
	}
}

/* Nobody's change gets lost: the sample compares and swaps. */
static void *append_bytes(void *data)
{
	struct user *user = data;
	int i;

	for (i = 0; i < NR_APPENDS && !user->err; i++)
		user->err = tell("append 2/file 1");
	return NULL;
}

TEST_F(api, append_at_once)
{
	struct user users[NR_THREADS] = { };
	char line[64], expected[64];
	int i;

	ASSERT_EQ(0, tell("create 2/file 42 100644 0"));
	for (i = 0; i < NR_THREADS; i++)
		ASSERT_EQ(0, pthread_create(&users[i].thread, NULL,
					    append_bytes, &users[i]));
	for (i = 0; i < NR_THREADS; i++) {
		ASSERT_EQ(0, pthread_join(users[i].thread, NULL));
		EXPECT_EQ(0, users[i].err);
	}
	ASSERT_EQ(0, ask(line, sizeof(line), "lookup 2/file"));
	sprintf(expected, "2/file 42 100644 %d ", NR_THREADS * NR_APPENDS);
	EXPECT_EQ(0, strncmp(line, expected, strlen(expected)));
}

static void *append_where_it_is(void *data)
{
	struct user *user = data;
	int i = 0;

	while (i < NR_APPENDS && (!user->err || user->err == -ENOENT)) {
		user->err = tell("append %d/file 1", 2 + (rand() & 1));
		i += !user->err;
	}
	return NULL;
}

/* A rename moves the record as it is then: no append is lost, or stays behind. */
TEST_F(api, rename_while_appending)
{
	struct user users[NR_THREADS] = { };
	char line[64], expected[64];
	int i, err = 0;

	ASSERT_EQ(0, tell("create 2/file 42 100644 0"));
	for (i = 0; i < NR_THREADS; i++)
		ASSERT_EQ(0, pthread_create(&users[i].thread, NULL,
					    append_where_it_is, &users[i]));
	for (i = 0; i < NR_APPENDS && !err; i++)
		err = i % 2 ? tell("rename 3/file 2/file") :
			      tell("rename 2/file 3/file");
	EXPECT_EQ(0, err);
	for (i = 0; i < NR_THREADS; i++) {
		ASSERT_EQ(0, pthread_join(users[i].thread, NULL));
		EXPECT_EQ(0, users[i].err);
	}
	EXPECT_EQ(1, count_of(2));
	EXPECT_EQ(0, count_of(3));
	ASSERT_EQ(0, ask(line, sizeof(line), "lookup 2/file"));
	sprintf(expected, "2/file 42 100644 %d ", NR_THREADS * NR_APPENDS);
	EXPECT_EQ(0, strncmp(line, expected, strlen(expected)));
}

/* What was acknowledged is there afterwards, and nothing else is. */
TEST_F_TIMEOUT(api, unbind_under_load, 300)
{
	struct user users[NR_THREADS] = { };
	char name[64];
	int i;

	if (bound_name(name, sizeof(name)))
		SKIP(return, "the device has no driver to unbind");
	start_users(_metadata, users);
	ASSERT_EQ(0, write_file(DRIVER "/unbind", "%s", name));
	end_users(_metadata, users);
	EXPECT_EQ(-ENODEV, count_of(2));
	ASSERT_EQ(0, unload("dirindex"));
	/* it is listed, and not served */
	EXPECT_EQ(-ENOENT, load_sample("pool=%d", self->pool.minor));
	EXPECT_EQ(0, detach(self->pool.control, self->pool.minor));
	ASSERT_EQ(0, rebind(name));
	ASSERT_EQ(self->pool.minor, attach(self->pool.control, test_device()));
	ASSERT_EQ(0, load_sample("pool=%d", self->pool.minor));
	for (i = 0; i < NR_THREADS; i++)
		EXPECT_EQ(users[i].created, count_of(users[i].parent));
}

TEST_HARNESS_MAIN
