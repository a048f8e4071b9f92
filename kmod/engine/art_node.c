// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The kinds of nodes of an adaptive radix tree; see art.h.
 */
#include <linux/kernel.h>

#include "art_copy.h"

#define LINE_WORDS	(WORT_LINE / sizeof(u64))

/**
 * art_node_verify() - Verify a link to a node, and that the node can be read
 * @op: The operation.
 * @link: The link, of a kind of node.
 * @start: Digits consumed on the path to it.
 *
 * Context: A section.
 * Return: 0; -EUCLEAN; -EIO.
 */
noinline int art_node_verify(struct wort_op *op, u64 link, u32 start)
{
	u32 size = art_node_size(art_link_kind(link));
	u64 off = wort_link_off(link);
	int err = wort_region_verify(op->region, off, size);

	if (unlikely(!err && off % WORT_LINE))
		err = -EUCLEAN;
	if (unlikely(err || !art_place_valid(link, start)))
		return rdx_report_node(op, link, start, err);
	return wort_pm_probe(op, wort_region_at(op->region, off), size);
}

/**
 * art_map_report() - Report a damaged map
 * @op: The operation that has met it.
 * @link: The link to its node.
 *
 * Context: Any context.
 * Return: -EUCLEAN.
 */
noinline int art_map_report(struct wort_op *op, u64 link)
{
	return wort_corrupt(op, wort_link_off(link), "node with a wrong map");
}

/**
 * art_node_flush_read() - Make durable what an answer of a node rests on
 * @op: The operation, which has read the slot of a byte, or that it has none.
 * @link: The link to the node, in which something is in flight.
 * @byte: The byte.
 *
 * If the byte has no slot, nothing is flushed: it never had one in this node,
 * and the descent has flushed the link that put this node in place of one where
 * it had.  The map is in the line of the slot.
 *
 * Context: As wort_pm_flush_in_flight().
 */
noinline void art_node_flush_read(struct wort_op *op, u64 link, u32 byte)
{
	u64 slot = art_slot(wort_region_at(op->region, 0), link, byte);

	if (slot)
		wort_pm_flush_read(op, slot, sizeof(u64));
}

/* An answer rests on all slots of the node, also on empty ones. */
static void node_flush_in_flight(struct wort_op *op,
				 const struct art_node *node)
{
	u64 off = wort_link_off(node->link);

	wort_pm_flush_in_flight(op, off, off, art_node_size(node->kind));
}

#define NONE	U64_MAX

/*
 * The nearest entry of a line: its distance from a byte in one direction, then
 * the numbers of line and slot.  Bytes are in no order, so no branch depends on
 * them.
 */
static __always_inline u64 line_nearest(const struct art_node *node, u32 nr,
					u32 from, bool reverse)
{
	const struct wort_media_art_line __pmem *line = art_line_at(node, nr);
	u64 map = wort_pm_load(&line->map), nearest = NONE, distance;
	u32 used = art_line_used(map), slot, byte;

	for (; used; used &= used - 1) {
		slot = __ffs(used);
		byte = map >> 8 * slot & 0xff;
		distance = reverse ? from - byte : byte - from;
		distance = wort_pm_load(&line->slot[slot]) ? distance : NONE >> 16;
		distance = art_line_of(node->kind, byte) == nr ? distance : NONE >> 16;
		nearest = min(nearest, distance << 16 | nr << 8 | slot);
	}
	return nearest;
}

/* Look at all entries. */
static bool lines_next(const struct art_node *node, u32 from, bool reverse,
		       struct art_entry *entry)
{
	u64 nearest;
	u32 i;

	do {
		for (i = 0, nearest = NONE; i < art_lines(node->kind); i++)
			nearest = min(nearest,
				      line_nearest(node, i, from, reverse));
		if (nearest >> 16 >= ART_BYTES)
			return false;
		i = nearest >> 16;
		entry->byte = reverse ? from - i : from + i;
		/* It is 0 if the entry was deleted meanwhile. */
		entry->link = wort_pm_load(&art_line_at(node, nearest >> 8 & 0xff)->
					   slot[nearest & 0xff]);
	} while (!entry->link);
	return true;
}

