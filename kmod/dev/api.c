// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pools and indexes for other kernel code.  What it does with the records of an index is in
 * api_record.c and api_range.c; no other file exports symbols.
 *
 * A handle holds what an open descriptor holds: the struct of the device, the
 * index, the module.  Detach and removal end what the device stands for, not
 * the handle: its calls return -ENODEV from then on, and closing it stays due.
 *
 * Callers may hold locks that whoever makes room in memory waits for, or be
 * that one themselves.  So no call on records waits until memory was written
 * out.  What it allocates itself is in a scope; what others allocate while they
 * hold a lock that it needs is their care, see pool.h, and lockdep is told.
 *
 * No code of the caller's runs inside a call: it would run under the lock of
 * an index, and removal would wait for it.
 */
#include <linux/err.h>
#include <linux/lockdep.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/wort_kernel.h>

#include "api.h"
#include "cmd.h"
#include "wort_dev.h"

struct wort_kernel_pool {
	struct wort_dev *wdev;
};

/**
 * wort_api_enter() - Begin to touch the memory, and to allocate without I/O
 * @wdev: The device.
 * @noio: For wort_api_leave().
 *
 * Context: Any context.
 * Return: False: the memory is gone.
 */
bool wort_api_enter(struct wort_dev *wdev, unsigned int *noio)
{
	if (!wort_dax_enter(wdev->dax))
		return false;
	*noio = memalloc_noio_save();
	return true;
}

/**
 * wort_api_leave() - End what wort_api_enter() has begun
 * @wdev: The device.
 * @noio: As that function has set it.
 *
 * Context: Any context.
 */
void wort_api_leave(struct wort_dev *wdev, unsigned int noio)
{
	memalloc_noio_restore(noio);
	wort_dax_exit(wdev->dax);
}

/**
 * wort_api_atomic() - Carry out an atomic batch on a device
 * @wdev: The device.
 * @batch: As for wort_pool_atomic().
 *
 * Context: As wort_pool_atomic().
 * Return: As wort_pool_atomic(); -ENODEV.
 */
int wort_api_atomic(struct wort_dev *wdev, struct wort_atomic *batch)
{
	unsigned int noio;
	int err;

	if (!wort_api_enter(wdev, &noio))
		return -ENODEV;
	err = wort_dev_atomic(wdev, batch);
	wort_api_leave(wdev, noio);
	return err;
}

/*
 * These locks are taken where room is made in memory, even if nobody has done
 * so yet.  From now on lockdep reports any allocation under them that may wait
 * for them.
 */
static void teach_lockdep(struct wort_pool *pool, struct wort_index *index)
{
	fs_reclaim_acquire(GFP_KERNEL);
	might_lock_read(&pool->gates_sem);
	might_lock_read(&pool->atomic_sem);
	might_lock(&pool->lock);
	might_lock(&index->lock);
	might_lock(&pool->alloc.lock);
	fs_reclaim_release(GFP_KERNEL);
}

/**
 * wort_kernel_pool_open() - Get a handle of an attached pool
 * @name: Its number, "0" for /dev/wort0; or the name of its block device,
 *	"pmem0"; or its UUID in the usual form.
 *
 * Attaching it is the administrator's business.  A pool whose device is gone
 * is not found, also while it is still listed.  Of several pools with one UUID
 * (copies of a device) the one with the smallest number is found.
 *
 * Context: May sleep.  Not where room is made in memory.
 * Return: The handle, to be closed by wort_kernel_pool_close(); or an ERR_PTR:
 * -ENOENT if no such pool is attached; -ENOMEM.
 */
struct wort_kernel_pool *wort_kernel_pool_open(const char *name)
{
	struct wort_kernel_pool *pool = kmalloc(sizeof(*pool), GFP_KERNEL);

	if (!pool)
		return ERR_PTR(-ENOMEM);
	pool->wdev = wort_dev_find(name);
	if (!pool->wdev) {
		kfree(pool);
		return ERR_PTR(-ENOENT);
	}
	__module_get(THIS_MODULE);
	return pool;
}
EXPORT_SYMBOL_NS_GPL(wort_kernel_pool_open, WORT_NS);

/**
 * wort_kernel_pool_close() - Let go of a pool
 * @pool: The handle.  Indexes opened through it stay open.
 *
 * Context: May sleep.
 */
void wort_kernel_pool_close(struct wort_kernel_pool *pool)
{
	put_device(&pool->wdev->dev);
	kfree(pool);
	module_put(THIS_MODULE);
}
EXPORT_SYMBOL_NS_GPL(wort_kernel_pool_close, WORT_NS);

