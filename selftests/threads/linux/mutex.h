/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef _THREADS_MUTEX_H
#define _THREADS_MUTEX_H

#include <pthread.h>

#include <linux/turns.h>

struct mutex {
	pthread_mutex_t mutex;
};

static inline void mutex_init(struct mutex *lock)
{
	pthread_mutex_init(&lock->mutex, NULL);
}

static inline void mutex_destroy(struct mutex *lock)
{
	pthread_mutex_destroy(&lock->mutex);
}

static inline void mutex_lock(struct mutex *lock)
{
	might_sleep();
	WARN_ON_ONCE(pthread_mutex_lock(&lock->mutex));
}

/* Nobody is killed here. */
static inline int mutex_lock_killable(struct mutex *lock)
{
	mutex_lock(lock);
	return 0;
}

static inline int mutex_trylock(struct mutex *lock)
{
	return !pthread_mutex_trylock(&lock->mutex);
}

static inline void mutex_unlock(struct mutex *lock)
{
	WARN_ON_ONCE(pthread_mutex_unlock(&lock->mutex));
}

#define lockdep_assert_held(lock) ((void)(lock))

#endif
