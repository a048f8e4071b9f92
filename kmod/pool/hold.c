// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Holds: nothing in a pool is changed while a program reads all of it.
 *
 * An operation that excludes writers keeps wort_pool.lock for that time.  A
 * hold lasts until a program ends it, so it keeps no lock: it counts in
 * wort_pool.frozen.  With wort_pool.lock held, a count other than 0 therefore
 * is that of holds.
 *
 * An atomic batch takes effect at one moment, and its changes reach the trees
 * one after the other.  A hold begins while no batch holds
 * wort_pool.atomic_sem, and batches that come later wait before they commit:
 * the trees have all changes of a batch, or none.
 *
 * Background work goes on.  It gives space back and changes no record.
 */
#include <linux/errno.h>

#include "pool.h"

/**
 * wort_pool_wait_thawed() - Wait until no writer is excluded
 * @pool: The pool.
 *
 * Another task may exclude writers again before the caller looks: then the
 * caller waits again.
 *
 * Context: May sleep, killably.  Holds no lock and is in no section.
 * Return: 0; -EINTR; -ENODEV if the pool is being detached.
 */
int wort_pool_wait_thawed(struct wort_pool *pool)
{
	if (wait_event_state(pool->work_done,
			     !READ_ONCE(pool->frozen) ||
				     READ_ONCE(pool->stopping),
			     wort_pool_waiting(pool)))
		return -EINTR;
	return READ_ONCE(pool->stopping) ? -ENODEV : 0;
}

/**
 * wort_pool_lock_changes() - Take wort_pool.lock to change something
 * @pool: The pool.
 *
 * Waits for the end of holds.
 *
 * Context: May sleep, killably.  With 0 holds wort_pool.lock.
 * Return: 0; -EINTR; -ENODEV if the pool is being detached.
 */
int wort_pool_lock_changes(struct wort_pool *pool)
{
	int err;

	for (;;) {
		if (mutex_lock_killable(&pool->lock))
			return -EINTR;
		if (likely(!pool->frozen))
			return 0;
		mutex_unlock(&pool->lock);
		err = wort_pool_wait_thawed(pool);
		if (err)
			return err;
	}
}

/**
 * wort_pool_hold() - Keep a pool as it is until wort_pool_release()
 * @pool: The pool.
 * @held: Of the caller: whether it holds the pool.  Under wort_pool.lock.
 *
 * Operations under way end first.  Operations that would change a record or an
 * index wait, killably.
 *
 * Context: May sleep.  Nothing is locked.
 * Return: 0; -EBUSY if the caller holds it already, or a check that may drop
 * references runs; -EINTR; -ENODEV if the pool is being detached.
 */
int wort_pool_hold(struct wort_pool *pool, bool *held)
{
	int err = 0;

	/* No atomic batch is under way then, and none is left half done. */
	down_write(&pool->atomic_sem);
	if (mutex_lock_killable(&pool->lock)) {
		err = -EINTR;
		goto out;
	}
	if (*held || pool->clearing)
		err = -EBUSY;
	else if (READ_ONCE(pool->stopping))
		err = -ENODEV;
	else
		wort_pool_freeze(pool);
	*held |= !err;
	mutex_unlock(&pool->lock);
out:
	up_write(&pool->atomic_sem);
	return err;
}

/**
 * wort_pool_release() - End a hold
 * @pool: The pool.
 * @held: As for wort_pool_hold().
 *
 * Context: May sleep.  Nothing is locked.
 * Return: 0; -EINVAL if the caller does not hold it.
 */
int wort_pool_release(struct wort_pool *pool, bool *held)
{
	int err = 0;

	mutex_lock(&pool->lock);
	if (*held)
		wort_pool_thaw(pool);
	else
		err = -EINVAL;
	*held = false;
	mutex_unlock(&pool->lock);
	return err;
}
