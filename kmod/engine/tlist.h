/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * tlist, an engine for tests: its media, and what its files share.  tlist.c
 * says how it works.
 */
#ifndef _WORT_TLIST_H
#define _WORT_TLIST_H

#include <linux/types.h>
#include <linux/wort_engines.h>

#include "../core/pmem.h"
#include "engine.h"
#include "root.h"
#include "rec.h"

/*
 * A chunk.  The bytes of its bound follow its slots.
 *
 *	 63                        27 26           16 15     6 5     0
 *	+----------------------------+---------------+--------+-------+
 *	| 0                          | bound length  | 0      | slots |  meta
 *	+----------------------------+---------------+--------+-------+
 */
struct wort_media_tlist_chunk {
	__le64 next;		/* offset of the next chunk, or 0 */
	__le64 bits;		/* a bit for each slot in use */
	__le64 meta;		/* immutable */
	__le64 slot[];		/* offset of a record; 0: unused */
};

#define WORT_MEDIA_TLIST_SLOTS_MASK	0x3fULL
#define WORT_MEDIA_TLIST_BOUND_SHIFT	16
#define WORT_MEDIA_TLIST_BOUND_MASK	0x7ffULL
#define WORT_MEDIA_TLIST_META_ALL	0x7ff003fULL

#define TLS_BOUND_SHORT		32	/* bytes; a chunk has room for such a bound, or for any */

#define ATTR_LIMITS(name, shift, bits, unit, min, max, def, values)	\
	TLS_ATTR_SHIFT = (shift), TLS_ATTR_BITS = (bits),		\
	TLS_SLOTS_MAX = (max), TLS_SLOTS_DEFAULT = (def),
enum { WORT_ATTRS_tlist(ATTR_LIMITS) };

/* A chunk whose header was verified, and its words as they were read. */
struct tls_chunk {
	struct wort_media_tlist_chunk __pmem *media;
	u64 off;		/* 0: there is no chunk */
	u64 next;
	u64 bits;
	u32 slots;
	u32 bound_len;
};

/**
 * struct tls_pos - Where a descent has ended
 * @node: name of the node of @above
 * @above: the word that leads to @chunk; the root word if there is none.  NULL
 *	if the descent began at @chunk, and was not told to find it
 * @chunk: the chunk that covers the key
 * @behind: the next one, or none
 * @slot: slot of @rec
 * @rec: a record of the chunk
 */
struct tls_pos {
	u64 node;
	__le64 __pmem *above;
	struct tls_chunk chunk;
	struct tls_chunk behind;
	u32 slot;
	struct wort_rec rec;
};

/* How far a descent goes: to the chunk ... */
enum tls_goal {
	TLS_FIRST,		/* that is the first one */
	TLS_COVERS,		/* that covers a key */
	TLS_BELOW,		/* that covers the keys right below a key */
	TLS_LAST,		/* that is the last one */
};

/**
 * struct tls_pick - Look for the record of a chunk that is nearest to a key
 * @bits: slots that count
 * @reverse: among the keys below
 * @equal: the key itself counts
 * @key: the key; without bytes each key counts
 * @best: buffer for the key that was found
 */
struct tls_pick {
	u64 bits;
	bool reverse;
	bool equal;
	struct wort_key key;
	u8 *best;
};

/* What could not be read: the word that leads to it, or the bit of its slot. */
struct tls_lost {
	struct tls_chunk chunk;	/* that has the word; none: the root record */
	u32 slot;		/* TLS_SLOTS_MAX: it is the next chunk */
	u64 off;
};

struct tls_cursor {
	struct tls_pos pos;
	struct tls_lost lost;
	u32 nr;			/* records of a step of a walk */
	struct wort_rec recs[TLS_SLOTS_MAX];
	u8 best[WORT_KEY_MAX] __aligned(8);
	u8 fence[WORT_KEY_MAX] __aligned(8);
};

/**
 * struct tls_entry - An entry of the array: the descriptor of a chunk
 * @prefix: the first bytes of its bound
 * @off: its offset
 * @freed: a bit for each slot whose record went, and that may become unused
 *	after a grace period
 * @waiting: those whose grace period has begun
 */
struct tls_entry {
	u64 prefix;
	u64 off;
	u64 freed;
	u64 waiting;
};

/**
 * struct tls_array - The chunks of an open tree by their bounds: wort_tree.priv
 * @nr: number of entries, which are in the order of their prefixes
 * @max: there is room for so many
 * @capped: it may not grow any more
 * @nomem: it could not grow when it was full
 * @entry: the entries
 *
 * It is freed after a grace period.
 */
