// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The catalogue: which indexes there are.
 *
 *	superblock -> block -> block -> ... -> block -> 0
 *			|  slots
 *			+-> entry (name, engine, root record)
 *
 * Commit words:
 *
 * create	slot := entry, which is durable, and so is that its id is taken.
 *		With every slot taken: next of
 *		the last block := a new block that is durable and holds the
 *		entry in its first slot.  Old: the entry, and the block, are
 *		owned by nobody.
 * destroy	slot := 0.  New: the entry and its tree are owned by nobody.
 *		They are given back in the background; after a crash the walk
 *		does not find them.
 * rename	slot := another entry, which is durable, with the root record of the
 *		old one.  Old: no slot refers to the other entry, and the walk frees
 *		it.  New: no slot refers to the old entry, and the walk frees that.
 * damaged	state word of the entry: old or new.
 * drop		slot := 0, or next := 0: what was referred to cannot be read, and its
 *		owner is nobody afterwards.  The first block is replaced by an
 *		empty one, which is durable when the superblock refers to it.
 */
#include <linux/crc32c.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/list_sort.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <trace/events/wort.h>

#include "../core/pmem.h"
#include "gate.h"

/* Checksum of what never changes in an entry. */
static u32 entry_csum(const struct wort_media_entry *entry)
{
	struct wort_media_entry tmp = *entry;

	tmp.csum = 0;
	tmp.state = 0;
	memset(tmp.root, 0, sizeof(tmp.root));
	return crc32c(~0U, &tmp, sizeof(tmp));
}

static struct wort_media_catalogue __pmem *block_at(struct wort_pool *pool,
						    u64 off)
{
	return wort_region_at(pool->region, off);
}

static struct wort_media_entry __pmem *entry_at(struct wort_pool *pool, u64 off)
{
	return wort_region_at(pool->region, off);
}

static int no_fast_lookup(const struct wort_tree *tree,
			  const struct wort_key *key, struct wort_buf *buf,
			  struct wort_index_stats __percpu *stats)
{
	return -EAGAIN;
}

static int no_fast_put(struct wort_tree *tree, struct wort_put *put,
		       struct wort_index_stats __percpu *stats)
{
	return -EAGAIN;
}

static int no_fast_remove(struct wort_tree *tree, const struct wort_del *del,
			  struct wort_index_stats __percpu *stats)
{
	return -EAGAIN;
}

static void no_prefetch(const struct wort_tree *tree,
			const struct wort_key *keys, u32 nr)
{
}

/* Choose the functions of an index, whose state has changed. */
static void index_update(struct wort_index *index)
{
	const struct wort_engine *engine = index->engine;
	const struct wort_fast_ops *fast = engine ? engine->fast_ops : NULL;
	bool shut = index->dead || index->unbuilt;
	bool readable = fast && !shut;
	bool writable = readable && !index->damaged;

	WRITE_ONCE(index->shut, shut);
	WRITE_ONCE(index->fast_lookup,
		   readable ? fast->lookup : no_fast_lookup);
	WRITE_ONCE(index->fast_put, writable ? fast->put : no_fast_put);
	WRITE_ONCE(index->fast_remove,
		   writable ? fast->remove : no_fast_remove);
}

static struct wort_index *index_alloc(struct wort_pool *pool, u64 entry_off,
				      const struct wort_media_entry *entry)
{
	struct wort_index *index = kzalloc(sizeof(*index), GFP_NOIO);
	const struct wort_engine *engine;

	if (!index)
		return NULL;
	kref_init(&index->ref);
	INIT_LIST_HEAD(&index->todo);
	INIT_LIST_HEAD(&index->due);
	INIT_LIST_HEAD(&index->rebuild);
	mutex_init(&index->lock);
	index->pool = pool;
	index->entry_off = entry_off;
	index->id = le64_to_cpu(entry->id);
	index->attr = le64_to_cpu(entry->attr);
	index->create_time = le64_to_cpu(entry->create_time);
	index->damaged = le64_to_cpu(entry->state) & WORT_MEDIA_STATE_DAMAGED;
	index->engine_id = le32_to_cpu(entry->engine);
	engine = wort_engine_for(index->engine_id, index->attr);
	index->tree.engine = engine;
	index->engine = wort_gated_engine(pool, engine);
	index->prefetch_keys = engine && engine->prefetch_keys ?
			       engine->prefetch_keys : no_prefetch;
	/* What it owns is not known, as if it were damaged. */
	index->walk_failed = !engine;
	index_update(index);
	index->tree.region = pool->region;
	index->tree.alloc = &pool->alloc;
	index->tree.locks = &pool->locks;
	index->tree.in_flight = pool->locks.in_flight;
	index->tree.want_tend = wort_tend_wanted;
	index->tree.root = entry_at(pool, entry_off)->root;
	index->tree.attr = index->attr;
	index->name_len = entry->name_len;
	memcpy(index->name, entry->name, entry->name_len);
	return index;
}

/* The list is in the order of ids; what attach finds is sorted in the end. */
static void index_link(struct wort_pool *pool, struct wort_index *index)
{
	list_add_tail(&index->list, &pool->indexes);
	wort_names_add(&pool->names, index);
	pool->nr_indexes++;
	atomic_add(index->damaged, &pool->nr_damaged);
	pool->nr_unknown += !index->tree.engine;
	pool->next_id = max(pool->next_id, index->id + 1);
}

static void index_unlink(struct wort_pool *pool, struct wort_index *index)
{
	list_del_init(&index->list);
	wort_names_remove(&pool->names, index);
	pool->nr_indexes--;
}

static void index_release(struct kref *ref)
{
	struct wort_index *index = container_of(ref, struct wort_index, ref);

	mutex_destroy(&index->lock);
	if (index->tree.priv)
		index->tree.engine->volatile_ops->close(&index->tree);
	kfree(index);
}

/**
 * wort_index_drop() - Let go of an index that the pool held
 * @index: The index; may outlive its pool.
 *
 * Context: May sleep.
 */
void wort_index_drop(struct wort_index *index)
{
	kref_put(&index->ref, index_release);
}

/* Does the engine keep anything in DRAM that takes long to make? */
static bool has_rebuild(const struct wort_index *index)
{
	const struct wort_engine *engine = index->tree.engine;

	return engine && engine->volatile_ops && engine->volatile_ops->rebuild;
}

/* Have the engine make what it keeps in DRAM for the tree. */
static int tree_open(struct wort_index *index)
{
	const struct wort_engine *engine = index->tree.engine;
	const struct wort_volatile_ops *ops = engine->volatile_ops;
	struct wort_pool *pool = index->pool;
	void **shared;

	if (!ops || index->was_open)
		return 0;
	shared = &pool->shared[wort_engine_nr(engine)];
	if (!*shared && ops->share)
		*shared = ops->share(pool->region->size);
	index->tree.shared = *shared;
	return ops->open(&index->tree);
}

