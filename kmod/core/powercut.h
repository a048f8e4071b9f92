/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Simulated power cuts.
 *
 * An observer of the primitives keeps in DRAM what the media would hold if the
 * caches were lost.  Flushes and fences are its events.  Before the event that
 * was asked for, the power fails: what the media may hold then can be read as
 * images, and later stores do not change these.
 *
 * Built with CONFIG_WORT_POWERCUT, for tests; off until armed.
 */
#ifndef _WORT_POWERCUT_H
#define _WORT_POWERCUT_H

#include <linux/jump_label.h>
#include <linux/types.h>

#include "region.h"

struct wort_op;

#define WORT_POWERCUT_MAX	(16U << 20)	/* bytes of a region */

/**
 * enum wort_powercut_state - State of a simulation
 * @WORT_POWERCUT_OFF: nothing is observed
 * @WORT_POWERCUT_ARMED: waits for a region
 * @WORT_POWERCUT_RUNNING: observes a region, also after it was released and
 *	claimed again
 * @WORT_POWERCUT_CUT: the power has failed, there are images
 * @WORT_POWERCUT_FAILED: there was no memory, or the region was too large
 */
enum wort_powercut_state {
	WORT_POWERCUT_OFF,
	WORT_POWERCUT_ARMED,
	WORT_POWERCUT_RUNNING,
	WORT_POWERCUT_CUT,
	WORT_POWERCUT_FAILED,
};

/**
 * struct wort_powercut_status - What a simulation has seen
 * @state: its state
 * @events: flushes and fences so far
 * @size: bytes of the region, and of an image
 * @dirty: lines that were perhaps not durable when the power failed
 */
struct wort_powercut_status {
	enum wort_powercut_state state;
	u64 events;
	u64 size;
	u32 dirty;
};

#ifdef CONFIG_WORT_POWERCUT
int wort_powercut_arm(u64 event);
void wort_powercut_disarm(void);
void wort_powercut_begin(const struct wort_region *region);
void wort_powercut_end(const struct wort_region *region);
void wort_powercut_status(struct wort_powercut_status *status);
size_t wort_powercut_image(u64 seed, void *buf, size_t len, u64 off);

DECLARE_STATIC_KEY_FALSE(wort_powercut_on);
void wort_powercut_flushed(struct wort_op *op, const void __pmem *addr,
			   size_t len);
void wort_powercut_fenced(struct wort_op *op);

/* The lines of the range will be durable after the next fence of @op. */
static inline void wort_powercut_flush(struct wort_op *op,
				       const void __pmem *addr, size_t len)
{
	if (static_branch_unlikely(&wort_powercut_on))
		wort_powercut_flushed(op, addr, len);
}

static inline void wort_powercut_fence(struct wort_op *op)
{
	if (static_branch_unlikely(&wort_powercut_on))
		wort_powercut_fenced(op);
}
#else
static inline void wort_powercut_begin(const struct wort_region *region)
{
}

static inline void wort_powercut_end(const struct wort_region *region)
{
}

static inline void wort_powercut_flush(struct wort_op *op,
				       const void __pmem *addr, size_t len)
{
}

static inline void wort_powercut_fence(struct wort_op *op)
{
}
#endif

#endif /* _WORT_POWERCUT_H */
