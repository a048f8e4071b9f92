// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Power cuts, simulated: see powercut.h.
 *
 * Of a line that may differ from what is durable, an image holds one of
 *
 *	the durable content	it was not written back
 *	what a flush found	if a flush of it was not fenced
 *	what was there last	it was written back by chance
 *
 * by a seed.  Each is a state that the line was in, so the stores to it are
 * there in their order; lines are independent of each other.  That is a part
 * of what an x86 processor may leave: the crash explorer visits all of it.
 * Seed 0 loses all that can be lost, seed 1 loses nothing.
 *
 * A fence waits for the flushes of its own operation only.
 */
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <asm/barrier.h>

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
	const struct wort_region *region;	/* NULL: not in use now */
	const void __pmem *base;
	u64 event;			/* cut before this one; 0: never */
	u8 *durable;
	u8 *last;			/* what was there when the power went */
	struct list_head flushed;
} sim = {
	.lock = __SPIN_LOCK_UNLOCKED(sim.lock),
	.flushed = LIST_HEAD_INIT(sim.flushed),
};

static const u8 *volatile_line(u32 line)
{
	return (__force const u8 *)sim.base + (u64)line * WORT_LINE;
}

static u8 *durable_line(u32 line)
{
	return sim.durable + (u64)line * WORT_LINE;
}

static u8 *last_line(u32 line)
{
	return sim.last + (u64)line * WORT_LINE;
}

/*
 * Others store to the line while it is copied.  Copy again until nothing has changed: a copy
 * torn between two stores could have the later one without the earlier, which the line never
 * had.
 */
static void copy_line(u8 *to, u32 line)
{
	do {
		memcpy(to, volatile_line(line), WORT_LINE);
		smp_rmb();	/* the comparison loads the words later than the copy */
	} while (memcmp(to, volatile_line(line), WORT_LINE));
}

static void drop_flushed(void)
{
	struct flushed_line *f, *tmp;

	list_for_each_entry_safe(f, tmp, &sim.flushed, list) {
		list_del(&f->list);
		kfree(f);
	}
}

static void cut_power(void)
{
	u32 line, nr = sim.status.size / WORT_LINE;

	sim.status.state = WORT_POWERCUT_CUT;
	for (line = 0; line < nr; line++)
		copy_line(last_line(line), line);
	/* Caches that are not lost. */
	if (!sim.region->flush)
		memcpy(sim.durable, sim.last, sim.status.size);
	for (line = 0; line < nr; line++)
		if (memcmp(durable_line(line), last_line(line), WORT_LINE))
			sim.status.dirty++;
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
	copy_line(f->data, line);
	list_add_tail(&f->list, &sim.flushed);
}

/**
 * wort_powercut_flushed() - A range is being flushed
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
	if (take_event(op) && off < sim.status.size &&
	    len <= sim.status.size - off)
		for (line = off / WORT_LINE; line <= last; line++)
			if (sim.status.state == WORT_POWERCUT_RUNNING)
				add_flushed(op, line);
	spin_unlock_irqrestore(&sim.lock, flags);
}

/*
 * An older flush of the line must not undo what is durable now: a line is written back in the
 * order of its contents.
 */
static void drop_earlier(const struct flushed_line *latest)
{
	struct flushed_line *f, *tmp;

	list_for_each_entry_safe(f, tmp, &sim.flushed, list) {
		if (f == latest)
			break;
		if (f->line != latest->line)
			continue;
		list_del(&f->list);
		kfree(f);
	}
}

/**
 * wort_powercut_fenced() - A fence is being passed
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
		drop_earlier(f);
		list_del(&f->list);
		kfree(f);
	}
out:
	spin_unlock_irqrestore(&sim.lock, flags);
}

/**
 * wort_powercut_arm() - Simulate a power cut in the region that is used next
 * @event: Lose the power before this flush or fence, counted from 1; 0: never,
 *	only count.
 *
 * A simulation before it is forgotten.
 *
 * Context: May sleep.  One caller of this, wort_powercut_disarm() and
 * wort_powercut_image() at a time.
 * Return: 0; -EBUSY while a region that was observed is in use.
 */
int wort_powercut_arm(u64 event)
{
	int err = 0;

	spin_lock_irq(&sim.lock);
	if (sim.region) {
		err = -EBUSY;
	} else {
		memset(&sim.status, 0, sizeof(sim.status));
		sim.status.state = WORT_POWERCUT_ARMED;
		sim.event = event;
		drop_flushed();
	}
	spin_unlock_irq(&sim.lock);
	if (!err)
		static_branch_enable(&wort_powercut_on);
	return err;
}

/**
 * wort_powercut_disarm() - End and forget a simulation
 *
 * Context: May sleep.  As wort_powercut_arm().
 */
