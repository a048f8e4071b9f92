// SPDX-License-Identifier: GPL-2.0-only
/*
 * wort backup: a whole pool to a file, as it is at one moment.
 *
 * An attached pool is frozen while it is read: what would change it waits.  The
 * kernel thaws it when the program ends, however it ends.  An image, or the device
 * of a pool that is not attached, nobody changes.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "backup_file.h"
#include "ctl.h"

static const struct syntax backup_syntax = {
	.args = "POOL|IMAGE FILE",
	.doc = "Copy a whole pool to a file, as it is at one moment. What would change\n"
	       "the pool waits meanwhile.",
	.groups = GROUP_OUTPUT | GROUP_OFFLINE | GROUP_VERBOSE,
	.min_args = 2,
	.max_args = 2,
};

/* @part: what is written becomes @path when it is whole */
struct backup {
	struct backup_file file;
	struct source src;
	struct progress progress;
	const char *path;
	char target[PATH_MAX];
	char part[PATH_MAX];
	double frozen;
	int write_err;
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static bool to_stdout(const struct backup *bk)
{
	return !strcmp(bk->path, "-");
}

/* Into a pipe or a device is written; no file takes its name. */
static bool to_special(const struct backup *bk)
{
	struct stat st;

	return !to_stdout(bk) && !stat(bk->path, &st) && !S_ISREG(st.st_mode);
}

static int write_failed(struct backup *bk, int err)
{
	return complain("%s: cannot write: %s",
			to_stdout(bk) ? "standard output" : bk->path,
			strerror(-err));
}

static int copy_record(const struct wort_scan_item *rec, void *data)
{
	struct backup *bk = data;
	struct backup_item item = {
		.key = rec->key, .key_len = rec->key_len,
		.value = rec->value, .value_len = rec->value_len,
	};

	bk->write_err = backup_put_record(&bk->file, &item);
	bk->progress.count++;
	bk->progress.bytes = bk->file.bytes;
	if (!(bk->progress.count % 1024))
		progress_tick(&bk->progress);
	return bk->write_err;
}

static int copy_index(struct backup *bk, const char *name, size_t len)
{
	struct wort_scan_opts opts = { .sz = sizeof(opts) };
	struct wort_index_info_arg info;
	struct backup_item item;
	struct reader reader;
	int err = reader_open(&bk->src, name, &reader);

	if (err)
		return err;
	err = reader_info(&reader, &info);
	if (!err) {
		item = (struct backup_item) {
			.key = (const unsigned char *)name, .key_len = len,
			.engine = info.out_engine, .attr = info.out_attr,
		};
		bk->write_err = backup_put_index(&bk->file, &item);
		err = bk->write_err;
	}
	if (!err)
		err = reader_scan(&reader, &opts, copy_record, bk);
	reader_close(&reader);
	if (bk->write_err)
		return write_failed(bk, bk->write_err);
	return err ? fail(name, err) : 0;
}

static int copy_indexes(struct backup *bk)
{
	struct wort_index_record records[64];
	char name[WORT_NAME_MAX + 1];
	int i, nr, err, status = 0;
	uint64_t after = 0;
	bool more = true;

	while (more && !status) {
		nr = source_list(&bk->src, after, records, ARRAY_SIZE(records),
				 &more);
		if (nr < 0)
			return fail(bk->src.name, nr);
		for (i = 0; i < nr && !status; i++) {
			snprintf(name, sizeof(name), "%.*s",
				 (int)records[i].name_len,
				 (const char *)records[i].name);
			status = copy_index(bk, name, records[i].name_len);
		}
		if (!nr)
			break;
		after = records[nr - 1].id;
	}
	err = status ? 0 : source_verify_list(&bk->src);
	return err ? fail(bk->src.name, err) : status;
}

static int begin(struct backup *bk, FILE *out)
{
	struct wort_pool_info_arg info;
	int err = source_info(&bk->src, &info);

	if (err)
		return fail(bk->src.name, err);
	memcpy(bk->file.uuid, info.out_uuid, sizeof(bk->file.uuid));
	memcpy(bk->file.label, info.out_label, sizeof(bk->file.label));
	bk->file.time = time(NULL);
	err = backup_begin(&bk->file, out);
	return err ? write_failed(bk, err) : 0;
}

static int copy_pool(struct backup *bk, FILE *out)
{
	double start = now();
	int err = 0, status;

	if (bk->src.pool)
		err = wort_pool_freeze(bk->src.pool);
	if (err)
		return fail(bk->src.name, err);
	status = begin(bk, out);
	if (!status)
		status = copy_indexes(bk);
	if (bk->src.pool) {
		wort_pool_thaw(bk->src.pool);
		bk->frozen = now() - start;
	}
	if (status)
		return status;
	err = backup_end(&bk->file);
	return err ? write_failed(bk, err) : 0;
}

/* For the handler of signals. */
static const char *unfinished;

static void remove_part(int sig)
{
	unlink(unfinished);
	signal(sig, SIG_DFL);
	raise(sig);
}

static void watch_signals(const char *part)
{
	static const int ends[] = { SIGHUP, SIGINT, SIGTERM };
	size_t i;

	unfinished = part;
	for (i = 0; i < ARRAY_SIZE(ends); i++)
		if (signal(ends[i], part ? remove_part : SIG_DFL) == SIG_IGN)
			signal(ends[i], SIG_IGN);
}

/* That of the file that it replaces, or of any new one. */
static mode_t mode_of_part(const struct backup *bk)
{
	mode_t mask = umask(0);
	struct stat st;

	umask(mask);
	return stat(bk->path, &st) ? 0666 & ~mask : st.st_mode & 0777;
}

/* A file of its own, whoever else makes a backup there. */
static FILE *make_part(struct backup *bk)
{
	FILE *out;
	int fd;

	/* What a symbolic link refers to is replaced, not the link. */
	if (realpath(bk->path, bk->target))
		bk->path = bk->target;
	if ((size_t)snprintf(bk->part, sizeof(bk->part), "%s.XXXXXX", bk->path) >=
	    sizeof(bk->part)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	fd = mkostemp(bk->part, O_CLOEXEC);
	if (fd < 0)
		return NULL;
	watch_signals(bk->part);
	out = fchmod(fd, mode_of_part(bk)) ? NULL : fdopen(fd, "w");
	if (!out) {
		unlink(bk->part);
		close(fd);
	}
	return out;
}

static FILE *open_part(struct backup *bk)
{
	if (to_stdout(bk))
		return stdout;
	return to_special(bk) ? fopen(bk->path, "w") : make_part(bk);
}

/* The name in its folder is on disk, too. */
static int sync_name(const struct backup *bk)
{
	const char *slash = strrchr(bk->path, '/');
	char folder[PATH_MAX];
	int fd, err;

	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - bk->path + 1) : 1,
		 slash ? bk->path : ".");
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = fsync(fd) ? -errno : 0;
	close(fd);
	return err;
}

