// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of core, engines and pool: the lists, and how they are run.
 *
 *	unit [-s] [-a] [-l] [-m] [-e EXTENT] [-r SEED] [PATTERN...]
 *
 * Without patterns: all tests, -s: those that fill large pools, -a: both; -m: without
 * the optional functions of engines.  A pattern is one of the shell, as in 'wort.*' or
 * '*.random_*'; the name of a test of engines without that of an engine stands for the
 * test of each of them.
 */
#include <fnmatch.h>
#include <getopt.h>
#include <time.h>
#include <unistd.h>

#include <linux/printk.h>

#include "../engines/unit.h"
#include "tests.h"

#define TEST(name)	{ #name, check_##name }
#define SLOW(name)	{ #name, check_##name, .slow = true }	/* fills large pools */
/* It is about an optional group of functions of an engine. */
#define OPTIONAL(name)	{ #name, check_##name, .optional = true }
#define NEEDS(name, traits_)	{ #name, check_##name, .needs = traits_ }

/* Of core and pool: they run once, with the default engine. */
static const struct test pool_tests[] = {
	TEST(alloc_classes),
	TEST(alloc_leaf_lines),
	TEST(alloc_reserve),
	TEST(alloc_parts),
	TEST(alloc_reuse),
	TEST(alloc_cache),
	TEST(alloc_other_class),
	TEST(alloc_leak),
	TEST(alloc_walking),
	TEST(alloc_freed_unknown),
	TEST(alloc_refill),
	TEST(alloc_keep),
	TEST(alloc_keep_begin),
	TEST(alloc_walk_waits),
	TEST(alloc_mark_free),
	TEST(alloc_keep_check),
	TEST(alloc_opening),
	TEST(alloc_runs),
	TEST(atomic_cut_long),

	TEST(table_run),
	TEST(table_open),
	TEST(table_marks),
	TEST(table_early),
	TEST(table_loop),
	TEST(table_entry),
	TEST(table_guess),

	TEST(walk_steps),
	TEST(walk_check),
	TEST(walk_section),
	TEST(walk_generation),
	OPTIONAL(rebuild_first),
	OPTIONAL(rebuild_fails),
	OPTIONAL(rebuild_damage),
	OPTIONAL(rebuild_walk),
	OPTIONAL(rebuild_between),
	OPTIONAL(rebuild_rounds),
	OPTIONAL(rebuild_room),
	OPTIONAL(rebuild_shared_room),
	TEST(lock_try),
	TEST(lock_sequence),
	TEST(lock_read),
	TEST(check_beside),
	TEST(check_beside_leak),
	TEST(check_reopen),
	TEST(check_ends),
	TEST(check_alone),
	OPTIONAL(check_table),
	SLOW(large_pools),
	SLOW(large_table),
	TEST(alloc_random),
	TEST(alloc_table_once),
	TEST(cursor_lengths),
	TEST(batch_rules),
	TEST(powercut_lines),
	TEST(powercut_fences),
	TEST(powercut_order),
	TEST(powercut_seeds),
	TEST(powercut_pool),
	TEST(grow_nomem),
	TEST(grow_sizes),
	TEST(grow_little),
	TEST(grow_powercut),
	TEST(grow_bad_pages),
	TEST(copies_attach),
	TEST(copies_check),
	TEST(copies_foreign),
	TEST(copies_behind),
	TEST(copies_larger),
	TEST(copies_ids),
	TEST(copies_ids_cut),
	TEST(copies_generation),
	TEST(copies_grown),
	TEST(copies_stray),
	TEST(copies_unchanged),
	TEST(copies_restored),
	TEST(unknown_open),
	TEST(unknown_check),
	TEST(unknown_space),
	TEST(unknown_again),
	TEST(unknown_unread),
	TEST(attr_verify),
	OPTIONAL(attr_engines),
	TEST(attr_open),
	TEST(pool_format),
	TEST(pool_format_over),
	TEST(pool_attach_reads),
	TEST(pool_info),
	TEST(pool_names),
	TEST(pool_rename),
	TEST(pool_rename_refused),
	TEST(pool_rename_full),
	TEST(pool_counted),
	TEST(pool_owned),
	TEST(pool_alone),
	TEST(pool_many_indexes),
	TEST(pool_id_order),
	TEST(pool_stale),
	TEST(pool_locked_killed),
	TEST(pool_fatal_signal),
	TEST(pool_slots),
	TEST(pool_destroy_walk),
	TEST(pool_never_due),
	TEST(pool_detach_quiet),
	TEST(pool_superblock_turns),
	TEST(pool_notify),
	TEST(pool_notify_index),
	TEST(pool_read_only),
	TEST(pool_check_beside_destroy),
	TEST(full_small),
	TEST(full_values),
	TEST(full_destroy),
	TEST(full_after_attach),
	TEST(full_catalogue),
	SLOW(space_rounds),
	SLOW(space_aged),
	TEST(nomem_attach),
	TEST(nomem_create),
	TEST(nomem_destroy),
	TEST(hostile_superblock),
	TEST(hostile_geometry),
	TEST(hostile_features),
	TEST(hostile_table),
	TEST(hostile_table_clear),
	TEST(hostile_catalogue),
	TEST(hostile_catalogue_clear),
	TEST(hostile_catalogue_next),
	TEST(hostile_table_in_run),
	TEST(hostile_table_zeroed),
	TEST(hostile_table_zeroed_cut),
	TEST(bad_pages_ranges),
	TEST(bad_pages_catalogue),
	TEST(bad_pages_catalogue_cut),
	TEST(bad_pages_poison),
	TEST(bad_pages_table),
	TEST(bad_pages_superblock),
	TEST(reserve_full),
	TEST(reserve_slots),
	TEST(reserve_walking),
	TEST(reserve_waits),
	TEST(reserve_random),
	TEST(zero_slots),
	TEST(zero_counts),
	TEST(zero_words),
	TEST(zero_stats),
	TEST(zero_shared),
	TEST(zero_untaken),
	TEST(zero_walk),
	TEST(zero_cut),
	TEST(zero_cut_anywhere),
	TEST(zero_mapped),
	TEST(zero_grace),
	TEST(zero_random),
	TEST(parts_cells),
	TEST(parts_waited_for),
	TEST(parts_kick),
	TEST(purse_full),
	TEST(purse_beside),
	TEST(purse_returns),
	TEST(purse_memory),
	TEST(hold),
	TEST(waits),
	TEST(heads_damaged),
	TEST(heads_foreign),
	TEST(heads_bad_page),
	TEST(heads_format_cut),
	TEST(golden_older),
};

