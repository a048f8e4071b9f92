// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands through io_uring.
 */
#include <limits.h>
#include <liburing.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include <wort_uring.h>

#include "wort_test.h"

#define DEPTH	128

union arg {
	struct wort_index_open_arg index_open;
	struct wort_index_list_arg index_list;
	struct wort_pool_info_arg pool_info;
	struct wort_check_arg check;
	struct wort_insert_arg insert;
	struct wort_lookup_arg lookup;
	struct wort_delete_arg delete;
	struct wort_scan_arg scan;
	struct wort_batch_arg batch;
	struct wort_atomic_arg atomic;
	struct wort_index_info_arg info;
	struct wort_stats_arg stats;
	__u32 word[128];
};

FIXTURE(uring)
{
	struct pool pool;
	struct io_uring ring;
	int fd;
};

FIXTURE_SETUP(uring)
{
	ASSERT_EQ(0, pool_up(&self->pool));
	self->fd = open_index(self->pool.fd, "index", WORT_INDEX_OPEN_F_CREATE);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, io_uring_queue_init(DEPTH, &self->ring, 0));
}

FIXTURE_TEARDOWN(uring)
{
	io_uring_queue_exit(&self->ring);
	close(self->fd);
	pool_down(&self->pool);
}

/* The rings have room for all that is put there. */
static struct io_uring_sqe *get_sqe(struct io_uring *ring)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	if (!sqe)
		abort();
	return sqe;
}

/* The answer to what was put in the ring, which is all there is. */
static int answer(struct io_uring *ring)
{
	struct io_uring_cqe *cqe;
	int res;

	if (io_uring_submit(ring) < 0 || io_uring_wait_cqe(ring, &cqe))
		return -ENOMSG;
	res = cqe->res;
	io_uring_cqe_seen(ring, cqe);
	return res;
}

static int issue(struct io_uring *ring, int fd, unsigned long cmd, void *arg)
{
	wort_uring_prep(get_sqe(ring), fd, cmd, arg);
	return answer(ring);
}

/* ---- every operation answers as by ioctl ---- */

enum on { ON_INDEX, ON_READER, ON_POOL, NR_ON };

struct step {
	unsigned long cmd;
	int want;
	enum on on;
	union arg arg;
};

/* Packed operations: insert "b1", look it up, delete what is not there. */
static const struct {
	struct wort_batch_op op1;
	char data1[8];
	struct wort_batch_op op2;
	char data2[8];
	struct wort_batch_op op3;
	char data3[8];
} packed = {
	{ 32, WORT_BATCH_INSERT, 0, 2, 0, 5, 0 }, "b1value",
	{ 32, WORT_BATCH_LOOKUP, 0, 2, 0, 0, 16 }, "b1",
	{ 32, WORT_BATCH_DELETE, 0, 4, 0, 0, 0 }, "none",
};

/* The same, all or none: what is to be deleted must exist. */
static const struct {
	struct wort_atomic_op op1;
	char data1[8];
	struct wort_atomic_op op2;
	char data2[8];
	struct wort_atomic_op op3;
	char data3[8];
} all_or_none = {
	{ { 40, WORT_BATCH_INSERT, 0, 2, 0, 5, 0 }, 0, 0 }, "a1value",
	{ { 40, WORT_BATCH_LOOKUP, 0, 2, 0, 0, 16 }, 0, 0 }, "a1",
	{ { 40, WORT_BATCH_DELETE, 0, 4, 0, 0, 0 }, 0, 0 }, "none",
};

static char out[1024] __attribute__((aligned(8)));

