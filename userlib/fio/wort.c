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

#include <linux/wort.h>

#include "store.h"

#define RING_MAX	32768	/* entries that io_uring has at most */

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
		.help = "Device of an attached pool, or a file with a pool",
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

static int error_of(const struct store_op *op)
{
	if (op->error == -ERANGE)
		log_err("wort: block %llu has another length: the index was filled with another bs or wort_atomic\n",
			(unsigned long long)op->block);
	return -op->error;
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
	io_u->error = error_of(&op);
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

	io_u->error = error_of(op);
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

/* What of a job cannot be done, or NULL. */
static const char *refusal(const struct thread_data *td, enum store_way way)
{
	const struct wort_options *o = td->eo;
	unsigned int records = o->atomic ? o->atomic : 1;

	if (!has_one_size(td))
		return "one block size for reads, writes and trims, and nrfiles=1";
	if (records > STORE_RECORDS_MAX)
		return "wort_atomic is at most 64";
	if (td->o.min_bs[DDIR_READ] / records > WORT_VALUE_MAX)
		return "a record has at most 64 KiB: a smaller bs, or more of wort_atomic";
	if (way == STORE_URING && td->o.iodepth > RING_MAX)
		return "io_uring takes an iodepth of at most 32768";
	return NULL;
}

static const char *reason(int err, enum store_way way)
{
	if (err == -EOPNOTSUPP && way == STORE_URING)
		return "a file takes no commands of io_uring: wort_way=ioctl, batch or mapped";
	switch (-err) {
	case EAGAIN:
		return "another process has the file open; jobs on a file need \"thread\"";
	case ENOTTY:
		return "it is not the device of a pool";
	case ENODATA:
		return "there is no pool in the file: wort format makes one";
	default:
		return strerror(-err);
	}
}

static int wort_init(struct thread_data *td)
{
	const struct wort_options *o = td->eo;
	enum store_way way = o->atomic ? STORE_ATOMIC : o->way;
	const char *why = refusal(td, way);
	struct store *store;
	int err;

	if (why) {
		log_err("wort: %s\n", why);
		return 1;
	}
	err = store_open(o->pool, o->index, way, td->o.iodepth, o->atomic, &store);
	if (err) {
		log_err("wort: %s, index %s: %s\n", o->pool, o->index, reason(err, way));
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
