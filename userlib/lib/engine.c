// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Engines, their traits and attributes: the table of this library.
 */
#include <errno.h>
#include <stdlib.h>

#include <linux/wort_engines.h>

#include "internal.h"

#define ATTR(name_, shift_, bits_, unit_, min_, max_, def_, values_)	\
	{ .name = name_, .values = values_, .min = min_, .max = max_,	\
	  .def = def_, .unit = unit_, .shift = shift_, .bits = bits_ },
#define ENGINE(symbol, name_, id_, traits_)				\
	{ { .name = name_, .id = id_, .traits = traits_ },		\
	  { WORT_ATTRS_##symbol(ATTR) } },

/* An engine without a name is the end. */
static const struct row {
	struct wort_engine engine;
	struct wort_attr attrs[WORT_ATTRS_MAX + 1];
} rows[] = {
	WORT_ENGINES(ENGINE)
	{ }
};

WORT_API const struct wort_engine *wort_engine(unsigned int nr)
{
	const struct row *row = rows;

	for (; row->engine.name; row++)
		if (!nr--)
			return &row->engine;
	return NULL;
}

static const struct wort_attr *table_of(uint32_t id)
{
	const struct row *row = rows;

	if (id == WORT_ENGINE_DEFAULT)
		return row->attrs;
	for (; row->engine.name; row++)
		if (row->engine.id == id)
			return row->attrs;
	return NULL;
}

WORT_API const struct wort_attr *wort_engine_attr(uint32_t engine,
						  unsigned int nr)
{
	const struct wort_attr *attr = table_of(engine);

	for (; attr && attr->name; attr++)
		if (!nr--)
			return attr;
	return NULL;
}

/* A word of a list separated by spaces: its number, or -1. */
static int word_nr(const char *list, const char *word)
{
	size_t len = strlen(word), n;
	int nr;

	for (nr = 0; *list; nr++) {
		n = strcspn(list, " ");
		if (n == len && !memcmp(list, word, n))
			return nr;
		list += n + (list[n] == ' ');
	}
	return -1;
}

/* All of the text, or -EINVAL; -ERANGE for more than 64 bits. */
static int number(const char *text, uint64_t *val)
{
	char *end;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	*val = strtoull(text, &end, 10);
	return *end ? -EINVAL : -errno;
}

static int value_of(const struct wort_attr *attr, const char *text, uint64_t *val)
{
	int nr, err;

	if (attr->values) {
		nr = word_nr(attr->values, text);
		*val = attr->min + nr;
		return nr < 0 ? -ERANGE : 0;
	}
	err = number(text, val);
	if (err)
		return err;
	return *val < attr->min || *val > attr->max || *val % attr->unit ?
	       -ERANGE : 0;
}

static uint64_t mask_of(const struct wort_attr *attr)
{
	return (UINT64_MAX >> (64 - attr->bits)) << attr->shift;
}

int wort_attr_set_in(const struct wort_attr *table, const char *text,
		     uint64_t *word)
{
	size_t len = strcspn(text, "=");
	uint64_t val;
	int err;

	if (!len || !text[len])
		return -EINVAL;
	for (; table->name; table++)
		if (strlen(table->name) == len && !memcmp(table->name, text, len))
			break;
	if (!table->name)
		return -ENOENT;
	err = value_of(table, text + len + 1, &val);
	if (err)
		return err;
	/* One word for one meaning: the default is always 0. */
	val = val == table->def ? 0 : val / table->unit;
	*word = (*word & ~mask_of(table)) | val << table->shift;
	return 0;
}

WORT_API int wort_attr_set(uint32_t engine, const char *text, uint64_t *word)
{
	const struct wort_attr *table = table_of(engine);

	return table ? wort_attr_set_in(table, text, word) : -EOPNOTSUPP;
}

WORT_API uint64_t wort_attr_get(const struct wort_attr *attr, uint64_t word)
{
	uint64_t field = (word & mask_of(attr)) >> attr->shift;

	return field ? field * attr->unit : attr->def;
}
