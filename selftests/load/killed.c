// SPDX-License-Identifier: GPL-2.0-only
/*
 * killed MODE SEED: what kills.py runs in a guest, which it kills.  Verifies
 * what the guest before left behind, then works until death, or ends.
 *
 * The ledger is in memory of the host, which the guest sees as a PCI device
 * (QEMU's ivshmem): what is stored there has left the guest at once, in order
 * with what is stored to the pool.
 */
#include <dirent.h>
#include <sys/wait.h>

#include "transfers.h"

#define WATCHERS	2

#define PCI_DEVICES	"/sys/bus/pci/devices"
#define IVSHMEM		"0x1110"

static struct load *load;
static int control;

static void fail(const char *what, int err)
{
	printf("killed: %s: %d\n", what, err);
	fflush(stdout);
	exit(1);
}

static bool is_ivshmem(const char *name)
{
	char path[300], id[16] = "";
	FILE *file;

	snprintf(path, sizeof(path), PCI_DEVICES "/%s/device", name);
	file = fopen(path, "r");
	if (!file)
		return false;
	if (!fgets(id, sizeof(id), file))
		id[0] = 0;
	fclose(file);
	return !strncmp(id, IVSHMEM, strlen(IVSHMEM));
}

static void *map_device(const char *name)
{
	char path[300];
	void *map;
	int fd;

	snprintf(path, sizeof(path), PCI_DEVICES "/%s/enable", name);
	write_file(path, "1");
	snprintf(path, sizeof(path), PCI_DEVICES "/%s/resource2", name);
	fd = open(path, O_RDWR);
	map = mmap(NULL, sizeof(*load), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		   0);
	close(fd);
	return map == MAP_FAILED ? NULL : map;
}

static struct load *map_ledger(void)
{
	DIR *dir = opendir(PCI_DEVICES);
	struct dirent *entry;
	void *map = NULL;

	while (dir && !map && (entry = readdir(dir)))
		if (is_ivshmem(entry->d_name))
			map = map_device(entry->d_name);
	if (!map)
		fail("there is no memory of the host", -errno);
	return map;
}

static bool is_walking(int pool)
{
	struct wort_pool_info_arg arg;

	return !info(pool, &arg) && arg.out_state & WORT_STATE_WALKING;
}

static uint32_t nr_indexes(int pool)
{
	struct wort_pool_info_arg arg;
	int err = info(pool, &arg);

	if (err)
		fail("info", err);
	load_store(&load->redone, arg.out_atomic_redone);
	return arg.out_nr_indexes;
}

/*
 * If death came during format, the old pool is whole or there is an empty one,
 * or none as long as format had not returned.
 */
static int attach_again(void)
{
	int minor = attach(control, test_device()), pool, err;
	uint32_t nr;

	if (minor == -ENODATA && load->format == LOAD_FORMATTING) {
		err = format(control, test_device(), 0);
		if (err)
			fail("format where there is no pool", err);
		minor = attach(control, test_device());
	}
	if (minor < 0)
		fail("attach", minor);
	pool = open_pool(minor, O_RDWR);
	nr = nr_indexes(pool);
	if (load->format == LOAD_FORMATTED)
		return pool;
	if (load->format == LOAD_EMPTY && nr)
		fail("indexes of the pool before format", nr);
	if (!nr)
		load_reset(load);
	load_store(&load->format, LOAD_FORMATTED);
	return pool;
}

static void check_clean(int pool)
{
	struct wort_check_arg found;
	int err = check(pool, 0, &found);

	if (err)
		fail("check", err);
	if (found.out_nr_damaged)
		fail("damaged places", found.out_nr_damaged);
}

