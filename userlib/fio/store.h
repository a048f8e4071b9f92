/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Blocks in an index: the key is the number of the block, the value what is in
 * it.  By any of the ways into the module.  With STORE_ATOMIC a block is several records,
 * each with a part of it, of which all or none are written.
 */
#ifndef _WORT_FIO_STORE_H
#define _WORT_FIO_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum store_way {
	STORE_IOCTL,	/* one at a time */
	STORE_BATCH,	/* those queued in one ioctl */
	STORE_URING,	/* io_uring */
	STORE_MAPPED,	/* reads in a mapping, the rest by ioctl */
	STORE_ATOMIC,	/* one at a time, each an atomic batch of several records */
};

enum store_what { STORE_READ, STORE_WRITE, STORE_TRIM };

/**
 * struct store_op - A block to read, write or remove
 * @what: which
 * @block: its number
 * @data: memory of the caller, until the operation is done
 * @len: bytes; of a block that is not there zeroes are read
 * @error: told: 0 or a negative errno; -ERANGE: the block has another length
 * @owner: for the caller
 */
struct store_op {
	enum store_what what;
	uint64_t block;
	void *data;
	size_t len;
	int error;
	void *owner;
};

struct store;

#define STORE_RECORDS_MAX	64

/*
 * @depth: operations that may be queued.  @records: those of a block, for STORE_ATOMIC, at
 * most STORE_RECORDS_MAX.  0 or a negative errno; -EOPNOTSUPP: STORE_URING on a pool in a
 * file.
 */
int store_open(const char *pool, const char *index, enum store_way way,
	       unsigned int depth, unsigned int records, struct store **out);
void store_close(struct store *store);

/* Are operations queued, or are they done when store_queue() returns? */
bool store_queues(const struct store *store);
/* 0; -EBUSY: no room, commit and reap first.  A copy of @op is kept. */
int store_queue(struct store *store, struct store_op *op);
/* Begin what is queued. */
int store_commit(struct store *store);
/* Wait for @min that were begun, take at most @max; how many are done. */
int store_reap(struct store *store, unsigned int min, unsigned int max);
/* One of those, below what store_reap() returned. */
const struct store_op *store_done(const struct store *store, unsigned int nr);

#endif
