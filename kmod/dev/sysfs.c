// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/class/wort/wortN, and what is told when the state of a pool changes.
 * Documentation/ABI/testing/sysfs-class-wort describes each file.
 */
#include <linux/ctype.h>
#include <linux/kobject.h>
#include <linux/sysfs.h>

#include "wort_dev.h"

#define STATE_UNWRITABLE \
	(WORT_STATE_DAMAGED | WORT_STATE_READONLY | WORT_STATE_DEAD)
#define STATE_TEXT_LEN	48

/* The words of a state: those whose bits under the mask are as wanted. */
static const struct {
	u32 mask;
	u32 bits;
	const char *word;
} state_words[] = {
	{ STATE_UNWRITABLE,	0,			"active" },
	{ WORT_STATE_DAMAGED,	WORT_STATE_DAMAGED,	"damaged" },
	{ WORT_STATE_READONLY,	WORT_STATE_READONLY,	"readonly" },
	{ WORT_STATE_DEAD,	WORT_STATE_DEAD,	"dead" },
	{ WORT_STATE_INDEX_DAMAGED, WORT_STATE_INDEX_DAMAGED, "index-damaged" },
	{ WORT_STATE_UNKNOWN,	WORT_STATE_UNKNOWN,	"unknown-engine" },
	{ WORT_STATE_WALKING,	WORT_STATE_WALKING,	"walking" },
};

static void state_text(u32 state, char text[STATE_TEXT_LEN])
{
	int len = 0, i;

	for (i = 0; i < ARRAY_SIZE(state_words); i++)
		if ((state & state_words[i].mask) == state_words[i].bits)
			len += scnprintf(text + len, STATE_TEXT_LEN - len,
					 "%s%s", len ? " " : "",
					 state_words[i].word);
}

static struct wort_dev *wdev_of(const struct device *dev)
{
	return container_of(dev, struct wort_dev, dev);
}

/* The memory of a pool that is being detached is out of reach, and not lost. */
static void state_of(struct wort_dev *wdev, char text[STATE_TEXT_LEN])
{
	if (READ_ONCE(wdev->detaching))
		strscpy(text, "detached", STATE_TEXT_LEN);
	else
		state_text(wort_dev_state(wdev), text);
}

/* What is known of a pool even when its memory is gone. */

static ssize_t uuid_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	return sysfs_emit(buf, "%pU\n", wdev_of(dev)->uuid);
}
static DEVICE_ATTR_RO(uuid);

static ssize_t label_show(struct device *dev, struct device_attribute *attr,
			  char *buf)
{
	return sysfs_emit(buf, "%.*s\n", WORT_LABEL_LEN, wdev_of(dev)->label);
}
static DEVICE_ATTR_RO(label);

static ssize_t device_show(struct device *dev, struct device_attribute *attr,
			   char *buf)
{
	return sysfs_emit(buf, "%s\n", wdev_of(dev)->dax->name);
}
static DEVICE_ATTR_RO(device);

static ssize_t pool_size_show(struct device *dev,
			      struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%llu\n", wdev_of(dev)->pool_size);
}
static DEVICE_ATTR_RO(pool_size);

static ssize_t state_show(struct device *dev, struct device_attribute *attr,
			  char *buf)
{
	char text[STATE_TEXT_LEN];

	state_of(wdev_of(dev), text);
	return sysfs_emit(buf, "%s\n", text);
}
static DEVICE_ATTR_RO(state);

/* Figures of the pool that is attached. */

static ssize_t emit_figure(char *buf, u64 val)
{
	if (val == WORT_UNKNOWN)
		return sysfs_emit(buf, "unknown\n");
	return sysfs_emit(buf, "%llu\n", val);
}

static int pool_info(struct device *dev, struct wort_pool_info_arg *info)
{
	struct wort_dax *dax = wdev_of(dev)->dax;
	int err;

	if (!wort_dax_enter(dax))
		return -ENODEV;
	err = wort_pool_info(dax->pool, info);
	wort_dax_exit(dax);
	return err;
}

#define FIGURE(name, field)						\
static ssize_t name##_show(struct device *dev,				\
			   struct device_attribute *attr, char *buf)	\
{									\
	struct wort_pool_info_arg info = { };				\
	int err = pool_info(dev, &info);				\
									\
	return err ? err : emit_figure(buf, info.field);		\
}									\
static DEVICE_ATTR_RO(name)

FIGURE(extent_size, out_extent_size);
FIGURE(flush, out_flush);
FIGURE(nr_indexes, out_nr_indexes);
FIGURE(nr_dying, out_nr_dying);
FIGURE(nr_damaged, out_nr_damaged);
FIGURE(walk_indexes, out_walk_indexes);
FIGURE(walk_records, out_walk_records);
FIGURE(attach_lines, out_attach_lines);
FIGURE(atomic_batches, out_atomic_batches);
FIGURE(atomic_refused, out_atomic_refused);
FIGURE(atomic_waits, out_atomic_waits);
FIGURE(atomic_redone, out_atomic_redone);
FIGURE(atomic_left, out_atomic_left);
FIGURE(atomic_damaged, out_atomic_damaged);

