// SPDX-License-Identifier: GPL-2.0-only
/*
 * WORT_IOC_FREEZE, and how a freeze ends: by a thaw, with the last reference to
 * the descriptor, by a detach.
 *
 * A change that has to wait is made by a process of its own, the writer.  It has
 * begun to wait when it sleeps in a way that only a fatal signal ends; if nothing
 * holds it up, it ends instead.
 */
#include <sys/prctl.h>
#include <sys/wait.h>

#include "wort_test.h"

#define CREATE	WORT_INDEX_OPEN_F_CREATE

FIXTURE(freeze)
{
	struct pool pool;
	int fd;
};

FIXTURE_SETUP(freeze)
{
	ASSERT_EQ(0, pool_up(&self->pool));
	self->fd = open_index(self->pool.fd, "a", CREATE);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, insert(self->fd, "old", "v"));
	/* The copies of processes that are killed are reaped here. */
	ASSERT_EQ(0, prctl(PR_SET_CHILD_SUBREAPER, 1));
}

FIXTURE_TEARDOWN(freeze)
{
	close(self->fd);
	pool_down(&self->pool);
}

static int freeze(int fd, __u32 flags)
{
	struct wort_freeze_arg arg = { .size = sizeof(arg), .flags = flags };

	return call(fd, WORT_IOC_FREEZE, &arg);
}

static int thaw(int fd)
{
	return freeze(fd, WORT_FREEZE_F_THAW);
}

/* Gone with the test, if nobody kills it. */
static void stay(void)
{
	alarm(60);
	pause();
	_exit(1);
}

/**
 * struct holder - A process that has frozen the pool
 * @pid: the process
 * @copy: one that it has forked afterwards, or 0
 * @err: of the freeze
 */
struct holder {
	pid_t pid;
	pid_t copy;
	int err;
};

static void hold(int minor, bool copied, int to)
{
	struct holder holder = { .pid = getpid() };
	int fd = open_pool(minor, O_RDWR);

	holder.err = fd < 0 ? fd : freeze(fd, 0);
	if (copied) {
		holder.copy = fork();
		if (!holder.copy)
			stay();
	}
	if (write(to, &holder, sizeof(holder)) != sizeof(holder))
		_exit(1);
	stay();
}

static struct holder start_holder(int minor, bool copied)
{
	struct holder holder = { .err = -EIO };
	int ends[2];

	if (pipe(ends))
		return holder;
	holder.pid = fork();
	if (!holder.pid)
		hold(minor, copied, ends[1]);
	close(ends[1]);
	if (read(ends[0], &holder, sizeof(holder)) != sizeof(holder))
		holder.err = -EIO;
	close(ends[0]);
	return holder;
}

