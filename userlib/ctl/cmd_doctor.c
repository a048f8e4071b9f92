// SPDX-License-Identifier: GPL-2.0-only
/*
 * wort doctor: can a device hold a pool, and if not, what mends that?
 *
 * Looks at sysfs and at the first pages of the device; changes nothing.
 */
#include <blkid.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backup_file.h"
#include "ctl.h"
#include "sysfs.h"

static unsigned int problems;
static json_object *array;

static void report_text(enum verdict verdict, const char *what,
			const char *remedy, const char *text)
{
	static const char *const words[] = { "ok", "note", "PROBLEM" };

	printf("%-8s %-12s %s\n", words[verdict], what, text);
	if (remedy)
		printf("%-8s %-12s   mend: %s\n", "", "", remedy);
}

static void report_json(enum verdict verdict, const char *what,
			const char *remedy, const char *text)
{
	static const char *const words[] = { "ok", "note", "problem" };
	json_object *obj = json_object_new_object();

	json_add_str(obj, "check", what);
	json_add_str(obj, "verdict", words[verdict]);
	json_add_str(obj, "text", text);
	if (remedy)
		json_add_str(obj, "mend", remedy);
	json_object_array_add(array, obj);
}

void report(enum verdict verdict, const char *what, const char *remedy,
	    const char *fmt, ...)
{
	char text[2 * PATH_MAX], *shown, *mend_shown;
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	problems += verdict == PROBLEM;
	shown = text_shown(text);
	mend_shown = remedy ? text_shown(remedy) : NULL;
	(array ? report_json : report_text)(verdict, what, mend_shown,
					    shown ? shown : "");
	free(shown);
	free(mend_shown);
}

/* What libblkid finds on a device: "" for nothing; NULL if it cannot look. */
static const char *signature(const struct device *dev)
{
	static char type[64];
	const char *name = NULL;
	blkid_probe probe;
	int found;

	probe = blkid_new_probe_from_filename(sys_path("%s", dev->path));
	if (!probe)
		return NULL;
	blkid_probe_enable_partitions(probe, 1);
	found = blkid_do_safeprobe(probe);
	if (!found &&
	    blkid_probe_lookup_value(probe, "TYPE", &name, NULL) &&
	    blkid_probe_lookup_value(probe, "PTTYPE", &name, NULL))
		name = "unknown";
	snprintf(type, sizeof(type), "%s", found == -2 ? "several" :
		 name ? name : "");
	blkid_free_probe(probe);
	return found == -1 ? NULL : type;
}

bool device_empty(const struct device *dev)
{
	struct image_label label;
	char place[PATH_MAX];
	const char *type;

	if (dev->kind != DEVICE_BLOCK || dev->partition)
		return false;
	device_mount(dev->name, place, sizeof(place));
	if (*place)
		return false;
	if (!sys_exists("%s", dev->path))	/* a recorded one */
		return true;
	type = signature(dev);
	return type && !*type &&
	       image_probe(sys_path("%s", dev->path), &label) == -ENODATA;
}

/* A file without a pool; @type: what libblkid finds. */
static void check_other_file(const struct device *dev, const char *type)
{
	const char *path = shell_word(dev->path);
	char remedy[11 * PATH_MAX];
	struct stat st;

	if (backup_is(dev->path)) {
		snprintf(remedy, sizeof(remedy), "wort restore %s POOL", path);
		report(PROBLEM, "contents", remedy, "a backup");
	} else if (*type || holds_something(dev->path)) {
		snprintf(remedy, sizeof(remedy),
			 "file %s    # save what it holds, then: wort format -f %s", path, path);
		report(PROBLEM, "contents", remedy, "no pool, but something else%s%s",
		       *type ? ": " : "", type);
	} else {
		snprintf(remedy, sizeof(remedy), "wort format %s%s",
			 stat(dev->path, &st) || (uint64_t)st.st_size < POOL_MIN ?
			 "--size 64M " : "", path);
		report(NOTE, "contents", remedy, "no pool yet, and nothing else");
	}
}

static void check_foreign(const struct device *dev)
{
	const char *type = signature(dev), *path = shell_word(dev->path);
	char remedy[9 * PATH_MAX];

	if (dev->kind == DEVICE_FILE)
		return check_other_file(dev, type ? type : "");
	if (!type)
		return;
	if (*type) {
		snprintf(remedy, sizeof(remedy),
			 "lsblk -f %s    # save what it holds, then: wipefs -a %s",
			 path, path);
		report(PROBLEM, "contents", remedy,
		       "no pool, but something else: %s", type);
	} else {
		snprintf(remedy, sizeof(remedy), "wort format %s", path);
		report(NOTE, "contents", problems ? NULL : remedy,
		       "no pool yet, and nothing else that is known");
	}
}

