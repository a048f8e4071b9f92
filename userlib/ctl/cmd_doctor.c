// SPDX-License-Identifier: GPL-2.0-only
/*
 * wort doctor: can a device hold a pool, and if not, what mends that?
 *
 * Looks at sysfs and at the first pages of the device; changes nothing.
 */
#include <blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "ctl.h"

#define SECURE_BOOT \
	"/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
#define POOL_MIN	(256ULL << 10)
#define POOL_MAX	(1ULL << 47)

enum verdict { FINE, NOTE, PROBLEM };

/*
 * name: of the block device (pmem0, pmem0p1); disk: of the whole one; nd: its
 * parent on the libnvdimm bus (pfn0.0, namespace0.0, btt0.0), or empty; ns:
 * the namespace, for ndctl
 */
static struct {
	const char *path;
	char name[64];
	char disk[64];
	char nd[64];
	char ns[64];
	bool fsdax;
	unsigned int problems;
	json_object *array;
} doc;

static char *format_text(const char *fmt, va_list args)
{
	char *text = NULL;

	return vasprintf(&text, fmt, args) < 0 ? NULL : text;
}

static void report(enum verdict verdict, const char *what, const char *remedy,
		   const char *fmt, ...) __attribute__((format(printf, 4, 5)));

static void report(enum verdict verdict, const char *what, const char *remedy,
		   const char *fmt, ...)
{
	static const char *const words[] = { "ok", "note", "PROBLEM" };
	static const char *const keys[] = { "ok", "note", "problem" };
	json_object *obj;
	va_list args;
	char *text;

	va_start(args, fmt);
	text = format_text(fmt, args);
	va_end(args);
	doc.problems += verdict == PROBLEM;
	if (settings.json) {
		obj = json_object_new_object();
		json_add_str(obj, "check", what);
		json_add_str(obj, "verdict", keys[verdict]);
		json_add_str(obj, "text", text ? text : "");
		if (remedy)
			json_add_str(obj, "mend", remedy);
		json_object_array_add(doc.array, obj);
	} else {
		printf("%-8s %-12s %s\n", words[verdict], what,
		       text ? text : "");
		if (remedy)
			printf("%-8s %-12s   mend: %s\n", "", "", remedy);
	}
	free(text);
}

/* First line of a file, without its end; false if there is none. */
static bool read_line(char *line, size_t size, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list args;
	FILE *file;
	char *got;

	va_start(args, fmt);
	vsnprintf(path, sizeof(path), fmt, args);
	va_end(args);
	file = fopen(path, "r");
	if (!file)
		return false;
	got = fgets(line, size, file);
	fclose(file);
	if (!got)
		return false;
	line[strcspn(line, "\n")] = 0;
	return true;
}

/* Last part of what a link leads to; empty if there is no link. */
static void link_name(char *name, size_t size, const char *fmt, ...)
{
	char path[PATH_MAX], *real;
	va_list args;

	va_start(args, fmt);
	vsnprintf(path, sizeof(path), fmt, args);
	va_end(args);
	real = realpath(path, NULL);
	snprintf(name, size, "%s", real ? strrchr(real, '/') + 1 : "");
	free(real);
}

static const char *fsdax_line(void)
{
	static char line[160];

	if (*doc.ns)
		snprintf(line, sizeof(line),
			 "ndctl create-namespace -f -e %s -m fsdax -M dev    # what it holds is lost",
			 doc.ns);
	else
		snprintf(line, sizeof(line),
			 "ndctl create-namespace -m fsdax -M dev");
	return line;
}

static void check_module(void)
{
	if (!access("/dev/wort-control", F_OK))
		report(FINE, "module", NULL, "loaded");
	else
		report(PROBLEM, "module", "modprobe wort", "not loaded");
}

static bool secure_boot(void)
{
	unsigned char var[5] = { };
	FILE *file = fopen(SECURE_BOOT, "r");
	bool on;

	if (!file)
		return false;
	/* Four bytes of attributes, then the variable. */
	on = fread(var, sizeof(var), 1, file) == 1 && var[4] == 1;
	fclose(file);
	return on;
}

/* A locked down kernel takes only signed modules. */
static void check_lockdown(void)
{
	bool loaded = !access("/dev/wort-control", F_OK);
	char line[128] = "", *mark;

	read_line(line, sizeof(line), "/sys/kernel/security/lockdown");
	mark = strchr(line, '[');
	if (!secure_boot() && (!mark || !strncmp(mark, "[none]", 6))) {
		report(FINE, "secure boot", NULL, "off");
		return;
	}
	report(loaded ? NOTE : PROBLEM, "secure boot",
	       loaded ? NULL : "mokutil --import /var/lib/dkms/mok.pub    # and reboot",
	       "on: the module must be signed with a key that the firmware knows");
}

