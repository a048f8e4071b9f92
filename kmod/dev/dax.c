// SPDX-License-Identifier: GPL-2.0-only
/*
 * Claim of a block device for its memory.
 *
 * Two claims make one: the block device is opened exclusively, which keeps
 * filesystems and other users of blocks away, and we are the holder of the DAX
 * device beneath, which keeps others away from the memory and lets its driver
 * tell us when memory fails or goes.
 *
 * Removal: the driver calls wort_dax_notify(), and unmaps the memory when that
 * returns.  The callback knows only the DAX device; it finds the claim in a
 * list under a lock that it keeps until nobody touches the memory any more.  A
 * claim leaves the list before any of it is freed, under the same lock.
 */
#include <linux/blkdev.h>
#include <linux/dax.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>

#include <trace/events/wort.h>

#include "../core/powercut.h"
#include "wort_dev.h"

/* Pages asked for at once: some drivers count bytes in 32 bits. */
#define CHUNK_PAGES	((1L << 30) >> PAGE_SHIFT)

static LIST_HEAD(claims);
static DEFINE_MUTEX(claims_lock);

/* Calls of wort_dax_notify() under way. */
static atomic_t nr_notifying = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(notified);

static bool is_suspended(const struct wort_dax *dax)
{
	return READ_ONCE(dax->suspended) && !READ_ONCE(dax->killed);
}

/* Wait while the machine hibernates.  False: the claim is killed. */
static bool wait_resumed(struct wort_dax *dax)
{
	wait_event_state(dax->gate, !is_suspended(dax),
			 (TASK_IDLE | TASK_FREEZABLE));
	return !READ_ONCE(dax->killed);
}

/**
 * wort_dax_enter() - Begin to touch the memory
 * @dax: The claim.
 *
 * Waits while the machine hibernates.  Whether stores need a flush may have
 * changed since the last time.
 *
 * Context: May sleep until wort_dax_exit(), which removal waits for: no user
 * memory is touched in between.
 * Return: False if the memory is gone or the pool detached.
 */
bool wort_dax_enter(struct wort_dax *dax)
{
	bool flush;

	while (!percpu_ref_tryget_live(&dax->users))
		if (!wait_resumed(dax))
			return false;
	flush = dax_write_cache_enabled(dax->dev);
	if (READ_ONCE(dax->region.flush) != flush)
		WRITE_ONCE(dax->region.flush, flush);
	return true;
}

/**
 * wort_dax_try_enter() - Begin to touch the memory without waiting, and only read it
 * @dax: The claim.
 *
 * Context: Any context.
 * Return: 0: wort_dax_exit() has to follow; -ENODEV if the memory is gone or
 * the pool detached; -EBUSY while the machine hibernates.
 */
int wort_dax_try_enter(struct wort_dax *dax)
{
	if (percpu_ref_tryget_live(&dax->users))
		return 0;
	smp_rmb();	/* pairs with kill_users() */
	return wort_dax_dead(dax) ? -ENODEV : -EBUSY;
}

/**
 * wort_dax_exit() - The memory is not touched any more
 * @dax: The claim; wort_dax_enter() or wort_dax_try_enter() has succeeded.
 *
 * Context: Any context.
 */
void wort_dax_exit(struct wort_dax *dax)
{
	percpu_ref_put(&dax->users);
}

/**
 * wort_dax_dead() - Is the memory gone, or the pool detached?
 * @dax: The claim.
 *
 * Context: Any context.
 * Return: True if wort_dax_enter() says no from now on.
 */
bool wort_dax_dead(struct wort_dax *dax)
{
	return READ_ONCE(dax->killed);
}

/**
 * wort_dax_space() - The space of the pool
 * @dax: The claim.
 * @info: Filled in.
 *
 * The allocator knows it: no need to wait for the lock of the pool.
 *
 * Context: May sleep.  Takes wort_alloc.lock.
 * Return: 0 or -ENODEV.
 */
int wort_dax_space(struct wort_dax *dax, struct wort_alloc_info *info)
{
	if (!wort_dax_enter(dax))
		return -ENODEV;
	wort_alloc_info(&dax->pool->alloc, info);
	wort_dax_exit(dax);
	return 0;
}

static void users_gone(struct percpu_ref *users)
{
	complete_all(&container_of(users, struct wort_dax, users)->idle);
}

