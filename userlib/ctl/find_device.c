// SPDX-License-Identifier: GPL-2.0-only
/*
 * Block devices by the UUID or label of the pool on them.
 */
#include <errno.h>
#include <string.h>

#include "ctl.h"
#include "sysfs.h"

struct wanted {
	const char *uuid;
	const char *label;
	char *path;
	size_t size;
	unsigned int found;
};

static bool is_wanted(const struct wanted *want, const struct image_label *pool)
{
	char uuid[UUID_TEXT];

	if (want->label)
		return label_is(pool->label, want->label);
	uuid_to_text(pool->uuid, uuid);
	return !strcasecmp(uuid, want->uuid);
}

/* Is it a disk, or a part of one, whose memory the kernel can map? */
static bool is_dax(const char *name)
{
	char disk[SYS_NAME];

	sys_link(disk, sizeof(disk), "/sys/class/block/%s%s", name,
		 sys_exists("/sys/class/block/%s/partition", name) ? "/.." :
		 "");
	return disk_is_dax(disk);
}

/* Memory in use by somebody else is not looked at. */
static bool look(const char *name, void *data)
{
	struct wanted *want = data;
	struct image_label pool;

	if (!is_dax(name) ||
	    image_probe(sys_path("/dev/%s", name), &pool) ||
	    !is_wanted(want, &pool))
		return false;
	snprintf(want->path, want->size, "%s", sys_path("/dev/%s", name));
	want->found++;
	return false;
}

struct twin {
	const char *label;
	const char *own;	/* the kernel's name of the device that is meant */
};

static bool look_for_twin(const char *name, void *data)
{
	const struct twin *twin = data;
	struct image_label pool;

	if (strcmp(name, twin->own) && is_dax(name) &&
	    !image_peek(sys_path("/dev/%s", name), &pool) &&
	    label_is(pool.label, twin->label))
		complain("note: the pool on /dev/%s has the label %s, too; UUID= tells them apart",
			 name, twin->label);
	return false;
}

void warn_label_shared(const char *label, const char *device)
{
	struct twin twin = { .label = label };
	struct device dev;

	device_find(device, &dev);
	twin.own = dev.name;
	sys_each("/sys/class/block", look_for_twin, &twin);
}

int find_device(const char *name, char *path, size_t size)
{
	struct wanted want = { .path = path, .size = size };
	struct pool_place place;

	if (!strncmp(name, "UUID=", 5))
		want.uuid = name + 5;
	else if (!strncmp(name, "LABEL=", 6))
		want.label = name + 6;
	else
		return (size_t)snprintf(path, size, "%s", name) < size ?
		       0 : -ENAMETOOLONG;
	if (!find_pool(name, &place) && !place.offline && !place.dead)
		return -EEXIST;
	sys_each("/sys/class/block", look, &want);
	return want.found == 1 ? 0 : want.found ? -ENOTUNIQ : -ENOENT;
}
