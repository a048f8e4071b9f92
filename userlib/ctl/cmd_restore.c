// SPDX-License-Identifier: GPL-2.0-only
/*
 * wort restore: what wort backup has written, into a pool.
 *
 * The whole file is verified before anything is stored.  If storing fails, the
 * indexes that were made are destroyed: the pool has all of them, or none.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/wort_engines.h>

#include "backup_file.h"
#include "ctl.h"

#define BATCH	512

static const struct syntax restore_syntax = {
	.args = "FILE POOL",
	.doc = "Make the indexes of a backup in a pool, with their records. The file (-:\n"
	       "standard input) is verified first; nothing is done if a byte of it is\n"
	       "wrong, or if the pool has an index of one of the names.",
	.groups = GROUP_OUTPUT | GROUP_VERBOSE | GROUP_SYNC,
	.min_args = 2,
	.max_args = 2,
};

struct name {
	char text[WORT_NAME_MAX + 1];
};

/*
 * @names: of the indexes in the file, of which the first @nr_made were made;
 * @index: the last of these; @begin: of the backup in the file
 */
struct restore {
	struct backup_file file;
	long begin;
	const char *path;
	const char *pool_name;
	struct wort_pool *pool;
	struct wort_index *index;
	struct wort_batch *batch;
	struct name *names;
	size_t nr_names;
	size_t nr_made;
	struct progress progress;
};

/* A file of our own without a name, or NULL: complains. */
static FILE *make_unnamed(void)
{
	const char *folder = secure_getenv("TMPDIR");
	char path[PATH_MAX];
	FILE *file;
	int fd;

	snprintf(path, sizeof(path), "%s/wort.XXXXXX", folder && *folder ? folder : "/var/tmp");
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	file = fd >= 0 ? fdopen(fd, "w+") : NULL;
	if (!file)
		complain("%s: %s", path, strerror(errno));
	return file;
}

/* What comes through a pipe is kept, since a backup is read twice.  NULL: complains. */
static FILE *keep_input(FILE *in, const char *path)
{
	FILE *kept = make_unnamed();
	char buf[64 << 10];
	size_t nr;

	if (!kept)
		return NULL;
	while ((nr = fread(buf, 1, sizeof(buf), in)) && fwrite(buf, 1, nr, kept) == nr)
		;
	if (ferror(in))
		complain("%s: cannot read: %s", path, strerror(errno));
	else if (nr || fflush(kept) || fseek(kept, 0, SEEK_SET))
		complain("%s: cannot keep it in a file of TMPDIR: %s", path, strerror(errno));
	else
		return kept;
	fclose(kept);
	return NULL;
}

/* NULL: complains. */
static FILE *open_input(const char *path)
{
	FILE *in = strcmp(path, "-") ? fopen(path, "re") : stdin, *kept;
	struct stat st;

	/* Of a folder fopen() makes a stream that cannot be read. */
	if (in && !fstat(fileno(in), &st) && S_ISDIR(st.st_mode)) {
		fclose(in);
		in = NULL;
		errno = EISDIR;
	}
	if (!in) {
		complain("%s: %s", path, strerror(errno));
		return NULL;
	}
	if (ftell(in) >= 0)
		return in;
	kept = keep_input(in, path);
	fclose(in);
	return kept;
}

static int file_wrong(const struct restore *rs, int err)
{
	if (err == -EBADMSG)
		return complain("%s: no backup, or damaged: nothing was restored",
				rs->path);
	if (err == -EPROTONOSUPPORT)
		return complain("%s: a backup of another version: it takes another wort",
				rs->path);
	return complain("%s: cannot read: %s", rs->path, strerror(-err));
}

/* The pool must have no index of this name. */
static int verify_absent(struct restore *rs, const char *name)
{
	struct wort_index_opts opts = {
		.sz = sizeof(opts), .flags = WORT_INDEX_OPEN_F_RDONLY,
	};
	struct wort_index *index;
	int err = wort_index_open(rs->pool, name, &opts, &index);

	if (err == -ENOENT)
		return 0;
	if (!err)
		wort_index_close(index);
	if (err && err != -EOPNOTSUPP && err != -EUCLEAN && err != -EIO)
		return fail(name, err);
	complain("%s: the pool has an index of this name: nothing was restored", name);
	mend("wort destroy %s %s    # its records are lost", shell_word(rs->pool_name),
	     shell_word(name));
	return ST_REFUSED;
}

#define RENUMBERED(was, is)	{ was, is },

/* The engine that a number stands for, also if that had another number once. */
static uint32_t engine_now(uint32_t id)
{
	static const struct {
		uint32_t was, is;
	} numbers[] = { WORT_ENGINES_BEFORE(RENUMBERED) };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		if (numbers[i].was == id)
			return numbers[i].is;
	return id;
}

static int engine_known(const struct backup_item *item, const char *name)
{
	const struct wort_engine *engine;
	unsigned int nr;

	for (nr = 0; (engine = wort_engine(nr)); nr++)
		if (engine->id == engine_now(item->engine))
			return 0;
	return complain("%s: engine %u takes the wort that made it: nothing was restored",
			name, item->engine);
}

static int add_name(struct restore *rs, const struct backup_item *item)
{
	struct name *names = realloc(rs->names, (rs->nr_names + 1) * sizeof(*names));

	if (!names)
		return fail(rs->path, -ENOMEM);
	rs->names = names;
	names += rs->nr_names++;
	memcpy(names->text, item->key, item->key_len);
	names->text[item->key_len] = 0;
	return engine_known(item, names->text);
}

