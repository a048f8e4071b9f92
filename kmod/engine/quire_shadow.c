// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * QUIRE: shadows are made and dropped, and the table of them.  What they are is
 * described in quire_shadow.h.
 */
#include <linux/kernel.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../core/lock.h"
#include "quire_shadow.h"

#define FEWEST_SLOTS	16
#define FEWEST_BYTES	65536	/* a tree may have these before it was tended */
#define FEWEST_GONE	64
#define SLOTS_AT_ONCE	1024	/* that are looked at with the lock held */
#define MOST_SHADOWS	BIT(24)	/* a table of more is larger than kvmalloc() gives memory for */

static size_t shadow_size(const struct qr_page *page)
{
	u32 max = qr_children_max(page);
	struct qr_inner_shadow *in;

	return page->level ? struct_size(in, child, max) +
			     (max + QR_STEP_FEW) * sizeof(in->head[0]) :
			     sizeof(struct qr_leaf_shadow);
}

/* Is the background to be asked for something?  Holds the lock of the table. */
static bool ask(struct qr_shadows *shadows)
{
	bool due = shadows->bytes + shadows->bytes_gone >= shadows->bytes_due ||
		   shadows->nr_gone >= shadows->nr_gone_due ||
		   shadows->table->nr_used > shadows->table->mask / 2;

	due &= !shadows->asked;
	shadows->asked |= due;
	return due;
}

static void want_tend(const struct wort_tree *tree, bool due)
{
	if (due)
		tree->want_tend((struct wort_tree *)tree);
}

static void slot_set(struct qr_table *table, u32 nr, struct qr_shadow *shadow)
{
	WRITE_ONCE(table->nr_used, table->nr_used + !table->slot[nr].off);
	WRITE_ONCE(table->slot[nr].off, shadow->page.off);
	/* pairs with the acquire in qr_shadow_find() */
	smp_store_release(&table->slot[nr].shadow, shadow);
}

/* Is there room for a shadow of so many bytes?  Without the lock of the table: perhaps. */
static bool has_room(const struct qr_shadows *shadows, size_t size)
{
	/* pairs with the release in table_replace() */
	const struct qr_table *table = smp_load_acquire(&shadows->table);

	return READ_ONCE(table->nr_used) < table->mask &&
	       READ_ONCE(shadows->nr) < MOST_SHADOWS &&
	       READ_ONCE(shadows->bytes) + READ_ONCE(shadows->bytes_gone) +
			       size <=
		       READ_ONCE(shadows->most);
}

/*
 * Enter a shadow into the table, if its page has none there and there is room.
 * That of an inner page knows those of its children from then on.
 */
static bool shadow_enter(const struct wort_tree *tree, struct qr_shadow *shadow)
{
	struct qr_shadows *shadows = qr_shadows_of(tree);
	size_t size = shadow_size(&shadow->page);
	struct qr_table *table;
	bool enters, due;
	u32 nr;

	spin_lock(&shadows->lock);
	table = shadows->table;
	nr = qr_slot_nr(table, shadow->page.off);
	enters = !table->slot[nr].shadow && has_room(shadows, size);
	if (enters) {
		WRITE_ONCE(shadows->bytes, shadows->bytes + size);
		WRITE_ONCE(shadows->nr, shadows->nr + 1);
		if (shadow->page.level)
			qr_children_learn(tree, shadow);
		slot_set(table, nr, shadow);
	}
	due = ask(shadows);
	spin_unlock(&shadows->lock);
	want_tend(tree, due);
	return enters;
}

/*
 * Those who have found it may still go by it.  Holds the lock of the table.
 * Returns its bytes.
 */
static size_t shadow_leave(struct qr_shadows *shadows, u32 nr)
{
	struct qr_shadow *shadow = shadows->table->slot[nr].shadow;
	size_t size;

	if (!shadow)
		return 0;
	size = shadow_size(&shadow->page);
	WRITE_ONCE(shadow->gone, true);
	WRITE_ONCE(shadows->table->slot[nr].shadow, NULL);
	shadow->next_gone = shadows->gone;
	shadows->gone = shadow;
	shadows->nr_gone++;
	WRITE_ONCE(shadows->nr, shadows->nr - 1);
	WRITE_ONCE(shadows->bytes, shadows->bytes - size);
	WRITE_ONCE(shadows->bytes_gone, shadows->bytes_gone + size);
	return size;
}

/*
 * Take the shadow of a page out of the table; who opens the page next makes
 * another one.
 */
void qr_shadow_drop(const struct wort_tree *tree, u64 off)
{
	struct qr_shadows *shadows = qr_shadows_of(tree);
	bool due;

	if (!shadows)
		return;
	spin_lock(&shadows->lock);
	shadow_leave(shadows, qr_slot_nr(shadows->table, off));
	due = ask(shadows);
	spin_unlock(&shadows->lock);
	want_tend(tree, due);
}

/*
 * With the lock of a page: take the shadow that is in the table.  The one that
 * a descent has found may have gone, and another one may have come.
 */
