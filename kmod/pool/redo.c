// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Redo lists in DRAM and on media, and what attach does with them.
 *
 * Format clears the page of heads between the stores that end the old pool and
 * those that begin the new one, so in no crash state does a pool have heads of
 * another one.
 */
#include <linux/bitmap.h>
#include <linux/crc32c.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../core/pmem.h"
#include "apply.h"
#include "gate.h"
#include "redo.h"

/**
 * wort_redo_alloc() - Make a redo list without entries
 * @len: Bytes that it will have on media, at most WORT_MEDIA_REDO_MAX.
 * @gfp: How its memory is allocated.
 *
 * Context: May sleep.
 * Return: For kvfree(), or NULL.
 */
struct wort_redo *wort_redo_alloc(u32 len, gfp_t gfp)
{
	size_t size = offsetof(struct wort_redo, media) + len;
	struct wort_redo *redo = kvmalloc(size, gfp);

	if (!redo)
		return NULL;
	redo->answers = false;
	redo->left = false;
	redo->off = 0;
	redo->media = (struct wort_media_redo){ .len = cpu_to_le32(sizeof(redo->media)) };
	return redo;
}

/* Behind the head of the list: the kernel bounds what is copied by its type. */
static u8 *entry_at(const struct wort_redo *redo, u32 at)
{
	return (u8 *)redo->entries + at - sizeof(redo->media);
}

/**
 * wort_redo_add() - Append an entry
 * @redo: The list, which has room for it.
 * @change: What it says.  Entries are added in the order of indexes and keys.
 *
 * Context: Any context.
 */
void wort_redo_add(struct wort_redo *redo,
		   const struct wort_redo_change *change)
{
	u32 at = le32_to_cpu(redo->media.len);
	u32 value_len = wort_redo_value_len(change);
	u32 len = wort_redo_entry_len(change->key.len, value_len), used;
	struct wort_media_redo_entry entry = {
		.index = cpu_to_le64(change->index),
		.key_len = cpu_to_le32(change->key.len),
		.value_len = cpu_to_le32(value_len),
	};
	u8 *to = entry_at(redo, at);

	memcpy(to, &entry, sizeof(entry));
	memcpy(to + sizeof(entry), change->key.data, change->key.len);
	used = sizeof(entry) + change->key.len;
	if (!change->remove) {
		memcpy(to + used, change->value.data, change->value.len);
		used += change->value.len;
	}
	memset(to + used, 0, len - used);
	redo->media.len = cpu_to_le32(at + len);
	le32_add_cpu(&redo->media.nr, 1);
}

static u32 csum_of(struct wort_redo *redo, u32 len)
{
	__le32 csum = redo->media.csum;
	u32 sum;

	redo->media.csum = 0;
	sum = crc32c(~0U, &redo->media, len);
	redo->media.csum = csum;
	return sum;
}

/**
 * wort_redo_seal() - All entries were added
 * @redo: The list.
 *
 * Context: Any context.
 */
void wort_redo_seal(struct wort_redo *redo)
{
	redo->media.csum = cpu_to_le32(csum_of(redo,
					       le32_to_cpu(redo->media.len)));
}

/*
 * The entry at @at, which ends at the result; 0 if it is none.  The list may be
 * hostile.
 */
static u32 entry_parse(const struct wort_redo *redo, u32 at,
		       struct wort_redo_change *change)
{
	u32 left = le32_to_cpu(redo->media.len) - at, key_len, value_len, len;
	struct wort_media_redo_entry entry;
	const u8 *from = entry_at(redo, at);

	if (left < sizeof(entry))
		return 0;
	memcpy(&entry, from, sizeof(entry));
	key_len = le32_to_cpu(entry.key_len);
	value_len = le32_to_cpu(entry.value_len);
	change->remove = value_len == WORT_MEDIA_REDO_REMOVE;
	if (!key_len || key_len > WORT_KEY_MAX ||
	    (!change->remove && value_len > WORT_VALUE_MAX))
		return 0;
	len = wort_redo_entry_len(key_len, value_len);
	if (len > left)
		return 0;
	change->index = le64_to_cpu(entry.index);
	change->key = (struct wort_key){ from + sizeof(entry), key_len };
	change->value = (struct wort_value){
		from + sizeof(entry) + key_len, change->remove ? 0 : value_len,
	};
	return at + len;
}

