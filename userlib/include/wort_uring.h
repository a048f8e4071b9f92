/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A command of io_uring for a pool or an index.  With liburing, include
 * <liburing.h> before; nothing of libwort is needed.
 */
#ifndef _WORT_URING_H
#define _WORT_URING_H

#include <stdint.h>
#include <string.h>

#ifndef LINUX_IO_URING_H
#include <linux/io_uring.h>
#endif
#include <linux/wort.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * wort_uring_prep() - Fill in an SQE
 * @sqe: All of its 64 bytes are written; user_data is 0.
 * @fd: Descriptor of a pool or an index.
 * @op: WORT_IOC_*
 * @arg: Argument of that ioctl.  It and the memory that it refers to stay
 *	untouched until the CQE is there.
 *
 * IOSQE_ASYNC is set, and has to stay; other flags may be added.
 */
static inline void wort_uring_prep(struct io_uring_sqe *sqe, int fd,
				   uint32_t op, void *arg)
{
	struct wort_uring_cmd cmd;

	memset(&cmd, 0, sizeof(cmd));
	cmd.arg_ptr = (uintptr_t)arg;
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->flags = IOSQE_ASYNC;
	sqe->fd = fd;
	sqe->cmd_op = op;
	memcpy(sqe->cmd, &cmd, sizeof(cmd));
}

#ifdef __cplusplus
}
#endif

#endif /* _WORT_URING_H */
