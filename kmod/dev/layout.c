// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sizes and places that programs and media rely on.  The sum of the members is
 * the size of each struct: there are no holes, in which kernel memory would
 * leak or which 32-bit programs would lay out otherwise.
 */
#include <linux/build_bug.h>
#include <linux/stddef.h>
#include <linux/wort_format_art.h>
#include <linux/wort_format_wort.h>

#include "wort_dev.h"

#define LAYOUT(type, size, sum) do {					\
	const struct type *t __maybe_unused = NULL;			\
									\
	BUILD_BUG_ON(sizeof(*t) != (size));				\
	BUILD_BUG_ON(sizeof(*t) != (sum));				\
	BUILD_BUG_ON(sizeof(*t) % sizeof(u64));				\
} while (0)
#define M(member)	sizeof_field(typeof(*t), member)

/* A word that changes by one store lies on a multiple of its size. */
#define ATOMIC(type, member)						\
	BUILD_BUG_ON(offsetof(struct type, member) % sizeof(u64))

static void verify_pool_abi(void)
{
	LAYOUT(wort_format_arg, 104,
	       M(size) + M(flags) + M(dev_ptr) + M(dev_len) + M(extent_size) +
	       M(uuid) + M(label));
	LAYOUT(wort_attach_arg, 24,
	       M(size) + M(flags) + M(dev_ptr) + M(dev_len) + M(out_minor));
	LAYOUT(wort_detach_arg, 16,
	       M(size) + M(flags) + M(minor) + M(__reserved));
	LAYOUT(wort_pool_record, 128,
	       M(minor) + M(state) + M(pool_size) + M(uuid) + M(label) +
	       M(device));
	LAYOUT(wort_list_arg, 32,
	       M(size) + M(flags) + M(buf_ptr) + M(buf_len) + M(start) +
	       M(out_count) + M(out_more));
	LAYOUT(wort_pool_info_arg, 264,
	       M(size) + M(flags) + M(out_pool_size) + M(out_extent_size) +
	       M(out_nr_extents) + M(out_free_extents) +
	       M(out_reserve_extents) + M(out_used_bytes) +
	       M(out_freeing_bytes) + M(out_nr_indexes) + M(out_nr_dying) +
	       M(out_walk_indexes) + M(out_walk_records) +
	       M(out_attach_lines) + M(out_incompat) + M(out_format_time) +
	       M(out_state) + M(out_flush) + M(out_uuid) + M(out_label) +
	       M(out_nr_damaged) + M(out_atomic_batches) +
	       M(out_atomic_refused) + M(out_atomic_waits) +
	       M(out_atomic_redone) + M(out_atomic_left) +
	       M(out_atomic_damaged));
	LAYOUT(wort_freeze_arg, 8, M(size) + M(flags));
	LAYOUT(wort_check_arg, 120,
	       M(size) + M(flags) + M(out_nr_indexes) + M(out_nr_nodes) +
	       M(out_nr_leaves) + M(out_owned_bytes) + M(out_free_bytes) +
	       M(out_freeing_bytes) + M(out_nr_transient) + M(out_nr_damaged) +
	       M(out_damaged_off) + M(out_damaged_index) + M(out_nr_dropped) +
	       M(out_nr_lost) + M(out_nr_unknown) + M(out_nr_atomic));
	LAYOUT(wort_map_control, 12288,
	       M(state) + M(__reserved) + M(generation) + M(destroyed) +
	       M(__reserved2) + M(in_flight) + M(sequence));
	BUILD_BUG_ON(offsetof(struct wort_map_control, in_flight) != 4096);
	BUILD_BUG_ON(offsetof(struct wort_map_control, sequence) != 8192);
}

