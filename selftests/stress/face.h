/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the stress does to a pool: in this process through the pool layer, or in
 * the kernel through the module's interface.  Errors are negative errnos; what
 * returns nothing ends the program if it fails.
 */
#ifndef _STRESS_FACE_H
#define _STRESS_FACE_H

#include <linux/types.h>
#include <stdbool.h>

#include <linux/wort.h>

#include "../engines/engines.h"

/* The engine of the indexes, and their attribute word. */
extern const struct test_engine *stress_engine;
extern __u64 stress_attr;

/* An empty pool, detached.  False if the module does not have the engine. */
bool face_format(void);

/* The pool, and the indexes "a" and "c" in it. */
void face_attach(void);
void face_detach(void);

/* Each thread but the first says so; there are fewer than sixteen. */
void face_thread_begin(unsigned int nr);
void face_thread_end(void);

int face_put(const void *key, __u32 key_len, const void *value, __u32 len);
int face_del(const void *key, __u32 key_len);
/* A value of @len bytes; @len is its size afterwards. */
int face_get(const void *key, __u32 key_len, void *value, __u32 *len);
/*
 * The same, as a program does with a mapping: in the memory of the pool; where
 * that does not tell, by face_get(), and then it counts.
 */
struct face_looks {
	__u64 looks, retries, asked;
};

extern struct face_looks face_looks;

int face_look(const void *key, __u32 key_len, void *value, __u32 *len);
/* Where the root record of the index "a" is. */
__u64 face_root_off(void);
int face_cas(const void *key, __u32 key_len, const void *expect,
	     __u32 expect_len, const void *value, __u32 len);

/* Operations as struct wort_batch_op, answers as struct wort_batch_result. */
int face_batch(__u32 nr, const void *ops, __u32 ops_len, void *results,
	       __u32 results_len);

/* In index "c". */
int face_get_c(const void *key, __u32 key_len, void *value, __u32 *len);

/* An operation of an atomic batch; a lookup has a result and a length. */
struct face_atomic_op {
	__u16 op;
	__u16 flags;
	bool in_c;
	int out_err;
	const void *key;
	const void *expect;
	const void *value;
	void *answer;
	__u32 key_len;
	__u32 expect_len;
	__u32 value_len;
	__u32 max_len;
	__u32 out_len;
};

/* At most 40; @refused may be NULL. */
int face_atomic(struct face_atomic_op *ops, __u32 nr, __u32 *refused);

/* Records behind a key, or the first ones if it has no bytes. */
struct face_scan {
	bool reverse;
	const void *after;
	__u32 after_len;
	void *buf;
	__u32 buf_len;
	__u32 out_len;
	bool out_more;
};

int face_scan(struct face_scan *scan);

/* Index "b": there, with some records, and gone. */
void face_other_index(void);
/* Give the index "a" another name, and then its own again. */
void face_rename(void);

/* The machine is short of memory: half of the DRAM goes that the pool can do without. */
void face_shrink(void);

/* A record in that index, if it is there just now: -ENOENT, -ESTALE. */
int face_other_put(__u32 key);

/* Nothing changes in between.  One thread at a time. */
void face_freeze(void);
void face_thaw(void);

/* How many places are damaged. */
__u64 face_check(void);

void fail(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif
