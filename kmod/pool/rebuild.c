// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Making again what an engine keeps in DRAM for an index, from what is on
 * media.
 *
 * After an attach that begins with the first operation on the index, not with
 * its opening: a program that opens all indexes of a pool does not wait for all
 * of them.  Operations that come before the end wait.  The work is a walk of
 * the index in the background.  If the walk after the attach has not come to an
 * open index yet, it does both at once; during the walk of another index, or a
 * check of it, the work has its turn between two chunks.
 *
 * An attempt that finds no memory has failed, and the operations that wait for
 * it with it; the next one begins another attempt.  Damage, or an object that
 * cannot be read, ends the walk, but the index can be used: any engine answers
 * without what it keeps in DRAM.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/sched.h>

#include "pool.h"

static int pause_rebuild(struct wort_walk *walk)
{
	if (READ_ONCE(walk->index->dead))
		return -ESTALE;
	return wort_pool_interrupted(walk->pool) ? -EINTR : 0;
}

/**
 * wort_rebuild_begin() - Shall a walk rebuild the index that it comes to?
 * @index: The index.
 *
 * Context: Any context.  Holds wort_pool.work_lock.
 * Return: True if it is open and was not rebuilt.  wort_rebuild_end() is due
 * after the walk.
 */
bool wort_rebuild_begin(struct wort_index *index)
{
	struct wort_pool *pool = index->pool;

	lockdep_assert_held(&pool->work_lock);
	if (!READ_ONCE(index->unbuilt) || !READ_ONCE(index->nr_open))
		return false;
	spin_lock(&pool->due_lock);
	list_del_init(&index->rebuild);
	spin_unlock(&pool->due_lock);
	return true;
}

/**
 * wort_rebuild_end() - An attempt to rebuild an index has ended
 * @index: The index.
 * @err: How its walk ended.
 *
 * Context: May sleep, waits for a grace period.  Holds wort_pool.work_lock and
 * nothing else.
 */
void wort_rebuild_end(struct wort_index *index, int err)
{
	struct wort_pool *pool = index->pool;

	lockdep_assert_held(&pool->work_lock);
	if (err == -ENOENT || wort_is_damage(err)) {
		/*
		 * An operation that finds the index usable is in a section that
		 * began after this one did, so it finds what the engine has
		 * made.
		 */
		wort_locks_synchronize(&pool->locks);
		wort_index_set_unbuilt(index, false);
		err = 0;
	}
	WRITE_ONCE(index->rebuild_err, err);
	/* pairs with the acquire in attempt_ended() */
	smp_store_release(&index->rebuilds, index->rebuilds + 1);
	wake_up_all(&pool->work_done);
}

/**
 * wort_rebuild_all() - Rebuild the indexes that operations wait for
 * @pool: The pool.
 *
 * An index that becomes due meanwhile has its turn in the next call.
 *
 * Context: May sleep for long.  Holds wort_pool.work_lock and nothing else:
 * only this work frees indexes, so none goes away meanwhile.
 */
void wort_rebuild_all(struct wort_pool *pool)
{
	struct wort_walk walk = {
		.pool = pool,
		.pause = pause_rebuild,
		.records = &pool->rebuild_records,
		.rebuild = true,
	};
	struct list_head *last = wort_due_last(pool, &pool->rebuild);
	struct list_head *entry = NULL;
	struct wort_index *index;

	while (entry != last && (entry = wort_due_next(pool, &pool->rebuild))) {
		index = list_entry(entry, struct wort_index, rebuild);
		wort_walk_begin(&walk, index);
		wort_rebuild_end(index, wort_walk_run(&walk));
	}
}

/**
 * wort_rebuild_again() - What an engine keeps for an index has to be made again
 * @index: The index.
 *
 * No operation uses it when this returns, or before it was made again.
 *
 * Context: May sleep, waits for a grace period.  Holds wort_pool.work_lock and
 * nothing else.
 */
void wort_rebuild_again(struct wort_index *index)
{
	struct wort_pool *pool = index->pool;

	lockdep_assert_held(&pool->work_lock);
	/*
	 * An operation that excludes writers holds the mutex, and an atomic
	 * batch the semaphore: it has found that the index can be used.
	 */
	down_write(&pool->atomic_sem);
	mutex_lock(&pool->lock);
	wort_index_set_unbuilt(index, true);
	mutex_unlock(&pool->lock);
	up_write(&pool->atomic_sem);
	wort_locks_synchronize(&pool->locks);
}

/* Has another attempt ended than those before? */
static bool attempt_ended(const struct wort_index *index, u32 before)
{
	/* pairs with the release in wort_rebuild_end() */
	return smp_load_acquire(&index->rebuilds) != before;
}

/**
 * wort_rebuild_wait() - Wait until an index can be used
 * @index: The index, held; wort_index.shut was found set.
 *
 * Context: May sleep, killably.  Holds no lock, and is in no section.
 * Return: 0: it can, or could for a time; -ESTALE if it was destroyed; -ENOMEM;
 * -EINTR; -ENODEV.
 */
int wort_rebuild_wait(struct wort_index *index)
{
	struct wort_pool *pool = index->pool;
	u32 nr;
	int err;

	do {
		nr = READ_ONCE(index->rebuilds);
		if (READ_ONCE(index->dead))
			return -ESTALE;
		if (!READ_ONCE(index->unbuilt))
			return 0;
		wort_due_add(index, &pool->rebuild, &index->rebuild);
		if (wait_event_state(pool->work_done,
				     attempt_ended(index, nr) ||
					     READ_ONCE(index->dead) ||
					     READ_ONCE(pool->stopping),
				     wort_pool_waiting(pool)))
			return -EINTR;
		if (READ_ONCE(pool->stopping))
			return -ENODEV;
		err = READ_ONCE(index->rebuild_err);
		/* The attempt of a check that was killed ends like this. */
	} while (err != -ENOMEM);
	return err;
}
