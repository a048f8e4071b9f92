// SPDX-License-Identifier: GPL-2.0-only
/*
 * Atomic batches: what they do, what they refuse, and that nothing is changed then.
 */
#include <pthread.h>
#include <sys/wait.h>

#include "wort_test.h"

#define NONE	WORT_NO_VALUE

FIXTURE(atomic)
{
	struct pool pool;
	int a;
	int b;
};

/* Modules for tests: after so long without a batch, operations forget the gates. */
#define REST	"/sys/module/wort/parameters/gates_rest_ms"

FIXTURE_SETUP(atomic)
{
	/* An attach takes it over; without it, gates stay in all these tests. */
	write_file(REST, "1");
	ASSERT_EQ(0, pool_up(&self->pool));
	self->a = open_index(self->pool.fd, "a", WORT_INDEX_OPEN_F_CREATE);
	self->b = open_index(self->pool.fd, "b", WORT_INDEX_OPEN_F_CREATE);
	ASSERT_LE(0, self->a);
	ASSERT_LE(0, self->b);
	ASSERT_EQ(0, insert(self->a, "key", "value"));
}

FIXTURE_TEARDOWN(atomic)
{
	close(self->a);
	close(self->b);
	pool_down(&self->pool);
	write_file(REST, "30000");
}

/* A batch that is called on one index, and has another one. */
struct batch {
	struct wort_atomic_arg arg;
	int fds[WORT_ATOMIC_MAX + 1];
	char ops[2 * WORT_ATOMIC_BYTES] __attribute__((aligned(8)));
	char results[WORT_ATOMIC_BYTES] __attribute__((aligned(8)));
};

static struct batch batch;

enum { SELF = WORT_ATOMIC_SELF, OTHER };

static void begin(int other)
{
	memset(batch.ops, 0, sizeof(batch.ops));
	memset(batch.results, 0xee, sizeof(batch.results));
	batch.fds[0] = other;
	batch.arg = (struct wort_atomic_arg){
		.size = sizeof(batch.arg),
		.ops_ptr = PTR(batch.ops),
		.results_ptr = PTR(batch.results),
		.fds_ptr = PTR(batch.fds),
		.results_len = 4096,
		.nr_fds = 1,
		.out_refused = 77,
		.out_results_len = 77,
	};
}

/* The operation that was appended last. */
static struct wort_atomic_op *last;

static void append(__u32 index, __u16 op, __u16 flags, const void *key,
		   __u32 key_len, const void *expect, __u32 expect_len,
		   const void *value, __u32 value_len, __u32 max_len)
{
	char *at = batch.ops + batch.arg.ops_len;

	last = (struct wort_atomic_op *)at;
	*last = (struct wort_atomic_op){
		.op = {
			.rec_len = (sizeof(*last) + key_len + expect_len +
				    value_len + 7) & ~7U,
			.op = op,
			.flags = flags,
			.key_len = key_len,
			.expect_len = expect_len,
			.value_len = value_len,
			.max_len = max_len,
		},
		.index = index,
	};
	at = mempcpy(at + sizeof(*last), key, key_len);
	at = mempcpy(at, expect, expect_len);
	memcpy(at, value, value_len);
	batch.arg.ops_len += last->op.rec_len;
	batch.arg.nr_ops++;
}

/* With texts; the values may be missing. */
static void add(__u32 index, __u16 op, __u16 flags, const char *key,
		const char *expect, const char *value)
{
	append(index, op, flags, key, strlen(key), expect ? expect : "",
	       expect ? strlen(expect) : 0, value ? value : "",
	       value ? strlen(value) : 0, 0);
}

static void get(__u32 index, const char *key, __u32 max_len)
{
	append(index, WORT_BATCH_LOOKUP, 0, key, strlen(key), "", 0, "", 0,
	       max_len);
}

static void put(__u32 index, const char *key, const char *value)
{
	add(index, WORT_BATCH_INSERT, 0, key, NULL, value);
}

static int run(int fd)
{
	return call(fd, WORT_IOC_ATOMIC, &batch.arg);
}

/* It fails, this operation has refused, and there is no answer. */
#define EXPECT_REFUSED(err, nr, fd) do {				\
	EXPECT_EQ(err, run(fd));					\
	EXPECT_EQ(nr, batch.arg.out_refused);				\
	EXPECT_EQ(0, batch.arg.out_results_len);			\
} while (0)