/* What every engine must pass, if it has the traits that the test needs. */
static const struct test engine_tests[] = {
	TEST(walk_steps),
	TEST(walk_check),
	TEST(walk_section),
	TEST(steps_begin_again),
	TEST(steps_fail),
	TEST(steps_answers),
	TEST(steps_need_space),
	TEST(keys_limits),
	TEST(keys_digits),
	TEST(keys_fill),
	TEST(keys_chain),
	TEST(keys_long_prefix),
	TEST(keys_skipped_digits),
	TEST(values_sizes),
	TEST(values_change),
	TEST(values_expect),
	TEST(values_fetch),
	TEST(values_buffer),
	NEEDS(reader_asks, WORT_TRAIT_MAPPABLE),
	NEEDS(reader_generation, WORT_TRAIT_MAPPABLE),
	NEEDS(reader_destroyed, WORT_TRAIT_MAPPABLE),
	NEEDS(reader_renamed, WORT_TRAIT_MAPPABLE),
	TEST(random_ops),
	TEST(random_small_pool),
	TEST(random_reattach),
	NEEDS(cursor_seek, WORT_TRAIT_ORDERED),
	NEEDS(cursor_again, WORT_TRAIT_ORDERED),
	NEEDS(cursor_pages, WORT_TRAIT_ORDERED),
	NEEDS(cursor_prefix, WORT_TRAIT_ORDERED),
	NEEDS(cursor_limits, WORT_TRAIT_ORDERED),
	NEEDS(cursor_count, WORT_TRAIT_ORDERED),
	NEEDS(kernel_scan_error, WORT_TRAIT_ORDERED),
	NEEDS(kernel_scan_value, WORT_TRAIT_ORDERED),
	NEEDS(kernel_count_error, WORT_TRAIT_ORDERED),
	TEST(kernel_lengths),
	TEST(batch_keys),
	NEEDS(need, WORT_TRAIT_BATCH_SHARED),
	TEST(alone),
	TEST(nomem_put),
	TEST(nomem_steps),
	TEST(nomem_remove),
	TEST(nomem_scan),
	TEST(nomem_batch),
	TEST(nomem_check),
	TEST(nomem_walk),
	TEST(hostile_words),
	TEST(hostile_flips),
	TEST(bad_pages_read),
	TEST(bad_pages_read_poison),
	TEST(bad_pages_drop),
	TEST(bad_pages_drop_cut),
	TEST(bad_pages_write),
	TEST(bad_pages_later),
	TEST(bad_pages_last_block),
	TEST(bad_pages_later_poison),
	TEST(space_queue),
	TEST(space_refill),
	TEST(golden),
	TEST(counts_insert),
	TEST(counts_update),
	TEST(counts_delete),
	TEST(counts_read),
	TEST(counts_off),
	TEST(counts_closed),
	OPTIONAL(counts_refill),
	SLOW(counts_insert_million),
	TEST(atomic_rename),
	TEST(atomic_refused),
	TEST(atomic_order),
	TEST(atomic_reads),
	TEST(atomic_many),
	TEST(atomic_bytes),
	TEST(atomic_long),
	TEST(atomic_full),
	TEST(atomic_nomem),
	TEST(atomic_damaged),
	TEST(atomic_counts),
	TEST(atomic_cut),
	TEST(left_damage),
	TEST(left_damaged_index),
	TEST(left_no_space),
	TEST(left_settled),
	TEST(left_met_before),
	TEST(left_detach),
	TEST(left_killed),
	TEST(left_heads),
	TEST(left_lost_bad),
	TEST(left_gate),
	TEST(left_readonly),
	TEST(left_lost),
	TEST(left_unknown),
	TEST(left_destroyed),
	TEST(left_full),
	TEST(left_nomem),
	TEST(left_scan),
	TEST(left_scan_nomem),
	TEST(atomic_info),
	TEST(atomic_rest),
	TEST(atomic_left),
	TEST(atomic_shared_key),
	TEST(atomic_removed),
	TEST(atomic_misplaced),

	TEST(dirindex_rename),
	TEST(dirindex_rename_between),
	TEST(dirindex_move),
};

