// SPDX-License-Identifier: GPL-2.0-only
/* The parts of the shim that are other with threads. */
#include <pthread.h>

#include <linux/percpu.h>
#include <linux/srcu.h>
#include <linux/workqueue.h>

int shim_rcu;
__thread int shim_cpu;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static struct work_struct *queued, *running;

void shim_thread_begin(u32 cpu)
{
	shim_cpu = cpu;
	urcu_memb_register_thread();
	urcu_mb_register_thread();
}

void shim_thread_end(void)
{
	urcu_mb_unregister_thread();
	urcu_memb_unregister_thread();
}

static void *worker(void *arg)
{
	shim_thread_begin(SHIM_CPUS - 1);
	pthread_mutex_lock(&lock);
	for (;;) {
		while (!queued)
			pthread_cond_wait(&change, &lock);
		running = queued;
		queued = NULL;
		pthread_mutex_unlock(&lock);
		running->func(running);
		pthread_mutex_lock(&lock);
		running = NULL;
		pthread_cond_broadcast(&change);
	}
	return NULL;
}

bool queue_work(struct workqueue_struct *wq, struct work_struct *work)
{
	static bool started;
	pthread_t thread;

	pthread_mutex_lock(&lock);
	if (!started)
		pthread_create(&thread, NULL, worker, NULL);
	started = true;
	queued = work;
	pthread_cond_broadcast(&change);
	pthread_mutex_unlock(&lock);
	return true;
}

bool cancel_work_sync(struct work_struct *work)
{
	pthread_mutex_lock(&lock);
	queued = NULL;
	while (running)
		pthread_cond_wait(&change, &lock);
	pthread_mutex_unlock(&lock);
	return true;
}

bool shim_run_work(void)
{
	pthread_mutex_lock(&lock);
	while (queued || running)
		pthread_cond_wait(&change, &lock);
	pthread_mutex_unlock(&lock);
	return false;
}