/* Beside the character device its bus keeps the name of the namespace. */
static void check_devdax(const struct stat *st)
{
	read_line(doc.ns, sizeof(doc.ns), "/sys/dev/char/%u:%u/../namespace",
		  major(st->st_rdev), minor(st->st_rdev));
	if (strstr(doc.path, "/dax"))
		report(PROBLEM, "mode", fsdax_line(),
		       "devdax: a character device, no block device");
	else
		report(PROBLEM, "device", "ls /dev/pmem*",
		       "a character device is no persistent memory");
}

static bool check_kind(struct stat *st)
{
	if (stat(doc.path, st)) {
		report(PROBLEM, "device", "ls /dev/pmem*; ndctl list",
		       "%s", strerror(errno));
		return false;
	}
	if (S_ISBLK(st->st_mode))
		return true;
	if (S_ISCHR(st->st_mode))
		check_devdax(st);
	else
		report(PROBLEM, "device", "ls /dev/pmem*",
		       "not a device; list, dump, stat and check work on image files");
	return false;
}

static void name_device(const struct stat *st)
{
	char line[16];

	link_name(doc.name, sizeof(doc.name), "/sys/dev/block/%u:%u",
		  major(st->st_rdev), minor(st->st_rdev));
	if (read_line(line, sizeof(line), "/sys/class/block/%s/partition",
		      doc.name))
		link_name(doc.disk, sizeof(doc.disk),
			  "/sys/class/block/%s/..", doc.name);
	else
		snprintf(doc.disk, sizeof(doc.disk), "%s", doc.name);
	link_name(doc.nd, sizeof(doc.nd), "/sys/block/%s/device", doc.disk);
	if (!strncmp(doc.nd, "namespace", 9))
		snprintf(doc.ns, sizeof(doc.ns), "%s", doc.nd);
	else
		read_line(doc.ns, sizeof(doc.ns),
			  "/sys/block/%s/device/namespace", doc.disk);
}

static bool is_virtio(void)
{
	char path[128], *real;
	bool found;

	snprintf(path, sizeof(path), "/sys/block/%s", doc.disk);
	real = realpath(path, NULL);
	found = real && strstr(real, "/virtio");
	free(real);
	return found;
}

static void check_mode(void)
{
	char line[16] = "", path[128];

	snprintf(path, sizeof(path), "/sys/block/%s/dm", doc.disk);
	read_line(line, sizeof(line), "/sys/block/%s/queue/dax", doc.disk);
	doc.fsdax = !strcmp(line, "1");
	if (!access(path, F_OK))
		report(PROBLEM, "mode", "lsblk -s    # name the device beneath",
		       "a device-mapper target can move memory unnoticed");
	else if (strncmp(doc.disk, "pmem", 4))
		report(PROBLEM, "mode", "ls /dev/pmem*; ndctl list",
		       "%s is no persistent memory", doc.disk);
	else if (is_virtio())
		report(PROBLEM, "mode", NULL,
		       "virtio-pmem: its flushes are asynchronous; use an NVDIMM of the hypervisor");
	else if (!strncmp(doc.nd, "btt", 3))
		report(PROBLEM, "mode", fsdax_line(),
		       "sector mode: blocks, not memory");
	else if (!doc.fsdax)
		report(PROBLEM, "mode", fsdax_line(),
		       "%s: the kernel cannot map this memory",
		       strncmp(doc.nd, "namespace", 9) ? "no DAX" : "raw");
	else
		report(FINE, "mode", NULL, "fsdax%s%s", *doc.ns ? ", " : "",
		       doc.ns);
}

static void check_geometry(void)
{
	unsigned long long sectors = 0, start = 0;
	char line[32];

	if (read_line(line, sizeof(line), "/sys/class/block/%s/size", doc.name))
		sectors = strtoull(line, NULL, 10);
	if (read_line(line, sizeof(line), "/sys/class/block/%s/start",
		      doc.name))
		start = strtoull(line, NULL, 10);
	if (start % 8 || sectors % 8)
		report(PROBLEM, "alignment",
		       "parted -a optimal    # begin and end partitions on 2 MiB",
		       "begins at sector %llu and has %llu: not whole pages",
		       start, sectors);
	else
		report(FINE, "alignment", NULL, "whole pages");
	if (sectors * 512 < POOL_MIN)
		report(PROBLEM, "size", NULL, "%llu bytes: less than 256 KiB",
		       sectors * 512);
	else if (sectors * 512 > POOL_MAX)
		report(PROBLEM, "size", NULL, "%llu bytes: more than 128 TiB",
		       sectors * 512);
	else
		report(FINE, "size", NULL, "%llu MiB", sectors >> 11);
}