/**
 * wort_redo_next() - Read an entry
 * @redo: A list that is sound.
 * @at: Where it is: 0, or the last result.
 * @change: Told: what it says.
 *
 * Context: Any context.
 * Return: Where the next one is; 0: there was none.
 */
u32 wort_redo_next(const struct wort_redo *redo, u32 at,
		   struct wort_redo_change *change)
{
	at = at ?: sizeof(redo->media);
	return at < le32_to_cpu(redo->media.len) ? entry_parse(redo, at, change) : 0;
}

/**
 * wort_redo_find() - Look for the entry of a key
 * @redo: A list that is sound.
 * @index: Id of the index.
 * @key: The key.
 * @change: Told: what it says.
 *
 * Context: Any context.
 * Return: True if there is one.
 */
bool wort_redo_find(const struct wort_redo *redo, u64 index,
		    const struct wort_key *key, struct wort_redo_change *change)
{
	u32 at = 0;

	while ((at = wort_redo_next(redo, at, change)))
		if (change->index == index && change->key.len == key->len &&
		    !memcmp(change->key.data, key->data, key->len))
			return true;
	return false;
}

/**
 * wort_head_at() - A head on media
 * @region: The memory.
 * @nr: Number of the head.
 *
 * Context: Any context.
 * Return: Its word.
 */
__le64 __pmem *wort_head_at(const struct wort_region *region, u32 nr)
{
	struct wort_media_head __pmem *heads =
		wort_region_at(region, WORT_MEDIA_HEADS_OFF);

	return &heads[nr].redo;
}

/**
 * wort_heads_verify() - Can the page of heads be read?
 * @op: The operation.
 *
 * Says in the log if not.
 *
 * Context: Any context.
 * Return: 0; -EIO: nobody knows whether there is a batch then, so nothing may
 * be stored.
 */
int wort_heads_verify(struct wort_op *op)
{
	const u64 len = WORT_MEDIA_NR_HEADS * sizeof(struct wort_media_head);
	int err = wort_region_verify(op->region, WORT_MEDIA_HEADS_OFF, len);

	if (!err)
		err = wort_pm_probe(op, wort_head_at(op->region, 0), len);
	if (err)
		pr_err_ratelimited("%s: the page of heads at %#x cannot be read: the pool is read-only\n",
				   op->region->name ?: "pool", WORT_MEDIA_HEADS_OFF);
	return err;
}

/* Does an entry come behind another one? */
static bool in_order(const struct wort_redo_change *before,
		     const struct wort_redo_change *change)
{
	if (before->index != change->index)
		return before->index < change->index;
	return wort_key_compare(&before->key, &change->key) < 0;
}

/* Are entries whole, in order, and as many as they should be? */
static bool entries_sound(const struct wort_redo *redo)
{
	struct wort_redo_change change, last = { };
	u32 nr = le32_to_cpu(redo->media.nr), at = sizeof(redo->media), i;

	if (!nr || nr > WORT_MEDIA_REDO_ENTRIES)
		return false;
	for (i = 0; i < nr; i++) {
		at = entry_parse(redo, at, &change);
		if (!at || (i && !in_order(&last, &change)))
			return false;
		last = change;
	}
	return at == le32_to_cpu(redo->media.len);
}

/* Does another list have one of the keys?  Its gate was closed for both then. */
static bool keys_shared(const struct wort_gates *gates,
			const struct wort_redo *redo)
{
	struct wort_redo_change change, other;
	const struct wort_redo *before;
	u32 i, at = 0;

	while ((at = wort_redo_next(redo, at, &change))) {
		for (i = 0; i < redo->head; i++) {
			before = rcu_dereference_protected(gates->redo[i], true);
			if (before && wort_redo_find(before, change.index,
						     &change.key, &other))
				return true;
		}
	}
	return false;
}

