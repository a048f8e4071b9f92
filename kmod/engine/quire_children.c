// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * QUIRE: the shadows of inner pages.
 */
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../core/lock.h"
#include "quire_shadow.h"

/* The bytes of a separator behind the lead, as a number. */
static u64 sep_head(const struct qr_inner_shadow *in,
		    const struct qr_page *page, const struct qr_rec *sep)
{
	u32 len = sep->len - in->lead_len, i;
	u64 head = 0;

	for (i = 0; i < sizeof(head); i++)
		head = head << 8 | (i < len ? wort_pm_load_byte(qr_rest(page, sep) +
								in->lead_len + i) : 0);
	return head;
}

/* How many bytes of a lead does a separator begin with? */
static u32 lead_common(const u8 *lead, u32 len, const struct qr_page *page,
		       const struct qr_rec *sep)
{
	u32 i = 0;

	len = min_t(u32, len, sep->len);
	while (i < len && lead[i] == wort_pm_load_byte(qr_rest(page, sep) + i))
		i++;
	return i;
}

/* The lead is what the lowest separator and the greatest one have in common. */
static void lead_find(struct wort_op *op, const struct qr_page *page,
		      struct qr_inner_shadow *in, const struct qr_rec *low,
		      const struct qr_rec *high)
{
	u32 len = min_t(u32, low->len, QR_LEAD_MAX), i;

	for (i = 0; i < len; i++)
		in->lead[i] = wort_pm_load_byte(qr_rest(page, low) + i);
	in->lead_len = lead_common(in->lead, len, page, high);
}

static void child_set(struct qr_inner_shadow *in, u32 at, u64 head,
		      const struct qr_child *child)
{
	WRITE_ONCE(in->head[at], head);
	WRITE_ONCE(in->child[at].to, child->to);
	WRITE_ONCE(in->child[at].shadow, child->shadow);
}

/* For each step of heads the last child before it. */
static void hints_fill(struct qr_inner_shadow *in)
{
	u32 nr = in->nr, at = 0, step;
	u64 low = nr > 1 ? in->head[1] : U64_MAX;
	u32 shift = nr > 1 ? max(fls64(in->head[nr - 1] - low), QR_STEP_BITS) -
			     QR_STEP_BITS : 0;

	for (step = 0; step <= QR_STEPS; step++) {
		while (at + 1 < nr && (in->head[at + 1] - low) >> shift < step)
			at++;
		WRITE_ONCE(in->hint[step], at);
	}
	WRITE_ONCE(in->low, low);
	WRITE_ONCE(in->shift, shift);
}

/*
 * The step of a head that is not below the least one; QR_STEPS and more: beyond
 * all.
 */
static __always_inline u64 step_of(const struct qr_inner_shadow *in, u64 head)
{
	return (head - READ_ONCE(in->low)) >> (READ_ONCE(in->shift) & 63);
}

/* Of QR_STEP_FEW heads so many are lesser: no branch depends on them. */
static __always_inline u32 few_below(const u64 *heads, u64 head)
{
	BUILD_BUG_ON(QR_STEP_FEW != 4);
	return (READ_ONCE(heads[0]) < head) + (READ_ONCE(heads[1]) < head) +
	       (READ_ONCE(heads[2]) < head) + (READ_ONCE(heads[3]) < head);
}

/* The number of the last child whose separator has a lesser head. */
static __always_inline u32 child_below(const struct qr_inner_shadow *in,
				       u64 head)
{
	u32 at, nr, half;
	u64 step;

	if (unlikely(head <= READ_ONCE(in->low)))
		return 0;
	step = min_t(u64, step_of(in, head), QR_STEPS - 1);
	at = READ_ONCE(in->hint[step]);
	prefetch(&in->child[at + 1]);
	/* While the children change this may be any number. */
	nr = max_t(int, READ_ONCE(in->hint[step + 1]) - at, 0) + 1;
	for (; unlikely(nr > QR_STEP_FEW + 1); nr -= half) {
		half = nr / 2;
		if (READ_ONCE(in->head[at + half]) < head)
			at += half;
	}
	return at + few_below(&in->head[at + 1], head);
}

