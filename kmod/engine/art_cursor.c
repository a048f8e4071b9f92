// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The cursor of an adaptive radix tree, and the walk.
 *
 * A cursor keeps the nodes on the path to its record.  To move on, it looks for
 * a further entry in the last of them, goes up while there is none, then down
 * along the edge.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "art.h"

#define LOOK_ON	16	/* entries that are being loaded before the cursor comes to them */

static struct art_cursor *art_cursor(struct wort_cursor *cur)
{
	return (struct art_cursor *)cur->engine;
}

/* The answer may rest on any word of the node, so flush those in flight. */
static void node_durable(struct wort_cursor *cur, const struct art_node *node)
{
	u64 off = wort_link_off(node->link);

	wort_pm_flush_in_flight(cur->op, off, off, art_node_size(node->kind));
}

/* As art_entry_next(), but flushes words of the node that are in flight. */
static bool node_next(struct wort_cursor *cur, const struct art_node *node,
		      u32 from, bool reverse, struct art_entry *entry)
{
	bool found = art_entry_next(node, from, reverse, entry);

	node_durable(cur, node);
	return found;
}

/*
 * The entry of a key in a node, or the first one in the direction of the
 * cursor.
 */
static bool node_enter(struct wort_cursor *cur, const struct art_node *node,
		       const struct wort_key *key, struct art_entry *entry)
{
	if (key) {
		entry->byte = art_key_byte(key, wort_key_word(key, 0), node->place);
		entry->link = art_byte_link(node, entry->byte);
		node_durable(cur, node);
		if (entry->link)
			return true;
	}
	return node_next(cur, node, cur->reverse ? ART_BYTES - 1 : 0,
			 cur->reverse, entry);
}

static void entry_prefetch(struct wort_cursor *cur, u64 link)
{
	if (likely(wort_link_off(link) < wort_region_plain(cur->op->region)))
		wort_pm_prefetch(wort_region_at(cur->op->region,
						wort_link_off(link)));
}

static u32 byte_behind(const struct wort_cursor *cur, u32 byte)
{
	return byte + (cur->reverse ? -1 : 1);
}

/*
 * Begin to load what the cursor comes to next in a node, since objects lie
 * anywhere.
 */
static void wide_look_on(struct wort_cursor *cur, const struct art_node *node,
			 struct art_level *level)
{
	u32 max = min_t(u32, cur->wanted - 1, LOOK_ON);
	struct art_entry entry;

	while (level->loading < max && level->ahead < ART_BYTES) {
		if (!art_entry_next(node, level->ahead, cur->reverse, &entry)) {
			/*
			 * Otherwise each step would look at the whole node
			 * again.
			 */
			level->ahead = ART_BYTES;
			return;
		}
		entry_prefetch(cur, entry.link);
		level->ahead = byte_behind(cur, entry.byte);
		level->loading++;
	}
}

/* All entries: they are in no order. */
static void small_look_on(struct wort_cursor *cur, const struct art_node *node)
{
	const struct wort_media_art_line __pmem *line = node->media;
	const struct wort_media_art_line __pmem *end = line +
						       art_lines(node->kind);
	u32 used;

	for (; cur->wanted > 1 && line < end; line++) {
		used = art_line_used(wort_pm_load(&line->map));
		for (; used; used &= used - 1)
			entry_prefetch(cur,
				       wort_pm_load(&line->slot[__ffs(used)]));
	}
}

static bool is_wide(const struct art_node *node)
{
	return !art_is_small(node->kind);
}

static void level_enter(struct wort_cursor *cur, const struct art_node *node,
			u32 byte)
{
	struct art_cursor *ac = art_cursor(cur);
	struct art_level *level = &ac->level[ac->nr++];

	*level = (struct art_level){ node->link, byte, byte_behind(cur, byte),
				     0 };
	if (is_wide(node))
		wide_look_on(cur, node, level);
	else
		small_look_on(cur, node);
}

/*
 * Go down from a link: by the key where it has an entry, otherwise along the
 * edge.
 */
