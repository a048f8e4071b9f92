// SPDX-License-Identifier: GPL-2.0-only
/*
 * wort doctor on the device: its mode, its shape, who holds it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "sysfs.h"

#define POOL_MAX	(1ULL << 44)
#define QEMU_NVDIMM	"qemu-system-x86_64 -machine nvdimm=on -m 2G,slots=2,maxmem=8G -object memory-backend-file,id=m,share=on,mem-path=pmem.img,size=1G -device nvdimm,memdev=m"

/*
 * A command that loses what the device holds is only for an empty one; of any
 * other one the command is a comment behind a look at what there is.
 */
static const char *lossy(const struct device *dev, const char *command)
{
	static char line[512];

	if (device_empty(dev))
		snprintf(line, sizeof(line), "%s    # what it holds is lost",
			 command);
	else if (dev->kind == DEVICE_DEVDAX)
		snprintf(line, sizeof(line),
			 "ndctl list -n %s    # save what it holds, then: %s",
			 dev->ns, command);
	else
		snprintf(line, sizeof(line),
			 "lsblk -f /dev/%s    # save what it holds, then: %s",
			 dev->disk, command);
	return line;
}

static const char *fsdax_line(const struct device *dev)
{
	char command[160];

	if (!*dev->ns)
		return "ndctl create-namespace -m fsdax -M dev";
	snprintf(command, sizeof(command),
		 "ndctl create-namespace -f -e %s -m fsdax -M dev", dev->ns);
	return lossy(dev, command);
}

static const char *partition_line(const struct device *dev)
{
	char command[160];

	snprintf(command, sizeof(command),
		 "parted -s /dev/%s mklabel gpt mkpart wort 2MiB 100%%",
		 dev->disk);
	return lossy(dev, command);
}

bool doctor_kind(const struct device *dev)
{
	switch (dev->kind) {
	case DEVICE_FILE:	/* is looked at elsewhere */
	case DEVICE_BLOCK:
		return true;
	case DEVICE_NONE:
		report(PROBLEM, "device", "ls /dev/pmem*; ndctl list -Ni", "%s",
		       strerror(dev->err));
		break;
	case DEVICE_OTHER:
		report(PROBLEM, "device", "ls /dev/pmem*", "neither a device nor a file");
		break;
	case DEVICE_CHAR:
		report(PROBLEM, "device", "ls /dev/pmem*",
		       "a character device is no persistent memory");
		break;
	case DEVICE_DEVDAX:
		report(PROBLEM, "mode", fsdax_line(dev),
		       "devdax: a character device, no block device");
		break;
	}
	return false;
}

/* Is a part of the path in sysfs called so, or does it begin so? */
static bool lies_below(const struct device *dev, const char *part)
{
	char *real = realpath(sys_path("/sys/block/%s", dev->disk), NULL);
	bool found = real && strstr(real, part);

	free(real);
	return found;
}

static void report_mapper(const struct device *dev)
{
	char name[128], remedy[256];

	sys_line(name, sizeof(name), "/sys/block/%s/dm/name", dev->disk);
	snprintf(remedy, sizeof(remedy), "dmsetup deps -o devname %s    # name the device beneath",
		 *name ? shell_word(name) : dev->disk);
	report(PROBLEM, "mode", remedy,
	       "a device-mapper target can move its memory and tells nobody");
}

static void report_fsdax(const struct device *dev)
{
	report(FINE, "mode", NULL, "fsdax%s%s", *dev->ns ? ", " : "", dev->ns);
	if (lies_below(dev, "/e820_pmem/"))
		report(NOTE, "memory", NULL,
		       "set aside with memmap=: plain DRAM forgets when power goes");
}

/*
 * A device that can hold no pool in any mode: advice on who holds it, or how
 * to make room on it, would only harm what it is used for.
 */