static void stop_background(struct wort_dax *dax)
{
	struct wort_pool *pool = READ_ONCE(dax->pool);

	if (pool)
		wort_pool_stop(pool);
}

/* Programs that have it mapped look at the state after what they found. */
static void stop_mappings(struct wort_dax *dax)
{
	struct wort_pool *pool = READ_ONCE(dax->pool);

	if (!pool)
		return;
	/* pairs with the look at the state behind what was read */
	smp_store_release(&pool->locks.control->state, WORT_MAP_DEAD);
	wort_mmap_zap(dax, 0, 0);
}

/*
 * Wait until nobody touches the memory, for good.  Background work ends before
 * the operations, because some of these wait for it; and once more after them,
 * because they may have started it.  Nobody gets it mapped after them.  Removal
 * and detach may do so at once.
 */
static void kill_users(struct wort_dax *dax)
{
	bool was_killed;

	mutex_lock(&dax->gate_lock);
	was_killed = dax->killed;
	/* A task that gets no reference looks at @killed for the reason. */
	WRITE_ONCE(dax->killed, true);
	smp_wmb();	/* pairs with wort_dax_try_enter() */
	if (!was_killed && !dax->suspended)
		percpu_ref_kill(&dax->users);
	mutex_unlock(&dax->gate_lock);
	wake_up_all(&dax->gate);
	stop_background(dax);
	wait_for_completion(&dax->idle);
	stop_background(dax);
	stop_mappings(dax);
}

/*
 * Pages are bad, which readers by a mapping would find out the hard way.
 * Either the pool is there, or who brings it will see that they are.
 */
static void ask_from_now_on(struct wort_dax *dax, u64 off, u64 len)
{
	struct wort_pool *pool;

	/* pairs with the barriers in wort_dax_serve() and pool_failed() */
	smp_mb();
	pool = READ_ONCE(dax->pool);
	if (!pool)
		return;
	wort_locks_map_state(&pool->locks, WORT_MAP_FOLLOW, WORT_MAP_ASK);
	wort_mmap_zap(dax, off, len);
}

static void add_bad(struct wort_dax *dax, u64 off, u64 len)
{
	wort_region_add_bad(&dax->region, off, len);
	ask_from_now_on(dax, off, len);
}

/*
 * The range is one of the whole DAX device.  The kernel tells those who have other memory of
 * it mapped, that of another partition, but only after -EOPNOTSUPP.
 */
static int memory_failed(struct wort_dax *dax, u64 off, u64 len)
{
	u64 end = len > U64_MAX - off ? U64_MAX : off + len;
	u64 first = max(off, dax->start);
	u64 last = min(end, dax->start + dax->region.size);

	if (first >= last)
		return -EOPNOTSUPP;
	add_bad(dax, first - dax->start, last - first);
	pr_crit("%s: memory failed from offset %#llx to %#llx: what lies there is lost\n",
		dax->name, first - dax->start, last - dax->start);
	return first == off && last == end ? 0 : -EOPNOTSUPP;
}

/**
 * wort_dax_serve() - There is a pool in the memory
 * @dax: The claim; wort_dax_enter() returned true.
 * @pool: The pool.
 *
 * A removal that waits for the caller will find it, so no lock of claims is
 * taken.
 *
 * Context: Any context.
 */
void wort_dax_serve(struct wort_dax *dax, struct wort_pool *pool)
{
	struct wort_map_control *control = pool->locks.control;
	u32 i;

	for (i = 0; i < WORT_CONTROL_PAGES; i++) {
		dax->control[i] = vmalloc_to_page((void *)control +
						  i * PAGE_SIZE);
		get_page(dax->control[i]);
	}
	WRITE_ONCE(dax->pool, pool);
	if (dax->region.mcsafe)
		return;
	wort_locks_map_state(&pool->locks, WORT_MAP_ASK, WORT_MAP_FOLLOW);
	/* pairs with the barrier in ask_from_now_on() */
	smp_mb();
	if (wort_region_any_bad(&dax->region))
		wort_locks_map_state(&pool->locks, WORT_MAP_FOLLOW,
				     WORT_MAP_ASK);
}

static void state_changed(struct wort_dax *dax)
{
	struct work_struct *changed = READ_ONCE(dax->changed);

	if (changed)
		schedule_work(changed);
}

/**
 * wort_dax_pool_changed() - The state of a pool has changed
 * @pool: A pool on claimed memory.
 *
 * Context: Any context.
 */
