// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands on a pool.
 */
#include <linux/fs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "partition.h"

FIXTURE(pool)
{
	struct pool pool;
	int fd;
};

FIXTURE_SETUP(pool)
{
	ASSERT_EQ(0, pool_up(&self->pool));
	self->fd = self->pool.fd;
}

FIXTURE_TEARDOWN(pool)
{
	pool_down(&self->pool);
}

#define CREATE	WORT_INDEX_OPEN_F_CREATE
#define EXCL	(WORT_INDEX_OPEN_F_CREATE | WORT_INDEX_OPEN_F_EXCL)
#define RDONLY	WORT_INDEX_OPEN_F_RDONLY

/* errno-table: operation ENOENT EEXIST */
TEST_F(pool, open_create_exclusive)
{
	int fd;

	EXPECT_EQ(-ENOENT, open_index(self->fd, "a", 0));
	fd = open_index(self->fd, "a", EXCL);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EEXIST, open_index(self->fd, "a", EXCL));
	EXPECT_LE(0, open_index(self->fd, "a", CREATE));
	EXPECT_LE(0, open_index(self->fd, "a", 0));
	EXPECT_EQ(-EINVAL, open_index(self->fd, "a", WORT_INDEX_OPEN_F_EXCL));
	EXPECT_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD));
	EXPECT_EQ(O_RDWR, fcntl(fd, F_GETFL) & O_ACCMODE);
}

TEST_F(pool, open_read_only)
{
	int fd = open_index(self->fd, "a", CREATE | RDONLY), pool;

	ASSERT_LE(0, fd);
	EXPECT_EQ(O_RDONLY, fcntl(fd, F_GETFL) & O_ACCMODE);
	EXPECT_EQ(-EBADF, insert(fd, "key", "value"));
	EXPECT_EQ(-EBADF, delete(fd, "key"));
	EXPECT_EQ(-ENOENT, lookup(fd, "key", ""));
	EXPECT_EQ(-EACCES, open_pool(self->pool.minor, O_WRONLY));
	pool = open_pool(self->pool.minor, O_RDONLY);
	fd = open_index(pool, "a", 0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EBADF, insert(fd, "key", "value"));
}

static int open_arg(int pool, struct wort_index_open_arg *arg)
{
	int err = call(pool, WORT_IOC_INDEX_OPEN, arg);

	if (!err)
		close(arg->out_fd);
	return err;
}

TEST_F(pool, open_names)
{
	char name[WORT_NAME_MAX + 2];
	struct wort_index_open_arg arg = {
		.size = sizeof(arg),
		.flags = CREATE,
		.name_ptr = PTR(name),
	};

	memset(name, 'n', sizeof(name));
	EXPECT_EQ(-EINVAL, open_arg(self->fd, &arg));
	arg.name_len = WORT_NAME_MAX + 1;
	EXPECT_EQ(-EMSGSIZE, open_arg(self->fd, &arg));
	arg.name_len = ~0U;
	EXPECT_EQ(-EMSGSIZE, open_arg(self->fd, &arg));
	arg.name_len = WORT_NAME_MAX;
	EXPECT_EQ(0, open_arg(self->fd, &arg));
	name[5] = 0;
	EXPECT_EQ(-EINVAL, open_arg(self->fd, &arg));
	name[5] = '\xff';
	name[6] = '/';
	EXPECT_EQ(0, open_arg(self->fd, &arg));
}

TEST_F(pool, open_engines)
{
	struct wort_index_open_arg arg = {
		.size = sizeof(arg),
		.flags = CREATE,
		.name_ptr = PTR("a"),
		.name_len = 1,
		.engine = 77,
	};

	EXPECT_EQ(-EOPNOTSUPP, open_arg(self->fd, &arg));
	arg.engine = WORT_ENGINE_DEFAULT;
	arg.attr = 1;
	EXPECT_EQ(-EINVAL, open_arg(self->fd, &arg));
	arg.attr = 0;
	EXPECT_EQ(0, open_arg(self->fd, &arg));
	EXPECT_EQ(engine_rows[0].id, arg.out_engine);
	arg.engine = engine_rows[0].id;
	EXPECT_EQ(0, open_arg(self->fd, &arg));
	arg.engine = 77;
	EXPECT_EQ(-EINVAL, open_arg(self->fd, &arg));
}

