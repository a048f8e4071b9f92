// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hibernation: the memory of the machine is saved and comes back later, persistent
 * memory is not saved and may have changed.
 *
 * What is stored between the snapshot and the power-off is unknown to the system that
 * comes back: it would, for example, believe in an extent that reclaim has given back.
 * So pools are suspended before the snapshot, when no task runs any more, and go on
 * in the system that comes back, before any task runs:
 *
 *	freeze		operations under way end, new ones wait, background work pauses
 *	(snapshot)
 *	thaw		a system that is about to power off: the pools stay suspended
 *	restore		the system that came back: a pool to which somebody else has
 *			stored is lost, others go on
 *
 * If hibernation fails nobody restores: then the pools go on at its end, which
 * notifiers are told of.  To suspend pools at its beginning would be too early: the
 * kernel syncs filesystems after that, which may keep their metadata in a pool.
 */
#include <linux/device.h>
#include <linux/notifier.h>
#include <linux/pm.h>
#include <linux/suspend.h>

#include "wort_dev.h"

/* Between the beginning and the end of hibernation, as notifiers are told. */
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

/* Hypervisors freeze and thaw a machine without hibernation. */
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

static int notify(struct notifier_block *block, unsigned long event, void *unused)
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
 * wort_pm_init() - Be told of hibernation
 *
 * Context: May sleep.
 * Return: 0 or an error of register_pm_notifier().
 */
int wort_pm_init(void)
{
	return register_pm_notifier(&notifier);
}

/**
 * wort_pm_exit() - Be told of hibernation no more
 *
 * Context: May sleep.
 */
void wort_pm_exit(void)
{
	unregister_pm_notifier(&notifier);
}