void wort_dax_pool_changed(struct wort_pool *pool)
{
	state_changed(container_of(pool->region, struct wort_dax, region));
}

/* The memory is of no use any more: every call returns an error. */
static void lose(struct wort_dax *dax)
{
	kill_users(dax);
	trace_wort_dead(dax->region.dev);
	state_changed(dax);
}

static void memory_removed(struct wort_dax *dax)
{
	pr_crit("%s: the device is being removed\n", dax->name);
	lose(dax);
}

static struct wort_dax *find_claim(struct dax_device *dev)
{
	struct wort_dax *dax;

	lockdep_assert_held(&claims_lock);
	list_for_each_entry(dax, &claims, list)
		if (dax->dev == dev)
			return dax;
	return NULL;
}

/*
 * How long operations under way may take to end.  An operation that waits for
 * space may have been frozen there, and does not end before its task runs
 * again.
 */
#define SUSPEND_TIMEOUT		(20 * HZ)

static bool close_gate(struct wort_dax *dax)
{
	bool closed;

	mutex_lock(&dax->gate_lock);
	closed = !dax->killed && !dax->suspended;
	if (closed) {
		WRITE_ONCE(dax->suspended, true);
		percpu_ref_kill(&dax->users);
	}
	mutex_unlock(&dax->gate_lock);
	return closed;
}

static void open_gate(struct wort_dax *dax)
{
	mutex_lock(&dax->gate_lock);
	if (dax->suspended && !dax->killed) {
		percpu_ref_resurrect(&dax->users);
		/*
		 * The task that brought the count to zero completes @idle in an
		 * RCU section, perhaps only now: wait for it.  The count cannot
		 * reach zero again before it is killed again.
		 */
		synchronize_rcu();
		reinit_completion(&dax->idle);
		wort_pool_resume(dax->pool);
		WRITE_ONCE(dax->suspended, false);
	}
	mutex_unlock(&dax->gate_lock);
	wake_up_all(&dax->gate);
}

/**
 * wort_dax_suspend() - Keep everybody from the memory until wort_dax_resume()
 * @dax: The claim, with a pool.
 *
 * Operations under way are waited for, background work pauses, and
 * wort_dax_enter() waits.  Mappings stay.  A no-op if the memory is gone or the
 * claim is suspended.
 *
 * Context: May sleep.
 * Return: 0, or -EBUSY if operations under way did not end: nothing is
 * suspended.
 */
int wort_dax_suspend(struct wort_dax *dax)
{
	if (!close_gate(dax))
		return 0;
	if (!wait_for_completion_timeout(&dax->idle, SUSPEND_TIMEOUT)) {
		open_gate(dax);
		return -EBUSY;
	}
	wort_pool_suspend(dax->pool);
	return 0;
}

/* No device is removed meanwhile, since that takes the lock of claims. */
static void resume(struct wort_dax *dax)
{
	lockdep_assert_held(&claims_lock);
	if (!dax->suspended || dax->killed)
		return;
	if (wort_sb_unchanged(dax->pool)) {
		open_gate(dax);
		return;
	}
	pr_crit("%s: somebody else has stored to the pool while the machine hibernated: nothing more is stored, detach it and attach it again\n",
		dax->name);
	lose(dax);
}

/**
 * wort_dax_resume() - Let everybody to the memory of a claim again
 * @dax: The claim.
 *
 * If somebody else has stored to the pool meanwhile, what this module knows of
 * it is out of date: the pool is treated as if its device had been removed.  A
 * no-op if the claim is not suspended, or its memory is gone.
 *
 * Context: May sleep.
 */
void wort_dax_resume(struct wort_dax *dax)
{
	mutex_lock(&claims_lock);
	resume(dax);
	mutex_unlock(&claims_lock);
}

/**
 * wort_dax_resume_all() - wort_dax_resume() of each claim
 *
 * Context: May sleep.
 */
void wort_dax_resume_all(void)
{
	struct wort_dax *dax;

	mutex_lock(&claims_lock);
	list_for_each_entry(dax, &claims, list)
		resume(dax);
	mutex_unlock(&claims_lock);
}