/* Read the list at an offset, which is not trusted. */
static int read_list(struct wort_op *op, struct wort_pool *pool, u64 off,
		     u32 head, struct wort_redo **out)
{
	struct wort_media_redo media;
	struct wort_redo *redo;
	u32 len;
	int err = off % 8 ? wort_corrupt(op, off, "offset of a redo list") :
			    wort_region_verify(op->region, off, sizeof(media));

	if (!err)
		err = wort_pm_read(op, &media, wort_region_at(op->region, off),
				   sizeof(media));
	if (err)
		return err;
	len = le32_to_cpu(media.len);
	if (len % 8 || len < sizeof(media) || len > WORT_MEDIA_REDO_MAX)
		return wort_corrupt(op, off, "length of a redo list");
	err = wort_region_verify(op->region, off, len);
	if (err)
		return err;
	redo = wort_redo_alloc(len, GFP_NOIO | __GFP_NOWARN);
	if (!redo)
		return -ENOMEM;
	redo->head = head;
	redo->off = off;
	err = wort_pm_read(op, &redo->media, wort_region_at(op->region, off),
			   len);
	/* The memory may be hostile, and have changed in between. */
	redo->media.len = media.len;
	if (!err && (csum_of(redo, len) != le32_to_cpu(redo->media.csum) ||
		     redo->media.pad || !entries_sound(redo) ||
		     keys_shared(pool->gates, redo)))
		err = wort_corrupt(op, off, "redo list of an atomic batch");
	/* The last step, since a list that is given up owns nothing. */
	if (!err)
		err = wort_alloc_mark(op, off, len, true);
	if (err)
		kvfree(redo);
	else
		*out = redo;
	return err;
}

/* The gates of its keys. */
static u32 gates_of(const struct wort_redo *redo, u16 *gates)
{
	struct wort_redo_change change;
	u32 at = 0, nr = 0;

	while ((at = wort_redo_next(redo, at, &change)))
		gates[nr++] = wort_gate_nr(change.index, &change.key);
	return nr;
}

/* No operation has begun yet, so none is inside a gate and is waited for. */
static void close_early(struct wort_pool *pool, const struct wort_redo *redo)
{
	u16 gates[WORT_MEDIA_REDO_ENTRIES];
	u32 nr = gates_of(redo, gates);

	while (nr--)
		atomic_fetch_or(WORT_GATE_CLOSED,
				&pool->gates->gate[gates[nr]]);
}

/* May all indexes of a list be changed by this module? */
static int engines_known(struct wort_pool *pool, const struct wort_redo *redo)
{
	struct wort_redo_change change;
	struct wort_index *index;
	u32 at = wort_redo_next(redo, 0, &change);

	/* Both are in the order of ids. */
	list_for_each_entry(index, &pool->indexes, list) {
		cond_resched();
		while (at && change.index < index->id)
			at = wort_redo_next(redo, at, &change);
		if (!at)
			break;
		if (change.index == index->id && !index->tree.engine)
			return -EPROTONOSUPPORT;
	}
	return 0;
}

static int load_list(struct wort_op *op, struct wort_pool *pool, u32 head,
		     u64 off)
{
	struct wort_redo *redo = NULL;
	int err = wort_gates_on(pool);

	if (err)
		return err;
	err = read_list(op, pool, off, head, &redo);
	pool->gates->heads |= BIT_ULL(head);
	if (!err)
		err = engines_known(pool, redo);
	if (wort_is_damage(err))
		pool->gates->lost_heads |= BIT_ULL(head);
	if (err) {
		kvfree(redo);
		return err;
	}
	redo->left = true;
	close_early(pool, redo);
	wort_redo_register(pool, redo);
	wort_redo_answer(pool, redo);
	return 0;
}

/**
 * wort_redo_load() - Read the lists of committed batches
 * @op: The operation.
 * @pool: The pool, being attached; its catalogue was read.
 *
 * Marks them as owned.  Lookups answer from them.  Stores nothing.
 *
 * Context: May sleep.
 * Return: 0; -ENOMEM; -EINTR; -EPROTONOSUPPORT if one changes an index of an
 * engine that the module does not know; -EUCLEAN or -EIO if heads or lists are
 * damaged, or cannot be read: nothing may be stored then.
 */