/* The answer at @at, where the next one is put. */
static int answer(__u32 *at, const char *value)
{
	struct wort_batch_result res;
	const char *from = batch.results + *at;
	__u32 len = value ? strlen(value) : 0;

	memcpy(&res, from, sizeof(res));
	*at += res.rec_len;
	if (res.rec_len % 8 || *at > batch.arg.out_results_len || res.__reserved)
		return -EBADMSG;
	if (value && (res.value_len != len || memcmp(from + sizeof(res), value, len)))
		return -ECANCELED;
	if (!value && res.value_len != NONE && res.error != -ERANGE)
		return -EEXIST;
	return res.error;
}

TEST_F(atomic, rename_between_indexes)
{
	__u32 at = 0;

	begin(self->b);
	get(SELF, "key", 16);
	add(SELF, WORT_BATCH_DELETE, WORT_DELETE_F_EXPECT, "key", "value", NULL);
	add(OTHER, WORT_BATCH_EXPECT, WORT_EXPECT_F_ABSENT, "new", NULL, NULL);
	add(OTHER, WORT_BATCH_INSERT, WORT_INSERT_F_CREATE, "new", NULL, "value");
	add(OTHER, WORT_BATCH_EXPECT, 0, "new", "value", NULL);
	get(SELF, "key", 16);
	get(OTHER, "new", 16);
	get(OTHER, "new", 4);
	ASSERT_EQ(0, run(self->a));
	EXPECT_EQ(NONE, batch.arg.out_refused);
	EXPECT_EQ(0, answer(&at, "value"));
	EXPECT_EQ(0, answer(&at, NULL));
	EXPECT_EQ(0, answer(&at, NULL));
	EXPECT_EQ(0, answer(&at, NULL));
	EXPECT_EQ(0, answer(&at, NULL));
	EXPECT_EQ(-ENOENT, answer(&at, NULL));
	EXPECT_EQ(0, answer(&at, "value"));
	EXPECT_EQ(-ERANGE, answer(&at, NULL));
	EXPECT_EQ(at, batch.arg.out_results_len);
	EXPECT_EQ(-ENOENT, lookup(self->a, "key", "value"));
	EXPECT_EQ(0, lookup(self->b, "new", "value"));
}

/* The memory of the operations takes the answers. */
TEST_F(atomic, answers_in_place)
{
	begin(self->b);
	put(SELF, "new", "value");
	get(SELF, "key", 16);
	batch.arg.results_ptr = batch.arg.ops_ptr;
	ASSERT_EQ(0, run(self->a));
	EXPECT_EQ(0, lookup(self->a, "new", "value"));
	EXPECT_EQ(0, memcmp(batch.ops + 2 * sizeof(struct wort_batch_result), "value", 5));
}

/* One key, changed again and again. */
TEST_F(atomic, each_sees_those_before)
{
	__u32 at = 0;

	begin(self->b);
	put(SELF, "k", "1");
	add(SELF, WORT_BATCH_CAS, WORT_F_FETCH, "k", "1", "2");
	last->op.max_len = 1;
	add(SELF, WORT_BATCH_DELETE, WORT_F_FETCH, "k", NULL, NULL);
	last->op.max_len = 1;
	add(SELF, WORT_BATCH_EXPECT, WORT_EXPECT_F_ABSENT, "k", NULL, NULL);
	add(SELF, WORT_BATCH_INSERT, WORT_INSERT_F_CREATE, "k", NULL, "3");
	add(SELF, WORT_BATCH_INSERT, WORT_INSERT_F_REPLACE | WORT_F_FETCH, "k",
	    NULL, "");
	last->op.max_len = 1;
	add(SELF, WORT_BATCH_EXPECT, 0, "k", "", NULL);
	add(SELF, WORT_BATCH_EXPECT, WORT_EXPECT_F_PRESENT, "k", NULL, NULL);
	ASSERT_EQ(0, run(self->a));
	EXPECT_EQ(0, answer(&at, NULL));
	EXPECT_EQ(0, answer(&at, "1"));
	EXPECT_EQ(0, answer(&at, "2"));
	EXPECT_EQ(0, answer(&at, NULL));
	EXPECT_EQ(0, answer(&at, NULL));
	EXPECT_EQ(0, answer(&at, "3"));
	EXPECT_EQ(0, lookup(self->a, "k", ""));
}

