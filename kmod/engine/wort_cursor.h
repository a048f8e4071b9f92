/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The cursor of WORT.
 *
 * A cursor keeps the nodes on the path to its record.  To move on, it looks for
 * a further entry in the last of them, goes up while there is none, then down
 * along the edge.  A full scan takes each link of the tree once, and a tree in
 * which every node has two entries has fewer than two links a record.
 */
#ifndef _WORT_CURSOR_H
#define _WORT_CURSOR_H

#include "wort.h"

/* A node on the path of a cursor. */
struct wrt_level {
	u64 link;		/* to the node */
	u8 slot;
	bool surveyed;
	u16 ahead;		/* if so: the slots behind it that had entries */
	u16 unseen;		/* nodes, below which nothing is being loaded yet */
	u16 loading;		/* entries of those that were seen, but not entered */
};

/* Which slots of a node have entries, and which of them refer to nodes. */
struct wrt_view {
	u16 used;
	u16 nodes;
};

#define WRT_SEEN	32

struct wrt_cursor {
	struct wort_rec rec;
	u32 nr;			/* levels on the path */
	u32 fresh;		/* the first that the last move entered */
	u64 seen[WRT_SEEN];	/* links to nodes looked at since the cursor was sought */
	struct wrt_view view[WRT_SEEN];
	struct wrt_level level[WORT_KEY_DIGITS];
};

static inline struct wrt_cursor *wrt_cursor(struct wort_cursor *cur)
{
	return (struct wrt_cursor *)cur->engine;
}

static inline struct wort_key wrt_cursor_key(const struct wort_cursor *cur)
{
	return (struct wort_key){ cur->key, cur->key_len };
}

/* The slot that comes next of those ahead; there is one. */
static __always_inline u32 wrt_slot_next(u32 ahead, bool reverse)
{
	return reverse ? fls(ahead) - 1 : ffs(ahead) - 1;
}

/* The rest of those ahead when that one was taken. */
static __always_inline u32 wrt_slots_after(u32 ahead, u32 slot, bool reverse)
{
	return reverse ? ahead & ~BIT(slot) : ahead & (ahead - 1);
}

/* Those behind one. */
static __always_inline u32 wrt_slots_behind(u32 slot, bool reverse)
{
	return reverse ? BIT(slot) - 1 : -BIT(slot + 1);
}

struct wrt_level *wrt_level_push(struct wrt_cursor *wc,
				 const struct wrt_node *node);
void wrt_level_enter(struct wort_cursor *cur, const struct wrt_node *node,
		     struct wrt_level *level);

#endif /* _WORT_CURSOR_H */