#define STEP_ON(where, member, command, error, ...)			\
	{ .cmd = WORT_IOC_##command, .want = error, .on = where,	\
	  .arg.member = { .size = sizeof(struct wort_##member##_arg),	\
			  ##__VA_ARGS__ } }
#define STEP(...)	STEP_ON(ON_INDEX, __VA_ARGS__)
#define KEY(text)	.key_ptr = PTR(text), .key_len = sizeof(text) - 1
#define VALUE(text)	.value_ptr = PTR(text), .value_len = sizeof(text) - 1
#define OUT(member, len) .member##_ptr = PTR(out), .member##_len = len

/* Where nothing can be mapped. */
#define BAD	8

/* On two new indexes: through one by ioctl, through the other by the ring. */
static const struct step steps[] = {
	STEP(lookup, LOOKUP, -ENOENT, KEY("key"), OUT(value, 64)),
	STEP(delete, DELETE, -ENOENT, KEY("key")),
	STEP(insert, INSERT, -ENOENT, KEY("key"), VALUE("v"),
	     .flags = WORT_INSERT_F_REPLACE),
	STEP(insert, INSERT, 0, KEY("key"), VALUE("value"),
	     .flags = WORT_INSERT_F_CREATE),
	STEP(insert, INSERT, -EEXIST, KEY("key"), VALUE("v"),
	     .flags = WORT_INSERT_F_CREATE),
	STEP(insert, INSERT, -EINVAL, KEY("key"), .flags = 3),
	STEP(insert, INSERT, -EOPNOTSUPP, KEY("key"), .flags = 1U << 31),
	STEP(insert, INSERT, -EINVAL, KEY("")),
	STEP(insert, INSERT, -EMSGSIZE, .key_len = WORT_KEY_MAX + 1),
	STEP(insert, INSERT, -EMSGSIZE, KEY("key"),
	     .value_len = WORT_VALUE_MAX + 1),
	STEP(insert, INSERT, -EFAULT, .key_ptr = BAD, .key_len = 1),
	STEP(insert, INSERT, -EFAULT, KEY("key"), .value_ptr = BAD,
	     .value_len = 1),
	STEP(insert, INSERT, 0, KEY("key2"), VALUE("another")),
	STEP(insert, INSERT, 0, KEY("key3"), VALUE("")),
	STEP(lookup, LOOKUP, 0, KEY("key"), OUT(value, 64)),
	STEP(lookup, LOOKUP, -ERANGE, KEY("key2"), OUT(value, 3)),
	STEP(lookup, LOOKUP, -EFAULT, KEY("key"), .value_ptr = BAD,
	     .value_len = 64),
	STEP(lookup, LOOKUP, -EINVAL, KEY("key"), .__reserved = 1),
	{ WORT_IOC_LOOKUP, -EINVAL, ON_INDEX, { .word = { 8 } } },
	{ WORT_IOC_LOOKUP, -E2BIG, ON_INDEX, { .word = { 512, [100] = 1 } } },
	{ WORT_IOC_LOOKUP, -EINVAL, ON_INDEX, { .word = { 512 } } },
	STEP(scan, SCAN, 0, OUT(buf, sizeof(out))),
	STEP(scan, SCAN, 0, OUT(buf, sizeof(out)), .max_count = 2,
	     .flags = WORT_SCAN_F_REVERSE),
	STEP(scan, SCAN, 0, OUT(buf, sizeof(out)), .start_ptr = PTR("key"),
	     .start_len = 3, .flags = WORT_SCAN_F_AFTER | WORT_SCAN_F_KEYS),
	STEP(scan, SCAN, 0, OUT(buf, sizeof(out)), .flags = WORT_SCAN_F_COUNT),
	STEP(scan, SCAN, -ERANGE, OUT(buf, 8)),
	STEP(scan, SCAN, -EMSGSIZE, .buf_len = WORT_BUF_MAX + 1),
	STEP(scan, SCAN, -EOPNOTSUPP, .flags = 1U << 31),
	STEP(batch, BATCH, 0, .ops_ptr = PTR(&packed), .nr_ops = 3,
	     .ops_len = sizeof(packed), OUT(results, sizeof(out))),
	STEP(batch, BATCH, -ERANGE, .ops_ptr = PTR(&packed), .nr_ops = 3,
	     .ops_len = sizeof(packed), OUT(results, 24)),
	STEP(batch, BATCH, -EINVAL, .ops_ptr = PTR(&packed), .nr_ops = 4,
	     .ops_len = sizeof(packed), OUT(results, sizeof(out))),
	STEP(atomic, ATOMIC, -ENOENT, .ops_ptr = PTR(&all_or_none), .nr_ops = 3,
	     .ops_len = sizeof(all_or_none), OUT(results, sizeof(out))),
	STEP(lookup, LOOKUP, -ENOENT, KEY("a1"), OUT(value, 64)),
	STEP(insert, INSERT, 0, KEY("none"), VALUE("v")),
	STEP(atomic, ATOMIC, 0, .ops_ptr = PTR(&all_or_none), .nr_ops = 3,
	     .ops_len = sizeof(all_or_none), OUT(results, sizeof(out))),
	STEP(lookup, LOOKUP, 0, KEY("a1"), OUT(value, 64)),
	STEP(atomic, ATOMIC, -EMSGSIZE, .nr_ops = WORT_ATOMIC_MAX + 1),
	STEP(atomic, ATOMIC, -EFAULT, .fds_ptr = BAD, .nr_fds = 1),
	STEP_ON(ON_READER, atomic, ATOMIC, -EBADF, .ops_ptr = PTR(&all_or_none),
		.nr_ops = 1, .ops_len = sizeof(all_or_none),
		OUT(results, sizeof(out))),
	STEP_ON(ON_READER, lookup, LOOKUP, 0, KEY("key"), OUT(value, 64)),
	STEP_ON(ON_READER, insert, INSERT, -EBADF, KEY("key")),
	STEP_ON(ON_READER, delete, DELETE, -EBADF, KEY("key")),
	STEP_ON(ON_POOL, insert, INSERT, -ENOTTY, KEY("key")),
	STEP_ON(ON_POOL, index_list, INDEX_LIST, 0, OUT(buf, sizeof(out))),
	STEP_ON(ON_INDEX, index_list, INDEX_LIST, -ENOTTY),
	STEP(delete, DELETE, 0, KEY("key")),
	STEP(delete, DELETE, -ENOENT, KEY("key")),
	{ _IO(WORT_IOC_TYPE, 0x7f), -ENOTTY, ON_INDEX, { .word = { 8 } } },
	{ _IO('x', 0x20), -ENOTTY, ON_INDEX, { .word = { 32 } } },
	{ 0, -ENOTTY, ON_INDEX, { .word = { 32 } } },
};

/* The descriptors of a side, which has an index of its own. */
static void open_side(struct __test_metadata *_metadata, int pool,
		      const char *name, int *fds)
{
	fds[ON_INDEX] = open_index(pool, name, WORT_INDEX_OPEN_F_CREATE);
	fds[ON_READER] = open_index(pool, name, WORT_INDEX_OPEN_F_RDONLY);
	fds[ON_POOL] = pool;
	ASSERT_LE(0, fds[ON_INDEX]);
	ASSERT_LE(0, fds[ON_READER]);
}

static void close_side(int *fds)
{
	close(fds[ON_INDEX]);
	close(fds[ON_READER]);
}

static void compare_steps(struct __test_metadata *_metadata, int pool,
			  struct io_uring *ring)
{
	int by_ioctl[NR_ON], by_ring[NR_ON], err1, err2;
	static char out1[sizeof(out)];
	union arg arg1, arg2;
	size_t i;

	open_side(_metadata, pool, "ioctl", by_ioctl);
	open_side(_metadata, pool, "ring", by_ring);
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		arg1 = steps[i].arg;
		arg2 = steps[i].arg;
		memset(out, 0xee, sizeof(out));
		err1 = call(by_ioctl[steps[i].on], steps[i].cmd, &arg1);
		memcpy(out1, out, sizeof(out));
		memset(out, 0xee, sizeof(out));
		err2 = issue(ring, by_ring[steps[i].on], steps[i].cmd, &arg2);
		EXPECT_EQ(steps[i].want, err1);
		EXPECT_EQ(steps[i].want, err2);
		EXPECT_EQ(0, memcmp(&arg1, &arg2, sizeof(arg1)));
		EXPECT_EQ(0, memcmp(out1, out, sizeof(out)));
		if (err1 != err2)
			TH_LOG("step %zu, command %#lx", i, steps[i].cmd);
	}
	close_side(by_ioctl);
	close_side(by_ring);
}

TEST_F(uring, same_as_ioctl)
{
	compare_steps(_metadata, self->pool.fd, &self->ring);
}

/* The kernel's own thread submits. */
TEST_F(uring, same_as_ioctl_polled_submission)
{
	struct io_uring_params params = {
		.flags = IORING_SETUP_SQPOLL,
		.sq_thread_idle = 10,
	};
	struct io_uring ring;

	ASSERT_EQ(0, io_uring_queue_init_params(DEPTH, &ring, &params));
	compare_steps(_metadata, self->pool.fd, &ring);
	io_uring_queue_exit(&ring);
}

/* What only reads gets the same answer twice. */
TEST_F(uring, descriptions)
{
	struct wort_op_stats stats1[WORT_OP_NR] = { }, stats2[WORT_OP_NR] = { };
	union arg arg1 = { .stats = {
		.size = sizeof(struct wort_stats_arg),
		.buf_ptr = PTR(stats1),
		.buf_len = sizeof(stats1),
		.stride = sizeof(*stats1),
	} }, arg2 = arg1;

	ASSERT_EQ(0, insert(self->fd, "key", "value"));
	arg2.stats.buf_ptr = PTR(stats2);
	EXPECT_EQ(0, call(self->fd, WORT_IOC_STATS, &arg1));
	EXPECT_EQ(0, issue(&self->ring, self->fd, WORT_IOC_STATS, &arg2));
	EXPECT_EQ(arg1.stats.out_count, arg2.stats.out_count);
	EXPECT_EQ(0, memcmp(stats1, stats2, sizeof(stats1)));
	EXPECT_EQ(1, stats2[WORT_OP_INSERT].ops);

	arg1.info = (struct wort_index_info_arg){ .size = sizeof(arg1.info) };
	arg2 = arg1;
	EXPECT_EQ(0, call(self->fd, WORT_IOC_INDEX_INFO, &arg1));
	EXPECT_EQ(0, issue(&self->ring, self->fd, WORT_IOC_INDEX_INFO, &arg2));
	EXPECT_EQ(0, memcmp(&arg1, &arg2, sizeof(arg1)));
	EXPECT_EQ(5, arg2.info.out_name_len);

	arg2.check = (struct wort_check_arg){ .size = sizeof(arg2.check) };
	EXPECT_EQ(0, issue(&self->ring, self->pool.fd, WORT_IOC_CHECK, &arg2));
	EXPECT_EQ(1, arg2.check.out_nr_leaves);
	arg2.pool_info = (struct wort_pool_info_arg){
		.size = sizeof(arg2.pool_info),
	};
	EXPECT_EQ(0, issue(&self->ring, self->pool.fd, WORT_IOC_POOL_INFO,
			   &arg2));
	EXPECT_EQ(1, arg2.pool_info.out_nr_indexes);
}

/* A descriptor appears in the table of whoever submitted. */
TEST_F(uring, open_and_destroy)
{
	struct wort_index_open_arg arg = {
		.size = sizeof(arg),
		.flags = WORT_INDEX_OPEN_F_CREATE,
		.name_ptr = PTR("new"),
		.name_len = 3,
	};
	struct wort_index_destroy_arg gone = {
		.size = sizeof(gone),
		.name_ptr = PTR("new"),
		.name_len = 3,
	};
	int pool = self->pool.fd;

	ASSERT_EQ(0, issue(&self->ring, pool, WORT_IOC_INDEX_OPEN, &arg));
	ASSERT_LE(0, arg.out_fd);
	EXPECT_EQ(FD_CLOEXEC, fcntl(arg.out_fd, F_GETFD));
	EXPECT_EQ(0, insert(arg.out_fd, "key", "value"));
	EXPECT_EQ(0, issue(&self->ring, pool, WORT_IOC_INDEX_DESTROY, &gone));
	EXPECT_EQ(-ESTALE, insert(arg.out_fd, "key", "value"));
	close(arg.out_fd);
}

/* Descriptors in an argument are those of the program, whatever thread carries it out. */
TEST_F(uring, atomic_over_two_indexes)
{
	static const struct {
		struct wort_atomic_op op1;
		char data1[8];
		struct wort_atomic_op op2;
		char data2[8];
	} ops = {
		{ { 40, WORT_BATCH_INSERT, 0, 1, 0, 1, 0 }, 0, 0 }, "kv",
		{ { 40, WORT_BATCH_INSERT, 0, 1, 0, 1, 0 }, 1, 0 }, "kv",
	};
	int other = open_index(self->pool.fd, "other", WORT_INDEX_OPEN_F_CREATE);
	struct wort_atomic_arg arg = {
		.size = sizeof(arg),
		.ops_ptr = PTR(&ops),
		.ops_len = sizeof(ops),
		.results_ptr = PTR(out),
		.results_len = sizeof(out),
		.fds_ptr = PTR(&other),
		.nr_ops = 2,
		.nr_fds = 1,
	};

	ASSERT_LE(0, other);
	EXPECT_EQ(0, issue(&self->ring, self->fd, WORT_IOC_ATOMIC, &arg));
	EXPECT_EQ(WORT_NO_VALUE, arg.out_refused);
	EXPECT_EQ(32, arg.out_results_len);
	EXPECT_EQ(0, lookup(self->fd, "k", "v"));
	EXPECT_EQ(0, lookup(other, "k", "v"));
	close(other);
}

/* ---- what is refused ---- */

static struct wort_lookup_arg lookup_key = {
	.size = sizeof(lookup_key),
	.key_len = 3,
};

/* An SQE that is right, to be spoilt; its answer then. */
static struct io_uring_sqe *right(struct io_uring *ring, int fd)
{
	struct io_uring_sqe *sqe = get_sqe(ring);

	lookup_key.key_ptr = PTR("key");
	wort_uring_prep(sqe, fd, WORT_IOC_LOOKUP, &lookup_key);
	return sqe;
}

TEST_F(uring, malformed_commands)
{
	struct io_uring *ring = &self->ring;
	struct iovec iov = { out, sizeof(out) };
	struct io_uring_sqe *sqe;

	right(ring, self->fd);
	EXPECT_EQ(-ENOENT, answer(ring));
	sqe = right(ring, self->fd);
	((struct wort_uring_cmd *)sqe->cmd)->flags = 1;
	EXPECT_EQ(-EOPNOTSUPP, answer(ring));
	sqe = right(ring, self->fd);
	((struct wort_uring_cmd *)sqe->cmd)->__reserved = 1;
	EXPECT_EQ(-EINVAL, answer(ring));
	sqe = right(ring, self->fd);
	((struct wort_uring_cmd *)sqe->cmd)->arg_ptr = PTR(bad_page());
	EXPECT_EQ(-EFAULT, answer(ring));
	sqe = right(ring, self->fd);
	((struct wort_uring_cmd *)sqe->cmd)->arg_ptr = 0;
	EXPECT_EQ(-EFAULT, answer(ring));
	sqe = right(ring, self->fd);
	((struct wort_uring_cmd *)sqe->cmd)->arg_ptr = ~0ULL - 63;
	EXPECT_EQ(-EFAULT, answer(ring));
	sqe = right(ring, self->fd);
	sqe->flags = 0;
	EXPECT_EQ(-EOPNOTSUPP, answer(ring));
	/* a buffer of the ring is not what a command works on */
	ASSERT_EQ(0, io_uring_register_buffers(ring, &iov, 1));
	sqe = right(ring, self->fd);
	sqe->rw_flags = 1;	/* IORING_URING_CMD_FIXED */
	EXPECT_EQ(-EOPNOTSUPP, answer(ring));
}

TEST_F(uring, wrong_descriptors)
{
	struct io_uring *ring = &self->ring;

	right(ring, self->pool.fd);
	EXPECT_EQ(-ENOTTY, answer(ring));
	right(ring, self->pool.control);
	EXPECT_EQ(-EOPNOTSUPP, answer(ring));
	right(ring, -1);
	EXPECT_EQ(-EBADF, answer(ring));
}

static int refused_ring(unsigned int flags, int fd)
{
	struct io_uring ring;
	int err;

	err = io_uring_queue_init(8, &ring, flags);
	if (err)
		return err;
	right(&ring, fd);
	err = answer(&ring);
	io_uring_queue_exit(&ring);
	return err;
}

TEST_F(uring, other_rings)
{
	int polled = refused_ring(IORING_SETUP_IOPOLL, self->fd);

	EXPECT_EQ(-ENOENT, refused_ring(0, self->fd));
	EXPECT_EQ(-EOPNOTSUPP, refused_ring(IORING_SETUP_SQE128, self->fd));
	/* io_uring refuses what it cannot poll for; Linux 7.3 runs it as ever */
	if (polled != -ENOENT)
		EXPECT_EQ(-EOPNOTSUPP, polled);
}

/* The memory of SQEs is the program's again when they were submitted. */
TEST_F(uring, sqes_are_copied)
{
	struct wort_insert_arg ins = {
		.size = sizeof(ins), KEY("key"), VALUE("value"),
	};
	struct io_uring_sqe *sqe[3];
	struct io_uring_cqe *cqe;
	int i;

	for (i = 0; i < 3; i++) {
		sqe[i] = right(&self->ring, self->fd);
		if (!i)
			wort_uring_prep(sqe[i], self->fd, WORT_IOC_INSERT,
					&ins);
		if (i < 2)
			sqe[i]->flags |= IOSQE_IO_LINK;
	}
	lookup_key.value_len = sizeof(out);
	lookup_key.value_ptr = PTR(out);
	ASSERT_EQ(3, io_uring_submit(&self->ring));
	for (i = 0; i < 3; i++)
		memset(sqe[i], 0xff, sizeof(*sqe[i]));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, io_uring_wait_cqe(&self->ring, &cqe));
		EXPECT_EQ(0, cqe->res);
		io_uring_cqe_seen(&self->ring, cqe);
	}
}

