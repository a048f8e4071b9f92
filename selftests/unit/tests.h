/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every test there is, by the file that holds it.
 */
#ifndef _WORT_TEST_TESTS_H
#define _WORT_TEST_TESTS_H

/* test_alloc.c */
void check_alloc_classes(void);
void check_alloc_leaf_lines(void);
void check_alloc_reserve(void);
void check_alloc_parts(void);
void check_alloc_reuse(void);
void check_alloc_cache(void);
void check_alloc_other_class(void);
void check_alloc_leak(void);
void check_alloc_walking(void);
void check_alloc_freed_unknown(void);
void check_alloc_refill(void);
void check_alloc_keep(void);
void check_alloc_keep_begin(void);
void check_alloc_walk_waits(void);
void check_alloc_mark_free(void);
void check_alloc_keep_check(void);
void check_alloc_opening(void);
void check_alloc_runs(void);
void check_check_beside(void);
void check_check_beside_leak(void);
void check_check_reopen(void);
void check_check_ends(void);
void check_check_alone(void);
void check_check_table(void);
void check_large_pools(void);
void check_large_table(void);
void check_alloc_random(void);
void check_alloc_table_once(void);

/* test_keys.c */
void check_keys_limits(void);
void check_keys_digits(void);
void check_keys_fill(void);
void check_keys_chain(void);
void check_keys_long_prefix(void);
void check_keys_skipped_digits(void);

/* test_values.c */
void check_values_sizes(void);
void check_values_change(void);
void check_values_expect(void);
void check_values_fetch(void);
void check_values_buffer(void);

/* test_random.c */
void check_random_ops(void);
void check_random_small_pool(void);
void check_random_reattach(void);

/* test_cursor.c */
void check_cursor_seek(void);
void check_cursor_again(void);
void check_cursor_pages(void);
void check_cursor_prefix(void);
void check_cursor_limits(void);
void check_cursor_count(void);
void check_cursor_lengths(void);
void check_batch_rules(void);

/* test_batch.c */
void check_batch_keys(void);

/* test_pool.c */
void check_powercut_lines(void);
void check_powercut_fences(void);
void check_powercut_order(void);
void check_powercut_seeds(void);
void check_powercut_pool(void);
void check_grow_nomem(void);
void check_grow_sizes(void);
void check_grow_little(void);
void check_grow_powercut(void);
void check_grow_bad_pages(void);
void check_copies_attach(void);
void check_copies_check(void);
void check_copies_foreign(void);
void check_copies_behind(void);
void check_copies_larger(void);
void check_copies_ids(void);
void check_copies_ids_cut(void);
void check_copies_generation(void);
void check_copies_grown(void);
void check_copies_stray(void);
void check_copies_unchanged(void);
void check_copies_restored(void);
void check_unknown_open(void);
void check_unknown_check(void);
void check_unknown_space(void);
void check_unknown_again(void);
void check_unknown_unread(void);
void check_need(void);
void check_alone(void);
void check_attr_verify(void);
void check_attr_engines(void);
void check_attr_open(void);

void check_pool_format(void);
void check_pool_format_over(void);
void check_pool_attach_reads(void);
void check_pool_info(void);
void check_pool_names(void);
void check_pool_rename(void);
void check_pool_rename_refused(void);
void check_pool_rename_full(void);
void check_pool_counted(void);
void check_pool_owned(void);
void check_pool_alone(void);
void check_pool_many_indexes(void);
void check_pool_id_order(void);
void check_pool_stale(void);
void check_pool_locked_killed(void);
void check_pool_fatal_signal(void);
void check_pool_slots(void);
void check_pool_destroy_walk(void);
void check_pool_never_due(void);
void check_pool_detach_quiet(void);
void check_pool_superblock_turns(void);
void check_pool_notify(void);
void check_pool_notify_index(void);
void check_pool_read_only(void);
void check_pool_check_beside_destroy(void);

/* test_space.c */
void check_full_small(void);
void check_full_values(void);
void check_full_destroy(void);
void check_full_after_attach(void);
void check_full_catalogue(void);
void check_space_rounds(void);
void check_space_aged(void);
void check_space_queue(void);
void check_space_refill(void);

/* test_nomem.c */
void check_nomem_attach(void);
void check_nomem_create(void);
void check_nomem_put(void);
void check_nomem_steps(void);
void check_nomem_remove(void);
void check_nomem_scan(void);
void check_nomem_batch(void);
void check_nomem_destroy(void);
void check_nomem_check(void);
void check_nomem_walk(void);

/* test_hostile.c */
void check_hostile_superblock(void);
void check_hostile_geometry(void);
void check_hostile_features(void);
void check_hostile_table(void);
void check_hostile_table_clear(void);
void check_hostile_catalogue(void);
void check_hostile_catalogue_clear(void);
void check_hostile_catalogue_next(void);

