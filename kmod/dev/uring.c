// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands through io_uring: the ioctl with the same number, in a worker.
 *
 * Every operation can sleep: it copies memory of the program, takes the lock
 * of an index, waits for a check.  So none is tried where io_uring submits.
 * Its worker has the memory, the descriptors and the credentials of whoever
 * submitted, and the request holds the file: what holds for an ioctl holds
 * here.
 *
 * IOSQE_ASYNC is demanded, although -EAGAIN would bring a command to a worker,
 * too: there Linux 6.12 looks for its bytes in the SQE again, where the program
 * may have put another command meanwhile.  With the flag they are copied when
 * it is submitted, also behind a link.
 *
 * Nothing is to be cancelled.  io_uring drops what no worker has taken up yet.  An
 * operation under way ends soon unless it waits for others: for a pool to be thawed, say.
 * A fatal signal, which the workers of a process share, ends that; closing the ring does
 * not.
 */
#include <linux/freezer.h>

#include "wort_dev.h"

/**
 * wort_uring_issue() - A command on a pool or an index
 * @ioucmd: The command.
 * @issue_flags: How it is issued.
 *
 * Context: May sleep, unless told not to.
 * Return: 0; -EAGAIN if it must not sleep, which io_uring keeps to itself; or
 * an error that uapi/linux/wort.h tells of.
 */
int wort_uring_issue(struct io_uring_cmd *ioucmd, unsigned int issue_flags)
{
	struct wort_uring_cmd cmd;
	struct compat_uring seen;
	long err;

	BUILD_BUG_ON(sizeof(cmd) != sizeof(seen.bytes));
	compat_uring_read(ioucmd, issue_flags, &seen);
	if (!seen.plain)
		return -EOPNOTSUPP;
	if (seen.nonblock)
		return -EAGAIN;
	memcpy(&cmd, seen.bytes, sizeof(cmd));
	if (cmd.flags)
		return -EOPNOTSUPP;
	if (cmd.__reserved)
		return -EINVAL;
	/*
	 * The kernel begins a system call that ends so again, but not a command
	 * in a worker.
	 */
	do {
		try_to_freeze();
		err = seen.file->f_op->unlocked_ioctl(seen.file, seen.op,
						      cmd.arg_ptr);
	} while (err == -ERESTARTNOINTR);
	return err;
}
