// SPDX-License-Identifier: GPL-2.0-only
/*
 * How pools and engines are named on the command line.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <uuid.h>

#include "ctl.h"
#include "sysfs.h"

#define POOL_CLASS	"/sys/class/wort"

const char *engine_name(uint32_t engine, char *buf, size_t size)
{
	const struct wort_engine *found;
	unsigned int nr;

	for (nr = 0; (found = wort_engine(nr)); nr++)
		if (found->id == engine)
			return found->name;
	snprintf(buf, size, "%u", engine);
	return buf;
}

int engine_by_name(const char *name, uint32_t *engine)
{
	const struct wort_engine *found;
	unsigned int nr;

	*engine = WORT_ENGINE_DEFAULT;
	if (!strcmp(name, "default"))
		return 0;
	for (nr = 0; (found = wort_engine(nr)); nr++)
		if (!strcmp(name, found->name)) {
			*engine = found->id;
			return 0;
		}
	return -ENOENT;
}

/* The attribute of the engine that "NAME=VALUE" names, which has no such value. */
static int out_of_range(uint32_t engine, const char *text)
{
	const struct wort_attr *attr;
	size_t len = strcspn(text, "=");
	unsigned int nr;

	for (nr = 0; (attr = wort_engine_attr(engine, nr)); nr++)
		if (strlen(attr->name) == len && !strncmp(attr->name, text, len))
			break;
	if (!attr || attr->values)
		complain("%s: not one of: %s", text, attr ? attr->values : "");
	else
		complain("%s: not from %llu to %llu in steps of %llu", text,
			 ull(attr->min), ull(attr->max), ull(attr->unit));
	return ST_USAGE;
}

/* Is the attribute chosen before, too? */
static bool is_repeated(int nr)
{
	size_t len = strcspn(settings.attrs[nr], "=") + 1;
	int i;

	for (i = 0; i < nr; i++)
		if (!strncmp(settings.attrs[i], settings.attrs[nr], len))
			return true;
	return false;
}

int attrs_read(uint32_t engine, uint64_t *word)
{
	int i, err;

	*word = 0;
	for (i = 0; i < settings.nr_attrs; i++) {
		if (is_repeated(i)) {
			complain("%s: the attribute is chosen twice", settings.attrs[i]);
			return ST_USAGE;
		}
		err = wort_attr_set(engine, settings.attrs[i], word);
		if (err == -ERANGE)
			return out_of_range(engine, settings.attrs[i]);
		if (!err)
			continue;
		complain("%s: %s", settings.attrs[i], err == -ENOENT ?
			 "the engine has no such attribute" : "not NAME=VALUE, or not a number");
		mend("wort engines");
		return ST_USAGE;
	}
	return 0;
}

void uuid_to_text(const uint8_t *uuid, char *text)
{
	uuid_unparse_lower(uuid, text);
}

int uuid_from_text(const char *text, uint8_t *uuid)
{
	return uuid_parse(text, uuid) ? -EINVAL : 0;
}

