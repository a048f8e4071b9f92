// SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT
/*
 * Records stored through io_uring, several under way at any time, and one
 * read after it was stored.  With liburing (Debian: liburing-dev).
 *
 *	cc -Iuapi -Iuserlib/include -o uring-example Documentation/examples/uring.c \
 *		-luring
 *	sudo ./uring-example /dev/wort0
 */
#include <err.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/wort.h>
#include <wort_uring.h>

#define DEPTH		16
#define NR_RECORDS	100

/* The kernel reads these while a command is under way. */
struct record {
	struct wort_insert_arg arg;
	char key[16];
	int value;
};

static int open_index(const char *path, const char *name)
{
	struct wort_index_open_arg arg = {
		.size = sizeof(arg),
		.flags = WORT_INDEX_OPEN_F_CREATE,
		.name_ptr = (uintptr_t)name,
		.name_len = strlen(name),
	};
	int pool = open(path, O_RDWR | O_CLOEXEC);

	if (pool < 0)
		err(1, "%s", path);
	if (ioctl(pool, WORT_IOC_INDEX_OPEN, &arg))
		err(1, "open %s", name);
	close(pool);
	return arg.out_fd;
}

static struct io_uring_sqe *get_sqe(struct io_uring *ring)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	if (!sqe)
		errx(1, "the ring is full");
	return sqe;
}

static struct io_uring_sqe *put(struct io_uring *ring, int index,
				struct record *rec, int i)
{
	struct io_uring_sqe *sqe = get_sqe(ring);

	rec->value = i;
	rec->arg = (struct wort_insert_arg){
		.size = sizeof(rec->arg),
		.key_ptr = (uintptr_t)rec->key,
		.key_len = snprintf(rec->key, sizeof(rec->key), "key %02d", i),
		.value_ptr = (uintptr_t)&rec->value,
		.value_len = sizeof(rec->value),
	};
	wort_uring_prep(sqe, index, WORT_IOC_INSERT, &rec->arg);
	io_uring_sqe_set_data(sqe, rec);
	return sqe;
}

/* What was done is durable when its CQE is there. */
static struct record *wait_one(struct io_uring *ring)
{
	struct io_uring_cqe *cqe;
	struct record *rec;
	int res = io_uring_submit_and_wait(ring, 1);

	if (res >= 0)
		res = io_uring_peek_cqe(ring, &cqe);
	if (res)
		errx(1, "io_uring: %s", strerror(-res));
	if (cqe->res)
		errx(1, "command: %s", strerror(-cqe->res));
	rec = io_uring_cqe_get_data(cqe);
	io_uring_cqe_seen(ring, cqe);
	return rec;
}

static void store_all(struct io_uring *ring, int index)
{
	static struct record records[DEPTH];
	int i;

	for (i = 0; i < NR_RECORDS; i++)
		put(ring, index, i < DEPTH ? &records[i] : wait_one(ring), i);
	for (i = 0; i < DEPTH; i++)
		wait_one(ring);
	printf("%d durable\n", NR_RECORDS);
}

/* Commands run in any order, unless they are linked. */
static void store_and_read(struct io_uring *ring, int index)
{
	static struct record rec;
	int value = 0;
	struct wort_lookup_arg arg = {
		.size = sizeof(arg),
		.key_ptr = (uintptr_t)rec.key,
		.value_ptr = (uintptr_t)&value,
		.value_len = sizeof(value),
	};

	put(ring, index, &rec, 42)->flags |= IOSQE_IO_LINK;
	arg.key_len = rec.arg.key_len;
	wort_uring_prep(get_sqe(ring), index, WORT_IOC_LOOKUP, &arg);
	wait_one(ring);
	wait_one(ring);
	printf("%s is %d\n", rec.key, value);
}

int main(int argc, char **argv)
{
	int index = open_index(argc > 1 ? argv[1] : "/dev/wort0", "uring");
	struct io_uring ring;
	int res = io_uring_queue_init(DEPTH, &ring, 0);

	if (res)
		errx(1, "io_uring: %s", strerror(-res));
	store_all(&ring, index);
	store_and_read(&ring, index);
	io_uring_queue_exit(&ring);
	close(index);
	return 0;
}