/**
 * art_entry_next() - The first entry of a node from a byte on
 * @node: The node.
 * @from: The byte; ART_BYTES or more: there is none.
 * @reverse: The last entry up to the byte.
 * @entry: Told.
 *
 * What it has read may be in flight.
 *
 * Context: A section.
 * Return: False if there is none.
 */
bool art_entry_next(const struct art_node *node, u32 from, bool reverse,
		    struct art_entry *entry)
{
	bool is_n256 = node->kind == WORT_MEDIA_ART_KIND_N256;
	u32 near = is_n256 ? ART_BYTES : art_lines(node->kind);

	/*
	 * Bytes are often neighbours: as many as there are lines mostly have a
	 * line each.
	 */
	for (; near && from < ART_BYTES; near--, from += reverse ? -1 : 1) {
		entry->byte = from;
		entry->link = art_byte_link(node, from);
		if (entry->link)
			return true;
	}
	return !is_n256 && from < ART_BYTES &&
	       lines_next(node, from, reverse, entry);
}

/* Count the entries of a line but for that of @byte, from @nr on. */
static u32 line_count(const struct wort_media_art_line __pmem *line, u32 byte,
		      u32 nr, u32 max, u64 *link)
{
	u64 map = wort_pm_load(&line->map), found;
	u32 used = art_line_used(map);

	if (byte < ART_BYTES)
		used &= ~art_match(map, byte);
	for (; used && nr < max; used &= used - 1) {
		found = wort_pm_load(&line->slot[__ffs(used)]);
		if (found) {
			*link = found;
			nr++;
		}
	}
	return nr;
}

static u32 lines_count(const struct art_node *node, u32 byte, u32 lines,
		       u32 max, u64 *link)
{
	u32 first = art_line_of(node->kind, byte);
	u32 mask = art_lines(node->kind) - 1, nr = 0, i;

	for (i = 0; i < lines && nr < max; i++)
		nr = line_count(art_line_at(node, (first + i) & mask), byte,
				nr, max, link);
	return nr;
}

static u32 slots_count(const struct art_node *node, u32 byte, u32 slots,
		       u32 max, u64 *link)
{
	const struct wort_media_art_n256 __pmem *n256 = node->media;
	u32 begin = round_down(byte, LINE_WORDS), nr = 0, i, at;
	u64 found;

	for (i = 0; i < slots && nr < max; i++) {
		at = (begin + i) % ART_BYTES;
		found = at == byte ? 0 : wort_pm_load(&n256->slot[at]);
		if (found) {
			*link = found;
			nr++;
		}
	}
	return nr;
}

/* In so many lines, the first of which is that of the byte. */
static u32 count_others(const struct art_node *node, u32 byte, u32 lines,
			u32 max, u64 *link)
{
	return node->kind == WORT_MEDIA_ART_KIND_N256 ?
		       slots_count(node, byte, lines * LINE_WORDS, max, link) :
		       lines_count(node, byte, lines, max, link);
}

/**
 * art_count_others() - Count the entries of a node but for that of a byte
 * @node: The node.
 * @byte: The byte; ART_BYTES: count all.
 * @max: Count no more than these.
 * @link: Told: the link of one of them, if there is any.
 *
 * Begins in the line of the byte, which is cached.  What it has read may be in
 * flight.
 *
 * Context: A section.
 * Return: How many, at most @max.
 */
u32 art_count_others(const struct art_node *node, u32 byte, u32 max, u64 *link)
{
	u32 lines = art_node_size(node->kind) / WORT_LINE;

	return count_others(node, byte, lines, max, link);
}

/**
 * art_is_sparse() - Should a node be smaller, for the few entries it is left with?
 * @node: The node.
 * @byte: Of the entry that goes.
 *
 * With so few that a node of a quarter of its size mostly has room for them.
 * Counting and copying take longer than the rest of a delete, so only a delete
 * looks that leaves the line of its byte empty.  That happens the more often,
 * the fewer entries there are; also when a shrink before has found no space.
 *
 * Context: A section.
 * Return: True if it is.
 */
