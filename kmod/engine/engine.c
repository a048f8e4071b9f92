// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/slab.h>

#include "../core/lock.h"
#include "engine.h"

#define ATTR(name_, shift_, bits_, unit_, min_, max_, def_, values_)	\
	{ .name = name_, .shift = shift_, .bits = bits_, .unit = unit_,	\
	  .min = min_, .max = max_, .def = def_ },
#define ENGINE(symbol, name_, id_, traits_)				\
	{ &wort_engine_##symbol, { WORT_ATTRS_##symbol(ATTR) } },

static const struct {
	const struct wort_engine *engine;
	struct wort_attr attrs[WORT_ATTRS_MAX + 1];
} engines[] = {
	WORT_ENGINES(ENGINE)
};

/*
 * Serve indexes that are found from now on without optional functions: for
 * tests.
 */
bool wort_engine_mandatory;

static struct wort_engine mandatory[ARRAY_SIZE(engines)];

/* An engine with its mandatory functions only.  Each call stores the same. */
static const struct wort_engine *
without_optional(const struct wort_engine *engine)
{
	struct wort_engine *copy = &mandatory[wort_engine_nr(engine)];

	*copy = *engine;
	copy->volatile_ops = NULL;
	copy->batch_ops = NULL;
	copy->fast_ops = NULL;
	copy->prefetch_keys = NULL;
	copy->next_many = NULL;
	return copy;
}

static const struct wort_engine *served(const struct wort_engine *engine)
{
	return READ_ONCE(wort_engine_mandatory) ? without_optional(engine) :
						  engine;
}

static u64 attr_mask(const struct wort_attr *attr)
{
	return GENMASK_ULL(attr->bits - 1, 0);
}

/**
 * wort_attr_verify() - Verify an attribute word against the table of an engine
 * @table: Attributes of the engine; an entry without a name ends it.
 * @word: The word.
 * @name: Set to the name of the attribute that is out of range, or to NULL if
 *	the word has bits of no attribute.  Unchanged if the word is valid.
 *
 * Context: Any context.
 * Return: 0; -EINVAL.
 */
int wort_attr_verify(const struct wort_attr *table, u64 word, const char **name)
{
	u64 field, known = 0;

	for (; table->name; table++) {
		known |= attr_mask(table) << table->shift;
		field = word >> table->shift & attr_mask(table);
		/* 0 is the default, whatever the range. */
		if (field && (field * table->unit < table->min ||
			      field * table->unit > table->max)) {
			*name = table->name;
			return -EINVAL;
		}
	}
	if (!(word & ~known))
		return 0;
	*name = NULL;
	return -EINVAL;
}

/**
 * wort_engine_attrs() - The attributes of an engine
 * @id: Number as in a catalogue entry.
 *
 * Context: Any context.
 * Return: Its table, or NULL if there is no such engine.
 */
const struct wort_attr *wort_engine_attrs(u32 id)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(engines); i++)
		if (engines[i].engine->id == id)
			return engines[i].attrs;
	return NULL;
}

/**
 * wort_engine_for() - The engine that can serve an index
 * @id: Number as in a catalogue entry.
 * @attr: Attribute word of the index.
 *
 * A newer module may have given the engine an attribute, or a greater range, so
 * a word that is not valid here is no damage.
 *
 * Context: Any context.
 * Return: The engine, or NULL if it is unknown, or one of the attributes is.
 */
const struct wort_engine *wort_engine_for(u32 id, u64 attr)
{
	const struct wort_engine *engine = wort_engine_by_id(id);
	const char *name;

	if (!engine || wort_attr_verify(wort_engine_attrs(id), attr, &name))
		return NULL;
	return served(engine);
}

/**
 * wort_engine_served() - An engine as indexes get it now
 * @nr: Its number, as wort_engine_nr() has it.
 *
 * Context: Any context.
 * Return: The engine; while wort_engine_mandatory is set, without optional
 * functions.
 */
const struct wort_engine *wort_engine_served(u32 nr)
{
	return served(engines[nr].engine);
}

/**
 * wort_engine_by_id() - The engine with a number
 * @id: Number as in a catalogue entry.
 *
 * Context: Any context.
 * Return: The engine, or NULL if there is none.
 */
const struct wort_engine *wort_engine_by_id(u32 id)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(engines); i++)
		if (engines[i].engine->id == id)
			return engines[i].engine;
	return NULL;
}

/**
 * wort_engine_nth() - The engines, one after the other
 * @nr: Counts from 0.
 *
 * Context: Any context.
 * Return: The engine, or NULL if there are not so many.
 */
const struct wort_engine *wort_engine_nth(u32 nr)
{
	return nr < ARRAY_SIZE(engines) ? engines[nr].engine : NULL;
}

/**
 * wort_engine_nr() - The number of an engine among those of the module
 * @engine: The engine.
 *
 * Context: Any context.
 * Return: The argument with which wort_engine_nth() returns the engine.
 */
u32 wort_engine_nr(const struct wort_engine *engine)
{
	u32 i = 0;

	while (engines[i].engine->id != engine->id)
		i++;
	return i;
}

/**
 * wort_engine_cursor() - Memory for a cursor of any engine
 *
 * Context: May sleep.
 * Return: A cursor to be given to kvfree(), or NULL.
 */
struct wort_cursor *wort_engine_cursor(void)
{
	struct wort_cursor *cur;
	size_t size = 0;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(engines); i++)
		size = max(size, engines[i].engine->cursor_size);
	cur = kvmalloc(sizeof(*cur) + size, GFP_KERNEL | WORT_GFP_CALL);
	if (cur)
		cur->wanted = U32_MAX;
	return cur;
}

/**
 * wort_tree_enter() - Begin an operation of volatile_ops that reads or changes a tree
 * @tree: The tree.
 * @op: Uninitialised memory of the caller.
 *
 * The operation is a section of writers, so that no memory that it sees is
 * reused.  The root record stays where it is meanwhile.
 *
 * Context: May sleep, in no section.
 * Return: For wort_tree_exit().
 */
int wort_tree_enter(struct wort_tree *tree, struct wort_op *op)
{
	int section;

	down_read(&tree->locks->roots);
	section = srcu_read_lock(&tree->locks->writers);
	/* Sparse cannot follow a section into another function. */
	__release(&tree->locks->writers);
	wort_op_begin(op, tree->region, tree->alloc);
	op->locks = tree->locks;
	op->time = wort_locks_now(tree->locks);
	return section;
}

/**
 * wort_tree_exit() - End such an operation
 * @tree: The tree.
 * @op: The operation, which holds no lock.
 * @section: The result of wort_tree_enter().
 *
 * Context: May sleep.
 */
void wort_tree_exit(struct wort_tree *tree, struct wort_op *op, int section)
{
	wort_op_end(op);
	__acquire(&tree->locks->writers);
	srcu_read_unlock(&tree->locks->writers, section);
	up_read(&tree->locks->roots);
}
