// SPDX-License-Identifier: GPL-2.0-only
/*
 * Power cuts, simulated: see powercut.h.
 *
 * Of a line that may differ from what is durable, the image holds one of
 *
 *	the durable content	it was not written back
 *	what a flush found	if a flush of it was not fenced
 *	what is there now	it was written back by chance
 *
 * by a seed.  Each is a state that the line was in, so the stores to it are
 * there in their order; lines are independent of each other.  That is a part
 * of what an x86 processor may leave: the crash explorer visits all of it.
 * Seed 0 loses all that can be lost, seed 1 loses nothing.
 *
 * A fence waits for the flushes of its own operation only.
 */
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/prandom.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "op.h"
#include "powercut.h"

#ifdef CONFIG_WORT_POWERCUT
DEFINE_STATIC_KEY_FALSE(wort_powercut_on);

/* What a flush found in a line, until the fence of its operation. */
struct flushed_line {
	struct list_head list;
	const struct wort_op *op;
	u32 line;
	u8 data[WORT_LINE];
};

/* The only simulation. */
static struct {
	spinlock_t lock;		/* protects all of it */
	struct wort_powercut_status status;
	const struct wort_region *region;
	u64 event;			/* cut before this one; 0: never */
	u64 seed;
	u8 *durable;
	struct list_head flushed;
} sim = {
	.lock = __SPIN_LOCK_UNLOCKED(sim.lock),
	.flushed = LIST_HEAD_INIT(sim.flushed),
};

static const u8 *volatile_line(u32 line)
{
	return (__force const u8 *)sim.region->base + (u64)line * WORT_LINE;
}

static u8 *durable_line(u32 line)
{
	return sim.durable + (u64)line * WORT_LINE;
}

static void drop_flushed(void)
{
	struct flushed_line *f, *tmp;

	list_for_each_entry_safe(f, tmp, &sim.flushed, list) {
		list_del(&f->list);
		kfree(f);
	}
}

/* Which of @n contents of a line is left: the first is the durable one. */
static u32 choose(struct rnd_state *rnd, u32 n)
{
	if (sim.seed < 2)
		return sim.seed ? n - 1 : 0;
	return prandom_u32_state(rnd) % n;
}

/* The latest flush that found the line, or NULL. */
static const struct flushed_line *find_flushed(u32 line)
{
	const struct flushed_line *f, *found = NULL;

	list_for_each_entry(f, &sim.flushed, list)
		if (f->line == line)
			found = f;
	return found;
}

static void keep_line(struct rnd_state *rnd, u32 line)
{
	const struct flushed_line *f = find_flushed(line);
	const u8 *contents[3] = { durable_line(line) };
	u32 n = 1, kept;

	if (f)
		contents[n++] = f->data;
	contents[n++] = volatile_line(line);
	kept = choose(rnd, n);
	sim.status.dirty++;
	if (!kept)
		return;
	sim.status.kept++;
	memcpy(durable_line(line), contents[kept], WORT_LINE);
}

static void cut_power(void)
{
	u32 line, nr = sim.region->size / WORT_LINE;
	struct rnd_state rnd;

	sim.status.state = WORT_POWERCUT_CUT;
	prandom_seed_state(&rnd, sim.seed);
	if (!sim.region->flush)
		sim.seed = 1;	/* the caches are not lost */
	for (line = 0; line < nr; line++)
		if (memcmp(durable_line(line), volatile_line(line), WORT_LINE))
			keep_line(&rnd, line);
	drop_flushed();
}

/* Does the simulation go on with this event? */
static bool take_event(const struct wort_op *op)
{
	if (sim.status.state != WORT_POWERCUT_RUNNING ||
	    op->region != sim.region)
		return false;
	if (++sim.status.events == sim.event)
		cut_power();
	return sim.status.state == WORT_POWERCUT_RUNNING;
}

static void fail(void)
{
	sim.status.state = WORT_POWERCUT_FAILED;
	drop_flushed();
}

static void add_flushed(const struct wort_op *op, u32 line)
{
	struct flushed_line *f = kmalloc(sizeof(*f), GFP_ATOMIC);

	if (!f) {
		fail();
		return;
	}
	f->op = op;
	f->line = line;
	memcpy(f->data, volatile_line(line), WORT_LINE);
	list_add_tail(&f->list, &sim.flushed);
}

/**
 * wort_powercut_flushed() - A range was flushed
 * @op: The operation.
 * @addr: First byte.
 * @len: Bytes.
 *
 * Context: Any context.
 */
void wort_powercut_flushed(struct wort_op *op, const void __pmem *addr,
			   size_t len)
{
	u64 off = (__force const u8 *)addr -
		  (__force const u8 *)op->region->base;
	u64 line, last = (off + len - 1) / WORT_LINE;
	unsigned long flags;

	spin_lock_irqsave(&sim.lock, flags);
	if (take_event(op))
		for (line = off / WORT_LINE; line <= last; line++)
			if (sim.status.state == WORT_POWERCUT_RUNNING)
				add_flushed(op, line);
	spin_unlock_irqrestore(&sim.lock, flags);
}