bool art_is_sparse(const struct art_node *node, u32 byte)
{
	u32 lines = art_node_size(node->kind) / WORT_LINE, few = 5 * lines / 4;
	u64 link;

	return lines > 1 && !count_others(node, byte, 1, 1, &link) &&
	       count_others(node, byte, lines, few + 1, &link) <= few;
}

/**
 * art_others() - As art_count_others(), for an answer
 * @op: The operation, whose answer will rest on the entries.
 * @node: The node.
 * @byte: The byte.
 * @max: Count no more than these.
 * @link: Told: the link of one of them, if there is any.
 *
 * Context: A section.
 * Return: How many, at most @max.
 */
u32 art_others(struct wort_op *op, const struct art_node *node, u32 byte,
	       u32 max, u64 *link)
{
	u32 nr = art_count_others(node, byte, max, link);

	node_flush_in_flight(op, node);
	return nr;
}

/* False: an entry is in a wrong line, or its byte has two slots. */
static bool line_list(const struct art_node *node, u32 nr, u32 byte,
		      struct art_entries *list)
{
	const struct wort_media_art_line __pmem *line = art_line_at(node, nr);
	u64 map = wort_pm_load(&line->map);
	u32 used = art_line_used(map), at;

	for (; used; used &= used - 1) {
		at = map >> 8 * __ffs(used) & 0xff;
		if (art_line_of(node->kind, at) != nr ||
		    art_line_match(map, at) != BIT(__ffs(used)))
			return false;
		if (at != byte && wort_pm_load(&line->slot[__ffs(used)]))
			art_entries_add(list, at, LINE_WORDS * nr + 1 + __ffs(used));
	}
	return true;
}

static bool n256_list(const struct art_node *node, u32 byte,
		      struct art_entries *list)
{
	const struct wort_media_art_n256 __pmem *n256 = node->media;
	u32 at;

	for (at = 0; at < ART_BYTES; at++) {
		if (at == byte || !wort_pm_load(&n256->slot[at]))
			continue;
		if (list->nr == ART_COPY_MAX - 1)
			return false;
		art_entries_add(list, at, at);
	}
	return true;
}

/**
 * art_others_list() - List the entries of a node but for that of a byte
 * @node: The node.
 * @byte: The byte; ART_BYTES: list all.
 * @list: Filled in.
 *
 * Context: A section.
 * Return: False if an N256 has too many for a copy, or the map of another node
 * is damaged.
 */
bool art_others_list(const struct art_node *node, u32 byte,
		     struct art_entries *list)
{
	u32 i;

	list->nr = 0;
	list->added = 0;
	if (node->kind == WORT_MEDIA_ART_KIND_N256)
		return n256_list(node, byte, list);
	for (i = 0; i < art_lines(node->kind); i++)
		if (!line_list(node, i, byte, list))
			return false;
	return true;
}

/**
 * art_copy_valid() - Does a copy have the entries of a node, but for that of a byte?
 * @node: The node.
 * @byte: The byte.
 * @copy: The link to the copy.
 * @nr: How many other entries the copy has.
 *
 * Context: A section, with the node locked.
 * Return: True if it has.
 */
bool art_copy_valid(const struct art_node *node, u32 byte, u64 copy, u32 nr)
{
	void __pmem *base = node->media - wort_link_off(node->link);
	struct art_entries list;
	u64 slot;
	u32 i;

	if (!art_others_list(node, byte, &list) || list.nr != nr)
		return false;
	for (i = 0; i < nr; i++) {
		slot = art_slot(base, copy, list.byte[i]);
		if (!slot || wort_pm_load(base + slot) !=
			     art_entries_link(&list, i, node->media))
			return false;
	}
	return true;
}

