// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hibernation: the kernel saves its memory and restores it later.  Persistent
 * memory is not saved, and another system can change it meanwhile.
 *
 * The restored system does not know what was stored after the snapshot: it
 * would, for example, use an extent that reclaim has given back.  Therefore
 * each pool is suspended before the snapshot, when no task runs, and resumes in
 * the restored system, before any task runs:
 *
 *	freeze		operations under way end, new ones wait, background work pauses
 *	(snapshot)
 *	thaw		the system is about to power off: its pools stay suspended
 *	restore		the restored system: a pool that another system has changed is
 *			lost, the others resume
 *
 * If hibernation fails, no device is restored: the notifier at its end resumes
 * the pools.  The notifier at its beginning would be too early to suspend them,
 * because the kernel syncs filesystems after it, and these can keep their
 * metadata in a pool.
 */
#include <linux/device.h>
#include <linux/notifier.h>
#include <linux/pm.h>
#include <linux/suspend.h>

#include "wort_dev.h"

/* From the notifier at the beginning of hibernation to the one at its end. */
static bool hibernating;

static struct wort_dax *dax_of(struct device *dev)
{
	return container_of(dev, struct wort_dev, dev)->dax;
}

static int freeze(struct device *dev)
{
	int err = wort_dax_suspend(dax_of(dev));

	if (err)
		dev_err(dev, "operations under way do not end: the machine cannot hibernate now\n");
	return err;
}

/*
 * Xen freezes and thaws a machine without hibernation, and calls no notifier.
 */
static int thaw(struct device *dev)
{
	if (!hibernating)
		wort_dax_resume(dax_of(dev));
	return 0;
}

static int restore(struct device *dev)
{
	wort_dax_resume(dax_of(dev));
	return 0;
}

const struct dev_pm_ops wort_dev_pm = {
	.freeze = freeze,
	.thaw = thaw,
	.restore = restore,
};

static int notify(struct notifier_block *block, unsigned long event,
		  void *unused)
{
	switch (event) {
	case PM_HIBERNATION_PREPARE:
	case PM_RESTORE_PREPARE:
		hibernating = true;
		break;
	case PM_POST_HIBERNATION:
	case PM_POST_RESTORE:
		hibernating = false;
		wort_dax_resume_all();
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block notifier = {
	.notifier_call = notify,
};

/**
 * wort_pm_init() - Register the notifier of hibernation
 *
 * Context: May sleep.
 * Return: 0 or an error of register_pm_notifier().
 */
int wort_pm_init(void)
{
	return register_pm_notifier(&notifier);
}

/**
 * wort_pm_exit() - Unregister the notifier of hibernation
 *
 * Context: May sleep.
 */
void wort_pm_exit(void)
{
	unregister_pm_notifier(&notifier);
}
