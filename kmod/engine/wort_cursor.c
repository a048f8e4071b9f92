// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Moving the cursor of WORT; see wort_cursor.h.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "wort_cursor.h"

#define WRT_LOOK_ON	24	/* entries ahead of a cursor: more than are loaded at once */

/* What is in a slot an answer may rest on. */
static __always_inline u64 slot_load(struct wort_op *op,
				     const struct wrt_node *node, u32 slot)
{
	u64 link = wort_pm_load(&node->media->slot[slot]);
	u64 off = wort_link_off(node->link);

	wort_pm_flush_in_flight(op, off, off + slot * sizeof(link),
				sizeof(link));
	return link;
}

struct wrt_level *wrt_level_push(struct wrt_cursor *wc,
				 const struct wrt_node *node)
{
	struct wrt_level *level = &wc->level[wc->nr++];

	level->link = node->link;
	level->surveyed = false;
	return level;
}

/*
 * What there is in a node, and, if wanted, begin to load it.  What is put there
 * later a cursor may find or not.  A processor cannot guess how many slots are
 * empty in between.
 */
static __always_inline struct wrt_view node_view(struct wort_op *op,
						 const struct wrt_node *node,
						 bool prefetch)
{
	u64 plain = wort_region_plain(op->region), link;
	void __pmem *base = wort_region_at(op->region, 0);
	const __le64 __pmem *slots = node->media->slot;
	u32 slot = WRT_SLOTS, used = 0, nodes = 0, more;

#pragma GCC unroll 16	/* a third of it was the loop */
	while (slot--) {
		link = wort_pm_load(&slots[slot]);
		used += used + !!link;
		nodes += nodes + wrt_link_is_node(link);
		if (prefetch && likely(wort_link_off(link) < plain))
			wort_pm_prefetch(base + wort_link_off(link));
	}
	/* The other line of nodes: for each slot that would be a third more. */
	for (more = prefetch ? nodes : 0; more; more &= more - 1)
		wrt_prefetch(base, plain, wort_pm_load(&slots[__ffs(more)]));
	wrt_node_flush_in_flight(op, node);
	return (struct wrt_view){ used, nodes };
}

static __always_inline u32 seen_nr(u64 link)
{
	return wort_link_off(link) / sizeof(struct wort_media_wort_node) %
	       WRT_SEEN;
}

/* Look at a node ahead of the cursor. */
static struct wrt_view node_see(struct wort_cursor *cur,
				const struct wrt_node *node)
{
	struct wrt_cursor *wc = wrt_cursor(cur);
	u32 nr = seen_nr(node->link);

	wc->view[nr] = node_view(cur->op, node, true);
	wc->seen[nr] = node->link;
	return wc->view[nr];
}

/* What was seen in a node before, or is now. */
static __always_inline struct wrt_view node_seen(struct wort_cursor *cur,
						 const struct wrt_node *node)
{
	struct wrt_cursor *wc = wrt_cursor(cur);
	u32 nr = seen_nr(node->link);

	return wc->seen[nr] == node->link ? wc->view[nr] :
					    node_see(cur, node);
}

/* Move on to the next entry of a node; 0 if there is none. */
static __always_inline u64 level_next(struct wort_cursor *cur,
				      const struct wrt_node *node,
				      struct wrt_level *level)
{
	u64 link = 0;

	while (!link && level->ahead) {
		level->slot = wrt_slot_next(level->ahead, cur->reverse);
		level->ahead &= ~BIT(level->slot);
		link = slot_load(cur->op, node, level->slot);
	}
	return link;
}

static void level_begin(struct wrt_level *level, struct wrt_view view)
{
	level->ahead = view.used;
	level->unseen = view.nodes;
	level->loading = 0;
	level->surveyed = true;
}

/* How many entries are to be loaded behind the one where a cursor is. */
static u32 look_on_max(const struct wort_cursor *cur)
{
	return min_t(u32, cur->wanted - 1, WRT_LOOK_ON);
}

/*
 * Begin to load what is ahead in a node to which a key has led: nobody has seen
 * it.
 */
static void level_prefetch(struct wort_cursor *cur, const struct wrt_node *node,
			   const struct wrt_level *level)
{
	u64 plain = wort_region_plain(cur->op->region);
	void __pmem *base = wort_region_at(cur->op->region, 0);
	u32 ahead = level->ahead, max = look_on_max(cur), slot;

	for (; ahead && max; ahead &= ~BIT(slot), max--) {
		slot = wrt_slot_next(ahead, cur->reverse);
		wrt_prefetch(base, plain,
			     wort_pm_load(&node->media->slot[slot]));
	}
}