static void check_flush(void)
{
	char line[16] = "";

	if (!doc.fsdax)
		return;
	read_line(line, sizeof(line), "/sys/block/%s/dax/write_cache",
		  doc.disk);
	if (!strcmp(line, "0"))
		report(FINE, "flush", NULL,
		       "not needed: caches are persistent too");
	else if (!strcmp(line, "1"))
		report(FINE, "flush", NULL, "by cache line");
	else
		report(NOTE, "flush", NULL, "unknown");
}

static bool attached_as(unsigned int *minor)
{
	struct wort_pool_record *records;
	int i, nr = list_pools(&records);
	bool found = false;

	for (i = 0; i < nr; i++)
		if (!strncmp((char *)records[i].device, doc.name,
			     sizeof(records[i].device))) {
			*minor = records[i].minor;
			found = true;
		}
	free(records);
	return found;
}

/* Where a device number is mounted, if it is. */
static bool mounted_at(const struct stat *st, char *place, size_t size)
{
	FILE *file = fopen("/proc/self/mountinfo", "r");
	unsigned int maj, min;
	char line[4096], where[1024];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%*d %*d %u:%u %*s %1023s", &maj, &min,
			   where) != 3)
			continue;
		found = maj == major(st->st_rdev) && min == minor(st->st_rdev);
	}
	if (file)
		fclose(file);
	if (found)
		snprintf(place, size, "%s", where);
	return found;
}

/* An exclusive open is what the module asks for, too. */
static void check_holder(const struct stat *st)
{
	char place[1024], remedy[1100];
	unsigned int minor = 0;
	int fd, err;

	if (attached_as(&minor)) {
		report(NOTE, "holder", NULL, "attached as /dev/wort%u", minor);
		return;
	}
	if (mounted_at(st, place, sizeof(place))) {
		snprintf(remedy, sizeof(remedy), "umount %s", place);
		report(PROBLEM, "holder", remedy, "mounted at %s", place);
		return;
	}
	fd = open(doc.path, O_RDONLY | O_EXCL | O_CLOEXEC);
	if (fd >= 0) {
		close(fd);
		report(FINE, "holder", NULL, "nobody");
		return;
	}
	err = errno;
	if (err == EBUSY)
		snprintf(remedy, sizeof(remedy),
			 "lsblk %s; ls /sys/class/block/%s/holders", doc.path,
			 doc.name);
	else
		snprintf(remedy, sizeof(remedy), "sudo wort doctor %s",
			 doc.path);
	report(PROBLEM, "holder", remedy, "%s", err == EBUSY ?
	       "the device is in use" : strerror(err));
}

static void check_badblocks(void)
{
	char line[64];

	if (read_line(line, sizeof(line), "/sys/block/%s/badblocks",
		      doc.disk) && *line)
		report(NOTE, "media", NULL,
		       "pages known to be bad: what lies on them is lost, the rest is served");
	else
		report(FINE, "media", NULL, "no pages known to be bad");
}

static void check_foreign(void)
{
	blkid_probe probe = blkid_new_probe_from_filename(doc.path);
	const char *type = NULL;
	char remedy[PATH_MAX];

	if (!probe)
		return;
	blkid_probe_enable_partitions(probe, 1);
	if (blkid_do_safeprobe(probe) == 0 &&
	    blkid_probe_lookup_value(probe, "TYPE", &type, NULL))
		blkid_probe_lookup_value(probe, "PTTYPE", &type, NULL);
	snprintf(remedy, sizeof(remedy),
		 "wipefs -a %s    # what it holds is lost", doc.path);
	if (type)
		report(PROBLEM, "contents", remedy, "%s", type);
	else
		report(NOTE, "contents", NULL,
		       "no pool, and nothing else known: wort format %s",
		       doc.path);
	blkid_free_probe(probe);
}

static void check_contents(void)
{
	struct image_label label;
	char uuid[UUID_TEXT];
	int err = image_probe(doc.path, &label);

	if (err == -ENODATA) {
		check_foreign();
		return;
	}
	if (err == -EBUSY || err == -EACCES || err == -EPERM)
		return;
	if (err) {
		report(PROBLEM, "contents", NULL, "a pool, but: %s",
		       strerror(-err));
		return;
	}
	uuid_to_text(label.uuid, uuid);
	report(FINE, "contents", NULL, "pool %s %.*s", uuid, WORT_LABEL_LEN,
	       (const char *)label.label);
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
	struct stat st;
	char **args;

	parse_args(&doctor_syntax, argc, argv, &args);
	doc.path = args[0];
	if (settings.json)
		doc.array = json_object_new_array();
	check_module();
	check_lockdown();
	if (check_kind(&st)) {
		name_device(&st);
		check_mode();
		check_geometry();
		check_flush();
		check_badblocks();
		check_holder(&st);
		check_contents();
	}
	if (doc.array)
		json_print(doc.array);
	return doc.problems ? ST_NOTHING : ST_OK;
}