void qr_shadow_current(const struct wort_tree *tree, struct qr_page *page)
{
	struct qr_shadows *shadows = qr_shadows_of(tree);

	if (!shadows || (page->shadow && !READ_ONCE(page->shadow->gone)))
		return;
	spin_lock(&shadows->lock);
	page->shadow = qr_shadow_find(tree, page->off);
	spin_unlock(&shadows->lock);
}

/*
 * Make the shadow of a page that has none, if its lock is free and there is
 * memory.  With a lock that has seen no removal the page is in the tree.
 */
void qr_shadow_make(struct wort_op *op, const struct wort_tree *tree,
		    struct qr_page *page)
{
	struct qr_shadows *shadows = qr_shadows_of(tree);
	size_t size = shadow_size(page);
	struct qr_shadow *shadow;
	struct wort_lock *lock;

	if (!shadows || !op->locks ||
	    (!page->level && page->words > QR_SHADOW_WORDS) ||
	    !has_room(shadows, size))
		return;
	lock = wort_node_try(op, page->off);
	if (!lock)
		return;
	shadow = *lock->in_flight ? NULL : kzalloc(size, QR_SHADOW_GFP);
	if (shadow) {
		page->shadow = shadow;
		shadow->page = *page;
		if ((page->level ? qr_children_fill(op, page) :
				   qr_tags_fill(op, page)) ||
		    !shadow_enter(tree, shadow)) {
			page->shadow = NULL;
			kfree(shadow);
		}
	}
	wort_node_release(lock);
}

static struct qr_table *table_new(u32 nr, gfp_t gfp)
{
	struct qr_table *table = kvzalloc(struct_size(table, slot, nr), gfp);

	if (table)
		table->mask = nr - 1;
	return table;
}

static int shadows_open(struct wort_tree *tree)
{
	struct qr_shadows *shadows = kzalloc(sizeof(*shadows), GFP_NOIO);

	if (!shadows)
		return -ENOMEM;
	spin_lock_init(&shadows->lock);
	shadows->table = table_new(FEWEST_SLOTS, GFP_NOIO);
	if (!shadows->table) {
		kfree(shadows);
		return -ENOMEM;
	}
	shadows->most = FEWEST_BYTES;
	shadows->bytes_due = FEWEST_BYTES / 2;
	shadows->nr_gone_due = FEWEST_GONE;
	/* pairs with the acquire in qr_shadows_of() */
	smp_store_release(&tree->priv, shadows);
	return 0;
}

/* The next slots; returns the bytes of their shadows. */
static size_t shadows_leave_some(struct qr_shadows *shadows, size_t bytes,
				 u32 nr)
{
	size_t gone = 0;

	spin_lock(&shadows->lock);
	while (nr-- && gone < bytes)
		gone += shadow_leave(shadows,
				     shadows->hand++ & shadows->table->mask);
	spin_unlock(&shadows->lock);
	return gone;
}

/*
 * Shadows go until so many bytes have: those behind the hand first, which goes
 * round, so that one which was made lately stays for a while.  There may be
 * millions, so others get the lock in between.
 */
static void shadows_leave(struct qr_shadows *shadows, size_t bytes)
{
	u32 left = READ_ONCE(shadows->table)->mask + 1, nr;
	size_t gone = 0;

	for (; left && gone < bytes; left -= nr) {
		nr = min_t(u32, left, SLOTS_AT_ONCE);
		gone += shadows_leave_some(shadows, bytes - gone, nr);
		cond_resched();
	}
}

/* All shadows of a tree go. */
void qr_shadows_drop(const struct wort_tree *tree)
{
	struct qr_shadows *shadows = qr_shadows_of(tree);
	bool due;

	if (!shadows)
		return;
	shadows_leave(shadows, SIZE_MAX);
	spin_lock(&shadows->lock);
	due = ask(shadows);
	spin_unlock(&shadows->lock);
	want_tend(tree, due);
}

static size_t shadows_free(struct qr_shadow *shadow)
{
	struct qr_shadow *next;
	size_t bytes = 0;

	for (; shadow; shadow = next) {
		next = shadow->next_gone;
		bytes += shadow_size(&shadow->page);
		kfree(shadow);
	}
	return bytes;
}

static void shadows_close(struct wort_tree *tree)
{
	struct qr_shadows *shadows = tree->priv;

	shadows_leave(shadows, SIZE_MAX);
	shadows_free(shadows->gone);
	kvfree(shadows->table);
	kfree(shadows);
	tree->priv = NULL;
	tree->priv_bytes = 0;
}

/* Slots of a new table, if half of those of the old one are in use; or 0. */
static u32 slots_wanted(struct qr_shadows *shadows)
{
	const struct qr_table *table = shadows->table;
	u32 slots = 0;

	spin_lock(&shadows->lock);
	if (table->nr_used > table->mask / 2)
		slots = max_t(u32, BIT(fls(shadows->nr) + 2), FEWEST_SLOTS);
	spin_unlock(&shadows->lock);
	return slots;
}