/* Operations that refuse, with their errno; the key has "value", "none" is not there. */
static const struct {
	int err;
	__u16 op;
	__u16 flags;
	const char *key;
	const char *expect;
	const char *value;
	__u32 max_len;
} refusals[] = {
	{ -EEXIST, WORT_BATCH_INSERT, WORT_INSERT_F_CREATE, "key", "", "v", 0 },
	{ -ENOENT, WORT_BATCH_INSERT, WORT_INSERT_F_REPLACE, "none", "", "v", 0 },
	{ -ERANGE, WORT_BATCH_INSERT, WORT_F_FETCH, "key", "", "v", 4 },
	{ -ENOENT, WORT_BATCH_CAS, 0, "none", "", "v", 0 },
	{ -ECANCELED, WORT_BATCH_CAS, 0, "key", "valu", "v", 0 },
	{ -ENOENT, WORT_BATCH_DELETE, 0, "none", "", "", 0 },
	{ -ENOENT, WORT_BATCH_DELETE, WORT_DELETE_F_EXPECT, "none", "", "", 0 },
	{ -ECANCELED, WORT_BATCH_DELETE, WORT_DELETE_F_EXPECT, "key", "", "", 0 },
	{ -ENOENT, WORT_BATCH_EXPECT, 0, "none", "", "", 0 },
	{ -ECANCELED, WORT_BATCH_EXPECT, 0, "key", "values", "", 0 },
	{ -ENOENT, WORT_BATCH_EXPECT, WORT_EXPECT_F_PRESENT, "none", "", "", 0 },
	{ -EEXIST, WORT_BATCH_EXPECT, WORT_EXPECT_F_ABSENT, "key", "", "", 0 },
	{ -EINVAL, WORT_BATCH_EXPECT, 3, "key", "", "", 0 },
	{ -EINVAL, WORT_BATCH_EXPECT, WORT_EXPECT_F_PRESENT, "key", "v", "", 0 },
	{ -EINVAL, WORT_BATCH_EXPECT, 0, "key", "value", "v", 0 },
	{ -EINVAL, WORT_BATCH_EXPECT, 0, "key", "value", "", 8 },
	{ -EINVAL, WORT_BATCH_EXPECT, 0, "", "", "", 0 },
	{ -EINVAL, WORT_BATCH_INSERT, 0, "", "", "v", 0 },
	{ -EOPNOTSUPP, WORT_BATCH_EXPECT, 4, "key", "", "", 0 },
	{ -EOPNOTSUPP, WORT_BATCH_EXPECT, WORT_F_FETCH, "key", "", "", 0 },
	{ -EOPNOTSUPP, 0, 0, "key", "", "", 0 },
	{ -EOPNOTSUPP, 6, 0, "key", "", "", 0 },
};

TEST_F(atomic, refusals)
{
	struct wort_pool_info_arg pool;
	size_t i, met = 0;

	for (i = 0; i < ARRAY_SIZE(refusals); i++) {
		begin(self->b);
		put(OTHER, "x", "v");
		put(SELF, "x", "v");
		add(SELF, refusals[i].op, refusals[i].flags, refusals[i].key,
		    refusals[i].expect, refusals[i].value);
		last->op.max_len = refusals[i].max_len;
		put(SELF, "y", "v");
		EXPECT_REFUSED(refusals[i].err, 2, self->a);
		EXPECT_EQ(-ENOENT, lookup(self->a, "x", "v"));
		EXPECT_EQ(-ENOENT, lookup(self->b, "x", "v"));
		EXPECT_EQ(-ENOENT, lookup(self->a, "y", "v"));
		EXPECT_EQ(0, lookup(self->a, "key", "value"));
		met += refusals[i].err != -EINVAL && refusals[i].err != -EOPNOTSUPP;
	}
	/* What is wrong in itself never reaches the pool. */
	ASSERT_EQ(0, info(self->pool.fd, &pool));
	EXPECT_EQ(met, pool.out_atomic_refused);
	EXPECT_EQ(0, pool.out_atomic_batches);
}