static int children_fill(struct wort_op *op, const struct qr_page *page,
			 const struct qr_order *order)
{
	struct qr_inner_shadow *in = qr_inner_shadow(page->shadow);
	struct qr_rec low, high, sep;
	u32 i;

	if (!order->nr || order->nr > qr_children_max(page))
		return -E2BIG;
	in->head = (u64 *)(in->child + qr_children_max(page));
	in->lead_len = 0;
	if (order->nr > 1 && !qr_rec_at(op, page, order->slot[1].place, &low) &&
	    !qr_rec_at(op, page, order->slot[order->nr - 1].place, &high))
		lead_find(op, page, in, &low, &high);
	for (i = 0; i < order->nr; i++) {
		if (qr_rec_at(op, page, order->slot[i].place, &sep) ||
		    !sep.len != !i || sep.val >> QR_TO_PLACE_SHIFT ||
		    qr_padding_verify(op, page, &sep))
			return -EAGAIN;
		child_set(in, i, i ? sep_head(in, page, &sep) : 0, &(struct qr_child){
			.to = sep.val | (u64)sep.place << QR_TO_PLACE_SHIFT,
		});
	}
	for (; i < qr_children_max(page) + QR_STEP_FEW; i++)
		WRITE_ONCE(in->head[i], U64_MAX);
	WRITE_ONCE(in->nr, order->nr);
	hints_fill(in);
	qr_shadow_end(&in->s, order->end.nr, order->end.top);
	return 0;
}

/* With the lock of the page, of which no word is in flight. */
int qr_children_fill(struct wort_op *op, const struct qr_page *page)
{
	struct qr_order *order = kmalloc(sizeof(*order), QR_SHADOW_GFP);
	const struct wort_bound none = { .len = WORT_NO_KEY };
	int err;

	if (!order)
		return -ENOMEM;
	err = qr_order(op, page, &none, order) ?:
	      children_fill(op, page, order);
	kfree(order);
	return err;
}

/*
 * The key relative to the lead: 0 if it begins with that.  Else it is below all
 * separators, or above.
 */
static __always_inline int lead_side(const struct qr_inner_shadow *in,
				     u32 lead_len, const struct wort_key *key)
{
	u32 prefix_len = in->s.page.prefix_len, i, more;
	u64 x, y;

	for (i = 0; i < lead_len; i += sizeof(u64)) {
		if (unlikely(prefix_len + i > key->len))
			return -1;
		more = i + sizeof(u64) > lead_len ? 8 * (i + sizeof(u64) - lead_len) : 0;
		x = wort_key_bytes(key, prefix_len + i) >> more;
		y = wort_bytes_be64(in->lead + i) >> more;
		if (x != y)
			return x < y ? -1 : 1;
	}
	return -(key->len < prefix_len + lead_len);
}

static bool has_changed(const struct qr_inner_shadow *in, u32 sequence)
{
	/* Loads of the children come before. */
	smp_rmb();
	return READ_ONCE(in->sequence) != sequence;
}

/*
 * Of the children whose separators have the head of the key, or are below it:
 * the number of the last one to which it belongs.
 */
static int child_among(const struct qr_inner_shadow *in, bool covers,
		       const struct wort_key *key, u32 low, u32 sequence)
{
	const struct qr_page *page = &in->s.page;
	u64 head = READ_ONCE(in->head[low + 1]);
	/* A head of all ones is also what lies behind the last child. */
	u32 high = head == U64_MAX ? READ_ONCE(in->nr) :
				     child_below(in, head + 1) + 1;
	struct qr_rec sep;
	u32 mid, place;

	while (low + 1 < high) {
		mid = (low + high) / 2;
		place = qr_child_place(&in->child[mid]);
		if (has_changed(in, sequence) ||
		    !qr_rec_peek(page, place, &sep))
			return -EAGAIN;
		if (qr_rec_cmp(page, &sep, key) < covers)
			low = mid;
		else
			high = mid;
	}
	return low;
}

/*
 * Find the child to which a key belongs, or of those whose separators have the
 * head of the key the one before: then all of them have to be compared.
 */
static __always_inline bool child_search(const struct qr_inner_shadow *in,
					 const struct wort_key *key, u32 *at)
{
	u32 lead_len = READ_ONCE(in->lead_len);
	int side = lead_side(in, lead_len, key);
	u64 head;

	*at = side < 0 ? 0 : READ_ONCE(in->nr) - 1;
	if (unlikely(side))
		return true;
	head = wort_key_bytes(key, in->s.page.prefix_len + lead_len);
	*at = child_below(in, head);
	return likely(READ_ONCE(in->head[*at + 1]) != head);
}

/*
 * Find the child to which a descent goes.  -EAGAIN: the page has to be read,
 * since it is being changed.
 */
