// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The kinds of nodes of an adaptive radix tree; see art.h.
 */
#include <linux/kernel.h>

#include "art_copy.h"

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

/*
 * The first byte of an N48 or N256 from a byte on that has a slot; ART_BYTES or more: there
 * is none.
 */
static __always_inline u32 wide_from(const struct art_node *node, u32 byte)
{
	const struct wort_media_art_n48 __pmem *n48 = node->media;
	u64 word;

	if (node->kind == WORT_MEDIA_ART_KIND_N256)
		return byte;
	while (byte < ART_BYTES) {
		word = wort_pm_load(&n48->index[byte / 8]) >> 8 * (byte % 8);
		if (word)
			return byte + __ffs64(word) / 8;
		byte = round_down(byte, 8) + 8;
	}
	return byte;
}

/* What the slot of a byte holds; 0: also if it has none. */
static __always_inline u64 wide_link(const struct art_node *node, u32 byte)
{
	const struct wort_media_art_n256 __pmem *n256 = node->media;
	const struct wort_media_art_n48 __pmem *n48 = node->media;
	u32 slot;

	if (node->kind == WORT_MEDIA_ART_KIND_N256)
		return wort_pm_load(&n256->slot[byte]);
	slot = wort_pm_load_byte(node->media + byte) - 1;
	return slot < ART_N48_SLOTS ? wort_pm_load(&n48->slot[slot]) : 0;
}

/**
 * art_node_flush_read() - Make durable what an answer of a node rests on
 * @op: The operation, which has read the slot of a byte, or that it has none.
 * @link: The link to the node, in which something is in flight.
 * @byte: The byte.
 *
 * If the byte has no slot, nothing is flushed: it never had one in this node, and the
 * descent has flushed the link that put this node in place of one where it had.  The map
 * of a small node is in the line of the slot.
 *
 * Context: As wort_pm_flush_in_flight().
 */
noinline void art_node_flush_read(struct wort_op *op, u64 link, u32 byte)
{
	u64 slot = art_slot(wort_region_at(op->region, 0), link, byte);

	if (!slot || slot == ART_NO_SLOT)
		return;
	wort_pm_flush_read(op, slot, sizeof(u64));
	if (art_link_kind(link) == WORT_MEDIA_ART_KIND_N48)
		wort_pm_flush_read(op, wort_link_off(link) + round_down(byte, sizeof(u64)),
				   sizeof(u64));
}

/* An answer rests on all slots of the node, also on empty ones. */
static void node_flush_in_flight(struct wort_op *op, const struct art_node *node)
{
	u64 off = wort_link_off(node->link);

	wort_pm_flush_in_flight(op, off, off, art_node_size(node->kind));
}

/* The byte of a slot of a small node. */
static u32 small_byte(const struct art_node *node, u32 slot)
{
	const struct wort_media_art_line __pmem *line = node->media;

	return wort_pm_load(&line[slot / ART_LINE_WORDS].map) >>
	       8 * (slot % ART_LINE_WORDS) & 0xff;
}

/* Their bytes are in no order. */
static bool small_next(const struct art_node *node, u32 from, bool reverse,
		       struct art_entry *entry)
{
	const __le64 __pmem *slots = art_small_slots(node->media);
	u32 used = art_small_used(node), slot, byte;
	bool found = false;
	u64 link;

	for (; used; used &= used - 1) {
		slot = __ffs(used);
		byte = small_byte(node, slot);
		if (reverse ? byte > from : byte < from)
			continue;
		if (found && (reverse ? byte < entry->byte : byte > entry->byte))
			continue;
		link = wort_pm_load(&slots[slot]);
		if (!link)
			continue;
		*entry = (struct art_entry){ byte, link };
		found = true;
	}
	return found;
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
	u64 link;

	if (art_is_small(node->kind))
		return from < ART_BYTES && small_next(node, from, reverse, entry);
	for (; from < ART_BYTES; from = reverse ? from - 1 : wide_from(node, from + 1)) {
		link = wide_link(node, from);
		if (link) {
			*entry = (struct art_entry){ from, link };
			return true;
		}
	}
	return false;
}

static u32 small_count(const struct art_node *node, u32 byte, u32 max, u64 *link)
{
	const __le64 __pmem *slots = art_small_slots(node->media);
	u32 used = art_small_used(node), nr = 0, slot;
	u64 found;

	for (; used && nr < max; used &= used - 1) {
		slot = __ffs(used);
		found = small_byte(node, slot) == byte ? 0 : wort_pm_load(&slots[slot]);
		if (found) {
			*link = found;
			nr++;
		}
	}
	return nr;
}

