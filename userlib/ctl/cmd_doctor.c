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
	char text[1500], *shown, *mend_shown;
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

static void check_foreign(const struct device *dev)
{
	blkid_probe probe = blkid_new_probe_from_filename(sys_path("%s",
								   dev->path));
	const char *type = NULL;
	char remedy[PATH_MAX + 64];

	if (!probe)
		return;
	blkid_probe_enable_partitions(probe, 1);
	if (blkid_do_safeprobe(probe) == 0 &&
	    blkid_probe_lookup_value(probe, "TYPE", &type, NULL))
		blkid_probe_lookup_value(probe, "PTTYPE", &type, NULL);
	if (type) {
		snprintf(remedy, sizeof(remedy),
			 "wipefs -a %s    # what it holds is lost",
			 shell_word(dev->path));
		report(PROBLEM, "contents", remedy,
		       "no pool, but something else: %s", type);
	} else {
		snprintf(remedy, sizeof(remedy), "wort format %s",
			 shell_word(dev->path));
		report(NOTE, "contents", problems ? NULL : remedy,
		       "no pool yet, and nothing else that is known");
	}
	blkid_free_probe(probe);
}

static void check_contents(const struct device *dev)
{
	struct image_label label;
	char uuid[UUID_TEXT], remedy[PATH_MAX + 32];
	int err = image_probe(sys_path("%s", dev->path), &label);

	if (err == -ENODATA) {
		check_foreign(dev);
	} else if (err == -EPROTONOSUPPORT) {
		report(PROBLEM, "contents", NULL,
		       "a pool with a version or a feature unknown here: it takes a newer wort");
	} else if (!err) {
		uuid_to_text(label.uuid, uuid);
		report(FINE, "contents", NULL, "pool %s %.*s", uuid,
		       WORT_LABEL_LEN, (const char *)label.label);
	} else if (err != -EBUSY && err != -EACCES && err != -EPERM &&
		   err != -ENOENT) {
		snprintf(remedy, sizeof(remedy),
			 "wort format -f %s    # what it holds is lost",
			 dev->path);
		report(PROBLEM, "contents", remedy, "a pool, but: %s",
		       strerror(-err));
	}
}

static const struct syntax doctor_syntax = {
	.args = "DEVICE",
	.doc = "Tell whether a device can hold a pool and, for each problem, the\n"
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
	doctor_host(&dev);
	if (doctor_kind(&dev)) {
		doctor_device(&dev);
		doctor_holder(&dev);
		check_contents(&dev);
	}
	if (array)
		json_print(array);
	return problems ? ST_NOTHING : ST_OK;
}
