// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of core, engine and pool: the list, and who runs it.
 *
 *	unit [-s] [-a] [-l] [-e EXTENT] [-r SEED] [NAME...]
 *
 * Without names: all tests, -s: those that fill large pools, -a: both.
 */
#include <getopt.h>
#include <time.h>
#include <unistd.h>

#include <linux/printk.h>

#include "tests.h"
#include "unit.h"

#define TEST(name)	{ #name, check_##name }
#define SLOW(name)	{ #name, check_##name, .slow = true }	/* fills large pools */
/* It is about an optional function of an engine. */
#define OPTIONAL(name)	{ #name, check_##name, .optional = true }

static const struct test {
	const char *name;
	void (*run)(void);
	bool slow;
	bool optional;
} tests[] = {
	TEST(alloc_classes),
	TEST(alloc_leaf_lines),
	TEST(alloc_reserve),
	TEST(alloc_reuse),
	TEST(alloc_cache),
	TEST(alloc_leak),
	TEST(alloc_walking),
	TEST(alloc_keep),
	TEST(alloc_keep_begin),
	TEST(alloc_keep_check),
	TEST(alloc_runs),
	TEST(walk_steps),
	TEST(walk_check),
	TEST(walk_section),
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
	TEST(keys_limits),
	TEST(keys_digits),
	TEST(keys_fill),
	TEST(keys_chain),
	TEST(keys_long_prefix),
	TEST(keys_skipped_digits),
	OPTIONAL(top_shapes),
	OPTIONAL(top_lookups),
	OPTIONAL(top_in_flight),
	OPTIONAL(top_growth),
	OPTIONAL(top_moves),
	OPTIONAL(top_none),
	OPTIONAL(top_window),
	OPTIONAL(top_skips),
	TEST(values_sizes),
	TEST(values_change),
	TEST(values_expect),
	TEST(values_fetch),
	TEST(values_buffer),
	TEST(reader_asks),
	TEST(reader_generation),
	TEST(reader_destroyed),
	TEST(random_ops),
	TEST(random_small_pool),
	TEST(random_reattach),
	TEST(cursor_seek),
	TEST(cursor_pages),
	TEST(cursor_prefix),
	TEST(cursor_limits),
	TEST(cursor_count),
	TEST(cursor_lengths),
	TEST(batch_rules),
	TEST(powercut_lines),
	TEST(powercut_fences),
	TEST(powercut_pool),
	TEST(grow_nomem),
	TEST(grow_sizes),
	TEST(grow_little),
	TEST(grow_powercut),
	TEST(copies_attach),
	TEST(copies_check),
	TEST(copies_foreign),
	TEST(copies_behind),
	TEST(copies_larger),
	TEST(copies_ids),
	TEST(copies_generation),
	TEST(copies_grown),
	TEST(copies_stray),
	TEST(copies_unchanged),
	TEST(unknown_open),
	TEST(unknown_check),
	TEST(unknown_space),
	TEST(unknown_again),
	TEST(need),
	TEST(attr_verify),
	OPTIONAL(attr_engines),
	TEST(attr_open),
	TEST(pool_format),
	TEST(pool_format_over),
	TEST(pool_attach_reads),
	TEST(pool_info),
	TEST(pool_names),
	TEST(pool_many_indexes),
	TEST(pool_id_order),
	TEST(pool_stale),
	TEST(pool_fatal_signal),
	TEST(pool_slots),
	TEST(pool_destroy_walk),
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
	TEST(nomem_put),
	TEST(nomem_remove),
	TEST(nomem_scan),
	TEST(nomem_batch),
	TEST(nomem_destroy),
	TEST(nomem_check),
	TEST(nomem_walk),
	TEST(hostile_superblock),
	TEST(hostile_geometry),
	TEST(hostile_features),
	TEST(hostile_table),
	TEST(hostile_table_clear),
	TEST(hostile_catalogue),
	TEST(hostile_catalogue_clear),
	TEST(hostile_catalogue_next),
	TEST(hostile_tree),
	TEST(hostile_owners),
	TEST(hostile_commit),
	TEST(hostile_flips),
	TEST(hostile_table_in_run),
	TEST(hostile_table_zeroed),
	TEST(hostile_table_zeroed_cut),
	TEST(bad_pages_ranges),
	TEST(bad_pages_read),
	TEST(bad_pages_value),
	TEST(bad_pages_drop),
	OPTIONAL(bad_pages_drop_top),
	TEST(bad_pages_drop_cut),
	TEST(bad_pages_catalogue),
	TEST(bad_pages_catalogue_cut),
	TEST(bad_pages_poison),
	TEST(bad_pages_write),
	TEST(bad_pages_table),
	TEST(bad_pages_guess),
	TEST(bad_pages_superblock),
	TEST(bad_pages_later),
	TEST(bad_pages_later_poison),
	TEST(reserve_full),
	TEST(reserve_slots),
	TEST(reserve_walking),
	TEST(reserve_waits),
	TEST(reserve_random),
	TEST(zero_slots),
	TEST(zero_counts),
	TEST(zero_shared),
	TEST(zero_walk),
	TEST(zero_cut),
	TEST(zero_cut_anywhere),
	TEST(zero_mapped),
	TEST(zero_grace),
	TEST(zero_random),
	TEST(parts_cells),
	TEST(parts_waited_for),
	TEST(parts_must),
	TEST(heads_refused),
	TEST(heads_foreign),
	TEST(heads_bad_page),
	TEST(heads_format_cut),
	TEST(golden),
	TEST(golden_older),
	TEST(counts_insert),
	TEST(counts_update),
	TEST(counts_delete),
	TEST(counts_read),
	TEST(counts_seek),
	TEST(counts_off),
	TEST(counts_in_flight),
	OPTIONAL(counts_batch),
	TEST(counts_closed),
	SLOW(counts_insert_million),
};