void wort_powercut_disarm(void)
{
	u8 *durable, *last;

	spin_lock_irq(&sim.lock);
	memset(&sim.status, 0, sizeof(sim.status));
	sim.region = NULL;
	durable = sim.durable;
	last = sim.last;
	sim.durable = NULL;
	sim.last = NULL;
	drop_flushed();
	spin_unlock_irq(&sim.lock);
	static_branch_disable(&wort_powercut_on);
	kvfree(durable);
	kvfree(last);
}

/* What is there counts as durable. */
static void begin_armed(const struct wort_region *region, u8 **durable,
			u8 **last)
{
	swap(sim.durable, *durable);
	swap(sim.last, *last);
	if (!sim.durable || !sim.last) {
		fail();
		return;
	}
	memcpy(sim.durable, (__force const void *)region->base, region->size);
	sim.region = region;
	sim.base = region->base;
	sim.status.size = region->size;
	sim.status.state = WORT_POWERCUT_RUNNING;
}

/**
 * wort_powercut_begin() - A region is about to be used
 * @region: The region.
 *
 * Observed from now on if a simulation is armed, or if it was before; what it
 * had not made durable then may still be lost.
 *
 * Context: May sleep.  Nobody stores to the region.
 */
void wort_powercut_begin(const struct wort_region *region)
{
	u8 *durable = NULL, *last = NULL;

	if (!static_branch_unlikely(&wort_powercut_on))
		return;
	if (region->size <= WORT_POWERCUT_MAX) {
		durable = kvmalloc(region->size, GFP_KERNEL);
		last = kvmalloc(region->size, GFP_KERNEL);
	}
	spin_lock_irq(&sim.lock);
	if (sim.status.state == WORT_POWERCUT_ARMED)
		begin_armed(region, &durable, &last);
	else if (sim.status.state == WORT_POWERCUT_RUNNING &&
		 region->base == sim.base && region->size == sim.status.size)
		sim.region = region;
	spin_unlock_irq(&sim.lock);
	kvfree(durable);
	kvfree(last);
}

/**
 * wort_powercut_end() - A region is not used any more
 * @region: The region.
 *
 * Context: May sleep.  Nobody stores to the region.
 */
void wort_powercut_end(const struct wort_region *region)
{
	spin_lock_irq(&sim.lock);
	if (sim.region == region)
		sim.region = NULL;
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

/* The latest flush that found the line, or NULL. */
static const u8 *find_flushed(u32 line)
{
	const struct flushed_line *f;
	const u8 *found = NULL;

	list_for_each_entry(f, &sim.flushed, list)
		if (f->line == line)
			found = f->data;
	return found;
}

/*
 * The generators of the kernel are linear in their seed: whether two lines are chosen alike
 * would be the same for all seeds, and some mixtures would never be tried.  Folding the upper
 * half in between two multiplications breaks that.
 */
static u32 mix(u64 seed, u32 line)
{
	u64 h = (seed << 32 ^ seed >> 32 ^ line) * GOLDEN_RATIO_64;

	return (h ^ h >> 32) * GOLDEN_RATIO_64 >> 32;
}

static const u8 *choose(u32 line, u64 seed)
{
	const u8 *contents[3] = { durable_line(line) };
	const u8 *flushed = find_flushed(line);
	u32 n = 1;

	if (flushed)
		contents[n++] = flushed;
	contents[n++] = last_line(line);
	if (seed < 2)
		return contents[seed ? n - 1 : 0];
	return contents[mix(seed, line) % n];
}

/**
 * wort_powercut_image() - Read what the media may hold after the cut
 * @seed: Which of the lines that can be lost are: 0 all, 1 none.
 * @buf: Where to.
 * @len: Bytes, a multiple of WORT_LINE.
 * @off: Offset in the region, a multiple of WORT_LINE.
 *
 * Context: May sleep.  As wort_powercut_arm().
 * Return: Bytes copied; 0 at the end, or if the power is not cut.
 */
size_t wort_powercut_image(u64 seed, void *buf, size_t len, u64 off)
{
	struct wort_powercut_status status;
	u32 line = off / WORT_LINE, i;

	/* The lock waits until the copy of what was there is complete; it changes no more. */
	wort_powercut_status(&status);
	if (status.state != WORT_POWERCUT_CUT || off >= status.size)
		return 0;
	len = min_t(u64, len, sim.status.size - off);
	memcpy(buf, sim.durable + off, len);
	for (i = 0; i < len / WORT_LINE; i++)
		if (memcmp(durable_line(line + i), last_line(line + i),
			   WORT_LINE))
			memcpy(buf + i * WORT_LINE, choose(line + i, seed),
			       WORT_LINE);
	return len;
}
#endif
