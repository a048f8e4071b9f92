/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Operations on a pool that is fresh, and what they cost.
 */
#ifndef _WORT_TEST_COUNTS_H
#define _WORT_TEST_COUNTS_H

#include "../engines/unit.h"

#define COUNT_BATCH_MAX	64	/* operations */
#define COUNT_VALUE_MAX	100	/* bytes: such a value is in no word */

void count_open(struct bed *bed, u64 size);
/* What was counted since the last call for a WORT_OP_*. */
struct wort_op_stats count_cost(struct bed *bed, u32 type);
/* All that was counted for a WORT_OP_*, at the last call. */
struct wort_op_stats count_sum(u32 type);
/* Operations of a WORT_OP_* that a fast path has carried out, but for lookups. */
u64 count_fast(const struct bed *bed, u32 type);
/* A key and a value of eight bytes. */
void count_put(struct bed *bed, u64 n, u64 value);
/* That is what was counted since the last call, exactly. */
void count_expect(struct bed *bed, u32 type, u64 ops, u64 ordering_points, u64 lines,
		  u64 stores);
/* A batch of changes of so many keys of eight bytes, these, or counted up. */
void count_batch_of(struct bed *bed, u16 op, const u32 *keys, u32 nr, u32 value_len);
void count_batch(struct bed *bed, u16 op, u32 first, u32 nr, u32 value_len);
/* Is it within the bounds of the table? */
void count_verify(const struct wort_op_stats *one,
		  const struct engine_cost *cost);
/* Insert all @n keys of a workload, and verify the cost of each; to be given to free(). */
u64 *count_insert_all(struct bed *bed, enum workload workload, u32 n);

#endif /* _WORT_TEST_COUNTS_H */
