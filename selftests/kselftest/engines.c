// SPDX-License-Identifier: GPL-2.0-only
/*
 * engines [mappable]: names of the engines that the module has, all or those that can be
 * mapped, the default first; for run_all.sh.  Fails if the module lacks one that is not only
 * for tests.
 */
#include "wort_test.h"

static bool module_has(struct pool *pool, const struct engine_row *engine)
{
	int fd = open_index_with(pool->fd, engine->name,
				 WORT_INDEX_OPEN_F_CREATE, engine->id, 0);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int main(int argc, char **argv __attribute__((unused)))
{
	__u32 needs = argc > 1 ? WORT_TRAIT_MAPPABLE : 0;
	const struct engine_row *engine;
	struct pool pool = { .fd = -1 };
	int status = 0;

	if (pool_up(&pool))
		return 4;
	for (engine = engine_rows; engine->name; engine++) {
		if (needs & ~engine->traits)
			continue;
		if (module_has(&pool, engine)) {
			printf("%s\n", engine->name);
		} else if (!engine_is_for_tests(engine->id)) {
			fprintf(stderr, "# the module lacks the engine %s\n", engine->name);
			status = 1;
		}
	}
	pool_down(&pool);
	return status;
}