/**
 * wort_kernel_pool_space() - How much of a pool is used and free
 * @pool: The pool.
 * @space: Filled in if the call returns 0.
 *
 * The figures are exact while no call changes an index of the pool.
 *
 * Context: May sleep.
 * Return: 0; -ENODEV.
 */
int wort_kernel_pool_space(struct wort_kernel_pool *pool,
			   struct wort_kernel_space *space)
{
	struct wort_alloc_info info;
	int err = wort_dax_space(pool->wdev->dax, &info);

	if (err)
		return err;
	space->size = pool->wdev->pool_size;
	space->free = info.known ? info.free_bytes : WORT_UNKNOWN;
	space->used = info.known ? info.used_bytes : WORT_UNKNOWN;
	space->freeing = info.known ? info.freeing_bytes : WORT_UNKNOWN;
	return 0;
}
EXPORT_SYMBOL_NS_GPL(wort_kernel_pool_space, WORT_NS);

/**
 * wort_kernel_attr_set() - Choose an attribute of a new index
 * @engine: WORT_ENGINE_*.
 * @name: The attribute, as WORT_ATTRS_* in linux/wort_engines.h names it.
 * @value: Its value; if the values have names, the number of the name, counted
 *	from the least value.
 * @attr: The word for wort_kernel_index_open(), 0 before the first attribute.
 *
 * Context: Any context.
 * Return: 0; -EOPNOTSUPP for an unknown engine; -ENOENT if it has no such
 * attribute; -ERANGE if that has no such value.
 */
int wort_kernel_attr_set(u32 engine, const char *name, u64 value, u64 *attr)
{
	const struct wort_attr *field;

	if (engine == WORT_ENGINE_DEFAULT)
		engine = wort_engine_nth(0)->id;
	field = wort_engine_attrs(engine);
	if (!field)
		return -EOPNOTSUPP;
	while (field->name && strcmp(field->name, name))
		field++;
	if (!field->name)
		return -ENOENT;
	if (value < field->min || value > field->max || value % field->unit)
		return -ERANGE;
	/* One word for one meaning: the default is always 0. */
	value = value == field->def ? 0 : value / field->unit;
	*attr &= ~(GENMASK_ULL(field->bits - 1, 0) << field->shift);
	*attr |= value << field->shift;
	return 0;
}
EXPORT_SYMBOL_NS_GPL(wort_kernel_attr_set, WORT_NS);

static int name_verify(const char *name)
{
	size_t len = strnlen(name, WORT_NAME_MAX + 1);

	if (!len)
		return -EINVAL;
	return len > WORT_NAME_MAX ? -EMSGSIZE : 0;
}

static int open_verify(const char *name, u32 flags)
{
	bool create = flags & WORT_INDEX_OPEN_F_CREATE;
	const u32 known = (WORT_INDEX_OPEN_F_ALL & ~WORT_INDEX_OPEN_F_RDONLY) |
			  WORT_KERNEL_OPEN_F_OWN;

	BUILD_BUG_ON(WORT_KERNEL_OPEN_F_OWN != WORT_INDEX_OPEN_F_OWN);
	if (flags & ~known)
		return -EOPNOTSUPP;
	if (flags & WORT_INDEX_OPEN_F_EXCL && !create)
		return -EINVAL;
	return name_verify(name);
}

static int open_named(struct wort_dev *wdev, const char *name, u32 flags,
		      u32 engine, u64 attr, struct wort_index **out)
{
	struct wort_pool *pool;
	int err;

	if (!wort_dax_enter(wdev->dax))
		return -ENODEV;
	pool = wdev->dax->pool;
	err = wort_index_open(pool, name, strlen(name), flags, engine, attr,
			      out);
	if (!err)
		teach_lockdep(pool, *out);
	wort_dax_exit(wdev->dax);
	return err;
}

/**
 * wort_kernel_index_open() - Get a handle of an index, or make a new one
 * @pool: The pool.
 * @name: Name of the index, 1 to WORT_NAME_MAX bytes and a zero.
 * @flags: WORT_INDEX_OPEN_F_CREATE: make it when absent; with
 *	WORT_INDEX_OPEN_F_EXCL: only if it is.  WORT_INDEX_OPEN_F_RELAXED: what
 *	is read may rest on a change that is not durable yet.
 *	WORT_KERNEL_OPEN_F_OWN: it is not open otherwise, here or in a program,
 *	and other calls that open, rename or destroy it fail until the handle is
 *	closed.
 * @engine: WORT_ENGINE_*; of an index that exists it must be its own or
 *	DEFAULT.
 * @attr: Attributes of a new index, as wort_kernel_attr_set() makes them, 0 for
 *	the defaults; of one that exists, its own or 0.
 *
 * A new index is durable when the call returns.  Without OWN any number of
 * handles may be open, here and in programs.
 *
 * Context: May sleep, killably.  Not where room is made in memory.
 * Return: The handle, to be closed by wort_kernel_index_close(); or an ERR_PTR:
 * -ENOENT, -EEXIST; -EBUSY if another opening has OWN, or with OWN if there is
 * another one; -EINVAL for an empty name, EXCL without CREATE, another engine,
 * other attributes or ones that the engine does not have; -EMSGSIZE for a longer
 * name; -EOPNOTSUPP for an unknown flag or engine; -EROFS; -ENOSPC; -EOVERFLOW
 * if no id is left; -ENOMEM; -EINTR; -EUCLEAN; -EIO; -ENODEV.
 */
