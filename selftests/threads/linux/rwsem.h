/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* As linux/rwsem.h has it: readers that begin wait for a writer that waits. */
#ifndef _THREADS_RWSEM_H
#define _THREADS_RWSEM_H

#include <pthread.h>

#include <linux/bug.h>

struct rw_semaphore {
	pthread_rwlock_t lock;
};

static inline void init_rwsem(struct rw_semaphore *sem)
{
	pthread_rwlockattr_t attr;

	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&sem->lock, &attr);
}

static inline void down_read(struct rw_semaphore *sem)
{
	WARN_ON_ONCE(pthread_rwlock_rdlock(&sem->lock));
}

static inline void up_read(struct rw_semaphore *sem)
{
	WARN_ON_ONCE(pthread_rwlock_unlock(&sem->lock));
}

static inline void down_write(struct rw_semaphore *sem)
{
	WARN_ON_ONCE(pthread_rwlock_wrlock(&sem->lock));
}

static inline int down_write_trylock(struct rw_semaphore *sem)
{
	return !pthread_rwlock_trywrlock(&sem->lock);
}

static inline void up_write(struct rw_semaphore *sem)
{
	WARN_ON_ONCE(pthread_rwlock_unlock(&sem->lock));
}

/* It does not see whether this thread or another one holds the lock. */
#define lockdep_assert_held_write(sem)	\
	WARN_ON_ONCE(!pthread_rwlock_tryrdlock(&(sem)->lock))

#endif
