// SPDX-License-Identifier: GPL-2.0-only
/*
 * Locks of nodes: trying one while others are held.
 */
#include "../../kmod/core/pmem.h"
#include "unit.h"

static struct wort_locks locks;
static struct wort_region region;

static void op_begin(struct wort_op *op)
{
	wort_op_begin(op, &region, NULL);
	op->locks = &locks;
	op->time = wort_locks_now(&locks);
}

/* A node with another lock than @node, or with @same another node with the same one. */
static u64 other_node(u64 node, bool same)
{
	u64 other = node + 64;

	while ((wort_lock_nr(other) == wort_lock_nr(node)) != same)
		other += 64;
	return other;
}

static void end_all(struct wort_op *a, struct wort_op *b)
{
	wort_nodes_unlock(a);
	wort_nodes_unlock(b);
}

void check_lock_try(void)
{
	u64 node = 4096, other = other_node(node, false), twin = other_node(node, true);
	struct wort_op a, b;

	CHECK_EQ(wort_locks_init(&locks), 0);
	op_begin(&a);
	op_begin(&b);
	CHECK(wort_node_lock(&a, node));
	CHECK(wort_node_lock(&b, other));
	CHECK(!wort_node_trylock(&b, node));
	CHECK(!wort_node_trylock(&a, other));
	CHECK_EQ(a.nr_held, 1);
	CHECK_EQ(b.nr_held, 1);
	/* What it holds already it need not take. */
	CHECK(wort_node_trylock(&a, node));
	CHECK(wort_node_trylock(&a, twin));
	CHECK_EQ(a.nr_held, 1);
	wort_nodes_unlock(&b);
	CHECK(wort_node_trylock(&a, other));
	CHECK_EQ(a.nr_held, 2);
	end_all(&a, &b);
	CHECK(wort_node_lock(&b, other));
	wort_nodes_unlock(&b);

	/* A node that was removed is not locked, and the next one can lock its place. */
	CHECK(wort_node_lock(&b, node));
	wort_nodes_removed(&b, node, 0);
	wort_nodes_unlock(&b);
	CHECK(wort_node_lock(&a, other));
	CHECK(!wort_node_trylock(&a, node));
	CHECK_EQ(a.nr_held, 1);
	op_begin(&b);
	CHECK(wort_node_lock(&b, node));
	end_all(&a, &b);
	wort_locks_destroy(&locks);
	memset(&locks, 0, sizeof(locks));
}