struct wort_kernel_index *
wort_kernel_index_open(struct wort_kernel_pool *pool, const char *name,
		       u32 flags, u32 engine, u64 attr)
{
	struct wort_kernel_index *index;
	int err = open_verify(name, flags);

	if (err)
		return ERR_PTR(err);
	index = kmalloc(sizeof(*index), GFP_KERNEL);
	if (!index)
		return ERR_PTR(-ENOMEM);
	err = open_named(pool->wdev, name, flags, engine, attr, &index->index);
	if (err) {
		kfree(index);
		return ERR_PTR(err);
	}
	index->wdev = pool->wdev;
	index->relaxed = flags & WORT_INDEX_OPEN_F_RELAXED;
	get_device(&index->wdev->dev);
	__module_get(THIS_MODULE);
	return index;
}
EXPORT_SYMBOL_NS_GPL(wort_kernel_index_open, WORT_NS);

/**
 * wort_kernel_index_close() - Let go of an index
 * @index: The handle; no call on it is under way.
 *
 * Stores nothing: what was acknowledged is durable already.
 *
 * Context: May sleep.
 */
void wort_kernel_index_close(struct wort_kernel_index *index)
{
	wort_index_put(index->index);
	put_device(&index->wdev->dev);
	kfree(index);
	module_put(THIS_MODULE);
}
EXPORT_SYMBOL_NS_GPL(wort_kernel_index_close, WORT_NS);

/**
 * wort_kernel_index_destroy() - Destroy an index
 * @pool: The pool.
 * @name: Name of the index.
 *
 * Durable, and the name free, when the call returns.  Open handles of the index
 * answer -ESTALE.  The space is given back in the background.
 *
 * Context: May sleep, killably.
 * Return: 0; -ENOENT; -EBUSY if a handle owns it; -EINVAL, -EMSGSIZE for the
 * name; -EOPNOTSUPP if the engine of the index is unknown; -EROFS; -EIO,
 * -EUCLEAN as wort_index_destroy() has them; -EINTR; -ENODEV.
 */
int wort_kernel_index_destroy(struct wort_kernel_pool *pool, const char *name)
{
	struct wort_dax *dax = pool->wdev->dax;
	int err = name_verify(name);

	if (err)
		return err;
	if (!wort_dax_enter(dax))
		return -ENODEV;
	err = wort_index_destroy(dax->pool, name, strlen(name));
	wort_dax_exit(dax);
	return err;
}
EXPORT_SYMBOL_NS_GPL(wort_kernel_index_destroy, WORT_NS);

/**
 * wort_kernel_index_rename() - Give an index another name
 * @pool: The pool.
 * @from: Its name.
 * @to: The new name, 1 to WORT_NAME_MAX bytes and a zero, which no index has.
 *
 * Durable when the call returns; after a power cut the index has one of the two
 * names.  Open handles go on.
 *
 * Context: May sleep, killably.  Not where room is made in memory.
 * Return: 0; -ENOENT; -EBUSY if a handle owns it; -EEXIST if an index has the
 * new name, also this one; -EINVAL, -EMSGSIZE for a name; -EOPNOTSUPP if the
 * engine of the index is unknown; -EROFS; -ENOSPC; -ENOMEM; -EINTR; -EUCLEAN;
 * -EIO; -ENODEV.
 */
int wort_kernel_index_rename(struct wort_kernel_pool *pool, const char *from,
			     const char *to)
{
	struct wort_dax *dax = pool->wdev->dax;
	int err = name_verify(from) ?: name_verify(to);

	if (err)
		return err;
	if (!wort_dax_enter(dax))
		return -ENODEV;
	err = wort_index_rename(dax->pool, from, strlen(from), to, strlen(to));
	wort_dax_exit(dax);
	return err;
}
EXPORT_SYMBOL_NS_GPL(wort_kernel_index_rename, WORT_NS);