/*
 * All shadows into a table that nobody knows yet.  Holds the lock of the old
 * one.
 */
static void table_fill(struct qr_table *table, const struct qr_table *old)
{
	struct qr_shadow *shadow;
	u32 nr;

	for (nr = 0; nr <= old->mask; nr++) {
		shadow = old->slot[nr].shadow;
		if (shadow)
			slot_set(table, qr_slot_nr(table, shadow->page.off),
				 shadow);
	}
}

/*
 * A table without slots of pages that have gone takes the place of the old one,
 * unless so many have come meanwhile that it is too small.  Returns the one
 * that nobody needs any more.
 */
static struct qr_table *table_replace(struct qr_shadows *shadows)
{
	struct qr_table *old = shadows->table, *table;
	u32 slots = slots_wanted(shadows);

	table = slots ? table_new(slots, GFP_NOIO) : NULL;
	if (!table)
		return NULL;
	spin_lock(&shadows->lock);
	if (shadows->nr > table->mask / 2) {
		old = table;
	} else {
		table_fill(table, old);
		/* pairs with qr_shadow_find() */
		smp_store_release(&shadows->table, table);
	}
	spin_unlock(&shadows->lock);
	return old;
}

/*
 * Clear what leads from shadows of parents to shadows that have left the table:
 * also to those of pages that were freed, since on a damaged page two
 * separators may lead to one page.  Only the background, which this is, frees
 * shadows, so those that it meets in the table stay allocated.
 */
static void parents_forget(struct wort_tree *tree)
{
	struct qr_shadows *shadows = tree->priv;
	struct qr_shadow *shadow;
	struct wort_op op;
	u32 nr;

	wort_op_begin(&op, tree->region, NULL);
	op.locks = tree->locks;
	for (nr = 0; nr <= shadows->table->mask; nr++) {
		spin_lock(&shadows->lock);
		shadow = shadows->table->slot[nr].shadow;
		spin_unlock(&shadows->lock);
		cond_resched();
		if (!shadow || !shadow->page.level)
			continue;
		wort_lock_hold(&op, wort_lock_of(&op, shadow->page.off));
		qr_children_forget(tree, &shadow->page);
		wort_nodes_unlock(&op);
	}
	wort_op_end(&op);
}

/*
 * Free those that have gone, and a table of which another one took the place.
 */
static void gone_free(struct wort_tree *tree, bool with_table)
{
	struct qr_shadows *shadows = tree->priv;
	struct qr_table *table = with_table ? table_replace(shadows) : NULL;
	struct qr_shadow *gone;
	size_t bytes;

	spin_lock(&shadows->lock);
	gone = shadows->gone;
	shadows->gone = NULL;
	shadows->nr_gone = 0;
	spin_unlock(&shadows->lock);
	if (gone)
		parents_forget(tree);
	if (gone || table)
		wort_locks_synchronize(tree->locks);
	bytes = shadows_free(gone);
	kvfree(table);
	spin_lock(&shadows->lock);
	WRITE_ONCE(shadows->bytes_gone, shadows->bytes_gone - bytes);
	spin_unlock(&shadows->lock);
}

/*
 * Free what has gone, and choose how much there may be: some times what is
 * needed now, so that other trees have room, too.
 */
static void shadows_tend(struct wort_tree *tree, size_t room)
{
	struct qr_shadows *shadows = tree->priv;
	size_t has;

	room = min_t(size_t, room,
		     tree->region->size / 100 * QR_ATTR(tree, 48));
	has = READ_ONCE(shadows->bytes);
	if (room < has)
		shadows_leave(shadows, has - room);
	spin_lock(&shadows->lock);
	WRITE_ONCE(shadows->most,
		   room ? min(room, max_t(size_t, 4 * has, FEWEST_BYTES)) : 0);
	spin_unlock(&shadows->lock);
	gone_free(tree, room);
	spin_lock(&shadows->lock);
	shadows->bytes_due = shadows->most < room ? shadows->most / 2 :
						    SIZE_MAX;
	shadows->nr_gone_due = max_t(u32, FEWEST_GONE, shadows->nr / 4);
	shadows->asked = false;
	WRITE_ONCE(tree->priv_bytes, shadows->most);
	spin_unlock(&shadows->lock);
}

static size_t shadows_bytes(const struct wort_tree *tree)
{
	const struct qr_shadows *shadows = tree->priv;

	return READ_ONCE(shadows->bytes) + READ_ONCE(shadows->bytes_gone);
}

static void shadows_shrink(struct wort_tree *tree, size_t bytes)
{
	struct qr_shadows *shadows = tree->priv;

	shadows_leave(shadows, bytes);
	gone_free(tree, false);
}

const struct wort_volatile_ops qr_volatile_ops = {
	.room_shift = 2,
	.open = shadows_open,
	.close = shadows_close,
	.tend = shadows_tend,
	.bytes = shadows_bytes,
	.shrink = shadows_shrink,
};