/* errno-table: operation EXDEV */
TEST_F(atomic, index_of_another_pool)
{
	int old = self->b;

	/* Of the pool that this device had before. */
	ASSERT_EQ(0, detach(self->pool.control, self->pool.minor));
	ASSERT_EQ(0, reattach(&self->pool));
	close(self->a);
	self->a = open_index(self->pool.fd, "a", 0);
	ASSERT_LE(0, self->a);
	begin(old);
	put(SELF, "x", "v");
	EXPECT_REFUSED(-EXDEV, NONE, self->a);
	put(OTHER, "x", "v");
	EXPECT_REFUSED(-EXDEV, NONE, self->a);
	EXPECT_EQ(-ENOENT, lookup(self->a, "x", "v"));
	batch.fds[0] = self->a;
	EXPECT_EQ(0, run(self->a));
}

/* errno-table: ioctl EBADF */
TEST_F(atomic, wrong_descriptors)
{
	int reader = open_index(self->pool.fd, "a", WORT_INDEX_OPEN_F_RDONLY);
	int wrong[] = { -1, 1 << 20, self->pool.fd, self->pool.control, 0 };
	size_t i;

	ASSERT_LE(0, reader);
	wrong[4] = open("/dev/null", O_RDWR);
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		begin(wrong[i]);
		put(SELF, "x", "v");
		EXPECT_REFUSED(-EBADF, NONE, self->a);
	}
	/* Through a descriptor for reading nothing is changed, and conditions hold. */
	begin(reader);
	put(SELF, "x", "v");
	add(OTHER, WORT_BATCH_DELETE, 0, "key", NULL, NULL);
	EXPECT_REFUSED(-EBADF, 1, self->a);
	EXPECT_EQ(-ENOENT, lookup(self->a, "x", "v"));
	begin(self->a);
	add(SELF, WORT_BATCH_EXPECT, 0, "key", "value", NULL);
	get(SELF, "key", 8);
	put(OTHER, "x", "v");
	EXPECT_EQ(0, run(reader));
	EXPECT_EQ(0, lookup(self->a, "x", "v"));
	begin(self->a);
	put(SELF, "x", "w");
	EXPECT_REFUSED(-EBADF, 0, reader);
	close(wrong[4]);
	close(reader);
}

/* errno-table: operation EMSGSIZE */
TEST_F(atomic, limits)
{
	static const char large[WORT_VALUE_MAX];
	char key[8];
	int i;

	begin(self->b);
	batch.arg.results_len = WORT_ATOMIC_BYTES;
	for (i = 0; i < WORT_ATOMIC_MAX; i++) {
		snprintf(key, sizeof(key), "%d", i);
		put(i % 2, key, "v");
		batch.fds[i] = self->b;
	}
	batch.arg.nr_fds = WORT_ATOMIC_MAX;
	EXPECT_EQ(0, run(self->a));
	batch.arg.nr_fds++;
	EXPECT_REFUSED(-EMSGSIZE, NONE, self->a);
	batch.arg.nr_fds = 1;
	put(SELF, "one too many", "v");
	EXPECT_REFUSED(-EMSGSIZE, NONE, self->a);
	EXPECT_EQ(-ENOENT, lookup(self->a, "one too many", "v"));

	begin(self->b);
	for (i = 0; i < 3; i++) {
		snprintf(key, sizeof(key), "%d", i);
		append(SELF, WORT_BATCH_INSERT, 0, key, 1, "", 0, large,
		       sizeof(large), 0);
	}
	EXPECT_EQ(0, run(self->a));
	append(OTHER, WORT_BATCH_INSERT, 0, key, 1, "", 0, large, sizeof(large), 0);
	EXPECT_REFUSED(-EMSGSIZE, NONE, self->a);
	begin(self->b);
	put(SELF, "key", "other");
	batch.arg.results_len = WORT_ATOMIC_BYTES + 1;
	EXPECT_REFUSED(-EMSGSIZE, NONE, self->a);
	EXPECT_EQ(0, lookup(self->a, "key", "value"));
}

