// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attributes of engines.  No engine has one of each kind, so a table is made up.
 */
#include <string.h>

#include "../../kmod/engine/engine.h"
#include "image.h"

#define ATTR(name_, shift_, bits_, unit_, min_, max_, def_, values_)	\
	{ .name = name_, .shift = shift_, .bits = bits_, .unit = unit_,	\
	  .min = min_, .max = max_ },

static const struct wort_attr made_up[] = {
	WORT_ATTR_KEY(ATTR)
	WORT_ATTR_NODE(ATTR, 256, 4096, 512)
	ATTR("fill", 60, 4, 1, 5, 9, 7, NULL)
	{ }
};

static const struct wort_attr none[] = { { } };

static void valid(u64 word)
{
	const char *name = "unchanged";

	CHECK_EQ(wort_attr_verify(made_up, word, &name), 0);
	CHECK(!strcmp(name, "unchanged"));
}

/* @want: the name that is told, or NULL */
static void invalid(const struct wort_attr *table, u64 word, const char *want)
{
	const char *name = "unchanged";

	CHECK_EQ(wort_attr_verify(table, word, &name), -EINVAL);
	CHECK(want ? name && !strcmp(name, want) : !name);
}

void check_attr_verify(void)
{
	const char *name;

	valid(0);
	valid(1);
	valid(0x1000);
	valid(0x10001);
	valid(9ULL << 60 | 0x1001);
	valid(5ULL << 60);
	invalid(made_up, 2, "key");
	invalid(made_up, 0xf, "key");
	invalid(made_up, 0xf00, "node");
	invalid(made_up, 0x10100, "node");
	invalid(made_up, 0xfff00, "node");
	invalid(made_up, 4ULL << 60, "fill");
	invalid(made_up, 10ULL << 60, "fill");
	invalid(made_up, 0x10, NULL);
	invalid(made_up, 1ULL << 20, NULL);
	invalid(made_up, 1ULL << 59, NULL);
	invalid(none, 1, NULL);
	CHECK_EQ(wort_attr_verify(none, 0, &name), 0);
}

#define ENGINE(symbol, name_, id_, traits_)				\
	{ &wort_engine_##symbol, name_, id_, traits_ },

static const struct {
	const struct wort_engine *engine;
	const char *name;
	u32 id;
	u32 traits;
} engines[] = { WORT_ENGINES(ENGINE) };

/* Every engine has the name, the number and the traits that the table says. */
void check_attr_engines(void)
{
	const struct wort_engine *engine;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(engines); i++) {
		engine = engines[i].engine;
		CHECK(wort_engine_nth(i) == engine);
		CHECK(wort_engine_for(engines[i].id, 0) == engine);
		CHECK(!strcmp(engine->name, engines[i].name));
		CHECK_EQ(engine->id, engines[i].id);
		CHECK_EQ(engine->traits, engines[i].traits);
		CHECK_EQ(!!(engine->traits & WORT_TRAIT_BATCH_SHARED),
			 !!engine->batch_ops);
	}
	CHECK(!wort_engine_nth(i));
	CHECK(!wort_engine_attrs(WORT_ENGINE_DEFAULT));
	CHECK(!wort_engine_for(WORT_ENGINE_DEFAULT, 0));
}

static int open_with(const char *name, u32 flags, u64 attr)
{
	struct wort_index *index;
	int err = wort_index_open(image.pm.pool, (const u8 *)name, strlen(name),
				  flags, WORT_ENGINE_DEFAULT, attr, &index);

	if (!err)
		wort_index_put(index);
	return err;
}

/* An attribute of a newer module is no damage; the index is listed and not opened. */
void check_attr_open(void)
{
	struct wort_media_entry *entry;

	image_make();
	image_keep();
	pmpool_attach(&image.pm);
	CHECK_EQ(open_with("new", WORT_INDEX_OPEN_F_CREATE, 1ULL << 63), -EINVAL);
	CHECK_EQ(open_with("new", 0, 0), -ENOENT);
	CHECK_EQ(open_with("b", 0, 0), 0);
	CHECK_EQ(open_with("b", 0, 1ULL << 63), -EINVAL);
	CHECK_EQ(open_with("b", WORT_INDEX_OPEN_F_CREATE, 1ULL << 63), -EINVAL);
	pmpool_detach(&image.pm);

	entry = (void *)(image.mem + image_entry(1));
	entry->attr = cpu_to_le64(1ULL << 63);
	image_seal_entry(image_entry(1));
	pmpool_attach(&image.pm);
	CHECK(!image.pm.pool->damaged);
	CHECK(wort_pool_state(image.pm.pool) & WORT_STATE_UNKNOWN);
	CHECK_EQ(open_with("b", 0, 0), -EOPNOTSUPP);
	CHECK_EQ(open_with("a", 0, 0), 0);
	pmpool_detach(&image.pm);
	image_free();
}
