// SPDX-License-Identifier: GPL-2.0-only
/*
 * removal ROUNDS [SEED]: takes the memory away from processes at work, by
 * unbinding its driver, by detach, or by both at once, while others try to
 * unload the module.  Everybody is told ENODEV; afterwards the module can be
 * unloaded, and what was acknowledged is there again.  Prints TAP, a test for
 * each round.  What is on $WORT_DEVICE (/dev/pmem0) is lost.
 */
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "load.h"

#define NR_OTHERS	4	/* who reads, examines, asks, opens */
#define NR_USERS	(LOAD_WORKERS + NR_OTHERS)
#define ROUND_SECONDS	600	/* only what hangs takes that long */

static struct load *load;
static uint64_t *turns;		/* of the others, shared */
static uint64_t seed;
static char driver_name[64];
static int failures;

static void expect(long long want, long long got, const char *what)
{
	if (want == got)
		return;
	printf("# %s: %lld instead of %lld\n", what, got, want);
	failures++;
}

static void must(long long got, const char *what)
{
	if (got >= 0)
		return;
	printf("# %s: %lld\nBail out!\n", what, got);
	exit(1);
}

/* ---- the device and the module ---- */

static void find_driver(void)
{
	if (bound_name(driver_name, sizeof(driver_name))) {
		printf("1..0 # SKIP the device has no driver to unbind\n");
		exit(4);
	}
}

static void unbind(void)
{
	must(write_file(DRIVER "/unbind", "%s", driver_name), "unbind");
}

static void bind_again(void)
{
	must(rebind(driver_name), "bind");
}

/* -EWOULDBLOCK as long as something holds it. */
static int unload(void)
{
	return syscall(SYS_delete_module, "wort", O_NONBLOCK) ? -errno : 0;
}