static void verify_index_abi(void)
{
	LAYOUT(wort_index_open_arg, 40,
	       M(size) + M(flags) + M(name_ptr) + M(name_len) + M(engine) +
	       M(attr) + M(out_fd) + M(out_engine));
	LAYOUT(wort_index_record, 136,
	       M(id) + M(engine) + M(state) + M(name_len) + M(__reserved) +
	       M(name));
	LAYOUT(wort_index_list_arg, 40,
	       M(size) + M(flags) + M(buf_ptr) + M(buf_len) + M(out_count) +
	       M(after) + M(out_more) + M(__reserved));
	LAYOUT(wort_index_rename_arg, 32,
	       M(size) + M(flags) + M(name_ptr) + M(new_ptr) + M(name_len) +
	       M(new_len));
	LAYOUT(wort_index_destroy_arg, 24,
	       M(size) + M(flags) + M(name_ptr) + M(name_len) + M(__reserved));
	LAYOUT(wort_index_info_arg, 200,
	       M(size) + M(flags) + M(out_id) + M(out_attr) +
	       M(out_create_time) + M(out_engine) + M(out_state) +
	       M(out_name_len) + M(__reserved) + M(out_name) +
	       M(out_root_off) + M(out_bytes) + M(out_records) +
	       M(out_count_time) + M(out_dram_bytes));
	LAYOUT(wort_op_stats, 80,
	       M(ops) + M(stores) + M(lines) + M(fences) + M(ordering_points) +
	       M(nodes) + M(leaves) + M(loads) + M(alloc_lines) +
	       M(zero_lines));
	LAYOUT(wort_stats_arg, 32,
	       M(size) + M(flags) + M(buf_ptr) + M(buf_len) + M(out_count) +
	       M(stride) + M(__reserved));
}

static void verify_record_abi(void)
{
	LAYOUT(wort_insert_arg, 48,
	       M(size) + M(flags) + M(key_ptr) + M(value_ptr) + M(old_ptr) +
	       M(key_len) + M(value_len) + M(old_len) + M(out_old_len));
	LAYOUT(wort_cas_arg, 64,
	       M(size) + M(flags) + M(key_ptr) + M(expect_ptr) + M(value_ptr) +
	       M(old_ptr) + M(key_len) + M(expect_len) + M(value_len) +
	       M(old_len) + M(__reserved) + M(out_old_len));
	LAYOUT(wort_lookup_arg, 40,
	       M(size) + M(flags) + M(key_ptr) + M(value_ptr) + M(key_len) +
	       M(value_len) + M(out_value_len) + M(__reserved));
	LAYOUT(wort_delete_arg, 48,
	       M(size) + M(flags) + M(key_ptr) + M(expect_ptr) + M(old_ptr) +
	       M(key_len) + M(expect_len) + M(old_len) + M(out_old_len));
	LAYOUT(wort_scan_arg, 80,
	       M(size) + M(flags) + M(start_ptr) + M(bound_ptr) + M(buf_ptr) +
	       M(start_len) + M(bound_len) + M(buf_len) + M(max_count) +
	       M(out_count) + M(out_len) + M(out_need) + M(out_more) +
	       M(out_last_len) + M(__reserved));
	LAYOUT(wort_record, 16,
	       M(rec_len) + M(key_len) + M(value_len) + M(__reserved));
	LAYOUT(wort_batch_op, 24,
	       M(rec_len) + M(op) + M(flags) + M(key_len) + M(expect_len) +
	       M(value_len) + M(max_len));
	LAYOUT(wort_batch_result, 16,
	       M(rec_len) + M(error) + M(value_len) + M(__reserved));
	LAYOUT(wort_batch_arg, 48,
	       M(size) + M(flags) + M(ops_ptr) + M(results_ptr) + M(ops_len) +
	       M(results_len) + M(nr_ops) + M(out_done) + M(out_failed) +
	       M(out_results_len));
	LAYOUT(wort_atomic_op, 32,
	       M(op) + M(index) + M(__reserved));
	LAYOUT(wort_atomic_arg, 56,
	       M(size) + M(flags) + M(ops_ptr) + M(results_ptr) + M(fds_ptr) +
	       M(ops_len) + M(results_len) + M(nr_ops) + M(nr_fds) +
	       M(out_refused) + M(out_results_len));
	LAYOUT(wort_uring_cmd, 16,
	       M(arg_ptr) + M(flags) + M(__reserved));
}

