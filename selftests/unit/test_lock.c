// SPDX-License-Identifier: GPL-2.0-only
/*
 * Locks of nodes: trying one while others are held, and their sequence counts.
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

static void locks_end(void)
{
	wort_locks_destroy(&locks);
	memset(&locks, 0, sizeof(locks));
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
	locks_end();
}

static u32 sequence(u64 node)
{
	return locks.control->sequence[WORT_MAP_NODE(node)];
}

/* Only entries of the nodes that are named are odd, each of them once. */
void check_lock_sequence(void)
{
	u64 node = 4096, twin = other_node(node, true), other = other_node(node, false);
	u64 both[] = { node, twin, node }, all[] = { other, node };
	struct wort_op op;

	CHECK_EQ(wort_locks_init(&locks), 0);
	op_begin(&op);
	CHECK(wort_nodes_lock(&op, all, 2));
	wort_nodes_moving(&op, both, 3);
	CHECK_EQ(sequence(node), 1);
	CHECK_EQ(sequence(other), 0);
	wort_nodes_moved(&op);
	CHECK_EQ(sequence(node), 2);
	CHECK_EQ(op.moving, 0);
	/* What comes in a second call does not count twice, either. */
	wort_nodes_moving(&op, both, 1);
	wort_nodes_moving(&op, all, 2);
	CHECK_EQ(sequence(node), 3);
	CHECK_EQ(sequence(other), 1);
	wort_nodes_moved(&op);
	CHECK_EQ(sequence(node), 4);
	CHECK_EQ(sequence(other), 2);
	wort_nodes_unlock(&op);
	locks_end();
}

static void move(u64 node)
{
	struct wort_op op;

	op_begin(&op);
	CHECK(wort_node_lock(&op, node));
	wort_nodes_moving(&op, &node, 1);
	wort_nodes_moved(&op);
	wort_nodes_unlock(&op);
}

/* Is the lock free? */
static bool unlocked(u64 node)
{
	struct wort_op op;
	struct wort_lock *lock;

	op_begin(&op);
	lock = wort_lock_of(&op, node);
	if (!spin_trylock(&lock->lock))
		return false;
	spin_unlock(&lock->lock);
	return true;
}

void check_lock_read(void)
{
	u64 node = 4096, other = other_node(node, false);
	struct wort_node_read read = { .node = node }, again = read, own = read;
	struct wort_op reader, writer;
	u32 tries = 0;

	CHECK_EQ(wort_locks_init(&locks), 0);
	op_begin(&reader);
	op_begin(&writer);
	CHECK_EQ(wort_node_read_begin(&reader, &read), 0);
	move(other);
	CHECK(!wort_node_read_retry(&reader, &read));
	/* A writer that is always there is locked out in the end. */
	do {
		CHECK_EQ(wort_node_read_begin(&reader, &read), 0);
		if (!unlocked(node))
			break;
		move(node);
		CHECK(wort_node_read_retry(&reader, &read));
	} while (CHECK(++tries < 100));
	CHECK_GE(tries, 2);
	CHECK(!unlocked(node));
	CHECK(!wort_node_read_retry(&reader, &read));
	CHECK(unlocked(node));

	/* Who holds a lock does not wait, and what he holds himself is stable. */
	CHECK(wort_node_lock(&reader, other));
	CHECK(wort_node_lock(&writer, node));
	wort_nodes_moving(&writer, &node, 1);
	CHECK_EQ(wort_node_read_begin(&reader, &again), -EAGAIN);
	CHECK_EQ(wort_node_read_begin(&writer, &own), 0);
	CHECK(!wort_node_read_retry(&writer, &own));
	wort_nodes_moved(&writer);
	again = (struct wort_node_read){ .node = node };
	CHECK_EQ(wort_node_read_begin(&reader, &again), 0);
	CHECK(!wort_node_read_retry(&reader, &again));
	end_all(&reader, &writer);

	/* Without locks there are no others. */
	reader.locks = NULL;
	CHECK_EQ(wort_node_read_begin(&reader, &again), 0);
	CHECK(!wort_node_read_retry(&reader, &again));
	locks_end();
}
