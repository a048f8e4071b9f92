/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * libwort: ordered indexes on persistent memory, through the wort module.
 *
 *	struct wort_index_opts opts = {
 *		.sz = sizeof(opts), .flags = WORT_INDEX_OPEN_F_CREATE,
 *	};
 *	struct wort_index *index;
 *	struct wort_pool *pool;
 *	int err;
 *
 *	err = wort_pool_open("/dev/wort0", O_RDWR, &pool);
 *	err = wort_index_open(pool, "names", &opts, &index);
 *	err = wort_put(index, "key", 3, "value", 5, 0);
 *
 * Every function that can fail returns a negative errno, whose meanings are
 * in <linux/wort.h>; the global errno has no meaning.
 * When wort_put(), wort_cas(), wort_del(), a batch or an atomic batch returns, its
 * changes are durable.
 *
 * Options are structs whose first member is their own size; NULL asks for the
 * defaults.  A larger struct than this library knows is accepted when the part
 * unknown to it is zero.  Arguments of <linux/wort.h> that are filled in have
 * their member size set by the caller in the same spirit.
 *
 * All state of the library is in its handles, and it takes no lock.  Functions of
 * a control device, a pool or an index may run concurrently with the same handle;
 * functions of a scan or a batch of either kind must not.  The exception is the function that
 * closes, ends or frees a handle: no other call with that handle may be running or
 * follow, because memory and descriptor are given back, and the next open can get
 * the same ones.  An index does not need the handle of its pool once it is open, nor
 * a scan or an atomic batch that of its index: each keeps open what it uses.
 */
#ifndef _WORT_H
#define _WORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/wort.h>