/*
 * A pool whose beginning is lost is no reason to format the device.  A pool ends where its
 * device ends, unless the device has grown since; nobody waits until all of it was read.
 */
static bool check_copy(const struct device *dev)
{
	struct image_label label;
	char uuid[UUID_TEXT], remedy[5 * PATH_MAX];

	if (image_copy(sys_path("%s", dev->path), IMAGE_FIND, IMAGE_COPY_REACH, false, 0,
		       &label))
		return false;
	uuid_to_text(label.uuid, uuid);
	snprintf(remedy, sizeof(remedy), "wort check --clear --from-copy %s",
		 shell_word(dev->path));
	report(PROBLEM, "contents", remedy,
	       "the beginning of pool %s %.*s is lost; at its end is a copy of what it said",
	       uuid, WORT_LABEL_LEN, (const char *)label.label);
	return true;
}

/* A version or a feature that is unknown here. */
static void report_other(const struct device *dev)
{
	const char *path = sys_path("%s", dev->path);
	struct image_label label;

	if (image_version(path, IMAGE_FIND, &label) ||
	    label.version == image_own_version())
		report(PROBLEM, "contents", NULL,
		       "a pool with a feature unknown here: it takes a newer wort");
	else
		report(PROBLEM, "contents", version_mend(dev->path, label.version),
		       "the pool has %s", version_text(label.version));
}

static void report_cut(const struct device *dev, const struct image_label *label)
{
	if (dev->kind == DEVICE_FILE)
		report(PROBLEM, "contents", NULL,
		       "the pool has %llu bytes, the file %llu: it was cut, take a copy or a backup; formatting loses the records",
		       ull(label->pool_size), ull(label->size));
	else
		report(PROBLEM, "contents", NULL,
		       "the pool has %llu bytes, the device %llu: give the device back what it had; formatting loses the records",
		       ull(label->pool_size), ull(label->size));
}

static void check_contents(const struct device *dev)
{
	struct image_label label = { };
	char uuid[UUID_TEXT], remedy[5 * PATH_MAX];
	int err = image_probe(sys_path("%s", dev->path), &label);

	if ((err == -ENODATA || err == -EUCLEAN || err == -EIO) && check_copy(dev))
		return;
	if (err == -ENODATA) {
		check_foreign(dev);
	} else if (err == -EPROTONOSUPPORT) {
		report_other(dev);
	} else if (err == -EOVERFLOW) {
		report_cut(dev, &label);
	} else if (!err) {
		uuid_to_text(label.uuid, uuid);
		report(FINE, "contents", NULL, "pool %s%s%.*s", uuid,
		       *label.label ? " " : "", WORT_LABEL_LEN,
		       (const char *)label.label);
	} else if (err != -EBUSY && err != -EACCES && err != -EPERM &&
		   err != -ENOENT) {
		snprintf(remedy, sizeof(remedy), "wort check %s",
			 shell_word(dev->path));
		report(PROBLEM, "contents", remedy, "a pool, but: %s",
		       strerror(-err));
	}
}

static void look_at_file(const struct device *dev)
{
	report(FINE, "device", NULL,
	       "a plain file: a pool in it needs neither module nor persistent memory");
	if (access(dev->path, R_OK))
		report(PROBLEM, "contents", NULL, "cannot be read: %s", strerror(errno));
	else
		check_contents(dev);
}

static void look_at_device(const struct device *dev)
{
	doctor_host(dev);
	if (doctor_kind(dev) && doctor_device(dev)) {
		doctor_holder(dev);
		check_contents(dev);
	}
}

static const struct syntax doctor_syntax = {
	.args = "DEVICE|FILE",
	.doc = "Tell whether a device or a file can hold a pool and, for each problem, the\n"
	       "command that mends it. Changes nothing.",
	.groups = GROUP_OUTPUT,
	.min_args = 1,
	.max_args = 1,
};

int cmd_doctor(int argc, char **argv)
{
	struct device dev;
	char **args;

	parse_args(&doctor_syntax, argc, argv, &args);
	if (settings.json)
		array = json_object_new_array();
	device_find(args[0], &dev);
	if (dev.kind == DEVICE_FILE)
		look_at_file(&dev);
	else
		look_at_device(&dev);
	if (array)
		json_print(array);
	return problems ? ST_NOTHING : ST_OK;
}