/* Begin to load what is below the next nodes of a level. */
static noinline void nodes_look_on(struct wort_cursor *cur,
				   struct wrt_level *level)
{
	u64 plain = wort_region_plain(cur->op->region), link;
	void __pmem *base = wort_region_at(cur->op->region, 0);
	const __le64 __pmem *slots = base + wort_link_off(level->link);
	u32 unseen = level->unseen & level->ahead, slot;
	u32 nr = level->loading, max = look_on_max(cur);
	struct wrt_node node;

	while (unseen && nr < max) {
		slot = wrt_slot_next(unseen, cur->reverse);
		unseen &= ~BIT(slot);
		link = wort_pm_load(&slots[slot]);
		/*
		 * meanwhile a leaf may be there, with who knows what behind it
		 */
		if (!wrt_link_is_node(link) || wort_link_off(link) >= plain)
			continue;
		wrt_node_at(cur->op, link, &node);
		nr += hweight_long(node_see(cur, &node).used);
	}
	level->unseen = unseen;
	level->loading = nr;
}

static __always_inline void level_look_on(struct wort_cursor *cur,
					  struct wrt_level *level)
{
	if (level->unseen & level->ahead)
		nodes_look_on(cur, level);
}

/*
 * The entries of the node are being loaded since it was seen from the level
 * above.
 */
void wrt_level_enter(struct wort_cursor *cur, const struct wrt_node *node,
		     struct wrt_level *level)
{
	struct wrt_level *above = level - 1;

	level_begin(level, node_seen(cur, node));
	if (level != wrt_cursor(cur)->level && above->surveyed) {
		above->loading -= min_t(u32, above->loading,
					hweight_long(level->ahead));
		level_look_on(cur, above);
	}
	level_look_on(cur, level);
}

/* Where a key led to, the cursor goes on if it does. */
static void level_resume(struct wort_cursor *cur, const struct wrt_node *node,
			 struct wrt_level *level)
{
	if (level->surveyed)
		return;
	level_begin(level, node_view(cur->op, node, false));
	level->ahead &= wrt_slots_behind(level->slot, cur->reverse);
	level_prefetch(cur, node, level);
	wort_count(cur->op, more_loads, WRT_LINES - 1);
}

/*
 * A key has led to a leaf.  While that is being loaded, begin to load what
 * comes behind it, on the last level and on as many above as that takes: most
 * cursors go on.
 */
static void cursor_look_on(struct wort_cursor *cur)
{
	struct wrt_cursor *wc = wrt_cursor(cur);
	u32 i, nr = min(wc->nr, 3U), loading = 0;
	struct wrt_level *level;
	struct wrt_node node;

	for (i = 1; i <= nr && loading < look_on_max(cur); i++) {
		level = &wc->level[wc->nr - i];
		wrt_node_at(cur->op, level->link, &node);
		level_resume(cur, &node, level);
		level_look_on(cur, level);
		loading += hweight_long(level->ahead) + level->loading;
	}
}

/*
 * Go down from a link: by the key where it has an entry, otherwise along the
 * edge that comes first in the direction of the cursor.
 */
static int cursor_down(struct wort_cursor *cur, u64 link, u32 start,
		       const struct wort_key *key)
{
	struct wrt_cursor *wc = wrt_cursor(cur);
	struct wrt_level *level;
	struct wrt_node node;
	int err;

	while (wrt_link_is_node(link)) {
		err = wrt_node_open(cur->op, link, start, &node);
		if (err)
			return err;
		level = wrt_level_push(wc, &node);
		link = 0;
		if (key) {
			level->slot = wort_key_digit(key->data, key->len,
						     node.place);
			link = slot_load(cur->op, &node, level->slot);
		}
		if (!link) {
			if (key)
				level_begin(level,
					    node_view(cur->op, &node, false));
			else
				wrt_level_enter(cur, &node, level);
			wort_count(cur->op, more_loads, WRT_LINES - 1);
			link = level_next(cur, &node, level);
		}
		if (!link)
			return wort_corrupt(cur->op, wort_link_off(node.link),
					    "node without entries");
		/* both lines: cursor_look_on() needs the other one */
		if (key)
			wrt_prefetch(wort_region_at(cur->op->region, 0),
				     wort_region_plain(cur->op->region), link);
		start = node.place + 1;
	}
	if (key)
		cursor_look_on(cur);
	return wrt_link_verify(cur->op, link) ?:
	       wort_rec_open(cur->op, wort_link_record(link), &wc->rec);
}