static int cursor_down(struct wort_cursor *cur, u64 link, u32 start,
		       const struct wort_key *key)
{
	struct art_cursor *ac = art_cursor(cur);
	struct art_entry entry;
	struct art_node node;
	int err;

	while (art_link_is_node(link)) {
		err = art_node_open(cur->op, link, start, &node);
		if (err)
			return err;
		if (!node_enter(cur, &node, key, &entry))
			return wort_corrupt(cur->op, wort_link_off(link),
					    "node without entries");
		level_enter(cur, &node, entry.byte);
		start = art_end(link);
		link = entry.link;
	}
	return art_link_verify(cur->op, link) ?:
	       wort_rec_open(cur->op, wort_link_record(link), &ac->rec);
}

/* From the last level on to the next entry in the direction of the cursor. */
static int cursor_step(struct wort_cursor *cur)
{
	struct art_cursor *ac = art_cursor(cur);
	struct art_level *level;
	struct art_entry entry;
	struct art_node node;

	for (; ac->nr; ac->nr--) {
		level = &ac->level[ac->nr - 1];
		art_node_at(cur->op, level->link, &node);
		if (!node_next(cur, &node, byte_behind(cur, level->byte),
			       cur->reverse, &entry))
			continue;
		level->byte = entry.byte;
		if (level->loading)
			level->loading--;
		if (is_wide(&node))
			wide_look_on(cur, &node, level);
		ac->fresh = ac->nr;
		return cursor_down(cur, entry.link, art_end(level->link), NULL);
	}
	return -ENOENT;
}

/*
 * Take over the key of the leaf that was reached, if its bytes are those of the
 * levels from @first on.
 */
static int cursor_accept(struct wort_cursor *cur, u32 first)
{
	struct art_cursor *ac = art_cursor(cur);
	struct wort_key key = { cur->key, ac->rec.key_len };
	const struct art_level *level;
	int err;

	err = wort_rec_key(cur->op, &ac->rec, cur->key);
	if (err)
		return err;
	for (level = &ac->level[first]; level < &ac->level[ac->nr]; level++)
		if (art_key_byte(&key, wort_key_word(&key, 0),
				 wort_link_place(level->link)) != level->byte)
			return wort_corrupt(cur->op, ac->rec.off,
					    "leaf in a wrong place");
	cur->key_len = ac->rec.key_len;
	cur->value_len = ac->rec.value_len;
	return 0;
}

/*
 * The descent by @key has ended at a leaf that shares only @common digits with
 * it.  Everything below the first level beyond @common compares with the key
 * as the leaf does, also after concurrent changes.  Move to the nearest
 * leaf on the right side of the key.
 */
static int cursor_approach(struct wort_cursor *cur, const struct wort_key *key,
			   u32 common)
{
	struct art_cursor *ac = art_cursor(cur);
	u32 place = round_down(common, ART_BYTE_DIGITS), nr = ac->nr;
	bool above = wort_rec_digit(&ac->rec, common) >
		     wort_key_digit(key->data, key->len, common);
	struct art_level *level = NULL;

	while (ac->nr && wort_link_place(ac->level[ac->nr - 1].link) > place)
		ac->nr--;
	if (ac->nr)
		level = &ac->level[ac->nr - 1];
	if (level && wort_link_place(level->link) == place) {
		level->byte = art_key_byte(key, wort_key_word(key, 0), place);
		return cursor_step(cur);
	}
	if (above == cur->reverse)
		return cursor_step(cur);
	if (ac->nr == nr)
		return 0;
	return cursor_down(cur, ac->level[ac->nr].link,
			   level ? art_end(level->link) : 0, NULL);
}

static bool beyond(struct wort_cursor *cur, const struct wort_key *key)
{
	struct wort_key at = { cur->key, cur->key_len };
	int cmp = wort_key_compare(&at, key);

	return cur->reverse ? cmp <= 0 : cmp >= 0;
}

int art_seek(struct wort_cursor *cur, const struct wort_key *key)
{
	struct art_cursor *ac = art_cursor(cur);
	u32 common = WORT_KEY_DIGITS;
	u64 link;
	int err;

	ac->nr = 0;
	err = wort_root_load(cur->op, wort_root_off(cur->tree), &link);
	if (!link)
		return err ?: -ENOENT;
	err = cursor_down(cur, link, 0, key);
	if (!err && key)
		common = wort_rec_common(cur->op, &ac->rec, key);
	if (!err && common < WORT_KEY_DIGITS)
		err = cursor_approach(cur, key, common);
	if (!err)
		err = cursor_accept(cur, 0);
	if (err)
		return err;
	ac->fresh = 0;
	if (key && !beyond(cur, key))
		return wort_corrupt(cur->op, ac->rec.off, "keys out of order");
	return 0;
}

