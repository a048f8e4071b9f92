/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Descriptors: all that the executors of commands know of the place where they
 * run.
 *
 * The dispatcher and the executors (ioctl.c, cmd*.c) run in the kernel on
 * devices, and in a library on files.  Each of the two supplies these
 * functions.
 */
#ifndef _WORT_FILE_H
#define _WORT_FILE_H

#include <linux/list.h>
#include <linux/types.h>

struct address_space;
struct file;
struct wort_dev;
struct wort_index;
struct wort_pool;

/**
 * struct wort_file - An open descriptor of a pool or an index
 * @wdev: the device, held
 * @index: the index, held; NULL: the descriptor is of the pool
 * @relaxed: opened with WORT_INDEX_OPEN_F_RELAXED
 * @frozen: the pool is held for it; under wort_pool.lock
 * @mapped: in wort_dax.mapped, if it was ever mapped
 * @mapping: its address space then
 */
struct wort_file {
	struct wort_dev *wdev;
	struct wort_index *index;
	bool relaxed;
	bool frozen;
	struct list_head mapped;
	struct address_space *mapping;
};

/*
 * Begin and end to use the memory of the pool.  Between the two the pool stays;
 * NULL: it has been detached, or its memory is gone.
 */
struct wort_pool *wort_file_enter(struct wort_file *wfile);
void wort_file_exit(struct wort_file *wfile);
/* Before that: ask who drives the memory which of it has gone bad.  0, or -EINTR. */
int wort_file_learn_bad(struct wort_file *wfile);
/*
 * Between the two: carry out an atomic batch on its pool, as
 * wort_pool_atomic().
 */
int wort_file_atomic(struct wort_file *wfile, struct wort_atomic *batch);

/* The index that a descriptor is; NULL: it is something else. */
struct wort_file *wort_index_file(struct file *filp);
/*
 * A file that will be an index: wort_file.index is not set.  Or an ERR_PTR().
 */
struct file *wort_index_file_make(struct wort_file *pool, bool write);

/* ioctl.c */
long wort_ioctl_control(struct file *filp, unsigned int cmd, unsigned long arg);
long wort_ioctl_pool(struct file *filp, unsigned int cmd, unsigned long arg);
long wort_ioctl_index(struct file *filp, unsigned int cmd, unsigned long arg);

#endif /* _WORT_FILE_H */
