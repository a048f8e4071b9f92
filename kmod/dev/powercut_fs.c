// SPDX-License-Identifier: GPL-2.0-only
/*
 * Simulated power cuts in debugfs, for tests:
 *
 *	wort/powercut/arm	write EVENT, or "off"
 *	wort/powercut/status	read "STATE EVENTS SIZE DIRTY"
 *	wort/powercut/seed	write SEED
 *	wort/powercut/image	read what the media may hold, by the seed
 *
 * A simulation takes the next device that is claimed, for format or attach,
 * and goes on when that is released and claimed again.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "../core/powercut.h"
#include "wort_dev.h"

static struct dentry *top;
static u64 seed;
static DEFINE_MUTEX(lock);		/* arms, disarms, reads the image */

static const char *const state_names[] = {
	[WORT_POWERCUT_OFF] = "off",
	[WORT_POWERCUT_ARMED] = "armed",
	[WORT_POWERCUT_RUNNING] = "running",
	[WORT_POWERCUT_CUT] = "cut",
	[WORT_POWERCUT_FAILED] = "failed",
};

static int arm(const char *text)
{
	unsigned long long event;
	int err;

	if (sysfs_streq(text, "off")) {
		wort_powercut_disarm();
		return 0;
	}
	err = kstrtoull(text, 0, &event);
	return err ? err : wort_powercut_arm(event);
}

static ssize_t arm_write(struct file *filp, const char __user *ubuf,
			 size_t len, loff_t *pos)
{
	char text[24];
	int err;

	if (len >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, ubuf, len))
		return -EFAULT;
	text[len] = 0;
	mutex_lock(&lock);
	err = arm(text);
	mutex_unlock(&lock);
	return err ? err : len;
}

static const struct file_operations arm_fops = {
	.owner	= THIS_MODULE,
	.open	= simple_open,
	.write	= arm_write,
	.llseek	= noop_llseek,
};

static ssize_t status_read(struct file *filp, char __user *ubuf, size_t len,
			   loff_t *pos)
{
	struct wort_powercut_status status;
	char text[96];
	int n;

	wort_powercut_status(&status);
	n = scnprintf(text, sizeof(text), "%s %llu %llu %u\n",
		      state_names[status.state], status.events, status.size,
		      status.dirty);
	return simple_read_from_buffer(ubuf, len, pos, text, n);
}

static const struct file_operations status_fops = {
	.owner	= THIS_MODULE,
	.open	= simple_open,
	.read	= status_read,
	.llseek	= default_llseek,
};

static ssize_t image_read(struct file *filp, char __user *ubuf, size_t len,
			  loff_t *pos)
{
	void *buf;
	ssize_t n;

	len = min_t(size_t, len, SZ_1M);
	if (len % WORT_LINE || *pos % WORT_LINE)
		return -EINVAL;
	buf = kvmalloc(len, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	mutex_lock(&lock);
	n = wort_powercut_image(seed, buf, len, *pos);
	mutex_unlock(&lock);
	if (copy_to_user(ubuf, buf, n))
		n = -EFAULT;
	else
		*pos += n;
	kvfree(buf);
	return n;
}

static const struct file_operations image_fops = {
	.owner	= THIS_MODULE,
	.open	= simple_open,
	.read	= image_read,
	.llseek	= default_llseek,
};

/**
 * wort_powercut_fs_init() - Make the files
 *
 * Context: May sleep.
 */
void wort_powercut_fs_init(void)
{
	struct dentry *folder;

	top = debugfs_create_dir("wort", NULL);
	folder = debugfs_create_dir("powercut", top);
	debugfs_create_file("arm", 0200, folder, NULL, &arm_fops);
	debugfs_create_file("status", 0400, folder, NULL, &status_fops);
	debugfs_create_u64("seed", 0600, folder, &seed);
	debugfs_create_file("image", 0400, folder, NULL, &image_fops);
}

/**
 * wort_powercut_fs_exit() - Remove them
 *
 * Context: May sleep.  No device is claimed any more.
 */
void wort_powercut_fs_exit(void)
{
	debugfs_remove(top);
	wort_powercut_disarm();
}