/* Removal has flags of its own on some kernels; its range tells on all. */
static int wort_dax_notify(struct dax_device *dev, u64 off, u64 len, int flags)
{
	struct wort_dax *dax;
	int err = -EOPNOTSUPP;

	atomic_inc(&nr_notifying);
	mutex_lock(&claims_lock);
	dax = find_claim(dev);
	if (dax && !off && len == U64_MAX) {
		memory_removed(dax);
		err = 0;
	} else if (dax && len) {
		err = memory_failed(dax, off, len);
	}
	mutex_unlock(&claims_lock);
	if (atomic_dec_and_test(&nr_notifying))
		wake_up_all(&notified);
	return err;
}

static const struct dax_holder_operations holder_ops = {
	.notify_failure = wort_dax_notify,
};

/*
 * Device-mapper moves memory under its users and tells nobody.  Its disks have
 * no mark but their name, which is the kernel's own choice.
 */
static bool is_mapped(const struct gendisk *disk)
{
	return !strncmp(disk->disk_name, "dm-", 3);
}

static int verify_kind(const char *path, struct block_device *bdev)
{
	if (is_mapped(bdev->bd_disk)) {
		pr_err_ratelimited("%s: is a device-mapper target, which may move its memory: use the device beneath\n",
				   path);
		return -EOPNOTSUPP;
	}
	if (!blk_queue_dax(bdev_get_queue(bdev))) {
		pr_err_ratelimited("%s: is not a DAX device: use persistent memory in fsdax mode (ndctl create-namespace -m fsdax)\n",
				   path);
		return -ENXIO;
	}
	if ((get_start_sect(bdev) << SECTOR_SHIFT) % PAGE_SIZE ||
	    bdev_nr_bytes(bdev) % PAGE_SIZE) {
		pr_err_ratelimited("%s: start or size is no multiple of %lu: align the partition\n",
				   path, PAGE_SIZE);
		return -EDOM;
	}
	return 0;
}

static int verify_size(const char *path, u64 size)
{
	if (!size) {
		pr_err_ratelimited("%s: has no size: it is being removed\n", path);
		return -ENODEV;
	}
	if (size < WORT_MEDIA_POOL_MIN) {
		pr_err_ratelimited("%s: has %llu bytes, a pool takes %llu at least\n",
				   path, size, WORT_MEDIA_POOL_MIN);
		return -ENOSPC;
	}
	if (size > WORT_MEDIA_POOL_MAX) {
		pr_err_ratelimited("%s: has %llu bytes, a pool takes %llu at most: partition it\n",
				   path, size, WORT_MEDIA_POOL_MAX);
		return -EFBIG;
	}
	return 0;
}

/* A removal that comes meanwhile waits for the lock, then finds the claim. */
static int become_holder(const char *path, struct wort_dax *dax)
{
	mutex_lock(&claims_lock);
	dax->dev = fs_dax_get_by_bdev(compat_bdev(dax->opened), &dax->start,
				      dax, &holder_ops);
	if (dax->dev)
		list_add(&dax->list, &claims);
	mutex_unlock(&claims_lock);
	if (!dax->dev) {
		pr_err_ratelimited("%s: its memory is in use by another partition's user, or is being removed\n",
				   path);
		return -EBUSY;
	}
	if (!dax_synchronous(dax->dev)) {
		pr_err_ratelimited("%s: flushes of this device are asynchronous (virtio-pmem): stores could not be made durable in order\n",
				   path);
		return -EOPNOTSUPP;
	}
	return 0;
}

/**
 * wort_dax_pfn() - The page frames of the memory
 * @dax: The claim; wort_dax_enter() returned true.
 * @off: Where, a multiple of the page size.
 * @nr: Pages.
 * @pfn: Told: the first.
 *
 * It does not use the mode for repair, in which the driver gives bad pages, too.
 *
 * Context: May sleep.
 * Return: True if they are in one piece and none is known to be bad.
 */
bool wort_dax_pfn(struct wort_dax *dax, u64 off, long nr, unsigned long *pfn)
{
	int id = dax_read_lock();
	long got;

	got = compat_dax_access(dax->dev, (dax->start + off) >> PAGE_SHIFT, nr, false, NULL, pfn);
	dax_read_unlock(id);
	return got >= nr;
}

/*
 * Known bad blocks keep a driver from giving access to the range around them;
 * in the mode for repair it does, in pieces.
 */
static long access(struct wort_dax *dax, long page, long nr, void **kaddr)
{
	pgoff_t at = (dax->start >> PAGE_SHIFT) + page;
	long got;

	got = compat_dax_access(dax->dev, at, nr, false, kaddr, NULL);
	if (got > 0)
		return got;
	return compat_dax_access(dax->dev, at, nr, true, kaddr, NULL);
}

