// SPDX-License-Identifier: GPL-2.0-only
/*
 * How pools and engines are named on the command line.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ctl.h"
#include "sysfs.h"

#define POOL_CLASS	"/sys/class/wort"

static const struct {
	uint32_t engine;
	const char *name;
} engines[] = {
	{ WORT_ENGINE_DEFAULT, "default" },
	{ WORT_ENGINE_WORT, "wort" },
};

const char *engine_name(uint32_t engine, char *buf, size_t size)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(engines); i++)
		if (engines[i].engine == engine)
			return engines[i].name;
	snprintf(buf, size, "%u", engine);
	return buf;
}

int engine_by_name(const char *name, uint32_t *engine)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(engines); i++)
		if (!strcmp(engines[i].name, name)) {
			*engine = engines[i].engine;
			return 0;
		}
	return -ENOENT;
}

void uuid_to_text(const uint8_t *uuid, char *text)
{
	int i;

	for (i = 0; i < WORT_UUID_LEN; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*text++ = '-';
		text += sprintf(text, "%02x", uuid[i]);
	}
}

int uuid_from_text(const char *text, uint8_t *uuid)
{
	struct bytes bytes = { };
	char digits[2 * WORT_UUID_LEN];
	size_t n = 0;
	int err;

	if (strlen(text) != UUID_TEXT - 1)
		return -EINVAL;
	for (; *text; text++)
		if (*text != '-') {
			if (n == sizeof(digits))
				return -EINVAL;
			digits[n++] = *text;
		}
	err = bytes_from_hex(&bytes, digits, n);
	if (!err && bytes.len != WORT_UUID_LEN)
		err = -EINVAL;
	if (!err)
		memcpy(uuid, bytes.data, WORT_UUID_LEN);
	bytes_free(&bytes);
	return err;
}

/* Grows *@out until all of them fit. */
static int list_all(struct wort_ctl *ctl, struct wort_pool_record **out)
{
	struct wort_pool_record *records = NULL, *grown;
	unsigned int nr = 0, start = 0;
	bool more = true;
	int got;

	while (more) {
		grown = realloc(records, (nr + 64) * sizeof(*records));
		if (!grown) {
			free(records);
			return -ENOMEM;
		}
		records = grown;
		got = wort_ctl_list(ctl, start, records + nr, 64, &more);
		if (got < 0) {
			free(records);
			return got;
		}
		nr += got;
		if (!got)
			break;
		start = records[nr - 1].minor + 1;
	}
	*out = records;
	return nr;
}

static uint32_t state_bits(char *text)
{
	static const struct {
		const char *word;
		uint32_t bit;
	} words[] = {
		{ "damaged", WORT_STATE_DAMAGED },
		{ "readonly", WORT_STATE_READONLY },
		{ "dead", WORT_STATE_DEAD },
		{ "index-damaged", WORT_STATE_INDEX_DAMAGED },
		{ "walking", WORT_STATE_WALKING },
	};
	uint32_t bits = 0;
	unsigned int i;

	for (text = strtok(text, " "); text; text = strtok(NULL, " "))
		for (i = 0; i < ARRAY_SIZE(words); i++)
			if (!strcmp(text, words[i].word))
				bits |= words[i].bit;
	return bits;
}

static void copy_line(void *to, size_t size, const char *line)
{
	memcpy(to, line, strnlen(line, size));
}

struct pool_list {
	struct wort_pool_record *records;
	int nr;			/* or a negative errno */
};

static bool add_from_sysfs(const char *name, void *data)
{
	struct wort_pool_record rec = { }, *grown;
	struct pool_list *list = data;
	char line[256];

	if (sscanf(name, "wort%u", &rec.minor) != 1)
		return false;
	sys_line(line, sizeof(line), POOL_CLASS "/%s/uuid", name);
	if (uuid_from_text(line, rec.uuid))
		return false;
	sys_line(line, sizeof(line), POOL_CLASS "/%s/label", name);
	copy_line(rec.label, sizeof(rec.label), line);
	sys_line(line, sizeof(line), POOL_CLASS "/%s/device", name);
	copy_line(rec.device, sizeof(rec.device), line);
	sys_line(line, sizeof(line), POOL_CLASS "/%s/pool_size", name);
	rec.pool_size = strtoull(line, NULL, 10);
	sys_line(line, sizeof(line), POOL_CLASS "/%s/state", name);
	rec.state = state_bits(line);
	grown = realloc(list->records, (list->nr + 1) * sizeof(rec));
	if (!grown) {
		free(list->records);
		*list = (struct pool_list) { .nr = -ENOMEM };
		return true;
	}
	list->records = grown;
	grown[list->nr++] = rec;
	return false;
}