int wort_redo_load(struct wort_op *op, struct wort_pool *pool)
{
	const char *name = op->region->name ?: "pool";
	int err = wort_heads_verify(op), bad = 0;
	u64 off;
	u32 nr;

	if (err)
		return err;
	wort_count(op, more_loads, WORT_MEDIA_NR_HEADS);
	for (nr = 0; nr < WORT_MEDIA_NR_HEADS; nr++) {
		off = wort_pm_load(wort_head_at(op->region, nr));
		err = off ? load_list(op, pool, nr, off) : 0;
		if (err == -EPROTONOSUPPORT)
			pr_err_ratelimited("%s: head %u refers to an atomic batch at %#llx, which this module cannot carry out: attach the pool with a newer one\n",
					   name, nr, (unsigned long long)off);
		if (err && !wort_is_damage(err))
			return err;
		if (err)
			bad = err;
	}
	return bad;
}

/* Where the list of a head is that was left behind; 0: it has none. */
static u64 left_at(struct wort_gates *gates, u32 head, u32 *len)
{
	const struct wort_redo *redo;
	u64 off = 0;

	rcu_read_lock();
	redo = rcu_dereference(gates->redo[head]);
	if (redo && READ_ONCE(redo->left)) {
		off = READ_ONCE(redo->off);
		*len = le32_to_cpu(redo->media.len);
	}
	rcu_read_unlock();
	return off;
}

/**
 * wort_redo_visit() - Tell about the redo lists that were left behind
 * @op: The operation.
 * @pool: The pool.  Lists of batches that are under way are not told of.
 * @visitor: It is told.
 *
 * Context: May sleep.
 * Return: 0, or what the visitor returns.
 */
int wort_redo_visit(struct wort_op *op, struct wort_pool *pool,
		    struct wort_visitor *visitor)
{
	struct wort_gates *gates = READ_ONCE(pool->gates);
	u32 i, len = 0;
	int err = 0;
	u64 off;

	for (i = 0; gates && i < WORT_MEDIA_NR_HEADS && !err; i++) {
		off = left_at(gates, i, &len);
		if (off)
			err = visitor->visit(visitor, op, off, len, true);
	}
	return err;
}

/**
 * wort_heads_agree() - Are heads on media as they should be?
 * @op: An operation.
 * @pool: The pool.
 *
 * Context: May sleep.  Holds wort_pool.atomic_sem for writing.
 * Return: False if they cannot be read, if one refers to something that is no
 * list, or to a list that was not found by attach.
 */
bool wort_heads_agree(struct wort_op *op, struct wort_pool *pool)
{
	const struct wort_redo *redo = NULL;
	u32 i;

	if (wort_heads_verify(op))
		return false;
	for (i = 0; i < WORT_MEDIA_NR_HEADS; i++) {
		if (pool->gates)
			redo = rcu_dereference_protected(pool->gates->redo[i], true);
		if (wort_pm_load(wort_head_at(op->region, i)) !=
		    (redo ? redo->off : 0))
			return false;
	}
	return true;
}

/**
 * wort_redo_end() - A batch was carried out: nobody owns its list any more
 * @op: An operation, in a section of writers.
 * @redo: The list, whose changes are durable.
 *
 * The head is cleared durably before a gate opens: a change that is
 * acknowledged later would be undone by the list otherwise.
 *
 * Context: May sleep.  Takes wort_alloc.lock.
 * Return: 0; -EUCLEAN if the list is no object: the head is cleared
 * nevertheless.
 */
int wort_redo_end(struct wort_op *op, struct wort_redo *redo)
{
	int err;

	wort_pm_publish(op, wort_head_at(op->region, redo->head), 0);
	err = wort_alloc_free(op, redo->off, le32_to_cpu(redo->media.len));
	WRITE_ONCE(redo->off, 0);
	return err;
}

/*
 * The gates of a list that no other list needs: keys of lists that attach has
 * found may have a gate in common.
 */
static u32 gates_to_open(struct wort_pool *pool, const struct wort_redo *redo,
			 u16 *gates)
{
	DECLARE_BITMAP(needed, WORT_NR_GATES) = { };
	u16 others[WORT_MEDIA_REDO_ENTRIES];
	const struct wort_redo *other;
	u32 nr, i, nr_open = 0;

	rcu_read_lock();
	for (i = 0; i < WORT_MEDIA_NR_HEADS; i++) {
		other = rcu_dereference(pool->gates->redo[i]);
		nr = other && other != redo ? gates_of(other, others) : 0;
		while (nr--)
			__set_bit(others[nr], needed);
	}
	rcu_read_unlock();
	nr = gates_of(redo, gates);
	for (i = 0; i < nr; i++)
		if (!test_bit(gates[i], needed))
			gates[nr_open++] = gates[i];
	return nr_open;
}

