// SPDX-License-Identifier: GPL-2.0-only
/*
 * What sysfs, procfs and /dev say.
 */
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "sysfs.h"

static const char *root(void)
{
	const char *path = getenv("WORT_SYSROOT");

	return path ? path : "";
}

bool sys_recorded(void)
{
	return *root();
}

static const char *vpath(const char *fmt, va_list args)
{
	static char path[PATH_MAX];
	size_t len = snprintf(path, sizeof(path), "%s", root());

	if (len < sizeof(path))
		vsnprintf(path + len, sizeof(path) - len, fmt, args);
	return path;
}

const char *sys_path(const char *fmt, ...)
{
	const char *path;
	va_list args;

	va_start(args, fmt);
	path = vpath(fmt, args);
	va_end(args);
	return path;
}

bool sys_exists(const char *fmt, ...)
{
	va_list args;
	bool there;

	va_start(args, fmt);
	there = !access(vpath(fmt, args), F_OK);
	va_end(args);
	return there;
}

bool sys_line(char *line, size_t size, const char *fmt, ...)
{
	va_list args;
	FILE *file;
	char *got;

	*line = 0;
	va_start(args, fmt);
	file = fopen(vpath(fmt, args), "r");
	va_end(args);
	if (!file)
		return false;
	got = fgets(line, size, file);
	fclose(file);
	if (!got)
		return false;
	line[strcspn(line, "\n")] = 0;
	return true;
}

bool sys_text(char *text, size_t size, const char *fmt, ...)
{
	va_list args;
	size_t len;
	FILE *file;

	*text = 0;
	va_start(args, fmt);
	file = fopen(vpath(fmt, args), "r");
	va_end(args);
	if (!file)
		return false;
	len = fread(text, 1, size - 1, file);
	fclose(file);
	text[len] = 0;
	if (len && text[len - 1] == '\n')
		text[len - 1] = 0;
	return true;
}

void sys_link(char *name, size_t size, const char *fmt, ...)
{
	va_list args;
	char *real;

	va_start(args, fmt);
	real = realpath(vpath(fmt, args), NULL);
	va_end(args);
	snprintf(name, size, "%s", real ? strrchr(real, '/') + 1 : "");
	free(real);
}

bool sys_each(const char *folder, sys_name_fn fn, void *data)
{
	DIR *dir = opendir(sys_path("%s", folder));
	struct dirent *entry;
	bool found = false;

	while (dir && !found && (entry = readdir(dir)))
		found = *entry->d_name != '.' && fn(entry->d_name, data);
	if (dir)
		closedir(dir);
	return found;
}

/* A recorded device has no node: what sysfs has of its name is what it is. */
static void find_recorded(struct device *dev)
{
	const char *slash = strrchr(dev->path, '/');

	snprintf(dev->name, sizeof(dev->name), "%s",
		 slash ? slash + 1 : dev->path);
	if (sys_exists("/sys/class/block/%s", dev->name))
		dev->kind = DEVICE_BLOCK;
	else if (sys_exists("/sys/bus/dax/devices/%s", dev->name))
		dev->kind = DEVICE_DEVDAX;
	else
		dev->err = ENOENT;
}

static void find_real(struct device *dev)
{
	const char *type;
	struct stat st;

	if (stat(dev->path, &st)) {
		dev->err = errno;
		return;
	}
	if (!S_ISBLK(st.st_mode) && !S_ISCHR(st.st_mode)) {
		dev->kind = S_ISREG(st.st_mode) ? DEVICE_FILE : DEVICE_OTHER;
		return;
	}
	type = S_ISBLK(st.st_mode) ? "block" : "char";
	sys_link(dev->name, sizeof(dev->name), "/sys/dev/%s/%u:%u", type,
		 major(st.st_rdev), minor(st.st_rdev));
	if (S_ISBLK(st.st_mode))
		dev->kind = DEVICE_BLOCK;
	else if (*dev->name && sys_exists("/sys/bus/dax/devices/%s", dev->name))
		dev->kind = DEVICE_DEVDAX;
	else
		dev->kind = DEVICE_CHAR;
}

static void find_disk(struct device *dev)
{
	dev->partition = sys_exists("/sys/class/block/%s/partition", dev->name);
	if (dev->partition)
		sys_link(dev->disk, sizeof(dev->disk),
			 "/sys/class/block/%s/..", dev->name);
	else
		snprintf(dev->disk, sizeof(dev->disk), "%s", dev->name);
	sys_link(dev->nd, sizeof(dev->nd), "/sys/block/%s/device", dev->disk);
	if (!strncmp(dev->nd, "namespace", 9))
		snprintf(dev->ns, sizeof(dev->ns), "%s", dev->nd);
	else
		sys_line(dev->ns, sizeof(dev->ns),
			 "/sys/block/%s/device/namespace", dev->disk);
}

void device_find(const char *path, struct device *dev)
{
	*dev = (struct device) { .path = path };
	if (sys_recorded())
		find_recorded(dev);
	else
		find_real(dev);
	if (dev->kind == DEVICE_BLOCK)
		find_disk(dev);
	else if (dev->kind == DEVICE_DEVDAX)
		sys_line(dev->ns, sizeof(dev->ns),
			 "/sys/bus/dax/devices/%s/../namespace", dev->name);
}

bool disk_is_dax(const char *disk)
{
	char line[16];

	return sys_line(line, sizeof(line), "/sys/block/%s/queue/dax", disk) &&
	       !strcmp(line, "1");
}

/* The kernel writes blanks and backslashes in a path as three octal digits. */
static void decode_octal(char *text)
{
	char *to = text;

	for (; *text; to++, text++) {
		*to = *text;
		if (*text == '\\' && strspn(text + 1, "01234567") >= 3) {
			*to = (text[1] - '0') << 6 | (text[2] - '0') << 3 |
			      (text[3] - '0');
			text += 3;
		}
	}
	*to = 0;
}

static bool mounted(const char *number, char *place, size_t size)
{
	FILE *file = fopen(sys_path("/proc/self/mountinfo"), "r");
	char *line = NULL, *dev, *where;
	bool found = false;
	size_t room = 0;

	while (file && !found && getline(&line, &room, file) >= 0) {
		dev = NULL;
		where = NULL;
		if (sscanf(line, "%*d %*d %ms %*s %ms", &dev, &where) == 2 &&
		    !strcmp(dev, number)) {
			decode_octal(where);
			snprintf(place, size, "%s", where);
			found = true;
		}
		free(dev);
		free(where);
	}
	free(line);
	if (file)
		fclose(file);
	return found;
}

static bool swapped(const char *name, char *place, size_t size)
{
	FILE *file = fopen(sys_path("/proc/swaps"), "r");
	char *line = NULL, *what, *base;
	bool found = false;
	size_t room = 0;

	while (file && !found && getline(&line, &room, file) >= 0) {
		if (sscanf(line, "%ms", &what) != 1)
			continue;
		base = strrchr(what, '/');
		found = base && !strcmp(base + 1, name);
		free(what);
	}
	free(line);
	if (file)
		fclose(file);
	if (found)
		snprintf(place, size, "swap");
	return found;
}

void device_mount(const char *name, char *place, size_t size)
{
	char number[32];

	*place = 0;
	if (sys_line(number, sizeof(number), "/sys/class/block/%s/dev", name) &&
	    mounted(number, place, size))
		return;
	swapped(name, place, size);
}
