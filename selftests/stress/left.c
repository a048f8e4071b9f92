// SPDX-License-Identifier: GPL-2.0-only
/*
 * Atomic batches that only look, in a pool that is read-only for a list that was
 * left behind, beside a check that carries it out: all end, and find what the
 * list says.
 */
#include <linux/rcupdate.h>
#include <linux/turn.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../kmod/pool/gate.h"
#include "../engines/engines.h"
#include "pmpool.h"

#define NR_LOOKERS	4
#define NR_ROUNDS	20
#define SECONDS		120	/* to give up after, not to wait for */

static struct pmpool pm;
static struct wort_index *index_a, *index_b;
static char low[16];		/* a key whose gate is before that of "a" */
static bool ended;

__thread u32 shim_random;

static void fail(const char *what, long was)
{
	printf("# %s: %ld\nnot ok 1 batches beside a list that was left behind\n", what, was);
	exit(1);
}

struct batch {
	struct wort_index *indexes[3];
	struct wort_request reqs[3];
	u32 nr;
};

static void add(struct batch *batch, u16 op, struct wort_index *index,
		const char *key, char *value)
{
	struct wort_request *req = &batch->reqs[batch->nr];

	*req = (struct wort_request){
		.op = { .op = op, .key_len = strlen(key),
			.max_len = op == WORT_BATCH_LOOKUP },
		.put.key = { (const u8 *)key, strlen(key) },
		.put.value = { value, op == WORT_BATCH_INSERT },
		.answer = { (u8 *)value, op == WORT_BATCH_LOOKUP },
	};
	batch->indexes[batch->nr++] = index;
}

static int run(struct batch *batch)
{
	struct wort_atomic atomic = {
		.reqs = batch->reqs, .indexes = batch->indexes,
		.nr_ops = batch->nr,
	};

	return wort_pool_atomic(pm.pool, &atomic);
}

static void look(void)
{
	char none = 0, a = 0, b = 0;
	struct batch batch = { };
	int err;

	add(&batch, WORT_BATCH_LOOKUP, index_a, low, &none);
	add(&batch, WORT_BATCH_LOOKUP, index_a, "a", &a);
	add(&batch, WORT_BATCH_LOOKUP, index_b, "b", &b);
	err = run(&batch);
	if (err)
		fail("a batch that only looks", err);
	if (a != '2' || b != '2')
		fail("values of a list that is committed", a << 8 | b);
}

static void *look_on(void *nr)
{
	shim_thread_begin((long)nr + 2);
	while (!__atomic_load_n(&ended, __ATOMIC_ACQUIRE))
		look();
	shim_thread_end();
	return NULL;
}

static void *check(void *none)
{
	struct wort_check_arg arg = {
		.size = sizeof(arg), .flags = WORT_CHECK_F_CLEAR,
	};
	int err;

	shim_thread_begin(1);
	err = wort_pool_check(pm.pool, &arg);
	if (err || arg.out_nr_damaged || READ_ONCE(pm.pool->damaged))
		fail("check", err);
	shim_thread_end();
	return NULL;
}

static int no_put(struct wort_op *op, struct wort_tree *tree, struct wort_put *put)
{
	return -EUCLEAN;
}

/* A batch is committed; its second change meets damage, once. */
static void leave_behind(void)
{
	const struct wort_engine *sound = index_b->tree.engine;
	struct wort_engine broken = *sound;
	struct batch batch = { };
	char value = '2';
	int err;

	broken.put = no_put;
	broken.batch_ops = NULL;
	index_b->tree.engine = &broken;
	add(&batch, WORT_BATCH_INSERT, index_a, "a", &value);
	add(&batch, WORT_BATCH_INSERT, index_b, "b", &value);
	err = run(&batch);
	index_b->tree.engine = sound;
	if (err != -EUCLEAN)
		fail("a batch that meets damage", err);
}

static void find_low(void)
{
	const struct wort_key a = { (const u8 *)"a", 1 };
	struct wort_key key;
	int i;

	for (i = 0;; i++) {
		snprintf(low, sizeof(low), "k%d", i);
		key = (struct wort_key){ (const u8 *)low, strlen(low) };
		if (wort_gate_nr(index_a->id, &key) < wort_gate_nr(index_a->id, &a))
			return;
	}
}

static void one_round(void)
{
	pthread_t lookers[NR_LOOKERS], checker;
	long i;

	pmpool_map(&pm, 4 << 20, false);
	pmpool_format(&pm, 4096);
	pmpool_attach(&pm);
	index_a = pmpool_index(&pm, "a");
	index_b = pmpool_index(&pm, "b");
	pm_put(index_a, "a", 1, "1", 1);
	pm_put(index_b, "b", 1, "1", 1);
	find_low();
	leave_behind();
	ended = false;
	for (i = 0; i < NR_LOOKERS; i++)
		pthread_create(&lookers[i], NULL, look_on, (void *)i);
	usleep(1000);
	pthread_create(&checker, NULL, check, NULL);
	pthread_join(checker, NULL);
	__atomic_store_n(&ended, true, __ATOMIC_RELEASE);
	for (i = 0; i < NR_LOOKERS; i++)
		pthread_join(lookers[i], NULL);
	look();
	wort_index_put(index_a);
	wort_index_put(index_b);
	pmpool_detach(&pm);
	pmpool_unmap(&pm);
}

int main(void)
{
	int i;

	printf("TAP version 13\n1..1\n");
	fflush(stdout);
	alarm(SECONDS);
	shim_thread_begin(0);
	for (i = 0; i < NR_ROUNDS; i++)
		one_round();
	printf("ok 1 batches beside a list that was left behind\n");
	return 0;
}
