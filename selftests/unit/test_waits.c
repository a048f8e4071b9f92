// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waits: the event that a task waits for wakes it, and so does one that makes the wait
 * hopeless.  The test queues the event as background work, which the waiting task runs.  The
 * shim evaluates the condition again only after a wake, so a missing one leaves a deadlock.
 */
#include "../../kmod/pool/gate.h"
#include "../../kmod/pool/pool.h"
#include "../engines/unit.h"
#include "tests.h"

#define INSIDE	2	/* of a gate, for each change */

static struct bed bed;
static bool held;
static struct wort_redo *redo;
static u32 head;

/* Two gates, the lower one of which others leave alone. */
static const u16 gates[] = { 3, 7 };

static atomic_t *gate(u32 nr)
{
	return &bed.pm.pool->gates->gate[nr];
}

static u32 gate_of_a(void)
{
	return wort_gate_nr(bed.index->id, &(struct wort_key){ (u8 *)"a", 1 });
}

static void use_gates(void)
{
	CHECK_EQ(wort_gates_use(bed.pm.pool), 0);
}

static void hold(void)
{
	CHECK_EQ(wort_pool_hold(bed.pm.pool, &held), 0);
}

static void release(void)
{
	CHECK_EQ(wort_pool_release(bed.pm.pool, &held), 0);
}

static int put(void)
{
	return pm_put(bed.index, "a", 1, "v", 1);
}

static int close_gate_of_a(void)
{
	u16 nr = gate_of_a();

	return wort_gates_close(bed.pm.pool, &nr, 1, false);
}

static void close_a(void)
{
	use_gates();
	CHECK_EQ(close_gate_of_a(), 0);
}

static void open_a(void)
{
	u16 nr = gate_of_a();

	wort_gates_open(bed.pm.pool, &nr, 1);
}

static int wait_at_a(void)
{
	return wort_gate_wait(bed.index, &(struct wort_key){ (u8 *)"a", 1 });
}

static void close_second(void)
{
	use_gates();
	CHECK_EQ(wort_gates_close(bed.pm.pool, gates + 1, 1, false), 0);
}

static void open_second(void)
{
	wort_gates_open(bed.pm.pool, gates + 1, 1);
}

static void enter_second(void)
{
	use_gates();
	atomic_add(INSIDE, gate(gates[1]));
}

static int close_both(void)
{
	return wort_gates_close(bed.pm.pool, gates, 2, false);
}

static void verify_gates(u32 first, u32 second)
{
	CHECK_EQ(atomic_read(gate(gates[0])), first);
	CHECK_EQ(atomic_read(gate(gates[1])), second);
}

static void both_closed(void)
{
	verify_gates(WORT_GATE_CLOSED, WORT_GATE_CLOSED);
}

/* Who gives up has undone what it did, and nothing else. */
static void still_closed(void)
{
	verify_gates(0, WORT_GATE_CLOSED);
}

static void still_inside(void)
{
	verify_gates(0, INSIDE);
}

static void enter_a(void)
{
	use_gates();
	atomic_add(INSIDE, gate(gate_of_a()));
}

/* The gate is empty now.  A put that finds it closed wakes the task that waits for that. */
static void come_by(void)
{
	struct wort_put change;
	struct wort_op op;

	atomic_add(-INSIDE, gate(gate_of_a()));
	wort_op_begin(&op, bed.pm.pool->region, &bed.pm.pool->alloc);
	wort_put_init(&change, &(struct wort_key){ (u8 *)"a", 1 },
		      &(struct wort_value){ (u8 *)"v", 1 }, 0);
	CHECK_EQ(bed.index->engine->put(&op, &bed.index->tree, &change), -EINPROGRESS);
}

static void take_heads(void)
{
	u32 i;

	use_gates();
	for (i = 0; i < WORT_MEDIA_NR_HEADS; i++) {
		CHECK_EQ(wort_head_take(bed.pm.pool, &head), 0);
		CHECK_EQ(head, i);
	}
}

static int take_head(void)
{
	return wort_head_take(bed.pm.pool, &head);
}

static void give_head(void)
{
	wort_head_give(bed.pm.pool, 5);
}

static void fifth_head(void)
{
	CHECK_EQ(head, 5);
}

static void let_answer(void)
{
	use_gates();
	redo = wort_redo_alloc(sizeof(redo->media), GFP_KERNEL);
	CHECK(redo);
	redo->head = 1;
	wort_redo_register(bed.pm.pool, redo);
	wort_redo_answer(bed.pm.pool, redo);
}

static int wait_for_lists(void)
{
	return wort_redo_wait(bed.pm.pool);
}

static void end_list(void)
{
	wort_redo_unregister(bed.pm.pool, redo);
}

static void free_list(void)
{
	kvfree(redo);
}

static void free_answering(void)
{
	end_list();
	free_list();
}

static int hold_lists(void)
{
	return wort_redo_hold(bed.pm.pool);
}

static void held_lists(void)
{
	use_gates();
	CHECK_EQ(hold_lists(), 0);
}

static void release_lists(void)
{
	wort_redo_release(bed.pm.pool);
}

static void suspend(void)
{
	wort_pool_suspend(bed.pm.pool);
}

/* The work that it queues would wake everybody, too. */
static void resume(void)
{
	wort_pool_resume(bed.pm.pool);
	CHECK(cancel_work_sync(&bed.pm.pool->work));
}

static int rest(void)
{
	int stop;

	mutex_lock(&bed.pm.pool->work_lock);
	stop = wort_pool_rest(bed.pm.pool);
	mutex_unlock(&bed.pm.pool->work_lock);
	return stop;
}

static int wait_round(void)
{
	return wort_pool_wait_round(bed.pm.pool);
}

