// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Functions of libwort that a test can hold up.  The test's extension is linked with
 * this before libwort; the test itself calls the hold_ functions.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include <wort.h>

struct call {
	const char *name;
	bool armed;
	bool wait;		/* hold up the first call */
	bool go_on;
	int nr;
	int at_once;
	int most_at_once;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct call calls[32];

/*
 * In a child no other thread is there to release the lock, nor one of those that wait: a
 * broadcast may wait until threads that it has woken before have gone.
 */
static void lock_all(void)
{
	pthread_mutex_lock(&lock);
}

static void unlock_all(void)
{
	pthread_mutex_unlock(&lock);
}

static void begin_child(void)
{
	pthread_cond_init(&changed, NULL);
	pthread_mutex_unlock(&lock);
}

static void __attribute__((constructor)) watch_forks(void)
{
	pthread_atfork(lock_all, unlock_all, begin_child);
}

/* With the lock held. */
static struct call *find(const char *name)
{
	unsigned int i;

	for (i = 0; i < sizeof(calls) / sizeof(*calls) - 1; i++)
		if (!calls[i].name || !strcmp(calls[i].name, name))
			break;
	calls[i].name = name;
	return &calls[i];
}

static void before(const char *name)
{
	struct call *call;
	int nr;

	pthread_mutex_lock(&lock);
	call = find(name);
	nr = call->nr++;
	call->at_once++;
	if (call->at_once > call->most_at_once)
		call->most_at_once = call->at_once;
	pthread_cond_broadcast(&changed);
	while (call->armed && call->wait && !nr && !call->go_on)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static void after(const char *name)
{
	pthread_mutex_lock(&lock);
	find(name)->at_once--;
	pthread_mutex_unlock(&lock);
}

void hold_arm(const char *name, bool wait)
{
	struct call *call;

	pthread_mutex_lock(&lock);
	call = find(strdup(name));
	*call = (struct call){ .name = call->name, .armed = true, .wait = wait };
	pthread_mutex_unlock(&lock);
}

void hold_go_on(const char *name)
{
	pthread_mutex_lock(&lock);
	find(name)->go_on = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

/* Whether a call has begun within a minute. */
bool hold_begun(const char *name)
{
	struct timespec until;
	bool begun;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 60;
	pthread_mutex_lock(&lock);
	while (!find(name)->nr &&
	       !pthread_cond_timedwait(&changed, &lock, &until))
		;
	begun = find(name)->nr;
	pthread_mutex_unlock(&lock);
	return begun;
}

int hold_nr(const char *name)
{
	int nr;

	pthread_mutex_lock(&lock);
	nr = find(name)->nr;
	pthread_mutex_unlock(&lock);
	return nr;
}

int hold_most_at_once(const char *name)
{
	int most;

	pthread_mutex_lock(&lock);
	most = find(name)->most_at_once;
	pthread_mutex_unlock(&lock);
	return most;
}

#define REAL(name)							\
	__typeof__(name) *real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

#define HOLD(name, params, args)					\
	int name params							\
	{								\
		REAL(name);						\
		int answer;						\
									\
		before(#name);						\
		answer = real args;					\
		after(#name);						\
		return answer;						\
	}

#define HOLD_VOID(name, params, args)					\
	void name params						\
	{								\
		REAL(name);						\
									\
		before(#name);						\
		real args;						\
		after(#name);						\
	}

HOLD_VOID(wort_pool_close,
	  (struct wort_pool *pool),
	  (pool))
HOLD(wort_pool_list,
     (struct wort_pool *pool, uint64_t last, struct wort_index_record *records,
      unsigned int max, bool *more),
     (pool, last, records, max, more))
HOLD(wort_pool_destroy,
     (struct wort_pool *pool, const char *name),
     (pool, name))
HOLD(wort_pool_rename,
     (struct wort_pool *pool, const char *name, const char *new_name),
     (pool, name, new_name))
HOLD(wort_index_open,
     (struct wort_pool *pool, const char *name,
      const struct wort_index_opts *opts, struct wort_index **out),
     (pool, name, opts, out))
HOLD_VOID(wort_index_close,
	  (struct wort_index *index),
	  (index))
HOLD(wort_index_stats,
     (struct wort_index *index, struct wort_op_stats *stats, size_t stride,
      unsigned int nr),
     (index, stats, stride, nr))
HOLD(wort_put,
     (struct wort_index *index, const void *key, size_t key_len,
      const void *value, size_t value_len, uint32_t flags),
     (index, key, key_len, value, value_len, flags))
HOLD(wort_get,
     (struct wort_index *index, const void *key, size_t key_len, void *value,
      size_t *value_len),
     (index, key, key_len, value, value_len))
HOLD(wort_del_if,
     (struct wort_index *index, const void *key, size_t key_len,
      const void *expect, size_t expect_len, struct wort_old *old),
     (index, key, key_len, expect, expect_len, old))
HOLD(wort_count,
     (struct wort_index *index, const struct wort_scan_opts *opts,
      uint64_t *count),
     (index, opts, count))
HOLD(wort_scan_begin,
     (struct wort_index *index, const struct wort_scan_opts *opts,
      struct wort_scan **out),
     (index, opts, out))
HOLD(wort_scan_next,
     (struct wort_scan *scan, struct wort_scan_item *item),
     (scan, item))
HOLD_VOID(wort_scan_end,
	  (struct wort_scan *scan),
	  (scan))
HOLD(wort_batch_submit,
     (struct wort_batch *batch, struct wort_index *index, uint32_t flags),
     (batch, index, flags))
HOLD_VOID(wort_batch_free,
	  (struct wort_batch *batch),
	  (batch))
HOLD(wort_atomic_commit,
     (struct wort_atomic *atomic, unsigned int *refused),
     (atomic, refused))