static bool check_kind(const struct device *dev)
{
	if (sys_exists("/sys/block/%s/dm", dev->disk)) {
		report_mapper(dev);
	} else if (lies_below(dev, "/virtio") && lies_below(dev, "/ndbus")) {
		report(PROBLEM, "mode", QEMU_NVDIMM "    # on the host",
		       "virtio-pmem: its flushes are asynchronous; an NVDIMM of the hypervisor's does");
	} else if (!disk_is_dax(dev->disk) && strncmp(dev->disk, "pmem", 4)) {
		report(PROBLEM, "mode", "ls /dev/pmem*; ndctl list -Ni",
		       "%s is a block device without DAX: no persistent memory",
		       dev->disk);
	} else {
		return true;
	}
	return false;
}

static void check_mode(const struct device *dev)
{
	if (!strncmp(dev->nd, "btt", 3))
		report(PROBLEM, "mode", fsdax_line(dev),
		       "sector mode: blocks, not memory");
	else if (disk_is_dax(dev->disk))
		report_fsdax(dev);
	else
		report(PROBLEM, "mode", fsdax_line(dev),
		       "%s: the kernel cannot map this memory",
		       strncmp(dev->nd, "namespace", 9) ? "no DAX" : "raw");
}

static unsigned long long number(const struct device *dev, const char *attr)
{
	char line[32];
	uint64_t val;

	sys_line(line, sizeof(line), "/sys/class/block/%s/%s", dev->name, attr);
	return number_parse(line, strlen(line), &val) ? 0 : val;
}

static void check_geometry(const struct device *dev)
{
	unsigned long long sectors = number(dev, "size");
	unsigned long long start = number(dev, "start");
	const char *remedy = dev->partition ? partition_line(dev) :
					      fsdax_line(dev);

	if (start % 8 || sectors % 8)
		report(PROBLEM, "alignment", remedy,
		       "begins at sector %llu and has %llu: not whole pages of 8",
		       start, sectors);
	else
		report(FINE, "alignment", NULL, "whole pages");
	if (sectors * 512 < POOL_MIN)
		report(PROBLEM, "size", remedy,
		       "%llu bytes: a pool has 256 KiB at least",
		       sectors * 512);
	else if (sectors * 512 > POOL_MAX)
		report(PROBLEM, "size", partition_line(dev),
		       "%llu bytes: a pool has 16 TiB at most", sectors * 512);
	else
		report(FINE, "size", NULL, "%llu KiB", sectors / 2);
}

static void check_flush(const struct device *dev)
{
	char line[16];

	if (!disk_is_dax(dev->disk))
		return;
	sys_line(line, sizeof(line), "/sys/block/%s/dax/write_cache",
		 dev->disk);
	if (!strcmp(line, "0"))
		report(FINE, "flush", NULL,
		       "not needed: caches are persistent too");
	else if (!strcmp(line, "1"))
		report(FINE, "flush", NULL, "by cache line");
	else
		report(NOTE, "flush", NULL, "unknown");
}

static void check_badblocks(const struct device *dev)
{
	char line[64];

	if (!disk_is_dax(dev->disk))
		return;
	if (sys_line(line, sizeof(line), "/sys/block/%s/badblocks",
		     dev->disk) && *line)
		report(NOTE, "media", "ndctl list --media-errors",
		       "pages known to be bad: what lies on them is lost, the rest is served");
	else
		report(FINE, "media", NULL, "no pages known to be bad");
}

bool doctor_device(const struct device *dev)
{
	if (!check_kind(dev))
		return false;
	check_mode(dev);
	check_geometry(dev);
	check_flush(dev);
	check_badblocks(dev);
	return true;
}

static bool shares_disk(const struct device *dev,
			const struct wort_pool_record *rec)
{
	char name[sizeof(rec->device) + 1];

	snprintf(name, sizeof(name), "%.*s", (int)sizeof(rec->device),
		 (const char *)rec->device);
	return !strcmp(name, dev->disk) ||
	       sys_exists("/sys/block/%s/%s", dev->disk, name);
}

/* It keeps no device, but its names, until it is detached. */
static void report_dead(const struct wort_pool_record *rec)
{
	char remedy[64];

	snprintf(remedy, sizeof(remedy), "wort detach %u", rec->minor);
	report(NOTE, "holder", remedy,
	       "/dev/wort%u is a dead pool: its device was unbound or removed, and came back",
	       rec->minor);
}