/* The work of the pool finds its lock held, and leaves the round to others. */
static void begin_round(void)
{
	mutex_lock(&bed.pm.pool->work_lock);
}

static void end_round(void)
{
	mutex_unlock(&bed.pm.pool->work_lock);
	wort_pool_work(&bed.pm.pool->work);
}

static void free_one(void)
{
	CHECK_EQ(put(), 0);
	CHECK_EQ(pm_del(bed.index, "a", 1), 0);
	begin_round();
}

static int wait_space(void)
{
	struct wort_op op;

	wort_op_begin(&op, bed.pm.pool->region, &bed.pm.pool->alloc);
	return wort_pool_wait_space(bed.pm.pool, &op);
}

/* The walk gives back early what somebody waits for. */
static void end_round_for_space(void)
{
	CHECK_EQ(atomic_read(&bed.pm.pool->space_waiters), 1);
	end_round();
}

static void nobody_waits(void)
{
	CHECK_EQ(atomic_read(&bed.pm.pool->space_waiters), 0);
}

static void void_index(void)
{
	mutex_lock(&bed.pm.pool->work_lock);
	wort_rebuild_again(bed.index);
}

static int wait_built(void)
{
	return wort_rebuild_wait(bed.index);
}

static void build(void)
{
	wort_rebuild_all(bed.pm.pool);
}

static void end_work(void)
{
	mutex_unlock(&bed.pm.pool->work_lock);
}

static void destroy(void)
{
	CHECK_EQ(wort_index_destroy(bed.pm.pool, (const u8 *)"t", 1), 0);
}

static void stop(void)
{
	wort_pool_stop(bed.pm.pool);
}

static void damage(void)
{
	wort_pool_damaged(bed.pm.pool);
}

/* A batch that is under way keeps a gate closed, and opens it also in a damaged pool. */
static void close_in_damaged(void)
{
	close_second();
	damage();
}

static int close_and_look(void)
{
	return wort_gates_close(bed.pm.pool, gates, 2, true);
}

static void clear(void)
{
	struct wort_check_arg arg = {
		.size = sizeof(arg), .flags = WORT_CHECK_F_CLEAR,
	};

	CHECK_EQ(wort_pool_check(bed.pm.pool, &arg), 0);
}

static void kill_waiter(void)
{
	shim_fatal_signal = true;
}

static const struct {
	void (*begin)(void);
	int (*wait)(void);
	void (*end)(void);
	int answer;
	void (*verify)(void);
} waits[] = {
	{ hold, put, release, 0, NULL },
	{ hold, put, stop, -ENODEV, release },
	{ hold, put, kill_waiter, -EINTR, release },
	{ close_a, wait_at_a, open_a, 0, NULL },
	{ close_a, wait_at_a, damage, -EROFS, NULL },
	{ close_a, wait_at_a, stop, -ENODEV, NULL },
	{ close_a, wait_at_a, kill_waiter, -EINTR, NULL },
	{ close_second, close_both, open_second, 0, both_closed },
	{ close_second, close_both, stop, -ENODEV, still_closed },
	{ close_second, close_both, kill_waiter, -EINTR, still_closed },
	{ enter_second, close_both, stop, -ENODEV, still_inside },
	{ enter_second, close_both, kill_waiter, -EINTR, still_inside },
	{ enter_a, close_gate_of_a, come_by, 0, open_a },
	{ close_in_damaged, close_and_look, open_second, 0, both_closed },
	{ close_in_damaged, close_and_look, clear, -EROFS, still_closed },
	{ take_heads, take_head, give_head, 0, fifth_head },
	{ take_heads, take_head, damage, -EROFS, NULL },
	{ take_heads, take_head, kill_waiter, -EINTR, NULL },
	{ let_answer, wait_for_lists, end_list, 0, free_list },
	{ let_answer, wait_for_lists, damage, 1, free_answering },
	{ let_answer, wait_for_lists, kill_waiter, -EINTR, free_answering },
	{ held_lists, hold_lists, release_lists, 0, NULL },
	{ held_lists, hold_lists, kill_waiter, -EINTR, NULL },
	{ suspend, rest, resume, false, NULL },
	{ suspend, rest, stop, true, NULL },
	{ begin_round, wait_round, end_round, 0, NULL },
	{ begin_round, wait_round, stop, -ENODEV, end_work },
	{ begin_round, wait_round, kill_waiter, -EINTR, end_work },
	{ free_one, wait_space, end_round_for_space, 0, nobody_waits },
	{ void_index, wait_built, build, 0, end_work },
	{ void_index, wait_built, destroy, -ESTALE, end_work },
	{ void_index, wait_built, stop, -ENODEV, end_work },
	{ void_index, wait_built, kill_waiter, -EINTR, end_work },
};

static u32 row;

static void end_wait(struct work_struct *work)
{
	waits[row].end();
}

static void wait_for_end(void)
{
	struct work_struct end;

	INIT_WORK(&end, end_wait);
	waits[row].begin();
	queue_work(NULL, &end);
	shim_deadlocks = 0;
	CHECK_EQ(waits[row].wait(), waits[row].answer);
	CHECK_EQ(shim_deadlocks, 0);
	CHECK(!end.queued);
	shim_fatal_signal = false;
	if (waits[row].verify)
		waits[row].verify();
	if (bed.pm.pool->gates)
		wort_gates_unuse(bed.pm.pool);
}

/* Each of them in a pool of its own, which is detached afterwards. */
void check_waits(void)
{
	for (row = 0; row < ARRAY_SIZE(waits); row++) {
		bed_open(&bed, MIB, 4096);
		wait_for_end();
		bed_close(&bed);
	}
}