int qr_child_find(const struct qr_shadow *shadow, enum qr_goal goal,
		  const struct wort_key *key, struct qr_way *way)
{
	const struct qr_inner_shadow *in = qr_inner_shadow(shadow);
	/* pairs with the release in qr_children_changed() */
	u32 sequence = smp_load_acquire(&in->sequence);
	u32 nr = READ_ONCE(in->nr), low;
	int at = 0;

	if (sequence & 1)
		return -EAGAIN;
	if (goal == QR_LAST)
		at = nr - 1;
	else if (goal != QR_FIRST)
		at = child_search(in, key, &low) ? (int)low :
		     child_among(in, goal == QR_COVERS, key, low, sequence);
	if (at < 0)
		return at;
	way->link = qr_child_link(&in->child[at]);
	way->place = qr_child_place(&in->child[at]);
	way->next = at + 1 < (int)nr ? qr_child_place(&in->child[at + 1]) : 0;
	/* pairs with the release in qr_child_learn() */
	way->shadow = smp_load_acquire(&in->child[at].shadow);
	return has_changed(in, sequence) || qr_shadow_gone(shadow) ? -EAGAIN : 0;
}

static __always_inline struct qr_shadow *
shadow_at(const struct qr_inner_shadow *in, u32 at, u32 sequence)
{
	/* pairs with the release in qr_child_learn() */
	struct qr_shadow *child = smp_load_acquire(&in->child[at].shadow);

	return has_changed(in, sequence) || qr_shadow_gone(&in->s) ? NULL : child;
}

/* It is called last, so that qr_child_shadow() saves no registers for it. */
static noinline struct qr_shadow *shadow_among(const struct qr_inner_shadow *in,
					       const struct wort_key *key,
					       u32 low, u32 sequence)
{
	int at = child_among(in, true, key, low, sequence);

	return at < 0 ? NULL : shadow_at(in, at, sequence);
}

/*
 * The shadow of the child to which a key leads that has the prefix of the page,
 * for those who go by shadows alone; NULL: there is none, or the page is being
 * changed.
 */
struct qr_shadow *qr_child_shadow(const struct qr_shadow *shadow,
				  const struct wort_key *key)
{
	const struct qr_inner_shadow *in = qr_inner_shadow(shadow);
	/* pairs with the release in qr_children_changed() */
	u32 sequence = smp_load_acquire(&in->sequence), at;

	if (unlikely(sequence & 1))
		return NULL;
	return child_search(in, key, &at) ? shadow_at(in, at, sequence) :
	       shadow_among(in, key, at, sequence);
}

static u32 child_at_place(const struct qr_inner_shadow *in, u32 place)
{
	u32 i = 0;

	while (i < in->nr && qr_child_place(&in->child[i]) != place)
		i++;
	return i;
}

/*
 * The shadow of a child is known from now on.  With the lock of the page, which
 * has seen no removal, the page and its children are in the tree; with that of
 * the table their shadows have not gone.
 */
void qr_child_learn(struct wort_op *op, const struct wort_tree *tree,
		    const struct qr_page *page, const struct qr_way *way,
		    struct qr_shadow *shadow)
{
	struct wort_lock *lock = op->locks ? wort_node_try(op, page->off) : NULL;
	struct qr_inner_shadow *in = qr_inner_shadow(page->shadow);
	struct qr_shadows *shadows = qr_shadows_of(tree);
	u32 at;

	if (!lock)
		return;
	at = child_at_place(in, way->place);
	spin_lock(&shadows->lock);
	if (at < in->nr && qr_child_link(&in->child[at]) == shadow->page.off &&
	    !in->s.gone && !shadow->gone)
		/* pairs with the acquire in qr_child_find() */
		smp_store_release(&in->child[at].shadow, shadow);
	spin_unlock(&shadows->lock);
	wort_node_release(lock);
}

/*
 * The same for all children that have a shadow, when that of the page enters
 * the table.
 */
void qr_children_learn(const struct wort_tree *tree, struct qr_shadow *shadow)
{
	struct qr_inner_shadow *in = qr_inner_shadow(shadow);
	struct qr_child *child;

	for (child = in->child; child < in->child + in->nr; child++)
		/* pairs with the acquire in qr_child_find() */
		smp_store_release(&child->shadow,
				  qr_shadow_find(tree, qr_child_link(child)));
}

/*
 * With the lock of the page: shadows that are not in the table any more are not
 * known.
 */
