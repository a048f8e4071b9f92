// SPDX-License-Identifier: GPL-2.0-only
/*
 * The module, its class, /dev/wort-control, and the table of attached pools.
 */
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/pm.h>
#include <linux/slab.h>
#include <linux/uuid.h>
#include <linux/xarray.h>

#include <trace/events/wort.h>

#include "../pool/gate.h"
#include "wort_dev.h"

#define NR_MINORS	(MINORMASK + 1)

/*
 * Operations forget the gates when no atomic batch has come for once or twice
 * this time.
 */
unsigned int wort_gates_rest_ms = 30000;

/* Attached pools by minor; a pool stays there until its node is gone. */
static DEFINE_XARRAY_ALLOC(wort_devs);
static DEFINE_MUTEX(wort_devs_lock);
static dev_t first_devt;

static struct class wort_class = {
	.name = "wort",
	.dev_groups = wort_dev_groups,
	.dev_uevent = wort_dev_uevent,
	.pm = pm_sleep_ptr(&wort_dev_pm),
};

static void wort_dev_free(struct device *dev)
{
	struct wort_dev *wdev = container_of(dev, struct wort_dev, dev);

	if (wdev->dax)
		wort_dax_free(wdev->dax);
	kfree(wdev);
}

static u32 state_of(struct wort_dev *wdev, u32 *nr_damaged)
{
	u32 state;

	*nr_damaged = 0;
	if (!wort_dax_enter(wdev->dax))
		return WORT_STATE_DEAD;
	state = wort_pool_state(wdev->dax->pool);
	*nr_damaged = atomic_read(&wdev->dax->pool->nr_damaged);
	wort_dax_exit(wdev->dax);
	return state;
}

/*
 * A detach that has begun makes the pool look dead, and is told by the end of
 * the device; before the device is there, its pool may not be, either.
 * Changes in quick succession are told as one.
 */
static void tell_state(struct work_struct *work)
{
	struct wort_dev *wdev = container_of(work, struct wort_dev, changed);
	u32 state, nr_damaged;

	mutex_lock(&wort_devs_lock);
	if (!wdev->added || wdev->detaching)
		goto out;
	state = state_of(wdev, &nr_damaged);
	if (state != wdev->told || nr_damaged != wdev->told_damaged) {
		wdev->told = state;
		wdev->told_damaged = nr_damaged;
		wort_dev_announce(wdev);
	}
out:
	mutex_unlock(&wort_devs_lock);
}

static void rest_later(struct wort_dev *wdev)
{
	if (!delayed_work_pending(&wdev->rest))
		schedule_delayed_work(&wdev->rest,
				      msecs_to_jiffies(wort_gates_rest_ms));
}

static void rest_gates(struct work_struct *work)
{
	struct wort_dev *wdev = container_of(to_delayed_work(work),
					     struct wort_dev, rest);

	if (wort_gates_rest(wdev->dax->pool))
		rest_later(wdev);
}

static struct wort_dev *wort_dev_alloc(void)
{
	struct wort_dev *wdev = kzalloc(sizeof(*wdev), GFP_KERNEL);

	if (!wdev)
		return NULL;
	device_initialize(&wdev->dev);
	wdev->dev.class = &wort_class;
	wdev->dev.release = wort_dev_free;
	INIT_WORK(&wdev->changed, tell_state);
	INIT_DELAYED_WORK(&wdev->rest, rest_gates);
	cdev_init(&wdev->cdev, &wort_pool_fops);
	wdev->cdev.owner = THIS_MODULE;
	return wdev;
}

static void explain(const struct wort_dax *dax, int err)
{
	if (err == -ENODATA)
		pr_err_ratelimited("%s: there is no pool: format the device first\n",
				   dax->name);
	else if (err && err != -EPROTONOSUPPORT && err != -EOVERFLOW)
		pr_err_ratelimited("%s: the pool cannot be attached (%d)\n",
				   dax->name, err);
}

static unsigned long spare_pages(void *data)
{
	return wort_pool_spare_bytes(data) >> PAGE_SHIFT;
}

