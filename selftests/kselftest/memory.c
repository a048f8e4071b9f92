// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of the kernel that a call takes: it is the caller's memory cgroup's,
 * and there is a bound to it whatever the program asks for.
 *
 * A call is held where its answer is copied to the program, by a page that
 * userfaultfd has not filled in yet: there it has all the memory it takes.
 */
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "wort_test.h"

#define CGROUP		"/tmp/wort-cgroup"
#define GROUP		CGROUP "/callers"
#define LIMIT		(16 << 20)
#define NR_CALLERS	100
#define STACK_SIZE	32768
/* What a call holds at least when it asks for the most. */
#define HELD_MIN	(192 << 10)
#define WAIT_MS		60000

/* Seen by the test and by the process in the group. */
struct seen {
	atomic_int settled;	/* all calls are held, or have returned */
	atomic_int measured;
	atomic_int nr_returned;
	atomic_int nr_enomem;
	atomic_int nr_failed;	/* in another way */
	int nr_held;
	long long current;	/* of the group, while these are held */
	int setup_err;
};

static struct seen *seen;
static int index_fd;
static char *answers;
static pthread_barrier_t all_there;

static long long read_number(const char *path, const char *name)
{
	char text[1024] = "", *at = text;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		return -1;
	close(fd);
	if (name) {
		at = strstr(text, name);
		at = at ? at + strlen(name) : NULL;
	}
	return at ? strtoll(at, NULL, 10) : -1;
}

static int group_up(void)
{
	char text[256] = "";
	int fd, err;

	mkdir("/tmp", 0755);
	mkdir(CGROUP, 0755);
	if (mount("none", CGROUP, "cgroup2", 0, NULL) && errno != EBUSY)
		return -errno;
	fd = open(CGROUP "/cgroup.controllers", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		return -errno;
	close(fd);
	if (!strstr(text, "memory"))
		return -ENOENT;
	err = write_file(CGROUP "/cgroup.subtree_control", "+memory");
	if (!err && mkdir(GROUP, 0755))
		err = -errno;
	return err ? err : write_file(GROUP "/memory.max", "%d", LIMIT);
}

static void group_down(void)
{
	rmdir(GROUP);
	umount(CGROUP);
	rmdir(CGROUP);
}

/* It has its stack before it begins. */
static void *scan_once(void *unused UNUSED)
{
	struct wort_scan_arg arg = {
		.size = sizeof(arg),
		.buf_ptr = PTR(answers),
		.buf_len = WORT_BUF_MAX,
	};
	volatile char stack[STACK_SIZE / 4];
	size_t i;
	int err;

	for (i = 0; i < sizeof(stack); i++)
		stack[i] = 0;
	pthread_barrier_wait(&all_there);
	err = call(index_fd, WORT_IOC_SCAN, &arg);
	seen->nr_enomem += err == -ENOMEM;
	seen->nr_failed += err && err != -ENOMEM;
	seen->nr_returned++;
	return NULL;
}

static int protect_answers(int fd, __u64 mode)
{
	struct uffdio_writeprotect protect = {
		.range = { PTR(answers), 4096 }, .mode = mode,
	};

	return ioctl(fd, UFFDIO_WRITEPROTECT, &protect);
}

/*
 * Whoever writes to the first page of the answers is held.  The page is there: for
 * one that is missing each of them would take memory before it is held.
 */
static int hold_answers(void)
{
	struct uffdio_api api = {
		.api = UFFD_API, .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP,
	};
	struct uffdio_register reg = {
		.range = { PTR(answers), 4096 },
		.mode = UFFDIO_REGISTER_MODE_WP,
	};
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	*(volatile char *)answers = 1;
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) ||
	    ioctl(fd, UFFDIO_REGISTER, &reg) ||
	    protect_answers(fd, UFFDIO_WRITEPROTECT_MODE_WP))
		return -errno;
	return fd;
}

static void let_go(int fd)
{
	protect_answers(fd, 0);
}

/* Until each call is held or has returned. */
static int wait_settled(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	struct uffd_msg msg;
	int tries = WAIT_MS / 10;

	while (seen->nr_held + seen->nr_returned < NR_CALLERS && tries--) {
		poll(&poll_fd, 1, 10);
		while (read(fd, &msg, sizeof(msg)) == sizeof(msg))
			seen->nr_held++;
	}
	return tries < 0 ? -ETIMEDOUT : 0;
}

/*
 * All threads and their memory are there before the first call, so nothing but
 * the calls takes memory when the group is at its limit: a fault, a clone() or an open()
 * that finds it there has a task killed.  Therefore the group is measured from outside.
 */
static int run_callers(void)
{
	pthread_t callers[NR_CALLERS];
	pthread_attr_t attr;
	int i, fd, err;

	answers = mmap(NULL, WORT_BUF_MAX, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fd = hold_answers();
	if (fd < 0)
		return fd;
	pthread_barrier_init(&all_there, NULL, NR_CALLERS + 1);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	for (i = 0; i < NR_CALLERS; i++)
		if (pthread_create(&callers[i], &attr, scan_once, NULL))
			return -EAGAIN;
	pthread_barrier_wait(&all_there);
	err = wait_settled(fd);
	seen->settled = 1;
	while (!seen->measured)
		usleep(1000);
	let_go(fd);
	for (i = 0; i < NR_CALLERS; i++)
		pthread_join(callers[i], NULL);
	return err;
}

FIXTURE(memory)
{
	struct pool pool;
};

FIXTURE_SETUP(memory)
{
	ASSERT_EQ(0, pool_up(&self->pool));
	index_fd = open_index(self->pool.fd, "a", WORT_INDEX_OPEN_F_CREATE);
	ASSERT_LE(0, index_fd);
	ASSERT_EQ(0, insert(index_fd, "key", "value"));
	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	ASSERT_NE(PTR(MAP_FAILED), PTR(seen));
}

FIXTURE_TEARDOWN(memory)
{
	munmap(seen, sizeof(*seen));
	close(index_fd);
	pool_down(&self->pool);
}

/* The group is told before the process takes any memory of its own. */
static void in_group(void)
{
	seen->setup_err = write_file(GROUP "/cgroup.procs", "0");
	if (!seen->setup_err)
		seen->setup_err = run_callers();
	_exit(0);
}

static int measure(pid_t pid)
{
	int status;

	while (!seen->settled) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		usleep(1000);
	}
	seen->current = read_number(GROUP "/memory.current", NULL);
	seen->measured = 1;
	waitpid(pid, &status, 0);
	return status;
}

TEST_F_TIMEOUT(memory, charged_to_the_caller, 300)
{
	int status;
	pid_t pid;

	if (group_up()) {
		group_down();
		SKIP(return, "there are no memory cgroups of the second version");
	}
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		in_group();
	status = measure(pid);
	printf("# %d held, %d without memory, group has %lld KiB\n",
	       seen->nr_held, seen->nr_enomem, seen->current >> 10);
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, seen->setup_err);
	EXPECT_EQ(NR_CALLERS, seen->nr_returned);
	EXPECT_EQ(0, seen->nr_failed);
	EXPECT_LT(0, seen->nr_held);
	EXPECT_LT(0, seen->nr_enomem);
	EXPECT_LE((long long)seen->nr_held * HELD_MIN, seen->current);
	EXPECT_EQ(0, read_number(GROUP "/memory.events", "oom_kill "));
	group_down();
}

TEST_HARNESS_MAIN