int art_next(struct wort_cursor *cur)
{
	struct art_cursor *ac = art_cursor(cur);
	struct wort_key last = { cur->key, cur->key_len };
	u32 common;
	int err = cursor_step(cur);

	if (err)
		return err;
	/*
	 * Neighbours part at the place where the cursor went from one to the
	 * other, and nowhere before: with the byte there this is their order.
	 */
	common = wort_rec_common(cur->op, &ac->rec, &last);
	if (round_down(common, ART_BYTE_DIGITS) !=
	    wort_link_place(ac->level[ac->fresh - 1].link))
		return wort_corrupt(cur->op, ac->rec.off, "keys out of order");
	cur->wanted--;
	return cursor_accept(cur, ac->fresh - 1);
}

int art_value(struct wort_cursor *cur, struct wort_buf *buf)
{
	return wort_rec_value(cur->op, &art_cursor(cur)->rec, buf);
}

/*
 * The position of the slot that a cursor took last, and its byte in the node.
 */
static int cursor_pos(struct wort_cursor *cur, struct rdx_pos *pos, u32 *byte)
{
	void __pmem *base = wort_region_at(cur->op->region, 0);
	struct art_cursor *ac = art_cursor(cur);
	int err;
	u32 i;

	*byte = 0;
	*pos = (struct rdx_pos){ .slot = wort_root_off(cur->tree) };
	err = wort_root_load(cur->op, pos->slot, &pos->link);
	for (i = 0; i < ac->nr && !err; i++) {
		pos->above = pos->slot;
		pos->above_node = pos->node;
		pos->node = ac->level[i].link;
		pos->start = art_end(pos->node);
		*byte = ac->level[i].byte;
		pos->slot = art_slot(base, pos->node, *byte);
		if (!pos->slot)
			err = -EAGAIN;
		else
			pos->link = wort_pm_load(base + pos->slot);
	}
	return err;
}

/* Can the object that a link refers to not be read? */
static bool link_is_lost(struct wort_op *op, u64 link, u32 start)
{
	struct wort_rec rec;

	return link && (art_link_is_node(link) ?
				art_node_verify(op, link, start) :
				wort_rec_peek(op, wort_link_record(link),
					      &rec)) == -EIO;
}

int art_drop(struct wort_cursor *cur)
{
	struct rdx_pos pos;
	u32 byte;
	int err = cursor_pos(cur, &pos, &byte);

	if (err)
		return err;
	if (!link_is_lost(cur->op, pos.link, pos.start))
		return -EAGAIN;
	return art_unlink_lost(cur->op, cur->tree, &pos, byte);
}

/* Behind a position, or without one to the record after the current one. */
static int walk_move(struct wort_cursor *cur, const struct wort_key *pos)
{
	struct wort_key at = { cur->key, 0 };
	int err;

	if (!pos)
		return art_next(cur);
	err = art_seek(cur, pos->len ? pos : NULL);
	at.len = cur->key_len;
	return !err && pos->len && !wort_key_compare(&at, pos) ? art_next(cur) : err;
}

/*
 * A step is a record, and the nodes that the cursor has entered on the way to
 * it.  The position is the key.  A record keeps its key, and a node the digits
 * that all keys below it have in common.  Therefore no object moves from one
 * side of the position to the other.
 */
int art_walk(struct wort_cursor *cur, const struct wort_key *pos,
	     struct wort_visitor *visitor)
{
	struct art_cursor *ac = art_cursor(cur);
	int err = walk_move(cur, pos);
	u32 i;

	for (i = ac->fresh; i < ac->nr && !err; i++)
		err = visitor->visit(visitor, cur->op, wort_link_off(ac->level[i].link),
				     art_node_size(art_link_kind(ac->level[i].link)), false);
	return err ?: wort_rec_visit(cur->op, &ac->rec, visitor) ?: 1;
}

int art_check(struct wort_cursor *cur)
{
	struct art_cursor *ac = art_cursor(cur);
	struct art_node node;
	int err = 0;
	u32 i;

	for (i = ac->fresh; i < ac->nr && !err; i++) {
		art_node_at(cur->op, ac->level[i].link, &node);
		err = art_node_check(cur->op, &node);
	}
	return err;
}