/*
 * Returns what is to be freed of the counters that the caller has made for it.
 */
static struct wort_index_stats __percpu *
index_opened(struct wort_index *index, struct wort_index_stats __percpu *stats)
{
	kref_get(&index->ref);
	mutex_lock(&index->lock);
	if (!index->stats) {
		/* pairs with wort_index_leave() */
		smp_store_release(&index->stats, stats);
		stats = NULL;
	}
	/* wort_rebuild_begin() reads it without the lock. */
	WRITE_ONCE(index->nr_open, index->nr_open + 1);
	mutex_unlock(&index->lock);
	if (!index->was_open && index->tree.engine->volatile_ops)
		wort_tend_due(index);
	index->was_open = true;
	return stats;
}

/**
 * wort_index_put() - Close an index
 * @index: The index; may outlive its pool.
 *
 * With the last one the counters of each processor are freed: of indexes that
 * nobody has open there may be many.
 *
 * Context: May sleep.  Takes wort_index.lock.
 */
void wort_index_put(struct wort_index *index)
{
	struct wort_op_stats sums[WORT_OP_NR];
	struct wort_index_stats __percpu *stats = NULL;

	mutex_lock(&index->lock);
	WRITE_ONCE(index->nr_open, index->nr_open - 1);
	if (!index->nr_open)
		WRITE_ONCE(index->owned, false);
	if (!index->nr_open && index->stats) {
		wort_index_stats(index, sums);
		memcpy(index->past, sums, sizeof(sums));
		swap(index->stats, stats);
	}
	mutex_unlock(&index->lock);
	free_percpu(stats);
	wort_index_drop(index);
}

/*
 * Read all of an entry but its root, which the engine changes meanwhile: that
 * must be sound memory only.  The state may be changed meanwhile, too, so its
 * line is read by words.
 */
static int read_but_root(struct wort_op *op, struct wort_pool *pool, u64 off,
			 struct wort_media_entry *entry)
{
	const struct wort_media_entry __pmem *from = entry_at(pool, off);
	int err;

	memset(entry->root, 0, sizeof(entry->root));
	err = wort_pm_read_words(op, entry, from,
				 offsetof(typeof(*entry), root));
	if (!err)
		err = wort_pm_probe(op, from->root, sizeof(from->root));
	return err ?: wort_pm_read(op, &entry->name_len, &from->name_len,
				   sizeof(*entry) - offsetof(typeof(*entry), name_len));
}

static int read_entry(struct wort_op *op, struct wort_pool *pool, u64 off,
		      struct wort_media_entry *entry)
{
	int err = wort_region_verify(op->region, off, sizeof(*entry));

	if (err == -EUCLEAN)
		wort_corrupt(op, off, "catalogue entry outside the pool");
	if (!err)
		err = read_but_root(op, pool, off, entry);
	if (err)
		return err;
	if (le32_to_cpu(entry->csum) != entry_csum(entry))
		return wort_corrupt(op, off, "catalogue entry checksum");
	if (!entry->name_len || entry->name_len > WORT_NAME_MAX)
		return wort_corrupt(op, off, "name of %u bytes",
				    entry->name_len);
	if (memchr(entry->name, 0, entry->name_len))
		return wort_corrupt(op, off, "name with a zero byte");
	if (entry->engine == cpu_to_le32(WORT_ENGINE_DEFAULT))
		return wort_corrupt(op, off, "no engine");
	if (!entry->id || le64_to_cpu(entry->id) >= S64_MAX)
		return wort_corrupt(op, off, "id of an index");
	return 0;
}

static int load_entry(struct wort_op *op, struct wort_pool *pool, u64 slot_off,
		      u64 off, bool *sorted)
{
	struct wort_media_entry entry;
	struct wort_index *index;
	int err = read_entry(op, pool, off, &entry);

	if (!err)
		err = wort_alloc_mark(op, off, sizeof(entry), true);
	if (err)
		return err;
	index = index_alloc(pool, off, &entry);
	if (!index)
		return -ENOMEM;
	if (has_rebuild(index))
		wort_index_set_unbuilt(index, true);
	index->slot_off = slot_off;
	if (wort_names_find(&pool->names, index->name, index->name_len)) {
		wort_index_drop(index);
		return wort_corrupt(op, off, "name not unique");
	}
	*sorted &= index->id >= pool->next_id;
	index_link(pool, index);
	return 0;
}

/* There may be very many, so each comparison is a place to pause. */
static int compare_ids(void *priv, const struct list_head *a,
		       const struct list_head *b)
{
	cond_resched();
	return list_entry(a, struct wort_index, list)->id >
	       list_entry(b, struct wort_index, list)->id;
}

/* Of several indexes with one id the first that was found stays. */
static int sort_indexes(struct wort_op *op, struct wort_pool *pool)
{
	struct wort_index *index, *next;
	u64 last = 0;
	int err = 0;

	list_sort(NULL, &pool->indexes, compare_ids);
	list_for_each_entry_safe(index, next, &pool->indexes, list) {
		cond_resched();
		if (index->id != last) {
			last = index->id;
			continue;
		}
		err = wort_corrupt(op, index->entry_off, "id not unique");
		atomic_add(-(int)index->damaged, &pool->nr_damaged);
		pool->nr_unknown -= !index->tree.engine;
		index_unlink(pool, index);
		wort_index_drop(index);
	}
	return err;
}

/* Read a block into memory and verify that it may be one. */
static int read_block(struct wort_op *op, struct wort_pool *pool, u64 off,
		      struct wort_media_catalogue *block)
{
	int err = wort_region_verify(op->region, off, sizeof(*block));

	if (err == -EUCLEAN)
		wort_corrupt(op, off, "catalogue block outside the pool");
	if (!err)
		err = wort_pm_read(op, block, block_at(pool, off),
				   sizeof(*block));
	return err;
}

static u64 slot_off(u64 block_off, u32 slot)
{
	return block_off + offsetof(struct wort_media_catalogue, slot) +
	       slot * sizeof(__le64);
}

static int load_slots(struct wort_op *op, struct wort_pool *pool, u64 off,
		      const struct wort_media_catalogue *block, bool *sorted)
{
	int err, bad = 0;
	u32 i;

	for (i = 0; i < WORT_MEDIA_CATALOGUE_SLOTS; i++) {
		if (!block->slot[i]) {
			pool->catalogue_nr_free++;
			continue;
		}
		err = load_entry(op, pool, slot_off(off, i),
				 le64_to_cpu(block->slot[i]), sorted);
		if (err && !wort_is_damage(err))
			return err;
		if (err)
			bad = err;
	}
	return bad;
}