static unsigned long free_pages_of(void *data, unsigned long nr)
{
	return wort_pool_shrink(data, nr << PAGE_SHIFT) >> PAGE_SHIFT;
}

static const struct compat_shrinker_ops shrinker_ops = {
	.count = spare_pages,
	.free = free_pages_of,
};

static int attach_pool(struct wort_dev *wdev, u32 flags)
{
	struct wort_dax *dax = wdev->dax;
	struct wort_pool *pool;
	int err = 0;

	if (!wort_dax_enter(dax))
		return -ENODEV;
	dax->region.mcsafe = flags & WORT_ATTACH_F_MCSAFE;
	if (flags & WORT_ATTACH_F_GROW)
		err = wort_pool_grow(&dax->region);
	if (!err)
		err = wort_pool_attach(&dax->region, &pool);
	if (!err) {
		wdev->pool_size = le64_to_cpu(pool->sb.pool_size);
		memcpy(wdev->uuid, pool->sb.uuid, sizeof(wdev->uuid));
		memcpy(wdev->label, pool->sb.label, sizeof(wdev->label));
		WRITE_ONCE(dax->changed, &wdev->changed);
		WRITE_ONCE(pool->notify, wort_dax_pool_changed);
		wort_dax_serve(dax, pool);
		/*
		 * Lists of batches that were left behind have turned the gates
		 * on.
		 */
		rest_later(wdev);
		/* Without it the pool keeps its DRAM. */
		wdev->shrinker = compat_shrinker_add(dax->name, &shrinker_ops,
						     pool);
	}
	wort_dax_exit(dax);
	explain(dax, err);
	return err;
}

/* Another attached pool with a label; NULL, also for an empty one. */
static struct wort_dev *find_label(const u8 *label, const struct wort_dev *but)
{
	struct wort_dev *wdev;
	unsigned long minor;

	lockdep_assert_held(&wort_devs_lock);
	xa_for_each(&wort_devs, minor, wdev)
		if (*label && wdev != but && !wdev->detaching &&
		    !memcmp(wdev->label, label, WORT_LABEL_LEN))
			return wdev;
	return NULL;
}

/*
 * A label need not be unique.  One that two pools have names neither of them.
 */
static void warn_of_label(const struct wort_dev *wdev)
{
	const struct wort_dev *other = find_label(wdev->label, wdev);

	if (other)
		dev_warn(&wdev->dev, "wort%u has the same label: neither can be named by it\n",
			 other->minor);
}

/**
 * wort_dev_warn_of_label() - Say that an attached pool has the label of a new one
 * @name: Name of the block device of the new one, which is not attached.
 * @label: Its label.
 *
 * Context: May sleep.
 */
void wort_dev_warn_of_label(const char *name, const u8 *label)
{
	const struct wort_dev *other;

	mutex_lock(&wort_devs_lock);
	other = find_label(label, NULL);
	if (other)
		pr_warn("%s: wort%u has the same label: when both are attached, neither can be named by it\n",
			name, other->minor);
	mutex_unlock(&wort_devs_lock);
}

/* As soon as the lock is dropped, somebody may have detached and freed it. */
static int add_node(struct wort_dev *wdev, u32 *minor)
{
	int err;

	mutex_lock(&wort_devs_lock);
	err = xa_alloc(&wort_devs, &wdev->minor, wdev,
		       XA_LIMIT(0, NR_MINORS - 1), GFP_KERNEL);
	if (err)
		goto out;
	wdev->dev.devt = MKDEV(MAJOR(first_devt), wdev->minor);
	/* What changes from here on is told after the device is there. */
	wdev->told = state_of(wdev, &wdev->told_damaged);
	err = dev_set_name(&wdev->dev, "wort%u", wdev->minor);
	if (!err)
		err = cdev_device_add(&wdev->cdev, &wdev->dev);
	if (err) {
		xa_erase(&wort_devs, wdev->minor);
		goto out;
	}
	wdev->added = true;
	WRITE_ONCE(wdev->dax->pool->suspendable, true);
	*minor = wdev->minor;
	dev_info(&wdev->dev, "attached %s%s\n", wdev->dax->name,
		 wdev->dax->pool->readonly ? " read-only" : "");
	warn_of_label(wdev);
	trace_wort_attach(wdev->dax->region.dev, wdev->minor, wdev->uuid,
			  wdev->dax->pool->attach_lines);
out:
	mutex_unlock(&wort_devs_lock);
	return err;
}