#define FILE_MAX	"/proc/sys/fs/file-max"

static long long file_max(void)
{
	char text[32] = "";
	int fd = open(FILE_MAX, O_RDONLY);

	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = 0;
	close(fd);
	return strtoll(text, NULL, 10);
}

/*
 * The process has no number left for a descriptor, or the kernel no file.
 *
 * errno-table: operation EMFILE ENFILE
 */
TEST_F(pool, open_no_descriptor_left)
{
	struct rlimit limit, none;
	long long max = file_max();

	ASSERT_EQ(0, close(open_index(self->fd, "a", CREATE)));
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &limit));
	none = limit;
	none.rlim_cur = 0;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
	EXPECT_EQ(-EMFILE, open_index(self->fd, "a", 0));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	ASSERT_LT(0, max);
	/* Few files may count as none: each processor has some to itself. */
	ASSERT_EQ(0, write_file(FILE_MAX, "0\n"));
	set_sys_admin(false);
	EXPECT_EQ(-ENFILE, open_index(self->fd, "a", 0));
	set_sys_admin(true);
	ASSERT_EQ(0, write_file(FILE_MAX, "%lld\n", max));
	EXPECT_LE(0, open_index(self->fd, "a", 0));
}

/* What was to be created is not there when the answer cannot be given. */
TEST_F(pool, open_answer_unwritable)
{
	struct wort_index_open_arg arg = {
		.size = sizeof(arg),
		.flags = CREATE,
		.name_ptr = PTR("a"),
		.name_len = 1,
	};
	void *page = at_page_end(&arg, sizeof(arg));

	mprotect((void *)(PTR(page) & ~4095UL), 4096, PROT_READ);
	EXPECT_EQ(-EFAULT, call(self->fd, WORT_IOC_INDEX_OPEN, page));
	EXPECT_EQ(-ENOENT, open_index(self->fd, "a", 0));
}

TEST_F(pool, destroy)
{
	int fd = open_index(self->fd, "a", CREATE), again;

	ASSERT_LE(0, fd);
	EXPECT_EQ(0, insert(fd, "key", "value"));
	EXPECT_EQ(-ENOENT, destroy(self->fd, "b"));
	EXPECT_EQ(-EINVAL, destroy(self->fd, ""));
	EXPECT_EQ(0, destroy(self->fd, "a"));
	EXPECT_EQ(-ENOENT, destroy(self->fd, "a"));
	EXPECT_EQ(-ESTALE, lookup(fd, "key", "value"));
	again = open_index(self->fd, "a", EXCL);
	ASSERT_LE(0, again);
	EXPECT_EQ(-ENOENT, lookup(again, "key", "value"));
	EXPECT_EQ(-ESTALE, insert(fd, "key", "value"));
}

static void make_indexes(struct __test_metadata *_metadata, int pool, int nr)
{
	char name[16];
	int i, fd;

	for (i = 0; i < nr; i++) {
		snprintf(name, sizeof(name), "index%d", i);
		fd = open_index(pool, name, EXCL);
		ASSERT_LE(0, fd);
		close(fd);
	}
}