struct tls_array {
	u32 nr;
	u32 max;
	bool capped;
	bool nomem;
	struct tls_entry entry[];
};

/* A change that is launched. */
struct tls_change {
	struct wort_tree *tree;	/* whose array changes, too, or NULL */
	struct tls_entry made[2];	/* the chunks that come */
	u32 nr_made;
	struct tls_pos pos;
	bool old;		/* the record at @pos goes */
	bool goes;		/* the chunk at @pos goes, too */
	bool exact;		/* an update that rests on the value before it */
	u64 link;		/* to a new record; 0: there is none */
	u64 val;		/* what the word above becomes, if the chunk goes */
};

u32 tls_slots(const struct wort_tree *tree);
u32 tls_chunk_unused(const struct tls_chunk *chunk);
int tls_chunk_open(struct wort_op *op, const struct wort_tree *tree, u64 off,
		   struct tls_chunk *chunk);
int tls_bound_cmp(struct wort_op *op, const struct tls_chunk *chunk,
		  const struct wort_key *key);
int tls_bound_read(struct wort_op *op, const struct tls_chunk *chunk, u8 *buf);
int tls_rec_cmp(struct wort_op *op, const struct wort_rec *rec,
		const struct wort_key *key);
int tls_slot_open(struct wort_op *op, const struct tls_chunk *chunk, u32 slot,
		  struct wort_rec *rec);
int tls_descend(struct wort_op *op, const struct wort_tree *tree,
		enum tls_goal goal, const struct wort_key *key,
		struct tls_pos *pos);
int tls_pick(struct wort_op *op, const struct tls_pick *want,
	     struct tls_pos *pos);
void tls_commit(struct wort_op *op, struct tls_change *c, u64 node,
		__le64 __pmem *word, u64 val);

void tls_slot_fill(struct wort_op *op, const struct tls_chunk *chunk, u32 slot,
		   u64 link);
int tls_put_plan(struct wort_op *op, struct wort_tree *tree,
		 struct wort_put *put, struct tls_change *c);
int tls_remove_plan(struct wort_op *op, struct wort_tree *tree,
		    const struct wort_del *del, struct tls_change *c);

u64 tls_prefix(const u8 *data, u32 len);
u64 tls_chunk_prefix(const struct tls_chunk *chunk);
int tls_array_start(struct wort_op *op, const struct wort_tree *tree,
		    enum tls_goal goal, const struct wort_key *key, bool above,
		    u64 *start);
void tls_array_goes(struct wort_op *op, const struct tls_change *c);
void tls_array_made(struct wort_op *op, const struct tls_change *c);
void tls_slot_freed(struct wort_op *op, struct wort_tree *tree,
		    const struct tls_entry *chunk, u64 slot);

extern const struct wort_batch_ops tls_batch_ops;
extern const struct wort_volatile_ops tls_volatile_ops;

int tls_seek(struct wort_cursor *cur, const struct wort_key *key);
int tls_next(struct wort_cursor *cur);
int tls_value(struct wort_cursor *cur, struct wort_buf *buf);
int tls_walk(struct wort_cursor *cur, const struct wort_key *pos,
	     struct wort_visitor *visitor);
int tls_check(struct wort_cursor *cur);
int tls_drop(struct wort_cursor *cur);

/* Bytes of a chunk that mean something. */
static inline u64 tls_chunk_used(u32 slots, u32 bound_len)
{
	return sizeof(struct wort_media_tlist_chunk) + slots * sizeof(__le64) +
	       bound_len;
}

/*
 * Bytes of its object.  There are only two sizes, so that tls_need() can tell
 * what a put reserves without knowing the bounds of the chunks that it will
 * make.
 */
static inline u64 tls_chunk_size(u32 slots, u32 bound_len)
{
	return tls_chunk_used(slots, bound_len <= TLS_BOUND_SHORT ?
					     TLS_BOUND_SHORT :
					     WORT_KEY_MAX);
}

static inline const void __pmem *tls_chunk_bound(const struct tls_chunk *chunk)
{
	return &chunk->media->slot[chunk->slots];
}

static inline u64 tls_chunk_link(const struct tls_chunk *chunk, u32 slot)
{
	return wort_pm_load(&chunk->media->slot[slot]);
}

static inline struct tls_cursor *tls_cursor(struct wort_cursor *cur)
{
	return (struct tls_cursor *)cur->engine;
}

/* The array of the tree, or NULL. */
static inline struct tls_array *tls_array(const struct wort_tree *tree)
{
	/* pairs with the release that publishes an array */
	return smp_load_acquire(&tree->priv);
}

#endif /* _WORT_TLIST_H */