/* As many bytes of operations as there can be. */
TEST_F(atomic, full_list)
{
	static char large[WORT_VALUE_MAX];
	char key[8];
	int i;

	begin(self->b);
	memset(large, 'v', sizeof(large));
	for (i = 0; i < 4; i++) {
		snprintf(key, sizeof(key), "%d", i);
		append(i % 2, WORT_BATCH_INSERT, 0, key, 1, "", 0, large,
		       sizeof(large) - 40, 0);
	}
	EXPECT_EQ(WORT_ATOMIC_BYTES, batch.arg.ops_len);
	EXPECT_EQ(0, run(self->a));
	for (i = 0; i < 4; i++) {
		snprintf(key, sizeof(key), "%d", i);
		EXPECT_EQ((int)sizeof(large) - 40,
			  lookup_raw(i % 2 ? self->b : self->a, key, 1,
				     batch.results, sizeof(large), NULL));
		EXPECT_EQ(0, memcmp(batch.results, large, sizeof(large) - 40));
	}
}

/* What cannot be told is not done. */
TEST_F(atomic, answers_do_not_fit)
{
	begin(self->b);
	put(SELF, "x", "v");
	get(SELF, "key", 8);
	batch.arg.results_len = 16 + 24 - 1;
	EXPECT_REFUSED(-ERANGE, NONE, self->a);
	EXPECT_EQ(-ENOENT, lookup(self->a, "x", "v"));
	batch.arg.results_len = 16 + 24;
	EXPECT_EQ(0, run(self->a));
	EXPECT_EQ(40, batch.arg.out_results_len);
	/* Nothing is written behind them. */
	EXPECT_EQ((char)0xee, batch.results[40]);
}

/* errno-table: operation ESTALE */
TEST_F(atomic, index_destroyed)
{
	ASSERT_EQ(0, destroy(self->pool.fd, "b"));
	begin(self->b);
	put(SELF, "x", "v");
	put(OTHER, "x", "v");
	EXPECT_REFUSED(-ESTALE, NONE, self->a);
	begin(self->b);
	put(SELF, "x", "v");
	get(OTHER, "x", 8);
	EXPECT_REFUSED(-ESTALE, NONE, self->a);
	EXPECT_EQ(-ENOENT, lookup(self->a, "x", "v"));
	EXPECT_REFUSED(-ESTALE, NONE, self->b);
}

#define NR_ROUNDS	2000

static int run_often(int fd)
{
	int i, err = 0;

	for (i = 0; i < NR_ROUNDS && !err; i++)
		err = run(fd);
	return err;
}

/* errno-table: operation EROFS */
TEST_F(atomic, read_only_pool)
{
	__u32 at = 0;
	int status;
	pid_t pid;

	ASSERT_EQ(0, detach(self->pool.control, self->pool.minor));
	ASSERT_EQ(0, reattach_with(&self->pool, WORT_ATTACH_F_RDONLY));
	close(self->a);
	self->a = open_index(self->pool.fd, "a", 0);
	ASSERT_LE(0, self->a);
	begin(self->a);
	add(OTHER, WORT_BATCH_EXPECT, WORT_EXPECT_F_ABSENT, "x", NULL, NULL);
	get(SELF, "key", 8);
	EXPECT_EQ(0, run(self->a));
	EXPECT_EQ(0, answer(&at, NULL));
	EXPECT_EQ(0, answer(&at, "value"));
	/* Two at a time wait for each other's gates. */
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		alarm(60);
		_exit(-run_often(self->a));
	}
	EXPECT_EQ(0, run_often(self->a));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	put(SELF, "x", "v");
	EXPECT_REFUSED(-EROFS, NONE, self->a);
}

/* errno-table: ioctl EFAULT */
TEST_F(atomic, memory_unusable)
{
	void *bad = bad_page();

	begin(self->b);
	put(SELF, "x", "v");
	put(OTHER, "x", "v");
	batch.arg.ops_ptr = PTR(bad);
	EXPECT_REFUSED(-EFAULT, NONE, self->a);
	batch.arg.ops_ptr = PTR(at_page_end(batch.ops, batch.arg.ops_len - 8));
	EXPECT_REFUSED(-EFAULT, NONE, self->a);
	batch.arg.ops_ptr = PTR(batch.ops);
	batch.arg.fds_ptr = PTR(bad);
	EXPECT_REFUSED(-EFAULT, NONE, self->a);
	batch.arg.fds_ptr = PTR(batch.fds);
	batch.arg.results_ptr = PTR(bad);
	EXPECT_REFUSED(-EFAULT, NONE, self->a);
	EXPECT_EQ(-ENOENT, lookup(self->a, "x", "v"));
	EXPECT_EQ(-ENOENT, lookup(self->b, "x", "v"));
	batch.arg.results_ptr = PTR(at_page_end(batch.results, 32));
	batch.arg.results_len = 32;
	EXPECT_EQ(0, run(self->a));
}

