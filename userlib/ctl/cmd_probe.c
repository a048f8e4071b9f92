// SPDX-License-Identifier: GPL-2.0-only
/*
 * wort probe: the names of the pool on a device, for udev.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "sysfs.h"

static const struct syntax probe_syntax = {
	.args = "DEVICE|IMAGE",
	.doc = "Print UUID and label of the pool on a device, attached or not, as udev\n"
	       "imports them.",
	.groups = GROUP_OUTPUT,
	.min_args = 1,
	.max_args = 1,
};

static void show(const uint8_t *uuid, const uint8_t *label)
{
	char text[UUID_TEXT], encoded[LABEL_ENCODED];
	json_object *obj;

	uuid_to_text(uuid, text);
	if (!settings.json) {
		label_encode(label, encoded);
		printf("WORT_POOL_UUID=%s\nWORT_POOL_LABEL=%s\n", text, encoded);
		return;
	}
	obj = json_object_new_object();
	json_add_str(obj, "uuid", text);
	json_add_bytes(obj, "label", label,
		       strnlen((const char *)label, WORT_LABEL_LEN));
	json_print(obj);
}

/* The module has the device for itself, and knows the names. */
static bool show_attached(const char *path)
{
	struct wort_pool_record *records;
	struct device dev;
	int i, nr = list_pools(&records);
	bool found = false;

	device_find(path, &dev);
	for (i = 0; i < nr && !found; i++) {
		found = !(records[i].state & WORT_STATE_DEAD) &&
			lies_on(&records[i], dev.name);
		if (found)
			show(records[i].uuid, records[i].label);
	}
	free(records);
	return found;
}

int cmd_probe(int argc, char **argv)
{
	struct image_label label;
	char **args;
	int err;

	parse_args(&probe_syntax, argc, argv, &args);
	if (show_attached(args[0]))
		return ST_OK;
	/* An open for itself would make an attach at the same time fail. */
	err = image_peek(args[0], &label);
	if (err == -ENODATA)
		return ST_NOTHING;
	if (err && err != -EOVERFLOW)
		return fail(args[0], err);
	show(label.uuid, label.label);
	return ST_OK;
}