/* At first beside the walk, which check waits for; then again. */
static void verify(int pool)
{
	struct load_found found, again;

	load_store(&load->walking, is_walking(pool));
	if (load_verify(load, pool, &found))
		fail("verification", found.wrong);
	if (transfers_verify(load, pool))
		fail("verification of transfers", 0);
	check_clean(pool);
	if (transfers_verify(load, pool))
		fail("verification of transfers after the walk", 0);
	if (load_verify(load, pool, &again))
		fail("verification after the walk", again.wrong);
	if (found.records != again.records)
		fail("records after the walk", again.records);
	load->found = found;
}

static void work(int pool, int number, enum load_style style, uint64_t seed)
{
	struct load_worker worker = {
		.load = load,
		.number = number,
		.style = style,
		.seed = seed ^ (uint64_t)number << 56,
		.pool = pool,
	};

	fail("a worker ended", load_work(&worker));
}

/* Workers never end, unless something went wrong. */
static void work_all(int pool, enum load_style style, uint64_t seed)
{
	int i, err = load_create(load, pool);

	if (err)
		fail("create", err);
	for (i = 0; i < LOAD_WORKERS; i++)
		if (!fork())
			work(pool, i, style, seed);
	load_store(&load->phase, LOAD_LOADING);
	wait(NULL);
	exit(1);
}

/* @singly: as it must not be done, and nobody watches. */
static void transfer_all(int pool, uint64_t seed, bool singly)
{
	int i, err = transfers_create(load, pool);

	if (err)
		fail("create accounts", err);
	for (i = 0; i < LOAD_WORKERS; i++)
		if (!fork()) {
			err = transfers_work(load, pool, i,
					     seed ^ (uint64_t)i << 56, singly);
			fail("a writer ended", err);
		}
	for (i = 0; i < WATCHERS && !singly; i++)
		if (!fork())
			fail("a reader ended", transfers_watch(pool, ~seed - i));
	load_store(&load->phase, LOAD_LOADING);
	wait(NULL);
	exit(1);
}

/* Format, create and fill a little, again and again. */
static void format_all(uint64_t seed)
{
	struct load_worker worker = { .load = load, .seed = seed };
	int minor, err;

	load_store(&load->phase, LOAD_LOADING);
	for (;;) {
		detach_all(control);
		load_store(&load->format, LOAD_FORMATTING);
		err = format(control, test_device(), WORT_FORMAT_F_FORCE);
		if (err)
			fail("format", err);
		load_store(&load->format, LOAD_EMPTY);
		load_reset(load);
		load_store(&load->format, LOAD_FORMATTED);
		load_store(&load->formats, load->formats + 1);
		minor = attach(control, test_device());
		worker.pool = open_pool(minor, O_RDWR);
		err = load_create(load, worker.pool);
		if (err)
			fail("create after format", err);
		err = load_steps(&worker, load_random(&seed) % 64);
		if (err)
			fail("first steps", err);
		close(worker.pool);
	}
}

static void end(int pool)
{
	close(pool);
	detach_all(control);
	close(control);
	load_store(&load->phase, LOAD_DONE);
}

int main(int argc, char **argv)
{
	uint64_t seed = argc == 3 ? strtoull(argv[2], NULL, 0) : 0;
	const char *mode = argc == 3 ? argv[1] : "";
	int pool;

	load = map_ledger();
	control = open(CONTROL, O_RDWR | O_CLOEXEC);
	pool = attach_again();
	memset(load->ops, 0, sizeof(load->ops));
	load_store(&load->phase, LOAD_ATTACHED);
	if (!strcmp(mode, "walk"))
		work_all(pool, LOAD_RECORDS, seed);
	verify(pool);
	if (!strcmp(mode, "load"))
		work_all(pool, LOAD_RECORDS, seed);
	else if (!strcmp(mode, "catalogue"))
		work_all(pool, LOAD_CATALOGUE, seed);
	else if (!strcmp(mode, "format"))
		format_all(seed);
	else if (!strcmp(mode, "atomic") || !strcmp(mode, "singly"))
		transfer_all(pool, seed, mode[0] == 's');
	else if (strcmp(mode, "end"))
		fail("no such mode", 0);
	end(pool);
	return 0;
}
