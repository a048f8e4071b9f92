// SPDX-License-Identifier: GPL-2.0-only
/*
 * Of two processes that make one file, one succeeds, and its pool stays: the other one has
 * made the file, and finds the pool when it locks it.
 *
 *	format-race FILE
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <wort.h>

#define POOL_SIZE	(1u << 20)

static const char *path;
static bool waiting;		/* the first lock comes late */

int __real_flock(int fd, int how);
int __wrap_flock(int fd, int how);

static int make(void)
{
	return wort_format_file(path, POOL_SIZE, NULL);
}

static int store(void)
{
	struct wort_index_opts opts = { .sz = sizeof(opts), .flags = WORT_INDEX_OPEN_F_CREATE };
	struct wort_index *index;
	struct wort_pool *pool;
	int err = wort_pool_open(path, O_RDWR, &pool);

	if (!err)
		err = wort_index_open(pool, "t", &opts, &index);
	return err ? err : wort_put(index, "k", 1, "v", 1, 0);
}

int __wrap_flock(int fd, int how)
{
	if (waiting) {
		waiting = false;
		if (!fork())
			_exit(make() || store());
		wait(NULL);
	}
	return __real_flock(fd, how);
}

static int look(void)
{
	struct wort_index *index;
	struct wort_pool *pool;
	char value[8];
	size_t len = sizeof(value);
	int err = wort_pool_open(path, O_RDONLY, &pool);

	if (!err)
		err = wort_index_open(pool, "t", NULL, &index);
	return err ? err : wort_get(index, "k", 1, value, &len);
}

int main(int argc, char **argv)
{
	int err, found;

	if (argc != 2) {
		fprintf(stderr, "usage: format-race FILE\n");
		return 2;
	}
	path = argv[1];
	unlink(path);
	waiting = true;
	err = make();
	found = look();
	unlink(path);
	if (err == -EEXIST && !found)
		return 0;
	fprintf(stderr, "format-race: the second: %s; the record of the first: %s\n",
		strerror(-err), strerror(-found));
	return 1;
}
