// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attributes of an engine: texts of them, words of them, and the tables of the
 * library.  No engine has an attribute of each kind, so a table is made up.
 */
#include <errno.h>
#include <stdio.h>

#include <linux/wort_engines.h>

#include "../lib/internal.h"

#define ATTR(name_, shift_, bits_, unit_, min_, max_, def_, values_)	\
	{ .name = name_, .values = values_, .min = min_, .max = max_,	\
	  .def = def_, .unit = unit_, .shift = shift_, .bits = bits_ },

static const struct wort_attr made_up[] = {
	WORT_ATTR_KEY(ATTR)
	WORT_ATTR_VALUE(ATTR)
	WORT_ATTR_NODE(ATTR, 256, 4096, 512)
	ATTR("fill", 32, 4, 1, 5, 9, 7, NULL)
	ATTR("split", 60, 4, 1, 1, 3, 2, "left middle right")
	{ }
};

static int failures;

#define EXPECT(want, got)						\
	do {								\
		unsigned long long want_ = (want), got_ = (got);	\
									\
		if (want_ != got_) {					\
			printf("attributes.c:%d: %s is %#llx, not %#llx\n",	\
			       __LINE__, #got, got_, want_);		\
			failures++;					\
		}							\
	} while (0)

/* The word must stay as it was if the text is refused. */
static void refused(const char *text, int err)
{
	uint64_t word = 0x123;

	EXPECT((long long)err, (long long)wort_attr_set_in(made_up, text, &word));
	EXPECT(0x123, word);
}

static uint64_t word_of(const char *const *texts)
{
	uint64_t word = 0;

	for (; *texts; texts++)
		EXPECT(0, wort_attr_set_in(made_up, *texts, &word));
	return word;
}

#define WORD(...)	word_of((const char *const[]){ __VA_ARGS__, NULL })

static void texts(void)
{
	EXPECT(0x1, WORD("key=fixed8"));
	EXPECT(0, WORD("key=any"));
	EXPECT(0, WORD("key=fixed8", "key=any"));
	EXPECT(0x11, WORD("value=fixed8", "key=fixed8"));
	EXPECT(0x4000, WORD("node=1024"));
	EXPECT(0x1000, WORD("node=256"));
	EXPECT(0x10000, WORD("node=4096"));
	EXPECT(0, WORD("node=512"));
	EXPECT(5ULL << 32, WORD("fill=5"));
	EXPECT(3ULL << 60, WORD("split=right"));
	EXPECT(1ULL << 60 | 9ULL << 32 | 0x2101,
	       WORD("split=left", "fill=9", "node=528", "key=fixed8"));
}

static void refusals(void)
{
	refused("", -EINVAL);
	refused("=", -EINVAL);
	refused("=1", -EINVAL);
	refused("node", -EINVAL);
	refused("node=", -EINVAL);
	refused("node=x", -EINVAL);
	refused("node=-256", -EINVAL);
	refused("node= 256", -EINVAL);
	refused("node=256k", -EINVAL);
	refused("nod=256", -ENOENT);
	refused("nodes=256", -ENOENT);
	refused("node=0", -ERANGE);
	refused("node=240", -ERANGE);
	refused("node=4112", -ERANGE);
	refused("node=520", -ERANGE);
	refused("node=18446744073709551616", -ERANGE);
	refused("node=18446744073709551600", -ERANGE);
	refused("fill=4", -ERANGE);
	refused("fill=10", -ERANGE);
	refused("key=", -ERANGE);
	refused("key=fixed", -ERANGE);
	refused("key=fixed8 ", -ERANGE);
	refused("key=any fixed8", -ERANGE);
	refused("key=1", -ERANGE);
}

static void values(void)
{
	uint64_t word = WORD("split=left", "node=1024");

	EXPECT(0, wort_attr_get(&made_up[0], word));
	EXPECT(1024, wort_attr_get(&made_up[2], word));
	EXPECT(7, wort_attr_get(&made_up[3], word));
	EXPECT(1, wort_attr_get(&made_up[4], word));
	EXPECT(512, wort_attr_get(&made_up[2], 0));
}

/* What <linux/wort_engines.h> demands of a table. */
static void table_valid(const struct wort_attr *attr, uint64_t *used)
{
	uint64_t mask = (UINT64_MAX >> (64 - attr->bits)) << attr->shift;
	uint64_t nr = 1;
	const char *at;

	EXPECT(1, attr->bits > 0 && attr->bits <= 32 && attr->shift + attr->bits <= 64);
	EXPECT(0, *used & mask);
	*used |= mask;
	EXPECT(1, attr->min <= attr->def && attr->def <= attr->max);
	EXPECT(0, attr->min % attr->unit | attr->max % attr->unit |
	       attr->def % attr->unit);
	EXPECT(0, attr->max / attr->unit >> attr->bits);
	EXPECT(1, attr->min ? 1 : attr->def == 0);
	for (at = attr->values; at && (at = strchr(at, ' ')); at++)
		nr++;
	EXPECT(1, attr->values ? nr == attr->max - attr->min + 1 : 1);
}

static void tables(void)
{
	const struct wort_engine *engine;
	const struct wort_attr *attr;
	uint64_t used = 0, word = 0;
	unsigned int i, nr;

	for (attr = made_up; attr->name; attr++)
		table_valid(attr, &used);
	for (i = 0; (engine = wort_engine(i)); i++) {
		used = 0;
		EXPECT(1, engine->traits & WORT_TRAIT_ORDERED ? 1 : 0);
		for (nr = 0; (attr = wort_engine_attr(engine->id, nr)); nr++)
			table_valid(attr, &used);
	}
	EXPECT(1, i > 0);
	EXPECT(1, !wort_engine_attr(77, 0));
	EXPECT(-EOPNOTSUPP, wort_attr_set(77, "node=256", &word));
	EXPECT(-ENOENT, wort_attr_set(WORT_ENGINE_DEFAULT, "absent=256", &word));
	EXPECT(-ENOENT, wort_attr_set(wort_engine(0)->id, "absent=any", &word));
	EXPECT(0, word);
}

int main(void)
{
	texts();
	refusals();
	values();
	tables();
	return failures ? 1 : 0;
}