/* Count the entries of some bytes but for that of @byte, from @nr on. */
static u32 wide_count_range(const struct art_node *node, u32 from, u32 to, u32 byte,
			    u32 nr, u32 max, u64 *link)
{
	u64 found;

	for (; from < to && nr < max; from = wide_from(node, from + 1)) {
		found = from == byte ? 0 : wide_link(node, from);
		if (found) {
			*link = found;
			nr++;
		}
	}
	return nr;
}

/* Begins in the line of the byte, which is cached. */
static u32 wide_count(const struct art_node *node, u32 byte, u32 max, u64 *link)
{
	u32 begin = round_down(byte, 8) % ART_BYTES;
	u32 nr = wide_count_range(node, begin, ART_BYTES, byte, 0, max, link);

	return wide_count_range(node, 0, begin, byte, nr, max, link);
}

/**
 * art_count_others() - Count the entries of a node but for that of a byte
 * @node: The node.
 * @byte: The byte; ART_BYTES: count all.
 * @max: Count no more than these.
 * @link: Told: the link of one of them, if there is any.
 *
 * What it has read may be in flight.
 *
 * Context: A section.
 * Return: How many, at most @max.
 */
u32 art_count_others(const struct art_node *node, u32 byte, u32 max, u64 *link)
{
	return art_is_small(node->kind) ?
	       small_count(node, byte, max, link) : wide_count(node, byte, max, link);
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
u32 art_others(struct wort_op *op, const struct art_node *node, u32 byte, u32 max,
	       u64 *link)
{
	u32 nr = art_count_others(node, byte, max, link);

	node_flush_in_flight(op, node);
	return nr;
}

/* Slots of a small node that have a byte and hold a link. */
static u32 small_holds(const struct art_node *node)
{
	const __le64 __pmem *slots = art_small_slots(node->media);
	u32 used = art_small_used(node), nr = 0;

	for (; used; used &= used - 1)
		nr += !!wort_pm_load(&slots[__ffs(used)]);
	return nr;
}

/**
 * art_holds_few() - Does a node hold at most so many links?
 * @node: The node.
 * @few: So many.
 *
 * For the choice whether a smaller node would do, so it need not be exact: of a large node
 * it counts what a slot of no byte holds, too.  Looks at slots in their order, so that it
 * hardly takes a wrong branch.
 *
 * Context: A section.
 * Return: True if it does.
 */
bool art_holds_few(const struct art_node *node, u32 few)
{
	const struct wort_media_art_n256 __pmem *n256 = node->media;
	const struct wort_media_art_n48 __pmem *n48 = node->media;
	bool n48_kind = node->kind == WORT_MEDIA_ART_KIND_N48;
	const __le64 __pmem *slots = n48_kind ? n48->slot : n256->slot;
	u32 end = n48_kind ? ART_N48_SLOTS : ART_BYTES, nr = 0, i;

	if (art_is_small(node->kind))
		return small_holds(node) <= few;
	for (i = 0; i < end && nr <= few; i++)
		nr += !!wort_pm_load(&slots[i]);
	return nr <= few;
}

static bool small_list(const struct art_node *node, u32 byte, struct art_entries *list)
{
	const __le64 __pmem *slots = art_small_slots(node->media);
	u32 used = art_small_used(node), slot, i;
	u64 link;

	for (; used; used &= used - 1) {
		slot = __ffs(used);
		link = wort_pm_load(&slots[slot]);
		if (link && small_byte(node, slot) != byte)
			art_entries_add(list, small_byte(node, slot), link);
	}
	for (i = 1; i < list->nr; i++)
		if (list->of[i].byte == list->of[i - 1].byte)
			return false;
	return true;
}

static bool wide_list(const struct art_node *node, u32 byte, struct art_entries *list)
{
	u64 link;
	u32 at;

	for (at = wide_from(node, 0); at < ART_BYTES; at = wide_from(node, at + 1)) {
		link = at == byte ? 0 : wide_link(node, at);
		if (!link)
			continue;
		if (list->nr == ART_COPY_MAX - 1)
			return false;
		list->of[list->nr++] = (struct art_entry){ at, link };
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
 * Return: False if they are too many for a copy, or a byte has two.  A node that is
 * no N256 is damaged then.
 */
bool art_others_list(const struct art_node *node, u32 byte, struct art_entries *list)
{
	list->nr = 0;
	return art_is_small(node->kind) ? small_list(node, byte, list) :
					  wide_list(node, byte, list);
}

/**
 * art_node_maps() - Can a node map one more byte?
 * @node: The node, not an N256, which maps all.
 *
 * Context: A section.
 * Return: True if it has a free slot.
 */
bool art_node_maps(const struct art_node *node)
{
	return (art_is_small(node->kind) ? art_small_free(node) :
					   art_n48_free(node->media)) != ART_NONE_FREE;
}

/**
 * art_kind_for() - The smallest kind of node for a number of entries
 * @entries: The number, 1 to ART_BYTES.
 *
 * Context: Any context.
 * Return: WORT_MEDIA_ART_KIND_*.
 */
u32 art_kind_for(u32 entries)
{
	if (entries <= ART_SMALL_SLOTS)
		return art_small_kind(entries);
	return entries <= ART_N48_SLOTS ? WORT_MEDIA_ART_KIND_N48 : WORT_MEDIA_ART_KIND_N256;
}

/* The entries come in the order of bytes, so each word of the index is stored once. */
static void n48_write(struct wort_op *op, struct wort_media_art_n48 __pmem *n48,
		      const struct art_entries *list)
{
	u64 word = 0;
	u32 i, byte;

	wort_pm_zero(op, n48, sizeof(*n48));
	for (i = 0; i < list->nr; i++) {
		byte = list->of[i].byte;
		word |= (u64)(i + 1) << 8 * (byte % 8);
		if (i + 1 == list->nr || list->of[i + 1].byte / 8 != byte / 8) {
			wort_pm_store(op, &n48->index[byte / 8], word);
			word = 0;
		}
		wort_pm_store(op, &n48->slot[i], list->of[i].link);
	}
}

static void n256_write(struct wort_op *op, struct wort_media_art_n256 __pmem *n256,
		       const struct art_entries *list)
{
	u32 i;

	wort_pm_zero(op, n256, sizeof(*n256));
	for (i = 0; i < list->nr; i++)
		wort_pm_store(op, &n256->slot[list->of[i].byte], list->of[i].link);
}

/**
 * art_node_write() - Write a new node
 * @op: The operation, which has reserved it.
 * @kind: Its kind, with room for the entries.
 * @place: Its place.
 * @list: The entries; of an N48 in the order of bytes.
 *
 * Flushes what it has written; does not fence.
 *
 * Context: Any context.
 * Return: The link to it.
 */
u64 art_node_write(struct wort_op *op, u32 kind, u32 place,
		   const struct art_entries *list)
{
	u64 off = wort_alloc_take(op);
	void __pmem *media = wort_region_at(op->region, off);
	u32 size = art_node_size(kind);

	if (art_is_small(kind))
		art_small_write(op, media, kind, list->of, list->nr);
	else if (kind == WORT_MEDIA_ART_KIND_N48)
		n48_write(op, media, list);
	else
		n256_write(op, media, list);
	wort_pm_flush(op, media, size);
	return art_link(off, kind, place);
}

/* Is no slot that of two bytes, and no byte in two slots, and no bit set that has no slot? */
static bool map_valid(const struct art_node *node)
{
	const struct wort_media_art_line __pmem *line = node->media;
	u64 seen[ART_BYTES / 64] = { };
	u32 used, slot, byte;

	if (node->kind == WORT_MEDIA_ART_KIND_N256)
		return true;
	if (node->kind == WORT_MEDIA_ART_KIND_N48) {
		for (byte = 0; byte < ART_BYTES; byte++) {
			slot = wort_pm_load_byte(node->media + byte);
			if (!slot)
				continue;
			if (slot > ART_N48_SLOTS || seen[0] & BIT_ULL(slot))
				return false;
			seen[0] |= BIT_ULL(slot);
		}
		return true;
	}
	for (slot = 0; slot <= art_last_line(node->kind); slot++)
		if (wort_pm_load(&line[slot].map) >> 63)
			return false;
	for (used = art_small_used(node); used; used &= used - 1) {
		byte = small_byte(node, __ffs(used));
		if (seen[byte / 64] & BIT_ULL(byte % 64))
			return false;
		seen[byte / 64] |= BIT_ULL(byte % 64);
	}
	return true;
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

	if (!map_valid(node))
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
int art_any_record(struct wort_op *op, u64 link, u32 start, struct wort_rec *rec)
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