#define ENGINE_UNIT(symbol, ...)	&engine_unit_##symbol,

/* As test_engines[]. */
static const struct engine_unit *const engine_units[] = {
	WORT_ENGINES(ENGINE_UNIT)
};

struct subject subject;

/* A test that takes longer hangs. */
#define TEST_SECONDS	300
#define FAILURES_SHOWN	10

u64 unit_seed = 1;
u32 unit_extent;

static unsigned long nr_checks, nr_passed, nr_failed_here;

unsigned long check_failures(void)
{
	return nr_failed_here;
}

bool unit_check(bool good, const char *file, int line, const char *what,
		long long a, long long b)
{
	nr_checks++;
	nr_passed += good;
	if (!good && nr_failed_here++ < FAILURES_SHOWN)
		printf("%s:%d: %s: %lld, %lld (%#llx, %#llx)\n", file, line,
		       what, a, b, a, b);
	return good;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/*
 * A test by its full name: that of the engine, its attribute word if it is not 0, and
 * that of the test.
 */
struct named {
	const struct test *test;
	struct subject subject;
	char name[80];
};

static struct named *list;
static unsigned int nr_list;

static void list_test(const struct test *test, const struct subject *of,
		      const char *prefix)
{
	struct named *named;

	list = realloc(list, (nr_list + 1) * sizeof(*list));
	named = &list[nr_list++];
	named->test = test;
	named->subject = *of;
	snprintf(named->name, sizeof(named->name), "%s%s", prefix, test->name);
}

static void list_engine(const struct subject *of)
{
	const struct test_engine *engine = of->engine;
	const struct engine_unit *unit = of->unit;
	char prefix[40];
	unsigned int i;

	if (of->attr)
		snprintf(prefix, sizeof(prefix), "%s:%#llx.", engine->name,
			 (unsigned long long)of->attr);
	else
		snprintf(prefix, sizeof(prefix), "%s.", engine->name);
	for (i = 0; i < ARRAY_SIZE(engine_tests); i++)
		if (!(engine_tests[i].needs & ~engine->traits))
			list_test(&engine_tests[i], of, prefix);
	for (i = 0; i < unit->nr_tests; i++)
		list_test(&unit->tests[i], of, prefix);
}

static void list_tests(void)
{
	struct subject of = { &test_engines[0], engine_units[0], 0 };
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(pool_tests); i++)
		list_test(&pool_tests[i], &of, "");
	for (i = 0; i < TEST_ENGINES_NR; i++)
		for (k = 0; k < test_engines[i].nr_attrs; k++) {
			of.engine = &test_engines[i];
			of.unit = engine_units[i];
			of.attr = test_engines[i].attrs[k];
			list_engine(&of);
		}
}