void qr_children_forget(const struct wort_tree *tree,
			const struct qr_page *page)
{
	struct qr_inner_shadow *in = qr_inner_shadow(page->shadow);
	struct qr_child *child;

	for (child = in->child; child < in->child + in->nr; child++)
		if (child->shadow &&
		    qr_shadow_find(tree, qr_child_link(child)) != child->shadow)
			WRITE_ONCE(child->shadow, NULL);
}

/* The children from a number on move up or down by one. */
static void children_move(struct qr_inner_shadow *in, u32 from, bool up)
{
	u32 nr = in->nr, i;

	if (up)
		for (i = nr; i > from; i--)
			child_set(in, i, in->head[i - 1], &in->child[i - 1]);
	else
		for (i = from; i < nr; i++)
			child_set(in, i - 1, in->head[i], &in->child[i]);
	if (!up)
		WRITE_ONCE(in->head[nr - 1], U64_MAX);
	WRITE_ONCE(in->nr, up ? nr + 1 : nr - 1);
}

/* A head has come. */
static void hints_add(struct qr_inner_shadow *in, u64 head)
{
	u64 step = step_of(in, head);

	if (head < in->low || step >= QR_STEPS) {
		hints_fill(in);
		return;
	}
	while (++step <= QR_STEPS)
		WRITE_ONCE(in->hint[step], in->hint[step] + 1);
}

/*
 * A separator comes.  Returns false if there is no room, or it has another
 * lead.
 */
static bool child_add(struct wort_op *op, const struct qr_page *page,
		      struct qr_inner_shadow *in, const struct qr_rec *sep)
{
	struct qr_child child = { .to = sep->val |
					(u64)sep->place << QR_TO_PLACE_SHIFT };
	struct qr_rec other;
	u64 head;
	u32 at;

	if (in->nr == qr_children_max(page) ||
	    lead_common(in->lead, in->lead_len, page, sep) < in->lead_len)
		return false;
	head = sep_head(in, page, sep);
	at = child_below(in, head) + 1;
	for (; at < in->nr && in->head[at] == head; at++) {
		if (qr_rec_load(op, page, qr_child_place(&in->child[at]),
				&other) <= 0)
			return false;
		if (qr_recs_cmp(page, &other, sep) > 0)
			break;
	}
	children_move(in, at, true);
	child_set(in, at, head, &child);
	hints_add(in, head);
	return true;
}

/* The separator at a place has come, or died, or its link has changed. */
static bool child_update(struct wort_op *op, const struct qr_page *page,
			 u32 place)
{
	struct qr_inner_shadow *in = qr_inner_shadow(page->shadow);
	u32 at = child_at_place(in, place);
	struct qr_rec sep;

	if (qr_rec_load(op, page, place, &sep) <= 0)
		return false;
	if (place == in->s.top)
		qr_shadow_end(&in->s, in->s.nr + 1,
			      place + qr_rec_words(sep.len));
	if (at == in->nr)
		return !qr_rec_dead(&sep) && child_add(op, page, in, &sep);
	if (qr_rec_dead(&sep)) {
		children_move(in, at + 1, false);
		hints_fill(in);
	} else if (qr_child_link(&in->child[at]) != sep.val) {
		child_set(in, at, in->head[at], &(struct qr_child){
			.to = sep.val | (u64)place << QR_TO_PLACE_SHIFT,
		});
	}
	return true;
}

/*
 * Before a word of a separator is stored in an inner page, which is locked.
 * Until the word is durable and the shadow has followed, readers read the page.
 * Otherwise one that has read the page by the new word, and has written where
 * that leads, could go by the old word afterwards, and not find what it wrote.
 */
void qr_children_changing(const struct qr_page *page)
{
	struct qr_inner_shadow *in;

	if (!page->shadow || !page->level)
		return;
	in = qr_inner_shadow(page->shadow);
	WRITE_ONCE(in->sequence, in->sequence + 1);
	/* A reader that finds any of what follows finds an odd number. */
	smp_wmb();
}

/*
 * A word of the separator at a place has changed, and is durable; the page is
 * still locked.  A shadow that cannot follow goes before its number is even
 * again.
 */
void qr_children_changed(struct wort_op *op, const struct wort_tree *tree,
			 const struct qr_page *page, u32 place)
{
	struct qr_inner_shadow *in;

	if (!page->shadow)
		return;
	in = qr_inner_shadow(page->shadow);
	if (!child_update(op, page, place))
		qr_shadow_drop(tree, page->off);
	/* pairs with the acquire in qr_child_find() */
	smp_store_release(&in->sequence, in->sequence + 1);
}
