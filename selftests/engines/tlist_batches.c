// SPDX-License-Identifier: GPL-2.0-only
/*
 * What batches of tlist cost, exactly, and what the commit of a chain verifies.
 */
#include "../../kmod/engine/round.h"
#include "../../kmod/engine/tlist.h"
#include "../unit/counts.h"
#include "tlist_tests.h"

#define RECORD_STORES	3	/* value word, meta word, a key of eight bytes */
#define LONG		COUNT_VALUE_MAX
#define LONG_STORES	(RECORD_STORES + DIV_ROUND_UP(LONG, 8))
#define MOST		COUNT_BATCH_MAX

static u64 seen[4 * MOST];
static u32 nr_seen;

/* A line that a batch flushes before its first fence. */
static void see(u64 off)
{
	u32 i;

	for (i = 0; i < nr_seen; i++)
		if (seen[i] == off / WORT_LINE)
			return;
	seen[nr_seen++] = off / WORT_LINE;
}

/* Lines of the records of some keys, of @size bytes each, and of their slots. */
static u32 content_lines(struct bed *bed, u32 first, u32 nr, u32 size)
{
	u64 words[PROBE_WORDS], record;
	u32 i, at;
	u8 key[8];

	nr_seen = 0;
	for (i = first; i < first + nr; i++) {
		key_u64(key, i);
		CHECK_GE(bed_path(bed, key, sizeof(key), words), 2);
		see(words[0]);
		record = bed_record(bed, key, sizeof(key));
		for (at = 0; at < size; at += sizeof(u64))
			see(record + at);
	}
	return nr_seen;
}

static u64 parts(struct bed *bed)
{
	return atomic64_read(&bed->pm.pool->alloc.parts_bytes);
}

/*
 * Changes of one chunk: its bits are flushed once, and stored once.  Records that go lie
 * beside each other, and share locks.
 */
static void one_chain(void)
{
	struct bed bed;
	u32 nr, lines;

	count_open(&bed, MIB);
	nr = tls_slots(&bed.index->tree) - 1;
	count_put(&bed, 0, 0);
	count_cost(&bed, WORT_OP_INSERT);
	count_batch(&bed, WORT_BATCH_INSERT, 1, nr, 8);
	lines = content_lines(&bed, 1, nr, 24) + 1;
	count_expect(&bed, WORT_OP_INSERT, nr, 2, lines, nr * (RECORD_STORES + 1) + 1);
	count_batch(&bed, WORT_BATCH_DELETE, 1, nr, 0);
	count_expect(&bed, WORT_OP_DELETE, nr, 1, 1, 1);
	/* Their slots are used again. */
	CHECK_EQ(parts(&bed), nr * sizeof(__le64));
	bed_check(&bed);
	CHECK_EQ(parts(&bed), 0);
	count_batch(&bed, WORT_BATCH_INSERT, 1, nr, 8);
	count_expect(&bed, WORT_OP_INSERT, nr, 2, content_lines(&bed, 1, nr, 24) + 1,
		     nr * (RECORD_STORES + 1) + 1);
	bed_check(&bed);
	bed_close(&bed);
}

/* A chain has as many records that go as there are locks besides that of the chunk. */
static void many_chains(void)
{
	const u32 in_chain = WORT_HELD_MAX - 1;
	u32 nr, lines, chains;
	struct bed bed;

	count_open(&bed, MIB);
	nr = tls_slots(&bed.index->tree) / 2;
	chains = DIV_ROUND_UP(nr, in_chain);
	count_batch(&bed, WORT_BATCH_INSERT, 0, nr, LONG);
	count_cost(&bed, WORT_OP_INSERT);
	count_batch(&bed, WORT_BATCH_INSERT, 0, nr, LONG);
	/* A line is compared with the four before it, and a record has two. */
	lines = content_lines(&bed, 0, nr, 24 + LONG) + (nr - 1) / 2 + 1;
	count_expect(&bed, WORT_OP_UPDATE, nr, 2, lines, nr * (LONG_STORES + 1) + chains);
	count_batch(&bed, WORT_BATCH_DELETE, 0, nr, 0);
	count_expect(&bed, WORT_OP_DELETE, nr, 1, 1, chains);
	bed_check(&bed);
	bed_close(&bed);
}

/* An update in place has its own word, which is all that is flushed. */
static void no_chain(void)
{
	struct bed bed;
	u32 nr, lines;

	count_open(&bed, MIB);
	nr = tls_slots(&bed.index->tree);
	count_batch(&bed, WORT_BATCH_INSERT, 0, nr, 8);
	count_cost(&bed, WORT_OP_INSERT);
	count_batch(&bed, WORT_BATCH_INSERT, 0, nr, 8);
	lines = DIV_ROUND_UP(nr * 32, WORT_LINE);
	count_expect(&bed, WORT_OP_UPDATE, nr, 1, lines, nr);
	bed_close(&bed);
}

void check_tlist_counts_batch(void)
{
	one_chain();
	many_chains();
	no_chain();
}

/* The value that a remove has expected is changed in place before its commit. */
void check_tlist_batch_value(void)
{
	static struct wort_round alone;
	const struct wort_value expect = { "before", 6 };
	const struct wort_key key = { (const u8 *)"key", 3 };
	struct wort_change change = { .round = &alone };
	const struct wort_batch_ops *ops;
	struct wort_del del;
	struct wort_op op;
	struct bed bed;

	bed_open(&bed, MIB, 4096);
	ops = wort_engine_tlist.batch_ops;
	wort_del_init(&del, &key, &expect, NULL);
	change.del = &del;
	CHECK_EQ(pm_put(bed.index, "key", 3, "before", 6), 0);
	CHECK_EQ(wort_index_enter(bed.index, &op, WORT_WRITE), 0);
	CHECK_EQ(ops->prepare(&op, &bed.index->tree, &change), 0);
	CHECK_EQ(pm_put(bed.index, "key", 3, "after.", 6), 0);
	CHECK_EQ(ops->commit(&op, &bed.index->tree, &change), -EAGAIN);
	CHECK_EQ(op.nr_held, 0);
	CHECK_EQ(ops->prepare(&op, &bed.index->tree, &change), -ECANCELED);
	wort_index_exit(bed.index, &op, WORT_WRITE, 0, -EAGAIN);
	bed_check(&bed);
	bed_close(&bed);
}