/**
 * wort_powercut_fenced() - A fence was passed
 * @op: The operation.
 *
 * Context: Any context.
 */
void wort_powercut_fenced(struct wort_op *op)
{
	struct flushed_line *f, *tmp;
	unsigned long flags;

	spin_lock_irqsave(&sim.lock, flags);
	if (!take_event(op))
		goto out;
	list_for_each_entry_safe(f, tmp, &sim.flushed, list) {
		if (f->op != op)
			continue;
		memcpy(durable_line(f->line), f->data, WORT_LINE);
		list_del(&f->list);
		kfree(f);
	}
out:
	spin_unlock_irqrestore(&sim.lock, flags);
}

/**
 * wort_powercut_arm() - Simulate a power cut on the region used next
 * @event: Lose the power before this flush or fence, counted from 1; 0: never,
 *	only count.
 * @seed: Which of the lines that can be lost are: 0 all, 1 none.
 *
 * A simulation before it is forgotten.
 *
 * Context: May sleep.  One caller of this and wort_powercut_disarm() at a time.
 * Return: 0; -EBUSY while a region is observed.
 */
int wort_powercut_arm(u64 event, u64 seed)
{
	int err = 0;

	spin_lock_irq(&sim.lock);
	if (sim.status.state == WORT_POWERCUT_RUNNING) {
		err = -EBUSY;
	} else {
		memset(&sim.status, 0, sizeof(sim.status));
		sim.status.state = WORT_POWERCUT_ARMED;
		sim.event = event;
		sim.seed = seed;
	}
	spin_unlock_irq(&sim.lock);
	if (!err)
		static_branch_enable(&wort_powercut_on);
	return err;
}

/**
 * wort_powercut_disarm() - End and forget a simulation
 *
 * Context: May sleep.
 */
void wort_powercut_disarm(void)
{
	u8 *durable;

	spin_lock_irq(&sim.lock);
	memset(&sim.status, 0, sizeof(sim.status));
	sim.region = NULL;
	durable = sim.durable;
	sim.durable = NULL;
	drop_flushed();
	spin_unlock_irq(&sim.lock);
	static_branch_disable(&wort_powercut_on);
	kvfree(durable);
}

/**
 * wort_powercut_begin() - A region is about to be used
 * @region: The region; all that is there counts as durable.
 *
 * Observed from now on if a simulation is armed.
 *
 * Context: May sleep.  Nobody stores to the region.
 */
void wort_powercut_begin(const struct wort_region *region)
{
	u8 *durable, *old;

	if (!static_branch_unlikely(&wort_powercut_on))
		return;
	durable = region->size > WORT_POWERCUT_MAX ? NULL :
		  kvmalloc(region->size, GFP_KERNEL);
	if (durable)
		memcpy(durable, (__force const void *)region->base,
		       region->size);
	spin_lock_irq(&sim.lock);
	old = durable;
	if (sim.status.state == WORT_POWERCUT_ARMED && !durable) {
		fail();
	} else if (sim.status.state == WORT_POWERCUT_ARMED) {
		old = sim.durable;
		sim.durable = durable;
		sim.region = region;
		sim.status.size = region->size;
		sim.status.state = WORT_POWERCUT_RUNNING;
	}
	spin_unlock_irq(&sim.lock);
	kvfree(old);
}

/**
 * wort_powercut_end() - A region is not used any more
 * @region: The region.
 *
 * The image, if there is one, stays.
 *
 * Context: May sleep.  Nobody stores to the region.
 */
void wort_powercut_end(const struct wort_region *region)
{
	spin_lock_irq(&sim.lock);
	if (sim.region == region) {
		sim.region = NULL;
		drop_flushed();
		if (sim.status.state == WORT_POWERCUT_RUNNING)
			sim.status.state = WORT_POWERCUT_ENDED;
	}
	spin_unlock_irq(&sim.lock);
}

/**
 * wort_powercut_status() - What has been seen
 * @status: Filled in.
 *
 * Context: Process context.
 */
void wort_powercut_status(struct wort_powercut_status *status)
{
	spin_lock_irq(&sim.lock);
	*status = sim.status;
	spin_unlock_irq(&sim.lock);
}

/**
 * wort_powercut_image() - Read what the media would hold after the cut
 * @buf: Where to.
 * @len: Bytes.
 * @off: Offset in the region.
 *
 * Context: May sleep.  Not beside wort_powercut_arm() or _disarm().
 * Return: Bytes copied; 0 at the end, or if there is no image.
 */
size_t wort_powercut_image(void *buf, size_t len, u64 off)
{
	/* Once the power is cut, the image changes no more. */
	if (sim.status.state != WORT_POWERCUT_CUT || off >= sim.status.size)
		return 0;
	len = min_t(u64, len, sim.status.size - off);
	memcpy(buf, sim.durable + off, len);
	return len;
}
#endif
