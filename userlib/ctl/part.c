// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files that get their name when they are whole.  A file that had the name stays until then.
 * A signal that ends the program, but SIGKILL, removes what is half written.
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
	static const int ends[] = {
		SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGPIPE, SIGALRM, SIGXCPU,
	};
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

static void folder_of(const char *path, char folder[PATH_MAX])
{
	const char *slash = strrchr(path, '/');

	snprintf(folder, PATH_MAX, "%.*s", slash ? (int)(slash - path + 1) : 1,
		 slash ? path : ".");
}

/*
 * Must the name keep its file?  One on which another is mounted cannot be renamed over; in a
 * sticky folder only its owner or that of the folder may replace a file.
 */
static bool is_bound(const char *path, const struct stat *st)
{
	char folder[PATH_MAX];
	struct statx mount;
	struct stat in;

	if (!statx(AT_FDCWD, path, 0, 0, &mount) &&
	    mount.stx_attributes & STATX_ATTR_MOUNT_ROOT)
		return true;
	folder_of(path, folder);
	return geteuid() && st->st_uid != geteuid() && !stat(folder, &in) &&
	       in.st_mode & S_ISVTX && in.st_uid != geteuid();
}

/*
 * Can another file take the name?  Not that of a pipe or a device, nor of a file that has
 * none any more, as /dev/stdout may lead to, nor where a link leads to nothing.  What a
 * symbolic link refers to is replaced, not the link.
 */
static bool is_replaceable(struct part *part)
{
	struct stat st;

	if (stat(part->path, &st))
		return lstat(part->path, &st) && errno == ENOENT;
	if (!S_ISREG(st.st_mode) || !st.st_nlink || !realpath(part->path, part->target) ||
	    is_bound(part->target, &st))
		return false;
	part->path = part->target;
	return true;
}

static mode_t mode_of_new(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

/* As the file that it replaces; a group that it cannot have may read nothing of it. */
static int set_owner(const struct part *part, int fd)
{
	struct stat st;
	mode_t mode;

	if (stat(part->path, &st))
		return fchmod(fd, mode_of_new());
	mode = st.st_mode & 0777;
	if (fchown(fd, st.st_uid, st.st_gid) && fchown(fd, -1, st.st_gid))
		mode &= ~070;
	return fchmod(fd, mode);
}

static void drop(struct part *part)
{
	unlink(part->name);
	watch_signals(NULL);
	*part->name = '\0';
}

/*
 * Make a file of its own, so that several programs may write to one name.  A file that the
 * user must not write is not replaced, either.
 */
static FILE *make(struct part *part)
{
	FILE *out;
	int fd;

	if (access(part->path, W_OK) && errno != ENOENT)
		return NULL;
	if ((size_t)snprintf(part->name, sizeof(part->name), "%s.XXXXXX", part->path) >=
	    sizeof(part->name)) {
		*part->name = '\0';
		errno = ENAMETOOLONG;
		return NULL;
	}
	fd = mkostemp(part->name, O_CLOEXEC);
	if (fd < 0) {
		*part->name = '\0';
		return NULL;
	}
	watch_signals(part->name);
	out = set_owner(part, fd) ? NULL : fdopen(fd, "w");
	if (!out) {
		drop(part);
		close(fd);
	}
	return out;
}

/* Does the folder take no other file? */
static bool no_place(int err)
{
	return err == EACCES || err == EROFS || err == ENAMETOOLONG;
}

/*
 * Write a file itself.  One that is there is not asked for as a new one: the kernel refuses
 * that for somebody else's in a folder as /tmp.
 */
static FILE *open_itself(const char *path)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	FILE *out;

	if (fd < 0)
		return errno == ENOENT ? fopen(path, "we") : NULL;
	out = fdopen(fd, "w");
	if (!out)
		close(fd);
	return out;
}

/* Where there is no place for another file, it is written in its own. */
FILE *part_open(struct part *part, const char *path)
{
	FILE *out;

	part->path = path;
	*part->name = '\0';
	if (part_is_stdout(part))
		return stdout;
	if (!is_replaceable(part))
		return open_itself(path);
	out = make(part);
	return !out && no_place(errno) ? open_itself(path) : out;
}

/* A pipe has nothing to sync, nor has a filesystem without a disk. */
static bool is_unsyncable(int err)
{
	return err == EINVAL || err == EROFS;
}

/* The name in its folder is on disk, too. */
static int sync_name(const struct part *part)
{
	char folder[PATH_MAX];
	int fd, err;

	folder_of(part->path, folder);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* One that may be written and not read. */
	if (fd < 0)
		return errno == EACCES ? 0 : -errno;
	err = fsync(fd) && !is_unsyncable(errno) ? -errno : 0;
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
