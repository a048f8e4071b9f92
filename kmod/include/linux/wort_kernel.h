/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Indexes on persistent memory for other kernel code.
 *
 * Documentation/kernel-api.rst describes how to use them, and kmod/dev/api.c,
 * api_record.c and api_range.c have the contract of each function.  Limits,
 * flags and struct wort_record are those of programs, in linux/wort.h.
 */
#ifndef _LINUX_WORT_KERNEL_H
#define _LINUX_WORT_KERNEL_H

#include <linux/bits.h>
#include <linux/module.h>
#include <linux/types.h>
#include <linux/wort.h>

/* MODULE_IMPORT_NS() takes a word before Linux 6.13, and a string since. */
#define WORT_KERNEL_IMPORT_NS()	MODULE_INFO(import_ns, "WORT")

struct wort_kernel_pool;
struct wort_kernel_index;

/**
 * struct wort_kernel_bytes - A key or a value in memory
 * @data: its bytes, which must not change during a call
 * @len: how many
 */
struct wort_kernel_bytes {
	const void *data;
	u32 len;
};

/**
 * struct wort_kernel_old - Where the former value of a change goes
 * @data: memory of the caller; may be NULL if @size is 0
 * @size: its size
 * @len: set by the call: length of the value, also if it does not fit, or
 *	WORT_NO_VALUE
 */
struct wort_kernel_old {
	void *data;
	u32 size;
	u32 len;
};

/**
 * struct wort_kernel_op - An operation of a batch
 * @op: WORT_BATCH_INSERT, _DELETE, _LOOKUP or _CAS
 * @flags: of an INSERT WORT_INSERT_F_CREATE or _REPLACE; of a DELETE
 *	WORT_DELETE_F_EXPECT; of all three changes WORT_F_FETCH
 * @err: set by the call: 0 or a negative errno, as the call for this operation
 *	alone returns it; of a LOOKUP without room -ERANGE, and the length in @old
 * @key: 1 to WORT_KEY_MAX bytes
 * @value: of an INSERT or CAS: the value to be stored; otherwise of length 0
 * @expect: of a CAS, and of a DELETE with EXPECT: the expected value
 * @old: of a LOOKUP, and with FETCH: where the value goes; otherwise of size 0
 */
struct wort_kernel_op {
	u16 op;
	u16 flags;
	int err;
	struct wort_kernel_bytes key;
	struct wort_kernel_bytes value;
	struct wort_kernel_bytes expect;
	struct wort_kernel_old old;
};

/**
 * struct wort_kernel_atomic_op - An operation of an atomic batch
 * @index: the index
 * @op: as in a batch.  Also WORT_BATCH_EXPECT: the batch goes on only if the
 *	key has the value @expect, with WORT_EXPECT_F_PRESENT any, with _ABSENT
 *	none.  @err is set if the call returns 0, and is not 0 only for a LOOKUP
 */
struct wort_kernel_atomic_op {
	struct wort_kernel_index *index;
	struct wort_kernel_op op;
};

/**
 * struct wort_kernel_scan - A scan of an index
 * @flags: WORT_SCAN_F_*
 * @max_count: records wanted at most in one call, 0: as many as fit
 * @start: first key, with AFTER the one before it; no bytes: from the first
 *	(last) record
 * @bound: the key before which to stop, or the prefix; no bytes: none
 * @buf: records go here, each a struct wort_record; aligned for one
 * @buf_len: its size in bytes, at most WORT_BUF_MAX
 * @count: set by the call: records found
 * @len: set by the call: bytes of records in @buf
 * @need: set with -ERANGE: bytes that the next record, with COUNT the last key,
 *	needs
 * @more: set by the call: the bound was not reached
 *
 * If @more is set, and after an error that came with records, the call has set
 * @start and @flags so that the next call begins after the last record.  The key
 * of that lies in @buf, which must not change in between.
 */
struct wort_kernel_scan {
	u32 flags;
	u32 max_count;
	struct wort_kernel_bytes start;
	struct wort_kernel_bytes bound;
	void *buf;
	u32 buf_len;
	u64 count;
	u32 len;
	u32 need;
	bool more;
};

/**
 * wort_kernel_for_each_record() - Iterate over the records that a scan found
 * @rec: The loop variable, a pointer to a const struct wort_record.
 * @scan: The scan.
 */
#define wort_kernel_for_each_record(rec, scan)				\
	for ((rec) = (scan)->buf;					\
	     (const void *)(rec) < (scan)->buf + (scan)->len;		\
	     (rec) = (const void *)(rec) + (rec)->rec_len)