/* The kernel gives the memory of a disk away only once. */
static bool report_live(const struct device *dev,
			const struct wort_pool_record *rec)
{
	char remedy[64];

	if (lies_on(rec, dev->name)) {
		report(NOTE, "holder", NULL, "attached as /dev/wort%u",
		       rec->minor);
		return true;
	}
	if (!shares_disk(dev, rec))
		return false;
	snprintf(remedy, sizeof(remedy), "wort detach %u", rec->minor);
	report(PROBLEM, "holder", remedy,
	       "%.*s of the same memory is attached as /dev/wort%u",
	       (int)sizeof(rec->device), (const char *)rec->device, rec->minor);
	return true;
}

static bool report_attached(const struct device *dev)
{
	struct wort_pool_record *records;
	int i, nr = list_pools(&records);
	bool found = false;

	for (i = 0; i < nr; i++)
		if (!(records[i].state & WORT_STATE_DEAD))
			found = found || report_live(dev, &records[i]);
		else if (lies_on(&records[i], dev->name))
			report_dead(&records[i]);
	free(records);
	return found;
}

/* Mounted or swapped to, this name or, of a whole disk, a part of it. */
static bool in_use(const char *name, void *data)
{
	const struct device *dev = data;
	char place[PATH_MAX], remedy[5 * PATH_MAX];

	if (!sys_exists("/sys/class/block/%s", name))
		return false;
	device_mount(name, place, sizeof(place));
	if (!*place)
		return false;
	if (!strcmp(place, "swap"))
		snprintf(remedy, sizeof(remedy), "swapoff /dev/%s", name);
	else if (!strcmp(place, "/"))
		strcpy(remedy, "findmnt /    # the running system: choose another device");
	else
		snprintf(remedy, sizeof(remedy), "umount %s", shell_word(place));
	report(PROBLEM, "holder", remedy, "%s%s is %s%s",
	       strcmp(name, dev->name) ? "its partition " : "", name,
	       strcmp(place, "swap") ? "mounted at " : "used as ", place);
	return true;
}

static bool held(const char *name, void *data)
{
	const struct device *dev = data;
	char mapped[128], remedy[256];

	if (sys_line(mapped, sizeof(mapped), "/sys/class/block/%s/holders/%s/dm/name",
		     dev->name, name) ||
	    sys_line(mapped, sizeof(mapped), "/sys/block/%s/dm/name", name))
		snprintf(remedy, sizeof(remedy), "dmsetup remove %s",
			 shell_word(mapped));
	else if (!strncmp(name, "md", 2))
		snprintf(remedy, sizeof(remedy), "mdadm --stop /dev/%s", name);
	else
		snprintf(remedy, sizeof(remedy), "lsblk %s",
			 shell_word(dev->path));
	report(PROBLEM, "holder", remedy, "%s is built on it", name);
	return true;
}

/* An exclusive open is what the module asks for, too. */
static void try_open(const struct device *dev)
{
	char remedy[PATH_MAX + 64];
	int fd = sys_recorded() ? -1 :
		 open(dev->path, O_RDONLY | O_EXCL | O_CLOEXEC);

	if (fd >= 0 || sys_recorded()) {
		if (fd >= 0)
			close(fd);
		report(FINE, "holder", NULL, "nobody");
	} else if (errno == EBUSY) {
		snprintf(remedy, sizeof(remedy), "fuser -v %s; lsblk %s",
			 shell_word(dev->path), shell_word(dev->path));
		report(PROBLEM, "holder", remedy,
		       "another program or driver has the device for itself");
	} else {
		snprintf(remedy, sizeof(remedy), "sudo wort doctor %s",
			 shell_word(dev->path));
		report(PROBLEM, "holder", remedy, "cannot look: %s",
		       strerror(errno));
	}
}

void doctor_holder(const struct device *dev)
{
	char folder[SYS_NAME + 40];

	if (report_attached(dev) || in_use(dev->name, (void *)dev))
		return;
	snprintf(folder, sizeof(folder), "/sys/block/%s", dev->disk);
	if (!dev->partition && sys_each(folder, in_use, (void *)dev))
		return;
	snprintf(folder, sizeof(folder), "/sys/class/block/%s/holders",
		 dev->name);
	if (!sys_each(folder, held, (void *)dev))
		try_open(dev);
}