void label_encode(const uint8_t *label, char text[LABEL_ENCODED])
{
	int i;

	for (i = 0; i < WORT_LABEL_LEN && label[i]; i++)
		if (label[i] > 0x7f || isalnum(label[i]) ||
		    strchr("#+-.:=@_", label[i]))
			*text++ = label[i];
		else
			text += sprintf(text, "\\x%02x", label[i]);
	*text = 0;
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
		{ "detached", WORT_STATE_DEAD },	/* just now */
		{ "index-damaged", WORT_STATE_INDEX_DAMAGED },
		{ "unknown-engine", WORT_STATE_UNKNOWN },
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

static void copy_text(void *to, size_t size, const char *text)
{
	memcpy(to, text, strnlen(text, size));
}

/* "wort" and a number, and no zero in front that would make it a second name. */
static bool minor_of(const char *name, uint32_t *minor)
{
	uint64_t val;

	if (strncmp(name, "wort", 4) || !isdigit((unsigned char)name[4]) ||
	    (name[4] == '0' && name[5]) ||
	    number_parse(name + 4, strlen(name + 4), &val) || val > UINT32_MAX)
		return false;
	*minor = val;
	return true;
}

struct pool_list {
	struct wort_pool_record *records;
	int nr;			/* or a negative errno */
};

static bool add_from_sysfs(const char *name, void *data)
{
	struct wort_pool_record rec = { }, *grown;
	struct pool_list *list = data;
	uint64_t size;
	char line[256];

	if (!minor_of(name, &rec.minor))
		return false;
	sys_line(line, sizeof(line), POOL_CLASS "/%s/uuid", name);
	if (uuid_from_text(line, rec.uuid))
		return false;
	/* A label may hold a newline. */
	sys_text(line, sizeof(line), POOL_CLASS "/%s/label", name);
	copy_text(rec.label, sizeof(rec.label), line);
	sys_line(line, sizeof(line), POOL_CLASS "/%s/device", name);
	copy_text(rec.device, sizeof(rec.device), line);
	sys_line(line, sizeof(line), POOL_CLASS "/%s/pool_size", name);
	if (!number_parse(line, strlen(line), &size))
		rec.pool_size = size;
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

static int list_from_sysfs(struct wort_pool_record **out)
{
	struct pool_list list = { };

	sys_each(POOL_CLASS, add_from_sysfs, &list);
	if (list.nr > 0)
		qsort(list.records, list.nr, sizeof(*list.records), by_minor);
	*out = list.records;
	return list.nr;
}

static int list_from_control(struct wort_pool_record **out)
{
	struct wort_ctl *ctl;
	int nr = wort_ctl_open(&ctl);

	if (nr)
		return nr;
	nr = list_all(ctl, out);
	wort_ctl_close(ctl);
	return nr;
}

bool module_loaded(void)
{
	return sys_exists(POOL_CLASS);
}

/*
 * The control device answers root with CAP_SYS_ADMIN, and a container may not
 * have it.  sysfs tells the same to everybody.
 */
int list_pools(struct wort_pool_record **out)
{
	int nr;

	*out = NULL;
	nr = sys_recorded() ? -ENOENT : list_from_control(out);
	if (nr < 0 && module_loaded())
		nr = list_from_sysfs(out);
	return nr;
}

const char *pool_number(const char *name)
{
	const char *digits = strncmp(name, "wort", 4) ? name : name + 4;

	return *digits && !digits[strspn(digits, "0123456789")] ? digits : NULL;
}

bool label_is(const uint8_t *label, const char *text)
{
	size_t len = strnlen((const char *)label, WORT_LABEL_LEN);

	/* A pool without a label is not called "". */
	return len && len == strlen(text) && !memcmp(label, text, len);
}

static bool has_name(const struct wort_pool_record *rec, const char *name)
{
	char uuid[UUID_TEXT];

	if (!strncmp(name, "LABEL=", 6))
		return label_is(rec->label, name + 6);
	uuid_to_text(rec->uuid, uuid);
	if (!strncmp(name, "UUID=", 5))
		return !strcasecmp(uuid, name + 5);
	return !strcasecmp(uuid, name) || label_is(rec->label, name);
}

static bool has_minor(const struct wort_pool_record *rec, const char *name)
{
	uint32_t minor;

	return minor_of(name, &minor) && rec->minor == minor;
}

bool lies_on(const struct wort_pool_record *rec, const char *device)
{
	return *device && strlen(device) <= sizeof(rec->device) &&
	       !strncmp((const char *)rec->device, device,
			sizeof(rec->device));
}

typedef bool (*pool_fn)(const struct wort_pool_record *rec, const char *name);

static void set_pool(struct pool_place *place,
		     const struct wort_pool_record *rec)
{
	snprintf(place->path, sizeof(place->path), "/dev/wort%u", rec->minor);
	place->attached = true;
	place->minor = rec->minor;
	place->dead = rec->state & WORT_STATE_DEAD;
}

/*
 * The attached pool that is called so.  A pool whose device was unbound stays
 * in the list until it is detached; if the device came back, there is a second
 * pool with the same names, which is the one that is meant.
 */
static int find_attached(pool_fn is_it, const char *name,
			 struct pool_place *place)
{
	struct wort_pool_record *records;
	int i, nr = list_pools(&records), live = 0, dead = 0;

	for (i = 0; i < nr; i++) {
		if (!is_it(&records[i], name))
			continue;
		if (records[i].state & WORT_STATE_DEAD) {
			if (!live && !dead++)
				set_pool(place, &records[i]);
		} else if (!live++) {
			set_pool(place, &records[i]);
		}
	}
	free(records);
	if (nr < 0)
		return no_module(nr) ? -EUNATCH : nr;
	if (live > 1 || (!live && dead > 1))
		return -ENOTUNIQ;
	return live || dead ? 0 : -ENOENT;
}

/* A device by the name that the kernel has for it, whatever its path is. */
static void kernel_name(const char *path, char *name, size_t size)
{
	struct device dev;
	char *real;

	device_find(path, &dev);
	if (*dev.name) {
		snprintf(name, size, "%s", dev.name);
		return;
	}
	real = realpath(path, NULL);
	snprintf(name, size, "%s", real ? strrchr(real, '/') + 1 : "");
	free(real);
}

/* The last part of a path: the name of a device, or a link to it by its pool. */
static bool named_last(const struct wort_pool_record *rec, const char *name)
{
	char uuid[UUID_TEXT], label[LABEL_ENCODED];

	uuid_to_text(rec->uuid, uuid);
	label_encode(rec->label, label);
	return rec->state & WORT_STATE_DEAD &&
	       (lies_on(rec, name) || !strcmp(uuid, name) ||
		(*label && !strcmp(label, name)));
}

/* The path went with its device, and the pool is dead: it can be detached by it. */
static int find_gone(const char *path, struct pool_place *place)
{
	if (strncmp(path, "/dev/", 5))
		return -ENOENT;
	return find_attached(named_last, strrchr(path, '/') + 1, place);
}

/* A dead pool does not hold the device: what is on it can be read and attached. */
static int find_by_path(const char *path, struct pool_place *place)
{
	char name[NAME_MAX + 1];
	struct stat st;
	int err;

	if (strlen(path) >= sizeof(place->path))
		return -ENAMETOOLONG;
	if (stat(path, &st)) {
		err = -errno;
		return err == -ENOENT && !find_gone(path, place) ? 0 : err;
	}
	if (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode))
		kernel_name(path, name, sizeof(name));
	if (S_ISCHR(st.st_mode) && !find_attached(has_minor, name, place))
		return 0;
	if (S_ISBLK(st.st_mode) && !find_attached(lies_on, name, place) &&
	    !place->dead)
		return 0;
	place->offline = !S_ISCHR(st.st_mode);
	strcpy(place->path, path);
	return 0;
}

/* What needs no list is opened without it: its state is met there. */
static int find_by_number(const char *digits, struct pool_place *place)
{
	uint64_t val;

	if (number_parse(digits, strlen(digits), &val) || val > UINT32_MAX)
		return -ENOENT;
	place->attached = true;
	place->minor = val;
	snprintf(place->path, sizeof(place->path), "/dev/wort%u",
		 place->minor);
	return 0;
}

int find_pool(const char *name, struct pool_place *place)
{
	const char *digits = pool_number(name);
	int err;

	memset(place, 0, sizeof(*place));
	if (digits)
		return find_by_number(digits, place);
	/* These hold any byte, also a slash. */
	if (strncmp(name, "LABEL=", 6) && strncmp(name, "UUID=", 5) &&
	    strchr(name, '/'))
		return find_by_path(name, place);
	err = find_attached(has_name, name, place);
	if (err && err != -ENOTUNIQ && !find_by_path(name, place))
		err = 0;
	return err;
}