/* errno-table: ioctl EINVAL */
TEST_F(atomic, malformed)
{
	static const __u32 lens[] = { 0, 8, 24, 36, 1 << 20, ~7U };
	size_t i;

	begin(self->b);
	put(SELF, "x", "v");
	put(OTHER, "x", "v");
	last->__reserved = 1;
	EXPECT_REFUSED(-EINVAL, 1, self->a);
	last->__reserved = 0;
	last->index = 2;
	EXPECT_REFUSED(-EINVAL, 1, self->a);
	last->index = ~0U;
	EXPECT_REFUSED(-EINVAL, 1, self->a);
	last->index = OTHER;
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		last->op.rec_len = lens[i];
		EXPECT_REFUSED(-EINVAL, 1, self->a);
	}
	last->op.rec_len = 40;
	last->op.key_len = 1 << 16;
	EXPECT_REFUSED(-EINVAL, 1, self->a);
	last->op.key_len = 1;
	batch.arg.nr_ops = 3;
	EXPECT_REFUSED(-EINVAL, 2, self->a);
	batch.arg.nr_ops = 2;
	batch.arg.ops_len -= 8;
	EXPECT_REFUSED(-EINVAL, 1, self->a);
	EXPECT_EQ(-ENOENT, lookup(self->a, "x", "v"));
	batch.arg.ops_len += 8;
	EXPECT_EQ(0, run(self->a));
	batch.arg.nr_ops = 0;
	EXPECT_EQ(0, run(self->a));
	EXPECT_EQ(0, batch.arg.out_results_len);
}

/* A plain batch has no conditions. */
TEST_F(atomic, expect_in_a_plain_batch)
{
	struct {
		struct wort_batch_op op;
		char key[8];
	} op = { { 32, WORT_BATCH_EXPECT, WORT_EXPECT_F_PRESENT, 3, 0, 0, 0 }, "key" };
	struct wort_batch_result result;
	struct wort_batch_arg arg = {
		.size = sizeof(arg),
		.ops_ptr = PTR(&op),
		.ops_len = sizeof(op),
		.results_ptr = PTR(&result),
		.results_len = sizeof(result),
		.nr_ops = 1,
	};

	ASSERT_EQ(0, call(self->a, WORT_IOC_BATCH, &arg));
	EXPECT_EQ(-EOPNOTSUPP, result.error);
}

static long figure(int minor, const char *name)
{
	char path[80], text[32] = "";
	int fd;

	snprintf(path, sizeof(path), "/sys/class/wort/wort%d/%s", minor, name);
	fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		return -errno;
	close(fd);
	return strtol(text, NULL, 10);
}

TEST_F(atomic, figures)
{
	struct wort_op_stats ops[WORT_OP_NR] = { };
	struct wort_stats_arg stats = {
		.size = sizeof(stats), .buf_ptr = PTR(ops), .buf_len = sizeof(ops),
		.stride = sizeof(*ops),
	};
	struct wort_pool_info_arg pool;
	struct wort_check_arg found;

	begin(self->b);
	get(SELF, "key", 8);
	EXPECT_EQ(0, run(self->a));
	put(SELF, "x", "v");
	put(OTHER, "x", "v");
	EXPECT_EQ(0, run(self->a));
	ASSERT_EQ(0, info(self->pool.fd, &pool));
	/* A batch that changes nothing is none. */
	EXPECT_EQ(1, pool.out_atomic_batches);
	EXPECT_EQ(0, pool.out_atomic_refused);
	EXPECT_EQ(0, pool.out_atomic_redone);
	EXPECT_EQ(0, call(self->a, WORT_IOC_STATS, &stats));
	EXPECT_EQ(WORT_OP_NR, stats.out_count);
	EXPECT_EQ(1, ops[WORT_OP_ATOMIC].ops);
	EXPECT_EQ(3, ops[WORT_OP_ATOMIC].ordering_points);
	EXPECT_EQ(2, ops[WORT_OP_INSERT].ops);
	EXPECT_EQ(1, figure(self->pool.minor, "atomic_batches"));
	EXPECT_EQ(0, figure(self->pool.minor, "atomic_refused"));
	EXPECT_EQ(0, figure(self->pool.minor, "atomic_redone"));
	add(SELF, WORT_BATCH_EXPECT, WORT_EXPECT_F_ABSENT, "x", NULL, NULL);
	EXPECT_REFUSED(-EEXIST, 3, self->a);
	EXPECT_EQ(1, figure(self->pool.minor, "atomic_refused"));
	ASSERT_EQ(0, check(self->pool.fd, 0, &found));
	EXPECT_EQ(0, found.out_nr_atomic);
	EXPECT_EQ(0, found.out_nr_damaged);
}