static int load_blocks(struct wort_op *op, struct wort_pool *pool, bool *sorted)
{
	u64 off = le64_to_cpu(pool->sb.catalogue_off);
	struct wort_media_catalogue block;
	int err, bad = 0;

	for (; off; off = le64_to_cpu(block.next)) {
		cond_resched();
		if (fatal_signal_pending(current))
			return -EINTR;
		err = read_block(op, pool, off, &block);
		if (!err)
			err = wort_alloc_mark(op, off, sizeof(block), true);
		if (err)
			return err;
		pool->catalogue_last = off;
		pool->catalogue_blocks++;
		err = load_slots(op, pool, off, &block, sorted);
		if (err && !wort_is_damage(err))
			return err;
		if (err)
			bad = err;
	}
	return bad;
}

/**
 * wort_catalogue_load() - Read the catalogue
 * @op: The operation.
 * @pool: The pool, being attached: its allocator still knows nothing.
 *
 * Marks blocks and entries as owned, which also ends a list of blocks that runs
 * into itself.  Entries that are damaged are left out.
 *
 * Context: May sleep.
 * Return: 0; -ENOMEM; -EINTR if a fatal signal came; -EUCLEAN or -EIO if
 * anything was left out.
 */
int wort_catalogue_load(struct wort_op *op, struct wort_pool *pool)
{
	bool sorted = true;
	int err, err2 = 0;

	pool->catalogue_hint = le64_to_cpu(pool->sb.catalogue_off);
	wort_alloc_witness(op, pool->catalogue_hint);
	err = load_blocks(op, pool, &sorted);
	if (!sorted && (!err || wort_is_damage(err)))
		err2 = sort_indexes(op, pool);
	return err ? err : err2;
}

/*
 * An entry, if it is sound and of an index that is served, which has one slot.
 */
static int visit_entry(struct wort_op *op, struct wort_pool *pool, u64 slot,
		       u64 off, struct wort_visitor *visitor)
{
	struct wort_media_entry entry;
	struct wort_index *index;
	int err = read_entry(op, pool, off, &entry);

	if (err)
		return err;
	index = wort_names_find(&pool->names, entry.name, entry.name_len);
	if (!index || index->entry_off != off || index->slot_off != slot)
		return wort_corrupt(op, off, "index was left out by attach");
	return visitor->visit(visitor, op, off, sizeof(entry), true);
}

/**
 * wort_catalogue_visit() - Tell about a block of the catalogue, and its entries
 * @op: The operation.
 * @pool: The pool.
 * @off: Offset of the block; told that of the next one, or 0.
 * @visitor: Whom to tell; ends a list of blocks that runs into itself.
 *
 * Context: Holds wort_pool.lock, at least for each block.
 * Return: 0; -EUCLEAN, -EIO or what the visitor returns.
 */
int wort_catalogue_visit(struct wort_op *op, struct wort_pool *pool, u64 *off,
			 struct wort_visitor *visitor)
{
	struct wort_media_catalogue block;
	u32 i;
	int err;

	lockdep_assert_held(&pool->lock);
	err = read_block(op, pool, *off, &block);
	if (!err)
		err = visitor->visit(visitor, op, *off, sizeof(block), true);
	for (i = 0; i < WORT_MEDIA_CATALOGUE_SLOTS && !err; i++)
		if (block.slot[i])
			err = visit_entry(op, pool, slot_off(*off, i),
					  le64_to_cpu(block.slot[i]), visitor);
	*off = err ? 0 : le64_to_cpu(block.next);
	return err;
}

/**
 * wort_index_verify() - May the root of an index be touched?
 * @index: The index.
 *
 * What leads to the catalogue and its entries is verified when it is read; the
 * root is used without that, at each operation.
 *
 * Context: Any context.
 * Return: 0; -EIO if the entry lies on a page known to be bad.
 */
int wort_index_verify(const struct wort_index *index)
{
	return wort_region_verify(index->pool->region,
				  READ_ONCE(index->entry_off),
				  sizeof(struct wort_media_entry));
}

/*
 * An empty slot.  There is one in one of the blocks, unless media was changed
 * since attach.
 */
static int find_slot(struct wort_op *op, struct wort_pool *pool, u64 *slot)
{
	u64 off = pool->catalogue_hint;
	struct wort_media_catalogue block;
	u32 n, i;
	int err;

	for (n = 0; n <= pool->catalogue_blocks; n++) {
		cond_resched();
		if (fatal_signal_pending(current))
			return -EINTR;
		err = read_block(op, pool, off, &block);
		if (err)
			return err;
		for (i = 0; i < WORT_MEDIA_CATALOGUE_SLOTS; i++) {
			if (block.slot[i])
				continue;
			pool->catalogue_hint = off;
			*slot = slot_off(off, i);
			return 0;
		}
		off = le64_to_cpu(block.next ? block.next :
					       pool->sb.catalogue_off);
	}
	return wort_corrupt(op, off, "no empty catalogue slot");
}

static void publish_in_slot(struct wort_op *op, struct wort_pool *pool,
			    struct wort_index *index)
{
	wort_pm_publish(op, wort_region_at(pool->region, index->slot_off),
			index->entry_off);
	pool->catalogue_nr_free--;
}

static void publish_in_block(struct wort_op *op, struct wort_pool *pool,
			     struct wort_index *index)
{
	u64 off = wort_alloc_take(op);
	struct wort_media_catalogue __pmem *block = block_at(pool, off);

	wort_pm_zero(op, block, sizeof(*block));
	wort_pm_store(op, &block->slot[0], index->entry_off);
	wort_pm_flush(op, block, sizeof(*block));
	wort_pm_publish(op, &block_at(pool, pool->catalogue_last)->next, off);
	index->slot_off = slot_off(off, 0);
	pool->catalogue_last = off;
	pool->catalogue_hint = off;
	pool->catalogue_blocks++;
	pool->catalogue_nr_free += WORT_MEDIA_CATALOGUE_SLOTS - 1;
}

static void fill_entry(struct wort_pool *pool, struct wort_media_entry *entry,
		       const u8 *name, u32 name_len, u32 engine, u64 attr)
{
	memset(entry, 0, sizeof(*entry));
	entry->id = cpu_to_le64(pool->next_id);
	entry->engine = cpu_to_le32(engine);
	entry->attr = cpu_to_le64(attr);
	entry->create_time = cpu_to_le64(ktime_get_real_seconds());
	entry->name_len = name_len;
	memcpy(entry->name, name, name_len);
	entry->csum = cpu_to_le32(entry_csum(entry));
}