static int map_memory(const char *path, struct wort_dax *dax)
{
	long nr = dax->region.size >> PAGE_SHIFT, done = 0, got = 1;
	void *base = NULL, *kaddr;
	int id = dax_read_lock();

	while (done < nr) {
		got = access(dax, done, min(nr - done, CHUNK_PAGES), &kaddr);
		if (got <= 0)
			break;
		if (!done)
			base = kaddr;
		if (kaddr != base + (done << PAGE_SHIFT))
			break;
		done += got;
	}
	dax_read_unlock(id);
	if (done < nr) {
		pr_err_ratelimited("%s: its memory is not mapped, or not in one piece, from page %ld on (%ld)\n",
				   path, done, got);
		return -ENXIO;
	}
	dax->region.base = (void __pmem __force *)base;
	return 0;
}

static bool all_bad(const struct wort_region *region, u64 off, u64 len)
{
	u64 end = off + len;

	for (off = round_down(off, PAGE_SIZE); off < end; off += PAGE_SIZE)
		if (!wort_region_bad(region, off, 1))
			return false;
	return true;
}

static void add_bad_blocks(struct wort_dax *dax, sector_t first, sector_t end)
{
	u64 off = first << SECTOR_SHIFT, len = (end - first) << SECTOR_SHIFT;

	if (all_bad(&dax->region, off, len))
		return;
	pr_warn_ratelimited("%s: bad blocks from sector %llu to %llu\n", dax->name, (u64)first,
			    (u64)end);
	add_bad(dax, off, len);
}

/* Memory may fail meanwhile, which wort_dax_notify() adds under the same lock. */
static void load_bad_blocks(struct wort_dax *dax, struct block_device *bdev)
{
	struct badblocks *bb = bdev->bd_disk->bb;
	sector_t begin = get_start_sect(bdev), at = begin;
	sector_t end = begin + bdev_nr_sectors(bdev);
	sector_t bad, bad_end, nr, ask;

	while (bb && at < end) {
		ask = min_t(sector_t, end - at, 1 << 21);
		if (!compat_badblocks(bb, at, ask, &bad, &nr)) {
			at += ask;
			continue;
		}
		bad_end = min(bad + nr, end);
		add_bad_blocks(dax, max(bad, at) - begin, bad_end - begin);
		at = bad_end;
	}
}

/**
 * wort_dax_learn_bad() - Ask the driver which blocks are bad
 * @dax: The claim; the caller is not between wort_dax_enter() and wort_dax_exit(), for
 *	removal waits for those with the lock held.
 *
 * A scrub of the memory can find bad blocks while the pool is attached.  The driver does not
 * call the holder of the DAX device then.
 *
 * Context: May sleep, killably.
 * Return: 0; -EINTR.
 */
int wort_dax_learn_bad(struct wort_dax *dax)
{
	if (mutex_lock_killable(&claims_lock))
		return -EINTR;
	/*
	 * Of a claim that was released the block device is closed next, and of memory that
	 * was removed the list is freed.
	 */
	if (!list_empty(&dax->list) && !wort_dax_dead(dax))
		load_bad_blocks(dax, compat_bdev(dax->opened));
	mutex_unlock(&claims_lock);
	return 0;
}

/* What others wrote through the page cache is there, what is there is read. */
static int drop_page_cache(struct block_device *bdev)
{
	int err = sync_blockdev(bdev);

	invalidate_bdev(bdev);
	return err ? -EIO : 0;
}

static int claim_opened(const char *path, struct wort_dax *dax)
{
	struct block_device *bdev = compat_bdev(dax->opened);
	int err;

	snprintf(dax->name, sizeof(dax->name), "%pg", bdev);
	dax->region.dev = bdev->bd_dev;
	dax->region.name = dax->name;
	err = verify_kind(path, bdev);
	if (!err)
		err = verify_size(path, bdev_nr_bytes(bdev));
	if (!err)
		err = drop_page_cache(bdev);
	if (err)
		return err;
	dax->region.size = bdev_nr_bytes(bdev);
	err = become_holder(path, dax);
	if (!err)
		err = map_memory(path, dax);
	if (err)
		return err;
	err = wort_dax_learn_bad(dax);
	if (!err)
		wort_powercut_begin(&dax->region);
	return err;
}

