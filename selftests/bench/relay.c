// SPDX-License-Identifier: GPL-2.0-only
#include <stdbool.h>
#include <stdlib.h>
#include <ucontext.h>

#include "pmpool.h"
#include "relay.h"

#define STACK_SIZE	(8U << 20)

static struct runner {
	ucontext_t context;
	void (*run)(void *arg);
	void *arg;
	void *stack;
	unsigned int met;
	bool ended;
} runners[RELAY_MAX];

static ucontext_t finish;
static unsigned int nr_runners, current_runner;

/* The one after the one that runs, perhaps itself; NULL: all have ended. */
static struct runner *next_runner(void)
{
	unsigned int i;

	for (i = 1; i <= nr_runners; i++) {
		unsigned int next = (current_runner + i) % nr_runners;

		if (!runners[next].ended) {
			current_runner = next;
			return &runners[next];
		}
	}
	return NULL;
}

static void leg(void)
{
	struct runner *next, *runner = &runners[current_runner];

	runner->run(runner->arg);
	runner->ended = true;
	next = next_runner();
	setcontext(next ? &next->context : &finish);
}

static void runner_init(struct runner *runner, void (*run)(void *arg), void *arg)
{
	*runner = (struct runner){
		.run = run, .arg = arg, .stack = malloc(STACK_SIZE),
	};
	if (!runner->stack || getcontext(&runner->context))
		die("no memory");
	runner->context.uc_stack.ss_sp = runner->stack;
	runner->context.uc_stack.ss_size = STACK_SIZE;
	makecontext(&runner->context, leg, 0);
}

void relay_run(unsigned int nr, void (*run)(void *arg), void *const *arg)
{
	unsigned int i;

	nr_runners = nr;
	for (i = 0; i < nr; i++)
		runner_init(&runners[i], run, arg[i]);
	current_runner = 0;
	if (nr)
		swapcontext(&finish, &runners[0].context);
	for (i = 0; i < nr; i++)
		free(runners[i].stack);
}

void relay_pass(void)
{
	struct runner *runner = &runners[current_runner], *next = next_runner();

	if (next != runner)
		swapcontext(&runner->context, &next->context);
}

static bool somebody_behind(unsigned int met)
{
	unsigned int i;

	for (i = 0; i < nr_runners; i++)
		if (!runners[i].ended && runners[i].met < met)
			return true;
	return false;
}

void relay_meet(void)
{
	unsigned int met = ++runners[current_runner].met;

	while (somebody_behind(met))
		relay_pass();
}