static bool kind_fits(u32 kind, const struct art_entries *list)
{
	u8 nr[WORT_MEDIA_ART_LINES_MAX] = { };
	u32 i;

	for (i = 0; i < list->nr; i++)
		if (nr[art_line_of(kind, list->byte[i])]++ ==
		    WORT_MEDIA_ART_LINE_SLOTS)
			return false;
	return true;
}

/**
 * art_kind_for() - The smallest kind of node whose lines have room for entries
 * @list: The entries.
 *
 * Context: Any context.
 * Return: WORT_MEDIA_ART_KIND_*.
 */
u32 art_kind_for(const struct art_entries *list)
{
	u32 kind = WORT_MEDIA_ART_KIND_N7;

	while (kind < WORT_MEDIA_ART_KIND_N256 && !kind_fits(kind, list))
		kind++;
	return kind;
}

static void n256_write(struct wort_op *op,
		       struct wort_media_art_n256 __pmem *n256,
		       const struct art_entries *list,
		       const __le64 __pmem *words)
{
	u32 i;

	wort_pm_zero(op, n256, sizeof(*n256));
	for (i = 0; i < list->nr; i++)
		wort_pm_store(op, &n256->slot[list->byte[i]],
			      art_entries_link(list, i, words));
}

/**
 * art_node_write() - Write a node again
 * @op: The operation, which has reserved the new node.
 * @from: The node.
 * @kind: The kind of the new one, whose lines have room for the entries.
 * @list: The entries.
 *
 * Flushes what it has written; does not fence.
 *
 * Context: Any context.
 * Return: The link to it.
 */
u64 art_node_write(struct wort_op *op, const struct art_node *from, u32 kind,
		   const struct art_entries *list)
{
	u64 off = wort_alloc_take(op);
	void __pmem *media = wort_region_at(op->region, off);
	u32 size = art_node_size(kind);

	if (kind == WORT_MEDIA_ART_KIND_N256)
		n256_write(op, media, list, from->media);
	else
		art_lines_write(op, media, kind, list, from->media);
	wort_pm_flush(op, media, size);
	return art_link(off, kind, from->place);
}

/* Is each byte in its line, in no slot but one, and bit 63 of each map 0? */
static bool maps_valid(const struct art_node *node)
{
	const struct wort_media_art_line __pmem *line = node->media;
	struct art_entries list;
	u32 i;

	if (node->kind == WORT_MEDIA_ART_KIND_N256)
		return true;
	for (i = 0; i < art_lines(node->kind); i++)
		if (wort_pm_load(&line[i].map) >> 63)
			return false;
	return art_others_list(node, ART_BYTES, &list);
}

/**
 * art_node_check() - Examine a node
 * @op: The operation.
 * @node: The node.
 *
 * Context: A section.
 * Return: 0; -EUCLEAN if its map is damaged or it has less than two entries.
 */
int art_node_check(struct wort_op *op, const struct art_node *node)
{
	u64 link;
	u32 nr;

	if (!maps_valid(node))
		return art_map_report(op, node->link);
	nr = art_others(op, node, ART_BYTES, 2, &link);
	return nr < 2 ? wort_corrupt(op, wort_link_off(node->link),
				     "node with %u entries", nr) : 0;
}

/**
 * art_any_record() - Find a record below a link
 * @op: The operation.
 * @link: The link, untrusted.
 * @start: Digits consumed on the path to it.
 * @rec: Filled in as wort_rec_peek() does.
 *
 * Any record there has the digits of the path.
 *
 * Context: A section.
 * Return: 0; -EUCLEAN; -EIO.
 */
int art_any_record(struct wort_op *op, u64 link, u32 start,
		   struct wort_rec *rec)
{
	struct art_node node;
	int err;

	while (art_link_is_node(link)) {
		err = art_node_open(op, link, start, &node);
		if (err)
			return err;
		if (!art_others(op, &node, ART_BYTES, 1, &link))
			return wort_corrupt(op, wort_link_off(node.link),
					    "node without entries");
		start = art_end(node.link);
	}
	return art_link_verify(op, link) ?:
	       wort_rec_peek(op, wort_link_record(link), rec);
}