TEST_F(pool, list)
{
	struct wort_index_record records[2];
	struct wort_index_list_arg arg = {
		.size = sizeof(arg),
		.buf_ptr = PTR(records),
		.buf_len = sizeof(records) + 1,
	};
	char name[16];
	int seen = 0;

	make_indexes(_metadata, self->fd, 5);
	do {
		ASSERT_EQ(0, call(self->fd, WORT_IOC_INDEX_LIST, &arg));
		ASSERT_LT(0, arg.out_count);
		snprintf(name, sizeof(name), "index%d", seen);
		EXPECT_EQ(0, strcmp(name, (char *)records[0].name));
		EXPECT_EQ(6, records[0].name_len);
		EXPECT_EQ(engine_rows[0].id, records[0].engine);
		EXPECT_EQ(0, records[0].state);
		EXPECT_LT(arg.after, records[0].id);
		seen += arg.out_count;
		arg.after = records[arg.out_count - 1].id;
	} while (arg.out_more);
	EXPECT_EQ(5, seen);
	arg.after = 0;
	arg.buf_len = 0;
	EXPECT_EQ(0, call(self->fd, WORT_IOC_INDEX_LIST, &arg));
	EXPECT_EQ(0, arg.out_count);
	EXPECT_EQ(1, arg.out_more);
	arg.buf_len = WORT_BUF_MAX + 1;
	EXPECT_EQ(-EMSGSIZE, call(self->fd, WORT_IOC_INDEX_LIST, &arg));
}

TEST_F(pool, many_indexes)
{
	struct wort_pool_info_arg arg;

	make_indexes(_metadata, self->fd, 200);
	ASSERT_EQ(0, info(self->fd, &arg));
	EXPECT_EQ(200, arg.out_nr_indexes);
}

TEST_F(pool, info)
{
	struct wort_pool_info_arg arg;

	ASSERT_EQ(0, info(self->fd, &arg));
	EXPECT_LT(arg.out_pool_size / 2,
		  arg.out_nr_extents * arg.out_extent_size);
	EXPECT_LE(arg.out_nr_extents * arg.out_extent_size, arg.out_pool_size);
	EXPECT_EQ(65536, arg.out_extent_size);
	EXPECT_EQ(0, arg.out_nr_indexes);
	EXPECT_EQ(WORT_INCOMPAT_EXPERIMENTAL, arg.out_incompat);
	EXPECT_NE(0, arg.out_format_time);
	while (arg.out_state & WORT_STATE_WALKING)
		ASSERT_EQ(0, info(self->fd, &arg));
	EXPECT_EQ(0, arg.out_state);
	EXPECT_NE(WORT_UNKNOWN, arg.out_used_bytes);
}

/* No answer is what the caller had there before. */
TEST_F(pool, info_whole)
{
	struct wort_pool_info_arg arg;
	const __u64 *word;

	memset(&arg, 0xa5, sizeof(arg));
	arg.size = sizeof(arg);
	arg.flags = 0;
	ASSERT_EQ(0, call(self->fd, WORT_IOC_POOL_INFO, &arg));
	for (word = &arg.out_pool_size; word < (const __u64 *)(&arg + 1); word++)
		EXPECT_NE(0xa5a5a5a5a5a5a5a5ULL, *word);
}

TEST_F(pool, check)
{
	struct wort_check_arg arg;
	int fd = open_index(self->fd, "a", CREATE), i;
	char key[16];

	ASSERT_LE(0, fd);
	for (i = 0; i < 100; i++) {
		snprintf(key, sizeof(key), "key%d", i);
		ASSERT_EQ(0, insert(fd, key, "a value that takes some space"));
	}
	ASSERT_EQ(0, check(self->fd, 0, &arg));
	EXPECT_EQ(1, arg.out_nr_indexes);
	EXPECT_EQ(100, arg.out_nr_leaves);
	EXPECT_EQ(0, arg.out_nr_damaged);
	EXPECT_EQ(0, arg.out_nr_transient);
	EXPECT_EQ(0, check(self->fd, WORT_CHECK_F_CLEAR, &arg));
	EXPECT_EQ(0, arg.out_nr_damaged);
}

/* Whoever may only read cannot make writers wait for a check. */
TEST_F(pool, check_needs_write)
{
	struct wort_check_arg arg;
	int fd = open_pool(self->pool.minor, O_RDONLY);

	EXPECT_EQ(-EBADF, check(fd, 0, &arg));
	EXPECT_EQ(-EBADF, check(fd, WORT_CHECK_F_CLEAR, &arg));
	close(fd);
}

#define NR_BATCHES	20
#define NR_IN_BATCH	4096