/* A test that takes longer hangs. */
#define TEST_SECONDS	300
#define FAILURES_SHOWN	10

u64 unit_seed = 1;
u32 unit_extent;

static unsigned long nr_checks, nr_passed, nr_failed_here;

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

static void run(const struct test *test)
{
	unsigned long checks = nr_checks;
	double start = now();
	long live = shim_alloc_live;

	nr_failed_here = 0;
	alarm(TEST_SECONDS);
	test->run();
	alarm(0);
	CHECK_EQ(shim_alloc_live, live);
	CHECK(!shim_run_work());
	printf("%-24s %8.2f s %9lu checks%s\n", test->name, now() - start,
	       nr_checks - checks, nr_failed_here ? "  FAILED" : "");
	fflush(stdout);
}

static bool wanted(const struct test *test, char **names)
{
	for (; *names; names++)
		if (!strcmp(*names, test->name))
			return true;
	return false;
}

static void list(void)
{
	const struct test *test;

	for (test = tests; test < tests + ARRAY_SIZE(tests); test++)
		printf("%s%s\n", test->name, test->slow ? " (slow)" : "");
	exit(0);
}

int main(int argc, char **argv)
{
	bool slow = false, all = false;
	const char *golden = NULL;
	const struct test *test;
	unsigned int nr = 0;
	int opt;

	shim_log_quiet = true;
	while ((opt = getopt(argc, argv, "salme:g:r:v")) != -1) {
		if (opt == 's')
			slow = true;
		else if (opt == 'a')
			all = true;
		else if (opt == 'l')
			list();
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
		else
			die("usage: %s [-salmv] [-e EXTENT] [-g FILE] [-r SEED] [NAME...]",
			    argv[0]);
	}
	if (golden) {
		golden_write(golden);
		return 0;
	}
	if (!unit_seed)
		die("the seed cannot be 0");
	for (test = tests; test < tests + ARRAY_SIZE(tests); test++) {
		if (optind < argc ? !wanted(test, argv + optind) :
		    (!all && test->slow != slow) ||
		    (test->optional && wort_engine_mandatory))
			continue;
		run(test);
		nr++;
	}
	if (nr < (unsigned int)(argc - optind))
		die("no such test");
	printf("%lu of %lu checks passed\n", nr_passed, nr_checks);
	return nr_passed != nr_checks;
}