/* The semaphore keeps a check from comparing heads while one changes. */
static void applied(struct wort_pool *pool, struct wort_redo *redo)
{
	u16 gates[WORT_MEDIA_REDO_ENTRIES];
	u32 head = redo->head, nr = gates_to_open(pool, redo, gates);
	struct wort_op op;
	int err;

	down_read(&pool->atomic_sem);
	wort_redo_unregister(pool, redo);
	wort_committed_enter(pool, &op, false);
	err = wort_redo_end(&op, redo);
	wort_committed_exit(pool, &op, false);
	up_read(&pool->atomic_sem);
	if (err)
		wort_pool_damaged(pool);
	kvfree_rcu(redo, rcu);
	wort_gates_open(pool, gates, nr);
	wort_head_give(pool, head);
	atomic64_add(1, &pool->gates->redone);
	wort_pool_kick(pool);
}

/*
 * Indexes of a list, each opened once, since changes are in the order of ids;
 * those that are destroyed are NULL.
 */
static int open_indexes(struct wort_pool *pool, const struct wort_redo *redo,
			struct wort_apply *changes, u32 *nr)
{
	struct wort_apply *c = changes;
	u32 at = 0;
	int err = 0;

	for (; !err && (at = wort_redo_next(redo, at, &c->change)); c++) {
		c->index = NULL;
		c->done = false;
		if (c > changes && c[-1].change.index == c->change.index) {
			c->index = c[-1].index;
			continue;
		}
		cond_resched();
		err = wort_index_open_id(pool, c->change.index, &c->index);
		if (err == -ENOENT)
			err = 0;
	}
	*nr = c - changes;
	return err;
}

static void close_indexes(struct wort_apply *changes, u32 nr)
{
	struct wort_index *last = NULL;
	u32 i;

	for (i = 0; i < nr; i++) {
		if (changes[i].index && changes[i].index != last)
			wort_index_put(changes[i].index);
		last = changes[i].index;
	}
}

/* Does the tree say of a key what a change makes of it?  @room: for its value. */
static bool is_done(struct wort_op *op, struct wort_index *index,
		    const struct wort_redo_change *change, u8 *room)
{
	struct wort_buf buf = { .data = room, .size = change->value.len };
	int err = wort_index_verify(index) ?:
		  index->tree.engine->lookup(op, &index->tree, &change->key,
					     &buf);

	if (change->remove)
		return err == -ENOENT;
	return !err && buf.len == change->value.len &&
	       !memcmp(room, change->value.data, buf.len);
}

/*
 * A power cut within an attach has left some changes done.  To put their values
 * again would take space that those which are missing need.
 */
static void find_done(struct wort_pool *pool, struct wort_apply *changes,
		      u32 nr, u8 *room)
{
	struct wort_op section;
	u32 i;

	wort_committed_enter(pool, &section, false);
	for (i = 0; i < nr; i++)
		if (changes[i].index && !READ_ONCE(changes[i].index->dead) &&
		    !changes[i].done)
			changes[i].done = is_done(&section, changes[i].index,
						  &changes[i].change, room);
	wort_committed_exit(pool, &section, false);
}

/*
 * A check takes the semaphore for writing before it declares void what an engine
 * keeps for an index.  So the changes meet none that is void.
 */
static int apply_usable(struct wort_pool *pool, struct wort_apply *changes,
			u32 nr, u8 *room, struct wort_purse *purse)
{
	bool shut = true;
	int err = 0;

	while (shut && !err) {
		err = wort_apply_usable(changes, nr);
		down_read(&pool->atomic_sem);
		shut = wort_apply_shut(changes, nr);
		if (!shut && !err) {
			find_done(pool, changes, nr, room);
			err = wort_apply(pool, changes, nr, purse);
		}
		up_read(&pool->atomic_sem);
	}
	return err;
}

