/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* As linux/rwsem.h has it; threads take turns while they hold it for reading. */
#ifndef _SHIM_RWSEM_H
#define _SHIM_RWSEM_H

#include <linux/bug.h>
#include <linux/turns.h>

struct rw_semaphore {
	int readers;
	bool writer;
};

#define init_rwsem(sem)	(*(sem) = (struct rw_semaphore){ })

static inline void down_read(struct rw_semaphore *sem)
{
	might_sleep();
	while (sem->writer)
		if (WARN_ON_ONCE(!shim_others()))
			break;
	sem->readers++;
	barrier();
}

static inline void up_read(struct rw_semaphore *sem)
{
	barrier();
	WARN_ON_ONCE(--sem->readers < 0);
}

static inline void down_write(struct rw_semaphore *sem)
{
	might_sleep();
	while (sem->writer || sem->readers)
		if (WARN_ON_ONCE(!shim_others()))
			break;
	sem->writer = true;
	barrier();
}

static inline int down_write_trylock(struct rw_semaphore *sem)
{
	if (sem->writer || sem->readers)
		return 0;
	sem->writer = true;
	barrier();
	return 1;
}

static inline void up_write(struct rw_semaphore *sem)
{
	barrier();
	WARN_ON_ONCE(!sem->writer);
	sem->writer = false;
}

#define lockdep_assert_held_write(sem)	WARN_ON_ONCE(!(sem)->writer)

#endif