static int open_bdev(const char *path, struct wort_dax *dax)
{
	struct compat_bdev *opened = compat_bdev_open(path,
						      !dax->region.readonly,
						      dax);
	int err = PTR_ERR_OR_ZERO(opened);

	if (err == -EBUSY)
		pr_err_ratelimited("%s: is in use: unmount or detach it first\n",
				   path);
	else if (err == -ENOTBLK)
		pr_err_ratelimited("%s: is not a block device\n", path);
	else if (err == -EACCES)
		pr_err_ratelimited("%s: is write-protected, or on a nodev mount: attach it read-only, or lift that\n",
				   path);
	else if (err)
		pr_err_ratelimited("%s: cannot be opened (%d)\n", path, err);
	else
		dax->opened = opened;
	return err;
}

/**
 * wort_dax_claim() - Claim a block device for its memory
 * @path: Path of the device.
 * @readonly: Nothing will be stored; the device may be write-protected.
 * @out: The claim.
 *
 * What is wrong is said in the log, with what mends it.
 *
 * Context: May sleep.
 * Return: 0; -ENOTBLK; -EBUSY if somebody else uses it; -ENXIO if it is not a
 * DAX device; -EOPNOTSUPP if its flushes are asynchronous or device-mapper
 * stands between; -EDOM if it is not aligned to pages; -ENOSPC, -EFBIG;
 * -ENODEV if it is being removed; -EINTR; -ENOMEM; what opening a path may return.
 */
int wort_dax_claim(const char *path, bool readonly, struct wort_dax **out)
{
	struct wort_dax *dax = kzalloc(sizeof(*dax), GFP_KERNEL);
	int err;

	if (!dax)
		return -ENOMEM;
	dax->region.readonly = readonly;
	dax->region.line_order = IS_ENABLED(CONFIG_X86);
	INIT_LIST_HEAD(&dax->list);
	INIT_LIST_HEAD(&dax->mapped);
	mutex_init(&dax->mapped_lock);
	init_completion(&dax->idle);
	init_waitqueue_head(&dax->gate);
	mutex_init(&dax->gate_lock);
	err = percpu_ref_init(&dax->users, users_gone, PERCPU_REF_ALLOW_REINIT,
			      GFP_KERNEL);
	if (err) {
		kfree(dax);
		return err;
	}
	err = open_bdev(path, dax);
	if (!err)
		err = claim_opened(path, dax);
	if (err) {
		wort_dax_release(dax);
		wort_dax_free(dax);
		return err;
	}
	*out = dax;
	return 0;
}

/**
 * wort_dax_release() - Give the block device back
 * @dax: The claim.
 *
 * Waits until nobody touches the memory.  The pool can be detached then; files
 * may go on to ask wort_dax_enter(), which says no.
 *
 * Context: May sleep.
 */
void wort_dax_release(struct wort_dax *dax)
{
	kill_users(dax);
	wort_powercut_end(&dax->region);
	mutex_lock(&claims_lock);
	list_del_init(&dax->list);
	/*
	 * It clears the holder first, then its operations: without the lock these could be
	 * those of the next holder.
	 */
	if (dax->dev)
		fs_put_dax(dax->dev, dax);
	mutex_unlock(&claims_lock);
	if (dax->opened) {
		invalidate_bdev(compat_bdev(dax->opened));
		compat_bdev_close(dax->opened, !dax->region.readonly);
	}
	dax->dev = NULL;
	dax->opened = NULL;
}

/**
 * wort_dax_free() - Free a claim
 * @dax: The claim, which was released and which no file knows any more.
 *
 * Context: May sleep.
 */
void wort_dax_free(struct wort_dax *dax)
{
	u32 i;

	for (i = 0; i < WORT_CONTROL_PAGES; i++)
		if (dax->control[i])
			put_page(dax->control[i]);
	wort_region_forget_bad(&dax->region);
	percpu_ref_exit(&dax->users);
	kfree(dax);
}

/**
 * wort_dax_module_exit() - Wait until no driver is inside our callback
 *
 * Releasing the holder does not wait for a call under way, and the lock of
 * such calls is private to the kernel.  Between the driver's look at the
 * holder and our count, and between our count and the return, nobody sleeps:
 * a grace period of tasks covers both.
 *
 * Context: May sleep.  There is no claim any more.
 */
void wort_dax_module_exit(void)
{
	synchronize_rcu_tasks();
	wait_event(notified, !atomic_read(&nr_notifying));
	synchronize_rcu_tasks();
}
