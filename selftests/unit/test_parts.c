// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parts of objects: freed, in a grace period, and free again.
 */
#include "space.h"

/* What an engine has for a chunk of 64 cells. */
static struct chunk {
	struct wort_parts parts;
	struct bed *bed;
	u64 freed;
	u64 waiting;
	u64 free;
	u64 generation;		/* when they were collected */
	u32 grace_periods;	/* until the cells that wait were collected */
	u64 object;		/* freed, and not to be given back before the cells */
} chunk;

static u32 grace_periods;
static void (*in_section)(void);

static void on_grace_period(void)
{
	grace_periods++;
	if (in_section)
		in_section();
}

static u64 collect(struct wort_parts *parts)
{
	struct chunk *c = container_of(parts, struct chunk, parts);

	CHECK(!c->waiting);
	c->waiting = c->freed;
	c->freed = 0;
	c->grace_periods = grace_periods;
	c->generation = space_alloc(c->bed)->locks->control->generation;
	return hweight_long(c->waiting) * 64;
}

/* Cells are used again after a grace period, and readers in a mapping know of it. */
static void reclaim(struct wort_parts *parts, struct wort_op *op)
{
	struct chunk *c = container_of(parts, struct chunk, parts);

	if (c->waiting) {
		CHECK_GE(grace_periods, c->grace_periods + 1);
		CHECK_EQ(op->alloc->locks->control->generation, c->generation + 1);
	}
	c->free |= c->waiting;
	c->waiting = 0;
	if (c->object)
		CHECK(op->alloc->freeing_bytes);
}

static void chunk_begin(struct bed *bed)
{
	chunk = (struct chunk){
		.parts = { collect, reclaim }, .bed = bed,
	};
	grace_periods = 0;
	in_section = NULL;
	shim_in_grace_period = on_grace_period;
}

static void free_cell(u32 nr)
{
	wort_alloc_parts_freed(space_alloc(chunk.bed), 64);
	chunk.freed |= BIT(nr);
}

static bool run(struct bed *bed)
{
	struct wort_op op;
	bool any;

	space_begin(bed, &op);
	any = wort_alloc_reclaim(&op, &chunk.parts);
	wort_op_end(&op);
	return any;
}

/* A cell is freed while others wait: it is for the next grace period. */
static void free_another(void)
{
	in_section = NULL;
	free_cell(9);
}

static void check_cells(struct bed *bed)
{
	u64 generation = space_alloc(bed)->locks->control->generation;
	u64 released = space_alloc(bed)->released;

	CHECK(!wort_alloc_freeing(space_alloc(bed)));
	CHECK(!run(bed));
	CHECK_EQ(grace_periods, 0);
	free_cell(3);
	free_cell(63);
	CHECK(wort_alloc_freeing(space_alloc(bed)));
	in_section = free_another;
	CHECK(run(bed));
	CHECK_GE(grace_periods, 1);
	CHECK_EQ(chunk.free, BIT(3) | BIT(63));
	CHECK_EQ(chunk.freed, BIT(9));
	CHECK(wort_alloc_freeing(space_alloc(bed)));
	CHECK_EQ(space_alloc(bed)->locks->control->generation, generation + 1);
	CHECK_NE(space_alloc(bed)->released, released);
	CHECK(run(bed));
	CHECK(chunk.free & BIT(9));
	CHECK(!wort_alloc_freeing(space_alloc(bed)));
	CHECK(!run(bed));
}

void check_parts_cells(void)
{
	struct wort_op op;
	struct bed bed;
	u64 off;

	bed_open(&bed, MIB, 4096);
	chunk_begin(&bed);
	check_cells(&bed);
	/* With an object that goes back at the same time, after the cells. */
	space_begin(&bed, &op);
	CHECK_EQ(wort_alloc_reserve(&op, 200), 0);
	off = wort_alloc_take(&op);
	wort_pm_fence(&op);
	wort_op_end(&op);
	CHECK_EQ(space_give(&bed, off, 200), 0);
	chunk.object = off;
	free_cell(1);
	CHECK(run(&bed));
	CHECK(chunk.free & BIT(1));
	CHECK(!wort_alloc_freeing(space_alloc(&bed)));
	/* The index is closed before they go back. */
	chunk.object = 0;
	free_cell(2);
	wort_alloc_parts_dropped(space_alloc(&bed), 64);
	CHECK(!wort_alloc_freeing(space_alloc(&bed)));
	shim_in_grace_period = NULL;
	bed_check(&bed);
	bed_close(&bed);
}

/* An operation that finds no space waits for cells, too; so it does in the walk. */
void check_parts_waited_for(void)
{
	struct wort_op op;
	struct bed bed;

	bed_open(&bed, MIB, 4096);
	bed_detach(&bed);
	bed_attach(&bed);
	CHECK(space_alloc(&bed)->walking);
	chunk_begin(&bed);
	free_cell(5);
	CHECK(run(&bed));
	CHECK(chunk.free & BIT(5));
	shim_in_grace_period = NULL;
	pmpool_settle();
	space_begin(&bed, &op);
	op.released = space_alloc(&bed)->released;
	CHECK_EQ(wort_pool_wait_space(bed.pm.pool, &op), -ENOSPC);
	free_cell(6);
	CHECK_EQ(wort_pool_wait_space(bed.pm.pool, &op), 0);
	wort_alloc_parts_dropped(space_alloc(&bed), 64);
	bed_close(&bed);
}

/* Where much was freed, the background is told, also if that are parts alone. */
void check_parts_kick(void)
{
	struct bed bed;

	bed_open(&bed, MIB, 4096);
	pmpool_settle();
	CHECK_EQ(pm_put(bed.index, "key", 3, "value", 5), 0);
	CHECK(!shim_run_work());
	wort_alloc_parts_freed(space_alloc(&bed), MIB);
	CHECK_EQ(pm_put(bed.index, "key", 3, "value", 5), 0);
	CHECK(shim_run_work());
	wort_alloc_parts_dropped(space_alloc(&bed), MIB);
	bed_close(&bed);
}