/* How far work has come that may take long: no lock of the pool either. */
static ssize_t emit_progress(struct device *dev, char *buf, size_t at)
{
	struct wort_dax *dax = wdev_of(dev)->dax;
	u64 val;

	if (!wort_dax_enter(dax))
		return -ENODEV;
	val = READ_ONCE(*(u64 *)((u8 *)dax->pool + at));
	wort_dax_exit(dax);
	return emit_figure(buf, val);
}

#define PROGRESS(name, field)						\
static ssize_t name##_show(struct device *dev,				\
			   struct device_attribute *attr, char *buf)	\
{									\
	return emit_progress(dev, buf, offsetof(struct wort_pool, field)); \
}									\
static DEVICE_ATTR_RO(name)

PROGRESS(check_records, check_records);
PROGRESS(rebuild_records, rebuild_records);
PROGRESS(zero_lines, zero_lines);

#define SPACE(name, field)						\
static ssize_t name##_show(struct device *dev,				\
			   struct device_attribute *attr, char *buf)	\
{									\
	struct wort_alloc_info info;					\
	int err = wort_dax_space(wdev_of(dev)->dax, &info);		\
									\
	return err ? err : emit_figure(buf, info.known ? info.field :	\
						WORT_UNKNOWN);		\
}									\
static DEVICE_ATTR_RO(name)

SPACE(used_bytes, used_bytes);
SPACE(free_bytes, free_bytes);

static ssize_t format_features_show(struct device *dev,
				    struct device_attribute *attr, char *buf)
{
	struct wort_pool_info_arg info;
	int err = pool_info(dev, &info);

	return err ? err : sysfs_emit(buf, "%#llx\n", info.out_incompat);
}
static DEVICE_ATTR_RO(format_features);

static struct attribute *wort_dev_attrs[] = {
	&dev_attr_uuid.attr,
	&dev_attr_label.attr,
	&dev_attr_device.attr,
	&dev_attr_pool_size.attr,
	&dev_attr_state.attr,
	&dev_attr_extent_size.attr,
	&dev_attr_flush.attr,
	&dev_attr_used_bytes.attr,
	&dev_attr_free_bytes.attr,
	&dev_attr_nr_indexes.attr,
	&dev_attr_nr_dying.attr,
	&dev_attr_nr_damaged.attr,
	&dev_attr_walk_indexes.attr,
	&dev_attr_walk_records.attr,
	&dev_attr_check_records.attr,
	&dev_attr_rebuild_records.attr,
	&dev_attr_attach_lines.attr,
	&dev_attr_zero_lines.attr,
	&dev_attr_atomic_batches.attr,
	&dev_attr_atomic_refused.attr,
	&dev_attr_atomic_waits.attr,
	&dev_attr_atomic_redone.attr,
	&dev_attr_atomic_left.attr,
	&dev_attr_atomic_damaged.attr,
	&dev_attr_format_features.attr,
	NULL
};

static const struct attribute_group wort_dev_group = {
	.attrs = wort_dev_attrs,
};

const struct attribute_group *wort_dev_groups[] = {
	&wort_dev_group,
	NULL
};

/* These stay as they are where udev encodes labels of file systems. */
static bool is_plain(u8 byte)
{
	return byte > 0x7f || isalnum(byte) || strchr("#+-.:=@_", byte);
}

/* Of a label rules make links: it holds no slash, no space, no newline. */
static void encode_label(const u8 *label, char text[4 * WORT_LABEL_LEN + 1])
{
	char *at = text;
	int i;

	for (i = 0; i < WORT_LABEL_LEN && label[i]; i++)
		if (is_plain(label[i]))
			*at++ = label[i];
		else
			at += sprintf(at, "\\x%02x", label[i]);
	*at = 0;
}

/**
 * wort_dev_uevent() - What every event of a pool's device says
 * @dev: The device.
 * @env: Its environment.
 *
 * Context: May sleep.
 * Return: 0 or -ENOMEM.
 */
int wort_dev_uevent(compat_uevent_device *dev, struct kobj_uevent_env *env)
{
	struct wort_dev *wdev = wdev_of(dev);
	char label[4 * WORT_LABEL_LEN + 1];
	char state[STATE_TEXT_LEN];
	int err;

	state_of(wdev, state);
	encode_label(wdev->label, label);
	err = add_uevent_var(env, "WORT_UUID=%pU", wdev->uuid);
	if (!err)
		err = add_uevent_var(env, "WORT_LABEL=%s", label);
	if (!err)
		err = add_uevent_var(env, "WORT_DEVICE=%s", wdev->dax->name);
	if (!err)
		err = add_uevent_var(env, "WORT_STATE=%s", state);
	return err;
}

/**
 * wort_dev_wake() - Wake whoever waits for another state
 * @wdev: The device, added and not deleted.
 *
 * Context: May sleep.
 */
void wort_dev_wake(struct wort_dev *wdev)
{
	sysfs_notify(&wdev->dev.kobj, NULL, "state");
}

/**
 * wort_dev_announce() - Tell whoever listens that the state has changed
 * @wdev: The device, added and not deleted.
 *
 * Context: May sleep.
 */
void wort_dev_announce(struct wort_dev *wdev)
{
	wort_dev_wake(wdev);
	kobject_uevent(&wdev->dev.kobj, KOBJ_CHANGE);
}
