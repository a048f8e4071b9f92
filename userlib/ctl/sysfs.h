/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What sysfs, procfs and /dev say, and the device that wort doctor looks at.
 */
#ifndef _WORT_SYSFS_H
#define _WORT_SYSFS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* ---- sysfs.c: every path is taken below $WORT_SYSROOT, for tests ---- */

#define PRINTF(fmt, args)	__attribute__((format(printf, fmt, args)))

/* Is there another root than the real one? */
bool sys_recorded(void);
/* The path below the root, in memory that the next call uses again. */
const char *sys_path(const char *fmt, ...) PRINTF(1, 2);
bool sys_exists(const char *fmt, ...) PRINTF(1, 2);
/* First line of a file, without its end; false and "" if there is none. */
bool sys_line(char *line, size_t size, const char *fmt, ...) PRINTF(3, 4);
/* The whole file, without the newline at its end. */
bool sys_text(char *text, size_t size, const char *fmt, ...) PRINTF(3, 4);
/* Last part of what a link leads to; "" if there is no link. */
void sys_link(char *name, size_t size, const char *fmt, ...) PRINTF(3, 4);

typedef bool (*sys_name_fn)(const char *name, void *data);
/* Entries of a folder, until one is answered with true; was one? */
bool sys_each(const char *folder, sys_name_fn fn, void *data);

#define SYS_NAME	64

enum device_kind { DEVICE_NONE, DEVICE_FILE, DEVICE_OTHER, DEVICE_CHAR, DEVICE_DEVDAX,
		   DEVICE_BLOCK };

/*
 * Of a block device (pmem0p1): the whole disk (pmem0); its parent on the
 * libnvdimm bus (pfn0.0, namespace0.0, btt0.0) and the namespace for ndctl, or
 * empty.  @err says why there is no device.
 */
struct device {
	const char *path;
	enum device_kind kind;
	int err;
	char name[SYS_NAME];
	char disk[SYS_NAME];
	char nd[SYS_NAME];
	char ns[SYS_NAME];
	bool partition;
};

void device_find(const char *path, struct device *dev);
/* Can the kernel map the memory of this disk? */
bool disk_is_dax(const char *disk);
/* Where a block device is mounted or swapped to; "" if it is not. */
void device_mount(const char *name, char *place, size_t size);

/* ---- what wort doctor finds: cmd_doctor.c ---- */

enum verdict { FINE, NOTE, PROBLEM };

/* @remedy: the command that mends it, or NULL */
void report(enum verdict verdict, const char *what, const char *remedy,
	    const char *fmt, ...) PRINTF(4, 5);

/* Does it hold nothing that is known, and does nobody use it? */
bool device_empty(const struct device *dev);

void doctor_host(const struct device *dev);	/* doctor_host.c */
bool doctor_kind(const struct device *dev);	/* doctor_device.c */
/* False: it can hold no pool, whatever is done to it. */
bool doctor_device(const struct device *dev);
void doctor_holder(const struct device *dev);

#endif
