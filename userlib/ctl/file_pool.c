// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pools in plain files, which the library serves without the module.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "../local/content.h"
#include "backup_file.h"
#include "ctl.h"
#include "image.h"

bool is_plain_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

/* A file whose pool begins with it; in images of namespaces it begins later. */
bool is_file_pool(const char *path)
{
	struct image_label label;
	int err;

	if (settings.offset != IMAGE_FIND || !is_plain_file(path))
		return false;
	/* Larger than the file: the pool may have grown since its size was looked at. */
	err = image_probe(path, &label);
	return (!err || err == -EOVERFLOW) && !label.offset;
}

/* The same command, if it is not too long for a line. */
static void mend_wait(void)
{
	char *line = NULL;
	size_t size;
	FILE *out = open_memstream(&line, &size);
	int i;

	if (!out)
		return;
	fprintf(out, "wort %s --wait 60", settings.verb);
	for (i = 1; i < settings.argc; i++)
		fprintf(out, " %s", shell_word(settings.argv[i]));
	if (!fclose(out) && size < PATH_MAX)
		mend("%s", line);
	else
		mend("wort %s --wait 60 ARGUMENT...", settings.verb);
	free(line);
}

/* The name of a process, or "". */
static void process_name(pid_t pid, char *name, size_t size)
{
	char place[32];
	FILE *comm;

	*name = 0;
	snprintf(place, sizeof(place), "/proc/%d/comm", pid);
	comm = fopen(place, "r");
	if (comm && fgets(name, size, comm))
		name[strcspn(name, "\n")] = 0;
	if (comm)
		fclose(comm);
}

/* Another process has it open. */
static int file_in_use(const char *path)
{
	pid_t pid = wort_file_holder(path);
	char name[64] = "";

	if (pid)
		process_name(pid, name, sizeof(name));
	if (*name)
		complain("%s: process %d (%s) has it open", path, pid, name);
	else
		complain("%s: another process has it open", path);
	name_errno(-EAGAIN);
	if (settings.may_wait)
		mend_wait();
	return ST_REFUSED;
}

/* Is it the filesystem that cannot be written, of a file or of the folder for one? */
static bool is_on_readonly(const char *path)
{
	char folder[PATH_MAX];
	struct statvfs fs;

	snprintf(folder, sizeof(folder), "%s", path);
	return (!statvfs(path, &fs) || !statvfs(dirname(folder), &fs)) && fs.f_flag & ST_RDONLY;
}

/*
 * A pool whose beginning is lost, or damaged in both superblocks there: 0 if there is none, or
 * no copy at its end.
 */
static int refuse_lost(const char *path)
{
	struct image_label label;

	if (image_copy(path, settings.offset, IMAGE_COPY_REACH, false, 0, &label))
		return 0;
	complain("%s: the beginning of a pool is lost; at its end is a copy of what it said", path);
	mend("wort check --clear --from-copy %s", shell_word(path));
	return ST_REFUSED;
}

int file_failed(const char *path, int err)
{
	int lost = err == -EUCLEAN || err == -EIO ? refuse_lost(path) : 0;

	if (lost)
		return lost;
	if (err == -EWOULDBLOCK)
		return file_in_use(path);
	if (err != -EROFS || !is_on_readonly(path))
		return fail(path, err);
	complain("%s: its filesystem is mounted read-only", path);
	return status_of(err);
}

bool holds_something(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), found;

	if (fd < 0)
		return false;
	found = file_has_content(fd);
	close(fd);
	return found > 0;
}

struct wort_pool_opts file_pool_opts(void)
{
	return (struct wort_pool_opts) {
		.sz = sizeof(struct wort_pool_opts),
		.sync = settings.process ? WORT_SYNC_PROCESS : WORT_SYNC_MEDIA,
		.wait_ms = settings.wait_ms,
	};
}

int open_file_pool(const char *path, int flags, struct wort_pool **out)
{
	struct wort_pool_opts opts = file_pool_opts();
	int err = wort_pool_open_with(path, flags, &opts, out);

	if (err == -ENOSPC) {
		complain("%s: the file has holes, and its filesystem is full", path);
		mend("df %s", shell_word(path));
		return ST_REFUSED;
	}
	return err ? file_failed(path, err) : 0;
}

static int size_fits(const char *path, uint64_t size, const struct stat *st)
{
	if (size && st->st_size && size < (uint64_t)st->st_size)
		return complain("%s: the file is larger: a pool takes all of it", path);
	if (!size && !st->st_size) {
		complain("%s: the file is empty", path);
		mend("wort format --size 64M %s", shell_word(path));
		return ST_REFUSED;
	}
	if ((size ? size : (uint64_t)st->st_size) < POOL_MIN)
		return complain("%s: smaller than a pool can be (256 KiB)", path);
	return 0;
}

int no_pool_in_file(const char *path)
{
	int status = refuse_lost(path);

	return status ? status : fail(path, -ENODATA);
}

/* A pool that begins elsewhere in the file, or whose beginning is lost. */
static int refuse_pool(const char *path)
{
	struct image_label label;
	int err = image_peek(path, &label);

	int lost = err == -ENODATA || err == -EUCLEAN || err == -EIO ? refuse_lost(path) : 0;

	if (lost)
		return lost;
	if (!err || err == -EUCLEAN || err == -EPROTONOSUPPORT || err == -EOVERFLOW)
		return fail(path, -EEXIST);
	return 0;
}

/*
 * Nothing is overwritten unless it is said so.  Holes are not looked at: in some filesystems
 * each page of them that is read through a mapping takes memory.
 */
static int refuse_content(const char *path, bool force)
{
	char type[64];
	int err;

	if (force || !holds_something(path))
		return 0;
	err = refuse_pool(path);
	if (err)
		return err;
	if (backup_is(path)) {
		complain("%s: is a backup", path);
		mend("wort restore %s POOL", shell_word(path));
		return ST_REFUSED;
	}
	err = foreign_signature(path, type, sizeof(type));
	if (err)
		return fail(path, err);
	if (!*type)
		return 0;
	complain("%s: there is something else (%s)", path, type);
	mend("wort format -f %s    # what it holds is lost", shell_word(path));
	return ST_REFUSED;
}

/* Pools were looked for: another content is what the library has refused. */
static int format_failed(const char *path, int err)
{
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "%s", path);
	if (err == -EEXIST) {
		complain("%s: there is something else in the file", path);
		mend("wort format -f %s    # what it holds is lost", shell_word(path));
	} else if (err == -ENOENT) {
		complain("%s: its folder is missing, or it is a link that leads nowhere", path);
	} else if (err == -ENODATA) {
		complain("%s: too small for a pool with extents of that size", path);
	} else if (err == -ENOSPC) {
		complain("%s: the filesystem has less space than that", path);
		mend("df %s", shell_word(dirname(folder)));
	} else {
		return file_failed(path, err);
	}
	return err == -ENOENT ? ST_NOTHING : ST_REFUSED;
}

int format_file(const char *path, uint64_t size, const struct wort_format_opts *opts)
{
	struct stat st = { };
	int err;

	if (stat(path, &st) && errno != ENOENT)
		return fail(path, -errno);
	err = size_fits(path, size, &st);
	if (!err && st.st_size)
		err = refuse_content(path, opts->flags & WORT_FORMAT_F_FORCE);
	if (err)
		return err;
	err = wort_format_file(path, size, opts);
	return err ? format_failed(path, err) : 0;
}