/* So many that a check takes a while. */
static int insert_many(int fd, int nr_batches)
{
	static struct {
		struct wort_batch_op head;
		__u64 key;
	} ops[NR_IN_BATCH];
	static struct wort_batch_result results[NR_IN_BATCH];
	struct wort_batch_arg arg = {
		.size = sizeof(arg),
		.ops_ptr = PTR(ops), .ops_len = sizeof(ops),
		.results_ptr = PTR(results), .results_len = sizeof(results),
		.nr_ops = NR_IN_BATCH,
	};
	int i, n, err = 0;

	for (n = 0; n < nr_batches && !err; n++) {
		for (i = 0; i < NR_IN_BATCH; i++) {
			ops[i].head = (struct wort_batch_op){
				.rec_len = sizeof(ops[i]),
				.op = WORT_BATCH_INSERT, .key_len = 8,
			};
			ops[i].key = (n * NR_IN_BATCH + i) *
				     0x9e3779b97f4a7c15ULL;
		}
		err = call(fd, WORT_IOC_BATCH, &arg);
	}
	return err;
}

static atomic_bool checked;

static void *check_once(void *fd)
{
	struct wort_check_arg found;
	int err = check(*(int *)fd, 0, &found);

	checked = true;
	return err ? fd : NULL;
}

static void ask_info(int fd)
{
	struct wort_pool_info_arg arg;

	info(fd, &arg);
}

static void ask_list(int fd)
{
	struct wort_index_record record;
	struct wort_index_list_arg arg = {
		.size = sizeof(arg),
		.buf_ptr = PTR(&record),
		.buf_len = sizeof(record),
	};

	call(fd, WORT_IOC_INDEX_LIST, &arg);
}

static void ask_open(int fd)
{
	close(open_index(fd, "a", 0));
}

/* Records that a check under way has examined. */
static long records_checked(int minor)
{
	char path[64], text[32] = "";
	int fd;

	snprintf(path, sizeof(path), "/sys/class/wort/wort%d/check_records",
		 minor);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = 0;
	close(fd);
	return atol(text);
}

/* A process that asks; killed when it waits, if it ever does. */
static bool killed_while_waiting(void (*question)(int fd), int fd)
{
	pid_t pid = fork();
	bool waits = false;
	int status;

	if (!pid) {
		question(fd);
		_exit(0);
	}
	while (!waits && waitpid(pid, &status, WNOHANG) == 0)
		waits = sleeps_in_module(pid);
	if (!waits)
		return false;
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status);
}

/*
 * Asks until a question that waited was killed, or until the check has ended.  False: the check
 * was behind its last record by then, as it may be now and then, or before any question.
 */
static bool killed_in_time(struct __test_metadata *_metadata, struct pool *pool,
			   void (*question)(int fd))
{
	bool in_time = true, asked = false;
	pthread_t checker;
	void *failed;

	checked = false;
	ASSERT_EQ(0, pthread_create(&checker, NULL, check_once, &pool->fd));
	while (!checked)
		if (records_checked(pool->minor)) {
			asked = true;
			if (killed_while_waiting(question, pool->fd)) {
				in_time = records_checked(pool->minor);
				break;
			}
		}
	ASSERT_EQ(0, pthread_join(checker, &failed));
	EXPECT_EQ(0, PTR(failed));
	return asked && in_time;
}

/*
 * Questions wait for a check, if at all, in a way that a signal ends: whoever
 * is killed meanwhile is gone before the check is.
 */
TEST_F_TIMEOUT(pool, questions_are_killed_beside_check, 300)
{
	static void (*const questions[])(int fd) = {
		ask_info, ask_list, ask_open,
	};
	int fd = open_index(self->fd, "a", CREATE), tries;
	size_t i;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, insert_many(fd, NR_BATCHES / 4));
	for (i = 0; i < ARRAY_SIZE(questions); i++)
		for (tries = 0; !killed_in_time(_metadata, &self->pool,
						questions[i]);)
			ASSERT_GE(5, ++tries);
	close(fd);
}