/* A new block, and the last one, which will refer to it. */
static int reserve_block(struct wort_op *op, struct wort_pool *pool)
{
	int err = wort_region_verify(op->region, pool->catalogue_last,
				     sizeof(struct wort_media_catalogue));

	return err ? err : wort_alloc_reserve(op,
				sizeof(struct wort_media_catalogue));
}

/* Reserve, write, publish. */
static int create_reserved(struct wort_op *op, struct wort_pool *pool,
			   const struct wort_media_entry *entry,
			   struct wort_index **out)
{
	struct wort_index *index;
	u64 off, slot = 0;
	int err;

	err = wort_alloc_reserve(op, sizeof(*entry));
	if (!err && pool->catalogue_nr_free)
		err = find_slot(op, pool, &slot);
	else if (!err)
		err = reserve_block(op, pool);
	if (err)
		return err;
	index = index_alloc(pool, op->reserved[0], entry);
	if (!index)
		return -ENOMEM;
	err = tree_open(index);
	if (err) {
		wort_index_drop(index);
		return err;
	}
	index->slot_off = slot;
	off = wort_alloc_take(op);
	wort_pm_write(op, entry_at(pool, off), entry, sizeof(*entry));
	index->tree.engine->create(op, &index->tree);
	wort_pm_flush(op, entry_at(pool, off), sizeof(*entry));
	wort_sb_set_next_id(op, pool, index->id + 1);
	if (pool->catalogue_nr_free)
		publish_in_slot(op, pool, index);
	else
		publish_in_block(op, pool, index);
	index_link(pool, index);
	*out = index;
	return 0;
}

static int create(struct wort_op *op, struct wort_pool *pool, const u8 *name,
		  u32 name_len, u32 engine, u64 attr, struct wort_index **out)
{
	struct wort_media_entry entry;
	int err;

	/* The name may be in what is lost, and the last block is not known. */
	if (!wort_pool_writable(pool) || pool->left_out)
		return -EROFS;
	if (engine == WORT_ENGINE_DEFAULT)
		engine = wort_engine_nth(0)->id;
	if (!wort_engine_by_id(engine))
		return -EOPNOTSUPP;
	if (!wort_engine_for(engine, attr))
		return -EINVAL;
	/* An id is below that, and none is given twice. */
	if (pool->next_id >= S64_MAX)
		return -EOVERFLOW;
	fill_entry(pool, &entry, name, name_len, engine, attr);
	wort_op_begin(op, pool->region, &pool->alloc);
	err = create_reserved(op, pool, &entry, out);
	wort_op_end(op);
	return err;
}

/* Nobody knows which names are in the part of the catalogue that is lost. */
static int not_found(const struct wort_pool *pool)
{
	return pool->left_out ? pool->left_out : -ENOENT;
}

/* An opening ends without wort_pool.lock, but none begins. */
static int claim(struct wort_index *index, u32 flags)
{
	bool own = flags & WORT_INDEX_OPEN_F_OWN, busy;

	mutex_lock(&index->lock);
	busy = index->owned || (own && index->nr_open);
	if (!busy)
		WRITE_ONCE(index->owned, own);
	mutex_unlock(&index->lock);
	return busy ? -EBUSY : 0;
}

static int open_locked(struct wort_op *op, struct wort_pool *pool,
		       const u8 *name, u32 name_len, u32 flags, u32 engine,
		       u64 attr, struct wort_index **out)
{
	struct wort_index *index = wort_names_find(&pool->names, name,
						   name_len);
	int err = 0;

	if (!index && !(flags & WORT_INDEX_OPEN_F_CREATE))
		return not_found(pool);
	if (index && (flags & WORT_INDEX_OPEN_F_CREATE) &&
	    (flags & WORT_INDEX_OPEN_F_EXCL))
		return -EEXIST;
	if (index && !index->tree.engine)
		return -EOPNOTSUPP;
	if (index && ((engine && index->engine_id != engine) ||
		      (attr && index->attr != attr)))
		return -EINVAL;
	err = index ? tree_open(index) :
		      create(op, pool, name, name_len, engine, attr, &index);
	if (!err)
		err = claim(index, flags);
	if (!err)
		*out = index;
	return err;
}

static int name_verify(const u8 *name, u32 len)
{
	if (len > WORT_NAME_MAX)
		return -EMSGSIZE;
	return !len || memchr(name, 0, len) ? -EINVAL : 0;
}

/*
 * An index that is there could be opened during a hold, a new one not be made.
 */
static int lock_to_open(struct wort_pool *pool, u32 flags)
{
	if (flags & WORT_INDEX_OPEN_F_CREATE)
		return wort_pool_lock_changes(pool);
	return mutex_lock_killable(&pool->lock) ? -EINTR : 0;
}

/**
 * wort_index_open() - Open an index, or make a new one
 * @pool: The pool.
 * @name: Name of the index.
 * @name_len: 1 to WORT_NAME_MAX.
 * @flags: WORT_INDEX_OPEN_F_CREATE, _EXCL and _OWN; others are ignored.
 * @engine: WORT_ENGINE_*.
 * @attr: Attribute word of a new index; of an index that exists, its own or 0.
 * @out: The index, held for the caller.
 *
 * A new index is durable when the call returns.
 *
 * Context: May sleep, killably.  Takes wort_pool.lock.
 * Return: 0; -ENOENT; -EEXIST; -EINVAL if the name is empty or has a zero byte,
 * if engine or attributes are not those of the index, or the engine does not
 * have such attributes; -EMSGSIZE if the name is too long; -EOPNOTSUPP if the
 * engine asked for, or that of the index, or an attribute of the index is
 * unknown; -EROFS; -ENOSPC; -EOVERFLOW if no id is left; -ENOMEM; -EINTR;
 * -ENODEV; -EUCLEAN if the catalogue is damaged; -EIO if it lies on a page
 * known to be bad; -EBUSY if it is open with OWN, or open and is to be opened
 * so.
 */
int wort_index_open(struct wort_pool *pool, const u8 *name, u32 name_len,
		    u32 flags, u32 engine, u64 attr, struct wort_index **out)
{
	struct wort_index_stats __percpu *stats;
	int err = name_verify(name, name_len);
	struct wort_op op;

	if (err)
		return err;
	/* Not under the lock, where it could not wait for memory. */
	stats = alloc_percpu_gfp(struct wort_index_stats,
				 GFP_KERNEL | WORT_GFP_CALL);
	if (!stats)
		return -ENOMEM;
	do {
		err = lock_to_open(pool, flags);
		if (err)
			break;
		err = open_locked(&op, pool, name, name_len, flags, engine,
				  attr, out);
		if (!err)
			stats = index_opened(*out, stats);
		mutex_unlock(&pool->lock);
	} while (err == -ENOSPC && !(err = wort_pool_wait_space(pool, &op)));
	free_percpu(stats);
	if (err == -EUCLEAN)
		wort_pool_damaged(pool);
	return err;
}