/* Once through the file: is it as it was written? */
static int verify_file(struct restore *rs)
{
	int type, unknown = 0, err = backup_open(&rs->file, rs->file.file);
	struct backup_item item;

	if (err)
		return file_wrong(rs, err);
	do {
		type = backup_next(&rs->file, &item);
		if (type == BACKUP_INDEX && !unknown)
			unknown = add_name(rs, &item);
	} while (type > BACKUP_END);
	return type < 0 ? file_wrong(rs, type) : unknown;
}

static int verify_pool(struct restore *rs)
{
	int status = open_pool(rs->pool_name, O_RDWR, &rs->pool);
	size_t i;

	for (i = 0; i < rs->nr_names && !status; i++)
		status = verify_absent(rs, rs->names[i].text);
	return status;
}

static int rewind_file(struct restore *rs)
{
	int err;

	if (fseek(rs->file.file, rs->begin, SEEK_SET))
		return complain("%s: is read twice, and cannot be: %s", rs->path,
				strerror(errno));
	err = backup_open(&rs->file, rs->file.file);
	return err ? file_wrong(rs, err) : 0;
}

static int flush_batch(struct restore *rs)
{
	struct wort_batch_item item = { };
	uint32_t nr = wort_batch_count(rs->batch);
	int err;

	if (!nr)
		return 0;
	err = wort_batch_submit(rs->batch, rs->index, WORT_BATCH_F_STOP);
	while (!err && wort_batch_next(rs->batch, &item) > 0)
		err = item.error;
	wort_batch_reset(rs->batch);
	rs->progress.count += nr;
	progress_tick(&rs->progress);
	return err ? fail(rs->names[rs->nr_made - 1].text, err) : 0;
}

static int put_record(struct restore *rs, const struct backup_item *item)
{
	int err, status;

	err = wort_batch_put(rs->batch, item->key, item->key_len, item->value,
			     item->value_len, WORT_INSERT_F_CREATE);
	if (err != -ENOBUFS)
		return err ? fail("record", err) : 0;
	status = flush_batch(rs);
	if (status)
		return status;
	err = wort_batch_put(rs->batch, item->key, item->key_len, item->value,
			     item->value_len, WORT_INSERT_F_CREATE);
	return err ? fail("record", err) : 0;
}

static int make_index(struct restore *rs, const struct backup_item *item)
{
	struct wort_index_opts opts = {
		.sz = sizeof(opts),
		.flags = WORT_INDEX_OPEN_F_CREATE | WORT_INDEX_OPEN_F_EXCL,
		.engine = engine_now(item->engine),
		.attr = item->attr,
	};
	int err, status = flush_batch(rs);
	const char *name;

	if (status)
		return status;
	wort_index_close(rs->index);
	rs->index = NULL;
	if (rs->nr_made == rs->nr_names)
		return file_wrong(rs, -EBADMSG);
	name = rs->names[rs->nr_made].text;
	err = wort_index_open(rs->pool, name, &opts, &rs->index);
	rs->nr_made += !err;
	return err ? fail(name, err) : 0;
}

static int store(struct restore *rs)
{
	struct wort_batch_opts opts = { .sz = sizeof(opts), .max_ops = BATCH };
	struct backup_item item;
	int type, status, err = wort_batch_new(&opts, &rs->batch);

	if (err)
		return fail(rs->pool_name, err);
	status = rewind_file(rs);
	while (!status) {
		type = backup_next(&rs->file, &item);
		if (type < 0)
			status = file_wrong(rs, type);
		else if (type == BACKUP_INDEX)
			status = make_index(rs, &item);
		else if (type == BACKUP_RECORD)
			status = put_record(rs, &item);
		else
			return flush_batch(rs);
	}
	return status;
}

/* As if nothing had been begun. */
static void undo(struct restore *rs)
{
	const char *name;
	int err;

	wort_index_close(rs->index);
	rs->index = NULL;
	for (; rs->nr_made; rs->nr_made--) {
		name = rs->names[rs->nr_made - 1].text;
		err = wort_pool_destroy(rs->pool, name);
		if (err)
			complain("%s: an index that is not whole is left: %s",
				 name, strerror(-err));
	}
}

static void summary(const struct restore *rs, double secs)
{
	json_object *obj;

	if (!settings.json) {
		printf("%llu indexes, %llu records, %llu bytes, %.2f s\n",
		       ull(rs->file.nr_indexes), ull(rs->file.nr_records),
		       ull(rs->file.bytes), secs);
		return;
	}
	obj = json_object_new_object();
	json_add_u64(obj, "indexes", rs->file.nr_indexes);
	json_add_u64(obj, "records", rs->file.nr_records);
	json_add_u64(obj, "bytes", rs->file.bytes);
	json_object_object_add(obj, "seconds", json_object_new_double(secs));
	json_print(obj);
}

static int restore(struct restore *rs)
{
	int status = verify_file(rs);
	double secs;

	if (!status)
		status = verify_pool(rs);
	if (status)
		return status;
	progress_begin(&rs->progress);
	rs->progress.total = rs->file.nr_records;
	status = store(rs);
	secs = progress_end(&rs->progress);
	if (status)
		undo(rs);
	else
		summary(rs, secs);
	return status;
}

int cmd_restore(int argc, char **argv)
{
	struct restore rs = { };
	char **args;
	int status;

	parse_args(&restore_syntax, argc, argv, &args);
	rs.path = args[0];
	rs.pool_name = args[1];
	/* What mends something mends the pool. */
	settings.target = rs.pool_name;
	rs.file.file = open_input(rs.path);
	if (!rs.file.file)
		return ST_REFUSED;
	rs.begin = ftell(rs.file.file);
	status = restore(&rs);
	wort_batch_free(rs.batch);
	wort_index_close(rs.index);
	wort_pool_close(rs.pool);
	fclose(rs.file.file);
	backup_free(&rs.file);
	free(rs.names);
	return status;
}
