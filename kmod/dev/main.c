// SPDX-License-Identifier: GPL-2.0-only
/*
 * The module, its class, /dev/wort-control, and the table of attached pools.
 */
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include "wort_dev.h"

#define NR_MINORS	(MINORMASK + 1)

/* Attached pools by minor; a pool stays there until its node is gone. */
static DEFINE_XARRAY_ALLOC(wort_devs);
static DEFINE_MUTEX(wort_devs_lock);
static dev_t first_devt;

static struct class wort_class = {
	.name = "wort",
};

static void wort_dev_free(struct device *dev)
{
	struct wort_dev *wdev = container_of(dev, struct wort_dev, dev);

	if (wdev->dax)
		wort_dax_free(wdev->dax);
	kfree(wdev);
}

static struct wort_dev *wort_dev_alloc(void)
{
	struct wort_dev *wdev = kzalloc(sizeof(*wdev), GFP_KERNEL);

	if (!wdev)
		return NULL;
	device_initialize(&wdev->dev);
	wdev->dev.class = &wort_class;
	wdev->dev.release = wort_dev_free;
	cdev_init(&wdev->cdev, &wort_pool_fops);
	wdev->cdev.owner = THIS_MODULE;
	return wdev;
}

static void explain(const struct wort_dax *dax, int err)
{
	if (err == -ENODATA)
		pr_err_ratelimited("%s: there is no pool: format the device first\n",
				   dax->name);
	else if (err == -EPROTONOSUPPORT)
		pr_err_ratelimited("%s: the pool has a version or feature that this module does not know: take a newer one\n",
				   dax->name);
	else if (err)
		pr_err_ratelimited("%s: the pool cannot be attached (%d)\n",
				   dax->name, err);
}

static int attach_pool(struct wort_dev *wdev)
{
	struct wort_dax *dax = wdev->dax;
	struct wort_pool *pool;
	int err;

	if (!wort_dax_enter(dax))
		return -ENODEV;
	err = wort_pool_attach(&dax->region, &pool);
	if (!err) {
		wdev->pool_size = le64_to_cpu(pool->sb.pool_size);
		memcpy(wdev->uuid, pool->sb.uuid, sizeof(wdev->uuid));
		memcpy(wdev->label, pool->sb.label, sizeof(wdev->label));
		/* A removal that waits for us will find it. */
		WRITE_ONCE(dax->pool, pool);
	}
	wort_dax_exit(dax);
	explain(dax, err);
	return err;
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
	err = dev_set_name(&wdev->dev, "wort%u", wdev->minor);
	if (!err)
		err = cdev_device_add(&wdev->cdev, &wdev->dev);
	if (err) {
		xa_erase(&wort_devs, wdev->minor);
		goto out;
	}
	*minor = wdev->minor;
	dev_info(&wdev->dev, "attached %s%s\n", wdev->dax->name,
		 wdev->dax->pool->readonly ? " read-only" : "");
out:
	mutex_unlock(&wort_devs_lock);
	return err;
}

/* After the first step nobody uses the pool and no callback knows of it. */
static void stop_serving(struct wort_dev *wdev)
{
	struct wort_dax *dax = wdev->dax;

	wort_dax_release(dax);
	if (dax->pool)
		wort_pool_detach(dax->pool);
	dax->pool = NULL;
}

/**
 * wort_dev_attach() - Take a block device and serve its pool
 * @path: Path of the device.
 * @readonly: Nothing is stored to it.
 * @minor: The pool is /dev/wort<minor>.
 *
 * Context: May sleep.
 * Return: 0; what wort_dax_claim() and wort_pool_attach() return; -ENODEV if
 * the memory went away.
 */
int wort_dev_attach(const char *path, bool readonly, u32 *minor)
{
	struct wort_dev *wdev = wort_dev_alloc();
	int err;

	if (!wdev)
		return -ENOMEM;
	err = wort_dax_claim(path, readonly, &wdev->dax);
	if (err)
		goto out_put;
	__module_get(THIS_MODULE);
	err = attach_pool(wdev);
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
		wdev->detaching = true;
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
	cdev_device_del(&wdev->cdev, &wdev->dev);
	mutex_lock(&wort_devs_lock);
	xa_erase(&wort_devs, minor);
	mutex_unlock(&wort_devs_lock);
	put_device(&wdev->dev);
	module_put(THIS_MODULE);
	return 0;
}

static u32 state_of(struct wort_dev *wdev)
{
	struct wort_pool *pool = wdev->dax->pool;
	u32 state;

	if (!wort_dax_enter(wdev->dax))
		return WORT_STATE_DEAD;
	state = wort_pool_state(pool);
	wort_dax_exit(wdev->dax);
	return state;
}

static void describe(struct wort_dev *wdev, struct wort_pool_record *record)
{
	memset(record, 0, sizeof(*record));
	record->minor = wdev->minor;
	record->state = state_of(wdev);
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
	err = misc_register(&control);
	if (err)
		goto out_chrdev;
	return 0;

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
	unregister_chrdev_region(first_devt, NR_MINORS);
	class_unregister(&wort_class);
	xa_destroy(&wort_devs);
	wort_dax_module_exit();
}

module_init(wort_init);
module_exit(wort_exit);

MODULE_DESCRIPTION("Crash-proof ordered indexes on persistent memory");
MODULE_AUTHOR("The wort authors");
MODULE_LICENSE("GPL");