static struct wort_index *find_id(struct wort_pool *pool, u64 id)
{
	struct wort_index *index;

	list_for_each_entry(index, &pool->indexes, list)
		if (index->id == id)
			return index;
	return NULL;
}

/**
 * wort_index_open_id() - Open an index by its number
 * @pool: The pool.
 * @id: The number.
 * @out: The index, held for the caller.
 *
 * For the pool itself: it does not matter whether the index is open with
 * WORT_INDEX_OPEN_F_OWN.  It makes no counters, since memory for each processor
 * can be short where the caller must use GFP_NOIO.  So statistics have what the
 * pool does only while a program has the index open, too.
 *
 * Context: May sleep.  Takes wort_pool.lock.
 * Return: 0; -ENOENT; -EOPNOTSUPP if its engine is unknown; -ENOMEM.
 */
int wort_index_open_id(struct wort_pool *pool, u64 id, struct wort_index **out)
{
	struct wort_index *index;
	int err = -ENOENT;

	mutex_lock(&pool->lock);
	index = find_id(pool, id);
	if (index)
		err = index->tree.engine ? tree_open(index) : -EOPNOTSUPP;
	if (!err) {
		index_opened(index, NULL);
		*out = index;
	}
	mutex_unlock(&pool->lock);
	return err;
}

/* Whoever watches the pool is told. */
static void count_damaged(struct wort_pool *pool, int more)
{
	atomic_add(more, &pool->nr_damaged);
	wort_pool_changed(pool);
}

/* Take an index out of the catalogue. */
static void unpublish(struct wort_pool *pool, struct wort_index *index)
{
	struct wort_op op;
	bool damaged;

	wort_op_begin(&op, pool->region, &pool->alloc);
	mutex_lock(&index->lock);
	wort_pm_publish(&op, wort_region_at(pool->region, index->slot_off), 0);
	WRITE_ONCE(index->dead, true);
	index_update(index);
	damaged = index->damaged;
	mutex_unlock(&index->lock);
	if (damaged)
		count_damaged(pool, -1);
	wort_op_end(&op);
}

/* Take an index out of the pool: the background gives its space back. */
static void take_out(struct wort_pool *pool, struct wort_index *index)
{
	struct wort_map_control *control = pool->locks.control;

	unpublish(pool, index);
	/* Who waits until it can be used waits no longer. */
	wake_up_all(&pool->work_done);
	if (index->walk_failed)
		WRITE_ONCE(pool->rewalk, true);
	pool->catalogue_nr_free++;
	index_unlink(pool, index);
	list_add_tail(&index->list, &pool->dying);
	pool->nr_dying++;
	WRITE_ONCE(control->destroyed, control->destroyed + 1);
}

/*
 * Damage of an index can make its pool read-only, when it is met by a batch
 * that is committed.  Then the pool cannot be cleared before the index has
 * gone.
 */
static bool may_destroy(const struct wort_pool *pool,
			const struct wort_index *index)
{
	return wort_pool_writable(pool) ||
	       (!pool->readonly && READ_ONCE(index->damaged));
}

/**
 * wort_index_destroy() - Destroy an index
 * @pool: The pool.
 * @name: Name of the index.
 * @name_len: Its length.
 *
 * Durable, and the name free, when the call returns.  The space is given back
 * in the background.
 *
 * Context: May sleep, killably.  Takes wort_pool.lock and wort_index.lock.
 * Return: 0; -ENOENT; -EINVAL, -EMSGSIZE for a name that no index has; -EINTR;
 * -ENODEV; -EROFS, but not for a damaged index of a pool that damage has made
 * read-only; -EBUSY if it is open with WORT_INDEX_OPEN_F_OWN; -EOPNOTSUPP if
 * its engine is unknown, so that nobody can tell what it owns; -EIO if its slot
 * lies on a page known to be bad; -EIO or -EUCLEAN if it may be in a part of
 * the catalogue that is lost.
 */
int wort_index_destroy(struct wort_pool *pool, const u8 *name, u32 name_len)
{
	struct wort_index *index;
	int err = name_verify(name, name_len);

	if (err)
		return err;
	err = wort_pool_lock_changes(pool);
	if (err)
		return err;
	index = wort_names_find(&pool->names, name, name_len);
	if (!index)
		err = not_found(pool);
	else if (!index->tree.engine)
		err = -EOPNOTSUPP;
	else if (!may_destroy(pool, index))
		err = -EROFS;
	else if (READ_ONCE(index->owned))
		err = -EBUSY;
	else
		err = wort_region_verify(pool->region, index->slot_off,
					 sizeof(__le64));
	if (!err)
		take_out(pool, index);
	mutex_unlock(&pool->lock);
	if (!err)
		wort_pool_kick(pool);
	return err;
}

/*
 * Read the entry of an index, with the root record.  Nothing is in flight: no
 * operation that may change something is under way, and the lock of the index
 * keeps its state as it is.
 */
static int read_whole(struct wort_op *op, struct wort_index *index,
		      struct wort_media_entry *entry)
{
	struct wort_pool *pool = index->pool;
	int err = read_entry(op, pool, index->entry_off, entry);

	return err ?: wort_pm_read(op, entry->root,
				   entry_at(pool, index->entry_off)->root,
				   sizeof(entry->root));
}

static void set_name(struct wort_media_entry *entry, const u8 *name,
		     u32 name_len)
{
	memset(entry->name, 0, sizeof(entry->name));
	memcpy(entry->name, name, name_len);
	entry->name_len = name_len;
	entry->csum = cpu_to_le32(entry_csum(entry));
}

/*
 * An entry has a checksum over the name, and no word commits all of both.  So
 * the index gets another entry, and the word of its slot commits the rename.
 *
 * The section, which began before operations could find the new root record,
 * keeps the old entry from being reused before they do.
 */
static int replace_entry(struct wort_op *op, struct wort_index *index,
			 const u8 *name, u32 name_len)
{
	struct wort_pool *pool = index->pool;
	u64 off, old = index->entry_off;
	struct wort_media_entry entry;
	int err = read_whole(op, index, &entry);

	lockdep_assert_held_write(&pool->locks.roots);
	if (err)
		return err;
	set_name(&entry, name, name_len);
	off = wort_alloc_take(op);
	wort_pm_write(op, entry_at(pool, off), &entry, sizeof(entry));
	wort_pm_flush(op, entry_at(pool, off), sizeof(entry));
	wort_pm_publish(op, wort_region_at(pool->region, index->slot_off), off);
	WRITE_ONCE(index->entry_off, off);
	/* pairs with wort_tree_root() */
	smp_store_release(&index->tree.root, entry_at(pool, off)->root);
	/*
	 * A damaged record can have named it as its value, and have freed it.
	 */
	op->damaged = wort_alloc_free(op, old, sizeof(entry));
	return 0;
}

