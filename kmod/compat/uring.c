// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands through io_uring: the header, where the bytes of a command lie, and
 * the numbers of the flags are not the same everywhere.  Nothing is called of
 * io_uring, so a kernel without it will do: it never asks.
 */
#include <linux/io_uring_types.h>

#if KERNEL_VERSION(6, 9, 0) <= LINUX_VERSION_CODE

#include <linux/io_uring/cmd.h>

static const void *bytes_of(const struct io_uring_cmd *ioucmd)
{
	return ioucmd->sqe->cmd;
}

#else

#include <linux/io_uring.h>

static const void *bytes_of(const struct io_uring_cmd *ioucmd)
{
	return ioucmd->cmd;
}

#endif

/* Above these the kernel has flags of its own. */
#define FLAGS_OF_PROGRAM	GENMASK(23, 0)

/* Whether it goes to a worker at once, as IOSQE_ASYNC asks. */
static bool is_async(struct io_uring_cmd *ioucmd)
{
	return !!(cmd_to_io_kiocb(ioucmd)->flags & REQ_F_FORCE_ASYNC);
}

/**
 * compat_uring_read() - Read a command
 * @ioucmd: The command.
 * @issue_flags: How it is issued.
 * @out: What it says.  It may lie in memory that the program can change, so
 *	it is read once.
 *
 * Context: Any context.
 */
void compat_uring_read(struct io_uring_cmd *ioucmd, unsigned int issue_flags,
		       struct compat_uring *out)
{
	const u64 *bytes = bytes_of(ioucmd);

	out->file = ioucmd->file;
	out->op = ioucmd->cmd_op;
	out->bytes[0] = READ_ONCE(bytes[0]);
	out->bytes[1] = READ_ONCE(bytes[1]);
	out->nonblock = !!(issue_flags & IO_URING_F_NONBLOCK);
	out->plain = is_async(ioucmd) && !(issue_flags & IO_URING_F_SQE128) &&
		     !(ioucmd->flags & FLAGS_OF_PROGRAM);
}
