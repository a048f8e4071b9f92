// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Descriptors of pools and indexes in files.
 *
 * Each is a descriptor that the kernel has given the process, so that no other file gets its
 * number; a table says which handle belongs to it.  The executors that the module has for its
 * ioctls carry out commands on it.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <linux/err.h>
#include <linux/file.h>

#include "local.h"
#include "pool.h"

#define CHUNK		1024
#define NR_CHUNKS	1024

/* Chunks are made when they are needed, and stay. */
static struct file **chunks[NR_CHUNKS];

static struct file **slot(unsigned int fd, bool make)
{
	struct file **none = NULL, **chunk;

	if (fd >= CHUNK * NR_CHUNKS)
		return NULL;
	chunk = __atomic_load_n(&chunks[fd / CHUNK], __ATOMIC_ACQUIRE);
	if (!chunk && make) {
		chunk = calloc(CHUNK, sizeof(*chunk));
		if (chunk && !__atomic_compare_exchange_n(&chunks[fd / CHUNK], &none, chunk,
							  false, __ATOMIC_ACQ_REL,
							  __ATOMIC_ACQUIRE)) {
			free(chunk);
			chunk = none;
		}
	}
	return chunk ? &chunk[fd % CHUNK] : NULL;
}

static struct file *file_of(int fd)
{
	struct file **at = fd < 0 ? NULL : slot(fd, false);

	return at ? __atomic_load_n(at, __ATOMIC_ACQUIRE) : NULL;
}

struct file *fget(unsigned int fd)
{
	struct file *filp = file_of(fd);

	if (filp)
		__atomic_add_fetch(&filp->users, 1, __ATOMIC_RELAXED);
	return filp;
}

void fput(struct file *filp)
{
	struct wort_file *wfile = filp->private_data;

	if (__atomic_sub_fetch(&filp->users, 1, __ATOMIC_ACQ_REL))
		return;
	if (local_pool_usable(wfile->wdev)) {
		if (wfile->frozen)
			wort_pool_release(wfile->wdev->pool, &wfile->frozen);
		if (wfile->index)
			wort_index_put(wfile->index);
	}
	local_pool_put(wfile->wdev);
	free(wfile);
	free(filp);
}

/*
 * A descriptor on which the kernel refuses what a program asks of it by itself: read, write,
 * ioctl and the commands of io_uring, which /dev/null would answer with success.  It waits for
 * no signal.
 */
int get_unused_fd_flags(unsigned int flags)
{
	int fd, err = -ENOMEM;
	sigset_t none;

	sigemptyset(&none);
	fd = signalfd(-1, &none, SFD_CLOEXEC | SFD_NONBLOCK);

	if (fd < 0)
		return -errno;
	if (slot(fd, true))
		return fd;
	close(fd);
	return err;
}

void put_unused_fd(unsigned int fd)
{
	close(fd);
}

void fd_install(unsigned int fd, struct file *filp)
{
	__atomic_store_n(slot(fd, true), filp, __ATOMIC_RELEASE);
}

/* A file of a pool, which it takes over. */
static struct file *make_file(struct wort_dev *wdev, bool write)
{
	struct wort_file *wfile = calloc(1, sizeof(*wfile));
	struct file *filp = calloc(1, sizeof(*filp));

	if (!wfile || !filp) {
		free(wfile);
		free(filp);
		return NULL;
	}
	wfile->wdev = wdev;
	*filp = (struct file){
		.f_mode = write ? FMODE_WRITE : 0,
		.users = 1,
		.private_data = wfile,
	};
	return filp;
}

struct file *wort_index_file_make(struct wort_file *pool, bool write)
{
	struct file *filp = make_file(pool->wdev, write);

	if (!filp)
		return ERR_PTR(-ENOMEM);
	local_pool_hold(pool->wdev);
	return filp;
}

struct wort_file *wort_index_file(struct file *filp)
{
	struct wort_file *wfile = filp->private_data;

	return wfile->index ? wfile : NULL;
}

/* A file of which nothing more can be written, or of another process, is as memory that is gone. */
struct wort_pool *wort_file_enter(struct wort_file *wfile)
{
	const struct wort_dev *wdev = wfile->wdev;