/* The name of an index in DRAM.  The table of names goes by it. */
static void give_name(struct wort_index *index, const u8 *name, u32 name_len)
{
	struct wort_pool *pool = index->pool;

	wort_names_remove(&pool->names, index);
	memset(index->name, 0, sizeof(index->name));
	memcpy(index->name, name, name_len);
	index->name_len = name_len;
	wort_names_add(&pool->names, index);
}

/*
 * The next writer stores to the new root record, which readers of the old one
 * would miss.  It also locks the new one, and moves what belongs to the root in
 * DRAM under the sequence count of that, at which readers that came by the old
 * one do not look.  So readers in the kernel end before it is let in, and
 * readers in a mapping find another count and ask where the root record is.
 */
static void root_moved(struct wort_pool *pool)
{
	struct wort_map_control *control = pool->locks.control;

	WRITE_ONCE(control->destroyed, control->destroyed + 1);
	wort_locks_synchronize(&pool->locks);
}

/*
 * Writers would store to the old root record while it is copied, and after it.
 * The background goes by the place of the root record, too: for the lock of the
 * root.
 */
static int rename_alone(struct wort_op *op, struct wort_index *index,
			const u8 *name, u32 name_len)
{
	struct wort_pool *pool = index->pool;
	int err;

	wort_pool_freeze(pool);
	down_write(&pool->locks.roots);
	mutex_lock(&index->lock);
	op->section = srcu_read_lock(&pool->locks.writers);
	err = replace_entry(op, index, name, name_len);
	srcu_read_unlock(&pool->locks.writers, op->section);
	if (!err)
		give_name(index, name, name_len);
	mutex_unlock(&index->lock);
	if (!err)
		root_moved(pool);
	up_write(&pool->locks.roots);
	wort_pool_thaw(pool);
	return err;
}

static int may_rename(struct wort_pool *pool, const struct wort_index *index)
{
	if (!index->tree.engine)
		return -EOPNOTSUPP;
	/* The name may be in what is lost. */
	if (!wort_pool_writable(pool) || pool->left_out)
		return -EROFS;
	if (READ_ONCE(index->owned))
		return -EBUSY;
	return wort_region_verify(pool->region, index->slot_off,
				  sizeof(__le64));
}

static int rename_locked(struct wort_op *op, struct wort_pool *pool,
			 const u8 *from, u32 from_len, const u8 *to, u32 to_len)
{
	struct wort_index *index = wort_names_find(&pool->names, from,
						   from_len);
	int err;

	if (!index)
		return not_found(pool);
	if (wort_names_find(&pool->names, to, to_len))
		return -EEXIST;
	err = may_rename(pool, index);
	if (err)
		return err;
	wort_op_begin(op, pool->region, &pool->alloc);
	err = wort_alloc_reserve(op, sizeof(struct wort_media_entry));
	if (!err)
		err = rename_alone(op, index, to, to_len);
	wort_op_end(op);
	return err;
}

/**
 * wort_index_rename() - Give an index another name
 * @pool: The pool.
 * @from: Its name.
 * @from_len: The length of that.
 * @to: The new name, which no index has.
 * @to_len: 1 to WORT_NAME_MAX.
 *
 * Durable when the call returns; after a power cut the index has one of the two
 * names.  Its id and its records stay, and openings of it go on.  Readers do
 * not wait; operations that may change something wait for two grace periods.
 *
 * Context: May sleep, killably.  Takes wort_pool.lock and wort_index.lock, and
 * excludes writers.
 * Return: 0; -ENOENT; -EEXIST if an index has the name, also this one; -EINVAL,
 * -EMSGSIZE for a name that no index has; -EOPNOTSUPP if its engine is unknown;
 * -EROFS; -EBUSY if it is open with WORT_INDEX_OPEN_F_OWN; -ENOSPC; -ENOMEM;
 * -EINTR; -ENODEV; -EUCLEAN if its entry is damaged; -EIO if that or its slot
 * lies on a page known to be bad; -EIO or -EUCLEAN if it may be in a part of
 * the catalogue that is lost.
 */
int wort_index_rename(struct wort_pool *pool, const u8 *from, u32 from_len,
		      const u8 *to, u32 to_len)
{
	int err = name_verify(from, from_len) ?: name_verify(to, to_len);
	struct wort_op op;

	if (err)
		return err;
	do {
		err = wort_pool_lock_changes(pool);
		if (err)
			return err;
		err = rename_locked(&op, pool, from, from_len, to, to_len);
		mutex_unlock(&pool->lock);
	} while (err == -ENOSPC && !(err = wort_pool_wait_space(pool, &op)));
	if (!err)
		wort_pool_kick(pool);
	if (err == -EUCLEAN || (!err && op.damaged))
		wort_pool_damaged(pool);
	return err;
}

/*
 * The index that a slot refers to, if it is served.  Its entry cannot be read.
 */
static struct wort_index *find_in_slot(struct wort_pool *pool, u64 slot)
{
	struct wort_index *index;

	list_for_each_entry(index, &pool->indexes, list)
		if (index->slot_off == slot)
			return index;
	return NULL;
}

/* The entry has the name and the root, so the index is lost. */
static void drop_entry(struct wort_op *op, struct wort_pool *pool, u64 slot,
		       u64 off)
{
	struct wort_index *index = find_in_slot(pool, slot);

	if (index) {
		pr_warn("%s: index with id %llu: its catalogue entry at offset %#llx cannot be read and was dropped, and all records with it\n",
			op->region->name ?: "pool", (unsigned long long)index->id,
			(unsigned long long)off);
		/* What it owns cannot be found. */
		index->walk_failed = true;
		take_out(pool, index);
		return;
	}
	pr_warn("%s: an index, whose name is not known: its catalogue entry at offset %#llx cannot be read and was dropped, and all records with it\n",
		op->region->name ?: "pool", (unsigned long long)off);
	wort_pm_publish(op, wort_region_at(pool->region, slot), 0);
	pool->catalogue_nr_free++;
}

static bool is_served(struct wort_pool *pool, u64 slot,
		      const struct wort_media_entry *entry)
{
	struct wort_index *index = wort_names_find(&pool->names, entry->name,
						   entry->name_len);

	return index && index->slot_off == slot;
}