/* It is there after a detach, which stores nothing. */
TEST_F(atomic, durable)
{
	struct wort_pool_info_arg pool;

	begin(self->b);
	put(SELF, "key", "new");
	put(OTHER, "key", "new");
	ASSERT_EQ(0, run(self->a));
	close(self->a);
	close(self->b);
	ASSERT_EQ(0, detach(self->pool.control, self->pool.minor));
	ASSERT_EQ(0, reattach(&self->pool));
	self->a = open_index(self->pool.fd, "a", 0);
	self->b = open_index(self->pool.fd, "b", 0);
	EXPECT_EQ(0, lookup(self->a, "key", "new"));
	EXPECT_EQ(0, lookup(self->b, "key", "new"));
	ASSERT_EQ(0, info(self->pool.fd, &pool));
	EXPECT_EQ(0, pool.out_atomic_redone);
}

#define MEETINGS	10	/* of a reader and the batches, at least */

struct reader {
	int a;
	int b;
	bool stop;
	long met;
	long wrong;
};

static long value_of(int index)
{
	char text[16] = "";

	if (lookup_raw(index, "n", 1, text, sizeof(text) - 1, NULL) < 0)
		return -1;
	return strtol(text, NULL, 10);
}

/* Values only rise, and both at one moment: one that was read later is not less. */
static void *read_often(void *arg)
{
	struct reader *r = arg;
	long seen = 0, value;
	bool odd = false;

	while (!__atomic_load_n(&r->stop, __ATOMIC_RELAXED)) {
		value = value_of(odd ? r->b : r->a);
		r->wrong += value < seen;
		__atomic_add_fetch(&r->met, value != seen, __ATOMIC_RELAXED);
		seen = value;
		odd = !odd;
	}
	return NULL;
}

/*
 * Whoever has seen one of the changes sees the others, and single changes of the same
 * keys come before or after a batch.
 */