	if ((wdev->sync && READ_ONCE(wdev->sync->error)) || !local_pool_usable(wdev))
		return NULL;
	return wdev->pool;
}

void wort_file_exit(struct wort_file *wfile)
{
}

/* Nobody tells of bad pages of a file. */
int wort_file_learn_bad(struct wort_file *wfile)
{
	return 0;
}

/* No timer runs here: gates stay once a batch has come. */
int wort_file_atomic(struct wort_file *wfile, struct wort_atomic *batch)
{
	return wort_pool_atomic(wfile->wdev->pool, batch);
}

/* There is no control device, therefore the dispatcher never gets here. */
int wort_cmd_format(struct wort_call *call, void *data)
{
	return -ENOTTY;
}

int wort_cmd_attach(struct wort_call *call, void *data)
{
	return -ENOTTY;
}

int wort_cmd_detach(struct wort_call *call, void *data)
{
	return -ENOTTY;
}

int wort_cmd_list(struct wort_call *call, void *data)
{
	return -ENOTTY;
}

int wort_local_open(const char *path, int flags, bool process, unsigned int wait_ms)
{
	struct wort_dev *wdev;
	struct file *filp;
	int fd, err;

	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	err = local_pool_get(path, flags, process, wait_ms, &wdev);
	if (err) {
		put_unused_fd(fd);
		return err;
	}
	filp = make_file(wdev, (flags & O_ACCMODE) != O_RDONLY);
	if (!filp) {
		local_pool_put(wdev);
		put_unused_fd(fd);
		return -ENOMEM;
	}
	fd_install(fd, filp);
	return fd;
}

bool wort_local_owns(int fd)
{
	return file_of(fd);
}

void wort_local_close(int fd)
{
	struct file **at = slot(fd, false);

	fput(__atomic_exchange_n(at, NULL, __ATOMIC_ACQ_REL));
	close(fd);
}

static void tell_flush(const struct wort_dev *wdev, struct wort_pool_info_arg *info)
{
	if (info->size < offsetofend(struct wort_pool_info_arg, out_flush))
		return;
	if (wdev->process)
		info->out_flush = WORT_FLUSH_PROCESS;
	else if (!wdev->sync || wdev->sync->way == SYNC_PAGES)
		info->out_flush = WORT_FLUSH_PAGES;
}

/* What an operation has told although it is not durable. */
static void take_back(unsigned long cmd, void *arg, long err)
{
	struct wort_index_open_arg *open = arg;
	struct wort_batch_arg *batch = arg;

	if (cmd == WORT_IOC_INDEX_OPEN && !err) {
		wort_local_close(open->out_fd);
		open->out_fd = -1;
	} else if (cmd == WORT_IOC_BATCH) {
		batch->out_done = 0;
		batch->out_failed = 0;
		batch->out_results_len = 0;
	}
}

int wort_local_ioctl(int fd, unsigned long cmd, void *arg)
{
	struct file *filp = file_of(fd);
	struct wort_file *wfile = filp->private_data;
	const struct wort_dev *wdev = wfile->wdev;
	long err;

	err = wfile->index ? wort_ioctl_index(filp, cmd, (unsigned long)arg) :
			     wort_ioctl_pool(filp, cmd, (unsigned long)arg);
	/* What could not be written is not acknowledged, whatever it was. */
	if (wdev->sync && READ_ONCE(wdev->sync->error)) {
		WRITE_ONCE(wdev->pool->locks.control->state, WORT_MAP_DEAD);
		take_back(cmd, arg, err);
		return -EIO;
	}
	if (!err && cmd == WORT_IOC_POOL_INFO)
		tell_flush(wdev, arg);
	return err;
}

void wort_local_map(int fd, const void **control, const void **pool, uint64_t *size)
{
	const struct wort_file *wfile = file_of(fd)->private_data;
	const struct wort_dev *wdev = wfile->wdev;

	*control = wdev->pool->locks.control;
	*pool = wdev->region.base;
	*size = le64_to_cpu(wdev->pool->sb.pool_size);
}