/* Drop the entries that cannot be read.  False if another one is not served. */
static bool drop_entries(struct wort_op *op, struct wort_pool *pool, u64 off,
			 const struct wort_media_catalogue *block, u64 *nr)
{
	struct wort_media_entry entry;
	bool served = true;
	u32 i;
	int err;

	for (i = 0; i < WORT_MEDIA_CATALOGUE_SLOTS; i++) {
		if (!block->slot[i])
			continue;
		err = read_entry(op, pool, le64_to_cpu(block->slot[i]), &entry);
		if (err == -EIO) {
			drop_entry(op, pool, slot_off(off, i),
				   le64_to_cpu(block->slot[i]));
			++*nr;
		} else {
			served &= !err &&
				  is_served(pool, slot_off(off, i), &entry);
		}
	}
	return served;
}

/*
 * Space for a first block.  Nothing is owned, since no index is known: if no
 * extent is free, the walk can end at once.
 */
static int reserve_first(struct wort_op *op, struct wort_pool *pool)
{
	const u32 size = sizeof(struct wort_media_catalogue);
	int err = wort_alloc_reserve(op, size);

	if (err == -ENOSPC && pool->alloc.walking) {
		err = wort_alloc_walk_end(op);
		if (!err) {
			trace_wort_walk_end(pool->region->dev, 0, 0);
			wort_pool_changed(pool);
			err = wort_alloc_reserve(op, size);
		}
	}
	/* It may be where the lost one was. */
	if (!err && wort_pm_probe(op, block_at(pool, op->reserved[0]), size))
		err = -EIO;
	return err;
}

/* An empty block takes the place of the first one. */
static int replace_first(struct wort_op *op, struct wort_pool *pool)
{
	struct wort_media_catalogue __pmem *block;
	u64 off;
	int err = reserve_first(op, pool);

	if (err)
		return err;
	off = wort_alloc_take(op);
	block = block_at(pool, off);
	wort_pm_zero(op, block, sizeof(*block));
	wort_pm_flush(op, block, sizeof(*block));
	wort_pm_fence(op);
	pool->sb.catalogue_off = cpu_to_le64(off);
	wort_sb_store(op, pool);
	pool->catalogue_last = off;
	pool->catalogue_hint = off;
	pool->catalogue_blocks = 1;
	pool->catalogue_nr_free = WORT_MEDIA_CATALOGUE_SLOTS;
	return 0;
}

/*
 * The block has the only references to its indexes and to the blocks behind it.
 */
static int drop_block(struct wort_op *op, struct wort_pool *pool, u64 before,
		      u64 off)
{
	int err = 0;

	if (before)
		wort_pm_publish(op, &block_at(pool, before)->next, 0);
	else
		err = replace_first(op, pool);
	if (err)
		return err;
	pr_warn("%s: the catalogue block at offset %#llx cannot be read and was dropped: all indexes listed in it, %u at most, and in blocks behind it are lost, and their names are not known\n",
		op->region->name ?: "pool", (unsigned long long)off,
		WORT_MEDIA_CATALOGUE_SLOTS);
	return 0;
}

/**
 * wort_catalogue_drop() - Drop what cannot be read of the catalogue
 * @op: The operation.
 * @pool: The pool.
 * @nr: Raised by the number of references that were dropped.
 *
 * A slot is cleared if its entry cannot be read: its index is lost.  The list
 * of blocks ends before a block that attach could not read: the indexes in it
 * and behind it are lost.  Ids of lost indexes are not given again.  A block
 * that attach has read and that cannot be read any more stays: its indexes are
 * served.
 *
 * Context: May sleep.  Holds wort_pool.work_lock and wort_pool.lock.
 * Return: 0; -EINTR if a fatal signal came; -ENOMEM; -ENOSPC, -EIO or -EUCLEAN
 * if there is no place for a first block.  What is damaged is left to the
 * check.
 */
int wort_catalogue_drop(struct wort_op *op, struct wort_pool *pool, u64 *nr)
{
	u64 off = le64_to_cpu(pool->sb.catalogue_off), before = 0;
	struct wort_media_catalogue block;
	bool served = true;
	u32 n;
	int err;

	lockdep_assert_held(&pool->lock);
	for (n = 0; n < pool->catalogue_blocks; n++) {
		cond_resched();
		if (fatal_signal_pending(current))
			return -EINTR;
		if (read_block(op, pool, off, &block))
			return 0;
		served &= drop_entries(op, pool, off, &block, nr);
		before = off;
		off = le64_to_cpu(block.next);
	}
	/* Attach has read no further. */
	if (off) {
		if (read_block(op, pool, off, &block) != -EIO)
			return 0;
		err = drop_block(op, pool, before, off);
		if (err)
			return err;
		++*nr;
	}
	if (served)
		pool->left_out = 0;
	return 0;
}

/**
 * wort_index_set_damaged() - Make an index read-only, or writable again
 * @index: The index.
 * @damaged: Which.
 *
 * Recorded on media, unless its entry lies on a page known to be bad.
 *
 * Context: May sleep.  Holds wort_index.lock.
 */
void wort_index_set_damaged(struct wort_index *index, bool damaged)
{
	struct wort_pool *pool = index->pool;
	struct wort_op op;

	lockdep_assert_held(&index->lock);
	if (index->damaged == damaged)
		return;
	WRITE_ONCE(index->damaged, damaged);
	index_update(index);
	if (index->dead)
		return;
	count_damaged(pool, damaged ? 1 : -1);
	if (!wort_pool_writable(pool) || wort_index_verify(index))
		return;
	wort_op_begin(&op, pool->region, NULL);
	wort_pm_publish(&op, &entry_at(pool, index->entry_off)->state,
			damaged ? WORT_MEDIA_STATE_DAMAGED : 0);
	wort_op_end(&op);
}

/**
 * wort_index_set_unbuilt() - Have operations on an index wait for a rebuild, or no longer
 * @index: The index.
 * @unbuilt: Which.
 *
 * Context: May sleep.  Takes wort_index.lock.
 */
void wort_index_set_unbuilt(struct wort_index *index, bool unbuilt)
{
	mutex_lock(&index->lock);
	WRITE_ONCE(index->unbuilt, unbuilt);
	index_update(index);
	mutex_unlock(&index->lock);
}

/**
 * wort_index_set_gated() - Have operations on an index look at gates
 * @index: The index, of a pool that has gates.
 *
 * Context: May sleep.  Takes wort_index.lock.
 */
void wort_index_set_gated(struct wort_index *index)
{
	mutex_lock(&index->lock);
	WRITE_ONCE(index->engine,
		   wort_gated_engine(index->pool, index->tree.engine));
	index_update(index);
	mutex_unlock(&index->lock);
}

