/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The devices of the module.
 *
 * References:
 *
 *	a mapping	holds its file
 *	an open file	holds the struct of its pool's device, and the module; so
 *			does a handle of other kernel code
 *	a device	holds the struct of its claim; an attached pool holds
 *			the module, too
 *	a claim		holds the block device, its memory and the pool until
 *			detach, which ends all of these even if files are
 *			open: calls on them return ENODEV
 *	queued work	holds nothing: detach waits for it, after the last
 *			callback that could queue it
 *
 * The memory is only accessed between wort_dax_enter() and wort_dax_exit(), by
 * the background work of the pool, and by programs that have it mapped.
 *
 * Lock order: wort_devs_lock; the lock over claims; wort_dax.gate_lock;
 * wort_dax.mapped_lock; those of the pool.  wort_dax.mapped_lock comes after
 * mmap_lock, too.
 */
#ifndef _WORT_DEV_H
#define _WORT_DEV_H

#include <linux/cdev.h>
#include <linux/completion.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/percpu-refcount.h>
#include <linux/workqueue.h>

#include "../pool/pool.h"
#include "file.h"

#define WORT_BDEV_NAME_LEN	32

#define WORT_CONTROL_PAGES						\
	DIV_ROUND_UP(sizeof(struct wort_map_control), PAGE_SIZE)

struct dax_device;

/**
 * struct wort_dax - A block device that the module has claimed for its memory
 * @region: the memory
 * @opened: the block device, NULL once it was released
 * @dev: the DAX device beneath
 * @start: where the block device starts on it
 * @pool: the pool on it, while it is attached
 * @mapped: descriptors that were mapped
 * @mapped_lock: protects @mapped
 * @control: pages of wort_locks.control, held; NULL before there is a pool
 * @users: references of operations that access the memory
 * @idle: completed when the last of @users is gone and no more can come
 * @killed: the memory is gone, or the pool is being detached
 * @suspended: the machine hibernates: the memory must not be accessed
 * @gate_lock: protects @killed, @suspended and the state of @users
 * @gate: woken when @killed or @suspended changes
 * @changed: queued when the state of the pool changes; or NULL
 * @list: in the list of claims
 * @name: name of the block device
 */
struct wort_dax {
	struct wort_region region;
	struct compat_bdev *opened;
	struct dax_device *dev;
	u64 start;
	struct wort_pool *pool;
	struct list_head mapped;
	struct mutex mapped_lock;	/* mapped */
	struct page *control[WORT_CONTROL_PAGES];
	struct percpu_ref users;
	struct completion idle;
	bool killed;
	bool suspended;
	struct mutex gate_lock;		/* killed, suspended, state of users */
	wait_queue_head_t gate;
	struct work_struct *changed;
	struct list_head list;
	char name[WORT_BDEV_NAME_LEN];
};

/**
 * struct wort_dev - /dev/wortN
 * @dev: in the class "wort"; the struct is freed when it is released
 * @cdev: its node
 * @dax: its memory and pool
 * @minor: N
 * @added: its node exists; under wort_devs_lock
 * @detaching: a detach has begun; set under wort_devs_lock
 * @told: the state of the last event, WORT_STATE_*; under wort_devs_lock
 * @told_damaged: the number of damaged indexes of the last event; likewise
 * @changed: sends an event if the state has changed
 * @rest: takes the gates away when no atomic batch has come for a while
 * @shrinker: asks its pool for memory; or an error
 * @pool_size: bytes of the device in use
 * @uuid: identity of the pool
 * @label: name for people
 */
struct wort_dev {
	struct device dev;
	struct cdev cdev;
	struct wort_dax *dax;
	u32 minor;
	bool added;
	bool detaching;
	u32 told;
	u32 told_damaged;
	struct work_struct changed;
	struct delayed_work rest;
	struct compat_shrinker *shrinker;
	u64 pool_size;
	u8 uuid[WORT_UUID_LEN];
	u8 label[WORT_LABEL_LEN];
};

/* dax.c */
int wort_dax_claim(const char *path, bool readonly, struct wort_dax **out);
bool wort_dax_enter(struct wort_dax *dax);
int wort_dax_try_enter(struct wort_dax *dax);
void wort_dax_exit(struct wort_dax *dax);
bool wort_dax_dead(struct wort_dax *dax);
int wort_dax_space(struct wort_dax *dax, struct wort_alloc_info *info);
int wort_dax_suspend(struct wort_dax *dax);
void wort_dax_resume(struct wort_dax *dax);
void wort_dax_resume_all(void);
bool wort_dax_pfn(struct wort_dax *dax, u64 off, long nr, unsigned long *pfn);
int wort_dax_learn_bad(struct wort_dax *dax);
void wort_dax_serve(struct wort_dax *dax, struct wort_pool *pool);
void wort_dax_pool_changed(struct wort_pool *pool);
void wort_dax_release(struct wort_dax *dax);
void wort_dax_free(struct wort_dax *dax);
void wort_dax_module_exit(void);

/* format.c */
int wort_dev_format(const char *path, const struct wort_format_arg *arg);

/* main.c */
extern unsigned int wort_gates_rest_ms;
int wort_dev_attach(const char *path, u32 flags, u32 *minor);
int wort_dev_detach(u32 minor);
int wort_dev_atomic(struct wort_dev *wdev, struct wort_atomic *batch);
u32 wort_dev_state(struct wort_dev *wdev);
struct wort_dev *wort_dev_find(const char *name);
void wort_dev_warn_of_label(const char *name, const u8 *label);
u32 wort_dev_list(u32 start, struct wort_pool_record *records, u32 max,
		  bool *more);

/* pm.c */
extern const struct dev_pm_ops wort_dev_pm;
int wort_pm_init(void);
void wort_pm_exit(void);

/* sysfs.c */
extern const struct attribute_group *wort_dev_groups[];
int wort_dev_uevent(compat_uevent_device *dev, struct kobj_uevent_env *env);
void wort_dev_wake(struct wort_dev *wdev);
void wort_dev_announce(struct wort_dev *wdev);

/* cdev.c */
extern const struct file_operations wort_pool_fops;
struct wort_file *wort_file_alloc(struct wort_dev *wdev);
void wort_file_free(struct wort_file *wfile);
int wort_file_release(struct inode *inode, struct file *filp);

/* mmap.c */
int wort_mmap(struct file *filp, struct vm_area_struct *vma);
void wort_mmap_zap(struct wort_dax *dax, u64 off, u64 len);
void wort_mmap_forget(struct wort_file *wfile);

/* uring.c */
int wort_uring_issue(struct io_uring_cmd *ioucmd, unsigned int issue_flags);

/* powercut_fs.c */
#ifdef CONFIG_WORT_POWERCUT
void wort_powercut_fs_init(void);
void wort_powercut_fs_exit(void);
#else
static inline void wort_powercut_fs_init(void)
{
}

static inline void wort_powercut_fs_exit(void)
{
}
#endif

/* layout.c */
void wort_layout_verify(void);

#endif /* _WORT_DEV_H */
