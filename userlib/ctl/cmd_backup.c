// SPDX-License-Identifier: GPL-2.0-only
/*
 * wort backup: a whole pool to a file, as it is at one moment.
 *
 * An attached pool is frozen while it is read: what would change it waits.  The
 * kernel thaws it when the program ends, however it ends.  An image, or the device
 * of a pool that is not attached, nobody changes.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

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

struct backup {
	struct backup_file file;
	struct source src;
	struct progress progress;
	struct part part;
	double frozen;
	int write_err;
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static int write_failed(struct backup *bk, int err)
{
	return complain("%s: cannot write: %s",
			part_is_stdout(&bk->part) ? "standard output" : bk->part.path,
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

static void summary(const struct backup *bk, double secs)
{
	bool copied = part_is_stdout(&bk->part);
	FILE *out = copied ? stderr : stdout;
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
	if (!copied) {
		json_print(obj);
		return;
	}
	json_print_line(obj, stderr);
	fputc('\n', stderr);
}

static int backup(struct backup *bk, const char *path)
{
	FILE *out = part_open(&bk->part, path);
	int status, err;
	double secs;

	if (!out)
		return complain("%s: %s", path, strerror(errno));
	progress_begin(&bk->progress);
	status = copy_pool(bk, out);
	err = part_close(&bk->part, out, !status);
	if (err && !status)
		status = write_failed(bk, err);
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
	status = refuse_output(args[1], args[0]);
	if (status)
		return status;
	/* To freeze an attached pool takes a descriptor for writing. */
	status = source_open_to_check(args[0], false, &bk.src);
	if (status)
		return status;
	status = backup(&bk, args[1]);
	source_close(&bk.src);
	backup_free(&bk.file);
	return status;
}