/* A process that checks; is it gone before its check is, when it is killed? */
static bool killed_in_check(const struct pool *pool,
			    struct wort_check_arg *found)
{
	pid_t pid = fork(), ended = 0;
	int status;

	if (!pid) {
		check(pool->fd, 0, found);
		_exit(0);
	}
	while (!ended && !records_checked(pool->minor))
		ended = waitpid(pid, &status, WNOHANG);
	if (ended)
		return false;
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) &&
	       found->out_nr_leaves < NR_BATCHES * NR_IN_BATCH;
}

/* Now and then it ends by itself before the signal is sent. */
TEST_F_TIMEOUT(pool, check_is_killed, 300)
{
	int fd = open_index(self->fd, "a", CREATE), tries = 0;
	struct wort_check_arg *found, again;

	found = mmap(NULL, sizeof(*found), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, found);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, insert_many(fd, NR_BATCHES));
	while (!killed_in_check(&self->pool, found))
		ASSERT_GE(20, ++tries);
	EXPECT_EQ(0, records_checked(self->pool.minor));
	EXPECT_EQ(0, check(self->fd, 0, &again));
	EXPECT_EQ(0, again.out_nr_damaged);
	EXPECT_EQ(NR_BATCHES * NR_IN_BATCH, again.out_nr_leaves);
	munmap(found, sizeof(*found));
	close(fd);
}

/* errno-table: operation EUCLEAN EROFS */
TEST_F(pool, damaged_index)
{
	int fd = open_index(self->fd, "a", CREATE), other;
	struct wort_check_arg arg;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, insert(fd, "key1", "value"));
	ASSERT_EQ(0, insert(fd, "key2", "value"));
	other = open_index(self->fd, "b", CREATE);
	ASSERT_EQ(0, insert(other, "key", "value"));
	ASSERT_EQ(0, detach(self->pool.control, self->pool.minor));
	ASSERT_EQ(0, damage_word(first_entry() +
				 offsetof(struct wort_media_entry, root)));
	ASSERT_EQ(0, reattach(&self->pool));
	fd = open_index(self->pool.fd, "a", 0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EUCLEAN, lookup(fd, "key1", "value"));
	EXPECT_EQ(-EROFS, insert(fd, "key1", "value"));
	EXPECT_EQ(-EROFS, delete(fd, "key1"));
	other = open_index(self->pool.fd, "b", 0);
	EXPECT_EQ(0, lookup(other, "key", "value"));
	ASSERT_EQ(0, check(self->pool.fd, WORT_CHECK_F_CLEAR, &arg));
	EXPECT_LT(0, arg.out_nr_damaged);
	EXPECT_NE(0, arg.out_damaged_index);
	EXPECT_EQ(-EROFS, insert(fd, "key1", "value"));
}

TEST_F(pool, damaged_catalogue)
{
	int fd = open_index(self->fd, "a", CREATE);
	struct wort_pool_info_arg arg;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, detach(self->pool.control, self->pool.minor));
	ASSERT_EQ(0, damage_word(first_entry()));
	ASSERT_EQ(0, reattach(&self->pool));
	ASSERT_EQ(0, info(self->pool.fd, &arg));
	EXPECT_EQ(WORT_STATE_DAMAGED, arg.out_state & WORT_STATE_DAMAGED);
	EXPECT_EQ(-EROFS, open_index(self->pool.fd, "b", CREATE));
}

static int write_protect(int on)
{
	int fd = open(test_device(), O_RDONLY);
	int err = ioctl(fd, BLKROSET, &on) < 0 ? -errno : 0;

	close(fd);
	return err;
}