static void verify_media(void)
{
	LAYOUT(wort_media_sb, 200,
	       M(magic) + M(version) + M(csum) + M(seq) + M(compat) +
	       M(ro_compat) + M(incompat) + M(pool_size) + M(table_off) +
	       M(data_off) + M(nr_extents) + M(catalogue_off) + M(state) +
	       M(format_time) + M(extent_shift) + M(pad) + M(uuid) +
	       M(label) + M(self_off));
	LAYOUT(wort_media_words, 2 * WORT_LINE,
	       M(generation) + M(pad) + M(next_id) + M(pad2));
	LAYOUT(wort_media_head, WORT_LINE,
	       M(redo) + M(pad));
	LAYOUT(wort_media_redo, 16,
	       M(len) + M(nr) + M(csum) + M(pad));
	LAYOUT(wort_media_redo_entry, 16,
	       M(index) + M(key_len) + M(value_len));
	BUILD_BUG_ON(WORT_MEDIA_REDO_MAX != WORT_ATOMIC_BYTES);
	BUILD_BUG_ON(WORT_MEDIA_REDO_ENTRIES != WORT_ATOMIC_MAX);
	BUILD_BUG_ON(WORT_MEDIA_HEADS_OFF +
		     WORT_MEDIA_NR_HEADS * sizeof(struct wort_media_head) !=
		     WORT_MEDIA_TABLE_OFF);
	LAYOUT(wort_media_catalogue, 512,
	       M(next) + M(slot));
	LAYOUT(wort_media_entry, 256,
	       M(id) + M(engine) + M(csum) + M(attr) + M(create_time) +
	       M(state) + M(pad) + M(root) + M(name_len) + M(name) +
	       M(reserved));
	LAYOUT(wort_media_leaf, 16,
	       M(val) + M(meta));
	LAYOUT(wort_media_wort_node, 128,
	       M(slot));
	LAYOUT(wort_media_art_line, WORT_LINE,
	       M(map) + M(slot));
	LAYOUT(wort_media_art_n256, 2048,
	       M(slot));
	ATOMIC(wort_media_sb, magic);
	ATOMIC(wort_media_words, generation);
	ATOMIC(wort_media_words, next_id);
	ATOMIC(wort_media_head, redo);
	ATOMIC(wort_media_catalogue, slot);
	ATOMIC(wort_media_entry, state);
	ATOMIC(wort_media_entry, root);
	ATOMIC(wort_media_leaf, val);
	ATOMIC(wort_media_wort_node, slot);
	ATOMIC(wort_media_art_line, map);
	ATOMIC(wort_media_art_line, slot);
	ATOMIC(wort_media_art_n256, slot);
	/* The root record is one line, so that its words share a flush. */
	BUILD_BUG_ON(offsetof(struct wort_media_entry, root) % WORT_LINE);
	BUILD_BUG_ON(sizeof_field(struct wort_media_entry, root) != WORT_LINE);
	BUILD_BUG_ON(sizeof(struct wort_media_sb) > WORT_MEDIA_SB_SPACE -
		     WORT_LINE);
}

/**
 * wort_layout_verify() - Fail to compile if a layout is not what it was
 *
 * Context: Any context.
 */
void wort_layout_verify(void)
{
	BUILD_BUG_ON(WORT_NAME_MAX != WORT_MEDIA_NAME_MAX);
	BUILD_BUG_ON(WORT_UUID_LEN != WORT_MEDIA_UUID_LEN);
	BUILD_BUG_ON(WORT_LABEL_LEN != WORT_MEDIA_LABEL_LEN);
	BUILD_BUG_ON(WORT_ENGINE_WORT != WORT_MEDIA_ENGINE_WORT);
	BUILD_BUG_ON(PAGE_SIZE < 1 << WORT_PAGE_SHIFT);
	verify_pool_abi();
	verify_index_abi();
	verify_record_abi();
	verify_media();
}
