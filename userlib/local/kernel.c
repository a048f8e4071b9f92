// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What the portable layers use of a kernel with threads: processors, grace periods, wait
 * queues, background work.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <linux/bug.h>
#include <linux/kernel.h>
#include <linux/rcupdate.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#define GRACE_SPINS	64	/* looks at the counters before a grace period sleeps */
#define GRACE_SLEEP_US	20

/* A warning of the kernel goes on, too. */
void shim_warn(const char *file, int line, const char *what)
{
	fprintf(stderr, "libwort: %s:%d: %s\n", file, line, what);
}

/* Which processor a thread is: its number in the order in which threads came. */
unsigned int local_cpu(void)
{
	static __thread unsigned int cpu = SHIM_CPUS;
	static unsigned int nr;

	if (unlikely(cpu == SHIM_CPUS))
		cpu = __atomic_fetch_add(&nr, 1, __ATOMIC_RELAXED) % SHIM_CPUS;
	return cpu;
}

struct srcu_struct local_rcu = { .grace = PTHREAD_MUTEX_INITIALIZER };
__thread struct local_section local_section;

int init_srcu_struct(struct srcu_struct *ssp)
{
	*ssp = (struct srcu_struct){ .grace = PTHREAD_MUTEX_INITIALIZER };
	return 0;
}

/* Sections of the threads that a child has not do not end. */
void local_begin_child(void)
{
	init_srcu_struct(&local_rcu);
}

void cleanup_srcu_struct(struct srcu_struct *ssp)
{
	pthread_mutex_destroy(&ssp->grace);
}

/*
 * Ends are summed before begins: a section that begins between the two sums makes the
 * sums differ, and one that ends there cannot make them equal.
 */
static bool all_ended(const struct srcu_struct *ssp, unsigned int set)
{
	unsigned long begun = 0, ended = 0;
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		ended += __atomic_load_n(&ssp->of[cpu].ended[set], __ATOMIC_SEQ_CST);
	for_each_possible_cpu(cpu)
		begun += __atomic_load_n(&ssp->of[cpu].begun[set], __ATOMIC_SEQ_CST);
	return begun == ended;
}

static void wait_for_set(const struct srcu_struct *ssp, unsigned int set)
{
	unsigned int looks;

	for (looks = 0; !all_ended(ssp, set); looks++)
		if (looks >= GRACE_SPINS)
			usleep(GRACE_SLEEP_US);
}

/*
 * A thread may have read which set counts, and count in it only after a whole grace
 * period.  So the other set is waited for, too, before it counts again.
 */
void synchronize_srcu(struct srcu_struct *ssp)
{
	unsigned int set;

	pthread_mutex_lock(&ssp->grace);
	set = ssp->set;
	wait_for_set(ssp, !set);
	__atomic_store_n(&ssp->set, !set, __ATOMIC_SEQ_CST);
	wait_for_set(ssp, set);
	pthread_mutex_unlock(&ssp->grace);
}

void init_waitqueue_head(wait_queue_head_t *wq)
{
	wq->waiting = 0;
	pthread_mutex_init(&wq->lock, NULL);
	pthread_cond_init(&wq->woken, NULL);
}

/* What the condition looks at was stored before; its look comes after the count. */
void wake_up_all(wait_queue_head_t *wq)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&wq->waiting, __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&wq->lock);
	pthread_cond_broadcast(&wq->woken);
	pthread_mutex_unlock(&wq->lock);
}

void local_wait_begin(wait_queue_head_t *wq)
{
	pthread_mutex_lock(&wq->lock);
	__atomic_fetch_add(&wq->waiting, 1, __ATOMIC_SEQ_CST);
}

void local_wait_end(wait_queue_head_t *wq)
{
	__atomic_fetch_sub(&wq->waiting, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&wq->lock);
}

struct workqueue_struct {
	pthread_mutex_t lock;
	pthread_cond_t change;
	pthread_t thread;
	struct work_struct *queued, *running;
	bool ended;
};

static void *worker(void *data)
{
	struct workqueue_struct *wq = data;

	pthread_mutex_lock(&wq->lock);
	while (!wq->ended) {
		if (!wq->queued) {
			pthread_cond_wait(&wq->change, &wq->lock);
			continue;
		}
		wq->running = wq->queued;
		wq->queued = NULL;
		pthread_mutex_unlock(&wq->lock);
		wq->running->func(wq->running);
		pthread_mutex_lock(&wq->lock);
		wq->running = NULL;
		pthread_cond_broadcast(&wq->change);
	}
	pthread_mutex_unlock(&wq->lock);
	return NULL;
}

/* The program's signals are for its own threads, but for those that a thread causes. */
static int start(struct workqueue_struct *wq)
{
	static const int caused[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP };
	sigset_t all, before;
	unsigned int i;
	int err;

	sigfillset(&all);
	for (i = 0; i < ARRAY_SIZE(caused); i++)
		sigdelset(&all, caused[i]);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&wq->thread, NULL, worker, wq);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

struct workqueue_struct *alloc_ordered_workqueue(const char *name, unsigned int flags)
{
	struct workqueue_struct *wq = calloc(1, sizeof(*wq));

	if (!wq)
		return NULL;
	pthread_mutex_init(&wq->lock, NULL);
	pthread_cond_init(&wq->change, NULL);
	if (!start(wq))
		return wq;
	free(wq);
	return NULL;
}

void destroy_workqueue(struct workqueue_struct *wq)
{
	pthread_mutex_lock(&wq->lock);
	wq->ended = true;
	pthread_cond_broadcast(&wq->change);
	pthread_mutex_unlock(&wq->lock);
	pthread_join(wq->thread, NULL);
	free(wq);
}

bool queue_work(struct workqueue_struct *wq, struct work_struct *work)
{
	pthread_mutex_lock(&wq->lock);
	work->wq = wq;
	wq->queued = work;
	pthread_cond_broadcast(&wq->change);
	pthread_mutex_unlock(&wq->lock);
	return true;
}

bool cancel_work_sync(struct work_struct *work)
{
	struct workqueue_struct *wq = work->wq;

	if (!wq)
		return false;
	pthread_mutex_lock(&wq->lock);
	wq->queued = NULL;
	while (wq->running)
		pthread_cond_wait(&wq->change, &wq->lock);
	pthread_mutex_unlock(&wq->lock);
	return true;
}
