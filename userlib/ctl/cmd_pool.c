// SPDX-License-Identifier: GPL-2.0-only
/*
 * wort format, attach, detach.
 */
#include <blkid.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <uuid.h>

#include "ctl.h"
#include "sysfs.h"

static struct {
	bool force;
	const char *label;
	const char *uuid;
	uint32_t extent_size;
	uint64_t size;
} format;

static const struct argp_option format_options[] = {
	{ "force", 'f', NULL, 0, "overwrite what is on the device", 0 },
	{ "label", 'L', "TEXT", 0, "name of the pool for people", 0 },
	{ "uuid", 'U', "UUID", 0, "identity of the pool (default: random)", 0 },
	{ "extent", 'e', "SIZE", 0,
	  "unit of space, 4k to 1M (default: by the size of the device)", 0 },
	{ "size", 's', "SIZE", 0,
	  "size of the plain file, which is made if it is not there", 0 },
	{ }
};

static error_t format_option(int key, char *arg, struct argp_state *state)
{
	uint64_t size;

	switch (key) {
	case 'f':
		format.force = true;
		return 0;
	case 'L':
		format.label = arg;
		if (strlen(arg) >= WORT_LABEL_LEN)
			argp_error(state, "a label has %d bytes at most",
				   WORT_LABEL_LEN - 1);
		return 0;
	case 'U':
		format.uuid = arg;
		return 0;
	case 's':
		format.size = parse_size(arg, state);
		return 0;
	case 'e':
		size = parse_size(arg, state);
		if (size < 4096 || size > 1 << 20 || size & (size - 1))
			argp_error(state,
				   "the extent size is a power of two from 4k to 1M");
		format.extent_size = size;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct syntax format_syntax = {
	.args = "DEVICE|FILE",
	.doc = "Make an empty pool on a DAX block device, or in a plain file, which takes no\n"
	       "module. What was there is lost; file systems and partition tables are\n"
	       "refused without -f.",
	.groups = GROUP_OUTPUT,
	.min_args = 1,
	.max_args = 1,
	.options = format_options,
	.option = format_option,
};

int foreign_signature(const char *path, char *type, size_t size)
{
	const char *name = NULL;
	blkid_probe probe;
	int found;

	*type = 0;
	probe = blkid_new_probe_from_filename(path);
	if (!probe)
		return -errno;
	blkid_probe_enable_superblocks(probe, 1);
	blkid_probe_enable_partitions(probe, 1);
	found = blkid_do_safeprobe(probe);
	if (found == 0) {
		if (blkid_probe_lookup_value(probe, "TYPE", &name, NULL))
			blkid_probe_lookup_value(probe, "PTTYPE", &name, NULL);
		snprintf(type, size, "%s", name ? name : "unknown");
	} else if (found == -2) {
		snprintf(type, size, "several");
	}
	blkid_free_probe(probe);
	/* What cannot be read may be anything. */
	return found == -1 ? -EIO : 0;
}

/* What is in use shall not be wiped, which is how a signature is mended. */
static int refuse_mounted(const char *device, const char *name)
{
	char place[PATH_MAX];

	device_mount(name, place, sizeof(place));
	if (!*place)
		return 0;
	complain("%s: the device is in use: %s", device, place);
	mend("wort doctor %s", shell_word(device));
	return ST_REFUSED;
}

/*
 * Nothing of others is overwritten unless it is said so.  What can be no pool
 * is for the module to refuse, whatever is on it.
 */
static int refuse_foreign(const char *device)
{
	struct device dev;
	struct stat st;
	char type[64];
	int err;

	if (stat(device, &st))
		return fail(device, -errno);
	if (!S_ISBLK(st.st_mode))
		return fail(device, -ENOTBLK);
	device_find(device, &dev);
	if (dev.kind == DEVICE_BLOCK && !disk_is_dax(dev.disk))
		return 0;
	err = dev.kind == DEVICE_BLOCK ? refuse_mounted(device, dev.name) : 0;
	if (err)
		return err;
	err = foreign_signature(device, type, sizeof(type));
	if (err)
		return fail(device, err);
	if (!*type)
		return 0;
	if (!format.force) {
		complain("%s: there is something else (%s)", device, type);
		mend("wipefs -a %s    # what it holds is lost",
		     shell_word(device));
		return ST_REFUSED;
	}
	complain("%s: the first 4 KiB keep the signature of %s", device, type);
	return 0;
}

/* Chosen here and not by the module, so that it can be told. */
static int choose_uuid(uint8_t *uuid)
{
	int err;

	if (format.uuid) {
		/* Zeroes would mean that any is to be chosen. */
		err = uuid_from_text(format.uuid, uuid) || uuid_is_null(uuid);
		if (err)
			complain("not a UUID of a pool: %s", format.uuid);
		return err ? ST_USAGE : 0;
	}
	uuid_generate_random(uuid);
	return 0;
}

static int open_ctl(struct wort_ctl **ctl)
{
	int err = wort_ctl_open(ctl);

	if (no_module(err) && module_loaded()) {
		complain("/dev/wort-control is missing, though the module is loaded");
		mend("udevadm trigger -c add -s misc    # in a container: pass the device in");
		return ST_REFUSED;
	}
	if (no_module(err))
		return complain_no_module();
	if (err == -EACCES) {
		complain("/dev/wort-control: permission denied");
		return ST_REFUSED;
	}
	return err ? fail("/dev/wort-control", err) : 0;
}

static void show_format(const char *device, const uint8_t *uuid)
{
	char text[UUID_TEXT];
	json_object *obj;

	uuid_to_text(uuid, text);
	if (!settings.json) {
		puts(text);
		return;
	}
	obj = json_object_new_object();
	json_add_str(obj, "device", device);
	json_add_str(obj, "uuid", text);
	json_add_str(obj, "label", format.label ? format.label : "");
	json_print(obj);
}

static int format_device(const char *device, const struct wort_format_opts *opts)
{
	struct wort_ctl *ctl;
	int err = open_ctl(&ctl);

	if (err)
		return err;
	err = refuse_foreign(device);
	if (!err) {
		err = wort_ctl_format(ctl, device, opts);
		err = err ? fail(device, err) : 0;
	}
	wort_ctl_close(ctl);
	return err;
}

/* A file that is not there can be made if its size is known. */
static bool names_file(const char *path)
{
	struct stat st;

	return stat(path, &st) ? errno == ENOENT && format.size : S_ISREG(st.st_mode);
}

/* The kernel formats, so udev does not see the device being closed after a write. */
static void tell_udev(const char *device)
{
	struct device dev;
	FILE *event;

	device_find(device, &dev);
	event = *dev.name && !sys_recorded() ?
		fopen(sys_path("/sys/class/block/%s/uevent", dev.name), "w") : NULL;
	if (!event)
		return;
	fputs("change", event);
	fclose(event);
}

static int no_file(const char *path)
{
	complain("%s: no such file", path);
	mend("wort format --size 64M %s    # makes it", shell_word(path));
	return ST_NOTHING;
}

/* Other verbs would look for an attached pool, and never find a file of such a name. */
static bool names_pool(const char *name)
{
	return !strncmp(name, "LABEL=", 6) || !strncmp(name, "UUID=", 5) ||
	       pool_number(name);
}

static int format_any(const char *path, const struct wort_format_opts *opts)
{
	struct stat st;

	if (names_pool(path)) {
		complain("%s: this names a pool, and no file or device", path);
		mend("wort format --size 64M ./%s    # makes a file", shell_word(path));
		return ST_USAGE;
	}
	if (names_file(path))
		return format_file(path, format.size, opts);
	if (stat(path, &st)) {
		if (errno != ENOENT)
			return fail(path, -errno);
		if (strncmp(path, "/dev/", 5))
			return no_file(path);
	} else if (!S_ISBLK(st.st_mode)) {
		return complain("%s: neither a block device nor a file", path);
	}
	if (format.size)
		return complain("%s: a device has its size: --size is for plain files", path);
	return format_device(path, opts);
}

int cmd_format(int argc, char **argv)
{
	struct wort_format_opts opts = { .sz = sizeof(opts) };
	uint8_t uuid[WORT_UUID_LEN];
	char **args;
	int err;

	parse_args(&format_syntax, argc, argv, &args);
	err = choose_uuid(uuid);
	if (err)
		return err;
	opts.flags = format.force ? WORT_FORMAT_F_FORCE : 0;
	opts.extent_size = format.extent_size;
	opts.label = format.label;
	opts.uuid = uuid;
	err = format_any(args[0], &opts);
	if (err)
		return err;
	if (opts.label && *opts.label)
		warn_label_shared(opts.label, args[0]);
	if (!names_file(args[0]))
		tell_udev(args[0]);
	show_format(args[0], uuid);
	return ST_OK;
}

static uint32_t attach_flags;

static const struct argp_option attach_options[] = {
	{ "read-only", 'r', NULL, 0, "store nothing to the device", 0 },
	{ "grow", 'g', NULL, 0, "take in what the device has gained", 0 },
	{ "mcsafe", 'm', NULL, 0,
	  "read with care for poison that nobody knows of (slower)", 0 },
	{ }
};

static error_t attach_option(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	switch (key) {
	case 'r':
		attach_flags |= WORT_ATTACH_F_RDONLY;
		break;
	case 'g':
		attach_flags |= WORT_ATTACH_F_GROW;
		break;
	case 'm':
		attach_flags |= WORT_ATTACH_F_MCSAFE;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	if (attach_flags & WORT_ATTACH_F_RDONLY &&
	    attach_flags & WORT_ATTACH_F_GROW)
		argp_error(state, "-g and -r exclude each other");
	return 0;
}

static const struct syntax attach_syntax = {
	.args = "DEVICE|UUID=UUID|LABEL=TEXT",
	.doc = "Serve the pool of a device; prints the name of the pool's own device.",
	.groups = GROUP_OUTPUT,
	.min_args = 1,
	.max_args = 1,
	.options = attach_options,
	.option = attach_option,
};

static void show_attached(const char *device, unsigned int minor)
{
	json_object *obj;
	char path[32];

	snprintf(path, sizeof(path), "/dev/wort%u", minor);
	if (!settings.json) {
		puts(path);
		return;
	}
	obj = json_object_new_object();
	json_add_str(obj, "pool", path);
	json_add_u64(obj, "minor", minor);
	json_add_str(obj, "device", device);
	json_print(obj);
}

/* Complains. */
static int device_named(const char *name, char *device, size_t size)
{
	int err = find_device(name, device, size);

	if (err == -ENOTUNIQ) {
		complain("%s: the pools of several devices are called so", name);
		mend("wort doctor DEVICE    # and name it by UUID");
		return ST_REFUSED;
	}
	if (err != -ENOENT)
		return err ? fail(name, err) : 0;
	complain("%s: on no device that is free is there such a pool", name);
	mend("wort list; ls /dev/pmem*; wort doctor /dev/pmem0");
	return ST_NOTHING;
}

static int attach_failed(const char *device, int err)
{
	int status = err == -EPROTONOSUPPORT ? other_version(device, device) : 0;

	return status ? status : fail(device, err);
}

static void warn_of_twins(unsigned int minor, const char *device)
{
	struct wort_pool_record *records;
	char label[WORT_LABEL_LEN + 1];
	int i, nr = list_pools(&records);

	for (i = 0; i < nr; i++) {
		if (records[i].minor != minor || !*records[i].label)
			continue;
		snprintf(label, sizeof(label), "%.*s", WORT_LABEL_LEN,
			 (const char *)records[i].label);
		warn_label_shared(label, device);
	}
	free(records);
}

/* A status, or 0.  What is the name of an attached pool is no file. */
static int refuse_file(const char *name)
{
	struct pool_place place;

	if (find_pool(name, &place) || !place.offline || !is_plain_file(place.path))
		return 0;
	complain("%s: a plain file is not attached: each command opens it", name);
	mend("wort list %s", shell_word(name));
	return ST_REFUSED;
}

int cmd_attach(int argc, char **argv)
{
	char device[PATH_MAX];
	struct wort_ctl *ctl;
	unsigned int minor;
	char **args;
	int err;

	parse_args(&attach_syntax, argc, argv, &args);
	err = refuse_file(args[0]);
	if (!err)
		err = open_ctl(&ctl);
	if (err)
		return err;
	err = device_named(args[0], device, sizeof(device));
	if (!err) {
		err = wort_ctl_attach(ctl, device, attach_flags, &minor);
		if (err)
			err = attach_failed(device, err);
	}
	wort_ctl_close(ctl);
	if (err)
		return err;
	warn_of_twins(minor, device);
	show_attached(device, minor);
	return ST_OK;
}

static const struct syntax detach_syntax = {
	.args = "POOL...",
	.doc = "Stop serving pools. Descriptors that are open stay so and answer ENODEV.",
	.groups = GROUP_OUTPUT,
	.min_args = 1,
	.max_args = UINT_MAX,
};

static int detach_one(struct wort_ctl *ctl, const char *name,
		      json_object *array)
{
	struct pool_place place;
	json_object *obj;
	int err = find_pool(name, &place);

	if (!err && !place.attached)
		err = -ENOENT;
	if (err == -ENOTUNIQ)
		return no_pool(name, err);
	if (!err)
		err = wort_ctl_detach(ctl, place.minor);
	if (err)
		return fail(name, err);
	if (array) {
		obj = json_object_new_object();
		json_add_str(obj, "pool", place.path);
		json_add_u64(obj, "minor", place.minor);
		json_object_array_add(array, obj);
	}
	return ST_OK;
}

int cmd_detach(int argc, char **argv)
{
	int i, nr, err, status = ST_OK;
	json_object *array = NULL;
	struct wort_ctl *ctl;
	char **args;

	nr = parse_args(&detach_syntax, argc, argv, &args);
	for (i = 0; i < nr && !status; i++)
		status = refuse_file(args[i]);
	if (!status)
		status = open_ctl(&ctl);
	if (status)
		return status;
	if (settings.json)
		array = json_object_new_array();
	for (i = 0; i < nr; i++) {
		err = detach_one(ctl, args[i], array);
		status = err ? err : status;
	}
	wort_ctl_close(ctl);
	if (array)
		json_print(array);
	return status;
}