/**
 * wort_index_set_counted() - Note what an index owns, as just counted
 * @index: The index.
 * @bytes: Bytes of its objects and its entry.
 * @records: Records.
 *
 * Context: May sleep.  Takes wort_index.lock.
 */
void wort_index_set_counted(struct wort_index *index, u64 bytes, u64 records)
{
	mutex_lock(&index->lock);
	index->counted = (struct wort_counted){
		.bytes = bytes,
		.records = records,
		.time = ktime_get_real_seconds(),
	};
	mutex_unlock(&index->lock);
}

static u32 index_state(const struct wort_index *index)
{
	return (READ_ONCE(index->damaged) ? WORT_STATE_DAMAGED : 0) |
	       (index->tree.engine ? 0 : WORT_STATE_UNKNOWN);
}

/**
 * wort_index_list() - Describe the indexes of a pool
 * @pool: The pool.
 * @after: Only indexes with a greater id.
 * @records: Filled in, in the order of ids.
 * @max: Records that fit.
 * @more: There are further indexes.
 *
 * Context: May sleep, killably.  Takes wort_pool.lock.
 * Return: Number of records, fewer than there is room for if a fatal signal is
 * pending; -EINTR if there would be none for that reason.
 */
int wort_index_list(struct wort_pool *pool, u64 after,
		    struct wort_index_record *records, u32 max, bool *more)
{
	struct wort_index *index;
	u32 n = 0;

	*more = false;
	if (mutex_lock_killable(&pool->lock))
		return -EINTR;
	list_for_each_entry(index, &pool->indexes, list) {
		cond_resched();
		if (index->id <= after)
			continue;
		if (n == max || fatal_signal_pending(current)) {
			*more = true;
			break;
		}
		memset(&records[n], 0, sizeof(records[n]));
		records[n].id = index->id;
		records[n].engine = index->engine_id;
		records[n].state = index_state(index);
		records[n].name_len = index->name_len;
		memcpy(records[n].name, index->name, index->name_len);
		n++;
	}
	mutex_unlock(&pool->lock);
	/* A killed task gets no record: who asks while there are more would ask for ever. */
	if (*more && !n && max) {
		*more = false;
		return -EINTR;
	}
	return n;
}

static void tell_counted(const struct wort_counted *counted,
			 struct wort_index_info_arg *arg)
{
	arg->out_bytes = counted->time ? counted->bytes : WORT_UNKNOWN;
	arg->out_records = counted->time ? counted->records : WORT_UNKNOWN;
	arg->out_count_time = counted->time;
}

/**
 * wort_index_info() - Describe an index
 * @index: The index.
 * @arg: Its ``out_`` fields are filled in.
 *
 * Context: May sleep.  Takes wort_index.lock.
 */
void wort_index_info(struct wort_index *index, struct wort_index_info_arg *arg)
{
	/* A rename changes the name and the root record. */
	mutex_lock(&index->lock);
	arg->out_id = index->id;
	arg->out_attr = index->attr;
	arg->out_create_time = index->create_time;
	arg->out_engine = index->engine_id;
	arg->out_state = index_state(index);
	arg->out_name_len = index->name_len;
	memset(arg->out_name, 0, sizeof(arg->out_name));
	memcpy(arg->out_name, index->name, index->name_len);
	arg->out_root_off = 0;
	if (index->tree.engine->traits & WORT_TRAIT_MAPPABLE)
		arg->out_root_off = index->entry_off +
				    offsetof(struct wort_media_entry, root);
	tell_counted(&index->counted, arg);
	arg->out_dram_bytes = wort_index_dram(index);
	mutex_unlock(&index->lock);
}

/* What is most often the same is not counted: struct wort_counts. */
static void stats_add(struct wort_op_stats *sum,
		      const struct wort_op_costs *costs)
{
	const struct wort_counts *n = &costs->n;
	u64 nodes = READ_ONCE(n->nodes), leaves = READ_ONCE(n->leaves);
	u64 ordering_points = READ_ONCE(n->ordering_points);

	sum->ops += READ_ONCE(costs->ops);
	sum->stores += READ_ONCE(n->stores);
	sum->lines += READ_ONCE(n->lines);
	sum->fences += ordering_points + READ_ONCE(n->idle_fences);
	sum->ordering_points += ordering_points;
	sum->nodes += nodes;
	sum->leaves += leaves;
	sum->loads += nodes + leaves + READ_ONCE(n->more_loads);
	sum->alloc_lines += READ_ONCE(n->alloc_lines);
	sum->zero_lines += READ_ONCE(n->zero_lines);
}

/*
 * Add the operations of a class of fast paths, by the nodes that they visited.
 */
static void stats_add_class(struct wort_op_stats stats[WORT_OP_NR],
			    const struct wort_cost_class *class,
			    const u64 *by_nodes, bool flush)
{
	struct wort_op_stats *sum = &stats[class->type];
	u64 ops;
	u32 nodes;

	for (nodes = 0; nodes < WORT_FAST_NODES; nodes++) {
		ops = READ_ONCE(by_nodes[nodes]);
		if (!ops)
			continue;
		sum->ops += ops;
		sum->stores += ops * class->stores;
		sum->lines += flush ? ops * class->lines : 0;
		sum->fences += ops * class->fences;
		sum->ordering_points += flush ? ops * class->fences : 0;
		sum->nodes += ops * nodes;
		sum->leaves += ops * class->leaves;
		sum->loads += ops * (nodes + class->leaves);
	}
}

static void stats_add_fast(struct wort_op_stats stats[WORT_OP_NR],
			   const struct wort_fast_ops *fast,
			   const struct wort_index_stats *local)
{
	u32 i;

	for (i = 0; i < WORT_COST_CLASSES; i++) {
		stats_add_class(stats, &fast->class[i], local->fast[0][i],
				false);
		stats_add_class(stats, &fast->class[i], local->fast[1][i],
				true);
	}
}

/**
 * wort_index_stats() - What operations on an index cost
 * @index: The index, opened by wort_index_open().
 * @stats: Filled in, by WORT_OP_*, since the index was first opened.
 *
 * Of operations under way some figures may be in and others not yet.
 *
 * Context: Any context.
 */
void wort_index_stats(struct wort_index *index,
		      struct wort_op_stats stats[WORT_OP_NR])
{
	const struct wort_fast_ops *fast = index->tree.engine->fast_ops;
	const struct wort_index_stats *local;
	int cpu;
	u32 i;

	memcpy(stats, index->past, sizeof(index->past));
	for_each_possible_cpu(cpu) {
		local = per_cpu_ptr(index->stats, cpu);
		for (i = 0; i < WORT_OP_NR; i++)
			stats_add(&stats[i], &local->of[i]);
		if (fast)
			stats_add_fast(stats, fast, local);
	}
}