/**
 * wort_kernel_record_key() - The key of a record
 * @rec: The record, in the buffer of a scan.
 *
 * Context: Any context.
 * Return: Its first byte; the length is wort_record.key_len.
 */
static inline const void *wort_kernel_record_key(const struct wort_record *rec)
{
	return rec + 1;
}

/**
 * wort_kernel_record_value() - The value of a record
 * @rec: The record, in the buffer of a scan without WORT_SCAN_F_KEYS.
 *
 * Context: Any context.
 * Return: Its first byte; the length is wort_record.value_len.
 */
static inline const void *
wort_kernel_record_value(const struct wort_record *rec)
{
	return wort_kernel_record_key(rec) + rec->key_len;
}

/**
 * struct wort_kernel_space - The space of a pool
 * @size: bytes of the device that the pool uses
 * @free: bytes that can be allocated, remainders too small for an object
 *	included; or WORT_UNKNOWN
 * @used: bytes in records and nodes; or WORT_UNKNOWN
 * @freeing: of these, waiting to be given back; or WORT_UNKNOWN
 *
 * What the sum of @free and @used lacks of @size is in tables and in bad pages.
 * The figures are unknown until the walk that follows an attach has ended.
 */
struct wort_kernel_space {
	u64 size;
	u64 free;
	u64 used;
	u64 freeing;
};

/*
 * A flag of wort_kernel_index_open(), beside those of programs: the handle is
 * the only opening of the index, here and in programs, until it is closed.
 */
#define WORT_KERNEL_OPEN_F_OWN	BIT(31)

struct wort_kernel_pool *wort_kernel_pool_open(const char *name);
void wort_kernel_pool_close(struct wort_kernel_pool *pool);
int wort_kernel_pool_space(struct wort_kernel_pool *pool,
			   struct wort_kernel_space *space);

int wort_kernel_attr_set(u32 engine, const char *name, u64 value, u64 *attr);
struct wort_kernel_index *
wort_kernel_index_open(struct wort_kernel_pool *pool, const char *name,
		       u32 flags, u32 engine, u64 attr);
void wort_kernel_index_close(struct wort_kernel_index *index);
int wort_kernel_index_destroy(struct wort_kernel_pool *pool, const char *name);
int wort_kernel_index_rename(struct wort_kernel_pool *pool, const char *from,
			     const char *to);

int wort_kernel_insert(struct wort_kernel_index *index,
		       const struct wort_kernel_bytes *key,
		       const struct wort_kernel_bytes *value,
		       const struct wort_kernel_bytes *expect, u32 flags);
int wort_kernel_lookup(struct wort_kernel_index *index,
		       const struct wort_kernel_bytes *key, void *value,
		       u32 size);
int wort_kernel_delete(struct wort_kernel_index *index,
		       const struct wort_kernel_bytes *key,
		       const struct wort_kernel_bytes *expect);
int wort_kernel_insert_fetch(struct wort_kernel_index *index,
			     const struct wort_kernel_bytes *key,
			     const struct wort_kernel_bytes *value,
			     const struct wort_kernel_bytes *expect, u32 flags,
			     struct wort_kernel_old *old);
int wort_kernel_delete_fetch(struct wort_kernel_index *index,
			     const struct wort_kernel_bytes *key,
			     const struct wort_kernel_bytes *expect,
			     struct wort_kernel_old *old);
int wort_kernel_batch(struct wort_kernel_index *index,
		      struct wort_kernel_op *ops, u32 nr, u32 flags);
int wort_kernel_atomic(struct wort_kernel_atomic_op *ops, u32 nr, u32 *refused);
int wort_kernel_scan(struct wort_kernel_index *index,
		     struct wort_kernel_scan *scan);
int wort_kernel_delete_range(struct wort_kernel_index *index,
			     const struct wort_kernel_bytes *start,
			     const struct wort_kernel_bytes *bound, u32 flags,
			     u64 max, u64 *deleted);
int wort_kernel_index_list(struct wort_kernel_pool *pool, u64 after,
			   struct wort_index_record *records, u32 max,
			   bool *more);
int wort_kernel_index_info(struct wort_kernel_index *index,
			   struct wort_index_info_arg *info);
int wort_kernel_stats(struct wort_kernel_index *index,
		      struct wort_op_stats stats[WORT_OP_NR]);
int wort_kernel_wait_lost(struct wort_kernel_index *index, long timeout);
int wort_kernel_state(struct wort_kernel_index *index);

#endif /* _LINUX_WORT_KERNEL_H */