/* errno-table: operation EROFS */
static void expect_read_only(struct __test_metadata *_metadata,
			     const struct pool *pool)
{
	int fd = open_index(pool->fd, "a", 0);
	struct wort_pool_info_arg arg;
	struct wort_check_arg found;

	ASSERT_EQ(0, info(pool->fd, &arg));
	EXPECT_EQ(WORT_STATE_READONLY, arg.out_state);
	EXPECT_EQ(WORT_UNKNOWN, arg.out_used_bytes);
	EXPECT_EQ(WORT_STATE_READONLY, listed_state(pool->control,
						    pool->minor));
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, lookup(fd, "key", "value"));
	EXPECT_EQ(-EROFS, insert(fd, "key", "value"));
	EXPECT_EQ(-EROFS, delete(fd, "key"));
	EXPECT_EQ(-EROFS, open_index(pool->fd, "b", CREATE));
	EXPECT_EQ(-EROFS, destroy(pool->fd, "a"));
	EXPECT_EQ(0, check(pool->fd, 0, &found));
	EXPECT_EQ(1, found.out_nr_leaves);
	EXPECT_EQ(0, found.out_nr_damaged);
	EXPECT_EQ(-EROFS, check(pool->fd, WORT_CHECK_F_CLEAR, &found));
	EXPECT_EQ(0, lookup(fd, "key", "value"));
	close(fd);
}

TEST_F(pool, read_only)
{
	int fd = open_index(self->fd, "a", CREATE);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, insert(fd, "key", "value"));
	ASSERT_EQ(0, detach(self->pool.control, self->pool.minor));
	ASSERT_EQ(0, reattach_with(&self->pool, WORT_ATTACH_F_RDONLY));
	expect_read_only(_metadata, &self->pool);
	ASSERT_EQ(0, detach(self->pool.control, self->pool.minor));
	ASSERT_EQ(0, reattach(&self->pool));
	fd = open_index(self->pool.fd, "a", 0);
	EXPECT_EQ(0, insert(fd, "key", "another value"));
}

/* errno-table: device EACCES */
TEST_F(pool, write_protected)
{
	int fd = open_index(self->fd, "a", CREATE);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, insert(fd, "key", "value"));
	ASSERT_EQ(0, detach(self->pool.control, self->pool.minor));
	ASSERT_EQ(0, write_protect(1));
	EXPECT_EQ(-EACCES, attach(self->pool.control, test_device()));
	EXPECT_EQ(-EACCES, format(self->pool.control, test_device(),
				  WORT_FORMAT_F_FORCE));
	EXPECT_EQ(0, reattach_with(&self->pool, WORT_ATTACH_F_RDONLY));
	expect_read_only(_metadata, &self->pool);
	EXPECT_EQ(0, detach(self->pool.control, self->pool.minor));
	EXPECT_EQ(0, write_protect(0));
	EXPECT_EQ(0, reattach(&self->pool));
}

/* errno-table: operation ENOSPC */
TEST_F_TIMEOUT(pool, full, 300)
{
	static char value[WORT_VALUE_MAX];
	int fd = open_index(self->fd, "a", CREATE), err = 0;
	struct wort_check_arg arg;
	__u32 key = 0;

	ASSERT_LE(0, fd);
	for (; !err; key++) {
		memset(value, key, sizeof(value));
		err = insert_raw(fd, &key, 4, value, sizeof(value), 0);
	}
	EXPECT_EQ(-ENOSPC, err);
	EXPECT_LT(1000, key);
	key = 0;
	ASSERT_EQ(sizeof(value), lookup_raw(fd, &key, 4, value, sizeof(value),
					    NULL));
	EXPECT_EQ(0, value[0]);
	ASSERT_EQ(0, check(self->fd, 0, &arg));
	EXPECT_EQ(0, arg.out_nr_damaged);
	EXPECT_EQ(0, delete_raw(fd, &key, 4));
	EXPECT_EQ(0, insert_raw(fd, &key, 4, value, sizeof(value), 0));
	EXPECT_EQ(0, destroy(self->fd, "a"));
	fd = open_index(self->fd, "b", CREATE);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, insert_raw(fd, &key, 4, value, sizeof(value), 0));
}

/*
 * A damaged pool does not grow; it is sound again afterwards.
 * errno-table: device EROFS
 */