static int publish_part(struct backup *bk)
{
	if (rename(bk->part, bk->path))
		return -errno;
	watch_signals(NULL);
	*bk->part = '\0';
	return sync_name(bk);
}

/* What is on disk under its name is whole. */
static int close_part(struct backup *bk, FILE *out, int status)
{
	int err = 0;

	if (fflush(out) || (*bk->part && fsync(fileno(out))))
		err = -errno;
	if (!to_stdout(bk) && fclose(out) && !err)
		err = -errno;
	if (*bk->part && !status && !err)
		err = publish_part(bk);
	if (*bk->part && (status || err))
		unlink(bk->part);
	return status ? status : err ? write_failed(bk, err) : 0;
}

static void summary(const struct backup *bk, double secs)
{
	FILE *out = to_stdout(bk) ? stderr : stdout;
	json_object *obj;

	if (!settings.json) {
		fprintf(out, "%llu indexes, %llu records, %llu bytes, %.2f s\n",
			ull(bk->file.nr_indexes), ull(bk->file.nr_records),
			ull(bk->file.bytes), secs);
		return;
	}
	obj = json_object_new_object();
	json_add_u64(obj, "indexes", bk->file.nr_indexes);
	json_add_u64(obj, "records", bk->file.nr_records);
	json_add_u64(obj, "bytes", bk->file.bytes);
	json_object_object_add(obj, "seconds", json_object_new_double(secs));
	json_object_object_add(obj, "frozen", json_object_new_double(bk->frozen));
	if (!to_stdout(bk)) {
		json_print(obj);
		return;
	}
	json_print_line(obj, stderr);
	fputc('\n', stderr);
}

static int backup(struct backup *bk)
{
	FILE *out = open_part(bk);
	double secs;
	int status;

	if (!out)
		return complain("%s: %s", bk->path, strerror(errno));
	progress_begin(&bk->progress);
	status = copy_pool(bk, out);
	status = close_part(bk, out, status);
	secs = progress_end(&bk->progress);
	if (!status)
		summary(bk, secs);
	return status;
}

int cmd_backup(int argc, char **argv)
{
	struct backup bk = { };
	char **args;
	int status;

	parse_args(&backup_syntax, argc, argv, &args);
	bk.path = args[1];
	status = refuse_output(args[1], args[0]);
	if (status)
		return status;
	/* To freeze an attached pool takes a descriptor for writing. */
	status = source_open_to_check(args[0], false, &bk.src);
	if (status)
		return status;
	status = backup(&bk);
	source_close(&bk.src);
	backup_free(&bk.file);
	return status;
}