/* ---- many at once ---- */

#define NR_KEYS		4
#define VALUE_SIZE	256

struct request {
	__u32 cmd;
	union arg arg;
	int want;
	int key;		/* its number among those of the slot */
	int version;		/* what it has if this succeeds; 0: no record */
	char name[16];
	char value[VALUE_SIZE];
	char out[2048] __attribute__((aligned(8)));
};

/* Who has one request under way, or two that are linked, and its own keys. */
struct slot {
	int number;
	unsigned int seed;
	int pending;
	int versions;		/* given away */
	int version[NR_KEYS];	/* that is there; 0: none */
	struct request req[2];
};

/* Shared with the child that is killed. */
struct load {
	int fd;
	long limit;
	atomic_long done;
	long wrong;
	bool gone;		/* ENODEV was seen */
	struct slot slots[DEPTH];
};

static struct load *new_load(int fd, long limit)
{
	struct load *load = mmap(NULL, sizeof(*load), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int i;

	load->fd = fd;
	load->limit = limit;
	for (i = 0; i < DEPTH; i++) {
		load->slots[i].number = i;
		load->slots[i].seed = i;
	}
	return load;
}

/* No two versions of a slot have the same value. */
static int make_value(char *value, int slot, int key, int version)
{
	int len = sprintf(value, "%d.%d.%d.", slot, key, version);
	int padding = version * 37 % 200;

	memset(value + len, 'x', padding);
	return len + padding;
}

static void make_insert(struct slot *slot, struct request *req)
{
	req->version = ++slot->versions;
	req->cmd = WORT_IOC_INSERT;
	req->arg.insert = (struct wort_insert_arg){
		.size = sizeof(req->arg.insert),
		.key_ptr = PTR(req->name),
		.key_len = strlen(req->name),
		.value_ptr = PTR(req->value),
		.value_len = make_value(req->value, slot->number, req->key,
					req->version),
	};
}

static void make_lookup(struct request *req, int version)
{
	req->version = version;
	req->want = version ? 0 : -ENOENT;
	req->cmd = WORT_IOC_LOOKUP;
	req->arg.lookup = (struct wort_lookup_arg){
		.size = sizeof(req->arg.lookup),
		.key_ptr = PTR(req->name),
		.key_len = strlen(req->name),
		.value_ptr = PTR(req->out),
		.value_len = sizeof(req->out),
	};
}

static void make_delete(struct request *req, int version)
{
	req->version = 0;
	req->want = version ? 0 : -ENOENT;
	req->cmd = WORT_IOC_DELETE;
	req->arg.delete = (struct wort_delete_arg){
		.size = sizeof(req->arg.delete),
		.key_ptr = PTR(req->name),
		.key_len = strlen(req->name),
	};
}

static void make_scan(struct request *req, int version)
{
	req->version = version;
	req->cmd = WORT_IOC_SCAN;
	req->arg.scan = (struct wort_scan_arg){
		.size = sizeof(req->arg.scan),
		.flags = WORT_SCAN_F_PREFIX,
		.bound_ptr = PTR(req->name),
		.bound_len = 4,
		.buf_ptr = PTR(req->out),
		.buf_len = sizeof(req->out),
	};
}

/* Appends to the operations, which lie in the value. */
static void pack(struct request *req, __u16 op, __u32 value_len,
		 __u32 max_len)
{
	struct wort_batch_arg *arg = &req->arg.batch;
	struct wort_batch_op head = {
		.op = op,
		.key_len = strlen(req->name),
		.value_len = value_len,
		.max_len = max_len,
		.rec_len = sizeof(head) + 16,
	};

	memcpy(req->value + arg->ops_len, &head, sizeof(head));
	memset(req->value + arg->ops_len + sizeof(head), 'b', 16);
	memcpy(req->value + arg->ops_len + sizeof(head), req->name,
	       head.key_len);
	arg->ops_len += head.rec_len;
	arg->nr_ops++;
}

/* Insert, look up and delete. */
static void make_batch(struct request *req)
{
	req->version = 0;
	req->cmd = WORT_IOC_BATCH;
	req->arg.batch = (struct wort_batch_arg){
		.size = sizeof(req->arg.batch),
		.ops_ptr = PTR(req->value),
		.results_ptr = PTR(req->out),
		.results_len = sizeof(req->out),
	};
	pack(req, WORT_BATCH_INSERT, 16 - strlen(req->name), 0);
	pack(req, WORT_BATCH_LOOKUP, 0, 64);
	pack(req, WORT_BATCH_DELETE, 0, 0);
}

static bool value_is(const struct slot *slot, int key, int version,
		     const char *value, int len)
{
	char text[VALUE_SIZE];

	return len == make_value(text, slot->number, key, version) &&
	       !memcmp(text, value, len);
}

static int nr_present(const struct slot *slot)
{
	int i, nr = 0;

	for (i = 0; i < NR_KEYS; i++)
		nr += !!slot->version[i];
	return nr;
}

/* Did a request that succeeded say the right thing? */
static bool out_is_right(const struct slot *slot, const struct request *req)
{
	const union arg *arg = &req->arg;

	switch (req->cmd) {
	case WORT_IOC_LOOKUP:
		return value_is(slot, req->key, req->version, req->out,
				arg->lookup.out_value_len);
	case WORT_IOC_SCAN:
		return arg->scan.out_count == (__u64)nr_present(slot) &&
		       !arg->scan.out_more;
	case WORT_IOC_BATCH:
		return arg->batch.out_done == 3 && !arg->batch.out_failed;
	default:
		return true;
	}
}

static void finish(struct load *load, struct slot *slot, struct request *req,
		   int res)
{
	load->gone |= res == -ENODEV;
	if (!load->gone &&
	    (res != req->want || (!res && !out_is_right(slot, req)))) {
		printf("# slot %d: command %#x of %s: %d instead of %d\n",
		       slot->number, req->cmd, req->name, res, req->want);
		load->wrong++;
	}
	if (!res)
		slot->version[req->key] = req->version;
	slot->pending--;
	load->done++;
}

static struct request *name_request(struct slot *slot, int i, int key)
{
	struct request *req = &slot->req[i];