static void expect_no_growth(struct __test_metadata *_metadata,
			     struct pool *pool, const char *device,
			     __u64 table_off)
{
	__u64 word = read_word(table_off);
	struct wort_check_arg found;

	ASSERT_EQ(0, write_word(table_off, ~0ULL));
	ASSERT_EQ(0, pool_attach(pool, device, 0));
	close(pool->fd);
	ASSERT_EQ(0, detach(pool->control, pool->minor));
	EXPECT_EQ(-EROFS, attach_with(pool->control, device,
				      WORT_ATTACH_F_GROW));
	ASSERT_EQ(0, write_word(table_off, word));
	ASSERT_EQ(0, pool_attach(pool, device, 0));
	ASSERT_EQ(0, check(pool->fd, WORT_CHECK_F_CLEAR, &found));
	EXPECT_EQ(0, found.out_nr_damaged);
	close(pool->fd);
	ASSERT_EQ(0, detach(pool->control, pool->minor));
}

/* A pool on a partition that has been enlarged. */
TEST(attach_grow)
{
	const __u32 mib = 1 << 20;
	struct wort_pool_info_arg before, after;
	struct wort_check_arg found;
	struct pool pool = { .control = open(CONTROL, O_RDWR) };
	char device[64];
	int fd;

	ASSERT_LE(0, pool.control);
	detach_all(pool.control);
	ASSERT_EQ(0, make_partition(test_device(), mib, device));
	ASSERT_EQ(0, format(pool.control, device, WORT_FORMAT_F_FORCE));
	ASSERT_EQ(0, pool_attach(&pool, device, WORT_ATTACH_F_GROW));
	fd = open_index(pool.fd, "a", CREATE);
	ASSERT_EQ(0, insert(fd, "key", "value"));
	ASSERT_EQ(0, info(pool.fd, &before));
	close(fd);
	pool_down(&pool);
	ASSERT_EQ(0, make_partition(test_device(), 16 * mib, device));
	pool.control = open(CONTROL, O_RDWR);
	EXPECT_EQ(-EINVAL, attach_with(pool.control, device,
				       WORT_ATTACH_F_GROW |
				       WORT_ATTACH_F_RDONLY));
	ASSERT_EQ(0, pool_attach(&pool, device, 0));
	ASSERT_EQ(0, info(pool.fd, &after));
	EXPECT_EQ(before.out_pool_size, after.out_pool_size);
	close(pool.fd);
	ASSERT_EQ(0, detach(pool.control, pool.minor));
	expect_no_growth(_metadata, &pool, device, mib + WORT_MEDIA_TABLE_OFF);
	ASSERT_EQ(0, pool_attach(&pool, device, WORT_ATTACH_F_GROW));
	ASSERT_EQ(0, info(pool.fd, &after));
	EXPECT_EQ(before.out_pool_size + 15 * mib, after.out_pool_size);
	fd = open_index(pool.fd, "a", 0);
	EXPECT_EQ(0, lookup(fd, "key", "value"));
	EXPECT_EQ(0, check(pool.fd, 0, &found));
	EXPECT_EQ(0, found.out_nr_damaged);
	close(fd);
	pool_down(&pool);
	EXPECT_EQ(0, drop_partition(test_device()));
}

/* Everything works, whether the processor can tell of poison or not. */
TEST_F(pool, attach_mcsafe)
{
	struct pool *pool = &self->pool;
	struct wort_check_arg found;
	char key[32], value[32];
	int fd, i;

	ASSERT_EQ(0, detach(pool->control, pool->minor));
	ASSERT_EQ(0, reattach_with(pool, WORT_ATTACH_F_MCSAFE));
	fd = open_index(pool->fd, "a", CREATE);
	for (i = 0; i < 500; i++) {
		snprintf(key, sizeof(key), "key %d", i * 7919);
		snprintf(value, sizeof(value), "value %d", i);
		ASSERT_EQ(0, insert(fd, key, value));
		ASSERT_EQ(0, lookup(fd, key, value));
	}
	EXPECT_EQ(0, delete(fd, key));
	EXPECT_EQ(0, check(pool->fd, 0, &found));
	EXPECT_EQ(0, found.out_nr_damaged);
	EXPECT_EQ(499, found.out_nr_leaves);
	close(fd);
}

TEST_HARNESS_MAIN