static int by_minor(const void *a, const void *b)
{
	uint32_t x = ((const struct wort_pool_record *)a)->minor;
	uint32_t y = ((const struct wort_pool_record *)b)->minor;

	return x < y ? -1 : x > y;
}

/* The control device is root's; sysfs tells everybody. */
static int list_from_sysfs(struct wort_pool_record **out)
{
	struct pool_list list = { };

	sys_each(POOL_CLASS, add_from_sysfs, &list);
	if (list.nr > 0)
		qsort(list.records, list.nr, sizeof(*list.records), by_minor);
	*out = list.records;
	return list.nr;
}

int list_pools(struct wort_pool_record **out)
{
	struct wort_ctl *ctl;
	int nr = wort_ctl_open(&ctl);

	*out = NULL;
	if (nr == -EACCES || nr == -EPERM)
		return list_from_sysfs(out);
	if (nr)
		return nr;
	nr = list_all(ctl, out);
	wort_ctl_close(ctl);
	return nr;
}

static bool is_number(const char *text)
{
	return *text && !text[strspn(text, "0123456789")];
}

static bool matches(const struct wort_pool_record *rec, const char *name)
{
	char uuid[UUID_TEXT];

	if (!strncmp(name, "LABEL=", 6))
		return !strncmp((const char *)rec->label, name + 6,
				WORT_LABEL_LEN);
	uuid_to_text(rec->uuid, uuid);
	if (!strncmp(name, "UUID=", 5))
		return !strcasecmp(uuid, name + 5);
	return !strcasecmp(uuid, name) ||
	       !strncmp((const char *)rec->label, name, WORT_LABEL_LEN);
}

/*
 * -ENOENT if no pool is called so, -ENOTUNIQ if several are, -EUNATCH if there
 * is no module.
 */
static int find_by_label(const char *name, unsigned int *minor)
{
	struct wort_pool_record *records;
	int i, nr = list_pools(&records), found = 0;

	for (i = 0; i < nr; i++)
		if (matches(&records[i], name)) {
			*minor = records[i].minor;
			found++;
		}
	free(records);
	if (nr < 0)
		return no_module(nr) ? -EUNATCH : nr;
	return found == 1 ? 0 : found ? -ENOTUNIQ : -ENOENT;
}

/* The pool that lies on a block device, if it is attached. */
static int find_by_device(const char *path, unsigned int *minor)
{
	struct wort_pool_record *records;
	int i, nr, err = -ENOENT;
	char *real = realpath(path, NULL);
	const char *base;

	if (!real)
		return -errno;
	base = strrchr(real, '/') + 1;
	nr = list_pools(&records);
	for (i = 0; i < nr; i++)
		if (!strncmp((const char *)records[i].device, base,
			     sizeof(records[i].device))) {
			*minor = records[i].minor;
			err = 0;
		}
	free(records);
	free(real);
	return err;
}

static int find_by_path(const char *name, char *path, size_t size,
			bool *offline)
{
	unsigned int minor = 0;
	struct stat st;

	if (stat(name, &st))
		return -errno;
	if (S_ISBLK(st.st_mode) && !find_by_device(name, &minor)) {
		snprintf(path, size, "/dev/wort%u", minor);
		return 0;
	}
	*offline = !S_ISCHR(st.st_mode);
	snprintf(path, size, "%s", name);
	return 0;
}

int find_pool(const char *name, char *path, size_t size, bool *offline)
{
	const char *digits = strncmp(name, "wort", 4) ? name : name + 4;
	unsigned int minor;
	int err;

	*offline = false;
	if (is_number(digits)) {
		snprintf(path, size, "/dev/wort%s", digits);
		return 0;
	}
	if (strchr(name, '/'))
		return find_by_path(name, path, size, offline);
	err = find_by_label(name, &minor);
	if (!err)
		snprintf(path, size, "/dev/wort%u", minor);
	else if (err != -ENOTUNIQ && !find_by_path(name, path, size, offline))
		err = 0;
	return err;
}