/* From the last level on to the next entry in the direction of the cursor. */
static int cursor_step(struct wort_cursor *cur)
{
	struct wrt_cursor *wc = wrt_cursor(cur);
	struct wrt_level *level;
	struct wrt_node node;
	u64 link;

	for (; wc->nr; wc->nr--) {
		level = &wc->level[wc->nr - 1];
		wrt_node_at(cur->op, level->link, &node);
		level_resume(cur, &node, level);
		link = level_next(cur, &node, level);
		if (!link)
			continue;
		wc->fresh = wc->nr;
		if (wort_link_is_record(link))
			return wort_rec_open(cur->op, wort_link_record(link),
					     &wc->rec);
		return cursor_down(cur, link, node.place + 1, NULL);
	}
	return -ENOENT;
}

/*
 * Take over the key of the leaf that was reached, if its digits are those of
 * the levels from @first on.
 */
static int cursor_accept(struct wort_cursor *cur, u32 first)
{
	struct wrt_cursor *wc = wrt_cursor(cur);
	u32 i;
	int err;

	err = wort_rec_key(cur->op, &wc->rec, cur->key);
	if (err)
		return err;
	for (i = first; i < wc->nr; i++)
		if (wort_key_digit(cur->key, wc->rec.key_len,
				   wort_link_place(wc->level[i].link)) !=
		    wc->level[i].slot)
			return wort_corrupt(cur->op, wc->rec.off,
					    "leaf in a wrong place");
	cur->key_len = wc->rec.key_len;
	cur->value_len = wc->rec.value_len;
	return 0;
}

/*
 * The descent by @key has ended at a leaf that shares only @common digits with
 * it.  Everything below the first level beyond @common compares with the key
 * as the leaf does, whatever is changed there meanwhile.  Move to the nearest
 * leaf on the right side of the key.
 */
static int cursor_approach(struct wort_cursor *cur, const struct wort_key *key,
			   u32 common)
{
	struct wrt_cursor *wc = wrt_cursor(cur);
	struct wrt_level *level = NULL;
	u32 rec_digit = wort_rec_digit(&wc->rec, common);
	u32 digit = wort_key_digit(key->data, key->len, common);
	bool above = rec_digit > digit;
	u32 nr = wc->nr, start = 0;

	while (wc->nr && wort_link_place(wc->level[wc->nr - 1].link) > common)
		wc->nr--;
	if (wc->nr)
		level = &wc->level[wc->nr - 1];
	if (level && wort_link_place(level->link) == common) {
		level->slot = digit;
		level->surveyed = false;
		return cursor_step(cur);
	}
	if (above == cur->reverse)
		return cursor_step(cur);
	if (wc->nr == nr)
		return 0;
	if (level)
		start = wort_link_place(level->link) + 1;
	return cursor_down(cur, wc->level[wc->nr].link, start, NULL);
}

static bool beyond(struct wort_cursor *cur, const struct wort_key *key)
{
	struct wort_key at = wrt_cursor_key(cur);
	int cmp = wort_key_compare(&at, key);

	return cur->reverse ? cmp <= 0 : cmp >= 0;
}

/*
 * A cursor needs all nodes on the path to a key, and the last of them are those
 * that are not cached: prefetch the first of these while the cursor enters the
 * others.
 */
static __always_inline void seek_prefetch(struct wort_cursor *cur,
					  const struct wort_key *key)
{
	const struct wort_top *top = wort_tree_top(cur->tree);

	wrt_prefetch(wort_region_at(cur->op->region, 0),
		     wort_region_plain(cur->op->region),
		     wort_top_find(top, wort_key_word(key, 0)));
}

int wrt_seek(struct wort_cursor *cur, const struct wort_key *key)
{
	struct wrt_cursor *wc = wrt_cursor(cur);
	u32 common = WORT_KEY_DIGITS;
	u64 link;
	int err;

	if (key)
		seek_prefetch(cur, key);
	wc->nr = 0;
	memset(wc->seen, 0, sizeof(wc->seen));
	err = wort_root_load(cur->op, wort_root_off(cur->tree), &link);
	if (!link)
		return err ?: -ENOENT;
	err = cursor_down(cur, link, 0, key);
	if (!err && key)
		common = wort_rec_common(cur->op, &wc->rec, key);
	if (!err && common < WORT_KEY_DIGITS)
		err = cursor_approach(cur, key, common);
	if (!err)
		err = cursor_accept(cur, 0);
	if (err)
		return err;
	wc->fresh = 0;
	if (key && !beyond(cur, key))
		return wort_corrupt(cur->op, wc->rec.off, "keys out of order");
	return 0;
}