/* Indexes of a test of core or pool have the default engine, which is not named. */
static void set_subject(const struct named *named)
{
	bool of_engine = named->name[0] != named->test->name[0] ||
			 strcmp(named->name, named->test->name);

	subject = named->subject;
	pmpool_engine = of_engine ? subject.engine->id : WORT_ENGINE_DEFAULT;
	pmpool_attr = subject.attr;
}

static void run(const struct named *named)
{
	unsigned long checks = nr_checks;
	double start = now();
	long live = shim_alloc_live;

	nr_failed_here = 0;
	set_subject(named);
	alarm(TEST_SECONDS);
	named->test->run();
	alarm(0);
	CHECK_EQ(shim_alloc_live, live);
	CHECK(!shim_run_work());
	printf("%-28s %8.2f s %9lu checks%s\n", named->name, now() - start,
	       nr_checks - checks, nr_failed_here ? "  FAILED" : "");
	fflush(stdout);
}

static bool matches(const struct named *named, const char *pattern)
{
	return !fnmatch(pattern, named->name, 0) ||
	       !strcmp(pattern, named->test->name);
}

static bool wanted(const struct named *named, char **patterns)
{
	for (; *patterns; patterns++)
		if (matches(named, *patterns))
			return true;
	return false;
}

static void verify_pattern(const char *pattern)
{
	unsigned int i;

	for (i = 0; i < nr_list && !matches(&list[i], pattern); i++)
		;
	if (i == nr_list)
		die("no such test: %s", pattern);
}

static void print_list(void)
{
	unsigned int i;

	for (i = 0; i < nr_list; i++)
		printf("%s%s\n", list[i].name,
		       list[i].test->slow ? " (slow)" : "");
	exit(0);
}

/* An image of an engine, by its name; of the default engine without one. */
static void write_golden(const char *path, const char *name)
{
	const struct test_engine *engine = name ? test_engine_named(name) :
						  &test_engines[0];

	if (!engine)
		die("no such engine: %s", name);
	subject.engine = engine;
	subject.unit = engine_units[engine - test_engines];
	pmpool_engine = engine->id;
	golden_write(path);
	exit(0);
}

/* Tests allocate much and often: with little in quarantine the same memory serves again. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "quarantine_size_mb=8";
}

static bool told;

/* What ends the program before it has told how many have passed has failed. */
static void verify_told(void)
{
	if (told)
		return;
	fflush(NULL);
	_exit(1);
}

int main(int argc, char **argv)
{
	const char *golden = NULL, *without = NULL;
	bool slow = false, all = false;
	static const struct option options[] = {
		{ "list", 0, NULL, 'l' }, { }
	};
	unsigned int i;
	int opt;

	shim_log_quiet = true;
	list_tests();
	while ((opt = getopt_long(argc, argv, "salme:g:r:vx:", options,
				  NULL)) != -1) {
		if (opt == 's')
			slow = true;
		else if (opt == 'a')
			all = true;
		else if (opt == 'l')
			print_list();
		else if (opt == 'm')
			wort_engine_mandatory = true;
		else if (opt == 'e')
			unit_extent = strtoul(optarg, NULL, 0);
		else if (opt == 'g')
			golden = optarg;
		else if (opt == 'r')
			unit_seed = strtoull(optarg, NULL, 0);
		else if (opt == 'v')
			shim_log_quiet = false;
		else if (opt == 'x')
			without = optarg;
		else
			die("usage: %s [-salmv] [-e EXTENT] [-g FILE] [-r SEED] [-x PATTERN] [PATTERN...]",
			    argv[0]);
	}
	if (golden)
		write_golden(golden, argv[optind]);
	if (!unit_seed)
		die("the seed cannot be 0");
	for (i = optind; i < argc; i++)
		verify_pattern(argv[i]);
	if (without)
		verify_pattern(without);
	atexit(verify_told);
	for (i = 0; i < nr_list; i++)
		if (!(list[i].test->optional && wort_engine_mandatory) &&
		    !(without && matches(&list[i], without)) &&
		    (optind < argc ? wanted(&list[i], argv + optind) :
		     all || list[i].test->slow == slow))
			run(&list[i]);
	printf("%lu of %lu checks passed\n", nr_passed, nr_checks);
	told = true;
	/* All that were named may be such as this program leaves out. */
	return !nr_checks || nr_passed != nr_checks;
}