/* test_hostile_words.c */
void check_hostile_words(void);
void check_hostile_flips(void);

/* test_bad_pages.c */
void check_hostile_table_in_run(void);
void check_hostile_table_zeroed(void);
void check_hostile_table_zeroed_cut(void);
void check_bad_pages_ranges(void);
void check_bad_pages_read(void);
void check_bad_pages_read_poison(void);
void check_bad_pages_drop(void);
void check_bad_pages_drop_cut(void);
void check_bad_pages_catalogue(void);
void check_bad_pages_catalogue_cut(void);
void check_bad_pages_poison(void);
void check_bad_pages_write(void);
void check_bad_pages_table(void);
void check_bad_pages_superblock(void);
void check_bad_pages_later(void);
void check_bad_pages_last_block(void);
void check_bad_pages_later_poison(void);

/* test_reserve.c */
void check_reserve_full(void);
void check_reserve_slots(void);
void check_reserve_walking(void);
void check_reserve_waits(void);
void check_reserve_random(void);

/* test_zero.c */
void check_zero_slots(void);
void check_zero_counts(void);
void check_zero_words(void);
void check_zero_stats(void);
void check_zero_shared(void);
void check_zero_untaken(void);
void check_zero_walk(void);
void check_zero_cut(void);
void check_zero_cut_anywhere(void);
void check_zero_mapped(void);
void check_zero_grace(void);
void check_zero_random(void);

/* test_parts.c */
void check_parts_cells(void);
void check_parts_waited_for(void);
void check_parts_kick(void);

/* test_atomic.c */
void check_atomic_rename(void);
void check_atomic_refused(void);
void check_atomic_order(void);
void check_atomic_reads(void);
void check_atomic_many(void);
void check_atomic_bytes(void);
void check_atomic_long(void);
void check_atomic_full(void);
void check_atomic_nomem(void);
void check_atomic_damaged(void);
void check_atomic_counts(void);
void check_table_run(void);
void check_table_open(void);
void check_table_marks(void);
void check_table_early(void);
void check_table_loop(void);
void check_table_entry(void);
void check_table_guess(void);
void check_atomic_cut(void);
void check_atomic_cut_long(void);
void check_atomic_info(void);
void check_atomic_rest(void);
void check_atomic_left(void);
void check_atomic_shared_key(void);

void check_dirindex_rename(void);
void check_dirindex_rename_between(void);
void check_dirindex_move(void);
void check_atomic_removed(void);
void check_atomic_misplaced(void);

/* test_kernel_api.c */
void check_kernel_scan_error(void);
void check_kernel_scan_value(void);
void check_kernel_count_error(void);
void check_kernel_lengths(void);

/* test_left.c */
void check_left_damage(void);
void check_left_damaged_index(void);
void check_left_no_space(void);
void check_left_settled(void);
void check_left_met_before(void);
void check_left_detach(void);
void check_left_killed(void);
void check_left_heads(void);
void check_left_lost_bad(void);
void check_left_gate(void);
void check_left_readonly(void);
void check_left_lost(void);
void check_left_unknown(void);
void check_left_destroyed(void);
void check_left_full(void);
void check_left_nomem(void);
void check_left_scan(void);
void check_left_scan_nomem(void);

/* test_purse.c */
void check_purse_full(void);
void check_purse_beside(void);
void check_purse_returns(void);
void check_purse_memory(void);

/* test_heads.c */
void check_hold(void);

/* test_waits.c */
void check_waits(void);
void check_heads_damaged(void);
void check_heads_foreign(void);
void check_heads_bad_page(void);
void check_heads_format_cut(void);

/* test_golden.c */
void check_golden(void);
void check_golden_older(void);
void golden_write(const char *path);

/* test_reader.c */
void check_reader_asks(void);
void check_reader_generation(void);
void check_reader_destroyed(void);
void check_reader_renamed(void);

/* test_counts.c */
void check_counts_insert(void);
void check_counts_update(void);
void check_counts_delete(void);
void check_counts_read(void);
void check_counts_off(void);
void check_counts_closed(void);
void check_counts_refill(void);
void check_counts_insert_million(void);

/* test_lock.c */
void check_rebuild_first(void);
void check_rebuild_fails(void);
void check_rebuild_damage(void);
void check_rebuild_walk(void);
void check_rebuild_between(void);
void check_rebuild_rounds(void);
void check_rebuild_room(void);
void check_rebuild_shared_room(void);
void check_lock_try(void);
void check_lock_sequence(void);
void check_lock_read(void);

/* test_steps.c */
void check_steps_begin_again(void);
void check_steps_fail(void);
void check_steps_answers(void);
void check_steps_need_space(void);

/* test_walk.c */
void check_walk_steps(void);
void check_walk_check(void);
void check_walk_section(void);
void check_walk_generation(void);

#endif /* _WORT_TEST_TESTS_H */