int wrt_next(struct wort_cursor *cur)
{
	struct wrt_cursor *wc = wrt_cursor(cur);
	struct wort_key last = wrt_cursor_key(cur);
	u32 common;
	int err = cursor_step(cur);

	if (err)
		return err;
	/*
	 * Neighbours part at the place where the cursor went from one to the
	 * other, and nowhere before: with the digit there this is their order.
	 */
	common = wort_rec_common(cur->op, &wc->rec, &last);
	if (common != wort_link_place(wc->level[wc->fresh - 1].link))
		return wort_corrupt(cur->op, wc->rec.off, "keys out of order");
	cur->wanted--;
	return cursor_accept(cur, wc->fresh - 1);
}

/* The position of the slot that a cursor took last. */
static int cursor_pos(struct wort_cursor *cur, struct rdx_pos *pos)
{
	struct wrt_cursor *wc = wrt_cursor(cur);
	const struct wrt_level *level;
	u32 i;
	int err;

	*pos = (struct rdx_pos){ .slot = wort_root_off(cur->tree) };
	err = wort_root_load(cur->op, pos->slot, &pos->link);
	for (i = 0; i < wc->nr; i++) {
		level = &wc->level[i];
		pos->above = pos->slot;
		pos->above_node = pos->node;
		pos->node = level->link;
		pos->start = wort_link_place(level->link) + 1;
		pos->slot = wort_link_off(level->link) +
			    level->slot * sizeof(u64);
		pos->link = wort_pm_load(wort_region_at(cur->op->region,
							pos->slot));
	}
	return err;
}

/* Can the object that a link refers to not be read? */
static bool link_is_lost(struct wort_op *op, u64 link, u32 start)
{
	struct wort_rec rec;

	return link && (wrt_link_is_node(link) ?
				wrt_node_verify(op, link, start) :
				wort_rec_peek(op, wort_link_record(link),
					      &rec)) == -EIO;
}

int wrt_drop(struct wort_cursor *cur)
{
	struct rdx_pos pos;
	int err = cursor_pos(cur, &pos);

	if (err)
		return err;
	if (!link_is_lost(cur->op, pos.link, pos.start))
		return -EAGAIN;
	return wrt_unlink_lost(cur->op, cur->tree, &pos);
}

int wrt_value(struct wort_cursor *cur, struct wort_buf *buf)
{
	return wort_rec_value(cur->op, &wrt_cursor(cur)->rec, buf);
}

/* Behind a position, or without one to the record after the current one. */
static int walk_move(struct wort_cursor *cur, const struct wort_key *pos)
{
	struct wort_key at;
	int err;

	if (!pos)
		return wrt_next(cur);
	err = wrt_seek(cur, pos->len ? pos : NULL);
	at = wrt_cursor_key(cur);
	return !err && pos->len && !wort_key_compare(&at, pos) ? wrt_next(cur) : err;
}

/*
 * A step is a record, and the nodes that the cursor has entered on the way to
 * it.  The position is the key.  A record keeps its key, and a node the digits
 * that all keys below it have in common.  Therefore no object moves from one
 * side of the position to the other.
 */
int wrt_walk(struct wort_cursor *cur, const struct wort_key *pos,
	     struct wort_visitor *visitor)
{
	struct wrt_cursor *wc = wrt_cursor(cur);
	int err = walk_move(cur, pos);
	u32 i;

	for (i = wc->fresh; i < wc->nr && !err; i++)
		err = visitor->visit(visitor, cur->op,
				     wort_link_off(wc->level[i].link),
				     sizeof(struct wort_media_wort_node),
				     false);
	return err ?: wort_rec_visit(cur->op, &wc->rec, visitor) ?: 1;
}

/* Examine a node that the cursor has just entered. */
static int check_node(struct wort_cursor *cur, const struct wrt_level *level)
{
	struct wrt_node node;
	u64 link;
	u32 nr;

	wrt_node_at(cur->op, level->link, &node);
	nr = wrt_other_entries(cur->op, &node, WRT_SLOTS, &link);
	return nr < 2 ? wort_corrupt(cur->op, wort_link_off(node.link),
				     "node with %u entries", nr) : 0;
}

int wrt_check(struct wort_cursor *cur)
{
	struct wrt_cursor *wc = wrt_cursor(cur);
	int err = 0;
	u32 i;

	for (i = wc->fresh; i < wc->nr && !err; i++)
		err = check_node(cur, &wc->level[i]);
	return err;
}
