/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _SHIM_MUTEX_H
#define _SHIM_MUTEX_H

#include <linux/compiler.h>
#include <pthread.h>

struct mutex {
	pthread_mutex_t lock;
};

#define mutex_init(m)		pthread_mutex_init(&(m)->lock, NULL)
#define mutex_destroy(m)	pthread_mutex_destroy(&(m)->lock)
#define mutex_lock(m)		pthread_mutex_lock(&(m)->lock)
#define mutex_unlock(m)		pthread_mutex_unlock(&(m)->lock)
#define lockdep_assert_held(m)	((void)(m))

#endif