/* All that it had open is closed when this returns. */
static bool kill_off(pid_t pid)
{
	int status;

	return !kill(pid, SIGKILL) && waitpid(pid, &status, 0) == pid &&
	       WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/**
 * struct target - What a writer changes
 * @pool: descriptor of the pool
 * @index: of the index
 * @drop: one that freezes the pool, which the writer must not keep open; or 0
 */
struct target {
	int pool;
	int index;
	int drop;
};

static int change_insert(const struct target *to)
{
	return insert(to->index, "new", "v");
}

static int change_delete(const struct target *to)
{
	return delete(to->index, "old");
}

static int change_create(const struct target *to)
{
	int fd = open_index(to->pool, "b", CREATE);

	return fd < 0 ? fd : 0;
}

static int change_destroy(const struct target *to)
{
	return destroy(to->pool, "a");
}

typedef int (*change_fn)(const struct target *to);

static pid_t start_writer(change_fn change, const struct target *to)
{
	pid_t pid = fork();

	if (!pid) {
		if (to->drop)
			close(to->drop);
		_exit(-change(to));
	}
	return pid;
}

/* False: it has ended, and can be waited for. */
static bool waits(pid_t pid)
{
	siginfo_t end = { };
	int flags = WEXITED | WNOHANG | WNOWAIT;

	while (!waitid(P_PID, pid, &end, flags) && !end.si_pid)
		if (sleeps_in_module(pid))
			return true;
	return false;
}

/* What its change returned; -1: it was killed. */
static int result_of(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return -WEXITSTATUS(status);
}

TEST_F(freeze, changes_wait)
{
	static const change_fn changes[] = {
		change_insert, change_delete, change_create, change_destroy,
	};
	struct target to = { self->pool.fd, self->fd, 0 };
	int fd = open_pool(self->pool.minor, O_RDWR);
	size_t i;
	pid_t pid;

	ASSERT_LE(0, fd);
	for (i = 0; i < ARRAY_SIZE(changes); i++) {
		ASSERT_EQ(0, freeze(fd, 0));
		pid = start_writer(changes[i], &to);
		EXPECT_EQ(1, waits(pid));
		if (!i) {
			EXPECT_EQ(-ENOENT, lookup(self->fd, "new", "v"));
			EXPECT_EQ(0, lookup(self->fd, "old", "v"));
		}
		ASSERT_EQ(0, thaw(fd));
		EXPECT_EQ(0, result_of(pid));
	}
	close(fd);
}

/* errno-table: operation EBUSY */
TEST_F(freeze, by_one_descriptor_once)
{
	int fd = open_pool(self->pool.minor, O_RDONLY);
	struct wort_check_arg found;

	ASSERT_LE(0, fd);
	EXPECT_EQ(-EBADF, freeze(fd, 0));
	close(fd);
	EXPECT_EQ(-EINVAL, thaw(self->pool.fd));
	ASSERT_EQ(0, freeze(self->pool.fd, 0));
	EXPECT_EQ(-EBUSY, freeze(self->pool.fd, 0));
	EXPECT_EQ(0, check(self->pool.fd, 0, &found));
	EXPECT_EQ(-EBUSY, check(self->pool.fd, WORT_CHECK_F_CLEAR, &found));
	ASSERT_EQ(0, thaw(self->pool.fd));
	EXPECT_EQ(-EINVAL, thaw(self->pool.fd));
	EXPECT_EQ(0, insert(self->fd, "new", "v"));
}

TEST_F(freeze, last_of_several_thaws)
{
	int one = open_pool(self->pool.minor, O_RDWR);
	int two = open_pool(self->pool.minor, O_RDWR);
	struct target to = { self->pool.fd, self->fd, .drop = two };
	pid_t pid;

	ASSERT_EQ(0, freeze(one, 0));
	ASSERT_EQ(0, freeze(two, 0));
	ASSERT_EQ(0, thaw(one));
	pid = start_writer(change_insert, &to);
	EXPECT_EQ(1, waits(pid));
	close(two);
	EXPECT_EQ(0, result_of(pid));
	EXPECT_EQ(0, lookup(self->fd, "new", "v"));
	close(one);
}

TEST_F(freeze, ends_with_a_killed_process)
{
	struct target to = { self->pool.fd, self->fd, 0 };
	struct holder holder = start_holder(self->pool.minor, false);
	pid_t pid;

	ASSERT_EQ(0, holder.err);
	pid = start_writer(change_insert, &to);
	EXPECT_EQ(1, waits(pid));
	EXPECT_EQ(-ENOENT, lookup(self->fd, "new", "v"));
	ASSERT_EQ(1, kill_off(holder.pid));
	EXPECT_EQ(0, result_of(pid));
	EXPECT_EQ(0, lookup(self->fd, "new", "v"));
	EXPECT_EQ(0, insert(self->fd, "newer", "v"));
}

/* A second writer begins after the first kill, so what it waits for is in force then. */
TEST_F(freeze, lasts_while_a_forked_process_lives)
{
	struct target to = { self->pool.fd, self->fd, 0 };
	struct holder holder = start_holder(self->pool.minor, true);
	pid_t first, second;

	ASSERT_EQ(0, holder.err);
	ASSERT_LT(0, holder.copy);
	first = start_writer(change_insert, &to);
	EXPECT_EQ(1, waits(first));
	ASSERT_EQ(1, kill_off(holder.pid));
	second = start_writer(change_delete, &to);
	EXPECT_EQ(1, waits(second));
	EXPECT_EQ(-ENOENT, lookup(self->fd, "new", "v"));
	EXPECT_EQ(0, lookup(self->fd, "old", "v"));
	ASSERT_EQ(1, kill_off(holder.copy));
	EXPECT_EQ(0, result_of(first));
	EXPECT_EQ(0, result_of(second));
	EXPECT_EQ(0, lookup(self->fd, "new", "v"));
	EXPECT_EQ(-ENOENT, lookup(self->fd, "old", "v"));
}

TEST_F(freeze, lasts_while_a_duplicate_is_open)
{
	int fd = open_pool(self->pool.minor, O_RDWR), copy = dup(fd);
	struct target to = { self->pool.fd, self->fd, .drop = copy };
	pid_t pid;

	ASSERT_LE(0, copy);
	ASSERT_EQ(0, freeze(fd, 0));
	close(fd);
	pid = start_writer(change_insert, &to);
	EXPECT_EQ(1, waits(pid));
	EXPECT_EQ(-EBUSY, freeze(copy, 0));
	close(copy);
	EXPECT_EQ(0, result_of(pid));
}

TEST_F(freeze, ends_with_a_detach)
{
	struct target to = { self->pool.fd, self->fd, 0 };
	struct holder holder = start_holder(self->pool.minor, false);
	pid_t pid;

	ASSERT_EQ(0, holder.err);
	pid = start_writer(change_insert, &to);
	EXPECT_EQ(1, waits(pid));
	ASSERT_EQ(0, detach(self->pool.control, self->pool.minor));
	EXPECT_EQ(-ENODEV, result_of(pid));
	/* Its descriptor is that of a pool that is gone. */
	ASSERT_EQ(1, kill_off(holder.pid));
	close(self->fd);
	ASSERT_EQ(0, reattach(&self->pool));
	self->fd = open_index(self->pool.fd, "a", 0);
	ASSERT_LE(0, self->fd);
	EXPECT_EQ(-ENOENT, lookup(self->fd, "new", "v"));
	EXPECT_EQ(0, insert(self->fd, "new", "v"));
}

TEST_HARNESS_MAIN
