// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files that get their name when they are whole: what was there stays until then, and
 * whoever ends the program leaves nothing half written.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl.h"

/* For the handler of signals. */
static const char *unfinished;

static void remove_part(int sig)
{
	unlink(unfinished);
	signal(sig, SIG_DFL);
	raise(sig);
}

static void watch_signals(const char *name)
{
	static const int ends[] = { SIGHUP, SIGINT, SIGTERM };
	size_t i;

	unfinished = name;
	for (i = 0; i < ARRAY_SIZE(ends); i++)
		if (signal(ends[i], name ? remove_part : SIG_DFL) == SIG_IGN)
			signal(ends[i], SIG_IGN);
}

bool part_is_stdout(const struct part *part)
{
	return !strcmp(part->path, "-");
}

/* Into a pipe or a device is written; no file takes its name. */
static bool is_special(const struct part *part)
{
	struct stat st;

	return !stat(part->path, &st) && !S_ISREG(st.st_mode);
}

/* That of the file that it replaces, or of any new one. */
static mode_t mode_of(const struct part *part)
{
	mode_t mask = umask(0);
	struct stat st;

	umask(mask);
	return stat(part->path, &st) ? 0666 & ~mask : st.st_mode & 0777;
}

static void drop(struct part *part)
{
	unlink(part->name);
	watch_signals(NULL);
	*part->name = '\0';
}

/* A file of its own, whoever else writes one there. */
static FILE *make(struct part *part)
{
	FILE *out;
	int fd;

	/* What a symbolic link refers to is replaced, not the link. */
	if (realpath(part->path, part->target))
		part->path = part->target;
	if ((size_t)snprintf(part->name, sizeof(part->name), "%s.XXXXXX", part->path) >=
	    sizeof(part->name)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	fd = mkostemp(part->name, O_CLOEXEC);
	if (fd < 0)
		return NULL;
	watch_signals(part->name);
	out = fchmod(fd, mode_of(part)) ? NULL : fdopen(fd, "w");
	if (!out) {
		drop(part);
		close(fd);
	}
	return out;
}

FILE *part_open(struct part *part, const char *path)
{
	part->path = path;
	*part->name = '\0';
	if (part_is_stdout(part))
		return stdout;
	return is_special(part) ? fopen(path, "w") : make(part);
}

/* The name in its folder is on disk, too. */
static int sync_name(const struct part *part)
{
	const char *slash = strrchr(part->path, '/');
	char folder[PATH_MAX];
	int fd, err;

	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - part->path + 1) : 1,
		 slash ? part->path : ".");
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = fsync(fd) ? -errno : 0;
	close(fd);
	return err;
}

static int publish(struct part *part)
{
	if (rename(part->name, part->path))
		return -errno;
	watch_signals(NULL);
	*part->name = '\0';
	return sync_name(part);
}

/* A pipe has nothing to sync. */
static bool is_unsyncable(int err)
{
	return err == EINVAL || err == EROFS;
}

int part_close(struct part *part, FILE *out, bool whole)
{
	int err = 0;

	if (fflush(out) || ferror(out))
		err = -(errno ? errno : EIO);
	if (!err && !part_is_stdout(part) && fsync(fileno(out)) && !is_unsyncable(errno))
		err = -errno;
	if (!part_is_stdout(part) && fclose(out) && !err)
		err = -errno;
	if (*part->name && whole && !err)
		err = publish(part);
	if (*part->name)
		drop(part);
	return err;
}