/*
 * Waits for space, which its objects had before the power cut.  Each try gives
 * back what it reserved, and that would look like new space for ever.  So
 * another try follows only if background work was about to give space back when
 * this one began, or is now.
 */
static int apply_all(struct wort_pool *pool, struct wort_apply *changes, u32 nr,
		     u8 *room)
{
	struct wort_purse *purse = wort_purse_new(0, 0);
	struct wort_op op;
	int pending, err;

	if (!purse)
		return -ENOMEM;
	purse->attach = true;
	wort_op_begin(&op, pool->region, &pool->alloc);
	do {
		pending = wort_pool_space_pending(pool);
		err = pending < 0 ? pending :
				    apply_usable(pool, changes, nr, room, purse);
		op.released = READ_ONCE(pool->alloc.released) - pending;
	} while (err == -ENOSPC && !(err = wort_pool_wait_space(pool, &op)));
	wort_purse_free(&op, purse);
	return err;
}

/*
 * The gates of its keys are closed, and memory that is short may be written
 * back by somebody who waits at one of them.
 */
static int run(struct wort_pool *pool, struct wort_redo *redo)
{
	unsigned int noio = memalloc_noio_save();
	struct wort_apply *changes = kvcalloc(WORT_MEDIA_REDO_ENTRIES,
					      sizeof(*changes), GFP_NOIO);
	/* No value is longer than the list. */
	u8 *room = kvmalloc(le32_to_cpu(redo->media.len), GFP_NOIO);
	u32 nr = 0;
	int err = -ENOMEM;

	if (changes && room)
		err = open_indexes(pool, redo, changes, &nr);
	if (!err)
		err = apply_all(pool, changes, nr, room);
	if (!err)
		applied(pool, redo);
	close_indexes(changes, nr);
	kvfree(room);
	kvfree(changes);
	memalloc_noio_restore(noio);
	return err;
}

/*
 * A list that was left behind, or NULL.  That of a batch under way may end any
 * time.
 */
static struct wort_redo *left_behind(struct wort_gates *gates, u32 head)
{
	struct wort_redo *redo;
	bool left;

	rcu_read_lock();
	redo = rcu_dereference(gates->redo[head]);
	left = redo && READ_ONCE(redo->left);
	rcu_read_unlock();
	return left ? redo : NULL;
}

/* Extents that would be opened for lists if no extent had a free slot. */
static u32 extents_to_open(struct wort_pool *pool)
{
	const struct wort_redo *redo;
	u32 i, nr = 0;

	for (i = 0; i < WORT_MEDIA_NR_HEADS; i++) {
		redo = left_behind(pool->gates, i);
		if (redo)
			nr += WORT_NEED_MAX * le32_to_cpu(redo->media.nr) +
			      (le32_to_cpu(redo->media.len) >>
			       pool->alloc.geo.extent_shift);
	}
	return nr;
}

/*
 * Before the walk has ended slots are free that nobody knows of, and each size
 * of objects takes an extent of its own.  A batch may have had the last ones
 * for other sizes.  In a pool that is nearly full the walk is therefore waited
 * for.
 */
static int wait_slots(struct wort_pool *pool)
{
	struct wort_op op;

	wort_op_begin(&op, pool->region, &pool->alloc);
	return wort_alloc_has_extents(&op, extents_to_open(pool)) ? 0 :
	       wort_pool_wait_walk(pool);
}

/* It stays where it is, since it cannot be carried out now. */
static void stay(struct wort_pool *pool, u32 head, int err)
{
	if (err == -ENOSPC)
		pr_err_ratelimited("%s: no space for the atomic batch of head %u while the walk cannot end: the pool is read-only; destroy its damaged indexes and check it with the flag that clears, or attach it with a newer module\n",
				   pool->region->name ?: "pool", head);
	wort_pool_damaged(pool);
}

static int run_all(struct wort_pool *pool)
{
	struct wort_redo *redo;
	int err = wort_pool_writable(pool) ? wait_slots(pool) : 0;
	u32 i;

	for (i = 0; i < WORT_MEDIA_NR_HEADS && !err; i++) {
		redo = left_behind(pool->gates, i);
		if (!redo || !wort_pool_writable(pool))
			continue;
		err = run(pool, redo);
		if (err && err != -ENOMEM && err != -EINTR && err != -ENODEV) {
			stay(pool, i, err);
			err = 0;
		}
	}
	return err;
}