#ifdef __cplusplus
extern "C" {
#endif

struct wort_ctl;
struct wort_pool;
struct wort_index;
struct wort_scan;
struct wort_batch;
struct wort_atomic;

/* Version of the library at run time, as "major.minor". */
const char *wort_version(void);

/* ---- the control device: needs CAP_SYS_ADMIN ---- */

int wort_ctl_open(struct wort_ctl **out);
void wort_ctl_close(struct wort_ctl *ctl);

/**
 * struct wort_format_opts - How to make a pool
 * @sz: sizeof(struct wort_format_opts)
 * @flags: WORT_FORMAT_F_*
 * @extent_size: power of two from 4 KiB to 1 MiB, 0: chosen by the module
 * @uuid: WORT_UUID_LEN bytes, NULL: chosen by the module
 * @label: name for people, shorter than WORT_LABEL_LEN, NULL: none
 */
struct wort_format_opts {
	size_t sz;
	uint32_t flags;
	uint32_t extent_size;
	const uint8_t *uuid;
	const char *label;
};

/* Makes an empty pool: the former contents of the device are lost. */
int wort_ctl_format(struct wort_ctl *ctl, const char *device,
		    const struct wort_format_opts *opts);
/* The pool is /dev/wort<minor> then; @flags: WORT_ATTACH_F_*. */
int wort_ctl_attach(struct wort_ctl *ctl, const char *device, uint32_t flags,
		    unsigned int *minor);
int wort_ctl_detach(struct wort_ctl *ctl, unsigned int minor);

/*
 * Attached pools with a minor of at least @start, at most @max of them.
 * Returns how many; *@more says whether there are further ones.
 */
int wort_ctl_list(struct wort_ctl *ctl, unsigned int start,
		  struct wort_pool_record *records, unsigned int max,
		  bool *more);

/* ---- pools in plain files, without the module ---- */

/*
 * Makes an empty pool in a file of @size bytes.  The file is made if it is not there; one
 * that is shorter grows; 0: the file is there and keeps its size.  -EEXIST if there is a
 * pool or anything else but zeroes in it, without WORT_FORMAT_F_FORCE; -EWOULDBLOCK if it
 * is open as a pool; -ENODATA if it is too small; -ENOSPC, and other errors of open() and
 * posix_fallocate().
 */
int wort_format_file(const char *path, uint64_t size,
		     const struct wort_format_opts *opts);

/* The process that has the file open as a pool; 0: none, or it is not known. */
pid_t wort_file_holder(const char *path);

/* ---- a pool ---- */

/* What a fence does for a pool in a plain file. */
#define WORT_SYNC_MEDIA		0	/* what was acknowledged survives a power cut */
#define WORT_SYNC_PROCESS	1	/* it survives the process, and not the machine */

/**
 * struct wort_pool_opts - How to open a pool
 * @sz: sizeof(struct wort_pool_opts)
 * @sync: WORT_SYNC_*; other than 0 for plain files only, or -ENOTBLK
 * @wait_ms: how long to wait for other processes that have the plain file open,
 *	milliseconds; -EINTR if a signal comes meanwhile
 */
struct wort_pool_opts {
	size_t sz;
	uint32_t sync;
	uint32_t wait_ms;
};

/*
 * Lets the pool in a plain file take in what the file has gained; with a @size in bytes the
 * file grows to that first.  A pool takes whole extents, so it may gain nothing.  After a
 * power cut it has the former size or the new one.  @former and @now get the sizes of the
 * pool, unless they are NULL.
 *
 * -ERANGE if the file is larger than @size; -EFBIG if it can have no such size; -EWOULDBLOCK
 * if the pool is open, also in this process, after @opts->wait_ms, or -EINTR; -ENOSPC if the
 * filesystem is full; -EROFS if the pool is damaged; -EOVERFLOW if its file has become
 * shorter; -ENODATA if there is none; -ENOTBLK if it is no plain file; errors of open().
 * After an error nothing of the pool has changed, but for -EIO.
 */
int wort_grow_file(const char *path, uint64_t size, const struct wort_pool_opts *opts,
		   uint64_t *former, uint64_t *now);

/*
 * @path: /dev/wortN, or a plain file with a pool.  @flags: O_RDONLY or O_RDWR, -EINVAL with
 * others but O_CLOEXEC, which is implied.  -ENODATA: there is no pool in the file; -ENOTTY:
 * it is another device; otherwise what open() may return.
 *
 * A pool in a plain file is served in this process by the code of the module.  One process
 * at a time has it open for writing: -EWOULDBLOCK for others after @opts->wait_ms, and
 * wort_file_holder() says which.  In one process it may be opened any number of times:
 * -EBUSY for writing after reading only, or with another @sync.  Holes of the file are
 * filled: -ENOSPC.  A fence is an msync() of the pages stored to since the last one, or
 * where the file is mapped persistent memory (MAP_SYNC), a flush of cache lines.  When one
 * fails, calls return -EIO from then on.  In a child after fork() calls on it return -ENODEV;
 * the child closes it, and may open the file itself if the parent does not have it open for
 * writing.  Opening for writing waits some 20 ms for the search for free space, or until it
 * has ended in a pool that is nearly full.
 */
int wort_pool_open(const char *path, int flags, struct wort_pool **out);
int wort_pool_open_with(const char *path, int flags,
			const struct wort_pool_opts *opts, struct wort_pool **out);
void wort_pool_close(struct wort_pool *pool);

/* Of a pool in a file it takes neither ioctls nor commands of io_uring. */
int wort_pool_fd(const struct wort_pool *pool);

int wort_pool_info(struct wort_pool *pool, struct wort_pool_info_arg *info);

/* Succeeds whatever is found; set @check->flags before. */
int wort_pool_check(struct wort_pool *pool, struct wort_check_arg *check);

/*
 * Until wort_pool_thaw(), or until the pool is closed, nothing changes in it: what
 * would change it waits, in other programs, too.  For a pool opened for writing.
 */
int wort_pool_freeze(struct wort_pool *pool);
int wort_pool_thaw(struct wort_pool *pool);

/*
 * Indexes with an id greater than @after, at most @max of them.  Returns how
 * many; *@more says whether there are further ones.
 */
int wort_pool_list(struct wort_pool *pool, uint64_t after,
		   struct wort_index_record *records, unsigned int max,
		   bool *more);

int wort_pool_destroy(struct wort_pool *pool, const char *name);

/*
 * Give an index another name, which no index has (-EEXIST).  Durable when the call
 * returns; after a power cut it has one of the two.  Open indexes go on.
 */
int wort_pool_rename(struct wort_pool *pool, const char *name,
		     const char *new_name);

/*
 * Maps the pool for reading: wort_get() of indexes opened afterwards, whose engines
 * are mappable (all but "quire"), makes no system call, unless writers keep changing
 * what it reads or the module asks for one.  -ENOMEM if there is no room in the address
 * space, or another error of mmap(): the pool is unchanged then.  0 also if it was mapped
 * before.
 *
 * Lookups in the mapping are not counted in wort_index_stats().  Memory that fails
 * during one of them raises SIGBUS.
 */
int wort_pool_map(struct wort_pool *pool);

/**
 * struct wort_map_stats - Lookups in a mapping that did not succeed at once
 * @retries: attempts that were repeated, because a writer changed what they read
 * @fallbacks: lookups that asked the kernel, after three attempts, or because the
 *	control page said so
 */
struct wort_map_stats {
	uint64_t retries;
	uint64_t fallbacks;
};

/* Since wort_pool_map(); -EINVAL: the pool is not mapped. */
int wort_pool_map_stats(const struct wort_pool *pool,
			struct wort_map_stats *stats);

/* ---- engines ---- */

/**
 * struct wort_engine - A structure that an index can have
 * @name: for people and programs
 * @id: WORT_ENGINE_*
 * @traits: WORT_TRAIT_* of <linux/wort_engines.h>
 */
struct wort_engine {
	const char *name;
	uint32_t id;
	uint32_t traits;
};

/**
 * struct wort_attr - An attribute of an engine, chosen when an index is made
 * @name: for people and programs
 * @values: names of the values from @min on, separated by spaces; NULL: a number
 * @min: least value
 * @max: greatest value
 * @def: the value if none is chosen
 * @unit: a value is a multiple of it
 * @shift: lowest bit of its field in wort_index_opts.attr
 * @bits: width of the field
 */
struct wort_attr {
	const char *name;
	const char *values;
	uint64_t min;
	uint64_t max;
	uint64_t def;
	uint64_t unit;
	uint8_t shift;
	uint8_t bits;
};

/*
 * The engines by number, from 0, which is the default; NULL: there are not so many.
 * They are those that a module of this library's version knows; the loaded one is
 * not asked.
 */
const struct wort_engine *wort_engine(unsigned int nr);

/* The attributes of an engine by number, from 0; NULL: there are not so many. */
const struct wort_attr *wort_engine_attr(uint32_t engine, unsigned int nr);

/*
 * Set an attribute, which is called NAME=VALUE, in a word for wort_index_opts.attr,
 * which is 0 before the first one.  -EINVAL: the text is not of this form, or the value
 * is no number; -ENOENT: the engine has no such attribute; -ERANGE: it has no such
 * value; -EOPNOTSUPP: there is no such engine.
 */
int wort_attr_set(uint32_t engine, const char *text, uint64_t *word);

/* The value of an attribute in wort_index_info_arg.out_attr. */
uint64_t wort_attr_get(const struct wort_attr *attr, uint64_t word);

/* ---- an index ---- */

/**
 * struct wort_index_opts - How to open an index
 * @sz: sizeof(struct wort_index_opts)
 * @flags: WORT_INDEX_OPEN_F_*
 * @engine: WORT_ENGINE_*
 * @attr: attributes of a new index, see wort_attr_set(); of one that exists, its own or 0
 */
struct wort_index_opts {
	size_t sz;
	uint32_t flags;
	uint32_t engine;
	uint64_t attr;
};

int wort_index_open(struct wort_pool *pool, const char *name,
		    const struct wort_index_opts *opts,
		    struct wort_index **out);
void wort_index_close(struct wort_index *index);

/* As wort_pool_fd(). */
int wort_index_fd(const struct wort_index *index);
int wort_index_info(struct wort_index *index,
		    struct wort_index_info_arg *info);

/*
 * Fills in at most @nr entries of @stats, of @stride bytes each, which is
 * sizeof(*stats); returns how many are known.
 */
int wort_index_stats(struct wort_index *index, struct wort_op_stats *stats,
		     size_t stride, unsigned int nr);

/* @flags: WORT_INSERT_F_CREATE, WORT_INSERT_F_REPLACE, or 0 for either */
int wort_put(struct wort_index *index, const void *key, size_t key_len,
	     const void *value, size_t value_len, uint32_t flags);

/*
 * *@value_len is the size of the buffer before and the length of the value
 * after, also with -ERANGE: the buffer is too small.
 */
int wort_get(struct wort_index *index, const void *key, size_t key_len,
	     void *value, size_t *value_len);

int wort_del(struct wort_index *index, const void *key, size_t key_len);

/**
 * struct wort_old - Where the former value of a change goes
 * @buf: memory of the caller, which may be written also if there is no value
 * @size: its size
 * @len: set by the call: length of the value, also when it does not fit
 * @found: set by the call: there was a value
 *
 * The value is also returned with -EEXIST and -ECANCELED.  -ERANGE if it does not
 * fit: nothing was changed.
 */
struct wort_old {
	void *buf;
	size_t size;
	size_t len;
	bool found;
};

/* As wort_put(), and returns the former value. */
int wort_put_fetch(struct wort_index *index, const void *key, size_t key_len,
		   const void *value, size_t value_len, uint32_t flags,
		   struct wort_old *old);

/*
 * Replaces the value if it is the one expected: -ECANCELED if it is another
 * one, -ENOENT if there is none.  @old may be NULL; with it a caller can retry
 * without a wort_get().
 */
int wort_cas(struct wort_index *index, const void *key, size_t key_len,
	     const void *expect, size_t expect_len,
	     const void *value, size_t value_len, struct wort_old *old);

/*
 * Removes the record if its value is the one expected; NULL expects any value.
 * @old may be NULL.
 */
int wort_del_if(struct wort_index *index, const void *key, size_t key_len,
		const void *expect, size_t expect_len, struct wort_old *old);

/* ---- reading in order ---- */

/**
 * struct wort_scan_opts - What to read
 * @sz: sizeof(struct wort_scan_opts)
 * @flags: WORT_SCAN_F_REVERSE, _AFTER, _PREFIX, _KEYS; -EOPNOTSUPP with _COUNT
 * @buf_size: bytes of records fetched at a time, 0: chosen by the library
 * @start: key to start at (with AFTER: after); NULL: from the first,
 *	with REVERSE the last
 * @start_len: its length
 * @bound: key to stop before, or the prefix; NULL: none
 * @bound_len: its length
 * @max_count: records at most, 0: all
 *
 * A pointer that is not NULL with a length of 0 is the empty key, which is less than
 * all others.  As a bound it excludes all keys, as a prefix none; as a start it
 * includes all keys, or with REVERSE none.
 */
struct wort_scan_opts {
	size_t sz;
	uint32_t flags;
	uint32_t buf_size;
	const void *start;
	size_t start_len;
	const void *bound;
	size_t bound_len;
	uint64_t max_count;
};

/**
 * struct wort_scan_item - A record that a scan found
 * @key: its key, valid until the next call with the same scan
 * @value: its value likewise; NULL with WORT_SCAN_F_KEYS
 * @key_len: length of the key
 * @value_len: length of the value, also with WORT_SCAN_F_KEYS
 */
struct wort_scan_item {
	const void *key;
	const void *value;
	size_t key_len;
	size_t value_len;
};

/* Keys named in @opts are copied; @index may be closed before the scan ends. */
int wort_scan_begin(struct wort_index *index, const struct wort_scan_opts *opts,
		    struct wort_scan **out);
/* 1: *@item is the next record; 0: there is none; or a negative errno. */
int wort_scan_next(struct wort_scan *scan, struct wort_scan_item *item);
void wort_scan_end(struct wort_scan *scan);

/* The number of records that a scan with these options would find. */
int wort_count(struct wort_index *index, const struct wort_scan_opts *opts,
	       uint64_t *count);

/* ---- batches ---- */

/**
 * struct wort_batch_opts - How large a batch may become
 * @sz: sizeof(struct wort_batch_opts)
 * @max_ops: operations, 0: as many as the module takes
 * @max_bytes: bytes of operations or of answers, 0: as many as it takes
 */
struct wort_batch_opts {
	size_t sz;
	uint32_t max_ops;
	uint32_t max_bytes;
};

/**
 * struct wort_batch_item - The answer to an operation
 * @error: 0 or a negative errno
 * @value: the value that was asked for, valid until the batch is reset or
 *	freed; NULL: there was none, or it did not fit
 * @value_len: its length, also when it did not fit (@error is -ERANGE)
 */
struct wort_batch_item {
	int error;
	const void *value;
	size_t value_len;
};

int wort_batch_new(const struct wort_batch_opts *opts, struct wort_batch **out);
void wort_batch_free(struct wort_batch *batch);

/* Back to an empty batch. */
void wort_batch_reset(struct wort_batch *batch);

/* Operations in it; of these, carried out by the last submit; and failed. */
unsigned int wort_batch_count(const struct wort_batch *batch);
unsigned int wort_batch_done(const struct wort_batch *batch);
unsigned int wort_batch_failed(const struct wort_batch *batch);

/*
 * Append an operation.  -ENOBUFS: the batch is full, submit and reset it first;
 * -EMSGSIZE: the operation does not fit an empty batch, either.
 */
int wort_batch_put(struct wort_batch *batch, const void *key, size_t key_len,
		   const void *value, size_t value_len, uint32_t flags);
int wort_batch_del(struct wort_batch *batch, const void *key, size_t key_len);
int wort_batch_get(struct wort_batch *batch, const void *key, size_t key_len,
		   size_t max_value_len);

/**
 * struct wort_batch_request - Any operation that the module has
 * @sz: sizeof(struct wort_batch_request)
 * @op: WORT_BATCH_*
 * @flags: those of its ioctl: WORT_INSERT_F_*, WORT_DELETE_F_*, WORT_F_FETCH
 * @key: its key
 * @key_len: length of the key
 * @expect: of CAS, and with WORT_DELETE_F_EXPECT: the value expected
 * @expect_len: its length
 * @value: of INSERT and CAS: the value
 * @value_len: its length
 * @max_len: of LOOKUP, and with WORT_F_FETCH: the longest value wanted
 */
struct wort_batch_request {
	size_t sz;
	uint32_t op;
	uint32_t flags;
	const void *key;
	size_t key_len;
	const void *expect;
	size_t expect_len;
	const void *value;
	size_t value_len;
	size_t max_len;
};

/* Append any operation that the module has; errors as of the three above. */
int wort_batch_add(struct wort_batch *batch,
		   const struct wort_batch_request *request);

/*
 * Carry out all operations in order; @flags: WORT_BATCH_F_*.  0 whatever the
 * answers say.  The operations that wort_batch_done() counts were carried out,
 * successfully or not, and their changes are durable, also if the call fails.
 */
int wort_batch_submit(struct wort_batch *batch, struct wort_index *index,
		      uint32_t flags);

/*
 * 1: *@item is the next answer, in the order of operations; 0: there is none
 * left; -EBADMSG: the module's answers are malformed.
 */
int wort_batch_next(struct wort_batch *batch, struct wort_batch_item *item);

/* ---- atomic batches: all operations or none ---- */

/*
 * At most WORT_ATOMIC_MAX operations, on indexes of one pool.  Until the batch is reset
 * or freed it keeps the indexes of its operations open.
 */
int wort_atomic_new(struct wort_atomic **out);
void wort_atomic_free(struct wort_atomic *atomic);

/* Back to an empty batch. */
void wort_atomic_reset(struct wort_atomic *atomic);

/* Operations in it. */
unsigned int wort_atomic_count(const struct wort_atomic *atomic);

/*
 * Append an operation.  -EMSGSIZE: key or value is too long, or the batch is full; it
 * stays as it was.
 */
int wort_atomic_put(struct wort_atomic *atomic, struct wort_index *index,
		    const void *key, size_t key_len, const void *value,
		    size_t value_len, uint32_t flags);
int wort_atomic_cas(struct wort_atomic *atomic, struct wort_index *index,
		    const void *key, size_t key_len, const void *expect,
		    size_t expect_len, const void *value, size_t value_len);
int wort_atomic_del(struct wort_atomic *atomic, struct wort_index *index,
		    const void *key, size_t key_len);
int wort_atomic_get(struct wort_atomic *atomic, struct wort_index *index,
		    const void *key, size_t key_len, size_t max_value_len);

/*
 * Append a condition.  The batch is refused unless the key has this value (-ECANCELED,
 * or -ENOENT if it does not exist); unless it exists (-ENOENT); if it exists (-EEXIST).
 */
int wort_atomic_expect(struct wort_atomic *atomic, struct wort_index *index,
		       const void *key, size_t key_len, const void *value,
		       size_t value_len);
int wort_atomic_expect_present(struct wort_atomic *atomic,
			       struct wort_index *index, const void *key,
			       size_t key_len);
int wort_atomic_expect_absent(struct wort_atomic *atomic,
			      struct wort_index *index, const void *key,
			      size_t key_len);

/* Append any operation that the module has, also WORT_BATCH_EXPECT. */
int wort_atomic_add(struct wort_atomic *atomic, struct wort_index *index,
		    const struct wort_batch_request *request);

/*
 * Carry out all operations at one moment, each as if those before it were done.  0: all
 * are durable, and each has an answer.  Otherwise nothing was changed and there are no
 * answers; *@refused is the number of the operation that refused, from 0 on, or
 * WORT_NO_VALUE, if the error is not that of one.  The operations stay in the batch.
 *
 * -EUCLEAN and -EIO may also tell of damage that was met after the operations had
 * taken effect; the pool is read-only then.  @refused may be NULL.
 */
int wort_atomic_commit(struct wort_atomic *atomic, unsigned int *refused);

/*
 * 1: *@item is the next answer of the last commit, in the order of operations; 0: there
 * is none left; -EBADMSG: the module's answers are malformed.  Only a lookup answers
 * with an error: -ENOENT or -ERANGE.  A value is valid until the next commit, reset
 * or free.
 */
int wort_atomic_next(struct wort_atomic *atomic, struct wort_batch_item *item);

#ifdef __cplusplus
}
#endif

#endif /* _WORT_H */