/*
 * After the first step nobody uses the pool and no callback knows of it: so
 * nobody queues the work any more once the pool is detached.
 */
static void stop_serving(struct wort_dev *wdev)
{
	struct wort_dax *dax = wdev->dax;

	wort_dax_release(dax);
	compat_shrinker_remove(wdev->shrinker);
	cancel_delayed_work_sync(&wdev->rest);
	if (dax->pool)
		wort_pool_detach(dax->pool);
	dax->pool = NULL;
	cancel_work_sync(&wdev->changed);
}

/**
 * wort_dev_atomic() - Carry out an atomic batch
 * @wdev: The device, whose pool is in use.
 * @batch: As for wort_pool_atomic().
 *
 * Context: As wort_pool_atomic().
 * Return: As wort_pool_atomic().
 */
int wort_dev_atomic(struct wort_dev *wdev, struct wort_atomic *batch)
{
	int err = wort_pool_atomic(wdev->dax->pool, batch);

	rest_later(wdev);
	return err;
}

/**
 * wort_dev_attach() - Take a block device and serve its pool
 * @path: Path of the device.
 * @flags: WORT_ATTACH_F_*.
 * @minor: The pool is /dev/wort<minor>.
 *
 * Context: May sleep.
 * Return: 0; what wort_dax_claim(), wort_pool_grow() and wort_pool_attach()
 * return; -ENODEV if the memory went away.
 */
int wort_dev_attach(const char *path, u32 flags, u32 *minor)
{
	struct wort_dev *wdev = wort_dev_alloc();
	int err;

	if (!wdev)
		return -ENOMEM;
	err = wort_dax_claim(path, flags & WORT_ATTACH_F_RDONLY, &wdev->dax);
	if (err)
		goto out_put;
	__module_get(THIS_MODULE);
	err = attach_pool(wdev, flags);
	if (!err)
		err = add_node(wdev, minor);
	if (err)
		goto out_stop;
	return 0;

out_stop:
	stop_serving(wdev);
	module_put(THIS_MODULE);
out_put:
	put_device(&wdev->dev);
	return err;
}

static struct wort_dev *take_for_detach(u32 minor)
{
	struct wort_dev *wdev;

	mutex_lock(&wort_devs_lock);
	wdev = xa_load(&wort_devs, minor);
	if (wdev && wdev->detaching)
		wdev = NULL;
	if (wdev)
		WRITE_ONCE(wdev->detaching, true);
	mutex_unlock(&wort_devs_lock);
	return wdev;
}

/**
 * wort_dev_detach() - Stop serving a pool
 * @minor: Number of the pool.
 *
 * Operations under way are waited for.  Open files answer -ENODEV from then on
 * and keep only the struct of the device.
 *
 * Context: May sleep.
 * Return: 0; -ENOENT if there is no such pool.
 */
int wort_dev_detach(u32 minor)
{
	struct wort_dev *wdev = take_for_detach(minor);

	if (!wdev)
		return -ENOENT;
	stop_serving(wdev);
	dev_info(&wdev->dev, "detached %s\n", wdev->dax->name);
	trace_wort_detach(wdev->dax->region.dev, minor);
	/* The end of a file wakes nobody who sleeps on it. */
	wort_dev_wake(wdev);
	cdev_device_del(&wdev->cdev, &wdev->dev);
	mutex_lock(&wort_devs_lock);
	xa_erase(&wort_devs, minor);
	mutex_unlock(&wort_devs_lock);
	put_device(&wdev->dev);
	module_put(THIS_MODULE);
	return 0;
}

static bool is_named(const struct wort_dev *wdev, const char *name)
{
	uuid_t uuid;
	u32 minor;

	if (!kstrtou32(name, 10, &minor))
		return wdev->minor == minor;
	if (!uuid_parse(name, &uuid))
		return !memcmp(wdev->uuid, &uuid, sizeof(uuid));
	return !strcmp(wdev->dax->name, name);
}

