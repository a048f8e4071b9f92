// SPDX-License-Identifier: GPL-2.0-only
/*
 * An engine for fio: a block is a record of an index.  Reads are lookups, writes
 * inserts or updates, durable when they end; trims are deletes.
 *
 *	fio --ioengine=external:wort-fio.so --wort_pool=/dev/wort0 ...
 *
 * Built against the source of the fio that is to load it.
 */
#include <stddef.h>
#include <string.h>

#include "fio.h"
#include "optgroup.h"

#include "store.h"

struct wort_options {
	void *pad;		/* fio takes no option at offset 0 */
	char *pool;
	char *index;
	unsigned int way;
	unsigned int atomic;
};

static struct fio_option options[] = {
	{
		.name = "wort_pool",
		.lname = "wort: pool",
		.type = FIO_OPT_STR_STORE,
		.off1 = offsetof(struct wort_options, pool),
		.def = "/dev/wort0",
		.help = "Device of an attached pool",
		.category = FIO_OPT_C_ENGINE,
		.group = FIO_OPT_G_INVALID,
	},
	{
		.name = "wort_index",
		.lname = "wort: index",
		.type = FIO_OPT_STR_STORE,
		.off1 = offsetof(struct wort_options, index),
		.def = "fio",
		.help = "Name of the index, which is made if it is not there",
		.category = FIO_OPT_C_ENGINE,
		.group = FIO_OPT_G_INVALID,
	},
	{
		.name = "wort_way",
		.lname = "wort: way into the module",
		.type = FIO_OPT_STR,
		.off1 = offsetof(struct wort_options, way),
		.def = "ioctl",
		.help = "How an operation reaches the module",
		.posval = {
			{ .ival = "ioctl", .oval = STORE_IOCTL,
			  .help = "One at a time" },
			{ .ival = "batch", .oval = STORE_BATCH,
			  .help = "Up to iodepth in one ioctl" },
			{ .ival = "uring", .oval = STORE_URING,
			  .help = "Through io_uring" },
			{ .ival = "mapped", .oval = STORE_MAPPED,
			  .help = "Reads in a mapping, the rest by ioctl" },
		},
		.category = FIO_OPT_C_ENGINE,
		.group = FIO_OPT_G_INVALID,
	},
	{
		.name = "wort_atomic",
		.lname = "wort: records of an atomic batch",
		.type = FIO_OPT_INT,
		.off1 = offsetof(struct wort_options, atomic),
		.def = "0",
		.maxval = STORE_RECORDS_MAX,
		.help = "Each I/O is an atomic batch of so many records, by ioctl",
		.category = FIO_OPT_C_ENGINE,
		.group = FIO_OPT_G_INVALID,
	},
	{ }
};

static struct store *store_of(struct thread_data *td)
{
	return td->io_ops_data;
}

static enum store_what what_of(const struct io_u *io_u)
{
	return io_u->ddir == DDIR_READ ? STORE_READ :
	       io_u->ddir == DDIR_WRITE ? STORE_WRITE : STORE_TRIM;
}

static enum fio_q_status wort_queue(struct thread_data *td, struct io_u *io_u)
{
	struct store_op op = {
		.what = what_of(io_u),
		.block = io_u->offset / td->o.min_bs[DDIR_READ],
		.data = io_u->xfer_buf,
		.len = io_u->xfer_buflen,
		.owner = io_u,
	};

	fio_ro_check(td, io_u);
	/* What was written is durable. */
	if (ddir_sync(io_u->ddir))
		return FIO_Q_COMPLETED;
	if (store_queue(store_of(td), &op))
		return FIO_Q_BUSY;
	if (store_queues(store_of(td)))
		return FIO_Q_QUEUED;
	io_u->error = -op.error;
	return FIO_Q_COMPLETED;
}

static int wort_commit(struct thread_data *td)
{
	return store_commit(store_of(td));
}

static int wort_getevents(struct thread_data *td, unsigned int min,
			  unsigned int max, const struct timespec *limit)
{
	return store_reap(store_of(td), min, max);
}

static struct io_u *wort_event(struct thread_data *td, int nr)
{
	const struct store_op *op = store_done(store_of(td), nr);
	struct io_u *io_u = op->owner;

	io_u->error = -op->error;
	return io_u;
}

/* There are no files: all blocks of a job are in its index. */
static int wort_open_file(struct thread_data *td, struct fio_file *file)
{
	return 0;
}

/* The number of a block is its key: all blocks of a job are as large, and of one file. */
static bool has_one_size(const struct thread_data *td)
{
	unsigned int ddir, size = td->o.min_bs[DDIR_READ];

	for (ddir = 0; ddir < DDIR_RWDIR_CNT; ddir++)
		if (td->o.min_bs[ddir] != size || td->o.max_bs[ddir] != size)
			return false;
	return td->o.nr_files == 1;
}

/*
 * Unless an engine is synchronous fio takes the time of completion from after the I/O on.
 * Threads have the flags of the engine in common, and copy them.
 */
static void tell_way(struct thread_data *td, bool queues)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&lock);
	if (queues)
		td->io_ops->flags &= ~FIO_SYNCIO;
	else
		td->io_ops->flags |= FIO_SYNCIO;
	td_set_ioengine_flags(td);
	pthread_mutex_unlock(&lock);
}

static int wort_init(struct thread_data *td)
{
	const struct wort_options *o = td->eo;
	enum store_way way = o->atomic ? STORE_ATOMIC : o->way;
	struct store *store;
	int err;

	if (!has_one_size(td)) {
		log_err("wort: one block size for reads, writes and trims, and nrfiles=1\n");
		return 1;
	}
	err = store_open(o->pool, o->index, way, td->o.iodepth, o->atomic, &store);
	if (err) {
		log_err("wort: %s, index %s: %s\n", o->pool, o->index,
			strerror(-err));
		return 1;
	}
	td->io_ops_data = store;
	tell_way(td, store_queues(store));
	return 0;
}

static void wort_cleanup(struct thread_data *td)
{
	if (store_of(td))
		store_close(store_of(td));
	td->io_ops_data = NULL;
}

struct ioengine_ops ioengine = {
	.name = "wort",
	.version = FIO_IOOPS_VERSION,
	.flags = FIO_DISKLESSIO | FIO_NODISKUTIL,
	.init = wort_init,
	.cleanup = wort_cleanup,
	.open_file = wort_open_file,
	.queue = wort_queue,
	.commit = wort_commit,
	.getevents = wort_getevents,
	.event = wort_event,
	.options = options,
	.option_struct_size = sizeof(struct wort_options),
};