TEST_F_TIMEOUT(atomic, one_moment, 300)
{
	struct reader reader = { .a = self->a, .b = self->b };
	char old[16] = "0", new[16];
	pthread_t thread;
	int i, wrong = 0;

	ASSERT_EQ(0, insert(self->a, "n", "0"));
	ASSERT_EQ(0, insert(self->b, "n", "0"));
	ASSERT_EQ(0, pthread_create(&thread, NULL, read_often, &reader));
	/* The reader may have no processor for a while. */
	for (i = 1; i <= NR_ROUNDS ||
	     __atomic_load_n(&reader.met, __ATOMIC_RELAXED) < MEETINGS; i++) {
		snprintf(new, sizeof(new), "%d", i);
		begin(self->b);
		add(SELF, WORT_BATCH_CAS, 0, "n", old, new);
		add(OTHER, WORT_BATCH_CAS, 0, "n", old, new);
		wrong += !!run(self->a);
		strcpy(old, new);
	}
	__atomic_store_n(&reader.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(0, reader.wrong);
	EXPECT_EQ(i - 1, value_of(self->b));
}

struct adder {
	int a;
	int b;
	int first;
	int failed;
};

struct two_ops {
	struct {
		struct wort_atomic_op op;
		char bytes[48];
	} ops[2];
	char results[64];
	struct wort_atomic_arg arg;
};

/* From one number to the next in both indexes, starting with either. */
static int add_one(struct adder *adder, long from)
{
	struct two_ops two = { };
	int i, len;

	for (i = 0; i < 2; i++) {
		len = sprintf(two.ops[i].bytes, "n%ld", from);
		two.ops[i].op.op = (struct wort_batch_op){
			.rec_len = sizeof(two.ops[i]),
			.op = WORT_BATCH_CAS,
			.key_len = 1,
			.expect_len = len - 1,
			.value_len = sprintf(two.ops[i].bytes + len, "%ld", from + 1),
		};
		two.ops[i].op.index = i ^ adder->first;
	}
	two.arg = (struct wort_atomic_arg){
		.size = sizeof(two.arg),
		.ops_ptr = PTR(two.ops),
		.ops_len = sizeof(two.ops),
		.nr_ops = 2,
		.results_ptr = PTR(two.results),
		.results_len = sizeof(two.results),
		.fds_ptr = PTR(&adder->b),
		.nr_fds = 1,
	};
	return call(adder->a, WORT_IOC_ATOMIC, &two.arg);
}

static void *add_often(void *arg)
{
	struct adder *adder = arg;
	int done = 0, err;

	while (done < NR_ROUNDS / 4 && !adder->failed) {
		err = add_one(adder, value_of(adder->a));
		done += !err;
		adder->failed = err && err != -ECANCELED ? err : 0;
	}
	return NULL;
}

/* Batches of the same keys, called on either index, wait for each other. */
TEST_F(atomic, batches_of_the_same_keys)
{
	struct adder adders[4];
	pthread_t threads[4];
	int i;

	ASSERT_EQ(0, insert(self->a, "n", "0"));
	ASSERT_EQ(0, insert(self->b, "n", "0"));
	for (i = 0; i < 4; i++) {
		adders[i] = (struct adder){
			.a = i % 2 ? self->a : self->b,
			.b = i % 2 ? self->b : self->a,
			.first = i / 2,
		};
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, add_often, &adders[i]));
	}
	for (i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		EXPECT_EQ(0, adders[i].failed);
	}
	EXPECT_EQ(NR_ROUNDS, value_of(self->a));
	EXPECT_EQ(NR_ROUNDS, value_of(self->b));
}

struct single {
	int index;
	bool stop;
	int done;
	int failed;
};

/* From one number to the next, by a single change. */
static int add_one_alone(int index)
{
	long from = value_of(index);
	char old[24], new[24];
	struct wort_cas_arg arg = {
		.size = sizeof(arg),
		.key_ptr = PTR("n"),
		.key_len = 1,
		.expect_ptr = PTR(old),
		.expect_len = snprintf(old, sizeof(old), "%ld", from),
		.value_ptr = PTR(new),
		.value_len = snprintf(new, sizeof(new), "%ld", from + 1),
	};

	return call(index, WORT_IOC_CAS, &arg);
}

/* It rests, or a batch that expects the value would come too late again and again. */
static void *add_alone_often(void *arg)
{
	struct single *single = arg;
	int err;

	while (!__atomic_load_n(&single->stop, __ATOMIC_RELAXED) && !single->failed) {
		err = add_one_alone(single->index);
		single->done += !err;
		single->failed = err && err != -ECANCELED ? err : 0;
		usleep(2000);
	}
	return NULL;
}

#define NR_PAUSES	40

/* Gates go and come back beside single changes of the same key: none is lost. */
TEST_F_TIMEOUT(atomic, after_pauses, 300)
{
	struct single single = { .index = self->a };
	char old[24], new[24];
	pthread_t thread;
	int done = 0, err = 0;
	long from;

	ASSERT_EQ(0, insert(self->a, "n", "0"));
	ASSERT_EQ(0, pthread_create(&thread, NULL, add_alone_often, &single));
	while (done < NR_PAUSES && (!err || err == -ECANCELED)) {
		from = value_of(self->a);
		snprintf(old, sizeof(old), "%ld", from);
		snprintf(new, sizeof(new), "%ld", from + 1);
		begin(self->b);
		add(SELF, WORT_BATCH_CAS, 0, "n", old, new);
		put(OTHER, "n", new);
		err = run(self->a);
		done += !err;
		usleep(err ? 0 : 10000);
	}
	__atomic_store_n(&single.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	EXPECT_EQ(0, err);
	EXPECT_EQ(0, single.failed);
	EXPECT_LT(0, single.done);
	EXPECT_EQ(done + single.done, value_of(self->a));
}

TEST_HARNESS_MAIN