static int load_module(void)
{
	int fd = open("wort.ko", O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return system("modprobe wort") ? -ENOENT : 0;
	err = syscall(SYS_finit_module, fd, "", 0) ? -errno : 0;
	close(fd);
	return err;
}

/* ---- users ---- */

static int scan_once(int index)
{
	static char buf[1 << 16];
	struct wort_scan_arg scan = {
		.size = sizeof(scan),
		.flags = load_random(&seed) % 2 ? WORT_SCAN_F_REVERSE : 0,
		.buf_ptr = PTR(buf),
		.buf_len = sizeof(buf),
	};

	return call(index, WORT_IOC_SCAN, &scan);
}

static int count_all(int index)
{
	char last[WORT_KEY_MAX];
	struct wort_scan_arg scan = {
		.size = sizeof(scan),
		.flags = WORT_SCAN_F_COUNT,
		.buf_ptr = PTR(last),
		.buf_len = sizeof(last),
	};

	return call(index, WORT_IOC_SCAN, &scan);
}

static int check_once(int pool)
{
	struct wort_check_arg found;
	int err = check(pool, load_random(&seed) % 2 ? WORT_CHECK_F_CLEAR : 0,
			&found);

	/* Operations ran out of space, which the check kept from being given back. */
	if (err == -EBUSY)
		return 0;
	return err ? err : found.out_nr_damaged ? -EUCLEAN : 0;
}

static int list_once(int pool)
{
	static struct wort_index_record records[32];
	struct wort_index_list_arg list = {
		.size = sizeof(list),
		.buf_ptr = PTR(records),
		.buf_len = sizeof(records),
	};

	return call(pool, WORT_IOC_INDEX_LIST, &list);
}

static int open_once(int pool)
{
	struct wort_pool_info_arg arg;
	int fd = open_index(pool, "index 1", WORT_INDEX_OPEN_F_RDONLY);

	if (fd < 0)
		return fd;
	close(fd);
	return info(pool, &arg);
}

static int other_once(int number, int pool, int index)
{
	switch (number) {
	case 0:
		return scan_once(index);
	case 1:
		return load_random(&seed) % 8 ? count_all(index) :
						check_once(pool);
	case 2:
		return list_once(pool);
	default:
		return open_once(pool);
	}
}

static int other(int number, int pool)
{
	int index = open_index(pool, "index 0", 0), err = index < 0 ? index : 0;

	for (; !err; turns[number]++)
		err = other_once(number, pool, index);
	return err;
}

static int worker(int number, int pool)
{
	struct load_worker w = {
		.load = load,
		.number = number,
		.style = load_random(&seed) % 4 ? LOAD_RECORDS : LOAD_CATALOGUE,
		.seed = load_random(&seed),
		.pool = pool,
	};

	return load_work(&w);
}

static pid_t start_user(int number, int pool)
{
	pid_t pid = fork();
	int err;

	must(pid, "fork");
	if (pid) {
		load_random(&seed);
		return pid;
	}
	load_random(&seed);
	seed ^= (uint64_t)number << 48;
	err = number < LOAD_WORKERS ? worker(number, pool) :
				      other(number - LOAD_WORKERS, pool);
	if (err != -ENODEV)
		printf("# user %d was told %d\n", number, err);
	fflush(stdout);
	_exit(err != -ENODEV);
}

/* Unload all the time: it has to fail, and must not disturb. */
static pid_t start_unloader(void)
{
	pid_t pid = fork();
	int err = -EWOULDBLOCK;

	must(pid, "fork");
	if (pid)
		return pid;
	while (err == -EWOULDBLOCK || err == -EBUSY)
		err = unload();
	printf("# unload while in use: %d\n", err);
	fflush(stdout);
	_exit(1);
}

/* Until each has done something, and one some random number of operations. */
static void wait_for_users(void)
{
	uint64_t enough = load_random(&seed) % (load_nr_keys / 2);
	int i, idle;

	do {
		usleep(200);
		idle = load_fetch(&load->ops[0]) < enough;
		for (i = 0; i < LOAD_WORKERS; i++)
			idle += !load_fetch(&load->ops[i]);
		for (i = 0; i < NR_OTHERS; i++)
			idle += !load_fetch(&turns[i]);
	} while (idle);
}

static void end_users(const pid_t *users)
{
	int i, status;

	for (i = 0; i < NR_USERS; i++) {
		waitpid(users[i], &status, 0);
		expect(0, status, "status of a user");
	}
}

/* ---- removal ---- */

/* What a descriptor says after removal, whatever is asked. */
static void ask_all(int pool, int index)
{
	struct wort_stats_arg stats = { .size = sizeof(stats) };
	struct wort_index_info_arg about = { .size = sizeof(about) };
	struct wort_batch_arg batch = { .size = sizeof(batch) };
	struct wort_pool_info_arg arg;
	struct wort_check_arg found;

	expect(-ENODEV, insert(index, "key", "value"), "insert");
	expect(-ENODEV, lookup(index, "key", "value"), "lookup");
	expect(-ENODEV, delete(index, "key"), "delete");
	expect(-ENODEV, scan_once(index), "scan");
	expect(-ENODEV, count_all(index), "count");
	expect(-ENODEV, call(index, WORT_IOC_BATCH, &batch), "batch");
	expect(-ENODEV, call(index, WORT_IOC_STATS, &stats), "stats");
	expect(-ENODEV, call(index, WORT_IOC_INDEX_INFO, &about), "index info");
	expect(-ENODEV, info(pool, &arg), "info");
	expect(-ENODEV, check(pool, 0, &found), "check");
	expect(-ENODEV, list_once(pool), "list");
	expect(-ENODEV, open_once(pool), "open");
	expect(-ENODEV, destroy(pool, "index 0"), "destroy");
	expect(-ENODEV, open_index(pool, "new", WORT_INDEX_OPEN_F_CREATE),
	       "create");
}

static const char *const ways[] = { "unbind", "detach", "both at once" };

/* Removal may come before detach or after it, which finds nothing then. */
static void take_away(int way, int control, int minor)
{
	pid_t pid;

	if (way == 0) {
		unbind();
	} else if (way == 1) {
		expect(0, detach(control, minor), "detach");
	} else {
		pid = fork();
		must(pid, "fork");
		if (!pid) {
			unbind();
			_exit(0);
		}
		expect(0, detach(control, minor), "detach beside unbind");
		waitpid(pid, NULL, 0);
	}
}

/* The module goes when the last that holds it does, and comes back. */
static int reload(int way, int control, int minor, int pool, int index)
{
	expect(-EWOULDBLOCK, unload(), "unload with descriptors");
	close(pool);
	expect(-EWOULDBLOCK, unload(), "unload with an index");
	close(index);
	if (way == 0) {
		expect(-EWOULDBLOCK, unload(), "unload with a dead pool");
		expect(0, detach(control, minor), "detach of a dead pool");
	}
	close(control);
	expect(0, unload(), "unload");
	if (way != 1)
		bind_again();
	must(load_module(), "load the module");
	control = open(CONTROL, O_RDWR | O_CLOEXEC);
	must(control, CONTROL);
	return control;
}

static void verify(int pool, struct load_found *found)
{
	struct wort_check_arg places;

	expect(0, load_verify(load, pool, found), "verification");
	expect(0, found->done, "failed and done nevertheless");
	expect(0, check(pool, 0, &places), "check");
	expect(0, places.out_nr_damaged, "damaged places");
}

static int play(int number, int control, int pool, int minor)
{
	int way = load_random(&seed) % 3, index, i, before = failures;
	pid_t users[NR_USERS], unloader;
	struct load_found found;
	uint64_t ops = 0;

	memset(load->ops, 0, sizeof(load->ops));
	memset(turns, 0, NR_OTHERS * sizeof(*turns));
	index = open_index(pool, "index 0", 0);
	must(index, "open an index");
	for (i = 0; i < NR_USERS; i++)
		users[i] = start_user(i, pool);
	unloader = start_unloader();
	wait_for_users();
	take_away(way, control, minor);
	end_users(users);
	kill(unloader, SIGKILL);
	waitpid(unloader, &i, 0);
	expect(1, WIFSIGNALED(i), "the module stayed");
	ask_all(pool, index);
	control = reload(way, control, minor, pool, index);
	minor = attach(control, test_device());
	must(minor, "attach");
	pool = open_pool(minor, O_RDWR);
	must(pool, "open the pool");
	verify(pool, &found);
	close(pool);
	for (i = 0; i < LOAD_WORKERS; i++)
		ops += load->ops[i];
	printf("%sok %d %s under load # %llu operations, %llu records\n",
	       failures > before ? "not " : "", number, ways[way],
	       (unsigned long long)ops, (unsigned long long)found.records);
	fflush(stdout);
	return control;
}

/* A fresh descriptor each time: the one before was closed for the module. */
static void play_all(int rounds)
{
	int control = open(CONTROL, O_RDWR | O_CLOEXEC), minor, pool, i;

	must(control, CONTROL);
	detach_all(control);
	must(format(control, test_device(), WORT_FORMAT_F_FORCE), "format");
	minor = attach(control, test_device());
	must(minor, "attach");
	for (i = 1; i <= rounds; i++) {
		alarm(ROUND_SECONDS);
		pool = open_pool(0, O_RDWR);
		must(pool, "open the pool");
		must(load_create(load, pool), "create");
		control = play(i, control, pool, 0);
	}
	detach_all(control);
	close(control);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 20;

	seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)getpid();
	if (argc > 3)
		load_nr_keys = atoi(argv[3]);
	load = mmap(NULL, sizeof(*load) + NR_OTHERS * sizeof(*turns),
		    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	turns = (uint64_t *)(load + 1);
	find_driver();
	printf("TAP version 13\n1..%d\n# seed %#llx\n", rounds,
	       (unsigned long long)seed);
	fflush(stdout);
	play_all(rounds);
	return failures > 0;
}