/**
 * wort_redo_hold() - Keep the lists that were left behind where they are
 * @pool: The pool, with gates.
 *
 * Until wort_redo_release() nobody else carries one out, so their gates stay
 * closed.
 *
 * Context: May sleep, killably, in no section, with no lock and no gate closed.
 * Return: 0 or -EINTR.
 */
int wort_redo_hold(struct wort_pool *pool)
{
	struct wort_gates *gates = pool->gates;

	return wait_event_state(gates->wait, !(atomic_fetch_or(1, &gates->running) & 1),
				wort_pool_waiting(pool)) ? -EINTR : 0;
}

/**
 * wort_redo_release() - Lists that were left behind may be carried out
 * @pool: The pool, after wort_redo_hold().
 *
 * Context: Any context.
 */
void wort_redo_release(struct wort_pool *pool)
{
	struct wort_gates *gates = pool->gates;

	atomic_fetch_andnot(1, &gates->running);
	wake_up_all(&gates->wait);
}

/**
 * wort_redo_other_gates() - Leave out the gates that lists left behind keep closed
 * @pool: The pool, after wort_redo_hold().
 * @gates: Numbers of gates; those that stay keep their order.
 * @nr: How many.
 *
 * Context: May sleep.
 * Return: How many stay.
 */
u32 wort_redo_other_gates(struct wort_pool *pool, u16 *gates, u32 nr)
{
	DECLARE_BITMAP(left, WORT_NR_GATES) = { };
	u16 of_list[WORT_MEDIA_REDO_ENTRIES];
	const struct wort_redo *redo;
	u32 i, n, nr_others = 0;

	for (i = 0; i < WORT_MEDIA_NR_HEADS; i++) {
		redo = left_behind(pool->gates, i);
		n = redo ? gates_of(redo, of_list) : 0;
		while (n--)
			__set_bit(of_list[n], left);
	}
	for (i = 0; i < nr; i++)
		if (!test_bit(gates[i], left))
			gates[nr_others++] = gates[i];
	return nr_others;
}

/**
 * wort_redo_run() - Carry out the batches whose lists were left behind
 * @pool: The pool, whose background work may run.
 *
 * By attach before anybody uses the pool, or by a check that has found no
 * damage, beside which other batches are under way.  If one cannot be carried
 * out the pool becomes read-only, and lookups go on answering from the list.
 *
 * Context: May sleep, killably, in no section and with no lock.
 * Return: 0, also in a pool that is read-only; -ENOMEM, -EINTR, -ENODEV: some
 * lists may be left.
 */
int wort_redo_run(struct wort_pool *pool)
{
	int err;

	if (!READ_ONCE(pool->gates))
		return 0;
	err = wort_redo_hold(pool);
	if (err)
		return err;
	err = run_all(pool);
	wort_redo_release(pool);
	return err;
}

/**
 * wort_redo_drop() - Give up the batches whose lists are damaged
 * @op: The operation.
 * @pool: The pool.
 * @nr: Raised by how many they were.
 *
 * Each of their records stays as it is, old or new.  None is given up while the page of
 * heads is known to be bad.
 *
 * Context: May sleep.  Holds wort_pool.work_lock and no other.
 */
void wort_redo_drop(struct wort_op *op, struct wort_pool *pool, u64 *nr)
{
	struct wort_gates *gates = pool->gates;
	const char *name = op->region->name ?: "pool";
	u32 i;

	if (!gates || !gates->lost_heads || wort_heads_verify(op))
		return;
	for (i = 0; i < WORT_MEDIA_NR_HEADS; i++) {
		if (!(gates->lost_heads >> i & 1))
			continue;
		pr_warn_ratelimited("%s: head %u is cleared: its atomic batch is lost\n",
				    name, i);
		wort_pm_publish(op, wort_head_at(op->region, i), 0);
		gates->lost_heads &= ~BIT_ULL(i);
		wort_head_give(pool, i);
		++*nr;
	}
}
