// SPDX-License-Identifier: GPL-2.0-only
/*
 * Removing a range of records, for other kernel code: scans of keys, and a
 * batch of deletes after each.
 */
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/wort_kernel.h>

#include "cmd.h"

/* Deletes of a batch share fences, up to so many. */
#define PIECE_RECORDS	WORT_PREFETCH_MAX

/* Any key fits, and of those that are mostly short a whole piece. */
#define PIECE_BYTES	8192

/**
 * struct piece - Records that are removed together
 * @ops: the deletes
 * @buf: the keys, as a scan packs them
 */
struct piece {
	struct wort_kernel_op ops[PIECE_RECORDS];
	u8 buf[PIECE_BYTES] __aligned(8);
};

/*
 * -ENOENT: another task has removed the record since the scan, so it is not
 * counted.
 */
static int count_deleted(const struct wort_kernel_op *ops, int nr, u64 *deleted)
{
	int i, err = 0;

	for (i = 0; i < nr; i++) {
		*deleted += !ops[i].err;
		if (ops[i].err && ops[i].err != -ENOENT && !err)
			err = ops[i].err;
	}
	return err;
}

/* Remove the records that a scan has found. */
static int delete_piece(struct wort_kernel_index *index, struct piece *piece,
			const struct wort_kernel_scan *scan, u64 *deleted)
{
	struct wort_kernel_op *ops = piece->ops;
	const struct wort_record *rec;
	int done, err = 0;
	u32 nr = 0;

	wort_kernel_for_each_record(rec, scan)
		ops[nr++] = (struct wort_kernel_op){
			.op = WORT_BATCH_DELETE,
			.key = { wort_kernel_record_key(rec), rec->key_len },
		};
	while (nr && !err) {
		done = wort_kernel_batch(index, ops, nr, 0);
		if (done <= 0)
			return done;
		err = count_deleted(ops, done, deleted);
		ops += done;
		nr -= done;
	}
	return err;
}

static int delete_pieces(struct wort_kernel_index *index, struct piece *piece,
			 struct wort_kernel_scan *scan, u64 max, u64 *deleted)
{
	int err;

	do {
		cond_resched();
		if (fatal_signal_pending(current))
			return -EINTR;
		scan->max_count = PIECE_RECORDS;
		if (max)
			scan->max_count = min_t(u64, max - *deleted,
						PIECE_RECORDS);
		err = wort_kernel_scan(index, scan);
		/*
		 * A scan that fails returns valid records up to the place of
		 * the error.
		 */
		if (scan->count)
			err = delete_piece(index, piece, scan, deleted) ?: err;
	} while (!err && scan->more && (!max || *deleted < max));
	return err;
}

/**
 * wort_kernel_delete_range() - Remove the records of a range of keys
 * @index: The index.
 * @start: The first key of the range; NULL: from the first record on.
 * @bound: The key before which to stop; with WORT_SCAN_F_PREFIX the prefix of
 *	the keys; NULL: to the last record.
 * @flags: WORT_SCAN_F_PREFIX or 0.
 * @max: Remove so many records at most, so that the call takes a bounded time;
 *	0: all of the range.
 * @deleted: Set to the number of records removed, also with an error; a call
 *	with @max that has removed as many is to be made again.
 *
 * Each record is removed by itself, in the order of keys or nearly so: a power
 * cut during the call may leave any of them.  Those that the call has counted
 * are gone for good when it returns.  A record that is stored in the range
 * while the call lasts may stay.
 *
 * Context: May sleep, as wort_kernel_delete().  Allocates without input and
 * output.
 * Return: 0; -EINTR if a fatal signal came; -ENOMEM; -EMSGSIZE for a key;
 * -EOPNOTSUPP for an unknown flag; -ENOSPC if the engine needs space for a
 * delete; -EROFS; -ESTALE; -EUCLEAN; -EIO; -ENODEV.
 */
int wort_kernel_delete_range(struct wort_kernel_index *index,
			     const struct wort_kernel_bytes *start,
			     const struct wort_kernel_bytes *bound, u32 flags,
			     u64 max, u64 *deleted)
{
	struct wort_kernel_scan scan = {
		.flags = flags | WORT_SCAN_F_KEYS,
		.buf_len = PIECE_BYTES,
	};
	struct piece *piece;
	int err;

	*deleted = 0;
	if (flags & ~WORT_SCAN_F_PREFIX)
		return -EOPNOTSUPP;
	piece = kvmalloc(sizeof(*piece), GFP_NOIO | WORT_GFP_CALL);
	if (!piece)
		return -ENOMEM;
	scan.buf = piece->buf;
	if (start)
		scan.start = *start;
	if (bound)
		scan.bound = *bound;
	err = delete_pieces(index, piece, &scan, max, deleted);
	kvfree(piece);
	return err;
}
EXPORT_SYMBOL_NS_GPL(wort_kernel_delete_range, WORT_NS);