/**
 * wort_kernel_index_list() - Describe the indexes of a pool
 * @pool: The pool.
 * @after: Only indexes with a greater id; 0: from the first.
 * @records: Filled in, in the order of ids, which is that of creation.
 * @max: How many fit.
 * @more: Set: there are further indexes.
 *
 * Context: May sleep, killably.
 * Return: Number of records, fewer than fit if a fatal signal is pending; -EINTR
 * if there would be none for that reason; -ENODEV.
 */
int wort_kernel_index_list(struct wort_kernel_pool *pool, u64 after,
			   struct wort_index_record *records, u32 max,
			   bool *more)
{
	struct wort_dax *dax = pool->wdev->dax;
	int nr;

	*more = false;
	if (!wort_dax_enter(dax))
		return -ENODEV;
	nr = wort_index_list(dax->pool, after, records, max, more);
	wort_dax_exit(dax);
	return nr;
}
EXPORT_SYMBOL_NS_GPL(wort_kernel_index_list, WORT_NS);

/**
 * wort_kernel_index_info() - Describe an index
 * @index: The index.
 * @info: Its ``out_`` fields are filled in, the other ones do not matter.
 *
 * Context: May sleep.
 * Return: 0; -ESTALE if it was destroyed; -ENODEV.
 */
int wort_kernel_index_info(struct wort_kernel_index *index,
			   struct wort_index_info_arg *info)
{
	struct wort_dax *dax = index->wdev->dax;
	int err = -ESTALE;

	if (!wort_dax_enter(dax))
		return -ENODEV;
	if (!READ_ONCE(index->index->dead)) {
		wort_index_info(index->index, info);
		err = 0;
	}
	wort_dax_exit(dax);
	return err;
}
EXPORT_SYMBOL_NS_GPL(wort_kernel_index_info, WORT_NS);

/**
 * wort_kernel_stats() - What operations on an index have cost
 * @index: The index.
 * @stats: Filled in, by WORT_OP_*: operations of all openings since the attach.
 *
 * Of operations under way some figures may be in and others not yet.
 *
 * Context: Any context.
 * Return: 0; -ENODEV; -EBUSY while the machine hibernates.
 */
int wort_kernel_stats(struct wort_kernel_index *index,
		      struct wort_op_stats stats[WORT_OP_NR])
{
	struct wort_dax *dax = index->wdev->dax;
	int err = wort_dax_try_enter(dax);

	if (err)
		return err;
	wort_index_stats(index->index, stats);
	wort_dax_exit(dax);
	return 0;
}
EXPORT_SYMBOL_NS_GPL(wort_kernel_stats, WORT_NS);

/**
 * wort_kernel_state() - How is an index?
 * @index: The index.
 *
 * Context: Any context.
 * Return: WORT_STATE_DAMAGED, if it or its pool is read-only because damage was
 * found, _READONLY, if the pool is for another reason, _WALKING, or 0; -ESTALE
 * if it was destroyed; -ENODEV; -EBUSY while the machine hibernates.
 */
int wort_kernel_state(struct wort_kernel_index *index)
{
	struct wort_dax *dax = index->wdev->dax;
	int state = wort_dax_try_enter(dax);

	if (state)
		return state;
	state = wort_pool_state(dax->pool) &
		(WORT_STATE_DAMAGED | WORT_STATE_READONLY | WORT_STATE_WALKING);
	if (READ_ONCE(index->index->damaged))
		state |= WORT_STATE_DAMAGED;
	if (READ_ONCE(index->index->dead))
		state = -ESTALE;
	wort_dax_exit(dax);
	return state;
}
EXPORT_SYMBOL_NS_GPL(wort_kernel_state, WORT_NS);

/**
 * wort_kernel_wait_lost() - Wait until the pool of an index is lost
 * @index: The index, open as long as the call takes.
 * @timeout: Jiffies to wait at most; 0: only ask; MAX_SCHEDULE_TIMEOUT: as long
 *	as it takes.
 *
 * It is lost, for good, when it was detached or its device was removed.  The
 * call ends as soon as that has begun; calls on records return -ENODEV from
 * then on.  Neither detach nor removal waits for this call.
 *
 * Context: May sleep, interruptibly.
 * Return: -ENODEV if it is lost; 0 if it was not in that time; -ERESTARTSYS if
 * a signal came.
 */
int wort_kernel_wait_lost(struct wort_kernel_index *index, long timeout)
{
	struct wort_dax *dax = index->wdev->dax;
	long left = wait_event_interruptible_timeout(dax->gate,
						     wort_dax_dead(dax),
						     timeout);

	if (left < 0)
		return left;
	return left ? -ENODEV : 0;
}
EXPORT_SYMBOL_NS_GPL(wort_kernel_wait_lost, WORT_NS);
