/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * What the files of the library share.
 */
#ifndef _WORT_INTERNAL_H
#define _WORT_INTERNAL_H

#include <string.h>
#include <sys/ioctl.h>

#include <wort.h>

#include "reader.h"

#define WORT_API	__attribute__((visibility("default")))

#define WORT_CONTROL_PATH	"/dev/wort-control"

/**
 * struct wort_map - Where lookups find a pool
 * @users: its pool, if that is open, and indexes opened since
 * @addr: the mapping of a device; NULL: the pool is served in this process
 * @len: its length
 * @control: the control page
 * @pool: the pool
 * @size: bytes of the pool
 * @stats: what lookups had to do again
 */
struct wort_map {
	unsigned int users;
	void *addr;
	size_t len;
	const void *control;
	const void *pool;
	uint64_t size;
	struct wort_map_stats stats;
};

/**
 * struct wort_index - An open index
 * @users: its handle, until that is closed, scans begun on it, and atomic batches with
 *	an operation on it
 * @fd: its descriptor
 * @map: a mapping in which it can be read; or NULL
 * @reader: of @map
 */
struct wort_index {
	unsigned int users;
	int fd;
	struct wort_map *map;
	struct wort_reader reader;
};

/* map.c */
int wort_map_open(int pool_fd, struct wort_map **out);
void wort_map_put(struct wort_map *map);
/* Let lookups of an index be made in a mapping, if its engine can be followed. */
int wort_map_index(struct wort_map *map, struct wort_index *index,
		   bool relaxed);
/* Ask the kernel where the root of an index is, if it is still there. */
void wort_map_ask(struct wort_index *index);

/* index.c: take and give back a reference, which the handle, each scan and each
 * atomic batch hold.
 */
void wort_index_hold(struct wort_index *index);
void wort_index_put(struct wort_index *index);

/*
 * batch.c: operations and answers as both kinds of batches pack them.  A request is
 * copied to @req, and @op is all of it but rec_len and the bytes.
 */
int wort_request_read(const struct wort_batch_request *request,
		      struct wort_batch_request *req, struct wort_batch_op *op);
/* The length of an operation that begins with @head bytes. */
uint32_t wort_op_len(const struct wort_batch_op *op, uint32_t head);
/* Write the first bytes, the key and the values, and zeroes up to rec_len. */
void wort_op_pack(unsigned char *to, const void *head, uint32_t head_len,
		  const struct wort_batch_op *op,
		  const struct wort_batch_request *req);
/* Bytes that the answer takes at most. */
uint32_t wort_answer_room(const struct wort_batch_op *op);
/* The answer at @at, which moves on to the next: 1, 0 at the end, or -EBADMSG. */
int wort_answer_next(const unsigned char *answers, uint32_t len, uint32_t *at,
		     struct wort_batch_item *item);

/* ctl.c: what is to be formatted, but for the device. */
int wort_format_read(struct wort_format_arg *arg, const struct wort_format_opts *opts);

/* engine.c: as wort_attr_set(), with a table that an entry without a name ends. */
int wort_attr_set_in(const struct wort_attr *table, const char *text,
		     uint64_t *word);

/* A pointer as the ioctl interface carries it. */
static inline uint64_t wort_ptr(const void *ptr)
{
	return (uintptr_t)ptr;
}

/*
 * The length of a name as the ioctl interface carries it: one of 2^32 bytes must
 * not become short, and one that is too long may stay so by a byte.
 */
static inline uint32_t wort_name_len(const char *name, uint32_t max)
{
	return strnlen(name, max + 1);
}

/*
 * ioctl() and open() that return a negative errno, and close(): of the module's devices,
 * and of pools in files, which are served in this process.
 */
int wort_ioctl(int fd, unsigned long cmd, void *arg);
int wort_open_path(const char *path, int flags);
void wort_close(int fd);

/*
 * Read options, whose first member is their size, into a struct of @size bytes
 * that this library knows.  NULL: all zero.
 */
int wort_opts_read(void *dst, size_t size, const void *opts);

#endif
