// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include <linux/mutex.h>

#include "../lib/owned.h"
#include "sched.h"

#define STACK_SIZE	(256 << 10)

struct sched sched;

static struct {
	ucontext_t context;
	void *stack;
	bool done;
} threads[SCHED_THREADS];

static ucontext_t outside;
static uint32_t nr_threads, preempted;
static int running = -1;
static void (*thread_main)(uint32_t nr);

static uint32_t draw(uint32_t n)
{
	return pick(&sched.random, n);
}

/* The next decision: as prescribed, or the first option. */
static uint32_t decide(uint32_t options)
{
	struct decision *d = &sched.decisions[sched.at];

	if (options < 2)
		return 0;
	if (sched.random)
		return draw(options);
	if (sched.at == sched.nr_decisions) {
		if (sched.nr_decisions == SCHED_DECISIONS) {
			fprintf(stderr, "explore: steps with more decisions than SCHED_DECISIONS\n");
			abort();
		}
		d->taken = 0;
		sched.nr_decisions++;
	}
	/* Prescribed by a person, it may be any number. */
	if (d->taken >= options)
		d->taken = 0;
	d->options = options;
	sched.at++;
	return d->taken;
}

bool sched_next(void)
{
	while (sched.nr_decisions) {
		struct decision *d = &sched.decisions[sched.nr_decisions - 1];

		if (++d->taken < d->options)
			return true;
		sched.nr_decisions--;
	}
	return false;
}

/* Those that can go on, but for the one that runs. */
static uint32_t others(uint32_t *list)
{
	uint32_t i, nr = 0;

	for (i = 0; i < nr_threads; i++)
		if ((int)i != running && !threads[i].done)
			list[nr++] = i;
	return nr;
}

/* A thread that waits may hold a mutex: that is its own. */
static void switch_to(uint32_t to)
{
	int from = running, held = shim_locks_held, quiet = shim_locks_quiet;
	int spins = shim_atomic;

	running = to;
	shim_locks_held = 0;
	shim_atomic = 0;
	shim_locks_quiet = 0;
	swapcontext(&threads[from].context, &threads[to].context);
	shim_locks_held = held;
	shim_atomic = spins;
	shim_locks_quiet = quiet;
}

/* May it be preempted here?  Under a mutex nothing happens that others could see. */
static bool may_preempt(void)
{
	if (running < 0 || shim_locks_quiet)
		return false;
	return sched.random ? !draw(sched.odds) : preempted < sched.preemptions;
}

void sched_point(void)
{
	uint32_t list[SCHED_THREADS], nr, taken;

	if (!may_preempt())
		return;
	nr = others(list);
	taken = decide(nr + 1);
	if (!taken)
		return;
	preempted++;
	switch_to(list[taken - 1]);
}

/*
 * For a thread that waits for what another one will do: the next one runs, in a
 * circle, since it may be any, or a random one.  False if there is none.
 */
bool shim_others(void)
{
	uint32_t list[SCHED_THREADS], nr, i;

	if (running < 0)
		return false;
	nr = others(list);
	if (!nr)
		return false;
	for (i = 0; i < nr && (int)list[i] < running; i++)
		;
	switch_to(list[sched.random ? draw(nr) : i % nr]);
	return true;
}

uint32_t sched_thread(void)
{
	return running + 1;
}

static void start(void)
{
	thread_main(running);
	threads[running].done = true;
}

void sched_run(uint32_t nr, void (*thread)(uint32_t nr))
{
	uint32_t list[SCHED_THREADS], i;

	nr_threads = nr;
	thread_main = thread;
	preempted = 0;
	sched.at = 0;
	for (i = 0; i < nr; i++) {
		if (!threads[i].stack)
			threads[i].stack = malloc(STACK_SIZE);
		getcontext(&threads[i].context);
		threads[i].context.uc_stack.ss_sp = threads[i].stack;
		threads[i].context.uc_stack.ss_size = STACK_SIZE;
		threads[i].context.uc_link = &outside;
		threads[i].done = false;
		makecontext(&threads[i].context, start, 0);
	}
	while ((i = others(list))) {
		running = list[decide(i)];
		swapcontext(&outside, &threads[running].context);
		running = -1;
	}
}