/**
 * wort_dev_find() - Find an attached pool whose device is there
 * @name: Its number, the name of its block device, or its UUID.
 *
 * Context: May sleep.
 * Return: Its device, on which a reference was taken; NULL if there is none.
 */
struct wort_dev *wort_dev_find(const char *name)
{
	struct wort_dev *wdev;
	unsigned long minor;

	mutex_lock(&wort_devs_lock);
	xa_for_each(&wort_devs, minor, wdev) {
		if (wdev->detaching || wort_dax_dead(wdev->dax) ||
		    !is_named(wdev, name))
			continue;
		get_device(&wdev->dev);
		break;
	}
	mutex_unlock(&wort_devs_lock);
	return wdev;
}

/**
 * wort_dev_state() - The state of a pool
 * @wdev: Its device.
 *
 * Waits while the machine hibernates.
 *
 * Context: May sleep.
 * Return: WORT_STATE_*; WORT_STATE_DEAD alone if the device is gone, or the
 * pool is being detached.
 */
u32 wort_dev_state(struct wort_dev *wdev)
{
	u32 nr_damaged;

	return state_of(wdev, &nr_damaged);
}

static void describe(struct wort_dev *wdev, struct wort_pool_record *record)
{
	memset(record, 0, sizeof(*record));
	record->minor = wdev->minor;
	record->state = wort_dev_state(wdev);
	record->pool_size = wdev->pool_size;
	memcpy(record->uuid, wdev->uuid, sizeof(record->uuid));
	memcpy(record->label, wdev->label, sizeof(record->label));
	memcpy(record->device, wdev->dax->name, sizeof(record->device));
}

/**
 * wort_dev_list() - Describe attached pools
 * @start: Smallest minor wanted.
 * @records: Filled in, in the order of minors.
 * @max: Records that fit.
 * @more: There are further pools.
 *
 * Context: May sleep.
 * Return: Number of records.
 */
u32 wort_dev_list(u32 start, struct wort_pool_record *records, u32 max,
		  bool *more)
{
	struct wort_dev *wdev;
	unsigned long minor;
	u32 n = 0;

	*more = false;
	mutex_lock(&wort_devs_lock);
	xa_for_each_start(&wort_devs, minor, wdev, start) {
		if (wdev->detaching)
			continue;
		if (n == max) {
			*more = true;
			break;
		}
		describe(wdev, &records[n++]);
	}
	mutex_unlock(&wort_devs_lock);
	return n;
}

static const struct file_operations control_fops = {
	.owner		= THIS_MODULE,
	.unlocked_ioctl	= wort_ioctl_control,
	.compat_ioctl	= compat_ptr_ioctl,
	.llseek		= noop_llseek,
};

static struct miscdevice control = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "wort-control",
	.fops	= &control_fops,
	.mode	= 0600,
};

static int __init wort_init(void)
{
	int err;

	wort_layout_verify();
	err = class_register(&wort_class);
	if (err)
		return err;
	err = alloc_chrdev_region(&first_devt, 0, NR_MINORS, "wort");
	if (err)
		goto out_class;
	err = wort_pm_init();
	if (err)
		goto out_chrdev;
	err = misc_register(&control);
	if (err)
		goto out_pm;
	wort_powercut_fs_init();
	return 0;

out_pm:
	wort_pm_exit();
out_chrdev:
	unregister_chrdev_region(first_devt, NR_MINORS);
out_class:
	class_unregister(&wort_class);
	return err;
}

/* Neither a pool nor a file is left: each of them holds the module. */
static void __exit wort_exit(void)
{
	misc_deregister(&control);
	wort_pm_exit();
	unregister_chrdev_region(first_devt, NR_MINORS);
	class_unregister(&wort_class);
	xa_destroy(&wort_devs);
	wort_dax_module_exit();
	wort_powercut_fs_exit();
}

module_init(wort_init);
module_exit(wort_exit);

MODULE_DESCRIPTION("Crash-proof ordered indexes on persistent memory");
MODULE_AUTHOR("The wort authors");
MODULE_LICENSE("GPL");
