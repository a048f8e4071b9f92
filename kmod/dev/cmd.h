/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Executors: one for each command, by ioctl or io_uring.
 *
 * The caller has verified that the argument is complete and its reserved fields
 * are zero, and that the descriptor is of the right kind, and open for writing
 * if the command always changes something.  The executor checks flags and
 * ranges, copies user memory before the operation begins and after it has
 * ended, and sets the ``out_`` fields also if it fails.
 */
#ifndef _WORT_CMD_H
#define _WORT_CMD_H

#include <linux/sizes.h>

#include "../pool/pool.h"
#include "file.h"

/**
 * struct wort_call - A command under way
 * @wfile: private part of the descriptor; NULL: the control device
 * @write: the descriptor is open for writing
 * @new_file: set by the executor: a file that will be installed in its
 *	descriptor, which is reserved already
 */
struct wort_call {
	struct wort_file *wfile;
	bool write;
	struct file *new_file;
};

typedef int wort_cmd_fn(struct wort_call *call, void *data);

/* control.c: on /dev/wort-control */
wort_cmd_fn wort_cmd_format;
wort_cmd_fn wort_cmd_attach;
wort_cmd_fn wort_cmd_detach;
wort_cmd_fn wort_cmd_list;

/* cmd_pool.c: on a pool */
wort_cmd_fn wort_cmd_index_open;
wort_cmd_fn wort_cmd_index_list;
wort_cmd_fn wort_cmd_index_destroy;
wort_cmd_fn wort_cmd_index_rename;
wort_cmd_fn wort_cmd_pool_info;
wort_cmd_fn wort_cmd_check;
wort_cmd_fn wort_cmd_freeze;

/* cmd.c: on an index */
wort_cmd_fn wort_cmd_insert;
wort_cmd_fn wort_cmd_cas;
wort_cmd_fn wort_cmd_lookup;
wort_cmd_fn wort_cmd_delete;
wort_cmd_fn wort_cmd_index_info;
wort_cmd_fn wort_cmd_stats;

/* cmd_bulk.c: on an index, with large buffers */
wort_cmd_fn wort_cmd_scan;
wort_cmd_fn wort_cmd_batch;

/* cmd_atomic.c: on several indexes */
wort_cmd_fn wort_cmd_atomic;

/*
 * A call with larger buffers is carried out in pieces of this size, so that
 * many concurrent calls need little memory.  One piece has room for the largest
 * record of a scan, operation of a batch, and answer.
 */
#define WORT_PIECE_SIZE		SZ_256K

#define WORT_UBUF_SMALL		64

/**
 * struct wort_ubuf - A copy of user memory, or memory to be copied there
 * @data: the bytes
 * @small: holds them if there are at most WORT_UBUF_SMALL
 */
struct wort_ubuf {
	u8 *data;
	u8 small[WORT_UBUF_SMALL];
};

int wort_ubuf_alloc(struct wort_ubuf *buf, u32 len);
int wort_ubuf_read(struct wort_ubuf *buf, u64 uptr, u32 len);
int wort_ubuf_write(const struct wort_ubuf *buf, u64 uptr, u32 len);
void wort_ubuf_free(struct wort_ubuf *buf);
int wort_name_read(struct wort_ubuf *buf, u64 uptr, u32 len, u32 max);

#endif /* _WORT_CMD_H */
