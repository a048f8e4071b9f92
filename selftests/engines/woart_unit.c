// SPDX-License-Identifier: GPL-2.0-only
/*
 * WOART in the unit tests.
 */
#include "art_tests.h"

static const struct test tests[] = { ART_TESTS };

/*
 * An insert writes a record and a line, or a node of up to 32 lines.  A delete clears a
 * word; one that shrinks a node writes a smaller one.
 */
const struct engine_unit engine_unit_woart = {
	.probe = &art_probe,
	.records = U32_MAX,
	.nodes = 8,
	.leaves = 1,
	.insert = { .fences = { 2, 2 }, .lines = { 2, 34 }, .stores = { 4, 400 } },
	.update = { .fences = { 1, 1 }, .lines = { 1, 1 }, .stores = { 1, 1 } },
	.delete = { .fences = { 1, 2 }, .lines = { 1, 17 }, .stores = { 1, 200 } },
	.lines_many = { 225, 246, 246 },
	.lines_million = { 225, 249, 247 },
	.drops = 8,
	.spared = 1,
	.verify = art_top_verify,
	.verified = 100,
	.golden = "v4-woart.txt",
	.tests = tests,
	.nr_tests = ARRAY_SIZE(tests),
};