	req->key = key;
	req->want = 0;
	snprintf(req->name, sizeof(req->name), "%03d.%d", slot->number, key);
	return req;
}

static void put_request(struct load *load, struct io_uring *ring,
			struct slot *slot, struct request *req, __u8 flags)
{
	struct io_uring_sqe *sqe = get_sqe(ring);

	wort_uring_prep(sqe, load->fd, req->cmd, &req->arg);
	sqe->flags |= flags;
	sqe->user_data = slot->number * 2 + (req - slot->req);
	slot->pending++;
}

/* The second is carried out after the first, or not at all. */
static void start_linked(struct load *load, struct io_uring *ring,
			 struct slot *slot, int key, bool breaks)
{
	struct request *first = name_request(slot, 0, key);
	struct request *second = name_request(slot, 1, key);

	if (breaks) {
		make_lookup(first, slot->version[key]);
		first->arg.lookup.key_len = 3;
		first->want = -ENOENT;
		make_insert(slot, second);
		second->want = -ECANCELED;
	} else {
		make_insert(slot, first);
		make_lookup(second, first->version);
	}
	put_request(load, ring, slot, first, IOSQE_IO_LINK);
	put_request(load, ring, slot, second, 0);
}

static void start(struct load *load, struct io_uring *ring, struct slot *slot)
{
	int what = rand_r(&slot->seed) % 8, key = rand_r(&slot->seed) % NR_KEYS;
	struct request *req = name_request(slot, 0, key);
	int version = slot->version[key];

	switch (what) {
	case 0:
	case 1:
		start_linked(load, ring, slot, key, what);
		return;
	case 2:
		make_lookup(req, version);
		break;
	case 3:
		make_delete(req, version);
		break;
	case 4:
		make_scan(req, version);
		break;
	case 5:
		make_batch(req);
		break;
	default:
		make_insert(slot, req);
	}
	put_request(load, ring, slot, req, 0);
}

static int start_all(struct load *load, struct io_uring *ring)
{
	int i;

	for (i = 0; i < DEPTH; i++)
		start(load, ring, &load->slots[i]);
	return DEPTH;
}

/* Keeps all slots busy until enough is done, or the pool is gone. */
static void *run_load(void *data)
{
	struct load *load = data;
	struct io_uring_cqe *cqe;
	struct io_uring ring;
	struct slot *slot;
	int busy;

	if (io_uring_queue_init(2 * DEPTH, &ring, 0)) {
		load->wrong++;
		return NULL;
	}
	for (busy = start_all(load, &ring); busy;) {
		io_uring_submit_and_wait(&ring, 1);
		while (!io_uring_peek_cqe(&ring, &cqe)) {
			slot = &load->slots[cqe->user_data / 2];
			finish(load, slot, &slot->req[cqe->user_data % 2],
			       cqe->res);
			io_uring_cqe_seen(&ring, cqe);
			if (slot->pending)
				continue;
			if (load->gone || load->done >= load->limit)
				busy--;
			else
				start(load, &ring, slot);
		}
	}
	io_uring_queue_exit(&ring);
	return NULL;
}

/* Whatever is not under way is as the last answer said. */
static void verify_slot(struct __test_metadata *_metadata, int fd,
			const struct slot *slot)
{
	char name[16], value[VALUE_SIZE];
	int i, len;

	for (i = 0; i < NR_KEYS; i++) {
		snprintf(name, sizeof(name), "%03d.%d", slot->number, i);
		len = lookup_raw(fd, name, strlen(name), value, sizeof(value),
				 NULL);
		if (slot->pending && slot->req[0].key == i) {
			EXPECT_EQ(true, len >= 0 || len == -ENOENT);
		} else if (slot->version[i]) {
			EXPECT_EQ(true, value_is(slot, i, slot->version[i],
						 value, len));
		} else {
			EXPECT_EQ(-ENOENT, len);
		}
	}
}

static void verify(struct __test_metadata *_metadata, int pool, int fd,
		   const struct load *load)
{
	struct wort_check_arg found;
	int i;

	EXPECT_EQ(0, load->wrong);
	for (i = 0; i < DEPTH; i++)
		verify_slot(_metadata, fd, &load->slots[i]);
	ASSERT_EQ(0, check(pool, 0, &found));
	EXPECT_EQ(0, found.out_nr_damaged);
}

TEST_F_TIMEOUT(uring, many_in_flight, 300)
{
	struct load *load = new_load(self->fd, 10000);

	run_load(load);
	EXPECT_EQ(false, load->gone);
	EXPECT_LE(10000, load->done);
	verify(_metadata, self->pool.fd, self->fd, load);
}

static void wait_for_load(const struct load *load)
{
	while (load->done < 1000)
		usleep(1000);
}

TEST_F_TIMEOUT(uring, detach_under_load, 300)
{
	struct load *load = new_load(self->fd, LONG_MAX);
	pthread_t thread;
	int pool, fd;

	ASSERT_EQ(0, pthread_create(&thread, NULL, run_load, load));
	wait_for_load(load);
	ASSERT_EQ(0, detach(self->pool.control, self->pool.minor));
	right(&self->ring, self->fd);
	EXPECT_EQ(-ENODEV, answer(&self->ring));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(true, load->gone);
	/* what was acknowledged before is there */
	ASSERT_EQ(self->pool.minor, attach(self->pool.control, test_device()));
	pool = open_pool(self->pool.minor, O_RDWR);
	fd = open_index(pool, "index", 0);
	verify(_metadata, pool, fd, load);
	close(fd);
	close(pool);
}

TEST_F_TIMEOUT(uring, process_killed, 300)
{
	struct load *load = new_load(self->fd, LONG_MAX);
	pid_t pid = fork();
	int status;

	ASSERT_LE(0, pid);
	if (!pid) {
		run_load(load);
		_exit(1);
	}
	wait_for_load(load);
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	/* It has not ended before, which a load does that went wrong. */
	EXPECT_EQ(true, WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	verify(_metadata, self->pool.fd, self->fd, load);
}

/* A value that one insert stored, whichever. */
static bool value_is_whole(const struct slot *slot, int key, char *value,
			   int len)
{
	int version = 0;

	value[len] = 0;
	return sscanf(value, "%*d.%*d.%d.", &version) == 1 &&
	       value_is(slot, key, version, value, len);
}

static void verify_whole(struct __test_metadata *_metadata, int fd,
			 const struct slot *slot)
{
	char name[16], value[VALUE_SIZE + 1];
	int i, len;

	for (i = 0; i < NR_KEYS; i++) {
		snprintf(name, sizeof(name), "%03d.%d", slot->number, i);
		len = lookup_raw(fd, name, strlen(name), value, VALUE_SIZE,
				 NULL);
		EXPECT_EQ(true, len == -ENOENT ||
			  (len > 0 && value_is_whole(slot, i, value, len)));
	}
}

/* Nobody waits for what a closed ring began: detach does. */
TEST_F(uring, ring_closed)
{
	struct pool *pool = &self->pool;
	struct wort_check_arg found;
	struct io_uring ring;
	struct load *load;
	int i;

	for (i = 0; i < 20; i++) {
		load = new_load(self->fd, 0);
		ASSERT_EQ(0, io_uring_queue_init(2 * DEPTH, &ring, 0));
		start_all(load, &ring);
		ASSERT_LE(DEPTH, io_uring_submit(&ring));
		io_uring_queue_exit(&ring);
	}
	ASSERT_EQ(0, detach(pool->control, pool->minor));
	close(self->fd);
	close(pool->fd);
	ASSERT_EQ(pool->minor, attach(pool->control, test_device()));
	pool->fd = open_pool(pool->minor, O_RDWR);
	self->fd = open_index(pool->fd, "index", 0);
	for (i = 0; i < DEPTH; i++)
		verify_whole(_metadata, self->fd, &load->slots[i]);
	ASSERT_EQ(0, check(pool->fd, 0, &found));
	EXPECT_EQ(0, found.out_nr_damaged);
}

TEST_HARNESS_MAIN
