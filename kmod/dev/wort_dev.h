/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The devices of the module.
 *
 * Who keeps what alive:
 *
 *	an open file	holds the struct of its pool's device, and the module
 *	a device	holds the struct of its claim; an attached pool holds
 *			the module, too
 *	a claim		holds the block device, its memory and the pool until
 *			detach, which ends all of these however many files
 *			are open: they answer ENODEV
 *
 * The memory is touched between wort_dax_enter() and wort_dax_exit(), and by
 * the background work of the pool, nowhere else.
 *
 * Lock order: wort_devs_lock; the lock over claims; those of the pool.
 */
#ifndef _WORT_DEV_H
#define _WORT_DEV_H

#include <linux/cdev.h>
#include <linux/completion.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/percpu-refcount.h>

#include "../pool/pool.h"

#define WORT_BDEV_NAME_LEN	32

struct dax_device;

/**
 * struct wort_dax - A block device that we claimed for its memory
 * @region: the memory
 * @opened: the block device, NULL once it was released
 * @dev: the DAX device beneath
 * @start: where the block device starts on it
 * @bad: pages known to be bad; the region refers to it as soon as there is one
 * @pool: the pool on it, while it is attached
 * @users: whoever touches the memory
 * @idle: completed when nobody does and nobody will
 * @killed: somebody saw to that already
 * @list: in the list of claims
 * @name: name of the block device
 */
struct wort_dax {
	struct wort_region region;
	struct compat_bdev *opened;
	struct dax_device *dev;
	u64 start;
	unsigned long *bad;
	struct wort_pool *pool;
	struct percpu_ref users;
	struct completion idle;
	atomic_t killed;
	struct list_head list;
	char name[WORT_BDEV_NAME_LEN];
};

/**
 * struct wort_dev - /dev/wortN
 * @dev: in the class "wort"; the struct is freed when it is released
 * @cdev: its node
 * @dax: its memory and pool
 * @minor: N
 * @detaching: somebody detaches it; under wort_devs_lock
 * @pool_size: bytes of the device in use
 * @uuid: identity of the pool
 * @label: name for people
 */
struct wort_dev {
	struct device dev;
	struct cdev cdev;
	struct wort_dax *dax;
	u32 minor;
	bool detaching;
	u64 pool_size;
	u8 uuid[WORT_UUID_LEN];
	u8 label[WORT_LABEL_LEN];
};

/**
 * struct wort_file - An open descriptor of a pool or an index
 * @wdev: the device, held
 * @index: the index, held; NULL: the descriptor is of the pool
 */
struct wort_file {
	struct wort_dev *wdev;
	struct wort_index *index;
};

/* dax.c */
int wort_dax_claim(const char *path, bool readonly, struct wort_dax **out);
bool wort_dax_enter(struct wort_dax *dax);
void wort_dax_exit(struct wort_dax *dax);
bool wort_dax_dead(struct wort_dax *dax);
void wort_dax_release(struct wort_dax *dax);
void wort_dax_free(struct wort_dax *dax);
void wort_dax_module_exit(void);

/* format.c */
int wort_dev_format(const char *path, const struct wort_format_arg *arg);

/* main.c */
int wort_dev_attach(const char *path, bool readonly, u32 *minor);
int wort_dev_detach(u32 minor);
u32 wort_dev_list(u32 start, struct wort_pool_record *records, u32 max,
		  bool *more);

/* cdev.c */
extern const struct file_operations wort_pool_fops;
struct wort_file *wort_file_alloc(struct wort_dev *wdev,
				  struct wort_index *index);
void wort_file_free(struct wort_file *wfile);
int wort_file_release(struct inode *inode, struct file *filp);

/* ioctl.c */
long wort_ioctl_control(struct file *filp, unsigned int cmd, unsigned long arg);
long wort_ioctl_pool(struct file *filp, unsigned int cmd, unsigned long arg);
long wort_ioctl_index(struct file *filp, unsigned int cmd, unsigned long arg);

/* layout.c */
void wort_layout_verify(void);

#endif /* _WORT_DEV_H */
